"""Partitions of fine cells into bins: RHALE's Eq. 13, penalized likelihood, greedy merging, refinement of edges.

The cost of a partition by Eq. 13 is a sum over its bins, so one array over the grid solves it; a table with the number
of bins as a second index, as the papers have it, is not needed.

RHALE's Eq. 13 sums the bins' variances, and needs a least number of rows and a discount to know when to stop. Here a
partition is judged by how well its bins describe the local effects: a bin costs its deviance, ``n log(variance)``, and
a price that pure chance would not pay. So there is nothing to set: where slopes are constant one bin is left, and
jumps, slopes that change steadily, and regions of other scatter are found where the data show them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments, WeightKind

# ------------------------------------------------------------------------------------------
# Partitions of fine cells into bins: the exact optimum of Eq. 13, the greedy one, and the fewest bins of a curve.


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


# ------------------------------------------------------------------------------------------
# Partitions of fine cells by their risk: bins whose slopes are constant or linear, with a price for each bin.


PRICE = (1.5, 8.0)
"""A bin costs ``1.5 log(N / bins) + 8``: with so much, fewer than one in twenty constant effects is ever divided. The
more bins there are already, the less a further one has to prove (Birgé & Massart's form)."""


TREND = 1.0
"""A linear slope in place of a constant one costs ``log N`` and this."""


LEAST = 5.0
"""Rows of a bin, at least: fewer have no variance to speak of."""


PRIOR = 3.0
"""So many rows' worth of the scatter nearby are added to each bin: a handful of equal slopes is no certainty."""


_CLIP, _NEAR, _WIDE, _LONE, _ROWS = 3.5, 2, 25, 8, 4
"""Outliers are cut at 3.5 deviations from the median of 2 cells on either side; the scatter is the median over 25
cells on either side; cells of at least 8 rows tell their own scatter; up to 4 rows of a cell may be outliers."""


_TIED, _STRAY = 0.2, 0.005
"""Slopes have few values where a fifth of the cells equals a neighbour; less than 0.5 % other ones are outliers."""


_GAUSS = 1.55
"""What the kurtosis of residuals from a running median comes to if they are normal, as (kurtosis - 1) / 2."""


_HEAVIEST = 10.0


_BLOCK = 32


@dataclass(frozen=True, eq=False)
class Points:
    """What is known of the cells, those without rows left out; each array has shape (m,).

    Parameters
    ----------
    weight : ndarray of float
        How many rows a cell counts for.
    mean, m2 : ndarray of float
        Of the local effects: mean, and sum of squared deviations.
    x, xx, xd : ndarray of float, optional
        Of the feature: mean, sum of squared deviations, and of their products with those of the local effects. None
        where there is no axis.
    """

    weight: Floats
    mean: Floats
    m2: Floats
    x: Floats | None = None
    xx: Floats | None = None
    xd: Floats | None = None

    def __len__(self) -> int:
        return len(self.weight)

    def take(self, index: Ints | slice) -> Points:
        """Return some of the cells."""
        x, xx, xd = (None if a is None else a[index] for a in (self.x, self.xx, self.xd))
        return Points(self.weight[index], self.mean[index], self.m2[index], x, xx, xd)


@dataclass(frozen=True)
class Risk:
    """How partitions are judged.

    Parameters
    ----------
    least : float
        The least weight of a bin.
    linear : bool
        Whether slopes may change linearly within a bin.
    floor : float
        The variance below which there is only rounding.
    """

    least: float = LEAST
    linear: bool = True
    floor: float = 0.0


@dataclass(frozen=True, eq=False)
class Partition:
    """Bins as unions of cells.

    Parameters
    ----------
    starts : ndarray of int, shape (bins + 1,)
        The first cell of each bin, and behind the last the number of cells.
    trend : ndarray of bool, shape (bins,)
        Whether the slope changes linearly within the bin.
    """

    starts: Ints
    trend: Bools


def risk_partition(points: Points, noise: Noise, risk: Risk) -> Partition:
    """Return the partition that minimises the sum of its bins' costs and prices.

    Parameters
    ----------
    points : Points
        At least one cell; outliers cut (`Noise.cut`).
    noise : Noise
    risk : Risk

    Notes
    -----
    The cost is a sum over bins, so one array over the cells finds the minimum exactly, as for Eq. 14: O(m²) time. A
    bin costs ``n log v``, twice the negative log-likelihood of normal slopes, v being the variance about its mean or,
    if that pays, about its line. With heavy tails prices rise, for the deviance of variances scatters more. The price
    depends on the number of bins: it is set for one bin, and again for as many as were found, while they become more.
    """
    total = float(points.weight.sum())
    # Sums of squares over all rows are exact to so much: what is below that is no scatter.
    rounding = total * np.finfo(float).eps * float(np.ptp(points.mean)) ** 2
    near = np.maximum(noise.at(points), rounding)
    trend = noise.tails * (np.log(max(total, 2.0)) + TREND)
    cost = _costs(points, near, noise.prior, risk, trend)
    bins, found = 1, np.array([0, len(points)])
    for _ in range(4):
        found = _cheapest(cost, noise.tails * (PRICE[0] * np.log(total / bins) + PRICE[1]))
        if len(found) - 1 <= bins:
            break
        bins = len(found) - 1
    found = _joined(points, found, rounding)
    return Partition(found, _trends(points, near, noise.prior, found, trend, risk))


def _joined(points: Points, starts: Ints, rounding: float) -> Ints:
    """Return the starts without those between bins whose slopes are all the same: only rounding can divide these."""
    kept = [starts[0]]
    for start, end in pairwise(starts[1:]):
        both = points.take(slice(kept[-1], end))
        away = both.mean - np.average(both.mean, weights=both.weight)
        if float(both.weight @ away**2 + both.m2.sum()) > rounding * float(both.weight.sum()):
            kept.append(start)
    return np.array([*kept, starts[-1]])


def _trends(
    points: Points, near: Floats, prior: float, starts: Ints, price: float, risk: Risk
) -> Bools:
    """Return in which bins a linear slope pays."""
    out = np.zeros(len(starts) - 1, dtype=bool)
    if not risk.linear or points.x is None:
        return out
    for k, (a, b) in enumerate(pairwise(starts)):
        one = _Sums.of(points.take(slice(a, b)), near[a:b], prior)
        constant, linear = one.deviances(np.array([0]), np.array([b - a]))
        out[k] = linear[0, 0] + price < constant[0, 0]
    return out


def _cheapest(cost: Floats, price: float) -> Ints:
    """Return where the bins of the cheapest partition start; ``cost[j - 1, l]`` is that of cells l to j - 1."""
    m = len(cost)
    best, back = np.zeros(m + 1), np.zeros(m + 1, dtype=np.int64)
    for j in range(1, m + 1):
        through = best[:j] + cost[j - 1, :j]
        back[j] = through.argmin()
        best[j] = through[back[j]] + price
    starts = [m]
    while starts[-1] > 0:
        starts.append(int(back[starts[-1]]))
    return np.array(starts[::-1])


def _costs(cells: Points, near: Floats, prior: float, risk: Risk, trend: float) -> Floats:
    """Return the costs of all bins, (m, m): by the last cell and the first."""
    m = len(cells)
    out = np.full((m, m), np.inf)
    for first in range(0, m, _BLOCK):
        # Sums start anew at each block, at its own level: what lies before it costs no digits.
        sums = _Sums.of(cells.take(slice(first, m)), near[first:], prior)
        size = min(_BLOCK, m - first)
        start, end = np.arange(size), np.arange(1, m - first + 1)
        cost, linear = sums.deviances(start, end)
        if risk.linear and cells.x is not None:
            linear += trend
            np.minimum(cost, linear, out=cost)
        enough = sums.weight[end] - sums.weight[start, None] >= risk.least
        enough |= (start[:, None] + first == 0) & (end + first == m)  # one bin is always there
        out[first:, first : first + size] = np.where(
            enough & (end > start[:, None]), cost, np.inf
        ).T
    return out


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums over the cells before each edge, (m + 1,), of effects and axis measured from the first cells' level."""

    weight: Floats
    scatter: Floats
    d: Floats
    dd: Floats
    x: Floats
    xx: Floats
    xd: Floats
    cells: Floats
    axis: bool
    prior: float

    @classmethod
    def of(cls, cells: Points, near: Floats, prior: float) -> _Sums:
        w = cells.weight
        head = slice(0, _BLOCK)
        d = cells.mean - np.average(cells.mean[head], weights=w[head])
        parts: list[Floats] = [w, w * near, w * d, w * d * d + cells.m2]
        if cells.x is not None and cells.xx is not None and cells.xd is not None:
            # Measured by their own range, so that squares of 1e-200 do not vanish.
            scale = float(cells.x[-1] - cells.x[0]) or 1.0
            x = (cells.x - cells.x[0]) / scale
            parts += [w * x, w * x * x + cells.xx / scale / scale, w * x * d + cells.xd / scale]
        else:
            parts += [w, w, w]
        parts.append((w > 0).astype(float))
        sums = np.zeros((len(parts), len(w) + 1))
        np.cumsum(np.stack(parts), axis=1, out=sums[:, 1:])
        return cls(*sums, axis=cells.x is not None, prior=prior)

    def deviances(self, start: Ints, end: Ints) -> tuple[Floats, Floats]:
        """Return those of all bins from `start` to `end`, about their means and about their lines: (starts, ends)."""

        def over(sums: Floats) -> Floats:
            return sums[end] - sums[start, None]

        with np.errstate(divide="ignore", invalid="ignore"):
            w, d = over(self.weight), over(self.d)
            inverse = 1.0 / w
            square = over(self.dd) - d * d * inverse
            prior = self.prior * over(self.scatter) * inverse
            np.maximum(square, 0.0, out=square)
            known = w + self.prior
            constant = w * np.log((square + prior) / known)
            if not self.axis:
                return constant, constant
            x = over(self.x)
            xx = over(self.xx) - x * x * inverse
            xd = over(self.xd) - x * d * inverse
            # Two cells always lie on a line.
            lies = (over(self.cells) >= 3) & (xx > 1e-12 * w * (self.xx[-1] / self.weight[-1]))
            explained = np.where(lies, xd * xd / np.where(lies, xx, 1.0), 0.0)
            left = np.maximum(square - explained, 0.0)
            linear = w * np.log((left + prior) / known)
        return constant, linear


@dataclass(frozen=True, eq=False)
class Noise:
    """How local effects scatter about their own mean, whatever that is.

    Parameters
    ----------
    where : ndarray of float, shape (c,)
        Places on the axis, or of the cells where there is none.
    scatter : ndarray of float, shape (c,)
        Variance of a row there, from medians: jumps and outliers leave no trace.
    tails : float
        How much more the deviance of a variance scatters than it would if rows were normal: 1 or more.
    prior : float
        So many rows' worth of the scatter are added to each bin.
    """

    where: Floats
    scatter: Floats
    tails: float
    prior: float = PRIOR

    @classmethod
    def of(cls, points: Points, floor: float) -> Noise:
        """Measure it; nothing is below the rounding `floor`."""
        m, w = len(points), points.weight
        where = np.arange(m, dtype=float) if points.x is None else points.x
        floor = max(floor, np.finfo(float).tiny)
        if m < 5:
            rows = float(np.maximum(w - 1, 0.0).sum())
            near = float(points.m2.sum()) / rows if rows > 0 else 0.0
            return cls(where, np.full(m, max(near, floor)), 1.0)
        between = np.diff(points.mean) ** 2 / (1 / w[1:] + 1 / w[:-1])
        # The median of chi squared with one degree of freedom is 0.4549.
        scatter = _running_median(between, _WIDE, gaps=True) / 0.4549
        large = w >= _LONE
        if w[large].sum() > w.sum() / 2:
            scatter, tails = _of_cells(points, scatter, large)
            scatter = np.maximum(scatter, floor)
        else:
            scatter = np.maximum(scatter, floor)
            residual = (points.mean - _running_median(points.mean, 5)) / np.sqrt(scatter / w)
            # The two at either end have residuals wherever slopes change. Means of several rows are nearer to normal.
            tails = 1 + float(np.median(w)) * (_tails(residual[2:-2]) - 1)
        variance, share = _strays(points, floor)
        scatter, tails = np.maximum(scatter, variance), max(tails, (1 / share - 1) / 2 / _GAUSS)
        heavier = 1 + (min(tails**2, _HEAVIEST) - 1) * m / (m + 150)
        return cls(where, scatter, heavier, PRIOR / share)

    def at(self, points: Points) -> Floats:
        """Return the scatter at other cells of the same axis."""
        if points.x is None or points.x is self.where:
            return self.scatter
        right = np.minimum(np.searchsorted(self.where, points.x), len(self.where) - 1)
        left = np.maximum(right - 1, 0)
        nearer = points.x - self.where[left] < self.where[right] - points.x
        return self.scatter[np.where(nearer, left, right)]

    def cut(self, points: Points) -> Points:
        """Return the cells with their outliers cut, for a single one must not make a bin of its own.

        Means are cut where a few rows may have moved them: the cell's own scatter shows these. Where its rows agree
        with one another it is no outlier, however far it lies from its neighbours. Cells that hold far more rows than
        most others stay as they are.
        """
        if len(points) < 5:
            return points
        w, near = points.weight, self.at(points)
        middle = _running_median(points.mean, _NEAR)
        reach = _CLIP * np.sqrt(near / w)
        mean = middle + np.clip(points.mean - middle, -reach, reach)
        alike = w <= 4 * np.quantile(w, 0.25)
        # One row off by a moves a mean by a / w and adds a² to the squares; k alike rows count k² there and k here.
        few = points.m2 * _ROWS >= (points.mean - middle) ** 2 * w * (w - 1)
        inner, large = np.maximum(w - 1, 1.0), w >= _LONE
        beside = _running_median(np.where(large, points.m2 / inner, near), _NEAR)
        most = np.maximum(near, beside) * np.exp(_CLIP * np.sqrt(2 * self.tails / inner)) * inner
        m2 = np.where(alike, np.minimum(points.m2, most), points.m2)
        return replace(points, mean=np.where(alike & few, mean, points.mean), m2=m2)


def _strays(points: Points, floor: float) -> tuple[float, float]:
    """Return variance and share of the rows that stray from the others where slopes have few values; else 0 and 1.

    Slopes of two groups are often two numbers. Chance then makes long runs of equal ones, in which nothing scatters at
    all: the rarer the other number, the longer. Medians do not see it. What strays from the middle of five neighbours
    does, and jumps do not, for those five jump with them.
    """
    tie = max(floor, (8 * np.finfo(float).eps * float(np.abs(points.mean).max())) ** 2)
    same = np.diff(points.mean) ** 2 <= tie
    if np.mean(np.append(same, False) | np.append(False, same)) < _TIED:
        return 0.0, 1.0
    square = (points.mean - _running_median(points.mean, 2)) ** 2 + points.m2 / points.weight
    strays = square > tie
    rows = float(np.median(points.weight))
    share = 1.0 - float(np.mean(~strays)) ** (1 / rows)
    if strays.sum() < _ROWS or share < _STRAY:
        return 0.0, 1.0
    # A few that stray much farther than the others are outliers among these.
    square = np.minimum(square, 16 * np.median(square[strays]))
    return float(np.average(square, weights=points.weight)), max(share, _STRAY)


def _of_cells(points: Points, between: Floats, large: Bools) -> tuple[Floats, float]:
    """Return the scatter and the weight of the tails, from cells of many rows."""
    w = points.weight
    variance = points.m2 / np.maximum(w - 1, 1.0)
    scatter = _running_median(np.where(large, variance, np.median(variance[large])), _WIDE)
    if (scatter <= 0).mean() > 0.3:  # rows of a cell are copies of one another
        scatter = np.maximum(scatter, between)
    told = np.flatnonzero(large & (variance > 0))
    if len(told) <= 10:
        return scatter, 1.0
    level = np.log(variance[told])
    steps = float(np.median(np.abs(np.diff(level)))) / 0.6745 / np.sqrt(2)
    return scatter, max(1.0, steps**2 * (float(np.median(w[told])) - 1) / 2)


def _tails(residual: Floats) -> float:
    """Return how much more the deviance of a variance scatters than it would with normal residuals."""
    if len(residual) < 16:
        return 1.0
    residual = np.clip(residual, -4.0, 4.0)
    square = float(np.mean(residual**2))
    if square**2 == 0:  # so small that its square is lost
        return 1.0
    return max(1.0, (float(np.mean(residual**4)) / square**2 - 1) / 2 / _GAUSS)


def _running_median(values: Floats, reach: int, *, gaps: bool = False) -> Floats:
    """Return the median of each value and those up to `reach` places away; beyond the ends values are mirrored.

    With `gaps` the values belong to the gaps between cells: returned is, for each cell, that of `reach` on either side.
    """
    # Mirrored, not repeated: an outlier at the end would be the median there.
    padded = np.pad(values, reach, mode="symmetric")
    size = 2 * reach if gaps else 2 * reach + 1
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, size), axis=1)


