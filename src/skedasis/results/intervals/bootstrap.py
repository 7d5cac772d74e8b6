"""Weighted bootstrap: effects for many vectors of row weights at once, from kept rows or from moments.

A replicate of the bootstrap is a vector of counts: how often each row was drawn. An effect follows from the moments of
its cells, so its replicates need the cells' moments for many counts, arrays of shape (cells, R). These come from the
kept rows by one sparse product (`FromRows`), or, if not all rows are kept, from random draws of the moments
(`FromMoments`). A *statistic* (`MomentStatistic`) computes the effect from the moments, whichever way they were
obtained: `CategoricalStatistic` for categorical features, `AccumulatedStatistic` and `LinearSlopeStatistic` for numeric
ones, `ValueStepStatistic` for curves of steps between values, `MPlotStatistic` for M-plots. PDP and ICE are weighted
means of curves (`MeanOfCurves`, `FromCurves`).

`replicate_source` chooses among these for an effect, `resampler` returns the effect as a function of counts, and
`bootstrap_with_rebinning` repeats the selection of bins in each replicate.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from skedasis import binning
from skedasis._types import Bools, Center, Floats, Ints
from skedasis.binning import Binning
from skedasis.errors import BinningWarning, DataError, UnsupportedError
from skedasis.results.build.accumulated import accumulated_effect, select_bins, variance_options
from skedasis.results.build.linear_form import AXIS, LOCAL
from skedasis.results.build.rebin import fine_cells
from skedasis.results.build.steps import BOTH, DOWN, UP, Steps
from skedasis.results.effect import Curves, Effect, Rows
from skedasis.stats.grid import Cells
from skedasis.stats.moments import Moments, WeightKind
from skedasis.stats.resampling import BootstrapDraws, bootstrap_rng, replicate

# ------------------------------------------------------------------------------------------
# Moments of cells for many vectors of row counts.


@dataclass(frozen=True, eq=False)
class CellRows:
    """Rows with their cells, from which moments of cells are computed by one sparse product for many replicates.

    Parameters
    ----------
    place : ndarray of int, shape (n,)
        Index of each row's cell; -1 for none.
    cells : int
    values : dict of str to ndarray of float, shape (n,)
    draws : BootstrapDraws
    """

    place: Ints
    cells: int
    values: dict[str, Floats]
    draws: BootstrapDraws

    def summed(self, names: tuple[str, ...], *, squares: bool) -> MomentSums:
        """Return the function from counts to moments of the named values."""
        inside = np.flatnonzero(self.place >= 0)
        order = inside[np.argsort(self.place[inside], kind="stable")]
        group = self.place[order]
        w = self.draws.weight
        row_weight = w[order] if w is not None and self.draws.kind == "sampling" else None
        ones = np.ones(len(order))
        parts = [ones] if row_weight is None else [ones, row_weight, row_weight**2]
        middle = {}
        for name in names:
            value = self.values[name][order]
            middle[name] = Moments.of(value, group, self.cells, row_weight).mean
            deviation = value - middle[name][group]
            first = deviation if row_weight is None else row_weight * deviation
            parts += [first, first * deviation] if squares else [first]
        ends = np.searchsorted(group, np.arange(self.cells + 1))
        matrix = sums_of(parts, order, ends, len(self.place))
        return MomentSums(middle, matrix, 1 if row_weight is None else 3, squares)


def sums_of(values: Sequence[Floats], order: Ints, ends: Ints, rows: int) -> Any:
    """Return the sparse matrix (cells * parts, rows) that sums several values of rows by cell.

    Parameters
    ----------
    values : sequence of ndarray of float, shape (n,)
        One array per part, for the rows in `order`.
    order : ndarray of int, shape (n,)
        Row indices, sorted by cell.
    ends : ndarray of int, shape (cells + 1,)
        First position of each cell in `order`, and the end of the last.
    rows : int

    Notes
    -----
    The parts of a cell are adjacent rows of the matrix, so that the counts of its rows stay in the cache.
    """
    from scipy.sparse import csr_array

    spans = [slice(a, b) for a, b in pairwise(ends)]
    parts = len(values)
    data = np.concatenate([np.zeros(0), *(v[s] for s in spans for v in values)])
    index = np.concatenate([np.zeros(0, np.int32), *(np.tile(order[s], parts) for s in spans)])
    ends = np.concatenate([[0], np.cumsum(np.repeat(np.diff(ends), parts))])
    shape = (parts * len(spans), rows)
    return csr_array((data, index.astype(np.int32), ends.astype(np.int32)), shape)


@dataclass(frozen=True, eq=False)
class MomentSums:
    """Function from counts of rows, (n, R), to moments of cells, (P, R).

    Parameters
    ----------
    middle : dict of str to ndarray, shape (P,)
        The cells' means. Deviations from these are summed, so that a large offset does not cost precision.
    matrix : csr_array, shape (P * parts, n)
        Sums counts; with sampling weights also weights and squared weights; then for each value the weighted deviations
        and their squares.
    sizes : int
        Number of parts that are counts or sums of weights: 1 or 3.
    squares : bool
        Whether squared deviations are summed.
    """

    middle: dict[str, Floats]
    matrix: Any
    sizes: int
    squares: bool

    def __call__(self, counts: Floats) -> dict[str, Moments]:
        """Return moments (P, R) from counts (n, R)."""
        counts = np.ascontiguousarray(counts, dtype=float)
        each = 2 if self.squares else 1
        parts = self.sizes + each * len(self.middle)
        sums = (self.matrix @ counts).reshape(-1, parts, counts.shape[1])
        count = sums[:, 0]
        weight, weight2 = (count, count) if self.sizes == 1 else (sums[:, 1], sums[:, 2])
        safe = np.where(weight > 0, weight, 1.0)
        found = {}
        for k, (name, middle) in enumerate(self.middle.items()):
            place = self.sizes + each * k
            deviation = sums[:, place] / safe
            m2 = np.zeros_like(weight)
            if self.squares:
                m2 = np.maximum(sums[:, place + 1] - safe * deviation**2, 0.0)
            mean = np.where(weight > 0, middle[:, None] + deviation, 0.0)
            found[name] = Moments(count, weight, weight2, mean, m2)
        return found


class ReweightedEffect(ABC):
    """An effect that can be computed for any counts of its rows."""

    draws: BootstrapDraws

    @abstractmethod
    def repeated(self, of: StatisticName) -> Any:
        """Return the function from counts (n, R) to the statistic (m, R)."""

    @property
    def weight(self) -> Floats:
        """The weights of the rows in the effect itself, (n,)."""
        w = self.draws.weight
        return np.ones(self.draws.rows) if w is None else w

    def value(self, counts: Floats) -> Floats:
        """Return the effect, (m,), for counts of the rows, (n,)."""
        return self.repeated("value")(np.asarray(counts, dtype=float)[:, None])[:, 0]


# ------------------------------------------------------------------------------------------
# Statistics of moments: categorical features, steps between values, M-plots.


StatisticName = Literal["value", "bins", "importance"]
"""The statistics of an effect that can be replicated."""


class MomentStatistic(Protocol):
    """A statistic: computes an effect from the moments of its cells, for R replicates at once."""

    @property
    def value_moments(self) -> tuple[str, ...]:
        """Names of the moments needed for values and bins."""
        ...

    @property
    def importance_moments(self) -> tuple[str, ...]:
        """Names of the moments needed for the importance."""
        ...

    def evaluate(self, moments: Mapping[str, Moments], of: StatisticName) -> Floats:
        """Return the statistic, (m, R); the importance as (1, R)."""
        ...


def needed_moments(statistic: MomentStatistic, of: StatisticName) -> tuple[tuple[str, ...], bool]:
    """Return the names of the needed moments, and whether sums of squares are needed."""
    return (
        (statistic.value_moments, False)
        if of in ("value", "bins")
        else (statistic.importance_moments, True)
    )


@dataclass(frozen=True, eq=False)
class CategoricalStatistic:
    """The accumulated effect of a categorical feature.

    Parameters
    ----------
    effect : Effect
    codes : ndarray of int, shape (K + 1,)
        Codes of the levels at which bins (groups of steps) begin and end.
    """

    effect: Effect
    codes: Ints

    value_moments = importance_moments = (UP, DOWN)

    @classmethod
    def of(cls, effect: Effect) -> CategoricalStatistic:
        """Return the statistic of an effect."""
        return cls(effect, bin_codes(effect))

    def evaluate(self, moments: Mapping[str, Moments], of: StatisticName) -> Floats:
        """Return the statistic, (m, R)."""
        steps = pooled_steps(moments)
        weight, present = moments[UP].weight, steps.weight > 0
        differences = fill_unknown(steps.mean, present)
        start = np.concatenate(
            [np.zeros((1, differences.shape[1])), np.cumsum(differences, axis=0)]
        )
        if of == "value":
            return self._values(start, weight, present)
        if of == "bins":
            length = np.diff(self.codes)[:, None]
            some = np.logical_or.reduceat(present, self.codes[:-1], axis=0)
            return np.where(some, np.diff(start[self.codes], axis=0) / length, np.nan)
        fraction = weight / total_of(weight)
        return np.sqrt((fraction * (start - (fraction * start).sum(axis=0)) ** 2).sum(axis=0))[None]

    def _values(self, start: Floats, weight: Floats, present: Bools) -> Floats:
        centred = self.effect.spec.center == "mean"
        value = start - (weight * start).sum(axis=0) / total_of(weight) if centred else start
        value = np.where(between_known(present), value, np.nan)
        return value if centred else np.where(present[0], value, np.nan)


@dataclass(frozen=True, eq=False)
class ValueStepStatistic:
    """The accumulated effect of a numeric feature whose curve is made of steps between its values.

    Parameters
    ----------
    effect : Effect
    values : ndarray of float, shape (L,)
    """

    effect: Effect
    values: Floats

    value_moments = importance_moments = (UP, DOWN)

    def evaluate(self, moments: Mapping[str, Moments], of: StatisticName) -> Floats:
        """Return the statistic, (m, R)."""
        steps = Steps.of(moments, self.values)
        differences = self.filled_steps(steps)
        start = np.concatenate(
            [np.zeros((1, differences.shape[1])), np.cumsum(differences, axis=0)]
        )
        if of == "bins":
            bins = self.effect.bins
            if bins is None:
                return start[:0]
            ends = self._at(bins.edges) @ start
            return np.diff(ends, axis=0) / bins.widths[:, None]
        edges = np.asarray(self.effect.points, dtype=float)
        curve = self._at(edges) @ start
        fraction = steps.up.weight / total_of(steps.up.weight)
        at_values = interpolation_matrix(edges, self.values) @ curve + self._bulge()
        level = (fraction * at_values).sum(axis=0)
        if of == "importance":
            return np.sqrt((fraction * (at_values - level) ** 2).sum(axis=0))[None]
        centred = self.effect.spec.center == "mean"
        present = between_known(steps.known)
        # Edges are at values, or between two values that are both known or both unknown.
        known = self._at(edges) @ present >= 1 - 1e-9
        value = np.where(known, curve - level if centred else curve, np.nan)
        return value if centred else np.where(steps.known[0], value, np.nan)

    def filled_steps(self, steps: Steps) -> Floats:
        """Return the mean steps, (L - 1, R). Unknown ones get the mean slope of the nearest known ones."""
        widths = np.diff(self.values)[:, None]
        return fill_unknown(steps.mean / widths, steps.known) * widths

    def _bulge(self) -> Floats:
        """Return the curve minus its chords between the bins' edges, (L, 1), which is the same in all replicates."""
        bins = self.effect.bins
        if bins is None or len(bins) == 0:
            return np.zeros((len(self.values), 1))
        return bins.quadratic_term(self.values)[:, None]

    def _at(self, edges: Floats) -> Any:
        """Return the matrix from the curve at the values to the curve at edges."""
        return interpolation_matrix(self.values, edges)


