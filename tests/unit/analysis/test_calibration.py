"""`calibration`: against plain NumPy and other libraries, laws, cost, streams, classes, models, and strange input."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import calibration_curve
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression, LogisticRegression

import skedasis as sd
from skedasis.stats.calibration import _with_skewness, _without_skewness
from tests.helpers import refused


def first(X):
    return np.asarray(X, dtype=float)[:, 0]


def column(found, name):
    return np.array([getattr(p, name) for p in found.points])


@pytest.fixture(scope="module")
def rows():
    """Predictions from 0 to 600, of which those above 500 are too high."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 600, size=(2000, 2))
    return X, np.minimum(X[:, 0], 500) + rng.normal(0, 50, size=2000)


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 3))
    p = 1 / (1 + np.exp(-X[:, 0] - X[:, 1] * X[:, 2]))
    y = np.where(rng.uniform(size=1500) < p, "yes", "no")
    return X, y, LogisticRegression().fit(X[:500], y[:500])


# --- against other computations -------------------------------------------------------------------


def test_blocks_are_those_of_scikit_learn(rows):
    X, y = rows
    found = sd.calibration(first, X, y)
    fit = IsotonicRegression().fit(X[:, 0], y).predict(X[:, 0])
    values, counts = np.unique(fit.round(9), return_counts=True)
    np.testing.assert_allclose(column(found, "label"), values, atol=1e-8)
    np.testing.assert_array_equal(column(found, "count"), counts)
    for point in found.points[::20]:
        inside = (X[:, 0] >= point.low) & (X[:, 0] <= point.high)
        assert inside.sum() == point.count
        assert point.prediction == pytest.approx(X[inside, 0].mean())
        assert point.label == pytest.approx(y[inside].mean())


def test_bins_of_probabilities_are_those_of_scikit_learn(classes):
    X, y, model = classes
    found = sd.calibration(model, X, y, method="bins", bins=10)
    p = model.predict_proba(X)[:, 1]
    share, mean = calibration_curve(y == "yes", p, n_bins=10, strategy="quantile")
    np.testing.assert_allclose(column(found, "label"), share)
    np.testing.assert_allclose(column(found, "prediction"), mean)
    uniform = sd.calibration(model, X, y, method="bins", bins=sd.Edges(np.linspace(0, 1, 6)))
    share, mean = calibration_curve(y == "yes", p, n_bins=5, strategy="uniform")
    np.testing.assert_allclose(column(uniform, "label"), share)
    np.testing.assert_allclose(column(uniform, "prediction"), mean)


@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_are_those_of_model_diagnostics(weighted):
    """`decompose(scoring_function=SquaredError())` and `compute_bias` of model-diagnostics 1.5.0 on the same rows."""
    k = np.arange(60)
    p = 10 + 3 * np.sin(k) + k / 10
    y = 0.7 * p + 2 + 2 * np.cos(3 * k)
    w = 1.0 + k % 4 if weighted else None
    found = sd.calibration(first, p[:, None], y, sample_weight=w)
    parts = (found.miscalibration, found.discrimination, found.uncertainty, found.squared_error)
    known = (4.773822679, 4.120362466, 5.524071835, 6.177532049)
    if weighted:
        known = (5.076484092, 4.067230787, 5.412710425, 6.421963730)
    np.testing.assert_allclose(parts, known, rtol=1e-8)
    assert found.residual == pytest.approx(-1.953171011 if weighted else -1.888395982)
    if not weighted:
        assert found.std_error == pytest.approx(0.210386757)


def test_intervals_of_bins_are_those_of_students_t(rows):
    from scipy import stats

    X, y = rows
    found = sd.calibration(first, X, y, method="bins", bins=7)
    for point, lower, upper in zip(found.points, *found.interval(0.9), strict=True):
        inside = (X[:, 0] >= point.low) & (X[:, 0] <= point.high)
        residual = (y - X[:, 0])[inside]
        ends = stats.ttest_1samp(residual, 0.0).confidence_interval(0.9)
        assert (lower, upper) == pytest.approx(
            (ends.low + point.prediction, ends.high + point.prediction)
        )


