"""Kinks and jumps of pipelines: their slopes there, and the columns whose effect the slopes describe completely."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import VotingRegressor
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)

import skedasis as sd
from skedasis.derivatives import sklearn_models
from tests.reference.finite_difference_stencils import (
    MIDDLE,
    X,
    Y,
    agree,
    bent,
    close,
    fit,
    known,
    numerical,
)


@pytest.mark.parametrize("extrapolation", ["constant", "linear", "continue", "periodic"])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_splines_beyond_their_knots(extrapolation, degree):
    step = SplineTransformer(degree=degree, extrapolation=extrapolation)
    one = X[:, :1]
    model = fit(make_pipeline(step, Ridge(alpha=1e-3)), Y, one)
    low, high = one.min(), one.max()
    # Between all knots, and points spaced like them outside the data, so that no difference crosses a kink.
    rows = (low + (high - low) / 4 * (np.arange(-6, 12) + 0.37))[:, None]
    agree(model, rows)
    beyond = sklearn_models.prediction_derivative(model)(np.array([[low - 1.0], [high + 1.0]]))
    assert (extrapolation == "constant") == bool((beyond == 0).all())


@pytest.mark.parametrize("columns", [1, 2])
def test_splines_of_degree_one_that_continue_linearly(columns):
    step = SplineTransformer(degree=1, extrapolation="linear")
    model = fit(make_pipeline(step, Ridge()), Y, X[:, :columns])
    form = sklearn_models.prediction_derivative(model)
    assert (form is not None) == (columns == 1)


def test_splines_of_degree_zero_are_steps():
    model = fit(make_pipeline(SplineTransformer(degree=0), Ridge()))
    assert sklearn_models.prediction_derivative(model) is None


def test_columns_whose_knots_coincide_jump():
    tied = X.copy()
    tied[:60, 1] = 30.0
    step = SplineTransformer(degree=1, knots="quantile", extrapolation="constant")
    form = sklearn_models.prediction_derivative(fit(make_pipeline(step, Ridge()), Y, tied))
    assert known(form, 3) == [True, False, True]


def test_a_clipped_scaler_is_flat_beyond_the_data_and_not_at_its_ends():
    model = fit(make_pipeline(MinMaxScaler(clip=True), Ridge()))
    form = sklearn_models.prediction_derivative(model)
    slope = model[-1].coef_ * model[0].scale_
    ends = np.stack([X.min(axis=0), X.max(axis=0)])
    np.testing.assert_allclose(form(ends), np.stack([slope, slope]), rtol=1e-12)
    np.testing.assert_array_equal(form(ends + np.array([[-1.0], [1.0]])), 0.0)


@pytest.mark.parametrize("output", ["uniform", "normal"])
def test_quantile_transformers_between_their_quantiles(output):
    step = QuantileTransformer(n_quantiles=12, output_distribution=output)
    model = fit(make_pipeline(step, bent()))
    knots = model[0].quantiles_
    agree(model, knots[:-1] + 0.37 * np.diff(knots, axis=0))


def test_at_a_quantile_the_slope_is_the_mean_of_both_sides():
    one = X[:30, :1]
    model = fit(make_pipeline(QuantileTransformer(n_quantiles=30), Ridge(alpha=1e-6)), Y[:30], one)
    inner = np.sort(one, axis=0)[1:-1]
    h = 1e-9
    right, left = ((model.predict(inner + d) - model.predict(inner)) / d for d in (h, -h))
    assert np.abs(right - left).max() > 0.01 * np.abs(right).max()  # there are kinks
    close(sklearn_models.prediction_derivative(model)(inner), ((right + left) / 2)[:, None], 1e-5)


def test_normal_quantiles_are_flat_where_they_are_cut_off():
    step = QuantileTransformer(n_quantiles=20, output_distribution="normal")
    model = fit(make_pipeline(step, Ridge()))
    form = sklearn_models.prediction_derivative(model)
    ends = np.stack([X.min(axis=0), X.max(axis=0)])
    np.testing.assert_array_equal(form(ends), 0.0)
    np.testing.assert_array_equal(form(ends + np.array([[-1.0], [1.0]])), 0.0)
    assert np.isfinite(form(X)).all()


def test_a_column_whose_quantiles_coincide_jumps_and_has_differences():
    spiky = X.copy()
    spiky[:50, 1] = 20.0
    model = fit(make_pipeline(QuantileTransformer(n_quantiles=20), Ridge()), Y, spiky)
    form = sklearn_models.prediction_derivative(model)
    assert known(form, 3) == [True, False, True]
    said = {
        name: e.provenance["local_effects"]
        for name, e in sd.explain(model, spiky, method="rhale").items()
    }
    assert said["x0"].startswith("closed form")
    assert not said["x1"].startswith("closed form")


@pytest.mark.slow
def test_numbers_that_are_encoded_have_differences_and_all_others_exact_slopes():
    coded = np.c_[X, np.random.default_rng(1).integers(0, 4, len(X))]
    y = Y + np.array([0.0, 5.0, -3.0, 2.0])[coded[:, 3].astype(int)]
    for encoder in (OneHotEncoder(), OrdinalEncoder(), KBinsDiscretizer(3), Binarizer()):
        step = ColumnTransformer([("codes", encoder, [3])], remainder=StandardScaler())
        model = fit(make_pipeline(step, bent()), y, coded)
        form = sklearn_models.prediction_derivative(model)
        assert known(form, 4) == [True, True, True, False]
        smooth = numerical(lambda Z, m=model: m.predict(np.c_[Z, coded[:, 3]]), X)
        close(form(coded)[:, :3], smooth, 1e-7)
        said = sd.explain(model, coded, method="rhale")["x3"].provenance["local_effects"]
        assert "closed form" not in said


def test_an_encoders_rise_is_not_lost():
    rng = np.random.default_rng(2)
    coded = np.c_[rng.normal(size=400), rng.integers(0, 3, 400)]
    y = coded[:, 0] + np.array([0.0, 1.0, 5.0])[coded[:, 1].astype(int)]
    step = ColumnTransformer([("codes", OneHotEncoder(), [1])], remainder="passthrough")
    model = fit(make_pipeline(step, LinearRegression()), y, coded)
    e = sd.explain(model, coded, 1, method=sd.RHALE(center="start"))
    assert e.value[-1] == pytest.approx(5.0, abs=1e-6)


def test_encoders_before_everything_leave_differences():
    for step in (
        KBinsDiscretizer(3),
        Binarizer(threshold=1.0),
        make_pipeline(OrdinalEncoder(), StandardScaler()),
    ):
        model = fit(make_pipeline(step, Ridge()))
        assert sklearn_models.prediction_derivative(model) is None


def test_an_encoder_in_a_union_jumps_by_all_columns():
    union = FeatureUnion([("a", StandardScaler()), ("b", KBinsDiscretizer(3, encode="ordinal"))])
    assert sklearn_models.prediction_derivative(fit(make_pipeline(union, Ridge()))) is None


# ---------------------------------------------------- columns whose slopes describe them completely


def bins(column: int) -> Any:
    """Return a step that bins one column and appends all others in their order."""
    step = KBinsDiscretizer(4, encode="ordinal")
    if "quantile_method" in step.get_params():  # since scikit-learn 1.7; unset, it warns
        step.set_params(quantile_method="averaged_inverted_cdf")
    return ColumnTransformer([("bins", step, [column])], remainder="passthrough")


def tied(column: int) -> np.ndarray:
    """Return rows most of which have the same value in one column."""
    rows = X.copy()
    rows[:50, column] = np.median(X[:, column])
    return rows


def holes() -> np.ndarray:
    """Return rows with one column without values, and another with missing values."""
    rows = np.c_[X[:, 0], np.full(len(X), np.nan), X[:, 1:]]
    rows[::9, 2] = np.nan
    return rows


JUMPS = {
    "a column": ([bins(1)], X, [1]),
    "behind a scaler": ([StandardScaler(), bins(2)], X, [2]),
    "behind a projection": ([PCA(3), bins(0)], X, [0, 1, 2]),
    "in a later column": ([PolynomialFeatures(2, include_bias=False), bins(4)], X, [0, 1]),
    "of splines": ([SplineTransformer(n_knots=3, degree=2), bins(5)], X, [1]),
    "of chosen columns": (
        [SelectKBest(lambda *_: np.array([0.0, 1.0, 2.0]), k=2), bins(1)],
        X,
        [2],
    ),
    "of ties": ([QuantileTransformer(n_quantiles=9)], tied(1), [1]),
    "of ties, and another": ([QuantileTransformer(n_quantiles=9), bins(0)], tied(1), [0, 1]),
    "of ties, later": ([StandardScaler(), QuantileTransformer(n_quantiles=9)], tied(1), [1]),
    "behind another order": ([bins(1), bins(1)], X, [0, 1]),
    "twice in a column": (
        [ColumnTransformer([("a", StandardScaler(), [0]), ("b", bins(0), [0, 2])]), bins(0)],
        X,
        [0],
    ),
    "in a union": (
        [FeatureUnion([("a", StandardScaler()), ("b", bins(2))])],
        X,
        [2],
    ),
}


@pytest.mark.many
@pytest.mark.parametrize("name", JUMPS)
def test_slopes_that_are_known_add_up_to_the_models_rises_and_no_others(name):
    steps, rows, expected = JUMPS[name]
    model = fit(make_pipeline(*steps, StandardScaler(), bent()), Y, rows)
    form = sklearn_models.prediction_derivative(model)
    if len(expected) == 3:  # no column has slopes
        assert form is None
        return
    assert [j for j, known_ in enumerate(known(form, 3)) if not known_] == expected
    spread = np.ptp(model.predict(rows))
    for j in range(3):
        line = np.tile(MIDDLE, (20_001, 1))
        line[:, j] = np.linspace(*np.quantile(rows[:, j], [0.01, 0.99]), len(line))
        rise = np.diff(model.predict(line[[0, -1]]))[0]
        sum_of_slopes = np.trapezoid(form(line)[:, j], line[:, j])
        lost = abs(rise - sum_of_slopes) / spread
        assert (lost < 1e-4) == (j not in expected), (j, lost)


def test_jumps_behind_an_imputer_are_those_of_the_columns_that_it_keeps():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the column without values
        steps = SimpleImputer(add_indicator=True), bins(1), StandardScaler(), Ridge()
        model = make_pipeline(*steps).fit(holes(), Y)
    # The second of the columns that are kept is the third.
    assert known(sklearn_models.prediction_derivative(model), 4) == [True, True, False, True]


def test_jumps_within_members_and_behind_targets():
    member = make_pipeline(bins(2), StandardScaler(), bent())
    vote = fit(VotingRegressor([("a", Ridge()), ("b", member)]))
    assert known(sklearn_models.prediction_derivative(vote), 3) == [True, True, False]
    model = fit(TransformedTargetRegressor(member, transformer=StandardScaler()))
    assert known(sklearn_models.prediction_derivative(model), 3) == [True, True, False]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_normal_quantiles_stand_still_where_scikit_learn_lets_them(scale):
    # scikit-learn clips values within 1e-7 of an end, and probabilities below 1e-7.
    rows = scale * np.linspace(1.0, 2.0, 40)[:, None]
    step = QuantileTransformer(n_quantiles=10, output_distribution="normal")
    model = fit(make_pipeline(step, LinearRegression()), rows[:, 0] / scale, rows)
    knots = model[0].quantiles_[:, 0]
    beside = np.array([2e-8, 4e-8, 8e-8, 5e-7, 1e-3, 0.3]) * (knots[1] - knots[0])
    at = (knots[0] + np.unique(np.r_[beside, [3e-8, 8e-8, 2e-7]]))[:, None]
    at = at[(at[:, 0] > knots[0]) & (at[:, 0] < knots[1])]
    h = 1e-2 * (at[:, 0] - knots[0])[:, None]
    rises = (model.predict(at + h) - model.predict(at - h)) / (2 * h[:, 0])
    found = sklearn_models.prediction_derivative(model)(at)[:, 0]
    size = np.ptp(model.predict(rows)) / np.ptp(rows)
    np.testing.assert_array_equal(found == 0, np.abs(rises) < 1e-6 * size)
    np.testing.assert_allclose(found, rises, rtol=1e-3)
