"""The spread at x: the standard deviation between rows of the effect at x, whose mean square is the score's square.

A row's curve is evaluated within the window of values that rows with the same other features have: the window within
which the heterogeneity score swaps values. Blocks of neighbours in the order that pairs the score's rows
(`skedasis.stats.heterogeneity_score`) share the positions at which they are evaluated. Each curve is centred over its
window, and the variance of a block's curves at a position is an estimate of the spread there:

    g_ij = q(z_bj, c_i) - sum_j W_bj q(z_bj, c_i),    r²(k) = sum V_bj S_bj / sum V_bj over the positions in cell k,
    spread(k) = score r(k) / sqrt(sum_k p_k r²(k)),

with S_bj the variance of g_ij over the rows i of block b, V_bj the position's weight W_bj times that of the block's
pairs of rows, (sum ω_i)² - sum ω_i², as in the score, and p_k the weight share of cell k. For independent features it
is the standard deviation of centred ICE curves.

This module works on arrays only: `skedasis.engine.spread` reads the data and calls the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.stats.heterogeneity_score import ROUNDING, HeterogeneityScore, ScoreOrder

MOST_ROWS, ROWS_PER_ROW = 4_000, 4
"""Most model rows for the spread of one feature, in all and for each row of the score."""

_ROWS, _FEWEST_ROWS = 5, 3
"""Rows of a block; and where a feature has so many values that there would be few blocks."""

_BLOCKS, _BLOCKS_OF_VALUES, _FEWEST_BLOCKS = 10, 6, 5
"""Blocks below which there are fewer cells; fewer rows in each block; no spread but the score."""

_CELLS = (32, 16, 8)
"""Numbers of cells of a feature with many values, of which the first is taken that leaves enough blocks."""

MANY_LEVELS = 64
"""Of more levels, the rare ones share a cell."""

POOL_POSITIONS = 16
"""Positions in that cell, so that a curve is not compared with its own value alone."""

_REACH = 1e-3
"""A window leaves out values with less than this fraction of an equal share."""

_BLOCKS_OF_CELL = 3
"""A cell that fewer blocks reach takes its spread from the nearest cells."""


@dataclass(frozen=True, eq=False)
class SpreadCells:
    """The K cells of a feature on which its spread is given.

    `x`, (K,), is the mean of the feature's values in each cell; the value, or the level's code, if cells are single
    values (`single`), at all of which a row is evaluated that can have them. `cell`, (n,), is that of each row of the
    score, -1 where the feature is missing. `share`, (K,), is positive and sums to 1. Rows are evaluated at
    `positions`, (K,), in each cell.
    """

    x: Floats
    cell: Ints
    share: Floats
    single: bool
    positions: Ints

    @classmethod
    def of(
        cls,
        values: Floats,
        cell: Ints,
        weights: Floats | None,
        *,
        single: bool,
        pool: int = -1,
    ) -> SpreadCells:
        """Return those cells that have rows, from left to right.

        `values`, `cell` (-1 where the feature is missing) and `weights` are those of the rows, (n,) each. `pool` is the
        cell that several levels share.
        """
        there = np.flatnonzero(cell >= 0)
        own, x = cell.take(there), values.take(there)
        w = None if weights is None else weights.take(there)
        used = np.bincount(own) > 0
        found, number = np.flatnonzero(used), (np.cumsum(used) - 1).take(own)
        weight = np.bincount(number, w, len(found))
        first = np.zeros(len(found))
        first[number] = x
        # The mean of equal values is that value.
        off = x - first.take(number)
        mean = first + np.bincount(number, off if w is None else w * off) / weight
        numbers = np.full(len(cell), -1)
        numbers[there] = number
        positions = np.where(found == pool, POOL_POSITIONS, 1)
        return cls(mean, numbers, weight / weight.sum(), single, positions)

    def __len__(self) -> int:
        return len(self.x)


Uniforms: TypeAlias = Callable[[Ints, str, int], Floats]
"""So many uniform random numbers of rows, by their indices among the rows of the score and what is drawn."""


@dataclass(frozen=True, eq=False)
class Windows:
    """B blocks of m rows and the J positions at which their curves are evaluated.

    `rows`, (B, m), are indices into the rows of the score, and `donors`, (B, J), the rows whose values are the block's
    positions, with their `weight` in the window; 0 for positions that only fill the array. If all windows are the
    whole data, `stratum`, (B, K), is the rank of a block's position in each cell among those of all blocks.
    """

    rows: Ints
    donors: Ints
    weight: Floats
    cells: SpreadCells
    stratum: Ints | None = None

    @property
    def n_model_rows(self) -> int:
        """Return at how many rows the quantity is evaluated."""
        return self.donors.size * self.rows.shape[1]


@dataclass(frozen=True, eq=False)
class Blocks:
    """How many blocks of how many rows are evaluated on which cells, for at most `limit` model rows."""

    cells: SpreadCells
    size: int
    count: int
    limit: int

    @classmethod
    def of(cls, cells_of: Callable[[int], SpreadCells], n: int, limit: int) -> Blocks | None:
        """Return blocks of n rows; None if there are too few rows.

        `cells_of` returns cells, about as many as asked for, if the feature has many values.
        """
        found = cls._on(cells_of(_CELLS[0]), n, limit)
        for count in _CELLS[1:]:
            if found.cells.single or found.count >= _BLOCKS:
                break
            found = cls._on(cells_of(count), n, limit)
        fewest = _BLOCKS_OF_VALUES if found.cells.single else _FEWEST_BLOCKS
        return found if found.count >= fewest else None

    @classmethod
    def _on(cls, cells: SpreadCells, n: int, limit: int) -> Blocks:
        positions = int(cells.positions.sum())
        size, count = _ROWS, min(limit // (_ROWS * positions), n // _ROWS)
        if cells.single and count < _BLOCKS_OF_VALUES:
            size = _FEWEST_ROWS
            count = min(limit // (size * positions), n // size)
        return cls(cells, size, count, limit)

    def windows(self, order: ScoreOrder, weights: Floats | None, uniforms: Uniforms) -> Windows:
        """Choose the rows of the blocks, in the order of the rows that have a value, and their positions."""
        size, n = self.size, len(order.rows)
        sorter = _Sorter.of(self.cells, order, weights)
        found = _windows(self.count, size, self.cells, order, sorter, uniforms)
        # Windows that reach few of the values leave room for more blocks.
        more = min(self.limit // (size * found.donors.shape[1]), n // size)
        while more > self.count:
            wider = _windows(more, size, self.cells, order, sorter, uniforms)
            if wider.n_model_rows <= self.limit:
                return wider
            more = min(self.limit // (size * wider.donors.shape[1]), more - 1)
        return found


@dataclass(frozen=True, eq=False)
class _Sorter:
    """The rows with a value, (n,), sorted by cell and value, with the weight up to each.

    `upto`, (n,), is the fraction of the weight at the row and those before it, `ends`, (K + 1,), that before each
    cell, and 1. `starts`, (K + 1,), is the place of each cell's first row, and n.
    """

    rows: Ints
    upto: Floats
    ends: Floats
    starts: Ints

    @classmethod
    def of(cls, cells: SpreadCells, order: ScoreOrder, weights: Floats | None) -> _Sorter:
        # Sorted by value, so that only the levels of a pool are not in the order of the cells.
        rows = order.by_value
        number = cells.cell.take(rows)
        if (number[1:] < number[:-1]).any():
            by_cell = np.argsort(number, kind="stable")
            rows, number = rows[by_cell], number[by_cell]
        weight = np.ones(len(rows)) if weights is None else weights[rows]
        ends = np.append(0.0, np.cumsum(cells.share))
        starts = np.searchsorted(number, np.arange(len(cells) + 1))
        return cls(rows, np.cumsum(weight) / weight.sum(), ends / ends[-1], starts)

    def at(self, fraction: Floats, cell: Ints) -> Ints:
        """Return the rows at fractions of the weight, which lie in the given cells."""
        place = np.searchsorted(self.upto, fraction, side="left")
        return self.rows[np.clip(place, self.starts[cell], self.starts[cell + 1] - 1)]


def _windows(
    blocks: int,
    size: int,
    cells: SpreadCells,
    order: ScoreOrder,
    sorter: _Sorter,
    uniforms: Uniforms,
) -> Windows:
    """Return so many blocks of rows, with the positions of their windows.

    The normal score of x among rows whose key is t is normal, with mean (1 - v) t and variance v. A window is cut at
    the edges of the cells, and further where it reaches few of them; each part has one position.
    """
    from scipy.special import ndtr, ndtri

    n, count, everywhere = len(order.rows), len(cells), order.variance == 1.0
    offset = uniforms(order.rows[:1], "blocks", 1)[0, 0]
    starts = ((np.arange(blocks) + offset) / blocks * (n - size)).astype(int)
    rows = order.rows[starts[:, None] + np.arange(size)]
    most = int(cells.positions.sum())
    drawn = uniforms(rows[:, 0], "positions", most)
    stratum = drawn.argsort(axis=0, kind="stable").argsort(axis=0)
    if everywhere:
        # The blocks' positions are spread evenly over each cell (a Latin hypercube).
        drawn = (stratum + uniforms(rows[:, 1], "within", 1)) / blocks
    std = np.sqrt(order.variance)
    middle = (1.0 - order.variance) * order.key[rows].mean(axis=1)
    upto = ndtr((ndtri(sorter.ends) - middle[:, None]) / std)
    weight = np.diff(upto, axis=1)
    weight = np.where(weight < (0.0 if everywhere else _REACH / count), 0.0, weight)
    weight = weight / weight.sum(axis=1, keepdims=True)
    parts = (weight > 0) * cells.positions
    if not cells.single:
        parts += ((count - parts.sum(axis=1, keepdims=True)) * weight).astype(int)
    block, cell = np.repeat(np.indices(parts.shape).reshape(2, -1), parts.ravel(), axis=1)
    inside = _counted(parts.ravel())
    place = _counted(parts.sum(axis=1))
    fraction = (inside + drawn[block, place]) / parts[block, cell]
    if cells.single:
        at = sorter.ends[cell] + fraction * np.diff(sorter.ends)[cell]
    else:
        within = upto[block, cell] + fraction * np.diff(upto, axis=1)[block, cell]
        at = ndtr(middle[block] + std * ndtri(within))
    donors = np.full((blocks, int(parts.sum(axis=1).max())), sorter.rows[0])
    weights = np.zeros(donors.shape)
    donors[block, place] = sorter.at(at, cell)
    weights[block, place] = weight[block, cell] / parts[block, cell]
    ordered = everywhere and most == count
    return Windows(rows, donors, weights, cells, stratum if ordered else None)


def _counted(sizes: Ints) -> Ints:
    """Return 0, 1, … for each of several groups of given sizes, one group after the other."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def spread_at(
    found: Windows,
    response: Floats,
    weights: Floats | None,
    score: HeterogeneityScore,
    eps: float,
) -> tuple[Floats, Floats]:
    """Return the spread in each cell and its standard error, (K,) each.

    `response`, (B, J, m), is the quantity of each block's rows at its positions, and `weights`, (n,), are those of the
    rows of the score. Variances below 16 units of `eps`, the relative rounding of the quantity, are zero.

    The error is that of the shape r / sqrt(sum p r²), by the delta method from the influences of the blocks, and that
    of the score. Blocks follow one another in the order of the score, along which their windows move, so that the
    variance of a sum of influences is half the sum of the squares of successive differences. If all windows are equal,
    blocks differ in their positions, and the order in a cell is that of its positions.
    """
    cells, count = found.cells, len(found.cells)
    if not score.value > 0:
        return np.full(count, score.value), np.full(count, score.std_error)
    blocks = len(found.rows)
    # In units of the largest value, so that squares neither underflow nor overflow.
    scale = float(np.abs(response).max(initial=0.0)) or 1.0
    q = response / scale
    row_weight = np.ones(found.rows.shape) if weights is None else weights[found.rows]
    share = row_weight / row_weight.sum(axis=1, keepdims=True)
    g = q - np.einsum("bj,bjm->bm", found.weight, q)[:, None]
    g = g - np.einsum("bm,bjm->bj", share, g)[:, :, None]
    free = 1.0 - np.einsum("bm,bm->b", share, share)
    variance = np.einsum("bm,bjm->bj", share, g**2) / np.where(free > 0, free, 1.0)[:, None]
    number = cells.cell[found.donors]
    # The mean over pairs of a block's rows, each weighted by the product of its weights, as in the score.
    position_weight = found.weight * (free * row_weight.sum(axis=1) ** 2)[:, None]
    place = np.arange(blocks)[:, None] * count + number
    total = np.bincount(place.ravel(), position_weight.ravel(), blocks * count)
    square = np.bincount(place.ravel(), (position_weight * variance).ravel(), blocks * count)
    total, square = total.reshape(blocks, count), square.reshape(blocks, count)
    reached = np.count_nonzero(total, axis=0) >= _BLOCKS_OF_CELL
    sums = total.sum(axis=0)
    r2 = square.sum(axis=0) / np.where(sums > 0, sums, 1.0)
    if not reached.any() or cells.share @ r2 <= (ROUNDING * eps) ** 2:
        return np.full(count, score.value), np.full(count, score.std_error)
    influence = (square - total * r2) / np.where(sums > 0, sums, 1.0)
    fill = _fill(cells.share, reached)
    r2, influence = fill @ r2, influence @ fill.T
    mean = cells.share @ r2
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = influence / r2 - (influence @ cells.share / mean)[:, None]
    relative = np.where(r2 > 0, relative, 0.0) * np.sqrt(blocks / (blocks - 1))
    if found.stratum is not None:
        relative = np.take_along_axis(relative, found.stratum.argsort(axis=0), axis=0)
    error2 = (np.diff(relative, axis=0) ** 2).sum(axis=0) / 8
    value = score.value * np.sqrt(r2 / mean)
    relative_score = score.std_error / score.value
    error = np.where(r2 > 0, value * np.sqrt(error2 + relative_score**2), score.std_error)
    return value, error


def _fill(share: Floats, reached: Bools) -> Floats:
    """Return the matrix (K, K) that interpolates between the reached cells, along the ranks of their middles."""
    if reached.all():
        return np.eye(len(share))
    middle = np.cumsum(share) - share / 2
    known = np.flatnonzero(reached)
    columns = [np.interp(middle, middle[known], np.eye(len(known))[j]) for j in range(len(known))]
    matrix = np.zeros((len(share), len(share)))
    matrix[:, known] = np.stack(columns, axis=1)
    return matrix
