"""Open a source of rows beyond memory: the types of its columns, and the first pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skedasis._types import Container, Ints, Level
from skedasis.data.arrow import ArrowField, ArrowSchema, ArrowTable, ArrowType
from skedasis.data.column_stats import column_moments
from skedasis.data.dataset import Dataset, even_places
from skedasis.data.features import Feature, Schema, apply_schema
from skedasis.data.times import TimeAxis
from skedasis.errors import DataError
from skedasis.stats.integer_weights import weight_quantum
from skedasis.stream.chunks import ChunkReader, default_library
from skedasis.stream.columns import CountedColumn
from skedasis.stream.dataset import LevelCounts, StreamedDataset
from skedasis.stream.parquet import ParquetData, RowsLibrary
from skedasis.stream.passes import (
    FirstPass,
    FirstState,
    LevelState,
    NumericState,
    ScanPass,
)
from skedasis.stream.running import PassRunner

_HEAD_ROWS = 10_000
"""Rows at the start of the data from which kinds of columns and pivots are taken. Results do not depend on pivots."""

_EVEN = (2, 64, 128)
"""Numbers of rows at even steps at which models are probed."""


@dataclass(frozen=True, eq=False)
class FirstPassOptions:
    """What the first pass counts and draws.

    Values or levels of `features` are counted, at most so many levels of each, and so many rows are drawn, by their
    hashes, with probabilities by their weights if `by_weight`. If `at_even_steps`, the rows at which models are probed
    are gathered, too.
    """

    features: Sequence[Feature] = ()
    most_levels: int = 0
    draw: int = 0
    by_weight: bool = False
    at_even_steps: bool = True


@dataclass(frozen=True, eq=False)
class OpenedSource:
    """A source whose columns have types: it can be read as data sets in memory."""

    reader: ChunkReader
    head: Dataset
    """The first rows."""
    passes: PassRunner
    seed: int
    sampling_weights: bool = False

    @classmethod
    def of(
        cls, passes: PassRunner, schema: Schema | None, seed: int, *, sampling_weights: bool = False
    ) -> OpenedSource:
        """Open a source: read its first rows, and columns of times and of categories."""
        reader, head = _reader(passes, schema)
        return cls(reader, head, passes, seed, sampling_weights)

    def _first_pass(
        self, options: FirstPassOptions, quantum: float | None, text: str, what: str
    ) -> FirstState:
        """Make the first pass."""
        n, source = self.reader.source.n_rows, self.reader.source
        draw = min(options.draw, n)
        numeric = {
            f.position: p
            for f in options.features
            if f.numeric and not f.members and (p := _pivot(self.head, f)) is not None
        }
        counts = _EVEN if options.at_even_steps else ()
        places = np.concatenate([np.zeros(0, dtype=int), *(even_places(n, c) for c in counts)])
        unequal = options.by_weight and not source.equal_weights
        work = FirstPass(
            self.reader,
            numeric,
            tuple(f for f in options.features if f.categorical),
            options.most_levels,
            quantum,
            self.seed,
            draw,
            float("inf") if unequal else _key_limit(draw, n),
            np.unique(places),
            by_weight=unequal,
        )
        return self.passes.run(work, text, what)

    def drawn(self, size: int) -> DrawnTable:
        """Return the rows with the smallest hashes, whatever their weights."""
        found = self._first_pass(
            FirstPassOptions(draw=size, at_even_steps=False), None, "Drawing rows", "rows"
        )
        numbers, _, rows = found.rows.result()
        return DrawnTable(self.reader, numbers, rows)

    def with_donors(self, size: int) -> StreamedDataset:
        """Return a data set of which each chunk begins with the donors: the rows with the smallest hashes."""
        found = self._first_pass(FirstPassOptions(draw=size), None, "Drawing donors", "donors")
        return self._dataset(FirstPassOptions(), None, found, donors=True)

    def counted(self, options: FirstPassOptions) -> StreamedDataset:
        """Return a data set whose features are counted."""
        source = self.reader.source
        quantum = (
            weight_quantum(source.largest_weight, len(source)) if self.reader.weighted else None
        )
        found = self._first_pass(options, quantum, "Counting values", "counts of values")
        return self._dataset(options, quantum, found)

    def _dataset(
        self,
        options: FirstPassOptions,
        quantum: float | None,
        found: FirstState,
        *,
        donors: bool = False,
    ) -> StreamedDataset:
        """Return the data set from what the first pass found."""
        reader, head, sampling = self.reader, self.head, self.sampling_weights
        numbers, drawn, rows = found.rows.result()
        table_types = {j: head.table.numeric_type(j) for j in found.numeric}
        columns = {
            j: _column(head.features[j], state, table_types[j], quantum, sampling=sampling)
            for j, state in found.numeric.items()
        }
        unit = 1.0 if quantum is None else quantum
        levels = {columns: _levels(state, numbers, unit) for columns, state in found.levels.items()}
        here = reader.dataset(rows, 0)
        source = reader.source
        rows_of_levels = [v.rows for v in levels.values()]
        examples = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *rows_of_levels]))
        before = drawn if donors else examples
        if len(before):
            reader = replace(reader, examples=reader.unified(rows.take(before)))
        return StreamedDataset(
            here.table,
            here.features,
            here.y,
            here.weights,
            None,
            here.library,
            keys=numbers if source.row_id_name is None else here.keys,
            reader=reader,
            row_numbers=numbers,
            drawn=drawn,
            columns=columns,
            level_counts=levels,
            passes=self.passes,
            examples=examples,
            leveled={f.columns: f for f in options.features if f.categorical},
            quantum=quantum,
            sampling_weights=sampling,
        )


@dataclass(frozen=True, eq=False)
class DrawnTable:
    """Rows that were drawn, with their numbers."""

    reader: ChunkReader
    numbers: Ints
    rows: ArrowTable

    @property
    def every(self) -> bool:
        """Whether these are all rows."""
        return len(self.numbers) == self.reader.source.n_rows

    @property
    def native(self) -> Container:
        """The columns of the features in the container that models are called with."""
        return self.reader.native(self.reader.unified(self.rows))

    def dataset(self) -> Dataset:
        """Return the rows as a data set in memory, in the order of their numbers."""
        return self.reader.gathered(self.numbers, self.rows, sampled=not self.every)


# ------------------------------------------------------------------------------------ types of columns
def _reader(passes: PassRunner, declared: Schema | None) -> tuple[ChunkReader, Dataset]:
    """Return the reader of chunks, and the first rows."""
    import pyarrow as pa

    source = passes.source
    library = source.container or default_library()
    schema = pa.schema([source.schema.field(name) for name in source.columns])
    types = pa.schema([field.with_type(_type_of(field, source, library)) for field in schema])
    weighted = source.weight_name is not None
    dtype = _array_dtype(types) if library == "numpy" else None
    passes.made.extend(source.scans)
    _, rows = next(source.chunks(_HEAD_ROWS))
    reader = ChunkReader(source, (), library, {}, {}, types, dtype, None, weighted)
    reader = _with_times_and_categories(reader, reader.dataset(rows, 0), passes, declared)
    inferred = tuple(
        replace(f, name=name, key=name)
        for f, name in zip(reader.dataset(rows, 0).table.features(), source.columns, strict=True)
    )
    reader = replace(reader, features=apply_schema(inferred, declared))
    return reader, reader.dataset(rows, 0)


def _with_times_and_categories(
    reader: ChunkReader, head: Dataset, passes: PassRunner, schema: Schema | None
) -> ChunkReader:
    """Return the reader with the time axes and the categories of all rows, if there are such columns."""
    import pyarrow as pa
    import pyarrow.types as pt

    from skedasis.data.frames import FrameTable

    table = head.table
    formats = table.time_formats() if isinstance(table, FrameTable) else {}
    names = tuple(field.name for field in reader.types if pt.is_dictionary(field.type))
    if not formats and not names:
        return reader
    reader = replace(reader, times=formats)
    work = ScanPass(reader, tuple(formats), names)
    found = passes.run(work, "Reading times and categories", "times and categories")
    kinds: dict[str, Any] = {name: reader.types.field(name).type for name in names}
    declared = _declared_levels(head, reader.source.columns, schema)
    categories = {
        name: pa.array(found.ordered(name, declared.get(name), reader.source), kind.value_type)
        for name, kind in kinds.items()
    }
    times = {
        j: replace(known, axis=_axis(known.axis, found.ticks[j])) if j in found.ticks else known
        for j, known in formats.items()
    }
    return replace(reader, times=times, categories=categories)


def _declared_levels(
    head: Dataset, names: Sequence[str], schema: Schema | None
) -> dict[str, tuple[Level, ...]]:
    """Return the levels that the caller's schema declares, by the name of the column."""
    bare = tuple(
        replace(f, name=name, key=name, levels=None)
        for f, name in zip(head.table.features(), names, strict=True)
    )
    features = apply_schema(bare, schema)
    return {name: f.levels for name, f in zip(names, features, strict=True) if f.levels}


