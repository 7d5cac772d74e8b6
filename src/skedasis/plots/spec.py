"""Specification of a figure: panels, marks and options, as values that tests can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from skedasis._types import Floats, Ints
from skedasis.errors import DataError, explained
from skedasis.plots.scales import Axis

# ------------------------------------------------------------------------------------------
# What a panel consists of: frozen arrays and texts in units of the data. Tests can read it, and a library draw it.


Doubt = Literal["few", "empty"]
"""Why a stretch of the axis is hatched: too few rows to be trusted; no row at all."""


Rising = Literal["all", "elsewhere", "unclear"]
"""Whose curves stand high: those of all rows, only those of rows from elsewhere, or nobody knows."""


FOOT = 0.15
"""Share of a panel's height that strips and their words take, at its foot."""


@dataclass(frozen=True, eq=False)
class Line:
    """A curve; NaN where it is interrupted.

    Parameters
    ----------
    x, y : ndarray of float, shape (m,)
    label : str
        For the legend.
    vertices : bool
        Whether the points themselves are marked.
    joined : {"line", "thin", None}
        How one point leads to the next. Between levels without an order there is nothing: None.
    marked : ndarray of int, optional
        Which of the points are marked; None for all of them.
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
        How the rows differ, or how sure the average is.
    label : str
    reach : float, optional
        Levels have no area between them: a box at each, so far to either side.
    """

    x: Floats
    lower: Floats
    upper: Floats
    role: Literal["heterogeneity", "error"]
    label: str
    reach: float | None = None


@dataclass(frozen=True, eq=False)
class Tint:
    """What curves are coloured by, one value a curve.

    Parameters
    ----------
    name : str
    value : ndarray of float, shape (r,)
        A number; or the place of a group. NaN where there is none.
    groups : tuple of str
        The groups' names; empty for numbers.
    """

    name: str
    value: Floats
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Bundle:
    """Individual curves of rows.

    Parameters
    ----------
    x : ndarray of float, shape (m,)
    y : ndarray of float, shape (r, m)
    label : str
    own_x, own_y : ndarray of float, shape (s,)
        Where rows lie on their curves. Empty where this is not asked for; rows beyond the grid lie on none.
    own : ndarray of int, shape (s,)
        Whose curves these are.
    tint : Tint or None
    shift : ndarray of float, shape (r,), or None
        Levels without an order have no curve between them: each row is a dash at each level, so far beside its place.
    row : ndarray of int, shape (r,), or None
        The rows' places in X.
    """

    x: Floats
    y: Floats
    label: str
    own_x: Floats
    own_y: Floats
    own: Ints
    tint: Tint | None = None
    shift: Floats | None = None
    row: Ints | None = None


@dataclass(frozen=True, eq=False)
class Steps:
    """One value a bin, with whiskers.

    Parameters
    ----------
    left, right, y, lower, upper : ndarray of float, shape (K,)
        NaN in `y` where there is no row, in `lower` and `upper` where there is no spread.
    label, whiskers, bodies : str
        Of the values, of what the whiskers reach, and of what the violins are of.
    rise : ndarray of float, shape (K,), optional
        By how much the value rises from one end of the bin to the other; `y` is then that in its middle.
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
        """Return where the whiskers stand, shape (K,)."""
        return (self.left + self.right) / 2


@dataclass(frozen=True, eq=False)
class Violin:
    """The density of one bin's local effects.

    Parameters
    ----------
    bin : int
    middle, reach : float
        Its axis, and how far the fullest place reaches to either side, in units of the feature.
    y, density : ndarray of float, shape (g,)
        The trapezoids under `density` have area one.
    """

    bin: int
    middle: float
    reach: float
    y: Floats
    density: Floats

    @property
    def half_width(self) -> Floats:
        """Return how far the violin reaches to either side, shape (g,)."""
        return self.reach * self.density / self.density.max()


@dataclass(frozen=True, eq=False)
class Dashes:
    """Single local effects, in bins of too few rows for a density.

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
    """A stretch of the axis about which little or nothing is known.

    Parameters
    ----------
    left, right : float
    doubt : {"few", "empty"}
    text : str
        What is written into it, where there is room.
    upright : bool
        Whether it is written from below to above, for lack of width.
    """

    left: float
    right: float
    doubt: Doubt
    text: str = ""
    upright: bool = False


@dataclass(frozen=True)
class Strip:
    """A stretch of the axis on which curves stand high, marked at the foot of the panel.

    Parameters
    ----------
    left, right : float
    rising : {"all", "elsewhere", "unclear"}
        Whose curves.
    text : str
        What is written above it, centred at `middle`; empty where there is no room.
    middle : float
    label : str
        For the legend.
    """

    left: float
    right: float
    rising: Rising
    text: str
    middle: float
    label: str


@dataclass(frozen=True, eq=False)
class Outline:
    """How many rows of one group there are along the axis.

    Parameters
    ----------
    edges : ndarray of float, shape (b + 1,)
    height : ndarray of float, shape (b,)
        Rows, or their weight, between two edges.
    base : ndarray of float, shape (b,), or None
        What it stands on: of several groups all those below it. None where groups are laid over one another.
    place : int
        Of the group, whose look it has; -1 for rows without one.
    label : str
        For the legend: the group's name and its rows.
    """

    edges: Floats
    height: Floats
    base: Floats | None
    place: int
    label: str


