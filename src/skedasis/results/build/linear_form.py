"""Accumulated curves as linear forms of bin statistics, and linear trends within bins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.results.effect import BinStats, Spec
from skedasis.stats import ale_math
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments

# ------------------------------------------------------------------------------------------
# Accumulated curves as linear forms: their pieces, and the matrix from the pieces' slopes to the curve.


LOCAL, AXIS, RISE = "local", "axis", "rise"
"""Moments by cell of the local effects and of the feature; by bin of the rows' rises across it over its width."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """What the curve is made of: bins where local effects are slopes, else the cells whose differences they are.

    Where slopes change linearly a bin has two: its mean slope, and the change of slope; their errors are independent.

    Parameters
    ----------
    slope, variance, size, degrees : ndarray of float, shape (P,)
        `size` is what the variance of a mean divides by; `degrees` the variance's degrees of freedom.
    starts : ndarray of int, shape (K,)
        First piece of each bin.
    part : ndarray of float, shape (P,)
        A bin's mean effect is the sum of its pieces' slopes times these.
    trend : ndarray of float, shape (K,), optional
        Of bins whose slopes change linearly.
    """

    slope: Floats
    variance: Floats
    size: Floats
    degrees: Floats
    starts: Ints
    part: Floats
    trend: Floats | None = None

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
        """Return the slopes' squared standard errors.

        A piece too small for a variance borrows its neighbours': an error of zero there would be a lie.
        """
        sized = self.size > 0
        return np.where(
            sized, ale_math.borrowed(self.variance) / np.where(sized, self.size, 1.0), 0.0
        )

    def effects(self) -> tuple[Floats, Floats]:
        """Return the bins' mean effects, NaN where nothing is known of one, and their squared errors."""
        some = np.logical_or.reduceat(self.known, self.starts)
        effect = np.add.reduceat(self.part * np.where(self.known, self.slope, 0.0), self.starts)
        error2 = np.add.reduceat(self.part**2 * self.error2, self.starts)
        return np.where(some, effect, np.nan), error2


@dataclass(frozen=True, eq=False)
class Linear:
    """A curve as a linear form of its pieces' slopes.

    Parameters
    ----------
    pieces : Pieces
    bins : Moments, K bins
    start : ndarray of float, shape (K + 1,)
        The curve that starts at zero.
    matrix : ndarray of float, shape (K + 1, P)
        The curve, centred as asked for, is ``matrix @ slopes``.
    between : float
        Variance of the centre that comes from where in the bins the rows lie; the same for all edges.
    size : float
        Rows behind `between`.
    """

    pieces: Pieces
    bins: Moments
    start: Floats
    matrix: Floats
    between: float
    size: float


def linear(
    cells: Cells,
    moments: Mapping[str, Moments],
    kept: Ints,
    spec: Spec,
    trend: Bools | None = None,
) -> Linear:
    """Return the linear form that an accumulated effect is.

    Parameters
    ----------
    cells, moments, kept, spec, trend
        As `skedasis.results.build.accumulated.accumulate` takes them.
    """
    bins = moments[LOCAL].pool(kept[:-1])
    found = None
    if trend is not None and trend.any():
        found = lines(cells, moments[LOCAL], moments[AXIS], kept, trend, spec)
    if spec.pointwise:
        pieces, matrix, middles = _of_points(cells, bins, kept, spec, found)
        home = bins
    else:
        pieces = _differences(cells, moments, kept, spec, None if found is None else found.trend)
        every = np.arange(len(cells.edges))
        fine = ale_math.accumulation(cells.widths, pieces.known, every)
        # Bent between its edges, the curve has its mid-values in the cells; else the bins' are those of its corners.
        corners, home = (kept, bins) if found is None else (every, moments[LOCAL])
        matrix, middles = fine[kept], (fine[corners[:-1]] + fine[corners[1:]]) / 2
    slope = np.where(pieces.known, pieces.slope, 0.0)
    start = matrix @ slope
    if spec.center != "mean":
        return Linear(pieces, bins, start, matrix, 0.0, np.inf)
    total = max(float(home.weight.sum()), np.finfo(float).tiny)
    share, middle = home.weight / total, middles @ slope
    n = total
    if spec.weight_kind == "sampling":
        n = total**2 / max(float(home.weight2.sum()), np.finfo(float).tiny)
    between = float(share @ (middle - share @ middle) ** 2 / n)
    return Linear(pieces, bins, start, matrix - share @ middles, between, n)


