"""`loss`: the loss of a model's prediction of each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints
from skedasis.data.dataset import Source
from skedasis.data.factorize import missing_among
from skedasis.data.features import Feature
from skedasis.distributions.base import Labels
from skedasis.errors import DataError, ModelOutputError, UnsupportedError, explained
from skedasis.models.adapters import Traits
from skedasis.models.calling import as_array, as_numbers, unit_round_off
from skedasis.models.introspection import is_classifier, title
from skedasis.quantities.base import Quantity
from skedasis.quantities.outputs import (
    Logit,
    Prediction,
    Probability,
    Several,
    as_quantity,
    predictions,
)

# ------------------------------------------------------------------------------------------
# The quantities behind `loss`: a label, a prediction, and how far they are apart.


_EPS = float(np.finfo(float).eps)


_LOOKED_AT = 64


_TEXT = {"U", "S"}


_NUMBERS = Labels("numbers")


@dataclass(frozen=True, eq=False)
class Loss(Quantity):
    """What all losses have in common: labels, and the prediction that they are compared with.

    Parameters
    ----------
    of : Prediction or Probability
        It bears the loss's name, so that its errors do, too.
    name, unit : str
    """

    of: Any
    name: str = "loss"
    unit: str | None = None

    labelled = True

    @property
    def called(self) -> Any:
        """Return the model that is called."""
        return self.of.called

    def calling(self, model: Any) -> Quantity | None:
        """Return the same loss of another model."""
        of = self.of.calling(model)
        return None if of is None else replace(self, of=of)

    def raw(self, X: Any) -> Any:
        """Call the model."""
        return self.of.raw(X)

    def describe(self) -> str:
        """Return the loss as a user would write it."""
        return self.of.describe()

    def prepare(self, source: Source) -> Source:
        """Return the rows in the container that the model was fitted on, with their labels."""
        return self.with_labels(self.of.prepare(source))

    def traits(self, feature: Feature) -> Traits:
        """Return differences; steps where the prediction, and so its loss, is piecewise constant."""
        known: Traits = self.of.traits(feature)
        if isinstance(self.of, Prediction) and is_classifier(self.of.model):
            said = "differences across bins: predicted classes are piecewise constant"
            return Traits("steps", said, jumps=known.jumps)
        return known if known.local == "steps" else super().traits(feature)

    def computed(self, raw: Any) -> Any:
        """Return the type that the prediction was computed in: a loss, which computes in doubles, hides it.

        Differences of losses of a model in single precision need the longer steps of single precision all the same. And
        forests on several cores sum their trees in any order: what is the last digit of a prediction is none of the
        last of a small loss, so that two answers of theirs may differ as those in single precision do. (They are
        explained as step functions, where no step size matters.)
        """
        numbers = as_array(raw, self.describe()).ravel()[:_LOOKED_AT]
        if numbers.dtype.kind != "f":
            return None
        if numbers.dtype.itemsize < 8:
            return numbers.dtype
        single = unit_round_off(numbers.dtype, numbers) > _EPS
        return np.dtype(np.float32) if single or self.of.stepped else None

    def predicted(self, raw: Any) -> NDArray[Any]:
        """Return the prediction as an array; of one column as (n,)."""
        what = self.describe()
        answer = as_array(self.of.read(as_array(raw, what)), what)
        return answer[:, 0] if answer.ndim == 2 and answer.shape[1] == 1 else answer

    def one_a_row(self, answer: NDArray[Any], n: int) -> NDArray[Any]:
        """Refuse predictions that are not one a row: less the labels they would become a matrix."""
        if answer.shape == (n,):
            return answer
        fix = "Return one prediction for each row, in the rows' order"
        if answer.ndim == 2 and len(answer) == n:
            index = "output=0), with the labels of that output"
            column = "class_=0) of it" if isinstance(self.of, Probability) else index
            verb = "sd.probability" if isinstance(self.of, Probability) else "sd.loss"
            fix = f"Choose one output: {verb}(model, {column}"
        raise ModelOutputError(
            explained(self.describe(), f"output of shape {answer.shape}", f"({n},)", fix)
        )


@dataclass(frozen=True, eq=False)
class ErrorLoss(Loss):
    """A loss of the difference between label and prediction. Both are numbers."""

    kind: str = "squared_error"
    alpha: float = 0.5

    def encoded(self, y: Any) -> Floats:
        """Return labels as numbers; of a probability 1 where the row is of its class, else 0."""
        if isinstance(self.of, Probability):
            return of_class(self.of, y)
        return _NUMBERS.encode(y, self.describe())

    def read(self, raw: Any, y: Any = None) -> Floats:
        """Return each row's loss."""
        apart = self._apart(raw, y)
        if self.kind == "absolute_error":
            return np.abs(apart)
        if self.kind == "pinball":
            return np.maximum(self.alpha * apart, (self.alpha - 1.0) * apart)
        with np.errstate(over="ignore"):  # infinite: whoever asked says so in better words
            return apart * apart

    def slopes(self, X: Any, y: Any = None) -> Any:
        """Return the loss's derivative by the prediction times the prediction's by each feature."""
        slopes = as_numbers(self.of.slopes(X), f"{self.describe()}: slope")
        apart = self._apart(self.of.raw(X), y)
        if slopes.ndim != 2 or len(slopes) != len(apart):
            return slopes  # no derivative: whoever asked knows what it should have been
        if self.kind == "squared_error":
            outer = -2.0 * apart
        elif self.kind == "absolute_error":
            outer = -np.sign(apart)
        else:
            outer = np.where(apart > 0, -self.alpha, 1.0 - self.alpha) * (apart != 0)
        return outer[:, None] * slopes

    def traits(self, feature: Feature) -> Traits:
        """Return what the prediction can do: the chain rule carries its slopes, and no loss bends a constant."""
        known: Traits = self.of.traits(feature)
        if known.local != "slopes":
            return known
        return replace(known, source=f"{known.source}, by the chain rule")

    def _apart(self, raw: Any, y: Any) -> Floats:
        """Return label less prediction."""
        values = as_numbers(self.predicted(raw), self.describe())
        return y - self.one_a_row(values, len(y))


