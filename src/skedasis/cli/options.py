"""Options of the commands: dataclasses, and how they become typer commands."""

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

from skedasis import __version__
from skedasis._types import Values
from skedasis.cli import completion
from skedasis.cli.output import Document, Terminal, jsonable
from skedasis.cli.runtime import Command
from skedasis.engine.options import help_of
from skedasis.errors import DataError
from skedasis.registry import QUANTITIES

if TYPE_CHECKING:
    from skedasis.data.readers import FileTable


# ----------------------------------------------------------------- from a dataclass to a command
def option(
    text: str,
    *names: str,
    metavar: str | None = None,
    least: int | None = None,
    complete: Callable[..., object] | None = None,
    panel: str | None = None,
) -> Any:
    """Return the declaration of an option by its help, its names, what completes it, and its panel in the help."""
    return typer.Option(
        *names,
        help=text,
        metavar=metavar,
        min=least,
        autocompletion=complete,
        rich_help_panel=panel,
    )


def column(text: str, *names: str, panel: str | None = None) -> Any:
    """Return the declaration of an option that names a column."""
    return option(text, *names, metavar="COLUMN", complete=completion.columns, panel=panel)


OUTPUT_PANEL = "Output"


Options = TypeVar("Options", bound="OutputOptions")


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Options about output, which all commands have."""

    json: Annotated[
        bool,
        option("Print one JSON document instead of text.", "--json", panel=OUTPUT_PANEL),
    ] = False
    quiet: Annotated[
        bool,
        option("Print only results and errors.", "--quiet", "-q", panel=OUTPUT_PANEL),
    ] = False
    progress: Annotated[
        bool,
        option(
            "Show progress bars, if standard error is a terminal.",
            "--progress/--no-progress",
            panel=OUTPUT_PANEL,
        ),
    ] = True

    @property
    def bars(self) -> bool | None:
        """Return the `progress` argument of the library; None shows bars in a terminal."""
        return None if self.progress and not self.quiet else False


@dataclass(frozen=True)
class CommandSpec(Generic[Options]):
    """A command: its options and its function."""

    kind: type[Options]
    do: Callable[[Options, Terminal], Document]


def add(app: typer.Typer, name: str, spec: CommandSpec[Options], examples: str = "") -> None:
    """Add a command to an application."""

    def command(**given: Any) -> None:  # typer has checked the types
        opts = spec.kind(**given)
        terminal = Terminal(json=opts.json, quiet=opts.quiet)
        began = time.perf_counter()
        # A model may print; with --json standard output belongs to the document.
        with redirect_stdout(sys.stderr) if opts.json else nullcontext(), terminal.print_warnings():
            found = spec.do(opts, terminal)
        if opts.json:
            typer.echo(_document(name, found, terminal, time.perf_counter() - began))

    command.__doc__ = spec.do.__doc__
    command.__signature__ = inspect.Signature(_parameters(spec.kind))
    command.__annotations__ = {p.name: p.annotation for p in _parameters(spec.kind)}
    app.command(name, cls=Command, epilog=examples or None)(command)


_ARGUMENTS = ("model_", "data_", "more")
"""Fields that are arguments, in their order."""


def _parameters(kind: type[OutputOptions]) -> list[inspect.Parameter]:
    """Return the fields of a dataclass as parameters: arguments, its own options, then those of its bases in order."""
    hints = get_type_hints(kind, include_extras=True)
    fields = {f.name: f for f in dataclasses.fields(kind)}
    own = (name for base in kind.__mro__ for name in inspect.get_annotations(base))
    order = dict.fromkeys([*_ARGUMENTS, *own])
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


def _document(name: str, found: Document, terminal: Terminal, seconds: float) -> str:
    document = {"skedasis": __version__, "command": name, **found}
    document |= {"notes": terminal.notes, "seconds": round(seconds, 3)}
    return json.dumps(jsonable(document), indent=1, allow_nan=False)


# -------------------------------------------------------------------------------- shared options
MODEL_PANEL, DATA_PANEL = "Model", "Data"


ModelArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="MODEL",
        show_default=False,
        help="A model file (LightGBM .txt, XGBoost .json or .ubj, CatBoost .cbm, .onnx, .skops, .pt2), or "
        "MODULE:OBJECT, a variable in a Python file of this folder (my:model is `model` in my.py).",
        autocompletion=completion.features,
    ),
]


DataArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        show_default=False,
        help="A data file: CSV (.csv, .tsv, .csv.gz), Parquet (.parquet) or Feather (.feather, .arrow).",
        autocompletion=completion.features,
    ),
]


FeatureArguments = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FEATURE",
        show_default=False,
        help="Columns or groups to explain, also as patterns: 'temp*' or '/regex/'.",
        autocompletion=completion.features,
    ),
]


HeterogeneityRows = Annotated[
    int,
    option(help_of("heterogeneity_rows"), metavar="N", least=0),
]


QuantityName = Annotated[
    str | None,
    option(
        f"Quantity to explain: {', '.join(QUANTITIES)}. By default the prediction, or the probability "
        "of the second of two classes.",
        metavar="NAME",
        complete=completion.quantities,
    ),
]


LossOption = Annotated[
    str | None,
    option(
        f"Loss for --quantity loss: {', '.join(completion.LOSSES)}.",
        metavar="NAME",
        complete=completion.losses,
    ),
]


CurveRows = Annotated[int, option(help_of("curves"), metavar="N", least=0)]


BinCount = Annotated[
    int | None,
    option("Number of bins, or of grid points for pdp and ice.", metavar="N", least=1),
]


Threads = Annotated[int, option(help_of("n_jobs"), metavar="N", least=-1)]


MostModelRows = Annotated[int | None, option(help_of("max_model_rows"), metavar="N", least=1)]


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Options about the model."""

    model: Annotated[
        str | None,
        option("Same as MODEL.", metavar="MODEL", panel=MODEL_PANEL),
    ] = None
    class_: Annotated[
        str | None,
        option(
            "The class to explain, or all. For a model without class names, the number of an output, starting "
            "at 0.",
            "--class",
            metavar="CLASS",
            panel=MODEL_PANEL,
        ),
    ] = None
    inverse: Annotated[
        str | None,
        option(
            "Function to apply to the predictions before explaining them, for a model of transformed labels: exp, "
            "expm1, exp10, square, expit, ….",
            metavar="NAME",
            complete=completion.inverses,
            panel=MODEL_PANEL,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class TrustOptions:
    """Options about trust in a model file."""

    trust: Annotated[
        list[str] | None,
        option(
            "A type in a .skops file to trust; may be repeated. Without this option, an error lists the types.",
            metavar="TYPE",
            panel=MODEL_PANEL,
        ),
    ] = None
    trust_pickle: Annotated[
        bool,
        option(
            "Read .pkl, .pickle, .joblib, .pt and .pth files. THIS RUNS CODE FROM THE FILE: use it only for "
            "files from authors whose programs you would run.",
            "--trust-pickle",
            panel=MODEL_PANEL,
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """Options about the rows and columns of the data."""

    data: Annotated[
        str | None,
        option("Same as DATA.", metavar="FILE", panel=DATA_PANEL),
    ] = None
    target: Annotated[
        str | None,
        column("Column of the labels; it is not used as a feature.", panel=DATA_PANEL),
    ] = None
    sample_weight: Annotated[
        str | None,
        column("Column of row weights; it is not used as a feature.", panel=DATA_PANEL),
    ] = None
    ignore: Annotated[
        list[str] | None,
        column(
            "Column that is not a feature, such as an identifier; may be repeated. Models that know the names of "
            "their columns ignore other columns anyway.",
            panel=DATA_PANEL,
        ),
    ] = None
    categorical: Annotated[
        list[str] | None,
        column(
            "Column whose numbers are codes without an order; may be repeated.", panel=DATA_PANEL
        ),
    ] = None
    unit: Annotated[
        list[str] | None,
        option(
            "Unit of a column, shown on axes and in sentences; may be repeated.",
            metavar="COLUMN=UNIT",
            complete=completion.columns,
            panel=DATA_PANEL,
        ),
    ] = None
    label: Annotated[
        list[str] | None,
        option(
            "Text for a column in figures and sentences, in place of its name; may be repeated.",
            metavar="COLUMN=TEXT",
            complete=completion.columns,
            panel=DATA_PANEL,
        ),
    ] = None
    schema: Annotated[
        str | None,
        option(
            'JSON file with kinds, units, labels and levels of columns: {"temp": {"unit": "°C", "label": '
            '"Temperature"}, "day": {"labels": {"0": "weekend"}}}.',
            metavar="FILE",
            panel=DATA_PANEL,
        ),
    ] = None
    group: Annotated[
        list[str] | None,
        option(
            "Columns to explain as one feature, such as a one-hot block; may be repeated. For importances, groups "
            "may share columns.",
            metavar="NAME=COLUMN,COLUMN",
            complete=completion.grouped_columns,
            panel=DATA_PANEL,
        ),
    ] = None
    where: Annotated[
        str | None,
        option(
            "Explain only rows that satisfy a condition in SQL, such as \"yr = 1 AND town IN ('a', 'b')\".",
            metavar="CONDITION",
            complete=completion.columns,
            panel=DATA_PANEL,
        ),
    ] = None
    sample: Annotated[
        int | None,
        option(help_of("sample"), metavar="N", least=1, panel=DATA_PANEL),
    ] = None
    memory: Annotated[
        str,
        option(
            "Memory for the rows. Parquet data that need more are read in chunks.",
            metavar="SIZE",
            panel=DATA_PANEL,
        ),
    ] = "2GB"
    random_state: Annotated[
        int,
        option(help_of("random_state"), metavar="N", least=0, panel=DATA_PANEL),
    ] = 0


@dataclass(frozen=True, kw_only=True)
class FeatureOptions:
    """Options about the features."""

    feature: Annotated[
        list[str] | None,
        column("Same as FEATURE; may be repeated."),
    ] = None
    features: Annotated[
        str | None,
        option(
            "Comma-separated list of features, also as patterns: 'temp*' or '/regex/'.",
            metavar="COLUMN,COLUMN",
            complete=completion.listed_columns,
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ExplainingOptions(TrustOptions, DataOptions, OutputOptions):
    """What the commands that explain a model share."""

    n_jobs: Threads = 1
    max_model_rows: MostModelRows = None


@dataclass(frozen=True, kw_only=True)
class CommandOptions(ModelOptions, ExplainingOptions):
    """The arguments and options of all commands that explain a model."""

    model_: ModelArgument = None
    data_: DataArgument = None
    more: FeatureArguments = None

    def assigned(self, command: str) -> tuple[list[str], str, list[str]]:
        """Return the models, the path of the data, and the further arguments."""
        models, data, more = completion.assign_arguments(
            self.model, self.data, self.model_, self.data_, self.more
        )
        form = f"skedasis {command} MODEL DATA" + (" FEATURE" if command == "effect" else "")
        if not models:
            raise DataError("MODEL", "none", "a model file, or MODULE:OBJECT", f"Run {form}")
        tables = (".csv", ".tsv", ".parquet", ".arrow", ".feather")
        if models[0].lower().endswith(tables):
            got, fix = f"the data file {models[0]!r}", f"Write the model first: {form}"
            raise DataError("MODEL", got, "a model file, or MODULE:OBJECT", fix)
        if data is None:
            raise DataError("DATA", "none", "a data file", f"Run {form}")
        return models, data, more


@dataclass(frozen=True, eq=False)
class RowOptions:
    """The rows of a file that are explained."""

    table: FileTable
    labels: Values | None
    weights: Values | None
    read: int
    unlabelled: int
    sample: int | None = None
    selected: int | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Return the numbers of rows for the JSON document."""
        where = {} if self.selected is None else {"where": self.selected}
        used = self.sample or len(self.table)
        return {"read": self.read, **where, "without_label": self.unlabelled, "used": used}
