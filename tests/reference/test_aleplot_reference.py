"""Tests of the reference implementation of Apley & Zhu's ALE against closed forms and sums computed by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tests.long.figures import LONG, usually
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

ORDER, OTHER = [2.0, 0.0, 1.0], [10.0, 30.0, 20.0, 0.0]


def mixed(seed=0, n=60):
    """Return correlated rows: two numbers, a category of 3 levels, one of 4, and whole weights."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, 5))
    X[:, 0] = rng.normal(size=n)
    X[:, 1] = np.round(X[:, 0] + rng.normal(size=n), 1)
    X[:, 2] = np.arange(n) % 3
    X[:, 3] = 10.0 * rng.permutation(np.arange(n) % 4)
    X[:, 4] = X[:, 1] + rng.normal(size=n)
    return X, rng.integers(1, 4, size=n)


def tangled(X):
    """Return a function without structure: every pair of features interacts."""
    return np.sin(X @ [1.0, 2.0, 3.0, 0.1, -1.0]) * (1 + X[:, 0] * X[:, 2] + X[:, 3] * X[:, 1])


def additive(X):
    return np.exp(X[:, 0]) + X[:, 1] ** 2 + (X[:, 2] == 0) - 0.1 * X[:, 3] ** 2 + np.cos(X[:, 4])


PAIRS = {
    "numbers": lambda f, X, w=None: ale_2d(f, X, 0, 1, 5, 4, w),
    "category and number": lambda f, X, w=None: ale_cat_num(f, X, 2, 1, ORDER, 4, w),
    "categories": lambda f, X, w=None: ale_cat_cat(f, X, 2, 3, ORDER, OTHER, w),
}
every_pair = pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)


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


@pytest.mark.parametrize("n", [7, 49, 100])
def test_ranks_are_whole_numbers(n):
    # ⌈n · (j / n)⌉ in floating point is above j for some j: 100 · 0.07 is 7.000000000000001.
    assert quantile_edges(range(n), n).tolist() == list(range(n))
    assert quantile_edges(range(n), n, [0.1] * n).tolist() == list(range(n))


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


def test_edges_are_numpys_where_shares_are_exact():
    x = np.random.default_rng(0).normal(size=37)
    levels = np.quantile(x, np.arange(9) / 8, method="inverted_cdf")
    assert quantile_edges(x, 8).tolist() == levels.tolist()


def test_cells_are_closed_on_the_right():
    assert cell_of([0, 0.5, 1, 1.5, 3], [0, 1, 3]).tolist() == [0, 0, 0, 1, 1]


def test_what_the_rules_do_not_speak_of_is_refused():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 1.0]])
    for x in (-1, 4, np.nan):
        with pytest.raises(ValueError, match="bins"):
            cell_of([x], [0, 1, 3])
    with pytest.raises(ValueError, match="missing"):
        quantile_edges([1.0, np.nan], 2)
    with pytest.raises(ValueError, match="bins"):
        ale_1d(tangled, X[1:2], 0, 3)
    for order in ([0, 1, 2], [0], [0, 1, 1]):
        with pytest.raises(ValueError, match="each observed level"):
            ale_categorical(additive, X, 1, order)
    with pytest.raises(ValueError, match="two levels"):
        ale_cat_num(additive, X[1:], 1, 0, [1.0], 2)
    for weights in ([1, 1], [1, 1, -1], [0, 0, 0], [1, 1, np.nan]):
        with pytest.raises(ValueError, match="weight"):
            ale_1d(additive, X, 0, 2, weights)


# --------------------------------------------------------------------------------- one feature


def test_number_by_hand():
    # Edges 0, 1, 3; the rows of a bin differ in x1: mean differences 1 · (2 + 4) / 2 and 2 · 5.
    X = np.array([[0.0, 2.0], [1.0, 4.0], [2.0, 3.0], [3.0, 7.0]])
    curve = ale_1d(lambda X: X[:, 0] * X[:, 1], X, 0, 2)
    assert curve.edges.tolist() == [0, 1, 3]
    assert curve.mean.tolist() == [3, 10]
    # 0, 3, 13 less the mean of the mid-values 1.5, 1.5, 8, 8.
    assert curve.value.tolist() == [-4.75, -1.75, 8.25]


