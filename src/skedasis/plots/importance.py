"""Figures of importances: bars with their spread, and rows before and after permutation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from skedasis.errors import DataError, explained
from skedasis.plots.artists import axis_of, clear_frame, headed, label_below, label_beside, write
from skedasis.plots.bars import BarPanel, Shift, bars, kept, repeated, shifts
from skedasis.plots.common import counted
from skedasis.plots.mpl import blank_figure, legend_below, legend_in
from skedasis.plots.palette import AVERAGE, ERROR, FAINT, GRID, INK, SMALL
from skedasis.plots.scale import Axis
from skedasis.plots.style import Legend
from skedasis.results.importance import Importance

Kind = Literal["bars", "local"]
THICK = 0.62
"""Of a bar, as a share of its line."""
BEFORE, BEFORE_EDGE = "#d4d4d4", "#6b6b6b"


def draw_importance(
    importance: Importance,
    *,
    kind: Kind = "bars",
    features: Sequence[str] | None = None,
    top: int | None = None,
    level: float = 0.95,
    ax: Axes | None = None,
    size: tuple[float, float] | None = None,
    legend: bool = True,
) -> Figure:
    """Draw the importances of features.

    Parameters
    ----------
    importance : Importance
    kind : {"bars", "local"}
        Bars, most important first, with their analytic interval and the single repeats; or for each feature how the
        kept rows' quantity is distributed before and after permutation (entropy_importance, Fig. 2).
    features : sequence of str, optional
        Only these. By default all, of "local" the six most important ones.
    top : int, optional
        Only so many, the most important ones; the notes say how many are left out.
    level : float
        Of the intervals.
    ax : matplotlib Axes, optional
        Draw there; "local" can do that with one feature. By default a figure is made.
    size : (float, float), optional
        Width and height of the figure in inches.
    legend : bool

    Returns
    -------
    matplotlib Figure
        Notebooks show it; ``savefig`` writes it.

    Raises
    ------
    DataError
        For a `kind` that does not exist, unknown features, a `top` below 1, a level outside (0, 1), or axes for several
        features' rows.
    UnsupportedError
        For "local" where no rows were kept.

    Notes
    -----
    Importances below zero are drawn as they are. Intervals that would flatten all bars reach beyond the panel. No model
    row.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([[0.1, 0.2, 0.3], [0.0, -0.01, 0.01]])
    >>> pf = Importance(("age", "noise"), values, np.full(2, 0.05), np.full(2, 9.0), 0.5, 500)
    >>> figure = draw_importance(pf)
    >>> [t.get_text() for t in figure.axes[0].get_yticklabels()]
    ['age', 'noise']
    """
    if kind not in ("bars", "local"):
        raise DataError(explained("plot(kind)", repr(kind), "'bars' or 'local'", "Name one"))
    if kind == "local":
        return _local(importance, features, top, ax, size, legend=legend)
    panel = bars(importance, features=features, top=top, level=level)
    own = ax is None
    if ax is None:
        ax = blank_figure(size or (6.8, 1.35 + line_height(len(panel)) * len(panel))).subplots()
        bare(ax)
    entries = draw_bars(ax, panel)
    label_below(ax, panel.x)
    headed(ax, panel.title, panel.notes, 90 if size is None else round(90 * size[0] / 6.8))
    if legend and own:
        legend_below(ax.figure, entries)
    elif legend:
        legend_in(ax, entries)
    return ax.figure.canvas.figure


def line_height(n: int) -> float:
    """Return how many inches a line of a table of n lines is high."""
    return 0.3 if n <= 40 else 0.2


def bare(ax: Axes) -> None:
    """Leave of the frame what bars that lie need."""
    clear_frame(ax)
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x", color=GRID, lw=0.6)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)


def lines_of(ax: Axes, names: Sequence[str], least: int = 1) -> np.ndarray:
    """Give axes a line for each name, the first on top, and return where these are; there is room for `least`."""
    n = len(names)
    at = np.arange(n, dtype=float)
    low, high = -0.5, max(n, least) - 0.5
    axis_of(ax, "y", Axis("", None, low, high, 0.0, tuple(at.tolist()), tuple(names)), n)
    ax.invert_yaxis()
    return at


def draw_bars(ax: Axes, panel: BarPanel) -> Legend:
    """Draw bars, whiskers and repeats, and return what explains them."""
    axis_of(ax, "x", panel.x, 7)
    y = lines_of(ax, panel.names)
    look: dict[str, Any] = {"fc": ERROR, "ec": AVERAGE, "lw": 0.8}
    ax.barh(y, panel.value, THICK, zorder=2, **look)
    ax.axvline(0, color=INK, lw=0.9, zorder=2.5)
    entries: Legend = {"mean over the repeats" if panel.repeats.size else "mean": Patch(**look)}
    if panel.repeats.size:
        x = panel.repeats.ravel()
        dots: dict[str, Any] = {"marker": "o", "mfc": "white", "mec": INK, "ls": "none"}
        # Below the whisker, strewn as little as keeps equal ones apart.
        r = panel.repeats.shape[1]
        shift = THICK * (0.27 + 0.08 * (np.arange(r) % 3 - 1))
        small = 2.6 if r <= 30 else 1.8
        ax.plot(x, np.add.outer(y, shift).ravel(), ms=small, mew=0.6, zorder=3, **dots)
        entries["single repeats"] = Line2D([], [], ms=3.2, mew=0.7, **dots)
    known = np.isfinite(panel.lower)
    if known.any():
        lower, upper, at = panel.lower[known], panel.upper[known], y[known]
        ax.hlines(at, lower, upper, color=INK, lw=1.3, zorder=3.5)
        for end in (lower, upper):
            ax.plot(end, at, "|", color=INK, ms=5, mew=1.3, zorder=3.5)
        entries[panel.interval] = Line2D([], [], color=INK, lw=1.3, marker="|", ms=5)
    return entries


def _local(
    importance: Importance,
    features: Sequence[str] | None,
    top: int | None,
    ax: Axes | None,
    size: tuple[float, float] | None,
    *,
    legend: bool,
) -> Figure:
    """Draw histograms of the kept rows before and after, one panel a feature."""
    found, local = shifts(importance, features=features, top=top), importance.local
    if local is None:
        raise TypeError("`shifts` refuses this")
    said = f"as they are: {kept(local)}", f"with values of other rows: {repeated(importance)}"
    if ax is not None:
        first, *more = found
        if more:
            got, fix = f"{len(found)} features", f"Use features=[{first.name!r}]"
            raise DataError(explained("plot(ax) of kind='local'", got, "one feature", fix))
        entries = _histograms(ax, first, said)
        label_below(ax, first.x)
        label_beside(ax, first.y)
        headed(ax, first.name, first.notes, 60)
        if legend:
            legend_in(ax, entries)
        return ax.figure.canvas.figure
    figure = _beside(found, said, size, legend=legend)
    if len(found) < len(importance):
        # Before the panels, for it concerns them all.
        above = figure.suptitle("", x=0.01, ha="left")
        words = f"{len(found):,} of {counted(len(importance), 'feature')}"
        write(above, words, SMALL, FAINT)
    return figure


def _beside(
    found: Sequence[Shift],
    said: tuple[str, str],
    size: tuple[float, float] | None,
    *,
    legend: bool,
) -> Figure:
    """Draw the histograms of several features beside one another, on shared axes."""
    columns = min(3, len(found)) if len(found) != 4 else 2
    rows = -(-len(found) // columns)
    figure = blank_figure(size or (max(4.2, 2.75 * columns + 0.5), 2.1 * rows + 1.1))
    grid = figure.add_gridspec(rows, columns)
    entries: Legend = {}
    for i, shift in enumerate(found):
        at = figure.add_subplot(grid[divmod(i, columns)])
        clear_frame(at)
        entries |= _histograms(at, shift, said)
        last = i + columns >= len(found)
        at.tick_params(labelbottom=last, labelleft=i % columns == 0)
        if last:
            label_below(at, shift.x, SMALL)
        if i % columns == 0:
            label_beside(at, shift.y, SMALL)
        headed(at, shift.name, shift.notes, 44)
    if legend:
        legend_below(figure, entries)
    return figure


def _histograms(ax: Axes, shift: Shift, said: tuple[str, str]) -> Legend:
    """Draw one feature's histograms over one another, their means as lines, and return what explains them."""
    axis_of(ax, "x", shift.x, 4)
    axis_of(ax, "y", shift.y, 4)
    ax.stairs(shift.before, shift.edges, fill=True, fc=BEFORE, ec=BEFORE_EDGE, lw=0.7, zorder=2)
    ax.stairs(shift.after, shift.edges, fill=False, ec=AVERAGE, lw=1.6, zorder=3)
    first: dict[str, Any] = {"color": BEFORE_EDGE, "ls": (0, (3, 1.5)), "lw": 1.4}
    then: dict[str, Any] = {"color": AVERAGE, "ls": "-", "lw": 1.4}
    where: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "clip_on": False, "zorder": 4}
    for mean, look, ground in zip(shift.means, (first, then), ("white", AVERAGE), strict=True):
        ax.axvline(mean, zorder=3.5, **look)
        ax.plot([mean], [1.0], "v", mfc=ground, mec=look["color"], ms=5, **where)
    return {
        said[0]: Patch(fc=BEFORE, ec=BEFORE_EDGE, lw=0.7),
        said[1]: Patch(fc="none", ec=AVERAGE, lw=1.6),
        "mean as they are": Line2D([], [], marker="v", mfc="white", mec=BEFORE_EDGE, ms=5, **first),
        "mean with values of other rows": Line2D([], [], marker="v", mfc=AVERAGE, ms=5, **then),
    }
