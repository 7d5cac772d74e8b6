"""Sums of quantities: operators, names, containers, labels, outputs, model rows, trees, and what is refused."""

import pickle
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, LogisticRegression

import skedasis as sd
from skedasis.quantities.base import Sum
from tests.helpers import bent, linear, refused, table

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
Y = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2])
CLASSES = np.where(Y > 0.6, "high", np.where(Y < -0.6, "low", "mid"))
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
FOREST = RandomForestRegressor(8, max_depth=6, random_state=0).fit(X, Y)
BOOSTED = GradientBoostingRegressor(n_estimators=12, random_state=0).fit(X, Y)
LINES = LinearRegression().fit(X, Y)
EDGES = sd.Edges([-2.0, -1.0, -0.3, 0.4, 1.0, 2.0])


class Counted:
    """A model that counts the rows that it is called with."""

    def __init__(self, model: Any) -> None:
        self.model, self.rows = model, 0

    def __call__(self, rows: Any) -> Any:
        self.rows += len(rows)
        return self.model(rows)


def named(name: str, unit: str | None = None, model: Any = linear) -> Any:
    return sd.prediction(model, name=name, unit=unit)


# ------------------------------------------------------------------------------------ operators
def test_values_names_and_descriptions():
    new, old = sd.prediction(FOREST), sd.prediction(LINES)
    f, g = FOREST.predict(X), LINES.predict(X)
    cases = {
        "difference in prediction": (new - old, f - g),
        "prediction (mean of 2 models)": ((new + old) / 2, (f + g) / 2),
        "prediction (weighted mean of 2 models)": (0.25 * new + 0.75 * old, 0.25 * f + 0.75 * g),
        "−prediction": (-new, -f),
        "prediction + prediction": (sum([new, old]), f + g),
        "2 · prediction − prediction": (2 * new - old, 2 * f - g),
        "0.5 · prediction": (np.float64(0.5) * new, 0.5 * f),
    }
    for name, (quantity, values) in cases.items():
        assert quantity.name == name
        np.testing.assert_allclose(quantity.at(X), values, rtol=0, atol=1e-14)
    assert (new - old).describe() == (
        "prediction(RandomForestRegressor) − prediction(LinearRegression)"
    )
    mean = (new + old) / 2 - (old + old + new) / 3
    assert mean.name == "difference in prediction"
    np.testing.assert_allclose(mean.at(X), (f + g) / 2 - (f + 2 * g) / 3, rtol=0, atol=1e-14)


def test_names_and_units_of_the_parts():
    new, old = named("new rent", "EUR"), named("old rent", "EUR")
    assert (new - old).axis == "new rent − old rent [EUR]"
    assert (named("rent", "EUR") - named("rent", "EUR")).axis == "difference in rent [EUR]"
    assert (new - named("old rent")).unit == "EUR"  # nothing is said of the other's
    with refused(sd.DataError, "'EUR' and 'USD'", "one unit"):
        new - named("old rent", "USD")


def test_quantities_on_different_scales_are_refused():
    rate = sd.prediction(lambda rows: np.exp(rows[:, 0]), inverse="log")
    logs = sd.prediction(linear, link="log")
    classifier = LogisticRegression().fit(X, CLASSES == "low")
    assert (rate - logs).scale == "log"
    assert (sd.logit(classifier) + sd.logit(classifier)).scale == "log"
    for first, second, got in (
        (rate, sd.prediction(linear), "'log' and 'identity'"),
        (sd.prediction(linear, unit="EUR"), logs, "'identity' and 'log'"),
        (rate, sd.prediction(linear, inverse=np.log10), "'log' and 'log10'"),
        (sd.logit(classifier), sd.probability(classifier), "'logit' and 'identity'"),
        (sd.logit(classifier, "all"), sd.probability(classifier, "all"), "'logit' and 'identity'"),
    ):
        with refused(
            sd.DataError, f"quantities on the scales {got}", "Pass the same inverse= for all"
        ):
            first - second
    # What undoes a transformation of labels leads to their scale.
    assert (sd.prediction(linear, inverse="exp") - sd.prediction(linear)).scale == "identity"
    with refused(sd.DataError, "models: scales", "'log' of model 0", "identity"):
        named = (sd.prediction(linear, name="a", inverse=g) for g in ("log", "identity"))
        sd.explain([*named], np.exp(X), 0, refits=True)


