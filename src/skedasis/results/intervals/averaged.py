"""Means of curves whose rows are counted otherwise: PDP and ICE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis.cells import EVERY_JUMP, widths_share
from skedasis.resample import Draws
from skedasis.results.effect import Effect
from skedasis.results.intervals.counted import Of, scatter
from skedasis.results.intervals.summed import Columns, Counted, sums_of
from skedasis.results.parts import Curves
from skedasis.results.pieces import AXIS
from skedasis.typing import Floats, Ints


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
        reads = {"value": self._value, "importance": self._importance, "score": self._score(of)}

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

    def _score(self, of: Of) -> Any:
        if of != "score":
            return None
        anchored = self._anchored()
        moved = anchored - anchored.mean(axis=0)
        squares = moved**2
        kind, w = self.draws.kind, self.draws.weight

        def score(mean: Floats, counts: Floats) -> Floats:
            weight = counts.sum(axis=0)
            mean = moved.T @ (counts / weight)
            m2 = squares.T @ counts - weight * mean**2
            size = counts if kind == "frequency" or w is None else counts * w[:, None]
            ratio = 1.0 if kind == "frequency" or w is None else size.sum(axis=0) / weight
            variance = np.maximum(m2, 0.0) / np.maximum(weight - ratio, np.finfo(float).tiny)
            near = self._nearby(counts)
            return np.sqrt((near * variance).sum(axis=0) / near.sum(axis=0))[None]

        return score

    def _anchored(self) -> Floats:
        """Return the curves minus their own anchor, of which their spread is told."""
        e, shown = self.effect, self.curves.value
        if e.spec.center is not None or e.spec.derivative:
            return shown
        grid = np.asarray(e.points, dtype=float) if e.levels is None else np.zeros(0)
        exact = e.levels is None and e.provenance.get("grid") == EVERY_JUMP
        share = widths_share(grid) if exact else np.full(shown.shape[1], 1 / shown.shape[1])
        moved = shown - shown[:, :1]
        return moved - (moved @ share)[:, None]

    def _nearby(self, counts: Floats) -> Floats:
        """Return the weight at each point of the grid, half of that between it and its neighbours."""
        x, m = self.curves.x, len(self.effect.points)
        known = ~np.isnan(x)
        if self.effect.levels is not None:
            return _plain(x[known].astype(np.int64), m, counts[known])
        place = np.searchsorted(np.asarray(self.effect.points, dtype=float), x[known], side="right")
        axis = _plain(place, m + 1, counts[known])
        near = np.zeros((m, counts.shape[1]))
        near[:-1] += axis[1:-1] / 2
        near[1:] += axis[1:-1] / 2
        near[0] += axis[0]
        near[-1] += axis[-1]
        return near


def _plain(place: Ints, cells: int, counts: Floats) -> Floats:
    """Return the counts in each cell, (cells, R)."""
    order = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[order], np.arange(cells + 1))
    return sums_of([np.ones(len(order))], order, ends, len(place)) @ counts
