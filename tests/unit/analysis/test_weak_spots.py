"""Weak spots: groups, biases and errors by plain NumPy and SciPy, kinds of models and data, and strange input."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LogisticRegression

import skedasis as sd
from skedasis.analysis.row_groups import RowGroups
from skedasis.data.dataset import as_dataset
from skedasis.stats.random import row_hashes
from tests.helpers import Remembers, refused


def linear(X: np.ndarray) -> np.ndarray:
    return np.asarray(X)[:, 0]


def draw(n: int = 2000, bias: float = 2.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and labels; `linear` is too low by `bias` where x1 > 0.8."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, 4))
    return X, X[:, 0] + bias * (X[:, 1] > 0.8) + rng.normal(size=n)


def halves(X: np.ndarray, seed: int = 0) -> np.ndarray:
    """Return the rows that chose the rules, as the docstring says: by hashes of the seed and the row."""
    return row_hashes(as_dataset(X).identifiers, seed, "weak spots: halves") >> np.uint64(63) == 0


# --------------------------------------------------------------------------- numbers


def test_a_bias_is_that_of_the_rows_that_did_not_choose_the_rule():
    X, y = draw()
    found = sd.weak_spots(linear, X, y, max_depth=1)
    spot = found[0]
    assert spot.rule in ("x1 > 0.8", "x1 > 0.801", "x1 > 0.799")
    inside = found.assign(X) == spot.group
    some = inside & ~halves(X)
    residual = y - X[:, 0]
    test = stats.ttest_1samp(residual[some], 0.0)
    assert spot.bias == pytest.approx(residual[some].mean(), rel=1e-12)
    assert spot.p_value == pytest.approx(test.pvalue, rel=1e-8)
    assert spot.interval(0.9) == pytest.approx(test.confidence_interval(0.9), rel=1e-10)
    assert spot.label - spot.prediction == pytest.approx(spot.bias, rel=1e-10)
    assert spot.prediction == pytest.approx(X[some, 0].mean(), rel=1e-12)
    assert (spot.rows, spot.share) == (inside.sum(), pytest.approx(inside.mean()))
    assert spot.stability > 0.9


def test_the_overall_bias_is_that_of_all_rows():
    X, y = draw()
    whole = sd.weak_spots(linear, X, y).overall
    test = stats.ttest_1samp(y - X[:, 0], 0.0)
    assert whole.bias == pytest.approx((y - X[:, 0]).mean(), rel=1e-12)
    assert whole.interval() == pytest.approx(test.confidence_interval(), rel=1e-10)
    assert (whole.rule, whole.group, whole.rows, whole.share) == ("all rows", -1, 2000, 1.0)
    assert whole.confirmed


def test_a_constant_shift_is_no_weak_spot_and_is_said_once():
    X, y = draw(bias=0.0, seed=1)
    found = sd.weak_spots(lambda X: X[:, 0] - 3, X, y)
    assert len(found) == 0
    first, second = str(found).splitlines()
    expected = "No part of the rows was found where the model is wrong by more than over all rows."
    assert first == expected
    amount = f"{(y - X[:, 0] + 3).mean():.2f}"
    assert second.startswith(f"Over all rows the model is {amount} too low on average (95 % int")


def test_where_nothing_is_wrong_it_says_so():
    X, y = draw(bias=0.0, seed=1)
    found = sd.weak_spots(linear, X, y)
    first, second = str(found).splitlines()
    assert first == "No part of the rows was found where the model is wrong on average."
    assert second.startswith("Over all rows the model is not wrong on average (mean label − mean ")
    assert not found.overall.confirmed


def test_the_direction_and_the_unit_are_said():
    X, y = draw()
    q = sd.prediction(linear, unit="bikes")
    low = str(sd.weak_spots(q, X, 10 * y - 9 * X[:, 0], max_depth=1)).splitlines()[0]
    assert low.startswith("The model is 20.6 bikes too low where x1 > 0.8 (95 % interval 19.1 to ")
    high = str(sd.weak_spots(linear, X, 2 * X[:, 0] - y, max_depth=1)).splitlines()[0]
    assert high.startswith("The model is 2")
    assert " too high where x1 > 0.8" in high
    ends = [float(v) for v in high.split("interval ")[1].split(",")[0].split(" to ")]
    assert 0 < ends[0] < ends[1]


def test_a_group_that_an_overall_bias_explains_is_no_weak_spot():
    """The model is 1 too low, and 3 where x1 > 0.8: the other rows are not wrong by more than all rows."""
    X, y = draw()
    found = sd.weak_spots(lambda X: X[:, 0] - 1, X, y, max_depth=1)
    assert [spot.rule[:2] for spot in found] == ["x1"]
    assert [g.confirmed for g in found.groups] == [False, True]
    assert found.overall.bias == pytest.approx(1.4, abs=0.1)


def test_min_bias_is_the_smallest_bias_that_is_shown():
    X, y = draw()
    assert len(sd.weak_spots(linear, X, y, max_depth=1, min_bias=1.5)) == 1
    found = sd.weak_spots(linear, X, y, max_depth=1, min_bias=2.5)
    assert len(found) == 0
    assert "wrong on average by at least 2.5." in str(found)


def test_corners_are_found_by_two_cuts_at_once():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (4000, 4))
    y = X[:, 0] + 3 * ((X[:, 1] > 0.5) ^ (X[:, 2] > 0.5)) - 1.5 + rng.normal(size=4000)
    found = sd.weak_spots(linear, X, y)
    assert len(found) == 4
    assert all("x1" in rule and "x2" in rule for rule in found.rules)
    assert len(sd.weak_spots(linear, X, y, look_ahead=False)) == 0


# --------------------------------------------------------------------------- losses


def test_a_loss_is_compared_with_its_average():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (3000, 3))
    y = X[:, 0] + rng.normal(size=3000) * np.where(X[:, 2] > 0.75, 3.0, 1.0)
    found = sd.weak_spots(linear, X, y, of="squared_error", max_depth=1)
    loss = (y - X[:, 0]) ** 2
    spot = found[0]
    other = ~halves(X)
    inside, rest = (other & ((found.assign(X) == spot.group) == side) for side in (True, False))
    assert spot.loss == pytest.approx(loss[inside].mean(), rel=1e-10)
    assert spot.ratio == pytest.approx(loss[inside].mean() / loss[other].mean(), rel=1e-10)
    assert spot.bias == pytest.approx(loss[inside].mean() - loss[other].mean(), rel=1e-10)
    welch = stats.ttest_ind(loss[inside], loss[rest], equal_var=False)
    assert spot.p_value == pytest.approx(welch.pvalue, rel=0.1)
    assert found.overall.loss == pytest.approx(loss.mean(), rel=1e-10)
    text = str(found)
    assert text.startswith(f"The squared error is {spot.ratio:.2f} times its average where x2 > ")
    # The other rows have a smaller loss, which is no weak spot.
    assert [g.confirmed for g in found.groups] == [False, True]
    assert sd.weak_spots(sd.loss(linear), X, y, max_depth=1).rules == found.rules
    assert len(sd.weak_spots(linear, X, y)) == 0


def test_both_intervals_of_a_loss_have_the_smaller_degrees_of_freedom():
    """Those of the ratio are Satterthwaite's, by numerical slopes: fewer where the other rows are few."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (3000, 3))
    y = X[:, 0] + rng.normal(size=3000) * np.where(X[:, 2] > 0.25, 3.0, 1.0)
    found = sd.weak_spots(linear, X, y, of="squared_error", max_depth=1)
    spot, loss, h = found[0], (y - X[:, 0]) ** 2, 1e-6
    inside, rest = (
        ~halves(X) & ((found.assign(X) == spot.group) == side) for side in (True, False)
    )
    share = inside.sum() / (~halves(X)).sum()

    def log_ratio(a: float, b: float) -> float:
        return float(np.log(a / (share * a + (1 - share) * b)))

    a, b = loss[inside].mean(), loss[rest].mean()
    of_inside = (log_ratio(a + h, b) - log_ratio(a - h, b)) / (2 * h)
    of_rest = (log_ratio(a, b + h) - log_ratio(a, b - h)) / (2 * h)
    parts = [
        (slope**2 * loss[g].var(ddof=1) / g.sum(), g.sum() - 1)
        for slope, g in ((of_inside, inside), (of_rest, rest))
    ]
    variance = sum(v for v, _ in parts)
    df = variance**2 / sum(v**2 / n for v, n in parts)
    assert spot.ratio_error == pytest.approx(np.sqrt(variance), rel=1e-6)
    assert df < 0.9 * stats.ttest_ind(loss[inside], loss[rest], equal_var=False).df
    assert spot.df == pytest.approx(df, rel=1e-6)


