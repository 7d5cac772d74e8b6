"""Marks as SVG: lines, bands, points, areas, individual curves, patches of colour, annotations.

Each function takes a `Frame`, which converts values to pixels, and a mark of the specification, and returns elements
with their legend entries. Colours and strokes are in the style sheet `assets/figure.css`, by class. To keep files
small, marks of one kind share one path, curves have only as many points as are visible, and marks on the same pixel are
merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from skedasis._types import Bools, Floats, Ints
from skedasis.plots.figures.ice import ends, group_name
from skedasis.plots.scales import (
    SMALL,
    place_labels,
    position_texts,
    select_points,
    shorten,
    width_of,
)
from skedasis.plots.spec import (
    Band,
    Bars,
    ColorEncoding,
    Dashes,
    Hatch,
    IceCurves,
    Line,
    MissingMarker,
    Outline,
    Panel,
    Rug,
    Steps,
    Strip,
)
from skedasis.plots.svg.elements import dashes, joined, path, px, tag, texts, way
from skedasis.plots.svg.frame import Frame, Keys, area_key, line_key
from skedasis.plots.theme import BOTTOM, DOUBTS, OWN, TOP

# --- lines, bands, points ------------------------------------------------------------------------

_ROUND = "m-{r} 0a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0-{d} 0"


_CORNERS = (
    ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
    ((0, 1.2), (1.15, -0.9), (-1.15, -0.9)),
    (
        (-0.4, -1.2),
        (0.4, -1.2),
        (0.4, -0.4),
        (1.2, -0.4),
        (1.2, 0.4),
        (0.4, 0.4),
        (0.4, 1.2),
        (-0.4, 1.2),
        (-0.4, 0.4),
        (-1.2, 0.4),
        (-1.2, -0.4),
        (-0.4, -0.4),
    ),
    ((-1.1, -1.1), (0, -0.5), (1.1, -1.1), (0.5, 0), (1.1, 1.1), (0, 0.5), (-1.1, 1.1), (-0.5, 0)),
    ((-1.2, 0), (0.9, 1.15), (0.9, -1.15)),
)
"""Corners of the other marks: square, triangles, diamond, plus, cross, in units of the half width."""


BENDS = 60
"""Bands with more points than this are simplified within a tenth of a pixel."""


COLUMN = 1.0
"""Width in pixels of a column in which marks are merged."""


SEEN = 20
"""Most points on one side of a violin; more would not be visible."""


def shape(place: int, half: float) -> str:
    """Return mark number 0 to 7 as path data that start at its centre."""
    if place == 0:
        return _ROUND.format(r=px(half), d=px(2 * half))
    x, y = (half * np.array(side) for side in zip(*_CORNERS[place - 1], strict=True))
    steps = zip(np.diff(x, prepend=0.0).tolist(), np.diff(y, prepend=0.0).tolist(), strict=True)
    way = [f"{px(a)} {px(b)}" for a, b in steps]
    return f"m{way[0]}l{' '.join(way[1:])}z"


def trace(x: Floats, y: Floats) -> str:
    """Return a curve as short path data; non-finite points interrupt it."""
    known = np.isfinite(x) & np.isfinite(y)
    return way(x, y) if known.all() and len(x) else path(x, y)


def points(x: Floats, y: Floats, place: int, half: float, look: str) -> Markup:
    """Return a mark at each finite point, as one path."""
    there = np.isfinite(x) & np.isfinite(y)
    if "solid" in look.split():
        # A stroke of length zero with round ends is a dot, and takes a tenth of the text of a circle.
        return tag("path", class_=f"dots {look}", d=dashes(x[there], y[there], 0.0))
    form = shape(place, half)
    at = zip(texts(x[there]), texts(y[there]), strict=True)
    return tag("path", class_=f"marks {look}", d="".join(f"M{a} {b}{form}" for a, b in at))


def bars_of(x: Floats, lower: Floats, upper: Floats, look: str) -> Markup:
    """Return vertical bars between two values at each point, as one path."""
    there = np.isfinite(lower) & np.isfinite(upper)
    at = zip(texts(x[there]), texts(lower[there]), texts(upper[there]), strict=True)
    return tag("path", class_=look, d="".join(f"M{a} {b}V{c}" for a, b, c in at))


def line(frame: Frame, line: Line, look: str, *, small: bool) -> tuple[Markup, Keys]:
    """Return a curve, or the points of levels with a thin line between ordinal ones."""
    x, y = frame.x(line.x), frame.y(line.y)
    parts: list[Markup] = []
    key: list[Markup] = []
    if line.joined is not None and len(x) > 1:
        style = f"line {look}{' thin' if line.joined == 'thin' else ''}"
        d = trace(x, y)
        if look == "ink":  # a halo separates it from curves of all colours
            parts.append(tag("path", class_="halo", d=d))
        parts.append(tag("path", class_=style, d=d))
        key.append(line_key(style))
    at = np.arange(len(x)) if line.marked is None else line.marked
    alone = len(x) == 1
    if line.vertices or alone:
        few, levels = len(at) <= 30, line.joined != "line" and len(at) <= 60
        half = (2.2 if small else 3.0) if few or levels else 1.4
        solid = "" if few or levels else " solid"
        parts.append(points(x[at], y[at], 0, half, look + solid))
        key.append(points(np.array([13.0]), np.zeros(1), 0, half, look + solid))
    return joined(parts), {line.label: joined(key)}


def band(frame: Frame, band: Band) -> tuple[Markup, Keys]:
    """Return the area between two curves, or a box per level."""
    look = "err" if band.role == "error" else "het"
    x, lower, upper = frame.x(band.x), frame.y(band.lower), frame.y(band.upper)
    keys = {band.label: area_key(f"band {look}", f"edge {look}")}
    if band.reach is not None:
        return _boxes(frame, band, f"box {look}"), keys
    if len(x) == 1:  # a single point has no area: draw a bar
        return bars_of(x, lower, upper, f"bar-{look}"), keys
    if len(x) > BENDS:
        kept = select_points(x, np.stack([lower, upper]), 0.1).any(axis=0)
        x, lower, upper = x[kept], lower[kept], upper[kept]
    area = tag("path", class_=f"band {look}", d=between(x, lower, upper))
    edges = tag("path", class_=f"edge {look}", d=trace(x, lower) + trace(x, upper))
    return area + edges, keys


def between(x: Floats, lower: Floats, upper: Floats) -> str:
    """Return the outline of the area between two curves, one piece per interval in which both are finite."""
    there = np.isfinite(lower) & np.isfinite(upper) & np.isfinite(x)
    ends = np.flatnonzero(np.diff(np.concatenate([[0], there.astype(int), [0]])))
    parts: list[str] = []
    for first, end in zip(ends[::2], ends[1::2], strict=True):
        around = np.concatenate([np.arange(first, end), np.arange(end - 1, first - 1, -1)])
        y = np.concatenate([upper[first:end], lower[first:end][::-1]])
        parts.append(f"{way(x[around], y)}z")
    return "".join(parts)


def _boxes(frame: Frame, band: Band, look: str) -> Markup:
    there = np.isfinite(band.lower) & np.isfinite(band.upper)
    reach = 0.0 if band.reach is None else band.reach
    x, half = frame.x(band.x[there]), frame.x(reach) - frame.x(0.0)
    x, low, high = merge_columns(
        x, frame.y(band.lower[there]), frame.y(band.upper[there]), 2 * float(half)
    )
    half = np.maximum(half, COLUMN / 2) if len(x) < np.count_nonzero(there) else half
    return tag("path", class_=look, d=rectangles(x - half, x + half, low, high))


def merge_columns(
    x: Floats, low: Floats, high: Floats, wide: float
) -> tuple[Floats, Floats, Floats]:
    """Merge vertical marks in the same pixel column into their union.

    Parameters
    ----------
    x, low, high : ndarray of float, shape (n,)
        In pixels, which grow downwards, so that `low` is larger than `high`. `x` ascends.
    wide : float
        Width of each mark; marks at least one column wide are not merged.
    """
    column = np.floor(x / COLUMN)
    first = np.flatnonzero(np.diff(column, prepend=np.nan) != 0)
    if wide >= COLUMN or len(first) == len(x) or np.any(np.diff(x) < 0):
        return x, low, high
    return (
        (column[first] + 0.5) * COLUMN,
        np.maximum.reduceat(low, first),
        np.minimum.reduceat(high, first),
    )


def rectangles(left: Floats, right: Floats, low: Floats, high: Floats) -> str:
    """Return rectangles as path data."""
    sides = zip(texts(left), texts(right), texts(low), texts(high), strict=True)
    return "".join(f"M{a} {c}V{d}H{b}V{c}z" for a, b, c, d in sides)


def missing_marker(frame: Frame, point: MissingMarker, *, small: bool) -> tuple[Markup, Keys]:
    """Return the point of missing values with its interval."""
    half = 2.6 if small else 3.6
    x = frame.x(np.array([frame.across.beside]))
    lower, upper = frame.y(np.array([[point.lower], [point.upper]]))
    drawn = bars_of(x, lower, upper, "missing")
    key = points(np.array([13.0]), np.zeros(1), 3, half, "average")
    return drawn + points(x, frame.y(np.array([point.y])), 3, half, "average"), {point.label: key}


# --- bins: means, whiskers, violins, counts ------------------------------------------------------


def steps(frame: Frame, steps: Steps, *, fine: bool) -> tuple[Markup, Markup, Keys]:
    """Return the whiskers in the centres of bins, the means as lines across them, and the legend."""
    left, right = frame.x(steps.left), frame.x(steps.right)
    tilt = np.zeros(len(steps.y)) if steps.rise is None else steps.rise / 2
    first, last = frame.y(steps.y - tilt), frame.y(steps.y + tilt)
    there = np.isfinite(steps.y) & np.isfinite(tilt)
    means = _means(left[there], first[there], right[there], last[there])
    whiskers = _whiskers(frame, steps, np.minimum(1.5 if fine else 4.0, 0.35 * (right - left)))
    look = " fine" if fine else ""
    keys = {
        steps.label: line_key("step"),
        steps.whiskers: tag("path", class_="whisker", d="M13-6V6M9-6h8M9 6h8"),
    }
    drawn = tag("path", class_=f"whisker{look}", d=whiskers)
    return drawn, tag("path", class_=f"step{look}", d=means), keys


def _means(left: Floats, first: Floats, right: Floats, last: Floats) -> str:
    """Return lines across bins, from the first to the last height."""
    if len(left) and np.array_equal(first, last) and float((right - left).max()) < COLUMN:
        return dashes(left, first, float((right - left).mean()))
    ends = zip(*(texts(v) for v in (left, first, right, last)), strict=True)
    return "".join(f"M{a} {b}H{c}" if b == d else f"M{a} {b}L{c} {d}" for a, b, c, d in ends)


def _whiskers(frame: Frame, steps: Steps, cap: Floats) -> str:
    middle, low, high = frame.x(steps.middle), frame.y(steps.lower), frame.y(steps.upper)
    there = np.isfinite(low) & np.isfinite(high)
    if len(middle) and float(cap.max()) < COLUMN / 4:
        x, low, high = merge_columns(middle[there], low[there], high[there], 0.0)
        ends = zip(texts(x), texts(low), texts(high), strict=True)
        return "".join(f"M{a} {b}V{c}" for a, b, c in ends)
    at = (texts(v[there]) for v in (middle, middle - cap, 2 * cap, low, high))
    return "".join(
        f"M{m} {a}V{b}M{c} {a}h{w}M{c} {b}h{w}" for m, c, w, a, b in zip(*at, strict=True)
    )


def violins(frame: Frame, panel: Panel) -> tuple[Markup, Keys]:
    """Return violins of local effects, and dashes for single ones in bins with too few rows."""
    parts: list[Markup] = []
    if panel.violins:
        parts.append(tag("path", class_="violin", d="".join(_outlines(frame, panel))))
    if panel.dashes is not None:
        parts.append(tag("path", class_="dash", d=_single(frame, panel.dashes)))
    if not parts or panel.steps is None:
        return Markup(""), {}
    curve = "M13-7C14-4 19-2 19 0C19 2 14 4 13 7C12 4 7 2 7 0C7-2 12-4 13-7z"
    return joined(parts), {panel.steps.bodies: tag("path", class_="violin", d=curve)}


def _single(frame: Frame, single: Dashes) -> str:
    """Return a dash per local effect; coinciding ones are merged."""
    left, right = frame.x(single.x - single.reach), frame.x(single.x + single.reach)
    y, wide = frame.y(single.y), right - left
    if len(y) and float(wide.max()) < COLUMN:
        at = np.unique(np.floor(np.column_stack([left, y])[np.isfinite(y)] / COLUMN), axis=0)
        return dashes(COLUMN * at[:, 0], COLUMN * (at[:, 1] + 0.5), COLUMN)
    at = zip(texts(left), texts(y), texts(wide), strict=True)
    return "".join(f"M{a} {b}h{w}" for a, b, w in at)


def _outlines(frame: Frame, panel: Panel) -> list[str]:
    """Return the outlines of violins, simplified to about `SEEN` points per side."""
    y = np.stack([frame.y(v.y) for v in panel.violins])
    scale = frame.width / (frame.across.limits[1] - frame.across.limits[0])
    half = np.stack([scale * v.half_width for v in panel.violins])
    kept = select_points(y, half, 0.15)
    for tolerance in (0.3, 0.6, 1.2):
        many = kept.sum(axis=1) > SEEN
        if not many.any():
            break
        kept[many] = select_points(y[many], half[many], tolerance)
    out: list[str] = []
    for v, at, wide, some in zip(panel.violins, y, half, kept, strict=True):
        middle = float(frame.x(v.middle))
        x = np.concatenate([middle + wide[some], (middle - wide[some])[::-1]])
        out.append(way(x, np.concatenate([at[some], at[some][::-1]])) + "z")
    return out


def bars(frame: Frame, bars: Bars) -> Markup:
    """Return bars of numbers of rows."""
    left, right = frame.x(bars.left), frame.x(bars.right)
    low, high = frame.y(np.zeros(len(bars.height))), frame.y(bars.height)
    middle, low, high = merge_columns(
        (left + right) / 2, low, high, float((right - left).max(initial=0.0))
    )
    if len(middle) < len(left):
        left, right = middle - COLUMN / 2, middle + COLUMN / 2
    return tag("path", class_="bar", d=rectangles(left, right, low, high))


# --- hatches, strips, histograms of groups, rugs -------------------------------------------------

PATTERNS: dict[str, tuple[float, str]] = {
    "few": (7.0, "M-2 9L9-2M-2 2L2-2M5 9L9 5"),
    "empty": (7.0, "M0 0L7 7M7 0L0 7"),
    "elsewhere": (5.0, "M-1 6L6-1M-1 1L1-1M4 6L6 4"),
    "unclear": (4.0, "M2 2h0"),
    "p0": (6.0, "M-1 7L7-1M-1 1L1-1M5 7L7 5"),
    "p1": (6.0, "M-1-1L7 7M-1 5L1 7M5-1L7 1"),
    "p2": (5.0, "M2.5 2.5h0"),
    "p3": (5.0, "M0 2.5H5"),
    "p4": (5.0, "M2.5 0V5"),
    "p5": (6.0, "M0 0L6 6M6 0L0 6"),
    "p6": (7.0, "M1.5 3.5a2 2 0 1 0 4 0a2 2 0 1 0-4 0"),
    "p7": (6.0, "M3 0V6M0 3H6"),
}
"""Size and path data of each pattern; p0 to p7 are those of groups, in the order of their colours."""


RUG, _TOOTH = 8.0, 0.6
"""Height and width of a tick of the rug in pixels; the style sheet repeats the height."""


class Defs:
    """Definitions of a drawing: used patterns and clip paths, with identifiers that begin with that of the drawing."""

    def __init__(self, ident: str) -> None:
        self.ident = ident
        self._made: dict[str, Markup] = {}

    def pattern(self, name: str) -> str:
        """Return a reference to a pattern."""
        ident = f"{self.ident}-{name}"
        size, d = PATTERNS[name]
        look = f"pat {name}" if not name.startswith("p") else f"pat m{name[1:]}"
        dots = "dots" if d.endswith("h0") else ""
        lines = tag("path", class_=f"{look} {dots}".strip(), d=d)
        box = {"width": size, "height": size, "patternUnits": "userSpaceOnUse"}
        self._made[ident] = tag("pattern", lines, id=ident, **box)
        return f"url(#{ident})"

    def clip(self, frame: Frame) -> str:
        """Return a reference to the clip path of a frame."""
        ident = f"{self.ident}-clip{len(self._made)}"
        self._made[ident] = frame.clip(ident)
        return f"url(#{ident})"

    def written(self) -> Markup:
        """Return all definitions as one element."""
        return tag("defs", *self._made.values()) if self._made else Markup("")


def hatches(frame: Frame, found: Sequence[Hatch], defs: Defs) -> tuple[Markup, Markup, Keys]:
    """Return hatched intervals with few or no rows, the texts in them, and the legend."""
    parts: list[Markup] = []
    words: list[Markup] = []
    keys: Keys = {}
    for h in found:
        keys[DOUBTS[h.doubt]] = area_key("hatch", fill=defs.pattern(h.doubt))
        words.append(_doubt(frame, h.text, *frame.x(np.array([h.left, h.right])).tolist()))
    for left, right, doubt in _merged_intervals(found):
        a, b = frame.x(np.array([left, right])).tolist()
        look = {"y": frame.top, "height": frame.height, "fill": defs.pattern(doubt)}
        parts.append(tag("rect", class_="hatch", x=a, width=b - a, **look))
    return joined(parts), joined(words), keys


def _merged_intervals(found: Sequence[Hatch]) -> list[tuple[float, float, str]]:
    """Return intervals with their kind; adjacent ones of the same kind are merged."""
    out: list[tuple[float, float, str]] = []
    for h in sorted(found, key=lambda h: h.left):
        if out and out[-1][2] == h.doubt and h.left <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], h.right), h.doubt)
        else:
            out.append((h.left, h.right, h.doubt))
    return out


def _doubt(frame: Frame, text: str, a: float, b: float) -> Markup:
    """Return the text in the centre of an interval: horizontal, rotated, or none if there is no space."""
    x, y, long = (a + b) / 2, frame.top + frame.height / 2, width_of(text) + 6
    if not text or (b - a < long and (b - a < 1.2 * SMALL or frame.height < long)):
        return Markup("")
    upright = b - a < long
    way = f"rotate(-90 {px(x)} {px(y)})" if upright else None
    return tag("text", text, class_="doubt", x=x, y=y + 0.35 * SMALL, transform=way)


def strips(frame: Frame, found: Sequence[Strip], defs: Defs) -> tuple[Markup, Keys]:
    """Return the strips of elevated regions with their texts, and the legend."""
    parts: list[Markup] = []
    keys: Keys = {}
    top, high = frame.bottom - TOP * frame.height, (TOP - BOTTOM) * frame.height
    for strip in found:
        a, b = frame.x(np.array([strip.left, strip.right])).tolist()
        box = {"x": a, "y": top, "width": b - a, "height": high}
        fill = None if strip.rising == "all" else defs.pattern(strip.rising)
        look = f"strip {strip.rising}"
        parts.append(tag("rect", class_="strip ground", **box) if fill else Markup(""))
        parts.append(tag("rect", class_=look, fill=fill, **box))
        keys[strip.label] = area_key(look, fill=fill)
        if strip.text:
            at = {"x": float(frame.x(strip.middle)), "y": top - 4}
            parts.append(tag("text", strip.text, class_="rising", **at))
    return joined(parts), keys


def draw_outlines(frame: Frame, groups: Sequence[Outline], defs: Defs) -> tuple[Markup, Keys]:
    """Return histograms with the colour, line style and pattern of their group, and the legend."""
    parts: list[Markup] = []
    keys: Keys = {}
    for group in groups:
        base = np.zeros(len(group.height)) if group.base is None else group.base
        x = frame.x(np.repeat(group.edges, 2)[1:-1])
        low, high = (frame.y(np.repeat(v, 2)) for v in (base, base + group.height))
        hue = "mx" if group.place < 0 else f"m{group.place}"
        solid = "" if group.base is None else " stacked"
        fill = None if group.place < 0 else defs.pattern(f"p{group.place}")
        area = between(x, low, high)
        parts.append(tag("path", class_=f"share {hue}", d=area))
        if fill:
            parts.append(tag("path", class_="hatch", d=area, fill=fill))
        first, last = texts(np.array([low[0], low[-1]]))
        rim = f"M{px(float(x[0]))} {first}L{path(x, high)[1:]}V{last}"
        parts.append(tag("path", class_=f"outline {hue}{solid}", d=rim))
        key = area_key(f"share {hue}") + (area_key("hatch", fill=fill) if fill else Markup(""))
        keys[group.label] = key + area_key(None, f"outline {hue}{solid}")
    return joined(parts), keys


def rug(frame: Frame, rug: Rug) -> tuple[Markup, Keys]:
    """Return the rug; ticks within half a pixel are merged."""
    at = np.unique(np.round(2 * frame.x(rug.x)) / 2)
    look = "rug" if len(rug.x) <= 150 else "rug many"
    key = tag("path", class_="rug", d=_rug_ticks(np.array([9.0, 12.5, 17.0]), 0.0))
    d = _rug_ticks(at, frame.bottom - RUG / 2)
    return tag("path", class_=look, d=d), {rug.label: key}


def _rug_ticks(at: Floats, y: float) -> str:
    """Return ticks as dashes of one thick horizontal line, which takes half the text of vertical lines."""
    return dashes(at - _TOOTH / 2, np.full(len(at), y), _TOOTH)


# --- individual curves ---------------------------------------------------------------------------

CURVE_SHADES = 16
"""Number of colours of the scale of numbers."""

_FINE = 0.1
"""Tolerance of simplified curves in pixels."""


_DASH = 2.5


def bundle(frame: Frame, strands: IceCurves) -> tuple[Markup, Markup, Keys]:
    """Return individual curves, the points on them, and the legend; curves of the same style share one path."""
    alpha = np.clip((30 if strands.tint is None else 60) / max(len(strands.y), 1), 0.0, 1.0)
    drawn: list[Markup] = []
    keys: Keys = {}
    for label, rows, look, key in _parts(strands):
        if label:
            keys[label] = key
        if len(rows):
            drawn.append(_path(frame, strands, rows, look, label))
    # The style sheet has three levels of opacity, so that the average stays visible among many curves.
    density = "few" if alpha >= 0.5 else "some" if alpha >= 0.2 else "many"
    dots, more = _own(frame, strands)
    return tag("g", *drawn, class_=f"bundle {density}"), dots, keys | more


def _parts(strands: IceCurves) -> Iterator[tuple[str, Ints, str, Markup]]:
    """Yield label, indices, CSS class and legend key of each set of curves with the same style."""
    tint = strands.tint
    if tint is None:
        yield strands.label, np.arange(len(strands.y)), "", line_key("curves")
        return
    missing = np.flatnonzero(np.isnan(tint.value))
    if len(missing):
        yield group_name(tint, -1), missing, "mx", line_key("curves", "mx", "key")
    if tint.groups:
        for place in range(len(tint.groups)):
            rows = np.flatnonzero(tint.value == place)
            yield group_name(tint, place), rows, f"m{place}", line_key("curves", f"m{place}", "key")
        return
    shade = curve_shades(tint)
    for k in np.unique(shade[shade >= 0]).tolist():
        yield "", np.flatnonzero(shade == k), f"v{k}", Markup("")
    # The colour scale is in the legend, because there is no space beside the panel.
    low, high = position_texts(np.array(ends(tint)))
    label = f"{strands.label}, coloured by {shorten(tint.name, 24)}: {low} to {high}"
    yield label, np.zeros(0, dtype=np.int64), "", _scale()


def curve_shades(tint: ColorEncoding) -> Ints:
    """Return the index of each curve on the colour scale, -1 for missing values."""
    low, high = ends(tint)
    known = np.isfinite(tint.value)
    share = (np.where(known, tint.value, low) - low) / (high - low)
    return np.where(known, np.clip(share * CURVE_SHADES, 0, CURVE_SHADES - 1).astype(np.int64), -1)


def _scale() -> Markup:
    wide = 26 / CURVE_SHADES
    boxes = [
        tag("rect", class_=f"shade v{k}", x=k * wide, y=-5.0, width=wide + 0.4, height=10.0)
        for k in range(CURVE_SHADES)
    ]
    return joined(boxes)


def _path(frame: Frame, strands: IceCurves, rows: Ints, look: str, label: str) -> Markup:
    """Return curves as one path with one part per row; for nominal levels a dash per row and level."""
    x, y = frame.x(strands.x), frame.y(strands.y[rows])
    if strands.shift is not None:
        return tag("path", class_=f"flecks {look}".strip(), d=_level_dashes(frame, strands, rows))
    if len(x) == 1:  # a single point has no line: draw a dash
        x, y = x + np.array([-_DASH, _DASH]), np.repeat(y, 2, axis=1)
    known = np.isfinite(y).any(axis=1)
    kept = select_points(x, y, _FINE)
    kept &= np.isfinite(y)
    # Gaps in a curve are bridged, so that each row corresponds to one part of the path.
    d = "".join(way(x[some], down[some]) for down, some in zip(y[known], kept[known], strict=True))
    numbers = None if strands.row is None else " ".join(map(str, strands.row[rows][known].tolist()))
    name = label if strands.tint is not None and label else None
    return tag("path", class_=f"curves {look}".strip(), d=d, data_rows=numbers, data_name=name)


def _level_dashes(frame: Frame, strands: IceCurves, rows: Ints) -> str:
    shift = np.zeros(len(strands.y)) if strands.shift is None else strands.shift
    x = frame.x(strands.x[None, :] + shift[rows, None]) - _DASH
    y = frame.y(strands.y[rows])
    # Level by level, so that steps between neighbours are short.
    return dashes(x.T.ravel(), y.T.ravel(), 2 * _DASH)


def _own(frame: Frame, strands: IceCurves) -> tuple[Markup, Keys]:
    """Return the observed value of each row as a point on its curve."""
    if len(strands.own_x) == 0:
        return Markup(""), {}
    x, y, tint = frame.x(strands.own_x), frame.y(strands.own_y), strands.tint
    key = {OWN: points(np.array([13.0]), np.zeros(1), 0, 2.2, "own")}
    if tint is None:
        return points(x, y, 0, 1.6, "own"), key
    place = np.where(np.isnan(tint.value), -1, np.nan_to_num(tint.value)) if tint.groups else None
    place = curve_shades(tint) if place is None else place.astype(np.int64)
    letter = "m" if tint.groups else "v"
    drawn: list[Markup] = []
    for k in np.unique(place[strands.own]).tolist():
        mine = place[strands.own] == k
        look = "mx" if k < 0 else f"{letter}{k}"
        mark = k if tint.groups and k >= 0 else 0
        drawn.append(points(x[mine], y[mine], mark, 2.6, f"own {look}"))
    return joined(drawn), key


# --- patches of colour ---------------------------------------------------------------------------
# Neighbouring patches of the same colour share an outline: a heat map of 40,000 patches takes a few kilobytes.

HEAT_SHADES = 33
"""Number of colours of a heat map; the middle one of a diverging scale is zero."""


def heat_shades(value: Floats, limits: tuple[float, float]) -> Ints:
    """Return the index of each value on the colour scale; -1 for non-finite values.

    Parameters
    ----------
    value : ndarray of float
    limits : (float, float)
        Values outside take the first or last colour.

    Examples
    --------
    >>> heat_shades(np.array([-1.0, 0.01, 0.5, 7.0, np.nan]), (-1.0, 1.0)).tolist()
    [0, 16, 24, 32, -1]
    """
    low, high = limits
    known = np.isfinite(value)
    # Halved first: the difference of two huge numbers of opposite sign would overflow.
    share = (np.where(known, value, low) / 2 - low / 2) / (high / 2 - low / 2)
    step = np.floor(np.clip(share, 0.0, 1.0) * (HEAT_SHADES - 1) + 0.5).astype(np.int64)
    return np.where(known, step, -1)


def bounds(limits: tuple[float, float]) -> Floats:
    """Return the edges of the colours of a scale, (HEAT_SHADES + 1,)."""
    between = (np.arange(1, HEAT_SHADES) - 0.5) / (HEAT_SHADES - 1)
    share = np.concatenate([[0.0], between, [1.0]])
    return limits[0] * (1 - share) + limits[1] * share


def trace_outlines(mask: Bools) -> Iterator[list[tuple[int, int]]]:
    """Yield the outlines of all regions in which a mask is true; those of holes run in the opposite direction.

    Parameters
    ----------
    mask : ndarray of bool, shape (q, p)

    Yields
    ------
    list of (int, int)
        Column and row of each corner; horizontal and vertical sides alternate, starting with a horizontal one.

    Examples
    --------
    >>> list(trace_outlines(np.array([[True, True], [False, True]])))
    [[(0, 0), (2, 0), (2, 2), (1, 2), (1, 1), (0, 1)]]
    """
    level: Sides = {(a, line): [(b, line)] for line, a, b in _sides(mask, 1)}
    for line, a, b in _sides(mask, -1):
        level.setdefault((b, line), []).append((a, line))
    upright: Sides = {}
    for line, a, b in _sides(mask.T, 1):
        upright.setdefault((line, b), []).append((line, a))
    for line, a, b in _sides(mask.T, -1):
        upright.setdefault((line, a), []).append((line, b))
    while level:
        start = next(iter(level))
        corners = [start]
        # Where two corners touch, either continuation leads to closed outlines, and each side is used once.
        while len(corners) == 1 or corners[-1] != start:
            corners.append(_taken(level, corners[-1]))
            corners.append(_taken(upright, corners[-1]))
        yield corners[:-1]


Sides = dict[tuple[int, int], list[tuple[int, int]]]
"""Start of sides, with the end of each."""


def _sides(mask: Bools, way: int) -> Iterator[tuple[int, int, int]]:
    """Yield horizontal sides as line, first and last column: upper sides of the mask, or lower ones for -1."""
    around = np.pad(mask, 1).astype(np.int8)
    edges = (np.diff(around, axis=0) == way).astype(np.int8)
    ends = np.diff(edges, axis=1)
    lines, first = np.nonzero(ends == 1)
    last = np.nonzero(ends == -1)[1]
    return zip(lines.tolist(), first.tolist(), last.tolist(), strict=True)


def _taken(sides: Sides, start: tuple[int, int]) -> tuple[int, int]:
    """Return the end of a side, and remove the side."""
    ends = sides[start]
    end = ends.pop()
    if not ends:
        del sides[start]
    return end


def patches(x: Floats, y: Floats, steps: Ints, scale: str) -> Markup:
    """Return a group with one path per colour.

    Parameters
    ----------
    x : ndarray of float, shape (p + 1,)
        Edges in pixels.
    y : ndarray of float, shape (q + 1,)
    steps : ndarray of int, shape (q, p)
    scale : str
        First letter of the CSS classes: ``t`` for a diverging scale, ``s`` for a sequential one.
    """
    across, dx, left = _units(x)
    up, dy, top = _units(y)
    drawn: list[Markup] = []
    for step in np.unique(steps[steps >= 0]).tolist():
        d = "".join(_around(corners, across, up) for corners in trace_outlines(steps == step))
        drawn.append(tag("path", class_=f"{scale}{step}", d=d))
    way = f"matrix({dx:.6g} 0 0 {dy:.6g} {left:.6g} {top:.6g})"
    return tag(
        "g", *drawn, class_="heat", transform=None if (dx, left, dy, top) == (1, 0, 1, 0) else way
    )


def _around(
    corners: list[tuple[int, int]],
    across: list[int] | list[float],
    up: list[int] | list[float],
) -> str:
    """Return an outline as path data."""
    column, row = corners[0]
    parts = [f"M{_px(across[column])} {_px(up[row])}"]
    # The last side is vertical and is drawn by closing the path.
    for place, (c, r) in enumerate(corners[1:]):
        parts.append(
            f"v{_px(up[r] - up[row])}" if place % 2 else f"h{_px(across[c] - across[column])}"
        )
        column, row = c, r
    return "".join(parts) + "z"


def _units(edges: Floats) -> tuple[list[int] | list[float], float, float]:
    """Return edges in units that make them short numbers, the unit in pixels, and its origin."""
    steps = np.diff(edges)
    if len(steps) > 1 and np.ptp(steps) <= 1e-6 * np.abs(steps).max():
        step = float(edges[-1] - edges[0]) / len(steps)
        return list(range(len(edges))), step, float(edges[0])
    # Rounded before widths are computed, so that neighbours have no gap.
    return np.round(edges, 1).tolist(), 1.0, 0.0


def _px(value: float) -> str:
    """Return a length as text; most of the thousands of lengths are integers."""
    return str(value) if isinstance(value, int) else px(value)


# --- names beside points -------------------------------------------------------------------------

SHAPES: dict[str, str] = {
    "circle": "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "square": "m-4 -4h8v8h-8z",
    "diamond": "m0 -5.6l5.6 5.6l-5.6 5.6l-5.6-5.6z",
    "triangle": "m0 -5.2l5 9h-10z",
    "wedge": "m0 5.2l5-9h-10z",
    "cross": "m-2.2 -5h4.4v2.8h2.8v4.4h-2.8v2.8h-4.4v-2.8h-2.8v-4.4h2.8z",
}
"""Path data of marks, centred at the current point; all differ without colours."""


AROUND = 3.0
"""Free space around a line of text in pixels."""


@dataclass(frozen=True, eq=False)
class PlacedNames:
    """Names with free space beside their points.

    Parameters
    ----------
    texts : tuple of Markup or None
        Each name with the line to its point; None without free space.
    """

    texts: tuple[Markup | None, ...]

    @property
    def left_out(self) -> int:
        """Return the number of names without free space."""
        return sum(t is None for t in self.texts)


def label_points(
    frame: Frame,
    x: Floats,
    y: Floats,
    names: Sequence[str],
    *,
    taken: Sequence[tuple[float, float, float, float]] = (),
    lines: Floats | None = None,
) -> PlacedNames:
    """Place names beside their points such that none touches a mark, another name, or a box in `taken`.

    Parameters
    ----------
    frame : Frame
    x, y : ndarray of float, shape (n,)
        Points in pixels; no name overlaps any of them.
    names : sequence of str
        Names of the first points, in order of priority.
    taken : sequence of (left, top, right, bottom)
        Boxes that stay free.
    lines : ndarray of float, shape (m, 4), optional
        Boxes of lines, which names cross only if necessary.
    """
    if len(x) == 0:
        return PlacedNames(())
    points = np.column_stack([x - frame.left, frame.bottom - y])
    sizes = np.array([[width_of(name) + 2, SMALL + AROUND] for name in names]).reshape(-1, 2)
    room = (frame.width, frame.height)
    # Points without a name also stay free.
    silent = points[len(names) :]
    blocked = np.concatenate(
        [_upwards(frame, np.array(taken, dtype=float)), np.column_stack([silent - 5, silent + 5])]
    )
    crossed = _upwards(frame, np.zeros((0, 4)) if lines is None else lines)
    found = place_labels(points[: len(names)], sizes, room, blocked, crossed)
    texts: list[Markup | None] = []
    for name, place, at in zip(names, found, points.tolist(), strict=False):
        if place is None:
            texts.append(None)
            continue
        a, b = frame.left + place.x, frame.bottom - place.y
        word = tag("text", name, class_="tag haloed", x=a + 1, y=b - AROUND)
        lead = _lead(frame, at, (place.x, place.y, width_of(name), SMALL)) if place.led else None
        texts.append(tag("g", *([lead] if lead is not None else []), word))
    return PlacedNames(tuple(texts))


def _upwards(frame: Frame, boxes: Floats) -> Floats:
    """Return boxes in pixels relative to the lower left corner of the frame, with y growing upwards."""
    boxes = boxes.reshape(-1, 4)
    left, top, right, bottom = boxes.T
    return np.column_stack(
        [left - frame.left, frame.bottom - bottom, right - frame.left, frame.bottom - top]
    )


def _lead(
    frame: Frame, point: Sequence[float], box: tuple[float, float, float, float]
) -> Markup | None:
    """Return the line from a point to its name."""
    left, low, wide, high = box
    end = np.array([np.clip(point[0], left, left + wide), np.clip(point[1], low, low + high)])
    way = end - np.array(point)
    length = float(np.hypot(*way))
    if length < 8:
        return None
    start = np.array(point) + way * 6 / length
    a, b = frame.left + start[0], frame.bottom - start[1]
    c, d = frame.left + end[0], frame.bottom - end[1]
    return tag("path", class_="lead", d=f"M{px(a)} {px(b)}L{px(c)} {px(d)}")


def crosses(frame: Frame, at: Floats, lower: Floats, upper: Floats) -> tuple[str, Floats]:
    """Return intervals in both directions as one path, and the boxes of their lines.

    Parameters
    ----------
    frame : Frame
    at, lower, upper : ndarray of float, shape (n, 2)
        In units of the axes. Intervals with a NaN are not drawn; those beyond the axes end at the edge of the frame.
    """
    x, y = frame.x(at[:, 0]), frame.y(at[:, 1])
    lower, upper = (
        np.where(np.isfinite(lower) & np.isfinite(upper), e, np.nan) for e in (lower, upper)
    )
    left, right = (np.clip(frame.x(e[:, 0]), frame.left, frame.right) for e in (lower, upper))
    foot, head = (np.clip(frame.y(e[:, 1]), frame.top, frame.bottom) for e in (lower, upper))
    level = np.column_stack([left, y, right, y])
    upright = np.column_stack([x, head, x, foot])
    boxes = np.concatenate([level, upright])
    boxes = boxes[np.isfinite(boxes).all(axis=1)]
    d = "".join(f"M{px(a)} {px(b)}L{px(c)} {px(d)}" for a, b, c, d in boxes.tolist())
    return d, boxes


def box_of(
    lines: Sequence[str], x: float, y: float, anchor: str
) -> tuple[float, float, float, float]:
    """Return the box of lines of text with the first baseline at `y`: left, top, right, bottom."""
    wide = max(width_of(line) for line in lines)
    left = x - wide if anchor == "end" else x
    return left - 2, y - SMALL, left + wide + 2, y + (len(lines) - 1) * 1.25 * SMALL + 4
