"""Calls of a model: validation of the response, adaptive chunk size, limits on the model's own threads, call counts."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from skedasis._progress import current_work
from skedasis._types import Floats, Values
from skedasis.data.containers import to_float
from skedasis.errors import ModelOutputError

SMALLEST, LARGEST = 1e-100, 1e140
"""Limits of the size of a quantity. Outside them squares, times weights, may leave the range of float64 (1e-308 to
1e308)."""

RowsT = TypeVar("RowsT")
ResponseT = TypeVar("ResponseT")

# --- validation of the response -------------------------------------------------------------------


def plain(raw: Any) -> ArrayLike:
    """Return a response that NumPy reads: without gradients, devices, masks and sparse storage; others unchanged."""
    # A library that is not imported made none of it.
    torch, jax, sparse = map(sys.modules.get, ("torch", "jax", "scipy.sparse"))
    if torch is not None and isinstance(raw, torch.Tensor):
        tensor = raw.detach().cpu().to_dense()
        # NumPy has no bfloat16.
        return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
    if jax is not None and isinstance(raw, jax.Array) and raw.dtype.name == "bfloat16":
        return np.asarray(raw.astype("float32"))
    if sparse is not None and sparse.issparse(raw):
        return raw.toarray()
    if isinstance(raw, np.ma.MaskedArray):
        return np.ma.filled(raw.astype(float), np.nan)
    if torch is not None and isinstance(raw, list) and raw and isinstance(raw[0], torch.Tensor):
        return cast("ArrayLike", [plain(tensor) for tensor in raw])
    return raw


def as_array(raw: object, what: str) -> Values:
    """Return a model's response as an array; raise `ModelOutputError` if it cannot be one."""
    if raw is None:
        fix = "Return an array of shape (n,); a function without return returns None"
        raise ModelOutputError(what, "None", "one number for each row", fix)
    try:
        array = np.asarray(plain(raw))
    except ValueError as error:
        raise ModelOutputError(
            what,
            f"a {type(raw).__name__} with parts of different lengths",
            "one number for each row",
            "Return an array of shape (n,)",
        ) from error
    if array.ndim == 0 and array.dtype.kind == "O":  # NumPy does not look into it
        fix = "Return an array of shape (n,)"
        if isinstance(raw, Iterator):
            fix = "Return a list of its numbers: list(output)"
        raise ModelOutputError(what, f"a {type(raw).__name__}", "one number for each row", fix)
    return array


def as_numbers(raw: object, what: str) -> Floats:
    """Return a model's response as an array of float64; raise `ModelOutputError` if it is not numeric."""
    response = as_array(raw, what)
    try:
        # Text such as "1" would convert to a number, but it is a label.
        objects = response.ravel().tolist() if response.dtype.kind == "O" else []
        if response.dtype.kind not in "fiubO" or any(isinstance(v, (str, bytes)) for v in objects):
            raise TypeError
        if objects:
            return to_float(objects).reshape(response.shape)
        return response.astype(float, copy=False)
    except OverflowError as error:
        got, expected = "integers of more than 308 digits", f"numbers up to {LARGEST:g} in size"
        fix = "Rescale the quantity, for example explain its logarithm"
        raise ModelOutputError(what, got, expected, fix) from error
    except (TypeError, ValueError) as error:
        got = f"output of type {response.dtype}"
        fix = "Wrap the model in a function that returns numbers, or, for a classifier, use "
        fix += "sd.probability(model, class_=...)"
        raise ModelOutputError(what, got, "numbers", fix) from error


def check_response(raw: object, n: int, what: str, where: str) -> Floats:
    """Return a model's response as finite floats of shape (n,), or raise `ModelOutputError`."""
    response = as_numbers(raw, what)
    if response.shape == (n, 1):
        response = response[:, 0]
    if response.shape != (n,):
        multi_output = response.ndim == 2 and len(response) == n
        fix = (
            "Choose one output: sd.prediction(model, output=0), or all of them: output='all'; for a classifier: "
            "sd.probability(model, class_=...)"
            if multi_output
            else f"Return one number for each row, in the rows' order; X holds all {n} rows at once"
        )
        got = f"output of shape {response.shape} ({where})"
        raise ModelOutputError(what, got, f"({n},)", fix)
    # A small sum of squares proves that every term is finite and small: one cheap pass in the usual case.
    with np.errstate(over="ignore", invalid="ignore"):
        squares = float(response @ response)
    if not squares < LARGEST**2 and not np.isfinite(response).all():
        bad = int((~np.isfinite(response)).sum())
        raise ModelOutputError(
            what,
            f"NaN or infinity for {bad} of {n} rows ({where})",
            "finite numbers",
            "Check the model at these rows; if X has missing values that it cannot handle, impute them or "
            "drop those rows",
        )
    if not squares < LARGEST**2 and (largest := float(np.abs(response).max())) > LARGEST:
        raise ModelOutputError(
            what,
            f"values up to {largest:.3g} in size ({where})",
            f"at most {LARGEST:g}, because variances are computed from squares",
            "Rescale the quantity, for example explain its logarithm",
        )
    return response


