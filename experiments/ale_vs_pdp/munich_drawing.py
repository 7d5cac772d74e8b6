"""The figures of the Munich rents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.ale_vs_pdp.chapter import LOOK, Floats
from experiments.ale_vs_pdp.drawing import plain, rug

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STROKES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 1)))
_OWN = {"color": "#1a1a1a", "linestyle": "-", "linewidth": 2.2, "marker": "s", "markersize": 3.5}


def correlations(names: Sequence[str], values: Floats) -> Figure:
    """Draw the lower half of a correlation matrix, with its numbers."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.6, 4.6), layout="constrained")
    ax = figure.subplots()
    shown = np.where(np.tri(len(names), k=-1, dtype=bool), values, np.nan)[1:, :-1]
    drawn = ax.pcolormesh(shown, cmap="PuOr", vmin=-1, vmax=1, rasterized=True)
    for (i, j), value in np.ndenumerate(shown):
        if not np.isnan(value):
            colour = "white" if abs(value) > 0.6 else "black"
            ax.text(j + 0.5, i + 0.5, f"{value:.2f}", ha="center", va="center", color=colour,
                    fontsize=8)  # fmt: skip
    ax.set_xticks(np.arange(len(names) - 1) + 0.5, names[:-1], rotation=45, ha="right", fontsize=8)
    ax.set_yticks(np.arange(len(names) - 1) + 0.5, names[1:], fontsize=8)
    ax.invert_yaxis()
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    figure.colorbar(drawn, shrink=0.8, label="correlation").ax.tick_params(labelsize=8)
    return figure


def effects(fitted: Any, edge: float, rules: tuple[str, str]) -> Figure:
    """Draw ICE, PDP and ALE over all flats; and over the large ones, with equal bins."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2.4))
    usual, own = (fitted.effects[rule] for rule in rules)
    middle = float(np.mean(fitted.forest.predict(fitted.X)))
    for ax in (left, right):
        for stroke, (rooms, value) in zip(_STROKES, fitted.ice.items(), strict=True):
            name = f"ICE, {rooms} room{'s' if rooms > 1 else ''}"
            ax.plot(fitted.pdp.x, value, color="#8a8a8a", linestyle=stroke, linewidth=1, label=name)
        ax.plot(fitted.pdp.x, fitted.pdp.value, **LOOK["PDP"] | {"linewidth": 2}, label="PDP")
        ax.plot(usual.x, usual.value + middle, **LOOK["ALE"], label=rules[0])
        rug(ax, fitted.X[:, 0])
        ax.set_xlabel("living space wfl, m²")
        plain(ax)
    right.plot(own.x, own.value + middle, **_OWN, label=rules[1])
    right.set_xlim(100, 187)
    right.set_ylim(550, 1450)
    right.axvline(edge, color="#333333", linewidth=0.8, linestyle=(0, (2, 2)))
    right.text(edge + 1, 1420, f"{edge:.0f} m²", fontsize=8)
    left.set_ylabel("predicted rent nm, euros a month\n(ALE: centred, plus the mean prediction)")
    left.set_title("all flats", fontsize=9.5)
    right.set_title("the large ones", fontsize=9.5)
    handles, labels = right.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=8.5)
    return figure
