"""Local effects of some of the rows: what the search for regions sums, and the statistics of a region."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Bools, Floats, Ints
from skedasis.data.column_stats import Column
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature
from skedasis.errors import UnsupportedError
from skedasis.methods.ale import Accumulated, gap_moments, own_slopes, slopes_between
from skedasis.methods.ale_categorical import LevelPlan, LevelSteps, steps_of_levels
from skedasis.methods.base import AnyFeatureMethod
from skedasis.methods.pdp import PDP, LevelPDP, axis_moments, curve_moments, grid_shares
from skedasis.methods.plans import BatchStats, CellPlan, GridPlan, RowArrays, ScalarT
from skedasis.registry import listed_methods
from skedasis.results.build.linear_form import AXIS, GAP, LOCAL, RISE
from skedasis.results.build.steps import step_moments
from skedasis.results.effect import About, Effect
from skedasis.stats.moments import Moments, WeightKind
from skedasis.stats.random import row_hashes
from skedasis.stats.regions import (
    CellEffects,
    CurveEffects,
    LocalEffects,
    SplitCriterion,
    cell_path,
    slope_effects,
)

RegionalPlan: TypeAlias = "CellPlan | LevelPlan | GridPlan"


@dataclass(frozen=True, eq=False)
class KeptEffects:
    """The kept local effects of one feature for one output."""

    variant: AnyFeatureMethod
    plan: RegionalPlan
    stats: BatchStats
    rows: Ints
    outside: Ints

    @property
    def arrays(self) -> RowArrays:
        return self.stats.kept

    @property
    def has_slopes(self) -> bool:
        """Return whether the local effects are slopes, which belong to points, so that regions differ within cells."""
        return isinstance(self.plan, CellPlan) and self.plan.derivative_info.kind in (
            "slopes",
            "differences",
            "integer_steps",
        )

    def local_effects(
        self, n: int, criterion: SplitCriterion, feature_std: float, weights: Floats | None
    ) -> LocalEffects | None:
        """Return the local effects for the search, None if there are none (a constant feature)."""
        if not self.arrays or len(self.rows) == 0:
            return None
        scale = feature_std**2
        if isinstance(self.plan, GridPlan) or isinstance(self.variant, LevelPDP):
            return self._curves(n, criterion, weights)
        if isinstance(self.plan, LevelPlan):
            return self._level_steps(n, criterion, scale)
        return self._in_cells(self.plan, n, criterion, scale, weights)

    def _in_cells(
        self,
        plan: CellPlan,
        n: int,
        criterion: SplitCriterion,
        scale: float,
        weights: Floats | None,
    ) -> CellEffects | None:
        """Return slopes, steps between values, or differences across cells."""
        if len(plan.cells) == 0:
            return None
        if self.has_slopes:
            found = self.arrays["effect" if plan.values is None else "across"]
            return slope_effects(
                self._spread(self.arrays["x"], n),
                self._spread(found, n),
                scale,
                weights,
                criterion=criterion,
            )
        if plan.values is not None:
            return self._value_steps(plan.values, n, criterion, scale)
        cells = plan.cells
        cell = self._spread(cells.locate(self.arrays["x"]).astype(np.int64), n, 0)
        value = self._spread(self.arrays["effect"], n)
        path = at = None
        if criterion == "curves":
            path, at = cell_path(cells.widths), np.where(np.isnan(value), -1, cell)
        return CellEffects(value, cell, len(cells), scale, path, at)

    def _spread(self, values: NDArray[ScalarT], n: int, absent: float = np.nan) -> NDArray[ScalarT]:
        """Return values of the kept rows for all rows of the dataset, with a value where there are none."""
        if len(self.rows) == n:
            return values
        out = np.full((n, *values.shape[1:]), absent, dtype=values.dtype)
        out[self.rows] = values
        return out

    def _value_steps(
        self, values: Floats, n: int, criterion: SplitCriterion, scale: float
    ) -> CellEffects:
        """Return the steps between few values: cell 2j for the rows at the lower end of step j, 2j + 1 at the upper."""
        code = np.searchsorted(values, self.arrays["x"])
        steps = len(values) - 1
        both = self.arrays["effect"]
        cell = np.stack([2 * code - 1, 2 * code], axis=1).clip(0, 2 * steps - 1)
        if criterion == "curves":
            path = np.repeat(np.tri(len(values), steps, -1), 2, axis=1) / 2
            effects, at = self._spread(both, n), self._spread(code, n, -1)
            return CellEffects(effects, self._spread(cell, n, 0), 2 * steps, scale, path, at)
        slopes = slopes_between(values, code, both)
        return CellEffects(self._spread(slopes, n), self._spread(cell, n, 0), 2 * steps, scale)

    def _level_steps(self, n: int, criterion: SplitCriterion, scale: float) -> CellEffects | None:
        """Return the steps between levels, pooled over the rows of both ends."""
        code = self.arrays["x"].astype(np.int64)
        size = len(self.plan) if isinstance(self.plan, LevelPlan) else 0
        if size < 2:
            return None
        cell = np.stack([code - 1, code], axis=1).clip(0, size - 2)
        path = at = None
        if criterion == "curves":
            path, at = np.tri(size, size - 1, -1), self._spread(code, n, -1)
        effects = self._spread(self.arrays["effect"], n)
        return CellEffects(effects, self._spread(cell, n, 0), size - 1, scale, path, at)

    def _curves(
        self, n: int, criterion: SplitCriterion, weights: Floats | None
    ) -> CurveEffects | None:
        """Return the curves, centred with the weights of their points."""
        curve, x = self.arrays["curve"], self.arrays["x"]
        if curve.shape[1] < 2:
            return None
        share = np.full(curve.shape[1], 1.0 / curve.shape[1])
        if criterion == "curves":
            some = ~np.isnan(x)
            if isinstance(self.plan, GridPlan):
                points = self.plan.grid.points
                nearest = np.searchsorted((points[1:] + points[:-1]) / 2, x[some])
            else:
                nearest = x[some].astype(np.int64)
            w = None if weights is None else weights[self.rows][some]
            share = np.bincount(nearest, w, curve.shape[1]).astype(float)
            share /= share.sum()
        place = None if len(self.rows) == n else self._spread(np.arange(len(x)), n, -1)
        return CurveEffects(curve - (curve @ share)[:, None], share, place)

    def effect(
        self, rows: Ints, dataset: Dataset, about: About, *, exact: bool, kind: WeightKind
    ) -> Effect:
        plan, stats = self.plan, self.stats
        if self.arrays or not isinstance(plan, CellPlan):  # else a constant feature, without cells
            inside = np.zeros(len(dataset), dtype=bool)
            inside[rows] = True
            some = np.flatnonzero(inside[self.rows])
            kept = {name: values[some] for name, values in self.arrays.items()}
            if isinstance(plan, LevelPlan):
                plan = _plan_of_rows(plan, rows)
            elif isinstance(plan, GridPlan) and not np.isnan(kept["x"]).all():
                column = Column(plan.column.feature, kept["x"], kept.get("weight"))
                plan = replace(plan, shares=grid_shares(column, plan.grid.points))
            if isinstance(plan, CellPlan):
                beyond = self.outside[inside[self.outside]]
                weights = None if dataset.weights is None else dataset.weights[beyond]
                stats = _stats_of_cells(plan, kept, self.stats.moments)
                stats = stats.with_outside(np.ones(len(beyond), bool), weights)
            elif isinstance(plan, LevelPlan) and self.variant.of_rows == "effects":
                stats = steps_of_levels(plan, kept, None)
            else:
                stats = self._curve_stats(plan, kept, some, dataset)
        effect = self.variant.finalize(plan, stats, about, exact=exact, kind=kind)
        if not isinstance(effect, Effect):
            raise TypeError(f"{self.variant.name} has no effects")
        return effect

    def _curve_stats(
        self, plan: RegionalPlan, kept: RowArrays, some: Ints, dataset: Dataset
    ) -> BatchStats:
        """Return the moments of some curves, and as many of these curves as the method keeps."""
        base = self.variant.base if isinstance(self.variant, LevelPDP) else self.variant
        if not isinstance(base, PDP) or isinstance(plan, CellPlan):
            raise TypeError("only partial dependence has curves")
        weights, curve = kept.get("weight"), kept["curve"].T
        shares = plan.shares if isinstance(plan, GridPlan) else plan.stats.share
        # The kept curves are those to show.
        moments, _ = curve_moments(curve, weights, None, shares=shares)
        if isinstance(plan, GridPlan):
            moments[AXIS] = axis_moments(plan.grid, kept["x"], weights, missing=True)
        row_id = dataset.places_in_x[self.rows[some]]
        shown = np.arange(len(some))
        if base.ice != "all" and base.ice < len(some):
            hashes = row_hashes(row_id, 0, "regions: curves")
            shown = np.sort(np.argsort(hashes, kind="stable")[: base.ice])
        return BatchStats(moments, {k: v[shown] for k, v in kept.items()}, row_id=row_id[shown])


def kept_effects(
    variant: AnyFeatureMethod,
    plan: object,
    stats: BatchStats,
    dataset: Dataset,
    sample: Bools | None,
) -> KeptEffects:
    """Return the kept local effects of a feature."""
    check_local_effects(variant)
    if isinstance(variant, (Accumulated, LevelSteps)) and isinstance(plan, (CellPlan, LevelPlan)):
        used = _with_local_effects(plan, dataset)
        outside = np.zeros(len(dataset), dtype=bool)
        if isinstance(plan, CellPlan):
            outside = ~used & ~np.isnan(dataset.floats(plan.column.feature.position))
        kept = np.ones(len(dataset), dtype=bool) if sample is None else sample
        rows, beyond = np.flatnonzero(used & kept), np.flatnonzero(outside & kept)
        return KeptEffects(variant, plan, stats, rows, beyond)
    base = variant.base if isinstance(variant, LevelPDP) else variant
    if isinstance(base, PDP) and isinstance(plan, (GridPlan, LevelPlan)):
        rows = np.arange(len(dataset)) if sample is None else np.flatnonzero(sample)
        variant, none = variant if isinstance(variant, LevelPDP) else base, rows[:0]
        return KeptEffects(variant, plan, stats, rows, none)
    raise no_local_effects(variant.name)


def check_local_effects(variant: AnyFeatureMethod) -> None:
    """Raise for a method whose effects cannot have regions."""
    base = variant.base if isinstance(variant, LevelPDP) else variant
    if isinstance(base, PDP) and (base.derivative or not base.heterogeneity):
        option = "derivative=True" if base.derivative else "heterogeneity=False"
        raise UnsupportedError(
            f"regions of {base.name}",
            option,
            "curves of the rows",
            f"Leave {option.partition('=')[0]} out",
        )
    if not variant.scored:
        raise no_local_effects(variant.name)


def no_local_effects(name: str) -> UnsupportedError:
    """Return the error for a method without local effects."""
    return UnsupportedError(
        f"regions of {name}",
        "a method without local effects",
        listed_methods(lambda m: m.local_effects),
        "Use method=sd.RHALE()",
    )


def _with_local_effects(plan: CellPlan | LevelPlan, dataset: Dataset) -> Bools:
    """Return which rows of the dataset have local effects."""
    if isinstance(plan, LevelPlan):
        return plan.places[plan.column.codes] >= 0
    feature: Feature = plan.column.feature
    return plan.cells.locate(dataset.floats(feature.position)) >= 0


def _plan_of_rows(plan: LevelPlan, rows: Ints) -> LevelPlan:
    """Return the plan with the counts of some rows."""
    column = plan.column
    codes = column.codes[rows]
    weights = None if column.weights is None else column.weights[rows]
    present = codes >= 0
    size = len(column.levels)
    count = np.bincount(codes[present], minlength=size)
    weight = np.bincount(
        codes[present], None if weights is None else weights[present], size
    ).astype(float)
    return replace(
        plan, column=replace(column, codes=codes, weights=weights, count=count, weight=weight)
    )


def _stats_of_cells(plan: CellPlan, kept: RowArrays, whole: Mapping[str, Moments]) -> BatchStats:
    """Return the moments of the local effects of some rows, as `Accumulated.compute` returns those of a batch."""
    x, w, size = kept["x"], kept.get("weight"), len(plan.cells)
    moments: dict[str, Moments] = {}
    effects = kept["effect"]
    if plan.values is not None:
        both, code = effects, np.searchsorted(plan.values, x)
        down, up = np.nan_to_num(both[:, 0]), np.nan_to_num(both[:, 1])
        moments = step_moments(down, up, code, len(plan.values), w)
        # A second round replaces the rows' slopes from steps between values by those across bins.
        effects = kept["across"]
        if plan.difference_bins is not None:
            effects = own_slopes(code, slopes_between(plan.values, code, both))
    local, axis = Moments.of_both(effects, x, plan.cells.locate(x), size, w)
    moments = {**moments, LOCAL: local, AXIS: axis}
    if plan.nearest is not None and "across_gaps" in kept:
        own = gap_moments(plan.nearest, x, kept["across_gaps"], w)
        none = np.repeat(own.count.reshape(-1, 2).sum(axis=1) == 0, 2)
        others = (np.where(none, values, 0.0) for values in whole[GAP].arrays().values())
        moments[GAP] = own.merge(Moments(*others))
    if plan.difference_bins is not None:
        bins = plan.difference_bins
        moments[RISE] = Moments.of(kept["across"], bins.locate(x), len(bins), w)
    largest = float(np.abs(effects).max(initial=0.0))
    return BatchStats(moments, kept, largest)
