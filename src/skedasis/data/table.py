"""What arrays and data frames must offer alike: tables of rows, and buffers for a batch of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints
from skedasis.data.arrays import Rows
from skedasis.data.changes import Values
from skedasis.data.schema import Feature


class Buffer(Protocol):
    """A batch's rows in the container of X, repeated, with some columns replaced."""

    n: int
    copies: int

    def own(self) -> Any:
        """Return the rows as they are."""
        ...

    def swept(self, changes: Mapping[int, Values], sets: int) -> Any:
        """Return the rows `sets` times, one set after the other, with the columns that are keys replaced.

        A column's values are floats, (sets, n) or (sets, 1), a sequence of `sets` arrays, (n,) or (1,), or `Coded`.
        """
        ...


class Table(Protocol):
    """What a container of rows must offer."""

    @property
    def library(self) -> str | None:
        """Return the data frame library, None for arrays."""
        ...

    def __len__(self) -> int: ...

    def features(self) -> tuple[Feature, ...]:
        """Return the columns, with inferred kinds."""
        ...

    def column(self, j: int, rows: Rows | None = None) -> Floats:
        """Return a column as float64."""
        ...

    def integer_ends(self, j: int, rows: Rows | None = None) -> tuple[int, int] | None:
        """Return the smallest and the largest integer of a column, None where there are none."""
        ...

    def coded(self, j: int, rows: Rows | None = None) -> tuple[Ints, list[Any]]:
        """Return each row's place among a column's distinct values, -1 where missing, and these values."""
        ...

    def numeric_type(self, j: int) -> np.dtype[Any]:
        """Return the type that swept values must fit into."""
        ...

    def value(self, j: int, row: int) -> Any:
        """Return one value as a plain object."""
        ...

    def to_array(self) -> NDArray[Any]:
        """Return all rows as an array."""
        ...

    def tile(self, rows: Rows, copies: int, used: Any = None) -> Buffer:
        """Return a buffer of the rows, repeated, in the memory of a `used` one where that is possible."""
        ...
