"""Bad input: each case gives a correct result, or an error that states what, got, expected and the fix."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

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
    paired,
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
def test_missing_values_of_other_features_change_nothing(method):
    X = with_holes()
    e = sd.explain(takes_nan, X, 1, method=method)
    assert rise(e) == pytest.approx(e.x[-1] - e.x[0], rel=1e-8)
    assert e.missing == 0


@pytest.mark.parametrize("method", ["ale", "pdp", "rhale"])
def test_a_model_that_cannot_take_missing_values_is_told_so(method):
    with refused(sd.ModelOutputError, "NaN", "of 64 rows", "finite", "impute"):
        sd.explain(linear, with_holes(), 1, method=method)


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


# ----------------------------------------------------------------------------------- infinity


def test_infinity_is_refused_by_name_and_count():
    X = table()
    X[[1, 2], 1] = np.inf
    for features in (1, None):
        with refused(sd.DataError, "'x1'", "2 infinite values", "finite", "Replace"):
            sd.explain(lambda X: X[:, 0], X, features, method="ale")


# ---------------------------------------------------------------------------- few distinct values
@every_method
def test_a_constant_column_has_an_effect_of_nothing_at_one_point(method):
    X = table()
    for constant in (0.0, 4.0, 0.1, -0.540846, 1e-300, 1.7e9 + 0.1, 3e69):
        X[:, 1] = constant
        e = sd.explain(linear, X, 1, method=method)
        np.testing.assert_array_equal(e.x, [constant])
        expected = linear(X).mean() if method in DEPENDENCE else 0.0
        np.testing.assert_allclose(e.value, [expected], rtol=1e-12)
        assert e.importance == e.heterogeneity_score == 0
        beyond = constant + abs(constant) + 1.0
        np.testing.assert_allclose(e([constant, beyond]), [expected, np.nan])


@every_method
def test_two_or_three_distinct_values_carry_the_whole_effect(method):
    X = table(90)
    for values in ((0, 1), (-1.5, 2.25), (0, 1, 5), (0.1, 0.2, 0.7), (3, 3e6)):
        X[:, 0] = np.resize(values, 90)
        e = sd.explain(linear, X, 0, method=method)
        assert (e.x[0], e.x[-1]) == (min(values), max(values))
        scale = 3 * (max(values) - min(values))
        assert rise(e) == pytest.approx(scale, rel=1e-7)
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


@every_method
def test_two_rows_and_a_few_more_are_enough_for_a_line(method):
    for n in (2, 3, 5):
        X = table(n)
        e = sd.explain(linear, X, 0, method=method)
        assert (e.x[0], e.x[-1]) == (X[:, 0].min(), X[:, 0].max())
        assert rise(e) == pytest.approx(3 * np.ptp(X[:, 0]), rel=1e-8)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.zeros((5, 2, 2)), ("shape (5, 2, 2)",)),
        (np.zeros((5, 2), dtype=complex), ("complex128", "numbers")),
        (np.ma.masked_less(np.arange(6.0).reshape(3, 2), 2), ("2 masked values", "filled")),
        (pd.DataFrame({"a": []}, dtype=float), ("0 rows", "at least one")),
        (table(5, 0), ("5 rows and 0 columns",)),
    ],
)
def test_what_is_no_table_is_refused(bad, words):
    with refused(sd.DataError, "X", *words):
        sd.explain(linear, bad, 0)


# ----------------------------------------------------------------------------------- types


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


# ----------------------------------------------------------------------------------- names


def test_names_that_stand_twice_are_refused():
    X = pd.DataFrame(table(), columns=["a", "b", "a"])
    with refused(sd.DataError, "X", "column name", "more than once", "Rename"):
        sd.explain(lambda X: X.iloc[:, 0], X, 0)
    X.columns = [1, "b", "1"]
    with refused(sd.DataError, "'1' more than once", "as text"):
        sd.explain(lambda X: X.iloc[:, 0], X, 0)


def test_a_label_wins_over_a_position():
    frame = pd.DataFrame(table())
    frame.columns = [2, 1, 0]
    e = sd.explain(lambda X: bent(X.to_numpy()), frame, 0, method="ale")
    same_effect(e, sd.explain(bent, table(), 2, method="ale"))


# ------------------------------------------------------------------------------- model outputs
@pytest.mark.parametrize(
    ("shaped", "method"),
    paired(
        [
            lambda out: out[:, None],
            lambda out: out.tolist(),
            lambda out: pd.Series(out, index=out),
            lambda out: pd.DataFrame({"y": out}),
            lambda out: out.astype(object),
            lambda out: pd.array(out, dtype="Float64"),
        ],
        METHODS,
    ),
)
def test_outputs_of_one_number_a_row_are_taken(shaped, method):
    e = sd.explain(lambda X: shaped(bent(X)), table(), 0, method=method)
    same_effect(e, sd.explain(bent, table(), 0, method=method))


@pytest.mark.parametrize(
    ("shaped", "words"),
    [
        (lambda out: np.append(out, 0), ("shape (65,)", "(64,)", "one number for each row")),
        (lambda out: np.where(out > 0, "1", "0").astype(object), ("type object", "numbers")),
        (lambda out: out + 1j, ("complex128", "numbers")),
        (lambda out: [None, *out[1:]], ("NaN or infinity", "1 of 64 rows")),
        (lambda out: np.ma.masked_array(out, out > 0), ("NaN or infinity",)),
        (lambda out: [[1.0], [1.0, 2.0]], ("a list", "different lengths")),
        (lambda out: {"y": out}, ("got a dict", "one number for each row")),
    ],
)
def test_other_outputs_are_refused(shaped, words):
    # The model is checked on 64 of the 80 rows first, so messages refer to these.
    with refused(sd.ModelOutputError, "prediction(", *words):
        sd.explain(lambda X: shaped(bent(X)), table(), 0, method="ale")


@every_method
def test_a_model_that_fails_later_is_refused_later(method):
    def model(X):  # finite at the rows, NaN at all other values of x0
        return np.where(np.isin(X[:, 0], known), X[:, 0], np.nan)

    known = table()[:, 0]
    bins = {"bins": sd.Uniform(5)} if method in ACCUMULATED else {}
    with refused(sd.ModelOutputError, "NaN or infinity", "'x0' replaced"):
        sd.explain(model, table(), 0, method=METHODS[method](**bins))


# ----------------------------------------------------------------------------- slope functions


@pytest.mark.parametrize(
    ("spoil", "got"),
    [
        (lambda s: s[:, 0], "shape (80,)"),
        (lambda s: s.T, "shape (3, 80)"),
        (lambda s: s[:-1], "shape (79, 3)"),
    ],
)
def test_slopes_of_another_shape_are_refused(spoil, got):
    q = sd.prediction(bent, slope=lambda X: spoil(bent_slope(X)))
    with refused(sd.ModelOutputError, "slope", got, "shape (80, 3)", "every feature"):
        sd.explain(q, table(), 0)


@sloped
def test_slopes_that_are_not_finite_are_refused(method):
    def slope(X):
        return np.where(np.arange(len(X))[:, None] == 4, np.nan, bent_slope(X))

    with refused(sd.ModelOutputError, "slope of 'x0'", "1 rows", "finite"):
        sd.explain(sd.prediction(bent, slope=slope), table(), 0, method=method)


# ------------------------------------------------------------------------------- more bins than rows
@pytest.mark.parametrize(
    ("bins", "method"),
    paired(
        [sd.Uniform(500), sd.Quantile(500), sd.Optimal(500), sd.Greedy(500), sd.AutoUniform(40)],
        ACCUMULATED,
    ),
)
def test_more_bins_than_rows_are_no_trouble(bins, method):
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
@pytest.mark.parametrize(
    ("weights", "got"),
    [
        (np.r_[-1.0, np.ones(79)], "1 negative values"),
        (np.r_[np.inf, np.ones(79)], "NaN or infinite"),
        (np.zeros(80), "zeros only"),
        (np.ones((80, 1)), "shape (80, 1)"),
        (3.0, "shape ()"),
    ],
)
def test_weights_that_are_none_are_refused(weights, got):
    with refused(sd.DataError, "sample_weight", got, "weight"):
        sd.explain(linear, table(), 0, method="ale", sample_weight=weights)


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
