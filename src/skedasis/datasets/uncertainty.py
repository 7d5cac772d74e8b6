"""The synthetic examples of the entropy paper: labelled rows whose true predictive distribution is known."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skedasis._arguments import check_number
from skedasis.datasets.synthetic import FloatArray, Seed, columns
from skedasis.errors import DataError

DrawnLabels: TypeAlias = FloatArray | NDArray[np.int64]
"""Labels of rows: numbers, or the classes 0 and 1."""


class TrainTestSplit(NamedTuple):
    """Training rows and test rows with their labels.

    Parameters
    ----------
    X, X_test : ndarray of float, shapes (n, d) and (m, d)
    y, y_test : ndarray, shapes (n,) and (m,)
    """

    X: FloatArray
    y: DrawnLabels
    X_test: FloatArray
    y_test: DrawnLabels


@dataclass(frozen=True)
class Uncertain(ABC):
    """A distribution of rows and labels with homoscedastic noise, whose predictive distribution is known.

    Explain it with ``sd.entropy(example.predictive)`` or ``sd.nll(example.predictive)``.

    Attributes
    ----------
    name : str
        A short name.
    source : str
        Paper and section.
    features : tuple of str
        The columns' names, numbered from 1 as in the paper.
    sizes : (int, int)
        Number of training rows and of test rows in the paper.
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    features: ClassVar[tuple[str, ...]] = ()
    sizes: ClassVar[tuple[int, int]] = (0, 0)

    def sample(self, n: int, random_state: Seed = 0) -> tuple[FloatArray, DrawnLabels]:
        """Return n independent rows, shape (n, d), and their labels, shape (n,)."""
        rng = np.random.default_rng(random_state)
        X = self._rows(n, rng)
        return X, self._labels(X, rng)

    def split(self, random_state: Seed = 0) -> TrainTestSplit:
        """Return training rows and test rows, as many as in the paper (`sizes`)."""
        n_train, n_test = self.sizes
        X, y = self.sample(n_train + n_test, random_state)
        return TrainTestSplit(X[:n_train], y[:n_train], X[n_train:], y[n_train:])

    @abstractmethod
    def predictive(self, X: ArrayLike) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Return the true distributions of the labels of n rows.

        Returns
        -------
        ndarray of float, shape (n, k), or pair of ndarray of float, shape (n,)
            Probabilities of the classes, or mean and standard deviation of normal distributions.
        """

    @abstractmethod
    def entropy(self, X: ArrayLike) -> FloatArray:
        """Return the true entropies of the labels of n rows, (n, d) -> (n,), in nats."""

    @abstractmethod
    def nll(self, X: ArrayLike, y: ArrayLike) -> FloatArray:
        """Return the true negative log-likelihoods of labels, (n, d), (n,) -> (n,), in nats."""

    @abstractmethod
    def likelihood_pfi(self) -> FloatArray:
        """Return the Likelihood-PFI (Eq. 6) of each feature for the true predictive distribution, (d,), in nats."""

    @abstractmethod
    def _rows(self, n: int, rng: np.random.Generator) -> FloatArray: ...

    @abstractmethod
    def _labels(self, X: FloatArray, rng: np.random.Generator) -> DrawnLabels: ...


@dataclass(frozen=True)
class NoisyClasses(Uncertain):
    """Section 3.6, classification: ``P(y = 1) = q + (1 - 2 q) 1[x1 + x2 + x3 + x4 > 2]``.

    Ten features are uniform on (0, 1); the first four have equal influence, and the others have none. x10 can be a copy
    of another feature. This does not change the true distribution, but a model may use either of the two.

    Parameters
    ----------
    copy_of : int or None
        The feature that x10 is a copy of, numbered from 1 to 9. The paper uses 1 (relevant) and 5 (irrelevant). None:
        x10 is independent, like all others. For one seed, rows and labels differ in x10 only.
    noise : float
        q, the probability of the less likely class, between 0 and 1/2.

    Notes
    -----
    For the true distribution, replacing x1 changes the loss if the sum crosses 2. With s = x2 + x3 + x4 in (1, 2) the
    probability is 2 (2 - s)(s - 1); averaged over the density of s (Irwin-Hall) it is 7/30. The negative log-likelihood
    then increases by ``log((1 - q) / q)`` with probability 1 - q, and decreases by as much with probability q. So the
    Likelihood-PFI of x1 to x4 is ``7/30 (1 - 2 q) log((1 - q) / q)`` = 0.410, with or without a copy, and that of the
    other features is 0.

    Examples
    --------
    >>> from skedasis.datasets import NoisyClasses
    >>> example = NoisyClasses(copy_of=1)
    >>> X, y, X_test, y_test = example.split(random_state=1)
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
        # True equals 1 in Python, but is not the number of a feature.
        is_number = isinstance(copied, (int, np.integer)) and not isinstance(copied, bool)
        if copied is not None and not (is_number and 1 <= copied <= 9):
            expected = "None or the number of a feature from 1 to 9"
            fix = "Use copy_of=1 or copy_of=5, as in the paper"
            raise DataError("NoisyClasses(copy_of)", repr(copied), expected, fix)
        _check_between("NoisyClasses(noise)", self.noise, 0.5)

    def predictive(self, X: ArrayLike) -> FloatArray:
        """Return the true probabilities of the classes 0 and 1: (n, 10) -> (n, 2)."""
        one = np.where(self._above(X), 1.0 - self.noise, self.noise)
        return np.column_stack([1.0 - one, one])

    def entropy(self, X: ArrayLike) -> FloatArray:
        """Return the true entropies: 0.325 nats at q = 0.1 for all rows."""
        q = self.noise
        return np.full(len(np.asarray(X)), -q * math.log(q) - (1.0 - q) * math.log1p(-q))

    def nll(self, X: ArrayLike, y: ArrayLike) -> FloatArray:
        """Return the true negative log-likelihoods of the labels 0 or 1, in nats."""
        is_likely = self._above(X) == (np.asarray(y) == 1)
        return np.where(is_likely, -math.log1p(-self.noise), -math.log(self.noise))

    def likelihood_pfi(self) -> FloatArray:
        """Return the true Likelihood-PFI, shape (10,): see the notes."""
        q = self.noise
        each = 7.0 / 30.0 * (1.0 - 2.0 * q) * math.log((1.0 - q) / q)
        return np.where(np.arange(len(self.features)) < self.relevant, each, 0.0)

    def _above(self, X: ArrayLike) -> NDArray[np.bool_]:
        return columns(X)[: self.relevant].sum(axis=0) > 2.0

    def _rows(self, n: int, rng: np.random.Generator) -> FloatArray:
        X = rng.uniform(size=(n, len(self.features)))
        if self.copy_of is not None:
            X[:, -1] = X[:, self.copy_of - 1]
        return X

    def _labels(self, X: FloatArray, rng: np.random.Generator) -> DrawnLabels:
        return (rng.random(len(X)) < self.predictive(X)[:, 1]).astype(np.int64)


