"""The sections of single features: their figures, words, objections, numbers and code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skedasis.engine.run import Progress
from skedasis.report import captions, drawings, words
from skedasis.report.numbers import named
from skedasis.report.story.told import Story, Told
from skedasis.results.checks.check import Flag
from skedasis.results.effect import Effect

FIRST = 10
"""Features whose figures are drawn when the page is loaded; those of others when they come near."""
MADE = ("main", "compare", "pdp", "trust")
"""What a feature's section shows, by the names of `skedasis.report.story.codes`."""
FEW = ("few rows", "one row")
"""Objections that say of which bins or levels little is known, so that nothing else has to."""
_KINDS = {"nominal": "levels without an order", "ordinal": "ordered levels"}


def anchored(story: Story) -> dict[str, str]:
    """Return where on the page each feature is."""
    return {feature: f"feature-{k}" for k, feature in enumerate(story.features, 1)}


def features(story: Story, progress: bool | None = None) -> list[dict[str, Any]]:
    """Return the features' sections, the most important first.

    Parameters
    ----------
    story : Story
    progress : bool, optional
        A bar while figures are drawn, where that takes longer than two seconds.
    """
    places, ranks = anchored(story), _ranks(story)
    sections: list[dict[str, Any]] = []
    with Progress(len(story.features), "Drawing", progress) as bar:
        for k, feature in enumerate(story.features):
            section = _feature(story, feature, places[feature])
            sections.append(section | {"drawn": k < FIRST, "ranks": ranks[feature]})
            bar.advance()
    return sections


def _feature(story: Story, feature: str, anchor: str) -> dict[str, Any]:
    first = story.told[0].rhale[feature]
    return {
        "name": feature,
        "unit": captions.unit_of(first),
        "kind": _KINDS.get(first.about.feature.kind, ""),
        "anchor": anchor,
        "effects": [
            _of_model(told, feature, f"{anchor}-{k}") for k, told in enumerate(story.told, 1)
        ],
    }


def _of_model(told: Told, feature: str, ident: str) -> dict[str, Any]:
    rhale = told.rhale[feature]
    unit, flags = captions.unit_of(rhale), told.trust.get(feature, ())
    said = {
        "Effect": words.course(rhale, unit),
        "Rows": words.scatter(rhale),
        "Certainty": words.certainty(rhale, told.ale[feature]),
        "Missing": words.missing(rhale),
        "Order": words.order(rhale),
    }
    return {
        "model": told.name,
        "said": {about: text for about, text in said.items() if text},
        "figures": drawings.of_feature(told, feature, ident),
        "doubts": words.doubts(rhale, objected=any(f.kind in FEW for f in flags)),
        "flags": _flags(flags, feature),
        "parts": "bins" if rhale.levels is None else "levels",
        "tables": words.numbers(rhale, told.axis, _per(rhale, unit, feature)),
        "code": _code(told, feature),
    }


def _per(effect: Effect, unit: str, feature: str) -> str:
    """Return what slopes are given per."""
    return "day" if effect.time is not None else unit or f"unit of {named(feature)}"


def _flags(found: Sequence[Flag], feature: str) -> dict[str, list[str]]:
    """Return objections, warnings apart from notes; a long name is shortened in them."""
    short = f"'{named(feature)}'"
    lines = [(f.severity, f.text.replace(repr(feature), short)) for f in found]
    return {
        "warnings": [text for severity, text in lines if severity == "warning"],
        "notes": [text for severity, text in lines if severity == "note"],
    }


def _code(told: Told, feature: str) -> str:
    """Return what makes a feature's figures again."""
    lines = [told.code[kind, feature] for kind in MADE if (kind, feature) in told.code]
    return "\n".join([told.code["import",], "", *lines]) if lines else ""


# ---------------------------------------------------------------------------------------- orders


def _ranks(story: Story) -> dict[str, Mapping[str, int]]:
    """Return each feature's place in the orders that a reader can choose."""
    orders = {
        "importance": list(story.features),
        "heterogeneity_score": _by_score(story),
        "column": list(story.told[0].rhale),
    }
    places = {name: {f: k for k, f in enumerate(order)} for name, order in orders.items()}
    return {f: {name: place[f] for name, place in places.items()} for f in story.features}


def _by_score(story: Story) -> list[str]:
    """Return the features by the largest share of a model's heterogeneity scores: models may differ in their units."""
    shares = dict.fromkeys(story.features, 0.0)
    for told in story.told:
        scores = {f: np.nan_to_num(told.rhale[f].heterogeneity_score) for f in story.features}
        total = sum(scores.values()) or 1.0
        shares = {f: max(share, scores[f] / total) for f, share in shares.items()}
    return sorted(story.features, key=lambda f: -shares[f])
