"""The demonstration from end to end, and what it prints."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skedasis.demo.findings import ranking, sentences, shown
from skedasis.demo.models import Fitted, fit
from skedasis.demo.problem import Problem, own, usual
from skedasis.errors import DataError, explained
from skedasis.plots.scales import count
from skedasis.report.build import Report, write
from skedasis.report.story.gathering import gather
from skedasis.report.story.told import Story

if TYPE_CHECKING:
    from rich.console import Console

SMALL = 50_000
"""Rows below which a second thread costs more than it brings."""
PATIENCE = 100_000
"""Rows above which a sample to explain on is suggested."""


def demo(
    data: str | Path | None = None,
    target: str | None = None,
    out: str | Path = "skedasis-demo",
    *,
    class_: str | None = None,
    rows: int | None = None,
    seed: int = 0,
    progress: bool | None = None,
    console: Console | None = None,
) -> Report:
    """Fit two models, explain them, and write a page and its figures.

    Parameters
    ----------
    data : str or Path, optional
        A CSV or Parquet file; by default bicycle rentals, if ``bike_sharing_hour.csv`` is at hand (see
        `skedasis.datasets.real.load`), else scikit-learn's breast cancer data.
    target : str, optional
        The column to learn, where `data` is given.
    out : str or Path
        The folder to write into.
    class_ : str, optional
        The class whose probability is explained; needed where there are more than two.
    rows : int, optional
        Explain on a seeded sample of so many rows; by default on all.
    seed : int
    progress : bool, optional
        Whether bars show how far it is; None shows them in a terminal.
    console : rich Console, optional
        Where to tell what is done.

    Returns
    -------
    Report

    Raises
    ------
    DataError
        For a missing scikit-learn, and for a file or target that nothing can be learnt from.
    """
    from rich.console import Console

    started = time.perf_counter()
    _check(data, target, out, rows)
    console = console or Console()
    problem = usual() if data is None else own(data, target, class_)
    _introduce(console, problem)
    with _threads(len(problem.table)):
        models: list[Fitted] = []
        for fitted in fit(problem, seed):
            _say(console, f"{fitted.name}: {fitted.quality}")
            models.append(fitted)
        story = _explain(problem, models, rows, seed, progress)
        _results(console, story)
        folder = Path(out)
        report = write(story, folder / "report.html", progress=progress)
        report = replace(report, figures=tuple(_drawn(story, folder / "figures")))
    _conclude(console, report, time.perf_counter() - started)
    return report


def _check(data: Any, target: str | None, out: str | Path, rows: int | None) -> None:
    if importlib.util.find_spec("sklearn") is None:
        fix = "Install it: pip install 'skedasis[sklearn]'"
        raise DataError(explained("demo", "no scikit-learn", "scikit-learn", fix))
    if data is None and target is not None:
        got, fix = f"{target!r} without a file", "Name the file: --data my.csv"
        raise DataError(explained("--target", got, "a column of a file", fix))
    if rows is not None and rows < 1:
        raise DataError(explained("--rows", str(rows), "at least 1", "Leave it out for all rows"))
    if Path(out).is_file():
        raise DataError(explained("--out", f"the file {str(out)!r}", "a folder", "Name another"))


def _threads(rows: int) -> contextlib.AbstractContextManager[Any]:
    """Keep small work to one thread: many that wait for each other can be a hundred times slower."""
    if rows >= SMALL:
        return contextlib.nullcontext()
    # Both come with scikit-learn; only libraries that are already loaded can be kept to one thread.
    for library in ("sklearn.ensemble", "sklearn.neural_network"):
        importlib.import_module(library)
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1)


def _explain(
    problem: Problem,
    models: Sequence[Fitted],
    rows: int | None,
    seed: int,
    progress: bool | None,
) -> Story:
    table, said = problem.table, problem.said
    if rows is not None and rows < len(table):
        some = np.sort(np.random.default_rng(seed).choice(len(table), rows, replace=False))
        said = (*said, f"Explained on a seeded sample of {rows:,} of {len(table):,} rows.")
        table = table.take(some)
    quantities = {m.name: m.quantity for m in models}
    notes = {m.name: m.quality for m in models}
    # A first look is no place to speak of compilers: without one the models are called, which takes no longer here.
    tree: Any = "auto" if importlib.util.find_spec("numba") else "off"
    story = gather(
        quantities,
        table.data,
        schema=problem.schema,
        notes=notes,
        seed=seed,
        progress=progress,
        tree=tree,
    )
    return replace(story, data=said)


def _drawn(story: Story, folder: Path) -> Iterator[Path]:
    """Draw all features of the first model in a figure, and those that `sentences` is about.

    The page has all others: a file takes half a second.
    """
    from skedasis.report import pictures

    folder.mkdir(parents=True, exist_ok=True)
    first = story.told[0]
    drawn = [pictures.of_all(first), *(pictures.of_rhale(first, name) for name in shown(first))]
    for picture in drawn:
        path = folder / f"{pictures.file_name(first.name, picture.name)}.png"
        path.write_bytes(picture.png)
        yield path


# -------------------------------------------------------------------------------------- the shell


def _introduce(console: Console, problem: Problem) -> None:
    aim = problem.target if problem.class_ is None else f"{problem.target} = {problem.class_}"
    size = f"{len(problem.table):,} rows, {count(len(problem.table.names), 'feature')}"
    _say(console, f"{problem.source}: {size}, to predict {aim}")
    for sentence in problem.said:
        _say(console, f"  {sentence}", "dim")
    if len(problem.table) > PATIENCE:
        _say(console, "  This takes a while; --rows 20000 explains on a sample.", "dim")


def _results(console: Console, story: Story) -> None:
    console.print()
    console.print(ranking(story.told))
    for sentence in sentences(story.told):
        console.print(sentence, markup=False, highlight=False)


def _conclude(console: Console, report: Report, seconds: float) -> None:
    console.print()
    _say(console, f"All features, with curves, bins and warnings: {report.path}")
    if report.figures:
        _say(console, f"{len(report.figures)} figures: {report.figures[0].parent}")
    _say(console, f"This took {seconds:.0f} s.", "dim")


def _say(console: Console, text: str, style: str = "") -> None:
    """Print a line as it is: a path or a column's name may look like markup, and is not to be broken."""
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)
