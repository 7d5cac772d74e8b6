"""What verdicts of `experiments/entropy` are based on and no other test covers: its models, and two closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss

import skedasis as sd
from experiments.entropy.models import adam_process, process
from experiments.entropy.networks import dropout_network
from experiments.entropy.propositions import COPIES, RHO, _doubled, joint, pfi, rows


@pytest.mark.slow
def test_adam_ends_where_the_optimum_is():
    pytest.importorskip("gpytorch", reason="gpytorch is not installed")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * [1.0, 300.0]
    y = 50.0 + 20.0 * np.sin(2 * X[:, 0]) + 0.03 * X[:, 1] + rng.normal(size=60)
    new = rng.normal(size=(40, 2)) * [1.0, 300.0]
    mean, deviation = adam_process(X, y, 250)(new)
    expected, spread = process(X, y).predict(new, return_std=True)
    # Only one of the two has a constant mean as a parameter, so they are close, not equal.
    assert np.corrcoef(mean, expected)[0, 1] > 0.999
    np.testing.assert_allclose(deviation, spread, rtol=0.1)


@pytest.mark.slow
def test_without_dropout_all_samples_are_one_network_and_the_noise_is_that_of_its_residuals():
    pytest.importorskip("torch", reason="torch is not installed")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    y = 5.0 + 2.0 * X[:, 0] + 0.5 * rng.normal(size=400)
    found = dropout_network(X, y, seed=0, epochs=20, rate=0.0)
    means = found.means(X)
    np.testing.assert_allclose(means, np.broadcast_to(means[0], means.shape))
    off = (y - means[0])[360:]
    assert found.noise == pytest.approx(np.sqrt(np.mean(off**2)), rel=1e-3)
    mean, deviation = found.normal(X)
    np.testing.assert_allclose(mean, means[0])
    np.testing.assert_allclose(deviation, found.noise)


@pytest.mark.slow
def test_samples_are_networks_with_units_left_out():
    pytest.importorskip("torch", reason="torch is not installed")
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] - X[:, 1]
    few, many = (dropout_network(X, y, seed=0, epochs=30, rate=rate) for rate in (0.05, 0.5))
    assert few.means(X).std(axis=0).mean() < 0.5 * many.means(X).std(axis=0).mean()
    # A sample is the same network for all rows, and in each call.
    np.testing.assert_allclose(many.means(X)[:, :7], many.means(X[:7]), rtol=1e-4, atol=1e-5)
    # Its mixture has the two moments of the normal distribution.
    mean, deviation = many.normal(X)
    np.testing.assert_allclose(sd.prediction(many.mixture()).at(X), mean, atol=1e-6)
    variance = sd.predictive_variance(many.mixture()).at(X)
    np.testing.assert_allclose(np.sqrt(variance), deviation, rtol=1e-6)


def test_naive_bayes_of_copies_is_as_overconfident_as_its_closed_form():
    nodes, weights = hermegauss(80)
    weights = weights / weights.sum()

    def loss(mean: float, variance: float) -> float:
        """Return the mean of log(1 + exp(-s)) over a normal s."""
        return float(weights @ np.logaddexp(0.0, -(mean + np.sqrt(variance) * nodes)))

    # A copy contributes z ~ N(1/2, 1) where the label is 1, as does the other feature: the log odds are their sum.
    before = loss(COPIES / 2 + 0.5, COPIES**2 + 1)
    rest = COPIES - 1
    after = np.mean([loss(rest / 2 + 0.5 + shift, rest**2 + 2) for shift in (-0.5, 0.5)])
    lower, upper = _doubled().interval(0.99)
    # The classifier's means and variances are estimated from 2,000 rows, which also changes its loss slightly.
    assert np.all(lower[:COPIES] - 0.02 <= after - before)
    assert np.all(after - before <= upper[:COPIES] + 0.02)
    assert after - before < -0.1


@pytest.mark.parametrize("seed", [0, 1])
def test_the_joint_entropys_importance_is_minus_the_correlation(seed):
    found = pfi(sd.entropy(joint), rows(4000, seed), seed=seed)
    assert np.all(np.abs(found.mean[1:] + RHO) <= 4 * found.std_error[1:])
    assert found.mean[0] == 0
