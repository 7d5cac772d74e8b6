"""Codes of conditioning features, and the thresholds between them."""

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skedasis.data.dataset import as_dataset
from skedasis.engine.conditioning import roundest_time
from skedasis.engine.given_regions import values_or_quartiles
from skedasis.stats.conditioning import (
    LEVEL_ROWS,
    N_CODES,
    Cut,
    code_levels,
    code_numbers,
    quantile_codes,
    roundest,
)

finite = st.floats(-1e12, 1e12, allow_subnormal=False)


# --- quantile codes


@pytest.mark.parametrize("size", [2, 7, 32])
@pytest.mark.parametrize("n", [33, 100, 1001])
def test_groups_end_at_the_quantiles_of_numpy(n, size):
    x = np.random.default_rng(n).normal(size=n)
    codes, upper, missing = quantile_codes(x, size)
    expected = np.quantile(x, np.arange(1, size + 1) / size, method="inverted_cdf")
    np.testing.assert_array_equal(upper, np.unique(expected))
    np.testing.assert_array_equal(codes, np.searchsorted(upper, x))
    assert not missing


@pytest.mark.parametrize("seed", range(5))
def test_weighted_groups_end_at_the_quantiles_of_repeated_rows(seed):
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=300).round(2), rng.integers(1, 6, 300)
    _, upper, _ = quantile_codes(x, 20, w.astype(float))
    _, repeated, _ = quantile_codes(np.repeat(x, w), 20)
    np.testing.assert_array_equal(upper, repeated)
    np.testing.assert_array_equal(
        upper,
        np.unique(np.quantile(x, np.arange(1, 21) / 20, weights=w, method="inverted_cdf")),
    )


@pytest.mark.parametrize("distinct", [1, 2, 31, 32])
def test_a_feature_with_few_values_has_a_code_for_each(distinct):
    # One value has nearly all rows, so that quantiles alone would miss the others.
    x = np.concatenate([np.arange(distinct), np.zeros(5000)]).astype(float)
    codes, upper, missing = quantile_codes(x, 32)
    np.testing.assert_array_equal(upper, np.arange(distinct))
    np.testing.assert_array_equal(codes, x)
    assert not missing


def test_missing_values_get_the_code_after_the_last_group():
    x = np.random.default_rng(0).normal(size=500)
    x[::7] = np.nan
    codes, upper, missing = quantile_codes(x, 16)
    present, _, _ = quantile_codes(x[~np.isnan(x)], 16)
    assert missing
    np.testing.assert_array_equal(codes[::7], len(upper))
    np.testing.assert_array_equal(codes[~np.isnan(x)], present)


def test_only_missing_values_have_one_code():
    codes, upper, missing = quantile_codes(np.full(10, np.nan), 8)
    assert missing
    assert len(upper) == 0
    np.testing.assert_array_equal(codes, 0)
    assert code_numbers(np.full(10, np.nan)).width == 1
    assert code_numbers(np.zeros(0)).width == 0


def test_nested_groups_of_tied_values_keep_their_numbers():
    x = np.concatenate([np.zeros(60), np.arange(1.0, 41.0)])
    codes, upper, _ = quantile_codes(x, 10, nested=True)
    assert len(upper) == 10
    # Pairs of neighbouring groups are the groups of half as many.
    halves, coarse, _ = quantile_codes(x, 5, nested=True)
    np.testing.assert_array_equal(upper[1::2], coarse)
    np.testing.assert_array_equal(coarse[codes // 2] >= x, True)
    assert (codes // 2 <= halves).all()


def test_inputs_are_not_changed_and_order_does_not_matter():
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=200), rng.uniform(0.1, 2, 200)
    x[:9] = np.nan
    before, order = x.copy(), rng.permutation(200)
    codes, upper, _ = quantile_codes(x, 12, w)
    moved, same, _ = quantile_codes(x[order], 12, w[order])
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(codes[order], moved)
    np.testing.assert_array_equal(upper, same)


def test_numbers_have_at_most_as_many_codes_as_groups():
    x = np.random.default_rng(0).normal(size=2000)
    coded = code_numbers(x)
    assert (coded.size, coded.width, len(coded)) == (N_CODES, N_CODES, 2000)
    counts = np.bincount(coded.codes)
    assert counts.max() - counts.min() <= 1
    assert coded.upper[-1] == x.max()


def test_weights_give_quartiles_of_repeated_rows():
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=101), rng.integers(1, 4, 101)
    x[5] = np.nan
    expected = np.quantile(
        np.repeat(x, w)[~np.isnan(np.repeat(x, w))], [0.25, 0.5, 0.75], method="inverted_cdf"
    )
    dataset = as_dataset(x[:, None], sample_weight=w.astype(float))
    few, quartiles = values_or_quartiles(dataset, dataset.features[0])
    assert few is None
    np.testing.assert_array_equal(quartiles, expected)


# --- the roundest number


def digits(value):
    """Return the number of significant decimal digits of the shortest text of a number."""
    found = Decimal(repr(value)).normalize().as_tuple().digits
    return 0 if value == 0 else len(found)


def coarsest(low, high):
    """Return the largest power of ten with a multiple whose double is in [low, high); None for zero itself."""
    if low <= 0 < high:
        return None
    for power in range(13, -40, -1):
        unit = Decimal(10) ** power
        nearest = (Decimal(low) / unit).to_integral_value()
        if any(low <= float((nearest + step) * unit) < high for step in (-1, 0, 1)):
            return power
    return None


@pytest.mark.slow
@given(low=finite, width=st.floats(1e-9, 10.0))
def test_the_roundest_number_is_between_and_no_other_has_larger_units(low, width):
    high = low + max(abs(low), 1e-3) * width
    assume(low < high)
    value = roundest(low, high)
    assert low <= value < high
    power = coarsest(low, high)
    if power is None:
        assert value == 0
        return
    # A multiple of the coarsest unit, but for the rounding of the number to binary.
    steps = Decimal(repr(value)) / Decimal(10) ** power
    assert steps == steps.to_integral_value(), (low, high, value, power)


@given(x=finite)
def test_the_roundest_number_between_neighbours_is_between(x):
    above = math.nextafter(x, math.inf)
    assert roundest(x, above) == x
    assert roundest(x, x) == x
    assert x <= roundest(x, math.nextafter(above, math.inf)) <= above


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.4837, 0.5112, 0.5),
        (17.0, 18.0, 17.0),
        (-0.02, 0.013, 0.0),
        (-18.0, -17.0, -18.0),
        (0.0, 1.0, 0.0),
        (-1.0, 0.0, -1.0),
        (1999.5, 2000.5, 2000.0),
        (1234.0, 1240.0, 1234.0),
        (1231.0, 1240.5, 1240.0),
        (1e-300, 2e-300, 1e-300),
        (0.1, 0.30000000000000004, 0.1),
        (-1.7e308, 1.7e308, 0.0),
    ],
)
def test_roundest_numbers(low, high, expected):
    value = roundest(low, high)
    assert low <= value < high
    assert value == expected


