"""`Column` and `Summary`: extremes, order statistics, distinct values and standard deviation of a numeric feature.

`Column` has the values of a feature, and is what a method's `plan` step chooses its cells and grids from. `Summary` is
what remains of it when the values are released. All statistics are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import DTypeLike

from skedasis._types import Floats, Ints
from skedasis.data.features import LARGEST_INTEGER, Feature, check_range, infinite_values, no_values
from skedasis.stats.grid import order_statistics
from skedasis.stats.moments import STATS_LEAF, MergeTree, Moments
from skedasis.stats.order_statistics import (
    are_whole,
    quantised,
    targets_of,
    weight_quantum,
    weight_sums,
)

_FEW, MANY_FEW, _ROWS_PER_VALUE = 13, 64, 10
"""A feature has few values if it has at most 13, or at most 64 with on average ten rows or more per value."""


class NotYetKnown(Exception):  # noqa: N818 - no error: one more pass over the data is needed
    """A statistic of a column that takes one more pass over data beyond memory. The column has noted the request."""


@dataclass(frozen=True)
class Summary:
    """Summary statistics of a column, without its values.

    Parameters
    ----------
    feature : Feature
    low, high, std : float
        Smallest and largest value, and weighted standard deviation (ddof 0).
    missing : int
        Number of rows with a missing value.
    integer, weighted : bool
        Whether all values are whole numbers; whether rows have weights.
    dtype : numpy dtype
        The type to which values are rounded when they are written into the column.
    """

    feature: Feature
    low: float
    high: float
    std: float
    missing: int
    integer: bool
    weighted: bool
    dtype: np.dtype[np.generic]

    @property
    def resolution(self) -> float:
        """Return the smallest distance of two times that the column can represent; 0 for numbers."""
        return 0.0 if self.feature.time is None else self.feature.time.resolution

    def snap(self, values: Floats) -> Floats:
        """Round values to those that the column's type can represent, so that the model gets exactly them."""
        return _snap(values, self.feature, self.dtype)


def _snap(values: Floats, feature: Feature, dtype: np.dtype[np.generic]) -> Floats:
    """Round to the resolution of times or to a narrow float type; a column of integers is promoted to float instead."""
    if feature.time is not None:
        return feature.time.rounded(values)
    if dtype.kind != "f" or dtype.itemsize >= 8:
        return values
    return values.astype(dtype).astype(float)


def column_moments(x: Floats, weights: Floats | None) -> Moments:
    """Return the moments of one leaf of a column, as a single cell; x has no missing values."""
    return Moments.of_one_cell(x, weights) if len(x) else Moments.zeros(1)


def std_of(moments: Moments) -> float:
    """Return the weighted standard deviation (ddof 0) of a column's moments."""
    return float(np.sqrt(moments.m2[0] / moments.weight[0]))


