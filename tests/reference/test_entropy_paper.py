"""The entropy paper's synthetic experiments (Wood et al. 2024, sections 3.6 and 4.2), and their findings.

Importances are in nats. "About zero" has two meanings here, and each test states which: the interval contains zero, or
the number is small compared with those of features that matter according to the paper.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skedasis as sd
from skedasis.datasets import UNCERTAIN
from skedasis.datasets.uncertainty import NoisyClasses, SharedInformation, SquareBorder
from tests.reference.entropy_paper import (
    Both,
    calibrated_forest,
    covers_zero,
    gaussian_process,
    importances,
    order,
)

pytestmark = pytest.mark.unmeasured  # networks are trained, at length
seeds = pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])

# ------------------------------------------------------------------------------- the true model


@pytest.mark.many
@pytest.mark.parametrize("name", UNCERTAIN)
def test_of_the_truth_the_importances_are_the_closed_forms(name):
    example = UNCERTAIN[name]
    X, y = example.sample(5000, random_state=1)
    found = importances(example.predictive, X, y)
    true = example.likelihood_pfi()
    # Four standard errors: the probability that any of the 60 features here exceeds them is 0.4 %.
    error = found.likelihood.std_error
    assert np.all(np.abs(found.likelihood.mean - true) <= 4 * error)
    assert np.all(error <= 0.05 * true)  # exactly 0 for features that do not matter
    # The noise is constant, so that moving rows cannot change it (Propositions 1 and 2).
    np.testing.assert_array_equal(found.entropy.values, 0)
    assert found.entropy.baseline == pytest.approx(example.entropy(X[:1])[0], rel=1e-12)
    assert found.likelihood.baseline == pytest.approx(example.nll(X, y).mean(), rel=1e-12)


# ------------------------------------------------------------------ section 3.6, classification

# The paper has 500 trees; 60 show the same.
forests = pytest.mark.parametrize(
    ("trees", "seed"), [(60, 0), pytest.param(500, 1, marks=pytest.mark.long)]
)


@cache
def classification(copy_of: int | None, trees: int, seed: int) -> Both:
    """Return the importances of a forest that was fitted on one of the three data sets."""
    X, y, X_test, y_test = NoisyClasses(copy_of=copy_of).split(seed)
    return importances(calibrated_forest(X, y, trees, seed), X_test, y_test, n_repeats=5)


def places(*features: int) -> list[int]:
    """Return the column indices of features that are numbered from 1, as in the paper."""
    return [f - 1 for f in features]


RELEVANT, OTHERS = places(1, 2, 3, 4), places(5, 6, 7, 8, 9, 10)


@pytest.mark.slow
@forests
def test_four_features_matter_equally(trees, seed):
    found = classification(None, trees, seed).likelihood
    assert set(order(found)[:4]) == {"x0", "x1", "x2", "x3"}
    assert found.mean[RELEVANT].min() > 0.7 * found.mean[RELEVANT].max()
    assert np.abs(found.mean[OTHERS]).max() < 0.05 * found.mean[RELEVANT].min()
    # No model exceeds the true importance; this one has learned about half of it.
    true = NoisyClasses().likelihood_pfi()[0]
    assert np.all(found.mean[RELEVANT] > 0.35 * true)
    assert np.all(found.mean[RELEVANT] < true)


@pytest.mark.slow
@forests
def test_without_copies_entropy_tells_nothing(trees, seed):
    alone = classification(None, trees, seed).entropy
    copied = classification(1, trees, seed).entropy
    # All features are independent: Proposition 1. One of ten intervals may miss zero.
    assert covers_zero(alone).sum() >= 9
    assert np.abs(alone.mean).max() < copied.mean[places(1, 10)].min() / 3


@pytest.mark.slow
@forests
def test_a_copy_takes_likelihood_and_brings_entropy(trees, seed):
    copied = classification(1, trees, seed)
    twins, rest = places(1, 10), places(2, 3, 4)
    likelihood, entropy = copied.likelihood.mean, copied.entropy.mean
    assert likelihood[twins].max() < 0.6 * likelihood[rest].min()
    assert likelihood[twins].min() > likelihood[places(5, 6, 7, 8, 9)].max()
    assert set(order(copied.entropy)[:2]) == {"x0", "x9"}
    assert entropy[twins].min() > 2 * np.abs(entropy[places(2, 3, 4, 5, 6, 7, 8, 9)]).max()
    lower, _ = copied.entropy.interval(0.95)
    assert np.all(lower[twins] > 0)
    # The two are equivalent to the forest, except for the random choice of features at each split.
    assert entropy[twins].min() > 0.6 * entropy[twins].max()


@pytest.mark.slow
@forests
def test_a_copy_of_what_does_not_matter_does_little(trees, seed):
    alone, relevant, copied = (classification(c, trees, seed) for c in (None, 1, 5))
    twins = places(5, 10)
    matter = copied.likelihood.mean[RELEVANT].min()
    assert np.abs(copied.likelihood.mean[twins]).max() < 0.05 * matter
    # A small increase over the first data set, and small compared with that of a copy of a relevant feature.
    entropy = copied.entropy.mean[twins]
    assert np.all(entropy > alone.entropy.mean[twins])
    assert np.all(entropy > 2 * np.abs(alone.entropy.mean[OTHERS]).max())
    lower, _ = copied.entropy.interval(0.95)
    assert np.all(lower[twins] > 0)
    assert entropy.max() < relevant.entropy.mean[places(1, 10)].min() / 3


# ---------------------------------------------------------------------- section 3.6, regression

NOISE = (0.1, 0.2, 0.4)
SHARED, LONE, UNUSED = places(1, 2, 3, 4), 4, 5


@cache
def regression(noise: float, seed: int) -> Both:
    """Return the importances of a Gaussian process with one length scale per feature."""
    X, y, X_test, y_test = SharedInformation(noise=noise).split(seed)
    return importances(gaussian_process(X, y, scales=6), X_test, y_test)


@pytest.mark.slow
@seeds
@pytest.mark.parametrize(
    "noise", [pytest.param(n, marks=() if n == 0.4 else pytest.mark.slow) for n in NOISE]
)
def test_what_is_shared_has_entropy_and_what_is_not_has_none(noise, seed):
    found = regression(noise, seed)
    lower, _ = found.entropy.interval(0.95)
    assert np.all(lower[SHARED] > 0)
    assert covers_zero(found.entropy)[LONE]
    assert abs(found.entropy.mean[LONE]) < found.entropy.mean[SHARED].min() / 5
    # The process increases the length scale of x6 until x6 is nearly unused: Proposition 2, almost exactly.
    assert abs(found.entropy.mean[UNUSED]) < 1e-3
    assert abs(found.likelihood.mean[UNUSED]) < 0.02 * found.likelihood.mean[LONE]


@pytest.mark.slow
@seeds
@pytest.mark.parametrize(
    "noise", [pytest.param(n, marks=() if n == 0.4 else pytest.mark.slow) for n in NOISE]
)
def test_sharing_takes_likelihood(noise, seed):
    found, true = regression(noise, seed).likelihood, SharedInformation(noise).likelihood_pfi()
    # The true model uses x1 to x3 and x5 equally. In a fitted model x1 and x2 have about half the importance of
    # x5, unless there is much noise.
    assert np.ptp(true[places(1, 2, 3, 5)]) == 0
    assert found.mean[places(1, 2)].max() < (0.7 if noise < 0.4 else 1.0) * found.mean[LONE]
    # With little noise the unshared feature is first; with more noise x3 may be first, whose square is x4.
    assert order(found)[0] == "x4" or noise == 0.4


@pytest.mark.slow
@seeds
def test_less_noise_makes_both_importances_larger(seed):
    low, middle, high = (regression(noise, seed) for noise in NOISE)
    for less, more in ((low, middle), (middle, high)):
        used = [*SHARED, LONE]
        assert np.all(less.likelihood.mean[used] > 1.5 * more.likelihood.mean[used])
        assert np.all(less.entropy.mean[SHARED] > 1.1 * more.entropy.mean[SHARED])


# ----------------------------------------------------------------------------------- section 4.2

GRID = np.linspace(-1.0, 1.0, 41)
CENTRE, BAND, END = 20, 2, 0
"""Indices on the grid: at 0, in the middle of the left band (-0.9), and at the left end."""


@cache
def border(feature: str, seed: int) -> tuple[np.ndarray, sd.Effect, np.ndarray]:
    """Return the test rows, the Entropy-PDP with all its curves, and the entropies at the rows."""
    X, y, X_test, _ = SquareBorder().split(seed)
    entropy = sd.entropy(gaussian_process(X, y))
    method = sd.PDP(grid=GRID, ice="all")
    effect = sd.explain(entropy, X_test, feature, method=method, progress=False)
    return X_test, effect, entropy.at(X_test)


both_features = pytest.mark.parametrize(("feature", "other"), [("x0", 1), ("x1", 0)])


@seeds
@both_features
def test_entropy_peaks_where_no_row_is(feature, other, seed):
    _, effect, own = border(feature, seed)
    inside = np.abs(GRID) <= 0.8
    peak = np.argmax(np.where(inside, effect.value, -np.inf))
    assert abs(GRID[peak]) < 0.4
    bands = effect.value[[BAND, -1 - BAND]]
    assert effect.value[peak] > bands.max() + 0.15
    # At the ends of the grid there are rows on one side only.
    assert np.all(effect.value[[END, -1]] > bands + 0.02)
    # The entropy at every row is below the peak of the PDP, and well below the peak of the curves.
    assert own.max() < effect.value[peak]
    assert own.max() < effect.curves.value[:, inside].max() - 0.3
    # The entropy at the rows is nearly that of the noise, which the process has estimated.
    assert np.median(own) == pytest.approx(SquareBorder().entropy([[0.0, 1.0]])[0], abs=0.1)


@seeds
@both_features
def test_curves_form_two_groups(feature, other, seed):
    X, effect, _ = border(feature, seed)
    value, far = effect.curves.value, np.abs(X[effect.curves.row, other])
    rise = value[:, CENTRE] - value[:, [BAND, -1 - BAND]].mean(axis=1)
    # Where the other feature is in its band, the row stays on the border for all values of this one.
    assert np.all(rise[far >= 0.8] < 0.1)
    assert np.all(rise[far < 0.5] > 0.4)
    # Towards the ends all curves increase similarly.
    edge = value[:, END] - value[:, BAND]
    assert np.all(edge > 0)
    assert edge.std() < 0.2 * rise.std()


@seeds
def test_importances_cannot_tell_the_two_features_apart(seed):
    X, y, X_test, y_test = SquareBorder().split(seed)
    found = importances(gaussian_process(X, y), X_test, y_test)
    for importance in (found.likelihood, found.entropy):
        lower, upper = importance.interval(0.95)
        assert lower.max() < upper.min()  # the intervals of all features overlap
        assert lower.min() > 0
