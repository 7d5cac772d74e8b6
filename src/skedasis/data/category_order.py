"""Order of nominal levels by the similarity of their rows in the other features (Apley & Zhu 2020)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.errors import DataError
from skedasis.stats.grid import Ordered, bucket, locate

STEPS = 99
"""Distributions are compared at the 100 quantiles 0, 1/99, …, 1, as in ALEPlot."""

_TIE = 1e-9
"""Coordinates that differ by less than this, relative to the largest, are equal."""

_MAX_DENSE_LEVELS = 1024
"""A categorical feature with more levels than this is compared level by level, without a table of all pairs."""

_ROUNDING = 4e-16
"""Relative rounding error of each addition of fractional weights (two units in the last place)."""

_Values = TypeVar("_Values", Floats, Ints)


@dataclass(frozen=True, eq=False)
class OtherFeature:
    """Another feature that levels are compared by: its numbers or its codes."""

    x: Floats | None
    codes: Ints | None
    levels: int = 0


def level_distances(
    codes: Ints,
    levels: int,
    others: Iterable[OtherFeature],
    weights: Floats | None,
    *,
    sampling: bool = False,
) -> Floats:
    r"""Return the distances between levels: how differently the other features are distributed in them."""
    if levels < 2:
        return np.zeros((levels, levels))
    fractional = weights is not None and not (weights % 1 == 0).all()
    slack, one = _ROUNDING * len(codes) if fractional else 0.0, np.inf if sampling else 1.0
    # `map` releases each feature before it requests the next; a loop variable would keep it in memory.
    return sum_of_distances(
        map(partial(_distances, codes, levels, weights, slack, one), others), levels, slack
    )


def sum_of_distances(parts: Iterable[Floats], levels: int, slack: float = 0.0) -> Floats:
    """Return the sum of the other features' distances, shape (levels, levels); zero within `slack` for each."""
    from scipy.spatial.distance import squareform

    total, n_parts = np.zeros(levels * (levels - 1) // 2), 0
    for part in parts:
        total += part
        n_parts += 1
    total[total <= slack * n_parts] = 0.0
    return squareform(total)


def similarity_order(distances: Floats) -> Ints:
    r"""Return the order of levels along the line that fits their distances best."""
    levels = len(distances)
    largest = float(distances.max(initial=0.0))
    if levels < 3 or largest == 0:
        return np.arange(levels)
    coordinate = _coordinates(distances / largest)
    tie = _TIE * float(np.abs(coordinate).max())
    off_centre = np.flatnonzero(np.abs(coordinate) > tie)
    if coordinate[off_centre[0]] > 0:
        coordinate = -coordinate
    order = np.argsort(coordinate, kind="stable")
    # Tied coordinates get equal ranks; the stable sort by rank keeps the original order of these levels.
    rank = np.empty(levels, dtype=np.int64)
    rank[order] = np.cumsum(np.diff(coordinate[order], prepend=coordinate[order[0]]) > tie)
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
    if len(value) == 0:
        # LAPACK may find none if many eigenvalues are equal, as for levels that are all at the same distance.
        value, vector = (part[..., -1:] for part in np.linalg.eigh(inner))
    # If any distance is positive, so is the trace of B, and with it the largest eigenvalue.
    return vector[:, 0] * float(value[0]) ** 0.5


def _distances(
    codes: Ints,
    levels: int,
    weights: Floats | None,
    slack: float,
    one: float,
    other: OtherFeature,
) -> Floats:
    """Return the contribution of one other feature to the distances, in SciPy's condensed form."""
    if other.x is not None:
        x, codes, weights = _present(other.x, ~np.isnan(other.x), codes, weights)
        if len(x):
            return _numeric(x, codes, levels, weights, slack, one)
    elif other.codes is not None:
        values, codes, weights = _present(other.codes, other.codes >= 0, codes, weights)
        part = _categorical if other.levels <= _MAX_DENSE_LEVELS else _categorical_sparse
        if len(values):
            return part(values, other.levels, codes, levels, weights)
    else:
        raise DataError(
            "other feature",
            "neither numbers nor codes",
            "numbers or codes",
            "Pass x for a numeric feature, codes and levels for a categorical one",
        )
    return np.zeros(levels * (levels - 1) // 2)


def _present(
    values: _Values, present: Bools, codes: Ints, weights: Floats | None
) -> tuple[_Values, Ints, Floats | None]:
    """Return values, codes and weights of the rows with a value, a level and positive weight; changes `present`."""
    present &= codes >= 0
    if weights is not None:
        present &= weights > 0
    if present.all():
        return values, codes, weights
    return values[present], codes[present], None if weights is None else weights[present]


def _numeric(
    x: Floats, codes: Ints, levels: int, weights: Floats | None, slack: float, one: float
) -> Floats:
    """Return the largest differences of the levels' distribution functions at the column's quantiles."""
    low, high = float(x.min()), float(x.max())
    code = bucket(x, low, high)
    points = _quantile_floors(x, low, high, weights, slack, one, code)
    cell = locate(points, x, low, high, "right", code)
    return numeric_distances(_weight_table(cell, len(points) + 1, codes, levels, weights))


def numeric_distances(table: Floats) -> Floats:
    """Return the distances of levels by a numeric feature, in SciPy's condensed form."""
    # x <= point k holds for the cells 0..k; after the last point every distribution function is 1.
    cumulative = np.cumsum(table, axis=1)
    return _pairwise(cumulative[:, :-1] / cumulative[:, -1:], "chebyshev")


def categorical_distances(table: Floats) -> Floats:
    """Return the distances of levels by another categorical feature, in SciPy's condensed form."""
    return _pairwise(table / (2 * table.sum(axis=1, keepdims=True)), "cityblock")


def filled(table: Floats) -> Floats:
    """Return a table in which levels without weight have the total of all rows."""
    table = table.astype(float)
    table[~table.any(axis=1)] = table.sum(axis=0)
    return table


def _quantile_floors(
    x: Floats,
    low: float,
    high: float,
    weights: Floats | None,
    slack: float,
    one: float,
    code: Ints | None,
) -> Floats:
    """Return the distinct values at or below the column's type 7 quantiles at 0, 1/99, …, 1."""
    steps = np.arange(STEPS + 1)
    if weights is None:
        ranks = steps * (len(x) - 1) // STEPS
        return np.unique(Ordered(x, low, high, code).at(ranks))
    order = np.argsort(x)
    cumulative = np.cumsum(weights[order])
    # The first row whose cumulative weight exceeds h. Both sides are multiplied by 99, which is exact for integer
    # weights, as for repeated rows. Type 7 uses n - 1; if the mean weight is smaller than one row's, it is subtracted.
    last = float(cumulative[-1]) - min(one, float(cumulative[-1]) / len(x))
    target = steps * max(last, 0.0) * (1.0 + slack)
    ranks = np.searchsorted(cumulative * STEPS, target, side="right")
    return np.unique(x[order[np.minimum(ranks, len(order) - 1)]])


def _categorical(
    values: Ints, width: int, codes: Ints, levels: int, weights: Floats | None
) -> Floats:
    """Return half the sums of absolute differences of frequencies, from the table of both features' levels."""
    return categorical_distances(_weight_table(values, width, codes, levels, weights))


def _pairwise(table: Floats, metric: Literal["chebyshev", "cityblock"]) -> Floats:
    """Return the distances of all pairs of rows of a table, in SciPy's condensed form."""
    from scipy.spatial.distance import pdist

    return np.asarray(pdist(table, metric), dtype=float)


def _weight_table(
    cell: Ints, cells: int, codes: Ints, levels: int, weights: Floats | None
) -> Floats:
    """Return the weight of each level in each cell, shape (levels, cells); empty levels get the total of all rows."""
    table = np.bincount(codes * cells + cell, weights, minlength=levels * cells).astype(float)
    return filled(table.reshape(levels, cells))


def _categorical_sparse(
    values: Ints, width: int, codes: Ints, levels: int, weights: Floats | None
) -> Floats:
    """Return the same as `_categorical` from a sparse table, for another feature of many levels."""
    from scipy.sparse import coo_array, csc_array, vstack
    from scipy.spatial.distance import squareform

    w = np.ones(len(values)) if weights is None else weights
    table = coo_array((w, (codes, values)), shape=(levels, width)).tocsc()
    size = np.bincount(codes, weights, minlength=levels)
    row = np.arange(levels)
    if not size.all():
        # One additional row, the total of all rows, is used for all empty levels.
        table = csc_array(vstack([table, csc_array(table.sum(axis=0)[None, :])]))
        row[size == 0] = levels
        size = np.append(size, size.sum())
    frequency = table.data / size[table.indices]
    common = np.zeros((len(size), len(size)))
    ends = table.indptr
    for column in np.flatnonzero(np.diff(ends) > 1):
        entries = slice(ends[column], ends[column + 1])
        level, p = table.indices[entries], frequency[entries]
        common[np.ix_(level, level)] += np.minimum.outer(p, p)
    distance = 1.0 - common[np.ix_(row, row)]
    distance[distance <= _ROUNDING * width] = 0.0
    return squareform(distance, checks=False)
