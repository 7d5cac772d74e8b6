"""`sd.parquet`: files, folders, patterns, filters, weights, and everything that can be wrong with them."""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np
import pytest

import skedasis as sd
from skedasis.data.dataset import as_dataset
from skedasis.stream import parquet

pytest.importorskip("pyarrow")
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq


def _table(n: int = 1000, seed: int = 0) -> pa.Table:
    r = np.random.default_rng(seed)
    return pa.table(
        {
            "a": r.normal(size=n),
            "b": r.integers(0, 50, n),
            "text": r.choice(["x", "y"], n),
            "weight": r.integers(0, 3, n).astype(float),
        }
    )


def _write(table: pa.Table, path: Path, size: int = 100, **options) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=size, **options)
    return path


@pytest.fixture
def folder(tmp_path):
    table = _table()
    for i, (start, n, size) in enumerate([(0, 1, 1), (1, 0, 5), (1, 599, 77), (600, 400, 400)]):
        _write(table.slice(start, n), tmp_path / f"part-{i}.parquet", size)
    return tmp_path


@pytest.mark.parametrize("size", [1, 77, 999, 5000])
def test_chunks_are_consecutive_rows(folder, size):
    data = sd.parquet(folder)
    chunks = list(data.chunks(size))
    assert [first for first, _ in chunks] == list(range(0, 1000, size))
    assert all(rows.num_rows == size for _, rows in chunks[:-1])
    assert pa.concat_tables([rows for _, rows in chunks]).equals(_table())


@pytest.mark.parametrize(
    ("start", "stop"), [(0, 1), (1, 600), (598, 601), (700, 1000), (999, 9999)]
)
def test_a_range_of_rows(folder, start, stop):
    data = sd.parquet(folder)
    chunks = list(data.chunks(50, start, stop))
    assert chunks[0][0] == start
    found = pa.concat_tables([rows for _, rows in chunks])
    assert found.equals(_table().slice(start, min(stop, 1000) - start))


def test_a_column_with_several_roles(folder):
    data = sd.parquet(folder, ["a", "b"], y="weight", sample_weight="weight", row_id="a")
    assert data.schema.names == ["a", "b", "weight"]
    loss = sd.loss(lambda X: X["a"] * X["b"], "squared_error")
    used = _table().filter(pc.field("weight") > 0).to_pandas()
    roles = {"y": used["weight"], "sample_weight": used["weight"], "row_id": used["a"]}
    memory = sd.explain(loss, used[["a", "b"]], "a", method="ale", progress=False, **roles)
    streamed = sd.explain(loss, data, "a", method="ale", progress=False)
    assert np.array_equal(memory.value, streamed.value)


def test_rows_in_any_order(folder):
    data, rows = sd.parquet(folder), [999, 0, 600, 599, 0]
    assert data.take(rows).equals(_table().take(rows))
    assert data.take(np.array(rows, dtype="u4")).equals(_table().take(rows))
    assert len(data.take([])) == 0


@pytest.mark.parametrize("rows", [[-1], [0, 1000], [0.5]], ids=repr)
def test_rows_that_are_not_there(folder, rows):
    with pytest.raises(sd.DataError, match=r"take\(rows\)"):
        sd.parquet(folder).take(rows)


@pytest.mark.parametrize("scale", [0.1, 1e-80])
def test_the_total_weight_does_not_depend_on_the_files(tmp_path, scale):
    r = np.random.default_rng(0)
    weight = r.random(1000) * 10.0 ** r.integers(-9, 9, 1000) * scale
    table = pa.table({"a": r.normal(size=1000), "weight": weight})
    found = set()
    for size in (7, 100, 1000):
        path = _write(table, tmp_path / f"{size}.parquet", size)
        found.add(sd.parquet(path, sample_weight="weight").total_weight)
    found.add(as_dataset(table.to_pandas(), sample_weight=weight).total_weight)
    assert found == {math.fsum(weight)}


def test_rows_of_weight_zero_have_no_number(folder):
    data = sd.parquet(folder, sample_weight="weight")
    used = _table().filter(pc.field("weight") > 0)
    assert len(data) == len(used)
    assert pa.concat_tables([rows for _, rows in data.chunks(64)])["b"].equals(used["b"])
    assert (data.largest_weight, data.equal_weights) == (2.0, False)
    assert data.total_weight == pc.sum(used["weight"]).as_py()


