"""JAX functions: values, slopes and mixed derivatives of functions from `jax.jit`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import skedasis as sd
from tests.helpers import refused

jax = pytest.importorskip("jax", reason="jax is not installed")
jnp = jax.numpy
pytestmark = pytest.mark.slow

X = np.random.default_rng(0).normal(size=(300, 3))
W1 = np.random.default_rng(1).normal(size=(3, 8))
W2 = np.random.default_rng(2).normal(size=(8, 4))


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def smooth(x):
    return jnp.sin(x[:, 0]) * x[:, 1] ** 2 + x[:, 2]


def network(x):
    return jnp.tanh(x @ W1) @ W2


def network_slopes(k, X=X):
    """Return the slopes of one output of the network by the chain rule."""
    return ((1 - np.tanh(X @ W1) ** 2) * W2[:, k]) @ W1.T


def test_slopes_and_mixed_derivatives_are_those_by_hand():
    q = sd.prediction(jax.jit(smooth))
    by_hand = [np.cos(X[:, 0]) * X[:, 1] ** 2, 2 * np.sin(X[:, 0]) * X[:, 1], np.ones(len(X))]
    np.testing.assert_allclose(q.at(X), np.sin(X[:, 0]) * X[:, 1] ** 2 + X[:, 2], atol=1e-13)
    np.testing.assert_allclose(q.slopes(X), np.stack(by_hand, axis=1), atol=1e-13)
    np.testing.assert_allclose(q.mixed(X, 0, 1), 2 * np.cos(X[:, 0]) * X[:, 1], atol=1e-13)
    np.testing.assert_array_equal(q.mixed(X, 0, 2), 0)


def test_rhale_of_a_linear_function_is_exact_and_has_no_heterogeneity():
    w = np.array([2.0, -1.0, 0.5])
    es = sd.explain(jax.jit(lambda x: x @ w), X)
    for j, e in enumerate(es.values()):
        np.testing.assert_allclose(e.value - e.value[0], w[j] * (e.x - e.x[0]), atol=1e-12)
        assert e.heterogeneity_score == 0
        assert e.provenance["local_effects"] == "JAX autodiff"
    assert es.provenance["slope_calls"] == 1


def test_all_outputs_have_their_own_slopes():
    every = sd.explain(sd.prediction(jax.jit(network), output="all"), X, method=sd.DALE(4))
    for k in (0, 3, -1):
        np.testing.assert_allclose(
            sd.prediction(jax.jit(network), output=k).slopes(X), network_slopes(k), atol=1e-12
        )
    e = every[2]["x1"]
    home = np.searchsorted(e.x[1:-1], X[:, 1], side="right")
    means = [network_slopes(2)[home == b, 1].mean() for b in range(4)]
    np.testing.assert_allclose(e.bins.effect, means, atol=1e-12)


def test_a_function_is_traced_for_two_numbers_of_rows_only():
    traced = []

    def f(x):
        traced.append(len(x))
        return smooth(x)

    q = sd.prediction(jax.jit(f))
    sd.explain(q, X, method="ale")
    for n in (5, 64, 70, 299):
        q.at(X[:n])
    # Values and derivatives are each traced for few rows (64) and for many (2048).
    assert sorted(set(traced)) == [64, 2048]
    assert len(traced) <= 4


def test_probabilities_and_losses():
    q = sd.probability(jax.jit(lambda x: jax.nn.softmax(network(x))), 1)
    p = np.exp(network_np := np.tanh(X @ W1) @ W2)
    p /= p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(q.at(X), p[:, 1], atol=1e-13)
    all_slopes = np.stack([network_slopes(k) for k in range(4)], axis=1)
    inner = (p[:, :, None] * all_slopes).sum(axis=1)
    np.testing.assert_allclose(q.slopes(X), p[:, 1:2] * (all_slopes[:, 1] - inner), atol=1e-12)
    with refused(sd.ModelOutputError, "jax.nn.softmax"):
        sd.probability(jax.jit(network), 1).at(X)
    y = np.ones(len(X))
    found = sd.loss(sd.prediction(jax.jit(network), output=0)).slopes(X, y)
    apart = (y - network_np[:, 0])[:, None]
    np.testing.assert_allclose(found, -2 * apart * network_slopes(0), atol=1e-11)


def test_where_a_function_only_jumps_there_are_steps():
    es = sd.explain(jax.jit(lambda x: jnp.floor(2 * x[:, 0]) + x[:, 1]), X)
    assert "piecewise constant" in es["x0"].provenance["local_effects"]
    assert es["x1"].provenance["local_effects"] == "JAX autodiff"
    assert es["x0"].value[-1] - es["x0"].value[0] > 5


@pytest.mark.parametrize("kind", ["callback", "loop"])
def test_where_jax_finds_no_derivative_there_are_differences(kind):
    def callback(x):
        shape = jax.ShapeDtypeStruct((len(x),), x.dtype)
        return jax.pure_callback(lambda x: np.sin(np.asarray(x)[:, 0]), shape, x)

    def loop(x):
        return jax.lax.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, jnp.sin(s[1])), (0, x))[
            1
        ][:, 0]

    q = sd.prediction(jax.jit(callback if kind == "callback" else loop))
    e = sd.explain(q, X, 0, method=sd.DALE(5))
    home = np.searchsorted(e.x[1:-1], X[:, 0], side="right")
    means = [np.cos(X[home == b, 0]).mean() for b in range(5)]
    np.testing.assert_allclose(e.bins.effect, means, atol=1e-5)
    assert "no derivative was found" in q.derivative_info(_feature()).description


def _feature():
    from skedasis.data.dataset import as_dataset

    return as_dataset(X).features[0]


@pytest.mark.parametrize(
    "f",
    [lambda x: x[:, 0] - x[:, 0].mean(), lambda x: (jax.nn.softmax(x @ x.T) @ x)[:, 0]],
)
def test_a_function_whose_rows_see_each_other_is_refused(f):
    with refused(sd.ModelOutputError, "with the other rows of the call"):
        sd.explain(jax.jit(f), X)


def test_two_threads_at_once():
    q = sd.prediction(jax.jit(network), output=1)
    with jax.enable_x64(False):  # the context applies to its thread only
        wanted = [q.slopes(X + k) for k in range(6)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda k: q.slopes(X + k), range(6)))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)
