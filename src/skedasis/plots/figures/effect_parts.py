"""Parts that figures of effects share: axes, averages, intervals, hatches, rugs, and the panel of local effects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from skedasis._numbers import counted, number
from skedasis._types import Bools, Floats, Ints
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.marks import (
    Area,
    Heat,
    Line,
    Mark,
    Panel,
    Points,
    Polygons,
    Rectangles,
    Rug,
    Segments,
    Text,
    horizontal_line,
)
from skedasis.plots.scales import LEAST, OffAxis, PlotAxis, extent, shorten
from skedasis.plots.theme import OBSERVED
from skedasis.results.axis import LevelAxis
from skedasis.results.build.linear_form import curve_polygon
from skedasis.results.effect import (
    TRUSTED_ROWS,
    AnyMPlot,
    BinnedEffect,
    BinStats,
    Effect,
    PartialDependence,
    Rows,
    Spread,
)
from skedasis.results.effect_words import depends_on_text
from skedasis.results.keywords import BandKind
from skedasis.results.main_stretch import beyond, beyond_text, main_part
from skedasis.stats.student import t_interval

MAIN, LOWER, COUNTS = 147.0, 107.0, 29.0
"""Heights of the main panel, of the panels below it, and of numbers of rows."""

LONG, LONGEST = 60, 120
"""Most characters of a name in a sentence or a legend, and on an axis, which the layout breaks into lines."""

OWN_TICKS = 7
"""A grid of at most this many points uses them as ticks."""

# --- violins and rugs ----------------------------------------------------------------------------

LEVELS = 96
"""Number of histogram bins of a violin."""

WHERE = "where the data are"
"""Legend entry of a rug."""

TICKS = 400
"""Most ticks of a rug; more of them would merge into a black bar."""

SEEN = 0.01
"""Fraction of local effects at each end that may lie outside the panel, where they would flatten all others."""


def violins(
    y: Floats, cell: Ints, weight: Floats, left: Floats, right: Floats, enough: Bools
) -> dict[int, Floats]:
    """Return the outline of the density of local effects in each bin."""
    from scipy.ndimage import gaussian_filter1d

    k = len(left)
    low, high = np.full(k, np.inf), np.full(k, -np.inf)
    np.minimum.at(low, cell, y)
    np.maximum.at(high, cell, y)
    span = np.where(enough, high - low, 0.0)
    drawn = span > np.maximum(1e-9 * np.maximum(np.abs(low), np.abs(high)), LEAST)
    row = drawn[cell]
    y, cell, weight = y[row], cell[row], weight[row]
    level = np.minimum((LEVELS * ((y - low[cell]) / span[cell])).astype(int), LEVELS - 1)
    mass = np.bincount(cell * LEVELS + level, weight, k * LEVELS).reshape(k, LEVELS)[drawn]
    mass = mass / mass.sum(axis=1, keepdims=True)
    size = np.bincount(cell, minlength=k)[drawn]
    smooth = [
        gaussian_filter1d(share, width)
        for share, width in zip(mass, _bandwidths(mass, size).tolist(), strict=True)
    ]
    # Also limited by a fraction of the whole axis, so that the violin of a single bin does not fill the panel.
    reach = np.minimum(0.42 * (right - left), 0.07 * (right[-1] - left[0]))
    found: dict[int, Floats] = {}
    for share, k_ in zip(smooth, np.flatnonzero(drawn).tolist(), strict=True):
        middles = low[k_] + span[k_] / LEVELS * (np.arange(LEVELS) + 0.5)
        at = np.concatenate([low[k_ : k_ + 1], middles, high[k_ : k_ + 1]])
        density = np.concatenate([share[:1], share, share[-1:]])
        half, middle = reach[k_] * density / density.max(), (left[k_] + right[k_]) / 2
        sides = np.concatenate([middle + half, (middle - half)[::-1]])
        found[k_] = np.column_stack([sides, np.concatenate([at, at[::-1]])])
    return found


def _bandwidths(mass: Floats, size: Ints) -> Floats:
    """Return the bandwidth of the density of each violin in histogram steps."""
    at = np.arange(LEVELS)
    spread2 = np.zeros(len(mass))
    upper = at > (mass @ at)[:, None]
    for half in (upper, ~upper):
        part = mass * half
        weight = part.sum(axis=1)
        mean = part @ at / np.where(weight > 0, weight, 1.0)
        spread2 += np.sum(part * (at - mean[:, None]) ** 2, axis=1)
    # The standard deviation of a half-normal distribution is sqrt(1 - 2/π) of the full one.
    spread = np.sqrt(spread2) / np.sqrt(1 - 2 / np.pi)
    return np.maximum(0.9 * spread * size**-0.2, 0.7)


def visible(y: Floats, low: float, high: float) -> tuple[float, float]:
    """Return the vertical range of the local effects, which contains at least `low` to `high`."""
    if len(y) == 0:
        return low, high
    least, lower, upper, most = np.quantile(y, [0.0, SEEN, 1 - SEEN, 1.0])
    low, high = float(np.fmin(low, lower)), float(np.fmax(high, upper))
    if max(high, most) - min(low, least) <= 1.6 * (high - low):
        low, high = min(low, float(least)), max(high, float(most))
    return low, high


def rug(x: Floats, weight: Floats | None, ticks: int = TICKS) -> Rug:
    """Return a rug of the rows: all, or of many their quantiles."""
    there = np.isfinite(x) if weight is None else np.isfinite(x) & (weight > 0)
    x = x[there]
    if len(x) > ticks:
        weight = None if weight is None else weight[there]
        at = np.linspace(0.0, 1.0, ticks)
        x = np.quantile(x, at, weights=weight, method="inverted_cdf")
    return Rug(np.sort(x), WHERE)


# --- axes and notes ------------------------------------------------------------------------------

MISSING = "missing"
"""Tick label at the position of missing values."""


class Band(NamedTuple):
    """A standard deviation around an average, or its confidence interval, at points of the axis."""

    x: Floats
    lower: Floats
    upper: Floats
    label: str
    error: Floats | None = None

    def at(self, x: Floats) -> Band:
        """Return the band at some of its points."""
        k = np.searchsorted(self.x, x)
        error = None if self.error is None else self.error[k]
        return Band(x, self.lower[k], self.upper[k], self.label, error)


class Beside(NamedTuple):
    """An effect that is drawn beside the axis, with its confidence interval: of missing values, or beyond a gap."""

    y: float
    lower: float
    upper: float
    label: str
    lines: tuple[str, ...]
    visible: bool = True


def horizontal(effect: Effect) -> PlotAxis:
    """Return the axis of a numeric feature; if it has few grid points or values, these are the ticks."""
    off_axis = tuple(
        OffAxis(b.text, b.low, b.high, -1 if b.gap.side == "left" else 1) for b in beyond(effect)
    )
    effect = main_part(effect).effect
    x, feature = effect.points, effect.about.feature
    if isinstance(effect, BinnedEffect):
        # The points of an M-plot are inside its bins, whose outer edges are the range of the data.
        low, high = extent([x, effect.bins.low, effect.bins.high])
        own = len(effect.bins) == 0 or effect.spec.local_effects == "value_steps"
    else:
        (low, high), own = extent([x]), True
    if effect.observed is not None:  # the grid of a PDP may leave out the outermost rows
        low, high = extent([np.array([low, high]), _within(effect, effect.observed.points)])
    few = len(x) == 1 or (own and len(x) <= OWN_TICKS)
    if few and len(x) > 1:
        few = float(np.diff(x).min()) > (high - low) / 9
    ticks = tuple(float(v) for v in x) if few and own else ()
    missing_label = "" if effect.missing_point is None else MISSING
    return PlotAxis(
        shorten(feature.title, LONGEST),
        feature.unit,
        low,
        high,
        0.03,
        ticks,
        missing_label=missing_label,
        off_axis=off_axis,
        time=effect.time,
    )


def _within(effect: Effect, at: Floats) -> Floats:
    """Return the positions that are not beyond a gap."""
    far = [(b.low, b.high) for b in beyond(effect)]
    return at[[not any(low <= v <= high for low, high in far) for v in at.tolist()]]


def vertical(
    name: str,
    unit: str | None,
    spreads: Sequence[Band],
    intervals: Sequence[Band],
    curves: Sequence[Floats],
    beside: Sequence[Beside],
) -> PlotAxis:
    """Return the vertical axis of curves, bands and intervals."""
    spread = [end for band in spreads for end in (band.lower, band.upper)]
    reached = [end for b in intervals for end in (b.lower, b.upper)] or list(curves)
    low, high = extent([*spread, *curves])
    room = (high - low) / 2
    for point in beside:
        if point.visible or low - room <= point.y <= high + room:
            low, high = extent([np.array([low, high, point.y])])
            reached.append(np.array([point.lower, point.upper]))
    if high <= low:
        reached, low, high = [], *extent([*reached, *curves])
    return PlotAxis(name, unit, *readable_range(extent(reached), low, high), 0.06)


def readable_range(
    may: tuple[float, float], low: float, high: float, share: float = 0.5
) -> tuple[float, float]:
    """Return a range that intervals with the ends `may` extend by at most a share of its span at each end.

    With two rows an interval may be twelve times the standard error: intervals do not determine a scale alone.
    """
    least, most = may
    room = share * (high - low) if high > low else np.inf
    return (
        float(np.fmin(low, max(least, low - room))),
        float(np.fmax(high, min(most, high + room))),
    )


def off_scale(axis: PlotAxis, intervals: Iterable[tuple[Floats, Floats]]) -> tuple[str, ...]:
    """Return a note if intervals, given by their ends, extend beyond an axis."""
    low, high = axis.range
    beyond = any(np.any((lower < low) | (upper > high)) for lower, upper in intervals)
    return ("some intervals are off the scale",) if beyond else ()


def length_of(effect: Effect) -> int | None:
    """Return the number of rows of X; None with weights, because rows of weight zero are not counted."""
    weighted = effect.curves is not None and effect.curves.weight is not None
    return None if weighted else effect.provenance.get("rows")


def remarks(effect: Effect) -> tuple[str, ...]:
    """Return notes on what an effect depends on, and those of `missing`."""
    found = effect.depends_on
    if found is None:
        return missing(effect)
    how = depends_on_text(found, shorten(found.title or found.name, LONG))
    return (how, *missing(effect))


def missing(effect: Effect) -> tuple[str, ...]:
    """Return notes on rows with a missing value, and on those beyond gaps."""
    if effect.about.feature.kind == "nominal":
        return ()
    notes = (f"{counted(effect.missing, 'row')} with a missing value",) if effect.missing else ()
    said = beyond_text(effect)
    return (*notes, said) if said else notes


def stepped(effect: Effect) -> bool:
    """Return whether local effects are finite differences across bins, because the model is a step function."""
    return effect.spec.local_effects == "steps"


def local_effects(rows: Rows | None) -> Floats | None:
    """Return the local effects of the kept rows of a numeric feature, (n,); None if they are unknown."""
    local = None if rows is None else rows.local
    return local if local is not None and local.ndim == 1 else None


# --- the band of the spread ----------------------------------------------------------------------

DEVIATION = 0.005
"""Most distance of the drawn band from the spread, as a fraction of the largest spread."""


def band_label(effect: Effect, band: BandKind) -> str:
    """Return the legend entry of the band of an effect."""
    levels = isinstance(effect.axis, LevelAxis)
    if band == "accumulated":
        if effect.about.feature.kind == "nominal":
            return "± SD between rows of the step to the neighbouring level"
        equation = "UALE Eq. 9" if effect.spec.accumulate == "std" else "RHALE Eq. 16"
        return f"± SD accumulated from the left ({equation})"
    if isinstance(effect, AnyMPlot):
        return MEANS_OF["level" if levels else "bin"][1]
    if effect.spec.derivative:
        return "± SD of the slopes"
    return f"± spread between {'curves' if isinstance(effect, PartialDependence) else 'rows'}"


def spread_bands(
    effect: Effect, options: EffectPlotOptions, at: Floats, value: Floats
) -> tuple[Band, ...]:
    """Return the band around a curve that the options ask for, at the curve's points and at more; none if unknown."""
    spread, label = effect.spread, band_label(effect, options.band)
    if options.band == "accumulated" and effect.accumulated_std is not None:
        std = np.interp(at, effect.axis.coordinates, effect.accumulated_std)
        return (Band(at, value - std, value + std, label),)
    if options.band != "spread" or spread is None or not np.any(spread.value > 0):
        return ()
    x = at if spread.levels else spread_vertices(spread, at)
    y, std = np.interp(x, at, value), spread.at(x)
    error = np.interp(x, spread.points, spread.std_error)
    return (Band(x, y - std, y + std, label, error),)