@pytest.mark.parametrize(
    "filters",
    [
        [("b", "<", 10)],
        [[("b", "<", 10)], [("text", "==", "x")]],
        (pc.field("b") < 10) & (pc.field("text") == "y"),
    ],
    ids=["list", "or", "expression"],
)
def test_filters_are_exact(folder, filters):
    data = sd.parquet(folder, filters=filters)
    expression = pq.filters_to_expression(filters) if isinstance(filters, list) else filters
    expected = pads.dataset(folder).to_table(filter=expression)
    found = pa.concat_tables([rows for _, rows in data.chunks(33)])
    assert len(data) == len(expected)
    assert found["a"].equals(expected["a"])


def test_folders_with_values_in_their_names(tmp_path):
    for year in (2023, 2024):
        for part in "a b", "<script>", "ü=1":
            _write(_table(20, year), tmp_path / f"year={year}" / f"part={part}" / "0.parquet")
    data = sd.parquet(tmp_path / "year=*" / "part=*" / "*.parquet", filters=[("year", ">", 2023)])
    rows = pa.concat_tables([rows for _, rows in data.chunks(1000)])
    assert set(rows["year"].to_pylist()) == {2024}
    assert set(rows["part"].to_pylist()) == {"a b", "<script>", "ü=1"}
    assert len(data.files) == 3
    effect = sd.explain(lambda X: X["a"] * 1.0, data, "part", method="ale", progress=False)
    assert sorted(effect.levels.values) == ["<script>", "a b", "ü=1"]


@pytest.mark.parametrize("pattern", ["part-*.parquet", "part-[0-3].parquet"])
def test_patterns(folder, pattern):
    (folder / "_SUCCESS").touch()
    (folder / ".hidden.parquet").touch()
    assert len(sd.parquet(str(folder / pattern))) == 1000
    assert len(sd.parquet(folder)) == 1000
    assert len(sd.parquet([folder / "part-3.parquet", folder / "part-0.parquet"])) == 401


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("missing", [False, True])
def test_integers_become_floats_only_where_some_are_missing(tmp_path, missing, statistics):
    whole = pa.array([*range(50)] + [None] * missing, pa.int16())
    table = pa.table({"a": np.arange(len(whole)) / 3, "i": whole})
    _write(table.slice(0, 0), tmp_path / "0.parquet", write_statistics=statistics)
    _write(table, tmp_path / "1.parquet", 20, write_statistics=statistics)
    seen = set()

    def model(X):
        seen.add(X["i"].dtype)
        return X["a"] * 1.0

    sd.explain(model, sd.parquet(tmp_path), "a", method="ale", progress=False)
    assert seen == {np.dtype(float if missing else "i2")}
    assert sd.parquet(tmp_path).null_counts()["i"] == missing


@pytest.mark.parametrize(
    ("first", "second", "nullable"),
    [
        (pa.array([*range(40)], pa.uint8()), pa.array([*range(40)], pa.int32()), True),
        (pa.nulls(40), pa.array(np.arange(40.0)), True),
        (
            pa.DictionaryArray.from_arrays(pa.array([0, 1] * 20, pa.int8()), ["x", "y"]),
            pa.DictionaryArray.from_arrays(pa.array([1, 0] * 20, pa.int32()), ["y", "z"]),
            False,
        ),
        (
            pa.array(np.arange(40), pa.timestamp("ms", "UTC")),
            pa.array(np.arange(40), pa.timestamp("ns", "UTC")),
            True,
        ),
    ],
    ids=lambda v: str(getattr(v, "type", v)),
)
def test_types_that_drift_to_wider_ones(tmp_path, first, second, nullable):
    for i, column in enumerate((first, second)):
        # The first file says that no value is missing.
        field = pa.field("v", column.type, nullable=nullable or i > 0 or bool(column.null_count))
        schema = pa.schema([pa.field("a", pa.float64()), field])
        _write(pa.table([np.arange(40) / 7, column], schema=schema), tmp_path / f"{i}.parquet", 13)
    data = sd.parquet(tmp_path)
    frame = data.take(np.arange(80)).to_pandas()
    model = lambda X: X["a"] * (X["v"] == frame["v"].iloc[1])  # noqa: E731
    memory = sd.explain(model, frame, method="ale", progress=False)
    streamed = sd.explain(model, data, method="ale", progress=False)
    assert all(np.array_equal(memory[k].value, streamed[k].value) for k in ("a", "v"))


