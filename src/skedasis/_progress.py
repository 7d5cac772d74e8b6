"""Progress bars, and work on several threads whose results arrive in order."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sized
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

    from rich.progress import Progress as Bar
    from rich.progress import TaskID

_Task = TypeVar("_Task")


_Result = TypeVar("_Result")


_DELAY = 5.0
"""Seconds of a call of the library before a progress bar appears."""


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


class Timed(Protocol):
    """What calls a model, and knows the time of its calls."""

    def seconds(self, rows: float, calls: float) -> float:
        """Return the time that calls with so many rows in all take."""
        ...


@dataclass(eq=False)
class Work:
    """The work of one call of the library: since when it runs, and the model rows so far and in all."""

    started: float = field(default_factory=time.monotonic)
    rows: int = 0
    expected: float = 0.0
    """Model rows in all; 0 where they are not known."""
    more: float = 0.0
    """Model rows that follow those of the next pass."""
    times: float = 1.0
    """How often the work is repeated, for other models or methods."""
    is_cost_checked: bool = False
    """Whether the cost of the work has been compared with what is announced."""
    left_out: list[str] = field(default_factory=list[str])
    """What is left out to keep to `max_model_rows`, in sentences."""
    after_check: Callable[[Timed, int], None] | None = None
    """Called with what calls the model, and its number of columns, once it has been checked on a few rows."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, rows: int) -> None:
        """Count rows at which a model was called. Safe to call from any thread."""
        with self._lock:
            self.rows += rows


_work: ContextVar[Work | None] = ContextVar("work", default=None)


def current_work() -> Work:
    """Return the work of the call of the library in which this is called; outside of calls, work without a past."""
    return _work.get() or Work()


@contextmanager
def one_call() -> Generator[Work]:
    """Take what follows for the work of one call; within another one, for a part of that."""
    outer = _work.get()
    if outer is not None:
        yield outer
        return
    work = Work()
    token = _work.set(work)
    try:
        yield work
    finally:
        _work.reset(token)


class Progress:
    """A progress bar that appears once the call has taken five seconds. It covers all work where that is foreseen."""

    def __init__(
        self,
        total: int,
        what: str,
        show: bool | None = None,
        further: Further | None = None,
    ) -> None:
        self.what, self.total, self.done, self.further = what, total, 0, further
        self.wanted = _has_terminal() if show is None else show
        self._started, self._work = time.monotonic(), current_work()
        self._rows = self._work.rows
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._lock = threading.Lock()

    def advance(self, steps: int = 1) -> None:
        """Count finished steps. Safe to call from any thread."""
        with self._lock:
            self.done += steps
            if not self.wanted:
                return
            if self._bar is None and time.monotonic() - self._work.started > _DELAY:
                self._open()
            if self._bar is not None and self._task is not None:
                done, total = self._shown
                left = self.time_left()
                self._bar.update(self._task, completed=done, total=total, left=left)

    @property
    def _shown(self) -> tuple[float, float]:
        """Return what is done of what: of foreseen work the model rows, of a part that calls no model its steps."""
        work = self._work
        if work.expected and work.rows > self._rows:
            return min(work.rows, work.expected), work.expected
        return self.done, self.total

    def time_left(self) -> str:
        """Return the time that is left of all work, in words; empty where nothing follows, or no step is done."""
        if self.further is None or not self.done or self._work.expected:
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
