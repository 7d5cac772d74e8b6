"""How many model rows a pass asks for, counted from its plan without calling the model."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from skedasis._types import Floats, OutputLabel, ResultKey, Values
from skedasis.data.dataset import Batch, even_places
from skedasis.engine.prepare import Job, planned_like, resolve_method_and_selection
from skedasis.engine.run import BatchWork
from skedasis.quantities.evaluator import BatchEvaluator, ModelRows, ResponseCache, SetChanges

COUNTED = 4_096
"""Most rows at which model rows are counted. Of more rows, these are taken at even steps."""


class CountingEvaluator(BatchEvaluator):
    """Evaluator that counts the rows of each call, and answers zeros."""

    def _call(self, changes: SetChanges, sets: int, where: str) -> Floats:
        n = sets * len(self)
        if n:
            self._response(changes, sets, where)
        return np.zeros(n)

    def _ask(self, changes: SetChanges, sets: int, where: str) -> Values:
        self.stats.rows += sets * len(self)
        return np.empty(0)

    def _ask_slopes(self, rows: ModelRows, n: int) -> Floats:
        self.stats.slope_rows += n
        return np.zeros((n, len(self.batch.dataset.features)))


@dataclass(frozen=True)
class RowCount:
    """The rows that a pass asks for."""

    model: float = 0.0
    slope: float = 0.0
    later: float = 0.0

    def __add__(self, other: RowCount) -> RowCount:
        return RowCount(
            self.model + other.model, self.slope + other.slope, self.later + other.later
        )


def count_rows(job: Job) -> dict[ResultKey, RowCount]:
    """Return the rows that a pass asks for, by feature or pair; the first feature's include those that all share."""
    n = len(job.dataset)
    work = BatchWork.of(replace(job, sample=None))
    keys = [t.key for t in job.tasks]
    found = dict.fromkeys(keys, RowCount())
    places = even_places(n, COUNTED)
    for some in np.array_split(places, math.ceil(len(places) / job.batch_rows)):
        for key, count in _count_batch(job, work, job.dataset.whole.take(some)).items():
            found[key] += count
    more = n / len(places)
    return {
        key: RowCount(
            count.model * more,
            count.slope * more,
            # A second round asks for at most two rows for each row and output.
            2.0 * n * sum(plan[1] == key and job.may_continue(plan) for plan in job.plans),
        )
        for key, count in found.items()
    }


def _count_batch(job: Job, work: BatchWork, batch: Batch) -> dict[ResultKey, RowCount]:
    """Return the rows that a batch asks for, by feature or pair."""
    cache = ResponseCache() if len(job.outputs) > 1 else None
    shared: dict[str, object] = {}
    evaluators: dict[OutputLabel, BatchEvaluator] = {}
    for label, quantity in job.outputs.items():
        one = CountingEvaluator(quantity, batch, job.copies, job.checked.eps, None, cache)
        one.shared = shared
        evaluators[label] = one
    found: dict[ResultKey, RowCount] = {}
    model = slope = 0
    for task in job.tasks:
        only = replace(work, variants={task.key: task.variant})
        only.compute(batch, evaluators, _nothing)
        rows = sum(e.stats.rows for e in evaluators.values())
        slopes = sum(e.stats.slope_rows for e in evaluators.values())
        found[task.key] = RowCount(rows - model, slopes - slope)
        model, slope = rows, slopes
    return found


def _nothing() -> None:
    """Show no progress."""


def count_rows_of(job: Job, method: object, names: list[str]) -> dict[ResultKey, RowCount]:
    """Return the rows that another method asks for at the rows of a job. The method may not use derivatives."""
    resolved, selection = resolve_method_and_selection(
        method, job.quantity, job.dataset, names, job.options
    )
    return count_rows(planned_like(job, resolved, selection, job.options))
