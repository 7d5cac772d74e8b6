"""Options of the commands: dataclasses, and how they become typer commands."""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, cast, get_args, get_type_hints

import typer

from skedasis import __version__
from skedasis.cli import choices, completion
from skedasis.cli.output import EVERY_ENDING, Document, Terminal, jsonable
from skedasis.cli.runtime import Command
from skedasis.engine.options import ExplainOptions, help_of
from skedasis.errors import DataError
from skedasis.quantities.inverse import as_inverse
from skedasis.registry import QUANTITIES, methods_that

if TYPE_CHECKING:
    from skedasis.methods.base import Parameters
    from skedasis.quantities.base import Quantity
    from skedasis.quantities.inverse import InverseName


# ----------------------------------------------------------------- from a dataclass to a command
def option(
    text: str,
    *names: str,
    metavar: str | None = None,
    default: object = None,
    least: int | None = None,
    complete: Callable[..., object] | None = None,
) -> Any:
    """Return a field that is an option: without names, `--` and the name of the field; see `_METAVARS`."""
    made = partial(
        typer.Option, *names, help=text, metavar=metavar, min=least, autocompletion=complete
    )
    return field(default=default, metadata={"typer": made})


column = partial(option, metavar="COLUMN", complete=completion.columns)
"""Returns a field that is an option which names a column."""


columns = partial(option, metavar="COLUMN,COLUMN", complete=completion.listed_columns)
"""Returns a field that is an option which names several columns."""


choice = partial(option, metavar="NAME")
"""Returns a field that is an option which chooses by name."""


def argument(text: str, metavar: str, complete: Callable[..., object] = completion.features) -> Any:
    """Return a field that is an argument."""
    made = partial(
        typer.Argument, help=text, metavar=metavar, show_default=False, autocompletion=complete
    )
    return field(default=None, metadata={"typer": made, "argument": True})


def shared(name: str, least: int | None = None) -> Any:
    """Return a field that is an option of the library's functions, with its default and text."""
    default = ExplainOptions.__dataclass_fields__[name].default
    made = partial(typer.Option, help=help_of(name), min=least)
    return field(default=default, metadata={"typer": made, "shared": True})


_METAVARS: Mapping[object, str] = {int: "N", Path: "FILE"}
"""What the help shows for the value of an option, by its type, where the option does not say it."""


def _parameters(kind: type[OutputOptions]) -> list[inspect.Parameter]:
    """Return the fields of a dataclass as parameters: arguments, its own options, then those of its bases."""
    hints, known = get_type_hints(kind), {f.name: f for f in dataclasses.fields(kind)}
    found: dict[str, inspect.Parameter] = {}
    for base in kind.__mro__:
        panel = vars(base).get("panel")
        for name in inspect.get_annotations(base):
            if name in known and name not in found:
                made = known[name].metadata["typer"](rich_help_panel=panel)
                kinds = (hints[name], *get_args(hints[name]))
                made.metavar = made.metavar or next(filter(None, map(_METAVARS.get, kinds)), None)
                found[name] = inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=known[name].default,
                    annotation=Annotated[hints[name], made],
                )
    arguments = [name for name, one in known.items() if "argument" in one.metadata]
    options = [name for name in found if name not in arguments]
    return [found[name] for name in (*arguments, *options)]


def add(app: typer.Typer, name: str, do: Callable[..., Document], examples: str) -> None:
    """Add a command to an application; its options are of the class that the function's first argument has."""
    kind: type[OutputOptions] = next(iter(get_type_hints(do).values()))
    parameters = _parameters(kind)

    def command(**given: Any) -> None:  # typer has checked the types
        opts = kind(**given)
        terminal = Terminal(json=opts.json, quiet=opts.quiet)
        began = time.perf_counter()
        # A model may print; with --json standard output belongs to the document.
        with redirect_stdout(sys.stderr) if opts.json else nullcontext(), terminal.print_warnings():
            found = do(opts, terminal)
        if opts.json:
            typer.echo(_document(name, found, terminal, time.perf_counter() - began))

    command.__doc__ = do.__doc__
    command.__signature__ = inspect.Signature(parameters)
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    app.command(name, cls=Command, epilog=examples)(command)


