"""The page of figures on reliability says what was counted, of tests that there are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools import reliability, trials
from tools.reliability import Family
from tools.trials import Trial

ROOT = Path(__file__).parents[2]


def test_the_page_is_what_is_stored():
    page = reliability.page(reliability.Store.read())
    assert reliability.PAGE.read_text("utf-8") == page, "python -m tools.reliability --write"


@pytest.mark.parametrize("family", list(reliability.families()), ids=lambda f: f.name)
def test_every_family_has_its_tests_and_its_count(family):
    assert [p for p in family.tests if not (ROOT / p.partition("::")[0]).exists()] == []
    count = reliability.Store.read().counts[family.name]
    assert count.passed > 0
    assert count.failed == 0


NOTED = {
    "tests/a/test_x.py::test_one": Trial("passed", 0, {"files": 20, "refused": 4}),
    "tests/a/test_x.py::test_two[1]": Trial("passed", 30),
    "tests/a/test_x.py::test_two[2]": Trial("skipped"),
    "tests/a/test_xy.py::test_one": Trial("failed", 0, {"files": 1}),
    "tests/ab/test_x.py::test_one": Trial("passed"),
}


@pytest.mark.parametrize(
    ("places", "wanted"),
    [
        (("tests/a",), (2, 1, 1, 30, {"files": 21, "refused": 4})),
        (("tests/a/test_x.py",), (2, 1, 0, 30, {"files": 20, "refused": 4})),
        (("tests/a/test_x.py::test_two",), (1, 1, 0, 30, {})),
        (("tests/a/test_xy.py", "tests/ab"), (1, 0, 1, 0, {"files": 1})),
        (("tests/a/test_x.py", "tests/a"), (2, 1, 1, 30, {"files": 21, "refused": 4})),
    ],
)
def test_tests_are_counted_once_where_they_belong(places, wanted):
    count = reliability.counted(Family("a", "", "", places), NOTED)
    assert (count.passed, count.skipped, count.failed, count.examples, count.tried) == wanted


def test_a_place_without_noted_tests_is_named():
    with pytest.raises(LookupError, match=r"'tests/b'.*--run"):
        reliability.counted(Family("a", "", "", ("tests/a", "tests/b")), NOTED)


TESTS = """
import pytest
from hypothesis import given, settings, strategies as st

@given(st.integers())
@settings(max_examples=7, derandomize=True, database=None)
def test_law(x):
    pass

def test_runs_laws():
    for examples in (3, 2):
        @given(st.integers())
        @settings(max_examples=examples, derandomize=True, database=None)
        def law(x):
            pass
        law()

def test_tries(record_property):
    record_property("tried", {"files": 3})

@pytest.mark.parametrize("x", [1, 2])
def test_fails(x):
    assert x == 1

@pytest.fixture
def broken():
    raise OSError

def test_broken(broken):
    pass

@pytest.mark.skip
def test_skipped():
    pass
"""
RUN = """
import sys
from pathlib import Path
import pytest
from tools import trials
trials.KEPT = Path(sys.argv[1], "build", "trials.json")
sys.exit(pytest.main(["-q", "-p", "tools.trials", "-c", "none.ini", *sys.argv[2:], sys.argv[1]]))
"""


def test_what_tests_come_to_is_noted(tmp_path, monkeypatch):
    (tmp_path / "none.ini").write_text("[pytest]\n")
    (tmp_path / "test_some.py").write_text(TESTS)
    for args in (["-k", "tries"], ["-k", "not tries"]):
        command = [sys.executable, "-c", RUN.replace("none.ini", str(tmp_path / "none.ini"))]
        subprocess.run([*command, str(tmp_path), *args], cwd=ROOT, capture_output=True, check=False)
    monkeypatch.setattr(trials, "KEPT", tmp_path / "build" / "trials.json")
    noted = {name.partition("::")[2]: trial for name, trial in trials.read().items()}
    assert noted == {
        "test_law": Trial("passed", 7),
        "test_runs_laws": Trial("passed", 5),
        "test_tries": Trial("passed", 0, {"files": 3}),
        "test_fails[1]": Trial("passed"),
        "test_fails[2]": Trial("failed"),
        "test_broken": Trial("failed"),
        "test_skipped": Trial("skipped"),
    }