# ------------------------------------------------------------------------------------------
# Edges to the very row: bins that were chosen among a few hundred candidates, looked at again around their edges.


_AROUND = 2
"""Cells on either side of an edge within which it may move."""


_CANDIDATES = 300
"""Edges that are tried at a time."""


_MOST = 1000
"""The same where bins are many. Where even that is too few for them, edges stay: bins are as fine as the cells."""


_ROUNDS = 8


@dataclass(frozen=True, eq=False)
class Sharpened:
    """Bins whose edges lie between two rows.

    Parameters
    ----------
    edges : ndarray of float, shape (bins + 1,)
    trend : ndarray of bool, shape (bins,)
        Whether slopes change linearly within the bin.
    """

    edges: Floats
    trend: Bools


def points_of(moments: Moments, axis: Moments | None, kind: WeightKind) -> Points:
    """Return what the risk needs of the cells that hold rows.

    Parameters
    ----------
    moments : Moments
        Of the local effects.
    axis : Moments, optional
        Of the feature.
    kind : {"frequency", "sampling"}
        Sampling weights count as much as they are worth together: (sum w)² / sum w² rows.
    """
    some = np.flatnonzero(moments.weight > 0)
    cells = moments.take(some)
    worth = _worth(float(cells.weight.sum()), float(cells.weight2.sum()), kind)
    x = None if axis is None else axis.mean[some]
    # How effects lean within a cell is not known: its rows count as if they lay at their mean.
    nothing = None if axis is None else np.zeros(len(some))
    return Points(cells.weight * worth, cells.mean, cells.m2 * worth, x, nothing, nothing)


