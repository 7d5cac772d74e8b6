"""Real data sets: known facts about the tables, local files and downloads."""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import io
import urllib.request

import numpy as np
import pytest

from skedasis.datasets import real
from skedasis.errors import DataError


def loaded(name):
    try:
        return real.load(name, download=False)
    except DataError as error:
        pytest.skip(f"{error}")


def test_diabetes_is_in_its_units():
    diabetes = real.load_diabetes()
    assert list(diabetes.X.columns) == list(diabetes.feature_names)
    assert diabetes.X.shape == (442, 10)
    assert diabetes.y.shape == (442,)
    assert diabetes.X["age"].between(19, 79).all()
    assert diabetes.units["bp"] == "mmHg"
    assert set(diabetes.units) <= {*diabetes.feature_names, diabetes.target}


@pytest.mark.many
@pytest.mark.parametrize(
    ("name", "shape", "target_mean"),
    [
        ("california_housing", (20640, 9), 206855.8169),
        ("concrete", (1030, 8), 35.8180),
        ("pima_diabetes", (768, 8), 268 / 768),
        ("bike_sharing_hour", (17379, 12), 189.4631),
        ("munich_rent_2003", (2053, 11), 570.0930),
        ("credit", (4454, 13), None),
    ],
)
def test_tables(name, shape, target_mean):
    table = loaded(name)
    assert table.X.shape == shape
    assert table.y.shape == shape[:1]
    assert tuple(table.X.columns) == table.feature_names
    assert set(table.units) <= {*table.feature_names, table.target}
    if target_mean is not None:
        assert table.y.mean() == pytest.approx(target_mean, abs=1e-4)


def test_missing_values_stay_missing():
    assert loaded("california_housing").X["total_bedrooms"].isna().sum() == 207
    credit = loaded("credit").X
    missing = credit.isna().sum()
    assert {column: int(n) for column, n in missing.items() if n} == {
        "Home": 6,
        "Marital": 1,
        "Job": 2,
        "Income": 381,
        "Assets": 47,
        "Debt": 18,
    }
    assert credit["Home"].nunique() == 6


def test_whole_numbers_stay_whole():
    assert loaded("bike_sharing_hour").X["hr"].dtype.kind == "i"
    assert loaded("california_housing").X["median_income"].dtype.kind == "f"


CALIFORNIA = """
longitude          -124.35    -114.31   -119.5859    2.0028
latitude             32.54      41.95     35.6528    2.1448
housing_median_age    1         52        29.0142   12.4236
total_rooms           2       9179      2390.7942 1433.8271
total_bedrooms        2       1797       493.8628  291.0071
population            3       4818      1310.9056  771.7841
households            2       1644       460.3052  267.3394
median_income         0.4999     9.5561    3.7258    1.6021
median_house_value  14999     500001   201836.8538 110684.2986
"""


def test_california_as_in_the_rhale_paper():
    loaded("california_housing")
    raw = real.california_rhale(standardize=False)
    assert raw.X.shape == (19549, 8)
    table = raw.X.assign(**{raw.target: raw.y})
    expected = {
        row.split()[0]: [float(v) for v in row.split()[1:]] for row in CALIFORNIA.split("\n") if row
    }
    assert list(table.columns) == list(expected)
    for column, statistics in expected.items():
        values = table[column].to_numpy()
        found = [values.min(), values.max(), values.mean(), values.std()]
        np.testing.assert_allclose(found, statistics, atol=5.1e-5)
    scaled = real.california_rhale()
    np.testing.assert_allclose(scaled.X.mean(), 0.0, atol=1e-12)
    np.testing.assert_allclose(scaled.X.std(ddof=0), 1.0)
    assert scaled.y.std() == pytest.approx(1.0)
    assert scaled.units["latitude"] == "sd"


# -------------------------------------------------------------- local files and downloads

TEXT = "a,b,unused,t\n1,0.5,x,3\n2,,,4\n"


