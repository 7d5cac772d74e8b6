"""Registry of adapters: the type of a model of another library → a function of rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from skedasis.errors import UnsupportedError
from skedasis.models.files import XGBooster, is_booster
from skedasis.models.introspection import answers_every_name, with_article
from skedasis.models.jax import JaxModel, is_jitted
from skedasis.models.keras import as_keras, is_keras
from skedasis.models.onnx import as_onnx, is_onnx
from skedasis.models.protocols import AdaptedModel
from skedasis.models.torch import TorchModel, is_module

AdapterRow = tuple[Callable[[object], bool], Callable[[Any], AdaptedModel]]
"""A test of a model, and the adapter for models that pass it."""


TABLE: tuple[AdapterRow, ...] = (
    (is_booster, XGBooster),
    (is_keras, as_keras),  # before torch: with the torch back end it is also a torch module
    (is_module, TorchModel),
    (is_jitted, JaxModel),
    (is_onnx, as_onnx),
)
"""The first row whose test holds makes the adapter."""


_LIBRARIES = {"jax", "jaxlib", "keras", "onnx", "onnxruntime", "torch", "xgboost"}
"""Libraries with models that need an adapter."""


def adapt_model(model: object) -> Any:
    """Return the adapter of a model of another library, or of the model in a file; return other models unchanged."""
    if isinstance(model, str | os.PathLike):
        from skedasis.models.files import load_model

        model = load_model(model)
    if answers_every_name(model):
        kind = type(model).__name__
        raise UnsupportedError(
            "model",
            f"{with_article(kind)}, which has any attribute that it is asked for",
            "a model of which the methods can be seen",
            "Pass a function of its rows: lambda X: model.predict(X)",
        )
    libraries = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    if libraries.isdisjoint(_LIBRARIES):
        return model
    for fits, make in TABLE:
        if fits(model):
            return make(model)
    return model
