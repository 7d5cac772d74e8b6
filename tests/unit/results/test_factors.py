"""Factors: closed forms of log-additive models, observed factors by plain NumPy, and what has no factors."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.preprocessing import OneHotEncoder

import skedasis as sd
from skedasis.results.observed import Observed
from tests.helpers import refused

RNG = np.random.default_rng(0)
N = 900
LEVELS = ["rural", "town", "city"]
OF_LEVEL = {"rural": 0.0, "town": 0.4, "city": -0.7}
OF_VALUE = np.array([0.1, 0.6, -0.2, 0.35])
START = pd.Timestamp("2021-01-01")
X = pd.DataFrame(
    {
        "region": RNG.choice(LEVELS, N, p=[0.5, 0.3, 0.2]),
        "children": RNG.integers(0, 4, N).astype(float),
        "age": RNG.uniform(18, 80, N),
        "since": START + pd.to_timedelta(RNG.integers(0, 800, N), unit="D"),
    }
)
EXPOSURE = RNG.uniform(0.2, 2.0, N)


def of_age(age: object) -> np.ndarray:
    return np.sin(np.asarray(age, dtype=float) / 9)


def of_since(since: object) -> np.ndarray:
    days = (pd.to_datetime(pd.Series(np.asarray(since))) - START).dt.total_seconds() / 86_400
    return (days.to_numpy() / 800) ** 2


def log_rate(X: pd.DataFrame) -> np.ndarray:
    """Return a log-additive model."""
    values = OF_VALUE[X["children"].to_numpy().astype(int)]
    return (
        -2.5
        + X["region"].map(OF_LEVEL).to_numpy()
        + values
        + of_age(X["age"])
        + of_since(X["since"])
    )


def rate(X: pd.DataFrame) -> np.ndarray:
    return np.exp(log_rate(X))


RATE = sd.prediction(rate, inverse="log", name="claims", unit="1/a")

PARTS = {
    "region": lambda values: np.array([OF_LEVEL[v] for v in values]),
    "children": lambda values: OF_VALUE[np.array(values, dtype=float).astype(int)],
    "age": of_age,
    "since": of_since,
}
BASES = {"region": "town", "children": 2.0, "age": None, "since": None}


def explained(method: object, **options: object) -> sd.Effects:
    return sd.explain(RATE, X, method=method, sample_weight=EXPOSURE, **options)


def values_of(found: sd.Factors) -> list[object]:
    return [f.text if found.levels else f.value for f in found]


# --- closed forms ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method", ["ale", "pdp", sd.ALE(bins=7), sd.PDP(grid=9), sd.ALE(center="start")]
)
def test_factors_of_a_log_additive_model_are_exact(method):
    """Levels, few values, the points of continuous curves, and times; for the given base and for the default one."""
    table = explained(method).factors({k: v for k, v in BASES.items() if v is not None})
    assert list(table) == list(X)
    for name in table:
        found = table[name]
        part = PARTS[name](values_of(found))
        base = next(i for i, f in enumerate(found) if f.is_base)
        want = np.exp(part - part[base])
        # Python's datetimes are rounded to microseconds.
        error = 1e-10 if name == "since" else 1e-12
        assert np.abs(np.array([f.factor for f in found]) / want - 1).max() < error
        assert found[base].factor == 1
        assert found[base].std_error == 0
        assert math.isnan(found[base].lower)
        assert found.between_rows == pytest.approx(1, abs=1e-10)
    assert table["region"].base.text == "town"
    assert table["children"].base.value == 2


@pytest.mark.parametrize("method", ["ale", "pdp"])
def test_exposure_is_the_weight_of_the_rows(method):
    table = explained(method).factors()
    whole = EXPOSURE.sum()
    for name in ("region", "children"):
        for f, value in zip(table[name], values_of(table[name]), strict=True):
            mine = (X[name] == value).to_numpy()
            assert f.exposure == pytest.approx(EXPOSURE[mine].sum(), rel=1e-12)
            assert f.rows == pytest.approx(mine.sum(), rel=1e-12)
            assert f.share == pytest.approx(EXPOSURE[mine].sum() / whole, rel=1e-12)
    for name in table:
        assert sum(f.share for f in table[name]) == pytest.approx(1, rel=1e-12)
        assert sum(f.rows for f in table[name]) == pytest.approx(N, rel=1e-12)
        assert table[name].base.share == max(f.share for f in table[name])


@pytest.mark.parametrize("method", ["ale", "pdp"])
def test_a_row_between_two_points_counts_for_each_by_how_near_it_is(method):
    for weight in (EXPOSURE, np.ones(N)):
        e = sd.explain(RATE, X, "age", method=method, sample_weight=weight)
        found = e.factors()
        at = np.array([f.value for f in found])
        x = X["age"].to_numpy().clip(at[0], at[-1])
        hats = np.array([np.interp(x, at, one) for one in np.eye(len(at))])
        assert [f.exposure for f in found] == pytest.approx(hats @ weight, rel=1e-9)
        # So that the mean of the curve over the rows is that of its points.
        assert np.average(e(x), weights=weight) == pytest.approx(
            np.average(e.value, weights=[f.exposure for f in found]), abs=1e-12
        )
    assert [f.rows for f in found] == pytest.approx(hats.sum(axis=1), rel=1e-9)


def test_relativities_of_a_regression_on_levels():
    """With levels alone, the factors are the exponentials of the coefficients, and the table is the model."""
    frame = X[["region"]].assign(fuel=RNG.choice(["petrol", "diesel"], N))
    claims = RNG.poisson(np.exp(frame["region"].map(OF_LEVEL)) * EXPOSURE) / EXPOSURE
    encoder = OneHotEncoder(drop=["rural", "petrol"], sparse_output=False).fit(frame)
    glm = PoissonRegressor(alpha=0, tol=1e-10, max_iter=1000)
    glm.fit(encoder.transform(frame), claims, sample_weight=EXPOSURE)

    def model(rows: pd.DataFrame) -> np.ndarray:
        return glm.predict(encoder.transform(rows))

    q = sd.prediction(model, inverse="log")
    table = sd.explain(q, frame, method="ale", sample_weight=EXPOSURE).factors(
        {"region": "rural", "fuel": "petrol"}
    )
    names = [n.split("_", 1)[1] for n in encoder.get_feature_names_out()]
    want = dict(zip(names, np.exp(glm.coef_), strict=True)) | {"rural": 1.0, "petrol": 1.0}
    found = {f.text: f.factor for name in table for f in table[name]}
    assert found == pytest.approx(want, rel=1e-12)
    assert table.base_value == pytest.approx(math.exp(glm.intercept_), rel=1e-12)


@pytest.mark.parametrize("center", ["mean", None])
def test_base_value_times_factors_is_the_model(center):
    """With levels, few values and a straight line on the log scale, of an ALE and of PDPs with each centre."""
    few = X[["region", "children", "age"]]

    def straight(rows: pd.DataFrame) -> np.ndarray:
        values = OF_VALUE[rows["children"].to_numpy().astype(int)]
        return np.exp(
            rows["region"].map(OF_LEVEL).to_numpy() + values + rows["age"].to_numpy() / 30
        )

    method = sd.ALE() if center == "mean" else sd.PDP(grid="exact" if center == "" else 8)
    es = sd.explain(
        sd.prediction(straight, inverse="log"), few, method=method, sample_weight=EXPOSURE
    )
    table = es.factors()
    product = np.full(N, table.base_value)
    for name in ("region", "children"):
        by = dict(zip(values_of(table[name]), [f.factor for f in table[name]], strict=True))
        product *= few[name].map(by).to_numpy()
    product *= np.exp((few["age"] - table["age"].base.value) / 30)
    assert np.abs(product / straight(few) - 1).max() < 1e-12


def test_the_base_value_of_a_partial_dependence_is_exact_for_any_curve():
    table = explained("pdp").factors()
    row = pd.DataFrame({name: [table[name].base.value] for name in table})
    assert table.base_value == pytest.approx(float(rate(row)[0]), rel=1e-10)


def test_the_base_value_averages_over_features_that_are_not_in_the_table():
    table = sd.explain(
        RATE, X, ["region", "children"], method="ale", sample_weight=EXPOSURE
    ).factors({"region": "city", "children": 1})
    at = X.assign(region="city", children=1.0)
    want = math.exp(np.average(log_rate(at), weights=EXPOSURE))
    assert table.base_value == pytest.approx(want, rel=1e-12)


def test_the_base_value_of_a_sample_is_said():
    es = sd.explain(RATE, X, ["region"], method="ale", heterogeneity_rows=100)
    assert "a sample" in es.factors().notes[0]
    assert es.factors().base_value == pytest.approx(
        sd.explain(RATE, X, ["region"], method="ale").factors().base_value, rel=0.5
    )
    none = sd.explain(RATE, X, ["region"], method="ale", heterogeneity_rows=0).factors()
    assert math.isnan(none.base_value)
    assert none.notes[0].startswith("no base value")
    assert math.isnan(none["region"].between_rows)


def test_groups_of_rows_have_factors_of_their_own():
    def model(rows: pd.DataFrame) -> np.ndarray:
        young = (rows["age"] < 40).to_numpy()
        return np.exp(np.where(young, 2.0, 1.0) * rows["region"].map(OF_LEVEL).to_numpy())

    q = sd.prediction(model, inverse="log")
    groups = {"young": X["age"] < 40, "old": X["age"] >= 40}
    r = sd.explain(q, X, "region", by=groups, method="ale")
    for effect, power in zip(r, (2.0, 1.0), strict=True):
        found = effect.factors("rural")
        assert found.rule in groups
        want = {k: math.exp(power * v) for k, v in OF_LEVEL.items()}
        assert {f.text: f.factor for f in found} == pytest.approx(want, rel=1e-12)
        assert f"where {found.rule}" in str(found)
        assert sum(f.rows for f in found) == groups[found.rule].sum()


def test_several_outputs_and_several_models():
    both = sd.prediction(
        lambda rows: np.c_[rate(rows), rate(rows) ** 2], output="all", inverse="log"
    )
    outputs = sd.explain(both, X, "region", method="ale")
    one, two = (e.factors("rural") for e in outputs.values())
    assert [f.factor**2 for f in one] == pytest.approx([f.factor for f in two], rel=1e-12)
    models = sd.explain({"a": RATE, "b": RATE}, X, method="ale")
    assert str(models["a"].factors()) == str(models["b"].factors())


# --- laws -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(X))
def test_another_base_multiplies_all_factors_by_one_number(name):
    e = explained("ale")[name]
    one = e.factors()
    other = e.factors(one[0].text if one.levels else one[-1].value)
    ratio = np.array([f.factor for f in one]) / np.array([f.factor for f in other])
    assert np.ptp(ratio) < 1e-9 * ratio[0]
    assert other.base.text in (one[0].text, one[-1].text)


def test_a_constant_factor_of_the_model_changes_the_base_value_alone():
    scaled = sd.prediction(lambda rows: 1000 * rate(rows), inverse="log")
    one = explained("ale").factors()
    other = sd.explain(scaled, X, method="ale", sample_weight=EXPOSURE).factors()
    assert other.base_value == pytest.approx(1000 * one.base_value, rel=1e-12)
    for name in one:
        assert [f.factor for f in other[name]] == pytest.approx(
            [f.factor for f in one[name]], rel=1e-12
        )


def test_weights_repeat_rows_and_the_order_of_rows_does_not_matter():
    times = RNG.integers(1, 4, N)
    repeated = X.loc[np.repeat(np.arange(N), times)].reset_index(drop=True)
    shuffled = X.iloc[::-1].reset_index(drop=True)
    features = ["region", "children"]
    weighted = sd.explain(RATE, X, features, method="ale", sample_weight=times).factors()
    plain = sd.explain(RATE, repeated, features, method="ale").factors()
    turned = sd.explain(RATE, shuffled, features, method="ale", sample_weight=times[::-1]).factors()
    assert weighted.base_value == pytest.approx(plain.base_value, rel=1e-12)
    for name in features:
        one = {f.text: (f.factor, f.exposure, f.share) for f in weighted[name]}
        for table in (plain, turned):
            other = {f.text: (f.factor, f.exposure, f.share) for f in table[name]}
            assert other.keys() == one.keys()
            for key, numbers in other.items():
                assert numbers == pytest.approx(one[key], rel=1e-12)


@pytest.mark.parametrize("method", ["ale", "rhale", sd.PDP(ice="all"), "dale"])
@pytest.mark.parametrize("name", ["region", "children", "age"])
def test_intervals_are_those_of_contrasts_with_the_base(method, name):
    def model(rows: pd.DataFrame) -> np.ndarray:
        return np.exp(log_rate(rows) * (1 + 0.2 * (rows["age"].to_numpy() > 50)))

    if method in ("dale", "rhale") and name == "region":
        method = "ale"  # others are of numeric features
    e = sd.explain(sd.prediction(model, inverse="log"), X, name, method=method)
    found = e.factors(confidence_level=0.9)
    values = values_of(found)
    base = values[[f.is_base for f in found].index(True)]
    for f, value in zip(found, values, strict=True):
        if f.is_base:
            continue
        c = e.contrast(base, value, 0.9)
        want = [float(c), c.std_error, c.lower, c.upper]
        assert [
            math.log(f.factor),
            f.std_error,
            math.log(f.lower),
            math.log(f.upper),
        ] == pytest.approx(want, abs=1e-12)


# --- observed factors -----------------------------------------------------------------------------


def observed(
    codes: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    points: np.ndarray,
    split: np.ndarray | None = None,
) -> Observed:
    """Return means of labels in cells by plain NumPy; code -1 is a missing value."""
    names = ("",) if split is None else tuple(np.unique(split).tolist())

    def part(codes: np.ndarray, points: np.ndarray, missing: Observed | None) -> Observed:
        shape = len(names), len(points)
        count, total = np.zeros(shape, dtype=int), np.zeros(shape)
        mean, error, df = (np.full(shape, np.nan) for _ in range(3))
        for s, name in enumerate(names):
            for k in range(len(points)):
                mine = (codes == k) & (True if split is None else split == name)
                count[s, k], total[s, k] = mine.sum(), weight[mine].sum()
                if mine.sum() > 1:
                    mean[s, k] = np.average(y[mine], weights=weight[mine])
                    error[s, k] = y[mine].std(ddof=1) / np.sqrt(mine.sum())
                    df[s, k] = mine.sum() - 1
        numbers = (mean, error, mean, error, np.zeros(shape), error, df)
        return Observed(
            points, points, points, names, "claims", "1/a", count, total, *numbers, missing=missing
        )

    missing = (
        part(np.where(codes == -1, 0, 1), np.array([np.nan]), None) if (codes == -1).any() else None
    )
    return part(codes, points, missing)


def test_observed_factors_are_ratios_of_mean_labels():
    y = RNG.poisson(10 * rate(X)).astype(float)
    split = RNG.choice(["test", "train"], N)
    e = sd.explain(RATE, X, "region", method="ale")
    labels = np.array(e.axis.levels.labels)
    codes = np.array([list(labels).index(v) for v in X["region"]])
    seen = observed(codes, y, np.ones(N), np.arange(3.0), split)
    found = replace(e, observed=seen).factors("town")
    assert found.split_values == ("test", "train")
    for s, name in enumerate(found.split_values):
        rows = {k: y[(X["region"] == k).to_numpy() & (split == name)] for k in LEVELS}
        base = rows["town"]
        for f in found:
            mine = rows[f.text]
            assert f.observed[s] == pytest.approx(mine.mean() / base.mean(), rel=1e-12)
            if f.is_base:
                assert math.isnan(f.observed_lower[s])
                continue
            error = math.hypot(
                *(r.std(ddof=1) / math.sqrt(len(r)) / r.mean() for r in (mine, base))
            )
            # With hundreds of rows Student's quantile is nearly that of a normal.
            half = math.log(f.observed_upper[s] / f.observed_lower[s]) / 2
            assert half == pytest.approx(1.96 * error, rel=0.03)
    frame = found.to_frame()
    assert list(frame.columns[-6:]) == [
        *("observed (test)", "observed_lower (test)", "observed_upper (test)"),
        *("observed (train)", "observed_lower (train)", "observed_upper (train)"),
    ]
    assert "observed, train" in str(found)


@pytest.mark.parametrize("method", ["ale", "pdp"])
def test_observed_factors_of_explain_are_those_of_the_rows(method):
    """Of levels, few values and cells, weighted, for each value of a split."""
    y = RNG.poisson(10 * rate(X) * EXPOSURE) / EXPOSURE
    split = np.where(np.arange(N) % 3 == 0, "test", "train")
    options = {"sample_weight": EXPOSURE, "weight_kind": "sampling", "y": y, "split": split}
    es = sd.explain(RATE, X, method=method, observed=True, **options)
    table = es.factors({"region": "town"})
    for name in ("region", "children"):
        base = table[name].base
        for s, part in enumerate(("test", "train")):
            means = {}
            for value in values_of(table[name]):
                mine = (X[name] == value).to_numpy() & (split == part)
                means[value] = np.average(y[mine], weights=EXPOSURE[mine])
            first = means[base.text if name == "region" else base.value]
            for f, value in zip(table[name], values_of(table[name]), strict=True):
                assert f.observed[s] == pytest.approx(means[value] / first, rel=1e-12)
    age = table["age"]
    assert all(f.low < f.value < f.high for f in age)
    assert sum(f.exposure for f in age) == pytest.approx(EXPOSURE.sum())
    means = []
    for f in age:  # closed on the right
        mine = (X["age"] > f.low) & (X["age"] <= f.high) | ((X["age"] == f.low) & (f is age[0]))
        mine &= split == "train"
        means.append(np.average(y[mine], weights=EXPOSURE[mine]))
    first = means[[f.is_base for f in age].index(True)]
    assert [f.observed[1] for f in age] == pytest.approx(np.array(means) / first, rel=1e-12)
    assert table["since"].base.low < table["since"].base.value < table["since"].base.high
    table.plot()


def test_labels_in_another_unit_leave_observed_factors():
    y = RNG.poisson(10 * rate(X)).astype(float)
    e = sd.explain(RATE, X, "children", method="ale")
    codes = X["children"].to_numpy().astype(int)
    one, other = (
        replace(e, observed=observed(codes, c * y, np.ones(N), np.arange(4.0))).factors()
        for c in (1, 0.01)
    )
    for f, g in zip(one, other, strict=True):
        assert g.observed == pytest.approx(f.observed, rel=1e-12)
        assert g.observed_upper == pytest.approx(f.observed_upper, rel=1e-9, nan_ok=True)


def test_coverage_of_observed_intervals():
    """The ratio of two means of 200 Poisson counts is inside its 95 % interval in 95 % of the draws."""
    e = sd.explain(RATE, X, "region", method="ale")
    codes = np.repeat(np.arange(3), 200)
    means = np.array([0.3, 0.5, 1.0])[codes]
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(400):
        seen = observed(codes, rng.poisson(means).astype(float), np.ones(600), np.arange(3.0))
        text = e.axis.levels.labels[2]
        f = replace(e, observed=seen).factors(text)[0]
        hits += f.observed_lower[0] <= 0.3 <= f.observed_upper[0]
    assert 367 <= hits <= 393  # 380 ± 3 standard deviations


def test_no_observed_factor_without_claims_at_the_base():
    e = sd.explain(RATE, X, "children", method="ale")
    codes = X["children"].to_numpy().astype(int)
    y = np.where(codes == 0, 0.0, RNG.poisson(5.0, N))
    seen = replace(e, observed=observed(codes, y, np.ones(N), np.arange(4.0)))
    found = seen.factors(0)
    assert all(math.isnan(v) for f in found for v in f.observed)
    assert found.notes == (
        "no observed factors: the mean label at the base is 0, which is not above 0",
    )
    assert found[1].factor == pytest.approx(math.exp(0.5), rel=1e-12)
    # A cell without claims has the factor 0, without an interval on the log scale.
    other = seen.factors(1)
    assert other[0].observed == (0.0,)
    assert math.isnan(other[0].observed_lower[0])
    assert other.notes == ()
    other.plot()


def test_lines_of_a_continuous_feature_are_the_cells_of_the_observed_means():
    def straight(rows: pd.DataFrame) -> np.ndarray:
        return np.exp(rows["age"].to_numpy() / 25)

    e = sd.explain(
        sd.prediction(straight, inverse="log"), X, "age", method="ale", sample_weight=EXPOSURE
    )
    age = X["age"].to_numpy()
    edges = np.quantile(age, np.linspace(0, 1, 6))
    codes = np.clip(np.searchsorted(edges, age, side="right") - 1, 0, 4)
    points = np.array([np.average(age[codes == k], weights=EXPOSURE[codes == k]) for k in range(5)])
    seen = observed(codes, straight(X), EXPOSURE, points)
    seen = replace(seen, low=edges[:-1], high=edges[1:])
    found = replace(e, observed=seen).factors()
    base = int(np.argmax(seen.weight[0]))
    assert [f.value for f in found] == pytest.approx(points)
    assert [f.factor for f in found] == pytest.approx(
        np.exp((points - points[base]) / 25), rel=1e-12
    )
    assert [f.exposure for f in found] == pytest.approx(seen.weight[0], rel=1e-12)
    assert [f.low for f in found] == pytest.approx(edges[:-1])
    assert "cell" in str(found).splitlines()[1]
    # A base between two points has a line of its own, and the observed mean of its cell.
    given = replace(e, observed=seen).factors(40)
    line = given.base
    assert (line.value, line.factor, line.observed) == (40, 1, (1.0,))
    assert math.isnan(line.exposure)
    cell = int(np.searchsorted(edges, 40)) - 1
    assert given[len(given) - 1].observed[0] == pytest.approx(
        seen.label[0, 4] / seen.label[0, cell]
    )


def test_intervals_of_observed_factors_have_the_degrees_of_freedom_of_two_samples():
    """Welch's: those of the difference of two means that are both divided by their estimates."""
    sizes = {"a": 11, "b": 14, "c": 40}
    frame = pd.DataFrame({"town": np.repeat(list(sizes), list(sizes.values()))})
    rng = np.random.default_rng(8)
    y = rng.gamma(np.repeat([0.5, 8.0, 20.0], list(sizes.values())))
    q = sd.prediction(lambda rows: np.ones(len(rows)), inverse="log")
    e = sd.explain(q, frame, "town", method="ale", y=y, observed=True)
    for base, other in (("a", "b"), ("b", "a"), ("c", "a")):
        found = {f.text: f for f in e.factors(base)}[other]
        samples = [y[frame["town"] == name] for name in (other, base)]
        test = scipy.stats.ttest_ind(*(v / v.mean() for v in samples), equal_var=False)
        low, high = test.confidence_interval(0.95)
        ratio = samples[0].mean() / samples[1].mean()
        limits = found.observed_lower[0], found.observed_upper[0]
        assert limits == pytest.approx((ratio * math.exp(low), ratio * math.exp(high)), rel=1e-9)


