"""Bootstrap of effects by row weights: from kept rows or from moments, with fixed or re-chosen bins.

A form reads an effect off the moments of its cells, as the modules of the effects themselves do, but of many replicates
together: every array has one column a replicate, (cells, R). Whether the moments come from rows or from a
distribution, a form does not know.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from skedasis import binning
from skedasis._types import Bools, Center, Floats, Ints
from skedasis.binning import Binning
from skedasis.errors import BinningWarning, DataError, UnsupportedError, explained
from skedasis.results.build.accumulated import accumulate, chosen_bins, spread_of
from skedasis.results.build.linear_form import AXIS, LOCAL, bulge
from skedasis.results.build.rebin import fine_cells
from skedasis.results.build.steps import BOTH, DOWN, UP, Steps
from skedasis.results.effect import Curves, Effect, Rows
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments, WeightKind
from skedasis.stats.resampling import Draws, generator, replicate

# ------------------------------------------------------------------------------------------
# Sums of kept rows in cells, for many counts of the rows at once.


@dataclass(frozen=True, eq=False)
class Columns:
    """Rows laid out by cell, so that sums in cells are one sparse product for many replicates.

    Parameters
    ----------
    place : ndarray of int, shape (n,)
        Each row's cell; -1 for none.
    cells : int
    values : dict of str to ndarray of float, shape (n,)
    draws : Draws
    """

    place: Ints
    cells: int
    values: dict[str, Floats]
    draws: Draws

    def summed(self, names: tuple[str, ...], *, squares: bool) -> Summed:
        """Return what gathers these moments."""
        inside = np.flatnonzero(self.place >= 0)
        order = inside[np.argsort(self.place[inside], kind="stable")]
        group = self.place[order]
        w = self.draws.weight
        worth = w[order] if w is not None and self.draws.kind == "sampling" else None
        ones = np.ones(len(order))
        parts = [ones] if worth is None else [ones, worth, worth**2]
        middle = {}
        for name in names:
            value = self.values[name][order]
            middle[name] = Moments.of(value, group, self.cells, worth).mean
            moved = value - middle[name][group]
            first = moved if worth is None else worth * moved
            parts += [first, first * moved] if squares else [first]
        ends = np.searchsorted(group, np.arange(self.cells + 1))
        matrix = sums_of(parts, order, ends, len(self.place))
        return Summed(middle, matrix, 1 if worth is None else 3, squares)


def sums_of(values: Sequence[Floats], order: Ints, ends: Ints, rows: int) -> Any:
    """Return the matrix (cells * parts, rows) that sums several values of the same rows by cell.

    Parameters
    ----------
    values : sequence of ndarray of float, shape (n,)
        Of the rows in `order`.
    order : ndarray of int, shape (n,)
        The rows, cell by cell.
    ends : ndarray of int, shape (cells + 1,)
        Where each cell begins in `order`.
    rows : int

    Notes
    -----
    All parts of a cell follow one another, so that the counts of its rows are near when they are needed again.
    """
    from scipy.sparse import csr_array

    spans = [slice(a, b) for a, b in pairwise(ends)]
    parts = len(values)
    data = np.concatenate([np.zeros(0), *(v[s] for s in spans for v in values)])
    index = np.concatenate([np.zeros(0, np.int32), *(np.tile(order[s], parts) for s in spans)])
    ends = np.concatenate([[0], np.cumsum(np.repeat(np.diff(ends), parts))])
    shape = (parts * len(spans), rows)
    return csr_array((data, index.astype(np.int32), ends.astype(np.int32)), shape)


@dataclass(frozen=True, eq=False)
class Summed:
    """From counts of rows to moments of cells.

    Parameters
    ----------
    middle : dict of str to ndarray, shape (P,)
        The cells' means: values are summed as deviations from these, so that an offset costs no digits.
    matrix : csr_array, shape (P * parts, n)
        Sums counts, with sampling weights also these and their squares; then of each value weighted deviations, and
        their squares.
    sizes : int
        How many parts are sizes.
    squares : bool
    """

    middle: dict[str, Floats]
    matrix: Any
    sizes: int
    squares: bool

    def __call__(self, counts: Floats) -> dict[str, Moments]:
        """Return moments (P, R) from counts (n, R)."""
        counts = np.ascontiguousarray(counts, dtype=float)
        each = 2 if self.squares else 1
        parts = self.sizes + each * len(self.middle)
        sums = (self.matrix @ counts).reshape(-1, parts, counts.shape[1])
        count = sums[:, 0]
        weight, weight2 = (count, count) if self.sizes == 1 else (sums[:, 1], sums[:, 2])
        safe = np.where(weight > 0, weight, 1.0)
        found = {}
        for k, (name, middle) in enumerate(self.middle.items()):
            place = self.sizes + each * k
            moved = sums[:, place] / safe
            m2 = np.zeros_like(weight)
            if self.squares:
                m2 = np.maximum(sums[:, place + 1] - safe * moved**2, 0.0)
            mean = np.where(weight > 0, middle[:, None] + moved, 0.0)
            found[name] = Moments(count, weight, weight2, mean, m2)
        return found


class Counted(ABC):
    """What can be counted otherwise."""

    draws: Draws

    @abstractmethod
    def repeated(self, of: Of) -> Any:
        """Return what gives (m, R) from counts (n, R)."""

    @property
    def weight(self) -> Floats:
        """Return how often each row is there."""
        w = self.draws.weight
        return np.ones(self.draws.rows) if w is None else w

    def value(self, counts: Floats) -> Floats:
        """Return the effect, (m,), with each row counted so often, (n,)."""
        return self.repeated("value")(np.asarray(counts, dtype=float)[:, None])[:, 0]


# ------------------------------------------------------------------------------------------
# Effects of rows that count otherwise, for many such counts at once: what a bootstrap repeats.


Of = Literal["value", "bins", "importance"]
"""The figures that can be computed from rows with other weights."""


class Form(Protocol):
    """How an effect follows from moments of its cells."""

    @property
    def channels(self) -> tuple[str, ...]:
        """Return the moments that values need."""
        ...

    @property
    def scalars(self) -> tuple[str, ...]:
        """Return the moments that the importance needs."""
        ...

    def read(self, moments: Mapping[str, Moments], of: Of) -> Floats:
        """Return (m, R); of a scalar (1, R)."""
        ...


def needs(form: Form, of: Of) -> tuple[tuple[str, ...], bool]:
    """Return which moments are needed, and whether their squares are."""
    return (form.channels, False) if of in ("value", "bins") else (form.scalars, True)


@dataclass(frozen=True, eq=False)
class Stepped:
    """The accumulated effect of a categorical feature.

    Parameters
    ----------
    effect : Effect
    places : ndarray of int, shape (K + 1,)
        Levels at which runs of steps begin and end.
    """

    effect: Effect
    places: Ints

    channels = scalars = (UP, DOWN)

    @classmethod
    def of(cls, effect: Effect) -> Stepped:
        """Return the form of an effect."""
        return cls(effect, runs(effect))

    def read(self, moments: Mapping[str, Moments], of: Of) -> Floats:
        """Return (m, R)."""
        steps = pooled(moments)
        weight, there = moments[UP].weight, steps.weight > 0
        rise = joined(steps.mean, there)
        start = np.concatenate([np.zeros((1, rise.shape[1])), np.cumsum(rise, axis=0)])
        if of == "value":
            return self._values(start, weight, there)
        if of == "bins":
            length = np.diff(self.places)[:, None]
            some = np.logical_or.reduceat(there, self.places[:-1], axis=0)
            return np.where(some, np.diff(start[self.places], axis=0) / length, np.nan)
        share = weight / total_of(weight)
        return np.sqrt((share * (start - (share * start).sum(axis=0)) ** 2).sum(axis=0))[None]

    def _values(self, start: Floats, weight: Floats, there: Bools) -> Floats:
        centred = self.effect.spec.center == "mean"
        value = start - (weight * start).sum(axis=0) / total_of(weight) if centred else start
        value = np.where(reached(there), value, np.nan)
        return value if centred else np.where(there[0], value, np.nan)


@dataclass(frozen=True, eq=False)
class Halved:
    """The accumulated effect of a numeric feature whose curve is made of steps between its values.

    Parameters
    ----------
    effect : Effect
    values : ndarray of float, shape (L,)
    """

    effect: Effect
    values: Floats

    channels = scalars = (UP, DOWN)

    def read(self, moments: Mapping[str, Moments], of: Of) -> Floats:
        """Return (m, R)."""
        steps = Steps.of(moments, self.values)
        rise = self.rises(steps)
        start = np.concatenate([np.zeros((1, rise.shape[1])), np.cumsum(rise, axis=0)])
        if of == "bins":
            bins = self.effect.bins
            if bins is None:
                return start[:0]
            ends = self._at(bins.edges) @ start
            return np.diff(ends, axis=0) / bins.widths[:, None]
        edges = np.asarray(self.effect.points, dtype=float)
        curve = self._at(edges) @ start
        share = steps.up.weight / total_of(steps.up.weight)
        seen = interpolated(edges, self.values) @ curve + self._bulge()
        level = (share * seen).sum(axis=0)
        if of == "importance":
            return np.sqrt((share * (seen - level) ** 2).sum(axis=0))[None]
        centred = self.effect.spec.center == "mean"
        there = reached(steps.known)
        # Edges lie at values, or between two that were both reached or neither.
        known = self._at(edges) @ there >= 1 - 1e-9
        value = np.where(known, curve - level if centred else curve, np.nan)
        return value if centred else np.where(steps.known[0], value, np.nan)

    def rises(self, steps: Steps) -> Floats:
        """Return the mean steps, (L - 1, R): unknown ones have the mean slope of the nearest on both sides."""
        widths = np.diff(self.values)[:, None]
        return joined(steps.mean / widths, steps.known) * widths

    def _bulge(self) -> Floats:
        """Return the curve minus its chords between the bins' edges, (L, 1). It is the same in all replicates."""
        bins = self.effect.bins
        if bins is None or len(bins) == 0:
            return np.zeros((len(self.values), 1))
        return bulge(bins, self.values)[:, None]

    def _at(self, edges: Floats) -> Any:
        """Return the matrix from the curve at the values to the curve at edges."""
        return interpolated(self.values, edges)


