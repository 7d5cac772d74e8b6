"""`sd.parquet`: files, folders, patterns, filters, weights, and everything that can be wrong with them."""

from __future__ import annotations

import pickle
import time
from pathlib import Path

import numpy as np
import pytest

import skedasis as sd

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


@pytest.mark.parametrize("size", [1, 7, 77, 400, 999, 1000, 5000])
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


def test_some_rows_by_their_numbers(folder):
    rows = np.array([0, 1, 5, 599, 600, 999])
    assert sd.parquet(folder).take(rows).equals(_table().take(rows))


def test_columns_and_their_roles(folder):
    data = sd.parquet(folder, columns=["b", "a"], y="text", sample_weight="weight")
    assert data.columns == ("b", "a")
    assert data.schema.names == ["b", "a", "text", "weight"]
    assert sd.parquet(folder, y="text").columns == ("a", "b", "weight")


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


def test_row_groups(folder):
    data = sd.parquet(folder / "part-2.parquet", row_groups=slice(0, 2))
    assert len(data) == 154
    assert len(sd.parquet(folder / "part-2.parquet", row_groups=[1])) == 77


@pytest.mark.parametrize(
    "pattern", ["part-*.parquet", "part-[0-3].parquet", "**.parquet", "part-?.parquet"]
)
def test_patterns(folder, pattern):
    (folder / "_SUCCESS").touch()
    (folder / ".hidden.parquet").touch()
    assert len(sd.parquet(str(folder / pattern))) == 1000
    assert len(sd.parquet(folder)) == 1000
    assert len(sd.parquet([folder / "part-3.parquet", folder / "part-0.parquet"])) == 401


def test_it_is_small_and_travels(folder):
    data = pickle.loads(pickle.dumps(sd.parquet(folder, filters=[("b", "<", 10)])))
    assert len(data) == len(_table().filter(pc.field("b") < 10))
    assert "4 files" in repr(sd.parquet(folder))


def test_numbers_and_text_of_several_widths(tmp_path):
    _write(pa.table({"a": pa.array([1, 2], pa.int32()), "t": ["x", "y"]}), tmp_path / "0.parquet")
    wide = {"a": pa.array([3], pa.int64()), "t": pa.array(["z"]).dictionary_encode()}
    _write(pa.table(wide), tmp_path / "1.parquet")
    (_, rows), *_ = sd.parquet(tmp_path).chunks(10)
    assert rows["a"].to_pylist() == [1, 2, 3]
    assert rows["t"].to_pylist() == ["x", "y", "z"]


def test_memory_is_that_of_a_chunk_however_large_the_row_group(tmp_path):
    n = 2_000_000
    rows = pa.table({f"x{j}": np.random.default_rng(j).normal(size=n) for j in range(4)})
    path = _write(rows, tmp_path / "large.parquet", n)
    whole = rows.nbytes
    del rows
    before, peak = pa.total_allocated_bytes(), 0
    for _, _chunk in sd.parquet(path).chunks(50_000):
        peak = max(peak, pa.total_allocated_bytes() - before)
    # The compressed row group is read at once; it is not decoded at once.
    assert peak < 2.2 * whole


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


def test_columns_that_do_not_exist(folder):
    with pytest.raises(
        sd.DataError, match=r"parquet\(columns\): got 'z', expected one of 'a', 'b'"
    ):
        sd.parquet(folder, columns=["a", "z"])
    with pytest.raises(sd.DataError, match=r"parquet\(y\): got 'label'"):
        sd.parquet(folder, y="label")
    with pytest.raises(sd.DataError, match="more than once"):
        sd.parquet(folder, columns=["a", "a"])
    with pytest.raises(sd.DataError, match=r"\['a'\]"):
        sd.parquet(folder, columns="a")


def test_a_schema_that_drifts(tmp_path):
    _write(_table(5), tmp_path / "0.parquet")
    _write(_table(5).drop_columns("b"), tmp_path / "1.parquet")
    with pytest.raises(sd.DataError, match=r"1.parquet: got no column 'b', unlike .*0.parquet"):
        sd.parquet(tmp_path)
    _write(_table(5).set_column(1, "b", pa.array(list("abcde"))), tmp_path / "1.parquet")
    with pytest.raises(sd.DataError, match=r"column 'b': got string in .*1.parquet, int64 in"):
        sd.parquet(tmp_path)


def test_nested_columns(tmp_path):
    _write(pa.table({"a": [[1, 2], [3]]}), tmp_path / "0.parquet")
    with pytest.raises(sd.DataError, match="column 'a': got values of type list"):
        sd.parquet(tmp_path)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
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


def test_a_damaged_row_group_is_named(folder):
    path = folder / "part-3.parquet"
    data = sd.parquet(folder)
    content = bytearray(path.read_bytes())
    content[20:400] = b"\xff" * 380
    stat = path.stat()
    path.write_bytes(bytes(content))
    import os

    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(sd.DataError, match=r"part-3.parquet, row group 0: got a file that cannot"):
        list(data.chunks(100))


def test_text_cannot_be_in_an_array(folder):
    data = sd.parquet(folder, container="numpy")
    with pytest.raises(sd.DataError, match="a column that has no numbers: 'text'"):
        sd.explain(lambda X: X[:, 0], data, "a")


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
