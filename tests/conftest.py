"""What all tests have in common."""

from __future__ import annotations

import pytest

OPTIONAL = ("catboost", "jax", "keras", "onnx")
"""Libraries that `make test` does without. Tests of theirs, or cases, have them in their names."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs one of these libraries."""
    for item in items:
        if any(name in item.nodeid.lower() for name in OPTIONAL):
            item.add_marker(pytest.mark.optional)
