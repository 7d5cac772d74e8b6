"""The shell's application: its commands, `info`, `datasets` and `demo`."""

from __future__ import annotations

import csv
import importlib.metadata
import importlib.util
import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table as Lines

from skedasis.cli import completion, explain, options, runtime
from skedasis.cli.options import Told, Work
from skedasis.cli.output import Screen, check_out
from skedasis.errors import DataError, explained

if TYPE_CHECKING:
    from skedasis.cli.output import Talk


# ------------------------------------------------------------------------------------------
# `skedasis info` and `skedasis datasets`: what is installed, and which data there are.


INFO_EXAMPLES = """Examples

\b
skedasis info
    versions, extras, cores and folders
skedasis info --json
    the same for machines
"""


DATASETS_EXAMPLES = """Examples

\b
skedasis datasets
    all of them, and where they are
skedasis datasets diabetes
    its columns and their units
skedasis datasets diabetes -o diabetes.csv
    as a file to try the other commands on
skedasis datasets running_example --sample 500 --seed 1 -o example.csv
    rows of a synthetic one, with what its function says of them
"""


DRAWN = 1000
"""Rows of a synthetic data set where no other number is asked for."""


_BESIDE = (
    "pandas",
    "polars",
    "pyarrow",
    "lightgbm",
    "xgboost",
    "catboost",
    "joblib",
    "gpytorch",
    "ngboost",
    "skpro",
)
"""Libraries whose data and models are understood and which no extra brings."""


@dataclass(frozen=True, kw_only=True)
class InfoOrder(Told):
    """The options of `skedasis info`."""


def info(_: InfoOrder, talk: Talk) -> dict[str, Any]:
    """Print the versions of all that numbers depend on, the extras that are installed, and where files are kept."""
    from skedasis import __version__
    from skedasis.datasets.real import folders

    needed, extras = _requirements()
    system = f"{platform.python_version()} ({platform.system()}, {os.cpu_count()} cores)"
    lines = Lines(box=None, show_header=False, pad_edge=False)
    lines.add_row("skedasis", __version__)
    lines.add_row("python", system)
    versions: dict[str, str | None] = {}
    for name in dict.fromkeys((*needed, *(p for ps in extras.values() for p in ps), *_BESIDE)):
        versions[name] = _package_version(name)
        lines.add_row(name, versions[name] or "[dim]not installed[/]")
    have = {extra: all(_package_version(p) for p in packages) for extra, packages in extras.items()}
    missing = [extra for extra, there in have.items() if not there]
    lines.add_row("extras", ", ".join(e for e, there in have.items() if there) or "none")
    if missing:
        lines.add_row("", escape(f"pip install 'skedasis[{','.join(missing)}]' brings the others"))
    places = folders()
    there = [place for place in places if place.is_dir()]
    lines.add_row("data", escape(", ".join(map(str, there)) or "no folder"))
    lines.add_row("downloads", escape(str(places[-1])))
    talk.show(lines)
    return {
        "python": {"version": platform.python_version(), "system": platform.system()},
        "cores": os.cpu_count(),
        "versions": versions,
        "extras": have,
        "data": there,
        "downloads": places[-1],
    }


def _requirements() -> tuple[list[str], dict[str, list[str]]]:
    """Return what the package needs, and what its extras for users bring, as it says itself."""
    needed: list[str] = []
    extras: dict[str, list[str]] = {}
    for line in importlib.metadata.requires("skedasis") or ():
        name = re.split(r"[\s<>=!~;\[(]", line, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"]([^'\"]+)['\"]", line)
        if extra is None:
            needed.append(name)
        elif extra[1] not in ("all", "bench", "dev", "docs", "lint", "test") and name != "skedasis":
            extras.setdefault(extra[1], []).append(name)
    return needed, extras


def _package_version(name: str) -> str | None:
    """Return the version of a package. One that is there but cannot be imported counts as absent."""
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
class DatasetsOrder(Told):
    """The options of `skedasis datasets`."""

    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            show_default=False,
            help="One of them; by default all are listed.",
            autocompletion=completion.datasets,
        ),
    ] = None
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write it into a CSV file.", metavar="FILE"),
    ] = None
    sample: Annotated[
        int | None,
        typer.Option(
            help=f"So many rows of it; by default all, of a synthetic one {DRAWN:,}.",
            metavar="N",
            min=1,
        ),
    ] = None
    seed: Annotated[int, typer.Option(help="Of these rows.", metavar="N", min=0)] = 0


