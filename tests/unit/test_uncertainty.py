"""Entropy, likelihood, variance and quantiles as quantities: accepted models and labels, values, and errors."""

from __future__ import annotations

import pickle

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
from sklearn.neighbors import KNeighborsClassifier
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


def test_names_units_and_axes():
    assert sd.entropy(normal).axis == "entropy [nats]"
    assert sd.entropy(normal, base=2).axis == "entropy [bits]"
    assert sd.nll(normal).axis == "negative log-likelihood [nats]"
    assert sd.nll(normal, base=2, name="surprise").axis == "surprise [bits]"
    assert sd.predictive_variance(normal, unit="EUR²").axis == "predictive variance [EUR²]"
    assert sd.predictive_quantile(normal, 0.9).axis == "0.9-quantile"
    forest = RandomForestClassifier(5, random_state=0).fit(X, TWO)
    assert sd.entropy(forest, part="epistemic").axis == "epistemic entropy [nats]"
    assert sd.entropy(forest).describe() == "entropy(RandomForestClassifier)"
    assert "5 trees of RandomForestClassifier" in sd.entropy(forest, part="aleatoric").describe()


def test_only_the_likelihood_needs_labels():
    assert sd.nll(normal).labelled
    assert not any(
        q.labelled
        for q in (
            sd.entropy(normal),
            sd.predictive_variance(normal),
            sd.predictive_quantile(normal, 0.1),
        )
    )
    with refused(sd.DataError, "no y", "Pass y="):
        sd.nll(normal).at(X)


def test_bits_are_nats_over_log_two():
    np.testing.assert_allclose(
        sd.entropy(logistic(), base=2).at(X) * np.log(2), sd.entropy(logistic()).at(X), rtol=1e-15
    )
    np.testing.assert_allclose(
        sd.nll(logistic(), base=2).at(X, TWO) * np.log(2), sd.nll(logistic()).at(X, TWO), rtol=1e-15
    )


@pytest.mark.parametrize("quantity", [sd.entropy, sd.nll])
def test_pickles(quantity):
    q = quantity(logistic())
    again = pickle.loads(pickle.dumps(q))
    np.testing.assert_array_equal(again.at(X, TWO), q.at(X, TWO))


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
    KNeighborsClassifier(4),
    make_pipeline(StandardScaler(), LogisticRegression()),
    GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}),
    CalibratedClassifierCV(SVC(), ensemble=False),
    HistGradientBoostingClassifier(max_iter=5),
]


@pytest.mark.many
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
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
    [["no", "yes"], [False, True], [0, 1], [-3, 7], [2.0, 5.0], np.array(["a", "b"], dtype=object)],
    ids=str,
)
def test_classes_of_every_type_in_every_container(classes):
    code = (X[:, 0] > 0).astype(int)
    y = np.asarray(classes)[code]
    model = logistic(y)
    expected = -np.log(model.predict_proba(X)[np.arange(len(X)), code])
    for given in (y, list(y), pd.Series(y), pl.Series(y.tolist()), y.astype(object), y[:, None]):
        np.testing.assert_allclose(sd.nll(model).at(X, given), expected, rtol=1e-12)


def test_categorical_and_nullable_labels():
    model = logistic()
    expected = sd.nll(model).at(X, TWO)
    for given in (pd.Series(TWO, dtype="category"), pd.Series(TWO, dtype="string")):
        np.testing.assert_array_equal(sd.nll(model).at(X, given), expected)
    counted = pd.Series(THREE, dtype="Int64")
    model = logistic(THREE)
    np.testing.assert_array_equal(sd.nll(model).at(X, counted), sd.nll(model).at(X, THREE))


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


@pytest.mark.parametrize("p", [0, 1, -0.1, 1.1, np.nan, "0.5", None, True])
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
    with refused(sd.UnsupportedError, "2 labels at once"):
        sd.entropy(several.predict_proba).at(X)
    multilabel = MLPClassifier((3,), max_iter=1000, tol=1e-2, random_state=0)
    multilabel.fit(X, np.stack([TWO == "yes", THREE > 0], axis=1).astype(int))
    with refused(sd.UnsupportedError, "2 labels at once"):
        sd.entropy(multilabel)


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


