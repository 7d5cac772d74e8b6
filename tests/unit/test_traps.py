"""Traps: cases in which other libraries silently return wrong results. Most tests name the library."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
from sklearn.inspection import partial_dependence

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


@pytest.mark.many
@accumulated
@pytest.mark.parametrize("dtype", [np.int8, np.int64])
@pytest.mark.parametrize(
    "bins", [sd.Uniform(3), sd.Uniform(7), sd.Quantile(4), sd.Edges([0, 2.5, 9.9])]
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
def test_effector_hides_predictions_that_are_nan(method):
    X = table()
    with refused(sd.ModelOutputError, "NaN"):
        sd.explain(lambda X: np.where(X[:, 0] > 0, np.nan, X[:, 0]), X, 0, method=method)


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


def test_a_sample_that_is_kept_is_said_and_means_are_still_of_all_rows():
    X = table(12_000, 2)
    q = sd.prediction(
        lambda X: np.sin(X[:, 0]), slope=lambda X: np.c_[np.cos(X[:, 0]), 0 * X[:, 1]]
    )
    whole = sd.explain(q, X, 0, method=sd.DALE())
    kept = sd.explain(q, X, 0, method=sd.DALE(), keep="10KB")
    np.testing.assert_array_equal(kept.value, whole.value)
    np.testing.assert_array_equal(kept.bins.count, whole.bins.count)
    assert len(kept.rows) < 1000
    assert not kept.rows.exact
    assert kept.provenance["rows_kept"] == len(kept.rows)


@every_method
def test_effector_takes_the_first_of_two_equal_names(method):
    X = pd.DataFrame(table(), columns=["a", "a", "b"])
    with refused(sd.DataError, "more than once"):
        sd.explain(lambda X: X.iloc[:, 0], X, "a", method=method)


@every_method
def test_pyale_changes_the_data_frame_and_stumbles_over_its_index(method):
    X = pd.DataFrame(table(), columns=["a", "b", "c"], index=np.arange(80) * 3 + 7)
    before = X.copy(deep=True)
    e = sd.explain(lambda X: 3 * X["a"] - X["b"], X, "a", method=method)
    pd.testing.assert_frame_equal(X, before)
    same_effect(e, sd.explain(linear, table(), 0, method=method))


@every_method
def test_permuting_libraries_fail_on_read_only_maps(method, tmp_path):
    np.save(tmp_path / "X.npy", table())
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    same_effect(
        sd.explain(linear, X, 0, method=method), sd.explain(linear, table(), 0, method=method)
    )


# ------------------------------------------------------------------------- grids and quantiles


@pytest.mark.slow
def test_float_grids_of_every_size_have_both_ends_and_no_more():
    X = table(100)
    low, high = X[:, 0].min(), X[:, 0].max()
    for k in range(1, 60):  # PyALE: float `arange` fails at 6 and 49
        x = sd.Uniform(k)
        e = sd.explain(first, X, 0, method=sd.DALE(bins=x))
        assert len(e.x) == k + 1
        assert (e.x[0], e.x[-1]) == (low, high)
    for m in range(2, 60):
        pdp = sd.PDP(grid=m, spacing="uniform")
        assert len(sd.explain(first, X, 0, method=pdp).x) == m


@pytest.mark.parametrize("n", [10, 30, 49, 100, 130, 1000])
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


def test_scikit_learn_answers_by_recursion_where_brute_force_was_meant():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    X[:, 1] = 0.95 * X[:, 0] + 0.3 * X[:, 1]
    forest = RandomForestRegressor(10, random_state=0, n_jobs=1).fit(X, X[:, 0] + X[:, 1] ** 2)
    grid = np.linspace(-1.5, 1.5, 12)
    e = sd.explain(forest, X, 0, method=sd.PDP(grid=grid))
    options = {"custom_values": {0: grid}}
    brute = partial_dependence(forest, X, [0], method="brute", **options)["average"][0]
    np.testing.assert_allclose(e.value, brute, rtol=1e-12)
    recursion = partial_dependence(forest, X, [0], method="recursion", **options)["average"][0]
    assert np.abs(recursion - brute).max() > 0.1


def test_scikit_learn_answers_in_log_odds_where_probabilities_were_meant():
    X = table(200)
    clf = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, X[:, 0] > 0)
    grid = np.linspace(-1, 1, 9)
    e = sd.explain(clf, X, 0, method=sd.PDP(grid=grid))
    assert e.about.quantity == "P(y = True)"
    assert (e.value >= 0).all()
    assert (e.value <= 1).all()
    expected = [clf.predict_proba(np.c_[np.full(200, z), X[:, 1:]])[:, 1].mean() for z in grid]
    np.testing.assert_allclose(e.value, expected, rtol=1e-12)
    odds = sd.explain(sd.logit(clf), X, 0, method=sd.PDP(grid=grid))
    assert odds.about.quantity == "logit P(y = True)"
    assert odds.value.min() < 0


def test_normalised_statistics_inflate_tiny_effects():
    X = table(200)
    es = sd.explain(lambda X: X[:, 0] + 1e-6 * X[:, 1], X, method=sd.ALE())
    ranks = {r.feature: r.importance for r in es.ranking()}
    assert ranks["x1"] == pytest.approx(1e-6 * X[:, 1].std(), rel=0.1)
    assert ranks["x2"] == 0


# ------------------------------------------------------------------------- intervals


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("method", "center"),
    [
        ("ale", "start"),
        pytest.param("dale", "mean", marks=pytest.mark.slow),
        pytest.param("rhale", "start", marks=pytest.mark.long),
        pytest.param("ale", "mean", marks=pytest.mark.long),
        pytest.param("dale", "start", marks=pytest.mark.long),
        pytest.param("rhale", "mean", marks=pytest.mark.long),
    ],
)
def test_pyales_intervals_cover_too_little(method, center):
    """PyALE's 95 % intervals covered 56 to 73 %. The error of a point of the curve includes all bins up to it."""
    rng = np.random.default_rng(7)
    edges = np.linspace(0, 1, 6)
    way = METHODS[method](bins=sd.Edges(edges), center=center)
    # q = x0 (1 + 3 x1), and x1 has mean zero: the effect is x0 minus its mean of 1/2.
    truth = edges - (0.5 if center == "mean" else 0.0)
    q = sd.prediction(
        lambda X: X[:, 0] * (1 + 3 * X[:, 1]),
        slope=lambda X: np.c_[1 + 3 * X[:, 1], 3 * X[:, 0]],
    )
    repeats, covered = 300, np.zeros(6)
    for _ in range(repeats):
        X = np.c_[rng.uniform(size=120), rng.normal(size=120)]
        lower, upper = sd.explain(q, X, 0, method=way).interval(0.95)
        slack = 1e-12  # the error at the start is zero
        covered += (lower - slack <= truth) & (truth <= upper + slack)
    # With 300 repeats, three standard errors are 3.8 %.
    assert (covered / repeats >= 0.912).all()
    inner = covered[1:] if center == "start" else covered
    assert (inner / repeats <= 0.99).all()
