"""The order in which trees are visited, and what each column decides in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Ints
from skedasis.quantity.trees import jit, steps
from skedasis.quantity.trees.coding import Codes, Tests, tests_of
from skedasis.quantity.trees.ensemble import Ensemble

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
    if not jit.has_numba():
        return _levels(ensemble)
    n = len(ensemble.feature)
    parent, size = np.full(n, -1, np.int32), np.empty(n, np.int32)
    depth, is_left = np.zeros(n, np.int32), np.zeros(n, np.int32)
    position = np.zeros(n, np.int32)
    position[ensemble.roots[:-1]] = ensemble.roots[:-1]
    left, right = np.ascontiguousarray(ensemble.left), np.ascontiguousarray(ensemble.right)
    jit.compiled(steps.visit)(left, right, parent, depth, size, is_left, position)
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
