"""Entropies, likelihoods and quantiles compared with SciPy, scikit-learn, quadrature, simulation and closed forms."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.stats as st
from scipy.integrate import quad
from scipy.special import logsumexp
from sklearn.metrics import log_loss

import skedasis as sd
from skedasis.distributions.categorical import as_classes
from skedasis.distributions.continuous import NormalMixture, as_normal, mixture_of
from skedasis.distributions.scipy import as_distribution

DOUBLE = np.dtype(float)


def mixture(location, scale, weights=None):
    """Return a mixture of (S, n) components."""
    location = np.asarray(location, dtype=float)
    w = np.full(len(location), 1 / len(location)) if weights is None else np.asarray(weights)
    return NormalMixture(location, np.broadcast_to(scale, location.shape) * 1.0, w, DOUBLE, "model")


def density(location, scale, weights):
    """Return a mixture's density, by the formula: SciPy's takes ten times as long."""
    factors = weights / (scale * np.sqrt(2 * np.pi))
    return lambda x: float(factors @ np.exp(-0.5 * ((x - location) / scale) ** 2))


def entropy_by_quad(location, scale, weights):
    """Return -∫ f log f by SciPy's adaptive quadrature on intervals of one standard deviation of each component."""
    f = density(location, scale, weights)

    def integrand(x):
        p = f(x)
        return -p * np.log(p) if p > 0 else 0.0

    steps = np.arange(-10, 11)
    cuts = np.unique((location[:, None] + steps * scale[:, None]).ravel())
    # Intervals outside all components' supports contribute nothing.
    held = [
        (a, b) for a, b in pairwise(cuts) if (np.abs((a + b) / 2 - location) < 10 * scale).any()
    ]
    return sum(quad(integrand, a, b, epsabs=1e-13, epsrel=1e-11)[0] for a, b in held)


# ------------------------------------------------------------------------------------------ classes


def test_entropy_of_classes_is_scipys_and_exactly_zero_where_one_is_certain():
    rng = np.random.default_rng(0)
    for k in (2, 3, 10):
        p = rng.dirichlet(np.full(k, 0.3), size=500)
        np.testing.assert_allclose(
            as_classes(p, 500, "m").entropy(), st.entropy(p, axis=1), rtol=1e-13, atol=1e-15
        )
        certain = as_classes(np.eye(k), k, "m").entropy()
        np.testing.assert_array_equal(certain, 0.0)
        assert not np.signbit(certain).any()
    even = as_classes(np.full((1, 8), 0.125), 1, "m").entropy()
    assert even[0] == pytest.approx(np.log(8), rel=1e-15)


def test_entropy_is_never_negative_however_probabilities_round():
    p = np.array([[1 + 2e-16, 0.0], [1.0, -1e-17], [1 + 1e-9, 0.0]])
    assert (as_classes(p, 3, "m").entropy() >= 0).all()
    assert (as_classes(p.astype(np.float32), 3, "m").entropy() >= 0).all()


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_mean_nll_is_log_loss(k, dtype):
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(k, 0.2), size=2000).astype(dtype)
    p[:20] = np.eye(k, dtype=dtype)[rng.integers(0, k, 20)]
    y = rng.integers(0, k, 2000)
    X = np.zeros((2000, 1))
    tolerance = (
        1e-12 if dtype == np.float64 else 3e-7
    )  # scikit-learn sums in the dtype of the probabilities
    assert sd.nll(lambda X: p).at(X, y).mean() == pytest.approx(
        log_loss(y, p, labels=range(k)), rel=tolerance
    )


def test_parts_of_a_mixture_of_classes_from_first_principles():
    """The mutual information of label and member is the sum over both of p log(p / product of the margins)."""
    rng = np.random.default_rng(3)
    members = rng.dirichlet([0.5, 1.0, 2.0], size=(7, 50))
    w = rng.dirichlet(np.ones(7))
    e = sd.ensemble(lambda X: members, weights=w)
    X = np.zeros((50, 1))
    joint = w[:, None, None] * members
    margin = joint.sum(axis=0)
    information = (joint * np.log(members / margin)).sum(axis=(0, 2))
    np.testing.assert_allclose(
        sd.entropy(e, part="epistemic").at(X), information, rtol=1e-10, atol=1e-14
    )
    np.testing.assert_allclose(sd.entropy(e).at(X), st.entropy(margin, axis=1), rtol=1e-12)
    np.testing.assert_allclose(
        sd.entropy(e, part="aleatoric").at(X), w @ st.entropy(members, axis=2), rtol=1e-12
    )
    labels = np.arange(3)
    means = members @ labels
    within = w @ (members @ labels**2 - means**2)
    between = w @ (means - w @ means) ** 2
    for part, expected in (
        ("total", within + between),
        ("aleatoric", within),
        ("epistemic", between),
    ):
        np.testing.assert_allclose(sd.predictive_variance(e, part=part).at(X), expected, rtol=1e-10)


