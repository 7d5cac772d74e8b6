"""Layout of an ensemble for evaluation: threshold codes of columns, and the order in which nodes are visited.

A test of a node then compares small whole numbers, and all values that no tree tells apart are one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Ints
from skedasis.stats.grid import locate
from skedasis.trees import compilation, traversal_kernels
from skedasis.trees.ensemble import Ensemble

# ------------------------------------------------------------------------------------------
# Columns as codes: what trees see of a value is between which of their thresholds it lies, or which category it is.


Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Tests:
    """The different tests of one column, those of numbers in the order of their thresholds.

    Parameters
    ----------
    thresholds : ndarray of float, shape (T,)
        All of them, sorted. A number's code is how many lie below it, so ``x <= thresholds[k]`` where ``code <= k``.
    cut : ndarray of int32, shape (R,)
        Of each test: codes up to this one go left.
    missing_left : ndarray of bool, shape (R,)
        Whether a missing value goes left, too.
    categories : ndarray of int, shape (C,), optional
        The categories that are known, where the column is tested for these. Their codes are their places here.
    among : ndarray of bool, shape (R, C), optional
        Which categories go left in each test.
    single : bool
        Whether numbers are rounded to single precision first.
    """

    thresholds: Floats
    cut: Codes
    missing_left: Bools
    categories: Ints | None = None
    among: Bools | None = None
    single: bool = False

    def __len__(self) -> int:
        return len(self.cut)

    @property
    def missing(self) -> int:
        """Return the code of a missing value, and of an unknown category: one more than all others."""
        return len(self.thresholds) + 1 if self.categories is None else len(self.categories)

    def codes(self, x: Floats) -> Codes:
        """Return the codes of values, of any shape; NaN is missing."""
        if self.categories is not None:
            return self._places(x)
        flat = np.ascontiguousarray(x, dtype=float).reshape(-1)
        if self.single:
            with np.errstate(over="ignore"):
                flat = flat.astype(np.float32).astype(float)
        absent = np.isnan(flat)
        some = bool(absent.any())
        known = np.where(absent, 0.0, flat) if some else flat
        t = self.thresholds
        code = (
            locate(t, known, float(t[0]), float(t[-1]), "right") if len(t) else np.zeros(len(flat))
        )
        code = code.astype(np.int32)
        if some:
            code[absent] = self.missing
        return code.reshape(x.shape)

    def _places(self, x: Floats) -> Codes:
        known = self.categories
        if known is None or len(known) == 0:
            return np.full(x.shape, self.missing, np.int32)
        # A fraction stands for the category that it is cut down to, as models read it.
        with np.errstate(invalid="ignore"):
            whole = np.trunc(np.where(np.isfinite(x), x, -1.0))
        place = np.minimum(np.searchsorted(known, whole), len(known) - 1)
        there = (known[place] == whole) & ~np.isnan(x)
        return np.where(there, place, self.missing).astype(np.int32)

    def passes(self, codes: Codes) -> Bools:
        """Return which tests values of these codes pass to the left, (R, number of codes)."""
        codes = np.asarray(codes)
        missing = codes == self.missing
        if self.among is None:
            left = codes[None, :] <= self.cut[:, None]
        else:
            left = self.among[:, np.minimum(codes, self.missing - 1)] if self.missing else False
            left = left & ~missing
        return np.where(missing[None, :], self.missing_left[:, None], left)


def tests_of(ensemble: Ensemble) -> tuple[dict[int, Tests], NDArray[np.int32]]:
    """Return the tests of each column that is tested at all, and each node's place among its column's tests.

    Returns
    -------
    dict of int to Tests
    ndarray of int32, shape (nodes,)
        -1 in leaves.
    """
    place = np.full(len(ensemble.feature), -1, np.int32)
    inner = np.flatnonzero(ensemble.feature >= 0)
    column = ensemble.feature[inner]
    # Numbers this small are sorted by their digits, in a tenth of the time.
    order = inner[
        np.argsort(column.astype(np.int16 if ensemble.columns < 2**15 else np.int32), kind="stable")
    ]
    counts = np.bincount(column, minlength=ensemble.columns)
    found: dict[int, Tests] = {}
    for j, nodes in enumerate(np.split(order, np.cumsum(counts)[:-1])):
        if len(nodes) == 0:
            continue
        named = (ensemble.category[nodes] >= 0).any()
        made = _of_categories(ensemble, j, nodes) if named else _of_numbers(ensemble, nodes)
        found[j], place[nodes] = made
    return found, place


def _of_numbers(ensemble: Ensemble, nodes: Ints) -> tuple[Tests, Ints]:
    thresholds, cut = np.unique(ensemble.threshold[nodes], return_inverse=True)
    both = cut * 2 + ensemble.missing_left[nodes]
    there = np.zeros(2 * len(thresholds), bool)
    there[both] = True
    different = np.flatnonzero(there)
    cuts, missing_left = (different // 2).astype(np.int32), different % 2 == 1
    rank = np.cumsum(there) - 1
    return Tests(thresholds, cuts, missing_left, single=ensemble.single), rank[both]


def _of_categories(ensemble: Ensemble, j: int, nodes: Ints) -> tuple[Tests, Ints]:
    both = ensemble.category[nodes].astype(np.int64) * 2 + ensemble.missing_left[nodes]
    different, place = np.unique(both, return_inverse=True)
    sets = [np.asarray(ensemble.sets[k]) for k in different // 2]
    known = ensemble.known.get(j)
    categories = np.unique(np.concatenate(sets)) if known is None else np.unique(known)
    among = np.array([np.isin(categories, some) for some in sets])
    blank = np.zeros(len(different), np.int32)
    return Tests(np.zeros(0), blank, different % 2 == 1, categories.astype(np.int64), among), place


# ------------------------------------------------------------------------------------------
# The order in which trees are visited, and what each column decides in them.


Places = NDArray[np.int32]


Runs = tuple[Places, Places, Places]


@dataclass(frozen=True, eq=False)
class Shape:
    """Trees in the order of visits: a node before its left branch, and that before its right one.

    So a branch is a run of nodes: node q and the ``size[q] - 1`` after it.

    Parameters
    ----------
    parent, depth, size : ndarray of int32, shape (nodes,)
        Of a root the parent is -1 and the depth 0.
    is_left : ndarray of int32, shape (nodes,)
        1 in left children.
    column : ndarray of int32, shape (nodes,)
        The place of the tested column among `columns`, -1 in leaves.
    test : ndarray of int32, shape (nodes,)
        Its place among the tests of all columns, -1 in leaves.
    value : ndarray of float, shape (nodes,) or (nodes, outputs)
    columns : tuple of int
        Columns of X that are tested at all.
    tests : tuple of Tests
        Of these columns.
    first : ndarray of int64, shape (columns + 1,)
        Where each column's tests begin among all.
    roots : ndarray of int64, shape (trees + 1,)
    """

    parent: Places
    depth: Places
    size: Places
    is_left: Places
    column: Places
    test: Places
    value: Floats
    columns: tuple[int, ...]
    tests: tuple[Tests, ...]
    first: Ints
    roots: Ints

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def arrays(self) -> tuple[Places, Places, Places, Places, Places]:
        """Return the arrays that kernels visit."""
        return self.parent, self.depth, self.size, self.is_left, self.test

    @cached_property
    def deepest(self) -> int:
        """Return the greatest depth of a node."""
        return int(self.depth.max(initial=0))

    @cached_property
    def most_leaves(self) -> int:
        """Return how many leaves the largest tree has."""
        # Of a binary tree with n nodes (n + 1) / 2 are leaves.
        return int((np.diff(self.roots).max(initial=1) + 1) // 2)

    @cached_property
    def nodes(self) -> tuple[Places, ...]:
        """Return of each column the nodes that test it, in the order of visits."""
        every = range(len(self.columns))
        return tuple(np.flatnonzero(self.column == k).astype(np.int32) for k in every)

    @cached_property
    def levels(self) -> tuple[Ints, ...]:
        """Return the nodes of each depth."""
        order = np.argsort(self.depth, kind="stable")
        return tuple(np.split(order, np.cumsum(np.bincount(self.depth))[:-1]))

    @cached_property
    def leaves(self) -> Ints:
        """Return the leaves."""
        return np.flatnonzero(self.test < 0)

    def below(self, k: int) -> Bools:
        """Return which nodes have a test of the column of place k above them."""
        if k not in self._below:
            self._below[k] = self._find_below(k)
        return self._below[k]

    @cached_property
    def _below(self) -> dict[int, Bools]:
        return {}

    def _find_below(self, k: int) -> Bools:
        nodes = self.nodes[k]
        edges = np.zeros(len(self) + 1, np.int64)
        np.add.at(edges, nodes + 1, 1)
        np.add.at(edges, nodes + self.size[nodes], -1)
        return np.cumsum(edges[:-1]) > 0

    def place(self, j: int) -> int:
        """Return a column's place among those that are tested, -1 where it is not."""
        return self._places.get(j, -1)

    @cached_property
    def _places(self) -> dict[int, int]:
        return {j: k for k, j in enumerate(self.columns)}

    def only(self, trees: Ints) -> Shape:
        """Return some of the trees."""
        sizes = np.diff(self.roots)
        roots = np.concatenate([[0], np.cumsum(sizes[trees])]).astype(np.int64)
        shift = np.repeat(self.roots[trees] - roots[:-1], sizes[trees])
        nodes = np.arange(roots[-1]) + shift
        above = self.parent[nodes]
        return replace(
            self,
            parent=np.where(above >= 0, above - shift, -1).astype(np.int32),
            depth=self.depth[nodes],
            size=self.size[nodes],
            is_left=self.is_left[nodes],
            column=self.column[nodes],
            test=self.test[nodes],
            value=self.value[nodes],
            roots=roots,
        )

    def runs(self, k: int, codes: Codes) -> Runs:
        """Return of each leaf the stretches of points that lead to it, as far as one column's tests decide.

        Parameters
        ----------
        k : int
            The column's place.
        codes : ndarray of int32, shape (m,)
            Of the points.

        Returns
        -------
        listed : ndarray of int32, shape (nodes + 1,)
            Where each node's stretches are listed; none but below tests of the column.
        begin, finish : ndarray of int32
            Their first points, and the points behind their last.
        """
        key = k, codes.tobytes()
        if key not in self._runs:
            self._runs[key] = self._find_runs(k, codes)
        return self._runs[key]

    @cached_property
    def _runs(self) -> dict[tuple[int, bytes], Runs]:
        """Hold what is asked again by every batch."""
        return {}

    def _find_runs(self, k: int, codes: Codes) -> Runs:
        tests = self.tests[k]
        if (
            tests.categories is None
            and (np.diff(codes) >= 0).all()
            and (codes < tests.missing).all()
        ):
            return self._intervals(k, codes)
        nodes = np.flatnonzero(self.below(k))
        row = np.full(len(self), -1, np.int64)
        row[nodes] = np.arange(len(nodes))
        passes = tests.passes(codes)
        # A column of zeros on either side: a stretch begins where the difference is 1, and ends where it is -1.
        there = np.zeros((len(nodes), len(codes) + 2), np.int8)
        there[:, 1:-1] = 1
        for level in self.levels[1:]:
            level = level[row[level] >= 0]  # noqa: PLW2901
            above = self.parent[level]
            inside = row[above] >= 0
            there[row[level[inside]]] = there[row[above[inside]]]
            own = self.column[above] == k
            left = self.is_left[level[own]] == 1
            decided = passes[self.test[above[own]] - self.first[k]] == left[:, None]
            there[row[level[own]], 1:-1] &= decided
        there[self.test[nodes] >= 0] = 0
        change = np.diff(there, axis=1)
        leaf, begin = np.nonzero(change == 1)
        finish = np.nonzero(change == -1)[1]
        listed = np.zeros(len(self) + 1, np.int32)
        np.add.at(listed, nodes[leaf] + 1, 1)
        return np.cumsum(listed, dtype=np.int32), begin.astype(np.int32), finish.astype(np.int32)

    def _intervals(self, k: int, codes: Codes) -> Runs:
        """Return the same for ascending numbers: one stretch a leaf, for tests let through what is up to a point."""
        ahead = np.searchsorted(codes, self.tests[k].cut, side="right")
        begin, finish = np.zeros(len(self), np.int32), np.full(len(self), len(codes), np.int32)
        below = self.below(k)
        for level in self.levels[1:]:
            nodes = level[below[level]]
            above = self.parent[nodes]
            first, last = begin[above], finish[above]
            own = self.column[above] == k
            cut, left = ahead[self.test[above[own]] - self.first[k]], self.is_left[nodes[own]] == 1
            first[own] = np.where(left, first[own], np.maximum(first[own], cut))
            last[own] = np.where(left, np.minimum(last[own], cut), last[own])
            begin[nodes], finish[nodes] = first, last
        listed = np.zeros(len(self) + 1, np.int32)
        leaves = np.flatnonzero(below & (self.test < 0) & (begin < finish))
        listed[leaves + 1] = 1
        return np.cumsum(listed, dtype=np.int32), begin[leaves], finish[leaves]


