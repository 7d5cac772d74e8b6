"""Verdicts on features from Likelihood-PFI and Entropy-PFI, and their sentences (entropy_importance, sec. 3.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from skedasis._numbers import fraction, listed
from skedasis._types import Bools, Floats
from skedasis.analysis.dependence import Dependence
from skedasis.results.diagnosis import LEAST_NATS, Verdict, VerdictKind, same_everywhere
from skedasis.results.importance import Importance
from skedasis.results.sentences import (
    EFFECT,
    FOREST,
    HELD_OUT,
    MEASURE,
    MISSED,
    MORE,
    NOTHING,
    PERMUTE,
    REFIT,
    REFIT_WITH,
    ROWS_CHANGE,
    VERDICTS,
    tell,
)

# --- limits ---------------------------------------------------------------------------------------


RELEVANT, LITTLE = 0.05, 0.01
"""Means below this fraction of the measure's largest mean, and below this number of nats, are small."""


UNLINKED, MUCH = 0.2, 0.1
"""The same for entropies of features without a link to others. 0.1 nats, a likelihood ratio of 1.1 per row, is never
small, and an interval around 0 that reaches so far is always wide."""


WIDE, WIDE_NATS = 0.2, 0.01
"""Intervals around 0 are wide if they contain this fraction of the largest significant mean, and so many nats."""


_ROUNDING = 1e-12


WELL, HARDLY = 0.5, 0.1
"""R² from which the others predict a feature well, and below which they barely predict it."""


_LOCAL = 0.1
"""Changes of the rows' entropies are notable if their standard deviation exceeds this fraction of the entropies'."""


# --- classification of the measures ---------------------------------------------------------------


Class = Literal["zero", "not significant", "small", "positive", "negative"]


@dataclass(frozen=True)
class VerdictMeasure:
    """Likelihood-PFI or Entropy-PFI of one feature."""

    name: str
    mean: float
    lower: float
    upper: float
    kind: Class
    wide: bool
    more: str

    @property
    def about_zero(self) -> bool:
        """Return whether the measure is zero, not significant or small."""
        return self.kind in ("zero", "not significant", "small")

    @property
    def above_zero(self) -> bool:
        """Return whether the interval lies above 0, even if the mean is small."""
        return self.kind == "positive" or (self.kind == "small" and self.mean > 0)

    def __str__(self) -> str:
        why = ""
        if self.kind == "small":
            why = "below 0.0001 nats" if abs(self.mean) < LEAST_NATS else "small beside the largest"
        known = {} if self.kind == "zero" else {"lower": self.lower, "upper": self.upper}
        return tell(MEASURE, name=self.name, mean=self.mean, why=why, **known)


@dataclass(frozen=True)
class Evidence:
    """The evidence for the verdict on a feature."""

    feature: str
    likelihood: VerdictMeasure
    entropy: VerdictMeasure
    others: float
    with_target: float
    partners: tuple[str, ...]
    predicts: tuple[str, float]
    constant_entropy: bool
    local_change: float

    @property
    def has_forest(self) -> bool:
        """Return whether the R² of the feature is known."""
        return not np.isnan(self.others)

    @property
    def unlinked(self) -> bool:
        """Return whether forests find no link to others: they barely predict the feature, and do not use it."""
        return self.others < HARDLY and not self.predicts[0] and not self.partners


def evidence(
    likelihood: Importance, entropy: Importance, links: Dependence, confidence_level: float
) -> list[Evidence]:
    """Return the evidence for each feature."""
    d = len(likelihood)
    first = _measures(
        likelihood, "Likelihood-PFI", confidence_level, np.zeros(d, bool), np.zeros(d)
    )
    forests = zip(links.others, links.partners, links.predicts, strict=True)
    unlinked = np.array([r2 < HARDLY and not p and not q[0] for r2, p, q in forests])
    second = _measures(
        entropy, "Entropy-PFI", confidence_level, unlinked, WIDE * np.abs(likelihood.mean)
    )
    constant, changes = same_everywhere(entropy), _local_changes(entropy)
    return [
        Evidence(
            likelihood.features[k],
            first[k],
            second[k],
            float(links.others[k]),
            float(links.with_target[k]),
            links.partners[k],
            links.predicts[k],
            constant,
            changes[k],
        )
        for k in range(d)
    ]


def _measures(
    importance: Importance, name: str, confidence_level: float, unlinked: Bools, tolerated: Floats
) -> list[VerdictMeasure]:
    """Classify the importance of each feature; intervals within `tolerated` of 0, up to `MUCH`, are not wide."""
    mean, (lower, upper) = importance.mean, importance.interval(confidence_level)
    significant: Bools = (lower > 0) | (upper < 0)
    rounding = _ROUNDING * max(1.0, abs(importance.baseline))
    largest, largest_significant = (
        float(np.abs(m).max(initial=0.0)) for m in (mean, mean[significant])
    )
    usual, lone = min(RELEVANT * largest, LITTLE), min(UNLINKED * largest, MUCH)
    small_below = np.maximum(np.where(unlinked, lone, usual), LEAST_NATS)
    wide_above = np.minimum(np.maximum(WIDE * largest_significant, tolerated), MUCH)
    wide_above = np.maximum(wide_above, WIDE_NATS)
    # Whether most of the variance is due to the permutations: then more repeats help more than more rows.
    random = importance.std**2 / importance.values.shape[1] > importance.std_error**2 / 2
    measures: list[VerdictMeasure] = []
    for k, m in enumerate(map(float, mean)):
        kind: Class = "positive" if m > 0 else "negative"
        if (np.abs(importance.values[k]) <= rounding).all():
            kind = "zero"
        elif not significant[k]:
            kind = "not significant"
        elif abs(m) < small_below[k]:
            kind = "small"
        wide = kind == "not significant" and bool(max(-lower[k], upper[k]) > wide_above[k])
        more = "repeats" if random[k] else "rows"
        measures.append(VerdictMeasure(name, m, float(lower[k]), float(upper[k]), kind, wide, more))
    return measures


