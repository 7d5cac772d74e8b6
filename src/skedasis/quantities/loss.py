"""`loss`: the loss of a model's prediction for each row, as a quantity."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, TypeAlias, TypeGuard, TypeVar, Unpack, get_args

import numpy as np
from numpy.typing import NDArray

from skedasis._arguments import (
    check_flag,
    check_int_or_none,
    check_option,
    check_probability,
    is_int,
    shown,
)
from skedasis._types import DType, Floats, ModelRows, RawResponse, Values
from skedasis.data.dataset import Dataset
from skedasis.data.factorize import missing_mask
from skedasis.data.features import Feature
from skedasis.distributions.base import class_codes
from skedasis.errors import DataError, ModelOutputError, UnsupportedError, nearest
from skedasis.models.adapters import DerivativeInfo
from skedasis.models.calling import as_array, as_numbers
from skedasis.models.introspection import is_classifier, labels_of, title
from skedasis.models.protocols import has_predict_proba
from skedasis.quantities.base import Quantity, given_labels
from skedasis.quantities.deviance import Tweedie, check_power
from skedasis.quantities.keywords import (
    CallSettings,
    QuantityKeywords,
    named_and_called,
    takes_quantity_keywords,
)
from skedasis.quantities.outputs import (
    Logit,
    ModelLike,
    MultiOutputQuantity,
    Prediction,
    Probability,
    check_one_model,
    default_quantity,
    response_dtype,
)

ErrorName: TypeAlias = Literal["squared_error", "absolute_error", "pinball"]

DevianceName: TypeAlias = Literal["poisson_deviance", "gamma_deviance", "tweedie_deviance"]

LossName: TypeAlias = ErrorName | DevianceName | Literal["log_loss", "zero_one"]

LossFunction: TypeAlias = Callable[[Any, Any], object]
"""A user's loss of (labels, predictions), whose arrays have the types of y and of the model's response."""

ResponseMethod: TypeAlias = Literal["predict", "predict_proba"]

ValuesT = TypeVar("ValuesT", bound=Values)

# --- quantities -----------------------------------------------------------------------------------


_TEXT = {"U", "S"}


def _kind(values: Values) -> str:
    """Return the kind of an array's values as NumPy names it, "U" also for objects that are all text."""
    if values.dtype.kind == "O" and all(isinstance(v, str) for v in values.ravel().tolist()):
        return "U"
    return values.dtype.kind


@dataclass(frozen=True, eq=False)
class Loss(Quantity):
    """Base class of losses: a function of the label and the prediction."""

    of: Prediction | Probability
    name: str = "loss"
    unit: str | None = None
    copy: bool = field(default=False, kw_only=True)
    call_rows: int | None = field(default=None, kw_only=True)

    labelled = True

    @property
    def model(self) -> object:
        return self.of.model

    def with_model(self, model: object) -> Self | None:
        of = self.of.with_model(model)
        return None if of is None else replace(self, of=of)

    def raw(self, X: ModelRows) -> RawResponse:
        return self.of.raw(X)

    def describe(self) -> str:
        return self.of.describe()

    def prepare(self, dataset: Dataset) -> Dataset:
        """Return the rows in the container that the model was fitted on, with their labels."""
        return self.with_labels(self.of.prepare(dataset))

    def derivative_info(self, feature: Feature) -> DerivativeInfo:
        """Return central differences, or steps if the prediction (and so its loss) is piecewise constant."""
        of = self.of.derivative_info(feature)
        if isinstance(self.of, Prediction) and is_classifier(self.of.model):
            description = "differences across bins: predicted classes are piecewise constant"
            return DerivativeInfo("steps", description, breakpoints=of.breakpoints)
        return of if of.kind == "steps" else super().derivative_info(feature)

    def computed(self, raw: RawResponse) -> DType | None:
        """Return the dtype that the prediction was computed in, which a loss computed in float64 does not show."""
        return response_dtype(raw, self.describe(), stepped=self.of.stepped)

    def predicted(self, raw: RawResponse) -> NDArray[Any]:
        """Return the prediction as an array; (n, 1) becomes (n,)."""
        what = self.describe()
        values = as_array(self.of.read(as_array(raw, what)), what)
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values

    def numbers(self, raw: RawResponse, y: Values | None) -> tuple[Floats, Floats]:
        """Return labels and predictions as numbers, one for each row."""
        labels = np.asarray(given_labels(y), dtype=float)
        values = as_numbers(self.predicted(raw), self.describe())
        return labels, self.one_per_row(values, len(labels))

    def one_per_row(self, values: ValuesT, n: int) -> ValuesT:
        """Return the predictions; raise unless their shape is (n,), because others broadcast with the labels."""
        if values.shape == (n,):
            return values
        fix = "Return one prediction for each row, in the rows' order"
        if values.ndim == 2 and len(values) == n:
            fix = "Choose one output, with its labels: output=0"
            if isinstance(self.of, Probability):
                fix = "Choose one output: sd.probability(model, class_=0)"
        raise ModelOutputError(self.describe(), f"output of shape {values.shape}", f"({n},)", fix)


