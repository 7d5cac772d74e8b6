"""Sums of leaves at the corners of rows' cells on two columns, from the leaves that both columns decide.

For one leaf let a, b and r be 1 if a row passes its tests of the first column, of the second, and all others, else 0.
The leaf adds value · a · b · r. If both columns are replaced, the sum changes by what either replacement alone changes,
and by the second difference

    Σ value · (a' − a) · (b' − b) · r.

A row is moved to the ends of its own cell, so that a' differs from a only if the interval of the first column on the
leaf's path ends within the cell; and likewise b. So few leaves have a second difference in each cell of the two
columns: they are listed once for all rows. What either replacement alone changes is computed once per column for all
pairs. Sums of leaves are exact in any order (see `TreeLayout`), so that the result has the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from skedasis._compilation import compiled
from skedasis._types import Floats, Ints
from skedasis.trees.arrays import Indices, ThresholdCodes
from skedasis.trees.layout import ColumnTests, JointTests, TreeLayout
from skedasis.trees.partial_dependence import Unit, boxes_of
from skedasis.trees.partial_dependence_kernels import Boxes

HELPERS = ("contains",)
"""Functions that the kernel calls; they are compiled into it."""

CellLists: TypeAlias = tuple[Ints, Ints, ThresholdCodes]
"""For each cell where its leaves begin in the list, (cells + 1,); for each of these the leaf and its entries of both
columns, (m, 3); and the intervals of codes of both columns that reach it, (m, 4)."""

Ends: TypeAlias = tuple[Floats, Floats]
"""Changes of the sums when each row gets the lower and the upper end of its cell in a column, (n,) each."""


@dataclass(frozen=True, eq=False)
class CellsOfColumn:
    """The cells of column k of ``TreeLayout.columns``, and that of each row's own value, (n,).

    `codes`, int32 (cells + 1,), are those of the cells' edges, ascending.
    """

    k: int
    codes: ThresholdCodes
    home: Ints


@dataclass(frozen=True, eq=False)
class CornerLeaves:
    """The leaves of one output's trees, by the cells of two columns in which they have a second difference."""

    shape: TreeLayout
    _lists: dict[tuple[object, ...], CellLists] = field(default_factory=dict)

    @staticmethod
    def ordered(tests: ColumnTests) -> bool:
        """Return whether a column's codes are in the order of its values."""
        return tests.categories is None and tests.also_missing is None

    @property
    def fixed(self) -> bool:
        """Return whether all codes are known, so that leaves can be listed."""
        return not any(isinstance(tests, JointTests) for tests in self.shape.tests)

    @cached_property
    def _value(self) -> Floats:
        return self.shape.value[self._leaves]

    @cached_property
    def _leaves(self) -> Ints:
        leaves = self.shape.leaves
        return leaves[self.shape.depth[leaves] > 0]

    @cached_property
    def _boxes(self) -> Boxes:
        """Return the codes of each column that reach each leaf."""
        shape, units = self.shape, list[Unit]()
        for k, tests in enumerate(shape.tests):
            size, ordered = tests.missing + 1, self.ordered(tests)
            units.append(
                Unit(
                    np.zeros(0, np.int32),
                    size,
                    tests.missing if ordered else -1,
                    tests.cut + np.int32(1),
                    None if ordered else tests.passes(np.arange(size, dtype=np.int32)),
                    np.arange(shape.first[k], shape.first[k + 1]),
                )
            )
        return boxes_of(shape, units, self._leaves)

    @cached_property
    def _entries(self) -> tuple[Ints, Ints, Ints]:
        """Return the entries of the boxes by column and their leaves, and where each column's begin."""
        start, column, *_ = self._boxes
        order = np.argsort(column, kind="stable")
        leaf = np.repeat(np.arange(len(start) - 1), np.diff(start))
        begins = np.searchsorted(column[order], np.arange(len(self.shape.columns) + 1))
        return order, leaf[order], begins

    def lists(self, first: CellsOfColumn, second: CellsOfColumn) -> CellLists:
        """Return the leaves with a second difference in each cell of the first column (slow) and the second (fast)."""
        key = first.k, first.codes.tobytes(), second.k, second.codes.tobytes()
        if key not in self._lists:
            self._lists[key] = self._listed(first, second)
        return self._lists[key]

    def _listed(self, first: CellsOfColumn, second: CellsOfColumn) -> CellLists:
        entries, leaves, begins = self._entries
        a, b = (slice(begins[c.k], begins[c.k + 1]) for c in (first, second))
        leaf, i, j = np.intersect1d(leaves[a], leaves[b], assume_unique=True, return_indices=True)
        one, other = entries[a][i], entries[b][j]
        cells = [self._cells_of_ends(e, c.codes) for e, c in ((one, first), (other, second))]
        width = len(second.codes) - 1
        cell = (cells[0][:, :, None] * width + cells[1][:, None, :]).reshape(len(leaf), 4)
        known = ((cells[0] >= 0)[:, :, None] & (cells[1] >= 0)[:, None, :]).reshape(len(leaf), 4)
        item, place = np.nonzero(known)
        cell = cell[item, place]
        order = np.argsort(cell, kind="stable")
        count = np.bincount(cell, minlength=(len(first.codes) - 1) * width)
        item = item[order]
        _, _, first_run, low, high = self._boxes
        runs = first_run[one[item]], first_run[other[item]]
        ends = [low[runs[0]], high[runs[0]], low[runs[1]], high[runs[1]]]
        return (
            np.concatenate([[0], np.cumsum(count)]),
            np.stack([leaf[item], one[item], other[item]], axis=1),
            np.stack(ends, axis=1),
        )

    def _cells_of_ends(self, entries: Ints, codes: ThresholdCodes) -> Ints:
        """Return the cells within which the interval of each entry begins and ends, (entries, 2); -1 for none."""
        _, _, first, low, high = self._boxes
        # The first run is the interval of numbers; the missing value, which lies in no cell, may be another.
        some = first[entries] < first[entries + 1]
        run = np.where(some, first[entries], 0)
        ends = np.stack([low[run], high[run]], axis=1) if len(low) else np.zeros((len(entries), 2))
        cell = np.searchsorted(codes, ends, side="left") - 1
        cell[(cell >= len(codes) - 1) | ~some[:, None]] = -1
        cell[cell[:, 0] == cell[:, 1], 1] = -1
        return cell

    def sums(
        self,
        rows: ThresholdCodes,
        own: Floats,
        cells: tuple[CellsOfColumn, CellsOfColumn],
        ends: tuple[Ends, Ends],
    ) -> Floats:
        """Return the sums with both columns at the ends of the rows' cells: of the first column faster, (4, n).

        `rows`, int32 (n, columns), are the rows' codes, and `own`, (n,), the sums at the rows.
        """
        out = np.empty((4, len(own)))
        first, second = cells
        compiled(add_second_differences)(
            rows,
            (first.k, first.home, first.codes),
            (second.k, second.home, second.codes),
            self.lists(first, second),
            self._boxes,
            self._value,
            (own, *ends[0], *ends[1]),
            out,
        )
        return out