def test_a_gaussian_process_is_asked_in_parts(monkeypatch):
    model = GaussianProcessRegressor(RBF() + WhiteKernel(1e-2), optimizer=None).fit(X, NUMBER)
    expected = sd.entropy(model).at(X)
    sizes = []
    predict = type(model).predict
    monkeypatch.setattr(
        type(model),
        "predict",
        lambda self, X, return_std=False: sizes.append(len(X)) or predict(self, X, return_std),
    )
    monkeypatch.setattr("skedasis.distributions.sklearn._CALL_BYTES", 24 * len(X) * 50)
    np.testing.assert_allclose(sd.entropy(model).at(X), expected, rtol=1e-12)
    assert sizes == [50, 50, 20]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_parts_of_frames_are_frames(frame, monkeypatch):
    names = ["a", "b", "c"]
    data = frame({n: X[:, k] for k, n in enumerate(names)})
    model = GaussianProcessRegressor(RBF() + WhiteKernel(1e-2), optimizer=None).fit(data, NUMBER)
    expected = sd.entropy(model).at(data)
    monkeypatch.setattr("skedasis.distributions.sklearn._CALL_BYTES", 24 * len(X) * 50)
    np.testing.assert_allclose(sd.entropy(model).at(data), expected, rtol=1e-12)
    np.testing.assert_allclose(sd.entropy(model).at(X), expected, rtol=1e-12)


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
        (NUMBER.astype(str), "not numbers"),
    ):
        with refused(sd.DataError, word):
            sd.nll(model).at(X, y)
    with refused(sd.DataError, "missing labels"):
        sd.nll(model).at(X, np.where(X[:, 0] > 0, np.nan, 1.0))
    with refused(sd.DataError, "not numbers"):
        sd.nll(model).at(X, pd.Series(pd.date_range("2020", periods=len(X))))
    with refused(sd.DataError, "length 119"):
        sd.nll(model).at(X, NUMBER[1:])
    for y in (
        NUMBER.round().astype(int),
        (NUMBER > 0),
        NUMBER.astype(object),
        NUMBER.astype(np.float32),
    ):
        np.testing.assert_allclose(
            sd.nll(model).at(X, y), sd.nll(model).at(X, np.asarray(y, dtype=float)), rtol=1e-15
        )


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda X: (X[:, 0], -np.ones(len(X))), ("negative standard deviation", "120 of 120")),
        (lambda X: (X[:, 0], np.full(len(X), np.nan)), ("NaN", "standard deviation")),
        (
            lambda X: (np.where(X[:, 0] > 0, np.inf, 0.0), np.ones(len(X))),
            ("mean", "NaN or infinite"),
        ),
        (lambda X: (X[:, 0], np.ones(3)), ("shape (3,)",)),
        (lambda X: (X[:, 0], 1.0), ("shape ()",)),
        (lambda X: (X, X), ("shape (120, 3)",)),
        (lambda X: X[:, 0], ("shape (120,)", "sd.ensemble")),
        (lambda X: -probabilities(X) + [0, 2], ("negative probabilities",)),
        (lambda X: probabilities(X) * np.nan, ("NaN", "120 of 120 rows")),
        (
            lambda X: np.where(X[:, :2] > 9, 0.5, [0.5, 0.6]),
            ("differs from 1 by up to 0.1", "softmax"),
        ),
        (lambda X: probabilities(X)[1:], ("shape (119, 2)",)),
        (lambda X: probabilities(X).T, ("shape (2, 120)",)),
        (lambda X: np.full((len(X), 2), "a"), ("numbers",)),
        (lambda X: "text", ("shape ()",)),
        (lambda X: None, ("shape ()",)),
    ],
)
def test_what_is_no_distribution_is_refused(answer, words):
    with refused(sd.ModelOutputError, *words):
        sd.entropy(answer).at(X)


def test_bad_probabilities_are_counted():
    def some(X):
        p = probabilities(X)
        p[:7] = [-0.25, 1.25]
        return p

    with refused(sd.ModelOutputError, "down to -0.25", "7 of 120 rows"):
        sd.entropy(some).at(X)


@pytest.mark.parametrize(
    "model", [LinearRegression(), RandomForestRegressor(3), LinearRegression], ids=str
)
def test_models_without_uncertainty_are_told_which_have_it(model):
    model = model.fit(X, NUMBER) if not isinstance(model, type) else model
    for make in ALL:
        with refused(
            sd.UnsupportedError, "GaussianProcessRegressor", "BayesianRidge", "sd.ensemble("
        ):
            make(model)


def test_a_forest_of_numbers_is_told_of_its_trees():
    forest = RandomForestRegressor(3).fit(X, NUMBER)
    for model in (forest, make_pipeline(StandardScaler(), forest)):
        with refused(
            sd.UnsupportedError, "no predictive distribution", "sd.ensemble(model, noise=...)"
        ):
            sd.entropy(model)
    with refused(sd.UnsupportedError, "a LinearRegression", "sd.ensemble([model, model2"):
        sd.entropy(LinearRegression().fit(X, NUMBER))
    with refused(sd.UnsupportedError, "an SVC without"):
        sd.entropy(SVC().fit(X, TWO))


