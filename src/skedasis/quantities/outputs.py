"""Outputs of a model as quantities: prediction, probability, logit, all outputs, and `as_quantity`."""

# A class label may be any hashable, including "all": the overload for "all" comes first and overlaps the general one.
# pyright: reportOverlappingOverload=false

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    Unpack,
    cast,
    overload,
)

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skedasis._arguments import check_flag, check_int_or_none, check_option, is_int, shown
from skedasis._error_state import users_error_state
from skedasis._escaping import Printed
from skedasis._types import (
    DType,
    Floats,
    Ints,
    ModelRows,
    OutputLabel,
    RawResponse,
    TableLike,
    Values,
)
from skedasis.data.dataset import Dataset, as_arrays, as_dataset, as_frames
from skedasis.data.features import Feature
from skedasis.distributions.base import class_codes, label_numbers
from skedasis.errors import DataError, ModelOutputError, UnsupportedError
from skedasis.models import introspection
from skedasis.models.adapters import DerivativeInfo, ModelAdapter
from skedasis.models.autodiff import Differentiable
from skedasis.models.calling import CallStats, as_array, as_numbers, plain, unit_round_off
from skedasis.models.introspection import (
    LabelClass,
    check_categories,
    check_fitted_on,
    check_predictor,
    class_column,
    classes_of,
    fitted_names,
    is_classifier,
    is_sklearn_or_pipeline,
    label_class,
    label_outputs,
    labels_of,
    takes_codes,
    title,
    wants_arrays,
    with_article,
    without_probabilities,
)
from skedasis.models.piecewise_constant import is_piecewise_constant
from skedasis.models.protocols import (
    AdaptedModel,
    MixedFunction,
    RowFunction,
    SupportsPredict,
    SupportsPredictProba,
    has_predict_proba,
)
from skedasis.models.registry import adapt_model
from skedasis.quantities.base import (
    Addend,
    ModelProxy,
    Quantity,
    Sum,
    argument_in,
    check_labels,
    formula,
    name_of_sum,
    several_and_one,
)
from skedasis.quantities.evaluator import ModelPart
from skedasis.quantities.keywords import (
    CallSettings,
    QuantityKeywords,
    named_and_called,
    takes_quantity_keywords,
)

if TYPE_CHECKING:
    from skedasis.derivatives.sklearn_models import Derivative
    from skedasis.quantities.inverse import InverseFunction, InverseLike

# --- models that can be explained -----------------------------------------------------------------


class OnnxSession(Protocol):
    """A session of onnxruntime."""

    def get_inputs(self) -> Sequence[Any]: ...
    def run(self, output_names: Any, input_feed: Any, /) -> Sequence[Any]: ...


class OnnxProto(Protocol):
    """A model of the package onnx, whose bytes onnxruntime reads."""

    def SerializeToString(self) -> bytes: ...  # noqa: N802 - the name of protocol buffers


AdaptedLike: TypeAlias = OnnxSession | OnnxProto | str | os.PathLike[str]
"""A model without methods of its own that takes rows, or the path of a model file."""

PredictorLike: TypeAlias = SupportsPredict | RowFunction | AdaptedLike
"""A model whose predictions can be explained. Networks of torch, JAX and Keras are functions of rows."""

ClassifierLike: TypeAlias = SupportsPredictProba | RowFunction | AdaptedLike
"""A model that returns probabilities."""

ClassLike: TypeAlias = Hashable | Mapping[Hashable, Hashable]
"""A class of a classifier, or ``{label: class}`` for a classifier of several labels."""

ModelLike: TypeAlias = PredictorLike | ClassifierLike | Quantity
"""A model that can be explained, or a quantity of one: what `explain`, `report` and `diagnose` take."""


def respond(model: Any, method: str, X: ModelRows) -> RawResponse:
    """Return the response of a model's method, or of the model itself if it has no such method."""
    function = getattr(model, method, model)
    if isinstance(model, AdaptedModel):
        return plain(function(X))
    with users_error_state():
        return plain(function(X))


# --- base class -----------------------------------------------------------------------------------


_DIFFERENCES = DerivativeInfo("differences", "central differences")


@dataclass(frozen=True, eq=False)
class FromModel(Quantity):
    """Base class of quantities of one model: calls it with rows in the container that it was fitted on."""

    # `field()`: without it the None of the base class would be its default.
    model: object = field()
    name: str = "prediction"
    unit: str | None = None
    copy: bool = field(default=False, kw_only=True)
    call_rows: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_labels(self.name, self.unit)
        check_flag("copy", self.copy)
        check_int_or_none("batch_rows", self.call_rows, 1, "Use batch_rows=1000, or None")

    def with_model(self, model: object) -> Self | None:
        return replace(self, model=model)

    def describe(self) -> str:
        return f"{self.name}({title(self.model)})"

    def prepare(self, dataset: Dataset) -> Dataset:
        """Return the rows in the container that the model was fitted on, with labels if the quantity needs them."""
        if isinstance(self.model, ModelAdapter):
            return self.with_labels(self.model.prepare(dataset, self.describe()))
        check_fitted_on(self.model, dataset, self.describe())
        check_categories(self.model, dataset, self.describe())
        names = fitted_names(self.model)
        if wants_arrays(self.model):
            dataset = as_arrays(dataset)
        elif names is not None and not takes_codes(self.model):
            # Some libraries do not accept numpy.str_ as column names.
            dataset = as_frames(dataset, [str(n) if isinstance(n, str) else n for n in names])
        return self.with_labels(dataset)

    @property
    def call_settings(self) -> CallSettings:
        """Return how the model is called, for another quantity of it."""
        return {"copy": self.copy, "call_rows": self.call_rows}

    def _closed_form(self) -> Derivative | None:
        return None

    @property
    def place(self) -> int | None:
        """Return the index of the explained output, or None if the model has one output only."""
        return None

    @property
    def together(self) -> bool:
        """Return whether all outputs of the model are explained, so that their slopes are computed together."""
        return False

    @property
    def stepped(self) -> bool:
        """Return whether the quantity is piecewise constant, because its model is."""
        return is_piecewise_constant(self.model)

    def slopes(self, X: ModelRows, y: Values | None = None) -> object:
        """Return the derivatives by automatic differentiation, or in closed form."""
        if isinstance(self.model, Differentiable):
            return self.model.slopes(X, self.place, together=self.together)
        form = self._closed_form()
        if form is None:
            return super().slopes(X, y)
        return form(X)

    def derivative_info(self, feature: Feature) -> DerivativeInfo:
        """Return slopes if there are derivatives, steps if the model is piecewise constant, else differences."""
        if isinstance(self.model, ModelAdapter):
            return self.model.derivative_info(feature, self.place)
        form = self._closed_form()
        if form is not None:
            return DerivativeInfo("slopes", f"closed form of {form.what}")
        if self.stepped:
            model = self.model
            jumps = model.breakpoints(feature) if isinstance(model, ModelProxy) else None
            return DerivativeInfo(
                "steps",
                f"differences across bins: {title(self.model)} is piecewise constant",
                breakpoints=jumps,
            )
        return _DIFFERENCES

    @property
    def has_mixed(self) -> bool:
        return isinstance(self.model, Differentiable) and self.model.has_mixed(self.place)

    def mixed(self, X: ModelRows, j: int, k: int) -> object:
        if not isinstance(self.model, Differentiable):
            return super().mixed(X, j, k)
        return self.model.mixed(X, j, k, self.place)


