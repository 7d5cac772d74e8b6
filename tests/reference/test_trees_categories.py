"""Tree evaluation gives the same results as calling the model: categories, containers, and rows that are hard to
encode.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import skedasis as sd
from skedasis.data.dataset import as_dataset
from skedasis.trees.pipeline import read_forest
from tests.reference.tree_cases import (
    EXACT,
    QUIET,
    SINGLE,
    alike,
    categories,
    grown,
    number,
    rows,
    same,
    turns,
)

FRAME, TARGET = categories()
LEVELS = {
    "ale": sd.ALE(bins=6),
    "ale top": sd.ALE(bins=6, top_levels=2),
    "pdp": sd.PDP(grid=6),
    "pdp centred": sd.PDP(grid=6, center="mean"),
    "pdp alone": sd.PDP(grid=6, heterogeneity=False),
    "rhale": sd.RHALE(bins=sd.Optimal(max_bins=9)),
    "mplot": sd.MPlot(bins=6),
    "pfi": sd.PFI(n_repeats=3, local="all"),
}


def histograms(X: Any, y: Any, **options: Any) -> Any:
    """Return a fitted histogram gradient boosting model with native categories."""
    kind = pytest.importorskip("sklearn.ensemble").HistGradientBoostingRegressor
    return kind(max_iter=15, min_samples_leaf=3, random_state=0, **options).fit(X, y)


def lightgbm(X: Any, y: Any, **options: Any) -> Any:
    """Return a fitted LightGBM model with many categorical splits."""
    named = {k: options.pop(k) for k in ("categorical_feature",) if k in options}
    easy = {"min_data_per_group": 3, "cat_smooth": 1.0, "min_child_samples": 3}
    kind = pytest.importorskip("lightgbm").LGBMRegressor
    return kind(**{**QUIET, **easy, **options}).fit(X, y, **named)


def xgboost(X: Any, y: Any, **options: Any) -> Any:
    """Return a fitted XGBoost model with sets of categories."""
    kind = pytest.importorskip("xgboost", minversion="3.1").XGBRegressor
    given = {"n_estimators": 9, "enable_categorical": True, "max_cat_to_onehot": 1, "n_jobs": 1}
    return kind(**{**given, **options}).fit(X, y)


def of_categories(library: str) -> Any:
    """Return a model fitted on `FRAME`."""
    if library == "lightgbm":
        return lightgbm(FRAME, TARGET)
    if library == "xgboost":
        return xgboost(FRAME, TARGET)
    return histograms(FRAME, TARGET, categorical_features="from_dtype")


EVERY_LIBRARY = pytest.mark.parametrize("library", ["histograms", "lightgbm", "xgboost"])


def explained(model: Any, X: Any, method: Any, features: Any = None, **options: Any) -> Any:
    """Compare tree evaluation with calling the model; importance is that of a loss."""
    options |= tolerance(model)
    if isinstance(method, sd.PFI):
        return alike(sd.loss(model), X, y=TARGET[: len(X)], method=method, **options)
    return alike(model, X, features, method=method, **options)


def tolerance(model: Any) -> dict[str, float]:
    """Return how far apart the two may be, as an option of `alike`."""
    return {"tol": SINGLE} if type(model).__module__.startswith("xgboost") else {}


def unseen() -> pd.DataFrame:
    """Return rows in which some categories are unseen or missing."""
    text = FRAME["c"].astype(object).to_numpy(copy=True)
    text[::7], text[3::11] = "new", None
    code = FRAME["k"].astype(object).to_numpy(copy=True)
    code[::9] = None
    columns = {"c": pd.Categorical(text, categories=["u", "new", "v", "w", "x"])}
    return FRAME.assign(**columns, k=pd.Categorical(code, categories=[1, 7, 30]))


@pytest.mark.parametrize(
    ("method", "library"),
    turns(LEVELS, ["histograms", "lightgbm"], "ale", "pdp centred", "pdp alone", "pfi"),
)
def test_categories_that_are_new_or_missing(library: str, method: str) -> None:
    explained(of_categories(library), unseen(), LEVELS[method])


@pytest.mark.parametrize("method", ["ale", "pdp centred", "pdp alone", "pfi"])
def test_categories_of_xgboost_that_are_missing(method: str) -> None:
    """Unknown ones are refused, see below."""
    explained(of_categories("xgboost"), missing(), LEVELS[method])


def missing() -> pd.DataFrame:
    """Return rows with missing values, and the categories in another order."""
    code = FRAME["k"].astype(object).to_numpy(copy=True)
    code[::9] = None
    text = FRAME["c"].cat.reorder_categories(list(FRAME["c"].cat.categories)[::-1])
    return FRAME.assign(c=text, k=pd.Categorical(code, categories=[30, 7, 1]))


@pytest.mark.slow
@EVERY_LIBRARY
def test_pairs_with_categories(library: str) -> None:
    model, pairs = of_categories(library), [("a", "c"), ("c", "k"), ("a", "b")]
    lost = missing() if library == "xgboost" else unseen()
    for X in (FRAME.assign(b=FRAME["b"].fillna(0.0)), lost.assign(b=0.5 * FRAME["a"])):
        tol = tolerance(model)
        alike(model, X, pairs, method=sd.ALE(bins=4, order="similarity"), **tol)
        alike(model, X, pairs, method=sd.PDP(grid=4), **tol)
        alike(model, X, pairs, method=sd.PDP(grid=3, heterogeneity=False), **tol)


@EVERY_LIBRARY
def test_ordinal_ones_levels_by_name_and_weights(library: str) -> None:
    model = of_categories(library)
    tol = tolerance(model)
    weights = np.random.default_rng(2).integers(0, 3, len(FRAME))
    order = {"c": sd.Feature("c", "ordinal", levels=("x", "u", "w", "v"))}
    alike(model, FRAME, "c", method=sd.ALE(), schema=order, sample_weight=weights, **tol)
    alike(model, FRAME, "c", method=sd.PDP(grid={"c": ["v", "x"]}), sample_weight=weights, **tol)
    alike(model, FRAME, "k", method=sd.PDP(grid={"k": [7, 30]}, heterogeneity=False), **tol)
    alike(model, FRAME, "k", method=sd.PDP(anchor={"k": 7}), **tol)


@EVERY_LIBRARY
def test_groups_of_columns(library: str) -> None:
    model = of_categories(library)
    tol = tolerance(model)
    groups = {"both": ["c", "k"], "numbers": ["a", "b"]}
    alike(sd.loss(model), FRAME, y=TARGET, method=sd.PFI(n_repeats=3, groups=groups), **tol)
    alike(model, FRAME, "both", groups={"both": ["c", "k"]}, method=sd.ALE(), **tol)


# ---------------------------------------------------------------------- numeric category codes

PLACES = np.array([4.0, 0.0, 9.0, 2.0, 7.0, 40.0])


def coded() -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose third column has numbers as category codes."""
    X = rows().copy()
    X[:, 2] = PLACES[(X[:, 2] + 2).astype(int)]
    return X, np.array([1.0, -2.0, 0.5, 3.0, -1.0, 2.0])[
        np.searchsorted(np.sort(PLACES), X[:, 2])
    ] * X[:, 0]


