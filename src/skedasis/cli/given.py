"""What a command is given: a model, a file, and what its columns are. The options that say so, and what they give."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skedasis.cli import ask, complete, models
from skedasis.errors import DataError, explained

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from skedasis.cli.ask import Columns
    from skedasis.cli.talk import Talk
    from skedasis.data.readers import Table

MODEL, DATA = "The model", "The data"
ModelArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="MODEL",
        show_default=False,
        help="A model's file (.txt of LightGBM, .json or .ubj of XGBoost, .onnx, .skops, .pt2), or MODULE:OBJECT.",
        autocompletion=complete.features,
    ),
]
DataArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="A file of rows: CSV (.csv, .tsv, .csv.gz), Parquet (.parquet) or Feather (.feather, .arrow).",
        autocompletion=complete.features,
    ),
]
FeatureArguments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FEATURE",
        show_default=False,
        help="Columns to explain, or groups of them.",
        autocompletion=complete.features,
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
            autocompletion=complete.columns,
            rich_help_panel=DATA,
        ),
    ] = None
    weights: Annotated[
        str | None,
        typer.Option(
            help="The column that says how often a row counts; it is no feature.",
            metavar="COLUMN",
            autocompletion=complete.columns,
            rich_help_panel=DATA,
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            help="A column that is no feature, an identifier, say; may be repeated. Of a model that knows its columns "
            "by name the others are ignored anyway.",
            metavar="COLUMN",
            autocompletion=complete.columns,
            rich_help_panel=DATA,
        ),
    ] = None
    categorical: Annotated[
        list[str] | None,
        typer.Option(
            help="A column whose numbers are codes without an order; may be repeated.",
            metavar="COLUMN",
            autocompletion=complete.columns,
            rich_help_panel=DATA,
        ),
    ] = None
    group: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns that move together, such as a one-hot block; may be repeated.",
            metavar="NAME=COLUMN,COLUMN",
            autocompletion=complete.grouped_columns,
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
            autocompletion=complete.columns,
        ),
    ] = None
    features: Annotated[
        str | None,
        typer.Option(
            help="Several at once, with commas between them.",
            metavar="COLUMN,COLUMN",
            autocompletion=complete.listed_columns,
        ),
    ] = None


def placed(
    model: Sequence[str] | str | None,
    data: str | None,
    first: str | None,
    second: str | None,
    rest: Sequence[str] | None,
) -> tuple[list[str], str | None, list[str]]:
    """Return models, file and features: options by their names, then arguments in the order of what is still missing.

    Examples
    --------
    >>> placed(None, None, "m.txt", "d.csv", ["age"])
    (['m.txt'], 'd.csv', ['age'])
    >>> placed("m.txt", None, "d.csv", "age", [])
    (['m.txt'], 'd.csv', ['age'])
    """
    specs = [model] if isinstance(model, str) else list(model or ())
    waiting = [a for a in (first, second, *(rest or ())) if a is not None]
    if not specs and waiting:
        specs = [waiting.pop(0)]
    if data is None and waiting:
        data = waiting.pop(0)
    return specs, data, waiting


def listed(names: str | None, option: str) -> list[str]:
    """Return names with commas between them; those that contain one stand in quotation marks.

    Raises
    ------
    DataError
        For a list with nothing in it, or nothing between two commas.
    """
    if names is None:
        return []
    found = [n.strip() for n in next(csv.reader([names], skipinitialspace=True), [])]
    if not found or not all(found):
        raise DataError(
            explained(option, repr(names), "COLUMN,COLUMN", f"Write it as {option} age,town")
        )
    return found


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


def read(order: Data, path: str, talk: Talk, bars: bool | None) -> Table:
    """Read the file, and look whether it has the columns that are named beside the features.

    Raises
    ------
    DataError
    """
    from skedasis.data.readers import read_table

    with talk.at_work(f"Reading {path}", bars):
        table = read_table(Path(path))
    beside = [(order.target, "--target"), (order.weights, "--weights")]
    for name, option in (*beside, *((n, "--ignore") for n in order.ignore or ())):
        if name is not None:
            table.place(name, option)
    if order.target is not None and order.target == order.weights:
        got, fix = f"{order.weights!r}, which is --target too", "Name another column"
        raise DataError(explained("--weights", got, "a column of its own", fix))
    return table


def rows_of(order: Data, table: Table, talk: Talk, *, labelled: bool) -> Rows:
    """Return the rows to explain on: those with a label where one is needed, and a sample of them where one is wanted.

    Parameters
    ----------
    order : Data
    table : Table
    talk : Talk
    labelled : bool
        Whether rows without a label are left out.
    """
    import numpy as np

    everything, left = len(table), 0
    if labelled and order.target is not None:
        table, left = ask.labelled(table, order.target)
        if left:
            talk.say(f"left out  {left:,} rows without a {order.target}")
    if order.sample is not None and order.sample < len(table):
        some = np.random.default_rng(order.seed).choice(len(table), order.sample, replace=False)
        talk.say(f"sample    {order.sample:,} of {len(table):,} rows, seed {order.seed}")
        table = table.take(np.sort(some))
    return Rows(
        table,
        None if order.target is None else table.column(order.target),
        None if order.weights is None else table.column(order.weights),
        everything,
        left,
    )


def columns_of(order: Data, table: Table, model: Any) -> Columns:
    """Return the columns that a model takes, and what was said of them."""
    beside = [n for n in (order.target, order.weights, *(order.ignore or ())) if n is not None]
    return ask.columns_of(models.features_of(table, model, beside), order.categorical, order.group)


def load(order: Trust, spec: str, talk: Talk, bars: bool | None) -> Any:
    """Load a model."""
    with talk.at_work(f"Loading {spec}", bars):
        return models.load_model(spec, tuple(order.trust or ()), pickle=order.trust_pickle)
