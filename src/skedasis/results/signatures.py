"""Signatures of `plot` for notebooks: they list the options, of which `**options` says nothing."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import TypeVar, cast

from skedasis._error_state import with_own_errors

Function = TypeVar("Function", bound=Callable[..., object])

_KEYWORDS = "skedasis.plots.keywords"
"""The module of the dictionaries. It stands above results, and imports nothing but types."""


class _Default:
    """The default of an option, which the figure knows; shown as ``...``, as in stubs."""

    def __repr__(self) -> str:
        return "..."


_DEFAULT = _Default()


def shows_keywords(function: Function) -> Function:
    """Return the function, with a signature that lists the keys of its ``**options: Unpack[...]``."""
    signature = inspect.signature(function)
    *own, last = signature.parameters.values()
    named = str(last.annotation).removeprefix("Unpack[").removeprefix("keywords.").removesuffix("]")
    kinds = vars(import_module(_KEYWORDS))[named].__annotations__
    # Of two options of one name, that of the function itself counts.
    mine = {p.name for p in own}
    listed = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_DEFAULT,
            annotation=kind.__forward_arg__ if isinstance(kind, typing.ForwardRef) else kind,
        )
        for name, kind in kinds.items()
        if name not in mine
    ]

    @wraps(function)
    def shown(*args: object, **given: object) -> object:
        return with_own_errors(function, *args, **given)

    shown.__dict__["__signature__"] = signature.replace(parameters=[*own, *listed])
    return cast(Function, shown)
