"""From an `Effect` to a figure specification."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

import numpy as np

from skedasis._numbers import counted, percent
from skedasis._types import Floats, Ints
from skedasis.errors import UnsupportedError
from skedasis.plots.figures import categorical, effect_parts, effect_texts
from skedasis.plots.figures.curve_height import curve_label, drawn_effect, with_scale
from skedasis.plots.figures.effect_parts import LONG
from skedasis.plots.figures.ice import (
    LABELS,
    curve_notes,
    grouped,
    individual_curves,
    marked_regions,
)
from skedasis.plots.figures.main_panel import main_panel
from skedasis.plots.figures.observed import observed_text, with_observed
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.marks import FigureSpec, Panel, Stack
from skedasis.plots.scales import shorten
from skedasis.registry import listed_methods
from skedasis.results.axis import LevelAxis
from skedasis.results.build.linear_form import AXIS, LOCAL, curve_polygon
from skedasis.results.checks.elevated_regions import elevated_regions
from skedasis.results.effect import AnyMPlot, BinnedEffect, Effect, MPlotEffect
from skedasis.results.main_stretch import main_part
from skedasis.stats.grid import Cells

VERTICES = 13
"""A grid of at most this many points has marks."""


def effect_figure(effect: Effect, options: EffectPlotOptions | None = None) -> FigureSpec:
    """Return the figure specification of an effect."""
    if options is not None and options.ice and options.curves and effect.curves is None:
        raise no_curves(effect, "curves")
    stack = effect_panels(effect, options)
    alt = effect_texts.alt_text(effect, stack[0])
    alt = " ".join(filter(None, [alt, observed_text(effect, options, stack[0].x)]))
    return FigureSpec((stack,), str(stack[0].title), alt, order=effect_parts.legend_order(stack))


def effect_panels(effect: Effect, options: EffectPlotOptions | None = None) -> Stack:
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
    effect, options = with_scale(effect, options)
    axis = effect.axis
    curve = not isinstance(effect, BinnedEffect) and not isinstance(axis, LevelAxis)
    if options.elevated_regions and not curve:
        elevated_regions(effect)  # raises an error that names what is needed
    if isinstance(axis, LevelAxis):
        return categorical.level_panels(effect, axis.levels, options)
    if not isinstance(effect, BinnedEffect):
        main = _dependence(effect, options)
        groups = (grouped(effect, options, main.x),) if options.histogram else ()
        return (*with_observed(effect, options, main), *groups)
    main = _curve(effect, options)
    if not has_bins(effect):
        return with_observed(effect, options, main)
    shown = _main(effect)
    bins = shown.bins
    groups = (grouped(effect, options, main.x),) if options.histogram else ()
    if effect.observed is None:
        counts = effect_parts.counts_panel(bins.low, bins.high, bins.count, main.x)
        return (main, slopes(effect), counts, *groups)
    # Those of the main panel are about cells.
    tips = effect_texts.bin_tooltips(shown, curve_label(effect, options), (), below=0)
    detail = replace(slopes(effect), above=(), tooltips=tuple(tips))
    return (*with_observed(effect, options, main, detail), *groups)


def no_curves(effect: Effect, option: str) -> UnsupportedError:
    """Return the error for an option of individual curves of an effect that keeps none."""
    method = "method='ale', " if isinstance(effect, AnyMPlot) else ""
    return UnsupportedError(
        f"plot({option})",
        f"{effect.spec.method} without individual curves",
        "an effect that keeps curves of rows",
        f"Compute them with the effect: sd.explain(..., {method}curves=30); or omit {option}",
    )


def has_bins(effect: Effect) -> TypeGuard[BinnedEffect]:
    """Return whether the effect has bins of positive width; those of a constant feature have none."""
    if not isinstance(effect, BinnedEffect) or len(effect.bins) == 0:
        return False
    return bool(effect.bins.high[-1] > effect.bins.low[0])


def slopes(effect: Effect) -> Panel:
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
    y, cell, weight = _local(effect)
    labels = ("average slope", "± SD between rows", "slopes of single rows")
    quantity = shorten(about.quantity, LONG)
    per = shorten(about.feature.slope_denominator, LONG)
    named = ("slope", f"{about.unit or quantity} per {per}")
    if means:
        labels, named = effect_parts.MEANS_OF["bin"], (quantity, about.unit)
    panel = effect_parts.spread_panel(
        x,
        named,
        labels,
        left=bins.low,
        right=bins.high,
        mean=bins.effect,
        std=bins.std,
        trusted=bins.trusted,
        local=(y, cell, weight),
        doubtful=effect_parts.doubts(bins),
        gaps_of=effect,
        zero=not means,
        rise=bins.slope_change * bins.widths if np.any(bins.slope_change) else None,
    )
    above = effect_parts.counts_above(bins.count, (bins.low + bins.high) / 2)
    return replace(panel, above=above)


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


def _curve(effect: BinnedEffect, options: EffectPlotOptions) -> Panel:
    """Return the main panel: a curve with its bands."""
    drawn, means = drawn_effect(effect, options), isinstance(effect, MPlotEffect)
    shown, notes = _main(drawn.effect), _notes(effect)
    bins, binned = shown.bins, has_bins(shown)
    at, value = curve_polygon(bins, shown.points, shown.value)
    label = curve_label(effect, options, accumulated=True)
    if means:
        label = f"mean {shorten(effect.about.quantity, LONG)} in the bin"
    elif effect_parts.stepped(effect):
        notes += ("slopes: rise across the bin / its width",)
    bands = effect_parts.spread_bands(shown, options, at, value)
    interval = effect_parts.interval(drawn.effect, options)
    curves = None
    if options.ice is not None:
        curves = individual_curves(shown.points, shown.curves, options, shown)
    x, curve = effect_parts.horizontal(effect), (at, value, label)
    # On a grid finer than the bins, edges of bins would look like special points; those of an M-plot are means.
    finer = not means and len(at) > len(bins) + 1
    return main_panel(
        drawn,
        options,
        x,
        curve,
        bands=bands,
        intervals=(interval,),
        curves=curves,
        vertices=np.zeros(0, dtype=np.int64) if finer else None,
        doubts=effect_parts.doubts(bins) if binned else None,
        gaps_of=shown if binned else None,
        notes=(*notes, *curve_notes(curves)),
        tooltips=effect_texts.bin_tooltips(shown, label, bands, below=2)
        if binned
        else effect_texts.point_tooltips(shown, x, drawn.unit, curve, (*bands, interval)),
        below=2,
    )


def _dependence(effect: Effect, options: EffectPlotOptions) -> Panel:
    """Return the panel of a PDP, ICE or d-ICE of a numeric feature."""
    drawn = drawn_effect(effect, options)
    shown = main_part(drawn.effect).effect
    at, value = shown.points, shown.value
    bands = effect_parts.spread_bands(shown, options, at, value)
    intervals = () if effect.spec.mean_alone else (effect_parts.interval(drawn.effect, options),)
    curves = individual_curves(at, shown.curves, options, shown) if options.ice else None
    rows = round(float(effect.moments[AXIS].count.sum())) + effect.missing
    x = effect_parts.horizontal(effect)
    curve = (at, value, curve_label(effect, options))
    regions = marked_regions(effect, options, at)
    return main_panel(
        drawn,
        options,
        x,
        curve,
        bands=bands,
        intervals=intervals,
        curves=curves,
        vertices=None if len(at) <= VERTICES else np.zeros(0, dtype=np.int64),
        gaps_of=shown,
        regions=regions,
        notes=(counted(rows, "row"), *curve_notes(curves), *_outside_grid(effect)),
        tooltips=effect_texts.point_tooltips(
            shown,
            x,
            drawn.unit,
            curve,
            (*bands, *intervals),
            [(r.left, r.right, LABELS[r.verdict]) for r in regions],
            [] if curves is None else curves.means,
        ),
        below=0,
    )


def _outside_grid(effect: Effect) -> tuple[str, ...]:
    """Return a note on the percentage of rows outside the grid; by default about a tenth."""
    if effect.rows is None or len(effect.rows) == 0:
        return ()
    x, weight = effect.rows.x, effect.rows.weight
    outside = (x < effect.points[0]) | (x > effect.points[-1])
    share = float(np.average(outside, weights=weight))
    about = "" if effect.rows.exact else "about "
    return (f"{about}{percent(share)} of rows outside the grid",) if share > 0 else ()


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
