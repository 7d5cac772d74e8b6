"""`sd.prediction(inverse=...)`: effects of a function of the prediction."""

from functools import partial

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor

import skedasis as sd
from skedasis.quantities.inverse import KNOWN, as_inverse, differentiate
from tests.helpers import paired, refused

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(400, 3))
LOG_PRICE = X[:, 0] + 0.5 * X[:, 0] * X[:, 1] - X[:, 1] ** 2 + 0.1 * rng.normal(size=400)
LINEAR = LinearRegression().fit(X, LOG_PRICE)
SMOOTH = MLPRegressor(
    hidden_layer_sizes=(8,), activation="tanh", random_state=0, max_iter=2000
).fit(X, LOG_PRICE)
TREES = HistGradientBoostingRegressor(max_iter=20).fit(X, LOG_PRICE)


def cube_and_more(v):
    return v**3 + v


def own_sinh(v):
    return (np.exp(v) - np.exp(-v)) / 2


def own_exp(v):
    return np.e**v


# ------------------------------------------------------------------------- the same as a callable
@pytest.mark.parametrize(
    ("method", "inverse", "function"),
    paired(
        [sd.ALE(), sd.PDP(), sd.RHALE(bins=6), sd.MPlot()],
        ["exp", np.square, (cube_and_more, lambda v: 3 * v**2 + 1)],
        [np.exp, np.square, cube_and_more],
    ),
)
def test_effects_are_those_of_the_transformed_function(method, inverse, function):
    q = sd.prediction(LINEAR.predict, inverse=inverse)
    transformed = sd.explain(q, X, 0, method=method)
    plain = sd.explain(lambda X: function(LINEAR.predict(X)), X, 0, method=method)
    np.testing.assert_array_equal(transformed.value, plain.value)
    np.testing.assert_array_equal(transformed.heterogeneity, plain.heterogeneity)
    for key in ("effect_rows", "slope_rows", "score_rows"):
        assert transformed.provenance[key] == plain.provenance[key]


def test_the_effect_of_prices_is_not_the_exp_of_the_effect_on_log_prices():
    # f = log(a) + x0 + x1 with x0, x1 in {0, 1}: prices a·exp(x0 + x1).
    grid = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    of_log = sd.explain(lambda X: X.sum(axis=1), grid, 0, method=sd.PDP(grid=[0.0, 1.0]))
    of_price = sd.explain(
        sd.prediction(lambda X: X.sum(axis=1), inverse="exp"),
        grid,
        0,
        method=sd.PDP(grid=[0.0, 1.0]),
    )
    rise = (np.e - 1) * (1 + np.e) / 2  # mean over x1 of exp(1 + x1) - exp(x1)
    assert np.diff(of_price.value)[0] == pytest.approx(rise, rel=1e-12)
    assert np.diff(np.exp(of_log.value))[0] != pytest.approx(rise, rel=0.01)


# ------------------------------------------------------------------------------------- slopes
def gradient(x):
    """Return the derivatives of x0 + x0·x1 - x1² in closed form."""
    return np.stack([1 + x[:, 1], x[:, 0] - 2 * x[:, 1], np.zeros(len(x))], axis=1)


def value(x):
    return x[:, 0] + x[:, 0] * x[:, 1] - x[:, 1] ** 2


def slopes_of(q):
    return np.asarray(q.slopes(X))


