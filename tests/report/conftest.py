"""Fixtures of all tests of reports."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from skedasis.analysis import dependence
from skedasis.report import budget


@pytest.fixture(scope="module", autouse=True)
def few_trees() -> Iterator[None]:
    """Grow small forests: they take most of the time of a report of uncertainty, and are not tested here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dependence, "TREES", 25)
        yield


@pytest.fixture
def untimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never measure the model's time, which a busy machine would do, with rows that the page does not count."""
    monkeypatch.setattr(budget, "SHORT", math.inf)
