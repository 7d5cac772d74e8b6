"""Decompose the variance of local effects within bins (RHALE Theorem 1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from skedasis._types import Floats, Ints, Values
from skedasis.data.times import TimePoints
from skedasis.errors import UnsupportedError
from skedasis.results import json_keys
from skedasis.results.axis import Axis, LevelAxis, TimedAxis
from skedasis.results.build.linear_form import AXIS, LOCAL, RISE
from skedasis.results.described import Keys, object_of
from skedasis.results.display import DisplayMixin
from skedasis.results.effect import BinnedEffect, BinStats, Effect, LevelStepsEffect
from skedasis.results.export import Content, Exportable, ExportOptions, TableColumns
from skedasis.results.immutable import Immutable
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments, WeightKind
from skedasis.stats.random import RandomState, as_seed

# ------------------------------------------------------------------------------------------
# Arrays of one bin: test of dependence on x, and the two parts of the variance.


PERMUTED = 200
"""Up to this many rows, p-values come from permutations; with more rows, from the asymptotic distributions."""


DRAWS = 1999
"""Largest number of permutations. Drawing stops once `_ENOUGH` are as extreme as the data (Besag & Clifford)."""


LEAST_ROWS = 5
"""Smallest number of rows for a test."""


_ENOUGH = 50
"""Number of extreme permutations after which drawing stops."""


_DEGREE = 3
"""Largest degree of the polynomials in the ranks of x."""


_LEAST_DISTINCT = 300
"""In large samples, neighbours are compared only if x has at least this effective number of distinct values."""


@dataclass(frozen=True, eq=False)
class Sorted:
    """Rows of one bin in the order of x, grouped by equal x."""

    e: Floats
    basis: Floats
    weight: Floats
    starts: Ints
    sizes: Ints


def dependence_p_value(
    x: Floats, d: Floats, weight: Floats | None = None, *, seed: int = 0, draws: int = DRAWS
) -> float:
    """Return the p-value of the hypothesis that the mean of d is the same at all x."""
    rows = _sorted(x, d, weight)
    if rows is None:
        return float("nan")
    large = len(x) > PERMUTED
    share = rows.sizes / len(x)
    with_neighbours = len(rows.sizes) > _DEGREE + 1 and bool(
        not large or share @ share < 1 / _LEAST_DISTINCT
    )
    own = np.arange(len(x))[None, :]
    observed = _smallest_p_value(rows, own, with_neighbours=with_neighbours)[0]
    if large:
        return float(-np.expm1(2 * np.log1p(-observed))) if with_neighbours else float(observed)
    return _permuted(rows, observed, seed, draws, with_neighbours=with_neighbours)


def _sorted(x: Floats, d: Floats, weight: Floats | None) -> Sorted | None:
    """Return a bin's rows sorted by x, or None if there is nothing to test."""
    w = np.ones(len(x)) if weight is None else weight / weight.max()
    order = np.lexsort((w, d, x))
    x, d, w = x[order], d[order], w[order]
    starts = np.flatnonzero(np.append(True, x[1:] != x[:-1])) if len(x) else np.zeros(0, int)
    if len(x) < LEAST_ROWS or len(starts) < 2 or (d == d[0]).all():
        return None
    sizes = np.diff(np.append(starts, len(x)))
    middle = np.repeat(starts + (sizes - 1) / 2, sizes)
    rank = 2 * middle / (len(x) - 1) - 1
    powers = rank[:, None] ** np.arange(min(_DEGREE, len(starts) - 1) + 1)
    basis = np.linalg.qr(powers)[0][:, 1:]
    d = d - d[0]  # a large offset would cost precision
    e = d - w @ d / w.sum()
    return Sorted(w * e / max(np.abs(e).max(), np.finfo(float).tiny), basis, w, starts, sizes)


def _smallest_p_value(rows: Sorted, orders: Ints, *, with_neighbours: bool) -> Floats:
    """Return the smaller of the two p-values for each permutation of the effects, shape (b,)."""
    from scipy.special import chdtrc, ndtr

    e, w = rows.e[orders], rows.weight[orders]
    p = chdtrc(rows.basis.shape[1], _trend(rows, e, w))
    if with_neighbours:
        p = np.minimum(p, ndtr(-_neighbour_similarity(rows, e)))
    return p