class Column:
    """The values of a numeric feature, with summary statistics that are computed on first use.

    Parameters
    ----------
    feature : Feature
    x : ndarray of float, shape (n,)
        All rows; NaN is missing.
    weights : ndarray of float, shape (n,), optional
        Positive weights; None for 1 each.
    dtype : numpy dtype
        The type to which values are rounded when they are written into the column.

    Raises
    ------
    DataError
        If all values are missing, if a value is infinite, or if values are out of range (`skedasis.data.features`).
    """

    def __init__(
        self, feature: Feature, x: Floats, weights: Floats | None, dtype: DTypeLike = float
    ) -> None:
        # The smallest value is NaN if one is missing, so that most columns need no pass of its own for this.
        some_missing = len(x) > 0 and bool(np.isnan(x.min()))
        self.present: Ints | None = np.flatnonzero(~np.isnan(x)) if some_missing else None
        self.missing = 0 if self.present is None else len(x) - len(self.present)
        self.feature = feature
        self.dtype: np.dtype[np.generic] = np.dtype(dtype)
        self.x = x if self.present is None else x[self.present]
        present = slice(None) if self.present is None else self.present
        self.weights = None if weights is None else weights[present]
        self.weighted = weights is not None
        self.quantum = 1.0 if weights is None else weight_quantum(float(weights.max()), len(x))
        self._check()

    def _check(self) -> None:
        if len(self.x) == 0:
            raise no_values(self.feature)
        # An infinity must be an extreme, so no pass over all values is needed.
        if np.isinf(self.low) or np.isinf(self.high):
            raise infinite_values(self.feature, int(np.isinf(self.x).sum()))
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
        """Return the total weight of the rows with a value."""
        if self.weights is None:
            return float(len(self.x))
        return int(quantised(self.weights, self.quantum).sum()) * self.quantum

    @cached_property
    def std(self) -> float:
        """Return the weighted standard deviation (ddof 0)."""
        if self.low == self.high:
            return 0.0  # the rounded mean of equal numbers may differ from them
        tree = MergeTree(Moments.merge)
        starts = np.arange(0, len(self.x) + self.missing, STATS_LEAF)
        if self.present is not None:
            starts = np.searchsorted(self.present, starts)
        for leaf, (first, last) in enumerate(pairwise([*starts.tolist(), len(self.x)])):
            if last > first:
                weights = None if self.weights is None else self.weights[first:last]
                tree.put(leaf, column_moments(self.x[first:last], weights))
        return std_of(tree.result())

    @cached_property
    def integer(self) -> bool:
        """Return whether every value is a whole number; numbers of floats that have no fraction left are none."""
        if self.dtype.kind in "iub":
            return True
        if max(-self.low, self.high) > LARGEST_INTEGER:
            return False
        # The first rows decide for nearly all columns that are not integer.
        return bool((self.x[:100] % 1 == 0).all() and (self.x % 1 == 0).all())

    def distinct(self, limit: int | None = None) -> Floats | None:
        """Return the sorted distinct values, or None if there are more than `limit`."""
        if limit is not None and len(np.unique(self.x[:1000])) > limit:
            return None
        values = np.unique(self.x) + 0.0  # zero without a sign
        return values if limit is None or len(values) <= limit else None

    @cached_property
    def distinct_values(self) -> Floats:
        """Return all sorted distinct values; zero has no sign, which would be that of whichever row comes first."""
        return np.unique(self.x) + 0.0

    def values_to_step_between(self) -> Floats | None:
        """Return all sorted distinct values; None if there are more than can be collected (of data beyond memory)."""
        return self.distinct_values

    def few_values(self) -> Floats | None:
        """Return the sorted distinct values if the feature has few of them, else None.

        For such a feature the model is evaluated at its values only, not between them.
        """
        values = self.distinct(MANY_FEW)
        if values is None or len(values) <= _FEW:
            return values
        # Rows are counted, not weights, so that grids and edges do not depend on the unit of the weights.
        return values if len(self) >= _ROWS_PER_VALUE * len(values) else None

    def value_weights(self, values: Floats) -> Floats:
        """Return the weight of each distinct value."""
        code = np.searchsorted(values, self.x)
        if self.weights is None:
            return np.bincount(code, minlength=len(values)).astype(float)
        return weight_sums(code, self.weights, len(values), self.quantum)

    def order_statistics(self, k: int, steps: Ints | None = None) -> Floats:
        """Return the inverse empirical distribution (R's type 1) at 0, 1/k, …, 1.

        Parameters
        ----------
        k : int
        steps : ndarray of int, optional
            Numerators j of the probabilities j/k; by default 0 to k.

        Returns
        -------
        ndarray of float, shape (k + 1,) or that of `steps`

        Notes
        -----
        Ranks are computed in integers: the order statistic ceil(n j / k), or with weights the first value whose
        cumulative weight reaches j/k of the total. Weights are multiples of a power of two there (`weight_quantum`), so
        that integer weights give exactly the result of repeated rows, and equal weights that of no weights.
        """
        steps = np.arange(k + 1) if steps is None else steps
        if self.weights is None:
            ranks = np.maximum((len(self.x) * steps + k - 1) // k, 1) - 1
            return order_statistics(self.x, self.low, self.high, ranks)
        order = np.argsort(self.x, kind="stable")
        weights = quantised(self.weights, self.quantum)
        cumulative = np.cumsum(weights[order])
        inexact = 0 if are_whole(weights, self.quantum) else len(order)
        targets = targets_of(int(cumulative[-1]), k, steps, inexact)
        ranks = np.searchsorted(cumulative, targets, side="left")
        return self.x[order][np.minimum(ranks, len(order) - 1)]

    def snap(self, values: Floats) -> Floats:
        """Round values to those that the column's type can represent."""
        return _snap(values, self.feature, self.dtype)

    def release(self) -> None:
        """Compute the summary and free the values."""
        self.summary()
        self.x, self.weights, self.present = self.x[:0].copy(), None, None

    def summary(self) -> Summary:
        """Return the column without its values."""
        return Summary(
            self.feature,
            self.low,
            self.high,
            self.std,
            self.missing,
            self.integer,
            self.weighted,
            self.dtype,
        )
