"""Compilation of kernels by numba, its cache on disk, and bit-counting instructions."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np

from skedasis.errors import TreeWarning, warn_caller

P = ParamSpec("P")
R = TypeVar("R")

# --- bits of a word -------------------------------------------------------------------------------


def count_bits(word: np.uint64) -> int:
    """Return the number of set bits of a word. In compiled kernels this is a single instruction."""
    return int(word).bit_count()


def lowest_bit(word: np.uint64) -> int:
    """Return the index of the lowest set bit of a word. In compiled kernels this is a single instruction."""
    number = int(word)
    return (number & -number).bit_length() - 1


class _Builder(Protocol):
    """What the instructions below call on llvmlite's `IRBuilder`."""

    def ctpop(self, value: object, /) -> object: ...

    def cttz(self, value: object, zero_is_undefined: object, /) -> object: ...


@cache
def single_instructions() -> None:
    """Let numba compile `count_bits` and `lowest_bit` to single instructions."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic, overload

    @intrinsic
    def population(typing: object, word: object) -> object:
        def build(
            context: object, builder: _Builder, signature: object, args: Sequence[object]
        ) -> object:
            return builder.ctpop(args[0])

        return types.uint64(types.uint64), build

    @intrinsic
    def trailing(typing: object, word: object) -> object:
        def build(
            context: object, builder: _Builder, signature: object, args: Sequence[object]
        ) -> object:
            return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

        return types.uint64(types.uint64), build

    @overload(count_bits, inline="always")
    def ones(word: object) -> Callable[[object], object]:
        def one(word: object) -> object:
            return types.int64(population(word))  # pyright: ignore[reportCallIssue]

        return one

    @overload(lowest_bit, inline="always")
    def lowest(word: object) -> Callable[[object], object]:
        def one(word: object) -> object:
            return types.int64(trailing(word))  # pyright: ignore[reportCallIssue]

        return one


# --- compilation ----------------------------------------------------------------------------------


_LOCK = threading.Lock()


@cache
def has_numba() -> bool:
    """Return whether kernels can be compiled: numba is installed and supports the installed NumPy."""
    try:
        importlib.import_module("numba")
    except ImportError:
        return False
    return True


@cache
def _helpers(module: ModuleType, names: tuple[str, ...]) -> None:
    """Register functions of a module that its kernels call."""
    from numba.extending import register_jitable

    for name in names:
        register_jitable(getattr(module, name))


def compiled(kernel: Callable[P, R]) -> Callable[P, R]:
    """Return the kernel compiled by numba, at its first call or from the cache. It releases the GIL.

    If no cache folder is writable, the kernel is compiled in each process, with one warning.
    """
    return _compiled(kernel)


@cache
def _compiled(kernel: Callable[..., object]) -> Callable[..., Any]:
    import numba

    with _LOCK:
        single_instructions()
        module = sys.modules[kernel.__module__]
        _helpers(module, tuple(getattr(module, "HELPERS", ())))
        try:
            function = numba.njit(cache=True, nogil=True)(kernel)
        except RuntimeError:  # numba found no writable cache folder
            _warn_uncached()
            function = numba.njit(nogil=True)(kernel)
    _announce_compilation(function)
    return function


@cache
def _warn_uncached() -> None:
    warn_caller(
        "No folder for compiled kernels is writable, so that they are compiled in each process, which takes "
        "some seconds. Set NUMBA_CACHE_DIR to a writable folder.",
        TreeWarning,
    )


_ANNOUNCED: list[bool] = []


def _announce_compilation(function: Any) -> None:
    """Write to stderr once per process that kernels are being compiled, if the cache has none."""
    try:
        index = function._cache._cache_file._index_path  # noqa: SLF001 - numba has no public name
    except AttributeError:
        return
    if not (_ANNOUNCED or Path(index).exists()):
        _ANNOUNCED.append(True)
        sys.stderr.write("skedasis: compiling kernels; this happens once.\n")
