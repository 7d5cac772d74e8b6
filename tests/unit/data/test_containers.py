"""Containers: results are the same for every container, and a model receives the container it was fitted on."""

from __future__ import annotations

import functools
import warnings

import narwhals as nw
import narwhals.stable.v1 as nw_v1
import narwhals.stable.v2 as nw_v2
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import skedasis as sd
from skedasis.data.dataset import as_dataset
from tests.helpers import (
    ACCUMULATED,
    METHODS,
    Remembers,
    bent,
    bent_slope,
    every_method,
    paired,
    refused,
    rise,
    same_effect,
    table,
)

NAMES = ["a", "b", "c"]


def whole(n=80):
    """Return rows of integers, exact in every dtype."""
    return np.random.default_rng(1).integers(0, 40, size=(n, 3))


def model_of(X):
    """Return `bent` of the rows of any container."""
    if isinstance(X, pa.Table):
        X = np.column_stack([np.asarray(X[name]) for name in NAMES])
    elif hasattr(X, "to_numpy"):
        X = X.to_numpy()
    return bent(np.asarray(X, dtype=float) / 10)


# ------------------------------------------------------------------------------------ NumPy

ARRAYS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "reversed": lambda X: X[::-1, ::-1].copy()[::-1, ::-1],
    "big-endian": lambda X: X.astype(">f8"),
    "int64": lambda X: X.astype(np.int64),
    "int8": lambda X: X.astype(np.int8),
    "float32": lambda X: X.astype(np.float32),
    "longdouble": lambda X: X.astype(np.longdouble),
    "unmasked": np.ma.array,
}


@pytest.mark.parametrize(("kind", "method"), paired(ARRAYS, METHODS))
def test_arrays_of_every_layout_and_type_give_the_same_numbers(method, kind):
    X = whole().astype(float)
    held = ARRAYS[kind](X)
    # Edges and grid points that are representable in every dtype.
    way = METHODS[method](
        **({"bins": sd.Edges([0, 10, 20, 40])} if method in ACCUMULATED else {"grid": [0, 7, 39]})
    )
    e = sd.explain(model_of, held, 0, method=way)
    same_effect(e, sd.explain(model_of, X, 0, method=way))


@pytest.mark.parametrize(
    ("method", "dtype"), paired(METHODS, [bool, np.int32, np.float32, np.float64, object])
)
def test_a_model_gets_arrays_of_the_type_of_x(method, dtype):
    model = Remembers(lambda X: X[:, 0].astype(float) * 2 + X[:, 1].astype(float))
    X = (whole() % 2).astype(dtype)
    schema = {"x0": "continuous"} if dtype is bool else None
    e = sd.explain(model, X, 0, method=method, schema=schema)
    assert {(type(s), s.dtype, s.shape[1]) for s in model.seen} == {(np.ndarray, X.dtype, 3)}
    assert all(s.flags.writeable for s in model.seen)
    assert rise(e) == pytest.approx(2.0)


@every_method
def test_a_value_that_does_not_fit_an_integer_column_promotes_it(method):
    X = whole()
    X[:, 1] = np.arange(80) % 5
    ways = {"bins": sd.Uniform(7)} if method in ACCUMULATED else {"grid": [0.25, 3.5]}
    model = Remembers(lambda X: 0.5 * X[:, 0] + X[:, 1])
    es = sd.explain(model, X, [0, 1], method=METHODS[method](**ways))
    swept = [s for s in model.seen if s.dtype == float]
    if method in ("ale", "pdp", "ice"):
        assert swept
        assert any((s[:, 0] % 1 != 0).any() for s in swept)
    # A batch without fractional values is not promoted, even after one that was.
    assert any(s.dtype == X.dtype for s in model.seen)
    assert all((s % 1 != 0).any() for s in swept)
    assert rise(es["x0"]) == pytest.approx(0.5 * (es["x0"].x[-1] - es["x0"].x[0]))


def test_an_integer_array_is_itself_again_after_a_promotion():
    X = whole()
    codes = np.linspace(0, 1, 40)
    model = Remembers(lambda X: codes[X[:, 1].astype(int)] + X[:, 0])
    grid = {"x0": [0.5, 1.5], "x1": [1.0, 2.0], "x2": [3.0]}
    es = sd.explain(model, X, ["x0", "x1", "x2"], method=sd.PDP(grid=grid), heterogeneity_rows=0)
    # The features whose values fit share a call.
    assert [s.dtype.kind for s in model.seen[4:]] == ["f", "i"]
    assert rise(es["x1"]) == pytest.approx(codes[2] - codes[1])


# ------------------------------------------------------------------------------------ frames


def arrow(X):
    return pa.table({n: X[:, j] for j, n in enumerate(NAMES)})


def categories(X):
    frame = pd.DataFrame(X, columns=NAMES)
    return frame.assign(a=pd.Categorical(frame["a"], ordered=True))


FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas int8": lambda X: pd.DataFrame(X.astype(np.int8), columns=NAMES),
    "pandas Int64": lambda X: pd.DataFrame(X.astype(np.int64), columns=NAMES).astype("Int64"),
    "pandas Float64": lambda X: pd.DataFrame(X, columns=NAMES).astype("Float64"),
    "pandas arrow": lambda X: pd.DataFrame(X, columns=NAMES).astype("double[pyarrow]"),
    "pandas ordered categories": categories,
    "pandas, integer labels": pd.DataFrame,
    "pandas, shuffled index": lambda X: pd.DataFrame(
        X, columns=NAMES, index=np.arange(len(X))[::-1]
    ),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "polars Int32": lambda X: pl.DataFrame(X.astype(np.int32), schema=NAMES),
    "polars Float32": lambda X: pl.DataFrame(X.astype(np.float32), schema=NAMES),
    "arrow": arrow,
    "arrow, in chunks": lambda X: pa.concat_tables([arrow(X[:30]), arrow(X[30:])]),
}


@pytest.mark.parametrize(("kind", "method"), paired(FRAMES, METHODS))
def test_frames_of_every_library_and_type_give_the_numbers_of_an_array(method, kind):
    X = whole().astype(float)
    way = METHODS[method](
        **({"bins": sd.Edges([0, 10, 20, 40])} if method in ACCUMULATED else {"grid": [0, 7, 39]})
    )
    e = sd.explain(model_of, FRAMES[kind](X), 0, method=way)
    same_effect(e, sd.explain(model_of, X, 0, method=way))


@pytest.mark.parametrize(
    ("kind", "method"),
    paired(
        ["pandas", "pandas int8", "pandas Int64", "pandas arrow", "polars Int32", "arrow"],
        METHODS,
    ),
)
def test_a_callable_gets_the_same_kind_of_frame_columns_in_order_and_types_kept(method, kind):
    X = FRAMES[kind](whole())
    model = Remembers(lambda X: np.asarray(X["a"], dtype=float) + np.asarray(X["c"], dtype=float))
    way = METHODS[method](
        **({"bins": sd.Edges([0, 8, 39])} if method in ACCUMULATED else {"grid": [0, 7, 39]})
    )
    sd.explain(model, X, ["c", "a"], method=way)
    assert {type(s) for s in model.seen} == {type(X)}
    for s in model.seen:
        if isinstance(X, (pa.Table, pl.DataFrame)):
            assert s.schema == X.schema
        else:
            pd.testing.assert_series_equal(s.dtypes, X.dtypes)


@pytest.mark.parametrize("kind", ["pandas int8", "pandas Int64", "polars Int32"])
def test_a_fraction_promotes_the_swept_column_of_a_frame_and_no_other(kind):
    X = FRAMES[kind](whole())
    model = Remembers(lambda X: np.asarray(X["a"], dtype=float))
    e = sd.explain(model, X, "a", method=sd.PDP(grid=[0.5, 1.0]), heterogeneity_rows=0)
    np.testing.assert_allclose(e.value, [0.5, 1.0])
    seen = model.seen[-1]
    types = [str(s) for s in seen.schema.types] if isinstance(X, pa.Table) else None
    types = [str(t) for t in (types or getattr(seen, "dtypes", None))]
    own = X.schema.types if isinstance(X, pa.Table) else X.dtypes
    assert types[0].lower() in ("float64", "double")
    assert types[1:] == [str(t) for t in own][1:]


def test_a_boolean_column_stays_boolean_where_it_is_swept_by_its_own_values():
    yes = np.arange(30) % 2 == 0
    for frame in (pd.DataFrame({"a": yes}), pl.DataFrame({"a": yes}), pa.table({"a": yes})):
        model = Remembers(lambda X: np.asarray(X["a"]).astype(bool) * 2.0)
        e = sd.explain(model, frame, "a", method="pdp", schema={"a": "ordinal"})
        np.testing.assert_allclose(e.value, [0.0, 2.0])
        assert {np.asarray(s["a"]).dtype for s in model.seen} == {np.dtype(bool)}


@pytest.mark.parametrize(
    ("method", "library"), paired(METHODS, ["pandas", "nullable", "object", "polars", "arrow"])
)
def test_each_librarys_own_missing_values_are_missing(method, library):
    X = whole().astype(float)
    X[[2, 9], 0] = np.nan
    values = [None if np.isnan(v) else int(v) for v in X[:, 0]]
    rest = {"b": X[:, 1], "c": X[:, 2]}
    frame = {
        "pandas": lambda: pd.DataFrame({"a": X[:, 0], **rest}),
        "nullable": lambda: pd.DataFrame({"a": pd.array(values, dtype="Int64"), **rest}),
        "object": lambda: pd.DataFrame(
            {"a": pd.array(values, dtype="Int64").astype(object), **rest}
        ),
        "polars": lambda: pl.DataFrame({"a": values, **rest}),
        "arrow": lambda: pa.table({"a": values, **rest}),
    }[library]()

    def model(X):
        a = X["a"] if isinstance(X, pd.DataFrame) else X["a"].to_numpy()
        a = pd.Series(a).astype("Float64").to_numpy(dtype=float, na_value=np.nan)
        return np.where(np.isnan(a), 1.0, a**2) + np.asarray(X["b"])

    e = sd.explain(model, frame, "a", method=method)
    plain = sd.explain(
        lambda X: np.where(np.isnan(X[:, 0]), 1.0, X[:, 0] ** 2) + X[:, 1], X, 0, method=method
    )
    assert e.missing == 2
    same_effect(e, plain, rtol=1e-9)


