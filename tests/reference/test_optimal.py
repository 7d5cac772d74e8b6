"""Automatic bins against exhaustive search: `Optimal`, `Greedy`, `AutoUniform`."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import strategies as st

import skedasis as sd
from tests.laws.strategies import law
from tests.reference.exhaustive_partitions import (
    DIFFERENCES,
    SLOPES,
    Table,
    auto_uniform,
    greedy,
    inside,
)
from tests.reference.likelihood_partitions import slopes_as_given

ALPHAS = [0.0, 0.2, 0.5, 1.0]


@st.composite
def slopes(draw, weights=("none", "whole", "fractional"), rows=(2, 40)):
    """Draw positions, slopes and weights: smooth, stepwise, piecewise constant, or noise."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(*rows))
    x = rng.uniform(-1, 3, size=n) if draw(st.booleans()) else rng.integers(0, 9, size=n) / 1.0
    shape = draw(st.sampled_from(["wave", "steps", "pieces", "noise"]))
    d = {
        "wave": np.sin(2 * x) + 0.1 * rng.normal(size=n),
        "steps": np.floor(x) + 0.01 * rng.normal(size=n),
        "pieces": np.where(x < 1, 2.0, -1.0),
        "noise": rng.normal(size=n) * np.exp(rng.normal(size=n)),
    }[shape]
    weighing = draw(st.sampled_from(weights))
    w = np.ones(n)
    if weighing == "whole":
        w = rng.integers(1, 4, size=n).astype(float)
    elif weighing == "fractional":
        w = rng.uniform(0.1, 2.5, size=n)
    return x, d, w


def multiples(x, k):
    """Return the papers' candidate edges: multiples of (max - min) / k, exact where they are whole numbers."""
    inner = [(x.min() * (k - j) + x.max() * j) / k for j in range(1, k)]
    return np.array([x.min(), *inner, x.max()])


def places(points, edges):
    """Return the indices of edges among the candidates; their rounding may differ by a bit or two."""
    found = np.abs(points[:, None] - edges).argmin(axis=0)
    np.testing.assert_allclose(points[found], edges, rtol=1e-14, atol=1e-14 * np.ptp(points))
    return tuple(int(i) for i in found)


def assert_optimal(table, chosen):
    """Assert that no partition costs less, and that none of equal cost has fewer bins.

    Costs that differ by less than `tie` are equal. The library adds the tie for every bin, so the cost that
    it accepts may exceed the minimum by up to one tie per bin.
    """
    everything = table.all()
    assert chosen in everything
    cost, best = everything[chosen], min(everything.values())
    rounding = 1e-13 * table.size
    assert cost <= best + len(chosen) * table.tie + rounding
    equal = [p for p, c in everything.items() if c < best + table.tie - rounding]
    assert len(chosen) <= min(map(len, equal), default=len(chosen))


@law(
    data=slopes(),
    k=st.integers(1, 9),
    alpha=st.sampled_from(ALPHAS),
    least=st.sampled_from([None, 1, 2, 3.5, 6]),
    ddof=st.sampled_from([0, 1]),
)
def test_optimal_is_the_best_of_all_partitions(data, k, alpha, least, ddof):
    x, d, w = data
    if np.ptp(x) == 0:
        return
    points = multiples(x, k)
    table = Table(x, d, w, points, alpha=alpha, least=least, ddof=ddof)
    scheme = sd.Optimal(max_bins=k, alpha=alpha, min_points=least, criterion="eq13")
    if not table.all():
        with pytest.warns(sd.BinningWarning, match="single bin"):
            e = slopes_as_given(x, d, scheme, weights=w, settings={"ddof": ddof})
        np.testing.assert_array_equal(e.x, [x.min(), x.max()])
        return
    e = slopes_as_given(x, d, scheme, weights=w, settings={"ddof": ddof})
    assert_optimal(table, places(points, e.x))


@law(
    data=slopes(weights=("whole", "fractional"), rows=(4, 40)),
    k=st.integers(1, 8),
    alpha=st.sampled_from(ALPHAS),
    least=st.sampled_from([None, 1, 2]),
    ddof=st.sampled_from([0, 1]),
)
def test_optimal_with_sampling_weights(data, k, alpha, least, ddof):
    """A single row of large weight has no variance and is no bin (sum w - sum w²/sum w replaces n - 1)."""
    x, d, w = data
    w = w * 3
    if np.ptp(x) == 0:
        return
    points = multiples(x, k)
    table = Table(x, d, w, points, alpha=alpha, least=least, ddof=ddof, kind="sampling")
    if not table.all():
        return
    scheme = sd.Optimal(max_bins=k, alpha=alpha, min_points=least)
    settings = {"ddof": ddof}
    e = slopes_as_given(x, d, scheme, weights=w, settings=settings, weight_kind="sampling")
    assert_optimal(table, places(points, e.x))


