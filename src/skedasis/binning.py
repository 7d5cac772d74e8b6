"""Binning schemes: `Uniform`, `Quantile`, `Edges`, `AutoUniform`, `Greedy` and `Optimal`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from numbers import Integral
from typing import Literal, TypeAlias, cast

import numpy as np

from skedasis._arguments import check_int, check_number, check_option, is_int, is_number, shown
from skedasis._calls import checked_call
from skedasis._types import Bools, Floats, Ints, JsonValue, Side, SupportsArray
from skedasis.data.column_stats import Column
from skedasis.data.features import Feature
from skedasis.data.gaps import Gap
from skedasis.data.times import TimeLike, given_times
from skedasis.errors import BinningWarning, DataError, UnsupportedError, warn_caller
from skedasis.stats.grid import Cells, distinct, uniform_edges
from skedasis.stats.moments import Moments, WeightKind
from skedasis.stats.segmentation import (
    MIN_ROWS,
    Criterion,
    Noise,
    PenalizedLikelihood,
    RefinedBins,
    constant_up_to,
    likelihood_partition,
    merge_greedily,
    optimal_partition,
    refine_edges,
    to_cell_moments,
)


# ---------------------------------------------------------------------------- base class
@dataclass(frozen=True)
class Binning(ABC):
    """A scheme that divides the axis of a feature into bins."""

    @property
    def uses_likelihood(self) -> bool:
        """Return whether the bins minimise a penalized likelihood."""
        return False

    @property
    def chooses(self) -> bool:
        """Return whether bins are chosen from the local effects."""
        return type(self).choose is not Binning.choose

    @abstractmethod
    def candidates(self, column: Column) -> Cells:
        """Return the fine cells of a column; a single edge if the feature is constant."""

    def choose(self, cells: Cells, moments: Moments, options: VarianceOptions) -> Ints:
        """Return the indices of the cells' edges that bound the bins; by default all of them."""
        return np.arange(len(cells.edges))

    def segments(self, cells: Cells, moments: Moments, options: VarianceOptions) -> BinSegments:
        """Return the bins, and in which of them slopes change linearly (by default in none)."""
        return BinSegments(self.choose(cells, moments, options))

    def describe(self) -> dict[str, JsonValue] | str:
        """Return the scheme and its settings for the provenance, or the name that the user gave."""
        return self._described()

    def _described(self) -> dict[str, JsonValue]:
        settings = asdict(self)
        # JSON has no tuples, and a loaded provenance must equal the saved one.
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in settings.items()}
        return {"scheme": type(self).__name__, **plain}


@dataclass(frozen=True, eq=False)
class BinSegments:
    """The bins that a scheme has chosen."""

    edge_index: Ints
    trend: Bools | None = None


EXACT = 1e-9
"""Relative rounding error of slopes that are given or known in closed form."""

ROUNDING = 1e-14
"""Relative rounding error of a cost, which sums squares of all local effects."""


@dataclass(frozen=True)
class VarianceOptions:
    """How variances of local effects are computed and compared while bins are chosen."""

    ddof: int = 1
    kind: WeightKind = "frequency"
    largest: float = 0.0
    noise: float = 1e-6
    feature: str = ""
    axis: Moments | None = None


def _snapped_cells(column: Column, edges: Floats, closed: Side) -> Cells:
    """Return cells whose edges are values that the column's type can represent, so that the model gets exactly them."""
    return Cells(distinct(column.snap(edges)), closed)


# ---------------------------------------------- schemes that do not depend on the local effects
@checked_call
@dataclass(frozen=True)
class Uniform(Binning):
    """k bins of equal width, closed on the left; the last bin also includes its right edge (RHALE sec. 2.1).

    Parameters
    ----------
    k : int
        Number of bins. Bins may be empty; the result marks them.

    Raises
    ------
    DataError
        If k is not a positive integer.

    Examples
    --------
    >>> Uniform(20)
    Uniform(k=20)
    """

    k: int = 20

    def __post_init__(self) -> None:
        check_int("Uniform(k)", self.k, 1, "Use 20")

    def candidates(self, column: Column) -> Cells:
        return _snapped_cells(column, uniform_edges(column.low, column.high, self.k), "left")


