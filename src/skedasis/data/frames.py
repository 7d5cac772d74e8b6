"""Tables that are data frames: pandas, Polars, PyArrow and whatever else narwhals reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from skedasis.data.arrays import Rows, fits, object_kind, to_float
from skedasis.data.schema import Feature
from skedasis.errors import DataError, explained
from skedasis.typing import Floats

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
            )
            for j, label in enumerate(self.columns)
        )

    def series(self, j: int) -> nw.Series[Any]:
        """Return column j. Labels need not be text: `frame[label]` would take a number for a row."""
        return self.frame.get_column(self.columns[j])

    def _kind(self, j: int) -> Any:
        dtype = self.dtypes[j]
        if dtype.is_numeric():
            return "continuous"
        if dtype == nw.Object:
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
        if series.dtype == nw.Object:
            return to_float(series.to_list())
        try:
            return to_float(series.cast(nw.Float64).to_numpy())
        except Exception as error:  # each library has its own for text that is no number
            raise ValueError(str(error)) from error

    def numeric_type(self, j: int) -> np.dtype[Any]:
        """Return the NumPy type that a swept value of column j has to fit into."""
        return _NUMPY.get(str(self.dtypes[j]), np.dtype(float))

    def to_array(self) -> NDArray[Any]:
        """Return all columns as one array: of floats if each is numbers or booleans."""
        if all(dtype.is_numeric() or dtype == nw.Boolean for dtype in self.dtypes):
            array = self.frame.to_numpy()
            if array.dtype.kind != "O":  # pandas mixes numbers and booleans as objects
                return array
            return np.stack([self.column(j) for j in range(len(self.columns))], axis=1)
        return self.frame.to_numpy()

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

    def swept(self, j: int, values: Floats | Sequence[Floats]) -> Any:
        """Return the rows once for each row of `values`, (sets, n) or (sets, 1), with column j replaced."""
        values = np.broadcast_to(values, (len(values), self.n)).ravel()
        frame = self.tiled if len(values) == len(self.tiled) else self.tiled.head(len(values))
        return frame.with_columns(self._series(j, values)).to_native()

    def _series(self, j: int, values: Floats) -> nw.Series[Any]:
        """Return values as a column, of the type that column j has if they fit."""
        label, dtype = self.table.columns[j], self.table.dtypes[j]
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
