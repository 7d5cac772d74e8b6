"""Derivatives of scikit-learn's models: linear, perceptrons, support vector machines, Gaussian processes, voting.

`prediction_derivative`, `probability_derivative` and `logit_derivative` return the derivative of a fitted model or
pipeline in closed form, or None if the model or one of its parts is not recognised; its slopes are then central
differences. `skedasis.quantities.outputs` and `skedasis.quantities.uncertainty` call them.

Models are recognised by the path of their class; scikit-learn is not imported here. `_REGRESSORS` and `_CLASSIFIERS`
are tables from a class to the function that builds its head, `_STEPS` from a transformer to the function that builds
its step; `skedasis.derivatives.chain_rule` describes heads and steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from skedasis._types import Bools, Floats
from skedasis.derivatives.chain_rule import (
    Branch,
    Chain,
    ChainedHead,
    Derivative,
    Head,
    Identity,
    Parallel,
    PiecewiseConstant,
    Rows,
    Step,
    numbers,
)
from skedasis.derivatives.kernel_functions import Kernel, by_name, of_process
from skedasis.derivatives.sklearn_transformers import (
    Norm,
    Polynomials,
    RandomFourierFeatures,
    function,
    imputer,
    inverse_slope,
    nystroem,
    power,
    projection,
    quantiles,
    scaler,
    selection,
    splines,
)
from skedasis.models.introspection import (
    LINEAR,
    LOGISTIC,
    MULTI_TASK,
    PERCEPTRON,
    Pipeline,
    is_pipeline,
    is_sklearn_class,
    is_sklearn_or_pipeline,
    title,
    unwrap_search,
)
from skedasis.models.protocols import SupportsPredict

Kind = Literal["prediction", "probability", "logit"]
"""The outputs of models that are differentiated."""


# --- public functions -----------------------------------------------------------------------------


def prediction_derivative(model: object, output: int | None = None) -> Derivative | None:
    """Return the derivative of `predict`, or of one of its outputs; None if it has no known closed form.

    Linear and generalised linear models, multi-layer perceptrons, Gaussian processes, support vector regression, kernel
    ridge and means of these have one, behind transformers and with a transformed target, too.
    """
    return _derivative(model, "prediction", output)


def probability_derivative(model: object, column: int | None) -> Derivative | None:
    """Return the derivative of the probability of a class, for logistic regressions and perceptrons, else None."""
    return _derivative(model, "probability", column)


def logit_derivative(model: object, column: int | None) -> Derivative | None:
    """Return the derivative of the log odds of a class, for logistic regressions and perceptrons, else None."""
    return _derivative(model, "logit", column)


def _derivative(model: object, kind: Kind, column: int | None) -> Derivative | None:
    """Return the derivative; None if it is not known, or meaningless because all columns are encoded."""
    if not is_sklearn_or_pipeline(model):
        return None
    try:
        head = _head_of(model, Target(kind, column))
        jumps = None if head is None else head.jump_inputs()
    except AttributeError:
        # The model is not fitted, which its own call reports, or scikit-learn's release has other attributes.
        return None
    if head is None or (jumps is not None and jumps.all()):
        return None
    return Derivative(title(model), head)


# --- heads: perceptrons and logistic regressions --------------------------------------------------


@dataclass(frozen=True, eq=False)
class Layers(Head):
    """Dense layers, differentiated by back-propagation.

    Parameters
    ----------
    weights, biases : list of ndarray
        Parameters of each layer.
    activation : str
        The activation between layers.
    column : int
        The output or the class.
    kind : {"prediction", "probability", "logit"}
        The function of the last layer's scores.
    """

    weights: list[Floats]
    biases: list[Floats]
    activation: str
    column: int
    kind: Kind

    @property
    def row_memory(self) -> int:
        """Return the units of all layers, forwards and backwards."""
        return 2 * (len(self.weights[0]) + sum(w.shape[1] for w in self.weights))

    def gradient(self, Z: Rows) -> Floats:
        """Return the derivatives by the inputs of the first layer."""
        layers = [numbers(Z)]
        for w, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            layers.append(_ACTIVATE[self.activation](layers[-1] @ w + b))
        score = layers[-1] @ self.weights[-1] + self.biases[-1]
        gradient = self._by_scores(score) @ self.weights[-1].T
        for w, values in zip(self.weights[-2::-1], layers[:0:-1], strict=True):
            gradient = (gradient * _SLOPE[self.activation](values)) @ w.T
        return gradient

    def _by_scores(self, score: Floats) -> Floats:
        """Return the derivative of the output by each score."""
        one_hot = np.zeros_like(score)
        if self.kind == "prediction":
            one_hot[:, self.column] = 1.0
            return one_hot
        if score.shape[1] == 1:  # two classes, one score: the log odds of the second class
            sign = 1.0 if self.column == 1 else -1.0
            e = np.exp(-np.abs(score))  # gives p (1 - p) in all digits, also where p rounds to 1
            return np.full_like(score, sign) if self.kind == "logit" else sign * e / (1.0 + e) ** 2
        one_hot[:, self.column] = 1.0
        if self.kind == "probability":
            p = _softmax(score)
            return p[:, [self.column]] * (one_hot - p)
        # d log(p / (1 - p)) = dp / (p (1 - p)). The softmax over the other classes has all digits for any 1 - p.
        return one_hot - _softmax(np.where(one_hot > 0, -np.inf, score))


def _softmax(score: Floats) -> Floats:
    p = np.exp(score - score.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def _logistic_activation(z: Floats) -> Floats:
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, e) / (1.0 + e)


_ACTIVATE: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda z: z,
    "logistic": _logistic_activation,
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0.0),
}


_SLOPE: dict[str, Callable[[Floats], Floats]] = {
    "identity": np.ones_like,
    "logistic": lambda a: a * (1.0 - a),
    "tanh": lambda a: 1.0 - a * a,
    "relu": lambda a: (a > 0).astype(float),
}
"""Derivatives of activations, as functions of the activations' values."""


