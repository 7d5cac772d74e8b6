"""Trees with more than 256 leaves are evaluated row by row; the results are those of calling the model."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from skedasis.trees.evaluator import MAX_BITSET_LEAVES
from skedasis.trees.readers import load
from tests.reference.tree_cases import (
    alike,
    categories,
    labels,
    number,
    rows,
    turns,
    with_missing,
)

N = 900
METHODS: dict[str, Any] = {
    "ale": sd.ALE(bins=8),
    "ale uniform": sd.ALE(bins=sd.Uniform(9)),
    "pdp": sd.PDP(grid=9),
    "pdp alone": sd.PDP(grid=9, heterogeneity=False),
    "rhale": sd.RHALE(bins=sd.Optimal(max_bins=9)),
    "pfi": sd.PFI(n_repeats=2),
}
CASES = {
    "forest": ("sklearn.ensemble", "RandomForestRegressor", {"n_estimators": 4}),
    "forest, missing": ("sklearn.ensemble", "RandomForestRegressor", {"n_estimators": 4}),
    "forest, classes": ("sklearn.ensemble", "RandomForestClassifier", {"n_estimators": 10}),
    "forest, outputs": ("sklearn.ensemble", "ExtraTreesRegressor", {"n_estimators": 3}),
    "tree": ("sklearn.tree", "DecisionTreeRegressor", {}),
    "histograms": (
        "sklearn.ensemble",
        "HistGradientBoostingRegressor",
        {"max_iter": 3, "max_leaf_nodes": None, "min_samples_leaf": 1},
    ),
    "lightgbm": (
        "lightgbm",
        "LGBMRegressor",
        {"n_estimators": 3, "num_leaves": 700, "min_child_samples": 1, "n_jobs": 1, "verbose": -1},
    ),
}


@cache
def deep(case: str) -> tuple[Any, np.ndarray]:
    """Return a fitted model of large trees, and its rows."""
    module, name, options = CASES[case]
    X = rows(N)
    y: Any = number(X)
    if "missing" in case or case in ("histograms", "lightgbm"):
        X = with_missing(X)
    if "classes" in case:
        # Random labels cannot be predicted, so trees grow to full depth.
        y = np.random.default_rng(0).permutation(labels(X, 3))
    if "outputs" in case:
        y = np.stack([y, -X[:, 0]], axis=1)
    fixed = {} if module == "lightgbm" else {"random_state": 0}
    model = getattr(pytest.importorskip(module), name)(**fixed, **options).fit(X, y)
    assert load(model).most_leaves > MAX_BITSET_LEAVES
    return model, X


def about(case: str) -> Any:
    """Return the quantity of the model that is explained."""
    model, _ = deep(case)
    if "classes" in case:
        return sd.probability(model, "all")
    return sd.prediction(model, output="all") if "outputs" in case else model


@pytest.mark.parametrize(
    ("case", "method"), turns(CASES, METHODS, "forest", "histograms", "lightgbm")
)
def test_every_method(case: str, method: str) -> None:
    alike(about(case), deep(case)[1], method=METHODS[method])


@pytest.mark.parametrize("case", ["forest", "histograms"])
def test_pairs_weights_groups_and_small_batches(case: str) -> None:
    model, X = deep(case)
    weights = np.arange(len(X)) % 3
    alike(model, X, [(0, 1), (2, 4)], method=sd.ALE(bins=4), sample_weight=weights)
    alike(model, X, (0, 1), method=sd.PDP(grid=4), memory="50KB")
    alike(model, X, method=METHODS["pdp alone"], sample_weight=weights, n_jobs=2)
    alike(model, X, method=sd.PFI(n_repeats=2, groups={"g": [0, 1]}))


def test_votes_of_trees_grown_to_the_end() -> None:
    model, X = deep("forest, classes")
    y = labels(rows(N), 3)
    alike(sd.loss(model, "zero_one"), X, y=y, method=sd.PFI(n_repeats=2))
    alike(sd.entropy(model), X, method=sd.PDP(grid=5))


@pytest.mark.parametrize("case", ["forest", "forest, missing", "tree", "lightgbm"])
def test_the_exact_grid(case: str) -> None:
    model, X = deep(case)
    alone = sd.PDP(grid="exact", heterogeneity=False)
    e = sd.explain(model, X, 0, method=alone, tree="force")
    x = np.random.default_rng(1).choice(X[~np.isnan(X[:, 0]), 0], 25)
    points = np.concatenate([x, np.nextafter(x, np.inf), x.astype(np.float32).astype(float)])
    points = points[(points >= e.x[0]) & (points <= e.x[-1])]
    many = np.tile(X, (len(points), 1))
    many[:, 0] = np.repeat(points, len(X))
    wanted = model.predict(many).reshape(len(points), len(X)).mean(axis=1)
    np.testing.assert_allclose(e(points), wanted, rtol=0, atol=1e-10 * np.abs(wanted).max())


def test_a_mean_of_a_column_that_no_large_tree_tests() -> None:
    model, X = deep("tree")
    wide = np.column_stack([X, np.zeros(len(X))])
    again = type(model)(random_state=0).fit(wide, number(X))
    wide[:, -1] = X[:, 0]
    found = alike(again, wide, 5, method=METHODS["pdp alone"])
    assert np.ptp(found.value) == 0.0


@pytest.mark.slow
def test_categories_in_large_trees() -> None:
    frame, y = categories(600)
    lightgbm = pytest.importorskip("lightgbm")
    easy = {"min_data_per_group": 2, "cat_smooth": 1.0, "min_child_samples": 1, "num_leaves": 600}
    model = lightgbm.LGBMRegressor(n_estimators=2, n_jobs=1, verbose=-1, **easy).fit(frame, y)
    assert load(model).most_leaves > MAX_BITSET_LEAVES
    for name in ("ale", "pdp alone", "pfi"):
        alike(model, frame, method=METHODS[name])
    alike(model, frame.assign(b=0.1), ("a", "c"), method=sd.PDP(grid=4))
