"""Predictive distributions of skpro's regressors.

Normal distributions and mixtures become `Normal` and mixtures of this package. Others keep skpro's methods, and get
their entropy, which skpro does not have, by quadrature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import DType, Floats, ModelRows
from skedasis.distributions.base import Labels, Predicted, Predictor, UncertaintyPart, require_total
from skedasis.distributions.continuous import (
    NumericDistribution,
    as_normal,
    computed_dtype,
    mixture_of,
    one_per_row,
)
from skedasis.errors import UnsupportedError
from skedasis.models.protocols import SupportsPredictProba

_SMALLEST_TAIL = float(np.finfo(float).epsneg)
"""The smallest q for which 1 - q differs from 1."""


@dataclass(frozen=True, eq=False)
class SkproPredictor(Predictor):
    """A fitted skpro regressor."""

    model: SupportsPredictProba

    @property
    def labels(self) -> Labels:
        return Labels("numbers")

    @property
    def stepped(self) -> bool:
        """Return False: it is not known whether the distributions are piecewise constant."""
        return False

    def distributions(self, X: ModelRows) -> Predicted:
        return as_distributions(self.model.predict_proba(X), len(X), self.describe())


def is_skpro(model: object) -> bool:
    """Return whether a model is a probabilistic regressor of skpro."""
    return hasattr(model, "predict_proba") and any(
        c.__name__ == "BaseProbaRegressor" for c in type(model).__mro__
    )


class SkproDistribution(NumericDistribution):
    """skpro distributions of shape (n, 1), one for each of n rows; `what` is the model, for messages."""

    def __init__(self, distribution: Any, n: int, what: str) -> None:
        self.distribution, self.n, self.what = distribution, n, what
        self.discrete = distribution.get_tag("distr:measuretype") == "discrete"

    @property
    def dtype(self) -> DType:
        return computed_dtype(np.dtype(float), self.mean())

    def __len__(self) -> int:
        return self.n

    def _values(self, frame: Any) -> Floats:
        return np.array(np.asarray(frame, dtype=float).reshape(self.n))

    def entropy(self, part: UncertaintyPart = "total") -> Floats:
        """Return the entropies, computed by quadrature because skpro does not have them."""
        require_total(part)
        return self.entropy_and_error()[0]

    def entropy_error(self) -> Floats:
        return self.entropy_and_error()[1]

    def log_density(self, y: Floats) -> Floats:
        log_density = self.distribution.log_pmf if self.discrete else self.distribution.log_pdf
        try:
            return self._values(log_density(y[:, None]))
        except NotImplementedError as error:
            kind = type(self.distribution).__name__
            raise UnsupportedError(
                self.what,
                f"{kind} distributions, which have no density",
                "distributions with densities, or over integers",
                "Use sd.predictive_variance or sd.predictive_quantile, or another regressor of skpro",
            ) from error

    def tail_probabilities(self, y: Floats) -> tuple[Floats, Floats]:
        below = self._values(self.distribution.cdf(y[:, None]))
        return below, 1.0 - below

    def mean(self) -> Floats:
        return self._values(self.distribution.mean())

    def variance(self, part: UncertaintyPart = "total") -> Floats:
        require_total(part)
        return self._values(self.distribution.var())

    def quantile(self, p: float) -> Floats:
        # Some extreme quantiles are infinite, with warnings about the formulas' divisions.
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._values(self.distribution.ppf(p))

    def upper_quantile(self, q: float) -> Floats:
        """Return the (1 - q)-quantiles with the precision of 1 - q, because skpro has no upper quantiles."""
        return self.quantile(1.0 - max(q, _SMALLEST_TAIL))


def as_distributions(distribution: Any, n: int, what: str) -> NumericDistribution:
    """Return skpro's distributions for n rows; normal distributions and mixtures as those of this package."""
    if distribution.ndim != 2 or distribution.shape != (n, 1):
        raise UnsupportedError(
            what,
            f"distributions of shape {distribution.shape}",
            f"shape ({n}, 1), for one target",
            "Fit a regressor for each target",
        )
    kind = type(distribution).__name__
    if kind == "Normal":
        std = np.broadcast_to(np.asarray(distribution.sigma, dtype=float).reshape(-1), (n,))
        mean = one_per_row(np.asarray(distribution.mean()), n, what, "mean")
        return as_normal(mean, std, n, what)
    if kind == "Mixture":
        each = [d[1] if isinstance(d, tuple) else d for d in distribution.distributions]
        parts = [as_distributions(part, n, what) for part in each]
        weights = distribution.weights
        weights = np.ones(len(parts)) if weights is None else np.asarray(weights)
        fractions = (weights / weights.sum()).tolist()
        return mixture_of([(m, w) for m, w in zip(parts, fractions, strict=True) if w > 0], what)
    return SkproDistribution(distribution, n, what)
