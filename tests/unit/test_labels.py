"""Classifiers of several labels: each label is an output with classes of its own."""

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
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
from tests.helpers import refused

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
    "extra trees": lambda: ExtraTreesClassifier(4, random_state=0),
    "tree": lambda: DecisionTreeClassifier(max_depth=3, random_state=0),
    "neighbours": lambda: KNeighborsClassifier(7),
    "several": lambda: MultiOutputClassifier(LOGISTIC),
    "chain": lambda: ClassifierChain(LOGISTIC),
    "one versus rest": lambda: OneVsRestClassifier(LOGISTIC),
    "perceptron": lambda: MLPClassifier((3,), max_iter=2000, tol=1e-2, random_state=0),
    "pipeline": lambda: make_pipeline(StandardScaler(), OneVsRestClassifier(LOGISTIC)),
    "search": lambda: GridSearchCV(OneVsRestClassifier(LOGISTIC), {"estimator__C": [1.0]}, cv=2),
    "xgboost": xgboost,
    "catboost": catboost,
}
"""Kinds of models, whose probabilities are lists of arrays, or columns of the second classes."""

KINDS = [
    pytest.param(kind, marks=pytest.mark.optional) if kind == "catboost" else kind
    for kind in MODELS
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


@pytest.mark.parametrize("kind", ["forest", "extra trees", "tree", "neighbours", "several"])
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


def test_a_label_of_one_class_is_constant():
    y = np.column_stack([np.zeros(90, int), TWO[:, 0]])
    every = sd.probability(RandomForestClassifier(3).fit(X, y), class_="all").at(X)
    assert list(every) == ["0 = 0", 1]
    assert (every["0 = 0"] == 1).all()


def test_classes_with_names_are_named():
    y = np.where(TWO == 1, "yes", "no")
    model = RandomForestClassifier(4, random_state=0).fit(X, y)
    named = sd.probability(model, class_={1: "no"})
    assert named.name == "P(label 1 = no)"
    assert sd.logit(KNeighborsClassifier(90).fit(X, y), class_=1).name == "logit P(label 1 = yes)"
    assert np.allclose(named.at(X), model.predict_proba(X)[1][:, 0], rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ask", [sd.entropy, sd.nll, lambda m: sd.loss(m, "log_loss")])
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


@pytest.mark.parametrize("kind", KINDS)
def test_losses_are_of_one_label(kind):
    model = MODELS[kind]().fit(X, TWO)
    with refused(sd.ModelOutputError, "sd.loss(model, 'zero_one', output=0)"):
        sd.loss(model, "zero_one").at(X, TWO[:, 0])
    wrong = np.asarray(model.predict(X))[:, 1] != TWO[:, 1]
    assert np.array_equal(sd.loss(model, "zero_one", output=1).at(X, TWO[:, 1]), wrong)
    brier = sd.loss(sd.probability(model, class_={1: 0})).at(X, TWO[:, 1])
    assert np.allclose(brier, (second(model, 1) - TWO[:, 1]) ** 2, rtol=1e-6, atol=1e-12)


WITHOUT_PROBABILITIES = {
    "several": (MultiOutputClassifier(LinearSVC()), UNEQUAL),
    "one versus rest": (OneVsRestClassifier(LinearSVC()), TWO),
    "ridge": (RidgeClassifier(), TWO),
    "pipeline": (make_pipeline(StandardScaler(), RidgeClassifierCV()), TWO),
    "search": (GridSearchCV(RidgeClassifier(), {"alpha": [1.0]}, cv=2), TWO),
}


@pytest.mark.parametrize("kind", WITHOUT_PROBABILITIES)
@pytest.mark.parametrize(
    "ask",
    [
        sd.probability,
        lambda m: sd.logit(m, class_={0: 1}),
        lambda m: sd.probability(m, class_="all"),
        lambda m: sd.explain(m, X, 0),
        sd.entropy,
    ],
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


def test_ridge_of_one_label_has_scores():
    model = RidgeClassifier().fit(X, UNEQUAL[:, 0])  # classes 0, 1, 2, as three labels have
    with refused(sd.UnsupportedError, "sd.prediction(model.decision_function)"):
        sd.probability(model)


@pytest.mark.parametrize("kind", ["one versus rest", "ridge"])
def test_scores_of_labels_are_drawn(kind):
    model = WITHOUT_PROBABILITIES[kind][0].fit(X, TWO)
    drawn = sd.EffectDisplay.from_estimator(model, X, [0], target=1, kind="average", method="PDP")
    expected = sd.explain(lambda X: model.decision_function(X)[:, 1], X, 0, method="PDP")
    assert np.array_equal(drawn.effects[0].value, expected.value)
    with refused(sd.DataError, "target=2"):
        sd.EffectDisplay.from_estimator(model, X, [0])
    bare = WITHOUT_PROBABILITIES["several"][0].fit(X, UNEQUAL)
    with refused(sd.UnsupportedError, "model.predict(X)[:, 0] == 2"):
        sd.EffectDisplay.from_estimator(bare, X, [0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "class_",
    [
        *(None, 7, True, {7: 1}, {True: 1}, {0: 7}, {0: 1, 1: 1}),
        *([1], np.array([1, 2]), {0: np.array([0, 1])}),
    ],
    ids=str,
)
def test_labels_that_are_not_chosen_are_listed(kind, class_):
    model = MODELS[kind]().fit(X, TWO)
    for ask in (sd.probability, sd.logit):
        name = ask.__name__
        with refused(sd.ModelOutputError, f"sd.{name}(model, class_={{0: 1}})", "class_='all'"):
            ask(model, class_=class_)
    with refused(sd.ModelOutputError, "class_={0: 1}"):
        sd.explain(model, X)


def report(models, X, feature):
    sd.report(models, X, path="a.html", features=[feature], uncertainty=False)


@pytest.mark.parametrize("call", [sd.explain, sd.regions, report])
def test_names_of_models_differ_as_text(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    models = [lambda X: X[:, 0], lambda X: X[:, 1]]
    with refused(sd.DataError, "models: names", "[1, '1']"):
        call(dict(zip([1, "1"], models, strict=True)), X, 0)
    call(dict(zip([1, "2"], models, strict=True)), X, 0)


def test_models_of_other_labels_are_not_compared():
    two, unequal = (RandomForestClassifier(3).fit(X, y) for y in (TWO, UNEQUAL))
    with refused(sd.DataError, "models: classes"):
        sd.explain([sd.probability(m, class_=1) for m in (two, unequal)], X)
    same = [sd.probability(m, class_="all") for m in (unequal, unequal)]
    assert list(sd.explain(same, X, 0)) == ["0 = 0", "0 = 1", "0 = 2", 1]


def test_results_of_labels_are_saved_and_drawn(tmp_path):
    model = RandomForestClassifier(3, random_state=0).fit(X, UNEQUAL)
    found = sd.explain(sd.probability(model, class_="all"), X, 0)
    found.save(tmp_path / "labels.npz")
    again = sd.load(tmp_path / "labels.npz")
    assert list(again) == list(found)
    assert "P(label 0 = 2)" in repr(again["0 = 2"])
    found.plot()


def test_shares_of_labels_take_no_labels_of_one():
    model = RandomForestClassifier(3, random_state=0).fit(X, TWO)
    every = sd.ledger(sd.probability(model, class_="all"), X, y=TWO[:, 0])
    assert list(every) == [0, 1, 2]
    sd.ledger(sd.probability(model, class_=0), X, y=TWO[:, 0])


def test_a_report_has_every_class_or_label(tmp_path):
    labels = RandomForestClassifier(3, random_state=0).fit(X, TWO)
    classes = LogisticRegression().fit(X, np.digitize(X[:, 0], [-0.7, 0, 0.7]))
    sd.report(labels, X, path=tmp_path / "a.html", features=[0], uncertainty=False)
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "P(label 2)" in page
    assert ">Label<" in page
    y = np.digitize(X[:, 0], [-0.7, 0, 0.7])
    sd.report(classes, X, y, path=tmp_path / "b.html", features=[0], uncertainty=False)
    page = (tmp_path / "b.html").read_text(encoding="utf-8")
    assert "P(y = 3)" in page
    assert ">Class<" in page
    # The code of the page explains what the page shows.
    assert "sd.explain(sd.probability(model, class_=" in page
    with refused(sd.ModelOutputError, "[0, 1, 2, 3]"):
        sd.explain(classes, X)
