"""Passes over data that do not fit in memory: what each computes of a range of rows, and how ranges merge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from skedasis._types import Bools, Floats, Ints, Level
from skedasis.data.arrow import ArrowTable
from skedasis.data.categories import LevelColumn, typed_level
from skedasis.data.column_stats import column_moments
from skedasis.data.dataset import Dataset, add_each
from skedasis.data.factorize import Factorized, dense_codes, equality_key
from skedasis.data.features import Feature
from skedasis.data.row_rules import KeptRows
from skedasis.errors import DataError
from skedasis.stats.heterogeneity_score import draw_keys
from skedasis.stats.integer_weights import integer_sums
from skedasis.stats.moments import STATS_LEAF, MergeTree, Moments
from skedasis.stream.chunks import ChunkReader
from skedasis.stream.columns import AnyTally, ColumnPositions, Search, TableRequest
from skedasis.stream.order_statistics import ColumnCounts
from skedasis.stream.parquet import ParquetData


# ------------------------------------------------------------------------------------ times, categories
@dataclass(eq=False)
class ScanState:
    """The ranges of columns of times, and the values of dictionary columns."""

    ticks: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    values: dict[str, dict[Level, tuple[int, int]]] = field(default_factory=dict)
    orders: dict[str, dict[tuple[Level, ...], int]] = field(default_factory=dict)

    def put_ticks(self, j: int, found: tuple[int, int, int] | None) -> None:
        """Add the range of some rows."""
        known = self.ticks.get(j)
        if found is None:
            return
        if known is not None:
            low, high = min(known[0], found[0]), max(known[1], found[1])
            found = low, high, int(np.gcd(known[2], found[2]))
        self.ticks[j] = found

    def put_values(self, name: str, found: Mapping[Level, tuple[int, int]]) -> None:
        """Add the values of some rows."""
        known = self.values.setdefault(name, {})
        for value, place in found.items():
            known[value] = min(known.get(value, place), place)

    def put_order(self, name: str, values: tuple[Level, ...], row: int) -> None:
        """Add the dictionary of some rows, of which the first has this number."""
        known = self.orders.setdefault(name, {})
        known[values] = min(known.get(values, row), row)

    def merge(self, other: ScanState) -> None:
        """Add another range."""
        for j, found in other.ticks.items():
            self.put_ticks(j, found)
        for name, values in other.values.items():
            self.put_values(name, values)
        for name, orders in other.orders.items():
            for values, row in orders.items():
                self.put_order(name, values, row)

    def ordered(
        self, name: str, declared: Sequence[Level] | None, source: ParquetData
    ) -> list[Level]:
        """Return the values of a dictionary column: of ordered categories in their order, else as they come."""
        orders = self.orders.get(name)
        if orders is None:
            known = self.values.get(name, {})
            return sorted(known, key=known.__getitem__)
        merged = merged_order(sorted(orders, key=orders.__getitem__))
        if not isinstance(merged, Undecided):
            return merged
        values = list(dict.fromkeys(value for order in orders for value in order))
        if declared is not None:
            return [v for v in declared if v in values] + [v for v in values if v not in declared]
        stated = [f"{_shown_order(o)} in {source.where_row(orders[o])}" for o in merged.orders]
        unknown = (
            ""
            if merged.pair is None
            else (f"; neither states whether {merged.pair[0]!r} or {merged.pair[1]!r} is larger")
        )
        raise DataError(
            f"column {name!r}",
            f"ordered categories with different orders: {', '.join(stated)}{unknown}",
            "dictionaries that state one order of all categories",
            "Write the files with one dictionary, or declare the order: "
            f'schema={{{name!r}: sd.Feature({name!r}, "ordinal", levels=[...])}}',
        )


@dataclass(frozen=True)
class Undecided:
    """Why orders do not make one order."""

    orders: list[tuple[Level, ...]]
    pair: tuple[Level, Level] | None = None


def merged_order(orders: Sequence[tuple[Level, ...]]) -> list[Level] | Undecided:
    """Return the only order of all values that agrees with several orders of some of them."""
    merged, pair = _sorted(orders)
    if merged is None:
        return Undecided(_contradiction(orders))
    if pair is not None:
        some = [next(o for o in orders if value in o) for value in pair]
        return Undecided(list(dict.fromkeys(some)), pair)
    return merged


def _sorted(
    orders: Sequence[tuple[Level, ...]],
) -> tuple[list[Level] | None, tuple[Level, Level] | None]:
    """Return all values in an order that agrees with several, and two values whose order these do not imply, if any."""
    sorter: TopologicalSorter[Level] = TopologicalSorter()
    for order in orders:
        for value in order:
            sorter.add(value)
        for low, high in pairwise(order):
            sorter.add(high, low)
    try:
        merged = [*sorter.static_order()]
    except CycleError:
        return None, None
    stated = {pair for order in orders for pair in pairwise(order)}
    # The order is the only one if some order states each of its steps.
    return merged, next((pair for pair in pairwise(merged) if pair not in stated), None)


def _contradiction(orders: Sequence[tuple[Level, ...]]) -> list[tuple[Level, ...]]:
    """Return orders that contradict each other, without those that are not needed for it."""
    left = list(orders)
    for order in orders:
        others = [o for o in left if o != order]
        if _sorted(others)[0] is None:
            left = others
    return left


def _shown_order(values: Sequence[Level]) -> str:
    """Return an order as text: its first values."""
    return " < ".join([repr(v) for v in values[:6]] + ["…"] * (len(values) > 6))


@dataclass(frozen=True, eq=False)
class ScanPass:
    """The pass over columns of times and dictionary columns, before the first pass: it fixes axes and categories."""

    reader: ChunkReader
    times: tuple[int, ...]
    categories: tuple[str, ...]

    def state(self) -> ScanState:
        return ScanState()

    def add(self, state: ScanState, first: int, rows: ArrowTable) -> None:
        from skedasis.data.frames import FrameTable

        for name in self.categories:
            column: Any = rows.column(name)
            if self.reader.types.field(name).type.ordered:
                at = first
                for part in column.chunks:
                    if len(part):
                        state.put_order(name, tuple(part.dictionary.to_pylist()), at)
                    at += len(part)
                continue
            found: dict[Level, tuple[int, int]] = {}
            at = first
            for part in column.chunks:
                for index, value in enumerate(part.dictionary.to_pylist()):
                    found.setdefault(value, (at, index))
                at += len(part)
            state.put_values(name, found)
        if self.times:
            table = self.reader.dataset(rows, first).table
            if isinstance(table, FrameTable):
                for j in self.times:
                    state.put_ticks(j, table.tick_range(j))

    def merge(self, state: ScanState, other: ScanState) -> None:
        state.merge(other)


# ------------------------------------------------------------------------------------ first pass
@dataclass(eq=False)
class NumericState:
    """What the first pass knows of a numeric feature."""

    counts: ColumnCounts
    moments: MergeTree[Moments]
    ends: tuple[int, int] | None = None

    def add(self, chunk: Dataset, j: int, first: int) -> None:
        """Add the rows of a chunk, which begins at the border of a leaf."""
        ends = chunk.table.integer_ends(j, chunk.rows)
        self.ends = _union(self.ends, ends)
        x = chunk.floats(j)
        self.counts.add(x, chunk.weights)
        for start in range(0, len(x), STATS_LEAF):
            part = x[start : start + STATS_LEAF]
            weights = None if chunk.weights is None else chunk.weights[start : start + STATS_LEAF]
            missing = np.isnan(part)
            if missing.any():
                part, weights = part[~missing], None if weights is None else weights[~missing]
            if len(part) and np.isfinite(part).all():
                self.moments.put((first + start) // STATS_LEAF, column_moments(part, weights))

    def merge(self, other: NumericState) -> None:
        """Add the rows of another range."""
        self.counts = self.counts.merge(other.counts)
        self.moments.merge(other.moments)
        self.ends = _union(self.ends, other.ends)


def _union(one: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int] | None:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


LevelKey = tuple[object, ...] | None
"""Equality keys of the values of a feature's columns; None where one is missing."""


