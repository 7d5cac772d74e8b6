"""The difference of the effects of two tables: values, errors, centre, test, words, tables, files, and refusals."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import skedasis as sd
from tests.helpers import refused

RNG = np.random.default_rng(0)
EDGES = sd.Edges(np.linspace(-1.0, 1.0, 5))


def table(n: int, seed: int, shift: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    start = pd.Timestamp("2024-01-01") + pd.Timedelta(days=seed)
    return pd.DataFrame(
        {
            "x": rng.uniform(-1, 1, n),
            "z": rng.normal(shift, 1, n),
            "level": rng.choice(["u", "v", "w"], n),
            "whole": rng.integers(0, 6, n),
            "day": start + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
        }
    )


def model(X: pd.DataFrame) -> Any:
    day = (X["day"] - pd.Timestamp("2024-01-01")).dt.days
    of_level = X["level"].map({"u": 0.0, "v": 1.0, "w": 3.0}).fillna(0.0)
    return (X["z"] + 2) * (X["x"] + of_level + X["whole"] + day / 100)


OLD, NEW = table(300, 1), table(200, 2, 0.5)
Q = sd.prediction(model, name="rent", unit="EUR")


def effects(feature: str, method: Any = "ale", **options: Any) -> tuple[sd.Effect, sd.Effect]:
    return tuple(sd.explain(Q, X, feature, method=method, **options) for X in (NEW, OLD))  # type: ignore[return-value]


def minus(feature: str, method: Any) -> sd.EffectDifference:
    new, old = effects(feature, method)
    return new - old


# ----------------------------------------------------------------------------------------- numbers
def test_curves_on_the_same_edges_are_subtracted_and_centred():
    new, old = effects("x", sd.ALE(bins=EDGES))
    d = new - old
    np.testing.assert_array_equal(d.x, EDGES.edges)
    assert d.centered
    difference = new.value - old.value
    # Half of each distribution, each row shared by the two edges next to it.
    weight = np.mean(
        [[np.interp(X["x"], d.x, one).mean() for one in np.eye(len(d.x))] for X in (NEW, OLD)],
        axis=0,
    )
    np.testing.assert_allclose(d.weight, weight, atol=1e-12)
    np.testing.assert_allclose(d.value, difference - d.weight @ difference, atol=1e-12)
    np.testing.assert_allclose(d.value, d.first - d.second, atol=1e-12)
    np.testing.assert_array_equal(d.detail, 0.0)
    # Uncentred curves from the left end: the shape is the same, and so are its errors.
    start = [sd.explain(Q, X, "x", method=sd.ALE(bins=EDGES, center="start")) for X in (NEW, OLD)]
    moved = start[0] - start[1]
    np.testing.assert_allclose(moved.value, d.value, atol=1e-12)
    # The error of the mean over each own table is not that of the common weights.
    np.testing.assert_allclose(moved.std_error, d.std_error, rtol=1e-9)


def test_errors_are_those_of_contrasts_of_two_tables():
    """Between two points the errors of both tables add up in squares: those of the contrasts of each."""
    new, old = effects("x", sd.ALE(bins=EDGES))
    d = new - old
    a, b = 1, 3
    change = d.errors.factor[b] - d.errors.factor[a]
    want = [e.contrast(d.x[a], d.x[b]).std_error ** 2 for e in (new, old)]
    np.testing.assert_allclose((change**2).sum(), sum(want), rtol=1e-9)


def test_heights_are_subtracted_where_curves_have_them():
    grid = sd.PDP(grid=[-0.9, 0.0, 0.9])
    new, old = effects("x", grid)
    d = new - old
    assert not d.centered
    np.testing.assert_allclose(d.value, new.value - old.value, rtol=1e-12)
    np.testing.assert_allclose(d.std_error**2, new.std_error**2 + old.std_error**2, rtol=1e-9)
    lower, upper = d.interval(0.9)
    assert (lower < d.value).all()
    assert (d.value < upper).all()
    wide = d.interval(0.9, simultaneous=True)
    assert (wide[0] < lower).all()
    assert (wide[1] > upper).all()
    # A centred and an uncentred curve are compared in shape.
    shape = new - sd.explain(Q, OLD, "x", method=sd.PDP(grid=[-0.9, 0.0, 0.9], center="mean"))
    assert shape.centered


def test_the_sign_follows_the_order():
    new, old = effects("x", sd.ALE(bins=EDGES))
    one, two = new - old, old - new
    np.testing.assert_allclose(one.value, -two.value, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(one.std_error, two.std_error, rtol=1e-12)
    assert one.rows == two.rows[::-1] == (200, 300)
    assert "higher" in str(one)
    assert "lower" in str(two)


def test_an_effect_without_error_differs_or_does_not():
    old = sd.explain(lambda X: 2 * X[:, 0], np.c_[OLD["x"], OLD["z"]], 0, method=sd.ALE(bins=EDGES))
    for slope, p in ((2.0, 1.0), (3.0, 0.0)):
        new = sd.explain(
            lambda X, slope=slope: slope * X[:, 0],
            np.c_[NEW["x"], NEW["z"]],
            0,
            method=sd.ALE(bins=EDGES),
        )
        d = new - old
        assert d.p_value == p
        assert len(d.ranges) == (0 if p else 2)
        np.testing.assert_array_equal(d.std_error, 0.0)


# ---------------------------------------------------------------------------------- common points
def test_levels_are_matched_by_value():
    NEW.loc[0, "level"] = "x"
    try:
        new, old = effects("level")
    finally:
        NEW.loc[0, "level"] = "u"
    d = new - old
    assert sorted(d.x.tolist()) == ["u", "v", "w"]
    order = [old.x.tolist().index(v) for v in d.x.tolist()]
    mine = [new.x.tolist().index(v) for v in d.x.tolist()]
    difference = new.value[mine] - old.value[order]
    np.testing.assert_allclose(d.value, difference - d.weight @ difference, atol=1e-12)
    assert "Left out, because only one of the tables has rows of them: x." in str(d)
    assert "level" in d.to_frame()


def test_times_are_compared_on_one_axis():
    new, old = effects("day", sd.ALE(bins=sd.Edges(pd.date_range("2024-01-05", "2024-10-01", 7))))
    d = new - old
    assert d.x.dtype.kind == "M"
    assert str(d.x[0])[:10] == "2024-01-05"
    assert "2024-" in str(d)


def test_few_values_and_the_common_range():
    new, old = effects("whole")
    d = new - old
    np.testing.assert_array_equal(d.x, np.arange(6.0))
    shorter = sd.explain(Q, OLD[OLD["whole"] > 1], "whole", method="ale")
    part = new - shorter
    np.testing.assert_array_equal(part.x, np.arange(2.0, 6.0))
    assert "Compared from 2 to 5, where both tables have rows." in str(part)


def test_a_short_common_range_has_a_centre():
    left, right = OLD.assign(x=OLD["x"] + 1), NEW.assign(x=NEW["x"] + 2.95)
    one, two = (sd.explain(Q, X, "x", method=sd.ALE(bins=2)) for X in (left, right))
    d = one - two
    assert 0 < d.x[-1] - d.x[0] < 0.2
    assert np.isfinite(d.value).all()
    assert np.isfinite(d.std_error).all()
    np.testing.assert_allclose(d.weight @ d.value, 0.0, atol=1e-12)


def test_what_may_be_due_to_different_grids_is_allowed_for():
    curved = sd.prediction(lambda X: np.sin(3 * X["x"]))
    new, old = (
        sd.explain(curved, X, "x", method=sd.PDP(grid=np.linspace(-0.9, 0.9, k).tolist()))
        for X, k in ((NEW, 13), (OLD, 10))
    )
    d = new - old
    common = np.isin(d.x, new.x) & np.isin(d.x, old.x)
    np.testing.assert_array_equal(d.detail[common], 0.0)
    # Without any difference of the models, all differences are those of straight lines.
    assert (np.abs(d.value) <= d.detail + 1e-12).all()
    assert np.abs(d.value).max() > 0.01
    assert d.p_value == 1.0
    assert "different points" in str(d)
    # The centre may be off, too, which shows at points that both have.
    shape = new - sd.explain(curved, OLD, "x", method=sd.PDP(grid=old.x.tolist(), center="mean"))
    assert np.abs(shape.value[common]).max() > 1e-6
    assert (np.abs(shape.value) <= shape.detail).all()
    # The half-width is Student's, plus what the grids may change; the band's is that plus the same.
    for simultaneous in (False, True):
        lower, upper = d.interval(0.9, simultaneous=simultaneous)
        without = replace(d, detail=np.zeros(len(d.x))).interval(0.9, simultaneous=simultaneous)
        np.testing.assert_allclose(lower, without[0] - d.detail, rtol=1e-12)
        np.testing.assert_allclose(upper, without[1] + d.detail, rtol=1e-12)
    lower, upper = d.interval(0.9)
    half = scipy.stats.t(d.df).ppf(0.95) * d.std_error
    np.testing.assert_allclose(upper - lower, 2 * (half + d.detail), rtol=1e-9)


def test_means_of_m_plots_are_compared_bin_by_bin():
    """By Welch's test of the rows in each bin."""
    edges = np.linspace(-1.0, 1.0, 5)
    d = minus("x", sd.MPlot(bins=EDGES))
    assert not d.centered
    assert not d.detail.any()
    assert "different points" not in str(d)
    parts = [
        [X[(X["x"] > a) & (X["x"] <= b)] for X in (NEW, OLD)] for a, b in pairwise(edges.tolist())
    ]
    np.testing.assert_allclose(d.x, [(a["x"].mean() + b["x"].mean()) / 2 for a, b in parts])
    for k, rows in enumerate(parts):
        welch = scipy.stats.ttest_ind(*map(model, rows), equal_var=False)
        low, high = welch.confidence_interval(0.95)
        assert d.lines[k].lower == pytest.approx(low, rel=1e-9)
        assert d.lines[k].upper == pytest.approx(high, rel=1e-9)
    # Bins of their own: those of both, averaged anew, with at least 10 rows of each.
    own = minus("x", sd.MPlot(bins=9))
    assert not own.detail.any()
    assert len(own.x) > 5
    assert "different points" not in str(own)
    # Few values, of which one table lacks some.
    few = effects("whole", "mplot")[0] - sd.explain(
        Q, OLD[OLD["whole"] > 1], "whole", method="mplot"
    )
    np.testing.assert_array_equal(few.x, np.arange(2.0, 6.0))
    want = [
        model(NEW[NEW["whole"] == v]).mean() - model(OLD[OLD["whole"] == v]).mean() for v in few.x
    ]
    np.testing.assert_allclose(few.value, want, rtol=1e-9)
    # Of times, too; a curve that is centred is compared in shape.
    times = minus("day", sd.MPlot(bins=6))
    assert times.x.dtype.kind == "M"
    shape = minus("x", sd.MPlot(bins=EDGES, center="mean"))
    np.testing.assert_allclose(shape.value, d.value - shape.weight @ d.value, rtol=1e-9)
    some = [sd.explain(Q, X, "x", method=sd.MPlot(bins=4), keep_rows=50) for X in (NEW, OLD)]
    with refused(sd.UnsupportedError, "different bins, and not all rows are kept", "sd.Edges"):
        some[0] - some[1]


