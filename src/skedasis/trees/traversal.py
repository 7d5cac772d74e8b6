"""Evaluation of large trees by traversal, row by row."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from itertools import product
from weakref import WeakKeyDictionary

import numpy as np

from skedasis._compilation import compiled
from skedasis._types import Floats, Ints
from skedasis.trees import bitset_kernels, traversal_kernels
from skedasis.trees.arrays import Indices, TestedColumn, ThresholdCodes, Trees, Unsigned
from skedasis.trees.layout import JointTests, TreeLayout

_NO_LEAVES = np.empty((0, 0), np.uint32)

_PARTIAL_SUMS = 1_000_000
"""Maximum number of partial sums for totals over rows: a single sum of millions of values would lose digits."""

_PACKED: WeakKeyDictionary[TreeLayout, tuple[int, Trees]] = WeakKeyDictionary()
"""The packed trees, and the number of combinations of codes (`layout.States`) that were known when they were packed."""

_LOCK = threading.Lock()


def pack_trees(shape: TreeLayout) -> Trees:
    """Return the trees in the format of the kernels: `steps`, `listed` and `roots` (see `arrays.Trees`)."""
    joint = [tests for tests in shape.tests if isinstance(tests, JointTests)]
    known = sum(len(tests.states) for tests in joint)
    with _LOCK:
        packed = _PACKED.get(shape)
        if packed is None or packed[0] < known:
            packed = _PACKED[shape] = known, _pack(shape)
        return packed[1]


def _pack(shape: TreeLayout) -> Trees:
    bounds, left = [np.zeros(0, np.uint32)], [np.zeros(0, np.uint8)]
    listed, count = [np.zeros(0, np.uint8)], 0
    for tests in shape.tests:
        if tests.categories is None:
            bounds.append((tests.cut + tests.missing_left).astype(np.uint32))
            left.append(tests.missing_left.astype(np.uint8))
            continue
        passes = tests.passes(np.arange(tests.missing + 1, dtype=np.int32))
        starts = (
            traversal_kernels.NAMED
            + count
            + passes.shape[1] * np.arange(len(tests), dtype=np.int64)
        )
        bounds.append(starts.astype(np.uint32))
        left.append(np.zeros(len(tests), np.uint8))
        listed.append(1 - passes.astype(np.uint8).ravel())
        count += passes.size
    nodes = np.empty(4 * len(shape), np.uint32)
    compiled(traversal_kernels.pack)(
        shape.column, shape.test, shape.size, np.concatenate(bounds), np.concatenate(left), nodes
    )
    return nodes, np.concatenate(listed), shape.roots


class TraversalEvaluator:
    """Trees of one output on a batch, evaluated by compiled traversal."""

    def __init__(self, shape: TreeLayout, n: int, codes: ThresholdCodes) -> None:
        rows = np.empty((n, len(codes)), np.int32)
        for k in range(len(codes)):
            rows[:, k] = _signed(shape, k, codes[k])
        trees = pack_trees(shape)
        leaves = np.empty((len(shape.roots) - 1, n), np.uint32)
        all_rows = np.arange(n, dtype=np.uint32)
        compiled(traversal_kernels.reach)(trees, rows.ravel(), rows.shape[1], all_rows, leaves)
        self._set(shape, trees, rows, leaves)

    def _set(self, shape: TreeLayout, trees: Trees, rows: ThresholdCodes, leaves: Unsigned) -> None:
        self.shape, self.trees, self.rows, self.leaves = shape, trees, rows, leaves
        self.n = len(rows)
        self._own: Floats | None = None

    def like(self, shape: TreeLayout) -> TraversalEvaluator:
        other = object.__new__(TraversalEvaluator)
        other._set(shape, self.trees, self.rows, self.leaves)
        return other

    def own(self) -> Floats:
        if self._own is None:
            self._own = np.zeros(self.n)
            compiled(traversal_kernels.own)(self.shape.value, self.leaves, self._own)
        return self._own

    def total(self) -> float:
        return float(self.own().sum())

    def changed(self, k: int, codes: ThresholdCodes) -> Floats:
        low, high = self.rows[:, k].copy(), self._coded(k, codes)
        return self._difference(k, low, high, _NO_LEAVES)

    def swept(self, k: int, codes: ThresholdCodes) -> Floats:
        return np.stack([self.own() + self.changed(k, np.ascontiguousarray(c)) for c in codes])

    def between(self, k: int, low: ThresholdCodes, high: ThresholdCodes) -> Floats:
        low, high = self._coded(k, low), self._coded(k, high)
        return self._difference(k, low, high, _NO_LEAVES)

    def _coded(self, k: int, codes: ThresholdCodes) -> ThresholdCodes:
        """Return codes in the form that kernels take; among them may be combinations that the trees do not have yet."""
        if isinstance(self.shape.tests[k], JointTests):
            self.trees = pack_trees(self.shape)
        return _signed(self.shape, k, codes)

    def _difference(
        self, k: int, low: ThresholdCodes, high: ThresholdCodes, after: Unsigned
    ) -> Floats:
        """Return the differences; if `after` has room, update it to the leaves reached with the codes `high`."""
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

    def _column(self, k: int) -> TestedColumn:
        """Return the argument `column` of the kernel `between`."""
        tested = self.shape.nodes[k]
        starts = np.searchsorted(tested, self.shape.roots).astype(np.int64)
        return k, tested, tested + self.shape.size[tested], starts

    def _room(self) -> tuple[Indices, Indices]:
        """Return working memory for the kernel `outline`."""
        # The tests of a tree have two sides each, in total one less than its nodes.
        size = int(np.diff(self.shape.roots).max(initial=1))
        return np.empty((size, 5), np.int32), np.empty(size, np.int32)

    def curves(self, points: Mapping[int, ThresholdCodes]) -> Floats:
        *_, (k, codes) = points.items()
        parts = [part.curves_along(k, codes) for part in self._outer(points)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def totals(self, points: Mapping[int, ThresholdCodes]) -> Floats:
        """Return the totals of `curves` over the rows, (m,), without storing the curves."""
        *_, (k, codes) = points.items()
        return np.concatenate([part.totals_along(k, codes) for part in self._outer(points)])

    def _outer(self, points: Mapping[int, ThresholdCodes]) -> Iterator[TraversalEvaluator]:
        """Return the evaluators with all columns but the last set to each combination of their codes."""
        *outer, _ = points
        for codes in product(*(points[k] for k in outer)):
            fixed = zip(outer, codes, strict=True)
            instead = {k: np.full(self.n, code, np.int32) for k, code in fixed}
            yield self.replaced(instead) if instead else self

    def curves_along(self, k: int, codes: ThresholdCodes) -> Floats:
        """Return the sums with the column with index k set to each of these codes, (m, n)."""
        points, inverse, n_numbers = self._points(k, codes)
        out = np.zeros((len(points) + 1, self.n))
        if n_numbers:
            rows = np.arange(self.n, dtype=np.int32)
            self._add_steps(k, points[:n_numbers], rows, out[: n_numbers + 1])
            out[0] += self.own()
            compiled(bitset_kernels.add_up)(1, n_numbers, out[:n_numbers])
        for x in range(n_numbers, len(points)):
            out[x] = self.own() + self.changed(k, np.full(self.n, points[x], np.int32))
        return out[:-1] if inverse is None else out[inverse]

    def totals_along(self, k: int, codes: ThresholdCodes) -> Floats:
        """Return the totals of `curves_along` over the rows, (m,), without storing the curves."""
        points, inverse, n_numbers = self._points(k, codes)
        own, out = self.total(), np.zeros(len(points))
        if n_numbers:
            n_parts = int(np.clip(_PARTIAL_SUMS // (n_numbers + 1), 1, 64))
            partial = np.zeros((n_numbers + 1, n_parts))
            part = np.arange(self.n, dtype=np.int32) % n_parts
            self._add_steps(k, points[:n_numbers], part, partial)
            compiled(bitset_kernels.add_up)(1, n_numbers, partial[:-1])
            out[:n_numbers] = own + partial[:-1].sum(axis=1)
        for x in range(n_numbers, len(points)):
            out[x] = own + self.changed(k, np.full(self.n, points[x], np.int32)).sum()
        return out if inverse is None else out[inverse]

    def _points(self, k: int, codes: ThresholdCodes) -> tuple[ThresholdCodes, Ints | None, int]:
        """Return the distinct codes, the index of each code among them, and the number of numeric codes."""
        tests = self.shape.tests[k]
        points, inverse = np.unique(codes, return_inverse=True)
        n_numbers = 0 if tests.categories is not None else int((points < tests.missing).sum())
        is_identity = len(points) == len(codes) and (np.diff(inverse) > 0).all()
        return points, None if is_identity else inverse, n_numbers

    def _add_steps(self, k: int, points: ThresholdCodes, to: ThresholdCodes, out: Floats) -> None:
        """Add the steps between adjacent points of the rows' curves to the columns `to` of `out`."""
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

    def replaced(self, changes: Mapping[int, ThresholdCodes]) -> TraversalEvaluator:
        other = object.__new__(TraversalEvaluator)
        other._set(self.shape, self.trees, self.rows.copy(), self.leaves.copy())
        for k, codes in changes.items():
            new, after = other._coded(k, codes), other.leaves.copy()
            other._difference(k, other.rows[:, k].copy(), new, after)
            other.leaves, other.rows[:, k] = after, new
        return other


def _signed(shape: TreeLayout, k: int, codes: ThresholdCodes) -> ThresholdCodes:
    """Return codes in the form that kernels take: the code of missing numbers is `MISSING`, below all others."""
    tests = shape.tests[k]
    if tests.categories is not None:
        return np.ascontiguousarray(codes, np.int32)
    return np.where(codes == tests.missing, traversal_kernels.MISSING, codes).astype(np.int32)
