"""Hooks and fixtures for all tests."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from tests.long.figures import (  # noqa: F401 - pytest finds them here
    measured,
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_runtest_call,
)

# One browser for the pages of reports and of the site: a second one does not start in the same process.
from tests.report.browser import browser, visit  # noqa: F401

# Draws do not change between runs: what passes once passes on every machine, and on the next day.
settings.register_profile("fixed", derandomize=True, database=None, deadline=None, max_examples=25)
# For `--hypothesis-profile`, after changes of the mathematics.
settings.register_profile("many", settings.get_profile("fixed"), max_examples=500)
settings.load_profile("fixed")


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

_first_states: dict[np.random.Generator, Any] = {}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let the generators of a module begin anew for each test: its draws do not depend on which tests ran before it."""
    for one in vars(getattr(item, "module", object)).values():
        if isinstance(one, np.random.Generator):
            bits = one.bit_generator
            bits.state = _first_states.setdefault(one, bits.state)
