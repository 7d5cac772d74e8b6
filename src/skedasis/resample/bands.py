"""From errors, or from replicates, to intervals: pointwise and simultaneous. Pure arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skedasis.typing import Bools, Floats, Ints

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
