"""Kernels of Gaussian processes (RBF, Matérn, …), and gradients of kernel expansions.

``kernel(X)`` returns a `KernelOnRows` for a chunk of rows: the values k(x, c) at all centres c, (n, m), and `gradient`,
which turns weights A, (n, m) or (1, m), into the gradients ``sum_m A_m dk(x, c_m)/dx``, (n, d). `of_process` builds a
kernel from scikit-learn's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gamma as gamma_function
from math import pi, sqrt
from typing import Any, TypeAlias

import numpy as np

from skedasis._types import Floats

KernelFunction: TypeAlias = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class KernelOnRows:
    """A kernel between a chunk of rows and the centres, with values and gradients computed on demand.

    Values are (n, m), or (1, 1) if the kernel is constant. The gradient is ``A -> (n, d)``; None if the slopes are
    zero.
    """

    values: Callable[[], Floats]
    gradient: KernelFunction | None


Kernel: TypeAlias = Callable[[Floats], KernelOnRows]


# --- sums, products and powers --------------------------------------------------------------------


def _sum(first: Kernel, second: Kernel) -> Kernel:
    """Return the sum: (a + b)' = a' + b'."""

    def on_rows(X: Floats) -> KernelOnRows:
        a, b = first(X), second(X)
        return KernelOnRows(lambda: a.values() + b.values(), _added(a.gradient, b.gradient))

    return on_rows


def _product(first: Kernel, second: Kernel) -> Kernel:
    """Return the product: (ab)' = a'b + ab'."""

    def on_rows(X: Floats) -> KernelOnRows:
        a, b = first(X), second(X)
        slopes = _added(_times(a.gradient, b.values), _times(b.gradient, a.values))
        return KernelOnRows(lambda: a.values() * b.values(), slopes)

    return on_rows


def _power(base: Kernel, p: float) -> Kernel:
    """Return the power: (a^p)' = p a^(p - 1) a'."""

    def on_rows(X: Floats) -> KernelOnRows:
        a = base(X)
        slopes = _times(a.gradient, lambda: p * a.values() ** (p - 1.0))
        return KernelOnRows(lambda: a.values() ** p, slopes)

    return on_rows


def _added(first: KernelFunction | None, second: KernelFunction | None) -> KernelFunction | None:
    if first is None or second is None:
        return first or second
    return lambda A: first(A) + second(A)


def _times(gradient: KernelFunction | None, factor: Callable[[], Floats]) -> KernelFunction | None:
    return None if gradient is None else lambda A: gradient(A * factor())


# --- families of kernels --------------------------------------------------------------------------


def _radial(
    centres: Floats, scale: Floats | float, value: KernelFunction, weight: KernelFunction
) -> Kernel:
    """Return a kernel k of the distance r in units of a scale, a number or (d,).

    With ``weight(r) = -k'(r) / r`` the gradient is ``-weight(r) (x - c) / scale**2``.
    """
    # Subtracted, because an offset of the rows would cancel digits of the gradient.
    middle = centres.mean(axis=0)
    scaled = (centres - middle) / scale

    def on_rows(X: Floats) -> KernelOnRows:
        from scipy.spatial.distance import cdist

        Z = (X - middle) / scale
        r = np.asarray(cdist(Z, scaled), dtype=float)

        def gradient(A: Floats) -> Floats:
            weights = weight(r) * A
            return (weights @ scaled - weights.sum(axis=1, keepdims=True) * Z) / scale

        return KernelOnRows(lambda: value(r), gradient)

    return on_rows


def _gaussian(centres: Floats, scale: Floats | float) -> Kernel:
    def value(r: Floats) -> Floats:
        return np.exp(-0.5 * r * r)

    return _radial(centres, scale, value, value)


def _matern(centres: Floats, scale: Floats | float, nu: float) -> Kernel | None:
    """Return the Matérn kernel; None for nu below 1/2, because its slope at the centres is infinite.

    With nu = 1/2 it has a kink at each centre, where the slope counts as zero, the mean over all directions.
    """
    if nu == np.inf:
        return _gaussian(centres, scale)
    if nu < 0.5:
        return None
    value, weight = _MATERN.get(nu) or _bessel(nu)
    return _radial(centres, scale, value, weight)


