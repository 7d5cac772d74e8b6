"""Mixtures of normal distributions."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.quantity.predicted import Part
from skedasis.quantity.predictive.integrate import mixture_entropy
from skedasis.quantity.predictive.numbers import (
    HALF_LOG_2PI,
    NOISE,
    Normal,
    Numbers,
    need_spread,
    number_type,
)
from skedasis.quantity.predictive.roots import crossing, excess_of


class NormalMixture(Numbers):
    """Mixtures of S normal distributions, for n rows.

    Parameters
    ----------
    location, scale : ndarray of float, shape (S, n)
        Means and standard deviations, checked; standard deviations of 0 have no density.
    weights : ndarray of float, shape (S,)
        Positive, of sum 1.
    given : numpy dtype
    what, fix : str
        For messages.
    """

    def __init__(
        self,
        location: Floats,
        scale: Floats,
        weights: Floats,
        given: Any,
        what: str,
        fix: str = NOISE,
    ) -> None:
        self.location, self.scale, self.weights = location, scale, weights
        self.given, self.what, self.fix = given, what, fix

    @property
    def dtype(self) -> Any:
        """Return the type that the model computed in."""
        return number_type(self.given, self.location)

    def __len__(self) -> int:
        return self.location.shape[1]

    @property
    def members(self) -> list[tuple[Numbers, float]]:
        """Return the components and their weights."""
        parts = zip(self.location, self.scale, self.weights.tolist(), strict=True)
        return [(Normal(m, s, self.given, self.what, self.fix), w) for m, s, w in parts]

    @property
    def _spread(self) -> Floats:
        need_spread(self.scale, self.what, self.fix)
        return self.scale

    @cached_property
    def _total(self) -> Floats:
        return mixture_entropy(self.location, self._spread, self.weights)

    def entropy(self, part: Part = "total") -> Floats:
        """Return the entropies of the mixtures, the means of their components', or the differences."""
        if part == "total":
            return self._total.copy()
        within = self.weights @ np.log(self._spread) + (HALF_LOG_2PI + 0.5)
        # Jensen: never negative, but by rounding.
        return within if part == "aleatoric" else np.maximum(self._total - within, 0.0)

    def entropy_error(self) -> Floats:
        """Return how far off the total entropies may be, in nats."""
        return np.full(len(self), 1e-10)

    def log_density(self, y: Floats) -> Floats:
        """Return the log density at y, exact however far out."""
        logs = (y - self.location) / self._spread
        logs *= logs
        logs *= -0.5
        logs -= np.log(self.scale)
        logs += np.log(self.weights)[:, None]
        top = logs.max(axis=0)
        logs -= top
        return top + np.log(np.exp(logs, out=logs).sum(axis=0)) - HALF_LOG_2PI

    def tails(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of at most y and of more than y."""
        from scipy.special import ndtr

        z = (y - self.location) / self._spread
        return self.weights @ ndtr(z), self.weights @ ndtr(-z)

    def mean(self) -> Floats:
        """Return the means."""
        return self.weights @ self.location

    def variance(self, part: Part = "total") -> Floats:
        """Return the variances, by the law of total variance."""
        within = self.weights @ self.scale**2
        between = self.weights @ (self.location - self.mean()) ** 2
        return {"total": within + between, "aleatoric": within, "epistemic": between}[part]

    def quantile(self, p: float) -> Floats:
        """Return the quantiles, exact to rounding."""
        return self._quantile(p, upper=False)

    def upper(self, q: float) -> Floats:
        """Return the (1 - q)-quantiles."""
        return self._quantile(q, upper=True)

    def _quantile(self, level: float, upper: bool) -> Floats:
        from scipy.special import ndtr, ndtri

        scale, w = self._spread, self.weights
        z = float(ndtri(level)) * (-1.0 if upper else 1.0)
        each = self.location + scale * z

        def score(x: Floats, rows: Ints) -> Floats:
            return (x - self.location[:, rows]) / scale[:, rows]

        def excess(x: Floats, rows: Ints) -> Floats:
            at = score(x, rows)
            right: Bools = at > 0
            return excess_of(ndtr(-np.abs(at)), right, w, level, upper)

        def density(x: Floats, rows: Ints) -> Floats:
            at = score(x, rows)
            return w @ (np.exp(-0.5 * at * at - HALF_LOG_2PI) / scale[:, rows])

        return crossing(each.min(axis=0), each.max(axis=0), scale.min(axis=0), excess, density)
