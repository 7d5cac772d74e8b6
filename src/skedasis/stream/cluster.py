"""Passes over the data on a Dask cluster: each worker reads ranges of rows by itself, and returns their statistics."""

from __future__ import annotations

import ctypes
import os
import pickle
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar, cast

from skedasis.errors import DataError, ModelOutputError, UnsupportedError

ResultT = TypeVar("ResultT")
WorkT = TypeVar("WorkT")

_RETRIES = 3
"""How often a task that fails, or whose worker dies, is computed again."""

_TASKS, _MOST_CHUNKS = 6, 32
"""Tasks for each thread of the cluster, if there are enough rows; largest number of chunks of a task."""

_COMBINED, _GATHERED = 8, 32
"""Results that a worker combines at a time; largest number of results that are fetched from the workers."""

_KEPT = 4
"""Number of pieces of work that a worker keeps unpacked."""


class Future(Protocol):
    """The result of a task on the cluster, once it is there."""

    def result(self) -> object:
        """Wait for the result, and return it."""
        ...

    def release(self) -> None:
        """Let the cluster forget the result."""
        ...

    def cancel(self) -> None:
        """Let the cluster give up the task."""
        ...


class Client(Protocol):
    """What is used of a ``distributed.Client``."""

    def submit(self, func: Callable[..., object], *args: object, **options: object) -> Future:
        """Compute a function of some arguments on a worker."""
        ...

    def nthreads(self) -> dict[str, int]:
        """Return the number of threads of each worker."""
        ...


def check_client(what: str, client: object, *, current: bool = False) -> Client | None:
    """Return a Dask client, or None; raise for other objects. With `current`, None means the client that Dask uses."""
    if client is None:
        return _current_client() if current else None
    kind = type(client)
    if any(base.__module__ == "distributed.client" for base in kind.__mro__):
        return cast("Client", client)
    raise DataError(
        what,
        f"a {kind.__name__}",
        "a client of a Dask cluster",
        "from distributed import Client; explain(..., client=Client(address))",
    )


