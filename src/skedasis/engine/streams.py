"""Data that do not fit in memory: open them, answer what plans ask for, and compute in chunks."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from skedasis._types import Container, Ints, JsonValue, Level
from skedasis.data.arrow import ArrowField, ArrowSchema, ArrowTable, ArrowType
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import NotYetKnown, column_moments
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature, apply_schema, find_feature
from skedasis.data.parquet import ParquetData, RowsLibrary, located
from skedasis.data.passes import (
    AnswerPass,
    AnswerState,
    FirstPass,
    FirstState,
    JointPass,
    JointTable,
    LevelState,
    NumericState,
    Question,
    ScanPass,
    ScanState,
    Within,
    WithinPass,
    merge_counts,
    merge_tables,
)
from skedasis.data.streamed import (
    CHUNK_ROWS,
    MAX_DISTINCT,
    ChunkReader,
    ColumnPositions,
    CountedColumn,
    LevelCounts,
    StreamedDataset,
    TableRequest,
    default_library,
    even_places,
)
from skedasis.data.times import TimeAxis
from skedasis.engine.options import ExplainOptions, Need
from skedasis.engine.progress import Further, Progress, map_in_order
from skedasis.engine.select import FeatureSelection, as_method
from skedasis.errors import DataError
from skedasis.methods.ale import ALE
from skedasis.methods.ale_categorical import MOST_LEVELS
from skedasis.quantities.base import Quantity
from skedasis.results.checks.slope_check import ROWS as CHECKED_ROWS
from skedasis.stats.order_statistics import ColumnCounts, weight_quantum

_HEAD_ROWS = 10_000
"""Rows at the start of the data from which kinds of columns and pivots are taken. Results do not depend on pivots."""

_EVEN = (2, 64, 128)
"""Numbers of rows at even steps at which models are probed."""

_BUDGET = 64_000_000
"""Bytes of candidates of order statistics that one pass may collect for all columns."""

_FURTHER = Further(1.0, certain=False)
"""What follows a pass that calls no model: at least the one that does, which reads as much."""

StateT = TypeVar("StateT")
ResultT = TypeVar("ResultT")


class Pass(Protocol[StateT]):
    """One pass over the data: its state, and how a chunk is added to it."""

    def state(self) -> StateT:
        """Return the state of no rows."""
        ...

    def add(self, state: StateT, first: int, rows: ArrowTable) -> None:
        """Add a chunk of rows, of which the first has this number, to the state."""
        ...


# ------------------------------------------------------------------------------------ running a pass
def run_pass(
    work: Pass[StateT],
    merge: Callable[[StateT, StateT], None],
    source: ParquetData,
    options: ExplainOptions,
    text: str,
) -> StateT:
    """Return the state of all rows of a source."""
    if options.client is not None:
        return _run_on_cluster(work, merge, source, options, text)
    states: dict[int, StateT] = {}
    lock = threading.Lock()

    def own() -> StateT:
        """Return the state of this thread."""
        with lock:
            thread = threading.get_ident()
            if thread not in states:
                states[thread] = work.state()
            return states[thread]

    def add(chunk: tuple[int, ArrowTable]) -> int:
        first, rows = chunk
        with located(source, first, rows.num_rows):
            work.add(own(), first, rows)
        return rows.num_rows

    done = map_in_order(add, source.chunks(CHUNK_ROWS), options.n_jobs)
    with Progress(source.n_rows, text, options.progress, _FURTHER) as bar, closing(done):
        for n in done:
            bar.advance(n)
    whole, *others = states.values()
    for state in others:
        merge(whole, state)
    return whole


def _run_on_cluster(
    work: Pass[StateT],
    merge: Callable[[StateT, StateT], None],
    source: ParquetData,
    options: ExplainOptions,
    text: str,
) -> StateT:
    """Do what `run_pass` does, on the workers of a cluster."""
    # Imported here: most calls have no cluster.
    from skedasis.engine.cluster import map_ranges, ranges_of

    if options.client is None:
        raise TypeError("a cluster needs a client")
    ranges = ranges_of(options.client, source.n_rows, CHUNK_ROWS)
    whole = work.state()
    mapped = map_ranges(options.client, _state_of_range, _merged, (source, work, merge), ranges)
    with Progress(source.n_rows, text, options.progress, _FURTHER) as bar, closing(mapped):
        for n, state in mapped:
            merge(whole, state)
            bar.advance(n)
    return whole


_Shared: TypeAlias = tuple[ParquetData, Pass[StateT], Callable[[StateT, StateT], None]]


def _state_of_range(shared: _Shared[StateT], start: int, stop: int) -> StateT:
    """Return the state of a range of rows."""
    source, work, _ = shared
    state = work.state()
    for first, rows in source.chunks(CHUNK_ROWS, start, stop):
        with located(source, first, rows.num_rows):
            work.add(state, first, rows)
    return state


def _merged(shared: _Shared[StateT], states: Sequence[StateT]) -> StateT:
    """Return the state of several ranges of rows."""
    _, work, merge = shared
    whole = work.state()
    for state in states:
        merge(whole, state)
    return whole


# ------------------------------------------------------------------------------------ opening
def open_stream(
    source: ParquetData,
    quantity: Quantity,
    features: object,
    method: object,
    options: ExplainOptions,
    need: Need,
) -> StreamedDataset | Dataset:
    """Return a source as a data set, after the first pass over it."""
    _check_no_arrays(options)
    if options.client is not None:
        # Imported here: most calls have no cluster.
        from skedasis.engine.cluster import packed_work

        packed_work(quantity)
    library = source.container or default_library()
    reader, head, passes = _reader(source, library, options)
    chosen = None if method is None else as_method(method)
    n = source.n_rows
    sample = None if chosen is None else chosen.rows_in_memory(n)
    if sample is not None:
        return _sample(reader, sample, options)
    if chosen is not None and chosen.donor_rows:
        return _with_donors(reader, head, min(chosen.donor_rows, n), options, passes)
    wanted = FeatureSelection(head, features, options.groups)
    asked = list({f.columns: f for item in wanted.asked for f in item}.values())
    counted = list(asked)
    ordered = isinstance(chosen, ALE) and chosen.order is not None
    if any(f.kind == "nominal" or (ordered and f.categorical) for f in asked):
        # The order of levels compares all other features.
        counted += [f for f in head.features if f.columns not in {a.columns for a in asked}]
    counted += _also(head, need.column, counted)
    numeric = {f.position: _pivot(head, f) for f in counted if f.numeric and not f.members}
    leveled = tuple(f for f in counted if f.categorical)
    top = None if chosen is None else chosen.top_levels
    quantum = weight_quantum(source.largest_weight, source.n_rows) if reader.weighted else None
    rows = options.heterogeneity_rows
    draw = n if rows is None else max(rows, CHECKED_ROWS, need.draw, options.curves) + 1
    draw = min(n, draw)
    first = FirstPass(
        reader,
        {j: pivot for j, pivot in numeric.items() if pivot is not None},
        leveled,
        MOST_LEVELS if top is None else MAX_DISTINCT,
        quantum,
        options.seed,
        draw,
        _key_limit(draw, n, reader),
        np.unique(np.concatenate([even_places(n, count) for count in _EVEN])),
    )
    found = run_pass(first, FirstState.merge, source, options, "Counting values")
    passes = [*source.scans, *passes, "counts of values"]
    sampling = options.weight_kind == "sampling"
    levels = {f.columns: f for f in leveled}
    dataset = _dataset(reader, found, head, quantum, levels, passes, sampling=sampling)
    return replace(dataset, kept_features=need.kept_features)


def _also(head: Dataset, name: Hashable, counted: list[Feature]) -> list[Feature]:
    """Return the column of a name or position, if it is one and not counted yet."""
    try:
        feature = None if name is None else head.features[find_feature(head.features, name)]
    except DataError:  # a group, or a mistake, which is found where the name is used
        return []
    known = {f.columns for f in counted}
    return [] if feature is None or feature.columns in known else [feature]


def _drawn(
    reader: ChunkReader, size: int, places: Ints, options: ExplainOptions, text: str
) -> FirstState:
    """Return the rows with the smallest hashes, whatever their weights, and those with given numbers."""
    n, seed = reader.source.n_rows, options.seed
    limit = _key_limit(size, n, replace(reader, weighted=False))
    work = FirstPass(reader, {}, (), 0, None, seed, size, limit, places, by_weight=False)
    return run_pass(work, FirstState.merge, reader.source, options, text)


def _sample(reader: ChunkReader, size: int, options: ExplainOptions) -> Dataset:
    """Return the rows with the smallest hashes as a data set in memory, in the order of their numbers."""
    found = _drawn(reader, size, np.zeros(0, dtype=np.int64), options, "Drawing rows")
    numbers, _, rows = found.rows.result()
    here = reader.dataset(rows, 0)
    keys = numbers if reader.source.row_id_name is None else here.keys
    return replace(here, keys=keys, row_numbers=numbers, sampled=size < reader.source.n_rows)


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Rows that were drawn from data beyond memory, as arguments of functions that need all rows at the same time."""

    X: Container
    options: ExplainOptions
    note: str
    record: dict[str, JsonValue]

    def dataset(self) -> Dataset:
        """Return the rows as a data set in memory, whose results say what they are drawn from."""
        rows, every = self.options.dataset(self.X), "exact" not in self.record
        sample: dict[str, JsonValue] = {} if every else {"sample": len(rows)}
        return replace(rows, origin={**self.record, **sample}, sampled=not every)