def spread_vertices(spread: Spread, at: Floats) -> Floats:
    """Return the points of a curve, the cells between them, and more points where the spread is visibly curved."""
    value = np.where(np.isfinite(spread.value), spread.value, 0.0)
    largest = float(value.max(initial=0.0)) or 1.0
    root, step = np.sqrt(value / largest), np.sqrt(2 * DEVIATION)
    parts = np.ceil(np.nan_to_num(np.abs(np.diff(root))) / step)
    found = [at, spread.points]
    for j in np.flatnonzero(parts > 1).tolist():
        between = np.linspace(root[j], root[j + 1], int(parts[j]) + 1)[1:-1] ** 4
        start, end = root[j] ** 4, root[j + 1] ** 4
        share = (between - start) / (end - start)
        found.append(spread.points[j] + share * (spread.points[j + 1] - spread.points[j]))
    x = np.unique(np.concatenate(found))
    return x[(x >= at[0]) & (x <= at[-1])]


def no_spread(effect: Effect, options: EffectPlotOptions) -> tuple[str, ...]:
    """Return a note that there is no band of the spread."""
    if options.band != "spread" or effect.spread is not None:
        return ()
    return ("spread not computed",)


# --- the average, its interval, effects beside the axis ------------------------------------------


def interval(effect: Effect, options: EffectPlotOptions) -> Band:
    """Return the confidence interval of the average, at the vertices of its curve on the main stretch."""
    ends = effect.interval(options.confidence_level, simultaneous=options.simultaneous)
    what = "simultaneous band" if options.simultaneous else "interval"
    part, take = main_part(effect)
    (at, lower), (_, upper) = (curve_polygon(part.bins, part.points, take(end)) for end in ends)
    return Band(at, lower, upper, f"{100 * options.confidence_level:g} % {what} of the average")


