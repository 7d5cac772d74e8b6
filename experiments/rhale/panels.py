"""Panels of RHALE's figures; lines differ in style and marker, so that colour is not needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import skedasis as sd

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
BLUE, ORANGE, GREY, RED = "#0b4f8a", "#c77b1b", "#555555", "#a8201a"
_FILL = "#f3d9b1"


def figure(
    rows: int, columns: int, size: tuple[float, float], **options: Any
) -> tuple[Figure, Any]:
    """Return a figure that no list of open figures holds, and its axes, shape (rows, columns)."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    made = Figure(figsize=size, layout="constrained")
    axes = made.subplots(rows, columns, squeeze=False, **options)
    for ax in axes.ravel():
        ax.tick_params(labelsize=8)
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.yaxis.set_major_locator(MaxNLocator(4))
        ax.spines[["top", "right"]].set_visible(False)
    return made, axes


def label(ax: Axes, title: str = "", x: str = "", y: str = "") -> None:
    """Write what a panel shows and what its axes are."""
    ax.set_title(title, fontsize=9)
    ax.set_xlabel(x, fontsize=8)
    ax.set_ylabel(y, fontsize=8)


def legend(made: Figure, panels: Sequence[Axes], columns: int = 6) -> None:
    """Write one legend of what these panels show below the whole figure."""
    unique: dict[str, Any] = {}
    for ax in panels:
        handles, names = ax.get_legend_handles_labels()
        unique = {**dict(zip(names, handles, strict=True)), **unique}
    made.legend(
        unique.values(),
        unique.keys(),
        loc="outside lower center",
        ncols=columns,
        fontsize=8,
        frameon=False,
    )


def effect(ax: Axes, e: sd.Effect, truth: Floats | None = None, band: bool = True) -> None:
    """Draw the average effect, its STD (Eq. 16), the edges of the bins and the rows.

    Parameters
    ----------
    truth : ndarray, shape (2, m), optional
        Points and the true effect there.
    """
    if band:
        low, high = e.value - e.accumulated_std, e.value + e.accumulated_std
        ax.fill_between(e.x, low, high, color=_FILL, label="± STD (Eq. 16)")
        for line in (low, high):
            ax.plot(e.x, line, color=ORANGE, linewidth=0.7, linestyle=(0, (4, 2)))
    # Between two edges the curve is a line, or a parabola where slopes change linearly.
    x = np.union1d(e.x, np.linspace(e.x[0], e.x[-1], 101)) if np.any(e.bins.slope_change) else e.x
    edges = np.searchsorted(x, e.x)
    look = {"marker": "o", "markersize": 3, "markevery": edges.tolist()}
    ax.plot(x, e(x), color=BLUE, linewidth=1.8, label="average effect", **look)
    if truth is not None:
        ax.plot(
            *truth, color="black", linewidth=1.2, linestyle=(0, (1, 1.5)), label="truth", zorder=5
        )
    rug(ax, e.rows.x if e.rows else np.zeros(0))


def rug(ax: Axes, x: Floats, most: int = 70) -> None:
    """Mark the rows, or some of them, at the foot of the panel."""
    some = x[:: -(-len(x) // most)]
    # One broken line takes a tenth of the space of single marks in an SVG.
    across = np.stack([some, some, np.full(len(some), np.nan)], axis=1).ravel()
    up = np.tile([0.0, 0.035, np.nan], len(some))
    ax.plot(
        across,
        up,
        transform=ax.get_xaxis_transform(),
        color=GREY,
        linewidth=0.5,
        label="rows",
        scalex=False,
        scaley=False,
    )


def slopes(ax: Axes, e: sd.Effect, truth: Floats | None = None, violins: bool = True) -> None:
    """Draw each bin's mean slope, its standard deviation and the distribution of its slopes.

    Parameters
    ----------
    truth : ndarray, shape (2, m), optional
        Points and the true mean slope there.
    """
    bins = e.bins
    if violins:
        _violins(ax, e)
    gap = np.full(len(bins), np.nan)
    # Broken lines, one for all bins: a tenth of as many marks in an SVG.
    ax.plot(
        np.stack([bins.left, bins.right, gap], axis=1).ravel(),
        np.stack([*bins.ends, gap], axis=1).ravel(),
        color=BLUE,
        linewidth=2,
        label="mean slope of a bin",
    )
    middle = (bins.left + bins.right) / 2
    ax.plot(
        np.stack([middle, middle, gap], axis=1).ravel(),
        np.stack([bins.effect - bins.std, bins.effect + bins.std, gap], axis=1).ravel(),
        color="black",
        linewidth=0.9,
        label="± standard deviation",
    )
    if truth is not None:
        ax.plot(
            *truth, color="black", linewidth=1.1, linestyle=(0, (1, 1.5)), label="truth", zorder=5
        )


def _violins(ax: Axes, e: sd.Effect) -> None:
    """Draw a violin in every bin of five rows or more whose slopes differ."""
    bins, rows = e.bins, e.rows
    if rows is None or rows.effect is None:
        return
    place = np.clip(np.searchsorted(bins.right, rows.x, side="right"), 0, len(bins) - 1)
    for k in range(len(bins)):
        d = rows.effect[place == k]
        if len(d) < 5 or np.ptp(d) <= 1e-9 * (1 + np.max(np.abs(d))):
            continue
        width = 0.8 * (bins.right[k] - bins.left[k])
        middle = (bins.left[k] + bins.right[k]) / 2
        drawn: Any = ax.violinplot(d, [middle], widths=width, showextrema=False, points=18)
        for body in drawn["bodies"]:
            body.set(facecolor=_FILL, edgecolor=ORANGE, alpha=1.0, linewidth=0.6)


def ice(ax: Axes, e: sd.Effect, truth: Floats | None = None, most: int = 24) -> None:
    """Draw PDP and some ICE curves, all 0 at the left end."""
    curves = e.curves
    values = np.asarray(curves.value)[:: -(-len(curves.value) // most)]
    for k, line in enumerate(values):
        name = "ICE" if k == 0 else None
        # Rasterised, for a curve has a hundred points.
        ax.plot(e.x, line - line[0], color="#b9b9b9", linewidth=0.5, label=name, rasterized=True)
    ax.plot(e.x, e.value - e.value[0], color=RED, linewidth=1.8, linestyle="--", label="PDP")
    if truth is not None:
        ax.plot(
            *truth, color="black", linewidth=1.2, linestyle=(0, (1, 1.5)), label="truth", zorder=5
        )


def by_bins(
    ax: Axes, counts: Sequence[int], fixed: Floats, rows: Mapping[str, float], marks: bool = True
) -> None:
    """Draw a loss against the number of equal bins, and those of chosen bins as level lines.

    Parameters
    ----------
    fixed : ndarray, shape (runs, counts)
    rows : mapping of str to float
        Name and mean loss of each rule that chooses.
    marks : bool
        Whether each number of equal bins has a mark.
    """
    mean = np.nanmean(fixed, axis=0)
    error = np.nanstd(fixed, axis=0, ddof=1) / np.sqrt(len(fixed))
    ax.fill_between(counts, mean - 2 * error, mean + 2 * error, color="#cfd8e3")
    look = {"marker": "x", "markersize": 3.5} if marks else {}
    ax.plot(counts, mean, color=GREY, linewidth=0.8, label="equal bins", **look)
    looks = (("black", "-"), (ORANGE, "--"), (RED, ":"))
    for (name, value), (colour, stroke) in zip(rows.items(), looks, strict=False):
        ax.axhline(value, color=colour, linestyle=stroke, linewidth=1.6, label=name)
    ax.set_ylim(bottom=0)
