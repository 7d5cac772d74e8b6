"""Lines along which a surface has one value, by marching squares: arrays in, points out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skedasis.typing import Floats, Ints


def isolines(x: Floats, y: Floats, value: Floats, level: float) -> list[Floats]:
    """Return the lines along which a surface has one value.

    Parameters
    ----------
    x : ndarray of float, shape (p,)
    y : ndarray of float, shape (q,)
    value : ndarray of float, shape (q, p)
        At the points of the grid; NaN where there is none, and no line goes there.
    level : float

    Returns
    -------
    list of ndarray of float, shape (n, 2)
        Each from end to end; closed ones end where they start. Between points of the grid the surface is taken to be
        linear; where two lines meet in one cell the mean of its corners says which way they turn.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([0.0, 1.0, 2.0])
    >>> (line,) = isolines(x, x, np.add.outer(0 * x, x), 0.5)
    >>> line.tolist()
    [[0.5, 0.0], [0.5, 1.0], [0.5, 2.0]]
    """
    if min(value.shape) < 2:
        return []
    joins = _segments(value, level)
    if len(joins) == 0:
        return []
    places = _crossings(x, y, value, level, np.unique(joins))
    return [np.array([places[e] for e in chain]) for chain in _chains(joins)]


def _segments(value: Floats, level: float) -> Ints:
    """Return which pairs of the grid's edges a line joins within a cell, (s, 2)."""
    q, p = value.shape
    above = value >= level
    known = np.isfinite(value)
    corner = (above[:-1, :-1], above[:-1, 1:], above[1:, 1:], above[1:, :-1])
    whole = known[:-1, :-1] & known[:-1, 1:] & known[1:, 1:] & known[1:, :-1]
    at = np.arange(q * p).reshape(q, p)
    # Horizontal edges are counted from 0 on, vertical ones from q p on; each is named after its lower or left end.
    edges = (at[:-1, :-1], q * p + at[:-1, 1:], at[1:, :-1], q * p + at[:-1, :-1])
    cut = [(corner[k] != corner[(k + 1) % 4]) & whole for k in range(4)]
    crossed = np.add.reduce([c.astype(int) for c in cut])
    found: list[Ints] = []
    for a in range(4):
        for b in range(a + 1, 4):
            here = (crossed == 2) & cut[a] & cut[b]
            found.append(np.column_stack([edges[a][here], edges[b][here]]))
    both = crossed == 4
    if both.any():
        with np.errstate(invalid="ignore"):
            mean = (value[:-1, :-1] + value[:-1, 1:] + value[1:, 1:] + value[1:, :-1]) / 4
        joined = (mean >= level) == corner[0]
        for here, pairs in (
            (both & joined, ((0, 1), (2, 3))),
            (both & ~joined, ((3, 0), (1, 2))),
        ):
            found += [np.column_stack([edges[a][here], edges[b][here]]) for a, b in pairs]
    return np.concatenate(found)


def _crossings(
    x: Floats, y: Floats, value: Floats, level: float, edges: Ints
) -> dict[int, tuple[float, float]]:
    """Return where the line crosses each of these edges."""
    q, p = value.shape
    upright = edges >= q * p
    i, j = np.divmod(edges - upright * q * p, p)
    k, m = i + upright, j + ~upright
    low, high = value[i, j], value[k, m]
    # Halves first: the difference of two huge numbers of either sign would overflow.
    share = np.clip((level / 2 - low / 2) / (high / 2 - low / 2), 0.0, 1.0)
    across = x[j] + share * (x[m] - x[j])
    up = y[i] + share * (y[k] - y[i])
    return dict(zip(edges.tolist(), zip(across.tolist(), up.tolist(), strict=True), strict=True))