@law(
    data=slopes(rows=(5, 11)),
    alpha=st.sampled_from(ALPHAS),
    least=st.sampled_from([1, 2]),
)
def test_optimal_between_any_two_data_values(data, alpha, least):
    x, d, w = data
    values = np.unique(x)
    if not 2 <= len(values) <= 11:
        return
    middle = (values[:-1] + values[1:]) / 2
    candidates = np.concatenate([values[:1], middle, values[-1:]])
    e = slopes_as_given(x, d, sd.Optimal(alpha=alpha, min_points=least, grid="data"), weights=w)
    everything = Table(x, d, w, candidates, alpha=alpha, least=least)
    if everything.all():
        # The outer bins may begin at the extreme value, or between it and its neighbor. The library's choice is used.
        points = np.unique(np.concatenate([values[:1], middle, values[-1:], e.cells.edges]))
        np.testing.assert_allclose(points, candidates, rtol=1e-15)
        mine = Table(x, d, w, e.cells.edges, alpha=alpha, least=least)
        assert_optimal(mine, places(e.cells.edges, e.x))


@law(data=slopes(rows=(8, 30)), k=st.integers(2, 8), alpha=st.sampled_from(ALPHAS))
def test_optimal_between_quantiles(data, k, alpha):
    x, d, w = data
    order = np.argsort(x, kind="stable")
    reached = np.cumsum(w[order])
    wanted = [x[order][np.argmax(reached >= reached[-1] * j / k - 1e-9)] for j in range(k + 1)]
    points = np.unique(wanted)
    if len(points) < 2:
        return
    table = Table(x, d, w, points, alpha=alpha, least=2)
    e = slopes_as_given(
        x, d, sd.Optimal(max_bins=k, alpha=alpha, min_points=2, grid="quantile"), weights=w
    )
    np.testing.assert_array_equal(e.cells.edges, points)
    if table.all():
        assert_optimal(table, places(points, e.x))


# ------------------------------------------------------------------------------------------ ties


@pytest.mark.parametrize("scheme", [sd.Optimal, sd.Greedy, sd.AutoUniform])
def test_a_constant_slope_is_one_bin(scheme):
    x = np.random.default_rng(0).uniform(size=203)
    for slope, alpha in itertools.product([0.0, 0.1, -1e-12, 1e12], ALPHAS):
        e = slopes_as_given(x, np.full(203, slope), scheme(max_bins=20, alpha=alpha, min_points=2))
        assert len(e.bins) == 1
        assert abs(e.bins.std[0]) <= 1e-15 * abs(slope)


@pytest.mark.parametrize("alpha", ALPHAS[:-1])
def test_pieces_of_constant_slope_are_as_few_bins(alpha):
    """All partitions that contain the breaks cost exactly zero; the coarsest is chosen."""
    x = (np.arange(120) + 0.5) / 120
    d = np.select([x < 0.25, x < 0.75], [3.0, -1.0], 0.1)
    e = slopes_as_given(x, d, sd.Optimal(max_bins=12, alpha=alpha, min_points=3))
    # Edges are multiples of (max - min) / 12; rows lie on both sides of each break.
    assert len(e.bins) == 3
    np.testing.assert_allclose(e.bins.effect, [3.0, -1.0, 0.1], rtol=1e-14)


@pytest.mark.parametrize(("local", "below"), [("slopes", 1e-10), ("differences", 1e-7)])
def test_costs_below_the_tie_are_no_reason_for_more_bins(local, below):
    """Slopes whose variation is below their possible rounding error are below the tie; a step of 1e-4 is above it."""
    X = np.random.default_rng(0).uniform(size=(200, 2))
    scheme = sd.Optimal(max_bins=20, alpha=0.0, min_points=5)

    def bins(scatter, step):
        def f(X):
            return X[:, 0] * (1 + scatter * X[:, 1]) + step * np.maximum(X[:, 0] - 0.5, 0)

        def slope(X):
            d = 1 + scatter * X[:, 1] + step * (X[:, 0] > 0.5)
            return np.stack([d, scatter * X[:, 0]], axis=1)

        if local == "slopes":
            return sd.explain(
                sd.prediction(f, slope=slope), X, 0, method=sd.RHALE(bins=scheme)
            ).bins
        return sd.explain(f, X, 0, method=sd.ALE(bins=scheme)).bins

    assert len(bins(below, 0.0)) == 1
    assert len(bins(below, 1e-4)) in {2, 3}  # the step lies inside a cell
    assert len(bins(1e-4, 0.0)) > 3  # so much variation justifies further bins


def test_full_discount_makes_one_bin_free():
    """With alpha = 1 a single bin of all rows costs 0 (tau = 0): nothing costs less."""
    rng = np.random.default_rng(1)
    e = slopes_as_given(rng.normal(size=50), rng.normal(size=50), sd.Optimal(alpha=1.0))
    assert len(e.bins) == 1


