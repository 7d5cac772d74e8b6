"""Losses agree with scikit-learn's metrics, with plain loops, and with derivatives in closed form."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skedasis as sd
from skedasis.engine import prepare
from tests.helpers import bent, bent_slope, table

X = table(150)
Y = bent(X) + np.random.default_rng(5).normal(size=len(X))
WEIGHTS = np.random.default_rng(6).integers(1, 4, len(X)).astype(float)
NAMES = np.array(["setosa", "versicolor", "virginica"])


def fitted(model, X=X, y=Y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


MODELS = {
    "linear": Ridge(),
    "forest": RandomForestRegressor(20, random_state=0),
    "perceptron": make_pipeline(
        StandardScaler(),
        MLPRegressor(hidden_layer_sizes=(5,), activation="tanh", random_state=0, max_iter=30),
    ),
}
METRICS = {
    "squared_error": metrics.mean_squared_error,
    "absolute_error": metrics.mean_absolute_error,
    "pinball": metrics.mean_pinball_loss,
}

# One row at a time, independent of the package's vectorized code.
BY_HAND = {
    "squared_error": lambda y, f: (y - f) ** 2,
    "absolute_error": lambda y, f: y - f if y > f else f - y,
    "pinball": lambda y, f: 0.8 * (y - f) if y > f else 0.2 * (f - y),
}


def loss(model, kind):
    return sd.loss(model, kind, **({"alpha": 0.8} if kind == "pinball" else {}))


def one(f, kind, row, y, **changed):
    """Return the loss of one row, with some of its values replaced."""
    row = row.copy()
    for j, value in changed.items():
        row[int(j[1:])] = value
    return BY_HAND[kind](y, float(f(row[None])[0]))


# ----------------------------------------------------------------------- scikit-learn's metrics


@pytest.mark.parametrize(("kind", "model"), list(zip(METRICS, MODELS, strict=True)))
def test_the_mean_of_a_loss_of_numbers_is_the_metric(model, kind):
    model = fitted(MODELS[model])
    options = {"alpha": 0.8} if kind == "pinball" else {}
    found = loss(model, kind).at(X, Y)
    expected = METRICS[kind](Y, model.predict(X), sample_weight=WEIGHTS, **options)
    assert found.shape == (len(X),)
    assert np.average(found, weights=WEIGHTS) == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("alpha", [0.01, np.float32(0.25)])
def test_every_alpha_of_the_pinball_loss_is_the_metric_s(alpha):
    model = fitted(MODELS["linear"])
    found = sd.loss(model, "pinball", alpha=alpha).at(X, Y).mean()
    expected = metrics.mean_pinball_loss(Y, model.predict(X), alpha=float(alpha))
    assert found == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("labels", [NAMES.astype(object), np.array([9.0, -1, 2])])
def test_losses_of_classes_are_the_metrics_whatever_the_classes_are(labels):
    data, places = load_iris(return_X_y=True)
    y = labels[places]
    model = fitted(RandomForestClassifier(8, max_depth=2, random_state=0), data, y)
    wrong = sd.loss(model, "zero_one").at(data, y)
    assert wrong.mean() == pytest.approx(metrics.zero_one_loss(y, model.predict(data)), rel=1e-12)
    assert 0 < wrong.mean() < 0.5
    found = sd.loss(model, "log_loss").at(data, y).mean()
    p = model.predict_proba(data)
    assert found == pytest.approx(metrics.log_loss(y, p, labels=model.classes_), rel=1e-12)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_squared_error_of_a_probability_is_the_brier_score(place):
    data, places = load_wine(return_X_y=True)
    y = NAMES[places]
    model = fitted(RandomForestClassifier(15, max_depth=3, random_state=0), data, y)
    found = sd.loss(sd.probability(model, class_=NAMES[place])).at(data, y).mean()
    expected = metrics.brier_score_loss(places == place, model.predict_proba(data)[:, place])
    assert found == pytest.approx(expected, rel=1e-12)


# -------------------------------------------------------------------------------- plain loops


in_calls = pytest.mark.parametrize(
    ("kind", "size"), list(zip(BY_HAND, [40, 333, 100_000], strict=True))
)


@in_calls
def test_the_pdp_and_ice_of_a_loss_are_those_of_a_loop(kind, size, monkeypatch):
    monkeypatch.setattr(prepare, "CALL_ROWS", size)
    grid = np.array([-1.5, -0.2, 0.4, 2.0])
    loops = np.array(
        [[one(bent, kind, x, y, x1=g) for g in grid] for x, y in zip(X, Y, strict=True)]
    )
    pdp = sd.explain(loss(bent, kind), X, 1, method=sd.PDP(grid=grid), y=Y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(pdp.value, np.average(loops, axis=0, weights=WEIGHTS), rtol=1e-12)
    ice = sd.explain(loss(bent, kind), X, 1, method=sd.ICE(grid=grid), y=Y)
    np.testing.assert_allclose(ice.curves.value, loops, rtol=1e-12)
    np.testing.assert_allclose(ice.value, loops.mean(axis=0), rtol=1e-12)


@in_calls
def test_the_ale_of_a_loss_is_that_of_a_loop(kind, size, monkeypatch):
    monkeypatch.setattr(prepare, "CALL_ROWS", size)
    edges = np.array([-4.0, -0.7, 0.1, 0.9, 4.0])
    value, inside = [0.0], []
    for low, high in pairwise(edges):
        rows = np.flatnonzero((X[:, 0] > low) & (X[:, 0] <= high))
        rises = [
            one(bent, kind, X[i], Y[i], x0=high) - one(bent, kind, X[i], Y[i], x0=low) for i in rows
        ]
        value.append(value[-1] + np.average(rises, weights=WEIGHTS[rows]))
        inside.append(WEIGHTS[rows].sum())
    middle = (np.array(value[:-1]) + value[1:]) / 2
    value = np.array(value) - np.average(middle, weights=inside)
    method = sd.ALE(bins=sd.Edges(edges))
    e = sd.explain(loss(bent, kind), X, 0, method=method, y=Y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(e.value, value, rtol=0, atol=1e-11 * np.ptp(value))


def test_the_pdp_of_wrong_predictions_is_that_of_a_loop(monkeypatch):
    monkeypatch.setattr(prepare, "CALL_ROWS", 70)
    data, places = load_iris(return_X_y=True)
    X, y = pd.DataFrame(data, columns=list("abcd")), pd.Series(NAMES[places])
    model = fitted(RandomForestClassifier(8, random_state=0), X, y)
    grid = np.array([1.0, 3.0, 4.8, 5.2])
    share = []
    for g in grid:
        moved = X.copy()
        moved["c"] = g
        share.append(np.mean([p != t for p, t in zip(model.predict(moved), y, strict=True)]))
    e = sd.explain(sd.loss(model, "zero_one"), X, "c", method=sd.PDP(grid=grid), y=y)
    np.testing.assert_allclose(e.value, share, rtol=1e-12)
    assert np.ptp(share) > 0.1


# ----------------------------------------------------------------- derivatives in closed form

OUTER = {
    "squared_error": lambda y, f: 2 * f - 2 * y,
    "absolute_error": lambda y, f: np.where(f > y, 1.0, -1.0),
    "pinball": lambda y, f: np.where(f > y, 0.2, -0.8),
}


@pytest.mark.parametrize("kind", OUTER)
def test_the_dale_of_a_loss_follows_from_given_slopes(kind, monkeypatch):
    monkeypatch.setattr(prepare, "CALL_ROWS", 70)
    q = loss(sd.prediction(bent, slope=bent_slope), kind)
    expected = OUTER[kind](Y, bent(X))[:, None] * bent_slope(X)
    for j in range(3):
        e = sd.explain(q, X, j, method=sd.DALE(bins=sd.Edges([-5, 0, 5])), y=Y)
        np.testing.assert_allclose(e.rows.effect, expected[:, j], rtol=1e-12)
        left = X[:, j] < 0
        means = [expected[left, j].mean(), expected[~left, j].mean()]
        np.testing.assert_allclose(e.bins.effect, means, rtol=1e-10)
        assert e.provenance["local_effects"] == "the given slope function, by the chain rule"


def test_slopes_of_a_squared_error_in_closed_form_are_its_polynomial_s():
    """(y - a·x - b)² is a parabola in each feature: three of its values give the exact derivative."""
    q = sd.loss(fitted(Ridge()))
    for j in range(3):
        e = sd.explain(q, X, j, method=sd.DALE(bins=3), y=Y)
        step = np.eye(3)[j]
        parabola = (q.at(X + step, Y) - q.at(X - step, Y)) / 2
        np.testing.assert_allclose(e.rows.effect, parabola, atol=1e-11 * np.abs(parabola).max())
        assert e.provenance["local_effects"] == "closed form of Ridge, by the chain rule"


def test_slopes_of_the_brier_score_are_those_on_paper():
    yes = np.where(np.median(Y) < Y, "yes", "no")
    model = fitted(LogisticRegression(), X, yes)
    p = 1 / (1 + np.exp(-(X @ model.coef_[0] + model.intercept_[0])))
    for class_, at in (("yes", p), ("no", 1 - p)):
        sign = 1 if class_ == "yes" else -1
        outer = -2 * ((yes == class_) - at) * sign * p * (1 - p)
        q = sd.loss(sd.probability(model, class_=class_))
        e = sd.explain(q, X, 1, method=sd.DALE(bins=3), y=yes)
        np.testing.assert_allclose(e.rows.effect, outer * model.coef_[0, 1], rtol=1e-10)


def test_the_derivative_of_an_ice_curve_is_taken_at_its_grid():
    grid = np.array([-1.0, 0.0, 0.3])
    q = sd.loss(sd.prediction(bent, slope=bent_slope))
    e = sd.explain(q, X, 0, method=sd.ICE(grid=grid, center=None, derivative=True), y=Y)
    for k, g in enumerate(grid):
        moved = X.copy()
        moved[:, 0] = g
        expected = -2 * (Y - bent(moved)) * bent_slope(moved)[:, 0]
        np.testing.assert_allclose(e.curves.value[:, k], expected, rtol=1e-12, atol=1e-12)


def test_the_dale_of_a_pair_differs_slopes_that_know_their_label():
    """With f = x0 x1 the mixed derivative of (y - f)² is 4 x0 x1 - 2 y."""

    def product(X):
        return X[:, 0] * X[:, 1]

    def slope(X):
        return np.c_[X[:, 1], X[:, 0], np.zeros(len(X))]

    for f in (sd.prediction(product, slope=slope), product):
        s = sd.explain(sd.loss(f), X, (0, 1), method=sd.DALE(bins=sd.Edges([-5, 5])), y=Y)
        mean = np.mean(4 * X[:, 0] * X[:, 1] - 2 * Y)
        corner = s.value[1, 1] - s.value[1, 0] - s.value[0, 1] + s.value[0, 0]
        assert corner == pytest.approx(100 * mean, rel=1e-6)


@pytest.mark.parametrize("kind", BY_HAND)
def test_the_importance_of_a_feature_for_a_loss_is_the_mean_rise_over_all_pairs_of_rows(
    kind, monkeypatch
):
    monkeypatch.setattr(prepare, "CALL_ROWS", 70)
    some, y = X[:25], Y[:25]
    found = sd.explain(loss(bent, kind), some, y=y, method=sd.PFI(exact=True))
    for j in range(3):
        rises = [
            one(bent, kind, x, t, **{f"x{j}": donor}) - one(bent, kind, x, t)
            for x, t in zip(some, y, strict=True)
            for donor in some[:, j]
        ]
        assert found.mean[j] == pytest.approx(np.mean(rises), rel=1e-10)
