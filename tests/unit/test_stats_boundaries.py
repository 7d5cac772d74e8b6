"""Statistics at the boundaries of their rules: rounded means, few rows, equal draws, nothing to rank."""

from __future__ import annotations

import numpy as np
import pytest

from skedasis.stats.heterogeneity_score import swap_score
from skedasis.stats.ledger import pair_gains
from skedasis.stats.moments import Moments
from skedasis.stats.resampling import BootstrapDraws


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