def _worth(weight: float, weight2: float, kind: WeightKind) -> float:
    return 1.0 if kind == "frequency" else weight / weight2


def sharpened(
    cells: Cells,
    kept: Ints,
    rows: tuple[Floats, Floats, Floats | None],
    risk: Risk,
    kind: WeightKind,
) -> Sharpened | None:
    """Return bins with their edges moved to the best place between two rows; None where they lie so already.

    Parameters
    ----------
    cells : Cells
    kept : ndarray of int, shape (bins + 1,)
        Edges that were chosen among those of the cells.
    rows : tuple of three ndarray, shapes (n,)
        Values, local effects, and weights or None.
    risk : Risk
    kind : {"frequency", "sampling"}

    Notes
    -----
    Rows near an edge are its new candidates, what lies between is one cell. With more than 300 candidates they are
    thinned out, and looked at again around the edges found, until nothing moves.
    """
    x, d, w = _inside(cells, rows)
    w = w * _worth(float(w.sum()), float(w @ w), kind)
    cell = cells.locate(x)
    fine = gathered(x, d, w, cell, len(cells))
    if _alone(fine, float(np.abs(x).max(initial=0.0))):
        return None
    noise = Noise.of(_some(fine), risk.floor)
    near = np.zeros(len(cells), dtype=bool)
    for place in kept[1:-1]:
        near[max(place - _AROUND, 0) : place + _AROUND] = True
    units, low, high = _units(cells, fine, near, x, d, w, cell)
    if len(units) <= len(kept) or _wanted(len(kept) - 2) > _MOST:
        return None
    first = np.searchsorted(high, cells.edges[kept[1:-1]], side="right")
    starts = np.unique(np.concatenate([[0], first, [len(units)]]))
    # So many units lie within reach of an edge, if they are spread evenly over the cells near edges.
    reach = 2 * _AROUND * -(-len(units) // int(near.sum()))
    starts, found = _settled(units, starts, reach, noise, risk)
    inner = starts[1:-1]
    between = high[inner - 1] + (low[inner] - high[inner - 1]) / 2
    edges = np.concatenate([cells.edges[:1], between, cells.edges[-1:]])
    return Sharpened(edges, found.trend)


def _alone(fine: Points, largest: float) -> bool:
    """Return whether the rows of each cell share one value, but for the rounding of their mean."""
    rounding = 4 * np.finfo(float).eps * largest
    return bool(fine.xx is not None and (fine.xx <= fine.weight * rounding**2).all())


def _inside(
    cells: Cells, rows: tuple[Floats, Floats, Floats | None]
) -> tuple[Floats, Floats, Floats]:
    """Return the rows that count, and lie in a cell."""
    x, d, w = rows
    weight = np.ones(len(x)) if w is None else w
    there = (cells.locate(x) >= 0) & (weight > 0)
    return (x, d, weight) if there.all() else (x[there], d[there], weight[there])


def gathered(x: Floats, d: Floats, w: Floats, cell: Ints, cells: int) -> Points:
    """Return what is known of cells from their rows; cells without rows have weight 0."""

    def summed(values: Floats) -> Floats:
        sums: Floats = np.bincount(cell, values, cells).astype(float, copy=False)
        return sums

    weight = summed(w)
    safe = np.where(weight > 0, weight, 1.0)
    mean, middle = (summed(w * v) / safe for v in (d, x))
    off, beside = d - mean[cell], x - middle[cell]
    # The sum of deviations is not exactly zero: what it is corrects the mean (see `Moments.of`).
    left = summed(w * off) / safe
    m2 = np.maximum(summed(w * off * off) - weight * left**2, 0.0)
    xx, xd = summed(w * beside * beside), summed(w * off * beside)
    return Points(weight, mean + left, m2, middle, xx, xd)


def _some(points: Points) -> Points:
    return points.take(np.flatnonzero(points.weight > 0))


def pooled(points: Points, starts: Ints) -> Points:
    """Return neighbouring cells of an axis merged; `starts` are the first cell of each group."""
    w = points.weight
    x, xx, xd = _axis(points)
    weight = np.add.reduceat(w, starts)
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(w))))
    mean, middle = (np.add.reduceat(w * v, starts) / weight for v in (points.mean, x))
    off, beside = points.mean - mean[group], x - middle[group]
    m2 = np.add.reduceat(points.m2 + w * off * off, starts)
    return Points(
        weight,
        mean,
        m2,
        middle,
        np.add.reduceat(xx + w * beside * beside, starts),
        np.add.reduceat(xd + w * off * beside, starts),
    )


