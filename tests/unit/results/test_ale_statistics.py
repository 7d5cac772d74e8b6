"""ALE statistics: values computed by hand, intervals compared with rerun methods, p-values, and bad input."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.results.ale_statistics import Percentiles, replicated_statistics, statistics
from tests.helpers import frame, of_frame, paired, refused

EDGES = sd.Edges([-2.0, -0.7, 0.1, 0.9, 2.0])


def data(n: int = 300, seed: int = 0) -> np.ndarray:
    """Return two dependent features within -2..2."""
    rng = np.random.default_rng(seed)
    x = rng.beta(2, 3, size=n) * 4 - 2
    return np.c_[x, np.clip(0.5 * x + rng.normal(size=n), -2, 2)]


def bent(X: np.ndarray) -> np.ndarray:
    """Return a nonlinear function with an interaction."""
    return np.sin(2 * X[:, 0]) * (1 + 0.5 * X[:, 1]) + X[:, 1] ** 2


def slopes(X: np.ndarray) -> np.ndarray:
    """Return the slopes of `bent`."""
    s, c = np.sin(2 * X[:, 0]), np.cos(2 * X[:, 0])
    return np.c_[2 * c * (1 + 0.5 * X[:, 1]), 0.5 * s + 2 * X[:, 1]]


BENT = sd.prediction(bent, slope=slopes)


def by_hand(curve: np.ndarray, w: np.ndarray) -> tuple[float, float, float]:
    """Return ALED and both ends of ALER from a curve's values at the rows."""
    moved = curve - np.average(curve, weights=w)
    return np.average(np.abs(moved), weights=w), moved.min(), moved.max()


@pytest.mark.parametrize(
    ("method", "weighted"),
    paired(
        [sd.ALE(7), sd.ALE(7, center="start"), sd.DALE(EDGES), sd.RHALE(), sd.UALE(5)],
        [False, True],
    ),
)
def test_figures_are_those_of_the_curve_at_the_rows(method: Any, weighted: bool) -> None:
    X = data()
    w = np.random.default_rng(1).integers(1, 4, len(X)) if weighted else np.ones(len(X))
    e = sd.explain(BENT, X, 0, method=method, sample_weight=w if weighted else None)
    s = statistics(e, replicates=2)["x0"]
    assert (s.aled, *s.aler) == pytest.approx(by_hand(e(X[:, 0]), w), rel=1e-12)
    assert s.exact
    assert s.n == len(X)


def test_levels_count_by_their_frequency() -> None:
    X = pd.DataFrame({"c": ["a"] * 5 + ["b"] * 3 + ["d"] * 2})
    codes = {"a": 0.0, "b": 1.0, "d": 7.0}
    e = sd.explain(lambda X: X["c"].map(codes).astype(float), X, "c", method="ale")
    s = statistics(e, y=X["c"].map(codes))["c"]
    mean = (3 + 14) / 10
    assert s.aled == pytest.approx((5 * mean + 3 * abs(1 - mean) + 2 * (7 - mean)) / 10)
    assert s.aler == pytest.approx((-mean, 7 - mean))
    # The median of y is 0.5. The effects -1.7 of a and -0.7 of b reach the five zeros, 5.3 of d the three ones.
    assert s.naled == pytest.approx((5 * 50 + 3 * 50 + 2 * 30) / 10)
    assert s.naler == pytest.approx((-50, 30))


def test_weights_are_repetitions() -> None:
    X = data(150)
    y = bent(X)
    w = np.random.default_rng(1).integers(0, 4, len(X))
    many = np.repeat(np.arange(len(X)), w)
    one = sd.explain(BENT, X, method=sd.DALE(bins=EDGES), sample_weight=w)
    two = sd.explain(BENT, X[many], method=sd.DALE(bins=EDGES))
    for a, b in zip(one.statistics(y, sample_weight=w), two.statistics(y[many]), strict=True):
        assert (a.aled, *a.aler) == pytest.approx((b.aled, *b.aler), rel=1e-9)
        assert (a.naled, *a.naler, *a.okoli) == pytest.approx((b.naled, *b.naler, *b.okoli))


def test_sampling_weights_weigh_rows_and_their_draws() -> None:
    X = data(100)
    w = np.random.default_rng(1).uniform(0.5, 2, 100)
    e = sd.explain(BENT, X, 0, method=sd.DALE(bins=EDGES), sample_weight=w, weight_kind="sampling")
    counts = np.random.default_rng(4).multinomial(100, np.full(100, 0.01)).astype(float)
    found = replicated_statistics(e, None)
    assert found.base == pytest.approx(by_hand(e(X[:, 0]), w), rel=1e-12)
    other = sd.explain(BENT, X, 0, method=sd.DALE(bins=EDGES), sample_weight=w * counts)
    there = counts > 0
    expected = by_hand(other(X[there, 0]), (w * counts)[there])
    assert found(counts[:, None])[:3, 0] == pytest.approx(expected, rel=1e-10)


