"""Layout of figures: where each panel, text and legend entry is, for both renderers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from skedasis._types import Floats
from skedasis.plots.label_placement import place_labels
from skedasis.plots.marks import (
    NATURAL_WIDTH,
    Arrows,
    Contour,
    FigureSpec,
    Key,
    KeyShape,
    Margin,
    Panel,
    Points,
    Stack,
    Text,
    Title,
    legend_of,
    shorter_labels,
)
from skedasis.plots.scales import PlotAxis, clean
from skedasis.plots.text import Lettering
from skedasis.plots.ticks import LONG, Ticks, overhang, ticks_across, ticks_up

# --- areas of a figure ---------------------------------------------------------------------------

EDGE, RIGHT = 4.0, 11.0
"""Left and right margin of a stack of panels."""

TICK, GAP = 2.7, 2.0
"""Length of a tick, and the gap between it and its label."""

KEY_WIDTH, KEY_HEIGHT, KEY_GAP, KEYS_APART = 17.0, 8.0, 4.0, 11.0
"""Size of the key of a legend entry, and the gaps after it and between entries."""


def _mirrored(right: Sequence[tuple[float, float]]) -> Floats:
    """Return the outline of which the right half is given, from above."""
    half = np.array(right)
    return np.concatenate([half, half[::-1] * (-1.0, 1.0)])


KEY_LINES: dict[KeyShape, tuple[Floats, ...]] = {
    "whisker": tuple(
        np.array(ends)
        for ends in (((0, -4), (0, 4)), ((-2.7, -4), (2.7, -4)), ((-2.7, 4), (2.7, 4)))
    ),
    "lying": tuple(
        np.array(ends)
        for ends in (((-7, 0), (7, 0)), ((-7, -2.7), (-7, 2.7)), ((7, -2.7), (7, 2.7)))
    ),
    "rug": tuple(np.array(((x, -2.5), (x, 2.5))) for x in (-3, -0.5, 3)),
    "violin": (
        _mirrored([(0, -4.7), (0.9, -2.7), (3, -1.1), (4, 0.2), (3, 1.4), (0.9, 2.8), (0, 4.7)]),
    ),
    "margin": tuple(
        np.array(((x, 4), (x, y), (x + 4, y), (x + 4, 4)))
        for x, y in ((-6, 0), (-2, -4), (2, -1.3))
    ),
}
"""Keys in points around their centre, y downwards; those of violins and histograms are closed."""

MARGIN = 19.0
"""Height of a histogram outside a frame."""

ROW, ROWS, TIGHT, DOUBLE = 17.0, 40, 12.0, 23.0
"""Height of a line of a bar chart; that of more than `ROWS` lines; and of one whose name needs two lines of text."""

NAMED = 0.55
"""Part of the height of a chart that its names have, if this suffices for all of them."""

BESIDE = 0.5
"""Largest fraction of a frame for a text beside a bar."""

NAMES = 0.4
"""Largest fraction of the width for names beside a panel."""

LEAST = {"main": 46.0, "detail": 40.0, "counts": 16.0, "scale": 5.0}
"""Smallest height of the frame of each kind of panel; below it, parts of the figure are left out."""

SCALE_HEIGHT = 8.0

SHARE = 1 / 3
"""Part of the height that main panels have, if the legend allows it: less important parts are left out for them."""

NARROW, UPRIGHT = 76.0, 0.6
"""In a figure of a given height, more small panels than usual are side by side if there are fewer lines then: down to
this width, and to this width relative to the height of a line."""

LEGEND = 0.2
"""Largest part of the height of a figure that its legend takes."""

SPARE = {
    "rug": 0,
    "margin": 0,
    "missing": 1,
    "beyond-above": 1,
    "beyond-below": 1,
    "few": 2,
    "empty": 2,
    "violin": 3,
    "local": 3,
}
"""Styles whose legend entries are left out first where the legend would take more, in this order."""

DEPTH = 0.25
"""Part of a line of panels that rotated names have at most in a figure of a given height."""


@dataclass(frozen=True)
class PlotFrame:
    """The rectangle of a panel, with conversion from values to positions."""

    x: PlotAxis
    y: PlotAxis
    left: float
    top: float
    width: float
    height: float
    inverted: tuple[bool, bool] = (False, False)

    @property
    def right(self) -> float:
        """Return the right end."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Return the lower end."""
        return self.top + self.height

    def across(self, values: Floats | float) -> Floats:
        """Return horizontal positions of values; those of ±inf are the ends."""
        share = self.x.share(values)
        return self.left + self.width * (1 - share if self.inverted[0] else share)

    def up(self, values: Floats | float) -> Floats:
        """Return vertical positions of values; those of ±inf are the ends."""
        share = self.y.share(values)
        return self.bottom - self.height * (1 - share if self.inverted[1] else share)


@dataclass(frozen=True)
class PlacedText:
    """Lines of text with their position."""

    lines: tuple[str, ...]
    x: float
    y: float
    style: str
    anchor: int = 1
    turn: float = 0.0
    after: str = ""


@dataclass(frozen=True, eq=False)
class PlacedPanel:
    """A panel with its frame, ticks and texts."""

    panel: Panel
    frame: PlotFrame
    across: Ticks
    up: Ticks
    names_below: bool
    names_beside: bool
    tick_texts: tuple[PlacedText, ...]
    title: PlacedText | None
    notes: PlacedText | None
    x_label: PlacedText | None
    y_label: PlacedText | None
    texts: tuple[PlacedText, ...]
    leads: Floats


@dataclass(frozen=True, eq=False)
class PlacedKey:
    """A legend entry: the left end and the vertical centre of its key, and its text."""

    key: Key
    x: float
    y: float
    text: PlacedText


@dataclass(frozen=True, eq=False)
class Layout:
    """A figure whose parts have their places."""

    spec: FigureSpec
    width: float
    height: float
    stacks: tuple[tuple[PlacedPanel, ...], ...]
    keys: tuple[PlacedKey, ...]
    heading: PlacedText | None
    notes: PlacedText | None
    lettering: Lettering

    @property
    def panels(self) -> tuple[PlacedPanel, ...]:
        """Return all panels, line by line."""
        return tuple(itertools.chain.from_iterable(self.stacks))

    def texts(self) -> Iterator[PlacedText]:
        """Yield all texts of the figure."""
        for placed in self.panels:
            heads = (placed.title, placed.notes, placed.x_label, placed.y_label)
            yield from (t for t in heads if t is not None)
            yield from (*placed.tick_texts, *placed.texts)
        yield from (key.text for key in self.keys)
        yield from (t for t in (self.heading, self.notes) if t is not None)


