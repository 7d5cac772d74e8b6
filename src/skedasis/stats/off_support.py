"""Swapped rows that are off support: rows of the heterogeneity score that the other columns make impossible.

Two rows that swap their values of a feature become rows that were not observed. Variance inflation keeps them near the
data only where the dependence between columns is additive: a product, an oscillation and a circle have a variance
inflation of 1. Therefore the swapped rows are compared with the data. A swapped row is *off support* if it is farther
from the rows of the data than 99 % of them are from their nearest neighbour.

Over all columns such distances are blind: every row is far from all others. They are measured in the feature and at
most two other columns on which it depends, in the four sets that regressions on held-out rows rank first.

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
"""Largest numbers of swapped rows, and of rows that they are compared with: random ones."""

_PERCENTILE = 99.0

_FEWEST_ROWS = 50
"""With fewer swapped rows nothing is measured."""

_DEPENDENT = 0.02
"""Held-out R² above which columns depend on each other. Independent columns, 500 rows and more: below in 99 %."""

_SETS, _PAIRED = 4, 30
"""Sets in which distances are measured, and the most columns that are combined in pairs."""

_FUNCTIONS = 8
"""Most functions of a column that are regressed: of a nominal one, its most frequent levels."""

_ROWS_PER_BIN = 64
"""Rows in each of the bins of a column within which others have means."""

_PENALTY = 0.01
"""Ridge penalty for each regressor, on standardised columns."""

_APART = 1e3
"""Distance between levels, and to missing values. Normal scores differ by less than 20."""

Columns: TypeAlias = tuple[int, ...]
"""Indices of columns."""


def dependent_sets(
    columns: Sequence[Ranks | Floats], wanted: Sequence[Columns], half: Bools
) -> list[list[Columns] | None]:
    """Return the sets of one or two other columns on which features depend most, at most four for each.

    Parameters
    ----------
    columns : sequence of Ranks, or of ndarray of float, shape (n, L)
        All columns of the data: ranks of those with an order, indicators of levels of the others.
    wanted : sequence of tuple of int
        The columns of each feature; several for a group.
    half : ndarray of bool, shape (n,)
        Regressions are fitted on one half of the rows and judged on the other, both ways.

    Returns
    -------
    list of list of tuple of int
        None for a feature without a regression: constant, or with too many levels.

    Notes
    -----
    Ranks and squared ranks, or indicators of levels, of one column are regressed on those of another, and predicted by
    their means in bins of it, which see an oscillation; the larger R² counts, in either direction. Those of the feature
    are also regressed on those of two columns and on the product of their ranks. A set of two counts by what it adds to
    the R² of the better one. Sets below 0.02 are left out. Of more than 30 columns, the 30 with the largest R² are
    combined in pairs. Time O(n p² + p³) for p columns, at most 30 in the second term; no model row.
    """
    half = half[:REFERENCE]
    cut = [_first(column) for column in columns]
    tables = [regressors(column, np.ones(len(half)))[:, :_FUNCTIONS] for column in cut]
    table = np.hstack(tables)
    ends = np.cumsum([t.shape[1] for t in tables])
    own = [np.arange(end - t.shape[1], end) for t, end in zip(tables, ends, strict=True)]
    there = [j for j, index in enumerate(own) if len(index)]
    found: list[list[Columns] | None] = [
        [] if any(len(own[j]) for j in members) else None for members in wanted
    ]
    regressable = any(sets is not None for sets in found)
    if not regressable or len(there) < 2 or min(half.sum(), (~half).sum()) < _FEWEST_ROWS // 2:
        return found
    every = np.arange(table.shape[1])
    linear = _held_out(table, every, {(j,): own[j] for j in there}, half)
    # In either direction: an oscillation follows from its argument, which does not follow from it.
    best = {j: np.maximum(linear[j,], _by_bins(table, cut[j], half)) for j in there}
    alone = {(i, j): float(best[i][own[j]].max()) for i in there for j in there if i != j}
    alone = {(i, j): max(r, alone[j, i]) for (i, j), r in alone.items()}
    strength = {j: max(alone[i, j] for i in there if i != j) for j in there}
    paired = sorted(sorted(there, key=lambda j: -strength[j])[:_PAIRED])
    products, regressed = [], dict[Columns, Ints]()
    for a, b in combinations(paired, 2):
        regressed[a, b] = np.r_[own[a], own[b]]
        if isinstance(columns[a], Ranks) and isinstance(columns[b], Ranks):
            regressed[a, b] = np.r_[regressed[a, b], table.shape[1] + len(products)]
            products.append(tables[a][:, 0] * tables[b][:, 0])
    targets = [np.concatenate([own[j] for j in members]) for members in wanted]
    asked = np.unique(np.concatenate(targets))
    both = _held_out(np.column_stack([table, *products]), asked, regressed, half)
    gains = {
        (a, b): r - np.maximum(linear[a,][asked], linear[b,][asked]) for (a, b), r in both.items()
    }
    for k, (members, target) in enumerate(zip(wanted, targets, strict=True)):
        if not len(target):
            continue
        at = np.searchsorted(asked, target)
        gain: dict[Columns, float] = {
            (j,): max(alone.get((j, m), 0.0) for m in members) for j in there if j not in members
        }
        gain |= {s: float(g[at].max()) for s, g in gains.items() if not set(s) & set(members)}
        kept = [s for s in sorted(gain, key=lambda s: -gain[s]) if gain[s] > _DEPENDENT]
        found[k] = kept[:_SETS]
    return found


def _first(column: Ranks | Floats) -> Ranks | Floats:
    """Return the rows of a column that are regressed."""
    if isinstance(column, Ranks):
        return replace(column, values=column.values[:REFERENCE], missing=column.missing[:REFERENCE])
    return column[:REFERENCE]


def _by_bins(table: Floats, column: Ranks | Floats, half: Bools) -> Floats:
    """Return R² on held-out rows of the table's columns, predicted by their means in bins of a column."""
    if not isinstance(column, Ranks):
        return np.zeros(table.shape[1])  # the regression has its levels
    bins = max(2, len(half) // _ROWS_PER_BIN)
    place = np.minimum((column.values * bins).astype(int), bins - 1)
    sums, counts, totals = [], [], []
    for rows in (half, ~half):
        centred = table[rows] - table[rows].mean(axis=0)
        member = (place[rows] == np.arange(bins)[:, None]).astype(float)
        sums.append(member @ centred)
        counts.append(member.sum(axis=1)[:, None])
        totals.append((centred**2).sum(axis=0))
    left = sum(totals)
    for fit, test in ((0, 1), (1, 0)):
        mean = sums[fit] / np.maximum(counts[fit], 1)
        left = left - (mean * (2 * sums[test] - counts[test] * mean)).sum(axis=0)
    return 1 - np.asarray(left) / sum(totals)


def _held_out(
    table: Floats, targets: Ints, regressed: dict[Columns, Ints], half: Bools
) -> dict[Columns, Floats]:
    """Return R² on held-out rows of some of the table's columns, regressed on others, by set."""
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
        step = max(1, 2**20 // (size * len(targets)))
        for part in (sets[i : i + step] for i in range(0, len(sets), step)):
            index = np.array([regressed[s] for s in part])
            square, aim = (index[:, :, None], index[:, None, :]), (index[:, :, None], targets)
            left, total = 0.0, 0.0
            for fit, test in (moments, moments[::-1]):
                coef = np.linalg.solve(fit[square] + _PENALTY * size * np.eye(size), fit[aim])
                variance = np.diagonal(test)[targets]
                left = left + variance - (coef * (2 * test[aim] - test[square] @ coef)).sum(axis=1)
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
        0 if no dependence on another column was found; None with fewer than 50 swapped rows, and for too many levels.
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
    mixed : ndarray of int, shape (n,)
        Row indices in random order. That of the hashes has large weights first.
    """

    points: Floats
    mixed: Ints
    _neighbours: dict[tuple[Columns, Columns], tuple[KDTree, float, Ints]] = field(
        default_factory=dict, repr=False
    )

    @classmethod
    def of(cls, columns: Sequence[Ranks | Ints]) -> Support:
        """Return the points of columns: ranks of those with an order, codes of levels of the others."""
        points = np.column_stack([_coordinates(column) for column in columns])
        return cls(points, np.random.default_rng(0).permutation(len(points)))

    def off_support(
        self,
        own: Columns,
        sets: Sequence[Columns] | None,
        partner: Ints,
        weights: Floats | None,
    ) -> OffSupport:
        """Return the largest share of rows that are off support after they got their partners' values.

        Parameters
        ----------
        own : tuple of int
            The columns whose values are swapped.
        sets : sequence of tuple of int, optional
            The other columns in which distances are measured, in turn; see `dependent_sets`.
        partner : ndarray of int, shape (n,)
            The other row of each row's pair; -1 without one.
        weights : ndarray of float, shape (n,), optional
        """
        rows = self.mixed[partner[self.mixed] >= 0]
        values = self.points[:, own]
        rows = rows[(values[rows] != values[partner[rows]]).any(axis=1)][:SWAPPED]
        if sets is None or len(rows) < _FEWEST_ROWS:
            return OffSupport()
        weight = np.ones(len(rows)) if weights is None else weights[rows]
        largest, beside = 0.0, Columns()
        for others in sets:
            columns = tuple(sorted(own + others))
            tree, limit, reference = self._nearest(columns, own)
            new = self.points[rows][:, columns]
            new[:, np.isin(columns, own)] = values[partner[rows]]
            distance, neighbour = tree.query(new, k=2, distance_upper_bound=limit)
            found = np.append(reference, -1)[neighbour]  # -1: none within the limit
            far = ~(np.isfinite(distance) & (found != rows[:, None])).any(axis=1)
            share = float(weight[far].sum() / weight.sum())
            if share > largest:
                largest, beside = share, others
        return OffSupport(largest, beside)

    def _nearest(self, columns: Columns, own: Columns) -> tuple[KDTree, float, Ints]:
        """Return rows in some columns, a distance just above that to nearly every one's neighbour, and their indices.

        Rows without a value of the feature are left out, because they are not swapped.
        """
        from scipy.spatial import KDTree

        missing = (self.points[:, own] == _MISSING).any(axis=1)
        key = columns, own if missing.any() else ()
        if key not in self._neighbours:
            chosen = self.mixed[~missing[self.mixed]][:REFERENCE]
            rows = self.points[chosen][:, columns]
            tree = KDTree(rows, balanced_tree=False, compact_nodes=False)
            nearest, repeated = tree.query(rows[:SWAPPED], k=2)[0][:, 1], np.zeros(1, dtype=bool)
            if not nearest.all():  # repeated rows say nothing of distances
                distinct, count = np.unique(rows, axis=0, return_counts=True)
                nearest, repeated = KDTree(distinct).query(distinct, k=2)[0][:, 1], count > 1
            # A combination of levels that has several rows is one that occurs.
            nearest = np.where(nearest < _APART, nearest, np.where(repeated, 0.0, _APART))
            limit = float(np.percentile(nearest, _PERCENTILE))
            limit = np.inf if limit >= _APART else max(limit * (1 + 1e-9), 1e-9)
            self._neighbours[key] = tree, limit, chosen
        return self._neighbours[key]


_MISSING = -10 * _APART


def _coordinates(column: Ranks | Ints) -> Floats:
    """Return a column as coordinates, (n,)."""
    from scipy.special import ndtri

    if not isinstance(column, Ranks):
        return _APART * column.astype(float)
    # Next to a row of nearly all weight, the others' ranks may be rounded to 0 or 1.
    eps = np.finfo(float).eps
    score = ndtri(np.clip(column.values, eps, 1 - eps))
    # Two values have no order: they are levels.
    if column.distinct <= 2:
        score = _APART * (score > score.min())
    return np.where(column.missing, _MISSING, score)
