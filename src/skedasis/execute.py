"""How batches are worked through: one after the other, or by threads; with a progress bar if it takes long."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Task = TypeVar("Task")
Done = TypeVar("Done")

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
    work: Callable[[Task], Done],
    tasks: Sequence[Task],
    threads: int = 1,
    begin: Callable[[], object] | None = None,
    stop: Callable[[], object] | None = None,
) -> Iterator[Done]:
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
    waiting: deque[Future[Done]] = deque()
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