@pytest.mark.slow
@pytest.mark.parametrize("name", list(KNOWN))
def test_slopes_of_known_functions_are_those_of_autodiff(name):
    torch = pytest.importorskip("torch")
    known = {
        "exp10": lambda v: 10.0**v,
        "cube": lambda v: v**3,
        "cbrt": lambda v: v ** (1 / 3),
        "expit": torch.special.expit,
        "ndtr": torch.special.ndtr,
        "identity": lambda v: 1.0 * v,
    }
    g = known.get(name) or getattr(torch, name)
    v = np.linspace(0.1, 2.0, 20)
    t = torch.tensor(v, requires_grad=True)
    (first,) = torch.autograd.grad(g(t).sum(), t, create_graph=True)
    second = torch.zeros(20)
    if first.requires_grad:
        (second,) = torch.autograd.grad(first.sum(), t)
    inverse = as_inverse(name)
    np.testing.assert_allclose(inverse(v), g(t).detach().numpy(), rtol=1e-13)
    np.testing.assert_allclose(inverse.slope(v), first.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(inverse.curvature(v), second.numpy(), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "inverse", ["sinh", np.sinh, own_sinh, (np.sinh, np.cosh), partial(np.sinh)]
)
def test_slopes_by_the_chain_rule(inverse):
    q = sd.prediction(value, slope=gradient, inverse=inverse)
    expected = np.cosh(value(X))[:, None] * gradient(X)
    np.testing.assert_allclose(slopes_of(q), expected, rtol=1e-11, atol=1e-13)
    # DALE of one bin per row's neighbourhood: the mean slope of all rows.
    e = sd.explain(q, X, 0, method=sd.DALE(bins=1))
    assert e.bins.effect[0] == pytest.approx(expected[:, 0].mean(), rel=1e-10)
    assert "by the chain rule through" in str(q.derivative_info(e.about.feature).description)


@pytest.mark.parametrize("model", [LINEAR, SMOOTH])
def test_closed_forms_agree_with_differences(model):
    q = sd.prediction(model, inverse="exp")
    step = 1e-5
    for j in range(3):
        up, down = X.copy(), X.copy()
        up[:, j] += step
        down[:, j] -= step
        np.testing.assert_allclose(
            slopes_of(q)[:, j], (q.at(up) - q.at(down)) / (2 * step), rtol=1e-6, atol=1e-8
        )


@pytest.mark.parametrize("inverse", ["exp", own_exp, (np.exp, np.exp)])
def test_mixed_derivatives(inverse):
    q = sd.prediction(
        value,
        slope=gradient,
        mixed=lambda X, j, k: np.full(len(X), float(sorted((j, k)) == [0, 1])),
        inverse=inverse,
    )
    expected = np.exp(value(X)) * (gradient(X)[:, 0] * gradient(X)[:, 1] + 1.0)
    assert q.has_mixed
    np.testing.assert_allclose(q.mixed(X, 0, 1), expected, rtol=1e-8, atol=1e-8)
    s = sd.explain(q, X, (0, 1), method=sd.DALE(bins=4))
    by_slopes = sd.explain(
        sd.prediction(value, slope=gradient, inverse=inverse), X, (0, 1), method=sd.DALE(bins=4)
    )
    np.testing.assert_allclose(s.value, by_slopes.value, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_torch_modules_have_slopes_and_mixed_derivatives():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)
    ).double()
    q = sd.prediction(net, output=1, inverse="exp")
    e = sd.explain(q, X, 0, method=sd.DALE(bins=1))
    t = torch.tensor(X, requires_grad=True)
    (by_autodiff,) = torch.autograd.grad(torch.exp(net(t)[:, 1]).sum(), t)
    assert e.bins.effect[0] == pytest.approx(float(by_autodiff[:, 0].mean()), rel=1e-10)
    assert "chain rule through exp" in str(e.provenance)
    wrapped = torch.nn.Sequential(net, Exp(torch))
    pair = {"method": sd.DALE(bins=3)}
    s = sd.explain(q, X, (0, 1), **pair)
    of_wrapped = sd.explain(sd.prediction(wrapped, output=1), X, (0, 1), **pair)
    np.testing.assert_allclose(s.value, of_wrapped.value, rtol=1e-9, atol=1e-12)
    every = sd.explain(
        sd.prediction(net, output="all", inverse="exp"), X, 0, method=sd.DALE(bins=1)
    )
    np.testing.assert_array_equal(every[1].value, e.value)


def Exp(torch):
    class Layer(torch.nn.Module):
        def forward(self, x):
            return torch.exp(x)

    return Layer()


# -------------------------------------------------------------------------------------- trees
@pytest.mark.parametrize(
    ("method", "inverse"), paired([sd.ALE(), sd.PDP(), sd.RHALE(), sd.PFI()], ["exp", own_exp])
)
def test_trees_are_evaluated_before_the_inverse(method, inverse):
    q = sd.prediction(TREES, inverse=inverse)
    options = {"y": np.exp(LOG_PRICE)} if isinstance(method, sd.PFI) else {}
    q = sd.loss(q) if options else q
    found = [sd.explain(q, X, method=method, tree=t, **options) for t in ("force", "off")]
    assert "evaluated without calling the model" in found[0].provenance["trees"]
    for a, b in zip(
        *(f.values if options else [e.value for e in f.values()] for f in found), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(b).max())


