"""Containers of rows that are data frames: pandas, Polars, PyArrow and others that narwhals supports."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, cast, runtime_checkable

import narwhals.stable.v2 as nw
import numpy as np

from skedasis._types import Bools, Container, Floats, Ints, Level, Values
from skedasis.data.containers import (
    Buffer,
    DonorRows,
    LevelReplacement,
    Part,
    Replacement,
    RowIndex,
    SetChanges,
    Table,
    fits,
    integer_ends,
    object_kind,
    to_float,
)
from skedasis.data.factorize import Factorized, coded_array, coded_objects, dense_codes, is_absent
from skedasis.data.features import Feature, Kind
from skedasis.data.time_columns import (
    NOT_A_TIME,
    Series,
    TimeObjects,
    arrow_type,
    arrow_unit,
    kind_of_column,
    native_of,
    objects_of,
    rescaled,
    ticks_of,
)
from skedasis.data.times import TimeAxis, TimePoints, TimeTicks
from skedasis.errors import DataError

if TYPE_CHECKING:
    from narwhals.dtypes import DType
    from narwhals.typing import EagerAllowed, IntoBackend, IntoDataFrame

Frame: TypeAlias = "nw.DataFrame[IntoDataFrame]"
"""A data frame of any library. What is read from its native form has no type: each library has its own."""

_NUMPY: dict[str, np.dtype[np.generic]] = {
    "Boolean": np.dtype(bool),
    **{f"Float{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
    **{
        f"{sign}nt{bits}": np.dtype(f"{sign}nt{bits}".lower())
        for sign in ("I", "UI")
        for bits in (8, 16, 32, 64)
    },
}
"""The NumPy equivalents of column types. A replaced column keeps its type if the new values fit."""

_WIDE = (nw.Int128, nw.UInt128)
"""Types of integers without a NumPy equivalent."""

_CONVERTED_ROWS = 100_000
"""Most rows of a frame whose columns are kept as float64 beside it."""

_COPIED_CELLS = 2**22
"""Most values of a frame that is copied to have fewer blocks (32 MB): selecting rows of more takes longer than that."""


class FrameTable(Table["IntoDataFrame"]):
    """An eager data frame. Models are called with frames of the same library, with the columns in X's order."""

    def __init__(self, X: IntoDataFrame) -> None:
        try:
            frame = nw.from_native(X)
        except nw.exceptions.DuplicateError as error:
            raise DataError(
                "X",
                "a column name more than once",
                "unique column names",
                "Rename the columns, for example X.columns = [...]",
            ) from error
        if isinstance(frame, nw.LazyFrame):
            raise DataError("X", "a lazy frame", "an eager data frame", "Call X.collect() first")
        self.frame: Frame = frame
        self.columns = list(frame.columns)
        nameless = [j for j, label in enumerate(self.columns) if is_absent(label)]
        if nameless:
            raise DataError(
                "X",
                f"the column name {self.columns[nameless[0]]!r} (column {nameless[0]})",
                "column names that are not missing",
                "Rename the columns, for example X.columns = [...]",
            )
        self.dtypes: list[DType] = list(frame.schema.values())
        self._times: dict[int, TimeColumn | None] = {}
        self._converted: dict[int, Floats] = {}
        self._plain: dict[int, Values | None] = {}
        self._check_rows_can_be_selected()

    def _check_rows_can_be_selected(self) -> None:
        """Raise for columns of Arrow types, such as views of text, from which the library cannot select rows."""
        known = (nw.Unknown, nw.String, nw.Binary)
        some = [j for j, dtype in enumerate(self.dtypes) if dtype in known]
        if not (some and self.frame.implementation.is_pyarrow()):
            return
        for j in some:
            series = self.series(j)
            try:
                series.head(1)[np.zeros(min(len(series), 1), dtype=np.int64)]
            except NotImplementedError as error:
                raise DataError(
                    f"column {self.columns[j]!r}",
                    f"the type {native_of(series).type}, of which pyarrow cannot select rows",
                    "a type with a kernel for take",
                    "Cast it to its plain type, for example column.cast(pa.string())",
                ) from error

    @cached_property
    def whole_blocks(self) -> Frame:
        """The frame; of a small pandas frame of many blocks, as after insertions, a copy with one for each type.

        Selecting rows takes time for each block.
        """
        native = _as_pandas(self.frame)
        if native is None or len(self.frame) * len(self.columns) > _COPIED_CELLS:
            return self.frame
        plain = [b.dtype for b in _blocks(native) if isinstance(b.values, np.ndarray)]
        return self.frame.clone() if len(plain) > len(set(plain)) else self.frame

    @property
    def library(self) -> str:
        return self.frame.implementation.value

    def __len__(self) -> int:
        return len(self.frame)

    def features(self) -> tuple[Feature, ...]:
        """Return the columns as features, with the kinds that their types suggest."""
        return tuple(
            Feature(
                str(label),
                self._kind(j),
                levels=self._levels(j),
                position=j,
                key=label.item() if isinstance(label, np.generic) else label,
                dtype=str(self.dtypes[j]),
                time=None if (times := self._time(j)) is None else times.axis,
            )
            for j, label in enumerate(self.columns)
        )

    def series(self, j: int) -> Series:
        """Return column j (by `get_column`, because `frame[label]` takes an integer label for a row)."""
        return self.frame.get_column(self.columns[j])

    def _time(self, j: int) -> TimeColumn | None:
        """Return column j as a column of times; None if it has no times."""
        if j not in self._times:
            numbers = self.dtypes[j].is_numeric() or self.dtypes[j] in (nw.String, nw.Boolean)
            self._times[j] = None if numbers else TimeColumn.of(self.series(j))
        return self._times[j]

    def time_formats(self) -> dict[int, TimeFormat]:
        """Return how the columns of times are read, by position."""
        times = {j: self._time(j) for j in range(len(self.columns))}
        return {j: t.format for j, t in times.items() if t is not None}

    def with_times(self, formats: Mapping[int, TimeFormat]) -> Self:
        """Return the table with the columns of times read as in a larger one, of which this is a part."""
        for j, known in formats.items():
            self._times[j] = TimeColumn.on(known, self.series(j))
        return self

    def tick_range(self, j: int) -> tuple[int, int, int] | None:
        """Return the smallest and largest tick of a column of times, and the common divisor of all; None if empty."""
        times = self._time(j)
        return None if times is None else times.tick_range()

    def _kind(self, j: int) -> Kind:
        dtype = self.dtypes[j]
        if dtype.is_numeric() or self._time(j) is not None:
            return "continuous"
        if dtype in (
            nw.Object,
            nw.Unknown,
        ):  # half precision is unknown to older versions of narwhals
            return object_kind(self.series(j).to_list())
        # narwhals represents an ordered categorical as Enum. It has an order, but its codes have no distances.
        return "ordinal" if dtype == nw.Enum else "nominal"

    def _levels(self, j: int) -> tuple[Level, ...] | None:
        dtype = self.dtypes[j]
        return tuple(dtype.categories) if isinstance(dtype, nw.Enum) else None

    def column(self, j: int, rows: RowIndex | None = None) -> Floats:
        if len(self.frame) > _CONVERTED_ROWS or not self.dtypes[j].is_numeric():
            return self._floats(j, rows)
        # Few rows are read hundreds of times, for each feature and batch, and conversion takes longer than a copy.
        if j not in self._converted:
            self._converted[j] = self._floats(j, None)
        return np.array(self._converted[j] if rows is None else self._converted[j][rows])

    def _floats(self, j: int, rows: RowIndex | None) -> Floats:
        series = self.series(j)
        if rows is not None:
            series = series[rows]
        times = self._time(j)
        if times is not None:
            return times.days(series)
        if series.dtype == nw.Object:
            return to_float(series.to_list())
        try:
            if series.dtype in _WIDE:  # NumPy has no such integers
                return to_float(series.to_list())
            if series.dtype.is_integer():  # Arrow refuses to cast integers that float64 rounds
                return to_float(series.to_numpy())
            return to_float(series.cast(nw.Float64).to_numpy())
        except (
            Exception
        ) as error:  # each library has its own exception for text that is not a number
            raise ValueError(str(error)) from error

    def integer_ends(self, j: int, rows: RowIndex | None = None) -> tuple[int, int] | None:
        dtype = self.dtypes[j]
        series = self.series(j) if rows is None else self.series(j)[rows]
        if dtype == nw.Object:
            return integer_ends(series.to_list())
        # Narrower integers cannot exceed 2**53.
        if dtype not in (nw.Int64, nw.UInt64, nw.Int128, nw.UInt128):
            return None
        low, high = series.min(), series.max()
        return None if low is None or high is None else (int(low), int(high))

    def coded(self, j: int, rows: RowIndex | None = None) -> Factorized:
        series = self.series(j) if rows is None else self.series(j)[rows]
        what, dtype = f"column {self.columns[j]!r}", series.dtype
        if dtype.is_float():
            values = series.to_numpy()
            return coded_array(to_float(values) if values.dtype.kind == "O" else values)
        if dtype in _WIDE:
            return coded_objects(series.to_list(), what)
        if dtype.is_integer() or dtype == nw.Boolean:
            null = series.is_null().to_numpy()
            filled = series.fill_null(0 if dtype.is_integer() else False) if null.any() else series
            return coded_array(np.asarray(filled.to_numpy(), dtype=_NUMPY.get(str(dtype))), null)
        keys = _physical_codes(series)
        if keys is None:
            return coded_objects(series.to_list(), what)
        codes, first = dense_codes(keys, keys >= 0)
        return Factorized(codes, coded_objects(series[first].to_list(), what).values)

    def categories(self, j: int) -> Sequence[Level] | None:
        if self.dtypes[j] not in (nw.Categorical, nw.Enum):
            return None
        return self.series(j).cat.get_categories().to_list()

    def made(self, j: int, values: Floats) -> Series | None:
        """Return days as a column of times like column j; None if column j has no times."""
        times = self._time(j)
        return None if times is None else times.made(values, self.columns[j])

    def plain(self, j: int) -> Values | None:
        """Return column j of a small frame as an array of its own numbers; None if it has others, or missing ones."""
        if j not in self._plain:
            series, dtype = self.series(j), _NUMPY.get(str(self.dtypes[j]))
            pandas = series.implementation.is_pandas_like()
            own = dtype is not None and (
                native_of(series).dtype == dtype if pandas else not series.null_count()
            )
            few = len(self.frame) <= _CONVERTED_ROWS
            self._plain[j] = np.asarray(series.to_numpy(), dtype) if own and few else None
        return self._plain[j]

    def numeric_type(self, j: int) -> np.dtype[np.generic]:
        return _NUMPY.get(str(self.dtypes[j]), np.dtype(float))

    def value(self, j: int, row: int) -> object:
        value = self.series(j)[np.array([row])].to_list()[0]
        return value.item() if isinstance(value, np.generic) else value

    def to_array(self) -> Values:
        """Return all columns as one array; it is numeric if all columns are numbers or booleans."""
        if all(dtype.is_numeric() or dtype == nw.Boolean for dtype in self.dtypes):
            array = self.frame.to_numpy()
            if array.dtype.kind != "O":  # pandas makes objects of numbers mixed with booleans
                return array
            return np.stack([self.column(j) for j in range(len(self.columns))], axis=1)
        return decoded(self.frame).to_numpy()

    def tile(
        self, rows: RowIndex, copies: int, used: Buffer[Container] | None = None
    ) -> FrameBuffer:
        return FrameBuffer(self, rows, copies)

    def joined(self, rows: Ints, parts: Sequence[Part]) -> IntoDataFrame:
        return FrameBuffer(self, rows, 1).joined(parts)

    def keeps_types(self, changes: SetChanges) -> bool:
        return all(
            isinstance(values, LevelReplacement | DonorRows)
            or self._time(j) is not None
            or self.keeps_type(j, values)
            for j, values in changes.items()
        )

    def is_frozen(self, rows: object) -> bool:
        """Return whether some memory of rows for the model is read-only, as of pandas frames for several calls."""
        native = _as_pandas(nw.from_native(cast("IntoDataFrame", rows), eager_only=True))
        blocks = () if native is None else _blocks(native)
        return not all(array.flags.writeable for b in blocks for array in _memory(b.values))

    def keeps_type(self, j: int, values: Floats | Sequence[Floats]) -> bool:
        """Return whether a column of numbers keeps its type with these values."""
        return str(self.dtypes[j]) in _NUMPY and fits(values, self.numeric_type(j))


