"""Hooks and fixtures for all tests."""

from __future__ import annotations

import importlib
import json
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.long.figures import (  # noqa: F401 - pytest finds them here
    measured,
    note,
    pytest_addoption,
    pytest_configure,
    pytest_runtest_call,
)

# One browser for the pages of reports and of the site: a second one does not start in the same process.
from tests.report.browser import browser, visit  # noqa: F401

# Draws do not change between runs: what passes once passes on every machine, and on the next day.
settings.register_profile("fixed", derandomize=True, database=None, deadline=None)
settings.load_profile("fixed")

OPTIONAL = ("catboost", "jax", "keras", "onnx")
"""Libraries that `make test` does without. Tests of theirs, or cases, have them in their names."""

PROGRAMS = ("docs", "experiments", "typing", "unit/test_streams_law.py")
COMPARISONS = ("laws", "reference")
"""Folders and files whose tests run without coverage, which makes Python twice as slow. They run programs, editors and
type checkers, or compare the numbers of the library with other sources, on many cases; that every line runs is the work
of the others.
"""
MEASURED_CASES = 10
"""Cases of a test that run with coverage: further ones run the same lines with other values. Of tests that `make test`
leaves out these are those of torch and other libraries, one case of each.
"""
EVERY_CASE = (
    "unit/test_where.py",
)
"""Files whose cases are measured all: each is another transformer, or another rule of a parser or of a check."""
USUAL_CASES = 3
"""Cases of a test marked `many` that run usually: the first, the last, and one between. The others are slow."""
TESTS = Path(__file__).parent
CHOICE = {
    name: frozenset(tests)
    for name, tests in json.loads((TESTS / "measured.json").read_text(encoding="utf-8")).items()
}
"""Tests of comparisons that are measured all the same, and others that are not: see `tools/measured.py`."""


def _without_its_system_library(name: str) -> None:
    """Mark a library as not installed if a system library that it links to is missing: its tests are then skipped."""
    try:
        importlib.import_module(name)
    except ImportError:
        pass
    except OSError:  # LightGBM without libgomp
        absent: Any = None
        sys.modules[name] = absent


_without_its_system_library("lightgbm")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests of the libraries in `OPTIONAL`, long ones as slow, and those without coverage; note what measures."""
    note(config, items)
    for item in items:
        if any(name in item.nodeid.lower() for name in OPTIONAL):
            item.add_marker(pytest.mark.optional)
    _thin_out(items)
    _take_few(items)
    if config.pluginmanager.has_plugin("pytest_cov"):
        _limit_coverage(items)


def _thin_out(items: list[pytest.Item]) -> None:
    """Mark as long the cases of a test marked `thinned` that have nothing new; and long ones as slow."""
    cases: dict[str, list[pytest.Function]] = {}
    for item in items:
        if any(item.get_closest_marker(mark) for mark in ("slow", "long", "torch")):
            continue
        if isinstance(item, pytest.Function) and item.get_closest_marker("thinned"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for alike in cases.values():
        marker = alike[0].get_closest_marker("thinned")
        together = marker.args[0] if marker and marker.args else 1
        # By identity, as not all values can be compared: `parametrize` gives all cases the same objects.
        values = [
            set(combinations([(k, id(v)) for k, v in item.callspec.params.items()], together))
            for item in alike
        ]
        for k in set(range(len(alike))) - _covering(values):
            alike[k].add_marker(pytest.mark.long)
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.slow)


def _take_few(items: list[pytest.Item]) -> None:
    """Mark all but `USUAL_CASES` cases of a test marked `many` as slow."""
    left_out = "slow", "torch", "optional"
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("many") and not any(map(item.get_closest_marker, left_out)):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for alike in cases.values():
        last = len(alike) - 1
        usual = {k * last // (USUAL_CASES - 1) for k in range(USUAL_CASES)}
        for k in set(range(len(alike))) - usual:
            alike[k].add_marker(pytest.mark.slow)


def _covering(sets: list[set[Any]]) -> set[int]:
    """Return the places of few sets with the elements of all: each time the first set with most new ones."""
    chosen: set[int] = set()
    left = set().union(*sets)
    while left:
        best = max(range(len(sets)), key=lambda k: len(sets[k] & left))
        chosen.add(best)
        left -= sets[best]
    return chosen


def _limit_coverage(items: list[pytest.Item]) -> None:
    """Mark the tests that run without coverage."""
    cases: Counter[tuple[str, bool]] = Counter()
    for item in items:
        # Slow cases run later: they must not take the place of usual ones.
        test = item.nodeid.partition("[")[0], item.get_closest_marker("slow") is not None
        cases[test] += 1
        if cases[test] > _measured_cases(item):
            item.add_marker(pytest.mark.no_cover)


def _measured_cases(item: pytest.Item) -> int:
    """Return how many cases of the test run with coverage."""
    name = item.nodeid.partition("[")[0]
    if _is_in(item, EVERY_CASE) and not item.get_closest_marker("slow"):
        return sys.maxsize
    if name in CHOICE["measured"]:
        return MEASURED_CASES
    is_repetition = name in CHOICE["unmeasured"] or item.get_closest_marker("unmeasured")
    if is_repetition or _is_in(item, PROGRAMS):
        return 0
    # What is written for another library is run by its own tests only, whatever these compare.
    if item.get_closest_marker("torch") or item.get_closest_marker("optional"):
        return 1
    if _is_in(item, COMPARISONS):
        return 0
    if item.get_closest_marker("slow") and not item.get_closest_marker("many"):
        return 0
    return MEASURED_CASES


def _is_in(item: pytest.Item, places: tuple[str, ...]) -> bool:
    # A node's name begins with the path from the root: comparing paths takes seconds for all tests.
    return item.nodeid.startswith(tuple(f"{TESTS.name}/{name}" for name in places))
