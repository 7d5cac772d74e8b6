"""Accumulated effects: from the moments of local effects to ALE, DALE, UALE and RHALE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from skedasis import curves
from skedasis.cells import Cells
from skedasis.moments import Moments
from skedasis.results.effect import TRUSTED_ROWS, BinStats, Effect, Rows
from skedasis.results.spec import About, Spec
from skedasis.typing import Bools, Floats, Ints

LOCAL, ACROSS, AXIS = "local", "across", "axis"
"""Moments of the local effects; of the rises across cells without rows, seen by their neighbours; of the feature."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """What the curve is made of: bins where local effects are slopes, else the cells whose differences they are.

    Parameters
    ----------
    widths, slope, variance, size, degrees : ndarray of float, shape (P,)
        `size` is what the variance of a mean divides by; `degrees` the variance's degrees of freedom.
    starts : ndarray of int, shape (K,)
        First piece of each bin.
    """

    widths: Floats
    slope: Floats
    variance: Floats
    size: Floats
    degrees: Floats
    starts: Ints

    @property
    def known(self) -> Bools:
        """Return which pieces have a slope."""
        return ~np.isnan(self.slope)

    @property
    def error2(self) -> Floats:
        """Return the slopes' squared standard errors.

        A piece too small for a variance borrows its neighbours': an error of zero there would be a lie.
        """
        sized = self.size > 0
        return np.where(
            sized, curves.borrowed(self.variance) / np.where(sized, self.size, 1.0), 0.0
        )


def accumulate(
    cells: Cells,
    moments: Mapping[str, Moments],
    kept: Ints,
    spec: Spec,
    about: About,
    rows: Rows | None,
) -> Effect:
    """Read an accumulated effect off the moments of local effects.

    Parameters
    ----------
    cells : Cells
        The fine cells.
    moments : mapping of str to Moments
        Per cell: ``"local"`` of the local effects, ``"axis"`` of the feature's values, and, where cells without rows
        were crossed by their neighbours' rows, ``"across"``.
    kept : ndarray of int, shape (K + 1,)
        The edges that stay: bins are unions of cells.
    spec, about, rows
        Carried into the result.

    Returns
    -------
    Effect
    """
    if len(cells) == 0:
        return _constant(cells, moments, spec, about, rows)
    bins = moments[LOCAL].pool(kept[:-1])
    pieces = (
        _points(cells, bins, kept, spec)
        if spec.pointwise
        else _differences(cells, moments, kept, spec)
    )
    places = np.arange(len(kept)) if spec.pointwise else kept
    matrix = curves.accumulation(pieces.widths, pieces.known, places)
    slope = np.where(pieces.known, pieces.slope, 0.0)
    edges, start = cells.edges[kept], matrix @ slope
    matrix = _centred(matrix, bins, spec)
    error, freedom = _errors(matrix, pieces, bins, start, spec)
    stats = _statistics(edges, bins, pieces, spec, start)
    spread = curves.heterogeneity(stats.widths, stats.std, spec.accumulate)
    axis, seen = moments[AXIS].pool(kept[:-1]), _reached(bins.count)
    return Effect(
        x=edges,
        value=np.where(seen, matrix @ slope, np.nan),
        heterogeneity=np.where(seen, spread, np.nan),
        std_error=np.where(seen, error, np.nan),
        freedom=freedom,
        importance=curves.importance(edges, start, axis.weight, axis.mean, axis.m2),
        score=about.spread * _typical(stats.std, bins.weight),
        about=about,
        spec=spec,
        bins=stats,
        rows=rows,
        cells=cells,
        moments=moments,
    )


def _centred(matrix: Floats, bins: Moments, spec: Spec) -> Floats:
    share = bins.weight / max(bins.weight.sum(), np.finfo(float).tiny)
    return matrix - curves.centre_of(matrix, share) if spec.center == "mean" else matrix


def _points(cells: Cells, bins: Moments, kept: Ints, spec: Spec) -> Pieces:
    """Return the bins themselves: slopes of points may be pooled over any of them (RHALE Eq. 10, 11)."""
    return Pieces(
        np.diff(cells.edges[kept]),
        np.where(bins.weight > 0, bins.mean, np.nan),
        bins.variance(spec.ddof, spec.weight_kind),
        bins.effective(spec.weight_kind),
        bins.effective(spec.weight_kind) - 1,
        np.arange(len(kept) - 1),
    )


def _differences(cells: Cells, moments: Mapping[str, Moments], kept: Ints, spec: Spec) -> Pieces:
    """Return the fine cells: the curve is theirs, whatever bins are drawn, so that no rise is lost by merging.

    The variance is the bin's, pooled within its cells (DESIGN 4.5): how slopes differ between cells is the curve's own
    shape, not heterogeneity, and a single cell may hold too few rows to have one.
    """
    fine, kind, starts = moments[LOCAL], spec.weight_kind, kept[:-1]
    own = ~np.isnan(fine.variance(spec.ddof, kind))
    squares, divisor, freedom = (
        np.add.reduceat(np.where(own, values, 0.0), starts)
        for values in (fine.m2, fine.degrees(spec.ddof, kind), fine.effective(kind) - 1)
    )
    pooled = np.where(divisor > 0, squares / np.where(divisor > 0, divisor, 1.0), np.nan)
    if ACROSS in moments:
        crossed = moments[ACROSS].arrays()
        gap = (fine.count == 0) & (moments[ACROSS].count > 0)
        fine = Moments(**{k: np.where(gap, crossed[k], a) for k, a in fine.arrays().items()})
    group = np.repeat(np.arange(len(starts)), np.diff(kept))
    return Pieces(
        cells.widths,
        np.where(fine.weight > 0, fine.mean, np.nan),
        pooled[group],
        fine.effective(kind),
        freedom[group],
        starts,
    )


def _errors(
    centred: Floats, pieces: Pieces, bins: Moments, start: Floats, spec: Spec
) -> tuple[Floats, Floats]:
    """Return standard errors at the edges (DESIGN 4.3) and their degrees of freedom."""
    error, freedom = curves.std_error(
        centred, pieces.error2, pieces.degrees, pieces.starts, spec.accumulate_se
    )
    if spec.center != "mean":
        return error, freedom
    # The centre is itself a mean over rows, whose places within the bins are random.
    total = bins.weight.sum()
    share = bins.weight / total
    middle = (start[:-1] + start[1:]) / 2
    n = total if spec.weight_kind == "frequency" else total**2 / bins.weight2.sum()
    between = float(share @ (middle - share @ middle) ** 2 / n)
    variance = error**2 + between
    with np.errstate(divide="ignore", invalid="ignore"):
        within = error**2 / variance
        together = 1.0 / (within**2 / freedom + (1.0 - within) ** 2 / max(n - 1.0, 1.0))
    return np.sqrt(variance), np.where(variance > 0, together, np.inf)


def _statistics(
    edges: Floats, bins: Moments, pieces: Pieces, spec: Spec, start: Floats
) -> BinStats:
    """Return the bins' own figures."""
    effect, variance, error2 = pieces.slope, pieces.variance, pieces.error2
    if not spec.pointwise:
        effect, variance, error2 = _over_pieces(np.diff(edges), pieces, start)
    return BinStats(
        left=edges[:-1],
        right=edges[1:],
        count=bins.count.astype(int),
        weight=bins.weight,
        effect=effect,
        std=np.sqrt(variance),
        std_error=np.where(np.isnan(variance), np.nan, np.sqrt(error2)),
        empty=bins.count == 0,
        trusted=bins.count >= TRUSTED_ROWS,
    )


