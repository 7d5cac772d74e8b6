"""Grids and cells of a numeric axis, and the cell of each row.

A bucket's number grows with the value (subtraction, multiplication and truncation all preserve order in floating
point), so a value is greater than every edge in a lower bucket and smaller than every edge in a higher one. Only values
that share a bucket with an edge, or with a wanted rank, have to be compared: a few in a hundred.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skedasis._types import Bools, Floats, Ints, Side

# ------------------------------------------------------------------------------------------
# Buckets: exact order statistics and exact cells without sorting.


BUCKETS = 4096


_MANY = 32_768
"""Buckets for many edges: few values still share one with an edge, and the tables stay in the cache."""


_FEW = 2048
"""Below so many values NumPy's own search is as fast."""


def bucket(x: Floats, low: float, high: float, count: int = BUCKETS) -> Ints | None:
    """Return each value's bucket in 0..count, or None where the range cannot be cut up.

    Parameters
    ----------
    x : ndarray of float, shape (n,)
        Values between `low` and `high`.
    """
    with np.errstate(over="ignore", divide="ignore"):
        scale = count / np.float64(high - low)
    if not np.isfinite(scale) or scale <= 0:
        return None
    code = x - low
    code *= scale
    # Rounding can only lift the largest value into the bucket behind the last.
    # Indices of NumPy's own width: narrower ones are cast again at every use.
    return code.astype(np.int64)


def order_statistics(
    x: Floats, low: float, high: float, ranks: Ints, code: Ints | None = None
) -> Floats:
    """Return the values at the given ranks of the sorted values (from 0).

    Parameters
    ----------
    x : ndarray of float, shape (n,)
    low, high : float
        Smallest and largest value.
    ranks : ndarray of int
        Non-decreasing.
    code : ndarray of int, optional
        Of `bucket`, where it is known already.
    """
    if code is None and len(x) > _FEW:
        code = bucket(x, low, high)
    if code is None:
        return np.partition(x, np.unique(ranks))[ranks]
    reached = np.cumsum(np.bincount(code, minlength=BUCKETS + 1))
    wanted = np.searchsorted(reached, ranks, side="right")
    asked = np.zeros(BUCKETS + 1, dtype=bool)
    asked[wanted] = True
    some = np.sort(x[asked.take(code)])
    # Ranks among the sorted few: what lies in buckets that were not asked for is skipped.
    size = np.diff(reached, prepend=0)
    skipped = np.cumsum(np.where(asked, 0, size))
    return some[ranks - skipped[wanted]]


def locate(
    inner: Floats, x: Floats, low: float, high: float, closed: Side, code: Ints | None = None
) -> Ints:
    """Return for each value how many inner edges lie below it: its cell.

    Equals ``np.searchsorted(inner, x, side="right" if closed == "left" else "left")``. Values beyond [low, high] are
    allowed if both are inner edges: they then share the end buckets with them, and are compared. `code` is that of
    `bucket`, where it is known already.
    """
    side = "right" if closed == "left" else "left"
    few = len(x) <= _FEW or not 0 < len(inner) < _MANY // 8
    count = BUCKETS
    if len(inner) >= BUCKETS // 8:
        # Tables of this size are only worth making for many values.
        few, count, code = few or len(x) < _MANY // 2, _MANY, None
    edge = None if few else bucket(inner, low, high, count)
    if code is None and not few:
        beyond = inner[0] == low and inner[-1] == high
        code = bucket(np.clip(x, low, high) if beyond else x, low, high, count)
    if few or code is None or edge is None:
        return np.searchsorted(inner, x, side=side)
    shared: Bools = np.zeros(count + 1, dtype=bool)
    shared[edge] = True
    table = np.searchsorted(edge, np.arange(count + 1), side="left")
    cell = table.take(code)
    unsure = np.flatnonzero(shared.take(code))
    if 2 * len(unsure) > len(x):  # long tails: nearly all values lie in few buckets
        return np.searchsorted(inner, x, side=side)
    cell[unsure] = np.searchsorted(inner, x[unsure], side=side)
    return cell


