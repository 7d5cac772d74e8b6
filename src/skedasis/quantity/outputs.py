"""Quantities read off a model's output: prediction, probability, logit."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

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
from skedasis.quantity.several import all_classes, column_of, predictions, wants_all

_DIFFERENCES = Traits("differences", "central differences")
_ROUNDING = 1e-6
"""What single precision may add to a probability of 1."""


@dataclass(frozen=True, eq=False)
class FromModel(Quantity):
    """What quantities of one model have in common: a model, a name, a unit, and rows of the kind it was fitted on."""

    model: Any
    name: str = "prediction"
    unit: str | None = None

    def describe(self) -> str:
        """Return the quantity as a user would write it."""
        return f"{self.name}({title(self.model)})"

    def prepare(self, source: Source) -> Source:
        """Return the rows in the container that the model was fitted on, with their labels where they are needed."""
        check_fitted_on(self.model, source, self.describe())
        names = fitted_names(self.model)
        if wants_arrays(self.model):
            source = as_arrays(source)
        elif names is not None:
            # Names that NumPy holds are no text to all libraries.
            source = as_frames(source, [str(n) if isinstance(n, str) else n for n in names])
        return self.with_labels(source)

    def _closed_form(self) -> closed.Derivative | None:
        return None

    @property
    def stepped(self) -> bool:
        """Return whether the quantity is constant between jumps; a model may say so itself."""
        own = getattr(self.model, "piecewise_constant", None)
        return own if isinstance(own, bool) else closed.is_piecewise_constant(self.model)

    def slopes(self, X: Any, y: Any = None) -> Any:
        """Return the derivatives in closed form."""
        form = self._closed_form()
        if form is None:
            return super().slopes(X, y)
        return form(np.asarray(to_array(X), dtype=float))

    def traits(self, feature: Feature) -> Traits:
        """Prefer a closed form, and secants where there is nothing to derive."""
        form = self._closed_form()
        if form is not None:
            return Traits("slopes", f"closed form of {form.what}")
        if self.stepped:
            return Traits("secants", f"secants: {title(self.model)} is piecewise constant")
        return _DIFFERENCES


@dataclass(frozen=True, eq=False)
class Prediction(FromModel):
    """A callable's value, or a regressor's `predict`. Made by `prediction`."""

    slope: Callable[[Any], Any] | None = None
    mixed_slope: Callable[[Any, int, int], Any] | None = None
    output: int | None = None
    of: int | None = None
    shared: bool = False

    def raw(self, X: Any) -> Any:
        """Call the model."""
        return self.model.predict(X) if hasattr(self.model, "predict") else self.model(X)

    def read(self, raw: Any, y: Any = None) -> Any:
        """Return the output that is explained."""
        if self.output is None:
            return raw
        return column_of(raw, self.output, self.describe(), most=self.of)

    def _closed_form(self) -> closed.Derivative | None:
        return closed.prediction_derivative(self.model, self.output)

    def slopes(self, X: Any, y: Any = None) -> Any:
        """Return the user's derivatives, or those in closed form."""
        if self.slope is None:
            return super().slopes(X, y)
        return self._own(np.asarray(self.slope(X)), 2, "slope", "(rows, outputs, features)")

    @property
    def has_mixed(self) -> bool:
        """Return whether the user gave mixed derivatives."""
        return self.mixed_slope is not None

    def mixed(self, X: Any, j: int, k: int) -> Any:
        """Return the user's mixed derivatives."""
        if self.mixed_slope is None:
            return super().mixed(X, j, k)
        return self._own(np.asarray(self.mixed_slope(X, j, k)), 1, "mixed", "(rows, outputs)")

    def _own(self, found: Any, dimensions: int, what: str, expected: str) -> Any:
        """Return this output's part of derivatives; where all outputs are explained, one for all will not do."""
        if self.output is not None and found.ndim == dimensions + 1:
            return found[:, self.output]
        if self.shared:
            raise ModelOutputError(
                explained(
                    f"{self.describe()}: {what}",
                    f"shape {found.shape}",
                    expected,
                    "Return the derivatives of every output",
                )
            )
        return found

    def traits(self, feature: Feature) -> Traits:
        """Prefer the user's slopes to all others."""
        if self.slope is not None:
            return Traits("slopes", "the given slope function")
        return super().traits(feature)


