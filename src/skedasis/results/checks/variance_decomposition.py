"""Decomposition of the variance of local effects within bins (RHALE Theorem 1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats, Ints
from skedasis.errors import UnsupportedError, explained
from skedasis.results.build.linear_form import AXIS, LOCAL, RISE
from skedasis.results.display import Shown, given_seed
from skedasis.results.effect import BinStats, Effect, locked
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments

# ------------------------------------------------------------------------------------------
# Whether local effects depend on x inside a bin, and how much of their variance is due to that. Pure arrays.


PERMUTED = 200
"""Up to so many rows p-values come from permutations; with more, from the distributions that the statistics tend to."""


DRAWS = 1999
"""Permutations at most. Drawing ends earlier where `_ENOUGH` of them were as extreme as the data (Besag & Clifford)."""


LEAST_ROWS = 5
"""With fewer rows a test says nothing."""


_ENOUGH = 50


_DEGREE = 3


_PLACES = 300
"""Neighbours are compared in large samples only with as many (effective) places on the axis."""


@dataclass(frozen=True, eq=False)
class Sorted:
    """Rows of one bin in the order of x, and which of them lie at the same place.

    Parameters
    ----------
    e : ndarray of float, shape (n,)
        Weight times the deviation of the local effect from the mean, in units of the largest deviation.
    basis : ndarray of float, shape (n, k)
        Orthonormal polynomials of the mid-ranks of x, up to degree 3.
    weight : ndarray of float, shape (n,)
    starts, sizes : ndarray of int, shape (g,)
        First row and number of rows of each place.
    """

    e: Floats
    basis: Floats
    weight: Floats
    starts: Ints
    sizes: Ints


def dependence(
    x: Floats, d: Floats, weight: Floats | None = None, *, seed: int = 0, draws: int = DRAWS
) -> float:
    """Return a p-value of the hypothesis that the mean of d is the same at all x.

    Parameters
    ----------
    x, d : ndarray of float, shape (n,)
        Places and local effects of a bin's rows.
    weight : ndarray of float, shape (n,), optional
        What a row counts in means. Rows are what is independent, whatever their weight.
    seed : int
        Of the permutations.
    draws : int
        Permutations at most: no p-value lies below 1 / (draws + 1) then.

    Returns
    -------
    float
        NaN with fewer than five rows, and where x or d does not vary.

    Notes
    -----
    Two directions are looked at. A trend: the score statistic of polynomials in the ranks of x up to degree 3, divided
    by the covariance that the rows themselves show, so that a spread which changes with x is no evidence (White 1980).
    And any shape at all: whether the deviations of neighbours, and of rows at the same x, have the same sign (von
    Neumann 1941), in units of what their products scatter. The p-value is that of the smaller of the two p-values.
    Up to 200 rows it comes from permutations of d over x, exact where d and x are independent, and, as both statistics
    are studentised, nearly so where only the mean of d is the same at all x (DiCiccio & Romano 2017). It depends on the
    order of the rows in nothing. Measured over 1,000 samples each, 12 to 600 rows: where the spread grows twentyfold
    along the bin, 4 to 8 % of p-values lie below 5 %, and 6 to 9 % if slopes are also skewed.
    """
    rows = _sorted(x, d, weight)
    if rows is None:
        return float("nan")
    large = len(x) > PERMUTED
    share = rows.sizes / len(x)
    together = len(rows.sizes) > _DEGREE + 1 and bool(not large or share @ share < 1 / _PLACES)
    observed = _smallest(rows, np.arange(len(x))[None, :], together=together)[0]
    if large:
        return float(-np.expm1(2 * np.log1p(-observed))) if together else float(observed)
    return _permuted(rows, observed, seed, draws, together=together)


def _sorted(x: Floats, d: Floats, weight: Floats | None) -> Sorted | None:
    """Sort a bin's rows; None where there is nothing to test."""
    w = np.ones(len(x)) if weight is None else weight / weight.max()
    order = np.lexsort((w, d, x))
    x, d, w = x[order], d[order], w[order]
    starts = np.flatnonzero(np.append(True, x[1:] != x[:-1])) if len(x) else np.zeros(0, int)
    if len(x) < LEAST_ROWS or len(starts) < 2 or (d == d[0]).all():
        return None
    sizes = np.diff(np.append(starts, len(x)))
    middle = np.repeat(starts + (sizes - 1) / 2, sizes)
    rank = 2 * middle / (len(x) - 1) - 1
    powers = rank[:, None] ** np.arange(min(_DEGREE, len(starts) - 1) + 1)
    basis = np.linalg.qr(powers)[0][:, 1:]
    d = d - d[0]  # an offset must not cost digits
    e = d - w @ d / w.sum()
    return Sorted(w * e / max(np.abs(e).max(), np.finfo(float).tiny), basis, w, starts, sizes)


