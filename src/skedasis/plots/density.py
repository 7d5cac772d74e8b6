"""Many rows in little ink: violins and rugs. The cost is linear in the rows, but for the rug's sorting."""

from __future__ import annotations

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.plots.marks import Dashes, Rug, Violin
from skedasis.plots.scale import LEAST

LEVELS = 96
"""Steps of a violin."""
TICKS = 400
"""Ticks of a rug: more of them would be a black bar."""
SEEN = 0.01
"""Share of local effects that may lie beyond the panel at either end, where they would flatten all others."""


def violins(
    y: Floats, cell: Ints, weight: Floats, left: Floats, right: Floats, enough: Bools
) -> tuple[Violin, ...]:
    """Return the density of local effects in each bin.

    Parameters
    ----------
    y, weight : ndarray of float, shape (n,)
        Local effects and positive weights.
    cell : ndarray of int, shape (n,)
        Each row's bin.
    left, right : ndarray of float, shape (K,)
    enough : ndarray of bool, shape (K,)
        Which bins have rows enough for a density.

    Returns
    -------
    tuple of Violin
        None for bins in which all local effects are equal: that is a point, no density.

    Notes
    -----
    A histogram of `LEVELS` steps between the bin's extremes, smoothed by a Gaussian that is reflected at both ends, so
    that no mass is lost and none is shown where no local effect lies. The bandwidth is the normal reference rule's, but
    with the spread within the halves below and above the mean: the whole spread of two groups of rows, which are what
    one looks for here, is the distance between them, and would blur them.
    """
    k = len(left)
    low, high = np.full(k, np.inf), np.full(k, -np.inf)
    np.minimum.at(low, cell, y)
    np.maximum.at(high, cell, y)
    span = np.where(enough, high - low, 0.0)
    drawn = span > np.maximum(1e-9 * np.maximum(np.abs(low), np.abs(high)), LEAST)
    row = drawn[cell]
    y, cell, weight = y[row], cell[row], weight[row]
    level = np.minimum((LEVELS * ((y - low[cell]) / span[cell])).astype(int), LEVELS - 1)
    mass = np.bincount(cell * LEVELS + level, weight, k * LEVELS).reshape(k, LEVELS)[drawn]
    mass = mass / mass.sum(axis=1, keepdims=True)
    size = np.bincount(cell, minlength=k)[drawn]
    smooth = np.einsum("kij,kj->ki", _kernels(mass, size), mass)
    # The narrowest share of the whole axis: a single bin's violin is no blot over all of the panel.
    reach = np.minimum(0.42 * (right - left), 0.07 * (right[-1] - left[0]))
    found: list[Violin] = []
    for share, k_ in zip(smooth, np.flatnonzero(drawn), strict=True):
        step = span[k_] / LEVELS
        middles = low[k_] + step * (np.arange(LEVELS) + 0.5)
        at = np.concatenate([low[k_ : k_ + 1], middles, high[k_ : k_ + 1]])
        density = np.concatenate([share[:1], share, share[-1:]]) / step
        found.append(
            Violin(int(k_), float((left[k_] + right[k_]) / 2), float(reach[k_]), at, density)
        )
    return tuple(found)


def _kernels(mass: Floats, size: Ints) -> Floats:
    """Return smoothing matrices whose columns sum to one, one a violin, in units of its steps."""
    at = np.arange(LEVELS)
    spread2 = np.zeros(len(mass))
    upper = at > (mass @ at)[:, None]
    for half in (upper, ~upper):
        part = mass * half
        weight = part.sum(axis=1)
        mean = part @ at / np.where(weight > 0, weight, 1.0)
        spread2 += np.sum(part * (at - mean[:, None]) ** 2, axis=1)
    # Half a normal distribution has this share of the whole one's standard deviation.
    spread = np.sqrt(spread2) / np.sqrt(1 - 2 / np.pi)
    width = np.maximum(0.9 * spread * size**-0.2, 0.7)[:, None, None]
    to, of = at[:, None], at[None, :]
    distances = (to - of, to + of + 1, 2 * LEVELS - 1 - to - of)
    kernel = sum(np.exp(-0.5 * (d / width) ** 2) for d in distances)
    return np.asarray(kernel / np.sum(kernel, axis=1, keepdims=True))


def dashes(y: Floats, cell: Ints, left: Floats, right: Floats, enough: Bools) -> Dashes | None:
    """Return the single local effects of bins that have too few rows for a density."""
    few = np.flatnonzero(~enough[cell])
    if len(few) == 0:
        return None
    k = cell[few]
    reach = np.minimum(0.25 * (right - left), 0.02 * (right[-1] - left[0]))[k]
    return Dashes(k, (left[k] + right[k]) / 2, reach, y[few])


def visible(y: Floats, low: float, high: float) -> tuple[float, float]:
    """Return the range in which to show local effects, at least from `low` to `high`.

    All of them, unless a few stand so far out that nothing else could be read.
    """
    if len(y) == 0:
        return low, high
    least, lower, upper, most = np.quantile(y, [0.0, SEEN, 1 - SEEN, 1.0])
    low, high = float(np.fmin(low, lower)), float(np.fmax(high, upper))
    if max(high, most) - min(low, least) <= 1.6 * (high - low):
        low, high = min(low, float(least)), max(high, float(most))
    return low, high


def rug(x: Floats, weight: Floats | None, *, exact: bool, ticks: int = TICKS) -> Rug:
    """Return ticks that show where the rows lie.

    Parameters
    ----------
    x : ndarray of float, shape (n,)
    weight : ndarray of float, shape (n,), optional
    exact : bool
        Whether these are all rows.
    ticks : int
        If there are more rows than this, the ticks are quantiles: equal weight lies between any two of them.

    Examples
    --------
    >>> import numpy as np
    >>> rug(np.arange(1001.0), None, exact=True, ticks=5)
    Rug(x=array([   0.,  250.,  500.,  750., 1000.]), label='quantiles of 1,001 rows')
    """
    there = np.isfinite(x) if weight is None else np.isfinite(x) & (weight > 0)
    x = x[there]
    n = len(x)
    if n <= ticks:
        return Rug(np.sort(x), "rows" if exact else f"a sample of {n:,} rows")
    order = np.argsort(x, kind="stable")
    x = x[order]
    share = np.arange(1, n + 1) / n
    if weight is not None:
        share = np.cumsum(weight[there][order])
        share /= share[-1]
    places = np.searchsorted(share, np.linspace(0.0, 1.0, ticks) - 1e-12)
    return Rug(
        x[np.minimum(places, n - 1)], f"quantiles of {n:,} {'' if exact else 'sampled '}rows"
    )
