"""Partitions of fine cells into bins: RHALE's Eq. 13, penalized likelihood, greedy merging, refinement of edges.

The cost of a partition is a sum over its bins, so dynamic programming over one array finds the exact optimum. The
second index of the papers, the number of bins, is not needed.

- `optimal_partition` and `merge_greedily` minimise `Criterion`, RHALE's Eq. 13. It sums the bins' variances, and needs
  a minimum number of rows and a discount to limit the number of bins.
- `likelihood_partition` minimises a penalized likelihood. A bin costs its deviance, ``n log(variance)``, and a penalty
  that random variation rarely exceeds. It has no settings: constant slopes give one bin, and edges lie where slopes
  jump, change linearly, or change their variance. `Noise` is the variance model; `refine_edges` then moves the edges
  between single rows.
- `fewest_bins` merges the cells of a given curve (of a step function, for example) within a tolerance.

`skedasis.binning` is the caller: its schemes choose the fine cells and call these functions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments, WeightKind, summed


# ------------------------------------------------------------------------------- RHALE's Eq. 13
@dataclass(frozen=True)
class Criterion:
    """RHALE Eq. 13: ``(1 - alpha n_k / N) * variance_k * width_k``; infinite for bins with too few rows."""

    alpha: float
    least: float
    total: float
    ddof: int = 1
    kind: WeightKind = "frequency"
    tie: float = 0.0

    def discount(self, weight: Floats) -> Floats:
        """Return the discount factor tau_k of bins with this weight."""
        return 1.0 - self.alpha * weight / self.total

    def cost(self, bins: Moments, widths: Floats) -> Floats:
        variance = bins.variance(self.ddof, self.kind)
        cost = self.discount(bins.weight) * variance * widths
        return np.where((bins.weight >= self.least) & ~np.isnan(variance), cost, np.inf)


def optimal_partition(edges: Floats, moments: Moments, criterion: Criterion) -> Ints | None:
    """Return the edges that minimise the criterion, indices (bins + 1,), or None if every partition has too few rows.

    ``T(j) = min over l < j of T(l) + B(l, j)`` (Eq. 14). The moments of all bins that end at j follow from those that
    end at j - 1 by merging one cell, so that no variance is a difference of large sums. O(K²) time, O(K) memory.

    Every bin costs ``criterion.tie`` in addition, so that ties go to fewer bins and the cost stays additive.
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
    return _traced(back) if np.isfinite(best[k]) else None


def _traced(back: Ints) -> Ints:
    """Return the indices of a path from 0 to the last one, given the index before each."""
    path = [len(back) - 1]
    while path[-1] > 0:
        path.append(int(back[path[-1]]))
    return np.array(path[::-1])


class _OpenBins:
    """Moments of all bins that end at the current cell, one for each first cell; the current cell moves to the right.

    This is `Moments.merge` in place, because the arrays are updated K times.
    """

    def __init__(self, moments: Moments, criterion: Criterion) -> None:
        self.cells, self.criterion = moments, criterion
        self.weight, self.mean, self.m2, self.weight2, self.count = np.zeros(
            (5, len(moments.weight))
        )
        # A bin of weight 1 or less has no variance.
        self.least = max(criterion.least, float(np.nextafter(1.0, 2.0)))
        self.enough = 0

    def grow(self, cell: int) -> int:
        """Add a cell to all bins that start at it or before it."""
        cells = self.cells
        added = float(cells.weight[cell])
        if added > 0:
            upto = slice(0, cell + 1)
            weight, mean = self.weight[upto], self.mean[upto]
            weight += added
            before = cells.mean[cell] - mean
            # Exactly 1 for the bin that starts here, so that it gets the cell's mean unchanged.
            step = added / weight
            step *= before
            mean += step
            # Welford's form of the pairwise merge: the product of the deviations from the old and from the new mean.
            step -= before
            step *= before
            step *= -added
            step += cells.m2[cell]
            self.m2[upto] += step
            if self.criterion.kind == "sampling":  # not needed for frequency weights
                self.weight2[upto] += cells.weight2[cell]
                self.count[upto] += cells.count[cell]
        # Bins that start further left have more rows, and no bin ever loses rows.
        while self.enough <= cell and self.weight[self.enough] >= self.least:
            self.enough += 1
        return self.enough

    def discounted_variance(self, enough: int) -> Floats:
        """Return tau_k * variance_k of the first `enough` bins."""
        c, weight, m2 = self.criterion, self.weight[:enough], self.m2[:enough]
        tau = weight * (-c.alpha / c.total)
        tau += 1.0
        tau *= m2
        if c.kind == "frequency":
            tau /= weight - c.ddof
            return tau
        degrees = weight - c.ddof * self.weight2[:enough] / weight
        # One row has no variance, whatever its weight.
        some = (self.count[:enough] > 1) & (degrees > 0)
        return np.where(some, tau / np.where(some, degrees, 1.0), np.inf)


