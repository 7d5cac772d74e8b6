"""What a function or a result does not have: the error says what is valid, and names the nearest of our own names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, runtime_checkable

from skedasis._error_state import with_own_errors
from skedasis.errors import UnsupportedError, nearest

F = TypeVar("F", bound=Callable[..., Any])


@runtime_checkable
class HasKind(Protocol):
    """A class, or an object of one, that users and documents know by a name: that of the kind of results."""

    @classmethod
    def json_kind(cls) -> str:
        """Return the name."""
        ...


def unknown_keyword(
    function: str,
    name: str,
    valid: Sequence[str],
    elsewhere: Callable[[], Mapping[str, str]] | None = None,
) -> UnsupportedError:
    """Return the error for a keyword that a function does not have."""
    near = nearest(name, valid, 0.75)
    expected = f"one of {', '.join(valid)}" if valid else "no keyword"
    fix = f"Remove {name}="
    others = {} if elsewhere is None else elsewhere()
    if name in others:
        expected, fix = f"a keyword of {function}", others[name]
    elif near is not None:
        expected, fix = repr(near), f"Write {near}= instead"
    got = f"an unexpected keyword argument {name!r}"
    return UnsupportedError(f"{function}()", got, expected, fix)


def misfit(
    function: str,
    signature: inspect.Signature,
    args: Sequence[object],
    given: Mapping[str, object],
    elsewhere: Callable[[], Mapping[str, str]] | None = None,
) -> UnsupportedError | None:
    """Return the error for arguments that do not fit a signature, or None if they do."""
    try:
        signature.bind(*args, **given)
    except TypeError:
        pass
    else:
        return None
    parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    named = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL]
    for name in given:
        if name not in named and len(parameters) == len(signature.parameters):
            return unknown_keyword(function, name, named, elsewhere)
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    if len(args) > len(positional):
        others = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in given]
        most = f"at most {len(positional)} ({', '.join(positional)})" if positional else "none"
        fix = "Leave the others out"
        if others:
            fix = f"Pass the others by name: {', '.join(f'{name}=' for name in others[:8])}"
        got = f"{len(args)} positional argument{'s' * (len(args) > 1)}"
        return UnsupportedError(f"{function}()", got, most, fix)
    passed = positional[: len(args)]
    for name in passed:
        if name in given:
            got, expected = f"{name} twice", f"{name} once"
            return UnsupportedError(f"{function}()", got, expected, f"Remove {name}=")
    needed = [p.name for p in parameters if p.default is p.empty]
    missing = [name for name in needed if name not in passed and name not in given]
    if missing:
        *first, last = needed
        expected = f"{', '.join(first)} and {last}" if first else last
        fix = f"Pass {' and '.join(f'{name}=' for name in missing)}"
        return UnsupportedError(f"{function}()", f"no {' and no '.join(missing)}", expected, fix)
    return None


def result_error(what: str, value: object, expected: str) -> UnsupportedError:
    """Return the error for a result in the place of a model or of data: what of it needs no model."""
    fix = "Pass the fitted model and the rows, which a result does not contain"
    if "explore" in dir(type(value)):
        fix += ". For a page of the result alone write result.explore('page.html')"
    return UnsupportedError(what, f"a result ({type(value).__name__})", expected, fix)


def checked_call(function: F) -> F:
    """Give a function, a method or a class without ``**keywords`` an error for calls that do not fit it.

    A class may say in `instead` what replaces a keyword that it does not have.
    """
    called: Any = function.__init__ if isinstance(function, type) else function
    name = function.__qualname__.rpartition("<locals>.")[2]
    bound = isinstance(function, type) or "." in name

    @wraps(called)
    def checked(*args: Any, **kwargs: Any) -> Any:
        try:
            return with_own_errors(called, *args, **kwargs)
        except TypeError:
            signature = inspect.signature(called)
            if bound:
                _, *own = signature.parameters.values()
                signature = signature.replace(parameters=own)
            label = name.removesuffix(".__call__")
            if bound and args and isinstance(args[0], HasKind):  # not a base class of it
                _, dot, method = label.partition(".")
                label = f"{args[0].json_kind()}{dot}{method}"
            own_advice = vars(function).get("instead", {})
            passed = args[1:] if bound else args
            problem = misfit(label, signature, passed, kwargs, lambda: own_advice)
            if problem is None:
                raise
        raise problem from None

    if isinstance(function, type):
        function.__init__ = checked
        return cast(F, function)
    return cast(F, checked)


class NearestAttribute:
    """Base of classes whose error for an unknown attribute names the nearest one."""

    __slots__ = ()

    def __dir__(self) -> list[str]:
        """Return the names of what an object has, without what its class declares for those who write classes."""
        declared = {
            name
            for base in type(self).__mro__
            for name, member in vars(base).items()
            if not name.startswith("_")
            if isinstance(member, classmethod)
            or not (inspect.isroutine(member) or inspect.isdatadescriptor(member))
        }
        own = {f.name for f in fields(self)} if is_dataclass(self) else set[str]()
        return [*({*super().__dir__()} - declared | own)]

    if not TYPE_CHECKING:  # a type checker would take every attribute for one of ours

        def __getattr__(self, name: str) -> object:
            public = [] if name.startswith("_") else [n for n in dir(self) if not n.startswith("_")]
            near = None if name in public else nearest(name, public, 0.75)
            if near is None:  # the ordinary error; of a property that failed, its own
                return object.__getattribute__(self, name)
            text = (
                f"{type(self).__name__!r} object has no attribute {name!r}. Did you mean {near!r}?"
            )
            # Without `obj`, else Python adds its own suggestion.
            raise AttributeError(text, name=name)