@checked_call
@dataclass(frozen=True)
class Quantile(Binning):
    """Bins between k + 1 order statistics, closed on the right (Apley & Zhu; ale_vs_pdp 6.2.1.2).

    Edges are data values: the inverse empirical distribution at 0, 1/k, …, 1, without duplicates. No bin is empty.

    Parameters
    ----------
    k : int
        Number of bins before duplicate edges are removed; may exceed the number of rows.

    Examples
    --------
    >>> Quantile(40)
    Quantile(k=40)
    """

    k: int = 20

    def __post_init__(self) -> None:
        check_int("Quantile(k)", self.k, 1, "Use 20")

    def candidates(self, column: Column) -> Cells:
        return Cells(distinct(column.order_statistics(self.k)), "right")


@checked_call
@dataclass(frozen=True)
class Edges(Binning):
    """Bins with given edges. Rows outside the edges are excluded; the result counts them.

    Parameters
    ----------
    edges : sequence or array of float, or of times
        At least two, strictly increasing and finite. For a feature of dates, times or durations: values of that kind,
        or ISO 8601 text such as ``"2020-01-31"``.
    closed : {"left", "right"}, optional
        The side on which a bin includes its edge. The default is "right" for ALE and "left" for other methods.

    Raises
    ------
    DataError
        If there are fewer than two edges, or they are not finite or not increasing.

    Examples
    --------
    >>> Edges([0, 18, 65, 100]).edges
    (0.0, 18.0, 65.0, 100.0)
    """

    edges: tuple[float, ...] | tuple[TimeLike, ...] = ()
    closed: Side | None = None

    def __init__(
        self,
        edges: Sequence[float] | Sequence[TimeLike] | SupportsArray = (),
        closed: Side | None = None,
    ) -> None:
        fix = "Use one of these; None is the method's default"
        check_option("Edges(closed)", closed, ("left", "right", None), fix)
        object.__setattr__(self, "closed", closed)
        times = given_times(edges)
        if (
            times is not None
        ):  # their order is checked in `candidates`, where the feature's kind of time is known
            object.__setattr__(self, "edges", times)
            return
        try:
            numbers = cast("Sequence[float]", edges)  # what is no number is refused below
            values = tuple(float(z) for z in numbers)
        except (TypeError, ValueError):
            values = ()
        self._check_increasing(np.array(values), edges)
        object.__setattr__(self, "edges", values)

    def _check_increasing(self, edges: Floats, given: object) -> None:
        steps = np.diff(edges)
        if len(edges) < 2 or not np.isfinite(edges).all() or not (steps > 0).all():
            fix = "Sort the edges and remove duplicates"
            if is_number(given):
                fix = f"For a number of bins write sd.Quantile({given}) or sd.Uniform({given})"
            elif not len(edges):
                fix = "Pass a list of numbers, such as sd.Edges([0, 10, 20])"
            elif len(edges) == 1:
                fix = "Add the other end: a bin lies between two edges"
            elif not np.isfinite(edges).all():
                fix = "Remove what is missing or infinite"
            raise DataError("Edges", shown(given), "two or more increasing, finite numbers", fix)

    def _described(self) -> dict[str, JsonValue]:
        settings = super()._described()
        # Times as text.
        return {**settings, "edges": [z if isinstance(z, float) else str(z) for z in self.edges]}

    def candidates(self, column: Column) -> Cells:
        time, what = column.feature.time, f"Edges of {column.feature.name!r}"
        if time is not None:
            edges = time.days(self.edges, what)
            self._check_increasing(edges, self.edges)
            self._check_overlap(edges, column)
            return _snapped_cells(column, edges, self.closed or "left")
        numbers = [z for z in self.edges if isinstance(z, float)]
        if len(numbers) < len(self.edges):
            raise DataError(
                what,
                repr(self.edges[0]),
                "numbers, because the feature is numeric",
                "Give the edges as numbers",
            )
        self._check_overlap(np.array(numbers), column)
        return _snapped_cells(column, np.array(numbers), self.closed or "left")

    @staticmethod
    def _check_overlap(edges: Floats, column: Column) -> None:
        """Raise if no value lies between the edges: the effect would be that of no row."""
        low, high = column.low, column.high
        if edges[-1] < low or edges[0] > high:
            shown_as = f"{low:.6g} to {high:.6g}"
            if column.feature.time is not None:
                shown_as = f"{column.feature.time.text(low)} to {column.feature.time.text(high)}"
            raise DataError(
                f"Edges of {column.feature.name!r}",
                "edges outside the values of the feature",
                f"edges around values from {shown_as}",
                "Choose edges within this range",
            )


