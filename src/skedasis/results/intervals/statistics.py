"""Statistics of moments: effects computed from the moments of their cells, for many replicates at once.

There is one class for each kind of effect: `CategoricalStatistic` for categorical features; `AccumulatedStatistic` and
`LinearSlopeStatistic` for numeric ones, `ValueStepStatistic` for curves of steps between values; `BinMeansStatistic`
and `LevelMeansStatistic` for M-plots.
Each knows its cells, which moments it needs, how to compute the effect from them, and how they are drawn.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.results.build.linear_form import AXIS, GAP, LOCAL, line_trends, slopes_across_gaps
from skedasis.results.build.steps import DOWN, UP, Steps
from skedasis.results.effect import (
    AccumulatedEffect,
    AnyMPlot,
    BinnedEffect,
    Effect,
    LevelMeansEffect,
    LevelStepsEffect,
    MPlotEffect,
    ValueStepsEffect,
)
from skedasis.results.intervals.moments import MomentDraws, SparseMatrix, interpolation_matrix
from skedasis.stats import ale_math
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments

# ------------------------------------------------------------------------------------------
# What all statistics have in common.


StatisticName = Literal["value", "bins", "importance"]
"""The statistics of an effect that can be replicated."""


@dataclass(frozen=True, eq=False)
class MomentStatistic(ABC):
    """An effect computed from the moments of its cells, for R replicates at once."""

    effect: Effect

    value_moments: ClassVar[tuple[str, ...]]
    """Names of the moments needed for values and bins."""

    importance_moments: ClassVar[tuple[str, ...]]
    """Names of the moments needed for the importance."""

    def needed(self, of: StatisticName) -> tuple[tuple[str, ...], bool]:
        """Return the names of the needed moments, and whether sums of squares are needed."""
        squares = of == "importance"
        return self.importance_moments if squares else self.value_moments, squares

    @abstractmethod
    def evaluate(self, moments: Mapping[str, Moments], of: StatisticName) -> Floats:
        """Return the statistic, (m, R); the importance as (1, R)."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of cells, P."""

    @abstractmethod
    def place(self, x: Floats) -> Ints:
        """Return the cell of each row; -1 for none."""

    def row_values(self, x: Floats, local: Floats) -> dict[str, Floats]:
        """Return the values of rows, (n,), whose moments are needed; `local` are the rows' local effects."""
        return {LOCAL: local, AXIS: x}

    def own_moments(self) -> Mapping[str, Moments]:
        """Return the effect's own moments, pooled to the statistic's cells."""
        return self.effect.moments

    def drawn(
        self, own: Mapping[str, Moments], draws: MomentDraws, names: tuple[str, ...]
    ) -> dict[str, Moments]:
        """Return drawn moments, (P, R), with these names, of cells that have the moments `own`."""
        return {name: draws.cells(own[name]) for name in names}


@dataclass(frozen=True, eq=False)
class StepStatistic(MomentStatistic):
    """An accumulated effect whose cells are levels or values; each row has a step down and a step up from its own."""

    value_moments = importance_moments = (UP, DOWN)

    @property
    @abstractmethod
    def positions(self) -> Floats:
        """The values, or the codes of the levels, (P,)."""

    def row_values(self, x: Floats, local: Floats) -> dict[str, Floats]:
        """Return the rows' steps; see `MomentStatistic.row_values`."""
        steps = np.nan_to_num(local)  # there is no step before the first level, nor after the last
        return {DOWN: steps[:, 0], UP: steps[:, 1]}

    def drawn(
        self, own: Mapping[str, Moments], draws: MomentDraws, names: tuple[str, ...]
    ) -> dict[str, Moments]:
        """Return drawn moments of both steps; see `MomentStatistic.drawn`."""
        return draws.steps(own)


# ------------------------------------------------------------------------------------------
# Categorical features, steps between values, M-plots.