@dataclass(frozen=True, eq=False)
class NumericLoss(Loss):
    """A loss of numbers, with a derivative by the prediction."""

    @abstractmethod
    def of_numbers(self, y: Floats, f: Floats) -> Floats:
        """Return the loss of labels and predictions, (n,)."""

    @abstractmethod
    def outer(self, y: Floats, f: Floats) -> Floats:
        """Return the derivative of the loss by the prediction, (n,)."""

    def encoded(self, y: Values) -> Floats:
        """Return labels as numbers; for a probability, 1 where the row belongs to its class, else 0."""
        return self.of.observed_labels(y)

    def read(self, raw: RawResponse, y: Values | None = None) -> Floats:
        return self.of_numbers(*self.numbers(raw, y))

    def slopes(self, X: ModelRows, y: Values | None = None) -> Floats:
        """Return the derivative by each feature by the chain rule: dL/df times df/dx."""
        slopes = as_numbers(self.of.slopes(X), f"{self.describe()}: slope")
        labels, predicted = self.numbers(self.of.raw(X), y)
        if slopes.ndim != 2 or len(slopes) != len(labels):
            return (
                slopes  # invalid shape: the evaluator raises an error that states the expected one
            )
        return self.outer(labels, predicted)[:, None] * slopes

    def derivative_info(self, feature: Feature) -> DerivativeInfo:
        """Return that of the prediction: the chain rule applies to slopes, and steps of it are steps of the loss."""
        of = self.of.derivative_info(feature)
        if of.kind != "slopes":
            return of
        return replace(of, description=f"{of.description}, by the chain rule")


@dataclass(frozen=True, eq=False)
class ErrorLoss(NumericLoss):
    """A loss of the residual, label minus prediction: squared error, absolute error, pinball loss."""

    kind: ErrorName = "squared_error"
    alpha: float = 0.5

    def of_numbers(self, y: Floats, f: Floats) -> Floats:
        residual = y - f
        if self.kind == "absolute_error":
            return np.abs(residual)
        if self.kind == "pinball":
            return np.maximum(self.alpha * residual, (self.alpha - 1.0) * residual)
        with np.errstate(over="ignore"):  # the evaluator raises a clearer error for infinite values
            return residual * residual

    def outer(self, y: Floats, f: Floats) -> Floats:
        residual = y - f
        if self.kind == "squared_error":
            return -2.0 * residual
        if self.kind == "absolute_error":
            return -np.sign(residual)
        return np.where(residual > 0, -self.alpha, 1.0 - self.alpha) * (residual != 0)


@dataclass(frozen=True, eq=False)
class DevianceLoss(NumericLoss):
    """The unit deviance of a Tweedie distribution: Poisson, gamma or another one."""

    family: Tweedie = field(kw_only=True)

    def encoded(self, y: Values) -> Floats:
        """Return labels as numbers that the distribution has."""
        return self.family.check_labels(super().encoded(y), self.describe())

    def of_numbers(self, y: Floats, f: Floats) -> Floats:
        return self.family.deviance(y, self.family.check_means(f, self.describe()))

    def outer(self, y: Floats, f: Floats) -> Floats:
        return self.family.slope(y, self.family.check_means(f, self.describe()))


