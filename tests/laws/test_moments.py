"""Laws of `Moments`, on values with an offset much larger than their deviation, against exact rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce

import numpy as np
import pytest
from hypothesis import strategies as st

from skedasis.stats.moments import Moments
from tests.laws.strategies import law

EPS = np.finfo(float).eps
FIELDS = ("count", "weight", "weight2", "mean", "m2")


@st.composite
def samples(draw):
    """Draw values, their cells and weights: offsets up to 1e9 standard deviations, cells that may stay empty."""
    seed = draw(st.integers(0, 2**32 - 1))
    n = draw(st.integers(1, 60))
    cells = draw(st.integers(1, 6))
    offset = draw(st.sampled_from([0.0, 1.0, -1e5, 1.7e9]))
    scale = draw(st.sampled_from([1e-12, 1.0, 1e12]))
    weighted = draw(st.booleans())
    rng = np.random.default_rng(seed)
    values = (rng.normal(size=n) + offset) * scale
    weights = rng.uniform(0.01, 5, size=n) if weighted else None
    return values, rng.integers(0, cells, size=n), cells, weights


def exactly(values, cell, cells, weights):
    """Return count, weight, squared weight, mean and m2 of each cell, computed with rational numbers."""
    w = np.ones(len(values)) if weights is None else weights
    table = []
    for k in range(cells):
        x = [Fraction(v) for v in values[cell == k]]
        p = [Fraction(v) for v in w[cell == k]]
        total = sum(p, Fraction(0))
        mean = sum((a * b for a, b in zip(x, p, strict=True)), Fraction(0)) / (total or 1)
        m2 = sum((b * (a - mean) ** 2 for a, b in zip(x, p, strict=True)), Fraction(0))
        square = sum((b * b for b in p), Fraction(0))
        table.append([float(v) for v in (len(x), total, square, mean, m2)])
    return Moments(*np.array(table).reshape(cells, 5).T)


def assert_close(got, want, size):
    """Assert equality up to the rounding of a stable algorithm, on values of up to `size`.

    The error of a mean is a few units in the last place of the values. The relative error of a sum of n squared
    deviations is n eps, plus what the mean's error adds: twice the deviation times the error, and the squared error.
    """
    n = want.count.sum() + 10
    for name in ("count", "weight", "weight2"):
        np.testing.assert_allclose(getattr(got, name), getattr(want, name), rtol=n * EPS)
    mean_error = 8 * EPS * size
    np.testing.assert_allclose(got.mean, want.mean, rtol=0, atol=mean_error)
    spread = np.sqrt(want.m2 * want.weight)
    slack = n * EPS * want.m2 + n * (2 * spread * mean_error + want.weight * mean_error**2)
    assert (np.abs(got.m2 - want.m2) <= slack).all()
    assert (got.m2 >= 0).all()


def size_of(sample):
    return np.abs(sample[0]).max()


@law(sample=samples())
def test_moments_are_those_of_exact_arithmetic(sample):
    assert_close(Moments.of(*sample), exactly(*sample), size_of(sample))


@law(sample=samples())
def test_one_cell_of_all_values_is_that_of_exact_arithmetic(sample):
    values, cell, _, weights = sample
    want = exactly(values, np.zeros_like(cell), 1, weights)
    assert_close(Moments.of_one_cell(values, weights), want, size_of(sample))


@law(sample=samples(), parts=st.integers(1, 7))
def test_merging_parts_gives_the_whole(sample, parts):
    values, cell, cells, weights = sample
    pieces = [
        Moments.of(values[i], cell[i], cells, None if weights is None else weights[i])
        for i in np.array_split(np.arange(len(values)), parts)
    ]
    assert_close(reduce(Moments.merge, pieces), exactly(*sample), size_of(sample))


@law(sample=samples())
def test_merging_is_associative_and_commutative(sample):
    values, cell, cells, weights = sample
    a, b, c = (
        Moments.of(values[i], cell[i], cells, None if weights is None else weights[i])
        for i in np.array_split(np.arange(len(values)), 3)
    )
    want = exactly(*sample)
    assert_close(a.merge(b).merge(c), want, size_of(sample))
    assert_close(a.merge(b.merge(c)), want, size_of(sample))
    assert_close(c.merge(a).merge(b), want, size_of(sample))
    for name in FIELDS:
        one, two = getattr(a.merge(b), name), getattr(b.merge(a), name)
        np.testing.assert_allclose(one, two, rtol=1e-13, atol=8 * EPS * np.abs(values).max())


@law(sample=samples())
def test_no_rows_are_neutral(sample):
    moments = Moments.of(*sample)
    zero = Moments.zeros(sample[2])
    for merged in (moments.merge(zero), zero.merge(moments)):
        for name in FIELDS:
            np.testing.assert_array_equal(getattr(merged, name), getattr(moments, name))


@law(sample=samples(), starts=st.sets(st.integers(1, 5)))
def test_pooling_cells_gives_the_moments_of_their_union(sample, starts):
    values, cell, cells, weights = sample
    first = np.array([0, *sorted(s for s in starts if s < cells)])
    union = np.searchsorted(first, cell, side="right") - 1
    got = Moments.of(values, cell, cells, weights).pool(first)
    assert_close(got, exactly(values, union, len(first), weights), size_of(sample))


@law(sample=samples())
def test_curves_are_gathered_point_by_point(sample):
    values, _, _, weights = sample
    curves = np.stack([values, values[::-1] * 0.5, np.full(len(values), values[0])])
    got = Moments.of_curves(curves, weights)
    for i, curve in enumerate(curves):
        alone = exactly(curve, np.zeros(len(curve), dtype=int), 1, weights)
        assert_close(got.take(np.array([i])), alone, size_of(sample))


@law(sample=samples(), ddof=st.sampled_from([0, 1]))
def test_variances_are_those_of_repeated_rows(sample, ddof):
    values, cell, cells, _ = sample
    rng = np.random.default_rng(len(values))
    repeats = rng.integers(1, 4, size=len(values))
    got = Moments.of(values, cell, cells, repeats.astype(float))
    want = Moments.of(np.repeat(values, repeats), np.repeat(cell, repeats), cells)
    np.testing.assert_array_equal(got.weight, want.weight)
    size = np.abs(values).max()
    # The mean's rounding, eps * size, enters a variance as its square.
    near = {"rtol": 1e-9, "atol": 1e3 * (EPS * size) ** 2}
    np.testing.assert_allclose(got.variance(ddof), want.variance(ddof), **near)
    np.testing.assert_array_equal(np.isnan(got.variance(ddof)), got.weight <= 1)


def test_a_mean_of_many_values_is_known_to_their_last_place():
    """Adding 1e6 numbers in sequence rounds a million times; a second pass corrects this."""
    values = 1.7e9 + np.random.default_rng(0).normal(size=1_000_000)
    cell = np.zeros(len(values), dtype=int)
    want = math.fsum(values) / len(values)
    assert abs(Moments.of(values, cell, 1).mean[0] - want) <= np.spacing(want)
    assert abs(Moments.of_curves(values[None, :]).mean[0] - want) <= np.spacing(want)
    spread = math.fsum((values - want) ** 2)
    assert Moments.of(values, cell, 1).m2[0] == pytest.approx(spread, rel=1e-12)
