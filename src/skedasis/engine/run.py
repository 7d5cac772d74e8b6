"""The loop over batches and features, with threads and a progress bar.

Batches are the outer loop, features the inner one, so that all features share a batch's rows, buffer, derivatives and
the quantity at its rows. The outputs of a model form a third loop inside: they share the responses that the first of
them caused, through a response cache.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from skedasis._types import OutputLabel
from skedasis.data.dataset import Batch
from skedasis.engine.plan import Job, Key
from skedasis.methods.base import BatchStats, RowStore
from skedasis.methods.missing import MISSING, missing_moments
from skedasis.models.calling import CallStats, one_thread_each
from skedasis.quantities.evaluator import BatchEvaluator, ResponseCache

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

# ------------------------------------------------------------------------------------------
# Progress bar and threads.


_Task = TypeVar("_Task")


_Result = TypeVar("_Result")


_DELAY = 2.0
"""Seconds before a progress bar appears."""


class Progress:
    """A progress bar that appears once the work has taken two seconds.

    Parameters
    ----------
    total : int
        Number of steps.
    what : str
        Description of the work.
    show : bool, optional
        True shows the bar, False never. None shows it if standard error is a terminal.
    """

    def __init__(self, total: int, what: str, show: bool | None = None) -> None:
        self.total, self.what, self.done = total, what, 0
        self.wanted = sys.stderr.isatty() if show is None else show
        self._started = time.monotonic()
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._lock = threading.Lock()

    def advance(self, steps: int = 1) -> None:
        """Count finished steps. Safe to call from any thread."""
        with self._lock:
            self.done += steps
            if not self.wanted:
                return
            if self._bar is None and time.monotonic() - self._started > _DELAY:
                self._open()
            if self._bar is not None and self._task is not None:
                self._bar.update(self._task, completed=self.done)

    def _open(self) -> None:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import Progress as Bar

        self._bar = Bar(console=Console(stderr=True), transient=True)
        # The description holds names of models and classes, which may contain control sequences of terminals.
        what = "".join(c if c.isprintable() else "?" for c in self.what)
        self._task = self._bar.add_task(escape(what), total=self.total)
        self._bar.start()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def map_in_order(
    work: Callable[[_Task], _Result],
    tasks: Sequence[_Task],
    n_jobs: int = 1,
    begin: Callable[[], object] | None = None,
    stop: Callable[[], object] | None = None,
) -> Iterator[_Result]:
    """Yield ``work(task)`` for each task, in the order of the tasks.

    Parameters
    ----------
    work : callable
    tasks : sequence
    n_jobs : int
        1 works in the calling thread. At most two results per thread are computed ahead.
    begin : callable, optional
        Called once in each new thread, before its first task.
    stop : callable, optional
        Called if the work ends early, by an error or Ctrl-C, so that running threads stop soon.

    Notes
    -----
    Results are merged in the order of the tasks, so they are identical for any number of threads.
    """
    if n_jobs == 1 or len(tasks) < 2:
        yield from map(work, tasks)
        return
    waiting: deque[Future[_Result]] = deque()
    with ThreadPoolExecutor(n_jobs, initializer=begin) as pool:
        try:
            for task in tasks:
                waiting.append(pool.submit(work, task))
                if len(waiting) >= 2 * n_jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BaseException:
            if stop is not None:
                stop()
            raise
        finally:
            for future in waiting:
                future.cancel()


# ------------------------------------------------------------------------------------------
# The loop over batches.


Gathered: TypeAlias = dict[Key, BatchStats]


class _Worker(threading.local):
    """A thread's evaluators of its previous batch, whose memory the next batch reuses."""

    def __init__(self, outputs: int) -> None:
        self.evaluators: list[BatchEvaluator | None] = [None] * outputs


