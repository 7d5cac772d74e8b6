"""Check accumulated slopes against differences of the quantity across cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.results.build.linear_form import slopes_across_gaps
from skedasis.results.effect import TRUSTED_ROWS, Effect
from skedasis.results.provenance import SlopeCheckRecord
from skedasis.stats import ale_math
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments

ROWS = 2048
"""Largest number of rows among which the checked ones are drawn, and which weight the cells."""

PER_CELL, MOST_ROWS = 16, 750
"""Number of checked rows in each cell and on each side of a gap, and in all. Each costs two model rows."""

_FRACTION, _ERRORS = 0.25, 3.0
"""Allowed distance of the two curves: as a fraction of √(importance² + score²), and in standard errors."""


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """The rows at which the slopes of a feature are checked: of each cell those with the smallest hashes."""

    rows: Ints
    group: Ints
    low: Floats
    high: Floats

    @classmethod
    def of(cls, cells: Cells, x: Floats) -> CheckedRows:
        """Return the rows to check, for values in the order of the hashes; NaN is missing."""
        size, gaps = len(cells), list(cells.gaps)
        per_cell = min(PER_CELL, MOST_ROWS // max(size + len(gaps), 1))
        cell = cells.locate(x)
        order = np.argsort(cell, kind="stable")
        order = order[np.count_nonzero(cell < 0) :]
        start = np.searchsorted(cell[order], np.arange(size))
        rank = np.arange(len(order)) - start[cell[order]]
        chosen = order[rank < per_cell]
        if gaps:
            chosen = chosen[~np.isin(cell[chosen], gaps)]
        rows, group = [chosen], [cell[chosen]]
        for g, k in enumerate(gaps):
            for side, end in enumerate((k, k + 1)):
                distance = (cells.edges[end] - x) * (1 - 2 * side)
                there = np.flatnonzero(distance >= 0)
                rows.append(there[np.argsort(distance[there], kind="stable")[:per_cell]])
                group.append(np.full(len(rows[-1]), size + 2 * g + side))
        at = np.concatenate(group)
        own = np.append(np.arange(size), np.repeat(gaps, 2).astype(int))[at]
        return cls(np.concatenate(rows), at, cells.edges[own], cells.edges[own + 1])


@dataclass(frozen=True)
class SlopeCheck:
    """The distance between accumulated slopes and accumulated differences."""

    distance: float
    limit: float
    range: float
    range_limit: float
    rows: int

    @property
    def passed(self) -> bool:
        """Whether the slopes match the differences of the quantity."""
        return self.distance <= self.limit and self.range <= self.range_limit

    @property
    def outcome(self) -> str:
        """The difference that exceeds its limit, in words."""
        if self.distance > self.limit:
            return f"off by {self.distance:.3g}; {self.limit:.3g} is allowed"
        return f"off by up to {self.range:.3g}; {self.range_limit:.3g} is allowed"

    @property
    def record(self) -> SlopeCheckRecord:
        """The outcome for the provenance."""
        return cast("SlopeCheckRecord", {**vars(self)})


def slope_check(
    effect: Effect,
    cells: Cells,
    x: Floats,
    weight: Floats | None,
    checked: CheckedRows,
    rise: Floats,
) -> SlopeCheck:
    """Compare an effect computed from slopes with differences of the quantity in some rows."""
    size, cell = len(cells), cells.locate(x)
    inside = np.flatnonzero(cell >= 0)
    axis = Moments.of(x[inside], cell[inside], size, None if weight is None else weight[inside])
    groups = Moments.of(
        rise,
        checked.group,
        size + 2 * len(cells.gaps),
        None if weight is None else weight[checked.rows],
    )
    mean, error2 = _mean_rises(groups, cells)
    if np.isnan(error2).all():
        return SlopeCheck(0.0, np.inf, 0.0, np.inf, 0)
    own = np.diff(effect.at(cells.edges))
    known = ~np.isnan(mean) & ~np.isnan(own)
    own = np.where(np.isnan(own), 0.0, own)
    measured, error2 = np.where(known, mean, own), np.where(known, error2, 0.0)
    curve, off = (np.append(0.0, np.cumsum(rises)) for rises in (measured, own - measured))
    distance, importance = (
        ale_math.importance(cells.edges, values, axis.weight, axis.mean, axis.m2)
        for values in (off, curve)
    )
    score = float(np.nan_to_num(effect.heterogeneity_score))
    error = float(np.sqrt(_variance_of_parts(axis, cells) @ error2))
    return SlopeCheck(
        distance,
        max(_FRACTION * float(np.hypot(importance, score)), _ERRORS * error),
        float(np.ptp(off)),
        max(
            _FRACTION * float(np.hypot(np.ptp(curve), score)),
            _ERRORS * float(np.sqrt(error2.sum())),
        ),
        len(np.unique(checked.rows)),
    )


def _mean_rises(groups: Moments, cells: Cells) -> tuple[Floats, Floats]:
    """Return the mean rise across each cell and its squared standard error; NaN without rows."""
    size = len(cells)
    own = groups.take(slice(size))
    count, has_rows = own.effective_size("sampling"), own.weight > 0
    variance = ale_math.fill_from_trusted(own.variance(1, "sampling"), count >= TRUSTED_ROWS / 2)
    mean = np.where(has_rows, own.mean, np.nan)
    error2 = np.where(has_rows, variance / np.where(has_rows, count, 1.0), np.nan)
    if cells.gaps:
        at = list(cells.gaps)
        mean[at], variance, count, _ = slopes_across_gaps(
            groups.take(slice(size, None)), 1, "sampling"
        )
        error2[at] = np.where(count > 0, variance / np.where(count > 0, count, 1.0), np.nan)
    return mean, error2


def _variance_of_parts(axis: Moments, cells: Cells) -> Floats:
    """Return the variance over the rows of the part of each cell's rise that a row's centred curve contains, (K,)."""
    share, used = axis.share, axis.weight > 0
    offset = np.where(used, axis.mean - cells.edges[:-1], 0.0)
    spread = np.where(used, axis.m2 / np.where(used, axis.weight, 1.0), 0.0)
    right = share.sum() - np.cumsum(share)
    mean = right + share * offset / cells.widths
    return right + share * (spread + offset**2) / cells.widths**2 - mean**2
