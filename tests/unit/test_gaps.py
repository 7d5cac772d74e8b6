"""Columns as people have them: sentinels, values that most rows have, sparse tails. Their cells, gaps and curves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import skedasis as sd
from skedasis.binning import auto_cells
from skedasis.data.column_stats import Column
from skedasis.data.features import Feature
from skedasis.stats.ale_math import fill_from_trusted

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


@pytest.mark.parametrize("seed", range(3))
def test_sentinels_are_found_whatever_the_random_state(seed):
    x, f = columns()["two sentinels"]
    e = explained(x, f, "rhale", random_state=seed)
    assert e.importance == pytest.approx(np.std(f(x)), rel=0.02)


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


def test_rows_in_another_order_give_the_same_curve():
    x, f = columns()["capped"]
    X = np.column_stack([x, np.random.default_rng(9).normal(size=N)])
    ids, shuffled = np.arange(N), np.random.default_rng(2).permutation(N)
    q = lambda X: f(X[:, 0]) * (1 + X[:, 1])  # noqa: E731
    one = sd.explain(q, X, 0, method="ale", row_id=ids)
    other = sd.explain(q, X[shuffled], 0, method="ale", row_id=ids[shuffled])
    np.testing.assert_allclose(one.value, other.value, rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["two sentinels", "capped"])
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


def test_gaps_are_saved_and_binned_again(tmp_path):
    x, f = columns()["two sentinels"]
    e = explained(x, f, "ale")
    e.save(tmp_path / "e.npz")
    loaded = sd.load(tmp_path / "e.npz")
    assert loaded.about.gaps == e.about.gaps
    edges = e.cells.edges[np.r_[0, 5, 20, len(e.cells) - 1, len(e.cells)]]
    again = loaded.rebin(sd.Edges(edges, closed="right"))
    np.testing.assert_allclose(np.diff(again.value), np.diff(e(edges)), rtol=1e-12)
    low, high = e.interval(method="bootstrap", replicates=50)
    assert np.all(low <= e.value + 1e-12)
    assert np.all(high >= e.value - 1e-12)


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
