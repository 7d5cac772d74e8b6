"""Means over rows from counts, in NumPy alone: for where nothing can be compiled.

The same sets of rows as in `marked.py`, but all nodes of one depth at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints
from skedasis.quantity.trees.coding import Codes, Tests
from skedasis.quantity.trees.marked import Words, totals
from skedasis.quantity.trees.shape import Shape

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
