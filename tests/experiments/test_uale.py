"""What the verdicts on UALE are based on: closed forms against brute force, and errors with a known truth."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from experiments.losses import Dense
from experiments.uale import bin_search, correlated, figure_1, fixed, formulas
from experiments.uale.formulas import QUANTITY


@pytest.mark.parametrize("feature", [0, 1])
@pytest.mark.parametrize(("a1", "a2"), [(1.0, 1.0), (2.0, 0.5)])
def test_the_pdp_in_closed_form_is_the_mean_of_the_function(a1, a2, feature):
    case = correlated.example(a1, a2)
    x, other = np.linspace(0, 1, 21), (np.arange(20_000) + 0.5) / 20_000
    means = []
    for value in x:
        columns = [other, other, np.zeros(len(other))]
        columns[feature] = np.full(len(other), value)
        means.append(case.f(np.stack(columns, axis=1)).mean())
    brute = np.array(means) - means[0]
    np.testing.assert_allclose(correlated.pdp(case, feature, x), brute, atol=2e-4)


def test_the_printed_truth_of_case_b_is_not_what_slopes_add_up_to():
    case, at = correlated.example(2.0, 0.5), np.array([0.1, 0.3, 0.9])
    np.testing.assert_allclose(correlated.literal(case, 0, at), [0.2, -0.6, 0.0])
    np.testing.assert_allclose(case.true_effect(0, at), [0.2, 0.2, 0.0])
    np.testing.assert_allclose(correlated.slopes(case, 0, at), [2.0, -2.0, 0.0])


def test_the_table_of_eq14_finds_the_least_of_all_partitions():
    rng = np.random.default_rng(0)
    binned = bin_search.Binned(rng.uniform(size=120), rng.normal(size=120))
    for cost in (binned.eq13, binned.variance):
        least = min(bin_search.total(cost, p) for p in bin_search.partitions())
        found, edges = bin_search.table(cost)
        assert found == pytest.approx(least)
        assert bin_search.total(cost, edges) == pytest.approx(least)
    assert len(bin_search.partitions()) == 2 ** (bin_search.CELLS - 1)
    assert bin_search.table(binned.literal) == (np.inf, ())


def test_the_cost_of_a_bin_is_eq13():
    d = np.array([1.0, 3.0, 5.0, 2.0, 2.0, 4.0, 4.0, 0.0, 8.0, 6.0])
    x = np.linspace(0, 1, 10)
    binned = bin_search.Binned(x, d)
    own = d[:5]  # x below 4.5 / 9: the first four of eight cells
    assert binned.eq13(0, 4) == pytest.approx((1 - 0.2 * 5 / 10) * own.var(ddof=1) * 0.5)
    assert binned.eq13(0, 1) == np.inf
    assert binned.eq13(3, 3) == 0.0


def test_errors_over_the_axis_follow_a_slope_that_changes():
    edges = np.linspace(0, 1, 101)
    middle = (edges[:-1] + edges[1:]) / 2
    truth = Dense(edges, 6 * middle, np.full(100, 0.5))
    x = np.linspace(0, 1, 400)
    noise = np.where(np.arange(400) % 2, 0.5, -0.5)
    e = sd.explain(QUANTITY, np.stack([x, 6 * x + noise], axis=1), 0)
    assert np.all(fixed.integrated(e, truth) < 0.02)
    # One bin of constant slope 3: the mean of |6 x - 3| is 1.5, and the bin's deviation hypot(0.5, 6 / sqrt(12)).
    one = fixed.integrated(e.rebin(sd.Uniform(1)), truth)
    assert one[0] == pytest.approx(1.5, abs=0.02)
    assert one[1] == pytest.approx(np.hypot(0.5, 6 / np.sqrt(12)) - 0.5, abs=0.02)


def test_a_loss_is_compared_by_its_paired_standard_error():
    better = np.zeros((10, 8))
    worse = better.copy()
    worse[:, 0] = 1 + 0.1 * np.arange(10)
    same = better.copy()
    same[:, 0] = np.tile([-1.0, 1.0], 5)
    found = fixed.Compared({fixed.PAPER: better}, {1: worse, 2: same})
    assert found.not_beaten(fixed.PAPER, 0) == [2]


def test_eq9_in_bins_is_what_the_library_accumulates():
    closed = formulas.accumulated()
    rng = np.random.default_rng(1)
    x = rng.uniform(size=40_000)
    X = np.stack([x, x * np.where(rng.uniform(size=len(x)) < 0.5, 1.0, -1.0)], axis=1)
    for k in (1, 5):
        edges = sd.Edges(np.linspace(0, 1, k + 1))
        nine = sd.explain(QUANTITY, X, 0, method=sd.UALE(bins=edges))
        sixteen = sd.explain(QUANTITY, X, 0, method=sd.RHALE(bins=edges))
        assert nine.accumulated_std[-1] == pytest.approx(closed[k][1], rel=0.01)
        assert sixteen.accumulated_std[-1] == pytest.approx(closed[k][2], rel=0.01)


def test_figure_1_explains_the_slopes_of_its_function():
    X, h = figure_1.rows(3, 50), 1e-6
    steps = np.array([[h, 0.0], [0.0, h]])
    f = figure_1.QUANTITY.at
    rises = np.stack([(f(X + s) - f(X - s)) / (2 * h) for s in steps], axis=1)
    e = sd.explain(figure_1.QUANTITY, X, 0, method=sd.DALE(bins=1))
    assert e.bins.effect[0] == pytest.approx(rises[:, 0].mean(), abs=1e-6)
