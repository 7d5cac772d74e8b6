"""Quantities of tree models are known to be piecewise constant, with tree evaluation and without."""

from __future__ import annotations

import pickle
import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor, RadiusNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    QuantileTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import skedasis as sd
from skedasis.data.dataset import as_dataset
from skedasis.models.adapters import DerivativeInfo
from skedasis.models.piecewise_constant import is_piecewise_constant
from skedasis.models.registry import adapt_model
from skedasis.quantities.evaluator import probe_model
from skedasis.quantities.tree_evaluator import use_trees_if_exact
from tests.reference.tree_cases import (
    MODELS,
    grown,
    labels,
    labels_of,
    number,
    quantities,
    rows,
    turns,
)

X, NUMBERS, LABELS = rows(), number(rows()), labels(rows())
PAIR = np.stack([NUMBERS, X[:, 0]], axis=1)
TREE, VOTER = DecisionTreeRegressor(max_depth=3), DecisionTreeClassifier(max_depth=3)


def derivative_info(quantity: Any, source: Any) -> list[DerivativeInfo]:
    """Return a quantity's derivative information for every feature."""
    return [quantity.derivative_info(f) for f in source.features]


def known(found: list[DerivativeInfo]) -> bool:
    """Return whether a quantity is known to be piecewise constant in all features."""
    return all(t.kind == "steps" and t.exact and not t.given for t in found)


@pytest.mark.parametrize(
    ("case", "kind"), turns(MODELS, ["float", "integer"], "boosting 2", "histograms", "lightgbm 3")
)
def test_a_model_and_its_trees_have_the_same_traits(case: str, kind: str) -> None:
    at = grown(case)[1]
    at = np.rint(at * [40.0, 0.01, 1.0, 3.0, 2.0]) if kind == "integer" else at
    if kind == "integer" and not np.isnan(at).any():
        at = at.astype(int)
    for name, quantity in quantities(case).items():
        source = quantity.prepare(as_dataset(at, labels_of(case)))
        called = derivative_info(quantity, source)
        assert known(called), name
        assert all(t.breakpoints is None for t in called)
        if name == "entropy of a method":  # which always calls the model
            continue
        found = probe_model([quantity], source)
        stand_in = use_trees_if_exact(
            {None: quantity}, source, "force", found, means=False
        ).outputs[None]
        walked = derivative_info(stand_in, source)
        assert known(walked), name
        assert all(t.breakpoints is not None for t in walked)


# ----------------------------------------------------------------------------- tree models


class Declared:
    """A user-defined model that declares its own derivatives."""

    piecewise_constant = True

    def predict(self, X: Any) -> Any:
        return np.floor(X[:, 0])


MADE: dict[str, Any] = {
    "declared": Declared,
    "behind two pipelines": lambda: make_pipeline(
        StandardScaler(), make_pipeline(QuantileTransformer(n_quantiles=50), VOTER)
    ).fit(X, LABELS),
    "calibrated": lambda: CalibratedClassifierCV(VOTER, cv=2).fit(X, LABELS),
    "voting": lambda: VotingClassifier([("a", VOTER), ("b", VOTER)], voting="soft").fit(X, LABELS),
    "stacked below a ridge": lambda: StackingRegressor([("a", TREE)], Ridge()).fit(X, NUMBERS),
    "stacked below a tree": lambda: StackingClassifier(
        [("a", LogisticRegression())], VOTER, cv=2
    ).fit(X[:, [0, 2]], LABELS),
    "bagging": lambda: BaggingClassifier(VOTER, 3, max_features=3).fit(X, LABELS),
    "neighbours": lambda: RadiusNeighborsRegressor(1e4).fit(X, NUMBERS),
    "labels of a network": lambda: MLPClassifier((3,), max_iter=5).fit(X, LABELS).predict,
    "a method of a pipeline": lambda: make_pipeline(StandardScaler(), TREE).fit(X, NUMBERS).predict,
    "derived": lambda: type("Own", (RandomForestRegressor,), {})(3).fit(X, NUMBERS),
    "mixture": lambda: sd.ensemble(
        [TREE.fit(X, NUMBERS), RandomForestRegressor(3).fit(X, PAIR[:, 0])]
    ),
    "mixture of methods": lambda: sd.ensemble([VOTER.fit(X, LABELS).predict_proba] * 2),
}


