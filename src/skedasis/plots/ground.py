"""What stands under curves: strips where they rise, and how the feature is distributed in groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from skedasis.plots.marks import Outline, Strip
from skedasis.plots.palette import BOTTOM, INK, PATTERNS, RISES, SMALL, TOP
from skedasis.plots.strands import look_of
from skedasis.plots.style import Legend

LIGHT = 0.16
"""Of the areas under outlines."""


def strips(ax: Axes, found: Sequence[Strip]) -> Legend:
    """Draw strips at the foot of a panel, with their words above them, and return what explains them."""
    entries: Legend = {}
    for strip in found:
        pattern, ground = RISES[strip.rising]
        look: dict[str, Any] = {"fc": ground, "ec": INK, "lw": 0.7, "hatch": pattern}
        ax.axvspan(strip.left, strip.right, BOTTOM, TOP, zorder=3.5, **look)
        entries[strip.label] = Patch(**look)
        if strip.text:
            where = ax.get_xaxis_transform()
            at = ax.text(strip.middle, TOP + 0.012, "", transform=where, zorder=3.6)
            at.set(text=strip.text, fontsize=SMALL - 0.5, color=INK, ha="center", va="bottom")
            # A grid line may pass under it.
            at.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
            at.set_in_layout(False)
    return entries


def outlines(ax: Axes, groups: Sequence[Outline]) -> Legend:
    """Draw distributions, each with its group's colour, stroke and pattern, and return what explains them."""
    entries: Legend = {}
    for group in groups:
        look = look_of(group.place)
        outline: dict[str, Any] = {"ec": look["color"], "ls": look["ls"], "lw": 1.4}
        if group.place >= 0:
            outline["hatch"] = PATTERNS[group.place]
        base = 0.0 if group.base is None else group.base
        if group.base is not None:  # edges that touch would hide one another's strokes
            outline |= {"ls": "-", "lw": 0.8}
        ax.stairs(
            base + group.height, group.edges, baseline=base, fill=False, zorder=2.5, **outline
        )
        _area(ax, group, look["color"])
        entries[group.label] = Patch(fc=to_rgba(look["color"], LIGHT), **outline)
    return entries


def _area(ax: Axes, group: Outline, color: str) -> None:
    """Fill a distribution, lightly, for others may lie over it."""
    base = np.zeros(len(group.height)) if group.base is None else group.base
    x = np.repeat(group.edges, 2)[1:-1]
    low, high = np.repeat(base, 2), np.repeat(base + group.height, 2)
    ax.fill_between(x, low, high, color=color, alpha=LIGHT, lw=0, zorder=2)
