"""Mixtures of models, trees and samples: members, entropies, and errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skedasis as sd
from tests.helpers import paired, refused, table

X = table(90)
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.4, 0.4])]
NUMBER = X[:, 0] + 0.3 * X[:, 1] ** 2
PARTS = ("total", "aleatoric", "epistemic")


def probabilities(X, s=0):
    p = 1 / (1 + np.exp(-(s + 1) * X[:, 0]))
    return np.column_stack([1 - p, p])


def mean(X, s=0):
    return X[:, 0] + 0.5 * s * X[:, 1]


def mean_and_std(X, s=0):
    return mean(X, s), 0.3 + 0.2 * s + 0 * X[:, 0]


def parts_of(p):
    """Return the three entropies of the members' probabilities, shape (S, n, k), computed with SciPy."""
    total = scipy.stats.entropy(p.mean(axis=0), axis=1)
    within = scipy.stats.entropy(p, axis=2).mean(axis=0)
    return {"total": total, "aleatoric": within, "epistemic": total - within}


def same_parts(ensemble, p):
    for part, expected in parts_of(np.asarray(p)).items():
        np.testing.assert_allclose(
            sd.entropy(ensemble, part=part).at(X), expected, rtol=1e-10, atol=1e-13
        )


# -------------------------------------------------------------------------------- accepted members


def test_a_list_of_classifiers():
    models = [LogisticRegression(C=c).fit(X, THREE) for c in (0.01, 1.0, 100.0)]
    e = sd.ensemble(models)
    p = [m.predict_proba(X) for m in models]
    same_parts(e, p)
    np.testing.assert_array_equal(e.classes_, ["a", "b", "c"])
    np.testing.assert_allclose(e.predict_proba(X), np.mean(p, axis=0), rtol=1e-13)
    np.testing.assert_allclose(sd.probability(e, "b").at(X), np.mean(p, axis=0)[:, 1], rtol=1e-13)
    code = np.searchsorted(e.classes_, THREE)
    np.testing.assert_allclose(
        sd.nll(e).at(X, THREE), -np.log(np.mean(p, axis=0)[np.arange(len(X)), code]), rtol=1e-12
    )
    assert e.describe() == "ensemble of 3 LogisticRegression"
    assert set(sd.probability(e, "all").at(X)) == {"a", "b", "c"}
    with refused(sd.UnsupportedError, "sd.probability"):
        sd.prediction(e)


def test_weights_are_repetitions():
    models = [LogisticRegression(C=c).fit(X, THREE) for c in (0.01, 1.0, 100.0)]
    weighted = sd.ensemble(models, weights=[1, 0, 2])
    repeated = sd.ensemble([models[0], models[2], models[2]])
    for part in PARTS:
        np.testing.assert_allclose(
            sd.entropy(weighted, part=part).at(X),
            sd.entropy(repeated, part=part).at(X),
            rtol=1e-9,
            atol=1e-14,
        )
    weighted = sd.ensemble(mean_and_std, samples=3, weights=[2, 0, 1])
    repeated = sd.ensemble([mean_and_std, mean_and_std, lambda X: mean_and_std(X, 2)])
    for part in PARTS:
        for make in (sd.entropy, sd.predictive_variance):
            np.testing.assert_allclose(
                make(weighted, part=part).at(X),
                make(repeated, part=part).at(X),
                rtol=1e-9,
                atol=1e-12,
            )


@pytest.mark.parametrize(
    ("wrap", "kind", "framed"),
    paired(
        ["bare", "pipeline", "search"],
        [RandomForestClassifier, ExtraTreesClassifier],
        [True, False],
    ),
)
def test_the_trees_of_a_forest(wrap, kind, framed):
    data = pd.DataFrame(X, columns=["a", "b", "c"]) if framed else X
    forest = kind(8, max_depth=4, random_state=0)
    if wrap == "search":
        model = GridSearchCV(forest, {"max_depth": [4]}, cv=2).fit(data, THREE)
        Z, trees = X, model.best_estimator_.estimators_
    elif wrap == "pipeline":
        model = make_pipeline(StandardScaler(), forest).fit(data, THREE)
        Z, trees = model[:-1].transform(data), model[-1].estimators_
    else:
        model = forest.fit(data, THREE)
        Z, trees = X, model.estimators_
    e = sd.ensemble(model)
    each = [t.predict_proba(np.asarray(Z)) for t in trees]
    for given in (data, X):
        for part, expected in parts_of(np.array(each)).items():
            np.testing.assert_allclose(
                sd.entropy(e, part=part).at(given), expected, rtol=1e-10, atol=1e-13
            )
    np.testing.assert_allclose(e.predict_proba(data), model.predict_proba(data), rtol=1e-12)
    assert e.classes_.tolist() == ["a", "b", "c"]


