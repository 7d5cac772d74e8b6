"""The results that the demonstration prints: a table of both models, and a few sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table as Lines

from skedasis.plots.scales import NOISE, number, number_or_zero
from skedasis.report.numbers import listed
from skedasis.report.story.told import Told

if TYPE_CHECKING:
    from skedasis.results.effect import Effect

MOST = 8
"""Largest number of features in the table; the page has all."""
_ALIKE = 0.25
"""Below this ratio of score and importance the average effect holds for nearly every row."""
_HIDDEN = 0.2
"""The smallest score of a feature that is called misleading, as a fraction of the largest importance."""


def ranking(told: Sequence[Told]) -> Lines:
    """Return a table of the importance and the heterogeneity score of each feature, for all models.

    Parameters
    ----------
    told : sequence of Told
        The table is sorted by the larger of importance and score of the first one.
    """
    first = told[0]
    order = sorted(first.rhale, key=lambda name: -_size(first.rhale[name]))
    table = Lines(
        title=escape(f"Effects on {first.axis}"),
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
        caption=None if len(order) <= MOST else f"and {len(order) - MOST} more on the page",
        caption_justify="left",
    )
    table.add_column("feature", overflow="fold")
    for one in told:
        table.add_column(escape(f"{one.name}\nimportance"), justify="right")
        table.add_column("\nheterogeneity", justify="right")
    for name in order[:MOST]:
        cells: list[str] = []
        for one in told:
            effect = one.rhale[name]
            score, importance = effect.heterogeneity_score, effect.importance
            cells += [number_or_zero(importance, score), number_or_zero(score, importance)]
        table.add_row(escape(name), *cells)
    return table


def sentences(told: Sequence[Told]) -> list[str]:
    """Return sentences on the most important and the most misleading effect, and whether the models agree on them."""
    first = told[0]
    top, hidden = most_important(first), most_hidden(first)
    if top is None:
        return [f"No feature changes {first.quantity} on average."]
    text = f"{top} has the largest average effect: {_numbers(first, top)}. {_compared(first, top)}"
    said = [text + _partner(first, top)]
    if hidden is not None and hidden != top:
        text = f"{hidden} has the most misleading average effect: {_numbers(first, hidden)}. "
        said.append(text + "Its effect depends on the other features." + _partner(first, hidden))
    same = [one for one in told[1:] if most_important(one) == top and most_hidden(one) == hidden]
    if same:
        names = listed([one.name for one in same])
        about = top if hidden in (None, top) else f"{top} and {hidden}"
        said.append(
            f"The {names} {'agrees' if len(same) == 1 else 'agree'} on {about}. Models of different kinds agree, so "
            "this is likely a property of the data."
        )
    return said


def shown(told: Told) -> list[str]:
    """Return the features that `sentences` speaks of, each once."""
    return [n for n in dict.fromkeys([most_important(told), most_hidden(told)]) if n is not None]


def most_important(told: Told) -> str | None:
    """Return the feature with the largest importance; None if none is above 0."""
    name = max(told.rhale, key=lambda n: told.rhale[n].importance)
    return name if told.rhale[name].importance > 0 else None


def most_hidden(told: Told) -> str | None:
    """Return the feature with the largest score among those whose score is above their importance.

    None where no such score is a fifth of the largest importance.
    """
    least = _HIDDEN * max(e.importance for e in told.rhale.values())
    some = [n for n, e in told.rhale.items() if e.heterogeneity_score > max(e.importance, least)]
    return max(some, key=lambda n: told.rhale[n].heterogeneity_score, default=None)


def _size(effect: Effect) -> float:
    score = effect.heterogeneity_score
    return effect.importance if math.isnan(score) else max(effect.importance, score)


def _numbers(told: Told, name: str) -> str:
    effect = told.rhale[name]
    unit = _unit(told)
    score, importance = effect.heterogeneity_score, effect.importance
    return (
        f"importance {number_or_zero(importance, score)}, heterogeneity {number_or_zero(score, importance)}"
        f"{' ' + unit if unit else ''}"
    )


def _compared(told: Told, name: str) -> str:
    """Return a sentence on the heterogeneity score of a feature relative to its importance."""
    effect = told.rhale[name]
    ratio = effect.heterogeneity_score / effect.importance
    if not ratio > NOISE:
        return "It is the same for all rows."
    if ratio < _ALIKE:
        return "It holds for nearly every row."
    if ratio < 1:
        return f"It differs between rows: the heterogeneity score is {ratio:.0%} of the importance."
    return "It describes few rows: the heterogeneity score is larger than the importance."


def _partner(told: Told, name: str) -> str:
    """Return a sentence on the feature's strongest interaction; empty if none of its pairs was computed."""
    for one in told.together.strengths:
        if name in one.features and one.strength > 0:
            other = one.features[one.features[0] == name]
            return f" It interacts most with {other} (interaction strength {number(one.strength)})."
    return ""


def _unit(told: Told) -> str:
    effect = next(iter(told.rhale.values()))
    return effect.about.unit or ""
