"""The tree kernels, as Python and compiled, against results computed by hand on a few rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from skedasis import _compilation as compilation
from skedasis.trees import bitset, bitset_kernels, layout, traversal
from skedasis.trees.ensemble import Ensemble, ModelInfo, Nodes, assemble
from skedasis.trees.evaluator import _rounded
from tests.reference.tree_evaluation import raw_scores

# Tree 1: x0 <= 1 ? (x1 in {2, 5} ? 10 : (x0 <= 0 ? 20 : 40)) : (x2 <= 3 ? 80 : 160).
# Tree 2: x2 <= 3 ? 1 : (x2 <= 4 ? 2 : 4).
# Missing values go right at x0 and x1, left at x0 below x1, left at x2 of tree 1 and right at x2 of tree 2.
NODES = Nodes(
    sizes=np.array([9, 5]),
    feature=np.array([0, 1, -1, 0, -1, -1, 2, -1, -1, 2, -1, 2, -1, -1]),
    threshold=np.array([1.0, 0, 0, 0, 0, 0, 3, 0, 0, 3, 0, 4, 0, 0]),
    left=np.array([1, 2, -1, 4, -1, -1, 7, -1, -1, 1, -1, 3, -1, -1]),
    right=np.array([6, 3, -1, 5, -1, -1, 8, -1, -1, 2, -1, 4, -1, -1]),
    missing_left=np.array([0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]),
    value=np.array([0.0, 0, 10, 0, 20, 40, 0, 80, 160, 0, 1, 0, 2, 4]),
    category=np.array([-1, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1]),
    sets=[np.array([2, 5])],
)
TREES = assemble(NODES, ModelInfo(3, np.array([1000.0]), "by hand", known={1: np.array([2, 3, 5])}))
NAN = np.nan
ROWS = np.array(
    [
        [0.0, 2, 3],  # 10 + 1
        [0.5, 3, 3.5],  # 40 + 2
        [-1.0, 3, 9],  # 20 + 4
        [1.0, 7, 4],  # an unknown category: 40 + 2
        [2.0, 2, NAN],  # 80 + 4
        [NAN, 5, 5],  # 160 + 4
        [np.nextafter(1.0, 2), 5, 0],  # 80 + 1
        [0.2, NAN, 0],  # 40 + 1
    ]
)
SUMS = [11.0, 42.0, 24.0, 42.0, 84.0, 164.0, 81.0, 41.0]


@pytest.fixture(params=["python", "compiled"])
def form(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the kernels as Python, or compiled."""
    if request.param == "compiled":
        pytest.importorskip("numba")
        return request.param
    for module in (bitset, traversal, compilation):
        monkeypatch.setattr(module, "compiled", lambda kernel: kernel)
    monkeypatch.setattr(compilation, "has_numba", lambda: True)
    return request.param


def made(way: str, ensemble: Ensemble = TREES, rows: np.ndarray = ROWS) -> Any:
    """Return an evaluator of the trees on the rows."""
    whole = layout.layout_of(ensemble)
    codes = [t.codes(rows[:, j]) for j, t in zip(whole.columns, whole.tests, strict=True)]
    if way == "walked":
        return traversal.TraversalEvaluator(whole, len(rows), np.array(codes, np.int32))
    mark, kind = (
        (bitset.pack_tests, bitset.BitsetEvaluator)
        if way == "marked"
        else (bitset.pack_tests_numpy, bitset.NumpyBitsets)
    )
    sets = [mark(t, c) for t, c in zip(whole.tests, codes, strict=True)]
    return kind(whole, len(rows), np.concatenate(sets))


WAYS = pytest.mark.parametrize("way", ["marked", "walked", "counted"])
COMPILED = pytest.mark.parametrize("way", ["marked", "walked"])


def with_column(j: int, values: Any) -> np.ndarray:
    """Return the sums of rows with one column replaced, evaluated row by row."""
    X = ROWS.copy()
    X[:, j] = values
    return raw_scores(TREES, X)[:, 0] - 1000.0


def test_the_plain_way_is_right_by_hand() -> None:
    np.testing.assert_array_equal(raw_scores(TREES, ROWS)[:, 0] - 1000.0, SUMS)


@WAYS
@pytest.mark.usefixtures("form")
def test_own_sums_by_hand(way: str) -> None:
    part = made(way)
    assert part.own().tolist() == SUMS
    assert part.total() == sum(SUMS)


