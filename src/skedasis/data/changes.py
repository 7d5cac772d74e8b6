"""What columns of a batch are replaced by: numbers, or values that other rows of X have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from skedasis.typing import Floats, Ints


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


Values: TypeAlias = Floats | Sequence[Floats] | Coded | Borrowed
"""What a column is replaced by: floats, (sets, n) or (sets, 1); as many arrays, (n,) or (1,); or rows that have it."""
