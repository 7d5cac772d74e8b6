"""torch modules: values, slopes by autograd, mixed derivatives; modules that are not functions of single rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import skedasis as sd
from tests.helpers import refused

torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn
pytestmark = pytest.mark.slow

X = np.random.default_rng(0).normal(size=(300, 3))
W = np.array([2.0, -1.0, 0.5])


@pytest.fixture(autouse=True)
def _alone():
    torch.set_num_threads(1)
    torch.manual_seed(0)


class Of(nn.Module):
    """A module that applies a function to its input tensor."""

    def __init__(self, function, like=None):
        super().__init__()
        self.function = function
        if like is not None:
            self.register_buffer("like", torch.zeros(1, dtype=like))

    def forward(self, x):
        return self.function(x)


def double(function):
    return Of(function, torch.float64)


def network(outputs=1, kind=nn.Tanh):
    return nn.Sequential(nn.Linear(3, 16), kind(), nn.Linear(16, outputs))


def linear():
    net = nn.Linear(3, 1).double()
    with torch.no_grad():
        net.weight.copy_(torch.tensor(W)[None])
    return net


def per_row(net, output=0, X=X):
    """Return the slopes from torch's derivative of each row separately."""
    t = torch.tensor(X, dtype=next(net.parameters()).dtype)
    return torch.func.vmap(torch.func.grad(lambda row: net(row)[output]))(t).detach().numpy()


# --------------------------------------------------------------------------- values and slopes


def test_rhale_of_a_linear_module_is_exact_and_has_no_heterogeneity():
    es = sd.explain(linear(), X)
    for j, e in enumerate(es.values()):
        rises = e.value - e.value[0]
        np.testing.assert_allclose(rises, W[j] * (e.x - e.x[0]), atol=1e-12)
        assert e.heterogeneity_score == 0
        assert e.provenance["local_effects"] == "torch autograd"


def test_slopes_are_those_of_a_formula_by_hand():
    q = sd.prediction(double(lambda x: torch.sin(x[:, 0]) * x[:, 1] ** 2 + x[:, 2]))
    by_hand = [np.cos(X[:, 0]) * X[:, 1] ** 2, 2 * np.sin(X[:, 0]) * X[:, 1], np.ones(len(X))]
    np.testing.assert_allclose(q.slopes(X), np.stack(by_hand, axis=1), atol=1e-14)
    np.testing.assert_allclose(q.at(X), np.sin(X[:, 0]) * X[:, 1] ** 2 + X[:, 2], atol=1e-14)


def test_single_precision_is_the_modules_and_statistics_are_double():
    net = network()
    q = sd.prediction(net)
    np.testing.assert_allclose(q.slopes(X), per_row(net), atol=1e-6)
    assert q.at(X).dtype == q.slopes(X).dtype == np.float64
    with torch.no_grad():
        own = net(torch.tensor(X, dtype=torch.float32))[:, 0].numpy()
    np.testing.assert_allclose(q.at(X), own, rtol=1e-5, atol=1e-6)


def test_a_module_costs_one_pass_for_the_slopes_of_all_features():
    p = sd.explain(network(), X).provenance
    assert (p["slope_rows"], p["slope_calls"], p["effect_rows"]) == (300, 1, 0)


def test_ale_and_pdp_are_those_of_the_module_in_a_function():
    net = network().double()
    for method in (sd.ALE(), sd.PDP(), sd.ICE()):
        ours = sd.explain(net, X, 0, method=method)
        theirs = sd.explain(
            lambda X: net(torch.tensor(X)).detach().numpy()[:, 0], X, 0, method=method
        )
        np.testing.assert_allclose(ours.value, theirs.value, atol=1e-12)


# ----------------------------------------------------------------------- multi-output modules


def test_slopes_of_all_outputs_are_each_outputs_own():
    net = network(4).double()
    every = sd.explain(sd.prediction(net, output="all"), X, method=sd.DALE(5))
    for k in range(4):
        one = sd.explain(sd.prediction(net, output=k), X, method=sd.DALE(5))
        slopes = per_row(net, k)
        for j, name in enumerate(one):
            np.testing.assert_allclose(
                every[k][name].bins.effect, one[name].bins.effect, atol=1e-12
            )
            home = np.searchsorted(one[name].x[1:-1], X[:, j], side="right")
            means = [slopes[home == b, j].mean() for b in range(5)]
            np.testing.assert_allclose(one[name].bins.effect, means, atol=1e-12)