def test_a_loss_that_may_be_negative_has_no_ratio():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (2000, 2))
    y = X[:, 0] + 0.01 * rng.normal(size=2000) * np.where(X[:, 1] > 0.7, 3.0, 1.0)
    found = sd.weak_spots(sd.nll(lambda X: (X[:, 0], np.full(len(X), 0.01))), X, y, max_depth=1)
    assert np.isnan(found[0].ratio)
    assert " above its average where x1 > 0.7" in str(found)


def test_a_function_may_be_a_loss():
    X, y = draw()
    asymmetric = lambda y, f: np.where(y > f, 5.0, 1.0) * np.abs(y - f)  # noqa: E731
    assert sd.weak_spots(linear, X, y, of=asymmetric, max_depth=1)[0].rule.startswith("x1 > 0.")


# --------------------------------------------------------------------------- models and data


def classes(n: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and classes; "yes" is more probable where x1 > 0.8."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (n, 3))
    p = np.where(X[:, 1] > 0.8, 0.6, 0.2)
    return X, np.where(rng.uniform(size=n) < p, "yes", "no")


def test_a_classifier_is_compared_by_its_probability():
    X, y = classes()
    model = LogisticRegression().fit(X[:, [0]], y)

    class Wrong(LogisticRegression):
        classes_ = model.classes_

        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            return model.predict_proba(X[:, [0]])

    for q in (Wrong(), sd.probability(Wrong(), class_="yes"), sd.logit(Wrong(), class_="yes")):
        found = sd.weak_spots(q, X, y, max_depth=1)
        assert found[0].rule.startswith("x1 > 0.")
        mean = (y == "yes").mean()
        assert found[0].bias == pytest.approx(0.6 - mean, abs=0.06)
        assert "too low where x1 > 0." in str(found)
    every = sd.weak_spots(sd.probability(Wrong(), class_="all"), X, y, max_depth=1)
    assert isinstance(every, sd.MultiOutput)
    assert every["yes"][0].bias == pytest.approx(-every["no"][0].bias, rel=1e-10)
    assert every.provenance["effect_rows"] == len(X)


@pytest.mark.parametrize("below", [None, 0, 3])
@pytest.mark.parametrize("kind", [None, "frequency", "sampling"])
def test_a_group_without_events_has_the_binomial_error(kind, below):
    """Of 0 events its own rows would say that there is no error; a frequency is as many rows, a sampling weight one.

    So have counts whose means are a quarter, and a quarter above another whole number.
    """
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 1, (2000, 2))
    y = (rng.uniform(size=2000) < np.where(X[:, 0] > 0.5, 0.5, 0.0)).astype(int)
    w = np.ones(2000) if kind is None else rng.integers(1, 6, 2000).astype(float)
    weights: dict[str, Any] = {} if kind is None else {"sample_weight": w, "weight_kind": kind}
    quarter: Any = sd.probability(lambda X: np.full(len(X), 0.25))
    if below is not None:
        y, quarter = below + 2 * y, lambda X: np.full(len(X), below + 0.25)
    found = sd.weak_spots(quarter, X, y, max_depth=1, **weights)
    low = min(found, key=lambda spot: spot.bias)
    of_group = w[(found.assign(X) == low.group) & ~halves(X)]
    assert low.label == pytest.approx(below or 0)
    rows = np.repeat(1.0, int(of_group.sum())) if kind == "frequency" else of_group
    error = np.sqrt(sum(0.25 * 0.75 * v**2 for v in rows)) / rows.sum()
    assert low.std_error == pytest.approx(error, rel=1e-10)


