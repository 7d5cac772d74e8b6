"""Calibration: mean labels in ranges of the prediction, by bins or isotonic regression, their intervals, tests, scores.

Rows are ascending by the prediction, so that a range of predictions is a slice of them.

The isotonic fit of the labels is the mean label of blocks that the labels choose. At a prediction x within a block of n
rows, ``(fit - mean label at x) sqrt(n) / sd of the labels`` has a limit distribution without unknown parameters where
the mean label increases (Deng, Han & Zhang 2021, for one variable). Its quantiles, by `_BLOCK_FACTORS`, replace those
of the normal distribution. Where the mean label does not change, the distribution is narrower, and the interval a
little wide. Percentiles of bootstrapped fits have no such guarantee: they miss the curve where it is flat or begins.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.stats.moments import RowMeans, WeightKind, power_of_two
from skedasis.stats.student import quantile_t, t_interval, two_sided_p

MOST_POINTS = 1000
"""Most blocks of an isotonic fit; of more, neighbours are joined."""

_LEAST_ROWS = 30
"""Rows from which the variance of the labels at a block is estimated: of a smaller block with those beside it."""

ROUNDING = 1e-6
"""By how much probabilities may be beyond 0 and 1 through rounding in single precision."""

_BLOCK_FACTORS = (
    np.array([0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0, 3.25, 3.5, 3.75, 4.0]),
    np.array(
        [
            *(0.852, 0.881, 0.917, 0.955, 0.996, 1.040, 1.084, 1.126, 1.169, 1.210),
            *(1.249, 1.284, 1.314, 1.347, 1.383),
        ]
    ),
)
"""Normal quantiles, and how many times as large that of the isotonic fit is: from 4 million simulated blocks."""


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Predictions of n rows, ascending, their labels on the same scale, and their weights, (n,)."""

    prediction: Floats
    label: Floats
    weights: Floats | None = None
    kind: WeightKind = "frequency"

    @classmethod
    def sorted_by_prediction(
        cls, prediction: Floats, label: Floats, weights: Floats | None, kind: WeightKind
    ) -> tuple[LabelledRows, Ints]:
        """Return the rows in the order of their predictions, and this order."""
        order = np.argsort(prediction, kind="stable")
        w = None if weights is None else weights[order]
        return cls(prediction[order], label[order], w, kind), order

    def __len__(self) -> int:
        return len(self.prediction)

    @cached_property
    def events(self) -> bool:
        """Whether labels are 0 and 1 and predictions between, so that both are frequencies of an event."""
        binary = ((self.label == 0) | (self.label == 1)).all()
        return bool(
            binary and self.prediction[0] > -ROUNDING and self.prediction[-1] < 1 + ROUNDING
        )

    @cached_property
    def whole(self) -> bool:
        """Whether all labels are whole numbers, such as counts and events."""
        return np.array_equal(self.label, np.floor(self.label))

    @cached_property
    def isotonic(self) -> tuple[Ints, Floats]:
        """Where the distinct predictions begin, and the increasing function of them next to the labels."""
        from scipy.optimize import isotonic_regression

        starts = distinct_starts(self.prediction)
        w = np.ones(len(self)) if self.weights is None else self.weights
        mass = np.add.reduceat(w, starts)
        mean = np.add.reduceat(w * self.label, starts) / mass
        return starts, isotonic_regression(mean, weights=mass).x

    def where(self, rows: Bools | slice) -> LabelledRows:
        """Return some of the rows."""
        w = None if self.weights is None else self.weights[rows]
        return LabelledRows(self.prediction[rows], self.label[rows], w, self.kind)

    def mean(self, values: Floats) -> float:
        """Return the weighted mean of values of the rows."""
        return float(np.average(values, weights=self.weights))


# --- ranges of the prediction ---------------------------------------------------------------------


def distinct_starts(values: Floats | Ints) -> Ints:
    """Return where each distinct value begins in ascending values."""
    return np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))


