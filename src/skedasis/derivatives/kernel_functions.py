"""Kernel functions (RBF, Matérn, …) and gradients of kernel expansions.

``kernel.on_rows(X)`` returns a `KernelOnRows` for a chunk of rows: the values k(x, c) at all centres c, (n, m), and
`gradient`, which turns weights A, (n, m) or (1, m), into the gradients ``sum_m A_m dk(x, c_m)/dx``, (n, d). Sums,
products and powers of kernels follow the rules for derivatives of sums, products and powers.

`by_name` and `of_process` build a kernel from scikit-learn's parameters, for support vector machines, kernel ridge,
Gaussian processes and Nyström features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import gamma as gamma_function
from math import pi, sqrt
from typing import Any

import numpy as np

from skedasis._types import Floats

Function = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class KernelOnRows:
    """A kernel between a chunk of rows and the centres. Values and gradients are computed on demand.

    Parameters
    ----------
    values : callable
        ``() -> (n, m)``, or (1, 1) if the kernel is constant.
    gradient : callable, optional
        ``A -> (n, d)``; None if the kernel's slopes are zero.
    """

    values: Callable[[], Floats]
    gradient: Function | None


class Kernel(ABC):
    """A kernel with its centres, which are rows of the training data."""

    @abstractmethod
    def on_rows(self, X: Floats) -> KernelOnRows:
        """Return the kernel between rows, (n, d), and the centres."""


@dataclass(frozen=True, eq=False)
class Radial(Kernel):
    """A function of the distance r, in units of a scale.

    Parameters
    ----------
    centres : ndarray of float, shape (m, d)
    scale : float or ndarray of float, shape (d,)
    value, weight : callable
        The kernel k and ``-k'(r) / r``, as functions of r: the gradient is ``-weight(r) (x - c) / scale**2``.
    """

    centres: Floats
    scale: Floats | float
    value: Function
    weight: Function

    @cached_property
    def _middle(self) -> Floats:
        # Subtracted, because an offset of the rows would cancel digits of the gradient.
        return self.centres.mean(axis=0)

    @cached_property
    def _scaled(self) -> Floats:
        return (self.centres - self._middle) / self.scale

    def on_rows(self, X: Floats) -> KernelOnRows:
        """Compute the distances once, for values and gradients."""
        from scipy.spatial.distance import cdist

        Z = (X - self._middle) / self.scale
        r = np.asarray(cdist(Z, self._scaled), dtype=float)

        def gradient(A: Floats) -> Floats:
            weights = self.weight(r)
            weights *= A
            return (weights @ self._scaled - weights.sum(axis=1, keepdims=True) * Z) / self.scale

        return KernelOnRows(lambda: self.value(r), gradient)


@dataclass(frozen=True, eq=False)
class Inner(Kernel):
    """A function of the inner product of x and a centre, with its derivative: the gradient is ``slope(x c) c``."""

    centres: Floats
    value: Function
    slope: Function

    def on_rows(self, X: Floats) -> KernelOnRows:
        """Compute the inner products once, for values and gradients."""
        s = X @ self.centres.T
        return KernelOnRows(lambda: self.value(s), lambda A: (A * self.slope(s)) @ self.centres)


@dataclass(frozen=True, eq=False)
class Constant(Kernel):
    """A constant. White noise counts as the constant 0: it is zero between a row and a training row."""

    constant: float

    def on_rows(self, X: Floats) -> KernelOnRows:
        """Return the constant, without slopes."""
        return KernelOnRows(lambda: np.full((1, 1), self.constant), None)


@dataclass(frozen=True, eq=False)
class Sum(Kernel):
    """The sum of two kernels."""

    first: Kernel
    second: Kernel

    def on_rows(self, X: Floats) -> KernelOnRows:
        """Return the sum: (a + b)' = a' + b'."""
        a, b = self.first.on_rows(X), self.second.on_rows(X)
        return KernelOnRows(lambda: a.values() + b.values(), _added(a.gradient, b.gradient))


@dataclass(frozen=True, eq=False)
class Product(Kernel):
    """The product of two kernels."""

    first: Kernel
    second: Kernel

    def on_rows(self, X: Floats) -> KernelOnRows:
        """Return the product: (ab)' = a'b + ab'."""
        a, b = self.first.on_rows(X), self.second.on_rows(X)
        return KernelOnRows(
            lambda: a.values() * b.values(), _added(_times(a.gradient, b), _times(b.gradient, a))
        )


