"""ALE of categorical features, and RHALE of ordinal features.

Levels are put into an order: the feature's own, the user's, or one by the similarity of levels in the other features.
Each row is moved one level down and one level up. The difference between two adjacent levels is averaged over the rows
of both, and these differences are accumulated (Apley & Zhu 2020; docs/explanation/levels-and-pairs.md). Rows move to
similar levels only, which avoids extrapolation, as small bins do for numeric features. The RHALE of an ordinal feature
additionally groups adjacent differences of similar size.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self, TypeAlias

import numpy as np

from skedasis._types import Bools, Floats, Ints, JsonValue, Level
from skedasis.binning import Binning
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Column
from skedasis.data.dataset import Dataset
from skedasis.data.features import Feature
from skedasis.errors import DataError
from skedasis.methods.base import (
    BaseT_co,
    ByFeature,
    FeatureMethod,
    MethodVariant,
    param_for_feature,
)
from skedasis.methods.plans import BatchStats, Notes, kept_rows, select_rows
from skedasis.models.adapters import DerivativeInfo
from skedasis.quantities.evaluator import BatchEvaluator, SweptValues
from skedasis.results.axis import BY_SIMILARITY, LevelStats
from skedasis.results.build.categorical import accumulated_categorical_effect, group_steps
from skedasis.results.build.pairs import LevelPairAxis
from skedasis.results.build.steps import Steps, mask_missing_steps, step_moments
from skedasis.results.effect import About, Effect, format_values
from skedasis.stats.moments import WeightKind

if TYPE_CHECKING:
    from skedasis.methods.ale import Accumulated

_StepsBase: TypeAlias = "Accumulated"

MOST_LEVELS = 2000
"""Maximum number of levels without `top_levels`: a feature with more levels may be an identifier."""

Order: TypeAlias = str | Sequence[Level] | None
"""The order of a feature's levels: None, "similarity", or the levels."""


@dataclass(frozen=True, eq=False)
class LevelPlan:
    """The levels of a categorical feature, in the order in which they are accumulated or shown.

    `order`, (L,), are the column's codes of the levels in this order, and `places` the position in it of each code, -1
    for levels that are not used; the last entry is for code -1. `chosen` says how the order was chosen.
    """

    column: LevelColumn
    order: Ints
    places: Ints
    chosen: str
    notes: Notes

    def __len__(self) -> int:
        return len(self.order)

    @classmethod
    def of(cls, column: LevelColumn, order: Ints, chosen: str) -> LevelPlan:
        """Return the plan for an order; levels that are not in it are not used."""
        places = np.full(len(column.levels) + 1, -1)
        places[order] = np.arange(len(order))
        levels = column.levels.take(order)
        notes = {"order": list(levels.labels), "order_chosen": chosen}
        return cls(column, order, places, chosen, notes)

    def for_column(self, column: Column | LevelColumn) -> LevelPlan:
        """Return the plan with the same levels for a column of other rows."""
        same = isinstance(column, LevelColumn)
        return LevelPlan.of(column, self.order, self.chosen) if same else self

    @property
    def feature(self) -> Feature:
        return self.column.feature

    @cached_property
    def side(self) -> LevelPairAxis:
        """Return the axis of the feature in a pair."""
        return LevelPairAxis(self.stats)

    @property
    def stats(self) -> LevelStats:
        """Return the levels with their counts, as stored in a result."""
        levels, order = self.column.levels.take(self.order), self.order
        return LevelStats(
            levels.values,
            levels.labels,
            self.column.count[order].astype(int),
            self.column.weight[order].astype(float),
            self.chosen,
        )

    def at(self, evaluator: BatchEvaluator) -> Ints:
        """Return the positions of the rows' levels in the order, -1 for levels that are not used."""
        return self.places[evaluator.codes(self.column)]

    def values(self, evaluator: BatchEvaluator) -> Floats:
        """Return the positions of the rows' levels as numbers, NaN for missing values and omitted levels."""
        position = self.at(evaluator).astype(float)
        return np.where(position < 0, np.nan, position)

    def located(self, evaluator: BatchEvaluator) -> tuple[Floats, Ints]:
        """Return the positions of the rows' levels, and their homes in a pair."""
        values = self.values(evaluator)
        return values, self.side.home_of(values)

    def changes(self, places: Ints) -> SweptValues:
        """Return the changes that insert the levels at these positions in the order, (m,) or (n, m)."""
        return self.column.replacements(self.order[places])


@dataclass(frozen=True)
class LevelVariant(MethodVariant[BaseT_co], FeatureMethod[LevelColumn, LevelPlan, Effect]):
    """Base class of the variants for a categorical feature."""

    def read_column(self, dataset: Dataset, feature: Feature) -> LevelColumn:
        return dataset.levels(feature, top=self.base.top_levels, most=MOST_LEVELS)


