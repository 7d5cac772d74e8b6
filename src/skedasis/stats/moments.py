"""`Moments`: weight, mean and M2 per cell, the sufficient statistics of every effect; `MergeTree`: how they merge.

Means and sums of squared deviations merge exactly (Chan, Golub & LeVeque 1983), so the result is the same for all rows
at once, in batches, or on several machines. Raw sums of squares are not kept, because their difference cancels if the
mean is large compared with the standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Generic, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from skedasis._compilation import compiled, kernels_pay, read_only
from skedasis._types import Floats, Ints
from skedasis.stats import row_kernels

WeightKind = Literal["frequency", "sampling"]


_DOT = 8192
"""Terms of a dot product that is left to the linear algebra library, which uses one thread for so few."""


def dot(left: Floats, right: Floats) -> Floats:
    """Return the dot products along the last axis; the same bits whatever the number of threads.

    Linear algebra libraries divide longer products among their threads, so that the order of the sum, and with it the
    last digits, depend on how many there are.
    """
    total = np.vecdot(left[..., :_DOT], right[..., :_DOT])
    for start in range(_DOT, left.shape[-1], _DOT):
        part = slice(start, start + _DOT)
        total = total + np.vecdot(left[..., part], right[..., part])
    return total


_BLOCK = 1_000_000
"""Target size in bytes of the curves that are processed at a time, so that they stay in the processor's cache."""


