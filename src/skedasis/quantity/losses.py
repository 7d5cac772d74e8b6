"""The quantities behind `loss`: a label, a prediction, and how far they are apart."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints
from skedasis.data.dataset import Source
from skedasis.data.factorize import missing_among
from skedasis.data.features import Feature
from skedasis.errors import DataError, ModelOutputError, explained
from skedasis.quantity.answers import as_array, as_numbers, unit_round_off
from skedasis.quantity.base import Quantity, Traits
from skedasis.quantity.fitted import is_classifier, title
from skedasis.quantity.outputs import Prediction, Probability
from skedasis.quantity.predictive.labels import Labels

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
