"""PDP, ICE and M-plots, from the moments of curves or of the quantity; the point of missing values.

`partial_dependence` and its variants build partial dependence from the moments, over rows, of the quantity at the
points of a grid.
`m_plot` builds M-plots, the means of the quantity over the rows of each bin or level; no row is changed for them.
`with_missing_point` adds the effect of a missing value to any effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.results.axis import LevelAxis, LevelStats, NumericAxis, PairAxis
from skedasis.results.build.linear_form import AXIS, LOCAL, variance_of_means
from skedasis.results.effect import (
    About,
    AccumulatedEffect,
    AnyMPlot,
    BinStats,
    Curves,
    Effect,
    LevelMeansEffect,
    MissingPoint,
    MPlotEffect,
    PartialDependence,
    Rows,
    Spec,
    Spread,
)
from skedasis.results.surface import PairRows, PartialDependenceSurface
from skedasis.stats import ale_math
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments

# --- partial dependence ---------------------------------------------------------------------------


SHOWN = "shown"
"""Key of the moments over rows of the surfaces that are averaged, shape (m0, m1)."""


def spread_of_curves(curves: Moments, shares: Floats, spec: Spec) -> Spread:
    """Return the standard deviation over rows of curves centred over the data, whose share at each point is given."""
    std = np.sqrt(curves.variance(1, spec.weight_kind))
    # The curves of a constant feature have one point, at which all are zero.
    std = np.nan_to_num(std) if len(std) == 1 else std
    return Spread(np.arange(len(std), dtype=float), std, np.full(len(std), np.nan), shares)


def partial_dependence(
    axis: NumericAxis | LevelAxis,
    shown: Moments,
    data: Moments | None,
    spec: Spec,
    about: About,
    rows: Rows | None,
    curves: Curves | None,
    spread: Spread | None,
) -> PartialDependence:
    """Build a partial dependence from the moments of the rows' ICE curves.

    `data` are the moments of a numeric feature between the points of its grid. For a categorical feature the result
    does not depend on the order of the levels, unless the curves are anchored at one of them.
    """
    value = shown.mean - shown.mean[0]
    if isinstance(axis, LevelAxis):
        importance = ale_math.weighted_std(value, axis.levels.share)
    else:
        importance = 0.0 if data is None else _importance(axis.points, value, data)
    return PartialDependence(
        axis,
        value=shown.mean,
        std_error=shown.mean_error(1, spec.weight_kind),
        df=shown.effective_size(spec.weight_kind) - 1,
        importance=importance,
        about=about,
        spec=spec,
        rows=rows,
        curves=curves,
        spread=None if spread is None else replace(spread, points=axis.coordinates),
        moments={} if data is None else {AXIS: data},
    )


def partial_dependence_surface(
    sides: tuple[PairAxis, PairAxis],
    shown: Moments,
    centred: Moments | None,
    spec: Spec,
    abouts: tuple[About, About],
    rows: PairRows | None,
) -> PartialDependenceSurface:
    """Build the partial dependence on two features from the moments of the rows' surfaces."""
    shape = sides[0].n_nodes, sides[1].n_nodes
    heterogeneity = np.full(shape, np.nan)
    if centred is not None:
        heterogeneity = np.nan_to_num(np.sqrt(centred.variance(1, spec.weight_kind)).reshape(shape))
    return PartialDependenceSurface(
        points=(sides[0].nodes, sides[1].nodes),
        value=shown.mean.reshape(shape),
        heterogeneity=heterogeneity,
        sides=sides,
        abouts=abouts,
        spec=spec,
        rows=rows,
        moments={} if spec.mean_alone else {SHOWN: shown.reshape(*shape)},
    )


def _importance(points: Floats, value: Floats, axis: Moments) -> float:
    """Return the weighted standard deviation over the data of the curve, which is constant outside the grid."""
    inside = axis.take(slice(1, -1))
    widths = np.diff(points)
    slope = np.diff(value) / widths if len(points) > 1 else np.zeros(0)
    # Variance between the cells' means of the curve, plus variance within the cells.
    mean = value[:-1] + slope * np.where(inside.weight > 0, inside.mean - points[:-1], 0.0)
    squares = slope**2 * inside.m2
    weight = np.concatenate([axis.weight[:1], inside.weight, axis.weight[-1:]])
    means = np.concatenate([value[:1], mean, value[-1:]])
    total = max(weight.sum(), np.finfo(float).tiny)
    between = weight / total @ (means - weight / total @ means) ** 2
    return float(np.sqrt(squares.sum() / total + between))


# --- M-plots --------------------------------------------------------------------------------------


