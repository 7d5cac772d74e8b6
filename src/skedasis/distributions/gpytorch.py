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

from skedasis._types import Floats, ModelRows
from skedasis.distributions.base import Labels, Predicted, Predictor, float_rows
from skedasis.distributions.categorical import as_classes
from skedasis.distributions.continuous import as_normal
from skedasis.errors import UnsupportedError
from skedasis.models.introspection import title, with_article

_CALL_BYTES = 100_000_000
"""Bytes that the covariances of one call may take."""


_MAX_CHOLESKY_SIZE = 20_000
"""Number of training rows up to which systems are solved exactly: with iterations, results depend on the batch."""


_LOCK = (
    threading.Lock()
)  # the mode of a module and the library's settings are shared by all threads


@dataclass(frozen=True, eq=False)
class Process(Predictor):
    """A GPyTorch model with its likelihood, which adds the noise of the observations."""

    process: Any
    likelihood: Any

    @property
    def labels(self) -> Labels:
        bernoulli = type(self.likelihood).__name__ == "BernoulliLikelihood"
        return Labels("classes" if bernoulli else "numbers")

    def describe(self) -> str:
        return title(self.process)

    def distributions(self, X: ModelRows) -> Predicted:
        """Return the predictive distributions, with noise, computed in chunks of rows."""
        torch: Any = importlib.import_module("torch")
        like = next(self.process.parameters())
        rows = float_rows(X)
        chunks: list[tuple[Floats, Floats]] = []
        with _LOCK, _eval_mode(self.process, self.likelihood), torch.no_grad():
            size = max(_CALL_BYTES // (24 * self._n_known()), 1)
            for first in range(0, len(rows), size):
                part = torch.from_numpy(rows[first : first + size])
                chunks.append(self._predict(part.to(device=like.device, dtype=like.dtype)))
        first, second = (np.concatenate([c[k] for c in chunks]) for k in (0, 1))
        if self.labels.kind == "classes":
            return as_classes(np.stack([first, second], axis=1), len(rows), self.describe())
        fix = "Use a likelihood with noise, such as gpytorch.likelihoods.GaussianLikelihood"
        return as_normal(first, second, len(rows), self.describe(), fix)

    def _n_known(self) -> int:
        """Return the number of rows with which covariances are computed: training rows, or inducing points."""
        inputs = getattr(self.process, "train_inputs", None)
        if inputs:
            return max(len(inputs[0]), 1)
        strategy = getattr(self.process, "variational_strategy", None)
        points = getattr(strategy, "inducing_points", None)
        return 1000 if points is None else max(points.shape[-2], 1)

    def _predict(self, part: Any) -> tuple[Floats, Floats]:
        """Return means and standard deviations, or the probabilities of both classes."""
        predicted = self.likelihood(self.process(part))
        kind = type(predicted).__name__
        if kind == "Bernoulli" and predicted.probs.ndim == 1:
            p = predicted.probs.cpu().numpy()
            return 1.0 - p, p
        if kind != "MultivariateNormal" or predicted.mean.ndim != 1:
            shape = tuple(predicted.batch_shape + predicted.event_shape)
            raise UnsupportedError(
                self.describe(),
                f"{with_article(kind)} of shape {shape}",
                "one normal distribution, or the probability of the second of two classes, for each row",
                "Draw from the process in a function: sd.ensemble(f, samples=100) calls f(X, s)",
            )
        return predicted.mean.cpu().numpy(), predicted.stddev.cpu().numpy()


@contextmanager
def _eval_mode(*modules: Any) -> Generator[None]:
    """Put modules into evaluation mode, and restore the mode of each of their parts afterwards."""
    settings: Any = importlib.import_module("gpytorch").settings
    before = {id(module): module.training for module in modules}
    modes = [(part, part.training) for module in modules for part in module.modules()]
    try:
        for module in modules:
            module.eval()
        # A larger limit of the user's stays.
        limit = max(settings.max_cholesky_size.value(), _MAX_CHOLESKY_SIZE)
        with settings.max_cholesky_size(limit):
            yield
    finally:
        for module in modules:
            # `train` also clears the caches of predictions, which are invalid after further training.
            module.train(before[id(module)])
        for part, training in modes:
            part.training = training


def is_process(model: object) -> bool:
    """Return whether a model is a GPyTorch model, or a pair of model and likelihood."""
    gpytorch = sys.modules.get("gpytorch")
    if gpytorch is None:
        return False
    if isinstance(model, tuple) and len(model) == 2:
        return all(isinstance(part, gpytorch.Module) for part in model)
    return isinstance(model, gpytorch.Module)


def as_process(model: Any) -> Predictor:
    """Return the predictor of a GPyTorch model, or of a pair of model and likelihood."""
    process, likelihood = model if isinstance(model, tuple) else (model, None)
    likelihood = getattr(process, "likelihood", None) if likelihood is None else likelihood
    if likelihood is None:
        raise UnsupportedError(
            title(process),
            "a model without a likelihood",
            "a model and its likelihood, which describes the noise of the observations",
            "Pass the pair: sd.entropy((model, likelihood))",
        )
    return Process(model, process, likelihood)
