"""Results as data frames."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from skedasis._types import Values
from skedasis.data.times import TimeAxis, TimePoints
from skedasis.errors import UnsupportedError, nearest
from skedasis.registry import listed_methods
from skedasis.results.axis import Axis, LevelAxis, LevelPairAxis, TimedAxis
from skedasis.results.effect import BinStats, Effect
from skedasis.results.export import TableColumn, TableColumns
from skedasis.results.surface import AccumulatedSurface, CellStats, Surface

FrameColumns = dict[str, Any]


_LIBRARIES = ("pandas", "polars", "pyarrow")
_KNOWN = (*_LIBRARIES, "modin", "cudf")


_END_FIELDS = ("low", "high", "time", "end_labels")
"""Fields of `BinStats` that become the columns ``"left"`` and ``"right"``."""


_VALUE_FIELDS = ("value", "heterogeneity", "std_error")


# --- tables of single effects ---------------------------------------------------------------------


def effect_table(effect: Effect, of: str) -> FrameColumns:
    """Return the points of an effect, its bins, its ICE curves or its point of missing values as columns."""
    if of == "effect":
        return _with_feature(effect, _points(effect))
    if of == "bins" and effect.bins is not None:
        bins = effect.bins
        ends = {"left": bins.low, "right": bins.high}
        columns: FrameColumns = {end: axis_column(effect.axis, at) for end, at in ends.items()}
        columns |= {
            f.name: getattr(bins, f.name) for f in fields(BinStats) if f.name not in _END_FIELDS
        }
        return _with_feature(effect, columns)
    if of == "spread" and effect.spread is not None:
        spread = effect.spread
        x = _x_column(effect, spread.x)
        numbers = {"value": spread.value, "std_error": spread.std_error, "weight": spread.weight}
        return _with_feature(effect, {**x, **numbers})
    if of == "curves" and effect.curves is not None:
        curves, (r, m) = effect.curves, effect.curves.value.shape
        x = {k: tile_column(v, r) for k, v in _x_column(effect).items()}
        rows = {"row": np.repeat(curves.row, m), **x, "value": curves.value.ravel()}
        return _with_feature(effect, rows)
    if of == "missing" and effect.missing_point is not None:
        names = ("count", "effect", "value", "std", "std_error")
        columns = {c: np.array([getattr(effect.missing_point, c)]) for c in names}
        return _with_feature(effect, columns)
    raise _no_table(effect, of)


def _no_table(effect: Effect, of: str) -> UnsupportedError:
    """Return the error for a table that the effect does not have."""
    what, name = f"to_frame(of={of!r})", repr(effect.feature)
    if of == "missing":
        return UnsupportedError(
            what,
            f"{name}, which has no point of missing values",
            "a feature that is missing in some rows, and a model that accepts missing values",
            "Use of='effect' for the points of the curve",
        )
    fix = f"Use {listed_methods(lambda m: m.bins and m.local_effects)}"
    if of == "curves":
        fix = "Compute them with the effect: sd.explain(..., curves=30)"
    return UnsupportedError(
        what,
        f"the {effect.spec.method} of {name}, which has no {of}",
        f"a result with {of}",
        fix,
    )


def _points(effect: Effect) -> FrameColumns:
    """Return the points of an effect; for levels with their counts and weights."""
    columns = {**_x_column(effect), **{c: getattr(effect, c) for c in _VALUE_FIELDS}}
    if isinstance(effect.axis, LevelAxis):
        levels = effect.axis.levels
        columns |= {"count": levels.count, "weight": levels.weight}
    if effect.accumulated_std is not None:
        columns["accumulated_std"] = effect.accumulated_std
    return columns


def _x_column(effect: Effect, points: Values | None = None) -> FrameColumns:
    """Return the column ``"x"`` or ``"level"`` of an effect's points, or of other points of its axis."""
    name = "level" if isinstance(effect.axis, LevelAxis) else "x"
    return {name: axis_column(effect.axis, effect.points if points is None else points)}


def axis_column(axis: Axis, points: Values) -> Values | TimePoints:
    """Return points of an axis as a column of a table: numbers, times, or the labels of levels."""
    if isinstance(axis, LevelAxis):
        return axis.levels.labels_of(points)
    return point_column(points, axis.time if isinstance(axis, TimedAxis) else None)


def _with_feature(effect: Effect, columns: FrameColumns) -> FrameColumns:
    """Put the column ``"feature"`` before the others."""
    length = len(next(iter(columns.values())))
    return {"feature": np.array([effect.feature] * length, dtype=object), **columns}


# --- tables of several effects and surfaces -------------------------------------------------------


def _separate_columns_by_kind(tables: Sequence[FrameColumns]) -> list[FrameColumns]:
    """Return the tables with separate columns for numbers, levels and times, if they contain several of these kinds."""
    kinds = {_kind(t) for t in tables}
    if len(kinds) < 2 and (kinds != {"time"} or _times_compatible(tables)):
        return list(tables)
    as_times = _times_compatible([t for t in tables if _kind(t) == "time"])
    return [_columns_by_kind(t, kinds, tables, as_times=as_times) for t in tables]


