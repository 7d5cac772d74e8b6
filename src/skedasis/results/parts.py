"""What results consist of: bins, levels, kept rows, individual curves, the point of missing values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Ints
from skedasis.data.times import TimeAxis
from skedasis.stats.moments import Moments

TRUSTED_ROWS = 10
"""Bins with fewer rows are marked not to be trusted (draft, sec. 3.2)."""


def locked(*arrays: np.ndarray) -> None:
    """Make arrays read-only: a result is a value, and a value does not change."""
    for array in arrays:
        array.flags.writeable = False


@dataclass(frozen=True, eq=False)
class BinStats:
    """The bins of an accumulated effect, one entry a bin, left to right.

    Parameters
    ----------
    low, high : ndarray, shape (K,)
        Edges, in units of the feature; of times days on the axis. Of a categorical feature the first and the last level
        that a step, or a run of steps, leads between.
    count : ndarray of int, shape (K,)
        Rows.
    weight : ndarray of float, shape (K,)
        Their weight.
    effect : ndarray of float, shape (K,)
        Mean slope, in units of the quantity per unit of the feature, or of times per day (RHALE Eq. 10); NaN where the
        bin is empty. Of a
        categorical feature per step from one level to the next; of an M-plot the bin's mean.
    std : ndarray of float, shape (K,)
        Standard deviation of the slopes (Eq. 11); NaN where the weight is 1 or less.
    std_error : ndarray of float, shape (K,)
        Standard error of `effect`; NaN likewise.
    empty, trusted : ndarray of bool, shape (K,)
        No row at all; ten rows or more.
    trend : ndarray of float, shape (K,)
        By how much the slope changes per unit of the feature within the bin: 0 where it is constant. Where it is not,
        `effect` is the slope in the middle of the bin, and `std` the spread about the line.
    time : TimeAxis, optional
        Of dates, times and durations: what the days of `low` and `high` are.
    """

    low: NDArray[Any]
    high: NDArray[Any]
    count: Ints
    weight: Floats
    effect: Floats
    std: Floats
    std_error: Floats
    empty: Bools
    trusted: Bools
    trend: Floats = field(default_factory=lambda: np.zeros(0))
    time: TimeAxis | None = None

    def __post_init__(self) -> None:
        # Constant slopes; and files written before there were others.
        if len(self.trend) != len(self.low):
            object.__setattr__(self, "trend", np.zeros(len(self.low)))
        locked(*(getattr(self, f.name) for f in fields(self) if f.name != "time"))

    def __len__(self) -> int:
        return len(self.low)

    @property
    def left(self) -> NDArray[Any]:
        """Return the left edges as the feature has them: of times datetime64 (UTC) or timedelta64; or levels."""
        return self.low if self.time is None else self.time.times(self.low)

    @property
    def right(self) -> NDArray[Any]:
        """Return the right edges likewise."""
        return self.high if self.time is None else self.time.times(self.high)

    @property
    def widths(self) -> Floats:
        """Return right - left, of times in days; 1 a step between levels, which have no distances."""
        if self.low.dtype.kind != "f":
            return np.ones(len(self))
        return self.high - self.low

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Return the slopes at the left and at the right end of each bin: alike where `trend` is 0."""
        tilt = self.trend * self.widths / 2
        return self.effect - tilt, self.effect + tilt

    @property
    def edges(self) -> Floats:
        """Return the edges of a numeric feature's bins, (K + 1,); of times days on the axis."""
        return np.append(self.low, self.high[-1:])

    @classmethod
    def of(
        cls,
        edges: Floats,
        bins: Moments,
        *,
        effect: Floats,
        std: Floats,
        std_error: Floats,
        trend: Floats | None = None,
    ) -> BinStats:
        """Return the bins of a numeric feature, whose rows are counted by moments.

        Parameters
        ----------
        edges : ndarray of float, shape (K + 1,)
        bins : Moments, K bins
        effect, std, std_error, trend : ndarray of float, shape (K,)
            As of `BinStats`; without a trend slopes are constant within the bins.
        """
        return cls(
            low=edges[:-1],
            high=edges[1:],
            count=bins.count.astype(int),
            weight=bins.weight,
            effect=effect,
            std=std,
            std_error=std_error,
            empty=bins.count == 0,
            trusted=bins.count >= TRUSTED_ROWS,
            trend=np.zeros(len(edges) - 1) if trend is None else trend,
        )

    @classmethod
    def none(cls) -> BinStats:
        """Return the bins of a constant feature: there are none."""
        zero = np.zeros(0)
        return cls(zero, zero, zero.astype(int), zero, zero, zero, zero, zero > 0, zero > 0)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that a result keeps.

    Parameters
    ----------
    x : ndarray of float, shape (r,)
        The feature's values, of times days on its axis; of a categorical feature the places of its levels.
    effect : ndarray of float, shape (r,) or (r, 2), optional
        The local effects that the curve is made of: slopes, or differences across cells; for few values, integers and
        categories the steps from the previous value and to the next one, NaN if there is none. None for PDP and ICE.
    weight : ndarray of float, shape (r,), optional
        None means 1 each.
    exact : bool
        Whether these are all rows that took part; otherwise they are a seeded sample.
    across : ndarray of float, shape (r,), optional
        The rows' rises across their bins over the bins' widths, if the curve is made of finer differences.
    """

    x: Floats
    effect: Floats | None = None
    weight: Floats | None = None
    exact: bool = True
    across: Floats | None = None

    def __len__(self) -> int:
        return len(self.x)

    @property
    def local(self) -> Floats | None:
        """Return the local effects whose standard deviation the bins report, (r,); of categories the steps, (r, 2)."""
        return self.effect if self.across is None else self.across


@dataclass(frozen=True, eq=False)
class Curves:
    """Individual curves (ICE), centred as the effect is.

    Parameters
    ----------
    value : ndarray of float, shape (r, m)
        One curve a row, on the effect's grid.
    x : ndarray of float, shape (r,)
        The rows' own values of the feature, of times days on its axis; of a categorical feature the places of their
        levels, NaN for none.
    row : ndarray of int, shape (r,)
        The rows' places in X.
    weight : ndarray of float, shape (r,), optional
    exact : bool
        Whether every row has its curve here; otherwise they are a seeded sample.
    """

    value: Floats
    x: Floats
    row: Ints
    weight: Floats | None = None
    exact: bool = True

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True, eq=False)
class LevelStats:
    """The levels of a categorical feature, in the order in which they were accumulated.

    Parameters
    ----------
    values : tuple
        As X has them; None is a missing value.
    labels : tuple of str
        What stands in tables and figures.
    count : ndarray of int, shape (L,)
        Rows.
    weight : ndarray of float, shape (L,)
        Their weight.
    chosen : str
        How the order was chosen.
    """

    values: tuple[Any, ...]
    labels: tuple[str, ...]
    count: Ints
    weight: Floats
    chosen: str = ""

    def __post_init__(self) -> None:
        locked(self.count, self.weight)

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def share(self) -> Floats:
        """Return each level's share of the weight."""
        return self.weight / max(float(self.weight.sum()), np.finfo(float).tiny)

    def array(self) -> NDArray[Any]:
        """Return the levels as an array: of numbers or of text where all of them are, else of objects."""
        kinds = {type(v) for v in self.values}
        if kinds <= {int, float} or kinds in ({str}, {bool}):
            return np.array(self.values)
        out = np.empty(len(self), dtype=object)
        out[:] = self.values
        return out

    def places(self, wanted: Any) -> Ints:
        """Return the place of each of the given values, -1 for what is no level.

        Parameters
        ----------
        wanted : array_like
            Values, or labels.
        """
        known: dict[Any, int] = {_key(label): i for i, label in enumerate(self.labels)}
        known |= {_key(v): i for i, v in enumerate(self.values)}
        flat = np.asarray(wanted, dtype=object).ravel()
        return np.array([known.get(_key(v), -1) for v in flat], dtype=np.int64)