def _current_client() -> Client | None:
    """Return the client that Dask uses in this process; None if there is none."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return cast("Client", vars(distributed)["default_client"]())
    except ValueError:  # no client was made
        return None


def map_ranges(
    client: Client,
    function: Callable[[WorkT, int, int], ResultT],
    combine: Callable[[WorkT, Sequence[ResultT]], ResultT],
    work: WorkT,
    ranges: Sequence[tuple[int, int]],
) -> Generator[tuple[int, ResultT]]:
    """Yield what is computed of consecutive ranges, in their order, with the number of their rows."""
    from distributed.scheduler import KilledWorker

    packed = packed_work(work)
    # A future, so that it travels once to each worker and not with each task.
    shared = client.submit(_same, packed, pure=False, retries=_RETRIES)
    submitted: list[Future] = []
    rows = [stop - start for start, stop in ranges]
    try:
        for start, stop in ranges:
            submitted.append(
                client.submit(_compute, function, shared, start, stop, pure=False, retries=_RETRIES)
            )
        futures = submitted[:]
        while len(futures) > _GATHERED:
            parts = [slice(i, i + _COMBINED) for i in range(0, len(futures), _COMBINED)]
            combined: list[Future] = []
            for p in parts:
                combined.append(
                    client.submit(
                        _combine, combine, shared, futures[p], pure=False, retries=_RETRIES
                    )
                )
                submitted.append(combined[-1])
            for future in futures:  # only the combined results are asked for
                future.release()
            futures, rows = combined, [sum(rows[p]) for p in parts]
        for future, n in zip(futures, rows, strict=True):
            yield n, cast("ResultT", future.result())
            future.release()
    except BaseException as error:
        for future in submitted:
            future.cancel()
        if isinstance(error, KilledWorker):
            raise ModelOutputError(
                "the model on the cluster",
                "the end of each worker that evaluated it",
                "workers that return its values",
                "Pass a smaller memory=, or give the workers more memory; their logs say why they ended",
            ) from error
        raise
    finally:
        shared.release()


def ranges_of(client: Client, n: int, chunk: int) -> list[tuple[int, int]]:
    """Return the ranges of n rows that become tasks: whole chunks, some tasks for each thread of the cluster."""
    threads = max(1, sum(client.nthreads().values()))
    chunks = -(-n // chunk)
    size = chunk * min(max(1, chunks // (_TASKS * threads)), _MOST_CHUNKS)
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def packed_work(work: object) -> bytes:
    """Return what workers are sent; raise `UnsupportedError` if it cannot be pickled."""
    try:
        import cloudpickle  # which `distributed` needs, and which pickles functions of notebooks
    except ImportError as error:
        raise UnsupportedError(
            "client", "no cloudpickle", "what a Dask cluster needs", "pip install 'skedasis[dask]'"
        ) from error
    try:
        return cloudpickle.dumps(work, protocol=5)
    except Exception as error:
        raise UnsupportedError(
            "client",
            f"a model that cannot be sent to workers ({type(error).__name__}: {str(error)[:150]})",
            "a model that can be pickled",
            "Pass a function that loads the model, or leave client out",
        ) from error


# ------------------------------------------------------------------------------------ memory of workers
_TRIM, _MMAP = -1, -3
"""Options of ``mallopt``: M_TRIM_THRESHOLD and M_MMAP_THRESHOLD."""

_KEPT_BYTES, _LARGEST_BYTES, _USUAL_BYTES = 128 << 20, 32 << 20, 128 << 10
"""Freed memory that is kept in a task; the largest array that may be part of it; that of glibc by default."""

_RESTORED_AFTER = 1.0
"""Seconds after a task when the setting is as before, unless another task has begun."""


class _Allocator:
    """The setting of the C library's allocator in this process, while tasks run and shortly after."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running, self.changed = 0, False
        self.timer: threading.Timer | None = None

    def keep(self) -> None:
        """Let freed memory be kept: a task begins."""
        with self.lock:
            self.running += 1
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None
            if not self.changed and (found := _mallopt()) is not None:
                found[0](_TRIM, _KEPT_BYTES)
                found[0](_MMAP, _LARGEST_BYTES)
                self.changed = True

    def restore_later(self) -> None:
        """Let the setting be as before when no task has begun for a while: a task ends."""
        with self.lock:
            self.running -= 1
            if self.running == 0 and self.changed:
                self.timer = threading.Timer(_RESTORED_AFTER, self.restore)
                self.timer.daemon = True
                self.timer.start()

    def restore(self) -> None:
        """Let the setting be as before, and give back what is free."""
        with self.lock:
            if self.running or (found := _mallopt()) is None:
                return
            mmap = os.environ.get("MALLOC_MMAP_THRESHOLD_", "")
            found[0](_TRIM, int(os.environ["MALLOC_TRIM_THRESHOLD_"]))
            found[0](_MMAP, int(mmap) if mmap.isdigit() else _USUAL_BYTES)
            found[1](0)
            self.changed, self.timer = False, None


_ALLOCATOR = _Allocator()


@contextmanager
def freed_memory_kept() -> Generator[None]:
    """Let the allocator keep freed memory for further arrays while tasks run, if Dask has told it not to."""
    if not os.environ.get("MALLOC_TRIM_THRESHOLD_", "").isdigit():
        yield
        return
    _ALLOCATOR.keep()
    try:
        yield
    finally:
        _ALLOCATOR.restore_later()


def _mallopt() -> tuple[Callable[[int, int], int], Callable[[int], int]] | None:
    """Return ``mallopt`` and ``malloc_trim`` of the C library; None if it is not glibc."""
    try:
        library = ctypes.CDLL(None)
        return library.mallopt, library.malloc_trim
    except (AttributeError, OSError, TypeError):  # Windows has no library of this name
        return None


# ------------------------------------------------------------------------------------ on a worker
def _same(packed: bytes) -> bytes:
    """Return the argument: the task that holds what all others share."""
    return packed


_UNPACKED: OrderedDict[bytes, object] = OrderedDict()


def _compute(
    function: Callable[[object, int, int], object], packed: bytes, start: int, stop: int
) -> object:
    """Compute one range."""
    with freed_memory_kept():
        return function(_unpacked(packed), start, stop)


def _combine(
    combine: Callable[[object, Sequence[object]], object], packed: bytes, results: Sequence[object]
) -> object:
    """Combine the results of neighbouring ranges."""
    with freed_memory_kept():
        return combine(_unpacked(packed), results)


def _unpacked(packed: bytes) -> object:
    """Unpack the work, once in each process."""
    work = _UNPACKED.get(packed)
    if work is None:
        work = _UNPACKED[packed] = pickle.loads(packed)  # noqa: S301 - what the client has sent
        while len(_UNPACKED) > _KEPT:
            _UNPACKED.popitem(last=False)
    return work
