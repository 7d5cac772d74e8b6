"""The synthetic examples of the entropy paper: labelled rows whose true predictive distribution is known.

The paper (Wood et al. 2024) fits models that say how sure they are and asks which features make them so. Each example
here draws rows with labels, splits them as the paper does, and knows the truth: the distribution of the label given the
row, its entropy, and what Likelihood-PFI is for a model that knows it, too.

In all of them the noise is the same everywhere, so the true entropy is constant and the true Entropy-PFI of every
feature is exactly 0 (Proposition 2): whatever Entropy-PFI a fitted model has is about the model, not about the data.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skedasis.datasets.synthetic import Floats, Seed, columns
from skedasis.errors import DataError, explained


class Split(NamedTuple):
    """Rows to fit a model on, and others to explain it on.

    Parameters
    ----------
    X, X_test : ndarray of float, shapes (n, d) and (m, d)
    y, y_test : ndarray, shapes (n,) and (m,)
        Their labels.
    """

    X: Floats
    y: NDArray[Any]
    X_test: Floats
    y_test: NDArray[Any]


@dataclass(frozen=True)
class Uncertain(ABC):
    """A distribution of rows and their labels, the latter known but for a noise that is the same everywhere.

    Pass ``predictive`` on as it is: ``sd.entropy(example.predictive)``, ``sd.nll(example.predictive)``.

    Attributes
    ----------
    name : str
        A short name.
    source : str
        Paper and section.
    features : tuple of str
        The columns' names, numbered from 1 as in the paper.
    sizes : (int, int)
        How many rows the paper fits and tests on.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    features: ClassVar[tuple[str, ...]] = ()
    sizes: ClassVar[tuple[int, int]] = (0, 0)

    def sample(self, n: int, seed: Seed = 0) -> tuple[Floats, NDArray[Any]]:
        """Return n independent rows, shape (n, d), and their labels, shape (n,)."""
        rng = np.random.default_rng(seed)
        X = self._rows(n, rng)
        return X, self._labels(X, rng)

    def split(self, seed: Seed = 0) -> Split:
        """Return rows to fit on and rows to test on, as many as in the paper (`sizes`)."""
        fitted, tested = self.sizes
        X, y = self.sample(fitted + tested, seed)
        return Split(X[:fitted], y[:fitted], X[fitted:], y[fitted:])

    @abstractmethod
    def predictive(self, X: ArrayLike) -> Any:
        """Return the true distributions of the labels of n rows.

        Returns
        -------
        ndarray of float, shape (n, k), or pair of ndarray of float, shape (n,)
            Of classes their probabilities; of numbers mean and standard deviation, the distribution being normal.
        """

    @abstractmethod
    def entropy(self, X: ArrayLike) -> Floats:
        """Return the true entropies of the labels of n rows, (n, d) -> (n,), in nats."""

    @abstractmethod
    def nll(self, X: ArrayLike, y: ArrayLike) -> Floats:
        """Return the negative log-likelihoods of labels under the truth, (n, d), (n,) -> (n,), in nats."""

    @abstractmethod
    def likelihood_pfi(self) -> Floats:
        """Return the Likelihood-PFI (Eq. 6) of each feature for a model that knows the truth, (d,), in nats."""

    @abstractmethod
    def _rows(self, n: int, rng: np.random.Generator) -> Floats: ...

    @abstractmethod
    def _labels(self, X: Floats, rng: np.random.Generator) -> NDArray[Any]: ...


