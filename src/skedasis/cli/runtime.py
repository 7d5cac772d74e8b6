"""Exit codes, streams, and errors without a traceback."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import re
import select
import shlex
import sys
import traceback
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from skedasis._escaping import one_line, visible
from skedasis.cli.output import say
from skedasis.errors import DataError, ModelOutputError, UnsupportedError

DEBUG, JSON = "--debug", "--json"


FAILED, REFUSED, INTERRUPTED, CLOSED = 1, 2, 130, 141


_PLAIN = dict(zip("\u202f\u2009–—−×·’│─", "  ---x.'|-", strict=True)) | dict(
    zip("…²≥≤≠±", ("...", "^2", ">=", "<=", "!=", "+-"), strict=True)
)


_HINTS = (
    ("sd.prediction(model, output=0)", "In a shell: --class 0, or --class all."),
    ("sd.probability(model, class_=", "In a shell: --class NAME, or --class all."),
    ("Set it to a level: to=", "In a shell: FEATURE=LEVEL."),
    ("Write it in the moves: ", "In a shell: FEATURE=MOVE without --set."),
    (
        "Check the file's name",
        "The order is MODEL DATA FEATURE; of several models each is --model MODEL.",
    ),
    ("Leave output out", "In a shell: leave --class out."),
    ("sd.loss(model, output=0)", "In a shell: --quantity prediction --class 0."),
)
"""Suggestions of the library for Python, and the corresponding options on the command line."""


@dataclass(frozen=True)
class ErrorOutput:
    """How errors are printed."""

    debug: bool
    json: bool


class Command(TyperCommand):
    """A command that still parses its other arguments during the completion of an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Ignore a last option without a value, which would make parsing fail during completion."""
        if ctx.resilient_parsing and args and args[-1].startswith("-"):
            args = args[:-1]
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; the help shows no type for flags."""
        return _without_flag_types(super().get_params(ctx))


class CommandGroup(TyperGroup):
    """A group of commands that prints errors in one line: what, got, expected, fix."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; the help shows no type for flags."""
        return _without_flag_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Accept ``--debug`` at any position, and detect ``--json``."""
        own = args[: args.index("--")] if "--" in args else args
        ctx.obj = ErrorOutput(DEBUG in own, JSON in own)
        try:
            return super().parse_args(ctx, [a for a in own if a != DEBUG] + args[len(own) :])
        except Exception as error:
            _prepare_usage_error(ctx.obj, error)
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run a command, and turn errors into a message and an exit code."""
        output: ErrorOutput = ctx.obj
        try:
            return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except BaseException as error:
            # A model may raise anything; errors raised during its calls carry a note.
            if _is_broken_pipe(error) and (not _notes(error) or _output_is_closed()):
                _close_output()
                raise typer.Exit(CLOSED) from error
            if _is_usage(error):
                _prepare_usage_error(output, error)
                raise
            raise _report_error(output, error) from error


def _without_flag_types(params: list[Any]) -> list[Any]:
    """Remove the type of flags: with `<bool>` they would look as if they took a value."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


def _is_usage(error: BaseException) -> bool:
    return hasattr(error, "exit_code")


def _prepare_usage_error(output: ErrorOutput, error: BaseException) -> None:
    """Escape the message of an error that typer prints, such as an unknown option, which may be a hostile name."""
    message = getattr(error, "message", None)
    if not isinstance(message, str):
        return
    error.message = visible(message)  # type: ignore[attr-defined] - looked for above
    if output.json:
        _document(error, message, REFUSED)


def _report_error(output: ErrorOutput, error: BaseException) -> typer.Exit:
    """Print an error, and return the exception that ends the program."""
    if output.debug:
        sys.stderr.write(visible("".join(traceback.format_exception(error))))
    if isinstance(error, KeyboardInterrupt):  # `run` says so, wherever it happened
        if output.json:
            _document(error, "Interrupted.", INTERRUPTED)
        return typer.Exit(INTERRUPTED)
    if isinstance(error, DataError | ModelOutputError | UnsupportedError):
        return _exit(output, error, _in_a_shell(_text(error)), REFUSED)
    if isinstance(error, OSError) and not _notes(error):
        return _exit(output, error, _of_a_file(error), REFUSED)
    # Most often an error of the model, whose author needs the traceback.
    text = " ".join((_text(error), *_notes(error))).strip()
    ended = _exit(output, error, f"{type(error).__name__}: {text}", FAILED)
    if not output.debug:
        say(f"Use {DEBUG} to see the traceback.", "dim", error=True)
    return ended


def _text(error: BaseException) -> str:
    """Return the message of an error; the ``__str__`` of a model's exception may fail."""
    if isinstance(error, SystemExit):
        return f"the model, or a library, ended the program ({error.code})"
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an exception class of the model
        return "the error has no readable message"


