"""From results to a terminal, and into files: figures, tables, and what `skedasis.load` reads."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from skedasis.cli import machine
from skedasis.errors import DataError, explained

if TYPE_CHECKING:
    from skedasis.cli.talk import Talk
    from skedasis.results.diagnosis import Diagnosis
    from skedasis.results.effect import Effect
    from skedasis.results.importance import Importance
    from skedasis.results.surface import Surface

Result: TypeAlias = "Effect | Surface | Importance | Diagnosis"

Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="A figure (.png, .svg, .pdf), an interactive page (.html) or the numbers (.csv, .json, .npz).",
        metavar="FILE",
    ),
]
NUMBERS = (".csv", ".json", ".npz")
FIGURES = (".png", ".svg", ".pdf")
PAGES = (".html",)


def show(result: Result, talk: Talk) -> None:
    """Print a result's numbers, and what is to be said of them."""
    from skedasis.cli import tables
    from skedasis.report.terminal import numbers, surface
    from skedasis.results.diagnosis import Diagnosis
    from skedasis.results.importance import Importance
    from skedasis.results.surface import Surface

    if isinstance(result, Importance):
        talk.show(tables.importance(result))
    elif isinstance(result, Diagnosis):
        narrower = [tables.diagnosis(result, lines=2, r2=r2) for r2 in (True, False)]
        talk.show(tables.diagnosis(result), *narrower)
        talk.lines(tables.sentences(result))
    else:
        talk.show(surface(result) if isinstance(result, Surface) else numbers(result))


def tell(
    found: Sequence[tuple[dict[str, Any], Result]],
    out: Path | None,
    talk: Talk,
    inputs: Sequence[str] = (),
) -> dict[str, Any]:
    """Print results, and write them if a file is named.

    Parameters
    ----------
    found : list of dict and Effect, Surface, Importance or Diagnosis
        What tells a result apart from the others, such as its class, and the result. If there are several, each has a
        file of its own with that in its name.
    out : Path, optional
    talk : Talk
    inputs : sequence of str
        Models and data, which are not written over.

    Returns
    -------
    dict
        What a document says of it.
    """
    for _, result in found:
        show(result, talk)
    written: list[Path] = []
    if out is not None:
        labels = [tuple(apart.values()) for apart, _ in found]
        written = paths_of(out, labels) if labels != [()] else [out]
        for path in written:
            _spare(path, inputs)
        for (_, result), path in zip(found, written, strict=True):
            write(result, path)
            talk.written(path)
    results = [machine.result(result, **apart) for apart, result in found] if talk.json else []
    return {"results": results, "written": written}


def check_out(
    out: Path | None, inputs: Sequence[str], endings: Sequence[str] = (*FIGURES, *PAGES, *NUMBERS)
) -> None:
    """Refuse a file that cannot be written, or is not to be, before the work begins.

    Parameters
    ----------
    out : Path, optional
    inputs : sequence of str
        Models and data: they are not written over.
    endings : sequence of str
        What its name may end with.

    Raises
    ------
    DataError
    """
    if out is None:
        return
    if out.suffix.lower() not in endings:
        known = ", ".join(endings)
        got, expected = repr(str(out)), f"a name that ends in {known}"
        raise DataError(explained("--out", got, expected, "Rename it"))
    if out.is_dir():
        got = f"the folder {str(out)!r}"
        raise DataError(explained("--out", got, "a file", "Name a file in it"))
    there = next((p for p in out.parents if p.exists()), Path())
    if not there.is_dir():
        got = f"{str(out)!r}, but {str(there)!r} is a file"
        raise DataError(explained("--out", got, "a file in a folder", "Name another folder"))
    if not os.access(there, os.W_OK):
        got = f"{str(out)!r}, where nothing may be written"
        raise DataError(explained("--out", got, "a folder of yours", "Name another folder"))
    _spare(out, inputs)


def _spare(out: Path, inputs: Sequence[str]) -> None:
    """Refuse to write over what was read, under whatever name.

    Raises
    ------
    DataError
    """
    for name in inputs:
        if out.exists() and Path(name).exists() and out.samefile(name):
            got = f"{str(out)!r}, which is read here"
            raise DataError(explained("--out", got, "a file of its own", "Name another"))


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
        parts = label if isinstance(label, tuple) else (label,)
        name = "-".join(file_name(str(part)) for part in parts)
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
    elif ending in PAGES:
        result.explore().save(out)
    elif ending == ".npz":
        result.save(out)
    elif ending == ".json":
        content = machine.jsonable({**tables_of(result), "provenance": result.provenance})
        out.write_text(json.dumps(content, indent=1, allow_nan=False), encoding="utf-8")
    else:
        columns = next(iter(tables_of(result).values()))
        with out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))


def tables_of(result: Result) -> dict[str, dict[str, list[Any]]]:
    """Return all tables that a result has, by name, the most important one first."""
    from skedasis.results.diagnosis import Diagnosis
    from skedasis.results.frames import surface_table, table_of
    from skedasis.results.importance import Importance
    from skedasis.results.surface import Surface

    if isinstance(result, Diagnosis):
        return {"diagnosis": machine.jsonable(result.table())}
    if isinstance(result, Importance):
        return {what: machine.jsonable(result.table(what)) for what in ("importance", "values")}
    if isinstance(result, Surface):
        of = ["effect"] + ["cells"] * (result.cells is not None)
        return {what: machine.jsonable(surface_table(result, what)) for what in of}
    of = ["effect"] + ["bins"] * (result.bins is not None)
    of += ["missing"] * (result.missing_point is not None)
    return {what: machine.jsonable(table_of(result, what)) for what in of}
