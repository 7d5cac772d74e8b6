"""Quantities read off a model's output: prediction, probability, logit."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis.data.schema import Feature
from skedasis.data.source import Source, as_arrays, as_frames, to_array
from skedasis.errors import ModelOutputError, UnsupportedError, explained
from skedasis.quantity import sklearn as closed
from skedasis.quantity.base import Quantity, Traits
from skedasis.quantity.fitted import (
    check_fitted_on,
    fitted_names,
    is_classifier,
    title,
    wants_arrays,
)

_DIFFERENCES = Traits("differences", "central differences")
_ROUNDING = 1e-6
"""What single precision may add to a probability of 1."""


@dataclass(frozen=True, eq=False)
class _FromModel(Quantity):
    """What the three have in common: a model, a name, a unit, and rows of the kind it was fitted on."""

    model: Any
    name: str = "prediction"
    unit: str | None = None

    def describe(self) -> str:
        return f"{self.name}({title(self.model)})"

    def prepare(self, source: Source) -> Source:
        check_fitted_on(self.model, source, self.describe())
        if wants_arrays(self.model):
            return as_arrays(source)
        names = fitted_names(self.model)
        return source if names is None else as_frames(source, names)

    def _closed_form(self) -> closed.Derivative | None:
        return None

    def slopes(self, X: Any) -> Any:
        form = self._closed_form()
        if form is None:
            return super().slopes(X)
        return form(np.asarray(to_array(X), dtype=float))

    def traits(self, feature: Feature) -> Traits:
        form = self._closed_form()
        if form is not None:
            return Traits("slopes", f"closed form of {form.what}")
        if closed.is_piecewise_constant(self.model):
            return Traits("secants", f"secants: {title(self.model)} is piecewise constant")
        return _DIFFERENCES


@dataclass(frozen=True, eq=False)
class Prediction(_FromModel):
    """A callable's value, or a regressor's `predict`. Made by `prediction`."""

    slope: Callable[[Any], Any] | None = None

    def values(self, X: Any) -> Any:
        """Call the model."""
        return self.model.predict(X) if hasattr(self.model, "predict") else self.model(X)

    def _closed_form(self) -> closed.Derivative | None:
        return closed.prediction_derivative(self.model)

    def slopes(self, X: Any) -> Any:
        """Return the user's derivatives, or those in closed form."""
        return super().slopes(X) if self.slope is None else self.slope(X)

    def traits(self, feature: Feature) -> Traits:
        """Prefer the user's slopes to all others."""
        if self.slope is not None:
            return Traits("slopes", "the given slope function")
        return super().traits(feature)


@dataclass(frozen=True, eq=False)
class Probability(_FromModel):
    """The probability of one class. Made by `probability`."""

    column: int | None = None

    def values(self, X: Any) -> Any:
        """Return the class's column of the probabilities."""
        p = np.asarray(
            self.model.predict_proba(X) if hasattr(self.model, "predict_proba") else self.model(X)
        )
        if self.column is not None:
            p = self._of_class(p, self.column)
        if p.dtype.kind in "fiu" and ((p < -_ROUNDING) | (p > 1 + _ROUNDING)).any():
            raise ModelOutputError(
                explained(
                    self.describe(),
                    f"values between {p.min():.4g} and {p.max():.4g}",
                    "probabilities, between 0 and 1",
                    "Use sd.prediction for scores",
                )
            )
        return p

    def _of_class(self, p: NDArray[Any], column: int) -> NDArray[Any]:
        if p.ndim == 2 and -p.shape[1] <= column < p.shape[1]:
            return p[:, column]
        fix = "Leave class_ out" if p.ndim == 1 else "Pass the index of one of its columns"
        raise ModelOutputError(
            explained(
                self.describe(),
                f"output of shape {p.shape}",
                f"(rows, classes) with a column {column}",
                fix,
            )
        )

    def _closed_form(self) -> closed.Derivative | None:
        return closed.probability_derivative(self.model, self.column)


@dataclass(frozen=True, eq=False)
class Logit(Probability):
    """The log odds of one class. Made by `logit`."""

    def values(self, X: Any) -> Any:
        """Return the decision's score where that is the log odds, else the probability's."""
        if self.column is not None and closed.decides_by_logit(self.model):
            # Exact where the probability has already rounded to 0 or 1.
            score = np.asarray(self.model.decision_function(X), dtype=float)
            return score if self.column == 1 else -score
        p = np.asarray(super().values(X), dtype=float)
        certain = int(((p == 0) | (p == 1)).sum())
        if certain:
            raise ModelOutputError(
                explained(
                    self.describe(),
                    f"a probability of exactly 0 or 1 for {certain} of {len(p)} rows",
                    "probabilities between 0 and 1, whose log odds are finite",
                    "Use sd.probability, or a model whose probabilities are calibrated",
                )
            )
        return np.log(p) - np.log1p(-p)

    def _closed_form(self) -> closed.Derivative | None:
        return closed.logit_derivative(self.model, self.column)