def draw_rows(source: ParquetData, most: int, options: ExplainOptions) -> DrawnRows:
    """Return the rows with the smallest hashes, in memory."""
    _check_no_arrays(options)
    reader, _, _ = _reader(source, source.container or default_library(), options)
    found = _drawn(reader, min(most, source.n_rows), np.zeros(0, dtype=np.int64), options, "Rows")
    numbers, _, rows = found.rows.result()
    X = reader.native(reader.unified(rows))
    here = reader.dataset(rows, 0)
    keys = numbers if source.row_id_name is None else here.keys
    given = replace(options, y=here.y, sample_weight=here.weights, row_id=keys, client=None)
    every = len(numbers) == source.n_rows
    note = "" if every else f"a random sample of {len(numbers):,} of {source.n_rows:,} rows"
    record: dict[str, JsonValue] = {"source": repr(source), "source_rows": source.n_rows}
    return DrawnRows(X, given, note, record if every else {**record, "exact": False})


def _with_donors(
    reader: ChunkReader, head: Dataset, size: int, options: ExplainOptions, passes: list[str]
) -> StreamedDataset:
    """Return a data set of which each chunk begins with the donors: the rows with the smallest hashes."""
    n = reader.source.n_rows
    places = np.unique(np.concatenate([even_places(n, count) for count in _EVEN]))
    found = _drawn(reader, size, places, options, "Drawing donors")
    passes = [*reader.source.scans, *passes, "donors"]
    _, drawn, rows = found.rows.result()
    reader = replace(reader, examples=reader.unified(rows.take(drawn)))
    return _dataset(reader, found, head, None, {}, passes)


