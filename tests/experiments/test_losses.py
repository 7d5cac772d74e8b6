"""The losses of section 4.2 against plain loops over a fine grid, and what they omit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import skedasis as sd
from experiments.losses import Dense, Losses, along, table
from skedasis.datasets.simulations import NonLinear

EXAMPLE = NonLinear()
Q = sd.prediction(EXAMPLE.f, slope=EXAMPLE.slope)


def explain(X, bins, feature=0):
    return sd.explain(Q, X, feature, method=sd.DALE(bins=bins))


def truth(K=7, seed=0):
    rng = np.random.default_rng(seed)
    edges = np.concatenate([[0.0], np.sort(rng.uniform(size=K - 1)), [1.0]])
    return Dense(edges, rng.normal(size=K), rng.exponential(size=K))


def test_the_truth_between_two_edges_is_its_mean_over_fine_points():
    dense = truth()
    left, right = np.array([0.0, 0.1, 0.13, 0.5]), np.array([1.0, 0.9, 0.135, 0.75])
    found = dense.between(left, right)
    for k, (a, b) in enumerate(zip(left, right, strict=True)):
        x = a + (np.arange(200_000) + 0.5) / 200_000 * (b - a)
        cell = np.searchsorted(dense.edges, x, side="right") - 1
        mu, sigma2 = dense.effect[cell], dense.std[cell] ** 2
        expected = mu.mean(), np.sqrt(sigma2.mean()), mu.std()
        np.testing.assert_allclose([part[k] for part in found], expected, atol=2e-4)


def test_the_truth_of_a_dense_bin_is_the_bin_itself():
    dense = truth()
    mu, sigma, residual = dense.between(dense.edges[:-1], dense.edges[1:])
    np.testing.assert_allclose(mu, dense.effect)
    np.testing.assert_allclose(sigma, dense.std)
    np.testing.assert_allclose(residual, 0, atol=1e-14)


def test_the_variance_over_a_bin_is_theorem_1():
    # The total variance over [0, 1] of slopes with these means and deviations is sigma² + E².
    dense = truth(40)
    mu, sigma, residual = (part[0] for part in dense.between(np.zeros(1), np.ones(1)))
    widths = np.diff(dense.edges)
    second = np.sum(widths * (dense.effect**2 + dense.std**2))
    assert sigma**2 + residual**2 == pytest.approx(second - mu**2)


def test_dense_bins_of_which_nothing_is_known_take_no_part():
    dense = truth(6)
    holed = Dense(dense.edges, dense.effect.copy(), dense.std.copy())
    holed.effect[2] = holed.std[2] = holed.std[4] = np.nan
    mu, sigma, _ = holed.between(np.zeros(1), np.ones(1))
    widths = np.diff(dense.edges)
    some = np.arange(6) != 2
    assert mu[0] == pytest.approx(np.average(dense.effect[some], weights=widths[some]))
    some[4] = False
    assert sigma[0] ** 2 == pytest.approx(np.average(dense.std[some] ** 2, weights=widths[some]))
    for nothing in holed.between(dense.edges[2:3], dense.edges[3:4]):
        assert np.isnan(nothing[0])


def test_losses_are_plain_means_over_bins_whatever_their_width():
    X = EXAMPLE.sample(300, 1)
    edges = [0.0, 0.02, 0.1, 0.5, 1.0]
    e = explain(X, sd.Edges(edges))
    dense = Dense(np.linspace(0, 1, 1001), np.zeros(1000), np.ones(1000))
    got = Losses.of(e, dense)
    mu, sigma = [], []
    for a, b in pairwise(edges):
        d = EXAMPLE.slope(X)[(X[:, 0] >= a) & (X[:, 0] < b), 0]
        mu.append(abs(d.mean()))
        sigma.append(abs(1 - d.std(ddof=1)))
    assert got.mu == pytest.approx(np.mean(mu))
    assert got.sigma == pytest.approx(np.mean(sigma))
    assert got.rho == 0
    assert (got.bins, got.empty, got.single) == (4, 0, 0)


def test_empty_bins_and_bins_of_one_row_are_left_out_of_all_three_and_counted():
    X = EXAMPLE.sample(60, 2)
    X[:, 0] = np.concatenate([np.linspace(0.0, 0.19, 59), [0.9]])
    edges = [0.0, 0.2, 0.5, 1.0]
    dense = explain(EXAMPLE.sample(50_000, 3), 100)
    got = Losses.of(explain(X, sd.Edges(edges)), Dense.of(dense))
    alone = Losses.of(explain(X, sd.Edges(edges[:2])), Dense.of(dense))
    assert (got.bins, got.empty, got.single) == (3, 1, 1)
    assert (got.mu, got.sigma, got.rho) == (alone.mu, alone.sigma, alone.rho)


def test_without_a_bin_of_two_rows_there_is_no_loss():
    X = EXAMPLE.sample(2, 0)
    X[:, 0] = [0.1, 0.9]
    got = Losses.of(explain(X, 2), truth())
    assert np.isnan([got.mu, got.sigma, got.rho]).all()
    assert (got.empty, got.single) == (0, 2)


def test_the_truth_of_many_rows_is_the_closed_form():
    dense = Dense.of(explain(EXAMPLE.sample(200_000, 4), 200))
    mu, sigma, residual = dense.between(np.array([0.2]), np.array([0.6]))
    # The slope of 4.5 x² is 9 x, so over [0.2, 0.6] it is 3.6 with residual 9 · 0.4 / sqrt(12).
    assert mu[0] == pytest.approx(3.6, abs=0.02)
    assert sigma[0] == pytest.approx(np.sqrt(0.5), abs=0.01)
    assert residual[0] == pytest.approx(3.6 / np.sqrt(12), abs=0.02)


def test_a_table_has_one_row_a_run():
    dense = Dense.of(explain(EXAMPLE.sample(50_000, 5), 100))
    runs = [Losses.of(explain(EXAMPLE.sample(100, seed), 5), dense) for seed in range(3)]
    rows = table(runs)
    assert rows.shape == (3, 6)
    np.testing.assert_array_equal(rows[:, 0], [run.mu for run in runs])
    np.testing.assert_array_equal(rows[:, 3:], [[5, 0, 0]] * 3)


def test_errors_along_the_axis_do_not_depend_on_how_it_is_cut():
    X = EXAMPLE.sample(400, 6)
    dense = Dense.of(explain(EXAMPLE.sample(100_000, 7), 100))
    for bins in (1, 4):
        e = explain(X, bins)
        # The same estimate with more bins: each part of a bin has the bin's values.
        fine = np.linspace(e.x[0], e.x[-1], 20_001)
        x = (fine[:-1] + fine[1:]) / 2
        place = np.clip(np.searchsorted(e.bins.right, x), 0, bins - 1)
        cell = np.searchsorted(dense.edges, x, side="right") - 1
        mu = np.abs(e.bins.effect[place] - dense.effect[cell]).mean()
        sigma = np.abs(e.bins.std[place] - dense.std[cell]).mean()
        np.testing.assert_allclose(along(e, dense), (mu, sigma), rtol=0.02)


def test_errors_along_the_axis_follow_a_bins_line():
    X = EXAMPLE.sample(2000, 8)
    e = sd.explain(Q, X, 0, method=sd.RHALE())
    dense = Dense.of(explain(EXAMPLE.sample(200_000, 9), 100))
    # 9 x in one bin: a constant has a mean error of 9/4, a line nearly none.
    assert len(e.bins) == 1
    assert along(e, dense)[0] < 0.15
    assert along(explain(X, 1), dense)[0] == pytest.approx(9 / 4, rel=0.05)


def test_a_density_says_what_each_dense_bin_counts():
    dense = Dense(np.array([0.0, 0.5, 1.0]), np.array([1.0, 4.0]), np.array([1.0, 1.0]))
    e = explain(EXAMPLE.sample(100, 10), sd.Edges([0.0, 1.0]))
    mean = e.bins.effect[0]
    rows = np.array([3.0, 1.0])
    assert along(e, dense, rows)[0] == pytest.approx((3 * abs(mean - 1) + abs(mean - 4)) / 4)
