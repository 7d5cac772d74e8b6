"""The one theme of all figures: colours, styles of marks and texts, hatches, and the style sheets made from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

# --- colours -------------------------------------------------------------------------------------


class Color(NamedTuple):
    """A colour on light and dark grounds, and the system colour that replaces it where users force colours."""

    light: str
    dark: str
    forced: str


COLORS = {
    "ground": Color("#ffffff", "#14171a", "Canvas"),
    "ink": Color("#1f2328", "#e8eaed", "CanvasText"),
    "soft": Color("#57606a", "#a6adb5", "CanvasText"),
    "grid": Color("#e6e8eb", "#2a2f35", "GrayText"),
    "aside": Color("#f1f2f4", "#20252a", "Canvas"),
    "rim": Color("#8b949e", "#7b848d", "CanvasText"),
    "average": Color("#0a4a7d", "#8cc4f5", "CanvasText"),
    "interval": Color("#79aad2", "#2f6592", "GrayText"),
    "interval-edge": Color("#0a4a7d", "#8cc4f5", "CanvasText"),
    "heterogeneity": Color("#f8e3c0", "#4a3818", "Canvas"),
    "heterogeneity-edge": Color("#a66a15", "#d69a3e", "GrayText"),
    "violin": Color("#f0c987", "#7d5a1f", "Canvas"),
    "violin-edge": Color("#94600f", "#e0a94f", "CanvasText"),
    "curve": Color("#4a4f55", "#aeb4bb", "GrayText"),
    "doubt": Color("#a3a9b0", "#6b737b", "GrayText"),
    "count": Color("#8b929a", "#7f8790", "GrayText"),
    # Overlaid curves and groups, in their order.
    "hue0": Color("#0a4a7d", "#8cc4f5", "CanvasText"),
    "hue1": Color("#c24e09", "#ff9757", "CanvasText"),
    "hue2": Color("#16795d", "#4fd0a8", "CanvasText"),
    "hue3": Color("#a83c85", "#f08fd0", "CanvasText"),
    "hue4": Color("#7d6300", "#dcbc3a", "CanvasText"),
    "hue5": Color("#2f86c4", "#4d9fd6", "CanvasText"),
    "hue6": Color("#5b4bb0", "#ab9dff", "CanvasText"),
    "hue7": Color("#6b6b6b", "#b4b9bf", "CanvasText"),
    "unknown": Color("#b3b3b3", "#666c72", "GrayText"),
    # Numbers as colours of curves, from small to large.
    "shade0": Color("#440154", "#a86ad6", "CanvasText"),
    "shade1": Color("#481a6c", "#9f74e0", "CanvasText"),
    "shade2": Color("#472f7d", "#8f7fe6", "CanvasText"),
    "shade3": Color("#414487", "#7f8be8", "CanvasText"),
    "shade4": Color("#39568c", "#6f97e5", "CanvasText"),
    "shade5": Color("#31688e", "#5fa2de", "CanvasText"),
    "shade6": Color("#2a788e", "#51acd4", "CanvasText"),
    "shade7": Color("#23888e", "#45b6c8", "CanvasText"),
    "shade8": Color("#1f988b", "#3fbfb9", "CanvasText"),
    "shade9": Color("#22a884", "#45c7a8", "CanvasText"),
    "shade10": Color("#35b779", "#57cf95", "CanvasText"),
    "shade11": Color("#54c568", "#72d680", "CanvasText"),
    "shade12": Color("#6fbf42", "#93dc6b", "CanvasText"),
    "shade13": Color("#93c026", "#b5e05a", "CanvasText"),
    "shade14": Color("#b9b91a", "#d6e34f", "CanvasText"),
    "shade15": Color("#d8ae0b", "#f6e54e", "CanvasText"),
    # Heat maps: above and below zero, and without a zero. Opacity is the size of a value.
    "over": Color("#ea8c5c", "#b04a1e", "GrayText"),
    "under": Color("#62a3d6", "#2c6aa3", "GrayText"),
    "tone": Color("#4fa88f", "#26705c", "GrayText"),
    # Pages.
    "focus": Color("#0a63c9", "#6cb6ff", "Highlight"),
    "tip-ground": Color("#1f2328", "#e8eaed", "Canvas"),
    "tip-ink": Color("#ffffff", "#14171a", "CanvasText"),
    "tip-rim": Color("transparent", "transparent", "CanvasText"),
}
"""Name → colour; on paper the light ones are used."""

HUES, SHADES = 8, 16
"""Number of colours of groups, and of the colours that stand for numbers."""

OBSERVED = (1, 2, 3, 4, 6, 7)
"""Colours of groups that stand for the values of a split, with their shapes: not that of the average."""

HEAT_SHADES = 33
"""Number of colours of a heat map; the middle one of a diverging scale is zero."""


def heat_color(step: int, *, diverging: bool) -> tuple[str, float]:
    """Return the name and the opacity of a colour of heat maps."""
    last = HEAT_SHADES - 1
    if not diverging:
        return "tone", round(0.05 + 0.95 * step / last, 2)
    size = round(abs(2 * step / last - 1), 2)
    return ("ground", 0.0) if size == 0 else ("over" if 2 * step > last else "under", size)


# --- hatches and shapes --------------------------------------------------------------------------


class HatchPattern(NamedTuple):
    """A pattern: its tile for SVG (size and path data), its name in matplotlib, its colour and its stroke width."""

    size: float
    path: str
    code: str
    color: str
    width: float = 0.6
    opacity: float = 1.0


_GROUP_TILES = (
    (6.0, "M-1 7L7-1M-1 1L1-1M5 7L7 5", "//////"),
    (6.0, "M-1-1L7 7M-1 5L1 7M5-1L7 1", "\\\\\\\\\\\\"),
    (5.0, "M2.5 2.5h0", "......"),
    (5.0, "M0 2.5H5", "------"),
    (5.0, "M2.5 0V5", "||||||"),
    (6.0, "M0 0L6 6M6 0L0 6", "xxxx"),
    (7.0, "M1.5 3.5a2 2 0 1 0 4 0a2 2 0 1 0-4 0", "oooo"),
    (6.0, "M3 0V6M0 3H6", "++++"),
)

PATTERNS: dict[str, HatchPattern] = {
    "few": HatchPattern(7.0, "M-2 9L9-2M-2 2L2-2M5 9L9 5", "////", "doubt"),
    "empty": HatchPattern(7.0, "M0 0L7 7M7 0L0 7", "xxxx", "doubt"),
    "lines": HatchPattern(5.0, "M-1 6L6-1M-1 1L1-1M4 6L6 4", "//////", "ink"),
    "dots": HatchPattern(4.0, "M2 2h0", "......", "ink", 1.2),
    **{
        f"group{i}": HatchPattern(*tile, f"hue{i}", 1.2 if tile[2][0] == "." else 0.6, 0.55)
        for i, tile in enumerate(_GROUP_TILES)
    },
    **{
        f"part{i}": HatchPattern(*_GROUP_TILES[i], "ink", 1.2 if i == 2 else 0.6, 0.55)
        for i in range(6)
    },
}

SHAPES: dict[str, tuple[str, str]] = {
    "circle": ("m-1 0a1 1 0 1 0 2 0a1 1 0 1 0-2 0z", "o"),
    "square": ("m-.9-.9h1.8v1.8h-1.8z", "s"),
    "triangle": ("m0-1.16l1.1 2h-2.2z", "^"),
    "diamond": ("m0-1.25l1.25 1.25l-1.25 1.25l-1.25-1.25z", "D"),
    "wedge": ("m0 1.16l1.1-2h-2.2z", "v"),
    "plus": ("m-.5-1.1h1v.6h.6v1h-.6v.6h-1v-.6h-.6v-1h.6z", "P"),
    "cross": (
        "m0-.5l.55-.55l.5.5l-.55.55l.55.55l-.5.5l-.55-.55l-.55.55l-.5-.5l.55-.55l-.55-.55l.5-.5z",
        "X",
    ),
    "left": ("m-1.16 0l2-1.1v2.2z", "<"),
}
"""Name → path data around the current point for a radius of one, and the marker of matplotlib. All differ without
colours."""

# --- styles of marks -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Style:
    """The style of a mark."""

    stroke: str = ""
    width: float = 0.6
    dash: tuple[float, ...] = ()
    opacity: float = 1.0
    fill: str = ""
    fill_opacity: float = 1.0
    hatch: str = ""
    shape: str = "circle"
    size: float = 2.0
    halo: bool = False


DASHES: tuple[tuple[float, ...], ...] = (
    (),
    (7.0, 2.6),
    (1.7, 2.6),
    (8.0, 2.6, 1.7, 2.6),
    (4.0, 2.6),
    (8.0, 2.0, 1.7, 2.0, 1.7, 2.0),
    (12.0, 4.0),
    (1.7, 4.6),
)
"""Line styles of overlaid curves and of groups, in the order of their colours."""


def _shorter(dash: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(round(0.55 * v, 1) for v in dash)


def _rows(
    name: str, color: str, dash: tuple[float, ...] = (), shape: str = "circle"
) -> dict[str, Style]:
    """Return the styles of the curves of rows and of the points on them."""
    return {
        name: Style(color, 0.75, _shorter(dash)),
        f"{name}-dash": Style(color, 0.9, opacity=0.6),
        f"{name}-point": Style("ground", 0.5, fill=color, shape=shape, size=1.8),
    }


_GROUP_SHAPES = ("circle", "square", "triangle", "diamond", "wedge", "plus", "cross", "left")
"""Shapes of overlaid effects and of groups, in the order of their colours."""

_BAR_OPACITY = (0.8, 0.08, 0.45, 0.65, 0.25, 0.55)
"""Of bars side by side, which differ without colours."""


def _observed() -> dict[str, Style]:
    """Return the styles of mean labels (filled), mean predictions (open), and rows, by value of a split."""
    short = (3.2, 1.8)
    found = {
        "observed": Style("ground", 0.5, fill="ink", size=2.3),
        "observed-interval": Style("ink", 0.9),
        "predicted": Style("hue1", 1.0, fill="ground", shape="square", size=1.9),
        "predicted-line": Style("hue1", 0.9, short),
        "predicted-any": Style("ink", 1.0, fill="ground", size=1.9),
        "predicted-any-line": Style("ink", 0.9, short),
    }
    for k, (i, opacity) in enumerate(zip(OBSERVED, _BAR_OPACITY, strict=True)):
        hue, shape = f"hue{i}", _GROUP_SHAPES[i]
        found |= {
            f"observed{k}": Style("ground", 0.5, fill=hue, shape=shape, size=2.3),
            f"observed{k}-interval": Style(hue, 0.9),
            f"observed{k}-rows": Style(hue, 0.6, fill=hue, fill_opacity=opacity),
            f"predicted{k}": Style(hue, 1.0, fill="ground", shape=shape, size=1.9),
            f"predicted{k}-line": Style(hue, 0.9, short),
        }
    return found


def _hues() -> dict[str, Style]:
    """Return the styles of overlaid effects (hue) and of groups of rows (group)."""
    shapes = _GROUP_SHAPES
    found: dict[str, Style] = {}
    for i in range(HUES):
        hue, dash = f"hue{i}", DASHES[i]
        found |= {
            hue: Style(hue, 1.5, dash),
            f"{hue}-thin": Style(hue, 0.8, dash),
            f"{hue}-vertex": Style(hue, 1.0, fill="ground", shape=shapes[i], size=2.1),
            f"{hue}-band": Style(fill=hue, fill_opacity=0.17),
            f"{hue}-interval": Style(hue, 1.0),
            f"{hue}-bar": Style(hue, 0.7, fill=hue, fill_opacity=0.5),
            **_rows(f"group{i}", hue, dash, shapes[i]),
            f"group{i}-area": Style(fill=hue, fill_opacity=0.17, hatch=f"group{i}"),
            f"group{i}-outline": Style(hue, 1.2, DASHES[i]),
            f"group{i}-stacked": Style(hue, 0.7),
            # Averages of groups, over their curves.
            f"group{i}-mean": Style(hue, 2.0, DASHES[i], halo=True),
            f"group{i}-mean-point": Style("ink", 0.6, fill=hue, shape=shapes[i], size=2.9),
            # Single rows on curves. Later points are smaller: those at the same place stay visible.
            f"given{i}": Style(hue, 1.1, DASHES[i], halo=True),
            f"given{i}-point": Style(
                "ink", 0.75, fill=hue, shape=shapes[i], size=round(4.2 - 0.25 * i, 2)
            ),
            f"given{i}-small": Style("ink", 0.5, fill=hue, shape=shapes[i], size=2.0),
        }
    for i, shade in enumerate((1, 8, 13)):
        found |= {
            f"third{i}-mean": Style(f"shade{shade}", 2.0, DASHES[i], halo=True),
            f"third{i}-mean-point": Style(
                "ink", 0.6, fill=f"shade{shade}", shape=shapes[i], size=2.9
            ),
        }
    for i in range(SHADES):
        found |= _rows(f"shade{i}", f"shade{i}")
    return found


STYLES: dict[str, Style] = {
    # The average and its confidence interval.
    "average": Style("average", 1.7),
    "average-thin": Style("average", 0.8),
    "vertex": Style("average", 1.1, fill="ground", size=2.0),
    "vertex-plus": Style("average", 1.4, shape="plus", size=2.6),
    "dot": Style(fill="average", shape="dot", size=1.0),
    "mean": Style("ink", 1.7, halo=True),
    "mean-thin": Style("ink", 0.8, halo=True),
    "mean-vertex": Style("ink", 1.1, fill="ground", size=2.0),
    "mean-dot": Style(fill="ink", shape="dot", size=1.0),
    "interval": Style("interval-edge", 0.55, fill="interval"),
    "interval-bar": Style("interval", 5.5),
    "bands": Style(fill="soft", fill_opacity=0.3),
    "compared": Style("curve", 1.0, (1.0, 1.6)),
    "missing": Style("average", 1.1, fill="ground", shape="diamond", size=2.2),
    "beyond-above": Style("average", 1.1, fill="ground", shape="triangle", size=2.2),
    "beyond-below": Style("average", 1.1, fill="ground", shape="wedge", size=2.2),
    "zero": Style("soft", 0.7),
    # The effect in all rows behind that of a region.
    "whole": Style("rim", 1.1),
    "whole-vertex": Style("rim", 0.8, fill="ground", size=1.7),
    "aside": Style(fill="aside"),
    # Heterogeneity.
    "heterogeneity": Style("heterogeneity-edge", 0.65, (3.4, 2.0), fill="heterogeneity"),
    "heterogeneity-bar": Style("heterogeneity", 13.0),
    "curve": Style("curve", 0.55),
    "curve-dash": Style("curve", 1.0, opacity=0.5),
    "own": Style(fill="curve", fill_opacity=0.8, shape="dot", size=1.1),
    "violin": Style("violin-edge", 0.55, fill="violin"),
    "local": Style("violin-edge", 0.8),
    "slope": Style("average", 2.0),
    "slope-fine": Style("average", 1.4),
    "whisker": Style("ink", 0.85),
    "whisker-fine": Style("ink", 0.55),
    # Rows.
    "count": Style("ground", 0.4, fill="count"),
    "margin": Style("ground", 0.35, fill="count"),
    "rug": Style("ink", 0.5, opacity=0.7),
    "row": Style(fill="ink", fill_opacity=0.7, shape="dot", size=1.1),
    "few": Style(hatch="few"),
    "empty": Style(hatch="empty"),
    "rowless": Style(fill="aside", hatch="few"),
    "unclear": Style(hatch="dots"),
    # Elevated regions, by verdict.
    "elevated-all": Style("ink", 0.55, fill="soft"),
    "elevated-elsewhere": Style("ink", 0.55, fill="ground", hatch="lines"),
    "elevated-unclear": Style("ink", 0.55, fill="ground", hatch="dots"),
    # Groups and methods.
    **_hues(),
    **_observed(),
    **_rows("group-missing", "unknown"),
    "group-missing-mean": Style("unknown", 2.0, (2.6, 1.4), halo=True),
    "group-missing-mean-point": Style("ink", 0.6, fill="ground", shape="diamond", size=2.9),
    "group-missing-area": Style(fill="unknown", fill_opacity=0.17),
    "group-missing-outline": Style("unknown", 1.2),
    "group-missing-stacked": Style("unknown", 0.7),
    # Models.
    "model": Style("ink", 0.6, opacity=0.6),
    "model-dash": Style("ink", 0.9, opacity=0.6),
    # Bars.
    "bar": Style("interval-edge", 0.55, fill="interval"),
    "bar-hatched": Style("interval-edge", 0.55, fill="ground", hatch="lines"),
    "repeat": Style("ink", 0.55, fill="ground", size=1.4),
    "before": Style("rim", 0.55, fill="aside"),
    "after": Style("average", 1.3),
    "mean-before": Style("soft", 1.0, (2.6, 1.7)),
    "mean-after": Style("average", 1.0),
    "arrow-before": Style("soft", 0.8, fill="ground", shape="wedge", size=2.6),
    "arrow-after": Style("average", 0.8, fill="average", shape="wedge", size=2.6),
    # Parts of a whole.
    "part0": Style("ink", 0.55, fill="interval"),
    "part1": Style("ink", 0.55, fill="violin", hatch="part1"),
    **{f"part{i}": Style("ink", 0.55, fill="ground", hatch=f"part{i}") for i in range(2, 6)},
    "part-rest": Style("ink", 0.55, fill="ground"),
    "part-mark": Style("ink", 0.75, fill="average", shape="wedge", size=3.2),
    # Scatter plots.
    "cross": Style("soft", 0.55),
    "lead": Style("soft", 0.55),
    "equal": Style("heterogeneity-edge", 0.95, (4.0, 2.7)),
    "ideal": Style("soft", 0.95, (4.0, 2.7)),
    "to-regions": Style("hue2", 1.0, fill="hue2", size=5.6),
    "numeric": Style("ink", 0.75, fill="interval", size=3.0),
    "ordinal": Style("ink", 0.75, fill="violin", shape="triangle", size=3.0),
    "nominal": Style("ink", 0.75, fill="ground", shape="square", size=3.0),
    "numeric-small": Style("ink", 0.5, fill="interval", size=1.9),
    "ordinal-small": Style("ink", 0.5, fill="violin", shape="triangle", size=1.9),
    "nominal-small": Style("ink", 0.5, fill="ground", shape="square", size=1.9),
    "independent": Style("ink", 0.75, fill="average", size=3.0),
    "shared": Style("ink", 0.75, fill="hue1", shape="square", size=3.0),
    "informative": Style("ink", 0.75, fill="hue2", shape="diamond", size=3.0),
    "uninformative": Style("ink", 0.75, fill="hue4", shape="triangle", size=3.0),
    "undecided": Style("ink", 0.75, fill="ground", shape="diamond", size=3.0),
    "no-effect": Style("ink", 0.75, fill="ground", size=3.0),
    "little-effect": Style("ink", 0.75, fill="ground", shape="triangle", size=3.0),
    "unused": Style("ink", 0.75, fill="ground", shape="square", size=3.0),
    "misleading": Style("ink", 0.75, fill="hue3", shape="wedge", size=3.0),
    "other-verdict": Style("ink", 0.75, fill="unknown", shape="cross", size=3.0),
    # Networks: lines by strength, discs by importance.
    **{f"edge{i}": Style("ink", 0.5 + 0.95 * i, opacity=0.3 + 0.15 * i) for i in range(5)},
    **{
        f"node{i}": Style("ink", 0.75, fill="interval", size=round(3.4 * (1 + i) ** 0.5, 1))
        for i in range(5)
    },
    # Surfaces.
    "contour": Style("ink", 0.7),
    "contour-negative": Style("ink", 0.7, (2.7, 1.7)),
    "contour-zero": Style("ink", 1.2),
    "between": Style("ground", 1.4),
}
"""Name → style. Figure specifications name the styles of their marks."""

# --- texts ---------------------------------------------------------------------------------------

SMALL, MEDIUM, LARGE = 8.0, 8.7, 9.4
"""Sizes of letters in points: ticks, notes, legends and texts in panels; axis labels; titles."""


@dataclass(frozen=True)
class TextStyle:
    """The style of a text: size of its letters, colour, weight, slant, and whether it has an outline."""

    size: float = SMALL
    color: str = "ink"
    bold: bool = False
    italic: bool = False
    halo: bool = False


TEXTS = {
    "title": TextStyle(LARGE, bold=True),
    "method": TextStyle(color="soft"),
    "note": TextStyle(color="soft"),
    "label": TextStyle(MEDIUM),
    "tick": TextStyle(color="soft"),
    "key": TextStyle(),
    "above": TextStyle(color="soft"),
    "word": TextStyle(color="soft", halo=True),
    "value": TextStyle(halo=True),
    "name": TextStyle(halo=True),
    "region": TextStyle(color="soft", italic=True),
    "sign": TextStyle(11.3, bold=True, halo=True),
}
"""Name → style of a text."""

# --- the style sheet -----------------------------------------------------------------------------

PIXELS = 1.5
"""Pixels of a drawing for pages per point: letters of 8 points become 12 pixels."""


@cache
def stylesheet() -> str:
    """Return the colours and styles as CSS: light, dark, printed, and with forced colours."""
    pages = ".skd-page,.skd-figure"
    dark = _variables(1) + "color-scheme:dark"
    rules: dict[str, dict[str, str]] = {f".{name}": _style_rule(s) for name, s in STYLES.items()}
    rules |= {f".pattern-{name}": _pattern_rule(p) for name, p in PATTERNS.items()}
    rules |= {f".{name} text": _text_rule(s) for name, s in TEXTS.items()}
    # The method stands in the line of the title.
    rules[".title tspan"] = {**_text_rule(TEXTS["method"]), "font-weight": "400"}
    rules |= _heat_rules()
    # One rule per declaration, for all styles that have it, takes half the text of one rule per style.
    shared: dict[str, list[str]] = {}
    for selector, rule in rules.items():
        for name, value in rule.items():
            shared.setdefault(f"{name}:{value}", []).append(selector)
    return "\n".join(
        [
            f"{pages}{{{_variables(0)}color-scheme:light}}",
            # Printed pages are always light.
            f"@media screen and (prefers-color-scheme:dark){{{_within(':root:not([data-theme=light])')}{{{dark}}}}}",
            f"@media screen{{{_within(':root[data-theme=dark]')}{{{dark}}}}}",
            *(f"svg.skd :is({','.join(names)}){{{what}}}" for what, names in shared.items()),
            f"@media(forced-colors:active){{{_within(':root:root:root')}{{{_variables(2)}}}}}",
        ]
    )


def _within(root: str) -> str:
    """Return a selector of pages and figures inside a root element, or on it."""
    return f"{root} :is(.skd-page,.skd-figure),{root}:is(.skd-page,.skd-figure)"


def _variables(scheme: int) -> str:
    return "".join(f"--skd-{name}:{color[scheme]};" for name, color in COLORS.items())


def css_number(value: float) -> str:
    """Return a number without superfluous zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".").removeprefix("0") or "0"


