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
from skedasis.results.observed import Observed
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
    if of == "observed" and effect.observed is not None:
        return _with_feature(effect, _observed(effect, effect.observed))
    raise _no_table(effect, of)


_OBSERVED = (
    *("count", "weight", "label", "label_error", "prediction", "prediction_error"),
    *("residual", "residual_error", "df"),
)
"""Fields of `Observed` by value of the split and cell, (S, K)."""


def _observed(effect: Effect, observed: Observed) -> FrameColumns:
    """Return a row for each value of the split and cell; the rows with a missing value come last."""
    names = {"level": "x"}
    if not isinstance(effect.axis, LevelAxis):
        names = {"x": "points", "left": "low", "right": "high"}
    splits, missing = len(observed.split_values), observed.missing
    ends = {
        name: tile_column(axis_column(effect.axis, vars(observed)[field]), splits)
        for name, field in names.items()
    }
    found = {**ends, **_observed_numbers(observed)}
    if missing is None:
        return found
    none = {name: _unknown(column, splits) for name, column in ends.items()}
    more = {**none, **_observed_numbers(missing)}
    return {name: _concatenated([column, more[name]]) for name, column in found.items()}


def _observed_numbers(observed: Observed) -> FrameColumns:
    split = np.repeat(np.array(observed.split_values, dtype=object), len(observed))
    return {"split": split, **{name: vars(observed)[name].ravel() for name in _OBSERVED}}


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
    if of in ("curves", "observed"):
        option = "curves=30" if of == "curves" else "y=y, observed=True"
        fix = f"Compute them with the effect: sd.explain(..., {option})"
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


def _by_kind(tables: Sequence[TableColumns], side: str = "") -> list[TableColumns]:
    """Return tables with separate columns for numbers, levels and times, if their points are of several of these kinds.

    Times that do not fit into one column are text. `side` is "0" or "1" for one feature of tables of pairs.
    """
    ends = [[n for n in ("x", "level", "left", "right") if f"{n}{side}" in t] for t in tables]
    kinds = [
        _kind(t[f"{e[0]}{side}"]) if e else "number" for t, e in zip(tables, ends, strict=True)
    ]
    times = [
        c for t in tables for n, c in t.items() if n.endswith(side) if isinstance(c, TimePoints)
    ]
    as_times = all(c.alike(times[0]) for c in times)
    if len(set(kinds)) < 2 and as_times:
        return list(tables)
    separate: list[TableColumns] = []
    for table, own, kind in zip(tables, ends, kinds, strict=True):
        columns: TableColumns = {}
        for name, column in table.items():
            if name.removesuffix(side) not in own:
                columns[name] = column
                continue
            end = "" if len(own) == 1 else name.removesuffix(side)
            size = len(column)
            columns[f"{end or 'x'}{side}"] = column if kind == "number" else np.full(size, np.nan)
            for other, unknown in (("level", _NO_LEVEL), *(("time", t) for t in times[:1])):
                if other in kinds:
                    found = column if kind == other else _unknown(unknown, size)
                    if isinstance(found, TimePoints) and not as_times:
                        found = np.array(found.tolist(), dtype=object)
                    columns[f"{end}_{other}{side}" if end else f"{other}{side}"] = found
        separate.append(columns)
    return separate


_NO_LEVEL = np.zeros(0, dtype=object)


def _kind(points: TableColumn) -> str:
    """Return the kind of points: "number", "level" or "time"."""
    if isinstance(points, TimePoints):
        return "time"
    return "level" if np.asarray(points).dtype.kind in "OU" else "number"


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
    for side in ("0", "1") if all("x0" in t or "left0" in t for t in tables) else ("",):
        tables = _by_kind(tables, side)
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