def test_number_of_an_additive_model_is_its_own_part():
    X, w = mixed()
    curve = ale_1d(additive, X, 1, 6, w)
    part = curve.edges**2
    centre = np.average((part[1:] + part[:-1]) / 2, weights=curve.count)
    near(curve.value, part - centre)
    assert curve.count.sum() == w.sum()


def test_two_levels_differ_by_the_mean_difference():
    X, w = mixed()
    X[:, 2] = X[:, 2] == 1
    at = [np.column_stack([X[:, :2], np.full(len(X), level), X[:, 3:]]) for level in (0.0, 1.0)]
    difference = np.average(tangled(at[1]) - tangled(at[0]), weights=w)
    share = np.average(X[:, 2], weights=w)
    effect = ale_categorical(tangled, X, 2, [0.0, 1.0], w)
    near(effect.value, [-share * difference, (1 - share) * difference])


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


# --------------------------------------------------------------------------- two features: laws


@every_pair
def test_additive_models_have_no_second_order_effect(pair):
    X, w = mixed()
    near(pair(additive, X, w).value, 0.0, 1e-12 * float(np.abs(additive(X)).max()))
    assert np.abs(pair(tangled, X, w).value).max() > 0.5


@every_pair
def test_weights_are_repetitions_and_zero_is_absent(pair):
    X, w = mixed()
    w[:5] = 0
    weighted, repeated = pair(tangled, X, w), pair(tangled, np.repeat(X, w, axis=0))
    for name in ("points_j", "points_l", "value", "count"):
        near(getattr(weighted, name), getattr(repeated, name))
    near(weighted.value, pair(tangled, X[5:], w[5:] / 7).value)
    assert not np.allclose(weighted.value, pair(tangled, X[5:]).value, atol=1e-3)


@pytest.mark.parametrize(
    "effect",
    [
        lambda *a: ale_1d(tangled, a[0], 1, 5, *a[1:]),
        lambda *a: ale_categorical(tangled, a[0], 3, OTHER, *a[1:]),
    ],
)
def test_weights_are_repetitions_for_one_feature(effect):
    X, w = mixed()
    w[:5] = 0
    near(effect(X, w).value, effect(np.repeat(X, w, axis=0)).value)
    assert not np.allclose(effect(X, w).mean, effect(X[5:]).mean, atol=1e-3)


def test_a_pair_and_its_transpose():
    X, w = mixed()
    near(ale_2d(tangled, X, 1, 0, 4, 5, w).value, ale_2d(tangled, X, 0, 1, 5, 4, w).value.T)
    there = ale_cat_cat(tangled, X, 2, 3, ORDER, OTHER, w).value
    near(ale_cat_cat(tangled, X, 3, 2, OTHER, ORDER, w).value, there.T)


def test_main_effects_and_mean_of_the_result_are_zero():
    # Computed with arrays for each kind, where the reference has one loop for all kinds.
    X, w = mixed()
    e = PAIRS["numbers"](tangled, X, w)
    n, F = e.count, e.value
    rise_j, rise_l = np.diff(F, axis=0), np.diff(F, axis=1)
    near((n * (rise_j[:, 1:] + rise_j[:, :-1])).sum(axis=1), 0.0, 1e-11 * w.sum())
    near((n * (rise_l[1:] + rise_l[:-1])).sum(axis=0), 0.0, 1e-11 * w.sum())
    near((n * (F[1:, 1:] + F[1:, :-1] + F[:-1, 1:] + F[:-1, :-1])).sum(), 0.0, 1e-11 * w.sum())
    e = PAIRS["category and number"](tangled, X, w)
    b, F = e.count, e.value
    rise_j, rise_l = np.diff(F, axis=0), np.diff(F, axis=1)
    near(((b[1:] + b[:-1]) * (rise_j[:, 1:] + rise_j[:, :-1])).sum(axis=1), 0.0, 1e-11 * w.sum())
    near((b * rise_l).sum(axis=0), 0.0, 1e-11 * w.sum())
    near((b * (F[:, 1:] + F[:, :-1])).sum(), 0.0, 1e-11 * w.sum())
    e = PAIRS["categories"](tangled, X, w)
    b, F = e.count, e.value
    near(((b[1:] + b[:-1]) * np.diff(F, axis=0)).sum(axis=1), 0.0, 1e-11 * w.sum())
    near(((b[:, 1:] + b[:, :-1]) * np.diff(F, axis=1)).sum(axis=0), 0.0, 1e-11 * w.sum())
    near((b * F).sum(), 0.0, 1e-11 * w.sum())