def contains(first: Ints, low: Indices, high: Indices, entry: int, code: int) -> bool:
    """Return whether a code is in one of the runs of an entry."""
    found = False
    for r in range(first[entry], first[entry + 1]):
        found |= low[r] <= code < high[r]
    return found


def add_second_differences(
    rows: ThresholdCodes,
    one_column: tuple[int, Ints, ThresholdCodes],
    other_column: tuple[int, Ints, ThresholdCodes],
    lists: CellLists,
    boxes: Boxes,
    value: Floats,
    sums: tuple[Floats, Floats, Floats, Floats, Floats],
    out: Floats,
) -> None:
    """Fill in the sums at the corners; see `CornerLeaves.sums`."""
    j, home0, codes0 = one_column
    k, home1, codes1 = other_column
    begins, listed, ends = lists
    start, column, first, low, high = boxes
    own, low0, high0, low1, high1 = sums
    width = len(codes1) - 1
    for i in range(len(own)):
        a, b = home0[i], home1[i]
        x, low_x, high_x = rows[i, j], codes0[a], codes0[a + 1]
        z, low_z, high_z = rows[i, k], codes1[b], codes1[b + 1]
        both00, both10, both01, both11 = 0.0, 0.0, 0.0, 0.0
        cell = a * width + b
        for p in range(begins[cell], begins[cell + 1]):
            least, most = ends[p, 0], ends[p, 1]
            inside = 1 if least <= x < most else 0
            down0 = (1 if least <= low_x < most else 0) - inside
            up0 = (1 if least <= high_x < most else 0) - inside
            least, most = ends[p, 2], ends[p, 3]
            inside = 1 if least <= z < most else 0
            down1 = (1 if least <= low_z < most else 0) - inside
            up1 = (1 if least <= high_z < most else 0) - inside
            if (down0 | up0) == 0 or (down1 | up1) == 0:
                continue
            leaf, one, other = listed[p, 0], listed[p, 1], listed[p, 2]
            reached = True
            for e in range(start[leaf], start[leaf + 1]):
                if e in (one, other):
                    continue
                if not contains(first, low, high, e, rows[i, column[e]]):
                    reached = False
                    break
            if reached:
                both00 += value[leaf] * (down0 * down1)
                both10 += value[leaf] * (up0 * down1)
                both01 += value[leaf] * (down0 * up1)
                both11 += value[leaf] * (up0 * up1)
        out[0, i] = own[i] + low0[i] + low1[i] + both00
        out[1, i] = own[i] + high0[i] + low1[i] + both10
        out[2, i] = own[i] + low0[i] + high1[i] + both01
        out[3, i] = own[i] + high0[i] + high1[i] + both11
