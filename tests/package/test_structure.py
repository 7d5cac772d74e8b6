"""The check of the package's structure counts what is there, and only that. `make lint` runs the check itself."""

from __future__ import annotations

import pytest

pytest.importorskip("grimp")  # which import-linter needs

from tools import structure
from tools.structure import Budget

CODE = """
import skedasis.b
from typing import Any
if TYPE_CHECKING:
    from skedasis import c
def f(e: list[Any]) -> "Any":
    from skedasis.b import x, y
    import numpy
    def g():
        import skedasis.c
    return getattr(e, "x") or hasattr(e, "y") or setattr(e, "z", 1)
"""


def test_what_is_counted(tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("a/__init__.py", "a/one.py", "b.py"):
        (tmp_path / name).write_text(CODE, encoding="utf-8")
    (tmp_path / "__init__.py").write_text("", encoding="utf-8")
    one = Budget(any=1, getattr=2, lazy=2)
    twice = Budget(any=2, getattr=4, lazy=4)
    assert structure.counts(tmp_path) == {"skedasis": Budget(), "a": twice, "b": one}


def test_a_name_is_of_one_class_or_alias(tmp_path):
    (tmp_path / "a.py").write_text("class One: ...\nTwo: TypeAlias = int\nThree: int = 3\n")
    (tmp_path / "b.py").write_text("def f():\n    class One: ...\nThree: int = 3\n")
    (tmp_path / "c.py").write_text("class Two: ...\n")
    assert structure.defined_twice(tmp_path) == [
        "One is defined in a.py, b.py",
        "Two is defined in a.py, c.py",
    ]


def test_modules_are_named_in_the_tables_alone(tmp_path):
    text = """
from skedasis.a import b
"a sentence about skedasis.a.b"
files("skedasis.a"), entry_points("skedasis.plugins"), import_module("numpy")
"""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/one.py").write_text(text)
    assert structure.named_modules(tmp_path) == []
    hidden = 'import_module("skedasis"), f"skedasis.{n}", "skedasis.a.one:f", "skedasis.a."\n'
    (tmp_path / "__init__.py").write_text(hidden)
    (tmp_path / "c.py").write_text(hidden)
    assert structure.named_modules(tmp_path) == [
        "c.py names \"import_module('skedasis')\" in a string",
        "c.py names 'skedasis.' in a string",
        "c.py names 'skedasis.a.' in a string",
        "c.py names 'skedasis.a.one:f' in a string",
    ]


def test_budgets_become_smaller_with_the_package():
    assert structure.faults({"a": Budget(any=2, lazy=1)}, {"a": Budget(any=1, lazy=2)}) == [
        "a: 2 of 'any', at most 1",
        "a: 1 of 'lazy', lower its budget of 2",
    ]


def test_imports_in_functions_count_and_those_of_type_checkers_do_not():
    graph = structure.imports()
    assert "skedasis.results.effect" not in graph["skedasis.errors"]
    assert structure.circle(graph) == []
    assert structure.circle({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]})[1:] in (
        ["c", "b", "a"],
        ["b", "a", "c"],
        ["a", "c", "b"],
    )