class FrameBuffer(Buffer["IntoDataFrame"]):
    """The data frames that are passed to the model for a batch of rows.

    They share the columns that are not replaced: the batch is repeated once, not for each call. A model that needs to
    write to shared memory fails, with an error of whatever kind, upon which it gets a copy (`BatchEvaluator`).
    """

    def __init__(self, table: FrameTable, rows: RowIndex, copies: int) -> None:
        self.table, self.rows, self.copies = table, rows, copies
        self.n = rows.stop - rows.start if isinstance(rows, slice) else len(rows)

    @cached_property
    def index(self) -> Ints:
        """The rows of the table, repeated `copies` times, one set after the other."""
        rows = self.rows
        index = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        return np.tile(index, self.copies)

    @cached_property
    def tiled(self) -> Frame:
        """The repeated rows."""
        tiled = self.table.whole_blocks[self.index]
        native = _as_pandas(tiled)
        if native is not None:
            _freeze(native)
        return tiled

    def own(self) -> IntoDataFrame:
        """Return a copy of the batch's rows without replacements."""
        return self.table.whole_blocks[self.rows].clone().to_native()

    def swept(self, changes: SetChanges, sets: int) -> IntoDataFrame:
        return self._with({j: self._new(j, v, self.n) for j, v in changes.items()}, sets * self.n)

    def joined(self, parts: Sequence[Part]) -> IntoDataFrame:
        size = parts[-1].stop
        by_column: dict[int, list[Part]] = {}
        for part in parts:
            for j in part.changes:
                by_column.setdefault(j, []).append(part)
        return self._with({j: self._partly(j, some, size) for j, some in by_column.items()}, size)

    def _with(self, columns: Mapping[int, Series | Values], size: int) -> IntoDataFrame:
        """Return the first repeated rows with other columns."""
        native = _as_pandas(self.tiled)
        if native is not None:
            return _exchanged(native, size, columns)
        frame = self.tiled if size == len(self.tiled) else self.tiled.head(size)
        new = [column for column in columns.values() if not isinstance(column, np.ndarray)]
        return frame.with_columns(*new).to_native()

    def _partly(self, j: int, parts: Sequence[Part], size: int) -> Series | Values:
        """Return the first repeated rows of a column, of which some are replaced."""
        rows = self.index[:size].copy()
        places: list[Ints] = []
        numbers: list[Floats] = []
        for part in parts:
            values, n = part.changes[j], (part.stop - part.start) // part.sets
            if isinstance(values, LevelReplacement | DonorRows):
                rows[part.start : part.stop] = _row_numbers(values, n)
            else:
                places.append(np.arange(part.start, part.stop))
                numbers.append(_numbers(values, n))
        if not numbers:
            return self.table.series(j)[rows]
        plain = self.table.plain(j)
        if plain is not None:
            found = plain[rows]
            found[np.concatenate(places)] = np.concatenate(numbers)
            return self._column(j, cast("Floats", found), kept=True)
        new = self._column(j, np.concatenate(numbers))
        return self.table.series(j)[rows].scatter(np.concatenate(places).tolist(), new)

    def _new(self, j: int, values: Replacement, n: int) -> Series | Values:
        if isinstance(values, LevelReplacement | DonorRows):
            # Selected by index, never by value, so that the column keeps its type.
            return self.table.series(j)[_row_numbers(values, n)]
        return self._column(j, _numbers(values, n))

    def _column(self, j: int, values: Floats, *, kept: bool | None = None) -> Series | Values:
        """Return values as a column like column j; with its type if the values fit, else as float64.

        A column of NumPy's own in a pandas frame is an array.
        """
        table = self.table
        times = table.made(j, values)
        if times is not None:
            return times
        kept = table.keeps_type(j, values) if kept is None else kept
        numbers = np.asarray(values, table.numeric_type(j) if kept else float)
        implementation = table.frame.implementation
        if implementation.is_pandas() and (not kept or table.plain(j) is not None):
            return numbers
        dtype = table.dtypes[j] if kept else nw.Float64
        series = nw.new_series(table.columns[j], numbers, dtype, backend=implementation)
        if not (implementation.is_pandas_like() and kept):
            return series
        # pandas has several types for the same numbers: NumPy, nullable, and Arrow types.
        own = native_of(table.series(j)).dtype
        return nw.from_native(native_of(series).astype(own), series_only=True)