@dataclass(frozen=True, eq=False)
class ZeroOne(Loss):
    """1 where the prediction is another than the label, else 0."""

    classes: NDArray[Any] | None = None

    def encoded(self, y: Any) -> Any:
        """Return labels as the model writes them; refuse those that it does not know."""
        if self.classes is None:
            return y
        return self.classes[_places(y, self.classes, self.describe())]

    def read(self, raw: Any, y: Any = None) -> Floats:
        """Return whether each row's prediction is wrong."""
        answer = self.one_a_row(self.predicted(raw), len(y))
        missing = int(missing_among(answer).sum())
        kinds = {answer.dtype.kind, y.dtype.kind}
        got = f"no prediction (NaN or None) for {missing} of {len(y)} rows" if missing else ""
        if "O" not in kinds and kinds & _TEXT and kinds - _TEXT:
            got = f"predictions of type {answer.dtype} and labels of type {y.dtype}"
        if got:
            raise ModelOutputError(
                explained(
                    self.describe(),
                    got,
                    "predictions that may equal their labels",
                    "Let model and y name classes in the same way",
                )
            )
        return (answer != y).astype(float)

    def traits(self, feature: Feature) -> Traits:
        """Return steps: between 0 and 1 there is nothing. It jumps nowhere but where its prediction does."""
        jumps = self.of.traits(feature).jumps
        return Traits(
            "steps", "differences across bins: a zero-one loss is piecewise constant", jumps=jumps
        )


@dataclass(frozen=True, eq=False)
class OwnLoss(Loss):
    """A user's own function of labels and prediction."""

    function: Any = None

    def read(self, raw: Any, y: Any = None) -> Floats:
        """Return what the function makes of labels and prediction: it is given the original of neither."""
        n, what = len(y), f"the loss function {title(self.function)}"
        answer = np.array(self.predicted(raw))
        if answer.ndim == 0 or len(answer) != n:
            self.one_a_row(answer, n)
        labels = y.view()
        labels.flags.writeable = False
        try:
            found = self.function(labels, answer)
        except Exception as error:
            error.add_note(f"raised in {what}, which skedasis called with {n} rows")
            raise
        values = as_numbers(found, what)
        if values.shape != (n,):
            single = "nothing" if found is None else "a single number"
            got = f"output of shape {values.shape}" if values.ndim else single
            raise ModelOutputError(
                explained(what, got, f"({n},)", "Return each row's loss, not their mean or sum")
            )
        bad = int((~np.isfinite(values)).sum())
        if bad:
            raise ModelOutputError(
                explained(
                    what,
                    f"NaN or infinity for {bad} of {n} rows",
                    "finite numbers",
                    "Check what it divides by and takes logarithms of, and the model's prediction",
                )
            )
        return values


