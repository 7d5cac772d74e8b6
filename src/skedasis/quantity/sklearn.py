"""What is known in closed form of scikit-learn's models: derivatives, and which of them are piecewise constant.

Models are recognised by the path of their class: scikit-learn itself is never imported here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis.quantity.fitted import title
from skedasis.typing import Floats

# Models whose `predict` is X @ coef_ + intercept_. Generalised linear models are not among them: their link bends.
_LINEAR = {
    "ARDRegression",
    "BayesianRidge",
    "ElasticNet",
    "ElasticNetCV",
    "HuberRegressor",
    "Lars",
    "LarsCV",
    "Lasso",
    "LassoCV",
    "LassoLars",
    "LassoLarsCV",
    "LassoLarsIC",
    "LinearRegression",
    "LinearSVR",
    "OrthogonalMatchingPursuit",
    "OrthogonalMatchingPursuitCV",
    "PassiveAggressiveRegressor",
    "QuantileRegressor",
    "Ridge",
    "RidgeCV",
    "SGDRegressor",
    "TheilSenRegressor",
}
_LOGISTIC = {"LogisticRegression", "LogisticRegressionCV"}
_PERCEPTRON = {"MLPClassifier", "MLPRegressor"}
_TREES = {
    "Booster",
    "CatBoostClassifier",
    "CatBoostRegressor",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "IsolationForest",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "LGBMClassifier",
    "LGBMRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "XGBClassifier",
    "XGBRegressor",
    "XGBRFClassifier",
    "XGBRFRegressor",
}
_ENSEMBLES = {
    "BaggingClassifier",
    "BaggingRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "AdaBoostClassifier",
    "AdaBoostRegressor",
}
_SCALERS = {"StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"}
_CHUNK_BYTES = 32_000_000
"""Room for a chunk's hidden layers: the whole of it stays in the cache's reach."""


@dataclass(frozen=True)
class Derivative:
    """A model's partial derivatives, ``X (n, d) -> (n, d)``.

    Parameters
    ----------
    what : str
        The model's title, for the provenance.
    of : callable
        Derivatives at the inputs of the last step.
    scale, shift : ndarray of float, shape (d,)
        A pipeline's scalers, folded into ``Z = X * scale + shift``.
    """

    what: str
    of: Callable[[Floats], Floats]
    scale: Floats | None = None
    shift: Floats | None = None

    def __call__(self, X: Floats) -> Floats:
        """Return the derivatives by the pipeline's own inputs: the chain rule through its scalers."""
        if self.scale is None or self.shift is None:
            return self.of(X)
        return self.of(X * self.scale + self.shift) * self.scale


def _named(model: Any, names: set[str], package: str = "sklearn.") -> bool:
    return type(model).__name__ in names and type(model).__module__.startswith(package)


def _settled(model: Any) -> Any:
    """Return the estimator that a search for parameters has settled on, else the model itself."""
    searched = type(model).__module__.startswith("sklearn.model_selection.")
    return getattr(model, "best_estimator_", model) if searched else model


def _unfold(model: Any) -> tuple[Any, Floats | None, Floats | None] | None:
    """Return a pipeline's last step and its scalers as one scale and shift, or None if a step is no scaler."""
    model = _settled(model)
    steps = getattr(model, "steps", None)
    if not steps:
        return model, None, None
    scale: Floats | float = 1.0
    shift: Floats | float = 0.0
    for _, step in steps[:-1]:
        if step is None or step == "passthrough":
            continue
        affine = _affine(step)
        if affine is None:
            return None
        scale, shift = scale * affine[0], shift * affine[0] + affine[1]
    one = np.ones(steps[0][1].n_features_in_ if hasattr(steps[0][1], "n_features_in_") else 1)
    return steps[-1][1], scale * one, shift * one


