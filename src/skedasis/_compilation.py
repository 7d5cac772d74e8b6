"""Compilation of kernels by numba, its cache on disk, and bit-counting instructions."""

from __future__ import annotations

import contextlib
import glob
import importlib
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from skedasis.errors import TreeWarning, warn_caller

P = ParamSpec("P")
R = TypeVar("R")
_ScalarT = TypeVar("_ScalarT", bound=np.generic)

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


_LOAD_ROWS, _START_ROWS, _IMPORT_ROWS = 10_000_000, 150_000_000, 300_000_000
"""Rows after which kernels that NumPy can replace are loaded, numba is started for them, and it is imported. NumPy
takes about 2.5 ns longer for each row; loading these kernels takes up to 50 ms if others were loaded before, the first
kernel of a process 0.4 s, and importing numba as much again."""

_PASSED = [0]


def kernels_pay(rows: int) -> bool:
    """Return whether a pass over so many rows should use kernels that NumPy can replace with the same result."""
    if _PASSED[0] < _IMPORT_ROWS:
        _PASSED[0] += rows
        if _compiled.cache_info().currsize:
            enough = _LOAD_ROWS
        else:
            enough = _START_ROWS if "numba" in sys.modules else _IMPORT_ROWS
        if _PASSED[0] < enough:
            return False
    return has_numba()


def read_only(array: NDArray[_ScalarT]) -> NDArray[_ScalarT]:
    """Return a contiguous read-only view, or a copy if the array is not contiguous."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@cache
def _helpers(module: ModuleType, names: tuple[str, ...]) -> None:
    """Register functions of a module that its kernels call."""
    from numba.extending import register_jitable

    for name in names:
        register_jitable(getattr(module, name))


def compiled(kernel: Callable[P, R]) -> Callable[P, R]:
    """Return the kernel compiled by numba, at its first call or from the cache."""
    return _compiled(kernel)


@cache
def _compiled(kernel: Callable[..., object]) -> Callable[..., Any]:
    import numba

    function: Any
    with _LOCK:
        single_instructions()
        module = sys.modules[kernel.__module__]
        _helpers(module, tuple(getattr(module, "HELPERS", ())))
        try:
            function = numba.njit(cache=True, nogil=True)(kernel)
        except RuntimeError:  # numba found no writable cache folder
            _warn_uncached()
            function = numba.njit(nogil=True)(kernel)
    # numba has no public name for the cache, nor for its index; a function without a cache has no index.
    with contextlib.suppress(AttributeError):
        function._cache = _LenientCache(function._cache)  # noqa: SLF001
        _announce_compilation(module, function._cache.index)  # noqa: SLF001
    return function


class _IndexedCache(Protocol):
    """What is used of numba's cache of one function: an index of its signatures, and a file for each."""

    _cache_file: _CacheFile

    def load_overload(self, sig: object, target_context: object, /) -> object: ...

    def save_overload(self, sig: object, data: object, /) -> None: ...


class _CacheFile(Protocol):
    _index_path: str


class _LenientCache:
    """numba's cache of a kernel, whose faults cost time, not the call: a full disk, damaged files."""

    def __init__(self, cache: _IndexedCache) -> None:
        self._cache = cache
        self.index = Path(cache._cache_file._index_path)  # noqa: SLF001 - numba has no public name

    def load_overload(self, sig: object, target_context: object) -> object:
        """Return the compiled kernel; None if there is none that can be read."""
        try:
            return self._cache.load_overload(sig, target_context)
        except Exception:  # noqa: BLE001 - a damaged pickle may raise anything
            self._forget()
            return None

    def save_overload(self, sig: object, data: object) -> None:
        """Keep a compiled kernel; warn once if its file cannot be written."""
        try:
            self._cache.save_overload(sig, data)
        except OSError:
            self._forget()
            _warn_uncached()
        except BaseException:  # interrupted
            self._forget()
            raise

    def _forget(self) -> None:
        """Remove the index, and the temporary files that numba leaves when it is interrupted."""
        base = glob.escape(self.index.stem)
        with contextlib.suppress(OSError):
            for path in (self.index, *self.index.parent.glob(f"{base}.*.tmp.*")):
                path.unlink(missing_ok=True)

    @property
    def cache_path(self) -> str:
        """The folder of the files."""
        return str(self.index.parent)


@cache
def _warn_uncached() -> None:
    warn_caller(
        "No folder for compiled kernels is writable, or its disk is full, so that they are compiled in each process, "
        "which takes some seconds. Set NUMBA_CACHE_DIR to a writable folder.",
        TreeWarning,
    )


_ANNOUNCED: set[str] = set()


def _announce_compilation(module: ModuleType, index: Path) -> None:
    """Write to stderr which kernels are compiled, and about how long that takes, once for each module of them.

    A module without `COMPILED` takes less than two seconds.
    """
    purpose, seconds = vars(module).get("COMPILED", ("", 0))
    if not seconds or module.__name__ in _ANNOUNCED or index.exists():
        return
    _ANNOUNCED.add(module.__name__)
    with contextlib.suppress(AttributeError, OSError, ValueError):  # no stderr, or a closed one
        sys.stderr.write(
            f"skedasis: compiling kernels for {purpose}, about {seconds} s; this happens once.\n"
        )
