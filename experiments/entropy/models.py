"""The paper's models without neural networks (appendix B.1 and B.2).

The Gaussian process comes twice. `adam_process` is the paper's: GPyTorch, a constant mean, one length scale for all
features, Adam at 0.1. `process` is scikit-learn's with the same kernel, taken to the optimum of the same likelihood:
it is some fifteen times as fast, so that it can be had for many draws.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skedasis.datasets.real import load


def process(X: Any, y: Any) -> Any:
    """Return scikit-learn's Gaussian process on standardised rows and labels."""
    kernel = ConstantKernel(1.0, (1e-3, 1e5)) * RBF(1.0, (1e-2, 1e4)) + WhiteKernel(0.1)
    model = make_pipeline(
        StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The optimal value found", ConvergenceWarning)
        return model.fit(np.asarray(X), y)


def adam_process(X: Any, y: Any, epochs: int) -> Any:
    """Return GPyTorch's Gaussian process (B.1), as a function from rows to means and standard deviations.

    Rows and labels are standardised (the paper does not say whether its are): in units of kg/m³ steps of 0.1 would not
    reach a length scale in hundreds of epochs.
    """
    import torch

    x, target = (torch.as_tensor(np.asarray(values, dtype=float)) for values in (X, y))
    centre, width, level, scale = x.mean(0), x.std(0), target.mean(), target.std()
    pair = _trained((x - centre) / width, (target - level) / scale, epochs)

    def predictive(X: Any) -> tuple[np.ndarray, np.ndarray]:
        rows = (np.asarray(X, dtype=float) - centre.numpy()) / width.numpy()
        mean, deviation = _answers(pair, rows)
        return mean * float(scale) + float(level), deviation * float(scale)

    return predictive


def _trained(x: Any, target: Any, epochs: int) -> tuple[Any, Any]:
    """Fit the hyperparameters by the marginal likelihood."""
    import gpytorch
    import torch

    class Exact(gpytorch.models.ExactGP):
        def __init__(self, likelihood: Any) -> None:
            super().__init__(x, target, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, rows: Any) -> Any:
            mean, covariance = self.mean_module(rows), self.covar_module(rows)
            return gpytorch.distributions.MultivariateNormal(mean, covariance)

    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = Exact(likelihood).double()
    model.train()
    optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    for _ in range(epochs):
        optimiser.zero_grad()
        (-evidence(model(x), target)).backward()
        optimiser.step()
    model.eval()
    return model, likelihood.eval()


def _answers(pair: tuple[Any, Any], rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard deviations with noise, some rows at a time: their covariances are never needed."""
    import torch

    model, likelihood = pair
    found = []
    with torch.no_grad():
        for first in range(0, len(rows), 2000):
            part = torch.as_tensor(rows[first : first + 2000])
            given = likelihood(model(part))
            found.append((given.mean.numpy(), given.stddev.numpy()))
    mean, deviation = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return mean, deviation


def calibrated_forest(X: Any, y: Any, seed: int, trees: int = 500) -> Any:
    """Return a forest of depth 8, fitted on the first 80 % of the rows and calibrated on the others (B.2)."""
    X, y = np.asarray(X), np.asarray(y)
    cut = round(0.8 * len(X))
    forest = RandomForestClassifier(trees, max_depth=8, random_state=seed).fit(X[:cut], y[:cut])
    return CalibratedClassifierCV(FrozenEstimator(forest), method="sigmoid").fit(X[cut:], y[cut:])


def quarters(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return 75 % of a table's rows to fit on and 25 % to test on: X, y, X_test, y_test."""
    table = load(name, download=False)
    X, X_test, y, y_test = train_test_split(table.X, table.y, test_size=0.25, random_state=seed)
    return X, y, X_test, y_test
