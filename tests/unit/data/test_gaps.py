"""Columns as people have them: sentinels, values that most rows have, sparse tails. Their cells, gaps and curves."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import skedasis as sd
from skedasis.binning import auto_cells
from skedasis.data.column_stats import Column
from skedasis.data.features import Feature
from skedasis.results.build.linear_form import slopes_across_gaps
from skedasis.results.main_stretch import beyond as rows_beyond_gaps
from skedasis.results.main_stretch import main_part
from skedasis.stats.ale_math import fill_from_trusted
from skedasis.stats.moments import Moments

N = 2000
Curve = Callable[[np.ndarray], np.ndarray]


def columns(seed: int = 0, n: int = N) -> dict[str, tuple[np.ndarray, Curve]]:
    """Return columns by name, each with the effect of its values."""
    rng = np.random.default_rng(seed)
    income = rng.lognormal(3, 0.6, n)
    income[:2] = 99999
    age = rng.uniform(18, 80, n)
    age[:3] = -999
    outlier = rng.normal(size=n)
    outlier[0] = 1e6
    one_value = np.where(rng.random(n) < 0.97, 2.0, rng.uniform(3, 239, n))
    zeros = np.where(rng.random(n) < 0.92, 0.0, rng.lognormal(5, 2, n))
    capped = np.minimum(zeros, 500)
    capped[:5] = 99999
    return {
        "two sentinels": (income, lambda x: 3 * np.log1p(x)),
        "three sentinels": (age, lambda x: np.clip(x, 18, None) / 16),
        "one outlier": (outlier, np.arctan),
        "97 % one value": (one_value, lambda x: 4 * np.tanh((x - 2) / 60)),
        "92 % zeros": (zeros, lambda x: 1.4 * np.log1p(x)),
        "capped": (capped, lambda x: 4 / (1 + np.exp(-(x - 250) / 100))),
    }


def explained(x: np.ndarray, f: Curve, method: object, **keywords: object) -> sd.Effect:
    """Return the effect of a column under an additive model with another feature."""
    X = np.column_stack([x, np.random.default_rng(99).normal(size=len(x))])
    return sd.explain(lambda X: f(X[:, 0]) + X[:, 1], X, 0, method=method, **keywords)


@pytest.mark.parametrize("method", ["rhale", "ale", "pdp"])
@pytest.mark.parametrize("name", columns())
def test_importance_and_rise_are_those_of_the_model(name, method):
    x, f = columns()[name]
    e = explained(x, f, method)
    # The slope at zero, which most rows have, tells less of the rise to the next value.
    rel = 0.03 if (name, method) == ("92 % zeros", "rhale") else 0.02
    assert e.importance == pytest.approx(np.std(f(x)), rel=rel)
    assert np.ptp(e.value) == pytest.approx(np.ptp(f(x)), rel=rel)


def test_one_sentinel_in_many_rows():
    x = np.random.default_rng(1).normal(size=100_000)
    x[5] = 1e6
    e = explained(x, np.arctan, "rhale")
    assert e.importance == pytest.approx(np.std(np.arctan(x)), rel=0.02)
    assert np.ptp(e.value) == pytest.approx(np.ptp(np.arctan(x)), rel=0.02)


@pytest.mark.parametrize(
    "f", [lambda x: np.sin(5 * x), lambda x: np.exp(-((x - 0.6) ** 2) / 0.06)], ids=["sine", "bump"]
)
def test_a_sparse_tail_keeps_its_shape(f):
    """4 % of the rows lie on 75 % of the axis; 32 quantiles leave one cell to it, and an error of 92 % of the range."""
    from sklearn.ensemble import GradientBoostingRegressor

    rng = np.random.default_rng(0)
    x = rng.uniform(0, 0.25, 5000)
    x[:200] = rng.uniform(0.25, 1, 200)
    X = np.column_stack([x, rng.normal(size=5000)])
    trees = GradientBoostingRegressor(n_estimators=200).fit(X, f(x))
    e = sd.explain(trees, X, 0)
    at = np.linspace(x.min(), x.max(), 1000)
    error = e(at) - trees.predict(np.column_stack([at, 0 * at]))
    error -= np.mean(e(x) - trees.predict(X))
    assert np.abs(error).max() < 0.1 * np.ptp(f(at))


# --- cells ----------------------------------------------------------------------------------------


def column(x: np.ndarray, weights: np.ndarray | None = None) -> Column:
    return Column(Feature("x"), np.asarray(x, dtype=float), weights)


@pytest.mark.parametrize("draw", ["uniform", "integers"])
@pytest.mark.parametrize("n", [20, 26, 33, 100, 5000])
def test_clean_columns_have_the_cells_of_quantiles(n, draw):
    rng = np.random.default_rng(n)
    x = rng.uniform(size=n) if draw == "uniform" else rng.permutation(n).astype(float)
    cells = auto_cells(column(x))
    assert cells.gaps == ()
    wanted = sd.Quantile(32).candidates(column(x)).edges
    np.testing.assert_array_equal(cells.edges, wanted)


@given(st.integers(0, 10**6))
def test_cuts_of_wide_cells_have_ten_rows_on_both_sides(seed):
    x = np.random.default_rng(seed).standard_t(4, 600)
    quantiles = np.unique(np.sort(x)[np.maximum(-(-600 * np.arange(33) // 32), 1) - 1])
    ends = [z for pair in gaps_by_sorting(x) for z in pair]
    cells = auto_cells(column(x))
    cuts = np.setdiff1d(cells.edges, np.concatenate([quantiles, ends]))
    assert set(quantiles) | set(ends) <= set(cells.edges.tolist())
    assert len(cells.edges) - len(quantiles) <= max(12, len(ends))
    assert np.isin(cuts, x).all()
    for z in cuts:
        k = int(np.searchsorted(cells.edges, z))
        low, high = cells.edges[[k - 1, k + 1]]
        assert np.count_nonzero((x > low) & (x <= z)) >= 10
        assert np.count_nonzero((x > z) & (x <= high)) >= 10


def gaps_by_sorting(x: np.ndarray) -> list[tuple[float, float]]:
    """Return the gaps by their definition: breadth first among the sorted distinct values."""
    v, found, level = np.unique(x), [], [(0, len(np.unique(x)) - 1)]
    while level and len(found) < 8:
        after = []
        for a, b in level:
            if b - a < 2 or len(found) == 8:
                continue
            steps = np.diff(v[a : b + 1])
            k = a + int(steps.argmax())
            if v[k + 1] - v[k] > 0.25 * (v[b] - v[a]):
                found.append((v[k], v[k + 1]))
                after += [(a, k), (k + 1, b)]
        level = after
    return sorted(found)


@given(st.integers(0, 10**6), st.sampled_from([40, 3000]), st.integers(0, 4))
def test_gaps_are_those_of_the_sorted_values(seed, n, outliers):
    rng = np.random.default_rng(seed)
    x = rng.choice([rng.normal(size=n), rng.lognormal(0, 2, n), rng.integers(0, 40, n)])
    x = x * 10.0 ** rng.integers(-9, 9)
    for k in range(outliers):
        x[k] = x.max() * 10.0 ** rng.integers(-2, 5)
    assert [(g.left, g.right) for g in column(x).gaps] == gaps_by_sorting(x)


def quantiles_and_atoms(x: np.ndarray) -> np.ndarray:
    """Return the edges before gaps and cuts by their definition: sorted rows, counted one by one."""
    rest, atoms, parts = np.sort(x), np.zeros(0), 32
    while True:
        n = len(rest)
        quantiles = rest[[max(-(-n * j // parts), 1) - 1 for j in range(parts + 1)]]
        values, times = np.unique(quantiles, return_counts=True)
        again = values[times > 1]
        if not len(again):
            return np.unique(np.concatenate([x[[x.argmin(), x.argmax()]], atoms, quantiles]))
        atoms = np.union1d(atoms, again)
        rest = rest[~np.isin(rest, atoms)]
        if len(atoms) >= 32 or not len(rest):
            return np.union1d(x[[x.argmin(), x.argmax()]], atoms)
        parts = min(32 - len(atoms), max(1, len(rest) // 10))


def cells_by_sorting(x: np.ndarray) -> np.ndarray:
    """Return the edges of the automatic cells by their definition."""
    gaps = gaps_by_sorting(x)
    edges = np.unique(np.concatenate([quantiles_and_atoms(x), *map(np.array, gaps)]))
    starts = [left for left, _ in gaps]
    length = sum(b - a for a, b in pairwise(edges) if a not in starts)
    added: list[float] = []
    for a, b in pairwise(edges):
        if a in starts or b - a <= length / 16 * (1 + 1e-9):
            continue
        pieces, last = math.ceil((b - a) / (length / 16) * (1 - 1e-9)), a
        for z in np.linspace(a, b, pieces + 1)[1:-1]:
            if ((x > last) & (x <= z)).sum() >= 10 and ((x > z) & (x <= b)).sum() >= 10:
                added.append(x[x <= z].max())
                last = z
    return np.union1d(edges, added[: max(12 - 2 * len(gaps), 0)])


@given(st.integers(0, 10**6))
def test_cells_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([150, 600, 3000]))
    x = [rng.standard_t(2, n), rng.lognormal(0, 1.5, n), rng.uniform(size=n) ** 3][seed % 3]
    # A sparse tail, values that many rows have, and sentinels.
    some = rng.random(n)
    x = np.where(some < rng.choice([0.0, 0.05]), rng.uniform(x.max(), 4 * x.max(), n), x)
    for _ in range(rng.integers(0, 4)):
        x = np.where(rng.random(n) < rng.choice([0.05, 0.3]), rng.choice(x), x)
    x[: rng.integers(0, 3)] = x.max() * 50
    np.testing.assert_array_equal(auto_cells(column(x)).edges, cells_by_sorting(x))


@given(st.integers(0, 10**6))
def test_a_weight_is_a_repetition_for_cells_and_gaps(seed):
    rng = np.random.default_rng(seed)
    x, _ = list(columns(seed, 1500).values())[seed % 6]
    w = rng.integers(1, 4, len(x))
    weighted, repeated = column(x, w.astype(float)), column(np.repeat(x, w))
    one, other = auto_cells(weighted), auto_cells(repeated)
    np.testing.assert_array_equal(one.edges, other.edges)
    assert one.gaps == other.gaps
    assert [g.share for g in weighted.gaps] == pytest.approx([g.share for g in repeated.gaps])


def test_a_gap_knows_the_rows_beyond_it():
    x, _ = columns()["two sentinels"]
    (gap,) = [g for g in column(x).gaps if g.separates]
    assert (gap.right, gap.end, gap.rows, gap.side) == (99999.0, 99999.0, 2, "right")
    assert gap.left == np.sort(x)[-3]
    assert gap.share == pytest.approx(2 / N)
    assert gap.few_beyond
    # Codes of 1 % and more are a part of the axis, also if they are one value; of several values, 1 % are a tail.
    for rows, code, expected in ((30, False, (False, False)), (30, True, (True, False))):
        beyond = 9999.0 if code else np.linspace(9000, 9999, rows)
        (gap,) = column(np.append(x[2:], np.full(rows, beyond) if code else beyond)).gaps[-1:]
        assert (gap.separates, gap.few_beyond) == expected
    # What is wide within rows that a gap has put aside does not separate the others.
    aside = column(np.concatenate([np.linspace(0, 1, 500), [1000.0, 1001.0, 1900.0]]))
    assert [g.separates for g in aside.gaps if g.left > 1] == [False]
    two_clusters = np.random.default_rng(0).normal(size=N) + np.where(np.arange(N) < N / 2, 9, -9)
    assert [g.separates for g in column(two_clusters).gaps] == [False]


# --- the rise across a gap ------------------------------------------------------------------------


def test_the_rise_across_a_gap_is_that_of_the_nearest_rows_on_both_sides():
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(0, 1, 150), rng.uniform(9, 10, 150)])
    X = np.column_stack([x, rng.normal(size=300)])
    q = lambda X: X[:, 0] ** 2 * (1 + X[:, 1])  # noqa: E731
    e = sd.explain(q, X, 0, method="ale")
    order = np.argsort(x)
    left, right = x[order[149]], x[order[150]]
    rises = []
    for side in (order[118:150], order[150:182]):
        low, high = X[side].copy(), X[side].copy()
        low[:, 0], high[:, 0] = left, right
        rises.append(q(high) - q(low))
    k = int(np.searchsorted(e.x, left))
    assert e.value[k + 1] - e.value[k] == pytest.approx(np.mean([r.mean() for r in rises]))
    error = np.sqrt(sum(r.var(ddof=1) / 32 for r in rises) / 4)
    assert e.bins.std_error[k] * (right - left) == pytest.approx(error)


def test_weights_are_repetitions_across_a_gap():
    rng = np.random.default_rng(7)
    x = np.concatenate([rng.uniform(0, 1, 100), rng.uniform(9, 10, 5)])
    X, w = np.column_stack([x, rng.normal(size=105)]), rng.integers(1, 4, 105)
    q = lambda X: X[:, 0] ** 2 * (1 + X[:, 1])  # noqa: E731
    weighted = sd.explain(q, X, 0, method="ale", sample_weight=w)
    repeated = sd.explain(q, np.repeat(X, w, axis=0), 0, method="ale")
    assert weighted.cells.gaps == repeated.cells.gaps != ()
    np.testing.assert_allclose(weighted.value, repeated.value, rtol=1e-10)
    np.testing.assert_allclose(weighted.std_error, repeated.std_error, rtol=1e-10)


def test_the_two_sides_of_a_gap_count_half_each():
    rng = np.random.default_rng(3)
    sides = rng.normal(2, 1, 32), rng.normal(5, 3, 5)

    def across(*sides: np.ndarray) -> list[float]:
        group = np.repeat([0, 1], [len(side) for side in sides])
        found = slopes_across_gaps(Moments.of(np.concatenate(sides), group, 2), 1, "frequency")
        return [float(part[0]) for part in found]

    slope, variance, size, df = across(*sides)
    assert slope == pytest.approx(sum(s.mean() for s in sides) / 2)
    errors = [s.var(ddof=1) / len(s) / 4 for s in sides]
    assert variance / size == pytest.approx(sum(errors))
    freedom = sum(errors) ** 2 / sum(
        e**2 / (len(s) - 1) for e, s in zip(errors, sides, strict=True)
    )
    assert df == pytest.approx(freedom)
    # A single row has the variance of the other side; a side without rows leaves the other alone.
    slope, variance, size, _ = across(sides[0], sides[1][:1])
    assert slope == pytest.approx((sides[0].mean() + sides[1][0]) / 2)
    assert variance / size == pytest.approx(sides[0].var(ddof=1) * (1 / 32 + 1) / 4)
    slope, variance, size, df = across(sides[0][:0], sides[1])
    assert (slope, df) == (pytest.approx(sides[1].mean()), pytest.approx(4))
    assert variance / size == pytest.approx(sides[1].var(ddof=1) / 5)
    slope, _, size, _ = across(sides[0][:0], sides[1][:0])
    assert np.isnan(slope)
    assert size == 0


def clusters(seed: int, n: int = 1000) -> np.ndarray:
    """Return half of the rows below 1 and half above 9, in random order, with another feature."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.uniform(0, 1, n // 2), rng.uniform(9, 10, n - n // 2)])
    return np.column_stack([rng.permutation(x), rng.normal(size=n)])


