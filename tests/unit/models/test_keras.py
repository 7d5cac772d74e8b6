"""Keras 3 models on torch, JAX, and a back end without derivatives. A process can use only one back end."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import skedasis as sd
from tests.helpers import refused

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

X = np.random.default_rng(0).normal(size=(200, 3))


@pytest.fixture(scope="module")
def keras():
    if find_spec("keras") is None or find_spec("torch") is None:
        pytest.skip("keras or torch is not installed")
    os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras

    if keras.backend.backend() != "torch":
        pytest.skip("keras runs on another back end here")
    keras.utils.set_random_seed(0)
    return keras


def network(keras, outputs=1, activation=None, extra=()):
    layers = [keras.layers.Dense(8, "tanh"), *extra, keras.layers.Dense(outputs, activation)]
    return keras.Sequential([keras.Input((3,)), *layers])


def by_hand(model):
    """Return values and slopes of the first output by matrix products."""
    w, b, v, c = (np.asarray(a, float) for a in model.get_weights())
    h = np.tanh(X @ w + b)
    return (h @ v + c)[:, 0], ((1 - h**2) * v[:, 0]) @ w.T


def test_values_and_slopes_are_those_by_hand(keras):
    model = network(keras)
    values, slopes = by_hand(model)
    q = sd.prediction(model)
    np.testing.assert_allclose(q.at(X), values, atol=1e-5)
    np.testing.assert_allclose(q.slopes(X), slopes, atol=1e-5)
    e = sd.explain(model, X, 0)
    assert e.provenance["local_effects"] == "torch autograd (Keras)"
    assert e.provenance["quantity"] == "prediction(Sequential)"


def test_several_outputs_and_probabilities(keras):
    model = network(keras, 3, "softmax")
    p = model.predict(X, verbose=0)
    np.testing.assert_allclose(sd.probability(model, 2).at(X), p[:, 2], atol=1e-5)
    every = sd.explain(sd.prediction(model, output="all"), X, 0, method=sd.DALE(4))
    total = sum(every[k].bins.effect for k in range(3))
    np.testing.assert_allclose(total, 0, atol=1e-5)  # probabilities sum to 1


def test_a_model_that_is_not_built_is_refused(keras):
    with refused(sd.DataError, "not built", "Call it once"):
        sd.explain(keras.Sequential([keras.layers.Dense(1)]), X)


def test_several_inputs_are_refused(keras):
    a, b = keras.Input((1,)), keras.Input((2,))
    model = keras.Model([a, b], keras.layers.Dense(1)(keras.layers.Concatenate()([a, b])))
    with refused(sd.UnsupportedError, "2 inputs"):
        sd.explain(model, X)


_ELSEWHERE = """
import numpy as np, keras, skedasis as sd
assert keras.backend.backend() == {backend!r}
X = np.random.default_rng(0).normal(size=(200, 3))
keras.utils.set_random_seed(0)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(8, "tanh"),
    keras.layers.Dropout(0.5), keras.layers.BatchNormalization(), keras.layers.Dense(1)])
w, b, g, beta, v, c, mean, var = [np.asarray(a, float) for a in model.get_weights()]
names = [x.path for x in model.weights]
if names[4].endswith("moving_mean"):
    mean, var, v, c = [np.asarray(a, float) for a in model.get_weights()[4:]]
h = np.tanh(X @ w + b)
scale = g / np.sqrt(var + 1e-3)
values, slopes = ((h - mean) * scale + beta) @ v + c, ((1 - h**2) * scale * v[:, 0]) @ w.T
q = sd.prediction(model)
np.testing.assert_allclose(q.at(X), values[:, 0], atol=1e-5)
e = sd.explain(model, X, 0, method=sd.DALE(4))
said = e.provenance["local_effects"]
if {slopes}:
    np.testing.assert_allclose(q.slopes(X), slopes, atol=1e-5)
home = np.searchsorted(e.x[1:-1], X[:, 0], side="right")
means = [slopes[home == k, 0].mean() for k in range(4)]
np.testing.assert_allclose(e.bins.effect, means, atol=2e-3)
print(said)
"""


@pytest.mark.parametrize(
    ("backend", "said"), [("jax", "JAX autodiff (Keras)"), ("numpy", "central differences")]
)
def test_other_back_ends(backend, said):
    """NumPy represents TensorFlow, too: both back ends are evaluated by `predict` and have no slopes."""
    for needed in ("keras", backend):
        if find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    code = _ELSEWHERE.format(backend=backend, slopes=backend == "jax")
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == said
