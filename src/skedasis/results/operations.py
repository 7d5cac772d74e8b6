"""The operations of results that other modules compute: rebinning, intervals, checks, tables, files and figures.

Results stand below these modules, so that none is imported before it is used. `operations.pyi` is the list of them.
"""

from __future__ import annotations

from importlib import import_module

from skedasis import _imports_beside

_MODULES = _imports_beside(__file__)


def __getattr__(name: str) -> object:
    """Return an operation, imported from its module at the first use."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
