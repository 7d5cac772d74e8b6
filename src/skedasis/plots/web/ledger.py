"""A ledger: of what a whole consists, as one bar."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from skedasis.plots.scale import shortened
from skedasis.plots.web.areas import Defs
from skedasis.plots.web.drawing import Drawing, sheet
from skedasis.plots.web.frame import GAP, TICK
from skedasis.plots.web.legend import Keys, legend
from skedasis.plots.web.outline import headed
from skedasis.plots.web.svg import px, tag
from skedasis.plots.web.text import LEADING, SMALL, width_of

WIDTH, BAR = 480.0, 34.0
"""Of the figure, and the bar's height."""
PATTERNS = ("", "p1", "p2", "p3", "p4", "p5")
"""Of the parts, one after the other: the first is plain."""
LETTERS = 60


@dataclass(frozen=True)
class _Part:
    """One part: from where to where it reaches, as shares of the whole; which of the looks it has."""

    name: str
    share: float
    start: float
    end: float
    look: int


def ledger(
    shares: Mapping[str, float],
    *,
    ident: str,
    title: str = "",
    alt: str = "",
    whole: str = "the output's variance",
) -> Drawing:
    """Draw of what a whole consists as one bar, with a pattern and a number for each part.

    Parameters
    ----------
    shares : mapping of str to float
        Shares of the whole, in the order in which they are drawn. A part below zero takes no room: it is told in
        words, and the others reach beyond the whole. NaN is not known.
    ident : str
        Unique on the page.
    title, alt : str
        By default what the whole is, and the parts in words.
    whole : str

    Returns
    -------
    Drawing
        Each part says its share.

    Examples
    --------
    >>> drawn = ledger(
    ...     {"additive effects": 0.75, "pairs shown": 0.3, "rest": -0.05}, ident="ledger"
    ... )
    >>> drawn.alt.split(". ")[0]
    "Parts of the output's variance: additive effects 75 %; pairs shown 30 %; rest −5 %"
    """
    parts = _stacked(shares)
    defs = Defs(ident)
    head, top = headed(title, (), WIDTH)
    end = max(1.0, max((p.end for p in parts), default=1.0))
    wide = WIDTH - 24

    def x(share: float) -> float:
        return 12 + wide * share / end

    frame = {"data_x": f"{px(x(0.0))} {px(x(end))} 0.0 {end!r}"}
    bars = [_bar(p, x(p.start), x(p.end), top, defs) for p in parts if p.end > p.start]
    notes = _notes(shares, end, whole)
    y = top + BAR
    axis = _axis(x(0.0), x(1.0), x(end), y, whole)
    y += TICK + GAP + LEADING * SMALL + 8
    keys: Keys = {f"{p.name} {_percent(p.share)}": _key(p, defs) for p in parts}
    explained, high = legend(keys, 2.0, y, WIDTH - 4)
    foot, y = headed("", notes, WIDTH, y + high)
    said = "; ".join(f"{p.name} {_percent(p.share)}" for p in parts)
    words = [f"Parts of {whole}: {said}.", *(f"{n[:1].upper()}{n[1:]}." for n in notes)]
    return sheet(
        [defs.written(), head, axis, tag("g", *bars, class_="panel", **frame), explained, foot],
        (WIDTH, y),
        ident=ident,
        title=title or f"Parts of {whole}",
        alt=alt or " ".join(words),
    )


def _stacked(shares: Mapping[str, float]) -> list[_Part]:
    """Return the parts, those above zero one after the other."""
    parts: list[_Part] = []
    at = 0.0
    for k, (name, share) in enumerate(shares.items()):
        step = share if math.isfinite(share) and share > 0 else 0.0
        look = k % len(PATTERNS)
        parts.append(_Part(shortened(name, LETTERS), share, at, at + step, look))
        at += step
    return parts


def _bar(part: _Part, a: float, b: float, top: float, defs: Defs) -> Markup:
    """Return one part of the bar, with its number where there is room."""
    text = _percent(part.share)
    box = {"x": a, "y": top, "width": b - a, "height": BAR}
    inner = [tag("rect", class_=f"entry e{part.look}", **box)]
    if PATTERNS[part.look]:
        inner.append(tag("rect", fill=defs.pattern(PATTERNS[part.look]), **box))
    if width_of(text) + 8 < b - a:
        middle = {"x": (a + b) / 2, "y": top + BAR / 2 + 0.35 * SMALL}
        inner.append(tag("text", text, class_="middle haloed", **middle))
    inner.append(tag("rect", class_="hit", data_tip=f"{part.name}\n{text}", **box))
    return tag("g", *inner)


def _key(part: _Part, defs: Defs) -> Markup:
    """Return how a part looks; one that takes no room has no look."""
    if part.end <= part.start:
        return Markup()
    box = {"x": 1.0, "y": -6.0, "width": 24.0, "height": 12.0}
    inner = [tag("rect", class_=f"entry e{part.look}", **box)]
    if PATTERNS[part.look]:
        inner.append(tag("rect", fill=defs.pattern(PATTERNS[part.look]), **box))
    return tag("g", *inner)


def _axis(zero: float, one: float, end: float, y: float, whole: str) -> Markup:
    """Return where nothing is, and where the whole."""
    d = f"M{px(zero)} {px(y)}H{px(end)}M{px(zero)} {px(y)}v{px(TICK)}M{px(one)} {px(y)}v{px(TICK)}"
    if one < end - 0.5:
        d += f"M{px(one)} {px(y)}v{px(-BAR - 5)}"
    foot = y + TICK + GAP + 0.8 * SMALL
    texts = tag("text", "0", x=zero, y=foot)
    last = f"100 % of {shortened(whole, 40)}"
    # Flush with the whole's end, where it has room.
    start = max(one, width_of(last) + 24)
    return tag(
        "g",
        tag("path", class_="axis", d=d),
        tag("g", texts, class_="ticks middle"),
        tag("g", tag("text", last, x=start, y=foot), class_="ticks end"),
    )


def _notes(shares: Mapping[str, float], end: float, whole: str) -> list[str]:
    """Say what a bar cannot show."""
    notes = [
        f"{shortened(name, LETTERS)} is {_percent(share)}: the parts before it hold more than {whole}, "
        "for they overlap or are estimates"
        for name, share in shares.items()
        if share < 0
    ]
    if end > 1.005 and not notes:
        notes.append(
            f"together the parts are {_percent(end)} of {whole}: they overlap or are estimates"
        )
    unknown = [shortened(n, LETTERS) for n, s in shares.items() if not math.isfinite(s)]
    if unknown:
        notes.append(f"not known: {', '.join(unknown)}")
    return notes


def _percent(share: float) -> str:
    """Return a share in percent; what is little is not called nothing."""
    if not math.isfinite(share):
        return "not known"
    if 0 < abs(share) < 0.005:
        return "less than 1 %" if share > 0 else "almost 0 %"
    return f"{100 * share:.0f} %".replace("-", "\N{MINUS SIGN}")