def merge_greedily(edges: Floats, moments: Moments, criterion: Criterion) -> Ints | None:
    """Return the indices of the edges that remain after merging neighbours while that lowers the criterion.

    Returns None if all cells together have too few rows. Bins with too few rows are merged first.
    """
    kept = np.arange(len(edges))
    bins = moments
    while len(kept) > 2:
        widths = np.diff(edges[kept])
        cost = criterion.cost(bins, widths)
        merged = bins.take(slice(0, -1)).merge(bins.take(slice(1, None)))
        # Bins with too few rows have infinite cost. They are merged first, the cheapest merge first.
        too_few = ~np.isfinite(cost)
        needed = too_few[:-1] | too_few[1:]
        width = widths[:-1] + widths[1:]
        variance = np.nan_to_num(merged.variance(criterion.ddof, criterion.kind))
        after = criterion.discount(merged.weight) * variance * width
        change = np.where(needed, after, after - np.where(needed, 0.0, cost[:-1] + cost[1:]))
        if needed.any():
            change[~needed] = np.inf
        # The leftmost of the merges whose costs differ by rounding only.
        best = int(np.argmax(change <= change.min() + criterion.tie))
        if not needed.any() and change[best] > criterion.tie:
            break
        kept = np.delete(kept, best + 1)
        bins = moments.pool(kept[:-1])
    return kept if np.isfinite(criterion.cost(bins, np.diff(edges[kept]))).all() else None


# ------------------------------------------------------------- fewest bins that describe a curve
def fewest_bins(edges: Floats, curve: Floats, weight: Floats, tolerance2: float) -> Ints:
    """Return the fewest unions of cells whose polyline approximates a curve within a tolerance, edges (bins + 1,).

    The curve, (K + 1,) at the edges, is piecewise linear. `tolerance2` is the largest allowed squared distance: the
    mean over the cells, by the `weight` of their rows, (K,), of the mean squared difference of the two centred
    piecewise linear functions, integrated exactly. Among partitions with the same number of bins, the one with the
    smallest distance.

    An effect is defined up to a constant, so the functions are centred: with A the mean squared difference and B the
    mean difference, the squared distance is A - B². For a fixed offset c, A - 2 c B + c² is a sum over the bins, and
    dynamic programming over (number of bins, cell) minimises it in O(bins K²). As a function of c the minimum over
    partitions is a lower envelope of lines, plus c². A search along the envelope finds the best c exactly
    (docs/explanation/heterogeneity.md, step functions).
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
    """A polyline of `bins` bins through edges of the curve: the optimum of the dynamic programme for one offset."""

    bins: int
    shift: float
    square: float
    offset: float

    @property
    def distance2(self) -> float:
        """Return the squared distance of the centred functions, A - B²."""
        return self.square - self.offset**2

    def at(self, offset: float) -> float:
        """Return the value of its line in the envelope, A - 2 c B, at an offset c."""
        return self.square - 2 * offset * self.offset


class _FixedOffset:
    """Dynamic programme for one offset: the best polylines from the first edge to each edge, by number of bins."""

    def __init__(self, squares: Floats, offsets: Floats, offset: float) -> None:
        self.squares, self.offsets = squares, offsets
        self.cost = squares - 2 * offset * offsets
        self.square, self.offset, self.least = [squares[0]], [offsets[0]], self.cost[0]
        self.begins = [np.zeros(len(squares), dtype=np.int64)]

    def extend(self, bins: int) -> None:
        """Solve for up to `bins` bins."""
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

    `squares` and `offsets`, (K + 1, K + 1), are the contribution of the chord from edge a to edge b to A and B of a
    polyline; infinite and zero for a >= b.
    """

    def __init__(self, squares: Floats, offsets: Floats) -> None:
        self.squares, self.offsets = squares, offsets
        self.rounding = 1e-13 * float(squares[np.isfinite(squares)].max(initial=0.0))
        self._solutions: dict[float, _FixedOffset] = {}

    def nearest(self, bins: int, reach: float, enough: float) -> _Polyline:
        """Return the polyline of `bins` bins with the smallest distance, or any if none is within the tolerance."""
        left, right = self.lowest(bins, -reach), self.lowest(bins, reach)
        best = min((self.lowest(bins, 0.0), left, right), key=lambda p: p.distance2)
        intervals = [(left, right)]
        while intervals:
            left, right = intervals.pop()
            a, b = left.shift, right.shift
            # The lines bound their envelope from above. It is concave, so that its chord bounds it from below.
            slope = (right.at(b) - left.at(a)) / (b - a) if b > a else 0.0
            c = min(max(-slope / 2, a), b)
            bound = left.at(a) + slope * (c - a) + c**2
            hopeless = bound > enough + self.rounding or bound >= best.distance2 - self.rounding
            if hopeless or left.offset == right.offset:
                continue
            crossing = (left.square - right.square) / (2 * (left.offset - right.offset))
            if not a < crossing < b:
                continue
            # An offset that was solved for fewer bins needs one more step; a new offset needs all steps.
            solved = (c for c in self._solutions if a < c < b)
            c = min(solved, key=lambda c: abs(c - crossing), default=crossing)
            middle = self.lowest(bins, c)
            best = min(best, middle, key=lambda p: p.distance2)
            if c != crossing or middle.at(c) < left.at(c) - self.rounding:
                intervals += [(left, middle), (middle, right)]
        return best

    def lowest(self, bins: int, offset: float) -> _Polyline:
        """Return the polyline of `bins` bins that is optimal for an offset."""
        if offset not in self._solutions:
            self._solutions[offset] = _FixedOffset(self.squares, self.offsets, offset)
        solution = self._solutions[offset]
        solution.extend(bins)
        square, mean = solution.square[bins - 1][-1], solution.offset[bins - 1][-1]
        return _Polyline(bins, offset, float(square), float(mean))

    def edges_of(self, polyline: _Polyline) -> Ints:
        """Return the indices of the edges of a polyline, (bins + 1,)."""
        kept = [len(self.squares) - 1]
        for begins in reversed(self._solutions[polyline.shift].begins[: polyline.bins]):
            kept.append(int(begins[kept[-1]]))
        return np.array(kept[::-1])


