"""Real data sets: known facts about the tables, local files and downloads."""

from __future__ import annotations

import hashlib
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


def test_a_changed_file_is_refused(source, answer, tmp_path):
    answer(TEXT.replace("4", "5").encode())
    with pytest.raises(DataError, match=r"example\.org.*: got sha256 .*expected"):
        real.load("tiny")
    assert not (tmp_path / "chosen").exists()
    (tmp_path / "chosen").mkdir()
    (tmp_path / "chosen" / "tiny.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"tiny\.csv: got sha256 .*Remove or replace it"):
        real.load("tiny")