def test_centred_means_of_bins_count_by_weight_and_empty_bins_not_at_all():
    edges, means, shares = [-1.0, 0.0, 2.0, 3.0], [], []
    plot, rng, effects = sd.MPlot(bins=sd.Edges(edges), center="mean"), np.random.default_rng(0), []
    for n in (90, 60):
        x = np.where(rng.uniform(size=n) < 0.4, rng.uniform(-1, 0, n), rng.uniform(2, 3, n))
        X, w = np.column_stack([x, rng.normal(size=n)]), rng.integers(1, 5, n) + 3.0 * (x > 0)
        effects.append(sd.explain(lambda X: X[:, 1], X, 0, method=plot, sample_weight=w))
        means.append([np.average(X[side, 1], weights=w[side]) for side in (x < 0, x > 0)])
        shares.append([w[side].sum() / w.sum() for side in (x < 0, x > 0)])
    d = effects[0] - effects[1]
    change = np.subtract(*means)
    np.testing.assert_allclose(d.value, change - np.mean(shares, axis=0) @ change, rtol=1e-9)


def test_slopes_are_averaged_in_the_same_bins():
    sloped = sd.prediction(
        lambda X: X[:, 0] ** 2 * X[:, 1],
        slope=lambda X: np.c_[2 * X[:, 0] * X[:, 1], X[:, 0] ** 2],
    )
    few = NEW[:60]
    new, old = (
        sd.explain(sloped, X[["x", "z"]].to_numpy(), 0, method=sd.RHALE()) for X in (few, OLD)
    )
    d = new - old
    assert not d.detail.any()
    for X in (few, OLD):
        inside = np.histogram(X["x"], d.x)[0]
        assert (inside >= 10).all()