def _document(name: str, found: Document, terminal: Terminal, seconds: float) -> str:
    document = {"skedasis": __version__, "command": name, **found}
    document |= {"notes": terminal.notes, "seconds": round(seconds, 3)}
    return json.dumps(jsonable(document), indent=1, allow_nan=False)


# -------------------------------------------------------------------------------- shared options
@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Options about output, which all commands have."""

    panel: ClassVar[str | None] = "Output"

    json: bool = option("Print one JSON document instead of text.", "--json", default=False)
    quiet: bool = option("Print only results and errors.", "--quiet", "-q", default=False)
    progress: bool = option("Show progress bars, if standard error is a terminal.", default=True)

    @property
    def bars(self) -> bool | None:
        """Return the `progress` argument of the library; None shows bars in a terminal."""
        return None if self.progress and not self.quiet else False


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Options about the model."""

    panel: ClassVar[str | None] = "Model"

    model: list[str] | None = option(
        "Same as MODEL; may be repeated for effect, regions and report.", metavar="MODEL"
    )
    class_: str | None = option(
        "The class to explain, or all. For a model without class names, the number of an output, starting at 0.",
        "--class",
        metavar="CLASS",
    )
    inverse: str | None = choice(
        "Function to apply to the predictions before explaining them, for a model of transformed labels: exp, "
        "expm1, exp10, square, expit, ….",
        complete=completion.inverses,
    )
    trust: list[str] | None = option(
        "A type in a .skops file to trust; may be repeated. Without this option, an error lists the types.",
        metavar="TYPE",
    )
    trust_pickle: bool = option(
        "Read .pkl, .pickle, .joblib, .pt and .pth files. THIS RUNS CODE FROM THE FILE: use it only for "
        "files from authors whose programs you would run.",
        "--trust-pickle",
        default=False,
    )


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """Options about the rows and columns of the data."""

    panel: ClassVar[str | None] = "Data"

    data: str | None = option("Same as DATA.", metavar="FILE")
    target: str | None = column("Column of the labels; it is not used as a feature.")
    sample_weight: str | None = column("Column of row weights; it is not used as a feature.")
    ignore: list[str] | None = column(
        "Column that is not a feature, such as an identifier; may be repeated. Models that know the names of "
        "their columns ignore other columns anyway."
    )
    categorical: list[str] | None = column(
        "Column whose numbers are codes without an order; may be repeated."
    )
    unit: list[str] | None = option(
        "Unit of a column, shown on axes and in sentences; may be repeated.",
        metavar="COLUMN=UNIT",
        complete=completion.columns,
    )
    label: list[str] | None = option(
        "Text for a column in figures and sentences, in place of its name; may be repeated.",
        metavar="COLUMN=TEXT",
        complete=completion.columns,
    )
    schema: str | None = option(
        'JSON file with kinds, units, labels and levels of columns: {"temp": {"unit": "°C", "label": '
        '"Temperature"}, "day": {"labels": {"0": "weekend"}}}.',
        metavar="FILE",
    )
    group: list[str] | None = option(
        "Columns to explain as one feature, such as a one-hot block; may be repeated. For importances, groups "
        "may share columns.",
        metavar="NAME=COLUMN,COLUMN",
        complete=completion.grouped_columns,
    )
    where: str | None = option(
        "Explain only rows that satisfy a condition in SQL, such as \"yr = 1 AND town IN ('a', 'b')\".",
        metavar="CONDITION",
        complete=completion.columns,
    )
    sample: int | None = shared("sample", 1)
    memory: str = option(
        "Memory for the rows. Parquet data that need more are read in chunks.",
        metavar="SIZE",
        default="2GB",
    )
    random_state: int = shared("random_state", 0)