def blocks_of_points(m: int, n: int) -> Iterator[slice]:
    """Return the m points of the curves of n rows in blocks."""
    step = max(1, _BLOCK // (8 * max(n, 1)))
    return (slice(start, min(start + step, m)) for start in range(0, m, step))


def power_of_two(values: ArrayLike) -> float:
    """Return the largest power of two that is not above the largest size of the finite values; 1 if all are 0.

    A division by it changes no digit. Squares of squares of the quotients are in the range of float64, which those of
    numbers below 1e-81 and above 1e77 leave.
    """
    sizes = np.abs(np.asarray(values, dtype=float))
    largest = float(sizes.max(initial=0.0, where=np.isfinite(sizes)))
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest > 0.0 else 1.0


@dataclass(frozen=True, eq=False)
class Moments:
    """Weighted first and second moments of many cells, arrays of one shape.

    `count` is the number of rows in each cell, regardless of their weights, `weight` and `weight2` the sum of these
    and of their squares, `mean` the weighted mean, 0 where the cell is empty, and `m2` the weighted sum of squared
    deviations from it.
    """

    count: Floats
    weight: Floats
    weight2: Floats
    mean: Floats
    m2: Floats

    @classmethod
    def zeros(cls, cells: int | tuple[int, ...]) -> Moments:
        """Return the moments of no rows: the neutral element of `merge`."""
        return cls(*(np.zeros(cells) for _ in fields(cls)))

    @classmethod
    def of(
        cls,
        values: Floats,
        cell: Ints,
        cells: int,
        weights: Floats | None = None,
        like: Moments | None = None,
    ) -> Moments:
        """Return the moments of finite `values`, (n,), in each `cell`, (n,), 0 to `cells` - 1; weights are positive.

        `like` are moments of other values of the same rows in the same cells, whose counts and weights are reused.

        Two passes. The second corrects the rounding of the first (the sum of deviations is not exactly zero), so that
        adding 1e7 to the values changes the variance by rounding only.
        """
        if kernels_pay(len(cell)):
            found = _compiled_moments(values, None, cell, cells, weights)
            if found is not None:
                return found[0]
        sizes = _sizes(cell, cells, weights) if like is None else like.sizes
        safe = np.where(sizes[1] > 0, sizes[1], 1.0)
        mean = summed(cell, values if weights is None else weights * values, cells) / safe
        # One array, written in place: for arrays of this size allocation costs more than arithmetic.
        deviation = mean.take(cell)
        np.subtract(values, deviation, out=deviation)
        deviations = summed(cell, deviation if weights is None else weights * deviation, cells)
        deviation *= deviation
        if weights is not None:
            deviation *= weights
        return cls._corrected(sizes, mean, deviations, summed(cell, deviation, cells))

    @classmethod
    def of_both(
        cls,
        values: Floats,
        other: Floats,
        cell: Ints,
        cells: int,
        weights: Floats | None = None,
    ) -> tuple[Moments, Moments]:
        """Return the moments of two values of the same rows, as `of`, in one pass over the rows where compiled."""
        if kernels_pay(0):  # the rows are counted below
            found = _compiled_moments(values, other, cell, cells, weights)
            if found is not None:
                return found[0], found[1]
        first = cls.of(values, cell, cells, weights)
        return first, cls.of(other, cell, cells, weights, like=first)

    @classmethod
    def of_one_cell(cls, values: Floats, weights: Floats | None = None) -> Moments:
        """Return the moments of values, at least one, all in one cell, as `of` does, in a tenth of the time."""
        if weights is None:
            weight = weight2 = float(len(values))
            mean = float(values.sum()) / weight
        else:
            weight, weight2 = float(weights.sum()), float(dot(weights, weights))
            mean = float(dot(values, weights)) / weight
        deviation = values - mean
        if weights is None:
            total, squares = float(deviation.sum()), float(dot(deviation, deviation))
        else:
            total, squares = float(dot(deviation, weights)), float(dot(deviation**2, weights))
        sizes = np.array([float(len(values))]), np.array([weight]), np.array([weight2])
        return cls._corrected(sizes, np.array([mean]), np.array([total]), np.array([squares]))

    @classmethod
    def _corrected(
        cls, sizes: tuple[Floats, Floats, Floats], mean: Floats, deviations: Floats, squares: Floats
    ) -> Moments:
        """Return the moments from sums of deviations from a rounded mean, and of their squares."""
        safe = np.where(sizes[1] > 0, sizes[1], 1.0)
        residual = deviations / safe
        m2 = squares - safe * residual**2
        return cls(*sizes, mean + residual, np.maximum(m2, 0.0))

    @classmethod
    def of_curves(
        cls, values: Floats, weights: Floats | None = None, minus: Floats | None = None
    ) -> Moments:
        """Return the moments over rows at each of m points of their curves, `values` less `minus`: (m, n) and (n,).

        Memory does not grow with m.
        """
        m, n = values.shape
        w = np.ones(n) if weights is None else weights
        weight, weight2 = float(w.sum()), float(dot(w, w))
        mean, m2, room = np.empty(m), np.empty(m), np.empty((0, n))
        for part in blocks_of_points(m, n):
            curves = values[part]
            # One array, written in place: new pages of memory cost more than arithmetic.
            deviation = room = room[: len(curves)] if len(room) else np.empty(curves.shape)
            if minus is not None:
                curves = np.subtract(curves, minus, out=deviation)
            # One dot product per point: a matrix product may round equal rows differently.
            mean[part] = dot(curves, w) / weight
            np.subtract(curves, mean[part, None], out=deviation)
            residual = dot(deviation, w) / weight
            weighted = deviation if weights is None else deviation * w
            m2[part] = dot(deviation, weighted) - weight * residual**2
            mean[part] += residual
        full = np.full(m, float(n)), np.full(m, weight), np.full(m, weight2)
        return cls(*full, mean, np.maximum(m2, 0.0))

    @property
    def sizes(self) -> tuple[Floats, Floats, Floats]:
        """Return count, weight and sum of squared weights."""
        return self.count, self.weight, self.weight2

    def merge(self, other: Moments) -> Moments:
        """Return the moments of the union of both sets of rows (associative and commutative up to rounding)."""
        weight = self.weight + other.weight
        fraction = other.weight / np.where(weight > 0, weight, 1.0)
        delta = other.mean - self.mean
        # The new mean starts from the heavier side, so that merging with weight zero changes nothing.
        forward = self.mean + delta * fraction
        backward = other.mean - delta * (1.0 - fraction)
        mean = np.where(fraction <= 0.5, forward, backward)
        m2 = self.m2 + other.m2 + delta**2 * self.weight * fraction
        mean = np.where(weight > 0, mean, 0.0)
        return Moments(self.count + other.count, weight, self.weight2 + other.weight2, mean, m2)

    def pool(self, starts: Ints) -> Moments:
        """Merge neighbouring cells into groups that begin at `starts`, strictly increasing from 0."""
        count, weight, weight2 = (
            np.add.reduceat(a, starts) for a in (self.count, self.weight, self.weight2)
        )
        group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(self.weight))))
        safe = np.where(weight > 0, weight, 1.0)
        mean = np.add.reduceat(self.weight * self.mean, starts) / safe
        deviation = np.where(self.weight > 0, self.mean - mean[group], 0.0)
        residual = np.add.reduceat(self.weight * deviation, starts) / safe
        between = np.add.reduceat(self.weight * deviation**2, starts) - safe * residual**2
        m2 = np.add.reduceat(self.m2, starts) + np.maximum(between, 0.0)
        return Moments(count, weight, weight2, mean + residual, m2)

    def take(self, index: Ints | slice) -> Moments:
        """Return the moments of some of the cells."""
        return Moments(*(values[index] for values in self.arrays().values()))

    def reshape(self, *shape: int) -> Moments:
        """Return the moments with the cells in another shape."""
        return Moments(*(values.reshape(shape) for values in self.arrays().values()))

    def df(self, ddof: int = 1, kind: WeightKind = "frequency") -> Floats:
        """Return the degrees of freedom that `m2` is divided by: n - ddof.

        For frequency weights n is the total weight. For sampling weights the unit is ``sum(w**2) / sum(w)`` in place of
        1, which makes the variance unbiased: ``sum(w) - sum(w**2) / sum(w)`` for ddof 1. A single row has exactly zero.
        """
        if kind == "frequency":
            return self.weight - ddof
        unit = self.weight2 / np.where(self.weight > 0, self.weight, 1.0)
        return self.weight - ddof * np.where(self.count > 1, unit, self.weight)

    def variance(self, ddof: int = 1, kind: WeightKind = "frequency") -> Floats:
        """Return the variance of each cell; NaN where a cell has too little weight (docs/explanation/errors.md).

        For frequency weights a cell with a weight of 1 or less has NaN, for sampling weights a cell with one row, for
        any `ddof`.
        """
        enough = (self.df(1, kind) > 0) & (self.count > 0)
        if kind == "sampling":
            enough &= self.count > 1
        return np.where(enough, self.m2 / np.where(enough, self.df(ddof, kind), 1.0), np.nan)

    def effective_size(self, kind: WeightKind = "frequency") -> Floats:
        """Return the effective sample size of each mean: n, or (sum w)^2 / sum w^2 for sampling weights."""
        if kind == "frequency":
            return self.weight
        return self.weight**2 / np.where(self.weight2 > 0, self.weight2, 1.0)

    def mean_error(self, ddof: int = 1, kind: WeightKind = "frequency") -> Floats:
        """Return the standard error of each mean; NaN where a cell has no variance."""
        size = self.effective_size(kind)
        return np.sqrt(self.variance(ddof, kind) / np.where(size > 0, size, 1.0))

    @property
    def share(self) -> Floats:
        """Return the fraction of the total weight in each cell; 0 without rows."""
        return self.weight / max(float(self.weight.sum()), np.finfo(float).tiny)

    def total_size(self, kind: WeightKind = "frequency") -> float:
        """Return the effective sample size of the mean over all cells."""
        total = float(self.weight.sum())
        if kind == "frequency":
            return max(total, np.finfo(float).tiny)
        return total**2 / max(float(self.weight2.sum()), np.finfo(float).tiny)

    def whole(self) -> Moments:
        """Return the moments of all cells together, as one cell."""
        return self.pool(np.zeros(1, dtype=np.int64))

    def arrays(self) -> dict[str, Floats]:
        """Return the five arrays by name, as result files store them."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class RowMeans:
    """Means of rows in cells, and their errors, which hold also if values depend on the weights.

    `squared` are moments of the same values with the squares of sampling weights; None for frequencies. Then the error
    is that of the sum of independent rows, ``sqrt(sum(w**2 (y - mean)**2) / sum(w)**2)``, with n / (n - 1) for the
    effective size n. `Moments.mean_error` supposes that the variance does not depend on the weights: it is too large
    for a rate, whose variance is inverse to its exposure. Both are the same for equal weights.
    """

    moments: Moments
    squared: Moments | None = None

    @classmethod
    def of(
        cls, values: Floats, cell: Ints, cells: int, weights: Floats | None, kind: WeightKind
    ) -> RowMeans:
        """Return the means of values, (n,), in each `cell`, as `Moments.of`."""
        own = Moments.of(values, cell, cells, weights)
        if weights is None or kind == "frequency":
            return cls(own)
        return cls(own, Moments.of(values, cell, cells, weights**2))

    @property
    def mean(self) -> Floats:
        """Return the means, 0 where a cell is empty."""
        return self.moments.mean

    @property
    def size(self) -> Floats:
        """Return the number of rows that each mean rests on: the effective one of sampling weights."""
        return self.moments.effective_size("frequency" if self.squared is None else "sampling")

    @property
    def df(self) -> Floats:
        """Return the degrees of freedom of the errors."""
        return np.maximum(self.size - 1, 0.0)

    @property
    def squares(self) -> tuple[Floats, Floats]:
        """Return sums of squared deviations and what they are divided by; the ratio over `size` is a squared error."""
        if self.squared is None:
            return self.moments.m2, self.df
        off = self.squared.mean - self.moments.mean
        weight = self.squared.weight
        return self.squared.m2 + weight * off**2, weight * self.df / np.maximum(self.size, 1.0)

    @property
    def error(self) -> Floats:
        """Return the standard error of each mean; NaN where a cell has no variance."""
        squares, divisor = self.squares
        safe = np.where(divisor > 0, divisor, np.nan)
        return np.sqrt(squares / safe / self.size)

    @property
    def least_error(self) -> Floats:
        """Return what the error of each mean label is at least if labels are whole numbers with these means.

        For whole numbers y with the mean p, ``(y - k) (y - k - 1)`` is at least 0, and so the variance of y at least
        ``(p - k) (k + 1 - p)``, for every whole number k: p (1 - p) for events. Here k is the one below the mean.
        """
        own = self.moments if self.squared is None else self.squared
        above = own.mean - np.floor(own.mean)
        variance = np.maximum(own.weight * above * (1 - above) - own.m2, 0.0)
        return np.sqrt(variance) / np.maximum(self.moments.weight, np.finfo(float).tiny)

    def pool(self, starts: Ints) -> RowMeans:
        """Merge neighbouring cells, as `Moments.pool`."""
        squared = None if self.squared is None else self.squared.pool(starts)
        return RowMeans(self.moments.pool(starts), squared)


def _sizes(cell: Ints, cells: int, weights: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Return count, weight and sum of squared weights of each cell."""
    count = summed(cell, None, cells)
    if weights is None:
        return count, count, count
    return count, summed(cell, weights, cells), summed(cell, weights * weights, cells)