def interpolated(corners: Floats, x: Floats) -> Any:
    """Return the sparse matrix of linear interpolation from corners to x, constant beyond the first and last corner."""
    from scipy.sparse import csr_array

    place = np.clip(np.searchsorted(corners, x, side="right") - 1, 0, len(corners) - 2)
    part = np.clip((x - corners[place]) / (corners[place + 1] - corners[place]), 0.0, 1.0)
    row = np.tile(np.arange(len(x)), 2)
    entries = np.concatenate([1 - part, part])
    columns = np.concatenate([place, place + 1])
    return csr_array((entries, (row, columns)), (len(x), len(corners)))


@dataclass(frozen=True, eq=False)
class Marginal:
    """An M-plot: means of the quantity in bins or at levels.

    Parameters
    ----------
    center : {"mean", "start", None}
    shown : ndarray of int, shape (m,)
        Which cells have a value.
    effect : Effect
    """

    center: Center | str
    shown: Ints
    effect: Effect

    channels = scalars = (LOCAL,)

    @classmethod
    def of(cls, effect: Effect) -> Marginal:
        """Return the form of an effect."""
        shown = np.arange(len(effect.points))
        if effect.bins is not None and effect.cells is not None and len(effect.cells):
            shown = np.flatnonzero(~effect.bins.empty)
        return cls(effect.spec.center, shown, effect)

    def read(self, moments: Mapping[str, Moments], of: Of) -> Floats:
        """Return (m, R)."""
        local = moments[LOCAL]
        there = local.weight > 0
        share = local.weight / total_of(local.weight)
        level = (share * local.mean).sum(axis=0)
        if of == "value":
            value = local.mean - level if self.center == "mean" else local.mean
            return np.where(there, value, np.nan)[self.shown]
        if of == "bins":
            return np.where(there, local.mean, np.nan)
        return np.sqrt((share * (local.mean - level) ** 2).sum(axis=0))[None]