def _chords(edges: Floats, curve: Floats, share: Floats) -> tuple[Floats, Floats]:
    """Return the contribution of each chord to the mean squared and the mean difference, (K + 1, K + 1) each.

    Relative to the chord's first vertex the curve has vertices (u, g). The difference from a chord of slope s is
    s u - g, which is linear within each cell, so its square integrates to sums of u u', u g' and g g'.
    """
    count = len(edges)
    squares, offsets = np.full((count, count), np.inf), np.zeros((count, count))
    for a in range(count - 1):
        u, g = edges[a:] - edges[a], curve[a:] - curve[a]
        n = share[a:]
        products = (
            2 * p[:-1] * q[:-1] + 2 * p[1:] * q[1:] + p[:-1] * q[1:] + p[1:] * q[:-1]
            for p, q in ((u, u), (u, g), (g, g))
        )
        uu, ug, gg = (np.cumsum(n * product) / 6 for product in products)
        along, off = (np.cumsum(n * (p[:-1] + p[1:])) / 2 for p in (u, g))
        slope = g[1:] / u[1:]
        squares[a, a + 1 :] = np.maximum(slope**2 * uu - 2 * slope * ug + gg, 0.0)
        offsets[a, a + 1 :] = slope * along - off
        # Within one cell the chord is the curve.
        squares[a, a + 1] = offsets[a, a + 1] = 0.0
    return squares, offsets


# ----------------------------------------------------------------- partition by penalized likelihood
PENALTY = (1.5, 8.0)
"""The penalty of a bin is ``1.5 log(N / bins) + 8``: fewer than one in twenty constant effects is then divided. It
decreases with the number of bins (Birgé & Massart's form)."""

LINEAR_PENALTY = 1.0
"""The additional penalty of a linear slope instead of a constant one is ``log N`` plus this."""

MIN_ROWS = 5.0
"""Minimum number of rows in a bin, because the variance of fewer rows is not reliable."""

PRIOR_ROWS = 3.0
"""The local variance enters each bin with the weight of this many rows, so that a few equal slopes are not exact."""

_BLOCK = 32
"""Start cells whose costs are computed together."""


@dataclass(frozen=True, eq=False)
class CellMoments:
    """Moments of the non-empty cells; each array has shape (m,)."""

    weight: Floats
    mean: Floats
    m2: Floats
    x: Floats | None = None
    xx: Floats | None = None
    xd: Floats | None = None

    def __len__(self) -> int:
        return len(self.weight)

    def take(self, index: Ints | slice) -> CellMoments:
        x, xx, xd = (None if a is None else a[index] for a in (self.x, self.xx, self.xd))
        return CellMoments(self.weight[index], self.mean[index], self.m2[index], x, xx, xd)


@dataclass(frozen=True)
class PenalizedLikelihood:
    """Settings of the penalized likelihood of a partition."""

    least: float = MIN_ROWS
    linear: bool = True
    floor: float = 0.0


@dataclass(frozen=True, eq=False)
class Partition:
    """Bins as unions of cells: the first cell of each, then the number of cells, (bins + 1,).

    `trend`, (bins,), says whether the slope changes linearly within the bin.
    """

    starts: Ints
    trend: Bools


def likelihood_partition(
    points: CellMoments, noise: Noise, likelihood: PenalizedLikelihood
) -> Partition:
    """Return the partition that minimises the sum of deviances and penalties of its bins.

    The cost is a sum over bins, so one array over the cells finds the minimum exactly, as for Eq. 14: O(m²) time. The
    deviance of a bin is ``n log v``, twice the negative log-likelihood of normal slopes. v is the variance about the
    bin's mean or, if that is cheaper with its penalty, about the regression line. With heavy tails the penalties
    increase, because the deviance of a variance estimate then varies more. The penalty depends on the number of bins:
    it is set for one bin, then for the number found, until that no longer increases (at most four times).
    """
    starts = _best_starts(points, noise, likelihood)
    return Partition(starts, _linear_bins(points, noise, starts, likelihood))