def _trend(rows: Sorted, e: Floats, w: Floats) -> Floats:
    """Return the score statistics of the polynomials."""
    basis, k = rows.basis, rows.basis.shape[1]
    score, square = e @ basis, e**2
    middle = w @ basis / w.sum(axis=1, keepdims=True)
    products = (basis[:, :, None] * basis[:, None, :]).reshape(len(basis), -1)
    cross = (square @ basis)[:, :, None] * middle[:, None, :]
    covariance = (square @ products).reshape(-1, k, k) - cross - cross.transpose(0, 2, 1)
    total = square.sum(axis=1)[:, None, None]
    covariance += total * middle[:, :, None] * middle[:, None, :]
    size = np.trace(covariance, axis1=1, axis2=2)[:, None, None]
    covariance += (1e-9 * size + np.finfo(float).tiny) * np.eye(k)
    return (score * np.linalg.solve(covariance, score[:, :, None])[:, :, 0]).sum(axis=1)


def _neighbour_similarity(rows: Sorted, e: Floats) -> Floats:
    """Return the similarity of neighbours, relative to random pairs, in standard errors."""
    n, sizes = e.shape[1], rows.sizes.astype(float)
    square = e**2
    total, second, fourth = (
        np.add.reduceat(part, rows.starts, axis=1) for part in (e, square, square**2)
    )
    larger = np.maximum(sizes[:-1], sizes[1:])
    inside = (total**2 - second) / (2 * sizes)
    across = total[:, :-1] * total[:, 1:] / larger
    scatter = ((second**2 - fourth) / (2 * sizes**2)).sum(axis=1)
    scatter += (second[:, :-1] * second[:, 1:] / larger**2).sum(axis=1)
    # Deviations from a common mean are slightly negatively correlated.
    pairs = ((sizes - 1) / 2).sum() + (sizes[:-1] * sizes[1:] / larger).sum()
    correction = pairs * square.sum(axis=1) / (n * (n - 1))
    result = inside.sum(axis=1) + across.sum(axis=1) + correction
    return result / np.sqrt(np.maximum(scatter, np.finfo(float).tiny))


def _permuted(
    rows: Sorted, observed: float, seed: int, draws: int, *, with_neighbours: bool
) -> float:
    """Return the p-value from permutations. Drawing stops once enough of them are as extreme as the data."""
    rng, n = np.random.default_rng(seed), len(rows.e)
    drawn = extreme_so_far = 0
    limit = observed * (1 + 1e-9)  # values equal up to rounding are as extreme
    while drawn < draws:
        size = min(200 if drawn == 0 else 1800, draws - drawn)
        orders = rng.permuted(np.broadcast_to(np.arange(n), (size, n)), axis=1)
        extreme = np.flatnonzero(
            _smallest_p_value(rows, orders, with_neighbours=with_neighbours) <= limit
        )
        if extreme_so_far + len(extreme) >= _ENOUGH:
            return _ENOUGH / (drawn + int(extreme[_ENOUGH - extreme_so_far - 1]) + 1)
        extreme_so_far, drawn = extreme_so_far + len(extreme), drawn + size
    return (extreme_so_far + 1) / (drawn + 1)


def split_variance(x: Floats, d: Floats, weight: Floats | None = None) -> tuple[float, float]:
    """Return the variance of d, and the variance of d at given x."""
    w = np.ones(len(x)) if weight is None else weight
    total = _variance(d, w)
    if len(x) < 3:
        return total, float("nan")
    order = np.lexsort((w, d, x))
    x, w = x[order], w[order]
    centre = d[order[0]]
    d = d[order] - centre
    starts = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
    size = np.add.reduceat(w, starts)
    mean = np.add.reduceat(w * d, starts) / size
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(x))))
    square = np.add.reduceat(w * (d - mean[group]) ** 2, starts)
    # Expected weighted sum of squares: rows are independent, whatever their weights.
    second = np.add.reduceat(w**2, starts)
    df = size - second / size
    mostly_distinct = len(starts) > len(x) / 2
    if not mostly_distinct or len(starts) < 3:
        return total, _at_most(float(square.sum()), float(df.sum()), total)
    gap = np.diff(x[starts])
    left, right = gap[:-1], gap[1:]
    share = left / (left + right)
    off = mean[1:-1] - mean[:-2] * (1 - share) - mean[2:] * share
    mean_variance = second / size**2
    norm = (
        mean_variance[1:-1] + (1 - share) ** 2 * mean_variance[:-2] + share**2 * mean_variance[2:]
    )
    mean_df = size[1:-1] * mean_variance[1:-1]
    squares = float(square.sum() + (mean_df * off**2 / norm).sum())
    return total, _at_most(squares, float(df.sum() + mean_df.sum()), total)


