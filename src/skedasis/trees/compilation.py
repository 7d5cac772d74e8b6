"""Compilation of tree kernels by numba, its cache, and bit-counting instructions."""

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

# ------------------------------------------------------------------------------------------
# What kernels need of a word of 64 rows, in Python; numba puts single instructions in their place.


def count_bits(word: Any) -> int:
    """Return how many bits of a word are set."""
    return int(word).bit_count()


def lowest_bit(word: Any) -> int:
    """Return the place of the lowest bit that is set."""
    whole = int(word)
    return (whole & -whole).bit_length() - 1


# ------------------------------------------------------------------------------------------
# Single instructions for counting bits and for finding the lowest one, where kernels are compiled.


@cache
def single_instructions() -> None:
    """Put single instructions in the place of the functions of `bits.py`."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic, overload

    @intrinsic
    def population(typing: Any, word: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.ctpop(args[0])

        return types.uint64(types.uint64), build

    @intrinsic
    def trailing(typing: Any, word: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

        return types.uint64(types.uint64), build

    @overload(count_bits, inline="always")
    def ones(word: Any) -> Any:
        def one(word: Any) -> Any:
            return types.int64(population(word))  # pyright: ignore[reportCallIssue]

        return one

    @overload(lowest_bit, inline="always")
    def lowest(word: Any) -> Any:
        def one(word: Any) -> Any:
            return types.int64(trailing(word))  # pyright: ignore[reportCallIssue]

        return one


# ------------------------------------------------------------------------------------------
# Kernels, compiled when they are first used, and kept on disk for the next time.


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