def _best_starts(points: CellMoments, noise: Noise, likelihood: PenalizedLikelihood) -> Ints:
    """Return the first cell of each bin of the best partition, followed by the number of cells."""
    total = float(points.weight.sum())
    rounding = _rounding(points)
    variance = np.maximum(noise.variance_at(points), rounding)
    cost = _costs(points, variance, noise.prior, likelihood, _linear_penalty(points, noise))
    bins, starts = 1, np.array([0, len(points)])
    for _ in range(4):
        starts = _cheapest(cost, noise.tails * (PENALTY[0] * np.log(total / bins) + PENALTY[1]))
        if len(starts) - 1 <= bins:
            break
        bins = len(starts) - 1
    return _merge_equal(points, starts, rounding)


def constant_up_to(points: CellMoments, floor: float) -> bool:
    """Return whether slopes vary so little that one bin with a constant slope is the best partition.

    No variance is below `floor`, so that with S the sum of squares about the mean of W rows, dividing a bin decreases
    the deviance by at most ``W log(1 + S / (PRIOR_ROWS floor))``: here less than 1, which every penalty exceeds.
    """
    w = points.weight
    total = float(w.sum())
    deviation = points.mean - w @ points.mean / total
    return total * float(w @ deviation**2 + points.m2.sum()) <= floor


def _rounding(points: CellMoments) -> float:
    """Return the rounding of sums of squares over all rows: smaller variances are not distinguishable from 0."""
    total = float(points.weight.sum())
    return float(total * np.finfo(float).eps * float(np.ptp(points.mean)) ** 2)


def _linear_penalty(points: CellMoments, noise: Noise) -> float:
    return float(noise.tails * (np.log(max(float(points.weight.sum()), 2.0)) + LINEAR_PENALTY))


def _merge_equal(points: CellMoments, starts: Ints, rounding: float) -> Ints:
    """Merge neighbouring bins whose slopes are all equal up to rounding; return the starts that remain."""
    kept = [starts[0]]
    for start, end in pairwise(starts[1:]):
        both = points.take(slice(kept[-1], end))
        deviation = both.mean - np.average(both.mean, weights=both.weight)
        squares = float(both.weight @ deviation**2 + both.m2.sum())
        if squares > rounding * float(both.weight.sum()):
            kept.append(start)
    return np.array([*kept, starts[-1]])


def _linear_bins(
    points: CellMoments, noise: Noise, starts: Ints, likelihood: PenalizedLikelihood
) -> Bools:
    """Return the bins in which a linear slope is cheaper, including its penalty."""
    is_linear = np.zeros(len(starts) - 1, dtype=bool)
    if not likelihood.linear or points.x is None:
        return is_linear
    variance = np.maximum(noise.variance_at(points), _rounding(points))
    penalty = _linear_penalty(points, noise)
    for k, (a, b) in enumerate(pairwise(starts)):
        sums = _CumulativeSums.of(points.take(slice(a, b)), variance[a:b], noise.prior)
        constant, linear = sums.deviances(np.array([0]), np.array([b - a]))
        is_linear[k] = linear[0, 0] + penalty < constant[0, 0]
    return is_linear


def _cheapest(cost: Floats, penalty: float) -> Ints:
    """Return the starts of the cheapest partition; ``cost[j - 1, l]`` is the cost of a bin of the cells l to j - 1."""
    m = len(cost)
    best, back = np.zeros(m + 1), np.zeros(m + 1, dtype=np.int64)
    for j in range(1, m + 1):
        through = best[:j] + cost[j - 1, :j]
        back[j] = through.argmin()
        best[j] = through[back[j]] + penalty
    return _traced(back)


def _costs(
    cells: CellMoments,
    variance: Floats,
    prior: float,
    likelihood: PenalizedLikelihood,
    linear_penalty: float,
) -> Floats:
    """Return the costs of all bins, shape (m, m), indexed by last cell and first cell."""
    m = len(cells)
    out = np.full((m, m), np.inf)
    for first in range(0, m, _BLOCK):
        # Sums restart at each block, relative to its own mean, so that earlier cells cost no precision.
        sums = _CumulativeSums.of(cells.take(slice(first, m)), variance[first:], prior)
        size = min(_BLOCK, m - first)
        start, end = np.arange(size), np.arange(1, m - first + 1)
        cost, linear = sums.deviances(start, end)
        if likelihood.linear and cells.x is not None:
            linear += linear_penalty
            np.minimum(cost, linear, out=cost)
        enough = sums.weight[end] - sums.weight[start, None] >= likelihood.least
        enough |= (start[:, None] + first == 0) & (end + first == m)  # a single bin is always valid
        out[first:, first : first + size] = np.where(
            enough & (end > start[:, None]), cost, np.inf
        ).T
    return out


