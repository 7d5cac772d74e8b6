"""Adapter of torch modules: values by forward passes, slopes of all features by one backward pass.

What is called is the module itself, on the device where it is; where it is in training mode a copy in evaluation mode,
which shares its parameters and buffers. Neither its mode nor its parameters' `requires_grad` or `grad` is ever touched,
so that threads do not meet.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skedasis.errors import ModelOutputError, UnsupportedError, explained
from skedasis.models.adapters import ROWS
from skedasis.models.autodiff import Differentiable
from skedasis.models.introspection import title

_DEVICE_ROWS = 65_536
"""Rows of one pass on another device than the processor: it waits for the start of each. Fewer where memory ends."""


def is_module(model: Any) -> bool:
    """Return whether a model is a torch module, and no estimator that calls one."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "nn") or not isinstance(model, torch.nn.Module):
        return False
    return not hasattr(model, "predict")


class TorchModel(Differentiable):
    """A torch module as a function of rows.

    Parameters
    ----------
    model : torch.nn.Module
        Compiled, scripted and exported ones, too.
    """

    source = "torch autograd"
    of_scores = (
        "Use sd.prediction for scores, or make them probabilities: "
        "torch.nn.Sequential(module, torch.nn.Softmax(dim=1))"
    )

    def __init__(self, model: Any) -> None:
        super().__init__(model, title(_original(model)))

    def _start(self) -> None:
        super()._start()
        self._copy: Any = None
        self._copied_from: list[Any] = []
        self._most: int | None = None

    @property
    def rows_at_once(self) -> int:
        """Return the rows of one pass."""
        usual = ROWS if self._like.device.type == "cpu" else _DEVICE_ROWS
        return usual if self._most is None else min(usual, self._most)

    @property
    def dtype(self) -> Any:
        """Return the NumPy type of what becomes a tensor: double precision only where the module has it."""
        return np.float64 if self._like.dtype == _torch().float64 else np.float32

    @property
    def eps(self) -> float:
        """Return the unit round-off of the module's own type, which NumPy may not have."""
        return float(_torch().finfo(self._like.dtype).eps)

    @property
    def _like(self) -> Any:
        """Return a tensor of the module's type and device: its first parameter or buffer of floating point."""
        for tensor in _tensors(self.model):
            if tensor.is_floating_point() and tensor.element_size() > 1:
                return tensor
        first = next(_tensors(self.model), None)
        return _torch().empty(0, device="cpu" if first is None else first.device)

    def _forward(self, module: Any, x: Any) -> Any:
        """Call the module, and return its tensor."""
        answer = module(x)
        if not isinstance(answer, _torch().Tensor):
            raise ModelOutputError(
                explained(
                    self.__name__,
                    f"output of type {type(answer).__name__}",
                    "one tensor, (n,) or (n, outputs)",
                    "Wrap it in a module whose forward returns the tensor to explain",
                )
            )
        return answer

    def _values(self, part: NDArray[Any]) -> NDArray[Any]:
        def work(part: NDArray[Any]) -> NDArray[Any]:
            with _torch().no_grad():
                return _array(self._forward(self._evaluating(), self._tensor(part)))

        return self._as_it_fits(work, part)

    def _pulled(
        self, part: NDArray[Any], columns: Sequence[int | None], row: int | None = None
    ) -> list[NDArray[Any]]:
        torch = _torch()

        def work(part: NDArray[Any]) -> NDArray[Any]:
            with _graphs():
                x = self._tensor(part).requires_grad_(True)
                module = self._evaluating()
                # A module may write to what it is given, but not to the leaf of a graph; compiled ones do not.
                own = x.clone() if _original(module) is module else x
                answer = self._forward(module, own)
                found: list[Any] = []
                for place, column in enumerate(columns):
                    weight = _weight(answer, column, row)
                    more = place + 1 < len(columns)
                    found.append(
                        torch.autograd.grad(
                            answer, x, weight, retain_graph=more, materialize_grads=True
                        )
                    )
            return np.stack([_array(slopes) for (slopes,) in found], axis=1)

        found = work(part) if row is not None else self._as_it_fits(work, part)
        return [found[:, place] for place in range(len(columns))]

    def _crossed(self, part: NDArray[Any], j: int, k: int, column: int | None) -> NDArray[Any]:
        torch = _torch()

        def work(part: NDArray[Any]) -> NDArray[Any]:
            with _graphs():
                x = self._tensor(part).requires_grad_(True)
                # Compiled code has one backward pass, not two.
                answer = self._forward(_original(self._evaluating()), x.clone())
                weight = _weight(answer, column, None)
                (slopes,) = torch.autograd.grad(
                    answer, x, weight, create_graph=True, materialize_grads=True
                )
                slope = slopes[:, j]
                if not slope.requires_grad:  # linear
                    return np.zeros(len(part))
                (crossed,) = torch.autograd.grad(slope.sum(), x, materialize_grads=True)
            return _array(crossed[:, k])

        return self._as_it_fits(work, part)

    def _tensor(self, part: NDArray[Any]) -> Any:
        like = self._like
        # A copy: a module may write to its input, and be asked again.
        return _torch().tensor(part, device=like.device, dtype=like.dtype)

    def _as_it_fits(
        self, work: Callable[[NDArray[Any]], NDArray[Any]], part: NDArray[Any]
    ) -> NDArray[Any]:
        """Work on rows in halves where the device has too little memory for them, and take fewer from then on."""
        try:
            return work(part)
        except _torch().OutOfMemoryError:
            if len(part) < 4:
                raise
        self._most = len(part) // 2
        halves = np.array_split(part, 2)
        return np.concatenate([self._as_it_fits(work, half) for half in halves])

    def _evaluating(self) -> Any:
        """Return the module in evaluation mode: itself, or a copy of it that shares its tensors."""
        if not any(layer.training for layer in self.model.modules()) or _exported(self.model):
            return self.model
        with self._lock:
            made_of = [*self.model.modules(), *_tensors(self.model)]
            # Where layers or tensors were replaced since, what was copied is not the module any more.
            same = len(made_of) == len(self._copied_from) and all(
                a is b for a, b in zip(made_of, self._copied_from, strict=True)
            )
            if self._copy is None or not same:
                self._copy, self._copied_from = self._copied(), made_of
            return self._copy

    def _copied(self) -> Any:
        try:
            own = copy.deepcopy(self.model, {id(t): t for t in _tensors(self.model)})
        except Exception as error:
            raise UnsupportedError(
                explained(
                    self.__name__,
                    "a module in training mode that cannot be copied",
                    "evaluation mode",
                    "Call module.eval() first",
                )
            ) from error
        return own.eval()


