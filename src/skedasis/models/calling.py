"""Calls of a model: validation of the response, adaptive chunk size, and limits on the model's own threads.

A call carries about 1e5 rows, which hides what a call costs. Many models answer that in a moment. For one that takes
longer (a Gaussian process, a support vector machine, a function of one's own) the rows of a call are cut into parts of
some 0.1 to 1 second: the bar moves, Ctrl-C works, and what the model needs for its rows, often a matrix of them
by its training rows, stays small and in the cache.

Threads that each start threads wait for each other: four times four on four processors are slower than four. Nothing of
the user's is changed but settings that hold for the whole process, and these are put back.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis._types import Floats
from skedasis.data.containers import to_float
from skedasis.errors import ModelOutputError, explained

# ------------------------------------------------------------------------------------------
# What a model answered: turned into numbers, and checked.


def as_array(raw: Any, what: str) -> NDArray[Any]:
    """Return whatever a model answered as an array, or say why it cannot be one."""
    if isinstance(raw, np.ma.MaskedArray):
        return np.ma.filled(raw.astype(float), np.nan)
    try:
        return np.asarray(raw)
    except ValueError as error:
        raise ModelOutputError(
            explained(
                what,
                f"a {type(raw).__name__} of parts that differ in length",
                "one number for each row",
                "Return an array of shape (n,)",
            )
        ) from error


def as_numbers(raw: Any, what: str) -> Floats:
    """Return whatever a model answered as an array of float64, or say why it cannot be one."""
    answer = as_array(raw, what)
    try:
        # Text that reads as a number is still a label.
        objects = list(answer.flat) if answer.dtype.kind == "O" else []
        if answer.dtype.kind not in "fiubO" or any(isinstance(v, (str, bytes)) for v in objects):
            raise TypeError
        if objects:
            return to_float(objects).reshape(answer.shape)
        return answer.astype(float, copy=False)
    except (TypeError, ValueError) as error:
        raise ModelOutputError(
            explained(
                what,
                f"output of type {answer.dtype}",
                "numbers",
                "Wrap the model in a function that returns numbers; "
                "for a classifier use sd.probability(model, class_=...)",
            )
        ) from error


def checked(raw: Any, n: int, what: str, where: str) -> Floats:
    """Return a model's answer as finite floats of shape (n,), or raise `ModelOutputError`."""
    answer = as_numbers(raw, what)
    if answer.shape == (n, 1):
        answer = answer[:, 0]
    if answer.shape != (n,):
        several = answer.ndim == 2 and len(answer) == n
        fix = (
            "Choose one output: sd.prediction(model, output=0), or all of them: output='all'; of a classifier "
            "sd.probability(model, class_=...)"
            if several
            else "Return one number for each row, in the rows' order"
        )
        got = f"output of shape {answer.shape} ({where})"
        raise ModelOutputError(explained(what, got, f"({n},)", fix))
    # A sum is finite only if every term is (or, rarely, if it overflows): one cheap pass in the usual case.
    with np.errstate(over="ignore", invalid="ignore"):
        total = answer.sum()
    if not np.isfinite(total) and not np.isfinite(answer).all():
        bad = int((~np.isfinite(answer)).sum())
        raise ModelOutputError(
            explained(
                what,
                f"NaN or infinity for {bad} of {n} rows ({where})",
                "finite numbers",
                "If X has missing values that the model cannot take, impute them or drop those rows",
            )
        )
    return answer


def unit_round_off(dtype: Any, answer: Floats) -> float:
    """Return the round-off of the numbers that a model computes in.

    Models that compute in float32 may answer in float64. Sixty numbers that all fit into float32, and are no short
    fractions (which any model may return), were computed there.
    """
    if isinstance(dtype, np.dtype) and dtype.kind == "f" and dtype.itemsize < 8:
        return float(np.finfo(dtype).eps)
    with np.errstate(over="ignore"):
        single = answer.astype(np.float32).astype(float)
    mantissa = np.frexp(answer)[0] * 2**14
    if np.array_equal(single, answer) and not np.array_equal(mantissa, np.rint(mantissa)):
        return float(np.finfo(np.float32).eps)
    return float(np.finfo(float).eps)


# ------------------------------------------------------------------------------------------
# How many rows a slow model is given at a time.


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


# ------------------------------------------------------------------------------------------
# Models that bring threads of their own, kept to one while ours are at work.


_lock = threading.Lock()


_users = 0


_settings = contextlib.ExitStack()


