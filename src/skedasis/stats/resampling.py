"""Simultaneous bands, the bootstrap over rows, and standard errors of means and of permutation importances.

All functions take and return arrays. Critical values of bands come from standard errors with degrees of freedom
(`bonferroni`, `sup_t`), intervals and bands also from bootstrap replicates (`percentiles`, `sup_band`); pointwise
intervals are in `student`. `BootstrapDraws` and `replicate` draw the rows of a bootstrap, in blocks that several
results share. `influence_error` is the standard error of a weighted mean, `permutation_error` that of a permutation
importance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from skedasis._arguments import (
    check_flag,
    check_int,
    check_option,
    check_probability,
    shown,
)
from skedasis._types import Bools, Floats, Ints
from skedasis.errors import DataError
from skedasis.stats.moments import WeightKind
from skedasis.stats.random import RandomState, as_seed
from skedasis.stats.student import quantile_t

# -------------------------------------------------------------------- bands from standard errors
_DRAWS = 20_000
"""Monte Carlo draws for a critical value: its error is then about 0.15 points of coverage at 95 %."""

_SEED = 20_240_607
"""A fixed seed, so that the same effect always has the same band."""

_TAIL = 5.0
"""Standard deviations up to which normal tail probabilities are converted to those of a t distribution."""

_ROUNDING = 1e-12
"""Smaller differences, relative to the largest value, are rounding."""

_CHUNK_SIZE = 2_000_000
"""Array elements at a time while a critical value is simulated."""


@dataclass(frozen=True, eq=False)
class ErrorBlocks:
    """The joint error distribution of m points: independent blocks, each with its own variance estimate.

    The error of point k is ``factor[k] @ z`` with z standard normal, `factor` (m, r). `block`, (r,), is the block of
    each column, 0..B - 1, non-decreasing, and `df`, (B,), are the degrees of freedom of each block's variance.
    """

    factor: Floats
    block: Ints
    df: Floats


def bonferroni(error: Floats, df: Floats, confidence_level: float) -> Floats:
    """Return critical values of a Bonferroni band over the points with a positive standard error."""
    points = max(int(np.count_nonzero(error > 0)), 1)
    return quantile_t(df, 1 - (1 - confidence_level) / points)


def sup_t(blocks: ErrorBlocks, confidence_level: float, draws: int = _DRAWS) -> float:
    """Return the critical value c of a simultaneous band: ``P(max over points of |T| <= c) = level``.

    See `largest_errors`, whose quantile it is; NaN if no point has an error.
    """
    largest = largest_errors(blocks, draws)
    return float(np.quantile(largest, confidence_level)) if len(largest) else float("nan")


def largest_errors(blocks: ErrorBlocks, draws: int = _DRAWS) -> Floats:
    """Return draws of the largest |T| over the points, (draws,); none if no point has an error.

    T is the error of a point divided by its estimated standard error. Normal errors and the chi-squared variances of
    the blocks are drawn jointly with a fixed seed, so that each block has its own degrees of freedom. Points without
    an error are ignored. Cost: O(draws (m r + m B)).
    """
    # The critical value has no unit. Scale by the largest factor, because the square of 1e-200 underflows.
    size = np.abs(np.where(np.isfinite(blocks.factor), blocks.factor, 0.0)).max(initial=0.0)
    scaled = blocks.factor / (size or 1.0)
    variance = (scaled**2).sum(axis=1)
    has_error = (variance > 1e-24) & np.isfinite(variance)
    if not has_error.any():
        return np.empty(0)
    factor = scaled[has_error]
    starts = np.searchsorted(blocks.block, np.arange(len(blocks.df)))
    square = _by_block(factor**2, starts, blocks.factor.shape[1])
    df = np.clip(np.where(np.isfinite(blocks.df), blocks.df, 1e9), 1.0, 1e9)
    rng = np.random.default_rng(_SEED)
    step = max(1, min(draws, _CHUNK_SIZE // max(factor.shape[1], len(factor), 1)))
    largest = np.empty(draws)
    for first in range(0, draws, step):
        size = min(step, draws - first)
        error = rng.standard_normal((size, factor.shape[1])) @ factor.T
        variance_ratio = rng.chisquare(df, (size, len(df))) / df
        estimate = np.sqrt(variance_ratio @ square.T)
        largest[first : first + size] = np.abs(error / estimate).max(axis=1)
    return largest


def _by_block(values: Floats, starts: Ints, columns: int) -> Floats:
    """Return the sums of columns by block; 0 for a block without columns."""
    ends = np.append(starts[1:], columns)
    sums = [values[:, a:b].sum(axis=1) for a, b in zip(starts, ends, strict=True)]
    return np.stack(sums, axis=1) if sums else np.zeros((len(values), 0))


# ------------------------------------------------- intervals and bands from bootstrap replicates


def percentiles(
    draws: Floats, confidence_level: float, df: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return percentile intervals over replicates, (R, ...); NaN at points where no replicate has a value.

    The fewer degrees of freedom a point's error has, `df`, the wider its interval: with n rows a bootstrap interval is
    too narrow, by a factor sqrt((n - 1) / n) and by the ratio of normal to t quantiles. Hesterberg's (2015) expanded
    percentiles correct both.
    """
    flat = draws.reshape(len(draws), -1)
    tail = np.full(flat.shape[1], (1 - confidence_level) / 2)
    if df is not None:
        tail = _expanded(tail, df.ravel())
    known = ~np.isnan(flat)
    ends = np.full((2, flat.shape[1]), np.nan)
    complete = known.all(axis=0)
    if complete.any():
        ordered, low = np.sort(flat[:, complete], axis=0), tail[complete]
        ends[:, complete] = [
            _quantile_of_sorted(ordered, low),
            _quantile_of_sorted(ordered, 1 - low),
        ]
    for k in np.flatnonzero(known.any(axis=0) & ~complete):
        ends[:, k] = np.quantile(flat[known[:, k], k], [tail[k], 1 - tail[k]])
    shape = draws.shape[1:]
    return ends[0].reshape(shape), ends[1].reshape(shape)