def waves(X: np.ndarray) -> np.ndarray:
    """Rise by 1 across the gap in every row; the waves of the two halves of the other feature have opposite signs."""
    return np.where(X[:, 1] > 0, 1, -1) * np.sin(2 * np.pi * X[:, 0]) + (X[:, 0] > 5)


@pytest.mark.parametrize(("method", "seed"), [("ale", 0), (sd.RHALE(local_effects="steps"), 1)])
def test_a_region_rises_across_a_gap_as_its_own_rows_do(method, seed):
    """The row at the right end of the gap is in one region only; the other one was bridged by slopes beside the gap."""
    X = clusters(seed)
    for found in (
        list(sd.regions(waves, X, 0, method=method, progress=False)),
        list(sd.explain(waves, X, 0, method=method, by=X[:, 1] > 0, progress=False)),
    ):
        assert len(found) == 2
        for e in found:
            assert e.at(9.5) - e.at(0.5) == pytest.approx(1, abs=0.1)
            assert e.importance == pytest.approx(np.sqrt(0.75), rel=0.1)


def test_a_region_without_rows_near_a_gap_rises_as_the_whole():
    X = clusters(0)
    order = np.argsort(X[:, 0])
    X[:, 1] = -1
    X[order[400:600], 1] = 1
    first, second = sd.explain(waves, X, 0, method="ale", by=X[:, 1] > 0, progress=False)
    whole = sd.explain(waves, X, 0, method="ale", progress=False)
    (k,) = whole.cells.gaps
    assert {len(e.cells.gaps) for e in (first, second)} == {1}
    for e in (first, second):
        at = e.at(whole.cells.edges[[k, k + 1]])
        assert np.diff(at) == pytest.approx(np.diff(whole.at(whole.cells.edges[[k, k + 1]])))


