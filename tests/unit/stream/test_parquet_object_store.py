"""`sd.parquet` of objects in a real S3 server that runs in this process."""

from __future__ import annotations

import os

import numpy as np
import pytest

import skedasis as sd

pytest.importorskip("pyarrow")
pytest.importorskip("moto.server")
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

KEYS = {"access_key": "test", "secret_key": "test", "region": "us-east-1"}


@pytest.fixture(scope="module")
def server():
    from moto.server import ThreadedMotoServer

    moto = ThreadedMotoServer(port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    yield f"http://{host}:{port}"
    moto.stop()


@pytest.fixture
def bucket(server):
    system = pafs.S3FileSystem(endpoint_override=server, allow_bucket_creation=True, **KEYS)
    name = f"bucket-{os.getpid()}-{np.random.default_rng().integers(10**9)}"
    system.create_dir(name)
    r = np.random.default_rng(0)
    for year in (2023, 2024):
        table = pa.table({"a": r.normal(size=500), "b": r.normal(size=500)})
        with system.open_output_stream(f"{name}/year={year}/part-0.parquet") as out:
            pq.write_table(table, out, row_group_size=100)
    return name, system, {"endpoint_override": server, **KEYS}


@pytest.mark.slow
def test_partitioned_objects(bucket):
    name, system, options = bucket
    data = sd.parquet(f"s3://{name}/year=*/*.parquet", columns=["a", "b"], storage_options=options)
    assert len(data) == 1000
    effect = sd.explain(lambda X: X["a"] * X["b"], data, "a", method="ale", progress=False)
    rows = pa.concat_tables([rows for _, rows in data.chunks(1000)]).to_pandas()
    memory = sd.explain(lambda X: X["a"] * X["b"], rows, "a", method="ale", progress=False)
    assert np.array_equal(effect.value, memory.value)
    one = sd.parquet(f"{name}", filters=[("year", "==", 2024)], filesystem=system)
    assert len(one) == 500


def test_a_lost_object_and_a_changed_one(bucket):
    name, system, options = bucket
    data = sd.parquet(f"s3://{name}", storage_options=options)
    with system.open_output_stream(f"{name}/year=2024/part-0.parquet") as out:
        pq.write_table(pa.table({"a": [1.0], "b": [1.0]}), out)
    with pytest.raises(
        sd.DataError, match=r"year=2024/part-0.parquet: got a file that has changed"
    ):
        list(data.chunks(100))
    system.delete_file(f"{name}/year=2023/part-0.parquet")
    with pytest.raises(sd.DataError, match=r"year=2023/part-0.parquet: got a file that is gone"):
        list(data.chunks(100))


def test_an_unknown_object_store():
    with pytest.raises(sd.DataError, match="begins with ftp://"):
        sd.parquet("ftp://host/data", storage_options={"a": 1})