def _smallest(rows: Sorted, orders: Ints, *, together: bool) -> Floats:
    """Return the smaller of the two p-values for each order in which effects are dealt to places, shape (b,)."""
    from scipy.special import chdtrc, ndtr

    e, w = rows.e[orders], rows.weight[orders]
    p = chdtrc(rows.basis.shape[1], _trend(rows, e, w))
    if together:
        p = np.minimum(p, ndtr(-_alike(rows, e)))
    return p


def _trend(rows: Sorted, e: Floats, w: Floats) -> Floats:
    """Return the score statistics of the polynomials."""
    basis, k = rows.basis, rows.basis.shape[1]
    score, square = e @ basis, e**2
    middle = w @ basis / w.sum(axis=1, keepdims=True)
    products = (basis[:, :, None] * basis[:, None, :]).reshape(len(basis), -1)
    cross = (square @ basis)[:, :, None] * middle[:, None, :]
    covariance = (square @ products).reshape(-1, k, k) - cross - cross.transpose(0, 2, 1)
    total = square.sum(axis=1)[:, None, None]
    covariance += total * middle[:, :, None] * middle[:, None, :]
    size = np.trace(covariance, axis1=1, axis2=2)[:, None, None]
    covariance += (1e-9 * size + np.finfo(float).tiny) * np.eye(k)
    return (score * np.linalg.solve(covariance, score[:, :, None])[:, :, 0]).sum(axis=1)


def _alike(rows: Sorted, e: Floats) -> Floats:
    """Return how much more alike neighbours are than strangers, in standard errors.

    All pairs of rows at one place count 1 / (its rows), those of two neighbouring places 1 / (rows of the larger one).
    """
    n, sizes = e.shape[1], rows.sizes.astype(float)
    square = e**2
    total, second, fourth = (
        np.add.reduceat(part, rows.starts, axis=1) for part in (e, square, square**2)
    )
    larger = np.maximum(sizes[:-1], sizes[1:])
    inside = (total**2 - second) / (2 * sizes)
    beside = total[:, :-1] * total[:, 1:] / larger
    scatter = ((second**2 - fourth) / (2 * sizes**2)).sum(axis=1)
    scatter += (second[:, :-1] * second[:, 1:] / larger**2).sum(axis=1)
    # Deviations from a common mean are a little unlike one another.
    pairs = ((sizes - 1) / 2).sum() + (sizes[:-1] * sizes[1:] / larger).sum()
    lost = pairs * square.sum(axis=1) / (n * (n - 1))
    found = inside.sum(axis=1) + beside.sum(axis=1) + lost
    return found / np.sqrt(np.maximum(scatter, np.finfo(float).tiny))


def _permuted(rows: Sorted, observed: float, seed: int, draws: int, *, together: bool) -> float:
    """Return the share of permutations that are as extreme; drawing ends when enough of them were."""
    rng, n = np.random.default_rng(seed), len(rows.e)
    done = reached = 0
    limit = observed * (1 + 1e-9)  # equal up to rounding is equal
    while done < draws:
        size = min(200 if done == 0 else 1800, draws - done)
        orders = rng.permuted(np.broadcast_to(np.arange(n), (size, n)), axis=1)
        extreme = np.flatnonzero(_smallest(rows, orders, together=together) <= limit)
        if reached + len(extreme) >= _ENOUGH:
            return _ENOUGH / (done + int(extreme[_ENOUGH - reached - 1]) + 1)
        reached, done = reached + len(extreme), done + size
    return (reached + 1) / (done + 1)


