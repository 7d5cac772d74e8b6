"""Bootstrap of ALE statistics.

The mean of |f| over rows needs to know where f changes its sign, so rows are looked at one by one. Resampled rows are
looked at in groups of neighbours, each as narrow as thousands of groups make them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.errors import DataError, explained
from skedasis.results.build.linear_form import AXIS, LOCAL
from skedasis.results.build.steps import UP
from skedasis.results.effect import Effect
from skedasis.results.intervals.bootstrap import (
    Accumulated,
    Bent,
    Fixed,
    Form,
    FromMoments,
    FromRows,
    Halved,
    Stepped,
    needs,
    source_of,
)
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments
from skedasis.stats.resampling import generator

# ------------------------------------------------------------------------------------------
# Effects in percentiles of the outcome: how many rows' outcomes an effect passes.


_REACHED = 1 + 1e-9
"""An outcome is reached if it is missed by rounding only."""


@dataclass(frozen=True, eq=False)
class Percentiles:
    """The outcome around its median.

    Parameters
    ----------
    above, below : ndarray of float
        Distances of outcomes from the median, sorted: of those greater than it, and of those smaller.
    up, down : ndarray of float, one longer
        Their weight so far, in percent of all.
    half_up, half_down : ndarray of float, one longer
        The same as Okoli counts: halves that both hold the median itself, each of 50 percent.
    """

    above: Floats
    below: Floats
    up: Floats
    down: Floats
    half_up: Floats
    half_down: Floats

    @classmethod
    def around(cls, y: Floats, weight: Floats) -> Percentiles:
        """Return the percentiles of outcomes with weights."""
        order = np.argsort(y, kind="stable")
        y, weight = y[order], weight[order]
        total = np.cumsum(weight)
        half = total[-1] / 2
        ends = [int(np.searchsorted(total, half, side=s)) for s in ("left", "right")]
        moved = y - (y[ends[0]] + y[min(ends[1], len(y) - 1)]) / 2
        sides = []
        for side in (moved, -moved):
            passed = side > 0
            worth = weight[passed]
            if side is not moved:
                worth = worth[::-1]
            tied = float(weight[moved == 0].sum())
            so_far = np.append(0.0, np.cumsum(worth))
            held = max(tied + so_far[-1], np.finfo(float).tiny)
            halves = np.append(0.0, tied + so_far[1:]) / held * 50
            sides.append((np.sort(side[passed]), so_far / total[-1] * 100, halves))
        (above, up, half_up), (below, down, half_down) = sides
        return cls(above, below, up, down, half_up, half_down)

    def of(self, effect: Floats) -> Floats:
        """Return effects in percentiles: the share of rows whose outcome lies between the median and median + effect.

        Outcomes equal to the median are not passed; those equal to the other end are.
        """
        reach = effect * _REACHED
        up = self.up[np.searchsorted(self.above, reach, side="right")]
        down = self.down[np.searchsorted(self.below, -reach, side="right")]
        return up - down

    def okoli(self, effect: Floats) -> Floats:
        """Return effects in percentiles as Okoli (2023) and the R package `ale` count.

        Nothing up to the first outcome beside the median; beyond it that and all that are tied with the median, too.
        """
        up = self.half_up[np.searchsorted(self.above, effect * _REACHED, side="right")]
        down = self.half_down[np.searchsorted(self.below, -effect * _REACHED, side="right")]
        far = [side[0] if len(side) else np.inf for side in (self.above, self.below)]
        return np.where(effect > far[0], up, 0.0) - np.where(-effect > far[1], down, 0.0)


def outcomes(y: Any, weights: Any, rows: int | None, *, weighted: bool) -> Percentiles:
    """Check what the caller gave as outcomes, and return their percentiles.

    Parameters
    ----------
    y : array_like of numbers, shape (n,)
    weights : array_like of numbers, shape (n,), optional
    rows : int, optional
        How many rows were explained.
    weighted : bool
        Whether these had weights.

    Raises
    ------
    DataError
        For another length, text, and values that are not finite; where rows had weights and these are not given.
    """
    values = _numbers(y)
    if weighted and weights is None:
        fix = "Pass the weights that explain had"
        raise DataError(explained("statistics(weights)", "None", "one weight a row", fix))
    w = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    if w.shape != values.shape:
        got = f"shapes {values.shape} and {w.shape}"
        fix = "Pass those of X's rows"
        raise DataError(explained("statistics(y, weights)", got, "one number a row", fix))
    if not np.isfinite(w).all() or (w < 0).any() or not w.any():
        got = "weights that are negative, not finite or all zero"
        raise DataError(
            explained("statistics(weights)", got, "numbers of at least 0", "Check them")
        )
    values, w = values[w > 0], w[w > 0]
    if rows is not None and len(values) != rows:
        got, expected = f"length {len(values)}", f"length {rows} (one a row)"
        fix = "Pass the outcomes of the rows that were explained"
        raise DataError(explained("statistics(y)", got, expected, fix))
    if not np.isfinite(values).all():
        got = f"{int((~np.isfinite(values)).sum())} values that are NaN or infinite"
        raise DataError(explained("statistics(y)", got, "finite numbers", "Leave such rows out"))
    return Percentiles.around(values, w)


def _numbers(y: Any) -> Floats:
    """Return outcomes as numbers, or refuse them."""
    given = np.asarray(y)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    got = None
    if given.ndim != 1 or len(given) == 0:
        got = f"shape {given.shape}"
    elif given.dtype.kind not in "biufO":
        got = f"values of type {given.dtype}"
    try:
        values = np.zeros(0) if got else given.astype(float)
    except (TypeError, ValueError):
        got, values = "values that are no numbers", np.zeros(0)
    if got:
        fix = "Pass the outcome of each row as a number, a class as 0 or 1"
        raise DataError(explained("statistics(y)", got, "one number a row", fix))
    return values


# ------------------------------------------------------------------------------------------
# How far an accumulated effect lies from zero over the data: its own figures, and those of resampled rows.


GROUPS = 2048
"""Distinct values up to which resampled rows are looked at one by one."""


_SPECK = 1e-12
"""Share of a cell's edge in its rows."""