def _local_changes(entropy: Importance) -> list[float]:
    """Return the standard deviations over rows of the changes of the entropy; 0 where they are negligible."""
    if entropy.local is None:
        return [0.0] * len(entropy)
    std = entropy.local.difference.std(axis=1)
    least = max(_LOCAL * float(entropy.local.before.std()), LEAST_NATS)
    return [float(s) if s > least else 0.0 for s in std]


# --- verdicts -------------------------------------------------------------------------------------


def verdicts(
    likelihood: Importance, entropy: Importance, found: Dependence, confidence_level: float
) -> tuple[Verdict, ...]:
    """Return a verdict for each feature."""
    return tuple(_verdict(e) for e in evidence(likelihood, entropy, found, confidence_level))


def _verdict(e: Evidence) -> Verdict:
    kind = _kind(e)
    wide, other = (e.likelihood, e.entropy) if e.likelihood.wide else (e.entropy, e.likelihood)
    text = tell(
        VERDICTS[_case(kind, e)],
        likelihood=str(e.likelihood),
        entropy=str(e.entropy),
        forest=_forest(e),
        partners=listed(e.partners) or "other features",
        one=len(e.partners) == 1,
        certain=e.entropy.mean < 0,
        wide=str(wide),
        other=str(other),
        more=wide.more,
    )
    return Verdict(e.feature, kind, text, _next(kind, e))


def _kind(e: Evidence) -> VerdictKind:
    if e.likelihood.kind == "negative":
        return "misleading"
    if e.likelihood.wide:
        return "undecided"
    return _kind_if_informative(e) if e.likelihood.above_zero else _kind_if_not_informative(e)


def _kind_if_not_informative(e: Evidence) -> VerdictKind:
    """Return the verdict if the model is not significantly worse without the feature."""
    if not e.entropy.about_zero:
        return "uninformative"
    if e.entropy.wide:
        return "undecided"
    kinds = {e.likelihood.kind, e.entropy.kind}
    if "small" in kinds:
        return "little effect"
    return "unused" if kinds == {"zero"} else "no effect"


def _kind_if_informative(e: Evidence) -> VerdictKind:
    """Return the verdict if the model is significantly worse without the feature, even if by little."""
    if not e.entropy.about_zero:
        return "informative" if e.unlinked else "shared"
    if e.likelihood.kind == "small" and not e.entropy.wide:
        return "little effect"
    supported = e.unlinked or not e.has_forest
    conclusive = not (e.constant_entropy or e.entropy.wide)
    return "independent" if supported and conclusive else "informative"


# --- facts of the sentences -----------------------------------------------------------------------


def _case(kind: VerdictKind, e: Evidence) -> str:
    """Return which sentence a verdict has."""
    if kind == "independent" and not e.has_forest:
        return "independent by its entropy"
    if kind == "uninformative" and e.unlinked:
        return "uninformative without link"
    if kind == "informative":
        if not e.entropy.about_zero:
            return "informative without link"
        if e.constant_entropy:
            return "informative, constant entropy"
        return "informative, wide" if e.entropy.wide else "informative, linked"
    return kind


def _next(kind: VerdictKind, e: Evidence) -> str:
    """Return the recommended next step."""
    if kind == "undecided":
        return tell(MORE, more=(e.likelihood if e.likelihood.wide else e.entropy).more)
    if kind in ("informative", "uninformative") and not e.entropy.about_zero and e.unlinked:
        return HELD_OUT
    if kind == "uninformative":
        return tell(REFIT_WITH, partners=listed(e.partners) or "all others")
    if kind == "shared" or (kind == "informative" and e.has_forest and not e.unlinked):
        case = "partners" if e.partners else "forest" if e.has_forest else "unknown"
        return tell(PERMUTE[case], names=[e.feature, *e.partners])
    if kind == "informative" and e.entropy.wide and not e.constant_entropy:
        return tell(MORE, more=e.entropy.more)
    return REFIT if kind == "misleading" else _further(kind, e)


def _further(kind: VerdictKind, e: Evidence) -> str:
    """Return what may be looked at after a verdict that asks for nothing."""
    if kind in ("unused", "no effect", "little effect"):
        if e.with_target - max(e.others, 0.0) >= HARDLY:
            return tell(MISSED, without=fraction(e.others), together=fraction(e.with_target))
        otherwise = NOTHING
    else:
        otherwise = EFFECT
    if e.local_change == 0:
        return otherwise
    return tell(ROWS_CHANGE, size=e.local_change, feature=repr(e.feature))


def _forest(e: Evidence) -> str:
    """Return a clause on how well the others predict the feature, and what it predicts; empty if it is unknown."""
    if not e.has_forest:
        return ""
    how = "barely" if e.others < HARDLY else "partly" if e.others < WELL else "well"
    name, r2 = e.predicts
    predicts = name if e.others < WELL and r2 >= HARDLY else ""
    helps = listed(e.partners) if e.others < HARDLY and not predicts else ""
    return tell(
        FOREST, how=how, r2=fraction(e.others), predicts=predicts, its=fraction(r2), helps=helps
    )