def test_what_is_no_quantity_is_refused():
    q = sd.prediction(FOREST)
    for operation in (lambda: q - LINES, lambda: LINES - q, lambda: q + LINES):
        with refused(sd.UnsupportedError, "a LinearRegression", "sd.prediction(model)"):
            operation()
    with refused(sd.UnsupportedError, "an int", "Numbers multiply"):
        q + 3  # type: ignore[operator]
    with refused(sd.UnsupportedError, "an int", "Numbers multiply"):
        3 + q  # type: ignore[operator]
    for factor in ("a", np.nan, np.inf, True, None):
        with refused(sd.UnsupportedError, "a finite number"):
            q * factor
    with pytest.raises(ZeroDivisionError):
        q / 0
    with pytest.raises(TypeError, match="unsupported operand"):
        FOREST - LINES


def test_a_difference_is_pickled():
    q = pickle.loads(pickle.dumps(sd.prediction(FOREST) - sd.prediction(LINES)))
    np.testing.assert_allclose(q.at(X), FOREST.predict(X) - LINES.predict(X), rtol=0, atol=1e-14)


# ------------------------------------------------------------------------------------- model rows
@pytest.mark.parametrize("method", ["ale", "rhale", "pdp", "mplot"])
def test_each_model_is_called_at_the_rows_that_the_provenance_counts(method: str):
    first, second = Counted(bent), Counted(lambda rows: np.cos(linear(rows)))
    rows = table(500)
    e = sd.explain(sd.prediction(first) - sd.prediction(second), rows, 0, method=method)
    assert first.rows == second.rows
    parts = sum(v for k, v in e.provenance.items() if k.endswith("_rows") and k in COUNTED)
    assert e.provenance["model_rows"] == parts
    alone = Counted(bent)
    one = sd.explain(sd.prediction(alone), rows, 0, method=method)
    if method != "rhale":  # whose checks of slopes differ
        assert e.provenance["model_rows"] == 2 * one.provenance["model_rows"]


COUNTED = ("effect_rows", "check_rows", "score_rows", "curve_rows")


def test_a_limit_counts_the_rows_of_all_models():
    first, second = Counted(bent), Counted(linear)
    q = sd.prediction(first) - sd.prediction(second)
    with pytest.warns(sd.CostWarning, match="leaves out"):
        e = sd.explain(q, table(3_000), 0, method="pdp", max_model_rows=60_000)
    assert first.rows + second.rows <= 60_000
    assert e.provenance["model_rows"] > 30_000


