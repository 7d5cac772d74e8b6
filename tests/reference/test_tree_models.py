"""Ensembles loaded from fitted models predict what the models predict, in the hardest cases."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from skedasis.trees.ensemble import Ensemble, method_response
from skedasis.trees.readers import load
from tests.reference.tree_cases import few
from tests.reference.tree_evaluation import as_codes, raw_scores

N, D = 300, 5
HUGE = {"sklearn": 1e30, "xgboost": 1e30, "catboost": 1e30, "lightgbm": 1e300}
quiet = {"verbose": -1, "n_jobs": 1, "min_child_samples": 5}


def rows(n: int = N, seed: int = 0) -> np.ndarray:
    """Return features on different scales, with ties, zeros and a column of whole numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * [1.0, 100.0, 1e-6, 1.0, 1.0]
    X[:, 3] = rng.integers(-3, 4, n)
    X[:, 4] = np.where(rng.uniform(size=n) < 0.5, 0.0, X[:, 4])
    return X


def with_missing(X: np.ndarray, share: float = 0.15, seed: int = 1) -> np.ndarray:
    """Return a copy with some values missing."""
    lost = np.random.default_rng(seed).uniform(size=X.shape) < share
    return np.where(lost, np.nan, X)


def number(X: np.ndarray) -> np.ndarray:
    """Return a target that depends on all columns, and on which values are missing."""
    Z = np.nan_to_num(X, nan=1.5) / [1.0, 100.0, 1e-6, 1.0, 1.0]
    return Z[:, 0] * Z[:, 1] + np.sin(2 * Z[:, 2]) + (Z[:, 3] > 0) * Z[:, 4] + Z[:, 3]


def classes(X: np.ndarray, k: int) -> np.ndarray:
    """Return labels of k classes whose order differs from that of the codes."""
    cuts = np.quantile(number(X), np.linspace(0, 1, k + 1)[1:-1])
    return np.array(["c", "a", "b"])[np.searchsorted(cuts, number(X))]


def places(X: np.ndarray, k: int) -> np.ndarray:
    """Return labels as codes from 0, as XGBoost requires."""
    return np.unique(classes(X, k), return_inverse=True)[1]


def probes(e: Ensemble, X: np.ndarray, *, missing: bool, infinite: bool, huge: float) -> np.ndarray:
    """Return held-out rows with many values on a threshold, next to it, or far from all thresholds."""
    rng = np.random.default_rng(5)
    out = rows(60, seed=9)[:, : X.shape[1]]
    for j in range(X.shape[1]):
        own = e.threshold[(e.feature == j) & (e.category < 0)]
        # Splits that only separate missing values have a threshold beyond all numbers.
        own = own[np.abs(own) < 1e38]
        at = rng.choice(own, 30) if len(own) else np.zeros(30)
        out[:10, j], out[10:20, j] = at[:10], np.nextafter(at[10:20], np.inf)
        out[20:30, j] = np.nextafter(np.float32(at[20:]), np.float32(-np.inf))
    special = [0.0, -0.0, huge, -huge, 1e-35, -1e-35, 1e-45, float(np.float32(-1e-35))]
    special += [np.nan] * 6 * missing + [np.inf, -np.inf] * infinite
    drawn = rng.uniform(size=out.shape) < 0.25
    mixed = np.where(drawn, rng.choice(special, out.shape), out)
    return np.concatenate([out, mixed[rng.permutation(60)]])


def natural(model: Any) -> str:
    """Return the method whose numbers are compared."""
    names = ("score_samples", "predict_proba", "predict")
    return next(name for name in names if hasattr(model, name))


def agree(model: Any, X: Any, rtol: float = 1e-10, name: str | None = None) -> Ensemble:
    """Assert that a model's trees give the model's output, up to a fraction of the largest output."""
    ensemble = load(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.asarray(getattr(model, name or natural(model))(X))
    found = method_response(ensemble, raw_scores(ensemble, as_codes(ensemble, X)), name)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=rtol * np.abs(expected).max())
    return ensemble


# ------------------------------------------------------------------------------------ numbers