@dataclass(frozen=True)
class Apart:
    """A point that lies nowhere on the axis: it stands beside it.

    Parameters
    ----------
    y, lower, upper : float
        The ends of the interval are NaN where there is none.
    label : str
        For the legend. What stands at its tick is the axis' own.
    """

    y: float
    lower: float
    upper: float
    label: str


@dataclass(frozen=True)
class Word:
    """A short text above the panel, centred at `x`."""

    x: float
    text: str


@dataclass(frozen=True, eq=False)
class Rug:
    """Where the data lie.

    Parameters
    ----------
    x : ndarray of float, shape (t,)
        Ticks: the rows' values, or, of many rows, quantiles at equal steps.
    label : str
        Which of both.
    """

    x: Floats
    label: str


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes and all that stands in it.

    Parameters
    ----------
    x, y : Axis
    zero : bool
        Whether zero means "no effect" here and is marked.
    title : str
    notes : tuple of str
        What a reader must know beside what is drawn: rows, bins, what is left out.
    """

    x: Axis
    y: Axis
    zero: bool = False
    title: str = ""
    notes: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    bands: tuple[Band, ...] = ()
    bundle: Bundle | None = None
    steps: Steps | None = None
    violins: tuple[Violin, ...] = ()
    dashes: Dashes | None = None
    bars: Bars | None = None
    hatches: tuple[Hatch, ...] = ()
    words: tuple[Word, ...] = ()
    rug: Rug | None = None
    apart: Apart | None = None
    strips: tuple[Strip, ...] = ()
    outlines: tuple[Outline, ...] = ()


@dataclass(frozen=True, eq=False)
class Picture:
    """The panels of one effect, one above the other, on the same horizontal axis.

    Parameters
    ----------
    main : Panel
        The average effect and how it scatters.
    slopes : Panel or None
        The bins, or the steps between levels: None for PDP and ICE, and for a feature that takes one value.
    counts : Panel or None
        Rows per bin or level, where there are too many of them to write a number above each.
    groups : Panel or None
        How the feature is distributed in each of the groups that curves are coloured by, where that is asked for.
    """

    main: Panel
    slopes: Panel | None = None
    counts: Panel | None = None
    groups: Panel | None = None


# ------------------------------------------------------------------------------------------
# What of an effect is to be seen: the choices of who draws it, and how much room there is.


Ice = Literal["centered", "raw"] | None


BELOW, BESIDE = 120, 60
"""Characters of a name that fit below and beside a panel, on two lines."""


ACROSS = 92
"""Characters of a count that fit across a panel of the usual width."""


OWN_TICKS = 7
"""Up to so many points of a grid are its ticks."""


SEED = (8215, 4406)
"""Of what is drawn by chance. Small seeds are used up: data made with the same one would be strewn by their values."""


MOST_LEVELS = 40
"""Levels that can be told apart in a panel of the usual width."""


def most_levels(across: int) -> int:
    """Return how many levels can be told apart in a panel of so many letters."""
    return max(6, round(MOST_LEVELS * across / ACROSS))


@dataclass(frozen=True, eq=False)
class View:
    """What of an effect is to be seen.

    Parameters
    ----------
    ice : {"centered", "raw", None}
        Individual curves of PDP and ICE: minus their own anchor (the left end for ``center="start"``, else their mean
        over the grid), in which case the average is centred, too; as they are; or none. Slopes of curves have no level,
        and are never centred.
    own : bool
        Whether each row's own value is marked on its curve.
    curves : int
        At most so many curves.
    level : float
        Of the intervals of the average.
    across : int
        Characters of a count that fit across the panel: where they would touch there are bars instead.
    color : array_like, shape (n,), optional
        One value for each row of X, to colour its curve by.
    color_name : str, optional
        What these values are; by default the name of the series.
    rises : bool or None
        Whether stretches on which curves rise are marked; None marks them where what is explained is an uncertainty.
    histogram : bool
        Whether the feature's distribution is shown for each group that curves are coloured by.
    values : array_like, shape (n,), optional
        The feature's value in each row of X, for these distributions; by default they are of the rows that are kept.
    simultaneous : bool
        Whether the intervals hold at all points at once.
    """

    ice: Ice = "centered"
    own: bool = False
    curves: int = 200
    level: float = 0.95
    across: int = ACROSS
    color: Any = None
    color_name: str | None = None
    rises: bool | None = False
    histogram: bool = False
    values: Any = None
    simultaneous: bool = False

    def __post_init__(self) -> None:
        if self.ice not in ("centered", "raw", None):
            raise DataError(
                explained("plot(ice)", repr(self.ice), "'centered', 'raw' or None", "Name one")
            )
        if self.histogram and self.color is None:
            fix = "Give the rows' classes: color=y"
            raise DataError(explained("plot(histogram)", "no color", "groups of rows", fix))
        if self.values is not None and not self.histogram:
            fix = "Add histogram=True"
            raise DataError(explained("plot(values)", "no histogram", "a histogram", fix))

    @property
    def most(self) -> int:
        """Return how many levels fit across the panel."""
        return most_levels(self.across)
