"""Accumulated curves as linear forms of mean slopes, and linear trends within bins.

An accumulated effect is ``matrix @ slopes``: the slopes are those of bins (local effects at points, RHALE Eq. 10, 11)
or of cells (differences across cells). Values, standard errors, intervals and the bootstrap all use this form.
`build.accumulated` and `build.step_functions` construct effects from it. Where slopes change linearly within a bin
(`LineFits`), the effect is a parabola there; `BinStats.quadratic_term` is its deviation from the straight line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.results.effect import TRUSTED_ROWS, BinStats, Spec
from skedasis.stats import ale_math
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments, RowMeans, WeightKind

# --- linear forms ---------------------------------------------------------------------------------


LOCAL, AXIS, RISE, GAP = "local", "axis", "rise", "gap"
"""Keys of moments: of the local effects by cell; of the feature by cell; of the rows' differences across their bin,
divided by its width, by bin; of the differences across a gap, divided by its width, of the rows nearest to it: two for
each gap of the cells, of the rows on its left and on its right."""

SQUARED = "local, squared weights"
"""Key of the moments of an M-plot's values with the squares of sampling weights, by cell; see `RowMeans`."""


def moments_by_cell(
    values: Floats, x: Floats, cell: Ints, cells: int, weights: Floats | None, *, squared: bool
) -> dict[str, Moments]:
    """Return the moments of local effects and of the feature, and `squared` ones of an M-plot, by cell."""
    local = Moments.of(values, cell, cells, weights)
    found = {LOCAL: local, AXIS: Moments.of(x, cell, cells, weights, like=local)}
    if squared and weights is not None:
        found[SQUARED] = Moments.of(values, cell, cells, weights**2)
    return found


def variance_of_means(moments: Mapping[str, Moments], spec: Spec) -> Floats:
    """Return the squared errors of an M-plot's means times their effective numbers of rows; NaN where unknown.

    Without squared weights this is the variance: of frequencies, and of results that an earlier version saved.
    """
    local, squared = moments[LOCAL], moments.get(SQUARED)
    variance = local.variance(spec.ddof, spec.weight_kind)
    if squared is None:
        return variance
    means = RowMeans(local, squared)
    unbiased = 1.0 if spec.ddof else means.df / np.maximum(means.size, 1.0)
    return np.where(np.isnan(variance), np.nan, means.error**2 * means.size * unbiased)


@dataclass(frozen=True, eq=False)
class Slopes:
    """The slopes of a linear form with their variances: of bins (local effects at points), or of cells (differences).

    A bin whose slopes change linearly has two pieces: its mean slope, and the change of the slope. Their errors are
    independent.
    """

    slope: Floats
    variance: Floats
    size: Floats
    degrees: Floats
    """The squared standard error of `slope` is `variance` / `size`, shape (P,); `degrees` are the degrees of freedom of
    the variance."""
    starts: Ints
    """Index of the first piece of each bin, shape (K,)."""
    part: Floats
    """Weights of the pieces in the mean effect of their bin, shape (P,)."""
    trend: Floats | None = None
    """Change of the slope in each bin, if there are linear trends, shape (K,)."""

    def __len__(self) -> int:
        return len(self.slope)

    @property
    def known(self) -> Bools:
        """Return which pieces have a slope."""
        return ~np.isnan(self.slope)

    @property
    def bin(self) -> Ints:
        """Return the bin of each piece."""
        counts = np.diff(np.append(self.starts, len(self)))
        return np.repeat(np.arange(len(self.starts)), counts)

    @property
    def error2(self) -> Floats:
        """Return the squared standard errors of the slopes.

        Pieces with too few rows for a variance take that of the nearest ones with ten rows or more, because a standard
        error of zero would suggest certainty.
        """
        has_rows = self.size > 0
        variance = ale_math.fill_from_trusted(self.variance, self.size >= TRUSTED_ROWS)
        return np.where(has_rows, variance / np.where(has_rows, self.size, 1.0), 0.0)

    def effects(self) -> tuple[Floats, Floats]:
        """Return the mean effects of the bins, NaN where no piece is known, and their squared standard errors."""
        any_known = np.logical_or.reduceat(self.known, self.starts)
        effect = np.add.reduceat(self.part * np.where(self.known, self.slope, 0.0), self.starts)
        error2 = np.add.reduceat(self.part**2 * self.error2, self.starts)
        return np.where(any_known, effect, np.nan), error2


