"""Several effects of one feature, laid over one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from skedasis.plots.artists import (
    axis_of,
    clear_frame,
    headed,
    label_below,
    label_beside,
    rug_of,
)
from skedasis.plots.mpl import blank_figure, depth, legend_below, legend_in
from skedasis.plots.overlay import Overlay, Strand, Zero, gathered, overlay
from skedasis.plots.palette import FAINT, HUES, MARKS, OFTEN, STROKES
from skedasis.plots.style import Legend
from skedasis.results.effect import Effect


def compare(
    *effects: Effect | Sequence[Effect] | Mapping[str, Effect],
    labels: Sequence[str] | None = None,
    center: Zero = "mean",
    ax: Axes | None = None,
    level: float = 0.95,
    legend: bool = True,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Lay several effects of the same feature over one another.

    Parameters
    ----------
    *effects : Effect
        Such as a PDP, an ALE and an M-plot; or a single list of them, or a mapping from labels to them. At most 8.
    labels : sequence of str, optional
        For the legend. By default the methods' names, and the quantity's where it is not the first one's.
    center : {"mean", None}
        "mean" subtracts from each effect its mean over the data, so that all have the same zero; None leaves them as
        they are. Slopes are never centred.
    ax : matplotlib Axes, optional
        Draw there. By default a figure is made.
    level : float
        Of the intervals, which are drawn of up to 3 effects.
    legend : bool
    size : (float, float), optional
        Width and height of the figure in inches.

    Returns
    -------
    matplotlib Figure
        Notebooks show it; ``savefig`` writes it.

    Raises
    ------
    DataError
        For no effect, more than 8, effects of different features, labels that are not one for each, a `center` that
        does not exist, or a level outside (0, 1).
    UnsupportedError
        For surfaces, slopes beside values, levels beside numbers, and different units.

    Notes
    -----
    Each effect has a line style, a mark and a colour of its own, so that none needs the colour. Intervals are those of
    the effects by themselves, moved with them. Levels of a categorical feature stand in the first effect's order, the
    effects side by side at each. No model row.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> methods = [sd.PDP(), sd.ALE(), sd.MPlot()]
    >>> found = [sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=m) for m in methods]
    >>> figure = compare(found)
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['PDP', 'ALE', 'MPlot', 'rows']
    """
    given, named = gathered(effects)
    shown = overlay(given, named if labels is None else labels, center, level)
    own = ax is None
    if ax is None:
        width, height = size or (6.8, 4.4 + depth(shown.x))
        ax = blank_figure((width, height)).subplots()
        clear_frame(ax)
    entries = _drawn(ax, shown)
    label_below(ax, shown.x)
    wide = 100 if size is None else round(100 * size[0] / 6.8)
    headed(ax, "Comparison" if len(given) > 1 else shown.strands[0].label, shown.notes, wide)
    if legend:
        if own:
            legend_below(ax.figure, entries)
        else:
            legend_in(ax, entries)
    return ax.figure.canvas.figure


def _drawn(ax: Axes, shown: Overlay) -> Legend:
    axis_of(ax, "x", shown.x, 7)
    axis_of(ax, "y", shown.y, 6)
    label_beside(ax, shown.y)
    if shown.zero:
        ax.axhline(0, color=FAINT, lw=0.7, zorder=1.4)
    entries: Legend = {}
    for place, strand in enumerate(shown.strands):
        entries[strand.label] = _strand(ax, strand, place, bands=shown.bands)
    if shown.rug is not None:
        entries[shown.rug.label] = rug_of(ax, shown.rug)
    return entries


def _strand(ax: Axes, strand: Strand, place: int, *, bands: bool) -> Line2D:
    """Draw one effect, in its own style, and return what explains it."""
    hue, mark, stroke = HUES[place], MARKS[place], STROKES[place]
    lined = strand.joined is not None and len(strand.x) > 1
    area = strand.joined == "line" and len(strand.x) > 1
    look: dict[str, Any] = {"color": hue, "marker": mark, "mfc": "white", "mew": 1.2}
    width = 1.0 if strand.joined == "thin" else 1.8
    look |= {"ms": 4.5, "lw": width, "ls": stroke if lined else "none"}
    if bands and area:
        ax.fill_between(strand.x, strand.lower, strand.upper, color=hue, alpha=0.16, lw=0, zorder=2)
    elif bands:
        ax.vlines(strand.x, strand.lower, strand.upper, color=hue, lw=1.2, zorder=2.5)
    # Marks of different lines are staggered, or they would lie upon each other; levels are all marked.
    every = max(1, -(-len(strand.x) // OFTEN)) if area else 1
    marked = np.arange((place * every) // 3 % every, len(strand.x), every).tolist()
    ax.plot(strand.x, strand.y, markevery=marked, zorder=3, **look)
    return Line2D([], [], **look)
