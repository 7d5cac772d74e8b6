"""Renderer of figures by matplotlib, without pyplot and without changing rcParams."""

from __future__ import annotations

import io
import itertools
import os
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import IO, Literal, TypeAlias, TypedDict, Unpack, cast
from weakref import WeakKeyDictionary

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager, rc_context, rcParams
from matplotlib import style as style_sheets
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_rgb, to_rgba
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.legend import Legend
from matplotlib.legend_handler import HandlerPatch, HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.offsetbox import OffsetBox
from matplotlib.patches import FancyArrowPatch, Patch
from matplotlib.path import Path as MarkerPath
from matplotlib.patheffects import withStroke
from matplotlib.text import Text
from matplotlib.textpath import text_to_path
from matplotlib.ticker import Formatter, Locator, NullLocator
from matplotlib.transforms import ScaledTranslation, Transform, blended_transform_factory
from matplotlib.typing import ColorType

from skedasis._escaping import in_order
from skedasis._files import write_bytes
from skedasis._types import Floats
from skedasis.errors import quiet
from skedasis.plots.layout import (
    GAP,
    KEY_GAP,
    KEY_HEIGHT,
    KEY_LINES,
    KEY_WIDTH,
    KEYS_APART,
    MARGIN,
    TICK,
    Layout,
    PlacedPanel,
    PlacedText,
    PlotFrame,
    arrange,
    head_lengths,
    place_texts,
)
from skedasis.plots.marks import (
    Area,
    Arrows,
    Contour,
    CurveSet,
    FigureSpec,
    Heat,
    Key,
    KeyShape,
    Line,
    Margin,
    Mark,
    Panel,
    Points,
    Polygons,
    Rectangles,
    Rug,
    Segments,
    legend_of,
)
from skedasis.plots.scales import PlotAxis
from skedasis.plots.text import LEADING, Lettering
from skedasis.plots.theme import (
    COLORS,
    HEAT_SHADES,
    PATTERNS,
    SHAPES,
    SMALL,
    STYLES,
    TEXTS,
    Style,
    heat_color,
)
from skedasis.plots.ticks import Ticks, round_ticks, ticks_across, ticks_up

StyleSheet: TypeAlias = str | Mapping[str, object] | Sequence[str | Mapping[str, object]]
"""A style sheet of matplotlib: its name, its settings, or several of them."""

WIDTH, WIDE, TILE = 6.8, 10.2, 2.75
"""Width in inches of a figure, of one with panels side by side, and of each of many small figures."""

DPI = 120

LARGE = 20_000
"""With individual curves of more points, a legend is not placed where it covers least."""

COVERED = 0.4
"""A legend that would cover more of a user's axes is left out."""

RUG = 5.3
"""Height of a rug in points."""

# --- colours -------------------------------------------------------------------------------------


class Colors:
    """The colours of the theme on a light or a dark ground."""

    def __init__(self, ground: ColorType, changed: Mapping[str, ColorType]) -> None:
        self.dark = float(np.dot(to_rgb(ground), (0.299, 0.587, 0.114))) < 0.5
        self.changed = {"ground": ground, **changed}

    def __call__(self, name: str, opacity: float = 1.0) -> tuple[float, float, float, float]:
        """Return a colour of the theme as red, green, blue and opacity; transparent for an empty name."""
        if not name:
            return 0.0, 0.0, 0.0, 0.0
        if name in self.changed:
            return to_rgba(self.changed[name], opacity)
        return to_rgba(COLORS[name][1 if self.dark else 0], opacity)

    def hatch(self, style: Style) -> tuple[str, tuple[float, float, float, float]]:
        """Return matplotlib's name of the hatch of a style, and its colour."""
        pattern = PATTERNS[style.hatch]
        return pattern.code, self(pattern.color, pattern.opacity)

    def heat(self, *, diverging: bool) -> LinearSegmentedColormap:
        """Return the colours of a heat map, mixed with the ground."""
        steps = [heat_color(step, diverging=diverging) for step in range(HEAT_SHADES)]
        ground = np.array(self("ground")[:3])
        mixed = [a * np.array(self(name)[:3]) + (1 - a) * ground for name, a in steps]
        # An odd number of colours: the one in the middle is exactly that of zero.
        return LinearSegmentedColormap.from_list("skedasis", mixed, 257)


def ground_of(ax: Axes) -> ColorType:
    """Return the colour behind the marks of some axes."""
    for color in (ax.get_facecolor(), ax.figure.get_facecolor(), rcParams["figure.facecolor"]):
        if to_rgba(color)[3] > 0:
            return to_rgba(color)[:3]
    return "white"


# --- fonts ---------------------------------------------------------------------------------------

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
    "Noto Sans Symbols2",
    "Segoe UI Symbol",
    "Apple Symbols",
)
"""Fonts with Chinese, Japanese or Korean characters, or with symbols; most systems have one of each."""


@cache
def installed() -> tuple[str, ...]:
    """Return which of these fonts are installed."""
    there = set(font_manager.get_font_names())
    return tuple(name for name in EASTERN if name in there)


def families(text: str) -> list[str]:
    """Return the font families for a text: the user's, and others for characters that it may lack."""
    own = list(rcParams["font.family"])
    return own if all(ord(c) < 0x2190 for c in text) else [*own, *installed()]


@cache
def _glyphs(family: tuple[str, ...]) -> frozenset[int]:
    """Return the characters that the fonts of these families have."""
    found: set[int] = set()
    for name in family:
        path = font_manager.findfont(FontProperties(family=[name]))
        found |= set(font_manager.get_font(path).get_charmap())
    return frozenset(found)