# ----------------------------------------------------------------------------------- normal mixtures

RNG = np.random.default_rng(5)
CASES = {
    "alike": (RNG.normal(size=(10, 6)), RNG.uniform(0.5, 2, size=(10, 6))),
    "narrow": (RNG.normal(size=(10, 6)), RNG.uniform(0.02, 0.05, size=(10, 6))),
    "widths": (RNG.normal(size=(6, 6)), 10.0 ** RNG.uniform(-3, 0, size=(6, 6))),
    "spike": (np.array([[0.0], [0.3]]), np.array([[1.0], [1e-3]])),
    "touching": (np.array([[0.0], [16.5]]), np.array([[1.0], [1.0]])),
    "hundred": (RNG.normal(size=(100, 2)), RNG.uniform(0.1, 1, size=(100, 2))),
}


@pytest.mark.parametrize("case", ["alike", "widths", "spike"])
def test_entropy_of_normal_mixtures_is_that_of_quadrature(case):
    location, scale = CASES[case]
    w = np.random.default_rng(6).dirichlet(np.ones(len(location)))
    found = mixture(location, scale, w).entropy()
    for i in range(location.shape[1]):
        assert found[i] == pytest.approx(
            entropy_by_quad(location[:, i], scale[:, i], w), abs=1e-9
        ), case


def test_equal_components_have_the_entropy_of_one():
    scale = np.array([1e-12, 1.0, 1e12])
    m = mixture(np.tile([1e5, 0.0, -1e20], (4, 1)), np.tile(scale, (4, 1)))
    np.testing.assert_allclose(m.entropy(), 0.5 * np.log(2 * np.pi * np.e * scale**2), rtol=1e-14)
    np.testing.assert_allclose(m.entropy("epistemic"), 0.0, atol=1e-13)


def test_components_far_apart_add_the_entropy_of_their_weights():
    for gap in (40.0, 1e3, 1e6, 1e9):
        w = np.array([0.2, 0.3, 0.5])
        m = mixture(gap * np.array([[-1.0], [0.0], [1.0]]), [[0.01], [1.0], [0.3]], w)
        each = 0.5 * np.log(2 * np.pi * np.e * np.array([0.01, 1.0, 0.3]) ** 2)
        expected = w @ each + st.entropy(w)
        assert m.entropy()[0] == pytest.approx(expected, abs=1e-10), gap
        assert m.entropy("epistemic")[0] == pytest.approx(st.entropy(w), abs=1e-10)


@pytest.mark.parametrize("size", [1e-150, 1e-12, 1e12, 1e150])
def test_entropy_of_a_mixture_moves_with_the_scale(size):
    location, scale = CASES["alike"]
    plain = mixture(location, scale).entropy()
    np.testing.assert_allclose(
        mixture(size * location, size * scale).entropy(), plain + np.log(size), rtol=1e-12
    )
    np.testing.assert_allclose(mixture(location + 1e3, scale).entropy(), plain, rtol=1e-10)
    np.testing.assert_allclose(mixture(-location, scale).entropy(), plain, rtol=1e-10)


def test_log_density_of_a_mixture_is_exact_far_out():
    location, scale, w = np.array([0.0, 1.0]), np.array([1.0, 2.0]), np.array([0.3, 0.7])
    y = np.array([-1e8, -300.0, 0.0, 80.0, 1e6])
    expected = logsumexp(st.norm.logpdf(y[:, None], location, scale) + np.log(w), axis=1)
    m = mixture(np.tile(location[:, None], 5), np.tile(scale[:, None], 5), w)
    np.testing.assert_allclose(m.log_likelihood(y), expected, rtol=1e-13)
    one = as_normal(np.zeros(5), np.full(5, 1e-3), 5, "m").log_likelihood(y)
    np.testing.assert_allclose(one, st.norm(0, 1e-3).logpdf(y), rtol=1e-13)