def _places(y: Any, classes: NDArray[Any], what: str) -> Ints:
    """Return the places of labels among a model's classes; refuse labels that it does not know."""
    return Labels("classes", classes.tolist()).encode(y, what)


def of_class(of: Probability, y: Any) -> Floats:
    """Return 1 where a row is of the class whose probability is explained, else 0."""
    what = of.describe()
    classes = getattr(of.model, "classes_", None)
    if classes is not None and hasattr(of.model, "predict_proba"):
        return (_places(y, np.asarray(classes), what) == of.column).astype(float)
    numbers = _NUMBERS.encode(y, what)
    two = of.column is None
    if (numbers < 0).any() or (numbers % 1 != 0).any() or (two and (numbers > 1).any()):
        raise DataError(
            explained(
                f"{what}: y",
                "labels that are no indices of classes",
                "0 or 1" if two else "0, 1, …, the columns of the model's answer",
                "Encode them, for example y == 'yes'" if two else "Encode classes as numbers",
            )
        )
    return (numbers == (1 if two else of.column)).astype(float)


# ------------------------------------------------------------------------------------------
# `loss`: how far a model's prediction of a row is from the row's label.


_WORDS = {
    "squared_error": "squared error",
    "absolute_error": "absolute error",
    "pinball": "pinball loss",
    "log_loss": "log loss",
    "zero_one": "zero-one loss",
}


_CALLED = {
    "accuracy": "zero_one",
    "brier": "squared_error",
    "brier_score": "squared_error",
    "cross_entropy": "log_loss",
    "error_rate": "zero_one",
    "l1": "absolute_error",
    "l2": "squared_error",
    "logloss": "log_loss",
    "mae": "absolute_error",
    "mean_absolute_error": "absolute_error",
    "mean_squared_error": "squared_error",
    "misclassification": "zero_one",
    "mse": "squared_error",
    "nll": "log_loss",
    "quantile": "pinball",
    "rmse": "squared_error",
    "root_mean_squared_error": "squared_error",
}
"""What losses are called elsewhere."""


_OF_NUMBERS = ("squared_error", "absolute_error", "pinball")


