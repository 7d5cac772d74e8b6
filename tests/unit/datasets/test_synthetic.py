"""Synthetic examples: slopes, distributions, and true effects against numerical integration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from skedasis import datasets
from skedasis.datasets import simulations

EXAMPLES = list(datasets.SYNTHETIC.items())
BOTH_FORMS = [*EXAMPLES, ("correlated_uale", simulations.Correlated(form="uale"))]
FEATURES = [
    pytest.param(example, j, id=f"{name}-x{j + 1}", marks=pytest.mark.slow if j else ())
    for name, example in BOTH_FORMS
    for j in range(len(example.features))
]


def without_noise(example):
    """Return the example with noise near 0, the limit for which its true effect holds."""
    return replace(example, noise=1e-6) if hasattr(example, "noise") else example


def inside(X, j):
    """Return uniform edges over the central 98 % of a feature, and the rows in that range."""
    low, high = np.quantile(X[:, j], [0.01, 0.99])
    kept = X[(X[:, j] >= low) & (X[:, j] < high)]
    return np.linspace(low, high, 401), kept


def in_bins(edges, x, d):
    """Return the count, the mean and the unbiased variance of d in each bin."""
    k = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
    count = np.bincount(k, minlength=len(edges) - 1)
    mean = np.bincount(k, d, minlength=len(edges) - 1) / count
    variance = np.bincount(k, (d - mean[k]) ** 2, minlength=len(edges) - 1) / (count - 1)
    return count, mean, variance


@pytest.mark.parametrize(("name", "example"), BOTH_FORMS)
def test_slopes_are_the_derivatives_of_f(name, example):
    X = example.sample(2000, random_state=3)
    step = 1e-6  # so small that it crosses no kink or jump at the rows of this seed
    for j in range(X.shape[1]):
        up, down = X.copy(), X.copy()
        up[:, j] += step
        down[:, j] -= step
        numeric = (example.f(up) - example.f(down)) / (up[:, j] - down[:, j])
        np.testing.assert_allclose(example.slope(X)[:, j], numeric, atol=1e-7)


@pytest.mark.parametrize(("example", "j"), FEATURES)
def test_true_effect_is_the_accumulated_mean_slope(example, j):
    example = without_noise(example)
    edges, X = inside(example.sample(400_000, random_state=1), j)
    count, mean, variance = in_bins(edges, X[:, j], example.slope(X)[:, j])
    widths = np.diff(edges)
    estimate = np.concatenate([[0.0], np.cumsum(mean * widths)])
    truth = example.true_effect(j, edges)
    # Five standard errors of the sum, plus 1e-4 because rows are not uniform within a bin.
    allowed = 5.0 * np.sqrt(np.sum(widths**2 * variance / count)) + 1e-4
    assert np.max(np.abs(estimate - (truth - truth[0]))) < allowed
    # The sample is large enough: the tolerance is below 1 % of the range, for slopes with a standard deviation of 1.
    assert allowed < 0.01 * np.ptp(edges) * (1.0 + np.max(example.true_std(j, edges)))


@pytest.mark.parametrize(("example", "j"), FEATURES)
def test_true_std_is_the_scatter_of_slopes_at_one_point(example, j):
    example = without_noise(example)
    edges, X = inside(example.sample(400_000, random_state=2), j)
    _, mean, variance = in_bins(edges, X[:, j], example.slope(X)[:, j])
    expected = example.true_std(j, (edges[1:] + edges[:-1]) / 2)
    # Where the mean slope changes within a bin, the variance in the bin exceeds that at a point: skip these bins.
    steady = np.abs(np.gradient(mean)) < 0.1 + 0.5 * expected
    for third in np.array_split(np.arange(400), 3):
        chosen = third[steady[third]]
        found = np.sqrt(np.mean(variance[chosen]))
        assert found == pytest.approx(np.sqrt(np.mean(expected[chosen] ** 2)), rel=0.02, abs=1e-6)


@pytest.mark.parametrize(
    ("example", "j"),
    [
        (simulations.Correlated(form="uale"), 0),
        (simulations.Correlated(a1=2.0, a2=0.5, form="uale"), 1),
        (simulations.PiecewiseLinear(), 0),
    ],
)
def test_differences_see_the_jumps(example, j):
    # Bins are narrower than the noise: only then does the bin of a jump contain rows from both sides of it.
    edges = np.linspace(0.02, 0.98, 385)
    X = example.sample(1_000_000, random_state=4)
    X = X[(X[:, j] >= edges[0]) & (X[:, j] < edges[-1])]
    k = np.searchsorted(edges, X[:, j], side="right") - 1
    low, high = X.copy(), X.copy()
    low[:, j], high[:, j] = edges[k], edges[k + 1]
    count, mean, variance = in_bins(edges, X[:, j], example.f(high) - example.f(low))
    estimate = np.concatenate([[0.0], np.cumsum(mean)])
    truth = example.true_effect(j, edges, jumps=True)
    # For x1, noise spreads a jump over 0.01 * a2 / (a1 + a2), so its neighborhood is excluded.
    smear = 0.13 if isinstance(example, simulations.Correlated) else 0.0
    away = np.all([np.abs(edges - b) > smear / 2 for b in example.breaks], axis=0)
    allowed = 5.0 * np.sqrt(np.sum(variance / count)) + 1e-3
    assert np.max(np.abs(estimate - (truth - truth[0]))[away]) < allowed
    assert allowed < 0.06


def test_the_papers_pieces():
    x = np.array([0.0, 0.1, 0.25, 0.4, 0.5, 0.8])
    equal = simulations.Correlated()
    np.testing.assert_allclose(equal.true_effect("x1", x), [0, 0.1, 0.25, 0.1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(equal.true_effect("x2", x), equal.true_effect("x1", x))
    # The UALE form, including its jumps, equals 1/4 - x in the middle, as in the papers.
    uale = replace(equal, form="uale")
    np.testing.assert_allclose(uale.true_effect(0, [0.3, 0.4, 0.6], jumps=True), [-0.05, -0.15, 0])
    np.testing.assert_array_equal(uale.true_effect(0, x), equal.true_effect(0, x))
    unequal = simulations.Correlated(a1=2.0, a2=0.5)
    np.testing.assert_allclose(unequal.true_effect(0, [0.1, 0.3, 0.5]), [0.2, 0.2, 0.0])
    np.testing.assert_allclose(unequal.true_effect(1, [0.1, 0.3, 0.5]), [0.05, 0.05, 0.0])
    case_c = datasets.SYNTHETIC["correlated_c"]
    np.testing.assert_allclose(case_c.true_effect("x3", [-1.0, 1.0]), [-0.5, 0.5])
    assert case_c.true_std("x3", [0.0]) == pytest.approx(0.2887, abs=1e-4)
