"""Names beside points, so that none lies upon another: where there is no room, none is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skedasis._types import Floats

DISTANCES = (5.0, 13.0, 24.0, 38.0, 56.0)
"""How far names may stand from their points, in typographical points; further away they are led to by a line."""
MARK = 4.0
"""Half the size of a mark."""
CROSSED = 1.5
"""How many steps further away a name may stand for each line that it does not cross then."""
_DIRECTIONS = 16


@dataclass(frozen=True)
class Tag:
    """Where a name stands.

    Parameters
    ----------
    x, y : float
        The lower left corner of the name.
    led : bool
        Whether a line leads to it from the point.
    """

    x: float
    y: float
    led: bool


def placed(
    points: Floats, sizes: Floats, room: tuple[float, float], taken: Floats, lines: Floats
) -> tuple[Tag | None, ...]:
    """Return where names stand, None for those that would lie upon something.

    Parameters
    ----------
    points : ndarray of float, shape (n, 2)
        In typographical points from the panel's lower left corner. The first ones are served first.
    sizes : ndarray of float, shape (n, 2)
        Widths and heights of the names.
    room : (float, float)
        Of the panel.
    taken : ndarray of float, shape (k, 4)
        Boxes (left, bottom, right, top) that must stay free.
    lines : ndarray of float, shape (m, 4)
        Boxes of lines, which a name may cross if it must.

    Returns
    -------
    tuple of Tag or None

    Notes
    -----
    Greedy: of some 100 places each name takes one that touches no mark, no name and no box that is taken, as near as
    can be without crossing lines.

    Examples
    --------
    >>> none = np.zeros((0, 4))
    >>> placed(np.array([[50.0, 50.0]]), np.array([[20.0, 8.0]]), (100.0, 100.0), none, none)
    (Tag(x=55.0, y=51.5, led=False),)
    """
    marks = np.column_stack([points - MARK, points + MARK])
    blocked = np.concatenate([marks, taken])
    found: list[Tag | None] = []
    for point, size in zip(points, sizes, strict=True):
        tag = _nearest(point, size, room, blocked, lines)
        found.append(tag)
        if tag is not None:
            box = np.array([tag.x, tag.y, tag.x + size[0], tag.y + size[1]])
            blocked = np.concatenate([blocked, box[None]])
    return tuple(found)


def touches(box: Floats, others: Sequence[Floats]) -> bool:
    """Return whether a box (left, bottom, right, top) touches any of the others."""
    return bool(_touching(box[None], np.array(others).reshape(-1, 4)).any())


def _nearest(
    point: Floats, size: Floats, room: tuple[float, float], blocked: Floats, lines: Floats
) -> Tag | None:
    """Return the best place for one name."""
    around = [_around(point, size, far) for far in DISTANCES]
    corners = np.concatenate(around)
    step = np.repeat(np.arange(len(DISTANCES)), len(around[0]))
    boxes = np.column_stack([corners, corners + size])
    inside = (corners >= 0).all(axis=1) & (boxes[:, 2:] <= np.array(room)).all(axis=1)
    free = np.flatnonzero(inside & (_touching(boxes, blocked) == 0))
    if len(free) == 0:
        return None
    cost = step[free] + CROSSED * _touching(boxes[free], lines)
    best = free[int(np.argmin(cost))]
    return Tag(float(corners[best, 0]), float(corners[best, 1]), bool(step[best] > 0))


def _around(point: Floats, size: Floats, far: float) -> Floats:
    """Return the lower left corners of boxes around a point, those on its right first."""
    # In the four corners of a cross a name touches neither of its lines.
    side = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    corners = point + side * np.array([far, 0.3 * far]) - np.where(side < 0, size, 0.0)
    steps = np.arange(_DIRECTIONS)
    turn = np.where(steps % 2, steps + 1, -steps) * np.pi / _DIRECTIONS
    way = np.column_stack([np.cos(turn), np.sin(turn)])
    # A box beside the point hangs on its middle, one above on its lower edge: it moves with the direction.
    return np.concatenate([corners, point + far * way - size * (1 - way) / 2])


def _touching(boxes: Floats, others: Floats) -> Floats:
    """Return how many of the others each box touches."""
    a, b = boxes[:, None], others[None]
    apart = (a[..., 2] <= b[..., 0]) | (b[..., 2] <= a[..., 0])
    apart |= (a[..., 3] <= b[..., 1]) | (b[..., 3] <= a[..., 1])
    return (~apart).sum(axis=1)