def warn_of_missing_characters(texts: Iterable[str]) -> None:
    """Warn of characters that no installed font has; they would be drawn as boxes."""
    odd = {c for text in texts for c in text if ord(c) > 0x7F}
    missing = sorted(c for c in odd if ord(c) not in _glyphs(tuple(families(c))))
    if missing:
        shown = " ".join(missing[:10])
        warnings.warn(
            f"No installed font has {len(missing)} of the characters of this figure ({shown}): they are boxes. "
            "Install a font that has them, such as Noto Sans CJK, or name one in matplotlib.rcParams['font.family'].",
            stacklevel=2,
        )


def one_warning() -> AbstractContextManager[None]:
    """Suppress matplotlib's warnings of single characters: `warn_of_missing_characters` names all of them at once."""
    return quiet(r"Glyph \d+ .*missing from")


@lru_cache(maxsize=8192)
def _measured(text: str, family: tuple[str, ...]) -> float:
    font = FontProperties(family=list(family), size=100.0)
    with one_warning():
        return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / 100.0


def width_of(text: str, size: float) -> float:
    """Return the width of a line of text in points, in the user's font."""
    # Hinting aligns letters to whole pixels: at usual resolutions they become up to 7 % wider.
    return 1.07 * size * _measured(text, tuple(families(text))) if text else 0.0


# --- figures -------------------------------------------------------------------------------------


class NotebookFigure(Figure):
    """A figure that notebooks display although it is not registered with pyplot, and whose texts stay editable."""

    def _repr_png_(self) -> bytes:
        """Return the figure as PNG; IPython calls this if matplotlib's inline backend is not active."""
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()

    def draw(self, renderer: RendererBase) -> None:
        """Draw the figure, as matplotlib asks for it."""
        with one_warning():
            super().draw(renderer)

    def savefig(self, fname: str | os.PathLike[str] | IO[bytes], **options: object) -> None:
        """Save the figure as `matplotlib.figure.Figure.savefig` does, with texts as text in PDF, PS and SVG files."""
        if not isinstance(fname, (str, os.PathLike)):
            self._print(fname, options)
            return
        path, drawn = Path(fname), io.BytesIO()
        if not options.get("format"):
            ending = path.suffix[1:]
            if not ending:  # completed as matplotlib does it
                ending = self.canvas.get_default_filetype()
                path = path.with_name(f"{path.name.rstrip('.')}.{ending}")
            options["format"] = ending
        self._print(drawn, options)
        write_bytes(path, drawn.getbuffer(), "savefig(path)")

    def _print(self, file: IO[bytes], options: dict[str, object]) -> None:
        fonts = rc_context({"pdf.fonttype": 42, "ps.fonttype": 42, "svg.fonttype": "none"})
        with fonts, one_warning():
            super().savefig(file, **options)  # pyright: ignore[reportArgumentType]


def draw(
    spec: FigureSpec,
    size: tuple[float | None, float | None] | None = None,
    *,
    legend: bool = True,
    style: StyleSheet | None = None,
    colors: Mapping[str, ColorType] | None = None,
) -> Figure:
    with style_sheets.context([] if style is None else style):  # pyright: ignore[reportArgumentType]
        width, height = size or (None, None)
        if width is None:
            side_by_side = min(spec.columns, len(spec.stacks))
            width = TILE * side_by_side + 0.5 if spec.small else WIDE if side_by_side > 1 else WIDTH
        # Letters grow with the figure, but more slowly: from a column of a paper to a slide.
        scale = float(np.clip(np.sqrt(width / max(WIDTH, 1.0)), 0.875, 1.45)) if size else 1.0
        ground: ColorType = "white"
        if style is not None:
            scale *= rcParams["font.size"] / 10.0
            ground = rcParams["axes.facecolor"]
        letters = Lettering(width_of, scale)
        placed = arrange(
            spec,
            72 * width,
            None if height is None else 72 * height,
            lettering=letters,
            legend=legend,
        )
        face = ground if style is None else rcParams["figure.facecolor"]
        figure = NotebookFigure(figsize=(width, placed.height / 72), dpi=DPI, facecolor=face)
        _fill(figure, placed, Colors(ground, colors or {}))
        warn_of_missing_characters(line for text in placed.texts() for line in text.lines)
        return figure


def _fill(figure: Figure, placed: Layout, colors: Colors) -> None:
    """Draw all parts of a figure."""
    wide, high = placed.width, placed.height
    thin = 0.8 if placed.spec.small else 1.0
    for panel in placed.panels:
        f = panel.frame
        ax = figure.add_axes((f.left / wide, 1 - f.bottom / high, f.width / wide, f.height / high))
        _set_frame(ax, panel, colors, placed.lettering)
        _set_axes(ax, panel.panel, panel.across, panel.up)
        _move_labels_beside(ax, panel)
        _Painter(ax, panel.panel, f, colors, thin).marks()
        _write_heads(ax, panel, colors, placed.lettering)
        _write_texts(ax, panel.texts, f, colors, placed.lettering)
        _draw_leads(ax, f, panel.leads, colors)
        _remember(ax)
    size = placed.lettering.size("key")
    for y, line in itertools.groupby(placed.keys, lambda key: key.y):
        keys = list(line)
        _legend(
            figure,
            [(key.text.lines[0], key.key) for key in keys],
            colors,
            loc="upper left",
            bbox_to_anchor=(keys[0].x / wide, 1 - (y - 0.7 * size) / high),
            ncols=len(keys),
            frameon=False,
            fontsize=size,
            labelcolor=colors("ink"),
            borderpad=0,
            borderaxespad=0,
            handlelength=KEY_WIDTH / size,
            handleheight=KEY_HEIGHT / size,
            handletextpad=KEY_GAP / size,
            columnspacing=KEYS_APART / size,
        )

    def write(line: PlacedText) -> Text:
        text = figure.text(line.x / wide, 1 - line.y / high, "")
        _write(text, line, colors, placed.lettering)
        return text

    for words in (placed.heading, placed.notes):
        if words is not None:
            *_, last = map(write, _lines(words, placed.lettering))
            if words.after:
                write(_method(words, last, colors, placed.lettering))


