"""Integer codes and distinct values of columns, and the notions of missing and equal values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from numbers import Number
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike

from skedasis._types import Bools, Ints, Level, Values
from skedasis.errors import DataError

_BOOLS = (bool, np.bool_)

_TABLE_SIZE = 65_536
"""Integers within this range are always looked up in a table; within larger ranges only if there are enough of them."""


class Factorized(NamedTuple):
    """A column as codes and distinct values."""

    codes: Ints
    values: list[Level]


# ----------------------------------------------------------------------------- integer codes
def dense_codes(keys: Values, present: Bools | None = None) -> tuple[Ints, Ints]:
    """Return the ranks of numbers among their distinct values."""
    some = keys if present is None else keys[present]
    codes = _ranks(some)
    if present is not None:
        every = np.full(len(keys), -1)
        every[present] = codes
        codes = every
    return codes, first_rows(codes, int(codes.max(initial=-1)) + 1)


def _ranks(keys: Values) -> Ints:
    if len(keys) == 0:
        return np.zeros(0, dtype=np.int64)
    if keys.dtype.kind == "b":
        keys = keys.astype(np.int64)
    numbers = cast("Ints", keys)  # or floats
    low, high = numbers.min(), numbers.max()
    if keys.dtype.kind == "f" or int(high) - int(low) > max(4 * len(keys), _TABLE_SIZE):
        return np.unique(keys, return_inverse=True)[1].astype(np.int64)
    # uint64 may be too large for int64, and narrow integers may overflow in the difference.
    unsigned = keys.dtype.kind == "u"
    offset = numbers - low if unsigned else keys.astype(np.int64) - int(low)
    offset = offset.astype(np.int64)
    seen = np.zeros(int(high) - int(low) + 1, dtype=bool)
    seen[offset] = True
    return (np.cumsum(seen) - 1)[offset]


def first_rows(codes: Ints, size: int) -> Ints:
    """Return the first row of each code 0..size - 1, all of which occur; codes of -1 are ignored."""
    first = np.zeros(size + 1, dtype=np.int64)
    # In reverse order, because the last of several assignments to an element stays.
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first[:size]


def coded_array(values: Values, missing: Bools | None = None, what: str = "X") -> Factorized:
    """Return the codes of an array's values, and the distinct values."""
    if values.dtype.kind == "O":
        return coded_objects(values.tolist(), what)
    present = None if missing is None or not missing.any() else ~missing
    keys = values
    if values.dtype.kind == "f":
        not_nan = ~np.isnan(values)
        present = not_nan if present is None else not_nan & present
        keys = _as_integers(values, present)
    codes, first = dense_codes(keys, present)
    return Factorized(codes, [to_python(v) for v in values[first]])


def _as_integers(values: Values, present: Bools) -> Values:
    """Return floats as integers if all are whole, because integers are looked up instead of sorted."""
    few = values[present][:100]
    if not (np.isfinite(few).all() and (np.mod(few, 1) == 0).all()):
        return values
    clean = np.where(present, values, 0)
    if np.abs(clean).max(initial=0) < 2**53 and (np.mod(clean, 1) == 0).all():
        return clean.astype(np.int64)
    return values


def coded_objects(values: list[Level], what: str = "X") -> Factorized:
    """Return the codes of Python objects, and the distinct objects by code."""
    types = set(map(type, values))
    mixed = bool(types & set(_BOOLS)) and len(types) > 1
    keys: Sequence[Level] = [(isinstance(v, _BOOLS), v) for v in values] if mixed else values
    try:
        distinct = list(dict.fromkeys(keys))
    except TypeError as error:
        names = ", ".join(sorted(t.__name__ for t in types)[:5])
        raise DataError(
            what,
            f"values that are not hashable ({names})",
            "text, numbers or booleans",
            "Leave the feature out, or convert its values to text",
        ) from error
    values_by_code: list[Level] = []
    table: dict[Level, int] = {}
    for key in distinct:
        value = key[1] if mixed and isinstance(key, tuple) else key
        table[key] = -1 if is_absent(value) else len(values_by_code)
        if table[key] >= 0:
            values_by_code.append(to_python(value))
    codes = np.fromiter(map(table.__getitem__, keys), dtype=np.int64, count=len(keys))
    return Factorized(codes, values_by_code)


# --------------------------------------------------------- missing values, equality and order
def is_missing(value: object) -> bool:
    """Return whether an object is a marker of missing values: None, or the NA of pandas. NaN is a number here."""
    return value is None or type(value).__name__ == "NAType"


def is_absent(value: object) -> bool:
    """Return whether an object is not a level: a missing marker, NaN or NaT."""
    if is_missing(value) or type(value).__name__ == "NaTType":
        return True
    return isinstance(value, (Number, np.generic)) and bool(value != value)  # noqa: PLR0124


def to_python(value: Level) -> Level:
    """Convert a NumPy scalar to a Python object; a narrow float becomes the number that it is printed as."""
    if not isinstance(value, np.generic):
        return value
    if isinstance(value, np.floating) and value.dtype.itemsize != 8:
        return float(str(value))
    if isinstance(value, np.floating):
        return float(value) + 0.0  # no negative zero
    return value.item()


def equality_key(value: Level) -> tuple[str, Level]:
    """Return a key that is equal for equal values only: type name and value."""
    value = to_python(value)
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, Number):
        return "number", value
    if isinstance(value, str):
        return "str", str(value)
    if isinstance(value, (datetime, timedelta)):
        return ("datetime" if isinstance(value, datetime) else "timedelta"), value
    if isinstance(value, tuple):
        return "tuple", tuple(equality_key(v) for v in value)
    return type(value).__name__, value


def argsort_values(values: Sequence[Level]) -> list[int]:
    """Return the indices that sort values in ascending order; several types are sorted by type name, then by value."""
    kinds = {type(v) for v in values}
    if kinds <= {str} or kinds <= {int, float}:
        comparable = cast("Sequence[str]", values)  # all text, or all numbers: both can be compared
        return sorted(range(len(values)), key=comparable.__getitem__)
    keys = [equality_key(v) for v in values]
    try:
        return sorted(range(len(values)), key=keys.__getitem__)
    except TypeError:  # objects that cannot be compared
        return sorted(range(len(values)), key=lambda i: (keys[i][0], repr(values[i])))


def missing_mask(values: ArrayLike) -> Bools:
    """Return which values are missing: NaN, NaT, None, or the marker of a data frame library; shape (n,)."""
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return np.isnan(array)
    if array.dtype.kind in "mM":
        return np.isnat(array)
    if array.dtype.kind != "O":
        return np.zeros(array.shape, dtype=bool)
    return np.array([is_absent(v) for v in array.ravel()], dtype=bool).reshape(array.shape)
