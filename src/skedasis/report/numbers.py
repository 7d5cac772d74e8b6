"""Numbers, places, shares and lists as people write them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis.typing import Floats

NOISE = 1e-9
"""What is smaller, as a share of the largest number beside it, is what rounding has left of zero."""


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


def number(value: float, digits: int = 3) -> str:
    """Return a number with some significant digits, as people write it.

    Examples
    --------
    >>> number(31.01284), number(1234567.0), number(-0.00123), number(3.2e-9), number(0.0)
    ('31.0', '1,234,567', '−0.00123', '3.20e−9', '0')
    """
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if -4 <= size < 9:
        text = f"{value:,.{max(digits - 1 - size, 0)}f}"
    else:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        text = f"{mantissa}e{int(exponent)}"
    return text.replace("-", "−")


def beside(value: float, largest: float) -> str:
    """Return a number; what only rounding has left of a zero, beside a larger one, is called that.

    Examples
    --------
    >>> beside(1.2e-16, 3.0), beside(0.0, 3.0), beside(0.01, 3.0)
    ('≈ 0', '0', '0.0100')
    """
    return "≈ 0" if 0 < abs(value) < NOISE * largest else number(value)


def places(values: Floats) -> list[str]:
    """Return places on an axis, with as many digits as keep neighbours apart.

    Examples
    --------
    >>> import numpy as np
    >>> places(np.array([19.0, 24.5, 79.0])), places(np.array([1.7e9, 1.7e9 + 0.25]))
    (['19.0', '24.5', '79.0'], ['1,700,000,000.00', '1,700,000,000.25'])
    """
    steps = np.diff(np.unique(values[np.isfinite(values)]))
    if len(steps) == 0:
        return [number(float(v), 4) for v in values]
    finest = math.floor(math.log10(steps.min()))
    if finest < -5 or np.abs(values[np.isfinite(values)]).max() >= 1e15:
        return [number(float(v), 6) for v in values]
    decimals = max(2 - finest, 0)
    while decimals and np.array_equal(np.round(values, decimals), np.round(values, decimals - 1)):
        decimals -= 1
    return [f"{v:,.{decimals}f}".replace("-", "−") for v in values]


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


def count(n: float, thing: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> count(1, "row"), count(12345, "row")
    ('1 row', '12,345 rows')
    """
    return f"{n:,.0f} {thing}{'' if n == 1 else 's'}"


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
