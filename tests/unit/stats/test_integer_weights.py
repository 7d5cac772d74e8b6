"""Weights as integers: sums without rounding, and the ranks at which order statistics are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from skedasis.stats.integer_weights import (
    are_whole,
    exact_sum,
    integer_sums,
    quantised,
    rounded,
    targets_of,
    weight_quantum,
    weight_sums,
)


def reached(weights, k, unit=1.0):
    """Return the place of each order statistic at 0/k to k/k among rows in order."""
    weights = np.asarray(weights, dtype=float) * unit
    quantum = weight_quantum(weights.max(), len(weights))
    whole = quantised(weights, quantum)
    inexact = 0 if are_whole(whole, quantum) else len(weights)
    targets = targets_of(int(whole.sum()), k, np.arange(k + 1), inexact)
    return np.searchsorted(np.cumsum(whole), targets)


@pytest.mark.parametrize("unit", [0.1, 0.3, 1e-9, 1 / 7, 1e12, 1e-200])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_order_statistics_do_not_depend_on_the_unit_of_weights(k, unit):
    """0.1 + 0.2 is not half of 0.1 + 0.2 + 0.3, but 1 + 2 is half of 1 + 2 + 3."""
    for seed in range(40):
        weights = np.random.default_rng(seed).integers(1, 7, 12)
        # By definition: the first row at which the cumulative weight is at least j/k of all.
        total = int(weights.sum())
        want = [int(np.argmax(np.cumsum(weights) * k >= j * total)) for j in range(k + 1)]
        np.testing.assert_array_equal(reached(weights, k), want)
        np.testing.assert_array_equal(reached(weights, k, unit), want)


@pytest.mark.parametrize(
    ("weights", "whole"),
    [
        ([1, 2, 3], True),
        ([7.0], True),
        ([1.0, 2.0**40], True),
        ([2.0**80, 2.0**81], True),
        ([1.0, 2.5], False),
        ([0.1, 0.2], False),
        ([0.5, 3.0], False),
        ([1e-30, 2e-30], False),
    ],
)
def test_whole_weights_are_recognised(weights, whole):
    quantum = weight_quantum(max(weights), len(weights))
    assert are_whole(quantised(np.array(weights, dtype=float), quantum), quantum) == whole


def test_sums_are_exact_and_do_not_depend_on_the_order():
    rng = np.random.default_rng(0)
    values = rng.lognormal(sigma=30, size=500)
    exact = sum(map(Fraction, values.tolist()))
    parts = exact_sum(values[:200]) + exact_sum(values[200:])
    assert parts == exact_sum(rng.permutation(values))
    assert rounded(parts) == float(exact)
    assert rounded(exact_sum(np.array([5e-324, 1.0]))) == 1.0
    assert rounded(exact_sum(np.full(3, 1.7e308))) == np.inf


def test_sums_by_code_are_those_of_pythons_integers():
    rng = np.random.default_rng(1)
    codes, values = rng.integers(0, 5, 300), rng.integers(0, 2**53, 300)
    want = [sum(v for c, v in zip(codes, values.tolist(), strict=True) if c == k) for k in range(6)]
    assert integer_sums(codes, values, 6).tolist() == want
    weights = rng.exponential(size=300)
    quantum = weight_quantum(weights.max(), 300)
    sums = weight_sums(codes, weights, 6, quantum)
    np.testing.assert_allclose(sums, np.bincount(codes, weights, 6), rtol=1e-14)
    order = rng.permutation(300)
    np.testing.assert_array_equal(sums, weight_sums(codes[order], weights[order], 6, quantum))
