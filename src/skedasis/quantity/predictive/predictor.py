"""`Predictor`: a model, as something that answers with distributions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from skedasis.quantity.fitted import title
from skedasis.quantity.piecewise import is_piecewise_constant
from skedasis.quantity.predicted import Predicted
from skedasis.quantity.predictive.labels import Labels


@dataclass(frozen=True, eq=False)
class Predictor(ABC):
    """A model that answers with the distributions of its labels. Picklable where the model is.

    Parameters
    ----------
    model : object
        As the user gave it.
    """

    model: Any

    @property
    def labels(self) -> Labels:
        """Return what the model predicts."""
        return Labels()

    @property
    def mixture(self) -> bool:
        """Return whether it answers with mixtures, whose uncertainty has parts."""
        return False

    @property
    def stepped(self) -> bool:
        """Return whether its answers are constant between jumps."""
        return is_piecewise_constant(self.model)

    @abstractmethod
    def distributions(self, X: Any) -> Predicted:
        """Call the model on rows in X's container."""

    def describe(self) -> str:
        """Return the model's title."""
        return title(self.model)


def pieces(X: Any, size: int) -> Iterator[Any]:
    """Yield the rows of an array or a data frame, up to `size` at a time."""
    n = len(X)
    if n <= size:
        yield X
        return
    for start in range(0, n, size):
        part = slice(start, min(start + size, n))
        if hasattr(X, "dtype"):
            yield X[part]
        else:
            import narwhals.stable.v2 as nw

            yield nw.from_native(X, eager_only=True)[part].to_native()
