"""Steps between neighbouring values or levels: their means and standard errors.

Each row has two steps: from the previous value to its own, and from its own to the next. A step is estimated from the
rows at both of its ends, and each row contributes to two steps. All standard errors follow from the second moments of
the pairs of steps at each value.

For levels, a step pools the rows of both ends. For numbers, it is the mean of the means at its two ends, ½ mean over
the rows at v + ½ mean over the rows at v', so that no direction is preferred, whatever the row counts
(docs/explanation/heterogeneity.md, few values).
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
"""Keys of moments by value: of the step from the previous value, of the step to the next value, and of their sum, which
gives the covariance."""


def step_moments(
    down: Floats, up: Floats, place: Ints, size: int, weights: Floats | None
) -> dict[str, Moments]:
    """Return the moments of the rows' steps, by value or level; `place` has the codes of the rows' values.

    `down` and `up`, (n,): each row's step from the previous value to its own, and from its own to the next; 0 where
    there is none.
    """
    count = Moments.of(up, place, size, weights)
    return {
        UP: count,
        DOWN: Moments.of(down, place, size, weights, like=count),
        BOTH: Moments.of(down + up, place, size, weights, like=count),
    }


def mask_missing_steps(down: Floats, up: Floats, place: Ints, size: int) -> Floats:
    """Return the rows' steps down and up, (n, 2), with NaN before the first value and after the last."""
    first, last = place == 0, place == size - 1
    return np.stack([np.where(first, np.nan, down), np.where(last, np.nan, up)], axis=1)


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps between L neighbouring values or levels, with their moments."""

    down: Moments
    up: Moments
    both: Moments
    """By value, as from `step_moments`."""
    pooled: Moments
    """Of the rows of both ends of each step."""
    values: Floats | None = None
    """The values, for a numeric feature, shape (L,). A step is then the mean of the means at its ends instead of the
    mean over the rows of both ends."""

    @classmethod
    def of(cls, moments: Mapping[str, Moments], values: Floats | None = None) -> Steps:
        """Return the steps from moments by value; `BOTH` is needed for errors only."""
        down, up = moments[DOWN], moments[UP]
        pooled = up.take(slice(0, -1)).merge(down.take(slice(1, None)))
        return cls(down, up, moments.get(BOTH, up), pooled, values)

    @property
    def halves(self) -> bool:
        """Return whether a step is the mean of the means at its ends."""
        return self.values is not None

    @property
    def known(self) -> Bools:
        """Return which steps have rows at one of their ends."""
        return self.pooled.weight > 0

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """Return the weights of the lower and the upper mean in each step: ½ each, or 1 if the other has no rows."""
        lower, upper = self.up.weight[:-1] > 0, self.down.weight[1:] > 0
        factor = np.where(lower & upper, 0.5, 1.0)
        return np.where(lower, factor, 0.0), np.where(upper, factor, 0.0)

    @property
    def mean(self) -> Floats:
        """Return the mean steps, (L - 1,); 0 for a step without rows."""
        if not self.halves:
            return np.where(self.known, self.pooled.mean, 0.0)
        lower, upper = self.ends
        return lower * self.up.mean[:-1] + upper * self.down.mean[1:]

    def error2(self, kind: WeightKind) -> Floats:
        """Return the squared standard error of each single step; 0 where it has no variance."""
        if not self.halves:
            df = self.pooled.df(1, kind)
            size = np.where(self.pooled.weight > 0, self.pooled.weight, 1.0)
            return np.where(df > 0, self.pooled.m2 / np.where(df > 0, df, 1.0) / size, 0.0)
        scatter, (lower, upper) = StepScatter.of(self, kind), self.ends
        size, df = self.up.weight, self.up.df(1, kind)
        divisor = np.where(df > 0, df, np.where(size > 0, size, 1.0))
        # From the sum of squares at a value to the squared error of the mean there.
        factor = 1.0 / (divisor * np.where(size > 0, self.up.effective_size(kind), 1.0))
        up, down = np.nan_to_num(scatter.up * factor), np.nan_to_num(scatter.down * factor)
        return lower**2 * up[:-1] + upper**2 * down[1:]


@dataclass(frozen=True, eq=False)
class StepScatter:
    """Second moments, by value, of the deviations of the rows' two steps from the mean steps; arrays of L numbers."""

    down: Floats
    up: Floats
    both: Floats
    off_down: Floats
    off_up: Floats

    @classmethod
    def of(cls, steps: Steps, kind: WeightKind) -> StepScatter:
        """Return the second moments of the steps' deviations."""
        return cls._of_ends(steps, kind) if steps.halves else cls._of_pooled(steps)

    @classmethod
    def _of_pooled(cls, steps: Steps) -> StepScatter:
        """Return the second moments around the pooled steps."""
        down, up, both = steps.down, steps.up, steps.both
        off_down = down.mean - np.append(0.0, steps.pooled.mean)
        off_up = up.mean - np.append(steps.pooled.mean, 0.0)
        # The first level has no step before it, and the last none after it: their moments are of zeros.
        off_down[0] = off_up[-1] = 0.0
        square_down = down.m2 + down.weight * off_down**2
        square_up = up.m2 + up.weight * off_up**2
        product = (both.m2 - down.m2 - up.m2) / 2 + up.weight * off_down * off_up
        product[0] = product[-1] = 0.0
        square_down[0] = square_up[-1] = 0.0
        return cls(square_down, square_up, product, off_down, off_up)

    @classmethod
    def _of_ends(cls, steps: Steps, kind: WeightKind) -> StepScatter:
        """Return the second moments around the means at the ends.

        A value without a variance takes that of slopes nearby. The slope is then assumed to be the same on both sides
        of the value, so that its two steps are fully correlated: without data their errors must not cancel.
        """
        down, up, both = steps.down, steps.up, steps.both
        squares = [down.m2.copy(), up.m2.copy(), (both.m2 - down.m2 - up.m2) / 2]
        no_variance = np.isnan(up.variance(1, kind))
        if no_variance.any() and steps.values is not None and len(steps.values) > 1:
            widths = np.diff(_unit(steps.values))
            before, after = np.append(0.0, widths), np.append(widths, 0.0)
            nearby = slopes_nearby(steps, steps.values, kind) * up.weight
            for square, width2 in zip(squares, (before**2, after**2, before * after), strict=True):
                square[no_variance] = (nearby * width2)[no_variance]
        squares[0][0] = squares[1][-1] = 0.0  # there is no such step
        squares[2][[0, -1]] = 0.0
        zeros = np.zeros(len(no_variance))
        return cls(squares[0], squares[1], squares[2], zeros, zeros)


