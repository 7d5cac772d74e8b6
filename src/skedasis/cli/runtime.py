"""Exit codes, streams, and errors without a traceback.

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
import select
import sys
import traceback
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from skedasis.cli.output import say, visible
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


_HINTS = (
    ("sd.prediction(model, output=0)", "In a shell: --class 0, or --class all."),
    ("sd.probability(model, class_=", "In a shell: --class NAME, or --class all."),
    ("Leave output out", "In a shell: leave --class out."),
    ("sd.loss(model, output=0)", "In a shell: --quantity prediction --class 0."),
)
"""What errors tell to do in Python, and how it is said here."""


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
        try:
            return super().parse_args(ctx, [a for a in own if a != DEBUG] + args[len(own) :])
        except Exception as error:
            _told_by_typer(ctx.obj, error)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run a command; turn its errors into a line and an exit code."""
        manner: Manner = ctx.obj
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except BaseException as error:
            # A model may raise anything, and what it raises while it is called carries a note that says so.
            if isinstance(error, BrokenPipeError) and (not _notes(error) or _nobody_reads()):
                _close_output()
                raise typer.Exit(CLOSED) from error
            if _is_usage(error):
                _told_by_typer(manner, error)
                raise
            raise _told(manner, error) from error


def _is_usage(error: BaseException) -> bool:
    return hasattr(error, "exit_code")


def _told_by_typer(manner: Manner, error: BaseException) -> None:
    """Prepare an error that typer knows how to say: a wrong option, say. Files may be called like one."""
    message = getattr(error, "message", None)
    if not isinstance(message, str):
        return
    error.message = visible(message)  # type: ignore[attr-defined] - looked for above
    if manner.json:
        _document(error, message, REFUSED)


def _told(manner: Manner, error: BaseException) -> typer.Exit:
    """Tell an error, and return what ends the program."""
    if manner.debug:
        sys.stderr.write(visible("".join(traceback.format_exception(error))))
    if isinstance(error, KeyboardInterrupt):
        return _ended(manner, error, "Interrupted.", INTERRUPTED)
    if isinstance(error, DataError | ModelOutputError | UnsupportedError):
        return _ended(manner, error, _in_a_shell(_text(error)), REFUSED)
    if isinstance(error, OSError) and not _notes(error):
        return _ended(manner, error, _of_a_file(error), REFUSED)
    # Not ours: a model's own, most often, and its author wants to see where.
    said = " ".join((_text(error), *_notes(error))).strip()
    ended = _ended(manner, error, f"{type(error).__name__}: {said}", FAILED)
    if not manner.debug:
        say(f"{DEBUG} shows where.", "dim", error=True)
    return ended


def _text(error: BaseException) -> str:
    """Return what an error says; one of a model's own may fail at that."""
    if isinstance(error, SystemExit):
        return f"the model, or a library, ended the program ({error.code})"
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - it is a stranger's
        return "it cannot say what is wrong"


def _notes(error: BaseException) -> list[str]:
    return list(getattr(error, "__notes__", ()))


def _of_a_file(error: OSError) -> str:
    """Return what the system says of a file, without its number."""
    if error.filename is None or error.strerror is None:
        return f"{type(error).__name__}: {_text(error)}"
    return f"{error.filename}: {error.strerror}. Check the path and its permissions."


def _in_a_shell(text: str) -> str:
    """Add what a shell has for what an error names in Python."""
    hints = [hint for words, hint in _HINTS if words in text]
    return " ".join((text, *hints[:1]))


def _ended(manner: Manner, error: BaseException, text: str, code: int) -> typer.Exit:
    """Print an error, and return what ends the program."""
    complain(text)
    if manner.json:
        _document(error, text, code)
    return typer.Exit(code)


def _document(error: BaseException, text: str, code: int) -> None:
    said = {"kind": type(error).__name__, "message": " ".join(text.split()), "exit_code": code}
    with contextlib.suppress(OSError):  # nobody reads it, or there is no room: the exit code tells
        typer.echo(json.dumps({"error": said}, indent=1))


def complain(text: str) -> None:
    """Print an error to standard error, in a line."""
    with contextlib.suppress(ValueError):  # a model may have closed it
        say(" ".join(text.split()), "red", error=True)


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


def _nobody_reads() -> bool:
    """Return whether it is our own output that broke, not a pipe of the model's."""
    try:
        poll = select.poll()
        poll.register(sys.stdout, select.POLLOUT)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    except (
        AttributeError,
        OSError,
        ValueError,
    ):  # there is no such call here, or no file behind it
        return False


def _close_output() -> None:
    """Send what is still to be printed to nobody: whoever read it is gone."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _own_output(wanted: bool) -> Generator[None]:
    """Keep standard output for the document alone.

    Whatever else is written to it, by libraries in C or by programs that a model starts, goes to standard error; also
    what they still hold back when the program ends.
    """
    if not wanted:
        yield
        return
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
        there = sys.stdout.fileno()
        document = os.fdopen(os.dup(there), "w", encoding=sys.stdout.encoding, errors="skedasis")
        os.dup2(sys.stderr.fileno(), there)
        sys.stdout = document
    yield


def run(app: typer.Typer, args: Sequence[str] | None = None) -> None:
    """Run the command line and end the program."""
    settle_streams()
    code: Any = 0
    with _own_output(JSON in (sys.argv[1:] if args is None else args)):
        try:
            app(args)
        except SystemExit as end:
            code = end.code
        except KeyboardInterrupt:
            code = INTERRUPTED
        except BrokenPipeError:
            _close_output()
            code = CLOSED
        except OSError as error:  # no room for what is printed
            complain(_of_a_file(error))
            code = FAILED
        try:
            sys.stdout.flush()
        except OSError as error:
            _close_output()
            code = CLOSED if isinstance(error, BrokenPipeError) else code or FAILED
        except (ValueError, AttributeError):  # closed by a model, or never there
            code = code or FAILED
    sys.exit(code)