def _axis(axis: TimeAxis, ticks: tuple[int, int, int]) -> TimeAxis:
    """Return the time axis of all rows, from their smallest and largest tick and the common divisor of all."""
    low, high, divisor = ticks
    ends, both = np.array([low, high]), np.ones(2, dtype=bool)
    fitted = TimeAxis.fitting(axis.kind, axis.unit, ends, both, axis.zone)
    return replace(fitted, exact=divisor % fitted.grain == 0)


def _array_dtype(types: ArrowSchema) -> np.dtype[np.generic]:
    """Return the type of an array that holds all columns; raise if they are not numbers."""
    dtypes = {field.name: np.dtype(field.type.to_pandas_dtype()) for field in types}
    other = [name for name, dtype in dtypes.items() if dtype.kind not in "fiub"]
    if other:
        raise DataError(
            'parquet(container="numpy")',
            f"a column that has no numbers: {other[0]!r}",
            "numbers and booleans only",
            "Name the other columns: columns=[...]",
        )
    return np.result_type(*dtypes.values())


def _type_of(field: ArrowField, source: ParquetData, library: RowsLibrary) -> ArrowType:
    """Return a column's type in all chunks: arrays and pandas have floats for integers with missing values."""
    import pyarrow as pa

    nulls = source.null_counts()
    complete = nulls is not None and nulls.get(field.name) == 0
    if pa.types.is_integer(field.type) and not complete and library in ("numpy", "pandas"):
        return pa.float64()
    return field.type


