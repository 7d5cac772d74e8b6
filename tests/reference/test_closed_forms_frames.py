"""Slopes of models of data frames: with text, with missing values, in single precision."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)

import skedasis as sd
from skedasis.derivatives import sklearn_models
from tests.reference.finite_difference_stencils import (
    MIDDLE,
    X,
    Y,
    bent,
    close,
    fit,
    known,
    numerical,
)


def frame(library: str = "pandas", n: int = 90) -> Any:
    """Return a data frame with two numbers, a text column and a whole number."""
    rng = np.random.default_rng(4)
    data = {
        "a": rng.normal(size=n),
        "city": rng.choice(["x", "y", "z"], size=n),
        "b": rng.uniform(1.0, 3.0, size=n),
        "rooms": rng.integers(1, 6, size=n),
    }
    return pd.DataFrame(data) if library == "pandas" else pl.DataFrame(data)


def target(rows: Any) -> np.ndarray:
    """Return a target that depends on all columns of a frame."""
    a, b, rooms = (np.asarray(rows[name], dtype=float) for name in ("a", "b", "rooms"))
    city = np.array([{"x": 0.0, "y": 1.0, "z": -2.0}[c] for c in rows["city"]])
    return np.sin(a) * (1 + city) + b**2 + 0.3 * rooms


def mixed_pipeline(last: Any, text: Any = None) -> Any:
    """Return a pipeline for a frame: scaled numbers, encoded text, whole numbers unchanged."""
    text = text or make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    columns = [
        (
            "numbers",
            make_pipeline(
                SimpleImputer(), StandardScaler(), SplineTransformer(extrapolation="continue")
            ),
            ["b", "a"],
        ),
        ("text", text, ["city"]),
    ]
    return make_pipeline(ColumnTransformer(columns, remainder="passthrough"), last)


def with_numbers(rows: Any, values: np.ndarray) -> Any:
    """Return a frame with its three columns of numbers replaced."""
    new = pd.DataFrame({"a": values[:, 0], "b": values[:, 1], "rooms": values[:, 2]})
    new.insert(1, "city", list(rows["city"]))
    return new if isinstance(rows, pd.DataFrame) else pl.from_pandas(new)


@pytest.mark.thinned
@pytest.mark.parametrize(
    "last", [pytest.param(Ridge(), id="linear"), pytest.param(bent(), id="bent")]
)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_with_text(library, last):
    rows = frame(library)
    model = fit(mixed_pipeline(last), target(rows), rows)
    form = sklearn_models.prediction_derivative(model)
    assert known(form, 4) == [True, False, True, True]
    inside = np.array([[*r] for r in zip(rows["a"], rows["b"], rows["rooms"], strict=True)])
    inside[:, :2] = inside[:, :2].mean(axis=0) + 0.8 * (inside[:, :2] - inside[:, :2].mean(axis=0))
    expected = numerical(lambda Z: model.predict(with_numbers(rows, Z)), inside, 2e-4)
    found = form(with_numbers(rows, inside))
    close(found[:, [0, 2, 3]], expected, 1e-7)
    np.testing.assert_array_equal(found[:, 1], 0.0)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_with_text_are_explained(library):
    rows = frame(library)
    model = fit(mixed_pipeline(bent()), target(rows), rows)
    es = sd.explain(model, rows, method="rhale")
    said = {name: e.provenance["local_effects"] for name, e in es.items() if name != "city"}
    few = said.pop("rooms")
    assert all(text.startswith("closed form") for text in said.values()), said
    assert few.startswith("steps between the feature's few distinct values")
    by_differences = sd.explain(model.predict, rows, "a", method="rhale")
    np.testing.assert_allclose(es["a"].value, by_differences.value, atol=1e-6)


def test_arrays_with_text():
    rows = frame().to_numpy()
    step = ColumnTransformer([("text", OneHotEncoder(), [1]), ("b", StandardScaler(), [0, 2, 3])])
    model = fit(make_pipeline(step, bent()), target(frame()), rows)
    form = sklearn_models.prediction_derivative(model)
    numbers = rows[:, [0, 2, 3]].astype(float)

    def f(Z: np.ndarray) -> np.ndarray:
        new = rows.copy()
        new[:, [0, 2, 3]] = Z
        return model.predict(new)

    close(form(rows)[:, [0, 2, 3]], numerical(f, numbers), 1e-7)


def test_frames_inside_of_a_pipeline():
    rows = frame()
    inner = make_pipeline(StandardScaler(), PCA(2))
    step = ColumnTransformer([("n", inner, ["a", "b"]), ("rest", "passthrough", ["rooms"])])
    last = ColumnTransformer(
        [("p", PolynomialFeatures(2), ["n__pca0", "rest__rooms"])], remainder="drop"
    )
    model = make_pipeline(step, last, bent()).set_output(transform="pandas")
    model = fit(model, target(rows), rows)
    form = sklearn_models.prediction_derivative(model)
    inside = rows[["a", "b", "rooms"]].to_numpy(dtype=float)
    expected = numerical(lambda Z: model.predict(with_numbers(rows, Z)), inside)
    close(form(with_numbers(rows, inside))[:, [0, 2, 3]], expected, 1e-7)


def test_single_precision_frames_have_slopes_in_double():
    rows = pd.DataFrame(X, columns=["a", "b", "c"])
    model = fit(make_pipeline(StandardScaler(), bent()), Y, rows)
    single = rows.astype(np.float32)
    form = sklearn_models.prediction_derivative(model)
    np.testing.assert_allclose(form(single), form(single.astype(float)), rtol=1e-12)


def test_missing_values_have_the_slope_of_the_constant_in_their_place():
    holes = X.copy()
    holes[::7, 0] = np.nan
    holes[::5, 2] = np.nan
    for options in ({}, {"add_indicator": True}, {"strategy": "median"}):
        model = fit(make_pipeline(SimpleImputer(**options), StandardScaler(), bent()), Y, holes)
        found = sklearn_models.prediction_derivative(model)(holes)
        gone = np.isnan(holes)
        np.testing.assert_array_equal(found[gone], 0.0)

        def f(Z: np.ndarray, model: Any = model, gone: np.ndarray = gone) -> np.ndarray:
            return model.predict(np.where(gone, np.nan, Z))

        close(found, numerical(f, np.where(gone, MIDDLE, holes)), 1e-7)


def test_columns_that_an_imputer_leaves_out():
    empty = np.c_[X[:, 0], np.full(len(X), np.nan), X[:, 1:]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warns of the column without values at each call
        model = make_pipeline(SimpleImputer(), StandardScaler(), Ridge()).fit(empty, Y)
        found = sklearn_models.prediction_derivative(model)(empty)
    expected = model[-1].coef_ / model[1].scale_
    np.testing.assert_allclose(found[0], np.insert(expected, 1, 0.0), rtol=1e-12)


def test_effects_of_data_with_holes_are_those_by_differences():
    holes = X.copy()
    holes[::7, 0] = np.nan
    model = fit(make_pipeline(SimpleImputer(), StandardScaler(), bent()), Y, holes)
    exact = sd.explain(model, holes, method="rhale")
    rough = sd.explain(model.predict, holes, method="rhale")
    for name in exact:
        assert exact[name].provenance["local_effects"].startswith("closed form")
        np.testing.assert_allclose(exact[name].value, rough[name].value, atol=1e-6)


def test_entropies_use_closed_forms_of_frames_with_text():
    rows = frame()
    y = (target(rows) > np.median(target(rows))).astype(int)
    model = fit(mixed_pipeline(LogisticRegression()), y, rows)
    e = sd.explain(sd.entropy(model), rows, "a", method=sd.DALE(bins=3))
    assert e.provenance["local_effects"].startswith("closed form")
    by_differences = sd.explain(
        lambda Z: -(model.predict_proba(Z) * model.predict_log_proba(Z)).sum(axis=1),
        rows, "a", method=sd.DALE(bins=3),
    )  # fmt: skip
    np.testing.assert_allclose(e.value, by_differences.value, atol=1e-6)
