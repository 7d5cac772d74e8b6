"""From what a user has to a quantity: one table, looked up by what the object is."""

from __future__ import annotations

from typing import Any

from skedasis.errors import UnsupportedError, explained
from skedasis.quantity.base import Quantity
from skedasis.quantity.fitted import is_classifier
from skedasis.quantity.foreign import adapted
from skedasis.quantity.outputs import prediction, probability


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
