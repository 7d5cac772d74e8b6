"""From a `Surface` to a figure: heat map, contours, cells without rows, marginal histograms, colour scale."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np

from skedasis._numbers import ROUNDING_NOISE, counted, number
from skedasis._types import Bools, Floats, Ints, Values
from skedasis.data.features import Feature
from skedasis.errors import DataError, UnsupportedError
from skedasis.plots.figures.effect_parts import WHERE
from skedasis.plots.figures.options import SEED
from skedasis.plots.figures.titles import TIMES, surface_title
from skedasis.plots.marks import (
    Contour,
    FigureSpec,
    Heat,
    Margin,
    Mark,
    Panel,
    Points,
    Rectangles,
    Segments,
    Text,
    Tooltip,
    vertical_line,
)
from skedasis.plots.scales import PlotAxis, clean, extent, padded, position_texts, rounded, shorten
from skedasis.plots.theme import HEAT_SHADES
from skedasis.results.axis import BinPairAxis, GridPairAxis, LevelPairAxis, PairAxis
from skedasis.results.build.pairs import HOME, corners_with_rows, homes_with_rows
from skedasis.results.effect_words import is_discrete
from skedasis.results.keywords import Empty
from skedasis.results.surface import PairRows, Surface

FINE = 200
"""Number of patches across an axis; finer ones could not be seen."""

MOST_ACROSS, MOST_UP = 40, 30
"""Most levels on the horizontal and on the vertical axis."""

DOTS = 1000
"""Most rows drawn as dots; more would hide the surface."""

JITTER = (-0.4, 0.1)
"""Vertical jitter of the rows in a band, relative to its centre; numbers are above them."""

BARS = 40
"""Bars of a histogram of the rows, or fewer for whole numbers."""

APART = 0.08
"""Smallest distance between two numbers in a band, as a fraction of its width."""

TIPS = 250
"""Most tooltips, each about as large as a fingertip; beyond that, neighbouring bins share one."""

TIP_LETTERS = 40
"""Most characters of a name in a tooltip."""

HEIGHT, BAND, WRITTEN_BAND = 200.0, 17.5, 24.0
"""Height of a map in points, of a band of a level or value, and of a band with numbers in it."""

BAND_LIMITS = (48.0, 293.0)
"""Smallest and largest height of all bands together."""


@dataclass(frozen=True, eq=False)
class SurfacePlotOptions:
    """Options of a figure of a surface; see `Surface.plot`."""

    points: bool = False
    density: bool = True
    empty: Empty = "hatched"
    step: bool = False
    levels: int | Sequence[float] | None = None
    confidence_level: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.levels, str) or (isinstance(self.levels, int) and self.levels < 0):
            expected = "a number of contours, their values, or None"
            raise DataError("plot(levels)", repr(self.levels), expected, "Use 7")


def surface_figure(
    surface: Surface,
    options: SurfacePlotOptions | None = None,
    *,
    limits: tuple[float, float] | None = None,
) -> FigureSpec:
    """Return the figure of a surface: a map, and its colour scale below it."""
    options = SurfacePlotOptions() if options is None else options
    if surface.cells is None:  # a grid of points has no step function
        options = replace(options, step=False)
    shown = _Map.of(surface, step=options.step)
    x, y, empty = shown.x, shown.y, shown.empty
    value = shown.evaluated(surface)
    if options.empty != "filled" and empty.size:
        i = np.arange(len(y.at)) if y.discrete else y.home
        j = np.arange(len(x.at)) if x.discrete else x.home
        value = np.where(empty[np.ix_(i, j)], np.nan, value)
    scale, diverging = _scale(surface, value)
    if limits is not None:
        scale = replace(scale, least=limits[0], most=limits[1])
    heat = Heat(x.edges, y.edges, value, scale.limits, diverging)
    tiles = _tiles(heat, scale, shown) if options.step or (x.discrete and y.discrete) else []
    # Tiles have numbers instead of contours, and contours of rounding errors are meaningless.
    plain = x.discrete or options.step or is_rounding_only(surface)
    lines = _lines(x, y, value, () if plain else _levels(options.levels, scale))
    written = y.discrete and len(y.at) <= 15
    numbers = _numbers(lines, scale, x.axis.limits, aside=options.points) if written else []
    signs = [] if tiles or (lines and y.discrete) else _signs(heat, x, y)
    marks: list[Mark] = [heat, *_between(x, y)]
    if options.empty == "hatched" and empty.any():
        i, j = np.argwhere(empty).T
        a, b = x.cells, y.cells
        marks.append(Rectangles(a[j], a[j + 1], b[i], b[i + 1], "rowless", "no rows"))
    if options.confidence_level is not None:
        marks += _contains_zero(shown, heat, options.confidence_level)
    marks += _contours(lines, scale, numbers=not y.discrete)
    # Tiles state the number of rows; dots would only hide the text.
    dots = options.points and not (tiles and x.discrete and y.discrete)
    marks += _rows(shown, dots=dots, density=options.density)
    height = HEIGHT
    if y.discrete:
        band = WRITTEN_BAND if numbers or (tiles and len(y.at) <= 12) else BAND
        height = float(np.clip(band * len(y.at), *BAND_LIMITS))
    notes = _notes(shown, filled=options.empty == "filled")
    signed = ("+ highest, \N{MINUS SIGN} lowest",) if signs else ()
    main = Panel(
        x.axis,
        y.axis,
        tuple(marks),
        height,
        title=surface_title(surface),
        notes=(*notes, *signed),
        texts=(*signs, *tiles, *numbers),
        grid="",
        tooltips=_tooltips(shown),
    )
    bar = colour_scale(scale, tuple(lines), diverging=diverging)
    return FigureSpec(((main, bar),), str(main.title), _alt_text(heat, scale, x, y, notes))


@dataclass(frozen=True, eq=False)
class _Map:
    """A surface with both sides as they are drawn; `order` says which feature is on which side."""

    surface: Surface
    order: tuple[int, int]
    x: HeatmapAxis
    y: HeatmapAxis
    step: tuple[bool, bool]
    count: Ints | None

    @classmethod
    def of(cls, surface: Surface, *, step: bool) -> _Map:
        """Choose the sides: bands of levels and of single values are stacked, so that their names are not rotated."""
        bands = [is_discrete(s) for s in surface.sides]
        order = (1, 0) if bands[0] and not bands[1] else (0, 1)
        x, y = (
            heatmap_axis(surface.sides[i], surface.abouts[i].feature, step=step, most=most)
            for i, most in zip(order, (MOST_ACROSS, MOST_UP), strict=True)
        )
        # The two values of a feature share one cell, so the step function would not distinguish them.
        first, second = (step and s.strips is None for s in surface.sides)
        return cls(surface, order, x, y, (first, second), _counts(surface, order))

    @property
    def rims(self) -> tuple[HeatmapAxis, HeatmapAxis]:
        """Return both sides."""
        return self.x, self.y

    def evaluated(self, surface: Surface) -> Floats:
        """Return the values of this or a similar surface in the patches, (q, p)."""
        return self.at(surface, self.x.at, self.y.at, self.step)

    def at(self, surface: Surface, x: Values, y: Values, step: tuple[bool, bool]) -> Floats:
        """Return the values of a surface at points of the axes, (q, p)."""
        asked = (x[None, :], y[:, None]) if self.order == (0, 1) else (y[:, None], x[None, :])
        return surface.at(*asked, step=step)

    @cached_property
    def empty(self) -> Bools:
        """Return which of the shown cells have no rows, (h of y, h of x)."""
        surface, x, y = self.surface, self.x, self.y
        if surface.cells is None:
            return np.zeros((0, 0), dtype=bool)
        if self.count is not None:
            empty = self.count == 0
        else:
            # If not all rows were kept, it is known per bin only, and both values of a feature may share a bin.
            known = homes_with_rows(surface)
            if known is None:
                return np.zeros((0, 0), dtype=bool)
            for axis, side in enumerate(surface.sides):
                if side.strips is not None:
                    known = known.take(side.home_of(np.array(side.strips)), axis=axis)
            empty = ~(known.T if self.order == (0, 1) else known)
        empty = empty[y.home] if y.discrete else empty
        return empty[:, x.home] if x.discrete else empty


# --- sides of a heat map -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HeatmapAxis:
    """One side of a heat map: its axis, and the values at which the surface is evaluated."""

    side: PairAxis
    axis: PlotAxis
    edges: Floats
    at: Values
    home: Ints

    @property
    def discrete(self) -> bool:
        """Return whether the patches are levels or single values, without a continuum between them."""
        return is_discrete(self.side)

    @property
    def centres(self) -> Floats:
        """Return the centres of the patches."""
        return (self.edges[:-1] + self.edges[1:]) / 2

    def bars(self, at: Floats) -> Floats:
        """Return the edges of a histogram of rows at these positions; each bar has equally many whole numbers."""
        if self.discrete:
            return self.edges
        low, high = self.edges[[0, -1]].tolist()
        if not (at % 1).any() and 1 <= high - low < 2**50:
            step = math.ceil((high - low) / BARS)
            return np.unique(
                np.clip(np.arange(math.floor(low) - 0.5, high + step, step), low, high)
            )
        return np.linspace(low, high, BARS + 1)

    @property
    def cells(self) -> Floats:
        """Return the edges of the cells."""
        whole = self.discrete or self.side.n_nodes == 1
        return self.edges if whole else np.asarray(self.side.nodes, dtype=float)

    def place(self, rows: Floats) -> Floats:
        """Return the positions of rows on the axis, NaN for rows not on it. Levels are given by their codes."""
        if not self.discrete:
            return rows
        keys = (self.home if self.side.strips is None else self.at).astype(float)
        found = np.clip(np.searchsorted(keys, rows), 0, len(keys) - 1)
        return np.where(keys[found] == rows, found, np.nan)


def heatmap_axis(side: PairAxis, feature: Feature, *, step: bool, most: int) -> HeatmapAxis:
    """Return one side of the heat map; of more than `most` nominal levels, those with most rows."""
    name, unit = feature.title, feature.unit
    if isinstance(side, LevelPairAxis):
        shown = np.arange(len(side.levels))
        if len(shown) > most and feature.kind != "ordinal":
            shown = np.sort(np.argsort(-side.levels.weight, kind="stable")[:most])
        names = tuple(clean(side.levels.labels[k]) for k in shown)
        return _bands(side, feature, names, side.levels.array()[shown], shown)
    nodes = np.asarray(side.nodes, dtype=float)
    if side.strips is not None:
        values = np.array(side.strips)
        return _bands(side, feature, tuple(position_texts(values)), values, np.arange(2))
    if len(nodes) == 1:
        value = float(nodes[0])
        low, high = padded(value, value, 0.0)
        axis = PlotAxis(name, unit, low, high, 0.0, (value,), time=feature.time)
        own = 0 if isinstance(side, BinPairAxis) else -1
        return HeatmapAxis(side, axis, np.array([low, high]), nodes, np.array([own]))
    axis = PlotAxis(name, unit, float(nodes[0]), float(nodes[-1]), 0.0, time=feature.time)
    edges = nodes if step else np.linspace(nodes[0], nodes[-1], FINE + 1, dtype=np.float64)
    at = (edges[:-1] + edges[1:]) / 2
    home = side.bins.locate(at) if isinstance(side, BinPairAxis) else np.full(len(at), -1)
    return HeatmapAxis(side, axis, edges, at, home)


def _bands(
    side: PairAxis, feature: Feature, names: tuple[str, ...], at: Values, home: Ints
) -> HeatmapAxis:
    """Return a side with a band per level or value."""
    n = len(names)
    ticks = tuple(float(k) for k in range(n))
    axis = PlotAxis(feature.title, feature.unit, -0.5, n - 0.5, 0.0, ticks, names)
    return HeatmapAxis(side, axis, np.arange(n + 1, dtype=np.float64) - 0.5, at, home)


# --- cells and rows ------------------------------------------------------------------------------


def _counts(surface: Surface, order: tuple[int, int]) -> Ints | None:
    """Return the number of rows in each cell, (h of y, h of x); None if it is unknown."""
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


def _contains_zero(shown: _Map, heat: Heat, level: float) -> list[Mark]:
    """Return rectangles in which the confidence interval of an interaction effect contains zero."""
    surface = shown.surface
    if surface.includes_main_effects:
        raise UnsupportedError(
            f"plot(confidence_level) of a {surface.spec.method}'s surface",
            "values that include main effects, for which zero has no special meaning",
            "an interaction effect alone, as ALE and DALE return it",
            "Omit confidence_level=",
        )
    ends = surface.interval(level)
    low, high = (shown.evaluated(replace(surface, value=end)) for end in ends)
    holds = np.isfinite(heat.value) & ~((low > 0) | (high < 0))
    change = np.diff(np.pad(holds.astype(int), ((0, 0), (1, 1))), axis=1)
    (i, start), (_, stop) = np.nonzero(change > 0), np.nonzero(change < 0)
    if len(i) == 0:
        return []
    sides = heat.x[start], heat.x[stop], heat.y[i], heat.y[i + 1]
    return [Rectangles(*sides, "unclear", "not clearly different from 0")]


def _between(x: HeatmapAxis, y: HeatmapAxis) -> list[Mark]:
    """Return lines between the bands of levels or single values."""
    found: list[Mark] = []
    for rim in (x, y):
        at = rim.edges[1:-1]
        if rim.discrete and len(at):
            ends = np.full(len(at), -np.inf), at, np.full(len(at), np.inf), at
            a, b, c, d = ends if rim is y else (ends[1], ends[0], ends[3], ends[2])
            found.append(Segments(a, b, c, d, "between"))
    return found


def _rows(shown: _Map, *, dots: bool, density: bool) -> list[Mark]:
    """Return the rows as dots, and the marginal histograms."""
    rows, rims = shown.surface.rows, shown.rims
    if rows is None or len(rows) == 0:
        return []
    found: list[Mark] = []
    at, weight = _located(rows, shown)
    n = len(at)
    if dots and n:
        rng = np.random.default_rng(SEED)
        some = at.copy() if n <= DOTS else at[np.sort(rng.choice(n, DOTS, replace=False))]
        for k, rim in enumerate(rims):
            if rim.discrete:
                some[:, k] += rng.uniform(*JITTER, len(some))
        kept = "rows" if rows.exact else "sampled rows"
        label = kept if n <= DOTS else f"{DOTS:,} of {n:,} {kept}"
        found.append(Points(some[:, 0], some[:, 1], "row", label))
    if density:
        for k, side in enumerate(("top", "right")):
            edges = rims[k].bars(at[:, k])
            bars = np.histogram(at[:, k], edges, weights=weight)[0].astype(float)
            found.append(Margin(side, edges, bars, WHERE))
    return found


def _located(rows: PairRows, shown: _Map) -> tuple[Floats, Floats]:
    """Return the positions of the rows inside both axes, (r, 2), and their weights."""
    given, rims = (rows.x0, rows.x1), shown.rims
    at = np.column_stack([rim.place(given[i]) for i, rim in zip(shown.order, rims, strict=True)])
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    inside = np.isfinite(at).all(axis=1) & (weight > 0)
    for k, rim in enumerate(rims):
        inside &= (at[:, k] >= rim.edges[0]) & (at[:, k] <= rim.edges[-1])
    return at[inside], weight[inside]


# --- colours -------------------------------------------------------------------------------------


def _scale(surface: Surface, value: Floats) -> tuple[PlotAxis, bool]:
    """Return the axis of the colour scale, and whether it diverges from zero."""
    about, low, high = surface.about, *extent([value])
    joint = not surface.includes_main_effects
    centred = joint or surface.spec.center is not None or surface.cells is not None
    before = "interaction effect on " if joint else "effect on " if centred else ""
    name = f"{before}{about.quantity}"
    # Values at corners far from all rows would dominate the colour scale.
    near = extent([_near_rows(surface, value)])
    if not joint:
        if not math.isnan(near[0]):
            low, high = max(low, near[0]), min(high, near[1])
        least, most = padded(low, high, 0.0)
        return PlotAxis(name, about.unit, least, most, 0.0), False
    size = 0.0 if math.isnan(low) else max(abs(low), abs(high))
    size = size if math.isnan(near[0]) else min(size, max(abs(near[0]), abs(near[1])))
    if is_rounding_only(surface):  # rounding errors get no colours
        size = max(float(np.nanmax(np.abs(m), initial=0.0)) for m in surface.main or ())
    return PlotAxis(name, about.unit, -(size or 1.0), size or 1.0, 0.0), True


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
    return float(np.nanmax(np.abs(near), initial=0.0)) < ROUNDING_NOISE * size


def colour_scale(scale: PlotAxis, levels: Sequence[float], *, diverging: bool) -> Panel:
    """Return the panel that explains the colours, with the contours."""
    # The first and the last colour stand for half as many values as the others.
    middle = (np.arange(1, HEAT_SHADES) - 0.5) / (HEAT_SHADES - 1)
    share, centre = np.array([0.0, *middle, 1.0]), np.linspace(0.0, 1.0, HEAT_SHADES)
    low, high = scale.limits
    edges, value = (low * (1 - s) + high * s for s in (share, centre))
    strip = Heat(edges, np.array([0.0, 1.0]), value[None], scale.limits, diverging)
    lines = (vertical_line(v, _style(v)) for v in levels)
    up = PlotAxis("", None, 0.0, 1.0, 0.0, hidden=True)
    return Panel(scale, up, (strip, *lines), grid="", kind="scale")


# --- contours, numbers and signs -----------------------------------------------------------------


def round_levels(low: float, high: float, wanted: int) -> tuple[float, ...]:
    """Return about `wanted` round values strictly between `low` and `high`."""
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


def isolines(x: Floats, y: Floats, value: Floats, level: float) -> list[Floats]:
    """Return the contour lines of a surface at one value."""
    if min(value.shape) < 2:
        return []
    from contourpy import LineType, contour_generator

    # Divided by four, so that neither differences of huge numbers nor the sum of four corners overflow.
    found = contour_generator(x, y, value / 4, corner_mask=False, line_type=LineType.Separate)
    return cast("list[Floats]", found.lines(level / 4))


def crossings(x: Floats, value: Floats, level: float) -> list[Floats]:
    """Return a line across each band wherever it takes a value, from left to right in each band."""
    above, known = value >= level, np.isfinite(value)
    changes = known[:, :-1] & known[:, 1:] & (above[:, :-1] != above[:, 1:])
    found: list[Floats] = []
    for band, i in np.argwhere(changes).tolist():
        a, b = value[band, i] / 2, value[band, i + 1] / 2  # halved against overflow
        at = x[i] + (level / 2 - a) / (b - a) * (x[i + 1] - x[i])
        found.append(np.array([[at, band - 0.5], [at, band + 0.5]]))
    return found


def _levels(wanted: int | Sequence[float] | None, scale: PlotAxis) -> tuple[float, ...]:
    """Return the values of contours."""
    low, high = scale.limits
    if wanted is not None and not isinstance(wanted, (int, np.integer)):
        return tuple(sorted(float(v) for v in wanted if low < v < high))
    return round_levels(low, high, 7 if wanted is None else int(wanted))


def _lines(
    x: HeatmapAxis, y: HeatmapAxis, value: Floats, levels: tuple[float, ...]
) -> dict[float, list[Floats]]:
    """Return the contour lines of each value that has some."""
    if y.discrete:
        found = {v: crossings(x.centres, value, v) for v in levels}
    else:
        found = {v: isolines(x.centres, y.centres, value, v) for v in levels}
    return {v: lines for v, lines in found.items() if lines}


def _style(level: float) -> str:
    return "contour-zero" if level == 0 else "contour-negative" if level < 0 else "contour"


def _contours(lines: Mapping[float, list[Floats]], scale: PlotAxis, *, numbers: bool) -> list[Mark]:
    """Return the contours; those below zero are dashed."""
    levels = tuple(lines)
    texts = scale.scale.texts(levels) if levels else []
    first = next((v for v in levels if v > 0), 0.0)
    labels = [
        "equal values below 0" if v < 0 else "equal values" if v > 0 or first == 0 else ""
        for v in levels
    ]
    return [
        Contour(tuple(lines[v]), text if numbers else "", _style(v), label)
        for v, text, label in zip(levels, texts, labels, strict=True)
    ]


def _numbers(
    lines: Mapping[float, list[Floats]], scale: PlotAxis, span: tuple[float, float], *, aside: bool
) -> list[Text]:
    """Return the numbers of contours across bands, from left to right; above the dots where there are some."""
    levels = tuple(lines)
    texts = scale.scale.texts(levels) if levels else []
    wanted = [
        (line[0, 1], line[0, 0], text)
        for level, text in zip(levels, texts, strict=True)
        for line in lines[level]
    ]
    found: list[Text] = []
    apart, last = APART * (span[1] - span[0]), {}
    for low, x, text in sorted(wanted):
        roomy = min(x - span[0], span[1] - x) > 0.4 * apart
        if roomy and x - last.get(low, -np.inf) > apart:
            last[low] = x
            room = (-np.inf, np.inf, low, low + 1)
            found.append(Text(x, low + (0.75 if aside else 0.5), (text,), room=room))
    return found


def _signs(heat: Heat, x: HeatmapAxis, y: HeatmapAxis) -> list[Text]:
    """Return plus and minus signs at the maximum and minimum of an interaction effect."""
    known = np.isfinite(heat.value)
    if not heat.diverging or not known.any():
        return []
    found: list[Text] = []
    for sign, text in ((1, "+"), (-1, "\N{MINUS SIGN}")):
        signed = np.where(known, sign * heat.value, -np.inf)
        i, j = np.unravel_index(int(np.argmax(signed)), signed.shape)
        if signed[i, j] > 0.02 * heat.limits[1]:
            at, up = float(x.centres[j]), float(y.centres[i])
            share = float(y.axis.share(up))
            side = 1 if share < 0.06 else -1 if share > 0.94 else 0
            found.append(Text(at, up, (text,), "sign", up=side, slide=True))
    return found


def _tiles(heat: Heat, scale: PlotAxis, shown: _Map) -> list[Text]:
    """Return the texts in patches that are large enough for them."""
    x, y, count = shown.x, shown.y, shown.count
    if len(x.at) > 14 or len(y.at) > 20:
        return []
    wide, high = (np.diff(e) / (e[-1] - e[0]) for e in (x.edges, y.edges))
    rows: list[list[str]] = []
    if x.discrete and y.discrete and count is not None:
        rows = [[f"n={n:,}" for n in line] for line in count[np.ix_(y.home, x.home)].tolist()]
    found: list[Text] = []
    for i, j in np.argwhere(np.isfinite(heat.value)):
        if wide[j] < 0.065 or high[i] < 0.04:
            continue
        text = value_text(float(heat.value[i, j]), scale)
        texts = (f"{text}\n{rows[i][j]}", f"{text}  {rows[i][j]}", text) if rows else (text,)
        a, b, c, d = (float(v) for v in (*x.edges[j : j + 2], *y.edges[i : i + 2]))
        at = float(x.centres[j]), float(y.centres[i])
        found.append(Text(*at, texts, "value", room=(a, b, c, d)))
    return found


def value_text(value: float, scale: PlotAxis) -> str:
    """Return a value as text with two or three digits of the range of the colour scale."""
    power = 10.0**scale.scale.exponent
    span = float(np.diff(scale.limits)[0]) / power
    decimals = max(0, 1 - math.floor(math.log10(span / 2)))
    text = f"{round((value - scale.scale.offset) / power, decimals) + 0.0:.{decimals}f}"
    return text.replace("-", "\N{MINUS SIGN}")


# --- words ---------------------------------------------------------------------------------------


def _notes(shown: _Map, *, filled: bool) -> tuple[str, ...]:
    """Return notes on rows, cells, the size of the interaction, and what is omitted."""
    surface, empty = shown.surface, shown.empty
    known = surface.provenance
    rows = known.get("rows", 0 if surface.rows is None else len(surface.rows))
    outside = known.get("rows_outside", 0)
    missing = rows - known.get("rows_in_cells", rows - outside) - outside
    notes = [counted(int(rows - outside - missing), "row"), grid_text(surface)]
    if outside:
        notes.append(f"{counted(int(outside), 'row')} outside the {_grid_noun(surface)}")
    if missing:
        notes.append(f"{counted(int(missing), 'row')} with a missing value")
    if empty.any():
        nearest = filled and known.get("empty_cells") == "nearest"
        said = "cells without rows" + (", filled from the nearest cell" if nearest else "")
        notes.append(f"{int(empty.sum())} of {empty.size} {said}")
    strength = surface.interaction_strength()
    if np.isfinite(strength):
        size = 0.0 if is_rounding_only(surface) else strength
        what = "standard deviation" if surface.includes_main_effects else "interaction strength"
        notes.append(f"{what} {number(size)} {surface.about.unit or ''}".strip())
    if surface.includes_main_effects:
        notes.append("with main effects")
    else:
        notes.append("interaction only")
    for rim in shown.rims:
        some, all_ = len(rim.at), rim.side.n_nodes
        if isinstance(rim.side, LevelPairAxis) and some < all_:
            notes.append(
                f"{some} of {all_:,} levels of {shorten(rim.axis.name, 24)}, with most rows"
            )
    return tuple(notes)


def _grid_noun(surface: Surface) -> str:
    return "cells" if surface.cells is not None else "points"


def grid_text(surface: Surface) -> str:
    """Return the size of the grid of a surface: "12 × 12 cells", "23 bins × 2 levels"."""
    parts = [_parts(s) for s in surface.sides]
    if any(map(is_discrete, surface.sides)):
        return TIMES.join(f"{n} {name}" for n, name in parts)
    return f"{parts[0][0]}{TIMES}{parts[1][0]} {_grid_noun(surface)}"


def _parts(side: PairAxis) -> tuple[int, str]:
    if side.strips is not None:
        return 2, "values"
    binned = isinstance(side, BinPairAxis)
    n = side.n_homes if binned else side.n_nodes
    noun = "bin" if binned else "level" if isinstance(side, LevelPairAxis) else "point"
    return n, noun if n == 1 else f"{noun}s"


def _alt_text(
    heat: Heat, scale: PlotAxis, x: HeatmapAxis, y: HeatmapAxis, notes: Sequence[str]
) -> str:
    """Return the alternative text."""
    across, up = (shorten(rim.axis.name, 60) for rim in (x, y))
    first = f"Heat map of the {scale.label}: {across} on the horizontal axis, {up} on the vertical axis."
    if not np.isfinite(heat.value).any():
        return f"{first} It has no values."
    parts = [first]
    for what, find in (("Maximum", np.nanargmax), ("Minimum", np.nanargmin)):
        i, j = np.unravel_index(int(find(heat.value)), heat.value.shape)
        at = _place(x.axis, float(x.centres[j])), _place(y.axis, float(y.centres[i]))
        value = number(float(heat.value[i, j]))
        parts.append(f"{what} {value} at {across} = {at[0]}, {up} = {at[1]}.")
    return f"{' '.join(parts)} {'; '.join(notes)}."


def _place(axis: PlotAxis, value: float) -> str:
    """Return a position on an axis as text, with as many digits as the range of the axis needs."""
    if axis.labels:
        return shorten(axis.labels[round(value)], 60)
    span = axis.limits[1] - axis.limits[0]
    if axis.time is not None:
        return axis.time.text(value, span / 100)
    decimals = max(0, 2 - math.floor(math.log10(span)))
    return (
        number(value, 6)
        if decimals > 9
        else f"{value:,.{decimals}f}".replace("-", "\N{MINUS SIGN}")
    )


# --- tooltips ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _CellIntervals:
    """One side of the tooltips."""

    edges: Floats
    names: list[str]
    at: Values
    homes: list[Ints]


def _tooltips(shown: _Map) -> tuple[Tooltip, ...]:
    """Return the tooltips of cells, row by row from below: the value in the centre, or at a point of a grid."""
    surface, rows = shown.surface, shown.count
    across, up = _merged_intervals(*shown.rims)
    value = shown.at(surface, across.at, up.at, (False, False))
    unit = f" {clean(surface.about.unit)}" if surface.about.unit else ""
    what = "effect" if surface.includes_main_effects else "interaction effect"
    found: list[Tooltip] = []
    for i, j in np.ndindex(value.shape):
        v = float(value[i, j])
        lines = [across.names[j], up.names[i]]
        lines.append(f"{what} {number(v)}{unit}" if np.isfinite(v) else "no value")
        if rows is not None and across.homes and up.homes:
            n = int(rows[np.ix_(up.homes[i], across.homes[j])].sum())
            if n == 0 and surface.cells is not None:
                # The value would come from other cells: it is neither drawn nor shown.
                lines[2:] = ["no rows"]
            else:
                lines.append(counted(n, "row"))
        a, b, c, d = (float(e) for e in (*across.edges[j : j + 2], *up.edges[i : i + 2]))
        found.append(Tooltip(a, b, "\n".join(lines), c, d))
    return tuple(found)


def _merged_intervals(x: HeatmapAxis, y: HeatmapAxis) -> tuple[_CellIntervals, _CellIntervals]:
    """Return the intervals of both sides, merging neighbouring bins until there are at most `TIPS` cells."""
    folds = [1, 1]
    while True:
        across, up = (_side_intervals(rim, fold) for rim, fold in zip((x, y), folds, strict=True))
        # Levels and single values are never merged. Cells are wider than high, so the vertical side is merged first.
        most = [1 if y.discrete else len(up.at), 1 if x.discrete else len(across.at)]
        if len(across.at) * len(up.at) <= TIPS or max(most) == 1:
            return across, up
        folds[1 - most.index(max(most))] += 1


def _side_intervals(rim: HeatmapAxis, fold: int) -> _CellIntervals:
    """Return the intervals of one side, with `fold` neighbouring bins each."""
    side, name = rim.side, shorten(rim.axis.name, TIP_LETTERS)
    unit = f" {clean(rim.axis.unit)}" if rim.axis.unit else ""
    if rim.discrete:
        ending = "" if side.strips is None else unit
        names = [f"{name}: {shorten(text, TIP_LETTERS)}{ending}" for text in rim.axis.labels]
        return _CellIntervals(rim.edges, names, rim.at, [np.array([k]) for k in rim.home])
    nodes = np.asarray(side.nodes, dtype=float)
    time = rim.axis.time
    texts = position_texts(rounded(nodes)) if time is None else time.texts(nodes)
    if len(nodes) == 1:
        homes = [np.array([0])] if isinstance(side, BinPairAxis) else []
        return _CellIntervals(rim.edges, [f"{name}: {texts[0]}{unit}"], nodes, homes)
    if not isinstance(side, BinPairAxis):
        kept = np.arange(0, len(nodes), fold)
        at = nodes[kept]
        between = at[:-1] / 2 + at[1:] / 2
        edges = np.concatenate([nodes[:1], between, nodes[-1:]])
        return _CellIntervals(edges, [f"{name}: {texts[k]}{unit}" for k in kept], at, [])
    cut = np.unique([*range(0, len(nodes), fold), len(nodes) - 1])
    pairs = list(itertools.pairwise(cut.tolist()))
    return _CellIntervals(
        nodes[cut],
        [f"{name}: {texts[a]} – {texts[b]}{unit}" for a, b in pairs],
        np.array([nodes[a] / 2 + nodes[b] / 2 for a, b in pairs]),
        [np.arange(a, b) for a, b in pairs],
    )