def _legend(
    where: Axes | Figure, keys: Sequence[tuple[str, Key]], colors: Colors, **options: object
) -> Legend:
    """Draw a legend of keys by their labels, which matplotlib is not given: it leaves out those that begin with "_"."""
    made = where.legend(
        cast("list[Artist]", [handle(key, colors) for _, key in keys]),
        [""] * len(keys),
        handler_map=dict(HANDLERS),
        **options,  # pyright: ignore[reportArgumentType]
    )
    for text, (label, _) in zip(made.get_texts(), keys, strict=True):
        text.set_text(label)
        _as_plain(text)
    return made


def draw_on(
    ax: Axes,
    spec: FigureSpec,
    *,
    legend: bool = True,
    colors: Mapping[str, ColorType] | None = None,
    asked: Collection[str] = (),
) -> Figure:
    """Draw the main panel of a figure on axes that a user passes."""
    kept = settings_of_user(ax).keys() - set(asked)
    # What is outside of our own frames may be another panel here.
    marks = tuple(m for m in spec.main.marks if not isinstance(m, Margin))
    panel = replace(spec.main, marks=marks)
    figure = ax.figure.canvas.figure
    palette, letters = Colors(ground_of(ax), colors or {}), Lettering(width_of)
    _add_color_bar(ax, spec, panel, palette)
    box = ax.get_window_extent()
    wide, high = (72 / figure.dpi * length for length in (box.width, box.height))
    inverted = ax.xaxis.get_inverted(), ax.yaxis.get_inverted()
    frame = PlotFrame(panel.x, panel.y, 0.0, 0.0, wide, high, inverted)
    ticks = Lettering(width_of, rcParams["font.size"] / SMALL)
    across = ticks_across(panel.x, wide, ticks)
    up = ticks_up(panel.y, high, ticks, room=0.4 * wide)
    _set_axes(ax, panel, across, up, kept)
    _Painter(ax, panel, frame, palette, 0.8 if spec.small else 1.0).marks()
    texts, leads = place_texts(panel, frame, letters)
    _write_texts(ax, texts, frame, palette, letters)
    _draw_leads(ax, frame, leads, palette)
    for name, text, words, room in (
        ("xlabel", ax.xaxis.label, panel.x.label_text, wide),
        ("ylabel", ax.yaxis.label, panel.y.label_text, high),
    ):
        if name not in kept:
            text.set_text("\n".join(ticks.wrap(words, 1.15 * room, "label")) if words else "")
            _as_plain(text)
    if "title" in asked:
        for where in _TITLES:
            ax.set_title("", loc=where)
    _write_title(ax, panel, frame, palette, letters, kept="title" in kept)
    _remember(ax, kept)
    keys = [(key.label, key) for key in legend_of([panel], spec.order)] if legend else []
    if keys:
        # The best place costs a search over all points, which takes seconds if there are many.
        loc = "upper right" if _has_many_points(panel) else "best"
        made = _legend(ax, keys, palette, loc=loc, framealpha=0.85, fontsize="small")
        with one_warning():
            covered = made.get_window_extent()
        if covered.width * covered.height > COVERED * box.width * box.height:
            made.remove()
    warn_of_missing_characters(
        [str(panel.title), panel.x.label_text, panel.y.label_text, *across.texts, *up.texts]
    )
    return figure


_WRITTEN: WeakKeyDictionary[Axes, dict[str, object]] = WeakKeyDictionary()
"""The settings that figures have written on axes; whatever else is there, a user has set."""


def _settings(ax: Axes) -> dict[str, object]:
    """Return the labels, titles, limits and ticks of axes that are set."""
    titles = tuple(ax.get_title(where) for where in _TITLES)
    found: dict[str, object] = {
        "xlabel": ax.get_xlabel(),
        "ylabel": ax.get_ylabel(),
        "title": any(titles) and titles,
    }
    for name, it, fixed, limits in (
        ("x", ax.xaxis, not ax.get_autoscalex_on(), ax.get_xlim()),
        ("y", ax.yaxis, not ax.get_autoscaley_on(), ax.get_ylim()),
    ):
        found[f"{name}lim"] = fixed and tuple(sorted(limits))
        own = it.isDefault_majloc or isinstance(it.get_major_locator(), TickLocator)
        found[f"{name}ticks"] = not own
    return {name: value for name, value in found.items() if value}


_TITLES: tuple[Literal["left", "center", "right"], ...] = ("left", "center", "right")


def settings_of_user(ax: Axes) -> dict[str, object]:
    """Return the labels, title, limits and ticks of axes that a user has set, not a figure of ours."""
    shared = {*ax.get_shared_x_axes().get_siblings(ax), *ax.get_shared_y_axes().get_siblings(ax)}
    written = [_WRITTEN.get(one, {}) for one in shared]
    return {
        name: value
        for name, value in _settings(ax).items()
        if all(one.get(name) != value for one in written)
    }


def limits_of_drawings(ax: Axes) -> dict[str, tuple[float, float]]:
    """Return the limits that a user or drawings have set, on these axes or on those that share them."""
    across, up = ax.get_shared_x_axes().get_siblings(ax), ax.get_shared_y_axes().get_siblings(ax)
    found: dict[str, tuple[float, float]] = {}
    # Axes that were cleared keep the limits of their data. A vertical line has no limits upwards.
    for name, automatic, drawn, limits in (
        (
            "xlim",
            ax.get_autoscalex_on(),
            [a.dataLim.x1 for a in across if a.has_data()],
            ax.get_xlim(),
        ),
        ("ylim", ax.get_autoscaley_on(), [a.dataLim.y1 for a in up if a.has_data()], ax.get_ylim()),
    ):
        if not automatic or np.isfinite(drawn).any():
            found[name] = min(limits), max(limits)
    return found


