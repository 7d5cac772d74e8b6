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
from itertools import combinations, islice
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

_DEPENDENT, _BY_CHANCE = 0.02, 400.0
"""Held-out R² above which columns depend on each other, and above ``2 log(400 p) / n``: the largest of a feature that
is independent of the other p - 1 columns is below in 99 % of cases, and swaps at so weak a dependence are on support.
"""

_SETS, _PAIRED = 4, 30
"""Sets in which distances are measured, and the most columns that are combined in pairs."""

_FUNCTIONS = 8
"""Most functions of a column that are regressed: of a nominal one, its most frequent levels."""

_ROWS_PER_BIN = 64
"""Rows in each of the bins of a column within which others have means."""

_PENALTY = 0.01
"""Ridge penalty for each regressor, on standardised columns."""

_BLOCK = 2**18
"""Numbers that are computed at once: 2 MB, which stay in the processor's cache."""

_APART = 1e3
"""Distance between levels, and to missing values. Normal scores differ by less than 20."""

ColumnSet: TypeAlias = tuple[int, ...]
"""Indices of columns that are taken together."""


def dependent_sets(
    columns: Sequence[Ranks | Floats], wanted: Sequence[ColumnSet], half: Bools
) -> list[list[ColumnSet] | None]:
    """Return the sets of one or two other columns on which features depend most, at most four for each.

    `columns` are all columns of the data: ranks of those with an order, indicators of levels, (n, L), of the others.
    `wanted` are the columns of each feature, several for a group. Regressions are fitted on one `half` of the rows,
    (n,), and judged on the other, both ways.

    Ranks and squared ranks, or indicators of levels, of one column are regressed on those of another, and predicted by
    their means in bins of it, which see an oscillation; the larger R² counts, in either direction. Those of the
    feature are also regressed on those of two columns and on the product of their ranks. A set of two counts by what
    it adds to the R² of the better one. Sets that independent columns reach by chance are left out. Of more than 30
    columns, the 30 with the largest R² are combined in pairs. Time O(n p² + p³) for p columns, at most 30 in the
    second term; no model row.
    """
    half = half[:REFERENCE]
    cut = [_first(column) for column in columns]
    tables = [regressors(column, np.ones(len(half)))[:, :_FUNCTIONS] for column in cut]
    table = np.hstack(tables)
    ends = np.cumsum([t.shape[1] for t in tables])
    own = [np.arange(end - t.shape[1], end) for t, end in zip(tables, ends, strict=True)]
    there = [j for j, index in enumerate(own) if len(index)]
    found: list[list[ColumnSet] | None] = [
        [] if any(len(own[j]) for j in members) else None for members in wanted
    ]
    regressable = any(sets is not None for sets in found)
    if not regressable or len(there) < 2 or min(half.sum(), (~half).sum()) < _FEWEST_ROWS // 2:
        return found
    halves = [np.flatnonzero(half), np.flatnonzero(~half)]
    centred = [table[rows] - table[rows].mean(axis=0) for rows in halves]
    asked = [j for j in there if any(j in members for members in wanted)]
    data = columns, own, halves, centred
    by_one, linear = _by_one(data, there, asked)
    # In either direction: an oscillation follows from its argument, which does not follow from it.
    reverse = by_one if asked == there else _by_one(data, asked, there)[0]
    alone = np.maximum(by_one, reverse.T)
    place = np.searchsorted(there, asked)
    alone[place, np.arange(len(asked))] = 0.0
    strongest = np.argsort(-alone.max(axis=1), kind="stable")[:_PAIRED]
    pairs = np.array([*combinations(np.sort(strongest), 2)])
    starts = np.cumsum([0, *(len(own[j]) for j in asked[:-1])])
    regressed, products = _pairs(columns, tables, own, np.take(there, pairs).tolist())
    targets = np.concatenate([own[j] for j in asked])
    more = np.column_stack([table, *products])
    both = _held_out([more[rows] - more[rows].mean(axis=0) for rows in halves], targets, regressed)
    both -= np.maximum(linear[pairs[:, 0]], linear[pairs[:, 1]])
    sets: list[ColumnSet] = [(j,) for j in there]
    sets += [(there[a], there[b]) for a, b in pairs]
    gains = np.vstack([alone, np.maximum.reduceat(both, starts, axis=1)])
    at = {j: i for i, j in enumerate(asked)}
    least = max(_DEPENDENT, 2 * float(np.log(_BY_CHANCE * len(columns))) / len(half))
    for k, members in enumerate(wanted):
        if found[k] is None:
            continue
        gain = gains[:, [at[j] for j in members if j in at]].max(axis=1)
        some = np.flatnonzero(gain > least)
        first = (sets[i] for i in some[np.argsort(-gain[some], kind="stable")].tolist())
        found[k] = [*islice((s for s in first if not set(s) & set(members)), _SETS)]
    return found


