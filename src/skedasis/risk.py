"""Partitions of fine cells by their risk: bins whose slopes are constant or linear, with a price for each bin.

RHALE's Eq. 13 sums the bins' variances, and needs a least number of rows and a discount to know when to stop. Here a
partition is judged by how well its bins describe the local effects: a bin costs its deviance, ``n log(variance)``, and
a price that pure chance would not pay. So there is nothing to set: where slopes are constant one bin is left, and
jumps, slopes that change steadily, and regions of other scatter are found where the data show them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from skedasis.typing import Bools, Floats, Ints

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