def interpolation_matrix(corners: Floats, x: Floats) -> Any:
    """Return the sparse matrix of linear interpolation from corners to x, constant beyond the first and last corner."""
    from scipy.sparse import csr_array

    place = np.clip(np.searchsorted(corners, x, side="right") - 1, 0, len(corners) - 2)
    part = np.clip((x - corners[place]) / (corners[place + 1] - corners[place]), 0.0, 1.0)
    row = np.tile(np.arange(len(x)), 2)
    entries = np.concatenate([1 - part, part])
    columns = np.concatenate([place, place + 1])
    return csr_array((entries, (row, columns)), (len(x), len(corners)))


@dataclass(frozen=True, eq=False)
class MPlotStatistic:
    """An M-plot: means of the quantity in bins or at levels.

    Parameters
    ----------
    center : {"mean", "start", None}
    shown : ndarray of int, shape (m,)
        Indices of the cells that have a value.
    effect : Effect
    """

    center: Center | str
    shown: Ints
    effect: Effect

    value_moments = importance_moments = (LOCAL,)

    @classmethod
    def of(cls, effect: Effect) -> MPlotStatistic:
        """Return the statistic of an effect."""
        shown = np.arange(len(effect.points))
        if effect.bins is not None and effect.cells is not None and len(effect.cells):
            shown = np.flatnonzero(~effect.bins.empty)
        return cls(effect.spec.center, shown, effect)

    def evaluate(self, moments: Mapping[str, Moments], of: StatisticName) -> Floats:
        """Return the statistic, (m, R)."""
        local = moments[LOCAL]
        present = local.weight > 0
        fraction = local.weight / total_of(local.weight)
        level = (fraction * local.mean).sum(axis=0)
        if of == "value":
            value = local.mean - level if self.center == "mean" else local.mean
            return np.where(present, value, np.nan)[self.shown]
        if of == "bins":
            return np.where(present, local.mean, np.nan)
        return np.sqrt((fraction * (local.mean - level) ** 2).sum(axis=0))[None]


