"""Accumulated effects of categorical features: from the moments of steps between levels to an effect.

A row at a level takes two steps: from the level before to its own, and from its own to the level after. A step pools
the rows of both its levels, so a row takes part in two steps, and errors have to be summed row by row. Since a row's
part depends on its level alone, the second moments of each level's pairs of steps are enough for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from skedasis import curves
from skedasis.binning import Binning, Spread
from skedasis.cells import Cells
from skedasis.moments import Moments
from skedasis.results.effect import Effect
from skedasis.results.parts import TRUSTED_ROWS, BinStats, LevelStats, Rows
from skedasis.results.spec import About, Spec
from skedasis.typing import Floats, Ints

DOWN, UP, BOTH, PAIRS = "down", "up", "both", "pairs"
"""Moments by level: of the step from the level before, of that to the level after, of both together (which gives their
covariance), and, (L, L), of what each row gains by each other level."""


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps between neighbouring levels, and the moments behind them.

    Parameters
    ----------
    down, up, both : Moments, L levels
    pooled : Moments, L - 1 steps
    """

    down: Moments
    up: Moments
    both: Moments
    pooled: Moments

    @classmethod
    def of(cls, moments: Mapping[str, Moments]) -> Steps:
        """Pool the rows of the two levels of each step."""
        down, up = moments[DOWN], moments[UP]
        return cls(down, up, moments[BOTH], up.take(slice(0, -1)).merge(down.take(slice(1, None))))


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
        By level: ``"down"``, ``"up"``, ``"both"``; ``"pairs"`` where all pairs of levels were asked for.
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
    known = steps.pooled.weight > 0
    start = curves.accumulation(np.ones(len(known)), known, places)
    mean = np.where(known, steps.pooled.mean, 0.0)
    value = start @ mean
    matrix, own = start, np.zeros((len(levels), len(levels)))
    if spec.center == "mean":
        matrix = start - share @ start
        own = np.broadcast_to(
            -(value - share @ value) / max(float(weight.sum()), np.finfo(float).tiny), own.shape
        )
    error, freedom = _errors(matrix, own, steps, spec)
    stats = _statistics(levels, steps, kept, start, spec)
    pairs = moments.get(PAIRS)
    return Effect(
        points=levels.array(),
        value=matrix @ mean,
        heterogeneity=_spread(levels, steps, stats, about, spec),
        std_error=error,
        freedom=freedom,
        importance=_importance(value, share, pairs),
        score=_score(share, steps, pairs, spec, ordinal=about.feature.kind == "ordinal"),
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
    error, _ = _errors(form, np.zeros((len(form), len(levels))), steps, spec)
    spans = [slice(a, b + 1) for a, b in pairwise(kept)]
    count = np.array([levels.count[s].sum() for s in spans])
    return BinStats(
        low=names[kept[:-1]],
        high=names[kept[1:]],
        count=count,
        weight=np.array([levels.weight[s].sum() for s in spans]),
        effect=form @ np.where(pooled.weight > 0, pooled.mean, 0.0),
        std=np.sqrt(variance),
        std_error=np.where(np.isnan(variance), np.nan, error),
        empty=count == 0,
        trusted=count >= TRUSTED_ROWS,
    )


def _errors(forms: Floats, own: Floats, steps: Steps, spec: Spec) -> tuple[Floats, Floats]:
    """Return standard errors of linear forms of the mean steps, and their degrees of freedom.

    Parameters
    ----------
    forms : ndarray of float, shape (m, L - 1)
        Coefficients of the mean steps.
    own : ndarray of float, shape (m, L)
        What each row adds by being at its level: through the centre, which is a mean over rows.

    Notes
    -----
    A row at level l moves the form by ``a (d_down - mu_down) + b (d_up - mu_up) + g``; the squares of that are summed
    over the rows, from the second moments of each level. The factor n / (n - 1) of each step makes the error of a
    single step that of a mean of n rows. With sampling weights each level's sum is scaled by its effective size, which
    takes the weights to have nothing to do with the steps.
    """
    kind, pooled = spec.weight_kind, steps.pooled
    size = np.where(pooled.weight > 0, pooled.weight, 1.0)
    free = pooled.degrees(1, kind)
    (a, b), up, seen = coefficients(forms, steps, spec), steps.up, Scatter.of(steps)
    sums = a**2 * seen.down + b**2 * seen.up + 2 * a * b * seen.both + own**2 * up.weight
    sums += 2 * own * up.weight * (a * seen.off_down + b * seen.off_up)
    ratio = np.where(up.weight > 0, up.weight2 / np.where(up.weight > 0, up.weight, 1.0), 1.0)
    sums = np.maximum(sums, 0.0) * (1.0 if kind == "frequency" else ratio)
    variance = sums.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = sums / variance[:, None]
        freedom = 1.0 / (shares**2 / np.maximum(up.effective(kind) - 1.0, 1.0)).sum(axis=1)
    freedom = np.where(variance > 0, freedom, np.inf)
    if spec.accumulate_se == "sum":
        single = np.sqrt(np.where(free > 0, pooled.m2 / np.where(free > 0, free * size, 1.0), 0.0))
        return np.abs(forms) @ single, freedom
    return np.sqrt(variance), freedom


@dataclass(frozen=True, eq=False)
class Scatter:
    """Second moments, by level, of how far the rows' two steps are from those pooled; each an array of L numbers.

    Parameters
    ----------
    down, up, both : ndarray of float
        Weighted sums of squares, and of products.
    off_down, off_up : ndarray of float
        The level's own mean steps minus those pooled; 0 for the step that does not exist.
    """

    down: Floats
    up: Floats
    both: Floats
    off_down: Floats
    off_up: Floats

    @classmethod
    def of(cls, steps: Steps) -> Scatter:
        """Gather the scatter around the pooled steps."""
        down, up, both = steps.down, steps.up, steps.both
        off_down = down.mean - np.append(0.0, steps.pooled.mean)
        off_up = up.mean - np.append(steps.pooled.mean, 0.0)
        # The first level has no step before it, the last none after: their moments are of zeros.
        off_down[0] = off_up[-1] = 0.0
        square_down = down.m2 + down.weight * off_down**2
        square_up = up.m2 + up.weight * off_up**2
        product = (both.m2 - down.m2 - up.m2) / 2 + up.weight * off_down * off_up
        product[0] = product[-1] = 0.0
        square_down[0] = square_up[-1] = 0.0
        return cls(square_down, square_up, product, off_down, off_up)


def coefficients(forms: Floats, steps: Steps, spec: Spec) -> tuple[Floats, Floats]:
    """Return what a row of each level adds to forms of the mean steps, by its step down and by that up: (m, L) each."""
    pooled = steps.pooled
    size = np.where(pooled.weight > 0, pooled.weight, 1.0)
    free = pooled.degrees(1, spec.weight_kind)
    part = forms * np.where(free > 0, np.sqrt(size / np.where(free > 0, free, 1.0)), 1.0) / size
    nothing = np.zeros((len(forms), 1))
    return np.hstack([nothing, part]), np.hstack([part, nothing])


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
        return curves.heterogeneity(np.ones(len(std)), std, spec.accumulate)
    weight = np.where(np.isnan(std), 0.0, steps.pooled.weight)
    square = np.where(np.isnan(std), 0.0, std**2)
    touching = np.append(0.0, weight) + np.append(weight, 0.0)
    total = np.append(0.0, weight * square) + np.append(weight * square, 0.0)
    return np.where(touching > 0, np.sqrt(total / np.where(touching > 0, touching, 1.0)), np.nan)


def _paired(pairs: Moments) -> Moments:
    """Pool, for each two levels, the rows of the one moved to the other and of the other moved back."""
    back = Moments(pairs.count.T, pairs.weight.T, pairs.weight2.T, -pairs.mean.T, pairs.m2.T)
    return pairs.merge(back)


def _importance(value: Floats, share: Floats, pairs: Moments | None) -> float:
    """Return the standard deviation of the effect over the data.

    It is half the mean square of the difference between two rows' levels. With all pairs of levels at hand that
    difference is theirs, whatever the order (docs/explanation/levels-and-pairs.md).
    """
    if pairs is None:
        return float(np.sqrt(share @ (value - share @ value) ** 2))
    gain = np.where(pairs.weight + pairs.weight.T > 0, _paired(pairs).mean, 0.0)
    return float(np.sqrt(share @ gain**2 @ share / 2))


def _score(
    share: Floats, steps: Steps, pairs: Moments | None, spec: Spec, *, ordinal: bool
) -> float:
    """Return the heterogeneity score: half the mean variance of what two rows' levels differ by.

    Where only neighbours are known they stand for all. Along an order of the feature's own differences grow with the
    number of steps, as along an axis: the standard deviation of the places times the root mean square of the steps'
    spread, which is what the score of a numeric feature is. Between nominal levels any two are taken to differ as
    neighbours do. With two levels all of these are the same.
    """
    if pairs is not None:
        variance = np.nan_to_num(_paired(pairs).variance(spec.ddof, spec.weight_kind))
        np.fill_diagonal(variance, 0.0)
        return float(np.sqrt(share @ variance @ share / 2))
    variance = steps.pooled.variance(spec.ddof, spec.weight_kind)
    has = ~np.isnan(variance)
    if not has.any():
        return 0.0
    mean = float(np.average(variance[has], weights=steps.pooled.weight[has]))
    places = np.arange(len(share))
    apart = share @ (places - share @ places) ** 2 if ordinal else (1 - share @ share) / 2
    return float(np.sqrt(apart * mean))