def runs(effect: Effect) -> Ints:
    """Return the levels at which runs of steps begin and end."""
    levels, stats = effect.levels, effect.bins
    if levels is None or stats is None or len(stats) == 0:
        return np.zeros(1, dtype=np.int64)
    return np.append(levels.places(stats.low), len(levels) - 1)


def pooled(moments: Mapping[str, Moments]) -> Moments:
    """Return the moments of the steps."""
    return Steps.of({**moments, "both": moments[UP]}).pooled


def joined(slope: Floats, known: Bools) -> Floats:
    """Fill what is not known by the mean of the nearest on both sides; by zero before the first and behind the last.

    Parameters
    ----------
    slope, known : ndarray, shape (P, R)
    """
    if known.all():
        return slope
    size, place = len(slope), np.arange(len(slope))[:, None]
    before = np.maximum.accumulate(np.where(known, place, -1), axis=0)
    after = np.minimum.accumulate(np.where(known, place, size)[::-1], axis=0)[::-1]
    between = (before >= 0) & (after < size)
    left = np.take_along_axis(slope, np.maximum(before, 0), axis=0)
    right = np.take_along_axis(slope, np.minimum(after, size - 1), axis=0)
    return np.where(known, slope, np.where(between, (left + right) / 2, 0.0))


def scatter(widths: Floats, left: Floats, curve: Floats, axis: Moments) -> Floats:
    """Return the weighted standard deviation over the data of piecewise linear curves (m, R), shape (R,).

    `axis` has the moments of the feature within the pieces, (m - 1, R).
    """
    slope = np.diff(curve, axis=0) / widths[:, None]
    inside = np.where(axis.weight > 0, axis.mean - left[:, None], 0.0)
    level = curve[:-1] + slope * inside
    total = total_of(axis.weight)
    share = axis.weight / total
    between = (share * (level - (share * level).sum(axis=0)) ** 2).sum(axis=0)
    return np.sqrt(between + (slope**2 * axis.m2).sum(axis=0) / total)


def total_of(weight: Floats) -> Floats:
    """Return the weight of all cells, (R,): never quite zero."""
    return np.maximum(weight.sum(axis=0), np.finfo(float).tiny)


def reached(there: Bools) -> Bools:
    """Return which edges, or levels, touch what is known: (P + 1, R) from (P, R)."""
    edge = np.arange(len(there) + 1)[:, None]
    first = np.argmax(there, axis=0)
    last = len(there) - 1 - np.argmax(there[::-1], axis=0)
    return (edge >= first) & (edge <= last + 1) & there.any(axis=0)


# ------------------------------------------------------------------------------------------
# Accumulated effects of numeric features, of rows that count otherwise: see `skedasis.results.intervals.bootstrap`.


@dataclass(frozen=True, eq=False)
class Accumulated:
    """The accumulated effect of a numeric feature.

    Parameters
    ----------
    effect : Effect
    cells : Cells
        The bins where local effects are slopes, else the cells whose differences they are.
    places : ndarray of int, shape (m,)
        Edges at which the curve stands, among those of the cells: those of the bins, but for step functions.
    ends : ndarray of int, shape (K + 1,), optional
        Edges of the bins, where these are others.
    """

    effect: Effect
    cells: Cells
    places: Ints
    ends: Ints | None = None

    channels = (LOCAL,)
    scalars = (LOCAL, AXIS)

    def reduced(self, moments: Mapping[str, Moments]) -> dict[str, Moments]:
        """Return an effect's own moments in the form's cells."""
        if not self.effect.spec.pointwise:
            return dict(moments)
        kept = located(self.effect)[1]
        inside = slice(kept[0], kept[-1])
        return {k: m.take(inside).pool(kept[:-1] - kept[0]) for k, m in moments.items()}

    def read(self, moments: Mapping[str, Moments], of: Of) -> Floats:
        """Return (m, R)."""
        slope, known = self.slopes(moments)
        rise = self.widths[:, None] * joined(slope, known)
        every = np.concatenate([np.zeros((1, rise.shape[1])), np.cumsum(rise, axis=0)])
        start = every if self.effect.spec.pointwise else every[self.places]
        if of == "bins":
            return self._of_bins(start, every, slope, known)
        if of == "value":
            return self._values(start, every, moments)
        return self.scatter(every if self.bends else start, moments)[None]

    @property
    def bends(self) -> bool:
        """Return whether the curve is that of the fine cells, bent between the edges of its bins."""
        return not self.effect.spec.pointwise and trended(self.effect) is not None

    @property
    def edges(self) -> Floats:
        """Return the bins' edges."""
        return self.cells.edges[self.places]

    @property
    def widths(self) -> Floats:
        """Return the widths of what has slopes."""
        return self.cells.widths

    def slopes(self, moments: Mapping[str, Moments]) -> tuple[Floats, Bools]:
        """Return slopes, and where there are some: (P, R)."""
        local = moments[LOCAL]
        known, slope = local.weight > 0, local.mean
        return slope, known

    def scatter(self, start: Floats, moments: Mapping[str, Moments]) -> Floats:
        """Return the standard deviation of the curve over the data, (R,)."""
        if self.bends:
            return scatter(self.cells.widths, self.cells.edges[:-1], start, moments[AXIS])
        edges, axis = self.edges, moments[AXIS].pool(self.places[:-1])
        return scatter(np.diff(edges), edges[:-1], start, axis)

    def centre(self, start: Floats, every: Floats, moments: Mapping[str, Moments]) -> Floats:
        """Return the mean over the bins, or over the cells of a curve that bends, of its mid-values, (R,)."""
        local = moments[LOCAL]
        if not self.bends:
            local, every = local.pool(self.places[:-1]), start
        return (local.weight / total_of(local.weight) * (every[:-1] + every[1:]) / 2).sum(axis=0)

    def _values(self, start: Floats, every: Floats, moments: Mapping[str, Moments]) -> Floats:
        weight = moments[LOCAL].pool(self.places[:-1]).weight
        centred = self.effect.spec.center == "mean"
        value = start - self.centre(start, every, moments) if centred else start
        there = weight > 0
        value = np.where(reached(there), value, np.nan)
        bins = self.effect.bins
        if self.effect.spec.center == "mean" or bins is None:
            return value
        # What is measured from a start that this draw knows nothing of is not known at all.
        own = self.effect.moments[LOCAL].weight
        first = int(np.argmax(~bins.empty)) if self.ends is None else int(np.argmax(own > 0))
        return np.where(np.argmax(there, axis=0) == first, value, np.nan)

    def _of_bins(self, start: Floats, every: Floats, slope: Floats, known: Bools) -> Floats:
        if self.effect.spec.pointwise:
            return np.where(known, slope, np.nan)
        ends = self.places if self.ends is None else self.ends
        start = start if self.ends is None else every[ends]
        some = np.logical_or.reduceat(known, ends[:-1], axis=0)
        widths = np.diff(self.cells.edges[ends])[:, None]
        return np.where(some, np.diff(start, axis=0) / widths, np.nan)


