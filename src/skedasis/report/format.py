"""Text for pages: intervals, names of features, settings; numbers are those of `skedasis._numbers`."""

from __future__ import annotations

import math
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from skedasis import _numbers
from skedasis._numbers import ROUNDING_NOISE, number, number_or_zero
from skedasis.plots.scales import shorten

MAX_NAME_LENGTH = 60
"""Largest number of letters of a name in a sentence; headings show the whole name."""


Context: TypeAlias = dict[str, object]
"""The values that a template reads. A name that it does not have is an error (`StrictUndefined`)."""


@dataclass(frozen=True)
class NumberTable:
    """A table of text: its columns by their heads."""

    caption: str
    columns: Mapping[str, Sequence[str]]

    @property
    def heads(self) -> list[tuple[str, bool]]:
        """Return the heads, and of which columns most cells are words and not numbers."""
        known = {head: list(filter(None, cells)) for head, cells in self.columns.items()}
        return [
            (head, 2 * sum(map(bool, map(_NUMBER.match, cells))) <= len(cells))
            for head, cells in known.items()
        ]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of each line."""
        return list(zip(*self.columns.values(), strict=True))


_NUMBER = re.compile(r"[≈<>+−-]? ?\d|–$")
"""The beginning of a cell with a number."""


def ends(low: float, high: float, largest: float) -> str:
    r"""Return an interval as text, with a number of decimals that suits its width."""
    width = high - low
    if not math.isfinite(width):
        return ""
    if width < ROUNDING_NOISE * largest:
        return f"{number_or_zero(low, largest)} – {number_or_zero(high, largest)}"
    size = max(abs(low), abs(high))
    if size < 1e-4 or size >= 1e9:
        return f"{number(low, 2)} – {number(high, 2)}"
    decimals = 1 - math.floor(math.log10(width))
    # Two significant digits of the width; one if the first digit is at least 5.
    decimals -= width * 10 ** (decimals - 1) >= 5
    low, high = round(low, decimals) + 0.0, round(high, decimals) + 0.0
    shown = max(decimals, 0)
    return f"{low:,.{shown}f} – {high:,.{shown}f}".replace("-", "−")


def named(name: str, room: int = MAX_NAME_LENGTH) -> str:
    """Return a name for use in a sentence: shortened."""
    return shorten(name, room)


_TITLES: ContextVar[Mapping[str, str]] = ContextVar("_TITLES", default=MappingProxyType({}))


@contextmanager
def feature_titles(titles: Mapping[str, str]) -> Generator[None]:
    """Show features by these texts within a `with` block; features without one by their names."""
    before = _TITLES.set(titles)
    try:
        yield
    finally:
        _TITLES.reset(before)


def feature_title(feature: str) -> str:
    """Return a feature's text for people; by default its name."""
    return _TITLES.get().get(feature, feature)


def feature_named(feature: str, room: int = MAX_NAME_LENGTH) -> str:
    """Return a feature's text for people for use in a sentence; see `named`."""
    return named(feature_title(feature), room)


def listed_features(features: Sequence[str]) -> str:
    """Return features as an enumeration; see `listed`."""
    return listed([feature_title(f) for f in features])


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return names as an enumeration; of many names, the first few."""
    return _numbers.listed([named(name) for name in names], most)


def settings(given: Mapping[str, object]) -> str:
    """Return a method's settings as one line of text."""
    parts: list[str] = []
    for name, value in given.items():
        if isinstance(value, dict) and "scheme" in value:
            inner = settings({k: v for k, v in value.items() if k != "scheme"})
            value = f"{value['scheme']}({inner})"  # noqa: PLW2901 - the same value as text
        parts.append(f"{name} = {value}")
    return ", ".join(parts)