# ------------------------------------------------------------------------------------ what is wrong
def test_nothing_there(tmp_path):
    with pytest.raises(sd.DataError, match=r"no file.*at least one Parquet file"):
        sd.parquet(tmp_path / "nothing" / "*.parquet")
    with pytest.raises(sd.DataError, match="files without rows"):
        sd.parquet(_write(_table(0), tmp_path / "empty.parquet"))
    with pytest.raises(sd.DataError, match="a path, a URL"):
        sd.parquet([])


def test_a_file_that_is_not_parquet(tmp_path):
    (tmp_path / "text.parquet").write_text("name,value\n")
    with pytest.raises(sd.DataError, match=r"text.parquet: got a file that is not Parquet"):
        sd.parquet(tmp_path)


def test_a_schema_that_drifts(tmp_path):
    _write(_table(5), tmp_path / "0.parquet")
    _write(_table(5).drop_columns("b"), tmp_path / "1.parquet")
    with pytest.raises(sd.DataError, match=r"1.parquet: got no column 'b', unlike .*0.parquet"):
        sd.parquet(tmp_path)
    _write(_table(5).set_column(1, "b", pa.array(list("abcde"))), tmp_path / "1.parquet")
    with pytest.raises(sd.DataError, match=r"column 'b': got string in .*1.parquet, int64 in"):
        sd.parquet(tmp_path)


@pytest.mark.parametrize(
    ("argument", "got"),
    [
        ({"path": "foo://bucket/rows"}, "files that cannot be listed"),
        ({"path": ""}, "got ''"),
        ({"columns": ["a", "z"]}, "got 'z', expected one of 'a', 'b'"),
        ({"columns": ["a", "a"]}, "more than once"),
        ({"row_groups": [-1]}, r"parquet\(row_groups\): got \[-1\]"),
        ({"sample_weight": "text"}, r"parquet\(sample_weight\): got a column of type string"),
    ],
    ids=str,
)
def test_arguments_that_cannot_be_used(folder, argument, got):
    with pytest.raises(sd.DataError, match=got):
        sd.parquet(**{"path": folder, **argument})


@pytest.mark.parametrize("bad", [-1.0, np.nan])
def test_weights_that_cannot_be_used(tmp_path, bad):
    table = _table(10).set_column(3, "weight", pa.array([1.0] * 9 + [bad]))
    _write(table, tmp_path / "0.parquet", 5)
    with pytest.raises(sd.DataError, match=r"1 weights that are .*0.parquet, row group 1"):
        len(sd.parquet(tmp_path, sample_weight="weight"))


def test_filters_that_leave_nothing_or_make_no_sense(folder):
    with pytest.raises(sd.DataError, match="no row that passes"):
        len(sd.parquet(folder, filters=[("b", ">", 1000)]))
    with pytest.raises(sd.DataError, match="filters"):
        sd.parquet(folder, filters=[("nothing", ">", 3)])


def test_a_file_that_changed_is_noticed(folder):
    data = sd.parquet(folder)
    time.sleep(0.02)
    _write(_table(400, 9), folder / "part-3.parquet", 400)
    with pytest.raises(sd.DataError, match=r"part-3.parquet: got a file that has changed"):
        list(data.chunks(100))


def test_a_file_that_is_gone(folder):
    data = sd.parquet(folder)
    (folder / "part-2.parquet").unlink()
    with pytest.raises(sd.DataError, match=r"part-2.parquet: got a file that is gone"):
        list(data.chunks(100))


@pytest.mark.parametrize("container", ["pandas", "polars", "pyarrow"])
def test_the_container_that_the_model_gets(folder, container):
    kinds: set[str] = set()

    def model(X):
        kinds.add(type(X).__module__.split(".")[0])
        return np.asarray(X["a"], dtype=float) * np.asarray(X["b"], dtype=float)

    data = sd.parquet(folder, container=container)
    effect = sd.explain(model, data, "a", method="ale", progress=False)
    assert kinds == {container}
    expected = sd.explain(
        lambda X: X["a"] * X["b"], _table().to_pandas(), "a", method="ale", progress=False
    )
    assert np.array_equal(effect.value, expected.value)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("abfss://box@account.dfs.core.windows.net/a/b.parquet", "box/a/b.parquet"),
        ("s3://bucket/a/b.parquet", "bucket/a/b.parquet"),
        ("hdfs://host:9000/a/b.parquet", "/a/b.parquet"),
    ],
)
def test_paths_in_object_stores_with_options(url, path, monkeypatch):
    import pyarrow.fs as pafs

    for name in parquet._OBJECT_STORES.values():
        monkeypatch.setitem(vars(pafs), name, lambda **options: options)
    assert parquet._system_of(url, None, {"key": "value"}) == ({"key": "value"}, path)
