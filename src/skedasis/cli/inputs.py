"""Inputs of the commands: models, data, columns, quantities and methods from text."""

from __future__ import annotations

import csv
import fnmatch
import importlib
import json
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np

from skedasis._arguments import as_bytes
from skedasis._types import Values
from skedasis.cli.options import DataOptions, SessionOptions
from skedasis.cli.output import Terminal
from skedasis.cli.parquet import ParquetTable, is_parquet, opened
from skedasis.data.dataset import as_dataset
from skedasis.data.factorize import missing_mask
from skedasis.data.features import Declared, Feature, SchemaEntry, first_names
from skedasis.data.readers import FileTable, read_table
from skedasis.errors import DataError, ModelOutputError, UnsupportedError, nearest
from skedasis.models import files
from skedasis.models.introspection import as_in_fit, columns_of_fit, fitted_width


# ------------------------------------------------------------------------------------------ data
@dataclass(frozen=True, eq=False)
class FileRows:
    """The rows of a file that are explained."""

    table: FileTable
    labels: Values | None
    weights: Values | None
    read: int
    unlabelled: int
    sample: int | None = None
    selected: int | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Return the numbers of rows for the JSON document."""
        where = {} if self.selected is None else {"where": self.selected}
        used = self.sample or len(self.table)
        return {"read": self.read, **where, "without_label": self.unlabelled, "used": used}


def read(opts: SessionOptions, path: str, terminal: Terminal) -> FileTable:
    """Read the data file, and check that it has the target, the weights and the ignored columns."""
    memory = as_bytes(opts.memory, "--memory")
    with terminal.status(f"Reading {path}", opts.bars):
        found = opened(path, memory) if is_parquet(path) else None
        table = read_table(Path(path)) if found is None else found
    if opts.where is not None:
        everything, table = len(table), table.where(opts.where, "--where")
        terminal.say(f"where     {opts.where}: {len(table):,} of {everything:,} rows")
    excluded = [(opts.target, "--target"), (opts.sample_weight, "--sample-weight")]
    for name, option in (*excluded, *((n, "--ignore") for n in opts.ignore or ())):
        if name is None:
            continue
        try:
            table.place(name, option)
        except DataError:
            from skedasis.results.checks.check import CODES

            if option != "--ignore" or name not in CODES:
                raise
            fix = f"To leave out findings of a check, use --ignore-check {name}"
            raise DataError(option, f"{name!r}, a check", "the name of a column", fix) from None
    if opts.target is not None and opts.target == opts.sample_weight:
        got, fix = f"{opts.sample_weight!r}, which is also the --target", "Choose another column"
        raise DataError("--sample-weight", got, "another column than --target", fix)
    return table


def rows_of(opts: DataOptions, table: FileTable, terminal: Terminal, *, labelled: bool) -> FileRows:
    """Return the rows to explain: without unlabelled rows if labels are needed."""
    everything = table.read or len(table)
    selected = len(table) if table.read else None
    target, weight = opts.target if labelled else None, opts.sample_weight
    used, left = table, 0
    if isinstance(table, ParquetTable):
        used = table.with_roles(target, weight)
        left = len(table) - len(used) if weight is None else 0
    elif target is not None:
        used, left = label_column(table, target)
    if left:
        terminal.say(f"left out  {left:,} rows without a {target}")
    labels = weights = None
    if isinstance(used, ParquetTable):  # labels and weights are names of columns
        terminal.say(
            f"reading   {len(used):,} rows in chunks, because they need more than --memory"
        )
    else:
        labels = None if opts.target is None else used.column(opts.target)
        weights = None if weight is None else used.column(weight)
    sample = _sample(opts, len(used), terminal)
    return FileRows(used, labels, weights, everything, left, sample, selected)


def _sample(opts: DataOptions, n: int, terminal: Terminal) -> int | None:
    """Return the number of rows of a sample, and print it; None if all rows are explained."""
    if opts.sample is None or opts.sample >= n:
        return None
    terminal.say(f"sample    {opts.sample:,} of {n:,} rows, seed {opts.random_state}")
    return opts.sample


def some_labels(rows: FileRows) -> Values | None:
    """Return the labels, or the first of rows that are read in chunks; None without a target."""
    return rows.table.first_labels() if isinstance(rows.table, ParquetTable) else rows.labels


def columns_of(opts: DataOptions, table: FileTable, model: object) -> NamedColumns:
    """Return the columns that a model takes, with the options about them."""
    excluded = [n for n in (opts.target, opts.sample_weight, *(opts.ignore or ())) if n is not None]
    return parse_columns(features_of(table, model, excluded), opts, table.names)


def load(opts: SessionOptions, spec: str, terminal: Terminal) -> Any:
    """Load a model, with a status message."""
    with terminal.status(f"Loading {spec}", opts.bars):
        return load_model(spec, tuple(opts.trust or ()), pickle=opts.trust_pickle)


# ---------------------------------------------------------------------------------------- models
def load_model(spec: str, trust: Sequence[str] = (), *, pickle: bool = False) -> Any:
    """Import a model by its path, such as ``my_module:model``, or load a model file."""
    path = Path(spec)
    usual = path.suffix.lower() in files.SUFFIXES and ":" not in spec
    if usual or (path.is_file() and path.suffix.lower() != ".py"):
        if pickle:
            _add_working_directory()
        return files.load_model(spec, trust, pickle=pickle)
    if ":" not in spec:
        expected = f"MODULE:OBJECT, or a model file ({', '.join(files.SUFFIXES)})"
        raise DataError("--model", repr(spec), expected, f"Write {_as_object(spec)}")
    return _import(spec)


def _as_object(spec: str) -> str:
    """Return a module, its file, or an object in it as MODULE:OBJECT."""
    module, _, name = spec.replace("/", ".").rpartition(".")
    if not module or name == "py":
        return f"{module or name}:model"
    return f"{module}:{name}"


def named(specs: Sequence[str]) -> list[str]:
    """Return a name for each model: the name of the object or of the file."""
    paths = [Path(spec) for spec in specs]
    names = [
        path.stem if path.suffix.lower() in files.SUFFIXES else spec.partition(":")[2] or spec
        for path, spec in zip(paths, specs, strict=True)
    ]
    if len(set(names)) < len(names):
        names = list(specs)
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise DataError("--model", f"{twice!r} twice", "different models", "Name each model once")
    return names


def _add_working_directory() -> None:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def _import(spec: str) -> Any:
    module_name, _, path = spec.partition(":")
    if not (module_name and path):
        raise DataError("--model", repr(spec), "MODULE:OBJECT", "Write my_module:model")
    if module_name.startswith("."):  # importlib would look for a package
        raise _leading_dot(spec, module_name, path)
    found: object = _import_module(spec, module_name)
    where = module_name
    for name in path.split("."):
        if not hasattr(found, name):
            raise _missing_name(name, found, where)
        found, where = getattr(found, name), f"{where}.{name}"
    return found


def _leading_dot(spec: str, module_name: str, path: str) -> DataError:
    """Return the error for a module's name that starts with a dot."""
    if module_name.startswith("../"):
        fix = f"Run the command in the folder of {module_name.removesuffix('.py')}.py"
    else:
        plain = module_name.lstrip("./").removesuffix(".py").replace("/", ".") or "my_module"
        fix = f"Write the module's name without a leading dot: {plain}:{path}"
    return DataError("--model", repr(spec), "MODULE:OBJECT", fix)


