"""Placement of names beside points: they overlap nothing, and no line from a name to its point looks like another's."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skedasis._types import Bools, Floats, Ints

DISTANCES = (5.0, 13.0, 24.0, 38.0, 56.0, 80.0)
"""Candidate distances of a name from its point, in typographical points; from the second on a line connects them."""

MARK = 4.0
"""Half the size of a mark."""

CROSSED = 1.5
"""Cost of crossing a line or an arrow, in steps of `DISTANCES`."""

THROUGH = 4.0
"""Cost of a line to a point that runs through another name or mark, in steps of `DISTANCES`."""

LEFT_OUT = 10.0
"""Cost of a name without free space, in steps of `DISTANCES`."""

ATTEMPTS = 6
"""Most orders in which names are placed. The next one begins with the names that cost most."""

MOST_RETRIED = 40
"""With more names they are placed in one order only, because the time grows with the square of their number."""

_DIRECTIONS = 24


@dataclass(frozen=True)
class LabelPosition:
    """Position of the name of a point."""

    x: float
    y: float
    led: bool


NO_ARROWS, NO_POINTS = np.zeros((0, 4)), np.zeros((0, 2))


def place_labels(
    points: Floats,
    sizes: Floats,
    room: tuple[float, float],
    taken: Floats,
    lines: Floats,
    arrows: Floats = NO_ARROWS,
    *,
    silent: Floats = NO_POINTS,
    reach: float = math.inf,
) -> tuple[LabelPosition | None, ...]:
    """Return positions of names that do not overlap; None for names without free space. Silent points have no name."""
    every = np.concatenate([points, silent])
    marks = np.column_stack([every - MARK, every + MARK])
    steps = max(2, sum(d <= reach for d in DISTANCES))
    best: tuple[LabelPosition | None, ...] = (None,) * len(points)
    least, order = np.inf, np.arange(len(points))
    for _ in range(ATTEMPTS):
        found, cost = _place_in_order(
            order, points, sizes, room, (marks, taken, lines, arrows), steps
        )
        if cost.sum() < least:
            best, least = found, float(cost.sum())
        if len(points) > MOST_RETRIED or cost.max(initial=0.0) < THROUGH:
            break
        order = order[np.argsort(-cost[order], kind="stable")]
    return best


def _place_in_order(
    order: Ints,
    points: Floats,
    sizes: Floats,
    room: tuple[float, float],
    obstacles: tuple[Floats, Floats, Floats, Floats],
    steps: int,
) -> tuple[tuple[LabelPosition | None, ...], Floats]:
    """Place names one after the other, then each again around all others; return positions and costs."""
    marks, taken, lines, arrows = obstacles
    n = len(points)
    centres = marks[:, :2] + MARK
    found: list[LabelPosition | None] = [None] * n
    cost = np.full(n, LEFT_OUT)
    # The boxes of the names, and the lines to their points; NaN where there is none.
    boxes, leads = np.full((n, 4), np.nan), np.full((n, 4), np.nan)
    for i in [*order.tolist()] * 2:
        boxes[i] = leads[i] = np.nan
        blocked = np.concatenate([marks, taken, boxes[~np.isnan(boxes[:, 0])]])
        others = leads[~np.isnan(leads[:, 0])]
        crossed = lines, others, arrows
        found[i], cost[i] = _nearest(i, centres, sizes[i], room, blocked, crossed, steps)
        tag = found[i]
        if tag is not None:
            boxes[i] = tag.x, tag.y, tag.x + sizes[i, 0], tag.y + sizes[i, 1]
            if tag.led:
                leads[i] = _leads(points[i], boxes[i : i + 1])[0]
    return tuple(found), cost


def _nearest(
    i: int,
    centres: Floats,
    size: Floats,
    room: tuple[float, float],
    blocked: Floats,
    crossed: tuple[Floats, Floats, Floats],
    steps: int,
) -> tuple[LabelPosition | None, float]:
    """Return the best position of the name of point `i`, whose mark is box `i` of `blocked`, and its cost."""
    (lines, leads, arrows), point = crossed, centres[i]
    around = [_around(point, size, far) for far in DISTANCES[:steps]]
    corners = np.concatenate(around)
    step = np.repeat(np.arange(steps), len(around[0]))
    boxes = np.column_stack([corners, corners + size])
    inside = (corners >= 0).all(axis=1) & (boxes[:, 2:] <= np.array(room)).all(axis=1)
    free = np.flatnonzero(inside & (_touching(boxes, blocked) == 0))
    if len(free) == 0:
        return None, LEFT_OUT
    cost = step[free] + CROSSED * _touching(boxes[free], lines)
    cost += CROSSED * _crossing(arrows, boxes[free]).sum(axis=0)
    cost += THROUGH * _crossing(leads, boxes[free]).sum(axis=0)
    others = np.delete(blocked, i, axis=0)
    # A name that is nearer to another mark would be read as the name of that one.
    away = np.hypot(
        *(np.clip(centres[:, None], boxes[free, :2], boxes[free, 2:]) - centres[:, None]).T
    )
    own, strange = away[:, i], np.delete(away, i, axis=1).min(axis=1, initial=np.inf)
    cost += THROUGH * (strange < own)
    through = _crossing(_leads(point, boxes[free]), others).sum(axis=1)
    cost += THROUGH * np.where(step[free] > 0, through, 0)
    least = int(np.argmin(cost))
    best = free[least]
    x, y = corners[best].tolist()
    return LabelPosition(x, y, bool(step[best] > 0)), float(cost[least])


def _around(point: Floats, size: Floats, far: float) -> Floats:
    """Return the lower left corners of candidate boxes around a point, those on its right first."""
    # In the four quadrants of an error cross a name touches neither of its lines.
    side = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    corners = point + side * np.array([far, 0.3 * far]) - np.where(side < 0, size, 0.0)
    steps = np.arange(_DIRECTIONS)
    turn = np.where(steps % 2, steps + 1, -steps) * np.pi / _DIRECTIONS
    way = np.column_stack([np.cos(turn), np.sin(turn)])
    # The anchor of the box moves with the direction: its side centre beside the point, its lower edge above it.
    return np.concatenate([corners, point + far * way - size * (1 - way) / 2])


def _touching(boxes: Floats, others: Floats) -> Ints:
    """Return how many of the other boxes each box touches."""
    a, b = boxes[:, None], others[None]
    apart = (a[..., 2] <= b[..., 0]) | (b[..., 2] <= a[..., 0])
    apart |= (a[..., 3] <= b[..., 1]) | (b[..., 3] <= a[..., 1])
    return (~apart).sum(axis=1)


def _leads(point: Floats, boxes: Floats) -> Floats:
    """Return the lines from a point to the nearest points of boxes: (x, y) of both ends, (n, 4)."""
    ends = np.clip(point, boxes[:, :2], boxes[:, 2:])
    return np.column_stack([np.broadcast_to(point, ends.shape), ends])


def _crossing(segments: Floats, boxes: Floats) -> Bools:
    """Return which segments (x, y of both ends) run through which boxes, (n, m)."""
    start, way = segments[:, None, :2], segments[:, None, 2:] - segments[:, None, :2]
    # A segment parallel to two sides passes them at -inf and inf if it lies between them.
    with np.errstate(divide="ignore", invalid="ignore"):
        sides = (np.stack([boxes[:, :2], boxes[:, 2:]])[:, None] - start) / way
    sides = np.where(np.isnan(sides), np.inf, sides)
    first = np.maximum(sides.min(axis=0).max(axis=2), 0.0)
    last = np.minimum(sides.max(axis=0).min(axis=2), 1.0)
    return first < last
