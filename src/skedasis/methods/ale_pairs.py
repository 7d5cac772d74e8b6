"""Second-order ALE and DALE of two features (ale_vs_pdp 6.2.1).

Each row is moved to the corners of its own cell: the two edges of its bin of a numeric feature, the levels before and
after its own of a categorical one. The double difference (Eq. 6.5) is what the second feature changes in the effect of
the first. Averaged by cell, accumulated over both axes, freed of main effects and mean, it is the second-order effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Bools, Floats, Ints, Json
from skedasis.binning import Binning, Edges, Quantile, Uniform
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Column, Summary
from skedasis.data.features import Feature
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.methods.ale_categorical import LevelPlan, ordered
from skedasis.methods.base import Bound, Form, Local, chosen, given_for
from skedasis.models.adapters import Traits
from skedasis.results.build.pairs import (
    CELL,
    HOME,
    JOINT,
    MAIN0,
    MAIN1,
    gather,
    surface,
    taking_part,
)
from skedasis.results.effect import About, Spec
from skedasis.results.surface import PairRows, Side, Surface
from skedasis.stats.grid import Cells, Grid
from skedasis.stats.moments import Moments, WeightKind

# ------------------------------------------------------------------------------------------
# One of the two features of a pair, between the data and the algebra of surfaces.


@dataclass(frozen=True, eq=False)
class SideColumn:
    """A feature of a pair as it was planned.

    Parameters
    ----------
    side : Side
    feature : Feature
    chosen : str
        How its nodes were chosen, for the provenance.
    summary : Summary, optional
        Of a numeric feature.
    levels : LevelPlan, optional
        Of a categorical one.
    """

    side: Side
    feature: Feature
    chosen: str
    summary: Summary | None = None
    levels: LevelPlan | None = None

    @property
    def categorical(self) -> bool:
        """Return whether rows live at levels."""
        return self.levels is not None

    def changes(self, nodes: Ints) -> dict[int, Any]:
        """Return what puts the values of these nodes into the feature's columns, (m,) or (n, m)."""
        if self.levels is not None:
            return self.levels.changes(nodes)
        return {self.feature.position: np.asarray(self.side.nodes)[nodes]}


def side_of(
    nodes: LevelPlan | Grid | Cells, column: Column | None = None, chosen: str = ""
) -> SideColumn:
    """Return a feature of a pair, from the plan of its levels, or from its points or its bins and its column."""
    if isinstance(nodes, LevelPlan):
        return SideColumn(
            Side(levels=nodes.stats), nodes.column.feature, nodes.chosen, levels=nodes
        )
    if column is None:
        raise TypeError("numeric sides have a column")
    values = column.distinct(2)
    two = (float(values[0]), float(values[1])) if values is not None and len(values) == 2 else None
    grid = isinstance(nodes, Grid)
    side = Side(points=nodes.points, two_values=two) if grid else Side(bins=nodes, two_values=two)
    summary = column.summary()
    return SideColumn(side, summary.feature, nodes.chosen if grid else chosen, summary)


def places_of(bound: Bound, column: SideColumn) -> Floats:
    """Return the rows' values, or the places of their levels; NaN where there is none."""
    if column.levels is None:
        return bound.column(column.feature.position)
    place = column.levels.at(bound).astype(float)
    return np.where(place < 0, np.nan, place)


@dataclass(frozen=True)
class OwnValuesOrQuantiles(Binning):
    """The default bins of a feature of a pair: its own values if they are few, else quantiles."""

    k: int = 20

    def candidates(self, column: Column) -> Cells:
        """Return the cells, closed on the right."""
        values = column.few_values()
        return Quantile(self.k).candidates(column) if values is None else Cells(values, "right")