KINDS = {"a number": None, "nominal": {2: "nominal"}, "ordinal": {2: "ordinal"}}


@pytest.mark.parametrize(
    ("library", "method", "kind"),
    [
        ("histograms", "ale", "a number"),
        ("lightgbm", "pdp", "nominal"),
        ("histograms", "pdp alone", "ordinal"),
    ],
)
def test_categories_that_are_numbers(library: str, method: str, kind: str) -> None:
    X, y = coded()
    make = (
        (lambda: histograms(X, y, categorical_features=[2]))
        if library == "histograms"
        else (lambda: lightgbm(X, y, categorical_feature=[2]))
    )
    model, Z = make(), X.copy()
    alike(model, X, [0, 2], method=LEVELS[method], schema=KINDS[kind])
    # Between categories, missing, and unseen; inserted as grid values and as donors' values.
    Z[::5, 2], Z[1::6, 2], Z[2::7, 2] = 5.0, np.nan, 1e12 if library == "lightgbm" else 77.0
    if kind == "a number":
        Z[3::9, 2], Z[4::9, 2] = 2.5, -0.5
    alike(model, Z, [0, 2], method=LEVELS[method], schema=KINDS[kind])


# ------------------------------------------------------------------------------------ containers


@pytest.mark.parametrize(
    ("kind", "case"),
    turns(
        ["float32", "pandas", "arrow", "int", "fortran", "view", "read-only", "polars"],
        ["boosting", "histograms", "lightgbm", "boosting"],
        *("float32", "pandas", "arrow"),
    ),
)
def test_every_container(case: str, kind: str) -> None:
    X, y = rows(), number(rows())
    made = {
        "float32": lambda: X.astype(np.float32),
        "int": lambda: np.rint(X * 5).astype(np.int32),
        "fortran": lambda: np.asfortranarray(X),
        "view": lambda: np.repeat(X, 2, axis=0)[::2],
        "read-only": lambda: X,
        "pandas": lambda: pd.DataFrame(X, columns=list("abcde"), index=np.arange(len(X)) * 3),
        "polars": lambda: pl.DataFrame(X, schema=list("abcde")),
        "arrow": lambda: pa.table({name: X[:, j] for j, name in enumerate("abcde")}),
    }
    Z = made[kind]()
    model = _unfitted(case)
    model.fit(Z, y)
    weights = np.random.default_rng(1).integers(0, 2, len(X))
    alike(model, Z, method=sd.ALE(bins=5), sample_weight=weights)
    alike(model, Z, method=sd.PDP(grid=5))
    alike(model, Z, method=sd.PDP(grid=5, heterogeneity=False), sample_weight=weights)


