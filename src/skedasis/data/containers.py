"""Containers of rows, NumPy arrays among them, and buffers in which columns of a batch are replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Number
from typing import Protocol, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

from skedasis._types import Container, Floats, Ints, Level, Values
from skedasis.data.factorize import Factorized, coded_array, is_missing
from skedasis.data.features import Feature, Kind
from skedasis.data.time_columns import TimeObjects, Times, is_times
from skedasis.data.times import TimeAxis, TimeTicks
from skedasis.errors import DataError


# ------------------------------------------------------------------------------ column replacements
@dataclass(frozen=True, eq=False)
class LevelReplacement:
    """Replacement of a column by levels, which are given as rows of X that have them."""

    codes: Ints
    rows: Ints


@dataclass(frozen=True, eq=False)
class DonorRows:
    """Replacement of a column by its values in donor rows of X."""

    rows: Ints

    @cached_property
    def mark(self) -> bytes:
        """Return a digest of the donor rows. It is computed once for all columns and outputs that use this object."""
        # Imported here: it loads OpenSSL.
        from hashlib import blake2b

        return blake2b(np.ascontiguousarray(self.rows).data, digest_size=24).digest()

    def part(self, first: int, last: int) -> DonorRows:
        """Return some of the sets. For all sets it returns itself, so that cached properties are reused."""
        if first == 0 and last >= len(self.rows):
            return self
        return DonorRows(self.rows[first:last])

    def strides(self, width: int) -> Ints:
        """Return the offsets of the donor rows in a flat array of rows of this width; cached."""
        cached: tuple[int, Ints] | None = self.__dict__.get("_strides")
        if cached is None or cached[0] != width:
            cached = width, self.rows * width
            self.__dict__["_strides"] = cached
        return cached[1]


Replacement: TypeAlias = Floats | Sequence[Floats] | LevelReplacement | DonorRows
"""Replacement of a column: floats of shape (sets, n) or (sets, 1), a sequence of `sets` arrays of shape (n,) or (1,),
or values of rows of X."""


SetChanges: TypeAlias = Mapping[int, Replacement]
"""Replaced values by column index, with the first axis over values."""


@dataclass(frozen=True, eq=False)
class Part:
    """Consecutive rows of a call, from `start` to `stop`: some rows, repeated `sets` times, with columns replaced."""

    start: int
    stop: int
    sets: int
    changes: SetChanges


# ------------------------------------------------------------------------------------- protocols
RowIndex: TypeAlias = slice | Ints
"""Rows of X: a range of them, or their indices."""
RowsT_co = TypeVar("RowsT_co", bound=Container, covariant=True)
"""What a container holds its rows in, and what the model is called with: arrays, or frames of a library."""


class Buffer(Protocol[RowsT_co]):
    """A copy of a batch's rows in the container of X, repeated, in which columns are replaced."""

    n: int
    copies: int

    def own(self) -> RowsT_co:
        """Return the rows without replacements."""
        ...

    def swept(self, changes: SetChanges, sets: int) -> RowsT_co:
        """Return the rows repeated `sets` times, one set after the other, with columns replaced."""
        ...

    def joined(self, parts: Sequence[Part]) -> RowsT_co:
        """Return the rows repeated for parts that follow each other and replace different columns.

        The replaced columns keep their types (`Table.keeps_types`).
        """
        ...