def _remember(ax: Axes, kept: Collection[str] = ()) -> None:
    """Record what a figure has written on axes, on which a user's settings are kept."""
    _WRITTEN[ax] = {name: v for name, v in _settings(ax).items() if name not in kept}


def _add_color_bar(ax: Axes, spec: FigureSpec, panel: Panel, colors: Colors) -> None:
    """Draw the colour scale of a heat map beside a user's axes, which become narrower."""
    heat = next((m for m in panel.marks if isinstance(m, Heat)), None)
    scale = next((p for p in spec.panels if p.kind == "scale"), None)
    if heat is None or scale is None:
        return
    shades = ScalarMappable(Normalize(*heat.limits), colors.heat(diverging=heat.diverging))
    bar = ax.figure.colorbar(shades, ax=ax)
    bar.ax.yaxis.set_major_formatter(TickFormatter(scale.x, Ticks((), ())))
    bar.set_label(scale.x.label_text)
    _as_plain(bar.ax.yaxis.label)


def _write_title(
    ax: Axes, panel: Panel, frame: PlotFrame, colors: Colors, letters: Lettering, *, kept: bool
) -> None:
    """Write title and notes above a user's axes; a user's title is kept, above the notes."""
    notes = letters.flow(panel.notes, frame.width, most=3)
    low = 4.0 + (letters.leading("above") if panel.above else 0.0)
    low += MARGIN if any(isinstance(m, Margin) and m.side == "top" for m in panel.marks) else 0.0
    if notes:
        base = -low - (len(notes) - 1) * letters.leading("note") - 1.0
        _write_texts(ax, [PlacedText(tuple(notes), 0.0, base, "note")], frame, colors, letters)
    pad = low + 2 + letters.leading("note") * len(notes)
    if kept and (notes or panel.above):
        for where in _TITLES:
            words = ax.get_title(where)
            # The axes' titles are the last of their texts. A new distance would reset the letters.
            old = [t for t in ax.get_children() if isinstance(t, Text) and t.get_text() == words]
            font, color = old[-1].get_fontproperties().copy(), old[-1].get_color()
            if words:
                ax.set_title(words, loc=where, pad=pad, fontproperties=font, color=color)
    elif panel.title and not kept:
        # On a user's axes the method is a part of their title, which has one size.
        title = ax.set_title("", loc="left", pad=pad)
        own = Lettering(width_of, float(title.get_fontsize()) / TEXTS["label"].size)
        title.set_text("\n".join(own.wrap(str(panel.title), frame.width, "label")))
        _as_plain(title)


# --- frames, axes and texts ----------------------------------------------------------------------


def _set_frame(ax: Axes, placed: PlacedPanel, colors: Colors, letters: Lettering) -> None:
    """Give our own axes their frame, their grid and the size of their ticks."""
    panel = placed.panel
    ax.set_facecolor(colors("ground"))
    ax.set_axisbelow(True)
    ax.grid(visible=False)
    for which in ("x", "y"):
        if which in panel.grid:
            ax.grid(visible=True, axis=which, color=colors("grid"), lw=0.6, ls="-")
    shown = () if not panel.frame else ("bottom",) if panel.rows else ("left", "bottom")
    for side, spine in ax.spines.items():
        spine.set(visible=side in shown, color=colors("rim"), linewidth=0.6)
    size = letters.size("tick")
    ax.tick_params(
        labelsize=size,
        labelcolor=colors("soft"),
        color=colors("rim"),
        width=0.6,
        length=TICK,
        pad=GAP,
    )
    ax.tick_params(top=False, right=False, direction="out")
    if panel.rows:
        ax.tick_params(axis="y", length=0)
    ax.tick_params(labelbottom=placed.names_below, labelleft=placed.names_beside)


def _set_axes(ax: Axes, panel: Panel, across: Ticks, up: Ticks, kept: Collection[str] = ()) -> None:
    """Set ranges, scales and ticks, but for those that are kept."""
    for name, it, axis, ticks in (("x", ax.xaxis, panel.x, across), ("y", ax.yaxis, panel.y, up)):
        if axis.log != (it.get_scale() == "log"):
            ax.set(**{f"{name}scale": "log" if axis.log else "linear"})
        if f"{name}lim" not in kept:
            limits = axis.limits[::-1] if it.get_inverted() else axis.limits
            ax.set(**{f"{name}lim": limits})
        if f"{name}ticks" in kept:
            continue
        it.set_major_locator(TickLocator(axis, ticks))
        it.set_minor_locator(NullLocator())
        it.set_major_formatter(TickFormatter(axis, ticks))
    if across.turn:
        ax.tick_params(axis="x", labelrotation=across.turn)
        for text in ax.get_xticklabels():
            if across.turn == 40:
                text.set(ha="right", va="top", rotation_mode="anchor")
    if panel.x.labels or panel.y.labels or panel.x.asides:
        for text in (*ax.get_xticklabels(), *ax.get_yticklabels()):
            _as_plain(text)


def _move_labels_beside(ax: Axes, placed: PlacedPanel) -> None:
    """Move the tick labels beside the axis to where the layout has found room for them."""
    for aside in placed.panel.x.asides[-1:]:  # the last one on the right
        texts = [text for text in placed.tick_texts if text.lines == (aside.text,)]
        shift = texts[-1].x - float(placed.frame.across(aside.at)) if texts else 0.0
        if not shift:
            continue
        label = ax.get_xticklabels()[-1]
        moved = ScaledTranslation(shift / 72, 0, ax.figure.canvas.figure.dpi_scale_trans)
        label.set_transform(label.get_transform() + moved)