def test_intervals_of_proportions_are_wilsons(classes):
    from scipy import stats

    X, y, model = classes
    found = sd.calibration(model, X, y, method="bins", bins=5)
    for point, lower, upper in zip(found.points, *found.interval(), strict=True):
        yes = round(point.label * point.count)
        ends = stats.binomtest(yes, point.count).proportion_ci(0.95, method="wilson")
        assert (lower, upper) == pytest.approx((ends.low, ends.high))


def test_the_interval_of_a_block_is_that_of_its_rows_and_the_quantile_of_the_fit(rows):
    X, y = rows
    found = sd.calibration(first, X, y)
    lower, upper = found.interval()
    k = int(np.argmax(column(found, "count")))
    point = found.points[k]
    inside = (X[:, 0] >= point.low) & (X[:, 0] <= point.high)
    assert inside.sum() > 100
    error = y[inside].std(ddof=1) / np.sqrt(inside.sum())
    assert point.std_error == pytest.approx(error)
    assert (upper - lower)[k] / 2 == pytest.approx(2.11 * error, rel=0.02)


@pytest.mark.parametrize("kind", ["frequency", "sampling"])
def test_a_small_block_has_the_variance_of_its_neighbourhood(kind):
    """Blocks of 14 rows, which increase by more than their noise: thirty rows are three blocks."""
    rng = np.random.default_rng(0)
    p = np.repeat(np.arange(10.0), 14)
    y = p + rng.uniform(-0.2, 0.2, 140) * (1 + p)
    w = np.ones(140) if kind == "frequency" else rng.uniform(0.1, 1, 140)
    found = sd.calibration(first, p[:, None], y, sample_weight=w, weight_kind=kind)
    assert len(found.points) == 10
    for k, point in enumerate(found.points):
        window = {0: range(3), 9: range(7, 10)}.get(k, range(k - 1, k + 2))
        squares = unit = 0.0
        for j in window:
            u, v = w[p == j], y[p == j]
            size = u.sum() ** 2 / (u**2).sum()
            squares += (u**2 * (v - np.average(v, weights=u)) ** 2).sum()
            unit += (u**2).sum() * (1 - 1 / size)
        u = w[p == k]
        error = np.sqrt(squares / unit * (u**2).sum()) / u.sum()
        assert point.std_error == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize("heavy", [0.0, 1.0])
def test_events_of_larger_weight_count_as_fewer_rows(heavy):
    """Events of weight 3: the binomial variance of so many rows is that of the weighted mean; of weight 1, not more."""
    y, X = np.repeat([1.0, 0.0], [40, 960]), np.full((1000, 1), 0.1)
    w = np.where(y == heavy, 3.0, 1.0)
    given = {"sample_weight": w, "weight_kind": "sampling", "method": "bins", "bins": 1}
    (point,) = sd.calibration(sd.probability(first), X, y, **given).points
    mean = np.average(y, weights=w)
    variance = (w**2 * (y - mean) ** 2).sum() / w.sum() ** 2
    size = mean * (1 - mean) / variance if heavy else w.sum() ** 2 / (w**2).sum()
    assert point.size == pytest.approx(size)
    assert point.std_error == pytest.approx(np.sqrt(mean * (1 - mean) / size))


