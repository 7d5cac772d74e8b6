"""Bins by penalized likelihood of a constant effect: one bin. For the papers' cases see `experiments/uale`."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from tests.long.figures import long_case
from tests.reference.likelihood_partitions import slopes_as_given

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("runs", [50, long_case(200)])
@pytest.mark.parametrize("n", [60, 500, 5000])
def test_a_constant_effect_is_one_bin(n, runs, measured):
    """In 95 % of runs, less two standard errors for 200 runs."""
    one = 0
    for seed in range(runs):
        rng = np.random.default_rng([n, seed])
        e = slopes_as_given(
            rng.uniform(size=n), 1.0 + rng.normal(size=n), sd.Optimal(criterion="likelihood")
        )
        one += len(e.bins) == 1
    about = {"draws": runs, "rows": n, "seed": "[n, seed]"}
    measured("one bin", one / runs, **about, low=0.95 - 2 * np.sqrt(0.05 * 0.95 / 200))


@pytest.mark.parametrize("n", [60, 500, 5000])
def test_a_constant_effect_is_never_worse_than_by_eq13(n):
    risk, eq13 = [], []
    for seed in range(40):
        rng = np.random.default_rng([n, seed])
        x, d = rng.uniform(size=n), 1.0 + rng.normal(size=n)
        e = slopes_as_given(x, d, sd.Optimal(criterion="likelihood"))
        for kept, made in ((risk, e), (eq13, e.rebin(sd.Optimal(40, 0.2, 10, criterion="eq13")))):
            width = made.bins.right - made.bins.left
            tilt = np.abs(made.bins.slope_change) * width / 4
            kept.append(np.average(np.maximum(np.abs(made.bins.effect - 1.0), tilt), weights=width))
    assert np.mean(risk) <= 1.02 * np.mean(eq13)