def test_intervals_of_few_rows_are_neither_computed_of_labels_nor_printed():
    sizes = {"common": 60, "ten": 10, "nine": 9}
    frame = pd.DataFrame({"town": np.repeat(list(sizes), list(sizes.values()))})
    q = sd.prediction(lambda rows: np.exp(rows["town"].str.len() / 10), inverse="log")
    y = RNG.gamma(2.0, size=79)
    found = sd.explain(q, frame, "town", method="ale", y=y, observed=True).factors()
    by = {f.text: f for f in found}
    assert by["ten"].observed_lower[0] < by["ten"].observed[0] < by["ten"].observed_upper[0]
    assert math.isnan(by["nine"].observed_lower[0])
    assert by["nine"].observed[0] == pytest.approx(y[70:].mean() / y[:60].mean(), rel=1e-12)
    lines = {line.split()[0]: line for line in str(found).splitlines()[1:]}
    assert "fewer than 10 rows" in lines["nine"]
    assert "to" not in lines["nine"].replace("than", "")
    assert lines["ten"].count(" to ") == 2


# --- words ----------------------------------------------------------------------------------------


def test_without_weights_exposure_is_called_rows():
    weighted, plain = (
        sd.explain(RATE, X, ["children"], method="ale", sample_weight=weight).factors()
        for weight in (EXPOSURE, None)
    )
    assert "exposure" in str(weighted)
    assert "(those with most exposure; bases= chooses others)" in str(weighted)
    assert "exposure" not in str(plain)
    assert "rows" in str(plain["children"]).splitlines()[1].split()


