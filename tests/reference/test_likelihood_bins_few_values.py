"""Slopes of two groups take two values only; chance makes long runs of equal ones, and these must not become bins.

The correct bins are known: one bin where all rows draw their slopes from the same distribution, otherwise edges where
the distribution or the values change. Rows and slopes are drawn directly; the library only chooses the bins.
"""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd


def bins(x, d):
    """Return RHALE's default bins for given slopes."""
    X = np.column_stack([x, d])
    q = sd.prediction(
        lambda X: X[:, 0] * X[:, 1], slope=lambda X: np.column_stack([X[:, 1], X[:, 0]])
    )
    return sd.explain(q, X, 0, method=sd.RHALE(), progress=False)


@pytest.mark.parametrize(("n", "share"), [(60, 0.5), (200, 0.1), (2000, 0.02)])
def test_chance_runs_of_equal_slopes_make_no_bins(n, share):
    alone = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, n])
        x = np.sort(rng.uniform(size=n))
        d = np.where(rng.random(n) < share, 5.0, 0.0)
        alone += len(bins(x, d).bins.count) == 1
    # 20 of 20 where each value occurs often enough; with one or two of 60 rows, they may be taken as outliers.
    assert alone >= (16 if n * share >= 5 else 12)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_the_introduction_of_rhale_has_one_bin_of_deviation_5(scale):
    one = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        d = scale * rng.choice([-5.0, 5.0], 100)
        e = bins(rng.uniform(-1, 1, 100), d)
        one += len(e.bins.count) == 1
        assert np.average(e.bins.std, weights=e.bins.count) == pytest.approx(5 * scale, rel=0.2)
    assert one >= 28


@pytest.mark.parametrize(
    ("left", "right"), [(0.05, 0.5), (0.0, 0.3), (0.5, 1.0)], ids=["rare, even", "none", "all"]
)
def test_where_the_chance_changes_there_is_an_edge(left, right):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = np.sort(rng.uniform(size=600))
        d = np.where(rng.random(600) < np.where(x < 0.4, left, right), 5.0, 0.0)
        e = bins(x, d)
        assert np.min(np.abs(e.x - 0.4)) < 0.06
        assert len(e.bins.count) <= 4


@pytest.mark.parametrize("n", [60, 500, 5_000])
def test_steps_without_any_noise_are_found_to_the_row(n):
    x = np.sort(np.random.default_rng(n).uniform(size=n))
    d = np.select([x < 0.3, x < 0.45], [1.0, -2.0], 0.5)
    e = bins(x, d)
    assert e.bins.effect == pytest.approx([1.0, -2.0, 0.5])
    assert e.bins.std == pytest.approx([0, 0, 0], abs=1e-12)


def test_a_few_outliers_among_equal_slopes_make_no_bins():
    rng = np.random.default_rng(3)
    d = np.ones(400)
    d[[50, 200, 333]] = 1e4
    assert len(bins(np.sort(rng.uniform(size=400)), d).bins.count) == 1


@pytest.mark.slow
def test_weights_are_repetitions_and_their_unit_does_not_matter():
    q = sd.prediction(
        lambda X: X[:, 0] * X[:, 1], slope=lambda X: np.column_stack([X[:, 1], X[:, 0]])
    )
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x = rng.uniform(size=300)
        X = np.column_stack([x, np.where(rng.random(300) < np.where(x < 0.4, 0.05, 0.5), 5.0, 0.0)])
        w = rng.integers(1, 4, 300)
        weighted = sd.explain(q, X, 0, sample_weight=w, progress=False)
        repeated = sd.explain(q, np.repeat(X, w, axis=0), 0, progress=False)
        np.testing.assert_array_equal(weighted.x, repeated.x)
        shares = [
            sd.explain(q, X, 0, sample_weight=w * unit, weight_kind="sampling", progress=False).x
            for unit in (0.25, 1.0, 8.0)
        ]
        np.testing.assert_array_equal(shares[0], shares[1])
        np.testing.assert_array_equal(shares[2], shares[1])
