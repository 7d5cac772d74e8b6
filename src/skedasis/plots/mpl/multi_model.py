"""Figures of several models by matplotlib: the mean, its interval, and one thin curve or dot per model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from skedasis._renamed import refuse_old_keywords
from skedasis.errors import DataError
from skedasis.plots.figures.compare import (
    EACH,
    MEAN,
    ModelsSpec,
    columns_for,
    importance_panel,
    models_panel,
)
from skedasis.plots.figures.effect import share_vertical_axis
from skedasis.plots.figures.importance import EACH_REPEAT, MEAN_OF_REPEATS
from skedasis.plots.keywords import By
from skedasis.plots.mpl.effect import blank_figure, depth, legend_below, legend_in
from skedasis.plots.mpl.importance import bare, draw_bars, line_height
from skedasis.plots.mpl.marks import Legend, clear_frame, draw_panel, head, headed, label_below
from skedasis.plots.scales import shorten
from skedasis.plots.spec import Panel
from skedasis.plots.theme import INK, SMALL
from skedasis.results.multi_model import (
    IntervalTarget,
    ModelsRank,
    MultiModelEffect,
    MultiModelEffects,
    MultiModelImportance,
)

DASH = 0.035
"""Half width of a dash at a nominal level."""


@refuse_old_keywords
def draw_models(
    found: MultiModelEffect,
    ax: Axes | None = None,
    *,
    confidence_level: float = 0.95,
    of: IntervalTarget | None = None,
    legend: bool = True,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Draw one feature's effect for several models.

    Parameters
    ----------
    found : MultiModelEffect
    ax : matplotlib Axes, optional
        Axes to draw on. By default a figure is created.
    confidence_level, of
        As in `MultiModelEffect.interval`.
    legend : bool
        Whether to draw a legend.
    size : (float, float), optional
        Width and height of the figure in inches.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    DataError, UnsupportedError
        As `MultiModelEffect.interval`.
    """
    shown, own = models_panel(found, confidence_level, of), ax is None
    panel = shown.panel
    if ax is None:
        width, height = size or (6.8, 4.2 + depth(panel.x))
        ax = blank_figure((width, height)).subplots()
        clear_frame(ax)
    entries = _draw_models(ax, shown, panel)
    head(ax, panel, 100 if size is None else round(100 * size[0] / 6.8))
    label_below(ax, panel.x)
    _explain(ax, entries, own=own, legend=legend)
    return ax.figure.canvas.figure


def _draw_models(ax: Axes, shown: ModelsSpec, panel: Panel, *, small: bool = False) -> Legend:
    """Draw a panel, and above its band, which would hide them, the curves of the models."""
    entries = draw_panel(ax, panel, small=small)
    width = 0.7
    x, ends = shown.x, shown.each
    if shown.shift is not None:
        middle = np.add.outer(shown.shift, x).ravel()
        y = np.repeat(shown.each.reshape(-1, 1), 2, axis=1)
        paths = np.stack([np.stack([middle - DASH, middle + DASH], axis=1), y], axis=-1)
        width = 1.2
    else:
        if len(x) == 1:  # a single point has no line: draw a dash
            x, ends = x + np.array([-0.01, 0.01]), np.repeat(ends, 2, axis=1)
        paths = np.stack([np.broadcast_to(x, ends.shape), ends], axis=-1)
    lines = LineCollection(list(paths), zorder=2.6, color=INK, lw=width, alpha=0.6)
    ax.add_collection(lines, autolim=False)
    return {**entries, EACH: Line2D([], [], color=INK, lw=width, alpha=0.6)}


def _explain(ax: Axes, entries: Legend, *, own: bool, legend: bool) -> None:
    if legend and own:
        legend_below(ax.figure.canvas.figure, entries)
    elif legend:
        legend_in(ax, entries)


@refuse_old_keywords
def draw_all_models(
    found: MultiModelEffects,
    *,
    by: By = "importance",
    top: int | None = None,
    columns: int | None = None,
    confidence_level: float = 0.95,
    of: IntervalTarget | None = None,
    legend: bool = True,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Draw effects of several features side by side on shared vertical scales, most important first.

    Parameters
    ----------
    found : MultiModelEffects
    by : {"importance", "heterogeneity_score"}
    top, columns : int, optional
        Largest number of features; number of columns of the grid.
    confidence_level, of, legend, size
        As in `draw_models`.

    Returns
    -------
    matplotlib Figure
    """
    ranks = found.ranking(by)[:top]
    if not ranks:
        raise DataError("plot", "no effect", "at least one effect", "Explain one or more features")
    each = [models_panel(found[r.feature], confidence_level, of) for r in ranks]
    panels = share_vertical_axis([own.panel for own in each])
    columns = columns or columns_for(len(panels))
    rows = -(-len(panels) // columns)
    deep = sum(
        max(depth(p.x) for p in panels[i : i + columns]) for i in range(0, len(panels), columns)
    )
    figure = blank_figure(size or (2.75 * columns + 0.5, 2.3 * rows + 0.9 + deep))
    entries: Legend = {}
    for i, (panel, own, rank) in enumerate(zip(panels, each, ranks, strict=True)):
        ax = figure.add_subplot(rows, columns, i + 1)
        clear_frame(ax)
        shown = _with_rank(panel, rank, i, len(own.each))
        entries |= _draw_models(ax, own, shown, small=True)
        if i % columns:
            ax.set_ylabel("")
        ax.tick_params(labelleft=i % columns == 0)
        head(ax, shown, 44)
        label_below(ax, shown.x, SMALL)
    if legend:
        legend_below(figure, entries)
    return figure


def _with_rank(panel: Panel, rank: ModelsRank, place: int, models: int) -> Panel:
    """Return the panel with its feature as title, and its importance and rank as notes."""
    notes = (
        f"importance {rank.importance:.3g} ± {rank.between:.2g}",
        f"rank 1 in {rank.first} of {models} models",
    )
    rug = None if panel.rug is None else replace(panel.rug, label="rows, or quantiles")
    y = replace(panel.y, name=shorten(panel.y.name, 36))
    return replace(
        panel, title=f"{place + 1}. {shorten(rank.feature, 24)}", notes=notes, rug=rug, y=y
    )


@refuse_old_keywords
def draw_importances(
    found: MultiModelImportance,
    ax: Axes | None = None,
    *,
    features: Sequence[str] | None = None,
    top: int | None = None,
    confidence_level: float = 0.95,
    of: IntervalTarget | None = None,
    legend: bool = True,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Draw importances for several models: means as bars, models as dots, most important first.

    Parameters
    ----------
    found : MultiModelImportance
    ax : matplotlib Axes, optional
    features, top
        As in `draw_importance`.
    confidence_level, of, legend, size
        As in `draw_models`.

    Returns
    -------
    matplotlib Figure
    """
    panel = importance_panel(
        found, features=features, top=top, confidence_level=confidence_level, of=of
    )
    own = ax is None
    if ax is None:
        n = len(panel)
        ax = blank_figure(size or (6.8, 1.35 + line_height(n) * n)).subplots()
        bare(ax)
    drawn = draw_bars(ax, panel)
    renamed = {MEAN_OF_REPEATS: MEAN, EACH_REPEAT: EACH}
    entries = {renamed.get(label, label): artist for label, artist in drawn.items()}
    label_below(ax, panel.x)
    headed(ax, panel.title, panel.notes, 90 if size is None else round(90 * size[0] / 6.8))
    _explain(ax, entries, own=own, legend=legend)
    return ax.figure.canvas.figure
