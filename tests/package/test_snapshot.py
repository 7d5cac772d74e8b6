"""The library's results equal those of the snapshot, and the pages show the same numbers."""

from __future__ import annotations

import json
import sys

import pytest

from tools import snapshot


def test_pages_show_the_same_numbers():
    assert snapshot.differences(snapshot.load(snapshot.TEXTS), snapshot.texts()) == []


def test_a_changed_number_is_found(tmp_path):
    old = snapshot.load(snapshot.RESULTS)
    key = "kinds/rhale/hour/value"
    changed = {**old, key: json.loads(json.dumps(old[key]))}
    numbers = changed[key] if isinstance(changed[key], list) else changed[key]["at"]
    numbers[1] *= 1 + 1e-12
    snapshot.write(tmp_path / "results.json", changed)
    found = snapshot.differences(old, snapshot.load(tmp_path / "results.json"))
    assert len(found) == 1
    assert found[0].startswith(f"{key}: ")
    assert snapshot.differences(old, changed, tolerance=1e-9) == []
    numbers[1] += 1e-6
    assert len(snapshot.differences(old, changed, tolerance=1e-9)) == 1


def test_a_key_that_is_gone_or_new_is_found():
    assert snapshot.differences({"a": 1}, {"b": 1}) == ["a: is gone", "b: is new"]


def test_other_types_and_nan_are_found():
    found = snapshot.differences({"a": [1, "nan", True]}, {"a": [1, 2.0, 1]}, tolerance=1e-9)
    assert found == ["a: nan is now 2.0", "a: True is now 1"]


def test_the_command_compares_some_cases(capsys, monkeypatch):
    case = {"evaluation": lambda: iter([("one", 1.5)])}
    monkeypatch.setattr("tools.snapshot_cases.CASES", case)
    monkeypatch.setattr(sys, "argv", ["snapshot", "evaluation"])
    assert snapshot.main() == 1
    assert "evaluation/one: is new" in capsys.readouterr().out


@pytest.mark.slow
def test_results_are_those_of_the_snapshot():
    old = snapshot.load(snapshot.RESULTS)
    try:
        here = snapshot.versions()
    except ImportError as absent:
        pytest.skip(f"the snapshot is of models of {absent.name}")
    if here != old["versions"]:
        pytest.skip(f"the snapshot was made with {old['versions']}, not {here}")
    assert snapshot.differences(old, {"versions": here, **snapshot.compute()}, 1e-9) == []
