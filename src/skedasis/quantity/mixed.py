"""Mixed second derivatives of quantities that have none of their own, by differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skedasis._types import Bools, Floats
from skedasis.data.column_stats import Summary
from skedasis.quantity.gradients import FAR, differences, round_off

if TYPE_CHECKING:
    from skedasis.quantity.bound import Bound

_WIDE = 0.5
"""The wide step, in standard deviations: within the data, and wide enough for what rounds with the offset."""

Derivatives = tuple[Floats, Floats | None, Floats | None]


def mixed_differences(
    bound: Bound, columns: tuple[Summary, Summary], *, sloped: bool
) -> Derivatives:
    """Return the mixed second derivative by two features, and the slope by each where it comes for nothing, (n,).

    Notes
    -----
    Where the quantity has slopes: central differences of the first feature's slope along the second, 2 n slope rows.
    Else the quantity at four corners around the row, 4 n model rows. The steps balance truncation and rounding: the
    cube root, or the fourth root, of the unit round-off, in standard deviations; a little more where values are far
    from zero, for the model's numbers round in proportion to them.

    Where an offset dwarfs the spread (Unix times) no one step will do: a second difference of q over a small one drowns
    in the rounding of q. There a wide step is taken as well, at twice the cost, and each row uses it where both agree
    within the rounding of the small one (as `differences` does for slopes).
    """
    if columns[0].sd == 0 or columns[1].sd == 0:
        # Nothing to cross with: what is left is the slope of the one that moves.
        first, second = (None if sloped else differences(bound, c) for c in columns)
        return np.zeros(len(bound)), first, second
    take = _of_slopes if sloped else _of_values
    near, noise = take(bound, columns, None)
    eps = max(round_off(bound, c) for c in columns)
    # Single precision is in need of it sooner.
    enough = min(FAR, eps**-0.25)
    if not any(max(abs(c.low), abs(c.high)) > enough * c.sd for c in columns):
        return near
    far, _ = take(bound, columns, _WIDE)
    agree = np.abs(near[0] - far[0]) <= noise
    first, second = (_chosen(agree, n, f) for n, f in zip(near[1:], far[1:], strict=True))
    return np.where(agree, far[0], near[0]), first, second


def _chosen(agree: Bools, near: Floats | None, far: Floats | None) -> Floats | None:
    return None if near is None or far is None else np.where(agree, far, near)


def _of_slopes(
    bound: Bound, columns: tuple[Summary, Summary], wide: float | None
) -> tuple[Derivatives, Floats]:
    """Return differences of slopes, and what their rounding may be."""
    first, second = columns
    eps = round_off(bound, second)
    low, high, width = _around(bound, second, eps, 1 / 3, wide)
    slopes = bound.slopes_at(first.feature.position, second.feature.position, (low, high))
    noise = 8 * eps * np.abs(slopes).max(axis=1) / width
    return ((slopes[:, 1] - slopes[:, 0]) / width, None, None), noise


def _of_values(
    bound: Bound, columns: tuple[Summary, Summary], wide: float | None
) -> tuple[Derivatives, Floats]:
    """Return second differences and both slopes, and what the first's rounding may be."""
    eps = max(round_off(bound, c) for c in columns)
    low0, high0, width0 = _around(bound, columns[0], eps, 1 / 4, wide)
    low1, high1, width1 = _around(bound, columns[1], eps, 1 / 4, wide)
    places = columns[0].feature.position, columns[1].feature.position
    corners = {places[0]: (low0, high0, low0, high0), places[1]: (low1, low1, high1, high1)}
    q = bound.sweep_together(corners, 4)
    below, above = q[:, 1] - q[:, 0], q[:, 3] - q[:, 2]
    mixed = (above - below) / (width0 * width1)
    before, after = q[:, 2] - q[:, 0], q[:, 3] - q[:, 1]
    noise = 16 * eps * np.abs(q).max(axis=1) / (width0 * width1)
    return (mixed, (above + below) / (2 * width0), (before + after) / (2 * width1)), noise


def _around(
    bound: Bound, column: Summary, eps: float, power: float, wide: float | None
) -> tuple[Floats, Floats, Floats]:
    """Return values on both sides of the rows' own, as the column can hold them, and their distance.

    Whole numbers step to their neighbours, and stay inside the range.
    """
    x = bound.column(column.feature.position)
    sd = column.sd
    if column.integer:
        whole = max(1.0, np.rint((wide or eps**power) * sd))
        low, high = np.maximum(x - whole, column.low), np.minimum(x + whole, column.high)
        return low, high, high - low
    lift = np.maximum(1.0, np.abs(x) / sd)
    step = wide * sd if wide else np.minimum((eps * lift) ** power, _WIDE) * sd
    step = np.maximum(np.maximum(step, 32 * np.spacing(np.abs(x))), column.resolution)
    low, high = column.snap(x - step), column.snap(x + step)
    return low, high, high - low
