"""Curves in words: known shapes are described as they are, and noise is not described."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.results.curve_words import Curve, curve_words, reliable, turning_points


def effect_of(curve, low=0.0, high=24.0, points=241, method=None, **feature):
    X = np.linspace(low, high, points)[:, None]
    schema = {0: sd.Feature("x", **feature)} if feature else None
    method = sd.PDP(grid=np.linspace(low, high, points)) if method is None else method
    return sd.explain(
        lambda X: curve(X[:, 0]), X, 0, method=method, schema=schema, heterogeneity_rows=0
    )


def bump(x, at, width=1.5):
    return np.exp(-((x - at) ** 2) / (2 * width**2))


@pytest.mark.parametrize(
    ("curve", "words"),
    [
        (lambda x: 2 * x, "rises by 48 from 0 to 24"),
        (lambda x: -x / 2, "falls by 12 from 0 to 24"),
        (lambda x: 0 * x + 3, "flat"),
        (lambda x: 3 + 1e-13 * np.sin(x), "flat"),
        (lambda x: np.abs(x - 10), "one dip at 10: falls by 10 from 0, rises by 14 to 24"),
        (lambda x: 100 * bump(x, 13), "one peak at 13: rises by 100 from 0, falls by 100 to 24"),
        (
            lambda x: 200 * bump(x, 8) + 300 * bump(x, 17),
            "two peaks, at 8 (200) and 17 (300); one dip at 12.4 (5); range 300",
        ),
        # A bump of 10 % of the range is no peak.
        (lambda x: 200 * bump(x, 8) + 20 * bump(x, 17), "one peak at 8: rises by 200 from 0, "),
        (lambda x: 50 * (x > 12), "rises by 50 from 0 to 24, most of it between 12 and 12.1"),
        (lambda x: np.sin(x * 2), "8 peaks and 7 dips, highest at "),
        (lambda x: np.minimum(x, 5), "rises by 5 from 0 to 24, most of it between 0 and 4.5"),
    ],
)
def test_known_curves(curve, words):
    assert curve_words(effect_of(curve)).startswith(words)


def test_two_dips_and_the_order_of_the_parts():
    found = curve_words(effect_of(lambda x: -bump(x, 6) - bump(x, 18)))
    assert found == "two dips, at 6 (−1) and 18 (−1); one peak at 12 (−0.001); range 1"


def test_a_flat_top_between_few_points_has_two_ends():
    found = effect_of(
        lambda x: np.interp(x, [0, 6, 12, 24], [0, 10, 10, 0]),
        method=sd.PDP(grid=np.arange(0.0, 25.0, 6.0)),
    )
    assert curve_words(found) == "one peak at 6 to 12: rises by 10 from 0, falls by 10 to 24"
    # Which end is higher by 0.3 % of the range is chance; 3 % is not, nor is a fine grid.
    for higher, points, where in ((10.03, 5, "6 to 12"), (10.3, 5, "12"), (10.03, 97, "12")):
        found = effect_of(
            lambda x, h=higher: np.interp(x, [0, 6, 12, 24], [0, 10, h, 0]),
            method=sd.PDP(grid=np.linspace(0.0, 24.0, points)),
        )
        assert curve_words(found).startswith(f"one peak at {where}: ")


def test_noise_within_two_standard_errors_is_not_described():
    e = effect_of(lambda x: bump(x, 8))
    wide = replace(e, std_error=np.full(len(e.value), 0.8))
    assert curve_words(wide) == "does not clearly change (range 1, within its uncertainty)"
    # The second peak is smaller than two standard errors of the difference, the first one is not.
    e = effect_of(lambda x: bump(x, 6) + 0.4 * bump(x, 18))
    assert "two peaks" in curve_words(e)
    noisy = replace(e, std_error=np.full(len(e.value), 0.18))
    assert curve_words(noisy).startswith("one peak at 6:")
    unknown = replace(e, std_error=np.full(len(e.value), np.nan))
    assert curve_words(unknown) == curve_words(replace(e, std_error=np.zeros(len(e.value))))


def brute_force_turns(value):
    """Return the turns by removing, again and again, the smallest change between two turns."""
    ends = [
        0,
        *[
            k
            for k in range(1, len(value) - 1)
            if (value[k] - value[k - 1]) * (value[k + 1] - value[k]) < 0
        ],
        len(value) - 1,
    ]
    limit = 0.15 * np.ptp(value)
    while len(ends) > 2:
        change = [abs(value[b] - value[a]) for a, b in itertools.pairwise(ends)]
        k = int(np.argmin(change))
        if change[k] > limit:
            break
        # The first and the last point are no turns: a small change beside them removes one turn.
        if k == 0:
            del ends[1]
        elif k == len(change) - 1:
            del ends[-2]
        else:
            del ends[k : k + 2]
    return ends[1:-1]


@pytest.mark.parametrize("seed", range(4))
def test_turning_points_equal_those_that_survive_cancellation(seed):
    rng = np.random.default_rng(seed)
    value = rng.normal(size=30).cumsum()
    found = turning_points(value, np.zeros(30))
    alternating = np.diff(np.sign(np.diff(value[[0, *found, 29]])))
    assert (alternating != 0).all()
    # Beside the ends, a range that is not larger than the limit may be kept or not: compare inside.
    expected = brute_force_turns(value)
    inside = [
        k
        for k in expected
        if min(abs(value[k] - value[0]), abs(value[k] - value[29])) > 0.2 * np.ptp(value)
    ]
    assert set(inside) <= set(found)
    limit = 0.15 * np.ptp(value)
    steps = np.abs(np.diff(value[found])) if len(found) > 1 else np.ones(0) * np.inf
    assert (steps > limit).all()


def test_levels_name_the_highest_and_the_lowest():
    X = pd.DataFrame({"town": np.resize(["a", "b", "c\nd"], 300)})
    worth = {"a": 1.0, "b": -2.0, "c\nd": 4.0}
    e = sd.explain(
        lambda X: X["town"].map(worth).to_numpy(), X, "town", method=sd.PDP(), heterogeneity_rows=0
    )
    assert curve_words(e) == "highest for c d (4), lowest for b (−2)"
    same = sd.explain(lambda X: np.ones(len(X)), X, "town", method=sd.PDP(), heterogeneity_rows=0)
    assert curve_words(same) == "flat"


def test_times_are_dates():
    X = pd.DataFrame({"day": pd.date_range("2012-01-01", periods=101)})

    def f(X):
        days = (X["day"] - pd.Timestamp("2012-01-01")).dt.days.to_numpy()
        return -np.abs(days - 60.0)

    e = sd.explain(f, X, "day", method=sd.ALE(bins=20), heterogeneity_rows=0)
    assert curve_words(e) == (
        "one peak at 2012-03-01: rises by 60 from 2012-01-01, falls by 40 to 2012-04-10"
    )


def test_one_value_and_one_level():
    X = np.ones((30, 1))
    e = sd.explain(lambda X: X[:, 0], X, 0, method=sd.ALE(), heterogeneity_rows=0)
    assert curve_words(e) == "the feature takes a single value"
    names = pd.DataFrame({"a": ["x"] * 30})
    e = sd.explain(lambda X: np.ones(len(X)), names, "a", method=sd.ALE(), heterogeneity_rows=0)
    assert curve_words(e) == "the feature takes a single value"


# ----------------------------------------------------------------------------------- unreliable points
def differ_by_brute_force(value, error):
    pairs = itertools.permutations(range(len(value)), 2)
    return any(value[i] - value[j] > 2 * np.hypot(error[i], error[j]) for i, j in pairs)


@pytest.mark.parametrize("seed", range(4))
def test_a_curve_is_flat_if_no_two_points_differ(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 12))
    value = rng.normal(size=size).round(int(rng.integers(1, 4)))
    error = rng.exponential(rng.choice([0.2, 0.5, 2.0]), size) * rng.integers(0, 2, size)
    error = np.where(rng.random(size) < 0.3, 100 * error, error)
    curve = Curve(np.arange(size, dtype=float), value, error)
    expected = differ_by_brute_force(value, error)
    about_zero = (np.abs(value) <= 2 * error).all()
    assert (curve.still == "") == (expected and np.ptp(value) > 0 and not about_zero)
    kept = reliable(value, error)
    if expected and not about_zero:
        # No stated difference is lost, and the rest is told from what is reliable.
        assert differ_by_brute_force(value[kept], error[kept])
        assert kept[[curve.low, curve.high]].all()
        assert len(curve.reliable.x) == kept.sum()


def test_an_effect_whose_interval_contains_zero_everywhere_is_not_stated():
    # Neighbouring points differ clearly, but nowhere is the curve apart from zero.
    e = effect_of(lambda x: np.where(x < 12, -1.0, 1.0), points=25)
    assert curve_words(replace(e, std_error=np.full(25, 0.45))).startswith(
        "rises by 2 from 0 to 24"
    )
    # Few rows make an error uncertain: with two degrees of freedom the interval is ± 4.3 of it.
    few = replace(e, std_error=np.full(25, 0.3), df=np.full(25, 2.0))
    assert curve_words(few) == "does not clearly change (range 2, within its uncertainty)"
    wide = replace(e, std_error=np.full(25, 0.55))
    assert curve_words(wide) == "does not clearly change (range 2, within its uncertainty)"


def test_values_with_one_row_each_do_not_make_a_curve_flat():
    # Steps of 90 with one row each: beyond 10, the accumulated error is many times the range.
    e = effect_of(lambda x: np.minimum(x, 10.0), points=25)
    error = np.where(e.x > 12, 300.0, 0.5)
    assert curve_words(replace(e, std_error=error)) == "rises by 10 from 0 to 12"
    # A value without a trusted error is no peak, and hides none.
    e = effect_of(lambda x: np.where(x == 20, 90.0, -np.abs(x - 6)), points=25)
    error = np.where(e.x >= 20, 300.0, 0.1)
    words = curve_words(replace(e, std_error=error))
    assert words == "one peak at 6: rises by 6 from 0, falls by 13 to 19"


def test_the_highest_and_the_lowest_point_differ_by_more_than_their_errors():
    value, error = np.array([0.0, 3.0, 4.0, 1.0]), np.array([0.1, 0.1, 1.99, 0.1])
    curve = Curve(np.arange(4.0), value, error)
    # The point at 2 is reliable, but not higher than the lowest one by two errors of the difference.
    assert reliable(value, error).all()
    assert (curve.low, curve.high) == (0, 2)
    wide = np.array([0.5, 0.1, 1.99, 0.1])
    curve = Curve(np.arange(4.0), value, wide)
    assert (curve.low, curve.high) == (0, 1)
    assert curve.still == ""


@pytest.mark.parametrize("seed", range(40))
def test_a_curve_changes_clearly_if_two_points_differ_beyond_their_errors(seed):
    """All pairs, with the error of a difference of independent points; and not if each interval contains zero."""
    rng = np.random.default_rng(seed)
    value, error = rng.normal(size=6), rng.uniform(0.2, 2.0) * rng.uniform(0.1, 1, 6)
    pairs = itertools.combinations(range(6), 2)
    differ = any(abs(value[i] - value[j]) > 2 * np.hypot(error[i], error[j]) for i, j in pairs)
    zero = all(abs(value) <= 2 * error)
    assert Curve(np.arange(6.0), value, error).still == ("unclear" if zero or not differ else "")