# --- prediction, probability, logit ---------------------------------------------------------------


def as_function(inverse: InverseLike) -> InverseFunction:
    """Return the argument `inverse` as a function with derivatives."""
    from skedasis.quantities.inverse import as_inverse  # imported late: few quantities have one

    return as_inverse(inverse)


def _undone(name: str, function: str, plain: str, undo: str) -> str:
    """Return the name of what a function was computed from: a name of it without it, else what undoes it."""
    if function in name:
        return name.replace(function, plain)
    inside = argument_in(name, function.partition("(")[0])
    return f"{undo}({name})" if inside is None else inside


def _undoing(undo: str, values: Floats, what: str) -> Floats:
    """Return a function of values that leads back to the scale of the labels, (n,); raise if it is not finite."""
    found = as_function(cast("InverseLike", undo))(values)
    if not np.isfinite(found).all():
        raise ModelOutputError(
            what,
            f"values up to {values.max():.4g}, whose {undo} is not finite",
            "values that lead back to the scale of the labels",
            "Check that the model predicts on the scale that is stated",
        )
    return found


_DTYPE_ROWS = 64
"""Rows of a response from which the precision of the model is determined."""

_ROUNDING = 1e-6
"""Tolerance for probabilities above 1 or below 0 through rounding in single precision."""


@dataclass(frozen=True, eq=False)
class Prediction(FromModel):
    """The value of a callable, or of a regressor's `predict`."""

    slope: RowFunction | None = None
    mixed_slope: MixedFunction | None = None
    output: int | None = None
    of: int | None = None
    shared: bool = False
    link: Literal["log"] | None = field(default=None, kw_only=True)

    @property
    def scale(self) -> str:
        return self.link or super().scale

    def on_label_scale(self) -> Prediction | None:
        """Return the exponential of a prediction with a log link, else the prediction; None for all outputs."""
        if self.shared:
            return None
        if self.link is None:
            return self
        name = _undone(self.name, "log(prediction)", "prediction", "exp")
        own, function = (self.slope, self.mixed_slope, self.output, self.of), as_function("exp")
        return TransformedPrediction(
            self.model, name, None, *own, inverse=function, **self.call_settings
        )

    def observed_labels(self, y: Values) -> Floats:
        return label_numbers(y, self.describe())

    def to_label_scale(self, values: Floats) -> Floats:
        return values if self.link is None else _undoing("exp", values, self.describe())

    def raw(self, X: ModelRows) -> RawResponse:
        return respond(self.model, "predict", X)

    def read(self, raw: RawResponse, y: Values | None = None) -> object:
        if self.output is None:
            return raw
        return column_of(raw, self.output, self.describe(), n_columns=self.of)

    @property
    def place(self) -> int | None:
        return self.output

    @property
    def together(self) -> bool:
        return self.shared

    def _closed_form(self) -> Derivative | None:
        if not is_sklearn_or_pipeline(self.model):
            return None
        from skedasis.derivatives import (
            sklearn_models,  # with all closed forms, which few models need
        )

        return sklearn_models.prediction_derivative(self.model, self.output)

    def slopes(self, X: ModelRows, y: Values | None = None) -> object:
        """Return the user's derivatives if given, else the model's."""
        if self.slope is None:
            return super().slopes(X, y)
        return self._of_output(
            np.asarray(plain(self.slope(X))), 2, "slope", "(rows, outputs, features)"
        )

    @property
    def has_mixed(self) -> bool:
        """Return whether the user gave mixed derivatives, or gave no derivatives and the model provides them."""
        return self.mixed_slope is not None or (self.slope is None and super().has_mixed)

    def mixed(self, X: ModelRows, j: int, k: int) -> object:
        """Return the user's mixed derivatives if given, else the model's."""
        if self.mixed_slope is None:
            return super().mixed(X, j, k)
        return self._of_output(
            np.asarray(plain(self.mixed_slope(X, j, k))), 1, "mixed", "(rows, outputs)"
        )

    def of_output(self, output: int) -> Prediction:
        """Return the quantity of one of several outputs."""
        return replace(self, output=output, name=f"{self.name} {output}")

    def _of_output(self, derivatives: Values, ndim: int, what: str, expected: str) -> Values:
        """Return the derivatives of this output, from an array with one output (`ndim` axes) or all outputs."""
        if self.output is not None and derivatives.ndim == ndim + 1:
            return derivatives[:, self.output]
        if self.shared:
            raise ModelOutputError(
                f"{self.describe()}: {what}",
                f"shape {derivatives.shape}",
                expected,
                "Return the derivatives of every output",
            )
        return derivatives

    def derivative_info(self, feature: Feature) -> DerivativeInfo:
        """Return slopes if the user gave a slope function, else as `FromModel`."""
        if self.slope is not None:
            return DerivativeInfo("slopes", "the given slope function", given=True)
        return super().derivative_info(feature)


