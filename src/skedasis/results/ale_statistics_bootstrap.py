"""Bootstrap of ALE statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from skedasis._types import Floats, Ints
from skedasis.errors import DataError
from skedasis.results.build.linear_form import AXIS, LOCAL
from skedasis.results.build.steps import UP
from skedasis.results.effect import AccumulatedEffect, LevelStepsEffect, ValueStepsEffect
from skedasis.results.intervals.bootstrap import (
    ConstantEffect,
    FromMoments,
    FromRows,
    replicate_source,
)
from skedasis.results.intervals.moments import (
    MomentSums,
    SparseMatrix,
    interpolation_matrix,
    sparse_diagonal,
    sparse_matrix,
)
from skedasis.results.intervals.statistics import (
    AccumulatedStatistic,
    LinearSlopeStatistic,
    MomentStatistic,
    StepStatistic,
)
from skedasis.stats.moments import Moments
from skedasis.stats.resampling import DrawnWeights, Reweighted, bootstrap_rng, draw_in_parts

# ------------------------------------------------------------------------------------------
# Effects in percentiles of the outcome.


_REACHED = 1 + 1e-9
"""Factor on effects, so that outcomes missed only by rounding count as reached."""


@dataclass(frozen=True, eq=False)
class Percentiles:
    """The distribution of outcomes around their median."""

    above: Floats
    below: Floats
    up: Floats
    down: Floats
    half_up: Floats
    half_down: Floats

    @classmethod
    def around(cls, y: Floats, weight: Floats) -> Percentiles:
        """Return the distribution of weighted outcomes around their median."""
        order = np.argsort(y, kind="stable")
        y, weight = y[order], weight[order]
        total = np.cumsum(weight)
        half = total[-1] / 2
        ends = [int(np.searchsorted(total, half, side=s)) for s in ("left", "right")]
        moved = y - (y[ends[0]] + y[min(ends[1], len(y) - 1)]) / 2
        sides = []
        for side in (moved, -moved):
            passed = side > 0
            worth = weight[passed]
            if side is not moved:
                worth = worth[::-1]
            tied = float(weight[moved == 0].sum())
            so_far = np.append(0.0, np.cumsum(worth))
            held = max(tied + so_far[-1], np.finfo(float).tiny)
            halves = np.append(0.0, tied + so_far[1:]) / held * 50
            sides.append((np.sort(side[passed]), so_far / total[-1] * 100, halves))
        (above, up, half_up), (below, down, half_down) = sides
        return cls(above, below, up, down, half_up, half_down)

    def of(self, effect: Floats) -> Floats:
        """Return effects in percentiles: the percentage of rows between the median and median + effect."""
        reach = effect * _REACHED
        up = self.up[np.searchsorted(self.above, reach, side="right")]
        down = self.down[np.searchsorted(self.below, -reach, side="right")]
        return up - down

    def okoli(self, effect: Floats) -> Floats:
        """Return effects in percentiles as defined by Okoli (2023) and the R package `ale`."""
        up = self.half_up[np.searchsorted(self.above, effect * _REACHED, side="right")]
        down = self.half_down[np.searchsorted(self.below, -effect * _REACHED, side="right")]
        far = [side[0] if len(side) else np.inf for side in (self.above, self.below)]
        return np.where(effect > far[0], up, 0.0) - np.where(-effect > far[1], down, 0.0)


def outcomes(
    y: ArrayLike, weights: ArrayLike | None, rows: int | None, *, weighted: bool
) -> Percentiles:
    """Check outcomes and weights, and return the distribution of the outcomes around their median."""
    values = _numbers(y)
    if weighted and weights is None:
        fix = "Pass the weights that were passed to explain"
        raise DataError("statistics(sample_weight)", "None", "one weight per row", fix)
    w = np.ones(len(values)) if weights is None else _numbers(weights, "statistics(sample_weight)")
    if w.shape != values.shape:
        got = f"shapes {values.shape} and {w.shape}"
        fix = "Pass the outcomes and weights of the rows of X"
        raise DataError("statistics(y, sample_weight)", got, "one number per row", fix)
    if not np.isfinite(w).all() or (w < 0).any() or not w.any():
        got = "weights that are negative, not finite or all zero"
        raise DataError(
            "statistics(sample_weight)",
            got,
            "non-negative numbers, at least one of them positive",
            "Pass the weights that were passed to explain",
        )
    values, w = values[w > 0], w[w > 0]
    if rows is not None and len(values) != rows:
        got, expected = f"length {len(values)}", f"length {rows} (one per row)"
        fix = "Pass the outcomes of the rows that were explained"
        raise DataError("statistics(y)", got, expected, fix)
    if not np.isfinite(values).all():
        got = f"{int((~np.isfinite(values)).sum())} values that are NaN or infinite"
        raise DataError(
            "statistics(y)", got, "finite numbers", "Remove these rows before sd.explain"
        )
    return Percentiles.around(values, w)


def _numbers(y: ArrayLike, what: str = "statistics(y)") -> Floats:
    """Return outcomes or weights as an array of floats; raise if they are no numbers."""
    given = np.asarray(y)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    got = None
    if given.ndim != 1 or len(given) == 0:
        got = f"shape {given.shape}"
    elif given.dtype.kind not in "biufO":
        got = f"values of type {given.dtype}"
    try:
        values = np.zeros(0) if got else given.astype(float)
    except (TypeError, ValueError):
        got, values = "values that are no numbers", np.zeros(0)
    if got:
        fix = "Pass the outcome of each row as a number, a class as 0 or 1"
        if what != "statistics(y)":
            fix = "Pass the weights that were passed to explain"
        raise DataError(what, got, "one number per row", fix)
    return values


# ------------------------------------------------------------------------------------------
# Statistics of an accumulated effect, and of its bootstrap replicates.


GROUPS = 2048
"""Up to this many distinct values, resampled rows are not grouped."""


_EDGE_WEIGHT = 1e-12
"""Weight of a cell's edges, relative to its rows."""


