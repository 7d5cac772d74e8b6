"""Check accumulated slopes against differences of the quantity across bins.

See docs/explanation/heterogeneity.md, slopes are checked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skedasis._types import Floats, Json
from skedasis.results.effect import Effect
from skedasis.stats import ale_math
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments

ROWS = 512
"""Number of rows for which differences are computed."""


_FRACTION, _ERRORS = 0.25, 3.0
"""Allowed distance of the two curves: as a fraction of √(importance² + score²), and in standard errors."""


@dataclass(frozen=True)
class SlopeCheck:
    """The distance between accumulated slopes and accumulated differences.

    Parameters
    ----------
    distance : float
        Root mean square difference of the two centred curves over the checked rows, in units of the quantity.
    limit : float
        Allowed distance: the larger of 0.25 √(importance² + score²) and three standard errors.
    rows : int
        Number of checked rows.
    """

    distance: float
    limit: float
    rows: int

    @property
    def passed(self) -> bool:
        """Whether the slopes match the differences of the quantity."""
        return self.distance <= self.limit

    @property
    def record(self) -> Json:
        """The outcome for the provenance."""
        return {"distance": self.distance, "limit": self.limit, "rows": self.rows}


def slope_check(
    effect: Effect, cells: Cells, x: Floats, rise: Floats, weight: Floats | None
) -> SlopeCheck:
    """Compare an effect computed from slopes with differences of the quantity in some rows.

    Parameters
    ----------
    effect : Effect
        Of local effects that are slopes.
    cells : Cells
        Its bins, or others within its range.
    x : ndarray of float, shape (n,)
        Values of the checked rows, all within the cells.
    rise : ndarray of float, shape (n,)
        Difference of the quantity in these rows between the right and the left edge of their cell.
    weight : ndarray of float, shape (n,), optional

    Notes
    -----
    In each bin, the mean difference (of the checked rows) is subtracted from the mean slope times the width (of all
    rows). The results are accumulated, interpolated at the checked rows, and centred there. A bin without checked rows
    adds nothing. The standard error is that of the mean differences. If no bin has two rows, there is no standard
    error, and no row counts as checked. Needs no model rows.
    """
    score = effect.heterogeneity_score
    limit = _FRACTION * float(np.hypot(effect.importance, 0.0 if np.isnan(score) else score))
    edges, kind = cells.edges, effect.spec.weight_kind
    # Frequency weights do not increase the number of checked rows: the total weight is limited to it.
    counted_weight = weight
    if weight is not None and kind == "frequency":
        counted_weight = weight * min(1.0, ROWS / float(weight.sum()))
    differences = Moments.of(rise, cells.locate(x), len(cells), counted_weight)
    variance = ale_math.fill_from_neighbors(differences.variance(1, kind))
    if len(cells) == 0 or np.isnan(variance).all():
        return SlopeCheck(0.0, limit, 0)
    accumulated = np.diff(effect.at(edges))
    known = (differences.count > 0) & ~np.isnan(accumulated)
    discrepancy = np.where(known, accumulated - differences.mean, 0.0)
    variance = np.where(
        known, variance / np.where(known, differences.effective_size(kind), 1.0), 0.0
    )
    # The discrepancy of a bin shifts the curve by its full amount right of the bin, and in proportion within it.
    part = np.clip((x[:, None] - edges[:-1]) / np.diff(edges), 0.0, 1.0)
    share = np.full(len(x), 1 / len(x)) if weight is None else weight / weight.sum()
    form = part - share @ part
    distance = float(np.sqrt(share @ (form @ discrepancy) ** 2))
    error = float(np.sqrt(share @ (form**2 @ variance)))
    return SlopeCheck(distance, max(limit, _ERRORS * error), len(x))
