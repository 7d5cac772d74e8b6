"""The typer application with all commands, and the commands `info`, `datasets` and `demo`."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table as Lines

import skedasis as sd
from skedasis import __version__
from skedasis._types import Values
from skedasis.cli import (
    choices,
    completion,
    drift,
    explain,
    interactions,
    regions,
    runtime,
    what_if,
)
from skedasis.cli.options import OutputOptions, add, argument, column, option
from skedasis.cli.output import Document, Screen, Terminal, check_out, write_csv
from skedasis.errors import DataError

if TYPE_CHECKING:
    from skedasis.datasets import real

# ----------------------------------------------------------------------------- info and datasets
INFO_EXAMPLES = """Examples

\b
skedasis info
    show versions, extras, cores and folders
skedasis info --json
    the same as JSON
"""


DATASETS_EXAMPLES = """Examples

\b
skedasis datasets
    list all data sets and their locations
skedasis datasets diabetes
    show columns and units of a data set
skedasis datasets diabetes -o diabetes.csv
    write a data set to a file, to try the other commands
skedasis datasets running_example --sample 500 --random-state 1 -o example.csv
    draw rows of a synthetic data set, with the values of its function
"""


SYNTHETIC_ROWS = 1000
"""Default number of rows of a synthetic data set."""


_OTHER_LIBRARIES = (
    *("pandas", "polars", "pyarrow", "lightgbm", "xgboost", "catboost"),
    *("joblib", "gpytorch", "ngboost", "skpro"),
)
"""Libraries whose data and models are supported, but which are not part of an extra."""


@dataclass(frozen=True, kw_only=True)
class InfoOptions(OutputOptions):
    """The options of `skedasis info`."""


def info(_: InfoOptions, terminal: Terminal) -> Document:
    """Show the versions of all libraries that affect results, the installed extras, and the data folders."""
    needed, extras = _requirements()
    system = f"{platform.python_version()} ({platform.system()}, {os.cpu_count()} cores)"
    lines = Lines(box=None, show_header=False, pad_edge=False)
    lines.add_row("skedasis", __version__)
    lines.add_row("python", system)
    versions: dict[str, str | None] = {}
    for name in dict.fromkeys(
        (*needed, *(p for ps in extras.values() for p in ps), *_OTHER_LIBRARIES)
    ):
        versions[name] = _package_version(name)
        lines.add_row(name, versions[name] or "[dim]not installed[/]")
    have = {extra: all(_package_version(p) for p in packages) for extra, packages in extras.items()}
    missing = [extra for extra, there in have.items() if not there]
    lines.add_row("extras", ", ".join(e for e, there in have.items() if there) or "none")
    if missing:
        lines.add_row(
            "", escape(f"Install the others: pip install 'skedasis[{','.join(missing)}]'")
        )
    from skedasis.datasets.real import folders

    places = folders()
    there = [place for place in places if place.is_dir()]
    lines.add_row("data", escape(", ".join(map(str, there)) or "no folder"))
    lines.add_row("downloads", escape(str(places[-1])))
    terminal.show(lines)
    return {
        "python": {"version": platform.python_version(), "system": platform.system()},
        "cores": os.cpu_count(),
        "versions": versions,
        "extras": have,
        "data": there,
        "downloads": places[-1],
    }


def _requirements() -> tuple[list[str], dict[str, list[str]]]:
    """Return the required packages and the packages of each extra for users, from the package's metadata."""
    needed: list[str] = []
    extras: dict[str, list[str]] = {}
    for line in importlib.metadata.requires("skedasis") or ():
        name = re.split(r"[\s<>=!~;\[(]", line, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"]([^'\"]+)['\"]", line)
        if extra is None:
            needed.append(name)
        elif name != "skedasis":
            extras.setdefault(extra[1], []).append(name)
    every = set(extras.pop("all"))
    return needed, {extra: names for extra, names in extras.items() if every.issuperset(names)}


def _package_version(name: str) -> str | None:
    """Return the version of a package; None if it is not installed or cannot be imported."""
    module = {"scikit-learn": "sklearn"}.get(name, name)
    try:
        found = importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        found = False
    for package in (name, f"{name}-cpu") if found else ():
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