def test_the_head_says_why_the_base_is_the_base():
    e = explained("ale")["region"]
    assert str(e.factors()).splitlines()[0] == (
        "factors of claims for region (ALE), base rural (that with most exposure; base= chooses another)"
    )
    assert str(e.factors("town")).splitlines()[0] == "factors of claims for region (ALE), base town"
    given = {name: value for name, value in BASES.items() if value is not None}
    es = sd.explain(RATE, X, list(given), method="ale")
    assert "bases= chooses" not in str(es.factors(given))
    assert "bases= chooses" in str(es.factors({"region": "town"}))


@pytest.mark.parametrize("kind", ["values", "levels"])
def test_long_tables_have_some_lines_with_the_base_among_them(kind):
    rng = np.random.default_rng(1)
    numbers = np.repeat(np.arange(50), rng.permutation(np.arange(5, 55)))
    column = numbers - 10.0 if kind == "values" else np.char.add("l", numbers.astype(str))
    q = sd.prediction(lambda rows: np.ones(len(rows)), inverse="log")
    e = sd.explain(q, pd.DataFrame({"a": column}), "a", method="ale")
    base = e.factors()[7].text
    found = e.factors(-3 if kind == "values" else base)
    table = str(found).splitlines()[1:-1]
    names = [line.split()[0] for line in table[1:-1]]
    names = [name.replace("−", "-") for name in names]
    assert base in names
    assert names == [f.text for f in found if f.text in names]
    assert len(found) == 50
    if kind == "values":
        assert base == "-3"
        assert (names[0], names[-1], len(names)) == ("-10", "39", 21)
        assert table[-1] == "… 29 more between these: to_frame() has all"
    else:
        assert len(names) == 20
        least = min(f.rows for f in found if f.text in names and not f.is_base)
        assert least > max(f.rows for f in found if f.text not in names)
        assert table[-1] == "… 30 more: to_frame() has all"
    hours = pd.DataFrame({"a": np.tile(np.arange(31.0), 20)})
    assert "more" not in str(sd.explain(q, hours, "a", method="ale").factors())


