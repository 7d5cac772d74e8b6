"""The kernels of partial dependence, as Python and compiled, against rows sent down every tree one by one."""

from __future__ import annotations

import numpy as np
import pytest

from skedasis.trees import partial_dependence
from skedasis.trees.layout import layout_of, layouts_by_output
from skedasis.trees.partial_dependence import TreePartialDependence
from tests.reference.tree_evaluation import raw_scores
from tests.unit.trees.test_kernels import ROWS, TREES

FEATURES = {"single": [(0,), (1,), (2,)], "grouped": [(0,), (1, 2)]}
WEIGHTS = {"equal": None, "unequal": np.array([1.0, 2, 0.5, 1, 3, 1, 0.25, 1])}


def swept(columns: tuple[int, ...], share: np.ndarray) -> np.ndarray:
    """Return the centred partial dependence of the trees at the columns of each row."""
    found = []
    for row in ROWS:
        X = ROWS.copy()
        X[:, list(columns)] = row[list(columns)]
        found.append(share @ raw_scores(TREES, X)[:, 0])
    return np.array(found) - share @ np.array(found)


@pytest.mark.parametrize(
    ("form", "cells", "weights", "features"),
    [
        ("python", 0, "equal", "single"),
        ("python", 10_000, "unequal", "grouped"),
        ("compiled", 0, "unequal", "grouped"),
        ("compiled", 10_000, "unequal", "single"),
    ],
)
def test_each_feature_each_pair_and_the_rest(
    form: str, cells: int, weights: str, features: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if form == "compiled":
        pytest.importorskip("numba")
    else:
        monkeypatch.setattr(partial_dependence, "compiled", lambda kernel: kernel)
    monkeypatch.setattr(partial_dependence, "_TABLE", cells)
    units, w, n = FEATURES[features], WEIGHTS[weights], len(ROWS)
    share = np.full(n, 1 / n) if w is None else w / w.sum()
    (part,) = layouts_by_output(TREES, layout_of(TREES))
    codes = [part.tests[k].codes(ROWS[:, j]) for k, j in enumerate(part.columns)]
    pairs = [(a, b) for a in range(len(units)) for b in range(a + 1, len(units))]
    got = TreePartialDependence(part, codes, n, units, w, pairs, 1.0)
    got.count(rest=True)

    def near(values: np.ndarray, want: np.ndarray) -> None:
        np.testing.assert_allclose(values - share @ values, want, rtol=0, atol=1e-10)

    single = [swept(unit, share) for unit in units]
    for i, unit in enumerate(units):
        near(got.of(i), single[i])
        others = tuple(j for j in range(ROWS.shape[1]) if j not in unit)
        near(got.values + got.without(i), swept(others, share))
    for a, b in pairs:
        together = swept((*units[a], *units[b]), share) - single[a] - single[b]
        near(got.interaction(a, b), together)
        near(got.interaction(b, a), together)
