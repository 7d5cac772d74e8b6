"""Options of the commands, from dataclasses to typer."""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, get_type_hints

import typer

from skedasis.cli import completion
from skedasis.cli.output import Talk
from skedasis.cli.runtime import Command
from skedasis.errors import DataError, explained

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from skedasis.data.readers import Table


# ------------------------------------------------------------------------------------------
# From a dataclass to a command: what may stand on a command line is its fields.


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
    from skedasis.cli.output import jsonable

    said = {"skedasis": __version__, "command": name, **found}
    said |= {"notes": talk.notes, "seconds": round(seconds, 3)}
    return json.dumps(jsonable(said), indent=1, allow_nan=False)


# ------------------------------------------------------------------------------------------
# What a command is given: a model, a file, and what its columns are. The options that say so, and what they give.


MODEL, DATA = "The model", "The data"


ModelArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="MODEL",
        show_default=False,
        help="A model's file (.txt of LightGBM, .json or .ubj of XGBoost, .onnx, .skops, .pt2), or MODULE:OBJECT.",
        autocompletion=completion.features,
    ),
]


DataArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="A file of rows: CSV (.csv, .tsv, .csv.gz), Parquet (.parquet) or Feather (.feather, .arrow).",
        autocompletion=completion.features,
    ),
]


FeatureArguments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FEATURE",
        show_default=False,
        help="Columns to explain, or groups of them.",
        autocompletion=completion.features,
    ),
]


HeterogeneityRows = Annotated[
    int,
    typer.Option(
        help="Largest number of rows for the heterogeneity scores; 0: no scores.",
        metavar="N",
        min=0,
    ),
]


HETEROGENEITY_ROWS = 10_000


@dataclass(frozen=True, kw_only=True)
class Model:
    """Which model, and how far it is trusted."""

    model: Annotated[
        str | None,
        typer.Option(
            help="The same as MODEL.", metavar="MODEL", show_default=False, rich_help_panel=MODEL
        ),
    ] = None
    class_: Annotated[
        str | None,
        typer.Option(
            "--class",
            help="The class that is meant; each of them by itself: all. Where a model names no classes, the number of "
            "an output, from 0.",
            metavar="CLASS",
            rich_help_panel=MODEL,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Trust:
    """How far a model's file is trusted."""

    trust: Annotated[
        list[str] | None,
        typer.Option(
            help="A type in a .skops file that may be made; may be repeated. Without it the types are listed.",
            metavar="TYPE",
            rich_help_panel=MODEL,
        ),
    ] = None
    trust_pickle: Annotated[
        bool,
        typer.Option(
            "--trust-pickle",
            help="Read .pkl, .pickle, .joblib, .pt and .pth: THIS RUNS CODE FROM THE FILE, whatever it is. "
            "Only for files whose author you trust as you trust a program.",
            rich_help_panel=MODEL,
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class Data:
    """Which rows, and what their columns are."""

    data: Annotated[
        str | None,
        typer.Option(
            help="The same as DATA.", metavar="FILE", show_default=False, rich_help_panel=DATA
        ),
    ] = None
    target: Annotated[
        str | None,
        typer.Option(
            help="The column of the labels; it is no feature.",
            metavar="COLUMN",
            autocompletion=completion.columns,
            rich_help_panel=DATA,
        ),
    ] = None
    weights: Annotated[
        str | None,
        typer.Option(
            help="The column that says how often a row counts; it is no feature.",
            metavar="COLUMN",
            autocompletion=completion.columns,
            rich_help_panel=DATA,
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            help="A column that is no feature, an identifier, say; may be repeated. Of a model that knows its columns "
            "by name the others are ignored anyway.",
            metavar="COLUMN",
            autocompletion=completion.columns,
            rich_help_panel=DATA,
        ),
    ] = None
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            help="A column whose numbers are codes without an order; may be repeated.",
            metavar="COLUMN",
            autocompletion=completion.columns,
            rich_help_panel=DATA,
        ),
    ] = None
    group: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns that move together, such as a one-hot block; may be repeated.",
            metavar="NAME=COLUMN,COLUMN",
            autocompletion=completion.grouped_columns,
            rich_help_panel=DATA,
        ),
    ] = None
    sample: Annotated[
        int | None,
        typer.Option(
            help="Explain on so many rows, drawn by --seed; by default on all.",
            metavar="N",
            min=1,
            rich_help_panel=DATA,
        ),
    ] = None
    seed: Annotated[
        int, typer.Option(help="Of all that is drawn.", metavar="N", min=0, rich_help_panel=DATA)
    ] = 0


@dataclass(frozen=True, kw_only=True)
class Features:
    """Which features."""

    feature: Annotated[
        list[str] | None,
        typer.Option(
            help="The same as FEATURE; may be repeated.",
            metavar="COLUMN",
            autocompletion=completion.columns,
        ),
    ] = None
    features: Annotated[
        str | None,
        typer.Option(
            help="Several at once, with commas between them.",
            metavar="COLUMN,COLUMN",
            autocompletion=completion.listed_columns,
        ),
    ] = None


def needed(specs: list[str], data: str | None, command: str) -> str:
    """Return the file, where both it and a model are named.

    Raises
    ------
    DataError
    """
    form = f"skedasis {command} MODEL DATA" + (" FEATURE" if command == "effect" else "")
    if not specs:
        raise DataError(
            explained("MODEL", "none", "a model's file, or MODULE:OBJECT", f"Write it as {form}")
        )
    if data is None:
        raise DataError(explained("DATA", "none", "a file of rows", f"Write it as {form}"))
    return data


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a file that are explained on.

    Parameters
    ----------
    table : Table
        All of its columns.
    labels, weights : ndarray, optional
        Of `table`'s rows.
    read, unlabelled : int
        Rows in the file, and how many of them were left out for want of a label.
    """

    table: Table
    labels: NDArray[Any] | None
    weights: NDArray[Any] | None
    read: int
    unlabelled: int

    @property
    def counts(self) -> dict[str, int]:
        """Return what a document says of them."""
        return {"read": self.read, "without_label": self.unlabelled, "used": len(self.table)}
