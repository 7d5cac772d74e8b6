"""Accumulated effects of numeric features, of rows that count otherwise: see `skedasis.results.intervals.counted`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.results.effect import Effect
from skedasis.results.intervals.counted import Of, joined, reached, scatter, total_of
from skedasis.results.pieces import AXIS, LOCAL
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments


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
