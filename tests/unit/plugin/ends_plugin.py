"""A plugin: a method, a quantity and a reliability check, as another package would add them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from skedasis.methods.base import (
    BatchStats,
    GridPlan,
    NumericMethod,
    kept_rows,
    select_rows,
)
from skedasis.methods.pdp import axis_moments
from skedasis.quantities.evaluator import BatchEvaluator
from skedasis.quantities.outputs import FromModel, respond
from skedasis.registry import METHODS, QUANTITIES, MethodEntry, QuantityEntry
from skedasis.results.build.pdp import partial_dependence
from skedasis.results.checks.check import CODES, Check, CodeInfo, Examined, reports
from skedasis.results.effect import Spec
from skedasis.stats.grid import Grid
from skedasis.stats.moments import Moments

# --- a method -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ends(NumericMethod[GridPlan]):
    """The mean of the quantity with the feature at its smallest and at its largest value.

    Parameters
    ----------
    inner : float
        By how much the two values are moved inwards, as a fraction of the range.
    """

    inner: float = 0.0

    def __post_init__(self) -> None:
        self.check_no_model()

    def plan(self, column, derivative_info):
        """Choose the two values."""
        inwards = self.inner * (column.high - column.low)
        points = np.array([column.low + inwards, column.high - inwards])
        return GridPlan(column.summary(), derivative_info, Grid(points, "the ends of the data"))

    def points_per_call(self, plans: Sequence[GridPlan]) -> int:
        """Return 2: both ends."""
        return 2

    def row_bytes(self, plan: GridPlan) -> int:
        """Return the bytes of a value and a weight."""
        return 16

    def compute(self, evaluator: BatchEvaluator, plan: GridPlan, keep) -> BatchStats:
        """Evaluate each row at both ends."""
        j = plan.column.feature.position
        x, weights = evaluator.column(j), evaluator.weights
        moments = {
            "ends": Moments.of_curves(evaluator.sweep(j, plan.grid.points).T, weights),
            "axis": axis_moments(plan.grid, x, weights, missing=True),
        }
        return BatchStats(moments, select_rows({"x": x, "weight": weights}, keep))

    def finalize(self, plan, stats, about, *, exact, kind):
        """Average over the rows."""
        spec = Spec(self.name, None, "none", weight_kind=kind, parameters=self.describe())
        rows, m = kept_rows(stats, exact=exact), stats.moments
        return partial_dependence(plan.grid, m["ends"], m["axis"], spec, about, rows, None, None)


METHODS["ends"] = MethodEntry("Ends", "mean prediction at both ends of the feature", Ends)


# --- a quantity -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Deviation(FromModel):
    """The absolute deviation of the prediction from zero."""

    def raw(self, X):
        """Call the model."""
        return respond(self.model, "predict", X)

    def read(self, raw, y=None):
        """Return absolute values."""
        return np.abs(np.asarray(raw, dtype=float))


def deviation(model) -> Deviation:
    """Explain the absolute value of the prediction."""
    return Deviation(model, "absolute prediction")


QUANTITIES["deviation"] = QuantityEntry("deviation", "absolute value of the prediction", deviation)


# --- a reliability check --------------------------------------------------------------------------


CODES["few_levels"] = CodeInfo("The curve has few points.", note="always")


@reports("few_levels")
def _check_points(seen: Examined) -> Iterator[Check]:
    """Check the number of points of a curve."""
    points = len(seen.effect.axis)
    if points < 5:
        text = f"The curve of {seen.effect.feature!r} has {points} points only."
        yield Check("few_levels", "note", text, None, seen.effect.feature)
