"""Verdicts on features from Likelihood-PFI and Entropy-PFI, and their sentences (entropy_importance, sec. 3.5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from skedasis._types import Bools, Floats
from skedasis.analysis.dependence import Dependence
from skedasis.results.diagnosis import Verdict, VerdictKind, format_number, format_r2
from skedasis.results.importance import Importance

# --- limits ---------------------------------------------------------------------------------------


RELEVANT, LITTLE = 0.05, 0.01
"""Means below this fraction of the measure's largest mean, and below this number of nats, are small."""


UNLINKED, MUCH = 0.2, 0.1
"""The same for entropies of features without a link to others. 0.1 nats, a likelihood ratio of 1.1 per row, is never
small, and an interval around 0 that reaches so far is always wide."""


LEAST_NATS = 1e-4
"""Means below this are small in any case: a likelihood ratio of 1.0001 per row. Nats have no unit."""


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
        if self.kind == "zero":
            return f"{self.name} 0"  # the interval has width zero
        interval = f"{format_number(self.lower)} to {format_number(self.upper)}"
        return f"{self.name} {format_number(self.mean)} ({interval})"


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


def same_everywhere(entropy: Importance) -> bool:
    """Return whether the entropy of the model is constant over the rows that are known."""
    if (np.abs(entropy.values) > LEAST_NATS).any():
        return False
    rows = entropy.local
    if rows is None:
        return True
    largest = max(np.ptp(rows.before), np.abs(rows.after - rows.before[:, None]).max(initial=0.0))
    return bool(largest <= LEAST_NATS)


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
    return Verdict(e.feature, kind, *_SENTENCES[kind](e))


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


# --- sentences: the text of each verdict, and the recommended next step ---------------------------


_NOTHING = "No further check is needed."


_EFFECT = "Inspect its effect on the prediction."


_REFIT = "Fit the model without it, and compare on new rows."


_HELD_OUT = "If the model was trained on these rows, repeat the diagnosis on held-out rows."


def _unused(e: Evidence) -> tuple[str, str]:
    text = "Unused: replacing its values changes neither the likelihood nor the entropy."
    return text, _missed_information(e) or _NOTHING


def _no_effect(e: Evidence) -> tuple[str, str]:
    text = f"No significant effect: {e.likelihood} and {e.entropy}."
    return text, _missed_information(e) or _local(e) or _NOTHING


def _little_effect(e: Evidence) -> tuple[str, str]:
    text = f"Little effect: {_about_zero(e.likelihood)}, and {_about_zero(e.entropy)}."
    return text, _missed_information(e) or _local(e) or _NOTHING


def _undecided(e: Evidence) -> tuple[str, str]:
    wide, other = e.likelihood, e.entropy
    if not wide.wide:
        wide, other = other, wide
    text = f"Undecided: the interval of {wide} is too wide for a verdict; {other}."
    return text, f"Use more {wide.more}."


def _independent(e: Evidence) -> tuple[str, str]:
    text = "Informative, and independent of the other features"
    if not e.has_forest:
        text += (
            f" according to its entropy: {e.likelihood}, while {_about_zero(e.entropy)}. How well the others predict "
            "it is unknown."
        )
    else:
        text += f": {e.likelihood}, while {_about_zero(e.entropy)} and {_predicted(e)}."
        text += " Its PFI can be read at face value."
    return text, _local(e) or _EFFECT


def _informative(e: Evidence) -> tuple[str, str]:
    if not e.entropy.about_zero:  # and forests find no link
        return f"Informative, {e.likelihood}; {_unsupported(e)}.", _HELD_OUT
    linked = e.has_forest and not e.unlinked
    r2, start = _predicted(e), f"Informative, {_with_size(e.likelihood)}"
    if e.constant_entropy:
        text = (
            f"{start}; whether it is shared cannot be determined, because the entropy is constant"
        )
    elif e.entropy.wide:
        text = f"{start}; whether it is shared is undecided, {e.entropy}"
    else:
        text = f"{start}; {_about_zero(e.entropy)}, as for an independent feature"
    separator = ", but " if linked and not e.constant_entropy else "; "
    text += f"{separator}{r2}." if r2 else "."
    if linked:
        return text, f"Its PFI may be too small. {_permute(e)}"
    if e.entropy.wide and not e.constant_entropy:
        return text, f"Use more {e.entropy.more}."
    return text, _local(e) or _EFFECT


def _shared(e: Evidence) -> tuple[str, str]:
    start, r2 = f"Informative, and shared with {_partners(e)}", _predicted(e)
    if e.entropy.mean > 0:
        text = (
            f"{start}: {_with_size(e.likelihood)} underestimates it, because the model is less certain where they "
            f"disagree, {e.entropy}"
        )
    else:
        text = f"{start}: {_with_size(e.likelihood)}; {_more_certain(e)}"
    return f"{text}; {r2}." if r2 else f"{text}.", _permute(e)


