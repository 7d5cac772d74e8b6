"""Tables that are NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints
from skedasis.data.changes import Borrowed, Coded, Values
from skedasis.data.coding import coded_array, is_missing
from skedasis.data.schema import Feature, Kind
from skedasis.data.time_objects import TimeObjects
from skedasis.data.times import Ticks, TimeAxis
from skedasis.errors import DataError, explained

Rows = slice | Ints


class ArrayTable:
    """A two-dimensional array: rows are instances, columns are features.

    The array is only ever read: whatever a model is given are copies.
    """

    library = None

    def __init__(self, X: NDArray[Any]) -> None:
        if X.ndim != 2:
            raise DataError(
                explained(
                    "X",
                    f"an array of shape {X.shape}",
                    "two dimensions: (rows, features)",
                    "Use X.reshape(-1, 1) for a single feature",
                )
            )
        if np.ma.is_masked(X):
            raise DataError(
                explained(
                    "X",
                    f"a masked array with {int(np.ma.count_masked(X))} masked values",
                    "NaN where a value is missing",
                    "Use X.astype(float).filled(np.nan)",
                )
            )
        if X.dtype.kind not in "fiubOmM":
            raise DataError(
                explained(
                    "X",
                    f"an array of dtype {X.dtype}",
                    "numbers, booleans, times or objects",
                    "Give mixed types as a data frame",
                )
            )
        self.X = np.asarray(X)
        self._times: dict[int, TimeArray | None] = {}

    def __len__(self) -> int:
        return len(self.X)

    def features(self) -> tuple[Feature, ...]:
        """Return the columns as features called x0, x1, …."""
        kinds: list[Kind] = [self._kind(j) for j in range(self.X.shape[1])]
        return tuple(
            Feature(f"x{j}", kind, position=j, label=j, dtype=str(self.X.dtype), time=self._axis(j))
            for j, kind in enumerate(kinds)
        )

    def time(self, j: int) -> TimeArray | None:
        """Return column j as one of times, None where it is none."""
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

    def column(self, j: int, rows: Rows | None = None) -> Floats:
        """Return column j as float64, NaN where a value is missing."""
        values = self.X[:, j] if rows is None else self.X[rows, j]
        times = self.time(j)
        return to_float(values) if times is None else times.days(values)

    def integer_ends(self, j: int, rows: Rows | None = None) -> tuple[int, int] | None:
        """Return the smallest and the largest integer of column j; None where there are none."""
        if self.X.dtype.kind not in "iuO" or not len(self.X):
            return None
        values = self.X[:, j] if rows is None else self.X[rows, j]
        if self.X.dtype.kind == "O":
            return integer_ends(values.tolist())
        return int(values.min()), int(values.max())

    def coded(self, j: int, rows: Rows | None = None) -> tuple[Ints, list[Any]]:
        """Return each row's place among column j's distinct values, -1 where missing, and these values."""
        values = self.X[:, j] if rows is None else self.X[rows, j]
        return coded_array(values, what=f"column {j} of X")

    def numeric_type(self, j: int) -> np.dtype[Any]:
        """Return the NumPy type that a swept value of column j has to fit into."""
        return np.dtype(float) if self.X.dtype.kind in "mMO" else self.X.dtype

    def value(self, j: int, row: int) -> Any:
        """Return one value of column j as a plain object."""
        value = self.X[row, j]
        return value.item() if isinstance(value, np.generic) else value

    def to_array(self) -> NDArray[Any]:
        """Return the array itself."""
        return self.X

    def tile(self, rows: Rows, copies: int, used: Any = None) -> ArrayBuffer:
        """Return a writable buffer that holds the rows `copies` times, one set after the other.

        The memory of a buffer that is no longer `used` is taken over if it fits.
        """
        memory = used.memory if isinstance(used, ArrayBuffer) else None
        return ArrayBuffer(self, self.X[rows], copies, memory)


class ArrayBuffer:
    """The one array that a batch's model calls share.

    It is stored by columns: a swept column is written, and restored, in one contiguous piece, and models that read
    single columns find them contiguous.
    """

    def __init__(
        self,
        table: ArrayTable,
        rows: NDArray[Any],
        copies: int,
        memory: NDArray[Any] | None = None,
    ) -> None:
        self.n, self.copies = len(rows), copies
        self.table, self.X, self.rows = table, table.X, rows
        self.changed: set[int] = set()
        self.memory = memory
        self.buffer = self._room(rows.dtype)

    def _room(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the array, not yet filled: columns that are swept first need not be."""
        shape = (self.rows.shape[1], self.copies, self.n)
        self.changed = set(range(shape[0]))
        if self.memory is None or self.memory.shape != shape or self.memory.dtype != dtype:
            self.memory = np.empty(shape, dtype=dtype)
        return self.memory.reshape(shape[0], -1).T

    def own(self) -> NDArray[Any]:
        """Return the batch's rows as they are."""
        if self.buffer.dtype != self.rows.dtype:
            self.buffer = self._room(self.rows.dtype)
        self._restore(self.changed)
        return self.buffer[: self.n]

    def swept(self, changes: Mapping[int, Values], sets: int) -> NDArray[Any]:
        """Return the rows `sets` times, one set after the other, with the columns that are keys replaced."""
        own = self.rows.dtype
        kept = all(isinstance(v, Coded | Borrowed) or fits(v, own) for v in changes.values())
        dtype = own if kept else np.dtype(float)
        if dtype != self.buffer.dtype:
            self.buffer = self._room(dtype)
        self._restore(self.changed - changes.keys())
        for j, values in changes.items():
            self._write(j, values, sets)
        self.changed = set(changes)
        return self.buffer[: sets * self.n]

    def _write(self, j: int, values: Values, sets: int) -> None:
        column = self._column(j)[:sets]
        if isinstance(values, Borrowed):
            self._borrow(j, values, column)
            return
        if not isinstance(values, Coded):
            times = self.table.time(j)
            for part, given in zip(column, values, strict=True):
                part[:] = given if times is None else times.made(given)
            return
        held = self.X[values.rows, j]
        for part, codes in zip(column, values.codes, strict=True):
            part[:] = held.take(codes)

    def _borrow(self, j: int, values: Borrowed, column: NDArray[Any]) -> None:
        """Write what other rows of X hold: by places in one long array where X is one, which is twice as fast."""
        (n, d), X, rows = self.X.shape, self.X, values.rows
        whole = column.dtype == X.dtype and rows.shape == column.shape
        if whole and X.flags.c_contiguous:
            np.take(X.reshape(-1), values.strides(d) + j, out=column, mode="clip")
        elif whole and X.flags.f_contiguous:
            np.take(X.T.reshape(-1), rows + j * n, out=column, mode="clip")
        else:
            column[:] = X[rows, j]

    def _column(self, j: int) -> NDArray[Any]:
        return self.buffer[:, j].reshape(self.copies, self.n)

    def _restore(self, places: set[int]) -> None:
        for j in places:
            # Gathered once: rows of X lie apart, and each set would gather them anew.
            self._column(j)[:] = np.ascontiguousarray(self.rows[:, j])
        self.changed = self.changed - places