def test_a_group_that_the_other_half_would_not_choose_is_not_shown(monkeypatch):
    X, y = draw()
    assert len(sd.weak_spots(linear, X, y, max_depth=1)) == 1
    monkeypatch.setattr(RowGroups, "stability", np.array([1.0, 0.29]))
    unstable = sd.weak_spots(linear, X, y, max_depth=1)
    assert len(unstable) == 0
    assert unstable.groups[1].bias > 1.8
    monkeypatch.setattr(RowGroups, "stability", np.array([1.0, 0.3]))
    assert len(sd.weak_spots(linear, X, y, max_depth=1)) == 1


def test_transformed_predictions_are_compared_on_the_scale_of_the_labels():
    X, _ = draw()
    rate = lambda X: np.exp(X[:, 0])  # noqa: E731
    labels = np.exp(X[:, 0]) + 2 * (X[:, 1] > 0.8) + np.random.default_rng(1).normal(size=len(X))
    plain = sd.weak_spots(rate, X, labels)
    logs = sd.weak_spots(sd.prediction(rate, inverse="log"), X, labels)
    assert [g.bias for g in logs.groups] == [g.bias for g in plain.groups]
    link = sd.weak_spots(sd.prediction(linear, link="log"), X, labels)
    np.testing.assert_allclose([g.bias for g in link.groups], [g.bias for g in plain.groups])