# ------------------------------------------------------------------------------------------ trees
@pytest.mark.parametrize(
    "method",
    [sd.ALE(bins=EDGES), sd.RHALE(bins=EDGES), sd.PDP(grid=9), sd.ICE(grid=5), sd.MPlot(bins=6)],
    ids=lambda method: type(method).__name__,
)
@pytest.mark.parametrize("means", [True, False], ids=["forests", "forest and boosting"])
def test_trees_of_both_models_are_not_called(method: Any, means: bool):
    other = (
        HistGradientBoostingRegressor(max_iter=9, random_state=0).fit(X, Y) if means else BOOSTED
    )
    q = sd.prediction(FOREST) - sd.prediction(other)
    walked = sd.explain(q, X, 0, method=method)
    called = sd.explain(q, X, 0, method=method, tree="off")
    assert walked.provenance["trees"].startswith("exact: 8 trees of RandomForestRegressor and ")
    assert walked.provenance["effect_rows"] == walked.provenance["score_rows"] == 0
    # The probe, in parts, and mixtures of rows: twice what one model costs.
    alone = sd.explain(sd.prediction(FOREST), X, 0, method=method)
    assert walked.provenance["check_rows"] == 2 * alone.provenance["check_rows"]
    np.testing.assert_array_equal(walked.x, called.x)
    np.testing.assert_allclose(walked.value, called.value, rtol=0, atol=1e-12)
    np.testing.assert_allclose(walked.heterogeneity, called.heterogeneity, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_trees_of_other_libraries(library: str):
    module: Any = pytest.importorskip(library)
    kind = module.LGBMRegressor if library == "lightgbm" else module.XGBRegressor
    options = {"verbose": -1} if library == "lightgbm" else {}
    old, new = (kind(n_estimators=n, n_jobs=1, **options).fit(X, Y) for n in (5, 9))
    q = sd.prediction(new) - sd.prediction(old)
    walked = sd.explain(q, X, method=sd.PDP(grid=7), tree="force")
    called = sd.explain(q, X, method=sd.PDP(grid=7), tree="off")
    assert walked.provenance["effect_rows"] == 0
    for name in walked:
        np.testing.assert_allclose(walked[name].value, called[name].value, rtol=0, atol=2e-6)


def test_jumps_of_both_models_are_edges():
    q = sd.prediction(FOREST) - sd.prediction(BOOSTED)
    jumps, first, second = (
        one.derivative_info(_feature(one)).jumps()
        for one in _of_trees(q, sd.prediction(FOREST), sd.prediction(BOOSTED))
    )
    np.testing.assert_array_equal(jumps, np.union1d(first, second))


def _of_trees(*quantities: Any) -> list[Any]:
    from skedasis.data.dataset import as_dataset
    from skedasis.quantities.evaluator import probe_model
    from skedasis.quantities.tree_evaluator import use_trees_if_exact

    found = []
    for q in quantities:
        dataset = q.prepare(as_dataset(X))
        checked = probe_model([q], dataset)
        found += use_trees_if_exact(
            {None: q}, dataset, "auto", checked, means=False
        ).outputs.values()
    return found


def _feature(_: Any) -> Any:
    from skedasis.data.dataset import as_dataset

    return as_dataset(X).features[0]


def test_trees_and_a_model_that_is_called():
    q = sd.prediction(FOREST) - sd.prediction(LINES)
    e = sd.explain(q, X, 0, method=sd.ALE(bins=EDGES))
    alone = sd.explain(sd.prediction(FOREST), X, 0, method=sd.ALE(bins=EDGES), tree="off")
    assert e.provenance["trees"] == (
        "one of the models is called; 8 trees of RandomForestRegressor evaluated without calling the model"
    )
    for part in ("effect_rows", "score_rows"):
        assert e.provenance[part] == alone.provenance[part] > 0
    with refused(sd.UnsupportedError, "LinearRegression"):
        sd.explain(q, X, 0, tree="force")
    # Steps, because differences across bins are exact for both: slopes of trees say nothing.
    rises = sd.explain(q, X, 0, method=sd.RHALE(bins=EDGES))
    off = sd.explain(q, X, 0, method=sd.RHALE(bins=EDGES), tree="off")
    np.testing.assert_allclose(rises.value, off.value, rtol=0, atol=1e-13)


# ------------------------------------------------------------------------- containers and columns
def test_each_model_gets_the_rows_in_its_own_container():
    seen: Counter[str] = Counter()

    def of_frame(rows: pd.DataFrame) -> Any:
        seen[type(rows).__name__] += 1
        return rows["a"] * rows["b"]

    of_array = LinearRegression().fit(X, Y)
    of_names = KernelRidge(kernel="rbf").fit(FRAME, Y)
    want = sd.ALE(bins=EDGES)
    for other in (of_array, of_names):
        e = sd.explain(sd.prediction(of_frame) - sd.prediction(other), FRAME, "a", method=want)
        parts = [sd.explain(m, FRAME, "a", method=want) for m in (of_frame, other)]
        np.testing.assert_allclose(e.value, parts[0].value - parts[1].value, rtol=0, atol=1e-13)
    assert set(seen) == {"DataFrame"}
    # From an array, the model that knows names gets a frame, and the other one the array.
    e = sd.explain(sd.prediction(of_names) - sd.prediction(of_array), X, 0, method=want)
    parts = [sd.explain(m, X, 0, method=want) for m in (of_names, of_array)]
    np.testing.assert_allclose(e.value, parts[0].value - parts[1].value, rtol=0, atol=1e-13)


def test_columns_are_those_of_all_models():
    two = LinearRegression().fit(FRAME[["a", "b"]], Y)
    with refused(sd.DataError, "prediction(LinearRegression)"):
        sd.explain(sd.prediction(two) - sd.prediction(FOREST), FRAME, "a")


# -------------------------------------------------------------------------------- labels, outputs
def test_labels_are_encoded_for_each_model():
    as_text = LogisticRegression().fit(X, CLASSES)
    as_numbers = RandomForestClassifier(8, random_state=0).fit(X, CLASSES == "high")
    y = CLASSES == "high"
    first = sd.loss(sd.probability(as_text, class_="high"), "squared_error")
    second = sd.loss(as_numbers, "zero_one")
    third = sd.nll(as_numbers)
    quantity = sd.loss(LINES) - 2 * second - third
    assert quantity.labelled
    got = quantity.at(X, y.astype(float))
    want = sd.loss(LINES).at(X, y.astype(float)) - 2 * second.at(X, y) - third.at(X, y)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)
    e = sd.explain(first - 0.5 * first, X, 0, y=CLASSES, method="pdp")
    half = sd.explain(first, X, 0, y=CLASSES, method="pdp")
    np.testing.assert_allclose(e.value, 0.5 * half.value, rtol=0, atol=1e-13)
    with refused(sd.DataError, "no y"):
        quantity.at(X)


