"""Contrasts: the change of an effect between two values, for every kind of effect; containers, words, and refusals."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import skedasis as sd
from skedasis.results.intervals.contrasts import ValuePair, _source
from skedasis.stats.resampling import Reweighted
from tests.helpers import refused, usually

N = 480
CUT = sd.Edges([-1.0, -0.5, -0.1, 0.3, 1.0], closed="left")
LEVELS = (0, 1, 2, 3)
SCHEMA = {0: sd.Feature("c", "nominal", levels=LEVELS)}
PLAIN: dict[str, Any] = {"progress": False, "heterogeneity_rows": 0}


def data(n: int = N, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    level = rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
    x = np.concatenate([[-1.0, 1.0], rng.uniform(-1, 1, n - 2)])
    return np.c_[level, rng.normal(size=n) + 0.4 * level, x, rng.integers(0, 80, n)]


def model(X: np.ndarray) -> np.ndarray:
    step = np.array([0.0, 1.0, -0.5, 2.0])[X[:, 0].astype(int)]
    smooth = np.sin(3 * X[:, 2]) * (2 + X[:, 1])
    return step * (1 + X[:, 1]) + smooth + (X[:, 3] / 20) ** 2 + X[:, 3] * X[:, 1] / 20


def slope(X: np.ndarray) -> np.ndarray:
    out = np.zeros(X.shape)
    out[:, 2] = 3 * np.cos(3 * X[:, 2]) * (2 + X[:, 1])
    return out


SLOPED = sd.prediction(model, slope=slope)
Quantity = Any


def explain(method: Any, feature: int = 2, quantity: Quantity = model, **options: Any) -> Any:
    X = options.pop("X", data())
    options = {"schema": SCHEMA, **PLAIN, **options}
    return sd.explain(quantity, X, feature, method=method, **options)


# Each case: how the effect is made, and two values. The bins and grids do not depend on weights.
CASES: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "ale": ({"method": sd.ALE(CUT)}, -0.7, 0.6),
    "dale": ({"method": sd.DALE(CUT), "quantity": SLOPED}, -0.7, 0.6),
    "uale": ({"method": sd.UALE(CUT), "quantity": SLOPED}, -0.7, 0.6),
    "levels": ({"method": sd.ALE(order=list(LEVELS)), "feature": 0}, 1, 3),
    "levels from the last": ({"method": sd.ALE(order=[3, 1, 0, 2]), "feature": 0}, 2, 3),
    "pdp": ({"method": sd.PDP(grid=[-0.8, 0.0, 0.3, 0.7], ice="all")}, -0.5, 0.7),
    "centred pdp": (
        {"method": sd.PDP(grid=[-0.8, 0.0, 0.3, 0.7], ice="all", center="mean")},
        -0.5,
        0.7,
    ),
    "pdp of levels": ({"method": sd.PDP(ice="all"), "feature": 0}, 1, 3),
    "mplot of levels": ({"method": sd.MPlot(), "feature": 0}, 1, 3),
    "integers": ({"method": sd.RHALE(sd.Edges([0, 30, 79])), "feature": 3}, 12, 50),
    "few values": ({"method": sd.ALE(), "feature": 0, "schema": {0: "continuous"}}, 0.5, 3),
}
ALIKE = ("levels from the last", "centred pdp", "uale", "few values")
"""Cases that differ from others by a constant, an order, or the source of their slopes."""


# ------------------------------------------------------------------- the error, by independent ways


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=name, marks=pytest.mark.long if name in (*ALIKE, "integers") else [])
        for name, case in CASES.items()
    ],
)
def test_the_error_is_that_of_the_influence_of_each_row(case):
    """The delta method, computed naively: every row gets a little more weight, and everything is explained again."""
    made, a, b = case
    X = data(480 if made.get("feature") == 3 else 160)
    plain, n, eps = explain(**made, X=X).contrast(a, b), len(X), 1e-4
    influence = np.empty(n)
    for i in range(n):
        weights = np.ones(n)
        weights[i] += eps
        e = explain(**made, X=X, sample_weight=weights)
        influence[i] = (float(e(b)) - float(e(a)) - plain.value) / eps
    naive = math.sqrt(float(influence @ influence))
    # Variances divide by n - 1 instead of n, in cells of 6 (integers) or at least 16 rows.
    most = 1.25 if made.get("feature") == 3 else 1.06
    assert naive <= plain.std_error * (1 + 1e-3) <= most * naive


@pytest.mark.parametrize(
    "case", usually(CASES, "ale", "levels", "pdp", "mplot of levels", "integers")
)
def test_the_error_is_that_of_a_large_bootstrap(case):
    made, a, b = case
    e = explain(**made)
    analytic = e.contrast(a, b)
    drawn = e.contrast(a, b, method="bootstrap", replicates=2500)
    assert drawn.value == analytic.value
    # The standard deviation of 2,500 draws has an error of 1.4 %; small cells add the rest.
    rough = 0.15 if made.get("feature") == 3 else 0.07
    assert drawn.std_error == pytest.approx(analytic.std_error, rel=rough)
    width = analytic.upper - analytic.lower
    assert drawn.upper - drawn.lower == pytest.approx(width, rel=2 * rough)
    assert drawn.method == "bootstrap"
    assert drawn.exact


def parabolas() -> dict[str, tuple[sd.Effect, float, float]]:
    """Return effects whose slopes change linearly within bins, and two values inside of bins."""
    rng = np.random.default_rng(3)
    X = np.c_[rng.uniform(-1, 1, 1500), rng.normal(size=1500), rng.integers(0, 200, 1500)]

    def curved(X: np.ndarray) -> np.ndarray:
        return X[:, 0] ** 2 + X[:, 0] * X[:, 1] + (X[:, 2] / 50) ** 2 + X[:, 2] / 50 * X[:, 1]

    slopes = sd.prediction(
        curved,
        slope=lambda X: np.c_[
            2 * X[:, 0] + X[:, 1], X[:, 0] + X[:, 2] / 50, X[:, 2] / 1250 + X[:, 1] / 50
        ],
    )
    likelihood = sd.Optimal(criterion="likelihood")
    return {
        "slopes": (sd.explain(slopes, X, 0, **PLAIN), -0.55, 0.62),
        "integers": (sd.explain(curved, X, 2, **PLAIN), 33, 112.5),
        "cells": (sd.explain(curved, X, 0, method=sd.ALE(likelihood), **PLAIN), -0.55, 0.62),
    }


def test_parabolas_of_each_row_once_or_twice_change_as_the_effect():
    """A replicate in which every row is drawn equally often is the effect itself, also inside of bins."""
    for name, (e, a, b) in parabolas().items():
        assert np.any(e.bins.slope_change), name
        pair = ValuePair.of(e, a, b)
        source = _source(pair, "rows")
        assert isinstance(source, Reweighted), name
        for times in (1.0, 2.0):
            counts = np.full((source.draws.rows, 1), times)
            assert source.repeated(counts).item() == pytest.approx(e(b) - e(a), rel=1e-9), name


@pytest.mark.slow
def test_the_error_of_parabolas_is_that_of_a_large_bootstrap():
    for name, (e, a, b) in parabolas().items():
        assert np.any(e.bins.slope_change), name
        one = e.contrast(a, b)
        two = e.contrast(a, b, method="bootstrap", replicates=2000)
        assert two.std_error == pytest.approx(one.std_error, rel=0.1), name
        three = e.contrast(a, b, method="bootstrap", replicates=2000, source="moments")
        assert three.std_error == pytest.approx(one.std_error, rel=0.1), name
        assert not three.exact


def test_an_m_plot_compares_independent_means():
    e, X = explain(sd.MPlot(CUT)), data()
    x, q = X[:, 2], model(X)
    low, high = q[x < -0.5], q[(x >= 0.3)]
    c = e.contrast(e.x[0], e.x[3])
    found = stats.ttest_ind(high, low, equal_var=False)
    assert c.value == pytest.approx(high.mean() - low.mean())
    assert c.p_value == pytest.approx(found.pvalue)
    assert (c.lower, c.upper) == pytest.approx(tuple(found.confidence_interval()))
    assert c.rows == len(low) + len(high)


def test_a_pdp_compares_each_row_with_itself():
    e, X = explain(sd.PDP(grid=[-0.8, 0.7], ice="all")), data()
    at = [X.copy(), X.copy()]
    at[0][:, 2], at[1][:, 2] = -0.8, 0.7
    found = stats.ttest_rel(model(at[1]), model(at[0]))
    c = e.contrast(-0.8, 0.7)
    assert c.p_value == pytest.approx(found.pvalue, rel=1e-6)
    assert (c.lower, c.upper) == pytest.approx(tuple(found.confidence_interval()))
    # Independent errors of the two points would be several times too large, or too small.
    assert c.std_error != pytest.approx(math.hypot(*e.std_error), rel=0.2)


def test_a_step_between_two_levels_is_a_test_of_one_mean():
    X = data()[data()[:, 0] < 2]
    e = sd.explain(model, X, 0, method=sd.ALE(), schema={0: "nominal"}, **PLAIN)
    ends = [np.c_[np.full(len(X), k), X[:, 1:]] for k in (0, 1)]
    step = model(ends[1]) - model(ends[0])
    c = e.contrast(0, 1)
    assert c.value == pytest.approx(step.mean())
    assert c.std_error == pytest.approx(step.std(ddof=1) / math.sqrt(len(step)))
    assert c.rows == len(X)


@pytest.mark.parametrize("schema", ["nominal", "continuous"])
@pytest.mark.parametrize(("low", "high"), [(0, 1), (1, 3), (2, 3), (0, 3)])
def test_the_rows_of_steps_are_those_of_the_values_from_one_to_the_other(schema, low, high):
    order = {"order": list(LEVELS)} if schema == "nominal" else {}
    e = explain(sd.ALE(**order), 0, schema={0: schema})
    own = data()[:, 0]
    for a, b in ((low, high), (high, low)):
        assert e.contrast(a, b).rows == ((own >= low) & (own <= high)).sum()


def test_sampling_weights_do_not_change_with_their_scale():
    w = np.random.default_rng(2).gamma(3.0, size=N)
    one, two = (
        explain(sd.ALE(CUT), sample_weight=k * w, weight_kind="sampling").contrast(-0.7, 0.6)
        for k in (1.0, 7.0)
    )
    assert two.std_error == pytest.approx(one.std_error)
    assert two.df == pytest.approx(one.df)


def test_errors_can_be_added_conservatively():
    plain, summed = (
        explain(sd.DALE(CUT, accumulate_se=how), quantity=SLOPED) for how in ("quadrature", "sum")
    )
    bins, used = plain.bins, [0.2, 0.4, 0.4, 0.3]
    c = summed.contrast(-0.7, 0.6)
    assert c.std_error == pytest.approx(float(bins.std_error @ used))
    assert plain.contrast(-0.7, 0.6).std_error == pytest.approx(
        math.sqrt(float(bins.std_error**2 @ np.square(used)))
    )


# --------------------------------------------------------------------------------- values and gaps


def test_a_value_and_itself_do_not_differ():
    for made, a, _ in CASES.values():
        for how in ("analytic", "bootstrap"):
            c = explain(**made).contrast(a, a, method=how)
            assert (c.value, c.std_error, c.lower, c.upper, c.p_value) == (0, 0, 0, 0, 1)


def test_bins_without_rows_between_are_bridged_and_noted():
    X = data()
    X = X[(X[:, 2] < -0.5) | (X[:, 2] > 0.3)]
    e = explain(sd.ALE(CUT), X=X)
    c = e.contrast(-0.6, 0.5)
    assert c.value == pytest.approx(float(e(0.5) - e(-0.6)))
    assert c.notes == (
        "2 bins between the two values have no rows: their slopes are that of the neighbours",
    )
    assert "2 bins" in str(c)
    inside = e.contrast(-0.4, 0.1)  # no row between: the slope of the neighbours
    assert inside.std_error > 0
    assert inside.rows == len(X)
    assert explain(sd.ALE(CUT)).contrast(-0.6, 0.5).notes == ()


def test_few_rows_are_noted_and_one_row_has_no_variance():
    few = np.concatenate([[0.0, 0.02], np.linspace(0.5, 1, 30)])
    X = np.c_[few, np.random.default_rng(0).normal(size=32)]
    e = sd.explain(
        lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ALE(sd.Edges([0.0, 0.1, 1.0])), **PLAIN
    )
    assert e.contrast(0, 0.1).notes == ("estimated from 2 rows only",)
    single = sd.explain(
        lambda X: X[:, 0] * X[:, 1], X[1:], 0, method=sd.MPlot(sd.Edges([0.0, 0.1, 1.0])), **PLAIN
    )
    c = single.contrast(*single.x, method="bootstrap")
    assert math.isnan(c.std_error)
    assert math.isnan(c.lower)
    assert "single row" in c.notes[-1]
    assert "interval unknown" in str(c)


# ------------------------------------------------------------------------------ types of the values


def test_levels_of_text_with_missing_values():
    rng = np.random.default_rng(0)
    town = rng.choice(["rural", "city", None], 300, p=[0.5, 0.3, 0.2])
    X = pd.DataFrame({"town": town, "z": rng.normal(size=300)})

    def price(X: pd.DataFrame) -> pd.Series:
        worth = X["town"].map({"rural": 1.0, "city": 3.0}).fillna(0.0)
        return worth * (1 + X["z"] / 10)

    e = sd.explain(price, X, "town", method="ale", **PLAIN)
    c = e.contrast("rural", "city")
    assert float(c) == pytest.approx(2, abs=0.2)
    assert str(c).startswith("town rural → city: prediction +")
    for missing in (None, np.nan, pd.NA, "missing"):
        gone = e.contrast("rural", missing)
        assert gone.b is None
        assert gone.b_text == "missing"
        assert float(gone) == pytest.approx(-1, abs=0.2)
    table = e.contrasts("rural")
    assert [c.b for c in table] == [v for v in e.x.tolist() if v != "rural"]
    assert e.contrasts()[0].a == "rural"  # the largest level
    assert [c.value for c in e.contrasts(None)] == [
        -c.value for c in e.contrasts() if c.b is None
    ] + [e.contrast(None, "city").value] or len(e.contrasts(None)) == 2
    wide, narrow = table.simultaneous(), table
    assert all(w.upper > n.upper for w, n in zip(wide, narrow, strict=True))
    level = 1 - 0.05 / 2
    half = stats.t.ppf((1 + level) / 2, wide[0].df) * wide[0].std_error
    assert wide[0].upper == pytest.approx(wide[0].value + half)
    assert wide[0].p_value == pytest.approx(min(1, 2 * narrow[0].p_value))
    assert "for all at once" in str(wide)


def test_true_and_one_are_different_levels():
    X = pd.DataFrame({"on": [True, False] * 30, "z": np.arange(60.0)})
    e = sd.explain(lambda X: X["on"] * X["z"], X, "on", method="ale", **PLAIN)
    assert float(e.contrast(False, True)) == pytest.approx(29.5)


def test_times(tmp_path):
    day = pd.Series(pd.date_range("2020-01-01", periods=200, freq="D"))
    X = pd.DataFrame({"day": day, "z": np.random.default_rng(0).normal(size=200)})

    def warm(X: pd.DataFrame) -> pd.Series:
        days = (X["day"] - pd.Timestamp("2020-01-01")).dt.days
        return days * (1 + X["z"])

    e = sd.explain(warm, X, "day", method=sd.ALE(bins=5), **PLAIN)
    c = e.contrast("2020-02-01", "2020-03-01")
    assert c.a == datetime.fromisoformat("2020-02-01")
    assert c.b == datetime.fromisoformat("2020-03-01")
    assert c.change == "day 2020-02-01 → 2020-03-01"
    for a in (date(2020, 2, 1), np.datetime64("2020-02-01"), pd.Timestamp("2020-02-01")):
        assert e.contrast(a, "2020-03-01") == c
    c.save(tmp_path / "c.npz")
    assert sd.load(tmp_path / "c.npz") == c
    with pytest.raises(sd.DataError):
        e.contrast(3, 5)


# ------------------------------------------------------------------------------------ kept curves


def test_a_sample_of_curves_is_said():
    sample = explain(sd.PDP(grid=[-0.8, 0.7], ice=120)).contrast(-0.8, 0.7)
    every = explain(sd.PDP(grid=[-0.8, 0.7], ice="all")).contrast(-0.8, 0.7)
    assert (sample.value, sample.rows) == (every.value, N)
    assert not sample.exact
    assert every.exact
    assert sample.df == 119
    assert "a sample of 120 ICE curves" in sample.notes[0]
    # Scaled to all rows: the standard deviation of 120 changes has an error of 6 %.
    assert sample.std_error == pytest.approx(every.std_error, rel=0.2)
    drawn = explain(sd.PDP(grid=[-0.8, 0.7], ice=120)).contrast(-0.8, 0.7, method="bootstrap")
    assert drawn.std_error == pytest.approx(sample.std_error, rel=0.1)
    assert not drawn.exact


def test_without_rows_the_bootstrap_draws_moments():
    few = explain(sd.ALE(CUT), keep_rows=100)
    c = few.contrast(-0.7, 0.6, method="bootstrap")
    assert not c.exact
    assert c.std_error == pytest.approx(few.contrast(-0.7, 0.6).std_error, rel=0.1)


# -------------------------------------------------------------------------------------- containers


def test_effects_share_the_draws():
    es = sd.explain(model, data(), [2, 1], method=sd.ALE(bins=4), **PLAIN)
    found = es.contrast({"x2": (-0.5, 0.5), "x1": (0, 1)}, method="bootstrap", replicates=100)
    assert isinstance(found, sd.Contrasts)
    assert found[0] == es["x2"].contrast(-0.5, 0.5, method="bootstrap", replicates=100)
    assert [c.feature for c in found] == ["x2", "x1"]
    assert es.contrast({2: (-0.5, 0.5)})[0] == es["x2"].contrast(-0.5, 0.5)
    frame = found.to_frame("pandas")
    assert frame["value"].tolist() == [c.value for c in found]
    assert frame["a"].tolist() == [-0.5, 0.0]
    with pytest.raises(sd.DataError):
        es.contrast({"size": (0, 1)})


def test_regions_have_a_contrast_each_and_a_difference(tmp_path):
    X = data()
    masks = {"low": X[:, 1] <= 0.3, "high": X[:, 1] > 0.3}
    r = sd.explain(model, X, 2, method=sd.ALE(CUT), by=masks, schema=SCHEMA, **PLAIN)
    found = r.contrast(-0.7, 0.6)
    assert [c.rule for c in found] == ["low", "high"]
    assert found[1] == r[1].contrast(-0.7, 0.6)
    gap = found.difference()
    assert gap.value == pytest.approx(found[1].value - found[0].value)
    # Welch's t of two independent estimates
    v = np.array([c.std_error**2 for c in found])
    df = v.sum() ** 2 / float((v**2 / [c.df for c in found]).sum())
    assert (gap.std_error, gap.df) == pytest.approx((math.sqrt(v.sum()), df))
    assert found.difference(1, 0).value == -gap.value
    assert "where high, minus where low" in str(gap)
    assert list(found.to_frame("pandas")["rule"]) == ["low", "high"]
    text = str(found)
    assert "where" in text.splitlines()[1]
    assert len(text.splitlines()) == 4
    found.save(tmp_path / "all.npz")
    assert sd.load(tmp_path / "all.npz") == found


def test_several_models_vary_in_their_changes():
    X = np.random.default_rng(0).uniform(size=(300, 2))
    slopes = np.array([1.0, 2.0, 4.0, 5.0])
    models = [lambda X, k=k: k * X[:, 0] + k * k * X[:, 1] for k in slopes]
    em = sd.explain(models, X, 0, method=sd.ALE(bins=3), refits=True, **PLAIN)
    c = em.contrast(0.25, 0.75)
    changes = slopes / 2
    test = stats.ttest_1samp(changes, 0)
    assert c.value == pytest.approx(changes.mean())
    assert c.p_value == pytest.approx(test.pvalue)
    assert (c.lower, c.upper) == pytest.approx(tuple(test.confidence_interval()))
    assert (c.method, c.df) == ("models", 3.0)
    assert -em.contrast(0.75, 0.25).lower == pytest.approx(c.upper)
    assert float(em.contrast(0.5, 0.5)) == 0
    corrected = sd.explain(
        models, X, 0, method=sd.ALE(bins=3), correction=0.5, refits=True, **PLAIN
    )
    wide = corrected.contrast(0.25, 0.75)
    assert wide.method == "learner"
    assert wide.std_error == pytest.approx(math.sqrt(0.25 + 0.5) * changes.std(ddof=1))
    many = sd.explain(models, X, method=sd.ALE(bins=3), refits=True, **PLAIN)
    assert many.contrast({"x0": (0.25, 0.75)})[0] == pytest.approx(c) or float(
        many.contrast({"x0": (0.25, 0.75)})[0]
    ) == pytest.approx(c.value)


# ----------------------------------------------------------------------------- words, frames, files


def test_it_reads_like_a_sentence():
    ends = {"a_text": "10", "b_text": "20", "value": 34.21, "std_error": 1.65, "df": 300.0}
    up = {"lower": 30.96, "upper": 37.46, "unit": "rentals", "feature_unit": "°C"}
    named = sd.Contrast("temp", "rides", 10.0, 20.0, **ends, **up)
    assert str(named) == "temp 10 → 20 °C: +34.2 rentals, 95 % interval 31.0 to 37.5"
    down = sd.Contrast("temp", "rides", 20.0, 10.0, "20", "10", -34.21, 1.65, 300.0, -37.46, -30.96)
    assert str(down) == "temp 20 → 10: rides −34.2, 95 % interval −37.5 to −31.0"
    assert repr(down) == f"<Contrast: {down}>"


def test_replicates_do_not_depend_on_threads():
    e = explain(sd.ALE(CUT))
    one, two = (e.contrast(-0.5, 0.5, method="bootstrap", replicates=600, n_jobs=k) for k in (1, 2))
    assert one == two


# ------------------------------------------------------------------------------------ refusals


BINS = explain(sd.ALE(CUT))
EVERY = sd.explain(model, data(), [2, 1], method=sd.ALE(bins=4), **PLAIN)
HALVES = explain(sd.ALE(CUT), by=data()[:, 1] > 0.3)
MODELS = explain(sd.ALE(CUT), quantity=[model, model], refits=True)


@pytest.mark.parametrize(
    ("kind", "words", "ask"),
    [
        (sd.DataError, "one value of the feature", lambda: BINS.contrast([1, 2], 0.5)),
        (sd.DataError, "not numbers", lambda: BINS.contrast(0.5, "high")),
        (sd.DataError, "a value from −1 to 1", lambda: BINS.contrast(0.5, np.inf)),
        (sd.DataError, "not missing", lambda: BINS.contrast(np.nan, 0.5)),
        (sd.DataError, "confidence_level", lambda: BINS.contrast(0, 0.5, 95)),
        (sd.DataError, "'analytic' or 'bootstrap'", lambda: BINS.contrast(0, 0.5, method="exact")),
        (sd.DataError, "replicates", lambda: BINS.contrast(0, 0.5, replicates=1)),
        (sd.UnsupportedError, "categorical", BINS.contrasts),
        (sd.DataError, "one of the levels", lambda: explain(sd.ALE(), 0).contrasts(9)),
        (sd.UnsupportedError, "keeps 0 ICE", lambda: explain(sd.PDP(ice=0)).contrast(-0.5, 0.5)),
        (
            sd.UnsupportedError,
            "only the mean curve",
            lambda: explain(sd.PDP(heterogeneity=False)).contrast(-0.5, 0.5),
        ),
        (sd.DataError, "two values", lambda: EVERY.contrast({"x2": 0.5})),
        (sd.DataError, "a mapping", lambda: EVERY.contrast([("x2", 0, 1)])),
        (sd.DataError, "each feature once", lambda: EVERY.contrast({"x2": (0, 1), 2: (0, 1)})),
        (sd.DataError, "a position", lambda: HALVES.contrast(-0.5, 0.5).difference(0, 2)),
        (sd.UnsupportedError, "different regions", lambda: HALVES.contrast(0, 1).difference(1, 1)),
        (sd.UnsupportedError, "of='bound'", lambda: MODELS.contrast(0, 0.5, of="bound")),
        (sd.DataError, "contrast(of)", lambda: MODELS.contrast(0, 0.5, of="rows")),
    ],
)
def test_what_has_no_contrast_is_refused(kind, words, ask):
    with refused(kind, words):
        ask()
