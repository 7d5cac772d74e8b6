"""Specification of a figure: marks, panels and options, as values that tests can read.

A `FigureSpec` is the specification of one effect: up to four panels on the same horizontal axis. A `Panel` has two
axes, a title, notes, and marks such as `Line`, `Band` or `Violin`. Marks are frozen dataclasses of arrays and texts in
units of the data; renderers (`plots.mpl`, `plots.svg`) draw them and decide nothing else. `EffectPlotOptions` holds the
options of a figure of an effect, and how many characters fit across it. Specifications of surfaces, importances and
diagnoses are in
`plots.figures`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

from skedasis._arguments import check_option
from skedasis._types import Floats, Ints
from skedasis.errors import DataError
from skedasis.plots.keywords import Ice
from skedasis.plots.scales import Axis

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# --- marks ---------------------------------------------------------------------------------------

Doubt = Literal["few", "empty"]
"""Why an interval of the axis is hatched: fewer than 10 rows, or no rows."""

Rising = Literal["all", "elsewhere", "unclear"]
"""Verdict for an elevated region: supported by rows observed there, by other rows only, or inconclusive."""

STRIP_SPACE = 0.15
"""Fraction of a panel's height that the strips of elevated regions and their texts take, at its lower end."""


@dataclass(frozen=True, eq=False)
class Line:
    """A curve; NaN interrupts it.

    Parameters
    ----------
    x, y : ndarray of float, shape (m,)
    label : str
        Legend entry.
    vertices : bool
        Whether the points are marked.
    joined : {"line", "thin", None}
        How the points are connected: by the curve, by a thin line (ordinal levels), or not at all (nominal levels).
    marked : ndarray of int, optional
        Indices of the points that are marked; None for all points.
    """

    x: Floats
    y: Floats
    label: str
    vertices: bool = False
    joined: Literal["line", "thin"] | None = "line"
    marked: Ints | None = None


@dataclass(frozen=True, eq=False)
class Band:
    """The area between two curves.

    Parameters
    ----------
    x, lower, upper : ndarray of float, shape (m,)
    role : {"heterogeneity", "error"}
        Standard deviation between rows, or confidence interval of the average.
    label : str
        Legend entry.
    reach : float, optional
        Half width of the box at each level of a categorical feature; None for an area between the curves.
    """

    x: Floats
    lower: Floats
    upper: Floats
    role: Literal["heterogeneity", "error"]
    label: str
    reach: float | None = None


@dataclass(frozen=True, eq=False)
class ColorEncoding:
    """Colour encoding of individual curves, one value per curve.

    Parameters
    ----------
    name : str
        Name of the variable.
    value : ndarray of float, shape (r,)
        Numbers on a colour scale, or indices into `groups`; NaN for a missing value.
    groups : tuple of str
        Names of the groups; empty for numbers.
    """

    name: str
    value: Floats
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class IceCurves:
    """Individual curves (ICE curves of rows, or curves of several models).

    Parameters
    ----------
    x : ndarray of float, shape (m,)
    y : ndarray of float, shape (r, m)
    label : str
        Legend entry.
    own_x, own_y : ndarray of float, shape (s,)
        Observed feature value of each row, and its curve there. Empty unless requested; rows outside the grid have no
        point.
    own : ndarray of int, shape (s,)
        Index of the curve of each of these points.
    tint : ColorEncoding or None
        Colour encoding.
    shift : ndarray of float, shape (r,), or None
        For nominal levels, which no curve connects: horizontal offset of each row's dash from the level's position.
    row : ndarray of int, shape (r,), or None
        Row indices in X.
    """

    x: Floats
    y: Floats
    label: str
    own_x: Floats
    own_y: Floats
    own: Ints
    tint: ColorEncoding | None = None
    shift: Floats | None = None
    row: Ints | None = None


@dataclass(frozen=True, eq=False)
class Steps:
    """One value per bin, with whiskers.

    Parameters
    ----------
    left, right, y, lower, upper : ndarray of float, shape (K,)
        `y` is NaN in bins without rows, `lower` and `upper` are NaN without a standard deviation.
    label, whiskers, bodies : str
        Legend entries of the values, of the whiskers and of the violins.
    rise : ndarray of float, shape (K,), optional
        Change of the value from the left to the right end of the bin; `y` is then the value in its centre.
    """

    left: Floats
    right: Floats
    y: Floats
    lower: Floats
    upper: Floats
    label: str
    whiskers: str
    bodies: str = "local effects"
    rise: Floats | None = None

    @property
    def middle(self) -> Floats:
        """Return the centres of the bins, where the whiskers are drawn, shape (K,)."""
        return (self.left + self.right) / 2


