"""Errors and warnings of the library, and the format of every error message."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias, overload

from skedasis._escaping import visible


class _DescribedError(Exception):
    """Base of the errors. Arguments: a finished message, or the four parts of one (see `format_error`)."""

    @overload
    def __init__(self, message: str, /) -> None: ...

    @overload
    def __init__(self, what: str, got: str, expected: str, fix: str, /) -> None: ...

    def __init__(self, what: str, *rest: str) -> None:
        # The message is the only argument that is kept, so that errors can be pickled.
        # Names in data and messages of models can hold control sequences of terminals.
        super().__init__(format_error(what, *rest) if rest else visible(what))


class DataError(_DescribedError, ValueError):
    """The data or an argument is invalid."""


class ModelOutputError(_DescribedError, ValueError):
    """The model or its slope function returned an invalid response, such as a wrong shape, dtype or NaN."""


class UnsupportedError(_DescribedError, TypeError):
    """The request is not supported for this kind of model, feature or result."""


class FileError(DataError, OSError):
    """A file cannot be written, or is a folder."""

    def __init__(self, message: str, errno: int, filename: str) -> None:
        super().__init__(message)
        self.errno, self.filename, self.strerror = errno, filename, os.strerror(errno)

    def __str__(self) -> str:
        # That of OSError has the number, the reason and the name, not the message.
        return str(self.args[0])

    def __reduce__(self) -> tuple[type[FileError], tuple[str, int, str]]:
        return type(self), (str(self), self.errno or 0, str(self.filename))


class BinningWarning(UserWarning):
    """The automatic binning could not satisfy its constraints."""


class LeftOutWarning(UserWarning):
    """Some features were left out because the requested method has no effect for them."""


class TreeWarning(UserWarning):
    """The fast evaluation from a model's tree structure is not available, or only in part: the run is slower."""


class CostWarning(UserWarning):
    """The work asks the model for so many rows that it takes long."""


# Python's filters of warnings belong to all threads: a `catch_warnings` that begins in one thread while that of another
# is open restores the filters of the other one.

_Takers: TypeAlias = Mapping[type[Warning], Callable[[str], object]]

_TAKERS: ContextVar[_Takers] = ContextVar("_TAKERS")

_FILTERS = threading.RLock()


@contextmanager
def diverted(takers: _Takers) -> Generator[None]:
    """Pass the messages of the library's own warnings of some categories to functions instead of issuing them."""
    token = _TAKERS.set({**_TAKERS.get({}), **takers})
    try:
        yield
    finally:
        _TAKERS.reset(token)


@contextmanager
def quiet(pattern: str = "", category: type[Warning] = Warning) -> Generator[None]:
    """Ignore warnings of other libraries, in one thread at a time."""
    with _FILTERS, warnings.catch_warnings():
        warnings.filterwarnings("ignore", pattern, category)
        yield


def nearest(name: object, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name that is most similar to another one, in small letters; None if none is similar."""
    import difflib  # for the message of an error only

    plain = {k.casefold().strip(): k for k in known}
    found = difflib.get_close_matches(str(name).casefold().strip(), plain, 1, cutoff)
    return plain[found[0]] if found else None


def format_error(what: str, got: str, expected: str, fix: str) -> str:
    """Return an error message in the common format."""
    end = "" if fix.endswith(("?", "!")) else "."
    return visible(f"{what}: got {got}, expected {expected}. {fix.rstrip('.')}{end}")


def warn_caller(message: str, category: type[Warning]) -> None:
    """Issue a warning that points at the line of the user's code that called the library."""
    take = _TAKERS.get({}).get(category)
    if take is not None:
        take(visible(message))
        return
    package = __name__.partition(".")[0]
    level = 1
    frame = sys._getframe()  # noqa: SLF001 - the documented way to the calling frames
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(visible(message), category, stacklevel=level)