def _torch() -> Any:
    """Return torch, which whoever has a module has."""
    return importlib.import_module("torch")


@contextlib.contextmanager
def _graphs() -> Any:
    """Let torch remember what it computes, wherever the caller is."""
    torch = _torch()
    with torch.inference_mode(False), torch.enable_grad():
        yield


def _original(module: Any) -> Any:
    """Return the module that was compiled, else the module itself."""
    return getattr(module, "_orig_mod", module)


def _exported(module: Any) -> bool:
    """Return whether a module comes from `torch.export`, where its mode was settled: its flag means nothing."""
    return any(c.__module__.startswith("torch.export") for c in type(module).__mro__)


def _tensors(module: Any) -> Iterator[Any]:
    return itertools.chain(module.parameters(), module.buffers())


def _weight(answer: Any, column: int | None, row: int | None) -> Any:
    """Return what outputs count in the sum that is derived: one of a row, 1, all others 0."""
    torch = _torch()
    if column is None and row is None:
        return torch.ones_like(answer)
    weight = torch.zeros_like(answer)
    rows = slice(None) if row is None else slice(row, row + 1)
    if column is None:
        weight[rows] = 1
    else:
        weight[rows, column] = 1
    return weight


def _array(tensor: Any) -> NDArray[Any]:
    tensor = tensor.detach().cpu()
    # NumPy has no bfloat16.
    small = tensor.is_floating_point() and tensor.element_size() < 4
    return (tensor.float() if small else tensor).numpy()
