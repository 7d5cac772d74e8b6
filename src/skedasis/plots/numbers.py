"""Numbers and places as people write them."""

from __future__ import annotations

import math

import numpy as np

from skedasis._types import Floats
from skedasis.data.times import TimeAxis

NOISE = 1e-9
"""What is smaller, as a share of the largest number beside it, is what rounding has left of zero."""


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


def with_error(value: float, error: float, largest: float = 0.0) -> str:
    r"""Return a number with its standard error.

    Parameters
    ----------
    value, error : float
        An error that is zero or not finite is left out.
    largest : float
        What the number stands beside; see `beside`.

    Examples
    --------
    >>> with_error(2.4137, 0.1234), with_error(31.3, 2.46), with_error(0.0, 0.0)
    ('2.41 ±\u202f0.12', '31.3 ±\u202f2.5', '0')
    """
    if not 0 < error < math.inf or abs(value) < NOISE * largest:
        return beside(value, largest)
    return f"{beside(value, largest)} ±\u202f{number(error, 2)}"


def places(values: Floats, time: TimeAxis | None = None) -> list[str]:
    """Return places on an axis, with as many digits as keep neighbours apart; those on a time axis as times.

    Examples
    --------
    >>> import numpy as np
    >>> places(np.array([19.0, 24.5, 79.0])), places(np.array([1.7e9, 1.7e9 + 0.25]))
    (['19.0', '24.5', '79.0'], ['1,700,000,000.00', '1,700,000,000.25'])
    """
    if time is not None:
        return time.texts(values)
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


def count(n: float, thing: str) -> str:
    """Return a number of things.

    Examples
    --------
    >>> count(1, "row"), count(12345, "row")
    ('1 row', '12,345 rows')
    """
    return f"{n:,.0f} {thing}{'' if n == 1 else 's'}"