@dataclass(eq=False)
class LevelState:
    """What the first pass knows of a categorical feature."""

    limit: int
    levels: dict[LevelKey, list[int]] = field(default_factory=dict)
    odd: int | None = None

    @property
    def overflown(self) -> bool:
        """Return whether there are more levels than the limit."""
        return len(self.levels) > self.limit

    def put(self, key: LevelKey, first: int, rows: int, weight: int) -> None:
        """Add rows of a level, of which the first has this number."""
        known = self.levels.get(key)
        if known is None:
            self.levels[key] = [first, rows, weight]
        else:
            known[:] = min(known[0], first), known[1] + rows, known[2] + weight

    def add(self, chunk: Dataset, feature: Feature, first: int, weights: Ints | None) -> None:
        """Add the rows of a chunk."""
        if self.overflown:
            return
        columns = feature.members or (feature.position,)
        parts = [chunk.coded(j) for j in columns]
        missing = np.any([part.codes < 0 for part in parts], axis=0)
        codes, rows = np.zeros(len(missing), dtype=np.int64), np.zeros(0, dtype=np.int64)
        for part in parts:
            codes, rows = dense_codes(codes * max(len(part.values), 1) + part.codes, ~missing)
        count = np.bincount(codes + 1, minlength=len(rows) + 1)
        total = count if weights is None else integer_sums(codes + 1, weights, len(rows) + 1)
        dtypes = [chunk.features[j].dtype for j in columns]
        if count[0]:
            self.put(None, first + int(np.argmax(missing)), int(count[0]), int(total[0]))
            if feature.members:
                self._put_odd(parts, missing, first)
        for code, row in enumerate(rows.tolist()):
            values: list[Level] = [part.values[part.codes[row]] for part in parts]
            key = tuple(
                equality_key(typed_level(v, d)) for v, d in zip(values, dtypes, strict=True)
            )
            self.put(key, first + row, int(count[code + 1]), int(total[code + 1]))

    def _put_odd(self, parts: Sequence[Factorized], missing: Bools, first: int) -> None:
        """Note the first row with a missing value and one that is neither 0 nor 1."""
        for part in parts:
            other = [code for code, value in enumerate(part.values) if value not in {0, 1}]
            found = np.flatnonzero(missing & np.isin(part.codes, other))
            if len(found):
                row = first + int(found[0])
                self.odd = row if self.odd is None else min(self.odd, row)

    def merge(self, other: LevelState) -> None:
        """Add the rows of another range."""
        if other.odd is not None:
            self.odd = other.odd if self.odd is None else min(self.odd, other.odd)
        for key, (first, rows, weight) in other.levels.items():
            self.put(key, first, rows, weight)