@pytest.mark.parametrize("kind", ["none", "frequency", "sampling"])
def test_a_deviation_has_the_test_of_its_bin(rows, kind):
    """Student's test after Hall's transformation, with the mean skewness of the bins."""
    from scipy import stats
    from scipy.optimize import brentq

    X, r = rows[0], np.random.default_rng(1)
    y = np.minimum(X[:, 0], 500) + 100 * r.exponential(size=2000) - 100
    w = {"none": np.ones(2000), "frequency": r.integers(1, 4, 2000) * 1.0, "sampling": X[:, 1]}[
        kind
    ]
    edges = sd.Edges([0, 100, 200, 300, 400, 500, 600])
    weights = {} if kind == "none" else {"sample_weight": w, "weight_kind": kind}
    (one,) = sd.calibration(first, X, y, bins=edges, **weights).deviations
    inside = X[:, 0] > 500
    assert (one.low, one.high) == (X[inside, 0].min(), X[inside, 0].max())
    assert (one.lowest, one.highest, one.count) == (False, True, inside.sum())
    sizes, skews = [], []
    for k in range(1, 7):
        some = np.ceil(X[:, 0] / 100) == k
        u, residual = w[some], (y - X[:, 0])[some]
        mean = np.average(residual, weights=u)
        powers = (u**2, u**3) if kind == "sampling" else (u, u)
        square, cube = (p @ (residual - mean) ** k for p, k in zip(powers, (2, 3), strict=True))
        n = u.sum() ** 2 / (u @ u) if kind == "sampling" else u.sum()
        sizes.append(n)
        skews.append(np.sqrt(n) * cube / square**1.5)
    skew = np.average(skews, weights=sizes) / np.sqrt(n)
    assert skew > 0.05
    error = np.sqrt(square * n / (n - 1)) / u.sum()

    def hall(t: float) -> float:
        return t + skew * (t**2 / 3 + 1 / 6) + skew**2 * t**3 / 27

    critical = stats.t.ppf(1 - 0.05 / 7 / 2, n - 1)  # six bins, and all rows together
    ends = [mean - error * brentq(lambda t, c=c: hall(t) - c, -9, 9) for c in (critical, -critical)]
    assert one.residual == pytest.approx(mean)
    assert (one.lower, one.upper) == pytest.approx(ends)
    assert one.p_value == pytest.approx(7 * 2 * stats.t.cdf(-abs(hall(mean / error)), n - 1))
    assert one.upper < 0


@pytest.mark.parametrize("skewness", [-1.0, -1e-4, 0.0, 1e-6, 0.5])
def test_the_correction_for_skewness_increases_and_has_an_inverse(skewness):
    t, skew = np.linspace(-9, 9, 50), np.full(50, skewness)
    found = _without_skewness(t, skew)
    assert (np.diff(found) > 0).all()
    np.testing.assert_allclose(_with_skewness(found, skew), t, atol=1e-6)


def test_all_events_together_have_the_variance_of_each_probability():
    """No bin is clearly wrong, all rows are: their number has the sum of p (1 - p) as variance."""
    from scipy import stats

    p = np.repeat([0.1, 0.5, 0.9], 300)
    y = np.concatenate([np.arange(300) < yes for yes in (42, 170, 282)]).astype(float)
    found = sd.calibration(sd.probability(first), p[:, None], y, bins=3)
    (one,) = found.deviations
    assert (one.lowest, one.highest, one.residual) == (True, True, pytest.approx(44 / 900))
    error = np.sqrt((p * (1 - p)).sum()) / 900
    assert one.p_value == pytest.approx(4 * 2 * stats.norm.sf(44 / 900 / error))
    half = stats.norm.ppf(1 - 0.05 / 4 / 2) * max(error, stats.sem(y - p))
    assert (one.lower, one.upper) == pytest.approx((44 / 900 - half, 44 / 900 + half))


@pytest.mark.parametrize(("beyond", "events"), [(0.0, True), (5e-7, True), (1e-4, False)])
def test_events_have_predictions_from_0_to_1_up_to_single_precision(beyond, events):
    p = np.linspace(0, 1, 200)
    for ends in ((-beyond, 1), (0, 1 + beyond)):
        assert sd.calibration(first, np.clip(3 * p - 1, *ends)[:, None], p > 0.5).events == events


def test_events_have_the_binomial_test():
    from scipy import stats

    p = np.repeat([0.1, 0.5], 100)
    y = np.concatenate([np.arange(100) < 25, np.arange(100) < 52]).astype(float)
    found = sd.calibration(sd.probability(first), p[:, None], y, bins=2)
    (one,) = found.deviations
    known = stats.binomtest(25, 100, 0.1)
    # Twice the smaller of both tails, and three tests.
    tail = stats.binomtest(25, 100, 0.1, alternative="greater").pvalue
    assert one.p_value == pytest.approx(3 * 2 * tail)
    ends = known.proportion_ci(1 - 0.05 / 3, method="exact")
    assert (one.lower, one.upper) == pytest.approx((ends.low - 0.1, ends.high - 0.1))
    assert (one.lowest, one.residual) == (True, pytest.approx(0.15))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("below", [0.0, 3.0])