@pytest.mark.parametrize("narwhals", [nw, nw_v1, nw_v2])
@pytest.mark.parametrize("native", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_narwhals_are_explained_as_frames_of_their_library(native, narwhals):
    X = native({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 5.0]})
    source = as_dataset(narwhals.from_native(X))
    (batch,) = source.batches(3)
    assert [f.name for f in source.features] == ["a", "b"]
    assert type(batch.tile(1).own()) is type(X)


# ------------------------------------------------- estimators receive the container of their fit


def fitted_target(X):
    return np.sin(X[:, 0]) + X[:, 1] * X[:, 2]


MODELS = {
    "linear": LinearRegression,
    "pipeline": lambda: make_pipeline(StandardScaler(), LinearRegression()),
    "forest": lambda: RandomForestRegressor(5, random_state=0),
    "tree": lambda: DecisionTreeRegressor(max_depth=4, random_state=0),
    "by name": lambda: make_pipeline(
        ColumnTransformer(
            [("scaled", StandardScaler(), ["a", "b"]), ("rest", "passthrough", ["c"])]
        ),
        LinearRegression(),
    ),
}


@functools.cache
def fitted_on(kind, name):
    """Return a model that was fitted on a frame of a kind."""
    return MODELS[name]().fit(FRAMES[kind](table()), fitted_target(table()))


@pytest.mark.parametrize(
    ("name", "method", "kind"), paired(MODELS, ["ale", "pdp", "rhale"], ["pandas", "polars"])
)
def test_estimators_fitted_on_a_frame_get_frames_without_a_warning(name, method, kind):
    model = fitted_on(kind, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        es = sd.explain(model, FRAMES[kind](table()), method=method)
    same = fitted_on("pandas", name)
    plain = sd.explain(same.predict, FRAMES["pandas"](table()), method=method)
    if method != "rhale":  # closed forms and steps differ from central differences
        for feature in NAMES:
            np.testing.assert_allclose(es[feature].value, plain[feature].value, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "kind"),
    paired([n for n in MODELS if n != "by name"], ["pandas", "polars", "arrow", "pandas Float64"]),
)
def test_estimators_fitted_on_arrays_get_arrays_whatever_x_is(name, kind):
    X = table()
    model = MODELS[name]().fit(X, fitted_target(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        es = sd.explain(model, FRAMES[kind](X), method="rhale")
    plain = sd.explain(model, X, method="rhale")
    assert list(es) == NAMES
    for feature, other in zip(NAMES, plain.values(), strict=True):
        same_effect(es[feature], other)


def test_a_frame_with_booleans_reaches_a_model_of_arrays_as_numbers():
    X = table()
    X[:, 2] = X[:, 2] > 0
    frame = FRAMES["pandas"](X).astype({"c": bool})
    model = Remembers(LinearRegression().fit(X, fitted_target(X)).predict)
    model.n_features_in_ = 3
    es = sd.explain(model, frame, ["a", "b"], method="ale")
    assert {s.dtype for s in model.seen} == {np.dtype(float)}
    same_effect(es["a"], sd.explain(model, X, 0, method="ale"))


# -------------------------------------------------------------- the caller's data are not changed


def writes_array(X):
    X[:, 1] = 0.0
    return X[:, 0] * 2.0


@pytest.mark.parametrize(("method", "n"), paired(METHODS, [5, 500]))
def test_a_model_that_writes_into_its_array_is_refused_and_changes_nothing(method, n):
    X = table(n)
    before = X.copy()
    with refused(sd.ModelOutputError, "written to", "X.copy()"):
        sd.explain(writes_array, X, 0, method=method)
    np.testing.assert_array_equal(X, before)


def test_a_slope_function_that_writes_changes_nothing_of_the_callers():
    def slope(X):
        out = bent_slope(X)
        X[:] = 0.0
        return out

    X = table()
    before = X.copy()
    e = sd.explain(sd.prediction(bent, slope=slope), X, 0, method="rhale")
    np.testing.assert_array_equal(X, before)
    same_effect(e, sd.explain(sd.prediction(bent, slope=bent_slope), X, 0, method="rhale"))
