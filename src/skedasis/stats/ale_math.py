"""Accumulated effects as arrays: the accumulation matrix, deviations (RHALE Eq. 16), standard errors, importance.

An accumulated curve is linear in the mean slopes of the bins: its values at the edges are ``A @ slopes``. So standard
errors follow from the rows of A, and empty bins only decide which columns of A carry their width.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from skedasis._types import Bools, Floats, Ints

Accumulate = Literal["variance", "std"]


def accumulation_matrix(widths: Floats, known: Bools, kept: Ints) -> Floats:
    """Return the matrix A, (K + 1, P), that maps the slopes of P cells to the curve at the `kept` edges, (K + 1,).

    `known`, (P,), are the cells with a slope. The others get the mean slope of their nearest neighbours with one, so
    that a linear effect stays linear. The curve is constant before the first and after the last cell with a slope.
    """
    passed = np.arange(len(widths)) < kept[:, None]
    return bridged(np.where(passed, widths, 0.0), known)


def bridged(lengths: Floats, known: Bools) -> Floats:
    """Return the lengths on which slopes apply, (..., P), if unknown ones are the mean of the nearest on both sides."""
    out, with_slope = np.where(known, lengths, 0.0), np.flatnonzero(known)
    for gap in np.flatnonzero(~known):
        right = np.searchsorted(with_slope, gap)
        if 0 < right < len(with_slope):
            out[..., with_slope[right - 1]] += lengths[..., gap] / 2
            out[..., with_slope[right]] += lengths[..., gap] / 2
    return out


def fill_from_neighbors(values: Floats) -> Floats:
    """Fill each NaN with the mean of the nearest value on either side.

    At the ends there is one nearest value. If all values are NaN, they are returned as they are.
    """
    known = np.flatnonzero(~np.isnan(values))
    if len(known) in (0, len(values)):
        return values
    right = np.searchsorted(known, np.arange(len(values)))
    after = values[known[np.minimum(right, len(known) - 1)]]
    before = values[known[np.maximum(right - 1, 0)]]
    return np.where(np.isnan(values), (before + after) / 2, values)


def fill_from_trusted(values: Floats, trusted: Bools) -> Floats:
    """Fill each NaN from the nearest trusted values, or from the nearest known ones if none is trusted."""
    trusted = trusted & ~np.isnan(values)
    if not trusted.any():
        return fill_from_neighbors(values)
    at, known = np.arange(len(values)), np.flatnonzero(trusted)
    right = np.minimum(np.searchsorted(known, at), len(known) - 1)
    before, after = known[np.maximum(right - 1, 0)], known[right]
    far = np.abs(at - before) - np.abs(after - at)
    nearest = np.where(far < 0, values[before], np.where(far > 0, values[after], 0.0))
    nearest = np.where(far == 0, (values[before] + values[after]) / 2, nearest)
    return np.where(np.isnan(values), nearest, values)


def accumulated_std(widths: Floats, std: Floats, accumulate: Accumulate) -> Floats:
    """Return the standard deviation of local effects, accumulated from the left end, at the edges, (K + 1,).

    `std`, (K,), are those within the bins. ``"variance"``: RHALE Eq. 16, the root of the sum of width² std²;
    ``"std"``: UALE Eq. 9, the sum of width * std.
    """
    step = widths * fill_from_neighbors(std)
    if accumulate == "std":
        return np.concatenate([[0.0], np.cumsum(step)])
    # Scaled by the largest step, because the squares of 1e-200 underflow and those of 1e200 overflow.
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
    """Return the standard error of ``matrix @ slopes`` and Satterthwaite's degrees of freedom, (K + 1,) each.

    `error2`, (P,), are the squared standard errors of the slopes, `degrees`, (P,), the degrees of freedom of the
    variances that they are estimated from, and `starts`, (K,), the first cell of each bin, whose cells share one
    variance estimate. "quadrature" adds the squared errors of independent slopes. "sum" adds the errors, as Eq. 5 of
    the draft on uncertainty does, which is conservative.
    """
    # A NaN error matters only if its slope has a non-zero coefficient.
    terms = np.where(matrix != 0, matrix**2 * error2, 0.0)
    variance = terms.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        fraction = np.add.reduceat(terms, starts, axis=1) / variance[:, None]
        df = 1.0 / (fraction**2 / np.maximum(degrees[starts], 1.0)).sum(axis=1)
    df = np.where(variance > 0, df, np.inf)
    if how == "sum":
        return np.sqrt(terms).sum(axis=1), df
    return np.sqrt(variance), df


def importance(edges: Floats, curve: Floats, weight: Floats, mean: Floats, m2: Floats) -> float:
    """Return the standard deviation over the data of a piecewise linear curve, (K + 1,) at the edges.

    `weight`, `mean` and `m2`, (K,), are moments of the feature within each bin: those of a linear function follow from
    them.
    """
    used = weight > 0
    if not used.any():
        return 0.0
    widths = np.diff(edges)[used]
    slope = np.diff(curve)[used] / widths
    bin_mean = curve[:-1][used] + slope * (mean[used] - edges[:-1][used])
    fraction = weight[used] / weight[used].sum()
    within = fraction @ (slope**2 * m2[used] / weight[used])
    return float(np.sqrt(within + fraction @ (bin_mean - fraction @ bin_mean) ** 2))


def weighted_std(values: Floats, share: Floats) -> float:
    """Return the standard deviation of values, each of which has a share of the weight."""
    return float(np.sqrt(share @ (values - share @ values) ** 2))


def between_known(known: Bools) -> Bools:
    """Return which edges lie between the first and the last known cell: (P + 1, ...) from (P, ...)."""
    edge = np.arange(len(known) + 1).reshape(-1, *(1,) * (known.ndim - 1))
    first = np.argmax(known, axis=0)
    last = len(known) - 1 - np.argmax(known[::-1], axis=0)
    return (edge >= first) & (edge <= last + 1) & known.any(axis=0)
