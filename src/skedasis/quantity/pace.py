"""How many rows a slow model is given at a time.

A call carries about 1e5 rows, which hides what a call costs. Many models answer that in a moment. For one that takes
longer (a Gaussian process, a support vector machine, a function of one's own) the rows of a call are cut into parts of
some 0.1 to 1 second: the bar moves, Ctrl-C works, and what the model needs for its rows, often a matrix of them
by its training rows, stays small and in the cache.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

SHORT = 0.25
"""Seconds that a call should last at most: what a model needs 10 microseconds and 40 kB a row for, is 1 GB then."""
LONG = 1.0
"""Seconds that a call may last where larger calls have proved to be cheaper by the row: a forest of many trees."""
_SIZES = (65_536, 16_384, 4_096, 1_024, 256, 64)
_USUAL = 1_024
"""Parts are no smaller than this, unless so many rows already take too long."""
_AGAIN = 64
"""After so many parts the next larger size gets another chance: it may only have been unlucky."""
_CHEAPER = 0.8
"""How much cheaper a row of a larger part is to be, for parts to become larger still."""
_WORSE = 2.0
"""How much dearer a row of a larger part may be than one of a smaller part: beyond, the part does not fit the cache."""


class Stopped(BaseException):
    """Work that nobody waits for any more. No `Exception`: it is nobody's error."""


class Pace:
    """What is known of a model's speed, and the size of its calls that follows. Threads may share it.

    Notes
    -----
    Time decides here, and only here: batches, and what a call is made of, never depend on it. A model that looks at
    each row alone answers the same to the last bit, whatever the parts. Linear algebra may treat the last few rows of
    an array in another order than the others; parts are therefore cut at multiples of 64 rows and none is small, which
    has left the answers of NumPy, SciPy and torch as they are on one thread. On several threads of their own, and in
    single precision, the last digit of some rows may depend on the cut, as it does on the machine.

    Only models that seem to need more than a quarter of a second for a call are concerned, and only if their answers
    are arrays or lists.

    Examples
    --------
    >>> import numpy as np
    >>> pace = Pace()
    >>> answer, calls = pace.ask(lambda X: X[:, 0], np.ones((200, 1)), 200)
    >>> answer.shape, calls
    ((200,), 1)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rates: dict[int, float] = {}
        self._joins = False
        self._asked = 0
        self._stopped = False
        self.pulse: Callable[[], object] = _nothing
        """Called after each part, from whatever thread."""

    def stop(self) -> None:
        """End the work of all threads at their next call of the model."""
        self._stopped = True

    def ask(self, model: Callable[[Any], Any], rows: Any, n: int) -> tuple[Any, int]:
        """Return a model's answer for rows in any container, and in how many calls it came.

        Parameters
        ----------
        model : callable
            ``model(rows) -> answer``.
        rows : array or data frame of n rows
        n : int

        Raises
        ------
        Stopped
            Where `stop` was called.
        """
        answers: list[Any] = []
        for start, stop in self._parts(n):
            if self._stopped:
                raise Stopped
            whole = stop - start == n
            part = rows if whole else _cut(rows, start, stop)
            started = time.perf_counter()
            answer = model(part)
            self._note(stop - start, time.perf_counter() - started, answer)
            self.pulse()
            if whole:
                return answer, 1
            # A copy: a model may answer with its input, or with the same array each time.
            answers.append(copy(answer))
            if not _joins(
                answer, stop - start, answers[0]
            ):  # its whole answer says what is wrong with it
                return model(rows), len(answers) + 1
        return _joined(answers), len(answers)

    def _parts(self, n: int) -> Any:
        """Yield where parts begin and end: none is small, and the next one knows how long the last one took."""
        start = 0
        if n == 0:
            yield 0, 0
        while start < n:
            size = self.size(n - start)
            stop = start + size if n - start - size >= max(size // 2, _SIZES[-1]) else n
            yield start, stop
            start = stop

    def size(self, n: int) -> int:
        """Return how many of n rows the next call should carry."""
        with self._lock:
            if not self._joins or not self._rates:
                return n
            for size in (n, *(s for s in _SIZES if s < n)):
                rate = self._rate(size)
                if rate * size > self._limit(size):
                    continue
                smaller = [r for s, r in self._rates.items() if s < _place(size)]
                if size <= _USUAL or rate <= _WORSE * min(smaller, default=rate):
                    return size
            return min(n, _SIZES[-1])

    def _limit(self, size: int) -> float:
        """Return the seconds that a part of this size may last."""
        known = sorted(s for s in self._rates if s <= _place(size))[-2:]
        cheaper = len(known) > 1 and self._rates[known[1]] <= _CHEAPER * self._rates[known[0]]
        return LONG if size <= _USUAL or cheaper else SHORT

    def _rate(self, size: int) -> float:
        """Return the seconds a row of a part of this size: as measured, else as in the next smaller that was."""
        known = [s for s in self._rates if s <= _place(size)]
        return self._rates[max(known) if known else min(self._rates)]

    def _note(self, n: int, seconds: float, answer: Any) -> None:
        if n == 0:
            return
        place = _place(n)
        with self._lock:
            self._joins = _joins(answer, n)
            # The shortest time: others were working, or the model was called for the first time.
            self._rates[place] = min(self._rates.get(place, np.inf), seconds / n)
            self._asked += 1
            larger = [s for s in self._rates if s > place]
            if larger and self._asked % _AGAIN == 0:
                del self._rates[min(larger)]


def _place(n: int) -> int:
    """Return the size that n rows are nearest to."""
    return next((s for s in _SIZES if 2 * n >= s), _SIZES[-1])


def _nothing() -> None:
    """Do nothing."""


def _cut(rows: Any, start: int, stop: int) -> Any:
    """Return neighbouring rows of an array, or of a data frame."""
    if isinstance(rows, np.ndarray):
        return rows[start:stop]
    import narwhals.stable.v2 as nw

    # A copy: pandas warns a model that adds a column to a part of a frame.
    return nw.from_native(rows, eager_only=True)[start:stop].clone().to_native()


def _joins(answer: Any, n: int, other: Any = None) -> bool:
    """Return whether an answer for n rows can be put together with others, or this one: an array, or a list."""
    if other is not None and type(answer) is not type(other):
        return False
    if isinstance(answer, np.ndarray):
        alike = other is None or answer.shape[1:] == other.shape[1:]
        return answer.ndim > 0 and len(answer) == n and alike
    return type(answer) is list and len(answer) == n


def _joined(answers: Sequence[Any]) -> Any:
    if type(answers[0]) is list:
        return [number for answer in answers for number in answer]
    return np.concatenate(answers)
