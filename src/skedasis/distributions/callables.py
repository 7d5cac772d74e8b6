"""Predictive distributions from plain functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Floats
from skedasis.distributions.base import Predicted, Predictor
from skedasis.distributions.categorical import as_classes
from skedasis.distributions.continuous import as_normal, of_rows
from skedasis.distributions.scipy import as_distribution, is_distribution
from skedasis.errors import ModelOutputError, explained
from skedasis.models.introspection import articled

ANSWERS = (
    "probabilities (n, classes), a tuple (mean, standard deviation) of (n,) each, or SciPy distributions for the "
    "rows"
)


@dataclass(frozen=True, eq=False)
class Function(Predictor):
    """A function of rows that answers with distributions."""

    def distributions(self, X: Any) -> Predicted:
        """Call it."""
        return as_predicted(self.model(X), len(X), self.describe())


def as_predicted(answer: Any, n: int, what: str) -> Predicted:
    """Return a function's answer for n rows as distributions.

    Raises
    ------
    ModelOutputError
        For what says nothing of how uncertain it is, and for what is no distribution.
    """
    if isinstance(answer, Predicted):
        return answer
    if isinstance(answer, tuple) and len(answer) == 2:
        mean, deviation = map(plain, answer)
        for which, found in (("mean", mean), ("standard deviation", deviation)):
            if np.ndim(found) == 0:
                raise _single(which, n, what)
        return as_normal(mean, deviation, n, what)
    if is_distribution(answer):
        return as_distribution(answer, n, what)
    listed = isinstance(answer, list) and len(answer) > 0 and np.ndim(answer[0]) == 2
    values = plain(answer)
    fix = "Return one of these; a mean alone becomes a distribution by sd.ensemble([f, g, …], noise=...)"
    if not listed and np.shape(values) == (2, n) and n != 2:
        fix = (
            "Return a tuple (mean, standard deviation); probabilities with a row for each row of X"
        )
    elif listed or np.ndim(values) == 2:
        return as_classes(values, n, what)
    raise ModelOutputError(
        explained(
            what,
            f"{articled(type(answer).__name__)} of shape {np.shape(values)}",
            ANSWERS,
            fix,
        )
    )


def _single(which: str, n: int, what: str) -> ModelOutputError:
    """Return the error for one number in place of one for each row."""
    return ModelOutputError(
        explained(
            what,
            f"a {which} of shape ()",
            f"mean and standard deviation of shape ({n},) each",
            f"Return one for each row: np.full(len(X), {'sd' if which != 'mean' else 'mean'})",
        )
    )


def as_answer(answer: Any, n: int, what: str) -> Predicted | Floats:
    """Return a member's answer as distributions, or as means, (n,), where it gives no more than these."""
    if isinstance(answer, (tuple, Predicted)) or is_distribution(answer):
        return as_predicted(answer, n, what)
    values = plain(answer)
    shape = np.shape(values)
    means = len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)
    return of_rows(values, n, what, "mean") if means else as_predicted(values, n, what)


def plain(values: Any) -> Any:
    """Return a tensor as an array, and anything else as it is."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values