@dataclass(frozen=True, eq=False)
class Bent(Accumulated):
    """The accumulated effect of slopes that change linearly within some bins, in its fine cells.

    Parameters
    ----------
    bent : ndarray of bool, shape (K,)
        Which bins have a line.
    """

    bent: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))

    channels = (LOCAL, AXIS)

    def reduced(self, moments: Mapping[str, Moments]) -> dict[str, Moments]:
        """Return an effect's own moments in the form's cells."""
        return dict(moments)

    @property
    def widths(self) -> Floats:
        """Return the bins' widths."""
        return np.diff(self.edges)

    def slopes(self, moments: Mapping[str, Moments]) -> tuple[Floats, Bools]:
        """Return the slopes in the middle of the bins, as `results.trend.lines` fits them."""
        first = self.places[:-1]
        bins, axis = moments[LOCAL].pool(first), moments[AXIS].pool(first)
        middle = (self.edges[:-1] + self.edges[1:])[:, None] / 2
        return bins.mean + self.trend(moments) * (middle - axis.mean), bins.weight > 0

    def centre(self, start: Floats, every: Floats, moments: Mapping[str, Moments]) -> Floats:
        """Return the mean over the bins of the curve's mid-values: a parabola's lie below its corners', (R,)."""
        weight = moments[LOCAL].pool(self.places[:-1]).weight
        below = self.trend(moments) * self.widths[:, None] ** 2 / 12
        return (weight / total_of(weight) * ((start[:-1] + start[1:]) / 2 - below)).sum(axis=0)

    def scatter(self, start: Floats, moments: Mapping[str, Moments]) -> Floats:
        """Return the standard deviation over the data of the curve, cut at the fine cells' edges."""
        group = self._group
        x = self.cells.edges[self.places[0] : self.places[-1] + 1]
        inside = np.append(group, group[-1])
        left, right = self.edges[inside][:, None], self.edges[inside + 1][:, None]
        share = (x[:, None] - left) / (right - left)
        curve = start[inside] * (1 - share) + start[inside + 1] * share
        curve += self.trend(moments)[inside] / 2 * (x[:, None] - left) * (x[:, None] - right)
        return scatter(np.diff(x), x[:-1], curve, moments[AXIS])

    @property
    def tilt(self) -> Floats:
        """Return by how much slopes change per unit of the feature, of each fine cell's bin."""
        bins = self.effect.bins
        return np.zeros(0) if bins is None else bins.trend[self._group]

    @property
    def _group(self) -> Ints:
        """Return the bin of each fine cell."""
        return np.repeat(np.arange(len(self.places) - 1), np.diff(self.places))

    def trend(self, moments: Mapping[str, Moments]) -> Floats:
        """Return by how much slopes change, least squares through the cells' means: (K, R)."""
        local, axis, first, group = moments[LOCAL], moments[AXIS], self.places[:-1], self._group
        beside = np.where(axis.weight > 0, axis.mean - axis.pool(first).mean[group], 0.0)
        off = np.where(local.weight > 0, local.mean - local.pool(first).mean[group], 0.0)
        across = np.add.reduceat(local.weight * beside**2, first)
        together = np.add.reduceat(local.weight * beside * off, first)
        there = self.bent[:, None] & (across > 0)
        return np.where(there, together / np.where(there, across, 1.0), 0.0)


def accumulated(effect: Effect) -> Accumulated:
    """Return the form of a numeric feature's accumulated effect."""
    cells, kept = located(effect)
    if effect.spec.on_cells:
        return Accumulated(effect, cells, np.arange(len(cells.edges)), kept)
    if not effect.spec.pointwise:
        return Accumulated(effect, cells, kept)
    bent = trended(effect)
    if bent is None:
        return Accumulated(effect, Cells(cells.edges[kept], cells.closed), np.arange(len(kept)))
    return Bent(effect, cells, kept, bent=bent)


def trended(effect: Effect) -> Bools | None:
    """Return the bins in which slopes change linearly; None if there are none."""
    if effect.bins is None or not np.any(effect.bins.trend):
        return None
    return effect.bins.trend != 0