@pytest.mark.parametrize("scheme", [sd.Optimal, sd.Greedy, sd.AutoUniform])
def test_too_few_rows_for_a_bin_give_one_bin_and_a_warning(scheme):
    x = np.linspace(0, 1, 30)
    with pytest.warns(sd.BinningWarning, match=r"30 rows.*31 rows.*single bin"):
        e = slopes_as_given(x, np.sin(9 * x), scheme(max_bins=8, min_points=31))
    np.testing.assert_array_equal(e.x, [0.0, 1.0])
    assert e.bins.weight == [30.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        e = slopes_as_given(x, np.sin(9 * x), scheme(max_bins=8, min_points=30))
    assert len(e.bins) == 1


def test_one_row_that_is_most_of_the_weight_is_no_obstacle():
    x, d = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), np.array([0.0, 0.0, 1.0, 1.0, 0.0, 0.0])
    w = np.array([1.0, 1.0, 1e6, 1.0, 1.0, 1.0])
    e = slopes_as_given(x, d, sd.Optimal(max_bins=5, min_points=2), weights=w)
    table = Table(x, d, w, multiples(x, 5), alpha=0.2, least=2)
    assert_optimal(table, places(multiples(x, 5), e.x))


# ---------------------------------------------------------------------------------------- greedy


@law(
    data=slopes(rows=(6, 60)),
    k=st.integers(1, 25),
    alpha=st.sampled_from(ALPHAS),
    least=st.sampled_from([None, 1, 2, 4]),
)
def test_greedy_merges_what_lowers_the_criterion_most(data, k, alpha, least):
    x, d, w = data
    if np.ptp(x) == 0:
        return
    points = multiples(x, k)
    table = Table(x, d, w, points, alpha=alpha, least=least)
    if table.cost[0, k] is None:
        return
    want = greedy(table, table.tie)
    e = slopes_as_given(x, d, sd.Greedy(max_bins=k, alpha=alpha, min_points=least), weights=w)
    got = places(points, e.x)
    assert got == want
    assert table.of(got) is not None


# ----------------------------------------------------------------------------------- auto uniform


@law(
    data=slopes(rows=(4, 60)),
    k=st.integers(1, 12),
    alpha=st.sampled_from(ALPHAS),
    least=st.sampled_from([None, 2, 3.5]),
    ddof=st.sampled_from([0, 1]),
)
def test_auto_uniform_is_the_best_number_of_equal_bins(data, k, alpha, least, ddof):
    x, d, w = data
    if np.ptp(x) == 0 or w.sum() < (least or 2):
        return
    want, costs = auto_uniform(x, d, w, k, alpha=alpha, least=least, ddof=ddof)
    scheme = sd.AutoUniform(max_bins=k, alpha=alpha, min_points=least)
    e = slopes_as_given(x, d, scheme, weights=w, settings={"ddof": ddof})
    got = len(e.bins)
    np.testing.assert_allclose(e.x, multiples(x, got), rtol=1e-14, atol=1e-14 * np.ptp(x))
    if got != want:
        # The numbers of bins may differ only if rounding decides a tie.
        tie = SLOPES * np.ptp(x) * np.abs(d).max() + 1e-13 * max(costs.values())
        assert abs(costs[got] - min(costs.values())) <= 1.001 * tie
        assert abs(costs[want] - min(costs.values())) <= 1.001 * tie


# --------------------------------------------------------------------------- differences over cells


@law(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(12, 60),  # more values than cells, because otherwise each value would be a cell
    k=st.integers(1, 9),
    alpha=st.sampled_from(ALPHAS),
    weighted=st.booleans(),
)
def test_bins_of_differences_are_the_best_unions_of_cells(seed, n, k, alpha, weighted):
    """Local effects are differences across the given cells: Eq. 13 is minimized over unions of these cells."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    w = rng.integers(1, 4, size=n).astype(float) if weighted else np.ones(n)
    x = X[:, 0]

    def f(X):
        return np.floor(4 * X[:, 0]) * X[:, 1] + X[:, 0] ** 2

    points = multiples(x, k)
    made = sd.ALE(bins=sd.Optimal(max_bins=k, alpha=alpha, min_points=2))
    e = sd.explain(f, X, 0, method=made, sample_weight=w if weighted else None)
    d = np.empty(n)
    last = len(points) - 2
    for j, (low, high) in enumerate(itertools.pairwise(points)):
        rows = inside(x, low, high, j == 0, j == last)
        ends = [np.stack([np.full(rows.sum(), z), X[rows, 1]], axis=1) for z in (low, high)]
        d[rows] = (f(ends[1]) - f(ends[0])) / (high - low)
    table = Table(x, d, w, points, alpha=alpha, least=2, noise=DIFFERENCES)
    assert_optimal(table, places(points, np.append(e.bins.left, e.bins.right[-1])))
