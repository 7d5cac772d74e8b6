"""Predictive distributions of scikit-learn's classifiers and of regressors that predict a standard deviation."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from skedasis._types import ModelRows
from skedasis.data.dataset import to_array
from skedasis.distributions.base import Labels, Predicted, Predictor, row_chunks
from skedasis.distributions.categorical import as_classes, multi_label_error
from skedasis.distributions.continuous import NOISE, as_normal
from skedasis.errors import UnsupportedError
from skedasis.models.introspection import (
    labels_of,
    title,
    wants_arrays,
    with_article,
    without_probabilities,
)
from skedasis.models.protocols import SupportsPredictProba

_CALL_BYTES = 100_000_000
"""Bytes that the covariances of one call of a Gaussian process may take."""


class FittedClassifier(SupportsPredictProba, Protocol):
    """A fitted classifier with probabilities of one label."""

    @property
    def classes_(self) -> ArrayLike:
        """The classes, in the order of the columns of the probabilities."""
        ...


class FittedGaussian(Protocol):
    """A fitted regressor that predicts means and standard deviations."""

    def predict(self, X: Any, *, return_std: bool) -> tuple[ArrayLike, ArrayLike]:
        """Return the means, and the standard deviations if `return_std` is true."""
        ...


@dataclass(frozen=True, eq=False)
class Classifier(Predictor):
    """A fitted classifier with `predict_proba`."""

    model: FittedClassifier

    @property
    def labels(self) -> Labels:
        return Labels("classes", np.asarray(self.model.classes_).tolist())

    def distributions(self, X: ModelRows) -> Predicted:
        raw = self.model.predict_proba(rows_for_model(self.model, X))
        return as_classes(raw, len(X), self.describe(), self.labels.classes)


@dataclass(frozen=True, eq=False)
class Gaussian(Predictor):
    """A fitted regressor whose `predict` takes `return_std`.

    Whether the standard deviation includes the noise of the observations depends on the model: it does for
    `BayesianRidge` and `ARDRegression`, and for a `GaussianProcessRegressor` as far as the kernel has a WhiteKernel.
    """

    model: FittedGaussian

    @property
    def labels(self) -> Labels:
        return Labels("numbers")

    def distributions(self, X: ModelRows) -> Predicted:
        """Return the normal distributions, computed in chunks of rows."""
        # Each row needs its covariances with the training rows, and two arrays of that size to solve for the deviation.
        n_train = len(getattr(split_pipeline(self.model)[1], "X_train_", ())) or 1
        chunks = [
            self.model.predict(rows_for_model(self.model, part), return_std=True)
            for part in row_chunks(X, max(_CALL_BYTES // (24 * n_train), 1))
        ]
        mean, std = (np.concatenate([np.asarray(c[k]) for c in chunks]) for k in (0, 1))
        return as_normal(mean, std, len(X), self.describe(), NOISE)


def rows_for_model(model: object, X: Any) -> ModelRows:
    """Return rows as an array if the model was fitted on arrays; other members may have been fitted on frames."""
    return to_array(X) if wants_arrays(model) and not isinstance(X, np.ndarray) else X


def best_estimator(model: object) -> Any:
    """Return the best estimator of a parameter search of any library, and other models unchanged."""
    return getattr(model, "best_estimator_", model)


def split_pipeline(model: Any) -> tuple[list[Any], Any]:
    """Return the transformers of a pipeline, inside a parameter search or not, and its last step."""
    model, transformers = best_estimator(model), []
    while getattr(model, "steps", None):
        if len(model.steps) > 1:
            transformers.append(model[:-1])
        model = best_estimator(model.steps[-1][1])
    return transformers, model


def has_return_std(model: object) -> bool:
    """Return whether `predict` of the model's last step can return a standard deviation."""
    predict = getattr(split_pipeline(model)[1], "predict", None)
    if predict is None:
        return False
    try:
        return "return_std" in inspect.signature(predict).parameters
    except (TypeError, ValueError):  # compiled functions have no signature
        return False


def as_classifier(model: Any) -> Predictor:
    """Return the predictor of a classifier."""
    if not hasattr(model, "predict_proba"):
        raise UnsupportedError(
            title(model),
            f"{with_article(title(model))} without predict_proba",
            "a classifier with probabilities",
            without_probabilities(model),
        )
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise UnsupportedError(
            title(model),
            "a model with no classes_",
            "a fitted classifier",
            "Fit the model first",
        )
    labels = labels_of(model)
    if labels is not None:
        label, known = next(iter(labels.items()))
        of = f"p = sd.probability(model, class_={label!r})"
        first = f"lambda X: np.column_stack([1 - p.at(X), p.at(X)]), where {of}"
        # Labels of two classes are columns in some libraries; those of more are always a list of arrays.
        raise multi_label_error(title(model), len(labels), first if len(known) == 2 else "")
    return Classifier(model)


def as_gaussian(model: object) -> Predictor:
    """Return the predictor of a regressor with standard deviations."""
    return Gaussian(best_estimator(model))
