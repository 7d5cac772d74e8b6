"""Buckets: exact order statistics and exact cells without sorting.

A bucket's number grows with the value (subtraction, multiplication and truncation all preserve order in floating
point), so a value is greater than every edge in a lower bucket and smaller than every edge in a higher one. Only values
that share a bucket with an edge, or with a wanted rank, have to be compared: a few in a hundred.
"""

from __future__ import annotations

import numpy as np

from skedasis.typing import Bools, Floats, Ints, Side

BUCKETS = 4096
_MANY = 32_768
"""Buckets for many edges: few values still share one with an edge, and the tables stay in the cache."""
_FEW = 2048
"""Below so many values NumPy's own search is as fast."""


def bucket(x: Floats, low: float, high: float, count: int = BUCKETS) -> Ints | None:
    """Return each value's bucket in 0..count, or None where the range cannot be cut up.

    Parameters
    ----------
    x : ndarray of float, shape (n,)
        Values between `low` and `high`.
    """
    with np.errstate(over="ignore", divide="ignore"):
        scale = count / np.float64(high - low)
    if not np.isfinite(scale) or scale <= 0:
        return None
    code = x - low
    code *= scale
    # Rounding can only lift the largest value into the bucket behind the last.
    # Indices of NumPy's own width: narrower ones are cast again at every use.
    return code.astype(np.int64)


def order_statistics(
    x: Floats, low: float, high: float, ranks: Ints, code: Ints | None = None
) -> Floats:
    """Return the values at the given ranks of the sorted values (from 0).

    Parameters
    ----------
    x : ndarray of float, shape (n,)
    low, high : float
        Smallest and largest value.
    ranks : ndarray of int
        Non-decreasing.
    code : ndarray of int, optional
        Of `bucket`, where it is known already.
    """
    if code is None and len(x) > _FEW:
        code = bucket(x, low, high)
    if code is None:
        return np.partition(x, np.unique(ranks))[ranks]
    reached = np.cumsum(np.bincount(code, minlength=BUCKETS + 1))
    wanted = np.searchsorted(reached, ranks, side="right")
    asked = np.zeros(BUCKETS + 1, dtype=bool)
    asked[wanted] = True
    some = np.sort(x[asked.take(code)])
    # Ranks among the sorted few: what lies in buckets that were not asked for is skipped.
    size = np.diff(reached, prepend=0)
    skipped = np.cumsum(np.where(asked, 0, size))
    return some[ranks - skipped[wanted]]


def locate(
    inner: Floats, x: Floats, low: float, high: float, closed: Side, code: Ints | None = None
) -> Ints:
    """Return for each value how many inner edges lie below it: its cell.

    Equals ``np.searchsorted(inner, x, side="right" if closed == "left" else "left")``. Values beyond [low, high] are
    allowed if both are inner edges: they then share the end buckets with them, and are compared. `code` is that of
    `bucket`, where it is known already.
    """
    side = "right" if closed == "left" else "left"
    few = len(x) <= _FEW or not 0 < len(inner) < _MANY // 8
    count = BUCKETS
    if len(inner) >= BUCKETS // 8:
        # Tables of this size are only worth making for many values.
        few, count, code = few or len(x) < _MANY // 2, _MANY, None
    edge = None if few else bucket(inner, low, high, count)
    if code is None and not few:
        beyond = inner[0] == low and inner[-1] == high
        code = bucket(np.clip(x, low, high) if beyond else x, low, high, count)
    if few or code is None or edge is None:
        return np.searchsorted(inner, x, side=side)
    shared: Bools = np.zeros(count + 1, dtype=bool)
    shared[edge] = True
    table = np.searchsorted(edge, np.arange(count + 1), side="left")
    cell = table.take(code)
    unsure = np.flatnonzero(shared.take(code))
    if 2 * len(unsure) > len(x):  # long tails: nearly all values lie in few buckets
        return np.searchsorted(inner, x, side=side)
    cell[unsure] = np.searchsorted(inner, x[unsure], side=side)
    return cell
