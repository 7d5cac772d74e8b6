"""Hooks and fixtures for all tests."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

from tests.long.figures import (  # noqa: F401 - pytest finds them here
    measured,
    note,
    pytest_addoption,
    pytest_configure,
    pytest_runtest_call,
)

# One browser for the pages of reports and of the site: a second one does not start in the same process.
from tests.report.browser import browser, visit  # noqa: F401

OPTIONAL = ("catboost", "jax", "keras", "onnx")
"""Libraries that `make test` does without. Tests of theirs, or cases, have them in their names."""


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
    """Mark tests of the libraries in `OPTIONAL`, and record which tests measure figures."""
    note(config, items)
    for item in items:
        if any(name in item.nodeid.lower() for name in OPTIONAL):
            item.add_marker(pytest.mark.optional)