def effects_beside(effect: Effect, options: EffectPlotOptions) -> tuple[Beside, ...]:
    """Return the effects beside the axis: of rows beyond gaps, then of missing values."""
    name, found = shorten(effect.feature_title, LONG), list[Beside]()
    some = beyond(effect)
    ends = (np.zeros(0), np.zeros(0))
    if some and not effect.spec.mean_alone:
        ends = effect.interval(options.confidence_level, simultaneous=options.simultaneous)
    for b in some:
        lower, upper = np.nan, np.nan
        if len(ends[0]) and len(b.at):
            lower, upper = (float(np.interp(b.at, effect.points, end).mean()) for end in ends)
        rows = "" if b.rows is None else f" (n={b.rows:,})"
        rows += "" if len(b.at) else ", no mean of their own"
        lines = (f"{name} = {b.text}, beyond a gap",)
        lines += () if b.rows is None else (counted(b.rows, "row"),)
        found.append(Beside(b.value, lower, upper, f"{b.text}{rows}", lines, visible=False))
    point = missing_effect(effect, options.confidence_level)
    return (*found, point) if point is not None else tuple(found)


def missing_effect(effect: Effect, confidence_level: float) -> Beside | None:
    """Return the effect of missing values; its degrees of freedom follow from standard error and deviation."""
    point = effect.missing_point
    if point is None:
        return None
    size = (point.std / point.std_error) ** 2 if point.std_error > 0 else float(point.count)
    lower, upper = t_interval(
        np.array([point.value]), np.array([point.std_error]), np.array([size - 1]), confidence_level
    )
    label = f"missing values (n={point.count:,})"
    lines = (f"{shorten(effect.feature_title, LONG)}: missing", counted(point.count, "row"))
    return Beside(point.value, float(lower[0]), float(upper[0]), label, lines)