def unit_round_off(dtype: object, response: Values) -> float:
    """Return the unit round-off of a model's internal arithmetic."""
    if isinstance(dtype, np.dtype) and dtype.kind == "f" and dtype.itemsize < 8:
        return float(np.finfo(dtype).eps)
    with np.errstate(over="ignore"):
        single = response.astype(np.float32).astype(float)
    mantissa = np.frexp(response)[0] * 2**14
    if np.array_equal(single, response) and not np.array_equal(mantissa, np.rint(mantissa)):
        return float(np.finfo(np.float32).eps)
    return float(np.finfo(float).eps)


# --- adaptive chunk size --------------------------------------------------------------------------

SHORT = 0.25
"""Seconds that a call should last at most: at 10 microseconds and 40 kB per row, such a call takes 1 GB."""

LONG = 1.0
"""Seconds that a call may last if larger calls have a lower cost per row, as those of a forest of many trees."""

SLOW = 2e-3
"""Seconds of a call, beside those of its rows, from which a model counts as slow."""

_SIZES = (65_536, 16_384, 4_096, 1_024, 256, 64)

_USUAL = 1_024
"""Parts are not smaller than this, unless that many rows already take too long."""

_OF_CALL = 10.0
"""Time of the rows of a part, in times of a call without rows, up to which a part is not divided."""

_RETRY_AFTER = 64
"""Number of parts after which the next larger size is tried again: its measured time may have been an outlier."""

_SIZES_TIMED = 16
"""Number of sizes of calls whose shortest times are kept: those of the checks of a model, and the first others."""

_CHEAPER = 0.8
"""Largest ratio of the costs per row, of a larger to a smaller part, at which parts grow further."""

_COSTLIER = 2.0
"""Largest ratio of the costs per row, of a larger to a smaller part; above it, the part does not fit the cache."""


class Stopped(BaseException):
    """Signals cancellation to worker threads; a `BaseException`, so that models cannot swallow it."""


