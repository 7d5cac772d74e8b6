"""GPyTorch, NGBoost and skpro: their distributions compared with formulas and with the libraries' own results."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.stats as st

import skedasis as sd
from tests.helpers import refused

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = X[:, 0] + 0.3 * RNG.normal(size=60)
Z = RNG.normal(size=(30, 2))

# ----------------------------------------------------------------------------------------- GPyTorch


@pytest.fixture(scope="module")
def gp():
    pytest.importorskip("torch", reason="torch is not installed")
    return pytest.importorskip("gpytorch", reason="gpytorch is not installed")


def exact(gp):
    import torch

    class Exact(gp.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean_module = gp.means.ConstantMean()
            self.covar_module = gp.kernels.ScaleKernel(gp.kernels.RBFKernel())

        def forward(self, x):
            return gp.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gp.likelihoods.GaussianLikelihood().double()
    model = Exact(torch.tensor(X), torch.tensor(Y), likelihood).double()
    model.covar_module.outputscale, model.covar_module.base_kernel.lengthscale = 1.5, 0.8
    likelihood.noise = 0.2
    return model


def approximate(gp):
    import torch

    class Approximate(gp.models.ApproximateGP):
        def __init__(self, points):
            normal = gp.variational.CholeskyVariationalDistribution(len(points))
            super().__init__(gp.variational.VariationalStrategy(self, points, normal))
            self.mean_module, self.covar_module = gp.means.ConstantMean(), gp.kernels.RBFKernel()

        def forward(self, x):
            return gp.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    torch.manual_seed(0)
    return Approximate(torch.randn(8, 2))


def posterior(noise=0.2):
    """Return the mean and standard deviation of an observation, by the formulas of Gaussian processes."""

    def k(a, b):
        return 1.5 * np.exp(-0.5 * ((a[:, None] - b[None]) ** 2).sum(-1) / 0.8**2)

    A = k(X, X) + noise * np.eye(len(X))
    variance = 1.5 + noise - np.einsum("ij,ji->i", k(Z, X), np.linalg.solve(A, k(X, Z)))
    return k(Z, X) @ np.linalg.solve(A, Y), np.sqrt(variance)


def test_an_exact_process_has_its_formulas_and_the_noise_of_its_likelihood(gp):
    model = exact(gp)
    mean, std = posterior()
    d = st.norm(mean, std)
    for given in (model, (model, model.likelihood)):
        np.testing.assert_allclose(sd.predictive_variance(given).at(Z), std**2, rtol=1e-6)
        np.testing.assert_allclose(sd.entropy(given).at(Z), d.entropy(), rtol=1e-6)
        np.testing.assert_allclose(sd.nll(given).at(Z, Z[:, 0]), -d.logpdf(Z[:, 0]), rtol=1e-5)
        np.testing.assert_allclose(sd.predictive_quantile(given, 0.9).at(Z), d.ppf(0.9), rtol=1e-5)
    assert sd.entropy(model).describe() == "entropy(Exact)"


def test_modes_are_put_back_and_training_on_is_seen(gp):
    import torch

    model = exact(gp)
    model.train()
    model.mean_module.eval()
    modes = [m.training for m in model.modules()]
    q = sd.predictive_variance(model)
    before = q.at(Z)
    assert [m.training for m in model.modules()] == modes
    model.train()
    model(torch.tensor(X))  # as in training
    model.likelihood.noise = 2.0
    np.testing.assert_allclose(q.at(Z), posterior(2.0)[1] ** 2, rtol=1e-6)
    assert (q.at(Z) > before).all()
    model.eval()
    q.at(Z)
    assert not model.training


def test_approximate_processes_speak_through_their_likelihood(gp):
    import torch

    model = approximate(gp)
    with refused(sd.UnsupportedError, "likelihood", "sd.entropy((model, likelihood))"):
        sd.entropy(model)
    normal = sd.predictive_variance((model, gp.likelihoods.GaussianLikelihood()))
    model.eval()
    with torch.no_grad():
        latent = model(torch.tensor(Z).float())
        noise = gp.likelihoods.GaussianLikelihood().noise.item()
    np.testing.assert_allclose(normal.at(Z), latent.variance.numpy() + noise, rtol=1e-4)
    bernoulli = (model, gp.likelihoods.BernoulliLikelihood())
    # A probit link has a closed form: Phi(mean / sqrt(1 + variance)).
    p = st.norm.cdf(latent.mean.numpy() / np.sqrt(1 + latent.variance.numpy()))
    np.testing.assert_allclose(sd.entropy(bernoulli).at(Z), st.entropy([1 - p, p]), rtol=1e-5)
    y = Z[:, 0] > 0
    np.testing.assert_allclose(
        sd.nll(bernoulli).at(Z, y), -np.log(np.where(y, p, 1 - p)), rtol=1e-4
    )
    with refused(sd.UnsupportedError, "one normal distribution"):
        sd.entropy((model, gp.likelihoods.StudentTLikelihood())).at(Z)


# ------------------------------------------------------------------------------------------ NGBoost


@pytest.fixture(scope="module")
def ngboost():
    return pytest.importorskip("ngboost", reason="ngboost is not installed")


def boosted(ngboost, y=Y, **settings):
    return ngboost.NGBRegressor(n_estimators=15, verbose=False, random_state=0, **settings).fit(
        X, y
    )


def test_boosted_normal_distributions(ngboost):
    model = boosted(ngboost)
    d = model.pred_dist(Z)
    np.testing.assert_allclose(
        sd.entropy(model).at(Z), st.norm(d.loc, d.scale).entropy(), rtol=1e-12
    )
    np.testing.assert_allclose(sd.nll(model).at(Z, Z[:, 0]), -d.logpdf(Z[:, 0]), rtol=1e-12)
    assert sd.entropy(model).derivative_info(None).kind == "steps"
    e = sd.ensemble([model, boosted(ngboost, minibatch_frac=0.5)])
    assert (sd.entropy(e, part="epistemic").at(Z) > 0).any()


def test_boosted_distributions_of_other_kinds(ngboost):
    from ngboost.distns import Laplace, LogNormal, Poisson

    for kind, y in ((LogNormal, np.exp(Y)), (Laplace, Y), (Poisson, np.round(np.exp(Y)))):
        model = boosted(ngboost, y, Dist=kind)
        inner = model.pred_dist(Z).dist
        np.testing.assert_allclose(sd.entropy(model).at(Z), inner.entropy(), rtol=1e-12)
        np.testing.assert_allclose(sd.predictive_quantile(model, 0.8).at(Z), inner.ppf(0.8))


def test_boosted_classes(ngboost):
    y = (Y > 0).astype(int)
    model = ngboost.NGBClassifier(
        n_estimators=5, verbose=False, random_state=0, learning_rate=0.001
    ).fit(X, y)
    p = model.predict_proba(Z)
    np.testing.assert_allclose(sd.entropy(model).at(Z), st.entropy(p, axis=1), rtol=1e-12)
    np.testing.assert_allclose(
        sd.nll(model).at(Z, Z[:, 0] > 0), -np.log(p[np.arange(30), (Z[:, 0] > 0) * 1]), rtol=1e-12
    )
    with refused(sd.UnsupportedError, "classifier"):
        sd.predictive_quantile(model, 0.5)


# -------------------------------------------------------------------------------------------- skpro


@pytest.fixture(scope="module")
def residual():
    pytest.importorskip("skpro", reason="skpro is not installed")
    from skpro.regression.residual import ResidualDouble

    return ResidualDouble


D = pd.DataFrame(X, columns=["a", "b"])
E = pd.DataFrame(Z, columns=["a", "b"])
T = pd.DataFrame({"t": Y})


def fitted(residual, **settings):
    from sklearn.linear_model import LinearRegression
    from sklearn.tree import DecisionTreeRegressor

    spread = DecisionTreeRegressor(max_depth=2, random_state=0)
    return residual(LinearRegression(), spread, **settings).fit(D, T)


def test_skpros_normal_distributions(residual):
    model = fitted(residual)
    d = model.predict_proba(E)
    inner = st.norm(np.ravel(d.mu), np.ravel(d.sigma))
    for given in (E, Z):
        np.testing.assert_allclose(sd.entropy(model).at(given), inner.entropy(), rtol=1e-12)
        np.testing.assert_allclose(
            sd.nll(model).at(given, Z[:, 0]), -inner.logpdf(Z[:, 0]), rtol=1e-12
        )
        np.testing.assert_allclose(
            sd.predictive_quantile(model, 0.9).at(given), inner.ppf(0.9), rtol=1e-10
        )
    e = sd.explain(sd.entropy(model), E, "a", method=sd.PDP(grid=np.linspace(-1, 1, 4)))
    curve = [sd.entropy(model).at(E.assign(a=v)).mean() for v in e.x]
    np.testing.assert_allclose(e.value, curve, rtol=1e-12)


def test_skpros_mixtures_are_mixtures(residual):
    from skpro.regression.ensemble import BaggingRegressor

    model = BaggingRegressor(fitted(residual), n_estimators=3, random_state=0).fit(D, T)
    parts = model.predict_proba(E).distributions
    each = [p[1] if isinstance(p, tuple) else p for p in parts]
    density = np.mean(
        [st.norm.pdf(Z[:, 0], np.ravel(p.mu), np.ravel(p.sigma)) for p in each], axis=0
    )
    np.testing.assert_allclose(sd.nll(model).at(E, Z[:, 0]), -np.log(density), rtol=1e-10)
