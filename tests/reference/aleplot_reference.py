"""Apley & Zhu's ALE implemented from its rules alone, for one feature, pairs and categories: slow and simple.

This file does not use the library. It computes what the R package ALEPlot computes: second-order effects of pairs
(ale_vs_pdp, Eq. 6.4 to 6.7) and effects of categories, whose rows are moved to the adjacent levels. Where the rules
leave a choice, it is made here and described in a docstring:

- Weights are frequencies. A row of weight 0 is absent: it does not even change an edge.
- `X` is an array of floats with one column per feature; the column of a category holds its codes. A model `f` takes
  such an array, (rows, features), and returns one number per row.
- Bins, levels and jumps are counted from 0. Jump k leads from level k to level k + 1 of the order.
"""

# ruff: noqa: E741 — j and l are the two features of ale_vs_pdp.txt, section 6.2.

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np

Array = np.ndarray
Model = Callable[[Array], Array]
Numbers = Sequence[float] | Array
Weights = Sequence[float] | Array | None

EQUIDISTANT = 1e-9  # relative: distances that differ by less are the same distance


class Curve(NamedTuple):
    """ALE of a number: edges (K + 1,), the centred values at them, and the mean difference and weight of each bin."""

    edges: Array
    value: Array
    mean: Array
    count: Array


class Steps(NamedTuple):
    """ALE of a category: centred value and weight per level (L,), mean difference per jump (L - 1,)."""

    levels: Array
    value: Array
    mean: Array
    count: Array


class Cells(NamedTuple):
    """Double differences on the steps (bins or jumps) of two features, (Sj, Sl), and their sums.

    `weight` and `mean` are those of the double differences in a cell; `mean` is NaN where there are none, as marked in
    `empty`. `filled` has the mean of the nearest cells there. `accumulated`, (Sj + 1, Sl + 1), is Eq. 6.4 before main
    effects are subtracted, 0 along its first row and column. In a cell of jumps a row counts more than once: `weight`
    is not the number of rows.
    """

    weight: Array
    mean: Array
    empty: Array
    filled: Array
    accumulated: Array


class Surface(NamedTuple):
    """Second-order ALE of a pair: `value` at each pair of points, centred.

    The points of a number are its K + 1 edges, and its places are its K bins; points and places of a category are both
    its L levels. `count` is the weight of the rows in each pair of places. `main_j` and `main_l` are the accumulated
    main effects, and `constant` the mean, that were subtracted.
    """

    points_j: Array
    points_l: Array
    value: Array
    count: Array
    cells: Cells
    main_j: Array
    main_l: Array
    constant: float


class Similarity(NamedTuple):
    """Levels in the order of their coordinate, with the intermediate results.

    `order` holds level values; `coordinate` and `distances` are in the order of `levels` as given. The order is
    meaningful only if the first of `eigenvalues` (descending) is larger than the second.
    """

    order: list[float]
    coordinate: Array
    distances: Array
    eigenvalues: Array


class Dependence(NamedTuple):
    """PDP of two features: value (Gj, Gl) on the product of two grids."""

    grid_j: Array
    grid_l: Array
    value: Array


class Axis(NamedTuple):
    """One feature of a pair; its points and places are those of `Surface`.

    `place` is that of each row. `ends` are the points of a place: the two edges of a bin, or the level itself. Step s,
    a bin or a jump, leads from point s to s + 1. `partners` are the places whose rows take part in a step: the bin
    itself, or the two levels of the jump. `position` is the coordinate of a step in the search for the nearest cell.
    """

    points: list[float]
    place: list[int]
    ends: list[list[int]]
    partners: list[list[int]]
    position: list[float]


# ------------------------------------------------------------------------------ rows and cells


def present(X: Array, weights: Weights) -> tuple[Array, list[float]]:
    """Return copies of the rows whose weight is above 0, and these weights."""
    X = np.array(X, dtype=float)
    w = [1.0] * len(X) if weights is None else [float(value) for value in weights]
    keep = [i for i in range(len(X)) if w[i] > 0]
    return X[keep], [w[i] for i in keep]


