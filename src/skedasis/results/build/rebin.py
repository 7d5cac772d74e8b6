"""Rebinning: an effect on other bins, computed from the moments and rows that it keeps, without model rows.

Slopes, and the values of an M-plot, belong to points of the axis: if all rows were kept, any bins are possible.
Differences belong to the cells that they are taken across, and so do moments if the rows were not kept: new bins are
unions of these cells. The steps between the levels of an ordinal feature can be grouped.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.binning import (
    AutoUniform,
    Binning,
    Edges,
    Greedy,
    Optimal,
    Quantile,
    Uniform,
    as_binning,
    cells_for_column,
    check_rows_in_cells,
)
from skedasis.data.column_stats import Column
from skedasis.errors import UnsupportedError
from skedasis.registry import listed_methods
from skedasis.results.axis import LevelAxis
from skedasis.results.build.accumulated import (
    SelectedBins,
    accumulated_effect,
    select_bins,
    variance_options,
)
from skedasis.results.build.categorical import accumulated_categorical_effect, group_steps
from skedasis.results.build.curves import curves_on
from skedasis.results.build.linear_form import AXIS, GAP, LOCAL, RISE, SQUARED, moments_by_cell
from skedasis.results.build.pdp import m_plot
from skedasis.results.build.step_functions import select_summary_bins, summarise_in_bins
from skedasis.results.build.steps import BOTH, DOWN, UP, Steps, step_moments
from skedasis.results.effect import (
    AccumulatedEffect,
    BinnedEffect,
    Effect,
    LevelStepsEffect,
    MPlotEffect,
    Rows,
    Spec,
    ValueStepsEffect,
)
from skedasis.results.provenance import rows_outside
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments

EffectT = TypeVar("EffectT", bound=Effect)


def rebin_effect(effect: Effect, bins: Binning | int) -> Effect:
    """Return an effect on other bins; see `Effect.rebin`."""
    if isinstance(effect, LevelStepsEffect):
        result = _regrouped(effect, bins)
    elif not isinstance(effect, BinnedEffect):
        fix = "Explain again with another grid, or use a method with bins"
        raise UnsupportedError(
            f"rebin of the {effect.spec.method} of {effect.feature!r}",
            "a result without bins",
            listed_methods(lambda m: m.bins),
            "Use the levels as they are" if isinstance(effect.axis, LevelAxis) else fix,
        )
    elif len(effect.cells) == 0:
        return effect
    else:
        result = _rebinned_numeric(effect, bins)
    # The score and its spread do not depend on bins; that of an M-plot does.
    return replace(
        result,
        swap_score=effect.swap_score,
        spread=effect.spread if result.spread is None else result.spread,
        depends_on=effect.depends_on,
        observed=effect.observed,
        curves=curves_on(result, effect),
    )


def _rebinned_numeric(effect: BinnedEffect, bins: Binning | int) -> BinnedEffect:
    """Return the effect of a numeric feature on other bins."""
    is_m_plot = isinstance(effect, MPlotEffect)
    scheme = as_binning(bins, Quantile if is_m_plot else Uniform)
    if is_m_plot and isinstance(scheme, Edges) and scheme.closed is None:
        scheme = bins = replace(scheme, closed="right")  # where a number means quantiles
    spec, rows = _with_bins(effect.spec, scheme), effect.rows
    if isinstance(effect, AccumulatedEffect) and spec.on_cells:
        result = _same_curve(effect, scheme, spec)
    elif spec.pointwise and rows is not None and rows.exact and rows.local is not None:
        result = _from_rows(effect, bins, scheme, spec, rows, rows.local)
    else:
        result = _from_cells(effect, scheme, spec)
    record = {**effect.provenance, **result.provenance, "rebinned": scheme.describe()}
    record |= rows_outside(effect.provenance, effect.bins, result.bins)
    return _with_missing(effect, result).with_provenance(record)


def _with_bins(spec: Spec, scheme: Binning) -> Spec:
    return replace(spec, parameters={**spec.parameters, "bins": scheme.describe()})


def _regrouped(effect: LevelStepsEffect, bins: Binning | int) -> LevelStepsEffect:
    """Return the effect of an ordinal feature with its steps grouped anew."""
    what = f"rebin of the {effect.spec.method} of {effect.feature!r}"
    if effect.about.feature.kind != "ordinal":
        raise UnsupportedError(
            what,
            "a nominal feature, each of whose steps is a bin",
            "a numeric or an ordinal feature",
            "If the levels have an order, declare it: "
            f'sd.Feature({effect.feature!r}, "ordinal", levels=[...])',
        )
    scheme = as_binning(bins, Uniform)
    if not isinstance(scheme, (Optimal, Greedy)):
        raise UnsupportedError(
            what,
            f"{type(scheme).__name__}, whose bins are intervals of an axis",
            "Optimal or Greedy, which group levels",
            "Use for example e.rebin(sd.Optimal(alpha=0.5))",
        )
    spec, rows = _with_bins(effect.spec, scheme), effect.rows
    pooled = Steps.of(effect.moments).pooled
    levels = effect.axis.levels
    groups = np.arange(len(levels))
    if len(levels) > 1:
        groups = group_steps(scheme, pooled, spec, _largest_step(rows, pooled), effect.about)
    result = accumulated_categorical_effect(
        levels, effect.moments, groups, spec, effect.about, rows
    )
    record = {**effect.provenance, "rebinned": scheme.describe()}
    return _with_missing(effect, result).with_provenance(record)


def _largest_step(rows: Rows | None, pooled: Moments) -> float:
    """Return the largest absolute step of a row; without all rows, an estimate from the moments."""
    if rows is None or rows.effect is None or not rows.exact:
        return _typical_largest(pooled)
    return float(np.nanmax(np.abs(rows.effect), initial=0.0))


def _column(effect: Effect, rows: Rows) -> Column:
    return Column(effect.about.feature, rows.x, rows.weight, effect.about.dtype)


def _own_column(effect: Effect, cells: Cells) -> Column:
    """Return the column of the rows if all are kept, else of the means of the cells."""
    rows = effect.rows
    if rows is None or not rows.exact:
        return _column_of_means(effect, cells)
    return _column(effect, rows)


def _from_rows(
    effect: BinnedEffect,
    bins: Binning | int,
    scheme: Binning,
    spec: Spec,
    rows: Rows,
    local: Floats,
) -> BinnedEffect:
    """Return an effect of slopes, or an M-plot, on any bins."""
    cells = cells_for_column(bins, scheme, _column(effect, rows), spec.local_effects)
    cell = cells.locate(rows.x)
    inside = cell >= 0
    w = None if rows.weight is None else rows.weight[inside]
    gathered = moments_by_cell(
        *(local[inside], rows.x[inside], cell[inside], len(cells), w),
        squared=SQUARED in effect.moments,
    )
    check_rows_in_cells(effect.about.feature, gathered[LOCAL].count)
    largest = float(np.abs(local[inside]).max(initial=0.0))
    spec = replace(spec, closed=cells.closed)
    moments = {**gathered, **_by_value(effect, rows, inside)}
    values = effect.values if isinstance(effect, ValueStepsEffect) else None
    options = variance_options(spec, largest)
    selected = select_bins(scheme, cells, moments, spec, options, rows, values=values)
    return _build(effect, selected, spec)


def _by_value(effect: BinnedEffect, rows: Rows, inside: Bools) -> dict[str, Moments]:
    """Return the moments by value of the steps between values, of the rows within the bins."""
    if not isinstance(effect, ValueStepsEffect) or rows.effect is None or inside.all():
        return {k: m for k, m in effect.moments.items() if k in (UP, DOWN, BOTH)}
    code, size = np.searchsorted(effect.values, rows.x[inside]), len(effect.values)
    down, up = np.nan_to_num(rows.effect[inside]).T
    w = None if rows.weight is None else rows.weight[inside]
    return step_moments(down, up, code, size, w)


def _build(effect: BinnedEffect, selected: SelectedBins, spec: Spec) -> BinnedEffect:
    """Build the M-plot or the accumulated effect on the selected bins."""
    about, rows = effect.about, effect.rows
    if isinstance(effect, MPlotEffect):
        return m_plot(selected.cells, selected.moments, selected.kept, spec, about, rows)
    moments = {**effect.moments, **selected.moments}
    return accumulated_effect(
        selected.cells, moments, selected.kept, spec, about, rows, selected.trend, effect.values
    )


def _with_missing(before: EffectT, after: EffectT) -> EffectT:
    """Copy the point of missing values; its `value` follows the mean of a curve that is not centred."""
    point, spec = before.missing_point, after.spec
    if point is None:
        return after
    if isinstance(after, MPlotEffect):
        old, new = (_mean(m.mean, m) for m in (before.moments[LOCAL], after.moments[LOCAL]))
        # The mean over observed values excludes rows outside the new edges.
        effect = point.effect + old - new
        value = effect if spec.center == "mean" else point.effect + old
        return replace(after, missing_point=replace(point, effect=effect, value=value))
    if spec.center == "mean" or isinstance(after, LevelStepsEffect):
        return replace(after, missing_point=point)
    axis, points = after.moments[AXIS], after.axis.coordinates
    mean = _mean(after.at(np.clip(axis.mean, points[0], points[-1])), axis)
    return replace(after, missing_point=replace(point, value=point.effect + mean))


def _mean(values: Floats, moments: Moments) -> float:
    """Return the weighted mean over the cells that contain rows; NaN if there are none."""
    has_rows = moments.weight > 0
    if not has_rows.any():
        return np.nan
    return float(np.average(values[has_rows], weights=moments.weight[has_rows]))


def _from_cells(effect: BinnedEffect, scheme: Binning, spec: Spec) -> BinnedEffect:
    """Return an effect whose bins are unions of the cells; approximate if the requested edges are not the cells'."""
    cells, differences = effect.cells, not spec.pointwise
    if differences and isinstance(scheme, (Optimal, Greedy)):
        candidates, moved = np.arange(len(cells.edges)), np.zeros(1, dtype=bool)
    else:
        edges = scheme.candidates(_own_column(effect, cells)).edges
        if not isinstance(scheme, Edges):
            # All other binnings reach from the smallest to the largest value, also for an approximate column.
            edges = np.concatenate([cells.edges[:1], edges[1:-1], cells.edges[-1:]])
        candidates, moved = _nearest(cells, edges)
    if differences and moved.any() and not isinstance(scheme, AutoUniform):
        raise UnsupportedError(
            f"rebin of the {spec.method} of {effect.feature!r}",
            f"{int(moved.sum())} edges that are not in e.cells.edges",
            "unions of its cells, because each local effect is a difference across one of them",
            "Explain again with these bins, or pass a subset of e.cells.edges as sd.Edges",
        )
    first, last = candidates[0], candidates[-1]
    inner = np.flatnonzero((np.array(cells.gaps) >= first) & (np.array(cells.gaps) < last))
    gaps = tuple(int(cells.gaps[g] - first) for g in inner)
    cells = Cells(cells.edges[first : last + 1], cells.closed, gaps)
    candidates = candidates - first
    names = [name for name in (LOCAL, AXIS, SQUARED) if name in effect.moments]
    moments = {name: effect.moments[name].take(slice(first, last)) for name in names}
    if GAP in effect.moments:
        of_gaps = np.stack([2 * inner, 2 * inner + 1], axis=1).ravel()
        moments[GAP] = effect.moments[GAP].take(of_gaps)
    fine = moments[LOCAL].pool(candidates[:-1])
    options = variance_options(spec, _typical_largest(fine))
    selected = select_bins(scheme, cells, moments, spec, options, None, candidates)
    result = _build(effect, selected, spec)
    if not moved.any():
        return result
    note = {"exact": False, "approximated": "edges moved to those of the nearest fine cells"}
    return result.with_provenance(note)