def _numbers(values: Floats | Sequence[Floats], n: int) -> Floats:
    """Return the values of a replacement of n rows, one set after the other."""
    return np.stack([np.broadcast_to(v, n) for v in values]).ravel()


def _row_numbers(values: LevelReplacement | DonorRows, n: int) -> Ints:
    """Return the rows of the table that have the values of a replacement of n rows, one set after the other."""
    if isinstance(values, DonorRows):
        return np.broadcast_to(values.rows, (len(values.rows), n)).ravel()
    return values.rows[np.broadcast_to(values.codes, (len(values.codes), n)).ravel()]


# --------------------------------------------------------------------------- memory of pandas frames
class _Block(Protocol):
    """An array with the values of columns of one type."""

    dtype: object
    values: object


class _Manager(Protocol):
    blocks: Sequence[_Block]


class _RowsByPosition(Protocol):
    def __getitem__(self, rows: slice, /) -> _PandasFrame: ...


class _PandasFrame(Protocol):
    """The members of a pandas frame that are used here and that narwhals does not offer."""

    index: object
    iloc: _RowsByPosition
    _mgr: _Manager
    _is_copy: object

    def isetitem(self, loc: int, value: object) -> None: ...


@runtime_checkable
class _OneArray(Protocol):
    """A column of categories, of times with a zone or of text."""

    _ndarray: Values

    def _from_backing_data(self, array: Values, /) -> object: ...