class TickLocator(Locator):
    """The ticks of the layout and, after zooming, round numbers of the visible part."""

    def __init__(self, axis: PlotAxis, ticks: Ticks) -> None:
        self.of, self.ticks = axis, ticks

    def __call__(self) -> Sequence[float]:
        """Return the positions of the ticks."""
        low, high = self.of.limits if self.axis is None else self.axis.get_view_interval()
        return self.tick_values(float(min(low, high)), float(max(low, high)))

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Return the positions of the ticks between two values."""
        given = self.of.labels or self.of.hidden
        if given or np.allclose((vmin, vmax), self.of.limits, rtol=1e-9, atol=0):
            at = self.ticks.at
        else:
            at = round_ticks(self.of, max(len(self.ticks.at), 4), (vmin, vmax))
        # Matplotlib computes with the array that its own locators return.
        return cast("Sequence[float]", np.array(at))


class TickFormatter(Formatter):
    """Tick labels of the layout; numbers without the offset and power of ten in the axis label, or names."""

    def __init__(self, axis: PlotAxis, ticks: Ticks) -> None:
        self.of, self.texts = axis, dict(zip(ticks.at, ticks.texts, strict=True))

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return one number as text, for the cursor position."""
        return f"{x:.6g}" if self.of.time is None else self.of.time.text(x)

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return all ticks as text, with the same number of decimals."""
        if all(v in self.texts for v in values):
            return [self.texts[v] for v in values]
        return self.of.scale.texts([float(v) for v in values])


_ORDERS_WORDS = mpl.__version_info__ >= (3, 11)
"""Whether matplotlib writes right-to-left text in its order; before, it draws letters as they are stored."""


def _as_plain(text: Text) -> None:
    """Disable mathtext for a text, and add fonts for characters that the user's font may lack."""
    text.set(parse_math=False, usetex=False)
    if _ORDERS_WORDS:
        text.set_text(in_order(text.get_text()))
    family = families(text.get_text())
    if len(family) > len(rcParams["font.family"]):
        text.set_fontfamily(family)


def _write(text: Text, placed: PlacedText, colors: Colors, letters: Lettering) -> None:
    """Give a text its words, letters and colour; its position is that of the last baseline."""
    look = TEXTS[placed.style]
    text.set_text("\n".join(placed.lines))
    text.set(
        fontsize=letters.size(placed.style),
        color=colors(look.color),
        weight="bold" if look.bold else "normal",
        style="italic" if look.italic else "normal",
        rotation=placed.turn,
        rotation_mode="anchor",
        ha={1: "left", 0: "center", -1: "right"}[placed.anchor],
        va="baseline",
    )
    if len(placed.lines) > 1:
        text.set_linespacing(LEADING)
    _as_plain(text)
    if look.halo:
        text.set_path_effects([withStroke(linewidth=2.0, foreground=colors("ground", 0.8))])


def _lift(placed: PlacedText, letters: Lettering) -> float:
    """Return the height of the last baseline below the first one: matplotlib places a text by its last line."""
    return (len(placed.lines) - 1) * LEADING * letters.size(placed.style)


def _lines(placed: PlacedText, letters: Lettering) -> Iterator[PlacedText]:
    """Yield the lines of a text as separate texts: versions of matplotlib differ in the distance of lines."""
    step = LEADING * letters.size(placed.style)
    for i, line in enumerate(placed.lines):
        yield replace(placed, lines=(line,), y=placed.y + i * step)


def _method(title: PlacedText, drawn: Text, colors: Colors, letters: Lettering) -> PlacedText:
    """Return the method after the last line of a title, whose width is measured as it is drawn."""
    _write(drawn, replace(title, lines=title.lines[-1:]), colors, letters)
    with one_warning():
        wide = drawn.get_window_extent().width * 72 / drawn.figure.canvas.figure.dpi
    x = title.x + (wide + letters.width(" ", "title") if title.lines[-1] else 0.0)
    return PlacedText((title.after,), x, title.y + _lift(title, letters), "method")


def _write_texts(
    ax: Axes, texts: Iterable[PlacedText], frame: PlotFrame, colors: Colors, letters: Lettering
) -> None:
    """Write texts: those in the frame at a position in the data, others at their distance from its upper end."""
    for placed in (line for text in texts for line in _lines(text, letters)):
        x, y = _in_data(ax, frame, placed.x, placed.y)
        if placed.style in ("note", "method"):
            at = (placed.x - frame.left, frame.top - placed.y)
            text = ax.annotate(
                "", (0, 1), xytext=at, xycoords="axes fraction", textcoords="offset points"
            )
        elif placed.y < frame.top:
            text = ax.annotate(
                "",
                (x, 1),
                xytext=(0, frame.top - placed.y),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
            )
        else:
            text = ax.annotate("", (x, y))
        _write(text, placed, colors, letters)
        text.set(zorder=5, annotation_clip=text.xycoords == "data")


def _in_data(ax: Axes, frame: PlotFrame, x: float, y: float) -> tuple[float, float]:
    """Return a position in points as coordinates of the data."""
    share = ((x - frame.left) / frame.width, (frame.bottom - y) / frame.height)
    a, b = ax.transData.inverted().transform(ax.transAxes.transform(share))
    return float(a), float(b)