class ChunkedCaller:
    """Calls a model in parts whose size follows from its measured speed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rates: dict[int, float] = {}
        self._seconds: dict[int, float] = {}
        self._can_join = False
        self._n_parts = 0
        self._stopped = False
        self._of_models: dict[int, ChunkedCaller] = {}
        self.writes = False
        """Whether the model writes to its rows, so that each call needs a copy."""
        self.fails_jointly = False
        """Whether the model failed for the rows of several requests, so that each gets a call of its own."""
        self.heartbeat: Callable[[], object] = _nothing
        """Called after each part, in the thread that called the model."""

    def of_model(self, i: int) -> ChunkedCaller:
        """Return the caller of one of several models, whose quantities are added."""
        with self._lock:
            if i not in self._of_models:
                self._of_models[i] = ChunkedCaller()
                self._of_models[i].heartbeat = self._beat
            return self._of_models[i]

    def _beat(self) -> None:
        self.heartbeat()

    @property
    def seconds_per_row(self) -> float:
        """Return the shortest time per row that was measured; 0 before the first call."""
        with self._lock:
            return min(self._rates.values(), default=0.0)

    def seconds(self, rows: float, calls: float) -> float:
        """Return the time that calls with so many rows in all take."""
        with self._lock:
            of_call, of_row = self._costs()
            models = [*self._of_models.values()]
        if models:
            return sum(one.seconds(rows / len(models), calls / len(models)) for one in models)
        return calls * of_call + rows * of_row

    def _costs(self) -> tuple[float, float]:
        """Return the time of a call and of a row, from the shortest calls of the first sizes."""
        known = self._seconds
        if not known:
            return 0.0, 0.0
        # The first call may include the start-up of the model: the best rate is that of a later one.
        large, small = min(known, key=lambda n: known[n] / n), min(known)
        if large <= small:
            return 0.0, known[large] / large
        each = max(known[large] - known[small], 0.0) / (large - small)
        return max(known[small] - each * small, 0.0), each

    @property
    def can_join(self) -> bool:
        """Return whether responses can be joined and cut: they are arrays or lists."""
        return self._can_join

    @property
    def slow(self) -> bool:
        """Return whether a call takes so long, whatever its rows, that copies of rows cost nothing beside it."""
        with self._lock:
            return self._costs()[0] >= SLOW

    def stop(self) -> None:
        """Raise `Stopped` in all threads at their next call of the model."""
        self._stopped = True
        for one in self._of_models.values():
            one.stop()

    def call(
        self, model: Callable[[RowsT], ResponseT], rows: RowsT, n: int, most: int | None = None
    ) -> tuple[ResponseT, int]:
        """Return a model's response for rows in any container, and the number of calls it took.

        With `most`, calls have so many rows, whatever time they take.
        """
        responses: list[ResponseT] = []
        parts = self._parts(n)
        if most is not None:
            parts = iter([(start, min(start + most, n)) for start in range(0, n, most)])
        for start, stop in parts:
            if self._stopped:
                raise Stopped
            whole = stop - start == n
            part = rows if whole else _cut(rows, start, stop)
            started = time.perf_counter()
            response = model(part)
            self._record(stop - start, time.perf_counter() - started, response)
            self.heartbeat()
            if whole:
                return response, 1
            # A copy: a model may return its input, or the same array each time.
            responses.append(copy(response))
            if isinstance(response, Joinable) and most is not None:
                continue
            if not _can_join(response, stop - start, responses[0]):
                # The response to all rows at once gives `check_response` the error to report.
                return model(rows), len(responses) + 1
        return _joined(responses), len(responses)

    def _parts(self, n: int) -> Iterator[tuple[int, int]]:
        """Yield start and stop of each part: none is small, and each size follows from the times measured so far."""
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
            if not self._can_join or not self._rates:
                return n
            of_call, of_row = self._costs()
            for size in (n, *(s for s in _SIZES if s < n)):
                rate = self._rate(size)
                # A call that takes long whatever its rows, such as that of a model with a context, is not repeated.
                if rate * size > self._limit(size) and of_row * size > _OF_CALL * of_call:
                    continue
                smaller = [r for s, r in self._rates.items() if s < _nearest_size(size)]
                if size <= _USUAL or rate <= _COSTLIER * min(smaller, default=rate):
                    return size
            return min(n, _SIZES[-1])

    def _limit(self, size: int) -> float:
        """Return the seconds that a part of this size may last."""
        known = sorted(s for s in self._rates if s <= _nearest_size(size))[-2:]
        cheaper = len(known) > 1 and self._rates[known[1]] <= _CHEAPER * self._rates[known[0]]
        return LONG if size <= _USUAL or cheaper else SHORT

    def _rate(self, size: int) -> float:
        """Return the seconds per row in a part of this size, or else in the next smaller measured size."""
        known = [s for s in self._rates if s <= _nearest_size(size)]
        return self._rates[max(known) if known else min(self._rates)]

    def _record(self, n: int, seconds: float, response: object) -> None:
        if n == 0:
            return
        size = _nearest_size(n)
        current_work().add(n)
        with self._lock:
            if n in self._seconds or len(self._seconds) < _SIZES_TIMED:
                self._seconds[n] = min(self._seconds.get(n, np.inf), seconds)
            self._can_join = _can_join(response, n)
            # The shortest time: longer ones include the load of other processes, or the start-up of a first call.
            self._rates[size] = min(self._rates.get(size, np.inf), seconds / n)
            self._n_parts += 1
            larger = [s for s in self._rates if s > size]
            if larger and self._n_parts % _RETRY_AFTER == 0:
                del self._rates[min(larger)]


def _nearest_size(n: int) -> int:
    """Return the size of `_SIZES` that is nearest to n rows."""
    return next((s for s in _SIZES if 2 * n >= s), _SIZES[-1])


def _nothing() -> None:
    """Do nothing."""


def _cut(rows: Any, start: int, stop: int) -> Any:
    """Return the rows from start to stop of an array or a data frame."""
    if isinstance(rows, np.ndarray):
        return rows[start:stop]
    import narwhals.stable.v2 as nw

    # A copy: pandas warns when a model adds a column to a slice of a frame.
    return nw.from_native(rows, eager_only=True)[start:stop].clone().to_native()


@runtime_checkable
class Joinable(Protocol):
    """A response that is no array, such as predictive distributions, and can be joined to those of other rows."""

    def joined(self, parts: Sequence[object], /) -> object:
        """Return the response to the rows of all parts."""
        ...


def _can_join(response: object, n: int, other: object = None) -> bool:
    """Return whether a response for n rows can be concatenated: an array or a list, and of the other one's kind."""
    if other is not None and type(response) is not type(other):
        return False
    if isinstance(response, np.ndarray):
        same_shape = not isinstance(other, np.ndarray) or response.shape[1:] == other.shape[1:]
        return response.ndim > 0 and len(response) == n and same_shape
    return type(response) is list and len(response) == n