def fixed(scheme: Binning, method: str) -> Binning:
    """Refuse a scheme that chooses its bins by the local effects of one feature.

    Raises
    ------
    UnsupportedError
    """
    if isinstance(scheme, (Uniform, Quantile, Edges)):
        return scheme
    name = type(scheme).__name__
    raise UnsupportedError(
        explained(
            f"{method}(bins={name}()) of two features",
            "bins that are chosen by the effect of one",
            "Uniform, Quantile or Edges",
            f"Write for example sd.{method}(bins=20)",
        )
    )


# ------------------------------------------------------------------------------------------
# The corners of a row's cell in two features, and the differences between them (ale_vs_pdp Eq. 6.5).


UP, DOWN = (0, 0, 1), (-1, -1, 0)
"""Moves: the cell, and the nodes before and after it, counted from the row's home."""


@dataclass(frozen=True, eq=False)
class Differences:
    """What the corners give.

    Parameters
    ----------
    moments : dict of str to Moments
        What `skedasis.results.build.pairs.surface` reads.
    across : ndarray of float, shape (n, q), optional
        Each row's double differences in the cells that it takes part in, in the order of `taking_part`; NaN where there
        is no such cell. None where a feature is constant.
    largest : float
        The largest absolute value at a corner.
    """

    moments: dict[str, Moments]
    across: Floats | None
    largest: float


def differences(
    bound: Bound,
    sides: tuple[SideColumn, SideColumn],
    homes: tuple[Ints, Ints],
    x: tuple[Floats, Floats],
) -> Differences:
    """Evaluate the quantity at the corners of the rows' cells, and gather the differences by cell.

    Parameters
    ----------
    bound : Bound
    sides : tuple of two SideColumn
    homes : tuple of two ndarray of int, shape (n,)
        Where the rows live.
    x : tuple of two ndarray of float, shape (n,)
        Their values.

    Returns
    -------
    Differences
    """
    if all(not s.categorical and s.side.m > 1 for s in sides):
        return _of_numbers(bound, sides, homes, x)
    corners = Corners(bound, sides, homes)
    return Differences(corners.moments(x), corners.across(), _largest(*corners.at.values()))


def _largest(*values: Floats) -> float:
    return max((float(np.abs(v).max(initial=0.0)) for v in values), default=0.0)


def _of_numbers(
    bound: Bound,
    sides: tuple[SideColumn, SideColumn],
    homes: tuple[Ints, Ints],
    x: tuple[Floats, Floats],
) -> Differences:
    """Do so for two numeric features: four corners in one call, 4 n model rows."""
    low, high, share = [], [], []
    for side, home, values in zip(sides, homes, x, strict=True):
        edges = np.asarray(side.side.nodes)
        low.append(edges[:-1].take(home))
        high.append(edges[1:].take(home))
        share.append((values - low[-1]) / (high[-1] - low[-1]))
    first, second = (s.feature.position for s in sides)
    corners = {
        first: (low[0], high[0], low[0], high[0]),
        second: (low[1], low[1], high[1], high[1]),
    }
    q = bound.sweep_together(corners, 4).T
    below, before = q[1] - q[0], q[2] - q[0]
    delta = (q[3] - q[2]) - below
    k, m = (s.side.m - 1 for s in sides)
    cell = Moments.of(delta, homes[0] * m + homes[1], k * m, bound.weights)
    home = Moments(*cell.sizes, np.zeros(k * m), np.zeros(k * m))
    across = delta[:, None]
    # Between the two edges of the other feature the difference is interpolated to the row's own value.
    share[1] *= delta
    share[0] *= delta
    moments = {
        CELL: cell.reshape(k, m),
        HOME: home.reshape(k, m),
        MAIN0: Moments.of(below + share[1], homes[0], k, bound.weights),
        MAIN1: Moments.of(before + share[0], homes[1], m, bound.weights),
    }
    return Differences(moments, across, _largest(q))


def counted(cell: Ints, cells: int, weights: Floats | None) -> Moments:
    """Return the moments of rows of which only their number and weight matter."""
    return Moments.of(np.zeros(len(cell)), cell, cells, weights)


