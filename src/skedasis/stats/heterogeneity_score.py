"""The heterogeneity score: how much of a quantity's variation with a feature depends on the other features.

Two rows swap their values of the feature. What an additive quantity gains on one row it loses on the other, so that the
mean of both changes is an interaction:

    c = [ q(x_s', x_c) - q(x_s, x_c) - q(x_s', x_c') + q(x_s, x_c') ] / 2,    score² = mean of c² over pairs.

For independent features score² is the total interaction variance of the feature with all others (superset importance:
Hooker 2004; Liu & Owen 2006; Fruth et al. 2014), and unbiased. It is in the unit of the quantity, the same for every
method, and zero (to rounding) for an additive quantity and for a feature that is not used.

Pairs are disjoint, and the nearer in x_s, the more closely the other features determine x_s, as the variance inflation
factor measures. Rows are sorted by a normal score of x_s plus noise, which is smaller for a larger factor, and
neighbours are paired. The noise is such that x₁x₂ of jointly normal features with correlation r has the score
√(1 - r²), which is RHALE's own local heterogeneity; random pairs would extrapolate, and give 1.1 and more.

This module works on arrays only: `skedasis.engine.heterogeneity_score` reads the data and calls the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.stats.random import random_half, row_hashes, uniform_from_hash

COLLINEAR = 10.0
"""Above this variance inflation the other columns nearly determine a feature, and only near values are compared."""

FEW_PAIRS = 50.0
"""With fewer effective pairs the standard error of a score is not reliable."""

_LARGEST_VIF = 1e4

_PENALTY = 0.01
"""Ridge penalty for each regressor, on standardised columns."""

_FREQUENT, _MAX_LEVELS = 0.01, 30
"""A level of a nominal column is a regressor if it has this fraction of the rows; most levels of one column."""

ROUNDING = 16.0
"""A score below this many rounding errors of the largest value of the quantity is zero."""

_RANDOM_PAIRS = 0.999
"""Above this variance of the noise (see `ScoreOrder`) pairs are random."""


@dataclass(frozen=True)
class HeterogeneityScore:
    """A heterogeneity score with its standard error, its pairs of rows and the scale of the quantity.

    `value` and `std_error` are in units of the quantity; the error is NaN for a single pair. `vif` is the variance
    inflation of the feature's ranks by the other columns, from 1 to 10,000. `pairs` of rows swapped their values;
    `effective_pairs`, ``(sum c²)² / sum c⁴``, are fewer if few of the c² are large. `quantity_std` and
    `quantity_range` (largest value minus smallest) are over the rows of the score, which are all rows of the data if
    `exact`. `off_support` is the largest share of swapped rows that are off support (`skedasis.stats.off_support`),
    None if not measured, and `beside` are the other columns in which they are.
    """

    value: float
    std_error: float
    vif: float = 1.0
    pairs: int = 0
    effective_pairs: float = 0.0
    quantity_std: float = float("nan")
    quantity_range: float = float("nan")
    exact: bool = True
    off_support: float | None = None
    beside: tuple[str, ...] = ()

    def interval(self, confidence_level: float = 0.95) -> tuple[float, float]:
        """Return the ends of a confidence interval, ``value * exp(-+ z * std_error / value)``."""
        from scipy.special import ndtri

        if not self.value > 0:
            return self.value, self.value
        reach = float(ndtri(0.5 + confidence_level / 2)) * self.std_error / self.value
        # The upper end of a score whose error exceeds it by far is infinite.
        with np.errstate(over="ignore"):
            return self.value * float(np.exp(-reach)), self.value * float(np.exp(reach))


# --------------------------------------------------------------------------- rows of the score
@dataclass(frozen=True, eq=False)
class ScoreRows:
    """The rows of a score in the order of their hashes, so that the score does not depend on the order of the data.

    `rows`, (n,), are row indices into the data, all of them if `exact`; `weights`, (n,), are None if they are equal.
    `noise`, (n,), is standard normal, and the same for all features. `half`, (n,), are the rows of the first half:
    regressions fitted on one half are evaluated on the other.
    """

    rows: Ints
    weights: Floats | None
    noise: Floats
    half: Bools
    exact: bool

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, some: Ints) -> ScoreRows:
        weights = None if self.weights is None else self.weights[some]
        return ScoreRows(self.rows[some], weights, self.noise[some], self.half[some], self.exact)


def score_rows(
    row_id: np.ndarray, weights: Floats | None, limit: int | None, random_state: int
) -> ScoreRows:
    """Choose the rows of the score: all, or those with the smallest hashes, of identifiers (N,).

    If weights, positive, differ and there are more rows than the limit, rows are drawn in proportion to their weights
    (those with the smallest ``-log(u) / w``: priority sampling by exponential keys), and get the weight
    ``w / (1 - exp(-w tau))``, tau the smallest key that is left out: sums over them are unbiased.
    """
    from scipy.special import ndtri

    n = len(row_id)
    if weights is not None and weights.min() == weights.max():
        weights = None
    keys = draw_keys(row_id, weights, random_state)
    exact = limit is None or n <= limit
    # Sort the smallest limit + 1 keys only; the last of them is the smallest key that is left out.
    smallest = np.arange(n) if limit is None or n <= limit else _smallest(keys, limit + 1)
    order = smallest[np.argsort(keys[smallest], kind="stable")]
    if not exact:
        left_out = keys[order[-1]]
        order = order[:-1]
        if weights is not None:
            weights = weights / -np.expm1(-weights * left_out)
    noise = ndtri(uniform_from_hash(row_hashes(row_id[order], random_state, "score: pairs")))
    half = random_half(row_id[order], random_state, "score: halves")
    return ScoreRows(order, None if weights is None else weights[order], noise, half, exact)


def _smallest(keys: Floats, count: int) -> Ints:
    """Return the indices of the smallest keys, in any order."""
    # Without weights keys are uniform in (0, 1): the limit is six standard deviations above the expected number.
    limit = (count + 6 * np.sqrt(count) + 40) / len(keys)
    some = np.flatnonzero(keys <= limit)
    if len(some) < count:
        some = np.arange(len(keys))
    return some[np.argpartition(keys[some], count - 1)[:count]]


def draw_keys(row_id: np.ndarray, weights: Floats | None, random_state: int) -> Floats:
    """Return the keys, (n,), by which rows are drawn: those with the smallest keys are. Equal weights are None."""
    drawn = uniform_from_hash(row_hashes(row_id, random_state, "score: rows"))
    return drawn if weights is None else -np.log1p(-drawn) / weights


# --------------------------------------------------------------------------- variance inflation
@dataclass(frozen=True, eq=False)
class Ranks:
    """The mid-ranks of a column with an order.

    `values`, (n,), in (0, 1), are the fraction of the weight below a row's value, plus half of that at it; 0.5 for
    missing values. `order`, (r,), are the rows with a value, sorted by it; rows of one value in their own order.
    """

    values: Floats
    distinct: int
    missing: Bools
    order: Ints


def sorted_rows(x: Floats) -> Ints:
    """Return the indices of the values that are not NaN in ascending order; equal ones keep their order."""
    present = np.flatnonzero(~np.isnan(x))
    some = x if len(present) == len(x) else x[present]
    # Values that all differ, as most do, have one order, and are sorted in half the time.
    order = some.argsort()
    ascending = some.take(order)
    if not (ascending[1:] > ascending[:-1]).all():
        order = some.argsort(kind="stable")
    return order if some is x else present[order]


def mid_ranks(x: Floats, weights: Floats | None = None) -> Ranks:
    """Return the mid-ranks of a column's values, (n,), as fractions of the total weight; NaN is missing."""
    order = sorted_rows(x)
    ascending = x.take(order)
    first = np.append(True, ascending[1:] > ascending[:-1])[: len(order)]
    index = np.cumsum(first) - 1
    distinct = int(index[-1]) + 1 if len(order) else 0
    weight = np.bincount(index, None if weights is None else weights.take(order), distinct)
    below = np.cumsum(weight) - weight / 2
    ranks = np.full(len(x), 0.5)
    ranks[order] = (below / weight.sum()).take(index)
    return Ranks(ranks, distinct, np.isnan(x), order)


