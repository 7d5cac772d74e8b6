"""Show the keywords of ``**keywords: Unpack[...]`` on the pages of the reference, with their defaults.

mkdocstrings reads signatures from the source with griffe, which calls this extension (`extensions` in mkdocs.yml).
Functions with the decorator `skedasis.engine.options.takes_options` have a complete signature only at run time.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator
from typing import Any

import griffe


class RuntimeKeywords(griffe.Extension):
    """Replace ``**keywords`` by the keywords that the function's signature has at run time."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Add the keywords to a function's parameters, so that its signature and its table show them."""
        packed = [p.name for p in func.parameters if "Unpack[" in str(p.annotation)]
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


def keywords(module: str, name: str) -> Iterator[griffe.Parameter]:
    """Yield a function's keyword-only parameters at run time; none if it still ends with ``**keywords``.

    Examples
    --------
    >>> [(p.name, p.default) for p in keywords("skedasis.engine.explain", "explain")][-5:-3]
    [('client', 'None'), ('heterogeneity_rows', '10000')]
    """
    parameters = inspect.signature(getattr(importlib.import_module(module), name)).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    for p in parameters.values():
        if p.kind is p.KEYWORD_ONLY:
            default = json.dumps(p.default) if isinstance(p.default, str) else repr(p.default)
            kind = griffe.ParameterKind.keyword_only
            yield griffe.Parameter(p.name, annotation=str(p.annotation), kind=kind, default=default)
