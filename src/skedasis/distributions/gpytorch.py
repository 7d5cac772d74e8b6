"""Predictive distributions of GPyTorch's Gaussian processes."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from skedasis.data.dataset import to_array
from skedasis.distributions.base import Labels, Predicted, Predictor
from skedasis.distributions.categorical import as_classes
from skedasis.distributions.continuous import as_normal
from skedasis.errors import UnsupportedError, explained
from skedasis.models.introspection import articled, title

_ROOM = 100_000_000
"""Bytes that one call may need for its covariances."""


_CHOLESKY = 20_000
"""Up to so many rows of fit systems are solved exactly: iterations would make a row's answer depend on its batch."""


# Which mode a module is in, and the library's settings, belong to all threads.
_LOCK = threading.Lock()


@dataclass(frozen=True, eq=False)
class Process(Predictor):
    """A GPyTorch model with its likelihood, which adds the noise of the observations.

    Parameters
    ----------
    model : object
        As the user gave it: a model that has a likelihood, or a pair of both.
    process, likelihood : gpytorch.Module
    """

    process: Any = None
    likelihood: Any = None

    @property
    def labels(self) -> Labels:
        """Return what the likelihood speaks of."""
        bernoulli = type(self.likelihood).__name__ == "BernoulliLikelihood"
        return Labels("classes" if bernoulli else "numbers")

    def describe(self) -> str:
        """Return the process's title."""
        return title(self.process)

    def distributions(self, X: Any) -> Predicted:
        """Return the predictive distributions, with noise, a part of the rows at a time."""
        torch: Any = importlib.import_module("torch")
        like = next(self.process.parameters())
        rows = np.array(to_array(X), dtype=float)
        found: list[tuple[Any, Any]] = []
        with _LOCK, _evaluating(self.process, self.likelihood), torch.no_grad():
            size = max(_ROOM // (24 * self._known()), 1)
            for first in range(0, len(rows), size):
                part = torch.from_numpy(rows[first : first + size])
                found.append(self._parts(part.to(device=like.device, dtype=like.dtype)))
        first, second = (np.concatenate([f[k] for f in found]) for k in (0, 1))
        if self.labels.kind == "classes":
            return as_classes(np.stack([first, second], axis=1), len(rows), self.describe())
        fix = "Use a likelihood with noise, such as gpytorch.likelihoods.GaussianLikelihood"
        return as_normal(first, second, len(rows), self.describe(), fix)

    def _known(self) -> int:
        """Return for how many rows covariances are kept: those of fit, or the inducing points."""
        inputs = getattr(self.process, "train_inputs", None)
        if inputs:
            return max(len(inputs[0]), 1)
        strategy = getattr(self.process, "variational_strategy", None)
        points = getattr(strategy, "inducing_points", None)
        return 1000 if points is None else max(points.shape[-2], 1)

    def _parts(self, part: Any) -> tuple[Any, Any]:
        """Return means and standard deviations, or the probabilities of both classes."""
        found = self.likelihood(self.process(part))
        kind = type(found).__name__
        if kind == "Bernoulli" and found.probs.ndim == 1:
            p = found.probs.cpu().numpy()
            return 1.0 - p, p
        if kind != "MultivariateNormal" or found.mean.ndim != 1:
            raise UnsupportedError(
                explained(
                    self.describe(),
                    f"{articled(kind)} of shape {tuple(found.batch_shape + found.event_shape)}",
                    "one normal distribution, or the probability of the second of two classes, for each row",
                    "Draw from the process yourself: sd.ensemble(f, samples=100) calls f(X, s)",
                )
            )
        return found.mean.cpu().numpy(), found.stddev.cpu().numpy()


@contextmanager
def _evaluating(*modules: Any) -> Generator[None]:
    """Put modules into evaluation mode, and each of their parts back into its own."""
    settings: Any = importlib.import_module("gpytorch").settings
    before = {id(module): module.training for module in modules}
    modes = [(part, part.training) for module in modules for part in module.modules()]
    try:
        for module in modules:
            module.eval()
        # A model of its own settings stays with them, if they are more exact.
        most = max(settings.max_cholesky_size.value(), _CHOLESKY)
        with settings.max_cholesky_size(most):
            yield
    finally:
        for module in modules:
            # Not only the flag: this also forgets what was computed for predictions, which training makes wrong.
            module.train(before[id(module)])
        for part, training in modes:
            part.training = training


def is_process(model: Any) -> bool:
    """Return whether a model is one of GPyTorch's, or a pair of one and its likelihood."""
    gpytorch = sys.modules.get("gpytorch")
    if gpytorch is None:
        return False
    if isinstance(model, tuple) and len(model) == 2:
        return all(isinstance(part, gpytorch.Module) for part in model)
    return isinstance(model, gpytorch.Module)


def as_process(model: Any) -> Predictor:
    """Return a GPyTorch model, or a pair of model and likelihood, as a predictor.

    Raises
    ------
    UnsupportedError
        Without a likelihood.
    """
    process, likelihood = model if isinstance(model, tuple) else (model, None)
    likelihood = getattr(process, "likelihood", None) if likelihood is None else likelihood
    if likelihood is None:
        raise UnsupportedError(
            explained(
                title(process),
                "a model without a likelihood",
                "both: the likelihood says how noisy the observations are",
                "Pass the pair: sd.entropy((model, likelihood))",
            )
        )
    return Process(model, process, likelihood)
