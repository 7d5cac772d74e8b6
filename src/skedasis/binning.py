"""Binning schemes: Uniform, Quantile, Edges, AutoUniform, Greedy and Optimal.

Every scheme answers two questions. `candidates`: on which fine cells are moments to be gathered (seen: a summary of the
column)? `choose`: which of their edges stay (seen: the moments of the local effects)? Between the two the model is
called, once; choosing again costs nothing.

| scheme | edges | sees the effects | pick it when |
|---|---|---|---|
| `Uniform(k)` | equidistant | no | comparing with a paper or another library |
| `Quantile(k)` | data values, equal counts | no | ALE; skewed or spiky features |
| `Edges([...])` | yours | no | the breaks have a meaning |
| `AutoUniform()` | equidistant, number chosen | yes | equal bins are wanted, but not their number |
| `Greedy()` | merged cells | yes | a very fine grid, in a hurry |
| `Optimal()` | the optimum of RHALE Eq. 13 | yes | as in the paper: wide where the slope is constant |
| `Optimal(criterion="risk")` | between rows, at jumps and bends of the slope | yes | RHALE; nothing to set |
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from skedasis._types import Bools, Floats, Ints, Json, Side
from skedasis.data.column_stats import Column
from skedasis.data.times import given_times
from skedasis.errors import BinningWarning, DataError, UnsupportedError, explained
from skedasis.stats.grid import Cells, distinct, uniform_edges
from skedasis.stats.moments import Moments, WeightKind
from skedasis.stats.segmentation import (
    LEAST,
    Criterion,
    Noise,
    Risk,
    Sharpened,
    merge_greedily,
    optimal_partition,
    points_of,
    risk_partition,
    sharpened,
)

# ------------------------------------------------------------------------------------------
# What every scheme of binning is, and what they share.


@dataclass(frozen=True)
class Binning(ABC):
    """A scheme of cutting an axis into bins."""

    @property
    def by_risk(self) -> bool:
        """Return whether bins are chosen by their risk, so that they follow the curve."""
        return False

    @abstractmethod
    def candidates(self, column: Column) -> Cells:
        """Return the fine cells; for a constant feature a single edge."""

    def choose(self, cells: Cells, moments: Moments, spread: Spread) -> Ints:
        """Return which of the cells' edges stay, in order: all of them, unless the scheme chooses."""
        return np.arange(len(cells.edges))

    def segments(self, cells: Cells, moments: Moments, spread: Spread) -> Segments:
        """Return which edges stay, and in which bins slopes change linearly: in none, unless the scheme finds so."""
        return Segments(self.choose(cells, moments, spread))

    def describe(self) -> Json:
        """Return the scheme and its settings, as they are written into a provenance."""
        settings = {f.name: getattr(self, f.name) for f in fields(self)}
        # JSON knows no tuples: what is loaded is to equal what was saved.
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in settings.items()}
        return {"scheme": type(self).__name__, **plain}


@dataclass(frozen=True, eq=False)
class Segments:
    """Bins, as they were chosen.

    Parameters
    ----------
    kept : ndarray of int, shape (bins + 1,)
        The edges that stay.
    trend : ndarray of bool, shape (bins,), optional
        Whether slopes change linearly within the bin; None for constant slopes everywhere.
    """

    kept: Ints
    trend: Bools | None = None


EXACT = 1e-9
"""Rounding of slopes that are given or known in closed form, as a share of the largest."""


@dataclass(frozen=True)
class Spread:
    """How scatter is measured while bins are chosen.

    Parameters
    ----------
    ddof : int
        1 for the unbiased variance (RHALE Eq. 11), 0 for UALE's (Eq. 11 there).
    kind : {"frequency", "sampling"}
        What weights mean.
    largest : float
        The largest absolute local effect: it sets the scale of what counts as a tie.
    noise : float
        Share of it that may be rounding: of differences by default, see `EXACT` for slopes that are exact.
    feature : str
        Named when there is something to warn of.
    axis : Moments, optional
        Of the feature's values in the same cells; None where there are no distances.
    """

    ddof: int = 1
    kind: WeightKind = "frequency"
    largest: float = 0.0
    noise: float = 1e-6
    feature: str = ""
    axis: Moments | None = None


