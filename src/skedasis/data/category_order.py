"""Order of nominal levels by the similarity of their rows in the other features (Apley & Zhu 2020).

A nominal feature has no order, yet accumulated effects go from one level to the next. Apley & Zhu ("Visualizing the
effects of predictor variables in black box supervised learning models", 2020, and their package ALEPlot) take the
order in which the *other* features change least: levels have distances (`level_distances`), which classical scaling
lays out on a line (`similarity_order`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.errors import DataError, explained
from skedasis.stats.grid import bucket, locate, order_statistics

STEPS = 99
"""Distributions are compared at the quantiles 0, 1/99, …, 1: 100 of them, as ALEPlot does."""


TIE = 1e-9
"""Coordinates as near as this, in units of the largest, are equal."""


_WIDE = 1024
"""A categorical feature with more levels than this is compared level by level, without a table of all pairs."""


_ROUNDING = 4e-16
"""What each addition of fractional weights may be off by, relatively (two units in the last place)."""


_Values = TypeVar("_Values", Floats, Ints)


@dataclass(frozen=True, eq=False)
class Other:
    """One other feature, as the ordering sees it: numbers or codes.

    Parameters
    ----------
    x : ndarray of float, shape (n,), or None
        Values of a numeric feature; NaN is missing.
    codes : ndarray of int, shape (n,), or None
        Of a categorical feature: places 0..levels - 1; rows with -1 are left out. Read only where `x` is None.
    levels : int
        Number of levels of a categorical feature.
    """

    x: Floats | None
    codes: Ints | None
    levels: int = 0


def level_distances(
    codes: Ints, levels: int, others: Iterable[Other], weights: Floats | None
) -> Floats:
    r"""Return how differently the other features are distributed in each pair of levels.

    The distance of two levels is a sum over the other features. A numeric one adds the largest difference of the two
    levels' empirical distribution functions, :math:`\max_q |F_k(q) - F_l(q)|`, over the column's quantiles q at 0,
    1/99, …, 1 (R's type 7); a categorical one adds half the sum of the absolute differences of relative frequencies.
    Each part lies between 0 and 1. In a level without any value of an other feature, that feature counts as distributed
    as in all rows.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Each row's level, 0..levels - 1. Rows with -1 take no part in anything.
    levels : int
        Number of levels, L.
    others : iterable of Other
        The other features, each of n rows. Read one after the other, and none is kept.
    weights : ndarray of float, shape (n,), or None
        Frequencies, not negative: a row of weight 2 counts as two rows. Only whole weights have repetitions; for
        others, the quantile at p is the value at position p · (W - 1) of the cumulated weight, with W the sum of the
        weights of the rows that have a value. Weights that are below 1 on average are no counts: there a typical row's
        weight takes the place of the 1, and equal weights give what no weights do.

    Returns
    -------
    ndarray of float, shape (L, L)
        Symmetric, zero on the diagonal.

    Raises
    ------
    DataError
        Where an other feature has neither numbers nor codes.

    Notes
    -----
    No model rows. Time grows as n for each other feature (n log n with weights), plus 100 · L² for a numeric one and
    L' · L² for a categorical one of L' levels (where L' is above 1,024: plus the pairs of levels that have one of them
    in common). Memory grows as n + L². Fractional weights are added up with rounding, so distances within that
    rounding are zero.

    References
    ----------
    Apley & Zhu (2020), and the package ALEPlot, where this is computed for one factor.

    Examples
    --------
    Of the levels 0, 1 and 2, the first two have the same values of the other feature:

    >>> x = np.array([1.0, 2.0, 1.0, 2.0, 8.0, 9.0])
    >>> codes = np.array([0, 0, 1, 1, 2, 2])
    >>> level_distances(codes, 3, [Other(x, None)], None).tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    from scipy.spatial.distance import squareform

    if levels < 2:
        return np.zeros((levels, levels))
    total = np.zeros(levels * (levels - 1) // 2)
    fractional = weights is not None and not (weights % 1 == 0).all()
    slack = _ROUNDING * len(codes) if fractional else 0.0
    parts = 0
    # `map` lets go of an other feature before it asks for the next; a loop's variable would hold it.
    for part in map(partial(_distances, codes, levels, weights, slack), others):
        total += part
        parts += 1
    total[total <= slack * parts] = 0.0
    return squareform(total)


def similarity_order(distances: Floats) -> Ints:
    r"""Return the order in which levels follow each other on the line that fits their distances best.

    One-dimensional classical scaling (R's ``cmdscale(k = 1)``): of :math:`B = -\frac12 J D^2 J`, with D² the squared
    distances and J the centring matrix, the eigenvector of the largest eigenvalue, times this eigenvalue's root, holds
    the levels' coordinates; levels are sorted by them. Coordinates that differ by less than 1e-9 of the largest keep
    their own order. The direction is free; here level 0 is on the lower side (where it lies in the middle: the first
    level that does not).

    Parameters
    ----------
    distances : ndarray of float, shape (L, L)
        Symmetric, finite, zero on the diagonal; any unit.

    Returns
    -------
    ndarray of int, shape (L,)
        The levels 0..L - 1 in their new order: the own order where there are fewer than three levels or all distances
        are zero. If the largest eigenvalue is multiple, the order is one of those that fit equally well.

    Notes
    -----
    No model rows. One eigenvector: time grows as L³ (0.1 s for 1,000 levels), memory as L².

    References
    ----------
    Apley & Zhu (2020), and their package ALEPlot.

    Examples
    --------
    Four places on a line are found in their order, from the side of the first one:

    >>> place = np.array([2.0, 9.0, 5.0, 1.0])
    >>> similarity_order(np.abs(place[:, None] - place)).tolist()
    [3, 0, 2, 1]
    """
    levels = len(distances)
    largest = float(distances.max(initial=0.0))
    if levels < 3 or largest == 0:
        return np.arange(levels)
    place = _coordinates(distances / largest)
    tie = TIE * float(np.abs(place).max())
    aside = np.flatnonzero(np.abs(place) > tie)
    if place[aside[0]] > 0:
        place = -place
    order = np.argsort(place, kind="stable")
    # Equal places get one rank, by which levels are sorted once more: stably, so that they keep their own order.
    rank = np.empty(levels, dtype=np.int64)
    rank[order] = np.cumsum(np.diff(place[order], prepend=place[order[0]]) > tie)
    return np.argsort(rank, kind="stable")


def _coordinates(distances: Floats) -> Floats:
    """Return each level's coordinate in one-dimensional classical scaling, of either sign."""
    from scipy.linalg import eigh

    inner = distances**2
    inner -= inner.mean(axis=0)
    inner -= inner.mean(axis=1, keepdims=True)
    inner *= -0.5
    last = len(inner) - 1
    value, vector = eigh(inner, subset_by_index=(last, last))
    if (
        len(value) == 0
    ):  # where many are equal, as between levels that are all as far apart, LAPACK may find none
        value, vector = (part[..., -1:] for part in np.linalg.eigh(inner))
    # The trace of B is positive where a distance is, so its largest eigenvalue is too.
    return vector[:, 0] * float(value[0]) ** 0.5


def _distances(
    codes: Ints, levels: int, weights: Floats | None, slack: float, other: Other
) -> Floats:
    """Return what one other feature adds to the distances of levels, as SciPy's condensed form."""
    if other.x is not None:
        x, codes, weights = _present(other.x, ~np.isnan(other.x), codes, weights)
        if len(x):
            return _numeric(x, codes, levels, weights, slack)
    elif other.codes is not None:
        values, codes, weights = _present(other.codes, other.codes >= 0, codes, weights)
        part = _narrow if other.levels <= _WIDE else _wide
        if len(values):
            return part(values, other.levels, codes, levels, weights)
    else:
        raise DataError(
            explained(
                "other feature",
                "neither numbers nor codes",
                "one of them",
                "Pass x for a numeric feature, codes and levels for a categorical one",
            )
        )
    return np.zeros(levels * (levels - 1) // 2)


def _present(
    values: _Values, present: Bools, codes: Ints, weights: Floats | None
) -> tuple[_Values, Ints, Floats | None]:
    """Return values, levels and weights of the rows that have a value, a level and a weight; `present` is used up."""
    present &= codes >= 0
    if weights is not None:
        present &= weights > 0
    if present.all():
        return values, codes, weights
    return values[present], codes[present], None if weights is None else weights[present]


def _numeric(x: Floats, codes: Ints, levels: int, weights: Floats | None, slack: float) -> Floats:
    """Return the largest differences of the levels' distribution functions at the column's quantiles."""
    low, high = float(x.min()), float(x.max())
    code = bucket(x, low, high)
    points = _quantile_floors(x, low, high, weights, slack, code)
    cell = locate(points, x, low, high, "right", code)
    table = _table(cell, len(points) + 1, codes, levels, weights)
    # x <= point k holds for the cells 0..k; behind the last point every function has reached 1.
    reached = np.cumsum(table, axis=1)
    return _pairs(reached[:, :-1] / reached[:, -1:], "chebyshev")


def _quantile_floors(
    x: Floats, low: float, high: float, weights: Floats | None, slack: float, code: Ints | None
) -> Floats:
    """Return the distinct values at or below the column's type 7 quantiles at 0, 1/99, …, 1.

    Type 7 interpolates between the order statistics at floor(h) and floor(h) + 1, h = p (n - 1) from 0. No value lies
    between these two, so each distribution function has at the quantile the value it has at the lower one. That one
    needs no interpolation, and its rank is computed in integers: rounding would drop a row now and then.
    """
    steps = np.arange(STEPS + 1)
    if weights is None:
        ranks = steps * (len(x) - 1) // STEPS
        return np.unique(order_statistics(x, low, high, ranks, code))
    order = np.argsort(x)
    reached = np.cumsum(weights[order])
    # Both sides of "the first row that reaches beyond h" times 99: exact for whole weights, as for repeated rows.
    # A row less, as type 7 counts them; of weights below one, that are no counts, a typical row less.
    last = float(reached[-1]) - min(1.0, float(reached[-1]) / len(x))
    beyond = steps * max(last, 0.0) * (1.0 + slack)
    places = np.searchsorted(reached * STEPS, beyond, side="right")
    return np.unique(x[order[np.minimum(places, len(order) - 1)]])


def _narrow(values: Ints, width: int, codes: Ints, levels: int, weights: Floats | None) -> Floats:
    """Return half the sums of absolute differences of frequencies, from a table of all levels of both features."""
    table = _table(values, width, codes, levels, weights)
    table /= 2 * table.sum(axis=1, keepdims=True)
    return _pairs(table, "cityblock")


def _pairs(table: Floats, metric: Literal["chebyshev", "cityblock"]) -> Floats:
    """Return the distances of all pairs of rows, as SciPy's condensed form."""
    from scipy.spatial.distance import pdist

    return np.asarray(pdist(table, metric), dtype=float)


def _table(cell: Ints, cells: int, codes: Ints, levels: int, weights: Floats | None) -> Floats:
    """Return the weight of each level's rows in each cell, shape (levels, cells); levels without rows get all rows."""
    table = np.bincount(codes * cells + cell, weights, minlength=levels * cells).astype(float)
    table = table.reshape(levels, cells)
    table[~table.any(axis=1)] = table.sum(axis=0)
    return table


def _wide(values: Ints, width: int, codes: Ints, levels: int, weights: Floats | None) -> Floats:
    """Return the same as `_narrow` for a feature of many levels, most of which are absent from most of ours.

    Half the sum of |p - q| is 1 - the sum of min(p, q), to which only levels add that both have. Memory grows as the
    number of pairs of levels that occur, at most n.
    """
    from scipy.sparse import coo_array, csc_array, vstack
    from scipy.spatial.distance import squareform

    w = np.ones(len(values)) if weights is None else weights
    table = coo_array((w, (codes, values)), shape=(levels, width)).tocsc()
    size = np.bincount(codes, weights, minlength=levels)
    row = np.arange(levels)
    if not size.all():
        # One row of all values stands for every level that has none.
        table = csc_array(vstack([table, csc_array(table.sum(axis=0)[None, :])]))
        row[size == 0] = levels
        size = np.append(size, size.sum())
    share = table.data / size[table.indices]
    common = np.zeros((len(size), len(size)))
    ends = table.indptr
    for column in np.flatnonzero(np.diff(ends) > 1):
        here = slice(ends[column], ends[column + 1])
        who, p = table.indices[here], share[here]
        common[np.ix_(who, who)] += np.minimum.outer(p, p)
    distance = 1.0 - common[np.ix_(row, row)]
    distance[distance <= _ROUNDING * width] = 0.0
    return squareform(distance, checks=False)
