"""What kernels need of a word of 64 rows, in Python; numba puts single instructions in their place."""

from __future__ import annotations

from typing import Any


def ones(word: Any) -> int:
    """Return how many bits of a word are set."""
    return int(word).bit_count()


def lowest(word: Any) -> int:
    """Return the place of the lowest bit that is set."""
    whole = int(word)
    return (whole & -whole).bit_length() - 1
