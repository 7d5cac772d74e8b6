"""Titles of figures, alike for all kinds: first the feature, then the quantity, and last the method."""

from __future__ import annotations

from collections.abc import Sequence

from skedasis._numbers import counted, with_minus
from skedasis.plots.marks import Title
from skedasis.plots.scales import shorten
from skedasis.results.effect import Effect
from skedasis.results.effect_words import TIMES, kind_of, method_of
from skedasis.results.importance import Importance
from skedasis.results.surface import Surface

LONG = 60
"""Most characters of a name in titles, tooltips and alternative text."""


def effect_title(*effects: Effect, of: str = "", quantity: str = "", among: str = "") -> Title:
    """Return the title of one or more effects."""
    first, rules = effects[0], {with_minus(e.rule) for e in effects}
    rule = rules.pop() if len(rules) == 1 else ""
    subject = shorten(of or first.feature_title, LONG)
    names = [quantity] if quantity else list(dict.fromkeys(e.about.quantity for e in effects))
    what = f"{kind_of(first)} {listed([shorten(n, LONG) for n in names], 'quantities')}"
    return Title(
        f"{subject}, {shorten(rule, LONG)}" if rule else subject,
        f"{what}, {among}" if among else what,
        listed([method_of(e) for e in effects], "methods"),
    )


def surface_title(*surfaces: Surface, of: str = "") -> Title:
    """Return the title of one or more surfaces, by default of the two features of the first one."""
    first = surfaces[0]
    names = [shorten(s.about.quantity, LONG) for s in surfaces]
    return Title(
        of or TIMES.join(shorten(n, LONG) for n in first.feature_titles),
        f"{kind_of(first)} {listed(names, 'quantities')}",
        listed([method_of(s) for s in surfaces], "methods"),
    )


def importance_title(importance: Importance, what: str = "", among: str = "") -> Title:
    """Return the title of importances for the metric or quantity; `what` replaces "importance for …"."""
    what = what or f"importance for {shorten(importance.metric or importance.quantity, LONG)}"
    return Title(
        counted(len(importance), "feature"),
        f"{what}, {among}" if among else what,
        importance.method,
    )


def listed(names: Sequence[str], things: str) -> str:
    """Return different names as an enumeration: "a, b and c"; of many or long ones their number."""
    *most, last = names = list(dict.fromkeys(names))
    text = f"{', '.join(most)} and {last}" if most else last
    return text if len(text) <= LONG or not most else f"{len(names)} {things}"
