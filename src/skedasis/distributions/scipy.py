"""Predictive distributions that are SciPy distributions: frozen ones, and those of SciPy's new infrastructure."""

from __future__ import annotations

from typing import Any

import numpy as np

from skedasis._types import DType, Floats, RawResponse
from skedasis.distributions.base import UncertaintyPart, require_total
from skedasis.distributions.continuous import (
    NumericDistribution,
    as_normal,
    computed_dtype,
    one_per_row,
)
from skedasis.errors import ModelOutputError, UnsupportedError

_FROZEN_METHODS = ("entropy", "cdf", "sf", "ppf", "isf", "mean", "var")
_NEW_METHODS = ("entropy", "cdf", "ccdf", "icdf", "iccdf", "mean", "variance")


def is_distribution(response: RawResponse) -> bool:
    """Return whether an object has the methods of SciPy's univariate distributions."""
    return not isinstance(response, type) and (
        all(hasattr(response, k) for k in _NEW_METHODS)
        or all(hasattr(response, k) for k in _FROZEN_METHODS)
    )


class SciPyDistribution(NumericDistribution):
    """SciPy distributions, one for each of n rows."""

    def __init__(self, distribution: Any, n: int, what: str, raw_dtype: DType) -> None:
        self.distribution, self.n, self.what, self.raw_dtype = distribution, n, what, raw_dtype
        self.new = hasattr(distribution, "icdf")
        self.discrete = is_discrete(distribution)

    @property
    def dtype(self) -> DType:
        return self.raw_dtype

    def __len__(self) -> int:
        return self.n

    def _call(self, frozen_name: str, new_name: str, *arguments: float | Floats) -> Floats:
        values = getattr(self.distribution, new_name if self.new else frozen_name)(*arguments)
        # A copy: SciPy may return one number for all rows, or an array that it keeps.
        return np.array(np.broadcast_to(np.asarray(values, dtype=float), (self.n,)))

    def entropy(self, part: UncertaintyPart = "total") -> Floats:
        require_total(part)
        return self._call("entropy", "entropy")

    def log_density(self, y: Floats) -> Floats:
        log = "logpmf" if self.discrete else "logpdf"
        return self._call(log, log, y)

    def tail_probabilities(self, y: Floats) -> tuple[Floats, Floats]:
        return self._call("cdf", "cdf", y), self._call("sf", "ccdf", y)

    def mean(self) -> Floats:
        return self._call("mean", "mean")

    def variance(self, part: UncertaintyPart = "total") -> Floats:
        require_total(part)
        return self._call("var", "variance")

    def quantile(self, p: float) -> Floats:
        return self._call("ppf", "icdf", p)

    def upper_quantile(self, q: float) -> Floats:
        return self._call("isf", "iccdf", q)


def is_discrete(distribution: object) -> bool:
    """Return whether a distribution is discrete."""
    if hasattr(distribution, "icdf"):
        return any(c.__name__ == "DiscreteDistribution" for c in type(distribution).__mro__)
    return not hasattr(distribution, "logpdf")


def as_distribution(distribution: Any, n: int, what: str) -> NumericDistribution:
    """Return SciPy's distributions for n rows, checked; normal distributions as `Normal`."""
    if not hasattr(distribution, "icdf") and not hasattr(distribution, "dist"):
        raise UnsupportedError(
            what,
            f"the {type(distribution).__name__} itself",
            "a distribution with the parameters of each row",
            "Give it parameters: scipy.stats.norm(mean, std)",
        )
    if _is_normal(distribution):
        std = distribution.std() if hasattr(distribution, "std") else None
        std = distribution.standard_deviation() if std is None else std
        return as_normal(distribution.mean(), std, n, what)
    probe = np.asarray(distribution.cdf(0.0))
    if probe.shape != (n,) and not (n == 1 and probe.shape == ()):
        raise ModelOutputError(
            what,
            f"distributions of shape {probe.shape}",
            f"({n},), one for each row",
            "Pass arrays as parameters, one number for each row of X",
        )
    invalid = int(np.isnan(probe).sum())
    if invalid:
        raise ModelOutputError(
            what,
            f"invalid parameters of the distribution for {invalid:,} of {n:,} rows",
            "parameters inside their ranges",
            "Check the parameters for NaN, and for scales that are not positive",
        )
    return SciPyDistribution(distribution, n, what, _parameter_dtype(distribution, n, what))


def _is_normal(distribution: object) -> bool:
    inner = getattr(distribution, "dist", None)
    if inner is not None:
        return type(inner).__name__ == "norm_gen"
    name, module = type(distribution).__name__, type(distribution).__module__
    return name in ("Normal", "StandardNormal") and module.startswith("scipy.")


def _parameter_dtype(distribution: object, n: int, what: str) -> DType:
    """Return the dtype that the parameters of a distribution were computed in."""
    parameters = [*getattr(distribution, "args", ()), *getattr(distribution, "kwds", {}).values()]
    for parameter in map(np.asarray, parameters):
        if parameter.shape == (n,) and parameter.dtype.kind == "f":
            found = computed_dtype(parameter.dtype, one_per_row(parameter, n, what, "parameter"))
            if found.itemsize < 8:
                return found
    return np.dtype(float)