@dataclass(frozen=True, eq=False)
class CategoricalStatistic(StepStatistic):
    """The accumulated effect of a categorical feature."""

    effect: LevelStepsEffect
    codes: Ints
    """Codes of the levels at which bins (groups of steps) begin and end, shape (K + 1,)."""

    @property
    def positions(self) -> Floats:
        """The codes of the levels."""
        return np.arange(self.size, dtype=float)

    @property
    def size(self) -> int:
        """Number of levels."""
        return len(self.effect.axis)

    def place(self, x: Floats) -> Ints:
        """Return the code of each row's level."""
        return x.astype(np.int64)

    def evaluate(self, moments: Mapping[str, Moments], of: StatisticName) -> Floats:
        """Return the statistic, (m, R)."""
        steps = Steps.of(moments).pooled
        weight, present = moments[UP].weight, steps.weight > 0
        differences = fill_unknown(steps.mean, present)
        start = cumulated(differences)
        if of == "value":
            return self._values(start, weight, present)
        if of == "bins":
            length = np.diff(self.codes)[:, None]
            some = np.logical_or.reduceat(present, self.codes[:-1], axis=0)
            return np.where(some, np.diff(start[self.codes], axis=0) / length, np.nan)
        return std_over(weight / total_of(weight), start)[None]

    def _values(self, start: Floats, weight: Floats, present: Bools) -> Floats:
        centred = self.effect.spec.center == "mean"
        value = start - (weight * start).sum(axis=0) / total_of(weight) if centred else start
        value = np.where(ale_math.between_known(present), value, np.nan)
        return value if centred else np.where(present[0], value, np.nan)


@dataclass(frozen=True, eq=False)
class ValueStepStatistic(StepStatistic):
    """The accumulated effect of a numeric feature whose curve is made of steps between its values."""

    effect: ValueStepsEffect

    @property
    def values(self) -> Floats:
        """The observed values, (L,)."""
        return self.effect.values

    @property
    def positions(self) -> Floats:
        """The values."""
        return self.values

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.values)

    def place(self, x: Floats) -> Ints:
        """Return the index of each row's value."""
        return np.searchsorted(self.values, x)

    def evaluate(self, moments: Mapping[str, Moments], of: StatisticName) -> Floats:
        """Return the statistic, (m, R)."""
        if of == "bins" and not self.effect.spec.on_cells:
            return self.of_cells.evaluate(self.in_cells(moments), "bins")
        steps = Steps.of(moments, self.values)
        widths = np.diff(self.values)[:, None]
        start = cumulated(fill_unknown(steps.mean / widths, steps.known) * widths)
        if of == "bins":
            bins = self.effect.bins
            ends = self._at(bins.edges) @ start
            return np.diff(ends, axis=0) / bins.widths[:, None]
        edges = self.effect.points
        curve = self._at(edges) @ start
        fraction = steps.up.weight / total_of(steps.up.weight)
        at_values = interpolation_matrix(edges, self.values) @ curve
        # Plus the curve minus its chords between the bins' edges, which is the same in all replicates.
        at_values = at_values + self.effect.bins.quadratic_term(self.values)[:, None]
        level = (fraction * at_values).sum(axis=0)
        if of == "importance":
            return std_over(fraction, at_values)[None]
        centred = self.effect.spec.center == "mean"
        present = ale_math.between_known(steps.known)
        # Edges are at values, or between two values that are both known or both unknown.
        known = self._at(edges) @ present >= 1 - 1e-9
        value = np.where(known, curve - level if centred else curve, np.nan)
        return value if centred else np.where(steps.known[0], value, np.nan)

    @property
    def of_cells(self) -> AccumulatedStatistic:
        """The statistic of local effects by cell; a row's local effect is the mean of its two steps per unit."""
        return accumulated_statistic(self.effect)

    def in_cells(self, moments: Mapping[str, Moments]) -> dict[str, Moments]:
        """Return the moments of the local effects and of the feature by cell, from those of the steps by value."""
        statistic, widths = self.of_cells, np.diff(self.values)[:, None]
        up, local = moments[UP], np.zeros_like(moments[UP].mean)
        local[1:] += moments[DOWN].mean[1:] / widths
        local[:-1] += up.mean[:-1] / widths
        local[1:-1] /= 2
        place = statistic.place(self.values)
        inside = np.flatnonzero(place >= 0)
        cell, first = np.unique(place[inside], return_index=True)
        in_cells: dict[str, Moments] = {}
        for name, mean in ((LOCAL, local), (AXIS, np.zeros_like(local) + self.values[:, None])):
            found = replace(up, mean=mean).take(inside).pool(first)
            in_cells[name] = Moments.zeros((statistic.size, len(local.T)))
            for into, values in zip(
                in_cells[name].arrays().values(), found.arrays().values(), strict=True
            ):
                into[cell] = values
        return in_cells

    def _at(self, edges: Floats) -> SparseMatrix:
        """Return the matrix from the curve at the values to the curve at edges."""
        return interpolation_matrix(self.values, edges)


