"""Accumulated curves as linear forms: their pieces, and the matrix from the pieces' slopes to the curve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.results.spec import Spec
from skedasis.results.trend import Lines, lines
from skedasis.stats import ale_math
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments

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
        As `skedasis.results.accumulated.accumulate` takes them.
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
