"""Rows, models and comparisons that are shared by the tests of tree evaluation."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.results.effect import Effect
from skedasis.results.importance import Importance
from skedasis.results.surface import Surface

N, D = 180, 5
EXACT, SINGLE = 1e-10, 1e-4
"""How far apart the two may be, in units of the largest answer: sums in doubles, and in single precision."""


@cache
def rows(n: int = N, seed: int = 0) -> np.ndarray:
    """Return features on different scales: with ties, whole numbers and many zeros."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * [1.0, 1e3, 1.0, 1.0, 1.0]
    X[:, 2] = rng.integers(-2, 4, n)
    X[:, 3] = np.where(rng.uniform(size=n) < 0.4, 0.0, np.round(X[:, 3], 1))
    X.flags.writeable = False
    return X


def with_missing(X: np.ndarray, share: float = 0.15, seed: int = 1) -> np.ndarray:
    """Return a copy with some values missing."""
    lost = np.random.default_rng(seed).uniform(size=X.shape) < share
    return np.where(lost, np.nan, X)


def number(X: np.ndarray) -> np.ndarray:
    """Return a target with interactions, to which missing values contribute."""
    Z = np.nan_to_num(X, nan=1.5) / [1.0, 1e3, 1.0, 1.0, 1.0]
    return Z[:, 0] * Z[:, 1] + np.sin(Z[:, 2]) + (Z[:, 3] > 0) * Z[:, 0] + 0.3 * Z[:, 4]


def labels(X: np.ndarray, k: int = 2) -> np.ndarray:
    """Return the k classes 3, 4, …, of different sizes."""
    y = number(X)
    return 3 + np.searchsorted(np.quantile(y, np.linspace(0, 1, k + 1)[1:-1] ** 1.4), y)


def few(cases: Iterable[Any], *usual: Any) -> list[Any]:
    """Return cases of a table, of which all but the usual ones are slow."""
    return [pytest.param(c, marks=() if c in usual else pytest.mark.slow) for c in cases]


def turns(cases: Iterable[str], others: Iterable[Any], *usual: str) -> list[Any]:
    """Return each case with one of the others, which take turns; all but the usual cases are slow."""
    pairs = zip(cases, itertools.cycle(others), strict=False)
    return [pytest.param(c, o, marks=() if c in usual else pytest.mark.slow) for c, o in pairs]


QUIET = {"verbose": -1, "n_jobs": 1, "min_child_samples": 5, "n_estimators": 12}
MODELS: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "tree": ("sklearn.tree", "DecisionTreeRegressor", {"max_depth": 4}, "number"),
    "stump": ("sklearn.tree", "DecisionTreeRegressor", {"max_depth": 1}, "number"),
    "leaf": ("sklearn.tree", "DecisionTreeRegressor", {"min_samples_leaf": N - 1}, "number"),
    "forest": ("sklearn.ensemble", "RandomForestRegressor", {"max_depth": 5}, "number missing"),
    "forest 2": ("sklearn.ensemble", "RandomForestClassifier", {}, "2"),
    "forest 3": ("sklearn.ensemble", "RandomForestClassifier", {"max_depth": 5}, "3"),
    "shallow": (
        "sklearn.ensemble",
        "RandomForestClassifier",
        {"max_depth": 2, "min_samples_leaf": 20},
        "2",
    ),
    "two outputs": ("sklearn.ensemble", "RandomForestRegressor", {"max_depth": 4}, "pair"),
    "extra": ("sklearn.ensemble", "ExtraTreesRegressor", {"max_depth": 6}, "number"),
    "boosting": ("sklearn.ensemble", "GradientBoostingRegressor", {}, "number"),
    "boosting 2": ("sklearn.ensemble", "GradientBoostingClassifier", {}, "2"),
    "boosting 3": ("sklearn.ensemble", "GradientBoostingClassifier", {}, "3"),
    "isolation": ("sklearn.ensemble", "IsolationForest", {}, "none"),
    "histograms": ("sklearn.ensemble", "HistGradientBoostingRegressor", {}, "number missing"),
    "histograms 2": ("sklearn.ensemble", "HistGradientBoostingClassifier", {}, "2 missing"),
    "histograms 3": ("sklearn.ensemble", "HistGradientBoostingClassifier", {}, "3"),
    "monotone": (
        "sklearn.ensemble",
        "HistGradientBoostingRegressor",
        {"monotonic_cst": [1, 0, 0, 0, 1], "interaction_cst": "no_interactions"},
        "number",
    ),
    "lightgbm": ("lightgbm", "LGBMRegressor", QUIET, "number missing"),
    "lightgbm poisson": ("lightgbm", "LGBMRegressor", {**QUIET, "objective": "poisson"}, "count"),
    "lightgbm 2": ("lightgbm", "LGBMClassifier", QUIET, "2 missing"),
    "lightgbm 3": ("lightgbm", "LGBMClassifier", QUIET, "3"),
    "lightgbm monotone": (
        "lightgbm",
        "LGBMRegressor",
        {
            **QUIET,
            "monotone_constraints": [1, 0, 0, 0, 1],
            "interaction_constraints": [[0, 1], [2, 3, 4]],
        },
        "number",
    ),
    "xgboost": ("xgboost", "XGBRegressor", {"n_estimators": 9, "n_jobs": 1}, "number missing"),
    "xgboost 3": ("xgboost", "XGBClassifier", {"n_estimators": 5, "n_jobs": 1}, "places"),
    "catboost": (
        "catboost",
        "CatBoostRegressor",
        {"iterations": 9, "verbose": 0, "allow_writing_files": False, "thread_count": 1},
        "number missing",
    ),
}


