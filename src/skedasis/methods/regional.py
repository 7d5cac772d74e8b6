"""Local effects of some of the rows: what the search for regions sums, and the statistics of a region."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.data.column_stats import Column
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature
from skedasis.errors import UnsupportedError
from skedasis.methods.ale import Accumulated, gap_moments
from skedasis.methods.ale_categorical import LevelPlan, LevelSteps
from skedasis.methods.base import (
    AnyFeatureMethod,
    BatchStats,
    CellPlan,
    GridPlan,
    RowArrays,
)
from skedasis.methods.pdp import PDP, LevelPDP, axis_moments, curve_moments, grid_shares
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

RegionalVariant: TypeAlias = "Accumulated | LevelSteps | PDP | LevelPDP"
RegionalPlan: TypeAlias = "CellPlan | LevelPlan | GridPlan"


@dataclass(frozen=True, eq=False)
class KeptEffects:
    """The kept local effects of one feature for one output."""

    variant: RegionalVariant
    plan: RegionalPlan
    stats: BatchStats
    rows: Ints
    outside: Ints

    @property
    def arrays(self) -> RowArrays:
        """Return the kept arrays."""
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
        cell = self._spread_ints(cells.locate(self.arrays["x"]), n, 0)
        value = self._spread(self.arrays["effect"], n)
        curves = criterion == "curves"
        return CellEffects(
            value,
            cell,
            len(cells),
            scale,
            cell_path(cells.widths) if curves else None,
            np.where(np.isnan(value), -1, cell) if curves else None,
        )

    def _spread(self, values: Floats, n: int) -> Floats:
        """Return values of the kept rows for all rows of the dataset, NaN where there are none."""
        if len(self.rows) == n:
            return values
        out = np.full((n, *values.shape[1:]), np.nan)
        out[self.rows] = values
        return out

    def _spread_ints(self, values: Ints, n: int, absent: int) -> Ints:
        if len(self.rows) == n:
            return values.astype(np.int64)
        out = np.full((n, *values.shape[1:]), absent, dtype=np.int64)
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
            return CellEffects(
                self._spread(both, n),
                self._spread_ints(cell, n, 0),
                2 * steps,
                scale,
                path,
                self._spread_ints(code, n, -1),
            )
        widths = np.append(np.append(np.nan, np.diff(values)), np.nan)
        slopes = both / np.stack([widths[code], widths[code + 1]], axis=1)
        return CellEffects(self._spread(slopes, n), self._spread_ints(cell, n, 0), 2 * steps, scale)

    def _level_steps(self, n: int, criterion: SplitCriterion, scale: float) -> CellEffects | None:
        """Return the steps between levels, pooled over the rows of both ends."""
        code = self.arrays["x"].astype(np.int64)
        size = len(self.plan) if isinstance(self.plan, LevelPlan) else 0
        if size < 2:
            return None
        cell = np.stack([code - 1, code], axis=1).clip(0, size - 2)
        curves = criterion == "curves"
        return CellEffects(
            self._spread(self.arrays["effect"], n),
            self._spread_ints(cell, n, 0),
            size - 1,
            scale,
            np.tri(size, size - 1, -1) if curves else None,
            self._spread_ints(code, n, -1) if curves else None,
        )

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
        place = None if len(self.rows) == n else self._spread_ints(np.arange(len(x)), n, -1)
        return CurveEffects(curve - (curve @ share)[:, None], share, place)

    def effect(
        self, rows: Ints, dataset: Dataset, about: About, *, exact: bool, kind: WeightKind
    ) -> Effect:
        """Return the effect of some rows."""
        if not self.arrays and isinstance(self.plan, CellPlan):
            # A constant feature has no cells, and no local effects in any rows.
            variant = self.variant
            if isinstance(variant, Accumulated):
                return variant.finalize(self.plan, self.stats, about, exact=exact, kind=kind)
        inside = np.zeros(len(dataset), dtype=bool)
        inside[rows] = True
        some = np.flatnonzero(inside[self.rows])
        kept = {name: values[some] for name, values in self.arrays.items()}
        variant, plan = self.variant, self.plan
        if isinstance(plan, LevelPlan):
            plan = _plan_of_rows(plan, rows)
        if isinstance(variant, LevelSteps) and isinstance(plan, LevelPlan):
            stats = _steps_of_levels(plan, kept)
            return variant.finalize(plan, stats, about, exact=exact, kind=kind)
        if isinstance(variant, Accumulated) and isinstance(plan, CellPlan):
            beyond = self.outside[inside[self.outside]]
            weights = None if dataset.weights is None else dataset.weights[beyond]
            stats = _stats_of_cells(plan, kept, self.stats.moments)
            stats = stats.with_outside(np.ones(len(beyond), bool), weights)
            return variant.finalize(plan, stats, about, exact=exact, kind=kind)
        if isinstance(plan, GridPlan) and not np.isnan(kept["x"]).all():
            column = Column(plan.column.feature, kept["x"], kept.get("weight"))
            plan = replace(plan, shares=grid_shares(column, plan.grid.points))
        stats = self._curve_stats(plan, kept, some, dataset)
        if isinstance(variant, LevelPDP) and isinstance(plan, LevelPlan):
            return variant.finalize(plan, stats, about, exact=exact, kind=kind)
        if isinstance(variant, PDP) and isinstance(plan, GridPlan):
            return variant.finalize(plan, stats, about, exact=exact, kind=kind)
        raise TypeError(f"{variant.name} has no plan of this kind")

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
        row_id = self.rows[some] if dataset.row_id is None else dataset.row_id[self.rows[some]]
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


def _steps_of_levels(plan: LevelPlan, kept: RowArrays) -> BatchStats:
    both, code = kept["effect"], kept["x"].astype(np.int64)
    down, up = np.nan_to_num(both[:, 0]), np.nan_to_num(both[:, 1])
    moments = step_moments(down, up, code, len(plan), kept.get("weight"))
    largest = float(max(np.abs(down).max(initial=0.0), np.abs(up).max(initial=0.0)))
    return BatchStats(moments, kept, largest)


def _stats_of_cells(plan: CellPlan, kept: RowArrays, whole: Mapping[str, Moments]) -> BatchStats:
    """Return the moments of the local effects of some rows, as `Accumulated.compute` returns those of a batch."""
    x, w, size = kept["x"], kept.get("weight"), len(plan.cells)
    cell = plan.cells.locate(x)
    if plan.values is not None:
        both, code = kept["effect"], np.searchsorted(plan.values, x)
        down, up = np.nan_to_num(both[:, 0]), np.nan_to_num(both[:, 1])
        moments, effects = (
            step_moments(down, up, code, len(plan.values), w),
            _first_round(plan, kept),
        )
    else:
        moments, effects = {}, kept["effect"]
    local, axis = Moments.of_both(effects, x, cell, size, w)
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


def _first_round(plan: CellPlan, kept: RowArrays) -> Floats:
    """Return the rows' slopes from steps between values, which a second round replaced by those across bins."""
    if plan.values is None or plan.difference_bins is None:
        return kept["across"]
    both, code = kept["effect"], np.searchsorted(plan.values, kept["x"])
    widths = np.append(np.append(np.nan, np.diff(plan.values)), np.nan)
    return np.where(code > 0, both[:, 0] / widths[code], both[:, 1] / widths[code + 1])