def test_the_model_is_called_once_for_each_row_and_trees_are_not_called():
    X, y = draw(500)
    model = Remembers(linear)
    found = sd.weak_spots(model, X, y)
    assert found.provenance["effect_rows"] == 500
    assert found.provenance["effect_calls"] == 1
    assert sum(len(rows) for rows in model.seen) == found.provenance["model_rows"] <= 500 + 128
    trees = GradientBoostingRegressor(n_estimators=5).fit(X, y)
    found = sd.weak_spots(trees, X, y)
    assert found.provenance["effect_rows"] == 0
    assert found.provenance["trees"].startswith("exact")
    called = sd.weak_spots(trees, X, y, tree="off")
    np.testing.assert_allclose([g.bias for g in called.groups], [g.bias for g in found.groups])


def test_model_rows_are_limited():
    X, y = draw(2000)
    with pytest.warns(sd.CostWarning, match="random sample of"):
        found = sd.weak_spots(linear, X, y, max_model_rows=800)
    assert found.provenance["model_rows"] <= 800
    assert found.provenance["exact"] is False
    with refused(sd.DataError, "max_model_rows"):
        sd.weak_spots(linear, X, y, max_model_rows=100)


def test_model_rows_of_a_mean_of_models_are_limited_together():
    X, y = draw(1000)
    models = Remembers(linear), Remembers(linear)
    mean = 0.5 * sum(sd.prediction(model) for model in models)
    with pytest.warns(sd.CostWarning, match="random sample of"):
        sd.weak_spots(mean, X, y, max_model_rows=1500)
    assert 400 < sum(len(rows) for model in models for rows in model.seen) <= 1500


def test_several_models_are_compared():
    X, y = draw()
    both = sd.weak_spots({"old": linear, "new": lambda X: X[:, 0] + 2 * (X[:, 1] > 0.8)}, X, y)
    assert isinstance(both, sd.Comparison)
    assert len(both["old"]) >= 1
    assert len(both["new"]) == 0
    assert both.provenance["effect_rows"] == 2 * len(X)
    assert sd.weak_spots(linear, X, y).groups == both["old"].groups


def test_frames_levels_missing_values_and_hostile_names():
    rng = np.random.default_rng(0)
    n = 3000
    X = pd.DataFrame({"<script>": rng.choice(["a", "b", "c"], n), "x": rng.uniform(size=n)})
    X.loc[rng.uniform(size=n) < 0.2, "x"] = np.nan
    y = ((X["<script>"] == "b") & X["x"].isna()) + 0.3 * rng.normal(size=n)
    found = sd.weak_spots(lambda X: np.zeros(len(X)), X, y)
    assert found[0].rule in ("<script> = b and x is missing", "x is missing and <script> = b")
    np.testing.assert_array_equal(np.bincount(found.assign(X)), [g.rows for g in found.groups])
    assert "<script> = b" not in found.explore().html
    of_polars = sd.weak_spots(lambda X: np.zeros(len(X)), pl.from_pandas(X), y.to_numpy())
    assert of_polars.rules == found.rules
    assert isinstance(of_polars.to_frame(), pl.DataFrame)


def test_rules_use_the_features_that_are_named():
    X, y = draw()
    frame = pd.DataFrame(X, columns=["temp", "wind", "when", "why"])
    model = lambda X: X["temp"].to_numpy()  # noqa: E731
    assert sd.weak_spots(model, frame, y, split_on=["wind"]).rules == ("wind > 0.8",)
    assert sd.weak_spots(model, frame, y, split_on=[re.compile("^wi")]).rules == ("wind > 0.8",)
    assert len(sd.weak_spots(model, frame, y, split_on=["when", "why"])) == 0


