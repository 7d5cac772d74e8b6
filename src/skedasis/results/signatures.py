"""Methods that draw and tabulate: signatures, docstrings and errors that follow from the dictionaries of `keywords`."""

from __future__ import annotations

import inspect
import itertools
import re
import sys
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, wraps
from types import NoneType, UnionType
from typing import ForwardRef, Literal, TypeVar, Union, cast, get_args, get_origin

from skedasis import _MODULES
from skedasis._arguments import check_flag, check_option, check_probability, shown
from skedasis._calls import misfit
from skedasis._error_state import with_own_errors
from skedasis.errors import DataError, UnsupportedError
from skedasis.results import keywords
from skedasis.results.described import texts_below

Function = TypeVar("Function", bound=Callable[..., object])

SECTIONS = ("Parameters", "Returns", "Raises", "Notes", "Examples")
"""Sections of a docstring in their order."""

SHARED: Mapping[str, Mapping[str, str]] = {
    "plot": {
        "Returns": """matplotlib Figure
    Notebooks display it; ``savefig`` writes it to a file. No model row.""",
        "Raises": """DataError
    For an invalid value of an option, and if there is nothing to draw.
TypeError
    For an unknown option.""",
    },
    "explore": {
        "Returns": """Explorable
    A single file that loads nothing from the network, with the numbers in tables below the figure. Notebooks display
    it; its `save` method writes it to a file. No model row.""",
        "Raises": """DataError, UnsupportedError, TypeError
    As `plot`, and if `path` is a folder.""",
    },
    "to_frame": {
        "Returns": "data frame",
        "Raises": """UnsupportedError
    If no data frame library is installed.""",
    },
}
"""Sections that the docstrings of all methods of a name share."""


class _Default:
    """The default of an option, which the figure knows; shown as ``...``, as in stubs."""

    def __repr__(self) -> str:
        return "..."


_DEFAULT = _Default()


def takes_figure_options(function: Function) -> Function:
    """Return a function whose signature, docstring and errors name the keys of its ``**options: Unpack[...]``."""
    signature = inspect.signature(function)
    *own, last = signature.parameters
    named = _dictionary(signature.parameters[last].annotation, function.__globals__)
    # Of two options of one name, that of the function itself counts.
    kinds = {name: kind for name, kind in _types(named).items() if name not in own}
    options = [_parameter(*option) for option in kinds.items()]
    parameters = [*signature.parameters.values()][:-1] + options
    bound = int("." in function.__qualname__)

    @wraps(function)
    def called(*args: object, **given: object) -> object:
        method = _named_method(type(args[0]), function) if bound else function.__qualname__
        passed = signature.replace(parameters=parameters[bound:])
        problem = misfit(method, passed, args[bound:], given)
        if problem is not None:
            raise problem
        for name, value in given.items():
            _check_type(method, name, value, str(passed.parameters[name].annotation), named)
        with errors_named(method):
            return with_own_errors(function, *args, **given)

    called.__dict__["__signature__"] = signature.replace(parameters=parameters)
    if function.__doc__ is not None:
        shared = SHARED[function.__name__ if bound else "plot"]
        entries = _entries(keywords.MethodKeywords, own)
        if function.__name__ == "explore":
            entries += [f"{', '.join(kinds)}\n    As in `plot`."] * bool(kinds)
        else:
            every = keywords.FigureKeywords.__annotations__
            entries += _entries(named, [name for name in kinds if name not in every])
            whose = "Options of every figure: `skedasis.plots.plot.FigureOptions`."
            entries.append(f"{', '.join(every)}\n    {whose}")
        called.__doc__ = documented(function.__doc__, entries, shared, [*own, *kinds])
    return cast(Function, called)


@cache
def _named_method(kind: type, function: Callable[..., object]) -> str:
    """Return the name of a method with the public class of the result; else with the class that defines it."""
    public = next((c.__name__ for c in kind.__mro__ if c.__name__ in _MODULES), None)
    return function.__qualname__ if public is None else f"{public}.{function.__name__}"


