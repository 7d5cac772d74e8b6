"""Derivatives by central differences, mixed second differences, and a probe of whether they are meaningful.

The evaluator (`skedasis.quantities.evaluator`) uses them for quantities without derivatives of their own. The step is
the cube root of the unit round-off (the fourth root for second differences) times the larger of the feature's standard
deviation and |x|, which balances truncation and rounding errors. Three cases need more care:

- *Integers* step to the next integer, so that the model is never evaluated between integers.
- *Large offsets* (Unix times): a step proportional to |x| leaves the data, a step proportional to the standard
  deviation is lost in rounding. Both are taken, and each row uses the one that is valid (`_two_steps`).
- *Piecewise constant models* have no derivative that describes them. `probe_derivatives` detects them at the probe
  rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from skedasis._types import Bools, Floats
from skedasis.data.column_stats import Summary
from skedasis.errors import ModelOutputError
from skedasis.models.adapters import DerivativeInfo


class DifferenceEvaluator(Protocol):
    """What differences need of a quantity's evaluator on a batch of n rows.

    Implemented by `skedasis.quantities.evaluator.BatchEvaluator`.
    """

    @property
    def eps(self) -> float:
        """Unit round-off of the dtype that the model computes in."""
        ...

    def __len__(self) -> int: ...

    def column(self, j: int) -> Floats:
        """Return the rows' values of a feature, (n,), NaN where missing."""
        ...

    def sweep(self, j: int, values: Floats) -> Floats:
        """Return the quantity, (n, m), with column j replaced by m values for each row, (n, m)."""
        ...

    def sweep_together(self, changes: Mapping[int, tuple[Floats, ...]], m: int) -> Floats:
        """Return the quantity, (n, m), with several columns replaced by m arrays, (n,)."""
        ...

    def edge_differences(self, j: int, low: Floats, high: Floats) -> Floats:
        """Return the differences of the quantity, (n,), between two values of column j for each row."""
        ...

    def slopes_at(self, j: int, moved: int, values: tuple[Floats, ...]) -> Floats:
        """Return the slope by column j, (n, m), with column `moved` replaced by m arrays, (n,)."""
        ...


# --- central differences --------------------------------------------------------------------------

FAR = 1e3
"""Offset, in standard deviations, above which two step sizes are needed."""

_FEW_INTEGERS = 64
"""In a range of at most this many integers, the step to the next one is not small."""


def differences(evaluator: DifferenceEvaluator, column: Summary) -> Floats:
    """Return central differences of the quantity at the batch's rows, (n,), NaN where the feature is missing.

    The difference is divided by the step (see above) as realised in floating-point numbers. Integers step to the next
    one. The cost is 2 n model rows, or 4 n if the offset is much larger than the standard deviation (see
    `_two_steps`).
    """
    x = evaluator.column(column.feature.position)
    eps = round_off(evaluator, column)
    small, large = np.cbrt(eps) * column.std, np.cbrt(eps) * np.maximum(column.std, np.abs(x))
    if column.std == 0:
        return np.where(np.isnan(x), np.nan, 0.0)
    if column.integer:
        step = float(np.rint(small))
        return (
            _difference(evaluator, column, step)[0] if step > 1 else _unit_steps(evaluator, column)
        )
    if max(abs(column.low), abs(column.high)) <= FAR * column.std:
        return _difference(evaluator, column, large)[0]
    return _two_steps(evaluator, column, small, large, eps)


def _unit_steps(evaluator: DifferenceEvaluator, column: Summary) -> Floats:
    """Return the differences to the next integer, and for the largest value from the previous one.

    Summed over the integers from a to b, these differences give exactly q(b) - q(a), which central differences do not;
    this fits bins with integer edges that are closed on the left.
    """
    j = column.feature.position
    x = evaluator.column(j)
    missing = np.isnan(x)
    low = np.where(x >= column.high, x - 1, x)
    low = np.where(missing, column.low, low)
    return np.where(missing, np.nan, evaluator.edge_differences(j, low, low + 1))


def round_off(evaluator: DifferenceEvaluator, column: Summary) -> float:
    """Return the larger unit round-off of the column's dtype and of the model's arithmetic."""
    own = np.finfo(column.dtype.name).eps if column.dtype.kind == "f" else np.finfo(float).eps
    return float(max(own, evaluator.eps))


