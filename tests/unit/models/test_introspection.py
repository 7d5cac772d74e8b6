"""Columns in another order than at fit are refused for every model that knows their names."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import skedasis as sd
from tests.helpers import refused

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")

A = np.random.default_rng(0).normal(size=(120, 3))
Y = 2 * A[:, 0] + A[:, 1]
slow = pytest.mark.slow


def cat(X: Any) -> Any:
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostRegressor(iterations=4, verbose=0, allow_writing_files=False)
    return model.fit(X, Y)


def lgb(X: Any) -> Any:
    return lightgbm.train({"verbose": -1}, lightgbm.Dataset(X, Y), 4)


def xgb(X: Any) -> Any:
    return xgboost.train({"nthread": 1}, xgboost.DMatrix(X, Y), 4)


def wrapper(X: Any) -> Any:
    return lightgbm.LGBMRegressor(n_estimators=4, verbose=-1).fit(X, Y)


def saved(fit: Callable[[Any], Any], suffix: str) -> Callable[[Any, Path], Any]:
    def written(X: Any, folder: Path) -> str:
        fit(X).save_model(str(folder / f"model{suffix}"))
        return str(folder / f"model{suffix}")

    return written


MODELS: dict[str, Callable[[Any, Path], Any]] = {
    "CatBoost": lambda X, _: cat(X),
    "CatBoost's file": saved(cat, ".cbm"),
    "LightGBM's booster": lambda X, _: lgb(X),
    "LightGBM's file": saved(lgb, ".txt"),
    "XGBoost's booster": lambda X, _: xgb(X),
    "XGBoost's file": saved(xgb, ".json"),
    "in a pipeline": lambda X, _: make_pipeline(wrapper(X)),
    "in a search": lambda X, _: GridSearchCV(wrapper(X), {"max_depth": [2]}, cv=2).fit(X, Y),
    "in an ensemble": lambda X, _: sd.ensemble([lgb(X), lgb(X)]),
}
"""Models that know the names of their columns."""

every_fit = pytest.mark.parametrize("fit", [lgb, xgb, pytest.param(cat, marks=slow)])


@pytest.mark.parametrize("names", [["a b", "b  c", "c"], [5, 6, 7]], ids=["spaces", "numbers"])
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=slow if n.startswith("CatBoost") else ()) for n in MODELS]
)
def test_another_order_is_refused_and_the_advice_gives_the_order_of_fit(
    name: str, names: list[Any], tmp_path: Path
) -> None:
    X = pd.DataFrame(A, columns=names)
    model = MODELS[name](X, tmp_path)
    mixed = X[X.columns[[2, 0, 1]]]
    with refused(sd.DataError, "columns in the order", "the order of fit") as error:
        sd.explain(model, mixed, 0, method="pdp")
    advised = re.search(r"Use (X\[.+\])\.$", str(error.value))
    assert advised is not None
    again = eval(advised[1], {"X": mixed, "model": model})
    assert list(again.columns) == list(X.columns)
    effect = sd.explain(model, again, 0, method="pdp")
    assert effect.importance == sd.explain(model, A, 0, method="pdp").importance > 0.3


@every_fit
def test_names_that_a_model_does_not_know_say_nothing_of_the_order(fit: Any) -> None:
    model = fit(pd.DataFrame(A, columns=list("abc")))
    expected = sd.explain(model, A, 0, method="pdp").importance
    for columns in ("xyz", "abz"):
        other = sd.explain(model, pd.DataFrame(A, columns=list(columns)), 0, method="pdp")
        assert other.importance == expected
    with refused(sd.DataError, "X without ['a']", "X[['a', 'b', 'c']]"):
        sd.explain(model, pd.DataFrame(A, columns=list("czb")), 0)


@every_fit
def test_a_model_of_arrays_takes_any_names(fit: Any) -> None:
    model = fit(A)
    columns = ["2", "Column_1", 0]
    named = sd.explain(model, pd.DataFrame(A, columns=columns), "2", method="pdp")
    assert named.importance == sd.explain(model, A, 0, method="pdp").importance