@dataclass(frozen=True, eq=False)
class _CumulativeSums:
    """Cumulative sums over cells, (m + 1,), of local effects and axis relative to the mean of the first cells."""

    weight: Floats
    variance: Floats
    d: Floats
    dd: Floats
    x: Floats
    xx: Floats
    xd: Floats
    cells: Floats
    axis: bool
    prior: float

    @classmethod
    def of(cls, cells: CellMoments, variance: Floats, prior: float) -> _CumulativeSums:
        w = cells.weight
        head = slice(0, _BLOCK)
        d = cells.mean - np.average(cells.mean[head], weights=w[head])
        parts: list[Floats] = [w, w * variance, w * d, w * d * d + cells.m2]
        if cells.x is not None and cells.xx is not None and cells.xd is not None:
            # Scaled by the range, because the square of 1e-200 underflows.
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
        """Return the deviances of all bins from `start` to `end`, about mean and about line; (starts, ends) each."""

        def over(sums: Floats) -> Floats:
            return sums[end] - sums[start, None]

        with np.errstate(divide="ignore", invalid="ignore"):
            w, d = over(self.weight), over(self.d)
            inverse = 1.0 / w
            square = over(self.dd) - d * d * inverse
            prior = self.prior * over(self.variance) * inverse
            np.maximum(square, 0.0, out=square)
            known = w + self.prior
            constant = w * np.log((square + prior) / known)
            if not self.axis:
                return constant, constant
            x = over(self.x)
            xx = over(self.xx) - x * x * inverse
            xd = over(self.xd) - x * d * inverse
            # Two cells always lie on a line, so a line needs three.
            has_line = (over(self.cells) >= 3) & (xx > 1e-12 * w * (self.xx[-1] / self.weight[-1]))
            explained = np.where(has_line, xd * xd / np.where(has_line, xx, 1.0), 0.0)
            residual = np.maximum(square - explained, 0.0)
            linear = w * np.log((residual + prior) / known)
        return constant, linear


# ------------------------------------------------------------- variance model of the local effects
_CLIP, _NEAR, _WIDE, _MANY_ROWS, _MAX_OUTLIERS = 3.5, 2, 25, 8, 4
"""Outliers are clipped at 3.5 standard deviations from the median over 2 cells on either side. The variance is the
median over 25 cells on either side. Cells with 8 rows or more have their own variance. Up to 4 rows of a cell may be
outliers."""

_TIED, _RARE = 0.2, 0.005
"""Slopes have few distinct values if a fifth of the cells equals a neighbour. Values of fewer than 0.5 % of the rows
are then outliers."""

_GAUSS = 1.55
"""(kurtosis - 1) / 2 of residuals from a running median, if the rows are normal."""

_HEAVIEST = 10.0
"""Upper limit of the squared tail factor."""


