"""Patches of colour: neighbours of one colour are one outline, so that forty thousand of them are a few kilobytes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from markupsafe import Markup

from skedasis._types import Bools, Floats, Ints
from skedasis.plots.web.svg import px, tag

SHADES = 33
"""Steps of a scale of colours; the middle one of a diverging scale is zero."""


def shades(value: Floats, limits: tuple[float, float]) -> Ints:
    """Return which step of a scale each value takes; -1 where there is none.

    Parameters
    ----------
    value : ndarray of float
    limits : (float, float)
        What beyond them takes the last step.

    Examples
    --------
    >>> shades(np.array([-1.0, 0.01, 0.5, 7.0, np.nan]), (-1.0, 1.0)).tolist()
    [0, 16, 24, 32, -1]
    """
    low, high = limits
    known = np.isfinite(value)
    # Halves first: the difference of two huge numbers of either sign would overflow.
    share = (np.where(known, value, low) / 2 - low / 2) / (high / 2 - low / 2)
    step = np.floor(np.clip(share, 0.0, 1.0) * (SHADES - 1) + 0.5).astype(np.int64)
    return np.where(known, step, -1)


def bounds(limits: tuple[float, float]) -> Floats:
    """Return the values at which one step of a scale ends and the next begins, (SHADES + 1,), with both ends."""
    between = (np.arange(1, SHADES) - 0.5) / (SHADES - 1)
    share = np.concatenate([[0.0], between, [1.0]])
    return limits[0] * (1 - share) + limits[1] * share


def outlines(mask: Bools) -> Iterator[list[tuple[int, int]]]:
    """Give the outlines of all places where a lattice is true; those of holes run the other way round.

    Parameters
    ----------
    mask : ndarray of bool, shape (q, p)

    Yields
    ------
    list of (int, int)
        Column and row of each corner. The first side is level, the next one upright, and so on in turn.

    Examples
    --------
    >>> list(outlines(np.array([[True, True], [False, True]])))
    [[(0, 0), (2, 0), (2, 2), (1, 2), (1, 1), (0, 1)]]
    """
    level: Sides = {(a, line): [(b, line)] for line, a, b in _sides(mask, 1)}
    for line, a, b in _sides(mask, -1):
        level.setdefault((b, line), []).append((a, line))
    upright: Sides = {}
    for line, a, b in _sides(mask.T, 1):
        upright.setdefault((line, b), []).append((line, a))
    for line, a, b in _sides(mask.T, -1):
        upright.setdefault((line, a), []).append((line, b))
    while level:
        start = next(iter(level))
        corners = [start]
        # Where two corners touch, either way on closes: all sides are gone through once.
        while len(corners) == 1 or corners[-1] != start:
            corners.append(_taken(level, corners[-1]))
            corners.append(_taken(upright, corners[-1]))
        yield corners[:-1]


Sides = dict[tuple[int, int], list[tuple[int, int]]]
"""Where sides start, and where each of them ends."""


def _sides(mask: Bools, way: int) -> Iterator[tuple[int, int, int]]:
    """Give level sides: their line, first and last column; those above what is true, or with -1 below."""
    around = np.pad(mask, 1).astype(np.int8)
    edges = (np.diff(around, axis=0) == way).astype(np.int8)
    ends = np.diff(edges, axis=1)
    lines, first = np.nonzero(ends == 1)
    last = np.nonzero(ends == -1)[1]
    return zip(lines.tolist(), first.tolist(), last.tolist(), strict=True)


def _taken(sides: Sides, start: tuple[int, int]) -> tuple[int, int]:
    """Return where a side ends, and take it away."""
    ends = sides[start]
    end = ends.pop()
    if not ends:
        del sides[start]
    return end


def patches(x: Floats, y: Floats, steps: Ints, scale: str) -> Markup:
    """Return a group with one path for each step of the scale.

    Parameters
    ----------
    x : ndarray of float, shape (p + 1,)
        Edges in pixels.
    y : ndarray of float, shape (q + 1,)
    steps : ndarray of int, shape (q, p)
    scale : str
        First letter of the classes: ``t`` of a diverging scale, ``s`` of another one.
    """
    across, dx, left = _units(x)
    up, dy, top = _units(y)
    drawn: list[Markup] = []
    for step in np.unique(steps[steps >= 0]).tolist():
        d = "".join(_around(corners, across, up) for corners in outlines(steps == step))
        drawn.append(tag("path", class_=f"{scale}{step}", d=d))
    way = f"matrix({dx:.6g} 0 0 {dy:.6g} {left:.6g} {top:.6g})"
    return tag(
        "g", *drawn, class_="heat", transform=None if (dx, left, dy, top) == (1, 0, 1, 0) else way
    )


def _around(
    corners: list[tuple[int, int]],
    across: list[int] | list[float],
    up: list[int] | list[float],
) -> str:
    """Return an outline as a part of a path."""
    column, row = corners[0]
    parts = [f"M{_px(across[column])} {_px(up[row])}"]
    # The last side is upright, and closes by itself.
    for place, (c, r) in enumerate(corners[1:]):
        parts.append(
            f"v{_px(up[r] - up[row])}" if place % 2 else f"h{_px(across[c] - across[column])}"
        )
        column, row = c, r
    return "".join(parts) + "z"


def _units(edges: Floats) -> tuple[list[int] | list[float], float, float]:
    """Return edges in units in which they are short numbers, the unit in pixels, and where it starts."""
    steps = np.diff(edges)
    if len(steps) > 1 and np.ptp(steps) <= 1e-6 * np.abs(steps).max():
        step = float(edges[-1] - edges[0]) / len(steps)
        return list(range(len(edges))), step, float(edges[0])
    # Rounded before they become widths: neighbours must meet.
    return np.round(edges, 1).tolist(), 1.0, 0.0


def _px(value: float) -> str:
    """Return a length: most are whole numbers, and there are thousands of them."""
    return str(value) if isinstance(value, int) else px(value)