def _notes(error: BaseException) -> list[str]:
    return list(getattr(error, "__notes__", ()))


def _of_a_file(error: OSError) -> str:
    """Return the message of an `OSError` with its file, without the error number."""
    if error.filename is None or error.strerror is None:
        return f"{type(error).__name__}: {_text(error)}"
    return f"{error.filename}: {error.strerror}. Check the path and its permissions."


def _in_a_shell(text: str) -> str:
    """Append the command-line option that corresponds to a suggestion in Python."""
    hints = [hint for words, hint in _HINTS if words in text]
    chosen = re.search(r"Did you mean sd\.\w+\(model, class_=(.+?)\)\?", text)
    if chosen is not None:
        hints = [f"In a shell: --class {shlex.quote(chosen[1].strip(chr(39)))}."]
    return " ".join((text, *hints[:1]))


def _exit(output: ErrorOutput, error: BaseException, text: str, code: int) -> typer.Exit:
    """Print a message, and return the exception that ends the program with a code."""
    print_error(text)
    if output.json:
        _document(error, text, code)
    return typer.Exit(code)


def _document(error: BaseException, text: str, code: int) -> None:
    content = {"kind": type(error).__name__, "message": one_line(text), "exit_code": code}
    with contextlib.suppress(OSError):  # a closed pipe or a full disk: the exit code remains
        typer.echo(json.dumps({"error": content}, indent=1))


def print_error(text: str) -> None:
    """Print an error on standard error, in one line."""
    with contextlib.suppress(ValueError):  # a model may have closed the stream
        say(one_line(text), "red", error=True)


def _replace_unencodable(error: UnicodeError) -> tuple[str, int]:
    """Replace characters that the terminal's encoding lacks by similar ones, or by their code."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    text = "".join(_PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in letters)
    return text, error.end


def configure_streams() -> None:
    """Make all text printable, whatever the encoding of the terminal."""
    codecs.register_error("skedasis", _replace_unencodable)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="skedasis")  # type: ignore[union-attr]


def _is_broken_pipe(error: BaseException) -> bool:
    """Return whether the reader has closed the pipe; rich and click then end the program."""
    cause = error.__context__ if isinstance(error, SystemExit) else error
    return isinstance(cause, BrokenPipeError)


def _output_is_closed() -> bool:
    """Return whether our own standard output is closed, and not a pipe of the model."""
    try:
        poll = select.poll()
        poll.register(sys.stdout, select.POLLOUT)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    # No `poll` on this system, or standard output is not a file.
    except (AttributeError, OSError, ValueError):
        return False


def _close_output() -> None:
    """Discard remaining output after the reader has closed the pipe."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def _reserve_stdout(wanted: bool) -> Generator[None]:
    """Reserve standard output for the JSON document."""
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
    configure_streams()
    code: Any = 0
    with _reserve_stdout(JSON in (sys.argv[1:] if args is None else args)):
        try:
            app(args)
        except SystemExit as end:
            code = CLOSED if _is_broken_pipe(end) else end.code
        except KeyboardInterrupt:
            code = INTERRUPTED
        except BrokenPipeError:
            _close_output()
            code = CLOSED
        except OSError as error:  # for example a full disk
            print_error(_of_a_file(error))
            code = FAILED
        if code == INTERRUPTED:
            print_error("Interrupted.")
        try:
            sys.stdout.flush()
        except OSError as error:
            _close_output()
            code = CLOSED if isinstance(error, BrokenPipeError) else code or FAILED
        except (ValueError, AttributeError):  # closed by a model, or not available
            code = code or FAILED
    sys.exit(code)
