"""Ranges of numbers in which effects can be computed: float64 must tell values apart, and their products must exist."""

from __future__ import annotations

import numpy as np

from skedasis.data.schema import Feature
from skedasis.errors import DataError, explained

LARGEST_INTEGER = 2**53
"""Up to it float64 has every integer."""
LEAST_SPREAD, LARGEST = 1e-140, 1e140
"""Beyond, squares of values, or of slopes of ordinary quantities, leave float64's range (1e-308 to 1e308)."""


class OutOfRange(DataError):  # noqa: N818 - says what it is
    """A feature has values with which float64 cannot compute."""


def check_integers(feature: Feature, ends: tuple[int, int] | None) -> None:
    """Refuse integers that float64 would round.

    Parameters
    ----------
    feature : Feature
    ends : tuple of int, optional
        The smallest and the largest value, before they became floats; None for columns of anything else.

    Raises
    ------
    OutOfRange
    """
    if ends is None or max(abs(end) for end in ends) <= LARGEST_INTEGER:
        return
    worst, (low, high) = max(ends, key=abs), ends
    fix = f"Subtract an offset, such as the smallest value {low:,}"
    if high - low > LARGEST_INTEGER:
        fix = "Rescale it to floats, for example divide it by its largest value"
    raise OutOfRange(
        explained(
            f"feature {feature.name!r}",
            f"the integer {worst:,}",
            "integers up to 2**53 in size, which float64 holds exactly",
            fix,
        )
    )


def check_range(feature: Feature, low: float, high: float) -> None:
    """Refuse numbers that are too large to compute with, or too near one another.

    Parameters
    ----------
    feature : Feature
    low, high : float
        The extremes, finite.

    Raises
    ------
    OutOfRange
    """
    what, largest = f"feature {feature.name!r}", max(abs(low), abs(high))
    if largest > LARGEST:
        raise OutOfRange(
            explained(
                what,
                f"values up to {largest:.3g} in size",
                f"at most {LARGEST:g}",
                "Rescale it, for example divide it by its largest value",
            )
        )
    spread = float(np.float64(high) - np.float64(low))
    if 0 < spread < LEAST_SPREAD:
        raise OutOfRange(
            explained(
                what,
                f"values that differ by {spread:.3g} at most",
                f"a spread (max - min) of at least {LEAST_SPREAD:g}, or 0",
                "Rescale it, for example divide it by its largest value",
            )
        )
