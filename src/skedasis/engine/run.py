"""The loop over batches and features, with threads and a progress bar.

So what features share (a batch's rows, its buffer, its slopes, the quantity at its rows) is made once. The outputs of a
model are one more loop inside, over answers that the first of them asked for.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, TypeVar

from skedasis.data.dataset import Batch
from skedasis.engine.plan import Job, Key
from skedasis.methods.base import Kept, Local
from skedasis.methods.missing import MISSING, missing_moments
from skedasis.models.calling import Meter, one_thread_each
from skedasis.quantities.evaluator import Bound, Tape

# ------------------------------------------------------------------------------------------
# How batches are worked through: one after the other, or by threads; with a progress bar if it takes long.


_Task = TypeVar("_Task")


_Done = TypeVar("_Done")


_PATIENCE = 2.0
"""Seconds before a progress bar appears."""


class Progress:
    """A bar that appears when work has taken two seconds, and says how far it is.

    Parameters
    ----------
    total : int
        Steps in all.
    what : str
        What is being done.
    show : bool, optional
        None shows the bar if standard error is a terminal; False never; True in any case.
    """

    def __init__(self, total: int, what: str, show: bool | None = None) -> None:
        self.total, self.what, self.done = total, what, 0
        self.wanted = sys.stderr.isatty() if show is None else show
        self._started = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()

    def advance(self, steps: int = 1) -> None:
        """Count steps that are done; safe to call from any thread."""
        with self._lock:
            self.done += steps
            if not self.wanted:
                return
            if self._bar is None and time.monotonic() - self._started > _PATIENCE:
                self._open()
            if self._bar is not None:
                self._bar.update(self._task, completed=self.done)

    def _open(self) -> None:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import Progress as Bar

        self._bar = Bar(console=Console(stderr=True), transient=True)
        # A class or a model may be called anything, also what a terminal would obey.
        what = "".join(c if c.isprintable() else "?" for c in self.what)
        self._task = self._bar.add_task(escape(what), total=self.total)
        self._bar.start()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def in_order(
    work: Callable[[_Task], _Done],
    tasks: Sequence[_Task],
    threads: int = 1,
    begin: Callable[[], object] | None = None,
    stop: Callable[[], object] | None = None,
) -> Iterator[_Done]:
    """Yield ``work(task)`` for each task, in the tasks' order, whoever was first.

    Parameters
    ----------
    work : callable
    tasks : sequence
    threads : int
        1 works in the calling thread. No more than two results for each thread wait to be fetched.
    begin : callable, optional
        Called once in each thread that is started, before anything else.
    stop : callable, optional
        Called where the work ends early, by an error or Ctrl-C, so that threads that are at work end soon.

    Notes
    -----
    Since results are merged in the order of the tasks, they do not depend on the number of threads, to the last bit.
    """
    if threads == 1 or len(tasks) < 2:
        yield from map(work, tasks)
        return
    waiting: deque[Future[_Done]] = deque()
    with ThreadPoolExecutor(threads, initializer=begin) as pool:
        try:
            for task in tasks:
                waiting.append(pool.submit(work, task))
                if len(waiting) >= 2 * threads:
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
# The work: batches are the outer loop, features the inner one.


Gathered = dict[Key, Local]


def run(job: Job, threads: int, show: bool | None) -> Gathered:
    """Go through the batches once, and merge what each gives, in their order."""
    batches = list(job.source.batches(job.batch_rows))
    worker = threading.local()
    total: Gathered = {}
    capacity = len(job.source) if job.sample is None else int(job.sample.sum())
    rows = Kept(list(job.plans), capacity)
    steps = len(batches) * len(job.plans)
    pace = job.checked.pace
    each = one_thread_each() if models_alone(job, threads) else nullcontext()
    with (
        each as begin,
        Progress(steps, f"{job.method.name} of {job.quantity.describe()}", show) as bar,
    ):
        pace.pulse = lambda: bar.advance(0)

        def work(task: tuple[int, Batch]) -> tuple[Gathered, Meter]:
            used: list[Bound | None] = getattr(worker, "bounds", [None] * len(job.outputs))
            gathered, bounds = _batch(job, *task, used, bar)
            worker.bounds = bounds
            meter = Meter()
            for bound in bounds:
                meter.add(bound.meter)
            return gathered, meter

        numbered = list(enumerate(batches))
        for gathered, meter in in_order(work, numbered, threads, begin, pace.stop):
            job.meter.add(meter)
            for key, local in gathered.items():
                rows.add(key, local.kept)
                local.kept = {}
                total[key] = total[key].merge(local) if key in total else local
    for key, local in total.items():
        local.kept = rows.of(key)
    return total


def models_alone(job: Job, threads: int) -> bool:
    """Return whether more than one thread calls the model, so that it is to start none of its own."""
    return threads > 1 and len(job.source) > job.batch_rows


def _batch(
    job: Job, number: int, batch: Batch, used: list[Bound | None], bar: Progress
) -> tuple[Gathered, list[Bound]]:
    """Work through one batch."""
    first = number * job.batch_rows
    keep = None if job.sample is None else job.sample[first : first + len(batch)]
    bounds = bounds_of(job, batch, job.copies, used)
    gathered: Gathered = {}
    for task in job.tasks:
        for label, bound in bounds.items():
            key = label, task.key
            if key not in job.plans:  # a further round is for some outputs only
                continue
            gathered[key] = task.way.local(bound, job.plans[key], keep)
            if key in job.donors:
                moments, refusal = missing_moments(bound, job.donors[key])
                gathered[key].moments[MISSING] = moments
                if refusal:
                    gathered[key].notes["missing"] = refusal
            bar.advance()
        for bound in bounds.values():
            bound.forget()
    return gathered, list(bounds.values())


def bounds_of(
    job: Job, batch: Batch, copies: int, used: list[Bound | None] | None = None
) -> dict[Any, Bound]:
    """Bind each output of a job to a batch of rows; outputs of one model share its answers.

    Parameters
    ----------
    job : Job
    batch : Batch
    copies : int
        Sets of the batch's rows that one call of the model carries.
    used : list of Bound or None, optional
        The same worker's bounds of the batch before, whose memory is used again.
    """
    tape = Tape() if len(job.outputs) > 1 else None
    before: list[Bound | None] = [None] * len(job.outputs) if used is None else used
    shared: dict[str, Any] = {}
    bounds: dict[Any, Bound] = {}
    for (label, quantity), last in zip(job.outputs.items(), before, strict=True):
        bound = quantity.on(batch, copies, job.checked.eps, last, tape)
        bound.shared, bound.pace = shared, job.checked.pace
        bounds[label] = bound
    return bounds
