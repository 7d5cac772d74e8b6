"""Examples of the entropy paper: samples and true values against simulation and SciPy."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from skedasis import datasets
from skedasis.datasets.uncertainty import NoisyClasses, SharedInformation, SquareBorder
from skedasis.errors import DataError
from tests.helpers import refused

EXAMPLES = [pytest.param(example, id=name) for name, example in datasets.UNCERTAIN.items()]
OTHERS = [
    pytest.param(example, id=repr(example))
    for example in (
        NoisyClasses(noise=0.3),
        SharedInformation(noise=0.5, frequency=0.7, correlation=-0.4, scatter=0.6),
        SquareBorder(noise=1.0, frequency=5.0, band=0.6),
    )
]
every_example = pytest.mark.parametrize("example", EXAMPLES)
every_variant = pytest.mark.parametrize("example", [*EXAMPLES, *OTHERS])
few_variants = pytest.mark.parametrize(
    "example",
    [
        pytest.param(*p.values, id=p.id, marks=pytest.mark.slow if k % 2 else [])
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


@every_example
def test_the_splits_are_the_papers(example):
    X, y, X_test, y_test = example.split(random_state=3)
    fitted, tested = example.sizes
    assert X.shape == (fitted, len(example.features))
    assert X_test.shape == (tested, len(example.features))
    assert (len(y), len(y_test)) == example.sizes
    together, labels = example.sample(fitted + tested, random_state=3)
    np.testing.assert_array_equal(np.vstack([X, X_test]), together)
    np.testing.assert_array_equal(np.concatenate([y, y_test]), labels)
    assert example.source
    assert example.name


@every_example
def test_seeds_decide_alone(example):
    (X, y), (again, y_again) = (
        example.sample(50, random_state=1),
        example.sample(50, random_state=1),
    )
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, y_again)
    assert not np.array_equal(X, example.sample(50, random_state=2)[0])
    rng = np.random.default_rng(1)
    np.testing.assert_array_equal(X, example.sample(50, rng)[0])
    assert not np.array_equal(X, example.sample(50, rng)[0])  # the generator has advanced


def test_classes_have_uniform_features():
    X, y = NoisyClasses().sample(MANY, random_state=1)
    for j in range(10):
        assert stats.kstest(X[:, j], "uniform").pvalue > 1e-4
    assert np.max(np.abs(np.corrcoef(X.T) - np.eye(10))) < 5 / MANY**0.5
    assert y.dtype.kind == "i"
    assert set(np.unique(y)) == {0, 1}
    assert y.mean() == pytest.approx(0.5, abs=4 * 0.5 / MANY**0.5)


@pytest.mark.parametrize("copied", [1, 5, np.int64(9)])
def test_a_copy_changes_x10_and_nothing_else(copied):
    X, y = NoisyClasses().sample(500, random_state=4)
    with_copy, labels = NoisyClasses(copy_of=copied).sample(500, random_state=4)
    np.testing.assert_array_equal(with_copy[:, :9], X[:, :9])
    np.testing.assert_array_equal(with_copy[:, 9], X[:, copied - 1])
    np.testing.assert_array_equal(labels, y)


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


@pytest.mark.parametrize("band", [0.05, 0.2, 0.9])
def test_the_border_is_uniform_and_has_nothing_inside(band):
    X, _ = SquareBorder(band=band).sample(MANY, random_state=3)
    far = np.abs(X).max(axis=1)
    assert far.min() >= 1 - band
    assert far.max() <= 1
    # The fraction (r^2 - a^2) / (1 - a^2) of the rows is between the squares of half sides a and r.
    a = 1 - band
    assert stats.kstest(far, lambda r: (r**2 - a**2) / (1 - a**2)).pvalue > 1e-4
    # Rows are uniform along the border of a square: over the eighths of the angle, and along each side.
    eighth = np.floor((np.arctan2(X[:, 1], X[:, 0]) + np.pi) / (np.pi / 4)).astype(int) % 8
    counts = np.bincount(eighth, minlength=8)
    assert stats.chisquare(counts).pvalue > 1e-4
    along = np.abs(X).min(axis=1) / far
    assert stats.kstest(along, "uniform").pvalue > 1e-4


# ----------------------------------------------------------------------------- true values


@pytest.mark.many
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


@pytest.mark.many
@every_variant
def test_entropy_is_the_mean_negative_log_likelihood(example):
    X, y = example.sample(MANY, random_state=7)
    loss = example.nll(X, y)
    assert loss.mean() == pytest.approx(example.entropy(X[:1])[0], abs=4.5 * loss.std() / MANY**0.5)


@pytest.mark.many
@few_variants
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


def test_what_does_not_matter_is_exactly_zero():
    for copied in (None, 1, 5):
        found = NoisyClasses(copy_of=copied).likelihood_pfi()
        np.testing.assert_array_equal(found[4:], np.zeros(6))
        assert np.ptp(found[:4]) == 0
    assert SharedInformation().likelihood_pfi()[5] == 0
    assert np.ptp(SquareBorder().likelihood_pfi()) == 0


def test_less_noise_makes_every_feature_matter_more():
    # The variance of a term does not change and is divided by that of the noise, which is 16 times smaller.
    loud, quiet = SharedInformation(noise=0.4), SharedInformation(noise=0.1)
    np.testing.assert_allclose(quiet.likelihood_pfi(), 16 * loud.likelihood_pfi())


# --------------------------------------------------------------------- use and bad input


@every_example
def test_examples_travel(example):
    again = pickle.loads(pickle.dumps(example))
    assert again == example
    X, y = example.sample(5)
    np.testing.assert_array_equal(again.sample(5)[0], X)
    np.testing.assert_array_equal(again.nll(X.tolist(), y.tolist()), example.nll(X, y))
    assert replace(example, noise=0.3).noise == 0.3


@pytest.mark.parametrize("copied", [0, 10, -1, True, "x1", 1.0])
def test_copies_of_what_is_not_there_are_refused(copied):
    with refused(DataError, "NoisyClasses(copy_of)", repr(copied), "from 1 to 9"):
        NoisyClasses(copy_of=copied)


@pytest.mark.parametrize(
    ("make", "what", "limits"),
    [
        (lambda: NoisyClasses(noise=0.0), "NoisyClasses(noise)", "above 0 and below 0.5"),
        (lambda: NoisyClasses(noise=0.5), "NoisyClasses(noise)", "above 0 and below 0.5"),
        (lambda: SharedInformation(noise=0.0), "SharedInformation(noise)", "above 0"),
        (lambda: SharedInformation(correlation=-1.0), "(correlation)", "above -1 and below 1"),
        (lambda: SharedInformation(scatter=1.0), "SharedInformation(scatter)", "below 1"),
        (lambda: SquareBorder(noise=math.nan), "SquareBorder(noise)", "above 0"),
        (lambda: SquareBorder(band=1.0), "SquareBorder(band)", "above 0 and below 1"),
    ],
)
def test_numbers_out_of_range_are_refused(make, what, limits):
    with refused(DataError, what, limits):
        make()
