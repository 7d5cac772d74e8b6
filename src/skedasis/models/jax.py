"""Adapter of JAX functions: values and slopes, compiled for two batch sizes only."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from skedasis._types import Values
from skedasis.errors import ModelOutputError
from skedasis.models.adapters import PROBED, ROWS_PER_PASS
from skedasis.models.autodiff import Differentiable
from skedasis.models.introspection import title

Array: TypeAlias = Any
"""An array of JAX, or its stand-in while JAX traces a function."""
Compiled: TypeAlias = Callable[..., Array]
"""A function that JAX has compiled."""
State: TypeAlias = tuple[object, ...]
"""The parameters of a function, as JAX takes them."""

_DEVICE_ROWS = 32_768
"""Rows per pass on a GPU or another accelerator."""


def is_jitted(model: object) -> bool:
    """Return whether a model is a result of `jax.jit`; any other function may expect NumPy arrays."""
    stages = getattr(sys.modules.get("jax"), "stages", None)
    if stages is None or type(model).__module__.split(".")[0] not in ("jax", "jaxlib"):
        return False
    return isinstance(model, stages.Wrapped)


class JaxModel(Differentiable):
    """A jitted function of rows."""

    source = "JAX autodiff"
    of_scores = (
        "Use sd.prediction for scores, or make them probabilities: "
        "jax.jit(lambda X: jax.nn.softmax(f(X)))"
    )

    def __init__(self, model: Any, name: str | None = None) -> None:
        super().__init__(model, name or title(model))

    def _reset(self) -> None:
        super()._reset()
        self._derivatives: tuple[Compiled, Compiled] | None = None

    @property
    def rows_at_once(self) -> int:
        return ROWS_PER_PASS if _jax().default_backend() == "cpu" else _DEVICE_ROWS

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """Return float32, or float64 if JAX computes in it (`jax_enable_x64`)."""
        return np.dtype(_jax().dtypes.canonicalize_dtype(np.float64))

    def _state(self) -> State:
        """Return the parameters of the function; passed as an argument, they are not compiled into it."""
        return ()

    def _apply(self, state: State, x: Array) -> Array:
        """Call the function. JAX traces this call, so it must depend on its arguments only."""
        return self.model(x)

    def _call_model(self, part: Values) -> Values:
        response = self._apply(self._state(), self._filled(part))
        if not hasattr(response, "shape") or not hasattr(response, "dtype"):
            raise ModelOutputError(
                self.__name__,
                f"output of type {type(response).__name__}",
                "one array, (n,) or (n, outputs)",
                "Wrap it: jax.jit(lambda X: f(X)[...])",
            )
        return _array(response, len(part))

    def _gradients(
        self, part: Values, columns: Sequence[int | None], row: int | None = None
    ) -> list[Values]:
        x = self._filled(part)
        weight = np.ones(len(x), x.dtype) if row is None else np.eye(1, len(x), row, x.dtype)[0]
        gradients, _ = self._compiled()
        outputs = np.array([c or 0 for c in columns], np.int32)
        return [_array(g, len(part)) for g in gradients(self._state(), x, weight, outputs)]

    def _mixed_derivative(self, part: Values, j: int, k: int, column: int | None) -> Values:
        _, mixed = self._compiled()
        return _array(mixed(self._state(), self._filled(part), j, k, column or 0), len(part))

    def _filled(self, part: Values) -> Values:
        size = PROBED if len(part) <= PROBED else max(self.rows_at_once, len(part))
        return np.concatenate([part, np.repeat(part[-1:], size - len(part), axis=0)])

    def _compiled(self) -> tuple[Compiled, Compiled]:
        """Return the compiled derivatives: gradients of several outputs after one forward pass, and the mixed one."""
        with self._lock:
            if self._derivatives is None:
                jax = _jax()
                self._derivatives = jax.jit(self._trace_gradients), jax.jit(self._trace_mixed)
            return self._derivatives

    def _trace_gradients(self, state: State, x: Array, weight: Array, outputs: Array) -> Array:
        jax = _jax()
        response, backward = jax.vjp(lambda x: self._apply(state, x).reshape(len(x), -1), x)
        count = response.shape[1]

        def gradient(output: Array) -> Array:
            chosen = jax.numpy.arange(count) == output % count
            return backward((weight[:, None] * chosen).astype(response.dtype))[0]

        return jax.lax.map(gradient, outputs)

    def _trace_mixed(self, state: State, x: Array, j: int, k: int, output: int) -> Array:
        jax = _jax()

        def total(x: Array) -> Array:
            response = self._apply(state, x).reshape(len(x), -1)
            return response[:, output % response.shape[1]].sum()

        def slope(x: Array) -> Array:
            return jax.grad(total)(x)[:, j].sum()

        return jax.grad(slope)(x)[:, k]


def _jax() -> Any:
    return importlib.import_module("jax")


def _array(response: Array, n: int) -> Values:
    """Return the first n rows as a NumPy array; bfloat16, which NumPy does not have, becomes float32."""
    small = response.dtype.itemsize < 4 and _jax().numpy.issubdtype(
        response.dtype, _jax().numpy.floating
    )
    whole = np.asarray(response.astype(np.float32) if small else response)
    return whole if whole.ndim == 0 else whole[:n]
