"""The loop over batches and features, with threads and a progress bar."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from skedasis._types import Bools, OutputLabel, ResultKey
from skedasis.data.dataset import Batch
from skedasis.engine.plan import HashedRows, Job, Plans, TaskKey
from skedasis.engine.progress import Further, Progress, in_words, map_in_order
from skedasis.errors import CostWarning, warn_caller
from skedasis.methods.base import AnyFeatureMethod, AnyPairMethod, BatchStats, RowStore
from skedasis.methods.missing import MISSING, Donors, missing_moments
from skedasis.models.calling import CallStats, ChunkedCaller, one_thread_each
from skedasis.quantities.base import Quantity
from skedasis.quantities.evaluator import BatchEvaluator, ResponseCache
from skedasis.quantities.tree_evaluator import Outputs
from skedasis.stats.moments import MergeTree

if TYPE_CHECKING:
    from skedasis.data.arrow import ArrowTable
    from skedasis.data.streamed import ChunkReader, StreamedDataset

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
    sample: Bools | HashedRows | None

    @classmethod
    def of(cls, job: Job) -> BatchWork:
        """Return the work of a job."""
        variants = {t.key: t.variant for t in job.tasks}
        return cls(
            job.outputs,
            variants,
            job.plans,
            job.donors,
            job.checked.eps,
            job.copies,
            job.sample,
        )

    def evaluators(
        self,
        batch: Batch,
        caller: ChunkedCaller,
        previous: list[BatchEvaluator | None] | None = None,
    ) -> dict[OutputLabel, BatchEvaluator]:
        return evaluators_of(self.outputs, batch, self.eps, caller, self.copies, previous)

    def compute(
        self, batch: Batch, evaluators: Mapping[OutputLabel, BatchEvaluator], advance: Advance
    ) -> GatheredStats:
        """Return the statistics of one batch."""
        keep = _kept(self.sample, batch)
        gathered: GatheredStats = {}
        for name, variant in self.variants.items():
            for label, evaluator in evaluators.items():
                key = label, name
                if key not in self.plans:  # later rounds plan some outputs only
                    continue
                gathered[key] = variant.compute(evaluator, self.plans[key], keep)
                if key in self.donors:
                    moments, refusal = missing_moments(evaluator, self.donors[key])
                    gathered[key].moments[MISSING] = moments
                    if refusal:
                        gathered[key].notes = {**gathered[key].notes, "missing": refusal}
                advance()
            for evaluator in evaluators.values():
                evaluator.forget()
        return gathered


def _kept(sample: Bools | HashedRows | None, batch: Batch) -> Bools | None:
    """Return a mask of a batch's kept rows, None for all."""
    if sample is None:
        return None
    if isinstance(sample, HashedRows):
        return sample.mask(batch.identifiers)
    return sample[batch.places]


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


def run(job: Job) -> GatheredStats:
    """Go through the rows once, and return their statistics, merged in a tree fixed by the numbers of the batches."""
    if job.dataset.streamed:
        return _run_in_chunks(job, cast("StreamedDataset", job.dataset))
    work_of_batch, worker = BatchWork.of(job), Worker(len(job.outputs))
    batches = list(job.dataset.batches(job.batch_rows))
    tree: MergeTree[GatheredStats] = MergeTree(merge_gathered)
    rows = RowCollection(list(job.plans), job.n_kept)
    steps = len(batches) * len(job.plans)
    caller = job.checked.caller
    limiter = one_thread_each() if limits_model_threads(job) else nullcontext()
    what = f"{job.method.name} of {job.quantity.describe()}"
    with limiter as begin, Progress(steps, what, job.options.progress, _further(job)) as bar:
        caller.heartbeat = lambda: bar.advance(0)

        def work(batch: Batch) -> tuple[GatheredStats, CallStats]:
            evaluators = work_of_batch.evaluators(batch, caller, worker.evaluators)
            gathered = work_of_batch.compute(batch, evaluators, bar.advance)
            worker.evaluators = [*evaluators.values()]
            return gathered, stats_of(evaluators)

        done = map_in_order(work, batches, job.options.n_jobs, begin, caller.stop)
        with closing(done):
            for leaf, (gathered, stats) in enumerate(done):
                if leaf == 0:
                    warn_if_costly(job, stats, len(batches[0]))
                job.stats.add(stats)
                rows.take(gathered)
                tree.put(leaf, gathered)
    merged = tree.result()
    rows.give(merged)
    return merged


