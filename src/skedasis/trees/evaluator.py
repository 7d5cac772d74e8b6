"""`TreeForest`: an ensemble of trees, ready for evaluation; `TreeRows`: on one batch of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from skedasis._types import Bools, Container, Floats, Ints, Level
from skedasis.data.containers import DonorRows, LevelReplacement, Replacement, RowIndex, Table
from skedasis.data.dataset import Batch
from skedasis.trees.arrays import ThresholdCodes, Words
from skedasis.trees.bitset import BitsetEvaluator, NumpyBitsets, pack_tests, pack_tests_numpy
from skedasis.trees.corners import CellsOfColumn, CornerLeaves, Ends
from skedasis.trees.ensemble import Ensemble
from skedasis.trees.layout import ColumnTests, TreeLayout, layout_of, layouts_by_output

MAX_BITSET_LEAVES = 256
"""Trees with more leaves are traversed row by row, because most of their nodes are reached by too few rows for sets."""

_HOLD = 64_000_000
"""Maximum size in bytes of the codes of whole columns to keep."""

_BEYOND = 2.0**128
"""The smallest power of two beyond the range of float32."""

_ROOM = 16_000_000
"""Target size in bytes of a batch's row sets: larger ones exceed the processor's cache, smaller ones cost overhead."""


_ENDS = 64
"""Most columns of which the changes at the ends of cells are kept for a batch."""

AnyTable: TypeAlias = Table[Container]

if TYPE_CHECKING:
    from skedasis.trees.traversal import TraversalEvaluator

    LeafSums: TypeAlias = BitsetEvaluator | NumpyBitsets | TraversalEvaluator
    """The sums of leaves of one output's trees on a batch of rows; their methods are described at the first."""


