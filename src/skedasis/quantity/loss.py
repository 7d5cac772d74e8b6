"""`loss`: how far a model's prediction of a row is from the row's label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis.errors import DataError, ModelOutputError, UnsupportedError, explained
from skedasis.quantity.base import Quantity
from skedasis.quantity.fitted import is_classifier, title
from skedasis.quantity.losses import ErrorLoss, OwnLoss, ZeroOne
from skedasis.quantity.outputs import Logit, Prediction, Probability
from skedasis.quantity.several import Several, predictions
from skedasis.quantity.wrap import as_quantity

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
    from skedasis.quantity.uncertainty import nll

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
