"""How well predictions fit labels: the usual figures, with weights, on arrays. No library but NumPy."""

from __future__ import annotations

import math

import numpy as np

from skedasis._types import Floats, Ints

Z95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""


def squared(y: Floats, predicted: Floats, weight: Floats) -> tuple[float, float]:
    """Return the mean squared error, and the variance of the labels about their mean."""
    mean = float(np.average(y, weights=weight))
    error = float(np.average((y - predicted) ** 2, weights=weight))
    return error, float(np.average((y - mean) ** 2, weights=weight))


def absolute(y: Floats, predicted: Floats, weight: Floats) -> float:
    """Return the mean absolute error."""
    return float(np.average(np.abs(y - predicted), weights=weight))


def log_loss(place: Ints, probability: Floats, weight: Floats) -> float:
    """Return the mean negative log probability of the labels, in nats.

    Parameters
    ----------
    place : ndarray of int, shape (n,)
        Each row's class, as a column of `probability`.
    probability : ndarray of float, shape (n, classes)
        Raised to the unit round-off of its type where it is smaller, as `skedasis.nll` does.
    weight : ndarray of float, shape (n,)
    """
    kind = probability.dtype.name if probability.dtype.kind == "f" else "float64"
    eps = float(np.finfo(kind).eps)
    own = np.clip(probability[np.arange(len(place)), place].astype(float), eps, 1.0)
    return float(np.average(-np.log(own), weights=weight))


def auc(positive: Floats, score: Floats, weight: Floats) -> float:
    """Return the chance that a row of the class has a higher score than one of the other; equal ones count half.

    Parameters
    ----------
    positive : ndarray of float, shape (n,)
        1 where the row is of the class, else 0.
    score, weight : ndarray of float, shape (n,)

    Returns
    -------
    float
        NaN where there is but one class.
    """
    _, place = np.unique(score, return_inverse=True)
    yes = np.bincount(place, weight * positive)
    no = np.bincount(place, weight * (1 - positive))
    pairs = float(yes.sum() * no.sum())
    below = np.cumsum(no) - no
    return float(yes @ (below + no / 2)) / pairs if pairs > 0 else math.nan


def wilson(share: Floats, n: Floats, z: float = Z95) -> tuple[Floats, Floats]:
    """Return the ends of Wilson's interval of shares of n rows each; n need not be whole.

    Examples
    --------
    >>> import numpy as np
    >>> low, high = wilson(np.array([0.0, 0.5]), np.array([10.0, 100.0]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.404], [0.278, 0.596])
    """
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # At 0 and 1 rounding would put the end beside the share itself.
    low = np.where(share == 0, 0.0, np.maximum(centre - half, 0.0))
    high = np.where(share == 1, 1.0, np.minimum(centre + half, 1.0))
    return low, high


def equal_counts(score: Floats, weight: Floats, bins: int) -> Ints:
    """Return each row's bin, of about equal weight; rows of the same score are never parted.

    Examples
    --------
    >>> import numpy as np
    >>> equal_counts(np.array([0.1, 0.9, 0.2, 0.2]), np.ones(4), 2).tolist()
    [0, 1, 1, 1]
    """
    values, place = np.unique(score, return_inverse=True)
    mass = np.bincount(place, weight)
    before = np.cumsum(mass) - mass
    # A value belongs where the middle of its rows lies.
    middle = (before + mass / 2) / mass.sum()
    part = np.minimum((bins * middle).astype(np.int64), bins - 1)
    _, part = np.unique(part, return_inverse=True)
    return part[place] if len(values) else place