def _same_curve(effect: AccumulatedEffect, scheme: Binning, spec: Spec) -> AccumulatedEffect:
    """Return an effect whose curve is given at the edges of all cells with other bins, which are unions of cells."""
    cells = effect.cells
    if scheme.uses_likelihood:
        kept = select_summary_bins(_centred(effect), effect.swap_score)
    elif isinstance(scheme, (Optimal, Greedy)):
        fine = effect.moments[LOCAL]
        kept = scheme.choose(cells, fine, variance_options(spec, _typical_largest(fine)))
    else:
        edges = scheme.candidates(_column_of_means(effect, cells)).edges
        kept, moved = _nearest(cells, edges)
        if moved.any() or kept[0] != 0 or kept[-1] != len(cells):
            raise UnsupportedError(
                f"rebin of the {spec.method} of {effect.feature!r}",
                "edges that are not a subset of e.cells.edges, or miss its first or last one",
                "unions of its cells, because each local effect is a difference across one of them",
                "Explain again with these bins, or pass such a subset as sd.Edges",
            )
    # The moments of the rows' differences across their bin are known for the present bins and for single cells.
    bin_slopes = None
    if np.array_equal(cells.edges[kept], effect.bins.edges):
        bin_slopes = effect.moments.get(RISE, effect.moments[LOCAL])
    elif len(kept) == len(cells.edges):
        bin_slopes = effect.moments[LOCAL]
    others = {k: m for k, m in effect.moments.items() if k != RISE}
    result = summarise_in_bins(replace(effect, spec=spec, moments=others), kept, bin_slopes)
    if bin_slopes is not None:
        return result
    bins = ", ".join(f"{z:.6g}" for z in cells.edges[kept])
    note = (
        "The rows' differences across these bins are unknown, so that std and heterogeneity are NaN. To compute them, "
        f"explain again with bins=sd.Edges([{bins}])."
    )
    rows = None if result.rows is None else replace(result.rows, bin_slope=None)
    return replace(result, rows=rows).with_provenance({"rebinned_note": note})


