"""Where a feature's Likelihood-PFI and Entropy-PFI lie: about zero, above or below, and how sure that is.

| place | when |
|---|---|
| zero | every repeat is 0, up to rounding (1e-12 nats for each nat that is averaged) |
| level | its interval holds 0 |
| small | its interval does not, but the mean is below 5 % of the largest of that measure and below 0.01 nats, or \
below 1e-4 nats; of an entropy below 20 % and 0.1 nats, if forests find no link between the feature and others |
| up, down | otherwise |

With many rows everything is told from 0: so there is `small`. It is measured in nats too, for a share alone would let
one strong feature decide what is said of all others. (The paper reads the age of concrete as small, sec. 5.1: a small
Entropy-PFI, and a feature that the others do not predict.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from skedasis._types import Bools, Floats
from skedasis.analysis.dependence import Dependence
from skedasis.results.diagnosis import written
from skedasis.results.importance import Importance

RELEVANT, LITTLE = 0.05, 0.01
"""Means below this share of the measure's largest, and below so many nats, are small."""
UNLINKED, MUCH = 0.2, 0.1
"""The same for entropies where forests find no link to others. A tenth of a nat is never small, and no interval that
reaches so far from 0 says that there is nothing: it is a likelihood ratio of 1.1 a row."""
LEAST_NATS = 1e-4
"""Means below this are small whatever the largest: a likelihood ratio of 1.0001 a row. Nats have no unit."""
WIDE, WIDE_NATS = 0.2, 0.01
"""Intervals that hold 0 are wide if they also hold this share of what was told from 0, and so many nats."""
_ROUNDING = 1e-12
WELL, HARDLY = 0.5, 0.1
"""R² from which other features predict a feature well, and below which they hardly do."""
_LOCAL = 0.1
"""Rows' entropies move if their spread exceeds this share of the entropies' own."""

Place = Literal["zero", "level", "small", "up", "down"]


@dataclass(frozen=True)
class Measured:
    """One importance of one feature.

    Parameters
    ----------
    name : str
    mean, lower, upper : float
        In nats.
    place : str
    wide : bool
        Whether the interval holds 0 and much else.
    more : {"repeats", "rows"}
        What would narrow the interval most.
    """

    name: str
    mean: float
    lower: float
    upper: float
    place: Place
    wide: bool
    more: str

    @property
    def about_zero(self) -> bool:
        """Return whether there is nothing to speak of."""
        return self.place in ("zero", "level", "small")

    @property
    def above_zero(self) -> bool:
        """Return whether the interval lies above 0, however little."""
        return self.place == "up" or (self.place == "small" and self.mean > 0)

    def __str__(self) -> str:
        if self.place == "zero":
            return f"{self.name} 0"  # of zeros there is no interval to speak of
        ends = f"{written(self.lower)} to {written(self.upper)}"
        return f"{self.name} {written(self.mean)} ({ends})"


@dataclass(frozen=True)
class Case:
    """All that a verdict rests on.

    Parameters
    ----------
    feature : str
    likelihood, entropy : Measured
    others, with_target : float
        R²; NaN where it is not known.
    partners : tuple of str
    predicts : tuple of (str, float)
        The feature that is predicted best from it, and its R².
    flat : bool
        Whether the model's entropy is the same for all rows.
    moves : float
        Spread of what the rows' entropies change by; 0 if they do not, or no rows are kept.
    """

    feature: str
    likelihood: Measured
    entropy: Measured
    others: float
    with_target: float
    partners: tuple[str, ...]
    predicts: tuple[str, float]
    flat: bool
    moves: float

    @property
    def linked(self) -> bool:
        """Return whether the feature is predicted well, or predicts another one well."""
        return bool(self.others >= WELL or self.predicts[1] >= WELL)

    @property
    def known(self) -> bool:
        """Return whether there is a forest to ask."""
        return not np.isnan(self.others)

    @property
    def alone(self) -> bool:
        """Return whether forests find no link to others: they hardly predict it, and learn nothing from it."""
        return self.others < HARDLY and not self.predicts[0] and not self.partners


def cases(
    likelihood: Importance, entropy: Importance, found: Dependence, level: float
) -> list[Case]:
    """Place each feature's two importances.

    Parameters
    ----------
    likelihood, entropy : Importance
        Of the same features, in nats.
    found : Dependence
    level : float
        Of the intervals.
    """
    d = len(likelihood)
    informing = _measured(likelihood, "Likelihood-PFI", level, np.zeros(d, bool), np.zeros(d))
    links = zip(found.others, found.partners, found.predicts, strict=True)
    unlinked = np.array([r2 < HARDLY and not p and not q[0] for r2, p, q in links])
    certain = _measured(entropy, "Entropy-PFI", level, unlinked, WIDE * np.abs(likelihood.mean))
    flat, moves = same_everywhere(entropy), _moves(entropy)
    return [
        Case(
            likelihood.features[k],
            informing[k],
            certain[k],
            float(found.others[k]),
            float(found.with_target[k]),
            found.partners[k],
            found.predicts[k],
            flat,
            moves[k],
        )
        for k in range(d)
    ]


def same_everywhere(entropy: Importance) -> bool:
    """Return whether the model gives the same uncertainty everywhere, as far as its rows say."""
    if (np.abs(entropy.values) > LEAST_NATS).any():
        return False
    kept = entropy.local
    if kept is None:
        return True
    spread = max(np.ptp(kept.own), np.abs(kept.after - kept.own[:, None]).max(initial=0.0))
    return bool(spread <= LEAST_NATS)


def _measured(
    found: Importance, name: str, level: float, unlinked: Bools, narrow: Floats
) -> list[Measured]:
    """Place each feature's importance; an interval within `narrow` of 0 is not wide, unless that is much."""
    mean, (lower, upper) = found.mean, found.interval(level)
    told: Bools = (lower > 0) | (upper < 0)
    rounding = _ROUNDING * max(1.0, abs(found.baseline))
    largest, certain = (float(np.abs(m).max(initial=0.0)) for m in (mean, mean[told]))
    usual, lone = min(RELEVANT * largest, LITTLE), min(UNLINKED * largest, MUCH)
    little = np.maximum(np.where(unlinked, lone, usual), LEAST_NATS)
    least = np.maximum(np.minimum(np.maximum(WIDE * certain, narrow), MUCH), WIDE_NATS)
    drawn = found.std**2 / found.values.shape[1] > found.std_error**2 / 2
    measured: list[Measured] = []
    for k, m in enumerate(map(float, mean)):
        place: Place = "up" if m > 0 else "down"
        if (np.abs(found.values[k]) <= rounding).all():
            place = "zero"
        elif not told[k]:
            place = "level"
        elif abs(m) < little[k]:
            place = "small"
        wide = place == "level" and bool(max(-lower[k], upper[k]) > least[k])
        more = "repeats" if drawn[k] else "rows"
        measured.append(Measured(name, m, float(lower[k]), float(upper[k]), place, wide, more))
    return measured


def _moves(entropy: Importance) -> list[float]:
    """Return how far rows' entropies spread when a feature's values are replaced, where that is much; else 0."""
    if entropy.local is None:
        return [0.0] * len(entropy)
    spread = entropy.local.difference.std(axis=1)
    least = max(_LOCAL * float(entropy.local.own.std()), LEAST_NATS)
    return [float(s) if s > least else 0.0 for s in spread]
