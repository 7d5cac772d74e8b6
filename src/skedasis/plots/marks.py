"""Specification of a figure: marks, panels and their arrangement, as values that tests can read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from skedasis._types import Floats, Values
from skedasis.plots.scales import PlotAxis

# --- titles --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Title:
    """A title: "hr: effect on rentals", and in small letters the method."""

    subject: str = ""
    quantity: str = ""
    method: str = ""

    @property
    def text(self) -> str:
        """Return the title without the method."""
        return f"{self.subject}: {self.quantity}" if self.quantity else self.subject

    @property
    def after(self) -> str:
        """Return the method as it follows the title."""
        return f"({self.method})" if self.method else ""

    def __str__(self) -> str:
        return f"{self.text} {self.after}" if self.method else self.text

    def __bool__(self) -> bool:
        return bool(self.subject)


# --- marks ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Line:
    """A polyline; NaN interrupts it."""

    x: Floats
    y: Floats
    style: str
    label: str = ""


@dataclass(frozen=True, eq=False)
class Area:
    """The area between two curves, whose edges have the stroke of its style."""

    x: Floats
    lower: Floats
    upper: Floats
    style: str
    label: str = ""


@dataclass(frozen=True, eq=False)
class Rectangles:
    """Rectangles, such as bars, boxes and hatched intervals of an axis."""

    left: Floats
    right: Floats
    lower: Floats
    upper: Floats
    style: str
    label: str = ""


@dataclass(frozen=True, eq=False)
class Points:
    """Points, all of one shape."""

    x: Floats
    y: Floats
    style: str
    label: str = ""


@dataclass(frozen=True, eq=False)
class Segments:
    """Separate straight lines, such as whiskers and dashes."""

    x0: Floats
    y0: Floats
    x1: Floats
    y1: Floats
    style: str
    label: str = ""
    caps: float = 0.0
    reach: float = 0.0


@dataclass(frozen=True, eq=False)
class Arrows:
    """Straight arrows, from where something is to where it moves; their heads look alike on axes of any scale."""

    x0: Floats
    y0: Floats
    x1: Floats
    y1: Floats
    style: str
    label: str = ""


@dataclass(frozen=True, eq=False)
class CurveSet:
    """Individual curves of one style, such as the ICE curves of rows; readers can point at each of them."""

    x: Floats
    y: Floats
    style: str
    label: str = ""
    opacity: float = 1.0
    rows: Values | None = None
    group: str = ""
    each: Literal["row", "model"] = "row"


@dataclass(frozen=True, eq=False)
class Polygons:
    """Closed outlines, such as violins."""

    outlines: tuple[Floats, ...]
    style: str
    label: str = ""


@dataclass(frozen=True, eq=False)
class Heat:
    """Patches of colour."""

    x: Floats
    y: Floats
    value: Floats
    limits: tuple[float, float]
    diverging: bool


@dataclass(frozen=True, eq=False)
class Contour:
    """The contour lines of one value, with its number where there is room."""

    lines: tuple[Floats, ...]
    text: str
    style: str
    label: str = ""


@dataclass(frozen=True, eq=False)
class Rug:
    """Ticks at the lower end of a panel that show the distribution of the rows."""

    x: Floats
    label: str
    style: str = "rug"


@dataclass(frozen=True, eq=False)
class Margin:
    """A histogram outside the frame: above it, of the values on the horizontal axis, or on its right."""

    side: Literal["top", "right"]
    edges: Floats
    height: Floats
    label: str = ""
    style: str = "margin"


# --- texts in panels -----------------------------------------------------------------------------

LabelSide: TypeAlias = Literal[-1, 0, 1]


@dataclass(frozen=True)
class Text:
    """A text inside a panel, drawn where it touches no other text; omitted where there is no room."""

    x: float
    y: float
    texts: tuple[str, ...]
    style: str = "word"
    room: tuple[float, float, float, float] | None = None
    across: LabelSide = 0
    up: LabelSide = 0
    upright: bool = False
    slide: bool = False
    moves: int = 0


@dataclass(frozen=True, eq=False)
class Names:
    """Names beside points, which overlap neither each other nor any point, and arrows only if necessary."""

    x: Floats
    y: Floats
    names: tuple[str, ...]
    lines: Floats = field(default_factory=lambda: np.zeros((0, 4)))
    reach: float = np.inf
    each: float = 0.0


Mark: TypeAlias = (
    Line
    | Area
    | Rectangles
    | Points
    | Segments
    | Arrows
    | CurveSet
    | Polygons
    | Heat
    | Contour
    | Rug
    | Margin
)


@dataclass(frozen=True)
class Tooltip:
    """What a reader sees on pointing at a part of a panel."""

    left: float
    right: float
    text: str
    lower: float = -np.inf
    upper: float = np.inf
    below: int = 0
    link: str = ""
    feature: str = ""


# --- panels and figures --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Panel:
    """A pair of axes with its marks."""

    x: PlotAxis
    y: PlotAxis
    marks: tuple[Mark, ...] = ()
    height: float = 147.0
    title: Title = Title()
    notes: tuple[str, ...] = ()
    texts: tuple[Text, ...] = ()
    names: Names | None = None
    above: tuple[tuple[float, str], ...] = ()
    grid: Literal["y", "x", "xy", ""] = "y"
    frame: bool = True
    rows: int = 0
    kind: Literal["main", "detail", "counts", "scale"] = "main"
    tooltips: tuple[Tooltip, ...] = ()


Stack: TypeAlias = tuple[Panel, ...]
"""Panels one below the other. A panel with the same horizontal axis as the next one has no tick labels below it."""

NATURAL_WIDTH = 320.0
"""Width of a figure in points for which heights of panels are given."""


@dataclass(frozen=True, eq=False)
class FigureSpec:
    """Specification of a figure: stacks of panels in a grid, and the figure in its place where they do not fit."""

    stacks: tuple[Stack, ...]
    title: str
    alt: str
    columns: int = 1
    column_width: float = 0.0
    widths: tuple[float, ...] = ()
    shared: bool = False
    small: bool = False
    heading: Title = Title()
    notes: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    stack_titles: tuple[str, ...] = ()
    stack_alts: tuple[str, ...] = ()
    noun: str = "panel"
    compact: FigureSpec | None = None

    @property
    def panels(self) -> tuple[Panel, ...]:
        """Return all panels, line by line."""
        return tuple(p for stack in self.stacks for p in stack)

    @property
    def main(self) -> Panel:
        """Return the first panel, which alone is drawn on axes that a user passes."""
        return self.stacks[0][0]


def horizontal_line(y: float, style: str = "zero", label: str = "") -> Segments:
    """Return a line across a panel."""
    low, high = np.array([-np.inf]), np.array([np.inf])
    return Segments(low, np.array([y]), high, np.array([y]), style, label)


def vertical_line(x: float, style: str = "zero", label: str = "") -> Segments:
    """Return a line from the lower to the upper end of a panel."""
    low, high = np.array([-np.inf]), np.array([np.inf])
    return Segments(np.array([x]), low, np.array([x]), high, style, label)


# --- legends -------------------------------------------------------------------------------------

KeyShape: TypeAlias = Literal[
    "line", "area", "points", "whisker", "lying", "arrow", "violin", "rug", "margin"
]
"""Shape of the key of a legend entry; whiskers are upright or lying."""

KEY_SHAPES: dict[type, KeyShape] = {
    Line: "line",
    Area: "area",
    Rectangles: "area",
    Points: "points",
    Segments: "line",
    Arrows: "arrow",
    CurveSet: "line",
    Polygons: "violin",
    Contour: "line",
    Rug: "rug",
    Margin: "margin",
}


@dataclass(frozen=True)
class Key:
    """A legend entry."""

    label: str
    parts: tuple[tuple[KeyShape, str], ...]


MarkOfPanel = TypeVar("MarkOfPanel", bound=Mark)


def marks_of(panel: Panel, kind: type[MarkOfPanel], style: str = "") -> Iterator[MarkOfPanel]:
    """Yield the marks of a kind, from back to front; only those of a style if one is given."""
    for mark in panel.marks:
        if isinstance(mark, kind) and style in (
            "",
            mark.style if not isinstance(mark, Heat) else "",
        ):
            yield mark


def legend_of(panels: Sequence[Panel], order: Sequence[str] = ()) -> tuple[Key, ...]:
    """Return the legend of panels: one entry per label."""
    found: dict[str, list[tuple[KeyShape, str]]] = {}
    for panel in panels:
        mine: dict[str, list[tuple[KeyShape, str]]] = {}
        for mark in panel.marks:
            if isinstance(mark, Heat) or not mark.label:
                continue
            shape = KEY_SHAPES[type(mark)]
            if isinstance(mark, Segments) and mark.caps:
                shape = "whisker" if np.array_equal(mark.x0, mark.x1) else "lying"
            parts = mine.setdefault(mark.label, [])
            if (shape, mark.style) not in parts:
                parts.append((shape, mark.style))
        found = _merged(found, mine)
    ranks = {label: i for i, label in enumerate(order)}
    labels = sorted(found, key=lambda label: ranks.get(label, len(ranks)))
    return tuple(Key(label, tuple(found[label])) for label in labels)


_COUNT = re.compile(r" \((a sample of )?[\d,.]+( rows?| repeats?| %.*)?\)$")
_INTERVAL = re.compile(r"(\d[\d.]* % intervals?) (?:of|for|at) .*|(average) effect")
_MEANS = re.compile(r"mean (label|prediction)(?: \(.*\))?|(effect) \(.*\)")


def shorter_labels(label: str) -> tuple[str, ...]:
    """Return a legend entry with less and less explanation: of "± …", of what an interval or a mean is, and counts."""
    found = [label, _COUNT.sub("", label)]
    if label.startswith("± "):
        found += [label.partition(" (")[0], label.partition(" (")[0].partition(",")[0]]
    short = _INTERVAL.fullmatch(label)
    found += [short[1] or short[2]] if short else []
    means = _MEANS.fullmatch(label)
    found += [means[1] or means[2]] if means else []
    return tuple(dict.fromkeys(found))


def _merged(
    above: Mapping[str, list[tuple[KeyShape, str]]], below: Mapping[str, list[tuple[KeyShape, str]]]
) -> dict[str, list[tuple[KeyShape, str]]]:
    """Join the legends of two panels."""
    entries: dict[str, list[tuple[KeyShape, str]]] = {}
    for label, parts in above.items():
        longer = next((k for k in below if k.startswith(f"{label} (")), label)
        same = parts if longer == label else []
        entries[longer] = list(dict.fromkeys([*same, *below.get(longer, parts)]))
    return entries | {k: v for k, v in below.items() if k not in entries}