@runtime_checkable
class _MaskedArray(Protocol):
    """A column of numbers that may be missing."""

    _data: Values
    _mask: Bools

    def __init__(self, values: Values, mask: Values, /) -> None: ...


def _as_pandas(frame: Frame) -> _PandasFrame | None:
    """Return a frame of pandas; None for one of another library."""
    native: object = frame.to_native()
    return cast("_PandasFrame", native) if frame.implementation.is_pandas() else None


def _blocks(frame: _PandasFrame) -> Sequence[_Block]:
    return frame._mgr.blocks  # noqa: SLF001 - they have no public name


def _memory(values: object) -> tuple[Values, ...]:
    """Return the arrays of a block that a model could write to; Arrow columns have none."""
    if isinstance(values, np.ndarray):
        return (values,)
    if isinstance(values, _OneArray):
        return (values._ndarray,)  # noqa: SLF001
    if isinstance(values, _MaskedArray):
        return values._data, values._mask  # noqa: SLF001
    return ()


def _freeze(frame: _PandasFrame) -> None:
    """Make the memory of a frame read-only for all who reach it through this frame.

    By views: where pandas copies on write, the selected rows may be those of the user's frame.
    """
    for block in _blocks(frame):
        values, views = block.values, [array.view() for array in _memory(block.values)]
        for view in views:
            view.flags.writeable = False
        if isinstance(values, _OneArray):
            block.values = values._from_backing_data(*views)  # noqa: SLF001
        elif isinstance(values, _MaskedArray):
            block.values = type(values)(*views)
        elif views:
            (block.values,) = views