def test_data_in_chunks_are_drawn(tmp_path):
    X, y = draw(3000)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    frame.to_parquet(tmp_path / "rows.parquet")
    rows = sd.parquet(tmp_path / "rows.parquet", y="y")
    model = lambda X: np.asarray(X["a"])  # noqa: E731
    every = sd.weak_spots(model, rows)
    assert every.groups == sd.weak_spots(model, frame[list("abcd")], y).groups
    some = sd.weak_spots(model, rows, sample=1000)
    assert some.provenance["rows"] == 1000
    assert some.provenance["exact"] is False
    assert str(some).endswith("a sample of 1,000 of 3,000 rows")


# --------------------------------------------------------------------------- laws


def test_the_order_of_rows_does_not_matter_with_identifiers():
    X, y = draw()
    order = np.random.default_rng(1).permutation(len(X))
    first = sd.weak_spots(linear, X, y, row_id=np.arange(len(X)))
    second = sd.weak_spots(linear, X[order], y[order], row_id=order)
    assert first.rules == second.rules
    np.testing.assert_allclose([g.bias for g in first], [g.bias for g in second], rtol=1e-12)


def test_the_order_of_columns_does_not_matter():
    X, y = draw()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = lambda X: X["a"].to_numpy()  # noqa: E731
    first, second = (sd.weak_spots(model, frame[list(names)], y) for names in ("abcd", "dbca"))
    assert first.rules == second.rules
    assert [g.bias for g in first] == [g.bias for g in second]


@pytest.mark.parametrize(("c", "d"), [(10.0, 0.0), (1e-3, 5.0), (1e6, -1e6), (1e-90, 0.0)])
def test_biases_scale_with_the_labels(c, d):
    X, y = draw()
    plain = sd.weak_spots(linear, X, y)
    scaled = sd.weak_spots(lambda X: c * X[:, 0] + d, X, c * y + d)
    assert scaled.rules == plain.rules
    np.testing.assert_allclose([g.bias / c for g in scaled], [g.bias for g in plain], rtol=1e-8)
    np.testing.assert_allclose([g.p_value for g in scaled], [g.p_value for g in plain], rtol=1e-5)


def test_a_weight_is_a_repeated_row():
    rng = np.random.default_rng(0)
    X, y = draw(800)
    w = rng.integers(1, 4, 800)
    repeated = np.repeat(np.arange(800), w)
    weighted = sd.weak_spots(linear, X, y, sample_weight=w, row_id=np.arange(800), max_depth=1)
    # A repeated row is in one half: its copies have the same identifier, which must be unique.
    some = ~halves(X) & (weighted.assign(X) == weighted[0].group)
    copies = (y - X[:, 0])[repeated[np.isin(repeated, np.flatnonzero(some))]]
    test = stats.ttest_1samp(copies, 0.0)
    assert weighted[0].bias == pytest.approx(copies.mean(), rel=1e-10)
    assert weighted[0].interval() == pytest.approx(test.confidence_interval(), rel=1e-8)


def test_sampling_weights_have_no_size():
    X, y = draw()
    w = np.random.default_rng(1).lognormal(size=len(X))
    small, large = (
        sd.weak_spots(linear, X, y, sample_weight=c * w, weight_kind="sampling")
        for c in (1e-6, 1e6)
    )
    np.testing.assert_allclose([g.std_error for g in small], [g.std_error for g in large])


# --------------------------------------------------------------------------- results


def test_a_result_is_saved_tabulated_and_drawn(tmp_path):
    X, y = draw()
    found = sd.weak_spots(linear, X, y)
    found.save(tmp_path / "w.npz")
    loaded = sd.load(tmp_path / "w.npz")
    assert str(loaded) == str(found)
    assert repr(loaded.groups) == repr(found.groups)
    np.testing.assert_array_equal(loaded.assign(X), found.assign(X))
    frame = found.to_frame()
    assert frame["rule"].tolist() == list(found.rules)
    assert list(frame) == [
        *("rule", "group", "rows", "share", "bias", "std_error", "df", "p_value"),
        *("label", "prediction", "stability", "confirmed"),
    ]  # fmt: skip
    assert found.to_frame(of="groups")["rule"].tolist()[-1] == "all rows"
    document = found.to_dict()
    assert [spot["rule"] for spot in document["spots"]] == list(found.rules)
    assert document["overall"]["bias"] == found.overall.bias
    assert found.plot().axes[0].get_xlabel() == "mean label − mean prediction"
    loss = sd.weak_spots(linear, X, y, of="absolute_error")
    assert "ratio" in loss.to_frame()
    assert "label" not in loss.to_frame()