def test_whole_numbers_have_the_binomial_test_too(below, sign):
    """A bin without any variance: it is as unlikely as that of events. The other one has Student's smaller evidence."""
    from scipy import stats

    p = below + np.repeat([0.06, 0.5], 150)
    y = below + np.concatenate([np.zeros(150), 3.0 * (np.arange(150) < 25)])
    if sign < 0:
        p, y = 1 - p, 1 - y
    found = sd.calibration(first, p[:, None], y, bins=2)
    assert not found.events
    (one,) = found.deviations
    known = stats.binomtest(0, 150, 0.06)
    tail = stats.binomtest(0, 150, 0.06, alternative="less").pvalue
    assert one.p_value == pytest.approx(3 * 2 * tail)
    ends = known.proportion_ci(1 - 0.05 / 3, method="exact")
    assert sorted((sign * one.lower, sign * one.upper)) == pytest.approx(
        (ends.low - 0.06, ends.high - 0.06)
    )
    # Labels in another unit are no whole numbers: they deviate for certain.
    scaled = sd.calibration(lambda X: 0.3 * first(X), p[:, None], 0.3 * y, bins=2)
    assert scaled.deviations[0].p_value == 0


@pytest.mark.parametrize("kind", ["none", "frequency", "sampling"])
def test_errors_of_rare_counts_are_those_of_the_predictions(kind):
    """Of bins without a count, and of all rows: as in `weak_spots`."""
    rng = np.random.default_rng(0)
    p, y = np.sort(rng.uniform(0, 0.02, 200)), np.zeros(200)
    w = np.ones(200) if kind == "none" else rng.integers(1, 4, 200) * 1.0
    weights = {} if kind == "none" else {"sample_weight": w, "weight_kind": kind}
    found = sd.calibration(lambda X: first(X) + 2, p[:, None], y + 2, method="bins", **weights)
    squares = w**2 if kind == "sampling" else w
    for point in found.points:
        some = (p + 2 >= point.low) & (p + 2 <= point.high)
        error = np.sqrt(squares[some] @ (p * (1 - p))[some]) / w[some].sum()
        assert point.std_error == pytest.approx(error)
    error = np.sqrt(squares @ (p * (1 - p))) / w.sum()
    assert found.std_error == pytest.approx(error)
    spots = sd.weak_spots(lambda X: first(X) + 2, p[:, None], y + 2, **weights)
    assert spots.overall.std_error == pytest.approx(error)


@pytest.mark.parametrize("weighted", [None, "frequency", "sampling"])
def test_the_bias_of_all_rows_is_that_of_weak_spots(rows, weighted):
    from scipy import stats

    X, y = rows
    w = None if weighted is None else np.random.default_rng(3).integers(1, 5, len(X))
    weights = {} if w is None else {"sample_weight": w, "weight_kind": weighted}
    found, spots = (f(first, X, y, **weights) for f in (sd.calibration, sd.weak_spots))
    ends = stats.t.interval(0.95, found.df, found.residual, found.std_error)
    assert spots.overall.bias == pytest.approx(found.residual, rel=1e-10)
    assert spots.overall.interval() == pytest.approx(ends, rel=1e-8)


# --- laws -----------------------------------------------------------------------------------------


def test_predictions_beyond_0_and_1_are_wrong_for_labels_of_0_and_1():
    X = np.linspace(0.0, 4.0, 400)[:, None]
    found = sd.calibration(first, X, np.ones(400))
    assert not found.events
    assert [d.residual < 0 for d in found.deviations] == [False, True]
    assert found.deviations[1].high == 4.0
    assert not sd.calibration(first, X, X[:, 0] > 2).events
    assert not sd.calibration(first, -X, X[:, 0] > 2).events
    # Probabilities of float32 may round to above 1.
    assert sd.calibration(first, X / 4 * (1 + 5e-7), X[:, 0] > 2).events


