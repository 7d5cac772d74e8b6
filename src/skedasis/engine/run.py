"""Run: the loop over batches and features, with threads and a progress bar.

In: a `Job`. Out: the statistics of all rows for each of its plans, as the methods' `compute` returns them for a batch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from skedasis._progress import Further, Progress, current_work
from skedasis._types import Floats, OutputLabel, ResultKey
from skedasis.data.dataset import Batch, Dataset
from skedasis.data.row_rules import KeptRows
from skedasis.engine.observed import ObservedWork
from skedasis.engine.prepare import Job, Plans, TaskKey
from skedasis.methods.base import AnyFeatureMethod, AnyPairMethod
from skedasis.methods.missing import MISSING, Donors, missing_moments
from skedasis.methods.plans import BatchStats, RowStore
from skedasis.models.calling import CallStats, ChunkedCaller, one_thread_each
from skedasis.quantities.base import CALL_ROWS, Quantity
from skedasis.quantities.evaluator import BatchEvaluator, ProbeResult, ResponseCache
from skedasis.quantities.joint_calls import JointCalls, in_few_calls, joint_calls
from skedasis.quantities.tree_evaluator import Outputs
from skedasis.stats.moments import MergeTree

# ------------------------------------------------------------------------------------------
# The loop over batches.


GatheredStats: TypeAlias = dict[TaskKey, BatchStats]

AnyMethod: TypeAlias = AnyFeatureMethod | AnyPairMethod

Advance: TypeAlias = Callable[[], None]
"""Counts one finished step of the work."""


class Worker(threading.local):
    """A thread's evaluators of its previous batch, whose memory the next batch reuses."""

    def __init__(self, outputs: int) -> None:
        self.evaluators: list[BatchEvaluator | None] = [None] * outputs


@dataclass(frozen=True, eq=False)
class BatchWork:
    """What is to be computed of each batch: all that does not depend on the rows."""

    outputs: Outputs
    variants: Mapping[ResultKey, AnyMethod]
    plans: Plans
    donors: Mapping[TaskKey, Donors]
    eps: float
    copies: int
    sample: KeptRows | None
    room: int
    own: Mapping[OutputLabel, Floats]
    observed: ObservedWork | None

    @classmethod
    def of(cls, job: Job) -> BatchWork:
        variants = {t.key: t.variant for t in job.tasks}
        return cls(
            job.outputs,
            variants,
            job.plans,
            job.donors,
            job.checked.eps,
            job.copies,
            job.sample,
            job.joint_rows,
            job.own,
            job.observed,
        )

    def compute(
        self,
        batch: Batch,
        evaluators: Mapping[OutputLabel, BatchEvaluator],
        advance: Advance,
        joint: JointCalls | None = None,
    ) -> GatheredStats:
        keep = None if self.sample is None else self.sample.mask(batch)

        def compute_one(name: ResultKey) -> GatheredStats:
            found: GatheredStats = {}
            for label, evaluator in evaluators.items():
                key = label, name
                if key not in self.plans:  # later rounds plan some outputs only
                    continue
                found[key] = self.variants[name].compute(evaluator, self.plans[key], keep)
                if key in self.donors:
                    moments, refusal = missing_moments(evaluator, self.donors[key])
                    found[key].moments[MISSING] = moments
                    if refusal:
                        found[key].notes = {**found[key].notes, "missing": refusal}
            return found

        gathered: GatheredStats = {}
        works = [partial(compute_one, name) for name in self.variants]
        for found in in_few_calls(joint, works):
            gathered |= found
            for evaluator in evaluators.values():
                evaluator.forget()
            for _ in found:
                advance()
        if self.observed is not None:
            # Last, so that effects are computed as without: known values at the rows would change which rows are asked.
            self.observed.add(evaluators, gathered)
        return gathered


class RowCollection:
    """The kept rows of all features, which are added batch by batch."""

    def __init__(self, keys: Sequence[TaskKey], capacity: int) -> None:
        self._values = RowStore[np.float64](keys, capacity)
        self._row_ids = RowStore[np.int64](keys, capacity)

    def take(self, gathered: GatheredStats) -> None:
        """Move the kept rows of a batch here."""
        for key, local in gathered.items():
            self._values.add(key, local.kept)
            if local.row_id is not None:
                self._row_ids.add(key, {"row_id": local.row_id})
            local.kept, local.row_id = {}, None

    def give(self, merged: GatheredStats) -> None:
        """Put all rows into the merged statistics."""
        for key, local in merged.items():
            local.kept, local.row_id = self._values.of(key), self._row_ids.of(key).get("row_id")

    def most(self) -> int:
        """Return the largest number of rows that a feature has: of features with missing values fewer are kept."""
        return self._values.most()


@dataclass(eq=False)
class RowsDone:
    """The statistics of consecutive batches."""

    tree: MergeTree[GatheredStats]
    kept: list[GatheredStats]
    stats: CallStats
    steps: int = 0
    """Steps that no progress bar has counted, because they were done elsewhere."""

    def count_step(self) -> None:
        self.steps += 1


