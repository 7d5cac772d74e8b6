"""Bins chosen by exhaustive search, from the papers' equations alone: slow and simple.

This file does not use the library. Sums are exact (`math.fsum`), rows are found by comparison, all partitions are
listed.
"""

from __future__ import annotations

import itertools
import math

import numpy as np


def variance(d, w, ddof, kind):
    """Return the variance of one bin's local effects, or None where it is undefined."""
    n = math.fsum(w)
    effective_one = 1.0 if kind == "frequency" else math.fsum(v * v for v in w) / n if n else 1.0
    if kind == "sampling" and len(w) < 2:
        return None
    if n - effective_one <= 0:
        return None
    mean = math.fsum(a * b for a, b in zip(d, w, strict=True)) / n
    m2 = math.fsum(b * (a - mean) ** 2 for a, b in zip(d, w, strict=True))
    return m2 / (n - ddof * effective_one)


def inside(x, low, high, first, last, closed="left"):
    """Return which rows are in a bin: [low, high), the last one closed at both ends; or the mirror image."""
    if closed == "left":
        return (x >= low) & ((x <= high) if last else (x < high))
    return ((x >= low) if first else (x > low)) & (x <= high)


def default_least(total):
    return max(2, math.ceil(total / 20))


SLOPES, DIFFERENCES = 1e-9, 1e-6
"""Rounding errors relative to the largest local effect: the library's 1e-12 is the square of the second. Given slopes
have smaller errors, so that fewer differences count as ties.
"""


class Table:
    """The cost of every bin that the grid allows: Eq. 13's terms, or None where a bin is not allowed."""

    def __init__(
        self,
        x,
        d,
        w,
        points,
        *,
        alpha,
        least=None,
        ddof=1,
        kind="frequency",
        closed="left",
        noise=SLOPES,
    ):
        self.points, self.total = points, math.fsum(w)
        self.least = default_least(self.total) if least is None else least
        k = len(points) - 1
        self.cost, self.std, self.weight = {}, {}, {}
        for low, high in itertools.combinations(range(k + 1), 2):
            rows = inside(x, points[low], points[high], low == 0, high == k, closed)
            n = math.fsum(w[rows])
            spread = variance(d[rows].tolist(), w[rows].tolist(), ddof, kind)
            self.weight[low, high] = n
            self.std[low, high] = None if spread is None else math.sqrt(spread)
            allowed = n >= self.least and spread is not None
            width = points[high] - points[low]
            tau = 1.0 - alpha * n / self.total
            self.cost[low, high] = tau * spread * width if allowed else None
        self.alpha = alpha
        self.size = (points[-1] - points[0]) * float(np.abs(d).max()) ** 2
        self.tie = noise**2 * self.size

    def of(self, chosen):
        """Return the cost of one partition, or None where one of its bins is not allowed."""
        costs = [self.cost[pair] for pair in itertools.pairwise(chosen)]
        return None if None in costs else math.fsum(costs)

    def all(self):
        """Return every allowed partition and its cost."""
        k = len(self.points) - 1
        partitions = (
            (0, *middle, k)
            for size in range(k)
            for middle in itertools.combinations(range(1, k), size)
        )
        costs = ((p, self.of(p)) for p in partitions)
        return {p: c for p, c in costs if c is not None}


def greedy(table, tie):
    """Merge the adjacent bins that lower Eq. 13 most until no merge lowers it; ties are merged, leftmost first.

    Bins that are not allowed have no cost and are merged first, each time by the merge that costs least.
    """
    chosen = list(range(len(table.points)))

    def merged(i):
        low, high = chosen[i - 1], chosen[i + 1]
        n, std = table.weight[low, high], table.std[low, high]
        tau = 1.0 - table.alpha * n / table.total
        return tau * (std or 0.0) ** 2 * (table.points[high] - table.points[low])

    while len(chosen) > 2:
        sides = [
            (table.cost[chosen[i - 1], chosen[i]], table.cost[chosen[i], chosen[i + 1]])
            for i in range(1, len(chosen) - 1)
        ]
        needed = [i for i, pair in enumerate(sides, start=1) if None in pair]
        if needed:
            least = min(map(merged, needed))
            del chosen[next(i for i in needed if merged(i) <= least + tie)]
            continue
        change = [merged(i) - sum(pair) for i, pair in enumerate(sides, start=1)]
        if min(change) > tie:
            break
        del chosen[1 + next(i for i, c in enumerate(change) if c <= min(change) + tie)]
    return tuple(chosen)


def auto_uniform(x, d, w, max_bins, *, alpha, least, ddof=1):
    """Return the number of equal bins that minimises the draft's Eq. 6 subject to its Eq. 7, and all costs."""
    total = math.fsum(w)
    least = default_least(total) if least is None else least
    reach = x.max() - x.min()
    costs = {}
    for k in range(1, max_bins + 1):
        points = [x.min() + reach * j / k for j in range(k)] + [x.max()]
        terms = []
        for j in range(k):
            rows = inside(x, points[j], points[j + 1], j == 0, j == k - 1)
            n, spread = (
                math.fsum(w[rows]),
                variance(d[rows].tolist(), w[rows].tolist(), ddof, "frequency"),
            )
            if n < least or spread is None:
                break
            terms.append(math.sqrt(spread) * (1.0 - alpha * n / total))
        else:
            costs[k] = reach / k * math.fsum(terms)
    tie = SLOPES * reach * float(np.abs(d).max())
    best = min(costs.values())
    return min(k for k, c in costs.items() if c < best + tie), costs
