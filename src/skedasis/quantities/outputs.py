"""Outputs of a model as quantities: prediction, probability, logit, several outputs at once, and `as_quantity`."""

# A class may have any label, "all" too: the narrower type comes first.
# pyright: reportOverlappingOverload=false

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, overload

import numpy as np

from skedasis._types import Ints
from skedasis.data.dataset import Source, as_arrays, as_frames
from skedasis.data.features import Feature
from skedasis.derivatives import chain_rule, sklearn_models
from skedasis.errors import DataError, ModelOutputError, UnsupportedError, explained
from skedasis.models import introspection
from skedasis.models.adapters import Adapted, Traits
from skedasis.models.autodiff import Differentiable
from skedasis.models.calling import Meter
from skedasis.models.introspection import (
    check_fitted_on,
    check_predictor,
    class_column,
    fitted_names,
    is_classifier,
    title,
    wants_arrays,
)
from skedasis.models.piecewise_constant import is_piecewise_constant
from skedasis.models.registry import adapted
from skedasis.quantities.base import Quantity

# ------------------------------------------------------------------------------------------
# What quantities of one model have in common: how it is called, and where its slopes come from.


_DIFFERENCES = Traits("differences", "central differences")


@dataclass(frozen=True, eq=False)
class FromModel(Quantity):
    """What quantities of one model have in common: a model, a name, a unit, and rows of the kind it was fitted on."""

    model: Any
    name: str = "prediction"
    unit: str | None = None

    @property
    def called(self) -> Any:
        """Return the model."""
        return self.model

    def calling(self, model: Any) -> Quantity | None:
        """Return the same of another model."""
        return replace(self, model=model)

    def describe(self) -> str:
        """Return the quantity as a user would write it."""
        return f"{self.name}({title(self.model)})"

    def prepare(self, source: Source) -> Source:
        """Return the rows in the container that the model was fitted on, with their labels where they are needed."""
        if isinstance(self.model, Adapted):
            return self.with_labels(self.model.prepare(source, self.describe()))
        check_fitted_on(self.model, source, self.describe())
        names = fitted_names(self.model)
        if wants_arrays(self.model):
            source = as_arrays(source)
        elif names is not None:
            # Names that NumPy holds are no text to all libraries.
            source = as_frames(source, [str(n) if isinstance(n, str) else n for n in names])
        return self.with_labels(source)

    def _closed_form(self) -> chain_rule.Derivative | None:
        return None

    @property
    def place(self) -> int | None:
        """Return which of the model's outputs is explained; None where there is only one."""
        return None

    @property
    def together(self) -> bool:
        """Return whether all of the model's outputs are explained."""
        return False

    @property
    def stepped(self) -> bool:
        """Return whether the quantity is constant between jumps, as its model is."""
        return is_piecewise_constant(self.model)

    def slopes(self, X: Any, y: Any = None) -> Any:
        """Return the model's own derivatives, or those in closed form."""
        if isinstance(self.model, Differentiable):
            return self.model.slopes(X, self.place, together=self.together)
        form = self._closed_form()
        if form is None:
            return super().slopes(X, y)
        return form(X)

    def traits(self, feature: Feature) -> Traits:
        """Prefer the model's own derivatives or a closed form, and steps where there is nothing to derive."""
        if isinstance(self.model, Adapted):
            return self.model.traits(feature, self.place)
        form = self._closed_form()
        if form is not None and form.knows(feature):
            return Traits("slopes", f"closed form of {form.what}")
        if self.stepped:
            forest = getattr(self.model, "forest", None)
            jumps = None if forest is None else forest.jumps(feature.position)
            return Traits(
                "steps",
                f"differences across bins: {title(self.model)} is piecewise constant",
                jumps=jumps,
            )
        return _DIFFERENCES

    @property
    def has_mixed(self) -> bool:
        """Return whether the model has mixed derivatives of its own."""
        return isinstance(self.model, Differentiable) and self.model.has_mixed(self.place)

    def mixed(self, X: Any, j: int, k: int) -> Any:
        """Return the model's mixed derivatives."""
        if not isinstance(self.model, Differentiable):
            return super().mixed(X, j, k)
        return self.model.mixed(X, j, k, self.place)


# ------------------------------------------------------------------------------------------
# Quantities read off a model's output: prediction, probability, logit.


