"""Layout of an ensemble for evaluation: threshold codes of columns, and the nodes in depth-first order."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skedasis import _compilation as compilation
from skedasis._types import Bools, Floats, Ints
from skedasis.stats.grid import locate
from skedasis.trees import layout_kernels
from skedasis.trees.arrays import GridCorners, Indices, NodeArrays, Runs, ThresholdCodes
from skedasis.trees.ensemble import Ensemble

_CORNERS = 4_000_000
"""Largest number of corners of a grid, and of those of all grids that are kept, of 12 bytes each."""

# --- codes of a column ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ColumnTests:
    """The distinct tests of one column."""

    thresholds: Floats
    cut: ThresholdCodes
    missing_left: Bools
    categories: Ints | None = None
    among: Bools | None = None
    single: bool = False
    also_missing: tuple[float, float] | None = None
    unknown_missing: bool = True

    def __len__(self) -> int:
        return len(self.cut)

    @property
    def missing(self) -> int:
        """Return the code of missing values, and of unknown categories that count as such: the largest code."""
        if self.categories is None:
            return len(self.thresholds) + 1
        return len(self.categories) + (not self.unknown_missing)

    @property
    def jumps(self) -> Floats:
        """Return where the tests of numbers change along the column: just after each of these values."""
        if self.also_missing is None:
            return self.thresholds
        low, high = self.also_missing
        before = np.nextafter(np.float32(low) if self.single else low, -np.inf)
        return np.union1d(self.thresholds, [float(before), high])

    def codes(self, x: Floats) -> ThresholdCodes:
        """Return the codes of values, of any shape; NaN is missing."""
        flat = np.ascontiguousarray(x, dtype=float).reshape(-1)
        if self.single:
            with np.errstate(over="ignore"):
                flat = flat.astype(np.float32).astype(float)
        absent = np.isnan(flat)
        if self.also_missing is not None:
            absent |= (flat >= self.also_missing[0]) & (flat <= self.also_missing[1])
        if self.categories is not None:
            return self._category_codes(flat, absent).reshape(x.shape)
        any_absent = bool(absent.any())
        numbers = np.where(absent, 0.0, flat) if any_absent else flat
        t = self.thresholds
        code = (
            locate(t, numbers, float(t[0]), float(t[-1]), "right")
            if len(t)
            else np.zeros(len(flat))
        )
        code = code.astype(np.int32)
        if any_absent:
            code[absent] = self.missing
        return code.reshape(x.shape)

    def _category_codes(self, x: Floats, absent: Bools) -> ThresholdCodes:
        """Return the codes of categories given as numbers, some of which are missing."""
        categories = self.categories
        if categories is None or len(categories) == 0:
            return np.where(absent, self.missing, 0).astype(np.int32)
        # Models truncate fractions. Those that tell unknown from missing categories do not truncate negative ones.
        usable = np.isfinite(x) if self.unknown_missing else np.isfinite(x) & (x >= 0.0)
        truncated = np.trunc(np.where(usable, x, -1.0))
        code = np.minimum(np.searchsorted(categories, truncated), len(categories) - 1)
        code = np.where(categories[code] == truncated, code, len(categories))
        return np.where(absent, self.missing, code).astype(np.int32)

    def passes(self, codes: ThresholdCodes) -> Bools:
        """Return whether values of these codes go left in each test, (R, number of codes)."""
        codes = np.asarray(codes)
        missing = codes == self.missing
        if self.among is None:
            left = codes[None, :] <= self.cut[:, None]
        else:
            # No set has unknown categories, nor missing values.
            known = self.among.shape[1]
            left = (codes < known) & (
                self.among[:, np.minimum(codes, known - 1)] if known else False
            )
        return np.where(missing[None, :], self.missing_left[:, None], left)


class States:
    """The combinations of codes of several columns that occur, numbered in the order in which they are found."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = np.array(sizes, np.int64)
        self._numbers: dict[int | bytes, int] = {}
        self._codes = np.zeros((len(sizes), 0), np.int32)
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the lock."""
        return {**vars(self), "_lock": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Restore the state, with a lock of its own."""
        vars(self).update(state)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._codes.shape[1]

    @property
    def codes(self) -> ThresholdCodes:
        """Return the codes of each column in each combination, (columns, combinations)."""
        return self._codes

    def number(self, codes: ThresholdCodes) -> ThresholdCodes:
        """Return the numbers of combinations, (m,), given as codes of each column, (columns, m)."""
        distinct, first, inverse = np.unique(
            self._keys(codes), return_index=True, return_inverse=True
        )
        keys: list[int | bytes] = distinct.tolist()
        with self._lock:
            new = [i for i, key in enumerate(keys) if key not in self._numbers]
            for i in new:
                self._numbers[keys[i]] = len(self._numbers)
            if new:
                self._codes = np.concatenate([self._codes, codes[:, first[new]]], axis=1)
            numbers = np.array([self._numbers[key] for key in keys], np.int32)
        return numbers[inverse.reshape(-1)]

    def _keys(self, codes: ThresholdCodes) -> NDArray[np.generic]:
        """Return a key for each combination: a number if all combinations fit into one, else the bytes of the codes."""
        if np.log2(self._sizes.astype(float)).sum() < 62:
            strides = np.concatenate([[1], np.cumprod(self._sizes[:-1])]).astype(np.int64)
            return strides @ codes.astype(np.int64)
        rows = np.ascontiguousarray(codes.T, np.int32)
        return rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).reshape(-1)


