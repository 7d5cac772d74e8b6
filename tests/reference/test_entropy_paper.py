"""Importances of the entropy paper's synthetic examples (Wood et al. 2024) against closed forms, in nats.

The findings on fitted models are in `experiments/entropy`.
"""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from skedasis.datasets import UNCERTAIN


@pytest.mark.parametrize("name", UNCERTAIN)
def test_of_the_truth_the_importances_are_the_closed_forms(name):
    example = UNCERTAIN[name]
    X, y = example.sample(5000, random_state=1)
    q = example.predictive
    likelihood = sd.explain(sd.nll(q), X, y=y, method=sd.PFI(n_repeats=10), progress=False)
    entropy = sd.explain(sd.entropy(q), X, method=sd.PFI(n_repeats=10), progress=False)
    true = example.likelihood_pfi()
    # Four standard errors: the probability that any of the 60 features here exceeds them is 0.4 %.
    error = likelihood.std_error
    assert np.all(np.abs(likelihood.mean - true) <= 4 * error)
    assert np.all(error <= 0.05 * true)  # exactly 0 for features that do not matter
    # The noise is constant, so that moving rows cannot change it (Propositions 1 and 2).
    np.testing.assert_array_equal(entropy.values, 0)
    assert entropy.baseline == pytest.approx(example.entropy(X[:1])[0], rel=1e-12)
    assert likelihood.baseline == pytest.approx(example.nll(X, y).mean(), rel=1e-12)
