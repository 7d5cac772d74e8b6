"""From `Factors` to a figure: factors on a log axis, observed ones beside them, exposure below; many, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from skedasis._arguments import check_int_or_none
from skedasis._numbers import counted, number, percent, with_minus
from skedasis._types import Bools, Floats
from skedasis.plots.figures import effect_parts
from skedasis.plots.figures.effect_parts import LONG, LONGEST, MISSING
from skedasis.plots.figures.effect_texts import RARE
from skedasis.plots.figures.multiples import MAIN, PER_PAGE, on_shared_scales, page_of
from skedasis.plots.figures.options import MOST_LEVELS
from skedasis.plots.marks import (
    Area,
    FigureSpec,
    Line,
    Mark,
    Panel,
    Points,
    Rectangles,
    Segments,
    Title,
    Tooltip,
    horizontal_line,
)
from skedasis.plots.scales import PlotAxis, clean, distinct_names, extent, shorten
from skedasis.plots.theme import OBSERVED
from skedasis.results.contrast import level_text
from skedasis.results.factors import ODDS_RATIO, Factor, Factors, RatingTable

HALF, APART, CLOSE = 0.3, 0.16, 0.014
"""Half of the width that the points of a level have, the most between two of them; and the distance of the values of a
split over a numeric feature, as a fraction of the axis."""


def factors_figure(found: Factors, observed: bool = True) -> FigureSpec:
    """Return the figure of the factors of one feature."""
    return _figure(found, observed, MOST_LEVELS)


def rating_table_figure(
    found: RatingTable,
    observed: bool = True,
    top: int | None = PER_PAGE,
    columns: int | None = None,
    page: int | None = 1,
) -> FigureSpec:
    """Return the figure of the factors of several features on one axis, those that differ most first."""
    top = check_int_or_none("plot(top)", top, 1, "Use 20, or None")
    ranked = sorted(found.features, key=_spread, reverse=True)[:top]
    axes = [_figure(one, observed, MOST_LEVELS).main.y for one in ranked]
    each: list[FigureSpec] = []
    for one in ranked:
        figure = _figure(one, observed, MOST_LEVELS, axes[0].spanning(axes))
        main, *below = figure.stacks[0]
        main = replace(main, title=Title(_name(one)), height=MAIN)
        each.append(replace(figure, stacks=((main, *below),)))
    quantity, measure = shorten(found.quantity, LONG), found.features[0].measure
    title = Title(counted(len(ranked), "feature"), f"{measure}s of {quantity}")
    odds = "the odds of " if measure == ODDS_RATIO else ""
    notes = (f"at the base of all features {odds}{quantity} is {number(found.base_value, 4)}",)
    notes = () if math.isnan(found.base_value) else notes
    scaled = on_shared_scales(each)
    what = f"features with their {measure}s on one axis"
    return page_of(scaled, title, what, len(found), columns, page, notes)


def _spread(found: Factors) -> float:
    """Return the standard deviation of the logarithms of the factors, weighted by exposure."""
    known = [(f.factor, f.exposure) for f in found if f.factor > 0 and f.exposure > 0]
    if not known:
        return 0.0
    factor, weight = np.array(known).T
    log = np.log(factor)
    return float(np.sqrt(np.average((log - np.average(log, weights=weight)) ** 2, weights=weight)))


# --- one feature ----------------------------------------------------------------------------------


def _name(found: Factors) -> str:
    return shorten(found.title or found.feature, LONG)


def _shown(found: Factors, most: int) -> tuple[Sequence[Factor], tuple[str, ...]]:
    """Return the lines that are drawn: all, or of too many levels the base and those with most exposure."""
    if not found.levels or len(found) <= most:
        return found.lines, ()
    left_out = len(found) - most
    note = f"the {most} levels with most {found.weighed_by} are shown, {left_out:,} are not"
    return found.shown(most), (note,)


def _figure(found: Factors, observed: bool, most: int, y: PlotAxis | None = None) -> FigureSpec:
    lines, notes = _shown(found, most)
    x, at = _horizontal(found, lines)
    splits = list(range(len(found.split_values)))[: len(OBSERVED)] if observed else []
    left_out = len(found.split_values) - len(splits) if observed else 0
    if left_out:
        notes += (f"{counted(left_out, 'value')} of the split not shown",)
    drawn = _numbers(lines, splits)
    y = _vertical(found, *drawn) if y is None else y
    marks = [*effect_parts.backdrop(x), horizontal_line(1.0)]
    marks += _model_marks(found, lines, at)
    for s, beside in zip(splits, _beside(found, x, len(splits)), strict=True):
        marks += _observed_marks(found, lines, at + beside, s)
    bounds = _bounds(found, at, x)
    tips = tuple(
        Tooltip(left, right, "\n".join(_tip(found, f)), below=1)
        for f, left, right in zip(lines, *bounds, strict=True)
    )
    rule = f", {shorten(found.rule, LONG)}" if found.rule else ""
    quantity = shorten(found.quantity, LONG)
    title = Title(f"{_name(found)}{rule}", f"{found.measure}s of {quantity}", found.method)
    base = f"base {shorten(with_minus(found.base.text), LONG)}"
    notes = (base, *notes, *_off_scale(found, y, *drawn))
    main = Panel(x, y, tuple(marks), effect_parts.MAIN, title=title, notes=notes, tooltips=tips)
    return FigureSpec(
        ((main, _exposure(found, lines, bounds, x)),),
        str(title),
        _alt(found, lines, title),
        order=(),
    )


def _horizontal(found: Factors, lines: Sequence[Factor]) -> tuple[PlotAxis, Floats]:
    """Return the axis of the feature and the positions of the lines on it."""
    name, unit = shorten(found.title or found.feature, LONGEST), found.feature_unit
    if found.levels:
        at = np.arange(len(lines), dtype=float)
        names = distinct_names([clean(f.text) for f in lines], LONGEST)
        return PlotAxis(name, unit, -0.5, len(lines) - 0.5, 0.0, tuple(at.tolist()), names), at
    positions = np.array([f.position for f in lines])
    known = positions[~np.isnan(positions)]
    few = len(known) <= effect_parts.OWN_TICKS and found.time is None
    few = few and all(f.low is None for f in lines)
    low, high = extent([known])
    x = PlotAxis(
        name,
        unit,
        low,
        high,
        0.03,
        tuple(known.tolist()) if few else (),
        missing_label=MISSING if len(known) < len(lines) else "",
        time=found.time,
    )
    return x, np.array([x.place(v) for v in positions.tolist()])


def _numbers(lines: Sequence[Factor], splits: Sequence[int]) -> tuple[Floats, Floats]:
    """Return the factors and the observed ones, each with the ends of its interval, (n, 3); NaN if it is not drawn."""
    model = [(f.factor, *((math.nan, math.nan) if f.few else (f.lower, f.upper))) for f in lines]
    seen = [
        (f.observed[s], f.observed_lower[s], f.observed_upper[s]) for s in splits for f in lines
    ]
    return np.array(model), np.reshape(seen, (-1, 3))


def _vertical(found: Factors, model: Floats, seen: Floats) -> PlotAxis:
    """Return the log axis: it contains 1, all factors, and intervals as far as factors stay readable.

    Observed factors without an interval, which are of few rows, do not determine it.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        known = np.log(seen[np.isfinite(seen[:, 1])])
        model = np.log(model)
    low, high = extent([np.zeros(1), model[:, 0], known[:, 0]])
    if high - low < 0.02:  # a scale of a few thousandths would show noise as differences
        low, high = min(low, -0.01), max(high, 0.01)
    low, high = effect_parts.readable_range(extent([model[:, 1:], known[:, 1:]]), low, high)
    name = f"{found.measure} of {shorten(found.quantity, LONG)}"
    return PlotAxis(name, None, math.exp(low), math.exp(high), 0.06, log=True)


