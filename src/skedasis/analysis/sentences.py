"""What is said of a feature: a sentence for each kind of verdict, with its numbers, and what to look at next."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skedasis.analysis.places import HARDLY, WELL, Case, Measured
from skedasis.results.diagnosis import Kind, in_hundredths, written


def said(kind: Kind, case: Case) -> tuple[str, str]:
    """Return a verdict's sentence, and what to look at next."""
    return _WORDS[kind](case)


def _unused(case: Case) -> tuple[str, str]:
    text = "Unused: replacing its values changes neither the likelihood nor the entropy."
    return text, _left_out(case) or "Nothing to look at: the model can do without it."


def _no_effect(case: Case) -> tuple[str, str]:
    text = f"No effect that matters: {case.likelihood} and {case.entropy} are about zero."
    return text, _left_out(case) or _local(case) or "Nothing to look at."


def _undecided(case: Case) -> tuple[str, str]:
    text = f"Undecided: {case.likelihood} may be nothing or something; {case.entropy}."
    return text, f"Use more {case.likelihood.more}."


def _independent(case: Case) -> tuple[str, str]:
    r2 = _predicted(case)
    link = " and" if case.alone else ", though"
    text = (
        f"Informative, and independent of the other features: {case.likelihood}, while {_nothing(case.entropy)}"
        f"{link + ' ' + r2 if r2 else ''}. Its PFI can be taken at its word."
    )
    return text, _local(case) or _EFFECT


def _informative(case: Case) -> tuple[str, str]:
    r2 = _predicted(case)
    if case.flat:
        why = "whether that is shared its entropy cannot tell, which is the same everywhere"
    elif case.entropy.wide:
        why = f"whether that is shared is not decided, {case.entropy}"
    else:
        why = f"{_nothing(case.entropy)}, as if it were independent"
    link = ", yet" if case.linked and not case.flat else ";"
    text = f"Informative, {case.likelihood}; {why}{link + ' ' + r2 if r2 else ''}."
    if case.linked:
        return text, f"Its PFI may be too small. {_permute(case)}"
    if case.entropy.wide and not case.flat:
        return text, f"Use more {case.entropy.more}."
    return text, _local(case) or _EFFECT


def _shared(case: Case) -> tuple[str, str]:
    text = (
        f"Informative, and shared with {_rest(case)}: {case.likelihood} under-reports it, for the model is less "
        f"certain where they disagree, {case.entropy}"
    )
    return f"{text}{_support(case)}.", _permute(case)


def _uninformative(case: Case) -> tuple[str, str]:
    little = "hardly" if case.likelihood.place == "small" else "not"
    text = (
        f"Shared with {_rest(case)}, but {little} informative: the model is less certain where they disagree, "
        f"{case.entropy}, and yet hardly worse, {case.likelihood}"
    )
    return f"{text}{_support(case)}.", _REFIT


def _misleading(case: Case) -> tuple[str, str]:
    text = f"Misleading: with its values replaced the model does better, {case.likelihood}; {case.entropy}."
    return text, _REFIT


def _overconfident(case: Case) -> tuple[str, str]:
    begins = "Overconfident" if case.likelihood.about_zero else "Informative, but overconfident"
    text = (
        f"{begins}: with its values replaced the model is more certain, {case.entropy}, though such rows lie further "
        f"from the data; {case.likelihood}."
    )
    return text, f"Look where: {_entropy_of(case)}."


_WORDS: dict[Kind, Callable[[Case], tuple[str, str]]] = {
    "unused": _unused,
    "no effect": _no_effect,
    "independent": _independent,
    "informative": _informative,
    "undecided": _undecided,
    "shared": _shared,
    "uninformative": _uninformative,
    "misleading": _misleading,
    "overconfident": _overconfident,
}


_EFFECT = "Look at its effect on the prediction."
_REFIT = "Fit the model without it, and compare on new rows."


def _rest(case: Case) -> str:
    return _listed(case.partners) if case.partners else "other features"


def _nothing(measured: Measured) -> str:
    """Say that a measure is about zero."""
    if measured.place == "zero":
        return f"{measured.name} is 0"
    return f"{measured} is about zero"


def _predicted(case: Case) -> str:
    """Say how well the others predict the feature, and what it predicts; nothing where that is not known."""
    if np.isnan(case.others):
        return ""
    how = "well" if case.others >= WELL else "hardly" if case.others < HARDLY else "in part"
    text = f"the others predict it {how} (R² {in_hundredths(case.others)})"
    name, r2 = case.predicts
    if case.others < WELL and r2 >= HARDLY:
        text += f", but it predicts {name} (R² {in_hundredths(r2)})"
    return text


def _support(case: Case) -> str:
    """Say whether the R² agrees that a feature is shared."""
    r2 = _predicted(case)
    link = ", though" if case.alone else ";"
    return f"{link} {r2}" if r2 else ""


def _permute(case: Case) -> str:
    if not case.partners:
        return "Permute it together with what it may share: sd.PFI(groups={...})."
    names = [case.feature, *case.partners]
    return f"Permute them together: sd.PFI(groups={{'together': {names}}})."


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