NumberedRows: TypeAlias = list[tuple[Ints, ArrowTable]]
"""Numbers of rows, and the rows."""


def in_order(parts: NumberedRows) -> tuple[Ints, ArrowTable]:
    """Return the numbers of gathered rows, ascending, and the rows, each of them once."""
    import pyarrow as pa

    numbers = np.concatenate([numbers for numbers, _ in parts])
    rows = pa.concat_tables([rows for _, rows in parts]).combine_chunks()
    numbers, index = np.unique(numbers, return_index=True)
    return numbers, rows.take(index)


@dataclass(eq=False)
class RowState:
    """The rows that are gathered: those with the smallest keys, and those with given numbers."""

    most: int
    row_id: str | None = None
    keys: Floats = field(default_factory=lambda: np.zeros(0))
    numbers: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    wanted: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    tables: NumberedRows = field(default_factory=list[tuple[Ints, ArrowTable]])

    def add(
        self, rows: ArrowTable, first: int, keys: Floats, limit: float, wanted: Iterable[int]
    ) -> None:
        """Add the rows of a chunk."""
        small = np.flatnonzero(keys <= limit)
        if len(small) > self.most:
            small = np.sort(small[np.argpartition(keys[small], self.most - 1)[: self.most]])
        given = np.array(sorted(wanted), dtype=np.int64)
        given = given[(given >= first) & (given < first + rows.num_rows)]
        self.keys = np.concatenate([self.keys, keys[small]])
        self.numbers = np.concatenate([self.numbers, small + first])
        self.wanted = np.union1d(self.wanted, given)
        both = np.union1d(small, given - first)
        if len(both):
            self.tables.append((both + first, rows.take(both)))
        if len(self.keys) > 4 * self.most + 10_000:
            self._prune()

    def _prune(self) -> None:
        """Forget the rows that are not among the smallest."""
        if len(self.keys) > self.most:
            # Rows with equal keys: the first ones, so that the rows do not depend on the ranges.
            order = np.lexsort((self.numbers, self.keys))[: self.most]
            self.keys, self.numbers = self.keys[order], self.numbers[order]
        kept = np.union1d(self.numbers, self.wanted)
        tables: NumberedRows = []
        for numbers, rows in self.tables:
            there = np.isin(numbers, kept)
            if there.all():
                tables.append((numbers, rows))
            elif there.any():
                tables.append((numbers[there], rows.take(np.flatnonzero(there))))
        self.tables = tables

    def merge(self, other: RowState) -> None:
        """Add the rows of another range."""
        self.keys = np.concatenate([self.keys, other.keys])
        self.numbers = np.concatenate([self.numbers, other.numbers])
        self.wanted = np.union1d(self.wanted, other.wanted)
        self.tables += other.tables
        if len(self.keys) > 4 * self.most + 10_000:
            self._prune()

    def result(self) -> tuple[Ints, Ints, ArrowTable]:
        """Return the numbers of the gathered rows, ascending; which of them are drawn; and the rows."""
        self._prune()
        if self.row_id is not None and len(self.numbers) < self.most:
            raise self._repeated()  # unique identifiers have hashes of all sizes
        numbers, rows = in_order(self.tables)
        drawn = np.flatnonzero(np.isin(numbers, self.numbers))
        if self.row_id is not None:
            ids = rows.column(self.row_id).to_numpy(zero_copy_only=False)[drawn]
            if len(np.unique(ids)) < len(ids):
                raise self._repeated()
        return numbers, drawn, rows

    def _repeated(self) -> DataError:
        return DataError(
            f"row_id={self.row_id!r}",
            "identifiers that several rows have",
            "one number or text for each row",
            "Leave row_id out, so that rows are identified by their numbers",
        )


