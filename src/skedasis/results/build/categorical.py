"""Accumulated effects of categorical features, from the moments of the steps between adjacent levels.

A row at a level has two steps: from the previous level to its own, and from its own to the next. A step pools the rows
of both of its levels. Because each row contributes to two steps, standard errors are sums over rows. A row's
contribution depends only on its level and its steps, so that the second moments of the pairs of steps at each level
suffice (`build.steps`).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.binning import Binning, VarianceOptions
from skedasis.results.axis import LevelAxis, LevelStats
from skedasis.results.build.steps import UP, Steps, step_errors
from skedasis.results.effect import TRUSTED_ROWS, About, BinStats, LevelStepsEffect, Rows, Spec
from skedasis.stats import ale_math
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments


def accumulated_categorical_effect(
    levels: LevelStats,
    moments: Mapping[str, Moments],
    kept: Ints,
    spec: Spec,
    about: About,
    rows: Rows | None,
) -> LevelStepsEffect:
    """Build an accumulated effect from the moments of steps between levels: by level "down", "up" and "both".

    The levels are in the order of accumulation. `kept`, (K + 1,), are the codes at which groups of steps begin and end.
    """
    steps = Steps.of(moments)
    # Not those of the levels: a bootstrap replicate may have no row of a level.
    fraction = moments[UP].share
    codes, mean = np.arange(len(levels)), steps.mean
    start = ale_math.accumulation_matrix(np.ones(len(codes) - 1), steps.known, codes)
    value = start @ mean
    matrix, own = start, np.zeros((len(levels), len(levels)))
    if spec.center == "mean":
        matrix = start - fraction @ start
        off = -(value - fraction @ value) / moments[UP].total_size()
        own = np.broadcast_to(off, own.shape)
    error, df = step_errors(matrix, own, steps, spec)
    stats = _bin_stats(levels, steps, kept, start, spec)
    return LevelStepsEffect(
        LevelAxis(levels),
        value=matrix @ mean,
        accumulated_std=_accumulated_std(levels, steps, stats, about, spec),
        std_error=error,
        df=df,
        importance=ale_math.weighted_std(value, fraction),
        about=about,
        spec=spec,
        bins=stats,
        rows=rows,
        moments=moments,
    )


def group_steps(scheme: Binning, pooled: Moments, spec: Spec, largest: float, about: About) -> Ints:
    """Return the codes of the levels, (K + 1,), at which groups of steps begin and end, selected by a binning.

    Each step has width 1. A row counts once for each of its steps.
    """
    cells = Cells(np.arange(len(pooled.weight) + 1.0))
    options = VarianceOptions(spec.ddof, spec.weight_kind, largest, feature=about.feature.name)
    return scheme.choose(cells, pooled, options)


def _bin_stats(levels: LevelStats, steps: Steps, kept: Ints, start: Floats, spec: Spec) -> BinStats:
    """Return the statistics of the steps, or of groups of steps.

    The mean step of a group is its total difference over its length, which preserves the curve. Its variance is pooled
    within the steps, because differences between mean steps are the shape of the curve
    (docs/explanation/heterogeneity.md).
    """
    if len(levels) < 2:
        return BinStats.empty_bins()
    names, first, length = levels.array(), kept[:-1], np.diff(kept)
    form = (start[kept[1:]] - start[kept[:-1]]) / length[:, None]
    pooled = steps.pooled
    has_variance = ~np.isnan(pooled.variance(spec.ddof, spec.weight_kind))
    squares = np.add.reduceat(np.where(has_variance, pooled.m2, 0.0), first)
    df = np.where(has_variance, pooled.df(spec.ddof, spec.weight_kind), 0.0)
    divisor = np.add.reduceat(df, first)
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


def _accumulated_std(
    levels: LevelStats, steps: Steps, stats: BinStats, about: About, spec: Spec
) -> Floats:
    """Return the standard deviations of the steps, accumulated from the first level of an ordinal feature.

    The order of a nominal feature is chosen by this library, and its direction has no meaning: there it is the root
    mean square of the standard deviations of the adjacent steps.
    """
    if len(levels) < 2:
        return np.zeros(len(levels))
    std = np.sqrt(steps.pooled.variance(spec.ddof, spec.weight_kind))
    if about.feature.kind == "ordinal":
        if len(stats) < len(std):  # grouped: each step has the standard deviation of its group
            length = np.diff(np.append(levels.codes(stats.low), len(levels) - 1))
            std = np.repeat(stats.std, length)
        return ale_math.accumulated_std(np.ones(len(std)), std, spec.accumulate)
    weight = np.where(np.isnan(std), 0.0, steps.pooled.weight)
    square = np.where(np.isnan(std), 0.0, std**2)
    touching = np.append(0.0, weight) + np.append(weight, 0.0)
    total = np.append(0.0, weight * square) + np.append(weight * square, 0.0)
    return np.where(touching > 0, np.sqrt(total / np.where(touching > 0, touching, 1.0)), np.nan)