def shape_of(ensemble: Ensemble) -> Shape:
    """Return an ensemble's trees in the order of visits."""
    tests, place = tests_of(ensemble)
    depth, size, position, parent, is_left = _visits(ensemble)
    columns = tuple(sorted(tests))
    first = np.concatenate([[0], np.cumsum([len(tests[j]) for j in columns])]).astype(np.int64)
    rank = np.full(ensemble.columns + 1, -1, np.int32)
    rank[list(columns)] = np.arange(len(columns))
    column = rank[ensemble.feature]  # a leaf's -1 is the last place
    test = np.where(column >= 0, place + first[column].astype(np.int32), np.int32(-1))
    order = _order(position)
    above = parent[order]
    roots = np.asarray(ensemble.roots, dtype=np.int64)
    return Shape(
        parent=np.where(above >= 0, position[above], np.int32(-1)),
        depth=np.ascontiguousarray(depth[order], np.int32),
        size=np.ascontiguousarray(size[order], np.int32),
        is_left=np.ascontiguousarray(is_left[order], np.int32),
        column=np.ascontiguousarray(column[order], np.int32),
        test=np.ascontiguousarray(test[order], np.int32),
        value=_summable(np.ascontiguousarray(ensemble.value[order], dtype=float), roots),
        columns=columns,
        tests=tuple(tests[j] for j in columns),
        first=first,
        roots=roots,
    )