def bin_codes(effect: Effect) -> Ints:
    """Return the codes of the levels at which bins (groups of steps) begin and end, (K + 1,)."""
    levels, stats = effect.levels, effect.bins
    if levels is None or stats is None or len(stats) == 0:
        return np.zeros(1, dtype=np.int64)
    return np.append(levels.codes(stats.low), len(levels) - 1)


def pooled_steps(moments: Mapping[str, Moments]) -> Moments:
    """Return the moments of the steps between levels, pooled over both levels."""
    return Steps.of({**moments, "both": moments[UP]}).pooled


def fill_unknown(slope: Floats, known: Bools) -> Floats:
    """Fill unknown slopes by the mean of the nearest known ones on both sides, and by zero outside the known ones.

    Parameters
    ----------
    slope, known : ndarray, shape (P, R)
    """
    if known.all():
        return slope
    size, place = len(slope), np.arange(len(slope))[:, None]
    before = np.maximum.accumulate(np.where(known, place, -1), axis=0)
    after = np.minimum.accumulate(np.where(known, place, size)[::-1], axis=0)[::-1]
    between = (before >= 0) & (after < size)
    left = np.take_along_axis(slope, np.maximum(before, 0), axis=0)
    right = np.take_along_axis(slope, np.minimum(after, size - 1), axis=0)
    return np.where(known, slope, np.where(between, (left + right) / 2, 0.0))


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


def between_known(present: Bools) -> Bools:
    """Return a mask of the edges or levels between the first and the last known cell or step, (P + 1, R)."""
    edge = np.arange(len(present) + 1)[:, None]
    first = np.argmax(present, axis=0)
    last = len(present) - 1 - np.argmax(present[::-1], axis=0)
    return (edge >= first) & (edge <= last + 1) & present.any(axis=0)


# ------------------------------------------------------------------------------------------
# Statistics of moments: accumulated effects of numeric features.