def summed(index: Ints, values: Floats | None, size: int) -> Floats:
    """Return the sum of the values, (n,), or the number of entries, with each index, (n,) or (m, n): (size,)."""
    if values is not None and index.ndim > 1:
        values = np.broadcast_to(values, index.shape).ravel()
    found: Floats = np.bincount(index.ravel(), values, size).astype(float, copy=False)
    return found


def _compiled_moments(
    values: Floats, other: Floats | None, cell: Ints, cells: int, weights: Floats | None
) -> list[Moments] | None:
    """Return the moments of one or two values of the same rows by kernels; None for rows without a cell or a value."""
    # Compiled kernels do not check indices. NumPy raises the error.
    if any(a is not None and a.shape != cell.shape for a in (values, other, weights)):
        return None
    cell = read_only(cell.astype(np.int64, copy=False))
    values = read_only(values.astype(float, copy=False))
    other = None if other is None else read_only(other.astype(float, copy=False))
    weights = None if weights is None else read_only(weights)
    sums = np.zeros((cells, 5))
    if not compiled(row_kernels.add_rows)(cell, values, other, weights, sums):
        return None
    count, weight, weight2, *totals = np.ascontiguousarray(sums.T)
    sizes = (count, count, count) if weights is None else (count, weight, weight2)
    safe = np.where(sizes[1] > 0, sizes[1], 1.0)
    means = [total / safe for total in totals]
    deviations = np.zeros((cells, 4))
    compiled(row_kernels.add_deviations)(
        cell, values, other, weights, read_only(np.stack(means, axis=1)), deviations
    )
    parts = np.ascontiguousarray(deviations.T)
    return [
        Moments._corrected(sizes, means[i], parts[2 * i], parts[2 * i + 1])  # noqa: SLF001
        for i in range(1 if other is None else 2)
    ]