_MOST_NUMBERS = 1_000_000
"""Largest number of groups times replicates computed at once."""


@dataclass(frozen=True, eq=False)
class Positions:
    """Positions of rows on the axis."""

    x: Floats
    weight: Floats
    rows: int
    exact: bool


AccumulatedResult: TypeAlias = AccumulatedEffect | LevelStepsEffect
"""The kinds of effects that have ALE statistics."""


def centred_by_mean(effect: AccumulatedResult) -> AccumulatedResult:
    """Return the effect with ``center="mean"``, so that its replicates are known wherever they have rows."""
    if effect.spec.center == "mean":
        return effect
    return replace(effect, spec=replace(effect.spec, center="mean"))


def positions(effect: AccumulatedResult) -> Positions:
    """Return the positions of an effect's rows if all are kept; else of levels, or of points in fine cells."""
    if isinstance(effect, LevelStepsEffect):
        levels = effect.axis.levels
        return Positions(
            effect.axis.coordinates, levels.weight, int(levels.count.sum()), exact=True
        )
    rows = effect.rows
    if len(effect.points) < 2 or len(effect.cells) == 0:
        count = int(effect.provenance.get("rows", effect.missing)) - effect.missing
        return Positions(np.zeros(1), np.ones(1), count, exact=True)
    if rows is not None and rows.exact:
        inside = (rows.x >= effect.points[0]) & (rows.x <= effect.points[-1])
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        return Positions(rows.x[inside], weight[inside], int(inside.sum()), exact=True)
    if isinstance(effect, ValueStepsEffect):
        own = effect.moments[UP]
        return Positions(effect.values, own.weight, int(own.count.sum()), exact=True)
    x, cell, fraction = _points(effect)
    axis = effect.moments[AXIS]
    count = int(axis.count[np.unique(cell)].sum())
    return Positions(x, fraction * axis.weight[cell], count, exact=False)