def frequent_levels(codes: Ints, weights: Floats | None = None) -> Floats:
    """Return indicators of a nominal column's frequent levels, (n, L); one level is left out if all are frequent.

    A code of -1 is missing, and a level of its own.
    """
    levels, index = np.unique(codes, return_inverse=True)
    fraction = np.bincount(index, weights, len(levels))
    fraction = fraction / fraction.sum()
    order = np.lexsort((levels, -fraction))[:_MAX_LEVELS]
    frequent = order[fraction[order] >= _FREQUENT]
    if len(frequent) == len(levels):
        frequent = frequent[:-1]  # the last follows from the others
    return (index[:, None] == frequent[None, :]).astype(float)


def variance_inflation(
    columns: Sequence[Ranks | Floats], wanted: Sequence[int], rows: ScoreRows
) -> Floats:
    """Return the variance inflation factors of columns, 1 / (1 - R²) of their ranks with R² on held-out rows.

    `columns` are all columns of the data: ranks of those with an order, indicators of levels, (n, L), of the others.
    `wanted` are the indices of those whose factors are returned, from 1 to 10,000; they have ranks.

    Ridge regression on the others' ranks, their squares, and indicators, standardised, with a penalty of 0.01 for each
    regressor; fitted on one half of the rows and evaluated on the other, both ways. All columns are regressed at once:
    with P the inverse of the penalised matrix of second moments, the coefficients of column s, its own columns S left
    out, are ``-P[:, S] P[S, S]⁻¹``, and the residuals of rows X are ``X P[:, S] P[S, S]⁻¹``. Time O(n p²) for p
    regressors; no model row.
    """
    w = np.ones(len(rows)) if rows.weights is None else rows.weights / rows.weights.mean()
    tables = [regressors(column, w) for column in columns]
    # Sorted by content, so that sums have the same bits for any order of the columns of X.
    # Imported here: it loads OpenSSL.
    from hashlib import blake2b

    digests = [blake2b(np.ascontiguousarray(t).data, digest_size=16).digest() for t in tables]
    order = sorted((k for k, t in enumerate(tables) if t.shape[1]), key=lambda k: digests[k])
    # Columns of equal content share a factor, which is computed for the first of them.
    first = {digests[k]: k for k in reversed(order)}
    column_of = [first.get(digests[k], -1) for k in wanted]
    factors = np.ones(len(wanted))
    if len(order) < 2 or max(column_of, default=-1) < 0:
        return factors
    table = np.hstack([tables[k] for k in order])
    ends = np.cumsum([tables[k].shape[1] for k in order]).tolist()
    own = {k: slice(end - tables[k].shape[1], end) for k, end in zip(order, ends, strict=True)}
    residual, total = np.zeros(len(columns)), np.zeros(len(columns))
    penalty = _PENALTY * table.shape[1]
    for fit in (rows.half, ~rows.half):
        if fit.sum() < 2 or fit.all():
            continue
        fit_weight, test_weight = w[fit], w[~fit]
        mean = fit_weight @ table[fit] / fit_weight.sum()
        inverse = _ridge_inverse(np.sqrt(fit_weight)[:, None] * (table[fit] - mean), penalty)
        test = table[~fit] - mean
        residuals = test @ inverse
        for k in {k for k in column_of if k >= 0}:
            at = own[k]
            # A column's ranks are the first of its regressors.
            left = residuals[:, at] @ np.linalg.inv(inverse[at, at])[:, 0]
            residual[k] += test_weight @ left**2
            total[k] += test_weight @ test[:, at.start] ** 2
    for i, k in enumerate(column_of):
        if k >= 0 and total[k] > 0:
            ratio = total[k] / max(residual[k], total[k] / _LARGEST_VIF)
            factors[i] = min(max(ratio, 1.0), _LARGEST_VIF)
    return factors