def _import_module(spec: str, module_name: str) -> ModuleType:
    """Import the module of a model, which may be the user's own file."""
    _add_working_directory()
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise DataError(
                f"--model {spec}",
                f"a module that needs {error.name!r}, which is not installed",
                "a module that can be imported",
                f"Install it: pip install {error.name}",
            ) from error
        got, fix = f"no module {error.name!r}", f"Run the command in the folder of {error.name}.py"
        raise DataError("--model", got, "a module", fix) from error
    except (DataError, ModelOutputError, UnsupportedError, OSError):
        raise  # their messages say what to do
    except (Exception, SystemExit) as error:
        got = f"a module that cannot be imported ({type(error).__name__}: {error})"
        fix = "Correct the module; --debug shows the traceback"
        if isinstance(error, SystemExit):  # a script that calls sys.exit
            fix = 'Move the code that runs into: if __name__ == "__main__"'
        raise DataError(f"--model {spec}", got, "a module", fix) from error


def _missing_name(name: str, holder: object, where: str) -> DataError:
    """Return the error for an attribute that an object does not have."""
    attributes: dict[str, object] = getattr(holder, "__dict__", {})
    public = [
        n for n, v in attributes.items() if not (n.startswith("_") or isinstance(v, ModuleType))
    ]
    near = nearest(name, public)
    fix = f"Did you mean {near!r}?" if near else "Check the name"
    expected = f"one of {first_names(public)}" if public else "an object with this attribute"
    return DataError("--model", f"no {name!r} in {where}", expected, fix)


