"""Fitted models with their rows and labels, and the importances that are asked of them."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression

import skedasis as sd
from benchmarks.problem import Floats

REPEATS = 5
"""Permutations of each feature."""

SCORES = {"squared_error": "neg_mean_squared_error", "log_loss": "neg_log_loss"}
"""What scikit-learn calls a loss."""


def numbers_of(X: Floats) -> Floats:
    """Return labels that are numbers, shape (n,): a sum of all columns, and noise."""
    noise = np.random.default_rng(5).normal(size=len(X))
    return X @ np.linspace(1.0, 0.1, X.shape[1]) + noise


def classes_of(X: Floats, classes: int) -> Any:
    """Return labels that are classes, shape (n,), drawn from a logistic model."""
    rng = np.random.default_rng(6)
    scores = X @ rng.normal(size=(X.shape[1], classes))
    return (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)


@dataclass(frozen=True, eq=False)
class Case:
    """A fitted model, and rows with their labels."""

    model: Any
    X: Floats
    y: Any
    loss: str = "squared_error"

    @property
    def answers(self) -> str:
        """Return the name of the method by which the model answers."""
        return "predict_proba" if self.loss == "log_loss" else "predict"

    def ours(self, model: Any = None) -> Any:
        """Return our importance of all features."""
        q = sd.loss(self.model if model is None else model, self.loss)
        method = sd.PFI(n_repeats=REPEATS)
        # What calling models costs is measured here; forests that are walked have a group of their own.
        return sd.explain(q, self.X, y=self.y, method=method, progress=False, tree="off")

    def theirs(self, model: Any = None) -> Any:
        """Return scikit-learn's."""
        return permutation_importance(
            self.model if model is None else model, self.X, self.y, scoring=SCORES[self.loss],
            n_repeats=REPEATS, random_state=0,
        )  # fmt: skip

    def alone(self) -> Any:
        """Ask the model for every row once."""
        return getattr(self.model, self.answers)(self.X)

    def counted(self, ask: Callable[[Any], Any]) -> tuple[int, Any]:
        """Return the model rows of a call, counted where the model answers, and its result."""
        rows = 0
        answer = getattr(self.model, self.answers)

        def count(X: Any, *more: Any, **named: Any) -> Any:
            nonlocal rows
            rows += len(X)
            return answer(X, *more, **named)

        result = ask(with_method(self.model, self.answers, count))
        return rows, result


def with_method(model: Any, name: str, function: Callable[..., Any]) -> Any:
    """Return a model that answers by another function."""
    # Under the name and with the parameters by which libraries look a method up.
    other = copy.copy(model)
    setattr(other, name, functools.update_wrapper(function, getattr(model, name)))
    return other


def regression(X: Floats) -> Case:
    """Return a linear regression that was fitted on a few rows, and labels of all."""
    y = numbers_of(X)
    return Case(LinearRegression().fit(X[:500], y[:500]), X, y)