def _style_rule(style: Style) -> dict[str, str]:
    if style.shape == "dot":
        # A line of length zero with round ends is a disc, and takes a tenth of the text of a circle.
        return {
            "stroke": f"var(--skd-{style.fill})",
            "stroke-width": css_number(2 * PIXELS * style.size),
            "stroke-opacity": css_number(style.fill_opacity),
            "stroke-linecap": "round",
        }
    rule: dict[str, str] = {}
    if style.stroke:
        rule["stroke"] = f"var(--skd-{style.stroke})"
        rule["stroke-width"] = css_number(PIXELS * style.width)
    if style.dash:
        rule["stroke-dasharray"] = " ".join(css_number(PIXELS * v) for v in style.dash)
    if style.opacity < 1:
        rule["stroke-opacity"] = css_number(style.opacity)
    if style.fill:
        rule["fill"] = f"var(--skd-{style.fill})"
    if style.fill and style.fill_opacity < 1:
        rule["fill-opacity"] = css_number(style.fill_opacity)
    return rule


def _pattern_rule(pattern: HatchPattern) -> dict[str, str]:
    rule = {
        "stroke": f"var(--skd-{pattern.color})",
        "stroke-width": css_number(PIXELS * pattern.width),
        "stroke-linecap": "round",
    }
    return rule if pattern.opacity == 1 else {**rule, "stroke-opacity": css_number(pattern.opacity)}


def _heat_rules() -> dict[str, dict[str, str]]:
    """Return the rules of heat maps: t0 … for diverging scales, s0 … for the others."""
    found: dict[str, dict[str, str]] = {}
    for letter, diverging in (("t", True), ("s", False)):
        for step in range(HEAT_SHADES):
            color, opacity = heat_color(step, diverging=diverging)
            rule = {"fill": f"var(--skd-{color})", "fill-opacity": css_number(opacity)}
            found[f".{letter}{step}"] = rule if opacity else {"fill": "none"}
    return found


def _text_rule(style: TextStyle) -> dict[str, str]:
    rule = {
        "fill": f"var(--skd-{style.color})",
        "font-size": f"{css_number(PIXELS * style.size)}px",
    }
    rule |= {"font-weight": "650"} if style.bold else {}
    rule |= {"font-style": "italic"} if style.italic else {}
    if style.halo:
        rule |= {
            "paint-order": "stroke",
            "stroke": "var(--skd-ground)",
            "stroke-width": "3px",
            "stroke-opacity": ".8",
            "stroke-linejoin": "round",
        }
    return rule