def features_of(table: FileTable, model: object, excluded: Sequence[str] = ()) -> FileTable:
    """Return the columns that a model was fitted on, in its order; if it does not know them, all except some."""
    fitted = columns_of_fit(model)
    if fitted is not None:
        known = dict(zip(as_in_fit(model, table.names), table.names, strict=True))
        names = [name if name in table.names else known.get(name, name) for name in fitted]
        if hasattr(model, "feature_names_in_") or any(name in table.names for name in names):
            return table.select(names)
    left = (
        table.select([name for name in table.names if name not in excluded]) if excluded else table
    )
    wanted = _width(model)
    if wanted is not None and wanted != len(left.names):
        raise DataError(
            "the columns",
            f"{len(left.names)} without target, weights and ignored columns ({first_names(left.names)})",
            f"{wanted}, as many as the model takes",
            "Exclude columns that are not features with --ignore COLUMN, or save the model with column names",
        )
    return left


def _width(model: Any) -> int | None:
    """Return the number of columns that a model takes, or None if it is not known."""
    for holder, name in ((model, "num_feature"), (getattr(model, "grown", model), "num_features")):
        count = getattr(holder, name, None)
        if callable(count):
            return int(count())  # type: ignore[call-overload]
    return fitted_width(model)


# --------------------------------------------------------------- quantities, columns and methods
def label_column(table: FileTable, target: str) -> tuple[FileTable, int]:
    """Return the rows with a label, and the number of rows without one."""
    table.place(target, "--target")
    missing = missing_mask(table.column(target))
    left = int(missing.sum())
    if left == len(table):
        raise DataError(
            "--target", f"{target!r} without any value", "labels", "Choose another column"
        )
    return (table.take(np.flatnonzero(~missing)) if left else table), left


_HEAD = 10_000
"""Rows from which the kinds of columns are taken, of data that are read in chunks."""


@dataclass(frozen=True, eq=False)
class NamedColumns:
    """The columns of a file, with the options about them."""

    table: FileTable
    schema: dict[str | int, Declared] | None
    groups: dict[str, list[int]] | None

    def find(self, name: str, option: str) -> str | int:
        """Return the name of a group, or the position of a column."""
        return name if name in (self.groups or {}) else self.table.place(name, option)

    def find_all(self, names: Sequence[str], option: str) -> list[str | int]:
        """Return the groups and columns of names and patterns, each once; see `find`."""
        groups = self.groups or {}
        grouped = {j for columns in groups.values() for j in columns}
        known: dict[str, str | int] = {name: name for name in groups}
        known |= {name: j for j, name in enumerate(self.table.names) if j not in grouped}
        found: dict[str | int, None] = {}
        for name in names:
            pattern = (
                None if name in groups or name in self.table.names else as_pattern(name, option)
            )
            if pattern is None:
                found[self.find(name, option)] = None
                continue
            matched = [one for text, one in known.items() if pattern.search(text)]
            if not matched:
                got = f"the pattern {name!r}, which matches none of {len(known)} features"
                some = f"a pattern for some of {first_names(list(known))}"
                raise DataError(option, got, some, "Check the pattern")
            found |= dict.fromkeys(matched)
        return list(found)

    def name(self, wanted: str | int) -> str:
        """Return the name of a group or column."""
        return wanted if isinstance(wanted, str) else self.table.names[wanted]

    def features(self, wanted: str | int | tuple[str | int, ...]) -> tuple[Feature, ...]:
        """Return the one or two features to explain."""
        from skedasis.engine.select import FeatureSelection

        few = isinstance(self.table, ParquetTable)
        table = self.table.take(np.arange(min(len(self.table), _HEAD))) if few else self.table
        dataset = as_dataset(table.data, None, None, self.schema)
        return FeatureSelection(dataset, wanted, self.groups).asked[0]


def as_pattern(name: str, option: str) -> re.Pattern[str] | None:
    if len(name) > 2 and name.startswith("/") and name.endswith("/"):
        try:
            return re.compile(name[1:-1])
        except re.error as error:
            got = f"{name!r}, which is no regular expression ({error})"
            raise DataError(option, got, "/regex/", "Correct it, or use * and ?") from None
    if any(c in name for c in "*?["):
        return re.compile(rf"\A{fnmatch.translate(name)}")
    return None