def check_rows_in_cells(feature: Feature, counts: Floats) -> None:
    """Raise if no row is in any of a feature's cells: edges that lie between two values."""
    if len(counts) and not counts.any():
        raise DataError(
            f"Edges of {feature.name!r}",
            "edges between two values, with no row",
            "edges around the values of at least one row",
            "Move the edges apart",
        )


# --------------------------------------------- schemes that minimise a cost of the local effects
Partitioner: TypeAlias = Callable[[Floats, Moments, Criterion], Ints | None]
"""A function of edges, moments and criterion that returns the indices of the chosen edges, or None."""


@dataclass(frozen=True)
class AutomaticBinning(Binning):
    """Base class of the automatic schemes, with the settings of Eq. 13: discount and minimum number of rows."""

    max_bins: int = 50
    alpha: float = 0.2
    min_points: float | None = None

    def __post_init__(self) -> None:
        name = type(self).__name__
        check_int(f"{name}(max_bins)", self.max_bins, 1, "Use 20")
        discount = "a discount between 0 and 1"
        check_number(f"{name}(alpha)", self.alpha, discount, "Use 0.2", least=0.0, most=1.0)
        single = is_number(self.min_points) and self.min_points == math.inf  # always one bin
        if self.min_points is not None and not single:
            fix = "Use None for the default of a twentieth of the rows"
            least = "a number of at least 1"
            check_number(f"{name}(min_points)", self.min_points, least, fix, least=1.0)

    def candidates(self, column: Column) -> Cells:
        return _snapped_cells(column, uniform_edges(column.low, column.high, self.max_bins), "left")

    def criterion_for(self, cells: Cells, moments: Moments, options: VarianceOptions) -> Criterion:
        """Return Eq. 13 with these settings, for the range and the total weight of the cells."""
        total = float(moments.weight.sum())
        least = self.min_points or max(2, math.ceil(total / 20))
        extent = float(cells.edges[-1] - cells.edges[0])
        # Exact slopes have smaller errors than the sums of their squares.
        tie = extent * options.largest**2 * max(options.noise**2, ROUNDING)
        return Criterion(self.alpha, least, total, options.ddof, options.kind, tie)

    def partition(
        self, how: Partitioner, cells: Cells, moments: Moments, options: VarianceOptions
    ) -> Ints:
        """Return the edges that `how` chooses; those of a single bin if no partition has enough rows."""
        criterion = self.criterion_for(cells, moments, options)
        kept = how(cells.edges, moments, criterion)
        return self.one_bin(cells, criterion, options) if kept is None else kept

    def one_bin(self, cells: Cells, criterion: Criterion, options: VarianceOptions) -> Ints:
        """Return the edges of a single bin, and warn that no partition has enough rows."""
        of = f" of {options.feature!r}" if options.feature else ""
        warn_caller(
            f"{type(self).__name__}{of}: got {criterion.total:g} rows, expected at least {criterion.least:g} rows in "
            "each bin. A single bin is used. Lower min_points, or use fixed bins such as Uniform(5).",
            BinningWarning,
        )
        return np.array([0, len(cells)])