@cache
def grown(case: str) -> tuple[Any, np.ndarray, Any]:
    """Return a fitted model, its rows and its labels."""
    module, name, options, wish = MODELS[case]
    kind = getattr(pytest.importorskip(module), name)
    X = with_missing(rows()) if "missing" in wish else rows()
    targets = {
        "number": lambda: number(X),
        "pair": lambda: np.stack([number(X), X[:, 0] - X[:, 2]], axis=1),
        "count": lambda: np.round(np.exp(number(X) / 3)),
        "2": lambda: labels(X),
        "3": lambda: labels(X, 3),
        "places": lambda: labels(X, 3) - 3,
        "none": lambda: None,
    }
    y = targets[wish.partition(" ")[0]]()
    fixed: dict[str, Any] = {} if module == "lightgbm" else {"random_state": 0}
    if name.startswith("Hist"):
        fixed |= {"max_iter": 10, "min_samples_leaf": 5}
    elif module == "sklearn.ensemble":
        fixed |= {"n_estimators": 10}
    model = kind(**fixed, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return model, X, y


METHODS: dict[str, Any] = {
    "ale": sd.ALE(bins=8),
    "ale uniform": sd.ALE(bins=sd.Uniform(7), center="start"),
    "ale edges": sd.ALE(bins={0: sd.Edges([-1.0, 0.0, 0.7]), 1: sd.Optimal(max_bins=9)}),
    "ale greedy": sd.ALE(bins=sd.Greedy(max_bins=9)),
    "rhale": sd.RHALE(bins=sd.Optimal(max_bins=15)),
    "rhale quantile": sd.RHALE(bins=sd.Optimal(max_bins=9, grid="quantile")),
    "rhale auto": sd.RHALE(bins=sd.AutoUniform(max_bins=6)),
    "uale": sd.UALE(bins=sd.Optimal(max_bins=9)),
    "pdp": sd.PDP(grid=9),
    "pdp mean": sd.PDP(grid=7, center="mean", spacing="quantile"),
    "pdp alone": sd.PDP(grid=9, heterogeneity=False),
    "pdp slopes": sd.PDP(grid=6, derivative=True),
    "ice anchor": sd.ICE(grid=5, anchor=0.25, ice="all"),
    "ice start": sd.ICE(grid=[-1.0, 0.0, 0.5, 3.0], center="start"),
    "mplot": sd.MPlot(bins=6),
}
SHORT = ("ale", "pdp", "pdp alone", "rhale")
WEIGHTS = np.random.default_rng(4).integers(0, 3, len(rows())).astype(float)


def plain(case: str) -> Any:
    """Return a quantity of a model with one number per row."""
    model, _, _ = grown(case)
    if case in ("catboost", "isolation"):
        return sd.prediction(model.predict)
    if case == "two outputs":
        return sd.prediction(model, output=1)
    if hasattr(model, "predict_proba"):
        return sd.probability(model, class_=model.classes_[1])
    return model


def quantities(case: str) -> dict[str, Any]:
    """Return all kinds of quantities of a model, by name."""
    model, _, _ = grown(case)
    if case == "two outputs":
        of_method = sd.prediction(model.predict, output=0)
        first = sd.prediction(model, output=1)
        return {"prediction": first, "predict": of_method, "loss": sd.loss(first)}
    if not hasattr(model, "predict_proba"):
        # The labels of an outlier detector are explained if `predict` is passed itself.
        predicts = model.predict if case == "isolation" else model
        found = {
            "prediction": sd.prediction(predicts),
            "predict": sd.prediction(model.predict),
            "squared loss": sd.loss(predicts),
            "pinball loss": sd.loss(predicts, "pinball", alpha=0.8),
            "own loss": sd.loss(predicts, _gap),
        }
        if case == "isolation":
            found["score_samples"] = sd.prediction(model.score_samples)
            found["decision_function"] = sd.prediction(model.decision_function)
        return found
    last = model.classes_[-1]
    found = {
        "probability": sd.probability(model, class_=last),
        "entropy": sd.entropy(model),
        "nll": sd.nll(model),
        "brier": sd.loss(sd.probability(model, class_=last)),
        "zero-one loss": sd.loss(model, "zero_one"),
        "labels": sd.prediction(model.predict),
        "predict_proba": sd.prediction(model.predict_proba, output=1),
        "entropy of a method": sd.entropy(model.predict_proba),
    }
    if not case.startswith("forest"):  # a forest's probabilities may be 0 or 1
        found["logit"] = sd.logit(model, class_=last)
    if hasattr(model, "decision_function"):
        several = None if len(model.classes_) == 2 else 1
        found["decision_function"] = sd.prediction(model.decision_function, output=several)
    return found


def labels_of(case: str) -> Any:
    """Return the labels for losses of a model."""
    _, X, y = grown(case)
    return number(X) if case in ("isolation", "two outputs") else y


def _gap(y: Any, prediction: Any) -> Any:
    return np.abs(y - prediction) ** 1.5


def tolerance(case: str) -> float:
    """Return the relative accuracy of a model's library."""
    return SINGLE if case.startswith("xgboost") else EXACT


def alike(
    model: Any,
    X: Any,
    features: Any = None,
    *,
    tol: float = EXACT,
    size: Any = None,
    **options: Any,
) -> Any:
    """Assert that tree evaluation gives the same results as calling the model, without calls, and return them."""
    options = {"progress": False, **options}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning, module="sklearn|lightgbm")
        walked = sd.explain(model, X, features, tree="force", **options)
        called = sd.explain(model, X, features, tree="off", **options)
    for result in singles(walked):
        said = result.provenance
        assert said["effect_rows"] == said["effect_calls"] == 0
        assert said["check_rows"] <= 258  # two more where the number of outputs must be determined
        assert said["trees"].startswith("exact: ")
    for result in singles(called):
        assert "trees" not in result.provenance
        assert "tree_rows" not in result.provenance
    same(walked, called, tol, size)
    return walked


