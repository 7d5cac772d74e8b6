"""Dependence between features, compared with forests fitted directly and with known properties of the data."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

from skedasis.analysis import dependence as analysis
from skedasis.analysis.dependence import coded, dependence, out_of_bag
from skedasis.data.categories import apply_groups
from skedasis.data.dataset import as_dataset
from tests.helpers import refused

N = 600
RNG = np.random.default_rng(11)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def same_draws():
    """Begin with the same random numbers in each test, whichever tests run before it."""
    RNG.bit_generator.state = START


@pytest.fixture
def few_trees(monkeypatch):
    """Grow a few trees: two forests are compared, or one with itself, whatever their number of trees."""
    monkeypatch.setattr(analysis, "TREES", 15)


def measured(X, y=None, *, weights=None, schema=None, groups=None, keys=None, rows=None, seed=0):
    y = np.zeros(len(X)) if y is None else y
    source = as_dataset(X, y, weights, schema, keys)
    return dependence(
        coded(source, apply_groups(source.features, groups or {}, overlapping=True), rows, seed),
        seed=seed,
    )


def whole_numbers(n=400, d=3, k=30):
    """Return related columns with every whole number below k: their ranks are the numbers themselves."""
    rng = np.random.default_rng(2)
    first = rng.integers(0, k, n)
    others = [np.clip(first + rng.integers(-6, 7, n), 0, k - 1) for _ in range(d - 1)]
    X = np.stack([first, *others], axis=1)
    X[:k] = np.arange(k)[:, None]
    return X.astype(float)


# ---------------------------------------------------------------------- forests fitted directly


@pytest.mark.slow
def test_its_forest_is_that_of_scikit_learn_tree_by_tree():
    X = whole_numbers()
    for y in (X[:, :1], np.stack([X[:, 0], X[:, 0] > 9], axis=1) * 1.0):
        forest = RandomForestRegressor(100, oob_score=True, random_state=3)
        forest.fit(X[:, 1:], y if y.shape[1] > 1 else y[:, 0])
        predicted, gained = out_of_bag(X[:, 1:], y, np.full(len(X), 2.5), 3, 1)
        np.testing.assert_allclose(predicted, forest.oob_prediction_.reshape(y.shape), rtol=1e-12)
        np.testing.assert_allclose(gained, forest.feature_importances_, rtol=1e-12)


@pytest.mark.slow
def test_it_is_the_out_of_bag_score_of_a_forest_run_by_hand():
    X = whole_numbers()
    y = X[:, 1]
    found = measured(X, y, seed=3)
    for j in range(3):
        for extra, got in (([], found.others[j]), ([y], found.with_target[j])):
            inputs = np.column_stack([np.delete(X, j, axis=1), *extra])
            forest = RandomForestRegressor(100, oob_score=True, random_state=3)
            # Equal only approximately: rounding decides between equally good splits.
            assert got == pytest.approx(forest.fit(inputs, X[:, j]).oob_score_, abs=0.003)


@pytest.mark.usefixtures("few_trees")
def test_a_row_in_every_bag_is_left_out():
    X = whole_numbers(n=60)
    weights = np.ones(60)
    weights[0] = 1e6
    predicted, _ = out_of_bag(X[:, 1:], X[:, :1], weights, 0, 1)
    assert np.isnan(predicted[0, 0])
    assert np.isfinite(measured(X, weights=np.r_[50.0, np.ones(59)]).others).all()


@pytest.mark.usefixtures("few_trees")
def test_threads_do_not_matter():
    X = whole_numbers(n=200)
    data = coded(as_dataset(X, X[:, 0]), as_dataset(X).features, None, 0)
    one, two = dependence(data), dependence(data, n_jobs=2)
    np.testing.assert_array_equal(one.others, two.others)
    np.testing.assert_array_equal(one.with_target, two.with_target)


# ------------------------------------------------------------------------------- closed forms


def gaussian(n=1500):
    """Return a Gaussian label and features, and each feature's R² from the others, without and with the label."""
    mix = np.array([[1.0, 0, 0, 0], [0.9, 0.45, 0, 0], [0, 0, 1, 0], [0.3, 0, 0, 0.9]])
    beta, noise = np.array([1.0, 0.0, 2.0, 0.0]), 0.5
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 4)) @ mix.T
    y = X @ beta + noise * rng.normal(size=n)
    cov = mix @ mix.T
    joint = np.block(
        [[cov, (cov @ beta)[:, None]], [beta @ cov, np.array([[beta @ cov @ beta + noise**2]])]]
    )
    r2 = [1 - 1 / (np.diag(c) * np.diag(np.linalg.inv(c))) for c in (cov, joint)]
    return X, y, r2[0], r2[1][:4]