_NUMBERS = 1_000_000
"""Groups times replicates at a time."""


@dataclass(frozen=True, eq=False)
class Places:
    """Where rows lie on the axis.

    Parameters
    ----------
    x : ndarray of float, shape (r,)
        Values of the feature; of a categorical feature the places of its levels.
    weight : ndarray of float, shape (r,)
    rows : int
        Rows behind them.
    exact : bool
        Whether these are the rows themselves, not the means of fine cells.
    """

    x: Floats
    weight: Floats
    rows: int
    exact: bool


def middled(effect: Effect) -> Effect:
    """Return the effect as if centred by the mean: its draws are then known wherever they have rows.

    The level itself does not matter: `figures` centres anew.
    """
    if effect.spec.center == "mean":
        return effect
    return replace(effect, spec=replace(effect.spec, center="mean"))


def places(effect: Effect) -> Places:
    """Return where the rows of an effect lie: rows if all are kept, else levels, or points within the fine cells."""
    if effect.levels is not None:
        levels = effect.levels
        at = np.arange(len(levels), dtype=float)
        return Places(at, levels.weight, int(levels.count.sum()), exact=True)
    rows, cells = effect.rows, effect.cells
    if len(effect.points) < 2 or cells is None or len(cells) == 0:
        count = int(effect.provenance.get("rows", effect.missing)) - effect.missing
        return Places(np.zeros(1), np.ones(1), count, exact=True)
    if rows is not None and rows.exact:
        inside = (rows.x >= effect.points[0]) & (rows.x <= effect.points[-1])
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        return Places(rows.x[inside], weight[inside], int(inside.sum()), exact=True)
    if effect.values is not None:
        own = effect.moments[UP]
        return Places(effect.values, own.weight, int(own.count.sum()), exact=True)
    x, cell, share = _points(effect, cells)
    axis = effect.moments[AXIS]
    count = int(axis.count[np.unique(cell)].sum())
    return Places(x, share * axis.weight[cell], count, exact=False)