SKLEARN: dict[str, tuple[str, dict[str, Any], str]] = {
    "tree": ("DecisionTreeRegressor", {}, "number missing"),
    "tree, classes": ("DecisionTreeClassifier", {"max_depth": 4}, "3 missing"),
    "extra tree": ("ExtraTreeRegressor", {"max_leaf_nodes": 9}, "number missing"),
    "extra tree, classes": ("ExtraTreeClassifier", {"max_depth": 3}, "2"),
    "forest": ("RandomForestRegressor", {"n_estimators": 8}, "number missing"),
    "forest, 2 outputs": ("RandomForestRegressor", {"n_estimators": 5}, "pair"),
    "forest, 2 classes": ("RandomForestClassifier", {"n_estimators": 8}, "2 missing"),
    "forest, 3 classes": ("RandomForestClassifier", {"n_estimators": 8}, "3 weights"),
    "extra trees": ("ExtraTreesRegressor", {"n_estimators": 8}, "number missing"),
    "one stump": ("RandomForestRegressor", {"n_estimators": 1, "max_depth": 1}, "number"),
    "one leaf": ("DecisionTreeRegressor", {"min_samples_leaf": 299}, "number"),
    "boosting": ("GradientBoostingRegressor", {"n_estimators": 12}, "number weights"),
    "boosting from zero": (
        "GradientBoostingRegressor",
        {"n_estimators": 5, "init": "zero"},
        "number",
    ),
    "boosting, 2 classes": ("GradientBoostingClassifier", {"n_estimators": 9}, "2"),
    "boosting, 3 classes": ("GradientBoostingClassifier", {"n_estimators": 5}, "3"),
    "boosting, exponential": (
        "GradientBoostingClassifier",
        {"n_estimators": 9, "loss": "exponential"},
        "2",
    ),
    "histograms": ("HistGradientBoostingRegressor", {"max_iter": 12}, "number missing"),
    "histograms, poisson": (
        "HistGradientBoostingRegressor",
        {"max_iter": 9, "loss": "poisson", "monotonic_cst": [0, 0, 0, 1, 0]},
        "count missing weights",
    ),
    "histograms, gamma": (
        "HistGradientBoostingRegressor",
        {"max_iter": 9, "loss": "gamma", "interaction_cst": "pairwise"},
        "positive",
    ),
    "histograms, absolute error, stopped": (
        "HistGradientBoostingRegressor",
        {"max_iter": 40, "loss": "absolute_error", "early_stopping": True, "learning_rate": 0.9},
        "number",
    ),
    "histograms, 2 classes": ("HistGradientBoostingClassifier", {"max_iter": 9}, "2 missing"),
    "histograms, 3 classes": ("HistGradientBoostingClassifier", {"max_iter": 6}, "3 missing"),
    "histograms, one leaf": (
        "HistGradientBoostingRegressor",
        {"max_iter": 2, "min_samples_leaf": 200},
        "number",
    ),
    "isolation": ("IsolationForest", {"n_estimators": 15, "max_features": 3}, "none"),
    "isolation, single rows": ("IsolationForest", {"n_estimators": 3, "max_samples": 1}, "none"),
}


def target(X: np.ndarray, wish: str) -> Any:
    """Return the training target of a kind."""
    made = {
        "number": lambda: number(X),
        "pair": lambda: np.stack([number(X), X[:, 0] - X[:, 3]], axis=1),
        "count": lambda: np.round(np.exp(number(X) / 4)),
        "positive": lambda: np.exp(number(X) / 4),
        "2": lambda: classes(X, 2),
        "3": lambda: classes(X, 3),
        "0 1": lambda: places(X, 2),
        "0 1 2": lambda: places(X, 3),
        "labels": lambda: np.stack([places(X, 2), X[:, 0] > 0], axis=1).astype(int),
        "none": lambda: None,
    }
    return made[wish]()


def fitted(library: str, name: str, options: dict[str, Any], wish: str) -> tuple[Any, np.ndarray]:
    """Return a fitted model and its training rows."""
    if library == "sklearn":
        is_tree = name.startswith(("DecisionTree", "ExtraTreeC", "ExtraTreeR"))
        library = "sklearn.tree" if is_tree else "sklearn.ensemble"
    kind = getattr(pytest.importorskip(library), name)
    X = with_missing(rows()) if "missing" in wish else rows()
    seeded = options if "LGBM" in name else {"random_state": 0, **options}
    y = target(X, wish.replace(" missing", "").replace(" weights", ""))
    weights = np.random.default_rng(3).integers(0, 4, N) if "weights" in wish else None
    model = kind(**seeded)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y) if weights is None else model.fit(X, y, sample_weight=weights)
    return model, X


