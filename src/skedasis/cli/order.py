"""From a dataclass to a command: what may stand on a command line is its fields."""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar, get_type_hints

import typer

from skedasis.cli.shell import Command
from skedasis.cli.talk import Talk

HOW = "How it is told"
Order = TypeVar("Order", bound="Told")


@dataclass(frozen=True, kw_only=True)
class Told:
    """How a command tells what it has done: the options of all commands."""

    json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print one JSON document and nothing else.", rich_help_panel=HOW
        ),
    ] = False
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Print results and errors only.", rich_help_panel=HOW),
    ] = False
    progress: Annotated[
        bool,
        typer.Option(
            "--progress/--no-progress",
            help="Bars on standard error where that is a terminal.",
            rich_help_panel=HOW,
        ),
    ] = True

    @property
    def bars(self) -> bool | None:
        """Return what the library takes as `progress`: None shows bars in a terminal."""
        return None if self.progress and not self.quiet else False


@dataclass(frozen=True)
class Work(Generic[Order]):
    """What a command does.

    Parameters
    ----------
    kind : type
        The dataclass of its options.
    do : callable
        Takes an order and who talks, and returns what the JSON document holds.
    """

    kind: type[Order]
    do: Callable[[Order, Talk], dict[str, Any]]


def add(app: typer.Typer, name: str, work: Work[Any], examples: str = "") -> None:
    """Make a command of a function that takes an order."""

    def command(**given: Any) -> None:
        order = work.kind(**given)
        talk = Talk(json=order.json, quiet=order.quiet)
        began = time.perf_counter()
        # A model may print; with --json standard output belongs to the document.
        with redirect_stdout(sys.stderr) if order.json else nullcontext(), talk.hears_warnings():
            found = work.do(order, talk)
        if order.json:
            typer.echo(_document(name, found, talk, time.perf_counter() - began))

    command.__doc__ = work.do.__doc__
    command.__signature__ = inspect.Signature(_parameters(work.kind))
    command.__annotations__ = {p.name: p.annotation for p in _parameters(work.kind)}
    app.command(name, cls=Command, epilog=examples or None)(command)


def _parameters(kind: type[Any]) -> list[inspect.Parameter]:
    """Return a dataclass's fields as parameters: its own first, then those of its bases in their order."""
    hints = get_type_hints(kind, include_extras=True)
    fields = {f.name: f for f in dataclasses.fields(kind)}
    order = dict.fromkeys(name for base in kind.__mro__ for name in inspect.get_annotations(base))
    found: list[inspect.Parameter] = []
    for name in order:
        if name not in fields:
            continue
        default = fields[name].default
        if default is dataclasses.MISSING:
            default = inspect.Parameter.empty
        found.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[name]
            )
        )
    return found


def _document(name: str, found: dict[str, Any], talk: Talk, seconds: float) -> str:
    from skedasis import __version__
    from skedasis.cli.machine import jsonable

    said = {"skedasis": __version__, "command": name, **found}
    said |= {"notes": talk.notes, "seconds": round(seconds, 3)}
    return json.dumps(jsonable(said), indent=1, allow_nan=False)
