"""`Column` and `Summary`: extremes, order statistics, distinct values and standard deviation of a numeric feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import DTypeLike

from skedasis._types import Floats, Ints
from skedasis.data.features import LARGEST_INTEGER, Feature, check_range, infinite_values, no_values
from skedasis.data.gaps import (
    GAP_SHARE,
    MOST_GAPS,
    NEAREST_ROWS,
    Gap,
    Nearest,
    Step,
    Upto,
    gaps_of,
    points_around,
)
from skedasis.stats.grid import Ordered, at_or_above
from skedasis.stats.integer_weights import (
    are_whole,
    quantised,
    targets_of,
    weight_quantum,
    weight_sums,
)
from skedasis.stats.moments import STATS_LEAF, MergeTree, Moments

_FEW, MANY_FEW, _ROWS_PER_VALUE = 13, 64, 10
"""A feature has few values if it has at most 13, or at most 64 with on average ten rows or more per value."""


class NotYetKnown(Exception):  # noqa: N818 - no error: one more pass over the data is needed
    """A statistic of a column that takes one more pass over data beyond memory. The column has noted the request."""


@dataclass(frozen=True)
class Summary:
    """Summary statistics of a column, without its values."""

    feature: Feature
    low: float
    high: float
    std: float
    missing: int
    integer: bool
    weighted: bool
    dtype: np.dtype[np.generic]
    gaps: tuple[Gap, ...] = ()
    values: Floats | None = None

    @property
    def discrete(self) -> bool:
        """Return whether a model should see observed values only: whole numbers, which may be codes, and times."""
        return self.integer or self.feature.time is not None

    def around(self, x: Floats, step: Floats | float) -> tuple[Floats, Floats]:
        """Return values at least a step below and above x; of observed ones only, the nearest."""
        if self.values is None:
            return self.snap(x - step), self.snap(x + step)
        below = np.searchsorted(self.values, x - step, side="right") - 1
        return self.values[np.maximum(below, 0)], at_or_above(self.values, x + step)

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
    """The values of a numeric feature, with summary statistics that are computed on first use."""

    def __init__(
        self,
        feature: Feature,
        x: Floats,
        weights: Floats | None,
        dtype: DTypeLike = float,
        *,
        sampling: bool = False,
    ) -> None:
        # The smallest value is NaN if one is missing, so that most columns need no pass of its own for this.
        some_missing = len(x) > 0 and bool(np.isnan(x.min()))
        self.present: Ints | None = np.flatnonzero(~np.isnan(x)) if some_missing else None
        self.missing = 0 if self.present is None else len(x) - len(self.present)
        self.feature, self.sampling = feature, sampling
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
        return self.quanta * self.quantum

    @cached_property
    def quanta(self) -> int:
        """Return the total weight as a multiple of the quantum; without weights, the number of rows."""
        if self.weights is None:
            return len(self.x)
        return int(quantised(self.weights, self.quantum).sum())

    @property
    def row_quanta(self) -> int:
        """Return the weight of one row in quanta; of sampling weights, and below 1 on average, the mean weight."""
        mean = self.quanta / max(len(self), 1)
        return int(mean if self.sampling else min(1.0 / self.quantum, mean))

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

    @property
    def discrete(self) -> bool:
        """Return whether a model should see observed values only; see `Summary.discrete`."""
        return self.integer or self.feature.time is not None

    def observed(self, points: Floats) -> Floats:
        """Return the smallest value that is not below each point, in ascending order; the largest for points above."""
        before = self.upto(np.nextafter(np.minimum(np.sort(points), self.high), -np.inf)).weight
        return self.at_weights(before + 1) + 0.0

    def distinct(self, limit: int | None = None) -> Floats | None:
        """Return the sorted distinct values, or None if there are more than `limit`."""
        if limit is not None and self._some_distinct > limit:
            return None
        values = np.unique(self.x) + 0.0  # zero without a sign
        return values if limit is None or len(values) <= limit else None

    @cached_property
    def _some_distinct(self) -> int:
        """Return the number of distinct values among the first rows, which decide for most columns."""
        return len(np.unique(self.x[:1000]))

    @cached_property
    def distinct_values(self) -> Floats:
        """Return all sorted distinct values; zero has no sign, which would be that of whichever row comes first."""
        return np.unique(self.x) + 0.0

    def values_to_step_between(self) -> Floats | None:
        """Return all sorted distinct values; None if there are more than can be collected (of data beyond memory)."""
        return self.distinct_values

    def few_values(self) -> Floats | None:
        """Return the sorted distinct values if the feature has few of them, else None."""
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

    def order_statistics(
        self, k: int, steps: Ints | None = None, without: Floats | None = None
    ) -> Floats:
        """Return the inverse empirical distribution (R's type 1) at 0, 1/k, …, 1."""
        steps = np.arange(k + 1) if steps is None else steps
        if without is None:
            return self.at_weights(targets_of(self.quanta, k, steps, self._inexact))
        below, own = self._weight_around(without)
        targets = targets_of(self.quanta - int(own.sum()), k, steps, self._inexact)
        # Each left-out value below the target shifts it by the value's own weight.
        passed = np.searchsorted(below - np.append(0, own.cumsum()[:-1]), targets, side="left")
        return self.at_weights(targets + np.append(0, own.cumsum())[passed])

    def quanta_without(self, values: Floats) -> int:
        """Return the weight, in quanta, of the rows that have none of some observed values."""
        return self.quanta - int(self._weight_around(values)[1].sum())

    def _weight_around(self, values: Floats) -> tuple[Ints, Ints]:
        """Return the weights, in quanta, below and at some observed values in ascending order."""
        ends = np.stack([np.nextafter(values, -np.inf), values], axis=1).ravel()
        weight = self.upto(ends).weight.reshape(-1, 2)
        return weight[:, 0], weight[:, 1] - weight[:, 0]

    @property
    def _inexact(self) -> int:
        """Return the number of rows if their weights are fractions that floats round, else 0 (`targets_of`)."""
        whole = self.weights is None or are_whole(
            quantised(self.weights, self.quantum), self.quantum
        )
        return 0 if whole else len(self)

    @cached_property
    def _ordered(self) -> Ordered:
        return Ordered(self.x, self.low, self.high)

    @cached_property
    def _by_value(self) -> tuple[Floats, Ints]:
        """Return the sorted values of weighted rows with their cumulative weights in quanta, which begin at 0."""
        order = np.argsort(self.x, kind="stable")
        weights = np.zeros(0) if self.weights is None else self.weights
        return self.x[order], np.append(0, np.cumsum(quantised(weights, self.quantum)[order]))

    def at_weights(self, targets: Ints) -> Floats:
        """Return the values at which the cumulative weight, in quanta, first reaches ascending targets."""
        if self.weights is None:
            return self._ordered.at(targets - 1)
        x, cumulative = self._by_value
        return x[np.minimum(np.searchsorted(cumulative, targets, side="left"), len(x)) - 1]

    def upto(self, points: Floats) -> Upto:
        """Return how many values, and of what weight, are at most as large as each ascending point, and the largest."""
        if self.weights is None:
            rows, largest = self._ordered.upto(points)
            return Upto(rows, rows, largest + 0.0)
        x, cumulative = self._by_value
        rows = np.searchsorted(x, points, side="right")
        return Upto(rows, cumulative[rows], np.where(rows > 0, x[rows - 1], np.nan) + 0.0)

    def wide_steps(
        self, stretches: Sequence[tuple[float, float]], share: float
    ) -> list[list[tuple[float, float]]]:
        """Return the steps between neighbouring values wider than a share of each stretch between two values."""
        return [self._part(low, high).wide_steps(share) for low, high in stretches]

    def _part(self, low: float, high: float) -> Ordered:
        """Return the values of a stretch."""
        if low == self.low and high == self.high:
            return self._ordered
        return Ordered(self.x[(self.x >= low) & (self.x <= high)], low, high)

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        """Return the gaps between the values, from left to right."""
        found, stretches = list[Step](), [(self.low, self.high)]
        while stretches and len(found) < MOST_GAPS:
            level, stretches = stretches, []
            for (low, high), steps in zip(level, self.wide_steps(level, GAP_SHARE), strict=True):
                # A step between the only two values of a stretch is a cell anyway.
                if len(found) < MOST_GAPS and steps and steps != [(low, high)]:
                    left, right = max(steps, key=lambda step: step[1] - step[0])
                    found.append((left, right, low, high))
                    stretches += [
                        part for part in ((low, left), (right, high)) if part[0] < part[1]
                    ]
        if not found:
            return ()
        points = points_around(found)
        return gaps_of(found, points, self.upto(points))

    def nearest(self, ends: Floats) -> Nearest:
        """Return the rows nearest to gaps with the given ends, (gaps, 2)."""
        wanted = NEAREST_ROWS * self.row_quanta
        before = self.upto(ends[:, 0]).weight
        low = self.at_weights(np.maximum(before - wanted + 1, 1))
        high = self.at_weights(np.minimum(before + wanted, self.quanta))
        left = before - self.upto(np.nextafter(low, -np.inf)).weight
        window = np.stack([left, self.upto(high).weight - before], axis=1)
        bounds = np.stack([low, ends[:, 0], ends[:, 1], high], axis=1).reshape(-1, 2)
        # Some more rows do not matter, and are the same for weights as for repeated rows.
        share = np.where(window > 2 * wanted, wanted / window, 1.0).ravel()
        return Nearest(bounds[:, 0], bounds[:, 1], share, np.repeat(ends, 2, axis=0))

    def snap(self, values: Floats) -> Floats:
        """Round values to those that the column's type can represent."""
        return _snap(values, self.feature, self.dtype)

    def release(self) -> None:
        """Compute the summary and free the values."""
        self.summary()
        self.x, self.weights, self.present = self.x[:0].copy(), None, None
        self.release_order()

    def release_order(self) -> None:
        """Free the order of the values, which is found again where it is needed."""
        for cached in ("_by_value", "_ordered"):
            self.__dict__.pop(cached, None)

    def summary_of_observed(self) -> Summary:
        """Return the summary, for whole numbers and times with the observed values if they can be collected."""
        summary = self.summary()
        return replace(summary, values=self.values_to_step_between()) if self.discrete else summary

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
            self.gaps,
        )
