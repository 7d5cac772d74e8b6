"""The state of the process during a call: NumPy's error state, and what is restored when a call is interrupted.

NumPy's error state is the user's where the user's model is called. Elsewhere no number raises: an underflow in our own
arithmetic, which is none of an answer, would end the call of a user who lets NumPy raise.

Ctrl-C at any moment: what a call has changed in the process is restored before the interruption leaves the library.

Python may be interrupted before the first instruction of ``__exit__``: then the context manager of NumPy's error state,
of the warnings, of a progress bar or of a temporary file does not clean up. Hence each public function takes the state
of the process before it begins, and restores it when it is interrupted.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Literal, NamedTuple, ParamSpec, TypeAlias, TypedDict, TypeVar, cast

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

_Reaction: TypeAlias = Literal["ignore", "warn", "raise", "call", "print", "log"]


class _Errors(TypedDict):
    """An error state of NumPy."""

    divide: _Reaction
    over: _Reaction
    under: _Reaction
    invalid: _Reaction


_WARNINGS = ("filters", "showwarning", "_showwarnmsg_impl")
"""What `warnings.catch_warnings` changes."""

_CLEANUPS: list[Callable[[], object]] = []


_USERS: ContextVar[_Errors | None] = ContextVar("_USERS", default=None)
"""NumPy's error state outside of the call, if it is another one within."""


@contextmanager
def own_error_state() -> Generator[None]:
    """Let numbers of our own computation warn at most, as in NumPy's usual state; the user's silence is kept.

    Examples
    --------
    >>> with np.errstate(all="raise"), own_error_state():
    ...     float(np.exp(np.float64(-1e3)))
    0.0
    """
    users = cast("_Errors", np.geterr())
    usual = {
        kind: "ignore" if kind == "under" or reaction == "ignore" else "warn"
        for kind, reaction in users.items()
    }
    own = cast("_Errors", usual)
    if own == users:
        yield
        return
    token = _USERS.set(users)
    try:
        with np.errstate(**own):
            yield
    finally:
        _USERS.reset(token)


def users_error_state() -> np.errstate:
    """Return a context in which NumPy's error state is that of the user."""
    users = _USERS.get()
    return np.errstate() if users is None else np.errstate(**users)


class ProcessState(NamedTuple):
    """What a call changes for a while: NumPy's error state, the warnings, and the exception that is being handled."""

    errors: dict[str, _Reaction]
    warnings: dict[str, object]
    handled: BaseException | None


def process_state() -> ProcessState:
    """Return the state of the process."""
    found = vars(warnings)
    return ProcessState(
        cast("dict[str, _Reaction]", np.geterr()),
        {name: found[name] for name in _WARNINGS if name in found},
        sys.exception(),
    )


def after_interruption(cleanup: Callable[[], object]) -> None:
    """Register what removes the traces of this thread's unfinished work, such as its temporary files."""
    _CLEANUPS.append(cleanup)


def raise_interruption(error: BaseException, before: ProcessState) -> None:
    """If a call was interrupted, restore the state before it; raise the interruption that another error hides.

    Parameters
    ----------
    error : BaseException
        With which the call ended. If it is the interruption, nothing is raised: the caller has it in hand.
    before : ProcessState

    Examples
    --------
    >>> before = process_state()
    >>> old = np.seterr(over="raise")
    >>> raise_interruption(KeyboardInterrupt(), before)
    >>> np.geterr()["over"] == old["over"]
    True
    """
    interruption = _interruption(error, before.handled)
    if interruption is None:
        return
    np.seterr(**before.errors)
    _USERS.set(None)
    if any(vars(warnings)[name] is not value for name, value in before.warnings.items()):
        for name, value in before.warnings.items():
            setattr(warnings, name, value)
        with warnings.catch_warnings():  # so that Python reads the filters again
            pass
    for cleanup in _CLEANUPS:
        cleanup()
    if interruption is not error:
        raise interruption from None


def restoring(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that restores the state of the process when it is interrupted."""

    @wraps(function)
    def restored(*args: P.args, **kwargs: P.kwargs) -> R:
        before = process_state()
        try:
            with own_error_state():
                return function(*args, **kwargs)
        except BaseException as error:
            raise_interruption(error, before)
            raise

    return restored


def _interruption(error: BaseException, handled: BaseException | None) -> KeyboardInterrupt | None:
    """Return the interruption that an error is, or during whose handling it was raised."""
    at: BaseException | None = error
    while at is not None and at is not handled:
        if isinstance(at, KeyboardInterrupt):
            return at
        # Who raised it `from` something else, or from None, has handled the interruption.
        at = None if at.__suppress_context__ else at.__context__
    return None