# --- missing values -------------------------------------------------------------------------------


def test_the_interval_of_missing_values_is_that_of_two_means():
    """Where the curve has no error it is Student's, of the missing rows; else Welch's."""
    missing = np.arange(200) % 40 == 0
    z = np.random.default_rng(2).normal(size=200)
    frame = pd.DataFrame({"x": np.where(missing, np.nan, np.arange(200) % 2), "z": z})

    def explained_with(of_missing: float, of_curve: float) -> sd.Effect:
        def log(rows: pd.DataFrame) -> np.ndarray:
            x, z = rows["x"].to_numpy(), rows["z"].to_numpy()
            return np.where(np.isnan(x), of_missing * z, of_curve * z * np.nan_to_num(x))

        return sd.explain(sd.prediction(log, link="log"), frame, "x", method="ale")

    *_, line = explained_with(1.0, 0.0).factors(0)
    low, high = scipy.stats.ttest_1samp(z[missing], 0).confidence_interval(0.95)
    assert (math.log(line.lower), math.log(line.upper)) == pytest.approx((low, high), rel=1e-9)
    e = explained_with(1.0, 1.0)
    *_, line = e.factors(0)
    # A missing row is compared with itself at all observed values, 100 of 195 of which are 1.
    local = z[missing] * (1 - 100 / 195)
    parts = np.array([local.var(ddof=1) / 5, e.std_error[0] ** 2])
    df = parts.sum() ** 2 / (parts**2 / [4, e.df[0]]).sum()
    half = math.log(line.upper / line.lower) / 2
    assert half == pytest.approx(scipy.stats.t.ppf(0.975, df) * math.sqrt(parts.sum()), rel=1e-9)