@dataclass(frozen=True, eq=False)
class Violin:
    """Density of the local effects in one bin.

    Parameters
    ----------
    bin : int
    middle, reach : float
        Centre and greatest half width, in units of the feature.
    y, density : ndarray of float, shape (g,)
        The density integrates to one by the trapezoidal rule.
    """

    bin: int
    middle: float
    reach: float
    y: Floats
    density: Floats

    @property
    def half_width(self) -> Floats:
        """Return the half width at each `y`, shape (g,)."""
        return self.reach * self.density / self.density.max()


@dataclass(frozen=True, eq=False)
class Dashes:
    """Single local effects, in bins with too few rows for a density.

    Parameters
    ----------
    bin : ndarray of int, shape (s,)
    x, reach, y : ndarray of float, shape (s,)
        A dash goes from x - reach to x + reach.
    """

    bin: Ints
    x: Floats
    reach: Floats
    y: Floats


@dataclass(frozen=True, eq=False)
class Bars:
    """Counts of rows.

    Parameters
    ----------
    left, right, height : ndarray of float, shape (K,)
    """

    left: Floats
    right: Floats
    height: Floats


@dataclass(frozen=True)
class Hatch:
    """An interval of the axis with few rows or without rows.

    Parameters
    ----------
    left, right : float
    doubt : {"few", "empty"}
    text : str
        Text in its centre, where there is room.
    upright : bool
        Whether the text is rotated by 90 degrees, where the width does not suffice.
    """

    left: float
    right: float
    doubt: Doubt
    text: str = ""
    upright: bool = False


@dataclass(frozen=True)
class Strip:
    """An elevated region of the ICE curves, marked at the lower end of the panel.

    Parameters
    ----------
    left, right : float
    rising : {"all", "elsewhere", "unclear"}
        Verdict, see `Effect.elevated_regions`.
    text : str
        Text above the strip, centred at `middle`; empty where there is no room.
    middle : float
    label : str
        Legend entry.
    """

    left: float
    right: float
    rising: Rising
    text: str
    middle: float
    label: str


@dataclass(frozen=True, eq=False)
class Outline:
    """Histogram of the feature in one group of rows.

    Parameters
    ----------
    edges : ndarray of float, shape (b + 1,)
    height : ndarray of float, shape (b,)
        Number of rows between two edges, or the sum of their weights.
    base : ndarray of float, shape (b,), or None
        Sum of the groups below it in a stacked histogram; None for overlaid histograms.
    place : int
        Index of the group, which determines its colour and line style; -1 for rows with a missing value.
    label : str
        Legend entry: the name of the group and its number of rows.
    """

    edges: Floats
    height: Floats
    base: Floats | None
    place: int
    label: str


@dataclass(frozen=True)
class MissingMarker:
    """The effect of a missing value: a point at a separate position to the right of the axis.

    Parameters
    ----------
    y, lower, upper : float
        Value and confidence interval; NaN without an interval.
    label : str
        Legend entry. The text of its tick belongs to the axis (`Axis.missing_label`).
    """

    y: float
    lower: float
    upper: float
    label: str


@dataclass(frozen=True)
class Annotation:
    """An annotation above the panel, centred at `x`."""

    x: float
    text: str


