"""Quantities read off a model's output: prediction, probability, logit."""

# A class may have any label, "all" too: the narrower type comes first.
# pyright: reportOverlappingOverload=false

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, overload

import numpy as np

from skedasis.data.features import Feature
from skedasis.errors import ModelOutputError, explained
from skedasis.quantity import closed
from skedasis.quantity.asked import check_predictor, class_column
from skedasis.quantity.base import Quantity, Traits
from skedasis.quantity.closed import chain, kinds
from skedasis.quantity.differentiable import Differentiable
from skedasis.quantity.foreign import adapted
from skedasis.quantity.from_model import FromModel
from skedasis.quantity.several import Several, all_classes, column_of, predictions, wants_all

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

    def _closed_form(self) -> chain.Derivative | None:
        return closed.prediction_derivative(self.model, self.output)

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

    def _closed_form(self) -> chain.Derivative | None:
        return closed.probability_derivative(self.model, self.column)


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
        known = kinds.decides_by_logit(self.model) if self.scored is None else self.scored
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

    def _closed_form(self) -> chain.Derivative | None:
        return closed.logit_derivative(self.model, self.column)


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
