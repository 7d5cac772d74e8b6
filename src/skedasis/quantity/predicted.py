"""`Predicted`: what a model says of the labels of some rows, as distributions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal

import numpy as np

from skedasis._types import Floats
from skedasis.errors import UnsupportedError, explained

Part = Literal["total", "aleatoric", "epistemic"]
"""Of an uncertainty: all of it, the noise that every model of a mixture sees, and what the models disagree on."""


class Predicted(ABC):
    """The predictive distributions of n rows: of a label that is one of several classes, or a number.

    An answer of its own: nothing in it is a view of what a model was given or holds. All logarithms are natural.
    """

    @property
    @abstractmethod
    def dtype(self) -> Any:
        """Return the type that the model computed in: differences are no more exact than it is."""

    @abstractmethod
    def __len__(self) -> int:
        """Return n."""

    @abstractmethod
    def entropy(self, part: Part = "total") -> Floats:
        """Return the entropies, shape (n,), in nats; differential ones where the label is a number."""

    def entropy_error(self) -> Floats:
        """Return how far off the total entropies may be, in nats, (n,): 0 where they have a closed form."""
        return np.zeros(len(self))

    @abstractmethod
    def log_likelihood(self, y: Any) -> Floats:
        """Return the log probability, or log density, of each row's label, shape (n,)."""

    def floored(self, y: Any) -> int:
        """Return of how many rows the label's probability was raised to the floor of `log_likelihood`."""
        return 0

    @abstractmethod
    def mean(self) -> Floats:
        """Return the expected labels, shape (n,)."""

    @abstractmethod
    def variance(self, part: Part = "total") -> Floats:
        """Return the variances of the labels, shape (n,)."""

    @abstractmethod
    def quantile(self, p: float) -> Floats:
        """Return the p-quantiles of the labels, shape (n,)."""


def whole(part: Part) -> None:
    """Refuse to take apart the uncertainty of what is no mixture.

    Raises
    ------
    UnsupportedError
        For another part than "total".
    """
    if part != "total":
        raise UnsupportedError(
            explained(
                f"part={part!r}",
                "one predictive distribution a row",
                "several, whose disagreement is the epistemic part",
                "Make a mixture of them: sd.ensemble([model, model2, …])",
            )
        )
