"""From the moments of curves to PDP, ICE and M-plots; the point of missing values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.results.build.linear_form import AXIS, LOCAL
from skedasis.results.effect import (
    TRUSTED_ROWS,
    About,
    BinStats,
    Curves,
    Effect,
    LevelStats,
    MissingPoint,
    Rows,
    Spec,
)
from skedasis.results.surface import PairRows, Side, Surface
from skedasis.stats import ale_math
from skedasis.stats.grid import Cells, Grid
from skedasis.stats.moments import Moments

# ------------------------------------------------------------------------------------------
# Partial dependence: from the moments of swept values to PDP and ICE.


SHOWN = "shown"
"""Moments, over rows, of the surfaces that are averaged, shape (m0, m1)."""


def depend(
    grid: Grid,
    raw: Moments,
    anchored: Moments,
    axis: Moments,
    spec: Spec,
    about: About,
    rows: Rows | None,
    curves: Curves | None,
) -> Effect:
    """Read a partial dependence off the moments of the rows' curves.

    Parameters
    ----------
    grid : Grid
        m points.
    raw, anchored : Moments, m cells
        Over rows, of the curves and of the curves minus their own anchor.
    axis : Moments, m + 1 cells
        Of the feature, between the points and beyond them.
    spec, about, rows, curves
        Carried into the result.
    """
    kind = spec.weight_kind
    shown = raw if spec.center is None else anchored
    spread = np.sqrt(
        np.nan_to_num(
            anchored.variance(1, kind), nan=0.0 if _is_single_point(grid, spec) else np.nan
        )
    )
    error = np.sqrt(shown.variance(1, kind) / shown.effective(kind))
    return Effect(
        points=grid.points,
        value=shown.mean,
        heterogeneity=spread,
        std_error=error,
        freedom=shown.effective(kind) - 1,
        importance=_importance(grid.points, shown.mean - shown.mean[0], axis),
        about=about,
        spec=spec,
        rows=rows,
        curves=curves,
        moments={"axis": axis},
    )


def depend_levels(
    levels: LevelStats,
    raw: Moments,
    anchored: Moments,
    spec: Spec,
    about: About,
    rows: Rows | None,
    curves: Curves | None,
) -> Effect:
    """Read the partial dependence on a categorical feature off the moments of the rows' curves over its levels.

    Parameters are those of `depend`. Nothing here depends on the order of the levels, unless the curves are anchored at
    one of them.
    """
    kind = spec.weight_kind
    shown = raw if spec.center is None else anchored
    spread = np.sqrt(
        np.nan_to_num(
            anchored.variance(1, kind), nan=0.0 if _is_single_point(levels, spec) else np.nan
        )
    )
    value = shown.mean - shown.mean[0]
    share = levels.share
    return Effect(
        points=levels.array(),
        value=shown.mean,
        heterogeneity=spread,
        std_error=np.sqrt(shown.variance(1, kind) / shown.effective(kind)),
        freedom=shown.effective(kind) - 1,
        importance=float(np.sqrt(share @ (value - share @ value) ** 2)),
        about=about,
        spec=spec,
        rows=rows,
        curves=curves,
        levels=levels,
    )


def depend_pair(
    sides: tuple[Side, Side],
    raw: Moments,
    anchored: Moments,
    spec: Spec,
    abouts: tuple[About, About],
    rows: PairRows | None,
) -> Surface:
    """Read the partial dependence on two features off the moments of the rows' surfaces.

    Parameters
    ----------
    sides : tuple of two Side
    raw, anchored : Moments, m0 * m1 cells
        Over rows, of their values on the product grid, and of these minus each row's mean over it.
    spec, abouts, rows
        Carried into the result.
    """
    shape = sides[0].m, sides[1].m
    shown = raw if spec.center is None else anchored
    spread = np.sqrt(anchored.variance(1, spec.weight_kind)).reshape(shape)
    if not spec.mean_alone:
        spread = np.nan_to_num(spread)
    return Surface(
        points=(sides[0].nodes, sides[1].nodes),
        value=shown.mean.reshape(shape),
        heterogeneity=spread,
        sides=sides,
        abouts=abouts,
        spec=spec,
        rows=rows,
        moments={} if spec.mean_alone else {SHOWN: shown.reshape(*shape)},
    )


def _importance(points: Floats, value: Floats, axis: Moments) -> float:
    """Return the weighted standard deviation over the data of the curve, constant beyond the grid."""
    inside = axis.take(slice(1, -1))
    widths = np.diff(points)
    slope = np.diff(value) / widths if len(points) > 1 else np.zeros(0)
    level = value[:-1] + slope * np.where(inside.weight > 0, inside.mean - points[:-1], 0.0)
    scatter = slope**2 * inside.m2
    weight = np.concatenate([axis.weight[:1], inside.weight, axis.weight[-1:]])
    levels = np.concatenate([value[:1], level, value[-1:]])
    share = weight / max(weight.sum(), np.finfo(float).tiny)
    return float(
        np.sqrt(
            scatter.sum() / max(weight.sum(), np.finfo(float).tiny)
            + share @ (levels - share @ levels) ** 2
        )
    )


def _is_single_point(points: Grid | LevelStats, spec: Spec) -> bool:
    """Return whether there is one point only: nothing can scatter around itself."""
    return len(points) == 1 and not spec.mean_alone


# ------------------------------------------------------------------------------------------
# M-plots: the mean of a quantity over the rows of each bin, or of each level. No row is altered.


def marginal(
    cells: Cells,
    moments: Mapping[str, Moments],
    kept: Ints,
    spec: Spec,
    about: About,
    rows: Rows | None,
) -> Effect:
    """Read an M-plot off the moments of the quantity and of the feature in each cell.

    Parameters
    ----------
    cells : Cells
    moments : mapping of str to Moments
        ``"local"`` of the quantity, ``"axis"`` of the feature.
    kept : ndarray of int, shape (K + 1,)
        The edges that stay.
    spec, about, rows
        Carried into the result.

    Returns
    -------
    Effect
        Its points are the bins that hold rows, each at the mean of the feature there.
    """
    bins, axis = (
        m if len(cells) == 0 else m.pool(kept[:-1]) for m in (moments[LOCAL], moments[AXIS])
    )
    there = bins.weight > 0
    value, spread, error, freedom = _means(bins.take(np.flatnonzero(there)), spec)
    share = bins.weight[there] / max(float(bins.weight.sum()), np.finfo(float).tiny)
    return Effect(
        points=axis.mean[there],
        value=value,
        heterogeneity=spread,
        std_error=error,
        freedom=freedom,
        importance=_scatter(value, share),
        about=about,
        spec=spec,
        bins=_statistics(
            cells.edges[kept] if len(cells) else np.repeat(cells.edges, 2), bins, spec
        ),
        rows=rows,
        cells=cells,
        moments=moments,
    )


def _statistics(edges: Floats, bins: Moments, spec: Spec) -> BinStats:
    """Return the bins' figures."""
    there = bins.weight > 0
    std = np.sqrt(bins.variance(spec.ddof, spec.weight_kind))
    size = np.where(there, bins.effective(spec.weight_kind), 1.0)
    return BinStats(
        low=edges[:-1],
        high=edges[1:],
        count=bins.count.astype(int),
        weight=bins.weight,
        effect=np.where(there, bins.mean, np.nan),
        std=std,
        std_error=std / np.sqrt(size),
        empty=~there,
        trusted=bins.count >= TRUSTED_ROWS,
    )


