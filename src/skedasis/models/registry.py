"""Registry of adapters: the type of a model of another library → a function of rows.

No library is imported to see whether a model is one of its: whoever has a model has imported it. What adapts it is
imported when the first such model is met.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from skedasis.models.files import XGBooster, is_booster
from skedasis.models.jax import JaxModel, is_jitted
from skedasis.models.keras import as_keras, is_keras
from skedasis.models.onnx import as_onnx, is_onnx
from skedasis.models.torch import TorchModel, is_module

# ------------------------------------------------------------------------------------------
# What adapts the models of other libraries: one table.


Row = tuple[Callable[[Any], bool], Callable[[Any], Any]]


TABLE: tuple[Row, ...] = (
    (is_booster, XGBooster),
    (is_keras, as_keras),  # on torch it is a torch module, too
    (is_module, TorchModel),
    (is_jitted, JaxModel),
    (is_onnx, as_onnx),
)
"""The first row whose test holds makes the function."""


# ------------------------------------------------------------------------------------------
# From a model of another library to a function of rows: looked up by what the model is.


_HOMES = {"jax", "jaxlib", "keras", "onnx", "onnxruntime", "torch", "xgboost"}
"""Libraries some of whose models are no functions of rows."""


def adapted(model: Any) -> Any:
    """Return a model of another library as one of rows, what the path of a file names, and any other as it is."""
    if isinstance(model, str | os.PathLike):
        from skedasis.models.files import opened

        model = opened(model)
    homes = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    if homes.isdisjoint(_HOMES):
        return model
    for fits, make in TABLE:
        if fits(model):
            return make(model)
    return model