def split_variance(x: Floats, d: Floats, weight: Floats | None = None) -> tuple[float, float]:
    """Return the variance of d, and that part of it which is there at given x.

    Parameters
    ----------
    x, d : ndarray of float, shape (n,)
    weight : ndarray of float, shape (n,), optional

    Returns
    -------
    total, within : float
        Unbiased for s*² of RHALE Theorem 1 and for sigma²; NaN with fewer than two rows, and `within` with fewer than
        three.

    Notes
    -----
    Where most rows share their x with others, `within` is their pooled variance around the mean at their x. Else it
    comes from what each place's mean is off the line between its two neighbours (Gasser, Sroka & Jennen-Steinmetz
    1986), which a slope that is linear in x does not touch at all, and one jump hardly does. It is never above `total`.
    """
    w = np.ones(len(x)) if weight is None else weight
    total = _variance(d, w)
    if len(x) < 3:
        return total, float("nan")
    order = np.lexsort((w, d, x))
    x, w = x[order], w[order]
    centre = d[order[0]]
    d = d[order] - centre
    starts = np.flatnonzero(np.append(True, x[1:] != x[:-1]))
    size = np.add.reduceat(w, starts)
    mean = np.add.reduceat(w * d, starts) / size
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(x))))
    square = np.add.reduceat(w * (d - mean[group]) ** 2, starts)
    # What a weighted sum of squares expects: rows are independent, whatever their weight.
    second = np.add.reduceat(w**2, starts)
    freedom = size - second / size
    lone = len(starts) > len(x) / 2
    if not lone or len(starts) < 3:
        return total, _at_most(float(square.sum()), float(freedom.sum()), total)
    gap = np.diff(x[starts])
    left, right = gap[:-1], gap[1:]
    share = left / (left + right)
    off = mean[1:-1] - mean[:-2] * (1 - share) - mean[2:] * share
    own = second / size**2
    norm = own[1:-1] + (1 - share) ** 2 * own[:-2] + share**2 * own[2:]
    worth = size[1:-1] * own[1:-1]
    squares = float(square.sum() + (worth * off**2 / norm).sum())
    return total, _at_most(squares, float(freedom.sum() + worth.sum()), total)


def _variance(d: Floats, w: Floats) -> float:
    if len(d) < 2:
        return float("nan")
    mean = w @ (d - d[0]) / w.sum() + d[0]
    return float(w @ (d - mean) ** 2 / (w.sum() - w @ w / w.sum()))


def _at_most(squares: float, freedom: float, total: float) -> float:
    return min(squares / freedom, total) if freedom > 0 else float("nan")


# ------------------------------------------------------------------------------------------
# The variance within bins, split: how rows differ at given x, and how the slope changes with x (RHALE Theorem 1).


ROUNDING = 1e-6
"""Share of the largest local effect below which scatter may be the rounding of differences, or of single precision."""


_PARTS, _PART_ROWS = 12, 30
"""Where rows are gone, a bin's fine cells are compared as so many parts at most, of so many rows at least."""


@dataclass(frozen=True, eq=False)
class Split(Shown):
    """The variance of local effects in each bin, and what it consists of, one entry a bin.

    Parameters
    ----------
    left, right : ndarray, shape (K,)
        Edges of the bins; of a categorical feature the levels that a step leads between.
    count : ndarray of int, shape (K,)
        Rows.
    total : ndarray of float, shape (K,)
        s*², the variance of the local effects in the bin, about its line where the slope changes linearly: what
        `BinStats.std` is the root of where local effects are slopes (but for frequency weights, whose divisor is
        another one: here rows are what is independent). NaN with fewer than two rows.
    within : ndarray of float, shape (K,)
        sigma², the variance at given x: heterogeneity proper. NaN with fewer than three rows.
    residual : ndarray of float, shape (K,)
        E², the mean squared residual: the part of `total` that is there because the mean slope changes with x inside
        the bin. ``total = within + residual``; never negative.
    p_value : ndarray of float, shape (K,)
        Of the hypothesis that the mean slope is the same at all x in the bin; NaN where there is nothing to test
        (fewer than five rows, no scatter beyond rounding, one value of x).
    """

    left: NDArray[Any]
    right: NDArray[Any]
    count: Ints
    total: Floats
    within: Floats
    residual: Floats
    p_value: Floats

    def __post_init__(self) -> None:
        locked(*(getattr(self, f.name) for f in fields(self)))

    def __len__(self) -> int:
        return len(self.left)

    @property
    def share(self) -> Floats:
        """Return E² as a share of s*²; 0 where nothing scatters."""
        return np.where(self.total > 0, self.residual / np.where(self.total > 0, self.total, 1), 0)

    def adjusted(self) -> Floats:
        """Return the p-values corrected for the number of bins (Holm 1979), NaN where there are none."""
        out = np.full(len(self), np.nan)
        known = np.flatnonzero(~np.isnan(self.p_value))
        order = known[np.argsort(self.p_value[known], kind="stable")]
        factor = np.arange(len(order), 0, -1)
        out[order] = np.minimum(np.maximum.accumulate(factor * self.p_value[order]), 1.0)
        return out


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Kept rows with their local effects, and the bins that they are in.

    Parameters
    ----------
    x, effect, weight : ndarray of float, shape (n,)
    bin : ndarray of int, shape (n,)
        -1 outside of all.
    """

    x: Floats
    effect: Floats
    weight: Floats
    bin: Ints

    def groups(self, bins: int) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Yield x, effect and weight of the rows of each bin."""
        order = np.argsort(self.bin, kind="stable")
        ends = np.searchsorted(self.bin[order], np.arange(bins + 1))
        for k in range(bins):
            here = order[ends[k] : ends[k + 1]]
            yield self.x[here], self.effect[here], self.weight[here]