def _unfitted(case: str) -> Any:
    from sklearn.base import clone

    model, _, _ = grown(case)
    return clone(model)


# --------------------------------------------------------------------------------- rows, values


@pytest.mark.parametrize(
    ("case", "n"),
    [("boosting", 1), ("leaf", 2), ("histograms", 63), ("lightgbm", 64), ("forest 2", 65)],
)
def test_few_rows(case: str, n: int) -> None:
    model, X, _ = grown(case)
    for method in (sd.ALE(bins=3), sd.PDP(grid=4, ice="all"), sd.PDP(grid=4, heterogeneity=False)):
        alike(model, X[:n], [0, 3], method=method)
    if n > 1:
        alike(model, X[:n], method=sd.PFI(n_repeats=2))
        alike(model, X[:n], (0, 1), method=sd.PDP(grid=3))


@pytest.mark.parametrize("case", ["tree", "boosting", "histograms", "lightgbm", "xgboost"])
def test_values_on_thresholds(case: str) -> None:
    from skedasis.trees.readers import load

    model, X, _ = grown(case)
    trees, Z = load(model), X.copy()
    rng = np.random.default_rng(0)
    for j in range(X.shape[1]):
        own = trees.threshold[(trees.feature == j) & (np.abs(trees.threshold) < 1e30)]
        if len(own):
            at = rng.choice(own, len(Z))
            Z[:, j] = np.nextafter(at, at + rng.integers(-1, 2, len(Z)))
    tol = 1e-4 if case == "xgboost" else EXACT
    alike(model, Z, method=sd.ALE(bins=7), tol=tol)
    alike(model, Z, method=sd.PFI(n_repeats=2), tol=tol)
    grid = {j: np.unique(Z[:, j])[::3] for j in range(4)}
    alike(model, Z, method=sd.PDP(grid=grid), tol=tol)
    alike(model, Z, method=sd.PDP(grid=grid, heterogeneity=False), tol=tol)


# ------------------------------------------------------------- arrays for models of data frames


CODES = np.column_stack(
    [FRAME[c].cat.codes if FRAME[c].dtype == "category" else FRAME[c] for c in FRAME]
).astype(float)
CODES[CODES == -1] = np.nan
NO_NAMES = "ignore:X does not have valid feature names:UserWarning"


