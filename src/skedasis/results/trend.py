"""Bins in which slopes change linearly: their lines, and the parabola that the effect is there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.results.parts import BinStats
from skedasis.results.spec import Spec
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments


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
