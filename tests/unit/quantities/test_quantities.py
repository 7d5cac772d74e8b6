"""Quantities: closed forms against numerical derivatives, detection of piecewise constant models, and errors."""

from __future__ import annotations

import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model, svm
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import FactorAnalysis, KernelPCA
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
)
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import skedasis as sd
from skedasis.derivatives import sklearn_models
from skedasis.models import introspection
from tests.helpers import refused, rise, table

X = table(60) * [1.0, 5.0, 0.2] + [0.0, 10.0, 0.5]
TARGET = 2 * X[:, 0] - 0.3 * X[:, 1] + np.sin(10 * X[:, 2])
TWO = np.where(np.median(TARGET) < TARGET, "yes", "no")
THREE = np.array(["low", "mid", "top"])[np.digitize(TARGET, np.quantile(TARGET, [1 / 3, 2 / 3]))]


def fit(model, y, X=X):
    """Fit, and ignore convergence warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def slopes(q, X=X):
    """Return the local effects that DALE uses, and their source."""
    es = sd.explain(q, X, method=sd.DALE(bins=3))
    sources = {e.provenance["local_effects"] for e in es.values()}
    assert len(sources) == 1
    return np.column_stack([e.rows.effect for e in es.values()]), sources.pop()


def numerical(q, X=X, h=2e-3):
    """Return derivatives by an eighth-order stencil, accurate to 1e-11 for smooth functions."""
    stencil = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    out = np.zeros(X.shape)
    for j, unit in enumerate(np.maximum(np.std(X, axis=0), 0.1) * h):
        for k, c in stencil.items():
            step = np.zeros(X.shape[1])
            step[j] = k * unit
            out[:, j] += c * (q.at(X + step) - q.at(X - step)) / unit
    return out


def assert_closed(q, X=X, rtol=1e-8):
    """Assert that the slopes have a closed form and are correct."""
    found, source = slopes(q, X)
    assert source.startswith("closed form of ")
    expected = numerical(q, X)
    scale = scale_of(expected)
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=rtol)


def assert_differences(q, X=X, rtol=1e-6):
    """Assert that the slopes are finite differences and are correct."""
    found, source = slopes(q, X)
    assert source.startswith("central differences")
    expected = numerical(q, X)
    scale = scale_of(expected)
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=rtol)


def scale_of(expected):
    """Return each column's largest absolute slope, or 1 if all slopes are 0."""
    largest = np.abs(expected).max(axis=0)
    return np.where(largest > 1e-9, largest, 1.0)


# -------------------------------------------------------------------------------- closed forms


