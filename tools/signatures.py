"""Show on the pages of the reference what functions and methods have at run time only: keywords and docstrings.

mkdocstrings reads the source with griffe, which calls this extension (`extensions` in mkdocs.yml). Functions with the
decorator `skedasis.engine.options.takes_options` have a complete signature only at run time, those with
`skedasis.quantities.keywords.takes_quantity_keywords` also a complete docstring, and the docstrings of `plot`,
`explore` and `to_frame` are completed by `skedasis.results.signatures`.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import griffe

COMPLETED = ("skedasis.results.", "skedasis.plots.plot.")
"""Beginnings of the names of what has a completed docstring."""


class RuntimeKeywords(griffe.Extension):
    """Replace ``**keywords`` of functions by the keywords, and docstrings by those, that they have at run time."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Complete the docstring of a class, which then lists its fields: they need no entries of their own."""
        if _complete(cls):
            for member in cls.members.values():
                if member.is_attribute and "property" not in member.labels:
                    member.docstring = None
        if cls.path.startswith(COMPLETED):
            made = vars(_at_run_time(cls)).get("to_frame")
            if made is not None and "to_frame" not in cls.members:
                cls.set_member("to_frame", _method(made, cls))

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Add the keywords to a function's parameters, so that its signature and its table show them."""
        packed = [p.name for p in func.parameters if "Unpack[" in str(p.annotation)]
        _complete(
            func,
            makes_quantity="Unpack[QuantityKeywords]"
            in map(str, (p.annotation for p in func.parameters)),
        )
        shown = (
            list(keywords(func.module.path, func.name))
            if packed and func.parent is func.module
            else []
        )
        if shown:
            del func.parameters[packed[0]]
        for parameter in shown:
            if parameter.name not in func.parameters:
                func.parameters.add(parameter)


def _complete(found: griffe.Class | griffe.Function, *, makes_quantity: bool = False) -> bool:
    """Replace a docstring by the one at run time; return whether it is one of those that are completed."""
    if found.docstring is None or not (makes_quantity or found.path.startswith(COMPLETED)):
        return False
    found.docstring.value = inspect.getdoc(_at_run_time(found)) or found.docstring.value
    return True


def _at_run_time(found: griffe.Class | griffe.Function) -> Any:
    module = found.module.path
    return attrgetter(found.path.removeprefix(f"{module}."))(importlib.import_module(module))


def _method(made: Any, cls: griffe.Class) -> griffe.Function:
    """Return a method that a class has at run time only: its docstring names what this class takes."""
    parameters = [
        griffe.Parameter(
            p.name,
            annotation=None if p.annotation is p.empty else str(p.annotation),
            kind=griffe.ParameterKind[p.kind.name.lower()],
            default=None if p.default is p.empty else repr(p.default),
        )
        for p in inspect.signature(made).parameters.values()
    ]
    found = griffe.Function(made.__name__, parameters=griffe.Parameters(*parameters))
    style = cls.docstring and cls.docstring.parser
    found.docstring = griffe.Docstring(inspect.getdoc(made) or "", parent=found, parser=style)
    return found


def keywords(module: str, name: str) -> Iterator[griffe.Parameter]:
    """Yield a function's keyword-only parameters at run time; none if it still ends with ``**keywords``.

    Examples
    --------
    >>> [(p.name, p.default) for p in keywords("skedasis.engine.explain", "explain")][-8:-6]
    [('heterogeneity_rows', '10000'), ('max_model_rows', 'None')]
    """
    parameters = inspect.signature(getattr(importlib.import_module(module), name)).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    for p in parameters.values():
        if p.kind is p.KEYWORD_ONLY:
            default = json.dumps(p.default) if isinstance(p.default, str) else repr(p.default)
            kind = griffe.ParameterKind.keyword_only
            yield griffe.Parameter(p.name, annotation=str(p.annotation), kind=kind, default=default)
