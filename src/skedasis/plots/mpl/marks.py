"""Marks, axes, labels and legends on matplotlib axes, without pyplot and without changing rcParams.

`draw_panel` draws all marks of a `Panel` and returns the legend: a mapping from labels to handles. Names of features
may contain dollar signs, underscores or East Asian characters: `disable_mathtext` disables mathtext and adds fonts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple, TypeAlias, Unpack

import numpy as np
from matplotlib import colormaps, font_manager, rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Normalize, to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, Formatter, MaxNLocator

from skedasis._types import Floats, Ints
from skedasis.data import times
from skedasis.plots.figures.ice import ends, group_name
from skedasis.plots.mpl.styles import AreaStyle, EdgeStyle, StrokeStyle, TextStyle
from skedasis.plots.scales import Axis, join_notes, shorten, wrapped
from skedasis.plots.spec import (
    Band,
    ColorEncoding,
    Hatch,
    IceCurves,
    Line,
    MissingMarker,
    Outline,
    Panel,
    Rug,
    Steps,
    Strip,
    Violin,
)
from skedasis.plots.theme import (
    ASIDE,
    AVERAGE,
    BODY,
    BODY_EDGE,
    BOTTOM,
    DOUBTS,
    ERROR,
    FAINT,
    GRID,
    HATCHES,
    HUES,
    INK,
    OWN,
    PATTERNS,
    RISES,
    SIZE,
    SMALL,
    SPREAD,
    SPREAD_EDGE,
    STROKES,
    TOP,
    Stroke,
)

# --- text ----------------------------------------------------------------------------------------

Legend: TypeAlias = dict[str, Artist | tuple[Artist, ...]]
Color: TypeAlias = str | Floats
"""A colour: its name, or red, green, blue and opacity."""

EASTERN = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans CJK KR",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Hiragino Sans",
    "Hiragino Sans GB",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "SimHei",
    "Yu Gothic",
    "Meiryo",
    "Malgun Gothic",
    "Droid Sans Fallback",
    "Arial Unicode MS",
)
"""Fonts with Chinese, Japanese or Korean characters; most systems have one of them. Matplotlib's own has none."""


@cache
def installed() -> tuple[str, ...]:
    """Return which of these fonts are installed."""
    there = set(font_manager.get_font_names())
    return tuple(name for name in EASTERN if name in there)


def disable_mathtext(text: Text) -> None:
    """Disable mathtext for a text, and add fallback fonts for East Asian characters."""
    text.set(parse_math=False, usetex=False)
    if any(ord(c) >= 0x2E80 for c in text.get_text()) and installed():
        text.set_fontfamily([*rcParams["font.family"], *installed()])


# --- marks ---------------------------------------------------------------------------------------


def draw_panel(ax: Axes, panel: Panel, *, small: bool = False) -> Legend:
    """Draw all marks of a panel, and return the legend."""
    axis_of(ax, "x", panel.x, 4 if small else 7)
    axis_of(ax, "y", panel.y, 2 if panel.bars or panel.outlines else 4 if small else 6)
    label_beside(ax, panel.y, SMALL if small else SIZE)
    if panel.zero:
        ax.axhline(0, color=FAINT, lw=0.7, zorder=1.4)
    entries: Legend = {}
    coloured = panel.bundle is not None and panel.bundle.tint is not None
    for line in panel.lines:
        entries[line.label] = _line(ax, line, INK if coloured else AVERAGE, small=small)
    for band in panel.bands:
        entries[band.label] = _band(ax, band)
    if panel.bundle is not None:
        entries |= bundle(ax, panel.bundle)
    if panel.steps is not None:
        entries |= _steps(ax, panel.steps, fine=small or len(panel.steps.y) > 20)
        if panel.violins or panel.dashes is not None:
            entries[panel.steps.bodies] = _violins(ax, panel)
    if panel.bars is not None:
        b = panel.bars
        ax.bar(b.left, b.height, b.right - b.left, align="edge", fc="#9a9a9a", ec="white", lw=0.5)
    entries |= outlines(ax, panel.outlines)
    for word in panel.words:
        _annotate(ax, word.text, word.x, 1.0, (0, 3), ha="center")
    return entries | strips(ax, panel.strips) | _aside(ax, panel, small=small)


