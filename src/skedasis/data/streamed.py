"""Data sets that do not fit in memory: known by summaries of their columns, and read again in chunks."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast, overload

import numpy as np

from skedasis._types import Container, Floats, Ints, JsonValue, Values
from skedasis.data.arrow import ArrowColumn, ArrowSchema, ArrowTable, ArrowValues
from skedasis.data.categories import (
    MAX_LEVELS,
    LevelColumn,
    TooManyLevels,
    check_level_count,
    keep_top,
    level_column,
)
from skedasis.data.category_order import (
    STEPS,
    OtherFeature,
    categorical_distances,
    filled,
    numeric_distances,
    similarity_order,
    sum_of_distances,
)
from skedasis.data.column_stats import Column, NotYetKnown, std_of
from skedasis.data.containers import ArrayTable, Table
from skedasis.data.dataset import Batch, Dataset
from skedasis.data.factorize import Factorized
from skedasis.data.features import (
    LARGEST_INTEGER,
    Feature,
    NoValues,
    check_integers,
    check_range,
    infinite_values,
    no_values,
)
from skedasis.data.gaps import Upto
from skedasis.data.parquet import ParquetData, RowsLibrary
from skedasis.errors import DataError, UnsupportedError
from skedasis.stats.grid import CellParts, Ordered
from skedasis.stats.heterogeneity_score import score_rows
from skedasis.stats.moments import STATS_LEAF, Moments
from skedasis.stats.order_statistics import ColumnCounts

if TYPE_CHECKING:
    from skedasis.data.frames import TimeFormat


CHUNK_ROWS = 4 * STATS_LEAF
"""Rows that are read at a time in a pass that does not call the model."""


# ------------------------------------------------------------------------------------ columns
MAX_DISTINCT = 1_000_000
"""Largest number of distinct values of a column that are collected from data beyond memory."""

ColumnPositions: TypeAlias = tuple[int, ...]
"""The positions of a feature's columns."""

Request: TypeAlias = "DistinctRequest | RankRequest | UptoRequest | PartsRequest"


@dataclass(frozen=True)
class DistinctRequest:
    """A request for all distinct values, if there are at most `limit`."""

    limit: int


@dataclass(frozen=True)
class RankRequest:
    """A request for the values at which the cumulative weight first reaches given integers."""

    targets: tuple[int, ...]


@dataclass(frozen=True)
class UptoRequest:
    """A request for the number, the weight and the largest of the values up to each point; see `Column.upto`."""

    points: tuple[float, ...]


@dataclass(frozen=True)
class PartsRequest:
    """A request for the smallest and the largest value in each of equal parts of a stretch; see `CellParts`."""

    low: float
    high: float


Answer: TypeAlias = "Floats | Upto | CellParts | None"


