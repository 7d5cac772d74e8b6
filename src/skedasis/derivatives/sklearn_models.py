"""Derivatives of scikit-learn's linear models, perceptrons and Gaussian processes, behind scalers, in closed form.

`prediction_derivative`, `probability_derivative` and `logit_derivative` return the derivative of a fitted model or
pipeline, or None if the model or one of its steps is not recognised; its slopes are then central differences. Models
are recognised by the path of their class; scikit-learn is not imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from skedasis._types import Container, Floats, ModelRows
from skedasis.data.frames import FrameTable
from skedasis.derivatives.kernel_functions import KernelFunction, of_process
from skedasis.models.introspection import (
    LINEAR,
    LOGISTIC,
    MULTI_TASK,
    PERCEPTRON,
    is_pipeline,
    is_sklearn_class,
    is_sklearn_or_pipeline,
    title,
    unwrap_search,
)

ExplainedOutput: TypeAlias = Literal["prediction", "probability", "logit"]
"""The outputs of models that are differentiated."""

CHUNK_BYTES = 8_000_000
"""Bytes that the working memory of a chunk of rows may take: it fits the caches and does not grow with X."""


# --- public functions -----------------------------------------------------------------------------


def prediction_derivative(model: object, output: int | None = None) -> Derivative | None:
    """Return the derivative of `predict`, or of one of its outputs; None if it has no known closed form."""
    return _derivative(model, "prediction", output)


def probability_derivative(model: object, column: int | None) -> Derivative | None:
    """Return the derivative of the probability of a class, for logistic regressions and perceptrons, else None."""
    return _derivative(model, "probability", column)


def logit_derivative(model: object, column: int | None) -> Derivative | None:
    """Return the derivative of the log odds of a class, for logistic regressions and perceptrons, else None."""
    return _derivative(model, "logit", column)


def _derivative(model: object, kind: ExplainedOutput, column: int | None) -> Derivative | None:
    if not is_sklearn_or_pipeline(model):
        return None
    *steps, last = _steps(model)
    make = (_REGRESSORS if kind == "prediction" else _CLASSIFIERS).get(type(last).__name__)
    if make is None or not type(last).__module__.startswith("sklearn."):
        return None
    try:
        head, scalers = make(last, ExplainedTarget(kind, column)), [_scaler(step) for step in steps]
    except AttributeError:
        # The model is not fitted, which its own call reports, or scikit-learn's release has other attributes.
        return None
    known = [scaler for scaler in scalers if scaler is not None]
    if head is None or len(known) < len(scalers):
        return None
    return Derivative(title(model), known, head)


def _steps(model: object) -> list[Any]:
    """Return the steps of a pipeline and of pipelines and searches in it, without those that change nothing."""
    model = unwrap_search(model)
    if is_pipeline(model):
        return [step for _, part in model.steps for step in _steps(part)]
    return [] if model is None or (isinstance(model, str) and model == "passthrough") else [model]


# --- scalers and heads ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Scaler:
    """A linear function of each column, and its slopes, (d,)."""

    scaled: KernelFunction
    slope: Floats | float


def _scaler(step: Any) -> Scaler | None:
    """Return a fitted scaler; None for other transformers and for one that clips."""
    if not is_sklearn_class(step, _SCALERS) or step.get_params().get("clip"):
        return None
    if type(step).__name__ == "MinMaxScaler":
        scale, shift = step.scale_, step.min_
        return Scaler(lambda Z: Z * scale + shift, scale)
    centres = {"StandardScaler": "mean_", "RobustScaler": "center_"}
    centre = getattr(step, centres.get(type(step).__name__, ""), None)
    if centre is None or not getattr(step, "with_mean", True):
        centre = 0.0
    width = 1.0 if step.scale_ is None else np.asarray(step.scale_, dtype=float)
    return Scaler(lambda Z: (Z - centre) / width, 1.0 / width)


_SCALERS = {"MaxAbsScaler", "MinMaxScaler", "RobustScaler", "StandardScaler"}


@dataclass(frozen=True, eq=False)
class ModelHead:
    """A model without its scalers: the derivative of the output by each input, ``(n, d) -> (n, d)``.

    It is ``(1, d)`` if it is the same for all rows; `memory`, the working memory per row, in numbers, is then 0.
    """

    gradient: KernelFunction
    memory: int


@dataclass(frozen=True, eq=False)
class Derivative:
    """The partial derivatives of a model, ``X (n, d) -> (n, d)``, by the chain rule through its scalers.

    At a kink of a piecewise linear model, the derivative is one of the slopes on both sides or their mean.
    """

    what: str
    scalers: Sequence[Scaler]
    head: ModelHead

    def __call__(self, X: ModelRows) -> Floats:
        """Return the derivatives at rows in any container that the model takes, computed in chunks."""
        Z = numbers(cast("Container", X))  # no query of trees: these models have none
        if not self.head.memory:
            return np.broadcast_to(self._gradient(Z[:0]), Z.shape)
        size = max(CHUNK_BYTES // (8 * self.head.memory), 1)
        out = np.empty(Z.shape)
        for start in range(0, len(Z), size):
            out[start : start + size] = self._gradient(Z[start : start + size])
        return out

    def _gradient(self, rows: Floats) -> Floats:
        for scaler in self.scalers:
            rows = scaler.scaled(rows)
        gradient = self.head.gradient(rows)
        for scaler in reversed(self.scalers):
            gradient = gradient * scaler.slope
        return gradient


def numbers(X: Container) -> Floats:
    """Return rows from any container as an array of floats, (n, d)."""
    rows = X if isinstance(X, np.ndarray) else FrameTable(X).to_array()
    return np.asarray(rows, dtype=float)


# --- from fitted models to heads ------------------------------------------------------------------


@dataclass(frozen=True)
class ExplainedTarget:
    """The output of a model that is differentiated, by its index or class; None stands for the only one."""

    kind: ExplainedOutput
    column: int | None


def _flat(coefficients: Floats) -> ModelHead:
    return ModelHead(lambda _: coefficients[None, :], 0)


def _of_output(weights: Floats, output: int | None) -> Floats | None:
    """Return the column of an output from weights, (m,) or (m, outputs); None if there is no such output."""
    if weights.ndim == 1:
        return weights
    count = weights.shape[1]
    if output is None:
        return weights[:, 0] if count == 1 else None
    return weights[:, output] if -count <= output < count else None


def _linear(model: Any, target: ExplainedTarget) -> ModelHead | None:
    coefficients = _of_output(np.asarray(model.coef_, dtype=float).T, target.column)
    return None if coefficients is None else _flat(coefficients)


def _generalised(model: Any, _: ExplainedTarget) -> ModelHead | None:
    """Return a generalised linear model; with a log link the slope is the prediction times the coefficients."""
    link = getattr(model, "link", "log")
    coefficients = np.asarray(model.coef_, dtype=float)
    if link == "identity" or (link == "auto" and model.power <= 0):
        return _flat(coefficients)

    def gradient(Z: Floats) -> Floats:
        with np.errstate(over="ignore"):  # infinite if the prediction is; the evaluator reports it
            return np.exp(Z @ coefficients + float(model.intercept_))[:, None] * coefficients

    return ModelHead(gradient, 2 * len(coefficients) + 2)


def _perceptron(model: Any, target: ExplainedTarget) -> ModelHead | None:
    count, column, last = model.n_outputs_, target.column, model.out_activation_
    if target.kind == "prediction":
        if last != "identity" or (column is None and count > 1):
            return None
        if column is not None and not -count <= column < count:
            return None
        column = column or 0
    elif column is None or (last == "logistic" and count > 1):  # multi-label
        return None
    weights = [np.asarray(w, dtype=float) for w in model.coefs_]
    biases = [np.asarray(b, dtype=float) for b in model.intercepts_]
    return _layers(weights, biases, model.activation, column, target.kind)


def _logistic(model: Any, target: ExplainedTarget) -> ModelHead | None:
    # One-versus-rest probabilities are normalised afterwards, which is left to finite differences. Releases of
    # scikit-learn before 1.8 have the parameter `multi_class`: "ovr", or "multinomial", which doubles the score of two
    # classes.
    multi_class_set = getattr(model, "multi_class", "auto") not in ("auto", "deprecated")
    if target.column is None or multi_class_set:
        return None
    if model.solver == "liblinear" and len(model.classes_) > 2:
        return None
    coefficients = np.asarray(model.coef_, dtype=float)
    if target.kind == "logit" and len(coefficients) == 1:
        return _flat(coefficients[0] if target.column == 1 else -coefficients[0])
    biases = [np.asarray(model.intercept_, dtype=float)]
    return _layers([coefficients.T], biases, "identity", target.column, target.kind)


def _process(model: Any, target: ExplainedTarget) -> ModelHead | None:
    """Return a Gaussian process: a weighted sum of kernels at the rows of its fit."""
    unit = model._y_train_std  # noqa: SLF001 - not public
    own = _of_output(np.asarray(model.alpha_, dtype=float) * unit, target.column)
    kernel = of_process(model.kernel_, model.X_train_)
    if kernel is None or own is None:
        return None

    def gradient(Z: Floats) -> Floats:
        slope = kernel(Z).gradient
        return np.zeros(Z.shape) if slope is None else slope(own[None, :])

    return ModelHead(gradient, 6 * len(own))


_REGRESSORS: dict[str, Callable[[Any, ExplainedTarget], ModelHead | None]] = {
    **dict.fromkeys(LINEAR | MULTI_TASK, _linear),
    **dict.fromkeys(("GammaRegressor", "PoissonRegressor", "TweedieRegressor"), _generalised),
    "GaussianProcessRegressor": _process,
    "MLPRegressor": _perceptron,
}
_CLASSIFIERS: dict[str, Callable[[Any, ExplainedTarget], ModelHead | None]] = {
    **dict.fromkeys(LOGISTIC, _logistic),
    **dict.fromkeys(PERCEPTRON, _perceptron),
}


# --- layers ---------------------------------------------------------------------------------------


def _layers(
    weights: list[Floats],
    biases: list[Floats],
    activation: str,
    column: int,
    kind: ExplainedOutput,
) -> ModelHead:
    """Return dense layers, differentiated by back-propagation."""
    activate, slope = _ACTIVATIONS[activation]

    def gradient(Z: Floats) -> Floats:
        layers = [Z]
        for w, b in zip(weights[:-1], biases[:-1], strict=True):
            layers.append(activate(layers[-1] @ w + b))
        score = layers[-1] @ weights[-1] + biases[-1]
        back = _by_scores(score, column, kind) @ weights[-1].T
        for w, values in zip(weights[-2::-1], layers[:0:-1], strict=True):
            back = (back * slope(values)) @ w.T
        return back

    return ModelHead(gradient, 2 * (len(weights[0]) + sum(w.shape[1] for w in weights)))


def _by_scores(score: Floats, column: int, kind: ExplainedOutput) -> Floats:
    """Return the derivative of the output by each score of the last layer."""
    one_hot = np.zeros_like(score)
    if kind != "prediction" and score.shape[1] == 1:  # the log odds of the second of two classes
        sign = 1.0 if column == 1 else -1.0
        e = np.exp(-np.abs(score))  # gives p (1 - p) in all digits, also where p rounds to 1
        return np.full_like(score, sign) if kind == "logit" else sign * e / (1.0 + e) ** 2
    one_hot[:, column] = 1.0
    if kind == "prediction":
        return one_hot
    if kind == "probability":
        p = _softmax(score)
        return p[:, [column]] * (one_hot - p)
    # d log(p / (1 - p)) = dp / (p (1 - p)). The softmax over the other classes has all digits for any 1 - p.
    return one_hot - _softmax(np.where(one_hot > 0, -np.inf, score))


def _softmax(score: Floats) -> Floats:
    p = np.exp(score - score.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def _sigmoid(z: Floats) -> Floats:
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, e) / (1.0 + e)


_ACTIVATIONS: dict[str, tuple[KernelFunction, KernelFunction]] = {
    "identity": (lambda z: z, np.ones_like),
    "logistic": (_sigmoid, lambda a: a * (1.0 - a)),
    "tanh": (np.tanh, lambda a: 1.0 - a * a),
    "relu": (lambda z: np.maximum(z, 0.0), lambda a: (a > 0).astype(float)),
}
"""Activations, and their derivatives as functions of the activations' values."""
