"""Partitions of fine cells into bins: the exact optimum of Eq. 13, the greedy one, and the fewest bins of a curve.

The cost of a partition by Eq. 13 is a sum over its bins, so one array over the grid solves it; a table with the number
of bins as a second index, as the papers have it, is not needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skedasis.moments import Moments, WeightKind
from skedasis.typing import Floats, Ints


@dataclass(frozen=True)
class Criterion:
    """RHALE Eq. 13: ``(1 - alpha n_k / N) * variance_k * width_k``, infinite for bins with too few rows.

    Parameters
    ----------
    alpha : float
        The discount for populous bins.
    least : float
        The least weight of a bin, N_PPB.
    total : float
        N: the weight of all cells.
    ddof : int
        Delta degrees of freedom of the variance.
    kind : {"frequency", "sampling"}
        What weights mean.
    tie : float
        Costs that differ by less are equal.
    """

    alpha: float
    least: float
    total: float
    ddof: int = 1
    kind: WeightKind = "frequency"
    tie: float = 0.0

    def discount(self, weight: Floats) -> Floats:
        """Return tau_k."""
        return 1.0 - self.alpha * weight / self.total

    def cost(self, bins: Moments, widths: Floats) -> Floats:
        """Return each bin's share of the objective."""
        variance = bins.variance(self.ddof, self.kind)
        cost = self.discount(bins.weight) * variance * widths
        return np.where((bins.weight >= self.least) & ~np.isnan(variance), cost, np.inf)


def objective(edges: Floats, moments: Moments, kept: Ints, criterion: Criterion) -> float:
    """Return the cost of the partition whose edges are ``edges[kept]``."""
    return float(criterion.cost(moments.pool(kept[:-1]), np.diff(edges[kept])).sum())


def optimal_partition(edges: Floats, moments: Moments, criterion: Criterion) -> Ints | None:
    """Return the places of the edges that minimise the criterion, or None where no partition has enough rows.

    Parameters
    ----------
    edges : ndarray of float, shape (K + 1,)
    moments : Moments
        Of the local effects, per cell.
    criterion : Criterion

    Returns
    -------
    ndarray of int, shape (bins + 1,) or None

    Notes
    -----
    ``T(j) = min over l < j of T(l) + B(l, j)`` (Eq. 14). The moments of all bins that end at j grow from those that end
    at j - 1 by merging one cell, so no variance is ever a difference of large sums. O(K²) time, O(K) memory.

    Every bin is charged the tie's width on top of its cost. That makes ties go to fewer bins and stays additive.
    """
    k = len(moments.weight)
    best = np.full(k + 1, np.inf)
    best[0] = 0.0
    back = np.zeros(k + 1, dtype=np.int64)
    bins = _OpenBins(moments, criterion)
    for j in range(1, k + 1):
        enough = bins.grow(j - 1)
        if enough == 0:
            continue
        through = bins.discounted_variance(enough)
        through *= edges[j] - edges[:enough]
        through += best[:enough]
        back[j] = through.argmin()
        best[j] = through[back[j]] + criterion.tie
    if not np.isfinite(best[k]):
        return None
    kept = [k]
    while kept[-1] > 0:
        kept.append(int(back[kept[-1]]))
    return np.array(kept[::-1])


class _OpenBins:
    """The bins that end at the same cell, one for each cell to start at, while that cell moves to the right.

    `Moments.merge` in place: the arrays are this class's own, and are grown K times.
    """

    def __init__(self, moments: Moments, criterion: Criterion) -> None:
        self.cells, self.criterion = moments, criterion
        self.weight, self.mean, self.m2, self.weight2, self.count = np.zeros(
            (5, len(moments.weight))
        )
        # A bin of weight 1 has no variance.
        self.least = max(criterion.least, float(np.nextafter(1.0, 2.0)))
        self.enough = 0

    def grow(self, cell: int) -> int:
        """Add a cell to every bin that starts at it or before; return how many bins, from the left, hold enough."""
        cells = self.cells
        added = float(cells.weight[cell])
        if added > 0:
            upto = slice(0, cell + 1)
            weight, mean = self.weight[upto], self.mean[upto]
            weight += added
            before = cells.mean[cell] - mean
            step = (
                added / weight
            )  # exactly 1 for the bin that starts here: it takes the cell's mean as it is
            step *= before
            mean += step
            # Welford's form of the pairwise merge: the deviations from the old mean and from the new.
            step -= before
            step *= before
            step *= -added
            step += cells.m2[cell]
            self.m2[upto] += step
            if self.criterion.kind == "sampling":  # frequencies need neither
                self.weight2[upto] += cells.weight2[cell]
                self.count[upto] += cells.count[cell]
        # Bins that start further left hold more, and none ever loses any.
        while self.enough <= cell and self.weight[self.enough] >= self.least:
            self.enough += 1
        return self.enough

    def discounted_variance(self, enough: int) -> Floats:
        """Return tau_k * variance_k of the first bins, which are known to hold enough."""
        c, weight, m2 = self.criterion, self.weight[:enough], self.m2[:enough]
        tau = weight * (-c.alpha / c.total)
        tau += 1.0
        tau *= m2
        if c.kind == "frequency":
            tau /= weight - c.ddof
            return tau
        degrees = weight - c.ddof * self.weight2[:enough] / weight
        # One row, however heavy, has no variance.
        some = (self.count[:enough] > 1) & (degrees > 0)
        return np.where(some, tau / np.where(some, degrees, 1.0), np.inf)