def _aside(ax: Axes, panel: Panel, *, small: bool) -> Legend:
    """Draw the rug, the point of missing values and hatched intervals."""
    entries: Legend = {}
    if panel.rug is not None:
        entries[panel.rug.label] = rug_of(ax, panel.rug)
    if panel.x.missing_label:
        ax.axvspan(*panel.x.gap, fc=ASIDE, ec="none", zorder=0.5)
    if panel.missing_marker is not None:
        entries[panel.missing_marker.label] = _missing_marker(
            ax, panel.missing_marker, panel.x.beside, small=small
        )
    return entries | _doubts(ax, panel.hatches, SMALL - 1 if small else SMALL)


def _line(ax: Axes, line: Line, color: str, *, small: bool) -> Artist:
    """Draw a curve, or the points of levels with a thin line between ordinal ones."""
    points = len(line.x) if line.marked is None else len(line.marked)
    few, width = points <= 30, 1.5 if small else 2.0
    joined = "none" if line.joined is None else "-"
    boxes = line.joined != "line" and points <= 60
    size = ((2.5 if small else 4.0) if few else 1.5) + (1.0 if boxes else 0.0)
    (drawn,) = ax.plot(
        line.x,
        line.y,
        color=color,
        ls=joined,
        lw=0.8 if line.joined == "thin" else width,
        marker="o" if line.vertices else None,
        markevery=None if line.marked is None else line.marked.tolist(),
        ms=size,
        mfc="white" if few or boxes else color,
        mew=1.0 if small else 1.3,
        zorder=3,
    )
    if color == INK:  # a white outline separates it from curves of all colours
        drawn.set_path_effects([withStroke(linewidth=width + 2, foreground="white")])
    return drawn


def _missing_marker(ax: Axes, point: MissingMarker, x: float, *, small: bool) -> Artist:
    """Draw the point of missing values with its interval."""
    size = 4.0 if small else 6.0
    ax.vlines(x, point.lower, point.upper, color=ERROR, lw=size - 1, zorder=2)
    (drawn,) = ax.plot(
        [x], [point.y], "D", ms=size, mfc="white", mec=AVERAGE, mew=1.3, ls="none", zorder=3
    )
    return drawn


def _band(ax: Axes, band: Band) -> Artist:
    error = band.role == "error"
    fill, edge, style, z = (
        (ERROR, AVERAGE, "-", 2.0) if error else (SPREAD, SPREAD_EDGE, (0, (4, 2)), 1.0)
    )
    if band.reach is not None:
        boxes = [
            [(x - band.reach, a), (x + band.reach, a), (x + band.reach, b), (x - band.reach, b)]
            for x, a, b in zip(band.x, band.lower, band.upper, strict=True)
            if np.isfinite(a) and np.isfinite(b)
        ]
        z = z if error else 1.35
        bodies = PolyCollection(boxes, fc=fill, ec=edge, lw=0.6, ls=style, zorder=z)
        ax.add_collection(bodies, autolim=False)
    elif len(band.x) == 1:  # a single point has no area: draw a bar
        ax.vlines(band.x, band.lower, band.upper, color=fill, lw=7 if error else 16, zorder=z)
    else:
        ax.fill_between(band.x, band.lower, band.upper, color=fill, lw=0, zorder=z)
        for side in (band.lower, band.upper):
            ax.plot(band.x, side, color=edge, lw=0.6, ls=style, zorder=z + 0.1)
    return Patch(fc=fill, ec=edge, lw=0.6, ls=style)


