"""The checks of arguments: what passes, in which type, and what the message says otherwise."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from skedasis import _arguments as check
from tests.helpers import refused


def test_numbers_of_numpy_become_those_of_python():
    for value in (3, np.int8(3), np.uint64(3)):
        assert type(check.check_int("n", value, 1, "Use 1")) is int
    assert type(check.check_probability("p", np.float32(0.5))) is float
    assert check.check_int_or_none("n", None, 1, "Use 1") is None
    assert check.check_flag("f", np.False_) is False


@pytest.mark.parametrize("value", [True, np.True_, 2.0, "2", None, np.array([2]), 0, -1])
def test_other_values_are_no_integers(value):
    with pytest.raises(
        sd.DataError, match=r"^n: got .+, expected an integer of at least 1. Use 1.$"
    ):
        check.check_int("n", value, 1, "Use 1")


@pytest.mark.parametrize("value", ["b", 1, True, np.array(["a", "a"]), ["a"], object()])
def test_anything_else_is_no_option(value):
    check.check_option("o", np.str_("a"), ("a", None))
    with pytest.raises(sd.DataError, match=r"^o: got .+, expected 'a' or None. Use one of these.$"):
        check.check_option("o", value, ("a", None))


def test_truth_values_are_not_the_numbers_that_equal_them():
    check.check_option("ddof", np.int64(1), (0, 1))
    check.check_option("flag", np.True_, (True, False))
    for value, options in ((True, ("e", 1)), (1, (True, False)), (np.True_, (0, 1))):
        with pytest.raises(sd.DataError):
            check.check_option("base", value, options)
    assert sd.ALE(ddof=np.int64(0)) == sd.ALE(ddof=0)


@pytest.mark.parametrize("value", [0, 1, -0.1, np.nan, np.inf, True, "0.9", None, np.array(0.5)])
def test_no_probabilities(value):
    with pytest.raises(sd.DataError, match="expected a number between 0 and 1"):
        check.check_probability("p", value)


def test_limits_of_numbers():
    assert check.check_number("c", 0, "e", "f", least=0.0) == 0.0
    for value in (-1e-300, np.inf, np.nan, 10**400):
        with pytest.raises(sd.DataError, match="c: got"):
            check.check_number("c", value, "e", "f", least=0.0)
    with pytest.raises(sd.DataError):
        check.check_number("c", 0, "e", "f", above=0.0)
    with pytest.raises(ValueError, match="308 digits"):
        check.as_numbers([10**400])


@pytest.mark.parametrize("value", ["no", 1, 0, None, np.array([True])])
def test_a_word_or_a_number_is_no_truth_value(value):
    with pytest.raises(sd.DataError, match="expected True or False"):
        check.check_flag("f", value)


def test_a_long_value_is_cut_off():
    with pytest.raises(sd.DataError) as caught:
        check.check_name("feature", "x" * 500, ["a"], "Pass a name")
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize("bins", [sd.Greedy, sd.AutoUniform, sd.Optimal])
def test_bins_of_infinitely_many_rows_are_one_bin(bins):
    assert bins(min_points=float("inf")).min_points == float("inf")
    with pytest.raises(sd.DataError, match="min_points"):
        bins(min_points=float("nan"))


def test_edges_between_two_values_are_refused():
    """The effect would be that of no row."""
    X = np.arange(40.0)[:, None]
    for method in (sd.RHALE, sd.ALE, sd.DALE, sd.UALE, sd.MPlot):
        with refused(sd.DataError, "Edges of 'x0'", "with no row", "Move the edges apart"):
            sd.explain(np.ravel, X, 0, method=method(bins=sd.Edges([3.3, 3.6])))
    with refused(sd.DataError, "Edges of 'x0'", "with no row", "Move the edges apart"):
        sd.explain(np.sin, X, 0).rebin(sd.Edges([3.3, 3.6]))
    whole = sd.RHALE(bins=sd.Edges([0.0, 2.0]))
    assert sd.explain(np.ravel, np.ones((5, 1)), 0, method=whole).importance == 0


def test_names_and_units_of_quantities_are_text():
    for make in (sd.prediction, sd.probability, sd.logit, sd.loss, sd.entropy, sd.nll):
        for key in ("name", "unit"):
            with refused(sd.DataError, key, "text"):
                make(lambda X: (X[:, 0], np.ones(len(X))), **{key: 1.5})
