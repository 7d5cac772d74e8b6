"""Closed-form slopes of models, compared with differences of high order and with derivatives written out by hand."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
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
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    MultiTaskLasso,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVR

import skedasis as sd
from skedasis.derivatives import sklearn_models
from tests.helpers import table

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


_WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}


def numerical(f: Callable[[Any], np.ndarray], X: np.ndarray, h: float = 2e-3) -> np.ndarray:
    """Return the derivatives of a smooth function with respect to each column: central differences of eighth order.

    They equal three Richardson steps applied to the usual central differences. The step is `h` standard deviations.
    """
    out = np.zeros(X.shape)
    for j, unit in enumerate(X.std(axis=0) * h):
        step = np.zeros(X.shape[1])
        for k, weight in _WEIGHTS.items():
            step[j] = k * unit
            out[:, j] += weight * (f(X + step) - f(X - step)) / unit
    return out


def close(found: np.ndarray, expected: np.ndarray, tolerance: float) -> None:
    """Assert that slopes agree within a fraction of the largest slope of their column."""
    assert found.shape == expected.shape
    scale = np.abs(expected).max(axis=0)
    # Columns whose slopes are zero up to rounding of the differences are compared with the largest slope of all.
    scale = np.maximum(scale, 1e-6 * np.abs(expected).max() + 1e-300)
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=tolerance)


def slopes(model: Any, rows: np.ndarray = ROWS, output: int | None = None) -> np.ndarray:
    """Return the slopes in closed form."""
    form = sklearn_models.prediction_derivative(model, output)
    assert form is not None
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


# ------------------------------------------------------------------------------- links and layers


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
    for model in (LinearRegression(), process(RBF())):
        found = slopes(fit(model, Y[:, None]))
        np.testing.assert_allclose(found, slopes(fit(model, Y)), rtol=1e-9, atol=1e-12)


# ---------------------------------------------------------------------------------- behind scalers

SCALERS = {
    "standard": StandardScaler(),
    "standard, not centred": StandardScaler(with_mean=False),
    "standard, not scaled": StandardScaler(with_std=False),
    "min-max": MinMaxScaler((-1, 2)),
    "largest": MaxAbsScaler(),
    "robust": RobustScaler(),
    "robust, not centred": RobustScaler(with_centering=False),
    "robust, not scaled": RobustScaler(with_scaling=False),
    "nothing": make_pipeline("passthrough", None),
    "nested": make_pipeline("passthrough", make_pipeline(RobustScaler(), MinMaxScaler())),
}
LAYERS = MLPRegressor(hidden_layer_sizes=(6, 3), activation="tanh", max_iter=60, random_state=0)


@pytest.mark.parametrize("name", SCALERS)
def test_every_scaler(name):
    for last in (LAYERS, process(RBF(WIDTHS))):
        agree(fit(make_pipeline(SCALERS[name], last)))


@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh"])
def test_every_end_behind_scalers(activation):
    layers = MLPRegressor(
        hidden_layer_sizes=(5,), activation=activation, max_iter=60, random_state=0
    )
    for last in (layers, PoissonRegressor(), process(Matern(1.5, nu=2.5)), Ridge()):
        agree(fit(make_pipeline(StandardScaler(), last), COUNTS))


def test_rectified_layers_have_the_slopes_of_their_linear_parts():
    model = MLPRegressor(hidden_layer_sizes=(4,), max_iter=60, random_state=0)
    model = fit(make_pipeline(StandardScaler(), model))
    h = 1e-6
    two_steps = [numerical(model.predict, ROWS, step) for step in (h, 2 * h)]
    settled = np.abs(two_steps[0] - two_steps[1]) < 1e-6  # no kink within the steps
    assert settled.mean() > 0.9
    np.testing.assert_allclose(slopes(model)[settled], two_steps[0][settled], atol=1e-5)


def test_linear_steps_multiply_their_scales():
    model = fit(make_pipeline(MinMaxScaler(), StandardScaler(), LinearRegression()))
    first, second, last = (step for _, step in model.steps)
    by_hand = last.coef_ * first.scale_ / second.scale_
    np.testing.assert_allclose(slopes(model), np.broadcast_to(by_hand, ROWS.shape), rtol=1e-12)
    assert slopes(model).strides[0] == 0  # the same memory for all rows


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "last",
    [
        LogisticRegression(),
        MLPClassifier(hidden_layer_sizes=(5,), activation="tanh", max_iter=60, random_state=0),
    ],
    ids=["logistic", "layers"],
)
def test_probabilities_and_log_odds(classes, last):
    y = np.digitize(Y, np.quantile(Y, np.arange(1, classes) / classes))
    model = fit(make_pipeline(RobustScaler(), last), y)
    for k in range(classes):
        found = sklearn_models.probability_derivative(model, k)(ROWS)
        close(found, numerical(lambda Z, k=k: model.predict_proba(Z)[:, k], ROWS), 1e-7)

        def odds(Z: np.ndarray, k: int = k) -> np.ndarray:
            p = model.predict_proba(Z)[:, k]
            return np.log(p / (1 - p))

        close(sklearn_models.logit_derivative(model, k)(ROWS), numerical(odds, ROWS), 1e-7)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_frames(library):
    rows = library(dict(zip("abc", ROWS.T, strict=True)))
    model = make_pipeline(StandardScaler(), LAYERS)
    of_frames = fit(model, Y[: len(ROWS)], rows)
    found = slopes(of_frames, rows)
    np.testing.assert_allclose(found, slopes(fit(model, Y[: len(ROWS)], ROWS)), rtol=1e-12)
    single = rows.astype(np.float32) if library is pd.DataFrame else rows.cast(pl.Float32)
    double = single.astype(float) if library is pd.DataFrame else single.cast(pl.Float64)
    np.testing.assert_allclose(slopes(of_frames, single), slopes(of_frames, double), rtol=1e-12)


OTHERS = {
    "no scaler": make_pipeline(PCA(2), Ridge()),
    "polynomials": make_pipeline(StandardScaler(), PolynomialFeatures(2), Ridge()),
    "splines": make_pipeline(SplineTransformer(), Ridge()),
    "clipped": make_pipeline(MinMaxScaler(clip=True), Ridge()),
    "a function": make_pipeline(FunctionTransformer(np.exp), Ridge()),
    "columns": make_pipeline(ColumnTransformer([("a", StandardScaler(), [0, 1, 2])]), Ridge()),
    "a union": make_pipeline(FeatureUnion([("a", StandardScaler())]), Ridge()),
    "holes filled": make_pipeline(SimpleImputer(), Ridge()),
    "support vectors": make_pipeline(StandardScaler(), SVR()),
    "kernel ridge": KernelRidge(kernel="rbf"),
    "a vote": VotingRegressor([("a", Ridge()), ("b", LinearRegression())]),
    "a target": TransformedTargetRegressor(Ridge(), func=np.negative, inverse_func=np.negative),
}
if "clip" in MaxAbsScaler().get_params():  # since scikit-learn 1.9
    OTHERS["clipped at the largest"] = make_pipeline(MaxAbsScaler(clip=True), Ridge())


@pytest.mark.parametrize("name", OTHERS)
def test_all_others_are_left_to_differences(name):
    model = fit(OTHERS[name])
    assert sklearn_models.prediction_derivative(model) is None
    e = sd.explain(model, X, 0, method=sd.DALE(bins=4))
    assert e.provenance["local_effects"].startswith("central differences")
    inside = np.argsort(X[:, 0])[1:-1]  # at the ends a clipped scaler has a kink
    expected = numerical(model.predict, X, 1e-4)[inside, :1]
    close(e.rows.effect[inside, None], expected, 1e-5)


def test_differences_of_a_fitted_polynomial_are_its_slopes():
    y = 2 * X[:, 0] ** 2 * X[:, 1] - 3 * X[:, 0] * X[:, 1] + X[:, 1] ** 3
    model = fit(make_pipeline(PolynomialFeatures(3), LinearRegression()), y)

    def by_hand(Z: np.ndarray) -> np.ndarray:
        a, b = Z[:, 0], Z[:, 1]
        return np.c_[4 * a * b - 3 * b, 2 * a**2 - 3 * a + 3 * b**2, np.zeros(len(Z))]

    for method in (sd.DALE(bins=5), sd.RHALE(bins=sd.Uniform(6))):
        found = sd.explain(model, X, ["x0", "x1"], method=method)
        exact = sd.explain(sd.prediction(model, slope=by_hand), X, ["x0", "x1"], method=method)
        for name, e in found.items():
            size = np.abs(exact[name].value).max()
            np.testing.assert_allclose(e.value, exact[name].value, rtol=0, atol=1e-7 * size)


def test_an_encoders_rise_is_not_lost():
    rng = np.random.default_rng(2)
    coded = np.c_[rng.normal(size=400), rng.integers(0, 3, 400)]
    y = coded[:, 0] + np.array([0.0, 1.0, 5.0])[coded[:, 1].astype(int)]
    step = ColumnTransformer([("codes", OneHotEncoder(), [1])], remainder="passthrough")
    model = fit(make_pipeline(step, LinearRegression()), y, coded)
    e = sd.explain(model, coded, 1, method=sd.RHALE(center="start"))
    assert e.value[-1] == pytest.approx(5.0, abs=1e-6)


def test_what_is_not_fitted_has_no_closed_form():
    for last in (Ridge(), LAYERS, process(RBF())):
        for model in (sklearn.clone(last), make_pipeline(StandardScaler(), sklearn.clone(last))):
            assert sklearn_models.prediction_derivative(model) is None


# --------------------------------------------------------------------------------- use by explain


@pytest.mark.parametrize("model", [process(RBF(WIDTHS)), PoissonRegressor()])
def test_chunks_change_nothing(model, monkeypatch):
    model = fit(model, COUNTS)
    whole = slopes(model)
    monkeypatch.setattr(sklearn_models, "CHUNK_BYTES", 5000)
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


def test_losses_carry_closed_forms():
    model = fit(process(RBF(WIDTHS)))
    loss = sd.loss(model, "squared_error")
    e = sd.explain(loss, X, 0, y=Y, method=sd.DALE(bins=3))
    assert "closed form" in e.provenance["local_effects"]
    expected = numerical(lambda Z: (model.predict(Z) - Y) ** 2, X)[:, 0]
    np.testing.assert_allclose(e.rows.effect, expected, atol=1e-8 * np.abs(expected).max())
