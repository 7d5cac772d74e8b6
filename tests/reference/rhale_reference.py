"""RHALE's bins from the paper alone: Eq. 11, 13 and 14 as printed, slow and simple.

This file does not use the library. The table `T(i, j)` of Eq. 14, which the library replaces by one array, is kept:
row i holds the best cost of reaching each grid point with exactly i bins, so that ties can be resolved in favour of
fewer bins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Binning:
    """Edges, their cost (Eq. 13), and for each bin its count, mean (Eq. 10) and standard deviation (Eq. 11)."""

    edges: np.ndarray
    cost: float
    count: np.ndarray
    effect: np.ndarray
    std: np.ndarray
    feasible: bool = True

    @property
    def value(self) -> np.ndarray:
        """Return the effect at the edges, 0 at the left end (Eq. 15)."""
        return np.concatenate([[0.0], np.cumsum(self.effect * np.diff(self.edges))])

    @property
    def heterogeneity(self) -> np.ndarray:
        """Return the heterogeneity (STD) at the edges (Eq. 16)."""
        steps = (np.diff(self.edges) * self.std) ** 2
        return np.sqrt(np.concatenate([[0.0], np.cumsum(steps)]))


def grid(x: np.ndarray, max_bins: int) -> np.ndarray:
    """Return x_min + k * dx_min, k = 0..K_max, with both ends exact."""
    points = x.min() + np.arange(max_bins + 1) * ((x.max() - x.min()) / max_bins)
    points[-1] = x.max()
    return points


def members(x: np.ndarray, low: float, high: float, last: bool) -> np.ndarray:
    """Return the rows in [low, high), or in [low, high] for the last bin."""
    return (x >= low) & ((x <= high) if last else (x < high))


def bin_cost(d: np.ndarray, width: float, total: int, alpha: float, min_points: int) -> float:
    """Return B(l, j): tau * variance * width, or infinity where the bin has too few rows."""
    if len(d) < max(min_points, 2):
        return np.inf
    return (1.0 - alpha * len(d) / total) * float(np.var(d, ddof=1)) * width


def all_costs(
    x: np.ndarray, d: np.ndarray, points: np.ndarray, alpha: float, min_points: int
) -> np.ndarray:
    """Return B(l, j) for all pairs of grid points; infinite where l >= j."""
    k = len(points) - 1
    costs = np.full((k + 1, k + 1), np.inf)
    for left in range(k):
        for right in range(left + 1, k + 1):
            inside = members(x, points[left], points[right], right == k)
            width = points[right] - points[left]
            costs[left, right] = bin_cost(d[inside], width, len(x), alpha, min_points)
    return costs


def tie(x: np.ndarray, d: np.ndarray) -> float:
    """Return the difference below which two costs count as equal."""
    return 1e-12 * (x.max() - x.min()) * float(np.max(d**2))


def describe(x: np.ndarray, d: np.ndarray, edges: np.ndarray, alpha: float) -> Binning:
    """Return the statistics of given bins; the std of a bin with fewer than two rows is NaN."""
    last = len(edges) - 2
    rows = [d[members(x, edges[k], edges[k + 1], k == last)] for k in range(last + 1)]
    costs = [bin_cost(r, w, len(x), alpha, 0) for r, w in zip(rows, np.diff(edges), strict=True)]
    return Binning(
        edges=edges,
        cost=float(np.sum(costs)),
        count=np.array([len(r) for r in rows]),
        effect=np.array([r.mean() if len(r) else np.nan for r in rows]),
        std=np.array([r.std(ddof=1) if len(r) > 1 else np.nan for r in rows]),
    )


def optimal(x: np.ndarray, d: np.ndarray, max_bins: int, alpha: float, min_points: int) -> Binning:
    """Return the bins that minimise Eq. 13, by the table of Eq. 14.

    Parameters
    ----------
    x, d : ndarray of float, shape (n,)
        The feature's values and the rows' slopes.
    """
    points = grid(x, max_bins)
    costs = all_costs(x, d, points, alpha, min_points)
    table = np.full((max_bins + 1, max_bins + 1), np.inf)
    came_from = np.zeros((max_bins + 1, max_bins + 1), dtype=int)
    table[0, 0] = 0.0
    for i in range(1, max_bins + 1):
        reached = table[i - 1][:, None] + costs
        came_from[i] = np.argmin(reached, axis=0)
        table[i] = np.min(reached, axis=0)
    best = table[1:, -1].min()
    if not np.isfinite(best):
        one = describe(x, d, points[[0, -1]], alpha)
        return Binning(one.edges, one.cost, one.count, one.effect, one.std, feasible=False)
    bins = 1 + int(np.argmax(table[1:, -1] <= best + tie(x, d)))
    chosen = [max_bins]
    for i in range(bins, 0, -1):
        chosen.append(int(came_from[i, chosen[-1]]))
    return describe(x, d, points[chosen[::-1]], alpha)
