"""The columns that share most information with a feature, by which rows far from the data are found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from skedasis.results.checks.extrapolation import FeatureSpace


def r_squared(y, x):
    """Return adjusted R² of y by the means of x's tenths, group by group."""
    cuts = np.unique(np.quantile(x, np.arange(1, 10) / 10))
    groups = pd.Series(y).groupby(np.searchsorted(cuts, x, "left"))
    within, total = groups.apply(lambda v: ((v - v.mean()) ** 2).sum()).sum(), np.var(y) * len(y)
    left = within / (len(y) - groups.ngroups)
    return 1 - left / (total / (len(y) - 1)) if total > 1e-12 else 0.0


@pytest.mark.parametrize("seed", range(3))
def test_both_directions_are_those_of_groups_one_after_the_other(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=400)
    frame = pd.DataFrame(
        {
            "x": x,
            "square": x**2 + 0.1 * rng.normal(size=400),
            "few": rng.integers(0, 3, 400).astype(float),
            "missing": np.where(rng.random(400) < 0.2, np.nan, x),
            "constant": 1.0,
            "level": np.where(x > 0.5, "a", np.where(x < 0, "b", "c")),
        }
    )
    space = FeatureSpace.of(frame)
    points = space.points[space.reference]
    for a in range(points.shape[1]):
        expected = [
            max(0.0, r_squared(points[:, a], other), r_squared(other, points[:, a]))
            for other in points.T
        ]
        np.testing.assert_allclose(space._dependence(a), expected, atol=1e-10)
    assert set(space.with_related((0,)).others) == {"square", "missing", "level"}
