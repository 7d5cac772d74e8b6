"""Tests of the reference implementation of Apley & Zhu's ALE against closed forms and sums computed by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tests.reference.aleplot_reference import (
    ale_1d,
    ale_2d,
    ale_cat_cat,
    ale_cat_num,
    ale_categorical,
    cell_of,
    classical_scaling,
    nearest_filled,
    pdp_2d,
    quantile_edges,
    similarity_order,
    sorted_with_ties,
)


def near(got, expected, tol=1e-12):
    scale = float(np.max(np.abs(expected), initial=0.0)) or 1.0
    np.testing.assert_allclose(got, expected, rtol=0, atol=tol * scale)


# ------------------------------------------------------------------------------ edges and cells


def test_edges_by_hand():
    assert quantile_edges(range(1, 11), 4).tolist() == [1, 3, 5, 8, 10]
    assert quantile_edges([3, 1, 2], 1).tolist() == [1, 3]
    assert quantile_edges([0, 0, 0, 0, 7], 5).tolist() == [0, 7]
    assert quantile_edges([4, 4], 3).tolist() == [4]
    # The cumulative weight at 2 is exactly half of the total.
    assert quantile_edges([1, 2, 3], 2, [1, 1, 2]).tolist() == [1, 2, 3]
    # A row of weight 0 does not change the first or last edge.
    assert quantile_edges([0, 1, 2, 9], 2, [0, 1, 1, 0]).tolist() == [1, 2]


@pytest.mark.parametrize("k", [1, 2, 3, 6, 7, 40])
def test_edges_are_the_smallest_values_that_reach_a_share(k):
    rng = np.random.default_rng(k)
    x, w = rng.integers(0, 12, size=30).tolist(), rng.integers(0, 5, size=30).tolist()

    def share(z):
        return Fraction(sum(u for v, u in zip(x, w, strict=True) if v <= z), sum(w))

    seen = sorted({v for v, u in zip(x, w, strict=True) if u})
    reached = {min(v for v in seen if share(v) >= Fraction(j, k)) for j in range(1, k + 1)}
    assert quantile_edges(x, k, w).tolist() == sorted({seen[0], *reached})
    assert quantile_edges(np.repeat(x, w), k).tolist() == sorted({seen[0], *reached})


def test_cells_are_closed_on_the_right():
    assert cell_of([0, 0.5, 1, 1.5, 3], [0, 1, 3]).tolist() == [0, 0, 0, 1, 1]


# --------------------------------------------------------------------------------- one feature


def test_number_by_hand():
    # Edges 0, 1, 3; the rows of a bin differ in x1: mean differences 1 · (2 + 4) / 2 and 2 · 5.
    X = np.array([[0.0, 2.0], [1.0, 4.0], [2.0, 3.0], [3.0, 7.0]])
    curve = ale_1d(lambda X: X[:, 0] * X[:, 1], X, 0, 2)
    assert curve.edges.tolist() == [0, 1, 3]
    assert curve.mean.tolist() == [3, 10]
    # 0, 3, 13 less the mean of the mid-values 1.5, 1.5, 8, 8.
    assert curve.value.tolist() == [-4.75, -1.75, 8.25]


def test_three_levels_by_hand():
    # Each step pools the rows of its two levels: (3 − 1) · (2 + 4) / 2 and (9 − 3) · (4 + 6 + 8) / 3.
    rise = {5.0: 1.0, 4.0: 3.0, 6.0: 9.0}
    X = np.array([[5.0, 2.0], [4.0, 4.0], [6.0, 6.0], [6.0, 8.0]])
    effect = ale_categorical(
        lambda X: np.array([rise[code] for code in X[:, 0]]) * X[:, 1], X, 0, [5, 4, 6]
    )
    assert effect.mean.tolist() == [6, 36]
    assert effect.count.tolist() == [1, 1, 2]
    assert effect.value.tolist() == [-22.5, -16.5, 19.5]  # 0, 6, 42 less 90 / 4


# ------------------------------------------------------------------- two features: closed forms


def test_numbers_by_hand():
    # The cells 1 and 9 are known; the other two are equally far from both: 5.
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    e = ale_2d(lambda X: X[:, 0] ** 2 * X[:, 1] ** 2, X, 0, 1, 2, 2)
    assert e.count.tolist() == [[2, 0], [0, 1]]
    assert e.cells.empty.tolist() == [[False, True], [True, False]]
    assert e.cells.filled.tolist() == [[1, 5], [5, 9]]
    assert e.cells.accumulated.tolist() == [[0, 0, 0], [0, 1, 6], [0, 6, 20]]
    assert e.main_j.tolist() == [0, 0.5, 10]
    assert e.main_l.tolist() == [0, 0.5, 10]
    G = np.array([[0, -0.5, -10], [-0.5, 0, -4.5], [-10, -4.5, 0]])
    near(e.value, G + 11 / 12)


def test_cells_of_numbers_are_as_far_apart_as_their_centres():
    # Bins of widths 1, 1, 8, centres 0.5, 1.5, 6 of a range of 10; the other axis steps by 1/2.
    X = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 1.0], [10.0, 2.0]])
    e = ale_2d(lambda X: X[:, 0] ** 2 * X[:, 1], X, 0, 1, 4, 2)
    assert e.cells.empty.tolist() == [[False, False], [False, True], [True, False]]
    assert e.cells.filled.tolist() == [[1, 1], [3, 1], [3, 96]]


def test_category_and_number_by_hand():
    # Jump 0 has no row in bin 1. The cells (0, 0), mean 1, and (1, 1), mean 6, are half a unit away.
    height = np.array([0.0, 1.0, 3.0])
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [2.0, 2.0]])
    e = ale_cat_num(lambda X: height[X[:, 0].astype(int)] * X[:, 1] ** 2, X, 0, 1, [0, 1, 2], 2)
    assert e.count.tolist() == [[1, 0], [1, 0], [0, 2]]
    assert e.cells.weight.tolist() == [[2, 0], [1, 2]]
    assert e.cells.filled.tolist() == [[1, 3.5], [2, 6]]
    assert e.cells.accumulated.tolist() == [[0, 0, 0], [0, 1, 4.5], [0, 3, 12.5]]
    near(e.main_l, [0, 0.5, 10])
    near(e.main_j, [0, 0.5, 25 / 6])
    G = np.array([[0, -0.5, -10], [-0.5, 0, -6], [-25 / 6, -5 / 3, -5 / 3]])
    near(e.value, G + 23 / 24)


def test_categories_by_hand():
    # Double differences are 1 + x2, for the rows at levels 0, 1 and at levels 1, 2.
    X = np.array([[0.0, 0, 0], [1, 1, 1], [2, 1, 2], [2, 1, 4]])
    e = ale_cat_cat(lambda X: X[:, 0] * X[:, 1] * (1 + X[:, 2]), X, 0, 1, [0, 1, 2], [0, 1])
    near(e.cells.mean, [[3 / 2], [10 / 3]])
    near(e.main_j, [0, 3 / 4, 49 / 12])
    near(e.main_l, [0, 67 / 24])
    G = np.array([[0, -67 / 24], [-3 / 4, -49 / 24], [-49 / 12, -49 / 24]])
    near(e.value, G + 49 / 32)


def test_empty_cells_of_categories_take_the_nearest_in_units_of_the_axes():
    # Levels 0 and 1 of x0 occur only with level 0 of x1. One jump of x0 is 1/2, one of x1 is 1/3.
    X = np.array([[0.0, 0, 1], [1, 0, 1], [2, 0, 3], [2, 1, 4], [2, 2, 8], [2, 3, 16]])
    e = ale_cat_cat(lambda X: X[:, 0] * X[:, 1] * X[:, 2], X, 0, 1, [0, 1, 2], [0, 1, 2, 3])
    assert e.cells.empty.tolist() == [[False, True, True], [False, False, False]]
    near(e.cells.filled, [[1, 1, 12], [8 / 3, 6, 12]])


def test_nearest_cells():
    holes = np.array([[1.0, np.nan, 5.0], [np.nan, np.nan, np.nan]])
    # Unweighted distances, and ties: (0, 1) has two; (1, 1) has two; 1e-12 apart is a tie, 1e-6 is not.
    assert nearest_filled(holes, [0, 1], [0, 1, 2]).tolist() == [[1, 3, 5], [1, 3, 5]]
    assert nearest_filled(holes, [0, 1], [0, 1, 2 + 1e-12])[0].tolist() == [1, 3, 5]
    assert nearest_filled(holes, [0, 1], [0, 1, 2 + 1e-6])[0].tolist() == [1, 1, 5]


# --------------------------------------------------------------------------------- dependence


def test_dependence_by_hand():
    X = np.array([[0.0, 0.0, 1.0], [5.0, 5.0, 4.0]])
    f = lambda X: X[:, 0] * X[:, 1] ** 2 + X[:, 2]  # noqa: E731
    surface = pdp_2d(f, X, 0, 1, [-1.0, 2.0], [0.0, 3.0], [1.0, 3.0])
    near(surface.value, np.outer([-1.0, 2.0], [0.0, 9.0]) + 13 / 4)


# --------------------------------------------------------------------------------- similarity


def test_distance_of_numbers_is_that_of_kolmogorov_and_smirnov():
    # For 100 distinct values the 100 quantiles of type 7 are the values themselves.
    rng = np.random.default_rng(1)
    codes = rng.permutation(np.arange(100) % 3).astype(float)
    first, second = rng.normal(size=100) + codes, rng.exponential(size=100)
    d = similarity_order([first, second], codes, [0, 1, 2], [True, True]).distances
    for a in range(3):
        for b in range(3):
            parts = [(x[codes == a], x[codes == b]) for x in (first, second)]
            expected = sum(stats.ks_2samp(*part).statistic for part in parts)
            assert d[a, b] == pytest.approx(expected, abs=1e-12)


def test_distance_at_quantiles_only():
    # For 0, …, 200 they are 200 j / 99: 0, 2.02, …, 68.69, …, 98.99, 101.01, …, 200.
    alone = [100, 101, 68, 69, 0, 1]
    codes = [1 + alone.index(v) if v in alone else 0 for v in range(201)]
    d = similarity_order([list(range(201))], codes, range(7), [True]).distances
    assert d[1, 2] == 0  # between two quantiles (a 101-point grid has one at 100)
    assert d[3, 4] == 1  # 68.69 is between them (a quantile of type 1 is 69)
    assert d[5, 6] == 1  # a quantile counts as reached where it is the value itself
    assert d[0, 5] == 1


def test_distance_of_categories_by_hand():
    # Fractions (1/2, 1/2, 0) and (0, 1/4, 3/4): half of 1/2 + 1/4 + 3/4.
    codes, other = [7, 7, 8, 8, 8, 8], [0, 1, 1, 2, 2, 2]
    found = similarity_order([other], codes, [7, 8], [False])
    near(found.distances, [[0, 0.75], [0.75, 0]])
    near(found.coordinate, [-0.375, 0.375])
    assert found.order == [7, 8]
    both = similarity_order([other, other], codes, [7, 8], [False, False])
    near(both.distances, 2 * found.distances)


def test_points_on_a_line_are_recovered():
    x = np.array([3.0, -1.0, 0.5, 10.0, 4.0])
    coordinate, eigenvalues = classical_scaling(np.abs(x[:, None] - x))
    near(coordinate * np.sign(coordinate[3]), x - x.mean())
    near(eigenvalues, [((x - x.mean()) ** 2).sum(), 0, 0, 0, 0])


@pytest.mark.parametrize("seed", range(3))
def test_a_planted_order_is_found(seed):
    planted = np.random.default_rng(seed).permutation(8).astype(float)
    place = np.repeat(np.arange(8), 40)
    numbers = place + np.tile(np.linspace(-6, 6, 40), 8)
    category = np.floor(numbers / 2)
    found = similarity_order([numbers, category], planted[place], np.sort(planted), [True, False])
    assert found.order in (planted.tolist(), planted[::-1].tolist())
    assert found.coordinate[0] <= 0
    assert found.eigenvalues[0] > 1.5 * found.eigenvalues[1]


def test_levels_that_nothing_tells_apart_keep_their_order():
    codes = [3, 1, 2, 3, 1, 2]
    assert similarity_order([], codes, [2, 3, 1], []).order == [2, 3, 1]
    assert similarity_order([[5] * 6], codes, [2, 3, 1], [True]).order == [2, 3, 1]
    assert similarity_order([[0, 4, 0, 0, 4, 0]], codes, [1, 3, 2], [True]).order == [1, 3, 2]
    assert sorted_with_ties(np.array([1.0, -1.0, 1.0 - 1e-12, -1.0 - 1e-6])) == [3, 1, 0, 2]
