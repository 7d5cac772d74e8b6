"""Tables that are NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis.data.schema import Feature
from skedasis.errors import DataError, explained
from skedasis.typing import Floats, Ints

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
        if X.dtype.kind not in "fiubO":
            raise DataError(
                explained(
                    "X",
                    f"an array of dtype {X.dtype}",
                    "numbers, booleans or objects",
                    "Give mixed types as a data frame",
                )
            )
        self.X = np.asarray(X)

    def __len__(self) -> int:
        return len(self.X)

    def features(self) -> tuple[Feature, ...]:
        """Return the columns as features called x0, x1, …."""
        kinds = [self._kind(j) for j in range(self.X.shape[1])]
        return tuple(
            Feature(f"x{j}", kind, position=j, label=j, dtype=str(self.X.dtype))  # type: ignore[arg-type]
            for j, kind in enumerate(kinds)
        )

    def _kind(self, j: int) -> str:
        if self.X.dtype.kind == "b":
            return "nominal"
        return object_kind(self.X[:, j]) if self.X.dtype.kind == "O" else "continuous"

    def column(self, j: int, rows: Rows | None = None) -> Floats:
        """Return column j as float64, NaN where a value is missing."""
        values = self.X[:, j] if rows is None else self.X[rows, j]
        return to_float(values)

    def numeric_type(self, j: int) -> np.dtype[Any]:
        """Return the NumPy type that a swept value of column j has to fit into."""
        return np.dtype(float) if self.X.dtype.kind == "O" else self.X.dtype

    def to_array(self) -> NDArray[Any]:
        """Return the array itself."""
        return self.X

    def tile(self, rows: Rows, copies: int, used: Any = None) -> ArrayBuffer:
        """Return a writable buffer that holds the rows `copies` times, one set after the other.

        The memory of a buffer that is no longer `used` is taken over if it fits.
        """
        memory = used.memory if isinstance(used, ArrayBuffer) else None
        return ArrayBuffer(self.X[rows], copies, memory)


class ArrayBuffer:
    """The one array that a batch's model calls share.

    It is stored by columns: a swept column is written, and restored, in one contiguous piece, and models that read
    single columns find them contiguous.
    """

    def __init__(self, rows: NDArray[Any], copies: int, memory: NDArray[Any] | None = None) -> None:
        self.n, self.copies = len(rows), copies
        self.rows = rows
        self.changed: int | None = None
        self.memory = memory
        self.buffer = self._fill(rows.dtype)

    def _fill(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        self.changed = None
        shape = (self.rows.shape[1], self.copies, self.n)
        if self.memory is None or self.memory.shape != shape or self.memory.dtype != dtype:
            self.memory = np.empty(shape, dtype=dtype)
        self.memory[:] = self.rows.T[:, None, :]
        return self.memory.reshape(shape[0], -1).T

    def own(self) -> NDArray[Any]:
        """Return the batch's rows as they are."""
        self._restore()
        if self.buffer.dtype != self.rows.dtype:
            self.buffer = self._fill(self.rows.dtype)
        return self.buffer[: self.n]

    def swept(self, j: int, values: Floats | Sequence[Floats]) -> NDArray[Any]:
        """Return the rows once for each row of `values`, (sets, n) or (sets, 1), with column j replaced."""
        if self.changed != j:
            self._restore()
        dtype = self.rows.dtype if fits(values, self.rows.dtype) else np.dtype(float)
        if dtype != self.buffer.dtype:
            self.buffer = self._fill(dtype)
        column = self.buffer[:, j].reshape(self.copies, self.n)
        for own, part in zip(column, values, strict=False):
            own[:] = part
        self.changed = j
        return self.buffer[: len(values) * self.n]

    def _restore(self) -> None:
        if self.changed is not None:
            column = self.buffer[:, self.changed].reshape(self.copies, self.n)
            column[:] = self.rows[:, self.changed]
            self.changed = None


def fits(values: Floats | Sequence[Floats], dtype: np.dtype[Any]) -> bool:
    """Return whether a column of this type can take the values unchanged.

    A float type always can: grids and edges were rounded to it when they were planned.
    """
    if dtype.kind in "fO":
        return True
    values = np.asarray(values)
    # The comparison below finds what a cast would silently bend; the cast's own complaint is not needed twice.
    with np.errstate(invalid="ignore"):
        return bool(np.array_equal(values.astype(dtype).astype(float), values))


def object_kind(values: Any) -> str:
    """Return the kind of a column of Python objects: continuous if all that is not missing are numbers."""
    for value in values:
        if is_missing(value):
            continue
        if isinstance(value, (bool, np.bool_, complex)) or not isinstance(value, Number):
            return "nominal"
    return "continuous"


def is_missing(value: Any) -> bool:
    """Return whether an object stands for a missing value: None, or the NA of pandas. NaN is a number."""
    return value is None or type(value).__name__ == "NAType"


def to_float(values: Any) -> Floats:
    """Return values as a contiguous float64 array of its own; None becomes NaN."""
    array = np.asarray(values, dtype=object if isinstance(values, list) else None)
    if array.dtype.kind == "O":
        array = np.array([np.nan if is_missing(v) else v for v in array], dtype=float)
    return np.array(array, dtype=float)
