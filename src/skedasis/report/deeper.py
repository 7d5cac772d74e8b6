"""The sections that not every page has: features that act in pairs, and what makes a model unsure."""

from __future__ import annotations

from typing import Any

from skedasis.plots.scales import number
from skedasis.report import drawings
from skedasis.report.numbers import Numbers, listed, named
from skedasis.report.story.told import Story, Told
from skedasis.report.story.unsure import Unsure
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.surface import Surface


def pairs(story: Story) -> dict[str, Any] | None:
    """Return what features do in pairs; None where no pair was computed."""
    models = [
        _pairs_of(told, f"pairs-{k}")
        for k, told in enumerate(story.told, 1)
        if told.together.strengths
    ]
    if not models:
        return None
    lead = (
        "Second-order ALE: the effect of two features together that is not the sum of their effects. Zero everywhere "
        "means that they do not interact. A pair’s interaction strength is the standard deviation of this effect over "
        "the rows; cells without rows do not count."
    )
    return {"lead": lead, "models": models}


def _pairs_of(told: Told, ident: str) -> dict[str, Any]:
    together = told.together
    top = max(s.strength for s in together.strengths)
    said = [] if top > 0 else ["None of the computed pairs interacts."]
    return {
        "name": told.name,
        "said": [*said, together.note] if together.note else said,
        "surfaces": [
            _surface(told, surface, f"{ident}-{k}") for k, surface in enumerate(told.pairs, 1)
        ],
        "tables": [_strengths(told)],
    }


def _surface(told: Told, surface: Surface, ident: str) -> dict[str, Any]:
    a, b = surface.features
    return {
        "names": (a, b),
        "name": f"{named(a)} × {named(b)}",
        "figure": drawings.of_pair(surface, ident),
        "code": _code(told, [("pair", a, b)]),
    }


def _strengths(told: Told) -> Numbers:
    heads = (("First", True), ("Second", True), ("Interaction strength", False), ("Shown", True))
    rows = [
        (*s.features, number(s.strength), "yes" if s.shown else "") for s in told.together.strengths
    ]
    caption = f"Interaction strength of each computed pair, in units of {told.axis}"
    return Numbers(caption, heads, rows)


def _code(told: Told, keys: list[tuple[str, ...]]) -> str:
    lines = [told.code[key] for key in keys if key in told.code]
    return "\n".join([told.code["import",], "", *lines]) if lines else ""


def unsure(story: Story) -> dict[str, Any] | None:
    """Return what makes the models unsure; None where none of them says how sure it is."""
    models = [
        _unsure_of(told, told.unsure, f"unsure-{k}")
        for k, told in enumerate(story.told, 1)
        if told.unsure is not None
    ]
    if not models:
        return None
    lead = (
        "The model predicts a distribution. Its entropy measures how uncertain the prediction of a row is. Here the "
        "entropy is explained like any other quantity: where a curve rises, predictions become less certain."
    )
    return {"lead": lead, "models": models}


def _unsure_of(told: Told, found: Unsure, ident: str) -> dict[str, Any]:
    first = [r.feature for r in found.rhale.ranking() if r.importance > 0][:3]
    said = (
        [f"On average, the entropy depends most on {listed(first)}."]
        if first
        else ["No feature changes the entropy."]
    )
    keys = [k for k in told.code if k[0] in ("diagnosis", "entropy", "entropy pdp")]
    diagnosis = found.diagnosis
    grids = {
        "RHALE of the entropy": (found.rhale, "r"),
        "PDP of the entropy": (found.pdp, "p"),
    }
    return {
        "name": told.name,
        "said": [*said, *found.notes],
        "figures": [] if diagnosis is None else [drawings.of_diagnosis(diagnosis, f"{ident}-d")],
        "tables": [] if diagnosis is None else [_verdicts(diagnosis)],
        "grids": [
            {"name": name, "figures": drawings.of_all(effects, f"{ident}-{letter}")}
            for name, (effects, letter) in grids.items()
        ],
        "code": _code(told, keys),
    }


def _verdicts(diagnosis: Diagnosis) -> Numbers:
    heads = (("Feature", True), ("What its importances say", True), ("What to look at next", True))
    rows = [(v.feature, v.text, v.next) for v in diagnosis.verdicts]
    return Numbers("What the diagnosis says of each feature", heads, rows)