def test_all_outputs_are_matched_by_label_and_cost_each_model_once():
    old, new = LogisticRegression().fit(X, CLASSES), GradientBoostingClassifier(n_estimators=5)
    new.fit(X, CLASSES)
    q = sd.probability(new, class_="all") - sd.probability(old, class_="all")
    assert q.name == "difference in probability"
    found = sd.explain(q, X, ["x0", "x1"], method=sd.PDP(grid=7), tree="off")
    assert list(found) == ["high", "low", "mid"]
    for label, effects in found.items():
        assert effects["x0"].provenance["quantity"].endswith("(LogisticRegression)")
        for name in effects:
            one = sd.probability(new, class_=label) - sd.probability(old, class_=label)
            alone = sd.explain(one, X, name, method=sd.PDP(grid=7), tree="off")
            np.testing.assert_allclose(effects[name].value, alone.value, rtol=0, atol=1e-14)
    # All classes from the same rows of each model.
    rows = found["low"].provenance["effect_rows"]
    assert rows == 2 * 2 * 7 * len(X)
    assert list(q.at(X)) == ["high", "low", "mid"]


def test_outputs_of_functions_are_counted_when_they_are_called():
    f = sd.prediction(lambda rows: rows[:, :2], output="all")
    g = sd.prediction(lambda rows: 2 * rows[:, 1:], output="all")
    h = sd.prediction(lambda rows: rows, output="all")
    values = (f - g).at(X)
    np.testing.assert_array_equal(values[1], X[:, 1] - 2 * X[:, 2])
    assert list(sd.explain(f - g, X, 0, method="pdp")) == [0, 1]
    with refused(sd.DataError, "[0, 1] and [0, 1, 2]", "same outputs"):
        sd.explain(f - h, X, 0, method="pdp")