# -------------------------------------------------------------------------------------- percentiles


def counted(effect: float, y: np.ndarray) -> float:
    """Return the percentage of outcomes between the median and the median plus an effect, with the effect's sign."""
    away = y - np.median(y)
    if effect > 0:
        return 100 * np.mean((away > 0) & (away <= effect))
    return -100 * np.mean((away < 0) & (away >= effect))


@pytest.mark.parametrize("tied", [False, True])
def test_percentiles_are_the_outcomes_that_an_effect_passes(tied: bool) -> None:
    X = data(120)
    y = np.random.default_rng(3).normal(size=120)
    y = np.round(y) if tied else y
    e = sd.explain(BENT, X, 0, method=sd.ALE(bins=6))
    s = statistics(e, y, replicates=2)["x0"]
    curve = e(X[:, 0]) - e(X[:, 0]).mean()
    shares = np.array([counted(v, y) for v in curve])
    assert s.naled == pytest.approx(np.abs(shares).mean())
    assert s.naler == pytest.approx((shares.min(), shares.max()))


def test_tiny_effects_are_not_inflated_where_outcomes_are_tied() -> None:
    X = np.linspace(-1, 1, 101)[:, None]
    rng = np.random.default_rng(0)
    y = np.where(rng.uniform(size=101) < 0.6, 0.0, rng.exponential(size=101))
    y[:2] = 1e-4, 2e-4
    e = sd.explain(lambda X: 1e-3 * X[:, 0], X, 0, method=sd.ALE(bins=10))
    s = statistics(e, y, replicates=2)["x0"]
    assert s.naled < 1.5
    assert s.okoli[0] > 10  # all of about 60 ties count once one outcome is reached
    assert "as by Okoli" in repr(statistics(e, y, replicates=2))


def test_okolis_percentiles_are_those_of_two_halves() -> None:
    # R: ecdf(y[y >= median] - median)(effect) / 2 for effects beyond the nearest outcome; below the median likewise.
    y = np.array([-3.0, -1, -1, 0, 0, 0, 2, 5, 9])
    share = Percentiles.around(y, np.ones(9))
    effects = np.array([-4.0, -2, -1, -0.5, 0, 1, 2, 3, 5, 20])
    expected = np.array([-6, -5, 0, 0, 0, 0, 0, 4, 5, 6]) / 6 * 50
    np.testing.assert_allclose(share.okoli(effects), expected)
    ours = np.array([-3, -2, -2, 0, 0, 0, 1, 1, 2, 3]) / 9 * 100
    np.testing.assert_allclose(share.of(effects), ours)


# ---------------------------------------------------------------------------------------- intervals


@pytest.mark.parametrize("method", [sd.ALE(bins=EDGES), sd.DALE(bins=EDGES)], ids=lambda m: m.name)
def test_replicates_are_the_method_on_resampled_rows(method: Any) -> None:
    X = data(200)
    counts = np.random.default_rng(4).multinomial(200, np.full(200, 1 / 200), size=3)
    again = replicated_statistics(sd.explain(BENT, X, 0, method=method), None)(
        counts.T.astype(float)
    )
    for k in range(3):
        rows = np.repeat(X, counts[k], axis=0)
        e = sd.explain(BENT, rows, 0, method=method)
        expected = by_hand(e(rows[:, 0]), np.ones(len(rows)))
        assert tuple(again[:3, k]) == pytest.approx(expected, rel=1e-10)


