"""Derivatives of scikit-learn's models: linear, perceptrons, support vector machines, Gaussian processes, voting.

Models are recognised by the path of their class: scikit-learn itself is never imported here. What is not recognised,
in whole or in one of its parts, has no closed form, and its slopes are differences.

To see how a model's derivative is made, read `chain` (steps, ends, and the chain rule that joins them) and then
`build`, the tables from a class to its step or its end. They are imported when the first such model is met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from skedasis._types import Bools, Floats
from skedasis.derivatives.chain_rule import (
    After,
    Beside,
    Blind,
    Branch,
    Derivative,
    End,
    Path,
    Same,
    Step,
    numbers,
)
from skedasis.derivatives.kernel_functions import Kernel, by_name, of_process
from skedasis.derivatives.sklearn_transformers import (
    Norm,
    Polynomials,
    Waves,
    choice,
    function,
    imputer,
    inverse_slope,
    nystroem,
    power,
    projection,
    quantiles,
    scaler,
    splines,
)
from skedasis.models.introspection import (
    LINEAR,
    LOGISTIC,
    MULTI_TASK,
    PERCEPTRON,
    named,
    settled,
    title,
)

# ------------------------------------------------------------------------------------------
# Layers of perceptrons, and the scores, probabilities and log odds at their end.


Kind = Literal["prediction", "probability", "logit"]


@dataclass(frozen=True, eq=False)
class Layers(End):
    """Back-propagation through dense layers.

    Parameters
    ----------
    weights, biases : list of ndarray
        Of each layer.
    activation : str
        Between layers.
    column : int
        The output, or the class.
    kind : {"prediction", "probability", "logit"}
        What is made of the last layer's scores.
    """

    weights: list[Floats]
    biases: list[Floats]
    activation: str
    column: int
    kind: Kind

    @property
    def width(self) -> int:
        """Return all layers' units, forwards and backwards."""
        return 2 * (len(self.weights[0]) + sum(w.shape[1] for w in self.weights))

    def gradient(self, Z: Any) -> Floats:
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
        """Return the quantity's derivative by each output score."""
        one = np.zeros_like(score)
        if self.kind == "prediction":
            one[:, self.column] = 1.0
            return one
        if score.shape[1] == 1:  # two classes, one score: the log odds of the second
            sign = 1.0 if self.column == 1 else -1.0
            e = np.exp(-np.abs(score))  # p (1 - p), in all digits where p rounds to 1
            return np.full_like(score, sign) if self.kind == "logit" else sign * e / (1.0 + e) ** 2
        one[:, self.column] = 1.0
        if self.kind == "probability":
            p = _softmax(score)
            return p[:, [self.column]] * (one - p)
        # d log(p / (1 - p)) = dp / (p (1 - p)): the others share what is left of the class, however little that is.
        return one - _softmax(np.where(one > 0, -np.inf, score))


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
"""Derivatives of activations, as functions of their values."""


# ------------------------------------------------------------------------------------------
# Ends of pipelines: models, from the rows they are given to one number, and to its gradient.


@dataclass(frozen=True, eq=False)
class Linear(End):
    """``Z @ coefficients + intercept``: the same slopes for every row."""

    coefficients: Floats

    flat = True

    def gradient(self, Z: Any) -> Floats:
        """Return the coefficients."""
        return self.coefficients[None, :]

    @property
    def width(self) -> int:
        """Return the number of columns."""
        return len(self.coefficients)


@dataclass(frozen=True, eq=False)
class Exponential(End):
    """``exp(Z @ coefficients + intercept)``: a generalised linear model whose link is the logarithm."""

    coefficients: Floats
    intercept: float

    def gradient(self, Z: Any) -> Floats:
        """Return the prediction times the coefficients."""
        with np.errstate(
            over="ignore"
        ):  # infinite, as the prediction is: that has words of its own
            predicted = np.exp(numbers(Z) @ self.coefficients + self.intercept)
        return predicted[:, None] * self.coefficients

    @property
    def width(self) -> int:
        """Return two arrays of the rows' size."""
        return 2 * len(self.coefficients) + 2


@dataclass(frozen=True, eq=False)
class Machine(End):
    """A weighted sum of kernels at rows of fit: Gaussian processes, support vectors, kernel ridge.

    Parameters
    ----------
    kernel : Kernel
    weights : ndarray of float, shape (m,)
        Of the rows of fit.
    """

    kernel: Kernel
    weights: Floats

    def gradient(self, Z: Any) -> Floats:
        """Return the weighted sum of the kernels' gradients."""
        z = numbers(Z)
        pull = self.kernel.at(z).pull
        return np.zeros(z.shape) if pull is None else pull(self.weights[None, :])

    @property
    def width(self) -> int:
        """Return some arrays of the kernel's size; beside them the rows count for little."""
        return 6 * len(self.weights)