def fits(values: Any, dtype: np.dtype[Any]) -> bool:
    """Return whether a column of this type can take the values unchanged: an array, or a sequence of arrays.

    A float type always can, and so can times: grids and edges were rounded to them when they were planned.
    """
    if dtype.kind in "fOmM":
        return True
    if not isinstance(values, np.ndarray):
        return all(fits(part, dtype) for part in values)
    # The comparison below finds what a cast would silently bend; the cast's own complaint is not needed twice.
    with np.errstate(invalid="ignore"):
        return bool(np.array_equal(values.astype(dtype).astype(float), values))


class TimeArray:
    """A column of times in an array: datetime64, timedelta64, or objects of Python's `datetime`.

    Parameters
    ----------
    axis : TimeAxis
    times : ndarray of datetime64 or timedelta64, shape (n,)
    objects : TimeObjects, optional
        What the column holds, if it holds objects.
    """

    def __init__(
        self, axis: TimeAxis, times: NDArray[Any], objects: TimeObjects | None = None
    ) -> None:
        self.axis, self.objects = axis, objects
        self._ticks = Ticks(axis, times.astype(np.int64), ~np.isnat(times))

    @classmethod
    def of(cls, column: NDArray[Any]) -> TimeArray | None:
        """Return a column of times, None for one of anything else."""
        if column.dtype.kind != "O":
            return cls(TimeAxis.of(column), column)
        objects = TimeObjects.of(column)
        if objects is None:
            return None
        times = objects.read(column)
        return cls(TimeAxis.of(times, objects.kind, objects.zone), times, objects)

    def days(self, values: NDArray[Any]) -> Floats:
        """Return rows of the column as days, NaN where missing."""
        times = values if self.objects is None else self.objects.read(values)
        return self.axis.days_of_ticks(times.astype(np.int64), ~np.isnat(times))

    def made(self, days: Floats) -> NDArray[Any]:
        """Return days as the column has them."""
        times = self._ticks(np.asarray(days, dtype=float)).view(self.axis.dtype)
        return times if self.objects is None else self.objects.made(times)


def object_kind(values: Any) -> Kind:
    """Return the kind of a column of Python objects: continuous if all that is not missing are numbers."""
    for value in values:
        if is_missing(value):
            continue
        if isinstance(value, (bool, np.bool_, complex)) or not isinstance(value, Number):
            return "nominal"
    return "continuous"


def integer_ends(values: Iterable[Any]) -> tuple[int, int] | None:
    """Return the smallest and the largest integer among Python objects; None where there are none."""
    whole = [int(v) for v in values if isinstance(v, Integral) and not isinstance(v, bool)]
    return (min(whole), max(whole)) if whole else None


def to_float(values: Any) -> Floats:
    """Return values as a contiguous float64 array of its own; None becomes NaN."""
    array = np.asarray(values, dtype=object if isinstance(values, list) else None)
    if array.dtype.kind == "O":
        array = np.array([np.nan if is_missing(v) else v for v in array], dtype=float)
    return np.array(array, dtype=float)