@dataclass(frozen=True, eq=False)
class Rug:
    """Ticks at the lower end of the panel that show the distribution of the rows.

    Parameters
    ----------
    x : ndarray of float, shape (t,)
        Values of the rows or, for many rows, equidistant quantiles.
    label : str
        Legend entry; it names which of the two.
    """

    x: Floats
    label: str


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes with its marks.

    Parameters
    ----------
    x, y : Axis
    zero : bool
        Whether zero means "no effect" and is marked by a line.
    title : str
    notes : tuple of str
        Facts that the marks do not show: numbers of rows and bins, what is omitted.
    """

    x: Axis
    y: Axis
    zero: bool = False
    title: str = ""
    notes: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    bands: tuple[Band, ...] = ()
    bundle: IceCurves | None = None
    steps: Steps | None = None
    violins: tuple[Violin, ...] = ()
    dashes: Dashes | None = None
    bars: Bars | None = None
    hatches: tuple[Hatch, ...] = ()
    words: tuple[Annotation, ...] = ()
    rug: Rug | None = None
    missing_marker: MissingMarker | None = None
    strips: tuple[Strip, ...] = ()
    outlines: tuple[Outline, ...] = ()


@dataclass(frozen=True, eq=False)
class FigureSpec:
    """Specification of the figure of one effect: vertically stacked panels on the same horizontal axis.

    Parameters
    ----------
    main : Panel
        The average effect and its heterogeneity.
    slopes : Panel or None
        Local effects in each bin, or differences between adjacent levels; None for PDP and ICE and for a constant
        feature.
    counts : Panel or None
        Rows per bin or level, where there are too many of them to write a number above each.
    groups : Panel or None
        Histogram of the feature in each group that curves are coloured by, if requested.
    """

    main: Panel
    slopes: Panel | None = None
    counts: Panel | None = None
    groups: Panel | None = None


# --- options -------------------------------------------------------------------------------------

BELOW, BESIDE = 120, 60
"""Characters of a name that fit on two lines below a panel, and beside it."""


ACROSS = 92
"""Characters of the counts (`n=67`) that fit across a panel of default width."""


OWN_TICKS = 7
"""A grid of at most this many points uses them as ticks."""


SEED = (8215, 4406)
"""Seed of random samples and offsets in figures.

Small seeds are avoided: data generated with the same seed would be offset by their own values.
"""


MOST_LEVELS = 40
"""Levels that fit across a panel of default width."""


def most_levels(across: int) -> int:
    """Return how many levels fit across a panel of `across` characters."""
    return max(6, round(MOST_LEVELS * across / ACROSS))


@dataclass(frozen=True, eq=False)
class EffectPlotOptions:
    """Options of a figure of an effect.

    Parameters
    ----------
    ice : {"centered", "raw", None}
        Individual curves of PDP and ICE. "centered" subtracts each curve's anchor (its left end for
        ``center="start"``, else its mean over the grid) and centres the average likewise; "raw" draws the curves
        unchanged; None draws no curves. Derivative curves have no level and are never centred.
    own : bool
        Whether the observed value of each row is marked on its curve.
    curves : int
        Largest number of curves.
    confidence_level : float
        Confidence level of the intervals of the average.
    across : int
        Characters that fit across the panel. Counts that would touch each other are drawn as bars instead.
    color : array_like, shape (n,), optional
        One value for each row of X, by which its curve is coloured.
    color_name : str, optional
        Name of these values; by default the name of the series.
    elevated_regions : bool or None
        Whether elevated regions of the ICE curves are marked; None marks them if the quantity is an uncertainty.
    histogram : bool
        Whether the feature's histogram is drawn for each group that curves are coloured by.
    values : array_like, shape (n,), optional
        The feature's value in each row of X, for these histograms; by default those of the rows that are kept.
    simultaneous : bool
        Whether the intervals form a simultaneous band.
    """

    ice: Ice = "centered"
    own: bool = False
    curves: int = 200
    confidence_level: float = 0.95
    across: int = ACROSS
    color: ArrayLike | None = None
    color_name: str | None = None
    elevated_regions: bool | None = False
    histogram: bool = False
    values: ArrayLike | None = None
    simultaneous: bool = False

    def __post_init__(self) -> None:
        check_option("plot(ice)", self.ice, ("centered", "raw", None))
        if self.histogram and self.color is None:
            fix = "Pass the groups of the rows, such as color=y"
            raise DataError("plot(histogram)", "histogram=True without color", "color", fix)
        if self.values is not None and not self.histogram:
            fix = "Add histogram=True, or omit values"
            raise DataError("plot(values)", "values without histogram=True", "both", fix)

    @property
    def most(self) -> int:
        """Return how many levels fit across the panel."""
        return most_levels(self.across)


Entry = TypeVar("Entry")


def merge_legends(above: Mapping[str, Entry], below: Mapping[str, Entry]) -> dict[str, Entry]:
    """Join the legends of two panels; "group (n rows)" of the lower one replaces "group" of the upper one.

    Examples
    --------
    >>> merge_legends({"a": 1, "mean": 2}, {"a (5 rows)": 3})
    {'a (5 rows)': 3, 'mean': 2}
    """
    entries: dict[str, Entry] = {}
    for label, drawn in above.items():
        longer = next((k for k in below if k.startswith(f"{label} (")), label)
        entries[longer] = below.get(longer, drawn)
    return entries | dict(below)
