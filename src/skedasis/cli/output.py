"""Output of the commands: messages, tables, JSON documents and files."""

from __future__ import annotations

import contextlib
import csv
import math
import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

import skedasis as sd
from skedasis._escaping import cell_text, one_line, visible
from skedasis._files import check_writable, text_file
from skedasis._types import JsonValue
from skedasis.errors import DataError

# Help is shown without results, whose modules are loaded when there is one.
if TYPE_CHECKING:
    from skedasis.results.change import Change
    from skedasis.results.diagnosis import Diagnosis
    from skedasis.results.drift import Drift
    from skedasis.results.effect import Effect
    from skedasis.results.importance import Importance
    from skedasis.results.interactions import Interactions
    from skedasis.results.multi_output import ResultsByLabel
    from skedasis.results.regions import Regions, RegionsByFeature
    from skedasis.results.surface import Surface


# -------------------------------------------------------------------------------- untrusted text
class Screen(Console):
    """A rich console that escapes control characters in text and does not replace `:names:` of emoji."""

    def __init__(self, **options: Any) -> None:
        super().__init__(emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text to print; rich calls this for each cell of a table."""
        return super().render_str(visible(text), **options)

    def on_broken_pipe(self) -> None:
        """Raise the error: rich would end the program with another exit code."""
        raise BrokenPipeError


def say(text: str, style: str = "", *, error: bool = False) -> None:
    """Print a line without markup or wrapping, because paths and column names may look like markup."""
    Screen(stderr=error).print(text, style=style, markup=False, highlight=False, soft_wrap=True)


# -------------------------------------------------------------------------------------- messages
@dataclass(frozen=True)
class Terminal:
    """Prints the messages and results of a command."""

    json: bool = False
    quiet: bool = False
    notes: list[str] = field(default_factory=list)

    def say(self, text: str) -> None:
        """Print a remark, such as what was left out."""
        self.notes.append(one_line(text))
        if not (self.json or self.quiet):
            say(text)

    def written(self, path: Path) -> None:
        """Print the path of a file that was written."""
        if not (self.json or self.quiet):
            say(f"written  {path}")

    def show(self, table: Table) -> None:
        """Print a table."""
        if not self.json:
            Screen().print(table)

    def lines(self, texts: Iterable[str]) -> None:
        """Print lines of a result."""
        if not self.json:
            for text in texts:
                say(text)

    @contextlib.contextmanager
    def status(self, what: str, bars: bool | None) -> Generator[None]:
        """Show a status message during a step that has no progress bar."""
        screen = Screen(stderr=True)
        if bars is False or not screen.is_terminal:
            yield
            return
        with screen.status(escape(visible(what))):
            yield

    @contextlib.contextmanager
    def print_warnings(self) -> Generator[None]:
        """Print each warning in one line, once, without its location in the code."""

        def print_warning(message: Warning | str, *_: object) -> None:
            text = one_line(str(message))
            if text in self.notes:
                return
            self.notes.append(text)
            if not self.quiet:
                say(f"note: {text}", "yellow", error=True)

        with warnings.catch_warnings():
            warnings.showwarning = print_warning
            yield


# ------------------------------------------------------------------------------------------ JSON
Document: TypeAlias = dict[str, object]
"""The content of a JSON document; `jsonable` converts the values."""


def jsonable(value: object) -> JsonValue:
    """Return a value that JSON can represent: NaN and infinity become null, unknown types become text."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): jsonable(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [jsonable(v) for v in value]
    if isinstance(value, PurePath):
        return str(value)
    return value.isoformat() if isinstance(value, (date, time)) else str(value)


# ----------------------------------------------------------------- results to terminal and files
ChangeLike: TypeAlias = "Change | Drift"

Result: TypeAlias = "Effect | Surface | Importance | Diagnosis | Regions | RegionsByFeature | Interactions | ChangeLike"


NUMBERS = (".csv", ".json", ".npz")


FIGURES = (".png", ".svg", ".pdf")


PAGES = (".html",)

EVERY_ENDING = (*FIGURES, *PAGES, *NUMBERS)


def show(result: Result, terminal: Terminal, model: object = None) -> None:
    """Print a result as Python does, an effect with its numbers; of several models, with the name of the model."""
    if model is not None:
        terminal.lines([f"model {model}"])
    if isinstance(result, sd.Effect):
        from skedasis.report.tables import effect_with_numbers  # heavy

        terminal.lines(effect_with_numbers(result, "skedasis regions"))
    else:
        terminal.lines(str(result).splitlines())
    if isinstance(result, sd.Change):
        terminal.lines(str(check) for check in result.checks())


def by_class(found: Result | ResultsByLabel[Any]) -> list[tuple[Document, Result]]:
    """Return a result, or those of several models, classes or outputs, with the labels that distinguish them."""
    if isinstance(found, sd.MultiOutput | sd.Comparison):
        what = "model" if isinstance(found, sd.Comparison) else "class"
        return [
            ({what: label, **keys}, part)
            for label, one in found.items()
            for keys, part in by_class(one)
        ]
    return [({}, cast("Result", found))]


def output_results(
    found: Sequence[tuple[Document, Result]],
    out: Path | None,
    terminal: Terminal,
    inputs: Sequence[str] = (),
) -> Document:
    """Print results, and write them to files if an output path is given."""
    for k, (keys, result) in enumerate(found):
        terminal.lines([""] if k or "model" in keys else [])
        show(result, terminal, keys.get("model"))
    written: list[Path] = []
    if out is not None:
        labels = [tuple(keys.values()) for keys, _ in found]
        written = paths_of(out, labels) if labels != [()] else [out]
        for path in written:
            _check_not_input(path, inputs)
        for (_, result), path in zip(found, written, strict=True):
            write(result, path)
            terminal.written(path)
    results = [{**result.to_dict(), **keys} for keys, result in found] if terminal.json else []
    return {"results": results, "written": written}


def check_out(
    out: Path | None,
    inputs: Sequence[str],
    endings: Sequence[str] = EVERY_ENDING,
    option: str = "--out",
) -> None:
    """Check before the computation that an output file can be written."""
    if out is None:
        return
    if out.suffix.lower() not in endings:
        known = ", ".join(endings)
        got, expected = repr(str(out)), f"a name that ends in {known}"
        raise DataError(option, got, expected, "Choose another name")
    check_writable(out, option, f"result{endings[0]}")
    _check_not_input(out, inputs, option)


def _check_not_input(out: Path, inputs: Sequence[str], option: str = "--out") -> None:
    """Check that an output file is not one of the input files, even by another name."""
    for name in inputs:
        if out.exists() and Path(name).exists() and out.samefile(name):
            got = f"{str(out)!r}, which is an input file"
            raise DataError(option, got, "another file", "Choose another name")


def paths_of(out: Path, labels: Sequence[object]) -> list[Path]:
    """Return a path for each label, with names that are valid and distinct on every file system."""
    from skedasis.report.figures import file_name

    seen: dict[str, int] = {}
    paths: list[Path] = []
    for label in labels:
        parts: tuple[object, ...] = label if isinstance(label, tuple) else (label,)
        name = "-".join(file_name(str(part)) for part in parts)
        key, more = name.casefold(), ""
        # A numbered name may be the same as another name.
        while f"{key}{more}" in seen:
            seen[key] = seen.get(key, 1) + 1
            more = f"-{seen[key]}"
        seen[f"{key}{more}"] = 1
        paths.append(out.with_name(f"{out.stem}-{name}{more}{out.suffix}"))
    return paths


def write(result: Result, out: Path) -> None:
    """Write a figure of a result, a page or its numbers, depending on the suffix of the file."""
    ending = out.suffix.lower()
    if ending in FIGURES:
        result.plot().savefig(out, dpi=160)
    elif ending in PAGES:
        result.explore().save(out)
    elif ending == ".npz":
        result.save(out)
    elif ending == ".json":
        result.to_json(out, indent=1)
    else:
        write_table(out, result.table())


def write_csv(
    out: Path, names: Iterable[object], rows: Iterable[Iterable[object]], option: str = "--out"
) -> None:
    """Write a table as CSV; text that spreadsheets would run as a formula gets an apostrophe (`cell_text`)."""
    with text_file(out, option) as file:
        writer = csv.writer(file)
        writer.writerow(map(cell_text, names))
        writer.writerows(map(cell_text, row) for row in rows)


def write_table(out: Path, table: Mapping[str, Iterable[object]], option: str = "--out") -> None:
    """Write the columns of a table of a result as CSV."""
    cells = [[jsonable(value) for value in column] for column in table.values()]
    write_csv(out, table, zip(*cells, strict=True), option)