def _difference(
    evaluator: DifferenceEvaluator, column: Summary, step: Floats | float
) -> tuple[Floats, Floats, Floats]:
    """Return the slope, the realised width, and the larger absolute value of the quantity on both sides."""
    low, high = sides = _sides(evaluator, column, step)
    both = evaluator.sweep(column.feature.position, np.stack(sides).T)
    slope = _slope(evaluator, column, sides, both)
    return slope, high - low, np.abs(both).max(axis=1)


def _sides(
    evaluator: DifferenceEvaluator, column: Summary, step: Floats | float
) -> tuple[Floats, Floats]:
    """Return values on both sides of the rows' values."""
    x = evaluator.column(column.feature.position)
    if column.missing:
        # A row without a value gets the slope NaN; here it is evaluated at a value inside the data.
        x = np.where(np.isnan(x), column.low, x)
        step = np.where(np.isnan(step), column.std, step)
    step = np.maximum(step, column.resolution)  # the smallest step between two times
    low, high = column.around(x, step)
    if column.integer:
        # A whole step may leave the data (from 0 and 1 to -1 and 2): at the ends the difference is one-sided.
        low, high = np.maximum(low, column.low), np.minimum(high, column.high)
    return low, high


def _slope(
    evaluator: DifferenceEvaluator, column: Summary, sides: tuple[Floats, Floats], both: Floats
) -> Floats:
    """Return the slope, (n,), given the quantity at values on both sides, (n, 2)."""
    with np.errstate(invalid="ignore"):
        slope = (both[:, 1] - both[:, 0]) / (sides[1] - sides[0])
    if column.missing:
        slope[np.isnan(evaluator.column(column.feature.position))] = np.nan
    return slope


def _two_steps(
    evaluator: DifferenceEvaluator, column: Summary, small: float, large: Floats, eps: float
) -> Floats:
    """Choose row by row between a step proportional to the standard deviation and one proportional to the offset.

    If both slopes agree within the rounding of the small step, the large step, with hardly any rounding, gives the
    better estimate. If they disagree, the model is curved between the two, and the small step is right.
    """
    spacing = np.spacing(max(abs(column.low), abs(column.high)))
    near, width, size = _difference(evaluator, column, max(small, 32 * spacing))
    # Far enough to give w to 1e-9, and no further: the model may not be defined far outside the data.
    enough = 2e9 * eps * np.abs(evaluator.column(column.feature.position))
    large = np.minimum(large, np.maximum(small, enough))
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            far, far_width, far_size = _difference(evaluator, column, large)
    except ModelOutputError:  # not finite so far outside the data: only the small step remains
        return near
    noise = 8 * eps * (size / width + far_size / far_width)
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(near - far) <= noise, far, near)


# --- detection of piecewise constant quantities ---------------------------------------------------

PROBED_VALUES = 7
"""Most values of a column at which each row of the batch is evaluated by `probe_derivatives`."""