class CountedColumn(Column):
    """A numeric feature that is known by counts of its values, not by the values."""

    def __init__(
        self,
        feature: Feature,
        counts: ColumnCounts,
        moments: Moments,
        dtype: np.dtype[np.generic],
        quantum: float | None = None,
        ends: tuple[int, int] | None = None,
        *,
        sampling: bool = False,
    ) -> None:
        self.sampling = sampling
        self.feature, self.dtype, self.counts = feature, dtype, counts
        self.missing, self.present = counts.missing, None
        self.x, self.weights, self.weighted = np.zeros(0), None, quantum is not None
        self.requests: set[Request] = set()
        self.within: LevelColumn | None = None
        self._answers: dict[Request, Answer] = {}
        self._upto: dict[float, tuple[int, int, float]] = {}
        check_integers(feature, ends)
        self._set("low", counts.low + 0.0)
        self._set("high", counts.high + 0.0)
        self.quantum = 1.0 if quantum is None else quantum
        self._set("quanta", counts.weight)
        fractions_exist = max(-counts.low, counts.high) <= LARGEST_INTEGER
        self._set("integer", dtype.kind in "iub" or (counts.integer and fractions_exist))
        if counts.n == 0:
            raise no_values(feature)
        if counts.infinite:
            raise infinite_values(feature, counts.infinite)
        check_range(feature, self.low, self.high)
        self._set("std", 0.0 if self.low == self.high else std_of(moments))

    def _set(self, name: str, value: float | bool) -> None:
        """Set a property that `Column` computes from the values."""
        self.__dict__[name] = value

    def __len__(self) -> int:
        return self.counts.n

    def distinct(self, limit: int | None = None) -> Floats | None:
        """Return the sorted distinct values, or None if there are more than `limit`."""
        few = self.counts.distinct()
        if few is not None:
            return few[0] if limit is None or len(few[0]) <= limit else None
        if limit is not None and limit <= self.counts.max_distinct:
            return None
        most = MAX_DISTINCT if limit is None else min(limit, MAX_DISTINCT)
        values = self._answered(DistinctRequest(most))
        if values is None and (limit is None or limit > MAX_DISTINCT):
            raise UnsupportedError(
                f"feature {self.feature.name!r}",
                f"more than {MAX_DISTINCT:,} distinct values in data that are read in chunks",
                "at most that many, where bins may begin at each of them",
                "Choose fewer bins, such as max_bins=256, or quantiles: bins=sd.Quantile(100)",
            )
        return values

    def values_to_step_between(self) -> Floats | None:
        """Return all sorted distinct values; None if there are more than `MAX_DISTINCT`."""
        return self.distinct(MAX_DISTINCT)

    @property
    def distinct_values(self) -> Floats:  # type: ignore[override] - a cached property there
        """Return all sorted distinct values."""
        values = self.distinct()
        if values is None:
            raise TypeError("without a limit there is no None")
        return values

    def value_weights(self, values: Floats) -> Floats:
        """Return the weight of each distinct value."""
        few = self.counts.distinct()
        if few is None:
            raise TypeError("the weights of many values are not counted")
        return few[2].astype(float) * self.quantum

    @property
    def _inexact(self) -> int:
        return 0 if self.counts.whole_weights else self.counts.n

    def at_weights(self, targets: Ints) -> Floats:
        """Return the values at which the cumulative weight first reaches ascending targets; see `Column.at_weights`."""
        few = self.counts.distinct()
        if few is None:
            return self._answered(RankRequest(tuple(targets.tolist())))
        found = np.searchsorted(np.cumsum(few[2]), targets, side="left")
        return few[0][np.minimum(found, len(few[0]) - 1)]

    def upto(self, points: Floats) -> Upto:
        """Return what is known of the values up to each point; see `Column.upto`."""
        few = self.counts.distinct()
        if few is None:
            new = tuple(z for z in points.tolist() if z not in self._upto)
            if new:
                found = zip(*(v.tolist() for v in self._answered(UptoRequest(new))), strict=True)
                self._upto |= dict(zip(new, found, strict=True))
            rows, weight, largest = zip(*(self._upto[z] for z in points.tolist()), strict=True)
            return Upto(np.array(rows), np.array(weight), np.array(largest))
        place = np.searchsorted(few[0], points, side="right")
        rows, weight = (np.append(0, np.cumsum(sums))[place] for sums in few[1:])
        return Upto(rows, weight, np.where(place > 0, few[0][place - 1], np.nan))

    def wide_steps(
        self, stretches: Sequence[tuple[float, float]], share: float
    ) -> list[list[tuple[float, float]]]:
        """Return the steps that are wider than a share of each stretch between two values; see `Column.wide_steps`."""
        few = self.counts.distinct()
        if few is not None:
            parts = [(few[0][(few[0] >= a) & (few[0] <= b)], a, b) for a, b in stretches]
            return [Ordered(*part).wide_steps(share) for part in parts]
        requests = [PartsRequest(low, high) for low, high in stretches]
        self.requests |= set(requests) - self._answers.keys()
        return [self._answered(request).wide_steps(share) for request in requests]

    def quantile_floors(self) -> Floats:
        """Return the distinct values at or below the quantiles at which distributions are compared."""
        last = self.quanta - self.row_quanta
        targets = [step * last // STEPS + 1 for step in range(STEPS + 1)]
        return np.unique(self.at_weights(np.array(targets, dtype=np.int64)))

    @overload
    def _answered(self, request: DistinctRequest) -> Floats | None: ...
    @overload
    def _answered(self, request: RankRequest) -> Floats: ...
    @overload
    def _answered(self, request: UptoRequest) -> Upto: ...
    @overload
    def _answered(self, request: PartsRequest) -> CellParts: ...
    def _answered(self, request: Request) -> Answer:
        """Return the answer to a request, or note it, with the request for gaps, which follows sooner or later."""
        if request in self._answers:
            return self._answers[request]
        whole = PartsRequest(self.low, self.high)
        self.requests |= {request, whole} - self._answers.keys()
        raise NotYetKnown

    def answer(self, request: Request, found: Answer) -> None:
        """Note the answer to a request."""
        self._answers[request] = found
        self.requests.discard(request)

    def release(self) -> None:
        """Do nothing: there are no values to free."""


# ------------------------------------------------------------------------------------ chunks
@dataclass(frozen=True, eq=False)
class ChunkReader:
    """Reads rows as data sets in memory, one chunk after the other."""

    source: ParquetData
    features: tuple[Feature, ...]
    library: RowsLibrary
    times: Mapping[int, TimeFormat]
    categories: Mapping[str, ArrowValues]
    types: ArrowSchema
    dtype: np.dtype[np.generic] | None = None
    examples: ArrowTable | None = None
    weighted: bool = False

    @property
    def skip(self) -> int:
        """Return the number of rows before those of each chunk."""
        return 0 if self.examples is None else self.examples.num_rows

    def datasets(
        self, size: int, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[int, Dataset]]:
        """Yield the number of the first row of each chunk, and the chunk."""
        for first, rows in self.source.chunks(size, start, stop):
            yield first, self.dataset(rows, first)

    def dataset(self, rows: ArrowTable, first: int) -> Dataset:
        """Return rows of the source, of which the first has this number, as a data set in memory."""
        import pyarrow as pa

        source, skip = self.source, self.skip
        own = self.unified(rows)
        if self.examples is not None:
            own = pa.concat_tables([self.examples, own])
        keys = _identifiers(rows, source.row_id_name)
        return Dataset(
            self.table(own),
            self.features,
            _plain(rows, source.y_name),
            self.weights(rows),
            library=None if self.library == "numpy" else self.library,
            keys=np.arange(first, first + rows.num_rows) if keys is None else keys,
            skip=skip,
            offset=first - skip,
        )

    def unified(self, rows: ArrowTable) -> ArrowTable:
        """Return the columns of the features in the types that all chunks have."""
        import pyarrow as pa
        import pyarrow.compute

        pc: Any = pyarrow.compute
        own = rows.select(list(self.source.columns))
        for name, values in self.categories.items():
            at = own.schema.get_field_index(name)
            kind: Any = self.types.field(name).type
            text = own.column(name).cast(kind.value_type)
            codes = pc.index_in(text, value_set=values).combine_chunks()
            coded = pa.DictionaryArray.from_arrays(
                codes.cast(kind.index_type), values, ordered=kind.ordered
            )
            own = own.set_column(at, name, coded)
        # Integers with missing values become floats as in a data frame of pandas: large ones are rounded.
        return own.cast(self.types, safe=False)

    def weights(self, rows: ArrowTable) -> Floats | None:
        """Return the weights of some rows; None without weights."""
        if not self.weighted:
            return None
        weights = _plain(rows, self.source.weight_name)
        return None if weights is None else weights.astype(float)

    def table(self, rows: ArrowTable) -> Table[Container]:
        """Return rows with the columns of the features as a table."""
        native = self.native(rows)
        if isinstance(native, np.ndarray):
            return ArrayTable(native)
        from skedasis.data.frames import FrameTable

        return FrameTable(native).with_times(self.times)

    def native(self, rows: ArrowTable) -> Container:
        """Return rows with the columns of the features in the container that models are called with."""
        if self.library == "numpy":
            columns = [_numbers(rows.column(j)) for j in range(rows.num_columns)]
            X = np.empty((rows.num_rows, len(columns)), dtype=self.dtype, order="F")
            for j, column in enumerate(columns):
                X[:, j] = column
            return X
        if self.library == "pandas":
            return cast("Container", _as_pandas(rows))
        if self.library == "polars":
            import polars as pl

            return cast("Container", pl.from_arrow(rows))
        return cast("Container", rows)


def _plain(rows: ArrowTable, name: str | None) -> Values | None:
    """Return a column that is no feature as an array; None if there is no such column."""
    return None if name is None else rows.column(name).to_numpy(zero_copy_only=False)


def _identifiers(rows: ArrowTable, name: str | None) -> Values | None:
    """Return the identifiers of some rows; raise if one is missing."""
    ids = _plain(rows, name)
    if name is None or ids is None:
        return None
    missing = rows.column(name).null_count
    if ids.dtype.kind == "f" and not missing:
        missing = int(np.isnan(ids).sum())
    if missing:
        raise DataError(
            f"row_id={name!r}",
            f"{missing:,} missing values",
            "a number or text for each row",
            "Exclude these rows by filters=, or name another column",
        )
    return ids


def _numbers(column: ArrowColumn) -> Values:
    """Return a column of numbers or booleans, NaN where a value is missing."""
    values = column.to_numpy(zero_copy_only=False)
    return values.astype(float) if values.dtype.kind == "O" else values


def _as_pandas(rows: ArrowTable) -> object:
    """Return rows as a pandas frame. Booleans with missing values are objects in each chunk."""
    return rows.to_pandas(split_blocks=True, date_as_object=True, ignore_metadata=True)


def default_library() -> RowsLibrary:
    """Return what rows of files are held in: the first of pandas and Polars that is installed, else Arrow tables."""
    for name in ("pandas", "polars"):
        if importlib.util.find_spec(name) is not None:
            return "pandas" if name == "pandas" else "polars"
    return "pyarrow"


# ------------------------------------------------------------------------------------ data sets
@dataclass(frozen=True, eq=False)
class LevelCounts:
    """The levels of a categorical feature in data beyond memory."""

    rows: Ints
    count: Ints
    weight: Floats


@dataclass(frozen=True, order=True)
class TableRequest:
    """A request for the joint counts of a categorical feature and another one."""

    feature: ColumnPositions
    levels: int
    other: ColumnPositions


class JointCounts:
    """The joint counts of categorical features with other features, as far as passes have counted them."""

    def __init__(self) -> None:
        self.requests: set[TableRequest] = set()
        self.tables: dict[TableRequest, Ints] = {}
        self.uncounted: set[TableRequest] = set()
        self.columns: dict[TableRequest, CountedColumn | None] = {}

    def column(self, request: TableRequest) -> CountedColumn | None:
        """Return the other feature in the rows with a level; raise `NotYetKnown` if no pass has counted it."""
        if request not in self.columns:
            self.uncounted.add(request)
            raise NotYetKnown
        return self.columns[request]

    def put_column(self, request: TableRequest, column: CountedColumn | None) -> None:
        """Note the other feature in the rows with a level."""
        self.columns[request] = column
        self.uncounted.discard(request)

    def of(self, request: TableRequest) -> Ints:
        """Return a table; raise `NotYetKnown` if no pass has counted it."""
        if request not in self.tables:
            self.requests.add(request)
            raise NotYetKnown
        return self.tables[request]

    def answer(self, request: TableRequest, table: Ints) -> None:
        """Note the answer to a request."""
        self.tables[request] = table
        self.requests.discard(request)


@dataclass(frozen=True, eq=False)
class StreamedLevels(LevelColumn):
    """The levels of a categorical feature in data beyond memory. It has no codes: chunks find those of their rows."""

    streamed: StreamedDataset | None = field(default=None, repr=False, kw_only=True)

    def __len__(self) -> int:
        return int(self.count.sum())

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the data set, so that plans are small."""
        return {**vars(self), "streamed": None, "dataset": _NO_ROWS}

    def of_rows(self, dataset: object) -> bool:
        """Return False: there are no codes."""
        return False

    def at_rows(self, dataset: Dataset) -> LevelColumn:
        """Return the same levels with the codes of some rows in memory."""
        codes = dataset.level_codes(self)
        sizes = self.count, self.weight, self.missing, self.n_other
        return LevelColumn(self.feature, self.levels, codes, dataset.weights, *sizes, dataset)

    def similarity_order(self, others: Sequence[Feature] | None = None) -> Ints:
        """Return the order of levels by the similarity of the other features; see `LevelColumn`."""
        dataset = self.streamed
        if dataset is None:
            raise TypeError("levels that were sent to a worker are in their order")
        own = set(self.feature.columns)
        chosen = dataset.features if others is None else others
        parts: list[Floats] = []
        unknown: NotYetKnown | None = None
        for feature in chosen:
            if own & set(feature.columns):
                continue
            try:
                part = dataset.level_distances(self, feature)
            except NotYetKnown as error:
                unknown = error
                continue
            if part is not None:
                parts.append(part)
        if unknown is not None:
            raise unknown
        return similarity_order(sum_of_distances(parts, len(self.levels)))


class _NoRows:
    """In place of the data set of levels that were sent to a worker."""

    features: tuple[Feature, ...] = ()
    weights: Floats | None = None
    sampling_weights: bool = False
    row_id: Ints | None = None

    def other_features(self, features: Iterable[Feature]) -> Iterator[OtherFeature]:
        """Yield nothing."""
        return iter(())


_NO_ROWS = _NoRows()


@dataclass(frozen=True, eq=False)
class StreamedDataset(Dataset):
    """A data set that does not fit in memory."""

    reader: ChunkReader = field(kw_only=True)
    n: int = field(kw_only=True)
    positions: Ints = field(kw_only=True)
    drawn: Ints = field(kw_only=True)
    columns: Mapping[int, CountedColumn | DataError] = field(kw_only=True)
    level_counts: Mapping[ColumnPositions, LevelCounts] = field(kw_only=True)
    sum_of_weights: float = field(kw_only=True)
    passes: list[str] = field(kw_only=True)
    examples: Ints = field(kw_only=True)
    leveled: Mapping[ColumnPositions, Feature] = field(kw_only=True)
    quantum: float | None = field(kw_only=True)
    joint: JointCounts = field(default_factory=JointCounts, kw_only=True)
    kept: list[int] = field(default_factory=list[int], kw_only=True)
    kept_features: bool = field(default=False, kw_only=True)

    streamed: ClassVar[bool] = True

    def __len__(self) -> int:
        return self.n

    @property
    def numbered(self) -> bool:
        """Return whether rows are identified by their numbers."""
        return self.reader.source.row_id_name is None

    @property
    def total_weight(self) -> float:
        """Return the sum of the rows' weights."""
        return self.sum_of_weights

    @property
    def provenance(self) -> dict[str, JsonValue]:
        """Return the source, and how often it was read."""
        # By a rule for identifiers, how many rows are kept is known when they have been read.
        kept: dict[str, JsonValue] = {"rows_kept": max(self.kept)} if self.kept else {}
        return {"source": repr(self.reader.source), "passes": len(self.passes), **kept}

    @property
    def drawable(self) -> Dataset:
        """Return the rows with the smallest hashes, as a data set in memory."""
        return self.in_memory(self.drawn)

    @property
    def kept_row_bytes(self) -> int:
        """Return the bytes of a kept row beside its local effects."""
        return 16 * len(self.features) if self.kept_features else 0

    def drawn_rows(self, most: int, seed: int) -> Dataset:
        """Return the rows with the smallest hashes as a data set in memory."""
        drawn = self.drawable
        rows = score_rows(drawn.identifiers, drawn.weights, most, seed)
        order = np.argsort(rows.rows)
        part = drawn.subset(rows.rows[order])
        # Rows that were drawn by their weights count once.
        return replace(part, weights=None if rows.weights is None else rows.weights[order])

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
            row_numbers=self.positions,
            sampling_weights=self.sampling_weights,
        )

    def subset(self, places: Ints) -> Dataset:
        """Return some of the rows at hand as a data set in memory."""
        index = np.minimum(np.searchsorted(self.positions, places), len(self.positions) - 1)
        if not np.array_equal(self.positions[index], places):
            raise needs_memory("all rows at the same time")
        return self.in_memory(index)

    def evenly_spaced_batch(self, count: int, among: Ints | None = None) -> Batch:
        """Return a batch of up to `count` rows at even steps through all rows, or through rows of the table `among`."""
        if among is not None:
            return self.in_memory(among).evenly_spaced_batch(count)
        places = even_places(self.n, count)
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
        check_level_count(feature, size, self.n if top is not None else most, counted=False)
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
        whole = replace(
            column,
            levels=replace(column.levels, rows=rows),
            codes=np.zeros(0, dtype=np.int64),
            weights=None,
            count=count,
            weight=weight,
            missing=missing,
            dataset=self,
        )
        whole = StreamedLevels(**vars(whole), streamed=self)
        return whole if top is None or top >= len(whole.levels) else keep_top(whole, top)

    def level_distances(self, column: LevelColumn, other: Feature) -> Floats | None:
        """Return the distances of a feature's levels by another feature; None if that has no values."""
        if self.cells_to_compare(column, other) is None:
            return None
        request = TableRequest(column.feature.columns, len(column.levels), other.columns)
        table = filled(self.joint.of(request).astype(float))
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
        if len(column) < self.n:
            # Rows without a level are not compared, so that they do not count in the quantiles.
            request = TableRequest(column.feature.columns, len(column.levels), other.columns)
            counted = self.joint.column(request)
        return None if counted is None else counted.quantile_floors()

    def present(self, column: Column | LevelColumn) -> Ints | None:
        """Return the rows of the table, not of the source, that have a value of a feature."""
        here = self.in_memory(np.arange(len(self.positions)))
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


def even_places(n: int, count: int) -> Ints:
    """Return up to `count` row numbers at even steps through n rows."""
    return np.unique(np.linspace(0, n - 1, min(count, n)).astype(int))


def needs_memory(what: str) -> UnsupportedError:
    """Return the error for work that cannot be done in passes over the data."""
    return UnsupportedError(
        "data that are read in chunks",
        f"work that needs {what}",
        "work in one pass after the other",
        "Read a part into memory: data.take(rows), or a data frame",
    )