def split(effect: Effect, *, seed: int = 0) -> Split:
    """Split the variance within each bin into that at given x and the mean squared residual.

    Parameters
    ----------
    effect : Effect
        With bins: accumulated effects, and M-plots of numbers.
    seed : int
        Of the permutations behind the p-values of small bins.

    Returns
    -------
    Split

    Raises
    ------
    UnsupportedError
        For PDP and ICE, and M-plots of levels, which have no bins.

    Notes
    -----
    RHALE Theorem 1: s*² = sigma² + E², so the reported standard deviation is too large by what the mean slope does
    inside the bin. From the rows that are kept (a sample, where these are some of all); where there are none, from the
    moments of the fine cells, with Welch's test between them. How both parts are estimated is in
    this module. Inside one cell of an ALE all rows are moved across the same edges:
    x can matter there only through the features that go with it. No model row.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> q = sd.prediction(lambda X: X[:, 0] ** 2, slope=lambda X: 2 * X)
    >>> s = split(
    ...     sd.explain(q, X, 0, method=sd.DALE(bins=2))
    ... )  # the slope runs from 0 to 1, and from 1 to 2
    >>> s.share.round(3), s.residual.round(2)
    (array([1., 1.]), array([0.08, 0.08]))
    """
    seed, stats = given_seed("split(seed)", seed), effect.bins
    if stats is None:
        method = f"{effect.spec.method} of {effect.feature!r}"
        raise UnsupportedError(
            explained(f"split of a {method}", "no bins", "an effect with bins", "Use RHALE or ALE")
        )
    if len(stats) == 0:
        none = np.zeros(0)
        return Split(stats.left, stats.right, none.astype(int), none, none, none, none)
    if (
        effect.spec.on_cells and np.isnan(stats.std).all()
    ):  # re-binned: rises across these bins are not known
        unknown = np.full(len(stats), np.nan)
        return Split(
            stats.left, stats.right, np.asarray(stats.count), unknown, unknown, unknown, unknown
        )
    rows = local_rows(effect)
    found = _of_moments(effect) if rows is None else _of_rows(rows, len(stats), seed)
    total, within, p = found.T.copy()
    residual = np.maximum(total - within, 0.0)
    return Split(
        stats.left, stats.right, np.asarray(stats.count), total, within, residual, p.copy()
    )


def _of_rows(rows: LocalRows, bins: int, seed: int) -> Floats:
    """Return total, within and p-value of each bin, (K, 3)."""
    found = np.full((bins, 3), np.nan)
    noise = (ROUNDING * float(np.abs(rows.effect).max(initial=0.0))) ** 2
    draws = max(DRAWS, 50 * bins)  # a correction for so many bins must leave something to find
    for k, (x, d, w) in enumerate(rows.groups(bins)):
        if len(x) == 0:
            continue
        found[k, :2] = split_variance(x, d, w)
        if found[k, 0] > noise:
            found[k, 2] = dependence(x, d, w, seed=seed, draws=draws)
    return found


def local_rows(effect: Effect) -> LocalRows | None:
    """Return the kept rows in their bins; None where none are kept."""
    rows, stats = effect.rows, effect.bins
    if rows is None or rows.effect is None or len(rows) == 0 or stats is None:
        return None
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    if effect.levels is not None:
        return _of_steps(effect, rows.effect, weight)
    local = rows.local
    if local is None or local.ndim > 1:
        return None
    place = Cells(edges_of(effect), _closed(effect)).locate(rows.x)
    there = weight > 0
    x, place = rows.x[there], place[there]
    return LocalRows(x, local[there] - lean(stats, x, place), weight[there], place)


def lean(stats: BinStats, x: Floats, place: Ints) -> Floats:
    """Return by how much slopes at x differ from that in the middle of their bin, where they change linearly in it.

    What a bin says of itself is no residual: it is tested about its line.
    """
    if not np.any(stats.trend):
        return np.zeros(len(x))
    middle = (stats.low + stats.high) / 2
    return np.where(place >= 0, stats.trend[place] * (x - middle[place]), 0.0)


