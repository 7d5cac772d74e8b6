"""Many effects side by side: which ones, in which order, on which scales. Values; others draw them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from skedasis.errors import DataError, explained
from skedasis.plots import common
from skedasis.plots.levels import steps, values
from skedasis.plots.marks import Panel, Picture
from skedasis.plots.numbers import beside, number, with_error
from skedasis.plots.panels import has_bins, on_shared_scales, picture, slopes
from skedasis.plots.scale import shortened
from skedasis.plots.view import View
from skedasis.results.effect import Effect
from skedasis.results.effects import Effects

LETTERS = 33
"""Of a note above one of many figures: longer ones would break."""


def ordered(
    effects: Mapping[str, Effect],
    by: Literal["importance", "heterogeneity_score"],
    top: int | None,
) -> list[Effect]:
    """Return the effects that are drawn, the largest first.

    Raises
    ------
    DataError
        Where there is nothing to draw; and as `Effects.ranking`, as does UnsupportedError.
    """
    ranks = Effects(dict(effects)).ranking(by)[:top]
    if not ranks:
        raise DataError(explained("plot", "no effect", "at least one", "Explain some features"))
    return [effects[r.feature] for r in ranks]


def heterogeneity(effect: Effect, letters: int | None = None) -> str:
    """Return the heterogeneity score with its standard error, as a caption says it.

    Parameters
    ----------
    effect : Effect
    letters : int, optional
        The error is left out where both need more room.
    """
    score, error = effect.heterogeneity_score, effect.heterogeneity_score_error
    if math.isnan(score):
        return "heterogeneity score not computed"
    said = f"heterogeneity score {with_error(score, error, effect.importance)}"
    if letters is None or len(said) <= letters:
        return said
    return f"heterogeneity score {beside(score, effect.importance)}"


def comparable(effects: Sequence[Effect], view: View, lower: bool) -> list[Picture]:
    """Return the effects' panels on shared scales."""
    mains = on_shared_scales([picture(e, view).main for e in effects])
    below = {i: _below(e, view) for i, e in enumerate(effects)} if lower else {}
    there = {i: replace(p, words=()) for i, p in below.items() if p is not None}
    shared = on_shared_scales(list(there.values()))
    names = sorted({p.y.name for p in shared})
    if names:  # a slope per sd and a step between levels are of one unit, and may be compared
        shared = [replace(p, y=replace(p.y, name=", ".join(names))) for p in shared]
    beneath = dict(zip(there, shared, strict=True))
    return [
        Picture(_headed(main, e, i), beneath.get(i))
        for i, (main, e) in enumerate(zip(mains, effects, strict=True))
    ]


def _below(effect: Effect, view: View) -> Panel | None:
    """Return the panel of an effect's bins, or of the steps between its levels."""
    if effect.levels is not None:
        return steps(effect, view) if effect.bins is not None else values(effect, view)
    return slopes(effect, per_sd=True) if has_bins(effect) else None


def _headed(panel: Panel, effect: Effect, place: int) -> Panel:
    """Return a panel headed by its feature and the two numbers that rank it."""
    name = f"{place + 1}. {shortened(effect.feature, 24)}"
    figures = (f"importance {number(effect.importance)}", heterogeneity(effect, LETTERS))
    missing = common.missing(effect)
    if panel.x.labels and effect.levels is not None and len(effect.levels) > len(panel.lines[0].x):
        missing = (f"{len(panel.lines[0].x)} of {len(effect.levels):,} levels", *missing)
    # One entry in the legend for all, however many rows each has.
    rug = None if panel.rug is None else replace(panel.rug, label="rows, or their quantiles")
    y = replace(panel.y, name=shortened(panel.y.name, 36))
    apart = None if panel.apart is None else replace(panel.apart, label="value missing")
    return replace(
        panel, title=name, notes=(*figures, *missing), rug=rug, y=y, words=(), apart=apart
    )


def columns_for(n: int) -> int:
    """Return how many columns make a page of n panels neither a strip nor a tower."""
    return next((c for c, most in ((1, 1), (2, 4), (3, 9), (4, 16)) if n <= most), 5)
