"""The panels of an `EffectDisplay`: a grid of axes as scikit-learn arranges them, with the figures of the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.gridspec import GridSpec, GridSpecFromSubplotSpec
from matplotlib.typing import ColorType
from numpy.typing import NDArray

from skedasis._arguments import check_int, shown
from skedasis.errors import DataError, UnsupportedError
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.multiples import on_shared_scales
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.figures.surface import SurfacePlotOptions, surface_figure
from skedasis.plots.keywords import EffectKeywords
from skedasis.plots.marks import CurveSet, FigureSpec, Title
from skedasis.plots.plot import FigureOptions, drawn
from skedasis.results.effect import Effect
from skedasis.results.surface import Surface

AnyFigure: TypeAlias = Figure | SubFigure
Grid: TypeAlias = NDArray[np.object_]
"""Axes, or None in cells without a panel."""
AxesLike: TypeAlias = Axes | Sequence[Axes] | Grid

WIDE, HIGH = 4.8, 3.7
"""Width and height in inches of a panel of a new figure."""


class Drawn(NamedTuple):
    """The figure of a display, the axes of its panels, and the axes that were divided into a grid, if any."""

    figure: AnyFigure
    axes: Grid
    bounding: Axes | None


# --- the figures of the panels ---------------------------------------------------------------------


def panel_figures(
    results: Sequence[Effect | Surface],
    kinds: Sequence[str],
    curves: int | None,
    confidence_level: float,
) -> list[FigureSpec]:
    """Return the figure of each result, those of effects on shared scales."""
    figures: dict[int, FigureSpec] = {}
    effects: dict[int, FigureSpec] = {}
    for i, (found, kind) in enumerate(zip(results, kinds, strict=True)):
        if isinstance(found, Surface):
            figures[i] = surface_figure(found, SurfacePlotOptions(density=False))
        else:
            effects[i] = _effect_figure(found, kind, curves, confidence_level)
    if len(results) > 1 and effects:
        effects = dict(zip(effects, on_shared_scales(list(effects.values())), strict=True))
    figures |= effects
    return [figures[i] for i in range(len(results))]


def _effect_figure(
    effect: Effect, kind: str, curves: int | None, confidence_level: float
) -> FigureSpec:
    """Return the figure of an effect with its main panel alone."""
    if kind != "average" and effect.curves is None:
        raise UnsupportedError(
            f"EffectDisplay(kind) of {effect.feature!r}",
            f"{kind!r} for {effect.spec.method} without curves of rows",
            "a PDP or ICE that keeps curves",
            "Use kind='average', a list with a kind for each feature, or method='pdp'",
        )
    as_computed = "raw" if effect.spec.center is None else "centered"
    view = EffectPlotOptions(
        ice=None if kind == "average" else as_computed,
        curves=len(effect.curves or ()) if curves is None else curves,
        confidence_level=confidence_level,
        elevated_regions=None,
    )
    spec = effect_figure(effect, view)
    main = spec.main
    if kind == "individual":
        main = replace(main, marks=tuple(m for m in main.marks if isinstance(m, CurveSet)))
    return replace(spec, stacks=((main,),))


# --- axes ------------------------------------------------------------------------------------------


def check_axes(what: str, ax: object, panels: int, n_cols: object) -> None:
    """Raise if axes are neither one nor one for each panel, and for an invalid number of columns."""
    check_int(f"{what}(n_cols)", n_cols, 1, "Use 3")
    if ax is None:
        return
    if isinstance(ax, Axes):
        if not ax.axison:
            got = "axes that are switched off, as those that hold another display"
            fix = "Pass the axes of that display: ax=display.axes_"
            raise DataError(f"{what}(ax)", got, "axes to draw on", fix)
        return
    is_list = isinstance(ax, (list, tuple, np.ndarray))
    each = _each(np.asarray(ax, dtype=object)) if is_list else []
    if not is_list or not all(isinstance(one, Axes) for one in each):
        fix = "Pass ax=figure.subplots(), or leave ax out"
        raise DataError(f"{what}(ax)", shown(ax), "axes of matplotlib", fix)
    if len(each) != panels:
        fix = f"Pass a list of {panels}, one Axes that is divided, or leave ax out"
        expected = "one for each panel" if panels > 1 else "one"
        raise DataError(f"{what}(ax)", f"{len(each)} axes", f"{expected} ({panels})", fix)


def _each(axes: Grid) -> list[Axes]:
    """Return the axes of a grid, without its empty cells."""
    return [one for one in axes.ravel().tolist() if one is not None]


def draw_panels(
    specs: Sequence[FigureSpec],
    ax: AxesLike | None,
    n_cols: int,
    color: ColorType | None,
    legend: bool,
) -> Drawn:
    """Draw figures on axes that a user passes, in a grid in place of one of them, or in a new figure."""
    given = {"color": color, "legend": legend}
    options, _ = FigureOptions.of("EffectDisplay.plot", given, EffectKeywords)
    arranged = _arranged(ax, len(specs), n_cols)
    keyed = next((i for i, spec in enumerate(specs) if not _is_map(spec)), None)
    for i, (one, spec) in enumerate(zip(_each(arranged.axes), specs, strict=True)):
        main, key = spec.main, options.legend and i == keyed
        if one.has_data():  # title and notes would be written over those of the other display
            main = replace(main, title=Title(), notes=(), above=())
        placed = replace(spec, stacks=((main, *spec.stacks[0][1:]), *spec.stacks[1:]))
        drawn(placed, replace(options, legend=key), "EffectDisplay.plot", one)
    return arranged


def _is_map(spec: FigureSpec) -> bool:
    """Return whether a figure has a colour scale, as those of surfaces."""
    return any(panel.kind == "scale" for panel in spec.panels)


def _arranged(ax: AxesLike | None, panels: int, n_cols: int) -> Drawn:
    """Return the axes of the panels, in a new figure or where the user wants them."""
    if ax is not None and not isinstance(ax, Axes):
        grid = np.asarray(ax, dtype=object)
        return Drawn(_each(grid)[0].figure, grid, None)
    columns = min(n_cols, panels)
    rows = -(-panels // columns)
    axes = np.full((rows, columns), None, dtype=object)
    if ax is not None and panels == 1:
        axes[0, 0] = ax
        return Drawn(ax.figure, axes, None)
    if ax is None:
        from matplotlib import pyplot as plt  # slow, and chooses a back end

        # A figure of pyplot, so that plt.show() shows it, as those of scikit-learn.
        figure = plt.figure(figsize=(WIDE * columns, HIGH * rows), layout="constrained")
        cells = figure.add_gridspec(rows, columns)
    else:
        figure = ax.figure
        cells = _divided(ax, rows, columns)
        ax.set_axis_off()
    for i in range(panels):
        axes[divmod(i, columns)] = figure.add_subplot(cells[divmod(i, columns)])
    # Texts are placed by the size of their axes, which a layout engine settles when the figure is drawn.
    figure.canvas.figure.draw_without_rendering()
    return Drawn(figure, axes, ax)


def _divided(ax: Axes, rows: int, columns: int) -> GridSpecFromSubplotSpec | GridSpec:
    """Return a grid in place of axes."""
    engine = ax.figure.canvas.figure.get_layout_engine()
    # Without a layout engine: room for labels, titles and notes.
    space = {} if engine is not None else {"wspace": 0.45, "hspace": 0.75}
    place = ax.get_subplotspec()
    if place is not None:
        return GridSpecFromSubplotSpec(rows, columns, subplot_spec=place, **space)
    box = ax.get_position()
    return ax.figure.add_gridspec(
        rows, columns, left=box.x0, right=box.x1, bottom=box.y0, top=box.y1, **space
    )
