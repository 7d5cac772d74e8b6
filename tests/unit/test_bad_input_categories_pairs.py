"""Bad input to effects of levels, pairs and groups: a correct result, or an error that states what is wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import skedasis as sd
from tests.helpers import frame, observed, paired, refused, rise
from tests.helpers import of_frame as model

N = 120
METHODS = {"ale": sd.ALE, "pdp": sd.PDP, "ice": sd.ICE, "mplot": sd.MPlot}
every_method = pytest.mark.parametrize("method", METHODS)


# ------------------------------------------------------------------------ levels unknown to the model


def encoded(X):
    """Return a pipeline fitted on these rows, which raises for any other level."""
    encoder = OneHotEncoder(handle_unknown="error")
    columns = make_column_transformer((encoder, ["c", "d"]), remainder="passthrough")
    return make_pipeline(columns, LinearRegression()).fit(X, model(X))


@pytest.mark.parametrize(("method", "first"), paired(METHODS, [False, True]))
def test_a_level_that_the_model_does_not_know_is_named(method, first):
    X = frame()
    fitted = encoded(X[X["c"] != "x"])
    # If no row of the unknown level is among the rows of the model check, the error comes from the computation itself.
    rare = X["c"] == "x"
    X = X[~rare | (rare & (rare.cumsum() <= (40 if first else 1)))].sort_values("c")
    with pytest.raises(ValueError, match=r"unknown categories \['x'\]") as caught:
        sd.explain(fitted, X.reset_index(drop=True), "c", method=method)
    notes = "\n".join(caught.value.__notes__)
    assert "levels of 'c': 'x'" in notes
    assert "while skedasis called prediction(Pipeline" in notes


def test_a_model_that_answers_nan_for_one_level_is_refused():
    with refused(sd.ModelOutputError, "prediction", "NaN or infinity", "finite numbers"):
        sd.explain(lambda Z: np.where(Z["c"] == "v", np.nan, 1.0), frame(), "c", method="ale")


# --------------------------------------------------------------------------- few rows and many levels


@every_method
def test_a_level_of_one_row_is_a_level_like_others(method):
    X = frame()
    X.loc[7, "c"] = "only"
    e = sd.explain(model, X, "c", method=method)
    place = list(e.levels.values).index("only")
    assert e.levels.count[place] == 1
    assert np.isfinite(e.value).all()
    assert np.isfinite(e.std_error).all()
    assert e.untrusted_rows == 1
    if method == "mplot":
        assert e.value[place] == pytest.approx(model(X)[7])
        assert np.isnan(e.heterogeneity[place])


@pytest.mark.parametrize(("method", "n"), [("ale", 1), ("pdp", 2), ("ice", 1), ("mplot", 2)])
def test_a_row_or_two_are_explained(method, n):
    X = frame(n)
    for name, e in sd.explain(model, X, method=method).items():
        assert np.isfinite(e.value).all(), name
        assert np.isfinite(e.importance), name
        assert np.isfinite(e.heterogeneity_score) or e.swap_score is None, name
    for pair in (("a", "b"), ("a", "c"), ("c", "d")):
        if method in ("ale", "pdp"):
            way = sd.ALE(order="similarity") if method == "ale" else method
            s = sd.explain(model, X, pair, method=way)
            assert np.isfinite(s.value).all()
            assert np.isfinite(s.interaction_strength())


@pytest.mark.parametrize("method", ["ale", "pdp", "mplot"])
def test_an_identifier_is_refused_by_name_and_left_out_of_all(method):
    n = 10_000
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=n), "id": [f"i{k}" for k in range(n)]})

    def f(Z):
        return Z["a"] * 1.0

    with refused(sd.DataError, "'id'", "10,000 levels", "2,000", "top_levels=50"):
        sd.explain(f, X, "id", method=method)
    with pytest.warns(
        sd.LeftOutWarning, match="1 feature with more than 2,000 levels was left out: id"
    ):
        es = sd.explain(f, X, method=METHODS[method]())
    assert list(es) == ["a"]
    with refused(sd.UnsupportedError, "only features with more than 2,000 levels (1 in all)"):
        sd.explain(lambda Z: np.zeros(len(Z)), X[["id"]], method=method)
    e = sd.explain(f, X, "id", method=METHODS[method](top_levels=50))
    assert len(e.levels) == 50
    assert e.provenance["rows_outside"] == n - 50


def test_the_levels_that_are_kept_are_the_most_frequent():
    X = frame()
    weights = X["c"].map({"u": 0.1, "v": 9.0, "w": 0.2, "x": 8.0}).to_numpy()
    e = sd.explain(model, X, "c", method=sd.ALE(top_levels=2), sample_weight=weights)
    assert sorted(e.levels.values) == ["v", "x"]
    assert e.provenance["rows_outside"] == X["c"].isin(["u", "w"]).sum()
    # One step: from v to x the code increases by 5. The local effect 5 a + 5 is averaged over the rows of both levels.
    seen = X["c"].isin(["v", "x"]).to_numpy()
    step = np.average(5 * X["a"][seen] + 5, weights=weights[seen])
    assert e(["x"]) - e(["v"]) == pytest.approx(step)
    for top in (0, -3, 1.5, True):
        with refused(sd.DataError, "top_levels", repr(top), "at least 1"):
            sd.explain(model, X, "c", method=sd.ALE(top_levels=top))


def test_rows_of_cut_levels_are_counted_in_pairs_too():
    X = frame()
    s = sd.explain(model, X, ("a", "c"), method=sd.ALE(top_levels=2, bins=3))
    assert s.cells.count.sum() < 2 * N
    assert s.provenance["rows_outside"] == N - s.moments["home"].count.sum() > 0


# ----------------------------------------------------------------------------------------- orders


def test_an_order_that_is_none_is_refused():
    X = frame()
    for order, words in (
        (["u", "v", "w"], ("no 'x'", "4 observed levels")),
        (["u", "v", "w", "x", "u"], ("twice",)),
        ({"c": ["u", "v"]}, ("no 'w', 'x'",)),
        ({"cc": ["u"]}, ("'cc'", "Did you mean 'c'")),
        ("alphabetical", ("'alphabetical'", "'similarity'")),
        (5, ("5", "a sequence of levels")),
    ):
        for wanted in ("c", ("a", "c")):
            with refused(sd.DataError, *words):
                sd.explain(model, X, wanted, method=sd.ALE(order=order))
    # Levels without rows are dropped.
    e = sd.explain(model, X, "c", method=sd.ALE(order=["zzz", "x", "w", "v", "u"]))
    assert e.levels.values == ("x", "w", "v", "u")


def test_two_nominal_features_need_orders():
    with refused(sd.UnsupportedError, "two categorical features", "'c'", "order", "'similarity'"):
        sd.explain(model, frame(), ("c", "d"), method="ale")
    # A feature with two levels needs no order: reversing it does not change the effect.
    s = sd.explain(model, frame(), ("c", "d"), method=sd.ALE(order={"c": list("uvwx")}))
    other = sd.explain(
        model, frame(), ("c", "d"), method=sd.ALE(order={"c": list("uvwx"), "d": list("qp")})
    )
    np.testing.assert_allclose(other.value[:, ::-1], s.value, atol=1e-12)


# ------------------------------------------------------------------------------------------ pairs


@pytest.mark.parametrize("method", ["rhale", "uale", "mplot"])
def test_methods_of_one_feature_refuse_a_pair(method):
    with refused(sd.UnsupportedError, "('a', 'b')", "two features", "ALE, DALE, PDP or ICE"):
        sd.explain(model, frame(), ("a", "b"), method=method)


def test_pairs_of_derivatives_refuse_categories_and_steps():
    X = frame()
    for pair in (("a", "c"), ("d", "b")):
        with refused(sd.UnsupportedError, "DALE", "a categorical feature", "sd.ALE()"):
            sd.explain(model, X, pair, method="dale")
    with refused(sd.UnsupportedError, "DALE", "piecewise constant", "sd.ALE()"):
        sd.explain(lambda Z: np.floor(4 * Z["b"]) * (Z["a"] > 0), X, ("a", "b"), method="dale")
    for bins in (sd.Optimal(), sd.Greedy(), sd.AutoUniform()):
        with refused(sd.UnsupportedError, type(bins).__name__, "Uniform, Quantile or Edges"):
            sd.explain(model, X, ("a", "b"), method=sd.ALE(bins=bins))


@pytest.mark.parametrize("method", ["ale", "dale"])
def test_constant_features_do_nothing_together(method):
    X = np.column_stack([np.full(N, 3.0), frame()["a"], np.full(N, 7.0)])

    def f(Z):
        return Z[:, 0] * Z[:, 1] + Z[:, 2]

    for pair, shape in (((0, 1), (1, 21)), ((1, 0), (21, 1)), ((0, 2), (1, 1))):
        s = sd.explain(f, X, pair, method=method)
        assert s.value.shape == shape
        assert not s.value.any()
        assert s.interaction_strength() == 0
        assert s(3.0, 7.0) == 0 or pair != (0, 2)
        if method == "ale":  # DALE: finite differences give no slope at a constant feature
            assert s.with_main_effects().value.shape == shape


def test_a_dependence_of_constant_features_is_that_of_the_other():
    X = np.column_stack([np.full(N, 3.0), frame()["a"]])
    s = sd.explain(lambda Z: Z[:, 0] * Z[:, 1], X, (0, 1), method=sd.PDP(grid={"x1": [0.0, 2.0]}))
    np.testing.assert_array_equal(s.value, [[0.0, 6.0]])


def test_a_category_of_one_level_does_nothing_with_another():
    X = frame().assign(c="u")
    for other in ("a", "d"):
        s = sd.explain(model, X, ("c", other), method=sd.ALE(order="similarity"))
        assert s.value.shape[0] == 1
        assert not s.value.any()


@pytest.mark.parametrize("method", ["ale", "dale", "pdp"])
def test_rows_without_a_value_of_a_pair_are_in_no_cell(method):
    X = np.random.default_rng(0).normal(size=(N, 3))
    X[:20, 0] = np.nan
    X[10:30, 1] = np.nan

    def f(Z):
        return np.nan_to_num(Z[:, 0]) * np.nan_to_num(Z[:, 1]) + Z[:, 2]

    if method != "pdp":  # fixed edges: automatic ones would depend on the incomplete rows
        method = {"ale": sd.ALE, "dale": sd.DALE}[method](bins=sd.Edges([-5.0, -0.5, 0.3, 5.0]))
    s = sd.explain(f, X, (0, 1), method=method)
    assert np.isfinite(s.value).all()
    assert np.isfinite(s.interaction_strength())
    if method == "pdp":
        return
    assert s.cells.count.sum() == N - 30
    complete = sd.explain(f, X[30:], (0, 1), method=method)
    np.testing.assert_allclose(s.value, complete.value, atol=1e-6)
    # The model is not called for incomplete rows. It must accept missing values in other features only.
    taken = sd.explain(lambda Z: Z[:, 0] * Z[:, 1], X, (0, 1), method=method)
    assert taken.cells.count.sum() == N - 30
    with refused(sd.ModelOutputError, "NaN or infinity", "impute"):
        sd.explain(lambda Z: Z[:, 0] * Z[:, 1], X, (1, 2), method=method)


def test_a_pair_of_which_no_row_has_both_values_is_refused():
    X = np.random.default_rng(0).normal(size=(N, 2))
    X[: N // 2, 0] = np.nan
    X[N // 2 :, 1] = np.nan
    with refused(sd.DataError, "x0", "x1"):
        sd.explain(lambda Z: np.nan_to_num(Z).sum(axis=1), X, (0, 1), method="ale")


# --------------------------------------------------------------------------- labels, grids and anchors


def test_grids_of_levels_that_nobody_has_are_refused():
    X = frame()
    for grid in (["u", "zz"], {"c": ["zz"]}):
        for wanted in ("c", ("a", "c")):
            grids = {"c": grid} if isinstance(grid, list) else grid
            with refused(sd.DataError, "PDP(grid) of 'c'", "'zz'", "'u', 'v'"):
                sd.explain(model, X, wanted, method=sd.PDP(grid=grids))
    with refused(sd.DataError, "PDP(grid) of 'c'", "twice"):
        sd.explain(model, X, "c", method=sd.PDP(grid={"c": ["u", "u"]}))
    with refused(sd.DataError, "PDP(grid) of 'a'", "numbers"):
        sd.explain(model, X, "a", method=sd.PDP(grid=["u", "v"]))
    with refused(sd.DataError, "'q'", "'a'"):
        sd.explain(model, X, "a", method=sd.PDP(grid={"q": [0.0]}))
    for wanted in ("c", ["a", "c"]):
        for method in (sd.PDP, sd.ICE):
            with refused(sd.DataError, "(grid) of 'c'", "got 0.5", "'u', 'v'", "grid={'c': ['u']}"):
                sd.explain(model, X, wanted, method=method(grid=[0.5, 1.0]))
    every = sd.explain(model, X, method=sd.PDP(grid=[0.5, 1.0]))  # for the numeric features
    assert every["c"].value.shape == (len(set(X["c"])),)


def test_anchors_that_are_nowhere_are_refused():
    X = frame()
    for anchor in (np.nan, np.inf, "u"):
        with refused(sd.DataError, "PDP(anchor)", "a finite number"):
            sd.explain(model, X, "a", method=sd.PDP(anchor=anchor))
    for anchor in ("zz", 0.5, np.nan):
        with refused(sd.DataError, "PDP(anchor)", "one of the levels", "'u', 'v'"):
            sd.explain(model, X, "c", method=sd.PDP(anchor=anchor))
    with refused(sd.DataError, "PDP(anchor)", "'w'", "that is shown"):
        sd.explain(model, X, "c", method=sd.PDP(grid={"c": ["u", "v"]}, anchor="w"))
    with refused(sd.DataError, "PDP(anchor)", "'zz'"):
        sd.explain(model, X, method=sd.PDP(anchor={"zz": 1.0}))
    with refused(sd.DataError, "anchor", "an anchor alone"):
        sd.PDP(anchor=1.0, center="mean")
    es = sd.explain(model, X, method=sd.PDP(anchor={"a": 0.5, "c": "v"}))
    assert es["c"](["v"]) == 0
    assert es["a"](0.5) == pytest.approx(0.0, abs=0.1)


# ----------------------------------------------------------------------------------- several outputs


def two(X):
    return np.column_stack([X["a"], X["b"]])


def test_outputs_that_are_not_there_are_refused():
    X = frame()
    for q, words in (
        (sd.prediction(two, output=2), ("prediction 2", "(64, 2)", "column 2")),
        (sd.prediction(two, output=-3), ("prediction -3", "column -3")),
        (sd.prediction(two, output=["r", "s", "t"]), ("2 outputs", "expected 3", "output='all'")),
        (sd.prediction(lambda Z: Z["a"], output="all"), ("(2,)", "Leave output out")),
        (sd.prediction(lambda Z: Z["a"], output=0), ("(64,)", "Leave output out")),
    ):
        with refused(sd.ModelOutputError, *words):
            sd.explain(q, X, "a", method="ale")
    for output in (["r", "r"], [], [0, 1], True, 1.5, "every"):
        with refused(sd.DataError, "prediction(output)", "'all'"):
            sd.prediction(two, output=output)


class Classifier:
    """A fitted classifier with arbitrary class names; the probability of the first class increases with a."""

    _estimator_type = "classifier"

    def __init__(self, *classes):
        self.classes_ = np.array(classes)

    def fit(self, X, y):
        """Do nothing: the classifier is already fitted."""

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X):
        first = 1 / (1 + np.exp(-X["a"].to_numpy()))
        rest = (1 - first) / (len(self.classes_) - 1)
        return np.column_stack([first, *[rest] * (len(self.classes_) - 1)])


def test_a_class_that_is_called_all_is_meant_itself():
    for quantity in (sd.probability, sd.logit):
        e = sd.explain(
            quantity(Classifier("all", "none"), class_="all"), frame(), "a", method="ale"
        )
        assert isinstance(e, sd.Effect)
        assert rise(e) > 0
    found = sd.explain(
        sd.probability(Classifier("no", "yes", "maybe"), class_="all"), frame(), "a", method="ale"
    )
    assert list(found) == ["no", "yes", "maybe"]
    total = sum(part.value for part in found.values())
    np.testing.assert_allclose(total, 0.0, atol=1e-12)
    with refused(sd.UnsupportedError, "class_='all'", "LinearRegression", "output='all'"):
        sd.probability(LinearRegression().fit([[0.0], [1.0]], [0, 1]), class_="all")


# ----------------------------------------------------------------------------------------- groups


def blocks():
    """Return two numeric columns and a one-hot block of three columns."""
    X = frame()
    code = np.arange(N) % 3
    return pd.DataFrame({"a": X["a"], **{f"h_{k}": (code == k) * 1 for k in range(3)}, "k": X["b"]})


def of_block(X):
    return X["a"] * X["h_0"] + 2.0 * X["h_1"]


BLOCK = ["h_0", "h_1", "h_2"]


def test_a_column_that_is_moved_with_others_is_not_asked_for_alone():
    options = {"groups": {"district": BLOCK}, "method": "ale"}
    for wanted in ("h_1", 1, ["a", "h_1"], ("a", "h_1")):
        with refused(sd.DataError, "a column of the group", "'district'"):
            sd.explain(of_block, blocks(), wanted, **options)
    assert list(sd.explain(of_block, blocks(), **options)) == ["a", "district", "k"]


@pytest.mark.parametrize("method", ["rhale", "uale", "dale"])
def test_groups_have_no_slopes(method):
    options = {"groups": {"district": BLOCK}, "method": method}
    with refused(sd.UnsupportedError, "'district'", "nominal", "sd.ALE()"):
        sd.explain(of_block, blocks(), "district", **options)
    e = sd.explain(of_block, blocks(), **options)["district"]
    assert e.spec.method == "ALE"
    assert method.upper() in e.provenance["instead_of"]


# ----------------------------------------------------------------------------------------- missing


EMPTY = {
    "number": (np.nan, None),
    "nominal": (pd.Series([None] * N, dtype=object), None),
    "ordinal": (pd.Categorical([None] * N, categories=["lo", "hi"], ordered=True), None),
}


@pytest.mark.parametrize(("kind", "method"), paired(EMPTY, METHODS))
def test_a_feature_without_any_value_is_refused(kind, method):
    X = frame().assign(e=EMPTY[kind][0])
    with refused(sd.DataError, "feature 'e'", "only missing values", "Leave the feature out"):
        sd.explain(model, X, "e", method=method)
    if method in ("ale", "pdp"):
        with refused(sd.DataError, "feature 'e'", "only missing values"):
            sd.explain(model, X, ("a", "e"), method=method)


EXPLAINERS = {
    "explain": lambda X: sd.explain(model, X),
    "pdp": lambda X: sd.explain(model, X, method="pdp"),
    "several": lambda X: sd.explain([model, model], X, refits=True),
    "regions": lambda X: sd.regions(model, X),
    "interactions": lambda X: sd.interactions(model, X, max_rows=20),
    "variance_shares": lambda X: sd.variance_shares(model, X),
    "drift": lambda X: sd.drift(model, X, X_new=X[: len(X) // 2]),
    "streamed": lambda X: sd.explain(model, X),
}


@pytest.mark.parametrize("explained_by", EXPLAINERS)
def test_features_without_any_value_are_left_out_of_all(explained_by, tmp_path):
    """The others are explained as if the column were a constant that the model does not use."""
    full = frame().assign(k=np.arange(N) % 3)
    full["k"] = full["k"].map({0: "u", 1: "v", 2: "w"})
    X = full.assign(e=np.nan, o=pd.Series([None] * N, dtype=object))
    if explained_by == "streamed":
        for name, table in (("full", full), ("X", X)):
            table.to_parquet(tmp_path / f"{name}.parquet")
        full, X = (sd.parquet(tmp_path / f"{name}.parquet") for name in ("full", "X"))
    with pytest.warns(sd.LeftOutWarning, match=r"2 features with only missing values .*: e, o\."):
        found = EXPLAINERS[explained_by](X)
    if explained_by in ("explain", "pdp", "streamed"):
        expected = EXPLAINERS[explained_by](full)
        assert list(found) == list(expected)
        for name, effect in expected.items():
            np.testing.assert_array_equal(found[name].value, effect.value)


def test_nothing_but_features_without_any_value_is_refused():
    with refused(sd.DataError, "feature 'e'", "only missing values"):
        sd.explain(model, pd.DataFrame({"e": np.full(N, np.nan), "f": np.full(N, np.nan)}))


@pytest.mark.parametrize("fails", [True, False])
@pytest.mark.parametrize("method", [sd.ALE(bins=4), sd.RHALE(), sd.DALE(bins=3)])
def test_a_model_that_takes_no_missing_values_costs_the_point_only(method, fails):
    """Only the missing-value point needs the model at missing values. Its failure is recorded in the provenance."""
    X = np.random.default_rng(0).normal(size=(400, 2))
    X[1, 0] = X[3, 0] = np.nan  # not among the rows of the model check

    def f(Z):
        if fails and np.isnan(Z).any():
            raise ValueError("Input X contains NaN.")
        return 2 * Z[:, 0] + Z[:, 1]

    e = sd.explain(f, X, 0, method=method)
    assert e.missing == 2
    assert e.missing_point is None
    assert "no point for missing values" in e.provenance["missing"]
    assert ("contains NaN" if fails else "NaN or infinity") in e.provenance["missing"]
    assert rise(e) == pytest.approx(2 * (e.x[-1] - e.x[0]), rel=1e-6)


# ----------------------------------------------------------------------------------- kinds of columns
@pytest.mark.parametrize(
    ("method", "dtype"), paired(METHODS, [int, float, np.int8, np.float32, object, bool])
)
def test_codes_that_are_declared_nominal_are_levels(method, dtype):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2 if dtype is bool else 4, size=N), rng.integers(0, 2, N)])
    X = X.astype(dtype)
    seen = set()

    def f(Z):
        seen.add(Z.dtype)
        return Z[:, 0].astype(float) ** 2 + Z[:, 1].astype(float)

    e = sd.explain(f, X, 0, method=method, schema={"x0": "nominal"})
    assert sorted(e.levels.values) == sorted({*X[:, 0].tolist()})
    assert seen == {X.dtype}
    if method != "mplot":
        squares = np.array([float(v) ** 2 for v in e.levels.values])
        np.testing.assert_allclose(e.value - e.value[0], squares - squares[0], atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_columns_of_pandas_own_types(method):
    flag = pd.array([True, False, pd.NA, True] * (N // 4), dtype="boolean")
    count = pd.array([1, 2, pd.NA, 4] * (N // 4), dtype="Int64")
    X = frame().assign(
        flag=flag, count=count, any=np.array(["u", 3, None, True] * (N // 4), object)
    )

    def f(Z):
        return (
            Z["flag"].astype("Float64").fillna(0.5) + Z["count"].astype("Float64").fillna(9.0)
        ).to_numpy(dtype=float) + (Z["any"] == "u")

    es = sd.explain(f, X, ["flag", "count", "any"], method=method, schema={"count": "ordinal"})
    assert set(es["flag"].levels.values) == {True, False, None}
    assert es["count"].levels.values == (1, 2, 4)
    assert es["count"].missing == N // 4
    assert es["count"].missing_point.count == N // 4
    assert set(es["any"].levels.values) == {"u", 3, None, True}
    if method != "mplot":
        assert es["flag"]([True]) - es["flag"]([False]) == pytest.approx(1.0)
        assert es["flag"]([None]) - es["flag"]([False]) == pytest.approx(0.5)
        assert es["count"]([4]) - es["count"]([1]) == pytest.approx(3.0)
        assert es["any"](["u"]) - es["any"]([3]) == pytest.approx(1.0)


def test_values_that_read_alike_are_different_levels():
    X = pd.DataFrame({"k": np.array([1, "1", True, "True"] * 30, dtype=object), "a": np.arange(N)})
    e = sd.explain(lambda Z: Z["a"] + 5.0 * (Z["k"] == "1"), X, "k", method="ale")
    assert len(e.levels) == 4
    assert len(set(e.levels.labels)) == 4
    assert e(np.array(["1"], dtype=object)) - e(np.array([1], dtype=object)) == pytest.approx(5.0)


@pytest.mark.parametrize(
    "labels",
    [[True, False], [1, 0], [("a", 1), ("b", 2)], [np.bool_(True), np.int64(3)]],
    ids=str,
)
def test_columns_are_found_by_labels_of_any_type(labels, tmp_path):
    values = np.random.default_rng(0).normal(size=(N, 2))
    X = pd.DataFrame(values, columns=pd.Index(labels, tupleize_cols=False, dtype=object))

    def f(Z):
        return Z.iloc[:, 0] + 3 * Z.iloc[:, 1]

    first, second = labels
    es = sd.explain(f, X, list(labels))
    es.save(tmp_path / "es.skd")
    loaded = sd.load(tmp_path / "es.skd")
    for label, slope in ((first, 1.0), (second, 3.0)):
        expected = slope * X[label].std(ddof=0)
        for e in (es[label], sd.explain(f, X, label), loaded[str(label)]):
            assert (e.feature, e.importance) == (str(label), pytest.approx(expected))
        assert sd.what_if(f, X, {label: 2.0}).value == pytest.approx(2 * slope)
        assert sd.explain(f, X, label, schema={label: {"unit": "m"}}).about.feature.unit == "m"
    assert sd.explain(f, X, (first, second)).features == (str(first), str(second))


# ----------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize(
    ("wanted", "weight"),
    paired(["c", ("a", "c"), ("c", "d"), "a"], [2.0**-300, 2.0**-20, 2.0**40]),
)
def test_the_size_of_weights_does_not_change_values(wanted, weight):
    X = frame()
    for method in (sd.ALE(order={"c": list("uvwx"), "d": ["p", "q"]}), sd.PDP(grid=4)):
        plain = sd.explain(model, X, wanted, method=method)
        heavy = sd.explain(model, X, wanted, method=method, sample_weight=np.full(N, weight))
        np.testing.assert_allclose(heavy.value, plain.value, atol=1e-11)


@pytest.mark.parametrize("zeros", [(0.0, -0.0), (-0.0, 0.0)])
@pytest.mark.parametrize("method", [sd.ALE(bins=4), sd.PDP(grid=4)])
def test_zero_has_no_sign(method, zeros):
    """Minus zero is zero, in whatever order the rows are."""
    X = np.column_stack([[*zeros, 2.0, 2.0] * 5, np.random.default_rng(0).normal(size=20)])
    pair = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=method, progress=False)
    assert str(pair.sides[0].two_values) == "(0.0, 2.0)"
    alone = sd.explain(lambda X: X[:, 0], X, 0, method=sd.PDP(), progress=False)
    assert str(alone.points[0]) == "0.0"


def test_derivatives_of_levels_are_refused():
    with refused(sd.UnsupportedError, "derivative=True", "'c'", "a numeric feature"):
        sd.explain(model, frame(), "c", method=sd.PDP(derivative=True))


@pytest.mark.parametrize(("wanted", "of"), [("a", "label"), ("c", "residual")])
def test_m_plots_of_labels_need_numbers(wanted, of):
    X, method, q = frame(), sd.MPlot(bins=3), observed(of, model)
    with refused(sd.DataError, of, "no y", "Pass y="):
        sd.explain(q, X, wanted, method=method)
    with refused(sd.DataError, "y", "labels that are not numbers, such as ['yes']"):
        sd.explain(q, X, wanted, y=["yes", "no"] * (N // 2), method=method)
    for y in (np.full(N, np.nan), [None] * N):
        with refused(
            sd.DataError,
            "y",
            f"missing labels (NaN or None) for {N} of {N} rows",
            "Leave these rows out",
        ):
            sd.explain(q, X, wanted, y=y, method=method)
    with refused(sd.DataError, "y", "infinite labels for 1 of"):
        sd.explain(q, X, wanted, y=[np.inf, *range(N - 1)], method=method)
    with refused(sd.DataError, "y", "labels up to 1e+141 in size", "at most 1e+140", "Rescale"):
        sd.explain(q, X, wanted, y=[-1e141, *range(N - 1)], method=method)
    with refused(sd.DataError, "y", str(N)):
        sd.explain(q, X, wanted, y=np.zeros(7), method=method)
    e = sd.explain(q, X, wanted, y=np.arange(N) % 2 == 0, method=method)
    assert np.isfinite(e.value).all()
