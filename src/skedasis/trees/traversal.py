"""Evaluation of large trees by traversal, row by row.

For trees of more than some 256 leaves, of which each is reached by so few rows that sets of rows (`marked.py`) are
mostly empty. Exact: each row's sum is that of the leaves it reaches.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints
from skedasis.trees import bitset_kernels, traversal_kernels
from skedasis.trees.compilation import compiled
from skedasis.trees.layout import Codes, Shape

Leaves = NDArray[np.uint32]


Trees = tuple[NDArray[np.uint32], NDArray[np.uint8], Ints]


_NOWHERE = np.empty((0, 0), np.uint32)


_CELLS = 1_000_000
"""Sums over rows are made in so many cells, and these added up: one sum of millions of values would lose digits."""


_PACKED: WeakKeyDictionary[Shape, Trees] = WeakKeyDictionary()


_LOCK = threading.Lock()


def packed(shape: Shape) -> Trees:
    """Return trees as kernels walk them: `steps`, `listed` and `roots` of `steps.py`.

    Notes
    -----
    16 bytes a node, kept as long as the shape is: batches share them.
    """
    with _LOCK:
        if shape not in _PACKED:
            _PACKED[shape] = _pack(shape)
        return _PACKED[shape]


def _pack(shape: Shape) -> Trees:
    bounds, left = [np.zeros(0, np.uint32)], [np.zeros(0, np.uint8)]
    listed, count = [np.zeros(0, np.uint8)], 0
    for tests in shape.tests:
        if tests.categories is None:
            bounds.append((tests.cut + tests.missing_left).astype(np.uint32))
            left.append(tests.missing_left.astype(np.uint8))
            continue
        passes = tests.passes(np.arange(tests.missing + 1, dtype=np.int32))
        places = (
            traversal_kernels.NAMED
            + count
            + (tests.missing + 1) * np.arange(len(tests), dtype=np.int64)
        )
        bounds.append(places.astype(np.uint32))
        left.append(np.zeros(len(tests), np.uint8))
        listed.append(1 - passes.astype(np.uint8).ravel())
        count += passes.size
    nodes = np.empty(4 * len(shape), np.uint32)
    compiled(traversal_kernels.pack)(
        shape.column, shape.test, shape.size, np.concatenate(bounds), np.concatenate(left), nodes
    )
    return nodes, np.concatenate(listed), shape.roots


class Walked:
    """Trees of one output on a batch.

    Parameters
    ----------
    shape : Shape
    n : int
        Rows.
    codes : ndarray of int32, shape (columns that are tested, n)
        Of the rows, in the order of ``shape.columns``.

    Notes
    -----
    Holds a leaf of each row and tree (4 bytes). What is asked costs at most one walk of each row down each tree (two
    for `between`), `curves` and `totals` one to each leaf that the row can reach. Trees that do not test the column,
    and rows that are seen to stay in their leaf, cost none.
    """

    def __init__(self, shape: Shape, n: int, codes: Codes) -> None:
        rows = np.empty((n, len(codes)), np.int32)
        for k in range(len(codes)):
            rows[:, k] = _signed(shape, k, codes[k])
        trees = packed(shape)
        leaves = np.empty((len(shape.roots) - 1, n), np.uint32)
        everyone = np.arange(n, dtype=np.uint32)
        compiled(traversal_kernels.reach)(trees, rows.ravel(), rows.shape[1], everyone, leaves)
        self._set(shape, trees, rows, leaves)

    def _set(self, shape: Shape, trees: Trees, rows: Codes, leaves: Leaves) -> None:
        self.shape, self.trees, self.rows, self.leaves = shape, trees, rows, leaves
        self.n = len(rows)
        self._own: Floats | None = None

    def like(self, shape: Shape) -> Walked:
        """Return the same for trees that differ in their leaves' values only."""
        other = object.__new__(Walked)
        other._set(shape, self.trees, self.rows, self.leaves)
        return other

    def own(self) -> Floats:
        """Return the sums at the rows, (n,)."""
        if self._own is None:
            self._own = np.zeros(self.n)
            compiled(traversal_kernels.own)(self.shape.value, self.leaves, self._own)
        return self._own

    def total(self) -> float:
        """Return the sums' sum over the rows."""
        return float(self.own().sum())

    def changed(self, k: int, codes: Codes) -> Floats:
        """Return what giving each row another code in the column of place k changes in the sums, (n,)."""
        return self._risen(k, self.rows[:, k].copy(), _signed(self.shape, k, codes), _NOWHERE)

    def between(self, k: int, low: Codes, high: Codes) -> Floats:
        """Return the sums' rise from one code of each row in the column of place k to another, (n,)."""
        return self._risen(k, _signed(self.shape, k, low), _signed(self.shape, k, high), _NOWHERE)

    def _risen(self, k: int, low: Codes, high: Codes, after: Leaves) -> Floats:
        out = np.zeros(self.n)
        compiled(traversal_kernels.between)(
            self.trees,
            self.shape.value,
            self._column(k),
            (self.rows.ravel().copy(), self.rows.shape[1], self.rows[:, k].copy(), self.leaves),
            (np.flatnonzero(low != high).astype(np.uint32), low, high),
            self._room(),
            out,
            after,
        )
        return out

    def _column(self, k: int) -> tuple[int, Codes, Codes, Ints]:
        tested = self.shape.nodes[k]
        starts = np.searchsorted(tested, self.shape.roots).astype(np.int64)
        return k, tested, tested + self.shape.size[tested], starts

    def _room(self) -> tuple[Codes, Codes]:
        """Return room for `walks.outline`."""
        # A tree's tests have two sides each, which are one less than its nodes.
        most = int(np.diff(self.shape.roots).max(initial=1))
        return np.empty((most, 5), np.int32), np.empty(most, np.int32)

    def curves(self, k: int, codes: Codes) -> Floats:
        """Return the sums with the column of place k set to each of these codes, (m, n)."""
        points, place, numbers = self._points(k, codes)
        out = np.zeros((len(points) + 1, self.n))
        if numbers:
            self._open(k, points[:numbers], np.arange(self.n, dtype=np.int32), out[: numbers + 1])
            compiled(bitset_kernels.add_up)(self.own(), out[: numbers + 1])
        for x in range(numbers, len(points)):
            out[x] = self.own() + self.changed(k, np.full(self.n, points[x], np.int32))
        return out[:-1] if place is None else out[place]

    def totals(self, k: int, codes: Codes) -> Floats:
        """Return the sums of `curves` over the rows, (m,), without keeping any row's curve."""
        points, place, numbers = self._points(k, codes)
        own, out = self.total(), np.zeros(len(points))
        if numbers:
            parts = int(np.clip(_CELLS // (numbers + 1), 1, 64))
            parted = np.zeros((numbers + 1, parts))
            self._open(k, points[:numbers], np.arange(self.n, dtype=np.int32) % parts, parted)
            compiled(bitset_kernels.add_up)(np.zeros(parts), parted)
            out[:numbers] = own + parted[:-1].sum(axis=1)
        for x in range(numbers, len(points)):
            out[x] = own + self.changed(k, np.full(self.n, points[x], np.int32)).sum()
        return out if place is None else out[place]

    def _points(self, k: int, codes: Codes) -> tuple[Codes, Any, int]:
        """Return the different codes, each code's place among them, and how many are numbers: these come first."""
        tests = self.shape.tests[k]
        points, place = np.unique(codes, return_inverse=True)
        numbers = 0 if tests.categories is not None else int((points < tests.missing).sum())
        return (
            points,
            None if len(points) == len(codes) and (np.diff(place) > 0).all() else place,
            numbers,
        )

    def _open(self, k: int, points: Codes, to: Codes, out: Floats) -> None:
        """Add the differences from point to point of the rows' rises."""
        counts = np.bincount(points, minlength=len(self.shape.tests[k].thresholds) + 1)
        stack = np.empty((8 * traversal_kernels.SIDE + self.shape.deepest, 4), np.int32)
        compiled(traversal_kernels.opened)(
            self.trees,
            self.shape.value,
            self._column(k),
            (self.rows.ravel(), self.rows.shape[1], self.leaves),
            (np.cumsum(counts).astype(np.int32), to, out),
            (*self._room(), stack),
            self.shape.deepest,
        )

    def replaced(self, changes: Mapping[int, Codes]) -> Walked:
        """Return the same with the columns of these places replaced."""
        other = object.__new__(Walked)
        other._set(self.shape, self.trees, self.rows.copy(), self.leaves.copy())
        for k, codes in changes.items():
            new, after = _signed(self.shape, k, codes), other.leaves.copy()
            other._risen(k, other.rows[:, k].copy(), new, after)
            other.leaves, other.rows[:, k] = after, new
        return other


def _signed(shape: Shape, k: int, codes: Codes) -> Codes:
    """Return codes as kernels take them: a missing number below all others."""
    tests = shape.tests[k]
    if tests.categories is not None:
        return np.ascontiguousarray(codes, np.int32)
    return np.where(codes == tests.missing, traversal_kernels.MISSING, codes).astype(np.int32)
