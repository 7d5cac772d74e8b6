"""Categories, groups and whole numbers of many values, read in chunks, are those of the same rows in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import skedasis as sd

pytest.importorskip("pyarrow")
import pandas as pd

from skedasis.data.column_stats import column_moments
from skedasis.stats.integer_weights import weight_quantum
from skedasis.stream import columns, dataset
from skedasis.stream.order_statistics import ColumnCounts
from tests.unit.stream.test_streams import _all_equal, _differences, _written

QUIET = {"progress": False, "heterogeneity_rows": 100}


# ------------------------------------------------------------------------------------ ordered categories
def _ordered(folder: Path, *files: tuple[list[str], list[str]]) -> Path:
    """Write a file for each pair of values and dictionary."""
    folder.mkdir()
    for i, (values, categories) in enumerate(files):
        column = pd.Categorical(values * 20, categories=categories, ordered=True)
        a = np.linspace(0, 1, len(column))
        pd.DataFrame({"c": column, "a": a}).to_parquet(folder / f"{i}.parquet")
    return folder


def _ranks(X):
    return X["c"].astype(str).map({"low": 0.0, "mid": 1.0, "high": 5.0}).to_numpy() * X["a"]


@pytest.mark.parametrize(
    "files",
    [
        [(["low", "high"], ["low", "high"]), (["low", "mid", "high"], ["low", "mid", "high"])],
        [(["low", "mid"], ["low", "mid"]), (["high"], ["mid", "high"])],
        [(["high"], ["mid", "high"]), (["low", "mid"], ["low", "mid"])],
    ],
    ids=["longer", "chain", "reversed chain"],
)
def test_orders_of_several_files_are_merged_into_one(tmp_path, files):
    data = sd.parquet(_ordered(tmp_path / "rows", *files))
    frame = pd.concat([pd.read_parquet(f) for f in sorted((tmp_path / "rows").iterdir())])
    full = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    memory = sd.explain(_ranks, frame.astype({"c": full}), method="ale", **QUIET)
    seen = []

    def model(X):
        seen.append(list(X["c"].cat.categories))
        return _ranks(X)

    found = sd.explain(model, data, method="ale", **QUIET)
    assert found["c"].levels.labels == ("low", "mid", "high")
    assert _all_equal(memory, found)
    assert all(categories == ["low", "mid", "high"] for categories in seen)


@pytest.mark.parametrize(
    ("orders", "words"),
    [
        ((["low", "high"], ["high", "low"]), ["'low' < 'high' in", "'high' < 'low' in"]),
        ((["low", "high"], ["low", "mid"]), ["'low' < 'high' in", "'low' < 'mid' in", "neither"]),
        ((["low", "mid"], ["mid", "high"], ["high", "low"]), ["'high' < 'low' in"]),
    ],
    ids=["contradiction", "no order", "circle"],
)
def test_orders_that_do_not_agree_are_refused_unless_one_is_declared(tmp_path, orders, words):
    data = sd.parquet(_ordered(tmp_path / "rows", *((order, order) for order in orders)))
    with pytest.raises(sd.DataError, match="column 'c'") as caught:
        sd.explain(_ranks, data, "c", method="ale", **QUIET)
    for word in [*words, "0.parquet", "levels=["]:
        assert word in str(caught.value)
    levels = ("low", "mid", "high")
    declared = {"c": sd.Feature("c", "ordinal", levels=levels)}
    found = sd.explain(_ranks, data, "c", method="ale", schema=declared, **QUIET)
    there = {value for order in orders for value in order}
    assert found.levels.labels == tuple(v for v in levels if v in there)


# ------------------------------------------------------------------------------------ groups
def _grouped(n: int = 3_000) -> pd.DataFrame:
    r = np.random.default_rng(0)
    p = r.choice(["u", "v"], n)
    return pd.DataFrame(
        {
            "p": p,
            "q": np.where(p == "u", r.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1]), "y"),
            "gap": np.where(r.random(n) < 0.1, np.nan, r.integers(0, 2, n)),
            # 7 is in rows only in which the other column is missing.
            "odd": r.integers(0, 2, n),
            "text": r.choice(list("abcd"), n),
            "a": r.normal(size=n),
            "weight": r.integers(1, 4, n) * 0.5,
        }
    ).assign(odd=lambda t: np.where(t.gap.isna() & (t.index > 2_000), 7, t.odd))


def _of_groups(X):
    return X["a"] * (1 + (X["p"] == "u")) + (X["q"] == "y") + X["odd"] * 1.0 + (X["text"] == "a")


GROUPS = {"pq": ["p", "q"], "rest": ["gap", "odd"]}


@pytest.mark.parametrize(
    ("method", "weight"), [("ale", "weight"), ("pdp", None), ("mplot", "weight")]
)
def test_groups_that_are_no_one_hot_block(tmp_path, method, weight):
    frame = _grouped()
    columns = ["p", "q", "gap", "odd", "text", "a"]
    where = _written(frame, tmp_path / "rows", [1, 1_500], [400])
    data = sd.parquet(where, columns=columns, sample_weight=weight)
    weights = {} if weight is None else {"sample_weight": frame[weight].to_numpy()}
    memory = sd.explain(
        _of_groups, frame[columns], method=method, groups=GROUPS, **QUIET, **weights
    )
    found = sd.explain(_of_groups, data, method=method, groups=GROUPS, **QUIET)
    assert _all_equal(memory, found)
    for name in ("pq", "rest"):
        assert found[name].levels.labels == memory[name].levels.labels
        assert np.array_equal(found[name].levels.weight, memory[name].levels.weight)
    assert len(found["pq"].levels.labels) == 4


# ------------------------------------------------------------------------------------ many whole numbers
@pytest.fixture
def few_distinct(monkeypatch):
    """Let 1,500 distinct values be too many to be collected."""
    for module in (columns, dataset):
        monkeypatch.setattr(module, "MAX_DISTINCT", 1_500)


def _identified(n: int = 4_000, gap: int = 1) -> pd.DataFrame:
    r = np.random.default_rng(1)
    return pd.DataFrame({"id": r.permutation(n) * gap + 7, "a": r.normal(size=n)})


def _curve(X):
    return np.sin(X["id"] / 900.0) * (1 + 0.5 * X["a"]) + X["a"]


@pytest.mark.usefixtures("few_distinct")
@pytest.mark.parametrize(
    "method",
    [
        None,
        sd.RHALE(bins=sd.Quantile(100)),
        sd.DALE(),
        pytest.param(sd.UALE(), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_whole_numbers_of_too_many_values_are_explained(tmp_path, method):
    frame = _identified()
    data = sd.parquet(_written(frame, tmp_path / "rows", [1_000], [700]))
    memory = sd.explain(_curve, frame, method=method, **QUIET)
    found = sd.explain(_curve, data, method=method, **QUIET)
    assert list(found) == ["id", "a"]
    assert not _differences(memory["a"], found["a"])
    one, other = memory["id"], found["id"]
    x = np.linspace(one.x[0], one.x[-1], 50)
    assert np.abs(one(x) - other(x)).max() < 0.02 * one.importance
    assert "too many distinct values" in found["id"].provenance["local_effects"]
    assert "too many" not in memory["id"].provenance["local_effects"]


@pytest.mark.usefixtures("few_distinct")
@pytest.mark.parametrize(("gap", "steps"), [(1, False), (1_000, True), (10**9, False)])
def test_steps_are_told_from_slopes_as_in_memory(tmp_path, gap, steps):
    frame = _identified(gap=gap)
    data = sd.parquet(_written(frame, tmp_path / "rows", [1_000], [700]))

    def model(X):
        z = X["id"] / (gap * 900.0)
        return np.floor(3 * z) * X["a"] if steps else np.sin(z) * (1 + X["a"])

    memory = sd.explain(model, frame, "id", method=sd.RHALE(), **QUIET)
    found = sd.explain(model, data, "id", method=sd.RHALE(), **QUIET)
    assert ("piecewise" in memory.provenance["local_effects"]) == steps
    assert ("piecewise" in found.provenance["local_effects"]) == steps
    assert found.importance == pytest.approx(memory.importance, rel=0.02)


# ------------------------------------------------------------------------------------ the most frequent levels
def _frequent(n: int = 9_000) -> pd.DataFrame:
    r = np.random.default_rng(2)
    level = np.minimum(r.geometric(0.15, n), 2_500)
    level[:2_400] = np.arange(2_400) + 30
    frame = pd.DataFrame({"k": [f"k{v:04}" for v in level], "a": r.normal(size=n) + level % 5})
    frame["m"] = np.where(r.random(n) < 0.2, np.nan, r.normal(size=n) * (1 + level % 3))
    frame["text"] = np.where((level + r.integers(0, 2, n)) % 3 == 0, "u", "v")
    frame["weight"] = r.integers(1, 4, n) * 0.5
    return frame


def _of_levels(X):
    return X["a"] * (X["k"] < "k0004") + (X["text"] == "u") * (X["k"] == "k0002")


@pytest.mark.parametrize(
    ("method", "weight"),
    [
        (sd.ALE(top_levels=7), "weight"),
        (sd.ALE(top_levels=3, order=["k0003", "k0001", "k0002"]), None),
        (sd.PDP(top_levels=7), None),
        (sd.MPlot(top_levels=7), "weight"),
    ],
    ids=str,
)
def test_the_most_frequent_levels(tmp_path, method, weight):
    frame = _frequent()
    columns = ["k", "a", "m", "text"]
    where = _written(frame, tmp_path / "rows", [1, 4_000], [900])
    data = sd.parquet(where, columns=columns, sample_weight=weight)
    weights = {} if weight is None else {"sample_weight": frame[weight].to_numpy()}
    memory = sd.explain(_of_levels, frame[columns], "k", method=method, **QUIET, **weights)
    found = sd.explain(_of_levels, data, "k", method=method, **QUIET)
    assert found.levels.labels == memory.levels.labels
    assert not _differences(memory, found)


@pytest.mark.parametrize("weight", [None, "weight"])
def test_the_similarity_of_ordered_levels_with_missing_values(tmp_path, weight):
    """Rows without a level are not compared."""
    frame = _frequent().assign(c=lambda t: (t.a.round() % 6).where(t.m.notna()))
    # What rows without a level have is different.
    frame["a"] = np.where(frame.c.isna(), frame.a * 100, frame.a)
    columns = ["c", "a", "text"]
    where = _written(frame, tmp_path / "rows", [4_000], [900])
    data = sd.parquet(where, columns=columns, sample_weight=weight)
    weights = {} if weight is None else {"sample_weight": frame[weight].to_numpy()}
    options = {"method": sd.ALE(order="similarity"), "schema": {"c": "ordinal"}, **QUIET}
    model = lambda X: X["a"] * X["c"].fillna(0)  # noqa: E731
    memory = sd.explain(model, frame[columns], "c", **options, **weights)
    found = sd.explain(model, data, "c", **options)
    assert not _differences(memory, found)


@pytest.mark.parametrize("sampling", [False, True])
@pytest.mark.parametrize("unit", [0.25, 1.0, 150.0])
def test_distributions_are_compared_at_the_same_points_in_chunks(sampling, unit):
    rng = np.random.default_rng(6)
    x, weights = rng.normal(size=800).round(2), rng.integers(1, 3, 800) * unit
    quantum = weight_quantum(weights.max(), len(x))
    counts = ColumnCounts(0.0, quantum)
    counts.add(x, weights)
    moments = column_moments(x, weights)
    column = columns.CountedColumn(
        sd.Feature("x"), counts, moments, x.dtype, quantum, sampling=sampling
    )
    # Type 7: the values at p (W - one row's weight) of the cumulative weight.
    order = np.argsort(x)
    below = np.cumsum(weights[order])
    row = weights.mean() if sampling else min(1.0, weights.mean())
    at = np.arange(100) * (weights.sum() - row) / 99
    wanted = np.unique(x[order][np.searchsorted(below, at, side="right")])
    np.testing.assert_array_equal(column.quantile_floors(), wanted)


@pytest.mark.parametrize("weighted", [False, True])
def test_counts_up_to_points_are_those_of_all_values(weighted):
    """Also between values: the largest value up to a point is that of an earlier interval."""
    rng = np.random.default_rng(5)
    x = np.round(rng.normal(size=300), 1) + 0.0
    x[::7] = np.nan
    points = np.sort(np.concatenate([[-9.0, 9.0, 9.5], np.linspace(-2.5, 2.5, 101)]))
    w = rng.integers(1, 9, 300).astype(float) if weighted else None
    parts = [columns.CountedUpto(points, 1.0) for _ in range(3)]
    for part, some in zip(parts, np.array_split(np.arange(300), 3), strict=True):
        part.add(x[some], None if w is None else w[some])
    for other in parts[1:]:
        parts[0].merge(other)
    found = parts[0].answer()
    for k, point in enumerate(points.tolist()):
        below = x <= point
        assert found.rows[k] == below.sum()
        assert found.weight[k] == (below.sum() if w is None else w[below].sum())
        largest = x[below].max() if below.any() else np.nan
        np.testing.assert_equal(found.largest[k], largest)
