"""A torch module wrapped in a function is explained like any other callable."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def network():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    for p in net.parameters():
        p.requires_grad_(False)
    return net


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(500, 3))


def values(net):
    import torch

    return lambda X: net(torch.as_tensor(X, dtype=torch.float32)).numpy()[:, 0]


def slopes(net):
    import torch

    def jac(X):
        t = torch.as_tensor(X, dtype=torch.float32).requires_grad_(True)
        return torch.autograd.grad(net(t).sum(), t)[0].numpy()

    return jac


def test_differences_of_a_float32_module_agree_with_its_own_derivatives(network, X):
    bins = sd.Uniform(8)
    exact = sd.explain(
        sd.prediction(values(network), slope=slopes(network)), X, method=sd.DALE(bins)
    )
    approximate = sd.explain(values(network), X, method=sd.DALE(bins))
    for name in exact:
        slope, other = exact[name].bins.effect, approximate[name].bins.effect
        # The error of central differences in float32 is about (machine epsilon)^(2/3) = 2.4e-5, for slopes near 1.
        np.testing.assert_allclose(other, slope, atol=2e-3)


def test_the_provenance_counts_the_passes_through_the_module(network, X):
    q = sd.prediction(values(network), slope=slopes(network))
    es = sd.explain(q, X, method=sd.RHALE())
    assert es.provenance["slope_rows"] == 500
    assert es.provenance["slope_calls"] == 1
    assert es.provenance["model_rows"] == 0


def test_a_bare_module_gives_what_it_gives_in_a_function(network, X):
    wrapped = sd.explain(sd.prediction(values(network), slope=slopes(network)), X)
    for name, e in sd.explain(network, X).items():
        np.testing.assert_allclose(e.value, wrapped[name].value, atol=1e-6)


def test_a_tensor_for_X_is_refused_with_the_way_to_convert_it(network, X):
    import torch

    with pytest.raises(sd.DataError, match=r"X\.detach\(\)\.cpu\(\)\.numpy\(\)"):
        sd.explain(values(network), torch.as_tensor(X))


def test_dropout_that_is_left_on_is_refused(X):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    net = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Dropout(0.5), torch.nn.Linear(16, 1))
    net.requires_grad_(False)
    with pytest.raises(sd.ModelOutputError, match="two different responses"):
        sd.explain(values(net), X)
