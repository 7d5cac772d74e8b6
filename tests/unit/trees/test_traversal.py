"""Traversal of large trees: against evaluation of altered rows, against bitsets, and without compilation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import skedasis as sd
from skedasis import _compilation as compilation
from skedasis._types import Floats
from skedasis.trees import evaluator, traversal, traversal_kernels
from skedasis.trees.bitset import BitsetEvaluator, pack_tests
from skedasis.trees.ensemble import Ensemble
from skedasis.trees.layout import TreeLayout, layout_of, layouts_by_output
from skedasis.trees.readers import load
from skedasis.trees.traversal import TraversalEvaluator
from tests.reference.tree_evaluation import raw_scores

pytest.importorskip("numba")
EDGES = np.array([-np.inf, -1.0, 0.0, 0.5, 1.0, 2.0, np.inf, np.nan])
"""Values on, below, between and above the thresholds of `drawn`, and none."""


def drawn(seed: int, *, trees: int = 5, depth: int = 6, kinds: str = "nnc") -> Ensemble:
    """Return random trees: some tests pass all known categories, missing values go left or right, breadth first.

    The kind of a column is n for numbers, c for categories, and u for a column that is never tested.
    """
    rng = np.random.default_rng(seed)
    tested = [j for j, kind in enumerate(kinds) if kind != "u"]
    nodes: list[list[Any]] = []
    roots = [0]
    for _ in range(trees):
        waiting = [(len(nodes), 0)]
        nodes.append([])
        while waiting:
            q, level = waiting.pop(0)
            if level == depth or not tested or rng.random() < 0.15:
                nodes[q] = [-1, 0.0, -1, -1, False, -1, rng.normal()]
                continue
            j, left = int(rng.choice(tested)), len(nodes)
            named = kinds[j] == "c"
            cut = 0.0 if named else rng.choice([-1.0, 0.0, 1.0])
            place = int(rng.integers(4)) if named else -1
            nodes[q] = [j, cut, left, left + 1, bool(rng.integers(2)), place, 0.0]
            nodes += [[], []]
            waiting += [(left, level + 1), (left + 1, level + 1)]
        roots.append(len(nodes))
    feature, threshold, left, right, missing, category, value = map(
        np.array, zip(*nodes, strict=True)
    )
    return Ensemble(
        feature=feature.astype(np.int32),
        threshold=threshold,
        left=left.astype(np.int32),
        right=right.astype(np.int32),
        missing_left=missing,
        category=category.astype(np.int32),
        sets=[np.array(some) for some in ([0], [1, 3], [0, 1, 2, 3], [2])],
        value=value,
        output=np.zeros(trees, np.int32),
        base=np.zeros(1),
        roots=np.array(roots),
        columns=len(kinds),
        known={j: np.arange(4) for j, kind in enumerate(kinds) if kind == "c"},
    )


def rows_for(ensemble: Ensemble, n: int, seed: int = 0) -> Floats:
    """Return rows of numbers around the thresholds, known and unknown categories, and missing values."""
    rng = np.random.default_rng(seed)
    X = rng.choice(EDGES, size=(n, ensemble.columns))
    for j in ensemble.known:
        X[:, j] = rng.choice([0.0, 1.0, 2.0, 3.0, 7.0, np.nan], size=n)
    return X


class Both:
    """The traversal evaluator of trees on rows, and its reference: the evaluation of altered rows."""

    def __init__(self, ensemble: Ensemble, X: Floats, output: int = 0) -> None:
        self.ensemble, self.X, self.output = ensemble, X, output
        self.shape: TreeLayout = layouts_by_output(ensemble, layout_of(ensemble))[output]
        self.walked = TraversalEvaluator(self.shape, len(X), self.codes(X))

    def codes(self, X: Floats) -> Any:
        """Return the codes of the tested columns, shape (columns, n)."""
        tests, columns = self.shape.tests, self.shape.columns
        every = [t.codes(X[:, j]) for t, j in zip(tests, columns, strict=True)]
        return np.array(every, np.int32).reshape(len(every), len(X))

    def code(self, k: int, x: Any) -> Any:
        """Return the codes of some values of a column."""
        return self.shape.tests[k].codes(np.asarray(x, float))

    def at(self, changes: dict[int, Any]) -> Floats:
        """Return the sums at the rows with columns replaced, from evaluating every altered row."""
        altered = self.X.copy()
        for k, x in changes.items():
            altered[:, self.shape.columns[k]] = x
        raw = raw_scores(self.ensemble, altered)[:, self.output]
        return raw - self.ensemble.base[self.output]


def check(both: Both, points: Floats, seed: int = 3) -> None:
    """Compare all methods of the traversal evaluator with the evaluation of altered rows."""
    rng, n = np.random.default_rng(seed), len(both.X)
    same = {"rtol": 1e-12, "atol": 1e-12 * max(1.0, float(np.abs(both.at({})).max(initial=0.0)))}
    np.testing.assert_allclose(both.walked.own(), both.at({}), **same)
    for k in range(len(both.shape.columns)):
        own = both.X[:, both.shape.columns[k]]
        pool = np.concatenate([points, own])
        low, high = rng.choice(pool, n), rng.choice(pool, n)
        a, b = both.at({k: low}), both.at({k: high})
        found = both.walked.changed(k, both.code(k, high))
        np.testing.assert_allclose(found, b - both.at({}), **same)
        found = both.walked.between(k, both.code(k, low), both.code(k, high))
        np.testing.assert_allclose(found, b - a, **same)
        curves = both.walked.curves({k: both.code(k, points)})
        expected = np.stack([both.at({k: x}) for x in points])
        np.testing.assert_allclose(curves, expected, **same)
        totals = both.walked.totals({k: both.code(k, points)})
        np.testing.assert_allclose(totals, expected.sum(axis=1), rtol=1e-11, atol=n * same["atol"])


# ---------------------------------------------------------------------------- against altered rows


@pytest.mark.parametrize(
    ("kinds", "seed"), [("n", 0), ("c", 1), ("nn", 2), ("nnc", 3), ("ncu", 4), ("cnnn", 5)]
)
def test_random_trees(kinds: str, seed: int) -> None:
    """Numbers and categories, missing and unknown values, and points on thresholds, unsorted and repeated."""
    ensemble = drawn(seed, kinds=kinds)
    points = np.array([1.0, np.nan, -1.0, 0.3, 0.0, 1.0, 2.0, np.inf, -np.inf, 7.0])
    check(Both(ensemble, rows_for(ensemble, 23, seed)), points)


@pytest.mark.parametrize(
    "points", [[0.0], [0.5, 0.5, 0.5], [np.nan], [np.nan, np.nan], [-1.0, 1.0]]
)
def test_points_that_are_few_or_equal(points: list[float]) -> None:
    ensemble = drawn(11)
    check(Both(ensemble, rows_for(ensemble, 9)), np.array(points))


@pytest.mark.parametrize("n", [1, traversal_kernels.SIDE - 1, traversal_kernels.SIDE + 1])
def test_batches_of_any_size(n: int) -> None:
    ensemble = drawn(2, trees=2, depth=4)
    check(Both(ensemble, rows_for(ensemble, n)), np.array([0.0, 0.7]))


@pytest.mark.parametrize("n", [1, 3])
def test_few_rows_start_from_the_roots(n: int) -> None:
    ensemble = drawn(1, trees=2, depth=10)
    assert (np.diff(ensemble.roots) >= n * traversal_kernels.MANY).all()
    check(Both(ensemble, rows_for(ensemble, n)), np.array([0.7, 0.0, np.nan]))


def test_no_rows() -> None:
    both = Both(drawn(3), np.empty((0, 3)))
    none = np.zeros(0, np.int32)
    assert both.walked.own().shape == both.walked.changed(0, none).shape == (0,)
    assert both.walked.curves({0: np.arange(2, dtype=np.int32)}).shape == (2, 0)
    assert both.walked.totals({0: np.arange(2, dtype=np.int32)}).tolist() == [0.0, 0.0]


def test_trees_of_one_leaf() -> None:
    """Alone, and in an ensemble with larger trees: no column is tested, so nothing changes."""
    alone = Both(drawn(0, trees=3, depth=0), np.zeros((4, 3)))
    assert alone.shape.columns == ()
    np.testing.assert_allclose(alone.walked.own(), alone.at({}), rtol=1e-12)
    mixed = drawn(5, trees=12, depth=2)
    assert (np.diff(mixed.roots) == 1).any()
    check(Both(mixed, rows_for(mixed, 12)), np.array([0.0, 2.0]))


@pytest.mark.parametrize("seed", range(3))
def test_replaced_columns_are_as_rows_that_have_these_values(seed: int) -> None:
    ensemble = drawn(seed)
    both = Both(ensemble, rows_for(ensemble, 31))
    before = both.walked.own().copy()
    first, last = rows_for(ensemble, 31, 7)[:, 0], rows_for(ensemble, 31, 8)[:, 2]
    there = both.walked.replaced({0: both.code(0, first), 2: both.code(2, last)})
    np.testing.assert_allclose(there.own(), both.at({0: first, 2: last}), rtol=1e-12, atol=1e-12)
    again = there.changed(1, both.code(1, np.full(31, 0.5)))
    expected = both.at({0: first, 2: last, 1: 0.5}) - both.at({0: first, 2: last})
    np.testing.assert_allclose(again, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(both.walked.own(), before)
    np.testing.assert_array_equal(both.walked.changed(0, both.code(0, both.X[:, 0])), 0.0)


def test_a_row_that_stays_in_its_leaves_does_not_change_at_all() -> None:
    """Not even by rounding: leaf values are added and subtracted in the same precision."""
    ensemble = drawn(4, kinds="nn", trees=30)
    both = Both(ensemble, rows_for(ensemble, 40))
    between = both.walked.between(0, both.code(0, np.full(40, 0.2)), both.code(0, np.full(40, 0.9)))
    np.testing.assert_array_equal(between, 0.0)
    curves = both.walked.curves({0: both.code(0, [0.2, 0.9])})
    np.testing.assert_array_equal(curves[0], curves[1])


def test_many_points_on_one_path() -> None:
    """A chain of 200 tests of one column, each in the right branch of the test before."""
    stairs = 200
    inner = np.arange(stairs) * 2
    feature = np.full(2 * stairs + 1, -1, np.int32)
    feature[inner] = 0
    left, right = np.full(len(feature), -1, np.int32), np.full(len(feature), -1, np.int32)
    left[inner], right[inner] = inner + 1, inner + 2
    threshold, value = np.zeros(len(feature)), np.zeros(len(feature))
    threshold[inner] = np.arange(stairs)
    value[feature < 0] = np.arange(stairs + 1.0)
    blank = np.zeros(len(feature), bool)
    ensemble = Ensemble(
        feature=feature, threshold=threshold, left=left, right=right, missing_left=blank,
        category=np.full(len(feature), -1, np.int32), sets=[], value=value, columns=1,
        output=np.zeros(1, np.int32), base=np.zeros(1), roots=np.array([0, len(feature)]),
    )  # fmt: skip
    both = Both(ensemble, np.linspace(-5.0, 250.0, 700)[:, None])
    points = np.arange(-2.0, 205.0, 0.5)
    expected = np.clip(np.ceil(points), 0, stairs)
    curves = both.walked.curves({0: both.code(0, points)})
    np.testing.assert_array_equal(curves, np.broadcast_to(expected[:, None], curves.shape))
    own = np.clip(np.ceil(both.X[:, 0]), 0, stairs)
    np.testing.assert_array_equal(
        both.walked.changed(0, both.code(0, both.X[::-1, 0])), own[::-1] - own
    )


# ------------------------------------------------------------------------------ trees of libraries


def _with_gaps(n: int = 300) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4))
    X[:, 3] = rng.integers(0, 6, n)
    y = (
        np.sin(2 * X[:, 0])
        + X[:, 1] * X[:, 2]
        + np.isin(X[:, 3], [1, 4])
        + 0.1 * rng.normal(size=n)
    )
    X[rng.random((n, 4)) < 0.1] = np.nan
    return X, y


def _forest(X: Floats, y: Floats) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(4, random_state=0).fit(X, y)


def _histograms(X: Floats, y: Floats) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    own = {"max_iter": 5, "max_leaf_nodes": None, "min_samples_leaf": 3, "random_state": 0}
    return HistGradientBoostingRegressor(categorical_features=[3], **own).fit(X, y)


def _lightgbm(X: Floats, y: Floats) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    own = {"n_estimators": 5, "num_leaves": 60, "min_child_samples": 3, "verbose": -1, "n_jobs": 1}
    return lightgbm.LGBMRegressor(**own).fit(X, y, categorical_feature=[3])


MODELS = [_forest, _histograms, _lightgbm]


@pytest.mark.parametrize("fit", MODELS)
def test_models_of_rows_with_gaps(fit: Callable[[Floats, Floats], Any]) -> None:
    """Against the model's predictions of altered rows, and against the bitset evaluator."""
    X, y = _with_gaps()
    model = fit(X, y)
    both = Both(load(model), X[:150])
    base, rng = both.ensemble.base[0], np.random.default_rng(5)
    words = [pack_tests(t, c) for t, c in zip(both.shape.tests, both.codes(both.X), strict=True)]
    sets = BitsetEvaluator(both.shape, 150, np.concatenate(words))
    np.testing.assert_allclose(both.walked.own() + base, model.predict(X[:150]), rtol=1e-12)
    for k, j in enumerate(both.shape.columns):
        new, codes = X[rng.permutation(len(X))[:150], j], both.codes(both.X)[k]
        altered = both.X.copy()
        altered[:, j] = new
        found, there = both.walked.changed(k, both.code(k, new)), model.predict(altered)
        np.testing.assert_allclose(found + both.walked.own() + base, there, rtol=1e-12, atol=1e-12)
        points = np.unique(both.code(k, np.append(X[:40, j], np.nan)))
        for name, asked in (("changed", (k, both.code(k, new))), ("curves", ({k: points},))):
            ours, theirs = getattr(both.walked, name)(*asked), getattr(sets, name)(*asked)
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
        between = (k, both.code(k, new), codes)
        for name, asked in (("totals", ({k: points},)), ("between", between)):
            ours, theirs = getattr(both.walked, name)(*asked), getattr(sets, name)(*asked)
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-10)