def _axis(points: Points) -> tuple[Floats, Floats, Floats]:
    if points.x is None or points.xx is None or points.xd is None:
        raise TypeError("points of an axis have their places on it")
    return points.x, points.xx, points.xd


def _units(
    cells: Cells, fine: Points, near: Bools, x: Floats, d: Floats, w: Floats, cell: Ints
) -> tuple[Points, Floats, Floats]:
    """Return the distinct values near edges one by one, and what lies between them as one; with their two ends."""
    rows = np.flatnonzero(near[cell])
    values, place = np.unique(x[rows], return_inverse=True)
    single = gathered(x[rows], d[rows], w[rows], place, len(values))
    apart = np.flatnonzero((fine.weight > 0) & ~near)
    # Runs of cells that are not near an edge; a near cell between two of them parts them.
    passed = np.cumsum(near)[apart]
    starts = np.flatnonzero(np.append(True, np.diff(passed) > 0)) if len(apart) else apart
    low, high, parts = values, values, single
    if len(apart):
        between = pooled(fine.take(apart), starts)
        ends = np.append(starts[1:], len(apart)) - 1
        low = np.concatenate([values, cells.edges[apart[starts]]])
        high = np.concatenate([values, cells.edges[apart[ends] + 1]])
        parts = _together(single, between)
    order = np.argsort(low, kind="stable")
    return parts.take(order), low[order], high[order]


