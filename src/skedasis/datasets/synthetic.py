"""The papers' synthetic examples: rows, function, slopes, and the true effects and standard deviations."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skedasis.errors import DataError

FloatArray: TypeAlias = NDArray[np.float64]
Seed: TypeAlias = int | np.random.Generator


@dataclass(frozen=True)
class Synthetic(ABC):
    """A distribution of rows and a function of them, with known effects.

    Explain it with ``sd.prediction(example.f, slope=example.slope)``.

    Attributes
    ----------
    name : str
        A short name.
    source : str
        Paper and equation.
    features : tuple of str
        The columns' names, numbered from 1 as in the papers.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    features: ClassVar[tuple[str, ...]] = ()

    def sample(self, n: int, random_state: Seed = 0) -> FloatArray:
        """Return n independent rows, shape (n, d)."""
        return self._draw(n, np.random.default_rng(random_state))

    @abstractmethod
    def f(self, X: ArrayLike) -> FloatArray:
        """Return the function at the rows of X: (n, d) -> (n,)."""

    @abstractmethod
    def slope(self, X: ArrayLike) -> FloatArray:
        """Return all partial derivatives at the rows of X, without jumps: (n, d) -> (n, d)."""

    def true_effect(self, feature: int | str, x: ArrayLike, jumps: bool = False) -> FloatArray:
        """Return the true effect of a feature at the points x, 0 at x = 0.

        Parameters
        ----------
        feature : int or str
            Name, or position from 0.
        x : array_like of float, shape (m,)
        jumps : bool
            Whether the function's jumps are included, as in differences (ALE).

        Returns
        -------
        ndarray of float, shape (m,)
        """
        return self._effect(self.position(feature), np.asarray(x, dtype=float), jumps)

    def true_std(self, feature: int | str, x: ArrayLike) -> FloatArray:
        """Return the standard deviation of the slopes at the points x: (m,) -> (m,)."""
        points = np.asarray(x, dtype=float)
        return np.broadcast_to(self._std(self.position(feature), points), points.shape).copy()

    def position(self, feature: int | str) -> int:
        """Return the position of a feature's column, from 0."""
        if feature in self.features:
            return self.features.index(str(feature))
        if isinstance(feature, (int, np.integer)) and 0 <= feature < len(self.features):
            return int(feature)
        expected = f"a position below {len(self.features)} or one of {list(self.features)}"
        raise DataError("feature", repr(feature), expected, "Use one of them")

    @abstractmethod
    def _draw(self, n: int, rng: np.random.Generator) -> FloatArray: ...

    @abstractmethod
    def _effect(self, j: int, x: FloatArray, jumps: bool) -> FloatArray: ...

    @abstractmethod
    def _std(self, j: int, x: FloatArray) -> FloatArray | float: ...


@dataclass(frozen=True)
class RhaleIntroduction(Synthetic):
    """RHALE Eq. 1 (after Goldstein et al. 2015): ``0.2 x1 - 5 x2 + 10 x2 1[x3 > 0]``.

    All features are uniform on (-1, 1). The slopes of x2 are -5 or 5, and its mean effect is 0, so the average hides
    the effect. The paper's noise in Y is not part of the function. The jump in x3 is 10 x2, which averages to 0.

    Examples
    --------
    >>> from skedasis.datasets import RhaleIntroduction
    >>> example = RhaleIntroduction()
    >>> X = example.sample(100, random_state=1)
    >>> example.f(X).shape, example.slope(X).shape
    ((100,), (100, 3))
    >>> example.true_effect("x1", [0.0, 1.0])
    array([0. , 0.2])
    >>> example.true_std("x2", [0.0, 1.0])
    array([5., 5.])
    """

    name: ClassVar[str] = "rhale_introduction"
    source: ClassVar[str] = "RHALE (Gkolemis et al. 2023), Eq. 1"
    features: ClassVar[tuple[str, ...]] = ("x1", "x2", "x3")

    def f(self, X: ArrayLike) -> FloatArray:
        """Return the function at the rows of X: (n, 3) -> (n,)."""
        x1, x2, x3 = columns(X)
        return 0.2 * x1 - 5.0 * x2 + 10.0 * x2 * (x3 > 0)

    def slope(self, X: ArrayLike) -> FloatArray:
        """Return the partial derivatives: (n, 3) -> (n, 3)."""
        x1, _, x3 = columns(X)
        return np.column_stack([np.full(len(x1), 0.2), 10.0 * (x3 > 0) - 5.0, np.zeros(len(x1))])

    def _draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        return rng.uniform(-1.0, 1.0, (n, 3))

    def _effect(self, j: int, x: FloatArray, jumps: bool) -> FloatArray:
        return (0.2, 0.0, 0.0)[j] * x

    def _std(self, j: int, x: FloatArray) -> float:
        return (0.0, 5.0, 0.0)[j]


