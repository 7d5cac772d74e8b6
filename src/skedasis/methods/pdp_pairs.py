"""PDP of two features: the mean over rows with both set to each point of a product grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Bools, Json
from skedasis.data.categories import LevelColumn
from skedasis.errors import UnsupportedError, explained
from skedasis.methods.base import Local, chosen
from skedasis.methods.bound import Bound
from skedasis.methods.curves import ANCHORED, RAW, curve_moments, mean_moments
from skedasis.methods.form import Form
from skedasis.methods.pairs_base import SideColumn, places_of, side_of
from skedasis.results.build.pdp import depend_pair
from skedasis.results.effect import About, Spec
from skedasis.results.surface import PairRows, Surface
from skedasis.stats.moments import WeightKind

POINTS = 20
"""Points for each of two features, where nothing is said."""


@dataclass(frozen=True, eq=False)
class PairGrid:
    """The product grid.

    Parameters
    ----------
    sides : tuple of two SideColumn
    notes : dict
    """

    sides: tuple[SideColumn, SideColumn]
    notes: Json

    @property
    def size(self) -> int:
        """Return the number of points."""
        return self.sides[0].side.m * self.sides[1].side.m


@dataclass(frozen=True)
class PairPDP(Form):
    """The PDP of two features.

    Parameters
    ----------
    base : PDP
        The method as the user wrote it.
    """

    compares_missing = False
    leaves_out_missing = False

    def plan(self, columns: tuple[Any, Any], traits: Any) -> PairGrid:
        """Choose the grid of each feature."""
        base = self.base
        if base.derivative or base.anchor is not None or base.center == "start":
            got = "derivative=True" if base.derivative else f"anchor={base.anchor!r}"
            raise UnsupportedError(
                explained(
                    f"{self.name} of two features",
                    "center='start'" if base.center == "start" else got,
                    "center=None or 'mean'",
                    "Leave it out, or explain one feature",
                )
            )
        sides: list[SideColumn] = []
        for column in columns:
            if isinstance(column, LevelColumn):
                sides.append(side_of(base.for_levels(column.feature).plan(column, None)))
            else:
                sides.append(side_of(base.grid_of(column, POINTS), column))
        return PairGrid((sides[0], sides[1]), {"grid": [s.chosen for s in sides]})

    def sets(self, plans: Sequence[PairGrid]) -> int:
        """Return about ten points a call, as for one feature."""
        points = max(p.size for p in plans)
        return -(-points // max(1, round(points / 10)))

    def swept(self, plans: Sequence[PairGrid]) -> int:
        """Return how many values a row is evaluated at, in as many calls as it takes."""
        return max(p.size for p in plans)

    def held(self, plans: Sequence[PairGrid]) -> int:
        """Return the length of a row's curve."""
        return max(p.size for p in plans)

    def row_bytes(self, plan: PairGrid) -> int:
        """Return the size of two values and a weight, and of a row's own surface where all are asked for."""
        return 24 + 8 * plan.size * self._keeps_curves

    @property
    def _keeps_curves(self) -> bool:
        """Return whether the rows' own surfaces are kept: all, or none, for a few of them say little."""
        return self.base.ice == "all" and not self.base.means_only

    def local(self, bound: Bound, plan: PairGrid, keep: Bools | None) -> Local:
        """Sweep the product grid."""
        first, second = plan.sides
        i, j = np.divmod(np.arange(plan.size), second.side.m)
        changes = {**first.changes(i), **second.changes(j)}
        if self.base.means_only:
            total = bound.sums(changes, plan.size)
            moments, shown = mean_moments(total, bound, self.base.center), None
        else:
            values = bound.sweep_together(changes, plan.size).T
            moments, shown = curve_moments(values, bound.weights, self.base.center)
        kept = {"across": shown.T} if shown is not None and self._keeps_curves else {}
        x0, x1 = places_of(bound, first), places_of(bound, second)
        return Local(
            {RAW: moments[RAW], ANCHORED: moments[ANCHORED]},
            chosen({"x0": x0, "x1": x1, "weight": bound.weights, **kept}, keep),
        )

    def read(
        self,
        plan: PairGrid,
        local: Local,
        about: tuple[About, About],
        *,
        exact: bool,
        kind: WeightKind,
    ) -> Surface:
        """Average."""
        spec = Spec(
            self.name, self.base.center, "none", weight_kind=kind, parameters=self.describe()
        )
        r = local.kept
        rows = None
        if r:
            across = r.get("across")
            rows = PairRows(r["x0"], r["x1"], None, r.get("weight"), exact, across=across)
        sides = (plan.sides[0].side, plan.sides[1].side)
        m = local.moments
        surface = depend_pair(sides, m[RAW], m[ANCHORED], spec, about, rows)
        return surface.with_provenance(plan.notes)
