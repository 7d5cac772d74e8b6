"""The panels of an `EffectDisplay`, on axes that are arranged as scikit-learn does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.typing import ColorType
from numpy.typing import NDArray

from skedasis._arguments import check_int, shown
from skedasis.errors import DataError, UnsupportedError
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.multiples import on_shared_scales
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.figures.surface import SurfacePlotOptions, surface_figure
from skedasis.plots.marks import CurveSet, FigureSpec, Title
from skedasis.plots.plot import FigureOptions, drawn
from skedasis.results.effect import Effect
from skedasis.results.signatures import errors_named
from skedasis.results.surface import Surface

AxesGrid: TypeAlias = NDArray[np.object_]
"""Axes, or None in cells without a panel."""
AxesLike: TypeAlias = Axes | Sequence[Axes] | AxesGrid

WIDE, HIGH = 4.8, 3.7
"""Width and height in inches of a panel of a new figure."""


class DisplayAxes(NamedTuple):
    """The figure of a display, the axes of its panels, and the axes that were divided into a grid, if any."""

    figure: Figure | SubFigure
    axes: AxesGrid
    bounding: Axes | None


def check_axes(what: str, ax: AxesLike | None, panels: int, n_cols: int) -> None:
    """Raise if axes are neither one nor one for each panel, and for an invalid number of columns."""
    check_int(f"{what}(n_cols)", n_cols, 1, "Use 3")
    each = [] if ax is None else _each(np.asarray(ax, dtype=object))
    if not all(isinstance(one, Axes) for one in each):
        fix = "Pass ax=figure.subplots(), or leave ax out"
        raise DataError(f"{what}(ax)", shown(ax), "axes of matplotlib", fix)
    if isinstance(ax, Axes) and not ax.axison:
        got = "axes that are switched off, as those that hold another display"
        fix = "Pass the axes of that display: ax=display.axes_"
        raise DataError(f"{what}(ax)", got, "axes to draw on", fix)
    if ax is not None and not isinstance(ax, Axes) and len(each) != panels:
        fix = f"Pass a list of {panels}, one Axes that is divided, or leave ax out"
        raise DataError(f"{what}(ax)", f"{len(each)} axes", f"one for each panel ({panels})", fix)


def _each(axes: AxesGrid) -> list[Axes]:
    """Return the axes of a grid, without its empty cells."""
    return [one for one in axes.ravel().tolist() if one is not None]


def draw_panels(
    results: Sequence[Effect | Surface],
    views: Sequence[EffectPlotOptions],
    individual: Sequence[bool],
    ax: AxesLike | None,
    n_cols: int,
    color: ColorType | None,
    legend: bool,
) -> DisplayAxes:
    """Draw each result, effects on shared scales; `individual` says which are drawn by their curves of rows alone."""
    with errors_named("EffectDisplay.plot"):
        options, _ = FigureOptions.of({"color": color, "legend": legend})
    effects = {
        i: _effect_figure(found, views[i], individual[i])
        for i, found in enumerate(results)
        if isinstance(found, Effect)
    }
    if len(results) > 1 and effects:
        effects = dict(zip(effects, on_shared_scales([*effects.values()]), strict=True))
    figures = effects | {
        i: surface_figure(found, SurfacePlotOptions(density=False))
        for i, found in enumerate(results)
        if isinstance(found, Surface)
    }
    arranged = _arranged(ax, len(results), n_cols)
    for i, one in enumerate(_each(arranged.axes)):
        spec = figures[i]
        main = spec.main
        if one.has_data():  # title and notes would be written over those of the other display
            main = replace(main, title=Title(), notes=(), above=())
        spec = replace(spec, stacks=((main, *spec.stacks[0][1:]), *spec.stacks[1:]))
        # One legend is enough: all effects have the same marks.
        keyed = options.legend and i == next(iter(effects), None)
        with errors_named("EffectDisplay.plot"):
            drawn(spec, replace(options, legend=keyed), one)
    return arranged


def _effect_figure(effect: Effect, view: EffectPlotOptions, individual: bool) -> FigureSpec:
    """Return the figure of an effect with its main panel alone."""
    if view.ice is not None and effect.curves is None:
        raise UnsupportedError(
            f"EffectDisplay(kind) of {effect.feature!r}",
            f"curves of rows of {effect.spec.method}, which has none",
            "a PDP or ICE that keeps curves",
            "Use kind='average', a list with a kind for each feature, or method='pdp'",
        )
    spec = effect_figure(effect, view)
    main = spec.main
    if individual:
        main = replace(main, marks=tuple(m for m in main.marks if isinstance(m, CurveSet)))
    return replace(spec, stacks=((main,),))


def _arranged(ax: AxesLike | None, panels: int, n_cols: int) -> DisplayAxes:
    """Return the axes of the panels, in a new figure or where the user wants them."""
    if ax is not None and (not isinstance(ax, Axes) or panels == 1):
        grid = np.asarray([[ax]] if isinstance(ax, Axes) else ax, dtype=object)
        return DisplayAxes(_each(grid)[0].figure, grid, None)
    columns = min(n_cols, panels)
    rows = -(-panels // columns)
    if ax is None:
        from matplotlib import pyplot as plt  # slow, and chooses a back end

        # A figure of pyplot, so that plt.show() shows it, as those of scikit-learn.
        figure = plt.figure(figsize=(WIDE * columns, HIGH * rows), layout="constrained")
        cells = figure.add_gridspec(rows, columns)
    else:
        figure, box = ax.figure, ax.get_position()
        place = (
            ax.get_subplotspec()
            or figure.add_gridspec(left=box.x0, right=box.x1, bottom=box.y0, top=box.y1)[0, 0]
        )
        # Without a layout engine: room for labels, titles and notes.
        managed = figure.canvas.figure.get_layout_engine() is not None
        space = {} if managed else {"wspace": 0.45, "hspace": 0.75}
        cells = place.subgridspec(rows, columns, **space)
        ax.set_axis_off()
    axes = np.full((rows, columns), None, dtype=object)
    for i in range(panels):
        axes[divmod(i, columns)] = figure.add_subplot(cells[divmod(i, columns)])
    # Texts are placed by the size of their axes, which a layout engine settles when the figure is drawn.
    figure.canvas.figure.draw_without_rendering()
    return DisplayAxes(figure, axes, ax)