_NEIGHBOURS = 5
"""Number of values on either side from which the variance of slopes around a value is estimated."""


def slopes_nearby(steps: Steps, values: Floats, kind: WeightKind) -> Floats:
    """Return the variance of the rows' slopes around each value, (L,), on an axis scaled to length 1.

    With at least two rows per value on average, it is the variance within the value and up to five values on either
    side. With fewer rows, as for integers with many values, it includes the variance between values, around a line. The
    estimate is the same if the axis is reversed.
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
        has_variance = ~np.isnan(up.variance(1, kind))
        df = _windows(np.where(has_variance, up.df(1, kind), 0.0)).sum(axis=1)
        squares = _windows(np.where(has_variance, m2, 0.0)).sum(axis=1)
    else:
        w, y, t = _windows(up.weight), _windows(mean), _windows(x)
        total = w.sum(axis=1)
        fraction = w / np.where(total > 0, total, 1.0)[:, None]
        y, t = (v - (fraction * v).sum(axis=1)[:, None] for v in (y, t))
        variance_t = (fraction * t**2).sum(axis=1)
        slope = (fraction * t * y).sum(axis=1) / np.where(variance_t > 0, variance_t, 1.0)
        squares = _windows(m2).sum(axis=1) + (w * (y - slope[:, None] * t) ** 2).sum(axis=1)
        unit = 1.0
        if kind == "sampling":
            unit = _windows(up.weight2).sum(axis=1) / np.where(total > 0, total, 1.0)
        df = np.where(_windows(size).sum(axis=1) > 2, total - 2 * unit, 0.0)
    return ale_math.fill_from_neighbors(
        np.where(df > 0, squares / np.where(df > 0, df, 1.0), np.nan)
    )


def _windows(numbers: Floats) -> Floats:
    """Return for each value its number and those of its neighbours, (L, 11), with zeros outside the ends."""
    padded = np.pad(numbers, _NEIGHBOURS)
    return np.lib.stride_tricks.sliding_window_view(padded, 2 * _NEIGHBOURS + 1)


def _unit(values: Floats) -> Floats:
    """Return the values scaled to an axis of length 1, against overflow."""
    return (values - values[0]) / (values[-1] - values[0])


def _mean_factor(steps: Moments, kind: WeightKind) -> tuple[Floats, Floats]:
    """Return √(n / (n - 1)) of each mean, 1 where it is undefined; and n, 1 without rows."""
    size = np.where(steps.weight > 0, steps.weight, 1.0)
    df = steps.df(1, kind)
    return np.where(df > 0, np.sqrt(size / np.where(df > 0, df, 1.0)), 1.0), size


def coefficients(forms: Floats, steps: Steps, spec: Spec) -> tuple[Floats, Floats]:
    """Return the coefficients, by value, of a row's step down and step up in forms of the mean steps: (m, L) each.

    The factor √(n / (n - 1)) turns the sum of squares into the squared standard error of a mean of n rows.
    """
    zeros = np.zeros((len(forms), 1))
    if steps.halves:
        factor, size = _mean_factor(steps.up, spec.weight_kind)
        per_row = factor / size
        lower, upper = steps.ends
        up = np.hstack([forms * lower * per_row[:-1], zeros])
        return np.hstack([zeros, forms * upper * per_row[1:]]), up
    factor, size = _mean_factor(steps.pooled, spec.weight_kind)
    scaled = forms * factor / size
    return np.hstack([zeros, scaled]), np.hstack([scaled, zeros])


def step_errors(
    forms: Floats,
    own: Floats,
    steps: Steps,
    spec: Spec,
    at_values: tuple[Floats, Floats] | None = None,
) -> tuple[Floats, Floats]:
    """Return standard errors of linear forms of the mean steps, and their degrees of freedom.

    `forms`, (m, L - 1), are coefficients of the mean steps. `own`, (m, L), is what a row contributes by its value
    alone: to the centre, a mean over rows. `at_values`, two of shape (m, L), are further coefficients, of the mean step
    down and of the mean step up of the rows at each value (of numbers only, whose steps are means of the means at their
    ends).

    A row at value l contributes ``a (d_down - mu_down) + b (d_up - mu_up) + g`` to the form. The variance is the sum of
    its squares over the rows, from the second moments at each value. With sampling weights the sum at each value is
    scaled by its effective size, which assumes that weights and steps are independent.
    """
    kind = spec.weight_kind
    (a, b), up, scatter = coefficients(forms, steps, spec), steps.up, StepScatter.of(steps, kind)
    if at_values is not None:
        factor, size = _mean_factor(up, kind)
        a, b = a + at_values[0] * factor / size, b + at_values[1] * factor / size
    # The second moments of a value whose coefficient is 0 may be NaN.
    sums = sum(
        np.where(factor != 0, factor * moment, 0.0)
        for factor, moment in ((a**2, scatter.down), (b**2, scatter.up), (2 * a * b, scatter.both))
    )
    sums = sums + own**2 * up.weight
    sums += 2 * own * up.weight * (a * scatter.off_down + b * scatter.off_up)
    ratio = np.where(up.weight > 0, up.weight2 / np.where(up.weight > 0, up.weight, 1.0), 1.0)
    sums = np.maximum(sums, 0.0) * (1.0 if kind == "frequency" else ratio)
    variance = sums.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        fractions = sums / variance[:, None]
        df = 1.0 / (fractions**2 / np.maximum(up.effective_size(kind) - 1.0, 1.0)).sum(axis=1)
    df = np.where(variance > 0, df, np.inf)
    if spec.accumulate_se == "sum" and at_values is None:
        return np.abs(forms) @ np.sqrt(steps.error2(kind)), df
    return np.sqrt(variance), df