def _write_heads(ax: Axes, placed: PlacedPanel, colors: Colors, letters: Lettering) -> None:
    """Write title, notes and axis labels where the layout has placed them."""
    frame = placed.frame
    heads = (
        (placed.title, ax.set_title("", loc="left", y=1.0)),
        (placed.x_label, ax.xaxis.label),
        (placed.y_label, ax.yaxis.label),
    )
    for given, text in heads:
        if given is None:
            continue
        head = replace(given, lines=tuple(filter(None, given.lines)))
        if given.after:
            _write_texts(ax, [_method(given, text, colors, letters)], frame, colors, letters)
        shift = (head.x - frame.left, frame.top - head.y - _lift(head, letters))
        where = _shifted(ax, shift)
        if text is ax.xaxis.label:
            ax.xaxis.set_label_coords(0.0, 1.0, where)
        elif text is ax.yaxis.label:
            ax.yaxis.set_label_coords(0.0, 1.0, where)
        else:
            text.set_transform(where)
            text.set_position((0.0, 1.0))
        _write(text, head, colors, letters)
    if placed.notes is not None:
        _write_texts(ax, [placed.notes], frame, colors, letters)


def _shifted(ax: Axes, points: tuple[float, float]) -> Transform:
    """Return the coordinates of the axes, shifted by a number of points."""
    figure = ax.figure.canvas.figure
    return ax.transAxes + ScaledTranslation(points[0] / 72, points[1] / 72, figure.dpi_scale_trans)


def _draw_leads(ax: Axes, frame: PlotFrame, leads: Floats, colors: Colors) -> None:
    """Draw the lines from points to their names."""
    style = STYLES["lead"]
    lines = [
        (_in_data(ax, frame, a, b), _in_data(ax, frame, c, d)) for a, b, c, d in leads.tolist()
    ]
    if lines:
        drawn = LineCollection(lines, colors=[colors(style.stroke)], lw=style.width)
        ax.add_collection(drawn, autolim=False)


# --- marks ---------------------------------------------------------------------------------------


def _dash(style: Style, width: float) -> str | tuple[float, tuple[float, ...]]:
    """Return a line style, whose lengths matplotlib multiplies by the width of the line."""
    if not style.dash:
        return "-"
    unit = width if rcParams["lines.scale_dashes"] else 1.0
    return 0, tuple(v / max(unit, 1e-9) for v in style.dash)


class MarkStyle(TypedDict, total=False):
    """Keywords of marks without a line."""

    marker: str
    color: ColorType
    clip_on: bool
    mfc: ColorType
    mec: ColorType
    mew: float
    ms: float