@dataclass(frozen=True, eq=False)
class Noise:
    """The variance of local effects about their unknown mean function.

    `variance`, (c,), is that of a single row at the positions `where` on the axis (indices of the cells if there is
    none), from medians, so that jumps and outliers do not affect it. `prior` is the number of rows with this variance
    that are added to each bin. `tails` is the variance of the deviance of a variance estimate, relative to normal
    rows; at least 1.
    """

    where: Floats
    variance: Floats
    tails: float
    prior: float = PRIOR_ROWS

    @classmethod
    def of(cls, points: CellMoments, floor: float) -> Noise:
        """Estimate the variances; none is below the rounding `floor`."""
        m, w = len(points), points.weight
        where = np.arange(m, dtype=float) if points.x is None else points.x
        floor = max(floor, np.finfo(float).tiny)
        if m < 5:
            rows = float(np.maximum(w - 1, 0.0).sum())
            pooled = float(points.m2.sum()) / rows if rows > 0 else 0.0
            return cls(where, np.full(m, max(pooled, floor)), 1.0)
        between = np.diff(points.mean) ** 2 / (1 / w[1:] + 1 / w[:-1])
        # The median of chi squared with one degree of freedom is 0.4549.
        variance = _running_median(between, _WIDE, gaps=True) / 0.4549
        large = w >= _MANY_ROWS
        if w[large].sum() > w.sum() / 2:
            variance, tails = _noise_within_cells(points, variance, large)
            variance = np.maximum(variance, floor)
        else:
            variance = np.maximum(variance, floor)
            residual = (points.mean - _running_median(points.mean, 5)) / np.sqrt(variance / w)
            # Without the two cells at either end, whose residuals contain the change of the slopes. Means of several
            # rows are closer to normal than single rows.
            tails = 1 + float(np.median(w)) * (_tail_factor(residual[2:-2]) - 1)
        rare_variance, fraction = _rare_values(points, floor)
        variance = np.maximum(variance, rare_variance)
        tails = max(tails, (1 / fraction - 1) / 2 / _GAUSS)
        tails = 1 + (min(tails**2, _HEAVIEST) - 1) * m / (m + 150)
        return cls(where, variance, tails, PRIOR_ROWS / fraction)

    def variance_at(self, points: CellMoments) -> Floats:
        """Return the variance of a single row at other cells of the same axis."""
        if points.x is None or points.x is self.where:
            return self.variance
        right = np.minimum(np.searchsorted(self.where, points.x), len(self.where) - 1)
        left = np.maximum(right - 1, 0)
        nearer = points.x - self.where[left] < self.where[right] - points.x
        return self.variance[np.where(nearer, left, right)]

    def clip(self, points: CellMoments) -> CellMoments:
        """Return the cells with outliers clipped, so that a single row does not make a bin.

        A cell's mean is clipped if a few rows may have caused its deviation, which its own variance shows. If the rows
        of a cell agree, it is not an outlier, however far it is from its neighbours. Cells with many more rows than
        most others are not clipped.
        """
        if len(points) < 5:
            return points
        w, variance = points.weight, self.variance_at(points)
        median = _running_median(points.mean, _NEAR)
        reach = _CLIP * np.sqrt(variance / w)
        mean = median + np.clip(points.mean - median, -reach, reach)
        usual_size = w <= 4 * np.quantile(w, 0.25)
        # One row that is off by a moves the mean by a / w and adds a² to m2; k such rows move the mean by k a / w, and
        # add k a² to m2.
        few = points.m2 * _MAX_OUTLIERS >= (points.mean - median) ** 2 * w * (w - 1)
        inner, large = np.maximum(w - 1, 1.0), w >= _MANY_ROWS
        neighbours = _running_median(np.where(large, points.m2 / inner, variance), _NEAR)
        limit = np.maximum(variance, neighbours) * np.exp(_CLIP * np.sqrt(2 * self.tails / inner))
        m2 = np.where(usual_size, np.minimum(points.m2, limit * inner), points.m2)
        return replace(points, mean=np.where(usual_size & few, mean, points.mean), m2=m2)


def _rare_values(points: CellMoments, floor: float) -> tuple[float, float]:
    """Return the variance due to rare values, and their fraction of the rows; 0 and 1 if slopes vary continuously.

    The slopes of two groups of rows are often two numbers. By chance there are then long runs of equal slopes with no
    variance: the rarer the other number, the longer. Medians over cells miss it. Deviations from the median of five
    neighbours show it, and are not affected by jumps, because the five neighbours jump together.
    """
    tie = max(floor, (8 * np.finfo(float).eps * float(np.abs(points.mean).max())) ** 2)
    same = np.diff(points.mean) ** 2 <= tie
    if np.mean(np.append(same, False) | np.append(False, same)) < _TIED:
        return 0.0, 1.0
    square = (points.mean - _running_median(points.mean, 2)) ** 2 + points.m2 / points.weight
    deviates = square > tie
    rows = float(np.median(points.weight))
    fraction = 1.0 - float(np.mean(~deviates)) ** (1 / rows)
    if deviates.sum() < _MAX_OUTLIERS or fraction < _RARE:
        return 0.0, 1.0
    # A few that deviate much more than the others are outliers among these.
    square = np.minimum(square, 16 * np.median(square[deviates]))
    return float(np.average(square, weights=points.weight)), max(fraction, _RARE)


def _noise_within_cells(points: CellMoments, between: Floats, large: Bools) -> tuple[Floats, float]:
    """Return the variance of single rows and the tail factor, from cells of many rows."""
    w = points.weight
    variance = points.m2 / np.maximum(w - 1, 1.0)
    smooth = _running_median(np.where(large, variance, np.median(variance[large])), _WIDE)
    if (smooth <= 0).mean() > 0.3:  # rows of a cell are copies of each other
        smooth = np.maximum(smooth, between)
    used = np.flatnonzero(large & (variance > 0))
    if len(used) <= 10:
        return smooth, 1.0
    log_variance = np.log(variance[used])
    steps = float(np.median(np.abs(np.diff(log_variance)))) / 0.6745 / np.sqrt(2)
    return smooth, max(1.0, steps**2 * (float(np.median(w[used])) - 1) / 2)


def _tail_factor(residual: Floats) -> float:
    """Return the variance of the deviance of a variance estimate, relative to normal residuals."""
    if len(residual) < 16:
        return 1.0
    residual = np.clip(residual, -4.0, 4.0)
    square = float(np.mean(residual**2))
    if square**2 == 0:  # underflow
        return 1.0
    return max(1.0, (float(np.mean(residual**4)) / square**2 - 1) / 2 / _GAUSS)


def _running_median(values: Floats, reach: int, *, gaps: bool = False) -> Floats:
    """Return the median over each value and its `reach` neighbours on either side.

    With `gaps` the values belong to the gaps between cells, and the median of each cell is over `reach` gaps on either
    side.
    """
    # Values are mirrored at the ends. If the last value were repeated, an outlier there would be the median.
    padded = np.pad(values, reach, mode="symmetric")
    size = 2 * reach if gaps else 2 * reach + 1
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, size), axis=1)


