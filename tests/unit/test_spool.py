"""Lazy frames, relations, streams and Dask data frames are written to temporary Parquet for the time of a call."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

import skedasis as sd
from skedasis.data import spool

pytest.importorskip("pyarrow")
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
from pyarrow.fs import FileSelector, FileSystem, LocalFileSystem

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


class _Stream:
    """An object of any library that exports an Arrow stream."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


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


@pytest.mark.many
@pytest.mark.thinned
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", [sd.ALE(), sd.PDP(grid=5)], ids=lambda m: m.name)
def test_results_are_those_of_memory(frame, kind, method):
    X = KINDS[kind](frame)
    found = sd.explain(_model, X, method=method, y="label", sample_weight="w", **OFF)
    memory = sd.explain(_model, frame[["a", "b", "c"]], method=method, sample_weight=frame.w, **OFF)
    assert list(found) == ["a", "b", "c"]
    for name in memory:
        assert found[name].value.tobytes() == memory[name].value.tobytes()
        assert found[name].std_error.tobytes() == memory[name].std_error.tobytes()
    assert kind in found.provenance["source"]


def test_any_stream_of_arrow_and_no_data_frame(frame):
    table = pa.Table.from_pandas(frame[["a", "b", "c"]])
    found = sd.explain(_model, _Stream(table), "a", method="ale", **OFF)
    memory = sd.explain(_model, frame[["a", "b", "c"]], "a", method="ale", **OFF)
    assert found.value.tobytes() == memory.value.tobytes()
    for frame_in_memory in (table, frame, frame.to_numpy(), [[1.0]], None):
        assert spool.spool_kind(frame_in_memory) is None


@pytest.mark.slow
def test_all_functions_take_them(frame):
    small = frame.iloc[:1_500]
    loss = sd.loss(_model, "squared_error")
    options = {**OFF, "y": "label", "sample_weight": "w"}
    assert sd.explain(loss, _reader(small), method=sd.PFI(n_repeats=2), **options).features
    assert sd.regions(_model, _reader(small), "a", **options).leaves
    assert sd.interactions(_model, _reader(small), max_rows=50, **options)
    without = {k: v for k, v in options.items() if k != "heterogeneity_rows"}
    assert "main effects" in str(sd.ledger(_model, _reader(small), "label", progress=False))
    page = sd.report(
        _model, _reader(small), "label", "page.html", sample_weight="w", regions=False, **OFF
    )
    page.path.unlink()
    assert without


@pytest.mark.parametrize("role", ["y", "sample_weight", "row_id"])
def test_an_array_beside_a_stream(frame, role):
    with pytest.raises(sd.DataError, match=f"Pass {role}='column'"):
        sd.explain(_model, _reader(frame), "a", **{role: np.ones(N)}, **OFF)


def test_a_column_that_is_not_there(frame):
    with pytest.raises(sd.DataError, match="nothing"):
        sd.explain(_model, _reader(frame), "a", y="nothing", **OFF)


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows(frame, kind):
    with pytest.raises(sd.DataError, match=r"no rows|without rows"):
        sd.explain(_model, KINDS[kind](frame.iloc[:0]), "a", **OFF)


def test_a_full_disk(frame, folder, monkeypatch):
    class Full(pq.ParquetWriter):
        def write_table(self, *args, **keywords):
            super().write_table(*args, **keywords)
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "ParquetWriter", Full)
    with pytest.raises(sd.DataError, match=r"No space left on device after .* bytes in .*SPOOL"):
        sd.explain(_model, _reader(frame), "a", **OFF)


def test_a_folder_that_is_not_there(frame, monkeypatch):
    monkeypatch.setenv(spool.FOLDER, str(Path(tempfile.gettempdir(), "not", "there")))
    with pytest.raises(sd.DataError, match="No such file"):
        sd.explain(_model, _reader(frame), "a", **OFF)


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


def test_partitions_of_other_types(frame):
    dask = pytest.importorskip("dask")
    dd = pytest.importorskip("dask.dataframe")
    whole, texts = frame.iloc[:50], frame.iloc[50:90].assign(c="seven")
    numbers = frame.iloc[50:90].assign(c=frame.c.iloc[50:90].astype("int32"))
    meta = whole.iloc[:0]
    fine = dd.from_delayed([dask.delayed(p) for p in (whole, numbers)], meta, verify_meta=False)
    found = sd.explain(_model, fine, "a", method="ale", **OFF)
    assert found.provenance["rows"] == 90
    bad = dd.from_delayed([dask.delayed(p) for p in (whole, texts)], meta, verify_meta=False)
    with pytest.raises(sd.DataError, match="part 1 of the Dask DataFrame"):
        sd.explain(_model, bad, "a", method="ale", **OFF)


def test_a_folder_that_workers_do_not_share(frame, monkeypatch, folder):
    """Workers on other machines have no such folder, or write to one of their own."""
    X = _dask(frame)
    with pytest.raises(sd.DataError, match=r"Dask DataFrame: got workers .*object store"):
        spool._write_partition(frame, 0, None, spool._Folder(LocalFileSystem(), "/not/there"))
    monkeypatch.setattr(spool, "_write_partition", lambda rows, *_: len(rows))
    with pytest.raises(sd.DataError, match=r"workers that do not write to the folder .*SPOOL"):
        sd.explain(_model, X, "a", **OFF)


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
@pytest.mark.parametrize(
    "kind",
    [
        "Arrow stream",
        *(pytest.param(k, marks=pytest.mark.slow) for k in ("Polars LazyFrame", "Dask DataFrame")),
    ],
)
def test_an_object_store_takes_the_files(frame, kind, monkeypatch):
    moto = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    moto.start()
    try:
        host, port = moto.get_host_and_port()
        options = f"endpoint_override={host}:{port}&scheme=http&region=us-east-1"
        system, _ = FileSystem.from_uri(f"s3://key:secret@b?{options}&allow_bucket_creation=true")
        system.create_dir("bucket")
        monkeypatch.setenv(spool.FOLDER, f"s3://key:secret@bucket/some?{options}")
        found = sd.explain(_model, KINDS[kind](frame), method="ale", y="label", **OFF)
        left = system.get_file_info(FileSelector("bucket", recursive=True))
        assert not [info.path for info in left if info.is_file]
    finally:
        moto.stop()
    memory = sd.explain(_model, frame[["a", "b", "c", "w"]], method="ale", **OFF)
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
        with spool.spooled(pids, client=client) as source:
            assert len(source.files) == 4
            written_by = set(source.take(np.arange(N)).column("pid").to_pylist())
    assert here not in written_by


def test_it_reads_in_the_memory_of_a_batch():
    # Without the batches, 200 MB of rows would be held at the same time.
    held = pa.total_allocated_bytes()
    most = 0

    def batches():
        nonlocal most
        for _ in range(200):
            most = max(most, pa.total_allocated_bytes() - held)
            yield pa.record_batch({"a": np.zeros(125_000)})

    reader = pa.RecordBatchReader.from_batches(pa.schema({"a": pa.float64()}), batches())
    with spool.spooled(reader) as source:
        assert len(source) == 25_000_000
    assert most < 50_000_000
