"""From results to a terminal, and into files: figures, tables, and what `skedasis.load` reads."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rich.console import Console

from skedasis.errors import DataError, explained

if TYPE_CHECKING:
    from skedasis.results.diagnosis import Diagnosis
    from skedasis.results.effect import Effect
    from skedasis.results.importance import Importance
    from skedasis.results.surfaces.surface import Surface

Result: TypeAlias = "Effect | Surface | Importance | Diagnosis"

NUMBERS = (".csv", ".json", ".npz")
FIGURES = (".png", ".svg", ".pdf")


def say(text: str) -> None:
    """Print a line as it is: a path or a column's name may look like markup, and is not to be broken."""
    Console().print(text, markup=False, highlight=False, soft_wrap=True)


def tell(found: Result | dict[Any, Result], out: Path | None) -> None:
    """Print a result, or one for each class, and write it if a file is named.

    Parameters
    ----------
    found : Effect, Surface, Importance, Diagnosis, or dict of these by class
    out : Path, optional
        Of several classes each has a file of its own, with the class in its name.
    """
    results = list(found.values()) if isinstance(found, dict) else [found]
    for result in results:
        show(result)
    if out is None:
        return
    paths = paths_of(out, list(found)) if isinstance(found, dict) else [out]
    for result, path in zip(results, paths, strict=True):
        write(result, path)
        say(f"written  {path}")


def show(result: Result) -> None:
    """Print a result's numbers, and what is to be said of them."""
    from skedasis.cli import tables
    from skedasis.report.terminal import numbers, surface
    from skedasis.results.diagnosis import Diagnosis
    from skedasis.results.importance import Importance
    from skedasis.results.surfaces.surface import Surface

    if isinstance(result, Importance):
        Console().print(tables.importance(result))
    elif isinstance(result, Diagnosis):
        Console().print(tables.diagnosis(result))
        for line in tables.sentences(result):
            say(line)
    else:
        Console().print(surface(result) if isinstance(result, Surface) else numbers(result))


def checked_ending(out: Path | None) -> str:
    """Return what kind of file is wanted; refuse others before the work begins.

    Raises
    ------
    DataError
    """
    ending = ".png" if out is None else out.suffix.lower()
    if ending not in (*FIGURES, *NUMBERS):
        known = ", ".join((*FIGURES, *NUMBERS))
        raise DataError(
            explained("--out", repr(str(out)), f"a name that ends in {known}", "Rename it")
        )
    return ending


def paths_of(out: Path, labels: list[Any]) -> list[Path]:
    """Return a file for each class, with names that every file system takes and tells apart.

    Examples
    --------
    >>> [p.name for p in paths_of(Path("age.png"), ["a/b", "a b", "A_B", "c"])]
    ['age-a_b.png', 'age-a_b-2.png', 'age-A_B-3.png', 'age-c.png']
    """
    from skedasis.report.pictures import file_name

    seen: dict[str, int] = {}
    paths: list[Path] = []
    for label in labels:
        name = file_name(str(label))
        key, more = name.casefold(), ""
        # A number behind one name may be what another one is called.
        while f"{key}{more}" in seen:
            seen[key] = seen.get(key, 1) + 1
            more = f"-{seen[key]}"
        seen[f"{key}{more}"] = 1
        paths.append(out.with_name(f"{out.stem}-{name}{more}{out.suffix}"))
    return paths


def write(result: Result, out: Path) -> None:
    """Write a figure of a result, or its numbers, as the file's ending says."""
    out.parent.mkdir(parents=True, exist_ok=True)
    ending = out.suffix.lower()
    if ending in FIGURES:
        result.plot().savefig(out, dpi=160)
    elif ending == ".npz":
        result.save(out)
    elif ending == ".json":
        content = {**_tables(result), "provenance": result.provenance}
        out.write_text(json.dumps(content, indent=1, allow_nan=False), encoding="utf-8")
    else:
        columns = next(iter(_tables(result).values()))
        with out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))


def _tables(result: Result) -> dict[str, dict[str, list[Any]]]:
    """Return all tables that a result has, by name, the most important one first."""
    from skedasis.results.diagnosis import Diagnosis
    from skedasis.results.importance import Importance
    from skedasis.results.surfaces.surface import Surface
    from skedasis.results.tables import surface_table, table_of

    if isinstance(result, Diagnosis):
        return {"diagnosis": _plain(result.table())}
    if isinstance(result, Importance):
        return {what: _plain(result.table(what)) for what in ("importance", "values")}
    if isinstance(result, Surface):
        of = ["effect"] + ["cells"] * (result.cells is not None)
        return {what: _plain(surface_table(result, what)) for what in of}
    of = ["effect"] + ["bins"] * (result.bins is not None)
    of += ["missing"] * (result.missing_point is not None)
    return {what: _plain(table_of(result, what)) for what in of}


def _plain(table: dict[str, Any]) -> dict[str, list[Any]]:
    """Return columns as lists; what is not there is None, for JSON knows no NaN."""
    lists = {k: v.tolist() if hasattr(v, "tolist") else list(v) for k, v in table.items()}
    return {k: [None if v != v else v for v in values] for k, values in lists.items()}  # noqa: PLR0124 - NaN
