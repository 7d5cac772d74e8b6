"""From a `Surface` to a figure specification: heat map, contours, cells, marginal histograms.

`heat` evaluates the surface on a grid of patches (`HeatmapAxis` is one side of it) and returns a `HeatmapSpec`:

- the values with a colour scale; it diverges from zero for an interaction effect (no main effects);
- contours at round values. In the matplotlib figure matplotlib traces them, in SVG `isolines` does; across bands of
  levels, where nothing lies between neighbouring bands, contours become marks (`Crossing`);
- cells without rows, and rectangles in which the confidence interval of the interaction effect contains zero;
- the rows as dots, and marginal histograms.

A categorical feature has a band per level, a numeric feature with two values a strip per value: a gradient would show
values that no row has. `cells` returns the tooltips of the SVG figure.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from skedasis._arguments import check_option
from skedasis._types import Bools, Floats, Ints, Values
from skedasis.data.features import Feature
from skedasis.errors import DataError, UnsupportedError
from skedasis.plots.figures.categorical import Places
from skedasis.plots.keywords import Empty
from skedasis.plots.scales import (
    Axis,
    clean,
    counted,
    distinct_names,
    extent,
    number,
    padded,
    position_texts,
    shorten,
)
from skedasis.plots.scales import position_texts as places_text
from skedasis.plots.spec import ACROSS, BELOW, BESIDE, MOST_LEVELS, SEED
from skedasis.results.axis import BinPairAxis, GridPairAxis, LevelPairAxis, PairAxis
from skedasis.results.build.pairs import HOME, corners_with_rows, homes_with_rows
from skedasis.results.surface import PairRows, Surface

# --- contours across bands of levels -------------------------------------------------------------

APART = 0.08
"""Smallest distance between two numbers in a band, as a fraction of its width."""


@dataclass(frozen=True)
class Crossing:
    """A point at which the effect in a band takes a round value.

    Parameters
    ----------
    x : float
    band : int
        Position of the band, from below.
    level : float
        The round value.
    labelled : bool
        Whether there is room for the number.
    """

    x: float
    band: int
    level: float
    labelled: bool


def round_levels(low: float, high: float, wanted: int) -> tuple[float, ...]:
    """Return about `wanted` round values strictly between `low` and `high`.

    Examples
    --------
    >>> round_levels(-1.0, 1.0, 7)
    (-0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75)
    >>> round_levels(0.0, 10.0, 0)
    ()
    """
    if wanted < 1 or not 0 < high - low < math.inf:
        return ()
    least = (high - low) / (wanted + 1)
    power = 10.0 ** math.floor(math.log10(least))
    # A step that is slightly too small gives one line too many; the next larger one would give far too few.
    factor = next(f for f in (1, 2, 2.5, 5, 10) if f * power >= 0.95 * least)
    step = factor * power
    first, last = math.ceil(low / step + 1e-6), math.floor(high / step - 1e-6)
    decimals = 12 - math.floor(math.log10(step))
    levels = dict.fromkeys(round(k * step, decimals) for k in range(first, last + 1))
    return tuple(v for v in levels if low < v < high)


def crossings(
    x: Floats, value: Floats, levels: tuple[float, ...], *, labelled: bool
) -> tuple[Crossing, ...]:
    """Return the points at which each band takes round values.

    Parameters
    ----------
    x : ndarray of float, shape (p,)
    value : ndarray of float, shape (q, p)
        One row per band.
    levels : tuple of float
    labelled : bool
        Whether bands are high enough for numbers.
    """
    found: list[Crossing] = []
    span = float(x[-1] - x[0]) if len(x) > 1 else 1.0
    for band, row in enumerate(value):
        at: list[tuple[float, float]] = []
        for level in levels:
            above = row >= level
            known = np.isfinite(row[:-1]) & np.isfinite(row[1:])
            for i in np.flatnonzero(known & (above[:-1] != above[1:])):
                share = (level - row[i]) / (row[i + 1] - row[i])
                at.append((float(x[i] + share * (x[i + 1] - x[i])), level))
        last = -math.inf
        for place, level in sorted(at):
            roomy = min(place - x[0], x[-1] - place) > 0.03 * span
            written = labelled and roomy and place - last > APART * span
            last = place if written else last
            found.append(Crossing(place, band, level, written))
    return tuple(found)


# --- sides of a heat map -------------------------------------------------------------------------

MOST_LETTERS = 24
"""Most characters of one of the two values of a feature."""

FINE = 200
"""Number of patches across an axis; finer ones could not be seen."""

DOTS = 1000
"""Most rows drawn as dots; more would hide the surface."""

JITTER = (-0.4, 0.1)
"""Vertical jitter of the rows in a band, relative to its centre; numbers are above them."""


@dataclass(frozen=True, eq=False)
class HeatmapAxis:
    """One side of a heat map: its axis, and the values at which the surface is evaluated.

    Parameters
    ----------
    axis : Axis
    edges : ndarray of float, shape (p + 1,)
        Edges of the patches on the axis.
    at : ndarray, shape (p,)
        The feature value at which the surface is evaluated in each patch: numbers or levels.
    home : ndarray of int, shape (p,)
        Index of the bin, level or value of each patch; -1 for points of a grid.
    places : Places or None
        For a categorical feature: the levels that are shown.
    strips : (float, float) or None
        The values of a numeric feature with two values, shown as two strips at positions 0 and 1.
    """

    axis: Axis
    edges: Floats
    at: Values
    home: Ints
    places: Places | None = None
    strips: tuple[float, float] | None = None

    @property
    def discrete(self) -> bool:
        """Return whether the patches are levels or single values, without a continuum between them."""
        return self.places is not None or self.strips is not None

    @property
    def centres(self) -> Floats:
        """Return the centres of the patches."""
        return (self.edges[:-1] + self.edges[1:]) / 2


def heatmap_axis(
    side: PairAxis, feature: Feature, *, step: bool, most: int, across: int | None
) -> HeatmapAxis:
    """Return one side of the heat map."""
    if isinstance(side, LevelPairAxis):
        places = Places.of(feature, side.levels, most)
        edges = np.arange(len(places) + 1, dtype=np.float64) - 0.5
        axis = places.axis(feature, across, most)
        return HeatmapAxis(axis, edges, side.levels.array()[places.shown], places.shown, places)
    nodes = np.asarray(side.nodes, dtype=float)
    name = shorten(feature.name, BELOW)
    if side.strips is not None:
        # A gradient between the two values would show values that no row has.
        labels = distinct_names(places_text(np.array(side.strips)), MOST_LETTERS)
        axis = Axis(name, feature.unit, -0.5, 1.5, 0.0, (0.0, 1.0), labels)
        edges = np.array([-0.5, 0.5, 1.5])
        return HeatmapAxis(axis, edges, np.array(side.strips), np.arange(2), strips=side.strips)
    if len(nodes) == 1:
        value = float(nodes[0])
        low, high = padded(value, value, 0.0)
        axis, edges = (
            Axis(name, feature.unit, low, high, 0.0, (value,), time=feature.time),
            np.array([low, high], dtype=np.float64),
        )
        own = 0 if isinstance(side, BinPairAxis) else -1
        return HeatmapAxis(axis, edges, nodes, np.array([own]))
    axis = Axis(name, feature.unit, float(nodes[0]), float(nodes[-1]), 0.0, time=feature.time)
    edges = nodes if step else np.linspace(nodes[0], nodes[-1], FINE + 1, dtype=np.float64)
    at = (edges[:-1] + edges[1:]) / 2
    home = side.bins.locate(at) if isinstance(side, BinPairAxis) else np.full(len(at), -1)
    return HeatmapAxis(axis, edges, at, home)


def located(
    rows: PairRows, order: tuple[int, int], rims: tuple[HeatmapAxis, HeatmapAxis]
) -> tuple[Floats, Floats]:
    """Return the positions of the rows inside both axes, (r, 2), and their weights."""
    given = (rows.x0, rows.x1)
    at = np.column_stack([_on_axis(given[i], rim) for i, rim in zip(order, rims, strict=True)])
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    inside = np.isfinite(at).all(axis=1) & (weight > 0)
    for k, rim in enumerate(rims):
        inside &= (at[:, k] >= rim.edges[0]) & (at[:, k] <= rim.edges[-1])
    return at[inside], weight[inside]


def jittered(at: Floats, rims: tuple[HeatmapAxis, HeatmapAxis]) -> Floats:
    """Return the positions of dots: a sample of many rows, with jitter within bands."""
    rng, n = np.random.default_rng(SEED), len(at)
    dots = at.copy() if n <= DOTS else at[np.sort(rng.choice(n, DOTS, replace=False))]
    for k, rim in enumerate(rims):
        if rim.discrete:
            dots[:, k] += rng.uniform(*JITTER, len(dots))
    return dots


def _on_axis(values: Floats, rim: HeatmapAxis) -> Floats:
    """Return the positions of rows on an axis, NaN for rows that are not on it."""
    if rim.strips is not None:
        low, high = rim.strips
        return np.where(values == low, 0.0, np.where(values == high, 1.0, np.nan))
    if rim.places is None:
        return values
    out = np.full(len(values), np.nan)
    known = np.isfinite(values)
    out[known] = rim.places.place[values[known].astype(np.int64)]
    return out


def margin(at: Floats, weight: Floats, rim: HeatmapAxis) -> Floats:
    """Return the marginal histogram of one side."""
    return np.histogram(at, bars_of(rim), weights=weight)[0].astype(float)


def bars_of(rim: HeatmapAxis) -> Floats:
    """Return the edges of a marginal histogram."""
    if rim.discrete:
        return rim.edges
    return np.linspace(rim.edges[0], rim.edges[-1], 41)


# --- contours as lines ---------------------------------------------------------------------------


def isolines(x: Floats, y: Floats, value: Floats, level: float) -> list[Floats]:
    """Return the contour lines of a surface at one value.

    Parameters
    ----------
    x : ndarray of float, shape (p,)
    y : ndarray of float, shape (q,)
    value : ndarray of float, shape (q, p)
        At the grid points; no line enters a cell with a NaN at a corner.
    level : float

    Returns
    -------
    list of ndarray of float, shape (n, 2)
        One array per line; closed lines end at their first point. The surface is linear between grid points; in a cell
        with two lines the mean of its corners decides how they connect.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([0.0, 1.0, 2.0])
    >>> (line,) = isolines(x, x, np.add.outer(0 * x, x), 0.5)
    >>> sorted(line.tolist())
    [[0.5, 0.0], [0.5, 1.0], [0.5, 2.0]]
    """
    if min(value.shape) < 2:
        return []
    from contourpy import LineType, contour_generator

    # Divided by four, so that neither differences of huge numbers nor the sum of four corners overflow.
    found = contour_generator(x, y, value / 4, corner_mask=False, line_type=LineType.Separate)
    return cast("list[Floats]", found.lines(level / 4))


def simplify_line(points: Floats, tolerance: float) -> Floats:
    """Simplify a line by the algorithm of Douglas and Peucker.

    Parameters
    ----------
    points : ndarray of float, shape (n, 2)
    tolerance : float
        Largest distance of an omitted point from the simplified line.

    Examples
    --------
    >>> simplify_line(np.array([[0.0, 0.0], [1.0, 0.01], [2.0, 0.0], [2.0, 5.0]]), 0.1).tolist()
    [[0.0, 0.0], [2.0, 0.0], [2.0, 5.0]]
    """
    keep = np.zeros(len(points), dtype=bool)
    keep[[0, -1]] = True
    todo = [(0, len(points) - 1)]
    while todo:
        first, last = todo.pop()
        if last - first < 2:
            continue
        a, way = points[first], points[last] - points[first]
        off = points[first + 1 : last] - a
        length = float(way @ way)
        # The two ends of a closed line coincide.
        share = np.clip(off @ way / length, 0.0, 1.0) if length > 0 else np.zeros(len(off))
        far = np.hypot(*(off - share[:, None] * way).T)
        worst = int(np.argmax(far))
        if far[worst] > tolerance:
            middle = first + 1 + worst
            keep[middle] = True
            todo += [(first, middle), (middle, last)]
    return points[keep]


@dataclass(frozen=True)
class NumberPosition:
    """Position of the number on a contour line.

    Parameters
    ----------
    x, y : float
        Centre, in pixels.
    turn : float
        Rotation in degrees, clockwise, such that the number is read from left to right.
    """

    x: float
    y: float
    turn: float


def numbered(
    line: Floats, width: float, room: tuple[float, float, float, float], taken: list[Floats]
) -> NumberPosition | None:
    """Return the position of the number on a contour line: on a straight part, away from other numbers.

    Parameters
    ----------
    line : ndarray of float, shape (n, 2)
        In pixels.
    width : float
        Width of the number.
    room : tuple of four float
        Left, upper, right and lower end of the area for numbers.
    taken : list of ndarray of float, shape (2,)
        Centres of the existing numbers; the new one is appended.
    """
    steps = np.hypot(*np.diff(line, axis=0).T)
    along = np.concatenate([[0.0], np.cumsum(steps)])
    if along[-1] < 2.2 * width:
        return None
    centres = np.linspace(0.8 * width, along[-1] - 0.8 * width, 24)
    ends = [
        np.column_stack([np.interp(centres + s * width / 2, along, c) for c in line.T])
        for s in (-1, 0, 1)
    ]
    chord = ends[2] - ends[0]
    straight = np.hypot(*chord.T) / width
    left, upper, right, lower = room
    pad = width / 2 + 2
    middle = ends[1]
    inside = (middle[:, 0] > left + pad) & (middle[:, 0] < right - pad)
    inside &= (middle[:, 1] > upper + pad) & (middle[:, 1] < lower - pad)
    for other in taken:
        inside &= np.hypot(*(middle - other).T) > 1.6 * width + 6
    if not inside.any():
        return None
    # Among equally straight parts, the one nearest to the middle of the line.
    off = np.abs(centres / along[-1] - 0.5)
    best = int(np.argmin(np.where(inside, np.round(1 - straight, 2) + 0.05 * off, np.inf)))
    if straight[best] < 0.8:
        return None
    taken.append(middle[best])
    turn = float(np.degrees(np.arctan2(chord[best, 1], chord[best, 0])))
    turn -= 180.0 * round(turn / 180.0)
    return NumberPosition(float(middle[best, 0]), float(middle[best, 1]), turn)


# --- tooltips of cells ---------------------------------------------------------------------------

MOST = 250
"""Most tooltips of a surface, each about as large as a fingertip; beyond that, neighbouring bins share one."""

LETTERS = 40
"""Most characters of a name in a tooltip."""


@dataclass(frozen=True)
class Cell:
    """A rectangle in units of the axes, and its tooltip.

    Parameters
    ----------
    left, right, lower, upper : float
    tip : str
        One fact per line.
    """

    left: float
    right: float
    lower: float
    upper: float
    tip: str


@dataclass(frozen=True, eq=False)
class _Intervals:
    """Intervals of one side of the tooltips' grid.

    Attributes
    ----------
    edges : ndarray of float, shape (k + 1,)
    names : list of str
        First line of the tooltips.
    at : ndarray, shape (k,)
        Feature values at which the surface is evaluated.
    homes : list of ndarray of int
        Bins or levels in each interval, whose rows are counted; empty for points of a grid.
    """

    edges: Floats
    names: list[str]
    at: Values
    homes: list[Ints]


def cells(surface: Surface, shown: HeatmapSpec) -> list[Cell]:
    """Return the cells of a surface with their tooltips, row by row from below.

    Parameters
    ----------
    surface : Surface
    shown : HeatmapSpec
        Specification of its figure.

    Returns
    -------
    list of Cell
        At most about 250 for numeric features; beyond that, neighbouring bins are merged. Values are those in the
        centre of a cell, or at a grid point.
    """
    order = order_of(surface)
    x, y = _merged_intervals(surface, shown, order)
    asked = (x.at[None, :], y.at[:, None]) if order == (0, 1) else (y.at[:, None], x.at[None, :])
    value = surface.at(*asked)
    rows = counts(surface, order)
    unit = f" {clean(surface.about.unit)}" if surface.about.unit else ""
    what = "effect" if surface.includes_main_effects else "interaction effect"
    found: list[Cell] = []
    for i, name_y in enumerate(y.names):
        for j, name_x in enumerate(x.names):
            v = float(value[i, j])
            lines = [name_x, name_y, f"{what} {number(v)}{unit}" if np.isfinite(v) else "no value"]
            if rows is not None and x.homes and y.homes:
                n = int(rows[np.ix_(y.homes[i], x.homes[j])].sum())
                if n == 0 and surface.cells is not None:
                    # The value would come from other cells: it is neither drawn nor shown.
                    lines[2:] = ["no rows"]
                else:
                    lines.append(counted(n, "row"))
            a, b, c, d = (float(e) for e in (*x.edges[j : j + 2], *y.edges[i : i + 2]))
            found.append(Cell(a, b, c, d, "\n".join(lines)))
    return found


def _merged_intervals(
    surface: Surface, shown: HeatmapSpec, order: tuple[int, int]
) -> tuple[_Intervals, _Intervals]:
    """Return the intervals of both sides, merging neighbouring bins until there are at most `MOST` cells."""
    sides, rims, folds = [surface.sides[i] for i in order], (shown.x, shown.y), [1, 1]
    while True:
        x, y = (_side_intervals(s, r, f) for s, r, f in zip(sides, rims, folds, strict=True))
        # Levels and single values are never merged. Cells are wider than high, so the vertical side is merged first.
        most = [1 if shown.y.discrete else len(y.at), 1 if shown.x.discrete else len(x.at)]
        if len(x.at) * len(y.at) <= MOST or max(most) == 1:
            return x, y
        folds[1 - most.index(max(most))] += 1


def _short(nodes: Floats) -> Floats:
    """Return positions rounded to two significant digits of their smallest step; tables have all digits."""
    steps = np.diff(nodes)
    if len(steps) == 0 or not 0 < steps.min() < np.inf:
        return nodes
    return np.round(nodes, int(np.clip(1 - np.floor(np.log10(steps.min())), -300, 300)))


def _side_intervals(side: PairAxis, rim: HeatmapAxis, fold: int) -> _Intervals:
    """Return the intervals of one side, with `fold` neighbouring bins each."""
    name = shorten(rim.axis.name, LETTERS)
    unit = f" {clean(rim.axis.unit)}" if rim.axis.unit else ""
    if rim.places is not None:
        shown = rim.places.shown
        names = [f"{name}: {shorten(rim.places.levels.labels[k], LETTERS)}" for k in shown]
        return _Intervals(rim.edges, names, rim.at, [np.array([k]) for k in shown])
    if rim.strips is not None:
        names = [f"{name}: {text}{unit}" for text in rim.axis.labels]
        return _Intervals(rim.edges, names, rim.at, [np.array([k]) for k in rim.home])
    nodes = np.asarray(side.nodes, dtype=float)
    time = rim.axis.time
    texts = position_texts(_short(nodes)) if time is None else time.texts(nodes)
    if len(nodes) == 1:
        homes = [np.array([0])] if isinstance(side, BinPairAxis) else []
        return _Intervals(rim.edges, [f"{name}: {texts[0]}{unit}"], nodes, homes)
    if not isinstance(side, BinPairAxis):
        kept = np.arange(0, len(nodes), fold)
        at = nodes[kept]
        between = at[:-1] / 2 + at[1:] / 2
        edges = np.concatenate([nodes[:1], between, nodes[-1:]])
        return _Intervals(edges, [f"{name}: {texts[k]}{unit}" for k in kept], at, [])
    cut = np.unique([*range(0, len(nodes), fold), len(nodes) - 1])
    pairs = list(itertools.pairwise(cut.tolist()))
    return _Intervals(
        nodes[cut],
        [f"{name}: {texts[a]} – {texts[b]}{unit}" for a, b in pairs],
        np.array([nodes[a] / 2 + nodes[b] / 2 for a, b in pairs]),
        [np.arange(a, b) for a, b in pairs],
    )


# --- heat map ------------------------------------------------------------------------------------

ROUNDING = 1e-9
"""Interaction effects below this fraction of the main effects are rounding errors."""


@dataclass(frozen=True)
class Tile:
    """A text in the centre of a patch."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, eq=False)
