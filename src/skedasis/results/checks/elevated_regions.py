"""Find regions where the mean ICE curve is elevated, and whether the curves of rows observed there are, too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from skedasis._arguments import check_probability
from skedasis._types import Floats
from skedasis.errors import UnsupportedError
from skedasis.results.axis import LevelAxis
from skedasis.results.described import Documented
from skedasis.results.effect import TRUSTED_ROWS, Curves, Effect, PartialDependence
from skedasis.stats.moments import Moments, WeightKind
from skedasis.stats.student import interval_of, t_interval

SupportVerdict = Literal["all", "elsewhere", "unclear"]


HEIGHT_FRACTION = 0.5
"""Curves of rows in the region count as elevated if their height exceeds this fraction of the other curves' height."""


LOW_QUANTILE = 0.1
"""The low level of a curve is this quantile of its points. The minimum would be biased downwards for noisy curves."""


_ROUNDING = 1e-13


@dataclass(frozen=True)
class ElevatedRegion(Documented):
    """An interval of the axis on which the mean ICE curve is elevated, that is, above the curves' own mean.

    The curve need not increase there: a curve that increases from end to end is elevated on its right half.
    """

    left: float
    right: float
    """The ends in units of the feature: half-way to the neighbouring points of the grid, or the ends of the grid."""
    near: float
    """Mean height, for rows whose value lies in the interval, of the curve at the row's own value above the curve's low
    level (its 10 % quantile). In units of the quantity; NaN without such rows."""
    near_error: float
    """Its standard error; NaN for a single row."""
    near_rows: int
    elsewhere: float
    """Mean height of the other rows' curves at the same values above their low levels."""
    elsewhere_error: float
    elsewhere_rows: int
    verdict: SupportVerdict
    """"all": the curves of rows in the interval are elevated, too. "elsewhere": only the curves of other rows are.
    "unclear": fewer than ten rows are in the interval, or the difference is not significant."""

    @property
    def text(self) -> str:
        """The verdict as text.

        Examples
        --------
        >>> ElevatedRegion(0.0, 1.0, 0.1, 0.02, 80, 0.9, 0.05, 120, "elsewhere").text
        'only curves of rows outside: extrapolation'
        """
        if self.verdict == "elsewhere":
            return "only curves of rows outside: extrapolation"
        if self.verdict == "unclear":
            rows = f"{self.near_rows:,} row{'s' if self.near_rows != 1 else ''} here"
            return f"unclear: {rows}" if self.near_rows < TRUSTED_ROWS else "unclear"
        # The verdict "all" includes regions in which other rows' curves are barely elevated.
        alone = self.elsewhere_rows > 0 and self.elsewhere < HEIGHT_FRACTION * self.near
        return "mainly curves of rows here" if alone else "curves of rows here, too"


def elevated_regions(effect: Effect, confidence_level: float = 0.95) -> tuple[ElevatedRegion, ...]:
    """Return the regions where the mean ICE curve is elevated, and which rows' curves are."""
    confidence_level = check_probability("elevated_regions(confidence_level)", confidence_level)
    grid, curves = np.asarray(effect.points), _curves(effect)
    y, kind = curves.value, effect.spec.weight_kind
    if len(y) == 0:
        return ()
    size = float(np.abs(y).max(initial=0.0))
    centred = y - y.mean(axis=1, keepdims=True)
    mean = Moments.of_curves(centred.T, curves.weight)
    found = _runs(mean, kind, confidence_level, _ROUNDING * size)
    low = np.quantile(y, LOW_QUANTILE, axis=1, method="lower")
    curves = replace(curves, value=y - low[:, None])
    return tuple(_region(grid, curves, run, kind, confidence_level) for run in found)


def _curves(effect: Effect) -> Curves:
    """Return the curves of rows with positive weight."""
    curves = effect.curves if isinstance(effect, PartialDependence) else None
    if isinstance(effect.axis, LevelAxis) or curves is None or effect.spec.derivative:
        got = f"{effect.spec.method} without ICE curves"
        if isinstance(effect.axis, LevelAxis):
            got = "a categorical feature"
        elif effect.spec.derivative:
            got = "curves of slopes"
        fix = "Use sd.ICE() or sd.PDP() for a numeric feature"
        raise UnsupportedError("elevated_regions", got, "ICE curves of a numeric feature", fix)
    if curves.weight is None:
        return curves
    there = curves.weight > 0
    value, x, row = curves.value[there], curves.x[there], curves.row[there]
    return Curves(value, x, row, curves.weight[there], curves.exact)


