"""Texts of strangers on a terminal: a name in a file may hold orders to it, and a message of a model, too."""

from __future__ import annotations

import re
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.text import Text

_ORDERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and line feed, what turns the direction of a line, and what is no character at all."""

_WIDEST = 10_000


def visible(text: str) -> str:
    r"""Return a text whose control characters are written as Python writes them.

    Raw ones clear a screen, retitle a window, hide a link's address, or turn a line around.

    Examples
    --------
    >>> print(visible("a\x1b[2Jb\u202ec"))
    a\x1b[2Jb\u202ec
    """
    return _ORDERS.sub(_written, text)


def _written(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class Screen(Console):
    """A terminal that takes orders from styles alone: control characters in texts are shown, `:names:` of emoji stay.

    Parameters
    ----------
    **options
        As `rich.console.Console` takes them.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text to show: tables come through here with each of their cells."""
        return super().render_str(visible(text), **options)

    def on_broken_pipe(self) -> None:
        """Leave it to whoever prints: rich itself would end the program with another exit code."""
        raise BrokenPipeError

    def fits(self, renderable: Any) -> bool:
        """Return whether the terminal is wide enough for a table without broken lines."""
        options = self.options.update(max_width=_WIDEST)
        return Measurement.get(self, options, renderable).maximum <= self.width


def say(text: str, style: str = "", *, error: bool = False) -> None:
    """Print a line as it is: a path or a column's name may look like markup, and is not to be broken.

    Parameters
    ----------
    text : str
    style : str
    error : bool
        Whether it goes to standard error.
    """
    Screen(stderr=error).print(text, style=style, markup=False, highlight=False, soft_wrap=True)