def _of_steps(effect: Effect, steps: Floats, weight: Floats) -> LocalRows:
    """Return the rows of each step, or run of steps, between levels: a row's mean over its steps there."""
    stats, levels, rows = effect.bins, effect.levels, effect.rows
    if stats is None or levels is None or rows is None:
        none = np.zeros(0)
        return LocalRows(none, none, none, none.astype(np.int64))
    place = rows.x.astype(np.int64)
    run = np.searchsorted(levels.places(stats.low), np.arange(max(len(levels) - 1, 1)), "right") - 1
    last = len(run) - 1
    before, after = run[np.clip(place - 1, 0, last)], run[np.clip(place, 0, last)]
    down, up = ~np.isnan(steps[:, 0]), ~np.isnan(steps[:, 1])
    one = down & up & (before == after)
    parts = [
        (one, steps.mean(axis=1), after),
        (down & ~one, steps[:, 0], before),
        (up & ~one, steps[:, 1], after),
    ]
    x, d, w, home = (
        np.concatenate(part)
        for part in zip(*((rows.x[m], v[m], weight[m], b[m]) for m, v, b in parts), strict=True)
    )
    there = w > 0
    return LocalRows(x[there], d[there], w[there], home[there])


def edges_of(effect: Effect) -> Floats:
    """Return the edges of a numeric feature's bins."""
    stats = effect.bins
    return np.zeros(0) if stats is None else stats.edges


def _closed(effect: Effect) -> Any:
    return effect.spec.closed if effect.cells is None else effect.cells.closed


def _of_moments(effect: Effect) -> Floats:
    """Return total, within and p-value of each bin, from fine cells alone."""
    found = np.full((len(effect.bins or ()), 3), np.nan)
    if effect.levels is not None or effect.cells is None or LOCAL not in effect.moments:
        return found
    fine, kind = effect.moments[LOCAL], effect.spec.weight_kind
    if RISE in effect.moments:  # across whole bins: cells know nothing of them
        found[:, 0] = effect.moments[RISE].variance(1, kind)
        return found
    kept = np.searchsorted(effect.cells.edges, edges_of(effect))
    if effect.bins is not None and AXIS in effect.moments:
        place = np.searchsorted(kept, np.arange(len(fine.mean)), side="right") - 1
        place = np.where((place < len(effect.bins)), place, -1)
        fine = replace(fine, mean=fine.mean - lean(effect.bins, effect.moments[AXIS].mean, place))
    found[:, 0] = fine.pool(kept[:-1]).variance(1, kind)
    own = ~np.isnan(fine.variance(1, kind))
    squares, freedom = (
        np.add.reduceat(np.where(own, part, 0.0), kept[:-1])
        for part in (fine.m2, fine.degrees(1, kind))
    )
    some = freedom > 0
    found[some, 1] = np.minimum(squares[some] / freedom[some], found[some, 0])
    noise = (ROUNDING * float(np.abs(fine.mean).max(initial=0.0))) ** 2
    for k in np.flatnonzero(found[:, 0] > noise):
        found[k, 2] = _welch(_joined(fine.take(slice(kept[k], kept[k + 1]))), kind)
    return found


def _joined(cells: Moments) -> Moments:
    """Return neighbouring cells joined to a few parts of about equally many rows."""
    rows = float(cells.count.sum())
    parts = int(min(_PARTS, rows // _PART_ROWS, len(cells.count)))
    if parts < 2:
        return cells.pool(np.zeros(1, dtype=np.int64))
    part = np.minimum((np.cumsum(cells.count) - cells.count / 2) * parts // rows, parts - 1)
    return cells.pool(np.flatnonzero(np.append(True, np.diff(part) > 0)))


def _welch(cells: Moments, kind: Any) -> float:
    """Return the p-value of equal means where variances may differ (Welch 1951)."""
    from scipy.special import fdtrc

    variance, size = cells.variance(1, kind), cells.effective(kind)
    known = (variance > 0) & (cells.count >= _PART_ROWS / 3)
    k = int(known.sum())
    if k < 2:
        return float("nan")
    mean, n = cells.mean[known] - cells.mean[known][0], size[known]
    worth = n / variance[known]
    share = worth / worth.sum()
    lost = float(((1 - share) ** 2 / np.maximum(n - 1, 1)).sum())
    between = float(worth @ (mean - share @ mean) ** 2) / (k - 1)
    ratio = between / (1 + 2 * (k - 2) / (k**2 - 1) * lost)
    return float(fdtrc(k - 1, (k**2 - 1) / (3 * lost), ratio))
