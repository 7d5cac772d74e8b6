"""Scores of categories, pairs and M-plots: against double loops and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd

LEVELS = 4


def data(seed=0, n=60):
    rng = np.random.default_rng(seed)
    code = np.concatenate(
        [np.arange(LEVELS), rng.choice(LEVELS, n - LEVELS, p=[0.4, 0.3, 0.2, 0.1])]
    )
    return np.c_[code, rng.normal(size=n)], rng.integers(1, 4, n).astype(float)


def bent(X):
    return np.array([0.0, 2.0, -1.0, 3.0])[X[:, 0].astype(int)] * (1 + X[:, 1] ** 2) + X[:, 1]


def test_the_accumulated_std_of_an_ordinal_feature_adds_up_along_its_steps():
    """For q = z * code every step is z: the variances of the rows in its two levels add up (Eq. 16)."""
    X, w = data(1, 400)
    place, z = np.repeat(X, w.astype(int), axis=0).T
    spread = [0.0]
    for k in range(LEVELS - 1):
        both = z[(place == k) | (place == k + 1)]
        spread.append(spread[-1] + both.var(ddof=1))
    ale = sd.explain(
        lambda X: X[:, 0] * X[:, 1], X, 0, method="ale", sample_weight=w, schema={0: "ordinal"}
    )
    np.testing.assert_allclose(ale.accumulated_std, np.sqrt(spread), rtol=1e-12)


def test_the_heterogeneity_of_a_pair_is_the_spread_of_its_double_differences():
    """For q = x0 x1 z the mixed derivative is z: with one cell the double differences are z times its area."""
    X = np.random.default_rng(3).normal(size=(300, 3))

    def model(X):
        return X[:, 0] * X[:, 1] * X[:, 2]

    s = sd.explain(model, X, (0, 1), method=sd.ALE(bins=1))
    x0, x1, z = X.T
    area = np.ptp(x0) * np.ptp(x1)
    np.testing.assert_allclose(s.heterogeneity, area * z.std(ddof=1), rtol=1e-10)
    np.testing.assert_allclose(s.cells.effect, area * z.mean(), rtol=1e-10)


@pytest.mark.parametrize("center", [None, "mean"])
def test_the_figures_of_an_m_plot_are_those_of_groups(center):
    X, w = data(4, 200)
    q, times = bent(X), w.astype(int)
    e = sd.explain(
        bent, X, 0, method=sd.MPlot(center=center), sample_weight=w, schema={0: "nominal"}
    )
    groups = [np.repeat(q[X[:, 0] == k], times[X[:, 0] == k]) for k in range(LEVELS)]
    n = np.array([len(g) for g in groups])
    mean, std = (np.array([f(g) for g in groups]) for f in (np.mean, lambda g: g.std(ddof=1)))
    np.testing.assert_allclose(e.heterogeneity, std, rtol=1e-12)
    whole = np.average(mean, weights=n)
    assert e.importance == pytest.approx(np.sqrt(np.average((mean - whole) ** 2, weights=n)))
    assert np.isnan(e.heterogeneity_score)  # an M-plot changes no feature values
    if center is None:
        np.testing.assert_allclose(e.std_error, std / np.sqrt(n), rtol=1e-12)
        return
    share = n / n.sum()
    scatter = share @ (mean - whole) ** 2 / n.sum()
    error = [
        np.sqrt(np.sum(((np.arange(LEVELS) == k) - share) ** 2 * std**2 / n) + scatter)
        for k in range(LEVELS)
    ]
    np.testing.assert_allclose(e.std_error, error, rtol=1e-12)
