"""Methods that draw and tabulate: signatures, docstrings and errors that follow from the dictionaries of `keywords`."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, wraps
from typing import TypeVar, cast, get_args

from skedasis._arguments import check_flag, shown
from skedasis._calls import misfit
from skedasis._error_state import with_own_errors
from skedasis.errors import DataError, UnsupportedError
from skedasis.results import keywords

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
    named = str(signature.parameters[last].annotation).removeprefix("Unpack[").removesuffix("]")
    # Of two options of one name, that of the function itself counts.
    kinds = {name: kind for name, kind in _types(named).items() if name not in own}
    options = [_parameter(*option) for option in kinds.items()]
    parameters = [*signature.parameters.values()][:-1] + options
    method = function.__qualname__
    bound = int("." in method)

    @wraps(function)
    def called(*args: object, **given: object) -> object:
        passed = signature.replace(parameters=parameters[bound:])
        problem = misfit(method, passed, args[bound:], given)
        if problem is not None:
            raise problem
        for name, value in given.items():
            _check_type(method, name, value, str(passed.parameters[name].annotation))
        with errors_named(method):
            return with_own_errors(function, *args, **given)

    called.__dict__["__signature__"] = signature.replace(parameters=parameters)
    if function.__doc__ is not None:
        shared = SHARED[function.__name__ if bound else "plot"]
        entries = _entries("MethodKeywords", own)
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
def _parameter(name: str, kind: str) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=_DEFAULT, annotation=kind
    )


def _check_type(method: str, name: str, value: object, kind: str) -> None:
    """Raise if an option that is a text, or True or False, is something else."""
    if kind in ("bool", "bool | None") and value is not None:
        check_flag(f"{method}({name})", value)
    if kind == "str | None" and not isinstance(value, str | None):
        fix = f"Write {name}={str(value)!r}"
        raise DataError(f"{method}({name})", shown(value), "a text", fix)


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
        entries = _entries("MethodKeywords", ["backend"])
        method.__doc__ = documented(method.__doc__, entries, SHARED["to_frame"])


def with_choices(method: Function, owner: type, option: str, values: Sequence[str]) -> Function:
    """Return a method of a base for a class, whose signature and docstring name the values of an option."""
    signature = inspect.signature(method)
    kind = f"Literal[{', '.join(map(repr, values))}]"
    choice = signature.parameters[option].replace(annotation=kind, default=values[0])

    @wraps(method)
    def own(*args: object, **given: object) -> object:
        return method(*args, **given)

    own.__qualname__ = f"{owner.__qualname__}.{method.__name__}"
    own.__dict__["__signature__"] = signature.replace(
        parameters=list({**signature.parameters, option: choice}.values())
    )
    if own.__doc__ is not None:
        listed = ", ".join(f'"{value}"' for value in values)
        own.__doc__ = own.__doc__.replace(f"{option} : str, optional", f"{option} : {{{listed}}}")
    return cast(Function, own)


def document_options(holder: type, named: str) -> None:
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


def _entries(named: str, names: Iterable[str]) -> list[str]:
    """Return the entries of those names that are keys of a dictionary."""
    kinds, texts = _types(named), _texts().get(named, {})
    return [
        f"{name} : {_type_text(kinds[name])}\n    {texts.get(name, '')}"
        for name in names
        if name in kinds
    ]


@cache
def _types(named: str) -> dict[str, str]:
    """Return the type of each key of a dictionary, as it is written there."""
    return {
        name: str(kind.__forward_arg__)
        for name, kind in vars(keywords)[named].__annotations__.items()
    }


@cache
def _type_text(annotation: str) -> str:
    """Return a type as docstrings write it: the values of aliases, or the names of the types."""
    kinds = annotation.split(" | ")
    values = [value for kind in kinds for value in _values(vars(keywords).get(kind))]
    if not values:
        return " or ".join(kinds)
    return f"{{{', '.join([*values, *(kind for kind in kinds if kind == 'None')])}}}"


def _values(alias: object) -> list[str]:
    """Return the values of an alias of literals."""
    found: list[str] = []
    for part in get_args(alias):
        found += [f'"{part}"'] if isinstance(part, str) else _values(part) or ["None"]
    return found


@cache
def _texts() -> dict[str, dict[str, str]]:
    """Return the text below each key of each dictionary, which Python itself does not keep, indented as in entries."""
    try:
        source = inspect.getsource(keywords)
    except OSError:  # the package is distributed without its sources
        return {}
    found: dict[str, dict[str, str]] = {}
    for named in ast.parse(source).body:
        if isinstance(named, ast.ClassDef):
            bases = [found[b.id] for b in named.bases if isinstance(b, ast.Name) and b.id in found]
            own = {
                key.target.id: str(text.value.value)
                for key, text in itertools.pairwise(named.body)
                if isinstance(key, ast.AnnAssign) and isinstance(key.target, ast.Name)
                if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
            }
            found[named.name] = {k: v for texts in (*bases, own) for k, v in texts.items()}
    return found
