"""Evaluation of small trees by bitsets of 64 rows, and by counting where nothing can be compiled.

The same sets of rows as in `marked.py`, but all nodes of one depth at once.

For trees of up to some 256 leaves. Exact: each row's sum is that of the leaves it reaches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints
from skedasis.trees import bitset_kernels
from skedasis.trees.compilation import compiled
from skedasis.trees.layout import Codes, Shape, Tests

# ------------------------------------------------------------------------------------------
# Means over rows from counts, in NumPy alone: for where nothing can be compiled.


_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


def packed(passes: NDArray[np.bool_]) -> Words:
    """Return rows of truth values as rows of bits, 64 to a word."""
    tests, n = passes.shape
    words = -(-n // 64)
    out = np.zeros((tests, 8 * words), np.uint8)
    bits = np.packbits(passes, axis=1, bitorder="little")
    out[:, : bits.shape[1]] = bits
    return out.view("<u8").astype(np.uint64, copy=False)


def passing(tests: Tests, codes: Codes) -> Words:
    """Return who of rows with these codes passes each test, (tests, words)."""
    if tests.among is None and not (codes == tests.missing).any():
        # Half as wide numbers take half the time to compare; a missing value's code is greater than every cut.
        small = np.uint16 if tests.missing < 2**16 else np.int32
        return packed(codes.astype(small)[None, :] <= tests.cut.astype(small)[:, None])
    return packed(tests.passes(codes))


@dataclass(frozen=True, eq=False)
class _Step:
    """The nodes of one depth below tests of a column, and where their parents' sets are.

    Parameters
    ----------
    rows, above : ndarray of int
        Of the nodes, and of their parents, among all nodes below tests of the column.
    tops, top_above : ndarray of int
        The same for nodes whose parents are the topmost tests; these parents among all nodes.
    test, flip : ndarray
        What the nodes demand of rows in addition; none where the column itself is tested.
    demanding : ndarray of int
        Which nodes do.
    """

    rows: Ints
    above: Ints
    tops: Ints
    top_above: Ints
    demanding: Ints
    test: Ints
    flip: Words


class Counted:
    """Trees of one output on a batch, as far as means over the rows are asked for.

    Parameters
    ----------
    shape : Shape
    n : int
    passes : ndarray of uint64, shape (tests, words)
    """

    def __init__(self, shape: Shape, n: int, passes: Words) -> None:
        self.shape, self.n, self.passes = shape, n, passes
        self.reached = np.empty((len(shape), passes.shape[1]), np.uint64)
        self.reached[shape.levels[0]] = packed(np.ones((1, n), bool))[0]
        for level in shape.levels[1:]:
            above = shape.parent[level]
            demanded = passes.take(shape.test[above], axis=0)
            demanded ^= _flip(shape, level)
            self.reached[level] = self.reached.take(above, axis=0) & demanded
        self._sizes = np.zeros(len(shape), np.int64)
        self._sizes[shape.leaves] = _counted(self.reached[shape.leaves])

    def like(self, shape: Shape) -> Counted:
        """Return the same for trees that differ in their leaves' values only."""
        other = object.__new__(Counted)
        other.__dict__ = {**self.__dict__, "shape": shape}
        return other

    def own(self) -> Floats:
        """Return the sums at the rows, (n,). For a few rows: it takes a truth value for each row and leaf."""
        leaves = self.shape.leaves
        bits = self.reached[leaves].astype("<u8").view(np.uint8)
        there = np.unpackbits(bits, axis=1, count=self.n, bitorder="little")
        return self.shape.value[leaves] @ there

    def replaced(self, changes: Mapping[int, Codes]) -> Counted:
        """Return the same with the columns of these places replaced."""
        passes = self.passes.copy()
        for k, codes in changes.items():
            first, last = self.shape.first[k], self.shape.first[k + 1]
            passes[first:last] = passing(self.shape.tests[k], codes)
        return Counted(self.shape, self.n, passes)

    def changed(self, k: int, codes: Codes) -> Floats:
        """Return what giving each row another code in the column of place k changes in the sums, (n,)."""
        return self.replaced({k: codes}).own() - self.own()

    def curves(self, k: int, codes: Codes) -> Floats:
        """Return the sums with the column of place k set to each of these codes, (m, n)."""
        return np.stack([self.replaced({k: np.full(self.n, c)}).own() for c in codes])

    def total(self) -> float:
        """Return the sums' sum over the rows."""
        leaves = self.shape.leaves
        return float(self.shape.value[leaves] @ self._sizes[leaves])

    def totals(self, k: int, codes: Codes) -> Floats:
        """Return the sums' sums over the rows, (m,), with the column of place k set to each of these codes."""
        shape = self.shape
        below = np.flatnonzero(shape.below(k))
        sets = np.empty((len(below), self.passes.shape[1]), np.uint64)
        for step in _steps(shape, k, below):
            sets[step.tops] = self.reached.take(step.top_above, axis=0)
            sets[step.rows] = sets.take(step.above, axis=0)
            demanded = self.passes.take(step.test, axis=0)
            demanded ^= step.flip
            sets[step.demanding] &= demanded
        open_ = np.zeros(len(shape), np.int64)
        leaf = shape.test[below] < 0
        open_[below[leaf]] = _counted(sets[leaf])
        return totals(shape, k, codes, open_, self._sizes)


