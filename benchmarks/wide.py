"""Tables of many columns: data frames beside the array of the same numbers, growth with the columns, RHALE.

The model reads one column, and no library of frames needs time for the others: what grows is our own work.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import skedasis as sd
from benchmarks.bench import Bench
from benchmarks.lines import Alone, Growth, Line, Speed
from benchmarks.timing import medians, once

GROUP, ROWS = "wide", 20
STEEPEST = 1.1
"""Largest exponent wanted of time."""

WORST = 2.0
"""How many times as long a data frame may take as an array."""


def wide(bench: Bench) -> Iterator[Line]:
    """Measure frames of pandas with two types, Polars and PyArrow, then RHALE of a linear model."""
    quick = bench.settings.quick
    sizes = (10, 20, 40) if quick else (50, 100, 200, 300)
    once(lambda: sd.explain(_first, _tables(3)["array"], method="pdp"))
    took = [medians({k: partial(_pdp, X) for k, X in _tables(d).items()}, 3)[0] for d in sizes]
    for kind in took[0]:
        work, found = f"PDP of all columns, {ROWS} rows, {kind}", [t[kind] for t in took]
        no_memory: list[float | None] = [0.0] * len(sizes)
        yield Growth(GROUP, work, sizes, found, no_memory, None if quick else STEEPEST)
        for at in () if kind == "array" else range(2, len(sizes)):
            yield Speed(
                GROUP, f"{work}, {sizes[at]} columns", "array", found[at], took[at]["array"],
                reach=None if quick else 1 / WORST,
            )  # fmt: skip
    n, d = (50, 20) if quick else (300, 500)
    X = np.random.default_rng(0).normal(size=(n, d))
    weights = X[0] / np.sqrt(d)
    for kind, table, limit in (("array", X, 2.0), ("pandas", _frame(X), 4.0)):
        rows: list[int] = []

        def model(X: Any, rows: list[int] = rows) -> Any:
            rows.append(len(X))
            return np.asarray(X) @ weights

        t, _ = once(partial(sd.explain, model, table, progress=False))
        note = f"{d} columns, {len(rows):,} calls"
        yield Alone(
            GROUP, f"RHALE of a linear model, {kind}", n, t, sum(rows), None if quick else limit, note
        )  # fmt: skip


def _frame(X: Any) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])


def _tables(columns: int) -> dict[str, Any]:
    """Return an array, and frames in which every second column has integers."""
    X = np.random.default_rng(0).normal(size=(ROWS, columns))
    frame = _frame(X)
    whole = {name: np.rint(3 * frame[name]).astype(int) for name in frame.columns[1::2]}
    frame = frame.assign(**whole)
    arrow = pa.Table.from_pandas(frame)
    return {"array": X, "pandas": frame, "Polars": pl.from_arrow(arrow), "PyArrow": arrow}


def _first(X: Any) -> Any:
    return np.asarray(X[:, 0] if isinstance(X, np.ndarray) else X["c0"], dtype=float)


def _pdp(X: Any) -> Any:
    return sd.explain(_first, X, method="pdp", progress=False)