@dataclass(frozen=True, eq=False)
class Mean(End):
    """The weighted mean of models.

    Parameters
    ----------
    ends : sequence of End
    weights : ndarray of float
        They sum to 1.
    """

    ends: Sequence[End]
    weights: Floats

    @property
    def flat(self) -> bool:  # type: ignore[override]
        """Return whether all of them are."""
        return all(end.flat for end in self.ends)

    def gradient(self, Z: Any) -> Floats:
        """Return the weighted mean of their gradients."""
        total: Any = 0.0
        for end, weight in zip(self.ends, self.weights, strict=True):
            total = total + weight * end.gradient(Z)
        return total

    def taint(self) -> Bools | None:
        """Return what acts through a jump in any of them."""
        found = [bad for bad in (end.taint() for end in self.ends) if bad is not None]
        return np.logical_or.reduce(found) if found else None

    @property
    def width(self) -> int:
        """Return the largest of their widths: they work one after the other."""
        return max(end.width for end in self.ends)


@dataclass(frozen=True, eq=False)
class Outer(End):
    """A function of a model's prediction: the inverse of what its target was transformed by.

    Parameters
    ----------
    model : object
        What predicts the transformed target.
    end : End
        The same.
    slope : callable
        The function's derivative, ``z (n, o) -> (n, o)``.
    column : int
        Which of the targets is explained.
    """

    model: Any
    end: End
    slope: Callable[[Floats], Floats]
    column: int

    def gradient(self, Z: Any) -> Floats:
        """Multiply by the function's derivative."""
        predicted = np.asarray(self.model.predict(Z), dtype=float)
        z = predicted.reshape(len(predicted), -1)
        with np.errstate(all="ignore"):
            return self.slope(z)[:, [self.column]] * self.end.gradient(Z)

    def taint(self) -> Bools | None:
        """Return what acts through a jump in the model."""
        return self.end.taint()

    @property
    def width(self) -> int:
        """Return the model's width."""
        return self.end.width


# ------------------------------------------------------------------------------------------
# From fitted models to their derivatives: tables from a class to what builds its step or its end.


@dataclass(frozen=True)
class Asked:
    """Of what a derivative is wanted.

    Parameters
    ----------
    kind : {"prediction", "probability", "logit"}
    column : int, optional
        The output, or the class; None means the only output.
    """

    kind: Kind
    column: int | None


def derivative(model: Any, kind: Kind, column: int | None) -> Derivative | None:
    """Return a model's derivative; None where it is not known, or says nothing because all columns are encoded."""
    try:
        end = end_of(model, Asked(kind, column))
        bad = None if end is None else end.taint()
    except AttributeError:
        # Not fitted, as its own call will say, or of a release that keeps its numbers elsewhere.
        return None
    if end is None or (bad is not None and bad.all()):
        return None
    return Derivative(title(model), end)


# ------------------------------------------------------------------------------------------- ends
def end_of(model: Any, asked: Asked) -> End | None:
    """Return a model as an end; None where it, or a step before it, is not known."""
    model = settled(model)
    if getattr(model, "steps", None):
        return _behind(model, asked)
    if not type(model).__module__.startswith("sklearn."):
        return None
    make = (_REGRESSORS if asked.kind == "prediction" else _CLASSIFIERS).get(type(model).__name__)
    return None if make is None else make(model, asked)


def _behind(pipeline: Any, asked: Asked) -> End | None:
    """Return a pipeline's last step behind all others."""
    end = end_of(pipeline.steps[-1][1], asked)
    before = [step for _, part in pipeline.steps[:-1] for step in _flat(part)]
    if end is None or not before:
        return end
    step = _joined(before, int(before[0].n_features_in_))
    if step is None or isinstance(step, Blind):
        return None
    return After(step if isinstance(step, Path) else Path([step]), end)


def _linear(model: Any, asked: Asked) -> End | None:
    coefficients = _of_output(np.asarray(model.coef_, dtype=float).T, asked.column)
    return None if coefficients is None else Linear(coefficients)


def _of_output(weights: Floats, output: int | None) -> Floats | None:
    """Return one output's column of weights, (m,) or (m, outputs); None where there is no such one."""
    if weights.ndim == 1:
        return weights
    count = weights.shape[1]
    if output is None:
        return weights[:, 0] if count == 1 else None
    return weights[:, output] if -count <= output < count else None


