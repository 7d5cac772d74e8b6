"""Values that a tree model refuses: trees do not answer in its place. And how closely trees are compared with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from skedasis.quantities import tree_evaluator
from skedasis.trees import readers
from tests.reference.tree_cases import same

pytest.importorskip("sklearn")
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 3))
Y = X[:, 0] * X[:, 1] + X[:, 0]
SEEN = X * [1, 1, 0]  # training rows: no tree tests column 2
SECOND, ROW = 1, 3


def boosted() -> Any:
    return GradientBoostingRegressor(n_estimators=5, random_state=0)


def forest() -> Any:
    return RandomForestRegressor(3, max_depth=4, random_state=0)


def with_one(value: float, column: int = SECOND) -> np.ndarray:
    """Return rows of which one, that no check of the model looks at, has this value."""
    rows = X.copy()
    rows[ROW, column] = value
    return rows


def outcome(work: Callable[[str], object], tree: str) -> tuple[type, str, list[str]]:
    """Return the exception of an explanation, and its notes."""
    with pytest.raises(ValueError) as caught, np.errstate(over="ignore"):  # noqa: PT011 - any
        work(tree)
    return type(caught.value), str(caught.value), caught.value.__notes__


WAYS = {
    "ale": lambda m, X, t: sd.explain(m, X, 0, method=sd.ALE(bins=5), tree=t),
    "pdp": lambda m, X, t: sd.explain(m, X, 0, method=sd.PDP(grid=3), tree=t),
    "pair": lambda m, X, t: sd.explain(m, X, (0, 2), method=sd.ALE(bins=3), tree=t),
    "pfi": lambda m, X, t: sd.explain(sd.loss(m), X, 0, method="pfi", y=Y, tree=t),
    "change": lambda m, X, t: sd.what_if(m, X, {"x0": 1}, tree=t),
    "interactions": lambda m, X, t: sd.interactions(m, X, max_rows=50, tree=t),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("model", "value", "message"),
    [(boosted, np.nan, "contains NaN"), (forest, 1e60, "too large for dtype")],
)
def test_a_row_that_the_model_refuses_raises_its_exception(
    model: Callable[[], Any], value: float, message: str, way: str
) -> None:
    fitted = model().fit(SEEN, Y)
    for column in (SECOND, 2) if way != "pair" else (SECOND,):
        rows = with_one(value, column)
        off, auto = (outcome(lambda t, X=rows: WAYS[way](fitted, X, t), t) for t in ("off", "auto"))
        assert auto[:2] == off[:2]
        assert message in auto[1]
        assert any(note.startswith("raised while skedasis called") for note in auto[2])


@pytest.mark.parametrize(("grid", "scaled"), [([0.0, 1e60], False), ([0.0, -1e60], True)])
def test_an_inserted_value_that_the_model_refuses_raises_its_exception(
    grid: list[float], scaled: bool
) -> None:
    model = (make_pipeline(StandardScaler(), boosted()) if scaled else boosted()).fit(SEEN, Y)
    for column in (0, 2):
        for method in (sd.PDP(grid=np.array(grid)), sd.ICE(grid=np.array(grid))):

            def work(tree: str, column: int = column, method: Any = method) -> object:
                return sd.explain(model, X, column, method=method, tree=tree)

            assert outcome(work, "auto")[:2] == outcome(work, "off")[:2]


ACCEPTED = {
    "forest": (forest, np.nan),
    "histograms": (lambda: HistGradientBoostingRegressor(max_iter=5), np.nan),
    "histograms of any range": (lambda: HistGradientBoostingRegressor(max_iter=5), 1e60),
    "imputed": (lambda: make_pipeline(SimpleImputer(), boosted()), np.nan),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_rows_that_the_model_accepts_are_evaluated_by_trees(name: str) -> None:
    model, value = ACCEPTED[name]
    fitted, rows = model().fit(X, Y), with_one(value)
    method = sd.ALE(bins=5)
    found = sd.explain(fitted, rows, SECOND, method=method)
    assert found.provenance["effect_rows"] == 0
    same(found, sd.explain(fitted, rows, SECOND, method=method, tree="off"))


def libraries() -> dict[str, Any]:
    """Return a model of each kind of each library."""
    models = {
        "tree": DecisionTreeRegressor(max_depth=2),
        "forest": forest(),
        "extra trees": ExtraTreesRegressor(20, random_state=0),
        "boosting": boosted(),
        "histograms": HistGradientBoostingRegressor(max_iter=20),
        "isolation": IsolationForest(n_estimators=5, random_state=0),
    }
    try:
        import lightgbm

        models["lightgbm"] = lightgbm.LGBMRegressor(n_estimators=20, n_jobs=1, verbose=-1)
    except ImportError:
        pass
    try:
        import xgboost

        models["xgboost"] = xgboost.XGBRegressor(n_estimators=20, n_jobs=1)
        models["xgboost forest"] = xgboost.XGBRFRegressor(n_estimators=20, n_jobs=1)
    except ImportError:
        pass
    return models


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_readers_know_which_values_their_models_accept() -> None:
    for name, model in libraries().items():
        read = readers.load(model.fit(X, Y))
        for value in (0.5, np.nan, 1e60, -1e60, 3e38, np.inf):
            try:
                model.predict(with_one(value))
            except ValueError:
                accepted = False
            else:
                accepted = True
            assert read.outside(np.array([value]))[0] != accepted, (name, value)


# --- the comparison of trees with their model -----------------------------------------------------


@pytest.mark.parametrize(("offset", "scale"), [(0.0, 1e-6), (1e6, 1.0), (1e6, 1e6)])
def test_trees_that_are_read_rightly_are_used(offset: float, scale: float) -> None:
    y = offset + scale * Y
    for model in libraries().values():
        fitted = model.fit(X, y)
        if isinstance(model, IsolationForest):
            about = [sd.prediction(fitted.predict)]
        else:
            about = [sd.prediction(fitted), sd.loss(fitted)]
        for quantity in about:
            labels = y if quantity.labelled else None
            sd.explain(quantity, X, 0, method=sd.ALE(bins=3), y=labels, tree="force")


_load = readers.load


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        ("tree", 1.0),
        ("forest", 1.0),
        ("boosting", 1e-3),
        ("histograms", 1e-3),
        # Labels, and sums of leaves, in single precision, whose numbers near 1e6 are 0.06 apart.
        ("lightgbm", 1.0),
        ("xgboost", 100.0),
    ],
)
def test_a_wrong_leaf_is_found_where_responses_are_large(
    name: str, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = libraries()
    if name not in models:
        pytest.skip(f"{name} is not installed")
    y = 1e6 + scale * Y
    model = models[name].fit(X, y)
    responses = model.predict(X)

    def wrong(model: Any) -> Any:
        read = _load(model)
        value = read.value.copy()
        value[np.flatnonzero(read.feature < 0)[:2]] += 0.05 * np.ptp(responses)
        return replace(read, value=value)

    monkeypatch.setattr(tree_evaluator, "_WARNED", set())
    monkeypatch.setattr(readers, "load", wrong)
    with pytest.warns(sd.TreeWarning, match="differ by up to"):
        sd.explain(model, X, 0, method=sd.ALE(bins=5))


def test_wrong_probabilities_are_found_where_they_hardly_differ(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, RNG.random(500) < 0.5)
    read = _load(model)
    off = replace(read, base=read.base + 1e-6 * np.array([1.0, -1.0]))
    monkeypatch.setattr(tree_evaluator, "_WARNED", set())
    monkeypatch.setattr(readers, "load", lambda _: off)
    with pytest.warns(sd.TreeWarning, match="differ by up to"):
        sd.explain(sd.probability(model), X, 0, method=sd.ALE(bins=5))
