"""Verdicts on features from Likelihood-PFI and Entropy-PFI, and their sentences (entropy_importance, sec. 3.5).

| place | when |
|---|---|
| zero | every repeat is 0, up to rounding (1e-12 nats for each nat that is averaged) |
| level | its interval holds 0 |
| small | its interval does not, but the mean is negligible (below) |
| up, down | otherwise |

A mean is small below 5 % of the largest of that measure and below 0.01 nats, or below 1e-4 nats; of an entropy below
20 % and 0.1 nats, if forests find no link between the feature and others. With many rows every mean differs
significantly from 0: so there is `small`. It is measured in nats too, for a share alone would let
one strong feature decide what is said of all others. (The paper reads the age of concrete as small, sec. 5.1: a small
Entropy-PFI, and a feature that the others do not predict.)

Each measure is placed on its own (`skedasis.analysis.verdicts`): zero, level, small, up or down. The first three are
about zero; zero and level hold 0. Then both together:

| Likelihood-PFI | Entropy-PFI | verdict |
|---|---|---|
| zero | zero | unused |
| holds 0 | holds 0 | no effect |
| about zero | about zero, and one of the two is small | little effect |
| up | about zero | independent; informative, if that is not decided |
| up, or small above 0 | up, down | shared; informative, if forests find nothing to share with |
| holds 0, or small below it | up, down | uninformative |
| about zero | about zero, and one of the two is wide | undecided |
| down | any | misleading |

A non-zero Entropy-PFI means shared information whatever its sign: below zero, the two that share lie together where the
model is less certain. That says nothing of whether the model is right to be surer elsewhere.

An interval that holds 0 decides nothing if it is wide: if it also holds a fifth of the largest mean of that measure
that is told from 0 (0.01 nats at least, 0.1 at most), and, of an entropy, a fifth of what the feature does to the
likelihood. Nor does an entropy decide anything that is the same everywhere, or that calls independent what others
predict, or what others are predicted from: an entropy that is additive in the features has Entropy-PFI 0 at any
dependence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from skedasis._types import Bools, Floats
from skedasis.analysis.dependence import Dependence
from skedasis.results.diagnosis import Kind, Verdict, in_hundredths, written
from skedasis.results.importance import Importance

# ------------------------------------------------------------------------------------------
# Where a feature's Likelihood-PFI and Entropy-PFI lie: about zero, above or below, and how sure that is.


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


# ------------------------------------------------------------------------------------------
# How Likelihood-PFI and Entropy-PFI are read together (entropy_importance, sec. 3.5).


def verdicts(
    likelihood: Importance, entropy: Importance, found: Dependence, level: float
) -> tuple[Verdict, ...]:
    """Return a verdict for each feature.

    Parameters
    ----------
    likelihood, entropy : Importance
        Of the same features, in nats.
    found : Dependence
    level : float
        Of the intervals.
    """
    return tuple(_verdict(case) for case in cases(likelihood, entropy, found, level))


def _verdict(case: Case) -> Verdict:
    kind = _kind(case)
    return Verdict(case.feature, kind, *said(kind, case))


def _kind(case: Case) -> Kind:
    if case.likelihood.place == "down":
        return "misleading"
    if case.likelihood.wide:
        return "undecided"
    return _of_much(case) if case.likelihood.above_zero else _of_nothing(case)


def _of_nothing(case: Case) -> Kind:
    """Return the verdict on a feature without which the model does no worse, as far as is told."""
    if not case.entropy.about_zero:
        return "uninformative"
    if case.entropy.wide:
        return "undecided"
    places = {case.likelihood.place, case.entropy.place}
    if "small" in places:
        return "little effect"
    return "unused" if places == {"zero"} else "no effect"


def _of_much(case: Case) -> Kind:
    """Return the verdict on a feature without which the model does worse, be it by little."""
    if not case.entropy.about_zero:
        return "informative" if case.alone else "shared"
    if case.likelihood.place == "small" and not case.entropy.wide:
        return "little effect"
    supported = case.alone or not case.known
    return "independent" if supported and not (case.flat or case.entropy.wide) else "informative"


# ------------------------------------------------------------------------------------------
# What is said of a feature: a sentence for each kind of verdict, with its numbers, and what to look at next.


def said(kind: Kind, case: Case) -> tuple[str, str]:
    """Return a verdict's sentence, and what to look at next."""
    return _WORDS[kind](case)


def _unused(case: Case) -> tuple[str, str]:
    text = "Unused: replacing its values changes neither the likelihood nor the entropy."
    return text, _left_out(case) or "Nothing to look at: the model can do without it."


def _no_effect(case: Case) -> tuple[str, str]:
    text = f"No effect that can be told from 0: {case.likelihood} and {case.entropy}."
    return text, _left_out(case) or _local(case) or "Nothing to look at."


def _little_effect(case: Case) -> tuple[str, str]:
    text = f"Little effect: {_nothing(case.likelihood)}, and {_nothing(case.entropy)}."
    return text, _left_out(case) or _local(case) or "Nothing to look at."


def _undecided(case: Case) -> tuple[str, str]:
    open_, other = case.likelihood, case.entropy
    if not open_.wide:
        open_, other = other, open_
    return f"Undecided: {open_} may be nothing or something; {other}.", f"Use more {open_.more}."


def _independent(case: Case) -> tuple[str, str]:
    text = "Informative, and independent of the other features"
    if not case.known:
        text += (
            f" as far as its entropy tells: {case.likelihood}, while {_nothing(case.entropy)}. Only that speaks for "
            "it: how well the others predict it is not known."
        )
    else:
        text += (
            f": {case.likelihood}, while {_nothing(case.entropy)} and {_predicted(case)}. Its PFI can be taken at its "
            "word."
        )
    return text, _local(case) or _EFFECT


