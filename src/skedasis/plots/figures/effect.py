"""From an `Effect` to a figure specification."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.errors import UnsupportedError
from skedasis.plots.figures import categorical, effect_parts, effect_texts
from skedasis.plots.figures.effect_parts import LONG
from skedasis.plots.figures.ice import (
    curve_notes,
    curves_behind,
    dependence,
    grouped,
    lines_of_groups,
    texts_of_groups,
)
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.figures.titles import effect_title
from skedasis.plots.marks import FigureSpec, Mark, Panel, Stack, horizontal_line
from skedasis.plots.scales import counted, shorten
from skedasis.registry import listed_methods
from skedasis.results.axis import LevelAxis
from skedasis.results.build.linear_form import LOCAL, curve_polygon
from skedasis.results.checks.elevated_regions import elevated_regions
from skedasis.results.effect import (
    AnyMPlot,
    BinnedEffect,
    Effect,
    LevelMeansEffect,
    LevelStepsEffect,
    MPlotEffect,
)
from skedasis.results.main_stretch import main_part
from skedasis.stats.grid import Cells


def effect_figure(effect: Effect, options: EffectPlotOptions | None = None) -> FigureSpec:
    """Return the figure specification of an effect."""
    if options is not None and options.ice and options.curves and effect.curves is None:
        raise no_curves(effect, "curves")
    stack = effect_panels(effect, options)
    alt = effect_texts.alt_text(effect, stack[0])
    return FigureSpec((stack,), str(stack[0].title), alt, order=effect_parts.legend_order(stack))


def effect_panels(
    effect: Effect, options: EffectPlotOptions | None = None, *, per_sd: bool = False
) -> Stack:
    options = EffectPlotOptions() if options is None else options
    if options.color is not None and effect.curves is None:
        raise no_curves(effect, "color")
    if options.band == "accumulated" and effect.accumulated_std is None:
        raise UnsupportedError(
            "plot(band='accumulated')",
            f"{effect.spec.method}, which accumulates no standard deviations",
            listed_methods(lambda m: m.bins and m.local_effects),
            "Use band='spread'",
        )
    axis = effect.axis
    curve = not isinstance(effect, BinnedEffect) and not isinstance(axis, LevelAxis)
    if options.elevated_regions and not curve:
        elevated_regions(effect)  # raises an error that names what is needed
    if isinstance(axis, LevelAxis):
        return categorical.level_panels(effect, axis.levels, options)
    if not isinstance(effect, BinnedEffect):
        main = dependence(effect, options)
        return (main, *((grouped(effect, options, main.x),) if options.histogram else ()))
    main = (
        _marginal(effect, options)
        if isinstance(effect, MPlotEffect)
        else _accumulated(effect, options)
    )
    if not has_bins(effect):
        return (main,)
    bins = _main(effect).bins
    counts = effect_parts.counts_panel(bins.low, bins.high, bins.count, main.x)
    groups = (grouped(effect, options, main.x),) if options.histogram else ()
    return (main, slopes(effect, per_sd=per_sd), counts, *groups)


def no_curves(effect: Effect, option: str) -> UnsupportedError:
    """Return the error for an option of individual curves of an effect that keeps none."""
    method = "method='ale', " if isinstance(effect, AnyMPlot) else ""
    return UnsupportedError(
        f"plot({option})",
        f"{effect.spec.method} without individual curves",
        "an effect that keeps curves of rows",
        f"Compute them with the effect: sd.explain(..., {method}curves=30); or omit {option}",
    )


def local_effects_panel(
    effect: Effect, options: EffectPlotOptions, *, per_sd: bool, limits: tuple[float, float]
) -> Panel | None:
    """Return the panel of local effects of `effect_panels` (kind "detail") on a given vertical range."""
    if isinstance(effect, LevelStepsEffect):
        return categorical.steps(effect, options, limits)
    if isinstance(effect, LevelMeansEffect):
        return categorical.values(effect, options, limits)
    return slopes(effect, per_sd=per_sd, limits=limits)


def has_bins(effect: Effect) -> TypeGuard[BinnedEffect]:
    """Return whether the effect has bins of positive width; those of a constant feature have none."""
    if not isinstance(effect, BinnedEffect) or len(effect.bins) == 0:
        return False
    return bool(effect.bins.high[-1] > effect.bins.low[0])


def slopes(
    effect: Effect, *, per_sd: bool = False, limits: tuple[float, float] | None = None
) -> Panel:
    """Return the slope panel: statistics and local effects per bin."""
    if not has_bins(effect):
        raise UnsupportedError(
            "slopes",
            f"{effect.spec.method} without bins",
            "an effect with bins",
            "Use sd.ALE() or sd.RHALE()",
        )
    x, effect = effect_parts.horizontal(effect), _main(effect)
    bins, about, means = effect.bins, effect.about, isinstance(effect, MPlotEffect)
    factor = about.feature_std if per_sd and not means else 1.0
    y, cell, weight = _local(effect)
    labels = ("mean slope", "± standard deviation of local effects", "local effects")
    quantity = shorten(about.quantity, LONG)
    named = ("slope per SD", about.unit)
    if means:
        labels, named = effect_parts.MEANS_OF["bin"], (quantity, about.unit)
    elif not per_sd:
        per = shorten(about.feature.slope_denominator, LONG)
        named = ("slope", f"{about.unit or quantity} per {per}")
    panel = effect_parts.spread_panel(
        x,
        named,
        labels,
        left=bins.low,
        right=bins.high,
        mean=factor * bins.effect,
        std=factor * bins.std,
        trusted=bins.trusted,
        local=(factor * y, cell, weight),
        doubtful=effect_parts.doubts(bins),
        gaps=effect_parts.hatched_gaps(effect),
        zero=not means,
        rise=factor * bins.slope_change * bins.widths if np.any(bins.slope_change) else None,
        limits=limits,
    )
    above = effect_parts.counts_above(bins.count, (bins.low + bins.high) / 2)
    return replace(panel, above=above)


def _accumulated(effect: BinnedEffect, options: EffectPlotOptions) -> Panel:
    differences = effect_parts.stepped(effect)
    notes = ("slopes are differences across bins",) if differences else ()
    return _curve(effect, options, "average effect", notes, ("effect on ", ""))


def _marginal(effect: MPlotEffect, options: EffectPlotOptions) -> Panel:
    """Return the main panel of an M-plot: means of the quantity over the rows in each bin."""
    after = " minus its mean" if effect.spec.center == "mean" else ""
    label = f"mean {shorten(effect.about.quantity, LONG)} in the bin"
    return _curve(effect, options, label, (), ("", after))


def _notes(effect: BinnedEffect) -> tuple[str, ...]:
    bins = effect.bins
    k = len(bins) if has_bins(effect) else 0
    n = int(bins.count.sum()) if k else effect.provenance.get("rows", 0) - effect.missing
    notes = [counted(n, "row")]
    notes.append(counted(k, "bin") if k else "the feature is constant")
    outside = effect.provenance.get("rows_outside", 0)
    if outside:
        notes.append(f"{outside:,} rows outside the bins")
    return tuple(notes)


def _curve(
    effect: BinnedEffect,
    options: EffectPlotOptions,
    label: str,
    notes: tuple[str, ...],
    around: tuple[str, str],
) -> Panel:
    """Return the main panel: a curve with its bands."""
    whole, effect = effect, _main(effect)
    bins = effect.bins
    at, value = curve_polygon(bins, effect.points, effect.value)
    spreads = effect_parts.spread_bands(effect, options, at, value)
    interval = effect_parts.interval(whole, options)
    curves = curves_behind(effect, options)
    individual = () if curves is None else curves.reached
    groups = () if curves is None else curves.groups
    beside = effect_parts.effects_beside(whole, options)
    x = effect_parts.horizontal(whole)
    y = effect_parts.vertical(effect, spreads, (interval,), (value, *individual), around, beside)
    hatched, texts = [], ()
    if has_bins(effect):
        gaps = effect_parts.hatched_gaps(effect)
        hatched, texts = effect_parts.hatches(effect_parts.doubts(bins), y, gaps)
    # On a grid finer than the bins only bin edges are marked; the points of an M-plot are means, and all are marked.
    finer = not isinstance(effect, MPlotEffect) and len(at) > len(bins) + 1
    vertices = np.flatnonzero(np.isin(at, bins.edges)) if finer else None
    rug = effect_parts.effect_rug(effect)
    marks: list[Mark] = [
        *effect_parts.backdrop(x),
        *(effect_parts.area(band, "heterogeneity") for band in spreads),
        *hatched,
        *([horizontal_line(0.0)] if any(around) else []),
        *(() if curves is None else curves.marks),
        effect_parts.area(interval, "interval"),
        *effect_parts.average(
            at,
            value,
            label,
            vertices=vertices,
            on_colors=curves is not None and options.color is not None,
        ),
        *lines_of_groups(effect.points, groups),
        *(() if curves is None else curves.own),
        *([] if rug is None else [rug]),
        *effect_parts.marks_beside(x, y, beside),
    ]
    tips = (
        effect_texts.bin_tooltips(effect, spreads, below=2)
        if has_bins(effect)
        else effect_texts.point_tooltips(effect, (x, y), (at, value, label), (*spreads, interval))
    )
    side_tips = effect_texts.tooltips_beside((x, y), beside, below=2)
    return Panel(
        x,
        y,
        tuple(marks),
        effect_parts.MAIN,
        title=effect_title(effect),
        notes=(
            *_notes(whole),
            *curve_notes(curves),
            *notes,
            *effect_parts.remarks(whole),
            *effect_parts.no_spread(whole, options),
        ),
        texts=(*texts, *texts_of_groups(effect.points, groups)),
        tooltips=(*tips, *side_tips),
    )


def _main(effect: BinnedEffect) -> BinnedEffect:
    """Return an effect on the main stretch of its axis."""
    part = main_part(effect).effect
    return part if isinstance(part, BinnedEffect) else effect


def _local(effect: BinnedEffect) -> tuple[Floats, Ints, Floats]:
    """Return the kept rows' local effects, their bins and their weights."""
    rows, local = effect.rows, effect_parts.local_effects(effect.rows)
    bins, cells = effect.bins, effect.cells
    if rows is None or local is None:
        return np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0)
    cell = Cells(bins.edges, cells.closed).locate(rows.x)
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    there = (cell >= 0) & (weight > 0) & np.isfinite(local)
    y, cell = local[there], cell[there]
    if effect.spec.pointwise:
        # Relative to the line within the bin, as the standard deviation of the bin is (linear trend of the slope).
        y = y - bins.slope_change[cell] * (rows.x[there] - ((bins.low + bins.high) / 2)[cell])
    elif not effect.spec.on_cells:  # otherwise these are differences across whole bins
        own = effect.moments[LOCAL].mean[cells.locate(rows.x[there])]
        y = y - own + bins.effect[cell]
    return y, cell, weight[there]