# -------------------------------------------------------------- refinement of edges between rows
_REACH = 2
"""Cells on either side of an edge within which it may move."""

_CANDIDATES = 300
"""Number of candidate edges in each round."""

_MAX_CANDIDATES = 1000
"""Largest number of candidates if there are many bins. If they need more, edges are not refined."""

_ROUNDS = 8


@dataclass(frozen=True, eq=False)
class RefinedBins:
    """Bins whose edges, (bins + 1,), lie between two rows; `trend`, (bins,), as in `Partition`."""

    edges: Floats
    trend: Bools


def to_cell_moments(moments: Moments, axis: Moments | None, kind: WeightKind) -> CellMoments:
    """Return the moments of the non-empty cells, as the penalized likelihood needs them; `axis` are the feature's.

    Sampling weights are scaled to their effective sample size, (sum w)² / sum w².
    """
    some = np.flatnonzero(moments.weight > 0)
    cells = moments.take(some)
    scale = _weight_scale(float(cells.weight.sum()), float(cells.weight2.sum()), kind)
    x = None if axis is None else axis.mean[some]
    # The slope within a cell is not known: all rows of a cell are placed at their mean x.
    zeros = None if axis is None else np.zeros(len(some))
    return CellMoments(cells.weight * scale, cells.mean, cells.m2 * scale, x, zeros, zeros)


def _weight_scale(weight: float, weight2: float, kind: WeightKind) -> float:
    return 1.0 if kind == "frequency" else weight / weight2


def refine_edges(
    cells: Cells,
    kept: Ints,
    rows: tuple[Floats, Floats, Floats | None],
    likelihood: PenalizedLikelihood,
    kind: WeightKind,
) -> RefinedBins | None:
    """Return bins whose edges are moved to the best position between two rows; None if they are there already.

    `kept`, (bins + 1,), are the indices of the chosen edges among those of the cells, and `rows` values, local
    effects, and weights or None, (n,) each. The rows near an edge are its new candidates; the cells between are
    merged. If there are more than 300 candidates, they are thinned, and the search is repeated around the edges found
    until none moves.
    """
    x, d, w = _rows_in_cells(cells, rows)
    w = w * _weight_scale(float(w.sum()), float(w @ w), kind)
    cell = cells.locate(x)
    fine = cell_moments(x, d, w, cell, len(cells))
    if _one_value_per_cell(fine, float(np.abs(x).max(initial=0.0))):
        return None
    noise = Noise.of(fine.take(np.flatnonzero(fine.weight > 0)), likelihood.floor)
    near = np.zeros(len(cells), dtype=bool)
    for edge in kept[1:-1]:
        near[max(edge - _REACH, 0) : edge + _REACH] = True
    units, low, high = _units(cells, fine, near, x, d, w, cell)
    if len(units) <= len(kept) or _n_candidates(len(kept) - 2) > _MAX_CANDIDATES:
        return None
    first = np.searchsorted(high, cells.edges[kept[1:-1]], side="right")
    starts = np.unique(np.concatenate([[0], first, [len(units)]]))
    # Number of units within reach of an edge, if they are distributed evenly over the cells near edges.
    reach = 2 * _REACH * -(-len(units) // int(near.sum()))
    starts, partition = _search_edges(units, starts, reach, noise, likelihood)
    inner = starts[1:-1]
    between = high[inner - 1] + (low[inner] - high[inner - 1]) / 2
    edges = np.concatenate([cells.edges[:1], between, cells.edges[-1:]])
    return RefinedBins(edges, partition.trend)


def _one_value_per_cell(fine: CellMoments, largest: float) -> bool:
    """Return whether all rows of each cell have the same value, up to the rounding of their mean."""
    rounding = 4 * np.finfo(float).eps * largest
    return bool(fine.xx is not None and (fine.xx <= fine.weight * rounding**2).all())


def _rows_in_cells(
    cells: Cells, rows: tuple[Floats, Floats, Floats | None]
) -> tuple[Floats, Floats, Floats]:
    """Return the rows with positive weight that lie in a cell."""
    x, d, w = rows
    weight = np.ones(len(x)) if w is None else w
    used = (cells.locate(x) >= 0) & (weight > 0)
    return (x, d, weight) if used.all() else (x[used], d[used], weight[used])


def cell_moments(x: Floats, d: Floats, w: Floats, cell: Ints, cells: int) -> CellMoments:
    """Return the moments of cells 0..cells - 1 from single rows, (n,) each; empty cells have weight 0."""
    weight = summed(cell, w, cells)
    safe = np.where(weight > 0, weight, 1.0)
    mean, mean_x = (summed(cell, w * v, cells) / safe for v in (d, x))
    dev, dev_x = d - mean[cell], x - mean_x[cell]
    # The sum of deviations is not exactly zero: it corrects the mean (see `Moments.of`).
    residual = summed(cell, w * dev, cells) / safe
    m2 = np.maximum(summed(cell, w * dev * dev, cells) - weight * residual**2, 0.0)
    xx, xd = summed(cell, w * dev_x * dev_x, cells), summed(cell, w * dev * dev_x, cells)
    return CellMoments(weight, mean + residual, m2, mean_x, xx, xd)


def merge_cells(points: CellMoments, starts: Ints) -> CellMoments:
    """Return the moments of merged neighbouring cells; `starts` are the first cells of the groups."""
    w = points.weight
    x, xx, xd = _axis_moments(points)
    weight = np.add.reduceat(w, starts)
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(w))))
    mean, mean_x = (np.add.reduceat(w * v, starts) / weight for v in (points.mean, x))
    dev, dev_x = points.mean - mean[group], x - mean_x[group]
    m2 = np.add.reduceat(points.m2 + w * dev * dev, starts)
    return CellMoments(
        weight,
        mean,
        m2,
        mean_x,
        np.add.reduceat(xx + w * dev_x * dev_x, starts),
        np.add.reduceat(xd + w * dev * dev_x, starts),
    )


