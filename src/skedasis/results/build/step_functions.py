"""Accumulated effects of step functions: on a feature's own values, and summarised by bins (DESIGN 4.5).

If a model has no slopes, or is not to be evaluated between two values, the curve is made of differences: across the
cells of an ALE, or between neighbouring values. Bins do not change this curve; they summarise it. They are the fewest
unions of cells whose polyline through the curve is near enough to it, and a row's local effect is its rise across its
whole bin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.results.build.linear_form import AXIS, LOCAL, RISE, bulge, linear, lines
from skedasis.results.build.steps import Steps, step_errors
from skedasis.results.effect import About, BinStats, Effect, Rows, Spec
from skedasis.stats import ale_math
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments
from skedasis.stats.segmentation import fewest_bins

if TYPE_CHECKING:
    from skedasis.stats.heterogeneity_score import HeterogeneityScore


_NEAR, _SMALL = 0.1, 0.02
"""Largest distance of a polyline from the curve: as a fraction of √(importance² + score²), and of the quantity's sd."""


_FLAT = 1e-6
"""A curve whose range is below this fraction of the quantity's range is flat."""


def rise_forms(values: Floats, edges: Floats, known: Bools) -> Floats:
    """Return the matrix from the steps between values to the curve at edges, which starts at zero: (m, L - 1).

    Parameters
    ----------
    values : ndarray of float, shape (L,)
    edges : ndarray of float, shape (m,)
        Between two values the curve is linear.
    known : ndarray of bool, shape (L - 1,)
        Which steps have rows. Steps without rows get the mean slope of the nearest steps with rows on both sides.
    """
    widths = np.diff(values)
    forms = np.clip((edges[:, None] - values[:-1]) / widths, 0.0, 1.0)
    there = np.flatnonzero(known)
    for gap in np.flatnonzero(~known):
        right = np.searchsorted(there, gap)
        if 0 < right < len(there):
            for near in (there[right - 1], there[right]):
                forms[:, near] += forms[:, gap] * (widths[gap] / widths[near] / 2)
        forms[:, gap] = 0.0
    return forms


def accumulate_values(
    values: Floats,
    cells: Cells,
    moments: Mapping[str, Moments],
    kept: Ints,
    spec: Spec,
    about: About,
    rows: Rows | None,
    trend: Bools | None,
) -> Effect:
    """Read an accumulated effect off the moments of steps between a feature's values.

    The parameters are those of `skedasis.results.build.accumulated.accumulate`, which calls this function. For
    features with few values, these are the edges of `cells`.

    Notes
    -----
    The curve at an edge is the sum of the steps before it, so that over any bins it rises by exactly what the steps
    do. Its centre is the mean over the rows.
    """
    edges = cells.edges[kept]
    steps = Steps.of(moments, values)
    forms = rise_forms(values, edges, steps.known)
    start = forms @ steps.mean
    bins, axis = moments[LOCAL].pool(kept[:-1]), moments[AXIS].pool(kept[:-1])
    slope, slope_error = bin_slopes(values, edges, steps, spec)
    variance, tilt = bins.variance(spec.ddof, spec.weight_kind), None
    if trend is not None and trend.any():
        found = lines(cells, moments[LOCAL], moments[AXIS], kept, trend, spec)
        variance, tilt = found.variance, found.trend
    stats = BinStats.of(
        edges, bins, effect=slope, std=np.sqrt(variance), std_error=slope_error, trend=tilt
    )
    matrix, own, level = forms, np.zeros((len(edges), len(values))), 0.0
    if spec.center == "mean":
        centre = centre_form(edges, axis)
        matrix = forms - centre @ forms
        bent = bulge(stats, values)
        level = float(_share(values, edges, steps) @ bent)
        at = np.interp(values, edges, start) + bent - centre @ start - level
        own = np.broadcast_to(
            -at / max(float(steps.up.weight.sum()), np.finfo(float).tiny), own.shape
        )
    error, freedom = step_errors(matrix, own, steps, spec)
    seen = _reached(values, edges, steps.known)
    spread = ale_math.heterogeneity(stats.widths, stats.std, spec.accumulate)
    return Effect(
        points=edges,
        value=np.where(seen, matrix @ steps.mean - level, np.nan),
        heterogeneity=np.where(seen, spread, np.nan),
        std_error=np.where(seen, error, np.nan),
        freedom=freedom,
        importance=_importance(
            np.interp(values, edges, start) + bulge(stats, values), _share(values, edges, steps)
        ),
        about=about,
        spec=spec,
        bins=stats,
        rows=rows,
        cells=cells,
        moments=moments,
        values=values,
    )


def _share(values: Floats, edges: Floats, steps: Steps) -> Floats:
    """Return the weights of the values, (L,), in means over the rows within the edges; they sum to 1."""
    inside = (values >= edges[0]) & (values <= edges[-1])
    weight = np.where(inside, steps.up.weight, 0.0)
    return weight / max(float(weight.sum()), np.finfo(float).tiny)


def _importance(curve: Floats, share: Floats) -> float:
    """Return the standard deviation over the rows of a curve that is given at all observed values."""
    moved = np.where(share > 0, curve - share @ curve, 0.0)
    scale = float(np.abs(moved).max(initial=0.0)) or 1.0
    return scale * float(np.sqrt(share @ (moved / scale) ** 2))


