"""A report's figures as SVG, drawn from the same panels as the pictures of matplotlib."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from skedasis.plots.spec import View
from skedasis.plots.svg.diagnosis import diagnosis
from skedasis.plots.svg.effect import compare, small
from skedasis.plots.svg.effect import effect as effect_drawing
from skedasis.plots.svg.elements import Drawing
from skedasis.plots.svg.overview import calibration, ledger, places
from skedasis.plots.svg.surface import surface as surface_drawing
from skedasis.report import captions
from skedasis.report.captions import Caption
from skedasis.report.levels import quoted
from skedasis.report.story.told import Told
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.effect import Effect
from skedasis.results.surface import Surface

MANY = 12
"""Small figures side by side: more of them are no overview."""


@dataclass(frozen=True)
class Shown:
    """A figure of the page.

    Parameters
    ----------
    svg : Markup
    width, height : float
        Pixels that it takes where there is room.
    caption : str
    """

    svg: Markup
    width: float
    height: float
    caption: str


def shown(drawing: Drawing, caption: str) -> Shown:
    """Return a drawing with its caption."""
    return Shown(drawing.svg, round(drawing.width, 1), round(drawing.height, 1), caption)


def of_feature(told: Told, feature: str, ident: str) -> list[Shown]:
    """Draw a feature's RHALE, its curves by several methods, and its PDP with individual curves.

    Parameters
    ----------
    told : Told
    feature : str
    ident : str
        Unique on the page.

    Returns
    -------
    list of Shown
        Nothing for a feature that takes one value.
    """
    if len(told.rhale[feature].points) < 2:
        return []
    made = [
        _effect(told.rhale[feature], captions.of_rhale(told, feature), f"{ident}-rhale"),
        _compared(told, feature, f"{ident}-all"),
        _effect(told.pdp[feature], captions.of_pdp(told, feature), f"{ident}-pdp"),
    ]
    return [one for one in made if one is not None]


def _effect(effect: Effect, said: Caption, ident: str) -> Shown:
    return shown(effect_drawing(effect, ident=ident, title=said.title, alt=said.rest), said.text)


def _compared(told: Told, feature: str, ident: str) -> Shown | None:
    """Lay over one another what there is of a feature; one curve alone would be drawn twice on the page."""
    some = {
        m: e
        for m, e in captions.of_methods(told, feature).items()
        if np.isfinite(e.value).sum() > 1
    }
    if len(some) < 2:
        return None
    said = captions.of_compared(told, feature, list(some))
    return shown(compare(some, ident=ident, title=said.title, alt=said.rest), said.text)


def of_all(effects: Mapping[str, Effect], ident: str) -> list[Shown]:
    """Draw the most important effects on shared scales, each small and for itself; last what explains them all.

    Parameters
    ----------
    effects : mapping of str to Effect
    ident : str
        Unique on the page.
    """
    there = {f: e for f, e in effects.items() if np.isfinite(e.value).sum() > 1}
    if len(there) < 2:
        return []  # nothing to compare
    drawn, legend = small(there, ident=ident, top=MANY, lower=False, view=View(ice=None))
    return [shown(one, "") for one in (*drawn, legend)]


def of_places(told: Told, links: Mapping[str, str], ident: str) -> Shown | None:
    """Draw importance against heterogeneity score, each point a link to its feature."""
    if not any(math.isfinite(p.heterogeneity_score) for p in told.places):
        return None
    unit = f" ({told.axis})"
    drawing = places(
        told.places,
        ident=ident,
        links={feature: f"#{anchor}" for feature, anchor in links.items()},
        x_label=f"importance{unit}",
        y_label=f"heterogeneity score{unit}",
    )
    return shown(drawing, "")


def of_ledger(told: Told, ident: str) -> Shown | None:
    """Draw how much of the quantity's variance the effects add up to."""
    if told.ledger is None:
        return None
    caption = (
        "How much of the variance of the prediction the sum of the effects on this page explains."
    )
    rest = told.ledger.said[-1] if told.ledger.rest else ""
    return shown(ledger(told.ledger.shares, ident=ident), f"{caption} {rest}".rstrip())


def of_calibration(told: Told, ident: str) -> Shown | None:
    """Draw predicted probabilities beside observed shares."""
    quality = told.quality
    if quality is None or quality.calibration is None:
        return None
    name = quoted(quality.class_ or "")
    caption = f"Calibration: among rows to which it gives a probability of {name}, the share that is of this class."
    return shown(calibration(quality.calibration, ident=ident), caption)


def of_pair(surface: Surface, ident: str) -> Shown:
    """Draw what two features do together."""
    return shown(surface_drawing(surface, ident=ident), "")


def of_diagnosis(found: Diagnosis, ident: str) -> Shown:
    """Draw what the importances for likelihood and for entropy say together of each feature."""
    caption = "What the likelihood- and the entropy-importance of each feature say together."
    return shown(diagnosis(found, ident=ident), caption)
