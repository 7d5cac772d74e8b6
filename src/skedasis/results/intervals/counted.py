"""Effects of rows that count otherwise, for many such counts at once: what a bootstrap repeats.

A form reads an effect off the moments of its cells, as the modules of the effects themselves do, but of many replicates
together: every array has one column a replicate, (cells, R). Whether the moments come from rows or from a
distribution, a form does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from skedasis._types import Bools, Center, Floats, Ints
from skedasis.results.effect import Effect
from skedasis.results.pieces import LOCAL
from skedasis.results.steps import DOWN, UP, Steps
from skedasis.results.trend import bulge
from skedasis.stats.moments import Moments

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
