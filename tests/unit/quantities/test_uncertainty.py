"""Entropy, likelihood, variance and quantiles as quantities: accepted models and labels, values, and errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.special
import scipy.stats
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import ARDRegression, BayesianRidge, LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import skedasis as sd
from tests.helpers import Remembers, refused, table

X = table(120)
TWO = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
THREE = np.digitize(X[:, 0], [-0.4, 0.4])
NUMBER = X[:, 0] + 0.3 * X[:, 1] ** 2
ALL = (sd.entropy, sd.nll, sd.predictive_variance, lambda m: sd.predictive_quantile(m, 0.3))


def logistic(y=TWO, data=X):
    return LogisticRegression().fit(data, y)


def normal(X):
    return X[:, 0], np.exp(0.3 * X[:, 1])


def probabilities(X):
    p = 1 / (1 + np.exp(-X[:, 0]))
    return np.column_stack([1 - p, p])


# -------------------------------------------------------------------------------------- definitions


def test_bits_are_nats_over_log_two():
    np.testing.assert_allclose(
        sd.entropy(logistic(), base=2).at(X) * np.log(2), sd.entropy(logistic()).at(X), rtol=1e-15
    )
    np.testing.assert_allclose(
        sd.nll(logistic(), base=2).at(X, TWO) * np.log(2), sd.nll(logistic()).at(X, TWO), rtol=1e-15
    )


def test_all_quantities_of_a_model_read_the_same_answer():
    model = Remembers(normal)
    raw = sd.entropy(model).raw(X)
    y = NUMBER
    assert len(model.seen) == 1
    for make in ALL:
        q = make(model)
        np.testing.assert_array_equal(q.read(raw, y), make(normal).at(X, y))
    assert len(model.seen) == 1


# ------------------------------------------------------------------------------------ classifiers

CLASSIFIERS = [
    LogisticRegression(),
    RandomForestClassifier(7, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression()),
    GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}),
    CalibratedClassifierCV(SVC(), ensemble=False),
    HistGradientBoostingClassifier(max_iter=5),
]


@pytest.mark.parametrize(
    ("model", "y"),
    list(zip(CLASSIFIERS, [TWO, THREE] * 3, strict=True)),
    ids=lambda v: type(v).__name__,
)
def test_classifiers_of_every_kind(model, y):
    model.fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(
        sd.entropy(model).at(X), scipy.stats.entropy(p, axis=1), rtol=1e-13, atol=1e-15
    )
    own = p[np.arange(len(X)), np.searchsorted(model.classes_, y)]
    np.testing.assert_allclose(
        sd.nll(model).at(X, y),
        -np.log(np.maximum(own, np.finfo(p.dtype).eps)),
        rtol=1e-12,
        atol=1e-15,
    )


@pytest.mark.parametrize(
    "classes",
    [[False, True], [-3, 7], np.array(["a", "b"], dtype=object)],
    ids=str,
)
def test_classes_of_every_type_in_every_container(classes):
    code = (X[:, 0] > 0).astype(int)
    y = np.asarray(classes)[code]
    model = logistic(y)
    expected = -np.log(model.predict_proba(X)[np.arange(len(X)), code])
    for given in (y, list(y), pd.Series(y), pl.Series(y.tolist()), y.astype(object), y[:, None]):
        np.testing.assert_allclose(sd.nll(model).at(X, given), expected, rtol=1e-12)


def test_the_classes_of_a_function_are_counted():
    p = probabilities(X)
    y = (X[:, 1] > 0).astype(int)
    for given in (y, y.astype(float), y.astype(bool)):
        np.testing.assert_allclose(
            sd.nll(probabilities).at(X, given), -np.log(p[np.arange(len(X)), y]), rtol=1e-13
        )
    with refused(sd.DataError, "2.0", "0 to 1"):
        sd.nll(probabilities).at(X, THREE)
    with refused(sd.DataError, "0.5"):
        sd.nll(probabilities).at(X, y + 0.5)
    with refused(sd.DataError, "not numbers", "'no'"):
        sd.nll(probabilities).at(X, TWO)


def test_unknown_labels_are_named():
    y = TWO.copy().astype(object)
    y[:3] = "maybe"
    with refused(sd.DataError, "'maybe'", "3 of 120 rows", "['no', 'yes']"):
        sd.nll(logistic()).at(X, y)
    with refused(sd.DataError, "negative log-likelihood", "[5]"):
        sd.nll(logistic(THREE)).at(X, np.full(len(X), 5))


def test_variance_and_mean_of_numeric_classes():
    model = logistic(np.where(X[:, 0] > 0, 10.0, 4.0))
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(sd.predictive_variance(model).at(X), 36 * p * (1 - p), rtol=1e-12)
    with refused(sd.UnsupportedError, "no numbers", "sd.entropy"):
        sd.predictive_variance(logistic())


def test_classes_have_no_quantiles():
    with refused(sd.UnsupportedError, "classifier", "sd.probability"):
        sd.predictive_quantile(logistic(), 0.5)
    with refused(sd.UnsupportedError, "probabilities"):
        sd.predictive_quantile(probabilities, 0.5).at(X)


@pytest.mark.parametrize("p", [1, np.nan, "0.5"])
def test_levels_of_quantiles_lie_between_0_and_1(p):
    with refused(sd.DataError, "predictive_quantile(p)", "between 0 and 1"):
        sd.predictive_quantile(normal, p)


def test_classifiers_that_cannot_serve():
    with refused(sd.UnsupportedError, "without predict_proba", "Calibrat"):
        sd.entropy(SVC().fit(X, TWO))
    with refused(sd.UnsupportedError, "Fit the model first"):
        sd.entropy(LogisticRegression())
    several = MultiOutputClassifier(LogisticRegression()).fit(X, np.stack([TWO, TWO], axis=1))
    with refused(sd.UnsupportedError, "2 labels at once"):
        sd.entropy(several)


# ------------------------------------------------------------------------------------- regressors

REGRESSORS = [
    BayesianRidge(),
    ARDRegression(),
    GaussianProcessRegressor(RBF() + WhiteKernel(0.1), optimizer=None),
    make_pipeline(StandardScaler(), BayesianRidge()),
    GridSearchCV(BayesianRidge(), {"tol": [1e-3, 1e-4]}),
    GridSearchCV(make_pipeline(StandardScaler(), BayesianRidge()), {"bayesianridge__tol": [1e-3]}),
]


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: type(m).__name__)
def test_regressors_with_deviations(model):
    model.fit(X, NUMBER)
    inner = getattr(model, "best_estimator_", model)
    mean, std = inner.predict(X, return_std=True)
    d = scipy.stats.norm(mean, std)
    np.testing.assert_allclose(sd.entropy(model).at(X), d.entropy(), rtol=1e-12)
    np.testing.assert_allclose(sd.nll(model).at(X, NUMBER), -d.logpdf(NUMBER), rtol=1e-12)
    np.testing.assert_allclose(sd.predictive_variance(model).at(X), std**2, rtol=1e-12)
    np.testing.assert_allclose(sd.predictive_quantile(model, 0.9).at(X), d.ppf(0.9), rtol=1e-12)


def test_certainty_is_refused_with_what_helps():
    model = GaussianProcessRegressor(RBF(), alpha=1e-15, optimizer=None).fit(X[:20], NUMBER[:20])

    def exact(X):
        return X[:, 0], np.where(X[:, 1] > 0, 1.0, 0.0)

    bad = int((X[:, 1] <= 0).sum())
    for make in (sd.entropy, sd.nll):
        with refused(sd.ModelOutputError, f"deviation of 0 for {bad} of 120 rows", "WhiteKernel"):
            make(exact).at(X, NUMBER)
    np.testing.assert_array_equal(sd.predictive_variance(exact).at(X), (X[:, 1] > 0).astype(float))
    assert sd.predictive_variance(model).at(X[30:]).min() > 0


def test_labels_of_regressors_are_finite_numbers():
    model = BayesianRidge().fit(X, NUMBER)
    for y, word in (
        (TWO, "not numbers"),
        (np.full(len(X), np.inf), "infinite"),
        (np.where(X[:, 0] > 0, np.nan, 1.0), "missing labels"),
        (NUMBER[1:], "length 119"),
    ):
        with refused(sd.DataError, word):
            sd.nll(model).at(X, y)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda X: (X[:, 0], -np.ones(len(X))), ("negative standard deviation", "120 of 120")),
        (
            lambda X: (np.where(X[:, 0] > 0, np.inf, 0.0), np.ones(len(X))),
            ("mean", "NaN or infinite"),
        ),
        (lambda X: (X[:, 0], np.ones(3)), ("shape (3,)",)),
        (lambda X: [X[:, 0], np.ones(len(X))], ("a list of shape (2, 120)", "a tuple (mean, ")),
        (lambda X: X[:, 0], ("an ndarray of shape (120,)", "sd.ensemble")),
        (lambda X: -probabilities(X) + [0, 2], ("negative probabilities",)),
        (lambda X: probabilities(X) * np.nan, ("NaN", "120 of 120 rows")),
        (
            lambda X: np.where(X[:, :2] > 9, 0.5, [0.5, 0.6]),
            ("differs from 1 by up to 0.1", "softmax"),
        ),
        (lambda X: probabilities(X)[1:], ("shape (119, 2)",)),
        (lambda X: np.full((len(X), 2), "a"), ("numbers",)),
        (lambda X: None, ("shape ()",)),
    ],
)
def test_what_is_no_distribution_is_refused(answer, words):
    with refused(sd.ModelOutputError, *words):
        sd.entropy(answer).at(X)


@pytest.mark.parametrize("model", [LinearRegression(), RandomForestRegressor(3)], ids=str)
def test_models_without_uncertainty_are_told_which_have_it(model):
    model = model.fit(X, NUMBER)
    for make in ALL:
        with refused(
            sd.UnsupportedError, "GaussianProcessRegressor", "BayesianRidge", "sd.ensemble("
        ):
            make(model)


@pytest.mark.parametrize("make", [sd.nll, sd.ensemble])
def test_a_quantity_in_place_of_its_model_is_refused(make):
    with refused(sd.UnsupportedError, "sd.ensemble" if make is sd.ensemble else "model itself"):
        make(sd.entropy(logistic()))


# -------------------------------------------------------------------- aleatoric and epistemic parts


@pytest.mark.parametrize("make", [sd.entropy, sd.predictive_variance])
def test_parts_need_a_mixture(make):
    for part in ("aleatoric", "epistemic"):
        with refused(sd.UnsupportedError, "sd.ensemble"):
            make(normal, part=part)
        with refused(sd.UnsupportedError, "sd.ensemble"):
            make(logistic(THREE), part=part)
    with refused(sd.DataError, "'all'", "'epistemic'"):
        make(normal, part="all")


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(6, random_state=0),
        BaggingClassifier(LogisticRegression(), 6, random_state=0),
        make_pipeline(StandardScaler(), RandomForestClassifier(6, random_state=0)),
    ],
    ids=["forest", "bagging", "pipeline"],
)
def test_a_forest_is_taken_apart_by_itself(model):
    model.fit(X, THREE)
    inner = getattr(model, "steps", [(None, model)])[-1][1]
    Z = model[:-1].transform(X) if hasattr(model, "steps") else X
    each = np.stack([t.predict_proba(Z) for t in inner.estimators_])
    within = scipy.stats.entropy(each, axis=2).mean(axis=0)
    total = scipy.stats.entropy(model.predict_proba(X), axis=1)
    np.testing.assert_allclose(
        sd.entropy(model, part="aleatoric").at(X), within, rtol=1e-12, atol=1e-15
    )
    np.testing.assert_allclose(
        sd.entropy(model, part="epistemic").at(X), total - within, rtol=1e-9, atol=1e-14
    )
    means = each @ np.arange(3)
    np.testing.assert_allclose(
        sd.predictive_variance(model, part="epistemic").at(X),
        means.var(axis=0),
        rtol=1e-10,
        atol=1e-15,
    )


# --------------------------------------------------------------------------------- explanations


def by_hand(q, X, column, grid, y=None):
    curve = []
    for value in grid:
        Z = X.copy()
        Z[:, column] = value
        curve.append(q.at(Z, y).mean())
    return np.array(curve)


@pytest.mark.parametrize(("make", "rows"), list(zip(ALL, [7, 100_000] * 2, strict=True)))
def test_partial_dependence_is_that_of_a_loop_for_every_size_of_a_batch(make, rows, monkeypatch):
    monkeypatch.setattr("skedasis.quantities.base.CALL_ROWS", rows)
    model = sd.ensemble([normal, lambda X: (X[:, 1], np.ones(len(X)))])
    q, grid = make(model), np.linspace(-1, 1, 5)
    e = sd.explain(q, X, 0, y=NUMBER, method=sd.PDP(grid=grid))
    np.testing.assert_allclose(e.value, by_hand(q, X, 0, grid, NUMBER), rtol=1e-12)


def test_trees_are_explained_by_steps():
    tree = DecisionTreeClassifier(max_depth=3).fit(X, TWO)
    forest = RandomForestClassifier(3, random_state=0).fit(X, TWO)
    for q in (
        sd.entropy(tree),
        sd.nll(forest),
        sd.entropy(forest, part="epistemic"),
        sd.entropy(sd.ensemble([tree, forest])),
        sd.probability(sd.ensemble(forest), "yes"),
    ):
        assert q.derivative_info(None).kind == "steps"
    assert sd.entropy(sd.ensemble([tree, logistic()])).derivative_info(None).kind == "differences"


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (LogisticRegression(), TWO),
        (make_pipeline(StandardScaler(), LogisticRegression()), THREE),
        (MLPClassifier((5,), activation="tanh", max_iter=2000, random_state=0, tol=1e-3), THREE),
    ],
    ids=["logistic", "scaled", "perceptron"],
)
def test_slopes_are_those_of_differences(model, y):
    model.fit(X, y)
    h = 1e-5
    for q in (sd.entropy(model), sd.nll(model), sd.entropy(model, base=2), sd.nll(model, base=2)):
        assert q.derivative_info(None).kind == "slopes"
        encoded = q.encoded(y) if q.labelled else None
        found = q.slopes(X, encoded)
        for j in range(3):
            up, down = X.copy(), X.copy()
            up[:, j] += h
            down[:, j] -= h
            np.testing.assert_allclose(
                found[:, j], (q.at(up, y) - q.at(down, y)) / (2 * h), atol=1e-8, rtol=1e-6
            )


def test_slopes_stay_finite_and_exact_where_probabilities_saturate():
    model = LogisticRegression(C=1e3).fit(X, TWO)
    w = model.coef_[0]
    far = np.array([[30.0, 30.0, 0.0], [-30.0, -30.0, 0.0], [0.5, 0.5, 0.0]])
    assert np.isfinite(sd.entropy(model).slopes(far)).all()
    score = model.decision_function(far)
    slopes = sd.nll(model).slopes(far, np.array([1, 1, 0]))
    # d(-log p)/dx is -(1 - p) w for the second class and p w for the first, and 0 where p is at its lower limit.
    p = scipy.special.expit(score)
    assert p[1] < 2.2e-16
    np.testing.assert_array_equal(slopes[1], 0.0)
    np.testing.assert_allclose(slopes[2], p[2] * w, rtol=1e-12)
    assert (
        sd.entropy(RandomForestClassifier(3).fit(X, TWO), part="epistemic")
        .derivative_info(None)
        .kind
        == "steps"
    )


def test_floored_rows_are_counted():
    p = np.array([[0.0, 1.0], [1e-300, 1.0], [0.5, 0.5], [1.0, 0.0]])
    q = sd.nll(lambda X: p)
    raw, y = q.raw(np.zeros((4, 1))), np.zeros(4)
    assert q.floored(raw, y) == 2
    np.testing.assert_allclose(
        q.read(raw, y), [-np.log(2**-52), -np.log(2**-52), np.log(2), 0.0], rtol=1e-15
    )
    assert not np.signbit(q.read(raw, y)).any()
    single = sd.nll(lambda X: p.astype(np.float32))
    assert single.at(np.zeros((4, 1)), y)[0] == pytest.approx(-np.log(2.0**-23), rel=1e-12)