def parts_of(ensemble: Ensemble, shape: Shape) -> list[Shape]:
    """Return the trees of each output, their leaves with one value each; the tests are those of all."""
    if shape.value.ndim == 2:
        columns = np.ascontiguousarray(shape.value.T)
        return [replace(shape, value=column) for column in columns]
    if ensemble.outputs == 1:
        return [shape]
    return [shape.only(np.flatnonzero(ensemble.output == k)) for k in range(ensemble.outputs)]


def _summable(value: Floats, roots: Ints) -> Floats:
    """Return leaves' values whose sums are exact in any order: multiples of one power of two.

    What is taken off a sum and put back leaves nothing behind then: votes that are tied stay so, and rows in the same
    leaves have the same sum, however it was found. A sum moves by at most 2^-51 of its bound for each tree.
    """
    if len(value) == 0:
        return value
    largest = np.abs(value).max(axis=tuple(range(1, value.ndim)))
    bound = float(np.maximum.reduceat(largest, roots[:-1]).sum())
    if not 0.0 < bound < np.inf:
        return value
    # On the way to another sum there are up to three times the bound: 4 stands for these.
    unit = np.ldexp(4.0, int(np.frexp(bound)[1]) - 53)
    return np.rint(value / unit) * unit if unit > 0.0 else value


