"""Predictive distributions of scikit-learn's classifiers and of regressors that predict a standard deviation."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis.data.dataset import to_array
from skedasis.distributions.base import Labels, Predicted, Predictor, pieces
from skedasis.distributions.categorical import as_classes, several_labels
from skedasis.distributions.continuous import NOISE, as_normal
from skedasis.errors import UnsupportedError, explained
from skedasis.models.introspection import articled, title, wants_arrays

_ROOM = 100_000_000
"""Bytes that one call of a Gaussian process may need for its covariances."""


@dataclass(frozen=True, eq=False)
class Classifier(Predictor):
    """A fitted classifier with `predict_proba`."""

    @property
    def labels(self) -> Labels:
        """Return its classes."""
        return Labels("classes", np.asarray(self.model.classes_).tolist())

    def distributions(self, X: Any) -> Predicted:
        """Return the probabilities of its classes."""
        raw = self.model.predict_proba(own_rows(self.model, X))
        return as_classes(raw, len(X), self.describe(), self.labels.classes)


@dataclass(frozen=True, eq=False)
class Gaussian(Predictor):
    """A fitted regressor whose `predict` takes `return_std`.

    The noise of the observations is in the deviation if the model says so: `BayesianRidge` and `ARDRegression` include
    it, a `GaussianProcessRegressor` includes what its kernel holds of it, a WhiteKernel.
    """

    @property
    def labels(self) -> Labels:
        """Return that it predicts numbers."""
        return Labels("numbers")

    def distributions(self, X: Any) -> Predicted:
        """Return its normal distributions, a part of the rows at a time."""
        # Covariances with the rows of fit, and two arrays of that size to solve for the deviation.
        fitted = len(getattr(unfolded(self.model)[1], "X_train_", ())) or 1
        found = [
            self.model.predict(own_rows(self.model, part), return_std=True)
            for part in pieces(X, max(_ROOM // (24 * fitted), 1))
        ]
        mean, std = (np.concatenate([np.asarray(f[k]) for f in found]) for k in (0, 1))
        return as_normal(mean, std, len(X), self.describe(), NOISE)


def own_rows(model: Any, X: Any) -> Any:
    """Return rows as an array for a model that was fitted on arrays, even if others were fitted on frames."""
    return to_array(X) if wants_arrays(model) and not isinstance(X, np.ndarray) else X


def settled(model: Any) -> Any:
    """Return the estimator that a search for parameters has settled on, else the model itself."""
    return getattr(model, "best_estimator_", model)


def unfolded(model: Any) -> tuple[list[Any], Any]:
    """Return what a pipeline (also one that was searched for) does to rows first, and its last step."""
    model, before = settled(model), []
    while getattr(model, "steps", None):
        if len(model.steps) > 1:
            before.append(model[:-1])
        model = settled(model.steps[-1][1])
    return before, model


def gives_deviation(model: Any) -> bool:
    """Return whether the last step's `predict` can return a standard deviation."""
    predict = getattr(unfolded(model)[1], "predict", None)
    if predict is None:
        return False
    try:
        return "return_std" in inspect.signature(predict).parameters
    except (TypeError, ValueError):  # compiled functions have no signature
        return False


def as_classifier(model: Any) -> Predictor:
    """Return a classifier as a predictor.

    Raises
    ------
    UnsupportedError
        Where it is not fitted, has no probabilities, or several labels.
    """
    if not hasattr(model, "predict_proba"):
        raise UnsupportedError(
            explained(
                title(model),
                f"{articled(title(model))} without predict_proba",
                "a classifier that gives probabilities",
                "Calibrate it (sklearn.calibration.CalibratedClassifierCV)",
            )
        )
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise UnsupportedError(
            explained(title(model), "no classes_", "a fitted classifier", "Fit the model first")
        )
    if isinstance(classes, list) and classes and np.ndim(classes[0]) == 1:
        raise several_labels(title(model), len(classes))
    return Classifier(model)


def as_gaussian(model: Any) -> Predictor:
    """Return a regressor with deviations as a predictor."""
    return Gaussian(settled(model))
