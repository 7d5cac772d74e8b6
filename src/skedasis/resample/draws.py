"""Draws of rows with replacement, in blocks that several results share. Pure arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from skedasis.moments import WeightKind
from skedasis.typing import Floats, Ints

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
