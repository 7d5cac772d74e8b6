"""M-plots: the mean of the quantity over the rows of each bin (docs/explanation/effects.md). No row is changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from skedasis._arguments import check_option
from skedasis._calls import checked_call
from skedasis._types import Bools, Floats, Ints, Side
from skedasis.binning import EXACT, Binning, Quantile, VarianceOptions, check_rows_in_cells
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Column
from skedasis.data.features import Feature
from skedasis.methods.ale_categorical import LevelPlan, LevelVariant, own_order
from skedasis.methods.base import BinnedMethod, Scheme, quantile_scheme
from skedasis.methods.missing import MISSING, MISSING_SQUARED
from skedasis.methods.plans import BatchStats, CellPlan, kept_rows, select_rows
from skedasis.models.adapters import DerivativeInfo
from skedasis.quantities.evaluator import BatchEvaluator
from skedasis.results.build.linear_form import AXIS, LOCAL, SQUARED
from skedasis.results.build.pdp import categorical_m_plot, m_plot
from skedasis.results.effect import About, Effect, Spec
from skedasis.stats.grid import Cells, distinct
from skedasis.stats.moments import Moments, WeightKind


@checked_call
@dataclass(frozen=True)
class MPlot(BinnedMethod):
    """The mean of the quantity over the rows of each bin or level. No row is changed.

    Parameters
    ----------
    bins : "auto", int or Binning
        "auto": one bin per value for a feature with few values, else 20 quantiles and the ends of gaps with few rows
        beyond. An integer means `Quantile` bins, which are then the same as those of `ALE`.
    center : {"mean", None}
        "mean" subtracts the mean over the data.
    ddof : {1, 0}
        1 divides variances within bins by n - 1, 0 by n.
    top_levels : int, optional
        For a categorical feature, the number of most frequent levels to use.

    Notes
    -----
    Costs N model rows for all features together; none for `skedasis.label`. The points are the means of the feature
    within the bins. `Effect.heterogeneity` is the standard deviation of the averaged values within the bins;
    `Effect.bins` has all statistics.

    As no row is changed, it also averages what was observed: ``sd.explain(sd.label(), X, feature, y=y,
    method="mplot")`` gives the mean label, and `skedasis.residual` the mean error of a model.

    References
    ----------
    Apley & Zhu (2020), JRSS B 82(4), sec. 1; docs/explanation/effects.md.

    Examples
    --------
    >>> import numpy as np
    >>> import skedasis as sd
    >>> X = np.arange(8.0)[:, None]
    >>> e = sd.explain(lambda X: 2 * X[:, 0], X, 0, method=sd.MPlot(bins=2))
    >>> e.x, e.value
    (array([1.5, 5.5]), array([ 3., 11.]))
    """

    instead: ClassVar[Mapping[str, str]] = {
        "of": 'Average another quantity: sd.explain(sd.label(), X, feature, y=y, method="mplot"), or sd.residual(model)'
    }

    bins: Scheme = "auto"
    center: Literal["mean"] | None = None
    ddof: int = 1
    top_levels: int | None = None

    moves_rows = False
    leaves_out_missing = False

    def __post_init__(self) -> None:
        self.check_no_model()
        check_option("MPlot(center)", self.center, ("mean", None))
        check_option("MPlot(ddof)", self.ddof, (0, 1))
        self.binning()

    def binning(self) -> Binning:
        """Return the scheme; bins with a user's edges are closed on the right, like quantiles."""
        return quantile_scheme(self.bins, Quantile(20))

    def is_explicit(self, feature: Feature) -> bool:
        return isinstance(self.bins, Binning)

    def for_levels(self, feature: Feature) -> LevelMPlot:
        return LevelMPlot(self)

    def plan(self, column: Column, derivative_info: DerivativeInfo) -> CellPlan:
        values = column.few_values() if self.bins == "auto" else None
        if values is None or len(values) == 1:
            cells = self.binning().candidates(column)
            few = [gap for gap in column.gaps if gap.few_beyond] if self.bins == "auto" else []
            # The rows beyond a gap have bins of their own. A lowest value alone ends its bin within the gap.
            ends = [g.left if g.left > column.low else g.left / 2 + g.right / 2 for g in few]
            if ends:
                cells = Cells(distinct(np.concatenate([cells.edges, ends])), cells.closed)
        else:  # edges halfway between the values, and below the right one even for adjacent floats
            midpoints = values[:-1] + np.diff(values) / 2
            midpoints = np.minimum(midpoints, np.nextafter(values[1:], -np.inf))
            start = np.minimum(values[:1], np.nextafter(midpoints[:1], -np.inf))
            cells = Cells(np.concatenate([start, midpoints, values[-1:]]), "right")
        return CellPlan(column.summary(), DerivativeInfo("values", "the rows as they are"), cells)

    def row_bytes(self, plan: CellPlan) -> int:
        """Return the bytes of a value, the averaged number and a weight."""
        return 24

    def compute(self, evaluator: BatchEvaluator, plan: CellPlan, keep: Bools | None) -> BatchStats:
        cells, x = plan.cells, evaluator.column(plan.column.feature.position)
        values, weights = evaluator.values(), evaluator.weights
        # A constant feature has one edge only; all its rows belong to one bin.
        cell = np.where(np.isnan(x), -1, 0) if len(cells) == 0 else cells.locate(x)
        inside, absent = cell >= 0, np.isnan(x)
        missing = _moments_of_missing(evaluator, values, absent)
        outside, all_weights = ~inside & ~absent, weights
        if not inside.all():
            x, values, cell = x[inside], values[inside], cell[inside]
            weights = None if weights is None else weights[inside]
            keep = None if keep is None else keep[inside]
        size = max(len(cells), 1)
        local, axis = Moments.of_both(values, x, cell, size, weights)
        kept = {"x": x, "effect": values, "weight": weights}
        largest = float(np.abs(values).max(initial=0.0))
        squared = _with_squared_weights(evaluator, values, cell, size, weights)
        moments = {LOCAL: local, AXIS: axis, **squared, **missing}
        stats = BatchStats(moments, select_rows(kept, keep), largest)
        return stats.with_outside(outside, all_weights)

    def finalize(
        self, plan: CellPlan, stats: BatchStats, about: About, *, exact: bool, kind: WeightKind
    ) -> Effect:
        """Choose the bins as unions of cells, and average."""
        spec = self.spec_of_values(kind, plan.cells.closed)
        options = VarianceOptions(self.ddof, kind, stats.largest, EXACT, plan.column.feature.name)
        check_rows_in_cells(plan.column.feature, stats.moments[LOCAL].count[: len(plan.cells)])
        kept = np.zeros(1, dtype=np.int64)
        if len(plan.cells):
            kept = self.binning().choose(plan.cells, stats.moments[LOCAL], options)
        rows = kept_rows(stats, exact=exact)
        effect = m_plot(plan.cells, stats.moments, kept, spec, about, rows)
        return effect.with_provenance(stats.notes_outside)

    def spec_of_values(self, kind: WeightKind, closed: Side = "left") -> Spec:
        """Return the settings that the result needs."""
        return replace(self.spec(self.center, "values", kind), ddof=self.ddof, closed=closed)


