"""Laws of tree evaluation: every evaluator gives the same scores as sending each row down every tree."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from skedasis.trees.bitset import BitsetEvaluator, NumpyBitsets, pack_tests, pack_tests_numpy
from skedasis.trees.corners import CellsOfColumn, CornerLeaves
from skedasis.trees.ensemble import Ensemble
from skedasis.trees.layout import layout_of, layouts_by_output
from skedasis.trees.traversal import TraversalEvaluator
from tests.laws.strategies import law
from tests.reference.tree_evaluation import raw_scores

pytest.importorskip("numba")
COLUMNS, CATEGORIES = 4, (0, 3, 4, 8)
"""The last column holds categories."""


def _tree(rng: np.random.Generator, most: int, thresholds: Any, sets: list[Any]) -> dict[str, Any]:
    """Grow a tree by splitting leaves at random; a node comes before its children."""
    feature, left, right, parent = [-1], [-1], [-1], [-1]
    while len(feature) < most:
        leaf = int(rng.choice([q for q, f in enumerate(feature) if f < 0]))
        feature[leaf] = int(rng.integers(0, COLUMNS))
        left[leaf], right[leaf] = len(feature), len(feature) + 1
        for _ in range(2):
            feature.append(-1)
            left.append(-1)
            right.append(-1)
            parent.append(leaf)
    n = len(feature)
    inner = np.array(feature) >= 0
    named = np.array(feature) == COLUMNS - 1
    return {
        "feature": np.array(feature),
        "threshold": np.where(inner & ~named, rng.choice(thresholds, n), 0.0),
        "left": np.array(left),
        "right": np.array(right),
        "missing_left": (rng.uniform(size=n) < 0.5) & inner,
        "category": np.where(named, rng.integers(0, len(sets), n), -1),
        "value": np.where(inner, 0.0, rng.normal(size=n)),
    }


@st.composite
def ensembles(draw: Any) -> tuple[Ensemble, np.ndarray, np.random.Generator]:
    """Draw trees of one to three outputs, and rows with ties, missing values and unknown categories."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    trees, outputs = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    most, n = draw(st.sampled_from([1, 3, 7, 21])), draw(st.sampled_from([1, 2, 5, 64, 65, 130]))
    vector, single = draw(st.booleans()), draw(st.booleans())
    thresholds = np.round(rng.normal(size=5), 1)
    thresholds[0] = 0.1  # not a single-precision number
    sets = [rng.permutation(CATEGORIES)[: rng.integers(0, 5)] for _ in range(4)]
    grown = [_tree(rng, most, thresholds, sets) for _ in range(trees)]
    sizes = [len(t["feature"]) for t in grown]
    roots = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    for tree, shift in zip(grown, roots, strict=False):
        for side in ("left", "right"):
            tree[side] = np.where(tree[side] >= 0, tree[side] + shift, -1)
    joined = {key: np.concatenate([t[key] for t in grown]) for key in grown[0]}
    if vector:
        inner = joined["feature"] >= 0
        joined["value"] = np.where(inner[:, None], 0.0, rng.normal(size=(len(inner), outputs)))
    whole = ("feature", "left", "right", "category")
    ensemble = Ensemble(
        **{k: v.astype(np.int32) if k in whole else v for k, v in joined.items()},
        sets=sets,
        output=np.full(trees, -1) if vector else rng.integers(0, outputs, trees),
        base=rng.normal(size=outputs),
        roots=roots,
        columns=COLUMNS,
        single=single,
        known={COLUMNS - 1: np.array(CATEGORIES)},
    )
    return ensemble, _rows(rng, n, thresholds), rng


def _rows(rng: np.random.Generator, n: int, thresholds: Any) -> np.ndarray:
    """Return values on, next to and far from thresholds, missing values, and known and unknown categories."""
    X = rng.choice(np.concatenate([thresholds, thresholds + 0.05, [-9.0, 9.0]]), (n, COLUMNS))
    X = np.where(rng.uniform(size=X.shape) < 0.2, np.nextafter(X, np.inf), X)
    X[:, -1] = rng.choice([*CATEGORIES, 1.0, -0.5, 3.7, 5.0, -1.0, 1e12], n)
    return np.where(rng.uniform(size=X.shape) < 0.15, np.nan, X)


