"""Figures of surfaces by matplotlib: heat map, contours, cells without rows, marginal histograms (`Surface.plot`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection, QuadMesh
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.typing import ColorType

from skedasis._renamed import refuse_old_keywords
from skedasis._types import Floats
from skedasis.plots.figures.surface import HeatmapSpec, SurfacePlotOptions, bars_of, heat
from skedasis.plots.keywords import Empty
from skedasis.plots.mpl.effect import blank_figure, finished
from skedasis.plots.mpl.marks import (
    Legend,
    axis_of,
    beside,
    clear_frame,
    headed,
    label_below,
    label_beside,
    write,
)
from skedasis.plots.mpl.styles import AreaStyle, LineStyle, MarkStyle
from skedasis.plots.theme import FAINT, INK, SMALL
from skedasis.results.surface import Surface

DIVERGING = colormaps["RdBu_r"]
"""Colours of interaction effects, centred at zero."""

SEQUENTIAL = ListedColormap(colormaps["viridis"](np.linspace(0.12, 1.0, 256)))
"""Colours of surfaces with main effects, without the darkest part, on which contours would not be visible."""


GROUND = "#efefef"
"""Background of hatched cells without rows; it occurs in neither colour scale."""


HALO = withStroke(linewidth=1.8, foreground=(1, 1, 1, 0.55))


MARGIN = 0.13
"""Height of a marginal histogram as a fraction of the axes."""


@refuse_old_keywords
def draw_surface(
    surface: Surface,
    ax: Axes | None = None,
    *,
    points: bool = True,
    density: bool = False,
    empty: Empty = "hatched",
    step: bool = False,
    levels: int | Sequence[float] | None = None,
    confidence_level: float | None = None,
    legend: bool = True,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Draw a surface as a heat map with contours.

    Parameters
    ----------
    surface : Surface
    ax : matplotlib Axes, optional
        Axes to draw on. By default a figure is created.
    points : bool
        Whether rows are drawn as dots: all, or a sample of 1,000. Those of a categorical feature or of one with two
        values are spread randomly over their band.
    density : bool
        Whether to draw marginal histograms of the rows above and beside the map.
    empty : {"hatched", "filled", "blank"}
        Cells of an ALE or DALE without rows: hatched on grey, filled with the colour of their value, or white. Their
        values do not affect the colour scale.
    step : bool
        Draw the step function of the papers (see `Surface.__call__`) instead of the bilinear interpolation.
    levels : int or sequence of float, optional
        Approximate number of contours, or their values; by default 7.
    confidence_level : float, optional
        Confidence level such as 0.95: a dotted pattern marks where the pointwise interval of an interaction effect
        (`Surface.interval`), interpolated like the values, contains zero.
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
        For an unknown `empty`, invalid `levels`, or a `confidence_level` outside (0, 1).
    UnsupportedError
        For `confidence_level` if the surface includes main effects.

    Notes
    -----
    An interaction effect has colours that diverge from zero (no interaction); contours below zero are dashed. A surface
    with main effects (a PDP, `Surface.with_main_effects`) has a colour scale from dark to light. A categorical feature,
    or a numeric one with two values, is drawn as separate bands or tiles. Costs no model rows.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(400, 2))
    >>> s = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=5))
    >>> figure = draw_surface(s)
    >>> [ax.get_ylabel() for ax in figure.axes]
    ['x1', 'interaction effect on prediction']
    """
    shown = heat(
        surface, SurfacePlotOptions(points, density, empty, step, levels, confidence_level)
    )
    own = ax is None
    if ax is None:
        figure = blank_figure(size or (6.8, 5.6))
        ax = figure.subplots()
        clear_frame(ax)
        ax.grid(visible=False)
    entries, mesh = _map(ax, shown)
    bar = ax.figure.colorbar(mesh, ax=ax, pad=0.02, fraction=0.06, aspect=28)
    for level in shown.levels or sorted({c.level for c in shown.crossings}):
        bar.ax.axhline(level, color=INK, lw=0.7, ls="--" if level < 0 else "-")
    beside(bar.ax, shown.scale)
    low = 4.0
    if shown.margins is not None:
        _margins(ax, shown)
        low += (MARGIN + 0.02) * ax.bbox.height * 72 / ax.figure.dpi
    # Notes start at the left end of the axes, which names of levels shift to the right.
    names = max((len(label) for label in shown.y.axis.labels), default=4)
    width = 80 if not own else round(100 * (size or (6.8, 0))[0] / 6.8) - names
    headed(ax, shown.title, shown.notes, width, low)
    return finished(ax, entries, own=own, legend=legend)


def _map(ax: Axes, shown: HeatmapSpec) -> tuple[Legend, QuadMesh]:
    """Draw patches, contours, dots and tiles."""
    axis_of(ax, "x", shown.x.axis, 7)
    axis_of(ax, "y", shown.y.axis, 7)
    # The colour bar and names of levels take part of the width.
    label_below(ax, shown.x.axis, share=0.7)
    label_beside(ax, shown.y.axis)
    colours = DIVERGING if shown.diverging else SEQUENTIAL
    norm = Normalize(*shown.scale.limits)
    mesh = ax.pcolormesh(
        shown.x.edges,
        shown.y.edges,
        np.ma.masked_invalid(shown.value),
        cmap=colours,
        norm=norm,
        zorder=1,
        # Thousands of patches become one image in SVG or PDF files.
        rasterized=shown.value.size > 2000,
    )
    _between(ax, shown)
    entries = _hatched(ax, shown.holes, "////", "no rows", GROUND)
    entries |= _hatched(ax, shown.unclear, "...", "interval contains zero", "none")
    entries |= _contours(ax, shown) | _crossings(ax, shown)
    if len(shown.dots):
        look: MarkStyle = {"marker": "o", "mfc": INK, "mec": "white", "ls": "none"}
        small = 2.6 if len(shown.dots) > 300 else 3.4
        ax.plot(*shown.dots.T, ms=small, mew=0.4, alpha=0.75, zorder=2.2, **look)
        entries[shown.dots_label] = Line2D([], [], ms=4, mew=0.4, **look)
    for tile in shown.tiles:
        i = int(np.searchsorted(shown.y.edges, tile.y)) - 1
        j = int(np.searchsorted(shown.x.edges, tile.x)) - 1
        dark = _luminance(colours(norm(shown.value[i, j]))) < 0.5
        at = ax.text(tile.x, tile.y, "", ha="center", va="center", zorder=3.5, linespacing=1.3)
        write(at, tile.text, SMALL, "white" if dark else INK)
        at.set_path_effects(
            [withStroke(linewidth=1.6, foreground=colours(norm(shown.value[i, j])))]
        )
    return entries, mesh


