"""Steps between neighbouring values or levels: their means and standard errors.

Each row has two steps: from the previous value to its own, and from its own to the next. So a step is estimated from
the rows at both its ends, and each row contributes to two steps. All errors follow from the second moments of the pairs
of steps at each value.

Of categories a step pools the rows of both ends. Of numbers it is the mean of its two ends' means, ½ mean over the rows
at v + ½ mean over the rows at v': no direction is preferred, whatever the counts (DESIGN 4.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.results.effect import Spec
from skedasis.stats import ale_math
from skedasis.stats.moments import Moments, WeightKind

DOWN, UP, BOTH = "down", "up", "both"
"""Moments by value: of the step from the value before, of that to the value after, and of both together, which gives
their covariance."""


def step_moments(
    down: Floats, up: Floats, place: Ints, size: int, weights: Floats | None
) -> dict[str, Moments]:
    """Gather the rows' steps by their value, or level.

    Parameters
    ----------
    down, up : ndarray of float, shape (n,)
        Each row's step from the value before to its own, and from its own to the value after; zero where there is none.
    place : ndarray of int, shape (n,)
        The rows' places among the values.
    size : int
        How many values there are.
    weights : ndarray of float, shape (n,), optional

    Returns
    -------
    dict of str to Moments, L values each
        `DOWN`, `UP` and `BOTH`.
    """
    count = Moments.of(up, place, size, weights)
    return {
        UP: count,
        DOWN: Moments.of(down, place, size, weights, like=count),
        BOTH: Moments.of(down + up, place, size, weights, like=count),
    }


def existing(down: Floats, up: Floats, place: Ints, size: int) -> Floats:
    """Return the rows' steps as results keep them, (n, 2): NaN before the first value and after the last."""
    first, last = place == 0, place == size - 1
    return np.stack([np.where(first, np.nan, down), np.where(last, np.nan, up)], axis=1)


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps between L neighbouring values, and the moments behind them.

    Parameters
    ----------
    down, up, both : Moments, L values
    pooled : Moments, L - 1 steps
        Of the rows of both ends together.
    values : ndarray of float, shape (L,), optional
        Numbers between which the steps are: a step is then the mean of its ends' means instead of that of all rows of
        both.
    """

    down: Moments
    up: Moments
    both: Moments
    pooled: Moments
    values: Floats | None = None

    @classmethod
    def of(cls, moments: Mapping[str, Moments], values: Floats | None = None) -> Steps:
        """Return the steps from moments by value; `BOTH` is needed for errors only."""
        down, up = moments[DOWN], moments[UP]
        pooled = up.take(slice(0, -1)).merge(down.take(slice(1, None)))
        return cls(down, up, moments.get(BOTH, up), pooled, values)

    @property
    def halves(self) -> bool:
        """Return whether a step is the mean of its ends' means."""
        return self.values is not None

    @property
    def known(self) -> Bools:
        """Return which steps have rows at an end."""
        return self.pooled.weight > 0

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Return the weights of the lower and upper ends' means in each step: ½ each, or 1 if the other has no rows."""
        lower, upper = self.up.weight[:-1] > 0, self.down.weight[1:] > 0
        both = np.where(lower & upper, 0.5, 1.0)
        return np.where(lower, both, 0.0), np.where(upper, both, 0.0)

    @property
    def mean(self) -> Floats:
        """Return the mean steps, (L - 1,); 0 for a step without rows."""
        if not self.halves:
            return np.where(self.known, self.pooled.mean, 0.0)
        lower, upper = self.ends
        return lower * self.up.mean[:-1] + upper * self.down.mean[1:]

    def error2(self, kind: WeightKind) -> Floats:
        """Return the squared standard error of each step by itself; 0 where it has no variance."""
        if not self.halves:
            free = self.pooled.degrees(1, kind)
            size = np.where(self.pooled.weight > 0, self.pooled.weight, 1.0)
            return np.where(free > 0, self.pooled.m2 / np.where(free > 0, free, 1.0) / size, 0.0)
        seen, (lower, upper) = Scatter.of(self, kind), self.ends
        size, free = self.up.weight, self.up.degrees(1, kind)
        divisor = np.where(free > 0, free, np.where(size > 0, size, 1.0))
        # Of a value's rows to that of their mean.
        share = 1.0 / (divisor * np.where(size > 0, self.up.effective(kind), 1.0))
        up, down = np.nan_to_num(seen.up * share), np.nan_to_num(seen.down * share)
        return lower**2 * up[:-1] + upper**2 * down[1:]


