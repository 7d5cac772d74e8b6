"""Contours: at which round values they run, and where they cross the bands of levels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from skedasis._types import Floats

APART = 0.08
"""Share of a band that lies at least between two numbers written into it."""


@dataclass(frozen=True)
class Crossing:
    """Where the effect at a level takes a round value.

    Parameters
    ----------
    x : float
    band : int
        Place of the level.
    level : float
        The value.
    labelled : bool
        Whether there is room to write it.
    """

    x: float
    band: int
    level: float
    labelled: bool


def round_levels(low: float, high: float, wanted: int) -> tuple[float, ...]:
    """Return about `wanted` round values between two others, none of them at the ends.

    Examples
    --------
    >>> round_levels(-1.0, 1.0, 7)
    (-0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75)
    >>> round_levels(0.0, 10.0, 0)
    ()
    """
    if wanted < 1 or not 0 < high - low < math.inf:
        return ()
    least = (high - low) / (wanted + 1)
    power = 10.0 ** math.floor(math.log10(least))
    # A step a little too small gives a line more than was asked for, and saves many.
    factor = next(f for f in (1, 2, 2.5, 5, 10) if f * power >= 0.95 * least)
    step = factor * power
    first, last = math.ceil(low / step + 1e-6), math.floor(high / step - 1e-6)
    decimals = 12 - math.floor(math.log10(step))
    levels = dict.fromkeys(round(k * step, decimals) for k in range(first, last + 1))
    return tuple(v for v in levels if low < v < high)


def crossings(
    x: Floats, value: Floats, levels: tuple[float, ...], *, labelled: bool
) -> tuple[Crossing, ...]:
    """Return where each band takes round values.

    Parameters
    ----------
    x : ndarray of float, shape (p,)
    value : ndarray of float, shape (q, p)
        One row a band.
    levels : tuple of float
    labelled : bool
        Whether bands are high enough for numbers.
    """
    found: list[Crossing] = []
    span = float(x[-1] - x[0]) if len(x) > 1 else 1.0
    for band, row in enumerate(value):
        at: list[tuple[float, float]] = []
        for level in levels:
            above = row >= level
            known = np.isfinite(row[:-1]) & np.isfinite(row[1:])
            for i in np.flatnonzero(known & (above[:-1] != above[1:])):
                share = (level - row[i]) / (row[i + 1] - row[i])
                at.append((float(x[i] + share * (x[i + 1] - x[i])), level))
        last = -math.inf
        for place, level in sorted(at):
            roomy = min(place - x[0], x[-1] - place) > 0.03 * span
            written = labelled and roomy and place - last > APART * span
            last = place if written else last
            found.append(Crossing(place, band, level, written))
    return tuple(found)