def test_models_of_many_folds_rise_across_a_gap_as_their_own_rows_do():
    """A fold of 20 rows has none of the 64 rows that are the nearest ones of all."""
    X = clusters(1)
    step = lambda X: 5 * (X[:, 0] > 5) + X[:, 1]  # noqa: E731
    parts = np.array_split(np.arange(1000), 50)
    folds = [(np.setdiff1d(np.arange(1000), part), part) for part in parts]
    e = sd.explain([step] * 50, X, 0, method="ale", cv=folds, progress=False)
    for one in e.models:
        (k,) = one.cells.gaps
        assert one.value[k + 1] - one.value[k] == pytest.approx(5, rel=1e-9)


def test_a_bin_that_begins_with_a_gap_has_the_variance_that_its_cells_share():
    X = clusters(2)
    q = lambda X: X[:, 0] ** 2 * X[:, 1]  # noqa: E731
    e = sd.explain(q, X, 0, method=sd.ALE(center="start"), progress=False)
    (k,) = e.cells.gaps
    edges = e.cells.edges
    binned = e.rebin(sd.Edges(edges[[0, k, len(edges) - 1]], closed="right"))
    local = e.moments["local"]
    wanted = local.m2[k:].sum() / (local.weight[k:][local.weight[k:] > 1] - 1).sum()
    assert binned.bins.std[1] == pytest.approx(np.sqrt(wanted))
    # The error across the gap remains that of the nearest rows.
    assert binned.std_error == pytest.approx(e.std_error[[0, k, len(edges) - 1]], rel=0.1)


