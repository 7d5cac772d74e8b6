"""The check of the package's structure counts what is there, and only that."""

from __future__ import annotations

import pytest

from tools import structure
from tools.structure import Budget, Module

# `make lint` runs the check itself.


@pytest.fixture(scope="module")
def names():
    """Return the names of all modules without that of the package, but for itself."""
    root = structure.ROOT / "src" / structure.PACKAGE
    paths = [path.relative_to(root).with_suffix("") for path in root.rglob("*.py")]
    inner = {".".join(part for part in path.parts if part != "__init__") for path in paths}
    return {name or structure.PACKAGE for name in inner}


def test_every_budget_belongs_to_a_package(names):
    assert set(structure.BUDGETS) <= {name.partition(".")[0] for name in names}


@pytest.mark.parametrize(
    ("code", "number"),
    [
        ("from typing import Any", 0),
        ("def f(x: Any, *y: list[Any], **z: dict[str, Any]) -> Any: ...", 4),
        ("x: 'dict[str, Any]'", 1),
        ("x: Literal['Any']", 0),
        ("Table = dict[str, Any]\ndef f(x: Table) -> Table: ...", 3),
        ("Json: TypeAlias = 'dict[str, Json] | Any'\nx: Json", 2),
        ("class A(Mapping[str, Any]): ...", 1),
        ("x = cast('list[Any]', y)", 1),
        ("F = TypeVar('F', bound=Callable[..., Any])\ndef f(x: F) -> F: ...", 1),
        ("x = 'Any'", 0),
    ],
)
def test_any_is_counted_in_types(code, number):
    assert structure.anys([Module("skedasis.a", code)])["skedasis.a"] == number


def test_aliases_are_followed_through_imports():
    package = [
        Module("skedasis.a", "Table = dict[str, Any]"),
        Module("skedasis.b", "from skedasis.a import Table as T\nPair = tuple[T, T]"),
        Module("skedasis.c", "from skedasis.b import Pair\nx: Pair\nTable = 1\ny: Table"),
    ]
    assert dict(structure.anys(package)) == {"skedasis.a": 1, "skedasis.b": 2, "skedasis.c": 2}


def test_introspection_lazy_imports_and_comparisons_with_none():
    code = """
import skedasis.b
if TYPE_CHECKING:
    from skedasis import c
def f(e):
    from skedasis.b import x
    import numpy
    def g():
        import skedasis.c
    if e.levels is not None or e.bins is None or e.cells is None:
        return getattr(e, "x") or hasattr(e, "y") or setattr(e, "z", 1)
"""
    counts = structure.counts([Module("skedasis.a.one", code), Module("skedasis.a", code)])
    assert counts == {"a": Budget(getattr=4, lazy=4, none=4)}


def test_circles_are_found_through_functions_but_not_through_type_checking():
    package = [
        Module("skedasis.a", "from skedasis.b import f"),
        Module("skedasis.b", "def f():\n    from skedasis import c"),
        Module("skedasis.c", "from skedasis.a import g"),
        Module("skedasis.d", "if TYPE_CHECKING:\n    from skedasis.e import h"),
        Module("skedasis.e", "from skedasis.d import h"),
    ]
    circles = structure.circles(structure.dependencies(package))
    assert circles == [frozenset({"skedasis.a", "skedasis.b", "skedasis.c"})]


def test_faults_name_what_is_exceeded():
    package = [
        Module("skedasis.a", "from skedasis.b import f\nx: Any\ny: Any"),
        Module("skedasis.b", "def f():\n    from skedasis.a import x"),
    ]
    budgets = {"a": Budget(any=1), "b": Budget(lazy=1)}
    assert structure.faults(package, budgets, introspective=(), lazy=()) == [
        "a: 2 of 'any', at most 1",
        "b: an import inside a function; import above, or list the module",
        "modules that import each other: skedasis.a, skedasis.b",
    ]
    enough = {**budgets, "a": Budget(any=2)}
    assert structure.faults(package[:1], enough, introspective=(), lazy=()) == []
    assert structure.faults(package[1:], enough, introspective=(), lazy={"b"}) == []


def test_budgets_and_lists_become_smaller_with_the_package():
    package = [Module("skedasis.a", "x: Any")]
    assert structure.faults(package, {"a": Budget(any=2)}, introspective={"a"}, lazy={"a"}) == [
        "a: 1 of 'any', lower its budget of 2",
        "a: no getattr or hasattr; remove it from the list",
        "a: no import inside a function; remove it from the list",
    ]


def test_introspection_is_allowed_in_listed_modules_only():
    package = [Module("skedasis.a", "getattr(x, 'y')"), Module("skedasis.b", "hasattr(x, 'y')")]
    budgets = {"a": Budget(getattr=1), "b": Budget(getattr=1)}
    assert structure.faults(package, budgets, introspective={"a"}, lazy=()) == [
        "b: getattr or hasattr; declare the attribute, or list the module"
    ]


def test_lists_name_modules_that_exist(names):
    assert names >= structure.INTROSPECTIVE | structure.LAZY
