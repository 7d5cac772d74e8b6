"""Partial dependence: from the moments of swept values to PDP and ICE."""

from __future__ import annotations

import numpy as np

from skedasis._types import Floats
from skedasis.results.effect import Effect
from skedasis.results.parts import Curves, LevelStats, Rows
from skedasis.results.spec import About, Spec
from skedasis.results.surfaces.pair_parts import PairRows
from skedasis.results.surfaces.side import Side
from skedasis.results.surfaces.surface import Surface
from skedasis.stats.grid import Grid
from skedasis.stats.moments import Moments

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
        np.nan_to_num(anchored.variance(1, kind), nan=0.0 if _level(grid, spec) else np.nan)
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
        np.nan_to_num(anchored.variance(1, kind), nan=0.0 if _level(levels, spec) else np.nan)
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


def _level(points: Grid | LevelStats, spec: Spec) -> bool:
    """Return whether there is one point only: nothing can scatter around itself."""
    return len(points) == 1 and not spec.mean_alone
