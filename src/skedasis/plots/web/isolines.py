"""Lines along which a surface has one value, thinned and numbered: arrays in, points out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from skedasis._types import Floats


def isolines(x: Floats, y: Floats, value: Floats, level: float) -> list[Floats]:
    """Return the lines along which a surface has one value.

    Parameters
    ----------
    x : ndarray of float, shape (p,)
    y : ndarray of float, shape (q,)
    value : ndarray of float, shape (q, p)
        At the points of the grid; NaN where there is none, and no line goes into a cell with such a corner.
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
    >>> sorted(line.tolist())
    [[0.5, 0.0], [0.5, 1.0], [0.5, 2.0]]
    """
    if min(value.shape) < 2:
        return []
    from contourpy import LineType, contour_generator

    # A quarter of all: neither differences of huge numbers nor the sum of a cell's corners overflow.
    found = contour_generator(x, y, value / 4, corner_mask=False, line_type=LineType.Separate)
    return cast("list[Floats]", found.lines(level / 4))


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