def _steps(ax: Axes, steps: Steps, *, fine: bool) -> Legend:
    """Draw the mean of each bin as a line across it, and a whisker in its centre."""
    tilt = np.zeros(len(steps.y)) if steps.rise is None else steps.rise / 2
    ends = zip(steps.left, steps.right, steps.y - tilt, steps.y + tilt, strict=True)
    level = [[(a, low), (b, high)] for a, b, low, high in ends]
    means = LineCollection(level, colors=AVERAGE, lw=1.6 if fine else 2.4, zorder=3)
    ax.add_collection(means, autolim=False)
    thin = 0.7 if fine else 1.0
    ax.vlines(steps.middle, steps.lower, steps.upper, color=INK, lw=thin, zorder=2.5)
    for side in (steps.lower, steps.upper):
        ax.plot(steps.middle, side, "_", color=INK, ms=3 if fine else 7, mew=thin, zorder=2.5)
    line = Line2D([], [], color=AVERAGE, lw=2.4)
    return {steps.label: line, steps.whiskers: Line2D([], [], color=INK, lw=1, marker="|", ms=5)}


def _violins(ax: Axes, panel: Panel) -> Artist:
    look: AreaStyle = {"fc": BODY, "ec": BODY_EDGE, "lw": 0.6}
    if panel.violins:
        bodies = [_outline(v) for v in panel.violins]
        ax.add_collection(PolyCollection(bodies, zorder=2, **look), autolim=False)
    if panel.dashes is not None:
        d = panel.dashes
        ax.hlines(d.y, d.x - d.reach, d.x + d.reach, color=BODY_EDGE, lw=0.9, zorder=2)
    return Patch(**look)


def _outline(violin: Violin) -> Floats:
    right = np.column_stack([violin.middle + violin.half_width, violin.y])
    left = np.column_stack([violin.middle - violin.half_width, violin.y])
    return np.concatenate([right, left[::-1]])


def rug_of(ax: Axes, rug: Rug) -> Artist:
    """Draw the rug."""
    alpha = 0.7 if len(rug.x) <= 150 else 0.4
    where = ax.get_xaxis_transform()
    ax.vlines(rug.x, 0, 0.03, color=INK, lw=0.6, alpha=alpha, transform=where, zorder=4)
    return Line2D([], [], color=INK, marker="|", ms=6, mew=0.8, ls="none")


def _doubts(ax: Axes, hatches: Sequence[Hatch], size: float) -> Legend:
    entries: Legend = {}
    for h in hatches:
        pattern, grey = HATCHES[h.doubt]
        look: AreaStyle = {"fc": "none", "ec": grey, "lw": 0, "hatch": pattern}
        ax.axvspan(h.left, h.right, zorder=1.3, **look)
        entries[DOUBTS[h.doubt]] = Patch(**look)
        if h.text:
            turn = 90 if h.upright else 0
            at = ax.text((h.left + h.right) / 2, 0.5, "", transform=ax.get_xaxis_transform())
            write(at, h.text, size, FAINT, ha="center", va="center", rotation=turn)
            at.set_bbox({"fc": "white", "ec": "none", "pad": 1.5})
    return entries


# --- axes, labels, titles ------------------------------------------------------------------------


class Ticks(Formatter):
    """Tick formatter: numbers without the offset and power of ten in the axis label, or names."""

    def __init__(self, axis: Axis) -> None:
        self.scale, self.time = axis.scale, axis.time
        self.names = dict(zip(axis.ticks, axis.labels, strict=False))
        if axis.missing_label:
            self.names[axis.beside] = axis.missing_label

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return one number as text, for the cursor position."""
        return f"{x:.6g}" if self.time is None else self.time.text(x)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return all ticks as text, with the same number of decimals."""
        numbers = [v for v in values if v not in self.names]
        texts = iter(self.scale.texts(numbers))
        return [self.names[v] if v in self.names else next(texts) for v in values]