def _exchanged(
    frame: _PandasFrame, size: int, columns: Mapping[int, Series | Values]
) -> IntoDataFrame:
    """Return the first rows of a frame with other columns at some positions.

    narwhals builds a new frame from all columns, which for all features takes time quadratic in their number.
    """
    # A slice, because its columns of extension types are objects of their own. pandas warns when a model adds a column
    # to a slice; it does not know that nobody reads the frame of which this is a part.
    part = frame.iloc[:size]
    part._is_copy = None  # noqa: SLF001 - there is no public way to reset it without another copy
    for j, column in columns.items():
        # With the frame's index nothing is aligned, and a series keeps its type where an array of objects would not.
        numbers = isinstance(column, np.ndarray)
        part.isetitem(j, column if numbers else native_of(column).set_axis(part.index))
    return cast("IntoDataFrame", part)


def decoded(frame: Frame) -> Frame:
    """Return an Arrow frame with dictionary columns decoded; other frames unchanged."""
    if not frame.implementation.is_pyarrow():
        return frame
    new: list[Series] = []
    for label, dtype in frame.schema.items():
        if dtype == nw.Categorical:
            native = native_of(frame.get_column(label))
            plain = native.cast(native.type.value_type)
            new.append(nw.from_native(plain, series_only=True).alias(label))
    return frame.with_columns(*new)