# --- arrangement of a figure ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Detail:
    """What a figure shows: lines of notes and labels, most letters of rotated names, smallest height of frames."""

    counts: bool = True
    details: bool = True
    notes: int = 8
    legend: bool = True
    labels: int = 2
    letters: int = LONG
    least: float = 1.0
    ticks: bool = True
    titles: bool = True
    wanted: bool = True
    some: str = ""

    def left_out(self, spec: FigureSpec) -> tuple[str, ...]:
        """Return a note on parts of a figure that are left out, but for counts, which are often written elsewhere."""
        legend = self.wanted and not self.legend and legend_of(spec.panels)
        lower = not (self.details or self.some) and any(p.kind == "detail" for p in spec.panels)
        if self.some:
            rest = (
                " and no legend: draw it larger" if legend else "; the others need a larger figure"
            )
            return (f"{self.some}{rest}",)
        parts = [name for name, out in (("legend", legend), ("lower panel", lower)) if out]
        if not parts:
            return ()
        return (f"the {' and the '.join(parts)} need{'s' * (len(parts) == 1)} a larger figure",)


SHORT = 12
"""Most letters of rotated names in low figures."""

_LOW = _Detail(counts=False, details=False, notes=0, labels=1, letters=SHORT)

_DETAILS = (
    _Detail(),
    _Detail(counts=False),
    _Detail(counts=False, letters=SHORT),
    _Detail(counts=False, details=False, letters=SHORT),
    _Detail(counts=False, details=False, letters=SHORT, notes=1),
    _Detail(counts=False, details=False, letters=SHORT, notes=0),
    _LOW,
    replace(_LOW, legend=False),
)
"""From everything to the least that several panels have."""

_TINY = (
    replace(_LOW, legend=False, least=0.5),
    replace(_LOW, legend=False, least=0.4, labels=0),
    replace(_LOW, legend=False, least=0.4, labels=0, ticks=False),
    replace(_LOW, legend=False, least=0.0, labels=0, ticks=False, titles=False),
)
"""For a single panel in a figure that is too low even for the least."""


def arrange(
    spec: FigureSpec,
    width: float,
    height: float | None = None,
    *,
    lettering: Lettering | None = None,
    legend: bool = True,
) -> Layout:
    """Place all parts of a figure."""
    lettering = Lettering() if lettering is None else lettering
    if height is None:
        return _Arrangement(spec, width, lettering, _Detail(legend=legend, wanted=legend)).placed(
            None
        )
    return _best(spec, width, height, lettering, legend=legend).placed(height)


def _best(
    spec: FigureSpec, width: float, height: float, lettering: Lettering, *, legend: bool
) -> _Arrangement:
    """Return the arrangement that shows most, of those whose main panels have `SHARE` of the height."""
    columns = _possible_columns(spec, width, height, lettering)
    fitting: list[_Arrangement] = []
    made: _Arrangement | None = None
    for names, detail in itertools.product((True, False), _DETAILS):
        if fitting and not detail.legend:
            return max(fitting, key=lambda one: one.share(height))
        for c in columns:
            shown = replace(detail, legend=detail.legend and legend, wanted=legend)
            made = _Arrangement(spec, width, lettering, shown, c, height)
            if made.fits(height, names=names):
                if made.share(height) >= SHARE - 1e-9 or not detail.legend:
                    return made
                fitting.append(made)
    if spec.compact is not None:
        return _best(spec.compact, width, height, lettering, legend=legend)
    if made is None or len(spec.stacks) > 1:
        made = _fewer_stacks(spec, width, height, lettering, legend=legend)
    for detail in _TINY:
        if made.fits(height):
            break
        shown = replace(detail, wanted=legend, some=made.detail.some)
        made = _Arrangement(made.spec, width, lettering, shown, None, height)
    return made


