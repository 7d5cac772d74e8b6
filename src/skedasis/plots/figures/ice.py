"""From PDP and ICE to a figure specification: averages, individual curves, their colours, elevated regions."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skedasis._numbers import counted
from skedasis._types import Bools, Floats, Ints, Values
from skedasis.data.factorize import missing_mask
from skedasis.errors import DataError, UnsupportedError
from skedasis.plots.figures import effect_parts, effect_texts
from skedasis.plots.figures.effect_parts import length_of
from skedasis.plots.figures.options import SEED, EffectPlotOptions
from skedasis.plots.marks import (
    Area,
    CurveSet,
    Line,
    Mark,
    Panel,
    Points,
    Rectangles,
    Segments,
    Text,
)
from skedasis.plots.scales import PlotAxis, clean, extent, position_texts, shorten
from skedasis.plots.theme import SHADES
from skedasis.results.axis import LevelAxis, TimedAxis
from skedasis.results.checks.elevated_regions import (
    ElevatedRegion,
    SupportVerdict,
    elevated_regions,
)
from skedasis.results.effect import Curves, Effect

# --- colour encoding of curves -------------------------------------------------------------------

FEW = 8
"""Most groups; more could not be distinguished by line style and colour."""


@dataclass(frozen=True, eq=False)
class ColorEncoding:
    """Colour encoding of individual curves, one value per curve."""

    name: str
    value: Floats
    groups: tuple[str, ...] = ()

    def sets(self, curves: str) -> Iterator[tuple[str, str, Ints]]:
        """Yield style, legend entry and indices of each set of curves with the same colour, missing values first."""
        missing = np.flatnonzero(np.isnan(self.value))
        if len(missing):
            yield "group-missing", group_name(self, -1), missing
        if self.groups:
            for i in range(len(self.groups)):
                yield f"group{i}", group_name(self, i), np.flatnonzero(self.value == i)
            return
        ends = color_ends(self)
        low, high = position_texts(np.array(ends))
        label = f"{curves}, coloured by {shorten(self.name, 24)}: {low} to {high}"
        known = np.isfinite(self.value)
        share = (np.where(known, self.value, ends[0]) - ends[0]) / (ends[1] - ends[0])
        shade = np.clip(share * SHADES, 0, SHADES - 1).astype(np.int64)
        for k in np.unique(shade[known]).tolist():
            yield f"shade{k}", label, np.flatnonzero(known & (shade == k))


def tint(color: ArrayLike, name: str | None, row: Ints, rows: int | None) -> ColorEncoding:
    """Return the colour encoding of curves."""
    # A series may come from any library.
    values = np.asarray(color)
    needed = int(row.max(initial=-1)) + 1 if rows is None else rows
    right = values.ndim == 1 and (len(values) == needed or (rows is None and len(values) > needed))
    if not right:
        got = f"shape {values.shape}" if values.ndim != 1 else f"{len(values):,} values"
        got = f"the string {color!r}" if isinstance(color, str) else got
        expected = f"one value for each of the {needed:,} rows of X"
        fix = "Pass a column of X, or another array with one value per row"
        raise DataError("plot(color)", got, expected, fix)
    said = name if name is not None else getattr(color, "name", None)
    called = "color" if said is None else str(said)
    missing = missing_mask(values)
    numbers = as_numbers(values, missing)
    if numbers is not None and not _is_few(numbers[~missing]):
        return ColorEncoding(called, numbers[row])
    place, groups = _grouped(values, missing, numbers)
    return ColorEncoding(called, place[row], groups)


def group_name(tint: ColorEncoding, place: int) -> str:
    """Return the legend entry of a group; of rows with a missing value for -1."""
    called = shorten(tint.name, 24)
    return f"{called} missing" if place < 0 else f"{called} = {clean(tint.groups[place])}"


def color_ends(tint: ColorEncoding) -> tuple[float, float]:
    """Return the ends of the colour scale: the 2 % and 98 % quantiles, so that outliers do not compress it."""
    low, high = extent([tint.value])
    known = tint.value[np.isfinite(tint.value)]
    if len(known):
        low, high = (float(v) for v in np.quantile(known, [0.02, 0.98]))
    return PlotAxis("", None, low, high, 0.0).limits


def as_numbers(values: Values, missing: Bools) -> Floats | None:
    """Return numbers as floats, infinite ones as NaN; None if the values are not numbers."""
    if values.dtype.kind == "f":
        return np.where(np.isinf(values), np.nan, values).astype(float)
    there = values[~missing].tolist()
    if not all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in there):
        return None
    out = np.full(len(values), np.nan)
    out[~missing] = [float(v) for v in there]
    return out


def _is_few(numbers: Floats) -> bool:
    if len(numbers) == 0 or not np.isfinite(numbers).all() or (numbers % 1 != 0).any():
        return False
    return len(np.unique(numbers)) <= FEW


def _grouped(
    values: Values, missing: Bools, numbers: Floats | None
) -> tuple[Floats, tuple[str, ...]]:
    """Return the group index of each value, NaN for missing values, and the names of the groups."""
    place = np.full(len(values), np.nan)
    if numbers is not None:
        known, at = np.unique(numbers[~missing], return_inverse=True)
        place[~missing] = at
        return place, tuple(f"{v:.0f}" for v in known)
    there = values[~missing].tolist()
    odd = next((v for v in there if not isinstance(v, (str, bool, int, float, np.generic))), None)
    if odd is not None or values.dtype.kind in "mMc":
        got = "dates or times" if values.dtype.kind in "mM" else type(odd).__name__
        fix = "Convert the values to numbers or text"
        raise DataError("plot(color)", got, "numbers, text or booleans", fix)
    texts = np.array([str(v) for v in there], dtype=object)
    names, at, count = np.unique(texts.astype(str), return_inverse=True, return_counts=True)
    if len(names) > FEW:
        kept = np.sort(np.argsort(-count, kind="stable")[: FEW - 1])
        where = np.full(len(names), FEW - 1)
        where[kept] = np.arange(FEW - 1)
        place[~missing] = where[at]
        others = f"{len(names) - FEW + 1} others"
        return place, (*_short(names[kept].tolist()), others)
    place[~missing] = at
    return place, _short(names.tolist())


def _short(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(shorten(n, 24) for n in names)


# --- averages of groups --------------------------------------------------------------------------

THIRDS = 3
"""Number of groups of about equal weight that numbers on a colour scale are cut into."""


@dataclass(frozen=True, eq=False)
class GroupAverage:
    """The average curve of a group of rows."""

    style: str
    label: str
    names: tuple[str, ...]
    value: Floats
    rows: int


def averages_of_groups(
    curves: Curves, colors: ColorEncoding, *, counts: bool = True
) -> tuple[GroupAverage, ...]:
    """Return the average curve of each group of rows; none for a single group, whose average is drawn anyway."""
    weight = np.ones(len(curves)) if curves.weight is None else curves.weight
    found: list[GroupAverage] = []
    for style, name, rows in _sets_to_average(colors, weight):
        if len(rows):
            label = f"{name} ({counted(len(rows), 'row')})" if counts else name
            short = name.removeprefix(f"{shorten(colors.name, 24)} ").removeprefix("= ")
            value = np.average(curves.value[rows], axis=0, weights=weight[rows])
            found.append(GroupAverage(f"{style}-mean", label, (name, short), value, len(rows)))
    return tuple(found) if len(found) > 1 else ()


def _sets_to_average(colors: ColorEncoding, weight: Floats) -> Iterator[tuple[str, str, Ints]]:
    """Yield style, name and indices of the curves of each group; missing values come last."""
    positive = weight > 0
    if colors.groups:
        for i in range(len(colors.groups)):
            yield f"group{i}", group_name(colors, i), np.flatnonzero(positive & (colors.value == i))
    else:
        known = np.isfinite(colors.value) & positive
        edges = _thirds(colors.value[known], weight[known])
        place = np.searchsorted(edges, colors.value)
        for k, name in enumerate(_names_of_thirds(colors, edges)):
            yield f"third{k}", name, np.flatnonzero(known & (place == k))
    missing = np.flatnonzero(np.isnan(colors.value) & positive)
    yield "group-missing", group_name(colors, -1), missing


def _thirds(values: Floats, weight: Floats) -> Floats:
    """Return the upper ends of all thirds but the last, as they are written: rounded to a part of the range."""
    if len(values) == 0:
        return np.zeros(0)
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weight[order])
    at = np.searchsorted(reached, reached[-1] * np.arange(1, THIRDS) / THIRDS * (1 - 1e-12))
    edges, low, high = values[order][at], float(values.min()), float(values.max())
    with np.errstate(divide="ignore"):
        decimals = 2 - np.floor(np.log10(high - low)) if high > low else 0.0
    # Where digits run out, as of numbers with a large offset, the ends stay as they are.
    rounded = np.round(edges, int(decimals)) if abs(decimals) < 16 else edges
    return np.array([e for e in np.unique(rounded) if low <= e < high])


def _names_of_thirds(colors: ColorEncoding, edges: Floats) -> list[str]:
    """Return the legend entries of thirds: "age ≤ 30", "30 < age ≤ 50", "age > 50"."""
    called = shorten(colors.name, 24)
    if len(edges) == 0:
        return [called]
    # The ends are rounded: zeros before an exponent say nothing.
    texts = [re.sub(r"\.?0+(?=e)", "", text) for text in position_texts(edges)]
    between = [f"{a} < {called} ≤ {b}" for a, b in itertools.pairwise(texts)]
    return [f"{called} ≤ {texts[0]}", *between, f"{called} > {texts[-1]}"]


def lines_of_groups(x: Floats, groups: Sequence[GroupAverage]) -> Iterator[Mark]:
    """Yield the line of each group's average over a grid."""
    for group in groups:
        yield Line(x, group.value, group.style, group.label)


