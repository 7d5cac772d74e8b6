"""Legends: what explains marks, below all panels. Every key is drawn as its mark is."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from skedasis.plots.web.svg import joined, px, tag
from skedasis.plots.web.text import LEADING, SMALL, fitting, width_of

Keys = dict[str, Markup]
"""What is written, and the mark beside it: drawn between 0 and `WIDE`, about the height 0."""
WIDE, HIGH = 26.0, 12.0
_GAP, _APART = 6.0, 16.0
ROW = 1.5 * SMALL


def legend(
    keys: Mapping[str, Markup], left: float, top: float, width: float
) -> tuple[Markup, float]:
    """Return a legend as lines that fit the width, and how many pixels it takes downwards.

    Parameters
    ----------
    keys : mapping
    left, top, width : float
        In pixels.
    """
    parts: list[Markup] = []
    x, y = left, top + ROW / 2
    for text, key in keys.items():
        words = fitting(text, width - WIDE - _GAP)
        wide = WIDE + _GAP + width_of(words)
        if x > left and x + wide > left + width:
            x, y = left, y + ROW
        label = tag("text", words, x=WIDE + _GAP, y=0.35 * SMALL)
        parts.append(tag("g", key, label, transform=f"translate({px(x)} {px(y)})"))
        x += wide + _APART
    if not parts:
        return Markup(""), 0.0
    return tag("g", *parts, class_="legend"), y + ROW / 2 - top


def line_key(*classes: str) -> Markup:
    """Return a key that is a line."""
    return tag("path", class_=" ".join(classes), d=f"M0 0H{px(WIDE)}")


def area_key(look: str | None = None, edge: str = "", *, fill: str | None = None) -> Markup:
    """Return a key that is an area, with its edges above and below."""
    box = {"x": 1.0, "y": -HIGH / 2, "width": WIDE - 2, "height": HIGH}
    parts: list[Markup] = []
    if look is not None:
        parts.append(tag("rect", class_=look, **box, fill=fill))
    if edge:
        low, high = px(HIGH / 2), px(-HIGH / 2)
        parts.append(tag("path", class_=edge, d=f"M1 {high}H{px(WIDE - 1)}M1 {low}H{px(WIDE - 1)}"))
    return joined(parts)


def heading(lines: list[str], left: float, last: float, size: float, look: str) -> Markup:
    """Return lines of text flush left, the last of them at `last`."""
    step = LEADING * size
    texts = [
        tag("text", line, x=left, y=last - (len(lines) - 1 - i) * step)
        for i, line in enumerate(lines)
    ]
    return tag("g", *texts, class_=look)