_3, _5 = sqrt(3.0), sqrt(5.0)
_MATERN: dict[float, tuple[KernelFunction, KernelFunction]] = {
    0.5: (
        lambda r: np.exp(-r),
        lambda r: np.divide(np.exp(-r), r, out=np.zeros_like(r), where=r > 0),
    ),
    1.5: (lambda r: (1.0 + _3 * r) * np.exp(-_3 * r), lambda r: 3.0 * np.exp(-_3 * r)),
    2.5: (
        lambda r: (1.0 + _5 * r + 5.0 / 3.0 * r * r) * np.exp(-_5 * r),
        lambda r: 5.0 / 3.0 * (1.0 + _5 * r) * np.exp(-_5 * r),
    ),
}
"""Smoothness nu → value and weight without Bessel functions."""


def _bessel(nu: float) -> tuple[KernelFunction, KernelFunction]:
    """Return value and weight for any nu: with t = sqrt(2 nu) r, d(t^nu K_nu)/dt = -t^nu K_(nu - 1)."""
    from scipy.special import kv

    factor = 2.0 ** (1.0 - nu) / gamma_function(nu)

    def at(r: Floats, factor: float, order: float, at_zero: float) -> Floats:
        t = np.where(r > 0, sqrt(2.0 * nu) * r, 1.0)  # where the Bessel function is finite
        return np.where(r > 0, factor * t**order * kv(order, t), at_zero)

    # At its centre the gradient is weight times zero, so the weight only has to be finite.
    return lambda r: at(r, factor, nu, 1.0), lambda r: at(r, 2.0 * nu * factor, nu - 1.0, 0.0)


def _rational_quadratic(centres: Floats, scale: float, alpha: float) -> Kernel:
    """Return (1 + r² / (2 alpha))^-alpha."""

    def base(r: Floats) -> Floats:
        return 1.0 + r * r / (2.0 * alpha)

    return _radial(centres, scale, lambda r: base(r) ** -alpha, lambda r: base(r) ** (-alpha - 1.0))


def _periodic(centres: Floats, scale: float, period: float) -> Kernel:
    """Return exp(-2 sin²(pi r / period) / scale²), with r in the units of the rows."""

    def value(r: Floats) -> Floats:
        return np.exp(-2.0 * (np.sin(pi / period * r) / scale) ** 2)

    def weight(r: Floats) -> Floats:
        # sin(2 pi r / p) / r, which is 2 pi / p where r is zero.
        wave = 2.0 * pi / period * np.sinc(2.0 * r / period)
        return 2.0 * pi / (period * scale**2) * wave * value(r)

    return _radial(centres, 1.0, value, weight)


def _dot_product(centres: Floats, offset: float) -> Kernel:
    """Return x c + offset."""

    def gradient(A: Floats) -> Floats:
        return A @ centres

    return lambda X: KernelOnRows(lambda: X @ centres.T + offset, gradient)


def _constant(constant: float) -> Kernel:
    """Return a constant. White noise counts as 0: it is zero between a row and a row of the fit."""
    return lambda _: KernelOnRows(lambda: np.full((1, 1), constant), None)


# --- from scikit-learn's kernels ------------------------------------------------------------------


def of_process(kernel: Any, centres: object) -> Kernel | None:
    """Return a kernel of scikit-learn's Gaussian processes; None if a part of it has no known derivative."""
    if not type(kernel).__module__.startswith("sklearn.gaussian_process"):
        return None
    if not isinstance(centres, np.ndarray):  # a kernel of texts or graphs
        return None
    C, kind = np.asarray(centres, dtype=float), type(kernel).__name__
    if kind == "Exponentiation":
        base = of_process(kernel.kernel, C)
        return None if base is None else _power(base, float(kernel.exponent))
    if kind in ("Sum", "Product"):
        first, second = of_process(kernel.k1, C), of_process(kernel.k2, C)
        if first is None or second is None:
            return None
        return (_sum if kind == "Sum" else _product)(first, second)
    make = _KERNELS.get(kind)
    return None if make is None else make(kernel, C)


_KERNELS: dict[str, Callable[[Any, Floats], Kernel | None]] = {
    "ConstantKernel": lambda k, _: _constant(float(k.constant_value)),
    "DotProduct": lambda k, C: _dot_product(C, float(k.sigma_0) ** 2),
    "ExpSineSquared": lambda k, C: _periodic(C, float(k.length_scale), float(k.periodicity)),
    "Matern": lambda k, C: _matern(C, np.asarray(k.length_scale, float), float(k.nu)),
    "RBF": lambda k, C: _gaussian(C, np.asarray(k.length_scale, float)),
    "RationalQuadratic": lambda k, C: _rational_quadratic(C, float(k.length_scale), float(k.alpha)),
    "WhiteKernel": lambda *_: _constant(0.0),
}
