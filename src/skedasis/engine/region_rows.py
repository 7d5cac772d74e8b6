"""Rows of regions of data beyond memory: rules come from the kept rows, and all rows are counted by a pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from skedasis._types import Bools, Floats, Ints
from skedasis.data.categories import LevelColumn
from skedasis.data.dataset import AnyColumn, Dataset, add_each
from skedasis.data.features import Feature
from skedasis.engine.rounds import Computed
from skedasis.methods.ale_categorical import LevelPlan
from skedasis.results.regions import RegionNode


def at_kept_rows(done: Computed) -> Computed:
    """Return the work as if the rows at hand were the data: those that results keep, and those of the scores."""
    job = done.job
    here = job.dataset.kept_rows(job.sample)
    if here is job.dataset:
        return done
    numbers, drawn = here.places_in_x, job.dataset.drawable.places_in_x
    here = job.quantity.prepare(here)
    once = cache(LevelColumn.at_rows)

    def bound(column: AnyColumn) -> AnyColumn:
        """Return a column with the codes of the rows at hand; one of numbers as it is."""
        return once(column, here) if isinstance(column, LevelColumn) else column

    tasks = [task.with_columns(bound) for task in job.tasks]
    plans = {
        key: replace(plan, column=bound(plan.column)) if isinstance(plan, LevelPlan) else plan
        for key, plan in job.plans.items()
    }
    scores = done.scores
    if scores.rows is not None:
        at = np.searchsorted(numbers, drawn[scores.rows.rows])
        scores = replace(scores, rows=replace(scores.rows, rows=at))
    own = replace(job, dataset=here, tasks=tasks, plans=plans)
    return replace(done, job=own, scores=scores)


# ------------------------------------------------------------------------------------ counting
@dataclass(frozen=True, eq=False)
class Rules:
    """The rules of the regions of some features."""

    leaves: tuple[RegionNode, ...]
    features: Mapping[str, Feature]


@dataclass(frozen=True, eq=False)
class RegionCounts:
    """The rows and the weight of each region, (R,), and its rows with a missing value of some features, by name."""

    rows: Ints
    weight: Floats
    missing: dict[str, Ints]


@dataclass(frozen=True, eq=False)
class CountPass:
    """A pass that counts the rows that satisfy rules.

    Its state is an array for each set of rules: a line of rows, one of weights as multiples of a quantum, whose sums do
    not depend on the order, and one of missing values for each feature.
    """

    rules: Sequence[Rules]
    quantum: float | None

    def state(self) -> list[Ints]:
        return [np.zeros((2 + len(r.features), len(r.leaves)), dtype=np.int64) for r in self.rules]

    def add(self, state: list[Ints], first: int, chunk: Dataset) -> None:
        weights = chunk.integer_weights(self.quantum)
        known: dict[int, Bools] = {}
        for counts, rules in zip(state, self.rules, strict=True):
            missing = [chunk.is_missing(feature) for feature in rules.features.values()]
            for number, leaf in enumerate(rules.leaves):
                inside = np.ones(len(chunk), dtype=bool)
                for condition in leaf.conditions:
                    if id(condition) not in known:
                        known[id(condition)] = condition.holds(chunk)
                    inside &= known[id(condition)]
                count = inside.sum()
                weight = count if weights is None else weights[inside].sum()
                counts[:, number] += [count, weight, *(lost[inside].sum() for lost in missing)]

    def merge(self, state: list[Ints], other: list[Ints]) -> None:
        """Add the counts of another range."""
        add_each(state, other)


def count_regions(dataset: Dataset, rules: Sequence[Rules]) -> list[RegionCounts]:
    """Return how many of all rows satisfy rules."""
    quantum = dataset.weight_quantum
    found = dataset.fold(CountPass(rules, quantum), "Counting regions", "rows of regions")
    # Converted at the end: floats would round the sums of multiples beyond 2**53.
    unit = 1.0 if quantum is None else quantum
    return [
        RegionCounts(
            counts[0],
            counts[1].astype(float) * unit,
            dict(zip(r.features, counts[2:], strict=True)),
        )
        for counts, r in zip(found, rules, strict=True)
    ]
