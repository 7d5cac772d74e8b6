"""Check of slopes against the differences of the quantity (DESIGN 4.5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skedasis._types import Floats, Json
from skedasis.results.effect import Effect
from skedasis.stats import ale_math
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments

ROWS = 512
"""Rows whose rises are asked for."""


_SHARE, _ERRORS = 0.25, 3.0
"""How far the two curves may be apart: as a share of how far the effect moves, and in standard errors."""


@dataclass(frozen=True)
class SlopeCheck:
    """How far the accumulated slopes are from the accumulated rises.

    Parameters
    ----------
    distance : float
        Root mean square over the checked rows of the difference of the two centred curves, in units of the quantity.
    limit : float
        What is within the allowance: 0.25 √(importance² + score²), or three standard errors.
    rows : int
        Rows that were checked.
    """

    distance: float
    limit: float
    rows: int

    @property
    def passed(self) -> bool:
        """Return whether the slopes tell how much the quantity rises."""
        return self.distance <= self.limit

    @property
    def said(self) -> Json:
        """Return the outcome as it is written into a provenance."""
        return {"distance": self.distance, "limit": self.limit, "rows": self.rows}


def slope_check(
    effect: Effect, cells: Cells, x: Floats, rise: Floats, weight: Floats | None
) -> SlopeCheck:
    """Compare an effect of slopes with the rises of some rows across its bins.

    Parameters
    ----------
    effect : Effect
        Of local effects that belong to points.
    cells : Cells
        Its bins; or others, within its range.
    x : ndarray of float, shape (n,)
        Values of the checked rows, all within the cells.
    rise : ndarray of float, shape (n,)
        By how much the quantity rises in these rows from the left to the right edge of their cell.
    weight : ndarray of float, shape (n,), optional

    Notes
    -----
    In each bin the mean slope times the width (of all rows) minus the mean rise (of the checked rows); accumulated,
    interpolated at the checked rows, and centred there. A bin without a checked row adds nothing. The standard error is
    that of the rises: slopes of which the mean itself is not sure do not tell the rise either. Where no bin has two
    rows, nothing can be said, and no row counts as checked. No model row.
    """
    score = effect.heterogeneity_score
    limit = _SHARE * float(np.hypot(effect.importance, 0.0 if np.isnan(score) else score))
    edges, kind = cells.edges, effect.spec.weight_kind
    # As many rows are checked, however often frequency weights say that a row is there.
    counted = weight
    if weight is not None and kind == "frequency":
        counted = weight * min(1.0, ROWS / float(weight.sum()))
    seen = Moments.of(rise, cells.locate(x), len(cells), counted)
    variance = ale_math.borrowed(seen.variance(1, kind))
    if len(cells) == 0 or np.isnan(variance).all():
        return SlopeCheck(0.0, limit, 0)
    told = np.diff(effect.at(edges))
    known = (seen.count > 0) & ~np.isnan(told)
    off = np.where(known, told - seen.mean, 0.0)
    variance = np.where(known, variance / np.where(known, seen.effective(kind), 1.0), 0.0)
    # Each bin's difference is passed in full to its right, and in part within it.
    part = np.clip((x[:, None] - edges[:-1]) / np.diff(edges), 0.0, 1.0)
    share = np.full(len(x), 1 / len(x)) if weight is None else weight / weight.sum()
    form = part - share @ part
    distance = float(np.sqrt(share @ (form @ off) ** 2))
    error = float(np.sqrt(share @ (form**2 @ variance)))
    return SlopeCheck(distance, max(limit, _ERRORS * error), len(x))
