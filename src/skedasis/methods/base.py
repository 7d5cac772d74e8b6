"""`Method`: plan, compute, finalize. The protocol, base classes of methods and variants, and statistics of a batch.

`plan` chooses cells from a summary of a column. `compute` returns the statistics of one batch of rows and is the only
step that calls the model. `finalize` makes the result from the merged statistics of all batches. A method is a frozen
dataclass of its parameters, and running it does not change it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from skedasis._types import Bools, Floats, Ints, Json
from skedasis.binning import Binning
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Column, Summary
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature
from skedasis.errors import DataError, UnsupportedError
from skedasis.models.adapters import ON_CELLS, DerivativeInfo
from skedasis.quantities.base import Quantity
from skedasis.stats.grid import Cells, Grid
from skedasis.stats.moments import WeightKind

if TYPE_CHECKING:
    from skedasis.results.effect import About
    from skedasis.stats.heterogeneity_score import HeterogeneityScore


# --- evaluator ------------------------------------------------------------------------------------


class Evaluator(Protocol):
    """Evaluator of a quantity on one batch of rows: the only access of a method to the model.

    Implemented by `skedasis.quantities.evaluator.BatchEvaluator`.
    """

    @property
    def weights(self) -> Floats | None:
        """The rows' weights; None means 1 for each row."""
        ...

    @property
    def eps(self) -> float:
        """Unit round-off of the dtype that the model computes in."""
        ...

    @property
    def row_id(self) -> Ints:
        """The rows' indices in X."""
        ...

    @property
    def places(self) -> Ints:
        """The rows' positions among the rows used in the explanation."""
        ...

    @property
    def shared(self) -> dict[str, Any]:
        """Intermediate values shared by the features of one batch."""
        ...

    def __len__(self) -> int: ...

    def column(self, j: int) -> Floats:
        """Return the rows' values of a feature."""
        ...

    def codes(self, column: LevelColumn) -> Ints:
        """Return the rows' codes of a categorical feature's levels, -1 for values without a code."""
        ...

    def labels(self) -> Floats:
        """Return the rows' labels as numbers."""
        ...

    def values(self) -> Floats:
        """Return the quantity at the rows, (n,)."""
        ...

    def subset(self, rows: Ints) -> Evaluator:
        """Return the evaluator of a subset of the rows."""
        ...

    def sweep(self, j: int, values: Floats) -> Floats:
        """Return the quantity, (n, m), with a column replaced."""
        ...

    def sweep_together(self, changes: Mapping[int, Any], m: int) -> Floats:
        """Return the quantity, (n, m), with several columns replaced at the same time."""
        ...

    def sums(self, changes: Mapping[int, Any], m: int) -> Floats:
        """Return the weighted sums over the rows of the quantity, (m,), with columns replaced."""
        ...

    def slope_sweep(self, j: int, values: Floats) -> Floats:
        """Return the partial derivative by a column, (n, m), with that column replaced."""
        ...

    def slope(self) -> Floats:
        """Return the partial derivatives by all columns, (n, d)."""
        ...

    def mixed_slopes(
        self,
        columns: tuple[Summary, Summary],
        derivative_info: tuple[DerivativeInfo, DerivativeInfo],
    ) -> tuple[Floats, Floats | None, Floats | None]:
        """Return the mixed second derivative by two features, and the slopes by each if available, (n,) each."""
        ...

    def cell_differences(self, j: int, edges: Floats, cell: Ints) -> Floats:
        """Return q(z_k, x_c) - q(z_{k-1}, x_c) for the edges of each row's cell, (n,)."""
        ...

    def edge_differences(self, j: int, low: Floats, high: Floats) -> Floats:
        """Return q(high, x_c) - q(low, x_c), (n,)."""
        ...

    def local_slopes(self, column: Summary, derivative_info: DerivativeInfo) -> Floats:
        """Return the partial derivative by one feature, (n,), from the derivatives or by central differences."""
        ...


# --- plan, statistics of a batch, rows ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Plan:
    """Result of `Method.plan`: the cells or the grid, and how local effects are computed.

    Parameters
    ----------
    column : Summary
        Summary of the feature's column.
    derivative_info : DerivativeInfo
    cells : Cells or Grid
    notes : dict
        Entries for the provenance.
    coarse : ndarray of int, optional
        Indices of the planned edges among the cells' edges, if fine cells were added (see `Method.with_fine_cells`).
    values : ndarray of float, optional
        The feature's observed values, if the curve consists of differences between adjacent values.
    difference_bins : Cells, optional
        Bins that the first round chose. The second round computes each row's difference across its bin.
    """

    column: Summary
    derivative_info: DerivativeInfo
    cells: Any
    notes: Json = field(default_factory=dict)
    coarse: Ints | None = None
    values: Floats | None = None
    difference_bins: Cells | None = None

    @property
    def bins(self) -> Cells:
        """Return the cells, for methods that plan cells."""
        return self.cells

    @property
    def grid(self) -> Grid:
        """Return the grid, for methods that plan a grid."""
        return self.cells

    @property
    def on_cells(self) -> bool:
        """Return whether the curve is given at the edges of all cells, whatever bins summarise it."""
        return self.derivative_info.kind in ON_CELLS


