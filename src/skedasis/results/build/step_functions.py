"""Accumulated effects of step functions: steps between observed values, and bins that summarise a curve.

See docs/explanation/heterogeneity.md, step functions.

If a model has no slopes, or must not be evaluated between two values, the curve is accumulated from differences: across
the cells of an ALE, or between neighbouring values. Bins do not change this curve; they summarise it. They are the
fewest unions of cells whose polyline approximates the curve within a tolerance. The local effect of a row is its
difference across its whole bin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.results.axis import NumericAxis
from skedasis.results.build.linear_form import (
    AXIS,
    LOCAL,
    RISE,
    bin_stats,
    linear_form,
)
from skedasis.results.build.steps import Steps, step_errors
from skedasis.results.effect import (
    About,
    AccumulatedEffect,
    BinStats,
    Rows,
    Spec,
    ValueStepsEffect,
)
from skedasis.stats import ale_math
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments
from skedasis.stats.segmentation import fewest_bins

if TYPE_CHECKING:
    from skedasis.stats.heterogeneity_score import HeterogeneityScore


_RELATIVE_TOLERANCE, _MIN_TOLERANCE = 0.1, 0.02
"""Tolerance of the polyline as fractions of √(importance² + score²), and of the quantity's standard deviation."""


_FLAT = 1e-6
"""A curve whose range is below this fraction of the quantity's range is considered constant."""


# --- steps between observed values ----------------------------------------------------------------


def step_forms(values: Floats, edges: Floats, known: Bools) -> Floats:
    """Return the matrix (m, L - 1) from the steps between values to the curve at edges, which starts at zero.

    Between two values the curve is linear. Steps without rows (`known`, (L - 1,)) get the mean slope of the nearest
    steps with rows on both sides.
    """
    widths = np.diff(values)
    forms = np.clip((edges[:, None] - values[:-1]) / widths, 0.0, 1.0)
    with_rows = np.flatnonzero(known)
    for gap in np.flatnonzero(~known):
        right = np.searchsorted(with_rows, gap)
        if 0 < right < len(with_rows):
            for neighbour in (with_rows[right - 1], with_rows[right]):
                forms[:, neighbour] += forms[:, gap] * (widths[gap] / widths[neighbour] / 2)
        forms[:, gap] = 0.0
    return forms


def accumulated_effect_of_steps(
    values: Floats,
    cells: Cells,
    moments: Mapping[str, Moments],
    kept: Ints,
    spec: Spec,
    about: About,
    rows: Rows | None,
    trend: Bools | None,
) -> ValueStepsEffect:
    """Build an accumulated effect from the moments of steps between a feature's values.

    The parameters are those of `results.build.accumulated.accumulated_effect`, which calls this function. If the
    feature has few values, these are the edges of `cells`.

    Notes
    -----
    The curve at an edge is the sum of the steps before it, so that it does not depend on the bins. The centre is the
    mean over the rows. The mean effect of a bin is that of its rows' local effects for integer steps, which belong to
    points, and the mean slope of the curve for steps between few values.
    """
    edges = cells.edges[kept]
    steps = Steps.of(moments, values)
    forms = step_forms(values, edges, steps.known)
    start = forms @ steps.mean
    if spec.pointwise:
        stats = bin_stats(edges, linear_form(cells, moments, kept, spec, trend), spec)
    else:
        bins = moments[LOCAL].pool(kept[:-1])
        std = np.sqrt(bins.variance(spec.ddof, spec.weight_kind))
        slope, error = bin_slopes(values, edges, steps, spec)
        stats = BinStats.of(edges, bins, effect=slope, std=std, std_error=error)
    matrix, own, offset = forms, np.zeros((len(edges), len(values))), 0.0
    if spec.center == "mean":
        centre = centre_form(edges, moments[AXIS].pool(kept[:-1]))
        matrix = forms - centre @ forms
        quadratic = stats.quadratic_term(values)
        offset = float(_fractions(values, edges, steps) @ quadratic)
        at_values = np.interp(values, edges, start) + quadratic - centre @ start - offset
        own = np.broadcast_to(-at_values / steps.up.total_size(), own.shape)
    error, df = step_errors(matrix, own, steps, spec)
    supported = _supported(values, edges, steps.known)
    accumulated = ale_math.accumulated_std(stats.widths, stats.std, spec.accumulate)
    return ValueStepsEffect(
        NumericAxis.of(about.feature, edges),
        value=np.where(supported, matrix @ steps.mean - offset, np.nan),
        accumulated_std=np.where(supported, accumulated, np.nan),
        std_error=np.where(supported, error, np.nan),
        df=df,
        importance=_importance(
            np.interp(values, edges, start) + stats.quadratic_term(values),
            _fractions(values, edges, steps),
        ),
        about=about,
        spec=spec,
        bins=stats,
        rows=rows,
        cells=cells,
        moments=moments,
        values=values,
    )


def _fractions(values: Floats, edges: Floats, steps: Steps) -> Floats:
    """Return the fractions of the weight at each value, (L,), of the rows within the edges; they sum to 1."""
    inside = (values >= edges[0]) & (values <= edges[-1])
    weight = np.where(inside, steps.up.weight, 0.0)
    return weight / max(float(weight.sum()), np.finfo(float).tiny)


def _importance(curve: Floats, fraction: Floats) -> float:
    """Return the standard deviation over the rows of a curve at all observed values."""
    centred = np.where(fraction > 0, curve - fraction @ curve, 0.0)
    scale = float(np.abs(centred).max(initial=0.0)) or 1.0  # against overflow of the squares
    return scale * float(np.sqrt(fraction @ (centred / scale) ** 2))


