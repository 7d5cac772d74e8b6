"""Statistics at the boundaries of their rules: rounded means, few rows, equal draws, nothing to rank."""

from __future__ import annotations

import numpy as np
import pytest

from skedasis.stats.grid import width_weights
from skedasis.stats.h_statistic import HRows
from skedasis.stats.heterogeneity_score import frequent_levels, swap_score
from skedasis.stats.moments import Moments
from skedasis.stats.resampling import BootstrapDraws, percentiles
from skedasis.stats.variance_shares import pair_gains


@pytest.mark.parametrize("weights", [None, np.ones(3)])
@pytest.mark.parametrize(
    "of",
    [
        lambda v, w: Moments.of(v, np.zeros(3, dtype=np.int64), 1, w),
        Moments.of_one_cell,
        lambda v, w: Moments.of_curves(v[None], w),
    ],
    ids=["cells", "one cell", "curves"],
)
def test_squares_about_a_rounded_mean_are_corrected(of, weights):
    """Numbers near 1e15 are 1/8 apart, so that their mean 1e15 + 2/3 is rounded to 1e15 + 5/8."""
    moments = of(1e15 + np.array([0.0, 1.0, 1.0]), weights)
    assert moments.mean[0] == 1e15 + 0.625
    assert moments.m2[0] == pytest.approx(2 / 3, rel=1e-12)


def test_the_scale_of_a_score_is_the_standard_deviation_of_negative_numbers_of_any_size():
    own = -1e200 * np.arange(1.0, 6.0)
    score = swap_score((np.ones(2), np.ones(2)), None, own, None, eps=0.0)
    assert score.quantity_std == pytest.approx(1e200 * np.sqrt(2.0))


def test_draws_are_the_same_if_their_weights_are_equal_numbers():
    def draws(weight, kind="frequency", rows=3):
        return BootstrapDraws(None if weight is None else np.array(weight), kind, rows)

    equal = draws([1.0, 2.0, 1.0])
    assert equal.same_as(draws([1.0, 2.0, 1.0]))
    assert draws(None).same_as(draws(None))
    for other in (
        draws(None),
        draws([1.0, 1.0, 2.0]),
        draws([1.0, 2.0, 1.0], "sampling"),
        draws([1.0, 2.0, 1.0], rows=4),
    ):
        assert not equal.same_as(other)
        assert not other.same_as(equal)


def test_without_features_there_are_no_pairs():
    assert pair_gains([], np.arange(5.0), np.ones(5)).shape == (0, 0)


@pytest.mark.parametrize("scale", [0.01, 1.0, 1e12])
def test_points_weigh_half_the_gaps_beside_them_whatever_the_unit(scale):
    weights = width_weights(scale * np.array([0.0, 1.0, 3.0]))
    np.testing.assert_allclose(weights, [1 / 6, 1 / 2, 1 / 3])
    assert width_weights(np.array([scale])).tolist() == [1.0]


def test_errors_of_h_statistics_do_not_change_with_the_unit_of_sampling_weights():
    """Equal sampling weights of any size say nothing, and those of two groups count as one size of sample."""
    rng = np.random.default_rng(8)
    values = rng.normal(size=40)
    none = np.zeros(40)

    def error(weights, kind="sampling"):
        return HRows(values, weights, 0.0, kind).pair(values, none, none).std_error

    plain = error(None, "frequency")
    assert plain == pytest.approx(error(np.full(40, 7.0)))
    # The delta method for the root of a mean: the error of the mean over twice the root.
    squares = (values - values.mean()) ** 2
    assert plain == pytest.approx(
        squares.std(ddof=1) / np.sqrt(40) / (2 * np.sqrt(squares.mean())), rel=1e-9
    )
    some = rng.uniform(0.5, 3.0, 40)
    assert error(some) == pytest.approx(error(9.0 * some))
    # Kish's effective number of rows takes the place of their number.
    centred = (values - np.average(values, weights=some)) ** 2
    mean, kish = np.average(centred, weights=some), some.sum() ** 2 / (some @ some)
    variance = np.average((centred - mean) ** 2, weights=some) * kish / (kish - 1)
    assert error(some) == pytest.approx(np.sqrt(variance / kish) / (2 * np.sqrt(mean)))


@pytest.mark.parametrize("replicates", [1, 2, 39])
def test_percentiles_are_numpys_at_every_point(replicates):
    draws = np.random.default_rng(replicates).normal(size=(replicates, 4))
    draws[0, 3] = np.nan if replicates > 1 else 0.0
    low, high = percentiles(draws, 0.9)
    np.testing.assert_allclose(low, np.nanquantile(draws, 0.05, axis=0), rtol=1e-12)
    np.testing.assert_allclose(high, np.nanquantile(draws, 0.95, axis=0), rtol=1e-12)


def test_of_many_levels_the_most_frequent_ones_have_an_indicator():
    counts = np.append(np.full(40, 10), [30, 20])
    indicators = frequent_levels(np.repeat(np.arange(42), counts))
    assert indicators.shape == (450, 30)
    assert indicators[:, :2].sum(axis=0).tolist() == [30, 20]
    rare = frequent_levels(np.repeat([-1, 0, 1], [2, 500, 498]))
    assert rare.sum(axis=0).tolist() == [500, 498]