def axis_of(ax: Axes, which: Literal["x", "y"], axis: Axis, most: int) -> None:
    """Set the range and the ticks of an axis."""
    (ax.set_xlim if which == "x" else ax.set_ylim)(*axis.limits)
    it = ax.xaxis if which == "x" else ax.yaxis
    chosen = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10], min_n_ticks=2)
    ticks = axis.ticks
    if axis.time is not None and not ticks:
        ticks = times.ticks(axis.time, *axis.range, most)
    if axis.missing_label:
        low, high = axis.range
        ticks = ticks or tuple(float(t) for t in chosen.tick_values(low, high))
        # The tick label of missing values must not touch the last number.
        points = ax.bbox.width * 72 / ax.figure.dpi
        room = 0.0 if axis.labels else 29 / points * (axis.limits[1] - low)
        ticks = (*(t for t in ticks if low <= t <= min(high, axis.beside - room)), axis.beside)
    it.set_major_locator(FixedLocator(ticks) if ticks else chosen)
    it.set_major_formatter(Ticks(axis))
    if axis.labels:
        turned(ax, which, axis.turn)


def turned(ax: Axes, which: Literal["x", "y"], turn: int) -> None:
    """Rotate the names at ticks, and disable mathtext for them."""
    ax.tick_params(axis=which, labelrotation=turn)
    for text in ax.get_xticklabels() if which == "x" else ax.get_yticklabels():
        disable_mathtext(text)
        if turn == 40:
            text.set(ha="right", va="top", rotation_mode="anchor")


def clear_frame(ax: Axes) -> None:
    """Remove the upper and right side of the frame. Not applied to axes passed by users."""
    ax.set_facecolor("white")
    ax.set_axisbelow(True)
    ax.grid(visible=True, axis="y", color=GRID, lw=0.6)
    ax.grid(visible=False, axis="x")
    ax.tick_params(labelsize=SMALL, colors=INK, color=FAINT, width=0.7, length=3)
    for side, spine in ax.spines.items():
        spine.set(visible=side in ("left", "bottom"), color=FAINT, linewidth=0.7)


def write(text: Text, words: str, size: float, color: str, **look: Unpack[TextStyle]) -> None:
    """Set text, size and colour, without mathtext: names may contain dollar signs and underscores."""
    text.set(text=words, fontsize=size, color=color, **look)
    disable_mathtext(text)


def _annotate(
    ax: Axes,
    words: str,
    x: float,
    y: float,
    shift: tuple[int, int],
    **look: Unpack[TextStyle],
) -> None:
    where = ax.get_xaxis_transform()
    at = ax.annotate("", (x, y), xytext=shift, xycoords=where, textcoords="offset points")
    write(at, words, SMALL - 0.5, FAINT, **look)


def head(ax: Axes, panel: Panel, width: int) -> None:
    """Write title and notes above a panel, left-aligned, and above its annotations."""
    headed(ax, panel.title, panel.notes, width, 14 if panel.words else 4)


def headed(ax: Axes, words: str, remarks: Sequence[str], width: int, low: float = 4) -> None:
    """Write a title and notes, left-aligned, `low` points above the axes."""
    notes = join_notes(remarks, width)
    at = ax.annotate(
        "", (0, 1), xytext=(0, low), xycoords="axes fraction", textcoords="offset points"
    )
    write(at, notes, SMALL - 0.5, FAINT, va="bottom")
    # The title reserves space for the notes. Without a title they reserve it themselves, and may widen the axes.
    at.set_in_layout(not words)
    lines = notes.count("\n") + 1 if notes else 0
    title = ax.set_title("", loc="left", pad=low + 1 + 10.5 * lines)
    write(title, words, SIZE + 0.5, INK, weight="bold")


def scaled(ax: Axes, panel: Panel) -> None:
    """Draw the colour bar of curves coloured by a number."""
    tint = None if panel.bundle is None else panel.bundle.tint
    if tint is None or tint.groups or not np.isfinite(tint.value).any():
        return
    scale = color_scale(tint)
    bar = ax.figure.colorbar(scale, ax=ax, pad=0.02, fraction=0.05, aspect=30)
    beside(bar.ax, Axis(shorten(tint.name, 40), None, *scale.get_clim(), 0.0))


def beside(ax: Axes, axis: Axis) -> None:
    """Format ticks and label of a colour bar like those of the other axes."""
    ax.yaxis.set_major_formatter(Ticks(axis))
    ax.tick_params(labelsize=SMALL, colors=INK, color=FAINT, width=0.7, length=3)
    for spine in ax.spines.values():
        spine.set(linewidth=0.5, color=FAINT)
    label_beside(ax, axis)


