"""Traps: cases in which other libraries silently return wrong results. Most tests name the library."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

import skedasis as sd
from tests.helpers import (
    ACCUMULATED,
    DEPENDENCE,
    METHODS,
    accumulated,
    every_method,
    linear,
    refused,
    rise,
    same_effect,
    sloped,
    table,
)


def first(X):
    return X[:, 0] * 1.0


# ------------------------------------------------------------------------- types and scales


@pytest.mark.parametrize(
    ("method", "dtype", "bins"),
    [
        ("ale", np.int8, sd.Uniform(7)),
        ("dale", np.int64, sd.Uniform(3)),
        ("rhale", np.int8, sd.Quantile(4)),
        ("uale", np.int64, sd.Edges([0, 2.5, 9.9])),
    ],
)
def test_effector_and_alibi_truncate_bin_limits_of_integers(method, dtype, bins):
    X = np.random.default_rng(0).integers(0, 11, size=(200, 2)).astype(dtype)
    e = sd.explain(first, X, 0, method=METHODS[method](bins=bins))
    np.testing.assert_allclose(e.bins.effect, 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.diff(e.value), np.diff(e.x), rtol=1e-9)
    np.testing.assert_array_equal(e.bins.std, 0.0)
    if isinstance(bins, sd.Uniform):
        np.testing.assert_allclose(e.x, np.linspace(0, 10, bins.k + 1))


@pytest.mark.parametrize("method", DEPENDENCE)
def test_effector_truncates_the_grid_of_integers(method):
    X = np.random.default_rng(0).integers(0, 100, size=(300, 2))
    e = sd.explain(first, X, 0, method=METHODS[method](grid=30))
    assert 20 < len(e.x) <= 30
    assert np.isin(e.x, X[:, 0]).all()
    np.testing.assert_allclose(e.value, e.x, rtol=1e-12)


@sloped
def test_effector_loses_the_differences_of_single_precision(method):
    X = table(300).astype(np.float32)
    e = sd.explain(first, X, 0, method=METHODS[method](bins=sd.Uniform(5)))
    np.testing.assert_allclose(e.rows.effect, 1.0, atol=1e-5)
    np.testing.assert_allclose(e.bins.effect, 1.0, atol=1e-6)


@accumulated
@pytest.mark.parametrize("scale", [1e-9, 2e8])
def test_effector_adds_a_constant_to_the_last_edge(method, scale):
    X = np.abs(table(200)) * scale
    e = sd.explain(lambda X: X[:, 0] / scale, X, 0, method=METHODS[method](bins=sd.Uniform(5)))
    assert e.x[-1] == X[:, 0].max()
    assert e.bins.count.sum() == 200
    np.testing.assert_allclose(e.bins.effect * scale, 1.0, rtol=1e-8)
    assert rise(e) == pytest.approx(np.ptp(X[:, 0]) / scale, rel=1e-8)


@every_method
def test_effector_fails_on_unix_times(method):
    X = table(200)
    X[:, 0] = np.random.default_rng(3).integers(1_600_000_000, 1_700_000_000, 200)
    e = sd.explain(lambda X: (X[:, 0] - 1.65e9) / 1e7, X, 0, method=method)
    assert rise(e) == pytest.approx((e.x[-1] - e.x[0]) / 1e7, rel=1e-6)


# ------------------------------------------------------------------------- slopes and bins


def test_effector_finds_nothing_in_trees():
    X = np.random.default_rng(0).uniform(-1, 1, size=(300, 2))
    forest = RandomForestRegressor(10, random_state=0, n_jobs=1).fit(X, 5 * X[:, 0])
    for model in (forest, forest.predict, lambda X: 1 + forest.predict(X)):
        e = sd.explain(model, X, 0, method=sd.RHALE())
        assert rise(e) == pytest.approx(10, rel=0.05)
        assert "piecewise constant" in e.provenance["local_effects"]
        with refused(sd.UnsupportedError, "DALE", "without derivatives"):
            sd.explain(model, X, 0, method=sd.DALE())


@sloped
@pytest.mark.parametrize("factor", [1e5, 1e12])
def test_effector_lets_a_large_output_outbid_the_least_number_of_rows(method, factor):
    X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))

    def slope(X):
        return np.c_[20 * np.sin(3 * X[:, 0]) + X[:, 1], np.zeros(len(X))]

    chosen = METHODS[method](bins=sd.Optimal(max_bins=40, min_points=20))
    plain = sd.explain(sd.prediction(first, slope=slope), X, 0, method=chosen)
    large = sd.prediction(first, slope=lambda X: factor * slope(X))
    e = sd.explain(large, X, 0, method=chosen)
    np.testing.assert_array_equal(e.x, plain.x)
    assert len(e.bins) > 1
    assert (e.bins.count >= 20).all()


@sloped
@pytest.mark.parametrize("constant", [1e7, -1e7])
def test_effector_loses_the_variance_beside_a_constant_slope(method, constant):
    X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))

    def slope(X):
        return np.c_[np.where(X[:, 0] > 0, 5 * X[:, 1], 0.0), np.zeros(len(X))]

    plain = sd.explain(sd.prediction(first, slope=slope), X, 0, method=method)
    moved = sd.prediction(first, slope=lambda X: slope(X) + np.array([constant, 0]))
    e = sd.explain(moved, X, 0, method=method)
    np.testing.assert_array_equal(e.x, plain.x)
    np.testing.assert_allclose(e.bins.std, plain.bins.std, atol=1e-5)
    np.testing.assert_allclose(e.bins.effect - constant, plain.bins.effect, atol=1e-5)


@accumulated
def test_effector_takes_all_widths_from_the_first_bin(method):
    X = np.random.default_rng(0).uniform(0, 10, size=(400, 2))
    e = sd.explain(
        lambda X: 2 * X[:, 0], X, 0, method=METHODS[method](bins=sd.Edges([0, 0.5, 1, 7, 10]))
    )
    np.testing.assert_allclose(e.bins.effect, 2.0, rtol=1e-8)
    np.testing.assert_allclose(np.diff(e.value), [1, 1, 12, 6], rtol=1e-8)


@accumulated
def test_iml_drops_an_empty_interval_and_shifts_the_rest(method):
    X = np.random.default_rng(0).uniform(0, 4, size=(200, 2))
    X[:, 0] = np.where((X[:, 0] > 1) & (X[:, 0] < 2), X[:, 0] + 1.5, X[:, 0])
    edges = [0, 1, 2, 3, 4]
    e = sd.explain(lambda X: 2 * X[:, 0], X, 0, method=METHODS[method](bins=sd.Edges(edges)))
    np.testing.assert_array_equal(e.x, edges)
    np.testing.assert_array_equal(e.bins.empty, [False, True, False, False])
    assert e.bins.count[1] == 0
    assert np.isnan(e.bins.effect[1])
    np.testing.assert_allclose(e.value - e.value[0], [0, 2, 4, 6, 8], rtol=1e-8)


@accumulated
def test_rows_beyond_the_edges_do_not_count_in_the_end_bins(method):
    X = np.random.default_rng(0).uniform(-3, 3, size=(300, 2))
    model = lambda X: np.where(np.abs(X[:, 0]) <= 1, X[:, 0], 100 * X[:, 0])  # noqa: E731
    e = sd.explain(model, X, 0, method=METHODS[method](bins=sd.Edges([-0.9, 0, 0.9])))
    inside = np.abs(X[:, 0]) <= 0.9
    assert e.bins.count.sum() == inside.sum()
    assert e.provenance["rows_outside"] == 300 - inside.sum()
    np.testing.assert_allclose(e.bins.effect, 1.0, rtol=1e-6)


# ------------------------------------------------------------------------- missing values


@every_method
def test_pyale_puts_missing_values_into_the_last_bin(method):
    X = table(400)
    X[::20, 0] = np.nan  # 5 %
    e = sd.explain(lambda X: 3 * np.nan_to_num(X[:, 0]), X, 0, method=method)
    assert np.isfinite(e.value).all()  # alibi returns only NaN
    assert rise(e) == pytest.approx(3 * (e.x[-1] - e.x[0]), rel=1e-8)
    assert e.missing == 20
    if method in ACCUMULATED:
        assert e.bins.count.sum() == 380


# ------------------------------------------------------------------------- rows and names


@every_method
def test_effector_samples_beyond_ten_thousand_rows(method):
    X = table(12_000, 2)
    X[-1, 1] = 1e6  # one row that changes every mean
    e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=METHODS[method]())
    if method in ACCUMULATED:
        assert e.bins.count.sum() == 12_000
    else:
        np.testing.assert_allclose(e.value, e.x * X[:, 1].mean(), rtol=1e-9)
    assert e.provenance["rows"] == 12_000
    assert e.provenance["exact"] is True


@every_method
def test_pyale_changes_the_data_frame_and_stumbles_over_its_index(method):
    X = pd.DataFrame(table(), columns=["a", "b", "c"], index=np.arange(80) * 3 + 7)
    before = X.copy(deep=True)
    e = sd.explain(lambda X: 3 * X["a"] - X["b"], X, "a", method=method)
    pd.testing.assert_frame_equal(X, before)
    same_effect(e, sd.explain(linear, table(), 0, method=method))


# ------------------------------------------------------------------------- grids and quantiles


@pytest.mark.parametrize("n", [10, 49, 130])
def test_numpy_and_r_move_quantiles_by_rounding(n):
    X = np.arange(1.0, n + 1)[:, None]
    for k in (3, 6, 7, 10, 25, 49):
        e = sd.explain(first, X, 0, method=sd.ALE(bins=sd.Quantile(k)))
        exact = {max(-(-Fraction(n * j, k) // 1), 1) for j in range(k + 1)}
        np.testing.assert_array_equal(e.x, sorted(map(float, exact)))
        assert not e.bins.empty.any()


@every_method
def test_scikit_explain_and_effector_see_one_point_in_a_binary_feature(method):
    X = table(100)
    X[:, 0] = np.arange(100) % 5 == 0
    e = sd.explain(lambda X: 4 * X[:, 0] + X[:, 1], X, 0, method=method)
    np.testing.assert_array_equal(e.x[[0, -1]], [0, 1])
    assert rise(e) == pytest.approx(4, rel=1e-9)


@every_method
@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_scikit_learn_finds_percentiles_too_close(method, scale):
    X = table(500)
    X[:, 0] = np.where(np.arange(500) < 480, 0.0, np.linspace(1, 2, 500)) * scale
    e = sd.explain(lambda X: X[:, 0] / scale, X, 0, method=method)
    assert e.x[0] == 0
    assert e.x[-1] == 2 * scale
    assert rise(e) == pytest.approx(2, rel=1e-8)


# ---------------------------------------------------------------------- averaged quantities


def test_normalised_statistics_inflate_tiny_effects():
    X = table(200)
    es = sd.explain(lambda X: X[:, 0] + 1e-6 * X[:, 1], X, method=sd.ALE())
    ranks = {r.feature: r.importance for r in es.ranking()}
    assert ranks["x1"] == pytest.approx(1e-6 * X[:, 1].std(), rel=0.1)
    assert ranks["x2"] == 0


# ------------------------------------------------------------------------- intervals