@dataclass(frozen=True, eq=False)
class TransformedPrediction(Prediction):
    """A function of a prediction: `inverse` applied to it."""

    inverse: InverseFunction = field(kw_only=True)

    def describe(self) -> str:
        return f"{self.name}({title(self.model)}, inverse={self.inverse.name})"

    @property
    def scale(self) -> str:
        """Return the function if it shows the prediction on another scale; its values are what labels are otherwise."""
        return super().scale if self.inverse.undone_by is None else self.inverse.name

    def on_label_scale(self) -> Prediction | None:
        """Return the prediction if the function shows it on another scale, else the function's value."""
        undo = self.inverse.undone_by
        if self.shared or undo is None:
            return super().on_label_scale()
        name = _undone(self.name, f"{self.inverse.name}(prediction)", "prediction", undo)
        own = self.slope, self.mixed_slope, self.output, self.of
        return Prediction(self.model, name, None, *own, **self.call_settings)

    def to_label_scale(self, values: Floats) -> Floats:
        undo = self.inverse.undone_by
        if undo is None:
            return super().to_label_scale(values)
        return _undoing(undo, values, self.describe())

    @property
    def stepped(self) -> bool:
        """Return whether the model or the inverse is piecewise constant."""
        return self.inverse.stepped or super().stepped

    def read(self, raw: RawResponse, y: Values | None = None) -> object:
        """Return the inverse of the values of the explained output; raise if it is not finite where they are."""
        predicted = as_numbers(super().read(raw), self.describe())
        if predicted.ndim == 2 and predicted.shape[1] == 1:
            predicted = predicted[:, 0]
        if predicted.ndim != 1:
            return predicted  # the evaluator raises an error that states the expected shape
        values = self.inverse(predicted)
        bad = np.isfinite(predicted) & ~np.isfinite(values)
        if bad.any():
            at = predicted[bad]
            raise ModelOutputError(
                self.describe(),
                f"NaN or infinity from inverse {self.inverse.name} for {int(bad.sum()):,} of "
                f"{len(bad):,} predictions (between {at.min():.4g} and {at.max():.4g})",
                "finite numbers",
                "Check that the model predicts on the scale that inverse is the inverse of",
            )
        return values

    def computed(self, raw: RawResponse) -> DType | None:
        """Return the dtype of the model's response, which values computed from it in float64 do not show."""
        return response_dtype(raw, self.describe())

    def derivative_info(self, feature: Feature) -> DerivativeInfo:
        """Return that of the prediction: the chain rule applies to slopes, and steps of it remain steps."""
        of = super().derivative_info(feature)
        if self.inverse.stepped and of.kind != "steps":
            what = f"differences across bins: {self.inverse.name} is piecewise constant"
            return DerivativeInfo("steps", what)
        if of.kind != "slopes":
            return of
        return replace(of, description=f"{of.description}, {self.inverse.described}")

    def slopes(self, X: ModelRows, y: Values | None = None) -> object:
        """Return the derivatives by the chain rule: g'(f) times those of the model. Calls the model once more."""
        slopes = as_numbers(super().slopes(X, y), f"{self.describe()}: slope")
        outer = self._outer(X, self.inverse.slope)
        if slopes.ndim != 2 or len(slopes) != len(outer):
            return slopes  # the evaluator raises an error that states the expected shape
        return outer[:, None] * slopes

    def mixed(self, X: ModelRows, j: int, k: int) -> object:
        """Return g''(f) ∂f/∂x_j ∂f/∂x_k + g'(f) ∂²f/∂x_j∂x_k."""
        mixed = as_numbers(super().mixed(X, j, k), f"{self.describe()}: mixed")
        slopes = as_numbers(super().slopes(X), f"{self.describe()}: slope")
        first = self._outer(X, self.inverse.slope)
        second = self._outer(X, self.inverse.curvature)
        mixed = mixed[:, 0] if mixed.ndim == 2 and mixed.shape[1] == 1 else mixed
        if mixed.shape != first.shape or slopes.ndim != 2 or len(slopes) != len(first):
            return mixed  # the evaluator raises an error that states the expected shape
        return second * slopes[:, j] * slopes[:, k] + first * mixed

    def _outer(self, X: ModelRows, of: Callable[[Floats], Floats]) -> Floats:
        """Return a derivative of the inverse at the predictions, (n,)."""
        predicted = as_numbers(super().read(self.raw(X)), self.describe())
        return of(predicted.reshape(len(predicted)))