def _source(X):
    from skedasis.data.dataset import as_dataset

    return as_dataset(X)


# ------------------------------------------------------------------------------ pair effects


def test_dale_of_a_pair_is_the_products_second_order_effect():
    """The mixed derivative of x0 * x1 is 1 everywhere: accumulated, it is the product of the centred axes."""
    s = sd.explain(double(lambda x: x[:, 0] * x[:, 1]), X, (0, 1), method=sd.DALE(8))
    a, b = s.x
    by_difference = np.diff(np.diff(s.value, axis=0), axis=1)
    np.testing.assert_allclose(by_difference, np.outer(np.diff(a), np.diff(b)), atol=1e-10)
    assert s.provenance["slope_rows"] == 600
    assert s.provenance["effect_rows"] == 0


def test_mixed_derivatives_are_those_of_a_formula():
    q = sd.prediction(double(lambda x: torch.exp(x[:, 0] * x[:, 1]) + x[:, 2] ** 3))
    by_hand = np.exp(X[:, 0] * X[:, 1]) * (1 + X[:, 0] * X[:, 1])
    np.testing.assert_allclose(q.mixed(X, 0, 1), by_hand, rtol=1e-12)
    np.testing.assert_allclose(q.mixed(X, 1, 0), by_hand, rtol=1e-12)
    np.testing.assert_array_equal(q.mixed(X, 0, 2), 0)
    np.testing.assert_allclose(q.mixed(X, 2, 2), 6 * X[:, 2], atol=1e-12)


def test_a_piecewise_linear_module_is_refused_mixed_derivatives_of_zero():
    with refused(sd.UnsupportedError, "piecewise linear", "Use sd.ALE()"):
        sd.explain(network(kind=nn.ReLU), X, (0, 1), method="dale")


# ----------------------------------------------------------------- probabilities, losses, logits


def test_probabilities_and_their_log_odds():
    scores = network(3).double()
    net = nn.Sequential(scores, nn.Softmax(dim=-1))
    with torch.no_grad():
        p = net(torch.tensor(X)).numpy()[:, 1]
    q = sd.probability(net, 1)
    np.testing.assert_allclose(q.at(X), p, rtol=1e-12)
    np.testing.assert_allclose(q.slopes(X), per_row(net, 1), atol=1e-12)
    odds = sd.logit(net, 1)
    np.testing.assert_allclose(odds.at(X), np.log(p / (1 - p)), atol=1e-12)
    np.testing.assert_allclose(odds.slopes(X), per_row(net, 1) / (p * (1 - p))[:, None], atol=1e-9)
    s = sd.explain(odds, X, (0, 1), method=sd.DALE(4))
    assert s.provenance["slope_rows"] > 0


def test_losses_have_the_modules_slopes():
    net = network().double()
    y = X[:, 0] + 1
    q = sd.loss(net)
    f, slopes = sd.prediction(net).at(X), per_row(net)
    np.testing.assert_allclose(q.slopes(X, y), -2 * (y - f)[:, None] * slopes, atol=1e-12)
    e = sd.explain(q, X, 0, y=y)
    assert e.provenance["local_effects"] == "torch autograd, by the chain rule"


# ------------------------------------------------------------------- the module is not changed


def state(net):
    flags = [m.training for m in net.modules()]
    params = [(p.requires_grad, p.grad, p.detach().clone()) for p in net.parameters()]
    return flags, params, [b.clone() for b in net.buffers()]


def same(a, b):
    assert a[0] == b[0]
    for (req, grad, value), (req2, grad2, value2) in zip(a[1], b[1], strict=True):
        assert req == req2
        assert grad is grad2 is None
        assert torch.equal(value, value2)
    assert all(torch.equal(x, y) for x, y in zip(a[2], b[2], strict=True))


def trained():
    net = nn.Sequential(
        nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 1)
    )
    for _ in range(3):
        net(torch.randn(50, 3) + 1)
    net[0].bias.requires_grad_(False)
    return net


def test_a_module_in_training_mode_is_explained_in_evaluation_and_stays_as_it_was():
    net = trained()
    before = state(net)
    found = sd.explain(net, X, 0, method="dale").bins.effect
    values = sd.prediction(net).at(X)
    same(state(net), before)
    net.eval()
    np.testing.assert_array_equal(sd.prediction(net).at(X), values)
    np.testing.assert_array_equal(sd.explain(net, X, 0, method="dale").bins.effect, found)


