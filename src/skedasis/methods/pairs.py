"""ALE and DALE of two features: what they do together that neither does alone (ale_vs_pdp 6.2.1).

Each row is moved to the corners of its own cell: the two edges of its bin of a numeric feature, the levels before and
after its own of a categorical one. The double difference (Eq. 6.5) is what the second feature changes in the effect of
the first. Averaged by cell, accumulated over both axes, freed of main effects and mean, it is the second-order effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Bools, Floats, Json
from skedasis.data.categories import LevelColumn
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.methods.base import Local, chosen, given_for
from skedasis.methods.bound import Bound
from skedasis.methods.corners import differences
from skedasis.methods.form import Form
from skedasis.methods.levels import LevelPlan, ordered
from skedasis.methods.pairs_base import SideColumn, places_of, side_of
from skedasis.models.adapters import Traits
from skedasis.results.build.pairs import HOME, gather, surface, taking_part
from skedasis.results.effect import About, Spec
from skedasis.results.surface import PairRows, Surface
from skedasis.stats.moments import WeightKind


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