@pytest.mark.parametrize("make", [*ALL, sd.ensemble])
def test_a_quantity_in_place_of_its_model_is_refused(make):
    for quantity in (sd.entropy(logistic()), sd.nll(normal), sd.probability(logistic())):
        with refused(sd.UnsupportedError, "sd.ensemble" if make is sd.ensemble else "model itself"):
            make(quantity)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda X: [X[:, 0], np.ones(len(X))], ("a list of shape (2, 120)", "a tuple (mean, ")),
        (lambda X: np.array([X[:, 0], X[:, 1]]), ("an ndarray of shape (2, 120)", "a tuple (mean")),
        (
            lambda X: (X[:, 0], 0.5),
            ("standard deviation of shape ()", "mean and standard deviation of shape (120,)"),
        ),
        (lambda X: (0.5, X[:, 0]), ("a mean of shape ()", "np.full(len(X), mean)")),
        (lambda X: X[:, 0], ("an ndarray of shape (120,)", "sd.ensemble")),
    ],
)
def test_pairs_that_are_none_are_told_how_to_be_one(answer, words):
    with refused(sd.ModelOutputError, *words):
        sd.entropy(answer).at(X)


def test_a_negative_deviation_is_not_taken_for_a_logarithm():
    with refused(sd.ModelOutputError, "negative standard deviation", "below 0") as info:
        sd.entropy(lambda X: (X[:, 0], X[:, 1])).at(X)
    assert "logarithm" not in str(info.value)


def test_two_rows_of_two_lists_are_probabilities():
    q = sd.entropy(lambda X: [[0.5, 0.5], [1.0, 0.0]], base=2)
    assert q.at(X[:2]).tolist() == [1.0, 0.0]


def test_labels_of_another_column_are_told_as_that():
    with refused(sd.DataError, "model.classes_, ['no', 'yes']", "the right column?"):
        sd.nll(logistic()).at(X, (TWO == "yes").astype(int))
    y = TWO.copy().astype(object)
    y[:60] = "maybe"  # half of the rows: the error still suggests leaving rows out
    with refused(sd.DataError, "60 of 120 rows", "Leave these rows out"):
        sd.nll(logistic()).at(X, y)
    with refused(sd.DataError, "not numbers", "class codes 0, 1, …"):
        sd.nll(probabilities).at(X, TWO)
    with refused(sd.DataError, "not numbers", "Pass y as numbers") as info:
        sd.nll(BayesianRidge().fit(X, NUMBER)).at(X, TWO)
    assert "columns" not in str(info.value)


@pytest.mark.parametrize("model", [3, "text", None, [1, 2]], ids=str)
def test_what_is_no_model_is_refused(model):
    with refused(sd.UnsupportedError, "no predictive distribution"):
        sd.entropy(model)


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


@pytest.mark.parametrize("base", [10, 2.5, True, "2", None])
def test_bases_are_e_and_2(base):
    for make in (sd.entropy, sd.nll):
        with refused(sd.DataError, "base"):
            make(normal, base=base)


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


@pytest.mark.thinned
@pytest.mark.parametrize("rows", [7, 100_000])
@pytest.mark.parametrize("make", ALL)
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


@pytest.mark.thinned
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        MLPClassifier((5,), activation="tanh", max_iter=2000, random_state=0, tol=1e-3),
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


def test_slopes_serve_every_kind_of_effect():
    model = logistic(THREE)
    e = sd.explain(sd.entropy(model), X, 0, method=sd.DALE(bins=sd.Uniform(5)))
    fine = sd.explain(lambda Z: sd.entropy(model).at(Z), X, 0, method=sd.DALE(bins=sd.Uniform(5)))
    np.testing.assert_allclose(e.bins.effect, fine.bins.effect, rtol=1e-6, atol=1e-9)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = LogisticRegression().fit(frame, THREE)
    q = sd.nll(named)
    both = [sd.explain(q, data, 0, y=THREE, method="rhale").value for data in (frame, X)]
    np.testing.assert_allclose(*both, rtol=1e-12)


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


def test_weights_and_frames_and_objects():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    model = LogisticRegression().fit(frame, TWO)
    w = np.arange(len(X)) % 3
    e = sd.explain(sd.nll(model), frame, "a", y=pd.Series(TWO), sample_weight=w, method="pdp")
    repeated = frame.loc[np.repeat(frame.index, w)].reset_index(drop=True)
    r = sd.explain(sd.nll(model), repeated, "a", y=np.repeat(TWO, w), method=sd.PDP(grid=e.x))
    np.testing.assert_allclose(e.value, r.value, rtol=1e-12)


def test_the_callers_arrays_stay_as_they_are():
    p = probabilities(X)
    y = (X[:, 0] > 0).astype(int)
    mean, std = normal(X)
    keep = [a.copy() for a in (p, y, mean, std)]
    for model in (lambda X: p, lambda X: (mean, std)):
        for make in ALL[:3]:
            make(model).at(X, y)
    for a, b in zip((p, y, mean, std), keep, strict=True):
        np.testing.assert_array_equal(a, b)