def merge_greedily(edges: Floats, moments: Moments, criterion: Criterion) -> Ints | None:
    """Return the places of the edges that are left after merging neighbours while that lowers the criterion.

    Returns None where all cells together hold too few rows.

    Notes
    -----
    A merge's gain depends on its two bins only: after each merge two gains are computed anew.
    """
    kept = np.arange(len(edges))
    bins = moments
    while len(kept) > 2:
        widths = np.diff(edges[kept])
        cost = criterion.cost(bins, widths)
        merged = bins.take(slice(0, -1)).merge(bins.take(slice(1, None)))
        # Bins with too few rows have no cost yet. Their merges come first, cheapest first.
        starved = ~np.isfinite(cost)
        needed = starved[:-1] | starved[1:]
        width = widths[:-1] + widths[1:]
        variance = np.nan_to_num(merged.variance(criterion.ddof, criterion.kind))
        after = criterion.discount(merged.weight) * variance * width
        change = np.where(needed, after, after - np.where(needed, 0.0, cost[:-1] + cost[1:]))
        if needed.any():
            change[~needed] = np.inf
        # The leftmost of those that cost the same but for rounding.
        place = int(np.argmax(change <= change.min() + criterion.tie))
        if not needed.any() and change[place] > criterion.tie:
            break
        kept = np.delete(kept, place + 1)
        bins = moments.pool(kept[:-1])
    return kept if np.isfinite(criterion.cost(bins, np.diff(edges[kept]))).all() else None


def fewest_bins(edges: Floats, curve: Floats, weight: Floats, tolerance2: float) -> Ints:
    """Return the fewest unions of cells whose polyline through a curve is near enough to it.

    Parameters
    ----------
    edges, curve : ndarray of float, shape (K + 1,)
        A piecewise linear curve.
    weight : ndarray of float, shape (K,)
        Weight of the rows in each cell.
    tolerance2 : float
        Largest squared distance: the mean over the cells, by weight, of the exact integral of the squared difference
        of the two piecewise linear functions, each about its own mean.

    Returns
    -------
    ndarray of int, shape (bins + 1,)
        Which edges stay. Among partitions with as few bins, the one with the smallest distance.

    Notes
    -----
    An effect is defined up to a constant, so the distance is that of the centred functions: with A the mean of the
    squared difference and B the mean difference, A - B². For a given offset c, A - 2 c B + c² is a sum over the bins,
    and dynamic programming over (number of bins, cell) finds its minimum in O(bins K²) (DESIGN 4.5). Its minimum over
    the partitions is the lower envelope of lines in c, plus c²; a search of the envelope finds the best offset exactly.

    Examples
    --------
    >>> fewest_bins(np.arange(5.0), np.array([0.0, 1, 2, 1, 0]), np.ones(4), 1e-6)
    array([0, 2, 4])
    """
    size = len(edges) - 1
    share = weight / max(float(weight.sum()), np.finfo(float).tiny)
    polylines = _Polylines(*_chords(edges, curve, share))
    reach = float(np.ptp(curve))
    for bins in range(1, size):
        nearest = polylines.nearest(bins, reach, tolerance2)
        if nearest.distance2 <= tolerance2:
            return polylines.edges_of(nearest)
    return np.arange(size + 1)


@dataclass(frozen=True)
class _Polyline:
    """The means of the squared difference of a polyline to the curve, and of the difference.

    It is the lowest one of `bins` bins when it is moved by `moved`.
    """

    bins: int
    moved: float
    square: float
    offset: float

    @property
    def distance2(self) -> float:
        """Return the squared distance of the centred functions."""
        return self.square - self.offset**2

    def at(self, offset: float) -> float:
        """Return the mean squared difference when the polyline is moved by an offset, less the offset's square."""
        return self.square - 2 * offset * self.offset