@WAYS
@pytest.mark.usefixtures("form")
def test_a_column_replaced(way: str) -> None:
    for k, values in enumerate([[1.0, NAN, 0, 2], [2.0, 3, NAN, 9], [3.0, 4, NAN, 5]]):
        new = np.array(values * 2)
        part = made(way)
        codes = part.shape.tests[k].codes(new)
        assert (part.own() + part.changed(k, codes)).tolist() == with_column(k, new).tolist()
        assert part.replaced({k: codes}).own().tolist() == with_column(k, new).tolist()
        wanted = [with_column(k, v) for v in values]
        few = part.shape.tests[k].codes(np.array(values))
        assert part.curves({k: few}).tolist() == np.array(wanted).tolist()
        assert part.totals({k: few}).tolist() == np.sum(wanted, axis=1).tolist()


@WAYS
@pytest.mark.usefixtures("form")
def test_a_grid_of_two_columns(way: str) -> None:
    first, last = [0.0, 2.0, NAN], [4.0, 3.0]
    part = made(way)
    points = {k: part.shape.tests[k].codes(np.array(v)) for k, v in ((0, first), (2, last))}
    wanted = []
    for x0 in first:
        for x2 in last:
            X = ROWS.copy()
            X[:, 0], X[:, 2] = x0, x2
            wanted.append(raw_scores(TREES, X)[:, 0] - 1000.0)
    assert part.curves(points).tolist() == np.array(wanted).tolist()
    assert part.totals(points).tolist() == np.sum(wanted, axis=1).tolist()


@COMPILED
@pytest.mark.usefixtures("form")
def test_from_one_value_to_another(way: str) -> None:
    low = np.array([0.0, NAN, 2, 1, 0, 2, NAN, 1])
    high = low[::-1].copy()
    part = made(way)
    found = part.between(0, part.shape.tests[0].codes(low), part.shape.tests[0].codes(high))
    assert found.tolist() == (with_column(0, high) - with_column(0, low)).tolist()


@pytest.mark.parametrize(
    ("way", "n"),
    [
        ("marked", 1),
        ("walked", 63),
        ("counted", 64),
        ("marked", 65),
        ("counted", 128),
        ("walked", 200),
    ],
)
@pytest.mark.usefixtures("form")
def test_words_of_64_rows(way: str, n: int) -> None:
    rng = np.random.default_rng(n)
    rows = ROWS[rng.integers(0, len(ROWS), n)]
    part = made(way, rows=rows)
    assert part.own().tolist() == (raw_scores(TREES, rows)[:, 0] - 1000.0).tolist()
    new = rng.permutation(rows[:, 0])
    altered = np.column_stack([new, rows[:, 1:]])
    found = part.own() + part.changed(0, part.shape.tests[0].codes(new))
    assert found.tolist() == (raw_scores(TREES, altered)[:, 0] - 1000.0).tolist()
    totals = part.totals({2: part.shape.tests[2].codes(np.array([0.0, 3.5, 9.0, NAN]))})
    wanted = []
    for value in (0.0, 3.5, 9.0, NAN):
        altered = rows.copy()
        altered[:, 2] = value
        wanted.append(float((raw_scores(TREES, altered)[:, 0] - 1000.0).sum()))
    assert totals.tolist() == wanted


@COMPILED
@pytest.mark.usefixtures("form")
def test_trees_of_one_leaf(way: str) -> None:
    leaf = Nodes(
        np.array([1, 3]),
        np.array([-1, 0, -1, -1]),
        np.zeros(4),
        np.array([-1, 1, -1, -1]),
        np.array([-1, 2, -1, -1]),
        np.zeros(4),
        np.array([5.0, 0, 1, 2]),
    )
    part = made(way, assemble(leaf, ModelInfo(3, np.zeros(1), "leaf")))
    assert part.own().tolist() == [6.0, 7, 6, 7, 7, 7, 7, 7]
    assert part.changed(0, part.shape.tests[0].codes(np.full(8, -1.0))).tolist() == [
        0.0, -1, 0, -1, -1, -1, -1, -1,
    ]  # fmt: skip


def test_bits() -> None:
    word = np.uint64(0b1011 << 40 | 1 << 63)
    assert compilation.count_bits(word) == 4
    assert compilation.lowest_bit(word) == 40
    assert compilation.count_bits(np.uint64(0)) == 0
    assert compilation.lowest_bit(np.uint64(1 << 63)) == 63
    numba = pytest.importorskip("numba")
    del numba
    out = np.zeros(3, np.int64)
    reached = np.array([[word, word], [bitset_kernels.ALL, 0], [0, 1]], np.uint64)
    compilation.compiled(bitset_kernels.sizes)(np.array([-1, -1, 7], np.int32), reached, out)
    assert out.tolist() == [8, 64, 0]


