"""Pages of one result: the interactive twins of `plot`, with the numbers behind the picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Literal

from markupsafe import Markup

from skedasis.errors import DataError, explained
from skedasis.plots.multiples import ordered
from skedasis.plots.numbers import count
from skedasis.plots.view import View
from skedasis.plots.web import bars, figure, fits, heat, many
from skedasis.plots.web.before import before
from skedasis.plots.web.behind import numbers_of
from skedasis.plots.web.diagnosis import diagnosis as diagnosed
from skedasis.plots.web.drawing import Drawing
from skedasis.plots.web.page import Explorable, asset, page, script, style
from skedasis.plots.web.say import lead
from skedasis.plots.web.svg import joined, tag
from skedasis.plots.web.tables import folded
from skedasis.results.diagnosis import Diagnosis
from skedasis.results.effect import Effect
from skedasis.results.importance import Importance
from skedasis.results.multi_model import EffectOfModels, EffectsOfModels, ImportanceOfModels, Of
from skedasis.results.surface import Surface

By = Literal["importance", "heterogeneity_score"]
WIDE = 560
"""Pixels that a figure is shown across, at most."""
CURVES = "Up and down go through the curves."
HINT = (
    "Point at the picture, or tap it, for its numbers. From the keyboard: Tab to the picture, then the arrow keys; "
    "Escape closes."
)


def of_effect(effect: Effect, view: View, *, title: str | None = None) -> Explorable:
    """Return the page of one effect; see `ShownEffect.explore`."""
    drawn = figure.effect(effect, view, ident="effect")
    hints = [HINT] if effect.curves is None or view.ice is None else [HINT, CURVES]
    return _one(title or effect.feature, lead(effect), drawn, numbers_of(effect), hints)


def of_effects(
    effects: Mapping[str, Effect],
    view: View,
    *,
    by: By,
    top: int | None,
    columns: int | None,
    lower: bool,
    title: str | None = None,
) -> Explorable:
    """Return the page of many effects; see `ShownEffects.explore`."""
    _counted(top=top, columns=columns)
    chosen = ordered(effects, by, top)
    drawn, legend = many.small(effects, ident="small", by=by, top=top, lower=lower, view=view)
    sizes = [(e.feature, e.importance, e.heterogeneity_score) for e in chosen]
    kinds = dict.fromkeys(f"{e.spec.method} of {e.about.quantity}" for e in chosen)
    named = title or ", ".join(kinds)
    tiles = Many(drawn, legend, sizes, list(effects), by, columns)
    return of_many(named, tiles, numbers_of(effects))


@dataclass(frozen=True)
class Many:
    """Figures of many features.

    Parameters
    ----------
    drawn : sequence of Drawing
    legend : Drawing
    sizes : sequence of (str, float, float)
        Of each figure the feature, its importance, and its heterogeneity score, NaN where there is none.
    features : sequence of str
        All of them, in X's order.
    by : str
        What they are sorted by.
    columns : int, optional
        So many side by side at most.
    """

    drawn: Sequence[Drawing]
    legend: Drawing
    sizes: Sequence[tuple[str, float, float]]
    features: Sequence[str]
    by: By
    columns: int | None = None


def of_many(title: str, many: Many, tables: Sequence[Markup]) -> Explorable:
    """Return a page of many figures that can be filtered and sorted."""
    shown, total = len(many.drawn), len(many.features)
    places = {name: str(place) for place, name in enumerate(many.features)}
    items = [
        _item(one, size, places[size[0]]) for one, size in zip(many.drawn, many.sizes, strict=True)
    ]
    left = f", the {shown:,} first ones by {many.by.replace('_', ' ')}" if shown < total else ""
    # What explains all figures comes before them: nobody looks below two hundred of them.
    body = [
        head(title, f"{count(total, 'feature')}{left}, on shared scales."),
        tag("figure", many.legend.svg, class_="skd-figure"),
        tag("p", HINT, class_="skd-hint"),
        _controls(many.by, shown),
        tag("ul", *items, class_="skd-gallery"),
        folded("Ranking", *tables),
    ]
    tall = min(440.0 + 320.0 * -(-shown // (many.columns or 3)), 1200.0)
    look = "" if many.columns is None else f".skd-gallery{{--skd-columns:{many.columns}}}"
    return explorable(title, joined(body), tall, scripts=[asset("gallery.js")], look=look)


def _item(one: Drawing, size: tuple[str, float, float], place: str) -> Markup:
    """Return one of many figures with what it is filtered and sorted by."""
    feature, importance, score = size
    return tag(
        "li",
        one.svg,
        class_="skd-item",
        data_feature=feature,
        data_importance=repr(float(importance)),
        data_heterogeneity_score="" if math.isnan(score) else repr(float(score)),
        data_place=place,
    )


def _counted(**given: int | None) -> None:
    """Refuse what is no number of things.

    Raises
    ------
    DataError
    """
    for name, value in given.items():
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if value is not None and (not whole or value < 1):
            expected = "a whole number of at least 1"
            raise DataError(explained(f"explore({name})", repr(value), expected, "Use 12"))


def _controls(by: By, items: int) -> Markup:
    """Return what filters and sorts; hidden until the script is there that answers it."""
    orders = {
        "importance": "importance",
        "heterogeneity_score": "heterogeneity score",
        "name": "name",
        "columns": "columns of X",
    }
    options = [
        tag("option", said, value=name, selected=name == by) for name, said in orders.items()
    ]
    field = Markup('<input type="search" placeholder="name (press /)" autocomplete="off">')
    inner = [
        tag("label", "Filter ", field),
        tag("label", "Sort by ", tag("select", *options)),
        tag("span", count(items, "feature"), role="status"),
    ]
    return tag("div", *inner, class_="skd-controls", role="search", hidden=True)


def of_surface(surface: Surface, *, title: str | None = None) -> Explorable:
    """Return the page of a surface; see `ShownSurface.explore`."""
    a, b = surface.features
    return _one(
        title or f"{a} and {b}",
        lead(surface),
        heat.surface(surface, ident="surface"),
        numbers_of(surface),
    )


def of_importance(
    importance: Importance,
    *,
    kind: Literal["bars", "local"] = "bars",
    features: Sequence[str] | None,
    top: int | None,
    level: float,
    title: str | None = None,
) -> Explorable:
    """Return the page of importances; see `ShownImportance.explore`."""
    if kind not in ("bars", "local"):
        raise DataError(explained("explore(kind)", repr(kind), "'bars' or 'local'", "Name one"))
    if kind == "local":
        drawn = before(importance, ident="rows", features=features, top=top)
    else:
        drawn = bars.importance(importance, ident="bars", features=features, top=top, level=level)
    named = title or f"Importance of {count(len(importance), 'feature')}"
    return _one(named, f"{importance.method}: {importance.axis}.", drawn, numbers_of(importance))


def of_diagnosis(
    diagnosis: Diagnosis, *, level: float | None, title: str | None = None
) -> Explorable:
    """Return the page of a diagnosis; see `ShownDiagnosis.explore`."""
    drawn = diagnosed(diagnosis, ident="where", level=level)
    said = f"{count(len(diagnosis), 'feature')} by what permuting them does to the likelihood and to the entropy."
    return _one(title or "Diagnosis", said, drawn, numbers_of(diagnosis))


def _one(
    title: str, said: str, drawn: Drawing, tables: Sequence[Markup], hints: Sequence[str] = (HINT,)
) -> Explorable:
    """Return the page of one picture."""
    parts = [
        head(title, said),
        tag("figure", drawn.svg, class_="skd-figure"),
        tag("p", " ".join(hints), class_="skd-hint"),
        folded("The numbers", *tables) if tables else Markup(""),
    ]
    tall = drawn.height * min(WIDE / drawn.width, 1.2) + 190
    return explorable(title, joined(parts), tall)


def head(title: str, said: str) -> Markup:
    """Return the heading of a page; a name in it may run from right to left."""
    inner = tag("h1", title, dir="auto"), tag("p", said, class_="skd-lead", dir="auto")
    return tag("header", *inner)


def explorable(
    title: str, body: Markup, height: float, *, scripts: Sequence[str] = (), look: str = ""
) -> Explorable:
    """Return a page of figures that are live.

    Parameters
    ----------
    title : str
    body : Markup
    height : float
        Pixels in a notebook.
    scripts : sequence of str
        Besides the one that makes figures live.
    look : str
        A style of its own.
    """
    styles = [style(), asset("explore.css"), *([look] if look else [])]
    main = tag("main", body, class_="skd-explore")
    html = page(title, main, styles=styles, scripts=[script(), *scripts])
    return Explorable(html, title, round(height))


def of_models(
    found: EffectOfModels, *, level: float, of: Of | None, title: str | None = None
) -> Explorable:
    """Return the page of one feature's effect, of several models; see `ShownEffectOfModels.explore`."""
    drawn = fits.models(found, ident="models", level=level, of=of)
    said = f"{found.spec.method} of {found.about.quantity}, of {count(len(found), 'model')}."
    hints = [HINT, CURVES]
    return _one(title or found.feature, said, drawn, numbers_of(found), hints)