@dataclass(frozen=True, eq=False)
class Power(Kernel):
    """A kernel to the power of a constant."""

    base: Kernel
    exponent: float

    def on_rows(self, X: Floats) -> KernelOnRows:
        """Return the power: (a^p)' = p a^(p - 1) a'."""
        a, p = self.base.on_rows(X), self.exponent
        gradient = a.gradient

        def gradient_of_power(A: Floats) -> Floats:
            return gradient(A * (p * a.values() ** (p - 1.0)))  # type: ignore[misc]

        return KernelOnRows(
            lambda: a.values() ** p, None if gradient is None else gradient_of_power
        )


def _added(first: Function | None, second: Function | None) -> Function | None:
    if first is None or second is None:
        return first or second
    return lambda A: first(A) + second(A)


def _times(gradient: Function | None, other: KernelOnRows) -> Function | None:
    return None if gradient is None else lambda A: gradient(A * other.values())


# --- families of kernels --------------------------------------------------------------------------


def gaussian(centres: Floats, scale: Floats | float) -> Radial:
    """Return exp(-r² / 2)."""

    def value(r: Floats) -> Floats:
        return np.exp(-0.5 * r * r)

    return Radial(centres, scale, value, value)


def matern(centres: Floats, scale: Floats | float, nu: float) -> Radial | None:
    """Return the Matérn kernel; None for nu below 1/2, because its slope at the centres is infinite.

    With nu = 1/2 it has a kink at each centre, where the slope counts as zero, the mean over all directions.
    """
    if nu == np.inf:
        return gaussian(centres, scale)
    if nu < 0.5:
        return None
    closed_form = {0.5: _matern_1_2, 1.5: _matern_3_2, 2.5: _matern_5_2}.get(nu)
    value, weight = closed_form() if closed_form else _matern_nu(nu)
    return Radial(centres, scale, value, weight)


def _matern_1_2() -> tuple[Function, Function]:
    def weight(r: Floats) -> Floats:
        return np.divide(np.exp(-r), r, out=np.zeros_like(r), where=r > 0)

    return (lambda r: np.exp(-r)), weight


def _matern_3_2() -> tuple[Function, Function]:
    c = sqrt(3.0)
    return (lambda r: (1.0 + c * r) * np.exp(-c * r)), (lambda r: 3.0 * np.exp(-c * r))


def _matern_5_2() -> tuple[Function, Function]:
    c = sqrt(5.0)

    def value(r: Floats) -> Floats:
        return (1.0 + c * r + 5.0 / 3.0 * r * r) * np.exp(-c * r)

    return value, lambda r: 5.0 / 3.0 * (1.0 + c * r) * np.exp(-c * r)


def _matern_nu(nu: float) -> tuple[Function, Function]:
    """Return value and weight for any nu: with t = sqrt(2 nu) r, d(t^nu K_nu)/dt = -t^nu K_(nu - 1)."""
    from scipy.special import kv

    factor = 2.0 ** (1.0 - nu) / gamma_function(nu)

    def value(r: Floats) -> Floats:
        t = sqrt(2.0 * nu) * r
        k = factor * _positive(t) ** nu * kv(nu, _positive(t))
        return np.where(t > 0, k, 1.0)

    def weight(r: Floats) -> Floats:
        t = sqrt(2.0 * nu) * r
        w = 2.0 * nu * factor * _positive(t) ** (nu - 1.0) * kv(nu - 1.0, _positive(t))
        # At its centre the gradient is weight times zero, so the weight only has to be finite.
        return np.where(t > 0, w, 0.0)

    return value, weight


def _positive(t: Floats) -> Floats:
    """Replace zeros by 1, at which the Bessel function is finite."""
    return np.where(t > 0, t, 1.0)


def rational_quadratic(centres: Floats, scale: Floats | float, alpha: float) -> Radial:
    """Return (1 + r² / (2 alpha))^-alpha."""
    return Radial(
        centres,
        scale,
        lambda r: (1.0 + r * r / (2.0 * alpha)) ** -alpha,
        lambda r: (1.0 + r * r / (2.0 * alpha)) ** (-alpha - 1.0),
    )


