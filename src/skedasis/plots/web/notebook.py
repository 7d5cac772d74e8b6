"""Results as notebooks show them: a picture or a table that needs no script, on a ground of its own."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from functools import singledispatch
from typing import Any

from markupsafe import Markup

from skedasis.plots.numbers import count
from skedasis.plots.web import bars, figure, fits, heat, many
from skedasis.plots.web.behind import numbers_of
from skedasis.plots.web.diagnosis import diagnosis as diagnosed
from skedasis.plots.web.drawing import Drawing
from skedasis.plots.web.page import asset, style
from skedasis.plots.web.say import lead
from skedasis.plots.web.svg import tag
from skedasis.plots.web.tables import folded
from skedasis.results.checks.check import Trust
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects
from skedasis.results.importance import Importance
from skedasis.results.multi_model import (
    EffectOfModels,
    EffectsOfModels,
    ImportanceOfModels,
    SurfaceOfModels,
)
from skedasis.results.surface import Surface

MOST = 12
"""Features whose pictures are shown: more of them are a page, not a cell's output."""
BARS = 30
"""Bars that are shown."""
_TIP = re.compile(r' data-tip="([^"]*)"([^>]*)>')


def html_of(result: Any) -> str:
    """Return a result as HTML that stands alone.

    Parameters
    ----------
    result : Result

    Returns
    -------
    str
        One element with its style: no script, nothing from elsewhere. What marks stand for is told by the browser's
        own tooltips. The same result is the same text, so that a notebook that is run again has not changed.
    """
    look = Markup(style() + asset("explore.css"))  # noqa: S704 - our own
    body = tag("div", tag("style", look), *parts_of(result), class_="skd-figure skd-static")
    return str(body)


@singledispatch
def parts_of(result: Any) -> list[Markup]:
    """Return what is shown of a result, from above to below; of one without a picture its tables."""
    return numbers_of(result)


def still(draw: Callable[[str], Drawing]) -> Markup:
    """Return a picture for a page without a script.

    Parameters
    ----------
    draw : callable
        From what is unique on the page to a drawing.

    Returns
    -------
    Markup

    Notes
    -----
    Names within a picture must be unique on a page that others fill, too, and the same when it is drawn again: they are
    made from what the picture itself is. It is drawn with a name that no data can hold, and renamed when it is there.
    """
    name = f"skd-{secrets.token_hex(16)}"
    return tag("figure", _still(draw(name).svg, name))


def still_many(draw: Callable[[str], tuple[list[Drawing], Drawing]]) -> list[Markup]:
    """Return small pictures side by side, and their legend, as `still` does."""
    name = f"skd-{secrets.token_hex(16)}"
    drawn, legend = draw(name)
    items = [tag("li", _still(one.svg, name), class_="skd-item") for one in drawn]
    return [tag("ul", *items, class_="skd-gallery"), tag("figure", _still(legend.svg, name))]


def _still(drawn: Markup, name: str) -> Markup:
    svg = str(drawn)
    own = f"skd-{hashlib.sha256(svg.replace(name, '').encode()).hexdigest()[:12]}"
    svg = svg.replace(name, own).replace(' tabindex="0"', "", 1)
    # What is escaped for an attribute is escaped for text.
    return Markup(_TIP.sub(r"\2><title>\1</title>", svg))  # noqa: S704 - escaped where it was drawn


def _note(said: str) -> Markup:
    return tag("p", said, class_="skd-hint", dir="auto")


@parts_of.register
def _(effect: Effect) -> list[Markup]:
    drawn = still(lambda ident: figure.effect(effect, ident=ident))
    return [drawn, _note(f"{lead(effect)} explore() shows its numbers under the pointer.")]


@parts_of.register
def _(effects: Effects) -> list[Markup]:
    if not effects:
        return [_note("No effect.")]
    drawn = still_many(lambda ident: many.small(effects, ident=ident, top=MOST))
    return [*drawn, _note(_many(len(effects))), folded("Ranking", *numbers_of(effects))]


def _many(features: int) -> str:
    left = f", the {MOST} most important ones drawn" if features > MOST else ""
    return f"Effects of {count(features, 'feature')}{left}. explore() filters and sorts them."


@parts_of.register
def _(surface: Surface) -> list[Markup]:
    drawn = still(lambda ident: heat.surface(surface, ident=ident))
    return [drawn, _note(f"{lead(surface)} explore() shows its numbers under the pointer.")]


@parts_of.register
def _(importance: Importance) -> list[Markup]:
    top = min(BARS, len(importance))
    drawn = [still(lambda ident: bars.importance(importance, ident=ident, top=top))] if top else []
    return [*drawn, folded("The numbers", *numbers_of(importance))]


@parts_of.register
def _(found: ImportanceOfModels) -> list[Markup]:
    top = min(BARS, len(found.features))
    drawn = still(lambda ident: fits.importances(found, ident=ident, top=top))
    return [drawn, folded("The numbers", *numbers_of(found))]


@parts_of.register
def _(diagnosis: Diagnosis) -> list[Markup]:
    drawn = still(lambda ident: diagnosed(diagnosis, ident=ident))
    return [drawn, folded("Verdicts and numbers", *numbers_of(diagnosis))]


@parts_of.register
def _(found: EffectOfModels) -> list[Markup]:
    drawn = still(lambda ident: fits.models(found, ident=ident))
    return [drawn, _note("explore() shows its numbers under the pointer.")]


@parts_of.register
def _(found: EffectsOfModels) -> list[Markup]:
    if not found:
        return [_note("No effect.")]
    many = fits.small_models
    drawn = still_many(lambda ident: many(found, ident=ident, top=MOST))
    return [*drawn, _note(_many(len(found))), folded("Ranking", *numbers_of(found))]


@parts_of.register
def _(found: SurfaceOfModels) -> list[Markup]:
    return parts_of(found.mean())


@parts_of.register
def _(trust: Trust) -> list[Markup]:
    if not trust:
        return [_note("Nothing to object.")]
    return numbers_of(trust)