def coded_models(library: str) -> list[tuple[Any, Any]]:
    """Return an estimator and its booster, which were fitted on `FRAME`, and what each predicts from codes."""
    if library == "lightgbm":
        model = lightgbm(FRAME, TARGET)
        return [(model, model.predict), (model.booster_, model.booster_.predict)]
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRegressor(n_estimators=9, enable_categorical=True, max_cat_to_onehot=1)
    model.fit(FRAME, TARGET)
    return [(model, model.predict), (model.get_booster(), model.predict)]


@pytest.mark.filterwarnings(NO_NAMES)
@pytest.mark.parametrize("tree", ["auto", "off"])
@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_numbers_in_arrays_are_codes_of_the_categories_of_a_data_frame(library, tree) -> None:
    """As in the libraries' own `predict`, whose mean over the rows is the partial dependence."""
    for model, predict in coded_models(library):
        np.testing.assert_allclose(predict(CODES), predict(FRAME), rtol=1e-6)
        for name, values in (("x0", [-0.3, 0.4]), ("x2", [0.0, 1.0, 7.0]), ("x3", [1.0, 2.0])):
            effect = sd.explain(model, CODES, name, method=sd.PDP(grid=values), tree=tree)
            for value, mean in zip(values, effect.value, strict=True):
                moved = CODES.copy()
                moved[:, int(name[1])] = value
                assert mean == pytest.approx(predict(moved).mean(), rel=1e-5)
            assert (effect.provenance["effect_rows"] > 0) == (tree == "off")


# ------------------------------------------------------------------- categories of XGBoost by name


def text_frames() -> dict[str, Any]:
    """Return the same rows as data frames of several libraries, whose dictionaries have several orders."""
    f = FRAME[["a", "c"]].assign(b=FRAME["b"].fillna(0.0))
    polars = pl.from_pandas(f)
    arrow = pa.array(f["c"].astype(str)).dictionary_encode()
    return {
        "pandas": f,
        "polars": polars,
        "enum": polars.with_columns(pl.col("c").cast(pl.Enum(["w", "u", "x", "v"]))),
        "arrow": pa.table({"a": f["a"], "c": arrow, "b": f["b"]}),
    }


@pytest.mark.parametrize("trained", ["pandas", "enum"])
@pytest.mark.parametrize("explained_on", ["pandas", "polars", "enum", "arrow"])
def test_names_of_xgboost_in_every_data_frame(trained: str, explained_on: str) -> None:
    frames = text_frames()
    model, X = xgboost(frames[trained], TARGET), frames[explained_on]
    alike(model, X, method=sd.ALE(bins=5), tol=SINGLE)
    alike(model, X, method=sd.PDP(grid=5, heterogeneity=False), tol=SINGLE)


@pytest.mark.parametrize("order", [1, -1])
def test_codes_of_models_without_names(order: int) -> None:
    """A model of arrays takes the codes of pandas' categories as they are, whatever their names."""
    pytest.importorskip("xgboost", minversion="3.1")
    model = xgboost(CODES, TARGET, feature_types=["q", "c", "q", "c"]).get_booster()
    c, k = FRAME["c"].cat, FRAME["k"].cat
    X = FRAME.assign(
        c=c.reorder_categories(c.categories[::order]), k=k.reorder_categories(k.categories[::order])
    )
    alike(model, X, method=sd.ALE(bins=5), tol=SINGLE)
    alike(model, X, "k", method=sd.PDP(grid={"k": [7, 30]}), tol=SINGLE)
    forest = read_forest(model, as_dataset(X), compiled=True)
    assert forest.ensemble.levels[1] == list(c.categories[::order])


NAMES = {
    "misread": ["é", "è", "u", "v"],
    "longer": ["Grün", "Gr", "Grau", "blau"],
    "of one beginning": ["日本", "日", "中国", "x"],
}


