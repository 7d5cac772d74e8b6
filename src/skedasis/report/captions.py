"""What a report's figures show, said in words: names for files, captions, and texts for those who do not see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skedasis.plots.scales import count, number
from skedasis.report import words
from skedasis.report.levels import quoted
from skedasis.report.numbers import listed, named
from skedasis.report.story.told import Told
from skedasis.results.effect import Effect


@dataclass(frozen=True)
class Caption:
    """A figure in words.

    Parameters
    ----------
    name : str
        For a file, without its ending.
    alt, text : str
        What it shows, for those who do not see it; and what it is.
    title : str
        What `alt` begins with, short.
    """

    name: str
    alt: str
    text: str
    title: str = ""

    @property
    def rest(self) -> str:
        """Return `alt` for those who have been told the title."""
        rest = self.alt.removeprefix(self.title).lstrip(" ,")
        return rest[:1].upper() + rest[1:]


def of_rhale(told: Told, feature: str) -> Caption:
    """Return the words of a feature's RHALE; of a nominal feature's ALE."""
    effect = told.rhale[feature]
    method = effect.spec.method
    if effect.levels is not None:
        said = (words.course(effect, ""), words.scatter(effect), words.missing(effect))
        at = count(len(effect.points), "level")
        text = (
            f"{method} at each level: the average effect and how rows differ from it; "
            "below, the steps from level to level."
        )
        alt = f"{method} of {_of(told, feature)}, at {at}. {_joined(said)}"
        return Caption(f"{feature} {method}", alt, text, f"{method} of {named(feature)}")
    bins = 0 if effect.bins is None else len(effect.bins)
    said = (words.course(effect, unit_of(effect)), words.scatter(effect), words.missing(effect))
    alt = f"RHALE of {_of(told, feature)}, in {count(bins, 'bin')}. {_joined(said)}"
    text = "RHALE: the average effect and how rows differ from it; below, the slopes in each bin."
    return Caption(f"{feature} RHALE", alt, text, f"RHALE of {named(feature)}")


def of_compared(told: Told, feature: str, methods: Sequence[str]) -> Caption:
    """Return the words of several methods' curves laid over one another."""
    names = listed(list(methods))
    alt = f"{names} of {_of(told, feature)}, each minus its mean over the data."
    rise = {m: _range(e) for m, e in of_methods(told, feature).items() if m in methods}
    sizes = [f"{m} moves by {number(size)}" for m, size in rise.items() if np.isfinite(size)]
    if sizes:
        alt += f" {listed(sizes)}."
    text = f"{names}: where they diverge, features depend on each other."
    return Caption(f"{feature} methods", alt, text, f"{names} of {named(feature)}")


def of_methods(told: Told, feature: str) -> dict[str, Effect]:
    """Return what there is of a feature to lay over one another, by the method's name."""
    found = {"ALE": told.ale[feature], "PDP": told.pdp[feature]}
    return found | ({"M-plot": told.mplot[feature]} if feature in told.mplot else {})


def _range(effect: Effect) -> float:
    there = effect.value[np.isfinite(effect.value)]
    return float(np.ptp(there)) if len(there) else float("nan")


def of_pdp(told: Told, feature: str) -> Caption:
    """Return the words of a feature's PDP with its individual curves."""
    effect = told.pdp[feature]
    curves = 0 if effect.curves is None else len(effect.curves)
    centred = effect.spec.center == "mean"
    spread = number(float(np.nanmax(effect.heterogeneity)))
    start = "around zero" if centred else "from a common start"
    drawn = f", with {count(curves, 'individual curve')} {start}" if curves else ""
    alt = (
        f"PDP of {_of(told, feature)}{drawn}. "
        f"{words.course(effect, unit_of(effect))} Where they have parted most, the rows’ curves have a standard "
        f"deviation of {spread}."
    )
    text = (
        f"PDP with c-ICE: the average of all rows and {count(curves, 'row')} one by one."
        if curves
        else "PDP: the average of all rows."
    )
    if centred and curves:
        text += " Each row’s mean over the levels is zero."
    elif effect.levels is not None and curves:
        text += f" All are zero at {quoted(effect.levels.labels[0])}."
    return Caption(f"{feature} PDP", alt, text, f"PDP of {named(feature)}")


def of_all(told: Told, most: int | None = None) -> Caption:
    """Return the words of all features' RHALE on shared scales; of at most so many, the most important ones."""
    ranks = [r.feature for r in told.rhale.ranking()][:most]
    methods = {told.rhale[f].spec.method for f in ranks}
    what = "ALE" if methods == {"ALE"} else "RHALE"
    besides = " (of features without an order: ALE)" if len(methods) > 1 else ""
    alt = (
        f"{what}{besides} of {count(len(ranks), 'feature')} on {told.axis}, {named(told.name)}, on shared scales, "
        f"the most important first: {listed(ranks)}."
    )
    which = (
        "every feature"
        if len(ranks) == len(told.rhale)
        else f"the {len(ranks)} most important features"
    )
    return Caption("all features", alt, f"{what} of {which}{besides}, {named(told.name)}.")


def unit_of(effect: Effect) -> str:
    """Return the feature's unit, or nothing."""
    return effect.about.feature.unit or ""


def _of(told: Told, feature: str) -> str:
    """Say whose effect is shown, on what, and of which model."""
    return f"{named(feature)} on {told.axis}, {named(told.name)}"


def _joined(sentences: Sequence[str]) -> str:
    return " ".join(s for s in sentences if s)
