"""torch modules: Monte-Carlo dropout, and lists of networks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import skedasis as sd
from tests.helpers import refused

torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn
pytestmark = pytest.mark.slow

X = np.random.default_rng(0).normal(size=(60, 3))


@pytest.fixture(autouse=True)
def _alone():
    torch.set_num_threads(1)
    torch.manual_seed(0)


def network(out=3, p=0.3, kind=nn.Dropout):
    return nn.Sequential(nn.Linear(3, 16), nn.ReLU(), kind(p), nn.Linear(16, out))


def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def by_hand(net, seed, samples, layer=0):
    """Compute the samples' outputs by matrix products, with masks keyed by (seed, sample, layer, first call)."""
    w, b = (net[0].weight.detach().numpy(), net[0].bias.detach().numpy())
    v, c = (net[3].weight.detach().numpy(), net[3].bias.detach().numpy())
    p = net[2].p
    out = []
    for s in range(samples):
        keep = np.random.default_rng([seed, s, layer, 1]).random((1, 16)) >= p
        out.append((np.maximum(X @ w.T + b, 0) * keep / (1 - p)) @ v.T + c)
    return np.array(out)


def test_samples_are_thinned_networks():
    net = network()
    e = sd.ensemble(net, samples=5, output="logits", random_state=3)
    p = softmax(by_hand(net, 3, 5))
    np.testing.assert_allclose(e(X), p.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(
        sd.entropy(e, part="aleatoric").at(X),
        scipy.stats.entropy(p, axis=2).mean(axis=0),
        rtol=1e-4,
    )
    assert e.describe() == "ensemble of 5 dropout samples of Sequential"


@pytest.mark.parametrize("kind", [nn.Dropout, nn.AlphaDropout])
def test_masks_keep_the_mean_and_their_share(kind):
    """Test a single layer: Dropout keeps the mean; AlphaDropout keeps mean 0 and variance 1."""
    net = nn.Sequential(nn.Identity(), kind(0.4))
    wide = np.random.default_rng(1).normal(size=(3, 4000))
    member = sd.ensemble(net, samples=2, output="values", noise=1.0).members.module
    out = member._forward(wide, 1).numpy()
    if kind is nn.Dropout:
        kept = out != 0
        assert kept.mean() == pytest.approx(0.6, abs=0.03)
        np.testing.assert_array_equal(kept, kept[:1].repeat(3, axis=0))
        np.testing.assert_allclose(out[kept], wide[kept] / 0.6, rtol=1e-6)
    else:
        assert out.mean() == pytest.approx(0, abs=0.05)
        assert out.var() == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("kind", [nn.Dropout1d, nn.Dropout2d])
def test_channels_are_dropped_whole(kind):
    shape = {nn.Dropout1d: (6, 4), nn.Dropout2d: (6, 2, 2)}[kind]

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = kind(0.5)

        def forward(self, x):
            return self.drop(x.reshape(len(x), *shape)).reshape(len(x), 6, -1)

    member = sd.ensemble(Net(), samples=2, output="values", noise=1.0).members.module
    out = member._forward(np.ones((5, 24)), 0).numpy()
    assert {0.0, 2.0} == set(out.ravel().tolist())
    np.testing.assert_array_equal(out, np.broadcast_to(out[:1, :, :1], out.shape))


def test_no_result_depends_on_its_batch(monkeypatch):
    for q in (
        sd.entropy(sd.ensemble(network(), samples=8, output="logits"), part="epistemic"),
        sd.entropy(sd.ensemble(network(1).double(), samples=8, output="values", noise=0.3)),
    ):
        whole = q.at(X)
        monkeypatch.setattr("skedasis.quantities.base.CALL_ROWS", 7)
        np.testing.assert_allclose(q.at(X), whole, rtol=1e-5, atol=1e-7)
        monkeypatch.undo()
        monkeypatch.setattr("skedasis.distributions.torch_ensembles._ROWS", 11)
        np.testing.assert_allclose(q.at(X), whole, rtol=1e-5, atol=1e-7)
        monkeypatch.undo()


def test_the_module_stays_exactly_as_it_was():
    net = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 2))
    net.train()
    net[2].eval()
    state = {k: v.clone() for k, v in net.state_dict().items()}
    modes = [m.training for m in net.modules()]
    before = torch.random.get_rng_state()
    sd.entropy(sd.ensemble(net, samples=3, output="logits")).at(X)
    assert [m.training for m in net.modules()] == modes
    assert all(torch.equal(state[k], v) for k, v in net.state_dict().items())
    assert all(not m._forward_hooks for m in net.modules())
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(p.grad is None for p in net.parameters())


