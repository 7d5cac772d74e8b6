"""Plans that were made on all rows, met by a part of the rows: cells stay, what is counted by rows does not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skedasis._types import Ints
from skedasis.data.categories import LevelColumn
from skedasis.data.column_stats import Column
from skedasis.data.dataset import Source
from skedasis.engine.choose import Task
from skedasis.engine.prepare import Plans
from skedasis.errors import DataError, explained
from skedasis.methods.ale_categorical import LevelPlan
from skedasis.methods.ale_pairs import SideColumn, side_of
from skedasis.methods.base import Plan


@dataclass(frozen=True, eq=False)
class Part:
    """The rows that one of several models is explained on.

    Parameters
    ----------
    rows : ndarray of int
        Places among the source's rows, ascending.
    parts : tuple of ndarray of int
        The same of all models.
    """

    rows: Ints
    parts: tuple[Ints, ...]

    def met(
        self, source: Source, tasks: list[Task], plans: Plans
    ) -> tuple[Source, list[Task], Plans]:
        """Return source, tasks and plans for these rows: on the same grid, bins and levels.

        Raises
        ------
        DataError
            Where none of the rows has a value of a feature.
        """
        if all(len(rows) == len(source) for rows in self.parts):
            return source, tasks, plans
        some = some_rows(source, self.rows)
        mine = [
            replace(t, columns=tuple(_column(c, self.rows, some) for c in t.columns)) for t in tasks
        ]
        of = {t.key: t for t in mine}
        plans = {key: _plan(plan, of[key[1]]) for key, plan in plans.items()}
        return some, mine, plans


def some_rows(source: Source, rows: Ints) -> Source:
    """Return some of the rows: all of those that a model is to be explained on, and no sample of them."""
    return source if len(rows) == len(source) else replace(source.only(rows), sampled=False)


def _column(column: Any, rows: Ints, some: Source) -> Any:
    if isinstance(column, LevelColumn):
        return _levels(column, rows, some)
    if not isinstance(column, Column):
        return column
    x = some.table.column(column.feature.position, some.row_id)
    if np.isnan(x).all():
        raise _nothing(column.feature.name, len(x))
    return Column(column.feature, x, some.weights, column.dtype)


def _levels(column: LevelColumn, rows: Ints, some: Source) -> LevelColumn:
    """Return a categorical feature's column with all its levels, also those that none of these rows has."""
    codes, size = column.codes[rows], len(column.levels)
    there = codes >= 0
    if not there.any():
        raise _nothing(column.feature.name, len(codes))
    count = np.bincount(codes[there], minlength=size)
    weights = None if some.weights is None else some.weights[there]
    weight = np.bincount(codes[there], weights, minlength=size).astype(float)
    left = int(np.count_nonzero(~there))
    blank = column.feature.kind == "nominal" and None in column.levels.values
    missing = int(count[column.levels.values.index(None)]) if blank else 0
    if not blank and not column.outside:
        missing = left
    return replace(
        column,
        codes=codes,
        weights=some.weights,
        count=count.astype(np.int64),
        weight=weight,
        missing=missing,
        outside=left if column.outside else 0,
        source=some,
    )


def _nothing(feature: str, rows: int) -> DataError:
    return DataError(
        explained(
            f"feature {feature!r}",
            f"no value in the {rows:,} rows of one of the models",
            "at least one value for each model",
            "Use fewer folds, or leave the feature out",
        )
    )


def _plan(plan: Any, task: Task) -> Any:
    """Return a plan with the same cells for some of the rows."""
    if isinstance(plan, LevelPlan):
        return LevelPlan.of(task.column, plan.order, plan.chosen)
    if isinstance(plan, Plan):
        return replace(plan, column=task.column.summary())
    sides = getattr(plan, "sides", None)
    if sides is None:
        return plan
    mine = tuple(_side(s, c) for s, c in zip(sides, task.columns, strict=True))
    return replace(plan, sides=mine)


def _side(side: SideColumn, column: Any) -> SideColumn:
    if side.levels is None:
        return replace(side, summary=column.summary())
    return side_of(LevelPlan.of(column, side.levels.order, side.levels.chosen))
