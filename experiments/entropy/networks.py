"""The paper's two neural networks (appendix B.3 and B.4), both with two layers of 100 units.

What the text that we have leaves out: the dropout rate (0.1 here), the standard deviation of the prior on the weights
(1 here), and the optimiser and batches of Bayes by backprop (Adam, 64 rows).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

import skedasis as sd

WIDTH, SAMPLES = 100, 50


@dataclass(frozen=True, eq=False)
class Dropout:
    """A network with Monte-Carlo dropout: rows -> the means of its samples, and the noise about them.

    Parameters
    ----------
    means : callable
        X -> (samples, n). A sample is one thinned network, the same for all rows.
    noise : float
        Standard deviation of the observations about a sample's mean.
    """

    means: Callable[[Any], np.ndarray]
    noise: float

    def normal(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the paper's normal distributions: the samples' mean, and their variance plus the noise's."""
        found = self.means(X)
        return found.mean(axis=0), np.sqrt(found.var(axis=0) + self.noise**2)

    def mixture(self) -> Any:
        """Return what the samples are together without that approximation: a mixture of normal distributions."""
        return sd.ensemble(self.means, noise=self.noise)


def dropout_network(X: Any, y: Any, seed: int, epochs: int = 5000, rate: float = 0.1) -> Dropout:
    """Return a network with Monte-Carlo dropout (B.4): SGD at 0.1 in batches of 200, the noise from the last tenth."""
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    centre, width, level, scale = X.mean(0), X.std(0), y.mean(), y.std()
    cut = round(0.9 * len(X))
    scaled, wanted = (X - centre) / width, (y - level) / scale
    weights = _descended(scaled[:cut], wanted[:cut], seed, epochs, rate)
    masks = np.random.default_rng(seed).random((SAMPLES, 2, WIDTH)) >= rate
    kept = (masks / (1.0 - rate)).astype(np.float32)

    def means(X: Any) -> np.ndarray:
        rows = ((np.asarray(X, dtype=float) - centre) / width).astype(np.float32)
        return _thinned(weights, kept, rows) * scale + level

    found = means(X[cut:])
    off, variance = y[cut:] - found.mean(axis=0), found.var(axis=0)

    def loss(log_noise: float) -> float:
        total = variance + np.exp(2.0 * log_noise)
        return float(np.mean(np.log(total) + off**2 / total))

    # One precision: its best value needs no descent.
    best = minimize_scalar(loss, bounds=np.log(scale * np.array([0.01, 2.0])), method="bounded")
    return Dropout(means, float(np.exp(best.x)))


def _descended(
    X: np.ndarray, y: np.ndarray, seed: int, epochs: int, rate: float
) -> list[np.ndarray]:
    """Train by stochastic gradient descent, and return weights and biases, layer by layer."""
    import torch
    from torch import nn

    torch.manual_seed(seed)
    rows, wanted = (torch.as_tensor(v, dtype=torch.float32) for v in (X, y[:, None]))
    hidden = [nn.Linear(X.shape[1], WIDTH), nn.ReLU(), nn.Dropout(rate)]
    hidden += [nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Dropout(rate)]
    network = nn.Sequential(*hidden, nn.Linear(WIDTH, 1))
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    for _ in range(epochs):
        for part in torch.randperm(len(rows)).split(200):
            optimiser.zero_grad()
            nn.functional.mse_loss(network(rows[part]), wanted[part]).backward()
            optimiser.step()
    return [p.detach().numpy() for p in network.parameters()]


def _thinned(weights: list[np.ndarray], masks: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the answers of all thinned networks, (samples, n); the first layer is the same for all but its mask."""
    w1, b1, w2, b2, w3, b3 = weights
    first = np.maximum(rows @ w1.T + b1, 0)
    found = np.empty((len(masks), len(rows)))
    for k, (one, two) in enumerate(masks):
        second = np.maximum(first @ (w2 * one).T + b2, 0)
        found[k] = second @ (w3[0] * two) + b3
    return found


def bayesian_network(X: Any, y: Any, seed: int, epochs: int = 100) -> Any:
    """Return a network of two classes with normal weights (B.3, Bayes by backprop), as a mixture of 50 samples."""
    import torch
    from torch.nn import functional

    torch.manual_seed(seed)
    X = np.asarray(X, dtype=float)
    centre, width = X.mean(0), X.std(0)
    rows = torch.as_tensor((X - centre) / width, dtype=torch.float32)
    label = torch.as_tensor(np.asarray(y), dtype=torch.float32)
    shapes = [(WIDTH, X.shape[1]), (WIDTH,), (WIDTH, WIDTH), (WIDTH,), (1, WIDTH), (1,)]
    mean = [torch.nn.Parameter(0.1 * torch.randn(shape)) for shape in shapes]
    free = [torch.nn.Parameter(torch.full(shape, -4.0)) for shape in shapes]
    optimiser = torch.optim.Adam([*mean, *free], lr=0.01)
    for _ in range(epochs):
        for part in torch.randperm(len(rows)).split(64):
            pairs = [(m, functional.softplus(r)) for m, r in zip(mean, free, strict=True)]
            drawn = [m + s * torch.randn_like(m) for m, s in pairs]
            # The divergence of N(m, s²) from the prior N(0, 1), shared out among the rows.
            prior = sum((0.5 * (s**2 + m**2 - 1) - torch.log(s)).sum() for m, s in pairs)
            fit = functional.binary_cross_entropy_with_logits(
                _logits(drawn, rows[part]), label[part]
            )
            optimiser.zero_grad()
            (fit + prior / len(rows)).backward()
            optimiser.step()
    with torch.no_grad():
        pairs = [(m, functional.softplus(r)) for m, r in zip(mean, free, strict=True)]
        samples = [[m + s * torch.randn_like(m) for m, s in pairs] for _ in range(SAMPLES)]

    def probabilities(X: Any, sample: int) -> np.ndarray:
        given = torch.as_tensor((np.asarray(X, dtype=float) - centre) / width, dtype=torch.float32)
        with torch.no_grad():
            one = torch.sigmoid(_logits(samples[sample], given).double()).numpy()
        return np.column_stack([1 - one, one])

    return sd.ensemble(probabilities, samples=SAMPLES)


def _logits(weights: list[Any], rows: Any) -> Any:
    from torch.nn.functional import linear, relu

    hidden = relu(linear(rows, weights[0], weights[1]))
    hidden = relu(linear(hidden, weights[2], weights[3]))
    return linear(hidden, weights[4], weights[5])[:, 0]
