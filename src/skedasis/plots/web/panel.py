"""One pair of axes and all that stands in it: the order of its parts is that of the other figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from skedasis.plots.marks import Panel
from skedasis.plots.web import areas, marks, strands
from skedasis.plots.web.areas import Defs
from skedasis.plots.web.frame import Frame, above
from skedasis.plots.web.legend import Keys, heading
from skedasis.plots.web.svg import joined, tag
from skedasis.plots.web.text import LEADING, SIZE, SMALL, fitting, flowed_in

WORDS = 1.2 * SMALL
"""Pixels that words above a panel take."""


def inside(frame: Frame, panel: Panel, defs: Defs, *, small: bool = False) -> tuple[Markup, Keys]:
    """Draw all that stands in a panel, and say what explains it.

    Parameters
    ----------
    frame : Frame
    panel : Panel
    defs : Defs
        Collects patterns and clips.
    small : bool
        Whether it is one of many.

    Returns
    -------
    svg : Markup
    keys : dict
    """
    keys: Keys = {}
    low: list[Markup] = []
    middle: list[Markup] = []
    high: list[Markup] = []
    # The legend begins with the average, whatever lies under it.
    coloured = panel.bundle is not None and panel.bundle.tint is not None
    for line in panel.lines:
        drawn, more = marks.line(frame, line, "ink" if coloured else "average", small=small)
        high.append(drawn)
        keys |= more
    for band in panel.bands:
        drawn, more = marks.band(frame, band)
        (middle if band.role == "error" else low).append(drawn)
        keys |= more
    curves, dots, more = _curves(frame, panel)
    keys |= more
    spread, more = _spread(frame, panel, small=small)
    keys |= more
    groups, more = areas.outlines(frame, panel.outlines, defs)
    keys |= more
    foot, more = areas.strips(frame, panel.strips, defs)
    keys |= more
    aside, more = _aside(frame, panel, small=small)
    keys |= more
    doubts, texts, more = areas.hatches(frame, panel.hatches, defs)
    keys |= more
    zero = frame.zero() if panel.zero else Markup("")
    under = [*low, doubts, zero, curves, *middle, spread, groups]
    parts = [*under, *high, dots, foot, aside, texts]
    return tag("g", *parts, clip_path=defs.clip(frame)), keys


def _curves(frame: Frame, panel: Panel) -> tuple[Markup, Markup, Keys]:
    if panel.bundle is None:
        return Markup(""), Markup(""), {}
    return strands.bundle(frame, panel.bundle)


def _spread(frame: Frame, panel: Panel, *, small: bool) -> tuple[Markup, Keys]:
    """Return violins, whiskers and means, and bars of counts."""
    parts: list[Markup] = []
    keys: Keys = {}
    if panel.steps is not None:
        fine = small or len(panel.steps.y) > 20
        whiskers, means, keys = marks.steps(frame, panel.steps, fine=fine)
        bodies, more = marks.violins(frame, panel)
        parts += [bodies, whiskers, means]
        keys |= more
    if panel.bars is not None:
        parts.append(marks.bars(frame, panel.bars))
    return joined(parts), keys


def _aside(frame: Frame, panel: Panel, *, small: bool) -> tuple[Markup, Keys]:
    """Return what lies at the edges, or beside the axis."""
    parts: list[Markup] = []
    keys: Keys = {}
    if panel.rug is not None:
        drawn, more = areas.rug(frame, panel.rug)
        parts.append(drawn)
        keys |= more
    if panel.apart is not None:
        drawn, more = marks.apart(frame, panel.apart, small=small)
        parts.append(drawn)
        keys |= more
    return joined(parts), keys


def words(frame: Frame, panel: Panel) -> Markup:
    """Return the short texts above a panel."""
    if not panel.words:
        return Markup("")
    y = frame.top - 4
    at = (float(v) for v in frame.x(np.array([w.x for w in panel.words])))
    texts = [tag("text", w.text, x=x, y=y) for x, w in zip(at, panel.words, strict=True)]
    return tag("g", *texts, class_="words middle")


def head_of(panel: Panel, width: float, *, title: str, notes: Sequence[str]) -> float:
    """Return how many pixels title, notes, the vertical axis' label and words take above a panel."""
    high = LEADING * (SIZE + 1) + 2 if title else 0.0
    high += LEADING * SMALL * len(flowed_in(tuple(notes), width))
    high += above(panel.y, width)
    return high + (WORDS if panel.words else 0.0)


def head(frame: Frame, start: float, *, title: str, notes: Sequence[str]) -> Markup:
    """Return title and notes, flush left, from `start` downwards."""
    room = frame.right - frame.edge
    parts: list[Markup] = []
    y = start
    if title:
        y += LEADING * (SIZE + 1)
        line = fitting(title, room, SIZE + 2)
        parts.append(heading([line], frame.edge, y - 4, SIZE + 1, "title"))
        y += 2
    lines = flowed_in(tuple(notes), room)
    if lines:
        last = y + LEADING * SMALL * len(lines) - 4
        parts.append(heading(lines, frame.edge, last, SMALL, "notes"))
    return joined(parts)
