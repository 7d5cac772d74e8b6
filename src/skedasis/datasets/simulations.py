"""The simulations of section 4 of the RHALE and UALE papers: `Correlated`, `PiecewiseLinear` and `NonLinear`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from skedasis.datasets.synthetic import FloatArray, Synthetic, columns


@dataclass(frozen=True)
class Correlated(Synthetic):
    """RHALE and UALE section 4.1: correlated features, and a function of three linear pieces.

    With ``f1 = a1 x1 + a2 x2``: RHALE's form (Eq. 17) is f1 up to 1/2, then 1 - f1 up to 1, then 0, which is
    continuous. UALE's form (Eq. 16) has 1/2 - f1 in the middle, and so jumps by -1/2 and by 1/2. Both add
    ``alpha x1 x3``. x1 is uniform on (0, 1), x2 = x1 + noise, x3 is normal with standard deviation 1/2.

    Parameters
    ----------
    a1, a2, alpha : float
        Coefficients; a1 and a2 are positive. The papers' cases are (a) 1, 1, 0; (b) 2, 1/2, 0; (c) 1, 1, 1.
    noise : float
        Standard deviation of x2 given x1. The papers write N(0, 0.01); 0.01 is the standard deviation.
    form : {"rhale", "uale"}

    Notes
    -----
    The slopes of both forms are equal, and so are their true effects: with a = a1 + a2 and w the feature's own
    coefficient, ``w x`` up to 1/(2a), ``w (1/a - x)`` up to 1/a, then 0. For equal coefficients that is x, 1/2 - x, 0.

    The papers have 1/4 - x in the middle (2/5 - 2 x in case b). That is the effect of UALE's form *with its jumps*,
    each of which contributes w/(2a) (``jumps=True``). RHALE's form has no jumps. In case b the papers give x2 the
    effect of x1, although its own coefficient is 1/2. The heterogeneity of x3 in case c is the standard deviation of
    U(0, 1), 0.289; the papers have 1/4.

    The true effect is the limit for noise 0. Noise s rounds the corners of the effect by at most 0.8 s w v / a, where v
    is the other feature's coefficient.

    Examples
    --------
    >>> from skedasis.datasets import Correlated
    >>> Correlated().true_effect("x1", [0.0, 0.25, 0.4, 0.5, 1.0])
    array([0.  , 0.25, 0.1 , 0.  , 0.  ])
    >>> Correlated(a1=2, a2=0.5).true_effect("x2", [0.0, 0.2, 0.4])
    array([0. , 0.1, 0. ])
    """

    a1: float = 1.0
    a2: float = 1.0
    alpha: float = 0.0
    noise: float = 0.01
    form: Literal["rhale", "uale"] = "rhale"

    name: ClassVar[str] = "correlated"
    source: ClassVar[str] = "RHALE section 4.1, Eq. 17 and 43; UALE section 4.1, Eq. 16"
    features: ClassVar[tuple[str, ...]] = ("x1", "x2", "x3")

    @property
    def breaks(self) -> tuple[float, float]:
        """Return the positions at which the effects of x1 and x2 change slope."""
        return 0.5 / (self.a1 + self.a2), 1.0 / (self.a1 + self.a2)

    def f(self, X: ArrayLike) -> FloatArray:
        """Return the function at the rows of X: (n, 3) -> (n,)."""
        x1, x2, x3 = columns(X)
        f1 = self.a1 * x1 + self.a2 * x2
        top = 1.0 if self.form == "rhale" else 0.5
        return np.where(f1 <= 0.5, f1, np.where(f1 < 1.0, top - f1, 0.0)) + self.alpha * x1 * x3

    def slope(self, X: ArrayLike) -> FloatArray:
        """Return the partial derivatives: (n, 3) -> (n, 3)."""
        x1, x2, x3 = columns(X)
        f1 = self.a1 * x1 + self.a2 * x2
        piece = np.where(f1 <= 0.5, 1.0, np.where(f1 < 1.0, -1.0, 0.0))
        parts = [self.a1 * piece + self.alpha * x3, self.a2 * piece, self.alpha * x1]
        return np.column_stack(parts)

    def _draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        x1 = rng.uniform(0.0, 1.0, n)
        x2 = x1 + self.noise * rng.standard_normal(n)
        return np.column_stack([x1, x2, 0.5 * rng.standard_normal(n)])

    def _effect(self, j: int, x: FloatArray, jumps: bool) -> FloatArray:
        if j == 2:
            return 0.5 * self.alpha * x  # E[x1] = 1/2
        own, (first, second) = (self.a1, self.a2)[j], self.breaks
        effect = own * np.where(x <= first, x, np.where(x < second, second - x, 0.0))
        if jumps and self.form == "uale":
            # Along x2 = x1 the slope of f1 is a / own times that along the feature alone.
            effect -= 0.5 * own / (self.a1 + self.a2) * ((x > first) & (x < second))
        return effect

    def _std(self, j: int, x: FloatArray) -> float:
        return abs(self.alpha) * (0.5, 0.0, math.sqrt(1.0 / 12.0))[j]


@dataclass(frozen=True)
class _Pair(Synthetic):
    """RHALE section 4.2: x1 uniform on (0, 1), x2 normal around x1."""

    spread: float = math.sqrt(0.5)

    features: ClassVar[tuple[str, ...]] = ("x1", "x2")

    def _draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        x1 = rng.uniform(0.0, 1.0, n)
        return np.column_stack([x1, x1 + self.spread * rng.standard_normal(n)])

    def _effect_of_x1_in_x2(self, x: FloatArray) -> FloatArray:
        # Tweedie: E[x1 | x2] = x2 + s^2 (log p)'(x2), so its integral needs only the density of x2.
        log_density = np.log(_normal_mass(x, self.spread))
        at_zero = np.log(_normal_mass(np.zeros(1), self.spread))
        return 0.5 * x**2 + self.spread**2 * (log_density - at_zero)

    def _std(self, j: int, x: FloatArray) -> FloatArray | float:
        if j == 0:
            return self.spread
        # x1 given x2 has a normal distribution truncated to (0, 1).
        low, high = -x / self.spread, (1.0 - x) / self.spread
        mass = _normal_mass(x, self.spread)
        at_low, at_high = _normal_density(low), _normal_density(high)
        shift = (at_low - at_high) / mass
        return self.spread * np.sqrt(1.0 + (low * at_low - high * at_high) / mass - shift**2)


@dataclass(frozen=True)
class PiecewiseLinear(_Pair):
    """RHALE section 4.2: ``a(x1) x1 + x1 x2`` with a piecewise constant a.

    a is 2, -2, 5, -10, 0.5 between 0, 0.2, 0.4, 0.45, 0.5, 1. The function as printed jumps at the breaks, by the
    change of a times x1. This is kept; the slopes, ``a(x1) + x2`` and ``x1``, ignore the jumps.

    Parameters
    ----------
    spread : float
        Standard deviation of x2 given x1: sqrt(0.5), from the paper's sigma_2^2 = 0.5.

    Notes
    -----
    The paper's ground truth, a(x1) x1, omits ``x1 x2``, which adds x1^2 / 2 because the mean of x2 given x1 is x1.
    Without jumps the true effect of x1 is the integral of a, plus x1^2 / 2; with jumps it is a(x1) x1 + x1^2 / 2. The
    heterogeneity of x1 is ``spread`` everywhere (UALE's ``sigma_2 x1`` is its integral).

    Examples
    --------
    >>> from skedasis.datasets import PiecewiseLinear
    >>> example = PiecewiseLinear()
    >>> example.true_effect("x1", [0.1, 0.2]), example.true_std("x1", [0.1])
    (array([0.205, 0.42 ]), array([0.70710678]))
    """

    name: ClassVar[str] = "piecewise_linear"
    source: ClassVar[str] = "RHALE section 4.2, UALE section 4.2: piecewise-linear function"
    breaks: ClassVar[tuple[float, ...]] = (0.0, 0.2, 0.4, 0.45, 0.5, 1.0)
    levels: ClassVar[tuple[float, ...]] = (2.0, -2.0, 5.0, -10.0, 0.5)

    def f(self, X: ArrayLike) -> FloatArray:
        """Return the function at the rows of X: (n, 2) -> (n,)."""
        x1, x2 = columns(X)
        return self._level(x1) * x1 + x1 * x2

    def slope(self, X: ArrayLike) -> FloatArray:
        """Return the partial derivatives without jumps: (n, 2) -> (n, 2)."""
        x1, x2 = columns(X)
        return np.column_stack([self._level(x1) + x2, x1])

    def _level(self, x1: FloatArray) -> FloatArray:
        return np.asarray(self.levels)[np.searchsorted(self.breaks[1:-1], x1, side="right")]

    def _effect(self, j: int, x: FloatArray, jumps: bool) -> FloatArray:
        if j == 1:
            return self._effect_of_x1_in_x2(x)
        if jumps:
            return self._level(x) * x + 0.5 * x**2
        heights = np.concatenate([[0.0], np.cumsum(np.asarray(self.levels) * np.diff(self.breaks))])
        return np.interp(x, self.breaks, heights) + 0.5 * x**2


@dataclass(frozen=True)
class NonLinear(_Pair):
    """RHALE section 4.2: ``4 x1^2 + x2^2 + x1 x2``.

    Parameters
    ----------
    spread : float
        Standard deviation of x2 given x1: sqrt(0.5), from the paper's sigma_2^2 = 0.5.

    Notes
    -----
    The paper's ground truth, 4 x1^2, omits ``x1 x2``. The mean of x2 given x1 is x1, so the true effect of x1 is
    4.5 x1^2.

    Examples
    --------
    >>> from skedasis.datasets import NonLinear
    >>> NonLinear().true_effect("x1", [0.0, 0.5, 1.0])
    array([0.   , 1.125, 4.5  ])
    """

    name: ClassVar[str] = "non_linear"
    source: ClassVar[str] = "RHALE section 4.2, UALE section 4.2: non-linear function"

    def f(self, X: ArrayLike) -> FloatArray:
        """Return the function at the rows of X: (n, 2) -> (n,)."""
        x1, x2 = columns(X)
        return 4.0 * x1**2 + x2**2 + x1 * x2

    def slope(self, X: ArrayLike) -> FloatArray:
        """Return the partial derivatives: (n, 2) -> (n, 2)."""
        x1, x2 = columns(X)
        return np.column_stack([8.0 * x1 + x2, 2.0 * x2 + x1])

    def _effect(self, j: int, x: FloatArray, jumps: bool) -> FloatArray:
        return 4.5 * x**2 if j == 0 else x**2 + self._effect_of_x1_in_x2(x)


def _normal_density(u: FloatArray) -> FloatArray:
    return np.exp(-0.5 * u**2) / math.sqrt(2.0 * math.pi)


def _normal_mass(x: FloatArray, spread: float) -> FloatArray:
    """Return the probability that x plus normal noise lies in (0, 1)."""
    # Mirrored to the left tail, where the complementary error function is precise.
    left = np.minimum(x, 1.0 - x) / (spread * math.sqrt(2.0))
    step = 1.0 / (spread * math.sqrt(2.0))
    masses = [0.5 * (math.erfc(-u) - math.erfc(step - u)) for u in left.ravel().tolist()]
    return np.reshape(masses, left.shape)
