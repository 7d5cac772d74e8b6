"""Closed-form slopes of models, compared with differences of high order and with derivatives written out by hand."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import VotingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    MultiTaskLasso,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR, NuSVR
from sklearn.tree import DecisionTreeRegressor

import skedasis as sd
from skedasis.derivatives import chain_rule, sklearn_models
from tests.helpers import table
from tests.reference.finite_difference_stencils import close, known, numerical

X = table(60)
Y = 2 * X[:, 0] - 0.3 * X[:, 1] + np.sin(3 * X[:, 2])
TWO = np.c_[Y, Y**2]
ROWS = table(40, seed=1)
COUNTS = np.exp(Y / 4)
WIDTHS = [1.0, 2.0, 0.7]


def fit(model: Any, y: np.ndarray = Y, X: np.ndarray = X) -> Any:
    """Fit without convergence warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def slopes(model: Any, rows: np.ndarray = ROWS, output: int | None = None) -> np.ndarray:
    """Return the slopes in closed form."""
    form = sklearn_models.prediction_derivative(model, output)
    assert form is not None
    assert all(known(form, rows.shape[1]))
    return form(rows)


def agree(model: Any, rows: np.ndarray = ROWS, output: int | None = None, at: float = 1e-8) -> None:
    """Assert that the slopes in closed form are those of `predict`."""

    def f(X: np.ndarray) -> np.ndarray:
        answer = model.predict(X)
        return answer if output is None else answer.reshape(len(X), -1)[:, output]

    close(slopes(model, rows, output), numerical(f, rows), at)


# ---------------------------------------------------------------------------- Gaussian processes

KERNELS = {
    "default": None,
    "rbf": RBF(1.3),
    "rbf, a width for each column": RBF(WIDTHS),
    "matern 1/2": Matern(WIDTHS, nu=0.5),
    "matern 0.7": Matern(1.5, nu=0.7),
    "matern 3/2": Matern(WIDTHS, nu=1.5),
    "matern 5/2": Matern(1.5, nu=2.5),
    "matern 3.2": Matern(WIDTHS, nu=3.2),
    "matern without end": Matern(WIDTHS, nu=np.inf),
    "rational quadratic": RationalQuadratic(1.4, alpha=0.6),
    "dot product": DotProduct(0.8),
    "its square": DotProduct(0.8) ** 2,
    "periodic": ExpSineSquared(1.5, periodicity=7.0),
    "scaled, with noise": ConstantKernel(2.5) * RBF(WIDTHS) + WhiteKernel(0.3),
    "noise alone": ConstantKernel(2.0) + WhiteKernel(0.3),
    "noise times another": WhiteKernel(0.3) * RBF(1.0) + RBF(2.0),
    "product": RBF(WIDTHS) * RationalQuadratic(2.0) * DotProduct(0.5),
    "nested": (RBF(WIDTHS) + ConstantKernel(0.2) * DotProduct(1.0)) ** 3,
}


def process(kernel: Any, alpha: float = 0.1, **options: Any) -> GaussianProcessRegressor:
    return GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None, **options)


@pytest.mark.many
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_gaussian_processes(name, normalize):
    alpha = 20.0 if name in ("periodic", "nested") else 0.1  # not positive definite; very large
    agree(fit(process(KERNELS[name], alpha, normalize_y=normalize)), at=1e-8)


def test_a_fitted_process_has_the_slopes_of_the_kernel_it_has_found():
    # Noise keeps the amplitudes small: large amplitudes that cancel leave predictions with few correct digits.
    noisy = Y + np.random.default_rng(5).normal(size=len(Y))
    model = GaussianProcessRegressor(ConstantKernel() * RBF([1.0] * 3) + WhiteKernel(0.1))
    model = fit(model, noisy)
    assert not np.allclose(model.kernel_.theta, model.kernel.theta)
    agree(model, at=1e-7)