@dataclass(frozen=True, eq=False)
class Probability(FromModel):
    """The probability of one class."""

    column: int | None = None
    label: LabelClass | None = None
    class_name: str | None = field(default=None, kw_only=True)
    """The class as text, if the quantity has its default name."""
    shared: bool = field(default=False, kw_only=True)
    """Whether it is one of several labels of the model, which are explained together."""

    template: ClassVar[str] = "P({})"
    """The default name."""

    def raw(self, X: ModelRows) -> RawResponse:
        """Call the model. Of a label of two classes only the probability of the second is returned."""
        raw = respond(self.model, "predict_proba", X)
        if self.label is None or not isinstance(raw, list):
            return raw
        return np.hstack([p[:, 1:] if p.shape[1] == 2 else p for p in map(np.asarray, raw)])

    def read(self, raw: RawResponse, y: Values | None = None) -> Values:
        p = column_of(raw, self.column, self.describe(), "class")
        if self.label is not None and self.label.is_complement:
            p = 1 - p
        if p.dtype.kind in "fiu" and ((p < -_ROUNDING) | (p > 1 + _ROUNDING)).any():
            raise ModelOutputError(
                self.describe(),
                f"values between {p.min():.4g} and {p.max():.4g}",
                "probabilities, between 0 and 1",
                self.model.of_scores
                if isinstance(self.model, AdaptedModel)
                else AdaptedModel.of_scores,
            )
        return p

    def on_label_scale(self) -> Probability | None:
        """Return the probability; None for several labels together."""
        return None if self.shared else self

    def observed_labels(self, y: Values) -> Floats:
        """Return 1 where a row belongs to the class whose probability is explained, else 0."""
        what = self.describe()
        if self.label is not None:
            return (class_codes(y, self.label.classes, what) == self.label.index).astype(float)
        classes = getattr(self.model, "classes_", None)
        if classes is not None and has_predict_proba(self.model):
            return (class_codes(y, np.asarray(classes).tolist(), what) == self.column).astype(float)
        numbers = label_numbers(y, what)
        binary = self.column is None
        if (numbers < 0).any() or (numbers % 1 != 0).any() or (binary and (numbers > 1).any()):
            raise DataError(
                f"{what}: y",
                "labels that are no indices of classes",
                "0 or 1" if binary else "0, 1, …: the column indices of the model's response",
                "Encode the labels, for example y == 'yes'"
                if binary
                else "Encode the classes as numbers",
            )
        return (numbers == (1 if binary else self.column)).astype(float)

    @property
    def place(self) -> int | None:
        return self.column

    def _closed_form(self) -> Derivative | None:
        from skedasis.derivatives import sklearn_models

        return sklearn_models.probability_derivative(self.model, self.column)


@dataclass(frozen=True, eq=False)
class Logit(Probability):
    """The log odds of one class."""

    template: ClassVar[str] = "logit P({})"

    scored: bool | None = None

    @property
    def scale(self) -> str:
        return "logit"

    def on_label_scale(self) -> Probability | None:
        """Return the probability of the class; None for several labels together."""
        if self.shared:
            return None
        name = _undone(self.name, "logit P(", "P(", "expit")
        where, class_name = (self.column, self.label), self.class_name
        return Probability(
            self.model, name, None, *where, class_name=class_name, **self.call_settings
        )

    def to_label_scale(self, values: Floats) -> Floats:
        return _undoing("expit", values, self.describe())

    def with_model(self, model: object) -> Self | None:
        """Return the same quantity of another model, which is called by the same method as this one."""
        return replace(self, model=model, scored=self._by_score)

    @property
    def _by_score(self) -> bool:
        """Return whether the model's `decision_function` is the log odds."""
        known = introspection.decides_by_logit(self.model) if self.scored is None else self.scored
        return self.column is not None and known

    def raw(self, X: ModelRows) -> RawResponse:
        """Return `decision_function` if it is the log odds, else the probabilities."""
        if self._by_score:
            # The score remains exact where the probability rounds to 0 or 1.
            return np.asarray(respond(self.model, "decision_function", X), dtype=float)
        return super().raw(X)

    def read(self, raw: RawResponse, y: Values | None = None) -> Floats:
        if self._by_score:
            scores = np.asarray(raw, dtype=float)
            return scores if self.column == 1 else -scores
        p = np.asarray(super().read(raw), dtype=float)
        certain = int(((p == 0) | (p == 1)).sum())
        if certain:
            raise ModelOutputError(
                self.describe(),
                f"a probability of exactly 0 or 1 for {certain} of {len(p)} rows",
                "probabilities between 0 and 1, whose log odds are finite",
                "Use sd.probability, or a model whose probabilities are calibrated",
            )
        return np.log(p) - np.log1p(-p)

    def slopes(self, X: ModelRows, y: Values | None = None) -> object:
        """Return the derivatives in closed form, or those of the probability by the chain rule."""
        if not isinstance(self.model, Differentiable):
            return super().slopes(X, y)
        p = np.asarray(super().read(self.raw(X)), dtype=float).reshape(-1, 1)
        return np.asarray(super().slopes(X, y)) / (p * (1.0 - p))

    @property
    def has_mixed(self) -> bool:
        """Return False: the chain rule for mixed derivatives also needs first derivatives."""
        return False

    def _closed_form(self) -> Derivative | None:
        from skedasis.derivatives import sklearn_models

        return sklearn_models.logit_derivative(self.model, self.column)


@overload
def prediction(
    model: PredictorLike,
    *,
    slope: RowFunction | None = None,
    mixed: MixedFunction | None = None,
    output: int | None = None,
    inverse: InverseLike | None = None,
    link: Literal["log"] | None = None,
    **keywords: Unpack[QuantityKeywords],
) -> Prediction: ...


@overload
def prediction(
    model: PredictorLike,
    *,
    slope: RowFunction | None = None,
    mixed: MixedFunction | None = None,
    output: str | Sequence[str],
    inverse: InverseLike | None = None,
    link: Literal["log"] | None = None,
    **keywords: Unpack[QuantityKeywords],
) -> MultiOutputQuantity: ...


