"""Lazy frames, relations and streams are collected, or written to temporary Parquet for the time of a call."""

from __future__ import annotations

import os

import numpy as np
import pytest

import skedasis as sd
from skedasis.stream import spool

pytest.importorskip("pyarrow")
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as pads
from pyarrow.fs import FileSelector, FileSystem

OFF = {"progress": False, "heterogeneity_rows": 200}
N = 5_000


@pytest.fixture(scope="module")
def frame():
    r = np.random.default_rng(0)
    found = pd.DataFrame({"a": r.normal(size=N), "b": r.normal(size=N), "c": r.integers(0, 5, N)})
    found["label"] = found.a + r.normal(size=N)
    found["w"] = r.integers(1, 3, N).astype(float)
    return found


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Return the folder of the temporary files, which must be empty after each test."""
    where = tmp_path / "spool"
    where.mkdir()
    monkeypatch.setenv(spool.FOLDER, str(where))
    yield where
    if where.is_dir():
        assert list(where.iterdir()) == []


def _lazy(frame):
    return pytest.importorskip("polars").from_pandas(frame).lazy()


def _relation(frame):
    return pytest.importorskip("duckdb").from_arrow(pa.Table.from_pandas(frame))


def _reader(frame):
    return pa.Table.from_pandas(frame).to_reader(max_chunksize=700)


def _dask(frame):
    return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=4)


KINDS = {
    "Polars LazyFrame": _lazy,
    "DuckDB relation": _relation,
    "Arrow stream": _reader,
    "Arrow data set": lambda frame: pads.dataset(pa.Table.from_pandas(frame)),
    "Arrow scanner": lambda frame: pads.dataset(pa.Table.from_pandas(frame)).scanner(),
    "Dask DataFrame": _dask,
}


def _model(X):
    return np.asarray(X["a"]) * np.asarray(X["b"]) + np.asarray(X["c"])


SMALL = {"memory": "100kB"}
"""Less than the rows need."""


@pytest.mark.parametrize("options", [{}, SMALL], ids=["collected", "written"])
@pytest.mark.parametrize(
    ("kind", "method"), list(zip(KINDS, [sd.ALE(), sd.PDP(grid=5)] * 3, strict=True))
)
def test_results_are_those_of_memory(frame, kind, method, options):
    X, options = KINDS[kind](frame), {"method": method, **options, **OFF}
    found = sd.explain(_model, X, y="label", sample_weight="w", **options)
    memory = sd.explain(_model, frame[["a", "b", "c"]], sample_weight=frame.w, **options)
    assert list(found) == ["a", "b", "c"]
    for name in memory:
        assert found[name].value.tobytes() == memory[name].value.tobytes()
        assert found[name].std_error.tobytes() == memory[name].std_error.tobytes()
        assert found[name].swap_score == memory[name].swap_score
    written = "memory" in options or kind == "Dask DataFrame"
    assert (kind in found.provenance.get("source", "")) == written


COLLECTED = [kind for kind in KINDS if kind != "Dask DataFrame"]


@pytest.mark.parametrize("kind", COLLECTED)
def test_files_are_written_only_for_rows_that_need_more_memory(frame, kind, monkeypatch):
    made = []
    folder = spool._temporary_folder
    monkeypatch.setattr(spool, "_temporary_folder", lambda kind: made.append(kind) or folder(kind))
    needed = N * 5 * 8
    for memory, files in ((needed - 1, 1), (2 * needed, 0)):
        sd.explain(_model, KINDS[kind](frame), "a", memory=memory, **OFF)
        assert len(made) == files
        made.clear()


def test_no_more_than_the_memory_is_held_before_rows_are_written(frame, monkeypatch):
    monkeypatch.setattr(spool, "_ROWS", 500)
    read, written = [], []
    write = spool._write
    batches = pa.Table.from_pandas(frame, preserve_index=False).to_batches(max_chunksize=500)

    def rows():
        for batch in batches:
            read.append(batch.nbytes)
            yield batch

    def noted(tables, *options):
        written.append(sum(read))
        return write(tables, *options)

    monkeypatch.setattr(spool, "_write", noted)
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, rows())
    found = sd.explain(_model, reader, "a", **SMALL, **OFF)
    memory = sd.explain(_model, frame, "a", **SMALL, **OFF)
    assert 100_000 < written[0] <= 100_000 + read[0]
    assert len(read) == len(batches)
    assert found.value.tobytes() == memory.value.tobytes()


@pytest.mark.parametrize("kind", COLLECTED)
def test_collected_columns_of_every_type_are_those_of_the_table(kind):
    r = np.random.default_rng(1)
    n = 2_000
    frame = pd.DataFrame({"a": r.normal(size=n), "n": r.integers(0, 9, n)})
    frame["t"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(r.integers(0, 500, n), "h")
    frame["k"] = r.choice(["u", "v", "w"], n)
    frame["flag"] = r.random(n) < 0.5
    frame.loc[r.random(n) < 0.1, "a"] = np.nan

    def model(X):
        return np.nan_to_num(np.asarray(X["a"])) * (np.asarray(X["k"]) == "u") + np.asarray(X["n"])

    found = sd.explain(model, KINDS[kind](frame), method="ale", **OFF)
    memory = sd.explain(model, frame, method="ale", **OFF)
    assert list(found) == list(memory)
    for name in memory:
        assert list(found[name].x) == list(memory[name].x)
        assert found[name].value.tobytes() == memory[name].value.tobytes()


def test_labels_and_identifiers_are_columns_of_collected_rows(frame):
    table = pa.Table.from_pandas(frame.assign(key=np.arange(N)[::-1]), preserve_index=False)
    quantity = sd.loss(_model, "squared_error")
    found = sd.explain(quantity, table.to_reader(), "a", y="label", row_id="key", **OFF)
    rows = {"y": frame.label, "row_id": np.arange(N)[::-1]}
    memory = sd.explain(quantity, frame[["a", "b", "c", "w"]], "a", **rows, **OFF)
    assert found.value.tobytes() == memory.value.tobytes()
    with pytest.raises(sd.DataError, match="Did you mean 'label'"):
        sd.explain(quantity, table.to_reader(), "a", y="labl", **OFF)


def test_an_array_beside_a_stream(frame):
    with pytest.raises(sd.DataError, match="Pass y='column'"):
        sd.explain(_model, _reader(frame), "a", y=np.ones(N), **OFF)


@pytest.mark.parametrize("kind", ["Arrow stream", "Dask DataFrame"])
def test_no_rows(frame, kind):
    with pytest.raises(sd.DataError, match=r"no rows|without rows"):
        sd.explain(_model, KINDS[kind](frame.iloc[:0]), "a", **OFF)


def test_the_error_of_a_query_is_its_own(frame):
    def rows():
        yield pa.RecordBatch.from_pandas(frame.iloc[:100], preserve_index=False)
        raise ZeroDivisionError("in the query")

    schema = pa.Schema.from_pandas(frame, preserve_index=False)
    with pytest.raises(ZeroDivisionError, match="in the query"):
        sd.explain(_model, pa.RecordBatchReader.from_batches(schema, rows()), "a", **OFF)


def test_the_error_of_the_model_removes_the_files(frame):
    with pytest.raises(ZeroDivisionError):
        sd.explain(lambda X: 1 // 0, _reader(frame), "a", **OFF)


def test_partitions_with_missing_values_and_without_rows(frame):
    """Integers with missing values become floats, text without values and empty partitions have no type."""
    dask = pytest.importorskip("dask")
    dd = pytest.importorskip("dask.dataframe")
    text = frame[["a"]].assign(k=np.where(frame.a > 0, "up", "down").astype(object))
    parts = [text[:9].assign(k=None), text[:0], text[9:2_000], text[2_000:]]
    X = dd.from_delayed([dask.delayed(p) for p in parts], text[:0], verify_meta=False)

    def model(X):
        return X["a"] * (X["k"] == "up")

    found = sd.explain(model, X, method="ale", **OFF)
    memory = sd.explain(model, pd.concat(parts), method="ale", **OFF)
    for name in ("a", "k"):
        assert found[name].value.tobytes() == memory[name].value.tobytes()
    assert list(found["k"].x) == list(memory["k"].x)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Arrow stream", "Dask DataFrame"])
def test_an_object_store_takes_the_files(frame, kind, monkeypatch):
    moto = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    moto.start()
    try:
        host, port = moto.get_host_and_port()
        options = f"endpoint_override={host}:{port}&scheme=http&region=us-east-1"
        system, _ = FileSystem.from_uri(f"s3://key:secret@b?{options}&allow_bucket_creation=true")
        system.create_dir("bucket")
        monkeypatch.setenv(spool.FOLDER, f"s3://key:secret@bucket/some?{options}")
        found = sd.explain(_model, KINDS[kind](frame), method="ale", y="label", **SMALL, **OFF)
        left = system.get_file_info(FileSelector("bucket", recursive=True))
        assert not [info.path for info in left if info.is_file]
    finally:
        moto.stop()
    memory = sd.explain(_model, frame[["a", "b", "c", "w"]], method="ale", **SMALL, **OFF)
    assert all(found[name].value.tobytes() == memory[name].value.tobytes() for name in memory)
    assert "secret" not in found.provenance["source"]


@pytest.mark.slow
def test_workers_write_partitions_and_explain_them(frame, tmp_path):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    here = os.getpid()

    def model(X):
        if os.getpid() == here and len(X) > 200:
            raise RuntimeError("the rows are explained on the workers")
        return np.asarray(X["a"]) * np.asarray(X["b"]) + np.asarray(X["c"])

    def with_process(part):
        return part.assign(pid=os.getpid())

    memory = sd.explain(_model, frame[["a", "b", "c"]], method="ale", **OFF)
    with (
        distributed.LocalCluster(**options, local_directory=str(tmp_path)) as cluster,
        distributed.Client(cluster) as client,
    ):
        X = _dask(frame[["a", "b", "c"]])
        # The cluster that Dask uses, and one that is named.
        for chosen in ({}, {"client": client}):
            found = sd.explain(model, X, method="ale", **chosen, **OFF)
            for name in memory:
                assert found[name].value.tobytes() == memory[name].value.tobytes()
        pids = X.map_partitions(with_process)
        with spool.at_hand(pids, {}, 0, client) as rows:
            source = rows["X"]
            assert len(source.files) == 4
            written_by = set(source.take(np.arange(N)).column("pid").to_pylist())
    assert here not in written_by


@pytest.mark.parametrize("memory", ["1GB", "1KB"])
def test_what_cannot_be_explained_is_refused_on_both_sides_of_the_bound(frame, memory):
    rows = pa.Table.from_pandas(frame)
    spans = pa.array([(1, 2, 3)] * N, pa.month_day_nano_interval())
    reader = rows.append_column("span", spans).to_reader()
    with pytest.raises(sd.DataError, match=r"column 'span'.*month_day_nano.*numbers, text"):
        sd.explain(lambda X: X["a"].to_numpy(), reader, "a", memory=memory, **OFF)
    heavy = rows.append_column("heavy", pa.array([2**60] * N))
    with pytest.raises(sd.DataError, match=r"2\*\*53"):
        sd.explain(
            lambda X: X["a"].to_numpy(),
            heavy.to_reader(),
            "a",
            sample_weight="heavy",
            memory=memory,
            **OFF,
        )