def singles(found: Any) -> list[Any]:
    """Return the single results in nested results."""
    if isinstance(found, (Effect, Surface, Importance)):
        return [found]
    return [one for part in found.values() for one in singles(part)]


def same(got: Any, want: Any, tol: float = EXACT, size: float | None = None) -> None:
    """Assert that results are equal, up to a fraction of the largest number in them, or of `size`."""
    pairs = list(zip(singles(got), singles(want), strict=True))
    if size is None:
        size = max(largest(w) for _, w in pairs)
    for one, other in pairs:
        assert type(one) is type(other)
        if isinstance(one, Importance):
            assert one.features == other.features
            _close(one, other, ("values", "baseline"), tol * size)
            _close(one, other, ("std_error",), 10 * tol * size)
            _close(one.local, other.local, ("before", "after"), tol * size)
            continue
        axes = (one.x, other.x) if isinstance(one.x, tuple) else ((one.x,), (other.x,))
        for x, z in zip(*axes, strict=True):
            np.testing.assert_array_equal(x, z)
        _close(one, other, ("value",), tol * size)
        # The standard deviation of rounding errors is of the order of these errors.
        _close(one, other, ("heterogeneity",), 10 * tol * size)
        if isinstance(one, Effect):
            _same_effect(one, other, tol, size)


def _same_effect(one: Effect, other: Effect, tol: float, size: float) -> None:
    _close(one, other, ("importance", "std_error", "heterogeneity_score"), 10 * tol * size)
    assert (one.missing_point is None) == (other.missing_point is None)
    if one.missing_point is not None:
        _close(
            one.missing_point, other.missing_point, ("effect", "std", "std_error"), 10 * tol * size
        )
    if one.curves is not None:
        _close(one.curves, other.curves, ("value",), tol * size)
    if one.bins is not None:
        np.testing.assert_array_equal(one.bins.count, other.bins.count)


def _close(one: Any, other: Any, names: tuple[str, ...], atol: float) -> None:
    for name in names:
        a, b = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(a, b, rtol=0, atol=atol, err_msg=name)


def largest(result: Any) -> float:
    """Return the largest absolute value of a result."""
    if isinstance(result, Importance):
        return max(np.abs(result.values).max(initial=0.0), abs(result.baseline))
    size = float(np.nanmax(np.abs(result.value), initial=1e-300))
    return (
        max(size, np.nan_to_num(result.heterogeneity).max()) if isinstance(result, Effect) else size
    )


def categories(n: int = N, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return numeric and categorical columns (text, whole numbers) with missing values, and a target of all of them."""
    rng = np.random.default_rng(seed)
    text = rng.choice(["u", "v", "w", "x"], n, p=[0.4, 0.3, 0.2, 0.1])
    code = rng.choice([7, 30, 1], n)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "c": pd.Categorical(text, categories=["x", "w", "v", "u"]),
            "b": np.where(rng.uniform(size=n) < 0.1, np.nan, rng.normal(size=n)),
            "k": pd.Categorical(code, categories=[30, 1, 7]),
        }
    )
    effect = pd.Series(text).map({"u": 0.0, "v": 1.0, "w": -2.0, "x": 3.0}).to_numpy()
    y = frame["a"] * effect + frame["b"].fillna(2.0) + effect + (code == 7) * frame["a"]
    return frame, y.to_numpy()