def positive(what: str, k: Any) -> None:
    """Refuse a number of bins that is no positive integer."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise DataError(explained(what, repr(k), "an integer of at least 1", "Use 20"))


def snapped_cells(column: Column, edges: Floats, closed: Side) -> Cells:
    """Return cells whose edges the column itself can hold: what is planned is what the model sees."""
    return Cells(distinct(column.snap(edges)), closed)


# ------------------------------------------------------------------------------------------
# Schemes that look at the column alone: `Uniform`, `Quantile`, `Edges`.


@dataclass(frozen=True)
class Uniform(Binning):
    """k bins of equal width, closed on the left (RHALE sec. 2.1).

    Parameters
    ----------
    k : int
        Number of bins. A bin may be empty: the result marks it.

    Raises
    ------
    DataError
        For a k that is no positive integer.

    Examples
    --------
    >>> Uniform(20)
    Uniform(k=20)
    """

    k: int = 20

    def __post_init__(self) -> None:
        positive("Uniform(k)", self.k)

    def candidates(self, column: Column) -> Cells:
        """Return the fine cells."""
        return snapped_cells(column, uniform_edges(column.low, column.high, self.k), "left")


@dataclass(frozen=True)
class Quantile(Binning):
    """Bins between k + 1 order statistics, closed on the right (Apley & Zhu; ale_vs_pdp 6.2.1.2).

    Edges are data values: the inverse empirical distribution at 0, 1/k, …, 1, duplicates dropped. No bin is empty.

    Parameters
    ----------
    k : int
        Number of bins before duplicates are dropped; may exceed the number of rows.

    Examples
    --------
    >>> Quantile(40)
    Quantile(k=40)
    """

    k: int = 20

    def __post_init__(self) -> None:
        positive("Quantile(k)", self.k)

    def candidates(self, column: Column) -> Cells:
        """Return the fine cells."""
        return Cells(distinct(column.order_statistics(self.k)), "right")


@dataclass(frozen=True)
class Edges(Binning):
    """Your own edges. Rows beyond them are left out, and counted.

    Parameters
    ----------
    edges : sequence of float, or of times
        At least two, strictly increasing, finite. Of a feature of dates, times or durations such, or text that says
        when (``"2020-01-31"``).
    closed : {"left", "right"}, optional
        The side that belongs to a bin. By default "right" in ALE and "left" elsewhere.

    Raises
    ------
    DataError
        For edges that are too few, not increasing or not finite.

    Examples
    --------
    >>> Edges([0, 18, 65, 100]).edges
    (0.0, 18.0, 65.0, 100.0)
    """

    edges: Sequence[Any] = ()
    closed: Side | None = None

    def __post_init__(self) -> None:
        times = given_times(self.edges)
        if times is not None:  # whether they increase is known with the feature
            object.__setattr__(self, "edges", times)
            self._check_side()
            return
        try:
            edges = tuple(float(z) for z in self.edges)
        except (TypeError, ValueError):
            edges = ()
        self._check_increasing(np.array(edges))
        self._check_side()
        object.__setattr__(self, "edges", edges)

    def _check_increasing(self, edges: Floats) -> None:
        steps = np.diff(edges)
        if len(edges) < 2 or not np.isfinite(edges).all() or not (steps > 0).all():
            raise DataError(
                explained(
                    "Edges",
                    f"{self.edges!r}"[:80],
                    "two or more increasing, finite numbers",
                    "Sort them, and drop duplicates",
                )
            )

    def _check_side(self) -> None:
        if self.closed not in ("left", "right", None):
            raise DataError(
                explained("Edges(closed=)", repr(self.closed), "'left' or 'right'", "Name a side")
            )

    def describe(self) -> Json:
        """Return the scheme and its settings, times as text."""
        said = super().describe()
        return {**said, "edges": [z if isinstance(z, float) else str(z) for z in self.edges]}

    def candidates(self, column: Column) -> Cells:
        """Return the fine cells."""
        time, what = column.feature.time, f"Edges of {column.feature.name!r}"
        if time is not None:
            edges = time.days(self.edges, what)
            self._check_increasing(edges)
            return snapped_cells(column, edges, self.closed or "left")
        if not all(isinstance(z, float) for z in self.edges):
            raise DataError(
                explained(what, repr(self.edges[0]), "numbers", "The feature holds no times")
            )
        return snapped_cells(column, np.array(self.edges), self.closed or "left")


# ------------------------------------------------------------------------------------------
# Schemes that look at how local effects vary within bins: `Greedy`, `AutoUniform`, and what `Optimal` shares.


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


# ------------------------------------------------------------------------------------------
# `Optimal`: the partition that costs least, by RHALE's Eq. 13 or by its risk.


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


# ------------------------------------------------------------------------------------------
# Binning: which cells an axis is cut into.


CELLS = 32
"""Number of quantile cells of an ALE with "auto" bins, unless the feature has few values."""


def as_binning(bins: Any, whole: type[Uniform] | type[Quantile]) -> Binning:
    """Return a user's `bins` as a scheme; an integer means so many of the method's usual kind."""
    if isinstance(bins, Binning):
        return bins
    if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool):
        return whole(int(bins))
    raise DataError(
        explained(
            "bins",
            repr(bins)[:60],
            "'auto', an int or one of Uniform, Quantile, Edges, AutoUniform, Greedy, Optimal",
            "Write for example bins=sd.Uniform(20), or bins=sd.Edges([...]) for your own edges",
        )
    )


def is_fixed(bins: object) -> bool:
    """Return whether bins name their edges: a number of bins, `Uniform`, `Quantile` or `Edges`."""
    if isinstance(bins, (Uniform, Quantile, Edges)):
        return True
    return isinstance(bins, (int, np.integer)) and not isinstance(bins, bool)


def fitting(
    bins: Any, scheme: Binning, column: Column, local: str, jumps: Floats | None = None
) -> Cells:
    """Return the fine cells for a column, given how its local effects are computed.

    Parameters
    ----------
    bins : Binning, int or "auto"
        As the user gave them. Named edges are kept.
    scheme : Binning
        What that stands for.
    column : Column
    local : {"slopes", "differences", "integer_steps", "steps", "value_steps", "edges"}
    jumps : ndarray of float, optional
        Where the quantity jumps, if that is known.

    Notes
    -----
    For step functions the cells are those of an ALE (DESIGN 4.5), and bins are unions of them. For a feature with few
    values these are the edges. For integers with more values cells start and end at integers.
    """
    if isinstance(scheme, Optimal) and scheme.grid == "jumps":
        return scheme.between(jumps, column)
    if local == "value_steps":
        return Cells(column.distinct_values, "right")
    of_an_ale = local == "edges" and bins == "auto"
    if of_an_ale or (local == "steps" and type(scheme) in (Optimal, Greedy)):
        scheme = scheme if is_fixed(bins) else Quantile(CELLS)
    elif local == "edges" and isinstance(scheme, Optimal) and scheme.by_risk:
        return scheme.across(column)
    cells = scheme.candidates(column)
    if local == "integer_steps" and column.integer and len(cells) > 0 and not is_fixed(bins):
        # Halfway between two values a cell begins at the upper one.
        return Cells(distinct(np.floor(cells.edges + 0.5)), "left")
    return cells
