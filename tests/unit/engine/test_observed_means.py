"""Observed means: label, prediction and residual in cells, as plain NumPy has them, for methods, splits and weights."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import skedasis as sd
from skedasis.data.times import is_points
from skedasis.results.effect import Effect
from skedasis.results.observed import OBSERVED_MEANS, Observed
from tests.helpers import refused

N = 1_500
KINDS = sd.ALE, sd.DALE, sd.RHALE, sd.UALE, sd.PDP, sd.ICE, sd.MPlot
METHODS = {kind.__name__.lower(): kind for kind in KINDS}


def rows(n: int = N, seed: int = 0) -> pd.DataFrame:
    """Return columns of all kinds: many values, few, levels, times, missing values, a constant, truth values."""
    r = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "many": r.normal(size=n).round(3),
            "few": r.integers(0, 5, n),
            "<b>": r.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1]),
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(r.integers(0, 900, n), unit="D"),
            "gaps": np.where(r.uniform(size=n) < 0.1, np.nan, r.exponential(size=n)),
            "one": np.ones(n),
            "flag": r.uniform(size=n) < 0.5,
        }
    )


X = rows()
LABELS = np.random.default_rng(1).normal(size=N) + 2 * X["many"].to_numpy() + 1e6
PART = np.random.default_rng(2).choice(["test", "train"], N)
WEIGHT = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 3.0], N)


def model(X: pd.DataFrame) -> np.ndarray:
    """Return predictions that are wrong on average in some cells."""
    return np.asarray(1e6 + X["many"] + X["few"] * (X["<b>"] == "x") + X["flag"])


def observed(e: Effect) -> Observed:
    assert e.observed is not None
    return e.observed


def masks(e: Effect, column: pd.Series) -> list[np.ndarray]:
    """Return the rows of each cell, by its ends alone."""
    seen = observed(e)
    if seen.levels:
        return [(column == level).to_numpy() for level in seen.x]
    x = column.to_numpy()
    if is_points(x):
        assert e.time is not None
        x = e.time.days(x, "x")
    single = seen.low == seen.high
    cells = [
        (x == low) if one else (x > low) & (x <= high) | ((x == low) & (low == seen.low[0]))
        for low, high, one in zip(seen.low, seen.high, single, strict=True)
    ]
    return [np.asarray(c) for c in cells]


def plain(values: np.ndarray, weights: np.ndarray, kind: str) -> tuple[float, float]:
    """Return a weighted mean and its standard error; NaN for what does not exist."""
    total, squares = weights.sum(), (weights**2).sum()
    if total == 0:
        return np.nan, np.nan
    mean = np.average(values, weights=weights)
    size = total**2 / squares if kind == "sampling" else total
    if size <= 1:
        return mean, np.nan
    if kind == "sampling":  # the variance of a sum of independent rows
        return mean, np.sqrt((weights**2 * (values - mean) ** 2).sum() * size / (size - 1)) / total
    return mean, np.sqrt((weights * (values - mean) ** 2).sum() / (total - 1) / total)


def check(
    e: Effect,
    cells: list[np.ndarray],
    parts: list[np.ndarray],
    weights: np.ndarray,
    kind: str,
    seen: Observed,
) -> None:
    """Compare all numbers with those of plain NumPy."""
    values = {"label": LABELS, "prediction": model(X), "residual": LABELS - model(X)}
    for s, part in enumerate(parts):
        for k, cell in enumerate(cells):
            here = cell & part & (weights > 0)
            assert seen.count[s, k] == here.sum()
            weight = weights[here].sum()
            assert seen.weight[s, k] == pytest.approx(weight, rel=1e-12)
            size = weight**2 / (weights[here] ** 2).sum() if kind == "sampling" else weight
            assert seen.df[s, k] == pytest.approx(max(size - 1, 0), rel=1e-12)
            for of, each in values.items():
                mean, error = plain(each[here], weights[here], kind)
                np.testing.assert_allclose(vars(seen)[of][s, k], mean, rtol=1e-12, atol=1e-8)
                # The labels are 1e6 times as large as what they vary by.
                np.testing.assert_allclose(vars(seen)[f"{of}_error"][s, k], error, rtol=1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["none", "frequency", "sampling"])
def test_means_and_errors_are_those_of_plain_numpy(method, kind):
    weights = np.ones(N) if kind == "none" else WEIGHT
    given = {} if kind == "none" else {"sample_weight": WEIGHT, "weight_kind": kind}
    es = sd.explain(
        model,
        X,
        ["many", "few", "when", "gaps", "one", "<b>"]
        if method in ("ale", "pdp", "ice", "mplot")
        else ["many", "few", "when", "gaps", "one"],
        y=LABELS,
        method=METHODS[method](),
        observed=True,
        split=PART,
        heterogeneity_rows=0,
        **given,
    )
    parts = [PART == "test", PART == "train"]
    for name, e in es.items():
        seen = observed(e)
        assert seen.split_values == ("test", "train")
        cells = masks(e, X[name])
        check(e, cells, parts, weights, kind, seen)
        inside = np.sum(cells, axis=0)
        missing = X[name].isna().to_numpy()
        there = weights > 0  # each of these rows once
        np.testing.assert_array_equal(inside[there], np.where(missing, 0, 1)[there])
        assert (seen.missing is None) == (not missing.any())
        if seen.missing is not None:
            check(e, [missing], parts, weights, kind, seen.missing)


def test_points_are_means_of_the_feature():
    e = sd.explain(model, X, "many", y=LABELS, method="ale", observed=True, sample_weight=WEIGHT)
    x = X["many"].to_numpy()
    wanted = [np.average(x[c], weights=WEIGHT[c]) for c in masks(e, X["many"])]
    np.testing.assert_allclose(observed(e).points, wanted, rtol=1e-12)
    assert len(observed(e)) == 20


def test_cells_are_the_edges_of_the_method():
    edges = [-0.5, 0.0, 0.25, 1.0]
    for method in (
        sd.ALE(bins=sd.Edges(edges)),
        sd.DALE(bins=sd.Edges(edges)),
        sd.MPlot(bins=sd.Edges(edges)),
    ):
        e = sd.explain(model, X, "many", y=LABELS, method=method, observed=True)
        seen, x = observed(e), X["many"].to_numpy()
        np.testing.assert_array_equal([seen.low, seen.high], [edges[:-1], edges[1:]])
        side = "left" if isinstance(method, sd.DALE) else "right"
        wanted = pd.cut(x, edges, right=side == "right", include_lowest=True)
        last = x == edges[-1] if side == "left" else np.zeros(N, dtype=bool)
        counts = [((wanted.codes == k) | (last & (k == 2))).sum() for k in range(3)]
        assert seen.count.tolist() == [counts]


def test_an_m_plot_s_own_bins_are_the_cells():
    e = sd.explain(model, X, "many", y=LABELS, method=sd.MPlot(bins=7), observed=True)
    np.testing.assert_allclose(observed(e).prediction[0], e.value, rtol=1e-13)
    np.testing.assert_allclose(observed(e).prediction_error[0], e.std_error, rtol=1e-6)


def test_levels_are_in_the_order_of_the_effect_and_left_out_levels_are_left_out():
    e = sd.explain(model, X, "<b>", y=LABELS, method=sd.ALE(order=["z", "x", "y"]), observed=True)
    assert list(observed(e).x) == ["z", "x", "y"]
    e = sd.explain(model, X, "<b>", y=LABELS, method=sd.PDP(top_levels=2), observed=True)
    assert sorted(observed(e).x) == ["x", "y"]
    assert observed(e).missing is None
    assert observed(e).count.sum() == X["<b>"].isin(["x", "y"]).sum()


def test_levels_that_are_left_out_are_not_missing():
    levels = pd.Categorical(X["<b>"].where(X["few"] > 0), ["x", "y", "z"], ordered=True)
    some = X.assign(**{"<b>": levels})

    def seen(**options: int) -> Observed:
        q = sd.prediction(lambda X: np.asarray(X["many"]))
        return observed(
            sd.explain(q, some, "<b>", y=LABELS, method=sd.PDP(**options), observed=True)
        )

    whole = seen()
    assert whole.missing is not None
    assert whole.missing.count.sum() == (X["few"] == 0).sum()
    assert seen(top_levels=2).missing is None
    assert seen(top_levels=2).count.sum() == levels.isin(["x", "y"]).sum()


def test_a_group_of_columns_has_its_combinations():
    groups = {"both": ["flag", "<b>"]}
    e = sd.explain(model, X, "both", y=LABELS, method="ale", observed=True, groups=groups)
    assert observed(e).count.sum() == N
    assert len(observed(e)) == 6
    place = list(observed(e).x).index(("z", True))
    here = (X["flag"] & (X["<b>"] == "z")).to_numpy()
    assert observed(e).label[0, place] == pytest.approx(LABELS[here].mean(), rel=1e-13)


# --- splits ---------------------------------------------------------------------------------------


def test_a_column_by_name_and_position_splits_also_its_own_effect():
    for split in ("<b>", 2):
        e = sd.explain(model, X, "<b>", y=LABELS, method="ale", observed=True, split=split)
        seen = observed(e)
        assert (seen.split_name, seen.split_values) == ("<b>", ("x", "y", "z"))
        assert (seen.count > 0).sum() == 3
        assert np.isnan(seen.label[seen.count == 0]).all()


def test_a_missing_value_of_the_split_is_a_value_of_its_own():
    for split in (np.where(X["flag"], np.nan, 1.0), [None if f else "missing" for f in X["flag"]]):
        e = sd.explain(model, X, "few", y=LABELS, method="ale", observed=True, split=split)
        seen = observed(e)
        assert seen.split_values[1] == ("missing" if isinstance(split, np.ndarray) else "(missing)")
        assert seen.count[1].sum() == X["flag"].sum()


@pytest.mark.parametrize(
    ("split", "values"),
    [
        (X["few"] % 3, ("0", "1", "2")),
        (X["flag"].to_numpy(), ("False", "True")),
        (X["<b>"].astype("category"), ("x", "y", "z")),
        (X["when"].dt.year, ("2020", "2021", "2022")),
        (X["when"].dt.to_period("Y").dt.start_time, ("2020-01-01", "2021-01-01", "2022-01-01")),
        (PART.tolist(), ("test", "train")),
    ],
)
def test_labels_of_rows_may_be_of_any_type(split, values):
    e = sd.explain(model, X, "few", y=LABELS, method="ale", observed=True, split=split)
    found = observed(e).split_values
    assert tuple(v.removesuffix(" 00:00:00") for v in found) == values


def test_the_values_of_a_split_are_those_of_the_explained_rows():
    split = np.arange(N) % 20
    weights = np.where(split < 3, 1.0, 0.0)
    e = sd.explain(
        model, X, "few", y=LABELS, method="ale", observed=True, split=split, sample_weight=weights
    )
    assert observed(e).split_values == ("0", "1", "2")
    few = sd.explain(model, X, "few", y=LABELS, method="ale", observed=True, split=PART, sample=300)
    assert observed(few).count.sum() == 300


# --- quantities, outputs, models, regions ---------------------------------------------------------


def test_a_probability_is_compared_with_the_indicator_of_its_class():
    y = np.where(X["many"] + np.random.default_rng(0).normal(size=N) > 0, "yes", "no")
    Z = X[["many", "few"]]
    clf = LogisticRegression().fit(Z, y)
    p = clf.predict_proba(Z)[:, 1]
    for q in (sd.probability(clf, class_="yes"), sd.logit(clf, class_="yes")):
        e = sd.explain(q, Z, "few", y=y, method="ale", observed=True)
        seen = observed(e)
        for k in range(5):
            here = (Z["few"] == k).to_numpy()
            assert seen.label[0, k] == pytest.approx((y[here] == "yes").mean(), rel=1e-13)
            assert seen.prediction[0, k] == pytest.approx(p[here].mean(), rel=1e-12)
    both = sd.explain(sd.probability(clf, class_="all"), Z, "few", y=y, method="ale", observed=True)
    np.testing.assert_allclose(
        observed(both["no"]).residual, -observed(both["yes"]).residual, atol=1e-15
    )
    assert both["no"].provenance["model_rows"] == both["yes"].provenance["model_rows"]


def test_functions_of_predictions_are_compared_on_the_scale_of_the_labels():
    def rate(X):
        return np.exp(0.3 * X["many"])

    y = np.random.default_rng(0).poisson(rate(X)).astype(float)
    plain_, logs = (
        sd.explain(q, X, "many", y=y, method="ale", observed=True)
        for q in (rate, sd.prediction(rate, inverse="log"))
    )
    linked = sd.explain(
        sd.prediction(lambda X: 0.3 * X["many"], link="log"),
        X,
        "many",
        y=y,
        method="ale",
        observed=True,
    )
    for of in OBSERVED_MEANS:
        for e in (logs, linked):
            np.testing.assert_allclose(
                vars(observed(e))[of], vars(observed(plain_))[of], rtol=1e-12, atol=1e-14
            )
    assert observed(plain_).quantity == observed(logs).quantity == "prediction"
    assert observed(plain_).of_effect
    assert not observed(logs).of_effect
    assert not observed(linked).of_effect
    slopes = sd.explain(rate, X, "many", y=y, method=sd.PDP(derivative=True), observed=True)
    assert not observed(slopes).of_effect  # slopes are in another unit


def plain_model(X: pd.DataFrame) -> np.ndarray:
    """Return predictions that depend on columns without missing values."""
    return np.asarray(1e6 + X["few"] * (X["<b>"] == "x") + X["flag"] * 2.0)


GROUPED = X[["few", "<b>", "flag"]].assign(
    when=X["when"].dt.to_period("Q").dt.start_time, gaps=X["gaps"].round()
)
CLASSES = np.where(LABELS > 1e6, "up", "down")
MODELS = {"one": plain_model, "two": lambda X: 3 * plain_model(X)}


def like_pandas(e: Effect, part: np.ndarray, label: np.ndarray, prediction: np.ndarray) -> None:
    """Compare means in cells of single values, levels and times with those of a group-by."""
    table = pd.DataFrame({"label": label, "prediction": prediction})
    by = GROUPED[e.feature]
    wanted = table.groupby([part, by]).mean()
    seen = observed(e)
    for s, value in enumerate(seen.split_values):
        here = wanted.loc[value]
        cells = np.flatnonzero(seen.count[s])
        at = seen.x[cells] if is_points(seen.x) else np.asarray(seen.x)[cells].tolist()
        assert len(at) == len(here)
        for of in table:
            np.testing.assert_allclose(vars(seen)[of][s, cells], here.reindex(at)[of], rtol=1e-12)
            if seen.missing is not None:
                mean = table.loc[(by.isna() & (part == value)).to_numpy(), of].mean()
                np.testing.assert_allclose(vars(seen.missing)[of][s, 0], mean, rtol=1e-12)
    assert (seen.missing is not None) == by.isna().any()


@pytest.mark.parametrize("how", ["outputs", "models", "files"])
def test_every_way_to_the_means_is_a_group_by(how, tmp_path):
    options = {"method": "ale", "observed": True, "heterogeneity_rows": 0}
    if how == "outputs":
        take = FunctionTransformer(lambda X: X[["few", "flag"]])
        clf = make_pipeline(take, LogisticRegression()).fit(GROUPED, CLASSES)
        q = sd.probability(clf, class_="all")
        p = dict(zip(clf.classes_, clf.predict_proba(GROUPED).T, strict=True))
        labels = {one: 1.0 * (one == CLASSES) for one in p}
        found = dict(sd.explain(q, GROUPED, y=CLASSES, split=PART, **options))
    elif how == "models":
        found = dict(sd.explain(MODELS, GROUPED, y=LABELS, split=PART, **options))
        p, labels = {m: f(GROUPED) for m, f in MODELS.items()}, dict.fromkeys(MODELS, LABELS)
    else:
        pytest.importorskip("pyarrow")
        GROUPED.assign(y=LABELS, part=PART).to_parquet(tmp_path / "a.parquet", row_group_size=400)
        data = sd.parquet(tmp_path, columns=list(GROUPED), y="y")
        found = {"": sd.explain(plain_model, data, split="part", **options)}
        p, labels = {"": plain_model(GROUPED)}, {"": LABELS}
    for member, es in found.items():
        assert list(es) == list(GROUPED)
        for e in es.values():
            like_pandas(e, PART, labels[member], p[member])


def test_a_split_may_be_a_column_that_the_model_does_not_get():
    data = GROUPED.assign(part=PART)
    seen_columns = set()

    def model(X: pd.DataFrame) -> np.ndarray:
        seen_columns.update(X)
        return plain_model(X)

    es = sd.explain(
        model, data[list(GROUPED)], y=LABELS, method="ale", observed=True, split=data["part"]
    )
    assert seen_columns == set(GROUPED)
    for e in es.values():
        like_pandas(e, PART, LABELS, plain_model(GROUPED))
        assert observed(e).split_name == "part"


def test_models_to_compare_have_means_of_their_own():
    es = sd.explain(
        {"a": model, "b": lambda X: model(X) + 1}, X, "few", y=LABELS, method="ale", observed=True
    )
    np.testing.assert_allclose(
        observed(es["b"]).prediction, observed(es["a"]).prediction + 1, rtol=1e-12
    )
    np.testing.assert_array_equal(observed(es["b"]).label, observed(es["a"]).label)


def test_the_effect_of_all_rows_has_them_beside_regions():
    for r in (
        sd.explain(model, X, "few", y=LABELS, by="flag", observed=True, split=PART),
        sd.regions(model, X, "many", y=LABELS, observed=True, split=PART, method="pdp"),
    ):
        assert observed(r.whole).count.sum() == N


@pytest.mark.parametrize("method", ["rhale", "ale", "pdp"])
@pytest.mark.parametrize("name", ["many", "gaps", "<b>"])
@pytest.mark.parametrize("kind", ["frequency", "sampling"])
def test_each_region_has_those_of_its_rows(method, name, kind):
    """The same cells as the whole; those without rows of the region are left out."""
    options = {"y": LABELS, "observed": True, "method": method, "sample_weight": WEIGHT}
    options["weight_kind"] = kind
    if name == "<b>" and method == "rhale":
        options["method"] = "ale"
    r = sd.explain(model, X, name, by="flag", split=PART, **options)
    whole = observed(r.whole)
    assert sum(observed(e).count.sum() for e in r) == whole.count.sum()
    for e, flag in zip(r, (False, True), strict=True):
        seen = observed(e)
        inside = (X["flag"] == flag).to_numpy() & (WEIGHT > 0)
        for s, part in enumerate(("test", "train")):
            here = [c & inside & (part == PART) for c in masks(e, X[name])]
            for k, rows_ in enumerate(here):
                mean, error = plain(LABELS[rows_], WEIGHT[rows_], kind)
                np.testing.assert_allclose(seen.label[s, k], mean, rtol=1e-12)
                np.testing.assert_allclose(seen.label_error[s, k], error, rtol=1e-8)
                mean, _ = plain(model(X)[rows_], WEIGHT[rows_], kind)
                np.testing.assert_allclose(seen.prediction[s, k], mean, rtol=1e-12)
        if name == "gaps":
            assert seen.missing is not None
            assert seen.missing.count.sum() == (X["gaps"].isna() & inside).sum()


def test_each_output_has_means_in_each_region():
    clf = LogisticRegression(max_iter=500).fit(X[["many", "few"]], X["few"])
    q = sd.probability(clf, class_="all")
    found = sd.explain(
        q, X[["many", "few"]], "many", y=X["few"], by=X["few"], observed=True, method="ale"
    )
    for label, r in found.items():
        for k, e in enumerate(r):
            wanted = 1.0 if int(label) == k else 0.0
            assert (observed(e).label == wanted).all()


def test_round_after_round_keeps_them():
    """Slopes that fail their check are replaced in a second pass, which does not count the rows again."""

    def steps(X):
        return np.floor(4 * X[:, 0]) + X[:, 1]

    Z = np.random.default_rng(0).uniform(size=(800, 2))
    q = sd.prediction(steps, slope=None)
    e = sd.explain(q, Z, 0, y=steps(Z), method="rhale", observed=True)
    np.testing.assert_allclose(observed(e).residual, 0.0, atol=1e-12)
    assert observed(e).count.sum() == 800


# --- costs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_predictions_cost_n_model_rows_once_and_change_no_effect(method):
    options = {"method": METHODS[method](), "heterogeneity_rows": 200, "n_jobs": 1}
    names = ["many", "<b>"] if method in ("pdp", "ice") else ["many"]
    without = sd.explain(model, X, names, **options)
    with_them = sd.explain(model, X, names, y=LABELS, observed=True, split=PART, **options)
    more = with_them.provenance["effect_rows"] - without.provenance["effect_rows"]
    assert more == (0 if method == "mplot" else N)
    for name in names:
        one, other = without[name], with_them[name]
        np.testing.assert_array_equal(one.value, other.value)
        np.testing.assert_array_equal(one.std_error, other.std_error)
        np.testing.assert_array_equal(one.heterogeneity, other.heterogeneity)


def test_a_logit_costs_no_second_call_of_the_model():
    Z = X[["many", "few"]]
    clf = LogisticRegression().fit(Z, X["flag"])
    without = sd.explain(sd.logit(clf), Z, method=sd.MPlot(), tree="off")
    found = sd.explain(sd.logit(clf), Z, y=X["flag"], method=sd.MPlot(), observed=True)
    assert found.provenance["effect_rows"] == without.provenance["effect_rows"] == N


@pytest.mark.parametrize("kind", [HistGradientBoostingRegressor, HistGradientBoostingClassifier])
def test_trees_cost_no_model_rows(kind):
    Z = X[["many", "few", "gaps"]]
    y = X["few"] > 1 if kind is HistGradientBoostingClassifier else LABELS - 1e6
    m = kind(max_iter=5).fit(Z, y)
    e = sd.explain(m, Z, y=y, method="ale", observed=True)
    assert e.provenance["effect_rows"] == 0
    p = m.predict_proba(Z)[:, 1] if kind is HistGradientBoostingClassifier else m.predict(Z)
    here = (Z["few"] == 2).to_numpy()
    assert observed(e["few"]).prediction[0, 2] == pytest.approx(p[here].mean(), rel=1e-12)


def test_what_is_counted_beforehand_is_what_is_asked():
    Z = X[["many", "few"]]

    def f(X):
        return np.asarray(X["many"])

    options = {"method": "ale", "heterogeneity_rows": 0, "y": LABELS, "observed": True}
    free = sd.explain(f, Z, **options)
    rows = free.provenance["model_rows"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = sd.explain(
            f, Z, max_model_rows=rows + 400, **options
        )  # checks are counted as bounds
    assert kept.provenance["model_rows"] == rows
    with pytest.warns(sd.CostWarning):
        fewer = sd.explain(f, Z, max_model_rows=rows - N, **options)
    assert fewer.provenance["model_rows"] <= rows - N
    assert observed(fewer["few"]).count.sum() == fewer.provenance["rows"] < N


def test_nothing_of_all_rows_is_kept_beyond_what_is_there():
    """Of all rows, the split is a byte each; what batches allocate does not grow with the number of features."""
    n, peaks = 1_000_000, dict[tuple[int, bool], int]()
    Z = np.asfortranarray(np.random.default_rng(0).uniform(size=(n, 6)))
    y, part = Z[:, 0] + 0.5, Z[:, 1] > 0.5
    edges = sd.Edges(np.linspace(0, 1, 9))
    for columns in (2, 2, 6):  # the first call imports what is needed
        for with_them in (False, True):
            more = {"y": y, "observed": True, "split": part} if with_them else {}
            tracemalloc.start()
            sd.explain(
                lambda X: X[:, 0] * 1.0,
                Z[:, :columns],
                method=sd.MPlot(bins=edges),
                keep_rows=0,
                heterogeneity_rows=0,
                memory="20MB",
                **more,
            )
            peaks[columns, with_them] = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
    few, many = (peaks[columns, True] - peaks[columns, False] for columns in (2, 6))
    assert few < 24 * n  # while the values of the split are found
    assert many < few + 8 * n  # a copy of each feature would be 32 n more


@pytest.mark.parametrize("method", ["ale", "mplot"])
def test_threads_give_the_same_bits(method):
    big = rows(30_000, 5)
    y = np.random.default_rng(0).normal(size=len(big))
    options = {
        "y": y,
        "method": METHODS[method](),
        "observed": True,
        "split": "flag",
        "memory": "2MB",
    }
    one, two, whole = (
        sd.explain(
            model, big, ["many", "few", "gaps", "<b>"], heterogeneity_rows=0, **options | more
        )
        for more in ({}, {"n_jobs": 2}, {"memory": "1GB"})
    )
    for name, e in one.items():
        for field, value in vars(observed(e)).items():
            if isinstance(value, np.ndarray) and value.dtype.kind in "fi":
                np.testing.assert_array_equal(vars(observed(two[name]))[field], value)
                # Other batches are other leaves: sums of other orders.
                np.testing.assert_allclose(vars(observed(whole[name]))[field], value, rtol=1e-9)


# --- what cannot be -------------------------------------------------------------------------------


def test_options_that_do_not_fit():
    some = {"y": LABELS, "observed": True}
    with refused(sd.DataError, "split", "observed=True"):
        sd.explain(model, X, "few", y=LABELS, split=PART)
    with refused(sd.DataError, "no y"):
        sd.explain(model, X, "few", observed=True)
    with refused(sd.DataError, "observed", "yes"):
        sd.explain(model, X, "few", y=LABELS, observed="yes")
    with refused(sd.DataError, "split", "1 different value", "Leave split out"):
        sd.explain(model, X, "few", split=np.ones(N), **some)
    with refused(sd.DataError, "split", "900 different values", "'when'"):
        sd.explain(model, rows(9_000), "few", y=np.arange(9_000), observed=True, split="when")
    with refused(sd.DataError, "split", "shape"):
        sd.explain(model, X, "few", split=PART[:10], **some)
    with refused(sd.DataError, "split", "'fewer'", "Did you mean 'few'"):
        sd.explain(model, X, "few", split="fewer", **some)
    with refused(sd.UnsupportedError, "single features"):
        sd.explain(model, X, ("few", "many"), method="ale", **some)
    with refused(sd.UnsupportedError, "PFI"):
        sd.explain(sd.loss(model, "squared_error"), X, method=sd.PFI(n_repeats=2), **some)
    with refused(sd.UnsupportedError, "several models"):
        sd.explain([model, model], X, "few", refits=True, **some)
    with refused(sd.UnsupportedError, "several models"):
        sd.regions([model, model], X, "few", refits=True, **some)


def test_quantities_without_a_scale_of_labels():
    some = {"y": LABELS, "observed": True, "method": "ale"}
    with refused(sd.UnsupportedError, "explain(observed=True)", "not compared with labels"):
        sd.explain(sd.loss(model, "squared_error"), X, "few", **some)

    def two(X):
        return np.stack([model(X), model(X)], axis=1)

    with refused(sd.UnsupportedError, "output=0"):
        sd.explain(sd.prediction(two, output="all"), X, "few", **some)
    e = sd.explain(sd.prediction(two, output=1), X, "few", **some)
    assert observed(e).count.sum() == N


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
def test_rows_without_a_label_are_left_out_of_the_means_and_counted(missing):
    there = np.random.default_rng(4).uniform(size=N) < 0.8
    some = {"method": "ale", "observed": True, "heterogeneity_rows": 0}
    columns, flag = X[["many", "few"]], np.where(X["flag"], "yes", "no")
    classifier = LogisticRegression().fit(columns, flag)
    linear = lambda X: np.asarray(X["many"])  # noqa: E731 - a model
    for q, given, label in ((linear, LABELS, LABELS), (classifier, flag, flag == "yes")):
        y = given.astype(object)
        y[~there] = missing
        e = sd.explain(q, columns, "few", y=y, **some)
        seen, few = observed(e), X["few"].to_numpy()
        for k, value in enumerate(seen.points):
            inside = there & (few == value)
            assert seen.count[0, k] == inside.sum()
            assert seen.label[0, k] == pytest.approx(label[inside].mean(), rel=1e-12)
            error = label[inside].std(ddof=1) / np.sqrt(inside.sum())
            assert seen.label_error[0, k] == pytest.approx(error, rel=1e-6)
        np.testing.assert_array_equal(
            e.value, sd.explain(q, columns, "few", method="ale", heterogeneity_rows=0).value
        )
        assert e.provenance["unlabelled_rows"] == (~there).sum()
        assert f"{(~there).sum():,} without a label" in str(e)
    assert "unlabelled_rows" not in sd.explain(model, X, "few", y=LABELS, **some).provenance


@pytest.mark.parametrize("bad", [np.inf, "many", "all"])
def test_labels_that_are_no_numbers_are_refused_before_the_model_is_called(bad):
    y = LABELS.astype(object)
    y[7] = bad
    if bad == "all":
        y[:] = None

    def never(X):
        raise AssertionError

    with refused(sd.DataError, "y"):
        sd.explain(never, X, "few", y=y, method="ale", observed=True)


def test_labels_that_are_no_classes_are_refused():
    clf = LogisticRegression().fit(X[["many"]], X["flag"])
    with refused(sd.DataError, "y"):
        sd.explain(sd.probability(clf), X[["many"]], "many", y=LABELS, observed=True)


def test_two_rows_have_means_and_no_error():
    Z = np.array([[0.0], [1.0]])
    e = sd.explain(
        lambda X: X[:, 0], Z, 0, y=[1.0, 3.0], method="ale", observed=True, split=["a", "b"]
    )
    seen = observed(e)
    np.testing.assert_array_equal(seen.label, [[1.0, np.nan], [np.nan, 3.0]])
    assert np.isnan(seen.label_error).all()
    assert np.isnan(seen.interval()[0]).all()


def test_one_class_only():
    clf = LogisticRegression().fit(X[["many"]], X["flag"])
    q = sd.probability(clf, class_=True)
    e = sd.explain(q, X[["many"]], "many", y=np.ones(N, dtype=bool), method="ale", observed=True)
    assert (observed(e).label == 1).all()
    assert (observed(e).label_error == 0).all()


# --- events ---------------------------------------------------------------------------------------


def chance(X: np.ndarray) -> np.ndarray:
    return 0.01 + 0.02 * X[:, 1]


@pytest.mark.parametrize("below", [0, 3])
@pytest.mark.parametrize("kind", ["none", "frequency", "sampling"])
def test_a_cell_without_events_has_the_errors_of_its_predictions(kind, below):
    """Counts of at least 3, of which hardly any is more, have the same errors."""
    rng, n = np.random.default_rng(4), 300
    rows_, cell = rng.uniform(size=(n, 2)), np.repeat([0, 1, 2], 100)
    rows_[:, 0] = cell
    y = (cell == 1) & (np.arange(n) % 25 == 0)
    w = rng.integers(1, 4, n) if kind == "frequency" else rng.uniform(0.1, 2, n)
    given = {} if kind == "none" else {"sample_weight": w, "weight_kind": kind}
    w = w if given else np.ones(n)
    given |= {"y": below + y, "method": "mplot", "observed": True}
    seen = observed(sd.explain(lambda X: below + chance(X), rows_, 0, **given))
    assert seen.events is (below == 0)
    lower, upper = seen.interval(0.9, "label")
    squares = w if kind == "frequency" else w**2
    for k in range(3):
        some = cell == k
        p = chance(rows_[some])
        least = np.sqrt(squares[some] @ (p * (1 - p))) / w[some].sum()
        assert seen.residual_error[0, k] >= least * (1 - 1e-9)
        if k != 1:
            assert seen.residual_error[0, k] == pytest.approx(least)
        if k != 1 and seen.events:
            assert lower[0, k] == 0 < upper[0, k]
        if kind != "sampling" and seen.events:
            events, size = int((w * y)[some].sum()), int(w[some].sum())
            wanted = binomtest(events, size).proportion_ci(0.9, method="wilson")
            np.testing.assert_allclose([lower[0, k], upper[0, k]], wanted, atol=1e-12)


@pytest.mark.parametrize("batch_rows", [7, 1000])
def test_labels_that_are_not_all_whole_numbers_have_the_errors_of_their_rows(
    batch_rows, monkeypatch
):
    """Also where those of the first batches are: without an amount a cell has no variance."""
    x, y = np.repeat([0.0, 1.0], 50)[:, None], np.zeros(100)
    y[99] = 0.5
    q = sd.prediction(lambda X: np.full(len(X), 0.2))
    monkeypatch.setattr("skedasis.engine.prepare.CALL_ROWS", batch_rows)
    assert (
        observed(sd.explain(q, x, 0, y=y, method="mplot", observed=True)).residual_error[0, 0] == 0
    )
    y[99] = 2.0
    seen = observed(sd.explain(q, x, 0, y=y, method="mplot", observed=True))
    assert seen.residual_error[0, 0] == pytest.approx(np.sqrt(0.2 * 0.8 / 50))


@pytest.mark.parametrize(
    ("y", "prediction", "events"),
    [
        ([0, 1, 0, 0], 0.2, True),
        ([False, True, False, False], 0.2, True),
        ([0, 0, 0, 0], 0.2, True),
        ([0, 1, 0, 0], 1.2, False),
        ([0, 1, 0, 2], 0.2, False),
        ([0, 0.5, 0, 1], 0.2, False),
        ([0, 1e-12, 0, 0], 0.2, False),
    ],
)
def test_events_are_labels_of_0_and_1_with_predictions_between(y, prediction, events):
    e = sd.explain(
        lambda X: np.full(len(X), prediction),
        np.arange(20.0)[:, None] % 2,
        0,
        y=np.tile(y, 5),
        method="mplot",
        observed=True,
    )
    assert observed(e).events is events