# ------------------------------------------------------------------------------------------- data sets
@dataclass(frozen=True, kw_only=True)
class DatasetsOptions(OutputOptions):
    """The options of `skedasis datasets`."""

    panel: ClassVar[str | None] = None

    name: str | None = argument(
        "Name of a data set. By default all are listed.", "NAME", completion.datasets
    )
    out: Path | None = option("Write the data set to a CSV file.", "--out", "-o")
    sample: int | None = option(
        f"Number of rows. By default all; {SYNTHETIC_ROWS:,} for synthetic data sets.",
        least=1,
    )
    random_state: int = option("Random seed of the sample.", default=0, least=0)


def datasets(opts: DatasetsOptions, terminal: Terminal) -> Document:
    """List the available data sets and their locations, or write one to a file."""
    if opts.name is None:
        if opts.out is not None:
            fix = "Run skedasis datasets NAME -o FILE"
            raise DataError("NAME", "none", "the name of a data set", fix)
        return _listed(terminal)
    check_out(opts.out, (), (".csv",))
    found = _loaded(opts.name, opts.sample, opts.random_state)
    columns = [*found.feature_names, found.target]
    about = {
        "name": found.name,
        "rows": len(found.y),
        "target": found.target,
        "columns": columns,
        "units": dict(found.units),
        "description": found.description,
    }
    if opts.out is None:
        _describe(found, terminal)
        return {"dataset": about, "written": []}
    write_csv(opts.out, columns, _cells(found))
    terminal.written(opts.out)
    return {"dataset": about, "written": [opts.out]}


def _loaded(name: str, sample: int | None, seed: int) -> real.RealDataset:
    """Return a data set by name, or a random sample of its rows."""
    known = ("diabetes", *sd.datasets.names(), *sd.datasets.SYNTHETIC)
    choices.check_known("NAME", name, known)
    if name in sd.datasets.SYNTHETIC:
        return _synthetic(name, sample or SYNTHETIC_ROWS, seed)
    found = sd.datasets.load_diabetes() if name == "diabetes" else sd.datasets.load(name)
    if sample is None or sample >= len(found.y):
        return found
    some = np.sort(np.random.default_rng(seed).choice(len(found.y), sample, replace=False))
    X = found.X[some] if isinstance(found.X, np.ndarray) else found.X.iloc[some]
    return replace(found, X=X, y=found.y[some])


def _synthetic(name: str, n: int, seed: int) -> real.RealDataset:
    made = sd.datasets.SYNTHETIC[name]
    X = made.sample(n, seed)
    names = tuple(f"x{j + 1}" for j in range(X.shape[1]))
    text = (type(made).__doc__ or "").strip().splitlines()[0]
    return sd.datasets.RealDataset(name, X, made.f(X), names, {}, "f", text)


def _cells(found: real.RealDataset) -> Iterator[list[object]]:
    """Yield the rows as cells of a CSV file; missing values are empty."""
    columns: list[Values] = [*np.asarray(found.X, dtype=object).T, found.y]
    for row in zip(*(np.asarray(c, dtype=object) for c in columns), strict=True):
        yield ["" if v is None or v != v else v for v in row]  # noqa: PLR0124 - NaN


def _describe(found: real.RealDataset, terminal: Terminal) -> None:
    lines = Lines("column", "unit", "", box=None, pad_edge=False)
    for name in (*found.feature_names, found.target):
        role = "target" if name == found.target else ""
        lines.add_row(escape(name), escape(found.units.get(name, "")), role)
    terminal.lines([f"{found.name}: {len(found.y):,} rows", found.description, ""])
    terminal.show(lines)


