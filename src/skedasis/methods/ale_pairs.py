"""Second-order ALE and DALE of two features: their interaction, without main effects (ale_vs_pdp 6.2.1).

For ALE each row is moved to the corners of its own cell: for a numeric feature the two edges of its bin, for a
categorical feature its level and the adjacent levels. The double difference between the corners (Eq. 6.5) is the change
of the first feature's effect with the second feature. For DALE the mixed second derivative at the row takes its place.
These local effects are averaged by cell and accumulated over both axes; after subtracting main effects and mean they
are the second-order effect (`skedasis.results.build.pairs`).

A *node* is an edge of a numeric feature's bins or a level of a categorical feature. A row's *home* is the index of its
bin or level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, TypeAlias, cast

import numpy as np

from skedasis._types import Bools, Floats, Ints, JsonValue
from skedasis.binning import Binning, Edges, Quantile, Uniform
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Column, Summary
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature
from skedasis.errors import DataError, UnsupportedError
from skedasis.methods.ale_categorical import MOST_LEVELS, LevelPlan, Order, ordered
from skedasis.methods.base import (
    BaseT_co,
    ByFeature,
    ColumnPair,
    MethodVariant,
    PairMethod,
    PlanT,
    numeric_column,
    param_for_feature,
)
from skedasis.methods.plans import BatchStats, Notes, select_rows
from skedasis.models.adapters import DerivativeInfo, LocalEffectKind
from skedasis.quantities.evaluator import BatchEvaluator, SweptValues
from skedasis.results.axis import (
    BinPairAxis,
    GridPairAxis,
    LevelPairAxis,
    NumericPairAxis,
    PairAxis,
)
from skedasis.results.build.pairs import (
    CELL,
    HOME,
    JOINT,
    MAIN0,
    MAIN1,
    accumulated_surface,
    cells_of_homes,
    gather_moments,
)
from skedasis.results.effect import About
from skedasis.results.surface import PairRows, Surface
from skedasis.stats.grid import Cells, Grid
from skedasis.stats.moments import Moments, WeightKind

if TYPE_CHECKING:
    from skedasis.methods.ale import ALE, DALE

_PairBase: TypeAlias = "ALE | DALE"

# --- features of a pair ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NumericSide:
    """Plan of a numeric feature of a pair."""

    side: NumericPairAxis
    feature: Feature
    chosen: str
    summary: Summary

    def changes(self, nodes: Ints) -> SweptValues:
        """Return the changes that insert the values of these nodes into the feature's column, (m,) or (n, m)."""
        return {self.feature.position: self.side.nodes[nodes]}

    def values(self, evaluator: BatchEvaluator) -> Floats:
        """Return the rows' values, NaN for missing values."""
        return evaluator.column(self.feature.position)

    def located(self, evaluator: BatchEvaluator) -> tuple[Floats, Ints]:
        """Return the rows' values and homes, which all pairs of the feature share."""
        key = f"cells of {self.feature.position}: {self.side.nodes.tobytes().hex()}"
        if key not in evaluator.shared:
            values = self.values(evaluator)
            evaluator.shared[key] = values, self.side.home_of(values)
        return cast("tuple[Floats, Ints]", evaluator.shared[key])

    def for_column(self, column: Column | LevelColumn) -> NumericSide:
        """Return the plan with the same nodes for a column of other rows."""
        return replace(self, summary=column.summary()) if isinstance(column, Column) else self


SideColumn: TypeAlias = NumericSide | LevelPlan
"""Plan of one feature of a pair."""


def numeric_side(nodes: Grid | Cells, column: Column, chosen: str = "") -> NumericSide:
    """Return the plan of a numeric feature of a pair, from its grid or bins and its column."""
    values = column.distinct(2)
    two = (float(values[0]), float(values[1])) if values is not None and len(values) == 2 else None
    if isinstance(nodes, Grid):
        side, chosen = GridPairAxis(nodes.points, two_values=two), nodes.description
    else:
        side = BinPairAxis(nodes, two_values=two)
    summary = column.summary()
    return NumericSide(side, summary.feature, chosen, summary)


@dataclass(frozen=True)
class OwnValuesOrQuantiles(Binning):
    """The default bins of a feature of a pair: between its values if they are few, else quantiles."""

    k: int = 20

    def candidates(self, column: Column) -> Cells:
        values = column.few_values()
        return Quantile(self.k).candidates(column) if values is None else Cells(values, "right")