def _quantile_of_sorted(ordered: Floats, probability: Floats) -> Floats:
    """Return a quantile of each sorted column, each at its own probability."""
    position = probability * (len(ordered) - 1)
    before = np.minimum(position.astype(np.int64), max(len(ordered) - 2, 0))
    after = np.minimum(before + 1, len(ordered) - 1)
    column = np.arange(ordered.shape[1])
    low, high = ordered[before, column], ordered[after, column]
    return low + (high - low) * (position - before)


def _expanded(tail: Floats, df: Floats) -> Floats:
    """Return the tail probabilities at which a normal distribution has the (expanded) quantiles of a t distribution."""
    from scipy.special import ndtr

    free = np.where(np.isfinite(df), np.maximum(df, 1.0), 1e12)
    return ndtr(-quantile_t(free, 1 - 2 * tail) * np.sqrt((free + 1) / free))


def sup_band(
    value: Floats, draws: Floats, confidence_level: float, df: Floats
) -> tuple[Floats, Floats]:
    """Return the simultaneous band value -+ q * s of m points from replicates, (R, m), NaN where one has no value.

    s is the standard deviation of the replicates, q the quantile of the largest standardised deviation over the
    points. The fewer degrees of freedom a point's error has, `df`, (m,), the wider the band, as in `percentiles`.
    """
    from scipy.special import ndtr

    count = (~np.isnan(draws)).sum(axis=0)
    deviation = np.where(np.isnan(draws), 0.0, draws - value)
    mean = deviation.sum(axis=0) / np.maximum(count, 1)
    centred = np.where(np.isnan(draws), 0.0, draws - value - mean)
    std = np.where(count > 1, np.sqrt((centred**2).sum(0) / np.maximum(count - 1, 1)), np.nan)
    used = exceeds_rounding(std, value)
    if not used.any():
        return value - std, value + std
    largest = (np.abs(deviation[:, used]) / std[used]).max(axis=1)
    critical = float(np.quantile(largest, confidence_level))
    # Far in the tail the normal probability underflows: convert up to _TAIL and extrapolate in proportion.
    converted = min(critical, _TAIL)
    df = np.where(np.isfinite(df), np.maximum(df, 1.0), 1e12)
    half = quantile_t(df, 1 - 2 * ndtr(-converted)) * np.sqrt((df + 1) / df) * std
    half *= critical / converted if converted > 0 else 1.0
    return value - half, value + half


def exceeds_rounding(spread: Floats, value: Floats) -> Bools:
    """Return which points vary over replicates by more than rounding of their value; `spread` is the std of replicates.

    If all rows are equal, replicates differ by rounding only, and standardised deviations are meaningless.
    """
    size = np.abs(np.where(np.isnan(value), 0.0, value)).max(initial=0.0)
    return spread > _ROUNDING * size


# ---------------------------------------------------------------------------- bootstrap over rows
_BLOCK_BYTES = 12_000_000
"""Size of a block of counts, per thread: sums over it then run in the cache."""

