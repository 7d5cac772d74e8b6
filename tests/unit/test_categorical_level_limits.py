"""Limits of levels: too many or too few levels, missing and invalid values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from skedasis.data.categories import TooManyLevels
from skedasis.data.dataset import as_dataset
from skedasis.data.features import Feature
from skedasis.errors import DataError
from tests.helpers import refused


def objects(values):
    """Return one column of objects."""
    return np.array(values, dtype=object).reshape(-1, 1)


def nominal(X, **given):
    """Return a source and its first feature, declared nominal."""
    source = as_dataset(X, **given)
    return source, replace(source.features[0], kind="nominal")


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


def test_missing_counts_as_a_level():
    source, feature = nominal(objects(["a", "b", None]))
    with refused(DataError, "3 levels"):
        source.levels(feature, most=2)
    source = as_dataset(objects(["a", "b", None]), schema={0: "ordinal"})
    assert len(source.levels(source.features[0], most=2).levels) == 2


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


def test_values_that_cannot_be_told_apart_are_refused():
    X = objects(["a", None])
    X[0, 0] = [1, 2]
    source, feature = nominal(X)
    with refused(DataError, "not hashable", "list"):
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