def area(band: Band, style: str) -> Mark:
    """Return a band as an area; at a single point, which has no area, as a bar."""
    if len(band.x) == 1:
        return Segments(band.x, band.lower, band.x, band.upper, f"{style}-bar", band.label)
    return Area(band.x, band.lower, band.upper, style, band.label)


def average(
    x: Floats,
    y: Floats,
    label: str,
    *,
    vertices: Ints | None = None,
    on_colors: bool = False,
    join: str = "line",
    mark: str = "vertex",
) -> Iterator[Mark]:
    """Yield the line of an average and its vertices."""
    style, before = ("mean", "mean-") if on_colors else ("average", "")
    if join and len(x) > 1:
        yield Line(x, y, f"{style}-thin" if join == "thin" else style, label)
    at = np.arange(len(x)) if vertices is None or len(x) == 1 else vertices
    if len(at):
        # Levels are too far apart for dots to form a line.
        few = len(at) <= (30 if join == "line" else 60)
        mark = "vertex" if on_colors else mark
        yield Points(x[at], y[at], f"{before}{mark if few else 'dot'}", label)


def marks_beside(x: PlotAxis, y: PlotAxis, found: Sequence[Beside]) -> Iterator[Mark]:
    """Yield effects at their positions beside the axis; one outside the panel as a triangle at its edge."""
    low, high = y.range
    for aside, point in zip(x.asides, found, strict=True):
        at, ends = np.array([aside.at]), np.array([[point.lower], [point.upper]])
        if low <= point.y <= high or np.isnan(point.y):
            yield Segments(at, ends[0], at, ends[1], "interval-bar")
            yield Points(at, np.array([point.y]), "missing", point.label)
            continue
        side, edge = ("above", y.most) if point.y > high else ("below", y.least)
        said = f"{point.label}: {number(point.y)}, {side} the panel"
        yield Points(at, np.array([edge]), f"beyond-{side}", said)