@dataclass(frozen=True, eq=False)
class ZeroOne(Loss):
    """1 where the prediction differs from the label, else 0."""

    classes: Values | None = None

    def encoded(self, y: Values) -> Values:
        """Return labels in the model's own spelling and dtype; raise `DataError` for labels it does not know."""
        if self.classes is None:
            return y
        return self.classes[class_codes(y, self.classes.tolist(), self.describe())]

    def read(self, raw: RawResponse, y: Values | None = None) -> Floats:
        labels = given_labels(y)
        values = self.one_per_row(self.predicted(raw), len(labels))
        missing = int(missing_mask(values).sum())
        kinds = {_kind(values), _kind(labels)}
        got = f"no prediction (NaN or None) for {missing} of {len(labels)} rows" if missing else ""
        if "O" not in kinds and kinds & _TEXT and kinds - _TEXT:
            got = f"predictions of type {values.dtype} and labels of type {labels.dtype}"
        if got:
            fix = "Use the same class names in y and in the model"
            if values.dtype.kind in "fiu" and kinds & _TEXT:
                fix = "Pass labels that are numbers, as the model predicts: did you pass the right column?"
            expected = "predictions that can be compared with the labels"
            raise ModelOutputError(self.describe(), got, expected, fix)
        return (values != labels).astype(float)

    def derivative_info(self, feature: Feature) -> DerivativeInfo:
        """Return steps: the loss is 0 or 1, and it jumps only where the prediction does."""
        jumps = self.of.derivative_info(feature).breakpoints
        return DerivativeInfo(
            "steps",
            "differences across bins: a zero-one loss is piecewise constant",
            breakpoints=jumps,
        )


@dataclass(frozen=True, eq=False)
class OwnLoss(Loss):
    """A user's function of labels and predictions."""

    function: LossFunction = field(kw_only=True)

    def read(self, raw: RawResponse, y: Values | None = None) -> Floats:
        """Return the function's values. It gets a read-only view of the labels and a copy of the predictions."""
        labels = given_labels(y).view()
        n, what = len(labels), f"the loss function {title(self.function)}"
        predicted = np.array(self.predicted(raw))
        if predicted.ndim == 0 or len(predicted) != n:
            self.one_per_row(predicted, n)
        labels.flags.writeable = False
        try:
            returned = self.function(labels, predicted)
        except Exception as error:
            error.add_note(f"raised in {what}, which skedasis called with {n} rows")
            raise
        values = as_numbers(returned, what)
        if values.shape != (n,):
            single = "nothing" if returned is None else "a single number"
            got = f"output of shape {values.shape}" if values.ndim else single
            raise ModelOutputError(
                what, got, f"({n},)", "Return each row's loss, not their mean or sum"
            )
        bad = int((~np.isfinite(values)).sum())
        if bad:
            raise ModelOutputError(
                what,
                f"NaN or infinity for {bad} of {n} rows",
                "finite numbers",
                "Check the function for divisions by zero and logarithms of zero, and the model's predictions",
            )
        return values


# --- the function `loss` --------------------------------------------------------------------------


LOSSES = {
    "squared_error": "squared error",
    "absolute_error": "absolute error",
    "pinball": "pinball loss",
    "poisson_deviance": "Poisson deviance",
    "gamma_deviance": "gamma deviance",
    "tweedie_deviance": "Tweedie deviance",
    "log_loss": "log loss",
    "zero_one": "zero-one loss",
}


