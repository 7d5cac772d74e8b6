"""The table of operations: what type checkers read is what runs."""

import ast
from pathlib import Path

import pytest

from skedasis.results import operations


def declared():
    """Return the name of each operation and where it is imported from for type checkers."""
    tree = ast.parse(Path(operations.__file__).read_text(encoding="utf-8"))
    (block,) = [n for n in tree.body if isinstance(n, ast.If)]
    return {
        a.asname or a.name: f"{n.module}:{a.name}"
        for n in block.body
        if isinstance(n, ast.ImportFrom)
        for a in n.names
    }


def test_the_table_is_what_type_checkers_read():
    assert declared() == operations.MODULES


def test_each_operation_exists():
    assert all(callable(getattr(operations, name)) for name in operations.MODULES)


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        _ = operations.nothing
