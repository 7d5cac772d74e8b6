"""Who talks in a shell: remarks and warnings, to where they belong."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from skedasis.cli.screen import Screen, say, visible


@dataclass(frozen=True)
class Talk:
    """What a command says beside its errors.

    Parameters
    ----------
    json : bool
        Results go into a document: nothing else is printed to standard output.
    quiet : bool
        No remarks, and no warnings.
    notes : list of str
        What was remarked and warned of, for the document.
    """

    json: bool = False
    quiet: bool = False
    notes: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Make a remark: where a file is, what was left out."""
        self.notes.append(" ".join(text.split()))
        if not (self.json or self.quiet):
            say(text)

    def written(self, path: Any) -> None:
        """Say where a file is."""
        if not (self.json or self.quiet):
            say(f"written  {path}")

    def show(self, *forms: Any) -> None:
        """Print a result: of several forms, the first that the terminal is wide enough for, else the last."""
        if self.json:
            return
        screen = Screen()
        screen.print(next((f for f in forms if screen.fits(f)), forms[-1]))

    def lines(self, texts: Any) -> None:
        """Print sentences of a result."""
        if not self.json:
            for text in texts:
                say(text)

    @contextlib.contextmanager
    def at_work(self, what: str, bars: bool | None) -> Generator[None]:
        """Say what is going on while something without a bar of its own takes its time."""
        screen = Screen(stderr=True)
        if bars is False or not screen.is_terminal:
            yield
            return
        from rich.markup import escape

        with screen.status(escape(visible(what))):
            yield

    @contextlib.contextmanager
    def hears_warnings(self) -> Generator[None]:
        """Tell warnings in a line each, without the place in the code that nobody in a shell asked for."""

        def tell(message: Warning | str, *_: Any) -> None:
            text = " ".join(str(message).split())
            if text in self.notes:
                return
            self.notes.append(text)
            if not self.quiet:
                say(f"note: {text}", "yellow", error=True)

        with warnings.catch_warnings():
            warnings.showwarning = tell
            yield