# ------------------------------------------------------------------------ what a quantity can do


def test_a_piecewise_constant_inverse_has_no_slopes():
    q = sd.prediction(
        lambda X: 10 * X[:, 0], inverse=np.rint, slope=lambda X: np.tile([10.0, 0, 0], (len(X), 1))
    )
    e = sd.explain(q, X, 0)
    plain = sd.explain(lambda X: np.rint(10 * X[:, 0]), X, 0)
    np.testing.assert_allclose(e.value, plain.value, rtol=0.05, atol=0.2)
    assert q.stepped


# -------------------------------------------------------------------------------------- messages
@pytest.mark.parametrize(
    ("inverse", "parts"),
    [
        ("log10", ("prediction(inverse)", "'log10'", "'exp10'")),
        (3, ("prediction(inverse)", "got 3", "a name, a vectorised function")),
        ((np.exp, "exp"), ("a tuple of a function and its derivative",)),
    ],
)
def test_a_wrong_inverse_is_explained(inverse, parts):
    with refused(sd.DataError, *parts):
        sd.prediction(LINEAR, inverse=inverse)


@pytest.mark.parametrize(
    ("model", "inverse", "parts"),
    [
        (lambda X: 1000 + X[:, 0], "exp", ("NaN or infinity from inverse exp", "64 of 64", "999")),
        (lambda X: X[:, 0], np.sqrt, ("NaN or infinity from inverse sqrt", "between -")),
        (lambda X: X[:, 0], lambda v: v[:2], ("inverse", "shape (2,)", "one number for each")),
        (lambda X: np.stack([X[:, 0]] * 2, axis=1), "exp", ("(64, 2)", "output=")),
    ],
)
def test_values_that_are_not_finite_or_not_one_per_row_are_explained(model, inverse, parts):
    with refused(sd.ModelOutputError, *parts):
        sd.explain(sd.prediction(model, inverse=inverse), X, 0)


# -------------------------------------------------------------------------- numerical derivatives
@pytest.mark.parametrize(("scale", "offset"), [(1e-6, 0.0), (1.0, 3.0), (1e12, 3.0)])
def test_numerical_derivatives_do_not_depend_on_the_scale(scale, offset):
    v = scale * (offset + rng.uniform(0.1, 2, 50))
    got = differentiate(lambda v: np.sin(v / scale), v)
    np.testing.assert_allclose(got, np.cos(v / scale) / scale, rtol=1e-9, atol=1e-11 / scale)


def test_numerical_derivatives_depend_on_one_value_only():
    v = rng.normal(size=300)
    whole = differentiate(np.exp, v)
    np.testing.assert_array_equal(whole[17:18], differentiate(np.exp, v[17:18]))
    np.testing.assert_allclose(whole, np.exp(v), rtol=1e-12)


def test_numerical_derivatives_near_the_border_of_a_domain():
    v = np.array([1e-9, 1e-3, 1.0])
    np.testing.assert_allclose(differentiate(np.log, v), 1 / v, rtol=1e-10)
    np.testing.assert_allclose(differentiate(np.sqrt, v), 0.5 / np.sqrt(v), rtol=1e-10)


def test_numerical_derivatives_of_a_kinked_function():
    v = np.array([-3.0, -1e-3, 1e-3, 5.0, 9.999, 12.0])
    np.testing.assert_allclose(
        differentiate(lambda v: np.clip(v, 0, 10), v), [0, 0, 1, 1, 1, 0], atol=1e-12
    )


def test_jumps_of_trees_are_those_of_the_inverse():
    e = sd.explain(sd.prediction(TREES, inverse="exp"), X, 0, method=sd.PDP(grid="exact"))
    plain = sd.explain(TREES, X, 0, method=sd.PDP(grid="exact"))
    np.testing.assert_array_equal(e.x, plain.x)
    by_calls = sd.explain(lambda X: np.exp(TREES.predict(X)), X, 0, method=sd.PDP(grid=e.x))
    np.testing.assert_allclose(e.value, by_calls.value, rtol=1e-12)
