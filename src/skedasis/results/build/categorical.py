"""From the moments of steps between levels to an accumulated effect of a categorical feature.

A row at a level takes two steps: from the level before to its own, and from its own to the level after. A step pools
the rows of both its levels, so a row takes part in two steps, and errors have to be summed row by row. Since a row's
part depends on its level alone, the second moments of each level's pairs of steps are enough for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.binning import Binning, Spread
from skedasis.results.build.steps import UP, Steps, step_errors
from skedasis.results.effect import TRUSTED_ROWS, About, BinStats, Effect, LevelStats, Rows, Spec
from skedasis.stats import ale_math
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments


def accumulate_levels(
    levels: LevelStats,
    moments: Mapping[str, Moments],
    kept: Ints,
    spec: Spec,
    about: About,
    rows: Rows | None,
) -> Effect:
    """Read an accumulated effect off the moments of steps between levels.

    Parameters
    ----------
    levels : LevelStats
        In the order of accumulation.
    moments : mapping of str to Moments
        By level: ``"down"``, ``"up"``, ``"both"``.
    kept : ndarray of int, shape (K + 1,)
        Levels at which runs of steps begin and end: all levels, unless steps were grouped.
    spec, about, rows
        Carried into the result.

    Returns
    -------
    Effect
    """
    steps = Steps.of(moments)
    weight = moments[UP].weight  # of the rows at hand: a bootstrap may have drawn none of a level
    share = weight / max(float(weight.sum()), np.finfo(float).tiny)
    places = np.arange(len(levels))
    start, mean = ale_math.accumulation(np.ones(len(places) - 1), steps.known, places), steps.mean
    value = start @ mean
    matrix, own = start, np.zeros((len(levels), len(levels)))
    if spec.center == "mean":
        matrix = start - share @ start
        own = np.broadcast_to(
            -(value - share @ value) / max(float(weight.sum()), np.finfo(float).tiny), own.shape
        )
    error, freedom = step_errors(matrix, own, steps, spec)
    stats = _statistics(levels, steps, kept, start, spec)
    return Effect(
        points=levels.array(),
        value=matrix @ mean,
        heterogeneity=_spread(levels, steps, stats, about, spec),
        std_error=error,
        freedom=freedom,
        importance=float(np.sqrt(share @ (value - share @ value) ** 2)),
        about=about,
        spec=spec,
        bins=stats,
        rows=rows,
        moments=moments,
        levels=levels,
    )


def grouped(scheme: Binning, pooled: Moments, spec: Spec, largest: float, about: About) -> Ints:
    """Return the levels at which runs of steps begin and end, as a scheme of bins chooses them.

    Steps have no width of their own: each counts 1. A row counts once for each of its steps.

    Parameters
    ----------
    scheme : Binning
        One that chooses.
    pooled : Moments, L - 1 steps
    spec, about
        Of the result.
    largest : float
        The largest absolute step of a row.

    Returns
    -------
    ndarray of int, shape (K + 1,)
    """
    cells = Cells(np.arange(len(pooled.weight) + 1.0))
    spread = Spread(spec.ddof, spec.weight_kind, largest, feature=about.feature.name)
    return scheme.choose(cells, pooled, spread)


def _statistics(
    levels: LevelStats, steps: Steps, kept: Ints, start: Floats, spec: Spec
) -> BinStats:
    """Return the figures of the steps, or of runs of steps.

    The mean step of a run is its rise over its length, so that no rise is lost; its variance pools those within its
    steps, for how steps differ is the curve's own shape (docs/explanation/heterogeneity.md).
    """
    if len(levels) < 2:
        return BinStats.none()
    names, first, length = levels.array(), kept[:-1], np.diff(kept)
    form = (start[kept[1:]] - start[kept[:-1]]) / length[:, None]
    pooled = steps.pooled
    own = ~np.isnan(pooled.variance(spec.ddof, spec.weight_kind))
    squares = np.add.reduceat(np.where(own, pooled.m2, 0.0), first)
    divisor = np.add.reduceat(
        np.where(own, pooled.degrees(spec.ddof, spec.weight_kind), 0.0), first
    )
    variance = np.where(divisor > 0, squares / np.where(divisor > 0, divisor, 1.0), np.nan)
    error, _ = step_errors(form, np.zeros((len(form), len(levels))), steps, spec)
    spans = [slice(a, b + 1) for a, b in pairwise(kept)]
    count = np.array([levels.count[s].sum() for s in spans])
    return BinStats(
        low=names[kept[:-1]],
        high=names[kept[1:]],
        count=count,
        weight=np.array([levels.weight[s].sum() for s in spans]),
        effect=form @ steps.mean,
        std=np.sqrt(variance),
        std_error=np.where(np.isnan(variance), np.nan, error),
        empty=count == 0,
        trusted=count >= TRUSTED_ROWS,
    )


def _spread(levels: LevelStats, steps: Steps, stats: BinStats, about: About, spec: Spec) -> Floats:
    """Return the heterogeneity at the levels.

    With an order of the feature's own it is accumulated from the first level, as along an axis. A nominal feature's
    order is ours, and its direction means nothing: there it stays with the steps, and a level shows those that touch
    it.
    """
    if len(levels) < 2:
        return np.zeros(len(levels))
    std = np.sqrt(steps.pooled.variance(spec.ddof, spec.weight_kind))
    if about.feature.kind == "ordinal":
        if len(stats) < len(std):  # grouped: the spread within the group, for each of its steps
            length = np.diff(np.append(levels.places(stats.low), len(levels) - 1))
            std = np.repeat(stats.std, length)
        return ale_math.heterogeneity(np.ones(len(std)), std, spec.accumulate)
    weight = np.where(np.isnan(std), 0.0, steps.pooled.weight)
    square = np.where(np.isnan(std), 0.0, std**2)
    touching = np.append(0.0, weight) + np.append(weight, 0.0)
    total = np.append(0.0, weight * square) + np.append(weight * square, 0.0)
    return np.where(touching > 0, np.sqrt(total / np.where(touching > 0, touching, 1.0)), np.nan)