class HeatmapSpec:
    """Specification of a heat map.

    Parameters
    ----------
    x, y : HeatmapAxis
    value : ndarray of float, shape (q, p)
        Rows from bottom to top, columns from left to right. NaN where nothing is drawn, such as in cells without rows.
    scale : Axis
        Range and label of the colour scale.
    diverging : bool
        Whether zero means "no interaction" and is the centre of the colour scale.
    title : str
    notes : tuple of str
    levels : tuple of float
        Values of the contour lines; empty without contours.
    crossings : tuple of Crossing
        Contours across bands of levels and strips of values.
    tiles : tuple of Tile
    holes : ndarray of float, shape (h, 4)
        Left, right, lower and upper ends of the cells without rows that are hatched.
    dots : ndarray of float, shape (r, 2)
        Rows drawn as dots.
    dots_label : str
        Legend entry of the dots.
    margins : tuple of two ndarray of float, shapes (p,) and (q,), or None
        Marginal histograms: rows in equal intervals of each axis, or at each level or value.
    unclear : ndarray of float, shape (u, 4)
        Left, right, lower and upper ends of rectangles in which the confidence interval of the interaction effect
        contains zero.
    """

    x: HeatmapAxis
    y: HeatmapAxis
    value: Floats
    scale: Axis
    diverging: bool
    title: str
    notes: tuple[str, ...]
    levels: tuple[float, ...]
    crossings: tuple[Crossing, ...]
    tiles: tuple[Tile, ...]
    holes: Floats
    dots: Floats
    dots_label: str
    margins: tuple[Floats, Floats] | None
    unclear: Floats