# --- the order of merges -------------------------------------------------------------------------
# Floating-point addition is not associative: the last digits of a sum depend on the order of its terms. Here the rows
# are cut into leaves by their numbers, and leaves merge in one binary tree. So a result has the same bits for any
# batches, files, threads, processes and orders of completion.

NodeT = TypeVar("NodeT")

STATS_LEAF = 65_536
"""Rows of a leaf for the statistics of columns. (The leaves of a method are its batches.)"""


class MergeTree(Generic[NodeT]):
    """A binary tree over the leaves 0, 1, 2, …, which is reduced while its nodes arrive, in any order.

    The node ``index`` of ``level`` has the leaves ``index * 2**level`` to ``(index + 1) * 2**level - 1``. Its children
    merge as soon as both are there, the left one first. At most one node of each level waits if leaves come in order.
    """

    def __init__(self, merge: Callable[[NodeT, NodeT], NodeT]) -> None:
        self._merge = merge
        self._nodes: dict[tuple[int, int], NodeT] = {}

    def put(self, index: int, node: NodeT, level: int = 0) -> None:
        """Add a leaf, or the node of a whole subtree of 2**level leaves. The last subtree may have fewer."""
        while (other := self._nodes.pop((level, index ^ 1), None)) is not None:
            node = self._merge(node, other) if index % 2 == 0 else self._merge(other, node)
            level, index = level + 1, index // 2
        self._nodes[level, index] = node

    def merge(self, other: MergeTree[NodeT]) -> None:
        """Add the nodes that are left of another tree."""
        for (level, index), node in other._nodes.items():
            self.put(index, node, level)

    def result(self) -> NodeT:
        """Return the merge of all leaves. Nodes without a neighbour merge from the smallest to the largest."""
        if not self._nodes:
            raise ValueError("a merge tree without leaves")
        rest = [node for _, node in sorted(self._nodes.items(), key=lambda item: item[0])]
        merged = rest[0]
        for node in rest[1:]:
            merged = self._merge(node, merged)
        return merged