def _over_pieces(widths: Floats, pieces: Pieces, start: Floats) -> tuple[Floats, Floats, Floats]:
    """Return effect, variance and squared error of bins that are unions of pieces (DESIGN 4.5).

    The mean effect is the bin's rise over its width, so that no rise is lost.
    """
    some = np.logical_or.reduceat(pieces.known, pieces.starts)
    effect = np.where(some, np.diff(start) / widths, np.nan)
    error2 = np.add.reduceat(pieces.widths**2 * pieces.error2, pieces.starts) / widths**2
    return effect, pieces.variance[pieces.starts], error2


def _reached(count: Floats) -> Bools:
    """Return which edges touch the data: beyond the first and last bins with rows there is no curve."""
    there = np.flatnonzero(count > 0)
    edge = np.arange(len(count) + 1)
    return (edge >= there[0]) & (edge <= there[-1] + 1) if len(there) else edge < 0


def _typical(std: Floats, weight: Floats) -> float:
    """Return the root mean square of the bins' standard deviations, over the rows whose bins have one."""
    has = ~np.isnan(std) & (weight > 0)
    if not has.any():
        return 0.0
    largest = std[has].max()
    if largest == 0:
        return 0.0
    return float(largest * np.sqrt(np.average((std[has] / largest) ** 2, weights=weight[has])))


def _constant(
    cells: Cells, moments: Mapping[str, Moments], spec: Spec, about: About, rows: Rows | None
) -> Effect:
    """Return the effect of a feature that takes one value: none, at one point."""
    zero = np.zeros(len(cells.edges))
    return Effect(
        cells.edges,
        zero,
        zero,
        zero,
        np.full(len(zero), np.inf),
        0.0,
        0.0,
        about,
        spec,
        bins=BinStats.none(),
        rows=rows,
        cells=cells,
        moments=moments,
    )
