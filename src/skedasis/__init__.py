"""skedasis explains a fitted model: what each feature does, for whom that is not true, and how sure one can be.

A *quantity* is a scalar function of a row; a *method* turns it into an effect in three steps, plan, local, read; a
*result* evaluates, re-bins, tabulates, saves and plots itself without ever calling the model again.

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

__version__ = "0.1.0"


def _public() -> dict[str, str]:
    """Return the module of each public name, as the stub beside this file lists them."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    return {
        name.name: str(line.module)
        for line in stub.body
        if isinstance(line, ast.ImportFrom)
        for name in line.names
    }


_MODULES = _public()
__all__ = ["__version__", *_MODULES]  # noqa: PLE0604  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used (PEP 562), so that `import skedasis` stays light."""
    if name not in _MODULES:
        raise AttributeError(f"module 'skedasis' has no attribute {name!r}")
    value = (
        importlib.import_module(f"skedasis.{name}")
        if _MODULES[name] == "skedasis"
        else getattr(importlib.import_module(_MODULES[name]), name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
