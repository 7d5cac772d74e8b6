"""Which rows results keep: those with the smallest hashes of their identifiers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Values
from skedasis.stats.random import row_hashes

KEPT_ROWS = "rows that results keep"
"""Purpose of the hashes by which the kept rows are drawn."""

_HASHED_AT_A_TIME = 1_000_000


@dataclass(frozen=True)
class HashedRows:
    """The kept rows of data beyond memory: those whose hashes are at most a threshold."""

    threshold: int
    seed: int
    most: int

    def mask(self, identifiers: Values) -> Bools:
        """Return which of some rows are kept."""
        if self.most == 0:
            return np.zeros(len(identifiers), dtype=bool)
        return row_hashes(identifiers, self.seed, KEPT_ROWS) <= np.uint64(self.threshold)


def hashed_rows(n: int, kept: int, seed: int, *, numbered: bool) -> HashedRows:
    """Return the rule that keeps `kept` of n rows."""
    margin = int(6 * np.sqrt(kept)) + 40
    expected = int((kept / n) * 2.0**64)
    if kept == 0:
        return HashedRows(0, seed, 0)
    if not numbered:
        return HashedRows(min(expected, 2**64 - 1), seed, kept + margin)
    limit = np.uint64(min(int((kept + margin) / n * 2.0**64), 2**64 - 1))
    small: list[NDArray[np.uint64]] = []
    for start in range(0, n, _HASHED_AT_A_TIME):
        hashes = row_hashes(np.arange(start, min(start + _HASHED_AT_A_TIME, n)), seed, KEPT_ROWS)
        small.append(hashes[hashes <= limit])
    threshold = np.partition(np.concatenate(small), kept - 1)[kept - 1]
    return HashedRows(int(threshold), seed, kept)
