"""The other libraries, each called as its documentation says, on all rows and without plots."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import effector
import effector.helpers
import numpy as np
import pandas as pd
import PyALE
from effector import axis_partitioning
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.inspection import partial_dependence

from benchmarks.problem import Floats, Model, Problem
from benchmarks.timing import medians

ALPHA = 0.2
"""The discount of Eq. 13 that every library is given."""


class Estimator(RegressorMixin, BaseEstimator):
    """The model as scikit-learn and PyALE want it: an estimator that is already fitted."""

    def __init__(self, model: Model | None = None) -> None:
        self.model = model

    def fit(self, X: Any, y: Any = None) -> Estimator:
        """Do nothing: the model is a formula."""
        self.fitted_ = True
        return self

    def predict(self, X: Any) -> Floats:
        """Call the model on the rows as an array (of a data frame: without a copy)."""
        assert self.model is not None
        return self.model(X.to_numpy() if isinstance(X, pd.DataFrame) else X)


class Peers:
    """The peers' answers to one problem."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.X, self.model = problem.rows, problem.model

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Return the rows as PyALE takes them; making the frame is not measured."""
        return pd.DataFrame(self.X, columns=[f"x{j}" for j in self.problem.features])

    @cached_property
    def estimator(self) -> Estimator:
        """Return the model as a fitted estimator."""
        return Estimator(self.model).fit(self.X)

    def effector_ale(self, bins: int) -> list[dict[str, Any]]:
        """Equal-width bins: their means and variances."""
        # By default it takes 10,000 of the rows.
        ale = effector.ALE(self.X, self.model, nof_instances="all")
        ale.fit("all", binning_method=axis_partitioning.Fixed(nof_bins=bins))
        return [ale.payload(j) for j in self.problem.features]

    def effector_rhale(self, bins: int) -> list[dict[str, Any]]:
        """Dynamic programming on slopes from the model's own derivative."""
        rhale = effector.RHALE(self.X, self.model, self.problem.slope, nof_instances="all")
        rhale.fit("all", binning_method=self.search(bins))
        return [rhale.payload(j) for j in self.problem.features]

    def search(self, bins: int) -> axis_partitioning.DynamicProgramming:
        """Return its bin search."""
        return axis_partitioning.DynamicProgramming(
            max_nof_bins=bins, min_points_per_bin=self.problem.least, discount=ALPHA
        )

    def effector_pdp(
        self, grid: dict[int, Floats], vectorized: bool = True, own_grid: bool = True
    ) -> list[Floats]:
        """Means and heterogeneity at the grid, (2, points) for each feature.

        Heterogeneity is only ever computed on an internal grid of 30 points and interpolated, so
        that 50 asked points cost 78 evaluations a row. ``own_grid=False`` gives it as many internal
        points as were asked for: 50 evaluations.
        """
        usual = effector.helpers.NOF_INTERNAL_POINTS
        if not own_grid:
            effector.helpers.NOF_INTERNAL_POINTS = len(grid[0])
        try:
            pdp = effector.PDP(self.X, self.model, nof_instances="all")
            pdp.fit("all", centering=False, use_vectorized=vectorized)
            return [
                np.stack([pdp.eval(j, z, centering=False), pdp.eval_heter(j, z)])
                for j, z in grid.items()
            ]
        finally:
            effector.helpers.NOF_INTERNAL_POINTS = usual

    def pyale(self, bins: int) -> list[pd.DataFrame]:
        """Quantile bins: the centred curve and its confidence interval, as by default."""
        return [
            PyALE.ale(
                self.frame, self.estimator, [name], feature_type="continuous",
                grid_size=bins, include_CI=True, plot=False,
            )
            for name in self.frame.columns
        ]  # fmt: skip

    def pyale_pair(self, bins: int) -> pd.DataFrame:
        """Second-order effect of the first two features, edges as its index and columns.

        As many bins for both: with other numbers it looks the second feature's rows up by the first
        one's bins, and is wrong by half its range.
        """
        first, second = self.frame.columns[:2]
        return PyALE.ale(
            X=self.frame, model=self.estimator, feature=[first, second], grid_size=bins, plot=False
        )

    def sklearn_pdp(self, grid: dict[int, Floats]) -> list[Floats]:
        """Brute force means; no heterogeneity."""
        return [
            partial_dependence(
                self.estimator, self.X, [j], custom_values={j: z}, method="brute", kind="average"
            )["average"][0]
            for j, z in grid.items()
        ]

    def sklearn_ice(self, grid: dict[int, Floats]) -> list[Floats]:
        """Brute force means and the spread of curves that are centred over the data, the work that ours does."""
        found: list[Floats] = []
        for j, z in grid.items():
            both = partial_dependence(
                self.estimator, self.X, [j], custom_values={j: z}, method="brute", kind="both"
            )
            ice = both["individual"][0]
            centred = ice - (ice @ _shares(self.X[:, j], z))[:, None]
            found.append(np.stack([both["average"][0], centred.std(axis=0, ddof=1)]))
        return found


def _shares(x: Floats, points: Floats) -> Floats:
    """Return the weights of the points in the mean of a curve, linear between them, over 1,024 quantiles of x."""
    k = min(1024, len(x))
    at = np.quantile(x, (np.arange(k) + 0.5) / k, method="inverted_cdf")
    return np.array([np.interp(at, points, hat).mean() for hat in np.eye(len(points))])


def seconds_of(model: Callable[[Any], Any], X: Any) -> float:
    """Return the seconds that the model takes for one row, called with all rows again and again."""

    def often() -> None:
        for _ in range(20):
            model(X)

    return medians({"model": often}, 7)[0]["model"].wall / (20 * len(X))