def test_missing_values_of_a_number_are_a_line():
    age = np.where(np.arange(N) % 75 == 0, np.nan, X["age"].round())
    frame = X.assign(age=age)

    def model(rows: pd.DataFrame) -> np.ndarray:
        of = np.where(rows["age"].isna(), 0.9, rows["age"].fillna(0) / 40)
        return np.exp(of + rows["region"].map(OF_LEVEL).to_numpy())

    es = sd.explain(sd.prediction(model, inverse="log"), frame, ["age", "region"], method="ale")
    found = es["age"].factors()
    *_, line = found
    assert (line.text, line.value, line.rows) == ("missing", None, np.isnan(age).sum())
    assert line.factor == pytest.approx(math.exp(0.9 - found.base.value / 40), rel=1e-12)
    assert line.lower <= line.factor <= line.upper
    assert sum(f.share for f in found) == pytest.approx(1)
    table = es.factors({"region": "rural"})
    assert table.base_value == pytest.approx(math.exp(found.base.value / 40), rel=1e-12)
    seen = replace(
        es["age"],
        observed=observed(
            np.where(np.isnan(age), -1, 0), model(frame), np.ones(N), np.array([50.0])
        ),
    )
    assert seen.factors()[-1].observed[0] == pytest.approx(
        model(frame)[np.isnan(age)].mean() / model(frame)[~np.isnan(age)].mean()
    )
    pdp = sd.explain(sd.prediction(model, inverse="log"), frame, "age", method="pdp").factors()
    assert pdp[-1].text == "missing"
    assert math.isnan(pdp[-1].lower)
    assert pdp.notes[0].startswith("no interval for missing values")