@pytest.mark.parametrize("output", [0, 1, -1])
@pytest.mark.parametrize("normalize", [False, True])
def test_gaussian_processes_of_several_outputs(output, normalize):
    agree(fit(process(RBF(WIDTHS), normalize_y=normalize), TWO), output=output)


def test_a_process_of_one_row_by_hand():
    centre, target, row = np.array([[0.5, -1.0]]), np.array([3.0]), np.array([[1.0, 1.0]])
    model = process(RBF([2.0, 0.5]), alpha=1.0).fit(centre, target)
    # The weight is y / (k(c, c) + alpha) = 3 / 2; the kernel's slope -(x - c) / width² k(x, c).
    k = np.exp(-0.5 * ((0.5 / 2.0) ** 2 + (2.0 / 0.5) ** 2))
    expected = [[-1.5 * 0.5 / 4.0 * k, -1.5 * 2.0 / 0.25 * k]]
    np.testing.assert_allclose(slopes(model, row), expected, rtol=1e-13)


def test_kinks_of_matern_half_lie_at_rows_of_fit_and_have_the_mean_slope():
    model = process(Matern(1.0, nu=0.5), alpha=1e-3).fit(X[:, :1], np.abs(X[:, 0]))
    here, h = X[:, :1], 1e-7
    right, left = (
        (model.predict(here + d) - model.predict(here)) / d for d in (h, -h)
    )  # the slopes differ on the two sides: a kink
    assert np.abs(right - left).min() > 1e-4
    close(slopes(model, here), ((right + left) / 2)[:, None], 1e-4)


def test_an_offset_costs_no_digits():
    # Powers of two: the shifted rows, and so the model, equal the old ones exactly.
    rows, shift = np.round(X * 2**20) / 2**20, 2.0**20
    near, far = (fit(process(RBF(WIDTHS)), Y, rows + s) for s in (0.0, shift))
    close(slopes(far, rows + shift), slopes(near, rows), 1e-9)


def test_what_a_process_is_not_known_for_is_left_to_differences():
    for kernel in (PairwiseKernel(metric="laplacian"), Matern(1.0, nu=0.3)):
        model = fit(process(kernel))
        assert sklearn_models.prediction_derivative(model) is None
        e = sd.explain(model, X, 0, method="dale")
        assert e.provenance["local_effects"].startswith("central differences")
    assert sklearn_models.prediction_derivative(process(RBF())) is None  # not fitted
    assert sklearn_models.prediction_derivative(fit(process(RBF()), TWO)) is None  # ambiguous
    for output in (2, -3):  # there is no such output
        assert sklearn_models.prediction_derivative(fit(process(RBF()), TWO), output) is None


def kernels() -> st.SearchStrategy[Any]:
    width = st.floats(0.5, 3.0)
    widths = st.one_of(width, st.lists(width, min_size=3, max_size=3))
    single = st.one_of(
        st.builds(RBF, widths),
        st.builds(Matern, widths, nu=st.sampled_from([0.5, 1.5, 2.2, 2.5, np.inf])),
        st.builds(RationalQuadratic, width, st.floats(0.3, 3.0)),
        st.builds(DotProduct, width),
        st.builds(ExpSineSquared, width, st.floats(3.0, 9.0)),
        st.builds(ConstantKernel, width),
        st.builds(WhiteKernel, width),
    )
    return st.recursive(
        single,
        lambda inner: st.one_of(
            st.builds(lambda a, b: a + b, inner, inner),
            st.builds(lambda a, b: a * b, inner, inner),
            st.builds(lambda a, p: a**p, inner, st.sampled_from([1, 2, 3])),
        ),
        max_leaves=4,
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(kernels(), st.integers(0, 3))
def test_random_kernels(kernel, seed):
    fitted, rows = table(12, seed=seed), table(6, seed=seed + 100)
    values = kernel(fitted)
    try:
        model = process(kernel, alpha=float(np.abs(values).max())).fit(fitted, fitted[:, 0])
    except np.linalg.LinAlgError:
        assume(False)
    found = slopes(model, rows)
    expected = numerical(model.predict, rows)
    size = max(np.abs(expected).max(), 1e-6 * np.abs(model.predict(rows)).max())
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7 * size)