@dataclass(frozen=True, eq=False)
class SurfacePlotOptions:
    """Options of a figure of a surface; see `draw_surface`."""

    points: bool = True
    density: bool = False
    empty: Empty = "hatched"
    step: bool = False
    levels: int | Sequence[float] | None = None
    confidence_level: float | None = None

    def __post_init__(self) -> None:
        check_option("plot(empty)", self.empty, ("hatched", "filled", "blank"))
        if isinstance(self.levels, str) or (isinstance(self.levels, int) and self.levels < 0):
            expected = "a number of contours, their values, or None"
            raise DataError("plot(levels)", repr(self.levels), expected, "Use 7")


def heat(surface: Surface, sight: SurfacePlotOptions | None = None) -> HeatmapSpec:
    """Return the figure specification of a surface.

    Parameters
    ----------
    surface : Surface
    sight : SurfacePlotOptions, optional

    Returns
    -------
    HeatmapSpec
        The first feature is on the horizontal axis, unless it is categorical or has two values and the second one is
        not. A numeric feature with two values has two strips.

    Raises
    ------
    DataError
        For unknown values of options.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> s = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=4))
    >>> shown = heat(s, SurfacePlotOptions(step=True))
    >>> shown.value.shape, shown.scale.label
    ((4, 4), 'interaction effect on prediction')
    """
    sight = _applicable_options(surface, SurfacePlotOptions() if sight is None else sight)
    order = order_of(surface)
    x, y = (
        heatmap_axis(
            surface.sides[i], surface.abouts[i].feature, step=sight.step, most=most, across=across
        )
        for i, most, across in zip(order, (MOST_LEVELS, 30), (ACROSS - 12, None), strict=True)
    )
    asked = (y.at[:, None], x.at[None, :]) if order == (1, 0) else (x.at[None, :], y.at[:, None])
    # The two values of a feature share one cell, so the step function would not distinguish them.
    steps = tuple(sight.step and s.strips is None for s in surface.sides)
    value = surface.at(*asked, step=(steps[0], steps[1]))
    count = counts(surface, order)
    empty = _empty(surface, count, x, y, order)
    if sight.empty != "filled":
        value = np.where(_in_empty_cells(empty, x, y), np.nan, value)
    scale, diverging = _scale(surface, value)
    # Tiles have numbers instead of contours, and contours of rounding errors are meaningless.
    plain = x.discrete or sight.step or is_rounding_only(surface)
    levels = () if plain else _contours(sight.levels, scale)
    bands = y.discrete
    tiles = _tiles(x, y, value, count, scale, sight)
    hatched = sight.empty == "hatched"
    return HeatmapSpec(
        x,
        y,
        value,
        scale,
        diverging,
        surface.spec.method,
        _notes(surface, empty, (x, y), sight),
        () if bands else levels,
        crossings(x.centres, value, levels, labelled=len(y.at) <= 15) if bands else (),
        tiles,
        _rectangles(empty, x, y, surface, order) if hatched else np.zeros((0, 4)),
        # Tiles state the number of rows; dots would only hide the text.
        *_data(surface, order, (x, y), sight, counts_in_tiles=bool(tiles) and x.discrete and bands),
        _contains_zero(surface, asked, steps, sight, (x, y), np.isfinite(value)),
    )


