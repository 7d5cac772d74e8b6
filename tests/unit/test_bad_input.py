"""Bad input: each case gives a correct result, or an error that states what, got, expected and the fix."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import skedasis as sd
from tests.helpers import (
    ACCUMULATED,
    DEPENDENCE,
    METHODS,
    SLOPED,
    accumulated,
    bent,
    bent_slope,
    every_method,
    linear,
    refused,
    rise,
    same_effect,
    sloped,
    table,
)

# ---------------------------------------------------------------------------------- missing values


def takes_nan(X):
    """Return 7 + x1 where x0 is missing, else 3 x0 + x1: a model that accepts missing values."""
    return np.where(np.isnan(X[:, 0]), 7.0, 3.0 * X[:, 0]) + X[:, 1]


def with_holes():
    X = table()
    X[[3, 17, 40], 0] = np.nan
    return X


@accumulated
def test_missing_values_are_left_out_of_the_bins_and_counted(method):
    X = with_holes()
    complete = X[~np.isnan(X[:, 0])]
    e = sd.explain(takes_nan, X, 0, method=method)
    same_effect(e, sd.explain(takes_nan, complete, 0, method=method), rtol=1e-9)
    assert e.missing == 3
    assert e.bins.count.sum() == len(complete)


@pytest.mark.parametrize("method", DEPENDENCE)
def test_rows_with_a_missing_value_still_take_part_in_a_dependence(method):
    X = with_holes()
    e = sd.explain(takes_nan, X, 0, method=METHODS[method](grid=[-1.0, 0.0, 1.0]))
    np.testing.assert_allclose(e.value, 3 * e.x + X[:, 1].mean(), rtol=1e-12)
    assert e.missing == 3


@every_method
def test_missing_values_stand_in_the_ranking(method):
    es = sd.explain(takes_nan, with_holes(), method=method)
    assert {r.feature: r.missing for r in es.ranking()} == {"x0": 3, "x1": 0, "x2": 0}


@every_method
def test_missing_values_of_other_features_change_nothing(method):
    X = with_holes()
    e = sd.explain(takes_nan, X, 1, method=method)
    assert rise(e) == pytest.approx(e.x[-1] - e.x[0], rel=1e-8)
    assert e.missing == 0


@every_method
def test_a_model_that_cannot_take_missing_values_is_told_so(method):
    with refused(sd.ModelOutputError, "NaN", "of 64 rows", "finite", "impute"):
        sd.explain(linear, with_holes(), 1, method=method)
    with refused(sd.ModelOutputError, "NaN", "of 64 rows", "finite", "impute"):
        sd.explain(linear, with_holes(), method=method)


@every_method
def test_it_need_not_take_them_in_the_one_feature_that_is_explained(method):
    X = with_holes()
    e = sd.explain(linear, X, 0, method=method)
    same = sd.explain(linear, X[~np.isnan(X[:, 0])], 0, method=method)
    assert e.missing == int(np.isnan(X[:, 0]).sum()) > 0
    assert e.missing_point is None
    assert "NaN or infinity" in e.provenance["missing"]
    if method not in ("pdp", "ice"):  # these replace missing values by grid values
        np.testing.assert_allclose(e.value, same.value, rtol=1e-12, atol=1e-12)


@every_method
def test_a_column_without_any_value_is_refused(method):
    X = table()
    X[:, 1] = np.nan
    with refused(sd.DataError, "'x1'", "only missing values", "Leave the feature out"):
        sd.explain(lambda X: X[:, 0], X, 1, method=method)


@pytest.mark.parametrize("method", ["ale", "pdp", "rhale"])
def test_a_tree_ensemble_that_takes_missing_values_is_explained(method):
    X = with_holes()
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, takes_nan(X))
    e = sd.explain(model, X, 0, method=method)
    assert e.missing == 3
    assert np.isfinite(e.value).all()
    assert rise(e) > 0


# ----------------------------------------------------------------------------------- infinity


@every_method
@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
def test_infinity_is_refused_by_name_and_count(method, infinite):
    X = table()
    X[[1, 2], 1] = infinite
    with refused(sd.DataError, "'x1'", "2 infinite values", "finite", "Replace"):
        sd.explain(lambda X: X[:, 0], X, 1, method=method)
    with refused(sd.DataError, "'x1'", "infinite"):
        sd.explain(lambda X: X[:, 0], X, method=method)


def test_infinity_in_a_column_that_is_not_explained_is_the_models_business():
    X = table()
    X[5, 2] = np.inf
    assert rise(sd.explain(linear, X, 1, method="ale")) < 0


# ---------------------------------------------------------------------------- few distinct values


@pytest.mark.many
@every_method
@pytest.mark.parametrize("constant", [0.0, 4.0, 0.1, -0.540846, 1e-300, 1.7e9 + 0.1, 3e69])
def test_a_constant_column_has_an_effect_of_nothing_at_one_point(method, constant):
    X = table()
    X[:, 1] = constant
    e = sd.explain(linear, X, 1, method=method)
    np.testing.assert_array_equal(e.x, [constant])
    expected = linear(X).mean() if method in DEPENDENCE else 0.0
    np.testing.assert_allclose(e.value, [expected], rtol=1e-12)
    assert e.importance == 0
    assert e.heterogeneity_score == 0
    np.testing.assert_allclose(e([constant, constant + abs(constant) + 1.0]), [expected, np.nan])


@every_method
def test_a_constant_column_does_not_disturb_the_others(method):
    X = table()
    X[:, 1] = 4.0
    es = sd.explain(linear, X, method=method)
    assert es.ranking()[0].feature == "x0"
    same_effect(es["x0"], sd.explain(linear, X, "x0", method=method))


@pytest.mark.many
@every_method
@pytest.mark.parametrize("values", [(0, 1), (-1.5, 2.25), (0, 1, 5), (0.1, 0.2, 0.7), (3, 3e6)])
def test_two_or_three_distinct_values_carry_the_whole_effect(method, values):
    X = table(90)
    X[:, 0] = np.resize(values, 90)
    e = sd.explain(linear, X, 0, method=method)
    assert e.x[0] == min(values)
    assert e.x[-1] == max(values)
    assert rise(e) == pytest.approx(3 * (max(values) - min(values)), rel=1e-7)
    scale = 3 * (max(values) - min(values))
    np.testing.assert_allclose(e.heterogeneity, 0, atol=1e-6 * scale)


@pytest.mark.parametrize("method", ["ale", "ice", "pdp", "rhale", "uale"])
@pytest.mark.parametrize("values", [(0, 1), (0.25, 0.5), (0.25, 0.5, 3.0)])
def test_a_jump_between_two_values_is_not_lost(method, values):
    X = table(90)
    X[:, 0] = np.resize(values, 90)
    cut = (values[-2] + values[-1]) / 2
    e = sd.explain(lambda X: 5.0 * (X[:, 0] > cut) + X[:, 1], X, 0, method=method)
    assert rise(e) == pytest.approx(5.0, rel=1e-9)


# ----------------------------------------------------------------------------------- few rows


@every_method
def test_one_row_is_a_constant(method):
    X = table(1)
    e = sd.explain(linear, X, 0, method=method)
    np.testing.assert_array_equal(e.x, X[:, 0])
    expected = linear(X) if method in DEPENDENCE else [0.0]
    np.testing.assert_allclose(e.value, expected)
    es = sd.explain(linear, X, method=method)
    assert len(es) == 3
    assert len(es.ranking()) == 3


@pytest.mark.many
@every_method
@pytest.mark.parametrize("n", [2, 3, 5])
def test_two_rows_and_a_few_more_are_enough_for_a_line(method, n):
    X = table(n)
    e = sd.explain(linear, X, 0, method=method)
    assert e.x[0] == X[:, 0].min()
    assert e.x[-1] == X[:, 0].max()
    assert rise(e) == pytest.approx(3 * np.ptp(X[:, 0]), rel=1e-8)


@every_method
def test_no_rows_or_no_columns_are_refused(method):
    with refused(sd.DataError, "X", "0 rows and 3 columns", "at least one"):
        sd.explain(linear, table(0), 0, method=method)
    with refused(sd.DataError, "X", "5 rows and 0 columns"):
        sd.explain(linear, table(5, 0), method=method)
    with refused(sd.DataError, "0 rows"):
        sd.explain(linear, pd.DataFrame({"a": []}, dtype=float), 0, method=method)


@pytest.mark.many
@every_method
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.zeros(5), ("shape (5,)", "(rows, features)", "reshape")),
        (np.zeros((5, 2, 2)), ("shape (5, 2, 2)",)),
        (np.zeros((5, 2), dtype=complex), ("complex128", "numbers")),
        (np.full((5, 2), "a"), ("<U1", "data frame")),
        ([[1.0, 2.0]], ("a list", "NumPy array", "np.asarray(X)")),
        ({"a": [1.0]}, ("a dict",)),
        (None, ("None", "Pass the rows")),
        ("data.csv", ("'data.csv'", "Read the file first")),
        (pd.Series([1.0, 2.0]), ("a Series", "to_frame")),
        (np.ma.masked_less(np.arange(6.0).reshape(3, 2), 2), ("2 masked values", "filled")),
    ],
    ids=lambda v: type(v).__name__ if not isinstance(v, tuple) else "",
)
def test_what_is_no_table_is_refused(method, bad, words):
    with refused(sd.DataError, "X", *words):
        sd.explain(linear, bad, 0, method=method)


# ----------------------------------------------------------------------------------- types


@pytest.mark.thinned
@every_method
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.float16, np.float32, object])
def test_whole_numbers_of_every_type_give_the_numbers_of_floats(method, dtype):
    X = np.random.default_rng(0).integers(0, 9, size=(80, 3))
    # Eight bins over 0..8: each edge is representable in each dtype.
    way = METHODS[method](bins=8) if method in ACCUMULATED else METHODS[method]()
    e = sd.explain(lambda X: bent(X.astype(float)), X.astype(dtype), 0, method=way)
    same_effect(e, sd.explain(bent, X.astype(float), 0, method=way), rtol=1e-9)


@every_method
def test_single_precision_costs_digits_but_no_meaning(method):
    X = table(200)
    e = sd.explain(linear, X.astype(np.float32), 0, method=method)
    assert rise(e) == pytest.approx(3 * (e.x[-1] - e.x[0]), rel=1e-4)
    if method in ACCUMULATED:
        np.testing.assert_allclose(e.bins.effect[~e.bins.empty], 3.0, rtol=1e-4)


@every_method
def test_a_boolean_column_is_nominal_unless_declared(method):
    X = table() > 0

    def model(X):
        return 3.0 * X[:, 0]

    if method in SLOPED:
        with refused(sd.UnsupportedError, "'x0'", "nominal", "numeric", "schema={'x0'"):
            sd.explain(model, X, 0, method=method)
    else:
        e = sd.explain(model, X, 0, method=method)
        assert e.levels.values == (False, True)
        assert rise(e) == pytest.approx(3.0, rel=1e-9)
    as_numbers = sd.explain(model, X, 0, method=method, schema={"x0": "continuous"})
    assert as_numbers.levels is None
    np.testing.assert_array_equal(as_numbers.x[[0, -1]], [0, 1])
    assert rise(as_numbers) == pytest.approx(3.0, rel=1e-9)


@every_method
def test_an_ordinal_boolean_has_steps_but_no_slopes(method):
    X = table() > 0
    options = {"method": method, "schema": {"x0": "ordinal"}}
    if method == "dale":
        with refused(sd.UnsupportedError, "DALE of 'x0'", "ordinal", "numeric"):
            sd.explain(lambda X: 3.0 * X[:, 0], X, 0, **options)
        return
    e = sd.explain(lambda X: 3.0 * X[:, 0], X, 0, **options)
    assert e.levels.values == (False, True)
    assert rise(e) == pytest.approx(3.0, rel=1e-9)


@pytest.mark.many
@every_method
def test_columns_that_are_no_numbers_have_levels(method):
    """If all features are explained, methods of slopes use the categorical ALE for nominal ones, and record it."""
    X = pd.DataFrame({"a": np.arange(30.0), "city": ["x", "y"] * 15, "yes": [True] * 30})
    es = sd.explain(lambda X: 2 * X["a"] + 5.0 * (X["city"] == "y"), X, method=method)
    assert list(es) == ["a", "city", "yes"]
    assert sorted(es["city"].levels.values) == ["x", "y"]
    assert es["city"](["y"]) - es["city"](["x"]) == pytest.approx(5.0)
    assert es["yes"].levels.values == (True,)
    kind = type(sd.ALE() if method in SLOPED else METHODS[method]()).__name__
    assert {es[name].spec.method for name in ("city", "yes")} == {kind}
    told = es["city"].provenance.get("instead_of", "")
    assert told.startswith(METHODS[method].__name__) == (method in SLOPED)
    only = sd.explain(lambda X: np.zeros(len(X)), X[["city", "yes"]], method=method)
    assert list(only) == ["city", "yes"]


@sloped
def test_methods_of_slopes_refuse_a_nominal_feature_by_name(method):
    X = pd.DataFrame({"a": np.arange(30.0), "city": ["x", "y"] * 15})
    with refused(sd.UnsupportedError, "'city'", "nominal", "numeric", "sd.ALE()"):
        sd.explain(lambda X: X["a"], X, "city", method=method)
    with refused(sd.UnsupportedError, "'city'", "nominal"):
        sd.explain(lambda X: X["a"], X, ["a", "city"], method=method)


@pytest.mark.many
@every_method
def test_objects_that_are_numbers_are_numbers(method):
    X = table(50)
    frame = pd.DataFrame({"a": X[:, 0].astype(object), "b": X[:, 1], "c": X[:, 2]})
    e = sd.explain(lambda X: bent(X.to_numpy(dtype=float)), frame, "a", method=method)
    same_effect(e, sd.explain(bent, X, 0, method=method))


def test_objects_with_text_among_them_are_levels():
    frame = pd.DataFrame({"a": np.array([1, 2.5, "three"], dtype=object), "b": [1.0, 2.0, 3.0]})
    e = sd.explain(lambda X: (X["a"] == "three") * 2.0 + X["b"], frame, "a", method="ale")
    assert set(e.levels.values) == {1, 2.5, "three"}
    assert e(["three"]) - e([1]) == pytest.approx(2.0)
    assert e([2.5]) == pytest.approx(e([1]))
    with refused(sd.UnsupportedError, "'a'", "nominal"):
        sd.explain(lambda X: X["b"], frame, "a", method="rhale")


# ----------------------------------------------------------------------------------- scales


@pytest.mark.thinned
@every_method
@pytest.mark.parametrize("scale", [1e-12, 1e-9, 1e-3, 2e9, 1e12])
def test_the_scale_of_a_feature_does_not_matter(method, scale):
    X = table(150)
    scaled = X * [scale, 1, 1]
    e = sd.explain(lambda X: bent(X / [scale, 1, 1]), scaled, 0, method=method)
    plain = sd.explain(bent, X, 0, method=method)
    np.testing.assert_allclose(e.x, plain.x * scale, rtol=1e-12)
    np.testing.assert_allclose(e.value, plain.value, atol=1e-6)
    np.testing.assert_allclose(e.heterogeneity, plain.heterogeneity, rtol=1e-5, atol=1e-6)


@every_method
def test_an_offset_as_large_as_a_unix_time_does_not_matter(method):
    X = table(150)
    moved = X + np.array([1.7e9, 0, 0])
    e = sd.explain(lambda X: bent(X - [1.7e9, 0, 0]), moved, 0, method=method)
    plain = sd.explain(bent, moved - [1.7e9, 0, 0], 0, method=method)
    assert len(e.x) == len(plain.x)
    np.testing.assert_allclose(e.x - 1.7e9, plain.x, atol=1e-6)
    np.testing.assert_allclose(e.value, plain.value, atol=1e-4)


@pytest.mark.thinned
@every_method
@pytest.mark.parametrize("factor", [1e12, 1e-12])
def test_the_scale_of_the_output_does_not_matter(method, factor):
    X = table(150)
    e = sd.explain(lambda X: factor * bent(X), X, 0, method=method)
    plain = sd.explain(bent, X, 0, method=method)
    np.testing.assert_array_equal(e.x, plain.x)
    np.testing.assert_allclose(e.value, factor * plain.value, rtol=1e-6, atol=1e-6 * factor)
    np.testing.assert_allclose(
        e.heterogeneity, factor * plain.heterogeneity, rtol=1e-6, atol=1e-6 * factor
    )


@sloped
@pytest.mark.parametrize("factor", [1e12, 1e-12])
def test_the_scale_of_given_slopes_does_not_change_the_bins(method, factor):
    X = table(150)
    q = sd.prediction(lambda X: factor * bent(X), slope=lambda X: factor * bent_slope(X))
    e = sd.explain(q, X, 0, method=method)
    plain = sd.explain(sd.prediction(bent, slope=bent_slope), X, 0, method=method)
    np.testing.assert_array_equal(e.x, plain.x)
    np.testing.assert_allclose(e.value, factor * plain.value, rtol=1e-9, atol=1e-9 * factor)


# ----------------------------------------------------------------------------------- names


@every_method
def test_names_that_stand_twice_are_refused(method):
    X = pd.DataFrame(table(), columns=["a", "b", "a"])
    with refused(sd.DataError, "X", "column name", "more than once", "Rename"):
        sd.explain(lambda X: X.iloc[:, 0], X, 0, method=method)
    X.columns = [1, "b", "1"]
    with refused(sd.DataError, "'1' more than once", "as text"):
        sd.explain(lambda X: X.iloc[:, 0], X, 0, method=method)


@pytest.mark.many
@pytest.mark.thinned
@every_method
@pytest.mark.parametrize(
    "columns",
    [
        [10, 20, 30],
        [2, 1, 0],
        ["a", 1, 2.5],
        [("u", "a"), ("u", "b"), ("v", "a")],
        list(pd.date_range("2020-01-01", periods=3)),
    ],
    ids=["integers", "reversed", "mixed", "tuples", "dates"],
)
def test_names_need_not_be_text(method, columns):
    X = table()
    frame = pd.DataFrame(X)
    frame.columns = pd.Index(columns, tupleize_cols=False)
    e = sd.explain(lambda X: bent(X.to_numpy()), frame, [columns[0]], method=method)
    assert list(e) == [str(columns[0])]
    same_effect(e[str(columns[0])], sd.explain(bent, X, 0, method=method))


def test_a_label_wins_over_a_position():
    frame = pd.DataFrame(table())
    frame.columns = [2, 1, 0]
    e = sd.explain(lambda X: bent(X.to_numpy()), frame, 0, method="ale")
    same_effect(e, sd.explain(bent, table(), 2, method="ale"))


def test_columns_with_several_levels_are_explained():
    X = table()
    frame = pd.DataFrame(X, columns=pd.MultiIndex.from_tuples([("u", 1), ("u", 2), ("v", 1)]))
    e = sd.explain(lambda X: bent(X.to_numpy()), frame, 0, method="ale")
    same_effect(e, sd.explain(bent, X, 0, method="ale"))


@pytest.mark.many
@pytest.mark.thinned
@every_method
@pytest.mark.parametrize(
    "index",
    [
        np.arange(80)[::-1] + 1000,
        np.zeros(80, dtype=int),
        [f"row {i % 7}" for i in range(80)],
        pd.MultiIndex.from_arrays([np.arange(80) % 3, ["a", "b"] * 40]),
        pd.date_range("2020-01-01", periods=80),
    ],
    ids=["reversed", "all the same", "text", "two levels", "dates"],
)
def test_the_index_of_a_data_frame_does_not_matter(method, index):
    X = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.index = index

    def model(X):  # returns a series with the index of X
        return np.sin(2 * X["a"]) * (1 + X["b"] ** 2) + X["c"]

    weights = pd.Series(np.arange(80) % 3 + 1.0, index=index)
    e = sd.explain(model, frame, "a", method=method, sample_weight=weights)
    same_effect(e, sd.explain(bent, X, 0, method=method, sample_weight=weights.to_numpy()))


@every_method
def test_an_unknown_feature_suggests_the_nearest(method):
    X = pd.DataFrame(table(), columns=["temperature", "humidity", "wind"])
    with refused(sd.DataError, "'temprature'", "'humidity'", "Did you mean 'temperature'?"):
        sd.explain(lambda X: X["wind"], X, "temprature", method=method)
    with refused(sd.DataError, "'zzz'", "'wind'", "Use a name"):
        sd.explain(lambda X: X["wind"], X, ["wind", "zzz"], method=method)
    with refused(sd.DataError, "'x7'", "'x0'", "use the position"):
        sd.explain(linear, table(), "x7", method=method)


@every_method
def test_positions_that_are_none_are_refused(method):
    for wanted in (3, -4, np.int64(3)):
        with refused(sd.DataError, "feature", str(int(wanted)), "0..2"):
            sd.explain(linear, table(), wanted, method=method)
    for wanted in (True, 1.5):
        with refused(sd.DataError, "feature", repr(wanted)):
            sd.explain(linear, table(), wanted, method=method)
    with refused(sd.DataError, "empty list"):
        sd.explain(linear, table(), [], method=method)
    for wanted in ((0,), (0, 1, 2), ()):
        with refused(sd.UnsupportedError, f"a tuple of {len(wanted)}", "list"):
            sd.explain(linear, table(), wanted, method=method)
    with refused(sd.DataError, "'x1'", "with itself"):
        sd.explain(linear, table(), (1, "x1"), method=method)
    for pair in ((0, 3), ("x0", 1.5)):
        with refused(sd.DataError, "feature"):
            sd.explain(linear, table(), pair, method=method)


def test_positions_may_be_negative_or_numpys_own():
    whole = sd.explain(bent, table(), method="ale")
    for wanted, name in ((-1, "x2"), (np.int64(1), "x1"), (np.uint8(0), "x0")):
        assert sd.explain(bent, table(), wanted, method="ale").feature == name
    assert list(sd.explain(bent, table(), np.array([2, 0]), method="ale")) == ["x2", "x0"]
    frame = pd.DataFrame(table(), columns=["a", "b", "c"])
    e = sd.explain(lambda X: bent(X.to_numpy()), frame, np.int64(1), method="ale")
    same_effect(e, whole["x1"])


def test_a_result_suggests_the_nearest_name_too():
    es = sd.explain(linear, table(), method="ale")
    with refused(sd.DataError, "'x9'", "use the position"):
        es["x9"]
    with refused(sd.DataError, "7"):
        es[7]


# ---------------------------------------------------------------------- rows of another model


@every_method
def test_other_columns_than_in_fit_are_refused(method):
    X = pd.DataFrame(table(), columns=["a", "b", "c"])
    model = LinearRegression().fit(X, X["a"])
    with refused(sd.DataError, "order", "['c', 'a', 'b']", "['a', 'b', 'c']", "feature_names_in_"):
        sd.explain(model, X[["c", "a", "b"]], "a", method=method)
    with refused(sd.DataError, "X without ['b']", "3 columns of fit"):
        sd.explain(model, X[["a", "c"]], "a", method=method)
    with refused(sd.DataError, "X with additional columns ['d']"):
        sd.explain(model, X.assign(d=0.0), "a", method=method)
    with refused(sd.DataError, "without ['a']"):
        sd.explain(model, X.rename(columns={"a": "A"}), "b", method=method)


@every_method
@pytest.mark.parametrize("d", [2, 4])
def test_another_number_of_columns_than_in_fit_is_refused(method, d):
    X = table()
    model = LinearRegression().fit(X, X[:, 0])
    other = table(d=d)
    with refused(sd.DataError, f"X with {d} columns", "3 columns, as in fit"):
        sd.explain(model, other, 0, method=method)
    with refused(sd.DataError, f"X with {d} columns", "3 columns, as in fit"):
        sd.explain(model, pd.DataFrame(other).add_prefix("c"), 0, method=method)


# ------------------------------------------------------------------------------- model outputs


@pytest.mark.thinned
@every_method
@pytest.mark.parametrize(
    "shaped",
    [
        lambda out: out[:, None],
        lambda out: out.tolist(),
        tuple,
        lambda out: pd.Series(out, index=out),
        lambda out: pd.DataFrame({"y": out}),
        lambda out: out.astype(object),
        lambda out: pd.array(out, dtype="Float64"),
    ],
    ids=["(n, 1)", "list", "tuple", "series", "frame", "object", "nullable"],
)
def test_outputs_of_one_number_a_row_are_taken(method, shaped):
    e = sd.explain(lambda X: shaped(bent(X)), table(), 0, method=method)
    same_effect(e, sd.explain(bent, table(), 0, method=method))


@pytest.mark.thinned
@every_method
@pytest.mark.parametrize(
    ("shaped", "words"),
    [
        (lambda out: np.c_[out, out], ("shape (80, 2)", "(80,)", "Choose one output")),
        (lambda out: np.append(out, 0), ("shape (81,)", "(80,)", "one number for each row")),
        (lambda out: out[:-1], ("shape (79,)", "(80,)")),
        (lambda out: out.mean(), ("shape ()", "(80,)")),
        (lambda out: out[None, :], ("shape (1, 80)", "(80,)")),
        (lambda out: None, ("got None", "without return")),
        (lambda out: np.where(out > 0, "yes", "no"), ("type <U3", "numbers", "sd.probability")),
        (lambda out: np.where(out > 0, "1", "0").astype(object), ("type object", "numbers")),
        (lambda out: out + 1j, ("complex128", "numbers")),
        (lambda out: np.where(out > 0, np.nan, out), ("NaN or infinity", "finite numbers")),
        (lambda out: np.where(out > 0, np.inf, -np.inf), ("NaN or infinity", "80 of 80 rows")),
        (lambda out: [None, *out[1:]], ("NaN or infinity", "1 of 80 rows")),
        (lambda out: np.ma.masked_array(out, out > 0), ("NaN or infinity",)),
        (lambda out: [[1.0], [1.0, 2.0]], ("a list", "different lengths")),
        (lambda out: {"y": out}, ("got a dict", "one number for each row")),
    ],
)
def test_other_outputs_are_refused(method, shaped, words):
    # The model is checked on 64 of the 80 rows first, so messages refer to these.
    X = table()
    words = tuple(w.replace("81", "65").replace("79", "63").replace("80", "64") for w in words)
    with refused(sd.ModelOutputError, "prediction(", *words):
        sd.explain(lambda X: shaped(bent(X)), X, 0, method=method)


@every_method
def test_a_model_that_fails_later_is_refused_later(method):
    def model(X):  # finite at the rows, NaN at all other values of x0
        return np.where(np.isin(X[:, 0], known), X[:, 0], np.nan)

    known = table()[:, 0]
    bins = {"bins": sd.Uniform(5)} if method in ACCUMULATED else {}
    with refused(sd.ModelOutputError, "NaN or infinity", "'x0' replaced"):
        sd.explain(model, table(), 0, method=METHODS[method](**bins))


@every_method
def test_a_model_that_answers_differently_each_time_is_refused(method):
    rng = np.random.default_rng(0)
    with refused(
        sd.ModelOutputError,
        "two different responses for the same rows",
        "same response",
        "randomness",
    ):
        sd.explain(lambda X: X[:, 0] + 1e-3 * rng.normal(size=len(X)), table(), 0, method=method)


@every_method
def test_a_models_own_exception_passes_with_a_note(method):
    def model(X):
        raise KeyError("its own")

    with pytest.raises(KeyError, match="its own") as caught:
        sd.explain(model, table(), 0, method=method)
    assert "skedasis called prediction(model)" in caught.value.__notes__[0]


@every_method
def test_a_classifier_of_three_classes_must_be_told_which(method):
    X = table(120)
    clf = LogisticRegression().fit(X, np.array(["no", "maybe", "yes"])[np.arange(120) % 3])
    with pytest.raises(sd.ModelOutputError) as caught:
        sd.explain(clf, X, 0, method=method)
    message = str(caught.value)
    assert "probability(LogisticRegression): got 3 classes and no class_" in message
    assert "class_=" in message
    assert "available: ['maybe', 'no', 'yes']" in message
    e = sd.explain(sd.probability(clf, class_="no"), X, 0, method=method)
    assert e.about.quantity == "P(y = no)"


@pytest.mark.parametrize("make", [sd.probability, sd.logit])
def test_a_class_that_is_none_is_refused(make):
    X = table(90)
    clf = LogisticRegression().fit(X, np.arange(90) % 3)
    with pytest.raises(sd.ModelOutputError, match=r"class_=7.*available: \[0, 1, 2\]"):
        make(clf, class_=7)


def test_what_is_no_model_is_refused():
    with refused(sd.UnsupportedError, "the class LinearRegression", "fitted", "fit(X, y)"):
        sd.explain(LinearRegression, table(), 0)
    for thing in (3, None, table()):
        with refused(sd.UnsupportedError, "prediction(", "callable"):
            sd.explain(thing, table(), 0)
    with refused(sd.DataError, "no file 'model.pkl'", "Check the path"):
        sd.explain("model.pkl", table(), 0)


# ----------------------------------------------------------------------------- slope functions


@sloped
@pytest.mark.parametrize(
    ("spoil", "got"),
    [
        (lambda s: s[:, 0], "shape (80,)"),
        (lambda s: s.T, "shape (3, 80)"),
        (lambda s: s[:, :2], "shape (80, 2)"),
        (lambda s: np.c_[s, s[:, 0]], "shape (80, 4)"),
        (lambda s: s[:-1], "shape (79, 3)"),
        (lambda s: 3.0, "shape ()"),
    ],
    ids=["(n,)", "(d, n)", "(n, d - 1)", "(n, d + 1)", "(n - 1, d)", "scalar"],
)
def test_slopes_of_another_shape_are_refused(method, spoil, got):
    q = sd.prediction(bent, slope=lambda X: spoil(bent_slope(X)))
    with refused(sd.ModelOutputError, "slope", got, "shape (80, 3)", "every feature"):
        sd.explain(q, table(), 0, method=method)


@sloped
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_slopes_that_are_not_finite_are_refused(method, bad):
    def slope(X):
        return np.where(np.arange(len(X))[:, None] == 4, bad, bent_slope(X))

    with refused(sd.ModelOutputError, "slope of 'x0'", "1 rows", "finite"):
        sd.explain(sd.prediction(bent, slope=slope), table(), 0, method=method)


@sloped
def test_slopes_that_are_no_numbers_are_refused(method):
    q = sd.prediction(bent, slope=lambda X: np.full(X.shape, "a"))
    with refused(sd.ModelOutputError, "slope", "type <U1", "numbers"):
        sd.explain(q, table(), 0, method=method)
    with refused(sd.UnsupportedError, "slope", "an ndarray", "jac(X) -> (n, d)", "not its result"):
        sd.prediction(bent, slope=bent_slope(table()))


@pytest.mark.parametrize("method", ["ale", "pdp", "ice"])
def test_methods_that_need_no_slopes_do_not_ask_for_them(method):
    def slope(X):
        raise AssertionError("not needed")

    e = sd.explain(sd.prediction(bent, slope=slope), table(), 0, method=method)
    same_effect(e, sd.explain(bent, table(), 0, method=method))


# ------------------------------------------------------------------------------- more bins than rows


@pytest.mark.thinned
@pytest.mark.parametrize("method", ACCUMULATED)
@pytest.mark.parametrize(
    "bins", [sd.Uniform(500), sd.Quantile(500), sd.Optimal(500), sd.Greedy(500), sd.AutoUniform(40)]
)
def test_more_bins_than_rows_are_no_trouble(method, bins):
    X = table(12)
    e = sd.explain(linear, X, 0, method=METHODS[method](bins=bins))
    assert rise(e) == pytest.approx(3 * np.ptp(X[:, 0]), rel=1e-7)
    assert e.bins.count.sum() == 12
    assert np.isfinite(e.value).all()


@pytest.mark.parametrize("method", DEPENDENCE)
def test_more_points_than_rows_are_no_trouble(method):
    X = table(20)
    e = sd.explain(linear, X, 0, method=METHODS[method](grid=500))
    assert 20 < len(e.x) <= 500
    np.testing.assert_allclose(e.value, 3 * e.x - X[:, 1].mean(), atol=1e-12)


def test_rows_too_few_for_the_bins_that_were_asked_for_are_said():
    with pytest.warns(sd.BinningWarning, match=r"min_points"):
        e = sd.explain(linear, table(12), 0, method=sd.RHALE(bins=sd.Optimal(min_points=50)))
    assert len(e.bins) == 1
    assert not e.bins.trusted[0] or e.bins.count[0] >= 10


# ----------------------------------------------------------------------------------- weights


@pytest.mark.many
@every_method
@pytest.mark.parametrize(
    ("weights", "got"),
    [
        (np.r_[-1.0, np.ones(79)], "1 negative values"),
        (np.r_[np.nan, np.ones(79)], "1 values that are NaN"),
        (np.r_[np.inf, np.ones(79)], "NaN or infinite"),
        (np.zeros(80), "zeros only"),
        (np.ones(79), "shape (79,)"),
        (np.ones((80, 1)), "shape (80, 1)"),
        (3.0, "shape ()"),
        (["heavy"] * 80, "not numbers"),
    ],
    ids=["negative", "NaN", "infinite", "zeros", "short", "2-D", "scalar", "text"],
)
def test_weights_that_are_none_are_refused(method, weights, got):
    with refused(
        sd.DataError, "sample_weight", got, "weight" if "not numbers" not in got else "one number"
    ):
        sd.explain(linear, table(), 0, method=method, sample_weight=weights)


@every_method
def test_rows_of_weight_zero_are_absent(method):
    X = table()
    weights = np.arange(80) % 3 * 1.0
    X[weights == 0] = 1e6  # would dominate the result if not ignored
    # The rows of the heterogeneity score are sampled by row_id.
    there, ids = weights > 0, np.arange(80)
    e = sd.explain(bent, X, 0, method=method, sample_weight=weights, row_id=ids)
    some = {"sample_weight": weights[there], "row_id": ids[there]}
    same_effect(e, sd.explain(bent, X[there], 0, method=method, **some))


@every_method
def test_a_single_positive_weight_leaves_a_single_row(method):
    X = table()
    weights = np.zeros(80)
    weights[11] = 2.5
    e = sd.explain(linear, X, 0, method=method, sample_weight=weights)
    np.testing.assert_array_equal(e.x, X[[11], 0])
    expected = linear(X[[11]]) if method in DEPENDENCE else [0.0]
    np.testing.assert_allclose(e.value, expected)
    assert e.provenance["rows"] == 1
    assert e.provenance["weight"] == 2.5


@every_method
def test_whole_weights_are_repetitions(method):
    X = table(60)
    weights = np.arange(60) % 4
    e = sd.explain(bent, X, 0, method=method, sample_weight=weights)
    repeated = sd.explain(bent, np.repeat(X, weights, axis=0), 0, method=method)
    np.testing.assert_allclose(e.x, repeated.x, rtol=1e-12)
    np.testing.assert_allclose(e.value, repeated.value, rtol=1e-9, atol=1e-12)
    if e.accumulated_std is None:
        np.testing.assert_allclose(e.heterogeneity, repeated.heterogeneity, rtol=1e-7, atol=1e-9)
    else:
        accumulated, wanted = e.accumulated_std, repeated.accumulated_std
        np.testing.assert_allclose(accumulated, wanted, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(e.std_error, repeated.std_error, rtol=1e-7, atol=1e-9)


@pytest.mark.many
@every_method
@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_tiny_and_huge_weights_leave_means_as_they_are(method, scale):
    X = table()
    bins = {"bins": sd.Uniform(4)} if method in ACCUMULATED else {}
    weights = np.arange(80) % 3 + 1.0
    e = sd.explain(bent, X, 0, method=METHODS[method](**bins), sample_weight=scale * weights)
    plain = sd.explain(bent, X, 0, method=METHODS[method](**bins), sample_weight=weights)
    np.testing.assert_allclose(e.value, plain.value, rtol=1e-9, atol=1e-12)


def test_labels_of_another_length_are_refused():
    with refused(sd.DataError, "y", "length 79", "length 80"):
        sd.explain(linear, table(), 0, method="ale", y=np.zeros(79))


# ----------------------------------------------------------------------------------- settings


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "rhal"}, ("method", "'rhal'", "'rhale'")),
        ({"method": sd.ALE}, ("method", "Pass an instance: method=sd.ALE()")),
        ({"method": 3}, ("method", "3")),
        ({"n_jobs": 0}, ("n_jobs", "0", "at least 1")),
        ({"n_jobs": True}, ("n_jobs", "True")),
        ({"memory": "much"}, ("memory", "'much'", "256MB")),
        ({"keep": -1}, ("keep", "-1")),
        ({"weight_kind": "odd"}, ("weight_kind", "'odd'", "sampling")),
        ({"schema": {"x9": "ordinal"}}, ("'x9'", "use the position")),
        ({"schema": {"x0": "numeric"}}, ("schema['x0']", "'numeric'", "continuous")),
        (
            {"schema": {"x0": sd.Feature("x0", levels=[1, 2])}},
            ("schema['x0']", 'Add kind="ordinal"'),
        ),
        ({"schema": "ordinal"}, ("schema", "str", "mapping")),
    ],
)
def test_settings_that_do_not_exist_are_refused(options, words):
    with refused(sd.DataError, *words):
        sd.explain(linear, table(), 0, **options)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"kind": "odd"}, ("Feature('x0', kind)", "'odd'", "continuous | ordinal | nominal")),
        ({"kind": float}, ("kind", "the class float", "one of these kinds")),
        ({"kind": ["ordinal"]}, ("kind", "['ordinal']")),
        ({"unit": 3}, ("unit", "3", "text")),
        ({"levels": "abc"}, ("levels", "'abc'", "a list of values")),
        ({"levels": 5}, ("levels", "5", "a list of values")),
        ({"label": 1}, ("label", "1", "text")),
        ({"label": " "}, ("label", "' '", "visible")),
    ],
)
def test_a_feature_is_checked_when_it_is_made(wrong, words):
    with refused(sd.DataError, *words):
        sd.Feature("x0", **wrong)


def test_levels_of_a_feature_may_be_a_list():
    assert sd.Feature("x0", "ordinal", levels=["a", "b"]).levels == ("a", "b")


@pytest.mark.parametrize("method", SLOPED)
def test_a_model_that_writes_into_its_input_is_refused_or_harmless(method):
    def writes(X):
        X[:, 1] = 0.0
        return X[:, 0] * 2.0

    X = table()
    before = X.copy()
    with refused(sd.ModelOutputError, "written to", "X.copy()"):
        sd.explain(writes, X, 0, method=method)
    np.testing.assert_array_equal(X, before)


def test_a_quantity_whose_squares_overflow_is_refused():
    """Variances are computed from squares: 1e153 is finite, its square times the number of rows is not."""
    X = np.linspace(0, 1, 40)[:, None]
    with pytest.raises(
        sd.ModelOutputError, match=r"values up to 1e\+153 in size .*expected at most 1e\+140"
    ):
        sd.explain(lambda X: 1e153 * X[:, 0], X, 0)
    assert sd.explain(lambda X: 1e139 * X[:, 0], X, 0).importance > 1e138