def centre_form(edges: Floats, axis: Moments) -> Floats:
    """Return the weights of the curve's values at the edges, (K + 1,), in its mean over the rows."""
    fraction = axis.share
    position = np.where(axis.weight > 0, (axis.mean - edges[:-1]) / np.diff(edges), 0.5)
    return np.append(fraction * (1 - position), 0.0) + np.append(0.0, fraction * position)


def bin_slopes(values: Floats, edges: Floats, steps: Steps, spec: Spec) -> tuple[Floats, Floats]:
    """Return the mean slopes of the bins, (K,), the sum of the steps over the width, and their standard errors."""
    forms = np.diff(step_forms(values, edges, steps.known), axis=0) / np.diff(edges)[:, None]
    has_steps = (forms != 0).any(axis=1)
    error, _ = step_errors(forms, np.zeros((len(forms), len(values))), steps, spec)
    return np.where(has_steps, forms @ steps.mean, np.nan), np.where(has_steps, error, np.nan)


def _supported(values: Floats, edges: Floats, known: Bools) -> Bools:
    """Return which edges lie between the first and the last step with rows; outside the curve is NaN."""
    with_rows = np.flatnonzero(known)
    if len(with_rows) == 0:
        return np.zeros(len(edges), dtype=bool)
    return (edges >= values[with_rows[0]]) & (edges <= values[with_rows[-1] + 1])


# --- bins that summarise a curve of differences ---------------------------------------------------
def select_summary_bins(effect: AccumulatedEffect, score: HeterogeneityScore | None) -> Ints:
    """Return the fewest bins that approximate a curve of differences, as indices of its edges.

    Notes
    -----
    The tolerance of the polyline is the largest of: a tenth of √(importance² + score²), the standard error of the curve
    (root mean square over the rows), and 0.02 standard deviations of the quantity. A curve whose range is below 1e-6 of
    the range of the quantity is constant, and gets one bin.
    """
    edges, weight = effect.points, _cell_weight(effect)
    known = np.isfinite(effect.value)
    curve = np.interp(edges, edges[known], effect.value[known]) if known.any() else edges * 0
    score_value = 0.0 if score is None else score.value
    tolerance2 = _RELATIVE_TOLERANCE**2 * (effect.importance**2 + score_value**2)
    error2 = np.where(np.isfinite(effect.std_error), effect.std_error, 0.0) ** 2
    total = max(float(weight.sum()), np.finfo(float).tiny)
    tolerance2 = max(tolerance2, float(weight @ (error2[:-1] + error2[1:])) / (2 * total))
    if score is not None:
        tolerance2 = max(tolerance2, (_MIN_TOLERANCE * score.quantity_std) ** 2)
        if float(np.ptp(curve)) <= _FLAT * score.quantity_range:
            return np.array([0, len(edges) - 1])
    return fewest_bins(edges, curve, weight, tolerance2)


def _cell_weight(effect: AccumulatedEffect) -> Floats:
    """Return the weight of the rows in each cell; rows at a value between two cells count half in each."""
    if not isinstance(effect, ValueStepsEffect):
        return effect.moments[LOCAL].weight
    weight = Steps.of(effect.moments, effect.values).up.weight
    half = weight / 2
    half[[0, -1]] = weight[[0, -1]]
    return half[:-1] + half[1:] if len(weight) > 2 else np.array([weight.sum()])


def summarise_in_bins(
    effect: AccumulatedEffect, kept: Ints, differences: Moments | None
) -> AccumulatedEffect:
    """Return an effect with the same curve on all cells, summarised by bins between the `kept` edges of cells.

    `differences` are the moments of the rows' differences across their bin, divided by its width; without them the
    standard deviations are NaN.
    """
    spec, cells = effect.spec, effect.cells
    if len(cells) == 0:
        return effect
    edges = cells.edges[kept]
    if isinstance(effect, ValueStepsEffect):
        steps = Steps.of(effect.moments, effect.values)
        slope, error = bin_slopes(effect.values, edges, steps, spec)
    else:
        form = linear_form(cells, effect.moments, kept, spec)
        slope, error2 = form.pieces.effects()
        slope = np.where(np.isnan(slope), np.nan, np.diff(form.start) / np.diff(edges))
        error = np.sqrt(error2)
    bins = effect.moments[LOCAL].pool(kept[:-1])
    variance = np.full(len(bins.weight), np.nan)
    if differences is not None:
        variance = differences.variance(spec.ddof, spec.weight_kind)
    stats = BinStats.of(edges, bins, effect=slope, std=np.sqrt(variance), std_error=error)
    accumulated = _accumulated_std_at(effect.points, stats, spec)
    moments = {**effect.moments} if differences is None else {**effect.moments, RISE: differences}
    return replace(
        effect,
        bins=stats,
        accumulated_std=np.where(np.isnan(effect.value), np.nan, accumulated),
        moments=moments,
    )


def _accumulated_std_at(points: Floats, stats: BinStats, spec: Spec) -> Floats:
    """Return the accumulated standard deviation at edges of cells.

    Within a bin the variance increases linearly (RHALE Eq. 16 adds variances), or the standard deviation (UALE Eq. 9).
    """
    at_edges = ale_math.accumulated_std(stats.widths, stats.std, spec.accumulate)
    if spec.accumulate == "std":
        return np.interp(points, stats.edges, at_edges)
    largest = float(np.nanmax(at_edges, initial=0.0))
    if largest == 0 or np.isnan(at_edges).any():
        return np.interp(points, stats.edges, at_edges)
    # Scaled by the largest value, so that the squares neither overflow nor underflow.
    return largest * np.sqrt(np.interp(points, stats.edges, (at_edges / largest) ** 2))
