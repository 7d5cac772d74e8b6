"""The shell commands: what the library does, for whom there is no Python at hand.

Every command starts after a plain install. What it needs beyond that is loaded, or named, when it is needed.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as Lines
from typer.core import TyperGroup

from skedasis.errors import DataError, ModelOutputError, UnsupportedError, explained

if TYPE_CHECKING:
    from skedasis.data.files import Table
    from skedasis.results.effect import Effect

DEBUG = "--debug"
METHODS = ("rhale", "ale", "dale", "uale", "pdp", "ice")
_NUMBERS = (".csv", ".json", ".npz")
_FIGURES = (".png", ".svg", ".pdf")


class _Group(TyperGroup):
    """Commands whose errors are one line: what, got, expected, fix."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take ``--debug`` from wherever it stands."""
        ctx.obj = DEBUG in args
        return super().parse_args(ctx, [a for a in args if a != DEBUG])

    def invoke(self, ctx: Any) -> Any:
        """Run a command; turn its errors into a line and an exit code."""
        try:
            return super().invoke(ctx)
        except (DataError, ModelOutputError, UnsupportedError, OSError) as error:
            if ctx.obj:
                raise
            _complain(str(error))
            raise typer.Exit(2) from error
        except Exception as error:
            # Not ours: a model's own, most often, and its author wants to see where.
            if ctx.obj or isinstance(error, (typer.Exit, typer.Abort)) or _is_usage(error):
                raise
            notes = " ".join(getattr(error, "__notes__", []))
            _complain(f"{type(error).__name__}: {error} {notes}".strip())
            _complain(f"{DEBUG} shows where.", "dim")
            raise typer.Exit(1) from error


def _is_usage(error: Exception) -> bool:
    """Return whether typer itself knows how to say this: a wrong option, say."""
    return hasattr(error, "exit_code")


def _complain(text: str, style: str = "red") -> None:
    console = Console(stderr=True)
    console.print(
        " ".join(text.split()), style=style, markup=False, highlight=False, soft_wrap=True
    )


app = typer.Typer(
    cls=_Group,
    name="skedasis",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Explain a fitted model: what each feature does, for whom that is not true, and how sure one can be.",
)

Data = Annotated[Path, typer.Option("--data", help="A CSV or Parquet file.", metavar="FILE")]
Model = Annotated[
    str,
    typer.Option(
        "--model", help="Where the model is: a module and a name in it.", metavar="MODULE:OBJECT"
    ),
]
Models = Annotated[
    list[str],
    typer.Option("--model", help="As MODULE:OBJECT; may be repeated.", metavar="MODULE:OBJECT"),
]
Target = Annotated[str | None, typer.Option(help="A column that is no feature.", metavar="COLUMN")]
Class = Annotated[
    str | None, typer.Option("--class", help="The class whose probability is explained.")
]


@app.callback()
def skedasis(
    debug: Annotated[bool, typer.Option(DEBUG, help="Show where an error came from.")] = False,
) -> None:
    """Take the options of all commands."""


@app.command("demo")
def demo_command(
    data: Annotated[
        Path | None, typer.Option(help="A CSV or Parquet file of your own.", metavar="FILE")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The column to learn.", metavar="COLUMN")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder to write into.", metavar="FOLDER")] = Path(
        "skedasis-demo"
    ),
    class_: Class = None,
    rows: Annotated[
        int | None, typer.Option(help="Explain on a sample of so many rows; by default on all.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the split, the models and samples.")] = 0,
) -> None:
    """Fit two models of real data, explain them, and write a page and its figures."""
    from skedasis.demo import demo

    demo(data, target, out, class_=class_, rows=rows, seed=seed, console=Console())


