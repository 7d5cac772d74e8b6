"""Partitions of fine cells into bins: the exact optimum of Eq. 13 and the greedy one.

The cost of a partition is a sum over its bins, so one array over the grid solves it (DESIGN 4.4); a table with the
number of bins as a second index, as the papers have it, is not needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skedasis.moments import Moments, WeightKind
from skedasis.typing import Floats, Ints


@dataclass(frozen=True)
class Criterion:
    """RHALE Eq. 13: ``(1 - alpha n_k / N) * variance_k * width_k``, infinite for bins with too few rows.

    Parameters
    ----------
    alpha : float
        The discount for populous bins.
    least : float
        The least weight of a bin, N_PPB.
    total : float
        N: the weight of all cells.
    ddof : int
        Delta degrees of freedom of the variance.
    kind : {"frequency", "sampling"}
        What weights mean.
    tie : float
        Costs that differ by less are equal.
    """

    alpha: float
    least: float
    total: float
    ddof: int = 1
    kind: WeightKind = "frequency"
    tie: float = 0.0

    def discount(self, weight: Floats) -> Floats:
        """Return tau_k."""
        return 1.0 - self.alpha * weight / self.total

    def cost(self, bins: Moments, widths: Floats) -> Floats:
        """Return each bin's share of the objective."""
        variance = bins.variance(self.ddof, self.kind)
        cost = self.discount(bins.weight) * variance * widths
        return np.where((bins.weight >= self.least) & ~np.isnan(variance), cost, np.inf)

    def discounted_variance(self, bins: Moments, enough: int) -> Floats:
        """Return tau_k * variance_k of the first bins, which are known to hold enough rows."""
        weight = bins.weight[:enough]
        degrees = weight - self.ddof
        if self.kind == "sampling":
            degrees = weight - self.ddof * bins.weight2[:enough] / weight
        scale = weight * (-self.alpha / self.total)
        scale += 1.0
        scale *= bins.m2[:enough]
        with np.errstate(divide="ignore", invalid="ignore"):
            scale /= degrees
        if self.kind == "frequency":
            return scale
        # One row, however heavy, has no variance.
        return np.where(bins.count[:enough] > 1, scale, np.inf)


def objective(edges: Floats, moments: Moments, kept: Ints, criterion: Criterion) -> float:
    """Return the cost of the partition whose edges are ``edges[kept]``."""
    return float(criterion.cost(moments.pool(kept[:-1]), np.diff(edges[kept])).sum())


def optimal_partition(edges: Floats, moments: Moments, criterion: Criterion) -> Ints | None:
    """Return the places of the edges that minimise the criterion, or None where no partition has enough rows.

    Parameters
    ----------
    edges : ndarray of float, shape (K + 1,)
    moments : Moments
        Of the local effects, per cell.
    criterion : Criterion

    Returns
    -------
    ndarray of int, shape (bins + 1,) or None

    Notes
    -----
    ``T(j) = min over l < j of T(l) + B(l, j)`` (Eq. 14). The moments of all bins that end at j grow from those that end
    at j - 1 by merging one cell, so no variance is ever a difference of large sums. O(K²) time, O(K) memory.

    Every bin is charged the tie's width on top of its cost. That makes ties go to fewer bins and stays additive.
    """
    k = len(moments.weight)
    best = np.full(k + 1, np.inf)
    best[0] = 0.0
    back = np.zeros(k + 1, dtype=np.int64)
    open_bins = Moments.zeros(k)
    least = max(criterion.least, np.nextafter(1.0, 2.0))  # a bin of weight 1 has no variance
    for j in range(1, k + 1):
        _grow(open_bins, moments, j - 1)
        # Bins that start further left hold more: those with enough rows are the first so many.
        enough = int(np.count_nonzero(open_bins.weight[:j] >= least))
        if enough == 0:
            continue
        through = criterion.discounted_variance(open_bins, enough)
        through *= edges[j] - edges[:enough]
        through += best[:enough]
        back[j] = np.argmin(through)
        best[j] = through[back[j]] + criterion.tie
    if not np.isfinite(best[k]):
        return None
    kept = [k]
    while kept[-1] > 0:
        kept.append(int(back[kept[-1]]))
    return np.array(kept[::-1])


def _grow(open_bins: Moments, moments: Moments, cell: int) -> None:
    """Add one cell to every open bin that starts at it or before, in place.

    `Moments.merge` in place: the arrays are this module's own, and are grown K times.
    """
    added = float(moments.weight[cell])
    if added == 0:
        return
    upto = slice(0, cell + 1)
    weight, mean = open_bins.weight[upto], open_bins.mean[upto]
    delta = moments.mean[cell] - mean
    share = added / (weight + added)
    step = delta * share
    delta *= step
    delta *= weight
    delta += moments.m2[cell]
    open_bins.m2[upto] += delta
    mean += step
    weight += added
    open_bins.weight2[upto] += moments.weight2[cell]
    open_bins.count[upto] += moments.count[cell]


def merge_greedily(edges: Floats, moments: Moments, criterion: Criterion) -> Ints | None:
    """Return the places of the edges that are left after merging neighbours while that lowers the criterion.

    Returns None where all cells together hold too few rows.

    Notes
    -----
    A merge's gain depends on its two bins only: after each merge two gains are computed anew.
    """
    kept = np.arange(len(edges))
    bins = moments
    while len(kept) > 2:
        widths = np.diff(edges[kept])
        cost = criterion.cost(bins, widths)
        merged = bins.take(slice(0, -1)).merge(bins.take(slice(1, None)))
        # Bins with too few rows have no cost yet. Their merges come first, cheapest first.
        starved = ~np.isfinite(cost)
        needed = starved[:-1] | starved[1:]
        width = widths[:-1] + widths[1:]
        variance = np.nan_to_num(merged.variance(criterion.ddof, criterion.kind))
        after = criterion.discount(merged.weight) * variance * width
        change = np.where(needed, after, after - np.where(needed, 0.0, cost[:-1] + cost[1:]))
        if needed.any():
            change[~needed] = np.inf
        # The leftmost of those that cost the same but for rounding.
        place = int(np.argmax(change <= change.min() + criterion.tie))
        if not needed.any() and change[place] > criterion.tie:
            break
        kept = np.delete(kept, place + 1)
        bins = moments.pool(kept[:-1])
    return kept if np.isfinite(criterion.cost(bins, np.diff(edges[kept]))).all() else None
