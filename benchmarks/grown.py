"""Fitted ensembles of trees with rows and labels, and what is asked of them: by us, and by each peer as documented."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import effector
import numpy as np
import pandas as pd
import PyALE
from effector import axis_partitioning
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.inspection import partial_dependence, permutation_importance

import skedasis as sd
from benchmarks.problem import Floats
from benchmarks.timing import once

BINS, POINTS, REPEATS = 20, 30, 5
"""Of ALE, PDP and PFI."""

Answers = dict[Any, Any]


@dataclass(eq=False)
class Grown:
    """A fitted ensemble and the rows that it is explained on.

    Parameters
    ----------
    what : str
    model : estimator
    X : ndarray of float, shape (n, d)
    y : ndarray of float, shape (n,)
    off : float
        How far its sums may be from exact ones, relative to the largest.
    asked : dict of str to int
        Rows that the model answered for in the last run of each name.
    """

    what: str
    model: Any
    X: Floats
    y: Floats
    off: float = 1e-10
    asked: dict[str, int] = field(default_factory=dict)
    running: str = ""

    @functools.cached_property
    def frame(self) -> pd.DataFrame:
        """Return the rows as PyALE takes them; making the frame is not measured."""
        return pd.DataFrame(self.X, columns=[f"x{j}" for j in range(self.X.shape[1])])

    @functools.cached_property
    def row_seconds(self) -> float:
        """Return the seconds that the model itself takes for one row."""
        return once(lambda: self.model.predict(self.X))[0].wall / len(self.X)

    @property
    def features(self) -> range:
        """Return the features' places."""
        return range(self.X.shape[1])

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Count the rows where the model answers, whoever asks."""
        kind = type(self.model)
        answer = kind.predict

        @functools.wraps(answer)
        def predict(model: Any, X: Any, *more: Any, **named: Any) -> Any:
            self.asked[self.running] = self.asked.get(self.running, 0) + len(X)
            return answer(model, X, *more, **named)

        with mock.patch.object(kind, "predict", predict):
            yield

    def named(self, name: str, run: Callable[[], Any]) -> Callable[[], Any]:
        """Return a run whose rows are counted under a name."""

        def counted() -> Any:
            self.running, self.asked[name] = name, 0
            return run()

        return counted

    def ours(self, method: Any) -> Any:
        """Explain all features, without a score, as peers do: loading, checks and binning are part of every call."""
        return sd.explain(
            self.model, self.X, method=method, tree="force", heterogeneity_rows=0, progress=False
        )

    def importance(self) -> Any:
        """Permute each feature."""
        q, method = sd.loss(self.model), sd.PFI(n_repeats=REPEATS)
        return sd.explain(q, self.X, y=self.y, method=method, tree="force", progress=False)

    def effector_ale(self, features: range) -> Answers:
        """Equal bins: their means and variances."""
        ale = effector.ALE(self.X, self.model.predict, nof_instances="all")
        ale.fit(list(features), binning_method=axis_partitioning.Fixed(nof_bins=BINS))
        return {j: ale.payload(j) for j in features}

    def pyale(self, features: range) -> Answers:
        """Quantile bins: the centred curve and its confidence interval, as by default."""
        return {
            j: PyALE.ale(
                self.frame, self.model, [f"x{j}"], feature_type="continuous",
                grid_size=BINS, include_CI=True, plot=False,
            )
            for j in features
        }  # fmt: skip

    def sklearn_pdp(self, features: range, grid: dict[int, Floats]) -> Answers:
        """Brute force means at the points that ours chose."""
        return {
            j: partial_dependence(
                self.model, self.X, [j], custom_values={j: grid[j]}, method="brute", kind="average"
            )["average"][0]
            for j in features
        }

    def woodelf_pairs(self, points: int) -> tuple[Answers, Answers]:
        """Means of all pairs on a product grid, and the points of each feature: equidistant, percentiles 5 to 95."""
        from woodelf.pdp import woodelf_pdp_joint

        found, first, second = woodelf_pdp_joint(self.model, self.frame, k=points, verbose=False)
        grid = {int(one[1:]): np.unique(axis) for (one, _), axis in first.items()}
        surfaces: Answers = {}
        for one, other in itertools.combinations(self.features, 2):
            names = f"x{one}", f"x{other}"
            order = np.lexsort((second[names], first[names]))
            surfaces[one, other] = found[names][order].reshape(points, points)
        return surfaces, grid

    def effector_pdp(self, features: range, grid: dict[int, Floats]) -> Answers:
        """Means and variances of centred curves."""
        pdp = effector.PDP(self.X, self.model.predict, nof_instances="all")
        pdp.fit(list(features), centering=False)
        return {
            j: (pdp.eval(j, grid[j], centering=False), pdp.eval_heter(j, grid[j])) for j in features
        }

    def sklearn_importance(self, repeats: int) -> Floats:
        """Permute each feature: what the squared error rises by, (features, repeats)."""
        return permutation_importance(
            self.model, self.X, self.y, scoring="neg_mean_squared_error",
            n_repeats=repeats, random_state=0,
        ).importances  # fmt: skip


@functools.cache
def _fitted(what: str, d: int, quick: bool) -> tuple[Any, Any]:
    """Return a model of 100 trees that was trained on 20,000 rows, and the function that it learned."""
    trained, size = (2_000, 20) if quick else (20_000, 100)
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(trained, d)), rng.normal(size=d)

    def truth(X: Floats) -> Floats:
        return X @ w + 2 * X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2]) * X[:, 3]

    model = _model(what, size)
    return model.fit(X, truth(X) + 0.3 * rng.normal(size=trained)), truth


def _model(what: str, size: int) -> Any:
    """Return an estimator of so many trees that uses one thread."""
    if what == "LightGBM":
        import lightgbm

        return lightgbm.LGBMRegressor(n_estimators=size, n_jobs=1, verbose=-1)
    if what == "XGBoost":
        import xgboost

        return xgboost.XGBRegressor(n_estimators=size, n_jobs=1)
    if what == "HistGradientBoosting":
        return HistGradientBoostingRegressor(max_iter=size, random_state=0)
    depth = 8 if what == "RandomForest, depth 8" else None
    return RandomForestRegressor(size, max_depth=depth, n_jobs=1, random_state=0)


def grown_of(what: str, n: int, d: int, quick: bool) -> Grown:
    """Return an ensemble with other rows than those that it was trained on: n, of d features."""
    model, truth = _fitted(what, d, quick)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, d))
    y = truth(X) + 0.3 * rng.normal(size=n)
    # XGBoost adds up in single precision.
    return Grown(what, model, X, y, 1e-4 if what == "XGBoost" else 1e-10)