def _physical_codes(series: Series) -> Ints | None:
    """Return the library's integer codes of a column's values, -1 where missing; None if it has no codes."""
    library, native = series.implementation, native_of(series)
    if library.is_pandas_like():
        if native.dtype == object:  # pandas treats 1 and True as equal
            return None
        if series.dtype.is_nested():  # Arrow lists and structures, which have no codes
            return None
        # An Arrow dictionary is a categorical of narwhals, but not of pandas.
        categories = str(native.dtype) == "category"
        return np.asarray(native.cat.codes if categories else native.factorize()[0], dtype=np.int64)
    text = series.dtype == nw.String
    if library.is_polars() and (text or series.dtype in (nw.Categorical, nw.Enum)):
        return _polars_codes(series.cast(nw.Categorical) if text else series)
    if library.is_pyarrow() and (text or series.dtype in (nw.Categorical, nw.Enum)):
        # Each chunk has its own dictionary until they are unified.
        encoded = native.dictionary_encode().unify_dictionaries()
        parts = [part.indices.fill_null(-1).to_numpy() for part in encoded.chunks]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts]).astype(np.int64)
    return None


def _polars_codes(series: Series) -> Ints:
    physical = nw.from_native(native_of(series).to_physical(), series_only=True)
    return physical.cast(nw.Int64).fill_null(-1).to_numpy()


# ------------------------------------------------------------------------- columns of times
@dataclass(frozen=True)
class TimeFormat:
    """How a column of times is read: its axis, and the type of its objects if it is a column of objects."""

    axis: TimeAxis
    objects: TimeObjects | None


