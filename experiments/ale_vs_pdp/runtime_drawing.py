"""The figure of the runtimes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.ale_vs_pdp.costs import (
    ALE,
    FOREST,
    LEVELS,
    ONE,
    PDP,
    PYALE,
    SKLEARN,
    SVM,
    TWO,
    WAYS,
    Setting,
)
from experiments.ale_vs_pdp.drawing import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOOK: dict[str, dict[str, Any]] = {
    ALE: {"color": "#0a4a7d", "linestyle": "-", "marker": "o"},
    PYALE: {"color": "#0a4a7d", "linestyle": "--", "marker": "o", "markerfacecolor": "white"},
    PDP: {"color": "#c8500a", "linestyle": "-", "marker": "s"},
    SKLEARN: {"color": "#c8500a", "linestyle": "--", "marker": "s", "markerfacecolor": "white"},
}


def drawn(times: Any, design: Any) -> Figure:
    """Draw what happens along features, rows and grid, for both models."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(10, 5.6), layout="constrained")
    axes = figure.subplots(2, 4, sharey=True)
    n, d, middle = design.sizes[0], design.features[0], design.sizes[-2]
    for line, model in zip(axes, (SVM, FOREST), strict=True):
        panels = (
            ("one numeric", "rows",
             [Setting(model, ONE, m, d, design.grids[0]) for m in design.sizes]),
            ("one numeric", "features",
             [Setting(model, ONE, n, f, design.grids[0]) for f in design.features]),
            ("two numeric", "intervals of each",
             [Setting(model, TWO, n, d, k) for k in design.pairs]),
            ("one categorical", "features",
             [Setting(model, LEVELS, middle, f) for f in design.features]),
        )  # fmt: skip
        for ax, (title, along, settings) in zip(line, panels, strict=True):
            places = {"rows": "n", "features": "d", "intervals of each": "grid"}
            _panel(ax, times, settings, places[along])
            ax.set_xlabel(along, fontsize=9)
            if model == SVM:
                ax.set_title(title, fontsize=9.5)
        line[0].set_ylabel(f"{model}\nmilliseconds")
    handles = [Line2D([], [], **_LOOK[way], label=way) for way in WAYS]
    star = {"color": "#555555", "linestyle": "", "marker": "*", "markerfacecolor": "white"}
    handles.append(Line2D([], [], **star, markersize=9, label="the model alone"))
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)
    return figure


def _panel(ax: Any, times: Any, settings: list[Setting], along: str) -> None:
    place = np.array([getattr(s, along) for s in settings], dtype=float)
    for way in WAYS:
        look = {"linewidth": 1.4, "markersize": 4.5} | _LOOK[way]
        middle = np.array([1e3 * times.median(s, way) for s in settings])
        known = [times.seconds.get((s, way)) for s in settings]
        ax.plot(place, middle, **look | {"marker": ""})
        seen = np.array([k is not None for k in known])
        ends = np.array([1e3 * np.quantile(k, [0.25, 0.75]) for k in known if k is not None])
        if seen.any():
            reach = np.abs(ends - middle[seen, None]).T
            ax.errorbar(
                place[seen],
                middle[seen],
                yerr=reach,
                capsize=2,
                label=way,
                **look | {"linestyle": ""},
            )
        ax.plot(
            place[~seen], middle[~seen], **look | {"linestyle": "", "marker": "*", "markersize": 9}
        )
    ax.set(xscale="log", yscale="log")
    ax.set_xticks(place, [f"{p:,.0f}" for p in place])
    ax.minorticks_off()
    plain(ax)