# ------------------------------------------------------------------------- other kernel machines


@pytest.mark.many
@pytest.mark.parametrize("options", [{}, {"gamma": 0.2, "coef0": 0.5, "degree": 2}])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid", "linear"])
@pytest.mark.parametrize("kind", [SVR, NuSVR, KernelRidge])
def test_support_vectors_and_kernel_ridge(kind, kernel, options):
    agree(fit(kind(kernel=kernel, **options)))


def test_kernel_ridge_of_several_outputs():
    model = fit(KernelRidge(kernel="rbf"), TWO)
    for output in (0, 1):
        agree(model, output=output)
    assert sklearn_models.prediction_derivative(model) is None


def test_linear_kernels_are_linear():
    for model in (fit(SVR(kernel="linear")), fit(KernelRidge(kernel="linear"))):
        found = slopes(model)
        unit = model.predict(np.eye(3)) - model.predict(np.zeros((1, 3)))
        np.testing.assert_allclose(found, np.broadcast_to(unit, found.shape), rtol=1e-11)


def test_a_polynomial_kernel_by_hand():
    # For one column: (x c + 1)² summed with weights w is w c² x² + 2 w c x + w.
    model = KernelRidge(kernel="poly", degree=2, gamma=1.0, coef0=1.0).fit(X[:, :1], Y)
    w, c, x = model.dual_coef_, X[:, 0], ROWS[:, 0]
    expected = 2 * (w @ c**2) * x + 2 * (w @ c)
    np.testing.assert_allclose(slopes(model, ROWS[:, :1])[:, 0], expected, rtol=1e-11)


def test_a_machine_without_vectors_has_no_slopes():
    model = fit(SVR(epsilon=100.0))
    assert len(model.support_vectors_) == 0
    np.testing.assert_array_equal(slopes(model), 0.0)


def test_other_kernels_are_left_to_differences():
    from scipy.sparse import csr_matrix

    unknown = [
        fit(KernelRidge(kernel="laplacian")),
        fit(SVR(kernel=lambda A, B: A @ B.T)),
        SVR().fit(csr_matrix(X), Y),
        SVR(),
        KernelRidge(),
    ]
    assert [sklearn_models.prediction_derivative(model) for model in unknown] == [None] * 5


# ------------------------------------------------------------------------ links, layers and means


@pytest.mark.parametrize(
    "model",
    [
        PoissonRegressor(alpha=0.1),
        GammaRegressor(alpha=0.1),
        TweedieRegressor(power=1.5),
        TweedieRegressor(power=0, link="log"),
        TweedieRegressor(power=0),
        TweedieRegressor(power=2, link="auto", fit_intercept=False),
    ],
    ids=lambda m: f"{type(m).__name__}, {getattr(m, 'power', '')}, {getattr(m, 'link', '')}",
)
def test_generalised_linear_models(model):
    agree(fit(model, COUNTS))


def test_slopes_of_a_log_link_are_the_prediction_times_the_coefficients():
    model = fit(PoissonRegressor(alpha=0.1), COUNTS)
    expected = model.predict(ROWS)[:, None] * model.coef_
    np.testing.assert_allclose(slopes(model), expected, rtol=1e-13)


def test_an_identity_link_is_linear_exactly():
    model = fit(TweedieRegressor(power=0, link="identity"))
    np.testing.assert_array_equal(slopes(model), np.broadcast_to(model.coef_, ROWS.shape))


@pytest.mark.parametrize("output", [0, 1, -1])
def test_linear_models_and_perceptrons_of_several_outputs(output):
    layers = MLPRegressor(hidden_layer_sizes=(5, 4), activation="tanh", max_iter=50, random_state=0)
    for model in (layers, LinearRegression(), MultiTaskLasso(alpha=0.1)):
        agree(fit(model, TWO), output=output)
        assert sklearn_models.prediction_derivative(model) is None
        assert sklearn_models.prediction_derivative(model, 2) is None