@dataclass(frozen=True, eq=False)
class MeansStatistic(MomentStatistic):
    """An M-plot: means of the quantity in bins or at levels."""

    effect: AnyMPlot

    value_moments = importance_moments = (LOCAL,)

    @property
    @abstractmethod
    def shown(self) -> Ints:
        """Indices of the cells that have a value, (m,)."""

    def own_moments(self) -> Mapping[str, Moments]:
        """Return the moments of the bins or levels."""
        return moments_of_bins(self.effect)

    def evaluate(self, moments: Mapping[str, Moments], of: StatisticName) -> Floats:
        """Return the statistic, (m, R)."""
        local = moments[LOCAL]
        present = local.weight > 0
        fraction = local.weight / total_of(local.weight)
        level = (fraction * local.mean).sum(axis=0)
        if of == "value":
            value = local.mean - level if self.effect.spec.center == "mean" else local.mean
            return np.where(present, value, np.nan)[self.shown]
        if of == "bins":
            return np.where(present, local.mean, np.nan)
        return std_over(fraction, local.mean)[None]


@dataclass(frozen=True, eq=False)
class BinMeansStatistic(MeansStatistic):
    """The M-plot of a numeric feature. A feature of one value has no bins, and its rows are in one cell."""

    effect: MPlotEffect

    @property
    def is_constant(self) -> bool:
        """Whether the feature has one value."""
        return len(self.effect.cells) == 0

    @property
    def size(self) -> int:
        """Number of bins."""
        return 1 if self.is_constant else len(self.effect.bins)

    def place(self, x: Floats) -> Ints:
        """Return the bin of each row."""
        if self.is_constant:
            return np.zeros(len(x), dtype=np.int64)
        return Cells(self.effect.bins.edges, self.effect.cells.closed).locate(x)

    @property
    def shown(self) -> Ints:
        """Indices of the bins that have rows."""
        if self.is_constant:
            return np.zeros(1, dtype=np.int64)
        return np.flatnonzero(~self.effect.bins.empty)


@dataclass(frozen=True, eq=False)
class LevelMeansStatistic(MeansStatistic):
    """The M-plot of a categorical feature."""

    effect: LevelMeansEffect

    @property
    def size(self) -> int:
        """Number of levels."""
        return len(self.effect.axis)

    def place(self, x: Floats) -> Ints:
        """Return the code of each row's level."""
        return x.astype(np.int64)

    @property
    def shown(self) -> Ints:
        """All levels."""
        return np.arange(self.size)


def cumulated(differences: Floats) -> Floats:
    """Return the curves, (P + 1, R), that start at 0 and have these differences, (P, R)."""
    return np.concatenate([np.zeros((1, differences.shape[1])), np.cumsum(differences, axis=0)])


def bin_codes(effect: LevelStepsEffect) -> Ints:
    """Return the codes of the levels at which bins (groups of steps) begin and end, (K + 1,)."""
    levels, stats = effect.axis.levels, effect.bins
    if len(stats) == 0:
        return np.zeros(1, dtype=np.int64)
    return np.append(levels.codes(stats.low), len(levels) - 1)


def fill_unknown(slope: Floats, known: Bools) -> Floats:
    """Fill unknown slopes (P, R) by the mean of the nearest known ones on both sides, by zero beyond the known ones."""
    if known.all():
        return slope
    size, place = len(slope), np.arange(len(slope))[:, None]
    before = np.maximum.accumulate(np.where(known, place, -1), axis=0)
    after = np.minimum.accumulate(np.where(known, place, size)[::-1], axis=0)[::-1]
    between = (before >= 0) & (after < size)
    left = np.take_along_axis(slope, np.maximum(before, 0), axis=0)
    right = np.take_along_axis(slope, np.minimum(after, size - 1), axis=0)
    return np.where(known, slope, np.where(between, (left + right) / 2, 0.0))


def std_over(fraction: Floats, values: Floats) -> Floats:
    """Return the standard deviation of values over cells with these fractions of the weight, both (P, R): (R,)."""
    return np.sqrt((fraction * (values - (fraction * values).sum(axis=0)) ** 2).sum(axis=0))