def _points(effect: AccumulatedEffect) -> tuple[Floats, Ints, Floats]:
    """Return points that represent the rows of fine cells: values, cells, and fractions of the cells' weight."""
    axis, cells = effect.moments[AXIS], effect.cells
    own = np.clip(axis.mean, cells.edges[:-1], cells.edges[1:])
    inside = (axis.weight > 0) & (own >= effect.points[0]) & (own <= effect.points[-1])
    cell = np.flatnonzero(inside)
    left, right, mean = cells.edges[cell], cells.edges[cell + 1], own[cell]
    variance = axis.m2[cell] / axis.weight[cell]
    std = np.sqrt(variance)
    below = np.minimum(std, mean - left)
    above = np.minimum(std, right - mean)
    # A point outside the cell is moved to its edge; the other is moved away from the mean, to keep mean and variance.
    tight_low, tight_high = below < std, above < std
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(tight_low & (below > 0), variance / below, above)
        below = np.where(tight_high & ~tight_low & (above > 0), variance / above, below)
        part = np.where(above + below > 0, above / (above + below), 0.5)
    x = [mean - below, mean + above, left, right]
    fraction = [part, 1 - part, np.full(len(cell), _EDGE_WEIGHT), np.full(len(cell), _EDGE_WEIGHT)]
    where = np.clip(np.concatenate(x), effect.points[0], effect.points[-1])
    return where, np.tile(cell, 4), np.concatenate(fraction)


def curve_at_positions(effect: AccumulatedResult, where: Floats) -> Floats:
    """Return the curve at values of the feature; for a categorical feature, at codes of levels."""
    if isinstance(effect, LevelStepsEffect):
        return effect.value[where.astype(np.int64)]
    if len(effect.points) < 2:
        return np.zeros(len(where))
    return effect.at(where)


def compute_statistics(value: Floats, weight: Floats, percentiles: Percentiles | None) -> Floats:
    """Return ALED, the two ends of ALER and, with percentiles, NALED: shape (3, R) or (4, R)."""
    there = weight > 0
    known = np.where(there, value, 0.0)
    level = _mean(known, weight)
    known = np.where(there, known - level, 0.0)
    low = np.where(there, known, np.inf).min(axis=0)
    high = np.where(there, known, -np.inf).max(axis=0)
    found = [_mean(np.abs(known), weight), low, high]
    if percentiles is not None:
        found.append(_mean(np.abs(percentiles.of(known)), weight))
    return np.stack(found)


def _mean(value: Floats, weight: Floats) -> Floats:
    total = np.maximum(weight.sum(axis=0), np.finfo(float).tiny)
    return (weight * value).sum(axis=0) / total


@dataclass(frozen=True, eq=False)
class Replicates:
    """Replicates of the f statistics of an effect."""

    base: Floats
    statistics: Floats
    moved: Floats
    noise: Floats