class Table(Protocol[RowsT_co]):
    """The interface of containers of rows: `ArrayTable` and `FrameTable`."""

    @property
    def library(self) -> str | None:
        """Return the name of the data frame library; None for arrays."""
        return None

    def __len__(self) -> int: ...

    def features(self) -> tuple[Feature, ...]:
        """Return the columns, with inferred kinds."""
        ...

    def column(self, j: int, rows: RowIndex | None = None) -> Floats:
        """Return column j as float64, NaN where a value is missing."""
        ...

    def integer_ends(self, j: int, rows: RowIndex | None = None) -> tuple[int, int] | None:
        """Return the smallest and the largest integer of a column; None if it has no integers."""
        ...

    def coded(self, j: int, rows: RowIndex | None = None) -> Factorized:
        """Return the code of each row, -1 where missing, and the column's distinct values by code."""
        ...

    def categories(self, j: int) -> Sequence[Level] | None:
        """Return the categories of a dictionary column in the order of their codes; None for other columns."""
        ...

    def numeric_type(self, j: int) -> np.dtype[np.generic]:
        """Return the NumPy type that replaced values are converted to if they fit."""
        ...

    def value(self, j: int, row: int) -> object:
        """Return one value as a plain object."""
        ...

    def to_array(self) -> Values:
        """Return all rows as an array."""
        ...

    def tile(
        self, rows: RowIndex, copies: int, used: Buffer[Container] | None = None
    ) -> Buffer[RowsT_co]:
        """Return a buffer of the rows, repeated; it reuses the memory of the buffer `used` if possible."""
        ...

    def joined(self, rows: Ints, parts: Sequence[Part]) -> RowsT_co:
        """Return some rows, of which parts that follow each other replace different columns.

        The replaced columns keep their types.
        """
        ...

    def keeps_types(self, changes: SetChanges) -> bool:
        """Return whether columns keep their types when values are replaced."""
        ...

    def is_frozen(self, rows: object) -> bool:
        """Return whether some memory of rows for the model is read-only, but would not be in a copy."""
        ...


# --------------------------------------------------------------------------------- NumPy arrays
class ArrayTable(Table[Values]):
    """A two-dimensional array of rows and features."""

    def __init__(self, X: Values) -> None:
        if X.ndim != 2:
            fix = "Use X.reshape(-1, 1) for a single feature, X.reshape(1, -1) for a single row"
            if X.ndim > 2:
                fix = "Use X.reshape(len(X), -1), and a model that takes such rows"
            raise DataError(
                "X", f"an array of shape {X.shape}", "two dimensions (rows, features)", fix
            )
        if np.ma.is_masked(X):
            raise DataError(
                "X",
                f"a masked array with {int(np.ma.count_masked(X))} masked values",
                "NaN where a value is missing",
                "Use X.astype(float).filled(np.nan)",
            )
        if X.dtype.kind not in "fiubOmM":
            raise DataError(
                "X",
                f"an array of dtype {X.dtype}",
                "numbers, booleans, times or objects",
                "Use X.astype(float) for numbers that were read as text; pass columns of mixed "
                "types as a data frame",
            )
        self.X = np.asarray(X)
        self._times: dict[int, TimeArray | None] = {}

    def __len__(self) -> int:
        return len(self.X)

    def features(self) -> tuple[Feature, ...]:
        """Return the columns as features named x0, x1, …."""
        kinds: list[Kind] = [self._kind(j) for j in range(self.X.shape[1])]
        return tuple(
            Feature(f"x{j}", kind, position=j, key=j, dtype=str(self.X.dtype), time=self._axis(j))
            for j, kind in enumerate(kinds)
        )

    def time(self, j: int) -> TimeArray | None:
        """Return column j as a column of times; None if it has no times."""
        if self.X.dtype.kind not in "mMO":
            return None
        if j not in self._times:
            self._times[j] = TimeArray.of(self.X[:, j])
        return self._times[j]

    def _axis(self, j: int) -> TimeAxis | None:
        times = self.time(j)
        return None if times is None else times.axis

    def _kind(self, j: int) -> Kind:
        if self.time(j) is not None:
            return "continuous"
        if self.X.dtype.kind == "b":
            return "nominal"
        return object_kind(self.X[:, j]) if self.X.dtype.kind == "O" else "continuous"

    def column(self, j: int, rows: RowIndex | None = None) -> Floats:
        values = self.X[:, j] if rows is None else self.X[rows, j]
        times = self.time(j)
        return to_float(values) if times is None else times.days(values)

    def integer_ends(self, j: int, rows: RowIndex | None = None) -> tuple[int, int] | None:
        """Return the smallest and the largest integer of column j; None if it has no large integers."""
        if self.X.dtype.kind not in "iuO" or not len(self.X):
            return None
        values = self.X[:, j] if rows is None else self.X[rows, j]
        if self.X.dtype.kind == "O":
            return integer_ends(values.tolist())
        whole = cast("Ints", values)
        return int(whole.min()), int(whole.max())

    def coded(self, j: int, rows: RowIndex | None = None) -> Factorized:
        values = self.X[:, j] if rows is None else self.X[rows, j]
        return coded_array(values, what=f"column {j} of X")

    def categories(self, j: int) -> None:
        """Return None: arrays have no dictionaries."""

    def numeric_type(self, j: int) -> np.dtype[np.generic]:
        return np.dtype(float) if self.X.dtype.kind in "mMO" else self.X.dtype

    def value(self, j: int, row: int) -> object:
        value = self.X[row, j]
        return value.item() if isinstance(value, np.generic) else value

    def to_array(self) -> Values:
        return self.X

    def tile(
        self, rows: RowIndex, copies: int, used: Buffer[Container] | None = None
    ) -> ArrayBuffer:
        memory = used.memory if isinstance(used, ArrayBuffer) else None
        return ArrayBuffer(self, self.X[rows], copies, memory)

    def joined(self, rows: Ints, parts: Sequence[Part]) -> Values:
        found = self.X[rows]
        for part in parts:
            for j, values in part.changes.items():
                column = found[part.start : part.stop, j].reshape(part.sets, -1)
                self.write(column, j, values)
        return found

    def is_frozen(self, rows: object) -> bool:
        """Return False: a model may write to an array that it gets, and `probe_model` sees it."""
        return False

    def keeps_types(self, changes: SetChanges) -> bool:
        return all(
            isinstance(v, LevelReplacement | DonorRows) or fits(v, self.X.dtype)
            for v in changes.values()
        )

    def write(self, column: Values, j: int, values: Replacement) -> None:
        """Write the replacement of column j, (sets, n)."""
        if isinstance(values, DonorRows):
            self._write_donors(column, j, values)
            return
        if not isinstance(values, LevelReplacement):
            times = self.time(j)
            for part, new in zip(column, values, strict=True):
                part[:] = new if times is None else times.made(new)
            return
        level_values = self.X[values.rows, j]
        for part, codes in zip(column, values.codes, strict=True):
            part[:] = level_values.take(codes)

    def _write_donors(self, column: Values, j: int, values: DonorRows) -> None:
        (n, d), X, rows = self.X.shape, self.X, values.rows
        same_layout = column.dtype == X.dtype and rows.shape == column.shape
        if same_layout and X.flags.c_contiguous:
            np.take(X.reshape(-1), values.strides(d) + j, out=column, mode="clip")
        elif same_layout and X.flags.f_contiguous:
            np.take(X.T.reshape(-1), rows + j * n, out=column, mode="clip")
        else:
            column[:] = X[rows, j]