@pytest.mark.parametrize("name", sorted(introspection.LINEAR))
def test_every_linear_model_has_its_coefficients_for_slopes(name):
    kind = getattr(linear_model, name, None) or getattr(svm, name, None)
    if kind is None:
        pytest.skip(f"this release of scikit-learn has no {name}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind()
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    model = fit(model, TARGET, standard)
    assert_closed(sd.prediction(model), standard)
    found, _ = slopes(model, standard)
    np.testing.assert_array_equal(found, np.broadcast_to(model.coef_, found.shape))


@pytest.mark.parametrize("name", ["PoissonRegressor", "GammaRegressor", "TweedieRegressor"])
def test_generalised_linear_models_are_not_taken_for_linear(name):
    options = {"power": 1.5} if name == "TweedieRegressor" else {}
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    model = fit(getattr(linear_model, name)(**options), np.exp(TARGET / 10), standard)
    assert name not in introspection.LINEAR
    assert_closed(sd.prediction(model), standard)
    found, _ = slopes(model, standard)
    assert np.ptp(found[:, 0]) > 0  # the link function is not linear


SCALERS = {
    "standard": StandardScaler(),
    "standard, no mean": StandardScaler(with_mean=False),
    "standard, no std": StandardScaler(with_std=False),
    "standard, neither": StandardScaler(with_mean=False, with_std=False),
    "min-max": MinMaxScaler(),
    "min-max, range": MinMaxScaler(feature_range=(-2, 3)),
    "max-abs": MaxAbsScaler(),
    "robust": RobustScaler(),
    "robust, no centre": RobustScaler(with_centering=False),
    "robust, no scale": RobustScaler(with_scaling=False),
    "robust, quantiles": RobustScaler(quantile_range=(10, 90), unit_variance=True),
    "passthrough": "passthrough",
}


@pytest.mark.parametrize("scaler", SCALERS)
def test_scalers_before_a_model_are_folded_into_its_slopes(scaler):
    for last in (Ridge(), MLPRegressor(hidden_layer_sizes=(4,), activation="tanh", max_iter=20)):
        assert_closed(sd.prediction(fit(make_pipeline(SCALERS[scaler], last), TARGET)))


def test_several_scalers_and_a_constant_column_are_folded_too():
    constant = np.c_[X, np.full(60, 3.0)]
    model = make_pipeline(MinMaxScaler((-1, 5)), "passthrough", StandardScaler(), RobustScaler())
    model.steps.append(("last", MLPRegressor(hidden_layer_sizes=(4,), activation="tanh")))
    model = fit(model, TARGET, constant)
    es = sd.explain(model, constant, [0, 1, 2], method=sd.DALE(bins=3))
    expected = numerical(sd.prediction(model), constant + 0.0)[:, :3]
    found = np.column_stack([e.rows.effect for e in es.values()])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize(
    "step",
    [
        FactorAnalysis(2),
        KernelPCA(2),
        FunctionTransformer(lambda X: X**3),
        make_pipeline(StandardScaler(), FactorAnalysis(2)),
    ],
    ids=["factors", "kernel", "function", "nested"],
)
def test_other_steps_leave_differences(step):
    model = fit(make_pipeline(step, Ridge()), TARGET)
    assert_differences(sd.prediction(model))


@pytest.mark.parametrize(
    ("activation", "layers"), [("identity", (5,)), ("logistic", (6, 4)), ("tanh", (3, 3, 3))]
)
def test_perceptrons_have_slopes_by_back_propagation(activation, layers):
    last = MLPRegressor(
        hidden_layer_sizes=layers, activation=activation, max_iter=30, random_state=0
    )
    assert_closed(sd.prediction(fit(make_pipeline(StandardScaler(), last), TARGET)))


def without_kinks(q, h=1e-6):
    """Return derivatives by small differences, and a mask: True if the one-sided differences agree (no kink)."""
    out, smooth = np.zeros(X.shape), np.ones(X.shape, dtype=bool)
    for j, unit in enumerate(np.std(X, axis=0) * h):
        step = np.zeros(3)
        step[j] = unit
        right, left = (q.at(X + step) - q.at(X)) / unit, (q.at(X) - q.at(X - step)) / unit
        out[:, j] = (right + left) / 2
        smooth[:, j] = np.abs(right - left) < 1e-4 * np.abs(out).max()
    return out, smooth


@pytest.mark.parametrize("layers", [(5,), (6, 4)])
def test_perceptrons_with_kinks_have_slopes_beside_the_kinks(layers):
    last = MLPRegressor(hidden_layer_sizes=layers, max_iter=30, random_state=0)
    q = sd.prediction(fit(make_pipeline(StandardScaler(), last), TARGET))
    found, source = slopes(q)
    expected, smooth = without_kinks(q)
    assert source.startswith("closed form")
    assert smooth.mean() > 0.95
    np.testing.assert_allclose(found[smooth], expected[smooth], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("what", "y", "activation"),
    [
        (sd.probability, TWO, "identity"),
        (sd.logit, THREE, "logistic"),
        (sd.probability, THREE, "tanh"),
    ],
)
def test_perceptrons_that_classify_have_slopes_of_every_class(what, y, activation):
    last = MLPClassifier(
        hidden_layer_sizes=(5,), activation=activation, max_iter=30, random_state=0
    )
    model = fit(make_pipeline(StandardScaler(), last), y)
    for label in np.unique(y):
        assert_closed(what(model, class_=label), rtol=1e-7)


@pytest.mark.parametrize(
    ("what", "y", "make"),
    [
        (sd.probability, TWO, LogisticRegression),
        (sd.logit, THREE, LogisticRegression),
        (sd.probability, THREE, lambda: LogisticRegressionCV(Cs=[1.0], cv=2)),
    ],
)
def test_logistic_regressions_have_slopes_of_every_class(what, y, make):
    model = fit(make_pipeline(StandardScaler(), make()), y)
    for label in np.unique(y):
        assert_closed(what(model, class_=label), rtol=1e-7)


def test_the_log_odds_of_two_classes_are_linear():
    model = fit(LogisticRegression(), TWO)
    found, _ = slopes(sd.logit(model))
    np.testing.assert_allclose(found, np.broadcast_to(model.coef_, found.shape))
    np.testing.assert_allclose(slopes(sd.logit(model, class_="no"))[0], -found)


def test_closed_forms_reach_through_a_search_for_parameters():
    search = fit(GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=2), TARGET)
    assert_closed(sd.prediction(search))
    piped = make_pipeline(StandardScaler(), LogisticRegression())
    search = fit(
        RandomizedSearchCV(piped, {"logisticregression__C": [0.1, 1.0]}, n_iter=2, cv=2), TWO
    )
    assert_closed(sd.probability(search))
    assert_closed(sd.logit(search))
    search = fit(GridSearchCV(DecisionTreeRegressor(), {"max_depth": [2, 3]}, cv=2), TARGET)
    assert "piecewise constant" in local_effects(search)