def datasets(order: DatasetsOrder, talk: Talk) -> dict[str, Any]:
    """List the data sets that can be loaded and where they were found, or write one into a file."""
    if order.name is None:
        if order.out is not None:
            fix = "Write it as skedasis datasets NAME -o FILE"
            raise DataError(explained("NAME", "none", "a data set to write", fix))
        return _listed(talk)
    check_out(order.out, (), (".csv",))
    found = _loaded(order.name, order.sample, order.seed)
    columns = [*found.feature_names, found.target]
    about = {
        "name": found.name,
        "rows": len(found.y),
        "target": found.target,
        "columns": columns,
        "units": dict(found.units),
        "description": found.description,
    }
    if order.out is None:
        _describe(found, talk)
        return {"dataset": about, "written": []}
    order.out.parent.mkdir(parents=True, exist_ok=True)
    with order.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(_cells(found))
    talk.written(order.out)
    return {"dataset": about, "written": [order.out]}


def _loaded(name: str, sample: int | None, seed: int) -> Any:
    """Return a data set by its name, or a sample of it.

    Raises
    ------
    DataError
        For a name that is none: the message suggests the nearest.
    """
    import difflib

    import numpy as np

    from skedasis import datasets
    from skedasis.datasets import real

    known = ("diabetes", *real.names(), *datasets.SYNTHETIC)
    if name not in known:
        near = difflib.get_close_matches(name, known, 1, 0.4)
        fix = f"Did you mean {near[0]!r}?" if near else "Name one of them"
        raise DataError(explained("NAME", repr(name), f"one of {', '.join(known)}", fix))
    if name in datasets.SYNTHETIC:
        return _synthetic(name, sample or DRAWN, seed)
    found: Any = real.load_diabetes() if name == "diabetes" else real.load(name)
    if sample is None or sample >= len(found.y):
        return found
    some = np.sort(np.random.default_rng(seed).choice(len(found.y), sample, replace=False))
    from dataclasses import replace

    X = found.X.iloc[some] if hasattr(found.X, "iloc") else found.X[some]
    return replace(found, X=X, y=found.y[some])


def _synthetic(name: str, n: int, seed: int) -> Any:
    from skedasis import datasets
    from skedasis.datasets import real

    made = datasets.SYNTHETIC[name]
    X = made.sample(n, seed)
    names = tuple(f"x{j + 1}" for j in range(X.shape[1]))
    text = (type(made).__doc__ or "").strip().splitlines()[0]
    return real.Dataset(name, X, made.f(X), names, {}, "f", text)


def _cells(found: Any) -> Any:
    """Give rows of text; what is missing is empty."""
    import numpy as np

    columns: list[Any] = [*np.asarray(found.X, dtype=object).T, found.y]
    for row in zip(*(np.asarray(c, dtype=object) for c in columns), strict=True):
        yield ["" if v is None or v != v else v for v in row]  # noqa: PLR0124 - NaN


def _describe(found: Any, talk: Talk) -> None:
    lines = Lines("column", "unit", "", box=None, pad_edge=False)
    for name in (*found.feature_names, found.target):
        role = "target" if name == found.target else ""
        lines.add_row(escape(name), escape(found.units.get(name, "")), role)
    talk.lines([f"{found.name}: {len(found.y):,} rows", found.description, ""])
    talk.show(lines)