def _axis_moments(points: CellMoments) -> tuple[Floats, Floats, Floats]:
    if points.x is None or points.xx is None or points.xd is None:
        raise TypeError("the cells have no axis: x, xx and xd are needed")
    return points.x, points.xx, points.xd


def _units(
    cells: Cells, fine: CellMoments, near: Bools, x: Floats, d: Floats, w: Floats, cell: Ints
) -> tuple[CellMoments, Floats, Floats]:
    """Return the units of the refined search, with their lower and upper ends.

    Each distinct value near an edge is a unit. Runs of cells that are not near an edge are merged into one unit.
    """
    rows = np.flatnonzero(near[cell])
    values, index = np.unique(x[rows], return_inverse=True)
    single = cell_moments(x[rows], d[rows], w[rows], index, len(values))
    far = np.flatnonzero((fine.weight > 0) & ~near)
    # Two far cells belong to the same run if no near cell lies between them.
    near_before = np.cumsum(near)[far]
    starts = np.flatnonzero(np.append(True, np.diff(near_before) > 0)) if len(far) else far
    low, high, units = values, values, single
    if len(far):
        between = merge_cells(fine.take(far), starts)
        ends = np.append(starts[1:], len(far)) - 1
        low = np.concatenate([values, cells.edges[far[starts]]])
        high = np.concatenate([values, cells.edges[far[ends] + 1]])
        pairs = [(p.weight, p.mean, p.m2, *_axis_moments(p)) for p in (single, between)]
        units = CellMoments(*(np.concatenate(both) for both in zip(*pairs, strict=True)))
    order = np.argsort(low, kind="stable")
    return units.take(order), low[order], high[order]


def _search_edges(
    units: CellMoments, starts: Ints, reach: int, noise: Noise, likelihood: PenalizedLikelihood
) -> tuple[Ints, Partition]:
    """Search again around the edges until none moves; return the first unit of each bin (then the number of units)."""
    # Which bins are linear is needed of the last partition only.
    last: tuple[CellMoments, Ints] | None = None
    for _ in range(_ROUNDS):
        if _n_candidates(len(starts) - 2) > _MAX_CANDIDATES:
            break
        candidates, complete = _candidates(starts, reach, len(units))
        clipped = noise.clip(merge_cells(units, candidates))
        found = _best_starts(clipped, noise, likelihood)
        last = clipped, found
        now = np.append(candidates, len(units))[found]
        if complete and len(now) == len(starts) and (now == starts).all():
            break
        gaps = np.diff(np.append(candidates, len(units)))
        inner = found[1:-1]
        starts = now
        if len(inner) == 0:
            break
        reach = _REACH * max(int(gaps[np.concatenate([inner - 1, inner])].max()), 1)
    if last is None:
        return starts, Partition(starts, np.zeros(len(starts) - 1, dtype=bool))
    clipped, found = last
    return starts, Partition(found, _linear_bins(clipped, noise, found, likelihood))


def _n_candidates(edges: int) -> int:
    """Return the number of candidates for this many edges."""
    return max(_CANDIDATES, edges * (2 * _REACH + 1))


def _candidates(starts: Ints, reach: int, units: int) -> tuple[Ints, bool]:
    """Return units at which bins may start, and whether they are all units within reach of an edge."""
    inner = starts[1:-1]
    per_edge = _n_candidates(len(inner)) // max(len(inner), 1)
    step = max(1, -(-2 * min(reach, units) // per_edge))
    offsets = np.arange(-min(reach, units), min(reach, units) + 1, step)
    around = (inner[:, None] + offsets).ravel()
    inside = around[(around > 0) & (around < units)]
    return np.unique(np.concatenate([[0], inner, inside])), step == 1
