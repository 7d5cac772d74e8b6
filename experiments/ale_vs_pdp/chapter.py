"""The chapter's artificial rows, its prediction functions, and what their effects are in truth.

Example 1: X1 ~ U(a, b) with a = 0 and b = 1/2, X2 ~ N(mu, sigma), X3 | X1, X2 ~ N(X2, X1). Example 2: X1 ~ U(0, 2),
X2 ~ N(2, 1/2), X3 | X2 ~ N(X2, 1/2). The second parameter of N is a standard deviation: the appendix writes E[X2²] as
mu² + sigma².
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

A, B = 0.0, 0.5
MIDDLE = (A + B) / 2
NAMES = ("x₁", "x₂", "x₃")
N = 150
"""The chapter's number of rows."""
INTERVALS = 20
"""Of every curve: the default of the package that drew the chapter's figures, iml."""

# Distinguished by line style and marker, so that colour is not needed.
LOOK: dict[str, dict[str, Any]] = {
    "truth": {"color": "#b0b0b0", "linestyle": "-", "linewidth": 3.5},
    "PDP": {"color": "#c8500a", "linestyle": (0, (4, 2)), "linewidth": 1.6, "zorder": 4},
    "ALE": {"color": "#0a4a7d", "linestyle": "-", "linewidth": 1.3, "marker": "o", "markersize": 3},
    "M-plot": {"color": "#1b8a6b", "linestyle": ":", "linewidth": 1.3, "marker": "x"},
}


def first(n: int, seed: int, mu: float = 2.0, sigma: float = 2.0) -> Floats:
    """Return rows of Example 1; section 6.2 has mu = 5 and sigma = 1."""
    rng = np.random.default_rng(seed)
    x1, x2 = rng.uniform(A, B, n), rng.normal(mu, sigma, n)
    return np.column_stack([x1, x2, rng.normal(x2, x1)])


def second(n: int, seed: int) -> Floats:
    """Return rows of Example 2."""
    rng = np.random.default_rng(seed)
    x1, x2 = rng.uniform(0.0, 2.0, n), rng.normal(2.0, 0.5, n)
    return np.column_stack([x1, x2, rng.normal(x2, 0.5)])


def product(X: Floats) -> Floats:
    """Return x₁ x₂ x₃ (6.1.1)."""
    return X[:, 0] * X[:, 1] * X[:, 2]


def squared(X: Floats) -> Floats:
    """Return x₁ x₂² (6.1.1, at its end)."""
    return X[:, 0] * X[:, 1] ** 2


def additive(X: Floats) -> Floats:
    """Return x₁ + x₂ - x₃ (6.1.2)."""
    return X[:, 0] + X[:, 1] - X[:, 2]


def changed(X: Floats) -> Floats:
    """Return x₃³ where x₃ >= 6 and x₂ <= 4, and x₁ x₂ x₃ elsewhere (6.2.2.3)."""
    strange = (X[:, 2] >= 6) & (X[:, 1] <= 4)
    return np.where(strange, X[:, 2] ** 3, product(X))


def second_order(x1: Floats, x2: Floats, mu: float, sigma: float) -> Floats:
    """Return the second-order ALE of x₁ and x₂ under `product`: the appendix's last line, simplified."""
    return (x1 - MIDDLE) * (x2**2 - mu**2 - sigma**2) / 2


def with_main(x1: Floats, x2: Floats, mu: float, sigma: float) -> Floats:
    """Return the same and both main effects, whose slopes are E[x₂ x₃ | x₁] and E[x₁ x₃ | x₂] = x₂ (a + b) / 2."""
    m2 = mu**2 + sigma**2
    return second_order(x1, x2, mu, sigma) + m2 * (x1 - MIDDLE) + MIDDLE / 2 * (x2**2 - m2)


def given_third(z: Floats, mu: float, sigma: float, power: int, cells: int = 2000) -> Floats:
    """Return E[X₁ X₂**power | X₃ = z] of Example 1, for a power of 1 or 2, by quadrature over x₁.

    Given x₁ the other two are jointly normal, so that X₂ given both is normal with known mean and variance.
    """
    x1 = (np.arange(cells) + 0.5) / cells * (B - A) + A
    variance = sigma**2 + x1**2
    away = (z[:, None] - mu) ** 2 / (2 * variance)
    density = np.exp(away.min(axis=1, keepdims=True) - away) / np.sqrt(variance)
    mean = mu + sigma**2 / variance * (z[:, None] - mu)
    x2 = mean if power == 1 else mean**2 + sigma**2 * x1**2 / variance
    return (density * x1 * x2).sum(axis=1) / density.sum(axis=1)


def accumulated(z: Floats, slope: Floats) -> Floats:
    """Return the integral of a slope from z[0], by the trapezoidal rule."""
    return np.append(0.0, np.cumsum((slope[1:] + slope[:-1]) / 2 * np.diff(z)))


def rms(a: Any) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(np.square(a))))


def at_rows(effect: Any, x: Floats) -> Floats:
    """Return an effect at rows, minus its mean over them; the range's ends are taken for what lies beyond."""
    value = effect(np.clip(x, effect.x[0], effect.x[-1]))
    return value - value.mean()


def left_by(x: Floats, value: Floats, degree: int) -> float:
    """Return the share of the variance that the best polynomial of that degree leaves."""
    # Standardised, for the sake of the fit's condition only.
    t = (x - x.mean()) / x.std()
    rest = value - np.polyval(np.polyfit(t, value, degree), t)
    return float(np.var(rest) / np.var(value))
