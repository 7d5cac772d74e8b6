"""What stands around the frames of surfaces, importances and diagnoses: heads, and scales of colours."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from markupsafe import Markup

from skedasis.plots.scale import Axis
from skedasis.plots.web.frame import GAP, TICK, level_ticks
from skedasis.plots.web.lattice import bounds
from skedasis.plots.web.legend import heading
from skedasis.plots.web.svg import joined, px, tag
from skedasis.plots.web.text import LEADING, SIZE, SMALL, fitting, flowed_in, lines_of

BAR = 12.0
"""Height of a scale of colours."""


def headed(
    title: str, notes: Sequence[str], width: float, top: float = 0.0, left: float = 2.0
) -> tuple[Markup, float]:
    """Return a title with remarks below it, and where they end."""
    parts: list[Markup] = []
    y = top
    if title:
        y += 16.0
        line = fitting(title, width - left, SIZE + 1)
        parts.append(heading([line], left, y, SIZE + 1, "title"))
    lines = flowed_in(tuple(notes), width - left) if notes else []
    if lines:
        y += len(lines) * LEADING * SMALL
        parts.append(heading(lines, left, y, SMALL, "notes"))
    return joined(parts), y + 8


def foot(
    axis: Axis, left: float, width: float, top: float, *, line: bool = True
) -> tuple[Markup, float]:
    """Return a horizontal axis of numbers with its ticks and its label, and where it ends.

    Parameters
    ----------
    axis : Axis
    left, width, top : float
        In pixels.
    line : bool
        Whether there is a line from end to end.
    """
    ticks = level_ticks(axis, width)
    at = [_at(v, axis, left, width) for v in ticks.at]
    d = f"M{px(left)} {px(top)}h{px(width)}" if line else ""
    d += "".join(f"M{px(x)} {px(top)}v{px(TICK)}" for x in at)
    y = top + TICK + GAP + 0.8 * SMALL
    texts = [tag("text", t, x=x, y=y) for t, x in zip(ticks.texts, at, strict=True)]
    y = top + TICK + GAP + LEADING * SMALL + 0.95 * SIZE
    words = lines_of(axis.label, width, SIZE, 2)
    label = [
        tag("text", word, x=left + width / 2, y=y + i * LEADING * SIZE)
        for i, word in enumerate(words)
    ]
    parts = [
        tag("path", class_="axis", d=d),
        tag("g", *texts, class_="ticks middle"),
        tag("g", *label, class_="label middle"),
    ]
    return joined(parts), y + (len(words) - 1) * LEADING * SIZE + 8


def _at(value: float, axis: Axis, left: float, width: float) -> float:
    low, high = axis.limits
    # Halves first: the difference of two huge numbers of either sign would overflow.
    return left + width * (value / 2 - low / 2) / (high / 2 - low / 2)


def scale_bar(
    axis: Axis, scale: str, levels: Sequence[float], left: float, width: float, top: float
) -> tuple[Markup, float]:
    """Return a scale of colours with its ticks, its label and the contours, and where it ends.

    Parameters
    ----------
    axis : Axis
        Of the colours.
    scale : str
        First letter of their classes.
    levels : sequence of float
        Of contours.
    left, width, top : float
        In pixels.
    """
    ends = [_at(v, axis, left, width) for v in bounds(axis.limits).tolist()]
    steps = [
        tag("rect", class_=f"{scale}{k}", x=a, y=top, width=b - a, height=BAR)
        for k, (a, b) in enumerate(itertools.pairwise(ends))
    ]
    places = [(v, _at(v, axis, left, width)) for v in levels]
    lines = [
        tag("path", class_=contour_class(v), d=f"M{px(x)} {px(top)}v{px(BAR)}") for v, x in places
    ]
    below, end = foot(axis, left, width, top + BAR, line=False)
    return tag("g", tag("g", *steps, class_="heat"), *lines, below, class_="colours"), end


def contour_class(level: float) -> str:
    """Return the classes of a contour: one below zero is dashed, that at zero thicker."""
    return "contour" + (" less" if level < 0 else " at-zero" if level == 0 else "")