def test_a_transformed_target_has_differences():
    model = TransformedTargetRegressor(LinearRegression(), func=np.log, inverse_func=np.exp)
    assert_differences(sd.prediction(fit(model, np.exp(TARGET / 10))))
    model = TransformedTargetRegressor(DecisionTreeRegressor(max_depth=3))
    assert "piecewise constant" in local_effects(fit(model, TARGET))


def test_a_derived_class_with_its_own_prediction_is_not_taken_for_its_parent():
    class Own(Ridge):
        def predict(self, X):
            return super().predict(X) ** 2

    assert_differences(sd.prediction(fit(Own(), TARGET)))


def test_slopes_of_a_model_fitted_on_a_frame_are_those_of_its_array():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for last in (Ridge(), MLPRegressor(hidden_layer_sizes=(3,), max_iter=5, random_state=0)):
        model = fit(make_pipeline(StandardScaler(), last), TARGET, frame)
        same = fit(make_pipeline(StandardScaler(), last), TARGET)
        np.testing.assert_allclose(slopes(model, frame)[0], slopes(same)[0], rtol=1e-12)


def test_slopes_do_not_depend_on_how_rows_are_cut_into_chunks(monkeypatch):
    model = fit(MLPClassifier(hidden_layer_sizes=(5,), max_iter=5, random_state=0), THREE)
    whole, _ = slopes(sd.probability(model, class_="low"))
    monkeypatch.setattr(sklearn_models, "CHUNK_BYTES", 1000)
    np.testing.assert_allclose(slopes(sd.probability(model, class_="low"))[0], whole, rtol=1e-12)


def test_the_users_slopes_come_before_all_others():
    model = fit(Ridge(), TARGET)
    q = sd.prediction(model, slope=lambda X: np.full(X.shape, 7.0))
    found, source = slopes(q)
    assert source == "the given slope function"
    np.testing.assert_array_equal(found, 7.0)


# ------------------------------------------------------------------------- values at the rows


def test_values_are_those_of_the_model():
    regressor = fit(Ridge(), TARGET)
    same = partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-14)
    same(sd.prediction(regressor).at(X), regressor.predict(X))
    two, three = fit(LogisticRegression(), TWO), fit(LogisticRegression(), THREE)
    same(sd.probability(two).at(X), two.predict_proba(X)[:, 1])
    same(sd.probability(two, class_="no").at(X), two.predict_proba(X)[:, 0])
    for k, label in enumerate(three.classes_):
        p = three.predict_proba(X)[:, k]
        same(sd.probability(three, class_=label).at(X), p)
        same(sd.logit(three, class_=label).at(X), np.log(p / (1 - p)), rtol=1e-9)