@dataclass(frozen=True, kw_only=True)
class QuantityOptions(ModelOptions, DataOptions):
    """The quantity that is explained, and its loss."""

    panel: ClassVar[str | None] = None

    quantity: str | None = choice(
        f"Quantity to explain: {', '.join(QUANTITIES)}. By default the prediction, or the probability "
        "of the second of two classes.",
        complete=completion.quantities,
    )
    loss: str | None = choice(
        f"Loss for --quantity loss: {', '.join(completion.LOSSES)}.",
        complete=completion.losses,
    )

    def only_with(
        self, option: str, kinds: Sequence[str], fix: str = "Leave one of them out"
    ) -> DataError:
        """Return the error for an option that belongs to other quantities than the one that is chosen."""
        got = "no --quantity" if self.quantity is None else f"--quantity {self.quantity}"
        return DataError(option, got, f"--quantity {' or '.join(kinds)}", fix)

    def check_quantity(self, known: Collection[str]) -> None:
        """Raise for a quantity that is not known, and for a loss or an inverse that does not belong to it."""
        choices.check_known("--quantity", self.quantity, known)
        if self.loss is not None and self.quantity not in (None, "loss"):
            raise self.only_with("--loss", ("loss",))
        if self.inverse is not None:
            as_inverse(self.inverse, "--inverse")
            if self.quantity not in (None, "loss", "prediction"):
                raise self.only_with("--inverse", ("loss", "prediction"))

    def kind(self) -> str | None:
        """Return the kind of quantity that the options select, or None for the default of the model."""
        kind = self.quantity
        self.check_quantity(QUANTITIES)
        of_class = [name for name, entry in QUANTITIES.items() if entry.of_class]
        if kind is None and self.loss is not None:
            kind = "loss"
        elif kind is None and self.class_ is not None and self.inverse is None:
            kind = "probability"
        if self.class_ is not None and kind is not None and kind not in of_class:
            raise replace(self, quantity=kind).only_with("--class", of_class)
        return kind

    @property
    def observed_only(self) -> bool:
        """Return whether only observed rows have values of the quantity."""
        kind = self.kind()
        return kind is not None and QUANTITIES[kind].observed_only

    def needs_labels(self) -> bool:
        """Check the options about the quantity before any file is read; return whether it needs labels."""
        kind = self.kind()
        if kind is None or not QUANTITIES[kind].labelled:
            return False
        if self.target is None:
            got = f"none, for --quantity {kind}"
            fix = "Add --target COLUMN, or choose another quantity"
            raise DataError("--target", got, "the column of the labels", fix)
        return True

    def quantity_of(self, model: Any) -> Quantity:
        """Return the quantity of a model that the options select."""
        from skedasis.engine.select import loaded
        from skedasis.quantities import outputs

        kind = self.kind()
        if self.inverse is not None:
            function = cast("InverseName", self.inverse)  # checked by `kind`
            predicted = outputs.prediction(model, inverse=function)
            if self.class_ is not None:
                output = choices.output_of(self.class_)
                predicted = outputs.prediction(model, output=output, inverse=function)
            return choices.loss_of(predicted, self.loss) if kind == "loss" else predicted
        if kind == "loss":
            return choices.loss_of(model, self.loss)
        if kind is None:
            return outputs.as_quantity(model)
        make = cast("Callable[..., Quantity]", loaded(QUANTITIES[kind]))
        of_what = () if kind == "label" else (model,)
        if self.class_ is None or not QUANTITIES[kind].of_class:
            return make(*of_what)
        if self.quantity is None and not hasattr(model, "predict_proba"):
            return outputs.prediction(model, output=choices.output_of(self.class_))
        return make(*of_what, class_=choices.class_of(model, self.class_))