def _joined(responses: Sequence[Any]) -> Any:
    if isinstance(responses[0], Joinable):
        return responses[0].joined(responses)
    if type(responses[0]) is list:
        return [number for response in responses for number in response]
    return np.concatenate(responses)


# --- limits on the model's own threads ------------------------------------------------------------

_lock = threading.Lock()
_users = 0
_settings = contextlib.ExitStack()


@contextlib.contextmanager
def one_thread_each() -> Generator[Callable[[], None]]:
    """Limit models to one thread of their own in each thread of ours."""
    _enter()
    try:
        yield _begin()
    finally:
        _leave()


def _enter() -> None:
    global _users  # noqa: PLW0603 - the settings are the process's, and so is their count
    with _lock:
        if _users == 0:
            with contextlib.ExitStack() as stack:  # restores the settings if one of them fails
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
            try:
                _settings.close()
            except KeyboardInterrupt:
                _settings.close()  # what is left of them
                raise


def _begin() -> Callable[[], None]:
    """Return a function that limits the libraries with settings per thread, until the thread that calls it ends."""
    pools = _pools()
    joblib = sys.modules.get("joblib")

    def begin() -> None:
        if pools is not None:
            pools.limit(limits=1, user_api="openmp")
        if joblib is not None:
            # An estimator with any n_jobs takes the number of workers from this back end.
            getattr(joblib, "parallel_config", joblib.parallel_backend)("sequential")

    return begin


def _pools() -> Any:
    """Return a controller of the thread pools loaded so far, or None without threadpoolctl."""
    if importlib.util.find_spec("threadpoolctl") is None:
        return None
    return importlib.import_module("threadpoolctl").ThreadpoolController()


def _limit_blas(stack: contextlib.ExitStack) -> None:
    for library in getattr(_pools(), "lib_controllers", ()):
        before = library.get_num_threads() if library.user_api == "blas" else None
        if before is None:
            continue
        # From version 3.7 on, threadpoolctl silently ignores calls except from the thread that set OpenBLAS first. When
        # contexts overlap, the thread that restores the setting need not be the one that changed it.
        set_threads = getattr(library, "_real_set_num_threads", library.set_num_threads)
        stack.callback(set_threads, before)
        set_threads(1)


def _limit_torch(stack: contextlib.ExitStack) -> None:
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "set_num_threads"):
        return
    stack.callback(torch.set_num_threads, torch.get_num_threads())
    torch.set_num_threads(1)


def _limit_lightgbm(stack: contextlib.ExitStack) -> None:
    """Limit LightGBM's maximum: its estimators request all processors, whatever the limit of OpenMP is."""
    import ctypes

    library = getattr(sys.modules.get("lightgbm.basic"), "_LIB", None)
    if library is None or not hasattr(library, "LGBM_SetMaxThreads"):  # before 4.3
        return
    before = ctypes.c_int()
    library.LGBM_GetMaxThreads(ctypes.byref(before))
    stack.callback(library.LGBM_SetMaxThreads, before)
    library.LGBM_SetMaxThreads(ctypes.c_int(1))


# --- call counts ----------------------------------------------------------------------------------


@dataclass
class CallStats:
    """Counts of the calls of a model: the cost of an explanation."""

    rows: int = 0
    calls: int = 0
    slope_rows: int = 0
    slope_calls: int = 0
    seconds: float = 0.0
    floored: int = 0
    tree_rows: int = 0

    def add(self, other: CallStats) -> None:
        """Add the counts of another worker."""
        self.rows += other.rows
        self.calls += other.calls
        self.slope_rows += other.slope_rows
        self.slope_calls += other.slope_calls
        self.seconds += other.seconds
        self.floored += other.floored
        self.tree_rows += other.tree_rows
