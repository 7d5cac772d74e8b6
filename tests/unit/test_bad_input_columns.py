"""Bad input: groups, missing values, column types and weights give a correct result or an error."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from tests.helpers import frame, refused, rise
from tests.helpers import of_frame as model

N = 120
METHODS = {"ale": sd.ALE, "pdp": sd.PDP, "ice": sd.ICE, "mplot": sd.MPlot}


# ----------------------------------------------------------------------------------------- groups


def blocks():
    """Return two numeric columns and a one-hot block of three columns."""
    X = frame()
    code = np.arange(N) % 3
    return pd.DataFrame({"a": X["a"], **{f"h_{k}": (code == k) * 1 for k in range(3)}, "k": X["b"]})


def of_block(X):
    return X["a"] * X["h_0"] + 2.0 * X["h_1"]


BLOCK = ["h_0", "h_1", "h_2"]


def test_groups_that_cannot_be_are_refused():
    X = blocks()
    for groups, words in (
        (
            {"A": ["h_0", "h_1"], "B": ["h_1", "h_2"]},
            ("groups['B']", "'h_1'", "also in 'A'", "sd.PFI()"),
        ),
        ({"A": ["h_0", "h_0"]}, ("'h_0' twice",)),
        ({"A": ["h_0", "h_9"]}, ("'h_9'", "Did you mean")),
        ({"A": []}, ("no column",)),
        ({"A": "h_0"}, ("'h_0'", "a list of columns")),
        ([["h_0", "h_1"]], ("list", "a mapping of names")),
        ({"A": ["a", "k"]}, ("different combinations",)),
        ({"k": ["h_0", "h_1"]}, ("name of a column outside",)),
    ):
        with refused(sd.DataError, *words):
            sd.explain(of_block, X, groups=groups, method="ale")
    with refused(sd.DataError, "rows with more than one 1", "one-hot"):
        sd.explain(of_block, X.assign(h_2=1), "A", groups={"A": BLOCK}, method="ale")


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


@pytest.mark.many
@pytest.mark.parametrize("method", ["ale", "pdp", "ice", "mplot"])
@pytest.mark.parametrize("kind", EMPTY)
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
    "several": lambda X: sd.explain([model, model], X),
    "regions": lambda X: sd.regions(model, X),
    "interactions": lambda X: sd.interactions(model, X, max_rows=20),
    "ledger": lambda X: sd.ledger(model, X),
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


@pytest.mark.many
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [int, float, np.int8, np.float32, object, bool])
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


def test_levels_between_whole_numbers_are_kept():
    X = np.column_stack([np.arange(N) % 3 + 0.5, np.arange(N) % 7])
    e = sd.explain(lambda Z: Z[:, 0] ** 2, X, 0, method="ale", schema={"x0": "nominal"})
    assert sorted(e.levels.values) == [0.5, 1.5, 2.5]
    assert e([2.5]) - e([0.5]) == pytest.approx(6.0)
    with refused(sd.DataError, "'x0'", "infinite values"):
        X[3, 0] = np.inf
        sd.explain(lambda Z: Z[:, 1], X, 0, method="ale", schema={"x0": "nominal"})


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


def test_labels_of_columns_that_are_tuples():
    columns = pd.MultiIndex.from_tuples([("g", "a"), ("g", "b"), ("h", "a")])
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(N, 3)), columns=columns)

    def f(Z):
        return Z.iloc[:, 0] * Z.iloc[:, 1]

    e = sd.explain(f, X, ("g", "a"), method="ale")
    assert e.about.feature.key == ("g", "a")
    s = sd.explain(f, X, (("g", "a"), ("g", "b")), method=sd.ALE(bins=5))
    assert s.features == ("('g', 'a')", "('g', 'b')")
    assert s.interaction_strength() > 0.5
    apart = sd.explain(f, X, [(("g", "a"), ("h", "a")), (0, 1)], method=sd.ALE(bins=5))
    assert [x.interaction_strength() < 1e-12 for x in apart.values()] == [True, False]
    assert list(sd.explain(f, X, [("g", "a"), ("h", "a")], method="ale")) == [
        "('g', 'a')",
        "('h', 'a')",
    ]
    with refused(sd.DataError, "with itself"):
        sd.explain(f, X, (("g", "a"), ("g", "a")), method="ale")


@pytest.mark.parametrize(
    "labels",
    [
        [False, True],
        [True, False],
        [False, "a"],
        [1, 0],
        [0.5, 1.5],
        [("a", 1), ("b", 2)],
        [np.bool_(True), np.int64(3)],
    ],
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
        assert sd.change(f, X, {label: 2.0}).value == pytest.approx(2 * slope)
        assert sd.explain(f, X, label, schema={label: {"unit": "m"}}).about.feature.unit == "m"
    assert sd.explain(f, X, (first, second)).features == (str(first), str(second))


def test_a_mask_selects_columns_only_where_they_are_called_so(tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(N, 2)), columns=[True, False])
    sd.report(lambda Z: Z[True], X, path=tmp_path / "r.html", features=[True], by=False)
    assert "True" in (tmp_path / "r.html").read_text(encoding="utf-8")
    with refused(sd.DataError, "mask of 2 truth values", "the columns themselves: ['a']"):
        sd.explain(lambda Z: Z["a"], X.set_axis(["a", "b"], axis=1), [True, False])


def test_names_and_levels_may_hold_anything():
    evil = "<script>alert(1)</script>"
    X = pd.DataFrame({evil: frame()["a"], "b": np.where(np.arange(N) % 2, "<b>&amp;</b>", "")})
    for method in METHODS:
        es = sd.explain(lambda Z: Z.iloc[:, 0] + (Z["b"] == ""), X, method=method)
        assert list(es) == [evil, "b"]
        assert set(es["b"].levels.values) == {"<b>&amp;</b>", ""}
        assert all(label.strip() for label in es["b"].levels.labels)
        assert es[evil].feature == evil
    s = sd.explain(lambda Z: Z.iloc[:, 0], X, (evil, "b"), method="ale")
    assert s.features == (evil, "b")


def test_columns_that_are_called_alike_are_refused():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(N, 3)), columns=["a", "a", "b"])
    for wanted in ("a", (0, 1), None):
        with refused(sd.DataError, "X", "more than once", "unique"):
            sd.explain(lambda Z: Z.iloc[:, 0], X, wanted, method="ale")


# ----------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("method", METHODS)
def test_a_level_that_only_absent_rows_have_is_none(method):
    X = frame()
    weights = np.where(X["c"] == "u", 0.0, 1.0)
    e = sd.explain(model, X, "c", method=method, sample_weight=weights)
    assert sorted(e.levels.values) == ["v", "w", "x"]
    assert e.levels.weight.sum() == (X["c"] != "u").sum()
    with pytest.raises(sd.DataError, match="got 'u', expected one of the levels '"):
        e(["u"])


@pytest.mark.many
@pytest.mark.thinned
@pytest.mark.parametrize("weight", [2.0**-300, 2.0**-20, 2.0**40])
@pytest.mark.parametrize("wanted", ["c", ("a", "c"), ("c", "d"), "a"])
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