@dataclass(eq=False)
class FirstState:
    """The state of the first pass over a range of rows."""

    numeric: dict[int, NumericState]
    levels: dict[ColumnPositions, LevelState]
    rows: RowState


@dataclass(frozen=True, eq=False)
class FirstPass:
    """What the first pass computes.

    `numeric` are the positions of the numeric features that are counted, each with a value near the middle of the
    column, and `leveled` the categorical features whose levels are; those of a feature with more than `level_limit`
    are not counted to the end. `quantum` is the power of two of which weights are taken as multiples; None without
    weights. So many rows are drawn as `draw` says, those with the smallest keys, none above `limit`; keys follow from
    the `seed`, and from the weights if `by_weight`. `places` are the numbers of other rows that are gathered.
    """

    reader: ChunkReader
    numeric: Mapping[int, float]
    leveled: tuple[Feature, ...]
    level_limit: int
    quantum: float | None
    seed: int
    draw: int
    limit: float
    places: Ints
    by_weight: bool

    def state(self) -> FirstState:
        return FirstState(
            {
                j: NumericState(ColumnCounts(pivot, self.quantum), MergeTree(Moments.merge))
                for j, pivot in self.numeric.items()
            },
            {f.columns: LevelState(self.level_limit) for f in self.leveled},
            RowState(min(self.draw, self.reader.source.n_rows), self.reader.source.row_id_name),
        )

    def add(self, state: FirstState, first: int, rows: ArrowTable) -> None:
        chunk = self.reader.dataset(rows, first)
        examples: set[int] = set()
        integers = chunk.integer_weights(self.quantum)
        for j, numeric in state.numeric.items():
            numeric.add(chunk, j, first)
        for feature in self.leveled:
            known = state.levels[feature.columns]
            before = len(known.levels)
            known.add(chunk, feature, first, integers)
            if len(known.levels) > before:
                examples |= {row for row, _, _ in known.levels.values() if row >= first}
            if known.odd is not None and known.odd >= first:
                examples.add(known.odd)
        weights = chunk.weights if self.by_weight else None
        keys = draw_keys(chunk.identifiers, weights, self.seed)
        state.rows.add(rows, first, keys, self.limit, examples | set(self.places.tolist()))

    def merge(self, state: FirstState, other: FirstState) -> None:
        for j, numeric in state.numeric.items():
            numeric.merge(other.numeric[j])
        for columns, levels in state.levels.items():
            levels.merge(other.levels[columns])
        state.rows.merge(other.rows)


