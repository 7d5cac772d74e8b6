"""Patches of colour: neighbours of one colour are one shape, so that forty thousand of them are a few kilobytes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from markupsafe import Markup

from skedasis.plots.web.svg import px, tag
from skedasis.typing import Floats, Ints

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


def merged(steps: Ints) -> Iterator[tuple[int, int, int, int, int]]:
    """Give rectangles that hold one step each: the step, first and last column, first and last row (ends excluded).

    Examples
    --------
    >>> list(merged(np.array([[1, 1, 2], [1, 1, -1]])))
    [(2, 2, 3, 0, 1), (1, 0, 2, 0, 2)]
    """
    begun: dict[tuple[int, int, int], int] = {}
    for row, line in enumerate(steps):
        cut = np.flatnonzero(np.diff(line)) + 1
        first, last = [0, *cut.tolist()], [*cut.tolist(), len(line)]
        runs = [(int(line[a]), a, b) for a, b in zip(first, last, strict=True) if int(line[a]) >= 0]
        now = set(runs)
        for run in [r for r in begun if r not in now]:
            yield (*run, begun.pop(run), row)
        for run in runs:
            begun.setdefault(run, row)
    for run, start in begun.items():
        yield (*run, start, len(steps))


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
    shapes: dict[int, list[str]] = {}
    for step, a, b, c, d in merged(steps):
        wide, high = across[b] - across[a], up[d] - up[c]
        shape = f"M{_px(across[a])} {_px(up[c])}h{_px(wide)}v{_px(high)}h{_px(-wide)}z"
        shapes.setdefault(step, []).append(shape)
    drawn = [
        tag("path", class_=f"{scale}{step}", d="".join(shapes[step])) for step in sorted(shapes)
    ]
    way = f"matrix({dx:.6g} 0 0 {dy:.6g} {left:.6g} {top:.6g})"
    return tag(
        "g", *drawn, class_="heat", transform=None if (dx, left, dy, top) == (1, 0, 1, 0) else way
    )


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