class ComputePass:
    """The pass that calls the model."""

    def __init__(
        self, quantity: Quantity, work: BatchWork, caller: ChunkedCaller, advance: Advance | None
    ) -> None:
        self.quantity, self.work, self.advance = quantity, work, advance
        self.caller, self.worker = caller, Worker(len(work.outputs))

    def __reduce__(self) -> tuple[object, ...]:
        """Return how workers of a cluster make this pass: with calls of their own."""
        return _pass_elsewhere, (self.quantity, self.work)

    def state(self) -> RowsDone:
        """Return the statistics of no rows."""
        return RowsDone(MergeTree(merge_gathered), [], CallStats())

    def prepare(self, rows: Dataset) -> Dataset:
        """Return rows as the model takes them."""
        return self.quantity.prepare(rows)

    def add(self, state: RowsDone, number: int, batch: Batch) -> None:
        work, previous = self.work, self.worker.evaluators
        advance = state.count_step if self.advance is None else self.advance
        joint = joint_calls(work.room, len(batch))
        evaluators = evaluators_of(
            work.outputs, batch, work.eps, self.caller, work.copies, previous, joint
        )
        for label, values in work.own.items():
            evaluators[label].know(values[batch.places])
        gathered = work.compute(batch, evaluators, advance, joint)
        self.worker.evaluators = [*evaluators.values()]
        state.stats.add(stats_of(evaluators))
        state.kept.append({key: local.detach_rows() for key, local in gathered.items()})
        state.tree.put(number, gathered)

    def merge(self, state: RowsDone, other: RowsDone) -> None:
        """Add the batches that follow."""
        state.tree.merge(other.tree)
        state.kept += other.kept
        state.stats.add(other.stats)
        state.steps += other.steps


def _pass_elsewhere(quantity: Quantity, work: BatchWork) -> ComputePass:
    return ComputePass(quantity, work, ChunkedCaller(), None)


def run(job: Job) -> GatheredStats:
    """Go through the rows once, and return their statistics, merged in a tree fixed by the numbers of the batches."""
    caller, options = job.checked.caller, job.options
    tree: MergeTree[GatheredStats] = MergeTree(merge_gathered)
    rows = RowCollection(list(job.plans), job.n_kept)
    steps = -(-len(job.dataset) // job.batch_rows) * len(job.plans)
    limiter = one_thread_each() if limits_model_threads(job) else nullcontext()
    what = f"{job.method.name} of {job.quantity.describe()}"
    # The round that may follow takes about as long.
    further = Further(1.0, certain=True) if any(map(job.may_continue, job.plans)) else None
    with limiter as begin, Progress(steps, what, options.progress, further) as bar:
        caller.heartbeat = lambda: bar.advance(0)
        work = ComputePass(job.quantity, BatchWork.of(job), caller, bar.advance)
        size, memory, n_jobs = job.batch_rows, options.memory_bytes, options.n_jobs
        done = job.dataset.fold_batches(work, size, memory, n_jobs, begin, caller.stop)
        with closing(done):
            for _, part in done:
                job.stats.add(part.stats)
                if part.steps:
                    # The model was called elsewhere, by a worker of a cluster.
                    current_work().add(part.stats.rows)
                for kept in part.kept:
                    rows.take(kept)
                tree.merge(part.tree)
                bar.advance(part.steps)
    merged = tree.result()
    rows.give(merged)
    if job.sample is not None:
        job.dataset.note_kept(rows.most())
    return merged


def values_at_rows(
    outputs: Outputs,
    dataset: Dataset,
    checked: ProbeResult,
    stats: CallStats,
    size: int | None = None,
) -> dict[OutputLabel, Floats]:
    """Return outputs of one model at the rows of a dataset, (n,): one model row for each row, none of trees.

    The cost is added to `stats`; `size` is the number of rows of a batch.
    """
    limits = [q.batch_rows for q in outputs.values()]
    size = min([CALL_ROWS if size is None else size, *(n for n in limits if n is not None)])
    values: dict[OutputLabel, list[Floats]] = {label: [] for label in outputs}
    for batch in dataset.batches(size):
        evaluators = evaluators_of(outputs, batch, checked.eps, checked.caller, 1)
        for label, evaluator in evaluators.items():
            values[label].append(np.array(evaluator.values()))
        stats.add(stats_of(evaluators))
    return {label: np.concatenate(some) for label, some in values.items()}


def stats_of(evaluators: Mapping[OutputLabel, BatchEvaluator]) -> CallStats:
    """Return the calls and rows of some evaluators."""
    stats = CallStats()
    for evaluator in evaluators.values():
        stats.add(evaluator.stats)
    return stats


def merge_gathered(left: GatheredStats, right: GatheredStats) -> GatheredStats:
    """Return the statistics of the rows of both, without the row arrays."""
    return {key: local.merge(right[key]) for key, local in left.items()}


def limits_model_threads(job: Job) -> bool:
    """Return whether several threads call the model, so that its own thread pools are limited to one thread."""
    return job.options.n_jobs > 1 and len(job.dataset) > job.batch_rows


def make_evaluators(
    job: Job, batch: Batch, copies: int, joint: JointCalls | None = None
) -> dict[OutputLabel, BatchEvaluator]:
    """Return an evaluator of a batch for each output of a job."""
    return evaluators_of(
        job.outputs, batch, job.checked.eps, job.checked.caller, copies, joint=joint
    )


def evaluators_of(
    outputs: Outputs,
    batch: Batch,
    eps: float,
    caller: ChunkedCaller,
    copies: int,
    previous: list[BatchEvaluator | None] | None = None,
    joint: JointCalls | None = None,
) -> dict[OutputLabel, BatchEvaluator]:
    """Return an evaluator of a batch for each output of one model.

    With `joint`, the computations that use them are to be started by `in_few_calls`.
    """
    cache = ResponseCache() if len(outputs) > 1 or joint is not None else None
    used: list[BatchEvaluator | None] = [None] * len(outputs) if previous is None else previous
    shared: dict[str, object] = {}
    evaluators: dict[OutputLabel, BatchEvaluator] = {}
    for (label, quantity), finished in zip(outputs.items(), used, strict=True):
        evaluator = quantity.evaluator(batch, copies, eps, finished, cache)
        evaluator.shared, evaluator.caller, evaluator.joint = shared, caller, joint
        evaluators[label] = evaluator
    return evaluators
