"""Derivatives by central differences, mixed second differences, and a probe of whether they are meaningful."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skedasis._types import Bools, Floats
from skedasis.data.column_stats import Summary
from skedasis.errors import ModelOutputError
from skedasis.models.adapters import Traits

if TYPE_CHECKING:
    from skedasis.quantities.evaluator import Bound


# ------------------------------------------------------------------------------------------
# Slopes of quantities that have none of their own: central differences, and a look at whether those mean anything.


FAR = 1e3
"""An offset of so many standard deviations calls for two step sizes."""


_SHORT = 64
"""In a range of at most this many integers, a step to the next one is not small."""


def differences(bound: Bound, column: Summary) -> Floats:
    """Return central differences of the quantity at the batch's rows.

    Parameters
    ----------
    bound : Bound
    column : Summary
        The feature's summary: its spread sets the step.

    Returns
    -------
    ndarray of float, shape (n,)
        NaN where the feature is missing.

    Notes
    -----
    The step is the cube root of the unit round-off times max(sd, |x|), which balances truncation and rounding, and the
    difference is divided by the step as the floating-point numbers realised it. Whole numbers step to the next one.
    Costs 2 n model rows; twice as many where the offset dwarfs the spread (see `_two_steps`).
    """
    x = bound.column(column.feature.position)
    eps = round_off(bound, column)
    small, large = np.cbrt(eps) * column.sd, np.cbrt(eps) * np.maximum(column.sd, np.abs(x))
    if column.sd == 0:
        return np.where(np.isnan(x), np.nan, 0.0)
    if column.integer:
        steps = float(np.rint(small))
        return _difference(bound, column, steps)[0] if steps > 1 else _unit_steps(bound, column)
    if max(abs(column.low), abs(column.high)) <= FAR * column.sd:
        return _difference(bound, column, large)[0]
    return _two_steps(bound, column, small, large, eps)


def _unit_steps(bound: Bound, column: Summary) -> Floats:
    """Return the differences to the next whole number, at the largest value from the one before.

    Between whole numbers the model is never asked. Summed over the numbers from a to b these differences give exactly
    q(b) - q(a), which central ones do not: bins that start and end at whole numbers, closed on the left, fit them.
    """
    j = column.feature.position
    x = bound.column(j)
    missing = np.isnan(x)
    low = np.where(x >= column.high, x - 1, x)
    low = np.where(missing, column.low, low)
    return np.where(missing, np.nan, bound.edge_differences(j, low, low + 1))


def round_off(bound: Bound, column: Summary) -> float:
    """Return the coarser unit round-off of the column and of what the model computes in."""
    own = np.finfo(column.dtype).eps if column.dtype.kind == "f" else np.finfo(float).eps
    return float(max(own, bound.eps))


def _difference(
    bound: Bound, column: Summary, step: Floats | float
) -> tuple[Floats, Floats, Floats]:
    """Return slope, realised width and the larger magnitude of the two values."""
    j = column.feature.position
    x = bound.column(j)
    if column.missing:
        # A row without a value has no slope; what it is evaluated at instead only has to be harmless.
        x = np.where(np.isnan(x), column.low, x)
        step = np.where(np.isnan(step), column.sd, step)
    step = np.maximum(step, column.resolution)  # of times, which are no nearer to one another
    low, high = column.snap(x - step), column.snap(x + step)
    if column.integer:
        # A whole step may leave the data: from 0/1 it would lead to -1 and 2. At the ends it is taken to one side.
        low, high = np.maximum(low, column.low), np.minimum(high, column.high)
    both = bound.sweep(j, np.stack([low, high]).T)
    with np.errstate(invalid="ignore"):
        width = high - low
        slope = (both[:, 1] - both[:, 0]) / width
    if column.missing:
        slope[np.isnan(bound.column(j))] = np.nan
    return slope, width, np.abs(both).max(axis=1)


def _two_steps(bound: Bound, column: Summary, small: float, large: Floats, eps: float) -> Floats:
    """Choose, row by row, between a step that suits the spread and one that suits the offset.

    With values like Unix times, a step proportional to |x| leaves the data, and one proportional to the spread drowns
    in the rounding of a model that computes w * x. Where both agree within the rounding of the small step, the large
    one, which hardly has any, is the better estimate; where they disagree, the model bends in between and the small
    one is right.
    """
    spacing = np.spacing(max(abs(column.low), abs(column.high)))
    near, width, size = _difference(bound, column, max(small, 32 * spacing))
    # Far enough for 1e-9 of w, and no further: the model's world may end somewhere out there.
    enough = 2e9 * eps * np.abs(bound.column(column.feature.position))
    large = np.minimum(large, np.maximum(small, enough))
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            far, far_width, far_size = _difference(bound, column, large)
    except ModelOutputError:  # infinite out there: the step that suits the spread is all there is
        return near
    noise = 8 * eps * (size / width + far_size / far_width)
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(near - far) <= noise, far, near)


def look(bound: Bound, column: Summary, values: Floats | None = None) -> Traits:
    """Tell whether a quantity without slopes is piecewise constant in a feature.

    A function that never moves under a small step, and yet differs between the rows' values, has derivatives that are
    zero almost everywhere: averaging them would give an effect of exactly zero, or, where rows lie on its jumps, of
    jumps divided by the step.

    Parameters
    ----------
    bound : Bound
    column : Summary
    values : ndarray of float, optional
        The sorted distinct values of an integer feature: the model is evaluated at these only.

    Notes
    -----
    Costs up to 7 model rows for each row of the (small) batch; they are counted as rows of the check.
    """
    kind = "differences between whole numbers" if column.integer else "central differences"
    usual = Traits("differences", kind)
    j = column.feature.position
    x = bound.column(j)
    there = ~np.isnan(x)
    if column.sd == 0 or there.sum() < 2:
        return usual
    middle = np.array([float(np.nanquantile(x, 0.5, method="lower"))])
    filled = np.where(there, x, column.snap(middle))
    donors = np.roll(np.sort(filled), len(x) // 2)
    ends = np.full(len(x), column.low), np.full(len(x), column.high)
    answers = bound.sweep(j, np.stack([ends[0], donors, ends[1]]).T)
    moved = np.ptp(answers, axis=1)
    eps = round_off(bound, column)
    # Forests that sum their trees in any order answer with the last digit loose: that is no slope.
    loose = 16 * eps * np.abs(answers).max(axis=1) / (np.cbrt(eps) * column.sd)
    slope, sloped = _slopes_that_last(bound, column, loose, values)
    explained = 10 * (column.high - column.low) * np.abs(slope[~sloped & (np.abs(slope) <= loose)])
    if np.count_nonzero(sloped) <= len(x) // 50 and moved.max() > explained.max(initial=0.0):
        found = "differences across bins: the model is piecewise constant (detected)"
        return Traits("steps", found, certain=False)
    return usual


def _slopes_that_last(
    bound: Bound, column: Summary, loose: Floats, values: Floats | None
) -> tuple[Floats, Bools]:
    """Return differences, and in which rows they are slopes: still the same when the step is a sixteenth.

    Across a jump the shorter step's difference is sixteen times as steep, or nothing, if the jump lies beyond it. Whole
    numbers have no shorter step: see `_steps_that_last`.
    """
    if column.integer:
        if values is None:
            values = np.unique(np.append(bound.column(column.feature.position), column.low))
            values = values[~np.isnan(values)]
        return _steps_that_last(bound, column, loose, values)
    eps = round_off(bound, column)
    spacing = np.spacing(max(abs(column.low), abs(column.high)))
    step = max(float(np.cbrt(eps)) * column.sd, 64 * spacing)
    long, short = (np.nan_to_num(_difference(bound, column, s)[0]) for s in (step, step / 16))
    # The shorter step divides the same rounding by a sixteenth.
    close = np.maximum(np.maximum(np.abs(long), np.abs(short)) / 2, 16 * loose)
    return long, (np.abs(long) > loose) & (np.abs(long - short) <= close)


def _steps_that_last(
    bound: Bound, column: Summary, loose: Floats, values: Floats
) -> tuple[Floats, Bools]:
    """Return the slopes between neighbouring observed integers, and in which rows they resemble the next slope.

    If the quantity of most rows that change does so in one step and not in the next, these are jumps, and no row counts
    as sloped. A step up followed by a step down of the same size is not a jump but a corner, as of the distance of two
    features where these are equal. Within a short range a smooth function may bend as much between two integers: there
    every change counts. Changes in at most a tenth of the rows are taken for jumps.
    """
    x, last = bound.column(column.feature.position), len(values) - 1
    there = np.where(np.isnan(x), column.low, x)
    middle = np.clip(np.searchsorted(values, there), min(1, last), max(last - 1, 0))
    near = values[np.stack([middle - min(1, last), middle, np.minimum(middle + 1, last)])]
    widths = np.maximum(np.diff(near, axis=0), 1.0)
    before, after = np.diff(bound.sweep(column.feature.position, near.T), axis=1).T / widths
    larger = np.maximum(np.abs(before), np.abs(after))
    moves = larger > loose
    if column.high - column.low <= _SHORT:
        return (before + after) / 2, moves & (np.count_nonzero(moves) > len(x) // 10)
    corner = np.abs(np.abs(after) - np.abs(before)) <= larger / 16
    lasts = moves & (corner | (np.abs(after - before) <= larger / 2 + 2 * loose))
    smooth = 2 * np.count_nonzero(lasts) > np.count_nonzero(moves) > len(x) // 10
    return (before + after) / 2, lasts & smooth


# ------------------------------------------------------------------------------------------
# Mixed second derivatives of quantities that have none of their own, by differences.


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