def curve_std(widths: Floats, left: Floats, curve: Floats, axis: Moments) -> Floats:
    """Return the weighted standard deviation over the data of piecewise linear curves (m, R), shape (R,).

    `axis` has the moments of the feature within the pieces of the curves, (m - 1, R).
    """
    slope = np.diff(curve, axis=0) / widths[:, None]
    inside = np.where(axis.weight > 0, axis.mean - left[:, None], 0.0)
    level = curve[:-1] + slope * inside
    total = total_of(axis.weight)
    fraction = axis.weight / total
    between = (fraction * (level - (fraction * level).sum(axis=0)) ** 2).sum(axis=0)
    return np.sqrt(between + (slope**2 * axis.m2).sum(axis=0) / total)


def total_of(weight: Floats) -> Floats:
    """Return the total weight of all cells, (R,), at least the smallest positive float."""
    return np.maximum(weight.sum(axis=0), np.finfo(float).tiny)


# ------------------------------------------------------------------------------------------
# Statistics of moments: accumulated effects of numeric features.


@dataclass(frozen=True, eq=False)
class AccumulatedStatistic(MomentStatistic):
    """The accumulated effect of a numeric feature."""

    effect: AccumulatedEffect
    cells: Cells
    """The bins if local effects are slopes, else the cells across which differences were computed."""
    edge_index: Ints
    """Indices, among the cells' edges, of the edges at which the curve has values: those of the bins, or all edges for
    step functions, shape (m,)."""
    ends: Ints | None = None
    """Indices of the bins' edges, if these differ from `edge_index`, shape (K + 1,)."""

    value_moments = (LOCAL,)
    importance_moments = (LOCAL, AXIS)

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.cells)

    def place(self, x: Floats) -> Ints:
        """Return the cell of each row. After `rebin` to a narrower range, some rows are in none."""
        return self.cells.locate(x)

    def own_moments(self) -> Mapping[str, Moments]:
        """Return the effect's own moments, pooled to the statistic's cells."""
        moments = self.effect.moments
        if not self.effect.spec.pointwise:
            return moments
        kept = cells_and_edges(self.effect)[1]
        inside = slice(kept[0], kept[-1])
        return {k: m.take(inside).pool(kept[:-1] - kept[0]) for k, m in moments.items()}

    def evaluate(self, moments: Mapping[str, Moments], of: StatisticName) -> Floats:
        """Return the statistic, (m, R)."""
        slope, known = self.slopes(moments)
        differences = self.widths[:, None] * fill_unknown(slope, known)
        at_all_edges = cumulated(differences)
        start = at_all_edges if self.effect.spec.pointwise else at_all_edges[self.edge_index]
        if of == "bins":
            return self._of_bins(start, at_all_edges, slope, known)
        if of == "value":
            return self._values(start, at_all_edges, moments)
        return self.curve_std(at_all_edges if self.bends else start, moments)[None]

    @property
    def bends(self) -> bool:
        """Whether the curve follows the fine cells between the edges of its bins."""
        return not self.effect.spec.pointwise and linear_slope_bins(self.effect) is not None

    @property
    def edges(self) -> Floats:
        """The edges of the bins."""
        return self.cells.edges[self.edge_index]

    @property
    def widths(self) -> Floats:
        """The widths of the cells or bins that have slopes."""
        return self.cells.widths

    def slopes(self, moments: Mapping[str, Moments]) -> tuple[Floats, Bools]:
        """Return slopes, and a mask of the known ones: (P, R)."""
        local = moments[LOCAL]
        known, slope = local.weight > 0, local.mean
        gaps, own = list(self.cells.gaps), self.effect.moments.get(GAP)
        if gaps and own is not None:
            # The rows nearest to a gap are not kept: the rise across it is held at its estimate.
            known, slope = known.copy(), slope.copy()
            spec = self.effect.spec
            slope[gaps] = slopes_across_gaps(own, spec.ddof, spec.weight_kind)[0][:, None]
            known[gaps] = ~np.isnan(slope[gaps])
        return slope, known

    def curve_std(self, start: Floats, moments: Mapping[str, Moments]) -> Floats:
        """Return the standard deviation of the curve over the data, (R,)."""
        if self.bends:
            return curve_std(self.cells.widths, self.cells.edges[:-1], start, moments[AXIS])
        edges, axis = self.edges, moments[AXIS].pool(self.edge_index[:-1])
        return curve_std(np.diff(edges), edges[:-1], start, axis)

    def centre(self, start: Floats, at_all_edges: Floats, moments: Mapping[str, Moments]) -> Floats:
        """Return the mean over the data of the curve's mid-values in the bins (in the cells if it bends), (R,)."""
        local = moments[LOCAL]
        if not self.bends:
            local, at_all_edges = local.pool(self.edge_index[:-1]), start
        return (
            local.weight / total_of(local.weight) * (at_all_edges[:-1] + at_all_edges[1:]) / 2
        ).sum(axis=0)

    @property
    def _group(self) -> Ints:
        """The bin of each fine cell."""
        return np.repeat(np.arange(len(self.edge_index) - 1), np.diff(self.edge_index))

    def trend(self, moments: Mapping[str, Moments]) -> Floats:
        """Return the change of the slope per unit of the feature, (K, R), by least squares through the cells' means."""
        bent = self.effect.bins.slope_change != 0
        return line_trends(moments[LOCAL], moments[AXIS], self.edge_index, bent)[0]

    def _values(
        self, start: Floats, at_all_edges: Floats, moments: Mapping[str, Moments]
    ) -> Floats:
        weight = moments[LOCAL].pool(self.edge_index[:-1]).weight
        centred = self.effect.spec.center == "mean"
        value = start - self.centre(start, at_all_edges, moments) if centred else start
        present = weight > 0
        value = np.where(ale_math.between_known(present), value, np.nan)
        bins = self.effect.bins
        if centred:
            return value
        # Values relative to the left end are unknown in a replicate without rows in the first bin.
        own = self.effect.moments[LOCAL].weight
        first = int(np.argmax(~bins.empty)) if self.ends is None else int(np.argmax(own > 0))
        return np.where(np.argmax(present, axis=0) == first, value, np.nan)

    def _of_bins(self, start: Floats, at_all_edges: Floats, slope: Floats, known: Bools) -> Floats:
        if self.effect.spec.pointwise:
            return np.where(known, slope, np.nan)
        ends = self.edge_index if self.ends is None else self.ends
        start = start if self.ends is None else at_all_edges[ends]
        some = np.logical_or.reduceat(known, ends[:-1], axis=0)
        widths = np.diff(self.cells.edges[ends])[:, None]
        return np.where(some, np.diff(start, axis=0) / widths, np.nan)


