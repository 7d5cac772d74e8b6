"""Data sets that do not fit in memory: known by summaries of their columns, and read again in chunks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, TypeVar

import numpy as np

from skedasis._types import Floats, Ints, JsonValue
from skedasis.data.arrow import ArrowTable
from skedasis.data.categories import (
    MAX_LEVELS,
    LevelColumn,
    TooManyLevels,
    check_level_count,
    keep_top,
    level_column,
)
from skedasis.data.category_order import (
    categorical_distances,
    filled,
    numeric_distances,
    similarity_order,
    sum_of_distances,
)
from skedasis.data.column_stats import Column, NotYetKnown, column_moments
from skedasis.data.dataset import (
    Batch,
    BatchPass,
    Dataset,
    Pass,
    StateT,
    even_places,
    needs_memory,
)
from skedasis.data.factorize import Factorized
from skedasis.data.features import Feature, NoValues
from skedasis.data.row_rules import HashedRows, KeptRows, hashed_rows
from skedasis.errors import DataError
from skedasis.stats.heterogeneity_score import score_rows
from skedasis.stream.chunks import ChunkReader
from skedasis.stream.columns import (
    MAX_DISTINCT,
    ColumnPositions,
    CountedColumn,
    Once,
    Questions,
    TableRequest,
    same,
)
from skedasis.stream.order_statistics import ColumnCounts
from skedasis.stream.passes import (
    AnswerPass,
    GatherPass,
    JointPass,
    JointTable,
    Question,
    in_order,
)
from skedasis.stream.running import CHUNK_ROWS, PassRunner

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, eq=False)
class LevelCounts:
    """The levels of a categorical feature in data beyond memory, in the order of their first rows.

    `rows`, (L,), are an example of each: the index of a row in the table of the data set. `count`, (L,), is 0 for an
    example that only tells the kind of a group, and `weight`, (L,), that of all rows of the level.
    """

    rows: Ints
    count: Ints
    weight: Floats


@dataclass(frozen=True, eq=False)
class StreamedLevels(LevelColumn):
    """The levels of a categorical feature in data beyond memory. It has no codes: chunks find those of their rows."""

    streamed: StreamedDataset = field(repr=False, kw_only=True)

    def __len__(self) -> int:
        return int(self.count.sum())

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the data set, so that plans are small."""
        return {k: v for k, v in vars(self).items() if k not in {"dataset", "streamed"}}

    def of_rows(self, dataset: object) -> bool:
        """Return False: there are no codes."""
        return False

    def in_table(self) -> LevelColumn:
        """Return the levels with an example of each in the table of the rows at hand, not in that of a chunk."""
        return replace(
            self, levels=replace(self.levels, rows=self.streamed.examples[self.levels.rows])
        )


