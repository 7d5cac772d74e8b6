"""What is said of a feature: a sentence for each kind of verdict, with its numbers, and what to look at next."""

from __future__ import annotations

from collections.abc import Callable

from skedasis.analysis.places import HARDLY, LEAST_NATS, WELL, Case, Measured
from skedasis.results.diagnosis import Kind, in_hundredths, written


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
