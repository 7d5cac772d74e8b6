"""Slopes through pipelines: each transformer compared with differences of high order, and some with slopes by hand."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA, FastICA, IncrementalPCA, KernelPCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor, Ridge
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVR

from skedasis.derivatives import sklearn_models
from tests.helpers import table
from tests.reference.finite_difference_stencils import ROWS, Y, agree, bent, close, fit, numerical

SMOOTH = {
    "standard": StandardScaler(),
    "min-max": MinMaxScaler((-1, 2)),
    "min-max, clipped": MinMaxScaler(clip=True),
    "largest": MaxAbsScaler(),
    "robust": RobustScaler(),
    "pca": PCA(2),
    "pca, white": PCA(3, whiten=True),
    "pca, white and incremental": IncrementalPCA(2, whiten=True),
    "svd": TruncatedSVD(2),
    "ica": FastICA(2, random_state=0),
    "polynomials": PolynomialFeatures(3),
    "some polynomials": PolynomialFeatures((2, 3), interaction_only=True, include_bias=False),
    "no polynomials": PolynomialFeatures(0),
    "splines": SplineTransformer(),
    "splines on quantiles": SplineTransformer(knots="quantile", n_knots=4),
    "splines, sparse": SplineTransformer(sparse_output=True, include_bias=False),
    "yeo-johnson": PowerTransformer(),
    "yeo-johnson, bare": PowerTransformer(standardize=False),
    "box-cox": PowerTransformer("box-cox"),
    "lengths": Normalizer("l2"),
    "sums": Normalizer("l1"),
    "largest values": Normalizer("max"),
    "no function": FunctionTransformer(),
    "nyström": make_pipeline(StandardScaler(), Nystroem(n_components=8, gamma=0.5, random_state=0)),
    "nyström, polynomials": make_pipeline(
        StandardScaler(), Nystroem("poly", degree=2, n_components=6, random_state=0)
    ),
    "nyström, cubic": make_pipeline(
        StandardScaler(), Nystroem("poly", n_components=6, random_state=0)
    ),
    "nyström, parameters": make_pipeline(
        StandardScaler(),
        Nystroem("sigmoid", kernel_params={"gamma": 0.2}, n_components=4, random_state=0),
    ),
    "random waves": RBFSampler(gamma=0.01, n_components=30, random_state=0),
    "imputer": SimpleImputer(),
    "choice": SelectKBest(f_regression, k=2),
    "other choice": VarianceThreshold(),
    "nothing, nested": make_pipeline("passthrough", None, make_pipeline("passthrough")),
    "nested": make_pipeline("passthrough", make_pipeline("passthrough", StandardScaler(), PCA(2))),
    "union": FeatureUnion(
        [
            ("a", PCA(2)),
            ("b", make_pipeline(StandardScaler(), PolynomialFeatures(2))),
            ("c", "passthrough"),
            ("d", "drop"),
            ("e", SplineTransformer(n_knots=4)),
            ("f", SimpleImputer(add_indicator=True)),
        ],
        transformer_weights={"a": 3.0, "b": 0.5},
    ),
    "columns": ColumnTransformer(
        [
            ("a", PCA(1), [0, 2]),
            ("b", make_pipeline(StandardScaler(), PolynomialFeatures(2)), [2, 1]),
            ("c", "drop", [0]),
            ("d", "passthrough", []),
        ],
        transformer_weights={"b": -2.0},
    ),
    "columns and the rest": ColumnTransformer(
        [("a", PowerTransformer(), [1])], remainder="passthrough"
    ),
    "columns, the rest scaled": ColumnTransformer(
        [("a", "passthrough", slice(0, 1))], remainder=MinMaxScaler()
    ),
}


@pytest.mark.thinned
@pytest.mark.parametrize("end", ["linear", "bent"])
@pytest.mark.parametrize("name", SMOOTH)
def test_every_step(name, end):
    last = Ridge() if end == "linear" else bent()
    scaler = StandardScaler(with_mean="sparse" not in name)
    agree(fit(make_pipeline(SMOOTH[name], scaler, last)))


@pytest.mark.parametrize(
    "end",
    [
        SVR(),
        KernelRidge(kernel="rbf"),
        GaussianProcessRegressor(RBF(1.5), alpha=0.1, optimizer=None),
        PoissonRegressor(),
    ],
    ids=lambda end: type(end).__name__,
)
def test_every_end_behind_steps(end):
    steps = (StandardScaler(), PolynomialFeatures(2, include_bias=False), StandardScaler())
    agree(fit(make_pipeline(*steps, end), np.exp(Y / 10)))


FUNCTIONS = [
    np.arcsinh, np.arctan, np.cbrt, np.cos, np.cosh, np.exp, np.exp2, np.expm1, np.log, np.log10,
    np.log1p, np.log2, np.negative, np.sin, np.sinh, np.sqrt, np.square, np.tanh, expit,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_known_functions(function):
    small = MinMaxScaler((0.2, 1.5))
    agree(fit(make_pipeline(small, FunctionTransformer(function), Ridge(alpha=1e-3))))


@pytest.mark.parametrize("standardize", [True, False])
def test_powers_of_negative_numbers(standardize):
    # Their second derivative jumps at zero, so the rows keep away from it.
    rows = np.sign(table(60)) * (0.2 + np.abs(table(60))) * [1.0, 2.0, 0.5]
    step = PowerTransformer(standardize=standardize)
    model = fit(make_pipeline(step, bent()), rows[:, 0] - rows[:, 1] ** 2, rows)
    assert np.abs(model[0].lambdas_ - 1).min() > 0.01
    agree(model, rows)


def test_unknown_functions_are_left_to_differences():
    for step in (
        FunctionTransformer(lambda Z: Z**2),
        FunctionTransformer(np.clip, kw_args={"a_min": 0, "a_max": 1}),
        FunctionTransformer(np.log1p, kw_args={"dtype": float}),
        KernelPCA(2),
        make_pipeline(StandardScaler(), KernelPCA(2)),
        ColumnTransformer([("a", KernelPCA(1), [0, 1])], remainder="passthrough"),
        FeatureUnion([("a", KernelPCA(1)), ("b", PCA(1))]),
        Nystroem(kernel="laplacian", n_components=5),
    ):
        assert sklearn_models.prediction_derivative(fit(make_pipeline(step, Ridge()))) is None


def test_what_is_not_fitted_has_no_closed_form():
    for step in SMOOTH.values():
        assert (
            sklearn_models.prediction_derivative(make_pipeline(sklearn.clone(step), Ridge()))
            is None
        )


FACTORIES = [
    StandardScaler,
    lambda: MinMaxScaler((0.5, 2)),
    lambda: PCA(2, whiten=True),
    lambda: PolynomialFeatures(2, include_bias=False),
    lambda: FunctionTransformer(np.tanh),
    lambda: SplineTransformer(extrapolation="continue", n_knots=3),
    lambda: RBFSampler(gamma=0.1, n_components=10, random_state=0),
    lambda: FeatureUnion([("a", StandardScaler()), ("b", PCA(1))]),
    lambda: ColumnTransformer(
        [("a", FunctionTransformer(np.arctan), [1])], remainder=RobustScaler()
    ),
]
ENDS = [
    Ridge,
    bent,
    lambda: SVR(kernel="poly", degree=2),
    lambda: GaussianProcessRegressor(RBF(2.0), alpha=1.0, optimizer=None),
]


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(st.lists(st.sampled_from(FACTORIES), min_size=1, max_size=3), st.sampled_from(ENDS))
def test_random_pipelines(factories, end):
    rows, y = table(40), table(40, seed=2)[:, 0]
    steps = [part for make in factories for part in (make(), StandardScaler())]
    model = fit(make_pipeline(StandardScaler(), *steps, end()), y, rows)
    inside = 0.8 * table(15, seed=3)
    found = sklearn_models.prediction_derivative(model)(inside)
    coarse, expected = (numerical(model.predict, inside, h) for h in (4e-4, 2e-4))
    # Differences are no reference where they still depend on their step: beside a knot, and where a spline of a spline
    # swings within a step.
    precise = 1e-7 * np.abs(expected).max()
    settled = np.abs(expected - coarse) < precise
    assert settled.mean() > 0.5
    np.testing.assert_allclose(found[settled], expected[settled], rtol=0, atol=precise)


# ------------------------------------------------------------------------------ written by hand


def test_linear_steps_multiply_their_matrices():
    model = fit(make_pipeline(StandardScaler(), PCA(2, whiten=True), LinearRegression()))
    scaler, pca, last = (step for _, step in model.steps)
    by_hand = last.coef_ / np.sqrt(pca.explained_variance_) @ pca.components_ / scaler.scale_
    found = sklearn_models.prediction_derivative(model)(ROWS)
    np.testing.assert_allclose(found, np.broadcast_to(by_hand, ROWS.shape), rtol=1e-12)
    assert found.strides[0] == 0  # the same memory for all rows


def test_a_fitted_polynomial_has_the_polynomials_slopes():
    Z = table(50, d=2)
    y = 2 * Z[:, 0] ** 2 * Z[:, 1] - 3 * Z[:, 0] * Z[:, 1] + Z[:, 1] ** 3
    model = fit(make_pipeline(PolynomialFeatures(3), LinearRegression()), y, Z)
    a, b = Z.T
    by_hand = np.c_[4 * a * b - 3 * b, 2 * a**2 - 3 * a + 3 * b**2]
    np.testing.assert_allclose(sklearn_models.prediction_derivative(model)(Z), by_hand, atol=1e-11)


@pytest.mark.parametrize("bias", [True, False])
def test_fitted_splines_have_the_slopes_of_a_parabola(bias):
    z = np.linspace(-1.0, 2.0, 40)[:, None]
    step = SplineTransformer(degree=3, include_bias=bias, extrapolation="continue")
    model = fit(make_pipeline(step, LinearRegression()), z[:, 0] ** 2, z)
    rows = np.linspace(-1.5, 2.5, 30)[:, None]
    np.testing.assert_allclose(
        sklearn_models.prediction_derivative(model)(rows), 2 * rows, atol=1e-10
    )


def test_a_logarithm_has_the_slope_of_a_logarithm():
    model = fit(make_pipeline(FunctionTransformer(np.log), LinearRegression()))
    by_hand = model[-1].coef_ / ROWS
    np.testing.assert_allclose(
        sklearn_models.prediction_derivative(model)(ROWS), by_hand, rtol=1e-13
    )


# --------------------------------------------------------------------- targets and probabilities


@pytest.mark.parametrize(
    "options",
    [
        {"func": np.log1p, "inverse_func": np.expm1},
        {"func": np.sqrt, "inverse_func": np.square},
        {"transformer": StandardScaler()},
        {"transformer": MinMaxScaler((-1, 1), clip=True)},
        {"transformer": MaxAbsScaler()},
        {"transformer": RobustScaler()},
        {"transformer": RobustScaler(with_scaling=False)},
        {"transformer": PowerTransformer()},
        {"transformer": PowerTransformer("box-cox", standardize=False)},
        {},
    ],
    ids=str,
)
def test_transformed_targets(options):
    model = TransformedTargetRegressor(make_pipeline(StandardScaler(), bent()), **options)
    agree(fit(model, np.exp(Y / 10)))


def test_transformed_targets_of_several_outputs():
    inner = KernelRidge(kernel="rbf", gamma=0.01, alpha=0.1)
    model = TransformedTargetRegressor(inner, transformer=StandardScaler())
    model = fit(model, np.c_[Y, Y**2])
    for output in (0, 1):
        found = sklearn_models.prediction_derivative(model, output)(ROWS)
        close(found, numerical(lambda Z, k=output: model.predict(Z)[:, k], ROWS), 1e-7)


def test_targets_with_unknown_inverses_are_left_to_differences():
    for options in (
        {"func": lambda y: y / 2, "inverse_func": lambda y: 2 * y},
        {"transformer": QuantileTransformer(n_quantiles=10)},
    ):
        assert (
            sklearn_models.prediction_derivative(
                fit(TransformedTargetRegressor(Ridge(), **options))
            )
            is None
        )


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "last",
    [
        LogisticRegression(),
        MLPClassifier(hidden_layer_sizes=(5,), activation="tanh", max_iter=60, random_state=0),
    ],
    ids=["logistic", "layers"],
)
def test_probabilities_and_log_odds_behind_steps(classes, last):
    y = np.digitize(Y, np.quantile(Y, np.arange(1, classes) / classes))
    model = fit(make_pipeline(StandardScaler(), PolynomialFeatures(2), last), y)
    for k in range(classes):
        found = sklearn_models.probability_derivative(model, k)(ROWS)
        close(found, numerical(lambda Z, k=k: model.predict_proba(Z)[:, k], ROWS), 1e-7)

        def odds(Z: np.ndarray, k: int = k) -> np.ndarray:
            p = model.predict_proba(Z)[:, k]
            return np.log(p / (1 - p))

        close(sklearn_models.logit_derivative(model, k)(ROWS), numerical(odds, ROWS), 1e-7)