@dataclass(frozen=True, eq=False)
class AccumulatedStatistic:
    """The accumulated effect of a numeric feature.

    Parameters
    ----------
    effect : Effect
    cells : Cells
        The bins if local effects are slopes, else the cells across which differences were computed.
    edge_index : ndarray of int, shape (m,)
        Indices, among the cells' edges, of the edges at which the curve has values: those of the bins, or all edges for
        step functions.
    ends : ndarray of int, shape (K + 1,), optional
        Indices of the bins' edges, if these differ from `edge_index`.
    """

    effect: Effect
    cells: Cells
    edge_index: Ints
    ends: Ints | None = None

    value_moments = (LOCAL,)
    importance_moments = (LOCAL, AXIS)

    def reduced(self, moments: Mapping[str, Moments]) -> dict[str, Moments]:
        """Return the effect's own moments, pooled to the statistic's cells."""
        if not self.effect.spec.pointwise:
            return dict(moments)
        kept = cells_and_edges(self.effect)[1]
        inside = slice(kept[0], kept[-1])
        return {k: m.take(inside).pool(kept[:-1] - kept[0]) for k, m in moments.items()}

    def evaluate(self, moments: Mapping[str, Moments], of: StatisticName) -> Floats:
        """Return the statistic, (m, R)."""
        slope, known = self.slopes(moments)
        differences = self.widths[:, None] * fill_unknown(slope, known)
        at_all_edges = np.concatenate(
            [np.zeros((1, differences.shape[1])), np.cumsum(differences, axis=0)]
        )
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

    def _values(
        self, start: Floats, at_all_edges: Floats, moments: Mapping[str, Moments]
    ) -> Floats:
        weight = moments[LOCAL].pool(self.edge_index[:-1]).weight
        centred = self.effect.spec.center == "mean"
        value = start - self.centre(start, at_all_edges, moments) if centred else start
        present = weight > 0
        value = np.where(between_known(present), value, np.nan)
        bins = self.effect.bins
        if self.effect.spec.center == "mean" or bins is None:
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
    """The accumulated effect of slopes that change linearly within some bins, in its fine cells.

    Parameters
    ----------
    bent : ndarray of bool, shape (K,)
        Mask of the bins in which the slope changes linearly.
    """

    bent: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))

    value_moments = (LOCAL, AXIS)

    def reduced(self, moments: Mapping[str, Moments]) -> dict[str, Moments]:
        """Return the effect's own moments, pooled to the statistic's cells."""
        return dict(moments)

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
        bins = self.effect.bins
        return np.zeros(0) if bins is None else bins.slope_change[self._group]

    @property
    def _group(self) -> Ints:
        """The bin of each fine cell."""
        return np.repeat(np.arange(len(self.edge_index) - 1), np.diff(self.edge_index))

    def trend(self, moments: Mapping[str, Moments]) -> Floats:
        """Return the change of the slope per unit of the feature, (K, R), by least squares through the cells' means."""
        local, axis, first, group = moments[LOCAL], moments[AXIS], self.edge_index[:-1], self._group
        axis_deviation = np.where(axis.weight > 0, axis.mean - axis.pool(first).mean[group], 0.0)
        effect_deviation = np.where(
            local.weight > 0, local.mean - local.pool(first).mean[group], 0.0
        )
        axis_square = np.add.reduceat(local.weight * axis_deviation**2, first)
        product = np.add.reduceat(local.weight * axis_deviation * effect_deviation, first)
        present = self.bent[:, None] & (axis_square > 0)
        return np.where(present, product / np.where(present, axis_square, 1.0), 0.0)


def accumulated_statistic(effect: Effect) -> AccumulatedStatistic:
    """Return the statistic of a numeric feature's accumulated effect."""
    cells, kept = cells_and_edges(effect)
    if effect.spec.on_cells:
        return AccumulatedStatistic(effect, cells, np.arange(len(cells.edges)), kept)
    if not effect.spec.pointwise:
        return AccumulatedStatistic(effect, cells, kept)
    bent = linear_slope_bins(effect)
    if bent is None:
        return AccumulatedStatistic(
            effect, Cells(cells.edges[kept], cells.closed), np.arange(len(kept))
        )
    return LinearSlopeStatistic(effect, cells, kept, bent=bent)


def linear_slope_bins(effect: Effect) -> Bools | None:
    """Return a mask of the bins in which the slope changes linearly, or None if there are none."""
    if effect.bins is None or not np.any(effect.bins.slope_change):
        return None
    return effect.bins.slope_change != 0


def cells_and_edges(effect: Effect) -> tuple[Cells, Ints]:
    """Return an effect's cells, and the indices of the bins' edges among the cells' edges."""
    cells, stats = effect.cells, effect.bins
    if cells is None or stats is None or len(cells) == 0:
        return Cells(np.zeros(1)), np.zeros(1, dtype=np.int64)
    return cells, np.searchsorted(cells.edges, stats.edges)


# ------------------------------------------------------------------------------------------
# PDP and ICE: weighted means of curves.


@dataclass(frozen=True, eq=False)
class MeanOfCurves(ReweightedEffect):
    """The weighted mean of ICE curves, for numeric and categorical features; curves may be centred, or slopes.

    Parameters
    ----------
    effect : Effect
    curves : Curves
    draws : BootstrapDraws
    """

    effect: Effect
    curves: Curves
    draws: BootstrapDraws

    def repeated(self, of: StatisticName) -> Any:
        """Return the function from counts (n, R) to the statistic (m, R)."""
        w = self.draws.weight
        row_weight = w if w is not None and self.draws.kind == "sampling" else None
        base = np.ones(len(self.curves)) if w is None else w
        shown = self.curves.value
        middle = (base / base.sum()) @ shown
        reads = {"value": self._value, "importance": self._importance}

        def value(counts: Floats) -> Floats:
            counts = counts if row_weight is None else row_weight[:, None] * counts
            fraction = counts / counts.sum(axis=0)
            # Differences of weights sum to zero, so a common offset of all curves does not cost precision.
            mean = middle[:, None] + shown.T @ (fraction - (base / base.sum())[:, None])
            return reads[of](mean, counts)

        return value

    def _value(self, mean: Floats, counts: Floats) -> Floats:
        return mean

    def _importance(self, mean: Floats, counts: Floats) -> Floats:
        e, x = self.effect, self.curves.x
        known = ~np.isnan(x)
        if e.levels is not None:
            axis = _sum_counts(x[known].astype(np.int64), len(e.levels), counts[known])
            fraction = axis / axis.sum(axis=0)
            return np.sqrt((fraction * (mean - (fraction * mean).sum(axis=0)) ** 2).sum(axis=0))[
                None
            ]
        grid = np.asarray(e.points, dtype=float)
        # Beyond the grid the curve is constant: two more pieces with slope zero.
        place = np.searchsorted(grid, x[known], side="right")
        columns = CellRows(
            place, len(grid) + 1, {AXIS: x[known]}, BootstrapDraws(None, "frequency", len(x))
        )
        axis = columns.summed((AXIS,), squares=True)(counts[known])[AXIS]
        curve = np.concatenate([mean[:1], mean, mean[-1:]])
        left = np.concatenate([grid[:1] - 1, grid])
        return curve_std(np.diff(np.append(left, grid[-1] + 1)), left, curve, axis)[None]