@takes_quantity_keywords
def loss(
    model: ModelLike,
    kind: LossName | LossFunction = "squared_error",
    *,
    alpha: float = 0.5,
    power: float = 1.5,
    response: ResponseMethod | None = None,
    output: int | None = None,
    **keywords: Unpack[QuantityKeywords],
) -> Quantity:
    """Explain the loss of each row's label under the model's prediction. Needs y.

    Parameters
    ----------
    model : fitted estimator, callable, or quantity
        A `prediction` or `probability` keeps its slopes, name and unit. The squared error of a probability is the Brier
        score: the label counts as 1 if the row belongs to that class, else as 0. Labels are compared with the
        exponential of a prediction with a log link.
    kind : str or callable
        With label y and prediction f:

        - "squared_error": ``(y - f)**2``; "absolute_error": ``abs(y - f)``;
        - "pinball": the loss of quantiles, ``alpha * max(y - f, 0) + (1 - alpha) * max(f - y, 0)``;
        - "poisson_deviance", of counts and rates: ``2 * (y * log(y / f) - y + f)``; "gamma_deviance", of positive
          amounts: ``2 * (log(f / y) + y / f - 1)``; "tweedie_deviance", of amounts of which some are 0: that of a
          variance ``f**power``. Predictions must be positive. Exposure is a weight: pass ``sample_weight``, and rates
          as y;
        - "log_loss": ``-log p(y)`` of a classifier; the same as `nll`;
        - "zero_one": 1 where ``predict(X)``, or the value that a callable returns, differs from the label, else 0.
          Labels may be of any type;
        - a function ``loss(y, prediction) -> (n,)``. It gets the original labels, read-only, and a copy of the
          predictions: the values of a regressor, callable or quantity; for a classifier, see `response`.
    alpha : float
        The quantile that the pinball loss evaluates, between 0 and 1.
    power : float
        The power of the Tweedie deviance, which is not between 0 and 1. 0 is the squared error, 1 the Poisson deviance
        and 2 the gamma deviance; between 1 and 2 labels may be 0, from 2 on they are positive, below 0 they may be any
        number.
    response : {"predict", "predict_proba"}, optional
        What a user's loss function gets from a classifier: predicted labels (the default) or probabilities, (n, k).
    output : int, optional
        For a model with several outputs, the index of the output that y contains the labels of.
    name : str, optional
        Label for the axes of plots. By default the name of the loss and of the quantity.
    unit : str, optional
        Unit of the labels, for the axes of plots; the squared error is shown in the square of this unit, a deviance in
        its power ``2 - power``. By default the quantity's unit. For losses that are not in the labels' unit
        ("zero_one", "log_loss", a function), the unit of the loss itself.

    Returns
    -------
    Quantity

    Raises
    ------
    DataError
        If `kind` is unknown, `alpha` is outside (0, 1), `power` between 0 and 1, or an argument does not apply to this
        kind. On evaluation: if y is not given, if a numeric loss gets labels that are not numbers, a deviance labels
        that its distribution does not have, or if a classifier does not know a label.
    ModelOutputError
        On evaluation: if the model does not return one prediction per row, a positive one for a deviance, or the loss
        function does not return one finite number per row.
    UnsupportedError
        For a numeric loss of a classifier, and for a quantity that does not predict the label.

    Notes
    -----
    Costs the model rows of the method. Numeric losses have slopes if the prediction has slopes: ``-2 * (y - f) * f'``,
    ``-sign(y - f) * f'``, ``2 * (f - y) / f**power * f'``, and so on; 0 where a prediction equals its label. Slopes
    need the prediction as well, so each slope row costs a model row in addition, which the provenance counts in
    `slope_rows` only. The "zero_one" loss, and any loss of a piecewise constant prediction, is a step function. Losses
    provide no mixed derivatives.

    The means of these losses are scikit-learn's `mean_squared_error`, `mean_absolute_error`, `mean_pinball_loss`,
    `mean_poisson_deviance`, `mean_gamma_deviance`, `mean_tweedie_deviance`, `log_loss` and `zero_one_loss`.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X, y = np.array([[1.0], [2.0], [4.0]]), np.array([1.0, 4.0, 1.0])
    >>> sd.loss(lambda X: X[:, 0]).at(X, y).tolist()
    [0.0, 4.0, 9.0]
    >>> sd.loss(lambda X: X[:, 0], "pinball", alpha=0.75).at(X, y).tolist()
    [0.0, 1.5, 0.75]
    >>> sd.loss(lambda X: X[:, 0], lambda y, f: np.abs(y - f) > 2).at(X, y).tolist()
    [0.0, 0.0, 1.0]
    >>> price = sd.prediction(lambda X: X[:, 0], name="price", unit="EUR")
    >>> sd.loss(price).axis
    'squared error of price [EUR²]'
    """
    _check_settings(kind, alpha, response)
    power = check_power("loss", power, kind == "tweedie_deviance", "kind='tweedie_deviance'")
    name, unit, calls = named_and_called(keywords)
    check_one_model(model, "loss", f"sd.loss(m, {'...' if callable(kind) else repr(kind)})")
    if kind == "log_loss":
        return _log_loss(model, output, name, unit, calls)
    of = _predicted(model, kind, response, output)
    label = name or _loss_name(kind, power if kind == "tweedie_deviance" else alpha, of.name)
    unit = of.unit if unit is None and _is_numeric(kind) else unit
    # The prediction takes the loss's name, so that its errors show which quantity failed.
    of, calls = replace(of, name=label), calls_of(of, calls)
    if not isinstance(kind, str):
        return OwnLoss(of, label, unit, function=kind, **calls)
    if _is_deviance(kind):
        family = Tweedie(_POWERS.get(kind, power))
        return DevianceLoss(of, label, _raised(unit, 2.0 - family.power), family=family, **calls)
    if not _is_error(kind):
        return ZeroOne(of, label, unit, _classes(of), **calls)
    unit = _raised(unit, 2.0) if kind == "squared_error" else unit
    return ErrorLoss(of, label, unit, kind, float(alpha), **calls)