_MAX_BLOCK = 250
"""Largest number of replicates in a block."""

_COUNT_AT_ONCE_BYTES = 2_000_000
"""Size of counts up to which all replicates of a block are counted at once."""

_STREAM = 0x5CEDA515
"""Part of every seed: the user's ``default_rng(seed)`` may have generated the data."""


Repeated: TypeAlias = Callable[[Floats], Floats]
"""A statistic that a bootstrap repeats: a function from counts of rows, (n, R), to the statistic, (m, R)."""

DrawnWeights: TypeAlias = Callable[[int, int], Floats]
"""A function from the number of replicates and the seed to random draws of a statistic, (R, m)."""


@dataclass(frozen=True, eq=False)
class BootstrapDraws:
    """How a bootstrap draws n `rows` with weights, (n,); None for 1 each.

    Frequency weights: as many rows are drawn as the weights sum to, each with probability proportional to its weight.
    They are always drawn from a multinomial distribution if `multinomial`, else only if some weights are no whole
    numbers, because drawing from a table is faster. Sampling weights: rows are drawn with equal probability and keep
    their weights.
    """

    weight: Floats | None
    kind: WeightKind
    rows: int
    multinomial: bool = False

    @property
    def block(self) -> int:
        """Return the number of replicates per block; it depends on the number of rows only, and so do the draws."""
        return int(np.clip(_BLOCK_BYTES // (8 * max(self.rows, 1)), 1, _MAX_BLOCK))

    def counts(self, rng: np.random.Generator, replicates: int) -> Floats:
        """Return how often each row is drawn, shape (rows, replicates)."""
        w, table = self.weight, not self.multinomial
        if w is None or self.kind == "sampling" or (table and bool((w == 1).all())):
            return _draw_counts(rng, self.rows, replicates, None)
        total = float(w.sum())
        if table and total <= 50 * self.rows and bool((w == np.floor(w)).all()):
            return _draw_counts(
                rng, self.rows, replicates, np.repeat(np.arange(self.rows), w.astype(int))
            )
        drawn = rng.multinomial(max(1, round(total)), w / total, size=replicates)
        return np.ascontiguousarray(drawn.T, dtype=float)

    @property
    def sampling_weight(self) -> Floats | None:
        """The weights that drawn rows keep; None for frequency weights."""
        return self.weight if self.kind == "sampling" else None

    def same_as(self, other: BootstrapDraws) -> bool:
        """Return whether both draw the same rows, so that they can share replicates."""
        if self.rows != other.rows or self.kind != other.kind:
            return False
        if self.weight is None or other.weight is None:
            return self.weight is other.weight
        return self.weight is other.weight or bool(np.array_equal(self.weight, other.weight))


def group_by_draws(draws: Mapping[str, BootstrapDraws]) -> list[list[str]]:
    """Return groups of names whose draws are the same, so that each group can be replicated together."""
    groups: list[list[str]] = []
    for name, own in draws.items():
        for group in groups:
            if draws[group[0]].same_as(own):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def _draw_counts(
    rng: np.random.Generator, rows: int, replicates: int, table: Ints | None
) -> Floats:
    """Return how often each row is drawn, shape (rows, replicates).

    `table` lists row indices, which may repeat; None for each row once. As many draws are made as it has entries.
    """
    size = rows if table is None else len(table)
    if 8 * size * replicates <= _COUNT_AT_ONCE_BYTES:
        drawn = rng.integers(0, size, (replicates, size))
        drawn = drawn if table is None else table[drawn]
        flat_index = drawn * replicates + np.arange(replicates)[:, None]
        flat = np.bincount(flat_index.ravel(), minlength=rows * replicates)
        return flat.reshape(rows, replicates).astype(float)
    # One replicate at a time fits the cache. With equal probabilities counts are small enough for uint8.
    counts = np.empty((rows, replicates), np.uint8 if table is None else np.float64)
    for r in range(replicates):
        drawn = rng.integers(0, size, size)
        drawn = drawn if table is None else table[drawn]
        counts[:, r] = np.bincount(drawn, minlength=rows)
    return counts.astype(float, copy=False)


def replicate(
    draws: BootstrapDraws, results: Sequence[Repeated], replicates: int, seed: int, n_jobs: int = 1
) -> list[Floats]:
    """Return the bootstrap replicates of several results on the same rows, shape (replicates, m) each.

    Each block of draws has its own seed, so that replicates depend neither on the number of threads nor on which other
    results are replicated along with them.
    """
    step = draws.block
    firsts = range(0, replicates, step)

    def work(first: int) -> list[Floats]:
        rng = bootstrap_rng(seed, first // step)
        counts = draws.counts(rng, min(step, replicates - first))
        return [result(counts) for result in results]

    blocks = _map_blocks(work, firsts, n_jobs)
    return [np.concatenate([b[k].T for b in blocks]) for k in range(len(results))]


@dataclass(frozen=True, eq=False)
class Reweighted:
    """A statistic as a function of how often each row is drawn: from counts of rows, (n, R), to (m, R)."""

    draws: BootstrapDraws
    repeated: Repeated


def bootstrap(
    sources: Mapping[str, Reweighted | DrawnWeights], replicates: int, seed: int, n_jobs: int = 1
) -> dict[str, Floats]:
    """Return bootstrap replicates of several statistics, (R, m) each. Those of the same rows share the draws."""
    rows = {name: source for name, source in sources.items() if isinstance(source, Reweighted)}
    found = {
        name: source(replicates, seed)
        for name, source in sources.items()
        if not isinstance(source, Reweighted)
    }
    for names in group_by_draws({name: source.draws for name, source in rows.items()}):
        repeated = [rows[name].repeated for name in names]
        made = replicate(rows[names[0]].draws, repeated, replicates, seed, n_jobs)
        found |= dict(zip(names, made, strict=True))
    return found


def check_interval(
    confidence_level: object,
    method: object,
    simultaneous: object,
    replicates: object,
    random_state: RandomState,
    of: str = "interval",
) -> int:
    """Check the options of `interval`, or of the method `of`, and return the integer that keys the random draws."""
    check_probability(f"{of}(confidence_level)", confidence_level)
    check_option(f"{of}(method)", method, ("analytic", "bootstrap"))
    check_flag(f"{of}(simultaneous)", simultaneous)
    check_int(f"{of}(replicates)", replicates, 2, "Use 1000")
    return as_seed(f"{of}(random_state)", random_state)


def check_counts(counts: ArrayLike, rows: int, *, least: int = 0) -> Floats:
    """Return a user's counts of the kept rows, (R, rows) or (rows,), as an array, (R, rows), R at least `least`."""
    given = np.asarray(counts)
    number = given.dtype.kind in "iufb"
    shape = number and given.ndim in (1, 2) and given.shape[-1] == rows
    table = np.atleast_2d(given).astype(float) if shape else np.zeros((0, rows))
    counted = "1 row" if rows == 1 else f"{rows} rows"
    if not shape or len(table) < least:
        raise DataError(
            "resampled(counts)",
            f"shape {given.shape}" if number else shown(counts),
            f"numbers of shape (R, {rows}) or ({rows},)",
            f"Pass one count for each of the kept rows ({counted}), in their order",
        )
    if not np.isfinite(table).all() or (table < 0).any() or not table.any(axis=1).all():
        raise DataError(
            "resampled(counts)",
            "counts that are negative, not finite, or all zero",
            f"non-negative numbers for {counted}, at least one of them positive",
            "Draw the counts with rng.multinomial(n, np.full(n, 1 / n)), for example",
        )
    return table


def draw_in_parts(replicates: int, step: int, draw: Callable[[int], Floats]) -> Floats:
    """Return random draws, (R, ...), of which `draw` returns at most `step` at once, one after another."""
    firsts = range(0, replicates, step)
    return np.concatenate([draw(min(step, replicates - first)) for first in firsts])


def bootstrap_rng(seed: int, part: int = 0) -> np.random.Generator:
    """Return a random generator whose stream differs from the user's ``default_rng(seed)``."""
    return np.random.default_rng([seed, part, _STREAM])


def _map_blocks(
    work: Callable[[int], list[Floats]], firsts: Sequence[int], n_jobs: int
) -> list[list[Floats]]:
    """Return the results of all blocks in order, computed by `n_jobs` threads."""
    if n_jobs == 1 or len(firsts) < 2:
        return [work(first) for first in firsts]
    with ThreadPoolExecutor(n_jobs) as pool:
        try:
            return list(pool.map(work, firsts))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


# --------------------------------------------------- standard errors of permutation importances
@dataclass(frozen=True)
class PairVariance:
    """Variance components of the change that a donor's value causes: u(recipient) + v(donor) + rest(both)."""

    row: float
    rest: float
    df: float


def pair_variance(sums: Floats, steps: Floats, rows: float) -> PairVariance:
    """Return the variance components of pairs that are a cyclic permutation of blocks of rows.

    `sums`, (r, blocks), are the changes that the donor values cause, summed over the recipients in each block, in each
    repeat. `steps`, (r,), say by how many blocks the donors are shifted: repeats with shift 0, or with the shift of
    another repeat, carry no information. `rows` is the number of rows in all blocks; for weighted rows the sum of
    their squared weights.

    The sum of a block is U(block) + V(block + step) + noise. In the Fourier transform over the blocks the shift is a
    factor, so each frequency has two unknowns, u and v, and one equation per repeat. Least squares gives both, and its
    residuals give the noise. Terms that are equal in u and in -v (a quantity that is additive in the feature) cancel
    exactly, whereas they would dominate the variance of single changes. Frequencies are weighted by how well they
    separate u from v.
    """
    shifted = steps % sums.shape[1] != 0
    sums, steps = sums[shifted], steps[shifted]
    repeats, blocks = sums.shape
    undefined = PairVariance(np.nan, np.nan, np.nan)
    if repeats < 3 or blocks < 3:
        return undefined
    k = np.arange(1, blocks // 2 + 1)
    phase = np.exp(2j * np.pi * np.outer(steps, k) / blocks)
    observed = np.fft.fft(sums, axis=1)[:, k]
    # Normal equations of each frequency, with the determinant of their 2 x 2 matrix.
    phase_sum, moment_v, moment_u = (
        phase.sum(0),
        (phase.conj() * observed).sum(0),
        observed.sum(0),
    )
    determinant = repeats**2 - np.abs(phase_sum) ** 2
    solvable = determinant > 1e-6 * repeats**2
    if not solvable.any():
        return undefined
    phase, observed, phase_sum = phase[:, solvable], observed[:, solvable], phase_sum[solvable]
    moment_v, moment_u = moment_v[solvable], moment_u[solvable]
    determinant = determinant[solvable]
    u = (repeats * moment_u - phase_sum * moment_v) / determinant
    v = (repeats * moment_v - phase_sum.conj() * moment_u) / determinant
    # Two real numbers per frequency (real and imaginary part), except for the highest, which is real.
    size = np.where(2 * k[solvable] == blocks, 1.0, 2.0)
    residual = (np.abs(observed - u - phase * v) ** 2).sum(0)
    rest = float(size @ residual / (size.sum() * (repeats - 2) * rows))
    noise = (2 * repeats - 2 * phase_sum.real) / determinant
    weight = size / (1 + noise) ** 2
    row = float(weight @ (np.abs(u + v) ** 2 / rows - rest * noise) / weight.sum())
    return PairVariance(row, rest, float(weight.sum() ** 2 / (weight**2 / size).sum()))


def permutation_error(
    parts: Sequence[tuple[Floats, Floats, float]], norm: tuple[float, float]
) -> tuple[float, float]:
    """Return the standard error of a permutation importance, and its degrees of freedom."""
    components = [(pair_variance(*part), len(part[1])) for part in parts]
    known = [(v, r) for v, r in components if not np.isnan(v.row)]
    repeats = sum(r for _, r in components)
    if not known:
        return np.nan, np.nan
    fraction = np.array([r for _, r in known]) / sum(r for _, r in known)
    row = fraction @ np.array([v.row for v, _ in known])
    rest = fraction @ np.array([v.rest for v, _ in known])
    # The unbiased estimate of a small variance may be negative.
    variance = max(float(row), 0.0) / norm[0] + float(rest) / (norm[1] * repeats)
    return float(np.sqrt(variance)), known[0][0].df


def sum_error(parts: Floats, weight: float) -> tuple[float, float]:
    """Return the standard error of ``parts.sum() / weight`` for independent parts, and its degrees of freedom."""
    g = len(parts)
    variance = ((parts - parts.mean()) ** 2).sum() * g / max(g - 1, 1)
    return float(np.sqrt(variance) / weight), float(g - 1)


def influence_error(
    influence: Floats, weights: Floats | None, kind: WeightKind
) -> tuple[float, float]:
    """Return the standard error of a weighted mean of influence values, and its degrees of freedom."""
    n = len(influence)
    w = np.ones(n) if weights is None else weights
    total = float(w.sum())
    size = total if kind == "frequency" else total**2 / float(w @ w)
    if size <= 1:
        return np.nan, np.nan
    centred = influence - w @ influence / total
    squares = w @ centred**2 if kind == "frequency" else (w**2) @ centred**2
    return float(np.sqrt(squares * size / (size - 1)) / total), size - 1.0