@takes_quantity_keywords
def prediction(
    model: PredictorLike,
    *,
    slope: RowFunction | None = None,
    mixed: MixedFunction | None = None,
    output: int | str | Sequence[str] | None = None,
    inverse: InverseLike | None = None,
    link: Literal["log"] | None = None,
    **keywords: Unpack[QuantityKeywords],
) -> Prediction | MultiOutputQuantity:
    """Explain what a model predicts.

    Parameters
    ----------
    model : callable, fitted estimator, differentiable model, or path of a file
        ``f(X) -> (n,)``, or an object with `predict`. A callable gets rows in the same type of container as X. A path
        is that of a model file saved by LightGBM, XGBoost, CatBoost, skops, `torch.export` or an ONNX exporter: open
        what you trust. Torch modules, functions returned by `jax.jit`, Keras 3 models,
        `onnxruntime.InferenceSession` and `onnx.ModelProto` get arrays of their own type, on their own device; see
        Notes.
    slope : callable, optional
        ``jac(X) -> (n, d)``: the partial derivatives by all features. Only shape and finiteness are checked.
    mixed : callable, optional
        ``mixed(X, j, k) -> (n,)``: the mixed second derivative by columns j and k, for the DALE of a pair.
    output : int, "all" or sequence of str, optional
        For a model with several outputs, (n, o): the index of one, "all", or a name for each. With "all" or names,
        methods return ``{output: result}``, all from the same model rows; `slope` must return (n, o, d) and `mixed`
        (n, o).
    inverse : str, callable, or (callable, callable), optional
        A vectorised function g of the model's predictions, (n,) to (n,): g(prediction) is explained. Use it if the
        model was fitted on transformed labels: ``inverse="exp"`` explains prices with a model of log prices. Either a
        name ("exp", "exp2", "exp10", "expm1", "log", "log1p", "square", "cube", "sqrt", "cbrt", "reciprocal", "sinh",
        "tanh", "expit", "ndtr", "identity"), or a function such as `numpy.exp`, or a function and its derivative. See
        Notes.
    link : {"log"}, optional
        "log" says that the values are natural logarithms of what the labels are, such as those of a function that
        returns log rates. They are explained as they are; where labels are compared with them, their exponentials are.
    name, unit : str, optional
        Label and unit for the axes of plots. By default "prediction", "exp(prediction)" with an inverse "exp", or
        "log(prediction)" with a link "log".

    Returns
    -------
    Quantity

    Raises
    ------
    DataError
        For an unknown `inverse` or `link`, or both. For a file that is missing, of another format, or truncated.
    UnsupportedError
        For a classifier (labels cannot be averaged), an object that cannot be called, and an ONNX or Keras model that
        does not take exactly one table. On evaluation: for the DALE of a pair of a piecewise linear network, whose
        mixed derivatives are zero almost everywhere.
    ModelOutputError
        On evaluation: for a torch, JAX, Keras or ONNX model whose response for a row depends on the other rows of the
        batch. If `inverse` returns NaN or infinity for a finite prediction, such as "exp" of 1000.

    Notes
    -----
    With `inverse`, all results are effects of the transformed quantity g(prediction), not transformed effects: exp of
    an effect on log prices is a factor, and not the effect on prices. The exp of a predicted log price is about
    the median price, which is lower than the mean price (by the factor exp(-s²/2) for normal errors with variance s²).
    No correction is made. Labels, as for `loss` and `report`, must be on the scale of g(prediction); `residual`
    compares them with the prediction itself where g shows it on another scale ("log", "log1p", "sqrt", "cbrt",
    `numpy.log2`, `numpy.log10`, `numpy.arcsinh`, `numpy.arctanh`, `scipy.special.logit`, `scipy.special.ndtri`).

    Slopes follow from the model's by the chain rule, ``g'(prediction) * slope``, and cost one model row per slope row
    in addition, which the provenance counts in `slope_rows` only; `slope` and `mixed` are those of the model, before
    `inverse`. The derivative is exact for the functions with a name, the same functions of NumPy and SciPy, and a
    function that is given with its derivative. For others it is extrapolated from differences of the function itself,
    with a relative error of about 1e-12; this needs a smooth function, and no model rows. Trees are evaluated without
    calling the model, and the function is applied to their sum.

    `sklearn.compose.TransformedTargetRegressor` transforms its predictions itself: do not pass `inverse` for it.

    Torch modules, jitted functions of JAX, and Keras models on either provide slopes by automatic differentiation: one
    forward and one backward pass per row for all features (with several outputs, one backward pass for each), counted
    as one slope row. Mixed derivatives take a second backward pass. Rows are converted in parts of 2,048 (65,536 for a
    torch module on a GPU, 32,768 for JAX on a GPU; fewer if a torch module runs out of memory), so that memory does not
    grow with X. A float32 model computes in float32; all statistics are computed in float64.

    A torch module is evaluated in evaluation mode and is not modified: if it is in training mode, a copy that shares
    its parameters is called. Modules from `torch.export` keep the mode in which they were exported. JAX compiles a
    function for two numbers of rows. A plain function of JAX is not recognised as such: wrap it,
    ``sd.prediction(jax.jit(f))``, and bind parameters, ``jax.jit(lambda X: net.apply(params, X))``. The numeric outputs
    of an ONNX model are concatenated; `output` selects one of these columns.

    Some rows of the first call are evaluated again without being counted in the provenance: up to 16 to check that rows
    do not depend on one another, 64 to check the slopes, and 64 for each feature whose slopes are all zero. If the
    values change nevertheless, the model is piecewise constant in that feature (it rounds it, or uses it as an index),
    and differences across bins replace the slopes. If there are no derivatives at all, as for ONNX, differences are
    used.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> sd.prediction(lambda X: X[:, 0], name="price", unit="EUR").axis
    'price [EUR]'

    A model of log prices, explained in prices:

    >>> log_price = sd.prediction(lambda X: X[:, 0], inverse="exp", name="price", unit="EUR")
    >>> float(log_price.at(np.array([[5.0]]))[0].round(2))
    148.41

    One of several outputs of a network:

    >>> net = torch.nn.Sequential(
    ...     torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 3)
    ... )  # doctest: +SKIP
    >>> sd.explain(sd.prediction(net, output=2), X, "age")  # doctest: +SKIP
    """
    name, unit, calls = named_and_called(keywords)
    each = "sd.prediction(m)" if output is None else f"sd.prediction(m, output={output!r})"
    check_one_model(model, "prediction", each)
    model = adapt_model(model)
    check_predictor(model, slope, mixed, output)
    check_option("prediction(link)", link, ("log", None))
    if link is not None and inverse is not None:
        got, expected = f"link={link!r} and an inverse", "one of them"
        fix = "Leave inverse out to explain the logarithms; inverse='exp' alone explains their exponentials"
        raise DataError("prediction(inverse, link)", got, expected, fix)
    default = "prediction" if link is None else f"{link}(prediction)"
    plain = Prediction(model, name or default, unit, slope, mixed, link=link, **calls)
    if inverse is None:
        return predictions(plain, output)
    function = as_function(inverse)
    if mixed is not None and slope is None:
        raise DataError(
            "prediction(inverse, mixed)",
            "mixed derivatives without slopes",
            "both, or neither: the mixed derivative of a function of the prediction needs them",
            "Pass slope=, too",
        )
    name = name or f"{function.name}(prediction)"
    one = TransformedPrediction(model, name, unit, slope, mixed, inverse=function, **calls)
    return predictions(one, output)