def _sum_counts(place: Ints, cells: int, counts: Floats) -> Floats:
    """Return the sums of the counts in each cell, (cells, R)."""
    order = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[order], np.arange(cells + 1))
    return sums_of([np.ones(len(order))], order, ends, len(place)) @ counts


# ------------------------------------------------------------------------------------------
# Draws from moments, for results that keep only some of the rows.


_MOST_NUMBERS = 1_000_000
"""Largest number of cells times replicates that are drawn at once."""


@dataclass(frozen=True, eq=False)
class FromMoments:
    """An effect whose replicates are drawn from the moments of its cells.

    Parameters
    ----------
    statistic : MomentStatistic
    moments : mapping of str to Moments
        Moments of the statistic's cells.
    kind : {"frequency", "sampling"}

    Notes
    -----
    Counts of rows per cell are multinomial, as in a bootstrap of rows. The mean of a cell is normal around the observed
    one, with the cell's variance (with divisor n, as in a bootstrap) divided by the drawn number of rows. The sum of
    squares is chi-squared. This equals a bootstrap of rows up to the shape of the distribution within a cell, which
    matters in cells with few rows. The steps down and up of a level are drawn jointly, with their covariance. Moments
    of the feature are independent of those of the local effects, except in bins whose slope changes linearly: there the
    local effects follow the drawn positions along the line. Sampling weights are assumed independent of both.
    """

    statistic: MomentStatistic
    moments: Mapping[str, Moments]
    kind: WeightKind

    def replicates(self, of: StatisticName, replicates: int, seed: int) -> Floats:
        """Return replicates of the statistic, (R, m)."""
        rng = bootstrap_rng(seed)
        names, squares = needed_moments(self.statistic, of)
        cells = len(self.moments[names[0]].weight)
        step = max(1, _MOST_NUMBERS // max(cells, 1))
        parts = [
            self.statistic.evaluate(
                self.drawn(rng, min(step, replicates - first), names, squares=squares), of
            ).T
            for first in range(0, replicates, step)
        ]
        return np.concatenate(parts)

    def drawn(
        self, rng: np.random.Generator, replicates: int, names: tuple[str, ...], *, squares: bool
    ) -> dict[str, Moments]:
        """Return drawn moments, (P, R)."""
        sizes = _draw_sizes(self.moments[names[0]], rng, replicates, self.kind)
        if isinstance(self.statistic, (CategoricalStatistic, ValueStepStatistic)):
            return _draw_steps(self.moments, sizes, rng, self.kind, squares=squares)
        own = self.moments
        if isinstance(self.statistic, LinearSlopeStatistic):
            axis = _draw_cells(own[AXIS], sizes, rng, self.kind, squares=squares)
            about = _about_lines(own, self.statistic.tilt)
            local = _draw_cells(about, sizes, rng, self.kind, squares=squares)
            return {AXIS: axis, LOCAL: _along_lines(local, self.statistic.tilt, axis, own[AXIS])}
        return {
            name: _draw_cells(own[name], sizes, rng, self.kind, squares=squares) for name in names
        }


def _draw_sizes(
    own: Moments, rng: np.random.Generator, replicates: int, kind: WeightKind
) -> tuple[Floats, Floats, Floats]:
    """Return drawn counts, weights and sums of squared weights of the cells, (P, R)."""
    of = own.weight if kind == "frequency" else own.count
    total = max(1, round(float(of.sum())))
    count = rng.multinomial(total, of / of.sum(), size=replicates).T.astype(float)
    if kind == "frequency":
        return count, count, count
    rows = np.where(own.count > 0, own.count, 1.0)[:, None]
    mean, square = own.weight[:, None] / rows, own.weight2[:, None] / rows
    std = np.sqrt(count * np.maximum(square - mean**2, 0.0))
    weight = count * mean + std * rng.standard_normal(count.shape)
    # A normal draw may be too small or negative; half the mean weight is a lower limit that is rarely reached.
    weight = np.maximum(weight, count * mean / 2)
    return count, weight, count * square


def _draw_cells(
    own: Moments,
    sizes: tuple[Floats, Floats, Floats],
    rng: np.random.Generator,
    kind: WeightKind,
    *,
    squares: bool,
) -> Moments:
    """Return drawn means, and sums of squares if `squares`."""
    count, weight, weight2 = sizes
    variance = _variance(own.m2, own)[:, None]
    drawn = Moments(count, weight, weight2, weight, weight)
    size = np.where(count > 0, drawn.effective_size(kind), 1.0)
    mean = own.mean[:, None] + np.sqrt(variance / size) * rng.standard_normal(count.shape)
    m2 = np.zeros_like(mean)
    if squares:
        free = np.maximum(drawn.effective_size(kind) - 1.0, 0.0)
        m2 = variance * weight / size * 2 * rng.standard_gamma(free / 2)
    return Moments(count, weight, weight2, np.where(count > 0, mean, 0.0), m2)


def _about_lines(moments: Mapping[str, Moments], tilt: Floats) -> Moments:
    """Return the moments of local effects with sums of squares about the lines of their bins."""
    local, axis = moments[LOCAL], moments[AXIS]
    return replace(local, m2=np.maximum(local.m2 - tilt**2 * axis.m2, 0.0))


def _along_lines(about: Moments, tilt: Floats, drawn: Moments, own: Moments) -> Moments:
    """Return local effects, (P, R), moved along the lines of their bins to the drawn positions.

    With independent positions, the lines would be flattened, and their errors overestimated.
    """
    deviation = tilt[:, None] * (drawn.mean - own.mean[:, None])
    mean = np.where(about.count > 0, about.mean + deviation, 0.0)
    return replace(about, mean=mean, m2=about.m2 + tilt[:, None] ** 2 * drawn.m2)


def _variance(m2: Floats, own: Moments) -> Floats:
    """Return variances with divisor n: the variance of resampled rows."""
    return m2 / np.where(own.weight > 0, own.weight, 1.0)


def _draw_steps(
    moments: Mapping[str, Moments],
    sizes: tuple[Floats, Floats, Floats],
    rng: np.random.Generator,
    kind: WeightKind,
    *,
    squares: bool,
) -> dict[str, Moments]:
    """Return drawn moments of both steps of each level, with their covariance."""
    down, up, both = moments[DOWN], moments[UP], moments[BOTH]
    count, weight, weight2 = sizes
    at_down, at_up = _variance(down.m2, up), _variance(up.m2, up)
    product = _variance((both.m2 - down.m2 - up.m2) / 2, up)
    product[0] = product[-1] = 0.0  # one of the two steps does not exist
    root = np.sqrt(at_down)
    slope = np.where(root > 0, product / np.where(root > 0, root, 1.0), 0.0)
    rest = np.sqrt(np.maximum(at_up - slope**2, 0.0))
    plain = Moments(count, weight, weight2, weight, weight)
    size = np.where(count > 0, plain.effective_size(kind), 1.0)
    one, two = rng.standard_normal((2, *count.shape)) / np.sqrt(size)
    means = {
        DOWN: down.mean[:, None] + root[:, None] * one,
        UP: up.mean[:, None] + slope[:, None] * one + rest[:, None] * two,
    }
    free = np.maximum(plain.effective_size(kind) - 1.0, 0.0)
    found = {}
    for name, variance in ((DOWN, at_down), (UP, at_up)):
        m2 = np.zeros_like(weight)
        if squares:
            m2 = variance[:, None] * weight / size * 2 * rng.standard_gamma(free / 2)
        mean = np.where(count > 0, means[name], 0.0)
        found[name] = Moments(count, weight, weight2, mean, m2)
    return found


@dataclass(frozen=True, eq=False)
class FromCurves:
    """A partial dependence with a sample of its curves.

    Parameters
    ----------
    effect : Effect
    curves : Curves

    Notes
    -----
    Replicates are normal around the effect, with its standard errors, and with the sample curves' correlation between
    points.
    """

    effect: Effect
    curves: Curves

    least: ClassVar[int] = 30
    """Smallest number of curves for a correlation between points."""

    def replicates(self, of: StatisticName, replicates: int, seed: int) -> Floats:
        """Return replicates of the statistic, (R, m)."""
        if of != "value":
            raise UnsupportedError(
                f"bootstrap of the {of} of {self.effect.spec.method}",
                "a result that keeps a part of the curves",
                "all curves",
                "Explain with a larger keep=, for PDP with ice='all'",
            )
        e, rng = self.effect, bootstrap_rng(seed)
        factor = correlation_factor(self.curves)
        z = rng.standard_normal((replicates, factor.shape[1])) @ factor.T
        shrunk = np.sqrt(e.df / (e.df + 1.0))  # a bootstrap's variance divides by n
        return e.value + z * shrunk * e.std_error


def correlation_factor(curves: Curves) -> Floats:
    """Return F (m, r) such that F F' is the correlation between the points of curves; zeros for constant points."""
    w = np.ones(len(curves)) if curves.weight is None else curves.weight
    deviation = curves.value - (w / w.sum()) @ curves.value
    scale = np.abs(deviation).max(axis=0, initial=0.0)
    deviation = deviation / np.where(scale > 0, scale, 1.0) * np.sqrt(w)[:, None]
    factor = deviation.T
    if len(deviation) > deviation.shape[1]:
        roots, vectors = np.linalg.eigh(deviation.T @ deviation)
        factor = vectors * np.sqrt(np.maximum(roots, 0.0))
    norm = np.sqrt((factor**2).sum(axis=1))
    return factor / np.where(norm > 0, norm, 1.0)[:, None]


# ------------------------------------------------------------------------------------------
# Choice of the source: kept rows, or moments.


SourceName = Literal["rows", "moments"]


@dataclass(frozen=True, eq=False)
class FromRows(ReweightedEffect):
    """An effect whose replicates are computed from its kept rows.

    Parameters
    ----------
    statistic : MomentStatistic
    columns : CellRows
    draws : BootstrapDraws
    """

    statistic: MomentStatistic
    columns: CellRows
    draws: BootstrapDraws

    def repeated(self, of: StatisticName) -> Any:
        """Return the function from counts (n, R) to the statistic (m, R)."""
        names, squares = needed_moments(self.statistic, of)
        summed = self.columns.summed(names, squares=squares)
        return lambda counts: self.statistic.evaluate(summed(counts), of)


@dataclass(frozen=True, eq=False)
class ConstantEffect(ReweightedEffect):
    """The effect of a feature with one value, which does not depend on the rows."""

    confidence_level: Floats
    draws: BootstrapDraws

    def repeated(self, of: StatisticName) -> Any:
        """Return the function from counts (n, R) to the statistic (m, R)."""
        value = self.confidence_level if of == "value" else np.zeros(0 if of == "bins" else 1)
        return lambda counts: np.repeat(value[:, None], counts.shape[1], axis=1)


ReplicateSource = FromRows | MeanOfCurves | ConstantEffect | FromMoments | FromCurves


def replicate_source(effect: Effect, wanted: SourceName | None = None) -> ReplicateSource:
    """Return the source of an effect's bootstrap replicates.

    Parameters
    ----------
    effect : Effect
    wanted : {"rows", "moments"}, optional
        By default rows if all are kept, else moments.

    Raises
    ------
    DataError
        For another source.
    UnsupportedError
        If rows are requested but not all are kept; for moments of PDP and ICE with fewer than 30 curves.
    """
    if wanted not in (None, "rows", "moments"):
        raise DataError(
            "interval(source)",
            repr(wanted),
            "'rows', 'moments' or None",
            "Use None to choose automatically",
        )
    if effect.spec.local_effects == "none":
        return _curve_source(effect, wanted)
    if _is_fixed(effect):
        rows = 1 if effect.rows is None else max(len(effect.rows), 1)
        return ConstantEffect(effect.value, BootstrapDraws(None, "frequency", rows))
    kept = effect.rows
    if kept is not None and kept.exact and wanted != "moments" and kept.effect is not None:
        return _row_source(effect, kept, kept.effect)
    if wanted == "rows":
        raise _not_kept(effect, "remove source=")
    statistic = _statistic_of(effect)
    moments = (
        statistic.reduced(effect.moments)
        if isinstance(statistic, AccumulatedStatistic)
        else effect.moments
    )
    if isinstance(statistic, MPlotStatistic) and effect.levels is None:
        moments = moments_of_bins(effect)
    return FromMoments(statistic, moments, effect.spec.weight_kind)


def resampler(effect: Effect) -> FromRows | MeanOfCurves | ConstantEffect:
    """Return an effect as a function of the counts of its rows, with fixed bins, grid or levels.

    Raises
    ------
    UnsupportedError
        If not all rows or curves are kept.

    Notes
    -----
    Needs no model rows. A draw may have no rows in some bin or level. Values that are then unknown are NaN in that
    draw, and the interval is computed from the other draws:

    - in an M-plot, the value of that bin or level;
    - in an accumulated effect, values outside the first and last bins with rows; for levels, outside the first and last
      steps with rows (a step has rows unless both of its levels have none). Bins without rows in between are bridged
      like bins that are empty in the data. An effect that starts at zero on the left is unknown in a draw without rows
      in its first bin or step.

    With few rows, bootstrap intervals are too narrow, and a bin with a single row has no variance in it. See
    `BinStats.trusted` and `LevelStats.count`.
    """
    found = replicate_source(effect, None if effect.spec.local_effects != "none" else "rows")
    if isinstance(found, (FromMoments, FromCurves)):
        raise _not_kept(effect, "use interval(method='bootstrap'), which can draw from moments")
    return found


def _not_kept(effect: Effect, otherwise: str) -> UnsupportedError:
    return UnsupportedError(
        f"bootstrap of {effect.spec.method}",
        "a result that keeps a part of the rows",
        "all rows",
        f"Explain with a larger keep=, for PDP with ice='all'; or {otherwise}",
    )


def _is_fixed(effect: Effect) -> bool:
    """Return whether the effect is zero for any rows: for a constant feature, or a single level."""
    if effect.spec.local_effects == "values":
        return False
    constant = effect.cells is not None and len(effect.cells) == 0
    return constant or len(effect.points) < 2


def _statistic_of(effect: Effect) -> MomentStatistic:
    if effect.spec.local_effects == "values":
        return MPlotStatistic.of(effect)
    if effect.levels is not None:
        return CategoricalStatistic.of(effect)
    return (
        accumulated_statistic(effect)
        if effect.values is None
        else ValueStepStatistic(effect, effect.values)
    )


def _draws(effect: Effect, kept: Rows | Curves) -> BootstrapDraws:
    return BootstrapDraws(kept.weight, effect.spec.weight_kind, len(kept))


def _row_source(effect: Effect, rows: Rows, local: Floats) -> FromRows:
    """Return the source of replicates from the rows of an effect."""
    statistic, draws = _statistic_of(effect), _draws(effect, rows)
    if isinstance(statistic, (CategoricalStatistic, ValueStepStatistic)):
        known = np.nan_to_num(
            local
        )  # there is no step before the first level or value, nor after the last
        values = {DOWN: known[:, 0], UP: known[:, 1]}
        if isinstance(statistic, ValueStepStatistic):
            place, size = np.searchsorted(statistic.values, rows.x), len(statistic.values)
        else:
            place, size = rows.x.astype(np.int64), len(effect.points)
        return FromRows(statistic, CellRows(place, size, values, draws), draws)
    values = {LOCAL: local, AXIS: rows.x}
    if isinstance(statistic, AccumulatedStatistic):
        # After `rebin` to a narrower range, a result still has all its rows; some are in no cell.
        place = statistic.cells.locate(rows.x)
        return FromRows(statistic, CellRows(place, len(statistic.cells), values, draws), draws)
    place, size = np.zeros(len(rows), dtype=np.int64), len(effect.points)
    if effect.levels is not None:
        place = rows.x.astype(np.int64)
    elif effect.bins is not None and effect.cells is not None and len(effect.cells):
        place, size = Cells(effect.bins.edges, effect.cells.closed).locate(rows.x), len(effect.bins)
    return FromRows(statistic, CellRows(place, size, values, draws), draws)


def moments_of_bins(effect: Effect) -> Mapping[str, Moments]:
    """Return the moments of an M-plot's bins."""
    cells, stats = effect.cells, effect.bins
    if cells is None or stats is None or len(cells) == 0:
        return effect.moments
    kept = np.searchsorted(cells.edges, stats.edges)
    return {k: m.pool(kept[:-1]) for k, m in effect.moments.items()}


def _curve_source(effect: Effect, wanted: SourceName | None) -> MeanOfCurves | FromCurves:
    curves = effect.curves
    if curves is not None and curves.exact and wanted != "moments":
        return MeanOfCurves(effect, curves, _draws(effect, curves))
    if wanted == "rows" or curves is None or len(curves) < FromCurves.least:
        raise _not_kept(effect, "use method='analytic'")
    return FromCurves(effect, curves)


# ------------------------------------------------------------------------------------------
# Bootstrap that repeats the selection of bins in each replicate.


def scheme_of(effect: Effect) -> Binning:
    """Return the binning scheme that chose an effect's bins.

    Raises
    ------
    UnsupportedError
        If the bins were not chosen from local effects.
    """
    described: Any = effect.spec.parameters.get("bins")
    cells = effect.cells
    if effect.spec.on_cells or effect.values is not None:
        raise UnsupportedError(
            f"interval(bins='chosen') of {effect.spec.method}",
            "a curve of differences, which does not depend on the bins",
            "an effect computed from slopes",
            "Use bins='fixed'",
        )
    if isinstance(described, dict) and cells is not None and len(cells) and effect.levels is None:
        kind = getattr(binning, str(described.get("scheme")), None)
        settings = {k: v for k, v in described.items() if k != "scheme"}
        if kind is not None and kind.choose is not Binning.choose:
            return kind(**settings)
    got = "levels" if effect.levels is not None else "bins that are not chosen by local effects"
    raise UnsupportedError(
        f"interval(bins='chosen') of {effect.spec.method}",
        got,
        "a numeric feature and bins by Optimal, Greedy or AutoUniform",
        "Use bins='fixed'",
    )


def bootstrap_with_rebinning(effect: Effect, replicates: int, seed: int) -> Floats:
    """Return replicates of the effect at its points, (R, m), with bins chosen separately in each replicate.

    Notes
    -----
    Candidate edges are fixed. Edges that the penalized likelihood moved to a row are not moved again. Between the edges
    of a replicate, its curve is interpolated as for any effect with these bins. Cost: one selection of bins per
    replicate.
    """
    scheme, cells = scheme_of(effect), effect.cells
    if cells is None:
        return np.zeros((replicates, 0))
    cells, places = fine_cells(effect, cells, scheme)
    parts = slice(int(places[0]), int(places[-1]))
    own = {k: m.take(parts) for k, m in effect.moments.items()}
    cells, places = Cells(cells.edges[places[0] : places[-1] + 1], cells.closed), places - places[0]
    rows, largest = effect.rows, 0.0
    if rows is not None and rows.local is not None:
        largest = float(np.abs(rows.local).max(initial=0.0))
    read = _RebinnedEffect(effect, scheme, cells, places, largest, own)
    names = (LOCAL, AXIS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BinningWarning)
        if rows is not None and rows.exact and rows.effect is not None:
            draws = BootstrapDraws(rows.weight, effect.spec.weight_kind, len(rows))
            values = {LOCAL: rows.effect, AXIS: rows.x}
            columns = CellRows(cells.locate(rows.x), len(cells), values, draws)
            summed = columns.summed(names, squares=True)
            return replicate(draws, [lambda counts: read(summed(counts))], replicates, seed)[0]
        statistic = AccumulatedStatistic(effect, cells, places)
        source = FromMoments(statistic, own, effect.spec.weight_kind)
        rng, parts_ = bootstrap_rng(seed), []
        for first in range(0, replicates, 100):
            drawn = source.drawn(rng, min(100, replicates - first), names, squares=True)
            parts_.append(read(drawn).T)
        return np.concatenate(parts_)


class _RebinnedEffect:
    """Function from moments of fine cells, (P, R), to the effect at its points, (m, R), with newly chosen bins."""

    def __init__(
        self,
        effect: Effect,
        scheme: Binning,
        cells: Cells,
        places: Any,
        largest: float,
        own: dict[str, Moments],
    ) -> None:
        self.effect, self.scheme, self.cells = effect, scheme, cells
        self.places, self.largest, self.own = places, largest, own

    def __call__(self, moments: dict[str, Moments]) -> Floats:
        count = moments[LOCAL].weight.shape[1]
        columns = [self._one({k: _column(m, r) for k, m in moments.items()}) for r in range(count)]
        return np.stack(columns, axis=1)

    def _one(self, moments: dict[str, Moments]) -> Floats:
        e, options = self.effect, variance_options(self.effect.spec, self.largest)
        found = select_bins(self.scheme, self.cells, moments, e.spec, options, planned=self.places)
        if e.spec.local_effects == "values":
            bins = moments[LOCAL].pool(found.kept[:-1])
            return self._means(bins, self.cells.merge(found.kept))
        curve = accumulated_effect(
            self.cells, moments, found.kept, e.spec, e.about, None, found.trend
        )
        return curve.at(e.points)

    def _means(self, bins: Moments, cells: Cells) -> Floats:
        """Return the mean of the bin of each of the effect's points."""
        value = np.where(bins.weight > 0, bins.mean, np.nan)
        if self.effect.spec.center == "mean":
            value = value - np.average(bins.mean, weights=bins.weight)
        place = cells.locate(np.asarray(self.effect.points, dtype=float))
        return np.where(place >= 0, value[place], np.nan)


def _column(moments: Moments, r: int) -> Moments:
    return Moments(**{k: a[:, r] for k, a in moments.arrays().items()})
