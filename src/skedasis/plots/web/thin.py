"""Curves with fewer points, that nobody can tell from the curves themselves."""

from __future__ import annotations

import numpy as np

from skedasis._types import Bools, Floats


def thinned(x: Floats, y: Floats, tolerance: float) -> Bools:
    """Return which points of curves suffice for straight lines between them to miss none of the others.

    Parameters
    ----------
    x : ndarray of float, shape (m,) or (r, m)
    y : ndarray of float, shape (r, m)
    tolerance : float
        How far the lines may pass above or below a point that is left out.

    Returns
    -------
    ndarray of bool, shape (r, m)

    Notes
    -----
    Neighbouring stretches of 1, 2, 4, … steps are joined as long as all points between keep to the tolerance: no
    error adds up, and all curves are treated at once. The cost is O(r m log m).

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([[0.0, 1.0, 2.0, 3.0, 9.0]])
    >>> thinned(np.arange(5.0), y, 0.1).tolist()
    [[True, False, True, True, True]]
    """
    x = np.broadcast_to(x, y.shape)
    rows, m = y.shape
    kept = np.ones((rows, m), dtype=bool)
    whole = np.ones((rows, m - 1), dtype=bool)
    k = 1
    while 2 * k < m:
        pairs = (m - 1) // (2 * k)
        whole = whole[:, : 2 * pairs : 2] & whole[:, 1 : 2 * pairs : 2]
        whole &= _straight(x, y, pairs, 2 * k, tolerance)
        row, pair = np.nonzero(whole)
        kept[row, 2 * k * pair + k] = False
        k *= 2
    return kept


def _straight(x: Floats, y: Floats, pairs: int, k: int, tolerance: float) -> Bools:
    """Return which stretches of k steps are straight."""
    rows = len(y)
    inner_x = x[:, : pairs * k].reshape(rows, pairs, k)
    inner_y = y[:, : pairs * k].reshape(rows, pairs, k)
    first_x, first_y = inner_x[..., :1], inner_y[..., :1]
    end_x = x[:, k : pairs * k + 1 : k, None]
    end_y = y[:, k : pairs * k + 1 : k, None]
    span = end_x - first_x
    share = (inner_x - first_x) / np.where(span == 0, 1.0, span)
    # What is not finite is never straight.
    with np.errstate(invalid="ignore"):
        off = np.abs(inner_y - first_y - share * (end_y - first_y))
    return np.all(off <= tolerance, axis=2)
