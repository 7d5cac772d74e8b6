"""How far bins are from the truth: L^mu, L^sigma and L^rho of section 4.2 (RHALE Eq. 18, 19; UALE likewise).

The truth is what many rows say in many narrow bins (`Dense`). Over a bin ``[a, b]`` of the estimate it is

    mu       the mean of the dense means,
    sigma    sqrt(the mean of the dense variances),
    E        sqrt(the mean of (dense mean - mu)²), the bin error of Theorem 1,

each weighted by how much of a dense bin lies within [a, b]. The losses are means over the K bins of the estimate of
``|mu - its mean|``, ``|sigma - its standard deviation|`` and ``E``, whatever the bins' widths: a bin of half the axis
counts as much as one of a fortieth. Bins without rows have neither mean nor standard deviation, bins of one row have no
standard deviation: both are left out of all three losses, and counted. (RHALE writes 1/|Z| for L^rho, which with
K + 1 edges is one bin too many; all three are averaged over bins here.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

import skedasis as sd

Floats = NDArray[np.float64]
NAMES = ("L^mu", "L^sigma", "L^rho")


@dataclass(frozen=True, eq=False)
class Dense:
    """The truth of one feature: mean and standard deviation of its slopes in narrow bins.

    Parameters
    ----------
    edges : ndarray, shape (K + 1,)
    effect, std : ndarray, shape (K,)
        NaN where a bin has too few rows to know. Such bins take no part in a mean.
    """

    edges: Floats
    effect: Floats
    std: Floats

    @classmethod
    def of(cls, effect: sd.Effect) -> Dense:
        """Return what the bins of an effect say: ``Dense.of(sd.explain(q, X, 0, method=sd.DALE(bins=1000)))``."""
        bins = effect.bins
        if bins is None:
            raise TypeError("an accumulated effect has bins")
        return cls(np.append(bins.left, bins.right[-1]), bins.effect, bins.std)

    def between(self, left: Floats, right: Floats) -> tuple[Floats, Floats, Floats]:
        """Return mu, sigma and E over each bin [left, right]; NaN over a bin of which nothing is known.

        Parameters
        ----------
        left, right : ndarray, shape (m,)

        Returns
        -------
        tuple of three ndarray, shape (m,)
        """
        low, high = self.edges[:-1], self.edges[1:]
        shared = np.minimum(right[:, None], high) - np.maximum(left[:, None], low)
        shared = np.maximum(shared, 0.0)
        mu = _mean(self.effect, shared)
        sigma = np.sqrt(_mean(self.std**2, shared))
        about = np.where(np.isnan(mu), 0.0, mu)[:, None]
        residual = np.sqrt(_mean((self.effect - about) ** 2, shared))
        return mu, sigma, residual


@dataclass(frozen=True)
class Losses:
    """The three losses of one estimate, and how many of its bins they rest on.

    Parameters
    ----------
    mu, sigma, rho : float
        NaN if no bin has two rows.
    bins, empty, single : int
        All bins; those without a row, and those with one row, which are left out.
    """

    mu: float
    sigma: float
    rho: float
    bins: int
    empty: int
    single: int

    @classmethod
    def of(cls, effect: sd.Effect, truth: Dense) -> Losses:
        """Return the losses of an effect's bins."""
        bins = effect.bins
        if bins is None:
            raise TypeError("an accumulated effect has bins")
        mu, sigma, residual = truth.between(bins.left, bins.right)
        errors = np.array([np.abs(mu - bins.effect), np.abs(sigma - bins.std), residual])
        some = (bins.count > 1) & np.isfinite(errors).all(axis=0)
        means = errors[:, some].mean(axis=1) if some.any() else np.full(3, np.nan)
        empty, single = (int(np.sum(bins.count == few)) for few in (0, 1))
        return cls(*means.tolist(), len(bins), empty, single)


def table(runs: Iterable[Losses]) -> Floats:
    """Return the losses of many runs, shape (runs, 6): mu, sigma, rho, bins, empty, single."""
    return np.array([astuple(losses) for losses in runs], dtype=float)


def along(effect: sd.Effect, truth: Dense, density: Floats | None = None) -> tuple[float, float]:
    """Return the mean absolute errors of slope and of standard deviation along the axis.

    The estimate at x is its bin's (on the bin's line, where slopes change linearly), the truth at x the dense bin's.
    Unlike the losses above this does not depend on how the axis is cut: a wide bin counts as wide, and a bin over which
    the slope changes is penalised for the variation that it hides.

    Parameters
    ----------
    effect : Effect
    truth : Dense
    density : ndarray, shape (dense bins,), optional
        What each dense bin counts: its width by default; its rows, for an error at the rows.
    """
    bins = effect.bins
    if bins is None:
        raise TypeError("an accumulated effect has bins")
    x = (truth.edges[:-1] + truth.edges[1:]) / 2
    place = np.clip(np.searchsorted(bins.right, x), 0, len(bins) - 1)
    middle = (bins.left + bins.right)[place] / 2
    slope = bins.effect[place] + bins.slope_change[place] * (x - middle)
    errors = np.abs(slope - truth.effect), np.abs(bins.std[place] - truth.std)
    inside = (x >= bins.left[0]) & (x <= bins.right[-1])
    weights = np.where(inside, np.diff(truth.edges) if density is None else density, 0.0)
    parts = [float(_mean(error, weights[None])[0]) for error in errors]
    return parts[0], parts[1]


def _mean(values: Floats, weights: Floats) -> Floats:
    """Return means of the known values: (K,) or (m, K), weighted by (m, K) -> (m,)."""
    known = np.isfinite(values)
    weights = np.where(known, weights, 0.0)
    total = weights.sum(axis=1)
    sums = (np.where(known, values, 0.0) * weights).sum(axis=1)
    return np.where(total > 0, sums / np.where(total > 0, total, 1.0), np.nan)