_ROUNDING = 1e-6
"""What single precision may add to a probability of 1."""


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

    @property
    def place(self) -> int | None:
        """Return the output that is explained."""
        return self.output

    @property
    def together(self) -> bool:
        """Return whether all outputs are explained."""
        return self.shared

    def _closed_form(self) -> chain_rule.Derivative | None:
        return sklearn_models.prediction_derivative(self.model, self.output)

    def slopes(self, X: Any, y: Any = None) -> Any:
        """Return the user's derivatives, else the model's own."""
        if self.slope is None:
            return super().slopes(X, y)
        return self._own(np.asarray(self.slope(X)), 2, "slope", "(rows, outputs, features)")

    @property
    def has_mixed(self) -> bool:
        """Return whether the user gave mixed derivatives, or else the model has some, and no slopes were given."""
        return self.mixed_slope is not None or (self.slope is None and super().has_mixed)

    def mixed(self, X: Any, j: int, k: int) -> Any:
        """Return the user's mixed derivatives, else the model's."""
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
            return Traits("slopes", "the given slope function", given=True)
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
                    getattr(self.model, "of_scores", "Use sd.prediction for scores"),
                )
            )
        return p

    @property
    def place(self) -> int | None:
        """Return the column of the class."""
        return self.column

    def _closed_form(self) -> chain_rule.Derivative | None:
        return sklearn_models.probability_derivative(self.model, self.column)


@dataclass(frozen=True, eq=False)
class Logit(Probability):
    """The log odds of one class. Made by `logit`."""

    scored: bool | None = None

    def calling(self, model: Any) -> Quantity | None:
        """Return the same of another model, which is asked in the same way."""
        return replace(self, model=model, scored=self._by_score)

    @property
    def _by_score(self) -> bool:
        """Return whether the model's score is the log odds itself."""
        known = introspection.decides_by_logit(self.model) if self.scored is None else self.scored
        return self.column is not None and known

    def raw(self, X: Any) -> Any:
        """Return the decision's score where that is the log odds, else the probabilities."""
        if self._by_score:
            # Exact where the probability has already rounded to 0 or 1.
            return np.asarray(self.model.decision_function(X), dtype=float)
        return super().raw(X)

    def read(self, raw: Any, y: Any = None) -> Any:
        """Return the log odds of the class."""
        if self._by_score:
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

    def slopes(self, X: Any, y: Any = None) -> Any:
        """Return the derivatives in closed form, or the probability's own by the chain rule."""
        if not isinstance(self.model, Differentiable):
            return super().slopes(X, y)
        p = np.asarray(super().read(self.raw(X)), dtype=float).reshape(-1, 1)
        return super().slopes(X, y) / (p * (1.0 - p))

    @property
    def has_mixed(self) -> bool:
        """Return False: the chain rule for mixed derivatives needs more than these."""
        return False

    def _closed_form(self) -> chain_rule.Derivative | None:
        return sklearn_models.logit_derivative(self.model, self.column)


@overload
def prediction(
    model: Any,
    *,
    slope: Callable[[Any], Any] | None = None,
    mixed: Callable[[Any, int, int], Any] | None = None,
    output: int | None = None,
    name: str = "prediction",
    unit: str | None = None,
) -> Prediction: ...