def test_half_of_a_grid_is_quantiles_and_no_point_lies_in_a_gap():
    rng = np.random.default_rng(8)
    x = np.concatenate([rng.normal(0, 1, 1200), rng.normal(40, 1, 800)])
    found = explained(x, np.sin, sd.PDP(grid=50)).x
    ((left, right),) = gaps_by_sorting(x)
    n = len(x)
    ranks = np.sort(x)[[max(-(-n * j // 25), 1) - 1 for j in range(26)]]
    quantiles = np.union1d(ranks, [left, right])
    first, last = np.sort(x)[[n // 20 - 1, 19 * n // 20 - 1]]
    uniform = np.linspace(first, last, 50 - len(quantiles))
    uniform = uniform[(uniform <= left) | (uniform >= right)]
    np.testing.assert_allclose(found, np.union1d(quantiles, uniform), rtol=1e-12)


# --- M-plots --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("beyond", "side"), [([50000] * 9 + [60000], 1), ([50000] * 9 + [99999], -1), ([5000] * 3, 1)]
)
def test_rows_beyond_a_gap_have_bins_of_their_own_in_an_m_plot(beyond, side):
    x = side * np.random.default_rng(0).lognormal(3, 0.6, N)
    x[: len(beyond)] = side * np.array(beyond)
    f = lambda x: np.log1p(np.abs(x))  # noqa: E731
    e = explained(x, f, sd.MPlot())
    part = main_part(e).effect
    z = np.random.default_rng(99).normal(size=N)
    rest = np.ones(N, dtype=bool)
    rest[: len(beyond)] = False
    assert (np.diff(part.points) > 0).all()
    assert (part.bins.weight * part.value).sum() == pytest.approx((f(x) + z)[rest].sum())
    assert (part.bins.weight * part.points).sum() == pytest.approx(x[rest].sum())
    own = [(b.low, b.high, b.rows, b.value) for b in rows_beyond_gaps(e)]
    for low, high, rows, value in own:
        there = (x >= low) & (x <= high)
        assert (rows, value) == (there.sum(), pytest.approx((f(x) + z)[there].mean()))
    assert sum(rows for _, _, rows, _ in own) == len(beyond)


def test_a_mean_over_rows_on_both_sides_of_a_gap_is_not_drawn():
    x = np.random.default_rng(0).lognormal(3, 0.6, N)
    x[:9], x[9] = 50000, 60000
    e = explained(x, np.log1p, sd.MPlot(sd.Quantile(50)))
    part = main_part(e).effect
    np.testing.assert_array_equal(part.points, e.points[:-1])
    np.testing.assert_array_equal(part.value, e.value[:-1])
    (beyond,) = rows_beyond_gaps(e)
    assert np.isnan(beyond.value)
    labels = [text.get_text() for key in e.plot().legends for text in key.get_texts()]
    assert "50,000 to 60,000 (n=10), no mean of their own" in labels


# --- the variance of single rows ------------------------------------------------------------------


def test_a_single_row_takes_the_variance_of_the_nearest_cell_with_ten():
    filled = fill_from_trusted(
        np.array([1.0, np.nan, 4.0, 9.0, np.nan]), np.array([True, False, False, True, False])
    )
    # The second is nearer to the first than to the fourth; the third has a variance of its own.
    assert filled.tolist() == [1.0, 1.0, 4.0, 9.0, 9.0]


def test_ties_beside_a_gap_cost_few_rows():
    """90 % of the rows share a value beside a gap: about 32 of them are evaluated."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random(N) < 0.9, 0.0, rng.uniform(90, 100, N))
    e = explained(x, lambda x: x / 10, "ale")
    (k,) = e.cells.gaps
    counts = e.moments["gap"].count
    assert 15 < counts[0] < 55
    assert counts[1] == 32
    assert e.cells.edges[k] == 0.0
    assert np.ptp(e.value) == pytest.approx(np.ptp(x) / 10)


@pytest.mark.parametrize(("name", "weighted"), [("two sentinels", False), ("capped", True)])
def test_data_that_are_read_in_chunks_have_the_same_cells(name, weighted, tmp_path):
    pytest.importorskip("pyarrow")
    x, f = columns(n=4000)[name]
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {"x": x, "z": rng.normal(size=len(x)), "w": rng.integers(1, 4, len(x)) * 1.0}
    )
    frame.to_parquet(tmp_path / "rows.parquet")
    q = lambda X: f(np.asarray(X["x"])) + np.asarray(X["z"])  # noqa: E731
    w = frame["w"] if weighted else None
    data = sd.parquet(tmp_path, columns=["x", "z"], sample_weight="w" if weighted else None)
    memory = sd.explain(q, frame[["x", "z"]], "x", sample_weight=w)
    streamed = sd.explain(q, data, "x")
    np.testing.assert_array_equal(memory.x, streamed.x)
    np.testing.assert_array_equal(memory.value, streamed.value)
    assert memory.about.gaps == streamed.about.gaps != ()


# --- checks ---------------------------------------------------------------------------------------


def test_what_lies_beyond_a_gap_is_said():
    x, f = columns()["two sentinels"][0], np.arctan
    (found,) = explained(x, f, "rhale").checks().of("gap").warnings
    assert found.rows == 2
    assert "beyond it lie 2 rows (0.1 %), at 99,999." in found.message
    tail = np.append(np.random.default_rng(0).uniform(size=N), [1.6, 1.7])
    (found,) = explained(tail, f, "pdp").checks().of("gap")
    assert found.severity == "note"
    assert "The right tail of 'x0' is sparse: beyond" in found.message
    clean = np.random.default_rng(0).normal(size=N)
    assert not explained(clean, f, "rhale").checks().of("gap")


def test_whole_numbers_beyond_a_gap_do_not_bend_the_others():
    rng = np.random.default_rng(0)
    x = rng.lognormal(4, 0.6, N).round()
    x[:2] = 99999
    e = explained(x, lambda x: 3 * np.log1p(x), "rhale")
    inside = x < 99999
    error = e(x[inside]) - 3 * np.log1p(x[inside])
    assert np.ptp(error) < 0.05 * np.ptp(3 * np.log1p(x[inside]))
    assert e.importance == pytest.approx(np.std(3 * np.log1p(x)), rel=0.02)
