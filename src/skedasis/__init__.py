"""skedasis explains fitted models: feature effects, their heterogeneity between rows, and their uncertainty.

A *quantity* is a scalar function of a row, such as the prediction. A *method* computes an effect of it in three steps:
plan, compute, finalize. A *result* evaluates, re-bins, tabulates, saves and plots itself without further model calls.

Examples
--------
>>> import numpy as np
>>> import skedasis as sd
>>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
>>> e = sd.explain(lambda X: 3 * X[:, 0] * X[:, 1] + X[:, 1], X, "x1", method=sd.ALE(bins=4))
>>> e
<Effect of 'x1' on prediction: ALE, 4 bins, importance 0.6872, heterogeneity 1.01>
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import Any

__version__ = "0.2.0"


def _imports_beside(file: str) -> dict[str, str]:
    """Return the names that the stub beside a file imports, each with its module."""
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    return {
        name.name: str(line.module)
        for line in stub.body
        if isinstance(line, ast.ImportFrom)
        for name in line.names
    }


_MODULES = _imports_beside(__file__)
__all__ = ["__version__", *_MODULES]  # noqa: PLE0604  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562), so that `import skedasis` stays fast."""
    if name not in _MODULES:
        from skedasis.errors import nearest  # for the message of an error only

        # Names with underscores are looked for by `copy` and debuggers.
        near = None if name.startswith("_") else nearest(name, reversed(__all__), 0.75)
        hint = f". Did you mean sd.{near}?" if near else ""
        # Without `obj`, else Python adds its own suggestion.
        raise AttributeError(f"module 'skedasis' has no attribute {name!r}{hint}", name=name)
    value = (
        importlib.import_module(f"skedasis.{name}")
        if _MODULES[name] == "skedasis"
        else getattr(importlib.import_module(_MODULES[name]), name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