_POWERS = {"poisson_deviance": 1.0, "gamma_deviance": 2.0}


def calls_of(of: Prediction | Probability, calls: CallSettings) -> CallSettings:
    """Return how the model is called for a function of a prediction: as given, else as for the prediction."""
    copy = check_flag("copy", calls["copy"]) or of.copy
    fix = "Use batch_rows=1000, or None"
    rows = check_int_or_none("batch_rows", calls["call_rows"], 1, fix) or of.call_rows
    return {"copy": copy, "call_rows": rows}


def _is_error(kind: object) -> TypeGuard[ErrorName]:
    """Return whether a loss is one of the residual."""
    return isinstance(kind, str) and kind in get_args(ErrorName)


def _is_deviance(kind: object) -> TypeGuard[DevianceName]:
    """Return whether a loss is a deviance."""
    return isinstance(kind, str) and kind in get_args(DevianceName)


def _is_numeric(kind: object) -> TypeGuard[ErrorName | DevianceName]:
    """Return whether a loss is one of numbers."""
    return _is_error(kind) or _is_deviance(kind)


def _check_settings(kind: object, alpha: object, response: object) -> None:
    """Raise `DataError` for an unknown kind, and for arguments that are invalid or do not apply to this kind."""
    if not callable(kind) and not (isinstance(kind, str) and kind in LOSSES):
        kinds = ", ".join(repr(k) for k in LOSSES)
        near = nearest(kind, LOSSES, 0.75) if isinstance(kind, str) else None
        fix = "Name one of these" if near is None else f"Did you mean {near!r}?"
        raise DataError("loss(kind)", shown(kind), f"{kinds}, or loss(y, prediction) -> (n,)", fix)
    check_probability("loss(alpha)", alpha, "Use 0.5 for the median")
    if alpha != 0.5 and kind != "pinball":
        got, fix = f"{alpha!r} with {_shown(kind)}", "Use kind='pinball', or leave alpha out"
        raise DataError("loss(alpha)", got, "alpha for the pinball loss only", fix)
    check_option("loss(response)", response, (*get_args(ResponseMethod), None))
    if response is not None and not callable(kind):
        fix = "Leave response out: it applies to loss functions only"
        got = f"{response!r} with {_shown(kind)}"
        raise DataError("loss(response)", got, "a function for kind", fix)


def _log_loss(
    model: ModelLike, output: int | None, name: str | None, unit: str | None, calls: CallSettings
) -> Quantity:
    """Return the negative log-likelihood, named "log loss"."""
    from skedasis.quantities.uncertainty import likelihood_of

    what = "loss(kind='log_loss')"
    if isinstance(model, Quantity):
        got, fix = f"the quantity {model.describe()}", "Pass the fitted classifier itself"
        raise UnsupportedError(what, got, "a model that returns probabilities", fix)
    if output is not None:
        fix = "Leave output out, or pass a function that returns the probabilities of one output"
        raise DataError(what, f"output={output!r}", "a model with one output", fix)
    name = name or LOSSES["log_loss"]
    return likelihood_of(model, "e", name, unit, calls)


def _predicted(
    model: ModelLike,
    kind: LossName | LossFunction,
    response: ResponseMethod | None,
    output: int | None,
) -> Prediction | Probability:
    """Return the quantity whose values are compared with the labels."""
    if isinstance(model, Quantity):
        return _of_quantity(model, kind, response, output)
    what = f"loss({title(model)}, {_shown(kind)})"
    if isinstance(model, type) or not is_classifier(model):
        if response == "predict_proba":
            fix = "Leave response out: the function gets the model's predictions"
            got = "response='predict_proba' for a model that is no classifier"
            raise UnsupportedError(what, got, "a classifier", fix)
        of = default_quantity(model)
        # The session of an ONNX classifier is known as a classifier only when it has been adapted.
        return _of_quantity(of, kind, None, output)
    if _is_numeric(kind):
        raise UnsupportedError(
            what,
            "a classifier",
            "a model whose predictions are numbers",
            "Use kind='zero_one' or kind='log_loss'; for the Brier score use "
            f"sd.loss(sd.probability(model, class_=...), {kind!r})",
        )
    if response != "predict_proba":
        return _one_output(Prediction(model), output)
    if output is not None or not has_predict_proba(model):
        got = "no predict_proba" if output is None else f"output={output!r}"
        fix = "Use response='predict', or pass a function that returns probabilities"
        raise UnsupportedError(what, got, "a classifier with one output", fix)
    return Probability(model)