def _possible_columns(
    spec: FigureSpec, width: float, height: float, lettering: Lettering
) -> list[int]:
    """Return the usual number of stacks side by side, and larger ones with which there are fewer lines."""
    first, n = _columns(spec, width, lettering), len(spec.stacks)
    most = int(width / (lettering.scale * NARROW)) if spec.small and spec.column_width else first
    lines = {-(-n // c): c for c in range(max(first, most), first, -1)}
    more = {c for k, c in lines.items() if width / c >= UPRIGHT * height / k and k < -(-n // first)}
    return sorted({first, *more})


def _columns(spec: FigureSpec, width: float, lettering: Lettering) -> int:
    """Return the number of stacks side by side in a figure of this width."""
    columns = max(1, min(spec.columns, len(spec.stacks)))
    if not spec.column_width:
        return columns
    return min(columns, max(1, int(width / (lettering.scale * spec.column_width))))


def _fewer_stacks(
    spec: FigureSpec, width: float, height: float, lettering: Lettering, *, legend: bool
) -> _Arrangement:
    """Return the arrangement of as many stacks as fit, the first ones, with a note on the others."""
    total = len(spec.stacks)
    made = _Arrangement(
        spec, width, lettering, replace(_LOW, legend=False, wanted=legend), None, height
    )
    for n, shown in itertools.product(range(total - 1, 0, -1), (legend, False)):
        some = replace(spec, stacks=spec.stacks[:n], notes=())
        detail = replace(_LOW, legend=shown, wanted=legend, some=f"{n} of {total} {spec.noun}s")
        for c in _possible_columns(some, width, height, lettering):
            made = _Arrangement(some, width, lettering, detail, c, height)
            if made.fits(height):
                return made
    return made


_LineParts: TypeAlias = tuple[list[float], list[float], list[float]]
"""Heights of the heads, frames and feet of a line of stacks."""


class _Arrangement:
    """The arrangement of a figure at one level of detail."""

    def __init__(
        self,
        spec: FigureSpec,
        width: float,
        lettering: Lettering,
        detail: _Detail,
        columns: int | None = None,
        height: float = math.inf,
    ) -> None:
        self.spec, self.width, self.lettering, self.detail = spec, width, lettering, detail
        n = len(spec.stacks)
        columns = _columns(spec, width, lettering) if columns is None else columns
        self.columns = columns
        shares = spec.widths if len(spec.widths) == columns else (1.0,) * columns
        self.widths = [width * s / sum(shares) for s in shares]
        self.stacks = [self._shown(stack, i) for i, stack in enumerate(spec.stacks)]
        self.lines = [range(i, min(i + columns, n)) for i in range(0, n, columns)]
        deep = DEPTH * height / max(len(self.lines), 1) / lettering.width("n", "tick")
        self.letters = min(detail.letters, max(5, int(min(deep, LONG))))
        self.highs: list[list[float]] = []
        self.lefts = [self._left(c) for c in range(columns)]
        for i, stack in enumerate(self.stacks):
            wide = self._room(stack, i % columns)
            self.stacks[i] = [replace(p, x=self._roomy(p.x, wide)) for p in stack]
        self.keys = (
            legend_of([p for s in self.stacks for p in s], spec.order) if detail.legend else ()
        )
        self.key_room, self.brief = width - 2 * EDGE, False
        for keys, brief, room in self._legends():
            self.keys, self.brief, self.key_room = keys, brief, room
            self.legend_fits = self.legend_height() <= LEGEND * height and self._distinct()
            if self.legend_fits:
                break
        most = max(detail.notes, 1) if detail.titles else 0
        notes = (*detail.left_out(spec), *spec.notes)
        self.foot_notes = lettering.flow(notes, width - 2 * EDGE, most=most)
        self.heading = self._titled(
            spec.heading if detail.titles else Title(), EDGE, EDGE, width - 2 * EDGE
        )

    # --- what is shown

    def _shown(self, stack: Stack, place: int) -> list[Panel]:
        """Return the panels of a stack at this level of detail."""
        shown: list[Panel] = []
        for panel in stack:
            if panel.kind == "counts":
                if not self.detail.counts or not shown:
                    continue
                # Numbers above a panel say the same.
                carrier = next((i for i, p in enumerate(shown) if p.above), None)
                if carrier is not None:
                    if self._above_fits(shown[carrier], self._frame_width(shown[carrier], place)):
                        continue
                    shown[carrier] = replace(shown[carrier], above=())
            if panel.kind == "detail" and not self.detail.details:
                continue
            shown.append(panel)
        return [self._bare(p, self._frame_width(p, place)) for p in shown]

    def _bare(self, panel: Panel, width: float) -> Panel:
        """Return a panel without what has no room around it."""
        if self.detail.least < 1:
            marks = tuple(m for m in panel.marks if not isinstance(m, Margin))
            panel = replace(panel, marks=marks, above=())
        if not self.detail.titles:
            panel = replace(panel, title=Title())
        return panel if self._above_fits(panel, width) else replace(panel, above=())

    def _roomy(self, axis: PlotAxis, length: float) -> PlotAxis:
        """Return a horizontal axis with room for the texts that begin on it, half of its length for each at most."""
        low, most = axis.limits[0], axis.most
        for at, texts in axis.room:
            wide = [self.lettering.width(text, "value") + 2 * PAD for text in texts]
            least = next((w for w in wide if w <= BESIDE * length), BESIDE * length)
            most = max(most, low + (at - low) / (1 - least / length))
        return replace(axis, most=most) if most > axis.most else axis

    def _frame_width(self, panel: Panel, place: int) -> float:
        """Return the approximate width of a frame, before the space for its tick labels is known."""
        return 0.88 * self.widths[place % self.columns]

    def _above_fits(self, panel: Panel, width: float) -> bool:
        """Return whether the short texts above a panel do not touch."""
        if not panel.above:
            return True
        at = width * panel.x.share(np.array([x for x, _ in panel.above]))
        half = np.array([self.lettering.width(f"{t} ", "above") / 2 for _, t in panel.above])
        return bool(np.all(np.diff(at) >= half[1:] + half[:-1]))

    # --- space that texts need

    def _has_ticks(self, panel: Panel, column: int) -> bool:
        """Return whether a panel has numbers beside it, because no panel of its line has the same ones."""
        return not (self.spec.shared and column > 0 and panel.kind == "main")

    def _left(self, column: int) -> float:
        """Return the space on the left of the frames of a column."""
        wide = self.widths[column]
        room = EDGE + RIGHT  # for half of the first tick label below the frame
        for i in range(column, len(self.stacks), self.columns):
            stack = self.stacks[i]
            for k, panel in enumerate(stack):
                if not self._has_ticks(panel, column):
                    continue
                line = i // self.columns
                high = self.highs[line][k] if self.highs else self._natural(panel, column)
                most = NAMES * wide if panel.y.labels else math.inf
                ticks = ticks_up(panel.y, high, self.lettering, room=most)
                longest = max((self.lettering.width(t, "tick") for t in ticks.texts), default=0.0)
                if ticks.texts:
                    room = max(room, EDGE + longest + TICK + GAP + 1)
                if self._names_below(stack, k):
                    for _ in range(2):  # in a narrower frame, names extend further
                        room = max(room, self._overhang(panel, wide - room - self._right(stack)))
        return min(math.ceil(room), 0.5 * wide)

    def _across(self, axis: PlotAxis, length: float, before: float = math.inf) -> Ticks:
        """Return the ticks of a horizontal axis; without labels if there is no room below it."""
        most, letters = self.letters, self.lettering
        ticks = ticks_across(axis, length, letters, before=before, beyond=RIGHT, letters=most)
        return ticks if self.detail.ticks else Ticks(ticks.at, ("",) * len(ticks.at))

    def _overhang(self, panel: Panel, length: float) -> float:
        """Return how far slanted names extend to the left of a frame of about this width."""
        if not panel.x.labels:  # numbers are level
            return 0.0
        ticks = self._across(panel.x, length)
        if ticks.turn != 40:
            return 0.0
        at = length * panel.x.share(np.array(ticks.at))
        reach = overhang(ticks.texts, at, self.lettering)
        return max(0.0, reach) + 4 + EDGE

    @staticmethod
    def _names_below(stack: Sequence[Panel], k: int) -> bool:
        """Return whether the horizontal axis of a panel has its labels below the panel."""
        return not stack[k].x.hidden and (k == len(stack) - 1 or stack[k + 1].x != stack[k].x)

    def _right(self, stack: Sequence[Panel]) -> float:
        outside = any(isinstance(m, Margin) and m.side == "right" for p in stack for m in p.marks)
        return max(RIGHT * self.lettering.scale, MARGIN + 3 if outside else 0.0)

    def _natural(self, panel: Panel, column: int) -> float:
        """Return the height of a frame in its natural proportions."""
        if panel.kind == "scale":
            return SCALE_HEIGHT
        if panel.rows:
            high = ROW if panel.rows <= ROWS else TIGHT
            if self._long_names(panel, column):
                high = DOUBLE
            return self.lettering.scale * panel.rows * high
        # Wide figures would become too high.
        return panel.height * min(self.widths[column] / NATURAL_WIDTH, 1.6)

    def _long_names(self, panel: Panel, column: int) -> bool:
        """Return whether a name beside a panel needs more than one line."""
        names = (self.lettering.width(clean(n), "tick") for n in panel.y.labels)
        return max(names, default=0.0) > NAMES * self.widths[column]

    def _head(self, panel: Panel, width: float) -> float:
        """Return the height of everything above a frame."""
        letters = self.lettering
        title = self._titled(panel.title, 0.0, 0.0, width)
        high = self._title_height(title, 1.0)
        high += letters.leading("note") * len(self._notes(panel, width))
        if panel.y.label_text and self.detail.labels:
            high += letters.leading("label") * len(self._y_label(panel, width)) + 5
        else:
            high += 4
        high += letters.leading("above") if panel.above else 0.0
        high += MARGIN + 2 if _margin_on_top(panel) else 0.0
        return high

    def _titled(self, title: Title, x: float, top: float, room: float) -> PlacedText | None:
        """Return a title below `top`."""
        if not title:
            return None
        lines, after = self.lettering.head(title, room)
        y = top + self.lettering.leading("title") - 0.22 * self.lettering.size("title")
        return PlacedText(tuple(lines), x, y, "title", after=after)

    def _title_height(self, title: PlacedText | None, gap: float) -> float:
        """Return the height of a title with the gap below it."""
        return 0.0 if title is None else len(title.lines) * self.lettering.leading("title") + gap

    def _notes(self, panel: Panel, width: float) -> list[str]:
        return (
            self.lettering.flow(panel.notes, width, most=self.detail.notes)
            if self.detail.notes
            else []
        )

    def _y_label(self, panel: Panel, width: float) -> list[str]:
        most = self.detail.labels
        return self.lettering.wrap(panel.y.label_text, width, "label", most) if most else []

    def _x_label(self, panel: Panel, width: float) -> list[str]:
        if not (panel.x.label_text and self.detail.labels):
            return []
        return self.lettering.wrap(panel.x.label_text, width, "label", self.detail.labels)

    def _foot(self, stack: Sequence[Panel], k: int, width: float, left: float) -> float:
        """Return the height of everything below a frame; `left` is the room on its left."""
        panel = stack[k]
        if not self._names_below(stack, k):
            return 4.0 if panel.kind == "scale" or k == len(stack) - 1 else 7.0
        ticks = self._across(panel.x, width, left)
        lines = self._x_label(panel, width)
        return self._deep(ticks) + len(lines) * self.lettering.leading("label") + 5

    def _deep(self, ticks: Ticks) -> float:
        """Return the height of ticks and tick labels below a frame."""
        letters, high = self.lettering, self.lettering.leading("tick")
        if not any(ticks.texts):
            return TICK
        if ticks.turn:
            longest = max((letters.width(t, "tick") for t in ticks.texts), default=0.0)
            turn = math.radians(ticks.turn)
            high = math.sin(turn) * longest + (math.cos(turn) + 0.2) * letters.size("tick")
        return TICK + GAP + high

    # --- heights

    def _line_parts(self, line: range) -> _LineParts:
        """Return the heights of heads, frames and feet of a line of stacks, by position in the stack."""
        deep = max(len(self.stacks[i]) for i in line)
        heads, frames, feet = [0.0] * deep, [0.0] * deep, [0.0] * deep
        for i in line:
            c = i % self.columns
            for k, panel in enumerate(self.stacks[i]):
                room = self._room(self.stacks[i], c)
                heads[k] = max(heads[k], self._head(panel, self.widths[c] - 2 * EDGE - 4))
                frames[k] = max(frames[k], self._natural(panel, c))
                feet[k] = max(feet[k], self._foot(self.stacks[i], k, room, self.lefts[c] - EDGE))
        return heads, frames, feet

    def _room(self, stack: Sequence[Panel], column: int) -> float:
        """Return the width of a frame."""
        return max(self.widths[column] - self.lefts[column] - self._right(stack), 10.0)

    def legend_height(self) -> float:
        return (
            sum(1 for _ in self._key_lines()) * 1.45 * self.lettering.size("key") + 5
            if self.keys
            else 0.0
        )

    def _heading_height(self) -> float:
        return self._title_height(self.heading, 4.0)

    def _notes_height(self) -> float:
        return len(self.foot_notes) * self.lettering.leading("note") + (4 if self.foot_notes else 0)

    def _fixed(self) -> float:
        """Return the height of everything but the frames that grow with the figure."""
        fixed = EDGE + self._heading_height() + self.legend_height() + self._notes_height() + 3
        for line in self.lines:
            heads, frames, feet = self._line_parts(line)
            fixed += sum(heads) + sum(feet)
            fixed += sum(h for h, k in zip(frames, self._kinds(line), strict=True) if k == "scale")
        return fixed

    def _kinds(self, line: range) -> list[str]:
        """Return the kind of panel at each position of the stacks of a line."""
        deepest = max((self.stacks[i] for i in line), key=len)
        return [p.kind for p in deepest]

    def fits(self, height: float, *, names: bool = False) -> bool:
        """Return whether the legend has at most its part of the height, and all frames at least their smallest one.

        With `names`, also whether all names of the lines of a single chart can be read, if half of the height suffices.
        """
        if not self.legend_fits:
            return False
        parts = [self._line_parts(line) for line in self.lines]
        least = float(self._least(parts).sum())
        if names and len(self.stacks) == 1 and (rows := self.stacks[0][0].rows):
            high = rows * (2 if self._long_names(self.stacks[0][0], 0) else 1)
            high *= self.lettering.leading("tick") + 0.1
            least = max(least, high if high <= NAMED * height else 0.0)
        return least <= height - self._fixed()

    def share(self, height: float) -> float:
        """Return which part of the height without the legend the main panels have."""
        highs = self._heights([self._line_parts(line) for line in self.lines], height)
        pairs = zip(itertools.chain.from_iterable(highs), self._all_kinds(), strict=True)
        return sum(h for h, k in pairs if k == "main") / max(height - self.legend_height(), 1.0)

    def _all_kinds(self) -> list[str]:
        return [kind for line in self.lines for kind in self._kinds(line)]

    def _least(self, parts: Sequence[_LineParts]) -> Floats:
        """Return the smallest height of each frame, 0 for those that do not grow."""
        small = self.detail.least * (0.75 if self.spec.small else 1.0)
        frames = itertools.chain.from_iterable(frames for _, frames, _ in parts)
        pairs = zip(frames, self._all_kinds(), strict=True)
        return np.array([0.0 if k == "scale" else min(small * LEAST[k], h) for h, k in pairs])

    def _heights(self, parts: Sequence[_LineParts], height: float | None) -> list[list[float]]:
        """Return the heights of the frames of each line."""
        if height is None:
            return [frames for _, frames, _ in parts]
        kinds = self._all_kinds()
        natural = np.concatenate([frames for _, frames, _ in parts])
        grows, main = np.array([[k != "scale" for k in kinds], [k == "main" for k in kinds]])
        room = max(height - self._fixed(), 4.0)
        least = self._least(parts)
        third = SHARE * (height - self.legend_height()) / max(main.sum(), 1)
        highs = _filled(
            np.where(main, np.maximum(least, third), least)[grows], natural[grows], room
        )
        if highs is None:
            highs = _filled(least[grows], natural[grows], room)
        if highs is None:
            highs = natural[grows] * room / max(natural[grows].sum(), 1e-9)
        natural[grows] = highs
        ends = itertools.accumulate((len(frames) for _, frames, _ in parts), initial=0)
        return [natural[a:b].tolist() for a, b in itertools.pairwise(ends)]

    # --- places

    def placed(self, height: float | None) -> Layout:
        """Return the figure with all parts in their places."""
        parts = [self._line_parts(line) for line in self.lines]
        for _ in range(3):
            # Lower frames have other ticks, whose labels may be wider.
            parts = [self._line_parts(line) for line in self.lines]
            self.highs = self._heights(parts, height)
            lefts = [max(old, self._left(c)) for c, old in enumerate(self.lefts)]
            if lefts == self.lefts:
                break
            self.lefts = lefts
        charts = (
            zip(self.stacks[i], self.highs[n], strict=False)
            for n, line in enumerate(self.lines)
            for i in line
        )
        if any(p.rows and self._lacks_names(p, high) for p, high in itertools.chain(*charts)):
            notes = (
                *self.detail.left_out(self.spec),
                "some names need a larger figure",
                *self.spec.notes,
            )
            self.foot_notes = self.lettering.flow(notes, self.width - 2 * EDGE, most=2)
        y = EDGE + self._heading_height()
        stacks: list[tuple[PlacedPanel, ...]] = []
        self.highs = self._heights(parts, height)
        for line, (heads, _, feet), highs in zip(self.lines, parts, self.highs, strict=True):
            stacks.extend(self._stack(i, y, heads, highs, feet) for i in line)
            y += sum(heads) + sum(highs) + sum(feet)
        keys = tuple(self.placed_keys(y + 3))
        y += self.legend_height()
        notes = None
        if self.foot_notes:
            size = self.lettering.size("note")
            notes = PlacedText(tuple(self.foot_notes), EDGE, y + size, "note")
        y += self._notes_height() + 3
        total = y if height is None else height
        return Layout(
            self.spec, self.width, total, tuple(stacks), keys, self.heading, notes, self.lettering
        )

    def _lacks_names(self, panel: Panel, high: float) -> bool:
        """Return whether some lines of a chart of this height have no name."""
        return not all(ticks_up(panel.y, high, self.lettering, room=NAMES * self.width).texts)

    def _stack(
        self,
        i: int,
        y: float,
        heads: Sequence[float],
        highs: Sequence[float],
        feet: Sequence[float],
    ) -> tuple[PlacedPanel, ...]:
        column = i % self.columns
        start = sum(self.widths[:column])
        out: list[PlacedPanel] = []
        for k, panel in enumerate(self.stacks[i]):
            left = start + self.lefts[column]
            width = self._room(self.stacks[i], column)
            # Lines at whole points are crisp.
            top = math.ceil(y + heads[k])
            high = highs[k]
            line = (self.stacks[j] for j in self.lines[i // self.columns])
            if panel.rows and all(s[k].rows for s in line if k < len(s)):
                # Beside more bars, a few bars would become very thick.
                _, natural, _ = self._line_parts(self.lines[i // self.columns])
                grown = high / max(natural[k], 1e-9)
                high = min(high, float(np.clip(grown, 1.5, 3.0)) * self._natural(panel, column))
            frame = PlotFrame(
                panel.x, panel.y, left, top, width, max(y + heads[k] + high - top, 3.0)
            )
            below = self._names_below(self.stacks[i], k)
            beside = self._has_ticks(panel, column)
            out.append(self._panel(panel, frame, y, start, below=below, beside=beside))
            y += heads[k] + highs[k] + feet[k]
        return tuple(out)

    def _panel(
        self,
        panel: Panel,
        frame: PlotFrame,
        start: float,
        edge: float,
        *,
        below: bool,
        beside: bool,
    ) -> PlacedPanel:
        """Return a panel with all its texts; `start` is the upper end of its title, `edge` that of its stack's left."""
        letters, column = self.lettering, edge + EDGE
        across = self._across(panel.x, frame.width, frame.left - column)
        up = ticks_up(panel.y, frame.height, letters, room=frame.left - column - TICK - GAP)
        notes = x_label = y_label = None
        title = self._titled(panel.title, column, start, self._label_room(edge))
        y = start + self._title_height(title, 1.0)
        lines = self._notes(panel, self._label_room(edge))
        if lines:
            notes = PlacedText(tuple(lines), column, y + letters.size("note"), "note")
        rise = (letters.leading("above") if panel.above else 0.0) + (
            MARGIN + 2 if _margin_on_top(panel) else 0.0
        )
        lines = (
            self._y_label(panel, self._label_room(edge)) if panel.y.label_text and beside else []
        )
        if lines:
            first = frame.top - rise - 5 - (len(lines) - 1) * letters.leading("label")
            y_label = PlacedText(tuple(lines), column, first, "label")
        lines = self._x_label(panel, frame.width)
        if below and lines:
            first = frame.bottom + self._deep(across) + 0.95 * letters.size("label")
            x_label = PlacedText(tuple(lines), frame.left + frame.width / 2, first, "label", 0)
        tick_texts = [
            *(_texts_below(across, frame, letters) if below else ()),
            *(_texts_beside(up, frame, letters) if beside else ()),
        ]
        if not self._above_fits(panel, frame.width):
            panel = replace(panel, above=())
        inside, leads = place_texts(panel, frame, letters)
        return PlacedPanel(
            panel,
            frame,
            across,
            up,
            below,
            beside,
            tuple(tick_texts),
            title,
            notes,
            x_label,
            y_label,
            inside,
            leads,
        )

    def _label_room(self, edge: float) -> float:
        """Return the width for notes and labels above the panels of a stack."""
        ends = list(itertools.accumulate(self.widths))
        end = next(e for e in ends if e > edge + 1e-6)
        return end - edge - 2 * EDGE - 4

    def _legends(self) -> Iterator[tuple[tuple[Key, ...], bool, float]]:
        """Yield shorter and shorter legends: entries, whether in their shortest words, and the width of each."""
        keys, room = self.keys, self.key_room
        yield keys, False, room
        yield keys, True, room
        for last in sorted(set(SPARE.values())):
            kept = (k for k in keys if any(SPARE.get(name, math.inf) > last for _, name in k.parts))
            keys = tuple(kept)
            yield keys, True, room
        for n in (2, 3):
            yield keys, True, (room - (n - 1) * KEYS_APART) / n

    def _distinct(self) -> bool:
        """Return whether the entries of the legend differ when shortened, where they do when written whole."""
        texts = {text for line in self._key_lines() for _, text, _ in line}
        return len(texts) == len({clean(key.label) for key in self.keys})

    def _key_lines(self) -> Iterator[list[tuple[Key, str, float]]]:
        """Yield the lines of the legend: each entry with its shortened text and its position."""
        room = self.width - 2 * EDGE
        line: list[tuple[Key, str, float]] = []
        x = 0.0
        for key in self.keys:
            most, shorter = self.key_room - KEY_WIDTH - KEY_GAP, shorter_labels(key.label)
            fitting = (t for t in shorter if self.lettering.width(t, "key") <= most)
            text = shorter[-1] if self.brief else next(fitting, shorter[-1])
            text = self.lettering.fit(text, most, "key")
            wide = KEY_WIDTH + KEY_GAP + self.lettering.width(text, "key")
            if line and x + wide > room:
                yield line
                line, x = [], 0.0
            line.append((key, text, EDGE + x))
            x += wide + KEYS_APART
        if line:
            yield line

    def placed_keys(self, top: float) -> Iterator[PlacedKey]:
        """Yield the legend entries, in lines that fit the width."""
        high = 1.45 * self.lettering.size("key")
        for i, line in enumerate(self._key_lines()):
            y = top + (i + 0.5) * high
            for key, words, x in line:
                base = y + 0.35 * self.lettering.size("key")
                text = PlacedText((words,), x + KEY_WIDTH + KEY_GAP, base, "key")
                yield PlacedKey(key, x, y, text)


def _filled(least: Floats, natural: Floats, room: float) -> Floats | None:
    """Return heights in natural proportions, but none below its smallest one; None if there is no room for these."""
    if least.sum() > room:
        return None
    low = np.zeros(len(least), dtype=bool)
    while True:
        grown = max(room - least[low].sum(), 0.0) / max(natural[~low].sum(), 1e-9)
        more = ~low & (grown * natural < least)
        if not more.any():
            return np.where(low, least, grown * natural)
        low |= more


def _margin_on_top(panel: Panel) -> bool:
    return any(isinstance(m, Margin) and m.side == "top" for m in panel.marks)


def _texts_below(ticks: Ticks, frame: PlotFrame, letters: Lettering) -> Iterator[PlacedText]:
    """Yield the tick labels below a frame."""
    size, at = letters.size("tick"), frame.across(np.array(ticks.at)).tolist()
    foot = frame.bottom + TICK + GAP
    beside = {aside.at for aside in frame.x.asides}
    for value, text, x in zip(ticks.at, ticks.texts, at, strict=True):
        if not text:
            continue
        # The labels beside the axis are short and never rotated.
        if value in beside:
            most = frame.right + RIGHT - letters.width(text, "tick") / 2
            yield PlacedText((text,), min(x, most), foot + 0.8 * size, "tick", 0)
        elif not ticks.turn:
            yield PlacedText((text,), x, foot + 0.8 * size, "tick", 0)
        elif ticks.turn == 90:
            yield PlacedText((text,), x + 0.35 * size, foot, "tick", -1, 90.0)
        else:
            yield PlacedText((text,), x, foot + 0.5 * size, "tick", -1, 40.0)


def _texts_beside(ticks: Ticks, frame: PlotFrame, letters: Lettering) -> Iterator[PlacedText]:
    """Yield the tick labels on the left of a frame."""
    size = letters.size("tick")
    for text, y in zip(ticks.texts, frame.up(np.array(ticks.at)).tolist(), strict=True):
        if text:
            lines = tuple(text.split("\n"))
            first = y + 0.35 * size - (len(lines) - 1) * letters.leading("tick") / 2
            yield PlacedText(lines, frame.left - TICK - GAP, first, "tick", -1)


# --- texts inside panels -------------------------------------------------------------------------

BoxEnds = tuple[float, float, float, float]
"""Left, upper, right and lower end."""

POINT = 4.0
"""Half the size of the area around a point that texts leave free."""

PAD, APART = 3.0, 4.0
"""Gap between a text and its anchor, and between numbers of contours."""


def place_texts(
    panel: Panel, frame: PlotFrame, letters: Lettering
) -> tuple[tuple[PlacedText, ...], Floats]:
    """Return the texts in and above a panel for which there is room, and the lines from points to their names."""
    found: list[PlacedText] = []
    boxes: list[BoxEnds] = []
    points = _points(panel, frame)
    for text in _alike(panel.texts, frame, letters):
        placed = _place(text, frame, letters, boxes, points)
        if placed is not None:
            found.append(placed[0])
            boxes.append(placed[1])
    for mark in panel.marks:
        if isinstance(mark, Contour) and mark.text:
            found += _numbers_on(mark, frame, letters, boxes)
    names, leads = _names(panel, frame, letters, boxes)
    # Above the label of a tick at the upper end.
    top = frame.top - 0.4 * letters.size("above") - (MARGIN + 2 if _margin_on_top(panel) else 0.0)
    above = [PlacedText((t,), float(frame.across(x)), top, "above", 0) for x, t in panel.above]
    return (*found, *names, *above), leads


def _alike(texts: Sequence[Text], frame: PlotFrame, letters: Lettering) -> list[Text]:
    """Return texts such that those of patches, of which each has its own room, show the same facts."""
    patches = [t for t in texts if t.room is not None and np.isfinite(t.room).all()]
    facts = max((len(t.texts) for t in patches), default=0)
    none = np.zeros((0, 2))
    for first in range(facts):
        seen = [replace(t, texts=t.texts[first:][:1]) for t in patches]
        known = [t for t in patches if _place(t, frame, letters, (), none) is not None]
        if sum(_place(t, frame, letters, (), none) is not None for t in seen) == len(known):
            return [replace(t, texts=t.texts[first:]) if t in patches else t for t in texts]
    return list(texts)


def _points(panel: Panel, frame: PlotFrame) -> Floats:
    """Return the positions of all points of a panel, and of points along its arrows, shape (n, 2)."""
    at = [
        np.column_stack([frame.across(m.x), frame.up(m.y)])
        for m in panel.marks
        if isinstance(m, Points)
    ]
    for x0, y0, x1, y1 in np.clip(arrows_in(panel, frame), -FAR, FAR).tolist():
        n = 2 + int(math.hypot(x1 - x0, y1 - y0) / (2 * POINT))
        at.append(np.column_stack([np.linspace(x0, x1, n), np.linspace(y0, y1, n)]))
    return np.concatenate(at) if at else np.zeros((0, 2))


def arrows_in(panel: Panel, frame: PlotFrame) -> Floats:
    """Return the ends of all arrows of a panel as positions: x and y of the beginning and of the head, (n, 4)."""
    ends = [
        np.column_stack([frame.across(m.x0), frame.up(m.y0), frame.across(m.x1), frame.up(m.y1)])
        for m in panel.marks
        if isinstance(m, Arrows)
    ]
    found = np.concatenate(ends) if ends else np.zeros((0, 4))
    return found[np.isfinite(found).all(axis=1)]


FAR = 5000.0
"""Positions farther away are outside any figure."""

HEAD = 0.7
"""Largest part of an arrow that its head takes."""


def head_lengths(ends: Floats, size: float) -> Floats:
    """Return the lengths of the heads of arrows, shorter ones for short arrows; 0 where there is no direction."""
    x0, y0, x1, y1 = ends.T
    return np.minimum(size, HEAD * np.hypot(x1 - x0, y1 - y0))


def _place(
    text: Text, frame: PlotFrame, letters: Lettering, taken: Sequence[BoxEnds], points: Floats
) -> tuple[PlacedText, BoxEnds] | None:
    """Return the first alternative of a text that fits, with its box."""
    room = _room_of(text, frame)
    # Of texts in rooms side by side, none takes the place of the next one.
    slack = 0.5 if text.room is None else 0.01
    x, y = float(frame.across(text.x)), float(frame.up(text.y))
    if not (math.isfinite(x) and math.isfinite(y)):
        return None
    size, leading = letters.size(text.style), letters.leading(text.style)
    for words, upright in itertools.product(
        text.texts, (False, True) if text.upright else (False,)
    ):
        lines = words.split("\n")
        wide = max(letters.width(line, text.style) for line in lines)
        high = size + (len(lines) - 1) * leading
        if upright:
            wide, high = high, wide
        left = x + (text.across - 1) * wide / 2 + PAD * text.across
        if text.slide:
            left = min(max(left, room[0]), room[2] - wide)
        for move in range(text.moves + 1):
            shift = -text.up * move * leading * len(lines) / 2
            top = y - (text.up + 1) * high / 2 - PAD * text.up + shift
            box = (left, top, left + wide, top + high)
            covers = text.moves and _covers(box, points)
            # Two numbers without a gap would be read as one.
            apart = (
                (left - APART, top, left + wide + APART, top + high)
                if text.style == "word"
                else box
            )
            if covers or not _inside(box, room, slack) or _touches(apart, taken):
                continue
            if upright:
                at, turn = (left + 0.85 * size, top + high / 2), 90.0
            else:
                at, turn = (left + wide / 2, top + 0.85 * size), 0.0
            return PlacedText(tuple(lines), *at, text.style, 0, turn), box
    return None


def _room_of(text: Text, frame: PlotFrame) -> BoxEnds:
    """Return the area that a text must not leave."""
    box = (frame.left, frame.top, frame.right, frame.bottom)
    if text.room is None:
        return box
    left, right, lower, upper = text.room
    (a, b), (c, d) = frame.across(np.array([left, right])), frame.up(np.array([upper, lower]))
    return max(a, box[0]), max(c, box[1]), min(b, box[2]), min(d, box[3])


def _inside(box: BoxEnds, room: BoxEnds, slack: float) -> bool:
    """Return whether a box leaves its room by no more than a number of points."""
    return bool(
        box[0] >= room[0] - slack
        and box[1] >= room[1] - slack
        and box[2] <= room[2] + slack
        and box[3] <= room[3] + slack
    )


def _touches(box: BoxEnds, others: Sequence[BoxEnds]) -> bool:
    return any(box[0] < o[2] and o[0] < box[2] and box[1] < o[3] and o[1] < box[3] for o in others)


def _covers(box: BoxEnds, points: Floats) -> bool:
    x, y = points.T
    near = (x > box[0] - POINT) & (x < box[2] + POINT) & (y > box[1] - POINT) & (y < box[3] + POINT)
    return bool(near.any())


def _names(
    panel: Panel, frame: PlotFrame, letters: Lettering, taken: Sequence[BoxEnds]
) -> tuple[list[PlacedText], Floats]:
    """Return names beside points, and the lines to their points."""
    names = panel.names
    if names is None or len(names.x) == 0:
        return [], np.zeros((0, 4))
    if names.each:
        most = max(int(frame.width / (letters.scale * names.each)), 1)
        names = replace(names, names=names.names[:most])
    size, n = letters.size("name"), len(names.names)
    # From the lower left corner of the frame upwards.
    origin = np.array([frame.left, frame.bottom])
    upwards = np.array([1.0, -1.0])

    def places(x: Floats, y: Floats) -> Floats:
        return (np.column_stack([frame.across(x), frame.up(y)]) - origin) * upwards

    at = places(names.x, names.y)
    silent, boxes = at[n:], np.array(taken, dtype=float).reshape(-1, 2, 2)
    # The upper ends of boxes are their smaller positions.
    blocked = np.stack([boxes[:, :, 0], boxes[:, ::-1, 1]], axis=2)
    left, low, right, high = names.lines.T if len(names.lines) else np.zeros((4, 0))
    arrows = arrows_in(panel, frame).reshape(-1, 2, 2)
    found = place_labels(
        at[:n],
        np.array([[letters.width(one, "name") + 1.5, size + 2] for one in names.names]).reshape(
            -1, 2
        ),
        (frame.width, frame.height),
        ((blocked - origin) * upwards).reshape(-1, 4),
        np.column_stack([places(left, low), places(right, high)]),
        ((arrows - origin) * upwards).reshape(-1, 4),
        silent=silent,
        reach=names.reach * frame.width,
    )
    texts: list[PlacedText] = []
    leads: list[Floats] = []
    for name, place, point in zip(names.names, found, at, strict=False):
        if place is None:
            continue
        texts.append(
            PlacedText((name,), frame.left + place.x + 0.7, frame.bottom - place.y - 2, "name")
        )
        lead = _lead(point, (place.x, place.y, letters.width(name, "name"), size))
        if place.led and lead is not None:
            leads.append((origin + lead * upwards).ravel())
    return texts, np.array(leads).reshape(-1, 4)


def _lead(point: Floats, box: tuple[float, float, float, float]) -> Floats | None:
    """Return the line from a point to its name, (2, 2); None if they are close."""
    left, low, wide, high = box
    end = np.array([np.clip(point[0], left, left + wide), np.clip(point[1], low, low + high)])
    way = end - point
    length = float(np.hypot(*way))
    if length < 5.5:
        return None
    return np.stack([point + way * 4 / length, end])


def _numbers_on(
    contour: Contour, frame: PlotFrame, letters: Lettering, taken: list[BoxEnds]
) -> Iterator[PlacedText]:
    """Yield the number of a contour on its two longest lines, on straight parts away from other texts."""
    lines = [
        np.column_stack([frame.across(line[:, 0]), frame.up(line[:, 1])]) for line in contour.lines
    ]
    lines.sort(key=lambda line: -float(np.hypot(*np.diff(line, axis=0).T).sum()))
    width, size = letters.width(contour.text, "word"), letters.size("word")
    for line in lines[:2]:
        found = _number_place(line, width, size, frame, taken)
        if found is None:
            continue
        (x, y), turn = found
        slope = math.radians(turn)
        # The baseline lies below the centre, across the direction of the text.
        base = (x + 0.35 * size * math.sin(slope), y + 0.35 * size * math.cos(slope))
        reach = (abs(math.cos(slope)) * width + abs(math.sin(slope)) * size) / 2 + APART
        rise = (abs(math.sin(slope)) * width + abs(math.cos(slope)) * size) / 2 + 2
        taken.append((x - reach, y - rise, x + reach, y + rise))
        yield PlacedText((contour.text,), *base, "word", 0, turn)


def _number_place(
    line: Floats, width: float, size: float, frame: PlotFrame, taken: Sequence[BoxEnds]
) -> tuple[tuple[float, float], float] | None:
    """Return the centre and the rotation of a number on a line."""
    steps = np.hypot(*np.diff(line, axis=0).T)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    if along[-1] < 2.2 * width:
        return None
    centres = np.linspace(0.8 * width, along[-1] - 0.8 * width, 24)
    ends = [
        np.column_stack([np.interp(centres + s * width / 2, along, c) for c in line.T])
        for s in (-1, 0, 1)
    ]
    chord, middle = ends[2] - ends[0], ends[1]
    straight = np.hypot(*chord.T) / width
    turn = -np.degrees(np.arctan2(chord[:, 1], chord[:, 0]))
    turn -= 180.0 * np.round(turn / 180.0)
    slope = np.abs(np.radians(turn))
    reach = (np.cos(slope) * width + np.sin(slope) * size) / 2 + 2
    rise = (np.sin(slope) * width + np.cos(slope) * size) / 2 + 2
    x, y = middle.T
    free = (x - reach >= frame.left) & (x + reach <= frame.right)
    free &= (y - rise >= frame.top) & (y + rise <= frame.bottom)
    for a, b, c, d in taken:
        free &= (x + reach < a) | (x - reach > c) | (y + rise < b) | (y - rise > d)
    free &= straight >= 0.8
    if not free.any():
        return None
    # Among equally straight parts, the one nearest to the middle of the line.
    off = np.abs(centres / along[-1] - 0.5)
    best = int(np.argmin(np.where(free, np.round(1 - straight, 2) + 0.05 * off, np.inf)))
    return (float(x[best]), float(y[best])), float(turn[best])


# --- separate drawings ---------------------------------------------------------------------------


def separated(spec: FigureSpec, width: float, legend: float) -> tuple[list[Layout], Layout]:
    """Place each stack in a figure of its own, with aligned frames, and the legend in another one."""
    n = len(spec.stacks)
    # Side by side in one line, frames are aligned.
    line = replace(
        spec, columns=n, column_width=0.0, widths=(), shared=False, heading=Title(), notes=()
    )
    whole = arrange(line, n * width, legend=False)
    titles = spec.stack_titles or (spec.title,) * n
    alts = spec.stack_alts or (spec.alt,) * n
    found: list[Layout] = []
    for i, (stack, title, alt) in enumerate(zip(whole.stacks, titles, alts, strict=True)):
        moved = tuple(_moved(placed, -i * width) for placed in stack)
        alone = replace(spec, stacks=(spec.stacks[i],), title=title, alt=alt, notes=())
        found.append(replace(whole, spec=alone, width=width, stacks=(moved,)))
    keys = _Arrangement(spec, legend, whole.lettering, _DETAILS[0])
    height = EDGE + keys.legend_height()
    alone = replace(spec, stacks=(), notes=())
    return found, Layout(
        alone, legend, height, (), tuple(keys.placed_keys(EDGE)), None, None, whole.lettering
    )


def _moved(placed: PlacedPanel, by: float) -> PlacedPanel:
    """Return a panel moved to the right."""

    def text(one: PlacedText | None) -> PlacedText | None:
        return None if one is None else replace(one, x=one.x + by)

    leads = placed.leads + np.array([by, 0.0, by, 0.0])
    return replace(
        placed,
        frame=replace(placed.frame, left=placed.frame.left + by),
        tick_texts=tuple(replace(t, x=t.x + by) for t in placed.tick_texts),
        texts=tuple(replace(t, x=t.x + by) for t in placed.texts),
        title=text(placed.title),
        notes=text(placed.notes),
        x_label=text(placed.x_label),
        y_label=text(placed.y_label),
        leads=leads,
    )
