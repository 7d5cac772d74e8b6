"""Which rows results keep: those with the smallest hashes of their identifiers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools
from skedasis.stats.random import row_hashes

if TYPE_CHECKING:
    from skedasis.data.dataset import Batch

KEPT_ROWS = "rows that results keep"
"""Purpose of the hashes by which the kept rows are drawn."""

_HASHED_AT_A_TIME = 1_000_000


@dataclass(frozen=True, eq=False)
class MaskedRows:
    """The kept rows of data in memory, by a mask, (n,)."""

    rows: Bools

    @property
    def most(self) -> int:
        """The largest number of rows that are kept."""
        return int(self.rows.sum())

    def mask(self, batch: Batch) -> Bools:
        """Return which rows of a batch are kept."""
        return self.rows[batch.places]


@dataclass(frozen=True)
class HashedRows:
    """The kept rows of data beyond memory: those whose hashes are at most a threshold.

    `most` is the largest number of rows for which there is room.
    """

    threshold: int
    seed: int
    most: int

    def mask(self, batch: Batch) -> Bools:
        """Return which rows of a batch are kept."""
        if self.most == 0:
            return np.zeros(len(batch), dtype=bool)
        return row_hashes(batch.identifiers, self.seed, KEPT_ROWS) <= np.uint64(self.threshold)


KeptRows: TypeAlias = MaskedRows | HashedRows


def hashed_rows(n: int, kept: int, seed: int, *, numbered: bool) -> HashedRows:
    """Return the rule that keeps `kept` of n rows.

    Identifiers that are row numbers (`numbered`) are hashed here, and the rule keeps exactly so many rows. Others are
    known only when they are read: the rule then keeps about so many, and `most` allows for six standard deviations.
    """
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
