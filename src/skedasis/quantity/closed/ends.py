"""Ends of pipelines: models, from the rows they are given to one number, and to its gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Bools, Floats
from skedasis.quantity.closed.chain import End
from skedasis.quantity.closed.kernels import Kernel
from skedasis.quantity.closed.rows import numbers


@dataclass(frozen=True, eq=False)
class Linear(End):
    """``Z @ coefficients + intercept``: the same slopes for every row."""

    coefficients: Floats

    flat = True

    def gradient(self, Z: Any) -> Floats:
        """Return the coefficients."""
        return self.coefficients[None, :]

    @property
    def width(self) -> int:
        """Return the number of columns."""
        return len(self.coefficients)


@dataclass(frozen=True, eq=False)
class Exponential(End):
    """``exp(Z @ coefficients + intercept)``: a generalised linear model whose link is the logarithm."""

    coefficients: Floats
    intercept: float

    def gradient(self, Z: Any) -> Floats:
        """Return the prediction times the coefficients."""
        with np.errstate(
            over="ignore"
        ):  # infinite, as the prediction is: that has words of its own
            predicted = np.exp(numbers(Z) @ self.coefficients + self.intercept)
        return predicted[:, None] * self.coefficients

    @property
    def width(self) -> int:
        """Return two arrays of the rows' size."""
        return 2 * len(self.coefficients) + 2


@dataclass(frozen=True, eq=False)
class Machine(End):
    """A weighted sum of kernels at rows of fit: Gaussian processes, support vectors, kernel ridge.

    Parameters
    ----------
    kernel : Kernel
    weights : ndarray of float, shape (m,)
        Of the rows of fit.
    """

    kernel: Kernel
    weights: Floats

    def gradient(self, Z: Any) -> Floats:
        """Return the weighted sum of the kernels' gradients."""
        z = numbers(Z)
        pull = self.kernel.at(z).pull
        return np.zeros(z.shape) if pull is None else pull(self.weights[None, :])

    @property
    def width(self) -> int:
        """Return some arrays of the kernel's size; beside them the rows count for little."""
        return 6 * len(self.weights)


@dataclass(frozen=True, eq=False)
class Mean(End):
    """The weighted mean of models.

    Parameters
    ----------
    ends : sequence of End
    weights : ndarray of float
        They sum to 1.
    """

    ends: Sequence[End]
    weights: Floats

    @property
    def flat(self) -> bool:  # type: ignore[override]
        """Return whether all of them are."""
        return all(end.flat for end in self.ends)

    def gradient(self, Z: Any) -> Floats:
        """Return the weighted mean of their gradients."""
        total: Any = 0.0
        for end, weight in zip(self.ends, self.weights, strict=True):
            total = total + weight * end.gradient(Z)
        return total

    def taint(self) -> Bools | None:
        """Return what acts through a jump in any of them."""
        found = [bad for bad in (end.taint() for end in self.ends) if bad is not None]
        return np.logical_or.reduce(found) if found else None

    @property
    def width(self) -> int:
        """Return the largest of their widths: they work one after the other."""
        return max(end.width for end in self.ends)


@dataclass(frozen=True, eq=False)
class Outer(End):
    """A function of a model's prediction: the inverse of what its target was transformed by.

    Parameters
    ----------
    model : object
        What predicts the transformed target.
    end : End
        The same.
    slope : callable
        The function's derivative, ``z (n, o) -> (n, o)``.
    column : int
        Which of the targets is explained.
    """

    model: Any
    end: End
    slope: Callable[[Floats], Floats]
    column: int

    def gradient(self, Z: Any) -> Floats:
        """Multiply by the function's derivative."""
        predicted = np.asarray(self.model.predict(Z), dtype=float)
        z = predicted.reshape(len(predicted), -1)
        with np.errstate(all="ignore"):
            return self.slope(z)[:, [self.column]] * self.end.gradient(Z)

    def taint(self) -> Bools | None:
        """Return what acts through a jump in the model."""
        return self.end.taint()

    @property
    def width(self) -> int:
        """Return the model's width."""
        return self.end.width