def test_effects_of_the_same_rows_are_noticed():
    new, old = (
        sd.explain(sd.prediction(f, name="rent"), OLD, "x", method=sd.ALE(bins=EDGES))
        for f in (model, lambda X: 2 * model(X))
    )
    assert "explain the difference of the quantities" in str(new - old)
    assert "explain the difference of the quantities" not in str(effects("x")[0] - effects("x")[1])


def test_times_of_two_periods_are_not_the_same_values():
    days = (pd.date_range(start, periods=90) for start in ("2024-01-01", "2024-02-01"))
    old, new = (
        sd.explain(lambda X: X["z"], OLD[:90].assign(day=each), "day", method="ale")
        for each in days
    )
    assert "the same values" in str(old - old)
    assert "the same values" not in str(new - old)


# --------------------------------------------------------------------------- words, tables, files
def test_texts_name_where_the_curves_differ_most():
    steps = [
        sd.prediction(lambda X, k=k: k * (X["x"] > 0.5), name="rent", unit="EUR") for k in (3, 1)
    ]
    edges = sd.ALE(bins=sd.Edges([-1, -0.5, 0, 0.4, 0.6, 1]))
    new, old = (sd.explain(q, X, "x", method=edges) for q, X in zip(steps, (NEW, OLD), strict=True))
    d = new - old
    text = str(d)
    assert text.startswith("difference of the effects of x on rent (ALE): 200 rows minus 300 rows")
    assert "The two curves differ (p < 0.001, test over all points)." in text
    assert "EUR higher" in text
    assert "EUR lower" in text
    first = d.ranges[0]
    assert abs(first.most) == pytest.approx(np.abs(d.value).max())
    assert d.lines[0].text == "−1"


