"""What every command has in common with other programs of a shell: exit codes, streams, errors without a traceback.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | the model, or a library, failed by itself; `--debug` shows where |
| 2 | what was asked for cannot be done: a wrong option, file, column or model |
| 130 | interrupted by Ctrl-C |
| 141 | whoever read the output had enough of it |
"""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import typer
from rich.console import Console
from typer.core import TyperCommand, TyperGroup

from skedasis.errors import DataError, ModelOutputError, UnsupportedError

DEBUG, JSON = "--debug", "--json"
FAILED, REFUSED, INTERRUPTED, CLOSED = 1, 2, 130, 141
_PLAIN = {
    "\u202f": " ",
    "\u2009": " ",
    "–": "-",
    "—": "-",
    "−": "-",
    "×": "x",
    "·": ".",
    "…": "...",
    "’": "'",
}
_SIGNS = {"│": "|", "─": "-", "²": "^2", "≥": ">=", "≤": "<=", "±": "+-"}


@dataclass(frozen=True)
class Manner:
    """How errors are told.

    Parameters
    ----------
    debug : bool
        With their traceback.
    json : bool
        As a document on standard output, too.
    """

    debug: bool
    json: bool


class Command(TyperCommand):
    """A command that knows its arguments while an option is completed."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Leave out an option that still waits for its value: for its want nothing else would be parsed."""
        if ctx.resilient_parsing and args and args[-1].startswith("-"):
            args = args[:-1]
        return super().parse_args(ctx, args)


class Commands(TyperGroup):
    """Commands whose errors are one line: what, got, expected, fix."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take ``--debug`` from wherever it stands, and look for ``--json``."""
        own = args[: args.index("--")] if "--" in args else args
        ctx.obj = Manner(DEBUG in own, JSON in own)
        return super().parse_args(ctx, [a for a in own if a != DEBUG] + args[len(own) :])

    def invoke(self, ctx: Any) -> Any:
        """Run a command; turn its errors into a line and an exit code."""
        manner: Manner = ctx.obj
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except BrokenPipeError as error:
            _close_output()
            raise typer.Exit(CLOSED) from error
        except (Exception, KeyboardInterrupt) as error:
            if _is_usage(error):  # typer itself knows how to say this: a wrong option, say
                if manner.json:
                    _document(error, getattr(error, "message", str(error)), REFUSED)
                raise
            if manner.debug:
                raise
            raise _told(manner, error) from error


def _is_usage(error: BaseException) -> bool:
    return hasattr(error, "exit_code")


def _told(manner: Manner, error: BaseException) -> typer.Exit:
    """Tell an error, and return what ends the program."""
    if isinstance(error, KeyboardInterrupt):
        return _ended(manner, error, "Interrupted.", INTERRUPTED)
    if isinstance(error, DataError | ModelOutputError | UnsupportedError | OSError):
        return _ended(manner, error, str(error), REFUSED)
    # Not ours: a model's own, most often, and its author wants to see where.
    notes = " ".join(getattr(error, "__notes__", []))
    ended = _ended(manner, error, f"{type(error).__name__}: {error} {notes}".strip(), FAILED)
    complain(f"{DEBUG} shows where.", "dim")
    return ended


def _ended(manner: Manner, error: BaseException, text: str, code: int) -> typer.Exit:
    """Print an error, and return what ends the program."""
    complain(text)
    if manner.json:
        _document(error, text, code)
    return typer.Exit(code)


def _document(error: BaseException, text: str, code: int) -> None:
    said = {"kind": type(error).__name__, "message": " ".join(text.split()), "exit_code": code}
    typer.echo(json.dumps({"error": said}, indent=1))


def complain(text: str, style: str = "red") -> None:
    """Print a line to standard error."""
    console = Console(stderr=True)
    console.print(
        " ".join(text.split()), style=style, markup=False, highlight=False, soft_wrap=True
    )


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """Write a letter that the terminal's alphabet lacks as its nearest, else by its number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    said = "".join(
        (_PLAIN | _SIGNS).get(c) or c.encode("ascii", "backslashreplace").decode() for c in letters
    )
    return said, error.end


def settle_streams() -> None:
    """Make every text printable in the terminal's alphabet, whichever it is."""
    codecs.register_error("skedasis", _plainly)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="skedasis")  # type: ignore[union-attr]


def _close_output() -> None:
    """Send what is still to be printed to nobody: whoever read it is gone."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(app: typer.Typer, args: Sequence[str] | None = None) -> None:
    """Run the command line and end the program."""
    settle_streams()
    code: Any = 0
    try:
        app(args)
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt:
        code = INTERRUPTED
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _close_output()
        code = CLOSED
    sys.exit(code)