def fixed(scheme: Binning, method: str) -> Binning:
    """Return a scheme of fixed bins; raise for a scheme that chooses bins by the local effects of one feature."""
    if isinstance(scheme, (Uniform, Quantile, Edges)):
        return scheme
    name = type(scheme).__name__
    raise UnsupportedError(
        f"{method}(bins={name}()) of two features",
        "bins chosen from the effect of a single feature",
        "Uniform, Quantile or Edges",
        f"Use for example sd.{method}(bins=20)",
    )


# --- corners of a row's cell, and double differences (ale_vs_pdp Eq. 6.5) -------------------------


UP, DOWN = (0, 0, 1), (-1, -1, 0)
"""Moves: the cell, and the nodes at its lower and upper end, relative to the row's home."""


LocalStats: TypeAlias = tuple[dict[str, Moments], dict[str, Floats | None], float]
"""Local effects of a pair in a batch: moments, the input of `skedasis.results.build.pairs.accumulated_surface`; arrays
of the rows; and the rounding error of a double difference.

"across", (n, q), are the double differences of each row in the cells that it contributes to, in the order of
`skedasis.results.build.pairs.cells_of_homes`; NaN where there is no such cell.
"""


def differences(
    evaluator: BatchEvaluator,
    sides: tuple[SideColumn, SideColumn],
    homes: tuple[Ints, Ints],
    x: tuple[Floats, Floats],
) -> LocalStats:
    """Evaluate the quantity at the corners of the rows' cells, and return the moments of double differences by cell.

    `homes` are the indices of the rows' bins or levels, and `x` the rows' values, (n,) each, of both sides.
    """
    if all(isinstance(s, NumericSide) and s.side.n_nodes > 1 for s in sides):
        return _numeric_differences(evaluator, sides, homes, x)
    corners = Corners(evaluator, sides, homes)
    rounding = _rounding(evaluator, *corners.at.values())
    return corners.moments(x), {"across": corners.across}, rounding


def _rounding(evaluator: BatchEvaluator, *q: Floats) -> float:
    """Return the rounding error of double differences: a few units in the last place of the four values."""
    return 16 * evaluator.eps * max(float(np.abs(v).max(initial=0.0)) for v in q)


def _numeric_differences(
    evaluator: BatchEvaluator,
    sides: tuple[SideColumn, SideColumn],
    homes: tuple[Ints, Ints],
    x: tuple[Floats, Floats],
) -> LocalStats:
    """Return the double differences of two numeric features: four corners in one call, 4 n model rows."""
    columns = sides[0].feature.position, sides[1].feature.position
    nodes = np.asarray(sides[0].side.nodes, float), np.asarray(sides[1].side.nodes, float)
    q = evaluator.corners(columns, nodes, homes)
    fraction: list[Floats] = []
    for edges, home, values in zip(nodes, homes, x, strict=True):
        low = edges[:-1].take(home)
        fraction.append((values - low) / (edges[1:].take(home) - low))
    below, before = q[1] - q[0], q[2] - q[0]
    delta = (q[3] - q[2]) - below
    k, m = (s.side.n_nodes - 1 for s in sides)
    cell = Moments.of(delta, homes[0] * m + homes[1], k * m, evaluator.weights)
    home = Moments(*cell.sizes, np.zeros(k * m), np.zeros(k * m))
    # Main effects: the difference is interpolated between the other feature's two edges, to the row's own value.
    fraction[1] *= delta
    fraction[0] *= delta
    moments = {
        CELL: cell.reshape(k, m),
        HOME: home.reshape(k, m),
        MAIN0: Moments.of(below + fraction[1], homes[0], k, evaluator.weights),
        MAIN1: Moments.of(before + fraction[0], homes[1], m, evaluator.weights),
    }
    return moments, {"across": delta[:, None]}, _rounding(evaluator, q)


def counted(cell: Ints, cells: int, weights: Floats | None) -> Moments:
    """Return moments that hold the number and weight of the rows in each cell only."""
    return Moments.of(np.zeros(len(cell)), cell, cells, weights)