@dataclass(frozen=True)
class NoisyClasses(Uncertain):
    """Section 3.6, classification: ``P(y = 1) = q + (1 - 2 q) 1[x1 + x2 + x3 + x4 > 2]``.

    Ten features are uniform on (0, 1), and four of them matter, equally. A copy of one of them, in the place of x10,
    leaves the truth as it is, but a model may read either.

    Parameters
    ----------
    copy_of : int or None
        Which feature x10 is a copy of, from 1 to 9 as in the paper, which has 1 (one that matters) and 5 (one that does
        not). None: x10 is independent like all others. Rows and labels of one seed differ in x10 only.
    noise : float
        q, the probability of the less likely class, between 0 and 1/2.

    Notes
    -----
    For a model that knows the truth, moving x1 matters where it takes the sum across 2. With s = x2 + x3 + x4 in (1, 2)
    that happens with probability 2 (2 - s)(s - 1); averaged over the density of s (Irwin-Hall) it is 7/30. The negative
    log-likelihood then rises by ``log((1 - q) / q)`` with probability 1 - q, and falls by as much with q. So the
    Likelihood-PFI of x1 to x4 is ``7/30 (1 - 2 q) log((1 - q) / q)`` = 0.410, with or without a copy; all others' is 0.

    Examples
    --------
    >>> from skedasis.datasets import NoisyClasses
    >>> example = NoisyClasses(copy_of=1)
    >>> X, y, X_test, y_test = example.split(seed=1)
    >>> X.shape, X_test.shape, bool((X[:, 9] == X[:, 0]).all())
    ((3750, 10), (1250, 10), True)
    >>> example.predictive([[0.9] * 10, [0.1] * 10])
    array([[0.1, 0.9],
           [0.9, 0.1]])
    >>> example.likelihood_pfi()[[0, 3, 4, 9]]
    array([0.41014, 0.41014, 0.     , 0.     ])
    """

    copy_of: int | None = None
    noise: float = 0.1

    name: ClassVar[str] = "noisy_classes"
    source: ClassVar[str] = "entropy_importance (Wood et al. 2024), section 3.6, classification"
    features: ClassVar[tuple[str, ...]] = tuple(f"x{j}" for j in range(1, 11))
    sizes: ClassVar[tuple[int, int]] = (3750, 1250)
    relevant: ClassVar[int] = 4

    def __post_init__(self) -> None:
        copied = self.copy_of
        # True is 1 to Python, but no number of a feature to a reader.
        number = isinstance(copied, (int, np.integer)) and not isinstance(copied, bool)
        if copied is not None and not (number and 1 <= copied <= 9):
            expected = "None or the number of a feature from 1 to 9"
            fix = "Use copy_of=1 or copy_of=5 as the paper does"
            raise DataError(explained("NoisyClasses(copy_of)", repr(copied), expected, fix))
        _check("NoisyClasses(noise)", self.noise, 0.5)

    def predictive(self, X: ArrayLike) -> Floats:
        """Return the true probabilities of the classes 0 and 1: (n, 10) -> (n, 2)."""
        one = np.where(self._above(X), 1.0 - self.noise, self.noise)
        return np.column_stack([1.0 - one, one])

    def entropy(self, X: ArrayLike) -> Floats:
        """Return the true entropies: 0.325 nats at q = 0.1, whatever the row."""
        q = self.noise
        return np.full(len(np.asarray(X)), -q * math.log(q) - (1.0 - q) * math.log1p(-q))

    def nll(self, X: ArrayLike, y: ArrayLike) -> Floats:
        """Return the negative log-likelihoods of the labels 0 or 1 under the truth, in nats."""
        right = self._above(X) == (np.asarray(y) == 1)
        return np.where(right, -math.log1p(-self.noise), -math.log(self.noise))

    def likelihood_pfi(self) -> Floats:
        """Return the true Likelihood-PFI, shape (10,): see the notes."""
        q = self.noise
        each = 7.0 / 30.0 * (1.0 - 2.0 * q) * math.log((1.0 - q) / q)
        return np.where(np.arange(len(self.features)) < self.relevant, each, 0.0)

    def _above(self, X: ArrayLike) -> NDArray[np.bool_]:
        return columns(X)[: self.relevant].sum(axis=0) > 2.0

    def _rows(self, n: int, rng: np.random.Generator) -> Floats:
        X = rng.uniform(size=(n, len(self.features)))
        if self.copy_of is not None:
            X[:, -1] = X[:, self.copy_of - 1]
        return X

    def _labels(self, X: Floats, rng: np.random.Generator) -> NDArray[Any]:
        return (rng.random(len(X)) < self.predictive(X)[:, 1]).astype(np.int64)