@dataclass(frozen=True, eq=False)
class JointTests(ColumnTests):
    """The tests of several columns that are functions of one: the codes of that one are numbers of `States`."""

    parts: tuple[ColumnTests, ...] = ()
    states: States = field(default_factory=lambda: States(()))

    @classmethod
    def of(cls, parts: Sequence[ColumnTests]) -> JointTests:
        """Return the joint tests of several columns."""
        size = sum(len(p) for p in parts)
        return cls(
            np.zeros(0),
            np.zeros(size, np.int32),
            np.zeros(size, bool),
            # Not None: the codes have no order.
            categories=np.zeros(0, np.int64),
            parts=tuple(parts),
            states=States([p.missing + 1 for p in parts]),
        )

    @property
    def missing(self) -> int:
        """Return the number of combinations found so far, a code that no value has."""
        return len(self.states)

    def of_parts(self, codes: ThresholdCodes) -> list[ThresholdCodes]:
        """Return the codes of each of the several columns."""
        known = self.states.codes
        # The code that no value has stands for any.
        return list(known[:, np.minimum(codes, known.shape[1] - 1)])

    def passes(self, codes: ThresholdCodes) -> Bools:
        pairs = zip(self.parts, self.of_parts(np.asarray(codes)), strict=True)
        return np.concatenate([tests.passes(own) for tests, own in pairs])


def tests_of(ensemble: Ensemble) -> tuple[dict[int, ColumnTests], Indices]:
    """Return the tests of each tested column, and the index of each node's test among those of its column."""
    index = np.full(len(ensemble.feature), -1, np.int32)
    inner = np.flatnonzero(ensemble.feature >= 0)
    column = ensemble.feature[inner]
    # NumPy uses radix sort for int16, which takes a tenth of the time.
    order = inner[
        np.argsort(column.astype(np.int16 if ensemble.columns < 2**15 else np.int32), kind="stable")
    ]
    counts = np.bincount(column, minlength=ensemble.columns)
    tests: dict[int, ColumnTests] = {}
    for j, nodes in enumerate(np.split(order, np.cumsum(counts)[:-1])):
        if len(nodes) == 0:
            continue
        if (ensemble.category[nodes] >= 0).any():
            tests[j], index[nodes] = _category_tests(ensemble, j, nodes)
        else:
            tests[j], index[nodes] = _numeric_tests(ensemble, j, nodes)
    return tests, index