def test_missing_levels_are_levels_and_can_be_the_base():
    frame = X.assign(region=X["region"].where(X["region"] != "city"))
    model = lambda rows: np.exp(rows["region"].map(OF_LEVEL).fillna(0.3).to_numpy())  # noqa: E731
    e = sd.explain(sd.prediction(model, inverse="log"), frame, "region", method="ale")
    found = e.factors(math.nan)
    assert found.base.value is None
    assert {f.text: f.factor for f in found}["rural"] == pytest.approx(math.exp(-0.3), rel=1e-12)


# --- what has none, and strange input -------------------------------------------------------------


def test_quantities_that_are_no_logarithms_are_refused():
    for q in (rate, sd.prediction(rate), sd.prediction(rate, inverse="sqrt")):
        with pytest.raises(
            sd.UnsupportedError, match=r'Explain sd\.prediction\(model, inverse="log"\)'
        ):
            sd.explain(q, X, "region", method="ale").factors()
    linked = sd.prediction(log_rate, link="log")
    one, two = (sd.explain(q, X, "region", method="ale").factors() for q in (linked, RATE))
    assert [f.factor for f in one] == pytest.approx([f.factor for f in two], rel=1e-12)


def test_factors_of_a_difference_of_logarithms_are_ratios_of_factors():
    squared = sd.prediction(lambda rows: rate(rows) ** 2, inverse="log")
    tables = [
        sd.explain(q, X, "region", method="ale").factors("rural")
        for q in (squared, RATE, squared - RATE)
    ]
    new, old, change = ([f.factor for f in found] for found in tables)
    assert change == pytest.approx([a / b for a, b in zip(new, old, strict=True)], rel=1e-12)


# --- odds ratios ----------------------------------------------------------------------------------

SMOKES = pd.DataFrame({"smokes": RNG.integers(0, 2, N).astype(float), "age": X["age"]})
ILL = RNG.uniform(size=N) < 1 / (1 + np.exp(2 - SMOKES["smokes"] - SMOKES["age"] / 40))


def test_odds_ratios_of_a_logistic_regression_are_exponentials_of_its_coefficients():
    model = LogisticRegression(C=np.inf, max_iter=1000).fit(SMOKES, ILL)
    table = sd.explain(sd.logit(model), SMOKES, method="ale").factors({"smokes": 0, "age": 40})
    for column, (name, base) in enumerate((("smokes", 0), ("age", 40))):
        found = table[name]
        assert (found.measure, found.quantity) == ("odds ratio", "P(y = True)")
        for f in found:
            want = math.exp(model.coef_[0, column] * (f.value - base))
            assert f.factor == pytest.approx(want, rel=1e-9)
        assert "odds_ratio" in found.to_frame().columns
    assert table.base_value == pytest.approx(
        math.exp(model.intercept_[0] + model.coef_[0, 1] * 40), rel=1e-9
    )
    printed = str(table)
    assert printed.startswith("odds of P(y = True) ≈ ")
    assert " × odds ratios, exactly where the model is a product" in printed
    head, columns, *_ = str(table["smokes"]).splitlines()
    assert head.startswith("odds ratios of P(y = True) for smokes (ALE), base 0")
    assert columns.split("  ")[1].strip() == "odds ratio"
    assert "odds_ratio" in table.to_frame().columns


def test_observed_odds_ratios_are_those_of_the_two_by_two_table():
    """And the interval is Woolf's: the variance of the logarithm is the sum of the reciprocal counts."""
    model = LogisticRegression().fit(SMOKES, ILL)
    q = sd.logit(model)
    e = sd.explain(q, SMOKES, "smokes", method="ale", y=ILL, observed=True)
    base, other = e.factors(0)
    smokes = SMOKES["smokes"].to_numpy() == 1
    cells = [
        (ILL & smokes).sum(),
        (~ILL & smokes).sum(),
        (ILL & ~smokes).sum(),
        (~ILL & ~smokes).sum(),
    ]
    a, b, c, d = map(float, cells)
    assert base.observed == (1.0,)
    assert other.observed[0] == pytest.approx(a * d / (b * c), rel=1e-12)
    half = math.log(other.observed_upper[0] / other.observed_lower[0]) / 2
    woolf = math.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
    assert half == pytest.approx(scipy.stats.norm.ppf(0.975) * woolf, rel=0.01)


def test_the_odds_where_all_labels_are_1_are_not_defined():
    y = np.where(SMOKES["smokes"] == 1, True, ILL)
    q = sd.logit(LogisticRegression().fit(SMOKES, ILL))
    e = sd.explain(q, SMOKES, "smokes", method="ale", y=y, observed=True)
    assert math.isnan(e.factors(0)[1].observed[0])
    found = e.factors(1)
    assert all(math.isnan(f.observed[0]) for f in found)
    assert found.notes[-1] == (
        "no observed odds ratios: the mean label at the base is 1, which is not above 0 and below 1"
    )


