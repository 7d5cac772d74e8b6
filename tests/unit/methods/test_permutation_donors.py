"""Permutation importance of data that are read in chunks: its mean, its error, and what it needs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import skedasis as sd

pytest.importorskip("pyarrow")
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

OFF = {"progress": False}


def _frame(n: int, seed: int = 0) -> pd.DataFrame:
    r = np.random.default_rng(seed)
    a, b = r.normal(size=n), r.normal(size=n)
    frame = pd.DataFrame({"a": a, "b": np.where(r.random(n) < 0.1, np.nan, b)})
    frame["k"] = r.choice(list("uvw"), n)
    frame["label"] = 2 * a + (frame.k == "u") + 0.3 * r.normal(size=n)
    frame["weight"] = r.integers(1, 4, n).astype(float)
    frame["id"] = r.permutation(n) + 10 * n
    return frame


def _source(frame, path, groups=997, **keywords) -> sd.ParquetData:
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=groups)
    return sd.parquet(path, columns=["a", "b", "k"], y="label", **keywords)


def _predict(X):
    return 2 * X["a"] + X["a"] * X["b"].fillna(0) / 2 + (X["k"] == "u")


LOSS = sd.loss(_predict, "squared_error")


@pytest.mark.parametrize("weight", [None, "weight"])
def test_the_mean_is_that_of_all_pairs(tmp_path, weight, monkeypatch):
    # Donors are all rows: an independent computation over all ordered pairs is the expectation.
    frame = _frame(700)
    data = _source(frame, tmp_path / "p.parquet", sample_weight=weight)
    found = sd.explain(LOSS, data, method=sd.PFI(n_repeats=200), **OFF)
    w = np.ones(len(frame)) if weight is None else frame[weight].to_numpy()
    before = ((frame.label - _predict(frame)) ** 2).to_numpy()
    for name, mean in zip(found.features, found.mean, strict=True):
        n = len(frame)
        pairs = frame.iloc[np.tile(np.arange(n), n)].reset_index(drop=True)
        pairs[name] = frame[name].to_numpy().repeat(n)
        changed = ((pairs.label - _predict(pairs)) ** 2).to_numpy().reshape(n, n) - before
        scatter = np.average(changed**2, weights=w, axis=1)
        expected = np.average(np.average(changed, weights=w, axis=1), weights=w)
        noise = np.sqrt(np.mean(scatter) / (200 * len(frame)))
        assert abs(mean - expected) < 5 * noise + 1e-12, name
    assert found.provenance["exact"] is True
    # Fewer donors than rows say so.
    monkeypatch.setattr(sd.PFI, "donor_rows", 300)
    some = sd.explain(LOSS, data, method=sd.PFI(n_repeats=2), **OFF)
    assert (some.provenance["exact"], some.provenance["donors"]) == (False, 300)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("donors", "kind"),
    [(60, "frequency"), pytest.param(10_000, "sampling", marks=pytest.mark.long)],
)
def test_the_error_is_that_of_repeated_samples(tmp_path, donors, kind, monkeypatch):
    monkeypatch.setattr(sd.PFI, "donor_rows", donors)
    means, errors = [], []
    for seed in range(120):
        frame = _frame(400, seed)
        if kind == "frequency":
            # Weights stand for repeated rows: the variance is that of 400 rows, half of which were merged.
            frame["weight"] = 1.0
        data = _source(frame, tmp_path / f"{seed}.parquet", sample_weight="weight")
        found = sd.explain(LOSS, data, "a", method=sd.PFI(n_repeats=4), weight_kind=kind, **OFF)
        means.append(found.mean[0])
        errors.append(found.std_error[0])
    ratio = np.sqrt(np.mean(np.square(errors))) / np.std(means)
    # 120 samples know their scatter to 6.5 % of it; the error counts the draws twice, by 5 % here.
    assert 0.84 < ratio < 1.25, ratio


def test_frequency_weights_are_repeated_rows(tmp_path):
    frame = _frame(3_000)
    repeated = frame.loc[frame.index.repeat(frame.weight.astype(int))]
    weighted = sd.explain(
        LOSS, _source(frame, tmp_path / "w", sample_weight="weight"), method=sd.PFI(), **OFF
    )
    whole = sd.explain(LOSS, _source(repeated, tmp_path / "r"), method=sd.PFI(), **OFF)
    assert np.all(np.abs(weighted.mean - whole.mean) < 3 * whole.std_error + 1e-12)
    assert weighted.std_error[[0, 2]] == pytest.approx(whole.std_error[[0, 2]], rel=0.25)
    # In memory, where donors are permuted.
    permuted = sd.explain(
        LOSS, frame[["a", "b", "k"]], y=frame["label"], sample_weight=frame["weight"],
        method=sd.PFI(), **OFF,
    )  # fmt: skip
    assert weighted.std_error == pytest.approx(permuted.std_error, rel=0.25)


def test_a_hundred_times_the_rows_have_a_tenth_of_the_error(tmp_path):
    frame, errors = _frame(500), []
    for weight in (0.01, 1.0):
        data = _source(frame.assign(weight=weight), tmp_path / f"{weight}", sample_weight="weight")
        errors.append(sd.explain(LOSS, data, method=sd.PFI(n_repeats=2), **OFF).std_error)
    assert errors[0] == pytest.approx(10 * errors[1], rel=1e-6)


@pytest.mark.slow
def test_the_draws_do_not_depend_on_the_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(sd.PFI, "donor_rows", 5_000)
    frame = _frame(30_000)
    method = sd.PFI(n_repeats=2)
    first = sd.explain(LOSS, _source(frame, tmp_path / "1"), method=method, **OFF)
    second = sd.explain(
        LOSS, _source(frame, tmp_path / "2", groups=50_000), method=method, n_jobs=2,
        **OFF,
    )  # fmt: skip
    assert first.values.tobytes() == second.values.tobytes()
    assert first.std_error.tobytes() == second.std_error.tobytes()
    assert np.array_equal(first.local.row, second.local.row)
    # The rows' own identifiers key the draws, whatever their order.
    shuffled = frame.sample(frac=1, random_state=0)
    keyed = [
        sd.explain(LOSS, _source(f, tmp_path / str(i), row_id="id"), method=method, **OFF)
        for i, f in enumerate([frame, shuffled], 3)
    ]
    assert keyed[0].values == pytest.approx(keyed[1].values, rel=1e-12)
    assert keyed[0].std_error == pytest.approx(keyed[1].std_error, rel=1e-9)


def test_groups_may_share_columns(tmp_path):
    data, method = _source(_frame(3_000), tmp_path / "p"), sd.PFI(n_repeats=3)
    groups = {"a": ["a"], "ab": ["a", "b"], "ak": ["k", "a"]}
    found = sd.explain(LOSS, data, method=replace(method, groups=groups), **OFF)
    assert found.features == ("a", "ab", "ak")
    assert found.provenance["effect_rows"] == 3_000 * (1 + 3 * 3)
    for k, (name, columns) in enumerate(groups.items()):
        alone = sd.explain(LOSS, data, name, method=method, groups={name: columns}, **OFF)
        assert found.values[k].tobytes() == alone.values[0].tobytes()
        assert found.std_error[k] == alone.std_error[0]


def test_it_agrees_with_memory_and_costs_the_same_rows(tmp_path):
    frame = _frame(20_000)
    rows = 0

    def counted(X):
        nonlocal rows
        rows += len(X)
        return _predict(X)

    loss = sd.loss(counted, "squared_error")
    found = sd.explain(loss, _source(frame, tmp_path / "p"), method=sd.PFI(n_repeats=3), **OFF)
    assert 20_000 * 10 <= rows <= 20_000 * 10 + 200
    assert found.provenance["passes"] == 2  # the donors, and the model
    memory = sd.explain(
        loss, frame[["a", "b", "k"]], y=frame.label, method=sd.PFI(n_repeats=3), **OFF
    )
    both = np.hypot(found.std_error, memory.std_error)
    assert np.all(np.abs(found.mean - memory.mean) <= 4 * both)
    assert found.baseline == pytest.approx(memory.baseline, rel=1e-12)


def test_trees_are_walked_with_the_donors(tmp_path):
    ensemble = pytest.importorskip("sklearn.ensemble")
    frame = _frame(5_000)
    numbers = frame[["a", "b"]]
    model = ensemble.HistGradientBoostingRegressor(max_iter=10).fit(numbers, frame.label)
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "p")
    data = sd.parquet(tmp_path / "p", columns=["a", "b"], y="label")
    walked = sd.explain(sd.loss(model, "squared_error"), data, method=sd.PFI(n_repeats=2), **OFF)
    called = sd.explain(
        sd.loss(model, "squared_error"), data, method=sd.PFI(n_repeats=2), tree="off", **OFF
    )
    assert walked.provenance["effect_rows"] < 500 < called.provenance["effect_rows"]
    assert walked.values == pytest.approx(called.values, rel=1e-9)


@pytest.mark.parametrize("argument", [{"metric": "r2"}, {"exact": True}, {"conditional": True}])
def test_what_needs_all_rows_names_the_way_out(tmp_path, argument):
    data = _source(_frame(500), tmp_path / "p")
    quantity = _predict if "metric" in argument else LOSS
    with pytest.raises(sd.UnsupportedError, match="max_samples=100_000"):
        sd.explain(quantity, data, method=sd.PFI(**argument), **OFF)
    sd.explain(quantity, data, method=sd.PFI(**argument, max_samples=200), **OFF)
