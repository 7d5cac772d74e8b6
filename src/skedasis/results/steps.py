"""Steps between neighbouring values of a feature, or levels: their means and standard errors.

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

from skedasis import curves
from skedasis.moments import Moments, WeightKind
from skedasis.results.spec import Spec
from skedasis.typing import Bools, Floats, Ints

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
    halves : bool
        Whether a step is the mean of its ends' means instead of that of all rows of both.
    """

    down: Moments
    up: Moments
    both: Moments
    pooled: Moments
    halves: bool = False

    @classmethod
    def of(cls, moments: Mapping[str, Moments], *, halves: bool = False) -> Steps:
        """Return the steps from moments by value; `BOTH` is needed for errors only."""
        down, up = moments[DOWN], moments[UP]
        pooled = up.take(slice(0, -1)).merge(down.take(slice(1, None)))
        return cls(down, up, moments.get(BOTH, up), pooled, halves)

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
        lower, upper = self.ends
        # The last value has no step up, the first none down.
        up, down = (
            np.nan_to_num(curves.borrowed(m.variance(1, kind)))
            / np.where(m.weight > 0, m.effective(kind), 1.0)
            for m in (self.up.take(slice(0, -1)), self.down.take(slice(1, None)))
        )
        return lower**2 * up + upper**2 * down


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
        """Gather the scatter around the ends' own means; a value without a variance gets that of its neighbours."""
        down, up, both = steps.down, steps.up, steps.both
        alone = np.isnan(up.variance(1, kind))
        product = np.where(alone, 0.0, (both.m2 - down.m2 - up.m2) / 2)
        product[0] = product[-1] = 0.0
        squares: list[Floats] = []
        for part, end in ((down, 0), (up, -1)):
            variance = np.where(
                alone, np.nan, part.m2 / np.where(part.weight > 0, part.weight, 1.0)
            )
            variance[end] = np.nan  # there is no such step
            square = curves.borrowed(variance) * part.weight
            square[end] = 0.0
            squares.append(square)
        nothing = np.zeros(len(product))
        return cls(squares[0], squares[1], product, nothing, nothing)


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
