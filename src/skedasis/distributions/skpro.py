"""Predictive distributions of skpro's regressors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Floats
from skedasis.distributions.base import Labels, Part, Predicted, Predictor, whole
from skedasis.distributions.continuous import (
    Numbers,
    as_normal,
    counted_entropy,
    mixture_of,
    number_type,
    of_rows,
    quantile_entropy,
)
from skedasis.errors import UnsupportedError, explained

_LEAST = float(np.finfo(float).epsneg)


@dataclass(frozen=True, eq=False)
class Probabilistic(Predictor):
    """A fitted skpro regressor."""

    @property
    def labels(self) -> Labels:
        """Return that it predicts numbers."""
        return Labels("numbers")

    @property
    def stepped(self) -> bool:
        """Return that nothing is known of where its distributions jump."""
        return False

    def distributions(self, X: Any) -> Predicted:
        """Return the distributions that the model predicts."""
        return as_distributions(self.model.predict_proba(X), len(X), self.describe())


def is_skpro(model: Any) -> bool:
    """Return whether a model is a probabilistic regressor of skpro."""
    return hasattr(model, "predict_proba") and any(
        c.__name__ == "BaseProbaRegressor" for c in type(model).__mro__
    )


class SkPro(Numbers):
    """skpro distributions, one for each of n rows.

    Parameters
    ----------
    distribution : object
        Of shape (n, 1).
    n : int
    what : str
        For messages.
    """

    def __init__(self, distribution: Any, n: int, what: str) -> None:
        self.distribution, self.n, self.what = distribution, n, what
        self.discrete = distribution.get_tag("distr:measuretype") == "discrete"

    @property
    def dtype(self) -> Any:
        """Return the type that the model computed in."""
        return number_type(np.dtype(float), self.mean())

    def __len__(self) -> int:
        return self.n

    def _values(self, frame: Any) -> Floats:
        return np.array(np.asarray(frame, dtype=float).reshape(self.n))

    def _total(self) -> tuple[Floats, Floats]:
        alone = [(self, 1.0)]
        if self.discrete:
            return counted_entropy(alone, self.log_density, self.what)
        return quantile_entropy(alone, self.log_density)

    def entropy(self, part: Part = "total") -> Floats:
        """Return the entropies, by quadrature: skpro has none of its own."""
        whole(part)
        return self._total()[0]

    def entropy_error(self) -> Floats:
        """Return how far off the entropies may be, in nats."""
        return self._total()[1]

    def log_density(self, y: Floats) -> Floats:
        """Return the log density, or log probability, at y."""
        ask = self.distribution.log_pmf if self.discrete else self.distribution.log_pdf
        try:
            return self._values(ask(y[:, None]))
        except NotImplementedError as error:
            kind = type(self.distribution).__name__
            raise UnsupportedError(
                explained(
                    self.what,
                    f"distributions of the kind {kind}, which have no density",
                    "densities, or probabilities of whole numbers",
                    "Use sd.predictive_variance or sd.predictive_quantile, or another regressor of skpro",
                )
            ) from error

    def tails(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of at most y and of more than y."""
        below = self._values(self.distribution.cdf(y[:, None]))
        return below, 1.0 - below

    def mean(self) -> Floats:
        """Return the means."""
        return self._values(self.distribution.mean())

    def variance(self, part: Part = "total") -> Floats:
        """Return the variances."""
        whole(part)
        return self._values(self.distribution.var())

    def quantile(self, p: float) -> Floats:
        """Return the quantiles."""
        # Far out some of its quantiles are infinite, and their formulas complain.
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._values(self.distribution.ppf(p))

    def upper(self, q: float) -> Floats:
        """Return the (1 - q)-quantiles, as far as 1 - q can tell: skpro knows no other."""
        return self.quantile(1.0 - max(q, _LEAST))


def as_distributions(found: Any, n: int, what: str) -> Numbers:
    """Return skpro's distributions for n rows; normal ones and mixtures as what they are.

    Raises
    ------
    UnsupportedError
        For several targets at once.
    """
    if found.ndim != 2 or found.shape != (n, 1):
        raise UnsupportedError(
            explained(
                what,
                f"distributions of shape {found.shape}",
                f"({n}, 1): of one target",
                "Fit a regressor for each target",
            )
        )
    kind = type(found).__name__
    if kind == "Normal":
        std = np.broadcast_to(np.asarray(found.sigma, dtype=float).reshape(-1), (n,))
        return as_normal(of_rows(np.asarray(found.mean()), n, what, "mean"), std, n, what)
    if kind == "Mixture":
        each = [d[1] if isinstance(d, tuple) else d for d in found.distributions]
        parts = [as_distributions(part, n, what) for part in each]
        weights = np.ones(len(parts)) if found.weights is None else np.asarray(found.weights)
        shares = (weights / weights.sum()).tolist()
        return mixture_of([(m, w) for m, w in zip(parts, shares, strict=True) if w > 0], what)
    return SkPro(found, n, what)
