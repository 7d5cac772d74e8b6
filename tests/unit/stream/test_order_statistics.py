"""Order statistics of columns that are read in parts equal those of sorting all values."""

from __future__ import annotations

import math
import pickle
from itertools import cycle, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skedasis import _compilation as compilation
from skedasis.data.column_stats import Column
from skedasis.data.features import Feature
from skedasis.stats.integer_weights import (
    exact_sum,
    integer_sums,
    quantised,
    rounded,
    targets_of,
    weight_quantum,
    weight_sums,
)
from skedasis.stream import order_statistics
from skedasis.stream.order_statistics import ColumnCounts, RankSearch

N = 20_000
R = np.random.default_rng(0)
SHAPES = {
    "unix times": 1.7e9 + np.arange(N) * 0.37,
    "cauchy": R.standard_cauchy(N),
    "zeros": np.where(R.random(N) < 0.9, 0.0, R.random(N)),
    "ties": R.integers(0, 3000, N) / 7,
    "missing": np.where(R.random(N) < 0.3, np.nan, R.normal(size=N)),
    "signed zeros": np.where(R.random(N) < 0.5, -0.0, R.choice([0.0, 1e-310, -1e-310], N)),
    "tiny": R.normal(size=N) * 1e-300,
    "huge": R.normal(size=N) * 1e307,
    "offset": 1e7 + 0.01 * R.normal(size=N),
    "constant": np.full(N, 3.25),
    "integers": R.poisson(300, N).astype(float),
    "single precision": R.normal(size=N).astype(np.float32).astype(float),
    "half a bucket": np.nextafter(1.0, 2.0) + np.arange(N) * 2.0**-50,
}
STEPS = np.arange(41)


def wanted_weights(counts: ColumnCounts, k: int, steps: np.ndarray) -> np.ndarray:
    return targets_of(counts.weight, k, steps, 0 if counts.whole_weights else counts.n)


def _parts(n: int, cuts: list[int]) -> list[slice]:
    edges = [0, *sorted(c % (n + 1) for c in cuts), n]
    return [slice(a, b) for a, b in pairwise(edges)]


def _counted(x, parts, pivot, weights=None, quantum=None):
    whole = ColumnCounts(pivot, quantum)
    for part in parts:
        one = ColumnCounts(pivot, quantum)
        one.add(x[part], None if weights is None else weights[part])
        whole = whole.merge(pickle.loads(pickle.dumps(one)))
    return whole


def _answered(x, counts, targets, parts, budget, weights=None):
    """Return the values of the targets, and the number of passes."""
    search, passes = RankSearch(counts, targets, budget), 0
    while True:
        sent, total = pickle.loads(pickle.dumps(search)), search.tally()
        for part in parts[::-1]:
            tally = sent.tally()
            sent.add(tally, x[part], None if weights is None else weights[part])
            total.merge(pickle.loads(pickle.dumps(tally)))
        search.take(total)
        passes += 1
        if search.found:
            return search.answer(), passes


