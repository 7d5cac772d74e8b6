"""Adapter of Keras 3 models: with slopes on the torch and JAX back ends, values only on others."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from skedasis._types import Values
from skedasis.errors import DataError, UnsupportedError
from skedasis.models.adapters import ModelAdapter
from skedasis.models.jax import Array, JaxModel, State
from skedasis.models.torch import Module, Tensor, TorchModel


def is_keras(model: object) -> bool:
    keras = sys.modules.get("keras")
    kind = None if keras is None else getattr(keras, "Model", None)
    return isinstance(kind, type) and isinstance(model, kind) and hasattr(keras, "ops")


def as_keras(model: Any) -> ModelAdapter:
    """Return the adapter of a Keras model: with slopes if its back end differentiates."""
    if not model.built:
        raise DataError(
            type(model).__name__,
            "a Keras model that is not built",
            "a fitted one",
            "Call it once: model(np.asarray(X[:1], dtype='float32'))",
        )
    for what in ("inputs", "outputs"):
        found = getattr(model, what, None)
        if isinstance(found, (list, tuple)) and len(found) > 1:
            raise UnsupportedError(
                type(model).__name__,
                f"a Keras model with {len(found)} {what}",
                "one array in, one array out",
                "Wrap it: sd.prediction(lambda X: model.predict([X[:, :2], X[:, 2:]], verbose=0)[:, 0])",
            )
    backend = importlib.import_module("keras").backend.backend()
    kinds: dict[str, Callable[[Any], ModelAdapter]] = {"torch": _OnTorch, "jax": _OnJax}
    return kinds.get(backend, _ValuesOnly)(model)


def _columns(model: object) -> int | None:
    shape = getattr(model, "input_shape", None)
    return shape[1] if isinstance(shape, tuple) and len(shape) == 2 else None


class _OnTorch(TorchModel):
    """A Keras model that is also a torch module; training mode is an argument of its call, not a state."""

    source = "torch autograd (Keras)"

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.n_features_in_ = _columns(model)

    def _forward(self, module: Module, x: Tensor) -> Tensor:
        return super()._forward(lambda x: module(x, training=False), x)

    def _in_eval_mode(self) -> Module:
        return self.model


class _OnJax(JaxModel):
    """A Keras model as a function of its variables and rows."""

    source = "JAX autodiff (Keras)"

    def __init__(self, model: Any) -> None:
        super().__init__(model, type(model).__name__)
        self.n_features_in_ = _columns(model)

    def _state(self) -> State:
        return tuple(
            [v.value for v in variables]
            for variables in (self.model.trainable_variables, self.model.non_trainable_variables)
        )

    def _apply(self, state: State, x: Array) -> Array:
        return self.model.stateless_call(*state, x, training=False)[0]


class _ValuesOnly(ModelAdapter):
    """A Keras model on a back end without derivatives here (TensorFlow), called by its `predict`."""

    def __init__(self, model: Any) -> None:
        super().__init__(model, type(model).__name__)
        self.n_features_in_ = _columns(model)

    @property
    def rows_at_once(self) -> int:
        """Return the number of rows per call: large, because of the fixed cost of a call."""
        return 16_384

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """Return the default float dtype of Keras."""
        return np.dtype(importlib.import_module("keras").config.floatx())

    def _call_model(self, part: Values) -> Values:
        return np.asarray(self.model.predict(part, batch_size=2048, verbose=0))