def parse_columns(table: FileTable, opts: DataOptions, names: Collection[str]) -> NamedColumns:
    """Return the columns of a table, with the options about them applied."""
    places = _declared(table, opts, names)
    schema: dict[str | int, Declared] = {}
    for place, name in enumerate(table.names):
        if table.is_frame and place in places:
            schema[name] = places[place]
        elif not table.is_frame:
            schema[place] = {**places.get(place, {}), "name": name}
    groups: dict[str, list[int]] = {}
    for text in opts.group or ():
        name, columns = _group(text)
        if name in groups:
            fix = "Give each group a name of its own"
            raise DataError("--group", f"{name!r} twice", "different names", fix)
        groups[name] = [table.place(column, "--group") for column in columns]
    return NamedColumns(table, schema or None, groups or None)


def _declared(
    table: FileTable, opts: DataOptions, names: Collection[str]
) -> dict[int, SchemaEntry]:
    """Return what the options declare for each column, by position."""
    places: dict[int, SchemaEntry] = {}
    for name, entry in _schema_file(opts.schema).items():
        if name in names and name not in table.names:
            continue
        place = table.place(name, "--schema")
        # Text is the short form of a kind; what else is wrong the library says, which knows the keys.
        places[place] = cast("SchemaEntry", {"kind": entry} if isinstance(entry, str) else entry)
    for place, unit in _by_column(table, opts.unit, "--unit", "temp=°C"):
        places[place] = {**places.get(place, {}), "unit": unit}
    for place, label in _by_column(table, opts.label, "--label", "temp=Temperature"):
        places[place] = {**places.get(place, {}), "label": label}
    for name in opts.categorical or ():
        place = table.place(name, "--categorical")
        places[place] = {**places.get(place, {}), "kind": "nominal"}
    return places


def _by_column(
    table: FileTable, given: Sequence[str] | None, option: str, example: str
) -> Iterator[tuple[int, str]]:
    """Yield the columns and texts of an option whose values read ``COLUMN=TEXT``."""
    for text in given or ():
        name, _, rest = text.partition("=")
        name, rest = split_name(text, table.names) or (name.strip(), rest.strip())
        if not name or not rest:
            raise DataError(option, repr(text), "COLUMN=TEXT", f"Write {option} {example}")
        yield table.place(name, option), rest


def split_name(text: str, known: Collection[str]) -> tuple[str, str] | None:
    """Return the longest known name before a sign of equality, and what follows it: a name may have such signs, too."""
    for i in range(len(text) - 1, 0, -1):
        if text[i] == "=" and text[:i] in known and text[i + 1 :].strip():
            return text[:i], text[i + 1 :].strip()
    return None


def _schema_file(path: str | None) -> dict[str, object]:
    """Return the content of the file of ``--schema``: what it declares for each column."""
    if path is None:
        return {}
    fix = 'Write for example {"temp": {"unit": "°C", "label": "Temperature"}}'
    try:
        found: object = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        name, _, kind = path.partition("=")
        if kind:
            fix = f"Write --categorical {name} for a column of codes, --unit {name}=UNIT, --label {name}=TEXT"
        raise DataError("--schema", f"{path}: {reason}", "a JSON file", fix) from error
    except ValueError as error:
        raise DataError("--schema", f"{path}, which is no JSON: {error}", "JSON", fix) from error
    expected = "a JSON object with a kind, or an object of kind, unit, label, levels and labels, per column"
    if not isinstance(found, dict):
        raise DataError("--schema", f"a JSON {type(found).__name__}", expected, fix)
    entries = cast("dict[str, object]", found)
    for name, entry in entries.items():
        if not isinstance(entry, (str, dict)):
            raise DataError(f"--schema: {name!r}", repr(entry)[:80], expected, fix)
    return entries


def _group(text: str) -> tuple[str, list[str]]:
    """Return the name and the columns of a group; names that contain a comma are quoted, as in CSV."""
    name, sign, rest = text.partition("=")
    columns = [c.strip() for c in next(csv.reader([rest], skipinitialspace=True), [])]
    if not (name.strip() and sign and columns and all(columns)):
        fix = "Write --group district=district_a,district_b"
        raise DataError("--group", repr(text), "NAME=COLUMN,COLUMN", fix)
    return name.strip(), columns