class Corners:
    """The quantity at the nodes around each row's home, (n,) for each side, and the differences between them.

    Costs 4 n model rows for two numeric features; at most 6 n with one categorical feature, 9 n with two. Rows at the
    first and last levels cost less.
    """

    def __init__(
        self,
        evaluator: BatchEvaluator,
        sides: tuple[SideColumn, SideColumn],
        homes: tuple[Ints, Ints],
    ) -> None:
        self.evaluator, self.sides, self.homes = evaluator, sides, homes
        self.at: dict[tuple[int, int], Floats] = {}
        # A categorical feature is the outer loop: rows at its first or last level are left out once for both edges of
        # the numeric feature.
        swap = isinstance(sides[1], LevelPlan) and not isinstance(sides[0], LevelPlan)
        outer, inner = (1, 0) if swap else (0, 1)
        for o in offsets(sides[outer].side):
            for group in _nodes_per_call(sides[inner]):
                self._evaluate(outer, o, inner, group)

    def _evaluate(self, outer: int, o: int, inner: int, group: tuple[int, ...]) -> None:
        """Evaluate the quantity at one node of the outer feature and one or two nodes of the inner feature."""
        h, g = self.homes[outer], self.homes[inner]
        valid = _valid(self.sides[outer].side, h + o) & _valid(self.sides[inner].side, g + group[0])
        rows = np.flatnonzero(valid)
        keys = [(o, i) if outer == 0 else (i, o) for i in group]
        if len(rows) == 0:
            self.at |= dict.fromkeys(keys, np.zeros(len(h)))
            return
        part = self.evaluator if len(rows) == len(h) else self.evaluator.subset(rows)
        if all(isinstance(s, LevelPlan) for s in self.sides) and keys == [(0, 0)]:
            self.at[0, 0] = part.values()
            return
        nodes = np.stack([g[rows] + i for i in group], axis=1)
        outer_nodes = np.broadcast_to((h[rows] + o)[:, None], nodes.shape)
        changes = {**self.sides[outer].changes(outer_nodes), **self.sides[inner].changes(nodes)}
        values = part.sweep_together(changes, len(group))
        for k, key in enumerate(keys):
            self.at[key] = np.zeros(len(h))
            self.at[key][rows] = values[:, k]

    def moments(self, x: tuple[Floats, Floats]) -> dict[str, Moments]:
        """Return the moments from which a surface is built."""
        (h0, h1), weights = self.homes, self.evaluator.weights
        sides = (self.sides[0].side, self.sides[1].side)
        shape = sides[0].n_homes, sides[1].n_homes
        home = counted(h0 * shape[1] + h1, shape[0] * shape[1], weights)
        moments = {
            CELL: self._cells(sides),
            HOME: home.reshape(*shape),
            MAIN0: self._main(0, x[1]),
            MAIN1: self._main(1, x[0]),
        }
        joint = self._joint(home)
        return moments if joint is None else {**moments, JOINT: joint.reshape(-1, *shape)}

    @cached_property
    def across(self) -> Floats | None:
        """Return each row's double differences, (n, q); NaN where there is no such cell."""
        sides = (self.sides[0].side, self.sides[1].side)
        cells = cells_of_homes(sides)[:, self.homes[0] * sides[1].n_homes + self.homes[1]]
        deltas = [
            (self.at[b0, b1] - self.at[a0, b1]) - (self.at[b0, a1] - self.at[a0, a1])
            for _, a0, b0 in moves(sides[0])
            for _, a1, b1 in moves(sides[1])
        ]
        return np.where(cells >= 0, deltas, np.nan).T.copy() if deltas else None

    def _joint(self, home: Moments) -> Moments | None:
        """Return the moments, by home, of the rows' double differences and of their pairwise sums.

        The variance of a sum of two gives their covariance.
        """
        if self.across is None:
            return None
        deltas, width = np.nan_to_num(self.across), self.sides[1].side.n_homes
        q, index = deltas.shape[1], self.homes[0] * width + self.homes[1]
        values = [deltas[:, i] for i in range(q)]
        values += [deltas[:, i] + deltas[:, j] for i in range(q) for j in range(i + 1, q)]
        parts = [
            Moments.of(v, index, len(home.weight), self.evaluator.weights, home) for v in values
        ]
        return Moments(
            *(np.stack(a) for a in zip(*(p.arrays().values() for p in parts), strict=True))
        )

    def _cells(self, sides: tuple[PairAxis, PairAxis]) -> Moments:
        """Return the moments of the double differences (Eq. 6.5) of all rows that contribute to each cell."""
        k, m = sides[0].n_nodes - 1, sides[1].n_nodes - 1
        total = Moments.zeros((k, m))
        for c0, a0, b0 in moves(sides[0]):
            for c1, a1, b1 in moves(sides[1]):
                delta = (self.at[b0, b1] - self.at[a0, b1]) - (self.at[b0, a1] - self.at[a0, a1])
                i, j = self.homes[0] + c0, self.homes[1] + c1
                rows = (i >= 0) & (i < k) & (j >= 0) & (j < m)
                w = self.evaluator.weights
                w = None if w is None else w[rows]
                part = Moments.of(delta[rows], i[rows] * m + j[rows], k * m, w)
                total = total.merge(part.reshape(k, m))
        return total

    def _main(self, axis: int, other: Floats) -> Moments:
        """Return the moments of the differences along one feature, at the row's own value of the other feature.

        If the other feature is numeric, the quantity is interpolated between the two edges around its value.
        """
        side, other_side = self.sides[axis].side, self.sides[1 - axis]
        k = side.n_nodes - 1
        total = Moments.zeros(k)
        fraction = np.zeros(len(other))
        if isinstance(other_side, NumericSide) and other_side.side.n_nodes > 1:
            edges, h = other_side.side.node_coordinates, self.homes[1 - axis]
            fraction = (other - edges[h]) / (edges[h + 1] - edges[h])
        for c, a, b in moves(side):
            low = self._along(axis, b, 0) - self._along(axis, a, 0)
            difference = low
            if fraction.any():
                high = self._along(axis, b, 1) - self._along(axis, a, 1)
                difference = (1 - fraction) * low + fraction * high
            cell = self.homes[axis] + c
            rows = (cell >= 0) & (cell < k)
            w = self.evaluator.weights
            total = total.merge(
                Moments.of(difference[rows], cell[rows], k, None if w is None else w[rows])
            )
        return total

    def _along(self, axis: int, own: int, other: int) -> Floats:
        """Return the values at a node of the feature `axis` and a node of the other feature."""
        return self.at[(own, other) if axis == 0 else (other, own)]


