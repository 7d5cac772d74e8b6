"""Panels as values: what a figure shows, tested without drawing."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import skedasis as sd
from skedasis.plots.figures import effect_parts
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.multiples import on_shared_scales
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.layout import arrange
from skedasis.plots.marks import (
    Area,
    CurveSet,
    Line,
    Points,
    Polygons,
    Rectangles,
    Rug,
    Segments,
    marks_of,
)
from skedasis.plots.scales import Scale, shorten
from tests.plots.spec_helpers import legend, only, panel_of, styles, texts


def model(X):
    return np.where(X[:, 1] > 0, 1.0, -1.0) * X[:, 0] ** 2 + X[:, 0]


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).uniform(-1, 1, size=(500, 2))


@pytest.fixture(scope="module")
def rhale(X):
    slope = lambda X: np.column_stack(  # noqa: E731
        [np.where(X[:, 1] > 0, 2.0, -2.0) * X[:, 0] + 1, np.zeros(len(X))]
    )
    quantity = sd.prediction(model, slope=slope, name="price", unit="EUR")
    schema = {"x0": sd.Feature("size", unit="m²")}
    return sd.explain(quantity, X, 0, method=sd.RHALE(bins=sd.Uniform(6)), schema=schema)


@pytest.fixture(scope="module")
def pdp(X):
    return sd.explain(model, X, 0, method=sd.PDP(grid=9, spacing="uniform"))


def heterogeneity_and_interval(panel):
    return only(panel, Area, "heterogeneity"), only(panel, Area, "interval")


def violins(panel):
    """Return the outlines of the violins as height and half width, from the lower to the upper end."""
    found = []
    for outline in next(marks_of(panel, Polygons)).outlines:
        right, left = outline[: len(outline) // 2], outline[len(outline) // 2 :][::-1]
        np.testing.assert_array_equal(right[:, 1], left[:, 1])
        found.append((right[:, 1], (right[:, 0] - left[:, 0]) / 2, (right + left)[:, 0] / 2))
    return found


class TestAccumulated:
    def test_the_line_is_the_effect_with_vertices_at_the_edges(self, rhale):
        main = effect_figure(rhale).main
        line, vertices = only(main, Line, "average"), only(main, Points, "vertex")
        assert line.label == vertices.label == "average effect"
        for mark in (line, vertices):
            np.testing.assert_array_equal(mark.x, rhale.x)
            np.testing.assert_array_equal(mark.y, rhale.value)

    def test_bands(self, rhale):
        main = effect_figure(rhale, EffectPlotOptions(confidence_level=0.9)).main
        spread, error = heterogeneity_and_interval(main)
        assert set(rhale.x) | set(rhale.spread.points) <= set(spread.x)
        value, half = rhale.at(spread.x), rhale.spread.at(spread.x)
        np.testing.assert_allclose(spread.upper, value + half)
        np.testing.assert_allclose(spread.lower, value - half)
        np.testing.assert_allclose((error.lower, error.upper), rhale.interval(0.9))
        assert error.label == "90 % interval of the average"

    def test_slopes_that_change_bend_the_curve_and_tilt_the_means(self, X):
        quantity = sd.prediction(
            lambda X: np.sin(3 * X[:, 0]) + X[:, 0] * X[:, 1],
            slope=lambda X: np.c_[3 * np.cos(3 * X[:, 0]) + X[:, 1], X[:, 0]],
        )
        e = sd.explain(quantity, X, 0, method=sd.RHALE())
        assert np.any(e.bins.slope_change)
        main, below = effect_figure(e).panels[:2]
        x, value = e.path()
        line = only(main, Line, "average")
        np.testing.assert_allclose((line.x, line.y), (x, value))
        assert not list(
            marks_of(main, Points)
        )  # edges of bins are no special points of a bent curve
        means = only(below, Segments, "slope")
        np.testing.assert_allclose((means.y0, means.y1), e.bins.ends)

    def test_an_unknown_stretch_interrupts_curve_and_bands(self, X):
        e = sd.explain(model, X, 0, method=sd.ALE(bins=sd.Edges([-2.0, -1.0, 0.0, 1.0])))
        unknown = np.isnan(e.value)
        assert unknown.any()
        main = effect_figure(e).main
        spread, interval = heterogeneity_and_interval(main)
        np.testing.assert_array_equal(np.isnan(interval.upper), unknown)
        np.testing.assert_array_equal(np.isnan(spread.upper), np.isnan(e(spread.x)))
        np.testing.assert_array_equal(np.isnan(only(main, Line, "average").y), unknown)

    def test_names_and_units(self, rhale):
        main, below = effect_figure(rhale).panels[:2]
        assert main.x.label == f"{rhale.about.feature.name} [m²]"
        assert main.y.label == "effect on price [EUR]"
        assert below.y.label == "slope [EUR per m²]"

    def test_method_and_rows(self, rhale):
        spec = effect_figure(rhale)
        assert spec.title == f"{rhale.feature}: effect on price (RHALE)"
        assert str(spec.main.title) == spec.title
        assert spec.main.notes[:2] == ("500 rows", "6 bins")

    def test_the_legend_begins_with_the_average(self, rhale):
        assert legend(effect_figure(rhale)) == [
            "average effect",
            "± spread between rows",
            "95 % interval of the average",
            "where the data are",
            "average slope",
            "± SD between rows",
            "slopes of single rows",
        ]

    def test_steps_are_the_bins(self, rhale):
        below, bins = effect_figure(rhale).panels[1], rhale.bins
        means, whiskers = only(below, Segments, "slope"), only(below, Segments, "whisker")
        np.testing.assert_array_equal(means.y0, bins.effect)
        np.testing.assert_array_equal(means.y1, bins.effect)
        np.testing.assert_array_equal((means.x0, means.x1), (bins.left, bins.right))
        np.testing.assert_allclose(whiskers.y1 - whiskers.y0, 2 * bins.std)
        np.testing.assert_allclose(whiskers.x0, (bins.left + bins.right) / 2)
        assert whiskers.caps > 0

    def test_constant_feature(self, X):
        e = sd.explain(model, np.column_stack([np.full(500, 0.3), X[:, 1]]), 0)
        (main,) = effect_figure(e).panels
        assert main.notes == ("500 rows", "the feature is constant")
        assert main.x.ticks == (0.3,)
        # A single point has no area and no line, and no spread that is not there.
        assert {"interval-bar", "vertex"} <= styles(main)
        assert "heterogeneity-bar" not in styles(main)
        assert not [*marks_of(main, Area), *marks_of(main, Line)]


class TestCounts:
    def test_a_count_above_each_bin(self, rhale):
        spec = effect_figure(rhale)
        bins = rhale.bins
        above = spec.panels[1].above
        assert [text for _, text in above] == [f"n={n}" for n in bins.count]
        np.testing.assert_allclose([x for x, _ in above], (bins.left + bins.right) / 2)
        assert {f"n={n}" for n in bins.count} <= set(texts(spec))
        assert "counts" not in {p.panel.kind for p in arrange(spec, 320.0).panels}

    def test_bars_where_numbers_would_touch(self, rhale):
        e = rhale.rebin(sd.Uniform(50))
        spec = effect_figure(e)
        assert not any(t.startswith("n=") for t in texts(spec))
        assert "counts" in {p.panel.kind for p in arrange(spec, 320.0).panels}
        bars = only(panel_of(spec, "counts"), Rectangles, "count")
        np.testing.assert_array_equal(bars.upper, e.bins.count)
        np.testing.assert_array_equal((bars.left, bars.right), (e.bins.left, e.bins.right))


class TestDoubt:
    @staticmethod
    def hatched(panel, doubt, x):
        found = [
            (a, b)
            for m in marks_of(panel, Rectangles, doubt)
            for a, b in zip(m.left, m.right, strict=True)
        ]
        return any(a < x < b for a, b in found)

    @pytest.mark.parametrize("bins", [3, 40, 90])
    def test_hatched_exactly_where_not_trusted(self, X, bins):
        inside = np.abs(X[:, 0] - 0.2) > 0.15
        e = sd.explain(model, X[inside], 0, method=sd.DALE(bins=bins))
        for panel in effect_figure(e).panels[:2]:
            for k, x in enumerate((e.bins.left + e.bins.right) / 2):
                assert self.hatched(panel, "empty", x) == e.bins.empty[k]
                few = not e.bins.trusted[k] and not e.bins.empty[k]
                assert self.hatched(panel, "few", x) == few


class TestViolins:
    def test_their_centre_is_the_mean(self, rhale):
        """The smoothed density has no mass outside the data: its mean is that of the local effects."""
        e = rhale.rebin(sd.Uniform(4))
        cell = np.clip(np.searchsorted(e.bins.left, e.rows.x, side="right") - 1, 0, 3)
        found = violins(effect_figure(e).panels[1])
        assert len(found) == 4
        for k, (y, half, _) in enumerate(found):
            own = e.rows.effect[cell == k]
            mean = np.trapezoid(y * half, y) / np.trapezoid(half, y)
            assert mean == pytest.approx(own.mean(), abs=0.1 * own.std())
            assert (half >= 0).all()

    def test_within_the_data_and_the_bin(self, rhale):
        bins = rhale.bins
        for k, (y, half, middle) in enumerate(violins(effect_figure(rhale).panels[1])):
            own = rhale.rows.effect[
                (rhale.rows.x >= bins.left[k]) & (rhale.rows.x <= bins.right[k])
            ]
            assert own.min() <= y[0] < y[-1] <= own.max()
            np.testing.assert_allclose(middle, (bins.left[k] + bins.right[k]) / 2)
            assert bins.left[k] <= middle[0] - half.max()
            assert middle[0] + half.max() <= bins.right[k]

    @staticmethod
    def one(y, weight):
        n = len(y)
        made = effect_parts.violins(
            y, np.zeros(n, dtype=int), weight, np.zeros(1), np.ones(1), np.ones(1, dtype=bool)
        )
        outline = made[0][: len(made[0]) // 2]
        return outline[:, 1], outline[:, 0] - 0.5

    def test_two_groups_stay_two(self):
        y = np.r_[np.random.default_rng(0).normal([-1, 1], 0.2, size=(100, 2)).ravel()]
        at, half = self.one(y, np.ones(200))
        assert half[np.argmin(np.abs(at))] < 0.05 * half.max()

    def test_rows_count_by_their_weight(self):
        y = np.random.default_rng(0).normal([-1, 1], 0.2, size=(400, 2)).ravel()
        at, half = self.one(y, np.where(y > 0, 3.0, 1.0))
        left, right = (np.trapezoid(half[i], at[i]) for i in (at < 0, at > 0))
        assert right / left == pytest.approx(3, rel=0.02)

    def test_the_density_does_not_fall_at_the_ends_of_uniform_values(self):
        at, half = self.one(np.linspace(0, 1, 2000), np.ones(2000))
        assert (at[0], at[-1]) == (0, 1)
        assert half.min() > 0.95 * half.max()

    def test_the_bandwidth_is_that_of_a_normal_sample(self):
        """Silverman's, 0.9 sd n^(-1/5), with the deviations within the halves, as of a half-normal distribution."""
        y = np.random.default_rng(3).normal(size=60)
        at, half = self.one(y, np.ones(60))
        upper = y > y.mean()
        within = np.where(upper, y - y[upper].mean(), y - y[~upper].mean())
        h = 0.9 * within.std() / np.sqrt(1 - 2 / np.pi) * 60**-0.2
        density = scipy.stats.norm.pdf((at[:, None] - y) / h).sum(axis=1)
        inner = (at > y.min() + 2 * h) & (at < y.max() - 2 * h)
        shape, expected = half[inner] / half[inner].max(), density[inner] / density[inner].max()
        np.testing.assert_allclose(shape, expected, atol=0.04)

    def test_one_percent_at_each_end_may_lie_outside(self):
        y = np.linspace(0, 1, 1001)
        for few in (np.full(5, 100.0), np.full(5, -100.0)):
            low, high = effect_parts.visible(np.r_[y, few], 0.4, 0.6)
            assert -0.02 < low < 0.02
            assert 0.98 < high < 1.02
        assert effect_parts.visible(np.r_[y, np.full(50, 100.0)], 0.4, 0.6)[1] == 100

    def test_equal_local_effects_have_no_density(self, X):
        quantity = sd.prediction(
            lambda X: 3 * X[:, 0], slope=lambda X: np.tile([3.0, 0], (len(X), 1))
        )
        below = effect_figure(sd.explain(quantity, X, 0, method=sd.DALE(bins=4))).panels[1]
        assert not styles(below) & {"violin", "local"}

    def test_few_rows_are_shown_one_by_one(self, X, rhale):
        e = rhale.rebin(sd.Edges([-1, -0.98, 0.5, 1]))
        below = effect_figure(e).panels[1]
        assert len(only(below, Polygons).outlines) == 2
        single = only(below, Segments, "local")
        assert len(single.y0) == e.bins.count[0]
        own = e.rows.effect[e.rows.x <= -0.98]
        np.testing.assert_array_equal(np.sort(single.y0), np.sort(own))
        assert ((single.x0 > -1) & (single.x1 < -0.98)).all()


