"""Every method gives, for an entropy and a likelihood, what it gives for the same numbers computed by SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_wine
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skedasis as sd

WINE = load_wine()
X, LABELS = WINE.data[:, :4], WINE.target_names[WINE.target]
METHODS = {
    "pdp": sd.PDP(grid=9),
    "ice": sd.ICE(grid=5),
    "ale": sd.ALE(bins=7),
    "rhale": sd.RHALE(),
    "dale": sd.DALE(bins=sd.Uniform(4)),
    "mplot": sd.MPlot(),
}


@pytest.fixture(scope="module")
def classifier():
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.3)).fit(X, LABELS)


@pytest.fixture(scope="module")
def process():
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, size=(60, 2))
    y = np.sin(3 * Z[:, 0]) + Z[:, 1] + 0.1 * rng.normal(size=60)
    kernel = RBF([0.5, 1.0]) + WhiteKernel(0.02)
    return GaussianProcessRegressor(kernel, optimizer=None).fit(Z, y), Z, y


def compare(ours, theirs, tolerance):
    size = max(float(np.abs(theirs.value).max()), 1e-3)
    np.testing.assert_allclose(ours.x, theirs.x)
    np.testing.assert_allclose(ours.value, theirs.value, atol=tolerance * size)
    spread = max(float(np.nanmax(theirs.heterogeneity)), 1e-3)
    np.testing.assert_allclose(
        ours.heterogeneity, theirs.heterogeneity, atol=10 * tolerance * spread
    )


@pytest.mark.parametrize("name", METHODS)
def test_the_entropy_of_classes(classifier, name):
    def by_scipy(Z):
        return stats.entropy(classifier.predict_proba(Z), axis=1)

    # Slopes in closed form against central differences of SciPy's numbers.
    close = 1e-6 if name in ("rhale", "dale") else 1e-12
    ours = sd.explain(sd.entropy(classifier), X, 1, method=METHODS[name])
    compare(ours, sd.explain(by_scipy, X, 1, method=METHODS[name]), close)


@pytest.mark.parametrize("name", METHODS)
def test_the_entropy_of_a_process(process, name):
    model, Z, _ = process

    def by_scipy(rows):
        mean, std = model.predict(rows, return_std=True)
        return stats.norm(mean, std).entropy()

    ours = sd.explain(sd.entropy(model), Z, 0, method=METHODS[name])
    compare(ours, sd.explain(by_scipy, Z, 0, method=METHODS[name]), 1e-9)


def test_likelihood_pdp_ice_and_ale(process):
    """Labels stay with their rows, whatever value a column is set to."""
    model, Z, y = process
    grid = np.array([-0.5, 0.0, 0.7])
    curves = np.empty((len(Z), 3))
    for i, (row, label) in enumerate(zip(Z, y, strict=True)):
        for j, value in enumerate(grid):
            mean, std = model.predict([[value, row[1]]], return_std=True)
            curves[i, j] = -stats.norm(mean[0], std[0]).logpdf(label)
    ice = sd.explain(sd.nll(model), Z, 0, y=y, method=sd.ICE(grid=grid))
    np.testing.assert_allclose(ice.curves.value, curves, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ice.value, curves.mean(axis=0), rtol=1e-9)

    low, high = float(Z[:, 0].min()), float(Z[:, 0].max())
    ends = []
    for value in (low, high):
        rows = Z.copy()
        rows[:, 0] = value
        mean, std = model.predict(rows, return_std=True)
        ends.append(-stats.norm(mean, std).logpdf(y))
    ale = sd.explain(sd.nll(model), Z, 0, y=y, method=sd.ALE(bins=1, center="start"))
    np.testing.assert_allclose(ale.value, [0.0, np.mean(ends[1] - ends[0])], atol=1e-9)
