"""Integer codes and distinct values of a column, without sorting text or decoding categories."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Ints
from skedasis.errors import DataError, explained

_BOOLS = (bool, np.bool_)


_TABLE = 65_536
"""Whole numbers within such a range are looked up in a table, however few they are."""


def dense(keys: NDArray[Any], present: Bools | None = None) -> tuple[Ints, Ints]:
    """Return the places of numbers among their distinct values.

    Parameters
    ----------
    keys : ndarray of int or float, shape (n,)
        No NaN among those that are present.
    present : ndarray of bool, shape (n,), optional
        None means all.

    Returns
    -------
    codes : ndarray of int, shape (n,)
        0 for the smallest; -1 where not present.
    first : ndarray of int, shape (L,)
        The first row of each distinct value.

    Examples
    --------
    >>> codes, first = dense(np.array([7, 3, 7, 9]))
    >>> codes.tolist(), first.tolist()
    ([1, 0, 1, 2], [1, 0, 3])
    """
    some = keys if present is None else keys[present]
    codes = _ranked(some)
    if present is not None:
        every = np.full(len(keys), -1)
        every[present] = codes
        codes = every
    return codes, first_rows(codes, int(codes.max(initial=-1)) + 1)


def _ranked(keys: NDArray[Any]) -> Ints:
    if len(keys) == 0:
        return np.zeros(0, dtype=np.int64)
    if keys.dtype.kind == "b":
        keys = keys.astype(np.int64)
    low, high = keys.min(), keys.max()
    if keys.dtype.kind == "f" or int(high) - int(low) > max(4 * len(keys), _TABLE):
        return np.unique(keys, return_inverse=True)[1].astype(np.int64)
    # Unsigned numbers may be too large for an int64, narrow ones too narrow for their own range.
    offset = (keys - low if keys.dtype.kind == "u" else keys.astype(np.int64) - int(low)).astype(
        np.int64
    )
    seen = np.zeros(int(high) - int(low) + 1, dtype=bool)
    seen[offset] = True
    return (np.cumsum(seen) - 1)[offset]


def first_rows(codes: Ints, size: int) -> Ints:
    """Return the first row of each code 0..size - 1, all of which occur; codes of -1 are passed over."""
    first = np.zeros(size + 1, dtype=np.int64)
    # Backwards, for of several assignments to one place the last one stays.
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first[:size]


def coded_array(
    values: NDArray[Any], missing: Bools | None = None, what: str = "X"
) -> tuple[Ints, list[Any]]:
    """Return the codes of an array's values, and the distinct values.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Numbers, booleans or objects.
    missing : ndarray of bool, shape (n,), optional
        Rows without a value, besides those of NaN and None.
    what : str
        The column, for errors.

    Returns
    -------
    codes : ndarray of int, shape (n,)
        -1 where a value is missing.
    distinct : list
        Plain Python objects in no particular order.
    """
    if values.dtype.kind == "O":
        return coded_objects(values.tolist(), what)
    present = None if missing is None or not missing.any() else ~missing
    keys = values
    if values.dtype.kind == "f":
        there = ~np.isnan(values)
        present = there if present is None else there & present
        keys = _whole(values, present)
    codes, first = dense(keys, present)
    return codes, [plain(v) for v in values[first]]


def _whole(values: NDArray[Any], present: Bools) -> NDArray[Any]:
    """Return whole numbers as integers, which are looked up instead of sorted; others as they are."""
    few = values[present][:100]
    if not (np.isfinite(few).all() and (few % 1 == 0).all()):
        return values
    clean = np.where(present, values, 0)
    if np.abs(clean).max(initial=0) < 2**53 and (clean % 1 == 0).all():
        return clean.astype(np.int64)
    return values


def coded_objects(values: list[Any], what: str = "X") -> tuple[Ints, list[Any]]:
    """Return the codes of Python objects, and the distinct ones.

    Equal is what Python calls equal, but for booleans, which are no numbers: 1 and 1.0 are one value, 1 and True two.

    Raises
    ------
    DataError
        For objects that have no hash, such as lists.
    """
    types = set(map(type, values))
    mixed = bool(types & set(_BOOLS)) and len(types) > 1
    keys: list[Any] = [(isinstance(v, _BOOLS), v) for v in values] if mixed else values
    try:
        distinct = list(dict.fromkeys(keys))
    except TypeError as error:
        names = ", ".join(sorted(t.__name__ for t in types)[:5])
        raise DataError(
            explained(
                what,
                f"values that cannot be told apart ({names})",
                "text, numbers or booleans",
                "Leave the feature out, or turn its values into text",
            )
        ) from error
    found: list[Any] = []
    table: dict[Any, int] = {}
    for key in distinct:
        value = key[1] if mixed else key
        table[key] = -1 if absent(value) else len(found)
        if table[key] >= 0:
            found.append(plain(value))
    return np.fromiter(map(table.__getitem__, keys), dtype=np.int64, count=len(keys)), found


def is_missing(value: Any) -> bool:
    """Return whether an object stands for a missing value: None, or the NA of pandas. NaN is a number."""
    return value is None or type(value).__name__ == "NAType"


def absent(value: Any) -> bool:
    """Return whether an object is no level: missing, NaN, or a time that is none."""
    if is_missing(value) or type(value).__name__ == "NaTType":
        return True
    return isinstance(value, (Number, np.generic)) and bool(value != value)  # noqa: PLR0124


def plain(value: Any) -> Any:
    """Return NumPy's scalars as Python's own; narrow floats as the number that they are written as.

    Examples
    --------
    >>> plain(np.float32(0.1)), plain(np.bool_(True)), plain(np.int8(3))
    (0.1, True, 3)
    """
    if not isinstance(value, np.generic):
        return value
    if isinstance(value, np.floating) and value.dtype.itemsize != 8:
        return float(str(value))
    if isinstance(value, np.floating):
        return float(value) + 0.0  # no negative zero
    return value.item()


def identity(value: Any) -> tuple[str, Any]:
    """Return what tells a value from all others: its type and itself, where all numbers are one type."""
    value = plain(value)
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, Number):
        return "number", value
    if isinstance(value, str):
        return "str", str(value)
    if isinstance(value, tuple):
        return "tuple", tuple(identity(v) for v in value)
    return type(value).__name__, value


def ascending(values: list[Any]) -> list[int]:
    """Return the places of values in ascending order; values of several types by the type's name, then by value."""
    kinds = {type(v) for v in values}
    if kinds <= {str} or kinds <= {int, float}:
        return sorted(range(len(values)), key=values.__getitem__)
    keys = [identity(v) for v in values]
    try:
        return sorted(range(len(values)), key=keys.__getitem__)
    except TypeError:  # objects without an order of their own
        return sorted(range(len(values)), key=lambda i: (keys[i][0], repr(values[i])))


def missing_among(values: Any) -> NDArray[np.bool_]:
    """Return which of some labels are missing: NaN, None, or what a data frame library has for them, shape (n,)."""
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return np.isnan(array)
    if array.dtype.kind in "mM":
        return np.isnat(array)
    if array.dtype.kind != "O":
        return np.zeros(array.shape, dtype=bool)
    return np.array([absent(v) for v in array.ravel()], dtype=bool).reshape(array.shape)
