"""Two tables as one: columns by name, common types, categories of both, and what has nothing in common."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skedasis.data.stacking import stacked
from skedasis.errors import DataError
from tests.helpers import refused

OLD = pd.DataFrame(
    {
        "a": [1, 2],
        "b": ["x", "y"],
        "c": pd.Categorical(["u", "v"]),
        "t": pd.to_datetime(["2020-01-01", "2020-01-02"]),
        "e": [np.nan, np.nan],
    },
    index=[5, 6],
)
NEW = pd.DataFrame(
    {
        "c": pd.Categorical(["w", None]),
        "b": ["x", None],
        "a": [1.5, np.nan],
        "t": pd.to_datetime(["2021-01-01", "2021-01-02"]).as_unit("s"),
        "e": ["k", "l"],
    },
    index=[5, 7],
)


def test_rows_follow_each_other_in_the_order_of_the_first_columns():
    before = OLD.copy(), NEW.copy()
    found = stacked(OLD, NEW)
    assert isinstance(found, pd.DataFrame)
    assert list(found.columns) == list("abcte")
    assert list(found.index) == [0, 1, 2, 3]
    np.testing.assert_array_equal(found["a"], [1.0, 2.0, 1.5, np.nan])
    assert list(found["c"].cat.categories) == ["u", "v", "w"]
    assert found["c"].astype(object).tolist()[:3] == ["u", "v", "w"]
    assert found["t"].dt.year.tolist() == [2020, 2020, 2021, 2021]
    assert found["e"].tolist()[2:] == ["k", "l"]
    for frame, same in zip((OLD, NEW), before, strict=True):
        pd.testing.assert_frame_equal(frame, same)


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas])
def test_other_libraries(convert):
    found = stacked(*(convert(frame.reset_index(drop=True)) for frame in (OLD, NEW)))
    values = found["c"].to_list() if hasattr(found["c"], "to_list") else found["c"].to_pylist()
    assert values == ["u", "v", "w", None]
    assert len(found["a"]) == 4


def test_types_that_hold_both():
    small, large = (pd.DataFrame({"a": np.array([1], dtype=t)}) for t in ("int8", "int64"))
    assert stacked(small, large)["a"].dtype == np.int64
    assert stacked(small, small)["a"].dtype == np.int8
    text = stacked(pd.DataFrame({"c": pd.Categorical(["u"])}), pd.DataFrame({"c": ["w"]}))
    assert list(text["c"].cat.categories) == ["u", "w"]
    mixed = stacked(pd.DataFrame({"o": [True]}), pd.DataFrame({"o": [None, False]}))
    assert mixed["o"].tolist() == [True, None, False]
    arrays = stacked(np.ones((2, 2), dtype=np.int64), np.full((1, 2), 0.5))
    np.testing.assert_array_equal(arrays, [[1, 1], [1, 1], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (OLD, NEW.drop(columns="a"), ("X_new", "no column 'a'")),
        (OLD.drop(columns="a"), NEW, ("X_old", "no column 'a'")),
        (OLD, np.ones((2, 5)), ("X_new", "a table of NumPy")),
        (OLD, pl.from_pandas(NEW), ("X_new", "a table of polars")),
        (np.ones((2, 2)), np.ones((2, 3)), ("X_new", "3 columns")),
        (OLD[["a"]], pd.DataFrame({"a": ["x"]}), ("column 'a'", "the type")),
        (
            pd.DataFrame({"c": pd.Categorical(["u"], ["u", "v"], ordered=True)}),
            pd.DataFrame({"c": pd.Categorical(["u"], ["v", "u"], ordered=True)}),
            ("column 'c'", "have an order"),
        ),
    ],
)
def test_tables_without_anything_in_common(old, new, words):
    with refused(DataError, *words):
        stacked(old, new)
