"""Shared by the tests of the entropy paper: its models (appendix B), and both importances of a model."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skedasis as sd
from skedasis.datasets.real import load
from skedasis.errors import DataError


@dataclass(frozen=True)
class Both:
    """The two importances of a model: of the labels' negative log-likelihood, and of the entropy."""

    likelihood: sd.Importance
    entropy: sd.Importance


def importances(model: Any, X: Any, y: Any, n_repeats: int = 10, seed: int = 0) -> Both:
    """Return Likelihood-PFI and Entropy-PFI of all features."""
    method = sd.PFI(n_repeats=n_repeats)
    likelihood = sd.explain(sd.nll(model), X, y=y, method=method, random_state=seed, progress=False)
    return Both(
        likelihood,
        sd.explain(sd.entropy(model), X, method=method, random_state=seed, progress=False),
    )


def order(importance: sd.Importance) -> list[str]:
    """Return the features' names, most important first."""
    return [line.feature for line in importance.ranking()]


def covers_zero(importance: sd.Importance) -> np.ndarray:
    """Return for each feature whether its 95 % interval contains 0."""
    lower, upper = importance.interval(0.95)
    return (lower <= 0) & (upper >= 0)


def calibrated_forest(X: Any, y: Any, trees: int, seed: int) -> Any:
    """Return a forest of depth 8, fitted on the first 80 % of the rows and calibrated on the others (B.2)."""
    cut = round(0.8 * len(X))
    forest = RandomForestClassifier(trees, max_depth=8, random_state=seed).fit(X[:cut], y[:cut])
    frozen = pytest.importorskip("sklearn.frozen", reason="needs scikit-learn 1.6 or newer")
    frozen_forest = frozen.FrozenEstimator(forest)
    return CalibratedClassifierCV(frozen_forest, method="sigmoid").fit(X[cut:], y[cut:])


def gaussian_process(X: Any, y: Any, scales: int = 1) -> Any:
    """Return a Gaussian process on standardised features: constant times RBF, plus noise (B.1).

    `scales` is 1 for one length scale, as in the paper, or the number of features for one length scale each.
    """
    lengths = np.ones(scales) if scales > 1 else 1.0
    kernel = ConstantKernel(1.0, (1e-3, 1e5)) * RBF(lengths, (1e-2, 1e4)) + WhiteKernel(0.1)
    model = make_pipeline(
        StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    )
    with warnings.catch_warnings():
        # The length scale of an unused feature has no optimum and ends at its bound.
        warnings.filterwarnings("ignore", "The optimal value found", ConvergenceWarning)
        return model.fit(X, y)


def quarters(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return training rows (75 %) and test rows of a real data set, with labels; skip if it is not available."""
    try:
        table = load(name, download=False)
    except DataError as error:
        pytest.skip(f"{error}")
    X, X_test, y, y_test = train_test_split(table.X, table.y, test_size=0.25, random_state=seed)
    return X, y, X_test, y_test
