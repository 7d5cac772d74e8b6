"""The stored figures of the long simulations are complete, and storing them works in several processes."""

from __future__ import annotations

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
