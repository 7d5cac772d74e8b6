"""Rows by one SQL condition, such as ``yr = 1 AND temp > 0.5``: the option ``--where`` of the commands."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

import numpy as np

from skedasis._types import Container, Ints
from skedasis.data.arrow import ArrowColumn, ArrowTable, compute_functions
from skedasis.data.features import first_names
from skedasis.errors import DataError, UnsupportedError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "python_enable_replacements": False,
    "threads": 1,  # rows stay in order, and a forked process lacks no thread
    "lock_configuration": True,
}

_FIX = "Write for example yr = 1 AND town = 'a': text between ', names that are no words of SQL between \""


@dataclass(frozen=True)
class RowCondition:
    """A condition that has been read, on the columns `names`, of which it names `columns`; see `parse`."""

    text: str
    names: tuple[str, ...]
    what: str
    columns: tuple[str, ...] = ()

    def rows(self, data: Container) -> Ints:
        """Return the numbers of the rows for which it is true; raise `DataError` for values that do not compare."""
        import duckdb
        import pyarrow as pa

        number = "#" * (1 + max(map(len, self.columns)))  # longer than any of them
        try:
            table = self._table(data)
            columns = {name: _comparable(table.column(name)) for name in self.columns}
            rows = pa.table({**columns, number: np.arange(len(table))})
            with _database().cursor() as connection:
                found = connection.from_arrow(rows).filter(self.text)
                return np.asarray(
                    found.select(duckdb.ColumnExpression(number)).fetchnumpy()[number]
                )
        except (duckdb.Error, pa.ArrowException) as error:
            raise self.error(str(error)) from error

    def _table(self, data: Container) -> ArrowTable:
        """Return the columns that the condition names."""
        import narwhals.stable.v2 as nw
        import pyarrow as pa

        if isinstance(data, np.ndarray):
            return pa.table({name: data[:, self.names.index(name)] for name in self.columns})
        frame = nw.from_native(data, eager_only=True)
        return cast("ArrowTable", frame.select(list(self.columns)).to_arrow())

    def error(self, problem: str, fix: str = _FIX) -> DataError:
        """Return the error for a problem, of which DuckDB gives the place in further lines."""
        return DataError(
            self.what,
            f"{self.text[:60]!r} ({problem.splitlines()[0][:150].rstrip('.!')})",
            f"one SQL condition on {first_names(self.names)}",
            fix,
        )


def parse(text: str, names: Sequence[str], what: str = "--where") -> RowCondition:
    """Read a condition in the SQL of DuckDB; raise `DataError` for anything else."""
    given = RowCondition(text, tuple(names), what)
    query, nodes = _tree(given)
    plain, _ = _tree(RowCondition("true", (), what))
    # But for the condition, the query is the same with another one.
    if query != plain or not {node.get("class") for node in nodes} <= _ON_A_ROW:
        raise given.error("more than a condition on a row")
    for name in _unsteady() & {node.get("function_name") for node in nodes}:
        raise given.error(f"{name} is not the same each time that rows are read")
    parts = [n["column_names"] for n in nodes if n.get("class") == "COLUMN_REF"]
    used = tuple(dict.fromkeys(".".join(part) for part in cast("list[list[str]]", parts)))
    if not used:
        raise given.error("it names no column")
    if len({name.lower() for name in used}) < len(used):
        raise given.error("names that differ in case alone, which are one name in SQL")
    return RowCondition(text, given.names, what, used)


def _tree(condition: RowCondition) -> tuple[object, list[dict[str, object]]]:
    """Return the tree of a query without its condition, and all nodes of the condition."""
    query = "SELECT json_serialize_sql('SELECT 1 FROM rows WHERE ' || ?)"
    nodes: list[dict[str, object]] = []
    try:
        condition.text.encode()
        with _database().cursor() as connection:
            found = connection.execute(query, [condition.text]).fetchall()
        tree = json.loads(found[0][0], object_hook=lambda node: nodes.append(node) or node)
    except RecursionError:
        raise condition.error("it is too deep") from None
    except UnicodeEncodeError:
        raise condition.error("it is no Unicode") from None
    if tree["error"]:
        raise condition.error(tree["error_message"])
    for statement in tree["statements"]:
        statement["node"]["where_clause"] = None
    return tree, nodes


@cache
def _database() -> DuckDBPyConnection:
    """Return a database without access to files, whose settings cannot be changed; use a cursor of it."""
    try:
        duckdb, _ = import_module("duckdb"), import_module("pyarrow")
    except ImportError as error:
        raise UnsupportedError(
            "--where",
            f"no {error.name}",
            "the libraries that evaluate a condition",
            "pip install 'skedasis[sql]'",
        ) from error
    return duckdb.connect(config=_SETTINGS)


_ON_A_ROW = {
    *(None, "BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION"),
    *("CONSTANT", "FUNCTION", "LAMBDA", "OPERATOR", "TYPE"),
}
"""Classes of the nodes of a condition, without queries, parameters and columns by number."""


@cache
def _unsteady() -> frozenset[str]:
    """Return the functions that may differ between calls, as ``random`` and ``now``, and macros of these or queries."""
    query = """SELECT function_name, coalesce(macro_definition, ''), stability = 'VOLATILE'
        OR regexp_matches(function_name, '^now$|current_|today|txid|^transaction') FROM duckdb_functions()"""
    with _database().cursor() as connection:
        functions = connection.execute(query).fetchall()
    unsteady = {"SELECT", "current_timestamp"} | {name for name, _, changes in functions if changes}
    macros = [(name, set(re.findall(r"\w+", body))) for name, body, _ in functions]
    while more := {name for name, words in macros if words & unsteady} - unsteady:
        unsteady |= more
    return frozenset(unsteady)


def _comparable(column: ArrowColumn) -> ArrowColumn:
    """Return a column with text for categories, local times for those of a zone, wide integers, and NULL for NaN."""
    import pyarrow as pa
    import pyarrow.types as pt

    pc = compute_functions()
    if pt.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pt.is_timestamp(column.type):
        if column.type.tz:
            column = pc.local_timestamp(column)
        with suppress(pa.ArrowInvalid):  # DuckDB reads no text as a time in nanoseconds
            column = column.cast(pa.timestamp("us"))
        return column
    if pt.is_integer(column.type) and column.type.bit_width < 64:  # whose sums would overflow
        return column.cast(pa.int64())
    if pt.is_floating(column.type):
        column = column.cast(pa.float32()) if pt.is_float16(column.type) else column
        return pc.if_else(pc.is_nan(column), None, column)
    return column
