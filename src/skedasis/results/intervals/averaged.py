"""Means of curves whose rows are counted otherwise: PDP and ICE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.results.effect import Effect
from skedasis.results.intervals.counted import Of, scatter
from skedasis.results.intervals.summed import Columns, Counted, sums_of
from skedasis.results.parts import Curves
from skedasis.results.pieces import AXIS
from skedasis.stats.resampling import Draws


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
