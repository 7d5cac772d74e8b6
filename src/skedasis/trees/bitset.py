"""Evaluation of small trees by bitsets of 64 rows: compiled, or in NumPy only for means over rows."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from skedasis._compilation import compiled
from skedasis._types import Bools, Floats, Ints
from skedasis.trees import bitset_kernels
from skedasis.trees.arrays import Indices, ThresholdCodes, Words
from skedasis.trees.layout import ColumnTests, JointTests, TreeLayout

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)

_WORDS = 128
"""Words of the sets of few rows that are repeated, so that one pass over the nodes changes several codes of each."""


# --- evaluation in NumPy only ---------------------------------------------------------------------


def pack_bits(passes: Bools) -> Words:
    """Return rows of booleans as rows of bits, 64 to a word."""
    tests, n = passes.shape
    words = -(-n // 64)
    out = np.zeros((tests, 8 * words), np.uint8)
    bits = np.packbits(passes, axis=1, bitorder="little")
    out[:, : bits.shape[1]] = bits
    return out.view("<u8").astype(np.uint64, copy=False)


def pack_tests_numpy(tests: ColumnTests, codes: ThresholdCodes) -> Words:
    """Return the set of rows with these codes that pass each test, (tests, words)."""
    if isinstance(tests, JointTests):
        parts = zip(tests.parts, tests.of_parts(codes), strict=True)
        return np.concatenate([pack_tests_numpy(part, own) for part, own in parts])
    if tests.among is None and not (codes == tests.missing).any():
        # If all codes fit, uint16 takes half the time to compare.
        small = np.uint16 if tests.missing < 2**16 else np.int32
        return pack_bits(codes.astype(small)[None, :] <= tests.cut.astype(small)[:, None])
    return pack_bits(tests.passes(codes))


@dataclass(frozen=True, eq=False)
class _Step:
    """The nodes of one depth below tests of columns, with the indices of their parents' sets."""

    rows: Ints
    above: Ints
    tops: Ints
    top_above: Ints
    demanding: Ints
    test: Ints
    flip: Words


class NumpyBitsets:
    """Trees of one output on a batch, evaluated by NumPy."""

    def __init__(self, shape: TreeLayout, n: int, passes: Words) -> None:
        self.shape, self.n, self.passes = shape, n, passes
        self.reached = np.empty((len(shape), passes.shape[1]), np.uint64)
        self.reached[shape.levels[0]] = pack_bits(np.ones((1, n), bool))[0]
        for level in shape.levels[1:]:
            above = shape.parent[level]
            demanded = passes.take(shape.test[above], axis=0)
            demanded ^= _flip(shape, level)
            self.reached[level] = self.reached.take(above, axis=0) & demanded
        self._sizes = np.zeros(len(shape), np.int64)
        self._sizes[shape.leaves] = _counted(self.reached[shape.leaves])

    def like(self, shape: TreeLayout) -> NumpyBitsets:
        other = copy.copy(self)
        other.shape = shape
        return other

    def own(self) -> Floats:
        """Return the sums at the rows, (n,). For few rows: it needs a boolean for each row and leaf."""
        leaves = self.shape.leaves
        bits = self.reached[leaves].astype("<u8").view(np.uint8)
        reached = np.unpackbits(bits, axis=1, count=self.n, bitorder="little")
        return self.shape.value[leaves] @ reached

    def replaced(self, changes: Mapping[int, ThresholdCodes]) -> NumpyBitsets:
        passes = self.passes.copy()
        for k, codes in changes.items():
            first, last = self.shape.first[k], self.shape.first[k + 1]
            passes[first:last] = pack_tests_numpy(self.shape.tests[k], codes)
        return NumpyBitsets(self.shape, self.n, passes)

    def changed(self, k: int, codes: ThresholdCodes) -> Floats:
        return self.replaced({k: codes}).own() - self.own()

    def swept(self, k: int, codes: ThresholdCodes) -> Floats:
        return np.stack([self.own() + self.changed(k, np.ascontiguousarray(c)) for c in codes])

    def between(self, k: int, low: ThresholdCodes, high: ThresholdCodes) -> Floats:
        return self.replaced({k: high}).own() - self.replaced({k: low}).own()

    def curves(self, points: Mapping[int, ThresholdCodes]) -> Floats:
        sets = (
            {k: np.full(self.n, code) for k, code in zip(points, codes, strict=True)}
            for codes in product(*points.values())
        )
        return np.stack([self.replaced(each).own() for each in sets])

    def total(self) -> float:
        leaves = self.shape.leaves
        return float(self.shape.value[leaves] @ self._sizes[leaves])

    def totals(self, points: Mapping[int, ThresholdCodes]) -> Floats:
        shape = self.shape
        below = np.flatnonzero(shape.below_any(points))
        sets = np.empty((len(below), self.passes.shape[1]), np.uint64)
        for step in _steps(shape, tuple(points), below):
            sets[step.tops] = self.reached.take(step.top_above, axis=0)
            sets[step.rows] = sets.take(step.above, axis=0)
            demanded = self.passes.take(step.test, axis=0)
            demanded ^= step.flip
            sets[step.demanding] &= demanded
        n_open = np.zeros(len(shape), np.int64)
        leaf = shape.test[below] < 0
        n_open[below[leaf]] = _counted(sets[leaf])
        return totals(shape, points, n_open, self._sizes)


