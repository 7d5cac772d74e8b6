"""Kernels of exact order statistics: counting values by the leading bits of a key, and finding candidates.

They are plain Python, compiled by `skedasis._compilation`. A key is an unsigned integer that orders numbers as they are
ordered: the bits of x - pivot as a float64, all inverted if it is negative, else with the sign bit set.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Ints

_SIGN = np.uint64(1 << 63)

HELPERS = ("key_of",)


def key_of(bits: np.int64) -> np.uint64:
    """Return the key of a number, given its bits as a signed integer."""
    if bits < 0:
        return np.uint64(~bits)
    return np.uint64(bits) ^ _SIGN


def count_values(
    x: Floats, bits: NDArray[np.int64], weights: Ints, shift: np.uint64, rows: Ints, sums: Ints
) -> tuple[int, int, bool]:
    """Add values to the counts of their buckets; return the numbers of NaN and of infinities, and if all are whole.

    `bits`, (n,), are those of x - pivot. The bucket of a key is the key shifted to the right by `shift`, uint64.
    Number and weight of the values by bucket, `rows` and `sums`, are changed; without weights `weights` and `sums` are
    empty.
    """
    missing, infinite, whole, weighted = 0, 0, True, len(weights) > 0
    for i in range(len(x)):
        value = x[i]
        if value - value != 0.0:  # NaN or infinite
            if value != value:  # noqa: PLR0124 - NaN
                missing += 1
            else:
                infinite += 1
            continue
        if whole and value % 1.0 != 0.0:
            whole = False
        bucket = key_of(bits[i]) >> shift
        rows[bucket] += 1
        if weighted:
            sums[bucket] += weights[i]
    return missing, infinite, whole


def find_candidates(
    x: Floats, bits: NDArray[np.int64], shift: np.uint64, wanted: Bools, found: Ints
) -> int:
    """Write the indices of the values in wanted buckets to `found`, and return their number."""
    n = 0
    for i in range(len(x)):
        value = x[i]
        if value - value == 0.0 and wanted[key_of(bits[i]) >> shift]:
            found[n] = i
            n += 1
    return n
