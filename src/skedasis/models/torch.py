"""Adapter of torch modules: values by forward passes, slopes of all features by one backward pass."""

from __future__ import annotations

import contextlib
import copy
import importlib
import itertools
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from skedasis._types import Values
from skedasis.errors import ModelOutputError, UnsupportedError
from skedasis.models.adapters import ROWS_PER_PASS
from skedasis.models.autodiff import Differentiable
from skedasis.models.introspection import title

Tensor: TypeAlias = Any
"""A tensor of torch."""
Module: TypeAlias = Any
"""A module of torch, or a function of tensors."""

_DEVICE_ROWS = 65_536
"""Rows per pass on a GPU or another accelerator, where each start costs time; fewer once its memory is exhausted."""


def is_torch_module(model: object) -> bool:
    """Return whether a model is a torch module; torch is not imported for it."""
    nn = getattr(sys.modules.get("torch"), "nn", None)
    return nn is not None and isinstance(model, nn.Module)


def is_module(model: object) -> bool:
    """Return whether a model is a torch module, but not an estimator with `predict` that wraps one."""
    return is_torch_module(model) and not hasattr(model, "predict")


class TorchModel(Differentiable):
    """A torch module as a function of rows."""

    source = "torch autograd"
    of_scores = (
        "Use sd.prediction for scores, or make them probabilities: "
        "torch.nn.Sequential(module, torch.nn.Softmax(dim=1))"
    )

    def __init__(self, model: Module) -> None:
        super().__init__(model, title(_original(model)))

    def _reset(self) -> None:
        super()._reset()
        self._copy: Module = None
        self._copied_from: list[object] = []
        self._max_rows: int | None = None

    @property
    def rows_at_once(self) -> int:
        usual = ROWS_PER_PASS if self._like.device.type == "cpu" else _DEVICE_ROWS
        return usual if self._max_rows is None else min(usual, self._max_rows)

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """Return the NumPy dtype of rows before they become a tensor: float64 only if the module computes in it."""
        return np.dtype(float if self._like.dtype == import_torch().float64 else np.float32)

    @property
    def eps(self) -> float:
        """Return the unit round-off of the module's dtype, which NumPy may not have."""
        return float(import_torch().finfo(self._like.dtype).eps)

    @property
    def _like(self) -> Tensor:
        """Return a tensor with the module's dtype and device: its first floating-point parameter or buffer."""
        for tensor in _tensors(self.model):
            if tensor.is_floating_point() and tensor.element_size() > 1:
                return tensor
        first = next(_tensors(self.model), None)
        return import_torch().empty(0, device="cpu" if first is None else first.device)

    def _forward(self, module: Module, x: Tensor) -> Tensor:
        """Call the module and return its output; raise if that is not one tensor."""
        response = module(x)
        if not isinstance(response, import_torch().Tensor):
            raise ModelOutputError(
                self.__name__,
                f"output of type {type(response).__name__}",
                "one tensor, (n,) or (n, outputs)",
                "Wrap it in a module whose forward returns the tensor to explain",
            )
        return response

    def _call_model(self, part: Values) -> Values:
        def compute(part: Values) -> Values:
            with import_torch().no_grad():
                return to_numpy(self._forward(self._in_eval_mode(), self._tensor(part)))

        return self._within_memory(compute, part)

    def _gradients(
        self, part: Values, columns: Sequence[int | None], row: int | None = None
    ) -> list[Values]:
        torch = import_torch()

        def compute(part: Values) -> Values:
            with _recording():
                x = self._tensor(part).requires_grad_(True)
                module = self._in_eval_mode()
                # A module may write to its input, but not to a leaf of the graph; compiled modules do not write.
                x_input = x.clone() if _original(module) is module else x
                response = self._forward(module, x_input)
                gradients: list[tuple[Tensor]] = []
                for k, column in enumerate(columns):
                    weight = _weight(response, column, row)
                    more = k + 1 < len(columns)
                    gradients.append(
                        torch.autograd.grad(
                            response, x, weight, retain_graph=more, materialize_grads=True
                        )
                    )
            return np.stack([to_numpy(slopes) for (slopes,) in gradients], axis=1)

        slopes = compute(part) if row is not None else self._within_memory(compute, part)
        return [slopes[:, k] for k in range(len(columns))]

    def _mixed_derivative(self, part: Values, j: int, k: int, column: int | None) -> Values:
        torch = import_torch()

        def compute(part: Values) -> Values:
            with _recording():
                x = self._tensor(part).requires_grad_(True)
                # Compiled modules support one backward pass only, so the original is called.
                response = self._forward(_original(self._in_eval_mode()), x.clone())
                weight = _weight(response, column, None)
                (slopes,) = torch.autograd.grad(
                    response, x, weight, create_graph=True, materialize_grads=True
                )
                slope = slopes[:, j]
                if not slope.requires_grad:  # linear
                    return np.zeros(len(part))
                (mixed,) = torch.autograd.grad(slope.sum(), x, materialize_grads=True)
            return to_numpy(mixed[:, k])

        return self._within_memory(compute, part)

    def _tensor(self, part: Values) -> Tensor:
        like = self._like
        # A copy: a module may write to its input, and the rows are used again.
        return import_torch().tensor(part, device=like.device, dtype=like.dtype)

    def _within_memory(self, compute: Callable[[Values], Values], part: Values) -> Values:
        """Compute on all rows, or on halves if the device runs out of memory; later parts are smaller then."""
        try:
            return compute(part)
        except import_torch().OutOfMemoryError:
            if len(part) < 4:
                raise
        self._max_rows = len(part) // 2
        halves = np.array_split(part, 2)
        return np.concatenate([self._within_memory(compute, half) for half in halves])

    def _in_eval_mode(self) -> Module:
        """Return the module in evaluation mode: itself, or a copy that shares its tensors."""
        if not any(layer.training for layer in self.model.modules()) or _exported(self.model):
            return self.model
        with self._lock:
            parts = [*self.model.modules(), *_tensors(self.model)]
            # If layers or tensors were replaced since the copy was made, it is out of date.
            same = len(parts) == len(self._copied_from) and all(
                a is b for a, b in zip(parts, self._copied_from, strict=True)
            )
            if self._copy is None or not same:
                self._copy, self._copied_from = self._make_copy(), parts
            return self._copy

    def _make_copy(self) -> Module:
        try:
            module = copy.deepcopy(self.model, {id(t): t for t in _tensors(self.model)})
        except Exception as error:
            raise UnsupportedError(
                self.__name__,
                "a module in training mode that cannot be copied",
                "evaluation mode",
                "Call module.eval() first",
            ) from error
        return module.eval()


