"""Mixtures of any distributions of numbers."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.errors import ModelOutputError, explained
from skedasis.quantity.predicted import Part
from skedasis.quantity.predictive.mixture import NormalMixture
from skedasis.quantity.predictive.numbers import Normal, Numbers
from skedasis.quantity.predictive.quadrature import Members, counted_entropy, quantile_entropy
from skedasis.quantity.predictive.roots import crossing, excess_of, whole_crossing


class Mixed(Numbers):
    """A mixture of distributions of numbers, all continuous or all discrete.

    Parameters
    ----------
    members : sequence of (Numbers, float)
        Components, none of them a mixture itself, and their weights, of sum 1.
    what : str
        For messages.
    """

    def __init__(self, members: Members, what: str) -> None:
        self.members, self.what = members, what
        self.parts = [m for m, _ in members]
        self.weights = np.array([w for _, w in members])
        self.discrete = self.parts[0].discrete

    @property
    def dtype(self) -> Any:
        """Return the coarsest of the types that the components were computed in."""
        return min((m.dtype for m in self.parts), key=lambda t: t.itemsize)

    def __len__(self) -> int:
        return len(self.parts[0])

    @cached_property
    def _total(self) -> tuple[Floats, Floats]:
        if self.discrete:
            return counted_entropy(self.members, self.log_density, self.what)
        return quantile_entropy(self.members, self.log_density)

    def entropy(self, part: Part = "total") -> Floats:
        """Return the entropies of the mixtures, the means of their components', or the differences."""
        if part == "total":
            return self._total[0].copy()
        within = self._mean([m.entropy() for m in self.parts])
        return within if part == "aleatoric" else np.maximum(self._total[0] - within, 0.0)

    def entropy_error(self) -> Floats:
        """Return how far off the total entropies may be, in nats, as the quadrature's last refinement tells."""
        return self._total[1].copy()

    def _mean(self, values: list[Floats]) -> Floats:
        return self.weights @ np.array(values)

    def log_density(self, y: Floats) -> Floats:
        """Return the log density, or log probability, at y."""
        logs = np.array([m.log_density(y) for m in self.parts])
        logs += np.log(self.weights)[:, None]
        top = logs.max(axis=0)
        # Where no component has any density, or one an infinite one, the sum is that.
        safe = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            return safe + np.log(np.exp(logs - safe).sum(axis=0))

    def tails(self, y: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities of at most y and of more than y."""
        each = [m.tails(y) for m in self.parts]
        return self._mean([t[0] for t in each]), self._mean([t[1] for t in each])

    def mean(self) -> Floats:
        """Return the means."""
        return self._mean([m.mean() for m in self.parts])

    def variance(self, part: Part = "total") -> Floats:
        """Return the variances, by the law of total variance."""
        within = self._mean([m.variance() for m in self.parts])
        middle = self.mean()
        between = self._mean([(m.mean() - middle) ** 2 for m in self.parts])
        return {"total": within + between, "aleatoric": within, "epistemic": between}[part]

    def quantile(self, p: float) -> Floats:
        """Return the quantiles."""
        return self._quantile(p, [m.quantile(p) for m in self.parts], upper=False)

    def upper(self, q: float) -> Floats:
        """Return the (1 - q)-quantiles."""
        return self._quantile(q, [m.upper(q) for m in self.parts], upper=True)

    def _quantile(self, level: float, each: list[Floats], upper: bool) -> Floats:
        low, high = np.min(each, axis=0), np.max(each, axis=0)

        def over(y: Floats) -> Floats:
            below, above = np.moveaxis(np.array([m.tails(y) for m in self.parts]), 1, 0)
            return excess_of(np.minimum(below, above), below > 0.5, self.weights, level, upper)

        if self.discrete:
            return whole_crossing(low, high, over)
        full = low.copy()

        def at(x: Floats, rows: Ints) -> Floats:
            full[rows] = x
            return full

        unit = np.full(len(low), np.finfo(float).tiny)
        return crossing(
            low,
            high,
            np.maximum(unit, np.finfo(float).eps * (high - low)),
            lambda x, rows: over(at(x, rows))[rows],
            lambda x, rows: np.exp(self.log_density(at(x, rows))[rows]),
        )


def mixture_of(members: list[tuple[Numbers, float]], what: str) -> Numbers:
    """Return the mixture of distributions of numbers.

    Parameters
    ----------
    members : list of (Numbers, float)
        Positive weights of sum 1. A member that is a mixture itself stands for its components.
    what : str
        For messages.

    Raises
    ------
    ModelOutputError
        Where continuous and discrete distributions stand side by side.
    """
    flat = [
        (leaf, weight * share)
        for member, weight in members
        for leaf, share in getattr(member, "members", [(member, 1.0)])
    ]
    normal = [m for m, _ in flat if isinstance(m, Normal)]
    if len(normal) == len(flat):
        given = min((m.given for m in normal), key=lambda t: t.itemsize)
        location, scale = (np.array([getattr(m, k) for m in normal]) for k in ("location", "scale"))
        weights = np.array([w for _, w in flat])
        return NormalMixture(location, scale, weights, given, what, normal[0].fix)
    if len({m.discrete for m, _ in flat}) > 1:
        raise ModelOutputError(
            explained(
                what,
                "members with continuous and members with discrete distributions",
                "one kind",
                "Mix only models of the same kind",
            )
        )
    return Mixed(flat, what)