@pytest.mark.parametrize(
    ("case", "p"), list(zip(CASES, [1e-10, 0.03, 0.5, 0.9, 1 - 1e-6, 0.5], strict=True))
)
def test_quantiles_of_a_mixture_have_the_probability_that_was_asked_for(case, p):
    location, scale = CASES[case]
    w = np.random.default_rng(9).dirichlet(np.ones(len(location)))
    x = mixture(location, scale, w).quantile(p)
    below = (w[:, None] * st.norm.cdf(x, location, scale)).sum(axis=0)
    at = (w[:, None] * st.norm.pdf(x, location, scale)).sum(axis=0)
    # The limit of floating-point precision: an ulp of x times the density is the error in p.
    np.testing.assert_allclose(below, p, rtol=1e-11, atol=float((8e-16 * np.abs(x) * at).max()))


def test_a_quantile_between_two_far_components_lies_where_their_tails_balance():
    # P(left > x) = P(right < x) at the same number of deviations from both: (x + 5) / 1 = (50 - x) / 3.
    assert mixture([[-5.0], [50.0]], [[1.0], [3.0]]).quantile(0.5)[0] == pytest.approx(
        8.75, rel=1e-12
    )
    assert mixture([[-50.0], [50.0]], [[1.0], [1.0]]).quantile(0.5)[0] == pytest.approx(
        0, abs=1e-12
    )
    assert mixture([[2.0], [2.0]], [[3.0], [3.0]]).quantile(0.2)[0] == pytest.approx(
        st.norm.ppf(0.2, 2, 3), rel=1e-14
    )


def test_variance_of_a_mixture_is_that_of_its_moments():
    location, scale = CASES["alike"]
    w = np.random.default_rng(10).dirichlet(np.ones(10))
    m = mixture(location, scale, w)
    second = w @ (location**2 + scale**2)
    np.testing.assert_allclose(m.variance(), second - (w @ location) ** 2, rtol=1e-12)
    np.testing.assert_allclose(
        m.variance("aleatoric") + m.variance("epistemic"), m.variance(), rtol=1e-14
    )
    np.testing.assert_allclose(m.variance("aleatoric"), w @ scale**2, rtol=1e-14)


# ------------------------------------------------------- SciPy's distributions, and mixtures of kinds

N = 4
ONE = np.ones(N)
FROZEN = {
    "gamma": st.gamma(np.array([0.7, 1.0, 2.0, 9.0]), scale=2 * ONE),
    "t": st.t(3 * ONE, loc=np.arange(4.0)),
    "lognormal": st.lognorm(np.array([0.1, 0.5, 1.0, 2.0])),
    "laplace": st.laplace(np.arange(4.0), 0.5),
    "poisson": st.poisson(np.array([0.1, 1.0, 5.0, 60.0])),
    "binomial": st.binom(9, np.array([0.1, 0.5, 0.9, 0.99])),
}
if hasattr(
    st, "Binomial"
):  # SciPy's new distributions: two of them since 1.15, Binomial since 1.16
    FROZEN |= {
        "new": st.Normal(mu=np.arange(4.0), sigma=np.array([0.1, 1.0, 2.0, 3.0])),
        "uniform": st.Uniform(a=np.zeros(4), b=np.array([1.0, 2.0, 3.0, 4.0])),
        "counts": st.Binomial(n=np.full(4, 7), p=np.array([0.1, 0.4, 0.5, 0.9])),
    }


@pytest.mark.parametrize("name", FROZEN)
def test_distributions_of_scipy_speak_for_themselves(name):
    d = FROZEN[name]
    X, new = np.zeros((N, 1)), hasattr(d, "icdf")
    y = np.full(N, 1.0) if name in ("poisson", "binomial", "counts") else np.full(N, 0.7)
    log = d.logpmf if name in ("poisson", "binomial", "counts") else d.logpdf
    np.testing.assert_allclose(sd.entropy(lambda X: d).at(X), d.entropy(), rtol=1e-12)
    np.testing.assert_allclose(sd.nll(lambda X: d).at(X, y), -log(y), rtol=1e-12)
    variance, quantile = (d.variance(), d.icdf(0.3)) if new else (d.var(), d.ppf(0.3))
    np.testing.assert_allclose(sd.predictive_variance(lambda X: d).at(X), variance, rtol=1e-12)
    np.testing.assert_allclose(sd.predictive_quantile(lambda X: d, 0.3).at(X), quantile, rtol=1e-12)


