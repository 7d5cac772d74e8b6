"""`Optimal`: the partition that costs least, by RHALE's Eq. 13 or by its risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from skedasis.binning.automatic import Chooser
from skedasis.binning.base import Segments, Spread
from skedasis.binning.sharpen import Sharpened, points_of, sharpened
from skedasis.cells import Cells, distinct
from skedasis.data.summary import Column
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.moments import Moments
from skedasis.partition import Criterion, optimal_partition
from skedasis.risk import LEAST, Noise, Risk, risk_partition
from skedasis.typing import Floats, Ints

_BEYOND = 1000.0
"""A local effect so many times as large as nine in ten others is an outlier."""
_MANY = 1000
"""Candidates of ``grid="data"`` under Eq. 13: between all neighbouring values if so many, else at so many quantiles."""
_ROWS, _ACROSS = 10, 100
"""Rows of a cell across which differences are taken, under the risk; and such cells, at most."""
_FEW = 256
"""The same under the risk, at least: where all rows are at hand, edges are then moved to the very row."""


@dataclass(frozen=True)
class Optimal(Chooser):
    """The partition that costs least, found exactly by dynamic programming (RHALE Eq. 14).

    ``criterion="eq13"``, the papers': minimises the sum of ``(1 - alpha n_k / N) * variance_k * width_k`` over all
    partitions of the fine grid into bins of at least `min_points` rows.

    ``criterion="risk"``: minimises the sum of the bins' deviances, ``n_k log(variance_k)``, and of a price for each bin
    that chance does not pay: one bin is left where slopes are constant, edges lie where slopes or their scatter change,
    and within a bin slopes may change linearly (the effect is then a parabola there). Nothing has to be set.

    Parameters
    ----------
    max_bins : int
        Fine cells (K_max of the papers). Costs O(max_bins²) time, O(max_bins) memory, no model row. Under "risk" there
        are at least 256 candidates, and O(max_bins²) memory.
    alpha : float
        Discount for populous bins, between 0 and 1. Of Eq. 13 only.
    min_points : float, optional
        Least weight of a bin (N_PPB). By default a twentieth of the rows, at least 2; under "risk" 5.
    criterion : {"eq13", "risk"}
        What is minimised.
    grid : {"uniform", "quantile", "data", "jumps"}
        Where edges may lie: at multiples of range / max_bins as in the papers, at quantiles, or between any two
        neighbouring data values (at most 1,000 candidates; max_bins is then not used). "jumps", for trees that are
        walked: halfway between any two neighbouring jumps (at most 1,000), so that no edge tears one. By default
        "uniform", under "risk" "data": candidates at quantiles, and where all rows are kept edges that are moved to the
        best place between two of them.
    slopes : {"linear", "constant"}
        Under "risk": whether slopes may change linearly within a bin, where that pays.

    Notes
    -----
    Costs of Eq. 13 that differ by less than 1e-12 * range * max d² are ties, and ties go to fewer bins: so much may
    come from the rounding of differences. Slopes that are given or known in closed form have no such noise; there it
    is 1e-18, or a constant slope of 1e7 would hide all others.

    The price under "risk" is 1.5 log(N / bins) + 8, times how heavy the tails are; a linear slope costs log N + 1. Of
    step functions (trees) it means the fewest bins that describe the curve, as in ``RHALE(bins="auto")``, because their
    rises have no slopes that could be constant.

    Examples
    --------
    >>> Optimal(max_bins=20, alpha=0.5, min_points=10).grid
    'uniform'
    >>> Optimal(criterion="risk").grid
    'data'
    """

    criterion: Literal["eq13", "risk"] = "eq13"
    grid: Literal["", "uniform", "quantile", "data", "jumps"] = ""
    slopes: Literal["linear", "constant"] = "linear"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grid == "":
            object.__setattr__(self, "grid", "data" if self.criterion == "risk" else "uniform")
        for name, value, known in (
            ("criterion", self.criterion, ("eq13", "risk")),
            ("grid", self.grid, ("uniform", "quantile", "data", "jumps")),
            ("slopes", self.slopes, ("linear", "constant")),
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

    @property
    def by_risk(self) -> bool:
        """Return whether partitions are judged by their risk."""
        return self.criterion == "risk"

    def candidates(self, column: Column) -> Cells:
        """Return the fine cells."""
        if self.grid == "uniform":
            return super().candidates(column)
        if self.grid == "jumps":
            raise _no_jumps(column)
        if self.grid == "quantile":
            return Cells(distinct(column.order_statistics(self.max_bins)), "left")
        most = max(self.max_bins, _FEW) if self.by_risk else _MANY
        values = column.distinct(most + 1)
        if values is None or len(values) > most:
            return Cells(distinct(column.order_statistics(most)), "left")
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

    def across(self, column: Column) -> Cells:
        """Return the fine cells of differences under the risk: quantiles, with ten rows in each if there are so many.

        A difference across a narrow cell is a slope; but a cell of few rows tells little of how they scatter.
        """
        if self.grid == "uniform":
            return super().candidates(column)
        k = min(max(int(column.weight) // _ROWS, 2), max(self.max_bins, _ACROSS))
        return Cells(distinct(column.order_statistics(k)), "right")

    def choose(self, cells: Cells, moments: Moments, spread: Spread) -> Ints:
        """Return which edges stay."""
        return self.segments(cells, moments, spread).kept

    def segments(self, cells: Cells, moments: Moments, spread: Spread) -> Segments:
        """Return which edges stay, and in which bins slopes change linearly."""
        if not self.by_risk:
            return Segments(self.partition(optimal_partition, cells, moments, spread))
        some = np.flatnonzero(moments.weight > 0)
        # Sampling weights have no unit: only frequency weights say how many rows there are.
        size = moments.weight if spread.kind == "frequency" else moments.count
        total, least = float(size.sum()), float(self.min_points or 2)
        if total < least:
            few = Criterion(self.alpha, least, total, spread.ddof, spread.kind)
            return Segments(self.one_bin(cells, few, spread))
        sizes = np.abs(moments.mean[some]) + np.sqrt(moments.m2[some] / moments.weight[some])
        points, risk = points_of(moments, spread.axis, spread.kind), self._risk(spread, sizes)
        noise = Noise.of(points, risk.floor)
        found = risk_partition(noise.cut(points), noise, risk)
        # Cells without rows belong to the bin on their left.
        inner = some[found.starts[1:-1]]
        return Segments(np.concatenate([[0], inner, [len(cells)]]), found.trend)

    def sharpened(self, cells: Cells, kept: Ints, rows: Any, spread: Spread) -> Sharpened | None:
        """Return the bins with their edges moved to the best place between two rows.

        Parameters
        ----------
        cells, kept
            As they were chosen.
        rows : tuple of three ndarray
            Values, local effects and weights (or None) of all rows.
        spread : Spread

        Returns
        -------
        Sharpened or None
            None where edges lie between two rows already, and where there are none.
        """
        if not self.by_risk or self.grid != "data" or len(kept) <= 2:
            return None
        return sharpened(cells, kept, rows, self._risk(spread, np.abs(rows[1])), spread.kind)

    def _risk(self, spread: Spread, sizes: Floats) -> Risk:
        """Return how partitions are judged; `sizes` are those of the local effects, of cells or of rows.

        Rounding goes with the largest effect, but a single one beyond all others says nothing of theirs.
        """
        usual = _BEYOND * float(np.quantile(sizes, 0.9)) if len(sizes) else 0.0
        largest = min(spread.largest, usual) if usual > 0 else spread.largest
        floor = (spread.noise * largest) ** 2
        linear = self.slopes == "linear" and spread.axis is not None
        return Risk(float(self.min_points or LEAST), linear, floor)


def _no_jumps(column: Column) -> UnsupportedError:
    return UnsupportedError(
        explained(
            f"Optimal(grid='jumps') of {column.feature.name!r}",
            "a quantity whose jumps are not known",
            "trees that are walked (scikit-learn, LightGBM, XGBoost) and explained by RHALE",
            "Use grid='uniform'",
        )
    )
