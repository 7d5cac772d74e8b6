"""What missing a feature does: a point of its own, for a missing value has no place on the axis.

For each row without a value the quantity there is compared with its mean over the feature's observed values, everything
else in the row as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.column_stats import Column
from skedasis.errors import ModelOutputError
from skedasis.methods.ale_categorical import LevelPlan
from skedasis.methods.base import Bound, Plan
from skedasis.stats.moments import Moments

MISSING = "missing"
_SMALL = 2_000
"""Model rows that an exact answer may cost, whatever the size of X."""


@dataclass(frozen=True, eq=False)
class Donors:
    """Observed values that are put where one is missing.

    Parameters
    ----------
    changes : mapping
        Of the feature's columns.
    weight : ndarray of float, shape (m,)
        Their shares, which sum to one.
    exact : bool
        Whether these are all observed values.
    plan : Plan or LevelPlan
        The feature's.
    """

    changes: Mapping[int, Any]
    weight: Floats
    exact: bool
    plan: Any

    def rows(self, bound: Bound) -> Ints:
        """Return which of the batch's rows miss the feature."""
        if isinstance(self.plan, LevelPlan):
            return np.flatnonzero(bound.codes(self.plan.column) < 0)
        return np.flatnonzero(np.isnan(bound.column(self.plan.column.feature.position)))


def donors_of(column: Any, plan: Any) -> Donors | None:
    """Return the values to compare with: all where that costs little, else quantiles; None if nothing is missing.

    Notes
    -----
    Costs one model row for each row without a value, and one for each of its donors: about 2 N at most
    (2,000 where X is small, 10 for each row without a value where these are many).
    """
    if not column.missing:
        return None
    if isinstance(plan, LevelPlan):
        if plan.column.outside or not plan.column.missing or plan.column.feature.kind == "nominal":
            return None  # a nominal feature's missing values are a level like others
        column = plan.column  # all observed levels, whatever is shown
        every = column.changes(np.arange(len(column.levels)))
        return Donors(every, column.weight / column.weight.sum(), True, plan)
    if not isinstance(plan, Plan) or not isinstance(column, Column):
        return None
    j, most = plan.column.feature.position, _budget(len(column), column.missing)
    values = column.distinct(most)
    if values is not None:
        cell = np.searchsorted(values, column.x)
        weight = np.bincount(cell, column.weights, len(values))
        return Donors({j: values}, weight / weight.sum(), True, plan)
    middles = column.order_statistics(2 * most, np.arange(1, 2 * most, 2))
    return Donors({j: middles}, np.full(most, 1 / most), False, plan)


def _budget(present: int, missing: int) -> int:
    return max(10, 2 * (present + missing) // missing, _SMALL // missing)


def missing_moments(bound: Bound, donors: Donors) -> tuple[Moments, str | None]:
    """Return the moments of what missing the feature does in the batch's rows, and why not where the model refuses."""
    rows = donors.rows(bound)
    if len(rows) == 0:
        return Moments.zeros(1), None
    part = bound.some(rows)
    try:
        own = part.at()
        given = part.sweep_together(donors.changes, len(donors.weight))
    except (ModelOutputError, ValueError, TypeError) as error:
        return Moments.zeros(1), f"no point of missing values: {str(error)[:200]}"
    effect = own - given @ donors.weight
    return Moments.of(effect, np.zeros(len(rows), dtype=np.int64), 1, part.weights), None