class TestDependence:
    def test_centred_like_its_curves(self, pdp):
        main = effect_figure(pdp).main
        line = only(main, Line, "average")
        share = pdp.spread.weight
        np.testing.assert_allclose(line.y, pdp.value - share @ pdp.value)
        np.testing.assert_allclose(only(main, CurveSet).y @ share, 0, atol=1e-12)
        spread, error = heterogeneity_and_interval(main)
        at_points = np.isin(spread.x, pdp.x)
        np.testing.assert_allclose(spread.upper[at_points] - line.y, pdp.heterogeneity)
        half = (error.upper - error.lower) / 2
        np.testing.assert_allclose(half / pdp.heterogeneity, 1.9647 / np.sqrt(500), rtol=1e-4)
        assert main.y.label == "effect on prediction"
        assert "about 7.5 % of rows outside the grid" in main.notes  # of the 200 that are kept

    def test_curves_lie_between_heterogeneity_and_interval(self, pdp):
        order = [m.style for m in effect_figure(pdp).main.marks]
        assert order == [
            "heterogeneity", "zero", "curve", "interval", "average", "vertex", "rug"
        ]  # fmt: skip

    def test_centred_error_is_that_of_the_centred_curves(self, X, pdp):
        curves = np.stack([model(np.c_[np.full(500, x), X[:, 1]]) for x in pdp.x], axis=1)
        curves -= (curves @ pdp.spread.weight)[:, None]
        reach = scipy.stats.t.ppf(0.975, 499) * scipy.stats.sem(curves)
        here = only(effect_figure(pdp).main, Area, "interval")
        np.testing.assert_allclose(here.lower, curves.mean(axis=0) - reach, atol=1e-12)
        np.testing.assert_allclose(here.upper, curves.mean(axis=0) + reach, atol=1e-12)

    @pytest.mark.parametrize("ice", ["raw", None])
    def test_as_it_is(self, pdp, ice):
        main = effect_figure(pdp, EffectPlotOptions(ice)).main
        np.testing.assert_array_equal(only(main, Line, "average").y, pdp.value)
        assert main.y.label == "prediction"
        assert "zero" not in styles(main)
        assert bool(list(marks_of(main, CurveSet))) == (ice == "raw")

    def test_raw_curves_of_a_centred_effect(self, X):
        e = sd.explain(model, X, 0, method=sd.PDP(grid=5, center="start"))
        with pytest.raises(sd.UnsupportedError, match=r"center='start'.*center=None"):
            effect_figure(e, EffectPlotOptions("raw"))
        np.testing.assert_allclose(only(effect_figure(e).main, CurveSet).y[:, 0], 0)

    def test_unknown_ice(self, X):
        with pytest.raises(sd.DataError, match="'centered', 'raw' or None"):
            sd.explain(model, X, 0, method=sd.PDP(grid=5)).plot(ice="both")

    def test_own_values_lie_on_their_curves(self, X):
        e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ICE(grid=[-1.0, 0.0, 0.8]))
        main = effect_figure(e, EffectPlotOptions("raw", own=True, curves=500)).main
        inside, own = X[:, 0] <= 0.8, only(main, Points, "own")
        np.testing.assert_allclose(own.x, X[inside, 0])
        np.testing.assert_allclose(own.y, (X[:, 0] * X[:, 1])[inside])
        assert own.label == "each row at its own value"

    def test_curves_are_those_of_their_rows(self, X):
        e = sd.explain(model, X, 0, method=sd.ICE(grid=5, spacing="uniform"))
        main = effect_figure(e, EffectPlotOptions(curves=30)).main
        curves = only(main, CurveSet)
        assert main.notes[1] == "30 curves"
        assert len(set(curves.rows.tolist())) == 30
        for row, y in zip(curves.rows, curves.y, strict=True):
            own = model(np.column_stack([e.x, np.full(5, X[row, 1])]))
            np.testing.assert_allclose(y, own - e.spread.weight @ own)
        assert "9.8 % of rows outside the grid" in effect_figure(e).main.notes

    @pytest.mark.parametrize("method", ["pdp", "ale", "rhale"])
    def test_own_values_of_the_feature_are_ticks(self, X, method):
        X = np.column_stack([np.where(X[:, 0] > 0, 2.0, 1.0), X[:, 1]])
        main = effect_figure(sd.explain(model, X, 0, method=method)).main
        assert main.x.ticks == (1.0, 2.0)
        assert only(main, Points, "vertex").x.tolist() == [1.0, 2.0]