def numbers(found):
    whole = (
        *(found.label, found.prediction, found.residual, found.std_error, found.squared_error),
        *(found.miscalibration, found.discrimination, found.uncertainty),
    )
    points = [
        (p.low, p.high, p.prediction, p.label, p.std_error, p.lower, p.upper) for p in found.points
    ]
    return np.concatenate([whole, np.ravel(points)])


@pytest.mark.parametrize("method", ["isotonic", "bins"])
def test_weights_are_repetitions_and_the_order_of_rows_does_not_matter(method):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 1)).round(1)
    y = x[:, 0] + rng.normal(size=300)
    w = rng.integers(0, 4, 300)
    some = sd.calibration(first, x, y, method=method, bins=6, sample_weight=w)
    every = sd.calibration(first, np.repeat(x, w, axis=0), np.repeat(y, w), method=method, bins=6)
    np.testing.assert_allclose(numbers(some), numbers(every), atol=1e-12)
    order = rng.permutation(300)
    keys = np.arange(300)
    here = sd.calibration(first, x, y, method=method, row_id=keys)
    there = sd.calibration(first, x[order], y[order], method=method, row_id=keys[order])
    np.testing.assert_allclose(numbers(here), numbers(there), atol=1e-12)
    assert here.miscalibration_beyond_noise == pytest.approx(there.miscalibration_beyond_noise)


def test_the_parts_add_up_to_the_squared_error(classes):
    X, y, model = classes
    found = sd.calibration(model, X, y)
    parts = found.miscalibration - found.discrimination + found.uncertainty
    assert parts == pytest.approx(found.squared_error)
    p = model.predict_proba(X)[:, 1]
    assert found.squared_error == pytest.approx(np.mean((p - (y == "yes")) ** 2))


@pytest.mark.parametrize("unit", [1e-90, 1e-60, 1e90])
def test_the_error_of_miscalibration_has_the_unit_of_squares(rows, unit):
    X, y = rows
    found, scaled = (sd.calibration(lambda X, u=u: u * X[:, 0], X, u * y) for u in (1.0, unit))
    error = scaled.miscalibration_error / unit**2
    assert error == pytest.approx(found.miscalibration_error, rel=1e-9)


def test_an_isotonic_fit_of_the_predictions_is_calibrated(rows):
    X, y = rows
    fit = IsotonicRegression(out_of_bounds="clip").fit(X[:, 0], y)
    found = sd.calibration(lambda X: fit.predict(X[:, 0]), X, y)
    assert found.miscalibration == pytest.approx(0, abs=1e-9)
    assert not found.deviations
    np.testing.assert_allclose(column(found, "label"), column(found, "prediction"))


def test_logarithms_are_compared_on_the_scale_of_the_labels(rows):
    X, y = rows
    plain = sd.calibration(first, X, y)
    link = sd.calibration(sd.prediction(lambda X: np.log(X[:, 0]), link="log"), X, y)
    shown = sd.calibration(sd.prediction(first, inverse="log"), X, y)
    for found in (link, shown):
        np.testing.assert_allclose(numbers(found), numbers(plain), rtol=1e-9)


# --- cost, streams, several outputs and models ----------------------------------------------------


def test_it_costs_one_model_row_for_each_row_and_none_for_trees(rows, classes):
    X, y = rows
    asked: list[int] = []

    def counted(X):
        asked.append(len(X))
        return first(X)

    record = sd.calibration(counted, X, y).provenance
    assert record["effect_rows"] == 2000
    assert sum(asked) == record["model_rows"] <= 2128
    forest = RandomForestRegressor(5, random_state=0).fit(X[:300], y[:300])
    found = sd.calibration(forest, X, y)
    assert found.provenance["effect_rows"] == 0
    assert found.squared_error == pytest.approx(np.mean((forest.predict(X) - y) ** 2))
    X, y, _ = classes
    forest = RandomForestClassifier(5, random_state=0).fit(X[:300], y[:300])
    every = sd.calibration(sd.probability(forest, class_="all"), X, y)
    assert every.provenance["effect_rows"] == 0
    assert every["yes"].label == pytest.approx((y == "yes").mean())