def test_a_difference_of_log_odds_is_the_logarithm_of_a_ratio_of_odds():
    new, old = (sd.logit(LogisticRegression(C=c).fit(SMOKES, ILL)) for c in (1e-4, 1.0))
    tables = [
        sd.explain(q, SMOKES, "smokes", method="ale").factors(0) for q in (new, old, new - old)
    ]
    a, b, change = (found[1].factor for found in tables)
    assert change == pytest.approx(a / b, rel=1e-12)
    assert (tables[2].measure, tables[2].quantity) == ("factor", "ratio of odds of P(y = True)")
    mean = sd.explain((new + old) / 2, SMOKES, "smokes", method="ale").factors(0)
    assert (mean.measure, mean[1].factor) == ("odds ratio", pytest.approx(math.sqrt(a * b)))


# --- the total of a rating table --------------------------------------------------------------------


def no_product(rows: pd.DataFrame) -> np.ndarray:
    return rate(rows) * np.where((rows["region"] == "city") & (rows["children"] > 1), 2.5, 1)


@pytest.mark.parametrize("cells", [False, True])
def test_the_off_balance_makes_the_total_of_the_table_that_of_y(cells):
    """With levels, few values, and a number: the factor of its cell, or of the line between two points."""
    few, y = X[["region", "children", "age"]], RNG.poisson(20 * rate(X)) / 20
    q = sd.prediction(lambda rows: no_product(rows.assign(since=START)), inverse="log")
    observed = {"y": y, "observed": True} if cells else {}
    es = sd.explain(q, few, method="ale", sample_weight=EXPOSURE, **observed)
    plain = es.factors()
    by_hand = np.full(N, plain.base_value)
    for name in ("region", "children"):
        by = dict(zip(values_of(plain[name]), [f.factor for f in plain[name]], strict=True))
        by_hand *= few[name].map(by).to_numpy()
    ages, factors = (np.array([getattr(f, of) for f in plain["age"]]) for of in ("value", "factor"))
    age = few["age"].to_numpy()
    if cells:
        inside = [(age > f.low) & (age <= f.high) for f in plain["age"]]
        inside[0] |= age == age.min()
        by_hand *= np.select(inside, factors)
    else:
        by_hand *= np.exp(np.interp(age, ages, np.log(factors)))
    for target in (y, np.exp(q.at(few))):
        table = es.factors(X=few, y=target, sample_weight=EXPOSURE)
        want = np.sum(EXPOSURE * target) / np.sum(EXPOSURE * by_hand)
        assert table.off_balance == pytest.approx(want, rel=1e-9)
        assert table.balance_rows == N
        assert table.base_value == pytest.approx(plain.base_value * want, rel=1e-9)
        assert f"the off-balance {want:#.4g}, without which the total is {100 / want:.0f} %" in str(
            table
        )
    assert math.isnan(plain.off_balance)
    assert "factors(X=X, y=...) makes them equal" in str(plain)


def test_the_off_balance_of_a_product_is_1_and_that_of_other_labels_their_ratio():
    levels = X[["region", "children"]]
    q = sd.prediction(lambda rows: rate(rows.assign(age=30.0, since=START)), inverse="log")
    es = sd.explain(q, levels, method="ale")
    predicted = np.exp(q.at(levels))
    assert es.factors(X=levels, y=predicted).off_balance == pytest.approx(1, rel=1e-12)
    some = es.factors(X=levels[:300], y=2 * predicted[:300])
    assert (some.off_balance, some.balance_rows) == (pytest.approx(2, rel=1e-12), 300)
    # The base value need not be known before.
    unknown = sd.explain(q, levels, method="ale", heterogeneity_rows=0)
    table = unknown.factors(X=levels, y=predicted)
    assert table.base_value == pytest.approx(es.factors().base_value, rel=1e-12)
    assert table.remarks[-1] == "The base value makes the total over 900 rows that of y."


def test_rows_with_missing_values_count_in_the_off_balance():
    age = np.where(np.arange(N) % 75 == 0, np.nan, X["age"].round())
    frame = pd.DataFrame({"age": age, "region": X["region"]})
    q = sd.prediction(lambda rows: np.exp(rows["age"].fillna(60) / 40), inverse="log")
    es = sd.explain(q, frame, method="ale")
    table = es.factors(X=frame, y=np.exp(q.at(frame)))
    assert table.off_balance == pytest.approx(1, rel=1e-3)


def test_rows_beyond_the_curve_have_the_factor_of_its_end():
    ages = X[["age"]]
    es = sd.explain(sd.prediction(lambda rows: rows["age"], inverse="log"), ages, method="ale")
    far = ages + np.where(ages > ages.median(), 100.0, -100.0)
    near = far.clip(ages["age"].min(), ages["age"].max())
    beyond, at_ends = (es.factors(X=rows, y=np.ones(N)) for rows in (far, near))
    assert beyond.base_value == pytest.approx(at_ends.base_value, rel=1e-12)


def test_rows_that_the_off_balance_does_not_take():
    levels = X[["region", "children"]]
    q = sd.prediction(lambda rows: rate(rows.assign(age=30.0, since=START)), inverse="log")
    es = sd.explain(q, levels, method="ale")
    y = np.ones(N)
    with refused(sd.DataError, "factors(X, y)", "one of them", "both, or neither"):
        es.factors(X=levels)
    with refused(
        sd.DataError, "900 rows whose value of 'region' has no factor", "Leave these rows"
    ):
        es.factors(X=levels.assign(region="village"), y=y)
    with refused(sd.DataError, "['children', 'region']", "the columns that were explained"):
        es.factors(X=levels[["children", "region"]], y=y)
    with refused(sd.DataError, "not numbers"):
        es.factors(X=levels, y=X["region"])
    odds = sd.explain(sd.logit(LogisticRegression().fit(SMOKES, ILL)), SMOKES, method="ale")
    with refused(sd.UnsupportedError, "odds ratios, which multiply odds", "sd.calibration"):
        odds.factors(X=SMOKES, y=ILL)
    assert "off" not in str(odds.factors())