@dataclass(frozen=True, eq=False)
class Scatter:
    """Second moments, by value, of the deviations of the rows' two steps from their means; each an array of L numbers.

    Parameters
    ----------
    down, up, both : ndarray of float
        Weighted sums of squares, and of products.
    off_down, off_up : ndarray of float
        The value's own mean steps minus those pooled; 0 for the step that does not exist, and where steps are the means
        of their ends' means.
    """

    down: Floats
    up: Floats
    both: Floats
    off_down: Floats
    off_up: Floats

    @classmethod
    def of(cls, steps: Steps, kind: WeightKind) -> Scatter:
        """Gather the scatter."""
        return cls._of_ends(steps, kind) if steps.halves else cls._of_pooled(steps)

    @classmethod
    def _of_pooled(cls, steps: Steps) -> Scatter:
        """Gather the scatter around the pooled steps."""
        down, up, both = steps.down, steps.up, steps.both
        off_down = down.mean - np.append(0.0, steps.pooled.mean)
        off_up = up.mean - np.append(steps.pooled.mean, 0.0)
        # The first level has no step before it, the last none after: their moments are of zeros.
        off_down[0] = off_up[-1] = 0.0
        square_down = down.m2 + down.weight * off_down**2
        square_up = up.m2 + up.weight * off_up**2
        product = (both.m2 - down.m2 - up.m2) / 2 + up.weight * off_down * off_up
        product[0] = product[-1] = 0.0
        square_down[0] = square_up[-1] = 0.0
        return cls(square_down, square_up, product, off_down, off_up)

    @classmethod
    def _of_ends(cls, steps: Steps, kind: WeightKind) -> Scatter:
        """Gather the scatter around the ends' own means; a value without a variance takes that of slopes nearby.

        A slope is then taken to be the same on both sides of the value, so that its two steps go together: where
        nothing is known of them they must not seem to cancel.
        """
        down, up, both = steps.down, steps.up, steps.both
        squares = [down.m2.copy(), up.m2.copy(), (both.m2 - down.m2 - up.m2) / 2]
        alone = np.isnan(up.variance(1, kind))
        if alone.any() and steps.values is not None and len(steps.values) > 1:
            widths = np.diff(_unit(steps.values))
            before, after = np.append(0.0, widths), np.append(widths, 0.0)
            known = slopes_nearby(steps, steps.values, kind) * up.weight
            for square, width2 in zip(squares, (before**2, after**2, before * after), strict=True):
                square[alone] = (known * width2)[alone]
        squares[0][0] = squares[1][-1] = 0.0  # there is no such step
        squares[2][[0, -1]] = 0.0
        nothing = np.zeros(len(alone))
        return cls(squares[0], squares[1], squares[2], nothing, nothing)


_BESIDE = 5
"""Values on either side of one that tell how slopes scatter around it."""


def slopes_nearby(steps: Steps, values: Floats, kind: WeightKind) -> Floats:
    """Return the variance of the rows' slopes around each value, (L,), with the whole axis for a unit.

    Parameters
    ----------
    steps : Steps
    values : ndarray of float, shape (L,)
    kind : {"frequency", "sampling"}

    Notes
    -----
    Of two rows a value or more on average the scatter within values, of up to five on either side. Of fewer, as of many
    whole numbers, also that between them, around a line. The same from left to right as from right to left.
    """
    down, up, both, x = steps.down, steps.up, steps.both, _unit(values)
    before, after = np.append(np.inf, np.diff(x)), np.append(np.diff(x), np.inf)
    sides = np.isfinite(before).astype(float) + np.isfinite(after)
    mean = (down.mean / before + up.mean / after) / sides
    product = (both.m2 - down.m2 - up.m2) / 2
    m2 = (down.m2 / before**2 + up.m2 / after**2 + 2 * product / (before * after)) / sides**2
    m2 = np.maximum(m2, 0.0)
    size = up.weight if kind == "frequency" else up.count
    if size.sum() >= 2 * len(x):
        own = ~np.isnan(up.variance(1, kind))
        free = _beside(np.where(own, up.degrees(1, kind), 0.0)).sum(axis=1)
        left = _beside(np.where(own, m2, 0.0)).sum(axis=1)
    else:
        w, y, t = _beside(up.weight), _beside(mean), _beside(x)
        total = w.sum(axis=1)
        share = w / np.where(total > 0, total, 1.0)[:, None]
        y, t = (v - (share * v).sum(axis=1)[:, None] for v in (y, t))
        bend = (share * t**2).sum(axis=1)
        slope = (share * t * y).sum(axis=1) / np.where(bend > 0, bend, 1.0)
        left = _beside(m2).sum(axis=1) + (w * (y - slope[:, None] * t) ** 2).sum(axis=1)
        one = 1.0
        if kind == "sampling":
            one = _beside(up.weight2).sum(axis=1) / np.where(total > 0, total, 1.0)
        free = np.where(_beside(size).sum(axis=1) > 2, total - 2 * one, 0.0)
    return ale_math.borrowed(np.where(free > 0, left / np.where(free > 0, free, 1.0), np.nan))