def test_replicates_of_bent_bins_bend_anew() -> None:
    x = np.random.default_rng(0).uniform(size=400)
    X = np.c_[x, np.random.default_rng(1).normal(size=400)]
    q = sd.prediction(
        lambda X: X[:, 0] ** 2 + X[:, 0] * X[:, 1],
        slope=lambda X: np.c_[2 * X[:, 0] + X[:, 1], X[:, 0]],
    )
    e = sd.explain(q, X, 0, method=sd.RHALE())
    assert np.any(e.bins.slope_change)
    counts = np.random.default_rng(4).multinomial(400, np.full(400, 1 / 400)).astype(float)
    again = replicated_statistics(e, None)(counts[:, None])
    # Expected, by hand: in each bin with a slope change, a least-squares line through the means of the cells.
    edges = e.x
    curve, start = np.empty(400), 0.0
    d = e.rows.effect
    for left, right, bends in zip(edges[:-1], edges[1:], e.bins.slope_change != 0, strict=True):
        inside = (x >= left) & ((x < right) | ((right == edges[-1]) & (x == right)))
        w = counts[inside]
        if bends:
            cell = e.cells.locate(x[inside])
            weight = np.bincount(cell, w)
            there = weight > 0
            cx = np.bincount(cell, w * x[inside])[there] / weight[there]
            cd = np.bincount(cell, w * d[inside])[there] / weight[there]
            b, a = np.polyfit(cx, cd, 1, w=np.sqrt(weight[there]))
        else:
            b, a = 0.0, np.average(d[inside], weights=w)
        primitive = lambda t, a=a, b=b: a * t + b * t**2 / 2  # noqa: E731
        curve[inside] = start + primitive(x[inside]) - primitive(left)
        start += primitive(right) - primitive(left)
    expected = by_hand(curve[counts > 0], counts[counts > 0])
    assert tuple(again[:3, 0]) == pytest.approx(expected, rel=1e-9)


def test_levels_are_resampled_as_the_method_would_see_them() -> None:
    X = frame(150)
    method = sd.ALE(order={"c": list("uvwx")})
    e = sd.explain(of_frame, X, "c", method=method)
    counts = np.random.default_rng(4).multinomial(150, np.full(150, 1 / 150))
    again = replicated_statistics(e, None)(counts[:, None].astype(float))[:3, 0]
    rows = X.iloc[np.repeat(np.arange(150), counts)].reset_index(drop=True)
    other = sd.explain(of_frame, rows, "c", method=method)
    expected = by_hand(np.asarray(other(rows["c"])), np.ones(150))
    assert tuple(again) == pytest.approx(expected, rel=1e-10)


def test_intervals_hold_the_figures_and_start_at_zero_within_the_noise() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 3))
    noisy = sd.prediction(
        lambda X: X[:, 0] * (X[:, 1] > 0.5) * 4,
        slope=lambda X: np.c_[4.0 * (X[:, 1] > 0.5), 3 * rng.normal(size=len(X)), 0 * X[:, 0]],
    )
    rng = np.random.default_rng(0)
    es = sd.Effects(
        {
            "x0": sd.explain(noisy, X, 0, method=sd.DALE(bins=5)),
            "x2": sd.explain(noisy, X, 2, method=sd.DALE(bins=5)),
        }
    )
    st = es.statistics(X[:, 0], replicates=200)
    for s in st:
        ends = [s.aled_interval, *s.aler_interval, s.naled_interval, *s.naler_interval]
        for value, (low, high) in zip((s.aled, *s.aler, s.naled, *s.naler), ends, strict=True):
            assert low <= value <= high
    assert st["x0"].aled_interval[0] > 0
    assert not st["x0"].is_noise
    assert st["x2"].aled_interval == (0, 0)


def test_a_flat_effect_with_scatter_is_told_to_be_noise() -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 2))
    q = sd.prediction(lambda X: X[:, 0] * X[:, 1], slope=lambda X: X[:, ::-1])
    st = sd.explain(q, X, method=sd.DALE(bins=8)).statistics(replicates=300)
    for s in st:
        assert s.is_noise
        assert s.aled_interval[0] == 0
        assert 0.5 * s.aled < s.noise < 2 * s.aled
    assert "not significantly different from a flat effect: x0, x1" in repr(st)


def test_features_have_alone_what_they_have_together() -> None:
    X = data()
    es = sd.explain(BENT, X, method=sd.ALE(bins=5))
    together = es.statistics(replicates=100, n_jobs=2)
    alone = statistics(es["x1"], replicates=100)[0]
    np.testing.assert_equal(astuple(alone), astuple(together["x1"]))  # some are NaN
    assert es.statistics(replicates=100, random_state=1)["x1"].aled_interval != alone.aled_interval


def test_many_rows_are_grouped_for_the_intervals_only() -> None:
    X = data(20_000)
    e = sd.explain(BENT, X, 0, method=sd.DALE(bins=12))
    s = statistics(e, replicates=50)["x0"]
    assert (s.aled, *s.aler) == pytest.approx(by_hand(e(X[:, 0]), np.ones(20_000)), rel=1e-12)
    assert replicated_statistics(e, None).base == pytest.approx([s.aled, *s.aler], rel=2e-3)
    width = s.aled_interval[1] - s.aled_interval[0]
    assert 0 < width < 0.1 * s.aled