def _generalised(model: Any, _: Asked) -> End | None:
    straight = getattr(model, "link", "log") == "identity"
    straight = straight or (getattr(model, "link", "log") == "auto" and model.power <= 0)
    coefficients = np.asarray(model.coef_, dtype=float)
    return Linear(coefficients) if straight else Exponential(coefficients, float(model.intercept_))


def _perceptron(model: Any, asked: Asked) -> End | None:
    count, column, last = model.n_outputs_, asked.column, model.out_activation_
    if asked.kind == "prediction":
        if last != "identity" or (column is None and count > 1):
            return None
        if column is not None and not -count <= column < count:
            return None
        column = column or 0
    elif last == "logistic" and count > 1:
        return None  # several labels at once
    if column is None:
        return None
    weights = [np.asarray(w, dtype=float) for w in model.coefs_]
    biases = [np.asarray(b, dtype=float) for b in model.intercepts_]
    return Layers(weights, biases, model.activation, column, asked.kind)


def _logistic_head(model: Any, asked: Asked) -> End | None:
    # One-versus-rest probabilities are normalised afterwards: another derivative, left to differences.
    # Releases before 1.8 could be told to; of two classes "multinomial" doubles the score there.
    told = getattr(model, "multi_class", "auto") not in ("auto", "deprecated")
    if asked.column is None or told:
        return None
    if getattr(model, "solver", "") == "liblinear" and len(model.classes_) > 2:
        return None
    coefficients = np.asarray(model.coef_, dtype=float)
    if asked.kind == "logit" and len(coefficients) == 1:
        return Linear(coefficients[0] if asked.column == 1 else -coefficients[0])
    biases = [np.asarray(model.intercept_, dtype=float)]
    return Layers([coefficients.T], biases, "identity", asked.column, asked.kind)


def _process(model: Any, asked: Asked) -> End | None:
    if not hasattr(model, "X_train_"):
        return None
    unit = model._y_train_std  # noqa: SLF001 - nowhere else
    weights = np.asarray(model.alpha_, dtype=float) * unit
    return _machine(of_process(model.kernel_, model.X_train_), weights, asked)


def _vectors(model: Any, asked: Asked) -> End | None:
    if model.support_vectors_.shape[0] == 0:  # all rows of fit lie within epsilon of one constant
        return Linear(np.zeros(int(model.n_features_in_)))
    gamma = model._gamma  # noqa: SLF001 - nowhere else
    kernel = by_name(model.kernel, model.support_vectors_, gamma, model.degree, model.coef0)
    return None if kernel is None else _machine(kernel, np.asarray(model.dual_coef_[0]), asked)


def _ridge(model: Any, asked: Asked) -> End | None:
    kernel = by_name(model.kernel, model.X_fit_, model.gamma, model.degree, model.coef0)
    return _machine(kernel, np.asarray(model.dual_coef_, dtype=float), asked)


def _machine(kernel: Kernel | None, weights: Floats, asked: Asked) -> End | None:
    own = _of_output(weights, asked.column)
    return None if kernel is None or own is None else Machine(kernel, own)


def _voting(model: Any, asked: Asked) -> End | None:
    ends = [end_of(member, asked) for member in model.estimators_]
    known = [end for end in ends if end is not None]
    if asked.column is not None or len(known) < len(ends):
        return None
    weights = np.ones(len(ends))
    if model.weights is not None:
        pairs = zip(model.estimators, model.weights, strict=True)
        weights = np.array([weight for (_, member), weight in pairs if member != "drop"], float)
    return Mean(known, weights / weights.sum())


def _transformed(model: Any, asked: Asked) -> End | None:
    end, back = end_of(model.regressor_, asked), model.transformer_
    if end is None or not type(back).__module__.startswith("sklearn.preprocessing"):
        return None
    slope = inverse_slope(back)
    return None if slope is None else Outer(model.regressor_, end, slope, asked.column or 0)


_End = Callable[[Any, Asked], End | None]


