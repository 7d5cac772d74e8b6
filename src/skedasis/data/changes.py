"""What columns of a batch are replaced by: numbers, or values that other rows of X have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TypeAlias

import numpy as np

from skedasis._types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Coded:
    """Values of one column, named by rows of X that have them.

    Parameters
    ----------
    codes : ndarray of int, shape (sets, n) or (sets, 1)
        Places in `rows`. (Before they are cut into sets also (m,) or (n, m), as `LevelColumn.changes` is given them.)
    rows : ndarray of int, shape (L,)
        Place p stands for what the column holds in row ``rows[p]`` of X.
    """

    codes: Ints
    rows: Ints


@dataclass(frozen=True, eq=False)
class Borrowed:
    """Values of one column that other rows of X have.

    Parameters
    ----------
    rows : ndarray of int, shape (sets, n) or (sets, 1)
        Each takes what the column holds in this row of X. Several columns that borrow the same array move together.
    """

    rows: Ints

    @cached_property
    def mark(self) -> bytes:
        """Return what tells these rows from others: made once, for all columns and outputs that borrow them."""
        return blake2b(np.ascontiguousarray(self.rows).data, digest_size=24).digest()

    def part(self, first: int, last: int) -> Borrowed:
        """Return some of the sets; itself for all, so that what is known of it is not made anew."""
        if first == 0 and last >= len(self.rows):
            return self
        return Borrowed(self.rows[first:last])

    def strides(self, width: int) -> Ints:
        """Return the rows' beginnings in a long array of rows of this width."""
        known: tuple[int, Ints] | None = self.__dict__.get("_strides")
        if known is None or known[0] != width:
            known = width, self.rows * width
            self.__dict__["_strides"] = known
        return known[1]


Values: TypeAlias = Floats | Sequence[Floats] | Coded | Borrowed
"""What a column is replaced by: floats, (sets, n) or (sets, 1); as many arrays, (n,) or (1,); or rows that have it."""