@overload
def probability(
    model: ClassifierLike, class_: Literal["all"], **keywords: Unpack[QuantityKeywords]
) -> MultiOutputQuantity: ...


@overload
def probability(
    model: ClassifierLike, class_: ClassLike = None, **keywords: Unpack[QuantityKeywords]
) -> Probability: ...


@takes_quantity_keywords
def probability(
    model: ClassifierLike, class_: ClassLike = None, **keywords: Unpack[QuantityKeywords]
) -> Probability | MultiOutputQuantity:
    """Explain the probability of one class, or of all.

    Parameters
    ----------
    model : fitted classifier or callable
        A classifier with `predict_proba`; or a callable that returns probabilities: (n,), or (n, classes) with an index
        for `class_`. A network counts as a callable, an ONNX classifier as a classifier.
    class_ : label, or {label: class}, optional
        The class. By default the second of two; with more than two classes, it must be given. "all" (unless a class has
        this name) explains every class of a classifier: methods then return ``{class: result}``, all from the same
        model rows. For a classifier of several labels, see Notes.
    name, unit : str, optional
        Label and unit for the axes of plots.

    Raises
    ------
    ModelOutputError
        If there are more than two classes, or several labels, and `class_` is not given.
    UnsupportedError
        If the model does not return probabilities.

    Notes
    -----
    A classifier of several labels (scikit-learn's forests, trees, neighbours, `MLPClassifier` and `OneVsRestClassifier`
    fitted on y of shape (n, labels), `MultiOutputClassifier`, `ClassifierChain`, and XGBoost and CatBoost) has
    probabilities of its own for each label; they do not sum to 1. ``class_={0: "yes"}`` is the class "yes" of label 0,
    ``class_=0`` the second class of a label with two. "all" has an output for each label, the probability of the second
    of its two classes; a label with more classes has an output for each of them, "0 = low". Labels have the names in
    `classes_`, otherwise their indices.

    Slopes are available in closed form for logistic regression and multi-layer perceptrons, and by automatic
    differentiation for networks of torch, JAX and Keras. Networks that return scores (logits) raise an error: convert
    them to probabilities, ``torch.nn.Sequential(net, torch.nn.Softmax(dim=1))``, or explain a score,
    ``sd.prediction(net, output=1)``.

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
    settings = named_and_called(keywords)
    check_one_model(model, "probability", f"sd.probability(m, class_={class_!r})")
    return _of_classes(adapt_model(model), class_, Probability, *settings)


@overload
def logit(
    model: ClassifierLike, class_: Literal["all"], **keywords: Unpack[QuantityKeywords]
) -> MultiOutputQuantity: ...


@overload
def logit(
    model: ClassifierLike, class_: ClassLike = None, **keywords: Unpack[QuantityKeywords]
) -> Logit: ...


@takes_quantity_keywords
def logit(
    model: ClassifierLike, class_: ClassLike = None, **keywords: Unpack[QuantityKeywords]
) -> Logit | MultiOutputQuantity:
    """Explain the log odds of one class, ``log p - log(1 - p)``.

    Parameters
    ----------
    model : fitted classifier or callable
        As in `probability`.
    class_ : label, optional
        The class. By default the second of two; "all" explains every class. As in `probability`.
    name, unit : str, optional
        Label and unit for the axes of plots.

    Raises
    ------
    DataError, ModelOutputError, UnsupportedError
        As `probability`; `ModelOutputError` for a probability of exactly 0 or 1, unless the model has log odds.

    Notes
    -----
    If the model's `decision_function` is the log odds (logistic regression, gradient boosting with two classes), it is
    used, which remains exact where the probability rounds to 0 or 1. Slopes are those of `probability`.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> q = sd.logit(lambda X: X[:, 0])
    >>> float(q.at(np.array([[0.5]]))[0])
    0.0
    """
    settings = named_and_called(keywords)
    check_one_model(model, "logit", f"sd.logit(m, class_={class_!r})")
    return _of_classes(adapt_model(model), class_, Logit, *settings)


ProbabilityT = TypeVar("ProbabilityT", bound=Probability)


# --- several outputs ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MultiOutputQuantity(Quantity):
    """All outputs of a model."""

    several = True

    one: Quantity
    parts: Mapping[OutputLabel, Quantity] = field(default_factory=dict[OutputLabel, Quantity])
    name: str = "prediction"
    unit: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "labelled", self.one.labelled)
        object.__setattr__(self, "observed_only", self.one.observed_only)

    def raw(self, X: ModelRows) -> RawResponse:
        return self.one.raw(X)

    def describe(self) -> str:
        return f"{self.name}({title(self.one.model)})"

    def prepare(self, dataset: Dataset) -> Dataset:
        return self.one.prepare(dataset)

    def label_scale(self, what: str) -> Quantity:
        """Return all outputs on the scale of the labels, which those of a classifier share."""
        if not self.parts:
            return super().label_scale(what)
        parts = {label: part.label_scale(what) for label, part in self.parts.items()}
        return replace(self, one=self.one.label_scale(what), parts=parts)

    def outputs(
        self, dataset: Dataset, stats: CallStats | None = None, among: Ints | None = None
    ) -> Mapping[OutputLabel, Quantity]:
        """Return the quantity of each output; call the model on two rows if their number is not known."""
        if self.parts or not isinstance(self.one, Prediction):
            return self.parts
        rows = dataset.evenly_spaced_batch(2, among)
        response = as_array(self.one.raw(rows.tile(1).own()), self.describe())
        if stats is not None:
            stats.rows, stats.calls = stats.rows + len(rows), stats.calls + 1
        if response.ndim != 2:
            raise ModelOutputError(
                self.describe(),
                f"output of shape {response.shape}",
                "(rows, outputs)",
                "Leave output out: the model has one output only",
            )
        return {
            k: replace(self.one, output=k, name=f"{self.name} {k}", shared=True)
            for k in range(response.shape[1])
        }

    def at(  # type: ignore[override] - one array for each output, not one
        self, X: TableLike, y: ArrayLike | None = None
    ) -> dict[OutputLabel, Floats]:
        """Return each output at each row of X, by its label; see `Quantity.at`."""
        several = self.outputs(self.prepare(as_dataset(X, y)))
        return {label: quantity.at(X, y) for label, quantity in several.items()}

    def _sum(self, terms: Sequence[Addend]) -> MultiOutputQuantity:
        return SumOfOutputs.of(terms)


@dataclass(frozen=True, eq=False)
class SumOfOutputs(MultiOutputQuantity):
    """A linear combination of all outputs of several models: of those with the same label."""

    terms: tuple[tuple[float, MultiOutputQuantity], ...] = field(kw_only=True)

    @classmethod
    def of(cls, terms: Sequence[Addend]) -> SumOfOutputs:
        """Return the sum with its default name; raise `DataError` if outputs or units differ."""
        several = tuple((factor, q) for factor, q in terms if isinstance(q, MultiOutputQuantity))
        if len(several) < len(terms):
            raise several_and_one(terms)
        one = Sum.of([(factor, q.one) for factor, q in several])
        known = all(q.parts for _, q in several)
        parts = _sums([(factor, q.describe(), q.parts) for factor, q in several]) if known else {}
        return cls(one, parts, name_of_sum(terms), one.unit, terms=several)

    def as_terms(self) -> tuple[Addend, ...]:
        return self.terms

    @property
    def models(self) -> tuple[object, ...]:
        return self.one.models

    @property
    def rows_per_row(self) -> int:
        return self.one.rows_per_row

    def parts_on(self, dataset: Dataset) -> list[ModelPart]:
        rows = (part for _, part in self.one.parts_on(dataset))
        return [(q, part) for (_, q), part in zip(self.terms, rows, strict=True)]

    def describe(self) -> str:
        return formula([(factor, q.describe()) for factor, q in self.terms])

    def outputs(
        self, dataset: Dataset, stats: CallStats | None = None, among: Ints | None = None
    ) -> Mapping[OutputLabel, Quantity]:
        """Return the sum of each output; call models on two rows if the number of their outputs is not known."""
        if self.parts:
            return self.parts
        found = [
            (q.describe(), q.outputs(part, stats, among)) for q, part in self.parts_on(dataset)
        ]
        factors = (factor for factor, _ in self.terms)
        return _sums([(factor, *one) for factor, one in zip(factors, found, strict=True)])


def _sums(
    terms: Sequence[tuple[float, str, Mapping[OutputLabel, Quantity]]],
) -> dict[OutputLabel, Quantity]:
    """Return the linear combination of each output by its label; raise `DataError` if labels differ."""
    _, first, labels = terms[0]
    for _, name, others in terms[1:]:
        if set(labels) != set(others):
            raise DataError(
                f"outputs of {first} and {name}",
                f"{shown([*labels])} and {shown([*others])}",
                "the same outputs of all models",
                "Choose one output of each: class_=, or output=",
            )
    return {label: Sum.of([(factor, by[label]) for factor, _, by in terms]) for label in labels}


def predictions(
    one: Prediction, output: int | str | Sequence[str] | None
) -> Prediction | MultiOutputQuantity:
    """Return the quantity selected by `output`: one output, or all of them as `MultiOutputQuantity`."""
    if output is None:
        return one
    if is_int(output):
        return one.of_output(int(output))
    if isinstance(output, str) and output == "all":
        return MultiOutputQuantity(one, {}, one.name, one.unit)
    names = list(output) if isinstance(output, Iterable) and not isinstance(output, str) else []
    if not names or len(set(names)) < len(names) or not all(isinstance(n, str) for n in names):
        raise DataError(
            "prediction(output)",
            shown(output),
            "the index of an output, 'all', or different names for all outputs",
            "Use output='all'",
        )
    parts: dict[OutputLabel, Quantity] = {
        n: replace(one, output=k, of=len(names), name=n, shared=True) for k, n in enumerate(names)
    }
    return MultiOutputQuantity(one, parts, one.name, one.unit)


def _of_classes(
    model: object,
    class_: object,
    kind: type[ProbabilityT],
    name: str | None,
    unit: str | None,
    calls: CallSettings,
) -> ProbabilityT | MultiOutputQuantity:
    """Return the quantity of one class, or of all classes or labels, each with a name of its own by default."""
    function = kind.__name__.lower()
    labels = labels_of(model)
    names = labels or np.asarray(classes_of(model)).tolist()

    def quantity(
        column: int | None,
        class_: object,
        label: LabelClass | None = None,
        given: str | None = None,
    ) -> ProbabilityT:
        own = f"y = {class_}" if label is None else label.name
        has_default_name = label is None and not given
        return kind(
            model,
            given or kind.template.format(own),
            unit,
            column,
            label,
            class_name=str(class_) if has_default_name else None,
            **calls,
        )

    if not isinstance(class_, str) or class_ != "all" or "all" in names:
        if labels is None or not has_predict_proba(model):
            return quantity(*class_column(model, class_, function), given=name)
        one = label_class(model, labels, class_, function)
        return quantity(one.column, class_, one, name)
    if not len(names) or not has_predict_proba(model):
        raise UnsupportedError(
            f"{name or function}({title(model)}, class_='all')",
            f"{with_article(title(model))} without classes_ and predict_proba",
            "a fitted classifier with predict_proba",
            without_probabilities(model)
            if len(names)
            else "For a function, use sd.prediction(f, output='all')",
        )
    parts: dict[OutputLabel, ProbabilityT]
    if labels is None:
        parts = {label: quantity(k, label) for k, label in enumerate(names)}
    else:
        several = len(labels) > 1
        parts = {
            one.key: replace(quantity(one.column, class_, one), shared=several)
            for one in label_outputs(labels)
        }
    return MultiOutputQuantity(next(iter(parts.values())), parts, name or function, unit)


def with_target(quantity: Quantity, target: str) -> Quantity:
    """Return a quantity whose default name has the name of the labels: "P(Status = bad)" instead of "P(y = bad)"."""
    if isinstance(quantity, MultiOutputQuantity):
        parts = {label: with_target(part, target) for label, part in quantity.parts.items()}
        return replace(quantity, parts=parts)
    if not isinstance(quantity, Probability) or quantity.class_name is None:
        return quantity
    return replace(quantity, name=quantity.template.format(f"{target} = {quantity.class_name}"))


def response_dtype(raw: RawResponse, what: str, *, stepped: bool = False) -> DType | None:
    """Return the dtype of a response of floats, which values computed from it in float64 do not show; else None.

    It is float32 if numbers in float64 are single numbers; the numbers of a step function are taken for such.
    """
    numbers = as_array(raw, what).ravel()[:_DTYPE_ROWS]
    if numbers.dtype.kind != "f":
        return None
    if numbers.dtype.itemsize < 8:
        return numbers.dtype
    single = unit_round_off(numbers.dtype, numbers) > np.finfo(float).eps
    return np.dtype(np.float32) if single or stepped else None


def column_of(
    raw: RawResponse,
    column: int | None,
    what: str,
    of: str = "output",
    n_columns: int | None = None,
) -> NDArray[Any]:
    """Return one column of a model's response: that of an output, or of a class; None for the response itself."""
    response = as_array(raw, what)
    if column is None:
        return response
    if response.ndim == 2 and n_columns not in (None, response.shape[1]):
        raise ModelOutputError(
            what,
            f"{response.shape[1]} outputs",
            f"{n_columns}, the number of names given",
            "Name each output, or use output='all'",
        )
    if response.ndim == 2 and -response.shape[1] <= column < response.shape[1]:
        return response[:, column]
    keyword, plural = ("class_", "classes") if of == "class" else ("output", "outputs")
    fix = f"Leave {keyword} out" if response.ndim == 1 else "Pass the index of one of its columns"
    raise ModelOutputError(
        what,
        f"output of shape {response.shape}",
        f"(rows, {plural}) with a column {column}",
        fix,
    )