def test_two_levels_accumulate_alike_as_category_and_as_number():
    # A binary feature as a number has one bin, in which every row is moved from 0 to 1.
    X, w = mixed()
    X[:, 2], X[:, 3] = X[:, 2] == 1, X[:, 3] > 10
    both = [0.0, 1.0]
    numbers = ale_2d(tangled, X, 2, 1, 3, 4, w).cells.accumulated
    near(ale_cat_num(tangled, X, 2, 1, both, 4, w).cells.accumulated, numbers)
    numbers = ale_2d(tangled, X, 2, 3, 2, 2, w).cells.accumulated
    near(ale_cat_cat(tangled, X, 2, 3, both, both, w).cells.accumulated, numbers)


# ------------------------------------------------------------------- two features: closed forms


def product_rows(first, second):
    """Return all pairs of values."""
    return np.array([[a, b] for a in first for b in second], dtype=float)


def centred(part, count, ends):
    """Return a factor of a product at its points, less its mean over places, where ends are averaged."""
    middle = (part[1:] + part[:-1]) / 2 if ends == 2 else part
    return part - np.average(middle, weights=count)


def test_product_on_a_lattice():
    # Here counts are products, so that the effect of u(x0) v(x1) is (u − ū)(v − v̄).
    X = product_rows([0, 1, 2, 3, 10], [-2, 0, 1, 1.5])
    e = ale_2d(lambda X: X[:, 0] * X[:, 1], X, 0, 1, 5, 2)
    assert e.points_j.tolist() == [0, 1, 2, 3, 10]
    assert e.points_l.tolist() == [-2, 0, 1.5]
    middle = (2 * 0.5 + 1.5 + 2.5 + 6.5) / 5, (2 * -1 + 2 * 0.75) / 4
    near(e.value, np.outer(e.points_j - middle[0], e.points_l - middle[1]))
    e = ale_2d(lambda X: X[:, 0] ** 3 * np.exp(X[:, 1]) + X[:, 0], X, 0, 1, 3, 4)
    u = centred(e.points_j**3, e.count.sum(axis=1), 2)
    v = centred(np.exp(e.points_l), e.count.sum(axis=0), 2)
    near(e.value, np.outer(u, v))


def test_product_of_a_category_and_a_number_on_a_lattice():
    height = np.array([5.0, -1.0, 2.0])
    X = product_rows([0, 1, 1, 2], [0, 1, 2, 4, 5])
    e = ale_cat_num(lambda X: height[X[:, 0].astype(int)] * X[:, 1] ** 2, X, 0, 1, ORDER, 3)
    u = centred(height[[2, 0, 1]], [1, 1, 2], 1)
    v = centred(e.points_l**2, e.count.sum(axis=0), 2)
    near(e.value, np.outer(u, v))


def test_product_of_two_categories_on_a_lattice():
    first, second = np.array([5.0, -1.0, 2.0]), np.array([1.0, 8.0, 0.0])
    X = product_rows([0, 1, 1, 2], [0, 0, 0, 1, 2])
    e = ale_cat_cat(
        lambda X: first[X[:, 0].astype(int)] * second[X[:, 1].astype(int)],
        X,
        0,
        1,
        ORDER,
        [1, 0, 2],
    )
    near(
        e.value,
        np.outer(centred(first[[2, 0, 1]], [1, 1, 2], 1), centred(second[[1, 0, 2]], [1, 3, 1], 1)),
    )


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