def test_bagging_with_features_and_classes_left_out():
    rare = THREE.copy()
    rare[:] = "a"
    rare[:30] = "b"
    rare[:3] = "c"
    model = BaggingClassifier(
        KNeighborsClassifier(1), 12, max_samples=12, max_features=2, random_state=0
    ).fit(X, rare)
    assert {len(t.classes_) for t in model.estimators_} != {3}
    each = np.zeros((12, len(X), 3))
    for k, (t, f) in enumerate(zip(model.estimators_, model.estimators_features_, strict=True)):
        each[k][:, t.classes_] = t.predict_proba(X[:, f])
    e = sd.ensemble(model)
    same_parts(e, each)
    np.testing.assert_allclose(e.predict_proba(X), model.predict_proba(X), rtol=1e-12)
    with refused(sd.UnsupportedError, "Perceptron", "predict_proba"):
        sd.ensemble(BaggingClassifier(Perceptron(), 3, random_state=0).fit(X, THREE))


@pytest.mark.parametrize(
    "model",
    [
        RandomForestRegressor(6, random_state=0),
        ExtraTreesRegressor(6, random_state=0),
        BaggingRegressor(LinearRegression(), 6, max_features=2, random_state=0),
        make_pipeline(StandardScaler(), RandomForestRegressor(6, random_state=0)),
    ],
    ids=["forest", "extra", "bagging", "pipeline"],
)
def test_the_trees_of_a_regression_forest_need_noise_for_a_density(model):
    model.fit(X, NUMBER)
    inner = model[-1] if hasattr(model, "steps") else model
    Z = model[:-1].transform(X) if hasattr(model, "steps") else X
    columns = getattr(inner, "estimators_features_", [slice(None)] * 6)
    each = np.array([t.predict(Z[:, f]) for t, f in zip(inner.estimators_, columns, strict=True)])
    silent = sd.ensemble(model)
    np.testing.assert_allclose(
        sd.predictive_variance(silent).at(X), each.var(axis=0), rtol=1e-9, atol=1e-15
    )
    np.testing.assert_allclose(sd.prediction(silent).at(X), model.predict(X), rtol=1e-12)
    for make in (sd.entropy, sd.nll, lambda m: sd.predictive_quantile(m, 0.5)):
        with refused(sd.ModelOutputError, "deviation of 0 for 90 of 90 rows", "noise="):
            make(silent).at(X, NUMBER)
    noisy = sd.ensemble(model, noise=0.2)
    np.testing.assert_allclose(
        sd.predictive_variance(noisy).at(X), each.var(axis=0) + 0.04, rtol=1e-12
    )
    np.testing.assert_allclose(sd.predictive_variance(noisy, part="aleatoric").at(X), 0.04)
    density = scipy.stats.norm.pdf(NUMBER, each, 0.2).mean(axis=0)
    np.testing.assert_allclose(sd.nll(noisy).at(X, NUMBER), -np.log(density), rtol=1e-10)


def test_samples_of_a_function_by_index_and_at_once():
    for f in (probabilities, mean_and_std):
        together = [f(X, s) for s in range(4)]
        if f is probabilities:
            at_once = sd.ensemble(lambda X, f=f: np.array([f(X, s) for s in range(4)]))
            same_parts(at_once, together)
        else:
            at_once = sd.ensemble(
                lambda X, f=f: tuple(np.array([f(X, s)[k] for s in range(4)]) for k in (0, 1))
            )
        by_index = sd.ensemble(f, samples=4)
        for part in PARTS:
            np.testing.assert_array_equal(
                sd.entropy(by_index, part=part).at(X), sd.entropy(at_once, part=part).at(X)
            )
    means = sd.ensemble(lambda X: np.array([mean(X, s) for s in range(4)]), noise=0.5)
    np.testing.assert_array_equal(
        sd.entropy(means).at(X), sd.entropy(sd.ensemble(mean, samples=4, noise=0.5)).at(X)
    )


def test_noise_may_depend_on_the_row():
    def noise(X):
        return 0.1 + X[:, 2] ** 2

    e = sd.ensemble(mean, samples=3, noise=noise)
    np.testing.assert_allclose(
        sd.predictive_variance(e, part="aleatoric").at(X), noise(X) ** 2, rtol=1e-13
    )
    for bad, words in (
        (lambda X: -noise(X), ("noise", "no positive number", "90 of 90")),
        (lambda X: noise(X)[1:], ("shape (89,)",)),
        (lambda X: np.nan * noise(X), ("NaN",)),
    ):
        with refused(sd.ModelOutputError, *words):
            sd.entropy(sd.ensemble(mean, samples=3, noise=bad)).at(X)