class Corners:
    """The quantity at the nodes around each row's home, and the differences between them.

    Parameters
    ----------
    bound : Bound
    sides : tuple of two SideColumn
    homes : tuple of two ndarray of int, shape (n,)

    Notes
    -----
    4 n model rows for two numeric features; 6 n at most with one categorical feature, 9 n with two, less what rows at
    the first and last levels save.
    """

    def __init__(
        self, bound: Bound, sides: tuple[SideColumn, SideColumn], homes: tuple[Ints, Ints]
    ) -> None:
        self.bound, self.sides, self.homes = bound, sides, homes
        self.at: dict[tuple[int, int], Floats] = {}
        # The feature of levels goes outside: its rows at the ends are left out there, once for both edges of the other.
        swap = sides[1].categorical and not sides[0].categorical
        outer, inner = (1, 0) if swap else (0, 1)
        for o in offsets(sides[outer].side):
            for group in _together(sides[inner]):
                self._ask(outer, o, inner, group)

    def _ask(self, outer: int, o: int, inner: int, group: tuple[int, ...]) -> None:
        """Evaluate at one node of the outer feature, and one or two of the inner one."""
        h, g = self.homes[outer], self.homes[inner]
        valid = _valid(self.sides[outer].side, h + o) & _valid(self.sides[inner].side, g + group[0])
        rows = np.flatnonzero(valid)
        keys = [(o, i) if outer == 0 else (i, o) for i in group]
        if len(rows) == 0:
            self.at |= dict.fromkeys(keys, np.zeros(len(h)))
            return
        part = self.bound if len(rows) == len(h) else self.bound.some(rows)
        if all(s.categorical for s in self.sides) and keys == [(0, 0)]:
            self.at[0, 0] = part.at()
            return
        nodes = np.stack([g[rows] + i for i in group], axis=1)
        first = np.broadcast_to((h[rows] + o)[:, None], nodes.shape)
        changes = {**self.sides[outer].changes(first), **self.sides[inner].changes(nodes)}
        found = part.sweep_together(changes, len(group))
        for k, key in enumerate(keys):
            self.at[key] = np.zeros(len(h))
            self.at[key][rows] = found[:, k]

    def moments(self, x: tuple[Floats, Floats]) -> dict[str, Moments]:
        """Return the moments that a surface is read off."""
        (h0, h1), weights = self.homes, self.bound.weights
        sides = (self.sides[0].side, self.sides[1].side)
        shape = sides[0].homes, sides[1].homes
        home = counted(h0 * shape[1] + h1, shape[0] * shape[1], weights)
        found = {
            CELL: self._cells(sides),
            HOME: home.reshape(*shape),
            MAIN0: self._main(0, x[1]),
            MAIN1: self._main(1, x[0]),
        }
        joint = self._joint(home)
        return found if joint is None else {**found, JOINT: joint.reshape(-1, *shape)}

    def across(self) -> Floats | None:
        """Return each row's double differences, (n, q); NaN where it has no such cell."""
        sides = (self.sides[0].side, self.sides[1].side)
        cells = taking_part(sides)[:, self.homes[0] * sides[1].homes + self.homes[1]]
        found = [
            (self.at[b0, b1] - self.at[a0, b1]) - (self.at[b0, a1] - self.at[a0, a1])
            for _, a0, b0 in moves(sides[0])
            for _, a1, b1 in moves(sides[1])
        ]
        return np.where(cells >= 0, found, np.nan).T.copy() if found else None

    def _joint(self, home: Moments) -> Moments | None:
        """Gather, home by home, the rows' double differences and the sums of each two of them."""
        across = self.across()
        if across is None:
            return None
        known, width = np.nan_to_num(across), self.sides[1].side.homes
        q, place = known.shape[1], self.homes[0] * width + self.homes[1]
        values = [known[:, i] for i in range(q)]
        values += [known[:, i] + known[:, j] for i in range(q) for j in range(i + 1, q)]
        parts = [Moments.of(v, place, len(home.weight), self.bound.weights, home) for v in values]
        return Moments(
            *(np.stack(a) for a in zip(*(p.arrays().values() for p in parts), strict=True))
        )

    def _cells(self, sides: tuple[Side, Side]) -> Moments:
        """Pool the double differences (Eq. 6.5) of all rows that take part in each cell."""
        k, m = sides[0].m - 1, sides[1].m - 1
        total = Moments.zeros((k, m))
        for c0, a0, b0 in moves(sides[0]):
            for c1, a1, b1 in moves(sides[1]):
                delta = (self.at[b0, b1] - self.at[a0, b1]) - (self.at[b0, a1] - self.at[a0, a1])
                i, j = self.homes[0] + c0, self.homes[1] + c1
                rows = (i >= 0) & (i < k) & (j >= 0) & (j < m)
                w = self.bound.weights
                w = None if w is None else w[rows]
                part = Moments.of(delta[rows], i[rows] * m + j[rows], k * m, w)
                total = total.merge(part.reshape(k, m))
        return total

    def _main(self, axis: int, other: Floats) -> Moments:
        """Pool the differences along one feature, at the row's own value of the other.

        Of a numeric feature only the two edges around that value are known: between them it is interpolated.
        """
        side, across = self.sides[axis].side, self.sides[1 - axis]
        k = side.m - 1
        total = Moments.zeros(k)
        share = np.zeros(len(other))
        if not across.categorical and across.side.m > 1:
            edges, h = np.asarray(across.side.nodes), self.homes[1 - axis]
            share = (other - edges[h]) / (edges[h + 1] - edges[h])
        for c, a, b in moves(side):
            low = self._along(axis, b, 0) - self._along(axis, a, 0)
            rise = low
            if share.any():
                high = self._along(axis, b, 1) - self._along(axis, a, 1)
                rise = (1 - share) * low + share * high
            cell = self.homes[axis] + c
            rows = (cell >= 0) & (cell < k)
            w = self.bound.weights
            total = total.merge(
                Moments.of(rise[rows], cell[rows], k, None if w is None else w[rows])
            )
        return total

    def _along(self, axis: int, own: int, other: int) -> Floats:
        return self.at[(own, other) if axis == 0 else (other, own)]