def backdrop(x: PlotAxis) -> Iterator[Mark]:
    """Yield the background of the positions beside the axis."""
    if x.asides:
        left, right = np.array([(aside.left, aside.right) for aside in x.asides]).T
        ends = np.full(len(left), np.inf)
        yield Rectangles(left, right, -ends, ends, "aside")


def effect_rug(effect: Effect) -> Rug | None:
    """Return the rug of the kept rows in the main stretch."""
    rows = main_part(effect).effect.rows
    if rows is None or len(rows) == 0:
        return None
    if rows not in _RUGS:
        _RUGS[rows] = rug(rows.x, rows.weight)
    return _RUGS[rows]


_RUGS: WeakKeyDictionary[Rows, Rug] = WeakKeyDictionary()
"""The rugs of rows that exist: several figures of a page have the same one, for which all rows are sorted."""


def average_of(panel: Panel) -> Line | Points:
    """Return the curve of a main panel: its line, or the points of nominal levels."""
    return next(
        m
        for m in panel.marks
        if isinstance(m, Line | Points)
        and m.style.split("-")[0] in ("average", "mean", "vertex", "dot")
    )


def legend_order(panels: Sequence[Panel]) -> tuple[str, ...]:
    """Return the legend entries of panels: average, labels, heterogeneity and interval first, hatches last."""
    ranks = {"average": 0, "mean": 0, "vertex": 0, "dot": 0, "observed": 1, "predicted": 2}
    ranks |= {"heterogeneity": 4, "interval": 5}
    ranks |= {"slope": 7, "whisker": 8, "violin": 9, "local": 9, "few": 10, "empty": 10}
    ranks |= {f"{name}{k}": 3 for name in ("observed", "predicted") for k in range(len(OBSERVED))}
    found: dict[str, int] = {}
    for mark in (m for p in panels for m in p.marks):
        if isinstance(mark, Heat) or not mark.label:
            continue
        rank = ranks.get(mark.style.split("-")[0], 6)
        found[mark.label] = min(rank, found.get(mark.label, rank))
    return tuple(sorted(found, key=lambda label: found[label]))