def is_discrete(side: PairAxis) -> bool:
    """Return whether a side has levels or two single values, without a continuum between them."""
    return isinstance(side, LevelPairAxis) or side.strips is not None


def order_of(surface: Surface) -> tuple[int, int]:
    """Return which feature is on the horizontal axis, and which on the vertical one."""
    # Bands of levels and strips of two values are stacked vertically, so that their names are not rotated.
    bands = [is_discrete(s) for s in surface.sides]
    return (1, 0) if bands[0] and not bands[1] else (0, 1)


def counts(surface: Surface, order: tuple[int, int]) -> Ints | None:
    """Return the number of rows in each cell, (h of y, h of x); None if it is unknown.

    A numeric feature with two values has a cell per value.
    """
    sides, rows = surface.sides, surface.rows
    strips = any(s.strips is not None for s in sides)
    located = all(not isinstance(s, GridPairAxis) or s.strips is not None for s in sides)
    if HOME in surface.moments and not strips:
        count = surface.moments[HOME].count.astype(np.int64)
    elif rows is not None and rows.exact and located:
        homes = [_home(s, v) for s, v in zip(sides, (rows.x0, rows.x1), strict=True)]
        there = (homes[0] >= 0) & (homes[1] >= 0)
        size = [s.n_homes if s.strips is None else 2 for s in sides]
        count = np.zeros((size[0], size[1]), dtype=np.int64)
        np.add.at(count, (homes[0][there], homes[1][there]), 1)
    else:
        return None
    return count.T if order == (0, 1) else count


