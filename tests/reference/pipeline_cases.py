"""Pipelines of scikit-learn that end in trees: data, transformers of single columns, and tree models."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

N = 150


@cache
def people(n: int = N, seed: int = 0) -> pd.DataFrame:
    """Return numbers with missing values, whole numbers, positive numbers, single precision, text, and categories."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 12, n),
            "rooms": rng.integers(0, 7, n),
            "income": np.exp(rng.normal(3, 1, n)),
            "height": rng.normal(size=n).astype(np.float32),
            "home": rng.choice(["rent", "own", "parents"], n, p=[0.5, 0.4, 0.1]),
            "job": pd.Categorical(rng.choice(["a", "b", "c", "d"], n)),
            "unused": rng.choice(["x", "y"], n),
        }
    )
    frame.loc[rng.uniform(size=n) < 0.15, "age"] = np.nan
    frame.loc[rng.uniform(size=n) < 0.15, "home"] = np.nan
    return frame


def amount(X: pd.DataFrame) -> np.ndarray:
    """Return a target with interactions, to which missing values contribute."""
    age = X["age"].fillna(70.0).to_numpy()
    own = (X["home"] == "own").to_numpy() + 2.0 * X["home"].isna().to_numpy()
    job = X["job"].astype(object).map({"a": 0.0, "b": 1.0, "c": 4.0, "d": 2.0}).to_numpy(float)
    return (
        age / 20
        + own * np.log(X["income"].to_numpy())
        + job * (X["rooms"].to_numpy() > 2)
        + X["height"].to_numpy(float)
    )


NUMBERS, NAMES = ["age", "rooms", "income", "height"], ["home", "job"]


def transformers(which: str) -> Any:
    """Return an unfitted transformer of the columns of `people`, all of whose steps act by columns."""
    compose = pytest.importorskip("sklearn.compose")
    impute = pytest.importorskip("sklearn.impute")
    p = pytest.importorskip("sklearn.preprocessing")
    selection = pytest.importorskip("sklearn.feature_selection")
    pipe = pytest.importorskip("sklearn.pipeline")
    chain, columns = pipe.make_pipeline, compose.ColumnTransformer
    filled = impute.SimpleImputer(strategy="constant", fill_value="unknown")
    dense = p.OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    one_hot = chain(filled, dense)
    cases: dict[str, Any] = {
        "scaled": columns(
            [
                ("n", chain(impute.SimpleImputer(), p.StandardScaler()), NUMBERS),
                ("c", one_hot, NAMES),
            ]
        ),
        "marked": columns(
            [
                ("n", chain(impute.SimpleImputer(add_indicator=True), p.RobustScaler()), NUMBERS),
                ("c", chain(filled, p.OneHotEncoder(drop="first")), NAMES),
            ],
            sparse_threshold=1.0,
        ),
        "missing kept": columns(
            [
                ("p", p.PowerTransformer(), ["age", "income"]),
                ("m", p.MinMaxScaler(clip=True), ["rooms"]),
                (
                    "o",
                    p.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
                    NAMES,
                ),
            ],
            remainder="drop",
        ),
        "twice": columns(
            [
                ("a", impute.SimpleImputer(strategy="median"), ["age", "income"]),
                (
                    "b",
                    chain(
                        impute.SimpleImputer(),
                        p.KBinsDiscretizer(
                            4, encode="onehot-dense", quantile_method="averaged_inverted_cdf"
                        ),
                    ),
                    ["age"],
                ),
                ("q", p.QuantileTransformer(n_quantiles=20), ["income", "rooms"]),
                (
                    "c",
                    p.OneHotEncoder(min_frequency=20, handle_unknown="infrequent_if_exist"),
                    NAMES,
                ),
                ("l", p.FunctionTransformer(np.log1p), ["income"]),
                ("s", "passthrough", ["height"]),
            ],
            transformer_weights={"a": 2.0, "q": -1.0},
            sparse_threshold=0.0,
        ),
        "union": chain(
            columns([("n", impute.SimpleImputer(), NUMBERS)], remainder="drop"),
            pipe.make_union(
                p.MaxAbsScaler(),
                p.SplineTransformer(n_knots=3),
                impute.MissingIndicator(features="all"),
            ),
            selection.VarianceThreshold(),
            "passthrough",
        ),
        "target": columns(
            [
                ("n", "passthrough", ["rooms", "income"]),
                ("t", p.TargetEncoder(), NAMES),
            ],
        ),
    }
    return cases[which]


CASES = ("scaled", "marked", "missing kept", "twice", "union", "target")


QUIET = {"n_jobs": 1, "n_estimators": 8}
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "histograms": ("sklearn.ensemble", "HistGradientBoostingRegressor", {"max_iter": 8}),
    "histograms 2": ("sklearn.ensemble", "HistGradientBoostingClassifier", {"max_iter": 8}),
    "histograms 3": ("sklearn.ensemble", "HistGradientBoostingClassifier", {"max_iter": 5}),
    "boosting": ("sklearn.ensemble", "GradientBoostingRegressor", {"n_estimators": 12}),
    "forest": ("sklearn.ensemble", "RandomForestRegressor", {"n_estimators": 8}),
    "forest 2": ("sklearn.ensemble", "RandomForestClassifier", {"n_estimators": 8}),
    "tree": ("sklearn.tree", "DecisionTreeRegressor", {"max_depth": 5}),
    "lightgbm": ("lightgbm", "LGBMRegressor", {**QUIET, "verbose": -1, "min_child_samples": 5}),
    "lightgbm 2": ("lightgbm", "LGBMClassifier", {**QUIET, "verbose": -1, "min_child_samples": 5}),
    "xgboost": ("xgboost", "XGBRegressor", {**QUIET, "max_depth": 4}),
    "xgboost 2": ("xgboost", "XGBClassifier", {**QUIET, "max_depth": 4}),
    "catboost": (
        "catboost",
        "CatBoostRegressor",
        {"iterations": 8, "verbose": 0, "allow_writing_files": False, "thread_count": 1},
    ),
}


def tree_model(which: str) -> Any:
    """Return an unfitted tree model."""
    module, name, options = MODELS[which]
    kind = getattr(pytest.importorskip(module), name)
    seed = {} if module in ("lightgbm", "catboost") else {"random_state": 0}
    return kind(**options, **seed)


def target(which: str, X: pd.DataFrame) -> np.ndarray:
    """Return the labels for a tree model: numbers, or the classes 0, 1, …."""
    y, classes = amount(X), which[-1]
    if not classes.isdigit():
        return y
    k = int(classes)
    return np.searchsorted(np.quantile(y, np.linspace(0, 1, k + 1)[1:-1]), y)


@cache
def fitted(case: str, which: str, output: str = "default") -> Any:
    """Return a fitted pipeline."""
    pipe = pytest.importorskip("sklearn.pipeline")
    prepare = transformers(case)
    if output == "pandas":
        prepare = prepare.set_output(transform="pandas")
    X = people()
    return pipe.make_pipeline(prepare, tree_model(which)).fit(X, target(which, X))
