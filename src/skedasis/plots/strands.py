"""Individual curves: all alike, or coloured by what the rows have besides."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D

from skedasis._types import Floats, Ints
from skedasis.plots.marks import Bundle, Tint
from skedasis.plots.palette import HUES, INK, OWN, STROKES
from skedasis.plots.scale import shortened
from skedasis.plots.style import Legend
from skedasis.plots.tint import ends, named

MAP = "viridis"
PLAIN, UNKNOWN = "#555555", "#bcbcbc"


def bundle(ax: Axes, strands: Bundle) -> Legend:
    """Draw individual curves, and return what explains them."""
    alpha = float(np.clip(30 / max(len(strands.y), 1), 0.15, 0.5))
    if strands.tint is None:
        everyone = np.arange(len(strands.y))
        _draw(ax, strands, everyone, color=PLAIN, alpha=alpha, lw=0.6)
        entries: Legend = {strands.label: Line2D([], [], color=PLAIN, lw=0.6)}
        return entries | _own(ax, strands, [INK] * len(strands.y))
    entries = {}
    for name, rows, look in _parts(strands.tint):
        strong = float(np.clip(60 / max(len(strands.y), 1), 0.35, 0.9))
        _draw(ax, strands, rows, alpha=strong, **look)
        if name:
            key: dict[str, Any] = {**look, "lw": 1.6}
            entries[name] = Line2D([], [], **key)
    if not strands.tint.groups:
        entries[f"{strands.label}, by {shortened(strands.tint.name, 16)}"] = Line2D(
            [], [], color=PLAIN, lw=0.9
        )
    return entries | _own(ax, strands, hues(strands.tint))


def _parts(tint: Tint) -> list[tuple[str, Ints, dict[str, Any]]]:
    """Return which curves are drawn alike, what they are called, and how they look."""
    missing = np.flatnonzero(np.isnan(tint.value))
    parts: list[tuple[str, Ints, dict[str, Any]]] = []
    if len(missing):
        parts.append((named(tint, -1), missing, {**look_of(-1), "lw": 0.7}))
    if not tint.groups:
        there = np.flatnonzero(~np.isnan(tint.value))
        parts.append(("", there, {"color": [hues(tint)[i] for i in there], "lw": 0.8}))
        return parts
    for place in range(len(tint.groups)):
        rows = np.flatnonzero(tint.value == place)
        parts.append((named(tint, place), rows, {**look_of(place), "lw": 0.9}))
    return parts


def look_of(place: int) -> dict[str, Any]:
    """Return a group's colour and stroke; at -1 those of rows without a group."""
    if place < 0:
        return {"color": UNKNOWN, "ls": "-"}
    return {"color": HUES[place], "ls": STROKES[place]}


def hues(tint: Tint) -> list[Any]:
    """Return each curve's colour."""
    if tint.groups:
        return [UNKNOWN if np.isnan(v) else HUES[int(v)] for v in tint.value]
    scale = mappable(tint)
    return [UNKNOWN if np.isnan(v) else scale.to_rgba(v) for v in tint.value]


def mappable(tint: Tint) -> ScalarMappable:
    """Return the scale of numbers."""
    return ScalarMappable(Normalize(*ends(tint), clip=True), colormaps[MAP])


def _draw(ax: Axes, strands: Bundle, rows: Ints, **look: Any) -> None:
    """Draw some rows' curves; dashes at levels between which there is nothing."""
    if len(rows) == 0:
        return
    y = strands.y[rows]
    style: dict[str, Any] = {**look, "zorder": 1.6, "ls": look.get("ls", "-")}
    if strands.shift is not None:
        ends = _dashes(strands.x, y, strands.shift[rows])
        if isinstance(style["color"], list):
            style["color"] = np.repeat(np.asarray(style["color"]), len(strands.x), axis=0)
        style |= {"ls": "-", "lw": 1.1}
        ax.add_collection(LineCollection(list(ends), **style), autolim=False)
        return
    x = strands.x
    if len(x) == 1:  # no line through one point: a dash
        x, y = x + np.array([-0.01, 0.01]), np.repeat(y, 2, axis=1)
    paths = np.stack([np.broadcast_to(x, y.shape), y], axis=-1)
    ax.add_collection(LineCollection(list(paths), **style), autolim=False)


def _dashes(x: Floats, y: Floats, shift: Floats) -> Floats:
    """Return the ends of a short dash for each row at each level, shape (r m, 2, 2)."""
    middle = x[None, :] + shift[:, None]
    reach = 0.035
    ends = np.stack(
        [np.stack([middle - reach, y], axis=-1), np.stack([middle + reach, y], axis=-1)], axis=2
    )
    return ends.reshape(-1, 2, 2)


def _own(ax: Axes, strands: Bundle, colours: list[Any]) -> Legend:
    if len(strands.own_x) == 0:
        return {}
    plain = strands.tint is None
    points = ax.scatter(
        strands.own_x,
        strands.own_y,
        s=5 if plain else 15,
        c=[colours[i] for i in strands.own],
        edgecolors="none" if plain else "white",
        linewidths=0.5,
        alpha=0.6 if plain else 1.0,
        zorder=3.2 if not plain else 1.8,
    )
    points.set_in_layout(False)
    dot = Line2D([], [], marker="o", ms=2.4 if plain else 4, color=INK, mew=0, ls="none")
    return {OWN: dot}