def _check_no_arrays(options: ExplainOptions) -> None:
    arrays = {"y": options.y, "sample_weight": options.sample_weight, "row_id": options.row_id}
    for name, array in arrays.items():
        if array is not None:
            got, column = "an array beside data that are read in chunks", '"column"'
            if isinstance(array, str):
                got, column = f"{array!r}, which the data themselves name", repr(array)
            fix = f"Name the column where the data are opened: sd.parquet(path, {name}={column})"
            raise DataError(name, got, "the name of a column, given to the data", fix)


def _reader(
    source: ParquetData, library: RowsLibrary, options: ExplainOptions
) -> tuple[ChunkReader, Dataset, list[str]]:
    """Return the reader of chunks, the first rows, and what was read for times and categories."""
    import pyarrow as pa

    schema = pa.schema([source.schema.field(name) for name in source.columns])
    types = pa.schema([field.with_type(_type_of(field, source, library)) for field in schema])
    weighted = source.weight_name is not None
    dtype = _array_dtype(types) if library == "numpy" else None
    _, rows = next(source.chunks(_HEAD_ROWS))
    reader = ChunkReader(source, (), library, {}, {}, types, dtype, None, weighted)
    reader, passes = _with_times_and_categories(reader, reader.dataset(rows, 0), options)
    inferred = tuple(
        replace(f, name=name, key=name)
        for f, name in zip(reader.dataset(rows, 0).table.features(), source.columns, strict=True)
    )
    reader = replace(reader, features=apply_schema(inferred, options.schema))
    return reader, reader.dataset(rows, 0), passes


