"""`drift`: closed forms and brute force, tables of different types, labels, outputs, costs, and wrong calls."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import skedasis as sd

QUIET: Any = {"progress": False}


def table(seed: int, n: int, shift: float = 0.0) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(n, 3))
    X[:, 0] += shift
    return X


def linear(*coefficients: float, constant: float = 0.0) -> Any:
    return lambda X: np.asarray(X, dtype=float) @ np.array(coefficients) + constant


def curved(X: Any) -> np.ndarray:
    x = np.asarray(X, dtype=float)
    return np.sin(x[:, 0]) + x[:, 1] * x[:, 2]


# --- what it computes -----------------------------------------------------------------------------


def test_of_a_linear_model_each_feature_carries_its_coefficient_times_the_shift():
    old, new = table(0, 700), table(1, 400, 0.7) * [1.0, 2.0, 1.0]
    found = sd.drift(linear(2.0, -1.0, 0.0), old, X_new=new, **QUIET)
    shift = new.mean(axis=0) - old.mean(axis=0)
    np.testing.assert_allclose([f.value for f in found.features], shift * [2, -1, 0], atol=1e-12)
    assert found.jointly.value == pytest.approx(0.0, abs=1e-12)
    assert found.rows_moved.value == found.change.value
    assert found.model_changed.value == 0.0
    assert found.same_model
    assert not found.same_rows


def test_of_linear_models_the_average_coefficients_count():
    """The twofold decomposition of Oaxaca and Blinder, with the average of both coefficients."""
    old, new = table(0, 700), table(1, 400, 0.7)
    a, b = np.array([2.0, -1.0, 0.5]), np.array([1.0, -1.0, 2.5])
    found = sd.drift(linear(*a, constant=1.0), old, linear(*b, constant=4.0), new, **QUIET)
    means = old.mean(axis=0), new.mean(axis=0)
    shift = (a + b) / 2 * (means[1] - means[0])
    np.testing.assert_allclose([f.value for f in found.features], shift, atol=1e-12)
    assert found.model_changed.value == pytest.approx(3.0 + (b - a) @ (means[0] + means[1]) / 2)
    both = np.concatenate([old, new])
    spread = np.abs(b - a) * both.std(axis=0)
    np.testing.assert_allclose([f.curve_change for f in found.features], spread, rtol=0.02)
    assert [f.curve_found for f in found.features] == [True, False, True]


@pytest.mark.parametrize("weighted", [False, True])
def test_parts_and_their_errors_by_plain_numpy(weighted):
    old, new = table(0, 300), table(1, 200, 0.5)
    rng = np.random.default_rng(2)
    w = [rng.integers(1, 4, n).astype(float) if weighted else np.ones(n) for n in (300, 200)]
    weights: Any = {"sample_weight_old": w[0], "sample_weight_new": w[1]} if weighted else {}

    def other(X: np.ndarray) -> np.ndarray:
        return curved(X) + 0.3 * (X[:, 1] > 0)

    found = sd.drift(curved, old, other, new, **weights, **QUIET)
    # Weights are repetitions.
    P, Q = (np.repeat(X, n.astype(int), axis=0) for X, n in zip((old, new), w, strict=True))
    f, g = {"P": curved(P), "Q": curved(Q)}, {"P": other(P), "Q": other(Q)}
    m = {t: (f[t] + g[t]) / 2 for t in "PQ"}
    d = {t: g[t] - f[t] for t in "PQ"}
    n = {"P": len(P), "Q": len(Q)}
    assert found.mean_old == pytest.approx(f["P"].mean())
    assert found.mean_new == pytest.approx(g["Q"].mean())
    assert found.change.value == pytest.approx(g["Q"].mean() - f["P"].mean())
    assert found.rows_moved.value == pytest.approx(m["Q"].mean() - m["P"].mean())
    assert found.model_changed.value == pytest.approx((d["P"].mean() + d["Q"].mean()) / 2)

    def error(old: np.ndarray, new: np.ndarray) -> float:
        return float(np.sqrt(old.var(ddof=1) / n["P"] + new.var(ddof=1) / n["Q"]))

    assert found.change.std_error == pytest.approx(error(f["P"], g["Q"]))
    assert found.rows_moved.std_error == pytest.approx(error(m["P"], m["Q"]))
    assert found.model_changed.std_error == pytest.approx(error(d["P"] / 2, d["Q"] / 2))


def test_what_a_feature_carries_is_its_ale_at_the_rows():
    old, new = table(0, 500), table(1, 300, 0.5)
    found = sd.drift(curved, old, X_new=new, **QUIET)
    both = np.concatenate([old, new])
    effects = sd.explain(curved, both, method=sd.ALE(), heterogeneity_rows=0, **QUIET)
    for j, feature in enumerate(found.features):
        effect = effects[j]
        expected = effect(new[:, j]).mean() - effect(old[:, j]).mean()
        assert feature.value == pytest.approx(expected, abs=1e-12)
    rest = found.rows_moved.value - sum(f.value for f in found.features)
    assert found.jointly.value == pytest.approx(rest, abs=1e-13)


def test_the_error_of_a_feature_is_that_of_resampled_tables():
    """Both tables are drawn anew by a bootstrap, and everything is computed again."""
    old, new = table(0, 400), table(1, 300, 0.5)
    found = sd.drift(curved, old, X_new=new, **QUIET)
    rng, drawn = np.random.default_rng(3), []
    for _ in range(200):
        P, Q = (X[rng.integers(0, len(X), len(X))] for X in (old, new))
        again = sd.drift(curved, P, X_new=Q, **QUIET)
        drawn.append([*(f.value for f in again.features), again.jointly.value])
    errors = [*(f.std_error for f in found.features), found.jointly.std_error]
    np.testing.assert_allclose(errors, np.std(drawn, axis=0), rtol=0.2)


def test_groups_partition_the_change_and_are_said_with_their_shares():
    old, new = table(0, 2000), table(1, 1500, 0.8)

    def changed(X: np.ndarray) -> np.ndarray:
        return curved(X) + 2.0 * (X[:, 1] > 1.0)

    found = sd.drift(curved, old, changed, new, **QUIET)
    for part in (found.rows_moved, found.model_changed):
        groups = found.groups_of(part.part)
        assert len(groups) > 1
        assert sum(g.total for g in groups) == pytest.approx(part.value, rel=1e-12)
        assert sum(g.share_old for g in groups) == pytest.approx(1.0)
        assert sum(g.rows_new for g in groups) == 1500
    largest = found.groups_of("model changed")[0]
    assert largest.group == "x1 > 1"
    inside = [X[:, 1] > 1.0 for X in (old, new)]
    assert largest.total == pytest.approx(inside[0].mean() + inside[1].mean())
    assert largest.mean_old == pytest.approx(curved(old[inside[0]]).mean())
    assert largest.mean_new == pytest.approx(changed(new[inside[1]]).mean())
    assert largest.lower < largest.total < largest.upper
    assert any("where x1 > 1" in said for said in found.verdict)
    # The interval is of the tested rows, whose value stands beside the total.
    line = next(row for row in str(found).splitlines() if row.startswith("x1 > 1 "))
    assert [float(cell) for cell in re.split(r"  +", line)[1:3]] == pytest.approx(
        [largest.total, largest.value], rel=0.01
    )


def test_the_population_stability_index_is_that_of_shares():
    rng = np.random.default_rng(0)
    old, new = (
        pd.DataFrame({"level": rng.choice(list("abc"), n, p=p)})
        for n, p in ((400, [0.5, 0.3, 0.2]), (300, [0.2, 0.3, 0.5]))
    )
    found = sd.drift(lambda X: (X["level"] == "a") * 1.0, old, X_new=new, **QUIET)
    p, q = (
        (X["level"].value_counts().reindex(list("abc")).to_numpy() + 0.5) / (len(X) + 1.5)
        for X in (old, new)
    )
    assert found.features[0].psi == pytest.approx(((q - p) * np.log(q / p)).sum())
    value = (new["level"] == "a").mean() - (old["level"] == "a").mean()
    assert found.features[0].value == pytest.approx(value)


def test_one_table_moves_no_rows_and_one_model_does_not_change():
    X = table(0, 500)
    models = sd.drift(curved, X, linear(1.0, 0.0, 0.0), **QUIET)
    assert models.same_rows
    assert models.rows_moved.value == models.jointly.value == 0.0
    assert [f.value for f in models.features] == [0.0] * 3
    assert [f.psi for f in models.features] == [0.0] * 3
    difference = X[:, 0] - curved(X)
    assert models.model_changed.value == pytest.approx(difference.mean())
    assert models.model_changed.std_error == pytest.approx(difference.std(ddof=1) / np.sqrt(500))
    rows = sd.drift(curved, X[:200], X_new=X[200:], **QUIET)
    assert rows.model_changed.value == 0.0
    assert [f.curve_change for f in rows.features] == [0.0] * 3


def test_two_models_with_the_same_values_are_one():
    X = table(0, 300)
    found = sd.drift(curved, X[:100], lambda X: curved(X) * (1 + 1e-16), X[100:], **QUIET)
    assert found.same_model
    assert found.model_changed.value == 0.0


def test_a_constant_difference_is_certain():
    X = table(0, 200)
    found = sd.drift(curved, X, lambda X: curved(X) + 7.0, **QUIET)
    assert found.model_changed.value == pytest.approx(7.0)
    assert found.model_changed.found
    assert not any(f.curve_found for f in found.features)
    assert len(found.groups_of("model changed")) == 1


def test_what_is_said():
    X = table(0, 2000)
    none = sd.drift(curved, X[:1000], X_new=X[1000:], **QUIET)
    assert not none.found
    (said,) = none.verdict
    assert said.startswith("No change was found: the mean prediction is ")
    moved = sd.drift(
        linear(2.0, 0.0, 0.0), X[:1000], X_new=X[1000:] + np.array([5.0, 0.0, 0.0]), **QUIET
    )
    assert "because rows moved" in moved.verdict[0]
    assert "model" not in moved.verdict[0]
    assert moved.verdict[1].startswith("Rows moved, by feature: x0 +")
    assert "x0" in str(moved)
    # The mean stays, and what it is made of changes.
    opposite = sd.drift(linear(2.0, 0.0, 0.0), X, linear(-2.0, 0.0, 0.0), **QUIET)
    assert any(f.curve_found for f in opposite.features)
    assert opposite.verdict[0].endswith(
        "), but the model changed more in some groups of rows than in others and 1 effect changed."
    )
    alone = replace(opposite, change=replace(opposite.change, lower=0.01, found=False))
    assert "; it excludes 0, but the tests allow for all parts together)" in alone.verdict[0]
    assert "it excludes 0" not in replace(opposite, change=none.change).verdict[0]


def test_tables_that_do_not_overlap_have_groups():
    old, new = table(0, 2000), table(1, 2000) + 100.0
    found = sd.drift(linear(1.0, 0.0, 0.0), old, X_new=new, **QUIET)
    groups = found.groups_of("rows moved")
    assert len(groups) > 1
    assert sum(g.total for g in groups) == pytest.approx(found.rows_moved.value)


def test_effects_that_changed_little_are_counted_only():
    X = table(0, 2000)
    found = sd.drift(linear(1.0, 1.0, 1.0), X, linear(1.001, 1.5, 0.0), **QUIET)
    assert all(f.curve_found for f in found.features)
    assert "The effects of x2 (0.9" in found.verdict[-1]
    assert "changed, 1 other by less than a tenth of that" in found.verdict[-1]
    assert "x0" not in found.verdict[-1]


# --- tables, labels, outputs ----------------------------------------------------------------------


def test_tables_of_other_orders_types_and_levels():
    rng = np.random.default_rng(0)
    old = pd.DataFrame(
        {
            "a": rng.integers(0, 5, 300),
            "b": pd.Categorical(rng.choice(["x", "y"], 300)),
            "c": rng.normal(size=300),
        }
    )
    new = pd.DataFrame(
        {
            "c": rng.normal(size=200),
            "b": pd.Categorical(rng.choice(["y", "z"], 200)),
            "a": rng.integers(0, 5, 200).astype(float),
        }
    )
    new.loc[:20, "a"] = np.nan
    before = old.copy(), new.copy()

    def model(X: pd.DataFrame) -> np.ndarray:
        return np.asarray(X["a"].fillna(2.0) + (X["b"] == "z") + X["c"], dtype=float)

    found = sd.drift(model, old, X_new=new, **QUIET)
    assert [f.feature for f in found.features] == ["a", "b", "c"]
    assert found.change.value == pytest.approx(model(new).mean() - model(old).mean())
    total = sum(f.value for f in found.features) + found.jointly.value
    assert total == pytest.approx(found.rows_moved.value, abs=1e-12)
    for X, same in zip((old, new), before, strict=True):
        pd.testing.assert_frame_equal(X, same)
    other = sd.drift(
        lambda X: np.asarray(X["a"].fill_null(2.0) + X["c"], dtype=float),
        pl.from_pandas(old),
        X_new=pl.from_pandas(new),
        **QUIET,
    )
    assert other.library == "polars"
    assert other.to_frame(of="features").shape[0] == 3


def test_a_model_of_other_columns_is_a_function_that_chooses_them():
    X = pd.DataFrame(table(0, 300), columns=list("abc"))
    old = LinearRegression().fit(X[["a", "b"]], X["a"] + X["b"])
    new = LinearRegression().fit(X[["c", "b", "a"]], X["a"] + X["b"] + X["c"])
    found = sd.drift(
        lambda X: old.predict(X[["a", "b"]]), X, lambda X: new.predict(X[["c", "b", "a"]]), **QUIET
    )
    assert [f.curve_found for f in found.features] == [False, False, True]


def test_a_loss_drifts_with_the_labels_of_both_tables():
    X = table(0, 600)
    y = X[:, 0] + np.random.default_rng(1).normal(size=600)
    model = LinearRegression().fit(X, y)
    q = sd.loss(model, "squared_error")
    found = sd.drift(q, X[:300], X_new=X[300:], y_old=y[:300], y_new=y[300:] + 1.0, **QUIET)
    error = (model.predict(X) - np.where(np.arange(600) < 300, y, y + 1.0)) ** 2
    assert found.change.value == pytest.approx(error[300:].mean() - error[:300].mean())
    assert found.change.found
    # The labels changed, not the rows: no effect of a feature carries it.
    assert found.verdict[0].endswith("because rows or their labels moved.")
    assert found.jointly.value == pytest.approx(found.change.value, rel=0.1)


def test_several_outputs_have_a_drift_each():
    X = table(0, 400, 0.2)
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    old, new = (LogisticRegression(C=c).fit(X, y) for c in (1.0, 0.01))
    found = sd.drift(
        sd.probability(old, class_="all"), X[:200], sd.probability(new, class_="all"), X[200:]
    )
    assert list(found) == [0, 1, 2]
    assert sum(found[k].change.value for k in found) == pytest.approx(0.0, abs=1e-12)
    expected = new.predict_proba(X[200:])[:, 1].mean() - old.predict_proba(X[:200])[:, 1].mean()
    assert found[1].change.value == pytest.approx(expected)


def test_streams_are_explained_by_rows_that_are_drawn(tmp_path):
    old, new = (
        pd.DataFrame(table(seed, 500, s), columns=list("abc")) for seed, s in ((0, 0.0), (1, 1.0))
    )
    paths = [tmp_path / f"{name}.parquet" for name in ("old", "new")]
    for frame, path in zip((old, new), paths, strict=True):
        frame.to_parquet(path)
    model = linear(1.0, 0.0, 0.0)
    streams = [sd.parquet(path) for path in paths]
    found = sd.drift(lambda X: model(X.to_numpy()), streams[0], X_new=streams[1], **QUIET)
    assert found.change.value == pytest.approx(new["a"].mean() - old["a"].mean())
    drawn = sd.drift(
        lambda X: model(X.to_numpy()), streams[0], X_new=streams[1], sample=100, **QUIET
    )
    assert drawn.rows_old == drawn.rows_new == 100
    assert drawn.provenance["exact"] is False
    assert (drawn.provenance["sample"], drawn.provenance["source_rows"]) == (200, 1000)
    assert all(repr(stream) in drawn.provenance["source"] for stream in streams)
    assert str(drawn).startswith(
        "Drift of the mean prediction: 100 old rows, 100 new rows, a sample of 200 of 1,000 rows\n"
    )
    # All numbers are of the drawn rows: parts sum to the change.
    assert drawn.mean_new - drawn.mean_old == pytest.approx(drawn.change.value)
    assert "sample" not in str(found).splitlines()[0]


# --- costs ----------------------------------------------------------------------------------------


class Counted:
    """A model that counts the rows at which it is called."""

    def __init__(self, model: Any) -> None:
        self.model, self.rows = model, 0

    def __call__(self, X: np.ndarray) -> np.ndarray:
        self.rows += len(X)
        return self.model(X)


def test_model_rows_are_counted():
    old, new = table(0, 300), table(1, 200)
    f, g = Counted(curved), Counted(linear(1.0, 2.0, 3.0))
    found = sd.drift(f, old, g, new, **QUIET)
    assert f.rows + g.rows == found.provenance["model_rows"]
    assert found.provenance["effect_rows"] == 2 * 500 * (1 + 2 * 3)
    assert found.provenance["check_rows"] <= 2 * 128
    one = sd.drift(Counted(curved), old, X_new=new, **QUIET)
    assert one.provenance["effect_rows"] == 500 * (1 + 2 * 3)


def test_trees_are_not_called():
    X = table(0, 300)
    old, new = (
        RandomForestRegressor(5, max_depth=4, random_state=s).fit(X, curved(X)) for s in (0, 1)
    )
    found = sd.drift(old, X[:150], new, X[150:], **QUIET)
    assert found.provenance["effect_rows"] == 0
    assert found.change.value == pytest.approx(
        new.predict(X[150:]).mean() - old.predict(X[:150]).mean()
    )
    called = sd.drift(old, X[:150], new, X[150:], tree="off", **QUIET)
    assert [f.value for f in found.features] == pytest.approx([f.value for f in called.features])


def test_little_memory_computes_features_one_after_the_other():
    old, new = table(0, 300), table(1, 200, 0.5)
    model = Counted(curved)
    whole = sd.drift(curved, old, X_new=new, **QUIET)
    parts = sd.drift(model, old, X_new=new, keep_rows="1KB", **QUIET)
    assert parts.to_dict()["features"] == whole.to_dict()["features"]
    assert parts.provenance["model_rows"] == whole.provenance["model_rows"] == model.rows


def test_model_rows_are_limited():
    old, new = table(0, 2000), table(1, 2000, 0.5)
    model = Counted(curved)
    with pytest.warns(sd.CostWarning, match="random sample of"):
        found = sd.drift(model, old, X_new=new, max_model_rows=10_000, **QUIET)
    assert model.rows <= 10_000
    assert 200 <= found.rows_old < 2000
    with pytest.raises(sd.DataError, match="max_model_rows"):
        sd.drift(model, old, X_new=new, max_model_rows=100, **QUIET)


# --- strange input --------------------------------------------------------------------------------


def test_strange_rows():
    X = table(0, 2)
    found = sd.drift(linear(1.0, 0.0, 0.0), X[:1], X_new=X[1:], **QUIET)
    assert np.isnan(found.change.lower)
    assert not found.found
    constant = np.ones((50, 2))
    found = sd.drift(lambda X: X[:, 0], constant, X_new=constant.copy(), **QUIET)
    assert found.change.value == 0.0
    assert not found.found
    zero = np.zeros(100)
    zero[:40] = 1.0
    X = table(0, 100)
    left = sd.drift(curved, X, X_new=X, sample_weight_new=None, sample_weight_old=zero, **QUIET)
    assert left.same_rows
    assert left.rows_old == 40
    hostile = pd.DataFrame({"<script>alert(1)</script>": X[:, 0]})
    found = sd.drift(lambda X: X.to_numpy()[:, 0], hostile, X_new=hostile + 1.0, **QUIET)
    assert "<script>alert" not in str(found._repr_html_())


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda f, X: sd.drift(f, X, None), "one model and one table"),
        (lambda f, X: sd.drift([f, f], X), "one model"),
        (lambda f, X: sd.drift(f, X, f, X[:, :2]), "2 columns"),
        (lambda f, X: sd.drift(f, X, f, pd.DataFrame(X)), "a table of pandas"),
        (lambda f, X: sd.drift(f, X, f, y_new=X[:, 0]), "y_new and one table"),
        (lambda f, X: sd.drift(f, X, f, X + 1, row_id_old=np.arange(60)), "row_id of X_old only"),
        (lambda f, X: sd.drift(f, X, sd.prediction(f, unit="EUR"), X + 1), "the unit 'EUR'"),
        (lambda f, X: sd.drift(f, X, f, X + 1, y_old=X[:, 0]), "y of X_old only"),
        (
            lambda f, X: sd.drift(sd.loss(f, "squared_error"), X, f, X + 1),
            "Pass y_old=, and y_new=",
        ),
        (lambda f, X: sd.drift(f, X, X_new=X[:0]), "0 rows"),
        (
            lambda f, X: sd.drift(f, pd.DataFrame({"a": X[:, 0]}), f, pd.DataFrame({"b": [1.0]})),
            "no column 'a'",
        ),
        (
            lambda f, X: sd.drift(f, pd.DataFrame({"a": X[:, 0]}), f, pd.DataFrame({"a": ["x"]})),
            "column 'a': got the type",
        ),
    ],
)
def test_wrong_calls_are_refused(call, said):
    with pytest.raises((sd.DataError, sd.UnsupportedError)) as raised:
        call(linear(1.0, 0.0, 0.0), table(0, 60))
    assert said in str(raised.value)


def test_the_result_is_saved_written_and_drawn(tmp_path):
    old, new = table(0, 500), table(1, 400, 0.5)
    found = sd.drift(curved, old, lambda X: curved(X) + (X[:, 1] > 1), new, **QUIET)
    found.save(tmp_path / "drift.npz")
    again = sd.load(tmp_path / "drift.npz")
    assert again.to_dict() == found.to_dict()
    assert found.to_dict()["rows_moved"]["value"] == found.rows_moved.value
    assert list(found.to_frame(of="parts", backend="pandas")["part"]) == [
        "change",
        "rows moved",
        "model changed",
        "jointly",
    ]
    assert len(found.to_frame(of="groups", backend="pandas")) == len(found.groups)
    assert found.ranking()[0].feature in ("x0", "x1")
    assert found.change.interval(0.99)[0] < found.change.lower


def test_a_table_in_the_place_of_the_new_model_is_told():
    X = np.zeros((5, 2))
    for table in (X, pd.DataFrame(X)):
        with pytest.raises(
            sd.DataError, match=r"a table in the place of the new model.*X_new=X_new"
        ):
            sd.drift(lambda X: X[:, 0], X, table)


def test_sampling_weights_have_no_size():
    rng = np.random.default_rng(0)
    old, new = rng.normal(size=(400, 2)), rng.normal(0.3, size=(300, 2))
    weights = rng.uniform(0.5, 1.5, 400), rng.uniform(0.5, 1.5, 300)

    def errors(size):
        found = sd.drift(
            lambda X: X[:, 0],
            old,
            lambda X: 1.2 * X[:, 0] + 0.3 * X[:, 1] ** 2,
            new,
            sample_weight_old=size * weights[0],
            sample_weight_new=size * weights[1],
            weight_kind="sampling",
        )
        return [e for f in found.features for e in (f.std_error, f.curve_change_error)]

    expected = errors(1.0)
    for size in (0.02, 1000.0):
        np.testing.assert_allclose(errors(size), expected, rtol=1e-9)
