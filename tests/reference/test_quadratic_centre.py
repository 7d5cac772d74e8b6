"""Where slopes are linear within a bin, curves are centered by the curve's exact mean; std_error includes its error."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd


def _squares(scatter: float):
    """Return x² with an interaction that varies the slopes at given x."""

    def slope(X):
        return np.c_[2 * X[:, 0] + scatter * X[:, 1], scatter * X[:, 0]]

    return sd.prediction(lambda X: X[:, 0] ** 2 + scatter * X[:, 0] * X[:, 1], slope=slope)


def _even(n: int) -> np.ndarray:
    return np.c_[(np.arange(n) + 0.5) / n, np.zeros(n)]


def test_the_mean_of_a_parabola_is_zero_and_not_that_of_its_ends():
    X = _even(1000)
    e = sd.explain(_squares(0.0), X, 0, progress=False)
    assert len(e.bins) == 1
    # x² minus its mean over [0, 1], which is 1/3.
    grid = X[1:-1:50, 0]
    np.testing.assert_allclose(e(grid), grid**2 - 1 / 3, atol=1e-3)
    assert e(X[:, 0]).mean() == pytest.approx(0.0, abs=1e-3)


def test_weights_are_repetitions_for_the_centre_too():
    rng = np.random.default_rng(1)
    X = np.c_[rng.uniform(size=200), rng.normal(size=200)]
    w = rng.integers(1, 4, 200).astype(float)
    q = _squares(0.2)
    one = sd.explain(q, X, 0, sample_weight=w, progress=False)
    two = sd.explain(q, np.repeat(X, w.astype(int), axis=0), 0, progress=False)
    np.testing.assert_allclose(one.value, two.value, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(one.std_error, two.std_error, rtol=1e-10)


def test_an_ale_that_bends_is_centred_over_its_cells():
    X = _even(1000)
    method = sd.ALE(bins=sd.Optimal(criterion="likelihood"))
    e = sd.explain(lambda X: X[:, 0] ** 2, X, 0, method=method, progress=False)
    assert np.any(e.bins.slope_change)
    assert e(X[:, 0]).mean() == pytest.approx(0.0, abs=2e-3)


@pytest.mark.slow
def test_errors_are_those_of_simulated_data():
    values, errors = [], []
    for seed in range(500):
        rng = np.random.default_rng([7, seed])
        X = np.c_[rng.uniform(size=200), rng.normal(size=200)]
        X[:2, 0] = 0.0, 1.0  # so that all curves have the same ends
        e = sd.explain(_squares(1.0), X, 0, heterogeneity_rows=0, progress=False)
        if len(e.bins) == 1 and e.bins.slope_change[0]:
            values.append(e.value)
            errors.append(e.std_error)
    assert len(values) > 450
    ratio = np.sqrt(np.mean(np.square(errors), axis=0)) / np.std(values, axis=0)
    np.testing.assert_allclose(ratio, 1.0, atol=0.12)  # 500 draws estimate a deviation to 3 %