# ------------------------------------------------------------------------------------------
# Cells: the pieces of a feature's axis, and which row lies in which.


EVERY_JUMP = "both sides of every jump"
"""What is said of a grid that misses nothing of a step function."""


OUTSIDE = -1
"""The cell of a row that lies in none: missing, or beyond the edges."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Neighbouring intervals ``[z_{k-1}, z_k)`` (closed left) or ``(z_{k-1}, z_k]`` (closed right).

    The end interval on the open side takes its edge in: every value from ``z_0`` to ``z_K`` lies in exactly one cell.

    Parameters
    ----------
    edges : ndarray of float, shape (K + 1,)
        Strictly increasing. One edge alone stands for a constant feature: no cell.
    closed : {"left", "right"}
        The side that belongs to a cell.
    """

    edges: Floats
    closed: Side = "left"

    def __len__(self) -> int:
        return max(len(self.edges) - 1, 0)

    @property
    def widths(self) -> Floats:
        """Return the cells' widths, shape (K,)."""
        return np.diff(self.edges)

    def locate(self, x: Floats) -> Ints:
        """Return each value's cell, or `OUTSIDE` for NaN and for values beyond the edges.

        Parameters
        ----------
        x : ndarray of float, shape (n,)

        Returns
        -------
        ndarray of int, shape (n,)
        """
        if len(self) == 0:
            return np.full(len(x), OUTSIDE, dtype=np.int64)
        low, high = float(self.edges[0]), float(self.edges[-1])
        # NaN compares false with both ends, so it falls out here with the values beyond them.
        inside = (x >= low) & (x <= high)
        if inside.all():
            return locate(self.edges[1:-1], x, low, high, self.closed)
        cell = np.full(len(x), OUTSIDE, dtype=np.int64)
        cell[inside] = locate(self.edges[1:-1], x[inside], low, high, self.closed)
        return cell

    def keep(self, kept: Ints) -> Cells:
        """Return the coarser cells whose edges are ``edges[kept]``."""
        return Cells(self.edges[kept], self.closed)


@dataclass(frozen=True, eq=False)
class Grid:
    """The points at which a PDP or an ICE curve is evaluated.

    Parameters
    ----------
    points : ndarray of float, shape (m,)
        Strictly increasing.
    chosen : str
        How they were chosen, for the provenance.
    share : ndarray of float, shape (m,), optional
        What each counts in the mean of a curve; None means alike.
    """

    points: Floats
    chosen: str = "given"
    share: Floats | None = None

    def __len__(self) -> int:
        return len(self.points)

    def locate(self, x: Floats) -> Ints:
        """Return how many points lie at or below each value: 0 before the first, m from the last on. No NaN."""
        return locate(self.points, x, float(self.points[0]), float(self.points[-1]), "left")


def widths_share(points: Floats) -> Floats:
    """Return what points count in a mean over the axis: half the gaps on both sides, as shares."""
    gaps = np.diff(points)
    share = np.zeros(len(points))
    share[:-1] += gaps / 2
    share[1:] += gaps / 2
    total = share.sum()
    return share / total if total > 0 else np.full(len(points), 1 / max(len(points), 1))


def uniform_edges(low: float, high: float, k: int) -> Floats:
    """Return k + 1 equidistant edges, exact at both ends, without the ones that rounding made equal."""
    edges = divided(low, high, np.arange(k + 1), np.full(k + 1, k))
    edges[0], edges[-1] = low, high
    return distinct(edges)


def divided(low: float, high: float, part: Ints, whole: Ints) -> Floats:
    """Return the points at part/whole of the way, written so that those which are whole numbers come out whole.

    Rows often lie on such points, and an edge a hair above one puts it into the wrong cell. Fractions are reduced
    first: 1/3 and 2/6 are the same point.
    """
    common = np.gcd(part, whole)
    part, whole = part // common, whole // common
    # Between ends that are close, or the same, rounding may step over them.
    return np.clip((low * (whole - part) + high * part) / whole, low, high)


def distinct(values: Floats) -> Floats:
    """Return the sorted distinct values."""
    return np.unique(np.asarray(values, dtype=float))