def texts_of_groups(x: Floats, groups: Sequence[GroupAverage]) -> Iterator[Text]:
    """Yield the name of each group beside its line, where the line is farthest from those of other groups."""
    values = np.array([g.value for g in groups])
    for k, group in enumerate(groups):
        others = np.delete(values, k, axis=0)
        gap = np.abs(others - group.value).min(axis=0)
        # At the ends of the axis there is no room for a text.
        inner = (x > x[0] + 0.06 * (x[-1] - x[0])) & (x < x[-1] - 0.06 * (x[-1] - x[0]))
        known = np.isfinite(gap) & (inner if inner.any() else True)
        if not known.any():
            continue
        at = int(np.argmax(np.where(known, gap, -np.inf)))
        above = bool(group.value[at] >= np.median(values[:, at]))
        yield Text(
            float(x[at]), float(group.value[at]), group.names, "value", up=1 if above else -1
        )


# --- histograms of groups ------------------------------------------------------------------------

MOST_BARS, LEAST_BARS = 40, 8

OVER_ONE_ANOTHER = 3
"""Most groups whose histograms are overlaid; those of more groups are stacked."""

WIDE = 0.4
"""Half width of the bar of a level."""

GROUPS = 60.0
"""Height of the panel."""


def grouped(
    effect: Effect, options: EffectPlotOptions, x: PlotAxis, positions: Floats | None = None
) -> Panel:
    """Return the panel with the histogram of a feature in each group."""
    at, groups, weight, notes = _rows(effect, options)
    if not groups.groups:
        fix = "Pass classes, text or booleans, such as color=y"
        raise UnsupportedError("plot(histogram)", "colours on a numeric scale", "groups", fix)
    if positions is not None:
        known = np.isfinite(at) & (at >= 0)
        there = np.full(len(at), np.nan)
        there[known] = positions[at[known].astype(np.int64)]
        at = there
    edges = _edges(at, x, levels=positions is not None)
    beyond = int((np.isfinite(at) & ~((at >= edges[0]) & (at <= edges[-1]))).sum())
    found: list[tuple[str, str, Floats]] = []
    # Rows with a missing value come last.
    for style, name, mine in sorted(groups.sets(""), key=lambda g: g[0] == "group-missing"):
        if len(mine):
            rows = mine[np.isfinite(at[mine])]
            weights = None if weight is None else weight[rows]
            height = np.histogram(at[rows], edges, weights=weights)[0].astype(float)
            found.append((style, f"{name} ({counted(len(rows), 'row')})", height))
    stacked = len(found) > OVER_ONE_ANOTHER
    marks, base = [*effect_parts.backdrop(x)], np.zeros(len(edges) - 1)
    highest = 0.0
    for style, label, height in found:
        marks += _histogram(edges, base, base + height, style, label, stacked=stacked)
        highest = max(highest, float((base + height).max(initial=0.0)))
        base = base + height if stacked else base
    y = PlotAxis(
        "rows" if weight is None else "sum of row weights", None, 0, 1.05 * highest or 1.0, 0
    )
    if stacked:
        notes += ("stacked",)
    notes += (f"{counted(beyond, 'row')} off the scale",) if beyond else ()
    named = [(label.rpartition(" (")[0], height) for _, label, height in found]
    tips = effect_texts.group_tooltips(effect, x, edges, named)
    return Panel(x, y, tuple(marks), GROUPS, notes=notes, kind="detail", tooltips=tuple(tips))


