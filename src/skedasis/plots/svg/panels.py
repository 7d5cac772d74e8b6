"""Panels of SVG figures: order of their marks, stacks of panels, headings and colour scales.

`inside` draws the marks of one `Panel` from back to front and returns its legend. `Stack` arranges panels vertically on
the same horizontal axis. `headed`, `foot` and `scale_bar` are headings, axes and colour scales outside of frames, for
surfaces, importances and diagnoses.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from markupsafe import Markup

from skedasis.plots import descriptions
from skedasis.plots.scales import (
    LEADING,
    SIZE,
    SMALL,
    Axis,
    fitting,
    join_notes_in_pixels,
    lines_of,
)
from skedasis.plots.spec import EffectPlotOptions, FigureSpec, Panel, merge_legends
from skedasis.plots.svg import marks
from skedasis.plots.svg.elements import joined, px, tag
from skedasis.plots.svg.frame import (
    GAP,
    TICK,
    Frame,
    Keys,
    above,
    below,
    beside,
    heading,
    level_ticks,
    overhang,
)
from skedasis.plots.svg.marks import Defs, bounds
from skedasis.results.effect import Effect

# --- headings and colour scales ------------------------------------------------------------------

BAR = 12.0
"""Height of a colour scale in pixels."""


def headed(
    title: str, notes: Sequence[str], width: float, top: float = 0.0, left: float = 2.0
) -> tuple[Markup, float]:
    """Return a title with notes below it, and the y coordinate of their lower end."""
    parts: list[Markup] = []
    y = top
    if title:
        y += 16.0
        line = fitting(title, width - left, SIZE + 1)
        parts.append(heading([line], left, y, SIZE + 1, "title"))
    lines = join_notes_in_pixels(tuple(notes), width - left) if notes else []
    if lines:
        y += len(lines) * LEADING * SMALL
        parts.append(heading(lines, left, y, SMALL, "notes"))
    return joined(parts), y + 8


def foot(
    axis: Axis, left: float, width: float, top: float, *, line: bool = True
) -> tuple[Markup, float]:
    """Return a horizontal axis of numbers with ticks and label, and the y coordinate of its lower end.

    Parameters
    ----------
    axis : Axis
    left, width, top : float
        In pixels.
    line : bool
        Whether to draw the axis line.
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
    # Halved first: the difference of two huge numbers of opposite sign would overflow.
    return left + width * (value / 2 - low / 2) / (high / 2 - low / 2)


