"""Mixtures of torch modules, and of the dropout masks of one module (Monte-Carlo dropout).

The user's module is never changed. `_copy_with_dropout` copies it in evaluation mode, sharing its tensors, and attaches
a hook to each dropout layer that applies the mask of the current sample. The state of the hooks is kept per thread.
"""

from __future__ import annotations

import copy
import itertools
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from skedasis._arguments import check_option
from skedasis._types import Bools, ModelRows, Values
from skedasis.distributions.base import Labels, float_rows
from skedasis.distributions.callables import as_response
from skedasis.distributions.categorical import Classes, as_classes
from skedasis.distributions.mixture_models import Members, MixtureResponse
from skedasis.errors import DataError, ModelOutputError, UnsupportedError
from skedasis.models.introspection import title, with_article
from skedasis.models.torch import import_torch, to_numpy

_ROWS = 8192
"""Rows per forward pass."""

_OUTPUTS = ("values", "logits", "probabilities")

_ALPHA = -1.7580993408473766
"""Value of a dropped unit in self-normalising networks (Klambauer et al., 2017)."""


class ModuleMember:
    """A torch module as a member, evaluated in evaluation mode.

    The call goes to a copy that shares all parameters and buffers with the module, and whose dropout layers apply the
    masks of a sample. The module itself is never changed, so threads do not interfere.
    """

    def __init__(self, module: Any, output: str | None, seed: int | None) -> None:
        fix = "State what the torch module returns, for example output='logits'"
        check_option("ensemble(output)", output, _OUTPUTS, fix)
        self.model, self.output, self.seed = module, output, seed
        self.title = title(module)
        self._lock, self._copy, self._state = threading.Lock(), None, None

    @property
    def labels(self) -> Labels:
        return Labels("numbers" if self.output == "values" else "classes")

    def __getstate__(self) -> dict[str, object]:
        return {k: v for k, v in vars(self).items() if not k.startswith("_")}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._lock, self._copy, self._state = threading.Lock(), None, None

    def response(self, X: ModelRows, sample: int | None = None) -> MixtureResponse:
        """Return the module's response, with the masks of a sample or without dropout."""
        raw = self._forward(X, sample)
        n, what = len(X), self.title
        if self.output == "values":
            response = tuple(map(to_numpy, raw)) if isinstance(raw, tuple) else to_numpy(raw)
            if (
                not isinstance(response, tuple)
                and np.ndim(response) == 2
                and response.shape[1] != 1
            ):
                raise _wrong_shape(
                    what,
                    response.shape,
                    f"({n},), or a tuple (mean, standard deviation)",
                    "Set output= of sd.ensemble to what the module returns: 'values', 'logits' or 'probabilities'",
                )
            return as_response(response, n, what)
        return _as_probabilities(to_numpy(raw), n, what, self.output == "logits")

    def _forward(self, X: ModelRows, sample: int | None) -> Any:
        """Return the module's output tensors for all rows, computed in parts."""
        torch = import_torch()
        module, state = self._copied()
        like = next(itertools.chain(self.model.parameters(), self.model.buffers()), None)
        like = torch.zeros(0) if like is None else like
        rows = float_rows(X)
        outputs: list[Any] = []
        with torch.no_grad():
            for first in range(0, len(rows), _ROWS):
                part = torch.from_numpy(rows[first : first + _ROWS])
                with state.sampling(sample, len(part)):
                    kind = like.dtype if like.is_floating_point() else torch.float32
                    outputs.append(module(part.to(device=like.device, dtype=kind)))
        if sample is not None and not state.called:
            raise ModelOutputError(
                self.title,
                "a forward pass in which no dropout layer was called",
                "layers of torch.nn.Dropout that the forward pass calls",
                "Sample the module in a function: sd.ensemble(f, samples=100) calls f(X, s)",
            )
        if isinstance(outputs[0], (tuple, list)):
            return tuple(torch.cat(parts) for parts in zip(*outputs, strict=True))
        return torch.cat(outputs)

    def _copied(self) -> tuple[Any, _DropoutState]:
        with self._lock:
            if self._copy is None:
                self._copy, self._state = _copy_with_dropout(self.model, self.seed)
            return self._copy, self._state  # type: ignore[return-value]


class DropoutSamples(Members):
    """Samples of a module by Monte-Carlo dropout.

    The masks of a sample depend on the seed, the sample and the layer only, and are the same for all rows: each sample
    is one thinned network, and no result depends on the batch of a row.
    """

    def __init__(self, module: ModuleMember, samples: int | None) -> None:
        if samples is None:
            raise DataError(
                "ensemble(samples)",
                "None for a torch module",
                "the number of samples of its dropout",
                "Pass samples=100",
            )
        _check_layers(module.model)
        self.module, self.count, self.labels = module, samples, module.labels

    def responses(self, X: ModelRows) -> Iterator[MixtureResponse]:
        """Yield the module's responses, one call for each sample."""
        return (self.module.response(X, s) for s in range(self.count or 0))

    def describe(self) -> str:
        return f"{self.count} dropout samples of {self.module.title}"


