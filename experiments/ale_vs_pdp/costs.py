"""What ALE and PDP cost (6.3): the data, the models, and how each library is called.

As in the chapter: 100, 1,000 and 10,000 rows; 5 to 40 features, two of them categorical with ten levels each, the
others numeric; a support vector machine, fitted and evaluated on the same rows, and a forest. The machine sees
categories one-hot encoded, the forest sees their codes. All libraries get the same frame, grid and model, and draw
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import partial_dependence
from sklearn.svm import SVR

import skedasis as sd

ONE, TWO, LEVELS = "one numeric", "two numeric", "one categorical"
SVM, FOREST = "SVM", "forest"
ALE, PDP = "ALE, ours", "PDP, ours"
PYALE, SKLEARN = "ALE, PyALE", "PDP, scikit-learn"
WAYS = (ALE, PYALE, PDP, SKLEARN)
CATEGORIES = 10
TREES = 50


@dataclass(frozen=True)
class Setting:
    """One cell of the chapter's tables.

    Parameters
    ----------
    model, work : str
    n, d : int
        Rows and features.
    grid : int
        Intervals of each numeric feature of interest.
    """

    model: str
    work: str
    n: int
    d: int = 5
    grid: int = 20

    @property
    def features(self) -> Any:
        """Return the feature of interest, or the pair."""
        return {ONE: "n0", TWO: ("n0", "n1"), LEVELS: "a"}[self.work]


class Coded(RegressorMixin, BaseEstimator):
    """A support vector machine behind a one-hot encoding of the last two columns."""

    def fit(self, X: pd.DataFrame, y: Any) -> Coded:
        """Fit it, with the defaults."""
        self.machine_ = SVR().fit(self._encoded(X), y)
        return self

    def predict(self, X: pd.DataFrame) -> Any:
        """Return its predictions."""
        return self.machine_.predict(self._encoded(X))

    def _encoded(self, X: pd.DataFrame) -> Any:
        values = np.asarray(X, dtype=float)
        codes = values[:, -2:].astype(int)
        hot = np.eye(CATEGORIES)[codes].reshape(len(values), -1)
        return np.hstack([values[:, :-2], hot])


class Counting(RegressorMixin, BaseEstimator):
    """A fitted model that counts the rows it is called with."""

    def __init__(self, model: Any = None) -> None:
        self.model = model

    def fit(self, X: Any = None, y: Any = None) -> Counting:
        """Start to count."""
        self.rows_ = 0
        return self

    def predict(self, X: Any) -> Any:
        """Return the model's predictions."""
        self.rows_ += len(X)
        return self.model.predict(X)


@lru_cache(maxsize=32)
def table(n: int, d: int) -> tuple[pd.DataFrame, Any]:
    """Return rows and labels."""
    rng = np.random.default_rng([n, d])
    X = pd.DataFrame(rng.normal(size=(n, d - 2)), columns=[f"n{j}" for j in range(d - 2)])
    # Levels differ in the other features, so that there is something to order them by.
    X["a"] = np.clip(np.floor(5 + 2 * X["n0"] + rng.normal(size=n)), 0, CATEGORIES - 1)
    X["b"] = rng.integers(0, CATEGORIES, n).astype(float)
    y = X["n0"] + X["n1"] * X["n2"] + np.sin(X["a"]) + 0.1 * rng.normal(size=n)
    return X, y.to_numpy()


@lru_cache(maxsize=32)
def fitted(model: str, n: int, d: int, trees: int = TREES) -> Any:
    """Return the model, fitted on the rows it is explained on."""
    X, y = table(n, d)
    if model == SVM:
        return Coded().fit(X, y)
    return RandomForestRegressor(trees, max_features=1 / 3, random_state=0).fit(X, y)


def asked(way: str, s: Setting) -> int:
    """Return the number of model rows of a method according to the chapter; an upper bound for categories by ALE."""
    if way in (ALE, PYALE):
        return {ONE: 2, TWO: 4, LEVELS: 3}[s.work] * s.n
    return {ONE: s.grid + 1, TWO: (s.grid + 1) ** 2, LEVELS: CATEGORIES}[s.work] * s.n


def run(way: str, s: Setting, model: Any) -> Any:
    """Explain the setting's feature, or pair, in one way."""
    X, _ = table(s.n, s.d)
    return {ALE: _ale, PDP: _pdp, PYALE: _pyale, SKLEARN: _sklearn}[way](s, model, X)


def _schema(s: Setting) -> Any:
    return {"a": "nominal"} if s.work == LEVELS else None


def _ale(s: Setting, model: Any, X: pd.DataFrame) -> Any:
    """Skip the heterogeneity score, which the others do not have."""
    how = sd.ALE(bins=s.grid)
    return sd.explain(model, X, s.features, method=how, schema=_schema(s), heterogeneity_rows=0)


def _pdp(s: Setting, model: Any, X: pd.DataFrame) -> Any:
    """Compute only means, as the others do."""
    how = sd.PDP(grid=s.grid + 1, heterogeneity=False)
    return sd.explain(model, X, s.features, method=how, schema=_schema(s), heterogeneity_rows=0)


def _pyale(s: Setting, model: Any, X: pd.DataFrame) -> Any:
    import PyALE

    more: dict[str, Any] = {"grid_size": s.grid}
    if s.work == ONE:
        more |= {"feature_type": "continuous", "include_CI": False}
    if s.work == LEVELS:
        # It writes its order of levels, and their names as text, into the frame that it is given.
        X = X.copy(deep=False)
        more = {"feature_type": "categorical", "include_CI": False, "predictors": list(X.columns),
                "encode_fun": lambda column: column.astype(str).astype(float)}  # fmt: skip
    features = [s.features] if isinstance(s.features, str) else list(s.features)
    return PyALE.ale(X=X, model=model, feature=features, plot=False, **more)


def _sklearn(s: Setting, model: Any, X: pd.DataFrame) -> Any:
    more = {"categorical_features": ["a"]} if s.work == LEVELS else {}
    features = [s.features] if isinstance(s.features, str) else list(s.features)
    return partial_dependence(
        model, X, features, grid_resolution=s.grid + 1, method="brute", kind="average", **more
    )


def counted(way: str, s: Setting) -> int:
    """Return the number of rows that the model is really called with; without our check of the model."""
    model = fitted(s.model, s.n, s.d, trees=5)
    if way in (ALE, PDP):
        return int(run(way, s, model).provenance["effect_rows"])
    counting = Counting(model).fit()
    run(way, s, counting)
    return counting.rows_
