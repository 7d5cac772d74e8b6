"""What the figures of UALE and of the draft share: an effect above its bins, as UALE Fig. 1 has it, and ICE curves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import skedasis as sd

Floats = NDArray[np.float64]
INK, TRUTH, EQ13, LIKELIHOOD, PALE = "#1a1a1a", "#b3410a", "#0a4a7d", "#1a1a1a", "#9db8cf"
_RUG, _POINTS = 80, 151


def bins_of(effect: sd.Effect) -> Any:
    """Return the bins that an accumulated effect has."""
    if effect.bins is None:
        raise TypeError("an accumulated effect has bins")
    return effect.bins


def sheet(rows: int, columns: int, *, height: float, width: float = 9.0, **more: Any) -> Any:
    """Return a figure and its axes, shape (rows, columns)."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        rows, columns, figsize=(width, height), layout="constrained", squeeze=False, **more
    )
    plt.close(figure)
    for ax in axes.ravel():
        ax.tick_params(labelsize=8)
        ax.spines[["top", "right"]].set_visible(False)
        ax.locator_params(nbins=5)
    return figure, axes


def curve(ax: Any, effect: sd.Effect, truth: Callable[[Floats], Floats] | None = None) -> None:
    """Draw an effect, its accumulated deviation as a band, and the truth where it is known."""
    x, value = effect.path()
    reach = np.interp(x, effect.x, effect.accumulated_std)
    look = {"color": PALE, "alpha": 0.6, "linewidth": 0}
    ax.fill_between(x, value - reach, value + reach, label="± accumulated $\\sigma$", **look)
    ax.plot(x, value, color=INK, linewidth=1.8, label="effect")
    if truth is not None:
        at = np.linspace(effect.x[0], effect.x[-1], _POINTS)
        ax.plot(at, truth(at), color=TRUTH, linewidth=1.3, linestyle="--", label="truth")
    ax.margins(x=0.02)


def slopes(ax: Any, effect: sd.Effect, truth: Callable[[Floats], Floats] | None = None) -> None:
    """Draw the bins: mean slope, a line where it changes within a bin, and the deviation about it."""
    from matplotlib.collections import PolyCollection

    x, y = segments(effect)
    std = np.nan_to_num(bins_of(effect).std)
    corners = [
        [(a, c - r), (b, d - r), (b, d + r), (a, c + r)]
        for (a, b, _), (c, d, _), r in zip(x, y, std, strict=True)
        if np.isfinite(c)
    ]
    look = {"facecolor": PALE, "edgecolor": "#5f7c96", "alpha": 0.6, "linewidth": 0.7}
    ax.add_collection(PolyCollection(corners, label="± $\\sigma$ of its rows", **look))
    ax.plot(x.ravel(), y.ravel(), color=INK, linewidth=2.0, label="mean slope of a bin")
    if truth is not None:
        at = np.linspace(effect.x[0], effect.x[-1], _POINTS)
        ax.plot(at, truth(at), color=TRUTH, linewidth=1.2, linestyle="--", label="true mean slope")
    ax.margins(x=0.02)


def segments(effect: sd.Effect) -> tuple[Floats, Floats]:
    """Return each bin's ends, and its slope there, with a gap after each bin: two arrays of shape (K, 3)."""
    bins = bins_of(effect)
    tilt = np.nan_to_num(bins.slope_change) * bins.widths / 2
    gap = np.full(len(bins), np.nan)
    x = np.stack([bins.left, bins.right, gap], axis=1)
    return x, np.stack([bins.effect - tilt, bins.effect + tilt, gap], axis=1)


def steps(ax: Any, effect: sd.Effect, label: str) -> None:
    """Draw the bins of another effect as a dotted line: slopes only."""
    x, y = segments(effect)
    look = {"color": EQ13, "linewidth": 2.2, "linestyle": (0, (1, 1))}
    ax.plot(x.ravel(), y.ravel(), label=label, **look)


def strands(
    ax: Any, pdp: sd.Effect, truth: Callable[[Floats], Floats] | None = None, shown: int = 16
) -> None:
    """Draw ICE curves, their mean, the PDP, and the truth."""
    if pdp.curves is None:
        raise TypeError("a PDP has curves")
    every = max(1, len(pdp.curves.value) // shown)
    few = pdp.curves.value[::every]
    step = max(1, len(pdp.x) // 25)
    ax.plot(pdp.x[::step], few.T[::step], color="#8a8a8a", linewidth=0.5, alpha=0.7)
    ax.plot([], [], color="#8a8a8a", linewidth=0.7, label=f"ICE ({len(few)} rows)")
    ax.plot(pdp.x, pdp.value, color=INK, linewidth=1.8, label="PDP")
    if truth is not None:
        at = np.linspace(pdp.x[0], pdp.x[-1], _POINTS)
        ax.plot(at, truth(at), color=TRUTH, linewidth=1.3, linestyle="--", label="truth")
    ax.margins(x=0.02)


def rug(ax: Any, x: Floats) -> None:
    """Mark where rows lie, some of them if there are many."""
    shown = x[:: max(1, len(x) // _RUG)]
    gap = np.full(len(shown), np.nan)
    marks = np.stack([shown, shown, gap], axis=1).ravel()
    ends = np.tile([0.0, 0.025, np.nan], len(shown))
    ax.plot(marks, ends, transform=ax.get_xaxis_transform(), color="#444444", linewidth=0.4)


def named(ax: Any, x: str = "", y: str = "", title: str = "") -> None:
    """Write the names of the axes, and a title."""
    ax.set_xlabel(x, fontsize=9)
    ax.set_ylabel(y, fontsize=9)
    if title:
        ax.set_title(title, fontsize=9.5)


def plain(axis: Any) -> None:
    """Make an axis logarithmic, with few ticks and plain numbers at them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    (axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale)("log")
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,g}"))


def key(figure: Any, *axes: Any, columns: int = 6) -> None:
    """Add one legend for all panels below them, without duplicates."""
    known: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    figure.legend(
        known.values(),
        known.keys(),
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=8.5,
    )