def _together(a: Points, b: Points) -> Points:
    pairs = [(p.weight, p.mean, p.m2, *_axis(p)) for p in (a, b)]
    return Points(*(np.concatenate(both) for both in zip(*pairs, strict=True)))


def _settled(
    units: Points, starts: Ints, reach: int, noise: Noise, risk: Risk
) -> tuple[Ints, Partition]:
    """Return the first unit of each bin (and behind the last their number), when looking again moves nothing."""
    found = Partition(starts, np.zeros(len(starts) - 1, dtype=bool))
    for _ in range(_ROUNDS):
        if _wanted(len(starts) - 2) > _MOST:
            break
        candidates, all_of_them = _candidates(starts, reach, len(units))
        merged = pooled(units, candidates)
        found = risk_partition(noise.cut(merged), noise, risk)
        now = np.append(candidates, len(units))[found.starts]
        if all_of_them and len(now) == len(starts) and (now == starts).all():
            break
        gaps = np.diff(np.append(candidates, len(units)))
        inner = found.starts[1:-1]
        if len(inner) == 0:
            return now, found
        reach = _AROUND * max(int(gaps[np.concatenate([inner - 1, inner])].max()), 1)
        starts = now
    return starts, found


def _wanted(edges: int) -> int:
    """Return how many candidates there are to be for so many edges."""
    return max(_CANDIDATES, edges * (2 * _AROUND + 1))


def _candidates(starts: Ints, reach: int, units: int) -> tuple[Ints, bool]:
    """Return units at which bins may start, and whether these are all within reach."""
    inner = starts[1:-1]
    each = _wanted(len(inner)) // max(len(inner), 1)
    step = max(1, -(-2 * min(reach, units) // each))
    offsets = np.arange(-min(reach, units), min(reach, units) + 1, step)
    around = (inner[:, None] + offsets).ravel()
    inside = around[(around > 0) & (around < units)]
    return np.unique(np.concatenate([[0], inner, inside])), step == 1