def _of_quantity(
    model: Quantity,
    kind: LossName | LossFunction,
    response: ResponseMethod | None,
    output: int | None,
) -> Prediction | Probability:
    """Return the user's `Prediction` or `Probability`; raise `UnsupportedError` for other quantities."""
    what, got = f"loss({_shown(kind)})", f"the quantity {model.describe()}"
    if isinstance(model, MultiOutputQuantity):
        fix = "Choose one: sd.prediction(model, output=0) or sd.probability(model, class_=...)"
        raise UnsupportedError(what, got, "one output, and its labels in y", fix)
    if isinstance(model, Logit) or not isinstance(model, (Prediction, Probability)):
        fix = "Pass the model, sd.prediction(model) or sd.probability(model)"
        raise UnsupportedError(what, got, "a prediction of the label", fix)
    if isinstance(model, Prediction) and model.link is not None:
        model = model.on_label_scale() or model
    is_probability = isinstance(model, Probability)
    if is_probability and kind == "zero_one":
        fix = "Pass the classifier: sd.loss(model, 'zero_one')"
        raise UnsupportedError(what, got, "a prediction of the label", fix)
    if response is not None:
        expected = f"a classifier for response={response!r}"
        raise UnsupportedError(what, got, expected, "Leave response out")
    if output is not None and (is_probability or model.output is not None):
        raise UnsupportedError(what, got, f"a model for output={output!r}", "Leave output out")
    if is_probability and model.column is not None and model.column < 0:
        expected = f"an index of a class that is not negative, not {model.column}"
        fix = "Count class_ from 0, like the labels in y"
        raise UnsupportedError(what, got, expected, fix)
    return model if is_probability else _one_output(model, output)


def _one_output(of: Prediction, output: int | None) -> Prediction:
    """Return the prediction of the chosen output; without a choice, the prediction itself."""
    if output is None:
        return of
    if not is_int(output):
        fix = "Choose one, and pass its labels: sd.loss(model, output=0)"
        raise DataError("loss(output)", shown(output), "the index of one output", fix)
    return of.of_output(int(output))


def _classes(of: Prediction | Probability) -> Values | None:
    """Return the classes of a classifier, or None if labels cannot be compared with them."""
    classes = getattr(of.model, "classes_", None)
    if classes is None or not is_classifier(of.model):
        return None
    output = of.output if isinstance(of, Prediction) else None
    labels = labels_of(of.model)
    if labels is not None:
        if output is None and len(labels) > 1:
            fix = "Choose one, and pass its labels: sd.loss(model, 'zero_one', output=0)"
            raise ModelOutputError(of.describe(), f"{len(labels)} outputs", "one output", fix)
        return np.asarray([*labels.values()][output or 0]) if (output or 0) < len(labels) else None
    return np.asarray(classes) if output is None else None


def _shown(kind: object) -> str:
    """Return the kind as the user wrote it, for messages."""
    return f"kind={kind!r}" if isinstance(kind, str) else f"the loss function {title(kind)}"


def _loss_name(kind: LossName | LossFunction, setting: float, of: str) -> str:
    """Return the default name of a loss, with the name of the quantity unless that is just "prediction"."""
    name = LOSSES[kind] if isinstance(kind, str) else getattr(kind, "__name__", "loss")
    name = "loss" if name == "<lambda>" else name
    settings = {"pinball": "alpha", "tweedie_deviance": "power"}
    if isinstance(kind, str) and kind in settings:
        name = f"{name} ({settings[kind]} {setting:g})"
    return name if of == "prediction" else f"{name} of {of}"


def _raised(unit: str | None, power: float) -> str | None:
    """Return a unit to a power, with a compound unit in parentheses; None for the power 0."""
    if not unit or power in (0.0, 1.0):
        return unit if power else None
    plain = unit.isalpha() or len(unit) == 1
    raised = "²" if power == 2.0 else f"^{power:g}"
    return f"{unit}{raised}" if plain else f"({unit}){raised}"