def test_outputs_that_do_not_match_are_refused():
    three = LogisticRegression().fit(X, CLASSES)
    two = LogisticRegression().fit(X, CLASSES == "low")
    with refused(sd.DataError, "['high', 'low', 'mid']", "class_="):
        sd.probability(three, class_="all") - sd.probability(two, class_="all")
    for operation in (
        lambda: sd.probability(three, class_="all") - sd.probability(two),
        lambda: sd.probability(two) - sd.probability(three, class_="all"),
    ):
        with refused(sd.UnsupportedError, "all outputs of one model"):
            operation()


# ------------------------------------------------------------------------------------- derivatives
def test_slopes_are_summed_where_all_models_have_them():
    q = sd.prediction(LINES) - sd.prediction(LinearRegression().fit(X[:100], Y[:100]))
    e = sd.explain(q, X, 1, method=sd.DALE(bins=EDGES))
    assert e.provenance["local_effects"] == "closed form of LinearRegression"
    assert e.provenance["slope_rows"] == 2 * len(X)
    mixed = sd.prediction(LINES) - sd.prediction(bent)
    assert mixed.derivative_info(_feature(mixed)).kind == "differences"
    steps = sd.prediction(FOREST) - sd.prediction(LINES)
    info = steps.derivative_info(_feature(steps))
    assert (info.kind, info.jumps()) == ("steps", None)


def test_rounding_is_that_of_the_models_not_of_their_difference():
    """Models that differ by a millionth of their size: differences must not be rounding errors."""

    def old(rows: Any) -> Any:
        return 1e3 * np.sin(rows[:, 0])

    def new(rows: Any) -> Any:
        return old(rows) + 1e-3 * rows[:, 1] ** 2

    e = sd.explain(
        sd.prediction(new) - sd.prediction(old), X, 1, method=sd.DALE(bins=sd.Uniform(8))
    )
    left, right = e.x[:-1], e.x[1:]
    inside = [X[(X[:, 1] >= a) & (X[:, 1] < b), 1] for a, b in zip(left, right, strict=True)]
    want = [2e-3 * x.mean() * (b - a) for x, a, b in zip(inside[:-1], left, right, strict=False)]
    np.testing.assert_allclose(np.diff(e.value)[:-1], want, rtol=0, atol=2e-6)


# --------------------------------------------------------------------------- what else explains it
def test_other_explanations_of_a_difference():
    q = sd.prediction(bent) - sd.prediction(linear)
    rows = table(400)
    assert isinstance(q, Sum)
    change = sd.what_if(q, rows, {"x0": "+1"})
    moved = rows + np.array([1.0, 0.0, 0.0])
    np.testing.assert_allclose(
        change.value, np.mean(bent(moved) - linear(moved) - bent(rows) + linear(rows)), rtol=1e-12
    )
    importance = sd.explain(q, rows, method=sd.PFI(n_repeats=3))
    assert set(importance.features) == {"x0", "x1", "x2"}
    assert sd.interactions(q, rows, max_rows=60).provenance["model_rows"] > 0
    assert len(sd.explain([q, sd.prediction(bent)], rows, 0)) == 2
    with refused(sd.UnsupportedError, "a prediction of the label"):
        sd.loss(q)


def test_a_page_names_what_differs(tmp_path: Any):
    q = sd.prediction(FOREST, name="rents") - sd.prediction(LINES, name="rents")
    page = tmp_path / "page.html"
    sd.report(q, X, path=page, pairs=0, max_model_rows=200_000, max_seconds=60)
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert "the difference in rents" in text
    assert "RandomForestRegressor and LinearRegression" in text
    assert "Sum" not in text.partition("<main")[2].partition("Summary")[0]


