"""Files as people have them: other delimiters, byte order marks, decimal commas, and files that are none."""

import importlib.util

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.data import files
from skedasis.data.files import read_table


@pytest.fixture(params=["pandas", "polars", "numpy"])
def library(request, monkeypatch):
    """Pretend that only one data frame library is installed, or none."""
    monkeypatch.setattr(files, "_LIBRARIES", tuple({request.param} & {"pandas", "polars"}))
    return request.param


def table(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path)


@pytest.mark.parametrize(
    "content",
    [
        "a,b\n1,2.5\n3,\n",
        "a;b\n1;2,5\n3;\n",
        "a\tb\n1\t2.5\n3\tNA\n",
        "a|b\n1|2.5\n3|nan\n",
        b"\xef\xbb\xbfa,b\r\n1,2.5\r\n3,\r\n",
        "a,b\n1,2.5\n3,\n".encode("utf-16"),
        '"a","b"\n"1","2.5"\n3,\n',
    ],
)
def test_dialects(tmp_path, library, content):
    t = table(tmp_path, content)
    assert t.names == ("a", "b")
    assert t.is_frame == (library != "numpy")
    assert len(t) == 2
    np.testing.assert_array_equal(t.column("a").astype(float), [1, 3])
    np.testing.assert_array_equal(t.column("b").astype(float), [2.5, np.nan])


def test_parts_of_a_table(tmp_path, library):
    t = table(tmp_path, "a,b,c\n1,2,3\n4,5,6\n7,8,9\n")
    part = t.select(["c", "a"]).take(np.array([0, 2]))
    assert part.names == ("c", "a")
    np.testing.assert_array_equal(part.column("c"), [3, 9])
    np.testing.assert_array_equal(part.column("a"), [1, 7])
    if library == "numpy":
        assert [f.name for f in part.schema.values()] == ["c", "a"]
    else:
        assert part.schema is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "an empty file"),
        ("  \n\n", "an empty file"),
        ("a,b\n", "no row"),
        ("a,a\n1,2\n", "the column name 'a' more than once"),
        ("a,b\n1,2\n1,2,3\n", r"line 3: got 3 fields, expected 2"),
        ("a,b\n1\n1,2\n", r"line 2: got 1 fields, expected 2"),
        (b"PK\x03\x04\x00\x00\x00", "a binary file"),
    ],
)
def test_files_that_are_no_tables(tmp_path, library, content, message):
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


def test_columns_that_are_not_there(tmp_path, library):
    t = table(tmp_path, "Price,b\n1,2\n3,4\n")
    with pytest.raises(sd.DataError, match="Did you mean 'Price'"):
        t.place("price")
    with pytest.raises(sd.DataError, match="expected one of 'Price', 'b'"):
        t.column("zzzzzz")


def test_text_needs_a_library(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_LIBRARIES", ())
    with pytest.raises(sd.DataError, match=r"line 3: got text .* pip install pandas"):
        table(tmp_path, "a,b\n1,2\n3,red\n")


def test_latin_text(tmp_path):
    t = table(tmp_path, "Größe,b\n1,é\n".encode("cp1252"))
    assert t.names == ("Größe", "b")


@pytest.mark.parametrize("installed", [("pandas",), ("polars",)])
def test_parquet(tmp_path, monkeypatch, installed):
    pd.DataFrame({"a": [1, 2], "b": ["x", None]}).to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(files, "_LIBRARIES", installed)
    t = read_table(tmp_path / "t.parquet")
    assert t.names == ("a", "b")
    assert type(t.data).__module__.startswith(installed[0])


def test_parquet_without_a_reader(tmp_path, monkeypatch):
    pd.DataFrame({"a": [1, 2]}).to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(files, "_LIBRARIES", ("pandas",))
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n: None if n == "pyarrow" else found(n))
    with pytest.raises(sd.DataError, match="pip install polars"):
        read_table(tmp_path / "t.parquet")


def test_damaged_parquet(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(sd.DataError, match="a file that cannot be read"):
        read_table(tmp_path / "t.parquet")
