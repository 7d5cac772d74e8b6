"""Schemes that look at the local effects: `Optimal`, `Greedy`, `AutoUniform`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from skedasis.binning.base import Binning, Spread, positive, snapped_cells
from skedasis.cells import Cells, distinct, uniform_edges
from skedasis.data.summary import Column
from skedasis.errors import BinningWarning, DataError, UnsupportedError, explained
from skedasis.moments import Moments
from skedasis.partition import Criterion, merge_greedily, optimal_partition
from skedasis.typing import Floats, Ints

_Partitioner = Callable[[Floats, Moments, Criterion], Ints | None]

_MANY = 1000
"""Candidates of ``grid="data"``: between all neighbouring values if so many, else at so many quantiles."""


@dataclass(frozen=True)
class _Chooser(Binning):
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

    def _criterion(self, cells: Cells, moments: Moments, spread: Spread) -> Criterion:
        total = float(moments.weight.sum())
        least = self.min_points or max(2, math.ceil(total / 20))
        extent = float(cells.edges[-1] - cells.edges[0])
        tie = extent * (spread.noise * spread.largest) ** 2
        return Criterion(self.alpha, least, total, spread.ddof, spread.kind, tie)

    def _partition(self, how: _Partitioner, cells: Cells, moments: Moments, spread: Spread) -> Ints:
        """Return the edges of the partition that `how` finds; of one bin if there is none."""
        criterion = self._criterion(cells, moments, spread)
        kept = how(cells.edges, moments, criterion)
        return self._one_bin(cells, criterion, spread) if kept is None else kept

    def _one_bin(self, cells: Cells, criterion: Criterion, spread: Spread) -> Ints:
        of = f" of {spread.feature!r}" if spread.feature else ""
        warnings.warn(
            f"{type(self).__name__}{of}: no bins hold {criterion.least:g} rows each, got {criterion.total:g} rows in "
            "all: one bin is used. Lower min_points, or take fixed bins such as Uniform(5).",
            BinningWarning,
            stacklevel=2,
        )
        return np.array([0, len(cells)])


@dataclass(frozen=True)
class Optimal(_Chooser):
    """The partition that minimises RHALE Eq. 13, found exactly by dynamic programming (Eq. 14).

    Minimises the sum of ``(1 - alpha n_k / N) * variance_k * width_k`` over all partitions of the fine grid into bins
    of at least `min_points` rows.

    Parameters
    ----------
    max_bins : int
        Fine cells (K_max of the papers). Costs O(max_bins²) time, O(max_bins) memory, no model row.
    alpha : float
        Discount for populous bins, between 0 and 1.
    min_points : float, optional
        Least weight of a bin (N_PPB); by default a twentieth of the rows, at least 2.
    criterion : {"eq13"}
        What is minimised.
    grid : {"uniform", "quantile", "data", "jumps"}
        Where edges may lie: at multiples of range / max_bins as in the papers, at quantiles, or between any two
        neighbouring data values (at most 1,000 candidates; max_bins is then not used). "jumps", for trees that are
        walked: halfway between any two neighbouring jumps (at most 1,000), so that no edge tears one.

    Notes
    -----
    Costs that differ by less than 1e-12 * range * max d² are ties, and ties go to fewer bins: so much may come from the
    rounding of differences. Slopes that are given or known in closed form have no such noise; there it is 1e-18, or a
    constant slope of 1e7 would hide all others.

    Examples
    --------
    >>> Optimal(max_bins=20, alpha=0.5, min_points=10).grid
    'uniform'
    """

    criterion: Literal["eq13"] = "eq13"
    grid: Literal["uniform", "quantile", "data", "jumps"] = "uniform"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value, known in (
            ("criterion", self.criterion, ("eq13",)),
            ("grid", self.grid, ("uniform", "quantile", "data", "jumps")),
        ):
            if value not in known:
                raise DataError(
                    explained(
                        f"Optimal({name})",
                        repr(value),
                        " | ".join(map(repr, known)),
                        "Name one of these",
                    )
                )

    def candidates(self, column: Column) -> Cells:
        """Return the fine cells."""
        if self.grid == "uniform":
            return super().candidates(column)
        if self.grid == "jumps":
            raise _no_jumps(column)
        if self.grid == "quantile":
            return Cells(distinct(column.order_statistics(self.max_bins)), "left")
        values = column.distinct()
        if values is None or len(values) > _MANY:
            return Cells(distinct(column.order_statistics(_MANY)), "left")
        if len(values) < 2:
            return Cells(values)
        between = values[:-1] + (values[1:] - values[:-1]) / 2
        return Cells(distinct(np.concatenate([values[:1], between, values[-1:]])), "left")

    def between(self, jumps: Floats | None, column: Column) -> Cells:
        """Return the cells between whose edges lies a jump each.

        Raises
        ------
        UnsupportedError
            Where it is not known where the quantity jumps.
        """
        if jumps is None:
            raise _no_jumps(column)
        if column.low == column.high:
            return Cells(np.array([column.low]))
        inside = jumps[(jumps >= column.low) & (jumps < column.high)]
        between = inside[:-1] + np.diff(inside) / 2
        if len(between) > _MANY:
            between = between[np.linspace(0, len(between) - 1, _MANY).astype(int)]
        ends = np.array([column.low, column.high])
        return Cells(distinct(np.concatenate([column.snap(between), ends])), "left")

    def choose(self, cells: Cells, moments: Moments, spread: Spread) -> Ints:
        """Return which edges stay."""
        return self._partition(optimal_partition, cells, moments, spread)


def _no_jumps(column: Column) -> UnsupportedError:
    return UnsupportedError(
        explained(
            f"Optimal(grid='jumps') of {column.feature.name!r}",
            "a quantity whose jumps are not known",
            "trees that are walked (scikit-learn, LightGBM, XGBoost) and explained by RHALE",
            "Use grid='uniform'",
        )
    )


@dataclass(frozen=True)
class Greedy(_Chooser):
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
        return self._partition(merge_greedily, cells, moments, spread)


@dataclass(frozen=True)
class AutoUniform(_Chooser):
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
        criterion = self._criterion(cells, moments, spread)
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
        return self._one_bin(cells, criterion, spread) if best is None else best


def _nearest(edges: Floats, wanted: Floats) -> Ints:
    """Return the places of the edges nearest to those wanted, duplicates dropped."""
    right = np.clip(np.searchsorted(edges, wanted), 1, len(edges) - 1)
    left_is_nearer = wanted - edges[right - 1] <= edges[right] - wanted
    return np.unique(np.where(left_is_nearer, right - 1, right))
