"""What takes a model's place in a quantity: it is asked questions about columns instead of being given altered rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from skedasis.quantity.base import Quantity
from skedasis.quantity.fitted import title
from skedasis.quantity.outputs import Prediction, Probability
from skedasis.quantity.trees.forest import Forest, Question
from skedasis.quantity.trees.links import answer
from skedasis.quantity.trees.load import ANSWERS

_BORDER = 1e-13


class StandIn:
    """A model whose answers are found by walking its trees.

    Quantities call it as they call the model, so that all of them work on it: a probability, its entropy, a loss.

    Parameters
    ----------
    model : fitted estimator, booster, or a method of one
    forest : Forest
    """

    piecewise_constant = True

    def __init__(self, model: Any, forest: Forest) -> None:
        self.forest = forest
        self.__name__ = title(model)
        owner = getattr(model, "__self__", None)
        grown = model if owner is None else owner
        known = np.asarray(getattr(grown, "classes_", ()))
        # CatBoost's regressors have no classes either, but an empty list of them.
        self.classes = known if len(known) else None
        if owner is not None:
            self._asked = model.__name__
            return
        # As many methods as the model has: what a model cannot do, quantities find out by asking.
        for name in ANSWERS:
            if hasattr(model, name):
                setattr(self, name, _Asked(self, name))
        if self.classes is not None:
            self.classes_ = self.classes
        if hasattr(model, "_estimator_type"):
            self._estimator_type = model._estimator_type  # noqa: SLF001 - as scikit-learn has it

    def __call__(self, question: Question) -> Any:
        """Answer as the method does that this stands in for."""
        return self.ask(self._asked, question)

    def plain_output(self, quantity: Quantity) -> int | None:
        """Return which output's sum of leaves a quantity is, None where it is another function of them."""
        outputs = len(self.forest.ensemble.base)
        if self.forest.ensemble.link != "identity":
            return None
        if getattr(self, "_asked", None) == "predict" and self.classes is not None:
            return None  # labels are no sums
        if type(quantity) is Prediction and not hasattr(self, "classes_"):
            wanted = 0 if quantity.output is None and outputs == 1 else quantity.output
        elif type(quantity) is Probability and hasattr(self, "classes_"):
            wanted = quantity.column
        else:
            return None
        return wanted if wanted is not None and 0 <= wanted < outputs else None

    def ask(self, name: str, question: Question) -> Any:
        """Return what the model's method of this name answers."""
        raw, ensemble = question.rows.raw(question), self.forest.ensemble
        if name == "predict" and self.classes is not None:
            shares = answer(ensemble, raw, "predict_proba")
            return self.classes[np.argmax(shares, axis=1)]
        if name == "predict" and ensemble.link == "path":
            # A row on the border itself is inside: a score is about 1, and rounds by less than this.
            return np.where(answer(ensemble, raw, "decision_function") < -_BORDER, -1, 1)
        return answer(ensemble, raw, name)


class _Asked:
    """One method of a stand-in."""

    def __init__(self, of: StandIn, name: str) -> None:
        self.of, self.name = of, name

    def __call__(self, question: Question) -> Any:
        return self.of.ask(self.name, question)
