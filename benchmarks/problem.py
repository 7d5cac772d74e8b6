"""What is explained: the data and the cheap models, with their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Model = Callable[[Any], Floats]


@dataclass(frozen=True)
class Settings:
    """What the command line chose."""

    n: int = 100_000
    d: int = 10
    repeats: int = 7
    model: str = "arithmetic"
    quick: bool = False


def arithmetic(X: Floats) -> Floats:
    """Return sums of products of columns: the model takes next to no time."""
    value = X[:, 0] * X[:, 1]
    for j in range(2, X.shape[1] - 1, 2):
        value += X[:, j] * X[:, j + 1]
    value += X[:, -1] * X[:, -1]
    return value


def arithmetic_slope(X: Floats) -> Floats:
    """Return the derivatives of `arithmetic`."""
    slope = np.zeros_like(X)
    for j in range(0, X.shape[1] - 1, 2):
        slope[:, j], slope[:, j + 1] = X[:, j + 1], X[:, j]
    slope[:, -1] += 2 * X[:, -1]
    return slope


def sine(X: Floats) -> Floats:
    """Return a sine of a column more: still cheap, but the model is most of the time."""
    return np.sin(2 * X[:, 0]) + arithmetic(X)


def sine_slope(X: Floats) -> Floats:
    """Return the derivatives of `sine`."""
    slope = arithmetic_slope(X)
    slope[:, 0] += 2 * np.cos(2 * X[:, 0])
    return slope


def _layers(d: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(1)
    return rng.normal(size=(d, 16)) / np.sqrt(d), rng.normal(size=16)


def network(X: Floats) -> Floats:
    """Return a small neural network: the model is nearly all the time, whatever explains it."""
    first, second = _layers(X.shape[1])
    return np.tanh(X @ first) @ second


def network_slope(X: Floats) -> Floats:
    """Return the derivatives of `network`."""
    first, second = _layers(X.shape[1])
    return ((1.0 - np.tanh(X @ first) ** 2) * second) @ first.T


MODELS: dict[str, tuple[Model, Model]] = {
    "arithmetic": (arithmetic, arithmetic_slope),
    "sine": (sine, sine_slope),
    "network": (network, network_slope),
}


def rows_of(n: int, d: int) -> Floats:
    """Return correlated normal rows as people have them: C-ordered doubles."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X[:, 1:] += 0.5 * X[:, :1]
    return X


@dataclass(frozen=True)
class Problem:
    """One data set and one model, shared by all tasks.

    Parameters
    ----------
    settings : Settings
    functions : tuple of two functions, optional
        The model and its derivative, instead of those that the settings name.
    """

    settings: Settings
    functions: tuple[Model, Model] | None = None

    @cached_property
    def rows(self) -> Floats:
        """Return the rows, shape (n, d)."""
        return rows_of(self.settings.n, self.settings.d)

    @property
    def model(self) -> Model:
        """Return the model, a function of rows."""
        return (self.functions or MODELS[self.settings.model])[0]

    @property
    def slope(self) -> Model:
        """Return the model's derivative, a function of rows."""
        return (self.functions or MODELS[self.settings.model])[1]

    @property
    def features(self) -> range:
        """Return the features' places."""
        return range(self.settings.d)

    @property
    def least(self) -> int:
        """Return the fewest rows of an automatic bin, given to every library."""
        return max(2, -(-self.settings.n // 20))

    def grid(self, points: int) -> dict[int, Floats]:
        """Return equidistant points over each feature's range, given to every library."""
        low, high = self.rows.min(axis=0), self.rows.max(axis=0)
        return {j: np.linspace(low[j], high[j], points) for j in self.features}

    @cached_property
    def effects(self) -> tuple[Floats, Floats]:
        """Return one feature and local effects whose mean and scatter both change along it."""
        x = self.rows[:, 0]
        noise = np.random.default_rng(2).normal(size=len(x))
        return x, np.where(x > 0, 2.0, 0.1) * noise + np.minimum(x, 1.0) ** 2