@dataclass(frozen=True, eq=False)
class LinearForm:
    """An accumulated curve as a linear form of slopes."""

    pieces: Slopes
    """The slopes."""
    bins: Moments
    """Of the local effects."""
    start: Floats
    """The curve at the edges, before centring: it starts at zero, shape (K + 1,)."""
    matrix: Floats
    """The centred curve is ``matrix @ slopes``, shape (K + 1, P)."""
    between: float
    """The variance of the centre due to the random distribution of the rows over the bins; the same at all edges."""
    size: float
    """Effective number of rows of `between`."""


def linear_form(
    cells: Cells,
    moments: Mapping[str, Moments],
    kept: Ints,
    spec: Spec,
    trend: Bools | None = None,
) -> LinearForm:
    """Return an accumulated effect as a linear form."""
    bins = moments[LOCAL].pool(kept[:-1])
    fit = None
    if trend is not None and trend.any():
        fit = fit_lines(cells, moments[LOCAL], moments[AXIS], kept, trend, spec)
    if spec.pointwise:
        pieces, matrix, middles = _slopes_of_bins(cells, bins, kept, spec, fit)
        groups = bins
    else:
        pieces = _slopes_of_cells(cells, moments, kept, spec, None if fit is None else fit.trend)
        every = np.arange(len(cells.edges))
        fine = ale_math.accumulation_matrix(cells.widths, pieces.known, every)
        # The centre averages the curve's mid-values: in the bins, or in the cells where the curve is not linear.
        corners, groups = (kept, bins) if fit is None else (every, moments[LOCAL])
        matrix, middles = fine[kept], (fine[corners[:-1]] + fine[corners[1:]]) / 2
    slope = np.where(pieces.known, pieces.slope, 0.0)
    start = matrix @ slope
    if spec.center != "mean":
        return LinearForm(pieces, bins, start, matrix, 0.0, np.inf)
    fraction, middle = groups.share, middles @ slope
    n = groups.total_size(spec.weight_kind)
    between = float(fraction @ (middle - fraction @ middle) ** 2 / n)
    return LinearForm(pieces, bins, start, matrix - fraction @ middles, between, n)


def _slopes_of_bins(
    cells: Cells, bins: Moments, kept: Ints, spec: Spec, fit: LineFits | None
) -> tuple[Slopes, Floats, Floats]:
    """Return the slopes of the bins, for local effects at points, which can be pooled in any bins (RHALE Eq. 10, 11).

    With them two matrices: from the slopes to the curve at the edges, (K + 1, P), and to its mean over each bin, (K,
    P). The mean of a parabola over its bin lies below the mean of its end points, by width² / 12 times the change of
    the slope.
    """
    count, widths = len(kept) - 1, np.diff(cells.edges[kept])
    has_rows = bins.weight > 0
    corners = ale_math.accumulation_matrix(widths, has_rows, np.arange(count + 1))
    middles = (corners[:-1] + corners[1:]) / 2
    mean, size = np.where(has_rows, bins.mean, np.nan), bins.effective_size(spec.weight_kind)
    if fit is None:
        variance = bins.variance(spec.ddof, spec.weight_kind)
        pieces = Slopes(mean, variance, size, size - 1, np.arange(count), np.ones(count))
        return pieces, corners, middles
    pieces = Slopes(
        _interleaved(mean, fit.trend),
        np.repeat(fit.variance, 2),
        _interleaved(size, fit.trend_size),
        np.repeat(fit.degrees, 2),
        2 * np.arange(count),
        _interleaved(np.ones(count), fit.lever),
        fit.trend,
    )
    below = np.diag(np.where(np.isfinite(fit.trend_size), widths**2 / 12, 0.0))
    return (
        pieces,
        _interleaved(corners, corners * fit.lever),
        _interleaved(middles, middles * fit.lever - below),
    )


def _interleaved(first: Floats, second: Floats) -> Floats:
    """Return the entries of two arrays in alternation along the last axis."""
    return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], -1)