@dataclass(frozen=True, eq=False)
class ReplicatedStatistics:
    """The statistics of an effect as a function of the counts of its rows."""

    source: FromRows | FromMoments | ConstantEffect
    moments: MomentSums | None
    gather: SparseMatrix
    interpolation: SparseMatrix
    parabola: SparseMatrix | None
    weight: Floats
    flat: Floats
    percentiles: Percentiles | None

    @property
    def base(self) -> Floats:
        """The statistics with the original weights, shape (f,)."""
        return compute_statistics(self.flat, self.weight, self.percentiles)[:, 0]

    def split(self, drawn: Floats) -> Replicates:
        """Return replicates, (R, 2 f + 1), as a `Replicates`."""
        f = len(self.base)
        return Replicates(self.base, drawn[:, :f], drawn[:, f : 2 * f], drawn[:, 2 * f])

    def replicated(self) -> Reweighted | DrawnWeights:
        """Return the statistics as a function of counts, or as random draws; see `stats.resampling.bootstrap`."""
        if isinstance(self.source, FromMoments):
            return self.drawn
        return Reweighted(self.source.draws, self)

    def __call__(self, counts: Floats) -> Floats:
        """Return statistics, their changes, and noise, (2 f + 1, R), from counts (n, R)."""
        if self.moments is None or not isinstance(self.source, FromRows):
            still = np.concatenate([self.base, np.zeros(len(self.base) + 1)])
            return np.repeat(still[:, None], counts.shape[1], axis=1)
        return self._evaluate(self.source.statistic, self.moments(counts), self.gather @ counts)

    def drawn(self, replicates: int, seed: int) -> Floats:
        """Return statistics, their changes, and noise, (R, 2 f + 1), from drawn moments."""
        source = self.source
        if not isinstance(source, FromMoments):
            raise TypeError("only moments are drawn")
        rng = bootstrap_rng(seed)
        names, squares = source.statistic.needed("value")
        cells = len(source.moments[names[0]].weight)

        def draw(size: int) -> Floats:
            moments = source.drawn(rng, size, names, squares=squares)
            weight = self.gather @ moments[names[0]].weight
            return self._evaluate(source.statistic, moments, weight).T

        return draw_in_parts(
            replicates, max(1, _MOST_NUMBERS // max(len(self.flat), cells, 1)), draw
        )

    def _evaluate(
        self, statistic: MomentStatistic, moments: Mapping[str, Moments], weight: Floats
    ) -> Floats:
        # Where the curve of a replicate is unknown, the replicate has no rows either.
        at = curve_at(statistic, moments, self.interpolation, self.parabola)
        at = at - _mean(np.where(weight > 0, at, 0.0), weight)
        deviation, side = np.where(weight > 0, at - self.flat, 0.0), np.sign(self.flat)
        seen = np.where(self.weight > 0, self.flat, np.nan)[:, 0]
        ends = [int(np.nanargmin(seen)), int(np.nanargmax(seen))]
        moved = [_mean(side * deviation, weight)]
        moved += [np.where(weight[k] > 0, deviation[k], np.nan) for k in ends]
        if self.percentiles is not None:
            fraction = self.percentiles.of(self.flat + deviation) - self.percentiles.of(self.flat)
            moved.append(_mean(side * fraction, weight))
        found = compute_statistics(at, weight, self.percentiles)
        return np.concatenate([found, np.stack(moved), _mean(np.abs(deviation), weight)[None]])


def curve_at(
    statistic: MomentStatistic,
    moments: Mapping[str, Moments],
    interpolation: SparseMatrix,
    parabola: SparseMatrix | None,
) -> Floats:
    """Return curves at the groups, (g, R); zero where they are unknown."""
    at = interpolation @ np.nan_to_num(statistic.evaluate(moments, "value"))
    if parabola is None or not isinstance(statistic, LinearSlopeStatistic):
        return at
    return at + parabola @ statistic.trend(moments)


def replicated_statistics(
    effect: AccumulatedResult, percentiles: Percentiles | None
) -> ReplicatedStatistics:
    """Return the statistics of a centred effect as a function of the counts of its rows."""
    source = replicate_source(effect)
    if isinstance(source, ConstantEffect):
        one, zero = sparse_diagonal(np.ones(1)), np.zeros((1, 1))
        return ReplicatedStatistics(source, None, one, one, None, zero + 1, zero, percentiles)
    sums: MomentSums | None = None
    if isinstance(source, FromRows):
        names, squares = source.statistic.needed("value")
        sums = source.columns.summed(names, squares=squares)
        x, gather, observed = _of_rows(effect, source)
        own: Mapping[str, Moments] = sums(source.own_counts[:, None])
    elif isinstance(source, FromMoments):
        x, gather, observed = _of_cells(source)
        own = {k: _column(m) for k, m in source.moments.items()}
    else:
        raise TypeError(f"no statistics of {type(source).__name__}")
    interpolation, parabola = _interpolation(effect, x), _bending(effect, x)
    flat = curve_at(source.statistic, own, interpolation, parabola)
    flat = flat - _mean(flat, observed[:, None])
    return ReplicatedStatistics(
        source, sums, gather, interpolation, parabola, observed[:, None], flat, percentiles
    )


def _column(moments: Moments) -> Moments:
    return Moments(**{k: a[:, None] for k, a in moments.arrays().items()})


def _of_rows(effect: AccumulatedResult, source: FromRows) -> tuple[Floats, SparseMatrix, Floats]:
    """Return groups of neighbouring rows: their positions, the matrix that sums counts by group, and their weights."""
    rows = effect.rows
    x = np.zeros(0) if rows is None else rows.x
    inside = np.flatnonzero((source.columns.place >= 0) & ~np.isnan(x))
    if isinstance(effect, AccumulatedEffect):
        inside = inside[(x[inside] >= effect.points[0]) & (x[inside] <= effect.points[-1])]
    group, size = _group_rows(effect, x[inside])
    w = source.draws.sampling_weight
    worth = np.ones(len(inside)) if w is None else w[inside]
    gather = sparse_matrix(worth, group, inside, (size, len(x)))
    fraction = np.bincount(group, minlength=size)
    return np.bincount(group, x[inside], size) / fraction, gather, gather @ source.own_counts


def _group_rows(effect: AccumulatedResult, x: Floats) -> tuple[Ints, int]:
    """Return the group of each row, and the number of groups: one per value, or neighbouring values within a bin."""
    values, group = np.unique(x, return_inverse=True)
    if len(values) > GROUPS:
        block = np.arange(len(values)) * GROUPS // len(values)
        edges = effect.axis.coordinates
        block = block + len(values) * np.searchsorted(edges, values, side="right")
        group = np.unique(block, return_inverse=True)[1][group]
    return group.astype(np.int64), int(group.max(initial=-1)) + 1


def _of_cells(source: FromMoments) -> tuple[Floats, SparseMatrix, Floats]:
    """Return points in the fine cells as groups, each with its fraction of the weight of the statistic's cell."""
    if isinstance(source.statistic, StepStatistic):
        x = source.statistic.positions
        return x, sparse_diagonal(np.ones(len(x))), source.moments[UP].weight
    statistic = source.statistic
    if not isinstance(statistic, AccumulatedStatistic):
        raise TypeError("statistics are of accumulated effects")
    fine = statistic.effect.moments[AXIS]
    x, cell, fraction = _points(statistic.effect)
    own = statistic.cells.locate(fine.mean)[cell]
    there = np.flatnonzero(own >= 0)
    x, own, weight = x[there], own[there], (fraction * fine.weight[cell])[there]
    whole = np.bincount(own, weight, len(statistic.cells))
    shape = len(x), len(statistic.cells)
    gather = sparse_matrix(weight / whole[own], np.arange(len(x)), own, shape)
    return x, gather, gather @ source.moments[LOCAL].weight


def _interpolation(effect: AccumulatedResult, x: Floats) -> SparseMatrix:
    """Return the matrix that interpolates a curve from the effect's points to x."""
    if isinstance(effect, AccumulatedEffect):
        return interpolation_matrix(effect.points, x)
    shape = len(x), len(effect.axis)
    return sparse_matrix(np.ones(len(x)), np.arange(len(x)), x.astype(np.int64), shape)


def _bending(effect: AccumulatedResult, x: Floats) -> SparseMatrix | None:
    """Return the matrix from changes of slopes in bins to the parabola minus its chord at x, or None without any."""
    bins = effect.bins
    if isinstance(effect, LevelStepsEffect) or not np.any(bins.slope_change):
        return None
    place = np.clip(np.searchsorted(bins.low, x, side="right") - 1, 0, len(bins) - 1)
    worth = (x - bins.low[place]) * (x - bins.high[place]) / 2
    return sparse_matrix(np.minimum(worth, 0.0), np.arange(len(x)), place, (len(x), len(bins)))