def _counted(sets: Words) -> Ints:
    """Return the number of rows in each set."""
    return np.bitwise_count(sets).sum(axis=1, dtype=np.int64)


def _flip(shape: TreeLayout, nodes: Ints) -> Words:
    """Return words whose exclusive or with the set that passes the parent's test is the set that goes to the child."""
    return np.where(shape.is_left[nodes] == 1, np.uint64(0), _ALL)[:, None]


def _steps(shape: TreeLayout, columns: tuple[int, ...], below: Ints) -> list[_Step]:
    """Return the nodes below tests of columns by depth, cached because they are the same for all batches."""
    cached: dict[tuple[int, ...], list[_Step]] = shape.__dict__.setdefault("_numpy_steps", {})
    if columns not in cached:
        row = np.full(len(shape), -1, np.int64)
        row[below] = np.arange(len(below))
        levels = [level[row[level] >= 0] for level in shape.levels[1:]]
        cached[columns] = [_step(shape, columns, row, level) for level in levels]
    return cached[columns]


def _step(shape: TreeLayout, columns: tuple[int, ...], row: Ints, nodes: Ints) -> _Step:
    """Return the step for nodes of one depth; `row` maps nodes to their indices below tests of the columns."""
    above = shape.parent[nodes]
    inside = row[above] >= 0
    demanding = nodes[~np.isin(shape.column[above], columns)]
    return _Step(
        row[nodes[inside]],
        row[above[inside]],
        row[nodes[~inside]],
        above[~inside].astype(np.int64),
        row[demanding],
        shape.test[shape.parent[demanding]].astype(np.int64),
        _flip(shape, demanding),
    )


# --- compiled evaluation --------------------------------------------------------------------------