@dataclass(eq=False)
class TreeForest:
    """An ensemble of trees, shared by all batches and threads."""

    searched: ClassVar[bool] = False
    """Whether the positions of jumps have to be searched, so that they are asked for only if they are needed."""

    ensemble: Ensemble
    compiled: bool = True
    _held: WeakKeyDictionary[AnyTable, dict[int, ThresholdCodes]] = field(
        default_factory=WeakKeyDictionary
    )
    _outside: WeakKeyDictionary[AnyTable, Bools] = field(default_factory=WeakKeyDictionary)

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the codes of tables, which stay in their process."""
        return {**vars(self), "_held": None, "_outside": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Restore the state, with no codes."""
        vars(self).update(state)
        self._held, self._outside = WeakKeyDictionary(), WeakKeyDictionary()

    @cached_property
    def shape(self) -> TreeLayout:
        """Return all trees in depth-first order."""
        return layout_of(self.ensemble)

    @cached_property
    def parts(self) -> list[TreeLayout]:
        return layouts_by_output(self.ensemble, self.shape)

    @cached_property
    def corners(self) -> list[CornerLeaves]:
        """Return the leaves of each output by cells of two columns."""
        return [CornerLeaves(part) for part in self.parts]

    @property
    def deep(self) -> bool:
        """Return whether trees are too large for sets of rows."""
        return self.shape.most_leaves > MAX_BITSET_LEAVES

    @property
    def batch_rows(self) -> int:
        """Return the recommended number of rows per batch."""
        if self.deep:
            return 16_384
        nodes = max(1, len(self.shape) + int(self.shape.first[-1]))  # a model may have no trees
        # Without compilation, NumPy is called once per depth, which needs many rows to be efficient.
        room = _ROOM if self.compiled else 8 * _ROOM
        return int(np.clip(room // (8 * nodes), 64, 512)) * 64

    def held(self, table: AnyTable) -> dict[int, ThresholdCodes] | None:
        """Return the codes of whole columns of a table as far as they are known; None if they are not to be kept."""
        if 4 * len(table) * len(self.shape.columns) > _HOLD:
            return None
        return self._held.setdefault(table, {})

    def jumps(self, j: int) -> Floats | None:
        """Return the sorted positions of the trees' jumps along a numeric column: just after each of these values."""
        k = self.shape.place(j)
        if k < 0:
            return np.zeros(0)
        tests = self.shape.tests[k]
        if tests.categories is not None:
            return None
        return _rounded(tests.jumps) if tests.single else tests.jumps

    def rows(self, table: AnyTable, j: int, rows: RowIndex | None) -> ThresholdCodes:
        """Return the codes of a column for some rows of a table, of any shape; None means all rows."""
        held = self.held(table)
        if held is not None and not isinstance(rows, slice) and rows is not None:
            if j not in held:
                held[j] = self.read(table, j)
            return held[j].take(rows)
        if isinstance(rows, np.ndarray) and rows.ndim > 1:
            return self.read(table, j, rows.reshape(-1)).reshape(rows.shape)
        if held is not None and isinstance(rows, slice) and j in held:
            return held[j][rows]
        return self.read(table, j, rows)

    def read(self, table: AnyTable, j: int, rows: RowIndex | None = None) -> ThresholdCodes:
        """Return the codes of a column for some rows of a table, all by default, without keeping them."""
        tests: ColumnTests = self.shape.tests[self.shape.place(j)]
        category_codes = self.category_codes(j)
        if category_codes is None:
            return tests.codes(table.column(j, rows))
        codes, values = table.coded(j, rows)
        # The last entry is for missing values, whose code is -1.
        number = np.array([category_codes.get(v, np.nan) for v in values] + [np.nan])
        return tests.codes(number[codes])

    def category_codes(self, j: int) -> dict[Level, float] | None:
        """Return the model's codes of a column's categories, or None if X contains these codes."""
        levels = self.ensemble.levels.get(j)
        return None if levels is None else {value: float(k) for k, value in enumerate(levels)}

    def numbers(self, j: int, values: Floats) -> ThresholdCodes:
        """Return the codes of inserted values of a column, of any shape."""
        category_codes = self.category_codes(j)
        if category_codes is not None:
            flat = [category_codes.get(v, np.nan) for v in values.reshape(-1).tolist()]
            values = np.array(flat, dtype=float).reshape(values.shape)
        return self.shape.tests[self.shape.place(j)].codes(values)

    def own(self, batch: Batch, j: int) -> Mapping[int, ThresholdCodes]:
        """Return a batch's own codes of a column, and of others that are read with it, by column."""
        table = batch.dataset.table
        held = self.held(table)
        # Rows that are repeated, as by a spread, are more than the table has.
        many = not isinstance(batch.rows, slice) and len(batch) >= len(table)
        if j in self.ensemble.levels or (held is not None and (many or j in held)):
            return {j: self.rows(table, j, batch.rows)}
        return {j: self.numbers(j, batch.column(j))}

    def refuses(self, table: AnyTable, rows: RowIndex | None) -> bool:
        """Return whether some rows of a table have a value that the model does not accept; None means all rows."""
        if not self.ensemble.limited:
            return False
        if table not in self._outside:
            self._outside[table] = self._outside_rows(table)
        outside = self._outside[table]
        return bool((outside if rows is None else outside[rows]).any())

    def _outside_rows(self, table: AnyTable) -> Bools:
        """Return which rows of a table have a value in any column that the model does not accept."""
        outside = np.zeros(len(table), bool)
        for j in range(self.ensemble.columns):
            outside |= self.outside_in(table, j)
        return outside

    def outside_in(self, table: AnyTable, j: int) -> Bools:
        """Return which rows of a table have a value in one column that the model does not accept."""
        known = self.category_codes(j)
        if known is None:
            return self.ensemble.outside(table.column(j))
        if self.ensemble.takes_unknown:
            return np.zeros(len(table), bool)
        codes, values = table.coded(j)
        # The last entry is for missing values, whose code is -1.
        return np.array([*(v not in known for v in values), not self.ensemble.takes_missing])[codes]

    def refuses_inserted(self, j: int, values: Floats) -> bool:
        """Return whether the model does not accept some values in a column."""
        known = self.category_codes(j)
        if known is None or self.ensemble.takes_unknown:
            return bool(self.ensemble.outside(values).any())
        return any(v not in known for v in np.unique(values[~np.isnan(values)]).tolist())

    def on(self, batch: Batch) -> TreeRows:
        """Return the ensemble on a batch."""
        return TreeRows(self, batch)


class TreeQuery:
    """Rows with columns replaced: the input of a `TreeModelProxy`, instead of an array."""

    def __init__(self, rows: TreeRows, changes: Mapping[int, Replacement], sets: int) -> None:
        self.rows, self.changes, self.sets = rows, changes, sets

    def __len__(self) -> int:
        return self.sets * self.rows.n

    def sums(self, output: int) -> Floats:
        """Return the sums of one output's leaves, (sets, n)."""
        return self.rows.sums(output, self.changes, self.sets)


class CornerQuery(TreeQuery):
    """Rows with two columns at both ends of their cells, in four sets: the first column changes faster."""

    def __init__(self, rows: TreeRows, cells: tuple[CellsOfColumn, CellsOfColumn]) -> None:
        super().__init__(rows, {}, 4)
        self.cells = cells

    def sums(self, output: int) -> Floats:
        return self.rows.corner_sums(output, self.cells)


class TreeRows:
    """An ensemble on one batch."""

    def __init__(self, forest: TreeForest, batch: Batch) -> None:
        self.forest, self.batch, self.n = forest, batch, len(batch)
        self.table = batch.dataset.table
        self._codes: dict[int, ThresholdCodes] = {}
        self._parts: dict[int, LeafSums] = {}
        self._ends: dict[tuple[int, int, bytes], Ends] = {}

    def own(self) -> TreeQuery:
        """Return the question for the unchanged rows."""
        return TreeQuery(self, {}, 1)

    def swept(self, changes: Mapping[int, Replacement], sets: int) -> TreeQuery:
        """Return the question for the rows with columns replaced."""
        return TreeQuery(self, changes, sets)

    def corners(
        self, columns: tuple[int, int], nodes: tuple[Floats, Floats], homes: tuple[Ints, Ints]
    ) -> CornerQuery | None:
        """Return the question for both ends of the rows' cells in two columns; None if these have to be replaced."""
        forest, cells = self.forest, list[CellsOfColumn]()
        if forest.deep or not forest.compiled or not forest.corners[0].fixed:
            return None
        for j, edges, home in zip(columns, nodes, homes, strict=True):
            k = forest.shape.place(j)
            if k < 0 or not CornerLeaves.ordered(forest.shape.tests[k]):
                return None
            cells.append(CellsOfColumn(k, forest.numbers(j, edges), home))
        return CornerQuery(self, (cells[0], cells[1]))

    def codes(self, j: int) -> ThresholdCodes:
        """Return the rows' codes of a column, (n,)."""
        if j not in self._codes:
            self._codes.update(self.forest.own(self.batch, j))
        return self._codes[j]

    def some(self, rows: Ints) -> TreeRows:
        """Return the ensemble on a subset of the rows."""
        part = TreeRows(self.forest, self.batch.take(rows))
        part._codes = {j: codes[rows] for j, codes in self._codes.items()}
        return part

    @cached_property
    def passing(self) -> Words:
        """Return the set of rows that pass each test, (tests, words)."""
        shape = self.forest.shape
        row_sets = pack_tests if self.forest.compiled else pack_tests_numpy
        out = [row_sets(t, self.codes(j)) for j, t in zip(shape.columns, shape.tests, strict=True)]
        return np.concatenate(out) if out else np.zeros((0, -(-self.n // 64)), np.uint64)

    def part(self, output: int) -> LeafSums:
        """Return the evaluator of one output's trees on the rows."""
        if output not in self._parts:
            shape = self.forest.parts[output]
            same_trees = self.forest.shape.value.ndim == 2 and self._parts
            if same_trees:
                self._parts[output] = next(iter(self._parts.values())).like(shape)
            else:
                self._parts[output] = self._evaluator(shape)
        return self._parts[output]

    def _evaluator(self, shape: TreeLayout) -> LeafSums:
        if not self.forest.compiled:
            return NumpyBitsets(shape, self.n, self.passing)
        if self.forest.deep:
            from skedasis.trees.traversal import TraversalEvaluator

            codes = [self.codes(j) for j in shape.columns]
            return TraversalEvaluator(
                shape, self.n, np.array(codes, np.int32).reshape(len(codes), self.n)
            )
        return BitsetEvaluator(shape, self.n, self.passing)

    def raw(self, question: TreeQuery) -> Floats:
        """Return the sums of all outputs, (rows of the question, outputs)."""
        outputs = len(self.forest.parts)
        out = np.empty((len(question), outputs))
        base = self.forest.ensemble.base
        for k in range(outputs):
            out[:, k] = question.sums(k).reshape(-1)
        out += base
        return out

    def sums(self, output: int, changes: Mapping[int, Replacement], sets: int) -> Floats:
        """Return the sums of one output's leaves, (sets, n)."""
        part, place = self.part(output), self.forest.shape.place
        codes = {place(j): self.coded(j, v) for j, v in changes.items() if place(j) >= 0}
        if not codes:
            return np.broadcast_to(part.own(), (sets, self.n))
        points = self._grid(output, codes, sets) if part.n > 1 else None
        if points is not None:
            return part.curves(points)
        if len(codes) == 1:
            return _replace_one(part, *next(iter(codes.items())))
        return _replace_several(part, codes, sets)

    def totals(self, output: int, changes: Mapping[int, Replacement], sets: int) -> Floats | None:
        """Return the totals of `sums` over the rows, (sets,); None if the sets are no points of a grid."""
        part, place = self.part(output), self.forest.shape.place
        codes = {place(j): self.coded(j, v) for j, v in changes.items() if place(j) >= 0}
        if not codes:
            return np.full(sets, part.total())
        points = self._grid(output, codes, sets)
        return None if points is None else part.totals(points)

    def _grid(
        self, output: int, codes: Mapping[int, ThresholdCodes], sets: int
    ) -> dict[int, ThresholdCodes] | None:
        """Return the points of each column if the sets are all combinations of these, the last column's fastest.

        None if they are not, or if a set has different codes in different rows.
        """
        if any(own.shape[1] > 1 for own in codes.values()):
            return None
        flat = {k: np.ascontiguousarray(own[:, 0]) for k, own in codes.items()}
        points: dict[int, ThresholdCodes] = {}
        block = sets
        for k, own in flat.items():
            # Each point is repeated in a block, whose length divides the distances between changes.
            changes = np.flatnonzero(np.diff(own[:block])) + 1
            is_last = len(points) == len(flat) - 1
            step = 1 if is_last else int(np.gcd.reduce(np.append(changes, block)))
            points[k], block = np.ascontiguousarray(own[:block:step]), step
        grid = np.meshgrid(*points.values(), indexing="ij")
        same = all(
            np.array_equal(g.ravel(), own) for g, own in zip(grid, flat.values(), strict=True)
        )
        return points if same and self.forest.parts[output].has_corners(points) else None

    @cached_property
    def _every_code(self) -> ThresholdCodes:
        """Return the codes of all tested columns, (n, columns)."""
        return np.stack([self.codes(j) for j in self.forest.shape.columns], axis=1)

    def corner_sums(self, output: int, cells: tuple[CellsOfColumn, CellsOfColumn]) -> Floats:
        """Return the sums of one output's leaves with two columns at both ends of the rows' cells, (4, n)."""
        ends = self._ends_of(output, cells[0]), self._ends_of(output, cells[1])
        own = self.part(output).own()
        return self.forest.corners[output].sums(self._every_code, own, cells, ends)

    def _ends_of(self, output: int, cells: CellsOfColumn) -> Ends:
        """Return the changes of the sums at both ends of the rows' cells; every pair with the column needs them."""
        key = output, cells.k, cells.codes.tobytes()
        if key not in self._ends:
            if len(self._ends) >= _ENDS:
                self._ends.clear()
            part, codes, home = self.part(output), cells.codes, cells.home
            low, high = codes[:-1].take(home), codes[1:].take(home)
            self._ends[key] = part.changed(cells.k, low), part.changed(cells.k, high)
        return self._ends[key]

    def coded(self, j: int, values: Replacement) -> ThresholdCodes:
        """Return the codes of the replaced values of a column, (sets, n) or (sets, 1)."""
        if isinstance(values, DonorRows):
            return self.forest.rows(self.table, j, values.rows)
        if isinstance(values, LevelReplacement):
            return self.forest.rows(self.table, j, values.rows)[values.codes]
        if isinstance(values, np.ndarray):
            return self.forest.numbers(j, values)
        # In one array, because a pipeline's values are transformed, at a cost for each call.
        every = np.stack([np.broadcast_to(np.asarray(v, dtype=float), (self.n,)) for v in values])
        return self.forest.numbers(j, every)


def _rounded(thresholds: Floats) -> Floats:
    """Return the largest float64 that are rounded to a float32 not greater than the thresholds."""
    with np.errstate(over="ignore"):
        single = thresholds.astype(np.float32)
        single = np.where(single > thresholds, np.nextafter(single, np.float32(-np.inf)), single)
        behind = np.nextafter(single, np.float32(np.inf))
        # Numbers are rounded to infinity as if the next power of two were representable.
        below, above = (np.clip(x.astype(float), -_BEYOND, _BEYOND) for x in (single, behind))
        middle = (below + above) / 2
        # The midpoint of two float32 is rounded to the even one.
        rounds_down = middle.astype(np.float32) <= single
    return np.unique(np.where(rounds_down, middle, np.nextafter(middle, -np.inf)))


def _replace_one(part: LeafSums, k: int, codes: ThresholdCodes) -> Floats:
    """Return the sums with one column replaced, (sets, n)."""
    if codes.shape[1] == 1 and part.n > 1:
        return part.curves({k: np.ascontiguousarray(codes[:, 0])})
    return part.swept(k, codes)


def _replace_several(part: LeafSums, codes: Mapping[int, ThresholdCodes], sets: int) -> Floats:
    """Return the sums with several columns replaced, (sets, n)."""
    out = np.empty((sets, part.n))
    inner = max(codes, key=lambda k: len({row.tobytes() for row in codes[k]}))
    outer = [k for k in codes if k != inner]
    groups: dict[bytes, list[int]] = {}
    for s in range(sets):
        key = b"|".join(codes[k][s % len(codes[k])].tobytes() for k in outer)
        groups.setdefault(key, []).append(s)
    for group in groups.values():
        fixed = {k: _full(codes[k][group[0] % len(codes[k])], part.n) for k in outer}
        replaced = part.replaced(fixed)
        inner_codes = codes[inner][[s % len(codes[inner]) for s in group]]
        out[group] = _replace_one(replaced, inner, inner_codes)
    return out


def _full(codes: ThresholdCodes, n: int) -> ThresholdCodes:
    return np.ascontiguousarray(np.broadcast_to(codes, (n,)))