def _sorted_ranks(x, k=40):
    present = np.sort(x[~np.isnan(x)])
    ranks = np.maximum((len(present) * np.arange(k + 1) + k - 1) // k, 1) - 1
    return present[ranks]


@pytest.mark.parametrize(
    ("shape", "budget"), list(zip(SHAPES, cycle([10**9, 40_000, 100]), strict=False))
)
def test_ranks_are_those_of_sorting(shape, budget):
    x = SHAPES[shape]
    parts = _parts(N, [1, 777, 15_000])
    counts = _counted(x, parts, float(np.nanmedian(x)))
    found, passes = _answered(x, counts, targets_of(counts.weight, 40, STEPS), parts, budget)
    assert np.array_equal(found, _sorted_ranks(x))
    assert passes <= 5
    assert counts.n == np.count_nonzero(~np.isnan(x))
    assert (counts.low, counts.high) == (np.nanmin(x), np.nanmax(x))
    assert counts.integer == bool((x[~np.isnan(x)] % 1 == 0).all())


def test_ties_are_collected_once_and_not_divided_again_and_again():
    x = SHAPES["zeros"]
    counts = _counted(x, _parts(N, []), 0.0)
    _, passes = _answered(x, counts, targets_of(N, 40, STEPS), _parts(N, []), 1000)
    assert passes <= 3


def _dense(n: int, spread: int) -> np.ndarray:
    """Return values that differ in their last bits only, and others that are spread wide."""
    close = (np.float64(1.5).view(np.int64) + R.integers(0, spread, n)).view(np.float64)
    return np.where(R.random(n) < 0.8, close, R.normal(size=n))


@pytest.mark.parametrize("spread", [2**20, 2**34, 2**45])
def test_candidates_stay_within_the_budget(spread, monkeypatch):
    # Values that agree in their leading bits look like ties after the first narrowing; they are not.
    monkeypatch.setattr(order_statistics, "_MERGED", 500)
    x, parts, budget = _dense(40_000, spread), _parts(40_000, [*range(1000, 40_000, 1000)]), 20_000
    counts = _counted(x, parts, 0.0)
    search = RankSearch(counts, targets_of(counts.weight, 40, STEPS), budget)
    while not search.found:
        tally = search.tally()
        for part in parts:
            search.add(tally, x[part])
            # What has been collected, and one part more before it is merged.
            assert sum(len(f.values) for f in tally.found) <= 4 * budget / 24 + 2 * 1000 + 500
        search.take(tally)
    assert np.array_equal(search.answer(), _sorted_ranks(x))


@pytest.mark.parametrize(
    ("shape", "pivot"),
    list(zip(SHAPES, cycle([0.0, -1e300, 1e300, 1.7e9, 1e-300, np.pi]), strict=False)),
)
def test_the_pivot_changes_nothing(shape, pivot):
    x = SHAPES[shape]
    parts = _parts(N, [9_999])
    counts = _counted(x, parts, pivot)
    found, _ = _answered(x, counts, targets_of(counts.weight, 40, STEPS), parts, 30_000)
    assert np.array_equal(found, _sorted_ranks(x))


@pytest.mark.parametrize(("shape", "budget"), list(zip(SHAPES, cycle([10**9, 500]), strict=False)))
def test_integer_weights_are_repetitions(shape, budget):
    x, weights = SHAPES[shape][:3000], R.integers(1, 5, 3000).astype(float)
    quantum = weight_quantum(4.0, 3000)
    parts = _parts(3000, [100, 2000])
    counts = _counted(x, parts, 0.0, weights, quantum)
    targets = wanted_weights(counts, 40, STEPS)
    found, _ = _answered(x, counts, targets, parts, budget, weights)
    assert np.array_equal(found, _sorted_ranks(np.repeat(x, weights.astype(int))))


@pytest.mark.parametrize("weight", [0.1, 1 / 3, 7e-12, 3e12])
def test_equal_weights_equal_no_weights(weight):
    x = SHAPES["cauchy"]
    feature = Feature("a", "continuous")
    plain, weighted = Column(feature, x, None), Column(feature, x, np.full(N, weight))
    assert np.array_equal(plain.order_statistics(37), weighted.order_statistics(37))


@pytest.mark.slow
@given(
    st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.5, -3.0, 1e-60, 1e60, np.nan]), min_size=1),
    st.lists(st.integers(0, 200), max_size=4),
    st.integers(1, 9),
    st.lists(st.floats(1e-6, 1e6), min_size=300, max_size=300),
)
def test_any_parts_give_what_a_column_in_memory_gives(values, cuts, k, weights):
    x = np.array(values)
    if np.isnan(x).all():
        return
    w = np.resize(np.array(weights), len(x))
    quantum = weight_quantum(float(w.max()), len(x))
    column = Column(Feature("a", "continuous"), x, w)
    counts = _counted(x, _parts(len(x), cuts), 1.0, w, quantum)
    few = counts.distinct()
    assert few is not None
    targets = wanted_weights(counts, k, np.arange(k + 1))
    expected = column.order_statistics(k)
    found, _ = _answered(x, counts, targets, _parts(len(x), cuts), 50, w)
    assert np.array_equal(found, expected)
    assert np.array_equal(few[0][np.searchsorted(np.cumsum(few[2]), targets)], expected)
    assert np.array_equal(few[0], np.unique(x[~np.isnan(x)] + 0.0))