def offsets(side: PairAxis) -> tuple[int, ...]:
    """Return the nodes of a row's cells, relative to its home."""
    if isinstance(side, LevelPairAxis):
        return (-1, 0, 1) if side.n_nodes > 1 else (0,)
    return (0, 1) if side.n_nodes > 1 else (0,)


def moves(side: PairAxis) -> tuple[tuple[int, int, int], ...]:
    """Return the moves of the cells that a row contributes to: its bin, or the intervals on both sides of its level."""
    if side.n_nodes == 1:
        return ()
    return (UP, DOWN) if isinstance(side, LevelPairAxis) else (UP,)


def _nodes_per_call(column: SideColumn) -> list[tuple[int, ...]]:
    """Return the groups of nodes that are evaluated in one call: both edges of a bin, or one level."""
    nodes = offsets(column.side)
    return [(o,) for o in nodes] if isinstance(column, LevelPlan) else [nodes]


def _valid(side: PairAxis, nodes: Ints) -> Bools:
    return (nodes >= 0) & (nodes < side.n_nodes)


# --- methods --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PairPlan:
    """Plan of the second-order ALE or DALE: the cells of two features."""

    sides: tuple[SideColumn, SideColumn]
    derivative_info: tuple[DerivativeInfo, DerivativeInfo]
    notes: Notes

    @property
    def axes(self) -> tuple[PairAxis, PairAxis]:
        """Return the axes of both features."""
        return self.sides[0].side, self.sides[1].side


@dataclass(frozen=True)
class PairVariant(MethodVariant[BaseT_co], PairMethod[PlanT]):
    """Base class of the variants for two features."""

    def read_column(self, dataset: Dataset, feature: Feature) -> Column | LevelColumn:
        if feature.categorical:
            return dataset.levels(feature, top=self.base.top_levels, most=MOST_LEVELS)
        return numeric_column(dataset, feature)