@cache
def _parameter(name: str, kind: str) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=_DEFAULT, annotation=kind
    )


def _dictionary(annotation: object, known: Mapping[str, object]) -> type:
    """Return the dictionary of ``Unpack[...]``: one of the module of the function, else of `keywords`."""
    if not isinstance(annotation, str):
        return get_args(annotation)[0]
    named = annotation.removeprefix("Unpack[").removesuffix("]")
    return cast(type, known.get(named) or vars(keywords)[named])


def _check_type(method: str, name: str, value: object, kind: str, named: type) -> None:
    """Raise for a value that is not of the type of an option: one of several values, a text, True or False, …."""
    what, values = f"{method}({name})", _values_of(name, named)
    if values:
        fix = "Use one of these"
        if isinstance(value, bool) and None in values:
            fix = f"Write {name}={values[0] if value else None!r}"
        check_option(what, value, values, fix)
    if value is None and kind.endswith("| None"):
        return
    if name == "confidence_level":
        check_probability(what, value)
    if kind.startswith("bool"):
        check_flag(what, value)
    if kind == "str | None" and not isinstance(value, str):
        raise DataError(what, shown(value), "a text", f"Write {name}={str(value)!r}")
    if kind == "Sequence[str] | None" and not isinstance(value, Iterable):
        raise DataError(what, shown(value), "a list of texts", f"Write {name}=[{str(value)!r}]")


@contextmanager
def errors_named(method: str) -> Generator[None]:
    """Name the method that was called in the errors of figures, which begin with "plot", or with what draws for it."""
    try:
        yield
    except (DataError, UnsupportedError) as error:
        error.args = (re.sub(r"\A(plot\b|compare\b|interval(?=\())", method, str(error.args[0])),)
        raise


# --- docstrings -----------------------------------------------------------------------------------


def document_table(method: Callable[..., object]) -> None:
    """Add to the docstring of a method `to_frame` what those of all results share."""
    if method.__doc__ is not None:
        entries = _entries(keywords.MethodKeywords, ["backend"])
        method.__doc__ = documented(method.__doc__, entries, SHARED["to_frame"])


def with_choices(method: Function, owner: type, option: str, values: Sequence[str]) -> Function:
    """Return a method of a base for a class, whose signature and docstring name the values of an option.

    A value can have a text, "bins: one row per bin", which the docstring gets, too.
    """
    names, texts = zip(*(value.partition(": ")[::2] for value in values), strict=True)
    signature = inspect.signature(method)
    kind = f"Literal[{', '.join(map(repr, names))}]"
    choice = signature.parameters[option].replace(annotation=kind, default=names[0])

    @wraps(method)
    def own(*args: object, **given: object) -> object:
        return method(*args, **given)

    own.__qualname__ = f"{owner.__qualname__}.{method.__name__}"
    own.__dict__["__signature__"] = signature.replace(
        parameters=list({**signature.parameters, option: choice}.values())
    )
    if own.__doc__ is not None:
        listed = ", ".join(f'"{name}"' for name in names)
        entry = f"{option} : {{{listed}}}"
        entry += "".join(
            f'\n    "{n}": {text}.' for n, text in zip(names, texts, strict=True) if text
        )
        own.__doc__ = own.__doc__.replace(f"{option} : str, optional", entry)
    return cast(Function, own)


def document_options(holder: type, named: type) -> None:
    """Add to the docstring of a class that holds the options of a dictionary what each of them is."""
    if holder.__doc__ is not None:
        holder.__doc__ = documented(holder.__doc__, _entries(named, _types(named)), {})


