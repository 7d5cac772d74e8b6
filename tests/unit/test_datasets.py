"""Synthetic examples: slopes, distributions, and true effects against numerical integration."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from skedasis import datasets
from skedasis.datasets import simulations, synthetic
from skedasis.errors import DataError

EXAMPLES = list(datasets.SYNTHETIC.items())
BOTH_FORMS = [*EXAMPLES, ("correlated_uale", simulations.Correlated(form="uale"))]
FEATURES = [
    pytest.param(example, j, id=f"{name}-x{j + 1}")
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


@pytest.mark.many
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


@pytest.mark.many
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


@pytest.mark.many
@pytest.mark.parametrize(
    ("example", "j"),
    [
        (simulations.Correlated(form="uale"), 0),
        (simulations.Correlated(form="uale"), 1),
        (simulations.Correlated(a1=2.0, a2=0.5, form="uale"), 0),
        (simulations.Correlated(a1=2.0, a2=0.5, form="uale"), 1),
        (simulations.Correlated(), 0),
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


def test_rhales_form_is_continuous_and_uales_jumps():
    edge = np.array([[0.25, 0.25 - 1e-12, 0.0], [0.25, 0.25 + 1e-12, 0.0]])
    assert np.diff(simulations.Correlated().f(edge)) == pytest.approx(0.0, abs=1e-9)
    assert np.diff(simulations.Correlated(form="uale").f(edge)) == pytest.approx(-0.5)


@pytest.mark.parametrize(
    ("name", "mean", "std"),
    [
        ("rhale_introduction", [0, 0, 0], [3**-0.5] * 3),
        # E[x1] = -1/6, E[x1^2] = 1/12.
        ("running_example", [-1 / 6, 0, -1 / 6], [18**-0.5, 2, (1 / 18 + 1e-4) ** 0.5]),
        ("correlated_c", [0.5, 0.5, 0], [12**-0.5, (1 / 12 + 1e-4) ** 0.5, 0.5]),
        ("piecewise_linear", [0.5, 0.5], [12**-0.5, (1 / 12 + 0.5) ** 0.5]),
        ("non_linear", [0.5, 0.5], [12**-0.5, (1 / 12 + 0.5) ** 0.5]),
    ],
)
def test_moments_of_the_samples(name, mean, std):
    n = 200_000
    X = datasets.SYNTHETIC[name].sample(n, random_state=5)
    std = np.asarray(std)
    assert np.all(np.abs(X.mean(axis=0) - mean) < 5 * std / n**0.5)
    # For these, the standard error of a sample standard deviation is at most that of a normal sample.
    assert np.all(np.abs(X.std(axis=0) - std) < 5 * std / (2 * n) ** 0.5)


def test_noise_of_the_correlated_features():
    for name, column in (("running_example", 2), ("correlated_a", 1)):
        X = datasets.SYNTHETIC[name].sample(20_000, random_state=6)
        assert np.std(X[:, column] - X[:, 0]) == pytest.approx(0.01, rel=0.03)
    X = synthetic.RunningExample().sample(20_000, random_state=7)
    assert np.mean(X[:, 0] < 0) == pytest.approx(5 / 6, abs=0.015)


def test_samples_depend_on_the_seed_alone():
    for _, example in EXAMPLES:
        X = example.sample(50, random_state=9)
        np.testing.assert_array_equal(X, example.sample(50, random_state=9))
        assert not np.array_equal(X, example.sample(50, random_state=10))
        assert X.shape == (50, len(example.features))
        rng = np.random.default_rng(9)
        assert not np.array_equal(example.sample(50, rng), example.sample(50, rng))


def test_examples_take_frames_travel_and_know_their_names():
    example = synthetic.RunningExample()
    X = example.sample(30)
    frame = pd.DataFrame(X, columns=list(example.features))
    np.testing.assert_array_equal(example.f(frame), example.f(X))
    np.testing.assert_array_equal(example.slope(frame), example.slope(X))
    slope = pickle.loads(pickle.dumps(example.slope))
    np.testing.assert_array_equal(slope(X), example.slope(X))
    assert all(example.source and example.name for _, example in EXAMPLES)
    np.testing.assert_array_equal(
        example.true_effect("x2", X[:, 1]), example.true_effect(1, X[:, 1])
    )


@pytest.mark.parametrize("feature", ["x4", 3, -1, None])
def test_unknown_features_are_named(feature):
    with pytest.raises(DataError, match=r"expected a position below 3 or one of \['x1'"):
        synthetic.RunningExample().true_effect(feature, [0.0])


def test_integral_in_the_far_tails():
    # The density of x2 is tiny there; its logarithm must stay precise on both sides.
    example = simulations.PiecewiseLinear()
    slope = np.diff(example.true_effect("x2", [-6.0, -5.999, 6.999, 7.0]))[[0, 2]] / 0.001
    # E[x1 | x2] tends to 0 on the left and to 1 on the right, by symmetry at the same rate.
    assert 0.0 < slope[0] < 0.1
    assert slope[0] + slope[1] == pytest.approx(1.0, abs=1e-6)


def test_import_is_cheap():
    code = (
        "import sys, skedasis.datasets;"
        "print(sorted({'pandas', 'sklearn', 'scipy', 'urllib.request'} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