@dataclass(frozen=True)
class PairALE(PairVariant[_PairBase, PairPlan]):
    """The second-order ALE."""

    order: Order | ByFeature[Order] = None

    batch_rows = 25_000
    local_effects: ClassVar[LocalEffectKind] = "edges"

    def plan(
        self, columns: ColumnPair, derivative_info: tuple[DerivativeInfo, DerivativeInfo]
    ) -> PairPlan:
        """Choose the bins, or the order of the levels, of each feature."""
        both = all(isinstance(c, LevelColumn) for c in columns)
        sides = self._side(columns[0], both=both), self._side(columns[1], both=both)
        notes: dict[str, JsonValue] = {"local_effects": "double differences across cells"}
        for side in sides:
            if isinstance(side, LevelPlan):
                notes[f"order of {side.feature.name}"] = side.notes
        return PairPlan(sides, derivative_info, notes)

    def _side(self, column: Column | LevelColumn, *, both: bool) -> SideColumn:
        if isinstance(column, Column):
            scheme = self.base.fixed_binning(column.feature)
            return numeric_side(scheme.candidates(column), column, type(scheme).__name__)
        feature = column.feature
        order = param_for_feature(self.order, feature, None)
        unordered = feature.kind == "nominal" and feature.levels is None and order is None
        # For two levels the order changes the sign only.
        if both and unordered and len(column.levels) > 2:
            raise UnsupportedError(
                f"{self.name} of two categorical features",
                f"{feature.name!r}, whose levels have no order",
                "an order for both",
                f"Pass an order: sd.ALE(order={{{feature.name!r}: [...]}}) or order='similarity'; or use sd.PDP() "
                "(in a shell --method pdp)",
            )
        return LevelPlan.of(column, *ordered(column, order, self.name))

    def points_per_call(self, plans: Sequence[PairPlan]) -> int:
        """Return 2: two corners per call, so that the unchanged columns need two copies, not four."""
        return 2

    def row_bytes(self, plan: PairPlan) -> int:
        """Return the bytes of two values, a weight, and the double differences."""
        return 24 + 8 * len(cells_of_homes(plan.axes))

    def compute(self, evaluator: BatchEvaluator, plan: PairPlan, keep: Bools | None) -> BatchStats:
        """Return the moments of the local effects of the batch's rows within the cells."""
        (x0, home0), (x1, home1) = (s.located(evaluator) for s in plan.sides)
        homes = home0, home1
        inside = (homes[0] >= 0) & (homes[1] >= 0)
        outside, all_weights = left_out(plan.sides, (x0, x1), inside), evaluator.weights
        if not inside.all():
            rows = np.flatnonzero(inside)
            evaluator, x0, x1 = evaluator.subset(rows), x0[rows], x1[rows]
            homes = homes[0][rows], homes[1][rows]
            keep = None if keep is None else keep[rows]
        moments, local, rounding = self.local_stats(evaluator, plan, homes, (x0, x1))
        rows = {"x0": x0, "x1": x1, "weight": evaluator.weights, **local}
        stats = BatchStats(moments, select_rows(rows, keep), rounding)
        return stats.with_outside(outside, all_weights)

    def local_stats(
        self,
        evaluator: BatchEvaluator,
        plan: PairPlan,
        homes: tuple[Ints, Ints],
        x: tuple[Floats, Floats],
    ) -> LocalStats:
        """Return the double differences of the rows."""
        return differences(evaluator, plan.sides, homes, x)

    def finalize(
        self,
        plan: PairPlan,
        stats: BatchStats,
        about: tuple[About, About],
        *,
        exact: bool,
        kind: WeightKind,
    ) -> Surface:
        """Accumulate the double differences over both axes."""
        base, rows = self.base, kept_pair_rows(stats, exact=exact)
        spec = replace(self.spec("mean", self.local_effects, kind), ddof=base.ddof)
        check_rows(stats, plan.sides, self.name)
        result = accumulated_surface(
            plan.axes, stats.moments, spec, about, rows, fill=base.empty == "nearest"
        )
        used = int(stats.moments[HOME].count.sum())
        rounding = {"rounding": stats.largest} if self.local_effects == "edges" else {}
        return result.with_provenance(
            {**stats.notes_outside, "rows_in_cells": used, **plan.notes, **rounding}
        )