def marginal_levels(
    levels: LevelStats,
    moments: Mapping[str, Moments],
    spec: Spec,
    about: About,
    rows: Rows | None,
) -> Effect:
    """Read an M-plot of a categorical feature off the moments of the quantity at each level."""
    local = moments[LOCAL]
    value, spread, error, freedom = _means(local, spec)
    share = local.weight / max(float(local.weight.sum()), np.finfo(float).tiny)
    return Effect(
        points=levels.array(),
        value=np.where(local.weight > 0, value, np.nan),
        heterogeneity=spread,
        std_error=error,
        freedom=freedom,
        importance=_scatter(value, share),
        about=about,
        spec=spec,
        rows=rows,
        moments=moments,
        levels=levels,
    )


def _means(cells: Moments, spec: Spec) -> tuple[Floats, Floats, Floats, Floats]:
    """Return means (centred, if asked for), spreads, standard errors and degrees of freedom."""
    kind = spec.weight_kind
    variance = cells.variance(spec.ddof, kind)
    size = np.where(cells.weight > 0, cells.effective(kind), 1.0)
    weight = max(float(cells.weight.sum()), np.finfo(float).tiny)
    share = cells.weight / weight
    form = np.eye(len(share)) - share if spec.center == "mean" else np.eye(len(share))
    error, freedom = ale_math.std_error(
        form,
        ale_math.borrowed(variance) / size,
        cells.effective(kind) - 1.0,
        np.arange(len(share)),
        "quadrature",
    )
    value = form @ cells.mean
    if spec.center == "mean":
        n = weight if kind == "frequency" else weight**2 / float(cells.weight2.sum())
        error = np.sqrt(error**2 + _scatter(value, share) ** 2 / n)
    return value, np.sqrt(variance), error, freedom


def _scatter(value: Floats, share: Floats) -> float:
    """Return the standard deviation over the data of the bins' means."""
    mean = share @ value
    return float(np.sqrt(share @ (value - mean) ** 2))


# ------------------------------------------------------------------------------------------
# The point of missing values beside a curve.


def with_missing(effect: Effect, moments: Moments, *, exact: bool) -> Effect:
    """Return an effect with its point of missing values.

    Parameters
    ----------
    effect : Effect
    moments : Moments, one cell
        Over the rows without a value: of the quantity minus its mean over observed values; in an M-plot, of the
        quantity itself.
    exact : bool
        Whether all observed values took part.
    """
    if moments.count[0] == 0:
        return effect
    kind = effect.spec.weight_kind
    mean = float(moments.mean[0])
    if effect.spec.local == "values":
        seen = effect.moments[LOCAL]
        level = float(np.average(seen.mean, weights=seen.weight))
        gain, value = mean - level, mean - (level if effect.spec.center == "mean" else 0.0)
    else:
        gain, value = mean, mean + _mean_over_data(effect)
    std = float(np.sqrt(moments.variance(1, kind)[0]))
    point = MissingPoint(
        effect=gain,
        std=std,
        std_error=std / float(np.sqrt(moments.effective(kind)[0])),
        count=int(moments.count[0]),
        weight=float(moments.weight[0]),
        value=value,
        exact=exact,
    )
    return replace(effect, missing_point=point)


def _mean_over_data(effect: Effect) -> float:
    """Return the curve's mean over the data; a linear piece's is its value at the mean of its rows."""
    if effect.levels is not None:
        return float(effect.levels.share @ effect.value)
    axis = effect.moments[AXIS]
    there = axis.weight > 0
    if not there.any() or (effect.bins is not None and effect.spec.center == "mean"):
        return 0.0  # accumulated effects are centred already
    value = effect.at(np.clip(axis.mean[there], effect.points[0], effect.points[-1]))
    return float(np.average(value, weights=axis.weight[there]))
