"""Schemes that look at how local effects vary within bins: `Greedy`, `AutoUniform`, and what `Optimal` shares."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skedasis.binning.base import Binning, Spread, positive, snapped_cells
from skedasis.cells import Cells, distinct, uniform_edges
from skedasis.data.summary import Column
from skedasis.errors import BinningWarning, DataError, explained
from skedasis.moments import Moments
from skedasis.partition import Criterion, merge_greedily
from skedasis.typing import Floats, Ints

Partitioner = Callable[[Floats, Moments, Criterion], Ints | None]


@dataclass(frozen=True)
class Chooser(Binning):
    """What the automatic schemes have in common: their discount and the least number of rows in a bin."""

    max_bins: int = 50
    alpha: float = 0.2
    min_points: float | None = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        positive(f"{name}(max_bins)", self.max_bins)
        if not 0 <= self.alpha <= 1:
            raise DataError(
                explained(
                    f"{name}(alpha)", repr(self.alpha), "a discount between 0 and 1", "Use 0.2"
                )
            )
        if self.min_points is not None and not self.min_points >= 1:
            raise DataError(
                explained(
                    f"{name}(min_points)",
                    repr(self.min_points),
                    "1 or more",
                    "Use None for a twentieth of the rows",
                )
            )

    def candidates(self, column: Column) -> Cells:
        """Return the fine cells."""
        return snapped_cells(column, uniform_edges(column.low, column.high, self.max_bins), "left")

    def criterion_for(self, cells: Cells, moments: Moments, spread: Spread) -> Criterion:
        """Return Eq. 13 with these settings, for so many rows and such a range."""
        total = float(moments.weight.sum())
        least = self.min_points or max(2, math.ceil(total / 20))
        extent = float(cells.edges[-1] - cells.edges[0])
        tie = extent * (spread.noise * spread.largest) ** 2
        return Criterion(self.alpha, least, total, spread.ddof, spread.kind, tie)

    def partition(self, how: Partitioner, cells: Cells, moments: Moments, spread: Spread) -> Ints:
        """Return the edges of the partition that `how` finds; of one bin if there is none."""
        criterion = self.criterion_for(cells, moments, spread)
        kept = how(cells.edges, moments, criterion)
        return self.one_bin(cells, criterion, spread) if kept is None else kept

    def one_bin(self, cells: Cells, criterion: Criterion, spread: Spread) -> Ints:
        """Return the edges of a single bin, with a warning that no partition has enough rows."""
        of = f" of {spread.feature!r}" if spread.feature else ""
        warnings.warn(
            f"{type(self).__name__}{of}: no bins hold {criterion.least:g} rows each, got {criterion.total:g} rows in "
            "all: one bin is used. Lower min_points, or take fixed bins such as Uniform(5).",
            BinningWarning,
            stacklevel=2,
        )
        return np.array([0, len(cells)])


@dataclass(frozen=True)
class Greedy(Chooser):
    """Neighbouring cells merged as long as that lowers Eq. 13: near the optimum, not always at it.

    Parameters
    ----------
    max_bins, alpha, min_points
        As in `Optimal`.

    Notes
    -----
    Cells with too few rows are merged first, each with the neighbour that costs least. At most max_bins merges, each in
    O(max_bins).

    Examples
    --------
    >>> Greedy(max_bins=100)
    Greedy(max_bins=100, alpha=0.2, min_points=None)
    """

    def choose(self, cells: Cells, moments: Moments, spread: Spread) -> Ints:
        """Return which edges stay."""
        return self.partition(merge_greedily, cells, moments, spread)


@dataclass(frozen=True)
class AutoUniform(Chooser):
    """Equal bins whose number minimises Eq. 6 of the draft on uncertainty, subject to its Eq. 7.

    Over K = 1 .. max_bins, minimises ``width_K * sum of std_i (1 - alpha p_i / N)`` with at least `min_points` rows in
    every bin. Ties go to fewer bins.

    Parameters
    ----------
    max_bins, alpha, min_points
        As in `Optimal`.

    Notes
    -----
    Moments are gathered once, on the cells between all edges of all K (about 0.3 max_bins² of them).

    Examples
    --------
    >>> AutoUniform(max_bins=40)
    AutoUniform(max_bins=40, alpha=0.2, min_points=None)
    """

    max_bins: int = 20

    def candidates(self, column: Column) -> Cells:
        """Return the fine cells."""
        # A point that several K share comes out as the same floating-point number each time.
        edges = [uniform_edges(column.low, column.high, k) for k in range(1, self.max_bins + 1)]
        return snapped_cells(column, distinct(np.concatenate(edges)), "left")

    def choose(self, cells: Cells, moments: Moments, spread: Spread) -> Ints:
        """Return which edges stay."""
        criterion = self.criterion_for(cells, moments, spread)
        low, high = float(cells.edges[0]), float(cells.edges[-1])
        tie = spread.noise * (high - low) * spread.largest
        best, cheapest = None, math.inf
        for k in range(1, self.max_bins + 1):
            kept = _nearest(cells.edges, uniform_edges(low, high, k))
            bins = moments.pool(kept[:-1])
            if (bins.weight < criterion.least).any():
                continue
            std = np.sqrt(bins.variance(spread.ddof, spread.kind))
            cost = (high - low) / k * float(np.sum(std * criterion.discount(bins.weight)))
            if cost < cheapest - tie:
                best, cheapest = kept, cost
        return self.one_bin(cells, criterion, spread) if best is None else best


def _nearest(edges: Floats, wanted: Floats) -> Ints:
    """Return the places of the edges nearest to those wanted, duplicates dropped."""
    right = np.clip(np.searchsorted(edges, wanted), 1, len(edges) - 1)
    left_is_nearer = wanted - edges[right - 1] <= edges[right] - wanted
    return np.unique(np.where(left_is_nearer, right - 1, right))
