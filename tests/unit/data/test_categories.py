"""Levels: each row maps to its level, and each level to a row that has it; too many, missing and invalid values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skedasis.data.categories import TooManyLevels
from skedasis.data.dataset import as_arrays, as_dataset
from skedasis.data.features import Feature
from skedasis.errors import DataError
from tests.helpers import refused

NAN = float("nan")
TEXT = ["b", "a", None, "<script>", "a", None, "b", "c c", "a"]
BOOLS = [True, None, False, True, False, None, True, True, False]
WHOLE = [3, 1, None, 3, 2, 10, None, 2, 1]


def objects(values):
    """Return one column of objects."""
    return np.array(values, dtype=object).reshape(-1, 1)


def pandas(values, dtype):
    """Return a frame of one column, with an index that is not a range."""
    series = pd.Series(values, dtype=dtype, index=np.arange(len(values))[::-1] * 2)
    return pd.DataFrame({"s": series})


def polars(values, dtype):
    """Return a frame of one column."""
    return pl.DataFrame({"s": pl.Series("s", values, dtype=dtype, strict=False)})


ARROW = pd.ArrowDtype(pa.string())
COLUMNS = {
    "objects of text": (TEXT, objects(TEXT)),
    "objects of booleans": (BOOLS, objects(BOOLS)),
    "objects with NaN": (TEXT, objects([NAN if v is None else v for v in TEXT])),
    "int": ([3, -1, 3, 250], np.array([[3], [-1], [3], [250]])),
    "int8": ([127, -128, 3, 3], np.array([[127], [-128], [3], [3]], dtype=np.int8)),
    "uint64": ([2**64 - 1, 2**64 - 3], np.array([[2**64 - 1], [2**64 - 3]], dtype=np.uint64)),
    "float": ([0.5, None, -2.0, 0.5], np.array([[0.5], [NAN], [-2.0], [0.5]])),
    "float32": ([0.1, None, 0.7, 0.1], np.array([[0.1], [NAN], [0.7], [0.1]], dtype=np.float32)),
    "negative zero": ([0.0, 0.0, 1.5], np.array([[-0.0], [0.0], [1.5]])),
    "pandas objects": (TEXT, pandas(TEXT, object)),
    "pandas strings": (TEXT, pandas(TEXT, "string")),
    "pandas Arrow strings": (TEXT, pandas(TEXT, ARROW)),
    "pandas categories": (TEXT, pandas(TEXT, "category")),
    "pandas whole categories": (WHOLE, pandas(pd.array(WHOLE, dtype="Int64"), "category")),
    "pandas boolean": (BOOLS, pandas(BOOLS, "boolean")),
    "Polars String": (TEXT, polars(TEXT, pl.String)),
    "Polars Categorical": (TEXT, polars(TEXT, pl.Categorical)),
    "Polars Int32": (WHOLE, polars(WHOLE, pl.Int32)),
    "Polars Object": (TEXT, polars(TEXT, pl.Object)),
    "PyArrow strings": (TEXT, pa.table({"s": pa.chunked_array([TEXT[:4], TEXT[4:]])})),
    "PyArrow dictionaries": (
        TEXT,
        pa.table(
            {"s": pa.chunked_array([pa.array(t).dictionary_encode() for t in (TEXT[:4], TEXT[4:])])}
        ),
    ),
    "PyArrow booleans": (BOOLS, pa.table({"s": pa.array(BOOLS)})),
}


def nominal(X, **given):
    """Return a source and its first feature, declared nominal."""
    source = as_dataset(X, **given)
    return source, replace(source.features[0], kind="nominal")


# ------------------------------------------------------------------------------------ levels


@pytest.mark.parametrize("name", COLUMNS)
def test_every_row_finds_its_level_in_every_container(name):
    values, X = COLUMNS[name]
    source, feature = nominal(X)
    column = source.levels(feature)
    there = sorted({v for v in values if v is not None})
    wanted = [*there, None] if None in values else there
    assert list(column.levels.values) == wanted
    assert [type(v) for v in column.levels.values] == [type(v) for v in wanted]
    assert [column.levels.values[k] for k in column.codes] == values
    assert column.levels.rows.tolist() == [values.index(v) for v in wanted]
    assert column.count.tolist() == [values.count(v) for v in wanted]
    assert column.weight.tolist() == column.count.tolist()
    assert (column.missing, column.n_other, column.weights) == (values.count(None), 0, None)
    assert column.levels.labels[: len(there)] == tuple(str(v).removesuffix(".0") for v in there)
    assert column.levels.labels[len(there) :] == ("missing",) * (None in values)
    assert [column.levels.find(v) for v in wanted] == list(range(len(wanted)))


@pytest.mark.parametrize("name", [n for n, (v, _) in COLUMNS.items() if None in v])
def test_missing_rows_of_an_ordinal_feature_have_no_level(name):
    values, X = COLUMNS[name]
    source = as_dataset(X, schema={"x0" if isinstance(X, np.ndarray) else "s": "ordinal"})
    column = source.levels(source.features[0])
    there = sorted({v for v in values if v is not None})
    assert list(column.levels.values) == there
    assert column.codes.tolist() == [-1 if v is None else there.index(v) for v in values]
    assert column.missing == values.count(None)
    assert column.count.sum() == len(values) - column.missing


@pytest.mark.parametrize("name", ["objects of text", "pandas categories", "PyArrow booleans"])
def test_weights_of_zero_take_rows_away(name):
    values, X = COLUMNS[name]
    weights = np.arange(len(values)) % 4 * 0.5
    source, feature = nominal(X, sample_weight=weights)
    column = source.levels(feature)
    kept = [i for i, w in enumerate(weights) if w > 0]
    assert [column.levels.values[k] for k in column.codes] == [values[i] for i in kept]
    for level, row, count, weight in zip(
        column.levels.values, column.levels.rows, column.count, column.weight, strict=True
    ):
        own = [i for i in kept if values[i] == level]
        assert (row, count, weight) == (own[0], len(own), weights[own].sum())
    seen = np.concatenate([batch.codes(column) for batch in source.batches(2)])
    np.testing.assert_array_equal(seen, column.codes)
    (batch,) = source.batches(100)
    some = np.array([len(kept) - 1, 0, 0])
    np.testing.assert_array_equal(batch.take(some).codes(column), column.codes[some])
    np.testing.assert_array_equal(
        batch.take(some).take(np.array([1])).codes(column), column.codes[:1]
    )
    np.testing.assert_array_equal(source.evenly_spaced_batch(100).codes(column), column.codes)


@pytest.mark.parametrize("name", [n for n in COLUMNS if n.startswith(("pandas", "P"))])
def test_levels_stay_when_a_model_wants_arrays(name):
    _, X = COLUMNS[name]
    source, feature = nominal(X)
    before, after = source.levels(feature), as_arrays(source).levels(feature)
    assert before.levels.values == after.levels.values
    if name != "pandas whole categories":  # pandas itself converts them to floats
        assert list(map(type, before.levels.values)) == list(map(type, after.levels.values))
    np.testing.assert_array_equal(before.codes, after.codes)
    np.testing.assert_array_equal(before.levels.rows, after.levels.rows)


# ------------------------------------------------------------------------------------ orders

ORDER = ["c c", "b", "never", "<script>", "a"]


@pytest.mark.parametrize(
    "X",
    [
        pandas(TEXT, pd.CategoricalDtype(ORDER, ordered=True)),
        polars(TEXT, pl.Enum(ORDER)),
    ],
    ids=["pandas", "Polars"],
)
def test_ordered_categories_bring_their_order(X):
    source = as_dataset(X)
    column = source.levels(source.features[0])
    assert source.features[0].categorical
    assert column.levels.values == ("c c", "b", "<script>", "a")
    assert column.codes.tolist() == [1, 3, -1, 2, 3, -1, 1, 0, 3]
    arrays = as_arrays(source).levels(source.features[0])
    np.testing.assert_array_equal(arrays.codes, column.codes)


def test_a_declared_order_is_kept_and_missing_comes_last():
    X = objects(TEXT)
    levels = ("never", "b", None, "c c", "a", "<script>")
    source = as_dataset(X, schema={0: Feature("s", "nominal", levels=levels)})
    column = source.levels(source.features[0])
    assert column.levels.values == ("b", "c c", "a", "<script>", None)
    assert [column.levels.values[k] for k in column.codes] == TEXT
    source = as_dataset(
        np.array([[1.0], [3.0], [2.0]]), schema={0: Feature("s", "ordinal", levels=(3, 1, 2))}
    )
    column = source.levels(source.features[0])
    assert (column.levels.values, column.codes.tolist()) == ((3, 1, 2), [1, 0, 2])


def test_mixed_types_are_ordered_by_type_and_kept_apart():
    values = ["1", 1, True, 1.0, "True", 0.5, False, np.float32(0.1), "a", np.int8(1)]
    source, feature = nominal(objects(values))
    column = source.levels(feature)
    assert column.levels.labels == ("False", "True", "0.1", "0.5", "1", "'1'", "'True'", "a")
    assert column.codes.tolist() == [5, 4, 1, 4, 6, 3, 0, 2, 7, 4]


# ------------------------------------------------------------------------------------ finding, labels


def test_a_level_is_found_by_its_value_and_type():
    source, feature = nominal(objects([1, "1", True, "a", None]))
    levels = source.levels(feature).levels
    found = {v: levels.find(v) for v in ("1", "a", "b", "missing", (1,))}
    assert found == {"1": 2, "a": 3, "b": -1, "missing": -1, (1,): -1}
    one = levels.find(1)
    assert levels.values[one] == 1
    assert [levels.find(v) for v in (1.0, np.int8(1), np.float32(1))] == [one] * 3
    assert levels.find(True) == levels.find(np.bool_(True)) == 0 != one
    assert [levels.find(v) for v in (None, NAN, np.nan, pd.NA, pd.NaT)] == [4] * 5
    assert levels.find([1]) == levels.find(False) == levels.find(np.str_("b")) == -1
    assert levels.find(np.str_("a")) == 3
    source, feature = nominal(np.array([[1], [2]]))
    levels = source.levels(feature).levels
    assert levels.find(True) == levels.find("1") == levels.find(None) == -1


def test_labels_are_all_different():
    values = ["missing", None, "", "(missing)", " ", 1, "1", "'1'"]
    source, feature = nominal(objects(values))
    column = source.levels(feature)
    label = dict(zip(values, [column.levels.labels[k] for k in column.codes], strict=True))
    assert label[None] == "((missing))"
    assert label[""] == "''"
    assert label[" "] == "' '"
    assert (label[1], label["1"]) == ("1", "'1' (2)")
    assert label["'1'"] == "'1'"
    assert len(set(label.values())) == len(values)


# ------------------------------------------------------------------------------------ limits


def test_identifiers_are_refused_unless_the_most_frequent_are_wanted():
    values = np.concatenate([np.arange(2500), [7, 7, 2000]])
    for X in (objects([f"id{v:04}" for v in values]), values[:, None]):
        source, feature = nominal(X)
        with refused(TooManyLevels, "'x0'", "2,500 levels", "at most 2,000", "top_levels=50"):
            source.levels(feature)
        assert len(source.levels(feature, most=2500).levels) == 2500
        column = source.levels(feature, top=3)
        # Among the values that occur once, the first is kept; the three levels are in ascending order.
        assert column.levels.rows.tolist() == [0, 7, 2000]
        assert column.count.tolist() == [1, 3, 2]
        assert column.n_other == len(values) - 6
        assert np.flatnonzero(column.codes >= 0).tolist() == [0, 7, 2000, 2500, 2501, 2502]


def test_the_most_frequent_levels_are_those_of_the_largest_weight():
    X = objects(["a", "a", "a", "b", "c", None, "d"])
    source, feature = nominal(X, sample_weight=[1, 1, 1, 4, 3, 3.5, 3])
    column = source.levels(feature, top=3)
    assert column.levels.values == ("a", "b", None)
    assert column.codes.tolist() == [0, 0, 0, 1, -1, 2, -1]
    assert (column.n_other, column.missing, column.weight.tolist()) == (2, 1, [3, 4, 3.5])
    assert source.levels(feature, top=9).n_other == 0
    with refused(DataError, "top_levels", "0"):
        source.levels(feature, top=0)


@pytest.mark.parametrize(
    "X",
    [
        objects([None, np.nan, pd.NA]),
        np.full((3, 1), np.nan),
        pd.DataFrame({"s": pd.Series([None, None], dtype="string")}),
        pl.DataFrame({"s": pl.Series([None, None], dtype=pl.Categorical)}),
        pa.table({"s": pa.array([None, None], pa.string())}),
    ],
)
@pytest.mark.parametrize("kind", ["nominal", "ordinal"])
def test_a_column_without_any_value_is_refused(X, kind):
    source = as_dataset(X)
    with refused(DataError, "only missing values", source.features[0].name):
        source.levels(replace(source.features[0], kind=kind))


def test_infinite_numbers_are_refused():
    for X in (
        np.array([[1.0], [np.inf], [-np.inf], [np.inf]]),
        objects([1, np.inf, -np.inf, np.inf]),
    ):
        source, feature = nominal(X)
        with refused(DataError, "'x0'", "3 infinite values"):
            source.levels(feature)


def test_declared_orders_must_name_each_observed_level_once():
    source = as_dataset(objects(["a", "b", *"uvwxyz"]))
    feature = Feature("s", "ordinal", levels=("b", "a", "c"))
    with refused(DataError, "'s'", "without 'u', 'v', 'w', 'x', 'y', …"):
        source.levels(feature)
    with refused(DataError, "'s'", "'b' more than once"):
        source.levels(replace(feature, levels=("a", "b", *"uvwxyz", "b")))
    with refused(DataError, "without 1"):
        as_dataset(np.array([[1], [2]])).levels(Feature("s", "nominal", levels=("1", 2, True)))