def _ridge_inverse(table: Floats, penalty: float) -> Floats:
    """Return the inverse of ``table.T @ table + penalty * I``."""
    n, p = table.shape
    if p <= n:
        inverse = np.linalg.inv(table.T @ table + penalty * np.eye(p))
    else:
        few = np.linalg.inv(table @ table.T + penalty * np.eye(n))
        inverse = (np.eye(p) - table.T @ (few @ table)) / penalty
    return np.asarray(inverse, dtype=float)


def regressors(column: Ranks | Floats, w: Floats) -> Floats:
    """Return a column's regressors for the other columns, standardised, (n, p); p is 0 for a constant column."""
    if not isinstance(column, Ranks):
        return _standardised(column, w)
    rank = _standardised(column.values[:, None], w)
    # For two distinct values the square is a linear function of the rank.
    square = rank**2 - 1 if column.distinct > 2 else rank[:, :0]
    return np.hstack([rank, _standardised(square, w)])


def _standardised(table: Floats, w: Floats) -> Floats:
    """Return the columns that vary, with mean 0 and variance 1."""
    table = table - w @ table / w.sum()
    std = np.sqrt(w @ table**2 / w.sum())
    varies = std > 1e-9 * np.abs(table).max(axis=0, initial=0.0)
    return table[:, varies] / std[varies]