def test_a_target_of_one_column():
    for model in (LinearRegression(), KernelRidge(kernel="rbf"), process(RBF())):
        found = slopes(fit(model, Y[:, None]))
        np.testing.assert_allclose(found, slopes(fit(model, Y)), rtol=1e-9, atol=1e-12)


def members() -> list[tuple[str, Any]]:
    return [
        ("linear", Ridge()),
        ("machine", make_pipeline(StandardScaler(), SVR())),
        ("process", process(RBF(WIDTHS))),
    ]


@pytest.mark.parametrize("weights", [None, [1, 2, 3.5]])
def test_a_vote_is_the_mean_of_its_members(weights):
    model = fit(VotingRegressor(members(), weights=weights))
    agree(model)
    parts = [slopes(member) for member in model.estimators_]
    np.testing.assert_allclose(slopes(model), np.average(parts, axis=0, weights=weights))


def test_members_that_were_dropped_do_not_vote():
    model = VotingRegressor(members(), weights=[1, 2, 3]).set_params(machine="drop")
    agree(fit(model))


def test_a_vote_with_an_unknown_member_is_left_to_differences():
    model = fit(VotingRegressor([*members(), ("tree", DecisionTreeRegressor(max_depth=2))]))
    assert sklearn_models.prediction_derivative(model) is None


# --------------------------------------------------------------------------------- use by explain


@pytest.mark.parametrize("model", [process(RBF(WIDTHS)), SVR(), PoissonRegressor()])
def test_chunks_change_nothing(model, monkeypatch):
    model = fit(model, COUNTS)
    whole = slopes(model)
    monkeypatch.setattr(chain_rule, "CHUNK_BYTES", 5000)
    np.testing.assert_allclose(slopes(model), whole, rtol=1e-12, atol=1e-14)
    assert slopes(model, ROWS[:0]).shape == (0, 3)


def test_effects_from_closed_forms_are_those_of_the_same_function_by_differences():
    model = fit(process(RBF(WIDTHS)))
    for method in (sd.DALE(bins=5), sd.RHALE(bins=sd.Uniform(6))):
        exact = sd.explain(model, X, method=method)
        rough = sd.explain(model.predict, X, method=method)
        for name in exact:
            assert exact[name].provenance["local_effects"] == (
                "closed form of GaussianProcessRegressor"
            )
            assert exact[name].provenance["slope_rows"] > 0
            np.testing.assert_allclose(exact[name].value, rough[name].value, atol=1e-7)


def test_the_mixed_derivative_of_a_pair_uses_exact_slopes():
    # f = x0 x1 exactly, in the features x0², x0 x1, ...: the second derivative of a kernel machine of degree 2.
    model = KernelRidge(kernel="poly", degree=2, gamma=1.0, alpha=1e-12)
    model = fit(model, X[:, 0] * X[:, 1], X)
    e = sd.explain(model, X, (0, 1), method=sd.DALE(bins=3))
    assert e.provenance["slope_rows"] > 0
    f = sd.explain(lambda Z: Z[:, 0] * Z[:, 1], X, (0, 1), method=sd.DALE(bins=3))
    np.testing.assert_allclose(e.value, f.value, atol=1e-5 * np.abs(f.value).max())


def test_losses_carry_closed_forms():
    model = fit(process(RBF(WIDTHS)))
    loss = sd.loss(model, "squared_error")
    e = sd.explain(loss, X, 0, y=Y, method=sd.DALE(bins=3))
    assert "closed form" in e.provenance["local_effects"]
    expected = numerical(lambda Z: (model.predict(Z) - Y) ** 2, X)[:, 0]
    np.testing.assert_allclose(e.rows.effect, expected, atol=1e-8 * np.abs(expected).max())
