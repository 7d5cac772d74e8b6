"""PDPs of pairs of features of trees are those of woodelf, which computes them from the leaves in single precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skedasis as sd

pdp = pytest.importorskip("woodelf.pdp")
pd = pytest.importorskip("pandas")
POINTS, SINGLE = 6, 1e-6


@pytest.mark.parametrize(
    ("library", "name", "options"),
    [
        ("lightgbm", "LGBMRegressor", {"n_estimators": 20, "n_jobs": 1, "verbose": -1}),
        ("sklearn.ensemble", "GradientBoostingRegressor", {"n_estimators": 20}),
        ("xgboost", "XGBRegressor", {"n_estimators": 20, "n_jobs": 1}),
    ],
)
def test_pairs(library: str, name: str, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(700, 4)), columns=list("abcd"))
    y = X["a"] * X["b"] + np.sin(3 * X["c"]) + X["d"]
    model = getattr(pytest.importorskip(library), name)(**options).fit(X, y)
    theirs, first, second = pdp.woodelf_pdp_joint(model, X, k=POINTS, verbose=False)
    for (one, other), wanted in theirs.items():
        points = {one: np.unique(first[one, other]), other: np.unique(second[one, other])}
        for heterogeneity in (False, True):
            method = sd.PDP(grid=points, heterogeneity=heterogeneity)
            ours = sd.explain(model, X, (one, other), method=method, tree="force", progress=False)
            i, j = (
                np.searchsorted(points[n], p[one, other])
                for n, p in ((one, first), (other, second))
            )
            np.testing.assert_allclose(
                ours.value[i, j], wanted, rtol=0, atol=SINGLE * np.abs(wanted).max()
            )
