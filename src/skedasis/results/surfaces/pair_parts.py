"""What surfaces consist of: the cells of two features, and kept rows."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.results.parts import TRUSTED_ROWS, locked


@dataclass(frozen=True, eq=False)
class CellStats:
    """The cells of an accumulated surface, bin by bin or step by step, shape (K0, K1).

    Parameters
    ----------
    count : ndarray of int
        Rows. Of a categorical feature a cell is the step between two levels, and the rows of both are in it.
    weight : ndarray of float
        Their weight.
    effect : ndarray of float
        Mean double difference across the cell (ale_vs_pdp Eq. 6.5), in units of the quantity; NaN where the cell is
        empty.
    std : ndarray of float
        Spread of the rows' double differences; NaN where the weight is 1 or less.
    empty : ndarray of bool
        No row.
    std_error : ndarray of float, optional
        Standard error of `effect`; NaN where the cell has no spread, and in files of earlier versions.
    """

    count: Ints
    weight: Floats
    effect: Floats
    std: Floats
    empty: Bools
    std_error: Floats = None  # type: ignore[assignment]

    @property
    def trusted(self) -> Bools:
        """Return which cells have ten rows or more."""
        return self.count >= TRUSTED_ROWS

    def __post_init__(self) -> None:
        if self.std_error is None:
            object.__setattr__(self, "std_error", np.full(self.std.shape, np.nan))
        locked(*(getattr(self, f.name) for f in fields(self)))


@dataclass(frozen=True, eq=False)
class PairRows:
    """The rows that a surface keeps.

    Parameters
    ----------
    x0, x1 : ndarray of float, shape (r,)
        The features' values; places of levels for a categorical feature, NaN where there is none.
    effect : ndarray of float, shape (r,), optional
        Mixed derivatives; None where local effects are differences across cells.
    weight : ndarray of float, shape (r,), optional
    exact : bool
        Whether these are all rows that took part; otherwise they are a seeded sample.
    slope0, slope1 : ndarray of float, shape (r,), optional
        Slopes by each of the features, where they came with the mixed derivatives.
    across : ndarray of float, shape (r, q), optional
        Of an ALE the row's double differences in the cells that it takes part in: one for two numeric features, two or
        four with levels (the step after its level before the one before it; the second feature runs fastest), NaN
        where there is none. Of a PDP with ``ice="all"`` the row's own surface, flat, centred as the values are.
    """

    x0: Floats
    x1: Floats
    effect: Floats | None = None
    weight: Floats | None = None
    exact: bool = True
    slope0: Floats | None = None
    slope1: Floats | None = None
    across: Floats | None = None

    def __len__(self) -> int:
        return len(self.x0)
