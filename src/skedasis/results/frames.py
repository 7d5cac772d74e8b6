"""Results as data frames."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from skedasis.data.times import TimeAxis, TimePoints
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.results.effect import BinStats, Effect, LevelStats
from skedasis.results.surface import CellStats, Surface

Table = dict[str, Any]


_LIBRARIES = ("pandas", "polars", "pyarrow")


_PLACES = ("low", "high", "time")
"""Fields of bins that are written as their left and right ends."""


_POINTS = ("value", "heterogeneity", "std_error")


def table_of(effect: Effect, of: str) -> Table:
    """Return an effect, its bins, its individual curves or its point of missing values as columns.

    Parameters
    ----------
    effect : Effect
    of : {"effect", "bins", "curves", "missing"}
        Levels stand in the column ``"level"`` as text, where numeric features have ``"x"``; the steps between them have
        text in ``"left"`` and ``"right"``.

    Raises
    ------
    DataError
        For another `of`.
    UnsupportedError
        Where the effect has no such thing.
    """
    if of == "effect":
        return _named(effect, _points(effect))
    if of == "bins" and effect.bins is not None:
        bins = effect.bins
        ends = {"left": bins.low, "right": bins.high}
        levels, time = effect.levels, effect.time
        columns: Table = {
            end: _labels(levels, at) if levels is not None else placed(at, time)
            for end, at in ends.items()
        }
        columns |= {
            f.name: getattr(bins, f.name) for f in fields(BinStats) if f.name not in _PLACES
        }
        return _named(effect, columns)
    if of == "curves" and effect.curves is not None:
        curves, (r, m) = effect.curves, effect.curves.value.shape
        place = {k: tiled(v, r) for k, v in _places(effect).items()}
        rows = {"row": np.repeat(curves.row, m), **place, "value": curves.value.ravel()}
        return _named(effect, rows)
    if of == "missing" and effect.missing_point is not None:
        names = ("count", "effect", "value", "std", "std_error")
        return _named(effect, {c: np.array([getattr(effect.missing_point, c)]) for c in names})
    raise _absent(effect, of)


def _absent(effect: Effect, of: str) -> Exception:
    """Return the error for what an effect does not have."""
    what, name = f"to_frame(of={of!r})", repr(effect.feature)
    if of == "missing":
        fix = "Nothing to show: no row misses it, or the model takes no missing values"
        return UnsupportedError(
            explained(what, f"{name}, which has no such point", "a point of missing values", fix)
        )
    if of in ("bins", "curves"):
        return UnsupportedError(
            explained(
                what,
                f"a {effect.spec.method} of {name}, which has none",
                "another method",
                "Use ALE, DALE, UALE or RHALE for bins, ICE for curves",
            )
        )
    known = "'effect', 'bins', 'curves' or 'missing'"
    return DataError(explained("to_frame(of)", repr(of), known, "Name one of these"))


def _points(effect: Effect) -> Table:
    """Return the points of an effect; levels with their rows."""
    columns = {**_places(effect), **{c: getattr(effect, c) for c in _POINTS}}
    if effect.levels is not None:
        columns |= {"count": effect.levels.count, "weight": effect.levels.weight}
    return columns


def _places(effect: Effect) -> Table:
    """Return the column of what an effect's values stand at."""
    if effect.levels is None:
        return {"x": placed(effect.points, effect.time)}
    return {"level": np.array(effect.levels.labels, dtype=object)}


def _labels(levels: LevelStats, values: Any) -> Any:
    """Return levels as text."""
    return np.array([levels.labels[i] for i in levels.places(values)], dtype=object)


def _named(effect: Effect, columns: Table) -> Table:
    """Put the feature's name before the columns."""
    length = len(next(iter(columns.values())))
    return {"feature": np.array([effect.feature] * length, dtype=object), **columns}


