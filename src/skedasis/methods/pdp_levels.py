"""PDP and ICE of categorical features: every row is given each of the observed levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Bools, Ints
from skedasis.data.categories import LevelColumn
from skedasis.errors import DataError, UnsupportedError, explained
from skedasis.methods.base import Local, chosen, given_for
from skedasis.methods.bound import Bound
from skedasis.methods.curves import ANCHORED, RAW, curve_moments, mean_moments
from skedasis.methods.exact import EXACT
from skedasis.methods.form import Form
from skedasis.methods.levels import LevelPlan
from skedasis.results.build.pdp import depend_levels
from skedasis.results.effect import About, Curves, Effect, Rows, Spec
from skedasis.stats.moments import WeightKind


@dataclass(frozen=True)
class LevelPDP(Form):
    """The PDP or ICE of a categorical feature, at its observed levels.

    Parameters
    ----------
    base : PDP
        The method as the user wrote it.
    """

    def plan(self, column: LevelColumn, traits: Any) -> LevelPlan:
        """Choose the levels: all that are observed, unless some are given."""
        if self.base.derivative:
            raise UnsupportedError(
                explained(
                    f"{self.name}(derivative=True) of {column.feature.name!r}",
                    f"a{'n' * (column.feature.kind == 'ordinal')} {column.feature.kind} feature",
                    "a numeric feature",
                    "Leave derivative out",
                )
            )
        asked = given_for(self.base.grid, column.feature, None)
        asked = (
            None if isinstance(asked, str) and asked == EXACT else asked
        )  # levels are all there is
        if asked is None or isinstance(asked, (int, np.integer)) or self._for_others(column, asked):
            return LevelPlan.of(column, np.arange(len(column.levels)), "the observed levels")
        return LevelPlan.of(column, _given(column, list(asked), self.name), "given")

    def _for_others(self, column: LevelColumn, asked: Any) -> bool:
        """Return whether a grid for all features is one of points, which this feature knows nothing of."""
        numbers = np.asarray(asked).dtype.kind in "iuf"
        known = any(column.levels.find(v) >= 0 for v in list(asked))
        return numbers and not known and not isinstance(self.base.grid, Mapping)

    def sets(self, plans: Sequence[LevelPlan]) -> int:
        """Return how many levels a row is given in one call."""
        return min(max(len(p) for p in plans), 10)

    def swept(self, plans: Sequence[LevelPlan]) -> int:
        """Return how many values a row is evaluated at, in as many calls as it takes."""
        return max(len(p) for p in plans)

    def held(self, plans: Sequence[LevelPlan]) -> int:
        """Return the length of a row's curve."""
        return max(len(p) for p in plans) if not self.means_only else 2

    @property
    def scored(self) -> bool:
        """Return whether there is a heterogeneity score: unless the mean alone was asked for."""
        return self.base.scored

    @property
    def means_only(self) -> bool:
        """Return whether nothing but means over rows is asked for."""
        return self.base.means_only

    def rows_wanted(self, rows: int) -> int:
        """Return how many curves are to be kept."""
        return self.base.rows_wanted(rows)

    def row_bytes(self, plan: LevelPlan) -> int:
        """Return the size of a curve, the row's own level, its place and perhaps its weight."""
        return 8 * (len(plan) + 3)

    def local(self, bound: Bound, plan: LevelPlan, keep: Bools | None) -> Local:
        """Give each row each level."""
        size = len(plan)
        if self.means_only:
            total = bound.sums(plan.changes(np.arange(size)), size)
            means = mean_moments(total, bound, self.base.center, self._anchor(plan))
            place = plan.at(bound).astype(float)
            place[place < 0] = np.nan
            return Local(means, chosen({"x": place, "weight": bound.weights}, keep))
        curves = bound.sweep_together(plan.changes(np.arange(size)), size).T
        anchor = self._anchor(plan)
        moments, shown = curve_moments(curves, bound.weights, self.base.center, anchor)
        place = plan.at(bound).astype(float)
        place[place < 0] = np.nan
        kept = {"x": place, "row": bound.row_id, "curve": shown.T, "weight": bound.weights}
        return Local(moments, chosen(kept, keep))

    def _anchor(self, plan: LevelPlan) -> int | None:
        """Return the place of the level at which curves are anchored."""
        anchor = given_for(self.base.anchor, plan.column.feature, None)
        if anchor is None:
            return None
        places = plan.places[plan.column.levels.find(anchor)]
        if places < 0:
            raise DataError(
                explained(
                    f"{self.name}(anchor)",
                    repr(anchor),
                    f"one of the levels {list(plan.stats.labels)[:6]}",
                    "Name one that is shown",
                )
            )
        return int(places)

    def read(
        self, plan: LevelPlan, local: Local, about: About, *, exact: bool, kind: WeightKind
    ) -> Effect:
        """Average."""
        anchored = self._anchor(plan) is not None
        spec = Spec(
            self.name,
            "anchor" if anchored else self.base.center,
            "none",
            weight_kind=kind,
            parameters=self.describe(),
        )
        r = local.kept
        rows = Rows(r["x"], None, r.get("weight"), exact) if r else None
        curved = "curve" in r
        curves = Curves(r["curve"], r["x"], r["row"], r.get("weight"), exact) if curved else None
        m = local.moments
        effect = depend_levels(plan.stats, m[RAW], m[ANCHORED], spec, about, rows, curves)
        said = {"grid": plan.chosen, "rows_outside": plan.column.outside, **plan.notes}
        return effect.with_provenance(said)


def _given(column: LevelColumn, asked: list[Any], method: str) -> Ints:
    places = np.array([column.levels.find(v) for v in asked], dtype=np.int64)
    absent = [v for v, p in zip(asked, places, strict=True) if p < 0]
    if absent or len(places) == 0 or len(np.unique(places)) < len(places):
        raise DataError(
            explained(
                f"{method}(grid) of {column.feature.name!r}",
                f"{absent[0]!r}, which no row has" if absent else "no level, or one twice",
                f"some of the observed levels {list(column.levels.labels)[:6]}",
                "Name each level once",
            )
        )
    return places