def _variance(d: Floats, w: Floats) -> float:
    if len(d) < 2:
        return float("nan")
    mean = w @ (d - d[0]) / w.sum() + d[0]
    return float(w @ (d - mean) ** 2 / (w.sum() - w @ w / w.sum()))


def _at_most(squares: float, df: float, total: float) -> float:
    return min(squares / df, total) if df > 0 else float("nan")


# ------------------------------------------------------------------------------------------
# Effects: the decomposition in each bin.


ROUNDING = 1e-6
"""Standard deviations below this fraction of the largest local effect may be rounding (of single precision)."""


_PARTS, _PART_ROWS = 12, 30
"""If rows are not kept, a bin's fine cells are pooled into at most 12 parts of at least 30 rows for the test."""


@dataclass(frozen=True, eq=False)
class VarianceDecomposition(Immutable, Exportable, DisplayMixin):
    """The variance of local effects in each bin and its two parts, one entry per bin."""

    left: Values
    right: Values
    """Edges of the bins, shape (K,); for a categorical feature, the levels before and after each step."""
    count: Ints
    """Rows, shape (K,)."""
    total: Floats
    """s*², the variance of the local effects in the bin, shape (K,); in a bin whose slope changes linearly, about that
    line. If local effects are slopes, this is the square of `BinStats.std`, except for frequency weights, where the
    divisor differs: here rows are independent, whatever their weights. NaN with fewer than two rows."""
    within: Floats
    """sigma², the variance at given x: the heterogeneity, shape (K,). NaN with fewer than three rows."""
    residual: Floats
    """E², the mean squared residual: the part of `total` due to a mean slope that changes with x inside the bin, shape
    (K,). ``total = within + residual``; never negative."""
    p_value: Floats
    """P-value of the hypothesis that the mean slope is the same at all x in the bin, shape (K,). NaN if there is
    nothing to test (fewer than five rows, no variance beyond rounding, one value of x)."""
    feature: str = ""
    axis: Axis | None = None
    """The axis of the feature, for labels of levels and texts of times in tables."""

    def __len__(self) -> int:
        return len(self.left)

    @property
    def share(self) -> Floats:
        """E² as a fraction of s*²; 0 where s*² is 0."""
        return np.where(self.total > 0, self.residual / np.where(self.total > 0, self.total, 1), 0)

    def _document(self, options: ExportOptions) -> Content:
        columns = self.table()
        return {
            "feature": self.feature,
            "bins": {
                ("rows" if k == "count" else k): v for k, v in columns.items() if k != "feature"
            },
        }

    @classmethod
    def _keys(cls) -> tuple[Keys, Keys]:
        return {
            "feature": json_keys.text("Name of the feature."),
            "bins": object_of(
                "The bins from left to right.",
                {
                    "left": json_keys.points(
                        "Left ends: numbers, times, or the labels before a step."
                    ),
                    "right": json_keys.points("Right ends."),
                    "rows": json_keys.integers("Number of rows."),
                    "total": json_keys.numbers("Variance of the local effects."),
                    "within": json_keys.numbers(
                        "Variance at given values of the feature: the heterogeneity."
                    ),
                    "residual": json_keys.numbers(
                        "The rest: the mean slope changes within the bin."
                    ),
                    "share": json_keys.numbers("`residual` as a fraction of `total`."),
                    "p_value": json_keys.numbers(
                        "P-value of the hypothesis that the mean slope is constant."
                    ),
                    "p_value_adjusted": json_keys.numbers(
                        "The same, corrected for the number of bins."
                    ),
                },
            ),
        }, {}

    def table(self) -> TableColumns:
        """Return the columns of `to_frame`: one row per bin."""
        return {
            "feature": [self.feature] * len(self),
            "left": self._ends(self.left),
            "right": self._ends(self.right),
            "count": self.count,
            "total": self.total,
            "within": self.within,
            "residual": self.residual,
            "share": self.share,
            "p_value": self.p_value,
            "p_value_adjusted": self.adjusted(),
        }

    def _ends(self, ends: Values) -> Values | TimePoints:
        """Return ends of bins as a column: numbers, times or labels of levels."""
        if isinstance(self.axis, LevelAxis):
            return self.axis.levels.labels_of(ends)
        if isinstance(self.axis, TimedAxis) and len(ends):
            return TimePoints(self.axis.time, self.axis.time.days(ends, "bins"))
        return ends

    def adjusted(self) -> Floats:
        """Return the p-values, corrected for the number of bins (Holm 1979); NaN where there is none."""
        out = np.full(len(self), np.nan)
        known = np.flatnonzero(~np.isnan(self.p_value))
        order = known[np.argsort(self.p_value[known], kind="stable")]
        factor = np.arange(len(order), 0, -1)
        out[order] = np.minimum(np.maximum.accumulate(factor * self.p_value[order]), 1.0)
        return out


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Kept rows with their local effects and bins."""

    x: Floats
    effect: Floats
    weight: Floats
    bin: Ints

    def groups(self, bins: int) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Yield x, effect and weight of the rows of each bin."""
        order = np.argsort(self.bin, kind="stable")
        ends = np.searchsorted(self.bin[order], np.arange(bins + 1))
        for k in range(bins):
            here = order[ends[k] : ends[k + 1]]
            yield self.x[here], self.effect[here], self.weight[here]


