"""What results say of the features that they are of."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import skedasis as sd


@pytest.mark.parametrize("weighted", [False, True])
def test_the_standard_deviation_of_levels_is_that_of_their_codes(weighted):
    """By weights as by repeated rows; rows without a level do not count."""
    rng = np.random.default_rng(0)
    names = ["s", "m", "l", "xl"]
    codes = rng.choice(4, 200, p=[0.6, 0.1, 0.1, 0.2])
    missing = rng.random(200) < 0.1
    size = pd.Categorical.from_codes(np.where(missing, -1, codes), names, ordered=True)
    X = pd.DataFrame({"size": size, "x": rng.normal(size=200)})
    w = rng.integers(1, 5, 200) if weighted else np.ones(200, dtype=int)
    e = sd.explain(
        lambda X: X["x"] * X["size"].cat.codes,
        X,
        "size",
        method="ale",
        sample_weight=w if weighted else None,
        heterogeneity_rows=0,
    )
    there = ~missing
    assert e.about.feature_std == pytest.approx(np.repeat(codes[there], w[there]).std(), rel=1e-12)
    assert e.about.missing == missing.sum()
