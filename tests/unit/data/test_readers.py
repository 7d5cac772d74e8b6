"""Table files: delimiters, byte order marks, decimal commas, columnar and compressed formats, and invalid files."""

import importlib.util

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.data import readers
from skedasis.data.readers import read_table


def table(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path)


@pytest.mark.parametrize(
    ("content", "library"),
    [
        ("a,b\n1,2.5\n3,\n", "numpy"),
        ("a;b\n1;2,5\n3;\n", "pandas"),
        ("a\tb\n1\t2.5\n3\tNA\n", "polars"),
        ("a|b\n1|2.5\n3|nan\n", "numpy"),
        (b"\xef\xbb\xbfa,b\r\n1,2.5\r\n3,\r\n", "pandas"),
        ("a,b\n1,2.5\n3,\n".encode("utf-16"), "polars"),
        ("a,b\n1,2.5\n3,\n".encode("utf-32"), "numpy"),
        ("a,b\r1,2.5\r\n3,\n", "polars"),
        ('"a","b"\n"1","2.5"\n3,\n', "pandas"),
    ],
)
def test_dialects(tmp_path, monkeypatch, library, content):
    monkeypatch.setattr(readers, "_LIBRARIES", tuple({library} & {"pandas", "polars"}))
    t = table(tmp_path, content)
    assert t.names == ("a", "b")
    assert t.is_frame == (library != "numpy")
    assert len(t) == 2
    np.testing.assert_array_equal(t.column("a").astype(float), [1, 3])
    np.testing.assert_array_equal(t.column("b").astype(float), [2.5, np.nan])


def test_parts_of_a_table(tmp_path):
    t = table(tmp_path, "a,b,c\n1,2,3\n4,5,6\n7,8,9\n")
    part = t.select(["c", "a"]).take(np.array([0, 2]))
    assert part.names == ("c", "a")
    np.testing.assert_array_equal(part.column("c"), [3, 9])
    np.testing.assert_array_equal(part.column("a"), [1, 7])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "an empty file"),
        ("a,b\n", "no row"),
        ("a,a\n1,2\n", "the column name 'a' more than once"),
        ("a,b\n1,2\n1,2,3\n", r"line 3: got 3 fields, expected 2"),
        (b"PK\x03\x04\x00\x00\x00", "a binary file"),
    ],
)
def test_files_that_are_no_tables(tmp_path, content, message):
    with pytest.raises(sd.DataError, match=message):
        table(tmp_path, content)


def test_files_that_are_not_there(tmp_path):
    (tmp_path / "houses.csv").write_text("a\n1\n")
    with pytest.raises(sd.DataError, match=r"no file .* Did you mean .*houses.csv"):
        read_table(tmp_path / "house.csv")
    with pytest.raises(sd.DataError, match="the folder"):
        read_table(tmp_path)
    with pytest.raises(sd.DataError, match="Check the folder's name"):
        read_table(tmp_path / "no" / "such.csv")


def test_text_needs_a_library(tmp_path, monkeypatch):
    monkeypatch.setattr(readers, "_LIBRARIES", ())
    with pytest.raises(sd.DataError, match=r"line 3: got text .* pip install pandas"):
        table(tmp_path, "a,b\n1,2\n3,red\n")


def test_latin_text(tmp_path):
    t = table(tmp_path, "Größe,b\n1,é\n".encode("cp1252"))
    assert t.names == ("Größe", "b")


def test_parquet_without_a_reader(tmp_path, monkeypatch):
    pd.DataFrame({"a": [1, 2]}).to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(readers, "_LIBRARIES", ("pandas",))
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n: None if n == "pyarrow" else found(n))
    with pytest.raises(sd.DataError, match="pip install polars"):
        read_table(tmp_path / "t.parquet")


# ------------------------------------------------------------------------------ Feather, Arrow, gzip

FRAME = pd.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"], "c": [0.5, np.nan, 2.0]})


def columnar(folder):
    """Write the same table in every file format."""
    FRAME.to_feather(folder / "t.feather", compression="zstd")
    FRAME.to_parquet(folder / "t.pq")
    polars = pytest.importorskip("polars")
    polars.from_pandas(FRAME).write_ipc(folder / "t.arrow")
    polars.from_pandas(FRAME).write_ipc_stream(folder / "stream.ipc")
    FRAME.to_csv(folder / "t.csv.gz", index=False)
    (folder / "parquet.csv").write_bytes((folder / "t.pq").read_bytes())
    (folder / "arrow.txt").write_bytes((folder / "t.arrow").read_bytes())


@pytest.mark.parametrize(
    ("name", "installed"),
    [
        ("t.feather", "pandas"),
        ("t.feather", "polars"),
        ("t.pq", "polars"),
        ("t.arrow", "pandas"),
        ("stream.ipc", "polars"),
        ("t.csv.gz", "pandas"),
        ("parquet.csv", "pandas"),
        ("arrow.txt", "polars"),
    ],
)
def test_every_form_of_a_table(tmp_path, monkeypatch, installed, name):
    columnar(tmp_path)
    monkeypatch.setattr(readers, "_LIBRARIES", (installed,))
    t = read_table(tmp_path / name)
    assert t.names == ("a", "b", "c")
    assert type(t.data).__module__.startswith(installed)
    np.testing.assert_array_equal(t.column("a"), FRAME["a"])
    np.testing.assert_array_equal(t.column("c"), FRAME["c"])
    assert list(t.column("b"))[::2] == ["x", "z"]
    assert readers.header(tmp_path / name) == ["a", "b", "c"]


def test_a_damaged_gzip(tmp_path):
    import gzip

    raw = bytearray(gzip.compress(b"a,b\n" + b"1,2\n" * 5000))
    raw[30] ^= 0xFF
    with pytest.raises(sd.DataError, match="truncated or damaged"):
        table(tmp_path, bytes(raw), "t.csv.gz")