def periodic(centres: Floats, scale: float, period: float) -> Radial:
    """Return exp(-2 sin²(pi r / period) / scale²), with r in the units of the rows."""

    def value(r: Floats) -> Floats:
        return np.exp(-2.0 * (np.sin(pi / period * r) / scale) ** 2)

    def weight(r: Floats) -> Floats:
        # sin(2 pi r / p) / r, which is 2 pi / p where r is zero.
        wave = 2.0 * pi / period * np.sinc(2.0 * r / period)
        return 2.0 * pi / (period * scale**2) * wave * value(r)

    return Radial(centres, 1.0, value, weight)


def linear(centres: Floats, offset: float = 0.0) -> Inner:
    """Return x c + offset."""
    return Inner(centres, lambda s: s + offset, np.ones_like)


def polynomial(centres: Floats, gamma: float, degree: float, offset: float) -> Inner:
    """Return (gamma x c + offset)^degree."""
    return Inner(
        centres,
        lambda s: (gamma * s + offset) ** degree,
        lambda s: gamma * degree * (gamma * s + offset) ** (degree - 1.0),
    )


def sigmoid(centres: Floats, gamma: float, offset: float) -> Inner:
    """Return tanh(gamma x c + offset)."""
    return Inner(
        centres,
        lambda s: np.tanh(gamma * s + offset),
        lambda s: gamma / np.cosh(np.clip(gamma * s + offset, -350.0, 350.0)) ** 2,
    )


# --- kernels from scikit-learn's parameters -------------------------------------------------------


def by_name(
    name: object, centres: object, gamma: float | None, degree: float | None, offset: float | None
) -> Kernel | None:
    """Return a kernel of scikit-learn by its name; None for unknown names and for sparse training rows.

    The defaults are those of `sklearn.metrics.pairwise`: gamma is one over the number of columns, the degree is 3, the
    offset is 1.
    """
    if not isinstance(centres, np.ndarray) or not isinstance(name, str):
        return None
    C = np.asarray(centres, dtype=float)
    g = 1.0 / C.shape[1] if gamma is None else float(gamma)
    shift = 1.0 if offset is None else float(offset)
    if name == "rbf":
        return gaussian(C, 1.0 / sqrt(2.0 * g)) if g > 0 else None
    if name == "linear":
        return linear(C)
    if name in ("poly", "polynomial"):
        return polynomial(C, g, 3.0 if degree is None else float(degree), shift)
    return sigmoid(C, g, shift) if name == "sigmoid" else None


def of_process(kernel: Any, centres: object) -> Kernel | None:
    """Return a kernel of scikit-learn's Gaussian processes; None if a part of it has no known derivative."""
    if not type(kernel).__module__.startswith("sklearn.gaussian_process"):
        return None
    if not isinstance(centres, np.ndarray):  # a kernel of texts or graphs
        return None
    C = np.asarray(centres, dtype=float)
    kind = type(kernel).__name__
    if kind in _COMPOSED:
        return _composed(kind, kernel, C)
    make = _SIMPLE.get(kind)
    return None if make is None else make(kernel, C)


_COMPOSED = {"Sum", "Product", "Exponentiation"}


_SIMPLE: dict[str, Callable[[Any, Floats], Kernel | None]] = {
    "ConstantKernel": lambda k, _: Constant(float(k.constant_value)),
    "DotProduct": lambda k, C: linear(C, float(k.sigma_0) ** 2),
    "ExpSineSquared": lambda k, C: periodic(C, float(k.length_scale), float(k.periodicity)),
    "Matern": lambda k, C: matern(C, np.asarray(k.length_scale, float), float(k.nu)),
    "RBF": lambda k, C: gaussian(C, np.asarray(k.length_scale, float)),
    "RationalQuadratic": lambda k, C: rational_quadratic(C, float(k.length_scale), float(k.alpha)),
    "WhiteKernel": lambda *_: Constant(0.0),
}


def _composed(kind: str, kernel: Any, C: Floats) -> Kernel | None:
    if kind == "Exponentiation":
        base = of_process(kernel.kernel, C)
        return None if base is None else Power(base, float(kernel.exponent))
    first, second = of_process(kernel.k1, C), of_process(kernel.k2, C)
    if first is None or second is None:
        return None
    return Sum(first, second) if kind == "Sum" else Product(first, second)