@dataclass(frozen=True)
class _SumOfSines(Uncertain):
    """The sum of ``sin(frequency x)`` over some of the features, plus normal noise."""

    noise: float = 0.1
    frequency: float = 1.5

    n_terms: ClassVar[int] = 0
    """Number of features in the sum: the first ones."""

    def __post_init__(self) -> None:
        _check_between(f"{type(self).__name__}(noise)", self.noise, math.inf)

    def f(self, X: ArrayLike) -> FloatArray:
        """Return the labels without noise at the rows of X: (n, d) -> (n,)."""
        return np.sin(self.frequency * columns(X)[: self.n_terms]).sum(axis=0)

    def predictive(self, X: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the means of the labels and their standard deviations, both of shape (n,)."""
        mean = self.f(X)
        return mean, np.full(len(mean), float(self.noise))

    def entropy(self, X: ArrayLike) -> FloatArray:
        """Return the true entropies, log(2 pi e noise^2) / 2 nats for all rows."""
        return np.full(len(np.asarray(X)), 0.5 * math.log(2.0 * math.pi * math.e * self.noise**2))

    def nll(self, X: ArrayLike, y: ArrayLike) -> FloatArray:
        """Return the true negative log-likelihoods of labels, in nats."""
        residual = (np.asarray(y, dtype=float) - self.f(X)) / self.noise
        return 0.5 * (residual**2 + math.log(2.0 * math.pi * self.noise**2))

    def likelihood_pfi(self) -> FloatArray:
        """Return the true Likelihood-PFI, shape (d,): the variance of a feature's term over noise^2.

        The mean squared difference of two independent values of a term is twice its variance, and the negative
        log-likelihood contains the squared difference over 2 noise^2.
        """
        once, twice = (self._characteristic(k * self.frequency) for k in (1.0, 2.0))
        variance = 0.5 * (1.0 - twice.real) - once.imag**2
        return np.where(np.arange(len(self.features)) < self.n_terms, variance / self.noise**2, 0.0)

    @abstractmethod
    def _characteristic(self, t: float) -> NDArray[np.complex128]:
        """Return E[exp(i t x)] of each feature, shape (d,)."""

    def _labels(self, X: FloatArray, rng: np.random.Generator) -> DrawnLabels:
        return self.f(X) + self.noise * rng.standard_normal(len(X))


@dataclass(frozen=True)
class SharedInformation(_SumOfSines):
    """After section 3.6, regression: ``sin(1.5 x1) + ... + sin(1.5 x5)`` plus normal noise, with dependent features.

    All six features have mean 0 and variance 1. x1 and x2 are normal with a high correlation. x3 and x4 are
    uncorrelated but dependent: x4 is the centred and scaled square of x3 plus noise. x5 is independent of all others.
    So is x6, which is not in the sum.

    Parameters
    ----------
    noise : float
        Standard deviation of the label given the row. `UNCERTAIN` has the three levels 0.1, 0.2 and 0.4.
    frequency : float
        Factor of the features in the sine.
    correlation : float
        Correlation of x1 and x2, between -1 and 1.
    scatter : float
        Standard deviation of x4 given x3, between 0 and 1.

    Notes
    -----
    The available text of the paper does not contain the formulas, so the example follows its description: which
    features share information and how, that one does not, 500 rows to fit and 500 to test, and three levels of noise.
    The sine is non-linear enough for a Gaussian process to be uncertain away from its rows; for a linear function it
    would be certain everywhere. x6 is an addition.

    The term of a normal feature has variance ``(1 - exp(-2 k^2)) / 2`` at frequency k, so these features have equal
    Likelihood-PFI for the true distribution. That of x4 differs slightly.

    Examples
    --------
    >>> from skedasis.datasets import SharedInformation
    >>> example = SharedInformation(noise=0.2)
    >>> X, y, X_test, y_test = example.split(random_state=1)
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
    n_terms: ClassVar[int] = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_between("SharedInformation(correlation)", self.correlation, 1.0, -1.0)
        _check_between("SharedInformation(scatter)", self.scatter, 1.0)

    def _rows(self, n: int, rng: np.random.Generator) -> FloatArray:
        x1, x2, x3, x4, x5, x6 = rng.standard_normal((6, n))
        x2 = self.correlation * x1 + math.sqrt(1.0 - self.correlation**2) * x2
        x4 = self._square_coef * (x3**2 - 1.0) + self.scatter * x4
        return np.column_stack([x1, x2, x3, x4, x5, x6])

    @property
    def _square_coef(self) -> float:
        """Return the coefficient of x3^2 - 1, which has variance 2, in x4."""
        return math.sqrt((1.0 - self.scatter**2) / 2.0)

    def _characteristic(self, t: float) -> NDArray[np.complex128]:
        values = np.full(6, math.exp(-0.5 * t**2), dtype=complex)
        it = 1j * t * self._square_coef
        centred_chi_square = np.exp(-it) / np.sqrt(1.0 - 2.0 * it)
        values[3] = centred_chi_square * math.exp(-0.5 * (self.scatter * t) ** 2)
        return values


@dataclass(frozen=True)
class SquareBorder(_SumOfSines):
    """Section 4.2: rows on the border of a square and none inside; ``sin(3 x1) + sin(3 x2)`` plus normal noise.

    Rows are uniform on the band between the squares [-1, 1]^2 and [-a, a]^2, where a = 1 - band. The features are
    exchangeable, so their importances are equal. An Entropy-PDP shows where the model is uncertain, and its ICE curves
    show why.

    Parameters
    ----------
    noise : float
        Standard deviation of the label given the row.
    frequency : float
        Factor of the features in the sine.
    band : float
        Width of the band, between 0 and 1.

    Notes
    -----
    The paper shows its rows in a figure and describes the target as smooth with noise. Widths, sizes and the function
    are choices of this library.

    Examples
    --------
    >>> from skedasis.datasets import SquareBorder
    >>> X, y = SquareBorder(band=0.2).sample(1000, random_state=1)
    >>> bool((abs(X).max(axis=1) > 0.8).all()), bool((abs(X) < 1.0).all())
    (True, True)
    """

    frequency: float = 3.0
    band: float = 0.2

    name: ClassVar[str] = "square_border"
    source: ClassVar[str] = "entropy_importance (Wood et al. 2024), section 4.2"
    features: ClassVar[tuple[str, ...]] = ("x1", "x2")
    sizes: ClassVar[tuple[int, int]] = (400, 400)
    n_terms: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_between("SquareBorder(band)", self.band, 1.0)

    def _rows(self, n: int, rng: np.random.Generator) -> FloatArray:
        a = 1.0 - self.band
        # Two strips of length 2 and, between them, two of length 2 a, in proportion to their areas.
        long = rng.random(n) < 1.0 / (1.0 + a)
        across = rng.uniform(a, 1.0, n) * np.where(rng.random(n) < 0.5, -1.0, 1.0)
        along = rng.uniform(-1.0, 1.0, n) * np.where(long, 1.0, a)
        return np.where(long, [across, along], [along, across]).T

    def _characteristic(self, t: float) -> NDArray[np.complex128]:
        # The density of a feature is 1 / (2 (1 - a^2)) outside [-a, a], and 1 - a times that inside.
        a = 1.0 - self.band
        cosine = (math.sin(t) - a * math.sin(a * t)) / (t * (1.0 - a**2))
        return np.full(2, cosine, dtype=complex)


def _check_between(what: str, value: float, below: float, above: float = 0.0) -> None:
    """Raise if a number is not between two limits."""
    expected = f"a number above {above:g} and below {below:g}"
    check_number(what, value, expected, "Use the default", above=above, below=below)
