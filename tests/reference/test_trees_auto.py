"""Results with `tree="auto"` equal those with `tree="off"`, for about a hundred models: all libraries, their objectives
and boosters, classes, missing values, weights, categories and pipelines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from tests.reference.test_tree_models import (
    CATBOOST,
    LIGHTGBM,
    SKLEARN,
    XGBOOST,
    classes,
    fitted,
    number,
    quiet,
    rows,
)
from tests.reference.tree_cases import categories, few, same, singles

METHODS = sd.ALE(bins=5), sd.PDP(grid=5), sd.RHALE()


def of_table(library: str, name: str, options: dict[str, Any], wish: str) -> tuple[Any, Any]:
    """Return a fitted model of the tables of `test_tree_models`, with few trees, and its rows."""
    common: dict[str, dict[str, Any]] = {
        "lightgbm": {"n_estimators": 12, **quiet},
        "xgboost": {"n_estimators": 8, "n_jobs": 1},
        "catboost": {
            "iterations": 6,
            "depth": 4,
            "verbose": 0,
            "allow_writing_files": False,
            "thread_count": 1,
        },
    }
    return fitted(library, name, {**common.get(library, {}), **options}, wish)


def with_categories(library: str) -> tuple[Any, Any]:
    """Return a model of a data frame with categories, and the frame."""
    X, y = categories()
    if library == "lightgbm":
        kind = pytest.importorskip("lightgbm").LGBMRegressor
        return kind(**{**quiet, "min_data_per_group": 3}).fit(X, y), X
    kind = pytest.importorskip("sklearn.ensemble").HistGradientBoostingRegressor
    return kind(max_iter=10, categorical_features="from_dtype").fit(X, y), X


def composed(name: str) -> tuple[Any, Any]:
    """Return a pipeline, a search or an ensemble of trees, and its rows."""
    from sklearn import ensemble, model_selection, pipeline, preprocessing, tree

    X = rows()
    forest = ensemble.RandomForestRegressor(5, max_depth=5, random_state=0)
    models = {
        "scaler": lambda: pipeline.make_pipeline(preprocessing.StandardScaler(), forest),
        "search": lambda: model_selection.GridSearchCV(forest, {"max_depth": [3, 5]}, cv=2),
        "bagging": lambda: ensemble.BaggingRegressor(n_estimators=5, random_state=0),
        "adaboost": lambda: ensemble.AdaBoostRegressor(n_estimators=5, random_state=0),
        "adaboost, classes": lambda: ensemble.AdaBoostClassifier(
            tree.DecisionTreeClassifier(max_depth=2), n_estimators=5, random_state=0
        ),
    }
    y = classes(X, 2) if "classes" in name else number(X)
    return models[name]().fit(X, y), X


MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    **{f"sklearn {k}": lambda v=v: of_table("sklearn", *v) for k, v in SKLEARN.items()},
    **{f"lightgbm {k}": lambda v=v: of_table("lightgbm", *v) for k, v in LIGHTGBM.items()},
    **{f"xgboost {k}": lambda v=v: of_table("xgboost", *v) for k, v in XGBOOST.items()},
    **{f"catboost {k}": lambda v=v: of_table("catboost", *v) for k, v in CATBOOST.items()},
    **{f"categories {k}": lambda k=k: with_categories(k) for k in ("lightgbm", "sklearn")},
    **{
        f"composed {k}": lambda k=k: composed(k)
        for k in ("scaler", "search", "bagging", "adaboost", "adaboost, classes")
    },
}
CALLED = ("composed bagging", "composed adaboost")
"""Models whose trees are not read."""


def quantities(case: str, model: Any, X: Any) -> list[Any]:
    """Return the quantities of a model that are compared; of the first one by all methods."""
    if hasattr(model, "score_samples"):
        return [sd.prediction(model.score_samples)]
    several = np.size(model.predict(X[:2])) > 2
    if hasattr(model, "predict_proba") and several:  # several labels for each row
        return [sd.prediction(model.predict_proba, output=0)]
    if not hasattr(model, "predict_proba"):
        return [sd.prediction(model, output=0 if several else None)]
    probability = sd.probability(model, class_=model.classes_[-1])
    if "one against the rest" in case:  # its probabilities do not sum to 1
        return [probability]
    return [probability, sd.entropy(model), sd.nll(model)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "case", few(MODELS, "sklearn tree", "lightgbm 3 classes", "xgboost poisson", "composed bagging")
)
def test_trees_give_the_results_of_the_model(case: str) -> None:
    """Up to a billionth of the range of the quantity; of XGBoost, which sums leaves in single precision, to 1e-5."""
    model, X = MODELS[case]()
    tol = 1e-5 if case.startswith("xgboost") else 1e-9
    for k, quantity in enumerate(quantities(case, model, X)):
        y = np.ravel(model.predict(X)) if quantity.labelled else None
        values = quantity.at(X, y)
        size = np.ptp(values) or np.abs(values).max()
        for method in METHODS[: 1 if k else None]:
            auto, off = (
                sd.explain(quantity, X, method=method, tree=tree, y=y, heterogeneity_rows=100)
                for tree in ("auto", "off")
            )
            same(auto, off, tol, size)
            for result in singles(auto):
                exact = str(result.provenance.get("trees", "")).startswith("exact: ")
                assert exact == (not case.startswith(CALLED))
                assert exact == (result.provenance["model_rows"] == 0)