def located(effect: Effect) -> tuple[Cells, Ints]:
    """Return an effect's cells, and the places of the bins' edges among theirs."""
    cells, stats = effect.cells, effect.bins
    if cells is None or stats is None or len(cells) == 0:
        return Cells(np.zeros(1)), np.zeros(1, dtype=np.int64)
    return cells, np.searchsorted(cells.edges, stats.edges)


# ------------------------------------------------------------------------------------------
# Means of curves whose rows are counted otherwise: PDP and ICE.


@dataclass(frozen=True, eq=False)
class Averaged(Counted):
    """The mean of curves: PDP and ICE, of numbers and of levels, anchored ones and slopes too.

    Parameters
    ----------
    effect : Effect
    curves : Curves
    draws : Draws
    """

    effect: Effect
    curves: Curves
    draws: Draws

    def repeated(self, of: Of) -> Any:
        """Return what gives (m, R) from counts (n, R)."""
        w = self.draws.weight
        worth = w if w is not None and self.draws.kind == "sampling" else None
        base = np.ones(len(self.curves)) if w is None else w
        shown = self.curves.value
        middle = (base / base.sum()) @ shown
        reads = {"value": self._value, "importance": self._importance}

        def value(counts: Floats) -> Floats:
            counts = counts if worth is None else worth[:, None] * counts
            share = counts / counts.sum(axis=0)
            # Shares minus shares sum to zero: an offset of all curves costs no digits.
            mean = middle[:, None] + shown.T @ (share - (base / base.sum())[:, None])
            return reads[of](mean, counts)

        return value

    def _value(self, mean: Floats, counts: Floats) -> Floats:
        return mean

    def _importance(self, mean: Floats, counts: Floats) -> Floats:
        e, x = self.effect, self.curves.x
        known = ~np.isnan(x)
        if e.levels is not None:
            axis = _plain(x[known].astype(np.int64), len(e.levels), counts[known])
            share = axis / axis.sum(axis=0)
            return np.sqrt((share * (mean - (share * mean).sum(axis=0)) ** 2).sum(axis=0))[None]
        grid = np.asarray(e.points, dtype=float)
        # Beyond the grid the curve is level: two more pieces, of no slope.
        place = np.searchsorted(grid, x[known], side="right")
        columns = Columns(place, len(grid) + 1, {AXIS: x[known]}, Draws(None, "frequency", len(x)))
        axis = columns.summed((AXIS,), squares=True)(counts[known])[AXIS]
        curve = np.concatenate([mean[:1], mean, mean[-1:]])
        left = np.concatenate([grid[:1] - 1, grid])
        return scatter(np.diff(np.append(left, grid[-1] + 1)), left, curve, axis)[None]


def _plain(place: Ints, cells: int, counts: Floats) -> Floats:
    """Return the counts in each cell, (cells, R)."""
    order = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[order], np.arange(cells + 1))
    return sums_of([np.ones(len(order))], order, ends, len(place)) @ counts


# ------------------------------------------------------------------------------------------
# Draws of an effect's moments, where the rows behind them are not all kept.


_NUMBERS = 1_000_000
"""Cells times replicates at a time."""