def _of_points(
    cells: Cells, bins: Moments, kept: Ints, spec: Spec, found: Lines | None
) -> tuple[Pieces, Floats, Floats]:
    """Return the bins themselves: slopes of points may be pooled over any of them (RHALE Eq. 10, 11).

    With them the matrix to the curve at its edges, and that to its mid-values in the bins. A parabola's mean over its
    bin lies below the middle of its corners, by a twelfth of width² times the change of slope.
    """
    count, widths = len(kept) - 1, np.diff(cells.edges[kept])
    some = bins.weight > 0
    corners = ale_math.accumulation(widths, some, np.arange(count + 1))
    middles = (corners[:-1] + corners[1:]) / 2
    mean, size = np.where(some, bins.mean, np.nan), bins.effective(spec.weight_kind)
    if found is None:
        variance = bins.variance(spec.ddof, spec.weight_kind)
        whole = Pieces(mean, variance, size, size - 1, np.arange(count), np.ones(count))
        return whole, corners, middles
    pieces = Pieces(
        _in_turn(mean, found.trend),
        np.repeat(found.variance, 2),
        _in_turn(size, found.reach),
        np.repeat(found.degrees, 2),
        2 * np.arange(count),
        _in_turn(np.ones(count), found.lever),
        found.trend,
    )
    below = np.diag(np.where(np.isfinite(found.reach), widths**2 / 12, 0.0))
    return (
        pieces,
        _in_turn(corners, corners * found.lever),
        _in_turn(middles, middles * found.lever - below),
    )


def _in_turn(first: Floats, second: Floats) -> Floats:
    """Return one of the first, one of the second, and so on, along the last axis."""
    return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], -1)


def _differences(
    cells: Cells, moments: Mapping[str, Moments], kept: Ints, spec: Spec, trend: Floats | None
) -> Pieces:
    """Return the fine cells: the curve is theirs, whatever bins are drawn, so that no rise is lost by merging.

    The variance is the bin's, pooled within its cells: how slopes differ between cells is the curve's own
    shape, not heterogeneity, and a single cell may hold too few rows to have one.
    """
    fine, kind, starts = moments[LOCAL], spec.weight_kind, kept[:-1]
    own = ~np.isnan(fine.variance(spec.ddof, kind))
    squares, divisor, freedom = (
        np.add.reduceat(np.where(own, values, 0.0), starts)
        for values in (fine.m2, fine.degrees(spec.ddof, kind), fine.effective(kind) - 1)
    )
    pooled = np.where(divisor > 0, squares / np.where(divisor > 0, divisor, 1.0), np.nan)
    group = np.repeat(np.arange(len(starts)), np.diff(kept))
    return Pieces(
        np.where(fine.weight > 0, fine.mean, np.nan),
        pooled[group],
        fine.effective(kind),
        freedom[group],
        starts,
        cells.widths / np.diff(cells.edges[kept])[group],
        trend,
    )


# ------------------------------------------------------------------------------------------
# Bins in which slopes change linearly: their lines, and the parabola that the effect is there.


@dataclass(frozen=True, eq=False)
class Lines:
    """Slopes fitted to the local effects of each bin: a line, or where that was not chosen a constant.

    Parameters
    ----------
    mean, trend : ndarray of float, shape (K,)
        The mean slope, and by how much the slope changes per unit of the feature: their errors are independent.
    lever : ndarray of float, shape (K,)
        From the mean of the rows to the middle of the bin: ``mean + lever * trend`` is the slope there, and times the
        width the effect's rise.
    variance, degrees : ndarray of float, shape (K,)
        Of the local effects about the line.
    size, reach : ndarray of float, shape (K,)
        What the variance is divided by for the squared error of `mean`, and of `trend` (infinite where there is none).
    """

    mean: Floats
    trend: Floats
    lever: Floats
    variance: Floats
    degrees: Floats
    size: Floats
    reach: Floats


