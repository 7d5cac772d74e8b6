"""How Likelihood-PFI and Entropy-PFI are read together (entropy_importance, sec. 3.5).

Each measure is placed on its own (`skedasis.analysis.places`): zero, level, small, up or down. The first three are
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

from skedasis.analysis.dependence import Dependence
from skedasis.analysis.places import Case, cases
from skedasis.analysis.sentences import said
from skedasis.results.diagnosis import Kind, Verdict
from skedasis.results.importance import Importance


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