def test_a_module_is_left_as_it_was_by_errors_too():
    net = trained()
    before = state(net)
    with pytest.raises(RuntimeError):
        sd.explain(net, X[:, :2])
    same(state(net), before)


def test_inside_no_grad_and_inference_mode_there_are_slopes_all_the_same():
    net = network()
    for outside in (torch.no_grad(), torch.inference_mode()):
        with outside:
            slopes = sd.prediction(net).slopes(X)
        np.testing.assert_allclose(slopes, per_row(net), atol=1e-6)


def test_quantities_of_modules_travel():
    q = sd.prediction(network())
    values, slopes = q.at(X), q.slopes(X)
    other = pickle.loads(pickle.dumps(q))
    np.testing.assert_array_equal(other.at(X), values)
    np.testing.assert_array_equal(other.slopes(X), slopes)


# ------------------------------------------------------------------ other forms of modules


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("form", ["compiled", "exported"])
def test_forms_of_modules_agree_with_the_module(form):
    net = network().double()
    wanted = sd.prediction(net)
    if form == "compiled":
        other = torch.compile(net, backend="aot_eager")
    else:
        sizes = ({0: torch.export.Dim("rows")},)
        other = torch.export.export(net, (torch.tensor(X),), dynamic_shapes=sizes).module()
    q = sd.prediction(other)
    np.testing.assert_allclose(q.at(X), wanted.at(X), atol=1e-12)
    np.testing.assert_allclose(q.slopes(X), wanted.slopes(X), atol=1e-12)
    np.testing.assert_allclose(q.mixed(X, 0, 1), wanted.mixed(X, 0, 1), atol=1e-12)


# --------------------------------------------------------------- modules without derivatives


def test_where_a_module_only_jumps_there_are_steps():
    net = double(lambda x: torch.floor(2 * x[:, 0]) + x[:, 1] ** 2)
    es = sd.explain(net, X)
    said = [e.provenance["local_effects"] for e in es.values()]
    assert "piecewise constant" in said[0]
    assert said[1:] == ["torch autograd"] * 2
    e = es["x0"]
    # The effect rises as much as the model does; derivatives of zero would give a flat effect.
    rise = np.floor(2 * X[:, 0].max()) - np.floor(2 * X[:, 0].min())
    assert e.value[-1] - e.value[0] == pytest.approx(rise, abs=1e-9)
    with refused(sd.UnsupportedError, "without derivatives"):
        sd.explain(net, X, 0, method="dale")


def test_where_torch_finds_no_derivative_there_are_differences():
    net = double(lambda x: torch.tensor(np.sin(x.detach().numpy()[:, 0])))
    q = sd.prediction(net)
    e = sd.explain(q, X, 0, method=sd.DALE(5))
    home = np.searchsorted(e.x[1:-1], X[:, 0], side="right")
    means = [np.cos(X[home == b, 0]).mean() for b in range(5)]
    np.testing.assert_allclose(e.bins.effect, means, atol=1e-6)
    feature = _source(X).features[0]
    assert "no derivative was found (RuntimeError" in q.derivative_info(feature).description


# ------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[:, 0] - x[:, 0].mean(),
        lambda x: x[:, 0] + 1e-6 * x[:, 1].sum(),
        lambda x: torch.flip(x, [0])[:, 0],
    ],
)
def test_a_module_whose_rows_see_each_other_is_refused(function):
    with refused(sd.ModelOutputError, "with the other rows of the call"):
        sd.explain(double(function), X)


def test_a_module_that_answers_with_no_tensor_or_another_shape_is_refused():
    with refused(sd.ModelOutputError, "output of type", "one tensor"):
        sd.explain(double(lambda x: (x[:, 0], x[:, 1])), X)
    with refused(sd.ModelOutputError, "output of shape", "Return one number for each row"):
        sd.explain(double(lambda x: x[:3, 0]), X)


def test_missing_values_are_torchs_to_bear():
    rows = X.copy()
    rows[::7, 0] = np.nan
    net = double(lambda x: torch.nan_to_num(x[:, 0]) * 2 + x[:, 1])
    e = sd.explain(net, rows, "x1")
    np.testing.assert_allclose(e.bins.effect, 1, atol=1e-12)
    assert sd.explain(net, rows, "x0").importance > 0
