"""Quantiles of mixtures: where a mixture's distribution function crosses a level, many rows at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from skedasis._types import Bools, Floats, Ints

_STEPS = 400
_ULP = 4 * float(np.finfo(float).eps)

Function = Callable[[Floats, Ints], Floats]
"""Of points, one for each of some rows, and the places of these rows: (m,), (m,) -> (m,)."""


def crossing(
    low: Floats, high: Floats, unit: Floats, excess: Function, density: Function
) -> Floats:
    """Return where functions that rise cross zero, each between its own two points.

    Newton's steps while they lead, halving where they do not.

    Parameters
    ----------
    low, high : ndarray of float, shape (n,)
        Points with zero between them.
    unit : ndarray of float, shape (n,)
        A length that is small on each row's scale: near 0 a root is exact to few units in the last place of this.
    excess : Function
        The function.
    density : Function
        Its derivative.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones(1)
    >>> root = crossing(0 * one, 2 * one, one, lambda x, _: x**2 - 2, lambda x, _: 2 * x)
    >>> float(root[0]) - 2**0.5
    0.0
    """
    low, high = low.copy(), high.copy()
    root = low + (high - low) / 2
    before = high - low
    rows = np.flatnonzero(high > low)
    for _ in range(_STEPS):
        if len(rows) == 0:
            break
        x = root[rows]
        over = excess(x, rows)
        below = over < 0
        low[rows], high[rows] = np.where(below, x, low[rows]), np.where(below, high[rows], x)
        new = _next(x, over, density(x, rows), low[rows], high[rows], before[rows])
        step = np.abs(new - x)
        root[rows], before[rows] = new, step
        enough = _ULP * np.maximum(np.abs(new), unit[rows])
        done = (over == 0) | (step <= enough) | (high[rows] - low[rows] <= enough)
        root[rows] = np.where(over == 0, x, root[rows])
        rows = rows[~done]
    return root


def _next(
    x: Floats, over: Floats, slope: Floats, low: Floats, high: Floats, before: Floats
) -> Floats:
    """Return the next points: Newton's where they stay inside and at least halve the step, else the middle."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        newton = x - over / slope
    leads = (newton > low) & (newton < high) & (np.abs(newton - x) <= before / 2)
    return np.where(leads, newton, low + (high - low) / 2)


def whole_crossing(low: Floats, high: Floats, excess: Callable[[Floats], Floats]) -> Floats:
    """Return the smallest whole numbers, from `low` to `high`, at which functions that rise are not negative."""
    low, high = np.floor(low), np.floor(high)
    while (low < high).any():
        middle = np.floor((low + high) / 2)
        below = excess(middle) < 0
        low, high = np.where(below & (low < high), middle + 1, low), np.where(below, high, middle)
    return high


def excess_of(small: Floats, right: Bools, weights: Floats, level: float, upper: bool) -> Floats:
    """Return a mixture's probability of at most x, less a level, without losing what is small.

    Parameters
    ----------
    small : ndarray of float, shape (S, m)
        The smaller of the two probabilities that a component gives to either side of x.
    right : ndarray of bool, shape (S, m)
        Whether that is the one above x.
    weights : ndarray of float, shape (S,)
    level : float
        The level; with `upper` what it lacks of 1.
    """
    w = weights[:, None]
    beside = np.where(right != upper, w, 0.0).sum(axis=0)
    base = level - beside if upper else beside - level
    # Components that are far apart leave a flat stretch: only what their tails differ by says where it is crossed.
    return base + (np.where(right, -w, w) * small).sum(axis=0)