def test_tables_files_and_documents(tmp_path: Any):
    new, old = effects("x", sd.ALE(bins=EDGES))
    d = new - old
    frame = d.to_frame("pandas")
    assert list(frame.columns) == [
        *("feature", "value", "difference", "std_error", "df", "lower", "upper"),
        *("first", "second", "band_lower", "band_upper"),
    ]
    np.testing.assert_allclose(frame["difference"], d.value)
    d.save(tmp_path / "d.npz")
    again = sd.load(tmp_path / "d.npz")
    assert str(again) == str(d)
    assert again.p_value == d.p_value
    document = d.to_dict()
    assert document["points"][0]["difference"] == pytest.approx(d.value[0])
    assert document["p_value"] == d.p_value


# ---------------------------------------------------------------------------------------- refusals
def test_effects_that_cannot_be_compared_are_refused():
    new, old = effects("x", sd.ALE(bins=EDGES))
    with refused(sd.DataError, "the features 'x' and 'z'"):
        new - sd.explain(Q, OLD, "z", method="ale")
    with refused(sd.DataError, "the methods 'ALE' and 'PDP'"):
        new - sd.explain(Q, OLD, "x", method="pdp")
    dollars = sd.explain(sd.prediction(model, name="rent", unit="USD"), OLD, "x", method="ale")
    with refused(sd.DataError, "the units of the quantities 'EUR' and 'USD'"):
        new - dollars
    logs = sd.explain(sd.prediction(model, link="log"), OLD, "x", method="ale")
    with refused(sd.DataError, "the scales of the quantities 'identity' and 'log'"):
        new - logs
    nominal = sd.explain(Q, OLD, "whole", method="ale", schema={"whole": "nominal"})
    with refused(sd.DataError, "a numeric feature and a categorical feature", "schema"):
        effects("whole")[0] - nominal
    far = OLD.assign(x=OLD["x"] + 5)
    with refused(sd.DataError, "ranges that overlap"):
        new - sd.explain(Q, far, "x", method="ale")
    other = OLD.assign(level="y")
    with refused(sd.DataError, "no level of 'level' that both have"):
        effects("level")[0] - sd.explain(
            Q, pd.concat([other, other.assign(level="q")]), "level", method="ale"
        )
    mean = sd.explain(Q, OLD, "x", method=sd.PDP(heterogeneity=False))
    with refused(sd.UnsupportedError, "heterogeneity=False"):
        effects("x", "pdp")[0] - mean
    few = [sd.explain(Q, X[:20], "x", method=sd.PDP(grid=5)) for X in (NEW, OLD)]
    with refused(sd.UnsupportedError, "fewer than 30 kept curves"):
        few[0] - few[1]
    alone = [sd.explain(Q, X.drop_duplicates("level"), "level", method="mplot") for X in (NEW, OLD)]
    with refused(sd.UnsupportedError, "one row in each bin"):
        alone[0] - alone[1]
    with pytest.raises(TypeError, match="unsupported operand"):
        old - 3  # type: ignore[operator]
    every = sd.explain(Q, OLD, ["x", "z"], method="ale")
    with refused(sd.UnsupportedError, "Effects - Effects", "new['x'] - old['x']", "sd.prediction"):
        every - every


def test_a_band_is_nowhere_narrower_than_the_intervals():
    rng = np.random.default_rng(0)
    tables = [rng.uniform(size=(n, 2)) ** 3 for n in (60, 400)]
    one, two = (sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.PDP()) for X in tables)
    found = one - two
    (low, high), (lowest, highest) = found.interval(), found.interval(simultaneous=True)
    assert (lowest <= low).all()
    assert (highest >= high).all()