def _counted(sets: Words) -> Ints:
    return np.bitwise_count(sets).sum(axis=1, dtype=np.int64)


def _flip(shape: Shape, nodes: Ints) -> Words:
    """Return the words that turn who passes a test into who goes to these children."""
    return np.where(shape.is_left[nodes] == 1, np.uint64(0), _ALL)[:, None]


def _steps(shape: Shape, k: int, below: Ints) -> list[_Step]:
    """Return the steps from depth to depth; they are the same for all batches."""
    known: dict[int, list[_Step]] = shape.__dict__.setdefault("_steps", {})
    if k not in known:
        row = np.full(len(shape), -1, np.int64)
        row[below] = np.arange(len(below))
        known[k] = [_step(shape, k, row, level[row[level] >= 0]) for level in shape.levels[1:]]
    return known[k]


def _step(shape: Shape, k: int, row: Ints, nodes: Ints) -> _Step:
    above = shape.parent[nodes]
    inside = row[above] >= 0
    demanding = nodes[shape.column[above] != k]
    return _Step(
        row[nodes[inside]],
        row[above[inside]],
        row[nodes[~inside]],
        above[~inside].astype(np.int64),
        row[demanding],
        shape.test[shape.parent[demanding]].astype(np.int64),
        _flip(shape, demanding),
    )


# ------------------------------------------------------------------------------------------
# One output's trees on a batch of rows, as sets of rows: what their sum is with columns replaced.


Words = NDArray[np.uint64]


