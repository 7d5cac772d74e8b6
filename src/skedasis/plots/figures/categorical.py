"""From an `Effect` of a categorical feature to a figure specification."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skedasis._numbers import counted
from skedasis._types import Floats, Ints
from skedasis.plots.figures import effect_parts, effect_texts
from skedasis.plots.figures.curve_height import curve_label, drawn_effect, raised
from skedasis.plots.figures.effect_parts import LONG, Band
from skedasis.plots.figures.ice import grouped, individual_curves
from skedasis.plots.figures.main_panel import ROWS_HALF_WIDTH, axis_of, main_panel
from skedasis.plots.figures.observed import with_observed
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.figures.shown_levels import ShownLevels
from skedasis.plots.marks import Panel, Stack
from skedasis.plots.scales import shorten
from skedasis.results.axis import LevelStats
from skedasis.results.build.steps import Steps
from skedasis.results.effect import TRUSTED_ROWS, Curves, Effect, LevelMeansEffect, LevelStepsEffect


def level_panels(effect: Effect, every: LevelStats, options: EffectPlotOptions) -> Stack:
    """Return the panels of an effect of a categorical feature."""
    levels = ShownLevels.of(effect.about.feature, every, options.most_levels)
    if isinstance(effect, LevelStepsEffect):
        below = steps(effect, options)
        main = _main(effect, levels, options, 1 if below is None else 0)
    elif isinstance(effect, LevelMeansEffect):
        below = values(effect, options)
        main = _main(effect, levels, options, 2)
    else:
        below, main = None, _main(effect, levels, options, 1)
    main = replace(main, above=effect_parts.counts_above(levels.count, levels.x))
    counts = effect_parts.counts_panel(levels.x - 0.4, levels.x + 0.4, levels.count, main.x)
    groups = grouped(effect, options, main.x, levels.position) if options.histogram else None
    stack = with_observed(effect, options, main, below, counts)
    return (*stack, *(() if groups is None else (groups,)))


def steps(effect: LevelStepsEffect, options: EffectPlotOptions) -> Panel | None:
    """Return the panel of steps between adjacent levels; None if no two shown levels are adjacent."""
    every, bins = effect.axis.levels, effect.bins
    if len(bins) == 0:
        return None
    levels = ShownLevels.of(effect.about.feature, every, options.most_levels)
    at = levels.position
    first, last = every.codes(bins.low), every.codes(bins.high)
    # Two levels are adjacent in the figure only if they are adjacent in the order of all levels.
    there = np.flatnonzero(at[last] - at[first] == last - first)
    if len(there) == 0:
        return None
    where = np.full(len(every), -1)
    for new, old in enumerate(there):
        where[first[old] : last[old]] = new
    left, right = at[first[there]], at[last[there]]
    single = bool((last[there] - first[there] == 1).all())
    said = "average step" if single else "average step within the bin"
    mean, std, trusted = bins.effect[there], bins.std[there], bins.trusted[there]
    panel = effect_parts.spread_panel(
        axis_of(levels, effect),
        ("step to the next level", effect.about.unit),
        (said, "± SD between rows", "steps of single rows"),
        # With gaps the differences do not look like a staircase: each belongs to a pair of levels.
        left=left + 0.12,
        right=right - 0.12,
        mean=mean,
        std=std,
        trusted=trusted,
        local=_local(effect, where, there),
        doubtful=(left, right, (~trusted).astype(np.int64)),
        zero=True,
    )
    left_out = len(bins) - len(there)
    note = f"{left_out:,} of {len(bins):,} steps lead to levels that are not shown"
    tips = effect_texts.step_tooltips(
        levels.names, (left, right), mean, std, said, effect.about.unit
    )
    return replace(panel, notes=(*panel.notes, *([note] if left_out else [])), tooltips=tuple(tips))


def values(effect: LevelMeansEffect, options: EffectPlotOptions) -> Panel | None:
    """Return the panel of the rows' values at each level of an M-plot; None if no rows were kept."""
    every, rows = effect.axis.levels, effect.rows
    if rows is None or rows.effect is None or len(rows) == 0:
        return None
    levels = ShownLevels.of(effect.about.feature, every, options.most_levels)
    at = levels.position[rows.x.astype(np.int64)]
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    there = np.isfinite(at) & (weight > 0) & np.isfinite(rows.effect)
    return effect_parts.spread_panel(
        axis_of(levels, effect),
        (shorten(effect.about.quantity, LONG), effect.about.unit),
        effect_parts.MEANS_OF["level"],
        left=levels.x - 0.42,
        right=levels.x + 0.42,
        mean=raised(effect).value[levels.shown],
        std=effect.heterogeneity[levels.shown],
        trusted=levels.count >= TRUSTED_ROWS,
        local=(rows.effect[there], at[there].astype(np.int64), weight[there]),
        doubtful=levels.doubtful,
        zero=False,
    )