# ------------------------------------------------------------------------------ pairs and the score
@dataclass(frozen=True, eq=False)
class ScoreOrder:
    """The order of the rows of a score by a feature, along which neighbours are paired.

    `x`, (n,), is the feature at the rows of the score, NaN where missing. `rows`, (r,), are those with a value in that
    order, and `by_value` the same sorted by value. They are sorted by `key`, (n,); `variance` is that of the noise in
    a standardised key, 1 if the order is random.

    Rows are sorted by ``ndtri(rank) + sqrt(v / (1 - v)) * noise`` with ``v = 2 / (1 + sqrt(12 vif - 11))``, and
    neighbours are paired. Half the mean square distance of paired rows is then about v times the variance; v solves
    ``3 (vif - 1) v² + v = 1``, so that x₁x₂ of normal features has a score of ``vif ** -0.5``. Without dependence (vif
    1) only the noise is left: pairs at random.
    """

    values: Floats
    rows: Ints
    by_value: Ints
    key: Floats
    variance: float

    @classmethod
    def of(cls, values: Floats, ranks: Ranks | None, vif: float, noise: Floats) -> ScoreOrder:
        """Return the order of the rows that have a value, given the variance inflation of the feature's ranks.

        `ranks` are None for a feature without an order, or of two values; `noise` is standard normal, (n,).
        """
        from scipy.special import ndtri

        v = 2.0 / (1.0 + np.sqrt(12.0 * vif - 11.0))
        key, by_value = noise, sorted_rows(values) if ranks is None else ranks.order
        if ranks is None or v > _RANDOM_PAIRS:
            v = 1.0
        else:
            # Next to a row of nearly all weight, the others' ranks may be rounded to 0 or 1.
            eps = np.finfo(float).eps
            key = ndtri(np.clip(ranks.values, eps, 1.0 - eps)) + np.sqrt(v / (1.0 - v)) * noise
        rows = sorted_rows(
            key if len(by_value) == len(key) else np.where(np.isnan(values), np.nan, key)
        )
        return cls(values, rows, by_value, key, float(v))

    def pairs(self, some: Bools | None = None) -> tuple[Ints, Ints]:
        """Return pairs of neighbours, (r // 2,) each, among all rows or among some; an odd row is left out."""
        rows = self.rows if some is None else self.rows[some[self.rows]]
        rows = rows[: len(rows) // 2 * 2]
        return rows[::2], rows[1::2]


def swap_score(
    change: tuple[Floats, Floats],
    weights: tuple[Floats, Floats] | None,
    own: Floats,
    own_weights: Floats | None,
    eps: float,
    *,
    vif: float = 1.0,
    exact: bool = True,
    off_support: tuple[float | None, tuple[str, ...]] = (None, ()),
) -> HeterogeneityScore:
    """Return the score of pairs of rows that swapped their values of a feature.

    `change` is that of the quantity in the first and in the second row of each pair, (m,) each. A pair's weight is the
    product of its rows' `weights`. `own`, (n,), is the quantity at the rows of the score, and `eps` its relative
    rounding: a score below 16 units of it is zero. The others are copied into the result.

    The error is that of a mean of c² over disjoint pairs, by the delta method. It is NaN for a single pair.
    """
    first, second = change
    scales = _std(own, own_weights), float(np.ptp(own)) if len(own) else float("nan")
    m = len(first)
    if m == 0:
        return HeterogeneityScore(0.0, 0.0, vif, 0, 0.0, *scales, exact, *off_support)
    c = (first + second) / 2
    scale = float(np.abs(c).max())
    size = float(np.abs(own).max(initial=0.0))
    fraction = np.full(m, 1.0 / m)
    if weights is not None:
        fraction = weights[0] * weights[1]
        fraction = fraction / fraction.sum()
    # In units of the largest value, so that squares neither underflow nor overflow.
    square = (c / scale) ** 2 if scale > 0 else c
    mean = float(fraction @ square)
    score = scale * float(np.sqrt(mean))
    if score <= ROUNDING * eps * size:
        return HeterogeneityScore(0.0, 0.0, vif, m, 0.0, *scales, exact, *off_support)
    # Unbiased: for equal weights the sum of squares over m (m - 1). One pair has no error estimate.
    rest = 1.0 - float(fraction @ fraction)
    variance = float(fraction**2 @ (square - mean) ** 2) / rest if m > 1 and rest > 0 else np.nan
    error = scale * float(np.sqrt(variance)) / (2.0 * float(np.sqrt(mean)))
    effective = mean**2 / float(fraction**2 @ square**2)
    return HeterogeneityScore(score, error, vif, m, effective, *scales, exact, *off_support)


def _std(values: Floats, weights: Floats | None) -> float:
    """Return the weighted standard deviation."""
    if len(values) == 0:
        return float("nan")
    scale = float(np.abs(values).max()) or 1.0
    fraction = np.full(len(values), 1 / len(values)) if weights is None else weights / weights.sum()
    scaled = values / scale
    scaled = scaled - fraction @ scaled
    return scale * float(np.sqrt(fraction @ scaled**2))