@checked_call
@dataclass(frozen=True)
class Greedy(AutomaticBinning):
    """Neighbouring cells are merged as long as that lowers Eq. 13: close to the optimum, but not always equal to it.

    Parameters
    ----------
    max_bins, alpha, min_points
        As in `Optimal`.

    Notes
    -----
    Cells with too few rows are merged first, each with the neighbour for which the merge is cheapest. There are at most
    max_bins merges, each of O(max_bins).

    Examples
    --------
    >>> Greedy(max_bins=100)
    Greedy(max_bins=100, alpha=0.2, min_points=None)
    """

    def choose(self, cells: Cells, moments: Moments, options: VarianceOptions) -> Ints:
        return self.partition(merge_greedily, cells, moments, options)


@checked_call
@dataclass(frozen=True)
class AutoUniform(AutomaticBinning):
    """Bins of equal width; their number minimises Eq. 6 of the draft on uncertainty, subject to its Eq. 7.

    Over K = 1 .. max_bins, minimises ``width_K * sum of std_i (1 - alpha p_i / N)`` with at least `min_points` rows in
    every bin. Ties go to fewer bins.

    Parameters
    ----------
    max_bins, alpha, min_points
        As in `Optimal`.

    Notes
    -----
    Moments are computed once, on the cells between all edges of all K (about 0.3 max_bins² cells).

    Examples
    --------
    >>> AutoUniform(max_bins=40)
    AutoUniform(max_bins=40, alpha=0.2, min_points=None)
    """

    max_bins: int = 20

    def candidates(self, column: Column) -> Cells:
        # An edge that several K share is the same floating-point number for each.
        edges = [uniform_edges(column.low, column.high, k) for k in range(1, self.max_bins + 1)]
        return _snapped_cells(column, distinct(np.concatenate(edges)), "left")

    def choose(self, cells: Cells, moments: Moments, options: VarianceOptions) -> Ints:
        criterion = self.criterion_for(cells, moments, options)
        low, high = float(cells.edges[0]), float(cells.edges[-1])
        tie = options.noise * (high - low) * options.largest
        best, cheapest = None, math.inf
        for k in range(1, self.max_bins + 1):
            kept = _nearest_edges(cells.edges, uniform_edges(low, high, k))
            bins = moments.pool(kept[:-1])
            if (bins.weight < criterion.least).any():
                continue
            std = np.sqrt(bins.variance(options.ddof, options.kind))
            cost = (high - low) / k * float(np.sum(std * criterion.discount(bins.weight)))
            if cost < cheapest - tie:
                best, cheapest = kept, cost
        return self.one_bin(cells, criterion, options) if best is None else best


def _nearest_edges(edges: Floats, wanted: Floats) -> Ints:
    """Return the indices of the edges nearest to the given ones, without duplicates."""
    right = np.clip(np.searchsorted(edges, wanted), 1, len(edges) - 1)
    left_is_nearer = wanted - edges[right - 1] <= edges[right] - wanted
    return np.unique(np.where(left_is_nearer, right - 1, right))


# ------------------------------------------------------------------------------ optimal binning
_OUTLIER = 1000.0
"""A local effect more than this many times as large as the 0.9 quantile of all is an outlier."""

_MAX_CANDIDATES = 1000
"""Largest number of candidate edges of ``grid="data"`` under Eq. 13. With more distinct values, quantiles are used."""

_MIN_CANDIDATES = 256
"""Smallest number of candidate edges under the penalized likelihood. If all rows are kept, the edges are refined."""

_ROWS_PER_CELL, _MAX_QUANTILES = 10, 100
"""Under the penalized likelihood: rows per cell across which differences are taken, and largest number of such cells
(unless max_bins is larger)."""


