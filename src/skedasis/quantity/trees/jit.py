"""Kernels, compiled when they are first used, and kept on disk for the next time."""

from __future__ import annotations

import importlib
import sys
import threading
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from skedasis.errors import TreeWarning
from skedasis.quantity.trees.instructions import single_instructions

_LOCK = threading.Lock()


@cache
def has_numba() -> bool:
    """Return whether kernels can be compiled: whether numba is there, and goes with the NumPy that is."""
    try:
        importlib.import_module("numba")
    except ImportError:
        return False
    return True


@cache
def _helpers(module: ModuleType, names: tuple[str, ...]) -> None:
    """Let kernels call these functions of their module."""
    from numba.extending import register_jitable

    for name in names:
        register_jitable(getattr(module, name))


@cache
def compiled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that is compiled at its first call, or taken from disk; it lets other threads run meanwhile.

    Where nothing can be written it is compiled anew in each process, which is said once.
    """
    import numba

    with _LOCK:
        single_instructions()
        module = sys.modules[kernel.__module__]
        _helpers(module, tuple(getattr(module, "HELPERS", ())))
        try:
            made = numba.njit(cache=True, nogil=True)(kernel)
        except RuntimeError:  # what numba says where it finds no folder that it may write to
            _say_uncached()
            made = numba.njit(nogil=True)(kernel)
    _say_new(made)
    return made


@cache
def _say_uncached() -> None:
    warnings.warn(
        "no folder for compiled tree kernels can be written to: they are compiled anew in each process, which takes "
        "some seconds. Set NUMBA_CACHE_DIR to one that can.",
        TreeWarning,
        stacklevel=2,
    )


_SAID: list[bool] = []


def _say_new(made: Any) -> None:
    """Say once that compiling takes a while, where nothing is on disk yet."""
    index = getattr(
        getattr(getattr(made, "_cache", None), "_cache_file", None), "_index_path", None
    )
    if _SAID or index is None:
        return
    if not Path(index).exists():
        _SAID.append(True)
        sys.stderr.write("skedasis: compiling the kernels for trees; this happens once.\n")