@dataclass(frozen=True)
class PairDALE(PairALE):
    """The second-order ALE from mixed derivatives; other cells can be chosen later without calling the model."""

    uses_slopes = True
    local_effects: ClassVar[LocalEffectKind] = "slopes"

    def plan(
        self, columns: ColumnPair, derivative_info: tuple[DerivativeInfo, DerivativeInfo]
    ) -> PairPlan:
        """Choose the bins; raise for categorical features and for models without derivatives."""
        for column, own in zip(columns, derivative_info, strict=True):
            if isinstance(column, LevelColumn) or own.kind == "steps":
                got = (
                    "a categorical feature" if isinstance(column, LevelColumn) else own.description
                )
                raise UnsupportedError(
                    f"{self.name} of {column.feature.name!r} with another feature",
                    got,
                    "two numeric features and a differentiable model",
                    "Use sd.ALE()",
                )
        plan = super().plan(columns, derivative_info)
        notes = {**plan.notes, "local_effects": "mixed second derivatives"}
        first, second = (_of_observed(s, c) for s, c in zip(plan.sides, columns, strict=True))
        return PairPlan(
            (first, second), derivative_info, {**notes, "slopes": derivative_info[0].description}
        )

    def points_per_call(self, plans: Sequence[PairPlan]) -> int:
        """Return 4: finite differences evaluate four points around each row."""
        return 4

    def row_bytes(self, plan: PairPlan) -> int:
        """Return the bytes of two values, a mixed derivative, two slopes and a weight."""
        return 48

    def local_stats(
        self,
        evaluator: BatchEvaluator,
        plan: PairPlan,
        homes: tuple[Ints, Ints],
        x: tuple[Floats, Floats],
    ) -> LocalStats:
        """Return the mixed derivatives at the rows."""
        first, second = plan.sides
        if not isinstance(first, NumericSide) or not isinstance(second, NumericSide):
            raise TypeError("mixed derivatives require two numeric features")
        mixed, slope0, slope1 = evaluator.mixed_slopes(
            (first.summary, second.summary), plan.derivative_info
        )
        rows = PairRows(*x, mixed, evaluator.weights, slope0=slope0, slope1=slope1)
        widths = (np.diff(first.side.nodes), np.diff(second.side.nodes))
        moments = gather_moments(plan.axes, rows, widths) or {}
        return moments, {"effect": mixed, "slope0": slope0, "slope1": slope1}, 0.0


def _of_observed(side: SideColumn, column: Column | LevelColumn) -> SideColumn:
    """Return a side whose differences are taken between observed values, for whole numbers and times."""
    if not isinstance(side, NumericSide) or not isinstance(column, Column):
        return side
    return replace(side, summary=column.summary_of_observed())


def kept_pair_rows(stats: BatchStats, *, exact: bool) -> PairRows | None:
    """Return the kept rows of a pair, or None if there are none."""
    r = stats.kept
    if not r:
        return None
    effect, weight, slopes = r.get("effect"), r.get("weight"), (r.get("slope0"), r.get("slope1"))
    return PairRows(r["x0"], r["x1"], effect, weight, exact, *slopes, r.get("across"))


def left_out(sides: tuple[SideColumn, SideColumn], x: tuple[Floats, ...], inside: Bools) -> Bools:
    """Return which rows are outside the bins or at omitted levels; not those with missing values."""
    missing = np.zeros(len(inside), dtype=bool)
    for side, values in zip(sides, x, strict=True):
        if not isinstance(side, LevelPlan) or side.column.n_other == 0:
            missing |= np.isnan(values)
    return ~inside & ~missing


def check_rows(local: BatchStats, sides: tuple[SideColumn, SideColumn], method: str) -> None:
    """Raise if no row has values of both features."""
    if local.moments[HOME].count.sum() == 0:
        names = ", ".join(repr(s.feature.name) for s in sides)
        raise DataError(
            f"{method} of ({names})",
            "no row with values of both features",
            "at least one such row",
            "Check where the two features have missing values",
        )


def check_pair(names: tuple[str, str]) -> None:
    """Raise if both features of a pair are the same."""
    if names[0] == names[1]:
        raise DataError(
            "features",
            f"the pair of {names[0]!r} with itself",
            "two features",
            "Name two different features, or explain the single feature",
        )