def _off_scale(found: Factors, y: PlotAxis, model: Floats, seen: Floats) -> tuple[str, ...]:
    """Return notes on observed factors and on intervals that are beyond the axis."""
    off = int(((seen[:, 0] < y.range[0]) | (seen[:, 0] > y.range[1])).sum())
    notes = (f"{counted(off, f'observed {found.measure}')} off the scale",) if off else ()
    return *notes, *effect_parts.off_scale(y, [(m[:, 1], m[:, 2]) for m in (model, seen)])


def _model_marks(found: Factors, lines: Sequence[Factor], at: Floats) -> Iterator[Mark]:
    """Yield the factors: a curve with its interval, or a point with its interval per level; the base stands out."""
    factor = np.array([f.factor for f in lines])
    base = np.array([f.is_base for f in lines])
    ends = np.where(base, 1.0, _numbers(lines, ())[0][:, 1:].T)
    label = f"{level_text(found.confidence_level)} interval of the {found.measure}"
    curve = np.full(len(lines), not found.levels) & ~np.isnan([f.position for f in lines])
    known = np.isfinite(ends).all(axis=0)
    if curve.sum() > 1:
        if (known & ~base & curve).any():
            yield Area(at[curve], ends[0][curve], ends[1][curve], "interval", label)
        yield Line(at[curve], factor[curve], "average", found.measure)
        if curve.sum() <= 30:
            yield Points(at[curve & ~base], factor[curve & ~base], "vertex", found.measure)
    apart: Bools = ~curve & known & ~base
    if apart.any():
        yield Segments(at[apart], ends[0][apart], at[apart], ends[1][apart], "interval-bar", label)
    single = ~curve & ~base
    if single.any():
        style = "vertex" if found.levels else "missing"
        name = found.measure if found.levels else MISSING
        yield Points(at[single], factor[single], style, name)
    yield Points(at[base], factor[base], "independent", "base")


