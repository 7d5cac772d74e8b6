"""What the figures share: importances as bars over several splits, and individual curves in groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import skedasis as sd

DARK, MIDDLE, LIGHT = "#1f2d3d", "#5b7fa6", "#c4d3e3"
WARM = "#b3500f"
NAMES = {"likelihood": "Likelihood-PFI", "entropy": "Entropy-PFI"}


def bars(
    ax: Any,
    importance: sd.Importance,
    others: Sequence[np.ndarray] = (),
    labels: Sequence[str] | None = None,
    what: str = "",
    colour: str = MIDDLE,
) -> None:
    """Draw one split's importances with their 95 % intervals, and other splits' means as rings."""
    place = np.arange(len(importance.features))
    lower, upper = importance.interval(0.95)
    ax.barh(place, importance.mean, height=0.62, color=colour, edgecolor=DARK, linewidth=0.6)
    ax.hlines(place, lower, upper, color=DARK, linewidth=1.4)
    for other in others:
        ax.plot(other, place, "o", markersize=3.2, markerfacecolor="none", markeredgecolor=WARM)
    ax.axvline(0.0, color=DARK, linewidth=0.8)
    ax.set_yticks(place, labels or importance.features)
    ax.invert_yaxis()
    ax.set_xlabel(f"{what}, nats")
    ax.margins(y=0.02)
    bare(ax)


def pair(
    axes: Sequence[Any],
    found: sd.Diagnosis,
    others: Sequence[sd.Diagnosis],
    labels: Sequence[str] | None = None,
) -> None:
    """Draw both importances side by side."""
    for ax, key, colour in zip(axes, NAMES, (LIGHT, MIDDLE), strict=True):
        rest = [getattr(other, key).mean for other in others]
        bars(ax, getattr(found, key), rest, labels, NAMES[key], colour)


def legend_of_bars(ax: Any, rings: str = "other splits", loc: str = "lower right") -> None:
    """Say what bars, lines and rings are."""
    ax.plot([], [], color=DARK, linewidth=1.4, label="95 % interval")
    if rings:
        look = {"markerfacecolor": "none", "markeredgecolor": WARM, "linestyle": "none"}
        ax.plot([], [], marker="o", markersize=3.2, label=rings, **look)
    ax.legend(frameon=False, fontsize=8, loc=loc)


def curves(
    ax: Any,
    effect: sd.Effect,
    groups: Sequence[tuple[str, np.ndarray]],
    own: tuple[np.ndarray, np.ndarray] | None = None,
    shown: int = 25,
) -> None:
    """Draw some individual curves of each group of rows, and the mean of all.

    Parameters
    ----------
    groups : sequence of (name, places among the kept curves)
    own : (values, quantity), optional
        Of all kept rows, where they are; they are drawn on the shown curves.
    """
    grid, found = effect.x, effect.curves.value
    looks = ((WARM, "--", "s"), (MIDDLE, "-", "o"))
    for (name, places), (colour, stroke, mark) in zip(groups, looks, strict=False):
        few = places[np.linspace(0, len(places) - 1, min(shown, len(places))).astype(int)]
        lines = ax.plot(
            grid, found[few].T, color=colour, linestyle=stroke, linewidth=0.6, alpha=0.55
        )
        lines[0].set_label(name)
        if own is not None:
            dots = {"markersize": 3, "markerfacecolor": "white", "markeredgecolor": colour}
            ax.plot(own[0][few], own[1][few], mark, markeredgewidth=0.9, **dots)
    ax.plot(effect.x, effect.value, color="black", linewidth=2.2, label="PDP, mean of all")
    bare(ax)


def rug(ax: Any, values: np.ndarray) -> None:
    """Mark at the foot of a panel where rows are, 100 quantiles of them."""
    few = np.quantile(values, np.linspace(0, 1, min(100, len(values))))
    bottom = ax.get_xaxis_transform()
    ax.plot(few, np.full(len(few), 0.015), "|", color=DARK, markersize=5, transform=bottom)


def bare(ax: Any) -> None:
    """Take the two sides of a frame away that measure nothing."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)
    ax.title.set_fontsize(10)