@dataclass(frozen=True, eq=False)
class LinearSlopeStatistic(AccumulatedStatistic):
    """The accumulated effect of slopes that change linearly within some bins, in its fine cells."""

    value_moments = (LOCAL, AXIS)

    def own_moments(self) -> Mapping[str, Moments]:
        """Return the effect's own moments; the statistic's cells are those of the effect."""
        return self.effect.moments

    def drawn(
        self, own: Mapping[str, Moments], draws: MomentDraws, names: tuple[str, ...]
    ) -> dict[str, Moments]:
        """Return drawn moments; the local effects follow the drawn positions along the lines of their bins.

        With independent positions, the lines would be flattened, and their errors overestimated.
        """
        tilt, axis, local = self.tilt[:, None], own[AXIS], own[LOCAL]
        moved = draws.cells(axis)
        # Sums of squares about the lines.
        about = draws.cells(replace(local, m2=np.maximum(local.m2 - self.tilt**2 * axis.m2, 0.0)))
        mean = about.mean + tilt * (moved.mean - axis.mean[:, None])
        mean = np.where(about.count > 0, mean, 0.0)
        along = replace(about, mean=mean, m2=about.m2 + tilt**2 * moved.m2)
        return {AXIS: moved, LOCAL: along}

    @property
    def widths(self) -> Floats:
        """The widths of the bins."""
        return np.diff(self.edges)

    def slopes(self, moments: Mapping[str, Moments]) -> tuple[Floats, Bools]:
        """Return the slopes at the centres of the bins (least-squares lines), and a mask of the known ones: (K, R)."""
        first = self.edge_index[:-1]
        bins, axis = moments[LOCAL].pool(first), moments[AXIS].pool(first)
        middle = (self.edges[:-1] + self.edges[1:])[:, None] / 2
        return bins.mean + self.trend(moments) * (middle - axis.mean), bins.weight > 0

    def centre(self, start: Floats, at_all_edges: Floats, moments: Mapping[str, Moments]) -> Floats:
        """Return the weighted mean of the curve over the bins, (R,), with the parabola's deviation from its chord."""
        weight = moments[LOCAL].pool(self.edge_index[:-1]).weight
        below = self.trend(moments) * self.widths[:, None] ** 2 / 12
        return (weight / total_of(weight) * ((start[:-1] + start[1:]) / 2 - below)).sum(axis=0)

    def curve_std(self, start: Floats, moments: Mapping[str, Moments]) -> Floats:
        """Return the standard deviation of the curve over the data, with one linear piece per fine cell, (R,)."""
        group = self._group
        x = self.cells.edges[self.edge_index[0] : self.edge_index[-1] + 1]
        inside = np.append(group, group[-1])
        left, right = self.edges[inside][:, None], self.edges[inside + 1][:, None]
        fraction = (x[:, None] - left) / (right - left)
        curve = start[inside] * (1 - fraction) + start[inside + 1] * fraction
        curve += self.trend(moments)[inside] / 2 * (x[:, None] - left) * (x[:, None] - right)
        return curve_std(np.diff(x), x[:-1], curve, moments[AXIS])

    @property
    def tilt(self) -> Floats:
        """The change of the slope per unit of the feature, in the bin of each fine cell."""
        return self.effect.bins.slope_change[self._group]


