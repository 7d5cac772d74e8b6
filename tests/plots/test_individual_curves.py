"""Figures of M-plots, missing values, slopes and centering, and of curves with a color encoding."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

import skedasis as sd
from skedasis.plots.figures.effect import effect_spec
from skedasis.plots.figures.ice import tint
from skedasis.plots.spec import EffectPlotOptions
from tests.helpers import refused
from tests.plots.mpl_helpers import drawn, fits


def model(X):
    return np.nan_to_num(X[:, 0], nan=5.0) * (1 + X[:, 1])


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(5).uniform(-1, 1, size=(300, 2))


class TestMarginal:
    def test_points_are_the_bins_own_means(self, X):
        e = sd.explain(model, X, 0, method=sd.MPlot(bins=5))
        shown = effect_spec(e)
        order = np.argsort(X[:, 0])
        for k, rows in enumerate(np.split(order, 5)):
            assert shown.main.lines[0].x[k] == pytest.approx(X[rows, 0].mean())
            assert shown.main.lines[0].y[k] == pytest.approx(model(X)[rows].mean())
            spread = shown.main.bands[0]
            assert spread.upper[k] - spread.lower[k] == pytest.approx(
                2 * model(X)[rows].std(ddof=1)
            )
            violin = shown.slopes.violins[k]
            assert (violin.y[0], violin.y[-1]) == pytest.approx(
                (model(X)[rows].min(), model(X)[rows].max())
            )
        assert shown.main.x.limits == shown.slopes.x.limits
        assert shown.main.x.least == X[:, 0].min()

    def test_says_what_is_averaged(self, X):
        y = model(X) + 1
        for of, name in (
            ("quantity", "prediction"),
            ("label", "label"),
            ("residual", "label - prediction"),
        ):
            e = sd.explain(model, X, 0, y=y, method=sd.MPlot(bins=4, of=of))
            shown = effect_spec(e)
            assert shown.main.y.label == shown.slopes.y.label == name
            assert name in shown.main.lines[0].label
            assert not shown.main.zero
        centred = sd.explain(model, X, 0, method=sd.MPlot(bins=4, center="mean"))
        assert effect_spec(centred).main.zero
        assert effect_spec(centred).main.y.label == "prediction minus its mean"

    def test_constant_feature(self, X):
        e = sd.explain(model, np.column_stack([np.full(300, 2.0), X[:, 1]]), 0, method=sd.MPlot())
        assert effect_spec(e).slopes is None
        assert "the feature is constant" in effect_spec(e).main.notes
        drawn(e.plot())

    def test_on_shared_scales_the_rows_keep_their_unit(self, X):
        es = sd.explain(model, X, method=sd.MPlot(bins=4))
        drawn(es.plot())


class TestMissing:
    @pytest.fixture
    def holes(self, X):
        X = X.copy()
        X[:12, 0] = np.nan
        return X

    @pytest.mark.parametrize("method", [sd.ALE(), sd.PDP(), sd.MPlot()], ids=lambda m: m.name)
    def test_a_point_beside_the_axis(self, holes, method):
        e = sd.explain(model, holes, 0, method=method)
        main = effect_spec(e, EffectPlotOptions(ice=None)).main
        point, at = main.missing_marker, e.missing_point
        assert point.y == at.value
        assert point.label == "missing values (n=12)"
        # Student's t with 11 degrees of freedom.
        assert (point.upper - point.lower) / at.std_error == pytest.approx(2 * 2.200985, rel=1e-6)
        assert main.x.missing_label == "missing"
        assert main.x.range[1] < main.x.gap[0] < main.x.beside < main.x.limits[1]
        assert main.y.limits[0] < point.y < main.y.limits[1]
        figure = e.plot()
        assert "missing" in drawn(figure)
        assert "missing values (n=12)" in drawn(figure)
        assert fits(figure)

    def test_moves_with_the_centre(self, holes):
        e = sd.explain(model, holes, 0, method=sd.PDP())
        raw, centred = effect_spec(e, EffectPlotOptions("raw")).main, effect_spec(e).main
        gap = raw.missing_marker.y - raw.lines[0].y
        np.testing.assert_allclose(centred.missing_marker.y - centred.lines[0].y, gap)

    def test_one_row_has_no_interval(self, X):
        X = X.copy()
        X[3, 0] = np.nan
        e = sd.explain(model, X, 0, method=sd.ALE())
        point = effect_spec(e).main.missing_marker
        assert np.isnan([point.lower, point.upper]).all()
        assert np.isfinite(effect_spec(e).main.y.limits).all()
        drawn(e.plot())

    def test_no_point_no_place(self, X):
        main = effect_spec(sd.explain(model, X, 0, method=sd.ALE())).main
        assert main.missing_marker is None
        assert main.x.limits == main.x.range

    def test_the_word_touches_no_number(self, holes):
        for size in ((3.2, 3.0), (6.8, 5.0)):
            figure = sd.explain(model, holes, 0, method=sd.PDP()).plot(size=size)
            drawn(figure)
            texts = [t for t in figure.axes[0].get_xticklabels() if t.get_text()]
            boxes = sorted((t.get_window_extent() for t in texts), key=lambda b: b.x0)
            assert texts[-1].get_text() == "missing"
            assert boxes[-2].x1 < boxes[-1].x0


class TestSlopes:
    def test_label_and_unit(self, X):
        q = sd.prediction(model, name="price", unit="EUR")
        schema = {"x0": sd.Feature("size", unit="m²")}
        e = sd.explain(q, X, 0, method=sd.ICE(derivative=True, grid=5), schema=schema)
        main = effect_spec(e).main
        assert main.y.label == "slope of price per size [EUR per m²]"
        assert main.zero
        np.testing.assert_allclose(main.lines[0].y, (1 + X[:, 1]).mean())

    def test_without_units(self, X):
        e = sd.explain(model, X, 0, method=sd.PDP(derivative=True))
        assert effect_spec(e).main.y.label == "slope of prediction per x0"

    def test_slopes_are_never_centred(self, X):
        e = sd.explain(model, X, 0, method=sd.ICE(derivative=True, grid=5))
        bundle = effect_spec(e, EffectPlotOptions(curves=300)).main.bundle
        np.testing.assert_allclose(bundle.y[:, 2], 1 + X[:, 1])


class TestAnchors:
    def test_the_anchor_is_told(self, X):
        e = sd.explain(model, X, 0, method=sd.PDP(anchor=0.25, grid=[0.0, 0.25, 0.5]))
        main = effect_spec(e).main
        assert main.lines[0].y[1] == 0
        assert "0 at x0 = 0.25" in main.notes
        assert main.y.label == "effect on prediction"
        named = sd.explain(model, X, 0, method=sd.PDP(anchor={"x0": -0.25}))
        assert "0 at x0 = \N{MINUS SIGN}0.25" in effect_spec(named).main.notes


class TestTint:
    ROWS = np.array([3, 0, 1])

    def test_numbers_are_a_scale(self):
        t = tint([0.5, 1.5, np.nan, 2.5], "bmi", self.ROWS, 4)
        assert t.groups == ()
        np.testing.assert_array_equal(t.value, [2.5, 0.5, 1.5])

    @pytest.mark.parametrize(
        ("values", "groups", "places"),
        [
            (["b", "a", "b", None], ("a", "b"), [np.nan, 1, 0]),
            ([True, False, True, True], ("False", "True"), [1, 1, 0]),
            ([10, 20, 10, 30], ("10", "20", "30"), [2, 0, 1]),
            ([2.0, 1.0, 2.0, np.nan], ("1", "2"), [np.nan, 1, 0]),
        ],
        ids=["text", "bool", "whole", "whole with a gap"],
    )
    def test_few_values_are_groups(self, values, groups, places):
        t = tint(values, "k", self.ROWS, 4)
        assert t.groups == groups
        np.testing.assert_array_equal(t.value, places)

    def test_many_whole_numbers_are_a_scale(self):
        assert tint(np.arange(9), None, self.ROWS, 9).groups == ()
        assert len(tint(np.arange(8), None, self.ROWS, 8).groups) == 8

    def test_of_many_texts_the_most_frequent(self):
        texts = [f"t{i}" for i in range(12)] + ["t11", "t10"]
        t = tint(texts, None, np.arange(14), 14)
        assert len(t.groups) == 8
        assert {"t10", "t11", "5 others"} <= set(t.groups)
        assert int(np.sum(t.value == 7)) == 5

    def test_names(self):
        pd = pytest.importorskip("pandas")
        pl = pytest.importorskip("polars")
        for series in (pd.Series([1.5, 2.5], name="bmi"), pl.Series("bmi", [1.5, 2.5])):
            assert tint(series, None, np.array([0]), 2).name == "bmi"
            assert tint(series, "other", np.array([0]), 2).name == "other"
        assert tint([1.5, 2.5], None, np.array([0]), 2).name == "color"

    @pytest.mark.parametrize("kind", ["Int64", "boolean", "string", "category", "Float64"])
    def test_frames_own_types(self, kind):
        pd = pytest.importorskip("pandas")
        raw = {"boolean": [True, False, None], "string": ["u", "v", None]}.get(kind, [1, 2, None])
        t = tint(pd.Series(raw, dtype=kind), None, np.arange(3), 3)
        np.testing.assert_array_equal(np.isnan(t.value), [False, False, True])
        assert len(t.groups) == 2

    def test_refused(self):
        with refused(sd.DataError, "plot(color)", "3 values", "each of the 5 rows"):
            tint([1, 2, 3], None, np.arange(2), 5)
        with refused(sd.DataError, "shape (5, 1)"):
            tint(np.zeros((5, 1)), None, np.arange(2), 5)
        with refused(sd.DataError, "plot(color)", "times"):
            tint(np.array(["2020-01-01"] * 5, dtype="datetime64[D]"), None, np.arange(2), 5)
        with refused(sd.DataError, "plot(color)", "tuple"):
            values = np.empty(5, dtype=object)
            values[:] = [(1, 2)] * 5
            tint(values, None, np.arange(2), 5)


class TestColoured:
    def test_by_the_rows_of_X(self, X):
        e = sd.explain(model, X, 0, method=sd.ICE(grid=4))
        bundle = effect_spec(
            e, EffectPlotOptions("raw", curves=20, color=X[:, 1], color_name="x1")
        ).main.bundle
        # At the end of the grid a curve is x (1 + x1): its value determines its color.
        np.testing.assert_allclose(bundle.y[:, -1], e.x[-1] * (1 + bundle.tint.value))

    def test_a_scale_with_a_name(self, X):
        e = sd.explain(model, X, 0, method=sd.ICE(grid=4))
        figure = e.plot(color=X[:, 1], color_name="$x_1$", own=True)
        assert "$x_1$" in drawn(figure)
        assert len(figure.axes) == 2
        assert fits(figure)

    def test_groups_differ_without_colours(self, X):
        groups = np.array(["one", "two", "<three>"])[np.arange(300) % 3]
        e = sd.explain(model, X, 0, method=sd.ICE(grid=4))
        figure = e.plot(color=groups, color_name="arm")
        assert {"arm = one", "arm = two", "arm = <three>"} <= set(drawn(figure))
        drawn_ = [c for c in figure.axes[0].collections if isinstance(c, LineCollection)]
        strands = [c for c in drawn_ if len(c.get_segments()[0]) == 4]  # the rug's have 2 points
        assert len({str(c.get_linestyle()) for c in strands}) == 3
        assert len({to_hex(c.get_color()[0]) for c in strands}) == 3

    def test_levels(self, X):
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame({"g": np.array(list("abc"))[np.arange(300) % 3], "z": X[:, 1]})
        e = sd.explain(lambda F: F["z"].to_numpy() * (F["g"] == "b"), frame, "g", method=sd.ICE())
        figure = e.plot(color=frame["z"], own=True)
        assert "z" in drawn(figure)

    def test_refused(self, X):
        with refused(sd.UnsupportedError, "plot(color)", "ALE"):
            sd.explain(model, X, 0, method=sd.ALE()).plot(color=X[:, 1])
        with refused(sd.DataError, "299 values", "300 rows"):
            sd.explain(model, X, 0, method=sd.ICE(grid=3)).plot(color=X[:299, 1])


def test_a_band_may_hold_the_whole_curve_at_once():
    X = np.random.default_rng(3).normal(size=(300, 2))
    e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ALE(bins=8), progress=False)
    each, whole = (
        effect_spec(e, EffectPlotOptions(simultaneous=both)).main.bands[1] for both in (False, True)
    )
    np.testing.assert_array_equal(whole.upper, e.interval(simultaneous=True)[1])
    assert (whole.upper > each.upper).all()
    assert "simultaneous band" in whole.label
    assert "simultaneous band" not in each.label
    assert e.plot(simultaneous=True).axes