@pytest.mark.parametrize("case", few(SKLEARN, "tree", "forest, 3 classes", "histograms, 2 classes"))
def test_scikit_learn(case: str) -> None:
    model, X = fitted("sklearn", *SKLEARN[case])
    histograms = "Hist" in type(model).__name__
    may_miss = histograms or "missing" in SKLEARN[case][2]
    huge = 1e300 if histograms else HUGE["sklearn"]
    ensemble = load(model)
    at = probes(ensemble, X, missing=may_miss, infinite=histograms, huge=huge)
    agree(model, at)
    agree(model, rows(20, seed=4).astype(np.float32))
    agree(model, rows(20, seed=4).astype(np.int64))
    if hasattr(model, "decision_function"):
        agree(model, at, name="decision_function")
    if case.endswith("one leaf"):
        assert ensemble.most_leaves == 1
    if "stopped" in case:
        assert ensemble.trees < 40


LIGHTGBM: dict[str, tuple[str, dict[str, Any], str]] = {
    "numbers": ("LGBMRegressor", {}, "number"),
    "missing": ("LGBMRegressor", {}, "number missing"),
    "missing is zero": ("LGBMRegressor", {"use_missing": False}, "number missing"),
    "sample_weight": ("LGBMRegressor", {"monotone_constraints": [0, 0, 0, 1, 0]}, "number weights"),
    "interactions": ("LGBMRegressor", {"interaction_constraints": [[0, 1], [2, 3, 4]]}, "number"),
    "dart": ("LGBMRegressor", {"boosting_type": "dart", "drop_rate": 0.5}, "number missing"),
    "forest": (
        "LGBMRegressor",
        {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6},
        "number missing",
    ),
    "extra trees": ("LGBMRegressor", {"extra_trees": True}, "number"),
    "quantile": ("LGBMRegressor", {"objective": "quantile"}, "number"),
    "poisson": ("LGBMRegressor", {"objective": "poisson"}, "count"),
    "gamma": ("LGBMRegressor", {"objective": "gamma"}, "positive"),
    "tweedie": ("LGBMRegressor", {"objective": "tweedie"}, "positive"),
    "cross entropy": ("LGBMRegressor", {"objective": "cross_entropy"}, "0 1"),
    "2 classes": ("LGBMClassifier", {"objective": "binary", "sigmoid": 1.7}, "2 missing"),
    "2 classes, forest": (
        "LGBMClassifier",
        {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6},
        "2",
    ),
    "3 classes": ("LGBMClassifier", {}, "3 missing"),
    "3 classes, one against the rest": ("LGBMClassifier", {"objective": "multiclassova"}, "3"),
    "one tree": ("LGBMRegressor", {"n_estimators": 1, "num_leaves": 2}, "number"),
    "one leaf": ("LGBMRegressor", {"n_estimators": 3, "min_child_samples": 200}, "number"),
}


@pytest.mark.parametrize("case", few(LIGHTGBM, "missing", "2 classes", "one leaf"))
def test_lightgbm(case: str) -> None:
    name, options, wish = LIGHTGBM[case]
    model, X = fitted("lightgbm", name, {"n_estimators": 12, **quiet, **options}, wish)
    ensemble = load(model)
    at = probes(ensemble, X, missing=True, infinite=True, huge=1e300)
    agree(model, at)
    agree(model, rows(20, seed=4).astype(np.float32))
    agree(model, rows(20, seed=4).astype(np.int64))
    agree(model.booster_, at)
    if case == "one leaf":
        assert ensemble.most_leaves == 1