# --- conversion -----------------------------------------------------------------------------------


def as_quantity(model: ModelLike, *, every: bool = False) -> Quantity:
    """Return the default quantity of a model; return a quantity unchanged."""
    if isinstance(model, Quantity):
        return model
    if every and not isinstance(model, type):
        adapted = adapt_model(model)
        if has_predict_proba(adapted) and (labels_of(adapted) or len(classes_of(adapted)) > 2):
            return probability(adapted, class_="all")
        return default_quantity(adapted)
    return default_quantity(model)


ModelT = TypeVar("ModelT")


def listed(
    models: Sequence[ModelT] | Mapping[str, ModelT],
) -> tuple[list[ModelT], dict[str, list[str]]]:
    """Return models as a list, and their names, if they have names, as an entry of the provenance."""
    if isinstance(models, Printed):  # Effects are a mapping, too
        check_predictor(models, None, None)
    if isinstance(models, Mapping):
        return [*models.values()], {"model_names": model_names(models)}
    return [*models], {}


def model_names(models: Mapping[str, object]) -> list[str]:
    """Return the names of models as text; raise if two are the same."""
    names = [str(name) for name in models]
    if len(set(names)) < len(names):
        got, expected = shown([*models]), "names that differ as text"
        raise DataError("models: names", got, expected, "Rename one of them")
    return names


def check_one_model(model: object, function: str, call: str) -> None:
    """Raise if several models are given to a function of one; `call` is its call for the model m."""
    if not isinstance(model, (list, tuple, Mapping)) or isinstance(model, Printed):
        return
    each = f"[{call} for m in models]"
    if isinstance(model, Mapping):
        each = f"{{name: {call} for name, m in models.items()}}"
    got, fix = f"{len(model)} models", f"Pass each model: {each}"
    raise UnsupportedError(f"{function}(model)", got, "one model", fix)


def default_quantity(model: PredictorLike | ClassifierLike) -> Prediction | Probability:
    """Return the default quantity of a model; see `as_quantity`."""
    if isinstance(model, type):
        raise UnsupportedError(
            "model",
            f"the class {model.__name__}",
            "a fitted model",
            f"Fit one: {model.__name__}().fit(X, y)",
        )
    adapted: Any = adapt_model(model)
    if is_classifier(adapted):
        return probability(adapted)
    check_predictor(adapted, None, None)
    return Prediction(adapted)
