"""What the tests of the entropy paper share: its models (appendix B), and both importances of one."""

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
    """Return per feature whether the 95 % interval holds 0."""
    lower, upper = importance.interval(0.95)
    return (lower <= 0) & (upper >= 0)


def calibrated_forest(X: Any, y: Any, trees: int, seed: int) -> Any:
    """Return a forest of depth 8, fitted on the first 80 % of the rows and calibrated on the others (B.2)."""
    cut = round(0.8 * len(X))
    forest = RandomForestClassifier(trees, max_depth=8, random_state=seed).fit(X[:cut], y[:cut])
    frozen = pytest.importorskip("sklearn.frozen", reason="scikit-learn has it since 1.6")
    frozen_forest = frozen.FrozenEstimator(forest)
    return CalibratedClassifierCV(frozen_forest, method="sigmoid").fit(X[cut:], y[cut:])


def gaussian_process(X: Any, y: Any, scales: int = 1) -> Any:
    """Return a Gaussian process on standardised features: constant times RBF, plus noise (B.1).

    `scales` is 1 for one length scale, as the paper has it, or the number of features for one each.
    """
    lengths = np.ones(scales) if scales > 1 else 1.0
    kernel = ConstantKernel(1.0, (1e-3, 1e5)) * RBF(lengths, (1e-2, 1e4)) + WhiteKernel(0.1)
    model = make_pipeline(
        StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    )
    with warnings.catch_warnings():
        # The length scale of a feature that is not used has no optimum: it ends at its bound.
        warnings.filterwarnings("ignore", "The optimal value found", ConvergenceWarning)
        return model.fit(X, y)


def quarters(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return the rows of a real table to fit on (75 %) and to test on, and their labels; skip where it is absent."""
    try:
        table = load(name, download=False)
    except DataError as error:
        pytest.skip(f"{error}")
    X, X_test, y, y_test = train_test_split(table.X, table.y, test_size=0.25, random_state=seed)
    return X, y, X_test, y_test
