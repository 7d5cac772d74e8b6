"""Deviances agree with scikit-learn's metrics, with the integral that defines them, and with numerical derivatives."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn import metrics
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import PoissonRegressor

import skedasis as sd
from tests.helpers import refused

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
RATE = np.exp(0.5 * X[:, 0] - 0.3 * X[:, 1] * X[:, 2])
COUNTS = RNG.poisson(RATE).astype(float)
AMOUNTS = RATE * RNG.gamma(2.0, 0.5, 200)
BOTH = RNG.normal(size=200)
WEIGHTS = RNG.integers(1, 4, 200).astype(float)


def rate(X):
    return np.exp(0.4 * X[:, 0] + 0.2 * X[:, 1])


def slope(X):
    return rate(X)[:, None] * [0.4, 0.2, 0.0]


LABELS = {-1.0: BOTH, 0.0: BOTH, 1.0: COUNTS, 1.2: COUNTS, 1.9: COUNTS, 2.0: AMOUNTS, 2.5: AMOUNTS}
LABELS |= {3.0: AMOUNTS, -0.5: BOTH}
POWERS = sorted(LABELS)


def deviance(model, power):
    """Return the loss by the name that has this power."""
    named = {1.0: "poisson_deviance", 2.0: "gamma_deviance"}
    if power in named:
        return sd.loss(model, named[power])
    return sd.loss(model, "tweedie_deviance", power=power)


@pytest.mark.parametrize("power", POWERS)
def test_the_mean_of_a_deviance_is_the_metric(power):
    y, f = LABELS[power], rate(X)
    found = np.average(deviance(rate, power).at(X, y), weights=WEIGHTS)
    expected = metrics.mean_tweedie_deviance(y, f, sample_weight=WEIGHTS, power=power)
    assert found == pytest.approx(expected, rel=1e-12, abs=0)
    always = sd.loss(rate, "tweedie_deviance", power=power).at(X, y)
    np.testing.assert_array_equal(always, deviance(rate, power).at(X, y))


def test_named_deviances_are_the_named_metrics():
    for name, metric, y in (
        ("poisson_deviance", metrics.mean_poisson_deviance, COUNTS),
        ("gamma_deviance", metrics.mean_gamma_deviance, AMOUNTS),
    ):
        found = np.average(sd.loss(rate, name).at(X, y), weights=WEIGHTS)
        assert found == pytest.approx(metric(y, rate(X), sample_weight=WEIGHTS), rel=1e-12)


@pytest.mark.parametrize("power", [p for p in POWERS if p >= 0])
def test_a_deviance_is_the_integral_from_the_prediction_to_the_label(power):
    """2 ∫ (y - t) / t**p dt from f to y (Jørgensen 1997), by numerical integration, for each row."""
    y, f = LABELS[power][:40], rate(X)[:40]
    positive = y > 0 if power else np.ones(40, dtype=bool)
    expected = [
        2 * quad(lambda t, a=a: (a - t) / t**power if power else a - t, b, a)[0]
        for a, b in zip(y[positive], f[positive], strict=True)
    ]
    found = deviance(rate, power).at(X[:40], y)
    np.testing.assert_allclose(found[positive], expected, rtol=1e-9, atol=1e-12)
    if 1 <= power < 2:  # no label: all of the prediction counts
        zero = y == 0
        assert zero.any()
        np.testing.assert_allclose(
            found[zero], 2 * f[zero] ** (2 - power) / (2 - power), rtol=1e-12
        )


def test_deviances_keep_their_digits_where_predictions_are_close():
    """With d = f / y - 1 the Poisson deviance is y d² (1 - 2 d / 3 + …), the gamma deviance d² (1 - 4 d / 3 + …)."""
    y, d = np.array([3.0, 0.1, 1e6]), 1e-6
    f = y * (1 + d)
    for name, expected in (
        ("poisson_deviance", y * d**2 * (1 - 2 * d / 3)),
        ("gamma_deviance", d**2 * (1 - 4 * d / 3) * np.ones(3)),
    ):
        found = sd.loss(lambda X: X[:, 0], name).at(f[:, None], y)
        np.testing.assert_allclose(found, expected, rtol=1e-8)


# ---------------------------------------------------------------------- slopes, effects, importances
@pytest.mark.parametrize("power", POWERS)
def test_slopes_follow_by_the_chain_rule(power):
    y, q = LABELS[power], deviance(sd.prediction(rate, slope=slope), power)
    e = sd.explain(q, X, 0, method=sd.DALE(bins=3), y=y)
    step = 1e-6 * np.eye(3)[0]
    numerical = (q.at(X + step, y) - q.at(X - step, y)) / 2e-6
    np.testing.assert_allclose(e.rows.effect, numerical, rtol=1e-5, atol=1e-6)
    assert e.provenance["local_effects"] == "the given slope function, by the chain rule"


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0])
def test_the_importance_for_a_deviance_is_the_rise_of_the_metric(power):
    y = LABELS.get(power, COUNTS)[:40]
    found = sd.explain(deviance(rate, power), X[:40], y=y, method=sd.PFI(exact=True))
    before = metrics.mean_tweedie_deviance(y, rate(X[:40]), power=power)
    for j in range(3):
        rises = []
        for donor in X[:40, j]:
            moved = X[:40].copy()
            moved[:, j] = donor
            rises.append(metrics.mean_tweedie_deviance(y, rate(moved), power=power) - before)
        assert found.mean[j] == pytest.approx(np.mean(rises), rel=1e-10, abs=1e-12)


def test_deviances_of_trees_are_steps_evaluated_from_their_structure():
    model = HistGradientBoostingRegressor(loss="poisson", max_iter=10).fit(X, COUNTS)
    q = sd.loss(model, "poisson_deviance")
    trees, called = (
        sd.explain(q, X, 0, method=sd.PDP(), y=COUNTS, tree=mode) for mode in ("force", "off")
    )
    np.testing.assert_allclose(trees.value, called.value, rtol=1e-9)
    assert trees.provenance["effect_rows"] == 0


def test_a_model_that_is_right_has_a_smaller_deviance_than_one_that_is_not():
    fitted = PoissonRegressor(alpha=1e-6).fit(X, COUNTS)
    ours = sd.loss(fitted, "poisson_deviance").at(X, COUNTS).mean()
    constant = sd.loss(lambda X: np.full(len(X), COUNTS.mean()), "poisson_deviance")
    d2 = 1 - ours / constant.at(X, COUNTS).mean()
    assert d2 == pytest.approx(fitted.score(X, COUNTS), rel=1e-10)


# ---------------------------------------------------------------------- names, units, errors
def test_names_and_units():
    claims = sd.prediction(rate, name="amount", unit="EUR")
    axes = {
        "poisson_deviance": "Poisson deviance of amount [EUR]",
        "gamma_deviance": "gamma deviance of amount",
        "tweedie_deviance": "Tweedie deviance (power 1.5) of amount [EUR^0.5]",
    }
    assert {name: sd.loss(claims, name).axis for name in axes} == axes  # pyright: ignore[reportArgumentType]
    assert sd.loss(claims, "tweedie_deviance", power=0).unit == "EUR²"
    assert sd.loss(rate, "poisson_deviance", name="misfit", unit="1/a").axis == "misfit [1/a]"


def test_labels_and_predictions_that_a_distribution_does_not_have():
    zero, minus = COUNTS * 0, COUNTS - 10
    for power, y, words in (
        (1.0, minus, "not negative"),
        (1.5, minus, "not negative"),
        (2.0, zero, "labels above 0"),
        (3.0, zero, "labels above 0"),
    ):
        with refused(sd.DataError, "y", "labels such as", "for 200 of 200 rows", words):
            deviance(rate, power).at(X, y)
    for power in (p for p in POWERS if p != 0):
        with refused(sd.ModelOutputError, "predictions such as 0", "predictions above 0"):
            deviance(lambda X: np.zeros(len(X)), power).at(X, LABELS[power])
    assert np.isfinite(deviance(lambda X: -rate(X), 0.0).at(X, BOTH)).all()
    with refused(sd.ModelOutputError, "NaN"):
        deviance(lambda X: np.full(len(X), np.nan), 1.0).at(X, COUNTS)
    with refused(sd.DataError, "labels that are not numbers"):
        deviance(rate, 1.0).at(X, ["a"] * 200)
    with refused(sd.UnsupportedError, "a classifier", "sd.probability"):
        from sklearn.linear_model import LogisticRegression

        sd.loss(LogisticRegression().fit(X, COUNTS > 1), "poisson_deviance")


@pytest.mark.parametrize("power", [0.5, 1e-9, np.nan, np.inf, None, "1", True])
def test_powers_without_a_distribution(power):
    with refused(sd.DataError, "loss(power)", "not between 0 and 1"):
        sd.loss(rate, "tweedie_deviance", power=power)


def test_a_power_belongs_to_the_tweedie_deviance():
    with refused(sd.DataError, "loss(power)", "kind='tweedie_deviance' only"):
        sd.loss(rate, "poisson_deviance", power=1.2)


@pytest.mark.parametrize("ratio", [1e-100, 1e-17, 1e-15, 0.3, 0.7, 1e6, 1e15, 1e100])
def test_deviances_keep_their_digits_however_far_predictions_are(ratio):
    X, y = np.array([[ratio]]), np.array([1.0])
    q = sd.prediction(lambda X: X[:, 0])
    poisson = sd.loss(q, "poisson_deviance").at(X, y)
    gamma = sd.loss(q, "gamma_deviance").at(X, y)
    exact = Fraction(ratio)
    log = math.log(ratio)
    np.testing.assert_allclose(poisson, 2 * float(Fraction(-log) + exact - 1), rtol=1e-13)
    np.testing.assert_allclose(gamma, 2 * float(Fraction(log) + 1 / exact - 1), rtol=1e-13)