def loss(
    model: Any,
    kind: str | Callable[[Any, Any], Any] = "squared_error",
    *,
    alpha: float = 0.5,
    response: str | None = None,
    output: int | None = None,
    name: str | None = None,
    unit: str | None = None,
) -> Quantity:
    """Explain the loss of each row's label under the model's prediction. Needs y.

    Parameters
    ----------
    model : fitted estimator, callable, or quantity
        Or what `prediction` or `probability` made of it, which brings its slopes, name and unit. The squared error of a
        probability is the Brier score: y counts as 1 where the row is of that class, else as 0.
    kind : str or callable
        With label y and prediction f:

        - "squared_error": ``(y - f)**2``; "absolute_error": ``abs(y - f)``;
        - "pinball": the loss of quantiles, ``alpha * max(y - f, 0) + (1 - alpha) * max(f - y, 0)``;
        - "log_loss": `nll`, of a classifier ``-log p(y)``;
        - "zero_one": 1 where ``predict(X)``, or what a callable returns, differs from the label, else 0. Labels may be
          of any type;
        - a function ``loss(y, prediction) -> (n,)``. It gets the labels as they were given, read-only, and a copy of
          the prediction: the value of a regressor, callable or quantity, of a classifier what `response` says.
    alpha : float
        Of the pinball loss: the quantile that is predicted, between 0 and 1.
    response : {"predict", "predict_proba"}, optional
        What a function of one's own gets from a classifier: its labels (the default), or all probabilities, (n, k).
    output : int, optional
        Of a model with several outputs: the one whose labels y holds.
    name : str, optional
        For the axes of plots. By default the loss's, with the name of the quantity that it is of.
    unit : str, optional
        The label's, for the axes of plots: the squared error is shown in its square. By default the quantity's. Losses
        that are not in the label's unit ("zero_one", "log_loss", a function) are shown in this one.

    Returns
    -------
    Quantity

    Raises
    ------
    DataError
        For a kind that is none, an alpha outside (0, 1), and settings that the kind has no use for. When it is used:
        without y, or where labels are no numbers, but the loss is one of numbers, or unknown to a classifier.
    ModelOutputError
        For a model that does not give one prediction a row, and a function that does not give one finite number a row.
    UnsupportedError
        For losses of numbers of a classifier, and for quantities that predict no label.

    Notes
    -----
    Costs the model rows of the method. Losses of numbers have slopes where the prediction has them,
    ``-2 * (y - f) * f'``, ``-sign(y - f) * f'``, and so on; 0 where a prediction meets its label exactly. They need the
    prediction there, too: each slope row is a model row besides, which the provenance counts among `slope_rows` only.
    Where the prediction is piecewise constant, and under "zero_one", it is a step function. A loss has no mixed
    derivatives of its own.

    The means of these losses are scikit-learn's `mean_squared_error`, `mean_absolute_error`, `mean_pinball_loss`,
    `log_loss` and `zero_one_loss`.

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
    if kind == "log_loss":
        return _log_loss(model, output, name, unit)
    of = _predicted(model, kind, response, output)
    named = name or _called(kind, alpha, of.name)
    shown = of.unit if unit is None and kind in _OF_NUMBERS else unit
    # Under the loss's name: what the prediction refuses reads as refused by the loss then.
    of = replace(of, name=named)
    if not isinstance(kind, str):
        return OwnLoss(of, named, shown, kind)
    if kind == "zero_one":
        return ZeroOne(of, named, shown, _classes(of))
    shown = _squared(shown) if shown and kind == "squared_error" else shown
    return ErrorLoss(of, named, shown, kind, float(alpha))


def _check_settings(kind: Any, alpha: Any, response: Any) -> None:
    """Refuse a kind that is none, and settings that mean nothing or would have no effect."""
    wrong: tuple[str, str, str, str] | None = None
    number = isinstance(alpha, Real) and not isinstance(alpha, (bool, np.bool_))
    if not callable(kind) and not (isinstance(kind, str) and kind in _WORDS):
        kinds = ", ".join(repr(k) for k in _WORDS)
        near = loss_called(kind) if isinstance(kind, str) else None
        fix = "Name one" if near is None else f"Did you mean {near!r}?"
        wrong = "kind", repr(kind)[:60], f"{kinds}, or loss(y, prediction) -> (n,)", fix
    elif not number or not 0 < float(alpha) < 1:
        wrong = "alpha", repr(alpha)[:60], "a number between 0 and 1", "Use 0.5 for the median"
    elif alpha != 0.5 and kind != "pinball":
        fix = "Use kind='pinball', or leave it out"
        wrong = "alpha", f"{alpha!r} with {_shown(kind)}", "alpha for the pinball loss only", fix
    elif response not in (None, "predict", "predict_proba"):
        fix = "Name one, or leave it out"
        wrong = "response", repr(response)[:60], "'predict' or 'predict_proba'", fix
    elif response is not None and not callable(kind):
        fix = "Leave it out: this kind knows what it needs"
        wrong = "response", f"{response!r} with {_shown(kind)}", "a function for kind", fix
    if wrong is not None:
        raise DataError(explained(f"loss({wrong[0]})", *wrong[1:]))


def loss_called(name: str) -> str | None:
    """Return the kind of loss that a name stands for elsewhere, or that is spelt much like it; None if there is none.

    Examples
    --------
    >>> loss_called("MSE"), loss_called("log-loss"), loss_called("roc_auc")
    ('squared_error', 'log_loss', None)
    """
    import difflib  # only where something is wrong

    plain = name.lower().replace("-", "_").replace(" ", "_").removeprefix("neg_")
    near = difflib.get_close_matches(plain, _WORDS, 1, 0.75)
    return _CALLED.get(plain) or next(iter(near), None)


def _log_loss(model: Any, output: Any, name: str | None, unit: str | None) -> Quantity:
    """Return the negative log-likelihood, under the name by which it was asked for."""
    from skedasis.quantities.uncertainty import nll

    what = "loss(kind='log_loss')"
    if isinstance(model, Quantity):
        got, fix = f"the quantity {model.describe()}", "Pass the fitted classifier itself"
        raise UnsupportedError(explained(what, got, "a model that gives probabilities", fix))
    if output is not None:
        got, fix = f"output={output!r}", "Leave it out, or wrap one output's probabilities"
        raise DataError(explained(what, got, "a model of one output", fix))
    return nll(model, name=name or _WORDS["log_loss"], unit=unit)


def _predicted(model: Any, kind: Any, response: str | None, output: Any) -> Any:
    """Return the quantity whose values are compared with the labels."""
    if isinstance(model, Quantity):
        return _of_quantity(model, kind, response, output)
    what = f"loss({title(model)}, {_shown(kind)})"
    if isinstance(model, type) or not is_classifier(model):
        if response == "predict_proba":
            fix = "Leave response out: the function gets the model's values"
            raise UnsupportedError(explained(what, "no classifier", "one, for response", fix))
        return _one(as_quantity(model), output)
    if kind in _OF_NUMBERS:
        raise UnsupportedError(
            explained(
                what,
                "a classifier",
                "a model whose predictions are numbers",
                "Use kind='zero_one' or kind='log_loss', or for the Brier score "
                f"sd.loss(sd.probability(model, class_=...), {kind!r})",
            )
        )
    if response != "predict_proba":
        return _one(Prediction(model), output)
    if output is not None or not hasattr(model, "predict_proba"):
        got = "no predict_proba" if output is None else f"output={output!r}"
        fix = "Use response='predict', or wrap the model in a function"
        raise UnsupportedError(explained(what, got, "the probabilities of one output", fix))
    return Probability(model)


def _of_quantity(model: Any, kind: Any, response: str | None, output: Any) -> Any:
    """Return a prediction or a probability that a user made, or refuse another quantity."""
    wrong: tuple[str, str] | None = None
    if isinstance(model, Several):
        fix = "Name one, sd.prediction(model, output=0) or sd.probability(model, class_=...)"
        wrong = "one output, and its labels", fix
    elif isinstance(model, Logit) or not isinstance(model, (Prediction, Probability)):
        wrong = "a prediction of the label", "Pass the model, sd.prediction or sd.probability of it"
    elif isinstance(model, Probability) and kind == "zero_one":
        wrong = "a prediction of the label", "Pass the classifier: sd.loss(model, 'zero_one')"
    elif response is not None:
        wrong = f"a classifier for response={response!r}", "Leave response out"
    elif output is not None and (isinstance(model, Probability) or model.output is not None):
        wrong = f"a model for output={output!r}", "Leave output out"
    elif isinstance(model, Probability) and model.column is not None and model.column < 0:
        fix = "Count class_ from 0, as y does"
        wrong = f"the index of a class, not {model.column}", fix
    if wrong is not None:
        what = f"loss({_shown(kind)})"
        raise UnsupportedError(explained(what, f"the quantity {model.describe()}", *wrong))
    return _one(model, output)


def _one(of: Any, output: Any) -> Any:
    """Return the prediction of one output."""
    if output is None:
        return of
    if isinstance(output, (bool, np.bool_)) or not isinstance(output, Integral):
        fix = "Name one, and pass its labels: sd.loss(model, output=0)"
        raise DataError(
            explained("loss(output)", repr(output)[:60], "the index of one output", fix)
        )
    return predictions(of, int(output))


def _classes(of: Any) -> NDArray[Any] | None:
    """Return the classes of a classifier, None where labels cannot be compared with them."""
    classes = getattr(of.model, "classes_", None)
    if classes is None or not is_classifier(of.model):
        return None
    if isinstance(classes, list) and any(np.ndim(c) == 1 for c in classes):
        if of.output is None and len(classes) > 1:
            fix = "Choose one, and pass its labels: sd.loss(model, 'zero_one', output=0)"
            raise ModelOutputError(
                explained(of.describe(), f"{len(classes)} outputs", "one output", fix)
            )
        place = of.output or 0
        return np.asarray(classes[place]) if place < len(classes) else None
    return np.asarray(classes) if of.output is None else None


def _shown(kind: Any) -> str:
    """Return a kind as a user wrote it."""
    return f"kind={kind!r}" if isinstance(kind, str) else f"the loss function {title(kind)}"


def _called(kind: Any, alpha: float, of: str) -> str:
    """Return a loss's name: what it is, and of what, if that has a name."""
    words = _WORDS[kind] if isinstance(kind, str) else getattr(kind, "__name__", "loss")
    words = "loss" if words == "<lambda>" else words
    words = f"{words} (alpha {alpha:g})" if kind == "pinball" else words
    return words if of == "prediction" else f"{words} of {of}"


def _squared(unit: str) -> str:
    """Return the square of a unit: of one that is made of several its whole."""
    plain = unit.isalpha() or len(unit) == 1
    return f"{unit}²" if plain else f"({unit})²"