def _rows(
    effect: Effect, options: EffectPlotOptions
) -> tuple[Floats, ColorEncoding, Floats | None, tuple[str, ...]]:
    """Return feature values, groups and weights of the rows, and a note on which rows they are."""
    curves = effect.curves
    if curves is None or options.color is None:
        raise TypeError("the effect has no individual curves, or no colour is given")
    if options.values is None:
        colour = tint(options.color, options.color_name, curves.row, length_of(effect))
        some = "all" if curves.exact else "a sample of"
        return curves.x, colour, curves.weight, (f"{some} {counted(len(curves), 'row')}",)
    at = _values(effect, options.values)
    colour = tint(options.color, options.color_name, np.arange(len(at)), len(at))
    return at, colour, None, (f"all {counted(len(at), 'row')}",)


def _values(effect: Effect, given: ArrayLike) -> Floats:
    """Return the feature values given for all rows; for a categorical feature the codes of the levels."""
    values = np.asarray(given)
    n = length_of(effect)
    if values.ndim != 1 or (n is not None and len(values) != n):
        got = f"shape {values.shape}" if values.ndim != 1 else f"{len(values):,} values"
        rows = "each row" if n is None else f"each of the {n:,} rows"
        fix = f"Pass the column {shorten(effect.feature, 40)!r} of X"
        raise DataError("plot(values)", got, f"one value for {rows} of X", fix)
    if isinstance(effect.axis, LevelAxis):
        levels = effect.axis.levels
        # Of the most frequent levels alone, rows of the others have no position.
        kept = bool(effect.provenance.get("rows_outside"))
        codes = levels.codes(values) if kept else levels.find(values, "plot(values)")
        return codes.astype(float)
    if isinstance(effect.axis, TimedAxis):
        return effect.axis.time.days(given, "plot(values)")
    numbers = as_numbers(values, missing_mask(values))
    if numbers is None:
        fix = f"Pass the column {shorten(effect.feature, 40)!r} of X"
        raise DataError("plot(values)", "values that are not numeric", "numbers", fix)
    return numbers