_FEW_COLUMNS = 2
"""Columns replaced together of which the rows' own values are kept: those of a feature, or of a pair."""


class ArrayBuffer(Buffer[Values]):
    """The array that is passed to the model for a batch of rows."""

    def __init__(
        self,
        table: ArrayTable,
        rows: Values,
        copies: int,
        memory: Values | None = None,
    ) -> None:
        self.n, self.copies = len(rows), copies
        self.table, self.X, self.rows = table, table.X, rows
        self.changed: set[int] = set()
        self.own_values: dict[int, Values] = {}
        self.memory = memory
        self.buffer = self._allocate(rows.dtype)

    def _allocate(self, dtype: np.dtype[np.generic]) -> Values:
        """Return the array with all columns marked as changed; they are filled when they are first needed."""
        shape = (self.rows.shape[1], self.copies, self.n)
        self.changed, self.own_values = set(range(shape[0])), {}
        if self.memory is None or self.memory.shape != shape or self.memory.dtype != dtype:
            self.memory = np.empty(shape, dtype=dtype)
        return self.memory.reshape(shape[0], -1).T

    def own(self) -> Values:
        if self.buffer.dtype != self.rows.dtype:
            self.buffer = self._allocate(self.rows.dtype)
        self._restore(self.changed)
        return self.buffer[: self.n]

    def swept(self, changes: SetChanges, sets: int) -> Values:
        dtype = self.rows.dtype if self.table.keeps_types(changes) else np.dtype(float)
        if dtype != self.buffer.dtype:
            self.buffer = self._allocate(dtype)
        self._restore(self.changed - changes.keys())
        if len(changes) <= _FEW_COLUMNS:
            for j in changes.keys() - self.changed:
                self.own_values[j] = self._column(j)[0].copy()
        for j, values in changes.items():
            self.table.write(self._column(j)[:sets], j, values)
        self.changed = set(changes)
        return self.buffer[: sets * self.n]

    def joined(self, parts: Sequence[Part]) -> Values:
        if self.rows.dtype != self.buffer.dtype:
            self.buffer = self._allocate(self.rows.dtype)
        self._restore(self.changed)
        for part in parts:
            for j, values in part.changes.items():
                column = self.buffer[part.start : part.stop, j].reshape(part.sets, self.n)
                self.table.write(column, j, values)
                self.changed.add(j)
        return self.buffer[: parts[-1].stop]

    def _column(self, j: int) -> Values:
        return self.buffer[:, j].reshape(self.copies, self.n)

    def _restore(self, columns: set[int]) -> None:
        for j in columns:
            own = self.own_values.pop(j, None)
            # A strided column is copied once, not once per set.
            self._column(j)[:] = np.ascontiguousarray(self.rows[:, j]) if own is None else own
        self.changed = self.changed - columns


