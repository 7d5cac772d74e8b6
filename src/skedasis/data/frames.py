"""Tables that are data frames: pandas, Polars, PyArrow and whatever else narwhals reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints
from skedasis.data.arrays import Rows, fits, integer_ends, object_kind, to_float
from skedasis.data.changes import Borrowed, Coded, Values
from skedasis.data.coding import coded_array, coded_objects, dense
from skedasis.data.schema import Feature
from skedasis.data.time_columns import TimeColumn
from skedasis.errors import DataError, explained

_NUMPY: dict[str, np.dtype[Any]] = {
    "Boolean": np.dtype(bool),
    **{f"Float{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
    **{
        f"{sign}nt{bits}": np.dtype(f"{sign}nt{bits}".lower())
        for sign in ("I", "UI")
        for bits in (8, 16, 32, 64)
    },
}
"""Column types that NumPy has too: a swept column keeps them if its values fit."""


class FrameTable:
    """An eager data frame. Models are called with the same kind of frame, columns in X's order."""

    def __init__(self, X: Any) -> None:
        try:
            frame = nw.from_native(X)
        except nw.exceptions.DuplicateError as error:
            raise DataError(
                explained(
                    "X",
                    "a column name more than once",
                    "names that differ",
                    "Rename the columns, for example X.columns = [...]",
                )
            ) from error
        if isinstance(frame, nw.LazyFrame):
            raise DataError(
                explained("X", "a lazy frame", "rows in memory", "Call X.collect() first")
            )
        self.frame: nw.DataFrame[Any] = frame
        self.columns = list(frame.columns)
        self.dtypes: list[Any] = list(frame.schema.values())
        self._times: dict[int, TimeColumn | None] = {}

    @property
    def library(self) -> str:
        """Return the frame's library, for tables that are to be of the same kind."""
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
                label=label,
                dtype=str(self.dtypes[j]),
                time=None if (times := self._time(j)) is None else times.axis,
            )
            for j, label in enumerate(self.columns)
        )

    def series(self, j: int) -> nw.Series[Any]:
        """Return column j. Labels need not be text: `frame[label]` would take a number for a row."""
        return self.frame.get_column(self.columns[j])

    def _time(self, j: int) -> TimeColumn | None:
        """Return column j as one of times, None where it is none."""
        if j not in self._times:
            numbers = self.dtypes[j].is_numeric() or self.dtypes[j] in (nw.String, nw.Boolean)
            self._times[j] = None if numbers else TimeColumn.of(self.series(j))
        return self._times[j]

    def _kind(self, j: int) -> Any:
        dtype = self.dtypes[j]
        if dtype.is_numeric() or self._time(j) is not None:
            return "continuous"
        if dtype in (nw.Object, nw.Unknown):  # older narwhals do not know half precision
            return object_kind(self.series(j).to_list())
        # An ordered categorical arrives as Enum; its order counts, its codes have no distances.
        return "ordinal" if dtype == nw.Enum else "nominal"

    def _levels(self, j: int) -> tuple[Any, ...] | None:
        dtype = self.dtypes[j]
        return tuple(dtype.categories) if isinstance(dtype, nw.Enum) else None

    def column(self, j: int, rows: Rows | None = None) -> Floats:
        """Return column j as float64, NaN where a value is missing."""
        series = self.series(j)
        if rows is not None:
            series = series[rows]
        times = self._time(j)
        if times is not None:
            return times.days(series)
        if series.dtype == nw.Object:
            return to_float(series.to_list())
        try:
            if series.dtype.is_integer():  # Arrow casts no integers that float64 rounds
                return to_float(series.to_numpy())
            return to_float(series.cast(nw.Float64).to_numpy())
        except Exception as error:  # each library has its own for text that is no number
            raise ValueError(str(error)) from error

    def integer_ends(self, j: int, rows: Rows | None = None) -> tuple[int, int] | None:
        """Return the smallest and the largest integer of column j; None where there are none."""
        dtype = self.dtypes[j]
        series = self.series(j) if rows is None else self.series(j)[rows]
        if dtype == nw.Object:
            return integer_ends(series.to_list())
        # Narrow ones cannot be too large.
        if dtype not in (nw.Int64, nw.UInt64, nw.Int128, nw.UInt128):
            return None
        low, high = series.min(), series.max()
        return None if low is None or high is None else (int(low), int(high))

    def coded(self, j: int, rows: Rows | None = None) -> tuple[Ints, list[Any]]:
        """Return each row's place among column j's distinct values, -1 where missing, and these values."""
        series = self.series(j) if rows is None else self.series(j)[rows]
        what, dtype = f"column {self.columns[j]!r}", series.dtype
        if dtype.is_float():
            values = series.to_numpy()
            return coded_array(to_float(values) if values.dtype.kind == "O" else values)
        if dtype.is_integer() or dtype == nw.Boolean:
            null = series.is_null().to_numpy()
            filled = series.fill_null(0 if dtype.is_integer() else False) if null.any() else series
            return coded_array(np.asarray(filled.to_numpy(), dtype=_NUMPY.get(str(dtype))), null)
        keys = _keys(series)
        if keys is None:
            return coded_objects(series.to_list(), what)
        codes, first = dense(keys, keys >= 0)
        return codes, coded_objects(series[first].to_list(), what)[1]

    def made(self, j: int, values: Floats) -> nw.Series[Any] | None:
        """Return days as a column of times like column j; None where that is one of numbers."""
        times = self._time(j)
        return None if times is None else times.made(values, self.columns[j])

    def numeric_type(self, j: int) -> np.dtype[Any]:
        """Return the NumPy type that a swept value of column j has to fit into."""
        return _NUMPY.get(str(self.dtypes[j]), np.dtype(float))

    def value(self, j: int, row: int) -> Any:
        """Return one value of column j as a plain object."""
        value = self.series(j)[np.array([row])].to_list()[0]
        return value.item() if isinstance(value, np.generic) else value

    def to_array(self) -> NDArray[Any]:
        """Return all columns as one array: of floats if each is numbers or booleans."""
        if all(dtype.is_numeric() or dtype == nw.Boolean for dtype in self.dtypes):
            array = self.frame.to_numpy()
            if array.dtype.kind != "O":  # pandas mixes numbers and booleans as objects
                return array
            return np.stack([self.column(j) for j in range(len(self.columns))], axis=1)
        return decoded(self.frame).to_numpy()

    def tile(self, rows: Rows, copies: int, used: Any = None) -> FrameBuffer:
        """Return the rows `copies` times, one set after the other, ready to have a column replaced."""
        return FrameBuffer(self, rows, copies)