class Case:
    """An ensemble on rows, with each of the three evaluators."""

    def __init__(self, ensemble: Ensemble, X: np.ndarray) -> None:
        self.ensemble, self.X = ensemble, X
        self.shape = layout_of(ensemble)
        self.parts = layouts_by_output(ensemble, self.shape)

    def codes(self, k: int, x: np.ndarray) -> Any:
        """Return the codes of values of the column with index k, as used by the trees."""
        return self.shape.tests[k].codes(x)

    def made(self, way: str, output: int) -> Any:
        """Return the evaluator of one output's trees on the rows."""
        shape, n = self.parts[output], len(self.X)
        codes = [self.codes(k, self.X[:, j]) for k, j in enumerate(self.shape.columns)]
        if way == "walked":
            return TraversalEvaluator(shape, n, np.array(codes, np.int32).reshape(len(codes), n))
        mark, kind = (
            (pack_tests, BitsetEvaluator) if way == "marked" else (pack_tests_numpy, NumpyBitsets)
        )
        sets = [mark(t, c) for t, c in zip(self.shape.tests, codes, strict=True)]
        words = np.zeros((0, -(-n // 64)), np.uint64)
        return kind(shape, n, np.concatenate([words, *sets]))

    def scores(self, output: int, **changes: np.ndarray) -> np.ndarray:
        """Return one output's sums, row by row, with columns replaced."""
        X = self.X.copy()
        for name, values in changes.items():
            X[:, int(name[1:])] = values
        return raw_scores(self.ensemble, X)[:, output] - self.ensemble.base[output]


WAYS = ("marked", "walked", "counted")
"""The first two are compiled."""


def near(got: Any, want: Any) -> None:
    """Assert that sums of a few leaves of size 1 are the same up to rounding."""
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)


@law(way=st.sampled_from(WAYS), drawn=ensembles())
def test_own(way: str, drawn: Any) -> None:
    case = Case(*drawn[:2])
    for output in range(case.ensemble.outputs):
        part = case.made(way, output)
        near(part.own(), case.scores(output))
        near(part.total() / len(case.X), case.scores(output).mean())


@pytest.mark.slow
@law(way=st.sampled_from(WAYS), drawn=ensembles())
def test_changed(way: str, drawn: Any) -> None:
    ensemble, X, rng = drawn
    case = Case(ensemble, X)
    for k, j in enumerate(case.shape.columns):
        new = rng.permutation(X[:, j])
        for output in range(ensemble.outputs):
            found = case.made(way, output).changed(k, case.codes(k, new))
            near(found, case.scores(output, **{f"x{j}": new}) - case.scores(output))


@law(way=st.sampled_from(WAYS), drawn=ensembles())
def test_between(way: str, drawn: Any) -> None:
    ensemble, X, rng = drawn
    case = Case(ensemble, X)
    for k, j in enumerate(case.shape.columns):
        low, high = rng.permutation(X[:, j]), rng.permutation(X[:, j])
        found = case.made(way, 0).between(k, case.codes(k, low), case.codes(k, high))
        near(found, case.scores(0, **{f"x{j}": high}) - case.scores(0, **{f"x{j}": low}))
        # Where nothing changes the difference is exactly 0, without rounding.
        still = case.made(way, 0).between(k, case.codes(k, low), case.codes(k, low))
        assert (still == 0.0).all()


@law(way=st.sampled_from(WAYS), drawn=ensembles())
def test_curves_and_totals(way: str, drawn: Any) -> None:
    ensemble, X, rng = drawn
    case = Case(ensemble, X)
    for k, j in enumerate(case.shape.columns):
        # Unordered, with duplicates and missing values.
        points = rng.choice(X[:, j], 6)
        wanted = [case.scores(0, **{f"x{j}": np.full(len(X), p)}) for p in points]
        part = case.made(way, 0)
        # Two sets of points: what is cached for one must not be returned for the other.
        near(part.curves({k: case.codes(k, points[::-1])}), wanted[::-1])
        near(part.curves({k: case.codes(k, points)}), wanted)
        near(part.totals({k: case.codes(k, points)}) / len(X), np.mean(wanted, axis=1))


@law(way=st.sampled_from(WAYS), drawn=ensembles())
def test_curves_and_totals_on_a_product_grid(way: str, drawn: Any) -> None:
    ensemble, X, rng = drawn
    case = Case(ensemble, X)
    some = rng.permutation(len(case.shape.columns))[: int(rng.integers(2, 4))].tolist()
    if not some:
        return
    # Unordered, with duplicates and missing values, each column with another number of points.
    values = {
        k: rng.choice(X[:, case.shape.columns[k]], m) for k, m in zip(some, (3, 4, 2), strict=False)
    }
    points = {k: case.codes(k, own) for k, own in values.items()}
    names = [f"x{case.shape.columns[k]}" for k in some]
    wanted = []
    for combination in itertools.product(*values.values()):
        pairs = zip(names, combination, strict=True)
        wanted.append(case.scores(0, **{name: np.full(len(X), v) for name, v in pairs}))
    part = case.made(way, 0)
    near(part.curves(points), wanted)
    near(part.totals(points) / len(X), np.mean(wanted, axis=1))


@law(way=st.sampled_from(WAYS), drawn=ensembles())
def test_replaced(way: str, drawn: Any) -> None:
    ensemble, X, rng = drawn
    case = Case(ensemble, X)
    places = {k: rng.permutation(X[:, j]) for k, j in enumerate(case.shape.columns)}
    for some in (list(places)[:1], list(places)[:2], list(places)):
        part = case.made(way, 0).replaced({k: case.codes(k, places[k]) for k in some})
        new = {f"x{case.shape.columns[k]}": places[k] for k in some}
        near(part.own(), case.scores(0, **new))
        for k in some[-1:]:
            j = case.shape.columns[k]
            again = np.full(len(X), X[0, j])
            near(
                part.own() + part.changed(k, case.codes(k, again)),
                case.scores(0, **(new | {f"x{j}": again})),
            )


@law(way=st.sampled_from(WAYS), drawn=ensembles())
def test_trees_that_differ_in_their_leaves_only(way: str, drawn: Any) -> None:
    ensemble, X, _ = drawn
    if ensemble.value.ndim == 1:
        return
    case = Case(ensemble, X)
    first = case.made(way, 0)
    first.own()
    for output in range(ensemble.outputs):
        other = first.like(case.parts[output])
        near(other.own(), case.scores(output))
        near(first.own(), case.scores(0))
        near(other.total(), case.scores(output).sum())


@law(way=st.sampled_from(WAYS[:2]), drawn=ensembles())
def test_sums_do_not_depend_on_the_way_to_them(way: str, drawn: Any) -> None:
    """Replacing a column directly or by its change gives the same bits, also for the first third of the rows."""
    ensemble, X, rng = drawn
    case = Case(ensemble, X)
    for k, j in enumerate(case.shape.columns):
        new = rng.permutation(X[:, j])
        part = case.made(way, 0)
        own, codes = part.own(), case.codes(k, new)
        swept = own + part.changed(k, codes)
        np.testing.assert_array_equal(swept, part.replaced({k: codes}).own())
        # So many sets of codes that not all of them are evaluated together.
        sets = np.stack([codes, case.codes(k, rng.permutation(X[:, j]))])
        each = np.stack([part.replaced({k: c}).own() for c in sets])
        np.testing.assert_array_equal(part.swept(k, np.tile(sets, (70, 1))), np.tile(each, (70, 1)))
        few = Case(ensemble, X[: max(1, len(X) // 3)]).made(way, 0)
        np.testing.assert_array_equal(few.own(), own[: few.n])
        curve = part.curves({k: case.codes(k, X[:4, j])})
        for p in range(len(curve)):
            np.testing.assert_array_equal(
                curve[p],
                part.replaced(
                    {k: np.full(len(X), codes.dtype.type(0)) + case.codes(k, X[p : p + 1, j])}
                ).own(),
            )


@law(drawn=ensembles(), cells=st.integers(1, 6))
def test_corners_of_cells(drawn: Any, cells: int) -> None:
    """Missing values and unknown categories of other columns, ties of edges with thresholds, several outputs."""
    ensemble, X, rng = drawn
    first, second = rng.permutation(COLUMNS - 1)[:2].tolist()
    X = X[~np.isnan(X[:, [first, second]]).any(axis=1)]
    case = Case(ensemble, X)
    if not len(X) or not {first, second} <= {*case.shape.columns}:
        return
    sides, values = [], []
    for j in (first, second):
        inner = rng.choice([*X[:, j], *X[:, j] + 0.05], cells)
        edges = np.unique([X[:, j].min(), X[:, j].max() + 0.5, *inner.clip(X[:, j].min())])
        home = np.clip(np.searchsorted(edges, X[:, j], side="left") - 1, 0, len(edges) - 2)
        k = case.shape.place(j)
        sides.append(CellsOfColumn(k, case.codes(k, edges), home))
        values.append((edges[home], edges[home + 1]))
    rows = np.stack([case.codes(k, X[:, j]) for k, j in enumerate(case.shape.columns)], axis=1)
    for output in range(ensemble.outputs):
        part = case.made("marked", output)
        ends = [tuple(part.changed(s.k, s.codes[s.home + up]) for up in (0, 1)) for s in sides]
        leaves = CornerLeaves(case.parts[output])
        got = leaves.sums(rows, part.own(), tuple(sides), tuple(ends))
        for s, (up, over) in enumerate([(0, 0), (1, 0), (0, 1), (1, 1)]):
            moved = {f"x{first}": values[0][up], f"x{second}": values[1][over]}
            near(got[s], case.scores(output, **moved))