def _by_one(
    data: tuple[Sequence[Ranks | Floats], Sequence[Ints], Sequence[Ints], Sequence[Floats]],
    by: Sequence[int],
    of: Sequence[int],
) -> tuple[Floats, Floats]:
    """Return the largest R² of the functions of columns by each of others, (by, of), and R² of linear regressions."""
    columns, own, halves, centred = data
    targets = np.concatenate([own[j] for j in of])
    linear = _held_out(centred, targets, [own[j] for j in by])
    r_squared = linear.copy()
    # The regression on a nominal column has its levels.
    ranks = {k: c.values for k, j in enumerate(by) if isinstance(c := columns[j], Ranks)}
    tables = [table[:, targets] for table in centred]
    bins = max(2, sum(map(len, halves)) // _ROWS_PER_BIN)
    step = max(1, _BLOCK // (bins * len(targets)))
    for first in range(0, len(ranks), step):
        some = [*ranks][first : first + step]
        binned = _by_bins(
            tables, [np.array([ranks[k][rows] for k in some]) for rows in halves], bins
        )
        r_squared[some] = np.maximum(r_squared[some], binned)
    starts = np.cumsum([0, *(len(own[j]) for j in of[:-1])])
    return np.maximum.reduceat(r_squared, starts, axis=1), linear


def _pairs(
    columns: Sequence[Ranks | Floats],
    tables: Sequence[Floats],
    own: Sequence[Ints],
    pairs: Sequence[Sequence[int]],
) -> tuple[list[Ints], list[Floats]]:
    """Return the regressors of pairs of columns, and the products of ranks among them, which follow the tables."""
    regressed, products = list[Ints](), list[Floats]()
    width = sum(table.shape[1] for table in tables)
    for a, b in pairs:
        index = [own[a], own[b]]
        if isinstance(columns[a], Ranks) and isinstance(columns[b], Ranks):
            index.append(np.array([width + len(products)]))
            products.append(tables[a][:, 0] * tables[b][:, 0])
        regressed.append(np.concatenate(index))
    return regressed, products


def _first(column: Ranks | Floats) -> Ranks | Floats:
    """Return the rows of a column that are regressed."""
    if isinstance(column, Ranks):
        return replace(
            column,
            values=column.values[:REFERENCE],
            missing=column.missing[:REFERENCE],
            order=column.order[column.order < REFERENCE],
        )
    return column[:REFERENCE]


def _by_bins(tables: Sequence[Floats], ranks: Sequence[Floats], bins: int) -> Floats:
    """Return R² on held-out rows of the columns of two halves, predicted by their means in bins of others, (by, of)."""
    sums, counts = [], []
    for table, rank in zip(tables, ranks, strict=True):
        place = np.minimum((rank * bins).astype(int), bins - 1)
        member = (place[:, None] == np.arange(bins)[:, None]).astype(float)
        sums.append((member.reshape(-1, len(table)) @ table).reshape(len(rank), bins, -1))
        counts.append(member.sum(axis=2)[:, :, None])
    left = total = np.sum([(table**2).sum(axis=0) for table in tables], axis=0)
    for fit, test in ((0, 1), (1, 0)):
        mean = sums[fit] / np.maximum(counts[fit], 1)
        left = left - (mean * (2 * sums[test] - counts[test] * mean)).sum(axis=1)
    return 1 - left / total


def _held_out(centred: Sequence[Floats], targets: Ints, regressed: Sequence[Ints]) -> Floats:
    """Return R² on held-out rows of some columns of two halves, regressed on sets of others, (sets, columns)."""
    transposed = [np.ascontiguousarray(table.T) for table in centred]
    aims = [rows @ rows[targets].T for rows in transposed]
    total = np.sum([(rows[targets] ** 2).sum(axis=1) for rows in transposed], axis=0)
    found = np.zeros((len(regressed), len(targets)))
    sizes = np.array([len(index) for index in regressed])
    # Regressions of equal size are solved at once.
    for size in np.unique(sizes):
        sets = np.flatnonzero(sizes == size)
        step = max(1, _BLOCK // (size * len(targets)))
        for part in (sets[i : i + step] for i in range(0, len(sets), step)):
            index = np.array([regressed[s] for s in part])
            functions = [rows[index] for rows in transposed]
            moments = [f @ f.transpose(0, 2, 1) for f in functions]
            left = total
            for fit, test in ((0, 1), (1, 0)):
                inverse = np.linalg.inv(moments[fit] + _PENALTY * size * np.eye(size))
                coef = inverse @ aims[fit][index]
                left = left - (coef * (2 * aims[test][index] - moments[test] @ coef)).sum(axis=1)
            found[part] = 1 - left / np.where(total > 0, total, 1)
    return found


@dataclass(frozen=True)
class OffSupport:
    """The largest share of swapped rows that are off support."""

    share: float | None = None
    beside: ColumnSet = ()


@dataclass(frozen=True, eq=False)
class Support:
    """The rows of a score as points, (n, p): normal scores of ranks; levels and missing values are apart.

    Points are in the order of the hashes, which has large weights first; `mixed`, (n,), are row indices in random
    order.
    """

    points: Floats
    mixed: Ints
    _neighbours: dict[tuple[ColumnSet, ColumnSet], tuple[KDTree, float, Ints]] = field(
        default_factory=dict, repr=False
    )

    @classmethod
    def of(cls, columns: Sequence[Ranks | Ints]) -> Support:
        """Return the points of columns: ranks of those with an order, codes of levels of the others."""
        points = np.column_stack([_coordinates(column) for column in columns])
        return cls(points, np.random.default_rng(0).permutation(len(points)))

    def off_support(
        self,
        own: ColumnSet,
        sets: Sequence[ColumnSet] | None,
        partner: Ints,
        weights: Floats | None,
    ) -> OffSupport:
        """Return the largest share of rows that are off support after they got their partners' values of some columns.

        Distances are measured in `own` and each of the `sets` of other columns in turn (`dependent_sets`). `partner` is
        the other row of each row's pair, (n,), -1 without one; `weights` are those of the rows, (n,).
        """
        own = tuple(sorted(own))  # as in the sets, whose columns are in order
        rows = self.mixed[partner[self.mixed] >= 0]
        values = self.points[:, own]
        rows = rows[(values[rows] != values[partner[rows]]).any(axis=1)][:SWAPPED]
        if sets is None or len(rows) < _FEWEST_ROWS:
            return OffSupport()
        weight = np.ones(len(rows)) if weights is None else weights[rows]
        largest, beside = 0.0, ColumnSet()
        for others in sets:
            columns = tuple(sorted(own + others))
            tree, limit, reference = self._nearest(columns, own)
            new = self.points[rows[:, None], columns]
            new[:, np.isin(columns, own)] = values[partner[rows]]
            distance, neighbour = tree.query(new, k=2, distance_upper_bound=limit)
            found = np.append(reference, -1)[neighbour]  # -1: none within the limit
            far = ~(np.isfinite(distance) & (found != rows[:, None])).any(axis=1)
            share = float(weight[far].sum() / weight.sum())
            if share > largest:
                largest, beside = share, others
        return OffSupport(largest, beside)

    def _nearest(self, columns: ColumnSet, own: ColumnSet) -> tuple[KDTree, float, Ints]:
        """Return rows in some columns, a distance just above that to nearly every one's neighbour, and their indices.

        Rows without a value of the feature are left out, because they are not swapped.
        """
        from scipy.spatial import KDTree

        missing = (self.points[:, own] == _MISSING).any(axis=1)
        key = columns, own if missing.any() else ()
        if key not in self._neighbours:
            chosen = self.mixed[~missing[self.mixed]][:REFERENCE]
            rows = self.points[chosen[:, None], columns]
            tree = KDTree(rows)
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