def _home(side: PairAxis, x: Floats) -> Ints:
    """Return the index of each row's bin, level or value; -1 for none."""
    if side.strips is None:
        return side.home_of(x)
    low, high = side.strips
    return np.where(x == low, 0, np.where(x == high, 1, -1)).astype(np.int64)


def _empty(
    surface: Surface, count: Ints | None, x: HeatmapAxis, y: HeatmapAxis, order: tuple[int, int]
) -> Bools:
    """Return which of the shown cells have no rows, (h of y, h of x)."""
    if surface.cells is None:
        return np.zeros((0, 0), dtype=bool)
    if count is not None:
        empty = count == 0
    else:
        # If not all rows were kept, it is known per bin only, and both values of a feature may share a bin.
        known = homes_with_rows(surface)
        if known is None:
            return np.zeros((0, 0), dtype=bool)
        for axis, side in enumerate(surface.sides):
            if side.strips is not None:
                known = known.take(side.home_of(np.array(side.strips)), axis=axis)
        empty = ~(known.T if order == (0, 1) else known)
    if y.discrete:
        empty = empty[y.home]
    return empty[:, x.home] if x.discrete else empty


def _in_empty_cells(empty: Bools, x: HeatmapAxis, y: HeatmapAxis) -> Bools:
    """Return which patches are in cells without rows."""
    if empty.size == 0:
        return np.zeros((len(y.at), len(x.at)), dtype=bool)
    i = np.arange(len(y.at)) if y.discrete else y.home
    j = np.arange(len(x.at)) if x.discrete else x.home
    return empty[np.ix_(i, j)]


