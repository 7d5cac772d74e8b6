"""Figures of effects: one with all its panels, many side by side, several laid over one another."""

from __future__ import annotations

from dataclasses import replace

from skedasis.plots.panels import picture
from skedasis.plots.scale import shortened
from skedasis.plots.view import View
from skedasis.plots.web.areas import Defs
from skedasis.plots.web.drawing import Drawing, sheet
from skedasis.plots.web.legend import legend
from skedasis.plots.web.many import effects, small
from skedasis.plots.web.over import compare
from skedasis.plots.web.stack import EDGE, hits, stacked
from skedasis.plots.web.words import described
from skedasis.results.effect import Effect

__all__ = ["WIDTH", "Drawing", "compare", "effect", "effects", "small"]

WIDTH = 480.0
"""Pixels across a figure: on a phone two thirds of it, where its letters can still be read."""
ACROSS = 56
"""Letters of a count that fit across its panels."""
POINTS, LEAST = 60_000, 20
"""Points of all individual curves together, and how many curves there may be whatever that takes."""
HEIGHTS = {"main": 220.0, "slopes": 160.0, "counts": 44.0, "groups": 90.0}


def effect(
    effect: Effect, view: View | None = None, *, ident: str, title: str = "", alt: str = ""
) -> Drawing:
    """Draw an effect with all its panels.

    Parameters
    ----------
    effect : Effect
    view : View, optional
        What is to be seen; how much room there is, is the figure's own.
    ident : str
        Letters, digits and hyphens, unique on the page: the names of all that the figure refers to begin with it.
    title, alt : str
        What it is called, and what is to be seen, in words; by default they are made from the effect.

    Returns
    -------
    Drawing

    Raises
    ------
    DataError, UnsupportedError
        As `skedasis.plots.panels.picture` does.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> drawing = effect(sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0), ident="f0")
    >>> drawing.title, drawing.width
    ('RHALE of x0', 480.0)
    """
    view = View() if view is None else view
    most = max(LEAST, POINTS // max(len(effect.points), 1))
    view = replace(view, across=ACROSS, curves=min(view.curves, most))
    shown = picture(effect, view)
    named = (
        ("main", shown.main),
        ("slopes", shown.slopes),
        ("counts", shown.counts),
        ("groups", shown.groups),
    )
    there = [(panel, HEIGHTS[k]) for k, panel in named if panel is not None]
    stack = stacked(Defs(ident), there, WIDTH)
    for i, (panel, height) in enumerate(there):
        last = i == len(there) - 1
        stack.add(panel, height, last=last, titled=i == 0)
    stack.parts.append(hits(effect, shown, view, stack.frames))
    said = title or f"{shown.main.title} of {shortened(effect.feature, 60)}"
    drawn, high = legend(stack.keys, EDGE, stack.start + 6, WIDTH - 2 * EDGE)
    parts = [stack.defs.written(), *stack.parts, drawn]
    size = (WIDTH, stack.start + 6 + high + 4)
    words = alt or described(effect, shown.main)
    return sheet(parts, size, ident=ident, title=said, alt=words)
