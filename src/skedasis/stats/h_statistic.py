"""Friedman & Popescu's H² (2008, Eq. 44 and 45), from values of partial dependence at rows.

The definitions are those of R's package hstats (Mayer 2023): all functions are centred, sums over rows are weighted.
For a pair, with the partial dependence F_jk on both features and F_j, F_k on each,

    H²_jk = Σ w (F_jk − F_j − F_k)² / Σ w F_jk²,

and for one feature, with the quantity f and the partial dependence F_−j on all other features,

    H²_j = Σ w (f − F_j − F_−j)² / Σ w f².

The unnormalized statistic is the root of the mean of the numerator, in units of the quantity. It says how much the
features interact, where H² says which share of their joint effect that is, and is large for pairs with small effects.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from skedasis._types import Floats
from skedasis.stats.moments import WeightKind, power_of_two

LEAST = 1e-10
"""Numerators below this fraction of the variance of the quantity are zero. hstats uses 1e-10, too, but does not divide
by the variance, so that its result depends on the unit of the quantity."""

_ROUNDING = 8.0
"""Numerators are also zero if their root is below this many unit round-offs of the largest value of the quantity."""


class HStatistic(NamedTuple):
    """The interaction strength of a pair, of a feature with all others, or of all features."""

    h2: float
    unnormalized: float
    std_error: float


NOT_COMPUTED = HStatistic(float("nan"), float("nan"), float("nan"))


@dataclass(frozen=True, eq=False)
class HRows:
    """The quantity at the rows, (n,), with which statistics are normalized, and its unit round-off `eps`."""

    values: Floats
    weights: Floats | None = None
    eps: float = 2.0**-52
    kind: WeightKind = "frequency"

    def mean(self, values: Floats) -> float:
        if self.weights is None:
            return float(values.mean())
        return float(self.weights @ values) / float(self.weights.sum())

    def centred(self, values: Floats) -> Floats:
        """Return values minus their weighted mean."""
        return values - self.mean(values)

    @property
    def variance(self) -> float:
        """Return the variance of the quantity; 0 where it is rounding error."""
        found = self.mean(self.centred(self.values) ** 2)
        return found if found > self._rounding else 0.0

    @property
    def _rounding(self) -> float:
        return float(_ROUNDING * self.eps * np.abs(self.values).max(initial=0.0)) ** 2

    @property
    def least(self) -> float:
        """Return the mean square of an interaction up to which it counts as none."""
        return max(LEAST * self.variance, self._rounding)

    def pair(self, interaction: Floats, one: Floats, other: Floats) -> HStatistic:
        """Return the statistic of a pair from F_jk − F_j − F_k, F_j, F_k at the rows, (n,), up to constants."""
        squares = self.centred(interaction) ** 2
        joint = self.mean(self.centred(interaction + one + other) ** 2)
        return self._statistic(squares, joint)

    def overall(self, own: Floats, rest: Floats) -> HStatistic:
        """Return the statistic of a feature with all others from F_j and F_−j at the rows, (n,), up to constants."""
        return self._statistic(self.centred(self.values - own - rest) ** 2, self.variance)

    def total(self, main: Floats) -> HStatistic:
        """Return the share of the variance that no sum of functions of one feature explains: 1 is all of it.

        `main`, (n,), is the sum of F_j over all features, up to a constant.
        """
        return self._statistic(self.centred(self.values - main) ** 2, self.variance)

    def _statistic(self, squares: Floats, denominator: float) -> HStatistic:
        numerator = self.mean(squares)
        if not numerator > self.least:
            return HStatistic(0.0, 0.0, self._error(np.zeros(len(squares))))
        root = float(np.sqrt(numerator))
        h2 = numerator / denominator if denominator > 0.0 else np.inf
        # The delta method: d √m = dm / (2 √m).
        return HStatistic(float(h2), root, self._error(squares) / (2.0 * root))

    def _error(self, squares: Floats) -> float:
        """Return the standard error of the mean of squares."""
        w = np.ones(len(squares)) if self.weights is None else self.weights
        total = float(w.sum())
        size, df = total, total - 1.0
        if self.kind == "sampling":
            ratio = float(w @ w) / total
            size, df = total / ratio, total - ratio
        if df <= 0.0:
            return float("nan")
        unit = power_of_two(squares)
        scaled = squares / unit
        variance = float(w @ (scaled - self.mean(scaled)) ** 2) / df
        return unit * float(np.sqrt(variance / size))
