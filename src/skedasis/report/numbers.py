"""Numbers, places, shares and lists as people write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from skedasis.plots.numbers import NOISE, beside, count, number, places

__all__ = [
    "NOISE",
    "Numbers",
    "beside",
    "count",
    "listed",
    "number",
    "percent",
    "places",
    "settings",
]


@dataclass(frozen=True)
class Numbers:
    """A table, ready to be shown.

    Parameters
    ----------
    caption : str
        What it holds, and in which units.
    heads : tuple of (str, bool)
        Headings, each with whether its column holds text.
    rows : list of tuple of str
    """

    caption: str
    heads: tuple[tuple[str, bool], ...]
    rows: list[tuple[str, ...]]


def percent(share: float) -> str:
    r"""Return a share in percent; what is little is not called nothing.

    Examples
    --------
    >>> percent(0.2345), percent(0.0004), percent(0.0), percent(0.9999)
    ('23\u202f%', 'less than 1\u202f%', '0\u202f%', 'more than 99\u202f%')
    """
    if 0 < share < 0.005:
        return "less than 1\u202f%"
    if 0.995 < share < 1:
        return "more than 99\u202f%"
    return f"{100 * share:.0f}\u202f%"


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return names in a row, the first few of many.

    Examples
    --------
    >>> listed(["age", "bmi", "bp"])
    'age, bmi and bp'
    """
    shown = list(names[:most])
    if len(names) > most:
        return f"{', '.join(shown)} and {len(names) - most} more"
    return " and ".join(([", ".join(shown[:-1])] if len(shown) > 1 else []) + shown[-1:])


def settings(given: Any) -> str:
    """Return a method's settings in one line.

    Examples
    --------
    >>> settings({"bins": {"scheme": "Optimal", "alpha": 0.2}, "center": None})
    'bins = Optimal(alpha = 0.2), center = None'
    """
    parts: list[str] = []
    for name, value in given.items():
        if isinstance(value, dict) and "scheme" in value:
            inner = settings({k: v for k, v in value.items() if k != "scheme"})
            value = f"{value['scheme']}({inner})"  # noqa: PLW2901 - the same thing, written out
        parts.append(f"{name} = {value}")
    return ", ".join(parts)
