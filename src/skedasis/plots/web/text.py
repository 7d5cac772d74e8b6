"""How much room words take: estimates, for there is no browser to ask. They err on the side of too much."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from skedasis.plots.scale import clean

SIZE, SMALL = 13.0, 12.0
"""Pixels of titles and labels; of ticks, notes and legends."""
LEADING = 1.3
"""From line to line, in sizes."""
_NARROW, _WIDE = frozenset("iljtfrI.,:;|!'()[]{}/\\ `°·"), frozenset("mwMW@%&—…→←")


@lru_cache(maxsize=4096)
def width_of(text: str, size: float = SMALL) -> float:
    """Return about how many pixels a line takes, as wide as common fonts make it.

    Examples
    --------
    >>> width_of("", 10.0), width_of("n=67", 10.0) < width_of("n=1067", 10.0)
    (0.0, True)
    """
    return size * sum(_share(c) for c in text)


def _share(c: str) -> float:
    """Return a letter's width as a share of its height."""
    if c in _NARROW:
        return 0.38
    if c in _WIDE:
        return 0.95
    if c.isascii():
        return 0.68 if c.isupper() else 0.61
    if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Cf"):
        return 0.0
    # East Asian letters and most pictures fill a square.
    wide = unicodedata.east_asian_width(c) in ("W", "F") or ord(c) >= 0x1F000
    return 1.15 if wide else 0.66


def lines_of(text: str, room: float, size: float = SMALL, most: int = 3) -> list[str]:
    """Break text into lines of at most `room` pixels; what does not fit on `most` lines ends in an ellipsis.

    Examples
    --------
    >>> lines_of("effect on the price of a house", 110.0, 10.0)
    ['effect on the price of', 'a house']
    """
    lines = [""]
    for word in clean(text).split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if width_of(joined, size) <= room:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        *full, rest = _cut(word, room, size)
        lines[-1:] = [*full, rest]
    if len(lines) > most:
        lines = [*lines[: most - 1], fitting(" ".join(lines[most - 1 :]), room, size)]
    return lines


def _cut(word: str, room: float, size: float) -> list[str]:
    """Cut a word that has no place to break it where the line ends."""
    parts = [""]
    used = 0.0
    for c in word:
        wide = size * _share(c)
        if used + wide > room and parts[-1]:
            parts.append("")
            used = 0.0
        parts[-1] += c
        used += wide
    return parts


def fitting(text: str, room: float, size: float = SMALL) -> str:
    """Return text on one line of at most `room` pixels: its beginning and its end, which tell names apart.

    Examples
    --------
    >>> fitting("visits", 100.0), fitting("visits of the year 2019", 80.0)
    ('visits', 'visits…2019')
    """
    text = clean(text)
    if width_of(text, size) <= room:
        return text
    low, high = 0, len(text)
    while low < high:
        kept = (low + high + 1) // 2
        low, high = (kept, high) if width_of(_ends(text, kept), size) <= room else (low, kept - 1)
    return _ends(text, low)


def _ends(text: str, kept: int) -> str:
    """Return some of a text's first and last letters."""
    end = kept // 2
    return f"{text[: kept - end].rstrip()}…{text[len(text) - end :].lstrip()}"


def flowed_in(remarks: tuple[str, ...], room: float, size: float = SMALL) -> list[str]:
    """Set short remarks one after the other, and break lines between them; within one only where it is too long.

    Examples
    --------
    >>> flowed_in(("500 rows", "6 bins"), 300.0)
    ['500 rows · 6 bins']
    """
    lines: list[str] = []
    for remark in remarks:
        joined = f"{lines[-1]} · {remark}" if lines else ""
        if lines and width_of(joined, size) <= room:
            lines[-1] = joined
        else:
            lines += lines_of(remark, room, size)
    return lines