@dataclass(frozen=True, eq=False)
class FromMoments:
    """An effect whose cells are drawn anew.

    Parameters
    ----------
    form : Form
    moments : mapping of str to Moments
        In the form's cells.
    kind : {"frequency", "sampling"}

    Notes
    -----
    The rows of the cells are multinomial, as they are when rows are drawn. A cell's mean is normal around its own, with
    the variance within it (divided by n, as a bootstrap has it) over the rows drawn; its sum of squares is chi square.
    Both are what the rows would give up to the shape of their distribution within a cell, which matters where cells
    hold few rows. The steps down and up of a level are drawn together, with their covariance. The feature's own moments
    are drawn apart from those of the local effects, but for bins whose slopes change linearly: there local effects go
    with the places along the bin's line. Sampling weights are taken to have nothing to do with these.
    """

    form: Form
    moments: Mapping[str, Moments]
    kind: WeightKind

    def replicates(self, of: Of, replicates: int, seed: int) -> Floats:
        """Return the replicates, shape (R, m)."""
        rng = generator(seed)
        names, squares = needs(self.form, of)
        cells = len(self.moments[names[0]].weight)
        step = max(1, _NUMBERS // max(cells, 1))
        parts = [
            self.form.read(
                self.drawn(rng, min(step, replicates - first), names, squares=squares), of
            ).T
            for first in range(0, replicates, step)
        ]
        return np.concatenate(parts)

    def drawn(
        self, rng: np.random.Generator, replicates: int, names: tuple[str, ...], *, squares: bool
    ) -> dict[str, Moments]:
        """Return moments (P, R)."""
        sizes = _sizes(self.moments[names[0]], rng, replicates, self.kind)
        if isinstance(self.form, (Stepped, Halved)):
            return _steps(self.moments, sizes, rng, self.kind, squares=squares)
        own = self.moments
        if isinstance(self.form, Bent):
            axis = _cells(own[AXIS], sizes, rng, self.kind, squares=squares)
            about = _about(own, self.form.tilt)
            local = _cells(about, sizes, rng, self.kind, squares=squares)
            return {AXIS: axis, LOCAL: _along(local, self.form.tilt, axis, own[AXIS])}
        return {name: _cells(own[name], sizes, rng, self.kind, squares=squares) for name in names}


def _sizes(
    own: Moments, rng: np.random.Generator, replicates: int, kind: WeightKind
) -> tuple[Floats, Floats, Floats]:
    """Return count, weight and squared weight of the cells, (P, R)."""
    of = own.weight if kind == "frequency" else own.count
    total = max(1, round(float(of.sum())))
    count = rng.multinomial(total, of / of.sum(), size=replicates).T.astype(float)
    if kind == "frequency":
        return count, count, count
    rows = np.where(own.count > 0, own.count, 1.0)[:, None]
    mean, square = own.weight[:, None] / rows, own.weight2[:, None] / rows
    spread = np.sqrt(count * np.maximum(square - mean**2, 0.0))
    weight = count * mean + spread * rng.standard_normal(count.shape)
    # A normal draw could be too small for so many rows; half the mean weight is far enough off.
    weight = np.maximum(weight, count * mean / 2)
    return count, weight, count * square


def _cells(
    own: Moments,
    sizes: tuple[Floats, Floats, Floats],
    rng: np.random.Generator,
    kind: WeightKind,
    *,
    squares: bool,
) -> Moments:
    """Draw means, and sums of squares if they are wanted."""
    count, weight, weight2 = sizes
    spread = _variance(own.m2, own)[:, None]
    drawn = Moments(count, weight, weight2, weight, weight)
    size = np.where(count > 0, drawn.effective(kind), 1.0)
    mean = own.mean[:, None] + np.sqrt(spread / size) * rng.standard_normal(count.shape)
    m2 = np.zeros_like(mean)
    if squares:
        free = np.maximum(drawn.effective(kind) - 1.0, 0.0)
        m2 = spread * weight / size * 2 * rng.standard_gamma(free / 2)
    return Moments(count, weight, weight2, np.where(count > 0, mean, 0.0), m2)


def _about(moments: Mapping[str, Moments], tilt: Floats) -> Moments:
    """Return the moments of local effects, with the scatter about the lines of their bins."""
    local, axis = moments[LOCAL], moments[AXIS]
    return replace(local, m2=np.maximum(local.m2 - tilt**2 * axis.m2, 0.0))


def _along(about: Moments, tilt: Floats, drawn: Moments, own: Moments) -> Moments:
    """Move local effects, (P, R), along the lines of their bins to the places that were drawn.

    Apart from these, places would be in error, which flattens lines and makes them less sure than they are.
    """
    moved = tilt[:, None] * (drawn.mean - own.mean[:, None])
    mean = np.where(about.count > 0, about.mean + moved, 0.0)
    return replace(about, mean=mean, m2=about.m2 + tilt[:, None] ** 2 * drawn.m2)


def _variance(m2: Floats, own: Moments) -> Floats:
    """Return variances with n for a divisor: what rows that are drawn anew vary by."""
    return m2 / np.where(own.weight > 0, own.weight, 1.0)


def _steps(
    moments: Mapping[str, Moments],
    sizes: tuple[Floats, Floats, Floats],
    rng: np.random.Generator,
    kind: WeightKind,
    *,
    squares: bool,
) -> dict[str, Moments]:
    """Draw the means of both steps of each level together."""
    down, up, both = moments[DOWN], moments[UP], moments[BOTH]
    count, weight, weight2 = sizes
    at_down, at_up = _variance(down.m2, up), _variance(up.m2, up)
    product = _variance((both.m2 - down.m2 - up.m2) / 2, up)
    product[0] = product[-1] = 0.0  # one of the two steps does not exist
    root = np.sqrt(at_down)
    slope = np.where(root > 0, product / np.where(root > 0, root, 1.0), 0.0)
    rest = np.sqrt(np.maximum(at_up - slope**2, 0.0))
    plain = Moments(count, weight, weight2, weight, weight)
    size = np.where(count > 0, plain.effective(kind), 1.0)
    one, two = rng.standard_normal((2, *count.shape)) / np.sqrt(size)
    means = {
        DOWN: down.mean[:, None] + root[:, None] * one,
        UP: up.mean[:, None] + slope[:, None] * one + rest[:, None] * two,
    }
    free = np.maximum(plain.effective(kind) - 1.0, 0.0)
    found = {}
    for name, variance in ((DOWN, at_down), (UP, at_up)):
        m2 = np.zeros_like(weight)
        if squares:
            m2 = variance[:, None] * weight / size * 2 * rng.standard_gamma(free / 2)
        mean = np.where(count > 0, means[name], 0.0)
        found[name] = Moments(count, weight, weight2, mean, m2)
    return found


@dataclass(frozen=True, eq=False)
class FromCurves:
    """A partial dependence of which a sample of the curves is kept.

    Parameters
    ----------
    effect : Effect
    curves : Curves

    Notes
    -----
    Normal around the effect, with its own standard errors, and between points the correlation of the sample's curves.
    """

    effect: Effect
    curves: Curves

    least: ClassVar[int] = 30
    """Fewer curves would say too little of how points go together."""

    def replicates(self, of: Of, replicates: int, seed: int) -> Floats:
        """Return the replicates, shape (R, m)."""
        if of != "value":
            raise UnsupportedError(
                explained(
                    f"bootstrap of the {of} of a {self.effect.spec.method}",
                    "a result that keeps a part of the curves",
                    "all curves",
                    "Explain with a larger keep=, for PDP with ice='all'",
                )
            )
        e, rng = self.effect, generator(seed)
        form = correlated(self.curves)
        z = rng.standard_normal((replicates, form.shape[1])) @ form.T
        shrunk = np.sqrt(e.freedom / (e.freedom + 1.0))  # a bootstrap's variance divides by n
        return e.value + z * shrunk * e.std_error


def correlated(curves: Curves) -> Floats:
    """Return a matrix F (m, r) with F F' the correlation between the points of curves; a row of zeros for no spread."""
    w = np.ones(len(curves)) if curves.weight is None else curves.weight
    moved = curves.value - (w / w.sum()) @ curves.value
    spread = np.abs(moved).max(axis=0, initial=0.0)
    moved = moved / np.where(spread > 0, spread, 1.0) * np.sqrt(w)[:, None]
    form = moved.T
    if len(moved) > moved.shape[1]:
        roots, vectors = np.linalg.eigh(moved.T @ moved)
        form = vectors * np.sqrt(np.maximum(roots, 0.0))
    norm = np.sqrt((form**2).sum(axis=1))
    return form / np.where(norm > 0, norm, 1.0)[:, None]


# ------------------------------------------------------------------------------------------
# What a bootstrap repeats: the rows that a result keeps, or draws from its moments where they are not all kept.


Source = Literal["rows", "moments"]


@dataclass(frozen=True, eq=False)
class FromRows(Counted):
    """An effect whose rows are counted otherwise.

    Parameters
    ----------
    form : Form
    columns : Columns
    draws : Draws
    """

    form: Form
    columns: Columns
    draws: Draws

    def repeated(self, of: Of) -> Any:
        """Return what gives (m, R) from counts (n, R)."""
        names, squares = needs(self.form, of)
        summed = self.columns.summed(names, squares=squares)
        return lambda counts: self.form.read(summed(counts), of)


@dataclass(frozen=True, eq=False)
class Fixed(Counted):
    """What does not depend on rows: the effect of a feature that takes one value."""

    level: Floats
    draws: Draws

    def repeated(self, of: Of) -> Any:
        """Return what gives (m, R) from counts (n, R)."""
        value = self.level if of == "value" else np.zeros(0 if of == "bins" else 1)
        return lambda counts: np.repeat(value[:, None], counts.shape[1], axis=1)


Sourced = FromRows | Averaged | Fixed | FromMoments | FromCurves


def source_of(effect: Effect, wanted: Source | None = None) -> Sourced:
    """Return what a bootstrap of an effect draws from.

    Parameters
    ----------
    effect : Effect
    wanted : {"rows", "moments"}, optional
        By default rows, if all are kept.

    Raises
    ------
    DataError
        For another source.
    UnsupportedError
        Where rows are asked for and not all kept; for moments of PDP and ICE with fewer than 30 curves.
    """
    if wanted not in (None, "rows", "moments"):
        raise DataError(
            explained("interval(source)", repr(wanted), "'rows' or 'moments'", "Name one, or None")
        )
    if effect.spec.local == "none":
        return _of_curves(effect, wanted)
    if _is_fixed(effect):
        rows = 1 if effect.rows is None else max(len(effect.rows), 1)
        return Fixed(effect.value, Draws(None, "frequency", rows))
    kept = effect.rows
    if kept is not None and kept.exact and wanted != "moments" and kept.effect is not None:
        return _of_rows(effect, kept, kept.effect)
    if wanted == "rows":
        raise _not_kept(effect, "leave source= away")
    form = _form(effect)
    moments = form.reduced(effect.moments) if isinstance(form, Accumulated) else effect.moments
    if isinstance(form, Marginal) and effect.levels is None:
        moments = binned(effect)
    return FromMoments(form, moments, effect.spec.weight_kind)


def resampler(effect: Effect) -> FromRows | Averaged | Fixed:
    """Return how an effect depends on how often each of its rows counts, its bins, grid or levels fixed.

    Raises
    ------
    UnsupportedError
        Where not all rows, or curves, were kept.

    Notes
    -----
    No model row. A draw may leave out all rows of a bin or of a level. What is not known then is NaN in that draw, and
    the interval rests on the other draws:

    - in an M-plot the value of that bin or level;
    - in an accumulated effect what lies beyond the first and last bins with rows, or, of levels, beyond the first and
      last steps with rows (a step has rows unless both of its levels are left out). Between them the effect is joined
      as it is where the data themselves leave a bin empty. An effect that starts at zero on the left is not known
      at all in a draw without rows in its first bin or step.

    Where rows are few a bootstrap is too narrow, and a bin of a single row adds nothing to it: that is what
    `BinStats.trusted` and `LevelStats.count` warn of.
    """
    found = source_of(effect, None if effect.spec.local != "none" else "rows")
    if isinstance(found, (FromMoments, FromCurves)):
        raise _not_kept(effect, "use interval(method='bootstrap'), which then draws from moments")
    return found


def _not_kept(effect: Effect, otherwise: str) -> UnsupportedError:
    return UnsupportedError(
        explained(
            f"bootstrap of a {effect.spec.method}",
            "a result that keeps a part of the rows",
            "all rows",
            f"Explain with a larger keep=, for PDP with ice='all'; or {otherwise}",
        )
    )


def _is_fixed(effect: Effect) -> bool:
    """Return whether the effect is zero whatever the rows: of a constant feature, or of a single level."""
    if effect.spec.local == "values":
        return False
    constant = effect.cells is not None and len(effect.cells) == 0
    return constant or len(effect.points) < 2


def _form(effect: Effect) -> Form:
    if effect.spec.local == "values":
        return Marginal.of(effect)
    if effect.levels is not None:
        return Stepped.of(effect)
    return accumulated(effect) if effect.values is None else Halved(effect, effect.values)


def _draws(effect: Effect, kept: Rows | Curves) -> Draws:
    return Draws(kept.weight, effect.spec.weight_kind, len(kept))


def _of_rows(effect: Effect, rows: Rows, local: Floats) -> FromRows:
    """Lay the rows of an effect out by cell."""
    form, draws = _form(effect), _draws(effect, rows)
    if isinstance(form, (Stepped, Halved)):
        known = np.nan_to_num(local)  # nothing before the first level, or value, and after the last
        values = {DOWN: known[:, 0], UP: known[:, 1]}
        if isinstance(form, Halved):
            place, size = np.searchsorted(form.values, rows.x), len(form.values)
        else:
            place, size = rows.x.astype(np.int64), len(effect.points)
        return FromRows(form, Columns(place, size, values, draws), draws)
    values = {LOCAL: local, AXIS: rows.x}
    if isinstance(form, Accumulated):
        # Re-binned to narrower edges, a result still has all its rows: some lie in no cell.
        place = form.cells.locate(rows.x)
        return FromRows(form, Columns(place, len(form.cells), values, draws), draws)
    place, size = np.zeros(len(rows), dtype=np.int64), len(effect.points)
    if effect.levels is not None:
        place = rows.x.astype(np.int64)
    elif effect.bins is not None and effect.cells is not None and len(effect.cells):
        place, size = Cells(effect.bins.edges, effect.cells.closed).locate(rows.x), len(effect.bins)
    return FromRows(form, Columns(place, size, values, draws), draws)


def binned(effect: Effect) -> Mapping[str, Moments]:
    """Return the moments of an M-plot's own bins."""
    cells, stats = effect.cells, effect.bins
    if cells is None or stats is None or len(cells) == 0:
        return effect.moments
    kept = np.searchsorted(cells.edges, stats.edges)
    return {k: m.pool(kept[:-1]) for k, m in effect.moments.items()}


def _of_curves(effect: Effect, wanted: Source | None) -> Averaged | FromCurves:
    curves = effect.curves
    if curves is not None and curves.exact and wanted != "moments":
        return Averaged(effect, curves, _draws(effect, curves))
    if wanted == "rows" or curves is None or len(curves) < FromCurves.least:
        raise _not_kept(effect, "use method='analytic'")
    return FromCurves(effect, curves)


# ------------------------------------------------------------------------------------------
# A bootstrap that chooses the bins anew in each replicate.


def scheme_of(effect: Effect) -> Binning:
    """Return the scheme that chose an effect's bins.

    Raises
    ------
    UnsupportedError
        Where bins are not chosen from local effects.
    """
    said: Any = effect.spec.parameters.get("bins")
    cells = effect.cells
    if effect.spec.on_cells or effect.values is not None:
        raise UnsupportedError(
            explained(
                f"interval(bins='chosen') of a {effect.spec.method}",
                "a curve of differences, whose values do not depend on the bins",
                "an effect of slopes",
                "Use bins='fixed'",
            )
        )
    if isinstance(said, dict) and cells is not None and len(cells) and effect.levels is None:
        kind = getattr(binning, str(said.get("scheme")), None)
        settings = {k: v for k, v in said.items() if k != "scheme"}
        if kind is not None and kind.choose is not Binning.choose:
            return kind(**settings)
    got = "levels" if effect.levels is not None else "bins that are not chosen by local effects"
    raise UnsupportedError(
        explained(
            f"interval(bins='chosen') of a {effect.spec.method}",
            got,
            "a numeric feature and bins by Optimal, Greedy or AutoUniform",
            "Use bins='fixed'",
        )
    )


def rechosen(effect: Effect, replicates: int, seed: int) -> Floats:
    """Return replicates of the values at the effect's own points, (R, m), the bins chosen anew in each.

    Notes
    -----
    Candidate edges stay as they are, and those that the risk moved to a row are not moved again. Between a replicate's
    own edges its curve is its own. One choice a replicate.
    """
    scheme, cells = scheme_of(effect), effect.cells
    if cells is None:
        return np.zeros((replicates, 0))
    cells, places = fine_cells(effect, cells, scheme)
    parts = slice(int(places[0]), int(places[-1]))
    own = {k: m.take(parts) for k, m in effect.moments.items()}
    cells, places = Cells(cells.edges[places[0] : places[-1] + 1], cells.closed), places - places[0]
    rows, largest = effect.rows, 0.0
    if rows is not None and rows.local is not None:
        largest = float(np.abs(rows.local).max(initial=0.0))
    read = _Reader(effect, scheme, cells, places, largest, own)
    names = (LOCAL, AXIS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BinningWarning)
        if rows is not None and rows.exact and rows.effect is not None:
            draws = Draws(rows.weight, effect.spec.weight_kind, len(rows))
            values = {LOCAL: rows.effect, AXIS: rows.x}
            columns = Columns(cells.locate(rows.x), len(cells), values, draws)
            summed = columns.summed(names, squares=True)
            return replicate(draws, [lambda counts: read(summed(counts))], replicates, seed)[0]
        form = Accumulated(effect, cells, places)
        source = FromMoments(form, own, effect.spec.weight_kind)
        rng, parts_ = generator(seed), []
        for first in range(0, replicates, 100):
            drawn = source.drawn(rng, min(100, replicates - first), names, squares=True)
            parts_.append(read(drawn).T)
        return np.concatenate(parts_)


class _Reader:
    """From moments of fine cells, (P, R), to values at the effect's points."""

    def __init__(
        self,
        effect: Effect,
        scheme: Binning,
        cells: Cells,
        places: Any,
        largest: float,
        own: dict[str, Moments],
    ) -> None:
        self.effect, self.scheme, self.cells = effect, scheme, cells
        self.places, self.largest, self.own = places, largest, own

    def __call__(self, moments: dict[str, Moments]) -> Floats:
        count = moments[LOCAL].weight.shape[1]
        columns = [self._one({k: _column(m, r) for k, m in moments.items()}) for r in range(count)]
        return np.stack(columns, axis=1)

    def _one(self, moments: dict[str, Moments]) -> Floats:
        e, spread = self.effect, spread_of(self.effect.spec, self.largest)
        found = chosen_bins(self.scheme, self.cells, moments, e.spec, spread, planned=self.places)
        if e.spec.local == "values":
            bins = moments[LOCAL].pool(found.kept[:-1])
            return self._means(bins, self.cells.keep(found.kept))
        curve = accumulate(self.cells, moments, found.kept, e.spec, e.about, None, found.trend)
        return curve.at(e.points)

    def _means(self, bins: Moments, cells: Cells) -> Floats:
        """Return the mean of the bin that each of the effect's points lies in."""
        value = np.where(bins.weight > 0, bins.mean, np.nan)
        if self.effect.spec.center == "mean":
            value = value - np.average(bins.mean, weights=bins.weight)
        place = cells.locate(np.asarray(self.effect.points, dtype=float))
        return np.where(place >= 0, value[place], np.nan)


def _column(moments: Moments, r: int) -> Moments:
    return Moments(**{k: a[:, r] for k, a in moments.arrays().items()})