class _Painter:
    """Draws the marks of a panel on axes."""

    def __init__(
        self, ax: Axes, panel: Panel, frame: PlotFrame, colors: Colors, thin: float
    ) -> None:
        self.ax, self.panel, self.frame, self.colors, self.thin = ax, panel, frame, colors, thin

    def marks(self) -> None:
        """Draw all marks, the first one at the back."""
        for i, mark in enumerate(self.panel.marks):
            self.mark(mark, 1.2 + 2.0 * i / max(len(self.panel.marks), 1))

    def mark(self, mark: Mark, z: float) -> None:
        """Draw a mark."""
        draw = {
            Line: self._line,
            Area: self._area,
            Rectangles: self._rectangles,
            Points: self._points,
            Segments: self._segments,
            Arrows: self._arrows,
            CurveSet: self._curves,
            Polygons: self._polygons,
            Heat: self._heat,
            Contour: self._contour,
            Rug: self._rug,
            Margin: self._margin,
        }[type(mark)]
        draw(mark, z)  # pyright: ignore[reportArgumentType]

    def _x(self, values: Floats) -> Floats:
        return np.where(np.isinf(values), np.clip(values, *self.panel.x.limits), values)

    def _y(self, values: Floats) -> Floats:
        return np.where(np.isinf(values), np.clip(values, *self.panel.y.limits), values)

    def _width(self, style: Style) -> float:
        return self.thin * style.width

    def _plot(self, x: Floats, y: Floats, style: Style, z: float) -> None:
        width = self._width(style)
        (line,) = self.ax.plot(
            x,
            y,
            color=self.colors(style.stroke, style.opacity),
            lw=width,
            ls=_dash(style, width),
            marker="",
            zorder=z,
            scalex=False,
            scaley=False,
        )
        if style.halo:
            line.set_path_effects(
                [withStroke(linewidth=width + 1.8, foreground=self.colors("ground"))]
            )

    def _line(self, mark: Line, z: float) -> None:
        self._plot(self._x(mark.x), self._y(mark.y), STYLES[mark.style], z)

    def _area(self, mark: Area, z: float) -> None:
        style, x = STYLES[mark.style], self._x(mark.x)
        lower, upper = self._y(mark.lower), self._y(mark.upper)
        if style.fill:
            fill = self.colors(style.fill, style.fill_opacity)
            self.ax.fill_between(x, lower, upper, fc=fill, lw=0, zorder=z)
        if style.hatch:
            code, edge = self.colors.hatch(style)
            self.ax.fill_between(x, lower, upper, fc="none", ec=edge, lw=0, hatch=code, zorder=z)
        if style.stroke:
            for side in (lower, upper):
                self._plot(x, side, style, z)

    def _rectangles(self, mark: Rectangles, z: float) -> None:
        left, right = self._x(mark.left), self._x(mark.right)
        low, high = self._y(mark.lower), self._y(mark.upper)
        corners = (left, low), (right, low), (right, high), (left, high)
        outlines = np.stack([np.stack(corner, -1) for corner in corners], 1)
        known = np.isfinite(outlines).all(axis=(1, 2))
        self._filled(list(outlines[known]), STYLES[mark.style], z)

    def _filled(self, outlines: Sequence[Floats], style: Style, z: float) -> None:
        width = self._width(style)
        if style.fill or style.stroke:
            filled = PolyCollection(
                outlines,
                facecolors=[self.colors(style.fill, style.fill_opacity)],
                edgecolors=[self.colors(style.stroke)],
                linewidths=width if style.stroke else 0.0,
                linestyles=[_dash(style, width)],
            )
            self._add(filled, z)
        if style.hatch:
            code, edge = self.colors.hatch(style)
            hatched = PolyCollection(
                outlines, facecolors="none", edgecolors=[edge], linewidths=0, hatch=code
            )
            self._add(hatched, z)

    def _add(self, collection: LineCollection | PolyCollection, z: float) -> None:
        collection.set_zorder(z)
        self.ax.add_collection(collection, autolim=False)

    def _lines(self, lines: Sequence[Floats], style: Style, opacity: float = 1.0) -> LineCollection:
        """Return lines in the colour, the width and the dashes of a style."""
        width = self._width(style)
        return LineCollection(
            lines,
            colors=[self.colors(style.stroke, style.opacity * opacity)],
            linewidths=width,
            linestyles=[_dash(style, width)],
        )

    def _dots(self, x: Floats, y: Floats, z: float, **look: Unpack[MarkStyle]) -> None:
        """Draw marks that do not change the limits of the axes."""
        self.ax.plot(x, y, ls="none", zorder=z, scalex=False, scaley=False, **look)

    def _points(self, mark: Points, z: float) -> None:
        look = _marker(STYLES[mark.style], self.colors, self.thin)
        look["clip_on"] = not np.isinf([mark.x, mark.y]).any()
        self._dots(self._x(mark.x), self._y(mark.y), z, **look)

    def _segments(self, mark: Segments, z: float) -> None:
        style = STYLES[mark.style]
        x0, x1, y0, y1 = self._x(mark.x0), self._x(mark.x1), self._y(mark.y0), self._y(mark.y1)
        if mark.reach and np.array_equal(x0, x1) and np.array_equal(y0, y1):
            self._ends(x0, y0, "_", mark.reach, style, z)
            return
        lines = np.stack([np.stack([x0, y0], -1), np.stack([x1, y1], -1)], 1)
        drawn = self._lines(list(lines[np.isfinite(lines).all(axis=(1, 2))]), style)
        drawn.set_capstyle("butt" if style.dash or self._width(style) > 2.5 else "round")
        self._add(drawn, z)
        if mark.caps:
            ends = "_" if np.array_equal(x0, x1) else "|"
            for x, y in ((x0, y0), (x1, y1)):
                self._ends(x, y, ends, self._caps(mark, x0), style, z)

    def _arrows(self, mark: Arrows, z: float) -> None:
        style, f = STYLES[mark.style], self.frame
        x0, x1, y0, y1 = self._x(mark.x0), self._x(mark.x1), self._y(mark.y0), self._y(mark.y1)
        ends = np.column_stack([f.across(x0), f.up(y0), f.across(x1), f.up(y1)])
        for i, head in enumerate(head_lengths(ends, style.size).tolist()):
            if np.isfinite(ends[i]).all() and head > 0:
                line = (float(x0[i]), float(y0[i])), (float(x1[i]), float(y1[i]))
                arrow = _arrow(*line, style, head, self.colors, self._width(style))
                arrow.set_zorder(z)
                # Unlike add_patch, it leaves the limits of the data alone.
                self.ax.add_artist(arrow)

    def _ends(self, x: Floats, y: Floats, shape: str, reach: float, style: Style, z: float) -> None:
        """Draw short lines of a length in points."""
        color, width = self.colors(style.stroke, style.opacity), self._width(style)
        self._dots(x, y, z, marker=shape, color=color, mew=width, ms=2 * reach)

    def _caps(self, mark: Segments, x: Floats) -> float:
        """Return the length of caps; those of upright lines do not touch each other."""
        if not np.array_equal(mark.x0, mark.x1):
            return mark.caps
        at = self.frame.across(np.unique(x[np.isfinite(x)]))
        return min(mark.caps, 0.35 * float(abs(np.diff(at)).min())) if len(at) > 1 else mark.caps

    def _curves(self, mark: CurveSet, z: float) -> None:
        style = STYLES[mark.style]
        if len(mark.x) == 1:
            y = mark.y[:, 0]
            color = self.colors(style.stroke, style.opacity * mark.opacity)
            at, width = np.repeat(mark.x, len(y)), self._width(style)
            self._dots(at, y, z, marker="_", color=color, ms=3.4, mew=width)
            return
        paths = np.stack([np.broadcast_to(mark.x, mark.y.shape), mark.y], axis=-1)
        self._add(self._lines(list(paths), style, mark.opacity), z)

    def _polygons(self, mark: Polygons, z: float) -> None:
        self._filled(mark.outlines, STYLES[mark.style], z)

    def _heat(self, mark: Heat, z: float) -> None:
        mesh = self.ax.pcolormesh(
            mark.x,
            mark.y,
            np.ma.masked_invalid(mark.value),
            cmap=self.colors.heat(diverging=mark.diverging),
            norm=Normalize(*mark.limits, clip=True),
            # Thousands of patches become one image in SVG or PDF files.
            rasterized=mark.value.size > 2000,
        )
        mesh.set_zorder(z)

    def _contour(self, mark: Contour, z: float) -> None:
        style = STYLES[mark.style]
        lines, ground = self._lines(list(mark.lines), style), self.colors("ground", 0.55)
        lines.set_path_effects([withStroke(linewidth=self._width(style) + 1.0, foreground=ground)])
        self._add(lines, z)

    def _rug(self, mark: Rug, z: float) -> None:
        style = STYLES[mark.style]
        where = blended_transform_factory(self.ax.transData, self.ax.transAxes)
        high = RUG / max(self.frame.height, RUG)
        color = self.colors(
            style.stroke, style.opacity if len(mark.x) <= 150 else 0.6 * style.opacity
        )
        self.ax.vlines(mark.x, 0, high, colors=color, lw=style.width, transform=where, zorder=z)

    def _margin(self, mark: Margin, z: float) -> None:
        style, f = STYLES[mark.style], self.frame
        top = mark.side == "top"
        size = (MARGIN - 2) * mark.height / max(float(mark.height.max(initial=0.0)), 1e-300)
        size = size / (f.height if top else f.width)
        gap = 1.4 / (f.height if top else f.width)
        outlines = [
            np.array([(a, 1 + gap), (b, 1 + gap), (b, 1 + gap + s), (a, 1 + gap + s)])
            for a, b, s in zip(mark.edges[:-1], mark.edges[1:], size, strict=True)
        ]
        t = self.ax.transData, self.ax.transAxes
        bars = PolyCollection(
            outlines if top else [o[:, ::-1] for o in outlines],
            facecolors=[self.colors(style.fill)],
            edgecolors=[self.colors(style.stroke)],
            linewidths=style.width,
            transform=blended_transform_factory(*(t if top else t[::-1])),
            clip_on=False,
        )
        self._add(bars, z)


