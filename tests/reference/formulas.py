"""The definitions of cells, effects and errors by plain loops and exact sums. The library is not used."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np


def inverse_ecdf(x, w, k):
    """Return the inverse empirical distribution at 0, 1/k, …, 1, in rational arithmetic (R's type 1).

    It is the first value whose cumulative weight is at least j/k of the total.
    """
    pairs = sorted(zip(x, w, strict=True))
    total = sum((Fraction(v) for _, v in pairs), Fraction(0))
    edges = []
    for j in range(k + 1):
        reached = Fraction(0)
        for value, weight in pairs:
            reached += Fraction(weight)
            if reached * k >= total * j:
                edges.append(value)
                break
    return edges


def cell_of(value, edges, closed):
    """Return the cell of a value, or -1 if no cell contains it, by comparisons in sequence."""
    cells = len(edges) - 1
    for k in range(cells):
        low, high = edges[k], edges[k + 1]
        if closed == "left":
            if low <= value < high or (k == cells - 1 and value == high):
                return k
        elif low < value <= high or (k == 0 and value == low):
            return k
    return -1


def weighted_mean(values, w):
    return math.fsum(a * b for a, b in zip(values, w, strict=True)) / math.fsum(w)


@dataclass
class Accumulated:
    """An accumulated effect of local effects d at feature values x; all bins have more than one row."""

    x: np.ndarray
    d: np.ndarray
    w: np.ndarray
    edges: np.ndarray
    closed: str = "left"
    center: str | None = "mean"
    ddof: int = 1
    kind: str = "frequency"

    def __post_init__(self):
        cell = [cell_of(v, self.edges, self.closed) for v in self.x]
        self.bins = range(len(self.edges) - 1)
        self.rows = [[i for i, c in enumerate(cell) if c == k] for k in self.bins]
        self.width = [b - a for a, b in zip(self.edges[:-1], self.edges[1:], strict=True)]
        self.n = [math.fsum(self.w[i] for i in rows) for rows in self.rows]
        self.total = math.fsum(self.n)
        self.mean = [weighted_mean(self.d[r], self.w[r]) for r in self.rows]

    def square(self, k):
        return math.fsum(self.w[i] ** 2 for i in self.rows[k])

    def variance(self, k):
        m2 = math.fsum(self.w[i] * (self.d[i] - self.mean[k]) ** 2 for i in self.rows[k])
        one = 1.0 if self.kind == "frequency" else self.square(k) / self.n[k]
        return m2 / (self.n[k] - self.ddof * one)

    def size(self, k):
        """Return n, or (sum w)² / sum w²: the divisor of the variance of a mean."""
        return self.n[k] if self.kind == "frequency" else self.n[k] ** 2 / self.square(k)

    def start(self):
        """Return the effect at the edges, zero at the left end (RHALE Eq. 15)."""
        f = [0.0]
        for k in self.bins:
            f.append(f[-1] + self.mean[k] * self.width[k])
        return f

    def centre(self):
        f = self.start()
        return math.fsum(self.n[k] * (f[k] + f[k + 1]) / 2 for k in self.bins) / self.total

    def value(self):
        c = self.centre() if self.center == "mean" else 0.0
        return [v - c for v in self.start()]

    def heterogeneity_variance(self):
        """Return the heterogeneity at the edges from summed variances (RHALE Eq. 16)."""
        return [
            math.sqrt(math.fsum(self.width[j] ** 2 * self.variance(j) for j in range(k)))
            for k in range(len(self.edges))
        ]

    def heterogeneity_std(self):
        """Return the heterogeneity at the edges from summed standard deviations (UALE Eq. 9)."""
        return [
            math.fsum(self.width[j] * math.sqrt(self.variance(j)) for j in range(k))
            for k in range(len(self.edges))
        ]

    def coefficient(self, k, j):
        """Return a_kj, the contribution of bin j's mean slope to the centred effect at edge k."""
        passed = 1.0 if j < k else 0.0
        if self.center != "mean":
            return self.width[j] * passed
        p = [n / self.total for n in self.n]
        return self.width[j] * (passed - p[j] / 2 - math.fsum(p[m] for m in self.bins if m > j))

    def variances(self, k):
        """Return the parts of the variance of f(z_k), each with its degrees of freedom."""
        parts = [
            (self.coefficient(k, j) ** 2 * self.variance(j) / self.size(j), self.size(j) - 1)
            for j in self.bins
        ]
        if self.center == "mean":
            f, c = self.start(), self.centre()
            middle = [(f[j] + f[j + 1]) / 2 for j in self.bins]
            square = math.fsum(self.square(j) for j in self.bins)
            n = self.total if self.kind == "frequency" else self.total**2 / square
            between = math.fsum(self.n[j] / self.total * (middle[j] - c) ** 2 for j in self.bins)
            parts.append((between / n, n - 1))
        return parts

    def std_error(self):
        return [
            math.sqrt(math.fsum(v for v, _ in self.variances(k))) for k in range(len(self.edges))
        ]

    def std_error_sum(self):
        """Return the standard errors of the draft's Eq. 5, without centring."""
        return [
            math.fsum(self.width[j] * math.sqrt(self.variance(j) / self.size(j)) for j in range(k))
            for k in range(len(self.edges))
        ]

    def df(self):
        """Return Satterthwaite's df: (sum of variances)² / sum of variance²/df; infinite where the variance is zero."""
        out = []
        for k in range(len(self.edges)):
            parts = self.variances(k)
            total = math.fsum(v for v, _ in parts)
            below = math.fsum(v**2 / max(df, 1.0) for v, df in parts)
            out.append(total**2 / below if below else math.inf)
        return out

    def at(self, value):
        """Return the effect anywhere between the edges: linear inside a bin (RHALE Eq. 9)."""
        k = cell_of(value, self.edges, self.closed)
        f = self.value()
        return f[k] + self.mean[k] * (value - self.edges[k])

    def importance(self):
        """Return the weighted standard deviation of the effect over the rows within the edges."""
        there = [i for rows in self.rows for i in rows]
        values, w = [self.at(self.x[i]) for i in there], [self.w[i] for i in there]
        m = weighted_mean(values, w)
        return math.sqrt(weighted_mean([(v - m) ** 2 for v in values], w))


def spread_of(values, w, kind="frequency"):
    """Return the mean, the unbiased variance, and the divisor of the variance of the mean."""
    n, square = math.fsum(w), math.fsum(v * v for v in w)
    mean = weighted_mean(values, w)
    m2 = math.fsum(b * (a - mean) ** 2 for a, b in zip(values, w, strict=True))
    if kind == "frequency":
        return mean, m2 / (n - 1), n
    return mean, m2 / (n - square / n), n**2 / square