def run(job: Job) -> Gathered:
    """Go through the batches once, and return their statistics, merged in the order of the batches."""
    batches = list(job.dataset.batches(job.batch_rows))
    worker = _Worker(len(job.outputs))
    merged: Gathered = {}
    capacity = len(job.dataset) if job.sample is None else int(job.sample.sum())
    rows = RowStore[np.float64](list(job.plans), capacity)
    row_ids = RowStore[np.int64](list(job.plans), capacity)
    steps = len(batches) * len(job.plans)
    caller = job.checked.caller
    limiter = one_thread_each() if limits_model_threads(job) else nullcontext()
    what = f"{job.method.name} of {job.quantity.describe()}"
    with limiter as begin, Progress(steps, what, job.options.progress) as bar:
        caller.heartbeat = lambda: bar.advance(0)

        def work(task: tuple[int, Batch]) -> tuple[Gathered, CallStats]:
            gathered, evaluators = _batch(job, *task, worker.evaluators, bar)
            worker.evaluators = [*evaluators]
            stats = CallStats()
            for evaluator in evaluators:
                stats.add(evaluator.stats)
            return gathered, stats

        numbered = list(enumerate(batches))
        for gathered, stats in map_in_order(work, numbered, job.options.n_jobs, begin, caller.stop):
            job.stats.add(stats)
            for key, local in gathered.items():
                rows.add(key, local.kept)
                if local.row_id is not None:
                    row_ids.add(key, {"row_id": local.row_id})
                local.kept, local.row_id = {}, None
                merged[key] = merged[key].merge(local) if key in merged else local
    for key, local in merged.items():
        local.kept, local.row_id = rows.of(key), row_ids.of(key).get("row_id")
    return merged


def limits_model_threads(job: Job) -> bool:
    """Return whether several threads call the model, so that its own thread pools are limited to one thread."""
    return job.options.n_jobs > 1 and len(job.dataset) > job.batch_rows


def _batch(
    job: Job, number: int, batch: Batch, previous: list[BatchEvaluator | None], bar: Progress
) -> tuple[Gathered, list[BatchEvaluator]]:
    """Compute the statistics of one batch, and return them with the evaluators, whose memory the next batch reuses."""
    first = number * job.batch_rows
    keep = None if job.sample is None else job.sample[first : first + len(batch)]
    evaluators = make_evaluators(job, batch, job.copies, previous)
    gathered: Gathered = {}
    for task in job.tasks:
        for label, evaluator in evaluators.items():
            key = label, task.key
            if key not in job.plans:  # later rounds plan some outputs only
                continue
            gathered[key] = task.variant.compute(evaluator, job.plans[key], keep)
            if key in job.donors:
                moments, refusal = missing_moments(evaluator, job.donors[key])
                gathered[key].moments[MISSING] = moments
                if refusal:
                    gathered[key].notes = {**gathered[key].notes, "missing": refusal}
            bar.advance()
        for evaluator in evaluators.values():
            evaluator.forget()
    return gathered, list(evaluators.values())


def make_evaluators(
    job: Job, batch: Batch, copies: int, previous: list[BatchEvaluator | None] | None = None
) -> dict[OutputLabel, BatchEvaluator]:
    """Return an evaluator of a batch for each output of a job. The outputs of one model share its responses.

    Parameters
    ----------
    job : Job
    batch : Batch
    copies : int
        Copies of the batch's rows in one call of the model.
    previous : list of BatchEvaluator or None, optional
        The same worker's evaluators of the previous batch, whose memory is reused.
    """
    cache = ResponseCache() if len(job.outputs) > 1 else None
    previous_evaluators: list[BatchEvaluator | None] = (
        [None] * len(job.outputs) if previous is None else previous
    )
    shared: dict[str, object] = {}
    evaluators: dict[OutputLabel, BatchEvaluator] = {}
    for (label, quantity), previous_evaluator in zip(
        job.outputs.items(), previous_evaluators, strict=True
    ):
        evaluator = quantity.evaluator(batch, copies, job.checked.eps, previous_evaluator, cache)
        evaluator.shared, evaluator.caller = shared, job.checked.caller
        evaluators[label] = evaluator
    return evaluators
