"""Many effects side by side on shared scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from markupsafe import Markup

from skedasis.plots.marks import Picture
from skedasis.plots.multiples import columns_for, comparable, ordered
from skedasis.plots.scale import shortened
from skedasis.plots.view import View
from skedasis.plots.web.areas import Defs
from skedasis.plots.web.drawing import Drawing, sheet
from skedasis.plots.web.legend import WIDE, Keys, legend
from skedasis.plots.web.panel import head_of
from skedasis.plots.web.stack import EDGE, RIGHT, Stack, hits, stacked
from skedasis.plots.web.text import width_of
from skedasis.plots.web.words import described
from skedasis.results.effect import Effect

WIDTH, ACROSS, LEGEND = 236.0, 22, 356.0
"""Pixels across one of them, letters that fit across its panels, and pixels across their legend."""
HEIGHTS = {"main": 120.0, "slopes": 84.0}


def small(
    effects: Mapping[str, Effect],
    *,
    ident: str,
    by: Literal["importance", "heterogeneity_score"] = "importance",
    top: int | None = None,
    lower: bool = True,
    view: View | None = None,
) -> tuple[list[Drawing], Drawing]:
    """Draw many effects on shared scales, each on its own sheet: a page lays them side by side as it has room.

    Parameters
    ----------
    effects : Effects
    ident : str
        Each figure's own begins with it, and ends with its place.
    by : {"importance", "heterogeneity_score"}
        What to order by; the largest comes first.
    top : int, optional
        Only so many.
    lower : bool
        Whether to draw the bins' slopes, too, per standard deviation of the feature.
    view : View, optional

    Returns
    -------
    drawings : list of Drawing
    legend : Drawing
        What explains them all.

    Raises
    ------
    DataError
        Where there is nothing to draw, and for a `by` that does not exist.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> found = sd.explain(lambda X: X[:, 0] + 3 * X[:, 2], X, method=sd.ALE(bins=5))
    >>> [drawing.title for drawing in small(found, ident="s", top=2)[0]]
    ['ALE of x2', 'ALE of x0']
    """
    chosen, shown, view = _chosen(effects, by, top, lower=lower, view=view)
    heads = _heads(shown)
    out: list[Drawing] = []
    keys: Keys = {}
    for i, (found, pic) in enumerate(zip(chosen, shown, strict=True)):
        name = f"{ident}-{i}"
        stack = _small(found, pic, view, Defs(name), (0.0, 2.0), heads)
        keys |= stack.keys
        said = f"{found.spec.method} of {shortened(found.feature, 60)}"
        parts = [stack.defs.written(), *stack.parts]
        words = described(found, pic.main)
        out.append(sheet(parts, (WIDTH, stack.start + 4), ident=name, title=said, alt=words))
    keys = _alike(keys)
    drawn, high = legend(keys, EDGE, 2, LEGEND - 2 * EDGE)
    words = f"What the marks mean: {'; '.join(keys)}"
    below = sheet([drawn], (LEGEND, high + 4), ident=f"{ident}-legend", title="Legend", alt=words)
    return out, below


def _alike(keys: Keys) -> Keys:
    """Return a legend in which marks that look alike, here a slope and there a step, have one entry if it fits."""
    names: dict[str, str] = {}
    out: Keys = {}
    for said, drawn in keys.items():
        before = names.get(str(drawn), "")
        both = f"{before} or {said}"
        if before and width_of(both) <= LEGEND - WIDE - 6 * EDGE:
            out = {both if k == before else k: v for k, v in out.items()}
        else:
            both = said
            out[said] = drawn
        names[str(drawn)] = both
    return out


def _chosen(
    effects: Mapping[str, Effect],
    by: Literal["importance", "heterogeneity_score"],
    top: int | None,
    *,
    lower: bool,
    view: View | None,
) -> tuple[list[Effect], list[Picture], View]:
    """Return which effects are drawn, their panels on shared scales, and what is seen of each."""
    chosen = ordered(effects, by, top)
    view = replace(View(curves=60) if view is None else view, across=ACROSS)
    return chosen, comparable(chosen, view, lower), view


def _heads(shown: Sequence[Picture]) -> tuple[float, float]:
    """Return how much room above their frames all main panels need, and all lower ones: then they stand level."""
    room = WIDTH - RIGHT - EDGE
    main = [head_of(p.main, room, title=p.main.title, notes=p.main.notes) for p in shown]
    there = [p.slopes for p in shown if p.slopes is not None]
    lower = [head_of(p, room, title="", notes=p.notes) for p in there]
    return max(main), max(lower, default=0.0)


def _small(
    found: Effect,
    shown: Picture,
    view: View,
    defs: Defs,
    origin: tuple[float, float],
    heads: tuple[float, float],
) -> Stack:
    """Draw one of many, its upper left corner at `origin`."""
    named = (("main", shown.main), ("slopes", shown.slopes))
    there = [(panel, HEIGHTS[k]) for k, panel in named if panel is not None]
    stack = stacked(defs, there, WIDTH, origin, small=True)
    for i, (panel, height) in enumerate(there):
        last = i == len(there) - 1
        stack.add(panel, height, last=last, titled=i == 0, above=heads[i])
    stack.parts.append(hits(found, replace(shown, groups=None), view, stack.frames))
    return stack


def effects(
    effects: Mapping[str, Effect],
    *,
    ident: str,
    by: Literal["importance", "heterogeneity_score"] = "importance",
    top: int | None = None,
    columns: int | None = None,
    lower: bool = True,
    view: View | None = None,
    title: str = "",
    alt: str = "",
) -> Drawing:
    """Draw many effects on shared scales side by side, on one sheet.

    Parameters
    ----------
    effects, ident, by, top, lower, view
        As in `small`.
    columns : int, optional
        Of the grid.
    title, alt : str

    Returns
    -------
    Drawing

    Raises
    ------
    DataError
        As `small` does.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> found = sd.explain(lambda X: X[:, 0] + 3 * X[:, 2], X, method=sd.ALE(bins=5))
    >>> effects(found, ident="all", columns=3).width
    708.0
    """
    chosen, shown, view = _chosen(effects, by, top, lower=lower, view=view)
    columns = min(columns or columns_for(len(chosen)), len(chosen))
    defs, parts, keys = Defs(ident), list[Markup](), Keys()
    foot = 2.0
    for first in range(0, len(chosen), columns):
        line, heads = foot, _heads(shown[first : first + columns])
        for column, i in enumerate(range(first, min(first + columns, len(chosen)))):
            stack = _small(chosen[i], shown[i], view, defs, (WIDTH * column, line), heads)
            parts += stack.parts
            keys |= stack.keys
            foot = max(foot, stack.start + 14)
    width = WIDTH * columns
    drawn, high = legend(_alike(keys), EDGE, foot, width - 2 * EDGE)
    names = ", ".join(shortened(found.feature, 40) for found in chosen)
    words = (
        alt
        or f"{len(chosen)} effects on shared scales, ordered by {by.replace('_', ' ')}: {names}."
    )
    parts = [defs.written(), *parts, drawn]
    said = title or f"Effects, by {by.replace('_', ' ')}"
    return sheet(parts, (width, foot + high + 4), ident=ident, title=said, alt=words)