def _numeric_tests(ensemble: Ensemble, j: int, nodes: Ints) -> tuple[ColumnTests, Ints]:
    """Return the distinct tests of column j's nodes, and each node's test."""
    thresholds, cut = np.unique(ensemble.threshold[nodes], return_inverse=True)
    key = cut * 2 + ensemble.missing_left[nodes]
    occurs = np.zeros(2 * len(thresholds), bool)
    occurs[key] = True
    keys = np.flatnonzero(occurs)
    cuts, missing_left = (keys // 2).astype(np.int32), keys % 2 == 1
    rank = np.cumsum(occurs) - 1
    absent = ensemble.also_missing.get(j)
    tests = ColumnTests(thresholds, cuts, missing_left, single=ensemble.single, also_missing=absent)
    return tests, rank[key]


def _category_tests(ensemble: Ensemble, j: int, nodes: Ints) -> tuple[ColumnTests, Ints]:
    """Return the distinct tests of column j's nodes for categories, and each node's test."""
    used, set_of = np.unique(ensemble.category[nodes], return_inverse=True)
    sets = [np.asarray(ensemble.sets[k], np.int64) for k in used]
    members, owner = np.concatenate(sets), np.repeat(np.arange(len(sets)), [len(s) for s in sets])
    known = ensemble.known.get(j)
    categories = np.unique(members if known is None else known).astype(np.int64)
    place = np.searchsorted(categories, members)
    inside = place < len(categories)
    inside[inside] = categories[place[inside]] == members[inside]
    # Models store a set for each node, and most of these sets are equal.
    left = np.zeros((len(sets), len(categories) + 1), bool)
    left[owner[inside], place[inside]] = True
    left = left[set_of]
    left[:, -1] = ensemble.missing_left[nodes]
    bits = np.packbits(left, axis=1)
    rows = bits.view(np.dtype((np.void, bits.shape[1]))).reshape(-1)
    _, first, index = np.unique(rows, return_index=True, return_inverse=True)
    among, missing_left = left[first, :-1], left[first, -1]
    tests = ColumnTests(
        np.zeros(0),
        np.zeros(len(first), np.int32),
        missing_left,
        categories,
        among,
        single=ensemble.single,
        also_missing=ensemble.also_missing.get(j),
        unknown_missing=ensemble.unknown_missing,
    )
    return tests, index


# --- nodes in depth-first order -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TreeLayout:
    """Trees in depth-first order: each node, then its left branch, then its right branch."""

    parent: Indices
    depth: Indices
    size: Indices
    is_left: Indices
    column: Indices
    test: Indices
    value: Floats
    columns: tuple[int, ...]
    tests: tuple[ColumnTests, ...]
    first: Ints
    roots: Ints
    # Caches: what depends only on the trees and a grid is the same for all batches.
    _below: dict[int, Bools] = field(default_factory=dict, init=False)
    _corners: dict[tuple[tuple[int, bytes], ...], GridCorners] = field(
        default_factory=dict, init=False
    )
    _steps_of: dict[tuple[int, bytes], tuple[Ints, Ints, Floats]] = field(
        default_factory=dict, init=False
    )

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def arrays(self) -> NodeArrays:
        """Return the arrays that kernels take."""
        return self.parent, self.depth, self.size, self.is_left, self.test

    @cached_property
    def deepest(self) -> int:
        """Return the maximum depth of a node."""
        return int(self.depth.max(initial=0))

    @cached_property
    def most_leaves(self) -> int:
        """Return the number of leaves of the largest tree."""
        # A binary tree with n nodes has (n + 1) / 2 leaves.
        return int((np.diff(self.roots).max(initial=1) + 1) // 2)

    @cached_property
    def nodes(self) -> tuple[Indices, ...]:
        """Return for each column the nodes that test it, in ascending order."""
        indices = range(len(self.columns))
        return tuple(np.flatnonzero(self.column == k).astype(np.int32) for k in indices)

    @cached_property
    def levels(self) -> tuple[Ints, ...]:
        """Return the nodes of each depth."""
        order = np.argsort(self.depth, kind="stable")
        return tuple(np.split(order, np.cumsum(np.bincount(self.depth))[:-1]))

    @cached_property
    def leaves(self) -> Ints:
        return np.flatnonzero(self.test < 0)

    def below(self, k: int) -> Bools:
        """Return whether each node is below a test of the column with index k."""
        if k not in self._below:
            self._below[k] = self._find_below(k)
        return self._below[k]

    def below_any(self, columns: Iterable[int]) -> Bools:
        """Return whether each node is below a test of one of the columns."""
        return np.logical_or.reduce([self.below(k) for k in columns])

    def _find_below(self, k: int) -> Bools:
        nodes = self.nodes[k]
        # Count the branches that begin and end at each node.
        change = np.zeros(len(self) + 1, np.int64)
        np.add.at(change, nodes + 1, 1)
        np.add.at(change, nodes + self.size[nodes], -1)
        return np.cumsum(change[:-1]) > 0

    def place(self, j: int) -> int:
        """Return the index of a column of X in `columns`, -1 if no node tests it."""
        return self._index_of_column.get(j, -1)

    @cached_property
    def _index_of_column(self) -> dict[int, int]:
        return {j: k for k, j in enumerate(self.columns)}

    def only(self, trees: Ints) -> TreeLayout:
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

    def corners(self, points: Mapping[int, ThresholdCodes]) -> GridCorners:
        """Return where the value of each leaf below tests of some columns is added and removed along a product grid.

        The grid has all combinations of the columns' codes, numbered with the last column fastest. If the signed
        values are summed along each of its axes, a leaf has its value at the points that satisfy all tests of these
        columns on its path, and 0 elsewhere. Returned are where the corners of each leaf begin, int32 (nodes + 1,),
        and of each the combination, int32, and the sign, 1 or -1.
        """
        key = tuple((k, codes.tobytes()) for k, codes in points.items())
        found = self._corners.get(key)
        if found is None:
            found = self._find_corners(points)
            # There may be thousands of pairs of columns. A list, because other threads add to the cache.
            if sum(len(place) for _, place, _ in list(self._corners.values())) > _CORNERS:
                self._corners.clear()
            self._corners[key] = found
        return found

    def has_corners(self, points: Mapping[int, ThresholdCodes]) -> bool:
        """Return whether the corners of a grid are few enough: leaves may have many along columns of categories."""
        each = [np.diff(self._steps(k, codes)[0]).astype(float) for k, codes in points.items()]
        return len(each) == 1 or bool(np.prod(each, axis=0).sum() <= _CORNERS)

    def _find_corners(self, points: Mapping[int, ThresholdCodes]) -> GridCorners:
        leaf = np.flatnonzero(self.below_any(points) & (self.test < 0))
        place, sign = np.zeros(len(leaf), np.int64), np.ones(len(leaf))
        for k, codes in points.items():
            listed, at, own = self._steps(k, codes)
            count = listed[leaf + 1] - listed[leaf]
            entry = np.repeat(np.arange(len(leaf)), count)
            step = np.arange(len(entry)) - np.repeat(np.cumsum(count) - count, count)
            step += listed[leaf[entry]]
            place = place[entry] * len(codes) + at[step]
            leaf, sign = leaf[entry], sign[entry] * own[step]
        listed = np.searchsorted(leaf, np.arange(len(self) + 1))
        return listed.astype(np.int32), place.astype(np.int32), sign

    def _steps(self, k: int, codes: ThresholdCodes) -> tuple[Ints, Ints, Floats]:
        """Return `corners` along one column, of all leaves: leaves above its tests are reached from every point."""
        key = k, codes.tobytes()
        if key not in self._steps_of:
            leaf, begin, finish = self._runs(k, codes)
            ends = finish < len(codes)
            whole = np.flatnonzero(~self.below(k) & (self.test < 0))
            leaf = np.concatenate([leaf, leaf[ends], whole])
            at = np.concatenate([begin, finish[ends], np.zeros(len(whole), np.int32)])
            sign = np.ones(len(leaf))
            sign[len(begin) : len(leaf) - len(whole)] = -1.0
            order = np.argsort(leaf, kind="stable")
            listed = np.searchsorted(leaf[order], np.arange(len(self) + 1))
            self._steps_of[key] = listed, at[order].astype(np.int64), sign[order]
        return self._steps_of[key]

    def _runs(self, k: int, codes: ThresholdCodes) -> Runs:
        """Return the runs of points that satisfy all tests of one column on the path to a leaf below such a test."""
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
        # 1 for points that may reach a node. With a column of zeros on either side, a run begins where the difference
        # is 1 and ends where it is -1.
        reached = np.zeros((len(nodes), len(codes) + 2), np.int8)
        reached[:, 1:-1] = 1
        for level in self.levels[1:]:
            level = level[row[level] >= 0]  # noqa: PLW2901
            above = self.parent[level]
            inside = row[above] >= 0
            reached[row[level[inside]]] = reached[row[above[inside]]]
            tested = self.column[above] == k
            left = self.is_left[level[tested]] == 1
            satisfied = passes[self.test[above[tested]] - self.first[k]] == left[:, None]
            reached[row[level[tested]], 1:-1] &= satisfied
        reached[self.test[nodes] >= 0] = 0
        change = np.diff(reached, axis=1)
        leaf, begin = np.nonzero(change == 1)
        finish = np.nonzero(change == -1)[1]
        return nodes[leaf], begin.astype(np.int32), finish.astype(np.int32)

    def _intervals(self, k: int, codes: ThresholdCodes) -> Runs:
        """Return the runs for ascending numbers: at most one per leaf, because numeric tests pass all smaller codes."""
        n_left = np.searchsorted(codes, self.tests[k].cut, side="right")
        begin, finish = np.zeros(len(self), np.int32), np.full(len(self), len(codes), np.int32)
        below = self.below(k)
        for level in self.levels[1:]:
            nodes = level[below[level]]
            above = self.parent[nodes]
            first, last = begin[above], finish[above]
            tested = self.column[above] == k
            cut = n_left[self.test[above[tested]] - self.first[k]]
            left = self.is_left[nodes[tested]] == 1
            first[tested] = np.where(left, first[tested], np.maximum(first[tested], cut))
            last[tested] = np.where(left, np.minimum(last[tested], cut), last[tested])
            begin[nodes], finish[nodes] = first, last
        leaves = np.flatnonzero(below & (self.test < 0) & (begin < finish))
        return leaves, begin[leaves], finish[leaves]


def layout_of(ensemble: Ensemble) -> TreeLayout:
    """Return the trees of an ensemble in depth-first order."""
    tests, index = tests_of(ensemble)
    depth, size, position, parent, is_left = _depth_first(ensemble)
    columns = tuple(sorted(tests))
    first = np.concatenate([[0], np.cumsum([len(tests[j]) for j in columns])]).astype(np.int64)
    rank = np.full(ensemble.columns + 1, -1, np.int32)
    rank[list(columns)] = np.arange(len(columns))
    column = rank[ensemble.feature]  # the last entry is for leaves, whose feature is -1
    test = np.where(column >= 0, index + first[column].astype(np.int32), np.int32(-1))
    order = _order(position)
    above = parent[order]
    roots = np.asarray(ensemble.roots, dtype=np.int64)
    return TreeLayout(
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


def layouts_by_output(ensemble: Ensemble, shape: TreeLayout) -> list[TreeLayout]:
    """Return the trees of each output, with one value per leaf and the tests of all outputs."""
    if shape.value.ndim == 2:
        columns = np.ascontiguousarray(shape.value.T)
        return [replace(shape, value=column) for column in columns]
    if ensemble.outputs == 1:
        return [shape]
    return [shape.only(np.flatnonzero(ensemble.output == k)) for k in range(ensemble.outputs)]


def _summable(value: Floats, roots: Ints) -> Floats:
    """Return the leaves' values rounded to multiples of one power of two, so that sums are exact in any order."""
    if len(value) == 0:
        return value
    largest = np.abs(value).max(axis=tuple(range(1, value.ndim)))
    bound = float(np.maximum.reduceat(largest, roots[:-1]).sum())
    if not 0.0 < bound < np.inf:
        return value
    # Intermediate sums may reach three times the bound, hence the factor 4.
    unit = np.ldexp(4.0, int(np.frexp(bound)[1]) - 53)
    return np.rint(value / unit) * unit if unit > 0.0 else value


def _order(position: Indices) -> Indices | slice:
    """Return the index that puts nodes into these positions."""
    indices = np.arange(len(position), dtype=position.dtype)
    if np.array_equal(position, indices):  # scikit-learn's trees are in depth-first order already
        return slice(None)
    order = np.empty_like(position)
    order[position] = indices
    return order


def _depth_first(ensemble: Ensemble) -> NodeArrays:
    """Return the depth, branch size, depth-first position, parent and `is_left` of each node."""
    if not compilation.has_numba():
        return _depth_first_by_levels(ensemble)
    n = len(ensemble.feature)
    parent, size = np.full(n, -1, np.int32), np.empty(n, np.int32)
    depth, is_left = np.zeros(n, np.int32), np.zeros(n, np.int32)
    position = np.zeros(n, np.int32)
    position[ensemble.roots[:-1]] = ensemble.roots[:-1]
    left, right = np.ascontiguousarray(ensemble.left), np.ascontiguousarray(ensemble.right)
    compilation.compiled(layout_kernels.depth_first)(
        left, right, parent, depth, size, is_left, position
    )
    return depth, size, position, parent, is_left


def _depth_first_by_levels(
    ensemble: Ensemble,
) -> NodeArrays:
    """Return the result of `_depth_first` by NumPy only, for all nodes of one depth at a time."""
    n = len(ensemble.feature)
    parent, depth = np.full(n, -1, np.int32), np.zeros(n, np.int32)
    is_left, size = np.zeros(n, np.int32), np.ones(n, np.int32)
    position = np.zeros(n, np.int32)
    position[ensemble.roots[:-1]] = ensemble.roots[:-1]
    level = np.asarray(ensemble.roots[:-1], dtype=np.int32)
    levels: list[tuple[Indices, Indices, Indices]] = []
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