def test_the_mean_of_models_is_compared_with_labels_and_their_difference_is_not():
    half = [LinearRegression().fit(X[part], Y[part]) for part in (slice(0, 120), slice(120, 240))]
    first, second = (sd.prediction(model) for model in half)
    mean = (first + second) / 2
    seen = sd.explain(mean, X, 0, y=Y, observed=True).observed
    assert seen is not None
    predicted = np.mean([model.predict(X) for model in half], axis=0)
    for found, want in (
        (seen.prediction, predicted),
        (seen.label, Y),
        (seen.residual, Y - predicted),
    ):
        np.testing.assert_allclose(np.average(found[0], weights=seen.weight[0]), want.mean())
    for other in (first - second, first + second, 0.5 * first + 0.5 * sd.loss(LINES)):
        assert other.on_label_scale() is None
    with refused(sd.UnsupportedError, "not compared with labels"):
        sd.explain(first - second, X, 0, y=Y, observed=True)


def test_effects_of_levels_and_times_are_subtracted_for_a_tree_and_a_line():
    """With weights, on the cells that are given, and the changes of the rows."""
    days = pd.date_range("2024-01-05", "2024-06-01", 5)
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"town": rng.choice(["A", "B", "C"], 150), "z": rng.normal(size=150)})
    rows["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 200, 150), unit="D")
    weight = rng.uniform(0.5, 2.0, 150)

    def numbers(part: Any) -> Any:
        day = (part["day"] - pd.Timestamp("2024-01-01")).dt.days / 50
        return np.c_[part["town"].map({"A": -1.0, "B": 0.0, "C": 1.0}), day, part["z"]]

    one, two = (sd.prediction(lambda part, m=m: m.predict(numbers(part))) for m in (FOREST, LINES))
    methods: list[tuple[str, Any]] = [
        *(("town", method) for method in ("ale", "pdp", "ice", "mplot")),
        *(("day", m) for m in (sd.ALE(bins=sd.Edges(days)), sd.PDP(grid=[*days]))),
        ("day", sd.MPlot(bins=sd.Edges(days))),
    ]
    for feature, method in methods:
        total, first, second = (
            sd.explain(q, rows, feature, method=method, sample_weight=weight)
            for q in (one - two, one, two)
        )
        assert set(total.x) == set(first.x) == set(second.x)
        want = first(total.x) - second(total.x)
        np.testing.assert_allclose(total.value, want, rtol=0, atol=1e-12)
    moves = [sd.what_if(q, rows, {"z": 1.0}).value for q in (one - two, one, two)]
    assert moves[0] == pytest.approx(moves[1] - moves[2], abs=1e-12)


def test_residuals_are_subtracted_at_observed_rows_only():
    q = sd.residual(FOREST) - sd.residual(LINES)
    assert q.observed_only
    np.testing.assert_allclose(q.at(X, Y), LINES.predict(X) - FOREST.predict(X), atol=1e-12)
    assert sd.explain(q, X, 0, y=Y, method="mplot").importance > 0
    with refused(sd.UnsupportedError, "MPlot"):
        sd.explain(q, X, 0, y=Y, method="ale")


def test_data_beyond_memory_give_the_same_bits(tmp_path: Any):
    """Also where one model takes arrays and the other one frames, and with labels for each."""
    rows = FRAME.assign(y=Y)
    rows.to_parquet(tmp_path / "rows.parquet")
    data = sd.parquet(tmp_path / "rows.parquet", y="y")

    def of_frame(part: Any) -> Any:
        return np.asarray(part["a"]) * np.asarray(part["b"])

    q = sd.loss(sd.prediction(of_frame)) - sd.loss(LINES)
    for method in (sd.ALE(bins=EDGES), sd.PDP(grid=[-1.0, 0.0, 1.0])):
        there = sd.explain(q, data, "a", method=method)
        here = sd.explain(q, FRAME, "a", y=Y, method=method)
        np.testing.assert_array_equal(there.value, here.value)
        np.testing.assert_array_equal(there.std_error, here.std_error)
        assert there.provenance["model_rows"] == here.provenance["model_rows"]
