"""Layers of perceptrons, and the scores, probabilities and log odds at their end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from skedasis._types import Floats
from skedasis.quantity.closed.chain import End
from skedasis.quantity.closed.rows import numbers

Kind = Literal["prediction", "probability", "logit"]


@dataclass(frozen=True, eq=False)
class Layers(End):
    """Back-propagation through dense layers.

    Parameters
    ----------
    weights, biases : list of ndarray
        Of each layer.
    activation : str
        Between layers.
    column : int
        The output, or the class.
    kind : {"prediction", "probability", "logit"}
        What is made of the last layer's scores.
    """

    weights: list[Floats]
    biases: list[Floats]
    activation: str
    column: int
    kind: Kind

    @property
    def width(self) -> int:
        """Return all layers' units, forwards and backwards."""
        return 2 * (len(self.weights[0]) + sum(w.shape[1] for w in self.weights))

    def gradient(self, Z: Any) -> Floats:
        """Return the derivatives by the inputs of the first layer."""
        layers = [numbers(Z)]
        for w, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            layers.append(_ACTIVATE[self.activation](layers[-1] @ w + b))
        score = layers[-1] @ self.weights[-1] + self.biases[-1]
        gradient = self._by_scores(score) @ self.weights[-1].T
        for w, values in zip(self.weights[-2::-1], layers[:0:-1], strict=True):
            gradient = (gradient * _SLOPE[self.activation](values)) @ w.T
        return gradient

    def _by_scores(self, score: Floats) -> Floats:
        """Return the quantity's derivative by each output score."""
        one = np.zeros_like(score)
        if self.kind == "prediction":
            one[:, self.column] = 1.0
            return one
        if score.shape[1] == 1:  # two classes, one score: the log odds of the second
            sign = 1.0 if self.column == 1 else -1.0
            e = np.exp(-np.abs(score))  # p (1 - p), in all digits where p rounds to 1
            return np.full_like(score, sign) if self.kind == "logit" else sign * e / (1.0 + e) ** 2
        one[:, self.column] = 1.0
        if self.kind == "probability":
            p = _softmax(score)
            return p[:, [self.column]] * (one - p)
        # d log(p / (1 - p)) = dp / (p (1 - p)): the others share what is left of the class, however little that is.
        return one - _softmax(np.where(one > 0, -np.inf, score))


def _softmax(score: Floats) -> Floats:
    p = np.exp(score - score.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def _logistic(z: Floats) -> Floats:
    e = np.exp(-np.abs(z))
    return np.where(z >= 0, 1.0, e) / (1.0 + e)


_ACTIVATE: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda z: z,
    "logistic": _logistic,
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0.0),
}
_SLOPE: dict[str, Callable[[Floats], Floats]] = {
    "identity": np.ones_like,
    "logistic": lambda a: a * (1.0 - a),
    "tanh": lambda a: 1.0 - a * a,
    "relu": lambda a: (a > 0).astype(float),
}
"""Derivatives of activations, as functions of their values."""