# --- bins: counts, hatches, local effects --------------------------------------------------------

FEW, EMPTY, GAP = f"fewer than {TRUSTED_ROWS} rows", "no data", "no values"
"""Legend entries of hatched intervals."""

Doubts: TypeAlias = tuple[Floats, Floats, Ints]
"""Left and right ends of adjacent intervals, and for each 0, 1 if it has few rows, or 2 if it has none."""

MEANS_OF = {
    what: (f"mean {where} {what}", f"± SD of the rows {where} {what}", "single rows")
    for what, where in (("bin", "in the"), ("level", "at the"))
}
"""Legend entries of the lower panel of an M-plot: means, whiskers and violins."""


def doubts(bins: BinStats) -> Doubts:
    """Return the bins with few or no rows."""
    return bins.low, bins.high, np.where(bins.empty, 2, np.where(bins.trusted, 0, 1))


def hatched_gaps(effect: Effect) -> tuple[Floats, Floats]:
    """Return the ends of the gaps in the axis of a figure: those that separate more than a few rows."""
    gaps = [gap for gap in effect.about.gaps if gap.separates and not gap.few_beyond]
    return np.array([gap.left for gap in gaps]), np.array([gap.right for gap in gaps])


def hatches(
    found: Doubts | None, y: PlotAxis, gaps_of: Effect | None = None
) -> tuple[list[Mark], tuple[Text, ...]]:
    """Return hatched gaps and intervals with few or no rows, and the texts in those without rows."""
    marks: list[Mark] = []
    texts: list[Text] = []
    gaps = (np.zeros(0), np.zeros(0)) if gaps_of is None else hatched_gaps(gaps_of)
    intervals = [(*gaps, "empty", GAP)]
    if found is not None:
        left, right, doubt = found
        for a, b in zip(*gaps, strict=True):
            doubt = np.where((left >= a) & (right <= b), 0, doubt)
        new = (np.diff(doubt, prepend=-1) != 0) | (left > np.append(np.inf, right[:-1]))
        first = np.flatnonzero(new)
        left, right = left[first], right[np.append(first[1:], len(right)) - 1]
        for code, style, label in ((1, "few", FEW), (2, "empty", EMPTY)):
            mine = doubt[first] == code
            intervals.append((left[mine], right[mine], style, label))
    low, high = y.range
    for left, right, style, label in intervals:
        if len(left) == 0:
            continue
        ends = np.full(len(left), np.inf)
        marks.append(Rectangles(left, right, -ends, ends, style, label))
        if style == "empty":
            texts += [
                Text(
                    (a + b) / 2,
                    low / 2 + high / 2,
                    (label,),
                    room=(a, b, -np.inf, np.inf),
                    upright=True,
                )
                for a, b in zip(left.tolist(), right.tolist(), strict=True)
            ]
    return marks, tuple(texts)


MOST_COUNTS = 100
"""Above more bins, numbers of rows would touch in a figure of any size."""


def counts_above(count: Ints, x: Floats) -> tuple[tuple[float, str], ...]:
    """Return the number of rows above each bin or level; the layout omits them where they would touch."""
    if len(count) > MOST_COUNTS:
        return ()
    return tuple((float(v), f"n={n:,}") for v, n in zip(x, count.tolist(), strict=True))