def _kind(table: FrameColumns) -> str:
    """Return the kind of a table's points: "number" (also without points), "level" or "time"."""
    x = next((table[name] for name in ("level", "x", "left") if name in table), 0.0)
    if isinstance(x, TimePoints):
        return "time"
    return "level" if np.asarray(x).dtype.kind == "O" else "number"


def _times_compatible(tables: Sequence[FrameColumns]) -> bool:
    """Return whether the times of all tables fit into one column."""
    columns = [next(c for c in t.values() if isinstance(c, TimePoints)) for t in tables]
    return all(c.alike(columns[0]) for c in columns)


def _columns_by_kind(
    table: FrameColumns, kinds: set[str], tables: Sequence[FrameColumns], *, as_times: bool
) -> FrameColumns:
    """Return a table with one column of points for each kind."""
    kind, size = _kind(table), len(table["feature"])
    ends = ("left", "right") if "left" in table else ("",)
    x_names = [n for n in ("x", "level", "left", "right") if n in table]
    out: FrameColumns = {}
    for name, column in table.items():
        if name not in x_names:
            out[name] = column
        elif name == x_names[0]:
            for end, x_name in zip(ends, x_names, strict=True):
                out |= _columns(table[x_name], kind, size, kinds, tables, end, as_times=as_times)
    return out


def _columns(
    column: Values | TimePoints,
    kind: str,
    size: int,
    kinds: set[str],
    tables: Sequence[FrameColumns],
    end: str,
    *,
    as_times: bool,
) -> FrameColumns:
    """Return a column of points of one kind, and empty columns for the other kinds."""
    out: FrameColumns = {end or "x": column if kind == "number" else np.full(size, np.nan)}
    if "level" in kinds:
        out[f"{end}_level" if end else "level"] = (
            column if kind == "level" else np.full(size, None, dtype=object)
        )
    if "time" in kinds:
        first = next(c for t in tables for c in t.values() if isinstance(c, TimePoints))
        times: Values | TimePoints = (
            column if kind == "time" else TimePoints(first.axis, np.full(size, np.nan))
        )
        if not as_times:
            times = np.array(times.tolist(), dtype=object)
        out[f"{end}_time" if end else "time"] = times
    return out


def _separate_pair_columns_by_kind(tables: Sequence[TableColumns]) -> list[TableColumns]:
    """Return tables of surfaces with separate columns for numbers, levels and times, if an axis has several kinds."""
    replaced = [_axis_columns(tables, axis) for axis in ("0", "1")]
    separated: list[TableColumns] = []
    for i, table in enumerate(tables):
        out: TableColumns = {}
        for name, column in table.items():
            axis = name[-1] if name[:-1] in ("x", "left", "right") else ""
            if not axis:
                out[name] = column
            elif name[:-1] != "right" and name not in out:
                out |= replaced[int(axis)][i]
        separated.append(out)
    return separated


def _axis_columns(tables: Sequence[TableColumns], axis: str) -> list[TableColumns]:
    """Return the columns of one axis of each table of a surface, separated by kind."""
    own: list[TableColumns] = []
    for table in tables:
        names = [n for n in ("x", "left", "right") if f"{n}{axis}" in table]
        columns = {n: table[f"{n}{axis}"] for n in names}
        for name, column in columns.items():
            if not isinstance(column, TimePoints) and np.asarray(column).dtype.kind == "U":
                columns[name] = np.asarray(column).astype(object)  # text: levels
        own.append({"feature": table[f"feature{axis}"], **columns})
    return [
        {f"{n}{axis}": c for n, c in separate.items() if n != "feature"}
        for separate in _separate_columns_by_kind(own)
    ]


# --- tables of single surfaces, and rankings -------------------------------------------------------


def surface_table(surface: Surface, of: str) -> FrameColumns:
    """Return the points or the cells of a surface as columns."""
    nodes = [
        np.array(s.levels.labels, dtype=object)
        if isinstance(s, LevelPairAxis)
        else point_column(s.nodes, t)
        for s, t in zip(surface.sides, surface.times, strict=True)
    ]
    if of == "effect":
        x0, x1 = column_pairs(nodes[0], nodes[1])
        columns = {"x0": x0, "x1": x1, "value": surface.value.ravel()}
        columns["heterogeneity"] = surface.heterogeneity.ravel()
        columns["std_error"] = surface.std_error.ravel()
    elif not isinstance(surface, AccumulatedSurface):
        raise UnsupportedError(
            "to_frame(of='cells')",
            f"the {surface.spec.method} surface, which has no cells",
            "a method with cells",
            "Use ALE or DALE",
        )
    else:
        columns = _cell_columns(nodes, surface.cells)
    size = len(next(iter(columns.values())))
    names = {
        f"feature{i}": np.array([name] * size, dtype=object)
        for i, name in enumerate(surface.features)
    }
    return {**names, **columns}


