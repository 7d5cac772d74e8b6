"""Keyed hashes of rows: random numbers that depend on the row, not on batches, threads or row order.

A number drawn for a row depends on the seed, on what the draw is for, and on the row's identifier alone. So a sample of
rows, or the noise in an order of rows, is the same for any partition of the data.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats

Hashes = NDArray[np.uint64]


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def row_hashes(row_id: NDArray[Any], random_state: int, purpose: str) -> Hashes:
    """Return a hash of each row, uniform over all 64-bit numbers.

    Parameters
    ----------
    row_id : ndarray, shape (n,)
        What the rows are known by: numbers (whole ones are the same as integers and as floats), text, times (in one
        unit), or other objects, by their text.
    random_state : int
    purpose : str
        What is drawn: draws for different purposes are independent.

    Returns
    -------
    ndarray of uint64, shape (n,)

    Examples
    --------
    >>> a = row_hashes(np.array([7, 8]), 0, "order")
    >>> b = row_hashes(np.array([8, 9]), 0, "order")
    >>> bool(a[1] == b[0]), bool(a[0] == b[1])
    (True, False)
    """
    return _mixed(_of_ids(row_id) ^ _key(int(random_state), purpose))


@lru_cache(maxsize=256)
def _key(random_state: int, purpose: str) -> np.uint64:
    """Return the key of a purpose."""
    # Seeds of any size; within 64 bits those of NumPy's integers.
    state = np.array([random_state % 2**64], dtype=np.uint64)
    found: np.uint64 = _mixed(_of_text(np.array([purpose])) ^ _mixed(state))[0]
    return found


def uniform(hashes: Hashes) -> Floats:
    """Return hashes as numbers in (0, 1), neither end of which is ever reached."""
    return ((hashes >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53


def _mixed(values: Hashes) -> Hashes:
    """Return the output function of SplitMix64 (Steele, Lea & Flood 2014), which spreads every bit over all others."""
    z = values + _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


def _of_ids(row_id: NDArray[Any]) -> Hashes:
    kind = row_id.dtype.kind
    if kind in "iub":
        return _of_numbers(row_id)
    if kind == "f":
        # Whole numbers are the same rows whether they come as integers or as floats.
        whole = np.abs(row_id) < 2.0**63
        bits = (row_id.astype(float) + 0.0).view(np.uint64)
        integers = np.where(whole, row_id, 0).astype(np.int64)
        return np.where(whole & (integers == row_id), _of_numbers(integers), _mixed(bits))
    if kind in "mM":
        return _mixed(row_id.astype(np.int64).view(np.uint64))
    if kind == "U":
        return _of_text(row_id.astype(row_id.dtype.newbyteorder("=")))
    # Objects: numbers and text are the same rows in whatever column they come, such as one of nullable integers.
    listed = row_id.tolist()
    inner = np.array(listed) if kind == "O" and _plain(listed) else None
    if inner is not None and inner.dtype.kind in "iufU":
        return _of_ids(inner)
    return _of_text(np.array([str(v) for v in listed], dtype=str))


def _plain(values: list[Any]) -> bool:
    """Return whether all values are numbers, or all are text."""
    numbers = all(isinstance(v, (int, float, np.number)) for v in values)
    return numbers or all(isinstance(v, str) for v in values)


def _of_numbers(values: NDArray[Any]) -> Hashes:
    return values.astype(np.uint64 if values.dtype.kind == "u" else np.int64).view(np.uint64)


def _of_text(text: NDArray[Any]) -> Hashes:
    """Return hashes of text that do not depend on how wide its array is."""
    points = np.ascontiguousarray(text).view(np.uint32).reshape(len(text), -1)
    found = np.zeros(len(text), dtype=np.uint64)
    for column in points.T:
        there = column > 0
        found[there] = _mixed(found[there] ^ column[there].astype(np.uint64))
    return found
