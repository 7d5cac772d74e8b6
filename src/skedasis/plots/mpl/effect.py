"""Figures of effects, and of several effects of one feature, by matplotlib.

`draw` is behind `Effect.plot`, `draw_all` behind `Effects.plot`, and `compare` is public. Figures are created without
pyplot and without changing rcParams, so that plotting has no global effects.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from skedasis._renamed import refuse_old_keywords
from skedasis.plots.figures.compare import (
    Overlay,
    OverlayCurve,
    Zero,
    as_effects_and_labels,
    columns_for,
    comparable,
    ordered_effects,
    overlay,
)
from skedasis.plots.figures.effect import effect_spec
from skedasis.plots.keywords import By, Ice
from skedasis.plots.mpl.marks import (
    Legend,
    axis_of,
    clear_frame,
    disable_mathtext,
    draw_panel,
    head,
    headed,
    label_below,
    label_beside,
    rug_of,
    scaled,
)
from skedasis.plots.mpl.styles import CurveStyle, LegendStyle
from skedasis.plots.scales import Axis
from skedasis.plots.spec import ACROSS, EffectPlotOptions, FigureSpec, merge_legends
from skedasis.plots.theme import FAINT, HUES, INK, MARKS, OFTEN, SMALL, STROKES
from skedasis.results.effect import Effect

# --- figures of effects --------------------------------------------------------------------------


class NotebookFigure(Figure):
    """A figure that notebooks display although it is not registered with pyplot."""

    def _repr_png_(self) -> bytes:
        """Return the figure as PNG; IPython calls this if matplotlib's inline backend is not active."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


_WIDTH, _MARGINS = 6.8, 0.8
"""Width of a figure of default size in inches, and the part of it that is outside the panels."""