def _observed_marks(found: Factors, lines: Sequence[Factor], at: Floats, s: int) -> Iterator[Mark]:
    """Yield the observed factors of one value of the split, with their intervals."""
    split, many = found.split_values[s], len(found.split_values) > 1
    style = f"observed{s}" if many else "observed"
    label = f"observed, {shorten(split, LONG)}" if many else "observed"
    value = np.array([f.observed[s] for f in lines])
    lower = np.array([f.observed_lower[s] for f in lines])
    upper = np.array([f.observed_upper[s] for f in lines])
    drawn = value > 0
    known = drawn & np.isfinite(lower)
    if known.any():
        yield Segments(at[known], lower[known], at[known], upper[known], f"{style}-interval", label)
    yield Points(at[drawn], value[drawn], style, label)


def _beside(found: Factors, x: PlotAxis, splits: int) -> list[float]:
    """Return how far the observed factors of each value of the split are from the factors."""
    if found.levels:
        step = min(APART, 2 * HALF / max(splits, 1))
        return [step * (s + 1) for s in range(splits)]
    low, high = x.range
    return [CLOSE * (high - low) * (s - (splits - 1) / 2) for s in range(splits)]


def _bounds(found: Factors, at: Floats, x: PlotAxis) -> tuple[list[float], list[float]]:
    """Return the left and right ends of what belongs to each line: halfway to its neighbours."""
    if found.levels:
        return (at - 0.5).tolist(), (at + 0.5).tolist()
    low, high = x.range
    own = ~np.isnan([f.position for f in found])
    inner = at[own]
    middles = (inner[1:] + inner[:-1]) / 2
    left, right = np.append(low, middles), np.append(middles, high)
    if x.asides:
        left = np.append(left, x.asides[-1].left)
        right = np.append(right, x.asides[-1].right)
    return left.tolist(), right.tolist()


def _exposure(
    found: Factors,
    lines: Sequence[Factor],
    bounds: tuple[list[float], list[float]],
    x: PlotAxis,
) -> Panel:
    """Return the panel of the exposure of each line; without weights, of the rows."""
    share = np.nan_to_num([100 * f.share for f in lines])
    left, right = (np.array(end) for end in bounds)
    gap = 0.1 * (right - left) if x.labels else 0.0
    y = PlotAxis(found.weighed_by, "%", 0.0, float(share.max(initial=0.0)), 0.0)
    bars = Rectangles(left + gap, right - gap, np.zeros(len(share)), share, "count")
    return Panel(x, y, (*effect_parts.backdrop(x), bars), effect_parts.COUNTS, kind="counts")


# --- words ----------------------------------------------------------------------------------------


def _tip(found: Factors, f: Factor) -> Iterator[str]:
    """Yield the lines of a tooltip."""
    level = level_text(found.confidence_level)
    unit = f" {clean(found.feature_unit)}" if found.feature_unit and not found.levels else ""
    yield f"{_name(found)}: {shorten(with_minus(f.text), LONG)}{unit}"
    limits = f" ({level} interval {number(f.lower)} to {number(f.upper)})"
    limits = "" if f.few or math.isnan(f.lower) else limits
    yield (
        f"{found.measure} 1, the base"
        if f.is_base
        else f"{found.measure} {number(f.factor)}{limits}"
    )
    for s, split in enumerate(found.split_values):
        low, high = f.observed_lower[s], f.observed_upper[s]
        limits = "" if math.isnan(low) else f" ({number(low)} to {number(high)})"
        which = f", {shorten(split, LONG)}" if split else ""
        yield f"observed{which} {number(f.observed[s])}{limits}"
    if not math.isnan(f.exposure):
        yield f"{percent(f.share)} of the {found.weighed_by}"
    if f.few:
        yield RARE


def _alt(found: Factors, lines: Sequence[Factor], title: Title) -> str:
    """Return the alternative text: the base, the smallest and the largest factor."""
    known = [f for f in lines if not math.isnan(f.factor)]
    least, most = (pick(known, key=lambda f: f.factor) for pick in (min, max))
    ends = [f"{number(f.factor)} at {shorten(with_minus(f.text), LONG)}" for f in (least, most)]
    text = f"{title}. The base is {shorten(with_minus(found.base.text), LONG)}; "
    text += f"{found.measure}s from {ends[0]} to {ends[1]}."
    return " ".join([text, *found.remarks])
