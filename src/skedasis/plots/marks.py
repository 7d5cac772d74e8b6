"""Specification of a figure: marks, panels and their arrangement, as values that tests can read.

A figure function (`plots.figures`) turns a result into a `FigureSpec`: panels with axes, marks in units of the data,
legend entries, tooltips and alternative text. It decides everything that a reader sees. `plots.layout` finds room for
the texts in a figure of a given size, and the renderers (`plots.draw_svg`, `plots.draw_matplotlib`) draw any
specification without knowing what it shows.

A mark has a `style`, which names an entry of `plots.theme.STYLES`, and may have a `label`, its legend entry. Marks with
the same label share one entry, whose key shows all of them. Marks are drawn in the order of `Panel.marks`, from back to
front. Coordinates of ±inf are the ends of an axis; NaN is a gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from skedasis._types import Floats, Values
from skedasis.plots.scales import Axis

# --- titles --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Title:
    """A title: "hr: effect on rentals", and in small letters the method.

    Parameters
    ----------
    subject : str
        The feature, with the rule of a region, or a title that is not divided.
    quantity, method : str

    Examples
    --------
    >>> str(Title("hr", "effect on rentals", "RHALE"))
    'hr: effect on rentals (RHALE)'
    """

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
    """A polyline; NaN interrupts it.

    Parameters
    ----------
    x, y : ndarray of float, shape (m,)
    style, label : str
    """

    x: Floats
    y: Floats
    style: str
    label: str = ""


@dataclass(frozen=True, eq=False)
class Area:
    """The area between two curves, whose edges have the stroke of its style.

    Parameters
    ----------
    x, lower, upper : ndarray of float, shape (m,)
    style, label : str
    """

    x: Floats
    lower: Floats
    upper: Floats
    style: str
    label: str = ""


@dataclass(frozen=True, eq=False)
class Rectangles:
    """Rectangles, such as bars, boxes and hatched intervals of an axis.

    Parameters
    ----------
    left, right, lower, upper : ndarray of float, shape (k,)
    style, label : str
    """

    left: Floats
    right: Floats
    lower: Floats
    upper: Floats
    style: str
    label: str = ""


@dataclass(frozen=True, eq=False)
class Points:
    """Points, all of one shape.

    Parameters
    ----------
    x, y : ndarray of float, shape (k,)
    style, label : str
    """

    x: Floats
    y: Floats
    style: str
    label: str = ""


@dataclass(frozen=True, eq=False)
class Segments:
    """Separate straight lines, such as whiskers and dashes.

    Parameters
    ----------
    x0, y0, x1, y1 : ndarray of float, shape (k,)
    style, label : str
    caps : float
        Length in points of a short line across each end; 0 for none.
    reach : float
        Points by which each line is longer at both ends: dashes that mark a position have ``x0 = x1``.
    """

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
    """Straight arrows, from where something is to where it moves; their heads look alike on axes of any scale.

    Parameters
    ----------
    x0, y0 : ndarray of float, shape (k,)
        Where they begin.
    x1, y1 : ndarray of float, shape (k,)
        Where they end, with the head. An arrow without a length is not drawn.
    style, label : str
        The size of the style is the length of a head.
    """

    x0: Floats
    y0: Floats
    x1: Floats
    y1: Floats
    style: str
    label: str = ""


@dataclass(frozen=True, eq=False)
class Curves:
    """Individual curves of one style, such as the ICE curves of rows; readers can point at each of them.

    Parameters
    ----------
    x : ndarray of float, shape (m,)
    y : ndarray of float, shape (r, m)
    style, label : str
    opacity : float
    rows : ndarray of int or str, shape (r,), or None
        Number of each curve in tooltips: the row in X, or the model, which may have a name without spaces.
    group : str
        Name of the group in tooltips.
    each : {"row", "model"}
        What a curve belongs to.
    """

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
    """Closed outlines, such as violins.

    Parameters
    ----------
    outlines : tuple of ndarray of float, shape (n, 2)
    style, label : str
    """

    outlines: tuple[Floats, ...]
    style: str
    label: str = ""


@dataclass(frozen=True, eq=False)
class Heat:
    """Patches of colour.

    Parameters
    ----------
    x : ndarray of float, shape (p + 1,)
        Edges of the patches.
    y : ndarray of float, shape (q + 1,)
    value : ndarray of float, shape (q, p)
        Rows from bottom to top; NaN where nothing is drawn.
    limits : (float, float)
        Values of the first and last colour.
    diverging : bool
        Whether zero is the centre of the colours.
    """

    x: Floats
    y: Floats
    value: Floats
    limits: tuple[float, float]
    diverging: bool


@dataclass(frozen=True, eq=False)
class Contour:
    """The contour lines of one value, with its number where there is room.

    Parameters
    ----------
    lines : tuple of ndarray of float, shape (n, 2)
    text : str
    style, label : str
    """

    lines: tuple[Floats, ...]
    text: str
    style: str
    label: str = ""


@dataclass(frozen=True, eq=False)
class Rug:
    """Ticks at the lower end of a panel that show the distribution of the rows.

    Parameters
    ----------
    x : ndarray of float, shape (t,)
        Values of the rows or, for many rows, equidistant quantiles.
    label : str
        It names which of the two.
    """

    x: Floats
    label: str
    style: str = "rug"


@dataclass(frozen=True, eq=False)
class Margin:
    """A histogram outside the frame: above it, of the values on the horizontal axis, or on its right.

    Parameters
    ----------
    side : {"top", "right"}
    edges : ndarray of float, shape (b + 1,)
    height : ndarray of float, shape (b,)
    label : str
    """

    side: Literal["top", "right"]
    edges: Floats
    height: Floats
    label: str = ""
    style: str = "margin"


# --- texts in panels -----------------------------------------------------------------------------

Side: TypeAlias = Literal[-1, 0, 1]


@dataclass(frozen=True)
class Text:
    """A text inside a panel, drawn where it touches no other text; omitted where there is no room.

    Parameters
    ----------
    x, y : float
        Its anchor.
    texts : tuple of str
        Alternatives, the longest first; line breaks separate lines.
    style : str
        An entry of `plots.theme.TEXTS`.
    room : (float, float, float, float) or None
        Left, right, lower and upper end of the area that it must not leave; None for the panel.
    across, up : {-1, 0, 1}
        Side of the anchor on which the text is: 1 for right or above, 0 for centred.
    upright : bool
        Whether it may be rotated by 90 degrees.
    slide : bool
        Whether it may move along the horizontal axis within its room.
    moves : int
        How many further positions are tried, each half its height nearer to the centre of the panel, so that it does
        not touch the points of the panel; 0 for a text that may touch them.
    """

    x: float
    y: float
    texts: tuple[str, ...]
    style: str = "word"
    room: tuple[float, float, float, float] | None = None
    across: Side = 0
    up: Side = 0
    upright: bool = False
    slide: bool = False
    moves: int = 0


@dataclass(frozen=True, eq=False)
class Names:
    """Names beside points, which overlap neither each other nor any point, and arrows only if necessary.

    Parameters
    ----------
    x, y : ndarray of float, shape (n,)
        In order of priority.
    names : tuple of str
        Those of the first points; the other points have none.
    lines : ndarray of float, shape (m, 4)
        Left, lower, right and upper ends of lines that names cross only if necessary.
    reach : float
        Largest distance of a name from its point, as a part of the width of the panel: names that are far from their
        points confuse more than they tell.
    each : float
        Width of the panel in points for each name: in a narrower one only the first names are shown. 0 for all.
    """

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
    | Curves
    | Polygons
    | Heat
    | Contour
    | Rug
    | Margin
)


@dataclass(frozen=True)
class Tooltip:
    """What a reader sees on pointing at a part of a panel.

    Parameters
    ----------
    left, right, lower, upper : float
        The part, by default over the whole height. A single point stands for a small circle.
    text : str
        One fact per line.
    below : int
        Number of panels below that it covers, too.
    link : str
        Address that a click opens.
    feature : str
        Feature to which the link leads.
    """

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
    """A pair of axes with its marks.

    Parameters
    ----------
    x, y : Axis
    marks : tuple of Mark
        From back to front.
    height : float
        Height of its frame in points in a figure of `NATURAL_WIDTH`; in a wider one it is proportionally higher.
    title : Title
    notes : tuple of str
        Facts that the marks do not show: numbers of rows and bins, what is omitted.
    texts : tuple of Text
    names : Names or None
    above : tuple of (float, str)
        Short texts above the frame, each centred at a position: numbers of rows. Omitted if they would touch.
    grid : {"y", "x", "xy", ""}
        Grid lines at the ticks of which axis.
    frame : bool
        Whether the axes are drawn as lines.
    rows : int
        For a panel of lines with a name each, such as a bar chart: their number. Its height depends on it.
    kind : {"main", "detail", "counts", "scale"}
        "detail" is left out if the figure is too low for it, "counts" also if the texts above the main panel fit, and
        "scale" is the colour scale of the panel above.
    tooltips : tuple of Tooltip
    """

    x: Axis
    y: Axis
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
    """Specification of a figure: stacks of panels in a grid.

    Parameters
    ----------
    stacks : tuple of Stack
        Line by line, from left to right.
    title : str
        Short name, for screen readers and files.
    alt : str
        Alternative text.
    columns : int
        Number of stacks side by side, if the figure is wide enough.
    column_width : float
        Smallest width of a stack in points; in a narrower figure fewer are side by side. 0 for any width.
    widths : tuple of float
        Relative widths of the columns; empty for equal ones.
    shared : bool
        Whether all stacks of a line have the same vertical axes, so that tick labels are on the left only.
    small : bool
        Whether panels are small: fewer ticks, thinner lines.
    heading : Title
        Title of a figure of several stacks, above them.
    notes : tuple of str
        Facts about the whole figure, below it.
    order : tuple of str
        Legend entries that come first; the others follow in the order of `Panel.marks`.
    stack_titles, stack_alts : tuple of str
        Title and alternative text of each stack, for pages that show them as separate drawings.
    """

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

    @property
    def panels(self) -> tuple[Panel, ...]:
        """Return all panels, line by line."""
        return tuple(p for stack in self.stacks for p in stack)

    @property
    def main(self) -> Panel:
        """Return the first panel, which alone is drawn on axes that a user passes."""
        return self.stacks[0][0]


def horizontal_line(y: float, style: str = "zero") -> Segments:
    """Return a line across a panel."""
    low, high = np.array([-np.inf]), np.array([np.inf])
    return Segments(low, np.array([y]), high, np.array([y]), style)


def vertical_line(x: float, style: str = "zero", label: str = "") -> Segments:
    """Return a line from the lower to the upper end of a panel."""
    low, high = np.array([-np.inf]), np.array([np.inf])
    return Segments(np.array([x]), low, np.array([x]), high, style, label)


# --- legends -------------------------------------------------------------------------------------

KeyShape: TypeAlias = Literal[
    "line", "area", "points", "whisker", "arrow", "violin", "rug", "margin"
]

KEY_SHAPES: dict[type, KeyShape] = {
    Line: "line",
    Area: "area",
    Rectangles: "area",
    Points: "points",
    Segments: "line",
    Arrows: "arrow",
    Curves: "line",
    Polygons: "violin",
    Contour: "line",
    Rug: "rug",
    Margin: "margin",
}


@dataclass(frozen=True)
class Key:
    """A legend entry.

    Parameters
    ----------
    label : str
    parts : tuple of (KeyShape, str)
        What its key shows: shapes and styles, from back to front.
    """

    label: str
    parts: tuple[tuple[KeyShape, str], ...]


MarkOfPanel = TypeVar("MarkOfPanel", bound=Mark)


def marks_of(panel: Panel, kind: type[MarkOfPanel], style: str = "") -> Iterator[MarkOfPanel]:
    """Yield the marks of a kind, from back to front; only those of a style if one is given.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(2.0)
    >>> panel = Panel(Axis("a", None, 0, 1), Axis("b", None, 0, 1), (Line(x, x, "average"),))
    >>> [mark.style for mark in marks_of(panel, Line)]
    ['average']
    """
    for mark in panel.marks:
        if isinstance(mark, kind) and style in (
            "",
            mark.style if not isinstance(mark, Heat) else "",
        ):
            yield mark


def legend_of(panels: Sequence[Panel], order: Sequence[str] = ()) -> tuple[Key, ...]:
    """Return the legend of panels: one entry per label.

    "group (n rows)" of a lower panel replaces "group" of an upper one.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(2.0)
    >>> both = (Line(x, x, "average", "mean"), Points(x, x, "vertex", "mean"))
    >>> legend_of([Panel(Axis("a", None, 0, 1), Axis("b", None, 0, 1), both)])
    (Key(label='mean', parts=(('line', 'average'), ('points', 'vertex'))),)
    """
    found: dict[str, list[tuple[KeyShape, str]]] = {}
    for panel in panels:
        mine: dict[str, list[tuple[KeyShape, str]]] = {}
        for mark in panel.marks:
            if isinstance(mark, Heat) or not mark.label:
                continue
            shape = KEY_SHAPES[type(mark)]
            if isinstance(mark, Segments) and mark.caps:
                shape = "whisker"
            parts = mine.setdefault(mark.label, [])
            if (shape, mark.style) not in parts:
                parts.append((shape, mark.style))
        found = _merged(found, mine)
    ranks = {label: i for i, label in enumerate(order)}
    labels = sorted(found, key=lambda label: ranks.get(label, len(ranks)))
    return tuple(Key(label, tuple(found[label])) for label in labels)


def shorter_labels(label: str) -> tuple[str, ...]:
    """Return a legend entry "± …" with less and less explanation; other entries, which may be names of the data, alone.

    Examples
    --------
    >>> shorter_labels("± spread, for some moves (standard deviation at x)")
    ('± spread, for some moves (standard deviation at x)', '± spread, for some moves', '± spread')
    """
    if not label.startswith("± "):
        return (label,)
    shorter = label.partition(" (")[0]
    return label, shorter, shorter.partition(",")[0]


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