def test_max_model_rows_draws_rows(rows):
    X, y = rows
    with pytest.warns(sd.CostWarning, match="random sample"):
        found = sd.calibration(first, X, y, max_model_rows=1000)
    assert found.rows <= 1000 >= found.provenance["model_rows"]
    assert found.provenance["exact"] is False
    few = sd.calibration(first, X, y, keep_rows=32 * 500)
    assert (few.rows, few.provenance["exact"]) == (500, False)


def test_data_in_files_give_the_same_numbers(tmp_path, rows, classes):
    X, y = rows
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y, w=np.arange(2000) % 3)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=300)
    model = LinearRegression().fit(frame[["a", "b"]][:200], y[:200])
    data = sd.parquet(tmp_path / "rows.parquet", y="y", sample_weight="w", columns=["a", "b"])
    streamed = sd.calibration(model, data, memory="1MB", n_jobs=2)
    memory = sd.calibration(model, frame[["a", "b"]], y, sample_weight=frame["w"])
    np.testing.assert_array_equal(numbers(streamed), numbers(memory))
    assert streamed.deviations == memory.deviations
    assert streamed.provenance["effect_rows"] == (frame["w"] > 0).sum()
    X, y, model = classes
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    frame.to_parquet(tmp_path / "classes.parquet")
    model = LogisticRegression().fit(frame[list("abc")], y)
    data = sd.parquet(tmp_path / "classes.parquet", y="y")
    streamed = sd.calibration(sd.probability(model, class_="all"), data)
    memory = sd.calibration(sd.probability(model, class_="all"), frame[list("abc")], y)
    np.testing.assert_array_equal(numbers(streamed["no"]), numbers(memory["no"]))


def test_classes_and_models_are_compared(classes):
    X, y, model = classes
    every = sd.calibration(sd.probability(model, class_="all"), X, y)
    assert list(every) == ["no", "yes"]
    assert every["no"].residual == pytest.approx(-every["yes"].residual)
    logits = sd.calibration(sd.logit(model, class_="all"), X, y)
    np.testing.assert_allclose(numbers(logits["yes"]), numbers(every["yes"]), atol=1e-9)
    both = sd.calibration({"plain": model, "again": model}, X, y)
    assert list(both) == ["plain", "again"]
    assert both.provenance["models"] == 2
    assert [line.model for line in both.ranking()] == ["plain", "again"]
    assert str(both).count("Observed proportion") == 2


# --- strange input --------------------------------------------------------------------------------


def test_what_no_label_is_compared_with_is_refused(rows):
    X, y = rows
    both = sd.prediction(np.asarray, output="all")
    for quantity in (sd.entropy(lambda X: (first(X), np.ones(len(X)))), both):
        with refused(sd.UnsupportedError, "calibration(", "not compared with labels"):
            sd.calibration(quantity, X, y)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (None, "no labels"),
        ("text", "not numbers, such as"),
        ("dates", r"not numbers, such as \['2024-01-01"),
        ("missing", r"missing labels \(NaN or None\) for 36 of 2,000 rows"),
    ],
)
def test_labels_that_are_no_numbers_are_refused(rows, labels, said):
    X, y = rows
    given = {
        "text": np.full(2000, "a"),
        "dates": np.full(2000, np.datetime64("2024-01-01", "ns")),
        "missing": np.where(X[:, 0] < 9, np.nan, y),
    }.get(labels)
    asked: list[int] = []

    def counted(X):
        asked.append(len(X))
        return first(X)

    with pytest.raises(sd.DataError, match=said):
        sd.calibration(counted, X, given)
    assert not asked


def test_options_are_checked(rows):
    X, y = rows
    with refused(sd.DataError, "calibration(method)", "quantile"):
        sd.calibration(first, X, y, method="quantile")
    with refused(sd.UnsupportedError, "calibration(bins)", "Greedy"):
        sd.calibration(first, X, y, bins=sd.Greedy())
    with refused(sd.DataError, "calibration(confidence_level)", "95"):
        sd.calibration(first, X, y, confidence_level=95)
    with refused(sd.DataError, "interval(confidence_level)", "2"):
        sd.calibration(first, X, y).interval(2)
    with pytest.raises(sd.DataError, match="outside the values"):
        sd.calibration(first, X, y, bins=sd.Edges([1000, 2000]))
    some = sd.calibration(first, X, y, method="bins", bins=sd.Edges([0, 100, 200]))
    assert sum(column(some, "count")) == (X[:, 0] <= 200).sum()
    assert some.provenance["rows_outside"] == (X[:, 0] > 200).sum()
    assert some.rows == 2000