def test_a_callables_probabilities_are_taken_by_column():
    def proba(X):
        p = 1 / (1 + np.exp(-X[:, 0]))
        return np.c_[1 - p, p]

    expected = proba(X)[:, 1]
    np.testing.assert_array_equal(sd.probability(proba, class_=1).at(X), expected)
    np.testing.assert_array_equal(sd.probability(proba, class_=np.int64(1)).at(X), expected)
    np.testing.assert_array_equal(sd.probability(lambda X: proba(X)[:, 1]).at(X), expected)
    np.testing.assert_allclose(sd.logit(proba, class_=1).at(X), X[:, 0], rtol=1e-9)
    with refused(sd.ModelOutputError, "shape (60, 2)", "(60,)", "class_="):
        sd.probability(proba).at(X)
    with refused(sd.ModelOutputError, "shape (60, 2)", "column 2"):
        sd.probability(proba, class_=2).at(X)
    with refused(sd.ModelOutputError, "shape (60,)", "column 1", "Leave class_ out"):
        sd.probability(lambda X: proba(X)[:, 1], class_=1).at(X)
    with refused(sd.UnsupportedError, "class_='yes'", "index of an output column"):
        sd.probability(proba, class_="yes")


@pytest.mark.parametrize("what", [sd.probability, sd.logit])
def test_what_is_no_probability_is_refused(what):
    with refused(sd.ModelOutputError, "values between", "between 0 and 1", "sd.prediction"):
        what(lambda X: X[:, 0]).at(X)


# ---------------------------------------------------------------------- log odds at certainty


def test_log_odds_stay_exact_where_the_probability_rounds_to_one():
    far = X * 1e4
    model = fit(LogisticRegression(), TWO)
    assert (model.predict_proba(far)[:, 1] == 1).any()
    np.testing.assert_allclose(sd.logit(model).at(far), model.decision_function(far), rtol=1e-9)
    e = sd.explain(sd.logit(model), far, 0, method="rhale")
    assert rise(e) == pytest.approx(model.coef_[0, 0] * np.ptp(far[:, 0]))
    boosted = fit(GradientBoostingClassifier(n_estimators=5, random_state=0), TWO)
    np.testing.assert_array_equal(sd.logit(boosted).at(X), boosted.decision_function(X))
    p = boosted.predict_proba(X)[:, 1]
    np.testing.assert_allclose(sd.logit(boosted).at(X), np.log(p / (1 - p)), rtol=1e-9)


@pytest.mark.parametrize("make", [DecisionTreeClassifier, RandomForestClassifier])
def test_log_odds_of_a_certain_model_are_refused(make):
    model = fit(make(random_state=0), TWO)
    q = sd.logit(model)
    with refused(sd.ModelOutputError, "exactly 0 or 1", "of 60 rows", "sd.probability"):
        q.at(X)
    for method in ("ale", "pdp", "rhale"):
        with refused(sd.ModelOutputError, "exactly 0 or 1"):
            sd.explain(q, X, 0, method=method)


def test_slopes_of_log_odds_of_several_classes_survive_certainty():
    model = fit(LogisticRegression(), THREE)
    form = sklearn_models.logit_derivative(model, 0)
    far = X * 1e6
    found = form(far)
    # Far from the data, a single other class has all of the remaining probability.
    score = model.decision_function(far)[:, 1:]
    expected = model.coef_[0] - model.coef_[1:][score.argmax(axis=1)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


# --------------------------------------------------------------------- piecewise constant models


def local_effects(model, X=X, method="rhale"):
    return sd.explain(model, X, 0, method=method).provenance["local_effects"]


TREES = {
    "boosting of a tree": GradientBoostingRegressor(
        n_estimators=3, init=DecisionTreeRegressor(max_depth=2)
    ),
    "neighbours": KNeighborsRegressor(3),
    "pipeline": make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=4)),
    "voting of classes": VotingClassifier(
        [("a", DecisionTreeClassifier()), ("b", RandomForestClassifier(2))], voting="soft"
    ),
}