XGBOOST: dict[str, tuple[str, dict[str, Any], str]] = {
    "numbers": ("XGBRegressor", {}, "number missing"),
    "sample_weight": ("XGBRegressor", {"monotone_constraints": (0, 0, 0, 1, 0)}, "number weights"),
    "interactions": ("XGBRegressor", {"interaction_constraints": "[[0, 1], [2, 3, 4]]"}, "number"),
    "exact": ("XGBRegressor", {"tree_method": "exact", "gamma": 5.0}, "number missing"),
    "by loss": ("XGBRegressor", {"grow_policy": "lossguide", "max_leaves": 9}, "number"),
    "base score": ("XGBRegressor", {"base_score": 3.25}, "number"),
    "dart": ("XGBRegressor", {"booster": "dart", "rate_drop": 0.5}, "number missing"),
    "logistic": ("XGBRegressor", {"objective": "reg:logistic"}, "0 1"),
    "raw logits": ("XGBRegressor", {"objective": "binary:logitraw"}, "0 1"),
    "raw logits, base score": (
        "XGBRegressor",
        {"objective": "binary:logitraw", "base_score": 0.2},
        "0 1",
    ),
    "poisson, base score": (
        "XGBRegressor",
        {"objective": "count:poisson", "base_score": 2},
        "count",
    ),
    "2 quantiles": (
        "XGBRegressor",
        {"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.9]},
        "number",
    ),
    "poisson": ("XGBRegressor", {"objective": "count:poisson"}, "count"),
    "gamma": ("XGBRegressor", {"objective": "reg:gamma"}, "positive"),
    "tweedie": ("XGBRegressor", {"objective": "reg:tweedie"}, "positive"),
    "cox": ("XGBRegressor", {"objective": "survival:cox"}, "positive"),
    "2 outputs": ("XGBRegressor", {}, "pair"),
    "2 labels": ("XGBClassifier", {}, "labels"),
    "2 outputs a leaf": ("XGBRegressor", {"multi_strategy": "multi_output_tree"}, "pair"),
    "2 classes": ("XGBClassifier", {}, "0 1 missing"),
    "2 classes, base score": ("XGBClassifier", {"base_score": 0.2}, "0 1"),
    "3 classes": ("XGBClassifier", {}, "0 1 2 missing"),
    "3 classes by label": ("XGBClassifier", {"objective": "multi:softmax"}, "0 1 2"),
    "3 classes, dart": ("XGBClassifier", {"booster": "dart", "rate_drop": 0.5}, "0 1 2"),
    "forest": ("XGBRFRegressor", {"n_estimators": 7}, "number"),
    "forest, classes": ("XGBRFClassifier", {"n_estimators": 7}, "0 1 2"),
    "one leaf": ("XGBRegressor", {"n_estimators": 2, "gamma": 1e9}, "number"),
}


@pytest.mark.parametrize("case", few(XGBOOST, "numbers", "2 outputs", "3 classes"))
def test_xgboost(case: str) -> None:
    name, options, wish = XGBOOST[case]
    xgb = pytest.importorskip("xgboost")
    model, X = fitted("xgboost", name, {"n_estimators": 8, "n_jobs": 1, **options}, wish)
    ensemble = load(model)
    at = probes(ensemble, X, missing=True, infinite=False, huge=HUGE["xgboost"])
    agree(model, at, 1e-5)
    agree(model, rows(20, seed=4).astype(np.int64), 1e-5)
    raw = raw_scores(ensemble, at)
    margins = model.get_booster().predict(xgb.DMatrix(at), output_margin=True)
    margins = margins.reshape(raw.shape)
    np.testing.assert_allclose(raw, margins, rtol=0, atol=1e-5 * max(np.abs(margins).max(), 1e-3))
    if case == "one leaf":
        assert ensemble.most_leaves == 1


CATBOOST: dict[str, tuple[str, dict[str, Any], str]] = {
    "numbers": ("CatBoostRegressor", {}, "number"),
    "missing": ("CatBoostRegressor", {}, "number missing"),
    "missing is most": ("CatBoostRegressor", {"nan_mode": "Max"}, "number missing"),
    "by depth": ("CatBoostRegressor", {"grow_policy": "Depthwise"}, "number missing"),
    "by loss": (
        "CatBoostRegressor",
        {"grow_policy": "Lossguide", "max_leaves": 9},
        "number weights",
    ),
    "poisson": ("CatBoostRegressor", {"loss_function": "Poisson"}, "count"),
    "tweedie": ("CatBoostRegressor", {"loss_function": "Tweedie:variance_power=1.5"}, "count"),
    "quantile": ("CatBoostRegressor", {"loss_function": "Quantile:alpha=0.9"}, "number"),
    "2 outputs": ("CatBoostRegressor", {"loss_function": "MultiRMSE"}, "pair"),
    "2 classes": ("CatBoostClassifier", {}, "2 missing"),
    "3 classes": ("CatBoostClassifier", {}, "3 missing"),
    "3 classes, by depth": ("CatBoostClassifier", {"grow_policy": "Depthwise"}, "3"),
    "3 classes, one against the rest": (
        "CatBoostClassifier",
        {"loss_function": "MultiClassOneVsAll"},
        "3",
    ),
    "2 labels": ("CatBoostClassifier", {"loss_function": "MultiLogloss"}, "labels"),
    "one tree": ("CatBoostRegressor", {"iterations": 1, "depth": 1}, "number"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CATBOOST)
def test_catboost(case: str) -> None:
    name, options, wish = CATBOOST[case]
    fixed = {"iterations": 6, "depth": 4, "verbose": 0, "allow_writing_files": False}
    model, X = fitted("catboost", name, {**fixed, "thread_count": 1, **options}, wish)
    may_miss = "missing" in wish
    at = probes(load(model), X, missing=may_miss, infinite=True, huge=HUGE["catboost"])
    agree(model, at)
    agree(model, rows(20, seed=4).astype(np.int64))
