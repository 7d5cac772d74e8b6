"""ALE of categorical features, and RHALE of ordinal features.

Levels are put into an order: the feature's own, a user's, or one in which neighbours are alike in the other features.
Each row is moved one level down and one level up. A step from one level to the next pools the rows of both; steps are
accumulated. Rows move to similar levels only, which for numeric features is what keeps ALE close to the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis._types import Bools, Floats, Ints, Json
from skedasis.data.categories import LevelColumn
from skedasis.data.features import Feature
from skedasis.errors import DataError, explained
from skedasis.methods.base import Bound, Form, Local, chosen, given_for
from skedasis.results.build.categorical import accumulate_levels, grouped
from skedasis.results.build.steps import Steps, existing, step_moments
from skedasis.results.effect import About, Effect, LevelStats, Rows, Spec, joined
from skedasis.stats.moments import WeightKind

MOST_LEVELS = 2000
"""More of them are refused, unless the most frequent ones are asked for: it may be an identifier."""


@dataclass(frozen=True, eq=False)
class LevelPlan:
    """The levels of a categorical feature, in the order in which they are accumulated or shown.

    Parameters
    ----------
    column : LevelColumn
    order : ndarray of int, shape (L,)
        By place in the order: the column's code.
    places : ndarray of int
        By code: the place in the order, -1 for levels that do not take part. The last entry stands for code -1.
    chosen : str
        How the order was chosen.
    notes : dict
        For the provenance.
    """

    column: LevelColumn
    order: Ints
    places: Ints
    chosen: str
    notes: Json

    def __len__(self) -> int:
        return len(self.order)

    @classmethod
    def of(cls, column: LevelColumn, order: Ints, chosen: str) -> LevelPlan:
        """Put the levels into an order; those that are not in it take no part."""
        places = np.full(len(column.levels) + 1, -1)
        places[order] = np.arange(len(order))
        levels = column.levels.take(order)
        notes = {"order": list(levels.labels), "order_chosen": chosen}
        return cls(column, order, places, chosen, notes)

    @property
    def stats(self) -> LevelStats:
        """Return the levels as a result carries them."""
        levels, order = self.column.levels.take(self.order), self.order
        return LevelStats(
            levels.values,
            levels.labels,
            self.column.count[order].astype(int),
            self.column.weight[order].astype(float),
            self.chosen,
        )

    def at(self, bound: Bound) -> Ints:
        """Return the batch's rows' places in the order, -1 for none."""
        return self.places[bound.codes(self.column)]

    def changes(self, places: Ints) -> dict[int, Any]:
        """Return what puts the levels at these places into the feature's columns, (m,) or (n, m)."""
        return self.column.changes(self.order[places])


@dataclass(frozen=True)
class LevelSteps(Form):
    """The ALE of a categorical feature; with `grouped` the RHALE of an ordinal one.

    Parameters
    ----------
    base : ALE, RHALE or UALE
        The method as the user wrote it.
    order : None, "similarity", sequence, or mapping of these by feature
        See `ALE`.
    grouped : bool
        Whether runs of steps are grouped by the bins' scheme.
    instead_of : str
        The method that was asked for, where this one took its place.
    """

    order: Any = None
    grouped: bool = False
    instead_of: str = ""

    batch_rows = 25_000
    scored = True

    @property
    def name(self) -> str:
        """Return the name of the method as the user wrote it; ALE where that has none for categories."""
        return self.base.name if self.grouped or not self.instead_of else "ALE"

    def plan(self, column: LevelColumn, traits: Any) -> LevelPlan:
        """Put the levels into an order."""
        asked = given_for(self.order, column.feature, None)
        order, chosen = ordered(column, asked, self.name)
        return LevelPlan.of(column, order, chosen)

    def sets(self, plans: Sequence[LevelPlan]) -> int:
        """Return how many levels a row is moved to in one call: one at a time."""
        return 1

    def row_bytes(self, plan: LevelPlan) -> int:
        """Return the size of a place, two steps and a weight."""
        return 32

    def local(self, bound: Bound, plan: LevelPlan, keep: Bools | None) -> Local:
        """Move each row to its neighbouring levels, and gather what that changes, level by level."""
        place, size = plan.at(bound), len(plan)
        if (place < 0).any():
            rows = np.flatnonzero(place >= 0)
            bound, place = bound.some(rows), place[rows]
            keep = None if keep is None else keep[rows]
        weights = bound.weights
        outside = 0
        if len(place) == 0 or size == 1:
            down = up = np.zeros(len(place))
        else:
            down, up = to_neighbours(bound, plan.changes, place, size)
        moments = step_moments(down, up, place, size, weights)
        both = existing(down, up, place, size)
        kept = {"x": place.astype(float), "effect": both, "weight": weights}
        largest = float(max(np.abs(down).max(initial=0.0), np.abs(up).max(initial=0.0)))
        return Local(moments, chosen(kept, keep), largest, outside)

    def read(
        self, plan: LevelPlan, local: Local, about: About, *, exact: bool, kind: WeightKind
    ) -> Effect:
        """Accumulate the steps."""
        base, stats = self.base, plan.stats
        spec = Spec(
            self.name,
            base.center,
            "levels",
            base.accumulate,
            base.ddof,
            base.accumulate_se,
            weight_kind=kind,
            parameters=self.describe(),
        )
        runs = np.arange(len(stats))
        if self.grouped and len(stats) > 1:
            runs = grouped(
                base.binning(), Steps.of(local.moments).pooled, spec, local.largest, about
            )
        r = local.kept
        rows = Rows(r["x"], r["effect"], r.get("weight"), exact) if r else None
        effect = accumulate_levels(stats, local.moments, runs, spec, about, rows)
        notes: Json = {
            "local_effects": "differences between neighbouring levels",
            "rows_outside": plan.column.outside,
            **plan.notes,
        }
        if self.instead_of:
            notes["instead_of"] = f"{self.instead_of}, which has no slopes between levels"
        return effect.with_provenance(notes)