@contextlib.contextmanager
def one_thread_each() -> Generator[Callable[[], None]]:
    """Keep models to one thread of their own in each thread of ours.

    Yields
    ------
    callable
        To be called once, first thing, in each thread that calls the model: some libraries count for each thread apart.

    Notes
    -----
    Kept to one are torch; libraries of linear algebra (OpenBLAS, MKL, BLIS) and OpenMP (scikit-learn, XGBoost,
    LightGBM), if threadpoolctl is there, which scikit-learn brings; LightGBM's own number; and joblib, so that a forest
    with ``n_jobs=-1`` works on its trees one by one, whatever pipeline it is in. The model itself is not touched.

    Not within reach are sessions of onnxruntime, JAX, CatBoost, and joblib where a model names its back end. Answers
    are the same, only later.

    Several may be in it at once, in one thread or in many: the first one sets, the last one puts back. A model that
    is explained with ``threads=1`` at the same time is kept to one as well.

    Examples
    --------
    >>> with one_thread_each() as begin:
    ...     begin()
    """
    _enter()
    try:
        yield _begin()
    finally:
        _leave()


def _enter() -> None:
    global _users  # noqa: PLW0603 - the settings are the process's, and so is their count
    with _lock:
        if _users == 0:
            with contextlib.ExitStack() as stack:  # put back at once if one of them fails
                _limit_torch(stack)
                _limit_lightgbm(stack)
                _limit_blas(stack)
                _settings.push(stack.pop_all())
        _users += 1


def _leave() -> None:
    global _users  # noqa: PLW0603
    with _lock:
        _users -= 1
        if _users == 0:
            _settings.close()


def _begin() -> Callable[[], None]:
    """Return what settles those libraries that count for each thread apart. The thread takes it to its end."""
    pools = _pools()
    joblib = sys.modules.get("joblib")

    def begin() -> None:
        if pools is not None:
            pools.limit(limits=1, user_api="openmp")
        if joblib is not None:
            # Whatever n_jobs an estimator has: it asks this back end how many there are.
            getattr(joblib, "parallel_config", joblib.parallel_backend)("sequential")

    return begin


def _pools() -> Any:
    """Return a view of the libraries that are loaded by now, None without threadpoolctl."""
    if importlib.util.find_spec("threadpoolctl") is None:
        return None
    return importlib.import_module("threadpoolctl").ThreadpoolController()


def _limit_blas(stack: contextlib.ExitStack) -> None:
    for library in getattr(_pools(), "lib_controllers", ()):
        before = library.get_num_threads() if library.user_api == "blas" else None
        if before is None:
            continue
        # From version 3.7 on threadpoolctl ignores whoever did not set OpenBLAS first, without a word. Of several that
        # explain at once, the one that puts back need not be the one that set.
        put = getattr(library, "_real_set_num_threads", library.set_num_threads)
        stack.callback(put, before)
        put(1)


def _limit_torch(stack: contextlib.ExitStack) -> None:
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "set_num_threads"):
        return
    stack.callback(torch.set_num_threads, torch.get_num_threads())
    torch.set_num_threads(1)


def _limit_lightgbm(stack: contextlib.ExitStack) -> None:
    """Bound what LightGBM takes for its number: its estimators ask for all processors, whatever OpenMP was told."""
    import ctypes

    library: Any = getattr(sys.modules.get("lightgbm.basic"), "_LIB", None)
    if not hasattr(library, "LGBM_SetMaxThreads"):  # before 4.3
        return
    before = ctypes.c_int()
    library.LGBM_GetMaxThreads(ctypes.byref(before))
    stack.callback(library.LGBM_SetMaxThreads, before)
    library.LGBM_SetMaxThreads(ctypes.c_int(1))


# ------------------------------------------------------------------------------------------
# `Quantity`: a scalar function of a row (and of its label, where it needs one), derived from a fitted model.


@dataclass
class Meter:
    """Counts what the model was asked: the cost that a user pays."""

    rows: int = 0
    calls: int = 0
    slope_rows: int = 0
    slope_calls: int = 0
    seconds: float = 0.0
    floored: int = 0
    tree_rows: int = 0

    def add(self, other: Meter) -> None:
        """Add another worker's counts."""
        self.rows += other.rows
        self.calls += other.calls
        self.slope_rows += other.slope_rows
        self.slope_calls += other.slope_calls
        self.seconds += other.seconds
        self.floored += other.floored
        self.tree_rows += other.tree_rows
