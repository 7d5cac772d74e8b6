"""The stored figures of the long simulations are complete, and storing them works in several processes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.long import figures
from tests.long.figures import Figure

ROOT = Path(__file__).parents[2]
ONE = Figure(value=0.951, error=0.007, draws=1000, rows=300, seed="0 to 999", low=0.93, high=0.97)


def test_each_long_test_that_measures_has_kept_its_figures(request):
    measuring = request.config.stash[figures.MEASURING]
    kept = {figures.test_of(key) for key in figures.read()}
    missing = [name for name in measuring if name not in kept]
    assert not missing, "make test-long ARGS=--write-figures"


def test_all_figures_that_are_kept_are_of_tests_that_there_are(request):
    config = request.config
    if any("::" in arg for arg in config.args) or config.getoption("lf", default=False):
        pytest.skip("not all tests of each file are collected")
    measuring, files = config.stash[figures.MEASURING], config.stash[figures.COLLECTED]
    kept = {figures.test_of(key) for key in figures.read()}
    strays = {k for k in kept if k.partition("::")[0] in files} - set(measuring)
    gone = {k for k in kept if not (ROOT / k.partition("::")[0]).exists()}
    assert not strays | gone, "remove their lines from tests/long/figures.json"


def test_the_file_and_its_table_are_as_they_are_written():
    kept = figures.read()
    assert kept
    assert figures.KEPT.read_text(encoding="utf-8") == figures.as_json(kept)
    page = figures.KEPT.with_name(figures.TABLE).read_text(encoding="utf-8")
    assert page == figures.as_table(kept)


def test_all_figures_that_are_kept_are_within_their_limits():
    for key, kept in figures.read().items():
        assert kept.low is None or kept.value >= kept.low, key
        assert kept.high is None or kept.value <= kept.high, key


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ({}, None),
        ({"value": 0.945}, None),
        ({"value": 0.943}, "now 0.943"),
        ({"value": float("nan")}, "now nan"),
        ({"draws": 999}, "'draws': 999"),
        ({"low": 0.9}, "'low': 0.9"),
    ],
)
def test_a_figure_is_reproduced_within_its_error(now, said):
    wrong = figures.difference(Figure(**{**vars(ONE), **now}), ONE)
    assert wrong is None if said is None else said in wrong


def test_a_figure_that_is_not_kept_is_wrong():
    assert figures.difference(ONE, None) == "it is not kept"


def test_errors_of_shares_and_of_ratios():
    assert figures.of_share(0.5, 10_000) == pytest.approx(0.005, rel=1e-3)
    # 0 of 998 counts as 1 of 1,000.
    assert figures.of_share(0.0, 998) == pytest.approx((0.001 * 0.999 / 998) ** 0.5)
    assert figures.of_ratio(1.0, 201) == pytest.approx(0.05)


def test_tests_that_ran_take_the_place_of_all_their_figures():
    kept = {"a::t[1] :: one": ONE, "a::t[1] :: two": ONE, "a::t[2] :: one": ONE}
    new = {"a::t[1] :: three": ONE}
    assert set(figures.merged(kept, new)) == {"a::t[1] :: three", "a::t[2] :: one"}


WRITTEN = """
import pytest

@pytest.mark.long
@pytest.mark.parametrize("k", range(4))
def test_share(k, measured):
    measured("held", 0.95 - LOWER, draws=1000, rows=10, seed="0", low=0.93)

@pytest.mark.long
def test_that_fails(measured):
    measured("held", 0.5, draws=1000, rows=10, seed="0", low=0.93)
    measured("other", 0.95, draws=1000, rows=10, seed="0")

def test_quick(measured):
    measured("held", 0.91, draws=100, rows=10, seed="0", low=0.93)
"""


# Imported by path: in another folder, the `tests` package of another distribution may shadow ours.
CONFTEST = f"""
import importlib.util
import sys

spec = importlib.util.spec_from_file_location("kept_figures", {figures.__file__!r})
module = sys.modules["kept_figures"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
measured = module.measured
pytest_addoption, pytest_configure = module.pytest_addoption, module.pytest_configure
pytest_runtest_call = module.pytest_runtest_call
"""


def ran(folder, lower, *options):
    """Return the numbers of failed and passed tests, and the output."""
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    long\n", encoding="utf-8")
    (folder / "test_it.py").write_text(WRITTEN.replace("LOWER", lower), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-c", "pytest.ini", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--figures", "kept.json", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    counts = re.search(r"(\d+) failed.*?(\d+) passed", done.stdout)
    return counts and counts.groups(), done.stdout + done.stderr


@pytest.mark.slow
def test_two_processes_write_one_file_that_later_runs_are_compared_with(tmp_path):
    counts, out = ran(tmp_path, "0", "-n", "2", "--write-figures")
    assert counts == ("1", "5"), out
    assert "held: 0.5 is not between 0.93 and inf" in out
    kept = figures.read(tmp_path / "kept.json")
    assert sorted(kept) == [f"test_it.py::test_share[{k}] :: held" for k in range(4)]
    assert kept["test_it.py::test_share[0] :: held"].value == 0.95
    row = "| 3 | held | 0.9500 ± 0.0069 | ≥ 0.93 | 1,000 | 10 | 0 |"
    assert row in (tmp_path / "FIGURES.md").read_text(encoding="utf-8")
    counts, out = ran(tmp_path, "0.005")
    assert counts == ("1", "5"), out
    counts, out = ran(tmp_path, "0.01")
    assert counts == ("5", "1"), out
    assert "held: 0.95 is kept, give or take 0.00" in out
