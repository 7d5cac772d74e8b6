"""The searches for the best partition that are compared: RHALE's table, plain and by arrays, and its printed algorithm.

A cost matrix B of shape (K + 1, K + 1) holds the cost of a bin from point l to point j (Eq. 13), infinite where it
has too few rows or no width; a bin of no width at one point costs nothing, so that a partition may have fewer than K
bins (A.5).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def bin_costs(x: Floats, d: Floats, k: int, alpha: float, least: int) -> Floats:
    """Return B for all pairs of points, each from its own rows, as Eq. 11 and 13 are written."""
    points = np.linspace(x.min(), x.max(), k + 1)
    place = np.minimum(np.searchsorted(points, x, side="right") - 1, k - 1)
    costs = np.full((k + 1, k + 1), np.inf)
    np.fill_diagonal(costs, 0.0)
    for low in range(k):
        for high in range(low + 1, k + 1):
            rows = d[(place >= low) & (place < high)]
            if len(rows) >= max(least, 2):
                tau = 1 - alpha * len(rows) / len(x)
                costs[low, high] = tau * rows.var(ddof=1) * (points[high] - points[low])
    return costs


def plain(costs: Floats) -> list[int]:
    """Return the best edges by Eq. 14, the table T(i, j) of bins and points, in three loops."""
    k = len(costs) - 1
    b = costs.tolist()
    table, came = [list(b[0])], []
    for _ in range(1, k):
        last, row, back = table[-1], [], []
        for j in range(k + 1):
            least, at = np.inf, 0
            for low in range(k + 1):
                cost = last[low] + b[low][j]
                if cost < least:
                    least, at = cost, low
            row.append(least)
            back.append(at)
        table.append(row)
        came.append(back)
    return _followed(came, k)


def by_arrays(costs: Floats) -> list[int]:
    """Return the same with the loops over points done by NumPy: still one sum for each bin and pair of points."""
    k = len(costs) - 1
    row, came = costs[0], []
    for _ in range(1, k):
        through = row[:, None] + costs
        back = through.argmin(axis=0)
        row = through[back, np.arange(k + 1)]
        came.append(back.tolist())
    return _followed(came, k)


def as_printed(costs: Floats) -> list[int]:
    """Return the edges by Algorithm 1 with the indices it is printed with.

    ``L(k) = C(k, j - 1) + B(k, j)`` takes the cost to the point with the *bin's* number j, so that C(i, j) does not
    depend on i; and ``Z(j) = I(j, Z(j + 1))`` swaps the two. The loop is begun at j = 1: at j = 0 it reads C(k, -1).
    """
    k = len(costs) - 1
    table, came = np.full((k + 1, k + 1), np.inf), np.zeros((k + 1, k + 1), dtype=int)
    table[:, 0] = costs[0]
    for j in range(1, k):
        for i in range(k + 1):
            through = table[:, j - 1] + costs[:, j]
            table[i, j], came[i, j] = through.min(), through.argmin()
    z = np.zeros(k + 1, dtype=int)
    z[k] = k
    for j in range(k - 1, 0, -1):
        z[j] = came[j, z[j + 1]]
    return sorted({0, k, *z.tolist()})


def _followed(came: list[list[int]], k: int) -> list[int]:
    at, edges = k, [k]
    for back in reversed(came):
        at = back[at]
        edges.append(at)
    return sorted({0, *edges})


def total(costs: Floats, edges: list[int]) -> float:
    """Return the cost of a partition."""
    return float(sum(costs[a, b] for a, b in pairwise(edges)))
