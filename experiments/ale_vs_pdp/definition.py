"""The second-order ALE of x₁ and x₂ by its definition (Eq. 6.1 to 6.3), integrated; and the appendix's lines.

`by_definition` does not use the appendix: it takes any prediction function, and Example 1's distributions.

The closed form: with m = E[X2²] = mu² + sigma² and c = (a + b) / 2, f = x₁ x₂ x₃ has mixed derivative x₃, and
E[X3 | x₁, x₂] = x₂. So Eq. 6.1 is (x₁ - u)(x₂² - v²) / 2 from any start (u, v). Its main effects are
(x₁ - u)(m - v²) / 2 and (c - u)(x₂² - v²) / 2, for x₁ and x₂ are independent (6.9 and 6.10). What is left is
(x₁ - c) x₂² / 2 - (x₁ - u) m / 2 and a constant; its mean is zero if the constant makes it (x₁ - c)(x₂² - m) / 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from experiments.ale_vs_pdp.chapter import MIDDLE, A, B, Floats

_REACH = 8.0
"""Standard deviations of x₂ on either side of its mean, beyond which nothing weighs."""


@dataclass(frozen=True, eq=False)
class Integrated:
    """The three stages of the definition on a grid.

    Parameters
    ----------
    x1, x2 : ndarray, shapes (m1,) and (m2,)
    raw, corrected, centred : ndarray, shape (m1, m2)
        Eq. 6.1, 6.2 and 6.3, from the grid's lower ends.
    """

    x1: Floats
    x2: Floats
    raw: Floats
    corrected: Floats
    centred: Floats


def by_definition(
    f: Callable[[Floats], Floats], mu: float, sigma: float, m1: int = 41, m2: int = 401
) -> Integrated:
    """Integrate Eq. 6.1 to 6.3 numerically.

    The mixed derivative is a difference of f; the mean over X3 given the others is a Gauss-Hermite sum; integrals and
    the mean over X2 are trapezoidal sums.
    """
    x1 = np.linspace(A, B, m1)
    x2 = np.linspace(mu - _REACH * sigma, mu + _REACH * sigma, m2)
    mixed = _mean_mixed(f, x1, x2)
    raw = _integral(_integral(mixed, x2, 1), x1, 0)
    weight = np.exp(-((x2 - mu) ** 2) / (2 * sigma**2))
    weight /= weight.sum()
    # Both slopes are known on the grid: d raw / d x1 is the integral of the mixed one over x2, and the other way round.
    first = _integral(_integral(mixed, x2, 1) @ weight, x1, 0)
    slope = _integral(mixed, x1, 0)
    second = _integral(_mean_of_first(slope, x1), x2, 0)
    corrected = raw - first[:, None] - second
    return Integrated(x1, x2, raw, corrected, corrected - _mean_of_first(corrected @ weight, x1))


def _mean_mixed(f: Callable[[Floats], Floats], x1: Floats, x2: Floats) -> Floats:
    """Return E of the mixed derivative given x₁ and x₂, shape (m1, m2)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    step = 1e-3
    a, b, t = np.meshgrid(x1, x2, nodes, indexing="ij")
    x3 = b + a * t

    def at(sign1: int, sign2: int) -> Floats:
        rows = np.stack([a + sign1 * step, b + sign2 * step, x3], axis=-1)
        return f(rows.reshape(-1, 3)).reshape(a.shape)

    mixed = (at(1, 1) - at(-1, 1) - at(1, -1) + at(-1, -1)) / (4 * step**2)
    return mixed @ (weights / weights.sum())


def _integral(values: Floats, x: Floats, axis: int) -> Floats:
    """Return the integral along an axis, from its lower end."""
    v = np.moveaxis(values, axis, -1)
    steps = (v[..., 1:] + v[..., :-1]) / 2 * np.diff(x)
    whole = np.concatenate([np.zeros((*v.shape[:-1], 1)), np.cumsum(steps, axis=-1)], axis=-1)
    return np.moveaxis(whole, -1, axis)


def _mean_of_first(values: Floats, x1: Floats) -> Floats:
    """Return the mean over X1, uniform, along the first axis."""
    return _integral(values, x1, 0)[-1] / (B - A)


def lines(x1: Floats, x2: Floats, mu: float, sigma: float, u: float, v: float) -> dict[str, Floats]:
    """Return the appendix's lines (6.5.1) as printed, from the start (u, v), and the short form of the last."""
    m, c = mu**2 + sigma**2, MIDDLE
    before = x2**2 * x1 + (x1 - u) * m - c * (x2**2 - v**2)
    mean = c * m + (c - u) * m - c * (m - v**2)
    constant = u * m + v**2 * c - m * c
    return {
        "raw": (x2**2 - v) * (x1 - u) / 2,
        "corrected": before,
        "centred, first line": (before - mean) / 2,
        "centred, second line": (
            x2**2 * x1 - (x1 - u) * m - c * (x2**2 - v**2) - constant
        ) / 2,
        "centred, last line": (x2**2 * x1 - x1 * m - x2**2 * c + m * c) / 2,
        "short form": (x1 - c) * (x2**2 - mu**2 - sigma**2) / 2,
    }  # fmt: skip
