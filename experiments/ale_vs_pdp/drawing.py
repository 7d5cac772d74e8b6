"""The figures that several experiments share: curves over rugs, and surfaces over their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.ale_vs_pdp.chapter import LOOK, NAMES, Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = 16
"""So few that files stay small."""
_LABEL = {"color": "white", "bbox": {"facecolor": "#333333", "edgecolor": "none", "pad": 0.8}}


def features(rows: Mapping[str, Sequence[Mapping[str, Any]]], X: Floats) -> Figure:
    """Draw a row of panels for each function, and in it a panel for each feature; in each the methods' curves."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 2.7 * len(rows) + 0.5), layout="constrained")
    axes = figure.subplots(len(rows), 3, squeeze=False)
    for line, (f, panels) in zip(axes, rows.items(), strict=True):
        for j, (ax, panel) in enumerate(zip(line, panels, strict=True)):
            for curve in panel.values():
                ax.plot(curve.x, curve.true, **LOOK["truth"], zorder=1)
            for method, curve in panel.items():
                _curve(ax, method, curve)
            rug(ax, X[:, j])
            ax.set_xlabel(NAMES[j])
            plain(ax)
        line[0].set_ylabel(f"{f}\neffect, centred")
        low, high = np.transpose([ax.get_ylim() for ax in line])
        for ax in line:
            ax.set_ylim(low.min(), high.max())
    handles, labels = axes[0, 0].get_legend_handles_labels()
    truth = axes[0, 0].lines[0]
    figure.legend(
        [truth, *handles], ["in truth", *labels], loc="outside lower center", ncols=5, frameon=False
    )
    return figure


def _curve(ax: Any, method: str, curve: Any) -> None:
    """Draw an effect where it was estimated, shifted as its values at the rows are."""
    effect = curve.effect
    raw = effect(np.clip(curve.x, effect.x[0], effect.x[-1]))
    ax.plot(
        effect.x, effect.value - raw.mean(), **{"label": method, "markersize": 3} | LOOK[method]
    )


def plain(ax: Any) -> None:
    """Remove uninformative parts of the axes."""
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)


def rug(ax: Any, x: Floats) -> None:
    """Draw a rug mark for each row."""
    ax.plot(
        x,
        np.full(len(x), 0.02),
        "|",
        transform=ax.get_xaxis_transform(),
        color="#333333",
        markersize=5,
        markeredgewidth=0.4,
        rasterized=True,
    )


@dataclass(frozen=True, eq=False)
class Panel:
    """A surface to be drawn.

    Parameters
    ----------
    title : str
    surface : callable
        Takes values of both features.
    rows : bool
        Whether the data are drawn over it.
    scale : str
        Panels of one scale share their colours.
    jump : float
        Of the second feature: where the surface jumps.
    """

    title: str
    surface: Any
    rows: bool = False
    scale: str = ""
    jump: float = np.inf


def surfaces(panels: Sequence[Panel], names: tuple[str, str], X: Floats, fine: int = 91) -> Figure:
    """Draw surfaces over the middle 96 % of both features, with lines of equal height; X has the two features."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.3 * len(panels) + 0.4, 3.3), layout="constrained")
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    sides = [np.linspace(*np.quantile(X[:, j], [0.02, 0.98]), fine) for j in (0, 1)]
    values = [np.asarray(p.surface(*np.meshgrid(*sides, indexing="ij"))) for p in panels]
    for scale in dict.fromkeys(p.scale for p in panels):
        one = [k for k, p in enumerate(panels) if p.scale == scale]
        low, high = (f([f(values[k]) for k in one]) for f in (np.nanmin, np.nanmax))
        # A surface that is zero up to rounding has no contours.
        low, high = (low, high) if high - low > 1e-9 else (-1.0, 1.0)
        for k in one:
            drawn = _surface(axes[k], sides, values[k], low, high, panels[k].jump)
        bar = figure.colorbar(drawn, ax=[axes[k] for k in one], shrink=0.9, pad=0.02)
        bar.ax.tick_params(labelsize=8)
    for ax, panel in zip(axes, panels, strict=True):
        if panel.rows:
            ax.plot(X[:, 0], X[:, 1], "o", markersize=2.5, color="white", markeredgecolor="black",
                    markeredgewidth=0.5, rasterized=True)  # fmt: skip
        ax.set(xlim=sides[0][[0, -1]], ylim=sides[1][[0, -1]])
        ax.set_title(panel.title, fontsize=9.5)
        ax.set_xlabel(names[0])
        ax.tick_params(labelsize=8)
    axes[0].set_ylabel(names[1])
    return figure


def _surface(
    ax: Any, sides: Sequence[Floats], value: Floats, low: float, high: float, jump: float
) -> Any:
    from matplotlib import colormaps
    from matplotlib.ticker import MaxNLocator

    look = {"cmap": colormaps["cividis"].resampled(_COLOURS), "vmin": low, "vmax": high}
    drawn = ax.pcolormesh(*sides, value.T, shading="auto", rasterized=True, **look)
    if np.ptp(value) < 1e-9:
        ax.text(0.5, 0.5, "0 everywhere", transform=ax.transAxes, ha="center", **_LABEL)
        return drawn
    # Lines with their heights, so that it can be read in black and white; none runs along a jump.
    levels = MaxNLocator(9).tick_values(low, high)
    below = sides[1] <= jump
    for part in (below, ~below):
        if part.sum() > 1:
            lines = ax.contour(sides[0], sides[1][part], value.T[part], levels=levels,
                               colors="white", linewidths=0.8)  # fmt: skip
            for text in ax.clabel(lines, fontsize=8):
                text.set(**_LABEL)
    return drawn