def _uninformative(e: Evidence) -> tuple[str, str]:
    if e.unlinked:
        return f"Not informative, {_with_size(e.likelihood)}; {_unsupported(e)}.", _HELD_OUT
    start, r2 = f"Shared with {_partners(e)}, but not informative", _predicted(e)
    if e.entropy.mean > 0:
        text = (
            f"{start}: the model is less certain where they disagree, {e.entropy}, but not significantly worse, "
            f"{_with_size(e.likelihood)}"
        )
    else:
        text = f"{start}, {_with_size(e.likelihood)}: {_more_certain(e)}"
    kept = f"but with {_joined(e.partners)}" if e.partners else "but with all others"
    return (
        f"{text}; {r2}." if r2 else f"{text}.",
        f"Fit the model without it, {kept}, and compare on new rows.",
    )


def _misleading(e: Evidence) -> tuple[str, str]:
    text = f"Misleading: with other rows' values the model predicts better, {e.likelihood}; {e.entropy}."
    return text, _REFIT


_SENTENCES: dict[VerdictKind, Callable[[Evidence], tuple[str, str]]] = {
    "unused": _unused,
    "no effect": _no_effect,
    "little effect": _little_effect,
    "independent": _independent,
    "informative": _informative,
    "undecided": _undecided,
    "shared": _shared,
    "uninformative": _uninformative,
    "misleading": _misleading,
}


# --- parts of sentences ---------------------------------------------------------------------------


def _partners(e: Evidence) -> str:
    return _joined(e.partners) if e.partners else "other features"


def _smallness(measure: VerdictMeasure) -> str:
    """Return the reason why a mean is small."""
    tiny = abs(measure.mean) < LEAST_NATS
    return "below the limit of 0.0001 nats" if tiny else "small compared with the largest"


def _with_size(measure: VerdictMeasure) -> str:
    """Return a measure with its numbers, and with a remark if it is small."""
    if measure.kind == "small":
        return f"{str(measure)[:-1]}; {_smallness(measure)})"
    return str(measure)


def _about_zero(measure: VerdictMeasure) -> str:
    """Return a clause that states in what sense a measure is about zero."""
    if measure.kind == "zero":
        return f"{measure.name} is 0"
    if measure.kind == "not significant":
        return f"{measure} is not significantly different from 0"
    return f"{measure} is {_smallness(measure)}"


def _more_certain(e: Evidence) -> str:
    return (
        f"with other rows' values the model is more certain, {e.entropy}, so these features agree where it is less "
        "certain"
    )


def _unsupported(e: Evidence) -> str:
    """Return a clause that only the entropy indicates shared information."""
    return (
        f"{e.entropy} indicates shared information, but the forests find no feature that it is shared with: "
        f"{_predicted(e)}"
    )


def _predicted(e: Evidence) -> str:
    """Return a clause on how well the others predict the feature, and what it predicts; empty if it is unknown."""
    if not e.has_forest:
        return ""
    verb = "barely predict it" if e.others < HARDLY else "partly predict it"
    verb = "predict it well" if e.others >= WELL else verb
    text = f"the others {verb} (R² {format_r2(e.others)})"
    name, r2 = e.predicts
    if e.others < WELL and r2 >= HARDLY:
        return f"{text}, but it predicts {name} (R² {format_r2(r2)})"
    if e.others < HARDLY and e.partners:
        return f"{text}, but it helps to predict {_joined(e.partners)}"
    return text


def _permute(e: Evidence) -> str:
    if e.partners:
        names = [e.feature, *e.partners]
        return f"Permute them together: sd.PFI(groups={{'together': {names}}})."
    if e.has_forest:
        return "Permute it together with related features; no single one of them stands out."
    return "Use dependence=True to find the features that share its information."


def _missed_information(e: Evidence) -> str:
    """Return a hint if the label helps to predict a feature that the model does not use."""
    if not e.with_target - max(e.others, 0.0) >= HARDLY:
        return ""
    return (
        f"The label helps to predict it (R² {format_r2(e.others)} without, {format_r2(e.with_target)} "
        "with it): it may contain information that the model does not use."
    )


def _local(e: Evidence) -> str:
    """Return a hint if the entropies of single rows change although their mean does not."""
    if e.local_change == 0:
        return ""
    size = f"{format_number(e.local_change)} (standard deviation)"
    call = f"sd.explain(sd.entropy(model), X, {e.feature!r}, method='ice')"
    return f"The entropies of single rows do change, by {size}: see {call}."


def _joined(names: tuple[str, ...]) -> str:
    return " and ".join(([", ".join(names[:-1])] if len(names) > 1 else []) + list(names[-1:]))