@pytest.mark.filterwarnings("ignore:.*the model is called:skedasis.TreeWarning")
@pytest.mark.parametrize("case", NAMES)
def test_names_beyond_ascii(case: str) -> None:
    """XGBoost cuts those of pandas by numbers of characters, and misreads them in another order."""
    drawn = np.random.default_rng(0).choice(NAMES[case], len(FRAME))
    c = pd.Categorical(drawn)
    X = pd.DataFrame({"a": FRAME["a"], "c": c})
    model = xgboost(X, np.array([1.0, -2.0, 3.0, 0.0])[c.codes] * FRAME["a"])
    alike(model, X, method=sd.PDP(grid=4), tol=SINGLE)
    try:
        model.predict(X.assign(c=c.reorder_categories(NAMES[case])))
    except ValueError:
        return
    for other in (X.assign(c=c.reorder_categories(NAMES[case])), pl.from_pandas(X)):
        found = sd.explain(model, other, method=sd.PDP(grid=4))
        same(found, sd.explain(model, other, method=sd.PDP(grid=4), tree="off"), SINGLE)
        assert found.provenance["effect_rows"] > 0


def test_a_level_that_xgboost_does_not_know_is_left_to_it() -> None:
    """Some versions raise, and others take the next name in alphabetical order."""
    model = xgboost(FRAME, TARGET)
    code = FRAME["k"].astype(object).to_numpy(copy=True)
    code[150] = 5
    X = FRAME.assign(k=pd.Categorical(code, categories=[1, 5, 7, 30]))
    try:
        model.predict(X)
    except ValueError:
        pytest.skip("this version raises")
    with pytest.warns(sd.TreeWarning, match="has the level 5, which this XGBoost model"):
        found = sd.explain(model, X, ["a", "k"], method=sd.PDP(grid=4))
    same(found, sd.explain(model, X, ["a", "k"], method=sd.PDP(grid=4), tree="off"))


def test_categories_of_xgboost_behind_transformers() -> None:
    compose = pytest.importorskip("sklearn.compose")
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    X = FRAME.assign(b=np.where(np.arange(len(FRAME)) % 5 == 0, np.nan, FRAME["a"]))
    before = compose.ColumnTransformer(
        [("numbers", SimpleImputer(), ["b"])], remainder="passthrough"
    ).set_output(transform="pandas")
    model = make_pipeline(before, xgboost(before.fit_transform(X), TARGET))
    alike(model, X, method=sd.ALE(bins=5), tol=SINGLE)
    alike(model, X, "c", method=sd.PDP(), tol=SINGLE)


# ---------------------------------------------------------------------- numbers that are missing


@pytest.mark.parametrize("method", ["ale", "pdp", "pfi", "exact"])
@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "behind a scaler"])
def test_numbers_that_count_as_missing(library: str, method: str) -> None:
    X = np.round(rows() / [1.0, 1e3, 1.0, 1.0, 1.0], 1)
    X[::4, 0], X[1::6, 1] = 0.0, np.nan
    y = np.where(X[:, 0] == 0, X[:, 4], X[:, 0])
    if library == "lightgbm":
        model, tol = lightgbm(X, y, zero_as_missing=True), EXACT
    else:
        kind = pytest.importorskip("xgboost").XGBRegressor
        model, tol = kind(n_estimators=9, missing=0.0, n_jobs=1), SINGLE
        if library == "behind a scaler":
            from sklearn.pipeline import make_pipeline
            from sklearn.preprocessing import MaxAbsScaler

            model = make_pipeline(MaxAbsScaler(), model)
        model.fit(X, y)
    if method == "pfi":
        alike(sd.loss(model), X, y=y, method=sd.PFI(n_repeats=2), tol=tol)
    elif method != "exact":
        alike(model, X, method=LEVELS[method], tol=tol)
        alike(model, X, (0, 4), method=sd.PDP(grid=4), tol=tol)
    elif library != "behind a scaler":
        curve = sd.explain(model, X, 0, method=sd.PDP(grid="exact", heterogeneity=False))
        for x in (-1e-30, -1e-300, 0.0, 1e-300, 1e-30, -0.7, 0.7):
            moved = X.copy()
            moved[:, 0] = x
            assert curve([x])[0] == pytest.approx(model.predict(moved).mean(), rel=tol)