def test_lookups_by_position_only():
    X, y = draw(bias=0.0)
    found = sd.weak_spots(linear, X, y)
    with pytest.raises(IndexError, match="0 weak spots"):
        found[0]
    with refused(sd.DataError, "weak spots"):
        found["x1 > 0.8"]
    assert list(found) == [] and found[:] == ()  # noqa: PT018


# --------------------------------------------------------------------------- strange input


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (np.full(100, np.nan), "missing labels"),
        (np.array(["a"] * 100), "numbers"),
        (np.zeros(99), "99"),
        (None, "no labels"),
    ],
)
def test_labels_that_are_no_labels(labels, said):
    X, _ = draw(100)
    with pytest.raises(sd.DataError, match=said):
        sd.weak_spots(linear, X, labels)


@pytest.mark.parametrize(
    "options",
    [
        {"max_depth": 0},
        {"alpha": 1.5},
        {"min_bias": -1},
        {"look_ahead": "yes"},
        {"split_on": "x1"},
        {"split_on": ["x9"]},
        {"split_on": []},
        {"of": "squared"},
    ],
)
def test_options_out_of_range(options: dict[str, Any]):
    X, y = draw(100)
    with pytest.raises(sd.DataError):
        sd.weak_spots(linear, X, y, **options)


def test_few_rows_constant_columns_and_perfect_models():
    X, y = draw(100)
    with refused(sd.DataError, "weak_spots(X)", "20 rows", "at least 40"):
        sd.weak_spots(linear, X[:20], y[:20])
    constant = np.column_stack([X[:, 0], np.ones(100)])
    assert len(sd.weak_spots(linear, constant, y)) == 0
    perfect = sd.weak_spots(linear, X, X[:, 0])
    assert len(perfect) == 0
    assert perfect.overall.bias == 0
    assert str(perfect)
    weights = np.zeros(100)
    weights[:50] = 1.0
    assert sd.weak_spots(linear, X, y, sample_weight=weights).overall.rows == 50


def test_labels_of_one_class_only():
    X, y = classes(300)
    model = LogisticRegression().fit(X, y)
    found = sd.weak_spots(sd.probability(model, class_="yes"), X, np.full(300, "no"))
    assert found.overall.label == 0
    assert found.overall.bias < 0
    assert found.overall.confirmed


def test_quantities_without_labels_are_refused():
    X, y = draw(100)
    two = lambda X: np.column_stack([X[:, 0], X[:, 1]])  # noqa: E731
    for q in (sd.entropy(lambda X: (X[:, 0], np.ones(len(X)))), sd.prediction(two, output="all")):
        with pytest.raises(sd.UnsupportedError, match="not compared with labels"):
            sd.weak_spots(q, X, y)


def test_models_that_are_compared_are_printed_as_sentences():
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(600, 2))
    y = X[:, 0] - 2 * (X[:, 1] > 0.5) + rng.normal(0, 0.1, 600)
    wrong, right = (lambda X: X[:, 0]), (lambda X: X[:, 0] - 2 * (X[:, 1] > 0.5))
    printed = str(sd.weak_spots({"wrong": wrong, "right": right}, X, y))
    assert "too high where x1 > 0.5" in printed
    assert "no part of the rows was found" in printed.lower()


def test_a_bias_without_noise_is_found_and_rounding_is_not():
    X = np.random.default_rng(0).uniform(0.1, 1, size=(600, 2))
    zero = lambda X: np.zeros(len(X))  # noqa: E731 - a model
    found = sd.weak_spots(zero, X, 1.0 * (X[:, 1] > 0.7))
    assert found.rules == ("x1 > 0.7",)
    assert (found[0].bias, found[0].std_error) == (1.0, 0.0)
    everywhere = sd.weak_spots(zero, X, np.full(600, 3.0))
    assert len(everywhere) == 0
    assert "3 too low on average" in str(everywhere)
    right = sd.weak_spots(lambda X: X[:, 0] * 3, X, X[:, 0] + X[:, 0] + X[:, 0])
    assert len(right) == 0
    assert not right.overall.confirmed
