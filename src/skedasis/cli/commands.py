"""The commands and their options."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as Lines
from typer.core import TyperGroup

from skedasis.cli import ask, tell
from skedasis.cli.importance import IMPORTANCE_EXAMPLES, importance_command
from skedasis.cli.options import (
    AnyClass,
    Bins,
    Categorical,
    Class,
    Data,
    Feature,
    Groups,
    Method,
    Model,
    Models,
    Out,
    Target,
    With,
)
from skedasis.errors import DataError, ModelOutputError, UnsupportedError

DEBUG = "--debug"


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

EXAMPLES = """Examples

\b
skedasis effect --model my:model --data houses.csv --feature age
    its numbers, by RHALE
skedasis effect --model my:model --data houses.csv --feature town --out town.png
    a feature with levels: by ALE, as a figure
skedasis effect --model my:model --data houses.csv --feature age --with town --out both.png
    what two features do together
skedasis effect --model my:model --data houses.csv --feature zip --categorical zip
    codes that are numbers, but have no order
skedasis effect --model my:model --data houses.csv --feature heating --group heating=gas,oil,wood
    a one-hot block, moved as one
skedasis effect --model my:clf --data houses.csv --feature age --class all --out age.png
    each class: age-<class>.png
"""


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
def report_command(  # noqa: PLR0917 - typer names them all
    model: Models,
    data: Data,
    feature: Annotated[
        list[str] | None, typer.Option(help="May be repeated; by default every one.")
    ] = None,
    target: Target = None,
    class_: Class = None,
    categorical: Categorical = None,
    group: Groups = None,
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
    loaded = {spec.partition(":")[2]: ask.load_model(spec) for spec in model}
    table = ask.features_of(table, next(iter(loaded.values())), target)
    columns = ask.columns_of(table, categorical, group)
    wanted = None if not feature else [columns.find(f, "--feature") for f in feature]
    quantities = {name: ask.quantity_of(m, class_) for name, m in loaded.items()}
    models: Any = quantities if len(quantities) > 1 else next(iter(quantities.values()))
    done = report(
        models,
        table.data,
        path=out,
        features=wanted,
        schema=columns.schema,
        groups=columns.groups,
        title=title,
        seed=seed,
    )
    tell.say(f"page     {done.path}")


@app.command("effect", epilog=EXAMPLES)
def effect_command(  # noqa: PLR0917 - typer names them all
    model: Model,
    data: Data,
    feature: Feature,
    with_: With = None,
    method: Method = None,
    out: Out = None,
    target: Target = None,
    bins: Bins = None,
    class_: AnyClass = None,
    categorical: Categorical = None,
    group: Groups = None,
    seed: int = 0,
) -> None:
    """Explain a feature, or two: print the numbers, and write a figure or the numbers into a file."""
    from skedasis.data.files import read_table
    from skedasis.engine import explain

    tell.checked_ending(out)
    way = None if method is None else ask.method_of(method, bins)
    table = read_table(data)
    loaded = ask.load_model(model)
    columns = ask.columns_of(ask.features_of(table, loaded, target), categorical, group)
    wanted: Any = columns.find(feature, "--feature")
    if with_ is not None:
        wanted = (wanted, columns.find(with_, "--with"))
    if way is None:
        way = ask.method_of(ask.usual_method(columns.features(wanted)), bins)
    found: Any = explain(
        ask.quantity_of(loaded, class_),
        columns.table.data,
        wanted,
        method=way,
        schema=columns.schema,
        groups=columns.groups,
        seed=seed,
    )
    tell.tell(found, out)


app.command("importance", epilog=IMPORTANCE_EXAMPLES)(importance_command)


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
    tell.say("synthetic, with known effects: " + ", ".join(datasets.SYNTHETIC))


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
    extras = (
        "scikit-learn",
        "pandas",
        "polars",
        "pyarrow",
        "torch",
        "gpytorch",
        "ngboost",
        "skpro",
    )
    for name in (*needed, *extras):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            version = "[dim]not installed[/]"
        table.add_row(name, version)
    Console().print(table)


def _size(found: Any) -> tuple[str, str, str]:
    return f"{len(found.y):,}", str(len(found.feature_names)), found.target


def _where(name: str) -> str:
    from skedasis.datasets.real import folders

    paths = (folder / f"{name}.csv" for folder in folders())
    return str(next((p for p in paths if p.is_file()), ""))


def main() -> None:
    """Run the command line."""
    app()