# --- heads: linear models, kernel expansions, means, transformed targets --------------------------


@dataclass(frozen=True, eq=False)
class Linear(Head):
    """``Z @ coefficients + intercept``, with the same slopes for all rows."""

    coefficients: Floats

    flat = True

    def gradient(self, Z: Rows) -> Floats:
        """Return the coefficients."""
        return self.coefficients[None, :]

    @property
    def row_memory(self) -> int:
        """Return the number of columns."""
        return len(self.coefficients)


@dataclass(frozen=True, eq=False)
class Exponential(Head):
    """``exp(Z @ coefficients + intercept)``: a generalised linear model whose link is the logarithm."""

    coefficients: Floats
    intercept: float

    def gradient(self, Z: Rows) -> Floats:
        """Return the prediction times the coefficients."""
        with np.errstate(
            over="ignore"
        ):  # infinite if the prediction is, which the evaluator reports
            predicted = np.exp(numbers(Z) @ self.coefficients + self.intercept)
        return predicted[:, None] * self.coefficients

    @property
    def row_memory(self) -> int:
        """Return twice the number of columns."""
        return 2 * len(self.coefficients) + 2


@dataclass(frozen=True, eq=False)
class KernelExpansion(Head):
    """A weighted sum of kernels at training rows: Gaussian processes, support vector machines, kernel ridge.

    Parameters
    ----------
    kernel : Kernel
    weights : ndarray of float, shape (m,)
        Weights of the training rows.
    """

    kernel: Kernel
    weights: Floats

    def gradient(self, Z: Rows) -> Floats:
        """Return the weighted sum of the kernels' gradients."""
        z = numbers(Z)
        gradient = self.kernel.on_rows(z).gradient
        return np.zeros(z.shape) if gradient is None else gradient(self.weights[None, :])

    @property
    def row_memory(self) -> int:
        """Return several times the number of centres, compared with which the columns count little."""
        return 6 * len(self.weights)