def fits(values: Floats | Sequence[Floats], dtype: np.dtype[np.generic]) -> bool:
    """Return whether a column of this type can represent the values (an array or a sequence of arrays) unchanged."""
    if dtype.kind in "fOmM":
        return True
    if not isinstance(values, np.ndarray):
        return all(fits(part, dtype) for part in values)
    # The comparison detects values that the cast changes, so NumPy's warning about it is not needed.
    with np.errstate(invalid="ignore"):
        return bool(np.array_equal(values.astype(dtype).astype(float), values))


class TimeArray:
    """A column of times in an array: datetime64, timedelta64, or objects of Python's `datetime`."""

    def __init__(self, axis: TimeAxis, times: Times, objects: TimeObjects | None = None) -> None:
        self.axis, self.objects = axis, objects
        self._ticks = TimeTicks(axis, times.astype(np.int64), ~np.isnat(times))

    @classmethod
    def of(cls, column: Values) -> TimeArray | None:
        """Return a column of times; None if the column does not have times only."""
        if is_times(column):
            return cls(TimeAxis.of(column), column)
        objects = TimeObjects.of(column)
        if objects is None:
            return None
        times = objects.read(column)
        return cls(TimeAxis.of(times, objects.kind, objects.zone), times, objects)

    def days(self, values: Values) -> Floats:
        """Return values of the column as days; NaN where missing."""
        times = values if self.objects is None else self.objects.read(values)
        return self.axis.days_of_ticks(times.astype(np.int64), ~np.isnat(times))

    def made(self, days: Floats) -> Values:
        """Return days as values of the column's type."""
        times = self._ticks(np.asarray(days, dtype=float)).view(self.axis.dtype)
        return times if self.objects is None else self.objects.made(times)


def object_kind(values: Iterable[object]) -> Kind:
    """Return the kind of a column of Python objects: continuous if all objects that are not missing are numbers."""
    # Types decide, and are few: looking at each value takes most of the time of a pass over many rows.
    types = {type(v): v for v in values}
    for kind, value in types.items():
        if is_missing(value):
            continue
        if issubclass(kind, (bool, np.bool_, complex)) or not issubclass(kind, Number):
            return "nominal"
    return "continuous"


def integer_ends(values: Iterable[object]) -> tuple[int, int] | None:
    """Return the smallest and the largest integer among Python objects; None if there are none."""
    whole = [int(v) for v in values if isinstance(v, Integral) and not isinstance(v, bool)]
    return (min(whole), max(whole)) if whole else None


def to_float(values: ArrayLike) -> Floats:
    """Return a float64 copy of the values, contiguous; None becomes NaN."""
    array = np.asarray(values, dtype=object if isinstance(values, list) else None)
    if array.dtype.kind == "O" and any(map(is_missing, {type(v): v for v in array}.values())):
        array = np.array([np.nan if is_missing(v) else v for v in array], dtype=float)
    return np.array(array, dtype=float)