@dataclass(eq=False)
class BatchStats:
    """Statistics of one batch, returned by `Method.compute`. Merging two gives the statistics of both batches.

    Parameters
    ----------
    moments : dict of str to Moments or Totals
    kept : dict of str to ndarray
        Arrays with one entry per kept row. They are not merged here; `RowStore` collects them.
    largest : float
        Largest absolute local effect.
    outside : int
        Number of rows outside the cells.
    notes : dict
        Entries for the provenance.
    """

    moments: dict[str, Any]
    kept: dict[str, Any] = field(default_factory=dict)
    largest: float = 0.0
    outside: int = 0
    notes: Json = field(default_factory=dict)

    def merge(self, other: BatchStats) -> BatchStats:
        """Return the statistics of both batches, without the row arrays."""
        moments = {k: m.merge(other.moments[k]) for k, m in self.moments.items()}
        largest = max(self.largest, other.largest)
        notes = {**other.notes, **self.notes}
        return BatchStats(moments, {}, largest, self.outside + other.outside, notes)


class RowStore:
    """Store of row arrays of all features, written batch by batch into one block per kind of array.

    One large block is much faster to allocate than many arrays, because the system provides it in large pages, and
    nothing has to be concatenated at the end.

    Parameters
    ----------
    features : sequence
        Key of each feature.
    capacity : int
        Maximum number of rows per feature.
    """

    def __init__(self, features: Sequence[Any], capacity: int) -> None:
        self._index = {j: i for i, j in enumerate(features)}
        self._filled = dict.fromkeys(features, 0)
        self._capacity = capacity
        self._blocks: dict[tuple[str, Any, Any], Any] = {}
        self._views: dict[Any, dict[str, Any]] = {j: {} for j in features}

    def add(self, j: Any, arrays: Mapping[str, Any]) -> None:
        """Append a batch's arrays of feature j."""
        if not arrays:
            return
        start, rows = self._filled[j], len(next(iter(arrays.values())))
        views = self._views[j]
        for name, array in arrays.items():
            base, current = _complete_base(array, start, self._capacity), views.get(name)
            if base is not None and (current is None or current is base):
                views[name] = base  # a read-only array of all rows: no copy needed
                continue
            if current is None or not current.flags.writeable:
                views[name] = self._block(name, array)[self._index[j]]
                if current is not None:
                    views[name][:start] = current[:start]
            views[name][start : start + rows] = array
        self._filled[j] += rows

    def _block(self, name: str, array: Any) -> Any:
        kind = (name, array.dtype, array.shape[1:])
        if kind not in self._blocks:
            shape = (len(self._index), self._capacity, *array.shape[1:])
            self._blocks[kind] = np.empty(shape, dtype=array.dtype)
        return self._blocks[kind]

    def of(self, j: Any) -> dict[str, Any]:
        """Return the arrays of feature j."""
        return {name: view[: self._filled[j]] for name, view in self._views[j].items()}


def _complete_base(array: Any, start: int, capacity: int) -> Any:
    """Return the read-only array of all rows of which `array` is the slice beginning at `start`, or None."""
    if array.flags.writeable or not array.flags.c_contiguous:
        return None
    if len(array) == capacity:
        return array
    base = array.base
    if not isinstance(base, np.ndarray) or base.shape != (capacity, *array.shape[1:]):
        return None
    same = base.dtype == array.dtype and base.flags.c_contiguous and not base.flags.writeable
    offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return base if same and offset == start * base.strides[0] else None


# --- protocol -------------------------------------------------------------------------------------