def _slopes_of_cells(
    cells: Cells, moments: Mapping[str, Moments], kept: Ints, spec: Spec, trend: Floats | None
) -> Slopes:
    """Return the slopes of the cells, for differences across them: the curve does not depend on the bins.

    The variance is pooled within the cells of each bin. Differences between the mean slopes of cells are the shape of
    the curve, not heterogeneity; and a single cell may contain too few rows for a variance.
    """
    fine, kind, starts = moments[LOCAL], spec.weight_kind, kept[:-1]
    has_variance = ~np.isnan(fine.variance(spec.ddof, kind))
    squares, divisor, df = (
        np.add.reduceat(np.where(has_variance, values, 0.0), starts)
        for values in (fine.m2, fine.df(spec.ddof, kind), fine.effective_size(kind) - 1)
    )
    pooled = np.where(divisor > 0, squares / np.where(divisor > 0, divisor, 1.0), np.nan)
    bin_of_cell = np.repeat(np.arange(len(starts)), np.diff(kept))
    slope, variance = np.where(fine.weight > 0, fine.mean, np.nan), pooled[bin_of_cell]
    size, degrees = fine.effective_size(kind).copy(), df[bin_of_cell]
    if cells.gaps and GAP in moments:
        at = np.array(cells.gaps)
        slope[at], own, rows, df = slopes_across_gaps(moments[GAP], spec.ddof, kind)
        # The cells of a bin share one variance, a gap that is not a bin of its own has only its error.
        shared = (np.diff(kept)[bin_of_cell[at]] > 1) & (variance[at] > 0) & (own > 0)
        size[at] = np.where(shared, rows * variance[at] / np.where(shared, own, 1.0), rows)
        variance[at] = np.where(shared, variance[at], own)
        degrees[at] = np.where(shared, degrees[at], df)
    part = cells.widths / np.diff(cells.edges[kept])[bin_of_cell]
    return Slopes(slope, variance, size, degrees, starts, part, trend)