def _edges(at: Floats, x: PlotAxis, *, levels: bool) -> Floats:
    """Return the edges of bars: around levels or single values, otherwise of equal width across the axis."""
    low, high = (float(v) for v in x.range)
    if levels:
        middles = np.arange(round(high - low)) + low + 0.5
        return np.add.outer(middles, np.array([-WIDE, WIDE])).ravel()
    ticks = np.asarray(x.ticks, dtype=float)
    if len(ticks) > 1:
        return np.concatenate([[low], (ticks[:-1] + ticks[1:]) / 2, [high]])
    there = at[(at >= low) & (at <= high)]
    bars = int(np.clip(np.ceil(2 * len(there) ** (1 / 3)), LEAST_BARS, MOST_BARS))
    width = (high - low) / bars
    if len(there) and not (there % 1).any() and 0.5 < width < 2**50:
        return _whole(there.min(), there.max(), width)
    return np.linspace(low, high, bars + 1)


def _whole(low: float, high: float, width: float) -> Floats:
    """Return edges between integers, such that each bar contains equally many integers."""
    first, last = low - 0.5, high + 0.5
    some = np.arange(max(1, int(0.7 * width)), int(1.4 * width) + 2)
    spare = -(last - first) % some
    # Fewest superfluous integers first, then the width nearest to the requested one.
    best = int(some[np.lexsort([np.abs(some - width), spare])[0]])
    count = int(np.ceil((last - first) / best))
    return first - (spare[some == best][0] // 2) + best * np.arange(count + 1)


def _histogram(
    edges: Floats, base: Floats, top: Floats, style: str, label: str, *, stacked: bool
) -> Iterator[Mark]:
    """Yield the area and the outline of a histogram."""
    x, low, high = np.repeat(edges, 2)[1:-1], np.repeat(base, 2), np.repeat(top, 2)
    yield Area(x, low, high, f"{style}-area", label)
    rim = np.concatenate([low[:1], high, low[-1:]])
    around = np.concatenate([x[:1], x, x[-1:]])
    # Touching edges would hide each other's line styles.
    yield Line(around, rim, f"{style}-{'stacked' if stacked else 'outline'}", label)


# --- elevated regions ----------------------------------------------------------------------------

UNCERTAIN = ("entropy", "variance", "uncertainty")


LABELS: dict[SupportVerdict, str] = {  # legend entries
    "all": "high, and rows are there",
    "elsewhere": "high, but no row is there",
    "unclear": "high, unclear",
}


_SHORTER: dict[SupportVerdict, tuple[str, ...]] = {  # texts above narrow strips, the longest first
    "all": ("all rows",),
    "elsewhere": ("only rows outside the region", "only rows outside", "extrapolation"),
    "unclear": ("inconclusive",),
}

SPACE, BOTTOM, TOP = 0.15, 0.04, 0.075
"""Fractions of a panel's height: the space for strips and their texts, and the ends of strips, above the rug."""


def is_uncertainty(effect: Effect) -> bool:
    """Return whether the name of the quantity indicates an uncertainty: an entropy or a variance."""
    made = str(effect.provenance.get("quantity", "")).partition("(")[0]
    said = f"{effect.about.quantity} {made}".lower()
    return any(word in said for word in UNCERTAIN)


def marked_regions(effect: Effect, options: EffectPlotOptions, at: Floats) -> list[ElevatedRegion]:
    """Return the parts of the elevated regions to mark that are on an axis with these points."""
    wanted = options.elevated_regions
    if wanted is None:
        numeric = not isinstance(effect.axis, LevelAxis) and not effect.spec.derivative
        wanted = effect.curves is not None and numeric and is_uncertainty(effect)
    found = elevated_regions(effect, options.confidence_level) if wanted else ()
    low, high = float(at[0]), float(at[-1])
    there = [r for r in found if r.left < high and r.right > low]
    return [replace(r, left=max(r.left, low), right=min(r.right, high)) for r in there]


def strips(
    found: Sequence[ElevatedRegion], y: PlotAxis
) -> tuple[PlotAxis, list[Mark], tuple[Text, ...]]:
    """Return the vertical axis with space for strips that mark elevated regions, the strips, and texts above them."""
    if not found:
        return y, [], ()
    low, high = y.range
    foot = low - SPACE / (1 - SPACE) * (high - low)
    lower, upper = (foot + share * (high - foot) for share in (BOTTOM, TOP))
    marks: list[Mark] = []
    for verdict, label in LABELS.items():
        mine = [r for r in found if r.verdict == verdict]
        if mine:
            left, right = np.array([(r.left, r.right) for r in mine]).T
            down, up = np.full(len(mine), lower), np.full(len(mine), upper)
            marks.append(Rectangles(left, right, down, up, f"elevated-{verdict}", label))
    # A text may extend half-way to the next strip.
    between = [(a.right + b.left) / 2 for a, b in itertools.pairwise(found)]
    texts = tuple(
        Text(
            (r.left + r.right) / 2,
            upper,
            (r.text, *_SHORTER[r.verdict]),
            "value",
            room=(start, end, -np.inf, np.inf),
            up=1,
            slide=True,
        )
        for r, start, end in zip(found, [-np.inf, *between], [*between, np.inf], strict=True)
    )
    return replace(y, least=foot, most=high, margin=0.0), marks, texts


# --- curves of rows ------------------------------------------------------------------------------


class IndividualCurves(NamedTuple):
    """The curves of rows: their values, their marks, and the points of observed values, in front of the average."""

    y: Floats
    marks: tuple[Mark, ...]
    own: tuple[Mark, ...]
    groups: tuple[GroupAverage, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def reached(self) -> tuple[Floats, ...]:
        """Return the values that must be visible."""
        return (self.y, *(g.value for g in self.groups))

    @property
    def means(self) -> list[tuple[str, Floats]]:
        """Return the legend entry and the average of each group."""
        return [(g.label, g.value) for g in self.groups]


CURVES, OWN = "ICE curves", "each row at its own value"
"""Legend entries of curves and of the points on them."""

PALER = 0.6
"""Factor of the opacity of curves behind the averages of their groups."""

DASH = 1.7
"""Half the length in points of the dash of a row at a level."""


def curve_notes(curves: IndividualCurves | None) -> tuple[str, ...]:
    """Return the number of curves, and notes on them."""
    return () if curves is None else (counted(len(curves.y), "curve"), *curves.notes)


def individual_curves(
    x: Floats, curves: Curves | None, options: EffectPlotOptions, effect: Effect, shift: float = 0.0
) -> IndividualCurves | None:
    """Return the individual curves, at most `options.most_curves` of them."""
    averaged = options.color is not None and options.group_averages
    if curves is None or len(curves) == 0 or (options.most_curves < 1 and not averaged):
        return None
    groups: tuple[GroupAverage, ...] = ()
    if options.color is not None and averaged:
        every = tint(options.color, options.color_name, curves.row, length_of(effect))
        groups = averages_of_groups(curves, every, counts=not options.histogram)
    rows = _drawn_rows(curves, options.most_curves)
    y, own, row = curves.value[rows], curves.x[rows], curves.row[rows]
    # Neighbouring rows may be similar: without shuffling, the order of rows would form a pattern.
    beside = shift * np.linspace(-1, 1, len(rows) + 2)[1:-1]
    beside = np.random.default_rng(SEED).permutation(beside) if shift else beside
    sets = [("curve", CURVES, np.arange(len(rows)))]
    if options.color is not None:
        colors = tint(options.color, options.color_name, row, length_of(effect))
        sets = list(colors.sets(CURVES))
    # With many curves each is lighter, so that the average stays visible.
    density = (30 if options.color is None else 60) / max(len(rows), 1)
    opacity = 0.65 if density >= 0.5 else 0.38 if density >= 0.2 else 0.25
    opacity *= PALER if groups else 1.0
    # A group and its average have one legend entry.
    entries = {g.style.removesuffix("-mean"): g.label for g in groups}
    there = (own >= x[0]) & (own <= x[-1]) if options.own else np.zeros(len(own), dtype=bool)
    marks: list[Mark] = []
    points: list[Mark] = []
    for style, group_label, mine in sets:
        label = entries.get(style, group_label)
        if shift or len(x) == 1:  # a dash per row and level
            at, down = (x[:, None] + beside[mine]).ravel(), y[mine].T.ravel()
            marks.append(Segments(at, down, at, down, f"{style}-dash", label, reach=DASH))
        else:
            group = "" if options.color is None or style.startswith("shade") else group_label
            marks.append(CurveSet(x, y[mine], style, label, opacity, row[mine], group))
        seen = mine[there[mine]]
        if len(seen):
            values = np.array([np.interp(own[i], x, y[i]) for i in seen.tolist()])
            name = "own" if style == "curve" else f"{style}-point"
            # One legend entry for the points of all groups.
            said = "" if points else OWN
            points.append(Points(own[seen] + beside[seen], values, name, said))
    notes: tuple[str, ...] = ()
    if groups and not curves.exact:
        notes = (f"group averages of a sample of {counted(sum(g.rows for g in groups), 'row')}",)
    return IndividualCurves(y, tuple(marks), tuple(points), groups, notes)


def _drawn_rows(curves: Curves, most: int) -> Ints:
    """Return the indices of the curves that are drawn."""
    rows = np.arange(len(curves)) if curves.weight is None else np.flatnonzero(curves.weight > 0)
    if len(rows) <= most:
        return rows
    # Rows may be sorted, so the first ones or every k-th one would not be representative.
    return np.sort(np.random.default_rng(SEED).choice(rows, most, replace=False))
