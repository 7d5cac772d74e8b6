"""Fixtures of all tests of reports."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from skedasis.analysis import dependence


@pytest.fixture(scope="module", autouse=True)
def few_trees() -> Iterator[None]:
    """Grow small forests: they take most of the time of a report of uncertainty, and are not tested here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dependence, "TREES", 25)
        yield