def _cell_columns(nodes: Sequence[Values | TimePoints], cells: CellStats) -> FrameColumns:
    left0, left1 = column_pairs(nodes[0][:-1], nodes[1][:-1])
    right0, right1 = column_pairs(nodes[0][1:], nodes[1][1:])
    ends = {"left0": left0, "right0": right0, "left1": left1, "right1": right1}
    return {**ends, **{f.name: getattr(cells, f.name).ravel() for f in fields(CellStats)}}


def column_pairs(
    first: Values | TimePoints, second: Values | TimePoints
) -> tuple[Values | TimePoints, Values | TimePoints]:
    """Return all pairs of entries of two columns as two columns; the second varies fastest."""
    times = len(second)
    repeated = (
        first.repeat(times)
        if isinstance(first, TimePoints)
        else np.repeat(np.asarray(first), times)
    )
    return repeated, tile_column(second, len(first))


# --- columns and data frames ----------------------------------------------------------------------


def point_column(points: Values, time: TimeAxis | None) -> Values | TimePoints:
    """Return points of an axis as a column of a table: numbers, or times."""
    return points if time is None else TimePoints(time, np.asarray(points, dtype=float))


def tile_column(column: Values | TimePoints, count: int) -> Values | TimePoints:
    """Repeat a column `count` times, as `numpy.tile`."""
    return column.tile(count) if isinstance(column, TimePoints) else np.tile(column, count)


def stack_tables(of_members: Sequence[Mapping[str, TableColumn]]) -> TableColumns:
    """Concatenate tables, points of several kinds in a column for each kind.

    Where a table lacks a column, numbers are NaN, and other values None.
    """
    tables = [{**table} for table in of_members]
    if all("x0" in table or "left0" in table for table in tables):
        tables = _separate_pair_columns_by_kind(tables)
    else:
        tables = _separate_columns_by_kind(tables)
    names = dict.fromkeys(name for table in tables for name in table)
    sizes = [len(next(iter(table.values()))) for table in tables]
    out: TableColumns = {}
    for name in names:
        own = [table[name] for table in tables if name in table]
        if len(own) == len(tables):
            out[name] = _concatenated(own)
            continue
        first = own[0]
        columns = [
            table.get(name, _unknown(first, size))
            for table, size in zip(tables, sizes, strict=True)
        ]
        out[name] = _concatenated(columns)
    return out


def _unknown(like: TableColumn, size: int) -> TableColumn:
    """Return a column of missing values of the kind of another column."""
    if isinstance(like, TimePoints):
        return TimePoints(like.axis, np.full(size, np.nan))
    numeric = np.asarray(like).dtype.kind in "fiub"
    return np.full(size, np.nan) if numeric else np.full(size, None, dtype=object)


def _concatenated(columns: Sequence[Any]) -> Any:
    first, *others = columns
    if isinstance(first, TimePoints) and all(isinstance(c, TimePoints) for c in others):
        return first.joined(others)
    with_rows = [c for c in columns if len(c)]  # the others may be of any type
    return np.concatenate([np.asarray(c) for c in with_rows or columns])


def _plain(values: object) -> object:
    """Return text as a list of str, because libraries treat NumPy's text types differently; times as days."""
    if isinstance(values, TimePoints):
        return values.days  # replaced by a column of times in `to_data_frame`
    return (
        values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind in "UO" else values
    )


def to_data_frame(table: FrameColumns, backend: str | None) -> Any:
    """Return a table as a data frame of the given library, or of the first installed one if `backend` is None."""
    if backend and backend not in _KNOWN:
        near = nearest(backend, _KNOWN)
        fix = f"Did you mean {near!r}?" if near else "Leave it out for the first installed one"
        known = ", ".join(map(repr, _KNOWN))
        raise UnsupportedError("to_frame(backend)", repr(backend), f"one of {known}", fix)
    libraries: list[Any] = [backend] if backend else list(_LIBRARIES)
    for library in libraries:
        if library == "modin" or importlib.util.find_spec(str(library)) is not None:
            import narwhals.stable.v2 as nw

            data = nw.from_dict({k: _plain(v) for k, v in table.items()}, backend=library)
            times = {k: v for k, v in table.items() if isinstance(v, TimePoints)}
            if times:
                from skedasis.data.frames import as_series  # imported late: it loads narwhals

                data = data.with_columns(*(as_series(v, k, library) for k, v in times.items()))
            return data.to_native()
    names = " or ".join(map(str, libraries))
    raise UnsupportedError(
        "to_frame",
        f"an environment without {names}",
        "an installed data frame library",
        f"Install one: pip install {libraries[0]}",
    )