def _listed(talk: Talk) -> dict[str, Any]:
    from skedasis import datasets
    from skedasis.datasets import real

    table = Lines("name", "rows", "features", "target", "where", box=None, pad_edge=False)
    said: list[dict[str, Any]] = []
    for name in ("diabetes", *real.names()):
        try:
            own = name == "diabetes"
            found = real.load_diabetes() if own else real.load(name, download=False)
        except DataError:
            missing = "pip install 'skedasis[sklearn]'" if name == "diabetes" else "not here"
            fetch = "" if name == "diabetes" else f"; skedasis datasets {name} -o FILE looks for it"
            table.add_row(name, "", "", "", escape(missing + fetch))
            said.append({"name": name, "here": False})
            continue
        where = "scikit-learn" if own else _where(name)
        count = len(found.feature_names)
        table.add_row(name, f"{len(found.y):,}", str(count), found.target, escape(where))
        said.append(
            {"name": name, "here": True, "rows": len(found.y), "features": count}
            | {"target": found.target, "where": where, "description": found.description}
        )
    talk.show(table)
    talk.lines(["synthetic, with known effects: " + ", ".join(datasets.SYNTHETIC)])
    return {"datasets": said, "synthetic": list(datasets.SYNTHETIC)}


def _where(name: str) -> str:
    from skedasis.datasets.real import folders

    paths = (folder / f"{name}.csv" for folder in folders())
    return str(next((p for p in paths if p.is_file()), ""))


# ------------------------------------------------------------------------------------------
# `skedasis demo`: two models of real data, explained.


EXAMPLES = """Examples

\b
skedasis demo
    two models of bicycle rentals, if that file is at hand, else of scikit-learn's breast cancer data
skedasis demo --data houses.csv --target price --sample 150 --out houses-demo
    of your own data
skedasis demo --data houses.csv --target sold --class yes --seed 1
    the probability of a class
"""


@dataclass(frozen=True, kw_only=True)
class DemoOrder(Told):
    """The options of `skedasis demo`."""

    data: Annotated[
        str | None,
        typer.Option(help="A file of your own: CSV, Parquet or Feather.", metavar="FILE"),
    ] = None
    target: Annotated[
        str | None,
        typer.Option(
            help="The column to learn.", metavar="COLUMN", autocompletion=completion.columns
        ),
    ] = None
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder to write into.", metavar="FOLDER")
    ] = Path("skedasis-demo")
    class_: Annotated[
        str | None,
        typer.Option("--class", help="The class whose probability is explained.", metavar="CLASS"),
    ] = None
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample",
            "--rows",
            help="Explain on a sample of so many rows; by default on all.",
            metavar="N",
            min=1,
        ),
    ] = None
    seed: Annotated[
        int, typer.Option(help="Of the split, the models and samples.", metavar="N", min=0)
    ] = 0


def demo(order: DemoOrder, talk: Talk) -> dict[str, Any]:
    """Fit two models of real data, explain them, and write a page and its figures."""
    from skedasis.demo.demo import demo as show

    done = show(
        None if order.data is None else Path(order.data),
        order.target,
        order.out,
        class_=order.class_,
        rows=order.sample,
        seed=order.seed,
        progress=order.bars,
        console=Screen(quiet=talk.quiet or talk.json),
    )
    return {"written": [done.path, *done.figures]}


# ------------------------------------------------------------------------------------------
# The commands, by name.


app = typer.Typer(
    cls=runtime.Commands,
    name="skedasis",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
    help="Explain a fitted model: what each feature does, for whom that is not true, and how sure one can be.",
    epilog="""Exit codes: 0 done; 1 the model or a library failed; 2 it cannot be done as asked; 130 interrupted.

\b
skedasis demo
skedasis report model.txt houses.csv --target price
skedasis COMMAND --help    shows examples of each""",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from skedasis import __version__

        typer.echo(f"skedasis {__version__}")
        raise typer.Exit


@app.callback()
def skedasis(
    debug: Annotated[
        bool, typer.Option(runtime.DEBUG, help="Show where an error came from; of every command.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Take the options of all commands."""


options.add(app, "demo", Work(DemoOrder, demo), EXAMPLES)
options.add(app, "report", Work(explain.ReportOrder, explain.report), explain.REPORT_EXAMPLES)
options.add(app, "effect", Work(explain.EffectOrder, explain.effect), explain.EFFECT_EXAMPLES)
options.add(
    app,
    "importance",
    Work(explain.ImportanceOrder, explain.importance),
    explain.IMPORTANCE_EXAMPLES,
)
options.add(app, "datasets", Work(DatasetsOrder, datasets), DATASETS_EXAMPLES)
options.add(app, "info", Work(InfoOrder, info), INFO_EXAMPLES)
