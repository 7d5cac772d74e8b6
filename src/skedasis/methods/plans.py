"""What the steps of a method pass on: plans, statistics of a batch, and rows that are kept with a result."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Ints, JsonValue
from skedasis.data.column_stats import Summary
from skedasis.data.gaps import Nearest
from skedasis.models.adapters import ON_CELLS, DerivativeInfo
from skedasis.quantities.base import Quantity
from skedasis.quantities.evaluator import BatchEvaluator
from skedasis.results.effect import Rows
from skedasis.stats.grid import Cells, Grid
from skedasis.stats.moments import Moments

Notes: TypeAlias = Mapping[str, JsonValue]
"""Entries for the provenance of a result."""


@dataclass(frozen=True, eq=False)
class NumericPlan(ABC):
    """Plan of a method for a numeric feature, with cells (`CellPlan`) or a grid (`GridPlan`)."""

    column: Summary
    derivative_info: DerivativeInfo

    @property
    def at_points(self) -> bool:
        """Return whether local effects are slopes or central differences, which belong to the rows' own values."""
        return self.derivative_info.kind in ("slopes", "differences")

    @property
    @abstractmethod
    def positions(self) -> Floats:
        """Return the edges of the cells, or the points of the grid."""

    @abstractmethod
    def at_positions_of(self, other: NumericPlan) -> Self:
        """Return this plan with the cells or the grid of another one."""


@dataclass(frozen=True, eq=False)
class CellPlan(NumericPlan):
    """Plan of a method that averages local effects in cells."""

    cells: Cells
    notes: Notes = field(default_factory=dict[str, JsonValue])
    coarse: Ints | None = None
    values: Floats | None = None
    difference_bins: Cells | None = None
    nearest: Nearest | None = None

    @property
    def on_cells(self) -> bool:
        """Return whether the curve is given at the edges of all cells, whatever bins summarise it."""
        return self.derivative_info.kind in ON_CELLS

    @property
    def positions(self) -> Floats:
        return self.cells.edges

    def at_positions_of(self, other: NumericPlan) -> Self:
        if not isinstance(other, CellPlan):
            return self
        return replace(self, cells=other.cells, nearest=other.nearest)


@dataclass(frozen=True, eq=False)
class GridPlan(NumericPlan):
    """Plan of a method that evaluates curves on a grid."""

    grid: Grid
    notes: Notes = field(default_factory=dict[str, JsonValue])
    shares: Floats | None = None

    @property
    def positions(self) -> Floats:
        return self.grid.points

    def at_positions_of(self, other: NumericPlan) -> Self:
        if not isinstance(other, GridPlan):
            return self
        return replace(self, grid=other.grid, shares=other.shares)


RowArrays: TypeAlias = dict[str, Floats]
"""Arrays with one entry per kept row, by name."""


@dataclass(eq=False)
class BatchStats:
    """Statistics of one batch, returned by `Method.compute`."""

    moments: dict[str, Moments]
    kept: RowArrays = field(default_factory=dict[str, Floats])
    largest: float = 0.0
    outside: int = 0
    notes: Notes = field(default_factory=dict[str, JsonValue])
    totals: dict[str, Floats] = field(default_factory=dict[str, Floats])
    row_id: Ints | None = None
    quantity: Quantity | None = None
    weight_outside: float = 0.0

    def detach_rows(self) -> BatchStats:
        """Return the kept rows alone, and remove them here."""
        rows = BatchStats({}, self.kept, row_id=self.row_id)
        self.kept, self.row_id = {}, None
        return rows

    def merge(self, other: BatchStats) -> BatchStats:
        """Return the statistics of both batches, without the row arrays."""
        return BatchStats(
            {k: m.merge(other.moments[k]) for k, m in self.moments.items()},
            largest=max(self.largest, other.largest),
            outside=self.outside + other.outside,
            notes={**other.notes, **self.notes},
            totals={k: t + other.totals[k] for k, t in self.totals.items()},
            quantity=self.quantity,
            weight_outside=self.weight_outside + other.weight_outside,
        )

    def with_outside(self, outside: Bools, weights: Floats | None) -> BatchStats:
        """Return the statistics with the number of rows outside the cells, given by a mask, and their weight."""
        rows = int(np.count_nonzero(outside))
        weight = float(rows if weights is None else weights[outside].sum())
        return replace(self, outside=rows, weight_outside=weight)

    @property
    def notes_outside(self) -> Notes:
        """Return the entries of the provenance about the rows outside the cells."""
        return {"rows_outside": self.outside, "weight_outside": self.weight_outside}


ScalarT = TypeVar("ScalarT", bound=np.generic)


class RowStore(Generic[ScalarT]):
    """Store of row arrays of all features, written batch by batch into one block per kind of array."""

    def __init__(self, features: Sequence[Hashable], capacity: int) -> None:
        self._index = {j: i for i, j in enumerate(features)}
        self._filled = dict.fromkeys(features, 0)
        self._capacity = capacity
        self._blocks: dict[tuple[str, np.dtype[ScalarT], tuple[int, ...]], NDArray[ScalarT]] = {}
        self._views: dict[Hashable, dict[str, NDArray[ScalarT]]] = {j: {} for j in features}

    def add(self, j: Hashable, arrays: Mapping[str, NDArray[ScalarT]]) -> None:
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

    def _block(self, name: str, array: NDArray[ScalarT]) -> NDArray[ScalarT]:
        kind = (name, array.dtype, array.shape[1:])
        if kind not in self._blocks:
            shape = (len(self._index), self._capacity, *array.shape[1:])
            self._blocks[kind] = np.empty(shape, dtype=array.dtype)
        return self._blocks[kind]

    def most(self) -> int:
        """Return the largest number of rows of a feature."""
        return max(self._filled.values(), default=0)

    def of(self, j: Hashable) -> dict[str, NDArray[ScalarT]]:
        """Return the arrays of feature j."""
        return {name: view[: self._filled[j]] for name, view in self._views[j].items()}


def _complete_base(array: NDArray[ScalarT], start: int, capacity: int) -> NDArray[ScalarT] | None:
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


def select_rows(arrays: Mapping[str, Floats | None], keep: Bools | None) -> RowArrays:
    """Return the rows of the arrays where `keep` is True (None: all rows), without arrays that are None."""
    present = {name: a for name, a in arrays.items() if a is not None}
    if keep is None:
        return present
    rows = np.flatnonzero(keep)
    return {name: a[rows] for name, a in present.items()} if len(rows) else {}


def kept_rows(stats: BatchStats, *, exact: bool) -> Rows | None:
    """Return the kept rows of a feature, or None if there are none."""
    r = stats.kept
    if not r:
        return None
    return Rows(r["x"], r.get("effect"), r.get("weight"), exact, r.get("across"))


def select_row_ids(evaluator: BatchEvaluator, keep: Bools | None) -> Ints:
    """Return the indices in X of the rows where `keep` is True (None: of all rows)."""
    return evaluator.row_id if keep is None else evaluator.row_id[keep]