@pytest.mark.parametrize("method", ["isotonic", "bins"])
@pytest.mark.parametrize(
    "case",
    ["one row", "two rows", "constant", "ties", "perfect", "shifted", "one class", "outside"],
)
def test_odd_rows_have_a_result(case, method):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=200)
    y = x + rng.normal(size=200) / 9
    few, same = {"one row": 1, "two rows": 2}.get(case, 200), np.full(200, 1e17)
    x = {"constant": same, "ties": x.round(1), "outside": 3 * x - 1}.get(case, x)[:few]
    labels = {
        "perfect": x,
        "shifted": x + 0.25,
        "one class": np.ones(200),
        "outside": (x > 0.4).astype(float),  # a regression of events
    }
    y = labels.get(case, y)[:few]
    quantity = sd.prediction(first, unit="<script>")
    quantity = sd.probability(first) if case == "one class" else quantity
    found = sd.calibration(quantity, x[:, None], y, method=method)
    assert found.rows == len(x) == sum(column(found, "count"))
    assert len(found.points) <= 1000
    text = str(found)
    assert "nan" not in text
    assert found.plot().axes
    json.loads(found.to_json())
    lower, upper = found.interval()
    known = np.isfinite(lower)
    assert np.all(lower[known] <= column(found, "label")[known])
    assert np.all(upper[known] >= column(found, "label")[known])
    told = {"shifted": "Predictions are too low by 0.25", "one class": "too low"}
    assert told.get(case, "") in text
    if case in ("one row", "two rows", "perfect"):
        assert not found.deviations
    assert len({p.low for p in found.points}) == len(found.points)


def test_many_blocks_are_joined():
    x = np.arange(5000.0)
    found = sd.calibration(first, x[:, None], x + 1)
    assert len(found.points) == 1000
    assert [p.count for p in found.points] == [5] * 1000


def test_a_model_that_returns_infinities_is_refused(rows):
    X, y = rows
    with pytest.raises(sd.ModelOutputError):
        sd.calibration(lambda X: np.where(X[:, 0] > 100, np.inf, X[:, 0]), X, y)


# --- the result -----------------------------------------------------------------------------------


def test_it_says_which_predictions_are_wrong(rows):
    X, y = rows
    found = sd.calibration(sd.prediction(first, unit="bikes/h"), X, y)
    text = str(found)
    assert "Predictions from 534 are too high by 64" in text
    assert "bikes/h on average (95 % interval" in text
    assert "). Intervals are adjusted for the number of bins.\nMean squared error" in text
    assert "Mean squared error" in text
    right = sd.calibration(first, X, X[:, 0] + np.cos(np.arange(2000)))
    assert "No range of predictions was found that is wrong on average." in str(right)


def test_it_is_saved_and_tabulated(rows, tmp_path):
    X, y = rows
    found = sd.calibration(first, pd.DataFrame(X, columns=["a", "b"]), y, method="bins")
    found.save(tmp_path / "c.npz")
    again = sd.load(tmp_path / "c.npz")
    assert again.to_dict() == found.to_dict()
    frame = found.to_frame()
    np.testing.assert_array_equal(frame["label"], column(found, "label"))
    assert list(found.to_frame(of="deviations")["count"]) == [d.count for d in found.deviations]
    document = found.to_dict(confidence_level=0.5)
    assert document["points"][0]["lower"] == found.interval(0.5)[0][0]
    assert document["points"][0]["rows"] == found.points[0].count


def test_a_model_that_is_right_at_every_row_is_calibrated():
    X = np.arange(300.0)[:, None]
    found = sd.calibration(lambda X: np.zeros(len(X)), X, np.zeros(300), method="bins")
    assert len(found.deviations) == 0
    assert found.residual == 0
