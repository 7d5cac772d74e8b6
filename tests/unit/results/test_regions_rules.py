"""Conditions and rules: their words, intersections, and the rows that satisfy them."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import skedasis as sd
from skedasis.data.dataset import as_dataset
from skedasis.data.features import Feature
from skedasis.data.times import TimeAxis
from skedasis.results.regions import Condition, condition_text, merged, rule_text

TEMP = Feature("temp", key="temp")
SEASON = Feature("season", "nominal", key="season", dtype="String")
DAYS = pd.date_range("2012-01-01", periods=200, freq="D")


def with_text(feature, **what):
    found = Condition(feature, **what, text="")
    settings = found.low, found.high, found.levels, found.excluded, found.missing
    return replace(found, text=condition_text(feature, *settings))


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ({"high": 0.5}, "temp ≤ 0.5"),
        ({"low": 0.5}, "temp > 0.5"),
        ({"low": 0.3, "high": 0.5}, "0.3 < temp ≤ 0.5"),
        ({"high": 0.5, "missing": True}, "temp ≤ 0.5 or missing"),
        ({"low": math.inf, "high": math.inf, "missing": True}, "temp is missing"),
        ({}, "temp is not missing"),
        ({"missing": True}, "any temp"),
        ({"high": 123456789012.0}, "temp ≤ 123456789012"),
        ({"high": 0.5, "only": 0}, "temp = 0"),
        ({"low": 0.5, "only": 1.0, "missing": True}, "temp = 1 or missing"),
    ],
)
def test_conditions_on_numbers_read_as_inequalities(what, text):
    assert condition_text(TEMP, **what) == text


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ({"levels": ("spring",)}, "season = spring"),
        ({"levels": ("spring", "summer")}, "season in {spring, summer}"),
        ({"levels": ("spring",), "excluded": True}, "season ≠ spring"),
        ({"levels": ("spring", None), "missing": True}, "season = spring or missing"),
        ({"levels": (None, "spring"), "excluded": True}, "season not in {spring, missing}"),
        ({"levels": (None,)}, "season = missing"),
        ({"levels": (), "missing": True}, "season is missing"),
        ({"levels": (), "excluded": True}, "season is not missing"),
        ({"levels": tuple("abcdefghijkl")}, "season in {a, b, c, d, e, f, … (12 levels)}"),
        ({"levels": (("x", 1.0),)}, "season = (x, 1)"),
        ({"levels": ("a\nb",)}, "season = a b"),
        ({"levels": ("",)}, "season = ''"),
    ],
)
def test_conditions_on_levels_list_them(what, text):
    assert condition_text(SEASON, **what) == text


def test_units_and_dates_are_part_of_the_words():
    assert condition_text(Feature("age", unit="years"), high=40) == "age ≤ 40 years"
    axis = TimeAxis.of(DAYS.to_numpy())
    date = Feature("date", time=axis, unit="days")
    march = float(axis.days(np.array(["2012-03-01"], dtype="M8[D]"))[0])
    assert condition_text(date, high=march) == "date ≤ 2012-03-01"
    assert condition_text(date, low=march, high=march + 1) == "2012-03-01 < date ≤ 2012-03-02"


def test_a_rule_joins_conditions_and_marks_where_or_ends():
    a, b = with_text(TEMP, high=0.5), with_text(SEASON, levels=("spring",), missing=True)
    assert rule_text(()) == "all rows"
    assert rule_text([b]) == "season = spring or missing"
    assert rule_text([a, b]) == "temp ≤ 0.5 and (season = spring or missing)"


def random_condition(rng, feature):
    if feature is TEMP:
        low, high = sorted(rng.integers(-1, 8, 2).tolist())
        ends = {"low": low if low >= 0 else -math.inf, "high": high if high < 7 else math.inf}
        return with_text(TEMP, **ends, missing=bool(rng.integers(2)))
    levels = np.array([*"abcdef", None], dtype=object)  # None: missing values are a level
    some = tuple(levels[rng.random(7) < 0.5].tolist())
    return with_text(
        SEASON, levels=some, excluded=bool(rng.integers(2)), missing=bool(rng.integers(2))
    )


@pytest.mark.parametrize("seed", range(12))
def test_merged_conditions_hold_where_all_of_them_hold(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "temp": np.where(rng.random(300) < 0.2, np.nan, rng.integers(0, 8, 300)),
            # "x" is no level of any condition: not observed where the rules were found.
            "season": rng.choice(np.array([*"abcdefx", None], dtype=object), 300),
        }
    )
    given = [random_condition(rng, f) for f in (TEMP, SEASON, TEMP, SEASON, TEMP)]
    dataset, one = as_dataset(X), merged(given)
    expected = np.logical_and.reduce([c.holds(dataset) for c in given])
    found = np.logical_and.reduce([c.holds(dataset) for c in one])
    np.testing.assert_array_equal(found, expected)
    assert [c.feature.name for c in one] == ["temp", "season"]
    for c in one:
        default = condition_text(c.feature, c.low, c.high, c.levels, c.excluded, c.missing)
        # The words of a given condition stay where it remains as it was.
        assert c.text in (default, *(g.text for g in given if set(g.text) == set(default)))


def test_merged_keeps_the_words_of_the_only_value():
    parent = with_text(TEMP, high=5.0, missing=True)
    child = Condition(TEMP, low=2.0, missing=True, text="temp = 4 or missing")
    (both,) = merged([parent, child])
    assert (both.low, both.high, both.text) == (2.0, 5.0, "temp = 4 or missing")
    (both,) = merged([with_text(TEMP, high=5.0), child])
    assert (both.missing, both.text) == (False, "temp = 4")


def test_merged_mentions_missing_values_only_where_the_new_condition_does():
    # In the node no value is missing, so that the text says nothing; the rule covers missing values.
    odd = Feature("a=b", key="a=b")
    parent = Condition(odd, low=0.5, missing=True, text="a=b > 0.5")
    (both,) = merged([parent, Condition(odd, high=0.7, missing=True, text="a=b ≤ 0.7")])
    assert (both.text, both.missing) == ("0.5 < a=b ≤ 0.7", True)
    (both,) = merged([parent, Condition(odd, high=0.7, missing=True, text="a=b ≤ 0.7 or missing")])
    assert both.text == "0.5 < a=b ≤ 0.7 or missing"


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_conditions_hold_by_name_whatever_the_order_of_columns(library):
    X = library({"b": [1, 2, 3], "temp": [0.2, 0.5, 0.7]})
    before = X.clone() if library is pl.DataFrame else X.copy()
    assert with_text(TEMP, high=0.5).holds(as_dataset(X)).tolist() == [True, True, False]
    assert X.equals(before)


def test_columns_of_arrays_are_found_by_position():
    second = Feature("age", position=1, key=1)
    X = np.array([[9.0, 1.0], [9.0, 3.0]])
    assert with_text(second, high=2).holds(as_dataset(X)).tolist() == [True, False]


def test_integers_and_booleans_are_compared_as_numbers():
    X = pd.DataFrame({"temp": [0, 1, 2], "flag": [True, False, True]})
    assert with_text(TEMP, low=0.5).holds(as_dataset(X)).tolist() == [False, True, True]
    flag = Feature("flag", key="flag")
    assert with_text(flag, high=0.5).holds(as_dataset(X)).tolist() == [False, True, False]


def test_levels_are_equal_as_python_says_but_booleans_are_no_numbers():
    code = Feature("code", "nominal", key="code", dtype="Int64")
    X = pd.DataFrame({"code": pd.Series([1, 1.0, True, "1", None, 2], dtype=object)})
    one = with_text(code, levels=(1,))
    assert one.holds(as_dataset(X)).tolist() == [True, True, False, False, False, False]
    rest = with_text(code, levels=(1,), excluded=True)
    assert rest.holds(as_dataset(X)).tolist() == [False, False, True, True, False, True]
    # A column of booleans that became floats in an array.
    flag = Feature("x0", "nominal", key=0, dtype="bool")
    there = with_text(flag, levels=(True,)).holds(as_dataset(np.array([[1.0], [0.0]])))
    assert there.tolist() == [True, False]


def test_missing_values_follow_the_flag():
    X = pd.DataFrame({"temp": [0.2, np.nan], "season": ["a", None]})
    for missing in (False, True):
        for condition in (
            with_text(TEMP, high=0.5, missing=missing),
            with_text(SEASON, levels=("a",), missing=missing),
            with_text(SEASON, levels=("b",), excluded=True, missing=missing),
        ):
            assert condition.holds(as_dataset(X)).tolist() == [True, missing]


@pytest.mark.parametrize("excluded", [False, True])
@pytest.mark.parametrize("flag", [False, True])
def test_missing_values_follow_their_level_where_a_condition_names_it(excluded, flag):
    X = pd.DataFrame({"season": ["a", "b", None]})
    c = Condition(SEASON, levels=("a", None), excluded=excluded, missing=flag)
    assert c.holds(as_dataset(X)).tolist() == [not excluded, excluded, not excluded]
    assert c.missing is not excluded


@pytest.mark.parametrize("start", ["2012-01-01", "2012-02-17", "1999-12-31"])
def test_times_are_compared_on_the_axis_of_the_rule(start):
    axis = TimeAxis.of(DAYS.to_numpy())
    date = Feature("date", key="date", time=axis)
    march = float(axis.days(np.array(["2012-03-01"], dtype="M8[D]"))[0])
    new = pd.DataFrame({"date": pd.to_datetime([start, "2012-03-01", "2012-03-02", None])})
    expected = [True, True, False, False]
    assert with_text(date, high=march).holds(as_dataset(new)).tolist() == expected
    nanoseconds = pd.DataFrame({"date": pd.to_datetime(["2012-03-01 00:00:00.000000001"])})
    assert with_text(date, high=march).holds(as_dataset(nanoseconds)).tolist() == [False]


def test_groups_are_one_hot_blocks_or_combinations():
    heat = Feature("heat", "nominal", key="heat", dtype="group", members=(1, 2))
    X = pd.DataFrame({"a": [0, 0, 0, 0], "gas": [1, 0, 0, np.nan], "oil": [0, 1, 0, 0]})
    gas = with_text(heat, levels=("gas",), missing=True)
    assert gas.holds(as_dataset(X)).tolist() == [True, False, False, True]
    none = with_text(heat, levels=("(none)",))
    assert none.holds(as_dataset(X)).tolist() == [False, False, True, False]
    with pytest.raises(sd.DataError, match="group 'heat'"):
        gas.holds(as_dataset(X[["gas", "oil", "a"]]))
    named = Condition(heat, levels=("gas",), text="heat = gas", columns=("gas", "oil"))
    swapped = as_dataset(X[["oil", "gas", "a"]])
    assert named.holds(swapped).tolist() == [True, False, False, False]
    both = with_text(heat, levels=((1.0, 0),))
    assert both.holds(as_dataset(X)).tolist() == [True, False, False, False]
    # A single row of zeros and ones does not decide what the group is.
    assert both.holds(as_dataset(X.iloc[:1])).tolist() == [True]


@pytest.mark.parametrize(
    ("condition", "X", "message"),
    [
        (with_text(TEMP, high=1), pd.DataFrame({"tmp": [1.0]}), "a column 'temp'"),
        (with_text(TEMP, high=1), pd.DataFrame({"temp": ["a"]}), "column 'temp'.*numbers"),
        (
            with_text(Feature("d", key="d", time=TimeAxis.of(DAYS.to_numpy())), high=1),
            pd.DataFrame({"d": pd.to_timedelta([1, 2], unit="D")}),
            "column 'd': got values of kind duration",
        ),
    ],
)
def test_other_columns_are_an_error_that_names_them(condition, X, message):
    with pytest.raises(sd.DataError, match=message):
        condition.holds(as_dataset(X))
