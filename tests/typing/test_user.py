"""The types that a user's program sees, by pyright in strict mode: what is right passes, and what is wrong does not."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from matplotlib import pyplot as plt

from tests.typing import program

HERE = Path(__file__).parent


def complaints(name: str, folder: Path) -> list[dict[str, Any]]:
    """Check a file in a folder of its own, where no settings of the repository hold, and skedasis is installed."""
    pytest.importorskip("pyright", reason="types are checked by pyright")
    (folder / name).write_text((HERE / name).read_text("utf-8"), encoding="utf-8")
    settings = {"typeCheckingMode": "strict", "include": [name]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    found = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=280
    )
    said: list[dict[str, Any]] = json.loads(found.stdout)["generalDiagnostics"]
    return [one for one in said if one["severity"] != "information"]


@pytest.mark.slow
def test_a_program_passes_in_strict_mode(tmp_path):
    found = complaints("program.py", tmp_path)
    assert [f"{one['range']['start']['line'] + 1}: {one['message']}" for one in found] == []


@pytest.mark.slow
def test_each_misuse_is_found_and_nothing_else(tmp_path):
    lines = (HERE / "misuse.py").read_text("utf-8").splitlines()
    wanted = {i: m[1] for i, line in enumerate(lines) if (m := re.search(r"# wrong: (\w+)$", line))}
    assert len(wanted) >= 18
    found: dict[int, set[str]] = {}
    for one in complaints("misuse.py", tmp_path):
        found.setdefault(one["range"]["start"]["line"], set()).add(one["rule"])
    assert sorted(found) == sorted(wanted)
    # Of what is wrong, strict mode says besides that its type is unknown.
    assert [rule for line, rule in wanted.items() if rule not in found[line]] == []


def test_what_it_is_said_to_be_it_is(tmp_path, monkeypatch):
    """`assert_type` does nothing at run time: here the program's types are those of its values."""

    def checked(value, kind):
        while not isinstance(kind, type):  # list[float]; NumPy's NDArray, since 2.5 a type alias
            kind = getattr(kind, "__value__", None) or kind.__origin__
        assert isinstance(value, kind), (type(value), kind)
        return value

    monkeypatch.setattr(program, "assert_type", checked)
    program.main(tmp_path)
    plt.close("all")