def label_beside(ax: Axes, axis: Axis, size: float = SIZE) -> None:
    """Write the label of the vertical axis."""
    write(ax.yaxis.label, wrapped(axis.label, _room(ax.bbox.height, ax, size)), size, INK)


def label_below(ax: Axes, axis: Axis, size: float = SIZE, share: float = 1.0) -> None:
    """Write the label of the horizontal axis, whose final width will be `share` of the present one."""
    write(ax.xaxis.label, wrapped(axis.label, _room(share * ax.bbox.width, ax, size)), size, INK)


def _room(pixels: float, ax: Axes, size: float) -> int:
    """Return how many characters fit in a length in pixels; the final layout makes it a little longer."""
    points = 1.15 * pixels * 72 / ax.figure.dpi
    return max(12, int(points / (0.6 * size)))


# --- individual curves ---------------------------------------------------------------------------

MAP = "viridis"

PLAIN, UNKNOWN = "#555555", "#bcbcbc"
"""Colours of curves without colour encoding, and of those with a missing value."""


def bundle(ax: Axes, strands: IceCurves) -> Legend:
    """Draw individual curves, and return the legend."""
    alpha = float(np.clip(30 / max(len(strands.y), 1), 0.15, 0.5))
    if strands.tint is None:
        everyone = np.arange(len(strands.y))
        _draw(ax, strands, everyone, PLAIN, {"alpha": alpha, "lw": 0.6})
        entries: Legend = {strands.label: Line2D([], [], color=PLAIN, lw=0.6)}
        return entries | _own(ax, strands, [INK] * len(strands.y))
    entries = {}
    strong = float(np.clip(60 / max(len(strands.y), 1), 0.35, 0.9))
    for part in _parts(strands.tint):
        _draw(ax, strands, part.rows, part.color, {**part.look, "alpha": strong})
        if isinstance(part.color, str):
            entries[part.name] = Line2D([], [], color=part.color, lw=1.6, ls=part.look.get("ls"))
    if not strands.tint.groups:
        entries[f"{strands.label}, coloured by {shorten(strands.tint.name, 16)}"] = Line2D(
            [], [], color=PLAIN, lw=0.9
        )
    return entries | _own(ax, strands, hues(strands.tint))


class _CurveSet(NamedTuple):
    """Curves of the same style: label, indices, their common colour or the colour of each, and the style."""

    name: str
    rows: Ints
    color: str | list[Color]
    look: StrokeStyle


def _parts(tint: ColorEncoding) -> list[_CurveSet]:
    """Return the sets of curves with the same style."""
    missing = np.flatnonzero(np.isnan(tint.value))
    parts: list[_CurveSet] = []
    if len(missing):
        color, stroke = look_of(-1)
        parts.append(_CurveSet(group_name(tint, -1), missing, color, {"lw": 0.7, "ls": stroke}))
    if not tint.groups:
        there = np.flatnonzero(~np.isnan(tint.value))
        colours = hues(tint)
        parts.append(_CurveSet("", there, [colours[i] for i in there], {"lw": 0.8}))
        return parts
    for place in range(len(tint.groups)):
        rows = np.flatnonzero(tint.value == place)
        color, stroke = look_of(place)
        parts.append(_CurveSet(group_name(tint, place), rows, color, {"lw": 0.9, "ls": stroke}))
    return parts


def look_of(place: int) -> tuple[str, Stroke]:
    """Return colour and line style of a group; for -1 those of rows with a missing value."""
    return (UNKNOWN, "-") if place < 0 else (HUES[place], STROKES[place])


def hues(tint: ColorEncoding) -> list[Color]:
    """Return the colour of each curve."""
    if tint.groups:
        return [UNKNOWN if np.isnan(v) else HUES[int(v)] for v in tint.value]
    scale = color_scale(tint)
    return [UNKNOWN if np.isnan(v) else scale.to_rgba(v) for v in tint.value]