@dataclass(frozen=True)
class _Waves(Uncertain):
    """A sum of equal sines, of some of the features, and normal noise."""

    noise: float = 0.1
    frequency: float = 1.5

    waved: ClassVar[int] = 0
    """How many of the features, from the first, are in the sum."""

    def __post_init__(self) -> None:
        _check(f"{type(self).__name__}(noise)", self.noise, math.inf)

    def f(self, X: ArrayLike) -> Floats:
        """Return the labels without their noise at the rows of X: (n, d) -> (n,)."""
        return np.sin(self.frequency * columns(X)[: self.waved]).sum(axis=0)

    def predictive(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Return the means of the labels and their standard deviations, both of shape (n,)."""
        mean = self.f(X)
        return mean, np.full(len(mean), float(self.noise))

    def entropy(self, X: ArrayLike) -> Floats:
        """Return the true entropies, log(2 pi e noise^2) / 2 nats whatever the row."""
        return np.full(len(np.asarray(X)), 0.5 * math.log(2.0 * math.pi * math.e * self.noise**2))

    def nll(self, X: ArrayLike, y: ArrayLike) -> Floats:
        """Return the negative log-likelihoods of labels under the truth, in nats."""
        miss = (np.asarray(y, dtype=float) - self.f(X)) / self.noise
        return 0.5 * (miss**2 + math.log(2.0 * math.pi * self.noise**2))

    def likelihood_pfi(self) -> Floats:
        """Return the true Likelihood-PFI, shape (d,): the variance of a feature's term over noise^2.

        The square of the difference of two independent values of a term is twice its variance, on average; and the
        negative log-likelihood has the square over 2 noise^2.
        """
        once, twice = (self._characteristic(k * self.frequency) for k in (1.0, 2.0))
        variance = 0.5 * (1.0 - twice.real) - once.imag**2
        return np.where(np.arange(len(self.features)) < self.waved, variance / self.noise**2, 0.0)

    @abstractmethod
    def _characteristic(self, t: float) -> NDArray[np.complex128]:
        """Return E[exp(i t x)] of each feature, shape (d,)."""

    def _labels(self, X: Floats, rng: np.random.Generator) -> NDArray[Any]:
        return self.f(X) + self.noise * rng.standard_normal(len(X))


@dataclass(frozen=True)
class SharedInformation(_Waves):
    """Section 3.6, regression, in our own terms: ``sin(1.5 x1) + ... + sin(1.5 x5)`` and normal noise.

    All six features have mean 0 and variance 1. x1 and x2 share what they know linearly: normal, with a high
    correlation. x3 and x4 share it in another way: x4 is the square of x3 but for some scatter, and uncorrelated with
    it. x5 is independent of all others, and x6 too, which is not in the sum.

    Parameters
    ----------
    noise : float
        Standard deviation of the label given the row: 0.1, 0.2 and 0.4 are our three levels.
    frequency : float
        What the features are multiplied by before the sine.
    correlation : float
        Of x1 and x2, between -1 and 1.
    scatter : float
        Standard deviation of x4 given x3, between 0 and 1.

    Notes
    -----
    The paper's formulas are not in the text that we have, so this is built after its description: which features share
    information and how, that one does not, 500 rows to fit and 500 to test, and three levels of noise. A
    sine bends enough for a Gaussian process to be unsure away from its rows; of a linear function it would be sure
    everywhere. x6 is ours.

    The term of a normal feature has variance ``(1 - exp(-2 k^2)) / 2`` at frequency k: these matter equally for a model
    that knows the truth. x4 differs a little.

    Examples
    --------
    >>> from skedasis.datasets import SharedInformation
    >>> example = SharedInformation(noise=0.2)
    >>> X, y, X_test, y_test = example.split(seed=1)
    >>> X.shape, X_test.shape
    ((500, 6), (500, 6))
    >>> example.entropy(X_test[:2])
    array([-0.1905, -0.1905])
    >>> example.likelihood_pfi()
    array([12.361, 12.361, 12.361,  9.601, 12.361,  0.   ])
    """

    correlation: float = 0.95
    scatter: float = 0.2

    name: ClassVar[str] = "shared_information"
    source: ClassVar[str] = "after entropy_importance (Wood et al. 2024), section 3.6, regression"
    features: ClassVar[tuple[str, ...]] = ("x1", "x2", "x3", "x4", "x5", "x6")
    sizes: ClassVar[tuple[int, int]] = (500, 500)
    waved: ClassVar[int] = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        _check("SharedInformation(correlation)", self.correlation, 1.0, -1.0)
        _check("SharedInformation(scatter)", self.scatter, 1.0)

    def _rows(self, n: int, rng: np.random.Generator) -> Floats:
        x1, x2, x3, x4, x5, x6 = rng.standard_normal((6, n))
        x2 = self.correlation * x1 + math.sqrt(1.0 - self.correlation**2) * x2
        x4 = self._bend * (x3**2 - 1.0) + self.scatter * x4
        return np.column_stack([x1, x2, x3, x4, x5, x6])

    @property
    def _bend(self) -> float:
        """What x3^2 - 1, of variance 2, is multiplied by in x4."""
        return math.sqrt((1.0 - self.scatter**2) / 2.0)

    def _characteristic(self, t: float) -> NDArray[np.complex128]:
        found = np.full(6, math.exp(-0.5 * t**2), dtype=complex)
        turned = 1j * t * self._bend
        chi_square = np.exp(-turned) / np.sqrt(1.0 - 2.0 * turned)
        found[3] = chi_square * math.exp(-0.5 * (self.scatter * t) ** 2)
        return found


@dataclass(frozen=True)
class SquareBorder(_Waves):
    """Section 4.2: rows on the border of a square, none inside; ``sin(3 x1) + sin(3 x2)`` and normal noise.

    Rows are uniform on the band between the squares [-1, 1]^2 and [-a, a]^2, where a = 1 - band. The features can be
    exchanged, so an importance tells nothing of them; an Entropy-PDP does, and its ICE curves say why.

    Parameters
    ----------
    noise : float
        Standard deviation of the label given the row.
    frequency : float
        What the features are multiplied by before the sine.
    band : float
        Width of the band, between 0 and 1.

    Notes
    -----
    The paper shows its rows in a figure and says that the target is smooth, with noise; widths, sizes and the function
    are ours.

    Examples
    --------
    >>> from skedasis.datasets import SquareBorder
    >>> X, y = SquareBorder(band=0.2).sample(1000, seed=1)
    >>> bool((abs(X).max(axis=1) > 0.8).all()), bool((abs(X) < 1.0).all())
    (True, True)
    """

    frequency: float = 3.0
    band: float = 0.2

    name: ClassVar[str] = "square_border"
    source: ClassVar[str] = "entropy_importance (Wood et al. 2024), section 4.2"
    features: ClassVar[tuple[str, ...]] = ("x1", "x2")
    sizes: ClassVar[tuple[int, int]] = (400, 400)
    waved: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        _check("SquareBorder(band)", self.band, 1.0)

    def _rows(self, n: int, rng: np.random.Generator) -> Floats:
        a = 1.0 - self.band
        # Two strips of length 2 and, between them, two of length 2 a: in this proportion uniform.
        long = rng.random(n) < 1.0 / (1.0 + a)
        across = rng.uniform(a, 1.0, n) * np.where(rng.random(n) < 0.5, -1.0, 1.0)
        along = rng.uniform(-1.0, 1.0, n) * np.where(long, 1.0, a)
        return np.where(long, [across, along], [along, across]).T

    def _characteristic(self, t: float) -> NDArray[np.complex128]:
        # The density of a feature is 1 / (2 (1 - a^2)) where it is beyond a, and 1 - a times that within.
        a = 1.0 - self.band
        cosine = (math.sin(t) - a * math.sin(a * t)) / (t * (1.0 - a**2))
        return np.full(2, cosine, dtype=complex)


def _check(what: str, value: float, below: float, above: float = 0.0) -> None:
    """Refuse a number that does not lie between two others."""
    if not above < value < below:
        expected = f"a number above {above:g} and below {below:g}"
        raise DataError(explained(what, repr(value), expected, "Use the default"))