def _with_times_and_categories(
    reader: ChunkReader, head: Dataset, options: ExplainOptions
) -> tuple[ChunkReader, list[str]]:
    """Return the reader with the time axes and the categories of all rows, if there are such columns."""
    import pyarrow as pa
    import pyarrow.types as pt

    from skedasis.data.frames import FrameTable

    table = head.table
    formats = table.time_formats() if isinstance(table, FrameTable) else {}
    names = tuple(field.name for field in reader.types if pt.is_dictionary(field.type))
    if not formats and not names:
        return reader, []
    reader = replace(reader, times=formats)
    work = ScanPass(reader, tuple(formats), names)
    found = run_pass(work, ScanState.merge, reader.source, options, "Reading times and categories")
    kinds: dict[str, Any] = {name: reader.types.field(name).type for name in names}
    declared = _declared_levels(head, reader.source.columns, options)
    categories = {
        name: pa.array(found.ordered(name, declared.get(name), reader.source), kind.value_type)
        for name, kind in kinds.items()
    }
    times = {
        j: replace(known, axis=_axis(known.axis, found.ticks[j])) if j in found.ticks else known
        for j, known in formats.items()
    }
    return replace(reader, times=times, categories=categories), ["times and categories"]


def _declared_levels(
    head: Dataset, names: Sequence[str], options: ExplainOptions
) -> dict[str, tuple[Level, ...]]:
    """Return the levels that the caller's schema declares, by the name of the column."""
    bare = tuple(
        replace(f, name=name, key=name, levels=None)
        for f, name in zip(head.table.features(), names, strict=True)
    )
    features = apply_schema(bare, options.schema)
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


def _pivot(head: Dataset, feature: Feature) -> float | None:
    """Return a value near the middle of a column; None if its values are not numbers."""
    try:
        x = head.floats(feature.position)
    except (ValueError, TypeError):
        return None
    x = x[np.isfinite(x)]
    return float(np.median(x)) if len(x) else 0.0


def _key_limit(draw: int, n: int, reader: ChunkReader) -> float:
    """Return a key above which no row is drawn: no limit if keys depend on weights."""
    if (reader.weighted and not reader.source.equal_weights) or draw >= n:
        return float("inf")
    # Six standard deviations above the expected number.
    return min(1.0, (draw + 6 * np.sqrt(draw) + 40) / n)


def _dataset(
    reader: ChunkReader,
    found: FirstState,
    head: Dataset,
    quantum: float | None,
    leveled: Mapping[ColumnPositions, Feature],
    passes: list[str],
    *,
    sampling: bool = False,
) -> StreamedDataset:
    """Return the data set from what the first pass found."""
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
    examples = np.unique(
        np.concatenate([np.zeros(0, dtype=np.int64), *(v.rows for v in levels.values())])
    )
    if len(examples):
        reader = replace(reader, examples=reader.unified(rows.take(examples)))
    return StreamedDataset(
        here.table,
        here.features,
        here.y,
        here.weights,
        None,
        here.library,
        keys=numbers if source.row_id_name is None else here.keys,
        reader=reader,
        n=source.n_rows,
        positions=numbers,
        drawn=drawn,
        columns=columns,
        level_counts=levels,
        sum_of_weights=float(source.total_weight),
        passes=passes,
        examples=examples,
        leveled=leveled,
        quantum=quantum,
        sampling_weights=sampling,
    )


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


