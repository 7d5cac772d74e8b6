"""Summary of a column for `plan`: exact order statistics, distinct values, moments."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.features import Feature, check_range
from skedasis.errors import DataError, explained
from skedasis.stats.grid import order_statistics

FEW, MANY_FEW, ROWS_OF_FEW = 13, 64, 10
"""A feature has few values if it has at most 13, or at most 64 with ten rows or more a value on average."""


_PIECE = 16_384
"""Rows whose deviations are summed at a time."""


@dataclass(frozen=True)
class Summary:
    """What is left of a column when its values are let go: a few numbers.

    Parameters
    ----------
    feature : Feature
    low, high, sd : float
        Extremes and weighted standard deviation (ddof 0).
    missing : int
        Rows without a value.
    integer, weighted : bool
        Whether all values are whole numbers; whether rows have weights.
    dtype : numpy dtype
        What values that are put into the column are rounded to.
    """

    feature: Feature
    low: float
    high: float
    sd: float
    missing: int
    integer: bool
    weighted: bool
    dtype: Any

    @property
    def resolution(self) -> float:
        """Return the least distance of two values that the column can hold, 0 for numbers."""
        return 0.0 if self.feature.time is None else self.feature.time.resolution

    def snap(self, values: Floats) -> Floats:
        """Round values to what the column can hold, so that what is planned is what the model sees."""
        return _held(values, self.feature, self.dtype)


def _held(values: Floats, feature: Feature, dtype: Any) -> Floats:
    return snapped(values, dtype) if feature.time is None else feature.time.rounded(values)


def snapped(values: Floats, dtype: Any) -> Floats:
    """Round values to a floating-point type; other types are promoted instead when a value does not fit."""
    if dtype.kind != "f" or dtype.itemsize >= 8:
        return values
    return values.astype(dtype).astype(float)


class Column:
    """One numeric feature's values, summarised on demand and exactly.

    Parameters
    ----------
    feature : Feature
    x : ndarray of float, shape (n,)
        All rows; NaN is missing.
    weights : ndarray of float, shape (n,), optional
        Positive weights; None means 1 each.
    dtype : numpy dtype
        What values that are put into this column will be rounded to.

    Raises
    ------
    DataError
        If a value is infinite, if all values are missing, and for values out of range (`skedasis.data.features`).
    """

    def __init__(
        self, feature: Feature, x: Floats, weights: Floats | None, dtype: Any = float
    ) -> None:
        present = ~np.isnan(x)
        self.missing = int(len(x) - present.sum())
        self.present: Ints | None = np.flatnonzero(present) if self.missing else None
        self.feature, self.dtype = feature, np.dtype(dtype)
        self.x = x[present] if self.missing else x
        self.weights = weights[present] if weights is not None and self.missing else weights
        self.weighted = weights is not None
        self._check()

    def _check(self) -> None:
        name = self.feature.name
        if len(self.x) == 0:
            raise DataError(
                explained(
                    f"feature {name!r}",
                    "no value at all",
                    "at least one value that is not missing",
                    "Leave the feature out, or check how the column was read",
                )
            )
        # One pass over two numbers instead of one over all: an infinity must be an extreme.
        if np.isinf(self.low) or np.isinf(self.high):
            raise DataError(
                explained(
                    f"feature {name!r}",
                    f"{int(np.isinf(self.x).sum())} infinite values",
                    "finite numbers (NaN where a value is missing)",
                    "Replace them, for example X.replace([np.inf, -np.inf], np.nan)",
                )
            )
        check_range(self.feature, self.low, self.high)

    def __len__(self) -> int:
        return len(self.x)

    @cached_property
    def low(self) -> float:
        """Return the smallest value."""
        return float(self.x.min())

    @cached_property
    def high(self) -> float:
        """Return the largest value."""
        return float(self.x.max())

    @cached_property
    def weight(self) -> float:
        """Return the total weight of the rows that have a value."""
        return float(len(self.x)) if self.weights is None else float(self.weights.sum())

    @cached_property
    def sd(self) -> float:
        """Return the weighted standard deviation (ddof 0)."""
        if self.low == self.high:
            return 0.0  # a mean of equal numbers need not equal them
        w = self.weights
        centre = (self.x.sum() if w is None else w @ self.x) / self.weight
        total = squares = 0.0
        # Piece by piece: an array of all deviations costs more to make than to sum.
        for i in range(0, len(self.x), _PIECE):
            deviation = self.x[i : i + _PIECE] - centre
            weighted = deviation if w is None else w[i : i + _PIECE] * deviation
            total += float(weighted.sum())
            squares += float(weighted @ deviation)
        return float(np.sqrt(max(squares - total**2 / self.weight, 0.0) / self.weight))

    @cached_property
    def integer(self) -> bool:
        """Return whether every value is a whole number."""
        if self.dtype.kind in "iub":
            return True
        # A look at a few rows settles it for nearly every column that is not.
        return bool((self.x[:100] % 1 == 0).all() and (self.x % 1 == 0).all())

    def distinct(self, limit: int | None = None) -> Floats | None:
        """Return the sorted distinct values, or None if there are more than `limit`."""
        if limit is not None and len(np.unique(self.x[:1000])) > limit:
            return None
        values = np.unique(self.x)
        return values if limit is None or len(values) <= limit else None

    @cached_property
    def distinct_values(self) -> Floats:
        """Return the sorted distinct values, however many."""
        return np.unique(self.x)

    def few_values(self) -> Floats | None:
        """Return the sorted distinct values of a feature that has few of them, None of any other.

        They are its axis then: the model is evaluated at all of these and nowhere in between.
        """
        values = self.distinct(MANY_FEW)
        if values is None or len(values) <= FEW:
            return values
        # Rows are counted instead of weights, so that grids and edges do not depend on the unit of the weights.
        return values if len(self.x) >= ROWS_OF_FEW * len(values) else None

    def order_statistics(self, k: int, steps: Ints | None = None) -> Floats:
        """Return the inverse empirical distribution (R's type 1) at 0, 1/k, …, 1, or at some of these steps.

        Ranks are computed in integers: order statistic ceil(n j / k), or with weights the first value whose cumulative
        weight reaches j/k of the total. Both sides of that comparison are multiplied by k, so that whole weights give
        exactly what repeated rows would.

        Returns
        -------
        ndarray of float, shape (k + 1,) or that of `steps`
        """
        steps = np.arange(k + 1) if steps is None else steps
        if self.weights is None:
            ranks = np.maximum((len(self.x) * steps + k - 1) // k, 1) - 1
            return order_statistics(self.x, self.low, self.high, ranks)
        order = np.argsort(self.x, kind="stable")
        reached = np.cumsum(self.weights[order])
        goal = reached[-1] * steps
        if not (self.weights % 1 == 0).all():
            # Sums of fractions round; equal weights must give what no weights give, whatever they are.
            goal = goal * (1 - 4e-16 * len(order))
        places = np.searchsorted(reached * k, goal, side="left")
        return self.x[order][np.minimum(places, len(order) - 1)]

    def snap(self, values: Floats) -> Floats:
        """Round values to what the column can hold."""
        return _held(values, self.feature, self.dtype)

    def release(self) -> None:
        """Let go of the values: nothing but the summary is asked for from now on."""
        self.summary()
        self.x, self.weights, self.present = self.x[:0].copy(), None, None

    def summary(self) -> Summary:
        """Return the column without its values."""
        return Summary(
            self.feature,
            self.low,
            self.high,
            self.sd,
            self.missing,
            self.integer,
            self.weighted,
            self.dtype,
        )