@app.command("report")
def report_command(
    model: Models,
    data: Data,
    feature: Annotated[
        list[str] | None, typer.Option(help="May be repeated; by default every one.")
    ] = None,
    target: Target = None,
    class_: Class = None,
    out: Annotated[Path, typer.Option(help="The page to write.", metavar="FILE")] = Path(
        "report.html"
    ),
    title: Annotated[str | None, typer.Option(help="The page's title.")] = None,
    seed: int = 0,
) -> None:
    """Write the whole story of one or several models into one page."""
    from skedasis.data.files import read_table
    from skedasis.report.build import report

    table = read_table(data)
    loaded = {spec.partition(":")[2]: load_model(spec) for spec in model}
    table = features_of(table, next(iter(loaded.values())), target)
    wanted = None if not feature else [table.place(f, "--feature") for f in feature]
    quantities = {name: quantity_of(m, class_) for name, m in loaded.items()}
    models: Any = quantities if len(quantities) > 1 else next(iter(quantities.values()))
    done = report(
        models, table.data, path=out, features=wanted, schema=table.schema, title=title, seed=seed
    )
    _say(f"page     {done.path}")


@app.command("effect")
def effect_command(  # noqa: PLR0917 - typer names them all
    model: Model,
    data: Data,
    feature: Annotated[str, typer.Option(help="The feature to explain.", metavar="COLUMN")],
    method: Annotated[str, typer.Option(help=f"One of {', '.join(METHODS)}.")] = "rhale",
    out: Annotated[
        Path | None,
        typer.Option(
            help="A figure (.png, .svg, .pdf) or the numbers (.csv, .json, .npz).", metavar="FILE"
        ),
    ] = None,
    target: Target = None,
    bins: Annotated[
        int | None, typer.Option(help="Bins; points of the grid for pdp and ice.", min=1)
    ] = None,
    class_: Class = None,
    seed: int = 0,
) -> None:
    """Explain one feature: print its numbers, and write a figure or the numbers into a file."""
    from skedasis.data.files import read_table
    from skedasis.engine import explain
    from skedasis.report.terminal import numbers

    ending = _checked_ending(out)
    way = method_of(method, bins)
    table = read_table(data)
    loaded = load_model(model)
    table = features_of(table, loaded, target)
    place = table.place(feature, "--feature")
    effect: Effect = explain(
        quantity_of(loaded, class_), table.data, place, method=way, schema=table.schema, seed=seed
    )
    Console().print(numbers(effect))
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        _write(effect, out, ending)
        _say(f"written  {out}")


@app.command("datasets")
def datasets_command() -> None:
    """List the data sets that can be loaded, and where they were found."""
    from skedasis import datasets

    table = Lines("name", "rows", "features", "target", "where", box=None, pad_edge=False)
    try:
        own = datasets.load_diabetes()
        table.add_row("diabetes", *_size(own), "scikit-learn")
    except DataError:
        table.add_row("diabetes", "", "", "", "pip install 'skedasis[sklearn]'")
    for name in datasets.names():
        try:
            found = datasets.load(name, download=False)
        except DataError:
            table.add_row(name, "", "", "", f"not here; skedasis.datasets.load({name!r}) looks")
        else:
            table.add_row(name, *_size(found), _where(name))
    Console().print(table)
    _say("synthetic, with known effects: " + ", ".join(datasets.SYNTHETIC))


@app.command("info")
def info_command() -> None:
    """Print the versions of all that numbers depend on."""
    from skedasis import __version__

    table = Lines(box=None, show_header=False, pad_edge=False)
    table.add_row("skedasis", __version__)
    table.add_row(
        "python", f"{platform.python_version()} ({platform.system()}, {os.cpu_count()} cores)"
    )
    needed = ("numpy", "scipy", "narwhals", "matplotlib", "jinja2", "rich", "typer")
    extras = ("scikit-learn", "pandas", "polars", "pyarrow", "torch")
    for name in (*needed, *extras):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            version = "[dim]not installed[/]"
        table.add_row(name, version)
    Console().print(table)


# ---------------------------------------------------------------------------- what commands share


