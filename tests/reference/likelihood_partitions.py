"""Partitions of least penalized likelihood, found by exhaustive search: plain formulas over rows, without the library.

A bin of n rows costs ``n log((SSE + 3 v) / (n + 3))``: SSE about the rows' mean or about `numpy.polyfit`'s line, v the
mean of the noise that is given for the rows' cells. A line adds ``t (log N + 1)``, a bin ``t (1.5 log(N / K) + 8)``,
where t measures how heavy the tails are and K is the number of bins found with the previous penalty.
"""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np

import skedasis as sd


def slopes_as_given(x, d, bins, *, weights=None, method=sd.RHALE, **options):
    """Explain rows whose slopes are exactly d, which are read from a second column."""

    def slope(X):
        return np.stack([X[:, 1], np.zeros(len(X))], axis=1)

    quantity = sd.prediction(lambda X: X[:, 0], slope=slope)
    made = method(bins=bins, **options.pop("settings", {}))
    return sd.explain(
        quantity, np.stack([x, d], axis=1), 0, method=made, sample_weight=weights, **options
    )


def sse(x, d, w, line):
    """Return the sum of squares about the weighted mean, or about the weighted line."""
    if not line:
        mean = math.fsum(w * d) / math.fsum(w)
        return math.fsum(w * (d - mean) ** 2)
    middle = x.mean()
    reach = np.ptp(x) or 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = np.polyfit((x - middle) / reach, d, 1, w=np.sqrt(w))
    return math.fsum(w * (d - np.polyval(fitted, (x - middle) / reach)) ** 2)


class Rows:
    """Rows in cells, and the cost of each bin of adjacent cells.

    Parameters
    ----------
    cells : sequence of (x, d, w)
        The rows of each cell.
    noise : sequence of float
        A row's variance in each cell.
    tails : float
        Factor of the penalties that measures how heavy the tails are.
    """

    def __init__(self, cells, noise, tails, *, linear=True, least=5.0):
        self.cells, self.noise, self.tails = cells, noise, tails
        self.total = math.fsum(float(w.sum()) for _, _, w in cells)
        self.linear, self.least = linear, least
        m = len(cells)
        self.cost, self.lines = {}, {}
        for a, b in itertools.combinations(range(m + 1), 2):
            self.cost[a, b], self.lines[a, b] = self.of_bin(a, b)

    def of_bin(self, a, b):
        """Return a bin's cost without its penalty, and whether it has a line; infinite where the bin is not allowed."""
        x, d, w = (np.concatenate([c[i] for c in self.cells[a:b]]) for i in range(3))
        n = math.fsum(w)
        if n < self.least and (a, b) != (0, len(self.cells)):
            return math.inf, False
        sizes = [float(c[2].sum()) for c in self.cells[a:b]]
        prior = 3.0 * math.fsum(map(float.__mul__, sizes, map(float, self.noise[a:b]))) / n
        flat = n * math.log((sse(x, d, w, False) + prior) / (n + 3.0))
        if not self.linear or b - a < 3:
            return flat, False
        price = self.tails * (math.log(max(self.total, 2.0)) + 1.0)
        leaning = n * math.log((sse(x, d, w, True) + prior) / (n + 3.0)) + price
        return (leaning, True) if leaning < flat else (flat, False)

    def price(self, bins):
        """Return the penalty of each bin, given the number of bins found before."""
        return self.tails * (1.5 * math.log(self.total / bins) + 8.0)

    def of(self, starts, price):
        """Return the cost of a partition."""
        return math.fsum(self.cost[pair] + price for pair in itertools.pairwise(starts))

    def listed(self, price):
        """Return the cheapest of all partitions."""
        m = len(self.cells)
        return min(
            (
                (0, *inner, m)
                for size in range(m)
                for inner in itertools.combinations(range(1, m), size)
            ),
            key=lambda starts: self.of(starts, price),
        )

    def tabled(self, price):
        """Return the same by dynamic programming, for more cells than can be listed."""
        m = len(self.cells)
        best = {0: (0.0, (0,))}
        for b in range(1, m + 1):
            ways = ((best[a][0] + self.cost[a, b] + price, a) for a in range(b))
            cost, a = min(ways)
            best[b] = cost, (*best[a][1], b)
        return best[m][1]

    def cheapest(self, search=None):
        """Return the cheapest partition; the penalty is updated for the number of bins found, while that increases."""
        search = search or self.listed
        bins, found = 1, (0, len(self.cells))
        for _ in range(4):
            found = search(self.price(bins))
            if len(found) - 1 <= bins:
                break
            bins = len(found) - 1
        return found, [self.lines[pair] for pair in itertools.pairwise(found)]
