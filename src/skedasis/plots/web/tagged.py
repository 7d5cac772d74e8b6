"""Names beside points: the same places as in the other figures, in a page's pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from skedasis._types import Floats
from skedasis.plots.tags import placed
from skedasis.plots.web.frame import Frame
from skedasis.plots.web.svg import px, tag
from skedasis.plots.web.text import SMALL, width_of

SHAPES: dict[str, str] = {
    "circle": "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "square": "m-4 -4h8v8h-8z",
    "diamond": "m0 -5.6l5.6 5.6l-5.6 5.6l-5.6-5.6z",
    "triangle": "m0 -5.2l5 9h-10z",
    "wedge": "m0 5.2l5-9h-10z",
    "cross": "m-2.2 -5h4.4v2.8h2.8v4.4h-2.8v2.8h-4.4v-2.8h-2.8v-4.4h2.8z",
}
"""Outlines of marks, drawn around where the pen is: all told apart without colours."""
AROUND = 3.0
"""Pixels around a line of text that stay free."""


@dataclass(frozen=True, eq=False)
class Named:
    """Names that found room.

    Parameters
    ----------
    texts : tuple of Markup or None
        Each name, with the line that leads to it; None where there was no room.
    left_out : int
    """

    texts: tuple[Markup | None, ...]

    @property
    def left_out(self) -> int:
        """Return how many names found no room."""
        return sum(t is None for t in self.texts)


def named(
    frame: Frame,
    x: Floats,
    y: Floats,
    names: Sequence[str],
    *,
    taken: Sequence[tuple[float, float, float, float]] = (),
    lines: Floats | None = None,
) -> Named:
    """Return names beside their points: none touches a mark, another name, or what is taken.

    Parameters
    ----------
    frame : Frame
    x, y : ndarray of float, shape (n,)
        Points in pixels; all of them keep names away.
    names : sequence of str
        Of the first points: these are served first.
    taken : sequence of (left, top, right, bottom)
        Boxes that stay free.
    lines : ndarray of float, shape (m, 4), optional
        Boxes of lines, which names cross only if they must.
    """
    if len(x) == 0:
        return Named(())
    points = np.column_stack([x - frame.left, frame.bottom - y])
    sizes = np.array([[width_of(name) + 2, SMALL + AROUND] for name in names]).reshape(-1, 2)
    room = (frame.width, frame.height)
    # Points without a name of their own keep others away, too.
    silent = points[len(names) :]
    blocked = np.concatenate(
        [_upwards(frame, np.array(taken, dtype=float)), np.column_stack([silent - 5, silent + 5])]
    )
    crossed = _upwards(frame, np.zeros((0, 4)) if lines is None else lines)
    found = placed(points[: len(names)], sizes, room, blocked, crossed)
    texts: list[Markup | None] = []
    for name, place, at in zip(names, found, points.tolist(), strict=False):
        if place is None:
            texts.append(None)
            continue
        a, b = frame.left + place.x, frame.bottom - place.y
        word = tag("text", name, class_="tag haloed", x=a + 1, y=b - AROUND)
        lead = _lead(frame, at, (place.x, place.y, width_of(name), SMALL)) if place.led else None
        texts.append(tag("g", *([lead] if lead is not None else []), word))
    return Named(tuple(texts))


def _upwards(frame: Frame, boxes: Floats) -> Floats:
    """Return boxes in pixels from the frame's lower left corner, upwards."""
    boxes = boxes.reshape(-1, 4)
    left, top, right, bottom = boxes.T
    return np.column_stack(
        [left - frame.left, frame.bottom - bottom, right - frame.left, frame.bottom - top]
    )


def _lead(
    frame: Frame, point: Sequence[float], box: tuple[float, float, float, float]
) -> Markup | None:
    """Return the line from a point to its name."""
    left, low, wide, high = box
    end = np.array([np.clip(point[0], left, left + wide), np.clip(point[1], low, low + high)])
    way = end - np.array(point)
    length = float(np.hypot(*way))
    if length < 8:
        return None
    start = np.array(point) + way * 6 / length
    a, b = frame.left + start[0], frame.bottom - start[1]
    c, d = frame.left + end[0], frame.bottom - end[1]
    return tag("path", class_="lead", d=f"M{px(a)} {px(b)}L{px(c)} {px(d)}")


def crosses(frame: Frame, at: Floats, lower: Floats, upper: Floats) -> tuple[str, Floats]:
    """Return intervals in both directions as one path, and the boxes of their lines.

    Parameters
    ----------
    frame : Frame
    at, lower, upper : ndarray of float, shape (n, 2)
        On the axes; no interval is drawn that has no end. Ends beyond the axes are drawn to the frame's edge.
    """
    x, y = frame.x(at[:, 0]), frame.y(at[:, 1])
    lower, upper = (
        np.where(np.isfinite(lower) & np.isfinite(upper), e, np.nan) for e in (lower, upper)
    )
    left, right = (np.clip(frame.x(e[:, 0]), frame.left, frame.right) for e in (lower, upper))
    foot, head = (np.clip(frame.y(e[:, 1]), frame.top, frame.bottom) for e in (lower, upper))
    level = np.column_stack([left, y, right, y])
    upright = np.column_stack([x, head, x, foot])
    boxes = np.concatenate([level, upright])
    boxes = boxes[np.isfinite(boxes).all(axis=1)]
    d = "".join(f"M{px(a)} {px(b)}L{px(c)} {px(d)}" for a, b, c, d in boxes.tolist())
    return d, boxes


def box_of(
    lines: Sequence[str], x: float, y: float, anchor: str
) -> tuple[float, float, float, float]:
    """Return the box of lines of text, the first one's foot at `y`: left, top, right, bottom."""
    wide = max(width_of(line) for line in lines)
    left = x - wide if anchor == "end" else x
    return left - 2, y - SMALL, left + wide + 2, y + (len(lines) - 1) * 1.25 * SMALL + 4
