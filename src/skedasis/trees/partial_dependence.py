"""`TreePartialDependence`: exact partial dependence of a tree ensemble at all rows, without evaluating combinations.

The partial dependence on a set of features at a row averages the quantity over all rows' values of the other features:
N² evaluations if the model is called. For a sum of leaves it is a sum over leaves of counts of rows (see
`partial_dependence_kernels`), and costs O(leaves · tests · N / 64) operations on words of 64 rows for the counts, and
O(N) per pair of features to read the sums at the rows.

For sums of leaves only: a probability behind a link function, or an entropy, is no sum of leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skedasis._compilation import compiled
from skedasis._types import Bools, Floats, Ints
from skedasis.trees import partial_dependence_kernels as kernels
from skedasis.trees.arrays import Indices, ThresholdCodes, Words
from skedasis.trees.layout import TreeLayout
from skedasis.trees.partial_dependence_kernels import Boxes

_BLOCK = 1_000_000
"""Target size in bytes of the row sets of a block: larger ones exceed the processor's cache."""

_TABLE = 2**22
"""Largest number of cells of a pair's table; pairs with more ranks are swept."""

_REST = 512_000_000
"""Largest size in bytes of the partial dependence on all units but one, by unit and row, in one pass over the rows."""


# --- units: what is replaced together -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Unit:
    """The tested columns of a feature on the rows, as ranks of its observed values.

    `rank`, int32 (n,), ascends for a numeric column, the missing value last: `absent`, -1 if no row has it, and for
    units with listed tests. `cuts`, int32 (tests,), are how many of the `size` ranks are at most the threshold of each
    test; 0 for units with listed tests. `listed`, (tests, size), says for categories and for several columns whether
    each rank goes left. `tests` are the indices of the tests among those of all columns.
    """

    rank: ThresholdCodes
    size: int
    absent: int
    cuts: Indices
    listed: Bools | None
    tests: Ints


def _unit_of(shape: TreeLayout, columns: Sequence[int], codes: Sequence[ThresholdCodes]) -> Unit:
    """Return the unit of these columns, given by their indices in ``shape.columns``."""
    if len(columns) == 1 and shape.tests[columns[0]].categories is None:
        return _numeric_unit(shape, columns[0], codes[columns[0]])
    joint = np.zeros(len(codes[columns[0]]), np.int64)
    for k in columns:
        # Renumbered after each column, so that the product of the numbers of codes does not overflow.
        joint = joint * (shape.tests[k].missing + 1) + codes[k]
        _, joint = np.unique(joint, return_inverse=True)
    _, example, rank = np.unique(joint, return_index=True, return_inverse=True)
    passes = [shape.tests[k].passes(codes[k][example]) for k in columns]
    tests = [np.arange(shape.first[k], shape.first[k + 1]) for k in columns]
    listed = np.concatenate(passes)
    return Unit(
        rank.astype(np.int32),
        len(example),
        -1,
        np.zeros(len(listed), np.int32),
        listed,
        np.concatenate(tests),
    )


def _numeric_unit(shape: TreeLayout, k: int, codes: ThresholdCodes) -> Unit:
    tests = shape.tests[k]
    observed = np.flatnonzero(np.bincount(codes, minlength=tests.missing + 1))
    number = np.zeros(tests.missing + 1, np.int32)
    number[observed] = np.arange(len(observed))
    present = observed[observed < tests.missing]
    return Unit(
        number[codes],
        len(observed),
        len(present) if len(present) < len(observed) else -1,
        np.searchsorted(present, tests.cut, side="right").astype(np.int32),
        None,
        np.arange(shape.first[k], shape.first[k + 1]),
    )


def boxes_of(shape: TreeLayout, units: Sequence[Unit], leaves: Ints) -> Boxes:
    n_tests = int(shape.first[-1])
    unit_of, cut = np.zeros(n_tests, np.int32), np.zeros(n_tests, np.int32)
    missing_left = np.zeros(n_tests, bool)
    for k, tests in enumerate(shape.tests):
        missing_left[shape.first[k] : shape.first[k + 1]] = tests.missing_left
    row_of, cells = np.zeros(n_tests, np.int64), 0
    table: list[Bools] = [np.zeros(0, bool)]
    for u, unit in enumerate(units):
        unit_of[unit.tests], cut[unit.tests] = u, unit.cuts
        if unit.listed is not None:
            row_of[unit.tests] = cells + unit.size * np.arange(len(unit.tests))
            table.append(unit.listed.ravel())
            cells += unit.listed.size
    arguments = (
        leaves,
        (shape.parent, shape.is_left, shape.test),
        (unit_of, cut, missing_left, row_of),
        np.concatenate(table),
        (
            np.array([unit.size for unit in units], np.int64),
            np.array([unit.absent for unit in units], np.int64),
            np.array([unit.listed is not None for unit in units], bool),
        ),
    )
    kernel = compiled(kernels.leaf_boxes)
    entries, runs = kernel(*arguments, _empty_boxes(len(leaves), 0, 0), False)
    boxes = _empty_boxes(len(leaves), entries, runs)
    kernel(*arguments, boxes, True)
    return boxes


