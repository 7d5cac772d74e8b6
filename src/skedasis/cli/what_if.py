"""The command `what-if`: what happens to a quantity if features of every row move, or are set to a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import skedasis as sd
from skedasis.cli import completion, output
from skedasis.cli.inputs import NamedColumns, split_name
from skedasis.cli.options import SessionOptions, argument, column, option
from skedasis.cli.output import Document, Terminal
from skedasis.cli.session import Session
from skedasis.errors import DataError

EXAMPLES = """Examples

\b
skedasis what-if my:model houses.csv age=+1
    what happens if every house is a year older
skedasis what-if my:model houses.csv size=+10% age=-5 --target price
    two features move at the same time
skedasis what-if my:model houses.csv town=north --by age
    every house moves to the north, by the quartiles of age
skedasis what-if my:model houses.csv size=x2 --by age=20,50 -o doubled.png
    a figure of the regions between two ages
skedasis what-if my:clf houses.csv age=40 --class all --json
    every house gets the age 40, for each class, as JSON
skedasis what-if my:model houses.csv --set age=-5 --rows rows.csv
    set a negative value, and write the change of each row
"""

_FORM = "FEATURE=MOVE, such as age=+1, age=-10%, age=x2, age=40 or town=north"


@dataclass(frozen=True, kw_only=True)
class WhatIfOptions(SessionOptions):
    """The options of `skedasis what-if`."""

    panel: ClassVar[str | None] = None

    more: list[str] | None = argument(
        "What moves: +1 and -1 are steps, +10% a percentage of each row's value, x2 a factor; a plain number, "
        "time or level is set in every row. Several features move at the same time.",
        "FEATURE=MOVE",
        completion.moves,
    )
    set_: list[str] | None = option(
        "Value that a feature gets in every row, such as a negative number; may be repeated.",
        "--set",
        metavar="FEATURE=VALUE",
        complete=completion.moves,
    )
    by: str | None = column(
        "Column whose levels, or quartiles, are regions; or the values that cut it: age=20,50."
    )
    rows: Path | None = option("CSV file for the change of each row.")

    def outputs(self) -> list[tuple[Path | None, Sequence[str], str]]:
        """Return the files that are written."""
        return [*super().outputs(), (self.rows, (".csv",), "--rows")]

    def check(self, named: Sequence[str]) -> None:
        """Check the options before any file is read."""
        if not named and not self.set_:
            raise DataError("FEATURE=MOVE", "none", _FORM, "Name what moves")


def what_if(opts: WhatIfOptions, terminal: Terminal) -> Document:
    """Compute what happens to the prediction if features of every row move, or are set to a value.

    Prints the mean change over the rows with its interval, and how many rows leave the data.
    """
    s = Session.open(opts, terminal, "what-if")
    moves = _moves(s.columns, s.named, "FEATURE=MOVE")
    to = _moves(s.columns, opts.set_ or (), "--set")
    by = None if opts.by is None else _by(s.columns, opts.by)
    found = sd.what_if(opts.quantity_of(s.model), s.data, moves, to=to, by=by, **s.keywords)
    document = s.finish(output.by_class(found))
    if opts.rows is not None:
        changes = {"": found} if isinstance(found, sd.Change) else dict(found)
        paths = [opts.rows] if "" in changes else output.paths_of(opts.rows, list(changes))
        for one, file in zip(changes.values(), paths, strict=True):
            output.write_table(file, one.table("rows"), "--rows")
            terminal.written(file)
    return document


def _moves(columns: NamedColumns, texts: Sequence[str], option: str) -> dict[str | int, str]:
    """Return the moves by group or by position of the column."""
    found: dict[str | int, str] = {}
    for text in texts:
        form = "FEATURE=VALUE" if option == "--set" else _FORM
        name, value = _split(columns, text, option, form)
        key = columns.find(name, option)
        if key in found:
            raise DataError(option, f"{name!r} twice", "one move for each feature", "Remove one")
        found[key] = value
    return found


def _split(columns: NamedColumns, text: str, option: str, form: str) -> tuple[str, str]:
    """Return the name and what follows the sign of equality; a name may have such signs, too."""
    known = {*columns.table.names, *(columns.groups or {})}
    found = split_name(text, known)
    if found is not None:
        return found
    name, sign, value = text.partition("=")
    if not sign or not value.strip():
        own = max((n for n in known if text.startswith(n)), key=len, default="")
        rest = text[len(own) :].strip() or ("40" if option == "--set" else "+1")
        example = f"{own}={rest}" if own else "age=40" if option == "--set" else "age=+1"
        before = f"{option} " if option.startswith("-") else ""
        raise DataError(option, repr(text), form, f"Write for example {before}{example}")
    return name.strip(), value.strip()


def _by(columns: NamedColumns, text: str) -> str | int | tuple[str | int, list[float]]:
    """Return what gives the regions: a column, or a column and the values that cut it."""
    if text in columns.table.names or text in (columns.groups or {}) or "=" not in text:
        return columns.find(text, "--by")
    name, values = _split(columns, text, "--by", "COLUMN, or COLUMN=VALUE,VALUE")
    try:
        edges = [float(v) for v in values.split(",")]
    except ValueError:
        raise DataError(
            "--by", repr(text), "numbers that cut the column, such as age=20,50", "Use numbers"
        ) from None
    return columns.find(name, "--by"), edges