def to_neighbours(
    bound: Bound, changes: Callable[[Ints], dict[int, Any]], place: Ints, size: int
) -> tuple[Floats, Floats]:
    """Return each row's step from the value, or level, before and to the one after; zero where there is none.

    Parameters
    ----------
    bound : Bound
    changes : callable
        Returns what puts the values at these places, (n, 1), into the feature's columns.
    place : ndarray of int, shape (n,)
        The rows' places among the values.
    size : int
        How many values there are: at least two.

    Notes
    -----
    Costs each row itself once for all features, and each of its neighbours once.
    """
    last = size - 1
    own = bound.at()
    near = np.where(place < last, place + 1, place - 1)
    moved = bound.sweep_together(changes(near[:, None]), 1)[:, 0]
    up = np.where(place < last, moved - own, 0.0)
    down = np.where(place < last, 0.0, own - moved)
    inner = np.flatnonzero((place > 0) & (place < last))
    if len(inner):
        below = changes((place[inner] - 1)[:, None])
        down[inner] = own[inner] - bound.some(inner).sweep_together(below, 1)[:, 0]
    return down, up


def ordered(column: LevelColumn, asked: Any, method: str) -> tuple[Ints, str]:
    """Return the order of a categorical feature's levels, and how it was chosen.

    Raises
    ------
    DataError
        For an order that misses an observed level, or names one twice.
    """
    feature, size = column.feature, len(column.levels)
    if asked is None:
        if feature.kind == "ordinal" or feature.levels is not None:
            said = "declared" if feature.levels is not None else "ascending values"
            return np.arange(size), said
        asked = "similarity"
    if isinstance(asked, str) or not isinstance(asked, Iterable):
        if asked != "similarity":
            raise DataError(
                explained(
                    f"{method}(order)",
                    repr(asked),
                    "None, 'similarity' or a sequence of levels",
                    "Write the levels in their order: order=['low', 'high']",
                )
            )
        return column.similar(), "similarity of the other features"
    return _as_given(column, list(asked), method), "given"


def _as_given(column: LevelColumn, asked: list[Any], method: str) -> Ints:
    labels = column.levels.labels
    found = [column.levels.find(level) for level in asked]
    # "missing", and what stands in tables for truth values and numbers, name levels too.
    named = [
        labels.index(v) if p < 0 and v in labels else p for v, p in zip(asked, found, strict=True)
    ]
    places = np.array(named, dtype=np.int64)
    there = places[places >= 0]
    absent = np.setdiff1d(np.arange(len(column.levels)), there)
    got, fix = "", "Add what is missing"
    if len(absent):
        got = f"no {joined([column.levels.labels[i] for i in absent])}"
    elif len(set(there.tolist())) < len(there):
        got, fix = "a level twice", "Name each level once"
    if got:
        raise DataError(
            explained(
                f"{method}(order) of {column.feature.name!r}",
                got,
                f"each of the {len(column.levels)} observed levels once",
                fix,
            )
        )
    return there


def own_order(column: LevelColumn, feature: Feature) -> LevelPlan:
    """Return the levels in their own order, where that changes nothing but the look."""
    said = "declared" if feature.levels is not None else "ascending values"
    return LevelPlan.of(column, np.arange(len(column.levels)), said)
