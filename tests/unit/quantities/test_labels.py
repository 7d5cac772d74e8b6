"""Classifiers of several labels: each label is an output with classes of its own."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, RidgeClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import skedasis as sd
from tests.helpers import paired, refused

# Forests of several labels are called; a warning says so.
pytestmark = pytest.mark.filterwarnings("ignore:.*its trees cannot be used:skedasis.TreeWarning")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
TWO = np.column_stack([X[:, 0] > 0, X[:, 1] + RNG.normal(size=90) > 0, X[:, 2] > 0.3]).astype(int)
UNEQUAL = np.column_stack([np.digitize(X[:, 0], [-0.5, 0.5]), X[:, 1] > 0]).astype(int)
LOGISTIC = LogisticRegression()


def xgboost():
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1)


def catboost():
    fixed = {"iterations": 4, "depth": 3, "verbose": 0, "allow_writing_files": False}
    return pytest.importorskip("catboost").CatBoostClassifier(loss_function="MultiLogloss", **fixed)


MODELS = {
    "forest": lambda: RandomForestClassifier(4, random_state=0),
    "tree": lambda: DecisionTreeClassifier(max_depth=3, random_state=0),
    "neighbours": lambda: KNeighborsClassifier(7),
    "several": lambda: MultiOutputClassifier(LOGISTIC),
    "chain": lambda: ClassifierChain(LOGISTIC),
    "perceptron": lambda: MLPClassifier((3,), max_iter=2000, tol=1e-2, random_state=0),
    "search": lambda: GridSearchCV(OneVsRestClassifier(LOGISTIC), {"estimator__C": [1.0]}, cv=2),
    "xgboost": xgboost,
    "catboost": catboost,
}
"""Kinds of models, whose probabilities are lists of arrays, or columns of the second classes."""

KINDS = [
    pytest.param(kind, marks=pytest.mark.slow) if kind == "catboost" else kind for kind in MODELS
]


def second(model, label):
    """Return the probability of the second class of a label as the library has it."""
    raw = model.predict_proba(X)
    return raw[label][:, 1] if isinstance(raw, list) else raw[:, label]


@pytest.mark.parametrize("kind", KINDS)
def test_every_label_is_an_output(kind):
    model = MODELS[kind]().fit(X, TWO)
    every = sd.probability(model, class_="all").at(X)
    assert list(every) == [0, 1, 2]
    for label, p in every.items():
        assert np.allclose(p, second(model, label), rtol=1e-6)
        one, other = (sd.probability(model, class_={label: c}) for c in (1, 0))
        assert np.array_equal(one.at(X), p)
        assert np.array_equal(sd.probability(model, class_=label).at(X), p)
        assert np.allclose(other.at(X), 1 - p, rtol=1e-6)
        assert (one.name, other.name) == (f"P(label {label})", f"P(label {label} = 0)")


@pytest.mark.parametrize("kind", KINDS)
def test_effects_are_the_same_with_and_without_trees(kind):
    model = MODELS[kind]().fit(X, TWO)
    every = sd.probability(model, class_="all")
    walked, called = (
        sd.explain(every, X, 0, method=sd.ALE(bins=4), tree=tree) for tree in ("auto", "off")
    )
    grid = np.array([-1.0, 0.5])
    means = sd.explain(every, X, 0, method=sd.PDP(grid=grid, center=None))
    for label in walked:
        assert np.allclose(walked[label].value, called[label].value, rtol=1e-5, atol=1e-6)
        alone = sd.explain(sd.probability(model, class_={label: 1}), X, 0, method=sd.ALE(bins=4))
        assert np.array_equal(alone.value, walked[label].value)
        for k, x in enumerate(grid):
            moved = X.copy()
            moved[:, 0] = x
            raw = model.predict_proba(moved)
            p = raw[label][:, 1] if isinstance(raw, list) else raw[:, label]
            assert means[label].value[k] == pytest.approx(p.mean(), rel=1e-6)


@pytest.mark.parametrize("kind", ["forest", "tree", "neighbours", "several"])
def test_a_label_of_more_classes_has_an_output_for_each(kind):
    model = MODELS[kind]().fit(X, UNEQUAL)
    first, last = model.predict_proba(X)
    every = sd.probability(model, class_="all").at(X)
    assert list(every) == ["0 = 0", "0 = 1", "0 = 2", 1]
    for k in range(3):
        one = sd.probability(model, class_={0: k}).at(X)
        assert np.array_equal(every[f"0 = {k}"], one)
        assert np.allclose(one, first[:, k], rtol=1e-12)
    assert np.allclose(every[1], last[:, 1], rtol=1e-12)
    assert np.allclose(sd.probability(model, class_={1: 0}).at(X), last[:, 0], rtol=1e-12)
    # The message names them, and what it advises works.
    with refused(sd.ModelOutputError, "class_={0: 0}", "class_='all'", "[0, 1, 2]"):
        sd.probability(model, class_=0)
    with refused(sd.UnsupportedError, "lambda X: model.predict_proba(X)[0]"):
        sd.entropy(model)
    entropy = sd.entropy(lambda X: model.predict_proba(X)[0]).at(X)
    logs = np.log(np.where(first > 0, first, 1))
    assert np.allclose(entropy, -(first * logs).sum(axis=1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "ask"),
    [("forest", sd.entropy), ("chain", sd.nll), ("search", lambda m: sd.loss(m, "log_loss"))],
)
def test_several_labels_have_no_distribution_and_the_advice_gives_one(kind, ask):
    model = MODELS[kind]().fit(X, TWO)
    with refused(sd.UnsupportedError, "3 labels at once") as error:
        ask(model)
    advice = str(error.value).split("pass ")[1].rstrip(".")
    function, p = advice.split(", where p = ")
    names = {"np": np, "sd": sd, "model": model}
    f = eval(function, {**names, "p": eval(p, names)})
    q = np.clip(second(model, 0).astype(float), 1e-12, 1 - 1e-12)
    expected = -(q * np.log(q) + (1 - q) * np.log(1 - q))
    assert np.allclose(sd.entropy(f).at(X), expected, atol=1e-6)
    assert sd.nll(f).at(X, TWO[:, 0]).shape == (90,)


WITHOUT_PROBABILITIES = {
    "several": (MultiOutputClassifier(LinearSVC()), UNEQUAL),
    "one versus rest": (OneVsRestClassifier(LinearSVC()), TWO),
    "ridge": (RidgeClassifier(), TWO),
    "pipeline": (make_pipeline(StandardScaler(), RidgeClassifierCV()), TWO),
    "search": (GridSearchCV(RidgeClassifier(), {"alpha": [1.0]}, cv=2), TWO),
}


@pytest.mark.parametrize(
    ("kind", "ask"),
    paired(WITHOUT_PROBABILITIES, [sd.probability, lambda m: sd.explain(m, X, 0), sd.entropy]),
)
def test_without_probabilities_the_advice_explains_one_label(kind, ask):
    unfitted, y = WITHOUT_PROBABILITIES[kind]
    model = unfitted.fit(X, y)
    with refused(sd.UnsupportedError, "predict_proba") as error:
        ask(model)
    advice = str(error.value).split("one class: ")[1].rstrip(".")
    found = eval(advice, {"sd": sd, "model": model})
    last = y[:, 0].max()
    assert np.array_equal(found.at(X), model.predict(X)[:, 0] == last)
    assert np.isfinite(sd.explain(found, X, 0, method=sd.ALE(bins=4)).value).all()


@pytest.mark.parametrize(
    "class_", [None, 7, True, {7: 1}, {0: 7}, {0: 1, 1: 1}, np.array([1, 2])], ids=str
)
def test_labels_that_are_not_chosen_are_listed(class_):
    model = MODELS["forest"]().fit(X, TWO)
    for ask in (sd.probability, sd.logit):
        name = ask.__name__
        with refused(sd.ModelOutputError, f"sd.{name}(model, class_={{0: 1}})", "class_='all'"):
            ask(model, class_=class_)
    with refused(sd.ModelOutputError, "class_={0: 1}"):
        sd.explain(model, X)