def test_outputs_share_the_leaves_that_rows_reach() -> None:
    from sklearn.ensemble import RandomForestClassifier

    X, y = _with_gaps()
    model = RandomForestClassifier(3, random_state=0).fit(X, np.digitize(y, [-0.5, 0.5]))
    ensemble = load(model)
    parts = layouts_by_output(ensemble, layout_of(ensemble))
    first = Both(ensemble, X, 0)
    for output, shape in enumerate(parts):
        like = first.walked.like(shape)
        assert like.leaves is first.walked.leaves
        expected = model.predict_proba(X)[:, output]
        np.testing.assert_allclose(like.own(), expected, rtol=1e-12, atol=1e-15)


METHODS = [sd.ALE(bins=6), sd.PDP(grid=6), sd.PDP(grid=6, heterogeneity=False), sd.PFI(n_repeats=2)]


@pytest.mark.parametrize("method", METHODS)
def test_explained_as_the_model_is(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With limits set so that all trees count as large and batches are small."""
    monkeypatch.setattr(evaluator, "MAX_BITSET_LEAVES", 1)
    monkeypatch.setattr(traversal, "_PARTIAL_SUMS", 20)
    X, y = _with_gaps()
    X = np.where(np.isnan(X), 0.5, X)
    model = _forest(X, y)
    labels = {"y": y} if isinstance(method, sd.PFI) else {}
    quantity = sd.loss(model, "squared_error") if labels else model
    ours = sd.explain(quantity, X, method=method, tree="force", memory="100KB", **labels)
    theirs = sd.explain(quantity, X, method=method, tree="off", **labels)
    for a, b in zip(_numbers(ours), _numbers(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


def _numbers(result: Any) -> list[Any]:
    if isinstance(result, sd.Importance):
        return [result.values, result.std_error]
    return [a for effect in result.values() for a in (effect.value, effect.heterogeneity)]


# ------------------------------------------------------------------------------------ the kernels


@pytest.mark.parametrize("seed", range(2))
def test_kernels_are_plain_python(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Uncompiled kernels are exact, with 2 or 3 rows at a time, and for both settings of `MANY`."""
    for module in (traversal, compilation):
        monkeypatch.setattr(module, "compiled", lambda kernel: kernel)
    for module in (traversal_kernels, traversal_kernels):
        monkeypatch.setattr(module, "SIDE", 2 + seed)
        monkeypatch.setattr(module, "MANY", 64 * seed)
    ensemble = drawn(seed, trees=3, depth=5)
    check(
        Both(ensemble, rows_for(ensemble, 7, seed)), np.array([-1.5, -1.0, 0.0, 0.5, 1.5, np.nan])
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_visits_without_a_compiler(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ensemble = drawn(seed, trees=8)
    compiled = layout_of(ensemble)
    monkeypatch.setattr(compilation, "has_numba", lambda: False)
    plain = layout_of(ensemble)
    for name in ("parent", "depth", "size", "is_left", "column", "test", "value"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(compiled, name), err_msg=name)
    inner = np.flatnonzero(plain.test >= 0)
    np.testing.assert_array_equal(plain.parent[inner + 1], inner)
    np.testing.assert_array_equal(plain.parent[inner + 1 + plain.size[inner + 1]], inner)


def test_what_tests_leave_of_a_column() -> None:
    """x <= 5, with x <= 2 in its left branch: the leaves cover (.., 2], (2, 5] and (5, ..]."""
    nodes = np.array([[0, 5, 1, 4], [0, 2, 1, 2], [0] * 4, [0] * 4, [0] * 4], np.uint32)
    trees = (nodes.ravel(), np.zeros(0, np.uint8), np.array([0, 5]))
    stretch, region = np.empty((5, 5), np.int32), np.empty(5, np.int32)
    tested, behind = np.array([0, 1], np.int32), np.array([5, 4], np.int32)
    traversal_kernels.outline(trees, tested, behind, 0, 5, stretch, region)
    bounds = stretch[region][:, [traversal_kernels.LOW, traversal_kernels.HIGH]].tolist()
    assert bounds[2:] == [[traversal_kernels.MISSING, 2], [2, 5], [5, traversal_kernels.MOST]]
    start = {
        code: traversal_kernels.departs(stretch, region, 0, 3, code, 4) for code in (1, 3, 5, 6, -1)
    }
    assert start == {1: 1, 3: 3, 5: 3, 6: 0, -1: 0}