def offsets(side: Side) -> tuple[int, ...]:
    """Return the nodes around a home, counted from it."""
    if side.levels is not None:
        return (-1, 0, 1) if side.m > 1 else (0,)
    return (0, 1) if side.m > 1 else (0,)


def moves(side: Side) -> tuple[tuple[int, int, int], ...]:
    """Return the cells that a row takes part in: its bin, or the steps on both sides of its level."""
    if side.m == 1:
        return ()
    return (UP, DOWN) if side.levels is not None else (UP,)


def _together(column: SideColumn) -> list[tuple[int, ...]]:
    """Return the nodes that are evaluated in one call: both edges of a bin, or one level."""
    around = offsets(column.side)
    return [(o,) for o in around] if column.categorical else [around]


def _valid(side: Side, nodes: Ints) -> Bools:
    return (nodes >= 0) & (nodes < side.m)


# ------------------------------------------------------------------------------------------
# ALE and DALE of two features: what they do together that neither does alone (ale_vs_pdp 6.2.1).


@dataclass(frozen=True, eq=False)
class PairPlan:
    """The cells of two features.

    Parameters
    ----------
    sides : tuple of two SideColumn
    traits : tuple of two Traits
    notes : dict
    """

    sides: tuple[SideColumn, SideColumn]
    traits: tuple[Traits, Traits]
    notes: Json