def _centred(effect: AccumulatedEffect) -> AccumulatedEffect:
    """Return the effect on all cells with ``center="mean"``, from which `explain` selected the bins."""
    cells, spec = effect.cells, replace(effect.spec, center="mean")
    every = np.arange(len(cells.edges))
    return accumulated_effect(
        cells, effect.moments, every, spec, effect.about, None, values=effect.values
    )


def _nearest(cells: Cells, targets: Floats) -> tuple[Ints, Bools]:
    """Return the indices of the edges nearest to the targets, and which targets are not among the edges."""
    edges = cells.edges
    right = np.clip(np.searchsorted(edges, targets), 1, len(edges) - 1)
    left_is_nearer = targets - edges[right - 1] <= edges[right] - targets
    nearest = np.where(left_is_nearer, right - 1, right)
    # The tolerance allows for rounding, if the same edge was computed in two ways.
    moved = np.abs(edges[nearest] - targets) > 1e-12 * np.maximum(
        np.abs(targets), edges[-1] - edges[0]
    )
    nearest = np.unique(nearest)
    return (nearest, moved) if len(nearest) > 1 else (np.array([0, len(cells)]), moved)


def _column_of_means(effect: Effect, cells: Cells) -> Column:
    """Return a column of the feature's means in the cells, and of the first and last edge, in place of the rows."""
    axis = effect.moments[AXIS]
    has_rows = axis.weight > 0
    x = np.concatenate([cells.edges[:1], axis.mean[has_rows], cells.edges[-1:]])
    tiny = np.finfo(float).tiny
    weight = np.concatenate([[tiny], axis.weight[has_rows], [tiny]])
    return Column(effect.about.feature, x, weight, effect.about.dtype)


def _typical_largest(fine: Moments) -> float:
    """Return the largest root mean square of local effects in a cell, in place of the largest local effect.

    It sets the tolerance for ties if the rows were not kept.
    """
    weight = np.maximum(fine.weight, np.finfo(float).tiny)
    return float(np.sqrt((fine.mean**2 + fine.m2 / weight).max(initial=0.0)))


def fine_cells(effect: Effect, cells: Cells, scheme: Binning) -> tuple[Cells, Ints]:
    """Return an effect's cells, and the indices of their edges that a binning may use."""
    if not effect.spec.pointwise and isinstance(scheme, (Optimal, Greedy)):
        return cells, np.arange(len(cells.edges))
    return cells, _nearest(cells, scheme.candidates(_own_column(effect, cells)).edges)[0]
