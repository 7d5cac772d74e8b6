"""Results as tables: columns first, a data frame of whatever library at the end."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.results.effect import Effect
from skedasis.results.parts import BinStats, LevelStats
from skedasis.results.surfaces.surface import CellStats, Surface

Table = dict[str, Any]
_LIBRARIES = ("pandas", "polars", "pyarrow")
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
        columns = {f.name: getattr(effect.bins, f.name) for f in fields(BinStats)}
        if effect.levels is not None:
            ends = {end: _labels(effect.levels, columns[end]) for end in ("left", "right")}
            columns |= ends
        return _named(effect, columns)
    if of == "curves" and effect.curves is not None:
        curves, (r, m) = effect.curves, effect.curves.value.shape
        place = {k: np.tile(v, r) for k, v in _places(effect).items()}
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
        return {"x": effect.x}
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
    levels, which stand in ``"left_level"`` and ``"right_level"``. Only features with a point of missing values have a
    line in the table of these.

    Raises
    ------
    DataError, UnsupportedError
        As `table_of`.
    """
    if of == "missing":
        effects = [e for e in effects if e.missing_point is not None] or effects
    tables = [table_of(e, of) for e in effects]
    if of != "missing" and any(e.levels is not None for e in effects):
        tables = [_beside(e, t, of) for e, t in zip(effects, tables, strict=True)]
    return stacked(tables)


def _beside(effect: Effect, table: Table, of: str) -> Table:
    """Put numbers and levels into columns of their own."""
    levels, size = effect.levels is not None, len(table["feature"])
    blank, none = np.full(size, np.nan), np.full(size, None, dtype=object)
    names = {"x": ("x", "level"), "level": ("x", "level")}
    if of == "bins":
        names = {end: (end, f"{end}_level") for end in ("left", "right")}
    out: Table = {}
    for name, column in table.items():
        if name in names:
            number, text = names[name]
            out |= {number: blank if levels else column, text: column if levels else none}
        else:
            out[name] = column
    # Points between numbers have no rows of their own.
    return {**out, **({"count": blank, "weight": blank} if of == "effect" and not levels else {})}


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
        s.nodes if s.levels is None else np.array(s.levels.labels, dtype=object)
        for s in surface.sides
    ]
    if of == "effect":
        x0, x1 = _product(nodes[0], nodes[1])
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
    left0, left1 = _product(nodes[0][:-1], nodes[1][:-1])
    right0, right1 = _product(nodes[0][1:], nodes[1][1:])
    ends = {"left0": left0, "right0": right0, "left1": left1, "right1": right1}
    return {**ends, **{f.name: getattr(cells, f.name).ravel() for f in fields(CellStats)}}


def _product(first: Any, second: Any) -> tuple[Any, Any]:
    """Return all pairs of two columns' entries, the second running fastest."""
    return np.repeat(first, len(second)), np.tile(second, len(first))


def _plain(values: Any) -> Any:
    """Return text as a list of str: libraries disagree about NumPy's own text types."""
    return (
        values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind in "UO" else values
    )


def stacked(tables: Sequence[Table]) -> Table:
    """Return tables of the same columns under one another."""
    return {name: np.concatenate([np.asarray(t[name]) for t in tables]) for name in tables[0]}


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

            return nw.from_dict(
                {k: _plain(v) for k, v in table.items()}, backend=library
            ).to_native()
    raise UnsupportedError(
        explained(
            "to_frame",
            f"no {' or '.join(map(str, wanted))} installed",
            "a data frame library",
            f"Install one: pip install {wanted[0]}",
        )
    )