def test_members_of_several_kinds():
    ridge = BayesianRidge().fit(X, NUMBER)
    forest = RandomForestRegressor(3, random_state=0).fit(X, NUMBER)
    e = sd.ensemble([ridge, lambda X: scipy.stats.norm(mean(X), 0.5)])
    std = ridge.predict(X, return_std=True)[1]
    np.testing.assert_allclose(
        sd.predictive_variance(e, part="aleatoric").at(X), (std**2 + 0.25) / 2, rtol=1e-12
    )
    assert np.isfinite(
        sd.entropy(sd.ensemble([ridge, lambda X: scipy.stats.gamma(2.0 + X[:, 0] ** 2)])).at(X[:5])
    ).all()
    inner = sd.ensemble([ridge, mean_and_std])
    nested = sd.ensemble([inner, inner, mean_and_std], weights=[1, 1, 2])
    flat = sd.ensemble([ridge, mean_and_std], weights=[1, 3])
    np.testing.assert_allclose(sd.entropy(nested).at(X), sd.entropy(flat).at(X), rtol=1e-10)
    means = sd.ensemble([forest, LinearRegression().fit(X, NUMBER)], noise=1.0)
    assert np.isfinite(sd.entropy(means).at(X)).all()


# ------------------------------------------------------------------------------------------ errors


def test_slopes_are_refused_only_where_all_members_are_steps():
    tree = ExtraTreesRegressor(3, random_state=0).fit(X, NUMBER).estimators_[0]
    line = LinearRegression().fit(X, NUMBER)
    for other, stepped in ((tree, True), (line, False), (mean, False)):
        assert sd.entropy(sd.ensemble([tree, other], noise=0.5)).stepped == stepped


def test_one_has_nothing_to_disagree_with():
    model = LogisticRegression().fit(X, THREE)
    for make in (
        lambda: sd.ensemble([model]),
        lambda: sd.ensemble([]),
        lambda: sd.ensemble(probabilities, samples=1),
        lambda: sd.ensemble(RandomForestClassifier(1).fit(X, THREE)),
        lambda: sd.entropy(sd.ensemble(lambda X: probabilities(X)[None])).at(X),
    ):
        with refused(sd.DataError, "two or more"):
            make()


def test_members_have_the_same_classes():
    two = np.where(X[:, 0] > 0, "a", "b")
    models = [LogisticRegression().fit(X, y) for y in (THREE, two)]
    with refused(sd.DataError, "['a', 'b', 'c']", "['a', 'b']"):
        sd.ensemble(models)
    with refused(sd.DataError, "members with the classes"):
        sd.entropy(sd.ensemble([models[1], probabilities])).at(X)
    with refused(sd.DataError, "predict classes and members that predict numbers"):
        sd.ensemble([models[0], BayesianRidge().fit(X, NUMBER)])
    for pair in ([mean_and_std, probabilities], [probabilities, mean_and_std]):
        with refused(sd.ModelOutputError, "one kind"):
            sd.entropy(sd.ensemble(pair)).at(X)
    with refused(sd.ModelOutputError, "continuous"):
        sd.entropy(sd.ensemble([mean_and_std, lambda X: scipy.stats.poisson(1 + X[:, 0] ** 2)])).at(
            X
        )


@pytest.mark.parametrize("weights", [[1, 2], [1, -1, 1], [0, 0, 0], [1, np.nan, 1], "abc"])
def test_weights_are_one_number_a_member(weights):
    with refused(sd.DataError, "weights"):
        sd.ensemble(mean_and_std, samples=3, weights=weights)


def test_arguments_that_say_nothing_are_refused():
    forest = RandomForestClassifier(3).fit(X, THREE)
    for options in ({"samples": 5}, {"output": "logits"}):
        for model in (forest, [forest, forest]):
            with refused(sd.DataError, *options):
                sd.ensemble(model, **options)
    for samples in (0, 2.5, True):
        with pytest.raises(sd.DataError):
            sd.ensemble(probabilities, samples=samples)
    for model in (LogisticRegression().fit(X, THREE), RandomForestRegressor(), "text"):
        with refused(sd.UnsupportedError, "not a mixture", "sd.ensemble([model, model2"):
            sd.ensemble(model)
    both = RandomForestRegressor(3).fit(X, np.stack([NUMBER, NUMBER], axis=1))
    with refused(sd.UnsupportedError, "2 labels at once"):
        sd.ensemble(both)
