"""How Likelihood-PFI and Entropy-PFI are read together (entropy_importance, sec. 3.5).

Each measure is placed on its own (`skedasis.analysis.places`): zero, level, small, up or down. The first three are
about zero. Then both together:

| Likelihood-PFI | Entropy-PFI | verdict |
|---|---|---|
| zero | zero | unused |
| about zero | about zero | no effect |
| up | about zero | independent; informative, if that is not decided |
| up | up | shared |
| about zero | up | uninformative |
| about zero, but not decided | about zero, or up | undecided |
| up, about zero | down | overconfident |
| down | any | misleading |

An interval that holds 0 decides nothing if it is wide: if it also holds a fifth of the largest mean of that measure
that is told from 0 (0.01 nats at least), and, of an entropy, a fifth of what the feature does to the likelihood. Nor
does an entropy decide anything that is the same everywhere, or that calls independent what others predict well.
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
    likelihood, entropy = case.likelihood, case.entropy
    if likelihood.place == "down":
        return "misleading"
    if entropy.place == "down":
        return "overconfident"
    if likelihood.wide:
        return "undecided"
    return _of_little(case) if likelihood.about_zero else _of_much(case)


def _of_little(case: Case) -> Kind:
    """Return the verdict on a feature without which the model does no worse."""
    if case.entropy.place == "up":
        return "uninformative"
    return "unused" if case.likelihood.place == case.entropy.place == "zero" else "no effect"


def _of_much(case: Case) -> Kind:
    """Return the verdict on a feature without which the model does worse."""
    if case.entropy.place == "up":
        return "shared"
    told_apart = not (case.flat or case.entropy.wide or case.linked)
    return "independent" if told_apart else "informative"