def color_scale(tint: ColorEncoding) -> ScalarMappable:
    """Return the colour scale of numbers."""
    return ScalarMappable(Normalize(*ends(tint), clip=True), colormaps[MAP])


def _draw(
    ax: Axes, strands: IceCurves, rows: Ints, color: str | list[Color], look: StrokeStyle
) -> None:
    """Draw the curves of some rows; for nominal levels a dash per row and level."""
    if len(rows) == 0:
        return
    y = strands.y[rows]
    style: StrokeStyle = {"ls": "-", **look}
    if strands.shift is not None:
        ends = _dashes(strands.x, y, strands.shift[rows])
        each = color if isinstance(color, str) else [c for c in color for _ in strands.x]
        style |= {"ls": "-", "lw": 1.1}
        marks = LineCollection(list(ends), zorder=1.6, color=each, **style)
        ax.add_collection(marks, autolim=False)
        return
    x = strands.x
    if len(x) == 1:  # a single point has no line: draw a dash
        x, y = x + np.array([-0.01, 0.01]), np.repeat(y, 2, axis=1)
    paths = np.stack([np.broadcast_to(x, y.shape), y], axis=-1)
    curves = LineCollection(list(paths), zorder=1.6, color=color, **style)
    ax.add_collection(curves, autolim=False)


def _dashes(x: Floats, y: Floats, shift: Floats) -> Floats:
    """Return the ends of a short dash for each row at each level, shape (r m, 2, 2)."""
    middle = x[None, :] + shift[:, None]
    reach = 0.035
    ends = np.stack(
        [np.stack([middle - reach, y], axis=-1), np.stack([middle + reach, y], axis=-1)], axis=2
    )
    return ends.reshape(-1, 2, 2)


def _own(ax: Axes, strands: IceCurves, colours: Sequence[Color]) -> Legend:
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


# --- elevated regions and histograms of groups ---------------------------------------------------

LIGHT = 0.16
"""Opacity of the areas of histograms."""


def strips(ax: Axes, found: Sequence[Strip]) -> Legend:
    """Draw the strips of elevated regions with their texts, and return the legend."""
    entries: Legend = {}
    for strip in found:
        pattern, ground = RISES[strip.rising]
        look: AreaStyle = {"fc": ground, "ec": INK, "lw": 0.7, "hatch": pattern}
        ax.axvspan(strip.left, strip.right, BOTTOM, TOP, zorder=3.5, **look)
        entries[strip.label] = Patch(**look)
        if strip.text:
            where = ax.get_xaxis_transform()
            at = ax.text(strip.middle, TOP + 0.012, "", transform=where, zorder=3.6)
            at.set(text=strip.text, fontsize=SMALL - 0.5, color=INK, ha="center", va="bottom")
            # A white outline, because a grid line may pass below the text.
            at.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
            at.set_in_layout(False)
    return entries


def outlines(ax: Axes, groups: Sequence[Outline]) -> Legend:
    """Draw histograms with the colour, line style and hatch of their group, and return the legend."""
    entries: Legend = {}
    for group in groups:
        color, stroke = look_of(group.place)
        outline: EdgeStyle = {"ec": color, "ls": stroke, "lw": 1.4}
        if group.place >= 0:
            outline["hatch"] = PATTERNS[group.place]
        base = 0.0 if group.base is None else group.base
        if group.base is not None:  # touching edges would hide each other's line styles
            outline |= {"ls": "-", "lw": 0.8}
        ax.stairs(
            base + group.height, group.edges, baseline=base, fill=False, zorder=2.5, **outline
        )
        _area(ax, group, color)
        entries[group.label] = Patch(fc=to_rgba(color, LIGHT), **outline)
    return entries


def _area(ax: Axes, group: Outline, color: str) -> None:
    """Fill a histogram with a light colour, because others may overlap it."""
    base = np.zeros(len(group.height)) if group.base is None else group.base
    x = np.repeat(group.edges, 2)[1:-1]
    low, high = np.repeat(base, 2), np.repeat(base + group.height, 2)
    ax.fill_between(x, low, high, color=color, alpha=LIGHT, lw=0, zorder=2)
