"""Table files: delimiters, byte order marks, decimal commas, columnar and compressed formats, and invalid files."""

import importlib.util

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.data import readers
from skedasis.data.readers import read_table


@pytest.fixture(params=["pandas", "polars", "numpy"])
def library(request, monkeypatch):
    """Pretend that only one data frame library is installed, or none."""
    monkeypatch.setattr(readers, "_LIBRARIES", tuple({request.param} & {"pandas", "polars"}))
    return request.param


def table(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path)


@pytest.mark.many
@pytest.mark.parametrize(
    "content",
    [
        "a,b\n1,2.5\n3,\n",
        "a;b\n1;2,5\n3;\n",
        "a\tb\n1\t2.5\n3\tNA\n",
        "a|b\n1|2.5\n3|nan\n",
        b"\xef\xbb\xbfa,b\r\n1,2.5\r\n3,\r\n",
        "a,b\n1,2.5\n3,\n".encode("utf-16"),
        "a,b\n1,2.5\n3,\n".encode("utf-32"),
        "a,b\r1,2.5\r3,\r",
        "a,b\r1,2.5\r\n3,\n",
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
    monkeypatch.setattr(readers, "_LIBRARIES", ())
    with pytest.raises(sd.DataError, match=r"line 3: got text .* pip install pandas"):
        table(tmp_path, "a,b\n1,2\n3,red\n")


def test_latin_text(tmp_path):
    t = table(tmp_path, "Größe,b\n1,é\n".encode("cp1252"))
    assert t.names == ("Größe", "b")


@pytest.mark.parametrize("installed", [("pandas",), ("polars",)])
def test_parquet(tmp_path, monkeypatch, installed):
    pd.DataFrame({"a": [1, 2], "b": ["x", None]}).to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(readers, "_LIBRARIES", installed)
    t = read_table(tmp_path / "t.parquet")
    assert t.names == ("a", "b")
    assert type(t.data).__module__.startswith(installed[0])


def test_parquet_without_a_reader(tmp_path, monkeypatch):
    pd.DataFrame({"a": [1, 2]}).to_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(readers, "_LIBRARIES", ("pandas",))
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n: None if n == "pyarrow" else found(n))
    with pytest.raises(sd.DataError, match="pip install polars"):
        read_table(tmp_path / "t.parquet")


def test_damaged_parquet(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(sd.DataError, match="a file that cannot be read"):
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


FORMS = ["t.feather", "t.pq", "t.arrow", "stream.ipc", "t.csv.gz", "parquet.csv", "arrow.txt"]


@pytest.mark.many
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("installed", ["pandas", "polars"])
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


@pytest.mark.thinned
@pytest.mark.parametrize("name", ["t.feather", "t.arrow", "t.pq", "t.csv.gz", "stream.ipc"])
@pytest.mark.parametrize("part", [0.02, 0.4, 0.95])
@pytest.mark.parametrize("installed", ["pandas", "polars"])
def test_tables_that_are_cut_off(tmp_path, monkeypatch, installed, name, part):
    columnar(tmp_path)
    monkeypatch.setattr(readers, "_LIBRARIES", (installed,))
    raw = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(raw[: max(1, int(part * len(raw)))])
    try:
        t = read_table(tmp_path / name)
    except sd.DataError as error:
        message = str(error)
    else:
        # A stream may end anywhere; the record batches before its end are complete.
        assert name == "stream.ipc"
        assert len(t) == 3
        return
    assert str(tmp_path / name) in message
    # The first byte alone does not identify the format.
    known = ("cannot be read", "truncated", "no row", "an empty file")
    assert any(words in message for words in known)


@pytest.mark.parametrize("suffix", [".feather", ".arrow", ".parquet", ".ipc"])
@pytest.mark.parametrize("content", [b"", b"hello, world " * 9, b"ARROW1\x00\x00" + b"\xff" * 40])
def test_files_that_are_called_tables(tmp_path, suffix, content):
    with pytest.raises(sd.DataError, match=r"an empty file|cannot be read|binary") as caught:
        table(tmp_path, content, f"t{suffix}")
    assert str(tmp_path) in str(caught.value)
    assert readers.header(tmp_path / f"t{suffix}") == []


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("installed", ["pandas", "polars"])
def test_names_that_stand_twice_in_a_file(tmp_path, monkeypatch, capfd, installed, ending):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    monkeypatch.setattr(readers, "_LIBRARIES", (installed,))
    twice = pa.table([pa.array([1, 2]), pa.array([3, 4])], names=["a", "a"])
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        pyarrow.parquet.write_table(twice, path)
    else:
        with pa.ipc.new_file(str(path), twice.schema) as writer:
            writer.write_table(twice)
    with pytest.raises(sd.DataError, match="the column name 'a' more than once"):
        read_table(path)
    assert capfd.readouterr().err == ""  # Polars would print a panic


@pytest.mark.parametrize("ending", ["feather", "parquet"])
def test_tables_without_rows_or_columns(tmp_path, ending):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather
    import pyarrow.parquet

    write = pyarrow.feather.write_feather if ending == "feather" else pyarrow.parquet.write_table
    for made, message in (
        (pa.table({"a": pa.array([], pa.int64())}), "no row"),
        (pa.table({}), "no "),
    ):
        write(made, tmp_path / f"t.{ending}")
        with pytest.raises(sd.DataError, match=message):
            read_table(tmp_path / f"t.{ending}")


def test_feather_without_a_reader(tmp_path, monkeypatch):
    FRAME.to_feather(tmp_path / "t.feather")
    monkeypatch.setattr(readers, "_LIBRARIES", ())
    with pytest.raises(sd.DataError, match=r"an Arrow file and no library .* pip install polars"):
        read_table(tmp_path / "t.feather")


def test_a_damaged_gzip(tmp_path):
    import gzip

    raw = bytearray(gzip.compress(b"a,b\n" + b"1,2\n" * 5000))
    raw[30] ^= 0xFF
    with pytest.raises(sd.DataError, match="truncated or damaged"):
        table(tmp_path, bytes(raw), "t.csv.gz")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")

    def locked(self, *args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", locked)
    with pytest.raises(sd.DataError, match=r"cannot be read \(Permission denied\)"):
        read_table(path)
    assert readers.header(path) == []


def test_a_header_at_the_end_of_what_is_looked_at(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_bytes("Größe,b\n".encode() + "é,1\n".encode() * 50)
    for size in range(10, 30):
        monkeypatch.setattr(readers, "_HEADER_BYTES", size)
        assert readers.header(path) == ["Größe", "b"]