def m_plot(
    cells: Cells,
    moments: Mapping[str, Moments],
    kept: Ints,
    spec: Spec,
    about: About,
    rows: Rows | None,
) -> MPlotEffect:
    """Build an M-plot from the moments of the quantity ("local") and of the feature ("axis") in each cell.

    `kept`, (K + 1,), are indices of the cells' edges that are edges of bins.
    """
    pooled = moments if len(cells) == 0 else {k: m.pool(kept[:-1]) for k, m in moments.items()}
    some = np.flatnonzero(pooled[LOCAL].weight > 0)
    means = {k: m.take(some) for k, m in pooled.items()}
    value, std, error, df = _means(means, spec)
    points, share = means[AXIS].mean, means[LOCAL].share
    edges = cells.edges[kept] if len(cells) else np.repeat(cells.edges, 2)
    return MPlotEffect(
        NumericAxis.of(about.feature, points),
        value=value,
        std_error=error,
        df=df,
        importance=ale_math.weighted_std(value, share),
        about=about,
        spec=spec,
        spread=Spread(points, std, np.full(len(std), np.nan), share),
        bins=_bin_stats(edges, pooled, spec),
        rows=rows,
        cells=cells,
        moments=moments,
    )


def _bin_stats(edges: Floats, moments: Mapping[str, Moments], spec: Spec) -> BinStats:
    """Return the statistics of the bins."""
    bins = moments[LOCAL]
    std = np.sqrt(bins.variance(spec.ddof, spec.weight_kind))
    size = np.where(bins.weight > 0, bins.effective_size(spec.weight_kind), 1.0)
    error = np.sqrt(variance_of_means(moments, spec)) / np.sqrt(size)
    effect = np.where(bins.weight > 0, bins.mean, np.nan)
    return BinStats.of(edges, bins, effect=effect, std=std, std_error=error)


def categorical_m_plot(
    levels: LevelStats,
    moments: Mapping[str, Moments],
    spec: Spec,
    about: About,
    rows: Rows | None,
) -> LevelMeansEffect:
    """Build the M-plot of a categorical feature from the moments of the quantity at each level."""
    local = moments[LOCAL]
    value, std, error, df = _means(moments, spec)
    return LevelMeansEffect(
        LevelAxis(levels),
        value=np.where(local.weight > 0, value, np.nan),
        std_error=error,
        df=df,
        importance=ale_math.weighted_std(value, local.share),
        about=about,
        spec=spec,
        rows=rows,
        spread=Spread(
            np.arange(len(std), dtype=float), std, np.full(len(std), np.nan), local.share
        ),
        moments=moments,
    )


def _means(moments: Mapping[str, Moments], spec: Spec) -> tuple[Floats, Floats, Floats, Floats]:
    """Return means (centred with ``center="mean"``), standard deviations, standard errors and degrees of freedom."""
    cells, kind = moments[LOCAL], spec.weight_kind
    size = np.where(cells.weight > 0, cells.effective_size(kind), 1.0)
    identity = np.eye(len(size))
    form = identity - cells.share if spec.center == "mean" else identity
    error, df = ale_math.std_error(
        form,
        ale_math.fill_from_neighbors(variance_of_means(moments, spec)) / size,
        cells.effective_size(kind) - 1.0,
        np.arange(len(size)),
        "quadrature",
    )
    value = form @ cells.mean
    if spec.center == "mean":
        # The variance of the centre due to the random distribution of the rows over the bins.
        between = ale_math.weighted_std(value, cells.share) ** 2
        error = np.sqrt(error**2 + between / cells.total_size(kind))
    return value, np.sqrt(cells.variance(spec.ddof, kind)), error, df


# --- the point of missing values ------------------------------------------------------------------


def with_missing_point(effect: Effect, own: Mapping[str, Moments], *, exact: bool) -> Effect:
    """Return an effect with its point of missing values, of which `own` are the moments, in one cell."""
    moments, kind = own[LOCAL], effect.spec.weight_kind
    if moments.count[0] == 0:
        return effect
    mean = float(moments.mean[0])
    if isinstance(effect, AnyMPlot):
        observed = effect.moments[LOCAL]
        centre = float(np.average(observed.mean, weights=observed.weight))
        difference, value = mean - centre, mean - (centre if effect.spec.center == "mean" else 0.0)
    else:
        difference, value = mean, mean + _mean_over_data(effect)
    variance = variance_of_means(own, replace(effect.spec, ddof=1))
    point = MissingPoint(
        effect=difference,
        std=float(np.sqrt(moments.variance(1, kind)[0])),
        std_error=float(np.sqrt(variance[0])) / float(np.sqrt(moments.effective_size(kind)[0])),
        count=int(moments.count[0]),
        weight=float(moments.weight[0]),
        value=value,
        exact=exact,
    )
    return replace(effect, missing_point=point)


def _mean_over_data(effect: Effect) -> float:
    """Return the mean of the curve over the data; in a linear segment it is the value at the mean of the rows."""
    if isinstance(effect.axis, LevelAxis):
        return float(effect.axis.levels.share @ effect.value)
    axis = effect.moments[AXIS]
    has_rows = axis.weight > 0
    if not has_rows.any() or (
        isinstance(effect, AccumulatedEffect) and effect.spec.center == "mean"
    ):
        return 0.0  # accumulated effects are already centred
    value = effect.at(
        np.clip(axis.mean[has_rows], effect.axis.coordinates[0], effect.axis.coordinates[-1])
    )
    return float(np.average(value, weights=axis.weight[has_rows]))
