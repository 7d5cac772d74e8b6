"""Renderer of figures as static SVG, for pages and notebooks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from markupsafe import Markup

from skedasis._types import Bools, Floats, Ints
from skedasis.plots.elements import Drawing, dashes, joined, path, px, sheet, tag, texts, way
from skedasis.plots.layout import (
    KEY_HEIGHT,
    KEY_LINES,
    KEY_WIDTH,
    MARGIN,
    TICK,
    Layout,
    PlacedKey,
    PlacedPanel,
    PlacedText,
    PlotFrame,
    arrange,
    head_lengths,
    separated,
)
from skedasis.plots.marks import (
    Area,
    Arrows,
    Contour,
    CurveSet,
    FigureSpec,
    Heat,
    KeyShape,
    Line,
    Margin,
    Mark,
    Points,
    Polygons,
    Rectangles,
    Rug,
    Segments,
    Tooltip,
)
from skedasis.plots.scales import select_points
from skedasis.plots.text import LEADING
from skedasis.plots.theme import HEAT_SHADES, PATTERNS, PIXELS, SHAPES, STYLES, TEXTS

WIDTH = 400.0
"""Width of a figure in pixels; on a phone, letters are nine tenths of their size."""

TILE = 236.0
"""Width of one of many small figures in pixels."""

FINE = 0.1
"""Tolerance of simplified curves in pixels."""

MANY = 60
"""Lines and areas with more points than this are simplified."""

COLUMN = 1.0
"""Width in pixels of a column in which marks are merged."""

SEEN = 20
"""Most points on one side of a violin; more would not be visible."""

RUG = 8.0
"""Height of a rug in pixels."""

TOUCH = 11.0
"""Radius of the area of a tooltip around a point in pixels."""


def draw(spec: FigureSpec, *, ident: str, width: float = WIDTH) -> Drawing:
    """Draw a figure as SVG."""
    return _sheet(arrange(spec, width / PIXELS), ident, spec.title, spec.alt)


def draw_tiles(
    spec: FigureSpec, *, ident: str, width: float = TILE, legend: float = 1.5 * TILE
) -> tuple[list[Drawing], Drawing]:
    """Draw each stack of a figure separately, with aligned frames, for pages that arrange them."""
    apart, keys = separated(spec, width / PIXELS, legend / PIXELS)
    drawn = [
        _sheet(one, f"{ident}-{i}", one.spec.title, one.spec.alt) for i, one in enumerate(apart)
    ]
    words = f"Legend: {'; '.join(key.key.label for key in keys.keys)}"
    return drawn, _sheet(keys, f"{ident}-legend", "Legend", words)


def _sheet(layout: Layout, ident: str, title: str, alt: str) -> Drawing:
    linked = any(t.link for panel in layout.spec.panels for t in panel.tooltips)
    canvas = _Canvas(ident, layout.spec.small, linked)
    parts = [canvas.stack(stack) for stack in layout.stacks]
    keys = [canvas.key(key) for key in layout.keys]
    if keys:
        parts.append(tag("g", *keys, class_="legend"))
    parts += [_text_group([t]) for t in (layout.heading, layout.notes) if t is not None]
    size = (PIXELS * layout.width, PIXELS * layout.height)
    role = "group" if linked else "img"
    return sheet([canvas.definitions(), *parts], size, ident=ident, title=title, alt=alt, role=role)


# --- panels --------------------------------------------------------------------------------------


@dataclass
class _Canvas:
    """A drawing with the definitions of patterns and clip paths that it uses."""

    ident: str
    small: bool
    linked: bool
    made: dict[str, Markup] = field(default_factory=dict)

    def definitions(self) -> Markup:
        """Return all definitions as one element."""
        return tag("defs", *self.made.values()) if self.made else Markup("")

    def pattern(self, name: str) -> str:
        """Return a reference to a pattern."""
        ident, p = f"{self.ident}-{name}", PATTERNS[name]
        box = {"width": p.size, "height": p.size, "patternUnits": "userSpaceOnUse"}
        self.made[ident] = tag(
            "pattern", tag("path", class_=f"pattern-{name}", d=p.path), id=ident, **box
        )
        return f"url(#{ident})"

    def clip(self, at: _Pixels) -> str:
        """Return a reference to the clip path of a frame."""
        ident = f"{self.ident}-clip{len(self.made)}"
        box = {"width": at.right - at.left, "height": at.bottom - at.top}
        self.made[ident] = tag("clipPath", tag("rect", x=at.left, y=at.top, **box), id=ident)
        return f"url(#{ident})"

    def stack(self, stack: Sequence[PlacedPanel]) -> Markup:
        """Return the panels of a stack, and above them all tooltips."""
        frames = [_Pixels(placed.frame) for placed in stack]
        parts = [self.panel(placed, at) for placed, at in zip(stack, frames, strict=True)]
        for k, placed in enumerate(stack):
            parts += _tooltips(placed.panel.tooltips, k, frames, linked=self.linked)
        return joined(parts)

    def panel(self, placed: PlacedPanel, at: _Pixels) -> Markup:
        """Return a panel with its texts."""
        panel = placed.panel
        inside = [self.mark(m, at) for m in panel.marks if not _beyond(m)]
        outside = [self.mark(m, at) for m in panel.marks if _beyond(m)]
        leads = "".join(f"M{px(a)} {px(b)}L{px(c)} {px(d)}" for a, b, c, d in PIXELS * placed.leads)
        (x0, x1), (y0, y1) = panel.x.limits, panel.y.limits
        body = tag(
            "g",
            _grid(placed, at),
            tag("g", *inside, clip_path=self.clip(at)) if inside else "",
            *outside,
            tag("path", class_="lead", d=leads) if leads else "",
            _axes(placed, at),
            class_="panel",
            data_x=f"{px(at.left)} {px(at.right)} {x0!r} {x1!r}",
            data_y=f"{px(at.bottom)} {px(at.top)} {y0!r} {y1!r}",
            data_clock=None if panel.x.time is None else panel.x.time.clock,
            data_log="x" if panel.x.log else None,
            data_small="1" if self.small else None,
        )
        heads = (placed.title, placed.notes, placed.y_label, placed.x_label)
        found = [*(t for t in heads if t is not None), *placed.tick_texts, *placed.texts]
        return body + joined(_text_groups(found))

    # --- marks

    def mark(self, mark: Mark, at: _Pixels) -> Markup:  # noqa: C901, PLR0911 - a table of marks
        match mark:
            case Line():
                return _line(mark, at)
            case Area():
                return self._area(mark, at)
            case Rectangles():
                return self._rectangles(mark, at)
            case Points():
                return tag(
                    "path", class_=mark.style, d=_points(at.x(mark.x), at.y(mark.y), mark.style)
                )
            case Segments():
                return tag("path", class_=mark.style, d=_segments(mark, at))
            case Arrows():
                return tag("path", class_=mark.style, d=_arrows(mark, at))
            case CurveSet():
                return _curves(mark, at)
            case Polygons():
                return tag("path", class_=mark.style, d="".join(_polygons(mark, at)))
            case Heat():
                return _heat(mark, at)
            case Contour():
                lines = (
                    simplify_line(np.column_stack([at.x(v[:, 0]), at.y(v[:, 1])]), 0.15)
                    for v in mark.lines
                )
                return tag("path", class_=mark.style, d="".join(way(*line.T) for line in lines))
            case Rug():
                return tag("path", class_=mark.style, d=_rug(mark, at))
            case Margin():
                return _margin(mark, at)

    def _area(self, area: Area, at: _Pixels) -> Markup:
        """Return the area between two curves, its pattern, and its edges."""
        x, lower, upper = at.x(area.x), at.y(area.lower), at.y(area.upper)
        if len(x) > MANY and np.all(np.diff(x) > 0):
            kept = select_points(x, np.stack([lower, upper]), FINE).any(axis=0)
            x, lower, upper = x[kept], lower[kept], upper[kept]
        style, d = STYLES[area.style], _between(x, lower, upper)
        parts = [tag("path", class_=f"{area.style} area", d=d)] if style.fill else []
        if style.hatch:
            parts.append(tag("path", d=d, fill=self.pattern(style.hatch)))
        if style.stroke:
            parts.append(
                tag("path", class_=f"{area.style} edge", d=_trace(x, lower) + _trace(x, upper))
            )
        return joined(parts)

    def _rectangles(self, mark: Rectangles, at: _Pixels) -> Markup:
        left, right = at.x(mark.left), at.x(mark.right)
        low, high = at.y(mark.lower), at.y(mark.upper)
        there = np.isfinite(left + right + low + high)
        left, right, low, high = (v[there] for v in (left, right, low, high))
        wide = float(np.abs(right - left).max(initial=0.0))
        middle, low, high = merge_columns((left + right) / 2, low, high, wide)
        if len(middle) < len(left):
            left, right = middle - COLUMN / 2, middle + COLUMN / 2
        return self._filled(mark.style, _boxes(left, right, low, high))

    def _filled(self, name: str, d: str) -> Markup:
        """Return an outline with the fill and the pattern of a style."""
        style = STYLES[name]
        parts = [tag("path", class_=name, d=d)] if style.fill or style.stroke else []
        if style.hatch:
            parts.append(tag("path", d=d, fill=self.pattern(style.hatch)))
        return joined(parts)

    # --- legend

    def key(self, placed: PlacedKey) -> Markup:
        """Return a legend entry."""
        parts = placed.key.parts
        wide, high = PIXELS * KEY_WIDTH, PIXELS * KEY_HEIGHT
        # Many lines are the colours of a scale: side by side.
        slot = wide / len(parts) if len(parts) > 4 else wide
        shapes = [
            self._key_part(shape, style, i * slot if slot < wide else 0.0, slot, high)
            for i, (shape, style) in enumerate(parts)
        ]
        where = f"translate({px(PIXELS * placed.x)} {px(PIXELS * placed.y)})"
        return tag("g", *shapes, transform=where) + _text_group([placed.text])

    def _key_part(
        self, shape: KeyShape, name: str, left: float, wide: float, high: float
    ) -> Markup:
        middle, half = left + wide / 2, high / 2
        if shape == "area":
            d = f"M{px(left + 1)} {px(-half)}h{px(wide - 2)}v{px(high)}h{px(2 - wide)}z"
            return self._filled(name, d)
        if shape == "line" and wide < high:
            return tag(
                "path",
                class_=f"{name} shade",
                d=f"M{px(middle)} {px(-half)}V{px(half)}",
                stroke_width=wide + 0.4,
            )
        if shape == "points":
            d = _points(np.array([middle]), np.zeros(1), name)
        elif shape == "arrow":
            d = _arrow_path(np.array([[left, 0.0, left + wide, 0.0]]), PIXELS * STYLES[name].size)
        elif shape == "rug":  # each stroke is a short dash of a broad line
            d = dashes(
                middle + PIXELS * np.array([at[0, 0] for at in KEY_LINES["rug"]]), np.zeros(3), 0.6
            )
        elif shape in KEY_LINES:
            end = "z" if shape in ("violin", "margin") else ""
            lines = (PIXELS * line + (middle, 0.0) for line in KEY_LINES[shape])
            d = "".join(f"{way(*line.T)}{end}" for line in lines)
        else:
            d = f"M{px(left)} 0h{px(wide)}"
        return tag("path", class_=name, d=d)


def _beyond(mark: Mark) -> bool:
    """Return whether a mark is drawn beyond the frame: histograms, and points at the ends of an axis."""
    return isinstance(mark, Margin) or (
        isinstance(mark, Points) and bool(np.isinf([mark.x, mark.y]).any())
    )


class _Pixels:
    """The frame of a panel in pixels."""

    def __init__(self, frame: PlotFrame) -> None:
        self.frame = frame
        self.left, self.right = PIXELS * frame.left, PIXELS * frame.right
        self.top, self.bottom = PIXELS * frame.top, PIXELS * frame.bottom

    def x(self, values: Floats | float) -> Floats:
        """Return horizontal coordinates of values."""
        return PIXELS * self.frame.across(values)

    def y(self, values: Floats | float) -> Floats:
        """Return vertical coordinates of values."""
        return PIXELS * self.frame.up(values)


def _grid(placed: PlacedPanel, at: _Pixels) -> Markup:
    d = ""
    if "y" in placed.panel.grid:
        d += "".join(f"M{px(at.left)} {px(v)}H{px(at.right)}" for v in at.y(np.array(placed.up.at)))
    if "x" in placed.panel.grid:
        d += "".join(
            f"M{px(v)} {px(at.top)}V{px(at.bottom)}" for v in at.x(np.array(placed.across.at))
        )
    return tag("path", class_="grid", d=d) if d else Markup("")


def _axes(placed: PlacedPanel, at: _Pixels) -> Markup:
    """Return the lines of both axes with their ticks."""
    panel, tick = placed.panel, px(PIXELS * TICK)
    if not panel.frame:
        return Markup("")
    up = "" if panel.rows else f"M{px(at.left)} {px(at.top)}V{px(at.bottom)}"
    d = f"{up}M{px(at.left)} {px(at.bottom)}H{px(at.right)}"
    d += "".join(f"M{px(v)} {px(at.bottom)}v{tick}" for v in at.x(np.array(placed.across.at)))
    if not panel.rows:
        d += "".join(f"M{px(at.left)} {px(v)}h-{tick}" for v in at.y(np.array(placed.up.at)))
    return tag("path", class_="axis", d=d)


def _tooltips(
    tips: Sequence[Tooltip], k: int, frames: Sequence[_Pixels], *, linked: bool
) -> Iterator[Markup]:
    """Yield the transparent areas that carry the tooltips of panel `k`, or are links."""
    if not tips:
        return
    at = frames[k]
    low, high = at.frame.x.limits
    left, right = at.x(np.clip([[t.left for t in tips], [t.right for t in tips]], low, high))
    bottom, top = at.y(np.array([[t.lower for t in tips], [t.upper for t in tips]]))
    wide = np.maximum(right - left, 1.0)
    below = [frames[min(k + t.below, len(frames) - 1)].bottom for t in tips]
    end = np.where([t.lower == -np.inf for t in tips], below, bottom)
    boxes = zip(texts(left), texts(top), texts(wide), texts(end - top), strict=True)
    for tip, a, c, (x, y, width, height) in zip(
        tips, left.tolist(), top.tolist(), boxes, strict=True
    ):
        if tip.left == tip.right and tip.lower == tip.upper:
            yield _point_tooltip(tip, a, c, linked=linked)
        else:
            # There are thousands of them: lengths are written together.
            box = {"x": x, "y": y, "width": width, "height": height}
            yield tag("rect", class_="hit", **box, data_tip=tip.text)


def _point_tooltip(tip: Tooltip, x: float, y: float, *, linked: bool) -> Markup:
    """Return the area around a point. In a figure with links each point takes the keyboard focus, as links do."""
    area = {"cx": x, "cy": y, "r": TOUCH}
    if not linked:
        return tag("circle", class_="hit", data_tip=tip.text, **area)
    facts = {
        "class_": "place",
        "data_tip": tip.text,
        "data_feature": tip.feature or None,
        "aria_label": tip.text.replace("\n", ", "),
    }
    inner = tag("circle", class_="hit", **area)
    if tip.link:
        return tag("a", inner, href=tip.link, **facts)
    return tag("g", inner, role="img", tabindex="0", **facts)


def _text_groups(found: Sequence[PlacedText]) -> Iterator[Markup]:
    """Yield texts in groups of the same style."""
    kinds = dict.fromkeys((t.style, t.anchor) for t in found)
    for kind in kinds:
        yield _text_group([t for t in found if (t.style, t.anchor) == kind])


def _text_group(found: Sequence[PlacedText]) -> Markup:
    first = found[0]
    lines: list[Markup] = []
    step = PIXELS * LEADING * TEXTS[first.style].size
    for text in found:
        x, y = PIXELS * text.x, PIXELS * text.y
        turn = f"rotate({px(-text.turn)} {px(x)} {px(y)})" if text.turn else None
        after = f" {text.after}" if text.lines[-1] else text.after
        for i, line in enumerate(text.lines):
            ends = text.after and i == len(text.lines) - 1
            inner = (line, tag("tspan", after)) if ends else (line,)
            lines.append(tag("text", *inner, x=x, y=y + i * step, transform=turn))
    anchor = {1: "", 0: " middle", -1: " end"}[first.anchor]
    return tag("g", *lines, class_=f"{first.style}{anchor}")


# --- lines and areas -----------------------------------------------------------------------------


def _line(line: Line, at: _Pixels) -> Markup:
    x, y = at.x(line.x), at.y(line.y)
    if len(x) > MANY and np.all(np.diff(x) > 0) and np.isfinite(y).all():
        kept = select_points(x, y[None], FINE)[0]
        x, y = x[kept], y[kept]
    d = _trace(x, y)
    drawn = tag("path", class_=line.style, d=d)
    return tag("path", class_="halo", d=d) + drawn if STYLES[line.style].halo else drawn


def _trace(x: Floats, y: Floats) -> str:
    """Return a curve as short path data; non-finite points interrupt it."""
    known = np.isfinite(x) & np.isfinite(y)
    return way(x, y) if known.all() and len(x) else path(x, y)


def _between(x: Floats, lower: Floats, upper: Floats) -> str:
    """Return the outline of the area between two curves, one piece per interval in which both are finite."""
    there = np.isfinite(lower) & np.isfinite(upper) & np.isfinite(x)
    ends = np.flatnonzero(np.diff(np.concatenate([[0], there.astype(int), [0]])))
    parts: list[str] = []
    for first, end in zip(ends[::2], ends[1::2], strict=True):
        around = np.concatenate([np.arange(first, end), np.arange(end - 1, first - 1, -1)])
        y = np.concatenate([upper[first:end], lower[first:end][::-1]])
        parts.append(f"{way(x[around], y)}z")
    return "".join(parts)


def _curves(curves: CurveSet, at: _Pixels) -> Markup:
    """Return individual curves as one path with one part per curve."""
    x, y = at.x(curves.x), at.y(curves.y)
    if len(x) == 1:  # a single point has no line: draw a dash
        x, y = x + np.array([-2.5, 2.5]), np.repeat(y, 2, axis=1)
    known = np.isfinite(y).any(axis=1)
    kept = select_points(x, y, FINE) & np.isfinite(y)
    # Gaps in a curve are bridged, so that each curve corresponds to one part of the path.
    d = "".join(way(x[some], down[some]) for down, some in zip(y[known], kept[known], strict=True))
    rows = None if curves.rows is None else " ".join(map(str, curves.rows[known].tolist()))
    return tag(
        "path",
        class_=f"curves {curves.style}",
        d=d,
        data_rows=rows,
        data_name=curves.group or None,
        data_each=None if curves.each == "row" else curves.each,
        stroke_opacity=f"{curves.opacity:.2g}" if curves.opacity < 1 else None,
    )


# --- points, segments, rectangles ----------------------------------------------------------------


def _points(x: Floats, y: Floats, name: str) -> str:
    """Return a mark at each finite point."""
    there, style = np.isfinite(x) & np.isfinite(y), STYLES[name]
    if style.shape == "dot":
        return dashes(x[there], y[there], 0.0)
    form = shape_path(style.shape, PIXELS * style.size)
    at = zip(texts(x[there]), texts(y[there]), strict=True)
    return "".join(f"M{a} {b}{form}" for a, b in at)


def shape_path(shape: str, radius: float) -> str:
    """Return the path data of a mark around the current point."""
    # Arcs of a rounded radius whose ends are not twice as far apart would make an egg of a circle.
    radius = round(radius, 1)
    parts: list[str] = []
    for letter, numbers in _commands(SHAPES[shape][0]):
        if letter == "a":  # radii and end of an arc are lengths, its flags are not
            arc = [numbers[i : i + 7] for i in range(0, len(numbers), 7)]
            parts += [
                f"a{px(radius * a[0])} {px(radius * a[1])} 0 {a[3]:g} {a[4]:g} {px(radius * a[5])} {px(radius * a[6])}"
                for a in arc
            ]
        else:
            parts.append(letter + " ".join(px(radius * v) for v in numbers))
    return "".join(parts)


def _commands(d: str) -> Iterator[tuple[str, list[float]]]:
    for letter, rest in re.findall(r"([a-z])([^a-z]*)", d):
        yield letter, [float(v) for v in re.findall(r"-?(?:\d*\.\d+|\d+)", rest)]


def _segments(mark: Segments, at: _Pixels) -> str:
    """Return separate lines, with short lines across their ends if they have caps."""
    reach = PIXELS * mark.reach
    x0, y0, x1, y1 = at.x(mark.x0), at.y(mark.y0), at.x(mark.x1), at.y(mark.y1)
    x0, x1 = x0 - reach, x1 + reach
    there = np.isfinite(x0 + y0 + x1 + y1)
    x0, y0, x1, y1 = (v[there] for v in (x0, y0, x1, y1))
    if len(x0) == 0:
        return ""
    wide = x1 - x0
    if np.array_equal(y0, y1) and np.ptp(wide) < 0.05 and not mark.caps:
        if float(wide.max()) < COLUMN:  # coinciding ones are merged
            cell = np.unique(np.floor(np.column_stack([x0, y0]) / COLUMN), axis=0)
            return dashes(COLUMN * cell[:, 0], COLUMN * (cell[:, 1] + 0.5), COLUMN)
        return dashes(x0, y0, float(wide.mean()))
    if np.array_equal(x0, x1) and mark.caps:
        gap = np.diff(np.sort(x0))
        cap = (
            min(PIXELS * mark.caps, 0.35 * float(gap.min()))
            if len(gap) and gap.min() > 0
            else PIXELS * mark.caps
        )
        if cap < COLUMN / 4:  # too narrow for caps
            x, low, high = merge_columns(x0, np.maximum(y0, y1), np.minimum(y0, y1), 0.0)
            return "".join(
                f"M{a} {b}V{c}" for a, b, c in zip(texts(x), texts(low), texts(high), strict=True)
            )
        return "".join(
            f"M{m} {a}V{b}M{c} {a}h{px(2 * cap)}M{c} {b}h{px(2 * cap)}"
            for m, c, a, b in zip(*(texts(v) for v in (x0, x0 - cap, y0, y1)), strict=True)
        )
    cap = PIXELS * mark.caps
    parts: list[str] = []
    for a, b, c, d in zip(texts(x0), texts(y0), texts(x1), texts(y1), strict=True):
        parts.append(
            f"M{a} {b}H{c}" if b == d else f"M{a} {b}V{d}" if a == c else f"M{a} {b}L{c} {d}"
        )
        if cap:
            parts.append(f"m0 {px(-cap)}v{px(2 * cap)}M{a} {b}m0 {px(-cap)}v{px(2 * cap)}")
    return "".join(parts)


def _arrows(mark: Arrows, at: _Pixels) -> str:
    """Return arrows with their heads; those without a length or without an end are left out."""
    ends = np.column_stack([at.x(mark.x0), at.y(mark.y0), at.x(mark.x1), at.y(mark.y1)])
    return _arrow_path(ends[np.isfinite(ends).all(axis=1)], PIXELS * STYLES[mark.style].size)


def _arrow_path(ends: Floats, size: float) -> str:
    """Return arrows as path data: the line up to the head, and the triangle of the head."""
    head = head_lengths(ends, size)
    ends, head = ends[head > 0], head[head > 0]
    start, tip = ends[:, :2], ends[:, 2:]
    way = (tip - start) / np.hypot(*(tip - start).T)[:, None]
    foot = tip - head[:, None] * way
    # A head is two thirds as wide as it is long.
    across = (head / 3)[:, None] * way[:, ::-1] * np.array([-1.0, 1.0])
    corners = np.concatenate([start, foot, foot + across, tip, foot - across], axis=1)
    return "".join("M{} {}L{} {}M{} {}L{} {}L{} {}z".format(*texts(one)) for one in corners)


def merge_columns(
    x: Floats, low: Floats, high: Floats, wide: float
) -> tuple[Floats, Floats, Floats]:
    """Merge vertical marks in the same pixel column into their union."""
    column = np.floor(x / COLUMN)
    first = np.flatnonzero(np.diff(column, prepend=np.nan) != 0)
    if wide >= COLUMN or len(first) == len(x) or np.any(np.diff(x) < 0):
        return x, low, high
    return (
        (column[first] + 0.5) * COLUMN,
        np.maximum.reduceat(low, first),
        np.minimum.reduceat(high, first),
    )


def _boxes(left: Floats, right: Floats, low: Floats, high: Floats) -> str:
    """Return rectangles as path data."""
    sides = zip(texts(left), texts(right), texts(low), texts(high), strict=True)
    return "".join(f"M{a} {c}V{d}H{b}V{c}z" for a, b, c, d in sides)


def _polygons(mark: Polygons, at: _Pixels) -> Iterator[str]:
    """Yield closed outlines, simplified to about `SEEN` points per side; outlines of one length are done at once."""
    for length in sorted({len(outline) for outline in mark.outlines}):
        both = np.stack([o for o in mark.outlines if len(o) == length])
        x, y = at.x(both[..., 0]), at.y(both[..., 1])
        half = length // 2
        kept = np.concatenate(
            [_visible(x[:, :half], y[:, :half]), _visible(x[:, half:], y[:, half:])], 1
        )
        for a, b, some in zip(x, y, kept, strict=True):
            yield way(a[some], b[some]) + "z"


def _visible(x: Floats, y: Floats) -> Bools:
    """Return which points of sides of outlines, which ascend or descend, are visible."""
    kept = np.ones(x.shape, dtype=bool)
    for tolerance in (0.15, 0.3, 0.6, 1.2):
        many = kept.sum(axis=1) > SEEN
        if not many.any():
            break
        kept[many] = select_points(y[many], x[many], tolerance)
    return kept


def _rug(rug: Rug, at: _Pixels) -> str:
    """Return ticks as dashes of one thick horizontal line, which takes half the text of vertical lines."""
    x = np.unique(np.round(2 * at.x(rug.x)) / 2)
    return dashes(x - 0.3, np.full(len(x), at.bottom - RUG / 2), 0.6)


def _margin(margin: Margin, at: _Pixels) -> Markup:
    """Return a histogram above a frame, or on its right."""
    most = PIXELS * MARGIN - 3
    size = most * margin.height / max(float(margin.height.max(initial=0.0)), 1e-300)
    there = size > 0
    if margin.side == "top":
        x, foot = at.x(margin.edges), at.top - 2
        d = _boxes(x[:-1][there], x[1:][there], np.full(there.sum(), foot), foot - size[there])
    else:
        y, wall = at.y(margin.edges), at.right + 2
        d = _boxes(np.full(there.sum(), wall), wall + size[there], y[:-1][there], y[1:][there])
    return tag("path", class_=margin.style, d=d) if d else Markup("")


# --- patches of colour ---------------------------------------------------------------------------
# Neighbouring patches of the same colour share an outline: a heat map of 40,000 patches takes a few kilobytes.


def heat_shades(value: Floats, limits: tuple[float, float]) -> Ints:
    """Return the index of each value on the colour scale; -1 for non-finite values."""
    low, high = limits
    known = np.isfinite(value)
    # Halved first: the difference of two huge numbers of opposite sign would overflow.
    share = (np.where(known, value, low) / 2 - low / 2) / (high / 2 - low / 2)
    step = np.floor(np.clip(share, 0.0, 1.0) * (HEAT_SHADES - 1) + 0.5).astype(np.int64)
    return np.where(known, step, -1)


def _heat(heat: Heat, at: _Pixels) -> Markup:
    """Return a group with one path per colour."""
    steps = heat_shades(heat.value, heat.limits)
    across, dx, left = _units(at.x(heat.x))
    up, dy, top = _units(at.y(heat.y))
    letter = "t" if heat.diverging else "s"
    drawn: list[Markup] = []
    for step, outlines in trace_outlines(steps):
        d = "".join([_around(corners, across, up) for corners in outlines])
        drawn.append(tag("path", class_=f"{letter}{step}", d=d))
    moved = (dx, left, dy, top) != (1, 0, 1, 0)
    matrix = f"matrix({dx:.6g} 0 0 {dy:.6g} {left:.6g} {top:.6g})" if moved else None
    return tag("g", *drawn, class_="heat", transform=matrix)


Corner = tuple[int, int]
Sides = dict[Corner, list[Corner]]
"""Start of sides, with the end of each."""


def trace_outlines(colors: Ints) -> Iterator[tuple[int, Iterator[list[Corner]]]]:
    """Yield each colour of a map, ascending, with the outlines of its regions; negative numbers have none.

    Outlines of holes run in the opposite direction.
    """
    upper, lower = _sides(colors, 1), _sides(colors, -1)
    left, right = _sides(colors.T, 1), _sides(colors.T, -1)
    for color in np.unique(colors[colors >= 0]).tolist():
        level: Sides = {(a, line): [(b, line)] for line, a, b in upper[color]}
        for line, a, b in lower[color]:
            level.setdefault((b, line), []).append((a, line))
        upright: Sides = {}
        for line, a, b in left[color]:
            upright.setdefault((line, b), []).append((line, a))
        for line, a, b in right[color]:
            upright.setdefault((line, a), []).append((line, b))
        yield color, _outlines(level, upright)


def _outlines(level: Sides, upright: Sides) -> Iterator[list[Corner]]:
    """Yield the closed outlines that sides make."""
    while level:
        start = next(iter(level))
        corners = [start]
        # Where two corners touch, either continuation leads to closed outlines, and each side is used once.
        while len(corners) == 1 or corners[-1] != start:
            corners.append(_taken(level, corners[-1]))
            corners.append(_taken(upright, corners[-1]))
        yield corners[:-1]


def _sides(colors: Ints, direction: int) -> dict[int, list[tuple[int, int, int]]]:
    """Return the horizontal sides of each colour: line, first and last column; upper ones, or lower ones for -1."""
    around = np.pad(colors, 1, constant_values=-1)
    own, beyond = (around[1:], around[:-1]) if direction > 0 else (around[:-1], around[1:])
    side = np.where(own == beyond, -1, own)
    # A side ends where the next column has none of its colour.
    line, last = np.nonzero((side[:, :-1] >= 0) & (side[:, :-1] != side[:, 1:]))
    line_of_first, first = np.nonzero((side[:, 1:] >= 0) & (side[:, 1:] != side[:, :-1]))
    found: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    colour = side[line_of_first, first + 1]
    for one, where in zip(
        colour.tolist(), zip(line.tolist(), first.tolist(), last.tolist(), strict=True), strict=True
    ):
        found[one].append(where)
    return found


def _taken(sides: Sides, start: Corner) -> Corner:
    """Return the end of a side, and remove the side."""
    ends = sides[start]
    end = ends.pop()
    if not ends:
        del sides[start]
    return end


def _around(corners: Sequence[Corner], across: Sequence[float], up: Sequence[float]) -> str:
    """Return an outline as path data."""
    column, row = corners[0]
    parts = [f"M{_length(across[column])} {_length(up[row])}"]
    # The last side is vertical and is drawn by closing the path.
    for place, (c, r) in enumerate(corners[1:]):
        step = up[r] - up[row] if place % 2 else across[c] - across[column]
        parts.append(f"{'v' if place % 2 else 'h'}{_length(step)}")
        column, row = c, r
    return "".join(parts) + "z"


def _units(edges: Floats) -> tuple[Sequence[float], float, float]:
    """Return edges in units that make them short numbers, the unit in pixels, and its origin."""
    steps = np.diff(edges)
    if len(steps) > 1 and np.ptp(steps) <= 1e-6 * np.abs(steps).max():
        step = float(edges[-1] - edges[0]) / len(steps)
        return list(range(len(edges))), step, float(edges[0])
    # Rounded before widths are computed, so that neighbours have no gap.
    return np.round(edges, 1).tolist(), 1.0, 0.0


def _length(value: float) -> str:
    """Return a length as text; most of the thousands of lengths are integers."""
    return str(value) if isinstance(value, int) else px(value)


def simplify_line(points: Floats, tolerance: float) -> Floats:
    """Simplify a line by the algorithm of Douglas and Peucker."""
    keep = np.zeros(len(points), dtype=bool)
    keep[[0, -1]] = True
    todo = [(0, len(points) - 1)]
    while todo:
        first, last = todo.pop()
        if last - first < 2:
            continue
        a, step = points[first], points[last] - points[first]
        off = points[first + 1 : last] - a
        length = float(step @ step)
        # The two ends of a closed line coincide.
        share = np.clip(off @ step / length, 0.0, 1.0) if length > 0 else np.zeros(len(off))
        far = np.hypot(*(off - share[:, None] * step).T)
        worst = int(np.argmax(far))
        if far[worst] > tolerance:
            middle = first + 1 + worst
            keep[middle] = True
            todo += [(first, middle), (middle, last)]
    return points[keep]