class TestConstants:
    def test_a_constant_is_drawn_as_zero(self, X):
        flat = sd.prediction(lambda X: np.exp(X[:, 1]) + 50)
        e = sd.explain(flat, X, 0, method=sd.PDP(grid=9))
        assert np.ptp(e.value) < 1e-12
        main = effect_figure(e).main
        assert main.y.range[1] - main.y.range[0] > 0.1
        assert not only(main, Line, "average").y.any()
        assert not only(main, CurveSet).y.any()
        (band,) = marks_of(main, Area)
        assert band.style == "interval"
        assert not band.lower.any()
        assert not band.upper.any()
        assert not any("10⁻" in t for t in texts(effect_figure(e)))


class TestRug:
    def test_all_of_few_rows(self):
        assert effect_parts.rug(np.array([3.0, 1, np.nan]), None).x.tolist() == [1, 3]

    def test_of_an_effect(self, X):
        e = sd.explain(model, X[:60], 0, method=sd.ALE(bins=3))
        found = only(effect_figure(e).main, Rug)
        assert found.label == "where the data are"
        np.testing.assert_array_equal(found.x, np.sort(X[:60, 0]))

    def test_quantiles_of_many_rows(self):
        x = np.random.default_rng(0).normal(size=20_000)
        rug = effect_parts.rug(x, None)
        assert len(rug.x) == effect_parts.TICKS
        assert (rug.x[0], rug.x[-1]) == (x.min(), x.max())
        assert rug.x[len(rug.x) // 2] == pytest.approx(np.median(x), abs=0.02)

    def test_quantiles_of_rows_with_weights(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=5000)
        weight = np.where(x > 1, 5.0, 1.0) * (x < 2)
        rug = effect_parts.rug(x, weight).x
        mass = [np.sum(weight[x <= v]) / weight.sum() for v in rug]
        np.testing.assert_allclose(mass, np.linspace(0, 1, len(rug)), atol=0.001)


class TestShared:
    def test_one_range_for_all(self, X):
        es = sd.explain(lambda X: 5 * X[:, 0] + X[:, 1], X, method=sd.ALE(bins=5))
        a, b = (f.main for f in on_shared_scales([effect_figure(e) for e in es.values()]))
        assert a.y.limits == b.y.limits
        assert a.y.limits == effect_figure(es["x0"]).main.y.limits

    def test_a_flat_effect_asks_for_nothing(self, X):
        es = sd.explain(lambda X: 1e-9 * X[:, 0], X, method=sd.ALE(bins=5))
        a, b = (f.main for f in on_shared_scales([effect_figure(e) for e in es.values()]))
        assert a.y.limits == b.y.limits
        assert b.y.limits[1] < 2e-9


class TestScale:
    def test_no_negative_zero(self):
        assert Scale().texts([-1e-17, 1.0]) == ["0", "1"]

    @pytest.mark.parametrize("room", [8, 9, 50])
    def test_shortened(self, room):
        text = shorten("a_name_that_goes_on_and_on_and_on_until_it_ends", room)
        assert len(text) <= room
        assert text[0] == "a"
        assert text.endswith("ds")


def test_what_leaves_a_panel_is_counted_or_said():
    """With four rows in a bin whiskers and intervals are wider than the scale that other bins determine."""
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [np.r_[rng.uniform(0, 1, 300), 1.0 + rng.uniform(0, 1, 4)], rng.normal(size=304)]
    )
    X[-4:, 1] *= 1000
    e = sd.explain(
        lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ALE(bins=sd.Edges([0.0, 0.5, 1.0, 2.0]))
    )
    main, below = effect_figure(e).panels[:2]
    whiskers = only(below, Segments, "whisker")
    low, high = below.y.range
    outside = int(np.sum((whiskers.y0 < low) | (whiskers.y1 > high)))
    assert outside == 1
    assert "1 of 3 ± SD between rows are off the scale" in below.notes
    interval = only(main, Area, "interval")
    beyond = bool(np.any((interval.lower < main.y.range[0]) | (interval.upper > main.y.range[1])))
    assert beyond == ("some intervals are off the scale" in main.notes)
