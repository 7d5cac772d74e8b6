"""SVG and HTML elements as text, escaped; `Drawing`, a finished figure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from markupsafe import Markup, escape

from skedasis._escaping import in_order
from skedasis._types import Floats

# --- elements ------------------------------------------------------------------------------------

_CLOSED = frozenset({"path", "rect"})
"""Elements that may be self-closing, also in HTML pages, where they are SVG elements."""


FAR = 20_000.0
"""Coordinates are clipped to this many pixels, far outside any figure."""


_SPECIAL = re.compile("[&<>\"']").search
"""Characters that are escaped."""


def plain(value: object) -> Markup:
    r"""Return text that is safe between tags and within quotes, with control characters as the terminal shows them."""
    return Markup(_safe(value))  # noqa: S704 - all parts are escaped


def _safe(value: object) -> str:
    """Return `plain` text; nearly all texts are numbers and names in which nothing is to be escaped."""
    if isinstance(value, (Markup, Drawing)):
        return value.__html__()
    text = str(value)
    if text.isascii() and text.isprintable() and not _SPECIAL(text):
        return text
    return str(escape(in_order(text)))


def tag(name: str, *children: object, **attributes: object) -> Markup:
    """Return an element with its children."""
    written = "".join([_attribute(k, v) for k, v in attributes.items()])
    inner = "".join([_safe(c) for c in children])
    if not inner and name in _CLOSED:
        return Markup(f"<{name}{written}/>")  # noqa: S704 - all parts are escaped
    return Markup(f"<{name}{written}>{inner}</{name}>")  # noqa: S704 - all parts are escaped


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    if "_" in name:
        name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    if isinstance(value, (float, np.floating)):
        return f' {name}="{px(float(value))}"'
    # XML parsers replace line breaks in attributes by spaces, unless they are written as character references.
    text = _safe(value).replace("\n", "&#10;")
    return f' {name}="{text}"'


def px(value: float) -> str:
    """Return a length in pixels with one decimal, which is finer than a screen pixel."""
    # Halves are rounded up, unlike in Python's round: 1.25 becomes 1.3.
    tenths = math.floor(10 * value + 0.5)
    return _table()[tenths] if 0 <= tenths < _KNOWN else _tenths(tenths)


def _tenths(tenths: int) -> str:
    """Return tenths of a pixel as a length."""
    whole, rest = divmod(abs(tenths), 10)
    return f"{'-' if tenths < 0 else ''}{whole}{f'.{rest}' if rest else ''}"


def joined(parts: Iterable[Markup]) -> Markup:
    """Return the concatenation of elements."""
    return Markup("").join(parts)


def path(x: Floats, y: Floats) -> str:
    """Return a polyline as path data; non-finite points interrupt it."""
    there = np.isfinite(x) & np.isfinite(y)
    parts: list[str] = []
    pen = "M"
    for a, b, drawn in zip(texts(x), texts(y), there.tolist(), strict=True):
        if drawn:
            parts.append(f"{pen}{a} {b}")
        pen = "L" if drawn else "M"
    return "".join(parts)


def way(x: Floats, y: Floats) -> str:
    """Return a polyline of finite points as path data in relative coordinates, which are shorter than `path`."""
    at = np.floor(10 * np.clip(np.stack([x, y]), -FAR, FAR) + 0.5).astype(np.int64)
    first = f"M{px(at[0, 0] / 10)} {px(at[1, 0] / 10)}"
    if at.shape[1] == 1:
        return first
    return f"{first}l{_tight(_moves(np.diff(at, axis=1).T.tolist()))}"


def dashes(x: Floats, y: Floats, wide: float) -> str:
    """Return horizontal dashes that start at the given points, as path data."""
    there = np.isfinite(x) & np.isfinite(y)
    at = np.floor(10 * np.clip(np.stack([x[there], y[there]]), -FAR, FAR) + 0.5).astype(np.int64)
    if at.shape[1] == 0:
        return ""
    dash = f"h{_bare(px(wide))}"
    gaps = np.diff(at, axis=1) - np.array([[round(10 * wide)], [0]])
    first = f"M{px(at[0, 0] / 10)} {px(at[1, 0] / 10)}{dash}"
    return first + "".join([f"m{step}{dash}" for step in _moves(gaps.T.tolist())])


def _moves(steps: Iterable[tuple[int, int]]) -> list[str]:
    """Return steps in tenths of a pixel as pairs of numbers; a minus sign separates them as well as a space does."""
    known, middle = _steps(), len(_steps()) // 2
    parts: list[str] = []
    for a, b in steps:
        if -middle <= a < middle and -middle <= b < middle:
            second = known[b + middle]
            parts.append(
                f"{known[a + middle]}{second}" if b < 0 else f"{known[a + middle]} {second}"
            )
        else:
            second = _bare(_tenths(b))
            parts.append(f"{_bare(_tenths(a))}{'' if b < 0 else ' '}{second}")
    return parts


def _tight(pairs: list[str]) -> str:
    """Join pairs of numbers; a minus sign needs no space before it."""
    return " ".join(pairs).replace(" -", "-")


@cache
def _steps() -> list[str]:
    """Return a table of short steps as text, without a leading zero."""
    return [_bare(_tenths(t)) for t in range(-3000, 3000)]


def _bare(text: str) -> str:
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def texts(values: Floats) -> list[str]:
    """Return many lengths as `px` writes them, clipped to ±`FAR`."""
    shown = np.clip(np.where(np.isfinite(values), values, 0.0), -FAR, FAR)
    tenths = np.floor(10 * shown + 0.5).astype(np.int64)
    known = _table()
    return [known[t] if 0 <= t < _KNOWN else _tenths(t) for t in tenths.tolist()]


_KNOWN = 12_000
"""Lengths in tenths of a pixel below this number are in a table."""


@cache
def _table() -> list[str]:
    """Return a table of lengths as text: a look-up is ten times as fast as formatting."""
    return [_tenths(t) for t in range(_KNOWN)]


# --- drawings ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawing:
    """A finished SVG figure."""

    svg: Markup
    width: float
    height: float
    title: str
    alt: str

    def __html__(self) -> str:
        """Return the SVG, which templates insert without escaping."""
        return str(self.svg)


def sheet(
    parts: Iterable[Markup],
    size: tuple[float, float],
    *,
    ident: str,
    title: str,
    alt: str,
    role: Literal["img", "group"] = "img",
) -> Drawing:
    """Return the figure: an ``<svg>`` element with title and alternative text."""
    width, height = size
    names = f"{ident}-title", f"{ident}-desc"
    svg = tag(
        "svg",
        tag("title", title, id=names[0]),
        tag("desc", alt, id=names[1]),
        joined(parts),
        xmlns="http://www.w3.org/2000/svg",
        class_=f"skd{_wide(width)}",
        viewBox=f"0 0 {px(width)} {px(height)}",
        width=px(width),
        height=px(height),
        role=role,
        # Some browsers focus elements that listen to focus events of their children, unless tabindex is -1.
        tabindex="0" if role == "img" else "-1",
        aria_labelledby=" ".join(names),
    )
    return Drawing(svg, width, height, title, alt)


def _wide(width: float) -> str:
    """Return the class of a narrow or wide figure, by which the style sheet keeps its letters equally large."""
    if width > 600:
        return " wide"
    return " narrow" if width < 300 else " slim" if width < 400 else ""