def prediction(
    model: Any,
    *,
    slope: Callable[[Any], Any] | None = None,
    name: str = "prediction",
    unit: str | None = None,
) -> Prediction:
    """Explain what a model predicts.

    Parameters
    ----------
    model : callable or fitted estimator
        ``f(X) -> (n,)``, or an object with `predict`. A callable gets rows in the kind of container that X is.
    slope : callable, optional
        ``jac(X) -> (n, d)``: the partial derivatives of all features. Trusted: only its shape is checked, and that it
        is finite.
    name, unit : str, optional
        For the axes of plots.

    Raises
    ------
    UnsupportedError
        For a classifier (its labels are no numbers to average), or an object that cannot be called.

    Examples
    --------
    >>> import skedasis as sd
    >>> sd.prediction(lambda X: X[:, 0], name="price", unit="EUR").axis
    'price [EUR]'
    """
    if is_classifier(model):
        raise UnsupportedError(
            explained(
                f"prediction({title(model)})",
                "a classifier",
                "a regressor or a callable",
                "Use sd.probability(model, class_=...) or sd.logit(model, class_=...)",
            )
        )
    if not callable(model) and not hasattr(model, "predict"):
        raise UnsupportedError(
            explained(
                f"prediction({title(model)})",
                f"a {type(model).__name__}",
                "a callable or an object with predict",
                "Pass the fitted model itself",
            )
        )
    if slope is not None and not callable(slope):
        raise UnsupportedError(
            explained(
                "slope",
                f"a {type(slope).__name__}",
                "a function jac(X) -> (n, d)",
                "Pass the function, not its result",
            )
        )
    return Prediction(model, name, unit, slope)


def probability(
    model: Any, class_: Hashable = None, *, name: str | None = None, unit: str | None = None
) -> Probability:
    """Explain the probability of one class.

    Parameters
    ----------
    model : fitted classifier or callable
        With `predict_proba`; or a callable that returns the probabilities: (n,), or (n, classes) with `class_` an
        index.
    class_ : label, optional
        The class. By default the second of two; of more than two, one must be named.
    name, unit : str, optional
        For the axes of plots.

    Raises
    ------
    ModelOutputError
        Where there are more than two classes and none is named.
    UnsupportedError
        Where the model gives no probabilities.

    Notes
    -----
    Slopes are known in closed form for logistic regression and multi-layer perceptrons.

    Examples
    --------
    >>> import skedasis as sd
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = LogisticRegression(max_iter=500).fit(X[:100], y[:100])
    >>> sd.probability(clf).describe()
    'P(y = 1)(LogisticRegression)'
    """
    column, label = _class_column(model, class_, "probability")
    return Probability(model, name or f"P(y = {label})", unit, column)


def logit(
    model: Any, class_: Hashable = None, *, name: str | None = None, unit: str | None = None
) -> Logit:
    """Explain the log odds of one class, ``log p - log(1 - p)``.

    Parameters, errors and slopes are those of `probability`. For models that decide by the log odds themselves
    (logistic regression, gradient boosting with two classes) these are taken, which keeps them exact where the
    probability rounds to 0 or 1; elsewhere a probability of exactly 0 or 1 raises `ModelOutputError`.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> q = sd.logit(lambda X: X[:, 0])
    >>> float(q.at(np.array([[0.5]]))[0])
    0.0
    """
    column, label = _class_column(model, class_, "logit")
    return Logit(model, name or f"logit P(y = {label})", unit, column)


def _class_column(model: Any, class_: Any, asked: str) -> tuple[int | None, Any]:
    """Return the column of `predict_proba` that holds the class, and the class's label."""
    what = f"{asked}({title(model)})"
    classes = getattr(model, "classes_", None)
    if not hasattr(model, "predict_proba"):
        if is_classifier(model) or not callable(model):
            raise UnsupportedError(
                explained(
                    what,
                    f"a {title(model)} without predict_proba",
                    "a classifier that gives probabilities",
                    "Calibrate it (sklearn.calibration.CalibratedClassifierCV), or explain "
                    "sd.prediction(model.decision_function)",
                )
            )
        if class_ is not None and (isinstance(class_, bool) or not isinstance(class_, Integral)):
            raise UnsupportedError(
                explained(
                    what,
                    f"class_={class_!r}",
                    "the index of a column, for a callable",
                    "Pass class_=0, 1, …",
                )
            )
        return (None, 1) if class_ is None else (int(class_), int(class_))
    if classes is None:
        raise UnsupportedError(
            explained(what, "no classes_", "a fitted classifier", "Fit the model first")
        )
    labels = list(np.asarray(classes).tolist())
    if class_ is None and len(labels) == 2:
        return 1, labels[1]
    if class_ in labels:
        return labels.index(class_), class_
    got = f"{len(labels)} classes and none named" if class_ is None else f"class_={class_!r}"
    raise ModelOutputError(
        f"{what}: got {got}, expected one class. "
        f"Choose one class: sd.{asked}(model, class_={labels[-1]!r}); available: {labels}."
    )
