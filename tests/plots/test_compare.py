"""Several effects of one feature in one panel."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import skedasis as sd
from skedasis.plots.figures.compare import mean_over_data, overlay
from skedasis.plots.mpl.effect import compare
from skedasis.plots.theme import HUES, MARKS, STROKES
from tests.helpers import refused
from tests.plots.mpl_helpers import drawn, fits


def model(X):
    return 2 * X[:, 0] + X[:, 1]


@pytest.fixture(scope="module")
def X():
    X = np.random.default_rng(11).uniform(0, 1, size=(300, 2))
    X[:, 0] **= 2
    X[:, 1] += 4 * X[:, 0]
    return X


@pytest.fixture(scope="module")
def three(X):
    methods = [sd.PDP(ice="all"), sd.ALE(bins=6), sd.MPlot(bins=6)]
    return [sd.explain(model, X, 0, method=m) for m in methods]


class TestCentring:
    def test_pdp_and_ale_of_a_linear_model_coincide(self, X, three):
        pdp, ale, _ = overlay(three, None, "mean", 0.95).strands
        inside = (ale.x > pdp.x[0]) & (ale.x < pdp.x[-1])
        np.testing.assert_allclose(ale.y, 2 * (ale.x - X[:, 0].mean()), atol=1e-9)
        # Outside its grid a PDP is extrapolated as constant.
        level = np.clip(X[:, 0], pdp.x[0], pdp.x[-1]).mean()
        np.testing.assert_allclose(pdp.y, 2 * (pdp.x - level), atol=1e-9)
        assert inside.any()

    def test_each_mean_over_the_data_is_zero(self, X, three):
        for strand in overlay(three, None, "mean", 0.95).strands:
            at_rows = np.interp(X[:, 0], strand.x, strand.y)
            assert at_rows.mean() == pytest.approx(0, abs=1e-12)

    def test_from_the_moments_where_rows_were_not_kept(self, X):
        for method in (sd.PDP(ice=20), sd.PDP(ice=0), sd.ALE(bins=7)):
            e = sd.explain(model, X, 0, method=method)
            value = np.interp(X[:, 0], e.x, e.value).mean()
            assert mean_over_data(e) == pytest.approx(value, abs=1e-12)

    def test_weights_repeat_rows(self, X):
        w = np.random.default_rng(0).integers(0, 3, 300)
        a = sd.explain(model, X, 0, method=sd.PDP(), sample_weight=w)
        b = sd.explain(model, np.repeat(X, w, axis=0), 0, method=sd.PDP(grid=a.x))
        assert mean_over_data(a) == pytest.approx(mean_over_data(b))

    def test_as_they_are(self, three):
        shown = overlay(three, None, None, 0.9)
        for strand, e in zip(shown.strands, three, strict=True):
            np.testing.assert_array_equal(strand.y, e.value)
            np.testing.assert_allclose((strand.lower, strand.upper), e.interval(0.9))
        assert not shown.zero
        assert shown.y.label == "prediction"

    def test_a_centred_pdp_has_lost_the_error_of_its_level(self, X):
        """The model is additive: its curves are parallel, so their centered average has no error."""
        e = sd.explain(model, X, 0, method=sd.PDP())
        (strand,) = overlay([e], None, "mean", 0.95).strands
        np.testing.assert_allclose(strand.upper - strand.lower, 0, atol=1e-9)
        assert e.std_error.min() > 0.05

    def test_levels_by_their_shares(self):
        pd = pytest.importorskip("pandas")
        g = np.repeat(["a", "b", "c"], [60, 30, 10])
        worth = np.repeat([0.0, 1.0, 5.0], [60, 30, 10])
        F = pd.DataFrame({"g": g, "z": np.arange(100) % 7.0})
        q = lambda F: F["g"].map({"a": 0.0, "b": 1.0, "c": 5.0}).to_numpy(float)  # noqa: E731
        es = [sd.explain(q, F, "g", method=m) for m in (sd.PDP(), sd.MPlot(), sd.ALE())]
        for strand in overlay(es, None, "mean", 0.95).strands:
            at = np.round(strand.x).astype(int)
            np.testing.assert_allclose(strand.y, np.array([0.0, 1.0, 5.0])[at] - worth.mean())


class TestLooks:
    def test_no_two_lines_look_alike_without_colours(self, X):
        es = [sd.explain(model, X, 0, method=sd.ALE(bins=k)) for k in range(2, 10)]
        figure = compare(es)
        lines = figure.axes[0].get_lines()[1:]  # the first is zero
        assert len(lines) == 8
        assert len({repr(line._unscaled_dash_pattern) for line in lines}) == 8
        assert len({line.get_marker() for line in lines}) == 8
        assert len({line.get_color() for line in lines}) == 8
        assert len(set(map(str, STROKES))) == len(set(MARKS)) == len(set(HUES)) == 8

    def test_bands_of_up_to_three(self, three):
        assert overlay(three, None, "mean", 0.95).bands
        assert not overlay([*three, three[0]], None, "mean", 0.95).bands

    def test_labels(self, X, three):
        y = model(X)
        label = sd.explain(model, X, 0, y=y, method=sd.MPlot(bins=4, of="label"))
        names = [s.label for s in overlay([*three, label], None, "mean", 0.95).strands]
        assert names == ["PDP", "ALE", "MPlot", "MPlot of label"]
        again = [sd.explain(model, X, 0, method=sd.ALE(bins=k)) for k in (3, 5, 5)]
        names = [s.label for s in overlay(again, None, "mean", 0.95).strands]
        assert names[0] == "ALE, 3 bins"
        assert len(set(names)) == 3
        assert (
            overlay([three[0], label], None, "mean", 0.95).y.label == "effect on prediction, label"
        )

    def test_given_in_any_way(self, three):
        for figure in (
            compare(*three),
            compare(three),
            compare(dict(zip("abc", three, strict=True))),
        ):
            assert drawn(figure)
            assert fits(figure)
        texts = drawn(compare({"<script>": three[0], "$x_1$": three[1], "n" * 80: three[2]}))
        assert {"<script>", "$x_1$"} <= set(texts)
        assert "one" in drawn(compare(three[0], labels=["one"]))

    def test_into_a_users_axes(self, three):
        figure = Figure()
        ax = figure.subplots()
        assert compare(three, ax=ax, center=None) is figure
        assert ax.get_legend() is not None
        drawn(figure)

    def test_slopes(self, X):
        es = [sd.explain(model, X, 0, method=sd.PDP(derivative=True, grid=g)) for g in (4, 9)]
        shown = overlay(es, None, "mean", 0.95)
        np.testing.assert_allclose(shown.strands[0].y, 2)
        assert shown.y.label == "slope of prediction per x0"
        assert shown.zero

    def test_constant_feature(self, X):
        X = X.copy()
        X[:, 0] = 2.0
        es = [sd.explain(model, X, 0, method=m) for m in (sd.PDP(), sd.ALE(), sd.MPlot())]
        drawn(compare(es))

    def test_beyond_the_data(self, X):
        es = [sd.explain(model, X, 0, method=sd.ALE(bins=sd.Edges([-2, -1, 0, 0.5, 2])))] * 2
        assert np.isfinite(overlay(es, None, "mean", 0.95).strands[0].y).any()
        drawn(compare(es))


class TestLevels:
    def test_side_by_side_in_the_order_of_the_first(self):
        pd = pytest.importorskip("pandas")
        rng = np.random.default_rng(0)
        F = pd.DataFrame(
            {"g": np.array(list("abcd"))[np.arange(200) % 4], "z": rng.normal(size=200)}
        )
        q = lambda F: F["g"].map(ord).to_numpy(float)  # noqa: E731
        first = sd.explain(q, F, "g", method=sd.ALE(order=list("dbca")))
        second = sd.explain(q, F, "g", method=sd.PDP())
        shown = overlay([first, second], None, "mean", 0.95)
        assert shown.x.labels == ("d", "b", "c", "a")
        a, b = shown.strands
        np.testing.assert_array_equal(np.round(a.x), [0, 1, 2, 3])
        assert (a.x < b.x).all()
        np.testing.assert_allclose(a.y, b.y)
        assert a.joined is None
        drawn(compare(first, second))

    def test_many(self):
        pd = pytest.importorskip("pandas")
        F = pd.DataFrame({"g": [f"n{i}" for i in range(300)] * 2, "z": np.arange(600.0)})
        es = [
            sd.explain(lambda F: F["z"].to_numpy() + 0.0, F, "g", method=m)
            for m in (sd.PDP(), sd.MPlot())
        ]
        shown = overlay(es, None, "mean", 0.95)
        assert len(shown.strands[0].x) == 40
        assert any("260 are not" in n for n in shown.notes)
        assert fits(compare(es))


class TestRefused:
    def test_what_cannot_be_compared(self, X, three):
        other = sd.explain(model, X, 1, method=sd.ALE(bins=3))
        slope = sd.explain(model, X, 0, method=sd.PDP(derivative=True, grid=4))
        surface = sd.explain(model, X, (0, 1), method=sd.PDP(grid=3))
        with refused(sd.DataError, "compare", "no effect"):
            compare()
        with refused(sd.DataError, "9 effects", "1 to 8"):
            compare([three[0]] * 9)
        with refused(sd.DataError, "'x0'", "'x1'", "same feature"):
            compare(three[0], other)
        with refused(sd.DataError, "same feature"):
            compare(sd.explain(model, X, method=sd.ALE(bins=3)))
        with refused(sd.UnsupportedError, "derivatives and values"):
            compare(three[0], slope)
        with refused(sd.UnsupportedError, "Surface"):
            compare(surface)
        with refused(sd.UnsupportedError, "str"):
            compare("x0")
        with refused(sd.DataError, "compare(labels)", "2 labels", "3 labels"):
            compare(three, labels=["a", "b"])
        with refused(sd.DataError, "compare(center)", "'start'"):
            compare(three, center="start")
        with pytest.raises(sd.DataError, match="level"):
            compare(three, confidence_level=2)

    def test_units(self, X):
        es = [
            sd.explain(sd.prediction(model, unit=u), X, 0, method=sd.ALE(bins=3))
            for u in ("EUR", "USD", None)
        ]
        with refused(sd.UnsupportedError, "'EUR'", "'USD'"):
            compare(es[0], es[1])
        drawn(compare(es[0], es[2]))

    def test_levels_beside_numbers(self, X):
        pd = pytest.importorskip("pandas")
        F = pd.DataFrame({"g": np.arange(60) % 4, "z": np.arange(60.0)})
        q = lambda F: F["g"].to_numpy() * 1.0  # noqa: E731
        a = sd.explain(q, F, "g", method=sd.ALE(), schema={"g": "ordinal"})
        b = sd.explain(q, F, "g", method=sd.ALE())
        with refused(sd.UnsupportedError, "'g' as a categorical and as a numeric feature"):
            compare(a, b)