def test_what_is_no_effect_is_refused():
    with pytest.raises(sd.UnsupportedError, match="an M-plot, which compares different rows"):
        sd.explain(RATE, X, "region", method="mplot").factors()
    with pytest.raises(sd.UnsupportedError, match="derivatives of the quantity"):
        sd.explain(RATE, X, "age", method=sd.ICE(derivative=True)).factors()


def test_rates_of_zero_have_no_logarithm():
    q = sd.prediction(lambda rows: np.where(rows["age"] > 50, 0.0, 1.0), inverse="log")
    with pytest.raises(sd.ModelOutputError, match="NaN or infinity from inverse log"):
        sd.explain(q, X, "age", method="ale")


def test_wrong_bases_and_shares():
    es = explained("ale")
    with pytest.raises(sd.DataError, match="village"):
        es["region"].factors("village")
    with pytest.raises(sd.DataError, match=r"factors\(base\) of 'age': got 200"):
        es["age"].factors(200)
    with pytest.raises(sd.DataError, match="a mapping of features to values"):
        es.factors("town")
    with pytest.raises(sd.DataError, match=r"factors\(bases\): got 'towns'"):
        es.factors({"towns": "a"})
    with pytest.raises(sd.DataError, match=r"the result of sd\.variance_shares"):
        es.factors(shares=0.9)
    with pytest.raises(sd.DataError, match="variance shares of prediction"):
        es.factors(shares=sd.variance_shares(rate, X, regions={}, effects=None))
    with pytest.raises(sd.DataError, match="confidence_level"):
        es.factors(confidence_level=2)


def test_a_base_is_a_level_a_label_a_number_or_a_date():
    es = explained("ale")
    assert es["since"].factors("2022-01-01").base.text == "2022-01-01"
    schema = {"children": {"labels": {0: "none", 1: "one", 2: "two", 3: "three"}}}
    e = sd.explain(RATE, X, "children", method="ale", schema=schema)
    assert e.factors("two").base.text == e.factors(2).base.text == "two"


def test_negative_values_have_a_minus_sign_in_words():
    x = np.linspace(-3.0, -1.0, 60)
    q = sd.prediction(lambda X: np.exp(X[:, 0]), inverse="log", name="rate")
    found = sd.explain(q, x[:, None], 0, method="ale", y=x, observed=True).factors(-2)
    assert "-" not in str(found)
    assert "base −2" in str(found)


def test_one_level_and_a_constant():
    frame = X.assign(region="rural", age=30.0)
    table = sd.explain(RATE, frame, ["region", "age"], method="ale").factors()
    for name in table:
        assert [(f.factor, f.share, f.is_base) for f in table[name]] == [(1.0, 1.0, True)]
        table[name].plot()
    table.plot()
    assert "rural" in str(table)


def test_curves_that_are_not_kept_leave_factors_without_intervals():
    e = sd.explain(RATE, X, "age", method=sd.PDP(heterogeneity=False))
    found = e.factors()
    assert all(math.isnan(f.lower) for f in found)
    assert found.notes[0].startswith("no intervals")
    assert (
        abs(found[0].factor - math.exp(of_age(found[0].value) - of_age(found.base.value))) < 1e-12
    )


# --- how much of a model is a product -------------------------------------------------------------


def test_the_table_says_how_much_is_a_product():
    def model(rows: pd.DataFrame) -> np.ndarray:
        return np.exp(rows["age"].to_numpy() / 40 * np.where(rows["region"] == "city", -1, 1))

    q = sd.prediction(model, inverse="log", name="claims")
    frame = X[["age", "region"]]
    es = sd.explain(q, frame, method="ale")
    plain = es.factors()
    assert f"age {math.exp(es['age'].heterogeneity_score):.2f}" in plain.remarks[0]
    assert "× or ÷" in plain.remarks[0]
    shares = sd.variance_shares(q, frame, effects=es, regions={})
    table = es.factors(shares=shares)
    part = shares["main effects"]
    assert (table.product_share, table.product_share_std_error) == (part.share, part.std_error)
    assert table.remarks[0].startswith("A product of one factor per feature explains ")
    assert table.remarks[0] in str(table)


# --- files, tables, pages -------------------------------------------------------------------------


def test_a_rating_table_is_saved_and_read(tmp_path):
    table = explained("ale").factors()
    table.save(tmp_path / "t.npz")
    again = sd.load(tmp_path / "t.npz")
    assert isinstance(again, sd.RatingTable)
    assert again.to_json() == table.to_json()
    assert str(again) == str(table)
    table["since"].save(tmp_path / "f.npz")
    found = sd.load(tmp_path / "f.npz")
    assert found.to_json() == table["since"].to_json()
    assert found[0].value == table["since"][0].value
    frame = table.to_frame()
    assert list(frame.columns[:3]) == ["feature", "level", "factor"]
    assert len(frame) == sum(len(table[name]) for name in table)
    since = table["since"].to_frame()
    assert str(since["value"].dtype).startswith("datetime64")


def test_hostile_names_are_escaped_on_pages():
    bad = "<script>alert(1)</script>"
    frame = pd.DataFrame({bad: RNG.choice([bad, "b"], 300), "z": RNG.normal(size=300)})
    q = sd.prediction(lambda rows: np.exp((rows[bad] == "b") * 0.3), inverse="log", name=bad)
    table = sd.explain(q, frame, method="ale").factors()
    for page in (table.explore(), table[bad].explore()):
        assert bad not in page.html
    assert bad not in table._repr_html_()


def test_a_difference_of_logarithms_has_the_name_of_a_ratio():
    X = np.random.default_rng(0).uniform(1, 2, size=(200, 2))
    new, old = (
        sd.prediction(f, inverse="log", name="log(rentals)")
        for f in (lambda X: X[:, 0] ** 2 * X[:, 1], lambda X: X[:, 0])
    )
    found = sd.explain(new - old, X, method="ale").factors()
    assert found.quantity == "ratio of rentals"