@pytest.mark.slow
def test_gaussian_features_have_the_r2_of_their_covariance():
    X, y, others, with_target = gaussian()
    found = measured(X, y)
    # A forest is not a linear model: it learns most of the dependence, and a little noise.
    assert (found.others < others + 0.02).all()
    assert (found.others > others - 0.2).all()
    assert (found.with_target < with_target + 0.02).all()
    assert (found.with_target > with_target - 0.2).all()
    assert found.others[2] < 0.05
    assert found.with_target[2] > 0.6
    assert found.partners[0][0] == "x1"
    assert found.partners[1] == ("x0",)
    assert found.partners[2] == ()


@pytest.mark.slow
def test_noise_is_no_partner_of_features_that_share_a_little():
    """With R² 0.2 most splits of a forest are random, a third of these on the noise feature: this is no evidence."""
    a, b = RNG.normal(size=(2, N))
    noise, coin = RNG.normal(size=N), RNG.integers(0, 2, N) * 1.0
    found = measured(np.stack([a, 0.6 * a + 0.8 * b, noise], axis=1))
    assert (found.others[:2] > 0.1).all()
    assert found.partners == (("x1",), ("x0",), ())
    # Noise with two values is used in fewer splits than noise with many values, which gets more of them.
    found = measured(np.stack([a, (a > 0) * 1.0, coin, noise], axis=1))
    assert found.partners == (("x1",), ("x0",), (), ())


@pytest.mark.slow
def test_levels_are_learnt_as_shares_and_their_variances_add():
    x = RNG.integers(0, 3, 6000)
    level = np.where(RNG.random(6000) < 0.7, x, RNG.integers(0, 3, 6000))
    X = pd.DataFrame({"x": x, "level": np.array(["oak", "ash", "elm"])[level]})
    # Given x, the fractions are 0.8, 0.1 and 0.1: 1 - (0.64 + 0.01 + 0.01) of 1 - 1/3 is left.
    r2 = measured(X, schema={"x": "nominal"}).others
    assert r2 == pytest.approx(np.full(2, 1 - 0.34 / (2 / 3)), abs=0.02)


# ------------------------------------------------------------------ missing values, weights


@pytest.mark.slow
def test_weights_say_how_much_a_row_counts():
    a = RNG.normal(size=N)
    equal = np.arange(N) % 2 == 0
    X = np.stack([a, np.where(equal, a, RNG.normal(size=N))], axis=1)
    plain = measured(X).others
    heavy = measured(X, weights=np.where(equal, 1000.0, 1.0)).others
    light = measured(X, weights=np.where(equal, 0.001, 1.0)).others
    assert (light < 0.05).all()
    assert (plain < 0.5).all()
    assert (heavy > 0.98).all()


@pytest.mark.usefixtures("few_trees")
def test_rows_of_no_weight_are_absent():
    a = RNG.normal(size=300)
    X = np.stack([a, a**2], axis=1)
    weights = np.ones(300)
    weights[100:] = 0
    some, few = measured(X, weights=weights), measured(X[:100])
    np.testing.assert_array_equal(some.others, few.others)
    assert some.rows == 100


# ---------------------------------------------------------------------- the features and rows


def test_nothing_to_predict_and_nothing_to_predict_it_from():
    X = np.stack([RNG.normal(size=50), np.full(50, 0.1), np.full(50, np.nan)], axis=1)
    found = measured(X, X[:, 0])
    assert np.isnan(found.others).tolist() == [False, True, True]
    assert np.isnan(found.with_target).tolist() == [False, True, True]
    alone = measured(X[:, :1], X[:, 0])
    assert np.isnan(alone.others).all()
    assert alone.with_target[0] > 0.9
    few = measured(RNG.normal(size=(9, 2)))
    assert np.isnan(few.others).all()


@pytest.mark.usefixtures("few_trees")
def test_units_do_not_matter():
    X = RNG.normal(size=(200, 2))
    X[:, 1] += X[:, 0]
    plain, scaled = measured(X), measured(1e-200 * (X + 7))
    np.testing.assert_allclose(scaled.others, plain.others, atol=0.01)


# ------------------------------------------------------------------------ the sample of rows


@pytest.mark.usefixtures("few_trees")
def test_a_sample_is_seeded_and_said():
    X = RNG.normal(size=(300, 2))
    X[:, 1] += X[:, 0]
    some = measured(X, rows=100, seed=4)
    assert some.rows == 100
    assert some.notes == ("R² is computed on a random sample of 100 of 300 rows.",)
    np.testing.assert_array_equal(measured(X, rows=100, seed=4).others, some.others)
    assert (measured(X, rows=100, seed=5).others != some.others).any()
    assert measured(X, rows=300).notes == ()


def test_without_scikit_learn_nothing_is_known_and_that_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    found = measured(RNG.normal(size=(60, 2)))
    assert np.isnan(found.others).all()
    assert np.isnan(found.with_target).all()
    assert found.partners == ((), ())
    assert "skedasis[sklearn]" in found.notes[0]


def test_labels_that_have_no_hash_are_refused():
    y = np.empty(20, dtype=object)
    y[:] = [[i] for i in range(20)]
    with refused(Exception, "y"):
        measured(RNG.normal(size=(20, 2)), y)