@dataclass(frozen=True, kw_only=True)
class SessionOptions(QuantityOptions, OutputOptions):
    """The arguments and options of all commands that explain models."""

    panel: ClassVar[str | None] = None
    compares: ClassVar[bool] = False
    """Whether the command takes several models."""

    model_: str | None = argument(
        "A model file (LightGBM .txt, XGBoost .json or .ubj, CatBoost .cbm, .onnx, .skops, .pt2), or "
        "MODULE:OBJECT, a variable in a Python file of this folder (my:model is `model` in my.py).",
        "MODEL",
    )
    data_: str | None = argument(
        "A data file: CSV (.csv, .tsv, .csv.gz), Parquet (.parquet) or Feather (.feather, .arrow).",
        "DATA",
    )
    n_jobs: int = shared("n_jobs", -1)
    max_model_rows: int | None = shared("max_model_rows", 1)
    out: Path | None = option(
        "Output file: a figure (.png, .svg, .pdf), an interactive page (.html) or numbers (.csv, .json, .npz). "
        "In .csv, text that begins like a formula (= + - @) gets an apostrophe.",
        "--out",
        "-o",
    )

    def outputs(self) -> list[tuple[Path | None, Sequence[str], str]]:
        """Return the files that are written: paths, possible endings, and options."""
        return [(self.out, EVERY_ENDING, "--out")]

    def named(self, more: Sequence[str]) -> list[str]:
        """Return the features that the arguments after the data name."""
        return [*more]

    def check(self, named: Sequence[str]) -> None:
        """Check the options that are the command's own before any file is read."""

    def assigned(self, command: str) -> tuple[list[str], str, list[str]]:
        """Return the models, the path of the data, and the further arguments."""
        models, data, more = completion.assign_arguments(
            self.model, self.data, self.model_, self.data_, vars(self).get("more")
        )
        form = f"skedasis {command} MODEL DATA" + (" FEATURE" if command == "effect" else "")
        if not models:
            raise DataError("MODEL", "none", "a model file, or MODULE:OBJECT", f"Run {form}")
        rows = next((m for m in models if m.lower().endswith(choices.DATA)), None)
        if rows is not None:
            got, fix = f"the data file {rows!r}", f"Write the model first: {form}"
            raise DataError("MODEL", got, "a model file, or MODULE:OBJECT", fix)
        if len(models) > 1 and not self.compares:
            fix = "Run the command for each of them; effect, regions and report compare models"
            raise DataError("--model", f"{len(models)} models", "one model", fix)
        if data is None:
            raise DataError("DATA", "none", "a data file", f"Run {form}")
        return models, data, more


@dataclass(frozen=True, kw_only=True)
class FeatureOptions(SessionOptions):
    """The features of a command that explains models."""

    panel: ClassVar[str | None] = None

    more: list[str] | None = argument(
        "Columns or groups to explain, also as patterns: 'temp*' or '/regex/'.", "FEATURE"
    )
    feature: list[str] | None = column("Same as FEATURE; may be repeated.")
    features: str | None = columns(
        "Comma-separated list of features, also as patterns: 'temp*' or '/regex/'."
    )

    def named(self, more: Sequence[str]) -> list[str]:
        """Return the features that arguments and options name, each once."""
        names = (*more, *(self.feature or ()), *choices.listed(self.features, "--features"))
        return list(dict.fromkeys(names))


@dataclass(frozen=True, kw_only=True)
class MethodOptions(FeatureOptions):
    """The method of effects, and its bins."""

    panel: ClassVar[str | None] = None

    method: str | None = choice(
        f"Method: {', '.join(methods_that(lambda m: not m.importance))}. By default rhale, or ale for two "
        "features and for levels without an order.",
        complete=completion.methods,
    )
    bins: int | None = option("Number of bins, or of grid points for pdp and ice.", least=1)

    def method_for(self, usual: str | None) -> Parameters | None:
        """Return the method with the number of bins, `usual` if none is named; None for the library's default."""
        name = self.method or usual or ("rhale" if self.bins else None)
        return None if name is None else choices.method_of(name, self.bins)

    def check(self, named: Sequence[str]) -> None:
        """Check the method and its bins."""
        if self.method is not None:
            choices.method_of(self.method, self.bins)
