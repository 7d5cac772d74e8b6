"""Accumulated effects of numeric features (ALE, DALE, UALE, RHALE) from the moments of local effects.

`select_bins` applies a binning to the fine cells. Bins are unions of cells; if all rows are available, optimal edges
may move to positions between the edges of the cells. `accumulated_effect` builds the `Effect` on the bins: values and
standard errors by `build.linear_form`, deviations by RHALE Eq. 16 or UALE Eq. 9. `build.step_functions` builds
effects that are accumulated from steps between a feature's observed values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.binning import EXACT, Binning, Optimal, VarianceOptions
from skedasis.results.axis import NumericAxis
from skedasis.results.build.linear_form import (
    AXIS,
    LOCAL,
    SQUARED,
    LinearForm,
    bin_stats,
    linear_form,
    moments_by_cell,
)
from skedasis.results.build.step_functions import accumulated_effect_of_steps
from skedasis.results.effect import About, AccumulatedEffect, BinStats, Rows, Spec
from skedasis.stats import ale_math
from skedasis.stats.grid import Cells, at_or_above, distinct
from skedasis.stats.moments import Moments

# --- selection of bins ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SelectedBins:
    """Bins as unions of cells."""

    cells: Cells
    moments: Mapping[str, Moments]
    """By cell."""
    kept: Ints
    """Indices of the cells' edges that are edges of bins, shape (K + 1,)."""
    trend: Bools | None = None
    """Whether slopes change linearly within each bin, shape (K,)."""


def variance_options(spec: Spec, largest: float, feature: str = "") -> VarianceOptions:
    """Return the settings by which binning measures the variance of an effect's local effects."""
    noise = EXACT if spec.local_effects in ("slopes", "values") else VarianceOptions.noise
    return VarianceOptions(spec.ddof, spec.weight_kind, largest, noise, feature)


def select_bins(
    scheme: Binning,
    cells: Cells,
    moments: Mapping[str, Moments],
    spec: Spec,
    options: VarianceOptions,
    rows: Rows | None = None,
    planned: Ints | None = None,
    values: Floats | None = None,
) -> SelectedBins:
    """Return the bins that a binning selects.

    Notes
    -----
    For an edge between the edges of the cells, a cell is divided, and the moments are gathered anew from the rows.
    """
    if len(cells) == 0:
        return SelectedBins(cells, moments, np.array([0]))
    candidates = np.arange(len(cells.edges)) if planned is None else planned
    # Other moments are by value, and cannot be pooled by cell.
    coarse = {k: moments[k] for k in (LOCAL, AXIS)}
    if planned is not None:
        coarse = {k: m.pool(candidates[:-1]) for k, m in coarse.items()}
    if spec.local_effects in ("slopes", "differences", "integer_steps", "edges"):
        options = replace(options, axis=coarse[AXIS])
    segments = scheme.segments(cells.merge(candidates), coarse[LOCAL], options)
    kept = candidates[segments.edge_index]
    if (
        isinstance(scheme, Optimal)
        and spec.pointwise
        and rows is not None
        and rows.exact
        and rows.local is not None
    ):
        sharp = scheme.refine_edges(cells, kept, (rows.x, rows.local, rows.weight), options)
        if sharp is not None:
            bin_edges = sharp.edges
            if values is not None:
                bin_edges = at_or_above(values, bin_edges)
            # The largest value uses the difference from the one before; a separate bin would have no width.
            wide = np.diff(bin_edges) > 0
            bin_edges, trend = bin_edges[np.append(True, wide)], sharp.trend[wide]
            edges = distinct(np.concatenate([cells.edges, bin_edges]))
            finer = Cells(edges, cells.closed)
            gathered = _gathered(finer, rows, squared=SQUARED in moments)
            return SelectedBins(finer, gathered, np.searchsorted(edges, bin_edges), trend)
    return SelectedBins(cells, moments, kept, segments.trend)


def _gathered(cells: Cells, rows: Rows, *, squared: bool) -> dict[str, Moments]:
    """Return the moments of the local effects and of the feature by cell, from all rows."""
    if rows.local is None:
        raise TypeError("the rows of an accumulated effect need local effects")
    cell = cells.locate(rows.x)
    inside = cell >= 0
    x, effect, w = rows.x, rows.local, rows.weight
    if not inside.all():
        cell, x, effect = cell[inside], x[inside], effect[inside]
        w = None if w is None else w[inside]
    return moments_by_cell(effect, x, cell, len(cells), w, squared=squared)