def slopes_across_gaps(
    nearest: Moments, ddof: int, kind: WeightKind
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return slope, variance, size and degrees of freedom across each gap, as in `Slopes`: (gaps,) each.

    The slope is ½ mean over the nearest rows on the left + ½ mean over those on the right, its squared standard error
    ¼ (σ²/n + σ²/n). A side without rows leaves the other one alone; one with a single row takes the other's variance.
    Without any rows the slope is NaN.
    """
    size, variance = nearest.effective_size(kind), nearest.variance(ddof, kind)
    share = np.where(nearest.weight > 0, 0.5, 0.0).reshape(-1, 2)
    share /= np.maximum(share.sum(axis=1, keepdims=True), 0.5)
    variance = variance.reshape(-1, 2)
    variance = np.where(np.isnan(variance), variance[:, ::-1], variance)
    error2 = share**2 * variance / np.where(size > 0, size, 1.0).reshape(-1, 2)
    total = np.where(share > 0, error2, 0.0).sum(axis=1)
    own = np.where(share > 0, share * variance, 0.0).sum(axis=1)
    degrees = (size - 1).reshape(-1, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(share > 0, error2 / total[:, None], 0.0)
        df = 1.0 / (parts**2 / np.maximum(degrees, 1.0)).sum(axis=1)
        effective = np.where(total > 0, own / total, 1.0)
    slope = (share * nearest.mean.reshape(-1, 2)).sum(axis=1)
    some = share.sum(axis=1) > 0
    effective = np.where(some, effective, 0.0)
    return np.where(some, slope, np.nan), own, effective, np.where(total > 0, df, 1.0)


def bin_stats(edges: Floats, form: LinearForm, spec: Spec) -> BinStats:
    """Return the statistics of the bins; for differences, the mean effect is that across the bin over its width."""
    pieces, bins = form.pieces, form.bins
    variance = pieces.variance[pieces.starts]
    effect, error2 = pieces.effects()
    if not spec.pointwise:
        effect = np.where(np.isnan(effect), np.nan, np.diff(form.start) / np.diff(edges))
    error = np.where(np.isnan(variance), np.nan, np.sqrt(error2))
    return BinStats.of(
        edges,
        bins,
        effect=effect,
        std=np.sqrt(variance),
        std_error=error,
        slope_change=pieces.trend,
    )


# --- linear trends of the slope within bins -------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LineFits:
    """Lines fitted to the local effects of each bin, or constants in bins without a trend."""

    trend: Floats
    """The change of the slope per unit of the feature, shape (K,). Its error and that of the mean slope are
    independent."""
    lever: Floats
    """Distance from the mean of the rows to the middle of the bin: ``mean + lever * trend`` is the slope in the middle,
    and times the width the difference of the effect across the bin, shape (K,)."""
    variance: Floats
    degrees: Floats
    """Of the local effects around the line, shape (K,)."""
    trend_size: Floats
    """Divisor of the variance in the squared standard error of `trend` (infinite without a trend), shape (K,)."""


def fit_lines(
    cells: Cells, local: Moments, axis: Moments, kept: Ints, chosen: Bools, spec: Spec
) -> LineFits:
    """Fit a line to the local effects of each chosen bin, from the moments by cell of local effects and of the feature.

    Least squares through the means of the cells, weighted by their rows. If each cell contains a single value, this is
    least squares through the rows. Otherwise the variation of the feature within cells is used for the variance only.
    Bins whose rows all lie in one cell get no line.
    """
    bins, axis_bins = local.pool(kept[:-1]), axis.pool(kept[:-1])
    bin_of_cell = np.repeat(np.arange(len(kept) - 1), np.diff(kept))
    trend, dx, dy, sum_xx = line_trends(local, axis, kept, chosen)
    chosen = chosen & (sum_xx > 0)
    edges = cells.edges[kept]
    lever = np.where(chosen, (edges[:-1] + edges[1:]) / 2 - axis_bins.mean, 0.0)
    variance = bins.variance(spec.ddof, spec.weight_kind)
    # A line uses one degree of freedom more than a mean.
    degrees = bins.df(spec.ddof, spec.weight_kind)
    line_degrees = bins.df(2 * spec.ddof, spec.weight_kind)
    line_degrees = np.where(chosen & (line_degrees > 0), line_degrees, degrees)
    # Squared residuals instead of a difference of large sums, which would not be zero for points on a line.
    residual2 = local.weight * (dy - trend[bin_of_cell] * dx) ** 2
    squares = np.add.reduceat(residual2 + local.m2 - trend[bin_of_cell] ** 2 * axis.m2, kept[:-1])
    squares = np.maximum(squares, 0.0)
    line_variance = squares / np.where(line_degrees > 0, line_degrees, 1.0)
    size = bins.effective_size(spec.weight_kind)
    # Scaled from the weight to the effective number of rows, on which standard errors are based.
    trend_size = sum_xx * size / np.where(bins.weight > 0, bins.weight, 1.0)
    return LineFits(
        trend,
        lever,
        np.where(chosen & ~np.isnan(variance), line_variance, variance),
        np.where(chosen, size - 2, size - 1),
        np.where(chosen, trend_size, np.inf),
    )


def line_trends(
    local: Moments, axis: Moments, kept: Ints, chosen: Bools
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the slopes of lines through the means of the cells, (K, ...), weighted by their rows: 0 if not chosen.

    Also the deviations of the cells' means from those of their bin, (P, ...), of the feature and of the local effects;
    and the sums of the squares of the first, (K, ...). Moments have shape (P,), or (P, R) for R replicates.
    """
    first, group = kept[:-1], np.repeat(np.arange(len(kept) - 1), np.diff(kept))
    dx = np.where(axis.weight > 0, axis.mean - axis.pool(first).mean[group], 0.0)
    dy = np.where(local.weight > 0, local.mean - local.pool(first).mean[group], 0.0)
    square = np.add.reduceat(local.weight * dx**2, first)
    product = np.add.reduceat(local.weight * dx * dy, first)
    known = chosen.reshape(-1, *(1,) * (dx.ndim - 1)) & (square > 0)
    return np.where(known, product / np.where(known, square, 1.0), 0.0), dx, dy, square


def curve_polygon(bins: BinStats | None, x: Floats, value: Floats) -> tuple[Floats, Floats]:
    """Return the vertices of a polygon that approximates the curve; see `BinStats.polygon`."""
    return (x, value) if bins is None else bins.polygon(x, value)
