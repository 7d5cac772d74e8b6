"""Results as tables: columns first, a data frame of whatever library at the end."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.results.effect import BinStats, Effect

Table = dict[str, Any]
_LIBRARIES = ("pandas", "polars", "pyarrow")


def table_of(effect: Effect, of: str) -> Table:
    """Return an effect, its bins or its individual curves as columns."""
    if of == "effect":
        columns = ("x", "value", "heterogeneity", "std_error")
        return _named(effect, {c: getattr(effect, c) for c in columns})
    if of == "bins" and effect.bins is not None:
        return _named(effect, {f.name: getattr(effect.bins, f.name) for f in fields(BinStats)})
    if of == "curves" and effect.curves is not None:
        curves, (r, m) = effect.curves, effect.curves.value.shape
        x = np.tile(effect.x, r)
        return _named(
            effect, {"row": np.repeat(curves.row, m), "x": x, "value": curves.value.ravel()}
        )
    if of in ("bins", "curves"):
        raise UnsupportedError(
            explained(
                f"to_frame(of={of!r})",
                f"a {effect.spec.method}, which has none",
                "another method",
                "Use ALE, DALE, UALE or RHALE for bins, ICE for curves",
            )
        )
    raise DataError(
        explained("to_frame(of)", repr(of), "'effect', 'bins' or 'curves'", "Name one of these")
    )


def _named(effect: Effect, columns: Table) -> Table:
    """Put the feature's name before the columns."""
    length = len(next(iter(columns.values())))
    return {"feature": [effect.feature] * length, **columns}


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
    names = ("feature", "importance", "heterogeneity", "bins", "untrusted_rows", "missing")
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
