"""Confidence intervals and bands, bootstrap weights of rows, and standard errors of permutations, as pure arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.stats.moments import WeightKind

# ------------------------------------------------------------------------------------------
# From errors, or from replicates, to intervals: pointwise and simultaneous. Pure arrays.


_DRAWS = 20_000
"""Draws behind a critical value: its own Monte-Carlo error is then about 0.15 points of coverage at 95 %."""


_SEED = 20_240_607
"""One fixed seed: the same effect has the same band every time."""


_TAIL = 5.0
"""Standard deviations up to which normal tails are turned into Student's."""


_ROUNDING = 1e-12
"""What differs by less, as a share of the largest value, may differ by rounding."""


_NUMBERS = 2_000_000
"""Numbers at a time while a critical value is simulated."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Where the errors of m points come from: independent parts, each with a variance that was estimated by itself.

    Parameters
    ----------
    factor : ndarray of float, shape (m, r)
        The error of point k is ``factor[k] @ z``, z standard normal.
    block : ndarray of int, shape (r,)
        Which part each column belongs to, 0..B - 1, not decreasing.
    freedom : ndarray of float, shape (B,)
        Degrees of freedom of each part's variance.
    """

    factor: Floats
    block: Ints
    freedom: Floats


def quantile_t(freedom: Floats, level: Floats | float) -> Floats:
    """Return Student's two-sided critical values; at least one degree of freedom, and a normal one without end."""
    from scipy.special import stdtrit

    known = np.where(np.isfinite(freedom), np.maximum(freedom, 1.0), 1e12)
    return stdtrit(known, (1 + level) / 2)


def t_interval(
    value: Floats, error: Floats, freedom: Floats, level: float
) -> tuple[Floats, Floats]:
    """Return value -+ t * error, pointwise, each point with its own degrees of freedom."""
    return t_band(value, error, quantile_t(freedom, level))


def bonferroni(error: Floats, freedom: Floats, level: float) -> Floats:
    """Return critical values for a band over all points that have an error: the level shared by them alike."""
    points = max(int(np.count_nonzero(error > 0)), 1)
    return quantile_t(freedom, 1 - (1 - level) / points)