@pytest.fixture
def source(monkeypatch, tmp_path):
    """Register a small source of which no copy exists on this machine, and return it."""
    made = real._Source(
        sha256=hashlib.sha256(TEXT.encode()).hexdigest(),
        target="t",
        description="",
        units={},
        leave_out=("unused",),
        url="https://example.org/tiny.csv",
        header="a,b,unused,t",
    )
    monkeypatch.setitem(real._SOURCES, "tiny", made)
    monkeypatch.setenv("SKEDASIS_DATA", str(tmp_path / "chosen"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return made


@pytest.fixture
def answer(monkeypatch):
    """Return a function that makes every download return a content or raise an error, and lists the requests."""
    asked = []

    def give(content):
        def urlopen(url, timeout):
            asked.append((url, timeout))
            if isinstance(content, Exception):
                raise content
            return io.BytesIO(content)

        monkeypatch.setattr(urllib.request, "urlopen", urlopen)
        return asked

    return give


def check(table):
    assert tuple(table.X.columns) == ("a", "b")
    np.testing.assert_array_equal(table.X.to_numpy(), [[1.0, 0.5], [2.0, np.nan]])
    np.testing.assert_array_equal(table.y, [3, 4])


@pytest.mark.parametrize("folder", ["chosen", "shared/data", "cache/skedasis"])
def test_files_are_found(source, tmp_path, folder, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "tiny.csv").write_text(TEXT)
    check(real.load("tiny", download=False))


def test_public_files_are_downloaded_once(source, answer, tmp_path):
    asked = answer(TEXT.replace("a,b,", "A,B,").replace("\n", "\r\n").encode())
    check(real.load("tiny"))
    check(real.load("tiny"))
    assert asked == [("https://example.org/tiny.csv", real.TIMEOUT)]
    assert (tmp_path / "chosen" / "tiny.csv").read_bytes() == TEXT.encode()


def test_codes_of_a_downloaded_file_become_texts(source, answer, monkeypatch, tmp_path):
    """The file of a package that decodes it has texts, and rows of unknown target are not in it."""
    coded = "KIND,amount,t\n1,5,1\n2,99,2\n0,7,1\n1,8,0\n"
    wanted = "kind,amount,t\nrent,5,good\nown,,bad\n,7,good\n"
    made = real._Source(
        sha256=hashlib.sha256(wanted.encode()).hexdigest(),
        target="t",
        description="",
        units={},
        url="https://example.org/coded.csv",
        header="kind,amount,t",
        codes={"kind": {"0": "", "1": "rent", "2": "own"}, "t": {"1": "good", "2": "bad"}},
        missing={"amount": ("99",)},
    )
    monkeypatch.setitem(real._SOURCES, "coded", made)
    answer(coded.encode())
    table = real.load("coded")
    assert table.y.tolist() == ["good", "bad", "good"]
    assert table.X["kind"].tolist()[:2] == ["rent", "own"]
    np.testing.assert_array_equal(table.X["amount"], [5.0, np.nan, 7.0])
    assert (tmp_path / "chosen" / "coded.csv").read_text() == wanted


def test_the_public_file_of_credit_is_that_of_the_package():
    """Its public source has codes: encoded and decoded, the table has its checksum."""
    found = [f / "credit.csv" for f in real.folders() if (f / "credit.csv").is_file()]
    if not found:
        pytest.skip("no credit.csv")
    source = real._SOURCES["credit"]
    names = {
        column: {text: code for code, text in texts.items()}
        for column, texts in source.codes.items()
    }
    header, *rows = csv.reader(io.StringIO(found[0].read_text("utf-8")))
    assert ",".join(header) == source.header
    # The first of several codes of a missing value: both become an empty cell.
    absent = {column: cells[0] for column, cells in source.missing.items()}
    coded = [
        [
            names.get(n, {}).get(cell, cell or absent.get(n, ""))
            for n, cell in zip(header, row, strict=True)
        ]
        for row in rows
    ]
    coded.append(["0", *coded[0][1:]])  # the status of one row is not known
    raw = "".join(f"{','.join(line)}\n" for line in [header, *coded]).encode()
    assert not any(text in raw.decode() for text in ("good", "married", "fixed"))
    decoded = real._decoded_cells(raw, source)
    assert hashlib.sha256(decoded).hexdigest() == source.sha256


def test_nothing_is_downloaded_unless_allowed(source, answer):
    asked = answer(TEXT.encode())
    with pytest.raises(DataError, match=r"no tiny\.csv in .* expected a CSV .* set SKEDASIS_DATA"):
        real.load("tiny", download=False)
    assert asked == []


def test_a_failing_download_says_what_to_do(source, answer):
    answer(TimeoutError("timed out"))
    with pytest.raises(
        DataError, match=r"got timed out, expected a response from https.*SKEDASIS_DATA"
    ):
        real.load("tiny")


def test_a_changed_file_is_refused(source, answer, tmp_path):
    answer(TEXT.replace("4", "5").encode())
    with pytest.raises(DataError, match=r"example\.org.*: got sha256 .*expected"):
        real.load("tiny")
    assert not (tmp_path / "chosen").exists()
    (tmp_path / "chosen").mkdir()
    (tmp_path / "chosen" / "tiny.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"tiny\.csv: got sha256 .*Remove or replace it"):
        real.load("tiny")


def test_unknown_names_are_listed():
    with pytest.raises(DataError, match=r"got 'boston', expected one of .*'credit'"):
        real.load("boston")


def test_without_pandas_tables_are_arrays(source, tmp_path, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pandas" else find(name)
    )
    (tmp_path / "chosen").mkdir()
    (tmp_path / "chosen" / "tiny.csv").write_text(TEXT)
    table = real.load("tiny")
    np.testing.assert_array_equal(table.X, [[1.0, 0.5], [2.0, np.nan]])
    assert real.load_diabetes().X.shape == (442, 10)


def test_without_sklearn_the_error_says_so(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DataError, match="pip install scikit-learn"):
        real.load_diabetes()
