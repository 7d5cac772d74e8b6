"""From what a user has to a quantity: one table, looked up by what the object is."""

from __future__ import annotations

import sys
from typing import Any

from skedasis.errors import UnsupportedError, explained
from skedasis.quantity.base import Quantity
from skedasis.quantity.fitted import is_classifier, title
from skedasis.quantity.outputs import prediction, probability


def as_quantity(model: Any) -> Quantity:
    """Return a quantity as it is, and for a bare model the quantity that is meant.

    A regressor's or a callable's is its prediction; a classifier's is the probability of the positive class of two.

    Raises
    ------
    ModelOutputError
        For a classifier of more than two classes: the message names them.
    UnsupportedError
        For a class instead of an object, a torch module, or what cannot be called.
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
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        raise UnsupportedError(
            explained(
                "model",
                f"a torch module ({title(model)})",
                "a function of an array",
                "Wrap it: sd.prediction(lambda X: module(torch.as_tensor(X, dtype=torch.float32))"
                ".detach().numpy()[:, 0])",
            )
        )
    if is_classifier(model):
        return probability(model)
    return prediction(model)
