"""Types of models: what is called on a user's model, and what the package's own adapters declare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeGuard

RowFunction: TypeAlias = Callable[[Any], object]
"""A function of rows: a model without methods, or the user's slopes, (n, d)."""
MixedFunction: TypeAlias = Callable[[Any, int, int], object]
"""The user's mixed second derivatives by two columns, (n,)."""


# Methods are properties of type Any, because those of scikit-learn's pipelines and searches are descriptors without
# types: their final estimator decides whether they exist.


class SupportsPredict(Protocol):
    """A fitted model with `predict`."""

    @property
    def predict(self) -> Any:
        """The function of rows that returns one number or label for each row, or one row of them."""
        ...


class SupportsPredictProba(Protocol):
    """A fitted classifier with `predict_proba`."""

    @property
    def predict_proba(self) -> Any:
        """The function of rows that returns the probabilities of the classes, (n, classes)."""
        ...


def has_predict(model: object) -> TypeGuard[SupportsPredict]:
    return hasattr(model, "predict")


def has_predict_proba(model: object) -> TypeGuard[SupportsPredictProba]:
    """Return whether a model has `predict_proba`; see `has_predict`."""
    return hasattr(model, "predict_proba")


class AdaptedModel:
    """Base of the models that this package makes from a user's: what the engine asks of them, and the defaults."""

    of_scores: str = "Use sd.prediction for scores"
    """What to do if the outputs are scores where probabilities are needed."""

    @property
    def piecewise_constant(self) -> bool:
        """Return whether the model is constant between jumps."""
        return False

    @property
    def takes_codes(self) -> bool:
        """Return whether numbers in an array are codes of categories."""
        return False

    @property
    def columns(self) -> list[str] | None:
        """Return the names of the columns that the model was trained on; None if it does not know them."""
        return None

    @property
    def batch_rows(self) -> int | None:
        """Return how many rows a batch should have at most; None for any number."""
        return None
