"""The entropy paper's two neural networks (appendix B), for tests with torch. Both have two layers of 100 units."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skedasis as sd

torch = pytest.importorskip("torch", reason="torch is not installed")
nn, functional = torch.nn, torch.nn.functional
SAMPLES = 50


def single(values: Any) -> Any:
    """Return numbers as a single-precision tensor."""
    return torch.as_tensor(np.asarray(values, dtype=np.float32))


def dropout_network(X: Any, y: Any, seed: int, rate: float = 0.1, epochs: int = 1000) -> Any:
    """Return a network with Monte-Carlo dropout (B.4), as a mixture of 50 samples.

    Inputs and outputs are in the original units: the first and the last layer only scale. The noise is chosen by the
    likelihood of the last tenth of the rows. The text available to us does not give the paper's dropout rate; its 5,000
    epochs would take half a minute.
    """
    torch.manual_seed(seed)
    rows, target = single(X), single(y)[:, None]
    cut = round(0.9 * len(rows))
    mean, std, level, scale = rows.mean(0), rows.std(0), target.mean(), target.std()
    inner = nn.Sequential(
        nn.Linear(rows.shape[1], 100),
        nn.ReLU(),
        nn.Dropout(rate),
        nn.Linear(100, 100),
        nn.ReLU(),
        nn.Dropout(rate),
        nn.Linear(100, 1),
    )
    optimiser = torch.optim.SGD(inner.parameters(), lr=0.1)
    scaled, wanted = (rows - mean) / std, (target - level) / scale
    for _ in range(epochs):
        for part in torch.randperm(cut).split(200):
            optimiser.zero_grad()
            functional.mse_loss(inner(scaled[part]), wanted[part]).backward()
            optimiser.step()
    module = nn.Sequential(_affine(torch.diag(1 / std), -mean / std), inner)
    module.append(_affine(scale.reshape(1, 1), level.reshape(1)))
    kept, labels = np.asarray(X)[cut:], np.asarray(y)[cut:]
    mixtures = [
        sd.ensemble(module, SAMPLES, output="values", noise=float(noise))
        for noise in np.geomspace(0.05, 0.5, 13) * float(scale)
    ]
    return min(mixtures, key=lambda mixture: sd.nll(mixture).at(kept, labels).mean())


def _affine(weight: Any, bias: Any) -> Any:
    layer = nn.Linear(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
    return layer


def bayesian_network(X: Any, y: Any, seed: int, epochs: int = 100) -> Any:
    """Return a network for two classes with uncertain weights (B.3, Bayes by backprop), as a mixture of 50 samples.

    Weights have independent normal distributions. The prior's standard deviation is 1, because the text available to us
    does not give it.
    """
    torch.manual_seed(seed)
    rows, label = single(X), single(y)
    centre, spread = rows.mean(0), rows.std(0)
    rows = (rows - centre) / spread
    shapes = [(100, rows.shape[1]), (100,), (100, 100), (100,), (1, 100), (1,)]
    mean = [nn.Parameter(0.1 * torch.randn(shape)) for shape in shapes]
    free = [nn.Parameter(torch.full(shape, -4.0)) for shape in shapes]
    optimiser = torch.optim.Adam([*mean, *free], lr=0.01)
    for _ in range(epochs):
        for part in torch.randperm(len(rows)).split(64):
            std = [functional.softplus(rho) for rho in free]
            pairs = list(zip(mean, std, strict=True))
            drawn = [m + s * torch.randn_like(m) for m, s in pairs]
            prior = sum((0.5 * (s**2 + m**2 - 1) - torch.log(s)).sum() for m, s in pairs)
            loss = functional.binary_cross_entropy_with_logits(
                _logits(drawn, rows[part]), label[part]
            )
            optimiser.zero_grad()
            (loss + prior / len(rows)).backward()
            optimiser.step()
    with torch.no_grad():
        pairs = [(m, functional.softplus(rho)) for m, rho in zip(mean, free, strict=True)]
        samples = [[m + s * torch.randn_like(m) for m, s in pairs] for _ in range(SAMPLES)]

    def probabilities(X: Any, sample: int) -> np.ndarray:
        with torch.no_grad():
            logits = _logits(samples[sample], (single(X) - centre) / spread)
        one = torch.sigmoid(logits.double()).numpy()
        return np.column_stack([1 - one, one])

    return sd.ensemble(probabilities, samples=SAMPLES)


def _logits(weights: list[Any], rows: Any) -> Any:
    hidden = torch.relu(functional.linear(rows, weights[0], weights[1]))
    hidden = torch.relu(functional.linear(hidden, weights[2], weights[3]))
    return functional.linear(hidden, weights[4], weights[5])[:, 0]
