"""Predictive distributions that are SciPy distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from skedasis._types import Floats
from skedasis.distributions.base import Part, whole
from skedasis.distributions.continuous import Numbers, as_normal, number_type, of_rows
from skedasis.errors import ModelOutputError, UnsupportedError, explained

_OLD = ("entropy", "cdf", "sf", "ppf", "isf", "mean", "var")


_NEW = ("entropy", "cdf", "ccdf", "icdf", "iccdf", "mean", "variance")


def is_distribution(answer: Any) -> bool:
    """Return whether an answer speaks as SciPy's distributions of one variable do."""
    return not isinstance(answer, type) and (
        all(hasattr(answer, k) for k in _NEW) or all(hasattr(answer, k) for k in _OLD)
    )


class SciPy(Numbers):
    """SciPy distributions, one for each of n rows.

    Parameters
    ----------
    distribution : object
        Frozen, or of the new infrastructure.
    n : int
    what : str
        For messages.
    given : numpy dtype
        Of its parameters.
    """

    def __init__(self, distribution: Any, n: int, what: str, given: Any) -> None:
        self.distribution, self.n, self.what, self.given = distribution, n, what, given
        self.new = hasattr(distribution, "icdf")
        self.discrete = is_discrete(distribution)

    @property
    def dtype(self) -> Any:
        """Return the type that the parameters were computed in."""
        return self.given

    def __len__(self) -> int:
        return self.n

    def _ask(self, old: str, new: str, *values: Any) -> Floats:
        found = getattr(self.distribution, new if self.new else old)(*values)
        # A number of its own: SciPy may answer with one for all rows, or with what it holds.
        return np.array(np.broadcast_to(np.asarray(found, dtype=float), (self.n,)))

    def entropy(self, part: Part = "total") -> Floats:
        """Return the entropies."""
        whole(part)
        return self._ask("entropy", "entropy")

    def log_density(self, y: Floats) -> Floats:
        """Return the log density, or log probability, at y."""
        log = "logpmf" if self.discrete else "logpdf"
        return self._ask(log, log, y)

    def tails(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of at most y and of more than y."""
        return self._ask("cdf", "cdf", y), self._ask("sf", "ccdf", y)

    def mean(self) -> Floats:
        """Return the means."""
        return self._ask("mean", "mean")

    def variance(self, part: Part = "total") -> Floats:
        """Return the variances."""
        whole(part)
        return self._ask("var", "variance")

    def quantile(self, p: float) -> Floats:
        """Return the quantiles."""
        return self._ask("ppf", "icdf", p)

    def upper(self, q: float) -> Floats:
        """Return the (1 - q)-quantiles."""
        return self._ask("isf", "iccdf", q)


def is_discrete(distribution: Any) -> bool:
    """Return whether probability sits on single numbers."""
    if hasattr(distribution, "icdf"):
        return any(c.__name__ == "DiscreteDistribution" for c in type(distribution).__mro__)
    return not hasattr(distribution, "logpdf")


def as_distribution(distribution: Any, n: int, what: str) -> Numbers:
    """Return SciPy's distributions for n rows, checked; normal ones as what they are.

    Raises
    ------
    ModelOutputError
        For another number of rows, and parameters that make no distribution.
    UnsupportedError
        For a distribution without parameters.
    """
    if not hasattr(distribution, "icdf") and not hasattr(distribution, "dist"):
        raise UnsupportedError(
            explained(
                what,
                f"the {type(distribution).__name__} itself",
                "its distributions for the rows",
                "Give it parameters: scipy.stats.norm(mean, std)",
            )
        )
    if _is_normal(distribution):
        std = distribution.std() if hasattr(distribution, "std") else None
        std = distribution.standard_deviation() if std is None else std
        return as_normal(distribution.mean(), std, n, what)
    probe = np.asarray(distribution.cdf(0.0))
    if probe.shape != (n,) and not (n == 1 and probe.shape == ()):
        raise ModelOutputError(
            explained(
                what,
                f"distributions of shape {probe.shape}",
                f"({n},), one for each row",
                "Pass arrays as parameters, one number for each row of X",
            )
        )
    strange = int(np.isnan(probe).sum())
    if strange:
        raise ModelOutputError(
            explained(
                what,
                f"parameters that make no distribution for {strange:,} of {n:,} rows",
                "parameters in their ranges",
                "Check for NaN, and for scales that are not positive",
            )
        )
    return SciPy(distribution, n, what, _type_of(distribution, n, what))


def _is_normal(distribution: Any) -> bool:
    inner = getattr(distribution, "dist", None)
    if inner is not None:
        return type(inner).__name__ == "norm_gen"
    name, module = type(distribution).__name__, type(distribution).__module__
    return name in ("Normal", "StandardNormal") and module.startswith("scipy.")


def _type_of(distribution: Any, n: int, what: str) -> Any:
    """Return the type that the parameters of a distribution were computed in."""
    parameters = [*getattr(distribution, "args", ()), *getattr(distribution, "kwds", {}).values()]
    for parameter in map(np.asarray, parameters):
        if parameter.shape == (n,) and parameter.dtype.kind == "f":
            found = number_type(parameter.dtype, of_rows(parameter, n, what, "parameter"))
            if found.itemsize < 8:
                return found
    return np.dtype(float)