def _applicable_options(surface: Surface, sight: SurfacePlotOptions) -> SurfacePlotOptions:
    """Return the options as far as they apply: without cells (a grid of points) there is no step function."""
    return replace(sight, step=False) if surface.cells is None else sight


def _rectangles(
    empty: Bools, x: HeatmapAxis, y: HeatmapAxis, surface: Surface, order: tuple[int, int]
) -> Floats:
    if empty.size == 0:
        return np.zeros((0, 4))
    ends: list[Floats] = []
    for rim, place in zip((x, y), order, strict=True):
        one = rim.discrete or surface.sides[place].n_nodes == 1
        ends.append(rim.edges if one else np.asarray(surface.sides[place].nodes, dtype=float))
    j, i = np.argwhere(empty).T
    return np.column_stack([ends[0][i], ends[0][i + 1], ends[1][j], ends[1][j + 1]])


def _contains_zero(
    surface: Surface,
    asked: tuple[Values, Values],
    steps: tuple[bool, ...],
    sight: SurfacePlotOptions,
    rims: tuple[HeatmapAxis, HeatmapAxis],
    seen: Bools,
) -> Floats:
    """Return rectangles in which the confidence interval of an interaction effect contains zero.

    Each covers neighbouring patches of one row. Patches without a value (not `seen`) are omitted.
    """
    if sight.confidence_level is None:
        return np.zeros((0, 4))
    if surface.includes_main_effects:
        raise UnsupportedError(
            f"plot(confidence_level) of a {surface.spec.method}'s surface",
            "values that include main effects, for which zero has no special meaning",
            "an interaction effect alone, as ALE and DALE return it",
            "Omit confidence_level=",
        )
    ends = [replace(surface, value=v) for v in surface.interval(sight.confidence_level)]
    low, high = (e.at(*asked, step=(steps[0], steps[1])) for e in ends)
    holds = seen & ~((low > 0) | (high < 0))
    change = np.diff(np.pad(holds.astype(int), ((0, 0), (1, 1))), axis=1)
    (i, start), (_, stop) = np.nonzero(change > 0), np.nonzero(change < 0)
    x, y = (r.edges for r in rims)
    return np.column_stack([x[start], x[stop], y[i], y[i + 1]])