def _chains(joins: Ints) -> Iterator[list[int]]:
    """Link pairs of edges to lines: open ones first, then closed ones."""
    beside: dict[int, list[int]] = {}
    for a, b in joins.tolist():
        beside.setdefault(a, []).append(b)
        beside.setdefault(b, []).append(a)
    ends = [e for e, others in beside.items() if len(others) == 1]
    for start in [*ends, *beside]:
        if not beside[start]:
            continue
        chain = [start]
        while beside[chain[-1]]:
            after = beside[chain[-1]].pop()
            beside[after].remove(chain[-1])
            chain.append(after)
        yield chain


def thinned(points: Floats, tolerance: float) -> Floats:
    """Return the fewest of a line's points that stay as near to it (Douglas & Peucker).

    Parameters
    ----------
    points : ndarray of float, shape (n, 2)
    tolerance : float
        How far any point left out may lie from the line that is drawn.

    Examples
    --------
    >>> thinned(np.array([[0.0, 0.0], [1.0, 0.01], [2.0, 0.0], [2.0, 5.0]]), 0.1).tolist()
    [[0.0, 0.0], [2.0, 0.0], [2.0, 5.0]]
    """
    keep = np.zeros(len(points), dtype=bool)
    keep[[0, -1]] = True
    todo = [(0, len(points) - 1)]
    while todo:
        first, last = todo.pop()
        if last - first < 2:
            continue
        a, way = points[first], points[last] - points[first]
        off = points[first + 1 : last] - a
        length = float(way @ way)
        # Of a closed line both ends are one point.
        share = np.clip(off @ way / length, 0.0, 1.0) if length > 0 else np.zeros(len(off))
        far = np.hypot(*(off - share[:, None] * way).T)
        worst = int(np.argmax(far))
        if far[worst] > tolerance:
            middle = first + 1 + worst
            keep[middle] = True
            todo += [(first, middle), (middle, last)]
    return points[keep]


@dataclass(frozen=True)
class Number:
    """Where the value of a line is written upon it.

    Parameters
    ----------
    x, y : float
        Its middle, in pixels.
    turn : float
        Degrees, clockwise, so that it is read from left to right.
    """

    x: float
    y: float
    turn: float


def numbered(
    line: Floats, width: float, room: tuple[float, float, float, float], taken: list[Floats]
) -> Number | None:
    """Return where a number stands on a line: where it is straightest, inside, and apart from others.

    Parameters
    ----------
    line : ndarray of float, shape (n, 2)
        In pixels.
    width : float
        Of the number.
    room : tuple of four float
        Left, upper, right and lower ends of where numbers may stand.
    taken : list of ndarray of float, shape (2,)
        Middles of numbers there are already; the new one is added.
    """
    steps = np.hypot(*np.diff(line, axis=0).T)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    if along[-1] < 2.2 * width:
        return None
    centres = np.linspace(0.8 * width, along[-1] - 0.8 * width, 24)
    ends = [
        np.column_stack([np.interp(centres + s * width / 2, along, c) for c in line.T])
        for s in (-1, 0, 1)
    ]
    chord = ends[2] - ends[0]
    straight = np.hypot(*chord.T) / width
    left, upper, right, lower = room
    pad = width / 2 + 2
    middle = ends[1]
    inside = (middle[:, 0] > left + pad) & (middle[:, 0] < right - pad)
    inside &= (middle[:, 1] > upper + pad) & (middle[:, 1] < lower - pad)
    for other in taken:
        inside &= np.hypot(*(middle - other).T) > 1.6 * width + 6
    if not inside.any():
        return None
    # Of places that are about as straight, the one nearest to the middle.
    off = np.abs(centres / along[-1] - 0.5)
    best = int(np.argmin(np.where(inside, np.round(1 - straight, 2) + 0.05 * off, np.inf)))
    if straight[best] < 0.8:
        return None
    taken.append(middle[best])
    turn = float(np.degrees(np.arctan2(chord[best, 1], chord[best, 0])))
    turn -= 180.0 * round(turn / 180.0)
    return Number(float(middle[best, 0]), float(middle[best, 1]), turn)