@dataclass(frozen=True, eq=False)
class StreamedDataset(Dataset):
    """A data set that does not fit in memory. Its table has the rows at hand: drawn, examples of levels, at even steps.

    Parameters
    ----------
    reader : ChunkReader
        Reads rows of the source as data sets in memory.
    passes : PassRunner
        Runs passes over the source.
    row_numbers : ndarray of int, shape (T,)
        The number in the source of each row of the table, ascending.
    drawn : ndarray of int
        The rows of the table with the smallest hashes, ascending.
    columns : mapping of int to CountedColumn or DataError
        The numeric features by the position of their column, or why one cannot be explained.
    level_counts : mapping of tuple of int to LevelCounts
        The levels of categorical features, by the positions of their columns.
    examples : ndarray of int
        The rows of the table that are examples of levels, ascending. Tables of chunks begin with these rows, or with
        the drawn ones if these are donors.
    leveled : mapping of tuple of int to Feature
        The categorical features, by the positions of their columns.
    quantum : float, optional
        The power of two of which weights are taken as multiples; None without weights.
    tables : Questions
        Joint counts of a categorical and another feature.
    within : Questions
        Numeric features in the rows that have a level of a categorical one; None for one without a value there.
    kept : list of int
        How many rows results keep, noted by each pass that calls the model.
    kept_features : bool
        Whether all features of the kept rows are read into memory after the pass.
    """

    reader: ChunkReader = field(kw_only=True)
    passes: PassRunner = field(kw_only=True)
    row_numbers: Ints = field(kw_only=True)
    drawn: Ints = field(kw_only=True)
    columns: Mapping[int, CountedColumn | DataError] = field(kw_only=True)
    level_counts: Mapping[ColumnPositions, LevelCounts] = field(kw_only=True)
    examples: Ints = field(kw_only=True)
    leveled: Mapping[ColumnPositions, Feature] = field(kw_only=True)
    quantum: float | None = field(kw_only=True)
    tables: Questions[TableRequest, Ints] = field(
        default_factory=Questions[TableRequest, Ints], kw_only=True
    )
    within: Questions[TableRequest, CountedColumn | None] = field(
        default_factory=Questions[TableRequest, "CountedColumn | None"], kw_only=True
    )
    kept: list[int] = field(default_factory=list[int], kw_only=True)
    kept_features: bool = field(default=False, kw_only=True)

    def __len__(self) -> int:
        return self.reader.source.n_rows

    @property
    def total_weight(self) -> float:
        return float(self.reader.source.total_weight)

    @property
    def weight_quantum(self) -> float | None:
        """Return the power of two of which weights are taken as multiples; None without weights."""
        return self.quantum

    @property
    def provenance(self) -> dict[str, JsonValue]:
        """Return the source, and how often it was read."""
        # By a rule for identifiers, how many rows are kept is known when they have been read.
        kept: dict[str, JsonValue] = {"rows_kept": max(self.kept)} if self.kept else {}
        return {"source": repr(self.reader.source), "passes": len(self.passes.made), **kept}

    @property
    def drawable(self) -> Dataset:
        """Return the rows with the smallest hashes, as a data set in memory."""
        return self.in_memory(self.drawn)

    @property
    def kept_row_bytes(self) -> int:
        return 16 * len(self.features) if self.kept_features else 0

    # -- passes
    def once_known(self, work: Callable[[], ResultT]) -> ResultT:
        while True:
            try:
                return work()
            except NotYetKnown:
                _answer(self)

    def before_passes(self, work: Callable[[], object]) -> None:
        """Return None: not all rows are at hand."""

    def fold(self, work: Pass[StateT, Dataset], text: str, record: str) -> StateT:
        """Return the state of all rows, after a pass over the data."""
        return self.passes.run(_OfChunks(self.reader, work), text, record)

    def fold_batches(
        self,
        work: BatchPass[StateT],
        size: int,
        memory: int,
        n_jobs: int,
        begin: Callable[[], object] | None,
        stop: Callable[[], object],
    ) -> Generator[tuple[int, StateT]]:
        # Read at a time: a power of two of leaves, in a quarter of the memory for batches.
        room = memory // (4 * 4 * 8 * max(len(self.features), 1))
        leaves = max(1, min(room, CHUNK_ROWS) // size)
        rows = size << (leaves.bit_length() - 1)
        chunks = _OfChunks(self.reader, _OfBatches(work, size))
        yield from self.passes.each(chunks, rows, begin, stop)
        self.passes.made.append("model")

    # -- rows at hand
    def rows_to_keep(self, kept: int, seed: int) -> HashedRows | None:
        numbered = self.reader.source.row_id_name is None
        n = len(self)
        return None if kept >= n else hashed_rows(n, kept, seed, numbered=numbered)

    def note_kept(self, rows: int) -> None:
        self.kept.append(rows)

    def kept_rows(self, rule: KeptRows | None) -> Dataset:
        """Return the rows that are kept by a rule, and those that are drawn, as a data set in memory."""
        work = GatherPass(self.reader, rule, self.row_numbers[self.drawn])
        found = in_order(self.passes.run(work, "Reading kept rows", "kept rows"))
        return self.reader.gathered(*found, sampled=True)

    def rows_for_pairs(self, most: int | None, seed: int) -> Dataset:
        """Return the rows with the smallest hashes as a data set in memory."""
        if most is None:
            raise needs_memory("all rows for H² (max_rows=None)")
        drawn = self.drawable
        rows = score_rows(drawn.identifiers, drawn.weights, most, seed)
        order = np.argsort(rows.rows)
        part = drawn.subset(rows.rows[order])
        # Rows that were drawn by their weights count once.
        return replace(part, weights=None if rows.weights is None else rows.weights[order])

    def donors_for_chunks(self) -> Dataset:
        """Return the rows that stand before those of each chunk."""
        return self.drawable

    def range_of(self, j: int) -> None:
        """Return None: the table has some of the rows only."""

    def in_memory(self, index: Ints) -> Dataset:
        """Return some rows of the table as a data set."""
        return Dataset(
            self.table,
            self.features,
            None if self.y is None else self.y[index],
            None if self.weights is None else self.weights[index],
            index,
            self.library,
            targets=None if self.targets is None else self.targets[index],
            keys=None if self.keys is None else self.keys[index],
            sampled=True,
            row_numbers=self.row_numbers,
            sampling_weights=self.sampling_weights,
            model_tables=self.model_tables,
        )

    def subset(self, places: Ints) -> Dataset:
        """Return some of the rows at hand as a data set in memory."""
        numbers = self.row_numbers
        index = np.minimum(np.searchsorted(numbers, places), len(numbers) - 1)
        if not np.array_equal(numbers[index], places):
            raise needs_memory("all rows at the same time")
        return self.in_memory(index)

    def evenly_spaced_batch(self, count: int, among: Ints | None = None) -> Batch:
        if among is not None:
            return self.in_memory(among).evenly_spaced_batch(count)
        places = even_places(len(self), count)
        part = self.subset(places)
        return next(part.batches(len(places)))

    def column(self, j: int) -> Column:
        """Return a numeric feature, known by counts."""
        found = self.columns.get(j)
        if isinstance(found, DataError):
            raise found
        if found is None:
            name, kind = self.features[j].name, self.features[j].kind
            raise DataError(
                f"feature {name!r}",
                f"values that are not numbers, declared as {kind}",
                "numbers",
                "Remove it from schema, or use numeric codes",
            )
        # Models that were fitted on arrays get the rows as an array, to whose type grids and edges are then rounded.
        found.dtype = self.table.numeric_type(j)
        return found

    def levels(
        self, feature: Feature, top: int | None = None, most: int = MAX_LEVELS
    ) -> LevelColumn:
        """Return the levels of a categorical feature, from an example of each."""
        counts = self.level_counts.get(feature.columns)
        if counts is None:
            raise needs_memory(f"levels of {feature.name!r}")
        size = int(np.count_nonzero(counts.count))
        if top is not None and size > MAX_DISTINCT:
            raise TooManyLevels(
                f"feature {feature.name!r}",
                f"more than {MAX_DISTINCT:,} levels in data that are read in chunks",
                "at most that many, of which the most frequent are chosen",
                "It may be an identifier. Explain the other features by their names",
            )
        check_level_count(feature, size, len(self) if top is not None else most, counted=False)
        # One row stands for each level, so that the order of the examples is that of the codes.
        some = self.in_memory(counts.rows)
        seen = some.observed(feature, len(counts.rows) + 1, counts.count)
        column = level_column(some, feature, seen, None)
        codes = column.codes
        count, weight = np.zeros(len(column.levels), dtype=np.int64), np.zeros(len(column.levels))
        there = codes >= 0
        np.add.at(count, codes[there], counts.count[there])
        np.add.at(weight, codes[there], counts.weight[there])
        if feature.kind == "nominal" and None in column.levels.values:
            missing = int(count[-1])
        else:
            missing = int(counts.count[~there].sum())
        # In chunks, the examples are found at the start of the table.
        rows = np.searchsorted(self.examples, column.levels.rows)
        levels, none = replace(column.levels, rows=rows), np.zeros(0, dtype=np.int64)
        whole = StreamedLevels(
            feature, levels, none, None, count, weight, missing, 0, self, streamed=self
        )
        return whole if top is None or top >= len(whole.levels) else keep_top(whole, top)

    def level_order(self, column: LevelColumn, others: Sequence[Feature] | None) -> Ints:
        own = set(column.feature.columns)
        parts: list[Floats] = []
        unknown: NotYetKnown | None = None
        for feature in self.features if others is None else others:
            if own & set(feature.columns):
                continue
            try:
                part = self.level_distances(column, feature)
            except NotYetKnown as error:
                unknown = error
                continue
            if part is not None:
                parts.append(part)
        if unknown is not None:
            raise unknown
        return similarity_order(sum_of_distances(parts, len(column.levels)))

    def level_distances(self, column: LevelColumn, other: Feature) -> Floats | None:
        """Return the distances of a feature's levels by another feature; None if that has no values."""
        if self.cells_to_compare(column, other) is None:
            return None
        request = TableRequest(column.feature.columns, len(column.levels), other.columns)
        table = filled(self.tables.of(request).astype(float))
        return numeric_distances(table) if other.numeric else categorical_distances(table)

    def cells_to_compare(self, column: LevelColumn, other: Feature) -> Floats | LevelColumn | None:
        """Return the cells of another feature by which levels are compared; None if they cannot be."""
        if not other.numeric:
            counts = self.level_counts.get(other.columns)
            few = counts is not None and len(counts.rows) <= MAX_LEVELS
            try:
                return self.levels(self.leveled[other.columns]) if few else None
            except NoValues:
                return None
        counted = self.columns.get(other.position)
        if not isinstance(counted, CountedColumn):
            return None
        if len(column) < len(self):
            # Rows without a level are not compared, so that they do not count in the quantiles.
            request = TableRequest(column.feature.columns, len(column.levels), other.columns)
            counted = self.within.of(request)
        return None if counted is None else counted.quantile_floors()

    def present(self, column: Column | LevelColumn) -> Ints | None:
        """Return the rows of the table, not of the source, that have a value of a feature."""
        here = self.in_memory(np.arange(len(self.row_numbers)))
        if isinstance(column, LevelColumn):
            return np.flatnonzero(here.level_codes(column) >= 0)
        return np.flatnonzero(~np.isnan(here.floats(column.feature.position)))

    def floats(self, j: int) -> Floats:
        """Raise: all values of a column do not fit in memory."""
        raise needs_memory(f"all values of {self.features[j].name!r}")

    def coded(self, j: int) -> Factorized:
        """Raise: all values of a column do not fit in memory."""
        raise needs_memory(f"all values of {self.features[j].name!r}")

    def batches(self, size: int) -> Iterator[Batch]:
        """Raise: the rows are read in chunks (`ChunkReader`)."""
        raise needs_memory("all rows at the same time")


class _OfChunks(Generic[StateT]):
    """Work on rows in memory, of each chunk."""

    def __init__(self, reader: ChunkReader, work: Pass[StateT, Dataset]) -> None:
        self.reader, self.work, self.state, self.merge = reader, work, work.state, work.merge

    def add(self, state: StateT, first: int, rows: ArrowTable) -> None:
        self.work.add(state, first, self.reader.dataset(rows, first))


class _OfBatches(Generic[StateT]):
    """Work on batches, of rows in memory that begin at the border of a batch."""

    def __init__(self, work: BatchPass[StateT], size: int) -> None:
        self.work, self.size, self.state, self.merge = work, size, work.state, work.merge

    def add(self, state: StateT, first: int, rows: Dataset) -> None:
        chunk = self.work.prepare(rows)
        chunk.cache_numbers()
        for number, batch in enumerate(chunk.batches(self.size), first // self.size):
            self.work.add(state, number, batch)


# ------------------------------------------------------------------------------------ answers
_BUDGET = 64_000_000
"""Bytes of candidates of order statistics that one pass may collect for all columns."""


def _answer(dataset: StreamedDataset) -> None:
    """Compute the values that columns need and no pass has given: in one pass, or in a few if a search is refined."""
    if dataset.within.open:
        _count_within(dataset)
        return
    within = dataset.within.answers()
    columns = [c for c in (*dataset.columns.values(), *within) if isinstance(c, CountedColumn)]
    asked = [(column, key) for column in columns for key in column.questions.open]
    budget = _BUDGET // max(1, len(asked))
    questions = [
        Question(column.feature.position, column.searches[key](budget), column.within)
        for column, key in asked
    ]
    pending = questions
    while pending:
        work = AnswerPass(pending)
        found = dataset.fold(work, "Order statistics", "order statistics")
        for question, tally in zip(pending, found, strict=True):
            question.search.take(tally)
        pending = [question for question in pending if not question.search.found]
    for (column, key), question in zip(asked, questions, strict=True):
        column.questions.answer(key, question.search.answer())
    if dataset.tables.open and not questions:
        _count_jointly(dataset)


def _compared(dataset: StreamedDataset, request: TableRequest) -> tuple[LevelColumn, Feature]:
    """Return the levels and the other feature of a request."""
    column = dataset.levels(dataset.leveled[request.feature], top=request.levels)
    return column, next(f for f in dataset.features if f.columns == request.other)


def _count_within(dataset: StreamedDataset) -> None:
    """Count numeric features in the rows that have a level of a categorical one, in one pass."""
    requests, questions = sorted(dataset.within.open), list[Question]()
    for request in requests:
        column, other = _compared(dataset, request)
        known = dataset.columns[other.position]
        pivot = known.counts.pivot if isinstance(known, CountedColumn) else 0.0
        search = Once(partial(ColumnCounts, pivot, dataset.quantum), same)
        questions.append(Question(other.position, search, column))
    work = AnswerPass(questions)
    found = dataset.fold(work, "Comparing levels", "values in the rows with a level")
    for request, question, counts in zip(requests, questions, found, strict=True):
        dataset.within.answer(request, _column_within(dataset, question, counts))


def _column_within(
    dataset: StreamedDataset, question: Question, counts: ColumnCounts
) -> CountedColumn | None:
    """Return a numeric feature in the rows that have a level; None if it has no value in them."""
    if not counts.n:
        return None
    # Only its quantiles are used, not its standard deviation.
    moments = column_moments(np.array([counts.low, counts.high]), None)
    j, sampling = question.column, dataset.sampling_weights
    dtype = dataset.table.numeric_type(j)
    column = CountedColumn(
        dataset.features[j], counts, moments, dtype, dataset.quantum, sampling=sampling
    )
    column.within = question.within
    return column


def _count_jointly(dataset: StreamedDataset) -> None:
    """Count categorical features by the cells of other features, in one pass."""
    requests, tables = sorted(dataset.tables.open), list[JointTable]()
    for request in requests:
        column, other = _compared(dataset, request)
        cells = dataset.cells_to_compare(column, other)
        if cells is None:
            raise TypeError("a table of a feature that is not compared")
        tables.append(JointTable(request, column, cells, other.position))
    work = JointPass(tables, dataset.quantum)
    found = dataset.fold(work, "Comparing levels", "levels by other features")
    for request, table in zip(requests, found, strict=True):
        dataset.tables.answer(request, table)
