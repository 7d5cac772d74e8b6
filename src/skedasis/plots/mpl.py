"""Figures: an effect's panels, or many effects side by side. Nothing is global here: no pyplot, no rcParams."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.layout_engine import ConstrainedLayoutEngine

from skedasis.errors import DataError, explained
from skedasis.plots.artists import INK, SMALL, Legend, clear_frame, draw_panel, head, label_below
from skedasis.plots.marks import Panel, Picture
from skedasis.plots.panels import ACROSS, Ice, View, on_shared_scales, picture, slopes
from skedasis.plots.scale import shortened
from skedasis.results.effect import Effect


class Picturable(Figure):
    """A figure that notebooks show although pyplot knows nothing of it."""

    def _repr_png_(self) -> bytes:
        """Return the picture: IPython asks for it where matplotlib's own inline mode was not set up."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


_WIDTH, _MARGINS = 6.8, 0.8
"""Inches across the usual figure, and those of them beside its panels."""


def draw(
    effect: Effect,
    ax: Axes | None = None,
    *,
    ice: Ice = "centered",
    own: bool = False,
    curves: int = 200,
    level: float = 0.95,
    legend: bool = True,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Draw an effect.

    Parameters
    ----------
    effect : Effect
    ax : matplotlib Axes, optional
        Draw only the main panel, there. By default a figure with all panels is made.
    ice : {"centered", "raw", None}
        Individual curves of PDP and ICE: minus their own anchor (the left end for ``center="start"``, else their mean
        over the grid), in which case the average is centred, too; as they are; or none.
    own : bool
        Whether each row's own value is marked on its curve.
    curves : int
        At most so many curves.
    level : float
        Of the intervals of the average.
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
        For an `ice` that does not exist, or a level outside (0, 1).
    UnsupportedError
        For raw curves of an effect that was centred.

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
    shown = picture(effect, View(ice, own, curves, level, across))
    if ax is not None:
        entries = draw_panel(ax, shown.main)
        head(ax, shown.main, 80)
        label_below(ax, shown.main.x)
        if legend:
            _legend_in(ax, entries)
        return ax.figure.canvas.figure
    panels = [p for p in (shown.main, shown.slopes, shown.counts) if p is not None]
    heights = [3.3, 2.4, 0.6][: len(panels)]
    figure = _figure(size or (_WIDTH, 1.0 + sum(heights)))
    axes = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    entries: Legend = {}
    for place, (at, panel) in enumerate(zip(axes, panels, strict=True)):
        clear_frame(at)
        entries |= draw_panel(at, panel)
        at.tick_params(labelbottom=at is axes[-1])
        if place == 0 or panel.notes:
            head(at, panel, 100)
    label_below(axes[-1], shown.main.x)
    if legend:
        _legend_below(figure, entries)
    figure.align_ylabels(axes)
    return figure


def draw_all(
    effects: Mapping[str, Effect],
    *,
    by: Literal["importance", "heterogeneity"] = "importance",
    top: int | None = None,
    columns: int | None = None,
    lower: bool = True,
    ice: Ice = "centered",
    curves: int = 60,
    level: float = 0.95,
    legend: bool = True,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Draw several effects beside each other on shared vertical scales.

    Parameters
    ----------
    effects : Effects
    by : {"importance", "heterogeneity"}
        What to order by; the largest comes first.
    top : int, optional
        Only so many.
    columns : int, optional
        Of the grid.
    lower : bool
        Whether to draw the bins' slopes, too. They are given per standard deviation of the feature: slopes per unit of
        different features do not compare.
    ice, curves, level, legend
        As in `draw`.
    size : (float, float), optional
        Width and height of the figure in inches.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    DataError
        Where there is nothing to draw, for a `by` that does not exist, and as `draw` does.
    """
    chosen = _ordered(effects, by, top)
    shown = _comparable(chosen, View(ice, False, curves, level), lower)
    columns = columns or _columns(len(shown))
    rows = -(-len(shown) // columns)
    deep = any(p.slopes is not None for p in shown)
    high = (3.5 if deep else 2.2) * rows + 0.9
    figure = _figure(size or (2.75 * columns + 0.5, high))
    parts = [3, 2] if deep else [1]
    # One grid for all panels, so that all come out equally wide.
    grid = figure.add_gridspec(rows * len(parts), columns, height_ratios=parts * rows)
    entries: Legend = {}
    for i, pic in enumerate(shown):
        row, column = divmod(i, columns)
        cells = [grid[row * len(parts) + k, column] for k in range(len(parts))]
        entries |= _small(figure, cells, pic)
    if legend:
        _legend_below(figure, entries)
    return figure


def _ordered(effects: Mapping[str, Effect], by: str, top: int | None) -> list[Effect]:
    if by not in ("importance", "heterogeneity"):
        raise DataError(
            explained("plot(by)", repr(by), "'importance' or 'heterogeneity'", "Name one")
        )
    size = {"importance": lambda e: -e.importance, "heterogeneity": lambda e: -e.score}[by]
    chosen = sorted(effects.values(), key=size)[:top]
    if not chosen:
        raise DataError(explained("plot", "no effect", "at least one", "Explain some features"))
    return chosen


def _comparable(effects: Sequence[Effect], view: View, lower: bool) -> list[Picture]:
    """Return the effects' panels on shared scales."""
    mains = on_shared_scales([picture(e, view).main for e in effects])
    binned = [i for i, e in enumerate(effects) if lower and e.bins is not None and len(e.bins)]
    below = on_shared_scales([slopes(effects[i], per_sd=True) for i in binned])
    beneath = dict(zip(binned, below, strict=True))
    return [
        Picture(_headed(main, e, i), beneath.get(i))
        for i, (main, e) in enumerate(zip(mains, effects, strict=True))
    ]


def _headed(panel: Panel, effect: Effect, place: int) -> Panel:
    """Return a panel headed by its feature and the two numbers that rank it."""
    name = f"{place + 1}. {shortened(effect.feature, 24)}"
    figures = f"importance {effect.importance:.3g}, heterogeneity {effect.score:.3g}"
    missing = (f"{effect.missing:,} rows missing",) if effect.missing else ()
    # One entry in the legend for all, however many rows each has.
    rug = None if panel.rug is None else replace(panel.rug, label="rows, or their quantiles")
    y = replace(panel.y, name=shortened(panel.y.name, 36))
    return replace(panel, title=name, notes=(figures, *missing), rug=rug, y=y)


def _columns(n: int) -> int:
    """Return how many columns make a page of n panels neither a strip nor a tower."""
    return next((c for c, most in ((1, 1), (2, 4), (3, 9), (4, 16)) if n <= most), 5)


def _small(figure: Figure, cells: Sequence[SubplotSpec], shown: Picture) -> Legend:
    """Draw one of many."""
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


def _figure(size: tuple[float, float]) -> Picturable:
    layout = ConstrainedLayoutEngine(w_pad=0.09, h_pad=0.07, hspace=0.02)
    return Picturable(figsize=size, dpi=120, layout=layout, facecolor="white")


def _legend(entries: Legend) -> dict[str, Any]:
    look: dict[str, Any] = {"fontsize": SMALL - 0.5, "labelcolor": INK, "handlelength": 2.0}
    return {"handles": list(entries.values()), "labels": list(entries), **look}


def _legend_below(figure: Figure, entries: Legend) -> None:
    columns = max(1, int(figure.get_figwidth() / 2.2))
    look: dict[str, Any] = {
        "frameon": False,
        "ncols": min(columns, len(entries)),
        "columnspacing": 1.6,
    }
    figure.legend(loc="outside lower center", **look, **_legend(entries))


def _legend_in(ax: Axes, entries: Legend) -> None:
    ax.legend(loc="best", framealpha=0.85, edgecolor="none", **_legend(entries))
