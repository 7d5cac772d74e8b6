"""Checks of arguments: one function for each kind of argument, so that all are checked and described alike."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from numbers import Integral, Real
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skedasis._escaping import one_line
from skedasis.errors import DataError

_LONGEST = 60
"""Number of characters of a value that a message repeats."""


def shown(value: object) -> str:
    """Return how a message repeats a value: its `repr`, cut off; the kind of what has a long one."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, np.ndarray) and value.ndim > 0:
        return f"an array of shape {value.shape}"
    text = repr(value)
    if "\n" in text:
        if not isinstance(value, (str, list, tuple, dict, set)):  # a data frame, an estimator
            return f"a {type(value).__name__}"
        text = one_line(text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def listed(options: Collection[object]) -> str:
    """Return the valid values for a message."""
    *first, last = map(repr, options)
    return f"{', '.join(first)} or {last}" if first else last


def is_int(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of Python or NumPy; truth values are not."""
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number of Python or NumPy, NaN and infinity included; truth values are not."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def check_option(
    what: str, value: object, options: Sequence[object], fix: str = "Use one of these"
) -> None:
    """Raise if a value is not one of the options."""
    # An array has no truth value, and True equals 1.
    flag = isinstance(value, (bool, np.bool_))
    plain = value is None or flag or isinstance(value, str) or is_number(value)
    if not plain or not any(value == o and flag == isinstance(o, bool) for o in options):
        raise DataError(what, shown(value), listed(options), fix)


def check_int(what: str, value: object, least: int, fix: str, expected: str | None = None) -> int:
    """Return an integer; raise for anything else, and if it is less than `least`."""
    if not is_int(value) or value < least:
        raise DataError(what, shown(value), expected or f"an integer of at least {least}", fix)
    return int(value)


def check_int_or_none(
    what: str, value: object, least: int, fix: str, expected: str | None = None
) -> int | None:
    """Return None or an integer of at least `least`; see `check_int`."""
    expected = expected or f"an integer of at least {least}, or None"
    return None if value is None else check_int(what, value, least, fix, expected)


def check_threads(what: str, value: object) -> int:
    """Return a number of threads; -1 stands for one per processor that this process may use."""
    if is_int(value) and value == -1:
        # Not on every system; `cpu_count` also counts processors that are denied to this process.
        return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    fix = "Use 1 for one thread, -1 for one per processor"
    return check_int(what, value, 1, fix, "an integer of at least 1, or -1")


def check_number(
    what: str,
    value: object,
    expected: str,
    fix: str,
    *,
    least: float = -np.inf,
    above: float = -np.inf,
    below: float = np.inf,
    most: float = np.inf,
) -> float:
    """Return a finite number within the limits, of which `least` and `most` are valid themselves."""
    try:
        number = float(value) if is_number(value) else np.nan
    except OverflowError:  # an integer of more than 308 digits
        number = np.nan
    if not (np.isfinite(number) and least <= number <= most and above < number < below):
        raise DataError(what, shown(value), expected, fix)
    return number


def check_probability(what: str, value: object, fix: str = "Pass for example 0.95") -> float:
    """Return a number between 0 and 1, for example a confidence level; raise for 0 and 1 themselves, too."""
    return check_number(what, value, "a number between 0 and 1", fix, above=0.0, below=1.0)


def check_flag(what: str, value: object, fix: str = "Use True or False") -> bool:
    """Return a truth value. A text such as "no" would be true: what it should switch off would be on."""
    if not isinstance(value, (bool, np.bool_)):
        raise DataError(what, shown(value), "True or False", fix)
    return bool(value)


def as_numbers(values: ArrayLike) -> NDArray[np.float64]:
    """Return values as a new array of float64, NaN where one is masked."""
    array = np.asarray(values)
    # Truth values of a mask are weights, and objects may be decimals or fractions.
    if array.dtype.kind not in "fiubO" or any(
        isinstance(value, (str, bytes)) for value in (array.flat if array.dtype.kind == "O" else ())
    ):
        raise TypeError(f"values of type {array.dtype}")
    try:
        numbers = array.astype(float)
    except OverflowError as error:
        raise ValueError("integers of more than 308 digits") from error
    masked = np.ma.getmask(values)
    if masked is not np.ma.nomask:
        numbers[masked] = np.nan
    return numbers


def check_name(what: str, value: object, names: Sequence[str], fix: str) -> str:
    """Return a name that is one of `names`; the message lists them."""
    if not isinstance(value, str) or value not in names:
        raise DataError(what, shown(value), f"one of {list(names)}", fix)
    return value


def as_bytes(size: object, what: str) -> int:
    """Return the bytes of a size such as "256MB"."""
    units = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "B": 1}
    text = str(size).strip().upper()
    number, factor = text, 1
    for unit, worth in units.items():
        if text.endswith(unit):
            number, factor = text[: -len(unit)], worth
            break
    try:
        value = float(number) * factor
    except ValueError:
        value = -1.0
    fix = "Use bytes, KB, MB, GB or TB"
    if factor == 1 and 0 < value % 1 < 1:  # a fraction of a byte is none: gigabytes are meant
        value, fix = -1.0, f'Write the unit: "{number}GB"'
    if not 0 <= value < float("inf") or isinstance(size, bool):
        raise DataError(what, repr(size), 'a size such as "256MB"', fix)
    return int(value)


def counted_bytes(size: int) -> str:
    """Return a number of bytes as a text that `as_bytes` reads, with two digits."""
    for unit, worth in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= worth:
            return (
                f"{size / worth:.2g}{unit}" if size < 100 * worth else f"{size / worth:.0f}{unit}"
            )
    return f"{size}B"