def _has_many_points(panel: Panel) -> bool:
    """Return whether the search for the best place of a legend would take long."""
    curves = sum(m.y.size for m in panel.marks if isinstance(m, CurveSet))
    return curves > LARGE or any(isinstance(m, Heat) for m in panel.marks)


def _marker(style: Style, colors: Colors, thin: float = 1.0) -> MarkStyle:
    """Return the keywords of points."""
    if style.shape == "dot":
        color = colors(style.fill, style.fill_opacity)
        return {"marker": "o", "mfc": color, "mec": "none", "ms": 2 * style.size}
    return {
        "marker": SHAPES[style.shape][1],
        "mfc": colors(style.fill, style.fill_opacity),
        "mec": colors(style.stroke),
        "mew": style.width,
        "ms": 2 * (0.85 if thin < 1 else 1.0) * style.size,
    }


def _arrow(
    start: tuple[float, float],
    tip: tuple[float, float],
    style: Style,
    head: float,
    colors: Colors,
    width: float,
) -> FancyArrowPatch:
    """Return an arrow whose head has a length in points, whatever the axes show after zooming."""
    return FancyArrowPatch(
        start,
        tip,
        arrowstyle=f"-|>,head_length=1,head_width={1 / 3}",
        mutation_scale=head,
        shrinkA=0,
        shrinkB=0,
        ec=colors(style.stroke, style.opacity),
        fc=colors(style.fill or style.stroke, style.opacity),
        lw=width,
        joinstyle="miter",
    )


# --- legends -------------------------------------------------------------------------------------


class _ArrowKey(HandlerPatch):
    """The key of arrows: an arrow across its width."""

    def create_artists(
        self,
        legend: Legend,
        orig_handle: Artist,
        xdescent: float,
        ydescent: float,
        width: float,
        height: float,
        fontsize: float,
        trans: Transform,
    ) -> list[Artist]:
        """Return the key, as matplotlib asks for it."""
        made: list[Artist] = []
        if isinstance(orig_handle, FancyArrowPatch):
            middle = height / 2 - ydescent
            orig_handle.set_positions((-xdescent, middle), (width - xdescent, middle))
            orig_handle.set_transform(trans)
            made.append(orig_handle)
        return made


class _Parts(HandlerTuple):
    """The key of a legend entry: its parts above each other, or those of a colour scale side by side."""

    def __init__(self) -> None:
        super().__init__(ndivide=1, pad=0.0)

    def legend_artist(
        self, legend: Legend, orig_handle: Artist, fontsize: float, handlebox: OffsetBox
    ) -> Artist:
        """Return the key, as matplotlib asks for it."""
        self._ndivide = None if isinstance(orig_handle, tuple) and len(orig_handle) > 4 else 1
        return super().legend_artist(legend, orig_handle, fontsize, handlebox)


HANDLERS: dict[type, HandlerTuple | HandlerPatch] = {tuple: _Parts(), FancyArrowPatch: _ArrowKey()}
"""Class of a part of a legend entry → what draws it."""


def handle(key: Key, colors: Colors) -> tuple[Artist, ...]:
    """Return the artists of a legend entry."""
    found: list[Artist] = []
    for shape, name in key.parts:
        found += _key_part(shape, STYLES[name], colors)
    return tuple(found)


def _key_part(shape: KeyShape, style: Style, colors: Colors) -> list[Artist]:
    width = style.width
    fill = colors(style.fill, style.fill_opacity)
    edge = colors(style.stroke) if style.stroke else "none"
    if shape == "area":
        parts: list[Artist] = [Patch(fc=fill, ec=edge, lw=width, ls=_dash(style, width))]
        if style.hatch:
            code, ec = colors.hatch(style)
            parts.append(Patch(fc="none", ec=ec, lw=0, hatch=code))
        return parts
    if shape == "points":
        return [Line2D([], [], ls="none", **_marker(style, colors))]
    if shape == "arrow":
        return [_arrow((0.0, 0.0), (1.0, 0.0), style, style.size, colors, width)]
    color = colors(style.stroke, style.opacity)
    if shape in KEY_LINES:
        closed = shape in ("violin", "margin")
        outlines = (
            np.concatenate([line, line[:1]]) if closed else line for line in KEY_LINES[shape]
        )
        lines = [MarkerPath(line * (1, -1), closed=closed) for line in outlines]
        reach = 2 * max(float(np.abs(line).max()) for line in KEY_LINES[shape])
        face, rim = (fill, edge) if closed else ("none", color)
        mark = MarkerPath.make_compound_path(*lines)
        return [Line2D([], [], ls="none", marker=mark, ms=reach, mfc=face, mec=rim, mew=width)]
    return [Line2D([], [], color=color, lw=min(width, 4.0), ls=_dash(style, width))]