class FrameBuffer:
    """The frame that a batch's model calls share. Frames share columns, so only the swept one is new each time."""

    def __init__(self, table: FrameTable, rows: Rows, copies: int) -> None:
        self.table = table
        self.block = table.frame[rows]
        self.n, self.copies = len(self.block), copies
        # Rows of a pandas frame may be a view of the caller's: what a model writes to is a copy.
        self.tiled = nw.concat([self.block] * copies) if copies > 1 else self.block.clone()

    def own(self) -> Any:
        """Return a copy of the batch's rows as they are."""
        return self.block.clone().to_native()

    def swept(self, changes: Mapping[int, Values], sets: int) -> Any:
        """Return the rows `sets` times, one set after the other, with the columns that are keys replaced."""
        size = sets * self.n
        frame = self.tiled if size == len(self.tiled) else self.tiled.head(size)
        return frame.with_columns(*(self._new(j, v) for j, v in changes.items())).to_native()

    def _new(self, j: int, values: Values) -> nw.Series[Any]:
        if isinstance(values, Borrowed):
            rows = np.broadcast_to(values.rows, (len(values.rows), self.n)).ravel()
            return self.table.series(j)[rows]
        if isinstance(values, Coded):
            codes = np.broadcast_to(values.codes, (len(values.codes), self.n)).ravel()
            # Twice by place, never by value: the library's own types stay what they are.
            return self.table.series(j)[values.rows][codes]
        return self._series(j, np.stack([np.broadcast_to(v, self.n) for v in values]).ravel())

    def _series(self, j: int, values: Floats) -> nw.Series[Any]:
        """Return values as a column, of the type that column j has if they fit."""
        label, dtype = self.table.columns[j], self.table.dtypes[j]
        made = self.table.made(j, values)
        if made is not None:
            return made
        wanted = self.table.numeric_type(j)
        kept = str(dtype) in _NUMPY and fits(values, wanted)
        if not kept:
            dtype, wanted = nw.Float64, np.dtype(float)
        series = nw.new_series(
            label, values.astype(wanted), dtype, backend=self.block.implementation
        )
        if not (self.block.implementation.is_pandas_like() and kept):
            return series
        # pandas has several types for the same numbers: nullable ones, those of Arrow.
        own: Any = self.table.series(j).to_native().dtype
        return nw.from_native(series.to_native().astype(own), series_only=True)


def decoded(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Return a frame without Arrow's dictionaries: as NumPy arrays these have a wrong value where one is missing."""
    if not frame.implementation.is_pyarrow():
        return frame
    new: list[Any] = []
    for label, dtype in frame.schema.items():
        if dtype == nw.Categorical:
            native: Any = frame.get_column(label).to_native()
            plain = native.cast(native.type.value_type)
            new.append(nw.from_native(plain, series_only=True).alias(label))
    return frame.with_columns(*new)


def _keys(series: nw.Series[Any]) -> Ints | None:
    """Return whole numbers that are equal where values are, -1 where missing; None if the library has none at hand."""
    library, native = series.implementation, series.to_native()
    if library.is_pandas_like():
        if native.dtype == object:  # 1 and True are the same to pandas
            return None
        categories = series.dtype in (nw.Categorical, nw.Enum)
        return np.asarray(native.cat.codes if categories else native.factorize()[0], dtype=np.int64)
    text = series.dtype == nw.String
    if library.is_polars() and (text or series.dtype in (nw.Categorical, nw.Enum)):
        return _polars_keys(series.cast(nw.Categorical) if text else series)
    if library.is_pyarrow() and (text or series.dtype in (nw.Categorical, nw.Enum)):
        # Chunks have their own dictionaries until these are made one.
        encoded = native.dictionary_encode().unify_dictionaries()
        parts = [part.indices.fill_null(-1).to_numpy() for part in encoded.chunks]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts]).astype(np.int64)
    return None


def _polars_keys(series: nw.Series[Any]) -> Ints:
    physical = nw.from_native(series.to_native().to_physical(), series_only=True)
    return physical.cast(nw.Int64).fill_null(-1).to_numpy()