@overload
def prediction(
    model: Any,
    *,
    slope: Callable[[Any], Any] | None = None,
    mixed: Callable[[Any, int, int], Any] | None = None,
    output: str | Sequence[str],
    name: str = "prediction",
    unit: str | None = None,
) -> Several: ...


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
    model : callable, fitted estimator, differentiable model, or path of a file
        ``f(X) -> (n,)``, or an object with `predict`. A callable gets rows in the kind of container that X is. The path
        of what LightGBM (``.txt``), XGBoost (``.json``, ``.ubj``) or an ONNX exporter (``.onnx``) has saved. Or a
        torch module, a function that `jax.jit` returned, a Keras 3 model, an `onnxruntime.InferenceSession` or an
        `onnx.ModelProto`: these get arrays of their own type, on their own device; see Notes.
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
    DataError
        For a file that is not there, of another kind, or cut off.
    UnsupportedError
        For a classifier (its labels are no numbers to average), an object that cannot be called, and an ONNX or Keras
        model that is no function of one table. When it is used: for the DALE of a pair of a piecewise linear network,
        whose mixed derivatives are zero almost everywhere.
    ModelOutputError
        When it is used: for a torch, JAX, Keras or ONNX model whose answer for a row depends on the rows beside it.

    Notes
    -----
    torch modules, jitted functions of JAX, and Keras models on either have slopes of their own: one forward and one
    backward pass a row for all features (of several outputs one forward pass, and one backward pass for each), counted
    as one slope row. Mixed derivatives take a second backward pass. Rows are converted in parts of 2,048 (65,536 for a
    torch module on a GPU, 32,768 for JAX on one; fewer where a torch module's memory ends), so that memory does not
    grow with X. A model in float32 computes in it; all statistics are in float64.

    A torch module is explained in evaluation mode, whatever mode it is in, and nothing of it is changed: if it is in
    training mode, a copy is called that shares its parameters. Modules from `torch.export` keep the mode they were
    exported in. JAX compiles a function for two numbers of rows. A plain function of JAX cannot be told from others:
    wrap it, ``sd.prediction(jax.jit(f))``; bring parameters along, ``jax.jit(lambda X: net.apply(params, X))``. Numbers
    among the outputs of an ONNX model stand side by side, as the columns that `output` chooses from.

    Beyond provenances' counts, some rows of the first call are asked for again: up to 16, to see whether rows depend on
    one another; 64 for their slopes; and 64 for each feature whose slopes are all zero. Where values move all the same,
    the model is piecewise constant in that feature (rounded, or used as an index), and differences across bins take the
    place of slopes. Where the library finds no derivative at all, differences do, as for ONNX.

    Examples
    --------
    >>> import skedasis as sd
    >>> sd.prediction(lambda X: X[:, 0], name="price", unit="EUR").axis
    'price [EUR]'

    A network, and one of its several outputs:

    >>> net = torch.nn.Sequential(
    ...     torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 3)
    ... )  # doctest: +SKIP
    >>> sd.explain(sd.prediction(net, output=2), X, "age")  # doctest: +SKIP
    """
    model = adapted(model)
    check_predictor(model, slope, mixed)
    return predictions(Prediction(model, name, unit, slope, mixed), output)


@overload
def probability(
    model: Any, class_: Literal["all"], *, name: str | None = None, unit: str | None = None
) -> Several: ...


@overload
def probability(
    model: Any, class_: Hashable = None, *, name: str | None = None, unit: str | None = None
) -> Probability: ...


def probability(
    model: Any, class_: Hashable = None, *, name: str | None = None, unit: str | None = None
) -> Any:
    """Explain the probability of one class, or of all.

    Parameters
    ----------
    model : fitted classifier or callable
        With `predict_proba`; or a callable that returns the probabilities: (n,), or (n, classes) with `class_` an
        index. A network counts as a callable, an ONNX classifier as a classifier.
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
    Slopes are known in closed form for logistic regression and multi-layer perceptrons; networks of torch, JAX and
    Keras differentiate themselves. Networks that return scores (logits) are refused here: make them probabilities,
    ``torch.nn.Sequential(net, torch.nn.Softmax(dim=1))``, or explain a score, ``sd.prediction(net, output=1)``.

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
    model = adapted(model)
    if wants_all(model, class_):
        return all_classes(model, unit, Probability, "P(y = {})", name or "probability")
    column, label = class_column(model, class_, "probability")
    return Probability(model, name or f"P(y = {label})", unit, column)


@overload
def logit(
    model: Any, class_: Literal["all"], *, name: str | None = None, unit: str | None = None
) -> Several: ...


@overload
def logit(
    model: Any, class_: Hashable = None, *, name: str | None = None, unit: str | None = None
) -> Logit: ...


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
    model = adapted(model)
    if wants_all(model, class_):
        return all_classes(model, unit, Logit, "logit P(y = {})", name or "logit")
    column, label = class_column(model, class_, "logit")
    return Logit(model, name or f"logit P(y = {label})", unit, column)


# ------------------------------------------------------------------------------------------
# Models with several outputs: one quantity for each of them, all read off the same answers.


@dataclass(frozen=True, eq=False)
class Several(Quantity):
    """All outputs of a model. Made by `prediction(output="all")` and `probability(class_="all")`.

    Parameters
    ----------
    one : Quantity
        The quantity of one output: what prepares the rows, and calls the model.
    parts : dict of label to Quantity
        Of each output; empty where their number is only known when the model has answered.
    name, unit : str
    """

    one: Any
    parts: dict[Any, Quantity] = field(default_factory=dict)
    name: str = "prediction"
    unit: str | None = None

    def raw(self, X: Any) -> Any:
        """Call the model: all outputs."""
        return self.one.raw(X)

    def describe(self) -> str:
        """Return the quantity as a user would write it."""
        return f"{self.name}({title(self.one.model)})"

    def prepare(self, source: Source) -> Source:
        """Return the rows in the container that the model was fitted on."""
        return self.one.prepare(source)

    def outputs(
        self, source: Source, meter: Meter | None = None, among: Ints | None = None
    ) -> dict[Any, Quantity]:
        """Return the outputs' quantities; where their number is not known, two rows are asked for it."""
        if self.parts:
            return self.parts
        rows = source.some(2, among)
        answer = np.asarray(self.one.raw(rows.tile(1).own()))
        if meter is not None:
            meter.rows, meter.calls = meter.rows + len(rows), meter.calls + 1
        if answer.ndim != 2:
            raise ModelOutputError(
                explained(
                    self.describe(),
                    f"output of shape {answer.shape}",
                    "(rows, outputs)",
                    "Leave output out: the model has one output only",
                )
            )
        return {
            k: replace(self.one, output=k, name=f"{self.name} {k}", shared=True)
            for k in range(answer.shape[1])
        }