_REGRESSORS: dict[str, _End] = {
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


_CLASSIFIERS: dict[str, _End] = {
    **dict.fromkeys(LOGISTIC, _logistic_head),
    **dict.fromkeys(PERCEPTRON, _perceptron),
}


# ------------------------------------------------------------------------------------------ steps
def step_of(model: Any, size: int) -> Step | None:
    """Return a transformer of `size` columns as a step; None where it, or a part of it, is not known."""
    return _joined(_flat(model), size)


def _flat(model: Any) -> list[Any]:
    """Return the transformers of a pipeline, of pipelines within it too, without those that do nothing."""
    model = settled(model)
    if model is None or (isinstance(model, str) and model == "passthrough"):
        return []
    inner = getattr(model, "steps", None)
    return [step for _, part in inner for step in _flat(part)] if inner else [model]


def _joined(models: Sequence[Any], size: int) -> Step | None:
    """Return transformers that follow each other as one step; None where one of them is not known."""
    if any(named(model, _BLIND) for model in models):
        # Constant between jumps is then the whole of it, whatever comes before and after.
        return Blind(models[-1], size)
    steps: list[Step] = []
    for model in models:
        step = _single(model, size)
        if step is None:
            return None
        steps.append(step)
        size = step.outputs
    if not steps:
        return Same(size)
    return steps[0] if len(steps) == 1 else Path(steps)


def _single(model: Any, size: int) -> Step | None:
    """Return a transformer that is no pipeline."""
    if named(model, {"FeatureUnion"}):
        return _union(model, size)
    chooses = type(model).__module__.startswith("sklearn.feature_selection.")
    make = choice if chooses else _STEPS.get(type(model).__name__)
    return make(model) if make and type(model).__module__.startswith("sklearn.") else None


def _columns(model: Any) -> Step | None:
    """Return transformers of some of the columns each."""
    weights, branches = model.transformer_weights or {}, list[Branch]()
    inputs = model._transformer_to_input_indices  # noqa: SLF001 - nowhere else
    for name, transformer, _ in model.transformers_:
        places = np.asarray(inputs[name], dtype=int)
        if len(places) == 0 or (isinstance(transformer, str) and transformer == "drop"):
            continue
        step = step_of(transformer, len(places))
        if step is None:
            return None
        branches.append(Branch(places, model.output_indices_[name], step, weights.get(name, 1.0)))
    return Beside(model, branches, int(model.n_features_in_))


def _union(model: Any, size: int) -> Step | None:
    """Return transformers of all columns, whose outputs are joined."""
    weights, branches, start = model.transformer_weights or {}, list[Branch](), 0
    for name, transformer in model.transformer_list:
        if isinstance(transformer, str) and transformer == "drop":
            continue
        step = step_of(transformer, size)
        if step is None:
            return None
        part = slice(start, start + step.outputs)
        branches.append(Branch(np.arange(size), part, step, weights.get(name, 1.0), whole=True))
        start = part.stop
    return Beside(model, branches, size)


_BLIND = {
    "Binarizer",
    "KBinsDiscretizer",
    "LabelBinarizer",
    "MissingIndicator",
    "OneHotEncoder",
    "OrdinalEncoder",
    "RandomTreesEmbedding",
    "TargetEncoder",
}
"""Transformers that are constant between jumps. What is not a number before them has no slopes at all."""


_STEPS: dict[str, Callable[[Any], Step | None]] = {
    **dict.fromkeys(("MaxAbsScaler", "MinMaxScaler", "RobustScaler", "StandardScaler"), scaler),
    **dict.fromkeys(("FastICA", "IncrementalPCA", "PCA", "TruncatedSVD"), projection),
    "ColumnTransformer": _columns,
    "FunctionTransformer": function,
    "Normalizer": Norm,
    "Nystroem": nystroem,
    "PolynomialFeatures": Polynomials,
    "PowerTransformer": power,
    "QuantileTransformer": quantiles,
    "RBFSampler": Waves,
    "SimpleImputer": imputer,
    "SplineTransformer": splines,
}


# ------------------------------------------------------------------------------------------
# Derivatives of scikit-learn's models that are known in closed form.


def prediction_derivative(model: Any, output: int | None = None) -> Derivative | None:
    """Return the derivative of `predict`, or of one of its outputs; None where it is not known.

    Known for linear and generalised linear models, multi-layer perceptrons, Gaussian processes, support vector
    regression, kernel ridge and means of these; behind transformers or not, with a transformed target or not.
    """
    return _derivative(model, "prediction", output)


def probability_derivative(model: Any, column: int | None) -> Derivative | None:
    """Return the derivative of one class's probability: of logistic regressions and perceptrons, else None."""
    return _derivative(model, "probability", column)


def logit_derivative(model: Any, column: int | None) -> Derivative | None:
    """Return the derivative of one class's log odds: of logistic regressions and perceptrons, else None."""
    return _derivative(model, "logit", column)


def _derivative(model: Any, kind: Kind, column: int | None) -> Derivative | None:
    # Pipelines of other libraries hold models of scikit-learn, too.
    if not (type(model).__module__.startswith("sklearn.") or hasattr(model, "steps")):
        return None
    return derivative(model, kind, column)
