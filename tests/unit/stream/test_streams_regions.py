"""Regions and interactions of data that are read in chunks."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from skedasis.engine.region_rows import CountPass

pytest.importorskip("pyarrow")
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

N = 20_000
NAMES = ["a", "b", "c", "d", "t"]
OFF = {"progress": False, "heterogeneity_rows": 1_000}


@pytest.fixture(scope="module")
def frame():
    r = np.random.default_rng(0)
    found = pd.DataFrame({"a": r.normal(size=N), "b": r.normal(size=N)})
    found["c"] = r.choice(list("xyz"), N)
    found["d"] = r.integers(0, 7, N).astype(float)
    found["t"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(r.integers(0, 500, N), "D")
    found.loc[r.random(N) < 0.1, "b"] = np.nan
    found.loc[r.random(N) < 0.05, "a"] = np.nan
    found["w"] = r.integers(1, 4, N).astype(float)
    return found


@pytest.fixture(scope="module")
def path(frame, tmp_path_factory):
    where = tmp_path_factory.mktemp("regions")
    for i, (start, stop) in enumerate([(0, 7), (7, 12_000), (12_000, N)]):
        table = pa.Table.from_pandas(frame.iloc[start:stop], preserve_index=False)
        pq.write_table(table, where / f"{i}.parquet", row_group_size=3_001)
    return where


def _function(X):
    late = X["t"] > pd.Timestamp("2024-09-01")
    slope = np.where(X["c"] == "x", 2.0, -1.0) + (X["d"] > 3) + 0.5 * late
    return np.asarray(X["a"].fillna(0) * slope + X["b"].fillna(0))


def _described(regions):
    lines = [(n.rule, n.count, n.weight, n.loss, n.note) for n in regions.nodes]
    effects = [
        (
            np.asarray(e.x).tolist(),
            e.value.tobytes(),
            e.std_error.tobytes(),
            e.about.missing,
            e.about.feature_std,
            e.heterogeneity_score,
        )
        for e in regions.effects
    ]
    scores = regions.scores.explained, regions.loss_explained, regions.loss_explained_in_sample
    return lines, effects, [repr(s) for s in scores]


def _both(frame, path, weighted):
    source = sd.parquet(path, columns=NAMES, sample_weight="w" if weighted else None)
    return source, {"sample_weight": frame["w"].to_numpy()} if weighted else {}


@pytest.mark.parametrize(
    ("method", "weighted"),
    [(None, True), (sd.ALE(), False), (sd.PDP(grid=9), True), (sd.ICE(grid=5), False)],
    ids=repr,
)
def test_regions_are_those_of_memory_where_all_rows_are_kept(frame, path, method, weighted):
    source, weights = _both(frame, path, weighted)
    found = sd.regions(_function, source, "a", method=method, **OFF)
    memory = sd.regions(_function, frame[NAMES], "a", method=method, **OFF, **weights)
    assert len(memory.leaves) >= 4
    assert _described(found) == _described(memory)
    assert found.provenance["exact"] is memory.provenance["exact"] is True
    assert found.provenance["passes"] >= 5


@pytest.mark.slow
def test_a_nominal_feature_and_one_tree_for_all(frame, path):
    source, _ = _both(frame, path, False)
    for call in (
        lambda X: {"c": sd.regions(_function, X, "c", **OFF)},
        lambda X: sd.regions(_function, X, joint=True, **OFF),
        lambda X: sd.regions(_function, X, split_on=["c"], **OFF),
    ):
        found, memory = call(source), call(frame[NAMES])
        assert list(found) == list(memory)
        assert all(_described(found[k]) == _described(memory[k]) for k in memory)


@pytest.mark.parametrize(("keep", "weighted"), [("200KB", False), ("600KB", True)])
def test_rows_are_counted_where_some_are_kept(frame, path, keep, weighted):
    source, weights = _both(frame, path, weighted)
    found = sd.regions(_function, source, "a", keep_rows=keep, **OFF)
    assert len(found.leaves) >= 4
    assert found.provenance["exact"] is False
    assert 0 < found.provenance["rows_kept"] < N
    region = found.assign(frame[NAMES])
    w = np.ones(N) if not weighted else frame["w"].to_numpy()
    for leaf, effect in zip(found.leaves, found.effects, strict=True):
        inside = region == leaf.region
        assert leaf.count == inside.sum()
        assert leaf.weight == w[inside].sum()
        assert effect.about.missing == frame["a"].isna()[inside].sum()
    assert found.nodes[0].count == N
    assert found.nodes[0].weight == w.sum()
    whole = sd.explain(_function, frame[NAMES], "a", **OFF, **weights)
    # Effects in regions come from kept rows; the whole has all of them.
    assert np.array_equal(found.whole.x, whole.x)
    means = [e.importance for e in found.effects]
    exact = sd.regions(_function, frame[NAMES], "a", **OFF, **weights)
    assert sorted(means) == pytest.approx(sorted(e.importance for e in exact.effects), abs=0.3)


def test_curves_of_regions_name_their_rows_where_some_are_kept(frame, path):
    source = sd.parquet(path, columns=NAMES)
    method = sd.PDP(grid=5, ice=10)
    found = sd.explain(_function, source, "a", method=method, by="c", keep_rows="100KB", **OFF)
    assert 0 < found.provenance["rows_kept"] < N
    for region in range(len(found)):
        curves = found[region].curves
        assert np.array_equal(curves.x, frame["a"].to_numpy()[curves.row], equal_nan=True)
        assert set(frame["c"].to_numpy()[curves.row]) == {found.rules[region][-1]}


@pytest.mark.slow
def test_kept_rows_do_not_depend_on_the_files(frame, path, tmp_path):
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "one.parquet")
    one, other = (sd.parquet(p, columns=NAMES) for p in (path, tmp_path))
    options = {**OFF, "keep_rows": "300KB"}
    first = sd.regions(_function, one, "a", **options)
    second = sd.regions(_function, other, "a", n_jobs=2, **options)
    assert _described(first) == _described(second)


def test_sums_of_weights_beyond_the_precision_of_floats_do_not_depend_on_the_parts():
    r = np.random.default_rng(0)
    parts = [[np.array([[1], [r.integers(2**50, 2**56)]])] for _ in range(40)]
    expected = sum(int(counts[1, 0]) for (counts,) in parts)
    for order in (range(40), range(39, -1, -1)):
        whole = [np.zeros((2, 1), dtype=np.int64)]
        for i in order:
            CountPass([], None).merge(whole, parts[i])
        assert int(whole[0][1, 0]) == expected


@pytest.mark.slow
def test_weights_of_regions_do_not_depend_on_the_files(frame, tmp_path):
    r = np.random.default_rng(1)
    table = pa.Table.from_pandas(frame.assign(v=10.0 ** r.uniform(-8, 0, N)), preserve_index=False)
    found = []
    for size in (501, 50_000):
        pq.write_table(table, tmp_path / f"{size}.parquet", row_group_size=size)
        source = sd.parquet(tmp_path / f"{size}.parquet", NAMES, sample_weight="v")
        found.append(_described(sd.regions(_function, source, "a", keep_rows="300KB", **OFF)))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("by", "weighted"), [("c", False), ("b", True), (("b", [-1.0, 0.5]), False)], ids=str
)
def test_given_regions_are_those_of_memory(frame, path, by, weighted):
    source, weights = _both(frame, path, weighted)
    found = sd.explain(_function, source, "a", by=by, **OFF)
    memory = sd.explain(_function, frame[NAMES], "a", by=by, **OFF, **weights)
    assert _described(found) == _described(memory)


def test_a_column_of_one_value_gives_one_region(frame, tmp_path):
    frame.assign(one="x").to_parquet(tmp_path / "one.parquet")
    source = sd.parquet(tmp_path / "one.parquet", columns=[*NAMES, "one"])
    found = sd.explain(_function, source, "a", by="one", **OFF)
    memory = sd.explain(_function, frame[NAMES].assign(one="x"), "a", by="one", **OFF)
    assert found.rules == memory.rules == ("one = x",)
    assert _described(found) == _described(memory)


def test_quartiles_that_are_the_largest_value_do_not_cut(frame, tmp_path):
    mostly = frame.assign(mostly=np.where(np.arange(N) % 10, 9.0, np.arange(N) % 70 / 10))
    mostly.to_parquet(tmp_path / "mostly.parquet")
    source = sd.parquet(tmp_path / "mostly.parquet", columns=[*NAMES, "mostly"])
    memory = mostly[[*NAMES, "mostly"]]
    effects = [sd.explain(_function, X, "a", by="mostly", **OFF) for X in (source, memory)]
    assert [len(e.rules) for e in effects] == [1, 1]
    assert _described(effects[0]) == _described(effects[1])
    changes = [
        sd.what_if(_function, X, {"a": 1}, by="mostly", progress=False) for X in (source, memory)
    ]
    assert changes[0].value == pytest.approx(changes[1].value, rel=1e-12)


def test_columns_without_regions_are_refused_as_in_memory(frame, tmp_path):
    strange = frame.assign(none=np.nan, code=2**60 + np.arange(len(frame)))
    strange.to_parquet(tmp_path / "strange.parquet")
    source = sd.parquet(tmp_path / "strange.parquet", columns=[*NAMES, "none", "code"])
    for by, text in (
        ("none", "only missing values"),
        ("code", r"2\*\*53"),
        (("b", [99.0]), "edges outside the values of 'b'"),
    ):
        for rows in (source, strange[[*NAMES, "none", "code"]]):
            with pytest.raises(sd.DataError, match=text):
                sd.explain(_function, rows, "a", by=by, **OFF)


def test_labels_of_all_rows_are_a_column(path):
    with pytest.raises(sd.DataError, match="name of a column"):
        sd.explain(_function, sd.parquet(path, columns=NAMES), "a", by=np.zeros(N, int), **OFF)


def test_methods_without_local_effects_are_refused_before_the_pass(path):
    source, rows = sd.parquet(path, columns=NAMES), []
    with pytest.raises(sd.UnsupportedError, match="MPlot"):
        sd.regions(lambda X: (rows.append(len(X)), _function(X))[1], source, "a", method="mplot")
    assert sum(rows) < 500  # the check of the model


@pytest.mark.slow
def test_interactions(frame, path):
    source, weights = _both(frame, path, weighted=True)
    pairs = [("a", "c"), ("a", "d"), ("b", "d")]
    options = {**OFF, "pairs": pairs, "max_rows": 400}
    found = sd.interactions(_function, source, **options)
    memory = sd.interactions(_function, frame[NAMES], **options, **weights)
    for pair in pairs:
        one, other = found[pair], memory[pair]
        assert one.ale_strength == other.ale_strength
        assert np.array_equal(
            [one.depends_01, one.depends_10],
            [other.depends_01, other.depends_10],
            equal_nan=True,
        )
        # Different samples of 400 rows.
        error = np.hypot(one.std_error, other.std_error)
        assert abs(one.h2_unnormalized - other.h2_unnormalized) <= 4 * error
    assert found["a", "c"].h2 > 0.5
    assert found["b", "d"].h2 == 0
    assert found.exact is False


def test_interactions_of_trees_say_that_rows_are_drawn(frame, path):
    ensemble = pytest.importorskip("sklearn.ensemble")
    numbers = frame[["a", "d"]]
    model = ensemble.HistGradientBoostingRegressor(max_iter=5).fit(numbers, _function(frame))
    source = sd.parquet(path, columns=["a", "d"])
    found = sd.interactions(model, source, max_rows=2_000, **OFF)
    memory = sd.interactions(model, numbers, **OFF)
    assert (found.exact, memory.exact) == (False, True)
    assert found["a", "d"].h2 == pytest.approx(memory["a", "d"].h2, rel=0.15)
    with pytest.raises(sd.UnsupportedError, match="max_rows=None"):
        sd.interactions(model, source, max_rows=None, **OFF)


def test_sampling_weights_of_regions_have_the_mean_one_over_all_rows(frame, path):
    """As in memory, though a part of the rows is kept: their weight is that of all rows, in the unit of the search."""
    source = sd.parquet(path, columns=NAMES, sample_weight="w")
    r = sd.regions(
        _function, source, "a", keep_rows="200KB", weight_kind="sampling", split_on=["c"], **OFF
    )
    assert len(r) > 1
    unit = N / frame["w"].sum()
    assert r.tree[0].weight == pytest.approx(N, rel=1e-9)
    for leaf in r.leaves:
        inside = (frame["c"] == "x") == (leaf.rule == "c = x")
        assert leaf.count == inside.sum()
        assert leaf.weight == pytest.approx(frame["w"][inside].sum() * unit, rel=1e-9)