def pack_tests(tests: ColumnTests, codes: ThresholdCodes) -> Words:
    """Return the set of rows with these codes that pass each test, (tests, words)."""
    if isinstance(tests, JointTests):
        parts = zip(tests.parts, tests.of_parts(codes), strict=True)
        return np.concatenate([pack_tests(part, own) for part, own in parts])
    out = np.empty((len(tests), -(-len(codes) // 64)), np.uint64)
    if tests.categories is not None:
        passes = tests.passes(np.arange(tests.missing + 1, dtype=np.int32))
        compiled(bitset_kernels.mark_categories)(codes, passes, out)
        return out
    start = np.searchsorted(tests.cut, np.arange(tests.missing + 1)).astype(np.int32)
    compiled(bitset_kernels.mark_numbers)(codes, start, tests.missing_left, tests.missing, out)
    return out


class BitsetEvaluator:
    """Trees of one output on a batch, evaluated by compiled kernels on sets of rows."""

    def __init__(self, shape: TreeLayout, n: int, passing: Words) -> None:
        self.shape, self.n, self.passing = shape, n, passing
        self.words = -(-n // 64)
        all_rows = np.empty(self.words, np.uint64)
        compiled(bitset_kernels.everyone)(n, all_rows)
        self.reached = np.empty((len(shape), self.words), np.uint64)
        compiled(bitset_kernels.reach)(
            shape.parent, shape.is_left, shape.test, passing, all_rows, self.reached
        )
        self._own: Floats | None = None
        self._sizes: Ints | None = None

    def like(self, shape: TreeLayout) -> BitsetEvaluator:
        """Return the evaluator for trees that differ in the values of their leaves only."""
        other = copy.copy(self)
        vars(other).update(shape=shape, _own=None)
        return other

    def own(self) -> Floats:
        """Return the sums at the rows, (n,)."""
        if self._own is None:
            out = np.zeros(self.words * 64)
            compiled(bitset_kernels.own)(self.shape.test, self.shape.value, self.reached, out)
            self._own = out[: self.n]
        return self._own

    def total(self) -> float:
        """Return the total of the sums over the rows, from counts."""
        leaves = self.shape.leaves
        return float(self.shape.value[leaves] @ self._n_reached[leaves])

    @property
    def _n_reached(self) -> Ints:
        """Return the number of rows that reach each leaf, (nodes,)."""
        if self._sizes is None:
            self._sizes = np.zeros(len(self.shape), np.int64)
            compiled(bitset_kernels.sizes)(self.shape.test, self.reached, self._sizes)
        return self._sizes

    def _sets(self, n_paths: int = 1) -> tuple[Words, Words, Words]:
        """Return the sets that pass tests, the sets that reach nodes, and working memory for the sets on paths."""
        stack = np.empty((n_paths * (self.shape.deepest + 1), self.words), np.uint64)
        return self.passing, self.reached, stack

    def _column(self, k: int) -> tuple[int, int]:
        """Return the range of the column's tests among those of all columns."""
        return int(self.shape.first[k]), int(self.shape.first[k + 1])

    def changed(self, k: int, codes: ThresholdCodes) -> Floats:
        """Return the change of the sums when each row gets another code in the column with index k, (n,)."""
        shape, out = self.shape, np.zeros(self.words * 64)
        instead = pack_tests(shape.tests[k], codes)
        compiled(bitset_kernels.changed)(
            shape.nodes[k],
            shape.arrays,
            shape.value,
            self._column(k),
            self._sets(),
            instead,
            out,
        )
        return out[: self.n]

    def swept(self, k: int, codes: ThresholdCodes) -> Floats:
        """Return the sums when each row gets other codes in the column with index k, (m, n) as the codes."""
        out, step = np.empty((len(codes), 64 * self.words)), max(1, _WORDS // max(self.words, 1))
        for first in range(0, len(codes), step):
            some = codes[first : first + step]
            padded = np.zeros((len(some), 64 * self.words), np.int32)
            padded[:, : self.n] = some
            changed = self._repeated(len(some)).changed(k, padded.reshape(-1))
            out[first : first + step] = changed.reshape(padded.shape)
        return self.own() + out[:, : self.n]

    def _repeated(self, times: int) -> BitsetEvaluator:
        """Return the evaluator of the rows repeated, each time with as many more as fill up the last word."""
        other = copy.copy(self)
        words = self.words * times
        vars(other).update(words=words, n=64 * words, _own=None, _sizes=None)
        if times > 1:
            other.passing, other.reached = (np.tile(w, times) for w in (self.passing, self.reached))
        return other

    def between(self, k: int, low: ThresholdCodes, high: ThresholdCodes) -> Floats:
        """Return the difference of the sums between two codes per row in the column with index k, (n,)."""
        shape, out = self.shape, np.zeros(self.words * 64)
        compiled(bitset_kernels.between)(
            shape.nodes[k],
            shape.arrays,
            shape.value,
            self._column(k),
            self._sets(2),
            (pack_tests(shape.tests[k], low), pack_tests(shape.tests[k], high)),
            out,
        )
        return out[: self.n]

    def _free(self, columns: Iterable[int]) -> tuple[Indices, Bools]:
        """Return the nodes that test one of the columns, in ascending order, and which tests are theirs."""
        free = np.zeros(len(self.passing), bool)
        for k in columns:
            free[slice(*self._column(k))] = True
        return np.sort(np.concatenate([self.shape.nodes[k] for k in columns])), free

    def curves(self, points: Mapping[int, ThresholdCodes]) -> Floats:
        """Return the sums with columns set to each combination of these codes, the last column's fastest, (m, n)."""
        shape, sizes = self.shape, [len(codes) for codes in points.values()]
        out = np.zeros((math.prod(sizes), self.words * 64))
        nodes, free = self._free(points)
        compiled(bitset_kernels.curves)(
            nodes, shape.arrays, shape.value, free, self._sets(), shape.corners(points), out
        )
        out = out[:, : self.n]
        out[0] += self.own()
        stride = 1
        for size in reversed(sizes):
            compiled(bitset_kernels.add_up)(stride, size, out)
            stride *= size
        return out

    def totals(self, points: Mapping[int, ThresholdCodes]) -> Floats:
        """Return the totals of `curves` over the rows, (m,), from counts instead of curves."""
        shape = self.shape
        n_open = np.zeros(len(shape), np.int64)
        nodes, free = self._free(points)
        compiled(bitset_kernels.counts)(nodes, shape.arrays, free, self._sets(), n_open)
        return totals(shape, points, n_open, self._n_reached)

    def replaced(self, changes: Mapping[int, ThresholdCodes]) -> BitsetEvaluator:
        """Return the evaluator with columns replaced, by their indices in ``shape.columns``."""
        passing = self.passing.copy()
        for k, codes in changes.items():
            first, last = self._column(k)
            passing[first:last] = pack_tests(self.shape.tests[k], codes)
        return BitsetEvaluator(self.shape, self.n, passing)


def totals(
    shape: TreeLayout, points: Mapping[int, ThresholdCodes], n_open: Ints, n_reached: Ints
) -> Floats:
    """Return totals over the rows for combinations of points of columns, (m,), from numbers of rows by leaf."""
    listed, place, sign = shape.corners(points)
    fixed = shape.leaves[~shape.below_any(points)[shape.leaves]]
    added = np.repeat(shape.value * n_open, np.diff(listed)) * sign
    sizes = [len(codes) for codes in points.values()]
    found = np.bincount(place, added, math.prod(sizes)).astype(float).reshape(sizes)
    for axis in range(len(sizes)):
        found = np.cumsum(found, axis=axis)
    return found.ravel() + float(shape.value[fixed] @ n_reached[fixed])
