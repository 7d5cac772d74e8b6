"""What marks look like: it draws them on matplotlib's axes. Nothing is global here: no pyplot, no rcParams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, Formatter, MaxNLocator

from skedasis.plots.marks import Band, Bundle, Hatch, Panel, Rug, Steps, Violin
from skedasis.plots.scale import Axis, Scale, flowed, wrapped
from skedasis.results.effect import TRUSTED_ROWS

# Blue is the average and its error, amber is how rows differ from it. Their luminances differ, so that they do without
# colour, and no reader mistakes blue for orange.
INK, FAINT, GRID = "#262626", "#6b6b6b", "#e9e9e9"
AVERAGE, ERROR = "#0a4a7d", "#79aad2"
SPREAD, SPREAD_EDGE = "#f8e3c0", "#b9791f"
BODY, BODY_EDGE = "#f0c987", "#a66a15"
HATCHES = {"few": ("////", "#bdbdbd"), "empty": ("xxxx", "#cfcfcf")}
DOUBTS = {"few": f"fewer than {TRUSTED_ROWS} rows", "empty": "no data"}
SIZE, SMALL = 9.0, 8.0
Legend = dict[str, Artist | tuple[Artist, ...]]


def draw_panel(ax: Axes, panel: Panel, *, small: bool = False) -> Legend:
    """Draw all that stands in a panel, and return what explains it."""
    _axis(ax, "x", panel.x, 4 if small else 7)
    _axis(ax, "y", panel.y, 2 if panel.bars else 4 if small else 6)
    size = SMALL if small else SIZE
    _write(ax.yaxis.label, wrapped(panel.y.label, _room(ax.bbox.height, ax, size)), size, INK)
    if panel.zero:
        ax.axhline(0, color=FAINT, lw=0.7, zorder=1.4)
    entries: Legend = {}
    for line in panel.lines:
        few = len(line.x) <= 30
        (entries[line.label],) = ax.plot(
            line.x,
            line.y,
            color=AVERAGE,
            lw=1.5 if small else 2.0,
            marker="o" if line.vertices else None,
            ms=(2.5 if small else 4.0) if few else 1.5,
            mfc="white" if few else AVERAGE,
            mew=1.0 if small else 1.3,
            zorder=3,
        )
    for band in panel.bands:
        entries[band.label] = _band(ax, band)
    if panel.bundle is not None:
        entries |= _bundle(ax, panel.bundle)
    if panel.steps is not None:
        entries |= _steps(ax, panel.steps, fine=small or len(panel.steps.y) > 20)
        entries["local effects"] = _violins(ax, panel)
    if panel.bars is not None:
        b = panel.bars
        ax.bar(b.left, b.height, b.right - b.left, align="edge", fc="#9a9a9a", ec="white", lw=0.5)
    for word in panel.words:
        _annotate(ax, word.text, word.x, 1.0, (0, 3), ha="center")
    if panel.rug is not None:
        entries[panel.rug.label] = _rug(ax, panel.rug)
    return entries | _doubts(ax, panel.hatches, SMALL - 1 if small else SMALL)


def _band(ax: Axes, band: Band) -> Artist:
    error = band.role == "error"
    fill, edge, style, z = (
        (ERROR, AVERAGE, "-", 2.0) if error else (SPREAD, SPREAD_EDGE, (0, (4, 2)), 1.0)
    )
    if len(band.x) == 1:  # no area above one point: a bar instead
        ax.vlines(band.x, band.lower, band.upper, color=fill, lw=7 if error else 16, zorder=z)
    else:
        ax.fill_between(band.x, band.lower, band.upper, color=fill, lw=0, zorder=z)
        for side in (band.lower, band.upper):
            ax.plot(band.x, side, color=edge, lw=0.6, ls=style, zorder=z + 0.1)
    return Patch(fc=fill, ec=edge, lw=0.6, ls=style)


def _bundle(ax: Axes, bundle: Bundle) -> Legend:
    alpha = float(np.clip(30 / len(bundle.y), 0.15, 0.5))
    look: dict[str, Any] = {"color": "#555555", "lw": 0.6}
    if len(bundle.x) == 1:
        ax.plot(np.repeat(bundle.x, len(bundle.y)), bundle.y[:, 0], "_", alpha=alpha, **look)
    else:
        paths = np.stack([np.broadcast_to(bundle.x, bundle.y.shape), bundle.y], axis=-1)
        ax.add_collection(
            LineCollection(list(paths), alpha=alpha, zorder=1.6, **look), autolim=False
        )
    entries: Legend = {bundle.label: Line2D([], [], **look)}
    if len(bundle.own_x):
        (entries["each row's own value"],) = ax.plot(
            bundle.own_x, bundle.own_y, "o", ms=2.2, color=INK, mew=0, alpha=0.6, zorder=1.8
        )
    return entries


def _steps(ax: Axes, steps: Steps, *, fine: bool) -> Legend:
    """Draw each bin's mean across it, and a whisker in its middle."""
    level = [[(a, y), (b, y)] for a, b, y in zip(steps.left, steps.right, steps.y, strict=True)]
    means = LineCollection(level, colors=AVERAGE, lw=1.6 if fine else 2.4, zorder=3)
    ax.add_collection(means, autolim=False)
    thin = 0.7 if fine else 1.0
    ax.vlines(steps.middle, steps.lower, steps.upper, color=INK, lw=thin, zorder=2.5)
    caps: dict[str, Any] = {"marker": "_", "color": INK, "mew": thin, "ls": "none", "zorder": 2.5}
    for side in (steps.lower, steps.upper):
        ax.plot(steps.middle, side, ms=3 if fine else 7, **caps)
    line = Line2D([], [], color=AVERAGE, lw=2.4)
    return {steps.label: line, steps.whiskers: Line2D([], [], color=INK, lw=1, marker="|", ms=5)}