def import_torch() -> Any:
    """Import torch lazily."""
    return importlib.import_module("torch")


@contextlib.contextmanager
def _recording() -> Generator[None]:
    """Record the graph for gradients, also inside the caller's `no_grad` or `inference_mode`."""
    torch = import_torch()
    with torch.inference_mode(False), torch.enable_grad():
        yield


def _original(module: Module) -> Module:
    """Return the original of a compiled module, and other modules unchanged."""
    return getattr(module, "_orig_mod", module)


def _exported(module: object) -> bool:
    """Return whether a module comes from `torch.export`: its mode was fixed at export, so its flag means nothing."""
    return any(c.__module__.startswith("torch.export") for c in type(module).__mro__)


def _tensors(module: Module) -> Iterator[Tensor]:
    return itertools.chain(module.parameters(), module.buffers())


def _weight(response: Tensor, column: int | None, row: int | None) -> Tensor:
    """Return the weights of outputs in the sum that is differentiated: 1 for the chosen output and row, else 0."""
    torch = import_torch()
    if column is None and row is None:
        return torch.ones_like(response)
    weight = torch.zeros_like(response)
    rows = slice(None) if row is None else slice(row, row + 1)
    if column is None:
        weight[rows] = 1
    else:
        weight[rows, column] = 1
    return weight


def to_numpy(tensor: Tensor) -> Values:
    """Return a tensor as an array."""
    tensor = tensor.detach().cpu()
    # NumPy has no bfloat16: such tensors become float32.
    small = tensor.is_floating_point() and tensor.element_size() < 4
    return (tensor.float() if small else tensor).numpy()