def _affine(step: Any) -> tuple[Any, Any] | None:
    """Return a scaler's transformation as ``x * scale + shift``."""
    if not _named(step, _SCALERS) or getattr(step, "clip", False):
        return None  # a clipped scaler bends at its ends
    kind = type(step).__name__
    scale = getattr(step, "scale_", None)
    if kind == "MinMaxScaler":
        return step.scale_, step.min_
    scale = 1.0 if scale is None else 1.0 / scale
    centre = getattr(step, "center_" if kind == "RobustScaler" else "mean_", None)
    if kind == "MaxAbsScaler" or centre is None or getattr(step, "with_mean", True) is False:
        centre = 0.0
    return scale, -np.asarray(centre) * scale


def _derivative(
    model: Any, of: Callable[[Any], Callable[[Floats], Floats] | None]
) -> Derivative | None:
    unfolded = _unfold(model)
    if unfolded is None:
        return None
    last, scale, shift = unfolded
    function = of(last)
    return None if function is None else Derivative(title(model), function, scale, shift)


def prediction_derivative(model: Any, output: int | None = None) -> Derivative | None:
    """Return the derivative of `predict`, or of one of its outputs.

    Known for linear models and multi-layer perceptrons (of one output), behind scalers or not.
    """

    def of(last: Any) -> Callable[[Floats], Floats] | None:
        if _named(last, _LINEAR) and np.ndim(last.coef_) == 1:
            return _Constant(np.asarray(last.coef_, dtype=float))
        if _named(last, _LINEAR) and output is not None and output < len(last.coef_):
            return _Constant(np.asarray(last.coef_[output], dtype=float))
        if _named(last, _PERCEPTRON) and getattr(last, "out_activation_", "") == "identity":
            return _Perceptron(last, None) if last.n_outputs_ == 1 else None
        return None

    return _derivative(model, of)


def probability_derivative(model: Any, column: int | None) -> Derivative | None:
    """Return the derivative of one class's probability."""
    return _derivative(model, lambda last: _classifier(last, column, logit=False))


def logit_derivative(model: Any, column: int | None) -> Derivative | None:
    """Return the derivative of one class's log odds."""
    return _derivative(model, lambda last: _classifier(last, column, logit=True))


def _classifier(last: Any, column: int | None, logit: bool) -> Callable[[Floats], Floats] | None:
    if column is None:
        return None
    if _named(last, _LOGISTIC):
        # One-versus-rest probabilities are normalised afterwards: another derivative, left to differences.
        # Releases before 1.8 could be told to; of two classes "multinomial" doubles the score there.
        told = getattr(last, "multi_class", "auto") not in ("auto", "deprecated")
        if told or (getattr(last, "solver", "") == "liblinear" and len(last.classes_) > 2):
            return None
        return _Layers(
            [np.asarray(last.coef_, float).T],
            [np.asarray(last.intercept_, float)],
            "identity",
            column,
            logit,
        )
    if _named(last, _PERCEPTRON) and getattr(last, "out_activation_", "") in (
        "logistic",
        "softmax",
    ):
        if last.out_activation_ == "logistic" and last.n_outputs_ > 1:
            return None  # several labels at once
        return _Perceptron(last, column, logit)
    return None


def decides_by_logit(model: Any) -> bool:
    """Return whether a two-class model's `decision_function` is the log odds of its second class."""
    model = _settled(model)
    steps = getattr(model, "steps", None)
    last = steps[-1][1] if steps else model
    if len(getattr(last, "classes_", ())) != 2:
        return False
    if _named(last, {"GradientBoostingClassifier", "HistGradientBoostingClassifier"}):
        return last.loss == "log_loss"
    told = getattr(last, "multi_class", "auto") not in ("auto", "deprecated")
    return _named(last, _LOGISTIC) and not told


def is_piecewise_constant(model: Any) -> bool:
    """Return whether a model is constant between jumps: trees, neighbours, and ensembles of these."""
    steps = getattr(model, "steps", None)
    if steps:
        return is_piecewise_constant(steps[-1][1])
    inner = getattr(model, "regressor_", None) or getattr(model, "best_estimator_", None)
    if inner is not None:
        return is_piecewise_constant(inner)
    name, package = type(model).__name__, type(model).__module__.split(".")[0]
    if name in _TREES and package in ("sklearn", "lightgbm", "xgboost", "catboost"):
        return not _bends(model)
    if name in _ENSEMBLES and package == "sklearn":
        members = list(getattr(model, "estimators_", []))
        return len(members) > 0 and all(map(is_piecewise_constant, members))
    return False


