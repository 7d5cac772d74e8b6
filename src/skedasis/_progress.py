"""Progress bars, and work on several threads whose results arrive in order."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sized
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

    from rich.progress import Progress as Bar
    from rich.progress import TaskID

_Task = TypeVar("_Task")


_Result = TypeVar("_Result")


_DELAY = 2.0
"""Seconds before a progress bar appears."""


def in_words(seconds: float) -> str:
    """Return a time in words."""
    if seconds < 0.5:
        return "less than a second"
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.0f} second{'s' * (seconds >= 1.5)}"


@dataclass(frozen=True)
class Further:
    """The work that follows, such as more passes over the data, as far as it can be foreseen."""

    share: float
    certain: bool

    def time_left(self, whole: float, here: float) -> str:
        """Return the time that is left of all work, in words."""
        word = "about" if self.certain else "at least"
        return f"{word} {in_words(here + self.share * whole)} left in all"


_announced: ContextVar[str] = ContextVar("announced", default="")


@contextmanager
def announced(text: str) -> Generator[None]:
    """Add what all the work will need to the descriptions of the progress bars of its parts."""
    token = _announced.set(text)
    try:
        yield
    finally:
        _announced.reset(token)


class Progress:
    """A progress bar that appears once the work has taken two seconds."""

    def __init__(
        self,
        total: int,
        what: str,
        show: bool | None = None,
        further: Further | None = None,
    ) -> None:
        within = _announced.get()
        self.what = f"{what} ({within})" if within else what
        self.total, self.done, self.further = total, 0, further
        self.wanted = _has_terminal() if show is None else show
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
                self._bar.update(self._task, completed=self.done, left=self.time_left())

    def time_left(self) -> str:
        """Return the time that is left of all work, in words; empty where nothing follows, or no step is done."""
        if self.further is None or not self.done:
            return ""
        whole = (time.monotonic() - self._started) / self.done * self.total
        return self.further.time_left(whole, whole * (1 - self.done / self.total))

    def _open(self) -> None:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import Progress as Bar
        from rich.progress import TextColumn

        left = () if self.further is None else (TextColumn("{task.fields[left]}"),)
        columns = (*Bar.get_default_columns(), *left)
        self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
        # The description holds names of models and classes, which may contain control sequences of terminals.
        what = "".join(c if c.isprintable() else "?" for c in self.what)
        self._task = self._bar.add_task(escape(what), total=self.total, left="")
        self._bar.start()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the bar. None is shown afterwards."""
        self.wanted = False
        if self._bar is not None:
            self._bar.stop()


def _has_terminal() -> bool:
    """Return whether standard error is a terminal. It may be closed, or absent from the start."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError, OSError):
        return False


def map_in_order(
    work: Callable[[_Task], _Result],
    tasks: Iterable[_Task],
    n_jobs: int = 1,
    begin: Callable[[], object] | None = None,
    stop: Callable[[], object] | None = None,
) -> Generator[_Result]:
    if n_jobs == 1 or (isinstance(tasks, Sized) and len(tasks) < 2):
        yield from map(work, tasks)
        return
    # Imported here: most work is done in the calling thread.
    from concurrent.futures import ThreadPoolExecutor

    waiting: deque[Future[_Result]] = deque()
    with ThreadPoolExecutor(n_jobs, initializer=begin) as pool:
        try:
            for task in tasks:
                waiting.append(pool.submit(copy_context().run, work, task))
                if len(waiting) >= 2 * n_jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BaseException:
            if stop is not None:
                stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