@dataclass(frozen=True, eq=False)
class MeanHead(Head):
    """The weighted mean of several heads.

    Parameters
    ----------
    heads : sequence of Head
    weights : ndarray of float
        Weights with sum 1.
    """

    heads: Sequence[Head]
    weights: Floats

    @property
    def flat(self) -> bool:  # type: ignore[override]
        """Return whether all heads are flat."""
        return all(head.flat for head in self.heads)

    def gradient(self, Z: Rows) -> Floats:
        """Return the weighted mean of the gradients."""
        total = np.zeros((1, 1))
        for head, weight in zip(self.heads, self.weights, strict=True):
            total = total + weight * head.gradient(Z)
        return total

    def jump_inputs(self) -> Bools | None:
        """Return which inputs act through a jump in at least one head."""
        jumps = [j for j in (head.jump_inputs() for head in self.heads) if j is not None]
        return np.logical_or.reduce(jumps) if jumps else None

    @property
    def row_memory(self) -> int:
        """Return the largest number of the heads, which are evaluated one after the other."""
        return max(head.row_memory for head in self.heads)


@dataclass(frozen=True, eq=False)
class TransformedTarget(Head):
    """A function of a model's prediction: the inverse of the transformation of the target.

    Parameters
    ----------
    model : object
        The model of the transformed target.
    head : Head
        The head of this model.
    slope : callable
        The derivative of the function, ``z (n, o) -> (n, o)``.
    column : int
        The explained target.
    """

    model: SupportsPredict
    head: Head
    slope: Callable[[Floats], Floats]
    column: int

    def gradient(self, Z: Rows) -> Floats:
        """Return the model's gradient times the derivative of the function."""
        predicted = np.asarray(self.model.predict(Z), dtype=float)
        z = predicted.reshape(len(predicted), -1)
        with np.errstate(all="ignore"):
            return self.slope(z)[:, [self.column]] * self.head.gradient(Z)

    def jump_inputs(self) -> Bools | None:
        """Return which inputs act through a jump in the model."""
        return self.head.jump_inputs()

    @property
    def row_memory(self) -> int:
        """Return the model's working memory per row."""
        return self.head.row_memory