@dataclass(frozen=True)
class RunningExample(Synthetic):
    """RHALE's running example: ``sin(2 pi x1) (1[x1 < 0] - 2 1[x3 < 0]) + x1 x2 + x2``.

    Five sixths of x1 are uniform on (-0.5, 0), the rest on (0, 0.5); x2 is normal with standard deviation ``spread``;
    x3 is x1 plus normal noise. The effect of x1 is ``-sin(2 pi x1)`` for x1 < 0 and constant for x1 > 0, which suits
    bins of unequal width.

    Parameters
    ----------
    noise, spread : float
        Standard deviations of x3 given x1, and of x2.

    Notes
    -----
    The true effect is the limit for noise 0. With noise s, x3 and x1 may have different signs within a few s of 0,
    which changes the effect of x1 near 0 by at most 4 pi s / sqrt(2 pi) (0.05 for s = 0.01). The paper writes
    N(0, sigma_3) for x3 in section 3 and N(x1, sigma_3) in the appendix; the latter is meant. Its Eq. 22 to 33 have an
    additional factor z (the derivative of sin(2 pi z) is 2 pi cos(2 pi z)); its results do not.

    Examples
    --------
    >>> from skedasis.datasets import RunningExample
    >>> RunningExample().true_effect("x1", [-0.25, 0.0, 0.25])
    array([1., 0., 0.])
    """

    noise: float = 0.01
    spread: float = 2.0

    name: ClassVar[str] = "running_example"
    source: ClassVar[str] = "RHALE (Gkolemis et al. 2023), section 3, Eq. 5 and 20"
    features: ClassVar[tuple[str, ...]] = ("x1", "x2", "x3")

    def f(self, X: ArrayLike) -> FloatArray:
        """Return the function at the rows of X: (n, 3) -> (n,)."""
        x1, x2, x3 = columns(X)
        return np.sin(2.0 * np.pi * x1) * (1.0 * (x1 < 0) - 2.0 * (x3 < 0)) + x1 * x2 + x2

    def slope(self, X: ArrayLike) -> FloatArray:
        """Return the partial derivatives: (n, 3) -> (n, 3)."""
        x1, x2, x3 = columns(X)
        wave = 2.0 * np.pi * np.cos(2.0 * np.pi * x1) * (1.0 * (x1 < 0) - 2.0 * (x3 < 0))
        return np.column_stack([wave + x2, x1 + 1.0, np.zeros(len(x1))])

    def _draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        left = rng.random(n) < 5.0 / 6.0
        x1 = np.where(left, rng.uniform(-0.5, 0.0, n), rng.uniform(0.0, 0.5, n))
        x2 = self.spread * rng.standard_normal(n)
        return np.column_stack([x1, x2, x1 + self.noise * rng.standard_normal(n)])

    def _effect(self, j: int, x: FloatArray, jumps: bool) -> FloatArray:
        if j == 0:
            return np.where(x < 0, -np.sin(2.0 * np.pi * x), 0.0)
        return (5.0 / 6.0) * x if j == 1 else np.zeros_like(x)  # E[x1] + 1 = 5/6

    def _std(self, j: int, x: FloatArray) -> float:
        return (self.spread, math.sqrt(1.0 / 18.0), 0.0)[j]


def columns(X: ArrayLike) -> FloatArray:
    """Return the columns of X as float arrays: (n, d) -> (d, n)."""
    return np.asarray(X, dtype=float).T
