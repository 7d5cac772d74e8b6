"""One output's trees on a batch of rows, as sets of rows: what their sum is with columns replaced.

For trees of up to some 256 leaves. Exact: each row's sum is that of the leaves it reaches.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints
from skedasis.quantity.trees import kernels
from skedasis.quantity.trees.coding import Codes, Tests
from skedasis.quantity.trees.jit import compiled
from skedasis.quantity.trees.shape import Shape

Words = NDArray[np.uint64]


def marked(tests: Tests, codes: Codes) -> Words:
    """Return who of rows with these codes passes each test, (tests, words)."""
    out = np.empty((len(tests), -(-len(codes) // 64)), np.uint64)
    if tests.categories is not None:
        passes = tests.passes(np.arange(tests.missing + 1, dtype=np.int32))
        compiled(kernels.mark_categories)(codes, passes, out)
        return out
    start = np.searchsorted(tests.cut, np.arange(tests.missing + 1)).astype(np.int32)
    compiled(kernels.mark_numbers)(codes, start, tests.missing_left, tests.missing, out)
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
        compiled(kernels.everyone)(n, everybody)
        self.reached = np.empty((len(shape), self.words), np.uint64)
        compiled(kernels.reach)(
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
            compiled(kernels.own)(self.shape.test, self.shape.value, self.reached, out)
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
            compiled(kernels.sizes)(self.shape.test, self.reached, self._sizes)
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
        compiled(kernels.changed)(
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
        compiled(kernels.between)(
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
        compiled(kernels.curves)(
            shape.nodes[k],
            shape.arrays,
            shape.value,
            self._column(k),
            self._sets(),
            shape.runs(k, codes),
            out,
        )
        compiled(kernels.add_up)(self.own(), out[:, : self.n])
        return out[:-1, : self.n]

    def totals(self, k: int, codes: Codes) -> Floats:
        """Return the sums of `curves` over the rows, (m,): from counts, without any row's curve."""
        shape = self.shape
        open_ = np.zeros(len(shape), np.int64)
        compiled(kernels.counts)(
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