def equal_weight_starts(rows: LabelledRows, bins: int) -> Ints:
    """Return where bins of about equal weight begin; rows with the same prediction share a bin."""
    starts = distinct_starts(rows.prediction)
    w = np.ones(len(rows)) if rows.weights is None else rows.weights
    mass = np.add.reduceat(w, starts)
    # A value belongs to the bin that contains the middle of its rows.
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    return starts[distinct_starts(np.minimum((bins * middle).astype(np.int64), bins - 1))]


def isotonic_starts(rows: LabelledRows) -> Ints:
    """Return where the blocks of the isotonic fit begin: ranges of predictions with the same fit."""
    starts, fit = rows.isotonic
    blocks = starts[distinct_starts(fit)]
    if len(blocks) > MOST_POINTS:
        # Labels that increase without noise: every row is a block.
        part = np.minimum(MOST_POINTS * blocks // len(rows), MOST_POINTS - 1)
        blocks = blocks[distinct_starts(part)]
    return blocks


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges of the prediction, and the means of predictions, labels and residuals in each."""

    rows: LabelledRows
    starts: Ints
    prediction: RowMeans
    label: RowMeans
    residual: RowMeans

    @classmethod
    def of(cls, rows: LabelledRows, starts: Ints) -> Ranges:
        """Return the ranges that begin at some of the rows."""
        size = len(starts)
        cell = np.repeat(np.arange(size), np.diff(np.append(starts, len(rows))))
        values = (rows.prediction, rows.label, rows.label - rows.prediction)
        means = (RowMeans.of(v, cell, size, rows.weights, rows.kind) for v in values)
        return cls(rows, starts, *means)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def low(self) -> Floats:
        """Return the smallest prediction in each range."""
        return self.rows.prediction[self.starts]

    @property
    def high(self) -> Floats:
        """Return the largest prediction in each range."""
        return self.rows.prediction[np.append(self.starts[1:], len(self.rows)) - 1]

    @property
    def size(self) -> Floats:
        """Return the number of rows that the mean label of each range rests on: the effective one of weights."""
        label = self.label
        if label.squared is None or not self.rows.events:
            return label.size
        return proportion_size(label.mean, label.error, label.size)

    def joined(self, starts: Sequence[int]) -> Ranges:
        """Return neighbouring ranges as one; `starts` are the numbers of the first of each, from 0."""
        at = np.asarray(starts, dtype=np.int64)
        means = (m.pool(at) for m in (self.prediction, self.label, self.residual))
        return Ranges(self.rows, self.starts[at], *means)

    @property
    def residual_error(self) -> Floats:
        """Return the standard error of each mean residual; of whole numbers at least the one that predictions imply."""
        least = self.prediction.least_error if self.rows.whole else 0.0
        return np.maximum(self.residual.error, least)

    def errors(self, *, isotonic: bool) -> tuple[Floats, Floats]:
        """Return the standard error of each mean label, given the predictions, and its degrees of freedom."""
        if self.rows.events:
            mean = np.clip(self.label.mean, 0.0, 1.0)
            return np.sqrt(mean * (1 - mean) / self.size), np.maximum(self.size - 1, 0.0)
        if not isotonic:  # the labels of a bin also differ because its predictions do
            return self.residual_error, self.label.df
        first, last = _windows(self.size, _LEAST_ROWS)
        pooled = (*self.label.squares, self.label.df)
        squares, divisor, df = (_sums(v, first, last) for v in pooled)
        variance = squares / np.where(divisor > 0, divisor, np.nan)
        return np.sqrt(variance / self.size), df


def _windows(size: Floats, least: float) -> tuple[Ints, Ints]:
    """Return the first and the last range of the neighbourhood of each that has at least so many rows."""
    n = len(size)
    first, last = np.arange(n), np.arange(n)
    whole = np.concatenate([[0.0], np.cumsum(size)])
    while True:
        short = (whole[last + 1] - whole[first] < least) & ((first > 0) | (last < n - 1))
        if not short.any():
            return first, last
        first = np.where(short, np.maximum(first - 1, 0), first)
        last = np.where(short, np.minimum(last + 1, n - 1), last)


def _sums(values: Floats, first: Ints, last: Ints) -> Floats:
    whole = np.concatenate([[0.0], np.cumsum(values)])
    return whole[last + 1] - whole[first]


# --- intervals ------------------------------------------------------------------------------------


def mean_label_interval(
    label: Floats,
    std_error: Floats,
    df: Floats,
    size: Floats,
    level: float,
    *,
    isotonic: bool,
    events: bool,
) -> tuple[Floats, Floats]:
    """Return the interval of the mean label at each point: Student's, or Wilson's for the frequency of an event."""
    from scipy.special import ndtri

    z = float(ndtri(0.5 + level / 2))
    factor = float(np.interp(z, *_BLOCK_FACTORS)) if isotonic else 1.0
    if events:
        return wilson(label, size, factor * z)
    return t_interval(label, factor * std_error, df, level)


def proportion_size(share: Floats, std_error: Floats, size: Floats) -> Floats:
    """Return the number of rows that a proportion rests on, of the effective size of its weights.

    It is at most the number whose binomial variance is that of the weighted mean (Korn & Graubard 1998), as events may
    have larger weights.
    """
    variance = share * (1 - share)
    some = (variance > 1e-12) & (size > 1) & (std_error > 0)
    squares = np.where(some, (size - 1) * std_error**2, 1.0)
    return np.where(some, size * np.minimum(1.0, variance / squares), size)


def wilson(share: Floats, n: Floats, z: float) -> tuple[Floats, Floats]:
    """Return the Wilson interval of proportions of n rows each, z standard errors wide; n may be fractional."""
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # At 0 and 1 rounding could put the bound past the proportion itself.
    low = np.where(share == 0, 0.0, np.maximum(centre - half, 0.0))
    high = np.where(share == 1, 1.0, np.minimum(centre + half, 1.0))
    return low, high


# --- ranges in which the predictions are wrong on average -----------------------------------------


@dataclass(frozen=True)
class Deviation:
    """A range of predictions whose mean label differs from the mean prediction: ranges `first` to `last`, inclusive."""

    first: int
    last: int
    residual: float
    lower: float
    upper: float
    p_value: float


def deviations(bins: Ranges, alpha: float) -> tuple[Deviation, ...]:
    """Return the ranges of neighbouring bins in which the predictions are too low, or too high, on average.

    All bins and all rows together are tested at the level `alpha` (Bonferroni): the probability that anything is found
    is at most this if the mean label of every prediction is the prediction. Without such a bin it is the whole, if that
    deviates. Labels of 0 and 1 have the binomial test with the mean prediction of the bin, whose variance is at least
    that of rows with different probabilities; others Student's test, corrected for skewness. Whole numbers have both,
    and the larger p-value: their variance is at least the binomial one between the two around the mean prediction,
    which a bin of few events does not show.
    """
    skewness = _skewness(bins)
    tests, p = len(bins) + 1, _p_values(bins, skewness)
    sign = np.where(tests * p <= alpha, np.sign(bins.residual.mean), 0.0)
    ends = np.append(distinct_starts(sign), len(sign)).tolist()
    found: list[Deviation] = []
    for first, end in itertools.pairwise(ends):
        if sign[first] != 0:
            joined = bins.joined(list(dict.fromkeys(k for k in (0, first, end) if k < len(bins))))
            ends_of = _residual_intervals(joined, 1 - alpha / tests, skewness)
            k, largest = int(first > 0), float(p[first:end].max())
            lower, upper = (float(each[k]) for each in ends_of)
            mean = float(joined.residual.mean[k])
            found.append(Deviation(first, end - 1, mean, lower, upper, tests * largest))
    if not found:
        whole, lower, upper, p_value = _whole(bins.rows, 1 - alpha / tests)
        if tests * p_value <= alpha:
            found.append(Deviation(0, len(bins) - 1, whole, lower, upper, tests * p_value))
    return tuple(found)


_PLENTY = 25.0
"""Variance of the number of events from which it is taken for normal."""


def _whole(rows: LabelledRows, level: float) -> tuple[float, float, float, float]:
    """Return the mean residual of all rows, its interval and its p-value.

    The variance of a number of events is the sum of p (1 - p) over the rows: probabilities may differ much.
    """
    from scipy.special import ndtr, ndtri

    p = np.clip(rows.prediction, 0.0, 1.0)
    one = Ranges.of(rows, np.zeros(1, dtype=np.int64))
    n = float(one.size[0])
    variance = n * rows.mean(p * (1 - p))
    mean = float(one.residual.mean[0])
    if not rows.events or variance < _PLENTY:
        skewness = _skewness(one)
        lower, upper = (float(end[0]) for end in _residual_intervals(one, level, skewness))
        return mean, lower, upper, float(_p_values(one, skewness)[0])
    error = float(np.sqrt(variance)) / n
    half = float(ndtri(0.5 + level / 2)) * max(error, float(one.residual.error[0]))
    return mean, mean - half, mean + half, float(2 * ndtr(-abs(mean) / error))


def _skewness(ranges: Ranges) -> float:
    """Return the skewness of the residuals around their means, on average over the ranges, which have few rows each."""
    rows, size = ranges.rows, ranges.residual.size
    w = np.ones(len(rows)) if rows.weights is None else rows.weights
    second, third = (w, w) if rows.kind == "frequency" else (w**2, w**3)
    means = np.repeat(ranges.residual.mean, np.diff(np.append(ranges.starts, len(rows))))
    off = rows.label - rows.prediction - means
    off /= np.abs(off).max() or 1.0
    squares = np.add.reduceat(second * off**2, ranges.starts)
    cubes = (
        np.add.reduceat(third * off**3, ranges.starts) / np.where(squares > 0, squares, 1.0) ** 1.5
    )
    return float(np.average(cubes * np.sqrt(size), weights=size))


# Hall (1992), On the removal of skewness by transformation, JRSS B 54: the distribution of t of skewed values is nearer
# to Student's after a cubic transformation, which increases. For counts and amounts t itself is found too often.


def _without_skewness(t: Floats, skew: Floats) -> Floats:
    """Return t, at most 1e90, transformed for the skewness divided by the square root of the number of rows."""
    x = skew * t / 3
    return t * (1 + x * (1 + x / 3)) + skew / 6


def _with_skewness(t: Floats, skew: Floats) -> Floats:
    """Return the inverse of `_without_skewness`."""
    small = np.abs(skew) < 1e-5
    safe = np.where(small, 1.0, skew)
    root = 3 * (np.cbrt(1 + safe * (t - safe / 6)) - 1) / safe
    return np.where(small, t - skew * (1 + 2 * t**2) / 6, root)


def _p_values(ranges: Ranges, skewness: float) -> Floats:
    """Return the two-sided p-value of each range: that its mean label is its mean prediction."""
    from scipy.special import betainc

    possible, yes, no, p = _binomial(ranges)
    more = np.where(yes > 0, betainc(np.maximum(yes, 1e-300), no + 1, p), 1.0)
    fewer = np.where(no > 0, betainc(np.maximum(no, 1e-300), yes + 1, 1 - p), 1.0)
    least = np.where(possible, np.minimum(1.0, 2 * np.minimum(more, fewer)), 0.0)
    if ranges.rows.events:
        return least
    residual = ranges.residual
    error, df = residual.error, residual.df
    # Residuals that are all the same up to rounding deviate for certain, or not at all.
    noise = 64 * np.finfo(float).eps * np.maximum(np.abs(ranges.low), np.abs(ranges.high))
    known = np.isfinite(error) & (df > 0)
    tested = known & (np.abs(residual.mean) > noise)
    error = np.where(known, np.maximum(error, noise), 1.0)
    t = np.clip(residual.mean / np.maximum(error, np.finfo(float).tiny), -1e90, 1e90)
    t = _without_skewness(t, skewness / np.sqrt(np.maximum(residual.size, 1.0)))
    return np.where(tested, np.maximum(two_sided_p(t, df), least), 1.0)


def _residual_intervals(ranges: Ranges, level: float, skewness: float) -> tuple[Floats, Floats]:
    """Return the interval of each mean residual that excludes 0 where the p-value is below 1 - level."""
    from scipy.special import betaincinv

    (possible, yes, no, p), half = _binomial(ranges), (1 - level) / 2
    low = np.where(yes > 0, betaincinv(np.maximum(yes, 1e-300), no + 1, half), 0.0) - p
    high = np.where(no > 0, betaincinv(yes + 1, np.maximum(no, 1e-300), 1 - half), 1.0) - p
    if ranges.rows.events:
        return low, high
    residual = ranges.residual
    skew = skewness / np.sqrt(np.maximum(residual.size, 1.0))
    critical = quantile_t(residual.df, level)
    ends = (_with_skewness(t, skew) * residual.error for t in (critical, -critical))
    lower, upper = (residual.mean - end for end in ends)
    lower[possible] = np.minimum(lower, low)[possible]
    upper[possible] = np.maximum(upper, high)[possible]
    return lower, upper


def _binomial(ranges: Ranges) -> tuple[Bools, Floats, Floats, Floats]:
    """Return whether labels k and k + 1 can have each mean label, how many rows are k + 1, how many k, and p.

    The mean prediction is k + p, 0 ≤ p < 1. Of whole numbers with a mean these vary least. Events have k = 0.
    """
    rows, prediction = ranges.rows, ranges.prediction.mean
    below = np.zeros(len(ranges)) if rows.events else np.floor(prediction)
    share = ranges.label.mean - below
    possible = rows.whole & (np.abs(share - 0.5) <= 0.5 + ROUNDING)
    yes = ranges.size * np.clip(share, 0.0, 1.0)
    return possible, yes, ranges.size - yes, np.clip(prediction - below, 0.0, 1.0)


# --- the squared error and its parts --------------------------------------------------------------


_OWN = 0.39
"""Weight of the rows that the isotonic fit is fitted on. Both errors decrease as n to the power of -2/3; where the mean
label increases, simulated ones have this ratio. Where it does not change, the first is the smaller one."""


@dataclass(frozen=True)
class ErrorParts:
    """The mean squared error: miscalibration - discrimination + uncertainty (CORP), by the isotonic fit of the labels.

    The fit follows the noise of the labels, so that `miscalibration` is above 0 on average if there is none, and that
    of fits on one half of the rows, measured at the other, is below 0. Both cancel in their weighted mean, `corrected`.
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    corrected: float
    corrected_error: float


def error_parts(rows: LabelledRows, half: Bools) -> ErrorParts:
    """Return the parts of the squared error; `half` are rows, (n,), to which the others' fit is applied, and back."""
    starts, fit = rows.isotonic
    fitted = np.repeat(fit, np.diff(np.append(starts, len(rows))))
    gain, centre = _gain(rows, fitted), rows.mean(rows.label)
    corrected, error = np.nan, np.nan
    if half.any() and not half.all():
        crossed = np.empty(len(rows))
        for some in (half, ~half):
            others = rows.where(~some)
            at, fit = others.isotonic
            crossed[some] = np.interp(rows.prediction[some], others.prediction[at], fit)
        both = _OWN * gain + (1 - _OWN) * _gain(rows, crossed)
        corrected, error, _ = _mean_of_rows(both, rows)
    return ErrorParts(
        rows.mean((rows.label - rows.prediction) ** 2),
        rows.mean(gain),
        rows.mean((fitted - centre) ** 2),
        rows.mean((rows.label - centre) ** 2),
        corrected,
        error,
    )


def _gain(rows: LabelledRows, fit: Floats) -> Floats:
    """Return by how much the squared error of a fit is smaller than that of the prediction, at each row."""
    return (rows.prediction - fit) * (rows.prediction + fit - 2 * rows.label)


def total_residual(rows: LabelledRows) -> tuple[float, float, float]:
    """Return the mean of label - prediction over all rows, its standard error and degrees of freedom."""
    one = Ranges.of(rows, np.zeros(1, dtype=np.int64))
    return float(one.residual.mean[0]), float(one.residual_error[0]), float(one.residual.df[0])


def _mean_of_rows(values: Floats, rows: LabelledRows) -> tuple[float, float, float]:
    """Return the mean of values of the rows, its standard error and degrees of freedom."""
    all_rows = np.zeros(len(rows), dtype=np.int64)
    unit = power_of_two(values)  # squares of squared errors
    one = RowMeans.of(values / unit, all_rows, 1, rows.weights, rows.kind)
    return unit * float(one.mean[0]), unit * float(one.error[0]), float(one.df[0])
