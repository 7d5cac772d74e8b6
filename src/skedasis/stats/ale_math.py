"""Accumulated effects as pure arrays: accumulation, centring, heterogeneity (RHALE Eq. 16), standard errors.

Everything here is a linear map. The curve at the edges is ``A @ slopes``; so are its centre and its error, and empty
bins are a matter of which columns of A carry their width.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from skedasis._types import Bools, Floats, Ints

Accumulate = Literal["variance", "std"]


def accumulation(widths: Floats, known: Bools, kept: Ints) -> Floats:
    """Return the matrix that takes the pieces' slopes to the curve at the kept edges.

    Parameters
    ----------
    widths : ndarray of float, shape (P,)
        Of the pieces between neighbouring edges.
    known : ndarray of bool, shape (P,)
        Which pieces have a slope. The curve is joined across the others by a straight line whose slope is the mean of
        their nearest neighbours', so that a linear effect stays linear. Before the first and behind the last known
        piece nothing is added.
    kept : ndarray of int, shape (K + 1,)
        Edges at which the curve is wanted.

    Returns
    -------
    ndarray of float, shape (K + 1, P)
    """
    passed = np.arange(len(widths)) < kept[:, None]
    matrix = np.where(passed & known, widths, 0.0)
    there = np.flatnonzero(known)
    if len(there) == 0:
        return matrix
    for gap in np.flatnonzero(~known):
        right = np.searchsorted(there, gap)
        if 0 < right < len(there):
            share = np.where(passed[:, gap], widths[gap] / 2, 0.0)
            matrix[:, there[right - 1]] += share
            matrix[:, there[right]] += share
    return matrix


def centre_of(matrix: Floats, share: Floats) -> Floats:
    """Return the linear form whose value is the mean over bins of the curve's mid-values.

    Parameters
    ----------
    matrix : ndarray of float, shape (K + 1, P)
        Of `accumulation`.
    share : ndarray of float, shape (K,)
        Each bin's share of the rows, n_k / N.

    Returns
    -------
    ndarray of float, shape (P,)
        Subtracted from each row of `matrix` it centres the curve, as Apley & Zhu's reference implementation does.
    """
    return share @ (matrix[:-1] + matrix[1:]) / 2


def borrowed(values: Floats) -> Floats:
    """Fill NaN by the mean of the nearest values on either side (one side at the ends); all NaN stays so."""
    there = np.flatnonzero(~np.isnan(values))
    if len(there) in (0, len(values)):
        return values
    right = np.searchsorted(there, np.arange(len(values)))
    after = values[there[np.minimum(right, len(there) - 1)]]
    before = values[there[np.maximum(right - 1, 0)]]
    return np.where(np.isnan(values), (before + after) / 2, values)


def heterogeneity(widths: Floats, std: Floats, accumulate: Accumulate) -> Floats:
    """Return the spread accumulated from the left end, at the edges, shape (K + 1,).

    ``"variance"`` is RHALE Eq. 16, the root of the sum of width² std²; ``"std"`` is UALE Eq. 9, the sum of width * std.
    """
    step = widths * borrowed(std)
    if accumulate == "std":
        return np.concatenate([[0.0], np.cumsum(step)])
    # Scaled by the largest step: squares of 1e-200 would vanish, of 1e200 overflow.
    largest = np.nanmax(step, initial=0.0)
    if largest == 0 or np.isnan(step).any():
        return np.concatenate([[0.0], np.cumsum(step)])
    return np.concatenate([[0.0], largest * np.sqrt(np.cumsum((step / largest) ** 2))])


def std_error(
    matrix: Floats,
    error2: Floats,
    degrees: Floats,
    starts: Ints,
    how: Literal["quadrature", "sum"],
) -> tuple[Floats, Floats]:
    """Return the standard error of ``matrix @ slopes`` and Satterthwaite's degrees of freedom.

    Parameters
    ----------
    matrix : ndarray of float, shape (K + 1, P)
    error2 : ndarray of float, shape (P,)
        Squared standard errors of the slopes.
    degrees : ndarray of float, shape (P,)
        Degrees of freedom of the variances behind them.
    starts : ndarray of int, shape (K,)
        First piece of each bin: the pieces of a bin share one variance.
    how : {"quadrature", "sum"}
        "sum" adds the errors themselves, as the draft's Eq. 5 does: conservative.
    """
    # NaN errors matter only where their slope takes part.
    part = np.where(matrix != 0, matrix**2 * error2, 0.0)
    variance = part.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.add.reduceat(part, starts, axis=1) / variance[:, None]
        freedom = 1.0 / (share**2 / np.maximum(degrees[starts], 1.0)).sum(axis=1)
    freedom = np.where(variance > 0, freedom, np.inf)
    if how == "sum":
        return np.sqrt(part).sum(axis=1), freedom
    return np.sqrt(variance), freedom


def importance(edges: Floats, curve: Floats, weight: Floats, mean: Floats, m2: Floats) -> float:
    """Return the weighted standard deviation over the data of a piecewise linear curve.

    Parameters
    ----------
    edges, curve : ndarray of float, shape (K + 1,)
    weight, mean, m2 : ndarray of float, shape (K,)
        Moments of the feature itself within each bin: a linear piece needs no more.
    """
    there = weight > 0
    if not there.any():
        return 0.0
    widths = np.diff(edges)[there]
    slope = np.diff(curve)[there] / widths
    level = curve[:-1][there] + slope * (mean[there] - edges[:-1][there])
    share = weight[there] / weight[there].sum()
    within = share @ (slope**2 * m2[there] / weight[there])
    return float(np.sqrt(within + share @ (level - share @ level) ** 2))