def probe_derivatives(
    evaluator: DifferenceEvaluator, column: Summary, values: Floats | None = None
) -> DerivativeInfo:
    """Return whether a quantity without slopes has meaningful differences by a feature, or is piecewise constant.

    A function that does not change under a small step, but differs between the values of the rows, has derivatives
    that are zero almost everywhere. Their average would be an effect of exactly zero, or, if rows lie on its jumps,
    jumps divided by the step. The cost is up to 7 model rows for each row of the (small) batch; they are counted as
    rows of the check.
    """
    kind = "differences between integers" if column.integer else "central differences"
    differences_traits = DerivativeInfo("differences", kind)
    j = column.feature.position
    x = evaluator.column(j)
    there = ~np.isnan(x)
    if column.std == 0 or there.sum() < 2:
        return differences_traits
    ordered = np.sort(x[there])
    middle = column.snap(ordered[[(len(ordered) - 1) // 2]])
    donors = np.roll(np.sort(np.where(there, x, middle)), len(x) // 2)
    ends = np.full(len(x), column.low), np.full(len(x), column.high)
    if column.integer and values is None:
        values = _integers_nearby(evaluator, column)
    near = _near(evaluator, column, values)
    # In one request: no value depends on the response at another.
    swept = evaluator.sweep(j, np.stack([ends[0], donors, ends[1], *near]).T)
    responses, at_near = swept[:, :3], swept[:, 3:]
    change = np.ptp(responses, axis=1)
    eps = round_off(evaluator, column)
    # Forests that sum their trees in varying order return a varying last digit: that is no slope.
    noise = 16 * eps * np.abs(responses).max(axis=1) / (np.cbrt(eps) * column.std)
    persistent = _persistent_slopes if values is None else _persistent_steps
    slope, sloped = persistent(evaluator, column, noise, near, at_near)
    # Slopes below the noise may be real, and may add up to a change over the whole range.
    by_noise = 10 * (column.high - column.low) * np.abs(slope[~sloped & (np.abs(slope) <= noise)])
    if np.count_nonzero(sloped) <= len(x) // 50 and change.max() > by_noise.max(initial=0.0):
        source = "differences across bins: the model is piecewise constant (detected)"
        return DerivativeInfo("steps", source, exact=False)
    return differences_traits


def _near(evaluator: DifferenceEvaluator, column: Summary, values: Floats | None) -> Floats:
    """Return the values near each row's own at which persistence shows, (4, n); of observed `values` (3, n).

    Between observed values there is no shorter step: see `_persistent_steps`.
    """
    if values is None:
        eps = round_off(evaluator, column)
        spacing = np.spacing(max(abs(column.low), abs(column.high)))
        step = max(float(np.cbrt(eps)) * column.std, 64 * spacing)
        return np.stack([*_sides(evaluator, column, step), *_sides(evaluator, column, step / 16)])
    x, last = evaluator.column(column.feature.position), len(values) - 1
    there = np.where(np.isnan(x), column.low, x)
    middle = np.clip(np.searchsorted(values, there), min(1, last), max(last - 1, 0))
    return values[np.stack([middle - min(1, last), middle, np.minimum(middle + 1, last)])]


def _persistent_slopes(
    evaluator: DifferenceEvaluator, column: Summary, noise: Floats, near: Floats, responses: Floats
) -> tuple[Floats, Bools]:
    """Return differences, and the rows in which they are slopes: they persist when the step is a sixteenth.

    Across a jump, the difference quotient of the shorter step is sixteen times as large, or zero if the jump lies
    outside the step.
    """
    long, short = (
        np.nan_to_num(_slope(evaluator, column, (near[k], near[k + 1]), responses[:, k : k + 2]))
        for k in (0, 2)
    )
    # The shorter step divides rounding errors of the same size by a sixteenth of the width.
    tolerance = np.maximum(np.maximum(np.abs(long), np.abs(short)) / 2, 16 * noise)
    return long, (np.abs(long) > noise) & (np.abs(long - short) <= tolerance)


def _integers_nearby(evaluator: DifferenceEvaluator, column: Summary) -> Floats:
    """Return the integers of the rows, and those one step below and above, at most as far as the column goes."""
    x = evaluator.column(column.feature.position)
    x = np.append(x[~np.isnan(x)], column.low)
    step = max(1.0, float(np.rint(np.cbrt(round_off(evaluator, column)) * column.std)))
    return np.unique(np.clip(np.concatenate([x - step, x, x + step]), column.low, column.high))


def _persistent_steps(
    evaluator: DifferenceEvaluator, column: Summary, noise: Floats, near: Floats, responses: Floats
) -> tuple[Floats, Bools]:
    """Return the slopes between neighbouring observed values, and the rows in which they resemble the next slope.

    If most rows whose quantity changes change in one step and not in the next, the changes are jumps, and no row counts
    as sloped. A step up followed by a step down of the same size is not a jump but a corner, as the distance of two
    features has where they are equal. In a range of few integers a smooth function may curve as much between two
    integers: there every change counts. Changes in at most a tenth of the rows count as jumps.
    """
    widths = np.diff(near, axis=0)
    widths[widths == 0] = 1.0  # there is no value beyond the last one
    before, after = np.diff(responses, axis=1).T / widths
    rounding = round_off(evaluator, column) * np.abs(responses).max(axis=1)
    noise = np.maximum(noise, 16 * rounding / widths.min(axis=0))
    larger = np.maximum(np.abs(before), np.abs(after))
    changes = larger > noise
    if column.integer and column.high - column.low <= _FEW_INTEGERS:
        return (before + after) / 2, changes & (np.count_nonzero(changes) > len(changes) // 10)
    corner = np.abs(np.abs(after) - np.abs(before)) <= larger / 16
    persists = changes & (corner | (np.abs(after - before) <= larger / 2 + 2 * noise))
    smooth = 2 * np.count_nonzero(persists) > np.count_nonzero(changes) > len(changes) // 10
    return (before + after) / 2, persists & smooth


# --- mixed second differences ---------------------------------------------------------------------

_WIDE = 0.5
"""The wide step, in standard deviations: inside the data, and large compared with the rounding of a large offset."""


Derivatives = tuple[Floats, Floats | None, Floats | None]
"""The mixed derivative, and the slope by each of the two features if it costs no further model rows."""


def mixed_differences(
    evaluator: DifferenceEvaluator, columns: tuple[Summary, Summary], *, sloped: bool
) -> Derivatives:
    """Return the mixed second derivative by two features, and the slopes if they cost no further model rows, each (n,).

    If the quantity has slopes, these are central differences of the first feature's slope along the second feature, at
    a cost of 2 n slope rows. Otherwise the quantity is evaluated at four corners around the row, at a cost of 4 n
    model rows. The steps balance truncation and rounding: the cube root, or the fourth root, of the unit round-off, in
    standard deviations; somewhat more for values far from zero, because the model's numbers round in proportion to
    them.

    If the offset is much larger than the standard deviation (Unix times), a second difference over a small step is
    lost in the rounding of q. Then a wide step is taken as well, at twice the cost, and each row uses it if both agree
    within the rounding of the small step (as `differences` does for slopes).
    """
    if columns[0].std == 0 or columns[1].std == 0:
        # A constant feature has no mixed derivative: only the slope by the other feature is left.
        first, second = (None if sloped else differences(evaluator, c) for c in columns)
        return np.zeros(len(evaluator)), first, second
    second_difference = _difference_of_slopes if sloped else _difference_of_values
    near, noise = second_difference(evaluator, columns, None)
    eps = max(round_off(evaluator, c) for c in columns)
    # In single precision smaller offsets already need the wide step.
    enough = min(FAR, eps**-0.25)
    if not any(max(abs(c.low), abs(c.high)) > enough * c.std for c in columns):
        return near
    far, _ = second_difference(evaluator, columns, _WIDE)
    agree = np.abs(near[0] - far[0]) <= noise
    first, second = (_choose(agree, n, f) for n, f in zip(near[1:], far[1:], strict=True))
    return np.where(agree, far[0], near[0]), first, second


def _choose(agree: Bools, near: Floats | None, far: Floats | None) -> Floats | None:
    return None if near is None or far is None else np.where(agree, far, near)


def _difference_of_slopes(
    evaluator: DifferenceEvaluator, columns: tuple[Summary, Summary], wide: float | None
) -> tuple[Derivatives, Floats]:
    """Return differences of slopes, and a bound of their rounding errors."""
    first, second = columns
    eps = round_off(evaluator, second)
    low, high, width = _around(evaluator, second, eps, 1 / 3, wide)
    slopes = evaluator.slopes_at(first.feature.position, second.feature.position, (low, high))
    noise = 8 * eps * np.abs(slopes).max(axis=1) / width
    return ((slopes[:, 1] - slopes[:, 0]) / width, None, None), noise


def _difference_of_values(
    evaluator: DifferenceEvaluator, columns: tuple[Summary, Summary], wide: float | None
) -> tuple[Derivatives, Floats]:
    """Return second differences with both slopes, and a bound of the second differences' rounding errors."""
    eps = max(round_off(evaluator, c) for c in columns)
    low0, high0, width0 = _around(evaluator, columns[0], eps, 1 / 4, wide)
    low1, high1, width1 = _around(evaluator, columns[1], eps, 1 / 4, wide)
    j0, j1 = columns[0].feature.position, columns[1].feature.position
    corners = {j0: (low0, high0, low0, high0), j1: (low1, low1, high1, high1)}
    q = evaluator.sweep_together(corners, 4)
    below, above = q[:, 1] - q[:, 0], q[:, 3] - q[:, 2]
    mixed = (above - below) / (width0 * width1)
    before, after = q[:, 2] - q[:, 0], q[:, 3] - q[:, 1]
    noise = 16 * eps * np.abs(q).max(axis=1) / (width0 * width1)
    return (mixed, (above + below) / (2 * width0), (before + after) / (2 * width1)), noise


def _around(
    evaluator: DifferenceEvaluator, column: Summary, eps: float, power: float, wide: float | None
) -> tuple[Floats, Floats, Floats]:
    """Return values on both sides of the rows' values, representable in the column, and their distance.

    Integers step to their neighbours, and stay inside the range of the data.
    """
    x = evaluator.column(column.feature.position)
    sd = column.std
    if column.integer:
        low, high = column.around(x, max(1.0, np.rint((wide or eps**power) * sd)))
        low, high = np.maximum(low, column.low), np.minimum(high, column.high)
        return low, high, high - low
    lift = np.maximum(1.0, np.abs(x) / sd)
    step = wide * sd if wide else np.minimum((eps * lift) ** power, _WIDE) * sd
    step = np.maximum(np.maximum(step, 32 * np.spacing(np.abs(x))), column.resolution)
    low, high = column.around(x, step)
    return low, high, high - low