class _Lowest:
    """Polylines from the first edge to each edge, by number of bins: the lowest ones when moved by an offset."""

    def __init__(self, squares: Floats, offsets: Floats, offset: float) -> None:
        self.squares, self.offsets = squares, offsets
        self.cost = squares - 2 * offset * offsets
        self.square, self.offset, self.least = [squares[0]], [offsets[0]], self.cost[0]
        self.begins = [np.zeros(len(squares), dtype=np.int64)]

    def extend(self, bins: int) -> None:
        """Find the polylines of up to so many bins."""
        ends = np.arange(len(self.cost))
        while len(self.begins) < bins:
            table = self.least[:, None] + self.cost
            begins = table.argmin(axis=0)
            self.least = table[begins, ends]
            self.square.append(self.square[-1][begins] + self.squares[begins, ends])
            self.offset.append(self.offset[-1][begins] + self.offsets[begins, ends])
            self.begins.append(begins)


class _Polylines:
    """Polylines through edges of a curve, by number of bins and offset.

    Parameters
    ----------
    squares, offsets : ndarray of float, shape (K + 1, K + 1)
        What the chord between two edges adds to the two means of a polyline; infinite and zero for a >= b.
    """

    def __init__(self, squares: Floats, offsets: Floats) -> None:
        self.squares, self.offsets = squares, offsets
        self.rounding = 1e-13 * float(squares[np.isfinite(squares)].max(initial=0.0))
        self._tried: dict[float, _Lowest] = {}

    def nearest(self, bins: int, reach: float, enough: float) -> _Polyline:
        """Return the nearest of all polylines of so many bins; any of them where none is as near as `enough`.

        Parameters
        ----------
        bins : int
        reach : float
            The mean difference of no polyline is larger.
        enough : float
            A squared distance.
        """
        left, right = self.lowest(bins, -reach), self.lowest(bins, reach)
        best = min((self.lowest(bins, 0.0), left, right), key=lambda p: p.distance2)
        intervals = [(left, right)]
        while intervals:
            left, right = intervals.pop()
            a, b = left.moved, right.moved
            # Lines bound their envelope from above; it is concave, so that its own chord bounds it from below.
            slope = (right.at(b) - left.at(a)) / (b - a) if b > a else 0.0
            c = min(max(-slope / 2, a), b)
            bound = left.at(a) + slope * (c - a) + c**2
            hopeless = bound > enough + self.rounding or bound >= best.distance2 - self.rounding
            if hopeless or left.offset == right.offset:
                continue
            crossing = (left.square - right.square) / (2 * (left.offset - right.offset))
            if not a < crossing < b:
                continue
            # An offset that fewer bins were tried at costs one more step, a new one costs all steps.
            tried = (c for c in self._tried if a < c < b)
            c = min(tried, key=lambda c: abs(c - crossing), default=crossing)
            middle = self.lowest(bins, c)
            best = min(best, middle, key=lambda p: p.distance2)
            if c != crossing or middle.at(c) < left.at(c) - self.rounding:
                intervals += [(left, middle), (middle, right)]
        return best

    def lowest(self, bins: int, offset: float) -> _Polyline:
        """Return the polyline of so many bins whose mean squared difference is least when moved by an offset."""
        if offset not in self._tried:
            self._tried[offset] = _Lowest(self.squares, self.offsets, offset)
        found = self._tried[offset]
        found.extend(bins)
        square, mean = found.square[bins - 1][-1], found.offset[bins - 1][-1]
        return _Polyline(bins, offset, float(square), float(mean))

    def edges_of(self, polyline: _Polyline) -> Ints:
        """Return the edges through which a polyline goes, (bins + 1,)."""
        kept = [len(self.squares) - 1]
        for begins in reversed(self._tried[polyline.moved].begins[: polyline.bins]):
            kept.append(int(begins[kept[-1]]))
        return np.array(kept[::-1])


def _chords(edges: Floats, curve: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Return what each chord of a curve adds to the mean squared and the mean difference, (K + 1, K + 1) each.

    Relative to the chord's first corner the curve has corners (u, g). Its difference from a chord of slope s is
    s u - g, linear within each cell, so its square integrates to sums of u u', u g' and g g'.
    """
    count = len(edges)
    squares, offsets = np.full((count, count), np.inf), np.zeros((count, count))
    for a in range(count - 1):
        u, g = edges[a:] - edges[a], curve[a:] - curve[a]
        n = share[a:]
        uu, ug, gg = (
            np.cumsum(
                n * (2 * p[:-1] * q[:-1] + 2 * p[1:] * q[1:] + p[:-1] * q[1:] + p[1:] * q[:-1])
            )
            / 6
            for p, q in ((u, u), (u, g), (g, g))
        )
        along, off = (np.cumsum(n * (p[:-1] + p[1:])) / 2 for p in (u, g))
        slope = g[1:] / u[1:]
        squares[a, a + 1 :] = np.maximum(slope**2 * uu - 2 * slope * ug + gg, 0.0)
        offsets[a, a + 1 :] = slope * along - off
        # A chord across one cell is the curve itself.
        squares[a, a + 1] = offsets[a, a + 1] = 0.0
    return squares, offsets