@dataclass(frozen=True)
class PairALE(Form):
    """The second-order ALE.

    Parameters
    ----------
    base : ALE
        The method as the user wrote it.
    """

    compares_missing = False
    batch_rows = 25_000

    def plan(self, columns: tuple[Any, Any], traits: tuple[Traits, Traits]) -> PairPlan:
        """Choose the bins, or the order of the levels, of each feature."""
        both = all(isinstance(c, LevelColumn) for c in columns)
        sides = tuple(self._side(c, both=both) for c in columns)
        notes: Json = {"local_effects": "double differences across cells"}
        for side in sides:
            if side.levels is not None:
                notes[f"order of {side.feature.name}"] = side.levels.notes
        return PairPlan((sides[0], sides[1]), traits, notes)

    def _side(self, column: Any, *, both: bool) -> SideColumn:
        if not isinstance(column, LevelColumn):
            scheme = self.base.fixed_binning(column.feature)
            return side_of(scheme.candidates(column), column, type(scheme).__name__)
        feature = column.feature
        asked = given_for(self.base.order, feature, None)
        without = feature.kind == "nominal" and feature.levels is None and asked is None
        if (
            both and without and len(column.levels) > 2
        ):  # of two levels the direction changes nothing
            raise UnsupportedError(
                explained(
                    f"{self.name} of two categorical features",
                    f"{feature.name!r}, whose levels have no order",
                    "an order for both",
                    f"Give one, sd.ALE(order={{{feature.name!r}: [...]}}) or order='similarity'; or use sd.PDP() "
                    "(in a shell --method pdp)",
                )
            )
        return side_of(LevelPlan.of(column, *ordered(column, asked, self.name)))

    def sets(self, plans: Sequence[PairPlan]) -> int:
        """Return 2: the corners two by two, so that columns which stay as they are need two copies, not four."""
        return 2

    def row_bytes(self, plan: PairPlan) -> int:
        """Return the size of two values, a weight, and the double differences."""
        return 24 + 8 * len(taking_part((plan.sides[0].side, plan.sides[1].side)))

    def local(self, bound: Bound, plan: PairPlan, keep: Bools | None) -> Local:
        """Gather the batch's double differences by cell."""
        sides = (plan.sides[0].side, plan.sides[1].side)
        x = tuple(places_of(bound, s) for s in plan.sides)
        homes = tuple(side.home(values) for side, values in zip(sides, x, strict=True))
        inside = (homes[0] >= 0) & (homes[1] >= 0)
        beyond = left_out(plan.sides, x, inside)
        if not inside.all():
            rows = np.flatnonzero(inside)
            bound, x = bound.some(rows), tuple(v[rows] for v in x)
            homes = tuple(h[rows] for h in homes)
            keep = None if keep is None else keep[rows]
        found = differences(bound, plan.sides, (homes[0], homes[1]), (x[0], x[1]))
        kept = {"x0": x[0], "x1": x[1], "weight": bound.weights, "across": found.across}
        # A double difference of four values is known but for a few units in their last place.
        rounding = 16 * bound.eps * found.largest
        return Local(found.moments, chosen(kept, keep), largest=rounding, outside=beyond)

    def read(
        self,
        plan: PairPlan,
        local: Local,
        about: tuple[About, About],
        *,
        exact: bool,
        kind: WeightKind,
    ) -> Surface:
        """Accumulate."""
        base, r = self.base, local.kept
        local_effects: Any = "edges" if self.name == "ALE" else "slopes"
        spec = Spec(
            self.name,
            "mean",
            local_effects,
            ddof=base.ddof,
            weight_kind=kind,
            parameters=self.describe(),
        )
        rows = None
        if r:
            rows = PairRows(
                r["x0"],
                r["x1"],
                r.get("effect"),
                r.get("weight"),
                exact,
                r.get("slope0"),
                r.get("slope1"),
                r.get("across"),
            )
        some_rows(local, plan.sides, self.name)
        sides = (plan.sides[0].side, plan.sides[1].side)
        shown = surface(sides, local.moments, spec, about, rows, fill=base.empty == "nearest")
        used = int(local.moments[HOME].count.sum())
        said = {"rows_outside": local.outside, "rows_in_cells": used, **plan.notes}
        if self.name == "ALE":
            said["rounding"] = local.largest
        return shown.with_provenance(said)


