"""Bins of integer features whose last edge is the largest value."""

import numpy as np
import pandas as pd
import pytest

import skedasis as sd


@pytest.mark.parametrize("top", [2, 4, 9])
def test_the_largest_whole_number_is_no_bin_of_its_own(top):
    # Local effects vary only for rows with the largest value, so the best partition has an edge right before it.
    rng = np.random.default_rng(0)
    k = rng.integers(0, top + 1, 2000)
    X = pd.DataFrame({"k": k, "z": np.where(k == top, 1.0, 0.01) * rng.normal(size=2000)})

    def model(X):
        return np.where(X["k"] >= top, 9 * X["z"], 0.0) + 1e-3 * X["k"]

    e = sd.explain(model, X, "k", method=sd.RHALE(), progress=False)
    assert (np.diff(e.bins.left) > 0).all()
    assert (e.bins.right > e.bins.left).all()
    assert e.bins.right[-1] == top
    assert e.bins.count.sum() == len(X)
    assert np.isfinite(e.value).all()
