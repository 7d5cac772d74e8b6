"""Random numbers: the integer that keys all draws of a call, and keyed hashes of rows.

The random number of a row depends only on the random state, the purpose of the draw and the row's identifier, not on
batches, threads or the order of rows. So a sample of rows, or the noise in an ordering of rows, is the same for any
partition of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from skedasis._arguments import check_int
from skedasis._types import Bools, Floats, Values

RandomState: TypeAlias = "int | np.random.Generator | None"
"""What `random_state` may be, as in scikit-learn: an integer, a generator, or None."""


def as_seed(what: str, random_state: object) -> int:
    """Return the integer that keys the random draws of a call."""
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    expected = "an integer of 0 or more, a numpy.random.Generator, or None"
    fix = "Use an integer such as 0"
    if isinstance(random_state, np.random.RandomState):
        fix = "Draw an integer from it: random_state=rng.randint(2**31)"
    return check_int(what, random_state, 0, fix, expected)


# --- keyed hashes of rows --------------------------------------------------------------------------


Hashes = NDArray[np.uint64]


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""Constants of SplitMix64."""


def row_hashes(row_id: Values, random_state: int, purpose: str) -> Hashes:
    """Return a hash of each row, uniform over all 64-bit integers.

    Identifiers, (n,), are numbers (equal integers and floats have the same hash), text, times (in one unit), or other
    objects, which are hashed by their text. Draws for a different `purpose`, what is drawn, are independent.
    """
    return _mix(_hash_ids(row_id) ^ _key(int(random_state), purpose))


def random_half(row_id: Values, random_state: int, purpose: str) -> Bools:
    """Return a random half of the rows, (n,); for `purpose` see `row_hashes`."""
    return row_hashes(row_id, random_state, purpose) >> np.uint64(63) == 0


def uniforms(row_id: Values, random_state: int, purpose: str, count: int) -> Floats:
    """Return several random numbers of each row, uniform in the open interval (0, 1), (n, count)."""
    first = row_hashes(row_id, random_state, purpose)
    return uniform_from_hash(_mix(first[:, None] + _GOLDEN * np.arange(count, dtype=np.uint64)))


@lru_cache(maxsize=256)
def _key(random_state: int, purpose: str) -> np.uint64:
    """Return the hash key of a seed and a purpose."""
    # Python integers of any size are reduced to 64 bits.
    state = np.array([random_state % 2**64], dtype=np.uint64)
    key: np.uint64 = _mix(_hash_text(np.array([purpose])) ^ _mix(state))[0]
    return key


def uniform_from_hash(hashes: Hashes) -> Floats:
    """Return hashes as floats in the open interval (0, 1)."""
    return ((hashes >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53


def _mix(values: Hashes) -> Hashes:
    """Return the output function of SplitMix64 (Steele, Lea & Flood 2014), in which each bit affects all others."""
    z = values + _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


def _hash_ids(row_id: Values) -> Hashes:
    kind = row_id.dtype.kind
    if kind in "iub":
        return _hash_numbers(row_id)
    if kind == "f":
        # Whole numbers have the same hash as integers and as floats.
        whole = np.abs(row_id) < 2.0**63
        bits = (row_id.astype(float) + 0.0).view(np.uint64)
        integers = np.where(whole, row_id, 0).astype(np.int64)
        return np.where(whole & (integers == row_id), _hash_numbers(integers), _mix(bits))
    if kind in "mM":
        return _mix(row_id.astype(np.int64).view(np.uint64))
    if kind == "U":
        return _hash_text(row_id.astype(row_id.dtype.newbyteorder("=")))
    # Objects: numbers and text have the same hash in any container, such as a column of nullable integers.
    listed = row_id.tolist()
    inner = np.array(listed) if kind == "O" and _same_type(listed) else None
    if inner is not None and inner.dtype.kind in "iufU":
        return _hash_ids(inner)
    return _hash_text(np.array([str(v) for v in listed], dtype=str))


def _same_type(values: Sequence[object]) -> bool:
    """Return whether all values are numbers, or all are text."""
    numbers = all(isinstance(v, (int, float, np.number)) for v in values)
    return numbers or all(isinstance(v, str) for v in values)


def _hash_numbers(values: Values) -> Hashes:
    return values.astype(np.uint64 if values.dtype.kind == "u" else np.int64).view(np.uint64)


def _hash_text(text: Values) -> Hashes:
    """Return hashes of text that do not depend on the width of its array."""
    code_points = np.ascontiguousarray(text).view(np.uint32).reshape(len(text), -1)
    hashes = np.zeros(len(text), dtype=np.uint64)
    for column in code_points.T:
        present = column > 0  # arrays of text are padded with zeros
        hashes[present] = _mix(hashes[present] ^ column[present].astype(np.uint64))
    return hashes