def _empty_boxes(leaves: int, entries: int, runs: int) -> Boxes:
    return (
        np.zeros(leaves + 1, np.int64),
        np.zeros(entries, np.int32),
        np.zeros(entries + 1, np.int64),
        np.zeros(runs, np.int32),
        np.zeros(runs, np.int32),
    )


# --- partial dependence ---------------------------------------------------------------------------


class TreePartialDependence:
    """The partial dependence of the trees of one output, `shape`, at rows, averaged over the same n rows.

    All values are up to one constant for each function, as H² needs them: it centres every function. `codes` are the
    rows' of each of ``shape.columns``, int32 (n,). `features` are the columns of X of each feature; several columns
    are replaced together. `pairs` of features are those that `interaction` is asked for, by their indices in
    `features`. `scale` is a factor of the leaves.
    """

    def __init__(
        self,
        shape: TreeLayout,
        codes: Sequence[ThresholdCodes],
        n: int,
        features: Sequence[tuple[int, ...]],
        weights: Floats | None,
        pairs: Sequence[tuple[int, int]],
        scale: float = 1.0,
    ) -> None:
        self.n = n
        tested = [tuple(shape.place(j) for j in f if shape.place(j) >= 0) for f in features]
        kept = [i for i, columns in enumerate(tested) if columns]
        self._unit_of = {i: u for u, i in enumerate(kept)}
        self._units = [_unit_of(shape, tested[i], codes) for i in kept]
        leaves = shape.leaves
        leaves = leaves[shape.depth[leaves] > 0]
        self._value = np.ascontiguousarray(shape.value[leaves] * scale)
        self._boxes = boxes_of(shape, self._units, leaves)
        self._weights = weights
        self._total = float(self.n) if weights is None else float(weights.sum())
        of = self._unit_of
        in_trees = [(of[i], of[j]) for i, j in pairs if i in of and j in of]
        self._pairs = [(min(pair), max(pair)) for pair in in_trees]
        per_leaf = np.diff(self._boxes[0])
        self._first_pair = np.concatenate([[0], np.cumsum(per_leaf * (per_leaf - 1) // 2)])
        self._of_one = np.zeros(len(self._boxes[1]))
        self._of_two = np.zeros(int(self._first_pair[-1]))
        self.values = np.zeros(self.n)
        self._rest: dict[int, Floats] = {}
        self._counted = False

    # --- counts ---

    @cached_property
    def _share(self) -> Floats:
        """Return for each entry the share of the rows whose value is in the box, (E,)."""
        _, unit, first, low, high = self._boxes
        below: list[Floats] = []
        for u in self._units:
            weight = np.bincount(u.rank, self._weights, u.size)
            below.append(np.concatenate([[0.0], np.cumsum(weight)]) / self._total)
        starts = np.concatenate([[0], np.cumsum([len(b) for b in below])]).astype(np.int64)
        cumulated = np.concatenate(below)
        of_run = np.repeat(starts[unit], np.diff(first))
        part = cumulated[of_run + high] - cumulated[of_run + low]
        entry = np.repeat(np.arange(len(unit)), np.diff(first))
        return np.bincount(entry, part, len(unit)).astype(float)

    def count(self, *, rest: bool) -> None:
        """Count the rows of all leaves, in blocks of rows that fit the processor's cache."""
        if self._counted or not self._units or not len(self._value):
            self._counted = True
            return
        units = range(len(self._units)) if rest else range(0)
        step = max(1, _REST // (8 * max(self.n, 1)))
        chunks = [units[i : i + step] for i in range(0, len(units), step)] or [range(0)]
        for chunk in chunks:
            self._pass_over_rows(chunk)
        self._of_one /= self._total
        self._of_two /= self._total
        self._counted = True

    def _pass_over_rows(self, units: range) -> None:
        """Go through the rows once: count, if that was not done before, and sum up the rest of some units."""
        counting = not self._counted
        sizes = np.array([u.size + 1 for u in self._units])
        first_set = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        words = int(np.clip(_BLOCK // (8 * first_set[-1]), 4, 64))
        smaller = np.empty((int(first_set[-1]), words), np.uint64)
        wanted = np.full(len(self._units), -1, np.int64)
        wanted[units.start : units.stop] = np.arange(len(units))
        found = np.empty((len(units), self.n))
        own, rest = np.empty(64 * words), np.empty((64 * words, len(units)))
        mark, kernel = compiled(kernels.mark_ranks), compiled(kernels.count_rows)
        weights = np.zeros(0 if self._weights is None else 64 * words)
        nothing = np.zeros(0)
        for start in range(0, self.n, 64 * words):
            rows = slice(start, min(start + 64 * words, self.n))
            n = rows.stop - rows.start
            for k, unit in enumerate(self._units):
                mark(unit.rank[rows], unit.size, smaller[first_set[k] : first_set[k + 1]])
            if self._weights is not None:
                weights[:n] = self._weights[rows]
            own[:], rest[:] = 0.0, 0.0
            kernel(
                self._boxes,
                (self._value, self._share, self._first_pair),
                (smaller, first_set, _everyone(n, words)),
                weights,
                (self._of_one, self._of_two) if counting else (nothing, nothing),
                wanted,
                own,
                rest,
            )
            if counting:
                self.values[rows] = own[:n]
            found[:, rows] = rest[:n].T
        self._counted = True
        for place, u in enumerate(units):
            self._rest[u] = found[place]

    # --- functions at the rows ---

    @cached_property
    def _singles(self) -> list[Floats]:
        """Return the partial dependence on each unit, by rank."""
        first_cell = np.concatenate([[0], np.cumsum([u.size + 1 for u in self._units])])
        out = np.zeros(int(first_cell[-1]))
        compiled(kernels.single_table)(
            self._boxes, self._value, self._of_one, first_cell.astype(np.int64), out
        )
        return [out[first_cell[u] : first_cell[u + 1]] for u in range(len(self._units))]

    def of(self, feature: int) -> Floats:
        """Return the partial dependence on a feature at the rows, (n,)."""
        u = self._unit_of.get(feature)
        return np.zeros(self.n) if u is None else self._singles[u].take(self._units[u].rank)

    def without(self, feature: int) -> Floats:
        """Return the partial dependence on all features but one, less the sums of leaves (`values`), (n,)."""
        u = self._unit_of.get(feature)
        return np.zeros(self.n) if u is None or u not in self._rest else self._rest[u]

    @cached_property
    def _items(self) -> tuple[dict[tuple[int, int], Ints], tuple[Ints, Ints, Ints]]:
        """Return the pairs of entries of each pair of units; and of all of these the two entries and the leaf."""
        number = np.full((len(self._units), len(self._units)), -1, np.int64)
        for p, (one, other) in enumerate(self._pairs):
            number[one, other] = p
        size = len(self._of_two)
        pair = np.empty(size, np.int32)
        one, other, leaf = (np.empty(size, np.int64) for _ in range(3))
        compiled(kernels.pair_index)(self._boxes, number, (pair, one, other, leaf))
        order = np.argsort(pair, kind="stable")
        bounds = np.searchsorted(pair[order], np.arange(len(self._pairs) + 1))
        items = {
            (int(a), int(b)): order[bounds[p] : bounds[p + 1]]
            for p, (a, b) in enumerate(self._pairs)
        }
        return items, (one, other, leaf)

    def interaction(self, one: int, other: int) -> Floats:
        """Return the partial dependence on two features less those on each, at the rows, (n,), up to a constant."""
        out = np.zeros(self.n)
        units = self._unit_of.get(one), self._unit_of.get(other)
        if units[0] is None or units[1] is None:
            return out
        a, b = sorted((units[0], units[1]))
        by_pair, entries = self._items
        items = by_pair[a, b]
        if not len(items):
            return out
        first, second = self._units[a], self._units[b]
        arguments = (
            (items, *entries),
            self._boxes[2:],
            self._value,
            (self._of_one, self._of_two),
            (first.rank, second.rank),
        )
        if (first.size + 1) * (second.size + 1) <= _TABLE:
            table = np.empty((first.size + 1, second.size + 1))
            compiled(kernels.pair_table)(*arguments, table, out)
        else:
            compiled(kernels.pair_sweep)(*arguments, self._order(a), second.size, out)
        return out

    def _order(self, u: int) -> tuple[Ints, Ints]:
        """Return the rows by rank of a unit, and where each rank begins."""
        unit = self._units[u]
        begins = np.concatenate([[0], np.cumsum(np.bincount(unit.rank, minlength=unit.size))])
        return np.argsort(unit.rank, kind="stable"), begins.astype(np.int64)


def _everyone(n: int, words: int) -> Words:
    """Return the set of the first n rows, (words,)."""
    out = np.zeros(words, np.uint64)
    out[: n // 64] = kernels.ALL
    if n % 64:
        out[n // 64] = np.uint64((1 << (n % 64)) - 1)
    return out
