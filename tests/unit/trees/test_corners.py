"""Pairs of trees: corners of rows' cells from lists of leaves, and what all pairs of a batch share."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from skedasis.data.dataset import Dataset
from skedasis.quantities.evaluator import BatchEvaluator
from skedasis.quantities.tree_evaluator import TreeEvaluator
from skedasis.trees import corners
from skedasis.trees.bitset import BitsetEvaluator
from skedasis.trees.corners import CellsOfColumn, CornerLeaves
from skedasis.trees.layout import layout_of, layouts_by_output
from tests.reference.tree_evaluation import raw_scores
from tests.unit.trees.test_kernels import ROWS, TREES

N, D = 3_000, 5


def grown() -> tuple[Any, np.ndarray]:
    boosting = pytest.importorskip("sklearn.ensemble").HistGradientBoostingRegressor
    X = np.random.default_rng(0).normal(size=(N, D))
    X[:, 1] = np.round(X[:, 1])
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) * X[:, 3] + X[:, 4]
    return boosting(max_iter=20, random_state=0).fit(X, y), X


@pytest.mark.parametrize("form", ["python", "compiled"])
def test_the_kernel_against_rows_sent_down_every_tree(form: str, monkeypatch: Any) -> None:
    if form == "compiled":
        pytest.importorskip("numba")
    else:
        monkeypatch.setattr(corners, "compiled", lambda kernel: kernel)
        monkeypatch.setattr("skedasis.trees.partial_dependence.compiled", lambda kernel: kernel)
    X = ROWS[~np.isnan(ROWS[:, [0, 2]]).any(axis=1)]  # column 1 has categories, and a missing value
    (part,) = layouts_by_output(TREES, layout_of(TREES))
    rows = np.stack([part.tests[k].codes(X[:, j]) for k, j in enumerate(part.columns)], axis=1)
    base = TREES.base[0]

    def scores(**changes: np.ndarray) -> np.ndarray:
        moved = X.copy()
        for name, values in changes.items():
            moved[:, int(name[1:])] = values
        return raw_scores(TREES, moved)[:, 0] - base

    own, sides, values, ends = scores(), [], [], []
    for j in (0, 2):
        edges = np.unique(np.quantile(X[:, j], [0, 0.3, 0.7, 1]))
        home = np.clip(np.searchsorted(edges, X[:, j]) - 1, 0, len(edges) - 2)
        k = part.place(j)
        sides.append(CellsOfColumn(k, part.tests[k].codes(edges), home))
        values.append((edges[home], edges[home + 1]))
        ends.append(tuple(scores(**{f"x{j}": v}) - own for v in values[-1]))
    got = CornerLeaves(part).sums(rows, own, (sides[0], sides[1]), (ends[0], ends[1]))
    for s, (over, up) in enumerate(itertools.product((0, 1), (0, 1))):
        want = scores(x0=values[0][up], x2=values[1][over])
        np.testing.assert_allclose(got[s], want, rtol=0, atol=1e-12)


def test_an_interval_within_one_cell_counts_once() -> None:
    """A probability depends on each corner, not only on their second difference, in which such intervals cancel."""
    pytest.importorskip("numba")
    X = np.random.default_rng(0).uniform(-1, 1, (2_000, 2))
    y = np.sin(9 * X[:, 0]) * np.sin(9 * X[:, 1]) > 0
    model = pytest.importorskip("sklearn.ensemble").HistGradientBoostingClassifier(max_iter=10)
    method = sd.ALE(bins=sd.Edges([-1, 0, 1]))
    walked, called = (
        sd.explain(model.fit(X, y), X, (0, 1), method=method, tree=tree, heterogeneity_rows=0)
        for tree in ("force", "off")
    )
    np.testing.assert_allclose(walked.value, called.value, rtol=0, atol=1e-12)


def test_surfaces_have_the_bits_of_replaced_columns(monkeypatch: Any) -> None:
    pytest.importorskip("numba")
    model, X = grown()
    pairs = [(0, 1), (0, 2), (2, 3), (1, 4)]
    found = sd.explain(model, X, pairs, method=sd.ALE(), tree="force")
    monkeypatch.setattr(TreeEvaluator, "corners", BatchEvaluator.corners)
    replaced = sd.explain(model, X, pairs, method=sd.ALE(), tree="force")
    for pair, surface in found.items():
        assert np.array_equal(surface.value, replaced[pair].value)
        other = replaced[pair].heterogeneity
        assert np.array_equal(surface.heterogeneity, other, equal_nan=True)
    assert found.provenance["tree_rows"] == replaced.provenance["tree_rows"] > 0


def test_pairs_share_what_belongs_to_one_feature(monkeypatch: Any) -> None:
    """Each column is read once, and replaced at both ends of its cells once per batch; no batch is evaluated anew."""
    pytest.importorskip("numba")
    model, X = grown()
    counts = {"replaced": 0, "changed": 0, "read": 0}

    def counted(owner: Any, name: str, what: str) -> None:
        of = getattr(owner, name)

        def call(self: Any, *arguments: Any) -> Any:
            counts[what] += 1
            return of(self, *arguments)

        monkeypatch.setattr(owner, name, call)

    counted(BitsetEvaluator, "replaced", "replaced")
    counted(BitsetEvaluator, "changed", "changed")
    counted(Dataset, "column", "read")
    pairs = list(itertools.combinations(range(D), 2))
    sd.explain(model, X, pairs, method=sd.ALE(), tree="force")
    checked = counts["replaced"]  # the trees are verified at mixed rows
    assert counts["changed"] <= 2 * D + checked
    assert counts["read"] == D
    sd.explain(model, X, pairs[:1], method=sd.ALE(), tree="force")
    assert counts["replaced"] == 2 * checked


def test_a_column_in_which_zero_is_missing_is_replaced() -> None:
    """Its codes are not in the order of its values, so that no cell lists the leaves that it decides."""
    pytest.importorskip("numba")
    lightgbm = pytest.importorskip("lightgbm")
    X = np.random.default_rng(0).normal(size=(600, 3))
    X[::3, 0] = 0.0
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2]) * X[:, 1] + (X[:, 0] == 0) * X[:, 2]
    quiet = {"n_estimators": 15, "verbose": -1, "n_jobs": 1, "zero_as_missing": True}
    model = lightgbm.LGBMRegressor(**quiet).fit(X, y)
    pairs = [(0, 1), (1, 2), (0, 2)]
    of_trees, called = (
        sd.explain(model, X, pairs, method=sd.ALE(bins=7), tree=tree) for tree in ("force", "off")
    )
    for pair, surface in of_trees.items():
        scale = np.abs(called[pair].value).max()
        np.testing.assert_allclose(surface.value, called[pair].value, rtol=0, atol=1e-11 * scale)


def test_a_thread_may_add_to_the_cache_of_corners_while_another_counts_it() -> None:
    layout = layout_of(TREES)
    first, second = ({0: np.arange(size, dtype=np.int32)} for size in (2, 3))
    added: list[Any] = []
    counting = iter([True])

    class Counted(np.ndarray[Any, Any]):
        """An array at whose count another grid's corners are found, as in a thread that gets its turn then."""

        def __len__(self) -> int:
            if next(counting, False):
                added.append(layout.corners(second))
            return super().__len__()

    listed, place, sign = layout.corners({1: np.arange(2, dtype=np.int32)})
    layout._corners[()] = listed, place.view(Counted), sign
    found = layout.corners(first)
    assert added
    for points, kept in ((first, found), (second, added[0])):
        for one, other in zip(kept, layout_of(TREES).corners(points), strict=True):
            np.testing.assert_array_equal(one, other)
