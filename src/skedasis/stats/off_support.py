"""Swapped rows that are off support: rows of the heterogeneity score that the other columns make impossible.

Two rows that swap their values of a feature become rows that were not observed. Variance inflation keeps them near the
data only where the dependence between columns is additive: a product, an oscillation and a circle have a variance
inflation of 1. Therefore the swapped rows are compared with the data. A swapped row is *off support* if it is farther
from the rows of the data than 99 % of them are from their nearest neighbour.

Over all columns such distances are blind: every row is far from all others. They are measured in the feature and at
most two other columns on which it depends, in the four sets that a regression on held-out rows ranks first.

This module works on arrays only: `skedasis.engine.heterogeneity_score` reads the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, groupby
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.stats.heterogeneity_score import Ranks, regressors

if TYPE_CHECKING:
    from scipy.spatial import KDTree

SWAPPED, REFERENCE = 1_000, 2_000
"""Largest numbers of swapped rows, and of rows that they are compared with: those with the smallest hashes."""

_PERCENTILE = 99.0

_FEWEST_ROWS = 50
"""With fewer rows nothing is measured."""

_DEPENDENT = 0.02
"""Held-out R² above which columns depend on each other. Independent columns, 500 rows and more: below in 99 %."""

_SETS, _PAIRED = 4, 30
"""Sets in which distances are measured, and the most columns that are combined in pairs."""

_PENALTY = 0.01
"""Ridge penalty for each regressor, on standardised columns."""

_APART = 1e3
"""Distance between levels, and to missing values. Normal scores differ by less than 20."""

Columns: TypeAlias = tuple[int, ...]
"""Indices of columns."""


def dependent_sets(
    columns: Sequence[Ranks | Floats], wanted: Sequence[Columns], half: Bools
) -> list[list[Columns]]:
    """Return the sets of one or two other columns on which features depend most, at most four for each.

    Parameters
    ----------
    columns : sequence of Ranks, or of ndarray of float, shape (n, L)
        All columns of the data: ranks of those with an order, indicators of levels of the others.
    wanted : sequence of tuple of int
        The columns of each feature; several for a group.
    half : ndarray of bool, shape (n,)
        Regressions are fitted on one half of the rows and judged on the other, both ways.

    Notes
    -----
    The ranks and squared ranks (levels: indicators) of the feature are regressed on those of one column, and on those
    of two and the product of their ranks. A set of one counts by R², a set of two by what it adds to the better one;
    below 0.02 it is left out. Of more than 30 columns, the 30 with the largest R² are combined in pairs. Time
    O(n p² + p³) for p columns, at most 30 in the second term; no model row.
    """
    half = half[:REFERENCE]
    tables = [regressors(_first(column), np.ones(len(half))) for column in columns]
    table = np.hstack(tables)
    ends = np.cumsum([t.shape[1] for t in tables])
    own = [np.arange(end - t.shape[1], end) for t, end in zip(tables, ends, strict=True)]
    there = [j for j, index in enumerate(own) if len(index)]
    if len(there) < 2 or min(half.sum(), (~half).sum()) < _FEWEST_ROWS // 4:
        return [[] for _ in wanted]
    alone = _held_out(table, len(table.T), {(j,): own[j] for j in there}, half)
    strength = {j: np.delete(alone[j,], own[j]).max() for j in there}
    paired = sorted(sorted(there, key=lambda j: -strength[j])[:_PAIRED])
    products, regressed = [], dict[Columns, Ints]()
    for a, b in combinations(paired, 2):
        regressed[a, b] = np.r_[own[a], own[b]]
        if isinstance(columns[a], Ranks) and isinstance(columns[b], Ranks):
            regressed[a, b] = np.r_[regressed[a, b], table.shape[1] + len(products)]
            products.append(tables[a][:, 0] * tables[b][:, 0])
    both = _held_out(np.column_stack([table, *products]), len(table.T), regressed, half)
    gains = alone | {(a, b): r - np.maximum(alone[a,], alone[b,]) for (a, b), r in both.items()}
    found: list[list[Columns]] = []
    for members in wanted:
        targets = np.concatenate([own[j] for j in members])
        if not len(targets):
            found.append([])
            continue
        gain = {s: g[targets].max() for s, g in gains.items() if not set(s) & set(members)}
        kept = [s for s in sorted(gain, key=lambda s: -gain[s]) if gain[s] > _DEPENDENT]
        found.append(kept[:_SETS])
    return found


def _first(column: Ranks | Floats) -> Ranks | Floats:
    """Return the rows of a column that others are compared with."""
    if isinstance(column, Ranks):
        return replace(column, values=column.values[:REFERENCE], missing=column.missing[:REFERENCE])
    return column[:REFERENCE]


def _held_out(
    table: Floats, targets: int, regressed: dict[Columns, Ints], half: Bools
) -> dict[Columns, Floats]:
    """Return R² on held-out rows of the table's first columns, regressed on other columns of it, by set."""
    moments = []
    for rows in (half, ~half):
        centred = table[rows] - table[rows].mean(axis=0)
        moments.append(centred.T @ centred)
    found: dict[Columns, Floats] = {}

    def size_of(columns: Columns) -> int:
        return len(regressed[columns])

    # Regressions of equal size are solved at once.
    for size, group in groupby(sorted(regressed, key=size_of), size_of):
        sets = list(group)
        step = max(1, 2**20 // (size * targets))
        for part in (sets[i : i + step] for i in range(0, len(sets), step)):
            index = np.array([regressed[s] for s in part])
            square = index[:, :, None], index[:, None, :]
            left, total = 0.0, 0.0
            for fit, test in (moments, moments[::-1]):
                penalty = _PENALTY * size * np.eye(size)
                coef = np.linalg.solve(fit[square] + penalty, fit[index, :targets])
                explained = 2 * test[index, :targets] - test[square] @ coef
                variance = np.diagonal(test)[:targets]
                left = left + variance - (coef * explained).sum(axis=1)
                total = total + variance
            r_squared = 1 - np.asarray(left) / np.where(total > 0, total, 1)
            found |= dict(zip(part, r_squared, strict=True))
    return found


@dataclass(frozen=True)
class OffSupport:
    """The largest share of swapped rows that are off support.

    Parameters
    ----------
    share : float or None
        0 if the feature depends on no other column; None with fewer than 50 rows.
    beside : tuple of int
        The other columns in which these rows are.
    """

    share: float | None = None
    beside: Columns = ()


@dataclass(frozen=True, eq=False)
class Support:
    """The rows of a score as points: normal scores of ranks; levels and missing values are apart.

    Parameters
    ----------
    points : ndarray of float, shape (n, p)
        In the order of the hashes.
    """

    points: Floats
    _neighbours: dict[Columns, tuple[KDTree, float]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, columns: Sequence[Ranks | Floats]) -> Support:
        """Return the points of columns: ranks of those with an order, indicators of levels of the others."""
        return cls(np.column_stack([_coordinates(column) for column in columns]))

    def off_support(
        self, own: Columns, sets: Sequence[Columns], partner: Ints, weights: Floats | None
    ) -> OffSupport:
        """Return the largest share of rows that are off support after they got their partners' values.

        Parameters
        ----------
        own : tuple of int
            The columns whose values are swapped.
        sets : sequence of tuple of int
            The other columns in which distances are measured, in turn.
        partner : ndarray of int, shape (n,)
            The other row of each row's pair; -1 without one.
        weights : ndarray of float, shape (n,), optional
        """
        rows = np.flatnonzero(partner >= 0)[:SWAPPED]
        if len(rows) < _FEWEST_ROWS:
            return OffSupport()
        moved = rows[(self.points[rows][:, own] != self.points[partner[rows]][:, own]).any(axis=1)]
        largest, beside = 0.0, Columns()
        for others in sets:
            columns = tuple(sorted(own + others))
            tree, limit = self._nearest(columns)
            new = self.points[moved][:, columns]
            swapped = np.isin(columns, own)
            new[:, swapped] = self.points[partner[moved]][:, own]
            distance, neighbour = tree.query(new, k=2, distance_upper_bound=limit)
            near = (np.isfinite(distance) & (neighbour != moved[:, None])).any(axis=1)
            far = moved[~near]
            share = (
                len(far) / len(rows)
                if weights is None
                else weights[far].sum() / weights[rows].sum()
            )
            if share > largest:
                largest, beside = float(share), others
        return OffSupport(largest, beside)

    def _nearest(self, columns: Columns) -> tuple[KDTree, float]:
        """Return the rows in some columns, and a distance just above that to nearly every row's neighbour."""
        from scipy.spatial import KDTree

        if columns not in self._neighbours:
            rows = self.points[:REFERENCE, columns]
            tree = KDTree(rows, balanced_tree=False, compact_nodes=False)
            nearest = tree.query(rows[:SWAPPED], k=2)[0][:, 1]
            limit = float(np.percentile(np.minimum(nearest, _APART), _PERCENTILE))
            if limit == 0:
                # Columns of few values: rows that differ by the smallest step are neighbours.
                distinct = np.unique(rows, axis=0)
                step = KDTree(distinct).query(distinct, k=2)[0][:, 1]
                limit = float(step[step < _APART].min(initial=_APART / 2))
            elif limit >= _APART:
                limit = np.inf  # too many combinations of levels have a single row
            self._neighbours[columns] = tree, limit * (1 + 1e-9)
        return self._neighbours[columns]


def _coordinates(column: Ranks | Floats) -> Floats:
    """Return a column as coordinates, (n,)."""
    from scipy.special import ndtri

    if not isinstance(column, Ranks):
        return _APART * (column @ np.arange(1.0, column.shape[1] + 1))
    # Next to a row of nearly all weight, the others' ranks may be rounded to 0 or 1.
    eps = np.finfo(float).eps
    score = ndtri(np.clip(column.values, eps, 1 - eps))
    # Two values have no order: they are levels.
    if column.distinct <= 2:
        score = _APART * (score > score.min())
    return np.where(column.missing, -10 * _APART, score)
