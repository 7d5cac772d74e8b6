"""What PDP, ICE and their kin share: the moments of rows' curves over a grid, anchored or not."""

from __future__ import annotations

import numpy as np

from skedasis.moments import Moments
from skedasis.typing import Center, Floats

RAW, ANCHORED, AXIS = "raw", "anchored", "axis"


def curve_moments(
    curves: Floats, weights: Floats | None, center: Center, anchor: int | None = None
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
    """
    # By way of one point: a curve that does not move then has a mean, and deviations, of exactly zero.
    anchored = curves - curves[0 if anchor is None else anchor]
    if center != "start" and anchor is None:
        anchored -= np.full(len(curves), 1 / len(curves)) @ anchored
    shown = curves if center is None and anchor is None else anchored
    moved = Moments.of_curves(anchored, weights)
    # Without centring the curves' own scatter gives the error of their mean.
    return {
        ANCHORED: moved,
        RAW: Moments.of_curves(curves, weights) if shown is curves else moved,
    }, shown
