"""The checks of arguments: what passes, in which type, and what the message says otherwise."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from skedasis import _arguments as check
from tests.helpers import refused


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_integers_of_numpy_become_python_integers(value):
    assert type(check.check_int("n", value, 1, "Use 1")) is int


@pytest.mark.parametrize("value", [True, np.True_, 2.0, "2", None, np.array([2]), 0, -1])
def test_other_values_are_no_integers(value):
    with pytest.raises(
        sd.DataError, match=r"^n: got .+, expected an integer of at least 1. Use 1.$"
    ):
        check.check_int("n", value, 1, "Use 1")


def test_none_is_valid_where_it_is_said():
    assert check.check_int_or_none("n", None, 1, "Use 1") is None
    with pytest.raises(sd.DataError, match="at least 1, or None"):
        check.check_int_or_none("n", 0, 1, "Use 1")


@pytest.mark.parametrize("value", ["a", np.str_("a"), None])
def test_options_are_compared_by_value(value):
    check.check_option("o", value, ("a", None))


@pytest.mark.parametrize("value", ["b", 1, True, np.array(["a", "a"]), ["a"], object()])
def test_anything_else_is_no_option(value):
    with pytest.raises(sd.DataError, match=r"^o: got .+, expected 'a' or None. Use one of these.$"):
        check.check_option("o", value, ("a", None))


def test_truth_values_are_not_the_numbers_that_equal_them():
    check.check_option("base", 2, ("e", 2))
    with pytest.raises(sd.DataError):
        check.check_option("base", True, ("e", 1))
    with pytest.raises(sd.DataError):
        check.check_option("flag", 1, (True, False))


def test_numbers_and_truth_values_of_numpy_are_options_too():
    check.check_option("ddof", np.int64(1), (0, 1))
    check.check_option("flag", np.True_, (True, False))
    with pytest.raises(sd.DataError):
        check.check_option("ddof", np.True_, (0, 1))
    assert sd.ALE(ddof=np.int64(0)) == sd.ALE(ddof=0)


@pytest.mark.parametrize(
    "value", [0, 1, -0.1, 1.1, np.nan, np.inf, True, "0.9", None, np.array(0.5)]
)
def test_no_probabilities(value):
    with pytest.raises(sd.DataError, match="expected a number between 0 and 1"):
        check.check_probability("p", value)


@pytest.mark.parametrize("value", [0.5, np.float32(0.5)])
def test_probabilities(value):
    assert type(check.check_probability("p", value)) is float


def test_limits_of_numbers():
    assert check.check_number("c", 0, "e", "f", least=0.0) == 0.0
    for value in (-1e-300, np.inf, np.nan):
        with pytest.raises(sd.DataError):
            check.check_number("c", value, "e", "f", least=0.0)
    with pytest.raises(sd.DataError):
        check.check_number("c", 0, "e", "f", above=0.0)


@pytest.mark.parametrize("value", ["no", 1, 0, None, np.array([True])])
def test_a_word_or_a_number_is_no_truth_value(value):
    with pytest.raises(sd.DataError, match="expected True or False"):
        check.check_flag("f", value)
    assert check.check_flag("f", np.False_) is False


def test_a_long_value_is_cut_off():
    with pytest.raises(sd.DataError) as caught:
        check.check_name("feature", "x" * 500, ["a"], "Pass a name")
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize("bins", [sd.Greedy, sd.AutoUniform, sd.Optimal])
def test_bins_of_infinitely_many_rows_are_one_bin(bins):
    assert bins(min_points=float("inf")).min_points == float("inf")
    with pytest.raises(sd.DataError, match="min_points"):
        bins(min_points=float("nan"))


def test_integers_beyond_floats_are_no_numbers():
    for value in (10**400, -(10**400)):
        with pytest.raises(sd.DataError, match="number: got"):
            check.check_number("number", value, "a number", "Pass a smaller one")
    with pytest.raises(ValueError, match="308 digits"):
        check.as_numbers([10**400])


@pytest.mark.parametrize("value", [True, 1.5, np.nan, object(), 3])
def test_conditions_of_regions_are_a_list(value):
    X = np.random.default_rng(0).normal(size=(60, 2))
    with refused(sd.DataError, "regions(split_on)", "a list of features, or None"):
        sd.regions(lambda X: X[:, 0] * X[:, 1], X, 0, split_on=value)


def test_options_of_methods_and_bins_are_compared_by_value():
    X = np.random.default_rng(0).normal(size=(60, 2))
    for wrong in ({"criterion": np.ones(3)}, {"grid": np.ones(3)}):
        with refused(sd.DataError, "Optimal(", "an array of shape (3,)"):
            sd.Optimal(**wrong)
    for anchor in (True, 10**400):
        with refused(sd.DataError, "PDP(anchor)", "a finite number"):
            sd.explain(lambda X: X[:, 0], X, 0, method=sd.PDP(anchor=anchor))


def test_edges_between_two_values_are_refused():
    """The effect would be that of no row."""
    X = np.arange(40.0)[:, None]
    for method in (sd.RHALE, sd.ALE, sd.DALE, sd.UALE, sd.MPlot):
        with refused(sd.DataError, "Edges of 'x0'", "with no row", "Move the edges apart"):
            sd.explain(np.ravel, X, 0, method=method(bins=sd.Edges([3.3, 3.6])))
    with refused(sd.DataError, "Edges of 'x0'", "with no row", "Move the edges apart"):
        sd.explain(np.sin, X, 0).rebin(sd.Edges([3.3, 3.6]))
    constant = np.ones((5, 1))
    assert (
        sd.explain(np.ravel, constant, 0, method=sd.RHALE(bins=sd.Edges([0.0, 2.0]))).importance
        == 0
    )


def test_names_and_units_of_quantities_are_text():
    normal = lambda X: (X[:, 0], np.ones(len(X)))  # noqa: E731
    makers = [
        lambda **k: sd.prediction(np.ravel, **k),
        lambda **k: sd.probability(np.ravel, **k),
        lambda **k: sd.logit(np.ravel, **k),
        lambda **k: sd.loss(np.ravel, **k),
        lambda **k: sd.entropy(normal, **k),
        lambda **k: sd.nll(normal, **k),
        lambda **k: sd.predictive_variance(normal, **k),
        lambda **k: sd.predictive_quantile(normal, 0.5, **k),
    ]
    for make in makers:
        for key in ("name", "unit"):
            for value in (True, 1.5, np.ones(3), [1], object()):
                with refused(sd.DataError, key, "text"):
                    make(**{key: value})


def test_arrays_and_words_are_no_options():
    with refused(sd.DataError, "prediction(output)", "an array of shape (3,)"):
        sd.prediction(np.ravel, output=np.ones(3))
    X = np.random.default_rng(0).normal(size=(30, 2))
    importance = sd.explain(lambda X: X[:, 0], X, method="pfi")
    for value in ("no", np.ones(3)):
        with refused(sd.DataError, "interval(simultaneous)", "True or False"):
            importance.interval(simultaneous=value)