def _violins(ax: Axes, panel: Panel) -> Artist:
    look: dict[str, Any] = {"facecolor": BODY, "edgecolor": BODY_EDGE, "linewidth": 0.6}
    if panel.violins:
        bodies = [_outline(v) for v in panel.violins]
        ax.add_collection(PolyCollection(bodies, zorder=2, **look), autolim=False)
    if panel.dashes is not None:
        d = panel.dashes
        ax.hlines(d.y, d.x - d.reach, d.x + d.reach, color=BODY_EDGE, lw=0.9, zorder=2)
    return Patch(**look)


def _outline(violin: Violin) -> Any:
    right = np.column_stack([violin.middle + violin.half_width, violin.y])
    left = np.column_stack([violin.middle - violin.half_width, violin.y])
    return np.concatenate([right, left[::-1]])


def _rug(ax: Axes, rug: Rug) -> Artist:
    alpha = 0.7 if len(rug.x) <= 150 else 0.4
    where = ax.get_xaxis_transform()
    ax.vlines(rug.x, 0, 0.03, color=INK, lw=0.6, alpha=alpha, transform=where, zorder=4)
    return Line2D([], [], color=INK, marker="|", ms=6, mew=0.8, ls="none")


def _doubts(ax: Axes, hatches: Sequence[Hatch], size: float) -> Legend:
    entries: Legend = {}
    for h in hatches:
        pattern, grey = HATCHES[h.doubt]
        look: dict[str, Any] = {"facecolor": "none", "edgecolor": grey, "linewidth": 0}
        ax.axvspan(h.left, h.right, hatch=pattern, zorder=1.3, **look)
        entries[DOUBTS[h.doubt]] = Patch(hatch=pattern, **look)
        if h.text:
            turn = 90 if h.upright else 0
            at = ax.text((h.left + h.right) / 2, 0.5, "", transform=ax.get_xaxis_transform())
            _write(at, h.text, size, FAINT, ha="center", va="center", rotation=turn)
            at.set_bbox({"fc": "white", "ec": "none", "pad": 1.5})
    return entries


# ------------------------------------------------------------------------------- axes and words


class Ticks(Formatter):
    """Numbers at ticks, less what the axis label says of all of them."""

    def __init__(self, scale: Scale) -> None:
        self.scale = scale

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Write one number: a cursor's."""
        return f"{x:.6g}"

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Write those of all ticks with the same number of decimals."""
        return self.scale.texts(values)


def _axis(ax: Axes, which: Literal["x", "y"], axis: Axis, most: int) -> None:
    (ax.set_xlim if which == "x" else ax.set_ylim)(*axis.limits)
    it = ax.xaxis if which == "x" else ax.yaxis
    it.set_major_locator(
        FixedLocator(axis.ticks)
        if axis.ticks
        else MaxNLocator(most, steps=[1, 2, 2.5, 5, 10], min_n_ticks=2)
    )
    it.set_major_formatter(Ticks(axis.scale))


def clear_frame(ax: Axes) -> None:
    """Leave of the frame only what carries ticks. Done to our own axes, not to a user's."""
    ax.set_facecolor("white")
    ax.set_axisbelow(True)
    ax.grid(visible=True, axis="y", color=GRID, lw=0.6)
    ax.grid(visible=False, axis="x")
    ax.tick_params(labelsize=SMALL, colors=INK, color=FAINT, width=0.7, length=3)
    for side, spine in ax.spines.items():
        spine.set(visible=side in ("left", "bottom"), color=FAINT, linewidth=0.7)


def _write(text: Text, words: str, size: float, color: str, **look: Any) -> None:
    """Set a text as it is: names hold dollars and underscores, and are no formulas."""
    text.set(text=words, fontsize=size, color=color, parse_math=False, usetex=False, **look)


def _annotate(
    ax: Axes, words: str, x: float, y: float, shift: tuple[int, int], **look: Any
) -> None:
    where = ax.get_xaxis_transform()
    at = ax.annotate("", (x, y), xytext=shift, xycoords=where, textcoords="offset points")
    _write(at, words, SMALL - 0.5, FAINT, **look)


def head(ax: Axes, panel: Panel, width: int) -> None:
    """Write title and notes above a panel, flush left; above its words, if it has any."""
    notes = flowed(panel.notes, width)
    low = 14 if panel.words else 4
    at = ax.annotate(
        "", (0, 1), xytext=(0, low), xycoords="axes fraction", textcoords="offset points"
    )
    _write(at, notes, SMALL - 0.5, FAINT, va="bottom")
    # A title makes room for it, too; without one it must do so itself, though its length may push axes apart.
    at.set_in_layout(not panel.title)
    lines = notes.count("\n") + 1 if notes else 0
    title = ax.set_title("", loc="left", pad=low + 1 + 10.5 * lines)
    _write(title, panel.title, SIZE + 0.5, INK, weight="bold")


def label_below(ax: Axes, axis: Axis, size: float = SIZE) -> None:
    """Write the label of the horizontal axis."""
    _write(ax.xaxis.label, wrapped(axis.label, _room(ax.bbox.width, ax, size)), size, INK)


def _room(pixels: float, ax: Axes, size: float) -> int:
    """Return how many letters go beside so many pixels; the layout, which is made later, adds a little."""
    points = 1.15 * pixels * 72 / ax.figure.dpi
    return max(12, int(points / (0.6 * size)))
