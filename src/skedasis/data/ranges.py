"""Ranges of numbers in which effects can be computed with float64, without collisions of values or overflow."""

from __future__ import annotations

import numpy as np

from skedasis.data.schema import Feature
from skedasis.errors import DataError, explained

LARGEST_INTEGER = 2**53
"""float64 holds all integers up to this size exactly."""
LEAST_SPREAD, LARGEST = 1e-140, 1e140
"""Outside these limits squares of values or of slopes may leave float64's range (1e-308 to 1e308)."""


class OutOfRange(DataError):  # noqa: N818 - named like `TooManyLevels`
    """A feature has values outside the range in which effects can be computed with float64."""


def check_integers(feature: Feature, ends: tuple[int, int] | None) -> None:
    """Raise if float64 would round the integers of a column.

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
    """Raise if numbers are too large for float64, or too close together.

    Parameters
    ----------
    feature : Feature
    low, high : float
        Smallest and largest value, finite.

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
