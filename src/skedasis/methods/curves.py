"""What PDP, ICE and their kin share: the moments of rows' curves over a grid, anchored or not."""

from __future__ import annotations

import numpy as np

from skedasis._types import Center, Floats
from skedasis.methods.bound import Bound
from skedasis.stats.grid import Grid
from skedasis.stats.moments import Moments

RAW, ANCHORED, AXIS = "raw", "anchored", "axis"


def curve_moments(
    curves: Floats,
    weights: Floats | None,
    center: Center,
    anchor: int | None = None,
    share: Floats | None = None,
) -> tuple[dict[str, Moments], Floats]:
    """Return the moments of curves, of the anchored curves, and the curves as they are shown.

    Parameters
    ----------
    curves : ndarray of float, shape (m, n)
        One row a point of the grid, one column an instance.
    weights : ndarray of float, shape (n,), optional
    center : {"mean", "start", None}
        What is subtracted from the curves that are shown.
    anchor : int, optional
        The point at which curves are anchored instead.
    share : ndarray of float, shape (m,), optional
        What each point counts in the mean of a curve; None means alike.
    """
    # By way of one point: a curve that does not move then has a mean, and deviations, of exactly zero.
    anchored = curves - curves[0 if anchor is None else anchor]
    if center != "start" and anchor is None:
        anchored -= (np.full(len(curves), 1 / len(curves)) if share is None else share) @ anchored
    shown = curves if center is None and anchor is None else anchored
    moved = Moments.of_curves(anchored, weights)
    # Without centring the curves' own scatter gives the error of their mean.
    return {
        ANCHORED: moved,
        RAW: Moments.of_curves(curves, weights) if shown is curves else moved,
    }, shown


def mean_moments(
    total: Floats,
    bound: Bound,
    center: Center,
    anchor: int | None = None,
    share: Floats | None = None,
) -> dict[str, Moments]:
    """Return what `curve_moments` does where only the curves' sums over the rows are known: their spread is NaN.

    Parameters
    ----------
    total : ndarray of float, shape (m,)
        Weighted sums over the batch's rows.
    bound : Bound
    center, anchor, share
        As there.
    """
    m, n, w = len(total), len(bound), bound.weights
    weight = float(n) if w is None else float(w.sum())
    weight2 = float(n) if w is None else float(w @ w)
    raw = total / weight
    anchored = raw - raw[0 if anchor is None else anchor]
    if center != "start" and anchor is None:
        anchored = anchored - (anchored.mean() if share is None else share @ anchored)
    sizes = np.full(m, float(n)), np.full(m, weight), np.full(m, weight2)
    unknown = np.full(m, np.nan)
    moved = Moments(*sizes, anchored, unknown)
    plain = center is None and anchor is None
    return {ANCHORED: moved, RAW: Moments(*sizes, raw, unknown) if plain else moved}


def axis_moments(grid: Grid, x: Floats, weights: Floats | None, *, missing: bool) -> Moments:
    """Return the moments of a feature between the points of a grid and beyond them, (m + 1 cells)."""
    if missing:
        present = ~np.isnan(x)
        x, weights = x[present], None if weights is None else weights[present]
    return Moments.of(x, grid.locate(x), len(grid) + 1, weights)