def test_distinct_values_with_their_rows_and_weights():
    x = R.integers(0, 1000, N).astype(float)
    weights = R.random(N)
    quantum = weight_quantum(1.0, N)
    counts = _counted(x, _parts(N, [5, 6_000]), 500.0, weights, quantum)
    few = counts.distinct()
    assert few is not None
    values, rows, sums = few
    assert np.array_equal(values, np.unique(x))
    assert np.array_equal(rows, np.bincount(x.astype(int)))
    assert np.allclose(sums * quantum, np.bincount(x.astype(int), weights), rtol=1e-12)
    assert _counted(R.random(N), _parts(N, []), 0.5).distinct() is None


def test_infinities_are_counted():
    counts = ColumnCounts(0.0)
    counts.add(np.array([np.inf, -np.inf, np.nan, 1.0, 2.0]))
    assert (counts.n, counts.missing, counts.infinite) == (4, 1, 2)


@pytest.mark.parametrize("shape", ["unix times", "missing", "half a bucket"])
def test_without_compilation_the_counts_are_the_same(shape, monkeypatch):
    if not compilation.has_numba():
        pytest.skip("numba is not installed")
    x = SHAPES[shape]
    weights = R.random(N)
    quantum = weight_quantum(1.0, N)
    first = [_counted(x, _parts(N, [40]), 0.5, w, q) for w, q in ((None, None), (weights, quantum))]
    monkeypatch.setattr(order_statistics, "has_numba", lambda: False)
    monkeypatch.setattr(order_statistics, "compiled", None)
    second = [
        _counted(x, _parts(N, [40]), 0.5, w, q) for w, q in ((None, None), (weights, quantum))
    ]
    for one, other in zip(first, second, strict=True):
        for name in ("rows", "sums", "missing", "infinite", "integer", "low", "high", "weight"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
    counts = second[0]
    found, _ = _answered(x, counts, targets_of(counts.weight, 40, STEPS), _parts(N, [7]), 40_000)
    assert np.array_equal(found, _sorted_ranks(x))


def test_the_kernels_in_python():
    from skedasis.stream import order_statistics_kernels as kernels

    x = np.array([1.5, -2.0, np.nan, np.inf, 0.0, 3.0])
    bits = (x - 0.5).view(np.int64)
    rows, sums = np.zeros(1 << 18, dtype=np.int64), np.zeros(1 << 18, dtype=np.int64)
    with np.errstate(invalid="ignore"):
        found = kernels.count_values(x, bits, np.arange(1, 7), np.uint64(46), rows, sums)
    assert found == (1, 1, False)
    assert (rows.sum(), sums.sum()) == (4, 1 + 2 + 5 + 6)
    wanted = np.zeros(1 << 18, dtype=bool)
    wanted[np.flatnonzero(rows)[0]] = True
    index = np.empty(6, dtype=np.int64)
    with np.errstate(invalid="ignore"):
        assert kernels.find_candidates(x, bits, np.uint64(46), wanted, index) == 1
    assert index[0] == 1


@pytest.mark.parametrize("largest", [1e-300, 3e-5, 1.0, 2.0, 3.5, 1e12])
def test_sums_of_weights_fit_and_integers_are_exact(largest):
    n = 10**6
    quantum = weight_quantum(largest, n)
    assert np.frexp(quantum)[0] == 0.5
    assert int(quantised(np.array([largest]), quantum)[0]) * n < 2**62
    if largest % 1 == 0:
        assert quantised(np.array([1.0]), quantum)[0] * quantum == 1.0


def test_integer_sums_are_exact():
    values = R.integers(0, 2**60, 5)
    codes = np.array([0, 1, 0, 1, 1])
    assert integer_sums(codes, values // 4, 2).tolist() == [
        sum(int(v) // 4 for v, c in zip(values, codes, strict=True) if c == k) for k in (0, 1)
    ]


def test_sums_of_weights_do_not_depend_on_the_order():
    weights, codes = R.random(10_000) * 10.0 ** R.integers(-9, 9, 10_000), R.integers(0, 5, 10_000)
    quantum = weight_quantum(float(weights.max()), 10_000)
    order = R.permutation(10_000)
    one = weight_sums(codes, weights, 5, quantum)
    assert np.array_equal(one, weight_sums(codes[order], weights[order], 5, quantum))
    assert np.allclose(one, np.bincount(codes, weights), rtol=1e-9)


@given(
    st.lists(st.floats(0.0, 1.7e308), max_size=40),
    st.lists(st.integers(0, 40), max_size=4),
)
def test_exact_sums_are_those_of_any_parts(values, cuts):
    x = np.array(values)
    parts = [exact_sum(x[part]) for part in _parts(len(x), cuts)]
    try:
        expected = math.fsum(values)
    except OverflowError:
        expected = float("inf")
    assert rounded(sum(parts[::-1])) == rounded(exact_sum(x)) == expected


def test_the_state_is_small_when_it_is_sent():
    counts = _counted(SHAPES["cauchy"], _parts(N, []), 0.0)
    assert len(pickle.dumps(counts)) < 12 * np.count_nonzero(counts.rows) + 50_000
    search = RankSearch(counts, targets_of(N, 40, STEPS), 100)
    assert len(pickle.dumps(search)) < 5_000


@pytest.mark.parametrize("weighted", [False, True])
def test_a_tally_is_small_when_it_is_sent_and_the_same_afterwards(weighted):
    x = SHAPES["cauchy"]
    weights = np.arange(N) % 5 + 1.0 if weighted else None
    counts = ColumnCounts(0.0, weight_quantum(5.0, N) if weighted else None)
    counts.add(x, weights)
    search = RankSearch(counts, wanted_weights(counts, 40, STEPS), 100)
    assert search.narrows
    while not search.found:
        tally, other = search.tally(), search.tally()
        search.add(tally, x[::2], None if weights is None else weights[::2])
        search.add(other, x[1::2], None if weights is None else weights[1::2])
        sent = pickle.dumps(other)
        if other.rows is not None:
            assert len(sent) < other.rows.nbytes / 2 + (
                0 if other.sums is None else other.sums.nbytes
            )
        tally.merge(pickle.loads(sent))
        search.take(tally)
    repeated = x if weights is None else np.repeat(x, weights.astype(int))
    ranks = targets_of(len(repeated), 40, STEPS) - 1
    assert np.array_equal(search.answer(), np.sort(repeated)[ranks])


@pytest.mark.parametrize("weighted", [False, True])
def test_counts_of_many_ranks_stay_within_the_budget(weighted):
    x = np.random.default_rng(0).normal(size=50_000)
    weights = np.arange(len(x)) % 3 + 1.0 if weighted else None
    counts = ColumnCounts(0.0, weight_quantum(3.0, len(x)) if weighted else None)
    counts.add(x, weights)
    budget = 600_000
    search = RankSearch(counts, wanted_weights(counts, 500, np.arange(501)), budget)
    passes = 0
    while not search.found:
        tally = search.tally()
        tables = [t.nbytes for t in (tally.rows, tally.sums) if t is not None]
        assert sum(tables) <= budget
        search.add(tally, x, weights)
        search.take(tally)
        passes += 1
    assert passes <= 3
    repeated = x if weights is None else np.repeat(x, weights.astype(int))
    ranks = targets_of(len(repeated), 500, np.arange(501)) - 1
    assert np.array_equal(search.answer(), np.sort(repeated)[ranks])
