"""The mean local effect of a bin, and the rise of the curve across it: against the rows, the model and the curve."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

import skedasis as sd

N = 300


def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "real": rng.normal(size=N),
            "many": rng.integers(0, 300, size=N) + 10,
            "few": rng.integers(0, 6, size=N),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.uniform(0, 90, N), "D"),
            "grade": pd.Categorical(rng.choice(list("abcd"), N), ordered=True),
            "other": rng.normal(size=N),
        }
    )


def model(X):
    days = (X["when"] - pd.Timestamp("2024-01-01")) / pd.Timedelta(days=1)
    numbers = X["real"] ** 2 + np.sqrt(X["many"]) + X["few"] ** 2 / 4 + np.sin(days / 20)
    total = numbers + X["grade"].cat.codes
    return (total * (1 + X["other"])).to_numpy(float)


def tree():
    X = frame()[["real", "other"]].to_numpy()
    return DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, X[:, 0] * X[:, 1]), X


def explained(feature, method, X=None, **options):
    X = frame() if X is None else X
    return sd.explain(model, X, feature, method=method, heterogeneity_rows=0, **options)


def assert_rises_of_the_curve(e):
    low, high = (
        e.axis.levels.codes(at) if e.levels is not None else at for at in (e.bins.low, e.bins.high)
    )
    rise = e.at(high.astype(float)) - e.at(low.astype(float))
    size = np.nanmax(np.abs(e.value))
    np.testing.assert_allclose(e.bins.rise, rise, rtol=1e-12, atol=1e-13 * size)


@pytest.mark.parametrize(
    ("kind", "feature", "method"),
    [
        ("differences", "real", sd.DALE(bins=4)),
        ("differences", "real", sd.RHALE()),
        ("differences", "when", sd.DALE(bins=4)),
        ("edges", "real", sd.ALE(bins=4)),
        ("edges", "real", sd.ALE(bins=sd.Optimal())),
        ("edges", "when", sd.ALE(bins=4, center="start")),
        ("integer_steps", "many", sd.DALE(bins=4, center="start")),
        ("integer_steps", "many", sd.RHALE()),
        ("integer_steps", "few", sd.DALE(bins=2)),
        ("value_steps", "few", sd.ALE()),
        ("value_steps", "few", sd.RHALE()),
        ("steps", "real", sd.RHALE(local_effects="steps")),
        ("levels", "grade", sd.ALE()),
        ("levels", "grade", sd.RHALE()),
    ],
)
def test_bins_rise_as_the_curve_does(kind, feature, method, tmp_path):
    e = explained(feature, method)
    assert e.spec.local_effects == kind
    assert np.isfinite(e.bins.rise).all()
    assert_rises_of_the_curve(e)
    e.save(tmp_path / "e.npz")
    np.testing.assert_array_equal(sd.load(tmp_path / "e.npz").bins.rise, e.bins.rise)
    assert e.to_frame("pandas", of="bins")["rise"].tolist() == e.bins.rise.tolist()
    assert e.to_dict()["bins"]["rise"] == e.bins.rise.tolist()
    if kind not in ("integer_steps", "levels"):
        np.testing.assert_allclose(e.bins.rise, e.bins.effect * e.bins.widths, rtol=1e-9)


@pytest.mark.parametrize(
    ("feature", "method", "bins"),
    [
        ("real", sd.DALE(), sd.Uniform(3)),
        ("many", sd.DALE(), sd.Uniform(3)),
        ("few", sd.RHALE(), sd.Edges([0, 2, 5])),
        ("grade", sd.RHALE(), sd.Optimal(alpha=0.9)),
    ],
)
def test_bins_of_other_edges_rise_as_the_curve_does(feature, method, bins):
    assert_rises_of_the_curve(explained(feature, method).rebin(bins))


def test_bins_of_trees_and_of_curves_with_gaps_rise_as_they_do():
    q, X = tree()
    assert_rises_of_the_curve(sd.explain(q, X, 0))
    edges = sd.Edges([-9, -8, -1, 0.1, 0.1001, 8, 9])
    e = explained("real", sd.DALE(bins=edges))
    assert np.isnan(e.bins.rise).tolist() == [True, False, False, False, False, True]
    assert np.isnan(e.bins.effect[3])  # no row, and the curve is straight across it
    assert e.bins.rise[3] != 0
    m = explained("real", sd.MPlot(bins=4))
    assert np.isnan(m.bins.rise).all()
    assert "rise" not in m.to_dict()["bins"]
    assert "rise" not in str(m.bins)


def by_hand(X, feature):
    """Return each row's mean difference to the adjacent observed values, per unit."""
    values = np.unique(X[feature])
    place = np.searchsorted(values, X[feature])
    own, slopes = model(X), []
    for step in (-1, 1):
        there = (place + step >= 0) & (place + step < len(values))
        to = values[np.where(there, place + step, place)]
        with np.errstate(invalid="ignore"):
            slope = (model(X.assign(**{feature: to})) - own) / (to - X[feature])
        slopes.append(np.where(there, slope, np.nan))
    return np.nanmean(slopes, axis=0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", [sd.DALE(bins=1), sd.RHALE(bins=4), sd.UALE(bins=3)])
def test_the_deviation_of_whole_numbers_is_around_their_mean_effect(method, weighted):
    X = frame()
    w = np.random.default_rng(1).integers(1, 4, N).astype(float) if weighted else None
    e = explained("many", method, X, sample_weight=w)
    assert e.spec.local_effects == "integer_steps"
    slope, weight = by_hand(X, "many"), np.ones(N) if w is None else w
    place = np.clip(np.searchsorted(e.bins.low, X["many"], side="right") - 1, 0, len(e.bins) - 1)
    for k in range(len(e.bins)):
        d, n = slope[place == k], weight[place == k]
        mean = np.average(d, weights=n)
        variance = n @ (d - mean) ** 2 / (n.sum() - method.ddof)
        assert e.bins.effect[k] == pytest.approx(mean, rel=1e-9)
        assert e.bins.std[k] == pytest.approx(np.sqrt(variance), rel=1e-9)
        assert e.bins.std_error[k] == pytest.approx(np.sqrt(variance / n.sum()), rel=1e-9)


def test_a_line_of_whole_numbers_is_that_through_their_effects():
    x = np.repeat(np.arange(80.0), 8)
    X = np.column_stack([x, np.random.default_rng(3).normal(size=len(x))])
    e = sd.explain(lambda X: X[:, 0] ** 2 + X[:, 0] * X[:, 1], X, 0, heterogeneity_rows=0)
    assert e.spec.local_effects == "integer_steps"
    assert len(e.bins) == 1
    assert e.bins.slope_change[0] != 0
    slope, level = np.polyfit(x, e.rows.local, 1)
    assert e.bins.effect[0] == pytest.approx(level + slope * e.bins.edges.mean(), rel=1e-6)
    residual = e.rows.local - level - slope * x
    assert e.bins.std[0] == pytest.approx(
        np.std(residual, ddof=2), rel=0.01
    )  # cells have two values


@pytest.mark.parametrize("method", [sd.DALE(bins=3), sd.RHALE(bins=sd.Optimal())])
def test_mean_effects_of_resampled_whole_numbers_are_those_of_repeated_rows(method):
    X = frame()
    e = explained("many", method, X)
    counts = np.random.default_rng(4).integers(1, 5, size=N)  # no value is lost
    again = explained("many", sd.DALE(bins=sd.Edges(e.bins.edges)), X.loc[X.index.repeat(counts)])
    np.testing.assert_allclose(e.resampled(counts, of="bins"), again.bins.effect, rtol=1e-9)
    np.testing.assert_allclose(e.resampled(np.ones(N), of="bins"), e.bins.effect, rtol=1e-12)