def _further(job: Job) -> Further | None:
    """Return the round that may follow, which takes about as long; None if there is none."""
    may_continue = any(job.may_continue(key) for key in job.plans)
    return Further(1.0, certain=True) if may_continue else None


COSTLY = 100_000_000
"""Model rows from which a warning states the cost."""


def warn_if_costly(job: Job, stats: CallStats, n: int) -> None:
    """Warn if all rows ask the model for very many rows, as their first n did."""
    rows = len(job.dataset)
    asked = (stats.rows + stats.slope_rows) / n * rows
    if n >= rows or asked < COSTLY:
        return
    seconds = stats.seconds / n * rows / max(job.options.n_jobs, 1)
    features = f"{len(job.tasks):,} feature{'s' * (len(job.tasks) != 1)}"
    warn_caller(
        f"{job.method.name} of {features} asks the model for about {asked:.2g} rows, {in_words(seconds)} of the "
        f"model's time as measured so far. Less costs: {job.method.cheaper}.",
        CostWarning,
    )


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
    job: Job, batch: Batch, copies: int, previous: list[BatchEvaluator | None] | None = None
) -> dict[OutputLabel, BatchEvaluator]:
    checked = job.checked
    return evaluators_of(job.outputs, batch, checked.eps, checked.caller, copies, previous)


def evaluators_of(
    outputs: Outputs,
    batch: Batch,
    eps: float,
    caller: ChunkedCaller,
    copies: int,
    previous: list[BatchEvaluator | None] | None = None,
) -> dict[OutputLabel, BatchEvaluator]:
    """Return an evaluator of a batch for each output of one model."""
    cache = ResponseCache() if len(outputs) > 1 else None
    used: list[BatchEvaluator | None] = [None] * len(outputs) if previous is None else previous
    shared: dict[str, object] = {}
    evaluators: dict[OutputLabel, BatchEvaluator] = {}
    for (label, quantity), finished in zip(outputs.items(), used, strict=True):
        evaluator = quantity.evaluator(batch, copies, eps, finished, cache)
        evaluator.shared, evaluator.caller = shared, caller
        evaluators[label] = evaluator
    return evaluators


# ------------------------------------------------------------------------------------------
# Data that are read in chunks.
@dataclass(frozen=True, eq=False)
class Chunk:
    """The statistics of a chunk of rows."""

    nodes: list[tuple[int, int, GatheredStats]]
    kept: list[GatheredStats]
    stats: CallStats


