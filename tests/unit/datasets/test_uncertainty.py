"""Examples of the entropy paper: samples and true values against simulation and SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from skedasis import datasets
from skedasis.datasets.uncertainty import NoisyClasses, SharedInformation, SquareBorder

EXAMPLES = [pytest.param(example, id=name) for name, example in datasets.UNCERTAIN.items()]
OTHERS = [
    pytest.param(example, id=repr(example))
    for example in (
        NoisyClasses(noise=0.3),
        SharedInformation(noise=0.5, frequency=0.7, correlation=-0.4, scatter=0.6),
        SquareBorder(noise=1.0, frequency=5.0, band=0.6),
    )
]
every_variant = pytest.mark.parametrize(
    "example",
    [
        pytest.param(*p.values, id=p.id, marks=pytest.mark.slow if k % 2 else ())
        for k, p in enumerate([*EXAMPLES, *OTHERS])
    ],
)
MANY = 200_000


def distribution(example, X):
    """Return the true distribution of the labels as a SciPy distribution."""
    predicted = example.predictive(X)
    if isinstance(predicted, tuple):
        return stats.norm(*predicted)
    return stats.bernoulli(predicted[:, 1])


def log_probability(true, y):
    return true.logpdf(y) if hasattr(true, "logpdf") else true.logpmf(y)


# ------------------------------------------------------------------------------- the rows


@pytest.mark.parametrize("example", [SharedInformation(), SharedInformation(scatter=0.5)])
def test_what_the_features_of_the_regression_share(example):
    X, _ = example.sample(MANY, random_state=2)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=5 / MANY**0.5)
    # The fourth moment of x4 is at most 15, so its variance has a standard error of at most sqrt(14 / n).
    np.testing.assert_allclose(X.var(axis=0), 1, atol=4 * (14 / MANY) ** 0.5)
    correlation = np.corrcoef(X.T)
    expected = np.eye(6)
    expected[0, 1] = expected[1, 0] = example.correlation
    # The product of x3 and x4 has a variance of at most 10.
    np.testing.assert_allclose(correlation, expected, atol=5 * (10 / MANY) ** 0.5)
    # x4 is a quadratic function of x3 plus noise of standard deviation `scatter`.
    curve = np.polynomial.Polynomial.fit(X[:, 2], X[:, 3], 2)
    left = np.std(X[:, 3] - curve(X[:, 2]))
    assert left == pytest.approx(example.scatter, rel=0.01)
    for j in (0, 1, 2, 4, 5):
        assert stats.kstest(X[:, j], "norm").pvalue > 1e-4


# ----------------------------------------------------------------------------- true values
@every_variant
def test_labels_are_drawn_from_the_distribution_that_is_said(example):
    X, y = example.sample(MANY, random_state=5)
    true = distribution(example, X)
    score = (y - true.mean()) / true.std()
    assert np.mean(score) == pytest.approx(0, abs=4.5 / MANY**0.5)
    assert np.mean(score**2) == pytest.approx(1, abs=4.5 * np.std(score**2) / MANY**0.5)
    if true.dist.name == "norm":
        assert stats.kstest(score, "norm").pvalue > 1e-4
    # Residuals are uncorrelated with all features: no feature is missing in the formula.
    for column in X.T:
        assert abs(np.corrcoef(column, score)[0, 1]) < 4.5 / MANY**0.5


def test_the_formulas_by_hand():
    rows = np.full((2, 10), 0.5)
    rows[0, :4] = [0.9, 0.9, 0.2, 0.1]  # 2.1
    rows[1, :4] = [0.9, 0.9, 0.1, 0.05]  # 1.95; the other features would increase it to far above 2
    np.testing.assert_allclose(NoisyClasses().predictive(rows), [[0.1, 0.9], [0.9, 0.1]])
    np.testing.assert_allclose(NoisyClasses(noise=0.25).predictive(rows)[:, 1], [0.75, 0.25])
    row = np.array([[0.1, 0.2, 0.3, 0.4, 0.5, 7.0]])
    mean, std = SharedInformation(noise=0.4).predictive(row)
    assert mean == pytest.approx(sum(math.sin(1.5 * x) for x in (0.1, 0.2, 0.3, 0.4, 0.5)))
    assert std == pytest.approx(0.4)
    mean, std = SquareBorder(frequency=2.0).predictive([[0.9, -0.3]])
    assert mean == pytest.approx(math.sin(1.8) - math.sin(0.6))
    assert std == pytest.approx(0.1)


@every_variant
def test_entropy_and_likelihood_are_scipys(example):
    X, y = example.sample(1000, random_state=6)
    true = distribution(example, X)
    np.testing.assert_allclose(example.entropy(X), true.entropy(), rtol=1e-12)
    np.testing.assert_allclose(example.nll(X, y), -log_probability(true, y), rtol=1e-12)
    assert example.entropy(X).shape == example.nll(X, y).shape == (1000,)


@every_variant
def test_entropy_is_the_mean_negative_log_likelihood(example):
    X, y = example.sample(MANY, random_state=7)
    loss = example.nll(X, y)
    assert loss.mean() == pytest.approx(example.entropy(X[:1])[0], abs=4.5 * loss.std() / MANY**0.5)


@every_variant
def test_likelihood_pfi_is_what_resampling_a_feature_costs(example):
    # Eq. 6 directly: the feature's value comes from an independent donor row.
    X, y = example.sample(MANY, random_state=8)
    donors, _ = example.sample(MANY, random_state=9)
    true = example.likelihood_pfi()
    assert true.shape == (len(example.features),)
    for j in range(len(example.features)):
        moved = X.copy()
        moved[:, j] = donors[:, j]
        rise = log_probability(distribution(example, X), y)
        rise = rise - log_probability(distribution(example, moved), y)
        assert rise.mean() == pytest.approx(true[j], abs=4.5 * rise.std() / MANY**0.5)
        # With this many rows, a deviation of 6 % is detected.
        assert 4.5 * rise.std() / MANY**0.5 <= 0.06 * true[j]