def effects_table(effects: Sequence[Effect], of: str) -> Table:
    """Return several effects as columns, one under another.

    Where some of the features are categorical, ``"x"`` is NaN for their levels and ``"level"`` None for the points of
    the others, as are ``"count"`` and ``"weight"`` NaN; of bins ``"left"`` and ``"right"`` are NaN for steps between
    levels, which stand in ``"left_level"`` and ``"right_level"``. Times likewise have columns of their own beside those
    of numbers: ``"time"``, ``"left_time"`` and ``"right_time"``, text where they are of several kinds. Only features
    with a point of missing values have a line in the table of these.

    Raises
    ------
    DataError, UnsupportedError
        As `table_of`.
    """
    if of == "missing":
        effects = [e for e in effects if e.missing_point is not None] or effects
    tables = [table_of(e, of) for e in effects]
    if of == "effect" and any(e.levels is not None for e in effects):
        # Points between numbers have no rows of their own.
        tables = [
            {**t, **{n: t.get(n, np.full(len(t["feature"]), np.nan)) for n in ("count", "weight")}}
            for t in tables
        ]
    return stacked(tables if of == "missing" else in_columns_of_their_own(tables))


def in_columns_of_their_own(tables: Sequence[Table]) -> list[Table]:
    """Return tables with separate columns for numbers, levels and times, if there is more than one of these kinds.

    Numbers stay in ``"x"``, or ``"left"`` and ``"right"``; levels go to ``"level"``, or ``"left_level"`` and so on;
    times to ``"time"``.
    """
    kinds = {_kind(t) for t in tables}
    if len(kinds) < 2 and (kinds != {"time"} or _one_kind(tables)):
        return list(tables)
    together = _one_kind([t for t in tables if _kind(t) == "time"])
    return [_spread(t, kinds, tables, together=together) for t in tables]


def _kind(table: Table) -> str:
    """Return the kind of a table's points: "number", "level" or "time"."""
    place = next(table[name] for name in ("level", "x", "left") if name in table)
    if isinstance(place, TimePoints):
        return "time"
    return "level" if np.asarray(place).dtype.kind == "O" else "number"


def _one_kind(tables: Sequence[Table]) -> bool:
    """Return whether times of all tables fit into one column."""
    found = [next(c for c in t.values() if isinstance(c, TimePoints)) for t in tables]
    return all(c.alike(found[0]) for c in found)


def _spread(table: Table, kinds: set[str], tables: Sequence[Table], *, together: bool) -> Table:
    """Put numbers, levels and times into columns of their own."""
    own, size = _kind(table), len(table["feature"])
    ends = ("left", "right") if "left" in table else ("",)
    places = [n for n in ("x", "level", "left", "right") if n in table]
    out: Table = {}
    for name, column in table.items():
        if name not in places:
            out[name] = column
        elif name == places[0]:
            for end, place in zip(ends, places, strict=True):
                out |= _columns(table[place], own, size, kinds, tables, end, together=together)
    return out


def _columns(
    column: Any,
    own: str,
    size: int,
    kinds: set[str],
    tables: Sequence[Table],
    end: str,
    *,
    together: bool,
) -> Table:
    """Return a column of points, and empty columns for the other kinds."""
    out: Table = {end or "x": column if own == "number" else np.full(size, np.nan)}
    if "level" in kinds:
        out[f"{end}_level" if end else "level"] = (
            column if own == "level" else np.full(size, None, dtype=object)
        )
    if "time" in kinds:
        every = next(c for t in tables for c in t.values() if isinstance(c, TimePoints))
        times: Any = column if own == "time" else TimePoints(every.axis, np.full(size, np.nan))
        if not together:
            times = np.array(times.tolist(), dtype=object)
        out[f"{end}_time" if end else "time"] = times
    return out