@dataclass(frozen=True, eq=False)
class ComputePass:
    """The pass that calls the model."""

    reader: ChunkReader
    quantity: Quantity
    work: BatchWork
    batch_rows: int

    def compute(
        self,
        first: int,
        rows: ArrowTable,
        caller: ChunkedCaller,
        worker: Worker,
        advance: Callable[[], None],
    ) -> Chunk:
        """Return the statistics of a chunk, which begins at the border of a leaf."""
        chunk = self.quantity.prepare(self.reader.dataset(rows, first))
        chunk.cache_numbers()
        tree: MergeTree[GatheredStats] = MergeTree(merge_gathered)
        kept: list[GatheredStats] = []
        stats = CallStats()
        for leaf, batch in enumerate(chunk.batches(self.batch_rows), first // self.batch_rows):
            evaluators = self.work.evaluators(batch, caller, worker.evaluators)
            gathered = self.work.compute(batch, evaluators, advance)
            worker.evaluators = [*evaluators.values()]
            stats.add(stats_of(evaluators))
            kept.append({key: local.detach_rows() for key, local in gathered.items()})
            tree.put(leaf, gathered)
        return Chunk(list(tree.nodes()), kept, stats)


def _run_in_chunks(job: Job, dataset: StreamedDataset) -> GatheredStats:
    """Go through the rows in chunks, and return their statistics; see `run`."""
    # Imported here: data in memory do not need it.
    from skedasis.data.parquet import located
    from skedasis.data.streamed import CHUNK_ROWS

    source, caller, worker = dataset.reader.source, job.checked.caller, Worker(len(job.outputs))
    work = ComputePass(dataset.reader, job.quantity, BatchWork.of(job), job.batch_rows)
    tree: MergeTree[GatheredStats] = MergeTree(merge_gathered)
    rows = RowCollection(list(job.plans), job.n_kept)
    steps = -(-len(dataset) // job.batch_rows) * len(job.plans)
    limiter = one_thread_each() if limits_model_threads(job) else nullcontext()
    what = f"{job.method.name} of {job.quantity.describe()}"
    size = _chunk_rows(job, CHUNK_ROWS)

    def take(done: Chunk, n: int) -> None:
        if not job.stats.rows:
            warn_if_costly(job, done.stats, n)
        job.stats.add(done.stats)
        for kept in done.kept:
            rows.take(kept)
        for level, index, node in done.nodes:
            tree.put(index, node, level)

    with limiter as begin, Progress(steps, what, job.options.progress, _further(job)) as bar:
        caller.heartbeat = lambda: bar.advance(0)

        def compute(chunk: tuple[int, ArrowTable]) -> Chunk:
            first, table = chunk
            with located(source, first, table.num_rows):
                return work.compute(first, table, caller, worker, bar.advance)

        if job.options.client is None:
            chunks = source.chunks(size)
            computed = map_in_order(compute, chunks, job.options.n_jobs, begin, caller.stop)
            with closing(computed):
                for done in computed:
                    take(done, size)
        else:
            # Imported here: most calls have no cluster.
            from skedasis.engine.cluster import map_ranges, ranges_of

            client = job.options.client
            ranges = ranges_of(client, len(dataset), size)
            mapped = map_ranges(client, _chunk_of_range, _merged, (work, size), ranges)
            with closing(mapped):
                for n, done in mapped:
                    take(done, n)
                    bar.advance(-(-n // job.batch_rows) * len(job.plans))
    dataset.passes.append("model")
    merged = tree.result()
    rows.give(merged)
    if isinstance(job.sample, HashedRows):
        dataset.kept.append(rows.most())
    return merged


def _chunk_of_range(shared: tuple[ComputePass, int], start: int, stop: int) -> Chunk:
    """Return the statistics of a range of rows, on a worker of a cluster."""
    # Imported here: data in memory do not need it.
    from skedasis.data.parquet import located

    work, size = shared
    source = work.reader.source
    caller, worker = ChunkedCaller(), Worker(len(work.work.outputs))
    done: list[Chunk] = []
    for first, rows in source.chunks(size, start, stop):
        with located(source, first, rows.num_rows):
            done.append(work.compute(first, rows, caller, worker, _nothing))
    return _merged(shared, done)


def _merged(_: tuple[ComputePass, int], chunks: Sequence[Chunk]) -> Chunk:
    """Return the statistics of neighbouring ranges."""
    tree: MergeTree[GatheredStats] = MergeTree(merge_gathered)
    kept: list[GatheredStats] = []
    stats = CallStats()
    for chunk in chunks:
        stats.add(chunk.stats)
        kept += chunk.kept
        for level, index, node in chunk.nodes:
            tree.put(index, node, level)
    return Chunk(list(tree.nodes()), kept, stats)


def _nothing() -> None:
    """Count no step: the progress is shown where the work was submitted."""


def _chunk_rows(job: Job, most: int) -> int:
    """Return the rows that are read at a time: a power of two of leaves, in a quarter of the memory for batches."""
    room = job.options.memory_bytes // (4 * 4 * 8 * max(len(job.dataset.features), 1))
    leaves = max(1, min(room, most) // job.batch_rows)
    return job.batch_rows << (leaves.bit_length() - 1)