def variance_decomposition(
    effect: Effect, *, random_state: RandomState = 0
) -> VarianceDecomposition:
    """Decompose the variance within each bin into the variance at given x and the mean squared residual."""
    seed, stats = as_seed("variance_decomposition(random_state)", random_state), effect.bins
    if stats is None:
        method = f"{effect.spec.method} of {effect.feature!r}"
        raise UnsupportedError(
            f"variance_decomposition of {method}",
            "no bins",
            "an effect with bins",
            "Use sd.RHALE() or sd.ALE()",
        )
    result = np.full((len(stats), 3), np.nan)
    # After `rebin`, the differences of rows across bins of cells are not known.
    if len(stats) and not (effect.spec.on_cells and np.isnan(stats.std).all()):
        rows = local_rows(effect)
        result = (
            _of_moments(effect, len(stats)) if rows is None else _of_rows(rows, len(stats), seed)
        )
    total, within, p = result.T.copy()
    return VarianceDecomposition(
        stats.left,
        stats.right,
        np.asarray(stats.count),
        total,
        within,
        np.maximum(total - within, 0.0),
        p.copy(),
        effect.feature,
        effect.axis,
    )


def _of_rows(rows: LocalRows, bins: int, seed: int) -> Floats:
    """Return total, within and p-value of each bin, (K, 3)."""
    result = np.full((bins, 3), np.nan)
    noise = (ROUNDING * float(np.abs(rows.effect).max(initial=0.0))) ** 2
    draws = max(DRAWS, 50 * bins)  # p-values must be small enough to pass Holm's correction
    for k, (x, d, w) in enumerate(rows.groups(bins)):
        if len(x) == 0:
            continue
        result[k, :2] = split_variance(x, d, w)
        if result[k, 0] > noise:
            result[k, 2] = dependence_p_value(x, d, w, seed=seed, draws=draws)
    return result


def local_rows(effect: Effect) -> LocalRows | None:
    """Return the kept rows with their bins, or None if no rows are kept."""
    rows = effect.rows
    if rows is None or rows.effect is None or len(rows) == 0:
        return None
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    if isinstance(effect, LevelStepsEffect):
        return _of_steps(effect, rows.x, rows.effect, weight)
    local = rows.local
    if not isinstance(effect, BinnedEffect) or local is None or local.ndim > 1:
        return None
    stats, there = effect.bins, weight > 0
    place = Cells(stats.edges, effect.cells.closed).locate(rows.x)[there]
    x = rows.x[there]
    return LocalRows(x, local[there] - slope_deviation(stats, x, place), weight[there], place)


def slope_deviation(stats: BinStats, x: Floats, place: Ints) -> Floats:
    """Return the deviation of the reported slope at x from that at the centre of a bin with a linear slope."""
    if not np.any(stats.slope_change):
        return np.zeros(len(x))
    middle = (stats.low + stats.high) / 2
    return np.where(place >= 0, stats.slope_change[place] * (x - middle[place]), 0.0)