def of(d):
    return as_distribution(d, N, "m")


MIXED = {
    "smooth": [of(st.gamma(2 * ONE)), of(st.gamma(5 * ONE, scale=2.0))],
    "tails": [of(st.t(3 * ONE)), of(st.t(3 * ONE, loc=4.0))],
    "kink": [of(st.laplace(0 * ONE)), as_normal(ONE, ONE, N, "m")],
    "ends": [of(st.gamma(2 * ONE)), as_normal(0 * ONE, ONE, N, "m")],
    "steep": [of(st.gamma(0.5 * ONE)), of(st.gamma(5 * ONE, scale=2.0))],
    "scales": [of(st.gamma(2 * ONE, scale=1e-3)), of(st.gamma(2 * ONE))],
}


@pytest.mark.parametrize("case", [*MIXED][:4])
def test_entropy_of_any_mixture_is_that_of_quadrature_within_its_stated_error(case):
    parts, w = MIXED[case], np.array([0.4, 0.6])
    m = mixture_of(list(zip(parts, w.tolist(), strict=True)), "m")

    def integrand(t):
        # With x = t |t|, a density that is infinite at 0 becomes finite there.
        log = m.log_density(np.full(N, t * abs(t)))[0]
        return -np.exp(log) * log * 2 * abs(t) if np.isfinite(log) else 0.0

    scores = (-8.2, -6, -4, -2, -1, -0.3, 0, 0.3, 1, 2, 4, 6, 8.2)
    cuts = np.unique([*(p.quantile_at_score(z)[0] for p in parts for z in scores), 0.0])
    cuts = np.sign(cuts) * np.sqrt(np.abs(cuts))
    expected = sum(
        quad(integrand, a, b, epsabs=1e-12, epsrel=1e-10, limit=300)[0] for a, b in pairwise(cuts)
    )
    assert m.entropy()[0] == pytest.approx(expected, abs=max(2e-9, 2 * m.entropy_error()[0]))
    assert m.entropy_error()[0] < 1e-8
    within = w @ [p.entropy()[0] for p in parts]
    assert m.entropy("aleatoric")[0] == pytest.approx(within, rel=1e-12)
    assert m.entropy("epistemic")[0] == pytest.approx(expected - within, abs=2e-5)


@pytest.mark.parametrize(
    ("case", "p"), list(zip(MIXED, [1e-6, 0.2, 0.5, 0.97, 0.2, 0.97], strict=True))
)
def test_quantiles_of_any_mixture(case, p):
    m = mixture_of([(d, 0.5) for d in MIXED[case]], "m")
    below, above = m.tail_probabilities(m.quantile(p))
    np.testing.assert_allclose(below, p, rtol=1e-9)
    np.testing.assert_allclose(below + above, 1, rtol=1e-12)
    np.testing.assert_allclose(m.tail_probabilities(m.upper_quantile(p))[1], p, rtol=1e-9)


def test_mixtures_of_counts_are_summed():
    k = np.arange(200)
    a, b = st.poisson(3.0), st.binom(40, 0.5)
    pmf = 0.25 * a.pmf(k) + 0.75 * b.pmf(k)
    m = mixture_of([(of(st.poisson(3 * ONE)), 0.25), (of(st.binom(40, 0.5 * ONE)), 0.75)], "m")
    np.testing.assert_allclose(m.entropy(), st.entropy(pmf), rtol=1e-12)
    np.testing.assert_allclose(m.log_likelihood(np.full(N, 5.0)), np.log(pmf[5]), rtol=1e-12)
    for p in (1e-9, 0.1, 0.5, 0.99):
        np.testing.assert_array_equal(m.quantile(p), np.searchsorted(np.cumsum(pmf), p))
    mean = pmf @ k
    np.testing.assert_allclose(m.variance(), pmf @ (k - mean) ** 2, rtol=1e-12)


def test_a_mixture_of_mixtures_is_one_mixture():
    location, scale = CASES["alike"]
    a, b = mixture(location[:4], scale[:4]), mixture(location[4:], scale[4:])
    nested = mixture_of([(a, 0.25), (b, 0.75)], "m")
    flat = mixture(location, scale, np.r_[np.full(4, 0.0625), np.full(6, 0.125)])
    np.testing.assert_allclose(nested.entropy(), flat.entropy(), rtol=1e-13)
    np.testing.assert_allclose(nested.quantile(0.1), flat.quantile(0.1), rtol=1e-13)