def scale_bar(
    axis: Axis, scale: str, levels: Sequence[float], left: float, width: float, top: float
) -> tuple[Markup, float]:
    """Return a colour scale with ticks, label and contours, and the y coordinate of its lower end.

    Parameters
    ----------
    axis : Axis
        Range of the colours.
    scale : str
        First letter of the CSS classes of the colours.
    levels : sequence of float
        Values of the contours.
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
    """Return the CSS classes of a contour: dashed below zero, thicker at zero."""
    return "contour" + (" less" if level < 0 else " at-zero" if level == 0 else "")


# --- stacks of panels ----------------------------------------------------------------------------

EDGE, RIGHT = 2.0, 14.0
"""Left and right margin of a figure in pixels."""


@dataclass
class Stack:
    """Vertically stacked panels on the same horizontal axis, to which panels are added.

    Parameters
    ----------
    defs : Defs
    left, width : float
        Of the frames, in pixels.
    start : float
        y coordinate at which the next panel begins.
    origin : float
        Left end of the stack.
    small : bool
        Whether it is one of many small figures.
    """

    defs: Defs
    left: float
    width: float
    start: float
    origin: float = 0.0
    small: bool = False
    parts: list[Markup] = field(default_factory=list)
    keys: Keys = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=list)

    def add(
        self, panel: Panel, height: float, *, last: bool, titled: bool, above: float = 0.0
    ) -> None:
        """Draw a panel below the existing ones.

        Parameters
        ----------
        panel : Panel
        height : float
            Of its frame, in pixels.
        last : bool
            Whether to write the labels of the horizontal axis.
        titled : bool
            Whether to write the title of the panel.
        above : float
            Smallest space above the frame in pixels, so that frames of neighbouring stacks are aligned.
        """
        title, notes = (panel.title if titled else ""), panel.notes
        room = self.left + self.width - self.origin - EDGE
        # Lines at whole pixels are crisp, and the pixels in `data-x` and `data-y` are exact.
        top = math.ceil(self.start + max(above, head_of(panel, room, title=title, notes=notes)))
        lift = WORDS if panel.words else 0.0
        edge, dense = self.origin + EDGE, self.small
        frame = Frame(
            panel.x, panel.y, self.left, top, self.width, height, edge, dense=dense, lift=lift
        )
        drawn, more = inside(frame, panel, self.defs, small=self.small)
        axes = frame.axes(below=last)
        under = frame.ground()
        look = {} if not self.small else {"data_small": "1"}
        self.parts += [
            head(frame, self.start, title=title, notes=notes),
            frame.panel(under, drawn, axes, words(frame, panel), **look),
        ]
        self.keys = merge_legends(self.keys, more)
        self.frames.append(frame)
        under_it = below(panel.x, self.width, dense=dense) if last else 10.0
        self.start = frame.bottom + under_it


def stacked(
    defs: Defs,
    panels: Sequence[tuple[Panel, float]],
    width: float,
    origin: tuple[float, float] = (0.0, 2.0),
    *,
    small: bool = False,
) -> Stack:
    """Return an empty stack with space for the tick labels of the given panels."""
    room = EDGE + max(beside(panel.y, height, dense=small) for panel, height in panels)
    across = panels[0][0].x
    for _ in range(
        3
    ):  # more space on the left for names makes the frame narrower, which changes their overhang
        room = max(room, EDGE + overhang(across, width - room - RIGHT))
    room = math.ceil(room)
    left = origin[0] + room
    return Stack(defs, left, width - room - RIGHT, origin[1], origin[0], small)


def hits(
    effect: Effect, shown: FigureSpec, view: EffectPlotOptions, frames: Sequence[Frame]
) -> Markup:
    """Return the tooltips of an effect, over the panels they refer to."""
    main, lower, both = descriptions.of_effect(effect, shown, view)
    count = len(frames) - (shown.groups is not None)
    foot = frames[count - 1].bottom if both else frames[0].bottom
    parts = [descriptions.tooltip_rectangles(main, frames[0], frames[0].top, foot)]
    if lower:
        parts.append(
            descriptions.tooltip_rectangles(lower, frames[1], frames[1].top, frames[1].bottom)
        )
    if shown.groups is not None:
        unit = effect.about.feature.unit
        bars = descriptions.of_groups(shown.groups, effect.feature, unit)
        parts.append(
            descriptions.tooltip_rectangles(bars, frames[-1], frames[-1].top, frames[-1].bottom)
        )
    return joined(parts)


# --- one panel -----------------------------------------------------------------------------------

WORDS = 1.2 * SMALL
"""Height of the annotations above a panel, in pixels."""


def inside(frame: Frame, panel: Panel, defs: Defs, *, small: bool = False) -> tuple[Markup, Keys]:
    """Return the marks of a panel from back to front, and its legend.

    Parameters
    ----------
    frame : Frame
    panel : Panel
    defs : Defs
        Collects patterns and clip paths.
    small : bool
        Whether it is one of many small figures.

    Returns
    -------
    svg : Markup
    keys : dict
    """
    keys: Keys = {}
    low: list[Markup] = []
    middle: list[Markup] = []
    high: list[Markup] = []
    # The legend begins with the average, although other marks are drawn below it.
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
    groups, more = marks.draw_outlines(frame, panel.outlines, defs)
    keys |= more
    foot, more = marks.strips(frame, panel.strips, defs)
    keys |= more
    aside, more = _aside(frame, panel, small=small)
    keys |= more
    doubts, texts, more = marks.hatches(frame, panel.hatches, defs)
    keys |= more
    zero = frame.zero() if panel.zero else Markup("")
    under = [*low, doubts, zero, curves, *middle, spread, groups]
    parts = [*under, *high, dots, foot, aside, texts]
    return tag("g", *parts, clip_path=defs.clip(frame)), keys


def _curves(frame: Frame, panel: Panel) -> tuple[Markup, Markup, Keys]:
    if panel.bundle is None:
        return Markup(""), Markup(""), {}
    return marks.bundle(frame, panel.bundle)


def _spread(frame: Frame, panel: Panel, *, small: bool) -> tuple[Markup, Keys]:
    """Return violins, whiskers and means of bins, and bars of counts."""
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
    """Return the rug and the point of missing values."""
    parts: list[Markup] = []
    keys: Keys = {}
    if panel.rug is not None:
        drawn, more = marks.rug(frame, panel.rug)
        parts.append(drawn)
        keys |= more
    if panel.missing_marker is not None:
        drawn, more = marks.missing_marker(frame, panel.missing_marker, small=small)
        parts.append(drawn)
        keys |= more
    return joined(parts), keys


def words(frame: Frame, panel: Panel) -> Markup:
    """Return the annotations above a panel."""
    if not panel.words:
        return Markup("")
    y = frame.top - 4
    at = (float(v) for v in frame.x(np.array([w.x for w in panel.words])))
    texts = [tag("text", w.text, x=x, y=y) for x, w in zip(at, panel.words, strict=True)]
    return tag("g", *texts, class_="words middle")


def head_of(panel: Panel, width: float, *, title: str, notes: Sequence[str]) -> float:
    """Return the height in pixels of title, notes, label of the vertical axis and annotations above a panel."""
    high = LEADING * (SIZE + 1) + 2 if title else 0.0
    high += LEADING * SMALL * len(join_notes_in_pixels(tuple(notes), width))
    high += above(panel.y, width)
    return high + (WORDS if panel.words else 0.0)


def head(frame: Frame, start: float, *, title: str, notes: Sequence[str]) -> Markup:
    """Return title and notes, left-aligned, from `start` downwards."""
    room = frame.right - frame.edge
    parts: list[Markup] = []
    y = start
    if title:
        y += LEADING * (SIZE + 1)
        line = fitting(title, room, SIZE + 2)
        parts.append(heading([line], frame.edge, y - 4, SIZE + 1, "title"))
        y += 2
    lines = join_notes_in_pixels(tuple(notes), room)
    if lines:
        last = y + LEADING * SMALL * len(lines) - 4
        parts.append(heading(lines, frame.edge, last, SMALL, "notes"))
    return joined(parts)