@cache
def made(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MADE[name]()


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_of_trees_is_known(name: str) -> None:
    assert is_piecewise_constant(made(name))


@pytest.mark.parametrize(
    "name", ["calibrated", "voting", "behind two pipelines", "stacked below a tree"]
)
def test_so_is_every_quantity_of_a_classifier(name: str) -> None:
    model, at = made(name), X[:, [0, 2]] if name == "stacked below a tree" else X
    source = as_dataset(at, LABELS)
    every = [sd.probability(model), sd.logit(model), sd.entropy(model), sd.nll(model)]
    every += [sd.loss(model, "zero_one"), sd.loss(sd.probability(model))]
    every += [sd.prediction(model.predict_proba, output=1), sd.entropy(model.predict_proba)]
    mixture = sd.ensemble([model, model])
    every += [sd.entropy(mixture, part=part) for part in ("total", "aleatoric", "epistemic")]
    for quantity in every:
        assert known(derivative_info(quantity, source)), quantity.describe()


# --------------------------------------------------------------------- boosters and rankers

QUERIES = [60, 60, 60]
RANKS = np.digitize(NUMBERS, np.quantile(NUMBERS, [0.3, 0.7]))


def boosted(name: str) -> Any:
    """Return a fitted model of another library."""
    if name.startswith("lightgbm"):
        lightgbm = pytest.importorskip("lightgbm")
        usual = {"n_estimators": 5, "n_jobs": 1, "verbose": -1, "min_child_samples": 5}
        if name == "lightgbm ranker":
            return lightgbm.LGBMRanker(**usual).fit(X, RANKS, group=QUERIES)
        model = lightgbm.LGBMRegressor(**usual).fit(X, NUMBERS)
        return model if name == "lightgbm" else model.booster_
    if name.startswith("catboost"):
        catboost = pytest.importorskip("catboost")
        usual = {"iterations": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
        if name == "catboost ranker":
            return catboost.CatBoostRanker(**usual).fit(X, RANKS, group_id=np.repeat([0, 1, 2], 60))
        return catboost.CatBoost(usual).fit(X, NUMBERS)
    xgboost = pytest.importorskip("xgboost")
    usual = {"n_estimators": 4, "n_jobs": 1}
    if name == "xgboost ranker":
        return xgboost.XGBRanker(**usual).fit(X, RANKS, group=QUERIES)
    if name == "xgboost forest":
        return xgboost.XGBRFRegressor(**usual).fit(X, NUMBERS)
    model = xgboost.XGBRegressor(**usual).fit(X, NUMBERS)
    return model if name == "xgboost" else model.get_booster()


@pytest.mark.parametrize(
    "name",
    [
        "lightgbm",
        "lightgbm booster",
        "lightgbm ranker",
        "xgboost",
        "xgboost booster",
        "xgboost ranker",
        "xgboost forest",
        pytest.param("catboost", marks=pytest.mark.slow),
        pytest.param("catboost ranker", marks=pytest.mark.slow),
    ],
)
def test_boosters_and_rankers_are_known(name: str) -> None:
    model = boosted(name)
    for quantity in (sd.prediction(model), sd.loss(model)):
        source = quantity.prepare(as_dataset(X, NUMBERS))
        assert known(derivative_info(quantity, source))
        found = probe_model([quantity], source)
        walked = use_trees_if_exact({None: quantity}, source, "force", found, means=False).outputs[
            None
        ]
        assert known(derivative_info(walked, source))
    again = pickle.loads(pickle.dumps(sd.prediction(model)))
    assert known(derivative_info(again, as_dataset(X)))


# ------------------------------------------------- models that are not piecewise constant


class Rescaled(DecisionTreeRegressor):
    """A subclass of a tree whose predictions are not piecewise constant."""

    def predict(self, X: Any, check_input: bool = True) -> Any:
        return super().predict(X) * np.asarray(X)[:, 0]


BENT: dict[str, Any] = {
    "nothing": lambda: None,
    "a function": lambda: len,
    "a line": lambda: LinearRegression().fit(X, NUMBERS).predict,
    "derived": lambda: Rescaled(max_depth=3).fit(X, NUMBERS),
    "neighbours by distance": lambda: KNeighborsRegressor(3, weights="distance").fit(X, NUMBERS),
    "from a fitted line": lambda: GradientBoostingRegressor(
        n_estimators=2, init=LinearRegression()
    ).fit(X, NUMBERS),
    "calibrated": lambda: CalibratedClassifierCV(LogisticRegression(), cv=2).fit(
        X[:, [0, 2]], LABELS
    ),
    "stacked beside X": lambda: StackingRegressor([("a", TREE)], Ridge(), passthrough=True).fit(
        X, NUMBERS
    ),
    "voting with a line": lambda: VotingRegressor([("a", TREE), ("b", Ridge())]).fit(X, NUMBERS),
    "behind a scaler": lambda: make_pipeline(StandardScaler(), Ridge()).fit(X, NUMBERS),
    "mixture with a line": lambda: sd.ensemble(
        [TREE.fit(X, NUMBERS), LinearRegression().fit(X, NUMBERS)]
    ),
    "mixture with a function of noise": lambda: sd.ensemble(
        [TREE.fit(X, NUMBERS)] * 2, noise=lambda X: np.exp(X[:, 0])
    ),
}


@pytest.mark.parametrize("name", BENT)
def test_what_bends_is_not(name: str) -> None:
    assert not is_piecewise_constant(BENT[name]())


@pytest.mark.parametrize("setting", ["linear_tree", "linear_trees"])
def test_linear_trees_bend_by_every_name_of_the_setting(setting: str) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMRegressor(n_estimators=2, n_jobs=1, verbose=-1, **{setting: True}).fit(
        X, NUMBERS
    )
    assert not is_piecewise_constant(model)
    assert not is_piecewise_constant(model.booster_)


def test_linear_boosters_bend() -> None:
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=2, booster="gblinear", n_jobs=1).fit(X, NUMBERS)
    assert not is_piecewise_constant(model)
    assert not is_piecewise_constant(adapt_model(model.get_booster()))


# ------------------------------------------------------------------------------ given slopes


def test_slopes_that_were_given_are_told_from_all_others() -> None:
    def line(X: Any) -> Any:
        return X[:, 0]

    def jacobian(X: Any) -> Any:
        return np.ones(X.shape)

    source, feature = as_dataset(X, NUMBERS), as_dataset(X).features[0]
    given = sd.prediction(line, slope=jacobian)
    both = sd.prediction(lambda X: X[:, :2], slope=lambda X: np.ones((len(X), 2, 5)), output="all")
    every = [given, sd.loss(given), sd.loss(given, "absolute_error"), sd.loss(given, "pinball")]
    every += list((both.outputs(source) or {}).values())
    assert all(
        q.derivative_info(feature)
        == DerivativeInfo("slopes", q.derivative_info(feature).description, given=True)
        for q in every
    )
    ridge = Ridge().fit(X, NUMBERS)
    closed = [sd.prediction(ridge), sd.loss(ridge), sd.loss(given, "zero_one"), sd.prediction(line)]
    own = sd.loss(given, lambda y, f: np.abs(y - f))  # has no derivative to propagate
    assert not any(q.derivative_info(feature).given for q in [*closed, own])
    # Given slopes take precedence over what is known of the model.
    forest = RandomForestClassifier(3).fit(X, LABELS)
    surrogate = sd.prediction(lambda X: forest.predict_proba(X)[:, 1], slope=jacobian)
    assert surrogate.derivative_info(feature).given