def _informative(case: Case) -> tuple[str, str]:
    if not case.entropy.about_zero:  # and the forests find no link
        return f"Informative, {case.likelihood}; {_unfounded(case)}.", _HELD_OUT
    linked = case.known and not case.alone
    r2, begins = _predicted(case), f"Informative, {_given(case.likelihood)}"
    if case.flat:
        text = f"{begins}; whether that is shared its entropy cannot tell, which is the same everywhere"
    elif case.entropy.wide:
        text = f"{begins}; whether that is shared is not decided, {case.entropy}"
    else:
        text = f"{begins}; {_nothing(case.entropy)}, as if it were independent"
    link = ", yet " if linked and not case.flat else "; "
    text += f"{link}{r2}." if r2 else "."
    if linked:
        return text, f"Its PFI may be too small. {_permute(case)}"
    if case.entropy.wide and not case.flat:
        return text, f"Use more {case.entropy.more}."
    return text, _local(case) or _EFFECT


def _shared(case: Case) -> tuple[str, str]:
    begins, r2 = f"Informative, and shared with {_rest(case)}", _predicted(case)
    if case.entropy.mean > 0:
        text = (
            f"{begins}: {_given(case.likelihood)} under-reports it, for the model is less certain where they disagree, "
            f"{case.entropy}"
        )
    else:
        text = f"{begins}: {_given(case.likelihood)}; {_surer(case)}"
    return f"{text}; {r2}." if r2 else f"{text}.", _permute(case)


def _uninformative(case: Case) -> tuple[str, str]:
    if case.alone:
        return f"Not informative, {_given(case.likelihood)}; {_unfounded(case)}.", _HELD_OUT
    begins, r2 = f"Shared with {_rest(case)}, but not informative", _predicted(case)
    if case.entropy.mean > 0:
        text = (
            f"{begins}: the model is less certain where they disagree, {case.entropy}, and yet not told to be worse, "
            f"{_given(case.likelihood)}"
        )
    else:
        text = f"{begins}, {_given(case.likelihood)}: {_surer(case)}"
    kept = f"but with {_listed(case.partners)}" if case.partners else "but with all others"
    return (
        f"{text}; {r2}." if r2 else f"{text}.",
        f"Fit the model without it, {kept}, and compare on new rows.",
    )


def _misleading(case: Case) -> tuple[str, str]:
    text = f"Misleading: with its values replaced the model does better, {case.likelihood}; {case.entropy}."
    return text, _REFIT


_WORDS: dict[Kind, Callable[[Case], tuple[str, str]]] = {
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


_EFFECT = "Look at its effect on the prediction."


_REFIT = "Fit the model without it, and compare on new rows."


_HELD_OUT = "Are these rows that the model was trained on? Diagnose rows that were held out."


def _rest(case: Case) -> str:
    return _listed(case.partners) if case.partners else "other features"


def _little(measured: Measured) -> str:
    """Say what a small mean is small beside."""
    tiny = abs(measured.mean) < LEAST_NATS
    return "below what matters, 0.0001 nats" if tiny else "small beside the largest"


def _given(measured: Measured) -> str:
    """Return a measure with its numbers, and whether it is small."""
    return (
        f"{str(measured)[:-1]}; {_little(measured)})"
        if measured.place == "small"
        else str(measured)
    )


def _nothing(measured: Measured) -> str:
    """Say that a measure is about zero, and what that means."""
    if measured.place == "zero":
        return f"{measured.name} is 0"
    if measured.place == "level":
        return f"{measured} is not told from 0"
    return f"{measured} is {_little(measured)}"


def _surer(case: Case) -> str:
    return f"with other rows' values the model is surer, {case.entropy}, so together they lie where it is less certain"


def _unfounded(case: Case) -> str:
    """Say that only the entropy says that the feature is shared."""
    return (
        f"{case.entropy} says that it is shared, but the forests find nothing that it is shared with: "
        f"{_predicted(case)}"
    )


def _predicted(case: Case) -> str:
    """Say how well the others predict the feature, and what it predicts; nothing where that is not known."""
    if not case.known:
        return ""
    how = "well" if case.others >= WELL else "hardly" if case.others < HARDLY else "in part"
    text = f"the others predict it {how} (R² {in_hundredths(case.others)})"
    name, r2 = case.predicts
    if case.others < WELL and r2 >= HARDLY:
        return f"{text}, but it predicts {name} (R² {in_hundredths(r2)})"
    if case.others < HARDLY and case.partners:
        return f"{text}, but it helps to predict {_listed(case.partners)}"
    return text


def _permute(case: Case) -> str:
    if case.partners:
        names = [case.feature, *case.partners]
        return f"Permute them together: sd.PFI(groups={{'together': {names}}})."
    if case.known:
        return "Permute it together with the features that belong to it: no single one stands out."
    return "Let forests find what it is shared with: dependence=True."


def _left_out(case: Case) -> str:
    """Say so where the label helps to predict the feature, which the model makes no use of."""
    if not case.with_target - max(case.others, 0.0) >= HARDLY:
        return ""
    return (
        f"The label helps to predict it (R² {in_hundredths(case.others)} without, {in_hundredths(case.with_target)} "
        "with it): it may hold something that the model leaves out."
    )


def _local(case: Case) -> str:
    if case.moves == 0:
        return ""
    how_far = f"{written(case.moves)} (standard deviation)"
    return f"Single rows' entropies do move, by {how_far}: look at {_entropy_of(case)}."


def _entropy_of(case: Case) -> str:
    return f"sd.explain(sd.entropy(model), X, {case.feature!r}, method='ice')"


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(([", ".join(names[:-1])] if len(names) > 1 else []) + list(names[-1:]))