# Boosting that starts from another model's predictions has no tree evaluation: the model is called, with a warning.
@pytest.mark.filterwarnings("ignore::skedasis.TreeWarning")
@pytest.mark.parametrize("name", TREES)
def test_trees_and_their_like_are_known_to_be_piecewise_constant(name):
    model = TREES[name]
    model = fit(model, TWO if "of classes" in name else TARGET)
    said = local_effects(model)
    assert said.startswith("differences across bins")
    assert "piecewise constant" in said
    assert "detected" not in said
    with refused(sd.UnsupportedError, "DALE of 'x0'", "without derivatives", "sd.RHALE()"):
        sd.explain(model, X, 0, method="dale")
    # The effect contains all jumps, which derivatives miss.
    many = np.random.default_rng(1).uniform(X.min(axis=0), X.max(axis=0), size=(300, 3))
    for cells, bins in (("auto", sd.Optimal()), ("auto", sd.Greedy()), (sd.Uniform(10),) * 2):
        ale = sd.explain(model, many, 0, method=sd.ALE(bins=cells))
        e = sd.explain(model, many, 0, method=sd.RHALE(bins=bins, center="start"))
        assert rise(e) == pytest.approx(rise(ale), rel=1e-9)
        assert rise(e) != 0


@pytest.mark.filterwarnings("ignore::skedasis.TreeWarning")
@pytest.mark.parametrize(
    "model",
    [
        AdaBoostRegressor(Ridge(), n_estimators=3, random_state=0),
        BaggingRegressor(Ridge(), n_estimators=3, random_state=0),
        VotingRegressor([("a", Ridge()), ("b", DecisionTreeRegressor(max_depth=2))]),
        GradientBoostingRegressor(n_estimators=3, init=LinearRegression()),
    ],
    ids=["ada", "bagging", "voting", "boosting"],
)
def test_ensembles_of_what_bends_are_not(model):
    # DALE uses the detected differences; RHALE replaces differences that miss the jumps of the trees.
    said = local_effects(fit(model, TARGET), method="dale")
    assert said.startswith("central differences")


def test_a_forest_behind_a_function_is_found_out():
    forest = fit(RandomForestRegressor(10, random_state=0), TARGET)
    q = sd.prediction(lambda X: np.exp(forest.predict(X) / 10))
    said = local_effects(q)
    assert said.startswith("differences across bins")
    assert "detected" in said
    with refused(sd.UnsupportedError, "detected", "sd.ALE()"):
        sd.explain(q, X, 0, method="dale")
    own = sd.explain(forest, X, 0, method="rhale")
    wrapped = sd.explain(forest.predict, X, 0, method="rhale")
    np.testing.assert_array_equal(own.value, wrapped.value)


def test_a_forest_whose_last_digit_is_loose_is_found_out():
    forest = fit(RandomForestRegressor(10, random_state=0), TARGET)
    trees = forest.estimators_
    calls = []

    def in_any_order(X):  # as a forest sums its trees in several threads
        calls.append(1)
        order = np.random.default_rng(len(calls)).permutation(len(trees))
        return sum(trees[i].predict(X) / 10 for i in order)

    assert "detected" in local_effects(in_any_order)


@pytest.mark.parametrize(
    "smooth",
    [
        lambda x: x,
        lambda x: 1e-9 * x + 1.0,
        lambda x: 1e-3 * x + 1e6,
        lambda x: np.tanh(50 * x),
        lambda x: np.maximum(x, 0.0),
        lambda x: np.maximum(x - np.quantile(X[:, 0], 0.8), 0.0),
        lambda x: np.abs(x) + (x > 0),
        lambda x: np.sin(30 * x),
        lambda x: np.round(x, 4) + x,
    ],
    ids=["line", "faint", "offset", "steep", "ramp", "late ramp", "jump", "waves", "rounded"],
)
def test_what_has_slopes_is_not_taken_for_piecewise_constant(smooth):
    # RHALE replaces differences that fail the slope check in so few rows; DALE reports what was detected.
    assert local_effects(lambda X: smooth(X[:, 0]), method="dale").startswith("central differences")


