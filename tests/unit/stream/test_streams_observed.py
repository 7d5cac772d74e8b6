"""Observed means of files have the bits of memory, also by a column that is no feature."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd

pytest.importorskip("pyarrow")
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from skedasis.results.observed import Observed
from tests.helpers import refused

N = 20_001
FEATURES = ["a", "c", "m", "k"]


@pytest.fixture(scope="module")
def frame():
    r = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": r.normal(size=N),
            "c": r.integers(0, 9, N),
            "m": np.where(r.random(N) < 0.1, np.nan, r.random(N)),
            "k": r.choice(list("uvw"), N),
            "weight": r.integers(0, 4, N) * 0.3,
            "label": r.normal(size=N),
            "part": r.choice(["train", "test", None], N),
            "number": r.integers(0, 3, N) * 0.5,
            "many": np.arange(N),
        }
    )


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    where = tmp_path_factory.mktemp("observed")
    for i, (start, stop) in enumerate([(0, 1), (1, 9_000), (9_000, N)]):
        table = pa.Table.from_pandas(frame.iloc[start:stop], preserve_index=False)
        pq.write_table(table, where / f"part-{i}.parquet", row_group_size=3_333)
    return where


def model(X):
    return np.asarray(X["a"] * X["c"])


def alike(one: Observed | None, other: Observed | None) -> None:
    """Compare all numbers to the bit."""
    assert one is not None
    assert other is not None
    assert (one.missing is None) == (other.missing is None)
    for name, value in vars(one).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(vars(other)[name], value, name)
        elif name != "missing":
            assert vars(other)[name] == value, name
    if one.missing is not None:
        alike(one.missing, other.missing)


@pytest.mark.parametrize("split", [None, "part", "number", "k", 3])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_files_give_the_bits_of_memory(frame, folder, split, weight):
    data = sd.parquet(folder, columns=FEATURES, y="label", sample_weight=weight)
    options = {"method": "ale", "observed": True, "heterogeneity_rows": 0, "progress": False}
    if weight is not None:
        options["weight_kind"] = "sampling"
    found = sd.explain(model, data, split=split, **options)
    named = split in ("part", "number")
    memory = sd.explain(
        model,
        frame[FEATURES],
        y=frame["label"],
        sample_weight=None if weight is None else frame[weight],
        split=frame[split] if named else split,
        **options,
    )
    for name in FEATURES:
        alike(memory[name].observed, found[name].observed)


def test_rows_without_a_label_are_left_out_of_files_too(frame, tmp_path):
    there = np.arange(N) % 3 > 0
    some = frame.assign(label=frame["label"].where(there))
    some.to_parquet(tmp_path / "rows.parquet", row_group_size=3_333)
    options = {"method": "ale", "observed": True, "heterogeneity_rows": 0, "progress": False}
    data = sd.parquet(tmp_path / "rows.parquet", columns=FEATURES, y="label")
    found = sd.explain(model, data, **options)
    memory = sd.explain(model, frame[FEATURES], y=some["label"], **options)
    for name in FEATURES:
        alike(memory[name].observed, found[name].observed)
    assert found["k"].observed.count.sum() == there.sum()


def test_threads_give_the_same_bits(folder):
    data = sd.parquet(folder, columns=FEATURES, y="label")
    options = {"observed": True, "split": "part", "heterogeneity_rows": 0, "progress": False}
    one, two = (sd.explain(model, data, method="ale", n_jobs=n, **options) for n in (1, 2))
    for name in FEATURES:
        alike(one[name].observed, two[name].observed)


def test_a_sample_keeps_the_split(folder):
    data = sd.parquet(folder, columns=FEATURES, y="label")
    e = sd.explain(model, data, "c", method="ale", observed=True, split="part", sample=500)
    assert e.observed is not None
    assert e.observed.split_values == ("test", "train", "missing")
    assert e.observed.count.sum() == 500


def test_rows_are_counted_without_the_split(folder):
    data = sd.parquet(folder, columns=FEATURES, y="label")
    e = sd.explain(
        model, data, "a", method="ale", observed=True, split="part", max_model_rows=10**6
    )
    assert e.observed is not None
    assert e.observed.count.sum() == N


def test_what_files_cannot_split_by(folder):
    data = sd.parquet(folder, columns=FEATURES, y="label")
    with refused(sd.DataError, "split", "'parts'", "Did you mean 'part'"):
        sd.explain(model, data, "a", observed=True, split="parts")
    with refused(sd.DataError, "split", "an array"):
        sd.explain(model, data, "a", observed=True, split=np.zeros(N))
    with refused(sd.DataError, "split", "different values", "2 to 6"):
        sd.explain(model, data, "a", observed=True, split="many")
    with refused(sd.DataError, "no y", "sd.parquet"):
        sd.explain(model, sd.parquet(folder, columns=FEATURES), "a", observed=True)