def centre_form(edges: Floats, axis: Moments) -> Floats:
    """Return the weights of the curve's values at the edges, (K + 1,), in its mean over the rows."""
    share = axis.weight / max(float(axis.weight.sum()), np.finfo(float).tiny)
    part = np.where(axis.weight > 0, (axis.mean - edges[:-1]) / np.diff(edges), 0.5)
    return np.append(share * (1 - part), 0.0) + np.append(0.0, share * part)


def bin_slopes(values: Floats, edges: Floats, steps: Steps, spec: Spec) -> tuple[Floats, Floats]:
    """Return the bins' mean slopes, (K,): the steps within a bin over its width; and their standard errors."""
    forms = np.diff(rise_forms(values, edges, steps.known), axis=0) / np.diff(edges)[:, None]
    some = (forms != 0).any(axis=1)
    error, _ = step_errors(forms, np.zeros((len(forms), len(values))), steps, spec)
    return np.where(some, forms @ steps.mean, np.nan), np.where(some, error, np.nan)


def _reached(values: Floats, edges: Floats, known: Bools) -> Bools:
    """Return which edges lie between the first and the last step with rows."""
    there = np.flatnonzero(known)
    if len(there) == 0:
        return np.zeros(len(edges), dtype=bool)
    return (edges >= values[there[0]]) & (edges <= values[there[-1] + 1])


# ---------------------------------------------------------------------- bins of step functions
def chosen_for_reading(effect: Effect, score: HeterogeneityScore | None) -> Ints:
    """Return the fewest bins that describe a curve of differences, as indices of its edges.

    Parameters
    ----------
    effect : Effect
        On all cells.
    score : HeterogeneityScore, optional
        Of the feature. Without it, the tolerance depends on the importance and the standard error.

    Notes
    -----
    A polyline is near enough within a tenth of √(importance² + score²), within the curve's own standard error (root
    mean square over the rows), and within 0.02 standard deviations of the quantity. A curve that moves by less than
    1e-6 of the quantity's range is flat.
    """
    edges, weight = np.asarray(effect.points, dtype=float), _cell_weight(effect)
    known = np.isfinite(effect.value)
    curve = np.interp(edges, edges[known], effect.value[known]) if known.any() else edges * 0
    spread = 0.0 if score is None else score.value
    tolerance2 = _NEAR**2 * (effect.importance**2 + spread**2)
    error2 = np.where(np.isfinite(effect.std_error), effect.std_error, 0.0) ** 2
    total = max(float(weight.sum()), np.finfo(float).tiny)
    tolerance2 = max(tolerance2, float(weight @ (error2[:-1] + error2[1:])) / (2 * total))
    if score is not None:
        tolerance2 = max(tolerance2, (_SMALL * score.quantity_std) ** 2)
        if float(np.ptp(curve)) <= _FLAT * score.quantity_range:
            return np.array([0, len(edges) - 1])
    return fewest_bins(edges, curve, weight, tolerance2)


def _cell_weight(effect: Effect) -> Floats:
    """Return the rows' weight in each cell; rows at a value between two cells count half in each."""
    if effect.values is None:
        return effect.moments[LOCAL].weight
    own = Steps.of(effect.moments, effect.values).up.weight
    half = own / 2
    half[[0, -1]] = own[[0, -1]]
    return half[:-1] + half[1:] if len(own) > 2 else np.array([own.sum()])


def read_in_bins(effect: Effect, kept: Ints, rises: Moments | None) -> Effect:
    """Return an effect on all cells with other bins.

    Parameters
    ----------
    effect : Effect
        On all cells. Its curve is kept.
    kept : ndarray of int, shape (K + 1,)
        The cells' edges at which bins begin and end.
    rises : Moments, K bins, optional
        Of the rows' rises across their bin over its width. Without them the standard deviations are NaN.
    """
    spec, cells = effect.spec, effect.cells
    if cells is None or len(cells) == 0:
        return effect
    edges = cells.edges[kept]
    if effect.values is not None:
        steps = Steps.of(effect.moments, effect.values)
        slope, error = bin_slopes(effect.values, edges, steps, spec)
    else:
        form = linear(cells, effect.moments, kept, spec)
        slope, error2 = form.pieces.effects()
        slope = np.where(np.isnan(slope), np.nan, np.diff(form.start) / np.diff(edges))
        error = np.sqrt(error2)
    bins = effect.moments[LOCAL].pool(kept[:-1])
    variance = np.full(len(bins.weight), np.nan)
    if rises is not None:
        variance = rises.variance(spec.ddof, spec.weight_kind)
    stats = BinStats.of(edges, bins, effect=slope, std=np.sqrt(variance), std_error=error)
    at = np.asarray(effect.points, dtype=float)
    spread = _accumulated(stats, at, spec)
    moments = {**effect.moments} if rises is None else {**effect.moments, RISE: rises}
    return replace(
        effect,
        bins=stats,
        heterogeneity=np.where(np.isnan(effect.value), np.nan, spread),
        moments=moments,
    )


def _accumulated(stats: BinStats, at: Floats, spec: Spec) -> Floats:
    """Return the accumulated heterogeneity at edges of cells.

    Within a bin the variance grows linearly (Eq. 16 adds variances of rises), or the standard deviation (UALE Eq. 9).
    """
    ends = ale_math.heterogeneity(stats.widths, stats.std, spec.accumulate)
    if spec.accumulate == "std":
        return np.interp(at, stats.edges, ends)
    largest = float(np.nanmax(ends, initial=0.0))
    if largest == 0 or np.isnan(ends).any():
        return np.interp(at, stats.edges, ends)
    return largest * np.sqrt(np.interp(at, stats.edges, (ends / largest) ** 2))