@dataclass(frozen=True)
class PairDALE(PairALE):
    """The second-order ALE from mixed derivatives: cells may be chosen again without the model.

    Parameters
    ----------
    base : DALE
        The method as the user wrote it.
    """

    uses_slopes = True

    def plan(self, columns: tuple[Any, Any], traits: tuple[Traits, Traits]) -> PairPlan:
        """Choose the bins; refuse categories, and models without derivatives."""
        for column, found in zip(columns, traits, strict=True):
            if isinstance(column, LevelColumn) or found.local == "steps":
                got = "a categorical feature" if isinstance(column, LevelColumn) else found.source
                raise UnsupportedError(
                    explained(
                        f"{self.name} of {column.feature.name!r} with another feature",
                        got,
                        "two numeric features and a differentiable model",
                        "Use sd.ALE()",
                    )
                )
        plan = super().plan(columns, traits)
        notes = {**plan.notes, "local_effects": "mixed second derivatives"}
        return PairPlan(plan.sides, traits, {**notes, "slopes": traits[0].source})

    def sets(self, plans: Sequence[PairPlan]) -> int:
        """Return 4: the corners around a row, where there are no derivatives."""
        return 4

    def row_bytes(self, plan: PairPlan) -> int:
        """Return the size of two values, a mixed derivative, two slopes and a weight."""
        return 48

    def local(self, bound: Bound, plan: PairPlan, keep: Bools | None) -> Local:
        """Gather the batch's mixed derivatives by cell."""
        sides = (plan.sides[0].side, plan.sides[1].side)
        x0, x1 = (places_of(bound, s) for s in plan.sides)
        inside = (sides[0].home(x0) >= 0) & (sides[1].home(x1) >= 0)
        beyond = left_out(plan.sides, (x0, x1), inside)
        if not inside.all():
            rows = np.flatnonzero(inside)
            bound, x0, x1 = bound.some(rows), x0[rows], x1[rows]
            keep = None if keep is None else keep[rows]
        first, second = plan.sides[0].summary, plan.sides[1].summary
        if first is None or second is None:
            raise TypeError("numeric sides have summaries")
        mixed, slope0, slope1 = bound.mixed_slopes((first, second), plan.traits)
        rows = PairRows(x0, x1, mixed, bound.weights, slope0=slope0, slope1=slope1)
        widths = (np.diff(sides[0].nodes), np.diff(sides[1].nodes))
        moments = gather(sides, rows, widths) or {}
        kept = {"x0": x0, "x1": x1, "effect": mixed, "weight": bound.weights}
        kept |= {"slope0": slope0, "slope1": slope1}
        return Local(moments, chosen(kept, keep), outside=beyond)


def left_out(sides: tuple[SideColumn, SideColumn], x: tuple[Floats, ...], inside: Bools) -> int:
    """Return how many rows lie beyond the edges, or at levels that were cut; rows without a value are none of these."""
    missing = np.zeros(len(inside), dtype=bool)
    for side, values in zip(sides, x, strict=True):
        if side.levels is None or side.levels.column.outside == 0:
            missing |= np.isnan(values)
    return int(np.count_nonzero(~inside & ~missing))


def some_rows(local: Local, sides: tuple[SideColumn, SideColumn], method: str) -> None:
    """Refuse a pair of which no row has both values.

    Raises
    ------
    DataError
    """
    if local.moments[HOME].count.sum() == 0:
        names = ", ".join(repr(s.feature.name) for s in sides)
        raise DataError(
            explained(
                f"{method} of ({names})",
                "no row that has a value of both",
                "some",
                "Look at where they are missing",
            )
        )


def check_pair(names: tuple[str, str]) -> None:
    """Refuse a feature with itself.

    Raises
    ------
    DataError
    """
    if names[0] == names[1]:
        raise DataError(
            explained(
                "features",
                f"the pair of {names[0]!r} with itself",
                "two features",
                "Name two, or explain the one",
            )
        )