# ------------------------------------------------------------------------------------ later passes
@dataclass(frozen=True, eq=False)
class GatherPass:
    """A pass that reads the rows that are kept by a rule, and those with given numbers."""

    reader: ChunkReader
    rule: KeptRows | None
    wanted: Ints

    def state(self) -> NumberedRows:
        return []

    def add(self, state: NumberedRows, first: int, rows: ArrowTable) -> None:
        n = rows.num_rows
        some = np.arange(n)
        if self.rule is not None:
            kept = self.rule.mask(self.reader.dataset(rows, first).whole)
            given = self.wanted[np.searchsorted(self.wanted, first) :]
            given = given[: np.searchsorted(given, first + n)] - first
            some = np.union1d(np.flatnonzero(kept), given)
        state.append((some + first, rows.take(some)))

    def merge(self, state: NumberedRows, other: NumberedRows) -> None:
        state += other


@dataclass(eq=False)
class Question:
    """A search among the values of a column, in the rows that have a level of another one or in all."""

    column: int
    search: Search[AnyTally, object]
    within: LevelColumn | None = None


class AnswerPass:
    """A pass of searches."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.questions = questions

    def state(self) -> list[AnyTally]:
        return [question.search.tally() for question in self.questions]

    def add(self, state: list[AnyTally], first: int, chunk: Dataset) -> None:
        read: dict[int, Floats] = {}
        for question, tally in zip(self.questions, state, strict=True):
            if question.column not in read:
                read[question.column] = chunk.floats(question.column)
            x, weights = read[question.column], chunk.weights
            if question.within is not None:
                there = chunk.level_codes(question.within) >= 0
                x, weights = x[there], None if weights is None else weights[there]
            question.search.add(tally, x, weights)

    def merge(self, state: list[AnyTally], other: list[AnyTally]) -> None:
        for own, more in zip(state, other, strict=True):
            own.merge(more)


@dataclass(frozen=True, eq=False)
class JointTable:
    """A table to count: the levels of a feature by the cells of another one."""

    request: TableRequest
    column: LevelColumn
    other: LevelColumn | Floats
    position: int

    @property
    def cells(self) -> int:
        """Return the number of cells of the other feature."""
        if isinstance(self.other, LevelColumn):
            return len(self.other.levels)
        return len(self.other) + 1

    def locate(self, chunk: Dataset) -> Ints:
        """Return the cell of each row, -1 for missing values."""
        if isinstance(self.other, LevelColumn):
            return chunk.level_codes(self.other)
        x = chunk.floats(self.position)
        # A value at a point belongs to the cell before it: x <= point.
        cell = np.searchsorted(self.other, x, side="left")
        return np.where(np.isnan(x), -1, cell)


@dataclass(frozen=True, eq=False)
class JointPass:
    """A pass that counts the levels of categorical features by the cells of other features."""

    tables: Sequence[JointTable]
    quantum: float | None

    def state(self) -> list[Ints]:
        return [np.zeros((len(t.column.levels), t.cells), dtype=np.int64) for t in self.tables]

    def add(self, state: list[Ints], first: int, chunk: Dataset) -> None:
        weights = chunk.integer_weights(self.quantum)
        cells: dict[TableRequest, Ints] = {}
        for table, counted in zip(self.tables, state, strict=True):
            # Where rows without a level do not count, the cells of the other feature depend on both.
            if table.request not in cells:
                cells[table.request] = table.locate(chunk)
            codes, cell = chunk.level_codes(table.column), cells[table.request]
            there = (codes >= 0) & (cell >= 0)
            index = (codes * table.cells + cell)[there]
            if weights is None:
                sums = np.bincount(index, minlength=counted.size)
            else:
                sums = integer_sums(index, weights[there], counted.size)
            np.add(counted, sums.reshape(counted.shape), out=counted)

    def merge(self, state: list[Ints], other: list[Ints]) -> None:
        add_each(state, other)