# --- accumulated effects --------------------------------------------------------------------------


def accumulated_effect(
    cells: Cells,
    moments: Mapping[str, Moments],
    kept: Ints,
    spec: Spec,
    about: About,
    rows: Rows | None,
    trend: Bools | None = None,
    values: Floats | None = None,
) -> AccumulatedEffect:
    """Build an accumulated effect from the moments of local effects.

    `moments` has by cell those of the local effects ("local") and of the feature's values ("axis"). `kept`, (K + 1,),
    are indices of the cells' edges that are edges of bins; `trend`, (K,), says in which bins slopes change linearly. If
    the curve is accumulated from steps between the observed `values`, (L,), `moments` has by value "down", "up" and
    "both", too (`skedasis.results.build.steps`).
    """
    if len(cells) == 0:
        return _constant(cells, moments, spec, about, rows)
    if values is not None:
        return accumulated_effect_of_steps(values, cells, moments, kept, spec, about, rows, trend)
    form = linear_form(cells, moments, kept, spec, trend)
    bins, pieces = form.bins, form.pieces
    edges, slope = cells.edges[kept], np.where(pieces.known, pieces.slope, 0.0)
    error, df = _errors(form, spec)
    stats = bin_stats(edges, form, spec)
    accumulated = ale_math.accumulated_std(stats.widths, stats.std, spec.accumulate)
    supported = ale_math.between_known(bins.count > 0)
    return AccumulatedEffect(
        NumericAxis.of(about.feature, edges),
        value=np.where(supported, form.matrix @ slope, np.nan),
        accumulated_std=np.where(supported, accumulated, np.nan),
        std_error=np.where(supported, error, np.nan),
        df=df,
        importance=_importance(cells, moments[AXIS], kept, form, stats, pointwise=spec.pointwise),
        about=about,
        spec=spec,
        bins=stats,
        rows=rows,
        cells=cells,
        moments=moments,
    )


def _errors(form: LinearForm, spec: Spec) -> tuple[Floats, Floats]:
    """Return standard errors at the edges (docs/explanation/errors.md) and their degrees of freedom (Satterthwaite)."""
    pieces, between = form.pieces, form.between
    error, df = ale_math.std_error(
        form.matrix, pieces.error2, pieces.degrees, pieces.starts, spec.accumulate_se
    )
    if spec.center != "mean":
        return error, df
    # The centre is a mean over rows, whose distribution over the bins is random.
    variance = error**2 + between
    with np.errstate(divide="ignore", invalid="ignore"):
        within = error**2 / variance
        pooled_df = 1.0 / (within**2 / df + (1.0 - within) ** 2 / max(form.size - 1.0, 1.0))
    return np.sqrt(variance), np.where(variance > 0, pooled_df, np.inf)


def _importance(
    cells: Cells, axis: Moments, kept: Ints, form: LinearForm, stats: BinStats, *, pointwise: bool
) -> float:
    """Return the standard deviation of the curve over the data; parabolas are evaluated at the edges of the cells."""
    start, pieces = form.start, form.pieces
    if np.any(stats.slope_change):
        edges = cells.edges[kept[0] : kept[-1] + 1]
        if not pointwise:
            every = np.arange(len(cells.edges))
            matrix = ale_math.accumulation_matrix(cells.widths, pieces.known, every)
            start = matrix @ np.where(pieces.known, pieces.slope, 0.0)
        else:
            start = np.interp(edges, cells.edges[kept], start) + stats.quadratic_term(edges)
        kept = np.arange(kept[0], kept[-1] + 1)
    bins = axis.pool(kept[:-1])
    return ale_math.importance(cells.edges[kept], start, bins.weight, bins.mean, bins.m2)


def _constant(
    cells: Cells, moments: Mapping[str, Moments], spec: Spec, about: About, rows: Rows | None
) -> AccumulatedEffect:
    """Return the effect of a constant feature: zero, at one point."""
    zero = np.zeros(len(cells.edges))
    return AccumulatedEffect(
        NumericAxis.of(about.feature, cells.edges),
        zero,
        zero,
        np.full(len(zero), np.inf),
        0.0,
        about,
        spec,
        accumulated_std=zero,
        bins=BinStats.empty_bins(),
        rows=rows,
        cells=cells,
        moments=moments,
    )