def _listed(terminal: Terminal) -> Document:
    table = Lines("name", "rows", "features", "target", "where", box=None, pad_edge=False)
    entries: list[Document] = []
    for name in ("diabetes", *sd.datasets.names()):
        try:
            own = name == "diabetes"
            found = sd.datasets.load_diabetes() if own else sd.datasets.load(name, download=False)
        except DataError:
            missing = "pip install 'skedasis[sklearn]'" if name == "diabetes" else "not found"
            fetch = "" if name == "diabetes" else f"; get it with skedasis datasets {name} -o FILE"
            table.add_row(name, "", "", "", escape(missing + fetch))
            entries.append({"name": name, "here": False})
            continue
        where = "scikit-learn" if own else _where(name)
        count = len(found.feature_names)
        table.add_row(name, f"{len(found.y):,}", str(count), found.target, escape(where))
        entry: Document = {"name": name, "here": True, "rows": len(found.y), "features": count}
        entry |= {"target": found.target, "where": where, "description": found.description}
        entries.append(entry)
    terminal.show(table)
    terminal.lines(["synthetic, with known effects: " + ", ".join(sd.datasets.SYNTHETIC)])
    return {"datasets": entries, "synthetic": list(sd.datasets.SYNTHETIC)}


def _where(name: str) -> str:
    from skedasis.datasets.real import folders

    paths = (folder / f"{name}.csv" for folder in folders())
    return str(next((p for p in paths if p.is_file()), ""))


# ------------------------------------------------------------------------------------------ demo
EXAMPLES = """Examples

\b
skedasis demo
    two models of bicycle rentals if the file is available, else of scikit-learn's breast cancer data
skedasis demo --data houses.csv --target price --sample 150 --out houses-demo
    two models of your own data
skedasis demo --data houses.csv --target sold --class yes --random-state 1
    explain the probability of a class
"""


@dataclass(frozen=True, kw_only=True)
class DemoOptions(OutputOptions):
    """The options of `skedasis demo`."""

    panel: ClassVar[str | None] = None

    data: str | None = option("Your own data file: CSV, Parquet or Feather.", metavar="FILE")
    target: str | None = column("Name of the column to predict.")
    out: Path = option(
        "Output folder.", "--out", "-o", metavar="FOLDER", default=Path("skedasis-demo")
    )
    class_: str | None = option("Class whose probability is explained.", "--class", metavar="CLASS")
    sample: int | None = option(
        "Number of rows to explain, sampled at random. By default all.",
        "--sample",
        "--rows",
        least=1,
    )
    random_state: int = option(
        "Random seed of the split, the models and the samples.", default=0, least=0
    )


def demo(opts: DemoOptions, terminal: Terminal) -> Document:
    """Fit two models to real data, explain them, and write a report with figures."""
    from skedasis.demo.demo import demo as show

    done = show(
        None if opts.data is None else Path(opts.data),
        opts.target,
        opts.out,
        class_=opts.class_,
        rows=opts.sample,
        random_state=opts.random_state,
        progress=opts.bars,
        console=Screen(quiet=terminal.quiet or terminal.json),
    )
    return {"written": [done.path, *done.figures]}


# ----------------------------------------------------------------------------------- application
app = typer.Typer(
    cls=runtime.CommandGroup,
    name="skedasis",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
    help="Explain a fitted model: the effect of each feature, where the average misleads, and how precise it is.",
    epilog="""Exit codes: 0 success; 1 error in the model or a library; 2 invalid arguments or data; 130 interrupted.

\b
skedasis demo
skedasis report model.txt houses.csv --target price
skedasis COMMAND --help    shows options and examples of a command""",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"skedasis {__version__}")
        raise typer.Exit


@app.callback()
def skedasis(
    debug: Annotated[
        bool,
        typer.Option(runtime.DEBUG, help="Show the traceback of errors. Works with every command."),
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Accept the options that all commands share."""


for _name, _do, _examples in (
    ("demo", demo, EXAMPLES),
    ("report", explain.report, explain.REPORT_EXAMPLES),
    ("effect", explain.effect, explain.EFFECT_EXAMPLES),
    ("importance", explain.importance, explain.IMPORTANCE_EXAMPLES),
    ("regions", regions.regions, regions.REGIONS_EXAMPLES),
    ("interactions", interactions.interactions, interactions.INTERACTIONS_EXAMPLES),
    ("what-if", what_if.what_if, what_if.EXAMPLES),
    ("drift", drift.drift, drift.EXAMPLES),
    ("datasets", datasets, DATASETS_EXAMPLES),
    ("info", info, INFO_EXAMPLES),
):
    add(app, _name, _do, _examples)