class TimeColumn:
    """A data frame column of times: its axis, and the conversion of days to the column's own type."""

    def __init__(
        self,
        axis: TimeAxis,
        series: Series,
        ticks: Ints,
        present: Bools,
        objects: TimeObjects | None = None,
    ) -> None:
        self.axis = axis
        self._series, self._ticks, self._objects = series, TimeTicks(axis, ticks, present), objects

    @classmethod
    def of(cls, series: Series) -> TimeColumn | None:
        """Return a column of times; None if the column does not have times only."""
        objects = objects_of(series)
        kind_unit_zone = kind_of_column(series, objects)
        if kind_unit_zone is None:
            return None
        kind, unit, zone = kind_unit_zone
        ticks, present = ticks_of(series, unit, objects)
        axis = TimeAxis.fitting(kind, unit, ticks, present, zone)
        return cls(axis, series, ticks, present, objects)

    @classmethod
    def on(cls, known: TimeFormat, series: Series) -> TimeColumn:
        """Return a column of times on a given axis."""
        ticks, present = ticks_of(series, known.axis.unit, known.objects)
        return cls(known.axis, series, ticks, present, known.objects)

    @property
    def format(self) -> TimeFormat:
        """Return how the column is read."""
        return TimeFormat(self.axis, self._objects)

    def tick_range(self) -> tuple[int, int, int] | None:
        """Return the smallest and the largest tick, and the common divisor of all; None without values."""
        ticks, present = ticks_of(self._series, self.axis.unit, self._objects)
        some = ticks[present]
        if not len(some):
            return None
        return int(some.min()), int(some.max()), int(np.gcd.reduce(some))

    def days(self, series: Series) -> Floats:
        """Return values of the column as days; NaN where missing."""
        return self.axis.days_of_ticks(*ticks_of(series, self.axis.unit, self._objects))

    def made(self, days: Floats, label: str) -> Series:
        """Return days as a column of the same type; observed values are exact, others rounded to its resolution."""
        ticks = self._ticks(days)
        if self._objects is not None:
            objects = self._objects.made(ticks.view(self.axis.dtype))
            native = native_of(self._series).__class__(objects, dtype=object)
        else:
            native = _series_of(ticks, self.axis, self._series)
        return nw.from_native(native, series_only=True).alias(label)


def _series_of(ticks: Ints, axis: TimeAxis, column: Series) -> Any:
    """Return ticks as a native column."""
    library, like, arrow = column.implementation, native_of(column), arrow_type(column)
    if library.is_polars():
        pl = importlib.import_module("polars")
        whole = pl.Series(ticks)
        if (ticks == NOT_A_TIME).any():
            whole = whole.set(whole == NOT_A_TIME, None)
        return (whole.cast(pl.Int32) if axis.kind == "date" else whole).cast(like.dtype)
    if library.is_pyarrow():
        return importlib.import_module("pyarrow").chunked_array([_arrow(ticks, axis, arrow)])
    if arrow is not None:
        made = like.array.__class__(_arrow(ticks, axis, arrow))
        return like.__class__(made, dtype=like.dtype)
    times = ticks.view(axis.dtype)
    series = like.__class__(times)
    if axis.zone is not None:
        series = series.dt.tz_localize("UTC").dt.tz_convert(like.dtype.tz)
    return series.astype(like.dtype)


def _arrow(ticks: Ints, axis: TimeAxis, wanted: Any) -> Any:
    pa = importlib.import_module("pyarrow")
    missing = ticks == NOT_A_TIME
    scaled = rescaled(np.where(missing, 0, ticks), axis.unit, arrow_unit(wanted))
    whole = pa.array(scaled, mask=missing)
    return (whole.cast(pa.int32()) if wanted.bit_width == 32 else whole).cast(wanted)


def as_series(points: TimePoints, name: str, backend: IntoBackend[EagerAllowed]) -> Series:
    """Return points of a time axis as a column of a data frame library."""
    axis, times = points.axis, points.axis.times(points.days)
    if axis.kind == "time":
        clock = [None if v is None else time.fromisoformat(v) for v in points.tolist()]
        return nw.new_series(name, clock, backend=backend)
    unit = axis.unit
    if unit in ("h", "m", "s") or (unit == "D" and axis.kind != "date"):
        unit = "ms" if backend == "polars" else "s"  # Polars has no unit of seconds
    series = nw.new_series(name, times.astype(f"{times.dtype.kind}8[{unit}]"), backend=backend)
    if axis.zone is None:
        return series
    series = series.dt.replace_time_zone("UTC")
    try:
        return series.dt.convert_time_zone(axis.zone)
    except Exception:  # noqa: BLE001 - each library has its own, for zones that it does not know
        return series
