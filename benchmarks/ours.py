"""The library itself, called as a user calls it."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

import skedasis as sd
from benchmarks.peers import ALPHA
from benchmarks.problem import Floats, Problem
from skedasis.binning import VarianceOptions
from skedasis.stats.grid import Cells, uniform_edges
from skedasis.stats.moments import Moments


class Ours:
    """The library's answers to one problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def explain(self, method: Any, slope: bool = False, **keywords: Any) -> Any:
        """Explain all features; without the heterogeneity score, which no other library has."""
        q = sd.prediction(self.problem.model, slope=self.problem.slope if slope else None)
        keywords = {"heterogeneity_rows": 0} | keywords
        return sd.explain(q, self.problem.rows, method=method, progress=False, **keywords)

    def ale(self, bins: Any) -> Any:
        """ALE with the given bins."""
        return self.explain(sd.ALE(bins=bins))

    def pair(self, bins: Any) -> Any:
        """Second-order ALE of the first two features."""
        q, X = sd.prediction(self.problem.model), self.problem.rows
        return sd.explain(q, X, (0, 1), method=sd.ALE(bins=bins), progress=False)

    def rhale(self, bins: int) -> Any:
        """RHALE, slopes given, at most so many bins."""
        return self.explain(sd.RHALE(bins=self.search(bins)), slope=True)

    def pdp(self, grid: dict[int, Floats]) -> Any:
        """PDP with heterogeneity and standard errors."""
        return self.explain(sd.PDP(grid=grid))

    def search(self, bins: int) -> sd.Optimal:
        """Return the bin search that every library is given."""
        return sd.Optimal(max_bins=bins, alpha=ALPHA, min_points=self.problem.least)

    def find(self, bins: int, x: Floats, effects: Floats) -> Floats:
        """Return the edges that the bin search finds, from local effects: gather, then choose."""
        cells = Cells(uniform_edges(x.min(), x.max(), bins), "left")
        moments = Moments.of(effects, cells.locate(x), len(cells))
        spread = VarianceOptions(largest=float(np.abs(effects).max()))
        kept = self.search(bins).choose(cells, moments, spread)
        return cells.edges[kept]


def grid_spread(f: Any, X: Floats, grid: dict[int, Floats], **keywords: Any) -> dict[int, Floats]:
    """Return the standard deviation of all rows' curves, each minus its mean over the grid, divided by n.

    This is effector's heterogeneity; ours is that of the curves minus their means over the data.
    """
    keywords = {"heterogeneity_rows": 0, "progress": False} | keywords
    found: dict[int, Floats] = {}
    for j, points in grid.items():
        method = sd.PDP(grid=points, ice="all", center="mean")
        effect = sd.explain(f, X, j, method=method, **keywords)
        found[j] = effect.curves.value.std(axis=0)
    return found


def objective(edges: Floats, x: Floats, effects: Floats, ddof: int) -> float:
    """Return RHALE Eq. 13, straight from its definition: it shares no code with any library.

    The outer edges may have been rounded to just inside the extreme rows, which belong to their bins.
    """
    total, n = 0.0, len(x)
    reach = np.concatenate([[-np.inf], edges[1:-1], [np.inf]])
    for k, (low, high) in enumerate(pairwise(edges)):
        inside = effects[(x >= reach[k]) & (x < reach[k + 1])]
        variance = float(np.var(inside, ddof=ddof)) if len(inside) > ddof else math.inf
        total += (1 - ALPHA * len(inside) / n) * variance * (high - low)
    return total