@dataclass(frozen=True)
class LevelMPlot(LevelVariant[MPlot]):
    """The M-plot of a categorical feature: a mean for each level."""

    moves_rows = False
    leaves_out_missing = False

    def plan(self, column: LevelColumn, derivative_info: DerivativeInfo) -> LevelPlan:
        """Take the levels in the feature's own order, as the values do not depend on the order."""
        return LevelPlan.of(column, *own_order(column))

    def row_bytes(self, plan: LevelPlan) -> int:
        """Return the bytes of a position, the averaged number and a weight."""
        return 24

    def compute(self, evaluator: BatchEvaluator, plan: LevelPlan, keep: Bools | None) -> BatchStats:
        position, values, weights = (
            plan.at(evaluator),
            evaluator.values(),
            evaluator.weights,
        )
        inside = position >= 0
        # With `top_levels`, position -1 means an omitted level, not a missing value.
        absent = ~inside if plan.column.n_other == 0 else np.zeros(len(position), dtype=bool)
        missing = _moments_of_missing(evaluator, values, absent)
        if not inside.all():
            position, values = position[inside], values[inside]
            weights = None if weights is None else weights[inside]
            keep = None if keep is None else keep[inside]
        squared = _with_squared_weights(evaluator, values, position, len(plan), weights)
        local = Moments.of(values, position, len(plan), weights)
        moments = {LOCAL: local, **squared, **missing}
        kept = {"x": position.astype(float), "effect": values, "weight": weights}
        return BatchStats(moments, select_rows(kept, keep))

    def finalize(
        self, plan: LevelPlan, stats: BatchStats, about: About, *, exact: bool, kind: WeightKind
    ) -> Effect:
        rows = kept_rows(stats, exact=exact)
        spec = self.base.spec_of_values(kind)
        effect = categorical_m_plot(plan.stats, stats.moments, spec, about, rows)
        return effect.with_provenance({"rows_outside": plan.column.n_other, **plan.notes})


def _with_squared_weights(
    evaluator: BatchEvaluator,
    values: Floats,
    cell: Ints,
    cells: int,
    weights: Floats | None,
    key: str = SQUARED,
) -> dict[str, Moments]:
    """Return the moments of the values with the squares of sampling weights; nothing for frequencies."""
    if weights is None or not evaluator.batch.dataset.sampling_weights:
        return {}
    return {key: Moments.of(values, cell, cells, weights**2)}


def _moments_of_missing(
    evaluator: BatchEvaluator, values: Floats, absent: Bools
) -> dict[str, Moments]:
    """Return the moments of the values of rows with a missing value, which an M-plot averages like others."""
    values, weights = values[absent], evaluator.weights
    w, cell = None if weights is None else weights[absent], np.zeros(len(values), dtype=np.int64)
    squared = _with_squared_weights(evaluator, values, cell, 1, w, MISSING_SQUARED)
    return {MISSING: Moments.of(values, cell, 1, w), **squared}