# --- from fitted models to heads ------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """The output of a model that is differentiated.

    Parameters
    ----------
    kind : {"prediction", "probability", "logit"}
    column : int, optional
        The output or the class; None stands for the only output.
    """

    kind: Kind
    column: int | None


def _head_of(model: object, target: Target) -> Head | None:
    """Return the head of a model or pipeline; None if it, or one of its steps, is not known."""
    model = unwrap_search(model)
    if is_pipeline(model):
        return _pipeline_head(model, target)
    if not type(model).__module__.startswith("sklearn."):
        return None
    make = (_REGRESSORS if target.kind == "prediction" else _CLASSIFIERS).get(type(model).__name__)
    return None if make is None else make(model, target)


def _pipeline_head(pipeline: Pipeline, target: Target) -> Head | None:
    """Return the head of a pipeline: its last step behind all others."""
    head = _head_of(pipeline.steps[-1][1], target)
    before = [step for _, part in pipeline.steps[:-1] for step in _transformers(part)]
    if head is None or not before:
        return head
    step = _chain(before, int(before[0].n_features_in_))
    if step is None or isinstance(step, PiecewiseConstant):
        return None
    return ChainedHead(step if isinstance(step, Chain) else Chain([step]), head)


def _linear(model: Any, target: Target) -> Head | None:
    coefficients = _of_output(np.asarray(model.coef_, dtype=float).T, target.column)
    return None if coefficients is None else Linear(coefficients)


def _of_output(weights: Floats, output: int | None) -> Floats | None:
    """Return the column of an output from weights, (m,) or (m, outputs); None if there is no such output."""
    if weights.ndim == 1:
        return weights
    count = weights.shape[1]
    if output is None:
        return weights[:, 0] if count == 1 else None
    return weights[:, output] if -count <= output < count else None


def _generalised(model: Any, _: Target) -> Head | None:
    identity = getattr(model, "link", "log") == "identity"
    identity = identity or (getattr(model, "link", "log") == "auto" and model.power <= 0)
    coefficients = np.asarray(model.coef_, dtype=float)
    return Linear(coefficients) if identity else Exponential(coefficients, float(model.intercept_))


def _perceptron(model: Any, target: Target) -> Head | None:
    count, column, last = model.n_outputs_, target.column, model.out_activation_
    if target.kind == "prediction":
        if last != "identity" or (column is None and count > 1):
            return None
        if column is not None and not -count <= column < count:
            return None
        column = column or 0
    elif last == "logistic" and count > 1:
        return None  # multi-label
    if column is None:
        return None
    weights = [np.asarray(w, dtype=float) for w in model.coefs_]
    biases = [np.asarray(b, dtype=float) for b in model.intercepts_]
    return Layers(weights, biases, model.activation, column, target.kind)


def _logistic_head(model: Any, target: Target) -> Head | None:
    # One-versus-rest probabilities are normalised afterwards, which is left to finite differences. Releases of
    # scikit-learn before 1.8 have the parameter `multi_class`: "ovr", or "multinomial", which doubles the score of two
    # classes.
    multi_class_set = getattr(model, "multi_class", "auto") not in ("auto", "deprecated")
    if target.column is None or multi_class_set:
        return None
    if getattr(model, "solver", "") == "liblinear" and len(model.classes_) > 2:
        return None
    coefficients = np.asarray(model.coef_, dtype=float)
    if target.kind == "logit" and len(coefficients) == 1:
        return Linear(coefficients[0] if target.column == 1 else -coefficients[0])
    biases = [np.asarray(model.intercept_, dtype=float)]
    return Layers([coefficients.T], biases, "identity", target.column, target.kind)


def _process(model: Any, target: Target) -> Head | None:
    if not hasattr(model, "X_train_"):
        return None
    unit = model._y_train_std  # noqa: SLF001 - not public
    weights = np.asarray(model.alpha_, dtype=float) * unit
    return _machine(of_process(model.kernel_, model.X_train_), weights, target)


def _vectors(model: Any, target: Target) -> Head | None:
    if model.support_vectors_.shape[0] == 0:  # all targets lie within epsilon of a constant
        return Linear(np.zeros(int(model.n_features_in_)))
    gamma = model._gamma  # noqa: SLF001 - not public
    kernel = by_name(model.kernel, model.support_vectors_, gamma, model.degree, model.coef0)
    return None if kernel is None else _machine(kernel, np.asarray(model.dual_coef_[0]), target)


def _ridge(model: Any, target: Target) -> Head | None:
    kernel = by_name(model.kernel, model.X_fit_, model.gamma, model.degree, model.coef0)
    return _machine(kernel, np.asarray(model.dual_coef_, dtype=float), target)


def _machine(kernel: Kernel | None, weights: Floats, target: Target) -> Head | None:
    own = _of_output(weights, target.column)
    return None if kernel is None or own is None else KernelExpansion(kernel, own)


def _voting(model: Any, target: Target) -> Head | None:
    heads = [_head_of(member, target) for member in model.estimators_]
    known = [head for head in heads if head is not None]
    if target.column is not None or len(known) < len(heads):
        return None
    weights = np.ones(len(heads))
    if model.weights is not None:
        pairs = zip(model.estimators, model.weights, strict=True)
        weights = np.array([weight for (_, member), weight in pairs if member != "drop"], float)
    return MeanHead(known, weights / weights.sum())


def _transformed(model: Any, target: Target) -> Head | None:
    head, transformer = _head_of(model.regressor_, target), model.transformer_
    if head is None or not type(transformer).__module__.startswith("sklearn.preprocessing"):
        return None
    slope = inverse_slope(transformer)
    return (
        None
        if slope is None
        else TransformedTarget(model.regressor_, head, slope, target.column or 0)
    )


_HeadBuilder = Callable[[Any, Target], Head | None]


_REGRESSORS: dict[str, _HeadBuilder] = {
    **dict.fromkeys(LINEAR | MULTI_TASK, _linear),
    **dict.fromkeys(("GammaRegressor", "PoissonRegressor", "TweedieRegressor"), _generalised),
    "GaussianProcessRegressor": _process,
    "KernelRidge": _ridge,
    "MLPRegressor": _perceptron,
    "NuSVR": _vectors,
    "SVR": _vectors,
    "TransformedTargetRegressor": _transformed,
    "VotingRegressor": _voting,
}


_CLASSIFIERS: dict[str, _HeadBuilder] = {
    **dict.fromkeys(LOGISTIC, _logistic_head),
    **dict.fromkeys(PERCEPTRON, _perceptron),
}


# --- from fitted transformers to steps ------------------------------------------------------------


def _step_of(model: object, size: int) -> Step | None:
    """Return the step of a transformer of `size` columns; None if it, or a part of it, is not known."""
    return _chain(_transformers(model), size)


def _transformers(model: object) -> list[Any]:
    """Return the transformers of a pipeline and of pipelines inside it, without those that pass columns through."""
    model = unwrap_search(model)
    if model is None or (isinstance(model, str) and model == "passthrough"):
        return []
    if is_pipeline(model):
        return [step for _, part in model.steps for step in _transformers(part)]
    return [model]


def _chain(models: Sequence[Any], size: int) -> Step | None:
    """Return consecutive transformers as one step; None if one of them is not known."""
    if any(is_sklearn_class(model, _PIECEWISE_CONSTANT) for model in models):
        # The chain is then constant between jumps, whatever precedes or follows.
        return PiecewiseConstant(models[-1], size)
    steps: list[Step] = []
    for model in models:
        step = _single_step(model, size)
        if step is None:
            return None
        steps.append(step)
        size = step.outputs
    if not steps:
        return Identity(size)
    return steps[0] if len(steps) == 1 else Chain(steps)


def _single_step(model: Any, size: int) -> Step | None:
    """Return the step of a transformer that is not a pipeline."""
    if is_sklearn_class(model, {"FeatureUnion"}):
        return _union(model, size)
    selects = type(model).__module__.startswith("sklearn.feature_selection.")
    make = selection if selects else _STEPS.get(type(model).__name__)
    return make(model) if make and type(model).__module__.startswith("sklearn.") else None


def _column_transformer(model: Any) -> Step | None:
    """Return a `ColumnTransformer`: parallel transformers of some of the columns each."""
    weights, branches = model.transformer_weights or {}, list[Branch]()
    inputs = model._transformer_to_input_indices  # noqa: SLF001 - not public
    for name, transformer, _ in model.transformers_:
        positions = np.asarray(inputs[name], dtype=int)
        if len(positions) == 0 or (isinstance(transformer, str) and transformer == "drop"):
            continue
        step = _step_of(transformer, len(positions))
        if step is None:
            return None
        branches.append(
            Branch(positions, model.output_indices_[name], step, weights.get(name, 1.0))
        )
    return Parallel(model, branches, int(model.n_features_in_))


def _union(model: Any, size: int) -> Step | None:
    """Return a `FeatureUnion`: parallel transformers of all columns."""
    weights, branches, start = model.transformer_weights or {}, list[Branch](), 0
    for name, transformer in model.transformer_list:
        if isinstance(transformer, str) and transformer == "drop":
            continue
        step = _step_of(transformer, size)
        if step is None:
            return None
        part = slice(start, start + step.outputs)
        branches.append(
            Branch(np.arange(size), part, step, weights.get(name, 1.0), all_columns=True)
        )
        start = part.stop
    return Parallel(model, branches, size)


_PIECEWISE_CONSTANT = {
    "Binarizer",
    "KBinsDiscretizer",
    "LabelBinarizer",
    "MissingIndicator",
    "OneHotEncoder",
    "OrdinalEncoder",
    "RandomTreesEmbedding",
    "TargetEncoder",
}
"""Transformers that are constant between jumps. Some of them accept text, which has no slopes."""


_STEPS: dict[str, Callable[[Any], Step | None]] = {
    **dict.fromkeys(("MaxAbsScaler", "MinMaxScaler", "RobustScaler", "StandardScaler"), scaler),
    **dict.fromkeys(("FastICA", "IncrementalPCA", "PCA", "TruncatedSVD"), projection),
    "ColumnTransformer": _column_transformer,
    "FunctionTransformer": function,
    "Normalizer": Norm,
    "Nystroem": nystroem,
    "PolynomialFeatures": Polynomials,
    "PowerTransformer": power,
    "QuantileTransformer": quantiles,
    "RBFSampler": RandomFourierFeatures,
    "SimpleImputer": imputer,
    "SplineTransformer": splines,
}
