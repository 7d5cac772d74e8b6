"""Weights as integers, and sums without rounding: they do not depend on the order of the rows.

Weights are integer multiples of a power of two (`weight_quantum`), so that their sums are exact. Integer weights then
equal repetition, and equal weights of any size equal no weights.
"""

from __future__ import annotations

import numpy as np

from skedasis._types import Floats, Ints


def weight_quantum(largest: float, n: int) -> float:
    """Return the power of two of which weights are taken as multiples, so that sums of n weights fit in 62 bits."""
    return 2.0 ** (int(np.frexp(largest)[1]) + int(n).bit_length() - 62)


def quantised(weights: Floats, quantum: float) -> Ints:
    """Return weights as integer multiples of a quantum."""
    return np.rint(weights / quantum).astype(np.int64)


def integer_sums(codes: Ints, values: Ints, size: int) -> Ints:
    """Return the sums of integers by code, which are exact up to 63 bits."""
    # `bincount` sums floats, which are exact up to 53 bits: 21 bits at a time are, for up to 2**32 values.
    sums = np.zeros(size, dtype=np.int64)
    for shift in (0, 21, 42):
        limb = (values >> shift) & 0x1FFFFF
        if limb.any():
            sums += np.bincount(codes, limb, size).astype(np.int64) << shift
    return sums


def weight_sums(codes: Ints, weights: Floats, size: int, quantum: float) -> Floats:
    """Return the sums of weights by code, which do not depend on the order of the rows."""
    return integer_sums(codes, quantised(weights, quantum), size).astype(float) * quantum


_UNIT_BITS = 1127
"""Exact sums are multiples of 2**-1127: 53 bits below the exponent of the smallest positive float64."""

_SUMMED = 1 << 24
"""Values that are summed at a time: sums of this many numbers of 27 bits are exact as floats."""


def exact_sum(values: Floats) -> int:
    """Return the sum of finite, non-negative floats without rounding, as a multiple of 2**-1127.

    Such sums of parts can be added in any order. `rounded` makes a float of them.
    """
    total = 0
    for start in range(0, len(values), _SUMMED):
        mantissa, exponent = np.frexp(values[start : start + _SUMMED])
        whole = (mantissa * 2.0**53).astype(np.int64)
        lowest = int(exponent.min(initial=0))
        place = (exponent - lowest).astype(np.int64)
        high, low = np.bincount(place, whole >> 26), np.bincount(place, whole & 0x3FFFFFF)
        for k in np.flatnonzero(high + low).tolist():
            total += ((int(high[k]) << 26) + int(low[k])) << (k + lowest - 53 + _UNIT_BITS)
    return total


def rounded(total: int) -> float:
    """Return an exact sum, or one of several, as the nearest float; infinity if it is too large."""
    try:
        return total / (1 << _UNIT_BITS)
    except OverflowError:
        return float("inf")


def are_whole(weights: Ints, quantum: float) -> bool:
    """Return whether integer weights stand for whole numbers."""
    if quantum < 2.0**-62:
        return False  # all weights are below 1
    unit = round(1.0 / quantum) if quantum <= 1.0 else 1
    return bool((weights % unit == 0).all())


def targets_of(total: int, k: int, steps: Ints, inexact: int = 0) -> Ints:
    """Return the cumulative weights that the order statistics at ``steps / k`` of a total weight reach first."""
    if not inexact and total * k < 2**62:
        return np.maximum(-(-total * steps // k), 1)
    # Python's integers: the products may exceed 64 bits. 4e-16 is the rounding of a number and of its sum with others.
    wanted = [total * int(step) for step in steps]
    return np.array(
        [max(-(-(w - w * 4 * inexact // 10**16) // k), 1) for w in wanted], dtype=np.int64
    )