def _at(curves: Curves, levels: ShownLevels) -> Curves:
    """Return curves at the shown levels, with the position of each row's own level."""
    own = np.full(len(curves), np.nan)
    known = np.isfinite(curves.x)
    own[known] = levels.position[curves.x[known].astype(np.int64)]
    return replace(curves, value=curves.value[:, levels.shown], x=own)


def _main(effect: Effect, levels: ShownLevels, options: EffectPlotOptions, below: int) -> Panel:
    """Return the main panel: a value per level, with boxes of the standard deviation and the confidence interval."""
    drawn = drawn_effect(effect, options)
    shown, steps = drawn.effect, isinstance(effect, LevelStepsEffect)
    value, at = shown.value[levels.shown], levels.shown.astype(float)
    bands = effect_parts.spread_bands(shown, options, at, value)
    intervals: tuple[Band, ...] = ()
    if not effect.spec.mean_alone:
        found = effect_parts.interval(shown, options)
        ends = found.lower[levels.shown], found.upper[levels.shown]
        intervals = (Band(levels.x, *ends, found.label),)
    curves = None
    if options.ice and shown.curves is not None:
        # Over nominal levels a dash per row.
        shift = 0.0 if levels.ordered else ROWS_HALF_WIDTH
        curves = individual_curves(levels.x, _at(shown.curves, levels), options, shown, shift)
    drawn_rows: tuple[str, ...] = ()
    if curves is not None:
        drawn_rows = f"{len(curves.y):,} drawn individually", *curves.notes
    label = curve_label(effect, options, accumulated=steps)
    return main_panel(
        drawn,
        options,
        axis_of(levels, effect),
        (levels.x, value, label),
        levels=levels,
        bands=bands,
        intervals=intervals,
        curves=curves,
        doubts=levels.doubtful,
        notes=(*_notes(effect, levels), *drawn_rows),
        tooltips=effect_texts.level_tooltips(
            levels.names,
            levels.count,
            (value, label, drawn.unit),
            (*bands, *intervals),
            below,
            [] if curves is None else curves.means,
        ),
        below=below,
    )


def _local(effect: LevelStepsEffect, where: Ints, there: Ints) -> tuple[Floats, Ints, Floats]:
    """Return the local effects of the kept rows, their bins and their weights."""
    rows, bins = effect.rows, effect.bins
    if rows is None or rows.effect is None or rows.effect.ndim != 2:
        return np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0)
    code = rows.x.astype(np.int64)
    # Each row has two local effects: the difference to the previous level, and that to the next one.
    step = np.concatenate([code - 1, code])
    y = np.concatenate([rows.effect[:, 0], rows.effect[:, 1]])
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    weight = np.concatenate([weight, weight])
    known = np.isfinite(y) & (weight > 0) & (step >= 0)
    y, step, weight = y[known], step[known], weight[known]
    cell = where[step]
    there_too = cell >= 0
    y, step, weight, cell = y[there_too], step[there_too], weight[there_too], cell[there_too]
    if len(bins) < len(effect.axis) - 1:
        y = y - Steps.of(effect.moments).pooled.mean[step] + bins.effect[there][cell]
    return y, cell, weight


def _notes(effect: Effect, levels: ShownLevels) -> tuple[str, ...]:
    rows = counted(int(levels.every.count.sum()), "row")
    n = effect.provenance.get("rows_outside", 0)
    outside = (f"{counted(n, 'row')} with levels that were left out",) if n else ()
    return (rows, *levels.notes(), *outside)