class Method(Protocol):
    """A method for one kind of feature, or for two features: its parameters, and the three steps.

    The public classes (`ALE`, `PDP`, …) are the methods for a numeric feature; their `for_levels` and `for_pair` return
    the variants for a categorical feature and for two features.
    """

    @property
    def name(self) -> str:
        """Name of the public class."""
        ...

    @property
    def uses_slopes(self) -> bool:
        """Whether the method needs derivatives, so that the quantity is checked for them."""
        ...

    @property
    def scored(self) -> bool:
        """Whether its effects have a heterogeneity score (see `skedasis.stats.heterogeneity_score`)."""
        ...

    @property
    def checks_slopes(self) -> bool:
        """Whether slopes are compared with the differences of the quantity across the bins."""
        ...

    @property
    def follows_curve(self) -> bool:
        """Whether bins are chosen by penalized likelihood, so that they preserve the shape of the curve."""
        ...

    @property
    def replaces_slopes(self) -> bool:
        """Whether slopes that do not match the differences of the quantity are replaced by differences."""
        ...

    @property
    def leaves_out_missing(self) -> bool:
        """Whether rows with a missing value of the feature are evaluated only to compute the effect of missing it."""
        ...

    def floats_per_row(self, plans: Sequence[Any]) -> int:
        """Return the number of floats held in memory per row, which limits the size of batches."""
        ...

    @property
    def batch_rows(self) -> int | None:
        """Maximum number of rows per batch for which its arrays stay in the processor's cache; None for no limit."""
        ...

    @property
    def compares_missing(self) -> bool:
        """Whether rows with a missing value are compared with observed values (see `skedasis.methods.missing`)."""
        ...

    def plan(self, column: Any, derivative_info: Any) -> Any:
        """Choose the cells from the column (for a pair, from both columns)."""
        ...

    def points_per_call(self, plans: Sequence[Any]) -> int:
        """Return the maximum number of values per row in one call of the model, which limits the size of batches."""
        ...

    def n_rows_to_keep(self, rows: int) -> int:
        """Return the number of rows to keep, if memory allows."""
        ...

    def row_bytes(self, plan: Any) -> int:
        """Return the bytes needed to keep one row."""
        ...

    def with_fine_cells(self, plan: Any) -> Any:
        """Return a plan with fine cells, from whose moments other bins can be formed if not all rows can be kept."""
        ...

    def describe(self) -> Json:
        """Return the parameters as plain values."""
        ...

    def compute(self, evaluator: Evaluator, plan: Any, keep: Bools | None) -> BatchStats:
        """Return the statistics of one batch, with the arrays of the rows where `keep` is True (None: all rows)."""
        ...

    def observed_only(self, column: Column) -> bool:
        """Return whether the model is evaluated only at observed values of the feature."""
        ...

    def further(
        self,
        plan: Any,
        local: BatchStats,
        score: HeterogeneityScore | None,
        about: About,
        kind: WeightKind,
    ) -> Plan | None:
        """Return the plan of another round over the rows, given the statistics so far, or None if none is needed."""
        ...

    def finalize(
        self, plan: Any, stats: BatchStats, about: Any, *, exact: bool, kind: WeightKind
    ) -> Any:
        """Return the result from the statistics of all batches."""
        ...


# --- base classes ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameters:
    """Base class of the public methods: default hooks, and a description of the parameters."""

    compares_missing = True
    leaves_out_missing = True
    reads_columns = True
    scored = False
    checks_slopes = False
    follows_curve = False
    replaces_slopes = False
    batch_rows = None
    by_rows = False
    """Whether the changes made to a row depend on the other rows, as in a permutation, not on cells or levels."""

    def given(self, dataset: Dataset, groups: Any, seed: int) -> tuple[Dataset, Any]:
        """Return the rows and groups to use; by default the caller's."""
        return dataset, groups

    def warn_unused_arguments(self, model: Any, y: Any) -> None:
        """Warn about arguments that the method ignores, and raise if a required one is missing.

        Called before the run. By default all arguments are accepted.
        """

    def on(self, quantity: Quantity, dataset: Dataset, seed: int) -> Any:
        """Return the method for these rows; by default the method itself, which needs columns only."""
        return self

    def floats_per_row(self, plans: Sequence[Any]) -> int:
        """Return the number of floats held in memory per row; 0 unless rows have curves."""
        return 0

    @property
    def name(self) -> str:
        """Return the method's name."""
        return type(self).__name__

    def check(self, features: Sequence[Feature]) -> None:
        """Raise if a parameter names a feature that does not exist. Does nothing here."""

    def for_feature(self, feature: Feature) -> Any:
        """Return the method for a feature: itself if the feature is numeric, else its categorical variant."""
        return self.for_levels(feature) if feature.categorical else self

    def for_levels(self, feature: Feature) -> Any:
        """Return the variant for a categorical feature.

        Raises
        ------
        UnsupportedError
            If there is none.
        """
        fix = "Use sd.ALE() or sd.PDP()"
        if str(feature.dtype).lower().startswith(("bool", "int", "uint", "float")):
            fix += f'; if its values are quantities, declare it: schema={{{feature.name!r}: "continuous"}}'
        raise UnsupportedError(
            f"{self.name} of {feature.name!r}",
            f"a{'n' * (feature.kind == 'ordinal')} {feature.kind} feature ({feature.dtype})",
            "a numeric feature",
            fix,
        )

    def for_pair(self, features: tuple[Feature, Feature]) -> Any:
        """Return the variant for two features.

        Raises
        ------
        UnsupportedError
            If there is none.
        """
        names = ", ".join(repr(f.name) for f in features)
        raise UnsupportedError(
            f"{self.name} of ({names})",
            "two features",
            "a method for pairs: ALE, DALE or PDP",
            "Use method=sd.ALE()",
        )

    def n_rows_to_keep(self, rows: int) -> int:
        """Return the number of rows to keep, if memory allows: all."""
        return rows

    def with_fine_cells(self, plan: Plan) -> Plan:
        """Return a plan with fine cells; by default the plan itself."""
        return plan

    def observed_only(self, column: Column) -> bool:
        """Return whether the model is evaluated at observed values only; by default False."""
        return False

    def further(
        self,
        plan: Plan,
        local: BatchStats,
        score: HeterogeneityScore | None,
        about: About,
        kind: WeightKind,
    ) -> Plan | None:
        """Return None: one round suffices."""
        return None

    def describe(self) -> Json:
        """Return the parameters as plain values."""
        return {f.name: plain(getattr(self, f.name)) for f in fields(self)}