# ------------------------------------------------------------------------------------ first pass
def _pivot(head: Dataset, feature: Feature) -> float | None:
    """Return a value near the middle of a column; None if its values are not numbers."""
    try:
        x = head.floats(feature.position)
    except (ValueError, TypeError):
        return None
    x = x[np.isfinite(x)]
    return float(np.median(x)) if len(x) else 0.0


def _key_limit(draw: int, n: int) -> float:
    """Return a key above which no row is drawn, of keys that do not depend on weights."""
    # Six standard deviations above the expected number.
    return float("inf") if draw >= n else min(1.0, (draw + 6 * np.sqrt(draw) + 40) / n)


def _column(
    feature: Feature,
    state: NumericState,
    dtype: np.dtype[np.generic],
    quantum: float | None,
    *,
    sampling: bool,
) -> CountedColumn | DataError:
    """Return a numeric feature, or the error if it cannot be explained."""
    try:
        usable = state.counts.n > 0 and state.counts.infinite == 0
        moments = state.moments.result() if usable else column_moments(np.zeros(0), None)
        return CountedColumn(
            feature, state.counts, moments, dtype, quantum, state.ends, sampling=sampling
        )
    except DataError as error:
        return error


def _levels(state: LevelState, numbers: Ints, unit: float) -> LevelCounts:
    """Return the levels of a categorical feature, with the index of an example of each among the rows at hand."""
    # A row that tells the kind of a group is an example that stands for no row.
    odd = [] if state.odd is None else [[state.odd, 0, 0]]
    entries = np.array([*state.levels.values(), *odd], dtype=np.int64).reshape(-1, 3)
    rows = np.searchsorted(numbers, entries[:, 0])
    order = np.argsort(entries[:, 0], kind="stable")
    return LevelCounts(rows[order], entries[order, 1], entries[order, 2].astype(float) * unit)
