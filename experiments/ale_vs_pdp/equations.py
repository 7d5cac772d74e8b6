"""The chapter's estimate of a second-order ALE, Eq. 6.4 to 6.7, row by row and sum by sum as printed.

Two slips of print can be left in or put right: the second sum of Eq. 6.6 runs over the intervals of x_l with k, but
then uses k for an interval of x_j; and Eq. 6.7 subtracts the sum over the data, not the mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.ale_vs_pdp.chapter import Floats


@dataclass(frozen=True, eq=False)
class Literal:
    """Edges, counts and differences of a pair, from which the equations are read.

    Parameters
    ----------
    edges : two ndarray, each of shape (K + 1,)
    counts : ndarray of int, shape (K, K)
    raw : ndarray, shape (K + 1, K + 1)
        Eq. 6.4 at the edges; empty cells add nothing.
    """

    edges: tuple[Floats, Floats]
    counts: NDArray[np.int_]
    raw: Floats

    @property
    def intervals(self) -> int:
        """Return K."""
        return len(self.counts)

    def corrected(self, printed: bool) -> Floats:
        """Return Eq. 6.6 at the edges, as printed or with the right index."""
        first, second = self.main(self.raw)
        if printed:
            second = self._printed_second()
        return self.raw - first[:, None] - second

    def main(self, values: Floats) -> tuple[Floats, Floats]:
        """Return both accumulated main effects of a surface, as Eq. 6.6 takes them with the right index."""
        K, n = self.intervals, self.counts
        first, second = np.zeros(K + 1), np.zeros(K + 1)
        for k in range(1, K + 1):
            up = values[k, 1:] - values[k - 1, 1:]
            first[k] = first[k - 1] + n[k - 1] @ up / n[k - 1].sum()
            up = values[1:, k] - values[1:, k - 1]
            second[k] = second[k - 1] + n[:, k - 1] @ up / n[:, k - 1].sum()
        return first, second

    def _printed_second(self) -> Floats:
        K, n = self.intervals, self.counts
        second = np.zeros(K + 1)
        for k in range(1, K + 1):
            across = self.raw[k, 1:] - self.raw[k, :-1]
            second[k] = second[k - 1] + n[k - 1] @ across / n[:, k - 1].sum()
        return second

    def centred(self, corrected: Floats, printed: bool) -> Floats:
        """Return Eq. 6.7 at the edges, as printed or divided by N."""
        total = float((self.counts * corrected[1:, 1:]).sum())
        return corrected - (total if printed else total / self.counts.sum())

    def mean(self, values: Floats) -> float:
        """Return a surface's mean over the data; it has in each cell the value of the upper corner (6.2.1.2)."""
        return float((self.counts * values[1:, 1:]).sum() / self.counts.sum())


def literal(f: Callable[[Floats], Floats], X: Floats, edges: tuple[Floats, Floats]) -> Literal:
    """Sum Eq. 6.5 over the first two features' cells, row by row."""
    K = len(edges[0]) - 1
    total, counts = np.zeros((K, K)), np.zeros((K, K), dtype=int)
    for row in X:
        # (z_{k-1}, z_k], the first also closed on the left.
        k, m = (
            max(1, int(np.searchsorted(z, v, "left"))) for z, v in zip(edges, row[:2], strict=True)
        )
        total[k - 1, m - 1] += _difference(
            f, row, (edges[0][k - 1 : k + 1], edges[1][m - 1 : m + 1])
        )
        counts[k - 1, m - 1] += 1
    raw = np.zeros((K + 1, K + 1))
    for k in range(1, K + 1):
        for m in range(1, K + 1):
            cells = total[:k, :m] / np.maximum(counts[:k, :m], 1)
            raw[k, m] = cells.sum()
    return Literal(edges, counts, raw)


def _difference(
    f: Callable[[Floats], Floats], row: Floats, corners: tuple[Floats, Floats]
) -> float:
    """Return Eq. 6.5."""
    moved = np.repeat(row[None, :], 4, axis=0)
    moved[:, 0], moved[:, 1] = np.repeat(corners[0], 2), np.tile(corners[1], 2)
    low_low, low_high, high_low, high_high = f(moved)
    return float((high_high - low_high) - (high_low - low_low))