@dataclass(frozen=True, eq=False)
class Probability(FromModel):
    """The probability of one class. Made by `probability`."""

    column: int | None = None

    def raw(self, X: Any) -> Any:
        """Call the model."""
        return (
            self.model.predict_proba(X) if hasattr(self.model, "predict_proba") else self.model(X)
        )

    def read(self, raw: Any, y: Any = None) -> Any:
        """Return the class's column of the probabilities."""
        p = np.asarray(raw)
        if self.column is not None:
            p = column_of(p, self.column, self.describe(), "class")
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

    def _closed_form(self) -> closed.Derivative | None:
        return closed.probability_derivative(self.model, self.column)


@dataclass(frozen=True, eq=False)
class Logit(Probability):
    """The log odds of one class. Made by `logit`."""

    def raw(self, X: Any) -> Any:
        """Return the decision's score where that is the log odds, else the probabilities."""
        if self.column is not None and closed.decides_by_logit(self.model):
            # Exact where the probability has already rounded to 0 or 1.
            return np.asarray(self.model.decision_function(X), dtype=float)
        return super().raw(X)

    def read(self, raw: Any, y: Any = None) -> Any:
        """Return the log odds of the class."""
        if self.column is not None and closed.decides_by_logit(self.model):
            return raw if self.column == 1 else -raw
        p = np.asarray(super().read(raw), dtype=float)
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
    mixed: Callable[[Any, int, int], Any] | None = None,
    output: int | str | Sequence[str] | None = None,
    name: str = "prediction",
    unit: str | None = None,
) -> Any:
    """Explain what a model predicts.

    Parameters
    ----------
    model : callable or fitted estimator
        ``f(X) -> (n,)``, or an object with `predict`. A callable gets rows in the kind of container that X is.
    slope : callable, optional
        ``jac(X) -> (n, d)``: the partial derivatives of all features. Trusted: only its shape is checked, and that it
        is finite.
    mixed : callable, optional
        ``mixed(X, j, k) -> (n,)``: the mixed second derivative by columns j and k, for the DALE of a pair.
    output : int, "all" or sequence of str, optional
        Of a model with several outputs, (n, o): which one, or all of them, or names for all of them. Methods then give
        ``{output: result}``, all from the same model rows. `slope` may return (n, o, d) and `mixed` (n, o).
    name, unit : str, optional
        For the axes of plots.

    Returns
    -------
    Quantity

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
    _check_predictor(model, slope, mixed)
    return predictions(Prediction(model, name, unit, slope, mixed), output)


def _check_predictor(model: Any, slope: Any, mixed: Any) -> None:
    """Refuse what is no model of numbers, and derivatives that are no functions."""
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
    for what, given, wanted in (
        ("slope", slope, "jac(X) -> (n, d)"),
        ("mixed", mixed, "mixed(X, j, k) -> (n,)"),
    ):
        if given is not None and not callable(given):
            raise UnsupportedError(
                explained(
                    what,
                    f"a {type(given).__name__}",
                    f"a function {wanted}",
                    "Pass the function, not its result",
                )
            )


def probability(
    model: Any, class_: Hashable = None, *, name: str | None = None, unit: str | None = None
) -> Any:
    """Explain the probability of one class, or of all.

    Parameters
    ----------
    model : fitted classifier or callable
        With `predict_proba`; or a callable that returns the probabilities: (n,), or (n, classes) with `class_` an
        index.
    class_ : label, optional
        The class. By default the second of two; of more than two, one must be named. "all" (where no class is called
        so) explains every class of a classifier: methods then give ``{class: result}``, all from the same model rows.
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
    if wants_all(model, class_):
        return all_classes(model, unit, Probability, "P(y = {})", name or "probability")
    column, label = _class_column(model, class_, "probability")
    return Probability(model, name or f"P(y = {label})", unit, column)


def logit(
    model: Any, class_: Hashable = None, *, name: str | None = None, unit: str | None = None
) -> Any:
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
    if wants_all(model, class_):
        return all_classes(model, unit, Logit, "logit P(y = {})", name or "logit")
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
