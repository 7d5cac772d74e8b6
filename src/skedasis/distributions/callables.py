"""Predictive distributions from plain functions.

A function may return probabilities, (mean, standard deviation), or SciPy distributions; `as_predicted` converts and
checks them. `as_response` does the same for members of a mixture, which may also return means alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skedasis._types import Floats, ModelRows, RawResponse
from skedasis.distributions.base import Predicted, Predictor
from skedasis.distributions.categorical import as_classes
from skedasis.distributions.continuous import as_normal, one_per_row
from skedasis.distributions.scipy import as_distribution, is_distribution
from skedasis.errors import ModelOutputError
from skedasis.models.calling import plain
from skedasis.models.introspection import with_article
from skedasis.models.protocols import RowFunction

_EXPECTED = (
    "probabilities (n, classes), a tuple (mean, standard deviation) of (n,) each, or SciPy distributions for the "
    "rows"
)


@dataclass(frozen=True, eq=False)
class FunctionPredictor(Predictor):
    """A function of rows that returns distributions."""

    model: RowFunction

    def distributions(self, X: ModelRows) -> Predicted:
        """Call the function and convert its response."""
        return as_predicted(self.model(X), len(X), self.describe())


def as_predicted(response: RawResponse, n: int, what: str) -> Predicted:
    """Return a function's response for n rows as distributions."""
    if isinstance(response, Predicted):
        return response
    if isinstance(response, tuple) and len(response) == 2:
        mean, deviation = map(plain, response)
        for name, values in (("mean", mean), ("standard deviation", deviation)):
            if np.ndim(values) == 0:
                raise _not_per_row(name, n, what)
        return as_normal(mean, deviation, n, what)
    if is_distribution(response):
        return as_distribution(response, n, what)
    multi_label = isinstance(response, list) and len(response) > 0 and np.ndim(response[0]) == 2
    values = plain(response)
    fix = "Return one of these, or, for functions that return a mean alone, pass sd.ensemble([f, g, …], noise=...)"
    if not multi_label and np.shape(values) == (2, n) and n != 2:
        fix = "Return a tuple (mean, standard deviation), or one row of probabilities for each row of X"
    elif multi_label or np.ndim(values) == 2:
        return as_classes(values, n, what)
    raise ModelOutputError(
        what,
        f"{with_article(type(response).__name__)} of shape {np.shape(values)}",
        _EXPECTED,
        fix,
    )


def _not_per_row(name: str, n: int, what: str) -> ModelOutputError:
    """Return the error for a single number instead of one for each row."""
    return ModelOutputError(
        what,
        f"a {name} of shape ()",
        f"mean and standard deviation of shape ({n},) each",
        f"Return one number for each row: np.full(len(X), {'sd' if name != 'mean' else 'mean'})",
    )


def as_response(response: RawResponse, n: int, what: str) -> Predicted | Floats:
    """Return a member's response as distributions, or as means, (n,), if it consists of means alone."""
    if isinstance(response, (tuple, Predicted)) or is_distribution(response):
        return as_predicted(response, n, what)
    values = plain(response)
    shape = np.shape(values)
    means = len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)
    return one_per_row(values, n, what, "mean") if means else as_predicted(values, n, what)