@pytest.mark.parametrize("method", [sd.DALE(bins=EDGES), sd.RHALE(), sd.ALE(bins=20)])
def test_without_rows_two_points_stand_for_each_cell(method: Any) -> None:
    X = data(1000)
    kept, gone = (
        statistics(sd.explain(BENT, X, 0, method=method, keep_rows=k), bent(X), replicates=400)[0]
        for k in ("1GB", 0)
    )
    assert not gone.exact
    assert "two points" in repr(sd.Statistics((gone,)))
    assert gone.n == kept.n
    assert gone.aled == pytest.approx(kept.aled, rel=0.03)
    assert gone.aler == pytest.approx(kept.aler, rel=0.03)
    assert gone.naled == pytest.approx(kept.naled, rel=0.05)
    widths = [s.aled_interval[1] - s.aled_interval[0] for s in (gone, kept)]
    assert widths[0] == pytest.approx(widths[1], rel=0.25)


def test_constant_and_missing_features() -> None:
    X = np.c_[np.ones(50), np.arange(50.0)]
    X[:10, 1] = np.nan
    st = sd.explain(lambda X: np.nan_to_num(X[:, 1]), X, method=sd.ALE(bins=4)).statistics(
        np.arange(50.0)
    )
    assert (st["x0"].aled, st["x0"].naled, st["x0"].n) == (0, 0, 50)
    assert st["x1"].n == 40
    assert st["x1"].aled == pytest.approx(10)


# ---------------------------------------------------------------------------------- text and files


def test_statistics_are_tables_and_files(tmp_path: Any) -> None:
    X = data()
    st = sd.explain(BENT, X, method=sd.ALE(bins=5)).statistics(bent(X), null=["x1"], replicates=50)
    assert [s.feature for s in st] == ["x0", "x1"]
    assert len(st) == 2
    assert st[1].feature == "x1"
    st.save(tmp_path / "st.npz")
    again = sd.load(tmp_path / "st.npz")
    assert repr(again) == repr(st)
    assert again["x0"] == st["x0"]
    assert again.confidence_level == 0.95
    table = st.to_frame("pandas")
    assert table["aled"].tolist() == [s.aled for s in st]
    assert table["aler_low_upper"].tolist() == [s.aler_interval[0][1] for s in st]
    assert "NALER" in repr(st)
    assert "ALED" in repr(st["x0"])
    with refused(sd.DataError, "feature", "x7", "x0"):
        _ = st["x7"]


# --------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("method", [sd.PDP(), sd.ICE(), sd.MPlot()], ids=lambda m: m.name)
def test_only_accumulated_effects_have_statistics(method: Any) -> None:
    es = sd.explain(bent, data(), method=method)
    with refused(sd.UnsupportedError, "statistics of ", "ALE"):
        es.statistics()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"y": np.ones(3)}, ["statistics(y)", "length 3", "length 60"]),
        ({"y": ["a"] * 60}, ["statistics(y)", "0 or 1"]),
        ({"y": np.full(60, np.nan)}, ["statistics(y)", "60 values"]),
        (
            {"y": np.ones(60), "sample_weight": np.ones(59)},
            ["statistics(y, sample_weight)", "(59,)"],
        ),
        (
            {"y": np.ones(60), "sample_weight": -np.ones(60)},
            ["statistics(sample_weight)", "negative"],
        ),
        ({"confidence_level": 1.0}, ["level", "1.0"]),
        ({"replicates": 1}, ["replicates", "1"]),
        ({"null": ["x0", "nobody"]}, ["statistics(null)", "nobody", "x1"]),
        ({"null": [1]}, ["statistics(null)", "[1]"]),
        ({"null": sd.NullDistribution({}, {})}, ["statistics(null)", "an empty null distribution"]),
    ],
    ids=lambda v: "-".join(v) if isinstance(v, dict) else "",
)
def test_what_cannot_be_used_is_refused(given: dict[str, Any], words: list[str]) -> None:
    es = sd.explain(bent, data(60), method=sd.ALE(bins=4))
    with refused(sd.DataError, *words):
        es.statistics(**given)


def test_weighted_effects_want_the_weights_of_the_outcomes() -> None:
    X = data(60)
    es = sd.explain(bent, X, method=sd.ALE(bins=4), sample_weight=np.arange(60.0))
    with refused(sd.DataError, "statistics(sample_weight)", "one weight per row"):
        es.statistics(bent(X))
    assert es.statistics(bent(X), sample_weight=np.arange(60.0), replicates=2)["x0"].naled > 0