def _order(position: Places) -> Any:
    """Return which node comes at which place, as an index."""
    every = np.arange(len(position), dtype=position.dtype)
    if np.array_equal(position, every):  # as scikit-learn keeps its trees: nothing has to move
        return slice(None)
    order = np.empty_like(position)
    order[position] = every
    return order


def _visits(ensemble: Ensemble) -> tuple[Places, Places, Places, Places, Places]:
    """Return of each node its depth, its branch's size, its place in the order of visits, its parent and its side."""
    if not compilation.has_numba():
        return _levels(ensemble)
    n = len(ensemble.feature)
    parent, size = np.full(n, -1, np.int32), np.empty(n, np.int32)
    depth, is_left = np.zeros(n, np.int32), np.zeros(n, np.int32)
    position = np.zeros(n, np.int32)
    position[ensemble.roots[:-1]] = ensemble.roots[:-1]
    left, right = np.ascontiguousarray(ensemble.left), np.ascontiguousarray(ensemble.right)
    compilation.compiled(traversal_kernels.visit)(
        left, right, parent, depth, size, is_left, position
    )
    return depth, size, position, parent, is_left


def _levels(ensemble: Ensemble) -> tuple[Places, Places, Places, Places, Places]:
    """Return the same as `_visits`, level by level: all nodes of one depth at once."""
    n = len(ensemble.feature)
    parent, depth = np.full(n, -1, np.int32), np.zeros(n, np.int32)
    is_left, size = np.zeros(n, np.int32), np.ones(n, np.int32)
    position = np.zeros(n, np.int32)
    position[ensemble.roots[:-1]] = ensemble.roots[:-1]
    level = np.asarray(ensemble.roots[:-1], dtype=np.int32)
    levels: list[tuple[Places, Places, Places]] = []
    while len(inner := level[ensemble.feature[level] >= 0]):
        left, right = ensemble.left[inner], ensemble.right[inner]
        levels.append((inner, left, right))
        parent[left], parent[right], is_left[left] = inner, inner, 1
        level = np.concatenate([left, right])
        depth[level] = len(levels)
    for inner, left, right in reversed(levels):
        size[inner] = 1 + size[left] + size[right]
    for inner, left, right in levels:
        position[left] = position[inner] + 1
        position[right] = position[inner] + 1 + size[left]
    return depth, size, position, parent, is_left
