"""The effect of missing values: a separate point of the effect, because a missing value has no position on the axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skedasis._types import Floats, Ints
from skedasis.data.column_stats import Column
from skedasis.data.dataset import AnyColumn
from skedasis.errors import ModelOutputError
from skedasis.methods.ale_categorical import LevelPlan
from skedasis.methods.plans import NumericPlan
from skedasis.quantities.evaluator import BatchEvaluator, SweptValues
from skedasis.results.build.linear_form import LOCAL, SQUARED
from skedasis.stats.moments import Moments

MISSING, MISSING_SQUARED = "missing", "missing, squared weights"
"""Keys of the moments of the effect of missing values, and of an M-plot also with the squares of sampling weights."""

OF_MISSING = {MISSING: LOCAL, MISSING_SQUARED: SQUARED}
"""Moments that are put aside for the point of missing values, and what they are to it."""

_SMALL = 2_000
"""Model rows that using all observed values may cost, independent of the size of X."""


_MOST = 1_024
"""Largest number of donor values. More quantiles of a distribution change its mean by less than the rows' own error."""


@dataclass(frozen=True, eq=False)
class Donors:
    """Observed values that are inserted where values are missing."""

    changes: SweptValues
    weight: Floats
    exact: bool
    plan: NumericPlan | LevelPlan
    at_rows: Floats | None = None
    """The effect of a missing value at all rows in memory, (n,), which the pass fills in; None if it is not wanted."""

    def rows(self, evaluator: BatchEvaluator) -> Ints:
        """Return the positions of the batch's rows with a missing value."""
        if isinstance(self.plan, LevelPlan):
            return np.flatnonzero(evaluator.codes(self.plan.column) < 0)
        return np.flatnonzero(np.isnan(evaluator.column(self.plan.column.feature.position)))


def donors_of(column: AnyColumn, plan: object) -> Donors | None:
    """Return the donor values of a column with missing values: all observed values if that is cheap, else quantiles."""
    if isinstance(plan, LevelPlan):
        if plan.column.n_other or not plan.column.missing or plan.column.feature.kind == "nominal":
            return None  # for a nominal feature, "missing" is a level
        column = plan.column  # all observed levels, not only those of the plan
        changes = column.replacements(np.arange(len(column.levels)))
        return Donors(changes, column.weight / column.weight.sum(), True, plan)
    if not isinstance(plan, NumericPlan) or not isinstance(column, Column):
        return None
    j, missing = plan.column.feature.position, column.missing
    every = len(column) + missing
    n_donors = min(max(10, 2 * every // missing, _SMALL // missing), _MOST)
    values = column.distinct(n_donors)
    if values is not None:
        weight = column.value_weights(values)
        return Donors({j: values}, weight / weight.sum(), True, plan)
    # Quantiles at the midpoints of n_donors intervals of equal probability.
    midpoints = column.order_statistics(2 * n_donors, np.arange(1, 2 * n_donors, 2))
    return Donors({j: midpoints}, np.full(n_donors, 1 / n_donors), False, plan)


def missing_moments(evaluator: BatchEvaluator, donors: Donors) -> tuple[Moments, str | None]:
    """Return the moments of the effect of missing values in the batch, and the reason if the model fails for them."""
    rows = donors.rows(evaluator)
    if len(rows) == 0:
        return Moments.zeros(1), None
    part = evaluator.subset(rows, len(donors.weight))
    try:
        own = part.values()
        inserted = part.sweep_together(donors.changes, len(donors.weight))
    except (ModelOutputError, ValueError, TypeError) as error:
        return Moments.zeros(1), f"no point for missing values: {str(error)[:200]}"
    effect = own - inserted @ donors.weight
    if donors.at_rows is not None:
        donors.at_rows[part.places] = effect
    return Moments.of(effect, np.zeros(len(rows), dtype=np.int64), 1, part.weights), None
