"""What benchmarks, experiments and tools replace by its dotted name exists, also after a module has moved."""

from __future__ import annotations

import ast
import pkgutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted(
    p for folder in ("benchmarks", "experiments", "tools") for p in (ROOT / folder).rglob("*.py")
)


def patched(source: str) -> list[str]:
    """Return the dotted names that are passed to `mock.patch`."""
    calls = (
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and node.args
    )
    first = [c.args[0] for c in calls if ast.unparse(c.func).endswith(("mock.patch", "setattr"))]
    return [
        a.value
        for a in first
        if isinstance(a, ast.Constant)
        and isinstance(a.value, str)
        and a.value.startswith("skedasis.")
    ]


def test_names_are_found_in_calls():
    source = "with mock.patch('skedasis.gone.name', 1): f('skedasis.other')"
    assert patched(source) == ["skedasis.gone.name"]


@pytest.mark.many
@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_patched_names_exist(path):
    for name in patched(path.read_text(encoding="utf-8")):
        pkgutil.resolve_name(name)
