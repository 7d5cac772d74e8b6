"""Model-independent derivatives by differences of high order, and the models on which they are compared."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.neural_network import MLPRegressor

from skedasis.data.features import Feature
from skedasis.derivatives import sklearn_models

X = np.random.default_rng(0).uniform(0.5, 2.0, size=(80, 3)) * [1.0, 30.0, 0.2]
Y = X[:, 0] ** 2 - 0.1 * X[:, 1] + np.sin(10 * X[:, 2]) * X[:, 0]
MIDDLE = X.mean(axis=0)
ROWS = MIDDLE + 0.9 * (X[::2] - MIDDLE)
"""Rows inside the data, away from the rows of the fit, where slopes may have kinks; other tests cover kinks."""


_WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


def numerical(f: Callable[[Any], np.ndarray], X: np.ndarray, h: float = 2e-3) -> np.ndarray:
    """Return the derivatives of a smooth function with respect to each column: central differences of eighth order.

    They equal three Richardson steps applied to the usual central differences. The step is `h` standard deviations.
    """
    out = np.zeros(X.shape)
    for j, unit in enumerate(X.std(axis=0) * h):
        step = np.zeros(X.shape[1])
        for k, weight in _WEIGHTS.items():
            step[j] = k * unit
            out[:, j] += weight * (f(X + step) - f(X - step)) / unit
    return out


def close(found: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Assert that slopes agree within a fraction of the largest slope of their column."""
    assert found.shape == expected.shape
    scale = np.abs(expected).max(axis=0)
    # Columns whose slopes are zero up to rounding of the differences are compared with the largest slope of all.
    scale = np.maximum(scale, 1e-6 * np.abs(expected).max() + 1e-300)
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=tolerance)


def known(form: Any, d: int) -> list[bool]:
    """Return for each of d columns whether its slope describes its effect completely, without jumps."""
    return [form.knows(Feature(f"x{j}", position=j)) for j in range(d)]


def bent(**options: Any) -> MLPRegressor:
    """Return a smooth non-linear last step, so that the outputs of the steps before it have to be right, too."""
    return MLPRegressor(
        hidden_layer_sizes=(6,), activation="tanh", max_iter=60, random_state=0, **options
    )


def fit(model: Any, y: Any = Y, X: Any = X) -> Any:
    """Fit without convergence warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def agree(model: Any, rows: np.ndarray = ROWS, at: float = 1e-7, h: float = 2e-4) -> None:
    """Assert that there are slopes in closed form, and that they are those of `predict`."""
    form = sklearn_models.prediction_derivative(model)
    assert form is not None
    close(form(rows), numerical(model.predict, rows, h), at)
