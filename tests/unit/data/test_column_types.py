"""Columns of unusual types: the results of plain columns with the same values, or an error that says what to do."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import skedasis as sd
from tests.helpers import paired, refused

G = np.arange(48) % 4
Z = np.linspace(-1.0, 1.0, 48)
TEXT = ["abcd"[k] for k in G]
ARROW = pd.arrays.ArrowExtensionArray


def other(X):
    return np.asarray(X["z"], dtype=float)


def frame(column, library=pd.DataFrame):
    return library({"c": column, "z": Z})


def code(values) -> np.ndarray:
    """Return the numbers 0 to 3 of a column of any type; 0 for missing values."""
    known = {"a": 0, "b": 1, "c": 2, "d": 3}
    some = [0 if v is None or v is pd.NA or v != v else known.get(v, v) for v in values.tolist()]
    return np.array([float(v) for v in some])


NUMBERS = {
    "Sparse": lambda: pd.arrays.SparseArray(G * 1.0, fill_value=0),
    "nullable": lambda: pd.array(G, dtype="Int64"),
    "Decimal": lambda: pd.Series([Decimal(int(k)) for k in G], dtype=object),
    "Fraction": lambda: pd.Series([Fraction(int(k)) for k in G], dtype=object),
    "float16": lambda: G.astype(np.float16),
    "longdouble": lambda: G.astype(np.longdouble),
    "arrow decimal": lambda: pd.Series(G, dtype=pd.ArrowDtype(pa.decimal128(22, 1))),
}
LEVELS = {
    "arrow dictionary": lambda: ARROW(pa.array(TEXT).dictionary_encode()),
    "categorical": lambda: pd.Categorical(TEXT),
    "string": lambda: pd.array(TEXT, dtype="string"),
    "arrow text": lambda: pd.array(TEXT, dtype=pd.ArrowDtype(pa.string())),
}


@pytest.mark.parametrize(("kind", "method"), paired([*NUMBERS, *LEVELS], ["ale", "pdp"]))
def test_columns_of_pandas_have_the_results_of_plain_ones(kind, method):
    plain = G * 1.0 if kind in NUMBERS else pd.Series(TEXT, dtype=object)
    column = {**NUMBERS, **LEVELS}[kind]()
    model = lambda X: other(X) + code(X["c"]) ** 2  # noqa: E731
    got, want = (sd.explain(model, frame(c), "c", method=method) for c in (column, plain))
    np.testing.assert_allclose(got.value, want.value, atol=1e-12)
    assert [str(x) for x in got.x] == [str(x) for x in want.x]


@pytest.mark.parametrize(
    "X",
    [
        frame(pd.Series([[int(k)] for k in G], dtype=pd.ArrowDtype(pa.list_(pa.int64())))),
        frame(pl.Series([{"a": int(k)} for k in G]), pl.DataFrame),
        frame([[int(k)] for k in G], pa.table),
    ],
    ids=["arrow", "struct", "list"],
)
def test_columns_of_lists_are_refused_by_name(X):
    with refused(sd.DataError, "column 'c'", "not hashable", "convert its values to text"):
        sd.explain(other, X, "c")


@pytest.mark.parametrize(
    "column",
    [
        pa.array(TEXT, pa.string_view()),
        pa.RunEndEncodedArray.from_arrays(pa.array([24, 48], pa.int32()), pa.array([1, 2])),
    ],
    ids=["view", "runs"],
)
def test_arrow_types_without_rows_are_refused_by_name(column):
    with refused(sd.DataError, "column 'c'", "cannot select rows", "Cast it to its plain type"):
        sd.explain(other, frame(column, pa.table), "z")
    if column.type == pa.string_view():  # the suggested fix
        sd.explain(other, frame(column.cast(pa.string()), pa.table), "z", method="ale")


@pytest.mark.parametrize("name", [None, pd.NA], ids=repr)
def test_names_that_are_missing_are_refused(name):
    X = pd.DataFrame(np.c_[Z, G], columns=pd.Index(["z", name], dtype=object))
    with refused(sd.DataError, "X", f"{name!r} (column 1)", "Rename the columns"):
        sd.explain(other, X, "z")
