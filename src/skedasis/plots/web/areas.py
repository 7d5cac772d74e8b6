"""What stands under curves and at the edges: hatched stretches, strips, distributions in groups, rugs; and patterns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup

from skedasis._types import Floats
from skedasis.plots.marks import Hatch, Outline, Rug, Strip
from skedasis.plots.palette import BOTTOM, DOUBTS, TOP
from skedasis.plots.web.frame import Frame
from skedasis.plots.web.legend import Keys, area_key
from skedasis.plots.web.marks import between
from skedasis.plots.web.svg import dashes, joined, path, px, tag, texts
from skedasis.plots.web.text import SMALL, width_of

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
"""Size and lines of each pattern. Those of groups stand in the order of their colours."""


RUG, _TOOTH = 8.0, 0.6
"""Height and width of a tick at the foot of a panel, in pixels; the style sheet knows the height, too."""


class Defs:
    """What a drawing refers to: patterns that were asked for, and what clips panels. Names start with its own."""

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
        """Return a reference to what keeps marks within a frame."""
        ident = f"{self.ident}-clip{len(self._made)}"
        self._made[ident] = frame.clip(ident)
        return f"url(#{ident})"

    def written(self) -> Markup:
        """Return all of it as one element."""
        return tag("defs", *self._made.values()) if self._made else Markup("")


def hatches(frame: Frame, found: Sequence[Hatch], defs: Defs) -> tuple[Markup, Markup, Keys]:
    """Draw stretches of the axis about which little is known, and the words in them where there is room."""
    parts: list[Markup] = []
    words: list[Markup] = []
    keys: Keys = {}
    for h in found:
        keys[DOUBTS[h.doubt]] = area_key("hatch", fill=defs.pattern(h.doubt))
        words.append(_doubt(frame, h.text, *frame.x(np.array([h.left, h.right])).tolist()))
    for left, right, doubt in _together(found):
        a, b = frame.x(np.array([left, right])).tolist()
        look = {"y": frame.top, "height": frame.height, "fill": defs.pattern(doubt)}
        parts.append(tag("rect", class_="hatch", x=a, width=b - a, **look))
    return joined(parts), joined(words), keys


def _together(found: Sequence[Hatch]) -> list[tuple[float, float, str]]:
    """Return stretches with their doubts; those that meet and are of the same doubt are one."""
    out: list[tuple[float, float, str]] = []
    for h in sorted(found, key=lambda h: h.left):
        if out and out[-1][2] == h.doubt and h.left <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], h.right), h.doubt)
        else:
            out.append((h.left, h.right, h.doubt))
    return out


def _doubt(frame: Frame, text: str, a: float, b: float) -> Markup:
    """Return a word in the middle of a stretch: level, upright, or none."""
    x, y, long = (a + b) / 2, frame.top + frame.height / 2, width_of(text) + 6
    if not text or (b - a < long and (b - a < 1.2 * SMALL or frame.height < long)):
        return Markup("")
    upright = b - a < long
    way = f"rotate(-90 {px(x)} {px(y)})" if upright else None
    return tag("text", text, class_="doubt", x=x, y=y + 0.35 * SMALL, transform=way)


def strips(frame: Frame, found: Sequence[Strip], defs: Defs) -> tuple[Markup, Keys]:
    """Draw strips at the foot of a panel, with their words above them."""
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


def outlines(frame: Frame, groups: Sequence[Outline], defs: Defs) -> tuple[Markup, Keys]:
    """Draw distributions, each with its group's colour, stroke and pattern."""
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
    """Draw ticks where rows lie; those that are half a pixel apart are one."""
    at = np.unique(np.round(2 * frame.x(rug.x)) / 2)
    look = "rug" if len(rug.x) <= 150 else "rug many"
    key = tag("path", class_="rug", d=_teeth(np.array([9.0, 12.5, 17.0]), 0.0))
    d = _teeth(at, frame.bottom - RUG / 2)
    return tag("path", class_=look, d=d), {rug.label: key}


def _teeth(at: Floats, y: float) -> str:
    """Return ticks as dashes of a line as broad as they are high: half of the text that upright strokes take."""
    return dashes(at - _TOOTH / 2, np.full(len(at), y), _TOOTH)