# ------------------------------------------------------------------------------------ answers
def known(dataset: Dataset, options: ExplainOptions, work: Callable[[], ResultT]) -> ResultT:
    """Return what `work` returns, after as many passes over the data as its plans ask for."""
    while True:
        try:
            return work()
        except NotYetKnown:
            answer(dataset, options)


def answer(dataset: Dataset, options: ExplainOptions) -> None:
    """Answer all that columns were asked for and did not know, in one pass over the data; in more if it is narrowed."""
    if not isinstance(dataset, StreamedDataset):
        raise TypeError("only data that are read in chunks have open questions")
    if dataset.joint.uncounted:
        _count_within(dataset, options)
        return
    within = dataset.joint.columns.values()
    columns = [c for c in (*dataset.columns.values(), *within) if isinstance(c, CountedColumn)]
    open_requests = [(column, request) for column in columns for request in column.requests]
    budget = _BUDGET // max(1, len(open_requests))
    questions = [Question.of(column, request, budget) for column, request in open_requests]
    pending = questions
    while pending:
        found = run_pass(
            AnswerPass(dataset.reader, pending),
            AnswerState.merge,
            dataset.reader.source,
            options,
            "Order statistics",
        )
        dataset.passes.append("order statistics")
        for index, question in enumerate(pending):
            question.take(found.parts[index])
        pending = [q for q in pending if not q.answered]
    for (column, request), question in zip(open_requests, questions, strict=True):
        column.answer(request, question.answer())
    if dataset.joint.requests and not questions:
        _count_jointly(dataset, options)


def _compared(dataset: StreamedDataset, request: TableRequest) -> tuple[LevelColumn, Feature]:
    """Return the levels and the other feature of a request."""
    column = dataset.levels(dataset.leveled[request.feature], top=request.levels)
    return column, next(f for f in dataset.features if f.columns == request.other)


def _count_within(dataset: StreamedDataset, options: ExplainOptions) -> None:
    """Count numeric features in the rows that have a level of a categorical one, in one pass."""
    parts: list[Within] = []
    for request in sorted(dataset.joint.uncounted):
        column, other = _compared(dataset, request)
        known = dataset.columns[other.position]
        pivot = known.counts.pivot if isinstance(known, CountedColumn) else 0.0
        parts.append(Within(request, column, other.position, pivot))
    work = WithinPass(dataset.reader, parts, dataset.quantum)
    found = run_pass(work, merge_counts, dataset.reader.source, options, "Comparing levels")
    dataset.passes.append("values in the rows with a level")
    for part, counts in zip(parts, found, strict=True):
        dataset.joint.put_column(part.request, _column_within(dataset, part, counts))


def _column_within(
    dataset: StreamedDataset, part: Within, counts: ColumnCounts
) -> CountedColumn | None:
    """Return a numeric feature in the rows that have a level; None if it has no value in them."""
    if not counts.n:
        return None
    # Only its quantiles are used, not its standard deviation.
    moments = column_moments(np.array([counts.low, counts.high]), None)
    dtype = dataset.table.numeric_type(part.position)
    feature = dataset.features[part.position]
    column = CountedColumn(
        feature, counts, moments, dtype, dataset.quantum, sampling=dataset.sampling_weights
    )
    column.within = part.column
    return column


def _count_jointly(dataset: StreamedDataset, options: ExplainOptions) -> None:
    """Count categorical features by the cells of other features, in one pass."""
    requests = sorted(dataset.joint.requests)
    tables: list[JointTable] = []
    for request in requests:
        column, other = _compared(dataset, request)
        cells = dataset.cells_to_compare(column, other)
        if cells is None:
            raise TypeError("a table of a feature that is not compared")
        tables.append(JointTable(request, column, cells, other.position))
    work = JointPass(dataset.reader, tables, dataset.quantum)
    found = run_pass(work, merge_tables, dataset.reader.source, options, "Comparing levels")
    dataset.passes.append("levels by other features")
    for request, table in zip(requests, found, strict=True):
        dataset.joint.answer(request, table)