def _of_steps(effect: LevelStepsEffect, codes: Floats, steps: Floats, weight: Floats) -> LocalRows:
    """Return the rows of each step, or group of steps, between levels, with each row's mean local effect there."""
    stats, levels, place = effect.bins, effect.axis.levels, codes.astype(np.int64)
    run = np.searchsorted(levels.codes(stats.low), np.arange(max(len(levels) - 1, 1)), "right") - 1
    last = len(run) - 1
    before, after = run[np.clip(place - 1, 0, last)], run[np.clip(place, 0, last)]
    down, up = ~np.isnan(steps[:, 0]), ~np.isnan(steps[:, 1])
    one = down & up & (before == after)
    parts = [
        (one, steps.mean(axis=1), after),
        (down & ~one, steps[:, 0], before),
        (up & ~one, steps[:, 1], after),
    ]
    x, d, w, home = (
        np.concatenate(part)
        for part in zip(*((codes[m], v[m], weight[m], b[m]) for m, v, b in parts), strict=True)
    )
    there = w > 0
    return LocalRows(x[there], d[there], w[there], home[there])


def _of_moments(effect: Effect, bins: int) -> Floats:
    """Return total, within and p-value of each bin, (K, 3), from the moments of fine cells."""
    result = np.full((bins, 3), np.nan)
    if not isinstance(effect, BinnedEffect) or LOCAL not in effect.moments:
        return result
    fine, kind = effect.moments[LOCAL], effect.spec.weight_kind
    if RISE in effect.moments:  # differences across whole bins, which the cells do not have
        result[:, 0] = effect.moments[RISE].variance(1, kind)
        return result
    kept = np.searchsorted(effect.cells.edges, effect.bins.edges)
    if AXIS in effect.moments:
        place = np.searchsorted(kept, np.arange(len(fine.mean)), side="right") - 1
        place = np.where((place < len(effect.bins)), place, -1)
        fine = replace(
            fine, mean=fine.mean - slope_deviation(effect.bins, effect.moments[AXIS].mean, place)
        )
    result[:, 0] = fine.pool(kept[:-1]).variance(1, kind)
    cell_variance_known = ~np.isnan(fine.variance(1, kind))
    squares, df = (
        np.add.reduceat(np.where(cell_variance_known, part, 0.0), kept[:-1])
        for part in (fine.m2, fine.df(1, kind))
    )
    some = df > 0
    result[some, 1] = np.minimum(squares[some] / df[some], result[some, 0])
    noise = (ROUNDING * float(np.abs(fine.mean).max(initial=0.0))) ** 2
    for k in np.flatnonzero(result[:, 0] > noise):
        result[k, 2] = _welch(_pooled(fine.take(slice(kept[k], kept[k + 1]))), kind)
    return result


def _pooled(cells: Moments) -> Moments:
    """Return neighbouring cells pooled into a few parts with about equal numbers of rows."""
    rows = float(cells.count.sum())
    parts = int(min(_PARTS, rows // _PART_ROWS, len(cells.count)))
    if parts < 2:
        return cells.whole()
    part = np.minimum((np.cumsum(cells.count) - cells.count / 2) * parts // rows, parts - 1)
    return cells.pool(np.flatnonzero(np.append(True, np.diff(part) > 0)))


def _welch(cells: Moments, kind: WeightKind) -> float:
    """Return the p-value of the hypothesis of equal means, with unequal variances (Welch 1951)."""
    from scipy.special import fdtrc

    variance, size = cells.variance(1, kind), cells.effective_size(kind)
    known = (variance > 0) & (cells.count >= _PART_ROWS / 3)
    k = int(known.sum())
    if k < 2:
        return float("nan")
    mean, n = cells.mean[known] - cells.mean[known][0], size[known]
    precision = n / variance[known]
    share = precision / precision.sum()
    correction = float(((1 - share) ** 2 / np.maximum(n - 1, 1)).sum())
    between = float(precision @ (mean - share @ mean) ** 2) / (k - 1)
    ratio = between / (1 + 2 * (k - 2) / (k**2 - 1) * correction)
    return float(fdtrc(k - 1, (k**2 - 1) / (3 * correction), ratio))