def of_many_models(
    found: EffectsOfModels,
    *,
    by: By,
    top: int | None,
    columns: int | None,
    level: float,
    of: Of | None,
    title: str | None = None,
) -> Explorable:
    """Return the page of many features' effects, of several models; see `ShownEffectsOfModels.explore`."""
    _counted(top=top, columns=columns)
    drawn, legend = fits.small_models(found, ident="small", by=by, top=top, level=level, of=of)
    ranks = found.ranking(by)[:top]
    sizes = [(r.feature, r.importance, r.heterogeneity_score) for r in ranks]
    many = Many(drawn, legend, sizes, list(found), by, columns)
    first = found[ranks[0].feature]
    named = f"{first.spec.method} of {first.about.quantity}, of {count(len(first), 'model')}"
    return of_many(title or named, many, numbers_of(found))


def of_importances(
    found: ImportanceOfModels,
    *,
    features: Sequence[str] | None,
    top: int | None,
    level: float,
    of: Of | None,
    title: str | None = None,
) -> Explorable:
    """Return the page of importances, of several models; see `ShownImportanceOfModels.explore`."""
    drawn = fits.importances(found, ident="bars", features=features, top=top, level=level, of=of)
    first = found.models[0]
    said = f"{first.method}: {first.axis}, of {count(len(found), 'model')}."
    named = title or f"Importance of {count(len(found.features), 'feature')}"
    return _one(named, said, drawn, numbers_of(found))
