"""Unit deviances: how much less likely a label is under its prediction than under itself.

A deviance belongs to a family of distributions, and is 0 where a prediction equals its label. Losses are deviances,
deviance residuals their signed roots.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from skedasis._arguments import is_number, shown
from skedasis._types import Bools, Floats
from skedasis.errors import DataError, ModelOutputError

Bound: TypeAlias = tuple[str, str]
"""The numbers that a family has labels for, or predictions, in words; and what to do about others."""


class Family(ABC):
    """A family of distributions: which labels and predictions it has, and its unit deviance."""

    @abstractmethod
    def has_labels(self, y: Floats) -> Bools:
        """Return which labels the family has, (n,)."""

    @abstractmethod
    def has_means(self, f: Floats) -> Bools:
        """Return which predictions the family has, (n,)."""

    @property
    @abstractmethod
    def labels(self) -> Bound:
        """Return the labels that the family has."""

    @property
    @abstractmethod
    def means(self) -> Bound:
        """Return the predictions that the family has."""

    @abstractmethod
    def deviance(self, y: Floats, f: Floats) -> Floats:
        """Return the unit deviance of labels and predictions that the family has, (n,)."""

    def check_labels(self, y: Floats, what: str) -> Floats:
        """Return the labels; raise `DataError` unless the family has them."""
        self._check(f"{what}: y", "labels", y, self.has_labels(y), self.labels, DataError)
        return y

    def check_means(self, f: Floats, what: str) -> Floats:
        """Return the predictions; raise `ModelOutputError` unless the family has them. NaN is left to the evaluator."""
        there = self.has_means(f) | np.isnan(f)
        self._check(what, "predictions", f, there, self.means, ModelOutputError)
        return f

    @staticmethod
    def _check(
        what: str,
        name: str,
        values: Floats,
        there: Bools,
        bound: Bound,
        error: type[DataError | ModelOutputError],
    ) -> None:
        bad = values[~there]
        if not len(bad):
            return
        got = f"{name} such as {bad[0]:.4g}, for {len(bad):,} of {len(values):,} rows"
        raise error(what, got, *bound)


@dataclass(frozen=True)
class Tweedie(Family):
    """Distributions whose variance is a power of their mean: 0 normal, 1 Poisson, 2 gamma, 3 inverse Gaussian."""

    power: float

    def has_labels(self, y: Floats) -> Bools:
        if self.power <= 0.0:
            return np.ones(len(y), dtype=bool)
        return y >= 0.0 if self.power < 2.0 else y > 0.0

    def has_means(self, f: Floats) -> Bools:
        return np.ones(len(f), dtype=bool) if self.power == 0.0 else f > 0.0

    @property
    def labels(self) -> Bound:
        if self.power < 2.0:
            return "labels that are not negative", "Pass counts, rates or amounts"
        fix = "Leave the rows without an amount out, or use a Tweedie deviance with a power below 2"
        return "labels above 0", fix

    @property
    def means(self) -> Bound:
        return "predictions above 0", "Use a model of the mean with a log link, or another loss"

    def deviance(self, y: Floats, f: Floats) -> Floats:
        p = self.power
        if p == 0.0:
            return (y - f) ** 2
        if p == 1.0:
            with np.errstate(divide="ignore", invalid="ignore"):
                return 2.0 * np.where(y > 0.0, y * _excess(f, y), f)
        if p == 2.0:
            return 2.0 * _excess(y, f)
        # Of a power below 0 only positive labels have a term of their own.
        own = np.maximum(y, 0.0) ** (2.0 - p) / ((1.0 - p) * (2.0 - p))
        found = own - y * f ** (1.0 - p) / (1.0 - p) + f ** (2.0 - p) / (2.0 - p)
        return 2.0 * np.maximum(found, 0.0)  # rounding may go below 0

    def slope(self, y: Floats, f: Floats) -> Floats:
        """Return the derivative of the deviance by the prediction, (n,)."""
        return 2.0 * (f - y) / f**self.power


@dataclass(frozen=True)
class Bernoulli(Family):
    """Distributions over 0 and 1, and of proportions."""

    floor: float = float(np.finfo(float).eps)
    """What probabilities of 0, and of 1 as that of the other class, are raised to."""

    def has_labels(self, y: Floats) -> Bools:
        return (y >= 0.0) & (y <= 1.0)

    def has_means(self, f: Floats) -> Bools:
        return (f >= 0.0) & (f <= 1.0)

    @property
    def labels(self) -> Bound:
        return (
            "0, 1 or a proportion",
            "Pass the probability of a class: sd.probability(model, class_=...)",
        )

    @property
    def means(self) -> Bound:
        return "probabilities, between 0 and 1", "Pass sd.probability(model)"

    def deviance(self, y: Floats, f: Floats) -> Floats:
        from scipy.special import xlog1py, xlogy  # imported where it is needed

        p = np.clip(f, self.floor, 1.0 - self.floor)
        own = xlogy(y, y) + xlog1py(1.0 - y, -y)
        return 2.0 * np.maximum(own - xlogy(y, p) - xlog1py(1.0 - y, -p), 0.0)


def _excess(a: Floats, b: Floats) -> Floats:
    """Return d - log(1 + d) of d = a / b - 1, with its digits where a is close to b, and where it is tiny beside b."""
    d = (a - b) / b
    near = np.abs(d) < 0.5
    return d - np.where(near, np.log1p(np.where(near, d, 0.0)), np.log(a) - np.log(b))


USUAL_POWER = 1.5


def check_power(function: str, power: object, applies: bool, kind: str) -> float:
    """Return the power of a Tweedie distribution; raise `DataError` if there is none, or if it does not apply."""
    what = f"{function}(power)"
    if not is_number(power) or not np.isfinite(float(power)) or 0.0 < float(power) < 1.0:
        expected = "a number that is not between 0 and 1"
        raise DataError(what, shown(power), expected, "Use 1.5 for amounts of which some are 0")
    if power != USUAL_POWER and not applies:
        fix = f"Use {kind}, or leave power out"
        raise DataError(what, shown(power), f"power with {kind} only", fix)
    return float(power)