@refuse_old_keywords
def draw(
    effect: Effect,
    ax: Axes | None = None,
    *,
    ice: Ice = "centered",
    own: bool = False,
    curves: int = 200,
    confidence_level: float = 0.95,
    color: ArrayLike | None = None,
    color_name: str | None = None,
    elevated_regions: bool | None = None,
    histogram: bool = False,
    values: ArrayLike | None = None,
    simultaneous: bool = False,
    legend: bool = True,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Draw an effect.

    Parameters
    ----------
    effect : Effect
    ax : matplotlib Axes, optional
        Axes for the main panel alone. By default a figure with all panels is created.
    ice : {"centered", "raw", None}
        Individual curves of PDP and ICE. "centered" subtracts each curve's anchor (its left end for
        ``center="start"``, else its mean over the grid) and centres the average likewise; "raw" draws the curves
        unchanged; None draws no curves.
    own : bool
        Whether the observed value of each row is marked on its curve.
    curves : int
        Largest number of curves.
    confidence_level : float
        Confidence level of the intervals of the average.
    color : array_like, shape (n,), optional
        One value for each row of X, by which its curve is coloured. Numbers get a colour scale; text, booleans and
        integers with at most 8 distinct values get a colour and a line style each.
    color_name : str, optional
        Name of these values; by default the name of the series.
    elevated_regions : bool, optional
        Whether elevated regions of the curves are marked at the lower end of the panel, with the verdict whether rows
        observed there support them (`Effect.elevated_regions`). By default only if the quantity is an entropy, a
        variance or another uncertainty.
    histogram : bool
        Whether a second panel shows the histogram of the feature in each group of `color`, such as classes:
        ``plot(color=y, histogram=True)``.
    values : array_like, shape (n,), optional
        The feature's value in each row of X, for these histograms. By default those of the rows whose curves are kept;
        the notes state their number.
    simultaneous : bool
        Whether the intervals form a simultaneous band instead of being pointwise.
    legend : bool
        Whether to draw a legend.
    size : (float, float), optional
        Width and height of the figure in inches.

    Returns
    -------
    matplotlib Figure
        Notebooks display it; ``savefig`` writes it to a file.

    Raises
    ------
    DataError
        For an unknown `ice`, a `confidence_level` outside (0, 1), colours or values without one entry per row, or a
        histogram without colours.
    UnsupportedError
        For raw curves of a centred effect, for colours without curves, for elevated regions without curves over a
        numeric feature, and for a histogram if colours are not groups.

    Notes
    -----
    Levels of a categorical feature are drawn at positions 0, 1, … in the order of the effect. Of more than 40 nominal
    levels (fewer in a narrow figure) those with most rows are shown, and the notes say so.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> figure = draw(sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ALE(bins=5)))
    >>> [ax.get_ylabel() for ax in figure.axes]
    ['effect on prediction', 'slope [prediction per x0]']
    """
    width = _WIDTH if size is None else size[0]
    across = round(ACROSS * (width - _MARGINS) / (_WIDTH - _MARGINS))
    wanted = EffectPlotOptions(
        ice,
        own,
        curves,
        confidence_level,
        across,
        color,
        color_name,
        elevated_regions,
        histogram,
        values,
    )
    wanted = replace(wanted, simultaneous=simultaneous)
    shown = effect_spec(effect, wanted)
    if ax is not None:
        entries = draw_panel(ax, shown.main)
        head(ax, shown.main, 80)
        label_below(ax, shown.main.x)
        scaled(ax, shown.main)
        return finished(ax, entries, own=False, legend=legend)
    return _stacked(shown, (width, None if size is None else size[1]), legend=legend)


def _stacked(shown: FigureSpec, size: tuple[float, float | None], *, legend: bool) -> Figure:
    """Draw the panels of an effect, stacked vertically."""
    parts = (
        (shown.main, 3.3),
        (shown.slopes, 2.4),
        (shown.counts, 0.6),
        (shown.groups, 1.3),
    )
    there = [(panel, high) for panel, high in parts if panel is not None]
    heights = [high for _, high in there]
    figure = blank_figure((size[0], size[1] or 1.0 + sum(heights) + depth(shown.main.x)))
    axes = figure.subplots(len(there), 1, squeeze=False, height_ratios=heights)[:, 0]
    entries: Legend = {}
    for place, (at, (panel, _)) in enumerate(zip(axes, there, strict=True)):
        clear_frame(at)
        entries = merge_legends(entries, draw_panel(at, panel))
        at.tick_params(labelbottom=at is axes[-1])
        if place == 0 or panel.notes:
            head(at, panel, round(100 * size[0] / _WIDTH))
    label_below(axes[-1], shown.main.x)
    scaled(axes[0], shown.main)
    if legend:
        legend_below(figure, entries)
    figure.align_ylabels(axes)
    return figure


def depth(axis: Axis) -> float:
    """Return the additional height in inches that names of levels need, compared with numbers."""
    longest = max((len(label) for label in axis.labels), default=0)
    return 0.55 * SMALL / 72 * longest * {0: 0.0, 40: 0.64, 90: 1.0}[axis.turn]


@refuse_old_keywords
def draw_all(
    effects: Mapping[str, Effect],
    *,
    by: By = "importance",
    top: int | None = None,
    columns: int | None = None,
    lower: bool = True,
    ice: Ice = "centered",
    curves: int = 60,
    confidence_level: float = 0.95,
    legend: bool = True,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Draw effects of several features side by side on shared vertical scales.

    Parameters
    ----------
    effects : Effects
    by : {"importance", "heterogeneity_score"}
        Order of the features, largest first.
    top : int, optional
        Largest number of features.
    columns : int, optional
        Number of columns of the grid.
    lower : bool
        Whether to draw the slopes per bin, too. They are given per standard deviation of the feature, because slopes
        per unit of different features are not comparable.
    ice, curves, confidence_level, legend
        As in `draw`.
    size : (float, float), optional
        Width and height of the figure in inches.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    DataError
        For no effect, for an unknown `by`, and as `draw`.
    """
    chosen = ordered_effects(effects, by, top)
    columns = columns or columns_for(len(chosen))
    width = 2.75 if size is None else (size[0] - 0.5) / columns
    # Letters are smaller here, and only the leftmost panels have numbers at the vertical axis.
    view = EffectPlotOptions(
        ice, False, curves, confidence_level, round(ACROSS * (width - 0.3) / (_WIDTH - _MARGINS))
    )
    shown = comparable(chosen, view, lower)
    rows = -(-len(shown) // columns)
    deep = any(p.slopes is not None for p in shown)
    high = (3.5 if deep else 2.2) * rows + 0.9
    high += sum(
        max(depth(p.main.x) for p in shown[first : first + columns])
        for first in range(0, len(shown), columns)
    )
    figure = blank_figure(size or (2.75 * columns + 0.5, high))
    parts = [3, 2] if deep else [1]
    # One grid for all panels, so that all have the same width.
    grid = figure.add_gridspec(rows * len(parts), columns, height_ratios=parts * rows)
    entries: Legend = {}
    for i, pic in enumerate(shown):
        row, column = divmod(i, columns)
        cells = [grid[row * len(parts) + k, column] for k in range(len(parts))]
        entries |= _draw_small(figure, cells, pic)
    if legend:
        legend_below(figure, entries)
    return figure


def _draw_small(figure: Figure, cells: Sequence[SubplotSpec], shown: FigureSpec) -> Legend:
    """Draw one of many effects."""
    panels = [p for p in (shown.main, shown.slopes) if p is not None]
    axes = [figure.add_subplot(cell) for cell, _ in zip(cells, panels, strict=False)]
    entries: Legend = {}
    for ax, panel in zip(axes, panels, strict=True):
        clear_frame(ax)
        entries |= draw_panel(ax, replace(panel, words=()), small=True)
        first = cells[0].is_first_col()
        ax.tick_params(labelbottom=ax is axes[-1], labelleft=first)
        if not first:
            ax.set_ylabel("")
    head(axes[0], shown.main, 44)
    label_below(axes[-1], shown.main.x, SMALL)
    return entries


def blank_figure(size: tuple[float, float]) -> NotebookFigure:
    """Return an empty figure whose layout makes room for its texts."""
    layout = ConstrainedLayoutEngine(w_pad=0.09, h_pad=0.07, hspace=0.02)
    return NotebookFigure(figsize=size, dpi=120, layout=layout, facecolor="white")


def _legend(entries: Legend) -> LegendStyle:
    return {
        "handles": list(entries.values()),
        "labels": list(entries),
        "fontsize": SMALL - 0.5,
        "labelcolor": INK,
        "handlelength": 2.0,
    }


def legend_below(figure: Figure, entries: Legend) -> None:
    """Draw the legend below all axes."""
    made = figure.legend(
        loc="outside lower center",
        frameon=False,
        ncols=_legend_columns(list(entries), figure.get_figwidth()),
        columnspacing=1.6,
        **_legend(entries),
    )
    for text in made.get_texts():
        disable_mathtext(text)


def _legend_columns(labels: Sequence[str], width: float) -> int:
    """Return how many columns of legend entries fit across a figure of `width` inches.

    Each column is as wide as its longest label, and matplotlib fills the columns one after the other.
    """
    most = min(max(1, int(width / 2.2)), max(1, len(labels)))
    for columns in range(most, 1, -1):
        full, longer = divmod(len(labels), columns)
        sizes = [full + (k < longer) for k in range(columns)]
        starts = np.cumsum([0, *sizes])
        letters = sum(
            max(len(label) for label in labels[a:b]) for a, b in itertools.pairwise(starts)
        )
        # A letter is about half as wide as it is high; handle, gap and column spacing take some five letters' height.
        if (0.52 * letters + 5.0 * columns) * (SMALL - 0.5) / 72 <= width:
            return columns
    return 1


def legend_in(ax: Axes, entries: Legend) -> None:
    """Draw the legend inside the axes."""
    made = ax.legend(loc="best", framealpha=0.85, edgecolor="none", **_legend(entries))
    for text in made.get_texts():
        disable_mathtext(text)


def finished(ax: Axes, entries: Legend, *, own: bool, legend: bool) -> Figure:
    """Draw the legend if requested, below the axes if the figure is our `own`, otherwise inside; return the figure."""
    figure = ax.figure.canvas.figure
    if entries and legend and own:
        legend_below(figure, entries)
    elif entries and legend:
        legend_in(ax, entries)
    return figure


# --- overlaid effects ----------------------------------------------------------------------------


@refuse_old_keywords
def compare(
    *effects: Effect | Sequence[Effect] | Mapping[str, Effect],
    labels: Sequence[str] | None = None,
    center: Zero = "mean",
    ax: Axes | None = None,
    confidence_level: float = 0.95,
    legend: bool = True,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Draw several effects of the same feature on the same axes.

    Parameters
    ----------
    *effects : Effect
        At most 8 effects, such as a PDP, an ALE and an M-plot; or a list of them, or a mapping from labels to effects.
    labels : sequence of str, optional
        Legend entries. By default the names of the methods, with the quantity if it differs from that of the first.
    center : {"mean", None}
        "mean" subtracts from each effect its mean over the data, so that all have the same zero; None leaves the
        effects unchanged. Derivatives are never centred.
    ax : matplotlib Axes, optional
        Axes to draw on. By default a figure is created.
    confidence_level : float
        Confidence level of the intervals, which are drawn for at most 3 effects.
    legend : bool
        Whether to draw a legend.
    size : (float, float), optional
        Width and height of the figure in inches.

    Returns
    -------
    matplotlib Figure
        Notebooks display it; ``savefig`` writes it to a file.

    Raises
    ------
    DataError
        For no effect or more than 8, for effects of different features, if the number of labels differs from the number
        of effects, for an unknown `center`, or a `confidence_level` outside (0, 1).
    UnsupportedError
        For surfaces, for derivatives with values, for categorical with numeric features, and for different units.

    Notes
    -----
    Each effect has its own line style, mark and colour, so that colour is not needed to distinguish them. Intervals are
    those of the single effects, shifted with them. Levels of a categorical feature are in the order of the first
    effect, with the effects side by side at each level. Costs no model rows.

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
    given, named = as_effects_and_labels(effects)
    shown = overlay(given, named if labels is None else labels, center, confidence_level)
    own = ax is None
    if ax is None:
        width, height = size or (6.8, 4.4 + depth(shown.x))
        ax = blank_figure((width, height)).subplots()
        clear_frame(ax)
    entries = _draw_overlay(ax, shown)
    label_below(ax, shown.x)
    wide = 100 if size is None else round(100 * size[0] / 6.8)
    headed(ax, "Comparison" if len(given) > 1 else shown.strands[0].label, shown.notes, wide)
    return finished(ax, entries, own=own, legend=legend)


def _draw_overlay(ax: Axes, shown: Overlay) -> Legend:
    axis_of(ax, "x", shown.x, 7)
    axis_of(ax, "y", shown.y, 6)
    label_beside(ax, shown.y)
    if shown.zero:
        ax.axhline(0, color=FAINT, lw=0.7, zorder=1.4)
    entries: Legend = {}
    for place, strand in enumerate(shown.strands):
        entries[strand.label] = _curve_of(ax, strand, place, bands=shown.bands)
    if shown.rug is not None:
        entries[shown.rug.label] = rug_of(ax, shown.rug)
    return entries


def _curve_of(ax: Axes, strand: OverlayCurve, place: int, *, bands: bool) -> Line2D:
    """Draw one effect in its own style, and return its legend handle."""
    hue, mark, stroke = HUES[place], MARKS[place], STROKES[place]
    lined = strand.joined is not None and len(strand.x) > 1
    area = strand.joined == "line" and len(strand.x) > 1
    look: CurveStyle = {
        "color": hue,
        "lw": 1.0 if strand.joined == "thin" else 1.8,
        "ls": stroke if lined else "none",
        "marker": mark,
        "ms": 4.5,
        "mfc": "white",
        "mew": 1.2,
    }
    if bands and area:
        ax.fill_between(strand.x, strand.lower, strand.upper, color=hue, alpha=0.16, lw=0, zorder=2)
    elif bands:
        ax.vlines(strand.x, strand.lower, strand.upper, color=hue, lw=1.2, zorder=2.5)
    # Marks of different lines are staggered so that they do not overlap; all levels are marked.
    every = max(1, -(-len(strand.x) // OFTEN)) if area else 1
    marked = np.arange((place * every) // 3 % every, len(strand.x), every).tolist()
    ax.plot(strand.x, strand.y, markevery=marked, zorder=3, **look)
    return Line2D([], [], **look)
