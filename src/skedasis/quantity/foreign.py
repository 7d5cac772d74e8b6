"""From a model of another library to a function of rows: looked up by what the model is.

No library is imported to see whether a model is one of its: whoever has a model has imported it. What adapts it is
imported when the first such model is met.
"""

from __future__ import annotations

import os
from typing import Any

_HOMES = {"jax", "jaxlib", "keras", "onnx", "onnxruntime", "torch", "xgboost"}
"""Libraries some of whose models are no functions of rows."""


def adapted(model: Any) -> Any:
    """Return a model of another library as one of rows, what the path of a file names, and any other as it is."""
    if isinstance(model, str | os.PathLike):
        from skedasis.quantity.files import opened

        model = opened(model)
    homes = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    if homes.isdisjoint(_HOMES):
        return model
    from skedasis.quantity.adapters import TABLE

    for fits, make in TABLE:
        if fits(model):
            return make(model)
    return model