def test_an_unused_feature_has_an_effect_of_exactly_zero():
    for method in ("ale", "dale", "rhale", "uale"):
        e = sd.explain(lambda X: np.sin(X[:, 1]), X, 0, method=method)
        np.testing.assert_array_equal(e.value, 0.0)
        np.testing.assert_array_equal(e.heterogeneity, 0.0)
    constant = DummyRegressor().fit(X, TARGET)
    assert sd.explain(constant, X, 0).importance == 0


# ------------------------------------------------------------------------------------ pickling


QUANTITIES = {
    "prediction": lambda: sd.prediction(fit(Ridge(), TARGET), name="price", unit="EUR"),
    "perceptron": lambda: sd.prediction(
        fit(MLPRegressor(hidden_layer_sizes=(3,), max_iter=5, random_state=0), TARGET)
    ),
    "tree": lambda: sd.prediction(fit(DecisionTreeRegressor(max_depth=3), TARGET)),
    "probability": lambda: sd.probability(fit(LogisticRegression(max_iter=5), THREE), class_="mid"),
    "logit": lambda: sd.logit(fit(LogisticRegression(max_iter=5), TWO)),
    "function": lambda: sd.prediction(first, slope=first_slope),
}


def first(X):
    return X[:, 0] * 2.0


def first_slope(X):
    return np.c_[np.full(len(X), 2.0), np.zeros((len(X), X.shape[1] - 1))]


@pytest.mark.parametrize(
    ("name", "method"), list(zip(QUANTITIES, ["ale", "pdp", "rhale"] * 2, strict=True))
)
def test_quantities_and_results_pickle(name, method):
    q = QUANTITIES[name]()
    again = pickle.loads(pickle.dumps(q)) if name != "function" else q
    np.testing.assert_array_equal(again.at(X), q.at(X))
    assert (again.name, again.unit, again.describe()) == (q.name, q.unit, q.describe())
    es = sd.explain(q, X, method=method)
    other = sd.explain(again, X, method=method)
    kept = pickle.loads(pickle.dumps(es))
    for feature, e in es.items():
        for twin in (other[feature], kept[feature]):
            np.testing.assert_array_equal(twin.value, e.value)
            np.testing.assert_array_equal(twin.heterogeneity, e.heterogeneity)
    assert kept.ranking() == es.ranking()
    assert kept["x0"].provenance == es["x0"].provenance


# -------------------------------------------------------------------------------------- errors


def test_a_classifier_has_no_prediction():
    for model in (fit(LogisticRegression(), TWO), fit(RidgeClassifier(), TWO)):
        with refused(sd.UnsupportedError, "a classifier", "regressor", "sd.probability"):
            sd.prediction(model)


@pytest.mark.parametrize("what", [sd.probability, sd.logit])
def test_a_classifier_without_probabilities_is_told_what_it_can_do(what):
    for model in (fit(RidgeClassifier(), TWO), fit(svm.LinearSVC(), TWO)):
        with refused(
            sd.UnsupportedError, "without predict_proba", "Calibrate", "decision_function"
        ):
            what(model)
        assert rise(sd.explain(sd.prediction(model.decision_function), X, 0, method="ale")) > 0


def test_mixed_derivatives_are_given_as_a_function():
    with refused(sd.UnsupportedError, "mixed=f), where f(X, j, k) returns one number per row"):
        sd.prediction(lambda X: X[:, 0] * X[:, 1]).mixed(X, 0, 1)

    def f(X, j, k):
        return np.full(len(X), float({j, k} == {0, 1}))

    q = sd.prediction(lambda X: X[:, 0] * X[:, 1], mixed=f)
    np.testing.assert_array_equal(q.mixed(X, 0, 1), np.ones(len(X)))


def test_a_poisson_regression_is_explained_on_its_own_scale():
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    model = fit(PoissonRegressor(), np.exp(TARGET / 10), standard)
    e = sd.explain(model, standard, 0, method=sd.RHALE())
    log = sd.explain(lambda X: np.log(model.predict(X)), standard, 0, method=sd.RHALE())
    assert e.heterogeneity_score > 100 * max(log.heterogeneity_score, 1e-12)
    assert rise(log) == pytest.approx(model.coef_[0] * np.ptp(standard[:, 0]), rel=1e-7)