def surface_table(surface: Surface, of: str) -> Table:
    """Return a surface, or its cells, as columns.

    Parameters
    ----------
    surface : Surface
    of : {"effect", "cells"}
        One row a point, with its place in ``"x0"`` and ``"x1"``; or a cell, from ``"left0"`` to ``"right0"`` and from
        ``"left1"`` to ``"right1"``. Levels are text. The second feature runs fastest.

    Raises
    ------
    DataError
        For another `of`.
    UnsupportedError
        For the cells of a PDP, which has none.
    """
    if of not in ("effect", "cells"):
        raise DataError(
            explained("to_frame(of)", repr(of), "'effect' or 'cells'", "Name one of these")
        )
    nodes = [
        placed(s.nodes, t) if s.levels is None else np.array(s.levels.labels, dtype=object)
        for s, t in zip(surface.sides, surface.times, strict=True)
    ]
    if of == "effect":
        x0, x1 = product(nodes[0], nodes[1])
        columns = {"x0": x0, "x1": x1, "value": surface.value.ravel()}
        columns["heterogeneity"] = surface.heterogeneity.ravel()
        columns["std_error"] = surface.std_error.ravel()
    elif surface.cells is None:
        raise UnsupportedError(
            explained(
                "to_frame(of='cells')",
                f"the surface of a {surface.spec.method}, which has none",
                "another method",
                "Use ALE or DALE for cells",
            )
        )
    else:
        columns = _cell_columns(nodes, surface.cells)
    size = len(next(iter(columns.values())))
    names = {
        f"feature{i}": np.array([name] * size, dtype=object)
        for i, name in enumerate(surface.features)
    }
    return {**names, **columns}


def _cell_columns(nodes: Sequence[Any], cells: CellStats) -> Table:
    left0, left1 = product(nodes[0][:-1], nodes[1][:-1])
    right0, right1 = product(nodes[0][1:], nodes[1][1:])
    ends = {"left0": left0, "right0": right0, "left1": left1, "right1": right1}
    return {**ends, **{f.name: getattr(cells, f.name).ravel() for f in fields(CellStats)}}


def product(first: Any, second: Any) -> tuple[Any, Any]:
    """Return all pairs of two columns' entries, the second running fastest."""
    times = len(second)
    repeated = (
        first.repeat(times)
        if isinstance(first, TimePoints)
        else np.repeat(np.asarray(first), times)
    )
    return repeated, tiled(second, len(first))


def placed(points: Any, time: TimeAxis | None) -> Any:
    """Return points of an axis as a column of a table: numbers, or times."""
    return points if time is None else TimePoints(time, np.asarray(points, dtype=float))


def tiled(column: Any, count: int) -> Any:
    """Return a column repeated, as `numpy.tile`."""
    return column.tile(count) if isinstance(column, TimePoints) else np.tile(column, count)


def _plain(values: Any) -> Any:
    """Return text as a list of str: libraries disagree about NumPy's own text types. Times are put in later."""
    if isinstance(values, TimePoints):
        return values.days
    return (
        values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind in "UO" else values
    )


def stacked(tables: Sequence[Table]) -> Table:
    """Return tables of the same columns under one another."""
    return {name: _under([t[name] for t in tables]) for name in tables[0]}


def _under(columns: Sequence[Any]) -> Any:
    first, *others = columns
    if isinstance(first, TimePoints) and all(isinstance(c, TimePoints) for c in others):
        return first.joined(others)
    return np.concatenate([np.asarray(c) for c in columns])


def ranking_table(ranks: Sequence[Any]) -> Table:
    """Return a ranking as columns."""
    names = (
        *("feature", "importance", "heterogeneity_score", "heterogeneity_score_error"),
        *("bins", "untrusted_rows", "missing"),
    )
    return {name: [getattr(r, name) for r in ranks] for name in names}


def frame(table: Table, backend: Any) -> Any:
    """Return a data frame of a library, or of the first one that is installed.

    Raises
    ------
    UnsupportedError
        Where it is not.
    """
    wanted: list[Any] = [backend] if backend else list(_LIBRARIES)
    for library in wanted:
        if library == "modin" or importlib.util.find_spec(str(library)) is not None:
            import narwhals.stable.v2 as nw

            made = nw.from_dict({k: _plain(v) for k, v in table.items()}, backend=library)
            times = {k: v for k, v in table.items() if isinstance(v, TimePoints)}
            if times:
                from skedasis.data.time_columns import as_series  # it loads narwhals

                made = made.with_columns(*(as_series(v, k, library) for k, v in times.items()))
            return made.to_native()
    raise UnsupportedError(
        explained(
            "to_frame",
            f"no {' or '.join(map(str, wanted))} installed",
            "a data frame library",
            f"Install one: pip install {wanted[0]}",
        )
    )