def _points(effect: Effect, cells: Cells) -> tuple[Floats, Ints, Floats]:
    """Return points that stand for the rows of fine cells: where they lie, their cells, and shares in these.

    Two points have the mean and the variance of the cell's rows, and lie within it; its edges stand for the extremes,
    with a share too small to count.
    """
    axis = effect.moments[AXIS]
    own = np.clip(axis.mean, cells.edges[:-1], cells.edges[1:])
    inside = (axis.weight > 0) & (own >= effect.points[0]) & (own <= effect.points[-1])
    cell = np.flatnonzero(inside)
    left, right, mean = cells.edges[cell], cells.edges[cell + 1], own[cell]
    variance = axis.m2[cell] / axis.weight[cell]
    spread = np.sqrt(variance)
    below = np.minimum(spread, mean - left)
    above = np.minimum(spread, right - mean)
    # A point that would leave the cell stands at its edge, and the other one so much farther away.
    tight_low, tight_high = below < spread, above < spread
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(tight_low & (below > 0), variance / below, above)
        below = np.where(tight_high & ~tight_low & (above > 0), variance / above, below)
        part = np.where(above + below > 0, above / (above + below), 0.5)
    x = [mean - below, mean + above, left, right]
    share = [part, 1 - part, np.full(len(cell), _SPECK), np.full(len(cell), _SPECK)]
    where = np.clip(np.concatenate(x), effect.points[0], effect.points[-1])
    return where, np.tile(cell, 4), np.concatenate(share)


def at_places(effect: Effect, where: Floats) -> Floats:
    """Return the curve at values of the feature; of a categorical feature at places of levels."""
    if effect.levels is not None:
        return effect.value[where.astype(np.int64)]
    if len(effect.points) < 2:
        return np.zeros(len(where))
    return effect.at(where)


def figures(value: Floats, weight: Floats, percentiles: Percentiles | None) -> Floats:
    """Return ALED, the ends of ALER and, with percentiles, NALED, shape (3, R) or (4, R).

    Curves are centred first: their mean over the rows is zero.

    Parameters
    ----------
    value, weight : ndarray of float, shape (r, R)
        The curve at rows, and how often these are there.
    percentiles : Percentiles, optional
    """
    there = weight > 0
    known = np.where(there, value, 0.0)
    level = _mean(known, weight)
    known = np.where(there, known - level, 0.0)
    low = np.where(there, known, np.inf).min(axis=0)
    high = np.where(there, known, -np.inf).max(axis=0)
    found = [_mean(np.abs(known), weight), low, high]
    if percentiles is not None:
        found.append(_mean(np.abs(percentiles.of(known)), weight))
    return np.stack(found)


def _mean(value: Floats, weight: Floats) -> Floats:
    total = np.maximum(weight.sum(axis=0), np.finfo(float).tiny)
    return (weight * value).sum(axis=0) / total


@dataclass(frozen=True, eq=False)
class Drawn:
    """Replicates of f figures.

    Parameters
    ----------
    base : ndarray of float, shape (f,)
        The figures of the groups as they are.
    figures : ndarray of float, shape (R, f)
    moved : ndarray of float, shape (R, f)
        By how much each figure would have moved if the curve's signs and the places of its extremes were known: that of
        a strong effect. NaN where a draw does not know it.
    noise : ndarray of float, shape (R,)
        Mean over the rows of the curve's distance from the effect: the ALED of a flat effect with such errors.
    """

    base: Floats
    figures: Floats
    moved: Floats
    noise: Floats