def counts_panel(left: Floats, right: Floats, count: Ints, x: PlotAxis) -> Panel:
    """Return the numbers of rows as bars, for more bins or levels than there is room for numbers."""
    height = count.astype(float)
    y = PlotAxis("rows", None, 0.0, float(height.max(initial=0.0)), 0.0)
    bars = Rectangles(left, right, np.zeros(len(height)), height, "count")
    return Panel(x, y, (*backdrop(x), bars), COUNTS, kind="counts")


def spread_panel(
    x: PlotAxis,
    y: tuple[str, str | None],
    labels: tuple[str, str, str],
    *,
    left: Floats,
    right: Floats,
    mean: Floats,
    std: Floats,
    trusted: Bools,
    local: tuple[Floats, Ints, Floats],
    doubtful: Doubts,
    gaps_of: Effect | None = None,
    zero: bool,
    rise: Floats | None = None,
) -> Panel:
    """Return the panel of local effects: means, standard deviations as whiskers, and violins."""
    lower, upper = mean - std, mean + std
    tilt = np.zeros(len(mean)) if rise is None else rise / 2
    # Standard deviation and slope of two rows are arbitrary: they do not determine the scale.
    sure = [end[trusted] for end in (lower, upper, mean - tilt, mean + tilt)]
    values, cell, weight = local
    low, high = visible(values, *extent([mean, *sure]))
    if zero:
        low, high = float(np.fmin(low, 0.0)), float(np.fmax(high, 0.0))
    up = PlotAxis(*y, low, high, 0.06)
    marks, texts = hatches(doubtful, up, gaps_of)
    marks = [*backdrop(x), *marks, *([horizontal_line(0.0)] if zero else [])]
    # Values that exceed the range by rounding alone count as inside.
    slack = 1e-9 * max(abs(low), abs(high))
    seen = (values >= low - slack) & (values <= high + slack)
    unseen = len(values) - int(seen.sum())
    marks += _bodies((values[seen], cell[seen], weight[seen]), left, right, labels[2])
    fine, middle = "-fine" if len(mean) > 20 else "", (left + right) / 2
    caps = 1.0 if fine else 2.7
    varied = labels[1] if np.any(std > 1e-9 * np.abs(mean).max(initial=0.0)) else ""
    marks += [
        Segments(middle, lower, middle, upper, f"whisker{fine}", varied, caps),
        Segments(left, mean - tilt, right, mean + tilt, f"slope{fine}", labels[0]),
    ]
    said = labels[2].partition(" of ")[0]
    notes = (f"{unseen:,} of {len(values):,} {said} are off the scale",) if unseen else ()
    wide = int(np.sum((lower < up.range[0]) | (upper > up.range[1])))
    if wide:
        notes += (f"{wide} of {len(mean):,} {labels[1].partition(' (')[0]} are off the scale",)
    return Panel(x, up, tuple(marks), LOWER, notes=notes, texts=texts, kind="detail")


def _bodies(
    local: tuple[Floats, Ints, Floats], left: Floats, right: Floats, label: str
) -> Iterator[Mark]:
    """Yield violins, and single local effects in bins with too few rows for a density."""
    y, cell, weight = local
    enough = np.bincount(cell, minlength=len(left)) >= TRUSTED_ROWS
    bodies = violins(y, cell, weight, left, right, enough)
    if bodies:
        yield Polygons(tuple(bodies.values()), "violin", label)
    few = ~enough[cell]
    if few.any():
        k = cell[few]
        middle = ((left + right) / 2)[k]
        reach = np.minimum(0.25 * (right - left), 0.02 * (right[-1] - left[0]))[k]
        # A legend entry shows the violin, and the line of a single effect only if there is none.
        said = "" if bodies else label
        yield Segments(middle - reach, y[few], middle + reach, y[few], "local", said)
