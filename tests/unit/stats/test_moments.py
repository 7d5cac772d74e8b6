"""Errors and shares of cells are those of repeated rows, and of the textbook formulas for sampling weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from skedasis.stats.moments import Moments, RowMeans, WeightKind

R = np.random.default_rng(0)
X, CELL, W = R.normal(3, 2, 60), R.integers(0, 3, 60), R.integers(1, 5, 60)


def test_errors_of_frequencies_are_those_of_repeated_rows():
    moments = Moments.of(X, CELL, 3, W.astype(float))
    cells = [np.repeat(X[k == CELL], W[k == CELL]) for k in range(3)]
    errors = [x.std(ddof=1) / np.sqrt(len(x)) for x in cells]
    np.testing.assert_allclose(moments.mean_error(), errors, rtol=1e-12)
    np.testing.assert_allclose(moments.share, [len(x) / W.sum() for x in cells], rtol=1e-15)
    assert moments.total_size() == W.sum()
    whole, rows = moments.whole(), np.repeat(X, W)
    np.testing.assert_allclose(whole.mean, [rows.mean()], rtol=1e-13)
    np.testing.assert_allclose(whole.variance(ddof=1), [rows.var(ddof=1)], rtol=1e-12)


def test_errors_of_sampling_weights_use_the_effective_number_of_rows():
    weights = R.uniform(0.2, 3, 60)
    moments = Moments.of(X, CELL, 3, weights)
    for k in range(3):
        x, w = X[k == CELL], weights[k == CELL]
        squares = (w * (x - np.average(x, weights=w)) ** 2).sum()
        variance = squares / (w.sum() - (w**2).sum() / w.sum())
        error = np.sqrt(variance * (w**2).sum() / w.sum() ** 2)
        np.testing.assert_allclose(moments.mean_error(1, "sampling")[k], error, rtol=1e-12)
    size = weights.sum() ** 2 / (weights**2).sum()
    np.testing.assert_allclose(moments.total_size("sampling"), size, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_curves_in_several_blocks_are_those_of_numpy(weighted: bool):
    """70 000 rows of 7 points are more numbers than are processed at a time."""
    rng = np.random.default_rng(3)
    curves, minus = rng.normal(1e6, 2, (7, 70_000)), rng.normal(1e6, 3, 70_000)
    w = rng.integers(1, 5, 70_000).astype(float) if weighted else None
    for less in (None, minus):
        own = curves.copy()
        found = Moments.of_curves(own, w, less)
        np.testing.assert_array_equal(own, curves)
        rows = curves if less is None else curves - less
        whole = rows if w is None else np.repeat(rows, w.astype(int), axis=1)
        np.testing.assert_allclose(found.mean, whole.mean(axis=1), rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(found.variance(1), whole.var(axis=1, ddof=1), rtol=1e-9)


@pytest.mark.parametrize("kind", ["frequency", "sampling"])
@pytest.mark.parametrize("below", [-1, 0, 4])
def test_whole_numbers_have_no_smaller_error_than_the_least(below: int, kind: WeightKind):
    """The smallest variance over all distributions on whole numbers with the mean, by linear programming."""
    numbers = np.arange(-8.0, 12.0)

    def least(mean: float) -> float:
        rows = np.stack([np.ones(20), numbers])
        return float(linprog((numbers - mean) ** 2, A_eq=rows, b_eq=[1.0, mean]).fun)

    means, cell = below + R.uniform(0, 1, 12), np.repeat([0, 1], 6)
    means[6:8] += 1  # no single k is best for the second cell
    w = W[:12].astype(float)
    found = RowMeans.of(means, cell, 2, w, kind).least_error
    squares = w if kind == "frequency" else w**2
    variance = squares * [least(mean) for mean in means]
    exact = [np.sqrt(variance[cell == k].sum()) / w[cell == k].sum() for k in (0, 1)]
    assert found[0] == pytest.approx(exact[0], rel=1e-6)
    assert found[1] < exact[1]