def test_what_a_module_returns():
    one = network(1)
    z = by_hand(one, 0, 6)
    p = 1 / (1 + np.exp(-z[:, :, 0]))
    two = sd.ensemble(one, samples=6, output="logits")
    np.testing.assert_allclose(two(X)[:, 1], p.mean(axis=0), rtol=1e-4)
    sigmoid = nn.Sequential(*one, nn.Sigmoid())
    np.testing.assert_allclose(
        sd.ensemble(sigmoid, samples=6, output="probabilities")(X), two(X), atol=1e-6
    )
    values = sd.ensemble(one, samples=6, output="values", noise=0.5)
    np.testing.assert_allclose(
        sd.predictive_variance(values).at(X), z[:, :, 0].var(axis=0) + 0.25, rtol=1e-4
    )

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = network(2)

        def forward(self, x):
            out = self.body(x)
            return out[:, 0], out[:, 1].exp()

    pair = sd.ensemble(Both(), samples=6, output="values")
    assert np.isfinite(sd.nll(pair).at(X, X[:, 0])).all()
    assert np.isfinite(sd.predictive_quantile(pair, 0.1).at(X)).all()


def test_lists_of_modules_are_deep_ensembles():
    nets = [network() for _ in range(3)]
    e = sd.ensemble(nets, output="logits")
    with torch.no_grad():
        p = [torch.softmax(n.eval()(torch.tensor(X).float()), 1).numpy() for n in nets]
    np.testing.assert_allclose(e(X), np.mean(p, axis=0), rtol=1e-5)
    assert sd.nll(e).at(X, np.zeros(60, dtype=int)).shape == (60,)
    with refused(sd.UnsupportedError, "classifier"):
        sd.predictive_quantile(e, 0.5)


def test_modules_are_refused_with_what_helps():
    net = network()
    with refused(sd.UnsupportedError, "torch module", "sd.ensemble(module, samples=100"):
        sd.entropy(net)
    with refused(sd.DataError, "samples=100"):
        sd.ensemble(net, output="logits")
    with refused(sd.DataError, "'values', 'logits' or 'probabilities'"):
        sd.ensemble(net, samples=5)
    with refused(sd.UnsupportedError, "without dropout layers", "f(X, s)"):
        sd.ensemble(network(p=0.0), samples=5, output="logits")
    for strange in (nn.LSTM(3, 3, 2, dropout=0.5), nn.FeatureAlphaDropout(0.5)):
        with refused(sd.UnsupportedError, type(strange).__name__):
            sd.ensemble(nn.ModuleList([nn.Dropout(0.5), strange]), samples=5, output="logits")


def test_outputs_of_another_shape_are_refused():
    with refused(
        sd.ModelOutputError,
        "(60, 3)",
        "Set output= of sd.ensemble to what the module returns: 'values', 'logits' or 'probabilities'",
    ):
        sd.entropy(sd.ensemble(network(), samples=3, output="values", noise=1.0)).at(X)
    deep = nn.Sequential(nn.Dropout(0.5), nn.Unflatten(1, (3, 1)))
    with refused(sd.ModelOutputError, "(60, 3, 1)", "one number for each row and class"):
        sd.entropy(sd.ensemble(deep, samples=3, output="logits")).at(X)
    with refused(sd.ModelOutputError, "negative probabilities", "softmax"):
        sd.entropy(sd.ensemble(network(), samples=3, output="probabilities")).at(X)


def test_a_layer_that_is_met_twice_has_two_masks():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(0.5)

        def forward(self, x):
            return torch.stack([self.drop(x), self.drop(x)], dim=1)

    member = sd.ensemble(Twice(), samples=2, output="values", noise=1.0).members.module
    wide = np.ones((2, 200))
    first, second = (member._forward(wide, s).numpy() for s in (0, 1))
    assert (first[:, 0] != first[:, 1]).any()
    assert (first != second).any()
    np.testing.assert_array_equal(first, member._forward(wide, 0).numpy())