def test_an_exact_multiple_is_preferred_to_more_digits():
    # 0.29 and 0.30 are both between; 0.3 has fewer digits.
    assert roundest(0.285, 0.305) == 0.3
    assert digits(roundest(0.2851, 0.2949)) == 2


# --- levels


def test_rare_levels_share_the_last_code():
    codes = np.repeat([0, 1, 2, 3, 4], [50, LEVEL_ROWS, LEVEL_ROWS - 1, 3, 40])
    codes = np.concatenate([codes, [-1, -1]])
    coded, code_of = code_levels(codes, 5, ordered=False)
    assert coded.rare
    assert coded.missing
    assert not coded.ordered
    np.testing.assert_array_equal(code_of, [0, 1, 3, 3, 2])
    assert (coded.size, coded.width) == (4, 5)
    np.testing.assert_array_equal(np.bincount(coded.codes), [50, 10, 40, 12, 2])


def test_frequent_levels_have_a_code_each_and_no_pool():
    coded, code_of = code_levels(np.repeat(np.arange(12), 20), 12, ordered=False)
    assert not coded.rare
    assert coded.size == 12
    np.testing.assert_array_equal(code_of, np.arange(12))


def test_the_most_frequent_levels_have_a_code_if_they_are_too_many():
    counts = np.full(400, 12)
    counts[[7, 399]] = 30
    coded, code_of = code_levels(np.repeat(np.arange(400), counts), 400, ordered=False)
    assert coded.size <= 254
    assert coded.rare
    pool = coded.size - 1
    assert code_of[7] != pool
    assert code_of[399] != pool
    assert len(np.unique(code_of)) == coded.size


@pytest.mark.parametrize("size", [3, 254, 255, 1000])
def test_ordered_levels_keep_their_order(size):
    rng = np.random.default_rng(size)
    codes = rng.integers(0, size, 20 * size)
    codes[:5] = -1
    coded, code_of = code_levels(codes, size, ordered=True)
    assert coded.ordered
    assert not coded.rare
    assert coded.missing
    assert coded.size <= 254
    assert (np.diff(code_of) >= 0).all()
    assert code_of[-1] == coded.size - 1
    np.testing.assert_array_equal(coded.codes[:5], coded.size)
    np.testing.assert_array_equal(coded.codes[5:], code_of[codes[5:]])
    if size <= 254:
        np.testing.assert_array_equal(code_of, np.arange(size))


# --- cuts


def test_a_cut_of_numbers_divides_at_the_threshold_and_sends_missing_values_to_a_side():
    x = np.array([0.0, 1.0, 2.0, np.nan, -np.inf, np.inf])
    coded = code_numbers(x)
    rows = np.arange(6)
    for left_missing in (False, True):
        left = np.zeros(coded.width, dtype=bool)
        left[coded.size] = left_missing
        held = Cut(0, 1.0, left).holds(coded, rows)
        np.testing.assert_array_equal(held, [True, True, False, left_missing, True, False])
        np.testing.assert_array_equal(Cut(0, 1.0, left).holds(coded, rows[::-2]), held[::-2])


def test_a_cut_of_levels_divides_by_code():
    coded, _ = code_levels(np.repeat([0, 1, 2, -1], 15), 3, ordered=False)
    left = np.array([True, False, True, False])
    held = Cut(0, math.nan, left).holds(coded, np.arange(60))
    np.testing.assert_array_equal(held, np.repeat(left, 15))


def test_a_time_threshold_is_the_largest_unit_between():
    import pandas as pd

    from skedasis.data.dataset import as_dataset

    t = pd.date_range("2019-03-05 10:00", periods=500, freq="37h")
    dataset = as_dataset(pd.DataFrame({"t": t}))
    axis, days = dataset.features[0].time, dataset.floats(0)
    for low, high, expected in (
        (0, 499, "2020-01-01"),
        (10, 60, "2019-04-01"),
        (0, 1, "2019-03-06"),
    ):
        found = roundest_time(axis, float(days[low]), float(days[high]))
        assert days[low] <= found < days[high]
        assert str(axis.local(np.array([found]))[0])[:10] == expected
    assert roundest_time(axis, float(days[3]), float(days[3])) == days[3]