@dataclass(frozen=True, eq=False)
class Repeats:
    """The figures of an effect whose rows are counted otherwise.

    Parameters
    ----------
    source : FromRows, FromMoments or Fixed
    moments : callable
        From counts of rows, (n, R), to the moments that the form reads.
    gather : sparse array, shape (g, n) or (g, P)
        Sums counts of rows, or the weights of cells, by group.
    lean : sparse array, shape (g, m)
        Takes the curve at the effect's points to the groups.
    bend : sparse array, shape (g, K), optional
        Takes changes of slopes within bins to what lies between the curve and the line between the bin's edges.
    weight, flat : ndarray of float, shape (g, 1)
        Of the groups, and the curve there.
    percentiles : Percentiles, optional
    """

    source: FromRows | FromMoments | Fixed
    moments: Callable[[Floats], Mapping[str, Moments]]
    gather: Any
    lean: Any
    bend: Any
    weight: Floats
    flat: Floats
    percentiles: Percentiles | None

    @property
    def base(self) -> Floats:
        """Return the figures of the groups as they are, shape (f,)."""
        return figures(self.flat, self.weight, self.percentiles)[:, 0]

    def split(self, drawn: Floats) -> Drawn:
        """Return replicates, (R, 2 f + 1), by what they are."""
        f = len(self.base)
        return Drawn(self.base, drawn[:, :f], drawn[:, f : 2 * f], drawn[:, 2 * f])

    def __call__(self, counts: Floats) -> Floats:
        """Return figures, what moved, and noise, (2 f + 1, R), from counts (n, R)."""
        if not isinstance(self.source, FromRows):
            still = np.concatenate([self.base, np.zeros(len(self.base) + 1)])
            return np.repeat(still[:, None], counts.shape[1], axis=1)
        return self._read(self.source.form, self.moments(counts), self.gather @ counts)

    def drawn(self, replicates: int, seed: int) -> Floats:
        """Return the same from moments drawn anew, shape (R, 2 f + 1)."""
        source = self.source
        if not isinstance(source, FromMoments):
            raise TypeError("only moments are drawn")
        rng, parts = generator(seed), []
        names, squares = needs(source.form, "value")
        step = max(1, _NUMBERS // max(self.lean.shape[0], self.gather.shape[1], 1))
        for first in range(0, replicates, step):
            size = min(step, replicates - first)
            moments = source.drawn(rng, size, names, squares=squares)
            weight = self.gather @ moments[names[0]].weight
            parts.append(self._read(source.form, moments, weight).T)
        return np.concatenate(parts)

    def _read(self, form: Form, moments: Mapping[str, Moments], weight: Floats) -> Floats:
        # Where a draw knows nothing of the curve it has no rows either.
        at = curve_at(form, moments, self.lean, self.bend)
        at = at - _mean(np.where(weight > 0, at, 0.0), weight)
        off, side = np.where(weight > 0, at - self.flat, 0.0), np.sign(self.flat)
        seen = np.where(self.weight > 0, self.flat, np.nan)[:, 0]
        ends = [int(np.nanargmin(seen)), int(np.nanargmax(seen))]
        moved = [_mean(side * off, weight)]
        moved += [np.where(weight[k] > 0, off[k], np.nan) for k in ends]
        if self.percentiles is not None:
            share = self.percentiles.of(self.flat + off) - self.percentiles.of(self.flat)
            moved.append(_mean(side * share, weight))
        found = figures(at, weight, self.percentiles)
        return np.concatenate([found, np.stack(moved), _mean(np.abs(off), weight)[None]])


def curve_at(form: Form, moments: Mapping[str, Moments], lean: Any, bend: Any) -> Floats:
    """Return curves at the groups, (g, R); zero where moments tell nothing."""
    at = lean @ np.nan_to_num(form.read(moments, "value"))
    return at + bend @ form.trend(moments) if isinstance(form, Bent) else at


def repeats(effect: Effect, percentiles: Percentiles | None) -> Repeats:
    """Return how the figures of a centred effect depend on how often each of its rows counts."""
    from scipy.sparse import csr_array

    source = source_of(effect)
    if isinstance(source, Fixed):
        one, zero = csr_array(np.ones((1, 1))), np.zeros((1, 1))
        return Repeats(source, lambda _: {}, one, one, one, zero + 1, zero, percentiles)
    if isinstance(source, FromRows):
        names, squares = needs(source.form, "value")
        moments = source.columns.summed(names, squares=squares)
        x, gather, observed = _of_rows(effect, source)
        plain = source.draws.kind == "sampling"  # whose weights the moments bring in by themselves
        own = moments(np.ones((source.draws.rows, 1)) if plain else source.weight[:, None])
    elif isinstance(source, FromMoments):
        moments = _nothing
        x, gather, observed = _of_cells(effect, source)
        own = {k: _column(m) for k, m in source.moments.items()}
    else:
        raise TypeError(f"no statistics of {type(source).__name__}")
    lean, bend = _interpolation(effect, x), _bending(effect, x)
    flat = curve_at(source.form, own, lean, bend)
    flat = flat - _mean(flat, observed[:, None])
    return Repeats(source, moments, gather, lean, bend, observed[:, None], flat, percentiles)


def _nothing(_: Floats) -> Mapping[str, Moments]:
    raise TypeError("moments are drawn, not counted")


def _column(moments: Moments) -> Moments:
    return Moments(**{k: a[:, None] for k, a in moments.arrays().items()})


def _of_rows(effect: Effect, source: FromRows) -> tuple[Floats, Any, Floats]:
    """Return groups of neighbouring rows: where they lie, what sums their counts, and their weight."""
    rows = effect.rows
    x = np.zeros(0) if rows is None else rows.x
    inside = np.flatnonzero((source.columns.place >= 0) & ~np.isnan(x))
    if effect.levels is None:
        inside = inside[(x[inside] >= effect.points[0]) & (x[inside] <= effect.points[-1])]
    group, size = _grouped(effect, x[inside])
    w = source.draws.weight
    worth = np.ones(len(inside))
    if w is not None and source.draws.kind == "sampling":
        worth = w[inside]
    gather = _summing(group, inside, worth, (size, len(x)))
    weight = gather @ source.weight if source.draws.kind == "frequency" or w is None else None
    if weight is None:
        weight = gather @ np.ones(len(x))
    share = np.bincount(group, minlength=size)
    return np.bincount(group, x[inside], size) / share, gather, weight


def _grouped(effect: Effect, x: Floats) -> tuple[Ints, int]:
    """Return a number for each row: its value's, or of many values that of neighbours within the same bin."""
    values, group = np.unique(x, return_inverse=True)
    if len(values) > GROUPS:
        block = np.arange(len(values)) * GROUPS // len(values)
        edges = effect.points.astype(float)
        block = block + len(values) * np.searchsorted(edges, values, side="right")
        group = np.unique(block, return_inverse=True)[1][group]
    return group.astype(np.int64), int(group.max(initial=-1)) + 1


def _of_cells(effect: Effect, source: FromMoments) -> tuple[Floats, Any, Floats]:
    """Return the fine cells as groups: each has its share in the weight of the form's cell that it lies in."""
    if isinstance(source.form, Halved):
        x, size = source.form.values, len(source.form.values)
        each = np.arange(size)
        gather = _summing(each, each, np.ones(size), (size, size))
        return x, gather, source.moments[UP].weight
    if isinstance(source.form, Stepped):
        size = len(effect.points)
        places = np.arange(size)
        gather = _summing(places, places, np.ones(size), (size, size))
        return places.astype(float), gather, source.moments[UP].weight
    fine, form, cells = effect.moments[AXIS], source.form, effect.cells
    if not isinstance(form, Accumulated) or cells is None:
        raise TypeError("statistics are of accumulated effects")
    x, cell, share = _points(effect, cells)
    own = form.cells.locate(fine.mean)[cell]
    there = np.flatnonzero(own >= 0)
    x, own, weight = x[there], own[there], (share * fine.weight[cell])[there]
    whole = np.bincount(own, weight, len(form.cells))
    gather = _summing(np.arange(len(x)), own, weight / whole[own], (len(x), len(form.cells)))
    return x, gather, gather @ source.moments[LOCAL].weight


def _summing(row: Ints, column: Ints, worth: Floats, shape: tuple[int, int]) -> Any:
    from scipy.sparse import coo_array

    return coo_array((worth, (row, column)), shape).tocsr()


def _interpolation(effect: Effect, x: Floats) -> Any:
    """Return the matrix that takes a curve at the effect's points to other places."""
    size = len(effect.points)
    if effect.levels is not None:
        return _summing(np.arange(len(x)), x.astype(np.int64), np.ones(len(x)), (len(x), size))
    edges = effect.points.astype(float)
    left = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, size - 2)
    part = np.clip((x - edges[left]) / (edges[left + 1] - edges[left]), 0.0, 1.0)
    row = np.tile(np.arange(len(x)), 2)
    column = np.concatenate([left, left + 1])
    return _summing(row, column, np.concatenate([1 - part, part]), (len(x), size))


def _bending(effect: Effect, x: Floats) -> Any:
    """Return the matrix that takes changes of slopes to the parabolas between the bins' edges."""
    bins = effect.bins
    if effect.levels is not None or bins is None or not np.any(bins.trend):
        return None
    place = np.clip(np.searchsorted(bins.low, x, side="right") - 1, 0, len(bins) - 1)
    worth = (x - bins.low[place]) * (x - bins.high[place]) / 2
    return _summing(np.arange(len(x)), place, np.minimum(worth, 0.0), (len(x), len(bins)))
