"""Texts of figures: their width, line breaks, and shortening, in one place for all renderers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from skedasis.plots.marks import Title
from skedasis.plots.scales import clean, shortened, unbreakable, width_of
from skedasis.plots.theme import TEXTS

TextWidth: TypeAlias = Callable[[str, float], float]
"""From a line of text and the size of its letters to its width, in the same unit."""

_SEPARATED = re.compile("(?<=[_/.:-])")

LEADING = 1.3
"""Distance of two lines in units of the size of letters."""


@dataclass(frozen=True)
class Lettering:
    """Measures, breaks and shortens texts."""

    measure: TextWidth = width_of
    scale: float = 1.0

    def size(self, style: str) -> float:
        """Return the size of letters of a style in points."""
        return self.scale * TEXTS[style].size

    def leading(self, style: str) -> float:
        """Return the distance of two lines of a style."""
        return LEADING * self.size(style)

    def width(self, text: str, style: str) -> float:
        """Return the width of a text in points, of its longest line."""
        if "\n" in text:
            return max(self.width(line, style) for line in text.split("\n"))
        # Bold letters are wider.
        return (1.09 if TEXTS[style].bold else 1.0) * self.measure(text, self.size(style))

    def fit(self, text: str, room: float, style: str) -> str:
        """Return text that is no wider than `room`, shortened as `scales.shortened` describes."""
        return shortened(clean(text), lambda short: self.width(short, style) <= room)

    def _parts(self, text: str, room: float, style: str) -> Iterator[str]:
        """Yield the parts of a text between which lines end; what is wider than a line is broken further."""
        for part in unbreakable(text):
            if self.width(part, style) <= room:
                yield part
                continue
            for inner in unbreakable(part, brackets=False):
                yield from [inner] if self.width(inner, style) <= room else inner.split(" ")

    def wrap(self, text: str, room: float, style: str, most: int = 3) -> list[str]:
        """Break text into at most `most` lines no wider than `room`; shorten the last one if necessary."""
        lines, rest = [""], clean(text)
        for word in self._parts(rest, room, style):
            joined = f"{lines[-1]} {word}" if lines[-1] else word
            if self.width(joined, style) <= room:
                lines[-1] = joined
                continue
            if lines[-1]:
                lines.append("")
            lines[-1:] = self._cut(word, room, style)
        if len(lines) > most:
            for line in lines[: most - 1]:
                rest = rest[len(line) :].lstrip()
            lines = [*lines[: most - 1], self.fit(rest, room, style)]
        return lines

    def breakable(self, text: str, room: float, style: str) -> bool:
        """Return whether no word of a text must be broken but after the separators of names."""
        words = clean(text).split(" ")
        parts = (part for word in words for part in _SEPARATED.split(word))
        return all(self.width(part, style) <= room for part in parts)

    def head(self, title: Title, room: float) -> tuple[list[str], str]:
        """Return a title in at most two lines, and the method, which follows the last one, or is empty."""
        lines = self.wrap(title.text, room, "title")
        if len(lines) > 2:
            lines = (
                [
                    f"{self.fit(title.subject, room - self.width(':', 'title'), 'title')}:",
                    self.fit(title.quantity, room, "title"),
                ]
                if title.quantity
                else self.wrap(title.text, room, "title", most=2)
            )
        if not title.method:
            return lines, ""
        after = self.fit(title.after, room, "method")
        if self.after_x(lines[-1]) + self.width(after, "method") > room:
            lines.append("")
        return lines, after

    def after_x(self, line: str) -> float:
        """Return where the method begins after the last line of a title."""
        return self.width(f"{line} ", "title") if line else 0.0

    def flow(
        self, notes: Sequence[str], room: float, style: str = "note", most: int = 8
    ) -> list[str]:
        """Join short notes with a dot into lines; break within a note only if it is wider than `room`.

        Notes for which there are too few lines are left out; a first one is shortened.
        """
        lines: list[str] = []
        for note in notes:
            joined = f"{lines[-1]} · {note}" if lines else ""
            if lines and self.width(joined, style) <= room:
                lines[-1] = joined
                continue
            broken = self.wrap(note, room, style)
            if not lines and len(broken) > most > 0:
                broken = self.wrap(note, room, style, most)
            if len(lines) + len(broken) <= most:
                lines += broken
        return lines

    def _cut(self, word: str, room: float, style: str) -> list[str]:
        """Split a word that is wider than a line, if possible after the separators of names."""
        parts = [""]
        for piece in _SEPARATED.split(word):
            if parts[-1] and self.width(parts[-1] + piece, style) > room:
                parts.append("")
            for c in piece:
                if parts[-1] and self.width(parts[-1] + c, style) > room:
                    parts.append("")
                parts[-1] += c
        return parts