# --- helpers for parameters and rows --------------------------------------------------------------


def plain(value: Any) -> Any:
    """Return a parameter as a value that JSON can represent."""
    if isinstance(value, Binning):
        return value.describe()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    # Levels may be of any type, such as dates.
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def select_rows(arrays: Mapping[str, Any], keep: Bools | None) -> dict[str, Any]:
    """Return the rows of the arrays where `keep` is True (None: all rows), without arrays that are None."""
    present = {name: a for name, a in arrays.items() if a is not None}
    if keep is None:
        return present
    rows = np.flatnonzero(keep)
    return {name: a[rows] for name, a in present.items()} if len(rows) else {}


def param_for_feature(value: Any, feature: Feature, default: Any) -> Any:
    """Return the value of a parameter for a feature: its entry or the default in a mapping, else the parameter."""
    if not isinstance(value, Mapping):
        return value
    names = [feature.label, feature.name]
    # Column indices are accepted unless labels are numbers, with which they would be confused.
    if isinstance(feature.label, str) or feature.label == feature.position:
        names.append(feature.position)
    return next((value[n] for n in names if n in value), default)


def check_option(what: str, value: Any, options: tuple[Any, ...]) -> None:
    """Raise if a value is not one of the options.

    Raises
    ------
    DataError
    """
    if value not in options:
        raise DataError(what, repr(value), " | ".join(map(repr, options)), "Use one of these")


# --- base class of variants -----------------------------------------------------------------------


@dataclass(frozen=True)
class MethodVariant:
    """Base class of a method's variants for a categorical feature or for two features.

    Parameters
    ----------
    base : method
        The method as the user created it, whose name and parameters the variant reports.
    """

    base: Any

    uses_slopes = False
    compares_missing = True
    leaves_out_missing = True
    reads_columns = True
    scored = False
    checks_slopes = False
    follows_curve = False
    replaces_slopes = False
    batch_rows = None

    @property
    def name(self) -> str:
        """Return the name of the user's method."""
        return self.base.name

    @property
    def top_levels(self) -> int | None:
        """Return the number of most frequent levels to use; None for all."""
        return self.base.top_levels

    def warn_unused_arguments(self, model: Any, y: Any) -> None:
        """Do nothing: the arguments have been checked by the user's method."""

    def describe(self) -> Json:
        """Return the parameters as plain values."""
        return self.base.describe()

    def with_fine_cells(self, plan: Any) -> Any:
        """Return the plan itself: levels, and cells across which differences are taken, cannot be refined."""
        return plan

    def observed_only(self, column: Column) -> bool:
        """Return False: not used for pairs, and levels have no values between them."""
        return False

    def further(
        self,
        plan: Any,
        local: BatchStats,
        score: HeterogeneityScore | None,
        about: About,
        kind: WeightKind,
    ) -> None:
        """Return None: one round suffices."""
        return

    def floats_per_row(self, plans: Sequence[Any]) -> int:
        """Return 0: rows have no curves."""
        return 0

    def n_rows_to_keep(self, rows: int) -> int:
        """Return the number of rows to keep, if memory allows: all."""
        return rows