def accumulated_statistic(effect: AccumulatedEffect) -> AccumulatedStatistic:
    """Return the statistic of a numeric feature's accumulated effect."""
    cells, kept = cells_and_edges(effect)
    if effect.spec.on_cells:
        return AccumulatedStatistic(effect, cells, np.arange(len(cells.edges)), kept)
    if not effect.spec.pointwise:
        return AccumulatedStatistic(effect, cells, kept)
    if linear_slope_bins(effect) is None:
        return AccumulatedStatistic(
            effect, Cells(cells.edges[kept], cells.closed), np.arange(len(kept))
        )
    return LinearSlopeStatistic(effect, cells, kept)


def linear_slope_bins(effect: AccumulatedEffect) -> Bools | None:
    """Return a mask of the bins in which the slope changes linearly, or None if there are none."""
    change = effect.bins.slope_change
    return change != 0 if np.any(change) else None


def cells_and_edges(effect: BinnedEffect) -> tuple[Cells, Ints]:
    """Return an effect's cells, and the indices of the bins' edges among the cells' edges."""
    cells = effect.cells
    if len(cells) == 0:
        return Cells(np.zeros(1)), np.zeros(1, dtype=np.int64)
    return cells, np.searchsorted(cells.edges, effect.bins.edges)


def moments_of_bins(effect: AnyMPlot) -> Mapping[str, Moments]:
    """Return the moments of an M-plot's bins or levels."""
    if isinstance(effect, LevelMeansEffect) or len(effect.cells) == 0:
        return effect.moments
    kept = np.searchsorted(effect.cells.edges, effect.bins.edges)
    return {k: m.pool(kept[:-1]) for k, m in effect.moments.items()}


def moments_of_means(effect: AnyMPlot) -> Mapping[str, Moments]:
    """Return the moments of an M-plot's points: of the bins that have rows, or of the levels."""
    bins = moments_of_bins(effect)
    if isinstance(effect, LevelMeansEffect):
        return bins
    some = np.flatnonzero(bins[LOCAL].weight > 0)
    return {k: m.take(some) for k, m in bins.items()}


def statistic_of(effect: Effect) -> MomentStatistic:
    """Return the statistic that computes an effect from its moments."""
    if isinstance(effect, MPlotEffect):
        return BinMeansStatistic(effect)
    if isinstance(effect, LevelMeansEffect):
        return LevelMeansStatistic(effect)
    if isinstance(effect, LevelStepsEffect):
        return CategoricalStatistic(effect, bin_codes(effect))
    if isinstance(effect, ValueStepsEffect):
        return ValueStepStatistic(effect)
    if isinstance(effect, AccumulatedEffect):
        return accumulated_statistic(effect)
    raise TypeError(f"{type(effect).__name__} is not computed from moments")