@dataclass(frozen=True)
class LevelSteps(LevelVariant[_StepsBase]):
    """The ALE of a categorical feature; if `grouped`, the RHALE of an ordinal feature."""

    order: Order | ByFeature[Order] = None
    grouped: bool = False
    instead_of: str = ""

    batch_rows = 25_000
    of_rows = "effects"

    @property
    def name(self) -> str:
        """Return the name of the user's method; "ALE" if this variant replaces it."""
        return self.base.name if self.grouped or not self.instead_of else "ALE"

    def choosing_scheme(self) -> Binning | None:
        """Return the scheme that groups differences, if they are grouped and it chooses by them, else None."""
        return self.base.choosing_scheme() if self.grouped else None

    def with_scheme(self, scheme: Binning) -> Self:
        return replace(self, base=self.base.with_scheme(scheme))

    def plan(self, column: LevelColumn, derivative_info: DerivativeInfo) -> LevelPlan:
        requested = param_for_feature(self.order, column.feature, None)
        order, chosen = ordered(column, requested, self.name)
        return LevelPlan.of(column, order, chosen)

    def row_bytes(self, plan: LevelPlan) -> int:
        """Return the bytes of a position, two differences and a weight."""
        return 32

    def compute(self, evaluator: BatchEvaluator, plan: LevelPlan, keep: Bools | None) -> BatchStats:
        """Move each row to the adjacent levels, and return the moments of the differences by level."""
        position, size = plan.at(evaluator), len(plan)
        if (position < 0).any():
            rows = np.flatnonzero(position >= 0)
            evaluator, position = evaluator.subset(rows), position[rows]
            keep = None if keep is None else keep[rows]
        if len(position) == 0 or size == 1:
            down = up = np.zeros(len(position))
        else:
            down, up = adjacent_differences(evaluator, plan.changes, position, size)
        both = mask_missing_steps(down, up, position, size)
        kept = {"x": position.astype(float), "effect": both, "weight": evaluator.weights}
        return steps_of_levels(plan, kept, keep)

    def finalize(
        self, plan: LevelPlan, stats: BatchStats, about: About, *, exact: bool, kind: WeightKind
    ) -> Effect:
        """Accumulate the differences between adjacent levels."""
        base, levels = self.base, plan.stats
        spec = replace(base.accumulated_spec("levels", kind), method=self.name)
        runs = np.arange(len(levels))
        if self.grouped and len(levels) > 1:
            runs = group_steps(
                base.binning(), Steps.of(stats.moments).pooled, spec, stats.largest, about
            )
        rows = kept_rows(stats, exact=exact)
        effect = accumulated_categorical_effect(levels, stats.moments, runs, spec, about, rows)
        notes: dict[str, JsonValue] = {
            "local_effects": "differences between neighbouring levels",
            "rows_outside": plan.column.n_other,
            **plan.notes,
        }
        if self.instead_of:
            notes["instead_of"] = f"{self.instead_of}, which has no slopes between levels"
        return effect.with_provenance(notes)


def steps_of_levels(
    plan: LevelPlan, rows: Mapping[str, Floats | None], keep: Bools | None
) -> BatchStats:
    """Return the moments of differences between adjacent levels from the rows' positions and both differences."""
    both, position = rows["effect"], rows["x"]
    if both is None or position is None:
        raise TypeError("rows have differences")
    down, up = np.ascontiguousarray(np.where(np.isnan(both), 0.0, both).T)
    moments = step_moments(down, up, position.astype(np.int64), len(plan), rows.get("weight"))
    largest = float(max(np.abs(down).max(initial=0.0), np.abs(up).max(initial=0.0)))
    return BatchStats(moments, select_rows(rows, keep), largest)


def adjacent_differences(
    evaluator: BatchEvaluator, changes: Callable[[Ints], SweptValues], position: Ints, size: int
) -> tuple[Floats, Floats]:
    """Return each row's difference from the previous value or level, and to the next one; 0 where there is none.

    `changes` returns the changes that insert the values at the given positions, (n, 1), into the feature's columns.
    `position`, (n,), are those of the rows' values among `size` values, two or more. Costs one model row per row for
    all features together, and one for each adjacent value of each row.
    """
    last = size - 1
    own = evaluator.values()
    # One call moves every row: up where possible, else down. A second call moves the inner rows down.
    neighbour = np.where(position < last, position + 1, position - 1)
    moved = evaluator.sweep_together(changes(neighbour[:, None]), 1)[:, 0]
    up = np.where(position < last, moved - own, 0.0)
    down = np.where(position < last, 0.0, own - moved)
    inner = np.flatnonzero((position > 0) & (position < last))
    if len(inner):
        below = changes((position[inner] - 1)[:, None])
        down[inner] = own[inner] - evaluator.subset(inner).sweep_together(below, 1)[:, 0]
    return down, up


def ordered(column: LevelColumn, requested: Order, method: str) -> tuple[Ints, str]:
    """Return the order of a categorical feature's levels, and how it was chosen."""
    feature = column.feature
    if requested is None:
        if feature.kind == "ordinal" or feature.levels is not None:
            return own_order(column)
        requested = "similarity"
    if isinstance(requested, str) or not isinstance(requested, Iterable):
        if requested != "similarity":
            raise DataError(
                f"{method}(order)",
                repr(requested),
                "None, 'similarity' or a sequence of levels",
                "Write the levels in their order: order=['low', 'high']",
            )
        return column.similarity_order(), BY_SIMILARITY
    return _user_order(column, list(requested), method), "given"


def _user_order(column: LevelColumn, requested: list[Hashable], method: str) -> Ints:
    """Return the codes of the levels in the user's order; raise unless it has each observed level once."""
    codes = np.array([column.levels.named(v) for v in requested], dtype=np.int64)
    codes = codes[codes >= 0]
    absent = np.setdiff1d(np.arange(len(column.levels)), codes)
    got, fix = "", "Add the levels that are not in the order"
    if len(absent):
        got = f"no {format_values([column.levels.labels[i] for i in absent])}"
    elif len(set(codes.tolist())) < len(codes):
        got, fix = "a level twice", "Name each level once"
    if got:
        raise DataError(
            f"{method}(order) of {column.feature.name!r}",
            got,
            f"each of the {len(column.levels)} observed levels once",
            fix,
        )
    return codes


def own_order(column: LevelColumn) -> tuple[Ints, str]:
    """Return the feature's own order of its levels, and how it was chosen."""
    chosen = "declared" if column.feature.levels is not None else "ascending values"
    return np.arange(len(column.levels)), chosen