def _bends(model: Any) -> bool:
    """Return whether a model that is usually piecewise constant was told to be something else."""
    if type(model).__name__.startswith("KNeighbors"):
        return model.weights != "uniform"
    start = getattr(model, "init_", None)  # gradient boosting may start from any model
    if hasattr(start, "predict") and not _named(start, {"DummyClassifier", "DummyRegressor"}):
        return not is_piecewise_constant(start)
    settings: Any = model.get_params() if hasattr(model, "get_params") else {}
    settings = settings or getattr(model, "params", {})
    return bool(settings.get("linear_tree")) or settings.get("booster") == "gblinear"


@dataclass(frozen=True)
class _Constant:
    """The derivative of a linear model: the same for every row, stored once."""

    coefficients: Floats

    def __call__(self, Z: Floats) -> Floats:
        return np.broadcast_to(self.coefficients, Z.shape)


@dataclass(frozen=True)
class _Layers:
    """Back-propagation through dense layers, a chunk of rows at a time."""

    weights: list[Floats]
    biases: list[Floats]
    activation: str
    column: int | None
    logit: bool

    def __call__(self, Z: Floats) -> Floats:
        widest = sum(w.shape[1] for w in self.weights) + Z.shape[1]
        size = max(_CHUNK_BYTES // (8 * 2 * widest), 1)
        out = np.empty(Z.shape)
        for i in range(0, len(Z), size):
            out[i : i + size] = self._chunk(Z[i : i + size])
        return out

    def _chunk(self, Z: Floats) -> Floats:
        layers = [Z]
        for w, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            layers.append(_ACTIVATE[self.activation](layers[-1] @ w + b))
        score = layers[-1] @ self.weights[-1] + self.biases[-1]
        gradient = self._output_gradient(score) @ self.weights[-1].T
        for w, values in zip(self.weights[-2::-1], layers[:0:-1], strict=True):
            gradient = (gradient * _SLOPE[self.activation](values)) @ w.T
        return gradient

    def _output_gradient(self, score: Floats) -> Floats:
        """Return the quantity's derivative by each output score."""
        if self.column is None:
            return np.ones_like(score)
        if score.shape[1] == 1:  # two classes, one score: the log odds of the second
            sign = 1.0 if self.column == 1 else -1.0
            p = 1.0 / (1.0 + np.exp(-np.abs(score)))
            return np.full_like(score, sign) if self.logit else sign * p * (1.0 - p)
        one = np.zeros_like(score)
        one[:, self.column] = 1.0
        if not self.logit:
            p = _softmax(score)
            return p[:, [self.column]] * (one - p)
        # d log(p / (1 - p)) = dp / (p (1 - p)): the others share what is left of the class, however little that is.
        return one - _softmax(np.where(one > 0, -np.inf, score))


def _Perceptron(last: Any, column: int | None, logit: bool = False) -> _Layers:  # noqa: N802 - reads as a class
    weights = [np.asarray(w, dtype=float) for w in last.coefs_]
    biases = [np.asarray(b, dtype=float) for b in last.intercepts_]
    return _Layers(weights, biases, last.activation, column, logit)


def _softmax(score: Floats) -> Floats:
    p = np.exp(score - score.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def _logistic(z: Floats) -> Floats:
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, e) / (1.0 + e)


_ACTIVATE: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda z: z,
    "logistic": _logistic,
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0.0),
}
_SLOPE: dict[str, Callable[[Floats], Floats]] = {
    "identity": np.ones_like,
    "logistic": lambda a: a * (1.0 - a),
    "tanh": lambda a: 1.0 - a * a,
    "relu": lambda a: (a > 0).astype(float),
}