class _DropoutState(threading.local):
    """The current sample of this thread, and the number of calls of each dropout layer in this forward pass."""

    def __init__(self, seed: int | None) -> None:
        self.seed, self.sample, self.rows = seed, None, 0
        self.calls: dict[int, int] = {}
        self.called = False

    def sampling(self, sample: int | None, rows: int) -> _DropoutState:
        self.sample, self.rows, self.calls = sample, rows, {}
        return self

    def __enter__(self) -> None:
        self.called = False

    def __exit__(self, *details: object) -> None:
        self.sample = None

    def kept(self, layer: int, p: float, shape: tuple[int, ...]) -> Bools:
        """Return the mask of a layer: which units are kept."""
        call = self.calls[layer] = self.calls.get(layer, 0) + 1
        rng = np.random.default_rng([self.seed or 0, self.sample or 0, layer, call])
        return rng.random(shape) >= p


def _layers(module: Any) -> list[Any]:
    """Return a module's dropout layers with p > 0."""
    nn = import_torch().nn
    kinds = (*_standard_layers(), nn.AlphaDropout, nn.FeatureAlphaDropout)
    return [layer for layer in module.modules() if isinstance(layer, kinds) and layer.p > 0]


def _standard_layers() -> tuple[Any, ...]:
    nn = import_torch().nn
    return nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d


def _check_layers(module: Any) -> None:
    nn = import_torch().nn
    layers = _layers(module)
    unsupported = [layer for layer in layers if isinstance(layer, nn.FeatureAlphaDropout)]
    # In evaluation mode these layers drop nothing, and in training mode they choose their masks themselves.
    containers = nn.RNNBase, nn.MultiheadAttention
    unsupported += [x for x in module.modules() if isinstance(x, containers) and x.dropout > 0]
    if layers and not unsupported:
        return
    raise UnsupportedError(
        f"ensemble({title(module)})",
        f"dropout inside {with_article(title(unsupported[0]))}"
        if unsupported
        else "a module without dropout layers",
        "layers of torch.nn.Dropout with p > 0",
        "Sample the module in a function: sd.ensemble(f, samples=100) calls f(X, s); or pass a list of modules",
    )


def _copy_with_dropout(module: Any, seed: int | None) -> tuple[Any, _DropoutState]:
    """Return a copy in evaluation mode that shares the module's tensors, with dropout by the masks of a sample."""
    state = _DropoutState(seed)
    shared = itertools.chain(module.parameters(), module.buffers())
    copied = copy.deepcopy(module, {id(t): t for t in shared})
    copied.eval()
    for k, layer in enumerate(_layers(copied)):
        layer.register_forward_hook(partial(_apply_mask, state, k))
    return copied, state


def _apply_mask(state: _DropoutState, k: int, layer: Any, _: Any, x: Any) -> Any:
    """Return the output of the k-th dropout layer, which equals its input in evaluation mode, with the mask applied."""
    torch = import_torch()
    if state.sample is None:
        return x
    if x.shape[0] != state.rows:
        raise ModelOutputError(
            "dropout layer",
            f"{x.shape[0]} entries along its first axis for {state.rows} rows",
            "the rows along the first axis",
            "Sample the module in a function: sd.ensemble(f, samples=100) calls f(X, s)",
        )
    state.called = True
    # Dropout1d to Dropout3d drop whole channels.
    channels = isinstance(layer, _standard_layers()[1:])
    shape = (1, x.shape[1], *(1 for _ in x.shape[2:])) if channels else (1, *x.shape[1:])
    p = float(layer.p)
    keep = torch.from_numpy(state.kept(k, p, shape)).to(device=x.device)
    if not isinstance(layer, torch.nn.AlphaDropout):
        return torch.where(keep, x / (1 - p) if p < 1 else x, torch.zeros_like(x))
    scale = ((1 - p) * (1 + p * _ALPHA**2)) ** -0.5 if p < 1 else 0.0
    return torch.where(keep, x, torch.full_like(x, _ALPHA)) * scale - scale * p * _ALPHA


def _as_probabilities(raw: Values, n: int, what: str, logits: bool) -> Classes:
    """Return scores or probabilities as distributions; a single column belongs to the second of two classes."""
    raw_dtype = raw.dtype
    if raw.ndim not in (1, 2):
        fix = "Make the module return one number for each row and class"
        raise _wrong_shape(what, raw.shape, f"({n}, classes)", fix)
    score = raw.astype(float).reshape(len(raw), -1)
    if not logits:
        p = np.hstack([1.0 - score, score]) if score.shape[1] == 1 else score
    else:
        score = np.hstack([np.zeros_like(score), score]) if score.shape[1] == 1 else score
        p = np.exp(score - score.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
    classes = as_classes(p.astype(raw_dtype) if not logits else p, n, what)
    classes.raw_dtype = raw_dtype
    return classes


def _wrong_shape(what: str, shape: tuple[int, ...], expected: str, fix: str) -> ModelOutputError:
    return ModelOutputError(what, f"output of shape {shape}", expected, fix)