def _scale(surface: Surface, value: Floats) -> tuple[Axis, bool]:
    """Return the axis of the colour scale, and whether it diverges from zero."""
    about, low, high = surface.about, *extent([value])
    joint = not surface.includes_main_effects
    centred = joint or surface.spec.center is not None or surface.cells is not None
    before = "interaction effect on " if joint else "effect on " if centred else ""
    name = f"{before}{shorten(about.quantity, BESIDE - len(before))}"
    # Values at corners far from all rows would dominate the colour scale.
    near = extent([_near_rows(surface, value)])
    if not joint:
        if not math.isnan(near[0]):
            low, high = max(low, near[0]), min(high, near[1])
        least, most = padded(low, high, 0.0)
        return Axis(name, about.unit, least, most, 0.0), False
    size = 0.0 if math.isnan(low) else max(abs(low), abs(high))
    size = size if math.isnan(near[0]) else min(size, max(abs(near[0]), abs(near[1])))
    if is_rounding_only(surface):  # rounding errors get no colours
        size = max(float(np.nanmax(np.abs(m), initial=0.0)) for m in surface.main or ())
    return Axis(name, about.unit, -(size or 1.0), size or 1.0, 0.0), True


def _near_rows(surface: Surface, value: Floats) -> Floats:
    """Return the values at the corners of cells with rows, if these are known; otherwise all values."""
    near = None if surface.cells is None else corners_with_rows(surface)
    return value if near is None else surface.value[near]


def is_rounding_only(surface: Surface) -> bool:
    """Return whether an interaction effect is only rounding error relative to the main effects."""
    if surface.includes_main_effects or surface.main is None:
        return False
    size = max(float(np.nanmax(np.abs(m), initial=0.0)) for m in surface.main)
    near = _near_rows(surface, surface.value)
    return float(np.nanmax(np.abs(near), initial=0.0)) < ROUNDING * size


def _contours(wanted: int | Sequence[float] | None, scale: Axis) -> tuple[float, ...]:
    low, high = scale.limits
    if wanted is not None and not isinstance(wanted, (int, np.integer)):
        return tuple(sorted(float(v) for v in wanted if low < v < high))
    return round_levels(low, high, 7 if wanted is None else int(wanted))