def test_who_is_packed() -> None:
    passes = np.random.default_rng(0).uniform(size=(3, 130)) < 0.5
    words = bitset.pack_bits(passes)
    assert words.shape == (3, 3)
    for r in range(3):
        for i in range(130):
            assert bool(int(words[r, i >> 6]) >> (i & 63) & 1) == passes[r, i]
    assert int(words[0, 2]) >> 2 == 0


@pytest.mark.parametrize("many", [10, 300, 70_000])
def test_more_thresholds_than_small_numbers_can_count(many: int) -> None:
    tests = layout.ColumnTests(
        np.arange(many, dtype=float), np.array([3, many - 1], np.int32), np.zeros(2, bool)
    )
    x = np.array([0.0, 3.0, 4.0, many / 2, many - 1.0, many, 259.0, 65539.0, 65540.0])
    for given in (x, np.append(x, NAN)):
        words = bitset.pack_tests_numpy(tests, tests.codes(given))
        for r, cut in enumerate((3.0, many - 1.0)):
            passed = [bool(int(words[r, 0]) >> i & 1) for i in range(len(given))]
            assert passed == (given <= cut).tolist()


# ---------------------------------------------------------------------------------------- codes


def test_codes_of_numbers() -> None:
    tests = layout.ColumnTests(
        np.array([-1.0, 0.1, 2.0]), np.array([0, 1, 1, 2], np.int32), np.array([0, 1, 0, 1]) > 0
    )
    x = np.array([-np.inf, -1.0, np.nextafter(-1.0, 0), 0.1, 0.2, 2.0, 3.0, np.inf, NAN])
    assert tests.missing == 4
    assert tests.codes(x).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4]
    wanted = x[None, :] <= np.array([-1.0, 0.1, 0.1, 2.0])[:, None]
    wanted[:, -1] = [False, True, False, True]
    np.testing.assert_array_equal(tests.passes(tests.codes(x)), wanted)
    single = layout.ColumnTests(
        np.array([0.1]), np.array([0], np.int32), np.array([False]), single=True
    )
    close = np.array([0.1, float(np.float32(0.1)), 0.09999999, 1e300, -1e300])
    assert single.codes(close).tolist() == [1, 1, 0, 1, 0]
    assert tests.codes(np.zeros((2, 3))).shape == (2, 3)


def test_codes_of_categories() -> None:
    found, place = layout.tests_of(TREES)
    assert sorted(found) == [0, 1, 2]
    assert place.tolist() == [1, 0, -1, 0, -1, -1, 1, -1, -1, 0, -1, 2, -1, -1]
    x = np.array([2.0, 3, 5, 4, -1, -0.5, 2.9, NAN, np.inf, 1e300, -np.inf])
    assert found[1].codes(x).tolist() == [0, 1, 2, 3, 3, 3, 0, 3, 3, 3, 3]
    assert found[1].passes(np.arange(4)).tolist() == [[True, False, True, False]]
    zero = layout.ColumnTests(
        np.zeros(0),
        np.zeros(1, np.int32),
        np.array([False]),
        np.array([0, 1]),
        np.ones((1, 2), bool),
    )
    # Fractions are truncated towards zero.
    assert zero.codes(np.array([-0.5, -1.0, 0.9, 1.9, 2.0])).tolist() == [0, 2, 0, 1, 2]
    nothing = layout.ColumnTests(
        np.zeros(0),
        np.zeros(1, np.int32),
        np.array([True]),
        np.zeros(0, int),
        np.zeros((1, 0), bool),
    )
    assert nothing.codes(np.array([1.0, NAN])).tolist() == [0, 0]
    assert nothing.passes(np.array([0])).tolist() == [[True]]


LARGEST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize(
    "threshold",
    [0.1, -0.1, 0.5, 16777217.0, 1e30, LARGEST, -LARGEST, 0.0, 1e-45, -3e-46, 1e-40],
)
def test_the_last_number_that_is_rounded_to_a_threshold(threshold: float) -> None:
    last = float(_rounded(np.array([threshold]))[0])
    behind = float(np.nextafter(last, np.inf))
    with np.errstate(over="ignore"):
        assert float(np.float32(last)) <= threshold
        assert float(np.float32(behind)) > threshold


def test_beyond_single_precision_there_is_one_jump_to_infinity() -> None:
    last = float(_rounded(np.array([1e39]))[0])
    with np.errstate(over="ignore"):
        assert np.isfinite(np.float32(last))
        assert np.isinf(np.float32(np.nextafter(last, np.inf)))


# ---------------------------------------------------------------------------------------- layout