def _key(value: Any) -> Any:
    """Return what two equal levels share, and unequal ones do not: True is not 1."""
    value = value.item() if isinstance(value, np.generic) else value
    try:
        missing = value is None or bool(value != value) or type(value).__name__ == "NAType"  # noqa: PLR0124 - NaN
    except TypeError:  # the NA of pandas has no truth value
        missing = True
    return None if missing else (isinstance(value, bool), value)


@dataclass(frozen=True)
class MissingPoint:
    """What it does to miss a value of a numeric feature (docs/explanation/levels-and-pairs.md).

    Parameters
    ----------
    effect : float
        Mean over the rows without a value of the quantity there, minus its mean over the feature's observed values.
    std, std_error : float
        Spread over these rows, and the error of their mean; NaN for a single row.
    count : int
        Rows without a value.
    weight : float
    value : float
        Where the point stands on the curve's own scale: `effect` above the curve's mean over the data.
    exact : bool
        Whether all observed values took part; otherwise so many of their quantiles as the budget of model rows allows.
    """

    effect: float
    std: float
    std_error: float
    count: int
    weight: float
    value: float
    exact: bool = True


def joined(values: Sequence[Any]) -> str:
    """Write some values for an error message."""
    shown = ", ".join(repr(v) for v in values[:5])
    return f"{shown}, …" if len(values) > 5 else shown