def lines(
    cells: Cells, local: Moments, axis: Moments, kept: Ints, chosen: Bools, spec: Spec
) -> Lines:
    """Fit a line to the local effects of the bins that are to have one.

    Parameters
    ----------
    cells : Cells
    local, axis : Moments
        Of the local effects and of the feature, in each cell.
    kept : ndarray of int, shape (K + 1,)
        The edges that stay.
    chosen : ndarray of bool, shape (K,)
        Bins that are to have a line.
    spec : Spec

    Notes
    -----
    Least squares through the cells' means, weighted by their rows. Where each cell holds a single value that is least
    squares through the rows; else the cells' width takes part in the variance only.
    """
    bins, middles = local.pool(kept[:-1]), axis.pool(kept[:-1])
    group = np.repeat(np.arange(len(kept) - 1), np.diff(kept))
    beside = np.where(axis.weight > 0, axis.mean - middles.mean[group], 0.0)
    off = np.where(local.weight > 0, local.mean - bins.mean[group], 0.0)
    across = np.add.reduceat(local.weight * beside**2, kept[:-1])
    together = np.add.reduceat(local.weight * beside * off, kept[:-1])
    chosen = chosen & (across > 0)
    trend = np.where(chosen, together / np.where(chosen, across, 1.0), 0.0)
    edges = cells.edges[kept]
    lever = np.where(chosen, (edges[:-1] + edges[1:]) / 2 - middles.mean, 0.0)
    variance = bins.variance(spec.ddof, spec.weight_kind)
    # A line takes one degree of freedom more than a mean.
    degrees = bins.degrees(spec.ddof, spec.weight_kind)
    fewer = bins.degrees(2 * spec.ddof, spec.weight_kind)
    fewer = np.where(chosen & (fewer > 0), fewer, degrees)
    # Residuals, not a difference of large sums: on a line there are none.
    beyond = local.weight * (off - trend[group] * beside) ** 2
    left = np.add.reduceat(beyond + local.m2 - trend[group] ** 2 * axis.m2, kept[:-1])
    left = np.maximum(left, 0.0)
    about = left / np.where(fewer > 0, fewer, 1.0)
    size = bins.effective(spec.weight_kind)
    # Scaled to the size that errors count by.
    spread = across * size / np.where(bins.weight > 0, bins.weight, 1.0)
    return Lines(
        np.where(bins.weight > 0, bins.mean, np.nan),
        trend,
        lever,
        np.where(chosen & ~np.isnan(variance), about, variance),
        np.where(chosen, size - 2, size - 1),
        size,
        np.where(chosen, spread, np.inf),
    )


def bulge(bins: BinStats, x: Floats) -> Floats:
    """Return what lies between an effect at x and the straight line between the edges of x's bin.

    Parameters
    ----------
    bins : BinStats
    x : ndarray of float
        Values of the feature; beyond the bins, and for NaN, it is zero.
    """
    place = np.clip(np.searchsorted(bins.low, x, side="right") - 1, 0, len(bins) - 1)
    left, right = bins.low[place], bins.high[place]
    inside = (x > left) & (x < right)
    return np.where(inside, bins.trend[place] / 2 * (x - left) * (x - right), 0.0)


def drawn(
    bins: BinStats | None, x: Floats, value: Floats, points: int = 24
) -> tuple[Floats, Floats]:
    """Return the corners of a polygon that a curve looks like: bends between edges included.

    Parameters
    ----------
    bins : BinStats or None
    x, value : ndarray of float, shape (K + 1,)
        The curve at its edges.
    points : int
        Corners put into a bin whose slope changes.
    """
    if bins is None or not np.any(bins.trend):
        return x, value
    bent = np.flatnonzero(bins.trend)
    share = np.arange(1, points + 1) / (points + 1)
    more = (bins.low[bent, None] + np.outer(bins.widths[bent], share)).ravel()
    at = np.sort(np.concatenate([x, more]))
    return at, np.interp(at, x, value) + bulge(bins, at)