@pytest.mark.parametrize("compiled", [True, False])
def test_nodes_in_the_order_of_visits(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if compiled:
        pytest.importorskip("numba")
    monkeypatch.setattr(compilation, "has_numba", lambda: compiled)
    # Breadth first, as in many libraries: 0 -> 1, 2; 1 -> 3, 4; 4 -> 5, 6.
    nodes = Nodes(
        np.array([7]),
        np.array([0, 1, -1, -1, 0, -1, -1]),
        np.array([1.0, 2, 0, 0, 0, 0, 0]),
        np.array([1, 3, -1, -1, 5, -1, -1]),
        np.array([2, 4, -1, -1, 6, -1, -1]),
        np.zeros(7),
        np.array([0.0, 0, 1, 2, 0, 4, 8]),
    )
    s = layout.layout_of(assemble(nodes, ModelInfo(2, np.zeros(1), "wide")))
    assert s.value.tolist() == [0.0, 0, 2, 0, 4, 8, 1]
    assert s.parent.tolist() == [-1, 0, 1, 1, 3, 3, 0]
    assert s.depth.tolist() == [0, 1, 2, 2, 3, 3, 1]
    assert s.size.tolist() == [7, 5, 1, 3, 1, 1, 1]
    assert s.is_left.tolist() == [0, 1, 1, 0, 1, 0, 0]
    assert s.deepest == 3
    assert s.most_leaves == 4
    assert s.below(1).tolist() == [False, False, True, True, True, True, False]
    assert [n.tolist() for n in s.nodes] == [[0, 3], [1]]


def test_sums_of_leaves_are_exact_in_any_order() -> None:
    rng = np.random.default_rng(0)
    nodes = Nodes(
        np.ones(200, int),
        np.full(200, -1),
        np.zeros(200),
        np.full(200, -1),
        np.full(200, -1),
        np.zeros(200),
        rng.normal(size=200) * 10.0 ** rng.integers(-6, 3, 200),
    )
    e = assemble(nodes, ModelInfo(1, np.zeros(1), "leaves"))
    value = layout.layout_of(e).value
    there = float(np.cumsum(value)[-1])
    back = float(np.cumsum(value[::-1])[-1])
    assert there == back
    np.testing.assert_allclose(value, nodes.value, rtol=0, atol=1e-15 * np.abs(value).sum())
    for size in (1e-300, 1e300):
        scaled = layout._summable(nodes.value * size, np.arange(201))
        bound = np.abs(nodes.value).sum()
        np.testing.assert_allclose(scaled / size, nodes.value, rtol=0, atol=1e-15 * bound)
    assert layout._summable(np.zeros(3), np.array([0, 1, 2, 3])).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("n_codes", [1, 13, 64, 65, 300])
@pytest.mark.parametrize("n", [1, 64, 200])
def test_the_rows_of_a_test_are_those_whose_code_passes(n_codes: int, n: int) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_codes, n).astype(np.int32)
    passes = rng.random((7, n_codes)) < 0.4
    out = np.full((7, -(-n // 64)), 5, np.uint64)
    bitset_kernels.mark_categories(codes, passes, out)
    bits = np.unpackbits(out.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    assert np.array_equal(bits[:, :n].astype(bool), passes[:, codes])
    assert not bits[:, n:].any()


def test_equal_sets_of_categories_are_one_test() -> None:
    """Models store a set for each node; sets that differ in unknown categories alone are equal, too."""
    sets = [np.array(s) for s in ([2, 5], [5, 2], [2], [2, 9], [3])]
    nodes = Nodes(
        sizes=np.full(6, 3),
        feature=np.tile([0, -1, -1], 6),
        threshold=np.zeros(18),
        left=np.tile([1, -1, -1], 6),
        right=np.tile([2, -1, -1], 6),
        missing_left=np.repeat([0, 0, 0, 0, 0, 1], 3),
        value=np.tile([0.0, 1.0, 2.0], 6),
        category=np.tile([0, -1, -1], 6) + np.repeat([0, 1, 2, 3, 4, 4], 3) * np.tile([1, 0, 0], 6),
        sets=sets,
    )
    trees = assemble(nodes, ModelInfo(1, np.zeros(1), "by hand", known={0: np.array([2, 3, 5])}))
    shape = layout.layout_of(trees)
    tests, own = shape.tests[0], shape.test[::3]
    assert len(tests) == 4
    assert own[0] == own[1] != own[2]
    assert own[2] == own[3]
    assert own[4] != own[5]
    left = tests.passes(np.arange(4, dtype=np.int32))[own]  # 2, 3, 5, missing
    expected = [[1, 0, 1, 0], [1, 0, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 1]]
    assert left.astype(int).tolist() == expected