def documented(
    text: str, entries: Collection[str], shared: Mapping[str, str], order: Sequence[str] = ()
) -> str:
    """Return a docstring with further entries of parameters before its own, or in an order, and shared sections."""
    own = _sections(text)
    if "Parameters" in own:
        entries = [*entries, *_split(own["Parameters"])]
        if order:
            entries.sort(key=lambda e: order.index(e.lstrip("*").replace(",", " ").split()[0]))
    parts = [own[""]]
    for name in SECTIONS:
        said = "\n".join(entries) if name == "Parameters" else shared.get(name, "")
        if name in own and name != "Parameters":
            said = _merged(said, own[name]) if said else own[name]
        if said:
            parts.append(f"{name}\n{'-' * len(name)}\n{said}")
    return "\n\n".join(parts)


# Regular expressions and `inspect.cleandoc` would take most of the time in which a class is imported.


def _sections(text: str) -> dict[str, str]:
    """Return the sections of a docstring by their names, without its indentation; what comes before them as ""."""
    lines = text.split("\n")
    margin = "" if len(lines) == 1 else lines[-1]
    found: dict[str, str] = {}
    name = ""
    for block in text.rstrip().replace(f"\n{margin}", "\n").split("\n\n"):
        title, _, rest = block.partition("\n")
        if title in SECTIONS and rest.startswith("---"):
            name = title
            found[name] = rest.partition("\n")[2]
        else:
            found[name] = f"{found[name]}\n\n{block}" if name in found else block
    return found


def _split(section: str) -> list[str]:
    """Return the entries of a section: a line that is not indented, and those below it."""
    entries: list[str] = []
    for line in section.split("\n"):
        if line.startswith(" "):
            entries[-1] += f"\n{line}"
        else:
            entries.append(line)
    return entries


def _merged(first: str, second: str) -> str:
    """Return the entries of two sections; those of one name as one."""
    found: dict[str, str] = {}
    for entry in (*_split(first), *_split(second)):
        head, line, text = entry.partition("\n")
        found[head] = f"{found.get(head, head)}{line}{text}"
    return "\n".join(found.values())


def _entries(named: type, names: Iterable[str]) -> list[str]:
    """Return the entries of those names that are keys of a dictionary."""
    kinds, texts = (
        _types(named),
        texts_below(named.__module__, keywords.__name__).get(named.__name__, {}),
    )
    return [
        f"{name} : {_type_text(name, named)}\n    {texts.get(name, '')}"
        for name in names
        if name in kinds
    ]


@cache
def _types(named: type) -> dict[str, str]:
    """Return the type of each key of a dictionary, as it is written there."""
    return {
        name: kind.__forward_arg__
        if isinstance(kind, ForwardRef)
        else inspect.formatannotation(kind)
        for name, kind in named.__annotations__.items()
    }


@cache
def _type_text(name: str, named: type) -> str:
    """Return a type as docstrings write it: the values of literals, or the names of the types."""
    values = [f'"{v}"' if isinstance(v, str) else str(v) for v in _values_of(name, named)]
    return f"{{{', '.join(values)}}}" if values else " or ".join(_types(named)[name].split(" | "))


@cache
def _values_of(name: str, named: type) -> list[object]:
    """Return the values of an option that is one of some literals; none of another option."""
    kind = named.__annotations__.get(name)
    if not isinstance(kind, ForwardRef):
        return _values(kind)
    known = {**vars(keywords), **vars(sys.modules[named.__module__]), "None": NoneType}
    parts = [_values(known.get(part)) for part in kind.__forward_arg__.split(" | ")]
    return list(itertools.chain(*parts)) if all(parts) else []


def _values(kind: object) -> list[object]:
    """Return the values of literals, of None, and of their union; none of another type."""
    if kind is NoneType or get_origin(kind) is Literal:
        return list(get_args(kind)) or [None]
    union = get_origin(kind) in (Union, UnionType)
    parts = [_values(part) for part in get_args(kind)] if union else []
    return list(itertools.chain(*parts)) if all(parts) else []