def predictions(one: Any, output: int | str | Sequence[str] | None) -> Any:
    """Return the quantity of the output, or of all outputs, that is meant by `output`."""
    if output is None:
        return one
    if isinstance(output, (int, np.integer)) and not isinstance(output, bool):
        return replace(one, output=int(output), name=f"{one.name} {int(output)}")
    if output == "all":
        return Several(one, {}, one.name, one.unit)
    names = list(output) if isinstance(output, Iterable) and not isinstance(output, str) else []
    if not names or len(set(names)) < len(names) or not all(isinstance(n, str) for n in names):
        raise DataError(
            explained(
                "prediction(output)",
                repr(output)[:60],
                "the index of an output, 'all', or different names for all outputs",
                "Use output='all'",
            )
        )
    parts: dict[Any, Quantity] = {
        n: replace(one, output=k, of=len(names), name=n, shared=True) for k, n in enumerate(names)
    }
    return Several(one, parts, one.name, one.unit)


def wants_all(model: Any, class_: Any) -> bool:
    """Return whether all classes are asked for: a class that is called "all" is meant itself."""
    if not isinstance(class_, str) or class_ != "all":
        return False
    return "all" not in np.asarray(getattr(model, "classes_", [])).tolist()


def all_classes(model: Any, unit: str | None, kind: Any, written: str, name: str) -> Several:
    """Return the quantities of all of a classifier's classes.

    Raises
    ------
    UnsupportedError
        For what has no classes, or no probabilities.
    """
    classes = getattr(model, "classes_", None)
    if classes is None or not is_classifier(model) or not hasattr(model, "predict_proba"):
        raise UnsupportedError(
            explained(
                f"{name}({title(model)}, class_='all')",
                f"a {title(model)} without classes_ and predict_proba",
                "a fitted classifier that gives probabilities",
                "For a function use sd.prediction(f, output='all')",
            )
        )
    labels = np.asarray(classes).tolist()
    parts: dict[Any, Quantity] = {
        label: kind(model, written.format(label), unit, k) for k, label in enumerate(labels)
    }
    return Several(next(iter(parts.values())), parts, name, unit)


def column_of(raw: Any, column: int, what: str, of: str = "output", most: int | None = None) -> Any:
    """Return one column of a model's answer: that of an output, or of a class.

    Parameters
    ----------
    raw : array_like, shape (n, o)
    column : int
    what, of : str
        For messages.
    most : int, optional
        How many columns there have to be.

    Raises
    ------
    ModelOutputError
        Where there is none.
    """
    answer = np.asarray(raw)
    if answer.ndim == 2 and most not in (None, answer.shape[1]):
        raise ModelOutputError(
            explained(
                what,
                f"{answer.shape[1]} outputs",
                f"{most}, as many as names were given",
                "Name each output, or use output='all'",
            )
        )
    if answer.ndim == 2 and -answer.shape[1] <= column < answer.shape[1]:
        return answer[:, column]
    keyword, plural = ("class_", "classes") if of == "class" else ("output", "outputs")
    fix = f"Leave {keyword} out" if answer.ndim == 1 else "Pass the index of one of its columns"
    raise ModelOutputError(
        explained(
            what,
            f"output of shape {answer.shape}",
            f"(rows, {plural}) with a column {column}",
            fix,
        )
    )


# ------------------------------------------------------------------------------------------
# From what a user has to a quantity: one table, looked up by what the object is.


def as_quantity(model: Any) -> Quantity:
    """Return a quantity as it is, and for a bare model the quantity that is meant.

    A regressor's, a callable's or a network's (torch, JAX, Keras, ONNX) is its prediction; a classifier's is the
    probability of the positive class of two.

    Raises
    ------
    ModelOutputError
        For a classifier of more than two classes: the message names them.
    UnsupportedError
        For a class instead of an object, or what cannot be called.
    """
    if isinstance(model, Quantity):
        return model
    if isinstance(model, type):
        raise UnsupportedError(
            explained(
                "model",
                f"the class {model.__name__}",
                "a fitted model",
                f"Fit one: {model.__name__}().fit(X, y)",
            )
        )
    model = adapted(model)
    if is_classifier(model):
        return probability(model)
    return prediction(model)
