"""Laws of rows without a value: rules hold for the rows that a search put into regions, and settings for every row.

The column `s` is of any type, and the model reads its levels from another column, so that it is the same for all types.
"""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import skedasis as sd

ROWS = [80, 70, 60, 8, 7]
"""Rows of each level: the last two levels are too rare for a code of their own."""

WORDS = list("abcde")
DAYS = pd.date_range("2020-01-01", periods=5, freq="40D").to_pydatetime().tolist()
HOURS = [dt.timedelta(hours=hour) for hour in range(1, 6)]
TRUTHS = [False, True]
NUMBERS = [0, 1, 2, 3, 4]
QUIET = {"progress": False, "heterogeneity_rows": 0}


def series(values, dtype=object, gap=None):
    """Return a function from codes to a column of pandas, in which `gap` marks missing values."""
    return lambda code: pd.Series([gap if c < 0 else values[c] for c in code], dtype=dtype)


def column(values, make):
    """Return a function from codes to a column of another library."""
    return lambda code: make([None if c < 0 else values[c] for c in code])


def cut(code):
    """Return intervals, as they come from `pandas.cut`: levels that are saved as text."""
    return pd.Series(pd.cut(np.where(code < 0, np.nan, code), [-0.5, 0.5, 1.5, 2.5, 4.5]))


ENUM = pl.Enum(WORDS)
PANDAS = {
    "object": series(WORDS),
    "object, NA": series(WORDS, gap=pd.NA),
    "text": series(WORDS, "string"),
    "category": series(WORDS, "category"),
    "intervals": cut,
    "boolean": series(TRUTHS, "boolean", pd.NA),
    "Int64": series(NUMBERS, "Int64", pd.NA),
    "float": series(NUMBERS, float),
    "mixed, nominal": series([1, "1", True, 2.5, "a"]),
    "times": series(DAYS, "M8[ns]"),
    "durations": series(HOURS, "m8[ns]"),
    "Arrow text": series(WORDS, pd.ArrowDtype(pa.string())),
}
POLARS = {
    "Polars text": column(WORDS, pl.Series),
    "Polars enum": column(WORDS, lambda v: pl.Series(v, dtype=ENUM)),
    "Polars numbers": column(NUMBERS, pl.Series),
    "Polars times, nominal": column(DAYS, pl.Series),
}
ARROW = {
    "table of text": column(WORDS, pa.array),
    "table of numbers": column(NUMBERS, pa.array),
}
TABLES = {
    **dict.fromkeys(PANDAS, pd.DataFrame),
    **dict.fromkeys(POLARS, pl.DataFrame),
    **dict.fromkeys(ARROW, pa.table),
}
COLUMNS = {**PANDAS, **POLARS, **ARROW}
every_kind = pytest.mark.parametrize("kind", COLUMNS)


def drawn(kind, lost):
    """Return a frame, its columns `x` and `slope`, and the codes of `s`, -1 where missing, of drawn rows."""
    rng = np.random.default_rng(lost)
    code = rng.permutation(np.repeat([*NUMBERS, -1], [*ROWS, lost]))
    code = np.where(code < 0, -1, code % 2) if "truths" in kind or kind == "boolean" else code
    slopes = [*rng.permutation([-1.0, 5.0, 20.0]), *rng.choice([-1.0, 5.0, 20.0], 3)]
    slope = np.array(slopes)[code]  # -1: the last one
    x = rng.permutation(np.linspace(-1, 1, len(code)))
    return TABLES[kind]({"x": x, "s": COLUMNS[kind](code), "slope": slope}), x, slope, code


def product(X):
    return np.asarray(X["slope"], dtype=float) * np.asarray(X["x"], dtype=float)


def declared(kind):
    return {"s": "nominal"} if "nominal" in kind else None


def sources(kind, X, path):
    """Return the rows in memory, and where Parquet has such a column also in a file."""
    if kind in ("intervals", "mixed, nominal"):
        return [X]
    table = X.to_arrow() if kind in POLARS else X
    table = pa.Table.from_pandas(X, preserve_index=False) if kind in PANDAS else table
    pq.write_table(table, path, row_group_size=100)
    return [X, sd.parquet(path)]


def put(regions, x):
    """Return the region into which each row was put: that of the effect that keeps it."""
    found = np.full(len(x), -1)
    for number, effect in enumerate(regions):
        found[np.isin(x, effect.rows.x)] = number
    return found


@every_kind
@pytest.mark.parametrize("lost", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_rules_hold_for_the_rows_that_the_search_put_into_regions(kind, tmp_path, lost):
    X, x, slope, _ = drawn(kind, lost)
    options = {"schema": declared(kind), **QUIET}
    for source in sources(kind, X, tmp_path / "rows.parquet"):
        r = sd.regions(product, source, "x", split_on=["s"], max_depth=3, **options)
        given = sd.explain(product, source, "x", by="s", **options)
        r.save(tmp_path / "regions.npz")
        for result in (r, sd.load(tmp_path / "regions.npz"), given):
            rows = put(result, x)
            assert len(result) > 1
            assert rows.min() == 0
            assert [n.count for n in result.leaves] == np.bincount(rows).tolist()
            np.testing.assert_array_equal(result.assign(X), rows)
    rows = put(r, x)
    c = sd.what_if(product, X, {"x": 0.1}, by=r, progress=False)
    for number, line in enumerate(c.by):
        assert line.rows == (rows == number).sum()
        assert line.value == pytest.approx(0.1 * slope[rows == number].mean(), rel=1e-9)


def as_number(value):
    """Return the position of a value among those of its column; 7 where it is missing."""
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return 7.0
    if isinstance(value, pd.Interval):
        return min(value.right - 0.5, 3.0)
    for values in (DAYS, HOURS, WORDS):
        if value in values:
            return float(values.index(value))
    return float(value)


def numbers(X):
    values = X["s"].to_pylist() if isinstance(X, pa.Table) else X["s"].to_list()
    return np.array([as_number(v) for v in values])


def changed(X):
    return numbers(X) * (2 + np.asarray(X["x"], dtype=float))


@pytest.mark.parametrize("kind", [k for k in COLUMNS if not k.startswith("mixed")])
@pytest.mark.parametrize("lost", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_settings_apply_to_every_row_and_steps_to_those_with_a_value(kind, tmp_path, lost):
    X, x, _, code = drawn(kind, lost)
    own, missing = numbers(X), code < 0
    values = X["s"].to_pylist() if isinstance(X, pa.Table) else X["s"].to_list()
    value = values[int(np.flatnonzero(own == 1)[0])]
    for source in sources(kind, X, tmp_path / "rows.parquet"):
        c = sd.what_if(changed, source, to={"s": value}, schema=declared(kind), progress=False)
        np.testing.assert_allclose(c.rows.change, (1 - own) * (2 + x), atol=1e-12)
        assert (c.n_rows, c.missing, c.moved[0].missing) == (len(x), 0, missing.sum())
        c.save(tmp_path / "change.npz")
        assert sd.load(tmp_path / "change.npz").to_json(rows=True) == c.to_json(rows=True)
        shown = c.to_frame("pandas", of="rows")["s"]
        gone = shown.isna() | (shown.astype(object) == "missing")  # the label of a level
        assert gone.tolist() == missing.tolist()
    if kind in ("Int64", "float", "Polars numbers", "table of numbers"):
        c = sd.what_if(changed, X, {"s": 1}, progress=False)
        np.testing.assert_allclose(c.rows.change, (2 + x)[~missing], atol=1e-12)
        assert (c.n_rows, c.missing) == ((~missing).sum(), missing.sum())
        assert c.moved[0].missing == c.missing