def sup_t(blocks: Blocks, level: float, draws: int = _DRAWS) -> float:
    """Return the critical value c with ``P(max over points of |T| <= c) = level``.

    Parameters
    ----------
    blocks : Blocks
    level : float
    draws : int

    Returns
    -------
    float
        NaN where no point has an error.

    Notes
    -----
    T is the error of a point over its own estimate. Normal errors and the chi squares of the parts' variances are drawn
    together, with one fixed seed, so that few degrees of freedom count where they are. Points without an error take no
    part. Cost: draws (m r + m B).
    """
    # The critical value has no units: squares of 1e-200 would vanish.
    size = np.abs(np.where(np.isfinite(blocks.factor), blocks.factor, 0.0)).max(initial=0.0)
    scaled = blocks.factor / (size or 1.0)
    scatter = (scaled**2).sum(axis=1)
    there = (scatter > 1e-24) & np.isfinite(scatter)
    if not there.any():
        return float("nan")
    factor = scaled[there]
    starts = np.searchsorted(blocks.block, np.arange(len(blocks.freedom)))
    square = _by_block(factor**2, starts, blocks.factor.shape[1])
    freedom = np.clip(np.where(np.isfinite(blocks.freedom), blocks.freedom, 1e9), 1.0, 1e9)
    rng = np.random.default_rng(_SEED)
    step = max(1, min(draws, _NUMBERS // max(factor.shape[1], len(factor), 1)))
    largest = np.empty(draws)
    for first in range(0, draws, step):
        size = min(step, draws - first)
        error = rng.standard_normal((size, factor.shape[1])) @ factor.T
        chance = rng.chisquare(freedom, (size, len(freedom))) / freedom
        largest[first : first + size] = np.abs(error / np.sqrt(chance @ square.T)).max(axis=1)
    return float(np.quantile(largest, level))


def _by_block(values: Floats, starts: Ints, columns: int) -> Floats:
    """Sum columns by block; a block without columns has nothing."""
    ends = np.append(starts[1:], columns)
    sums = [values[:, a:b].sum(axis=1) for a, b in zip(starts, ends, strict=True)]
    return np.stack(sums, axis=1) if sums else np.zeros((len(values), 0))


def t_band(value: Floats, error: Floats, critical: Floats | float) -> tuple[Floats, Floats]:
    """Return value -+ critical * error; where there is no error, as at the start of a curve, the value itself."""
    half = np.where(error == 0, 0.0, critical) * error  # zero also of an infinite critical value
    return value - half, value + half


def percentiles(
    draws: Floats, level: float, freedom: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return percentiles over replicates, shape (R, ...): NaN where no replicate has a value.

    Parameters
    ----------
    draws : ndarray of float, shape (R, ...)
        NaN where a replicate knows nothing.
    level : float
    freedom : ndarray of float, shape (...), optional
        Degrees of freedom of each point's error: few make the percentiles wider.

    Notes
    -----
    Of n rows a bootstrap is narrower than Student's interval by the root of (n - 1) / n and by t over z. Hesterberg's
    (2015) expanded percentiles make up for both.
    """
    flat = draws.reshape(len(draws), -1)
    tail = np.full(flat.shape[1], (1 - level) / 2)
    if freedom is not None:
        tail = _expanded(tail, freedom.ravel())
    known = ~np.isnan(flat)
    ends = np.full((2, flat.shape[1]), np.nan)
    whole = known.all(axis=0)
    if whole.any():
        ordered, low = np.sort(flat[:, whole], axis=0), tail[whole]
        ends[:, whole] = [_at(ordered, low), _at(ordered, 1 - low)]
    for k in np.flatnonzero(known.any(axis=0) & ~whole):
        ends[:, k] = np.quantile(flat[known[:, k], k], [tail[k], 1 - tail[k]])
    shape = draws.shape[1:]
    return ends[0].reshape(shape), ends[1].reshape(shape)


def _at(ordered: Floats, share: Floats) -> Floats:
    """Return quantiles of sorted columns, each at its own share."""
    place = share * (len(ordered) - 1)
    before = np.minimum(place.astype(np.int64), max(len(ordered) - 2, 0))
    after = np.minimum(before + 1, len(ordered) - 1)
    column = np.arange(ordered.shape[1])
    low, high = ordered[before, column], ordered[after, column]
    return low + (high - low) * (place - before)


def _expanded(tail: Floats, freedom: Floats) -> Floats:
    """Return the tails of a normal distribution that few degrees of freedom make of those of a t."""
    from scipy.special import ndtr

    free = np.where(np.isfinite(freedom), np.maximum(freedom, 1.0), 1e12)
    return ndtr(-quantile_t(free, 1 - 2 * tail) * np.sqrt((free + 1) / free))


def sup_band(value: Floats, draws: Floats, level: float, freedom: Floats) -> tuple[Floats, Floats]:
    """Return value -+ q * s: s the replicates' standard deviation, q a quantile of the largest deviation over it.

    Parameters
    ----------
    value : ndarray of float, shape (m,)
    draws : ndarray of float, shape (R, m)
        NaN where a replicate knows nothing of a point.
    level : float
    freedom : ndarray of float, shape (m,)
        Degrees of freedom of each point's error: few make the band wider, as they do `percentiles`.
    """
    from scipy.special import ndtr

    count = (~np.isnan(draws)).sum(axis=0)
    moved = np.where(np.isnan(draws), 0.0, draws - value)
    middle = moved.sum(axis=0) / np.maximum(count, 1)
    around = np.where(np.isnan(draws), 0.0, draws - value - middle)
    spread = np.where(count > 1, np.sqrt((around**2).sum(0) / np.maximum(count - 1, 1)), np.nan)
    there = varies(spread, value)
    if not there.any():
        return value - spread, value + spread
    largest = (np.abs(moved[:, there]) / spread[there]).max(axis=1)
    times = float(np.quantile(largest, level))
    # Beyond some deviations a normal tail says nothing any more, and then is zero: from there on in proportion.
    known = min(times, _TAIL)
    free = np.where(np.isfinite(freedom), np.maximum(freedom, 1.0), 1e12)
    half = quantile_t(free, 1 - 2 * ndtr(-known)) * np.sqrt((free + 1) / free) * spread
    half *= times / known if known > 0 else 1.0
    return value - half, value + half


def varies(spread: Floats, value: Floats) -> Bools:
    """Return which points vary over replicates by more than rounding.

    Where all rows say the same, replicates differ by rounding alone, and all lie off the value by many times as much.
    """
    size = np.abs(np.where(np.isnan(value), 0.0, value)).max(initial=0.0)
    return spread > _ROUNDING * size


# ------------------------------------------------------------------------------------------
# Draws of rows with replacement, in blocks that several results share. Pure arrays.


_BLOCK = 12_000_000
"""Bytes of counts at a time, in each thread: the sums then run over memory that is near."""


_MOST = 250
"""Replicates in a block at most."""


_NEAR = 2_000_000
"""Bytes of counts up to which all replicates of a block are counted at once."""


class Repeated(Protocol):
    """What a bootstrap repeats: what comes out when rows count so often."""

    def __call__(self, counts: Floats) -> Floats:
        """Return (m, R) from counts (n, R)."""
        ...


_OWN = 0x5CEDA515
"""A part of every seed."""


@dataclass(frozen=True, eq=False)
class Draws:
    """How rows are drawn.

    Parameters
    ----------
    weight : ndarray of float, shape (n,), optional
        None means 1 each.
    kind : {"frequency", "sampling"}
        Of frequencies so many are drawn as the weights say there are, each row as often as its weight; of sampling
        weights rows are drawn alike, and keep their weights.
    rows : int
    """

    weight: Floats | None
    kind: WeightKind
    rows: int

    @property
    def block(self) -> int:
        """Return how many replicates are drawn at a time: it depends on the rows alone, and so do the draws."""
        return int(np.clip(_BLOCK // (8 * max(self.rows, 1)), 1, _MOST))

    def counts(self, rng: np.random.Generator, replicates: int) -> Floats:
        """Return how often each row is drawn, shape (rows, replicates)."""
        w = self.weight
        if w is None or self.kind == "sampling" or bool((w == 1).all()):
            return _counted(rng, self.rows, replicates, None)
        total = float(w.sum())
        if total <= 50 * self.rows and bool((w == np.floor(w)).all()):
            return _counted(
                rng, self.rows, replicates, np.repeat(np.arange(self.rows), w.astype(int))
            )
        drawn = rng.multinomial(max(1, round(total)), w / total, size=replicates)
        return np.ascontiguousarray(drawn.T, dtype=float)

    def alike(self, other: Draws) -> bool:
        """Return whether the same draws serve both."""
        if self.rows != other.rows or self.kind != other.kind:
            return False
        if self.weight is None or other.weight is None:
            return self.weight is other.weight
        return self.weight is other.weight or bool(np.array_equal(self.weight, other.weight))


def _counted(rng: np.random.Generator, rows: int, replicates: int, table: Ints | None) -> Floats:
    """Count so many draws as there are entries of the table, (rows, replicates)."""
    size = rows if table is None else len(table)
    if 8 * size * replicates <= _NEAR:
        drawn = rng.integers(0, size, (replicates, size))
        drawn = drawn if table is None else table[drawn]
        place = drawn * replicates + np.arange(replicates)[:, None]
        flat = np.bincount(place.ravel(), minlength=rows * replicates)
        return flat.reshape(rows, replicates).astype(float)
    # One replicate at a time stays in the processor's own memory; a byte holds any count of rows drawn alike.
    counts = np.empty((rows, replicates), np.uint8 if table is None else np.float64)
    for r in range(replicates):
        drawn = rng.integers(0, size, size)
        drawn = drawn if table is None else table[drawn]
        counts[:, r] = np.bincount(drawn, minlength=rows)
    return counts.astype(float, copy=False)


def replicate(
    draws: Draws, results: Sequence[Repeated], replicates: int, seed: int, threads: int = 1
) -> list[Floats]:
    """Return the replicates of several results of the same rows, shape (replicates, m) each.

    Notes
    -----
    Each block of draws has a seed of its own, so that threads change nothing; and a result alone has the replicates
    that it has among others.
    """
    step = draws.block
    firsts = range(0, replicates, step)

    def work(first: int) -> list[Floats]:
        rng = generator(seed, first // step)
        counts = draws.counts(rng, min(step, replicates - first))
        return [result(counts) for result in results]

    done = spread_out(work, firsts, threads)
    return [np.concatenate([d[k].T for d in done]) for k in range(len(results))]


def generator(seed: int, part: int = 0) -> np.random.Generator:
    """Return random numbers that are nobody else's: those of ``default_rng(seed)`` may have made the data."""
    return np.random.default_rng([seed, part, _OWN])


def spread_out(
    work: Callable[[int], list[Floats]], firsts: Sequence[int], threads: int
) -> list[list[Floats]]:
    """Do the blocks one after the other, or by threads."""
    if threads == 1 or len(firsts) < 2:
        return [work(first) for first in firsts]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, firsts))


# ------------------------------------------------------------------------------------------
# The errors of permutations, and of means of influences. Pure arrays.


@dataclass(frozen=True)
class PairVariance:
    """What varies in the rise that a receiver sees with a lender's value: u(receiver) + v(lender) + rest(both).

    Parameters
    ----------
    row : float
        Variance of u + v of one and the same row: the error of its mean is that of the rows (Hájek's projection).
    rest : float
        Variance of the rest: the error of its mean is that of the draws.
    freedom : float
        Degrees of freedom of `row`.
    """

    row: float
    rest: float
    freedom: float


def pair_variance(sums: Floats, steps: Floats, rows: float) -> PairVariance:
    """Split the variance of pairs that were dealt on a circle of blocks.

    Parameters
    ----------
    sums : ndarray of float, shape (r, blocks)
        Rises summed over the receivers in each block, in each repeat.
    steps : ndarray of float, shape (r,)
        How many blocks ahead the lenders stand. Repeats without a step, and repeats of the same one, say nothing.
    rows : float
        How many rows there are in all the blocks; of weighted rows the sum of their squared weights.

    Notes
    -----
    A block's sum is U(block) + V(block + step) + noise. In the Fourier transform over the blocks the shift is a factor,
    so each frequency has two unknowns, u and v, and as many equations as there are repeats: least squares gives both,
    and what is left over gives the noise. What is the same in u and in -v (a quantity that is additive in the feature)
    cancels exactly, which the variance of single rises would drown in. Frequencies count by how well they tell u
    from v.
    """
    moved = steps % sums.shape[1] != 0
    sums, steps = sums[moved], steps[moved]
    repeats, blocks = sums.shape
    nothing = PairVariance(np.nan, np.nan, np.nan)
    if repeats < 3 or blocks < 3:
        return nothing
    k = np.arange(1, blocks // 2 + 1)
    turn = np.exp(2j * np.pi * np.outer(steps, k) / blocks)
    seen = np.fft.fft(sums, axis=1)[:, k]
    total, back, both = turn.sum(0), (turn.conj() * seen).sum(0), seen.sum(0)
    regular = repeats**2 - np.abs(total) ** 2
    told = regular > 1e-6 * repeats**2
    if not told.any():
        return nothing
    turn, seen, total = turn[:, told], seen[:, told], total[told]
    back, both, regular = back[told], both[told], regular[told]
    u = (repeats * both - total * back) / regular
    v = (repeats * back - total.conj() * both) / regular
    # Real and imaginary part, but of the highest frequency, which is real.
    size = np.where(2 * k[told] == blocks, 1.0, 2.0)
    left = (np.abs(seen - u - turn * v) ** 2).sum(0)
    rest = float(size @ left / (size.sum() * (repeats - 2) * rows))
    noise = (2 * repeats - 2 * total.real) / regular
    worth = size / (1 + noise) ** 2
    row = float(worth @ (np.abs(u + v) ** 2 / rows - rest * noise) / worth.sum())
    return PairVariance(row, rest, float(worth.sum() ** 2 / (worth**2 / size).sum()))


def permutation_error(
    parts: Sequence[tuple[Floats, Floats, float]], norm: tuple[float, float]
) -> tuple[float, float]:
    """Return the standard error of a permutation importance, and its degrees of freedom.

    Parameters
    ----------
    parts : sequence of (sums, steps, rows)
        Of each circle, as `pair_variance` takes them.
    norm : (float, float)
        What the variance of the rows' part, and that of the draws', is divided by.
    """
    found = [(pair_variance(*part), len(part[1])) for part in parts]
    known = [(v, r) for v, r in found if not np.isnan(v.row)]
    repeats = sum(r for _, r in found)
    if not known:
        return np.nan, np.nan
    share = np.array([r for _, r in known]) / sum(r for _, r in known)
    row = share @ np.array([v.row for v, _ in known])
    rest = share @ np.array([v.rest for v, _ in known])
    # An estimate of a variance that is zero may fall below it.
    variance = max(float(row), 0.0) / norm[0] + float(rest) / (norm[1] * repeats)
    return float(np.sqrt(variance)), known[0][0].freedom


def parts_error(parts: Floats, weight: float) -> tuple[float, float]:
    """Return the standard error of a sum over parts that are independent, divided by `weight`."""
    g = len(parts)
    spread = ((parts - parts.mean()) ** 2).sum() * g / max(g - 1, 1)
    return float(np.sqrt(spread) / weight), float(g - 1)


def influence_error(
    influence: Floats, weights: Floats | None, kind: WeightKind
) -> tuple[float, float]:
    """Return the standard error of a weighted mean of influences, and its degrees of freedom."""
    n = len(influence)
    w = np.ones(n) if weights is None else weights
    total = float(w.sum())
    size = total if kind == "frequency" else total**2 / float(w @ w)
    if size <= 1:
        return np.nan, np.nan
    moved = influence - w @ influence / total
    squares = w @ moved**2 if kind == "frequency" else (w**2) @ moved**2
    return float(np.sqrt(squares * size / (size - 1)) / total), size - 1.0