def _runs(
    mean: Moments, kind: WeightKind, confidence_level: float, noise: float
) -> list[tuple[int, int]]:
    """Return the first and the last grid point of each elevated region."""
    error, df = mean.mean_error(1, kind), mean.effective_size(kind) - 1
    shared = 1 - (1 - confidence_level) / len(error)
    lower, _ = t_interval(mean.mean, error, df, shared)
    # The bound of a single curve is NaN, which compares as False.
    significant = np.flatnonzero(lower > noise)
    stretch = np.cumsum(mean.mean <= noise)
    groups = [significant[stretch[significant] == k] for k in np.unique(stretch[significant])]
    return [(int(g[0]), int(g[-1])) for g in groups]


def _region(
    grid: Floats, curves: Curves, run: tuple[int, int], kind: WeightKind, confidence_level: float
) -> ElevatedRegion:
    """Return one region, with the heights of the curves of rows inside and outside."""
    first, last, m = *run, len(grid)
    left = float(grid[first] if first == 0 else (grid[first - 1] + grid[first]) / 2)
    right = float(grid[last] if last == m - 1 else (grid[last] + grid[last + 1]) / 2)
    x, y = curves.x, curves.value
    w = np.ones(len(y)) if curves.weight is None else curves.weight
    near = (x >= left) & (x <= right)
    # Beyond the end of the grid, the curves may be elevated as well: such rows are not outside the region.
    beyond = ((x < left) & (first == 0)) | ((x > right) & (last == m - 1))
    other = np.isfinite(x) & ~near & ~beyond
    rows = np.arange(int(near.sum()))
    k = np.clip(np.searchsorted(grid, x[near], "right") - 1, 0, m - 2)
    part = (x[near] - grid[k]) / (grid[k + 1] - grid[k])

    points = np.where((np.arange(m) >= first) & (np.arange(m) <= last), 1.0, 0.0)
    points /= points.sum()
    if near.any():  # the weights of the points that average a curve over the rows' values
        points = np.bincount(k, w[near] * (1 - part), m)
        points += np.bincount(k + 1, w[near] * part, m)
        points /= w[near].sum()
    low, high = y[near][rows, k], y[near][rows, k + 1]
    own = low + part * (high - low)
    inside = _Mean.of(own, w[near], kind)
    outside = _Mean.of(y[other] @ points, w[other], kind)
    other_curve = np.zeros(m)
    if other.any():
        other_curve = np.average(y[other], axis=0, weights=w[other])
    elsewhere = other_curve[k] + part * (other_curve[k + 1] - other_curve[k])
    # Compared row by row, so that the position of the rows within the region adds no error.
    difference = _Mean.of(own - HEIGHT_FRACTION * elsewhere, w[near], kind)
    return ElevatedRegion(
        left,
        right,
        inside.value,
        inside.error,
        int(near.sum()),
        outside.value,
        outside.error,
        int(other.sum()),
        _verdict(difference, inside, outside, confidence_level),
    )


class _Mean(NamedTuple):
    """A mean over rows, its standard error, and the effective number of rows."""

    value: float
    error: float
    size: float

    @classmethod
    def of(cls, values: Floats, weight: Floats, kind: WeightKind) -> _Mean:
        if len(values) == 0:
            return cls(np.nan, np.nan, 0.0)
        got = Moments.of(values, np.zeros(len(values), dtype=np.int64), 1, weight)
        size = float(got.effective_size(kind)[0])
        return cls(float(got.mean[0]), float(got.mean_error(1, kind)[0]), size)


def _verdict(
    difference: _Mean, inside: _Mean, outside: _Mean, confidence_level: float
) -> SupportVerdict:
    """Return the verdict from the height of curves inside minus half the height of curves outside."""
    if inside.size < TRUSTED_ROWS:
        return "unclear"
    # Without enough rows to compare with, the test is whether the height is positive.
    alone = outside.size < TRUSTED_ROWS
    found = inside if alone else difference
    error = found.error if alone else float(np.hypot(found.error, HEIGHT_FRACTION * outside.error))
    df = (inside.size if alone else min(inside.size, outside.size)) - 1
    lower, upper = interval_of(found.value, error, df, confidence_level)
    if lower > 0:
        return "all"
    return "elsewhere" if upper < 0 and not alone else "unclear"