def load_model(spec: str) -> Any:
    """Import a model by its path, such as ``my_module:model``; the working directory is searched first.

    Raises
    ------
    DataError
        For a path of another form, a module or a name that is not there.
    """
    module_name, colon, path = spec.partition(":")
    if not (module_name and colon and path):
        raise DataError(
            explained("--model", repr(spec), "MODULE:OBJECT", "Write it as my_module:model")
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise DataError(
                explained(
                    f"--model {spec}",
                    f"a module that needs {error.name!r}, which is not installed",
                    "a module that can be imported",
                    f"Install it: pip install {error.name}",
                )
            ) from error
        got, fix = f"no module {error.name!r}", f"Run it from the folder that holds {error.name}.py"
        raise DataError(explained("--model", got, "a module", fix)) from error
    for name in path.split("."):
        if not hasattr(found, name):
            public = [n for n in vars(found) if not n.startswith("_")][:12]
            got = f"no {name!r} in {module_name}"
            raise DataError(explained("--model", got, f"one of {public}", "Name one of them"))
        found = getattr(found, name)
    return found


def features_of(table: Table, model: Any, target: str | None) -> Table:
    """Return the columns that a model was fitted on, or all but the target."""
    fitted = getattr(model, "feature_names_in_", None)
    if fitted is not None:
        return table.select([str(name) for name in fitted])
    if target is None:
        return table
    table.place(target, "--target")
    return table.select([name for name in table.names if name != target])


def quantity_of(model: Any, class_: str | None) -> Any:
    """Return what is explained of a model: with ``--class``, that class's probability."""
    from skedasis.quantity.outputs import probability
    from skedasis.quantity.wrap import as_quantity

    if class_ is None:
        return as_quantity(model)
    # A shell knows text only; a label may be a number or a truth value.
    labels = [label for label in getattr(model, "classes_", ()) if str(label) == class_]
    return probability(
        model, class_=labels[0].item() if labels and hasattr(labels[0], "item") else class_
    )


def method_of(name: str, bins: int | None) -> Any:
    """Return a method by its name, with a number of bins or points if one is given."""
    from skedasis.engine import METHODS as KNOWN
    from skedasis.engine import as_method

    way = as_method(name)
    if bins is None:
        return way
    key = "grid" if name.lower() in ("pdp", "ice") else "bins"
    return KNOWN[name.lower()](**{key: bins})


def _checked_ending(out: Path | None) -> str:
    """Return what kind of file is wanted; refuse others before the work begins."""
    ending = ".png" if out is None else out.suffix.lower()
    if ending not in (*_FIGURES, *_NUMBERS):
        known = ", ".join((*_FIGURES, *_NUMBERS))
        raise DataError(
            explained("--out", repr(str(out)), f"a name that ends in {known}", "Rename it")
        )
    return ending


def _write(effect: Effect, out: Path, ending: str) -> None:
    from skedasis.results.tables import table_of

    if ending in _FIGURES:
        effect.plot().savefig(out, dpi=160)
        return
    if ending == ".npz":
        effect.save(out)
        return
    of = ["effect"] if effect.bins is None else ["effect", "bins"]
    tables = {what: _plain(table_of(effect, what)) for what in of}
    if ending == ".json":
        content = {**tables, "provenance": effect.provenance}
        out.write_text(json.dumps(content, indent=1, allow_nan=False), encoding="utf-8")
        return
    import csv

    columns = tables["effect"]
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _plain(table: dict[str, Any]) -> dict[str, list[Any]]:
    """Return columns as lists; what is not there is None, for JSON knows no NaN."""
    lists = {k: v.tolist() if hasattr(v, "tolist") else list(v) for k, v in table.items()}
    return {k: [None if v != v else v for v in values] for k, values in lists.items()}  # noqa: PLR0124 - NaN


def _size(found: Any) -> tuple[str, str, str]:
    return f"{len(found.y):,}", str(len(found.feature_names)), found.target


def _where(name: str) -> str:
    from skedasis.datasets.real import folders

    paths = (folder / f"{name}.csv" for folder in folders())
    return str(next((p for p in paths if p.is_file()), ""))


def _say(text: str) -> None:
    Console().print(text, markup=False, highlight=False, soft_wrap=True)


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
