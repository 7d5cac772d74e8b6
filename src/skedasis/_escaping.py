"""Text that comes from data or models, before a terminal, a page, a figure or a spreadsheet gets it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TypeVar

SelfT = TypeVar("SelfT")


CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Control characters except tab and line feed, marks that change the text direction, and what XML cannot contain."""


def one_line(text: str) -> str:
    """Return a text on one line, with single spaces."""
    return " ".join(text.split())


def visible(text: str) -> str:
    r"""Return a text with control characters escaped as in Python source."""
    return CONTROL.sub(_written, text)


def _written(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


_TURNED = "\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
_WORD = f"""[{_TURNED}](?:(?:[^\\s,;:=<>≤≥×(){{}}\\[\\]"'“”\u2018\u2019|·→]|["'](?=[{_TURNED}]))*[\\w{_TURNED}])?"""
_RIGHT_TO_LEFT = rf"{_WORD}(?: {_WORD}| \({_WORD}(?: {_WORD})*\))*"
"""Words that are written from right to left, also in parentheses after others, without the punctuation around them."""


def in_order(text: str) -> str:
    r"""Return visible text whose right-to-left words stand in Unicode isolates (U+2068 to U+2069)."""
    if text.isascii() and text.isprintable():
        return text
    # Patterns are compiled when they are needed. Words that are isolated already stay so.
    bare = re.sub(f"\u2068({_RIGHT_TO_LEFT})\u2069", "\\1", text.replace("\r\n", "\n"))
    return re.sub(_RIGHT_TO_LEFT, "\u2068\\g<0>\u2069", visible(bare))


class Printed:
    """Base of all results, which print names and levels: control characters in their texts are escaped."""

    __slots__ = ()

    def __init_subclass__(cls, **options: object) -> None:
        """Escape the texts of a new class."""
        super().__init_subclass__(**options)
        for name in ("__str__", "__repr__"):
            if name in cls.__dict__:
                setattr(cls, name, _printable(cls.__dict__[name]))


def _printable(method: Callable[[SelfT], str]) -> Callable[[SelfT], str]:
    @functools.wraps(method)
    def printed(self: SelfT) -> str:
        return visible(method(self))

    return printed


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def cell_text(value: object) -> object:
    """Return a value for a cell of a CSV file; text that spreadsheets would run as a formula gets an apostrophe."""
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
