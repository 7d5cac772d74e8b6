"""`tree` changes the cost, never the definition: every quantity has the same effects with each setting."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from tests.reference.tree_cases import (
    MODELS,
    grown,
    labels_of,
    quantities,
    rows,
    singles,
    tolerance,
)

METHODS: dict[str, Any] = {
    "ale": "ale",
    "rhale": "rhale",
    "uale": "uale",
    "pdp": sd.PDP(grid=8),
}


def cases(few: set[tuple[str, str]], turns: tuple[int, ...]) -> list[Any]:
    """Return all models with all methods: few in every run, of one model in two one method in the slow one.

    The methods take turns, so that each is compared for several models. The others are in the long run.
    """
    found = []
    for i, case in enumerate(MODELS):
        for k, method in enumerate(METHODS):
            rest = pytest.mark.slow if turns[i % len(turns)] == k else pytest.mark.long
            marks = [] if (case, method) in few else rest
            found.append(pytest.param(case, method, id=f"{case}-{method}", marks=marks))
    return found


def whole(X: np.ndarray) -> np.ndarray:
    """Return the same rows with integer values, some columns with few and some with many."""
    return np.rint(X * [40.0, 0.01, 1.0, 3.0, 2.0])


def explained(quantity: Any, X: Any, y: Any, method: Any, tree: Any) -> list[Any]:
    """Return the effects of all features."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        found = sd.explain(quantity, X, y=y, method=method, tree=tree, progress=False)
    return singles(found)


def unlike(one: Any, other: Any, tol: float) -> list[str]:
    """Return the names of fields that differ by more than a fraction of their largest number."""
    names = ["x", "value", "heterogeneity", "importance", "heterogeneity_score"]
    pairs = {n: (getattr(one, n), getattr(other, n)) for n in names if hasattr(other, n)}
    if other.bins is not None:
        ours, theirs = one.bins, other.bins
        fields = ("left", "right", "count", "effect", "std")
        pairs |= {f"bins.{f}": (getattr(ours, f), getattr(theirs, f)) for f in fields}
    size = np.nanmax(np.abs(other.value))
    narrow = np.diff(other.x).min() if len(other.x) > 1 else 1.0
    found = []
    for name, pair in pairs.items():
        a, b = (np.asarray(values, dtype=float) for values in pair)
        if a.shape != b.shape:
            found.append(f"{name}: shapes {a.shape} and {b.shape}")
            continue
        # In slopes the rounding of values is divided by the width of a bin.
        least = size / narrow if name in ("bins.effect", "bins.std") else size
        scale = max(least, np.nanmax(np.abs(b), initial=0.0))
        if not np.allclose(a, b, rtol=0, atol=tol * scale, equal_nan=True):
            found.append(f"{name}: {np.nanmax(np.abs(a - b)):.3g} of {scale:.3g}")
    return found


def assert_same(case: str, X: Any, method: str) -> None:
    """Assert that all three settings give the same effects of all features, for every quantity of a model."""
    y, tol, wrong = labels_of(case), tolerance(case), []
    for name, quantity in quantities(case).items():
        called = explained(quantity, X, y, METHODS[method], "off")
        # The entropy of a function's distributions is no sum of leaf values: the function is always called.
        walkable = name != "entropy of a method"
        for tree in ("auto", "force") if walkable else ("auto",):
            found = explained(quantity, X, y, METHODS[method], tree)
            for one, other in zip(found, called, strict=True):
                wrong += [f"{name}, {one.feature}, {tree}: {u}" for u in unlike(one, other, tol)]
    assert not wrong, "\n".join(wrong)


FRACTIONS = {("histograms 2", "rhale"), ("xgboost", "pdp")}
WHOLE = {("histograms 2", "ale"), ("xgboost", "uale")}


@pytest.mark.slow
@pytest.mark.parametrize(("case", "method"), cases(FRACTIONS, (0, -1, 1, -1, 2, -1, 3, -1)))
def test_all_settings_give_the_same(case: str, method: str) -> None:
    assert_same(case, grown(case)[1], method)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "method"), cases(WHOLE, (-1, 2, -1, 3, -1, 0, -1, 1)))
def test_all_settings_give_the_same_of_whole_numbers(case: str, method: str) -> None:
    assert_same(case, whole(grown(case)[1]), method)


def test_whole_numbers_have_few_and_many_values() -> None:
    counts = [len(np.unique(column)) for column in whole(rows()).T]
    assert min(counts) < 10
    assert max(counts) > 64