def marked(tests: Tests, codes: Codes) -> Words:
    """Return who of rows with these codes passes each test, (tests, words)."""
    out = np.empty((len(tests), -(-len(codes) // 64)), np.uint64)
    if tests.categories is not None:
        passes = tests.passes(np.arange(tests.missing + 1, dtype=np.int32))
        compiled(bitset_kernels.mark_categories)(codes, passes, out)
        return out
    start = np.searchsorted(tests.cut, np.arange(tests.missing + 1)).astype(np.int32)
    compiled(bitset_kernels.mark_numbers)(codes, start, tests.missing_left, tests.missing, out)
    return out


class Marked:
    """Trees of one output on a batch.

    Parameters
    ----------
    shape : Shape
    n : int
        Rows.
    passing : ndarray of uint64, shape (tests, words)
        Who passes which test.
    """

    def __init__(self, shape: Shape, n: int, passing: Words) -> None:
        self.shape, self.n, self.passing = shape, n, passing
        self.words = -(-n // 64)
        everybody = np.empty(self.words, np.uint64)
        compiled(bitset_kernels.everyone)(n, everybody)
        self.reached = np.empty((len(shape), self.words), np.uint64)
        compiled(bitset_kernels.reach)(
            shape.parent, shape.is_left, shape.test, passing, everybody, self.reached
        )
        self._own: Floats | None = None
        self._sizes: Ints | None = None

    def like(self, shape: Shape) -> Marked:
        """Return the same for trees that differ in their leaves' values only."""
        other = object.__new__(Marked)
        other.__dict__ = {**self.__dict__, "shape": shape, "_own": None}
        return other

    def own(self) -> Floats:
        """Return the sums at the rows, (n,)."""
        if self._own is None:
            out = np.zeros(self.words * 64)
            compiled(bitset_kernels.own)(self.shape.test, self.shape.value, self.reached, out)
            self._own = out[: self.n]
        return self._own

    def total(self) -> float:
        """Return the sums' sum over the rows, from counts."""
        leaves = self.shape.leaves
        return float(self.shape.value[leaves] @ self._reached_by[leaves])

    @property
    def _reached_by(self) -> Ints:
        """Return how many rows reach each leaf, (nodes,)."""
        if self._sizes is None:
            self._sizes = np.zeros(len(self.shape), np.int64)
            compiled(bitset_kernels.sizes)(self.shape.test, self.reached, self._sizes)
        return self._sizes

    def _sets(self, times: int = 1) -> tuple[Words, Words, Words]:
        """Return who passes, who reaches, and room for the sets on a path."""
        stack = np.empty((times * (self.shape.deepest + 1), self.words), np.uint64)
        return self.passing, self.reached, stack

    def _column(self, k: int) -> tuple[int, int]:
        return int(self.shape.first[k]), int(self.shape.first[k + 1])

    def changed(self, k: int, codes: Codes) -> Floats:
        """Return what giving each row another code in the column of place k changes in the sums, (n,)."""
        shape, out = self.shape, np.zeros(self.words * 64)
        instead = marked(shape.tests[k], codes)
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

    def between(self, k: int, low: Codes, high: Codes) -> Floats:
        """Return the sums' rise from one code of each row in the column of place k to another, (n,)."""
        shape, out = self.shape, np.zeros(self.words * 64)
        compiled(bitset_kernels.between)(
            shape.nodes[k],
            shape.arrays,
            shape.value,
            self._column(k),
            self._sets(2),
            (marked(shape.tests[k], low), marked(shape.tests[k], high)),
            out,
        )
        return out[: self.n]

    def curves(self, k: int, codes: Codes) -> Floats:
        """Return the sums with the column of place k set to each of these codes, (m, n)."""
        shape = self.shape
        out = np.zeros((len(codes) + 1, self.words * 64))
        compiled(bitset_kernels.curves)(
            shape.nodes[k],
            shape.arrays,
            shape.value,
            self._column(k),
            self._sets(),
            shape.runs(k, codes),
            out,
        )
        compiled(bitset_kernels.add_up)(self.own(), out[:, : self.n])
        return out[:-1, : self.n]

    def totals(self, k: int, codes: Codes) -> Floats:
        """Return the sums of `curves` over the rows, (m,): from counts, without any row's curve."""
        shape = self.shape
        open_ = np.zeros(len(shape), np.int64)
        compiled(bitset_kernels.counts)(
            shape.nodes[k],
            shape.arrays,
            self._column(k),
            self._sets(),
            open_,
        )
        return totals(shape, k, codes, open_, self._reached_by)

    def replaced(self, changes: Mapping[int, Codes]) -> Marked:
        """Return the same with the columns of these places replaced."""
        passing = self.passing.copy()
        for k, codes in changes.items():
            first, last = self._column(k)
            passing[first:last] = marked(self.shape.tests[k], codes)
        return Marked(self.shape, self.n, passing)


def totals(shape: Shape, k: int, codes: Codes, open_: Ints, reached: Ints) -> Floats:
    """Return sums over rows for points of a column, (m,), from how many rows reach each leaf, or would.

    Parameters
    ----------
    shape : Shape
    k : int
        The column's place.
    codes : ndarray of int32, shape (m,)
    open_, reached : ndarray of int, shape (nodes,)
        Rows that would reach a leaf if the column's tests held, and rows that do.
    """
    listed, begin, finish = shape.runs(k, codes)
    fixed = shape.leaves[~shape.below(k)[shape.leaves]]
    rises = np.repeat(shape.value * open_, np.diff(listed))
    steps = np.bincount(begin, rises, len(codes) + 1) - np.bincount(finish, rises, len(codes) + 1)
    start = float(shape.value[fixed] @ reached[fixed])
    return np.cumsum(steps[:-1], dtype=float) + start
