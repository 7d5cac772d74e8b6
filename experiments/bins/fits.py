"""The compared bins (by likelihood, by Eq. 13, effector's, equal) and their errors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from effector import utils
from effector.axis_partitioning import DynamicProgramming

import skedasis as sd
from experiments.bins.cases import Case, Floats
from skedasis.stats.ale_math import fill_from_neighbors

LIKELIHOOD = "likelihood"
SCHEMES: dict[str, sd.Optimal] = {
    LIKELIHOOD: sd.Optimal(criterion="likelihood"),
    "likelihood, constant": sd.Optimal(criterion="likelihood", slopes="constant"),
    "Eq. 13, 20": sd.Optimal(20, 0.2, 10, criterion="eq13"),
    "Eq. 13, 40": sd.Optimal(40, 0.2, 10, criterion="eq13"),
    "Eq. 13, 200": sd.Optimal(200, 0.2, 10, criterion="eq13"),
    "Eq. 13, default": sd.Optimal(50, 0.2, None, criterion="eq13"),
}
"""Ours, and Eq. 13: with the given K_max (10 rows per bin, alpha 0.2), and with the defaults, 50 and N / 20."""
EFFECTOR = "effector"
FIXED = range(2, 101)
ERRORS = ("∫ mean", "∫ std", "L_mu", "L_sigma")
"""Integrated absolute errors of mean and standard deviation of the slopes, and the papers' Eq. 18 and 19."""
_POINTS = 400
# Gauss and Legendre's rule with three points on each piece: exact for all the cases' curves but the sine.
_NODES, _SHARES = np.polynomial.legendre.leggauss(3)


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins that a method chose.

    Parameters
    ----------
    edges : ndarray, shape (K + 1,)
    slope, std : ndarray, shape (K,)
        Of the local effects; NaN where they are not known.
    trend : ndarray, shape (K,)
        By how much the slope changes per unit of x.
    """

    edges: Floats
    slope: Floats
    std: Floats
    trend: Floats

    def __len__(self) -> int:
        return len(self.slope)

    @classmethod
    def of(cls, effect: sd.Effect) -> Bins:
        """Return those of an effect."""
        bins = effect.bins
        if bins is None:
            raise TypeError("an accumulated effect has bins")
        edges = np.append(bins.left, bins.right[-1])
        return cls(
            edges, np.asarray(bins.effect), np.asarray(bins.std), np.asarray(bins.slope_change)
        )


def explained(x: Floats, d: Floats, scheme: sd.Optimal) -> sd.Effect:
    """Explain rows whose slopes are d."""

    def slope(X: Floats) -> Floats:
        return np.stack([X[:, 1], np.zeros(len(X))], axis=1)

    quantity = sd.prediction(lambda X: X[:, 0], slope=slope)
    return sd.explain(
        quantity, np.stack([x, d], axis=1), 0, method=sd.RHALE(bins=scheme), heterogeneity_rows=0
    )


def chosen(x: Floats, d: Floats) -> dict[str, Bins]:
    """Return the bins of each scheme that chooses; x in order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sd.BinningWarning)
        effect = explained(x, d, SCHEMES[LIKELIHOOD])
        out = {LIKELIHOOD: Bins.of(effect)}
        for name, scheme in SCHEMES.items():
            if name != LIKELIHOOD:
                out[name] = Bins.of(effect.rebin(scheme))
    out[EFFECTOR] = effectors(x, d)
    return out


def effectors(x: Floats, d: Floats) -> Bins:
    """Return effector's bins, as its `RHALE` finds them by default, with its own figures."""
    edges = DynamicProgramming().find_limits(x, d, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of means of no rows
        found = utils.compute_ale_params(x, d, edges)
    # Bins that effector filled from neighbours are recognised by their number of rows.
    few = found["points_per_bin"] < 2
    std = np.where(few, np.nan, np.sqrt(found["bin_variance"]))
    slope = np.where(found["points_per_bin"] < 1, np.nan, found["bin_effect"])
    return Bins(np.asarray(edges), slope, std, np.zeros(len(slope)))


def equal(x: Floats, d: Floats, counts: Sequence[int] = FIXED) -> dict[int, Bins]:
    """Return equal bins, for each number of them; x in order."""
    off = d - d.mean()
    sums, squares = (np.concatenate([[0.0], np.cumsum(v)]) for v in (off, off * off))
    out: dict[int, Bins] = {}
    for k in counts:
        edges = np.linspace(x[0], x[-1], k + 1)
        place = np.searchsorted(x, edges, side="left")
        place[-1] = len(x)
        n, total, square = (np.diff(a[place]) for a in (np.arange(len(x) + 1.0), sums, squares))
        safe = np.maximum(n, 1.0)
        left = np.maximum(square - total**2 / safe, 0.0)
        slope = np.where(n > 0, d.mean() + total / safe, np.nan)
        std = np.where(n > 1, np.sqrt(left / np.maximum(n - 1, 1.0)), np.nan)
        out[k] = Bins(edges, slope, std, np.zeros(k))
    return out


def errors(case: Case, bins: Bins) -> tuple[Floats, int]:
    """Return the four errors, and the number of bins that L_mu and L_sigma leave out: those without a variance.

    The integrated ones are taken over the axis from the smallest to the largest row and divided by its length; bins
    that hold too few rows are joined as the library joins them, by their neighbours.
    """
    at, share = _places(case, bins)
    cell = np.clip(np.searchsorted(bins.edges, at, side="right") - 1, 0, len(bins) - 1)
    mean, scatter = case.mean(at), case.scatter(at)
    middle = (bins.edges[:-1] + bins.edges[1:]) / 2
    slope = fill_from_neighbors(bins.slope)[cell] + bins.slope_change[cell] * (at - middle[cell])
    over = [
        share @ np.abs(slope - mean),
        share @ np.abs(np.nan_to_num(fill_from_neighbors(bins.std))[cell] - scatter),
    ]
    width = np.bincount(cell, share, len(bins))
    known = (width > 0) & ~np.isnan(bins.std)
    if not known.any():
        return np.array([*over, np.nan, np.nan]), len(bins)
    safe = np.where(width > 0, width, 1.0)
    true_mean = np.bincount(cell, share * mean, len(bins)) / safe
    true_std = np.sqrt(np.bincount(cell, share * scatter**2, len(bins)) / safe)
    of_bins = [np.abs(bins.slope - true_mean)[known], np.abs(bins.std - true_std)[known]]
    return np.array([*over, *(a.mean() for a in of_bins)]), int(np.sum(~known))


def _places(case: Case, bins: Bins) -> tuple[Floats, Floats]:
    """Return where errors are taken, and the share of each place; nothing jumps between two of them unseen."""
    low, high = bins.edges[0], bins.edges[-1]
    if case.values is not None:
        at = case.values[(case.values >= low) & (case.values <= high)]
        return at, np.full(len(at), 1 / len(at))
    breaks = np.asarray([b for b in case.breaks if low < b < high])
    ends = np.unique(np.concatenate([np.linspace(low, high, _POINTS + 1), bins.edges, breaks]))
    half = np.diff(ends)[:, None] / 2
    at = (ends[:-1, None] + half) + half * _NODES
    return at.ravel(), (half * _SHARES).ravel() / (high - low)