def _beside(numbers: Floats) -> Floats:
    """Return each value's own number and those of the values beside it, zeros beyond the ends: (L, 11)."""
    padded = np.pad(numbers, _BESIDE)
    return np.lib.stride_tricks.sliding_window_view(padded, 2 * _BESIDE + 1)


def _unit(values: Floats) -> Floats:
    """Return an axis of length one, with which nothing overflows."""
    return (values - values[0]) / (values[-1] - values[0])


def _mean_factor(steps: Moments, kind: WeightKind) -> tuple[Floats, Floats]:
    """Return √(n / (n - 1)) of each mean, 1 where that does not exist, and n, 1 without rows."""
    size = np.where(steps.weight > 0, steps.weight, 1.0)
    free = steps.degrees(1, kind)
    return np.where(free > 0, np.sqrt(size / np.where(free > 0, free, 1.0)), 1.0), size


def coefficients(forms: Floats, steps: Steps, spec: Spec) -> tuple[Floats, Floats]:
    """Return the coefficients of a row's step down and step up, by its value, in forms of the mean steps: (m, L) each.

    The factor √(n / (n - 1)) makes the error of a single mean that of a mean of n rows.
    """
    nothing = np.zeros((len(forms), 1))
    if steps.halves:
        factor, size = _mean_factor(steps.up, spec.weight_kind)
        each = factor / size
        lower, upper = steps.ends
        up = np.hstack([forms * lower * each[:-1], nothing])
        return np.hstack([nothing, forms * upper * each[1:]]), up
    factor, size = _mean_factor(steps.pooled, spec.weight_kind)
    part = forms * factor / size
    return np.hstack([nothing, part]), np.hstack([part, nothing])


def step_errors(forms: Floats, own: Floats, steps: Steps, spec: Spec) -> tuple[Floats, Floats]:
    """Return standard errors of linear forms of the mean steps, and their degrees of freedom.

    Parameters
    ----------
    forms : ndarray of float, shape (m, L - 1)
        Coefficients of the mean steps.
    own : ndarray of float, shape (m, L)
        What each row adds by its value alone: its part in the centre, which is a mean over rows.
    steps : Steps
    spec : Spec

    Notes
    -----
    A row at value l moves the form by ``a (d_down - mu_down) + b (d_up - mu_up) + g``; the squares of that are summed
    over the rows, from the second moments of each value. With sampling weights each value's sum is scaled by its
    effective size, which takes the weights to have nothing to do with the steps.
    """
    kind = spec.weight_kind
    (a, b), up, seen = coefficients(forms, steps, spec), steps.up, Scatter.of(steps, kind)
    # The scatter of a value whose coefficient is 0 may be NaN.
    sums = sum(
        np.where(factor != 0, factor * moment, 0.0)
        for factor, moment in ((a**2, seen.down), (b**2, seen.up), (2 * a * b, seen.both))
    )
    sums = sums + own**2 * up.weight
    sums += 2 * own * up.weight * (a * seen.off_down + b * seen.off_up)
    ratio = np.where(up.weight > 0, up.weight2 / np.where(up.weight > 0, up.weight, 1.0), 1.0)
    sums = np.maximum(sums, 0.0) * (1.0 if kind == "frequency" else ratio)
    variance = sums.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = sums / variance[:, None]
        freedom = 1.0 / (shares**2 / np.maximum(up.effective(kind) - 1.0, 1.0)).sum(axis=1)
    freedom = np.where(variance > 0, freedom, np.inf)
    if spec.accumulate_se == "sum":
        return np.abs(forms) @ np.sqrt(steps.error2(kind)), freedom
    return np.sqrt(variance), freedom
