"""The operations of results: each is what its module has, and is imported when it is first used."""

import importlib

import pytest

from skedasis.results import operations
from tests.unit.test_import import in_a_new_process


def test_each_operation_is_that_of_its_module():
    for name, module in operations._MODULES.items():
        assert getattr(operations, name) is getattr(importlib.import_module(module), name)
    assert operations.interval.__module__ == "skedasis.results.intervals.analytic"


def test_the_module_of_an_operation_is_imported_when_it_is_first_used():
    code = """
import sys
from skedasis.results import operations
before = "skedasis.results.io" in sys.modules
operations.save
print(before, "skedasis.results.io" in sys.modules)
"""
    assert in_a_new_process(code) == "False True\n"


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        _ = operations.nothing
