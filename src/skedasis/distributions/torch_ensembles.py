"""Mixtures of torch modules, and of the dropout masks of one module (MC dropout)."""

from __future__ import annotations

import copy
import importlib
import itertools
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from skedasis.data.dataset import to_array
from skedasis.distributions.base import Labels
from skedasis.distributions.callables import as_answer
from skedasis.distributions.categorical import Classes, as_classes
from skedasis.distributions.mixture_models import Answer, Members
from skedasis.errors import DataError, ModelOutputError, UnsupportedError, explained
from skedasis.models.introspection import title

_ROWS = 8192
"""Rows of one forward pass."""


_OUTPUTS = ("values", "logits", "probabilities")


# Of self-normalising networks: what a dropped unit is set to (Klambauer et al., 2017).
_ALPHA = -1.7580993408473766


def _torch() -> Any:
    """Return torch, which whoever has a module has."""
    return importlib.import_module("torch")


class Module:
    """A torch module as a member: in evaluation mode, whatever mode it is in, and never changed.

    A copy is called that shares all parameters and buffers with the module, and whose dropout layers take the masks
    that a sample says. So nothing of the module is switched, and threads do not meet.

    Parameters
    ----------
    module : torch.nn.Module
    output : {"values", "logits", "probabilities"}
        What it returns.
    seed : int or None
        Of the masks; None where there are no samples.
    """

    stepped = False

    def __init__(self, module: Any, output: Any, seed: int | None) -> None:
        if output not in _OUTPUTS:
            raise DataError(
                explained(
                    "ensemble(output)",
                    f"{output!r} for a torch module",
                    "'values', 'logits' or 'probabilities'",
                    "Say what the module returns: output='logits'",
                )
            )
        self.model, self.output, self.seed = module, output, seed
        self.title = title(module)
        self._lock, self._own, self._sample = threading.Lock(), None, None

    @property
    def labels(self) -> Labels:
        """Return what the module predicts."""
        return Labels("numbers" if self.output == "values" else "classes")

    def __getstate__(self) -> dict[str, Any]:
        return {k: getattr(self, k) for k in ("model", "output", "seed", "title")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock, self._own, self._sample = threading.Lock(), None, None

    def answer(self, X: Any, sample: int | None = None) -> Answer:
        """Call the module on rows, with the masks of a sample or without dropout."""
        raw = self._forward(X, sample)
        n, what = len(X), self.title
        if self.output == "values":
            answer = tuple(map(_array, raw)) if isinstance(raw, tuple) else _array(raw)
            if not isinstance(answer, tuple) and np.ndim(answer) == 2 and answer.shape[1] != 1:
                raise _shapeless(
                    what, answer.shape, f"({n},), or a tuple (mean, standard deviation)"
                )
            return as_answer(answer, n, what)
        return _as_probabilities(_array(raw), n, what, self.output == "logits")

    def _forward(self, X: Any, sample: int | None) -> Any:
        """Return the module's tensors for all rows, a part of them at a time."""
        torch = _torch()
        own, state = self._copied()
        like = next(itertools.chain(self.model.parameters(), self.model.buffers()), None)
        like = torch.zeros(0) if like is None else like
        rows = np.array(to_array(X), dtype=np.float64)
        found: list[Any] = []
        with torch.no_grad():
            for first in range(0, len(rows), _ROWS):
                part = torch.from_numpy(rows[first : first + _ROWS])
                with state.drawing(sample, len(part)):
                    kind = like.dtype if like.is_floating_point() else torch.float32
                    found.append(own(part.to(device=like.device, dtype=kind)))
        if sample is not None and not state.met:
            raise ModelOutputError(
                explained(
                    self.title,
                    "a forward pass in which no dropout layer was called",
                    "layers of torch.nn.Dropout that are on the way",
                    "Sample it yourself: sd.ensemble(f, samples=100) calls f(X, s)",
                )
            )
        if isinstance(found[0], (tuple, list)):
            return tuple(torch.cat(parts) for parts in zip(*found, strict=True))
        return torch.cat(found)

    def _copied(self) -> tuple[Any, _Drawing]:
        with self._lock:
            if self._own is None:
                self._own, self._sample = _copied(self.model, self.seed)
            return self._own, self._sample  # type: ignore[return-value]


class Dropped(Members):
    """Samples of a module by Monte-Carlo dropout.

    A sample's masks depend on the seed, the sample and the layer alone, and are the same for all rows: each sample is
    one thinned network, and no result depends on which rows are asked for together.

    Parameters
    ----------
    module : Module
    samples : int or None

    Raises
    ------
    DataError
        Without `samples`.
    UnsupportedError
        Where there is no dropout, or dropout that is no layer.
    """

    def __init__(self, module: Module, samples: int | None) -> None:
        if samples is None:
            raise DataError(
                explained(
                    "ensemble(samples)",
                    "None for a torch module",
                    "how often to sample its dropout",
                    "Pass samples=100",
                )
            )
        _check_layers(module.model)
        self.module, self.count, self.labels = module, samples, module.labels

    def answers(self, X: Any) -> Iterator[Answer]:
        """Call the module once for each sample."""
        return (self.module.answer(X, s) for s in range(self.count or 0))

    def describe(self) -> str:
        """Return what they are, in words."""
        return f"{self.count} dropout samples of {self.module.title}"


class _Drawing(threading.local):
    """Which sample is drawn in this thread, and how often each layer was met in this forward pass."""

    def __init__(self, seed: int | None) -> None:
        self.seed, self.sample, self.rows = seed, None, 0
        self.times: dict[int, int] = {}
        self.met = False

    def drawing(self, sample: int | None, rows: int) -> _Drawing:
        self.sample, self.rows, self.times = sample, rows, {}
        return self

    def __enter__(self) -> None:
        self.met = False

    def __exit__(self, *details: object) -> None:
        self.sample = None

    def kept(self, layer: int, p: float, shape: tuple[int, ...]) -> Any:
        """Return which units are kept, as an array of 0 and 1."""
        time = self.times[layer] = self.times.get(layer, 0) + 1
        rng = np.random.default_rng([self.seed or 0, self.sample or 0, layer, time])
        return rng.random(shape) >= p


def _layers(module: Any) -> list[Any]:
    """Return a module's dropout layers that drop anything."""
    nn = _torch().nn
    kinds = (*_plain(), nn.AlphaDropout, nn.FeatureAlphaDropout)
    return [layer for layer in module.modules() if isinstance(layer, kinds) and layer.p > 0]


def _plain() -> tuple[Any, ...]:
    nn = _torch().nn
    return nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d


def _check_layers(module: Any) -> None:
    nn = _torch().nn
    found = _layers(module)
    strange = [layer for layer in found if isinstance(layer, nn.FeatureAlphaDropout)]
    # In evaluation mode these drop nothing, and in training mode they cannot be told what to drop.
    inside = nn.RNNBase, nn.MultiheadAttention
    strange += [x for x in module.modules() if isinstance(x, inside) and x.dropout > 0]
    if found and not strange:
        return
    raise UnsupportedError(
        explained(
            f"ensemble({title(module)})",
            f"dropout within a {title(strange[0])}"
            if strange
            else "a module without dropout layers",
            "layers of torch.nn.Dropout with p > 0",
            "Sample it yourself: sd.ensemble(f, samples=100) calls f(X, s); or pass a list of modules",
        )
    )


def _copied(module: Any, seed: int | None) -> tuple[Any, _Drawing]:
    """Return a copy that shares the module's tensors, in evaluation mode, with dropout layers that obey a sample."""
    drawing = _Drawing(seed)
    shared = itertools.chain(module.parameters(), module.buffers())
    own = copy.deepcopy(module, {id(t): t for t in shared})
    own.eval()
    for place, layer in enumerate(_layers(own)):
        layer.register_forward_hook(partial(_dropped, drawing, place))
    return own, drawing


def _dropped(drawing: _Drawing, place: int, layer: Any, _: Any, x: Any) -> Any:
    """Return a dropout layer's answer, which is its input in evaluation mode, with a sample's mask on it."""
    torch = _torch()
    if drawing.sample is None:
        return x
    if x.shape[0] != drawing.rows:
        raise ModelOutputError(
            explained(
                "dropout layer",
                f"{x.shape[0]} entries along its first axis for {drawing.rows} rows",
                "the rows along the first axis",
                "Sample it yourself: sd.ensemble(f, samples=100) calls f(X, s)",
            )
        )
    drawing.met = True
    # Whole channels are dropped by layers for images and sequences.
    channels = isinstance(layer, _plain()[1:])
    shape = (1, x.shape[1], *(1 for _ in x.shape[2:])) if channels else (1, *x.shape[1:])
    p = float(layer.p)
    keep = torch.from_numpy(drawing.kept(place, p, shape)).to(device=x.device)
    if not isinstance(layer, torch.nn.AlphaDropout):
        return torch.where(keep, x / (1 - p) if p < 1 else x, torch.zeros_like(x))
    scale = ((1 - p) * (1 + p * _ALPHA**2)) ** -0.5 if p < 1 else 0.0
    return torch.where(keep, x, torch.full_like(x, _ALPHA)) * scale - scale * p * _ALPHA


def _array(tensor: Any) -> Any:
    tensor = tensor.detach().cpu()
    # NumPy has no bfloat16.
    return tensor.float().numpy() if tensor.element_size() < 4 else tensor.numpy()


def _as_probabilities(raw: Any, n: int, what: str, logits: bool) -> Classes:
    """Return a module's scores or probabilities as distributions; one column is that of the second of two classes."""
    given = raw.dtype
    if raw.ndim not in (1, 2):
        raise _shapeless(what, raw.shape, f"({n}, classes)")
    score = raw.astype(float).reshape(len(raw), -1)
    if not logits:
        p = np.hstack([1.0 - score, score]) if score.shape[1] == 1 else score
    else:
        score = np.hstack([np.zeros_like(score), score]) if score.shape[1] == 1 else score
        p = np.exp(score - score.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
    found = as_classes(p.astype(given) if not logits else p, n, what)
    found.given = given
    return found


def _shapeless(what: str, shape: Any, expected: str) -> ModelOutputError:
    return ModelOutputError(
        explained(what, f"output of shape {shape}", expected, "Check output= of sd.ensemble")
    )
