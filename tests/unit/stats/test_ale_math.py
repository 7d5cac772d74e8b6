"""Accumulation over cells of which some have no rows, and deviations of shares."""

from __future__ import annotations

import numpy as np

from skedasis.stats.ale_math import between_known, bridged, weighted_std


def test_unknown_slopes_are_the_mean_of_the_nearest_known_ones_on_both_sides():
    """The lengths on which slopes apply give the accumulated curve; at the ends, unknown slopes count as 0."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        slopes, lengths = rng.normal(size=9), rng.uniform(0.1, 2, (3, 9))
        known = rng.random(9) < 0.5
        filled = np.where(known, slopes, 0.0)
        for k in np.flatnonzero(~known):
            left, right = np.flatnonzero(known[:k]), np.flatnonzero(known[k:])
            if len(left) and len(right):
                filled[k] = (slopes[left[-1]] + slopes[k + right[0]]) / 2
        found = bridged(lengths, known)
        assert not found[:, ~known].any()
        np.testing.assert_allclose(found @ slopes, lengths @ filled, atol=1e-12)
        np.testing.assert_allclose(bridged(lengths[0], known), found[0])


def test_edges_between_known_cells_are_those_with_known_cells_on_both_sides_or_beside_them():
    rng = np.random.default_rng(1)
    known = rng.random((8, 40)) < 0.3
    found = between_known(known)
    for r in range(40):
        for edge in range(9):
            before, after = known[:edge, r].any(), known[edge:, r].any()
            beside = known[max(edge - 1, 0) : edge + 1, r].any()
            assert found[edge, r] == (beside or (before and after))


def test_a_deviation_of_shares_is_that_of_repeated_values():
    rng = np.random.default_rng(2)
    values, times = rng.normal(1e6, 1, 7), rng.integers(1, 9, 7)
    expected = np.repeat(values, times).std()
    np.testing.assert_allclose(weighted_std(values, times / times.sum()), expected, 1e-9)
