"""NumPy's error state: the user's where the user's model is called; elsewhere no number of our arithmetic raises."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, copy_context
from typing import Literal, ParamSpec, TypeAlias, TypedDict, TypeVar, cast

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

_Reaction: TypeAlias = Literal["ignore", "warn", "raise", "call", "print", "log"]


class _Errors(TypedDict):
    divide: _Reaction
    over: _Reaction
    under: _Reaction
    invalid: _Reaction


_USERS: ContextVar[_Errors | None] = ContextVar("_USERS", default=None)
"""NumPy's error state outside of the call, if it is another one within."""


def with_own_errors(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function of ours, whose numbers warn at most, as in NumPy's usual state; the user's silence is kept."""
    users = cast("_Errors", np.geterr())
    usual = {
        kind: "ignore" if kind == "under" or reaction == "ignore" else "warn"
        for kind, reaction in users.items()
    }
    if usual == users:
        return function(*args, **kwargs)
    context = copy_context()
    context.run(_USERS.set, users)
    context.run(np.seterr, **cast("_Errors", usual))
    return context.run(function, *args, **kwargs)


def users_error_state() -> np.errstate:
    """Return a context in which NumPy's error state is that of the user."""
    users = _USERS.get()
    return np.errstate() if users is None else np.errstate(**users)