def _tiles(
    x: HeatmapAxis,
    y: HeatmapAxis,
    value: Floats,
    count: Ints | None,
    scale: Axis,
    sight: SurfacePlotOptions,
) -> tuple[Tile, ...]:
    """Return the texts in patches that are large enough for them."""
    both = x.discrete and y.discrete
    if not (both or sight.step) or len(x.at) > 14 or len(y.at) > 20:
        return ()
    wide = np.diff(x.edges) / (x.edges[-1] - x.edges[0])
    high = np.diff(y.edges) / (y.edges[-1] - y.edges[0])
    known = np.isfinite(value)
    found: list[Tile] = []
    for i, j in np.argwhere(known):
        text = _value_text(float(value[i, j]), scale)
        if wide[j] < 0.065 or high[i] < 0.04:
            continue
        if both and count is not None:
            n = f"n={count[y.home[i], x.home[j]]:,}"
            text = f"{text}\n{n}" if high[i] >= 0.08 else f"{text}  {n}" if wide[j] > 0.15 else text
        found.append(Tile(float(x.centres[j]), float(y.centres[i]), text))
    return tuple(found)


def _value_text(value: float, scale: Axis) -> str:
    """Return a value as text with two or three digits of the range of the colour scale."""
    power = 10.0**scale.scale.exponent
    span = float(np.diff(scale.limits)[0]) / power
    decimals = max(0, 1 - math.floor(math.log10(span / 2)))
    text = f"{round((value - scale.scale.offset) / power, decimals) + 0.0:.{decimals}f}"
    return text.replace("-", "\N{MINUS SIGN}")


def _notes(
    surface: Surface, empty: Bools, rims: tuple[HeatmapAxis, HeatmapAxis], sight: SurfacePlotOptions
) -> tuple[str, ...]:
    """Return notes on rows, cells, the size of the interaction, and what is omitted."""
    known = surface.provenance
    rows = known.get("rows", 0 if surface.rows is None else len(surface.rows))
    outside = known.get("rows_outside", 0)
    missing = rows - known.get("rows_in_cells", rows - outside) - outside
    parts = [_parts(s) for s in surface.sides]
    what = "cells" if surface.cells is not None else "points"
    if any(map(is_discrete, surface.sides)):
        cells = " \N{MULTIPLICATION SIGN} ".join(f"{n} {name}" for n, name in parts)
    else:
        cells = f"{parts[0][0]} \N{MULTIPLICATION SIGN} {parts[1][0]} {what}"
    notes = [counted(int(rows - outside - missing), "row"), cells]
    if outside:
        notes.append(f"{counted(int(outside), 'row')} outside the {what}")
    if missing:
        notes.append(f"{counted(int(missing), 'row')} with a missing value")
    if empty.any():
        filled = sight.empty == "filled" and surface.provenance.get("empty_cells") == "nearest"
        said = "cells without rows" + (", filled from the nearest cell" if filled else "")
        notes.append(f"{int(empty.sum())} of {empty.size} {said}")
    strength = surface.interaction_strength()
    if np.isfinite(strength):
        shown = 0.0 if is_rounding_only(surface) else strength
        what = "standard deviation" if surface.includes_main_effects else "interaction strength"
        notes.append(f"{what} {shown:.3g} {surface.about.unit or ''}".strip())
    if surface.includes_main_effects:
        notes.append("with main effects")
    else:
        notes.append("second-order effect, without main effects")
    for rim in rims:
        if rim.places is not None and len(rim.places) < len(rim.places.levels):
            shown, all_ = len(rim.places), len(rim.places.levels)
            notes.append(
                f"{shown} of {all_:,} levels of {shorten(rim.axis.name, 24)}, with most rows"
            )
    return tuple(notes)


def _parts(side: PairAxis) -> tuple[int, str]:
    if side.strips is not None:
        return 2, "values"
    binned = isinstance(side, BinPairAxis)
    n = side.n_homes if binned else side.n_nodes
    noun = "bin" if binned else "level" if isinstance(side, LevelPairAxis) else "point"
    return n, noun if n == 1 else f"{noun}s"


def _data(
    surface: Surface,
    order: tuple[int, int],
    rims: tuple[HeatmapAxis, HeatmapAxis],
    sight: SurfacePlotOptions,
    *,
    counts_in_tiles: bool,
) -> tuple[Floats, str, tuple[Floats, Floats] | None]:
    """Return the dots, their legend entry, and the marginal histograms."""
    rows = surface.rows
    if rows is None or len(rows) == 0:
        return np.zeros((0, 2)), "", None
    at, weight = located(rows, order, rims)
    margins = None
    if sight.density:
        margins = (margin(at[:, 0], weight, rims[0]), margin(at[:, 1], weight, rims[1]))
    if counts_in_tiles or not sight.points:
        return np.zeros((0, 2)), "", margins
    all_, n = "rows" if rows.exact else "sampled rows", len(at)
    label = all_ if n <= DOTS else f"{DOTS:,} of {n:,} {all_}"
    return jittered(at, rims), label, margins
