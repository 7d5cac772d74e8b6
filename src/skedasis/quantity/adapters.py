"""What adapts the models of other libraries: one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skedasis.quantity.files import XGBooster, is_booster
from skedasis.quantity.jax import JaxModel, is_jitted
from skedasis.quantity.keras import as_keras, is_keras
from skedasis.quantity.onnx import as_onnx, is_onnx
from skedasis.quantity.torch import TorchModel, is_module

Row = tuple[Callable[[Any], bool], Callable[[Any], Any]]

TABLE: tuple[Row, ...] = (
    (is_booster, XGBooster),
    (is_keras, as_keras),  # on torch it is a torch module, too
    (is_module, TorchModel),
    (is_jitted, JaxModel),
    (is_onnx, as_onnx),
)
"""The first row whose test holds makes the function."""