def _luminance(colour: ColorType) -> float:
    return float(np.dot(np.asarray(colour)[:3], (0.299, 0.587, 0.114)))


def _between(ax: Axes, shown: HeatmapSpec) -> None:
    """Draw white lines between the bands of levels or single values."""
    look: LineStyle = {"color": "white", "lw": 1.8}
    if shown.y.discrete:
        ax.hlines(shown.y.edges[1:-1], *shown.x.edges[[0, -1]], zorder=1.5, **look)
    if shown.x.discrete:
        ax.vlines(shown.x.edges[1:-1], *shown.y.edges[[0, -1]], zorder=1.5, **look)


def _hatched(ax: Axes, places: Floats, hatch: str, said: str, ground: str) -> Legend:
    """Draw hatched rectangles."""
    if len(places) == 0:
        return {}
    corners = [[(a, c), (b, c), (b, d), (a, d)] for a, b, c, d in places]
    look: AreaStyle = {"fc": ground, "ec": "#8a8a8a", "lw": 0.0, "hatch": hatch}
    ax.add_collection(PolyCollection(corners, zorder=1.3, **look), autolim=False)
    return {said: Patch(**look)}


def _contours(ax: Axes, shown: HeatmapSpec) -> Legend:
    """Draw contours with their values; those below zero are dashed."""
    if not shown.levels or min(shown.value.shape) < 2 or not np.isfinite(shown.value).any():
        return {}
    low, high = float(np.nanmin(shown.value)), float(np.nanmax(shown.value))
    levels = [v for v in shown.levels if low < v < high]
    if not levels:
        return {}
    lines = ax.contour(
        shown.x.centres,
        shown.y.centres,
        np.ma.masked_invalid(shown.value),
        levels=levels,
        colors=INK,
        linewidths=[1.4 if v == 0 else 0.8 for v in levels],
        linestyles=["--" if v < 0 else "-" for v in levels],
        zorder=2,
    )
    lines.set_path_effects([HALO])
    texts = dict(zip(levels, shown.scale.scale.texts(levels), strict=True))
    for text in ax.clabel(lines, fmt=texts, fontsize=SMALL - 0.5, inline=True, zorder=3):
        text.set(parse_math=False, color=INK)
        text.set_path_effects([withStroke(linewidth=2, foreground="white")])
    return _key(levels, shown)


def _key(levels: Sequence[float], shown: HeatmapSpec) -> Legend:
    entries: Legend = {}
    if any(v >= 0 for v in levels):
        said = "contour" if not shown.diverging else "contour (≥ 0)"
        entries[said] = Line2D([], [], color=INK, lw=0.8)
    if any(v < 0 for v in levels):
        entries["contour (< 0)"] = Line2D([], [], color=INK, lw=0.8, ls="--")
    return entries


def _crossings(ax: Axes, shown: HeatmapSpec) -> Legend:
    """Draw a line across a band wherever it takes a round value: the contours of bands."""
    if not shown.crossings:
        return {}
    levels = sorted({c.level for c in shown.crossings})
    texts = dict(zip(levels, shown.scale.scale.texts(levels), strict=True))
    for c in shown.crossings:
        style = "--" if c.level < 0 else "-"
        ends = (c.band - 0.5, c.band + 0.5)
        width = 1.4 if c.level == 0 else 0.8
        line = ax.vlines(c.x, *ends, color=INK, lw=width, ls=style, zorder=2)
        line.set_path_effects([HALO])
        if c.labelled:
            at = ax.text(c.x, c.band + 0.28, "", ha="center", va="center", zorder=3)
            write(at, texts[c.level], SMALL - 0.5, INK)
            at.set_path_effects([withStroke(linewidth=2, foreground="white")])
    return _key(levels, shown)


def _margins(ax: Axes, shown: HeatmapSpec) -> None:
    """Draw marginal histograms above the map and on its right."""
    if shown.margins is None:
        return
    look: AreaStyle = {"fc": "#9a9a9a", "ec": "white", "lw": 0.4}
    above = ax.inset_axes((0.0, 1.015, 1.0, MARGIN))
    edges = bars_of(shown.x)
    above.bar(edges[:-1], shown.margins[0], np.diff(edges), align="edge", **look)
    above.set_xlim(ax.get_xlim())
    right = ax.inset_axes((1.015, 0.0, MARGIN * 0.8, 1.0))
    edges = bars_of(shown.y)
    right.barh(edges[:-1], shown.margins[1], np.diff(edges), align="edge", **look)
    right.set_ylim(ax.get_ylim())
    for part in (above, right):
        part.set(xticks=[], yticks=[], facecolor="none")
        for side, spine in part.spines.items():
            base = side == ("bottom" if part is above else "left")
            spine.set(visible=base, color=FAINT, linewidth=0.5)