@checked_call
@dataclass(frozen=True)
class Optimal(AutomaticBinning):
    """The partition of minimal cost, found exactly by dynamic programming (RHALE Eq. 14).

    ``criterion="eq13"``, as in the papers: minimises the sum of ``(1 - alpha n_k / N) * variance_k * width_k`` over all
    partitions of the fine cells into bins of at least `min_points` rows.

    ``criterion="likelihood"``: minimises a penalized likelihood, the sum of the bins' deviances, ``n_k
    log(variance_k)``, and of a penalty for each bin that random variation rarely exceeds. Constant slopes give one bin.
    Edges lie where the slopes or their variance change. Within a bin slopes may change linearly; the effect is then a
    parabola there. No settings are needed.

    Parameters
    ----------
    max_bins : int
        Number of fine cells (K_max of the papers). O(max_bins²) time, O(max_bins) memory, no model rows. Under
        "likelihood" there are at least 256 candidates, and memory is O(max_bins²).
    alpha : float
        Discount for bins with many rows, between 0 and 1. Eq. 13 only.
    min_points : float, optional
        Minimum weight of a bin (N_PPB). The default is a twentieth of the rows, at least 2; under "likelihood" it is 5.
    criterion : {"eq13", "likelihood"}
        What is minimised.
    grid : {"uniform", "quantile", "data", "jumps"}
        Candidate edges. "uniform": multiples of range / max_bins, as in the papers. "quantile": quantiles. "data":
        between any two neighbouring data values (at most 1,000 candidates; max_bins is not used); under "likelihood"
        quantiles, and if all rows are kept the edges are then moved to the best position between two rows. "jumps", for
        trees that are evaluated from their structure: halfway between any two neighbouring jumps (at most 1,000), so
        that no edge coincides with a jump. The default is "uniform", under "likelihood" "data".
    slopes : {"linear", "constant"}
        Under "likelihood": whether slopes may change linearly within a bin if that lowers the cost.

    Notes
    -----
    Costs of Eq. 13 that differ by less than 1e-12 * range * max d² are ties, because finite differences have rounding
    errors of that size. Ties go to fewer bins. Slopes that are given or known in closed form are more precise: there
    the factor is 1e-18, otherwise a constant slope of 1e7 would hide all other variation.

    Under "likelihood" the penalty of a bin is 1.5 log(N / bins) + 8, multiplied by a factor for heavy tails, and a
    linear slope costs log N + 1 more. For step functions (trees) "likelihood" means the fewest bins that describe the
    curve, as in
    ``RHALE(bins="auto")``, because differences of a step function are not slopes that could be constant.

    Examples
    --------
    >>> Optimal(max_bins=20, alpha=0.5, min_points=10).grid
    'uniform'
    >>> Optimal(criterion="likelihood").grid
    'data'
    """

    criterion: Literal["eq13", "likelihood"] = "eq13"
    grid: Literal["", "uniform", "quantile", "data", "jumps"] = ""
    slopes: Literal["linear", "constant"] = "linear"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option("Optimal(criterion)", self.criterion, ("eq13", "likelihood"))
        if isinstance(self.grid, str) and self.grid == "":
            object.__setattr__(
                self, "grid", "data" if self.criterion == "likelihood" else "uniform"
            )
        check_option("Optimal(grid)", self.grid, ("uniform", "quantile", "data", "jumps"))
        check_option("Optimal(slopes)", self.slopes, ("linear", "constant"))

    @property
    def uses_likelihood(self) -> bool:
        return self.criterion == "likelihood"

    def candidates(self, column: Column) -> Cells:
        if self.grid == "uniform":
            return super().candidates(column)
        if self.grid == "jumps":
            raise _unknown_jumps(column)
        if self.grid == "quantile":
            return Cells(distinct(column.order_statistics(self.max_bins)), "left")
        most = max(self.max_bins, _MIN_CANDIDATES) if self.uses_likelihood else _MAX_CANDIDATES
        values = column.distinct(most + 1)
        if values is None or len(values) > most:
            return Cells(distinct(column.order_statistics(most)), "left")
        if len(values) < 2:
            return Cells(values)
        between = values[:-1] + (values[1:] - values[:-1]) / 2
        return Cells(distinct(np.concatenate([values[:1], between, values[-1:]])), "left")

    def between(self, jumps: Floats | None, column: Column) -> Cells:
        """Return cells that contain one jump each; raise `UnsupportedError` if the jumps' positions are not known."""
        if jumps is None:
            raise _unknown_jumps(column)
        if column.low == column.high:
            return Cells(np.array([column.low]))
        inside = jumps[(jumps >= column.low) & (jumps < column.high)]
        between = inside[:-1] + np.diff(inside) / 2
        if len(between) > _MAX_CANDIDATES:
            between = between[np.linspace(0, len(between) - 1, _MAX_CANDIDATES).astype(int)]
        ends = np.array([column.low, column.high])
        return Cells(distinct(np.concatenate([column.snap(between), ends])), "left")

    def across(self, column: Column) -> Cells:
        """Return the fine cells for finite differences under the penalized likelihood: quantiles, ten rows per cell.

        Narrow cells make differences close to slopes, but the variance of a cell needs several rows.
        """
        if self.grid == "uniform":
            return super().candidates(column)
        k = min(max(int(column.weight) // _ROWS_PER_CELL, 2), max(self.max_bins, _MAX_QUANTILES))
        return Cells(distinct(column.order_statistics(k)), "right")

    def choose(self, cells: Cells, moments: Moments, options: VarianceOptions) -> Ints:
        return self.segments(cells, moments, options).edge_index

    def segments(self, cells: Cells, moments: Moments, options: VarianceOptions) -> BinSegments:
        if not self.uses_likelihood:
            return BinSegments(self.partition(optimal_partition, cells, moments, options))
        some = np.flatnonzero(moments.weight > 0)
        # Sampling weights have no unit: only the sum of frequency weights is a number of rows.
        size = moments.weight if options.kind == "frequency" else moments.count
        total, least = float(size.sum()), float(self.min_points or 2)
        if total < least:
            few = Criterion(self.alpha, least, total, options.ddof, options.kind)
            return BinSegments(self.one_bin(cells, few, options))
        sizes = np.abs(moments.mean[some]) + np.sqrt(moments.m2[some] / moments.weight[some])
        points = to_cell_moments(moments, options.axis, options.kind)
        likelihood = self._likelihood(options, sizes)
        if constant_up_to(points, likelihood.floor):
            return BinSegments(np.array([0, len(cells)]), np.zeros(1, dtype=bool))
        noise = Noise.of(points, likelihood.floor)
        found = likelihood_partition(noise.clip(points), noise, likelihood)
        # Empty cells belong to the bin on their left.
        inner = some[found.starts[1:-1]]
        return BinSegments(np.concatenate([[0], inner, [len(cells)]]), found.trend)

    def refine_edges(
        self,
        cells: Cells,
        kept: Ints,
        rows: tuple[Floats, Floats, Floats | None],
        options: VarianceOptions,
    ) -> RefinedBins | None:
        """Return the bins with their edges moved to the best position between two rows.

        `kept`, (bins + 1,), are the indices of the chosen edges, and `rows` the values, local effects and weights (or
        None) of all rows. None if there are no inner edges, or all lie between two rows already.
        """
        if not self.uses_likelihood or self.grid != "data" or len(kept) <= 2:
            return None
        likelihood = self._likelihood(options, np.abs(rows[1]))
        return refine_edges(cells, kept, rows, likelihood, options.kind)

    def _likelihood(self, options: VarianceOptions, sizes: Floats) -> PenalizedLikelihood:
        """Return the settings of the penalized likelihood; `sizes` are absolute local effects of cells or rows."""
        usual = _OUTLIER * float(np.quantile(sizes, 0.9)) if len(sizes) else 0.0
        largest = min(options.largest, usual) if usual > 0 else options.largest
        floor = (options.noise * largest) ** 2
        linear = self.slopes == "linear" and options.axis is not None
        return PenalizedLikelihood(float(self.min_points or MIN_ROWS), linear, floor)


def _unknown_jumps(column: Column) -> UnsupportedError:
    return UnsupportedError(
        f"Optimal(grid='jumps') of {column.feature.name!r}",
        "a quantity whose jumps are not known",
        "RHALE of a tree model that is evaluated from its structure (scikit-learn, LightGBM, XGBoost, CatBoost)",
        "Use grid='uniform'",
    )


# ---------------------------------------------------------------------------- automatic cells
N_AUTO_CELLS = 32
"""Number of quantile cells under ``bins="auto"``, before gaps and wide cells add more."""

_ROWS_PER_AUTO_CELL = 10
"""Smallest weight on either side of a cut through a wide cell, and of a quantile cell beside atoms."""

_WIDE, _MOST_ADDED = 16, 12
"""A cell wider than this fraction of the axis without its gaps is cut; gaps and cuts add at most so many cells."""


def auto_edges(column: Column, k: int, gaps: Sequence[Gap] | None = None) -> Floats:
    """Return all values if there are at most k + 1, else quantiles and atoms; and the ends of gaps."""
    values = column.distinct(k + 1)
    # Before the gaps, so that data that are read in chunks answer both in one pass.
    edges = [_atoms_and_quantiles(column, k) if values is None else values]
    gaps = column.gaps if gaps is None else gaps
    return distinct(np.concatenate([*edges, [z for gap in gaps for z in (gap.left, gap.right)]]))


def _atoms_and_quantiles(column: Column, k: int) -> Floats:
    quantiles, atoms = column.order_statistics(k), np.zeros(0)
    ends = quantiles[[0, -1]]
    while True:
        repeated = quantiles[1:] == quantiles[:-1]
        if not repeated.any():
            return np.concatenate([ends, atoms, quantiles])
        atoms = distinct(np.concatenate([atoms, quantiles[1:][repeated]]))
        left, outside = k - len(atoms), column.quanta_without(atoms)
        if left <= 0 or not outside:
            return np.concatenate([ends, atoms])
        parts = max(1, min(left, outside // (_ROWS_PER_AUTO_CELL * column.row_quanta)))
        quantiles = column.order_statistics(parts, without=atoms)


def auto_cells(column: Column, gaps: Sequence[Gap] | None = None) -> Cells:
    """Return the cells of ``bins="auto"``, closed on the right: between few values, else those of `auto_edges`."""
    edges = column.few_values()
    if edges is None:
        edges = auto_edges(column, N_AUTO_CELLS, gaps)
    left = {gap.left for gap in (column.gaps if gaps is None else gaps)}
    edges = _with_wide_cells_cut(column, edges, left)
    return Cells(edges, "right", tuple(np.flatnonzero(_begin(edges, left)).tolist()))


def _begin(edges: Floats, gaps: set[float]) -> Bools:
    """Return the cells that are gaps, given the left ends of gaps."""
    return np.isin(edges[:-1], [*gaps]) if gaps else np.zeros(max(len(edges) - 1, 0), dtype=bool)


def _with_wide_cells_cut(column: Column, edges: Floats, gaps: set[float]) -> Floats:
    is_gap, widths = _begin(edges, gaps), np.diff(edges)
    parts = widths / (max(float(widths[~is_gap].sum()), np.finfo(float).tiny) / _WIDE)
    # A cell is not cut for the rounding of its width.
    pieces = np.where(is_gap, 1, np.ceil(parts * (1 - 1e-9))).astype(int)
    wide = np.flatnonzero(pieces > 1)
    if not len(wide):
        return edges
    cuts = [np.linspace(edges[k], edges[k + 1], pieces[k] + 1)[1:-1] for k in wide]
    points = distinct(np.concatenate([*cuts, edges[wide], edges[wide + 1]]))
    upto = column.upto(points)
    weight = dict(zip(points.tolist(), upto.weight.tolist(), strict=True))
    largest = dict(zip(points.tolist(), upto.largest.tolist(), strict=True))
    least, added = _ROWS_PER_AUTO_CELL * column.row_quanta, list[float]()
    for k, inner in zip(wide, cuts, strict=True):
        before, last = weight[edges[k]], weight[edges[k + 1]]
        for z in inner.tolist():
            if weight[z] - before >= least and last - weight[z] >= least:
                added.append(largest[z])
                before = weight[z]
    room = max(_MOST_ADDED - 2 * len(gaps), 0)
    return distinct(np.concatenate([edges, added[:room]]))


# ------------------------------------------------------------- choice of the cells for a method
def as_binning(bins: object, whole: type[Uniform] | type[Quantile]) -> Binning:
    """Return the argument `bins` as a scheme; an integer k gives ``whole(k)``, the method's usual scheme."""
    if isinstance(bins, Binning):
        return bins
    if is_int(bins):
        return whole(int(bins))
    raise DataError(
        "bins",
        shown(bins),
        "'auto', an int or one of Uniform, Quantile, Edges, AutoUniform, Greedy, Optimal",
        _which_bins(bins),
    )


_SCHEMES: dict[str, str] = {
    "uniform": "sd.Uniform(20)",
    "equal": "sd.Uniform(20)",
    "fixed": "sd.Uniform(20)",
    "quantile": "sd.Quantile(20)",
    "quantiles": "sd.Quantile(20)",
    "percentile": "sd.Quantile(20)",
    "greedy": "sd.Greedy()",
    "optimal": "sd.Optimal()",
    "dynamic_programming": "sd.Optimal()",
    "dp": "sd.Optimal()",
    "auto_uniform": "sd.AutoUniform()",
    "autouniform": "sd.AutoUniform()",
}
"""Name of a scheme, ours or effector's → how to write it."""


def _which_bins(bins: object) -> str:
    """Return what to write instead of bins that are no scheme."""
    name = bins.__name__ if isinstance(bins, type) else bins
    if isinstance(name, str) and name.strip().isdigit():
        return f"Write the number as an integer: bins={int(name)}"
    if isinstance(name, str) and name.lower().replace(" ", "_") in _SCHEMES:
        return f"Write bins={_SCHEMES[name.lower().replace(' ', '_')]}"
    flat = isinstance(bins, (list, tuple)) or (isinstance(bins, np.ndarray) and bins.ndim == 1)
    if flat and all(is_number(v) for v in cast("Sequence[object]", bins)):
        edges = sorted({float(v) for v in cast("Sequence[float]", bins)})
        if len(edges) > 1:
            return f"Write bins=sd.Edges({[int(v) if v.is_integer() else v for v in edges]!r})"
    return (
        "Use for example bins=20, bins=sd.Uniform(20), or bins=sd.Edges([...]) for your own edges"
    )


def is_fixed(bins: object) -> bool:
    """Return whether bins do not depend on the local effects: an integer, `Uniform`, `Quantile` or `Edges`."""
    return isinstance(bins, (Integral, Uniform, Quantile, Edges))


def cells_for_column(
    bins: object,
    scheme: Binning,
    column: Column,
    local: str,
    jumps: Callable[[], Floats | None] = lambda: None,
) -> Cells:
    """Return the fine cells of a column for the way in which its local effects are computed."""
    if isinstance(scheme, Optimal) and scheme.grid == "jumps":
        return scheme.between(jumps(), column)
    if local == "value_steps":
        return Cells(column.distinct_values, "right")
    is_auto_ale = local == "edges" and bins == "auto"
    if is_auto_ale or (local == "steps" and type(scheme) in (Optimal, Greedy)):
        if not is_fixed(bins):
            return auto_cells(column)
    elif local == "edges" and isinstance(scheme, Optimal) and scheme.uses_likelihood:
        return scheme.across(column)
    cells = scheme.candidates(column)
    if local == "integer_steps" and column.integer and len(cells) > 0 and not is_fixed(bins):
        # An edge halfway between two integers is moved to the upper one.
        return Cells(distinct(np.floor(cells.edges + 0.5)), "left")
    return cells
