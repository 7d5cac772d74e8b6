"""`sd.what_if`: moves, settings, regions, rows that leave the data, cost, and messages."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from tests.helpers import PATTERN

N = 240
QUIET = {"progress": False}


@pytest.fixture(scope="module")
def X():
    r = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": r.integers(18, 80, N),
            "income": r.lognormal(size=N),
            "smoker": r.choice(["no", "yes", "never"], N),
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(r.integers(0, 500, N), "h"),
        }
    )


def f(X):
    """Return a function of all columns, with interactions."""
    days = X["when"].to_numpy().astype("M8[ns]").astype(float) / 86_400e9
    yes = (X["smoker"] == "yes").to_numpy()
    age, income = X["age"].to_numpy(dtype=float), X["income"].to_numpy(dtype=float)
    return age**2 / 100 + income * np.where(yes, 3.0, 1.0) + 0.1 * days


def brute(X, **columns):
    """Return the changes of all rows, with columns replaced in a copy."""
    return f(X.assign(**columns)) - f(X)


@pytest.mark.parametrize(
    ("moves", "to", "columns"),
    [
        ({"age": 1}, None, lambda X: {"age": X.age + 1}),
        ({"age": "+1"}, None, lambda X: {"age": X.age + 1}),
        ({"age": "-2"}, None, lambda X: {"age": X.age - 2}),
        ({"age": 0.5}, None, lambda X: {"age": X.age + 0.5}),
        ({"age": "40"}, None, lambda X: {"age": 40}),
        (None, {"age": 40}, lambda X: {"age": 40}),
        (None, {"age": -3}, lambda X: {"age": -3}),
        ({0: np.int64(3)}, None, lambda X: {"age": X.age + 3}),
        ({"income": "+10%"}, None, lambda X: {"income": X.income * 1.1}),
        ({"income": "-25 %"}, None, lambda X: {"income": X.income * 0.75}),
        ({"income": "x2"}, None, lambda X: {"income": X.income * 2}),
        ({"income": "*0.5"}, None, lambda X: {"income": X.income * 0.5}),
        ({"smoker": "no"}, None, lambda X: {"smoker": "no"}),
        (None, {"smoker": "no"}, lambda X: {"smoker": "no"}),
        ({"when": dt.timedelta(hours=36)}, None, lambda X: {"when": X.when + pd.Timedelta("36h")}),
        ({"when": np.timedelta64(2, "D")}, None, lambda X: {"when": X.when + pd.Timedelta("2D")}),
        ({"when": "+2 weeks"}, None, lambda X: {"when": X.when + pd.Timedelta("14D")}),
        ({"when": -1}, None, lambda X: {"when": X.when - pd.Timedelta("1D")}),
        (
            {"when": pd.Timestamp("2020-01-09T06").to_pydatetime()},
            None,
            lambda X: {"when": pd.Timestamp("2020-01-09T06")},
        ),
        ({"when": "2020-01-09"}, None, lambda X: {"when": pd.Timestamp("2020-01-09")}),
        (
            {"age": 5, "income": "+10%"},
            {"smoker": "yes"},
            lambda X: {"age": X.age + 5, "income": X.income * 1.1, "smoker": "yes"},
        ),
    ],
)
def test_the_change_is_that_of_the_columns_replaced_in_a_copy(X, moves, to, columns):
    expected = brute(X, **columns(X))
    before = X.copy()
    c = sd.what_if(f, X, moves, to=to, **QUIET)
    pd.testing.assert_frame_equal(X, before)
    scale = np.abs(f(X)).max()
    np.testing.assert_allclose(c.rows.change, expected, atol=1e-9 * scale)
    np.testing.assert_allclose(c.value, expected.mean(), atol=1e-9 * scale)
    np.testing.assert_allclose(c.std, expected.std(ddof=1), atol=1e-9 * scale)
    np.testing.assert_allclose(c.std_error, expected.std(ddof=1) / np.sqrt(N), atol=1e-9 * scale)
    assert c.df == N - 1
    assert c.provenance["effect_rows"] == 2 * N
    assert c.rows.row.tolist() == list(range(N))
    np.testing.assert_allclose(c.increases, (expected > 1e-8).mean())
    np.testing.assert_allclose(c.decreases, (expected < -1e-8).mean())
    np.testing.assert_allclose([c.before, c.after], [f(X).mean(), f(X).mean() + expected.mean()])


def test_several_named_moves_share_the_rows_as_they_are(X):
    found = sd.what_if(
        f, X, {"older": {"age": 1}, "of 40": {"age": "40"}, "quit": {"smoker": "no"}}
    )
    assert isinstance(found, sd.Changes)
    assert list(found) == ["older", "of 40", "quit"]
    assert {c.provenance["effect_rows"] for c in found.values()} == {4 * N}
    for name, moves in (
        ("older", {"age": 1}),
        ("of 40", {"age": "40"}),
        ("quit", {"smoker": "no"}),
    ):
        alone = sd.what_if(f, X, moves)
        assert found[name].value == alone.value
        assert found[name].text == alone.text
        assert found[name].outside == alone.outside


def test_rows_without_a_value_are_left_out_and_counted(X):
    gaps = X.assign(income=X.income.where(np.arange(N) % 5 > 0))

    def strict(rows):
        assert not rows["income"].isna().any()
        return f(rows)

    c = sd.what_if(strict, gaps, {"income": 1, "age": 1})
    some = X[np.arange(N) % 5 > 0]
    np.testing.assert_allclose(
        c.value, brute(some, income=some.income + 1, age=some.age + 1).mean()
    )
    assert (c.missing, c.n_rows) == (N // 5, N - N // 5)
    assert [m.missing for m in c.moved] == [N // 5, 0]
    assert c.rows.row.tolist() == [i for i in range(N) if i % 5]
    assert "48 rows without a value left out" in str(c)
    assert c.provenance["effect_rows"] == 2 * (N - N // 5)


@pytest.mark.parametrize("by", ["smoker", ("income", [0.5, 2.0]), "labels", "masks", "found"])
def test_regions_are_averages_of_their_rows_and_together_the_whole(X, by):
    labels = np.where(X.income > 1, "rich", "poor")
    by = {
        "labels": labels,
        "masks": {"young": (X.age < 30).to_numpy()},
        "found": sd.regions(lambda X: X["age"] * (X["smoker"] == "yes"), X, "age", max_depth=1),
    }.get(by if isinstance(by, str) else "", by)
    c = sd.what_if(f, X, {"income": "+10%"}, by=by)
    expected = brute(X, income=X.income * 1.1)
    assert len(c.by) == len(c.rules) >= 2
    table = c.to_frame(of="rows")
    for line in c.by:
        inside = (table["region"] == line.region).to_numpy()
        own = expected[inside]
        assert line.rows == inside.sum()
        np.testing.assert_allclose(line.value, own.mean(), rtol=1e-9)
        np.testing.assert_allclose(line.std_error, own.std(ddof=1) / np.sqrt(len(own)), rtol=1e-7)
        assert line.lower < line.value < line.upper
    np.testing.assert_allclose(sum(r.share * r.value for r in c.by), c.value, rtol=1e-12)
    assert sum(r.rows for r in c.by) == N
    assert "region" in str(c)


def test_weights_are_repetitions_and_zeros_absent(X):
    w = np.random.default_rng(0).integers(0, 4, N)
    a = sd.what_if(f, X, {"income": "x2"}, sample_weight=w, by="smoker")
    b = sd.what_if(f, X.loc[X.index.repeat(w)], {"income": "x2"}, by="smoker")
    for name in ("value", "std", "std_error", "df", "increases", "before"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-10)
    np.testing.assert_allclose(a.outside.share, b.outside.share)
    for one, other in zip(a.by, b.by, strict=True):
        np.testing.assert_allclose(one.value, other.value)
        np.testing.assert_allclose([one.lower, one.upper], [other.lower, other.upper])
    np.testing.assert_allclose(a.quantile([0.1, 0.5, 0.9]), b.quantile([0.1, 0.5, 0.9]))
    change = brute(X, income=2 * X.income)
    for line in a.by:
        inside = (X["smoker"] == line.region.split(" = ")[1]).to_numpy()
        assert line.share == pytest.approx(w[inside].sum() / w.sum())
        assert line.std == pytest.approx(np.repeat(change[inside], w[inside]).std(ddof=1))
        assert line.increases == pytest.approx(np.average(change[inside] > 0, weights=w[inside]))


def test_sampling_weights_have_the_error_of_their_effective_size(X):
    w = np.random.default_rng(0).uniform(0.5, 2, N)
    a = sd.what_if(f, X, {"income": 1}, sample_weight=w, weight_kind="sampling")
    d = brute(X, income=X.income + 1)
    mean = np.average(d, weights=w)
    unit = (w**2).sum() / w.sum()
    variance = (w * (d - mean) ** 2).sum() / (w.sum() - unit)
    np.testing.assert_allclose(a.std_error, np.sqrt(variance * (w**2).sum()) / w.sum(), rtol=1e-9)
    b = sd.what_if(f, X, {"income": 1}, sample_weight=5 * w, weight_kind="sampling")
    np.testing.assert_allclose([a.std_error, a.df], [b.std_error, b.df])


def test_containers_give_the_same_numbers(X):
    some = X[["age", "income"]].astype(float)
    expected = sd.what_if(lambda rows: rows["age"] * rows["income"], some, {0: 2, 1: "+50%"})
    found = sd.what_if(lambda rows: rows[:, 0] * rows[:, 1], some.to_numpy(), {0: 2, 1: "+50%"})
    assert found.features == ("x0", "x1")
    assert found.value == expected.value
    assert found.outside.far == expected.outside.far


def test_parquet_gives_the_same_bits(X, tmp_path):
    pytest.importorskip("pyarrow")
    gaps = X.assign(income=X.income.where(np.arange(N) % 7 > 0))

    def model(rows):
        return np.nan_to_num(f(rows))

    gaps.to_parquet(tmp_path / "a.parquet")
    source = sd.parquet(tmp_path / "a.parquet", container="pandas")
    for moves, by in (
        ({"age": 1, "income": "+10%"}, "smoker"),
        ({"smoker": "no"}, "age"),
        ({"when": 2}, ("income", [1.0, 2.0])),
        ({"age": 2}, None),
    ):
        a, b = (sd.what_if(model, data, moves, by=by, **QUIET) for data in (gaps, source))
        assert (a.value, a.std, a.rules, a.missing) == (b.value, b.std, b.rules, b.missing)
        assert [m.outside for m in a.moved] == [m.outside for m in b.moved]
        assert np.array_equal(a.rows.change, b.rows.change)
        for name, m in a.moments.items():
            assert np.array_equal(m.mean, b.moments[name].mean)
            assert np.array_equal(m.m2, b.moments[name].m2)
    for by in (X["smoker"].to_numpy(), sd.regions(model, gaps, "age")):
        with pytest.raises(sd.DataError, match=r"column"):
            sd.what_if(model, source, {"age": 1}, by=by)


def test_trees_cost_no_model_row_and_agree_with_the_model(X):
    from sklearn.ensemble import RandomForestRegressor

    some = X[["age", "income"]]
    model = RandomForestRegressor(15, random_state=0).fit(some, f(X))
    c = sd.what_if(model, some, {"age": 4, "income": "-10%"}, by="age")
    d = sd.what_if(model, some, {"age": 4, "income": "-10%"}, by="age", tree="off")
    assert c.provenance["effect_rows"] == 0
    assert d.provenance["effect_rows"] == 2 * N
    np.testing.assert_allclose(c.rows.change, d.rows.change, atol=1e-9 * np.abs(f(X)).max())
    moved = some.assign(age=some.age + 4, income=some.income * 0.9)
    np.testing.assert_allclose(c.value, (model.predict(moved) - model.predict(some)).mean())


def test_several_outputs_and_labels(X):
    from sklearn.linear_model import LogisticRegression

    some = X[["age", "income"]]
    y = np.array(["a", "b", "c"])[np.random.default_rng(0).integers(0, 3, N)]
    model = LogisticRegression(max_iter=500).fit(some, y)
    found = sd.what_if(sd.probability(model, class_="all"), some, {"age": 1})
    assert list(found) == ["a", "b", "c"]
    moved = some.assign(age=some.age + 1)
    rise = (model.predict_proba(moved) - model.predict_proba(some)).mean(axis=0)
    np.testing.assert_allclose([c.value for c in found.values()], rise, atol=1e-12)
    assert {c.provenance["effect_rows"] for c in found.values()} == {2 * N}
    assert len(found.plot().axes) >= 3
    assert next(line.output for line in found.ranking()) == list(found)[np.abs(rise).argmax()]
    assert len(found.to_frame()) == 3
    assert set(found.interval()) == {"a", "b", "c"}
    loss = sd.what_if(sd.nll(model), some, {"age": 1}, y=y)
    code = np.searchsorted(model.classes_, y)
    own, after = (model.predict_log_proba(rows)[np.arange(N), code] for rows in (some, moved))
    np.testing.assert_allclose(loss.value, (own - after).mean(), atol=1e-12)
    entropy = sd.what_if(sd.entropy(model), some, {"age": 1})
    p, q = model.predict_proba(some), model.predict_proba(moved)
    np.testing.assert_allclose(
        entropy.value, ((p * np.log(p)).sum(1) - (q * np.log(q)).sum(1)).mean(), atol=1e-12
    )


def test_a_group_of_columns_is_set_to_one_of_its_levels():
    r = np.random.default_rng(0)
    X = pd.DataFrame({"a": r.normal(size=60)})
    town = r.integers(0, 3, 60)
    for k in range(3):
        X[f"town_{k}"] = (town == k).astype(int)
    groups = {"town": ["town_0", "town_1", "town_2"]}

    def model(X):
        assert (X[groups["town"]].sum(axis=1) == 1).all()
        return (X["a"] + 2 * X["town_1"]).to_numpy()

    c = sd.what_if(model, X, {"town": "town_1"}, groups=groups)
    np.testing.assert_allclose(c.value, 2 * (town != 1).mean())
    np.testing.assert_allclose(c.already, (town == 1).mean())
    with pytest.raises(sd.DataError, match="a step of a group"):
        sd.what_if(model, X, {"town": 1}, groups=groups)
    with pytest.raises(sd.DataError, match="group 'town'"):
        sd.what_if(model, X, {"town_1": 1}, groups=groups)


def test_a_time_of_day_passes_midnight():
    X = pd.DataFrame({"t": [dt.time(23, 30), dt.time(1, 0)], "b": [1.0, 2.0]})

    def model(X):
        return np.array([t.hour + t.minute / 60 for t in X["t"]])

    c = sd.what_if(model, X, {"t": "+1 h"})
    np.testing.assert_allclose(c.rows.change, [0.5 - 23.5, 1.0])


def test_the_share_outside_counts_values_beyond_the_observed_range(X):
    c = sd.what_if(f, X, {"age": 10, "income": "-50%"})
    old, poor = X.age + 10 > X.age.max(), X.income / 2 < X.income.min()
    assert c.outside.rows == (old | poor).sum()
    np.testing.assert_allclose(c.outside.share, (old | poor).mean())
    assert [m.outside for m in c.moved] == [old.sum(), poor.sum()]


def test_rankings_have_the_numbers_of_the_changes(X):
    found = sd.what_if(f, X, {"older": {"age": 1}, "poorer": {"income": "-30%"}})
    for line in found.ranking():
        c = found[line.name]
        assert (line.change, line.value, line.rows) == (c.text, c.value, c.n_rows)
        assert (line.std_error, line.std) == (c.std_error, c.std)
        assert line.std_error == pytest.approx(c.rows.change.std(ddof=1) / np.sqrt(N))


def test_the_share_that_is_far_counts_weights():
    """Rows at z = 0 reach a = 2.5 nowhere near data, those at z = 10 do; the former have 5/6 of the weight."""
    r = np.random.default_rng(3)
    z = np.repeat([0.0, 10.0], 150)
    X = np.column_stack(
        [r.uniform(0, np.where(z > 0, 3.0, 1.0)), z + r.normal(scale=0.01, size=300)]
    )
    for weights, share in ((None, 1 / 2), (np.where(z > 0, 1.0, 5.0), 5 / 6)):
        c = sd.what_if(
            lambda X: X[:, 0], X, to={0: 2.5}, sample_weight=weights, weight_kind="sampling"
        )
        assert c.outside.far == pytest.approx(share, abs=0.02)


def test_rows_that_leave_the_joint_data_are_far_although_no_range_is_left():
    r = np.random.default_rng(0)
    a = r.uniform(size=1500)
    X = np.column_stack([a, a + 0.01 * r.normal(size=1500)])
    independent = np.column_stack([a, r.uniform(size=1500)])

    def model(X):
        return X.sum(axis=1)

    joint = sd.what_if(model, X, to={"x0": 0.5})
    alone = sd.what_if(model, independent, to={"x0": 0.5})
    both = sd.what_if(model, X, to={"x0": 0.5, "x1": 0.5})
    assert joint.outside.rows == alone.outside.rows == 0
    assert joint.outside.far > 0.8
    assert alone.outside.far < 0.05
    assert both.outside.far < 0.05
    assert joint.outside.others == ("x1",)
    (found,) = joint.checks().of("extrapolation")
    assert found.severity == "warning"
    assert not alone.checks()


def test_checks_name_ranges_that_are_left_and_regions_with_few_rows(X):
    labels = np.where(np.arange(N) < 4, "few", "many")
    c = sd.what_if(f, X, {"age": 100}, by=labels)
    codes = [x.code for x in c.checks()]
    assert codes == ["extrapolation", "extrapolation", "few_rows"]
    assert "240 rows (100 %) leave the observed range of 'age'" in str(c.checks())
    assert c.checks().of("few_rows")[0].where == "few"


def test_rows_that_have_a_value_already_do_not_change(X):
    def noisy(X):
        return f(X) + 1e-9 * len(X)  # rounding that depends on the batch

    c = sd.what_if(noisy, X, to={"smoker": "no"})
    same = (X.smoker == "no").to_numpy()
    assert (c.rows.change[same] == 0).all()
    np.testing.assert_allclose(c.already, same.mean())
    constant = X.assign(age=30)
    alone = sd.what_if(f, constant, to={"age": 30})
    assert alone.value == alone.std == alone.std_error == 0
    assert alone.already == 1
    assert alone.interval() == (0, 0)


def test_a_sample_of_rows_is_kept_if_memory_does_not_suffice(X):
    c = sd.what_if(f, X, {"income": 1}, keep_rows=50 * 48)
    all_rows = sd.what_if(f, X, {"income": 1})
    assert 0 < len(c.rows) < N
    assert not c.rows.exact
    assert c.value == all_rows.value
    np.testing.assert_allclose(c.rows.change, all_rows.rows.change[c.rows.row])
    with pytest.raises(sd.UnsupportedError, match="keep_rows="):
        c.interval(method="bootstrap")
    nothing = sd.what_if(f, X, {"income": 1}, keep_rows=0)
    assert nothing.rows is None
    assert nothing.value == c.value
    for ask in (
        nothing.quantile,
        lambda p: nothing.to_frame(of="rows"),
        lambda p: nothing.plot(kind="rows"),
    ):
        with pytest.raises(sd.UnsupportedError, match="keep_rows="):
            ask(0.5)
    nothing.plot()


def test_intervals(X):
    c = sd.what_if(f, X, {"income": "+10%"}, by="smoker")
    low, high = c.interval()
    from scipy.stats import t

    half = t.ppf(0.975, N - 1) * c.std_error
    np.testing.assert_allclose([low, high], [c.value - half, c.value + half])
    weight = 1 + np.arange(N) % 3
    many = sd.what_if(f, X, {"income": "+10%"}, sample_weight=weight)
    higher = X.assign(income=X["income"] * 1.1)
    repeated = np.repeat(f(higher) - f(X), weight)
    error = repeated.std(ddof=1) / np.sqrt(len(repeated))
    for level in (0.8, 0.95):
        ends = t.interval(level, len(repeated) - 1, repeated.mean(), error)
        document = many.to_dict(confidence_level=level)
        np.testing.assert_allclose([document["lower"], document["upper"]], ends)
    np.testing.assert_allclose(many.to_frame()[["lower", "upper"]].to_numpy()[0], ends)
    a, b = c.interval(0.9, "bootstrap", random_state=3)
    assert low < a < c.value < b < high
    assert c.interval(0.9, "bootstrap", random_state=3) == (a, b)
    lower, upper = c.region_intervals()
    np.testing.assert_allclose(lower, [r.lower for r in c.by])
    again, _ = c.region_intervals(method="bootstrap")
    assert (np.abs(again - lower) < 0.5 * (upper - lower)).all()
    with pytest.raises(sd.UnsupportedError, match="by="):
        sd.what_if(f, X, {"income": 1}).region_intervals()
    with pytest.raises(sd.DataError, match="confidence_level"):
        c.interval(95)
    with pytest.raises(sd.DataError, match="method"):
        c.interval(method="jackknife")


def test_two_rows_and_one():
    X = np.array([[0.0], [1.0]])
    c = sd.what_if(lambda X: X[:, 0] ** 2, X, {0: 1})
    np.testing.assert_allclose([c.value, c.std_error, c.df], [2.0, 1.0, 1.0])
    one = sd.what_if(lambda X: X[:, 0] ** 2, X[:1], {0: 1})
    assert one.value == 1
    assert np.isnan(one.std_error)
    with pytest.raises(sd.DataError, match="Pass more rows"):
        one.interval()
    assert "mean change 1\n" in str(one)
    one.plot()


@pytest.mark.parametrize(
    ("moves", "to", "match"),
    [
        ({}, None, "no move"),
        (None, None, "no move"),
        ("age", None, "a mapping of features to moves"),
        ({"agee": 1}, None, "Did you mean 'age'"),
        ({"smoker": 1}, None, "a step of a nominal feature"),
        ({"smoker": "+1"}, None, "a step of a nominal feature"),
        ({"smoker": "+10%"}, None, "a step of a nominal feature"),
        ({"smoker": "nope"}, None, "Did you mean 'no'"),
        ({"smoker": ["no"]}, None, "one of the levels 'never', 'no', 'yes'"),
        ({"age": float("nan")}, None, "finite"),
        ({"age": float("inf")}, None, "finite"),
        ({"age": True}, None, "a step: a number"),
        ({"age": None}, None, "a step: a number"),
        ({"age": [1]}, None, "a step: a number"),
        ({"age": "old"}, None, r'a step \("\+1"\)'),
        ({"age": "+1 year"}, None, r"unit 'year'.*none declared"),
        ({"age": 1e200}, None, "which leads to"),
        ({"income": "x1e300"}, None, "which leads to"),
        ({"when": "+10%"}, None, "times have no percentages"),
        ({"when": "+1 fortnight"}, None, "weeks, days, hours"),
        ({"when": np.timedelta64(1, "M")}, None, "fixed length"),
        ({"when": "soon"}, None, "dates and times"),
        (None, {"when": 3}, "dates and times"),
        (None, {"age": "much"}, "a number"),
        (None, {"age": float("nan")}, "finite"),
        (None, 40, "a mapping of features to moves"),
        ({"age": 1}, {"age": 40}, "'age' moved twice"),
        ({"age": 1, 0: 2}, None, "'age' moved twice"),
        ({"a": {"age": 1}, "age": 2}, None, "moves beside named moves"),
        ({"a": {"age": 1}}, {"age": 2}, "named moves together with"),
        ({"a": {}}, None, "no move for 'a'"),
        ({("age", "income"): 1}, None, "a pair"),
    ],
)
def test_messages(X, moves, to, match):
    with pytest.raises(sd.DataError, match=match) as error:
        sd.what_if(f, X, moves, to=to)
    assert PATTERN.match(str(error.value))


def test_more_messages(X):
    with pytest.raises(sd.UnsupportedError, match="for m in models"):
        sd.what_if([f, f], X, {"age": 1})
    for by, match in ((np.arange(N), "regions of 240 rows"), (np.arange(3), "shape")):
        with pytest.raises(sd.DataError, match=match):
            sd.what_if(f, X, {"age": 1}, by=by)
    c = sd.what_if(f, X, {"age": 1})
    for ask in (lambda: c.to_frame(of="regions"), lambda: c.plot(kind="regions")):
        with pytest.raises(sd.UnsupportedError, match="by="):
            ask()
    for ask, match in ((lambda: c.plot(kind="bars"), "kind"), (lambda: c.quantile(2), "probab")):
        with pytest.raises(sd.DataError, match=match):
            ask()


def test_units_and_declared_kinds():
    X = pd.DataFrame({"age": [20.0, 30.0, 40.0], "grade": [1, 2, 3], "size": ["s", "m", "l"]})
    schema = {
        "age": sd.Feature("age", unit="years"),
        "size": sd.Feature("size", "ordinal", levels=("s", "m", "l")),
    }

    def model(X):
        return X["age"].to_numpy() + 10.0 * X["grade"].to_numpy() + (X["size"] == "l").to_numpy()

    c = sd.what_if(model, X, {"age": "+2 years", "grade": 1}, schema=schema)
    assert c.text == "age + 2 years, grade + 1"
    assert c.value == 12
    assert sd.what_if(model, X, {"size": "l"}, schema=schema).value == pytest.approx(2 / 3)
    with pytest.raises(sd.DataError, match="a step of an ordinal feature"):
        sd.what_if(model, X, {"size": 1}, schema=schema)
    coded = {"grade": "nominal"}
    assert sd.what_if(model, X, {"grade": 3}, schema=coded).value == pytest.approx(10)
    assert sd.what_if(model, X, {"grade": "3"}, schema=coded).value == pytest.approx(10)
    with pytest.raises(sd.DataError, match=r"schema=\{'grade': \"continuous\"\}"):
        sd.what_if(model, X, {"grade": 7}, schema=coded)
    ordinal = sd.what_if(model, X, {"grade": 1}, schema={"grade": "ordinal"})
    assert ordinal.value == 10


def test_the_model_gets_the_types_of_the_columns():
    X = pd.DataFrame({"a": np.array([1, 2, 3], dtype="int32"), "b": np.array([1, 2, 3], "float32")})
    seen = []

    def model(X):
        seen.append((X["a"].dtype.kind, X["b"].dtype))
        return X["a"].to_numpy() + X["b"].to_numpy(dtype=float)

    assert sd.what_if(model, X, {"a": 1, "b": 0.1}).value == pytest.approx(1.1)
    assert seen[-1] == ("i", np.dtype("float32"))
    assert sd.what_if(model, X, {"a": 0.5}).value == 0.5
    assert seen[-1][0] == "f"
