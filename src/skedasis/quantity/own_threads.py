"""Models that bring threads of their own, kept to one while ours are at work.

Threads that each start threads wait for each other: four times four on four processors are slower than four. Nothing of
the user's is changed but settings that hold for the whole process, and these are put back.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Generator
from typing import Any

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