def test_units_of_a_number_do_not_matter():
    # Empty cells would have other nearest cells if an axis were not divided by its range.
    X, w = mixed(n=30)
    scaled = X * [1e9, 1.0, 1.0, 1.0, 1.0]
    plain = ale_2d(tangled, X, 0, 1, 8, 8, w)
    other = ale_2d(lambda X: tangled(X / [1e9, 1, 1, 1, 1]), scaled, 0, 1, 8, 8, w)
    assert plain.cells.empty.sum() > 10
    near(other.value, plain.value, 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", usually(range(3), 0))
def test_example_of_the_appendix(seed):
    # ale_vs_pdp 6.5.1, f = x1 x2 x3: ½ (x1 − (a + b)/2) (x2² − μ² − σ²) in the limit.
    rng, (a, b), mu, sigma, n = np.random.default_rng(seed), (0.0, 0.5), 5.0, 1.0, 8000
    x1, x2 = rng.uniform(a, b, n), rng.normal(mu, sigma, n)
    X = np.column_stack([x1, x2, rng.normal(x2, x1)])
    e = ale_2d(lambda X: X.prod(axis=1), X, 0, 1, 20, 20)
    limit = np.outer(e.points_j - (a + b) / 2, e.points_l**2 - mu**2 - sigma**2) / 2
    inner = np.s_[:, 1:-1]  # the end bins of a normal feature stay wide for any number of rows
    near(e.value[inner], limit[inner], 0.07)
    near(e.value, limit, 0.2)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k"), [(30, 10), (60, 30), pytest.param(120, 10, marks=LONG)])
def test_example_of_the_appendix_without_chance(n, k):
    # The same derivation for X2 ~ U(4, 6): E[X2²] = 5² + 2²/12 replaces μ² + σ². The rows are at the centres of n × n
    # squares, with X3 = X2 ± X1: the remaining error is of the order of the squares' width, 1/n.
    middle = (np.arange(n) + 0.5) / n
    X = product_rows(0.5 * middle, 4 + 2 * middle)
    X = np.concatenate([np.column_stack([X, X[:, 1] + sign * X[:, 0]]) for sign in (-1, 1)])
    e = ale_2d(lambda X: X.prod(axis=1), X, 0, 1, k, k)
    assert e.value.shape == (k + 1, k + 1)
    near(e.value, np.outer(e.points_j - 0.25, e.points_l**2 - 25 - 1 / 3) / 2, 2.5 / n)


# --------------------------------------------------------------------------------- dependence


def test_pdp_averages_all_rows_at_each_pair():
    X, w = mixed()
    grid_j, grid_l = [-1.0, 0.5, 2.0], [0.0, 3.0]
    surface = pdp_2d(lambda X: X[:, 0] * X[:, 1] ** 2 + X[:, 4], X, 0, 1, grid_j, grid_l, w)
    near(surface.value, np.outer(grid_j, [0.0, 9.0]) + np.average(X[:, 4], weights=w))
    repeated = pdp_2d(tangled, np.repeat(X, w, axis=0), 0, 1, grid_j, grid_l)
    near(pdp_2d(tangled, X, 0, 1, grid_j, grid_l, w).value, repeated.value)


def test_the_callers_array_is_left_alone():
    X, w = mixed()
    before = X.copy()
    for pair in PAIRS.values():
        pair(tangled, X, w)
    pdp_2d(tangled, X, 0, 1, [0.0], [0.0], w)
    ale_1d(tangled, X, 0, 4)
    ale_categorical(tangled, X, 2, ORDER)
    assert np.array_equal(X, before)


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
    with pytest.raises(ValueError, match="missing"):
        similarity_order([[np.nan] * 6], codes, [1, 2, 3], [True])
