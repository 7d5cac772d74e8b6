"""torch modules: values, slopes by autograd, mixed derivatives; modules that are not functions of single rows."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from tests.helpers import refused

torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn
pytestmark = pytest.mark.torch

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


def test_slopes_of_a_network_are_differences_of_its_values():
    net = network().double()
    q = sd.prediction(net)
    found = q.slopes(X)
    for j in range(3):
        step = np.eye(3)[j] * 1e-5
        np.testing.assert_allclose(found[:, j], (q.at(X + step) - q.at(X - step)) / 2e-5, atol=1e-9)


def test_single_precision_is_the_modules_and_statistics_are_double():
    net = network()
    q = sd.prediction(net)
    np.testing.assert_allclose(q.slopes(X), per_row(net), atol=1e-6)
    assert q.at(X).dtype == q.slopes(X).dtype == np.float64
    with torch.no_grad():
        own = net(torch.tensor(X, dtype=torch.float32))[:, 0].numpy()
    np.testing.assert_allclose(q.at(X), own, rtol=1e-5, atol=1e-6)


def test_half_precision_is_the_modules_own_type():
    net = network().bfloat16()
    with torch.no_grad():
        own = net(torch.tensor(X, dtype=torch.bfloat16))[:, 0].float().numpy()
    np.testing.assert_allclose(sd.prediction(net).at(X), own, atol=0.02)


def test_a_module_costs_one_pass_for_the_slopes_of_all_features():
    p = sd.explain(network(), X).provenance
    assert (p["slope_rows"], p["slope_calls"], p["model_rows"]) == (300, 1, 0)


def test_every_row_is_answered_where_parts_do_not_divide_them(monkeypatch):
    net = network().double()
    q = sd.prediction(net)
    whole, slopes, mixed = q.at(X), q.slopes(X), q.mixed(X, 0, 1)
    for rows in (2, 7, 299):
        monkeypatch.setattr("skedasis.models.adapters.ROWS_PER_PASS", rows)
        np.testing.assert_allclose(q.at(X), whole, rtol=1e-12)
        np.testing.assert_allclose(q.slopes(X), slopes, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(q.mixed(X, 0, 1), mixed, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(q.at(X[:1]), whole[:1], rtol=1e-12)


def test_ale_and_pdp_are_those_of_the_module_in_a_function():
    net = network().double()
    for method in (sd.ALE(), sd.PDP(), sd.ICE()):
        ours = sd.explain(net, X, 0, method=method)
        theirs = sd.explain(
            lambda X: net(torch.tensor(X)).detach().numpy()[:, 0], X, 0, method=method
        )
        np.testing.assert_allclose(ours.value, theirs.value, atol=1e-12)


def test_frames_and_whole_numbers_are_converted():
    net = network().double()
    whole = np.round(X * 3).astype(np.int64)
    frame = pd.DataFrame(whole, columns=list("abc")).astype({"a": "Int64", "b": "float32"})
    np.testing.assert_array_equal(
        sd.prediction(net).at(frame), sd.prediction(net).at(whole.astype(float))
    )
    np.testing.assert_allclose(
        sd.explain(net, frame, "b", method="dale").bins.effect,
        sd.explain(net, whole.astype(float), 1, method="dale").bins.effect,
    )


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


def test_all_outputs_share_forward_passes():
    net = network(4).double()
    passes = []
    net.register_forward_hook(lambda *_: passes.append(torch.is_grad_enabled()))
    q = sd.prediction(net, output=["a", "b", "c", "d"])
    sd.explain(q, X, method="rhale")
    together = sum(passes)
    passes.clear()
    for k in range(4):
        sd.explain(sd.prediction(net, output=k), X, method="rhale")
    # Passes besides the slopes themselves: one checks that rows are independent, one per output that slopes exist.
    assert (together, sum(passes)) == (1 + 1 + 4, 4 * (1 + 1 + 1))


def test_curves_of_slopes_of_all_outputs(monkeypatch):
    """Slopes are right when an output requests several batches before the next output."""
    net = network(3).double()
    monkeypatch.setattr("skedasis.quantities.base.CALL_ROWS", 400)
    method = sd.PDP(grid=4, derivative=True)
    every = sd.explain(sd.prediction(net, output="all"), X, method=method)
    for k in range(3):
        one = sd.explain(sd.prediction(net, output=k), X, method=method)
        for name in one:
            np.testing.assert_allclose(every[k][name].value, one[name].value, atol=1e-12)


def test_outputs_that_ask_out_of_turn_get_their_own_slopes():
    net = network(3).double()
    q = sd.prediction(net, output="all")
    parts = q.outputs(sd.prediction(net, output=0).prepare(_source(X)))
    slopes = [per_row(net, k) for k in range(3)]
    for k, rows in ((0, X), (0, X + 1), (1, X), (2, X + 1), (2, X), (1, X + 1), (0, X)):
        np.testing.assert_allclose(
            parts[k].slopes(rows), slopes[k] if rows is X else per_row(net, k, rows), atol=1e-12
        )


def _source(X):
    from skedasis.data.dataset import as_dataset

    return as_dataset(X)


def test_several_outputs_want_one_named():
    with refused(sd.ModelOutputError, "(64, 3)", "sd.prediction(model, output=0)"):
        sd.explain(network(3), X)


# ------------------------------------------------------------------------------ pair effects


def test_dale_of_a_pair_is_the_products_second_order_effect():
    """The mixed derivative of x0 * x1 is 1 everywhere: accumulated, it is the product of the centred axes."""
    s = sd.explain(double(lambda x: x[:, 0] * x[:, 1]), X, (0, 1), method=sd.DALE(8))
    a, b = s.x
    by_difference = np.diff(np.diff(s.value, axis=0), axis=1)
    np.testing.assert_allclose(by_difference, np.outer(np.diff(a), np.diff(b)), atol=1e-10)
    assert s.provenance["slope_rows"] == 600
    assert s.provenance["model_rows"] == 0


def test_mixed_derivatives_are_those_of_a_formula():
    q = sd.prediction(double(lambda x: torch.exp(x[:, 0] * x[:, 1]) + x[:, 2] ** 3))
    by_hand = np.exp(X[:, 0] * X[:, 1]) * (1 + X[:, 0] * X[:, 1])
    np.testing.assert_allclose(q.mixed(X, 0, 1), by_hand, rtol=1e-12)
    np.testing.assert_allclose(q.mixed(X, 1, 0), by_hand, rtol=1e-12)
    np.testing.assert_array_equal(q.mixed(X, 0, 2), 0)
    np.testing.assert_allclose(q.mixed(X, 2, 2), 6 * X[:, 2], atol=1e-12)


def test_additive_modules_have_no_second_order_effect():
    s = sd.explain(double(lambda x: x[:, 0].abs() + torch.sin(x[:, 1])), X, (0, 1), method="dale")
    np.testing.assert_allclose(s.value, 0, atol=1e-14)
    s = sd.explain(linear(), X, (0, 1), method="dale")
    np.testing.assert_allclose(s.value, 0, atol=1e-14)


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


def test_log_odds_of_a_logistic_module_have_constant_slopes():
    net = nn.Sequential(linear(), nn.Sigmoid())
    np.testing.assert_allclose(sd.logit(net).slopes(X), np.tile(W, (300, 1)), rtol=1e-9)


def test_scores_are_no_probabilities():
    with refused(sd.ModelOutputError, "Use sd.prediction for scores", "Softmax(dim=1)"):
        sd.explain(sd.probability(network(3), 0), X)


def test_losses_have_the_modules_slopes():
    net = network().double()
    y = X[:, 0] + 1
    q = sd.loss(net)
    f, slopes = sd.prediction(net).at(X), per_row(net)
    np.testing.assert_allclose(q.slopes(X, y), -2 * (y - f)[:, None] * slopes, atol=1e-12)
    e = sd.explain(q, X, 0, y=y)
    assert e.provenance["local_effects"] == "torch autograd, by the chain rule"


def test_a_slope_of_ones_own_wins():
    q = sd.prediction(network(), slope=lambda X: np.ones(X.shape))
    np.testing.assert_array_equal(q.slopes(X), 1)
    assert not q.has_mixed


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


def test_a_module_in_training_mode_that_changes_is_seen_to_change():
    net = trained()
    q = sd.prediction(net)
    first = q.at(X)
    with torch.no_grad():
        net[4].bias += 1
    np.testing.assert_allclose(q.at(X), first + 1, rtol=1e-5, atol=1e-5)
    net[4] = nn.Linear(8, 1)
    own = net.eval()(torch.tensor(X, dtype=torch.float32)).detach().numpy()[:, 0]
    net.train()
    np.testing.assert_allclose(q.at(X), own, atol=1e-6)


def test_a_module_that_cannot_be_copied_has_to_be_in_evaluation_mode():
    net = nn.Linear(3, 1)
    net.unlike = net.weight * 2  # torch cannot copy computed tensors
    with refused(sd.UnsupportedError, "training mode", "module.eval()"):
        sd.explain(net, X)
    net.eval()
    assert sd.explain(net, X, 0).provenance["local_effects"] == "torch autograd"


def test_inside_no_grad_and_inference_mode_there_are_slopes_all_the_same():
    net = network()
    for outside in (torch.no_grad(), torch.inference_mode()):
        with outside:
            slopes = sd.prediction(net).slopes(X)
        np.testing.assert_allclose(slopes, per_row(net), atol=1e-6)


def test_a_module_that_writes_to_its_input():
    net = nn.Sequential(nn.Tanh(), nn.Linear(3, 1)).double()
    inplace = nn.Sequential(Of(torch.tanh_), net[1])
    np.testing.assert_array_equal(sd.prediction(inplace).slopes(X), sd.prediction(net).slopes(X))
    np.testing.assert_array_equal(sd.prediction(inplace).at(X), sd.prediction(net).at(X))


def test_a_module_that_squeezes_takes_a_single_row():
    net = nn.Sequential(network(), Of(torch.squeeze))
    assert sd.prediction(net).at(X[:1]).shape == (1,)
    sd.explain(net, X, method="ale")


def test_quantities_of_modules_travel():
    q = sd.prediction(network())
    values, slopes = q.at(X), q.slopes(X)
    other = pickle.loads(pickle.dumps(q))
    np.testing.assert_array_equal(other.at(X), values)
    np.testing.assert_array_equal(other.slopes(X), slopes)


def test_two_threads_at_once():
    net = trained()
    q = sd.prediction(net)
    rows = [X + k for k in range(8)]
    wanted = [(sd.prediction(net).at(r), sd.prediction(net).slopes(r)) for r in rows]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda r: (q.at(r), q.slopes(r)), rows))
    for (at, slopes), (at2, slopes2) in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(at, at2)
        np.testing.assert_array_equal(slopes, slopes2)
    one = sd.explain(q, X, 0, memory="20KB")
    two = sd.explain(q, X, 0, memory="20KB", n_jobs=2)
    np.testing.assert_array_equal(one.value, two.value)


# ------------------------------------------------------------------ other forms of modules


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("form", ["compiled", "scripted", "exported", "scripted in training"])
def test_forms_of_modules_agree_with_the_module(form):
    net = network().double()
    wanted = sd.prediction(net)
    if form == "compiled":
        other = torch.compile(net, backend="aot_eager")
    elif form == "exported":
        sizes = ({0: torch.export.Dim("rows")},)
        other = torch.export.export(net, (torch.tensor(X),), dynamic_shapes=sizes).module()
    else:
        other = torch.jit.script(net if "training" in form else net.eval())
    q = sd.prediction(other)
    np.testing.assert_allclose(q.at(X), wanted.at(X), atol=1e-12)
    np.testing.assert_allclose(q.slopes(X), wanted.slopes(X), atol=1e-12)
    np.testing.assert_allclose(q.mixed(X, 0, 1), wanted.mixed(X, 0, 1), atol=1e-12)


def test_where_memory_ends_parts_become_smaller():
    net = network().double()
    seen = []

    def hungry(x):
        seen.append(len(x))
        if len(x) > 40:
            raise torch.OutOfMemoryError("out of memory")
        return net(x)

    q = sd.prediction(double(hungry))
    np.testing.assert_allclose(q.at(X), sd.prediction(net).at(X), atol=1e-12)
    seen.clear()
    np.testing.assert_allclose(q.slopes(X), sd.prediction(net).slopes(X), atol=1e-12)
    assert max(seen) <= 40
    with pytest.raises(torch.OutOfMemoryError):
        sd.prediction(double(lambda x: hungry(x.repeat(50, 1)))).at(X)


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


def test_slopes_that_are_not_finite_are_refused():
    whole = np.abs(X)
    whole[0, 0] = 0
    with refused(sd.ModelOutputError, "slope of 'x0'", "NaN or infinity"):
        sd.explain(double(lambda x: torch.sqrt(x[:, 0])), whole, 0)


# ------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[:, 0] - x[:, 0].mean(),
        lambda x: x[:, 0] / x[:, 1].std(),
        lambda x: x[:, 0] - x[:, 0].detach().mean(),
        lambda x: x[:, 0] + 1e-6 * x[:, 1].sum(),
        lambda x: (torch.softmax(x @ x.T, dim=1) @ x)[:, 0],
        lambda x: torch.flip(x, [0])[:, 0],
        lambda x: torch.cumsum(x[:, 0], 0),
    ],
)
def test_a_module_whose_rows_see_each_other_is_refused(function):
    with refused(sd.ModelOutputError, "with the other rows of the call"):
        sd.explain(double(function), X)


def test_rows_that_see_each_other_less_than_rounding_shows_are_seen_by_slopes():
    with refused(sd.ModelOutputError, "whose slopes change", "with the other rows of the call"):
        sd.explain(Of(lambda x: x[:, 0] + 1e-5 * x[:, 1].sum()), X)


def test_batch_normalisation_without_statistics_is_refused():
    net = nn.Sequential(
        nn.Linear(3, 8), nn.BatchNorm1d(8, track_running_stats=False), nn.Linear(8, 1)
    )
    with refused(sd.ModelOutputError, "other rows of the call", "batch normalisation"):
        sd.explain(net, X)


def test_text_is_refused_by_its_column():
    rows = pd.DataFrame({"a": X[:, 0], "b": ["1"] * 300, "c": X[:, 2]})
    with refused(sd.DataError, "text", "column 'b'"):
        sd.explain(network(), rows, "a")
    with refused(sd.DataError, "column 'x1'"):
        sd.explain(network(), rows.to_numpy(dtype=object), 0)


def test_objects_that_are_numbers_are_taken():
    rows = X.astype(object)
    np.testing.assert_array_equal(
        sd.prediction(network().double()).at(rows).shape, sd.prediction(network()).at(X).shape
    )


def test_another_number_of_columns_is_torchs_error_with_our_note():
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied") as info:
        sd.explain(network(), X[:, :2])
    assert any("prediction(Sequential)" in note for note in info.value.__notes__)


def test_a_module_that_answers_with_nan_is_refused():
    with refused(sd.ModelOutputError, "NaN or infinity"):
        sd.explain(double(lambda x: torch.log(x[:, 0])), X)


@pytest.mark.parametrize("answer", [lambda x: (x[:, 0], x[:, 1]), lambda x: {"y": x[:, 0]}])
def test_a_module_that_answers_with_no_tensor_is_refused(answer):
    with refused(sd.ModelOutputError, "output of type", "one tensor"):
        sd.explain(double(answer), X)


@pytest.mark.parametrize("answer", [lambda x: x.sum(), lambda x: x[:3, 0], lambda x: x[:, 0][None]])
def test_a_module_that_answers_with_another_shape_is_refused(answer):
    with refused(sd.ModelOutputError, "output of shape", "Return one number for each row"):
        sd.explain(double(answer), X)


def test_the_class_of_a_module_is_no_module():
    with refused(sd.UnsupportedError, "class Linear"):
        sd.explain(nn.Linear, X)


def test_missing_values_are_torchs_to_bear():
    rows = X.copy()
    rows[::7, 0] = np.nan
    net = double(lambda x: torch.nan_to_num(x[:, 0]) * 2 + x[:, 1])
    e = sd.explain(net, rows, "x1")
    np.testing.assert_allclose(e.bins.effect, 1, atol=1e-12)
    assert sd.explain(net, rows, "x0").importance > 0


def test_more_rows_are_looked_at_when_there_are_more():
    """Two rows with a slope of zero are not enough evidence for a step function."""
    net = double(lambda x: torch.relu(x[:, 0]) + x[:, 1])
    q = sd.prediction(net)
    few = np.array([[-1.0, 0.0, 0.0], [-2.0, 1.0, 0.0]])
    q.at(few)
    assert sd.explain(q, X, 0).provenance["local_effects"] == "torch autograd"


def test_infinite_answers_are_refused():
    with refused(sd.ModelOutputError, "NaN or infinity"):
        sd.explain(double(lambda x: 1 / torch.relu(x[:, 0])), X)
