"""The tests that run with coverage, and those that do not, exist; few tests are chosen of all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import measured

ROOT = Path(__file__).parents[2]
CHOICE = json.loads(measured.CHOICE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CHOICE)
def test_every_test_of_the_file_exists(name):
    for test in CHOICE[name]:
        path, *_, function = test.split("::")
        assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8"), test


def test_what_only_a_slow_test_runs_is_measured_and_what_others_run_is_not():
    a, b, c, d = ((0, line, line + 1) for line in range(4))
    found = measured.choice(
        {
            "": {d},
            "tests/unit/x.py::test_quick": {a, d},
            "tests/unit/x.py::test_slow": {a, d},
            "tests/unit/x.py::test_slow_and_new": {a, b},
            "tests/laws/x.py::test_old": {a, b},
            "tests/laws/x.py::test_one_new": {a, c},
            "tests/laws/x.py::test_three_new": {c, (0, 8, 9), (0, 9, 8)},
        },
        {"tests/unit/x.py::test_slow": 2.0, "tests/unit/x.py::test_slow_and_new": 2.0},
    )
    assert found == {
        "measured": ["tests/laws/x.py::test_three_new"],
        "unmeasured": ["tests/unit/x.py::test_slow"],
    }
