"""Cells: the pieces of a feature's axis, and which row lies in which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skedasis.data.buckets import locate
from skedasis.typing import Floats, Ints, Side

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
