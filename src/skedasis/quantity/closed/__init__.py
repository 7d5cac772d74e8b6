"""Derivatives of scikit-learn's models that are known in closed form.

Models are recognised by the path of their class: scikit-learn itself is never imported here. What is not recognised,
in whole or in one of its parts, has no closed form, and its slopes are differences.

To see how a model's derivative is made, read `chain` (steps, ends, and the chain rule that joins them) and then
`build`, the tables from a class to its step or its end. They are imported when the first such model is met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skedasis.quantity.closed.kinds import decides_by_logit

if TYPE_CHECKING:
    from skedasis.quantity.closed.chain import Derivative
    from skedasis.quantity.closed.layers import Kind

__all__ = [
    "decides_by_logit",
    "logit_derivative",
    "prediction_derivative",
    "probability_derivative",
]


def prediction_derivative(model: Any, output: int | None = None) -> Derivative | None:
    """Return the derivative of `predict`, or of one of its outputs; None where it is not known.

    Known for linear and generalised linear models, multi-layer perceptrons, Gaussian processes, support vector
    regression, kernel ridge and means of these; behind transformers or not, with a transformed target or not.
    """
    return _derivative(model, "prediction", output)


def probability_derivative(model: Any, column: int | None) -> Derivative | None:
    """Return the derivative of one class's probability: of logistic regressions and perceptrons, else None."""
    return _derivative(model, "probability", column)


def logit_derivative(model: Any, column: int | None) -> Derivative | None:
    """Return the derivative of one class's log odds: of logistic regressions and perceptrons, else None."""
    return _derivative(model, "logit", column)


def _derivative(model: Any, kind: Kind, column: int | None) -> Derivative | None:
    # Pipelines of other libraries hold models of scikit-learn, too.
    if not (type(model).__module__.startswith("sklearn.") or hasattr(model, "steps")):
        return None
    from skedasis.quantity.closed.build import derivative

    return derivative(model, kind, column)