def quantile_edges(x: Numbers, k: int, weights: Weights = None) -> Array:
    """Return the smallest value and R's quantiles of type 1 at 1/k, …, k/k, without duplicates.

    Without weights the j-th is the order statistic ⌈N j / k⌉, in integers. With weights it is the first value whose
    cumulative weight times k reaches j times the total, in fractions, so that no sum is rounded.
    """
    column, w = present(np.reshape(x, (-1, 1)), weights)
    rows = sorted((float(value), Fraction(u)) for value, u in zip(column[:, 0], w, strict=True))
    total = sum(u for _, u in rows)
    edges = [rows[0][0]]
    for j in range(1, k + 1):
        if weights is None:
            edges.append(rows[-(-len(rows) * j // k) - 1][0])
            continue
        reached = Fraction(0)
        for value, u in rows:
            reached += u
            if reached * k >= j * total:
                edges.append(value)
                break
    return np.array(sorted(set(edges)))


def cell_of(x: Numbers, edges: Numbers) -> Array:
    """Return each value's bin: bin k is (z_k, z_{k+1}], and z_0 belongs to bin 0."""
    cells = []
    for value in x:
        hits = [k for k, (low, high) in enumerate(pairwise(edges)) if low < value <= high]
        if value == edges[0] and len(edges) > 1:
            hits = [0]
        if len(hits) != 1:
            raise ValueError(f"{value} lies in {len(hits)} of the bins")
        cells.append(hits[0])
    return np.array(cells, dtype=int)


def level_of(codes: Numbers, order: Numbers) -> list[int]:
    """Return each row's index in the order of levels."""
    order = list(order)
    return [order.index(code) for code in codes]


def numeric_axis(x: Array, k: int, weights: Weights) -> Axis:
    """Return an axis of bins between quantiles; a row takes part in its own bin, whose position is centre / range."""
    edges = [float(z) for z in quantile_edges(x, k, weights)]
    bins = range(len(edges) - 1)
    # Relative to the left end, so that an offset costs no digits: only differences matter.
    middle = [(edges[m] - edges[0] + (edges[m + 1] - edges[0])) / 2 for m in bins]
    position = [z / (edges[-1] - edges[0]) for z in middle]
    place = [int(c) for c in cell_of(x, edges)]
    return Axis(edges, place, [[m, m + 1] for m in bins], [[m] for m in bins], position)


def categorical_axis(codes: Array, order: Numbers) -> Axis:
    """Return an axis of levels; a row takes part in up to two jumps; the position of jump k is k / (levels - 1)."""
    levels, jumps = range(len(order)), range(len(order) - 1)
    points = [float(level) for level in order]
    position = [k / len(jumps) for k in jumps]
    place = level_of(codes, order)
    return Axis(points, place, [[p] for p in levels], [[k, k + 1] for k in jumps], position)


def moved(row: Array, changes: dict[int, float]) -> Array:
    """Return a copy of a row with other values in some columns."""
    row = row.copy()
    for column, value in changes.items():
        row[column] = value
    return row


def asked(f: Model, rows: list[Array]) -> list[float]:
    """Return the model's response to each row."""
    return [float(y) for y in np.asarray(f(np.array(rows)), dtype=float).reshape(len(rows))]


def mean_of(pairs: Iterable[tuple[float, float]]) -> float:
    """Return the mean of (weight, value) pairs."""
    pairs = list(pairs)
    return math.fsum(w * v for w, v in pairs) / math.fsum(w for w, _ in pairs)


def summed(increments: Numbers) -> Array:
    """Return 0 and then the sum of the first, the first two, … increments."""
    return np.array([math.fsum(increments[:k]) for k in range(len(increments) + 1)])


# --------------------------------------------------------------------------------- one feature


def ale_1d(f: Model, X: Array, j: int, k: int, weights: Weights = None) -> Curve:
    """Return the ALE of a number: accumulated mean differences of bins, centred by the mid-values of bins."""
    X, w = present(X, weights)
    edges = quantile_edges(X[:, j], k, None if weights is None else w)
    cells = cell_of(X[:, j], edges)
    low = asked(f, [moved(row, {j: edges[c]}) for row, c in zip(X, cells, strict=True)])
    high = asked(f, [moved(row, {j: edges[c + 1]}) for row, c in zip(X, cells, strict=True)])
    mean, count = [], []
    for b in range(len(edges) - 1):
        inside = [i for i in range(len(X)) if cells[i] == b]
        mean.append(mean_of((w[i], high[i] - low[i]) for i in inside))
        count.append(math.fsum(w[i] for i in inside))
    curve = summed(mean)
    centre = mean_of((n, (curve[b] + curve[b + 1]) / 2) for b, n in enumerate(count))
    return Curve(edges, curve - centre, np.array(mean), np.array(count))


def ale_categorical(f: Model, X: Array, j: int, order: Numbers, weights: Weights = None) -> Steps:
    """Return the ALE of a category with its levels in the given order.

    The difference between levels k and k + 1 is the mean over the rows of both: those of k are moved up, those of k + 1
    down. The values are centred by the levels' frequency.
    """
    X, w = present(X, weights)
    place = level_of(X[:, j], order)
    mean = []
    for k in range(len(order) - 1):
        pooled = [i for i in range(len(X)) if place[i] in (k, k + 1)]
        low = asked(f, [moved(X[i], {j: order[k]}) for i in pooled])
        high = asked(f, [moved(X[i], {j: order[k + 1]}) for i in pooled])
        mean.append(mean_of((w[i], high[n] - low[n]) for n, i in enumerate(pooled)))
    count = [
        math.fsum(w[i] for i in range(len(X)) if place[i] == level) for level in range(len(order))
    ]
    curve = summed(mean)
    centre = mean_of(zip(count, curve, strict=True))
    return Steps(np.array(order, dtype=float), curve - centre, np.array(mean), np.array(count))


# --------------------------------------------------------------------------------- two features


def double_differences(
    f: Model, X: Array, w: list[float], columns: tuple[int, int], axes: tuple[Axis, Axis]
) -> Cells:
    """Return the means of Eq. 6.5 in all cells of steps, with empty cells filled, and Eq. 6.4."""
    (j, l), (first, second) = columns, axes
    shape = len(first.position), len(second.position)
    weight, mean = np.zeros(shape), np.full(shape, np.nan)
    for a, b in np.ndindex(*shape):
        part = [
            i
            for i in range(len(X))
            if first.place[i] in first.partners[a] and second.place[i] in second.partners[b]
        ]
        if not part:
            continue
        y = {}
        for p, q in ((a, b), (a, b + 1), (a + 1, b), (a + 1, b + 1)):
            corner = {j: first.points[p], l: second.points[q]}
            y[p - a, q - b] = asked(f, [moved(X[i], corner) for i in part])
        rise = [(y[1, 1][n] - y[0, 1][n]) - (y[1, 0][n] - y[0, 0][n]) for n in range(len(part))]
        weight[a, b] = math.fsum(w[i] for i in part)
        mean[a, b] = mean_of((w[i], rise[n]) for n, i in enumerate(part))
    filled = nearest_filled(mean, first.position, second.position)
    accumulated = np.zeros((shape[0] + 1, shape[1] + 1))
    for a, b in np.ndindex(*accumulated.shape):
        accumulated[a, b] = math.fsum(filled[p, q] for p in range(a) for q in range(b))
    return Cells(weight, mean, np.isnan(mean), filled, accumulated)


def nearest_filled(mean: Array, first: Numbers, second: Numbers) -> Array:
    """Return cell means with each NaN replaced by the unweighted mean of the nearest other cells."""
    filled = mean.copy()
    known = [cell for cell in np.ndindex(*mean.shape) if not np.isnan(mean[cell])]
    for a, b in np.ndindex(*mean.shape):
        if not np.isnan(mean[a, b]):
            continue
        distance = {
            (p, q): math.hypot(first[p] - first[a], second[q] - second[b]) for p, q in known
        }
        limit = min(distance.values()) * (1 + EQUIDISTANT)
        nearest = [float(mean[cell]) for cell in known if distance[cell] <= limit]
        filled[a, b] = math.fsum(nearest) / len(nearest)
    return filled


def main_effect(F: Array, count: Array, own: Axis, other: Axis) -> Array:
    """Return the accumulated main effect of the axis that comes first in F and count (Eq. 6.6).

    The difference over a step is taken at each place of the other axis, averaged over the ends of the place, and
    weighted by the rows that take part in the step: those of a bin, or of the two levels of a jump, which is the weight
    (b_k + b_{k+1}) / 2 up to a factor.
    """
    increments = []
    for s, partners in enumerate(own.partners):
        pairs = []
        for m, ends in enumerate(other.ends):
            rise = math.fsum(F[s + 1, q] - F[s, q] for q in ends) / len(ends)
            pairs.extend((count[p, m], rise) for p in partners)
        increments.append(mean_of(pairs))
    return summed(increments)


def second_order(
    f: Model, X: Array, w: list[float], columns: tuple[int, int], axes: tuple[Axis, Axis]
) -> Surface:
    """Return Eq. 6.4, less both main effects (6.6), less the mean over the rows (6.7)."""
    first, second = axes
    cells = double_differences(f, X, w, columns, axes)
    F = cells.accumulated
    count = np.zeros((len(first.ends), len(second.ends)))
    for i in range(len(X)):
        count[first.place[i], second.place[i]] += w[i]
    main_j = main_effect(F, count, first, second)
    main_l = main_effect(F.T, count.T, second, first)
    G = np.empty(F.shape)
    for a, b in np.ndindex(*F.shape):
        G[a, b] = F[a, b] - main_j[a] - main_l[b]
    constant = mean_of(
        (count[p, m], mean_of((1.0, G[a, b]) for a in first.ends[p] for b in second.ends[m]))
        for p, m in np.ndindex(*count.shape)
    )
    points = np.array(first.points), np.array(second.points)
    return Surface(*points, G - constant, count, cells, main_j, main_l, constant)


def ale_2d(
    f: Model, X: Array, j: int, l: int, kj: int, kl: int, weights: Weights = None
) -> Surface:
    """Return the second-order ALE of two numbers, with at most kj and kl bins: (Kj + 1, Kl + 1).

    As in ALEPlot, the increments of a main effect average the two edges of a cell on the other axis, and the constant
    averages the four corners, both weighted by cell counts.
    """
    X, w = present(X, weights)
    given = None if weights is None else w
    axes = numeric_axis(X[:, j], kj, given), numeric_axis(X[:, l], kl, given)
    return second_order(f, X, w, (j, l), axes)


def ale_cat_num(
    f: Model, X: Array, j: int, l: int, order: Numbers, kl: int, weights: Weights = None
) -> Surface:
    """Return the second-order ALE of a category j and a number l of at most kl bins: (L, K + 1).

    A row at level p in bin m takes part in the cells (p - 1, m) and (p, m) of jumps and bins. Main effects: for l, the
    differences at each level are weighted by level × bin counts b; for j, those of jump k are weighted by (b_k +
    b_{k+1}) / 2, averaged over both edges of a bin. The constant averages the two edges of a bin, weighted by level ×
    bin counts.
    """
    X, w = present(X, weights)
    second = numeric_axis(X[:, l], kl, None if weights is None else w)
    return second_order(f, X, w, (j, l), (categorical_axis(X[:, j], order), second))


def ale_cat_cat(
    f: Model, X: Array, j: int, l: int, order_j: Numbers, order_l: Numbers, weights: Weights = None
) -> Surface:
    """Return the second-order ALE of two categories: (Lj, Ll).

    A row at levels (p, r) takes part in the up to four cells of jumps that touch (p, r). The increment of a main effect
    at jump k weights each level r of the other feature by (b[k, r] + b[k + 1, r]) / 2; the constant weights each pair
    of levels by its count.
    """
    X, w = present(X, weights)
    axes = categorical_axis(X[:, j], order_j), categorical_axis(X[:, l], order_l)
    return second_order(f, X, w, (j, l), axes)


def pdp_2d(
    f: Model, X: Array, j: int, l: int, grid_j: Numbers, grid_l: Numbers, weights: Weights = None
) -> Dependence:
    """Return the mean prediction over all rows with both features set to each pair of values."""
    X, w = present(X, weights)
    value = np.empty((len(grid_j), len(grid_l)))
    for a, b in np.ndindex(*value.shape):
        answers = asked(f, [moved(row, {j: grid_j[a], l: grid_l[b]}) for row in X])
        value[a, b] = mean_of(zip(w, answers, strict=True))
    return Dependence(np.array(grid_j, dtype=float), np.array(grid_l, dtype=float), value)


# --------------------------------------------------------------------------- similarity of levels


def similarity_order(
    columns: Sequence[Numbers], codes: Numbers, levels: Numbers, numeric_flags: Sequence[bool]
) -> Similarity:
    """Return the levels in the order of Apley & Zhu, which places similar levels next to each other.

    `columns` are the other features, numbers or codes according to `numeric_flags`; `codes` is the feature's own
    column, whose values are `levels`. The sign of coordinates is arbitrary: it is chosen so that the coordinate of the
    first of `levels` is not positive. Levels whose coordinates differ by at most 1e-9 of the largest keep their own
    order.
    """
    place = level_of(codes, levels)
    L = len(levels)
    distances = np.zeros((L, L))
    for column, numeric in zip(columns, numeric_flags, strict=True):
        parts = [
            [v for v, p in zip(column, place, strict=True) if p == level] for level in range(L)
        ]
        for a in range(L):
            for b in range(L):
                apart = ecdf_distance if numeric else share_distance
                distances[a, b] += apart(parts[a], parts[b], column)
    coordinate, eigenvalues = classical_scaling(distances)
    if coordinate[0] > 0:
        coordinate = -coordinate
    order = [float(levels[p]) for p in sorted_with_ties(coordinate)]
    return Similarity(order, coordinate, distances, eigenvalues)


def ecdf_distance(a: Numbers, b: Numbers, everyone: Numbers) -> float:
    """Return the largest difference of two empirical distributions at 100 type-7 quantiles."""
    gaps = []
    for q in np.quantile(np.asarray(everyone, dtype=float), np.linspace(0, 1, 100)):
        below_a = sum(1 for value in a if value <= q)
        below_b = sum(1 for value in b if value <= q)
        gaps.append(abs(Fraction(below_a, len(a)) - Fraction(below_b, len(b))))
    return float(max(gaps))


def share_distance(a: Numbers, b: Numbers, everyone: Numbers) -> float:
    """Return half the sum of the absolute differences between two samples' fractions of each category."""
    a, b = list(a), list(b)
    gaps = [
        abs(Fraction(a.count(code), len(a)) - Fraction(b.count(code), len(b)))
        for code in sorted(set(everyone))
    ]
    return float(sum(gaps) / 2)


def classical_scaling(distances: Array) -> tuple[Array, Array]:
    """Return one coordinate per level (R's cmdscale, k = 1), and all eigenvalues, descending."""
    L = len(distances)
    J = np.eye(L) - np.ones((L, L)) / L
    B = -0.5 * J @ (distances**2) @ J
    values, vectors = np.linalg.eigh((B + B.T) / 2)
    return vectors[:, -1] * math.sqrt(max(values[-1], 0.0)), values[::-1]


def sorted_with_ties(coordinate: Array) -> list[int]:
    """Return indices sorted by coordinate; those that differ by at most 1e-9 of the largest keep their own order."""
    limit = EQUIDISTANT * float(np.max(np.abs(coordinate)))
    groups: list[list[int]] = []
    for p in sorted(range(len(coordinate)), key=lambda p: coordinate[p]):
        if groups and coordinate[p] - coordinate[groups[-1][-1]] <= limit:
            groups[-1].append(p)
        else:
            groups.append([p])
    return [p for group in groups for p in sorted(group)]
