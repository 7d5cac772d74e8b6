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
from skedasis.results.build.linear_form import AXIS, LOCAL
from skedasis.results.effect import (
    TRUSTED_ROWS,
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
from skedasis.stats.grid import Cells, Grid
from skedasis.stats.moments import Moments

# --- partial dependence ---------------------------------------------------------------------------


SHOWN = "shown"
"""Key of the moments over rows of the surfaces that are averaged, shape (m0, m1)."""


def spread_of_curves(curves: Moments, shares: Floats, spec: Spec) -> Spread:
    """Return the standard deviation over rows of curves that are centred over the data.

    Parameters
    ----------
    curves : Moments, m cells
    shares : ndarray of float, shape (m,)
        Fraction of the data at each point.
    spec : Spec
    """
    std = np.sqrt(curves.variance(1, spec.weight_kind))
    # The curves of a constant feature have one point, at which all are zero.
    std = np.nan_to_num(std) if len(std) == 1 else std
    return Spread(np.arange(len(std), dtype=float), std, np.full(len(std), np.nan), shares)


def partial_dependence(
    grid: Grid,
    shown: Moments,
    axis: Moments,
    spec: Spec,
    about: About,
    rows: Rows | None,
    curves: Curves | None,
    spread: Spread | None,
) -> PartialDependence:
    """Build a partial dependence from the moments of the rows' ICE curves."""
    kind = spec.weight_kind
    error = np.sqrt(shown.variance(1, kind) / shown.effective_size(kind))
    return PartialDependence(
        NumericAxis.of(about.feature, grid.points),
        value=shown.mean,
        std_error=error,
        df=shown.effective_size(kind) - 1,
        importance=_importance(grid.points, shown.mean - shown.mean[0], axis),
        about=about,
        spec=spec,
        rows=rows,
        curves=curves,
        spread=None if spread is None else replace(spread, points=grid.points),
        moments={"axis": axis},
    )


def categorical_partial_dependence(
    levels: LevelStats,
    shown: Moments,
    spec: Spec,
    about: About,
    rows: Rows | None,
    curves: Curves | None,
    spread: Spread | None,
) -> PartialDependence:
    """Build the partial dependence on a categorical feature from the moments of the rows' curves over its levels.

    The parameters are those of `partial_dependence`. The result does not depend on the order of the levels, unless the
    curves are anchored at one of them.
    """
    kind = spec.weight_kind
    value = shown.mean - shown.mean[0]
    share = levels.share
    return PartialDependence(
        LevelAxis(levels),
        value=shown.mean,
        std_error=np.sqrt(shown.variance(1, kind) / shown.effective_size(kind)),
        df=shown.effective_size(kind) - 1,
        importance=float(np.sqrt(share @ (value - share @ value) ** 2)),
        about=about,
        spec=spec,
        rows=rows,
        curves=curves,
        spread=spread,
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
    fraction = weight / max(weight.sum(), np.finfo(float).tiny)
    return float(
        np.sqrt(
            squares.sum() / max(weight.sum(), np.finfo(float).tiny)
            + fraction @ (means - fraction @ means) ** 2
        )
    )


# --- M-plots --------------------------------------------------------------------------------------


def m_plot(
    cells: Cells,
    moments: Mapping[str, Moments],
    kept: Ints,
    spec: Spec,
    about: About,
    rows: Rows | None,
) -> MPlotEffect:
    """Build an M-plot from the moments of the quantity and of the feature in each cell.

    Parameters
    ----------
    cells : Cells
    moments : mapping of str to Moments
        ``"local"`` of the quantity, ``"axis"`` of the feature.
    kept : ndarray of int, shape (K + 1,)
        Indices of the cells' edges that are edges of bins.
    spec, about, rows
        Copied to the result.
    """
    bins, axis = (
        m if len(cells) == 0 else m.pool(kept[:-1]) for m in (moments[LOCAL], moments[AXIS])
    )
    has_rows = bins.weight > 0
    value, std, error, df = _means(bins.take(np.flatnonzero(has_rows)), spec)
    fraction = bins.weight[has_rows] / max(float(bins.weight.sum()), np.finfo(float).tiny)
    return MPlotEffect(
        NumericAxis.of(about.feature, axis.mean[has_rows]),
        value=value,
        std_error=error,
        df=df,
        importance=_weighted_std(value, fraction),
        about=about,
        spec=spec,
        spread=_spread_of_means(axis.mean[has_rows], std, fraction),
        bins=_bin_stats(cells.edges[kept] if len(cells) else np.repeat(cells.edges, 2), bins, spec),
        rows=rows,
        cells=cells,
        moments=moments,
    )


def _bin_stats(edges: Floats, bins: Moments, spec: Spec) -> BinStats:
    """Return the statistics of the bins."""
    has_rows = bins.weight > 0
    std = np.sqrt(bins.variance(spec.ddof, spec.weight_kind))
    size = np.where(has_rows, bins.effective_size(spec.weight_kind), 1.0)
    return BinStats(
        low=edges[:-1],
        high=edges[1:],
        count=bins.count.astype(int),
        weight=bins.weight,
        effect=np.where(has_rows, bins.mean, np.nan),
        std=std,
        std_error=std / np.sqrt(size),
        empty=~has_rows,
        trusted=bins.count >= TRUSTED_ROWS,
    )


def categorical_m_plot(
    levels: LevelStats,
    moments: Mapping[str, Moments],
    spec: Spec,
    about: About,
    rows: Rows | None,
) -> LevelMeansEffect:
    """Build the M-plot of a categorical feature from the moments of the quantity at each level."""
    local = moments[LOCAL]
    value, std, error, df = _means(local, spec)
    fraction = local.weight / max(float(local.weight.sum()), np.finfo(float).tiny)
    return LevelMeansEffect(
        LevelAxis(levels),
        value=np.where(local.weight > 0, value, np.nan),
        std_error=error,
        df=df,
        importance=_weighted_std(value, fraction),
        about=about,
        spec=spec,
        rows=rows,
        spread=_spread_of_means(np.arange(len(levels), dtype=float), std, fraction),
        moments=moments,
    )


def _spread_of_means(points: Floats, std: Floats, fraction: Floats) -> Spread:
    """Return the standard deviations of the quantity around its means."""
    return Spread(points, std, np.full(len(std), np.nan), fraction)


def _means(cells: Moments, spec: Spec) -> tuple[Floats, Floats, Floats, Floats]:
    """Return means (centred with ``center="mean"``), standard deviations, standard errors and degrees of freedom."""
    kind = spec.weight_kind
    variance = cells.variance(spec.ddof, kind)
    size = np.where(cells.weight > 0, cells.effective_size(kind), 1.0)
    weight = max(float(cells.weight.sum()), np.finfo(float).tiny)
    fraction = cells.weight / weight
    form = np.eye(len(fraction)) - fraction if spec.center == "mean" else np.eye(len(fraction))
    error, df = ale_math.std_error(
        form,
        ale_math.fill_from_neighbors(variance) / size,
        cells.effective_size(kind) - 1.0,
        np.arange(len(fraction)),
        "quadrature",
    )
    value = form @ cells.mean
    if spec.center == "mean":
        # The variance of the centre due to the random distribution of the rows over the bins.
        n = weight if kind == "frequency" else weight**2 / float(cells.weight2.sum())
        error = np.sqrt(error**2 + _weighted_std(value, fraction) ** 2 / n)
    return value, np.sqrt(variance), error, df


def _weighted_std(value: Floats, fraction: Floats) -> float:
    """Return the standard deviation over the data of the bins' means, with the fraction of rows in each bin."""
    mean = fraction @ value
    return float(np.sqrt(fraction @ (value - mean) ** 2))


# --- the point of missing values ------------------------------------------------------------------


def with_missing_point(effect: Effect, moments: Moments, *, exact: bool) -> Effect:
    """Return an effect with its point of missing values."""
    if moments.count[0] == 0:
        return effect
    kind = effect.spec.weight_kind
    mean = float(moments.mean[0])
    if isinstance(effect, AnyMPlot):
        observed = effect.moments[LOCAL]
        centre = float(np.average(observed.mean, weights=observed.weight))
        difference, value = mean - centre, mean - (centre if effect.spec.center == "mean" else 0.0)
    else:
        difference, value = mean, mean + _mean_over_data(effect)
    std = float(np.sqrt(moments.variance(1, kind)[0]))
    point = MissingPoint(
        effect=difference,
        std=std,
        std_error=std / float(np.sqrt(moments.effective_size(kind)[0])),
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
