"""Panels as values: what a figure shows, tested without drawing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import skedasis as sd
from skedasis.plots.figures import effect_parts
from skedasis.plots.figures.effect import effect_spec, share_vertical_axis, slopes
from skedasis.plots.scales import Scale, join_notes, shorten
from skedasis.plots.spec import EffectPlotOptions


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
    return sd.explain(model, X, 0, method=sd.PDP(grid=9))


class TestAccumulated:
    def test_the_line_is_the_effect_with_vertices_at_the_edges(self, rhale):
        (line,) = effect_spec(rhale).main.lines
        assert line.vertices
        np.testing.assert_array_equal(line.x, rhale.x)
        np.testing.assert_array_equal(line.y, rhale.value)

    def test_bands(self, rhale):
        spread, error = effect_spec(rhale, EffectPlotOptions(confidence_level=0.9)).main.bands
        assert (spread.role, error.role) == ("heterogeneity", "error")
        np.testing.assert_allclose(spread.upper, rhale.value + rhale.heterogeneity)
        np.testing.assert_allclose(spread.lower, rhale.value - rhale.heterogeneity)
        np.testing.assert_allclose((error.lower, error.upper), rhale.interval(0.9))
        assert error.label == "90 % interval of the average"

    def test_names_and_units(self, rhale):
        shown = effect_spec(rhale)
        assert shown.main.x.label == f"{rhale.about.feature.name} [m²]"
        assert shown.main.y.label == "effect on price [EUR]"
        assert shown.slopes.y.label == "slope [EUR per m²]"

    def test_method_and_rows(self, rhale):
        main = effect_spec(rhale).main
        assert main.title == "RHALE"
        assert main.notes == ("500 rows", "6 bins")

    def test_missing_rows_are_told(self, X):
        X = X.copy()
        X[:37, 0] = np.nan
        e = sd.explain(lambda X: X[:, 1] + np.nan_to_num(X[:, 0]), X, 0, method=sd.ALE(bins=4))
        assert effect_spec(e).main.notes[-1] == "37 rows with a missing value"
        assert np.isfinite(effect_spec(e).main.rug.x).all()

    def test_steps_are_the_bins(self, rhale):
        steps, bins = effect_spec(rhale).slopes.steps, rhale.bins
        np.testing.assert_array_equal(steps.y, bins.effect)
        np.testing.assert_allclose(steps.upper - steps.lower, 2 * bins.std)
        per_sd = slopes(rhale, per_sd=True)
        np.testing.assert_allclose(per_sd.steps.y, bins.effect * rhale.about.feature_std)
        assert per_sd.y.label == "slope per SD [EUR]"

    def test_constant_feature(self, X):
        e = sd.explain(model, np.column_stack([np.full(500, 0.3), X[:, 1]]), 0)
        shown = effect_spec(e)
        assert shown.slopes is None
        assert shown.main.notes == ("500 rows", "the feature is constant")
        assert shown.main.x.ticks == (0.3,)

    def test_what_has_no_spread_sets_no_scale(self, X):
        """Bins of one row have no std, and the axis limits do not depend on unreliable bins."""
        e = sd.explain(model, X[:12], 0, method=sd.ALE(bins=12))
        shown = effect_spec(e)
        assert np.isnan(shown.slopes.steps.lower).any()
        assert np.isfinite([*shown.main.y.limits, *shown.slopes.y.limits]).all()


class TestCounts:
    def test_a_count_above_each_bin(self, rhale):
        shown = effect_spec(rhale)
        assert [w.text for w in shown.slopes.words] == [f"n={n}" for n in rhale.bins.count]
        assert shown.counts is None

    def test_bars_where_numbers_would_touch(self, rhale):
        e = rhale.rebin(sd.Uniform(50))
        shown = effect_spec(e)
        assert shown.slopes.words == ()
        np.testing.assert_array_equal(shown.counts.bars.height, e.bins.count)

    def test_words_never_touch(self, rhale):
        for k in range(1, 40):
            panel = effect_spec(rhale.rebin(sd.Uniform(k))).slopes
            low, high = panel.x.limits
            at = [92 * (w.x - low) / (high - low) for w in panel.words]
            reach = [len(w.text) / 2 for w in panel.words]
            for i in range(len(at) - 1):
                assert at[i] + reach[i] < at[i + 1] - reach[i + 1]


class TestDoubt:
    @staticmethod
    def hatched(panel, doubt, x):
        return any(h.left < x < h.right for h in panel.hatches if h.doubt == doubt)

    @pytest.mark.parametrize("bins", [3, 40, 90])
    def test_hatched_exactly_where_not_trusted(self, X, bins):
        inside = np.abs(X[:, 0] - 0.2) > 0.15
        e = sd.explain(model, X[inside], 0, method=sd.DALE(bins=bins))
        shown = effect_spec(e)
        for panel in (shown.main, shown.slopes):
            for k, x in enumerate((e.bins.left + e.bins.right) / 2):
                assert self.hatched(panel, "empty", x) == e.bins.empty[k]
                few = not e.bins.trusted[k] and not e.bins.empty[k]
                assert self.hatched(panel, "few", x) == few

    def test_no_data_is_written_where_it_fits(self, X):
        e = sd.explain(model, X[np.abs(X[:, 0]) > 0.4], 0, method=sd.DALE(bins=5))
        (hatch,) = effect_spec(e).main.hatches
        assert (hatch.doubt, hatch.text, hatch.upright) == ("empty", "no data", False)


class TestViolins:
    def test_mass_is_one(self, rhale):
        for k in (1, 6, 25):
            shown = effect_spec(rhale.rebin(sd.Uniform(k))).slopes.violins
            assert shown
            for v in shown:
                assert np.trapezoid(v.density, v.y) == pytest.approx(1, abs=1e-12)
                assert (v.density >= 0).all()

    def test_within_the_data_and_the_bin(self, rhale):
        for v in effect_spec(rhale).slopes.violins:
            left, right = rhale.bins.left[v.bin], rhale.bins.right[v.bin]
            own = rhale.rows.effect[(rhale.rows.x >= left) & (rhale.rows.x <= right)]
            assert own.min() <= v.y[0] < v.y[-1] <= own.max()
            assert left <= v.middle - v.half_width.max()
            assert v.middle + v.half_width.max() <= right

    def test_two_groups_stay_two(self):
        y = np.r_[np.random.default_rng(0).normal([-1, 1], 0.2, size=(100, 2)).ravel()]
        one = np.zeros(200, dtype=int)
        (v,) = effect_parts.violin_shapes(
            y, one, np.ones(200), np.zeros(1), np.ones(1), np.ones(1, dtype=bool)
        )
        between = v.density[np.argmin(np.abs(v.y))]
        assert between < 0.05 * v.density.max()

    def test_a_weight_is_a_repetition(self):
        rng = np.random.default_rng(1)
        y, w = rng.normal(size=50), rng.integers(1, 4, 50)
        ends = np.zeros(1), np.ones(1), np.ones(1, dtype=bool)
        (a,) = effect_parts.violin_shapes(y, np.zeros(50, dtype=int), w.astype(float), *ends)
        z = np.repeat(y, w)
        (b,) = effect_parts.violin_shapes(z, np.zeros(len(z), dtype=int), np.ones(len(z)), *ends)
        # Only the bandwidth depends on the number of rows.
        assert np.max(np.abs(a.density - b.density)) < 0.2 * a.density.max()

    def test_shapes_do_not_depend_on_scale(self, rhale):
        rows = replace(rhale.rows, effect=rhale.rows.effect * 1e-12)
        bins = replace(rhale.bins, effect=rhale.bins.effect * 1e-12, std=rhale.bins.std * 1e-12)
        tiny = slopes(replace(rhale, rows=rows, bins=bins)).violins
        for a, b in zip(tiny, slopes(rhale).violins, strict=True):
            np.testing.assert_allclose(a.half_width, b.half_width, rtol=1e-6)

    def test_equal_local_effects_have_no_density(self, X):
        quantity = sd.prediction(
            lambda X: 3 * X[:, 0], slope=lambda X: np.tile([3.0, 0], (len(X), 1))
        )
        shown = effect_spec(sd.explain(quantity, X, 0, method=sd.DALE(bins=4))).slopes
        assert shown.violins == ()
        assert shown.dashes is None

    def test_few_rows_are_shown_one_by_one(self, X, rhale):
        e = rhale.rebin(sd.Edges([-1, -0.98, 0.5, 1]))
        panel = effect_spec(e).slopes
        assert [v.bin for v in panel.violins] == [1, 2]
        assert set(panel.dashes.bin) == {0}
        assert len(panel.dashes.y) == e.bins.count[0]

    def test_outliers_do_not_flatten_the_rest(self, X):
        quantity = sd.prediction(
            lambda X: X[:, 0],
            slope=lambda X: np.column_stack(
                [np.where(np.arange(len(X)) == 3, 1e6, X[:, 1]), X[:, 1]]
            ),
        )
        e = sd.explain(quantity, X, 0, method=sd.DALE(bins=1))
        panel = slopes(e)
        # Its std includes the outlier: the panel must show it.
        assert panel.y.limits[1] > e.bins.std[0]
        assert panel.notes == ("1 of 500 local effects outside the panel",)

    def test_steps_scatter_about_their_cells(self, X):
        """A step of the average is no heterogeneity: the violin ignores it, as the bins' std does."""
        q = lambda X: np.round(4 * X[:, 0])  # noqa: E731
        e = sd.explain(q, X, 0, method=sd.ALE(bins=40)).rebin(sd.Edges([*e_ends(X)]))
        assert len(e.bins) == 1
        assert np.ptp(e.rows.effect) > 0
        assert effect_spec(e).slopes.violins == ()


def e_ends(X):
    return X[:, 0].min(), X[:, 0].max()


class TestDependence:
    def test_centred_like_its_curves(self, pdp):
        main = effect_spec(pdp).main
        (line,) = main.lines
        np.testing.assert_allclose(line.y, pdp.value - pdp.value.mean())
        np.testing.assert_allclose(main.bundle.y.mean(axis=1), 0, atol=1e-12)
        spread, error = main.bands
        np.testing.assert_allclose(spread.upper - line.y, pdp.heterogeneity)
        half = (error.upper - error.lower) / 2
        np.testing.assert_allclose(half / pdp.heterogeneity, 1.9647 / np.sqrt(500), rtol=1e-4)
        assert main.y.label == "effect on prediction"
        assert main.notes[-1] == "about 12 % of rows outside the grid"  # of the 200 that are kept

    def test_centred_error_is_that_of_an_effect_centred_at_once(self, X, pdp):
        at_once = sd.explain(model, X, 0, method=sd.PDP(grid=9, center="mean"))
        here, there = effect_spec(pdp).main.bands[1], effect_spec(at_once).main.bands[1]
        np.testing.assert_allclose(here.lower, there.lower)
        np.testing.assert_allclose(here.upper, there.upper)

    @pytest.mark.parametrize("ice", ["raw", None])
    def test_as_it_is(self, pdp, ice):
        main = effect_spec(pdp, EffectPlotOptions(ice)).main
        np.testing.assert_array_equal(main.lines[0].y, pdp.value)
        assert main.y.label == "prediction"
        assert not main.zero
        assert (main.bundle is None) == (ice is None)

    def test_raw_curves_of_a_centred_effect(self, X):
        e = sd.explain(model, X, 0, method=sd.PDP(grid=5, center="start"))
        with pytest.raises(sd.UnsupportedError, match=r"center='start'.*center=None"):
            effect_spec(e, EffectPlotOptions("raw"))
        np.testing.assert_allclose(effect_spec(e).main.bundle.y[:, 0], 0)

    def test_unknown_ice(self):
        with pytest.raises(sd.DataError, match="'centered', 'raw' or None"):
            EffectPlotOptions("both")

    def test_own_values_lie_on_their_curves(self, X):
        e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ICE(grid=[-1.0, 0.0, 0.8]))
        bundle = effect_spec(e, EffectPlotOptions("raw", own=True, curves=500)).main.bundle
        inside = X[:, 0] <= 0.8
        np.testing.assert_allclose(bundle.own_x, X[inside, 0])
        np.testing.assert_allclose(bundle.own_y, (X[:, 0] * X[:, 1])[inside])

    def test_thinned_curves(self, X):
        e = sd.explain(model, X, 0, method=sd.ICE(grid=5))
        assert effect_spec(e, EffectPlotOptions(curves=30)).main.bundle.y.shape == (30, 5)
        assert effect_spec(e, EffectPlotOptions(curves=30)).main.notes[1] == "30 curves"
        assert effect_spec(e).main.notes[-1] == "9.8 % of rows outside the grid"

    @pytest.mark.parametrize("method", ["pdp", "ale", "rhale"])
    def test_own_values_of_the_feature_are_ticks(self, X, method):
        X = np.column_stack([np.where(X[:, 0] > 0, 2.0, 1.0), X[:, 1]])
        main = effect_spec(sd.explain(model, X, 0, method=method)).main
        assert main.x.ticks == (1.0, 2.0)
        assert main.lines[0].vertices

    def test_more_values_than_there_is_room_for_are_none(self, X):
        X = np.column_stack([np.floor(6 * X[:, 0]), X[:, 1]])
        assert effect_spec(sd.explain(model, X, 0, method="ale")).main.x.ticks == ()
        apart = np.column_stack([np.where(X[:, 0] > 0, 60.0, X[:, 0] % 2), X[:, 1]])
        assert effect_spec(sd.explain(model, apart, 0, method="ale")).main.x.ticks == ()


class TestRug:
    def test_all_of_few_rows(self):
        assert effect_parts.rug(np.array([3.0, 1, np.nan]), None, exact=True).x.tolist() == [1, 3]

    def test_quantiles_of_many_rows(self):
        x = np.random.default_rng(0).normal(size=20_000)
        rug = effect_parts.rug(x, None, exact=True)
        assert rug.label == "quantiles of 20,000 rows"
        assert len(rug.x) == effect_parts.TICKS
        assert (rug.x[0], rug.x[-1]) == (x.min(), x.max())
        assert rug.x[len(rug.x) // 2] == pytest.approx(np.median(x), abs=0.02)

    def test_weights_repeat_rows(self):
        x, w = np.arange(1000.0), np.random.default_rng(0).integers(0, 3, 1000)
        a = effect_parts.rug(x, w.astype(float), exact=True)
        b = effect_parts.rug(np.repeat(x, w), None, exact=True)
        np.testing.assert_array_equal(a.x, b.x)


class TestShared:
    def test_one_range_for_all(self, X):
        es = sd.explain(lambda X: 5 * X[:, 0] + X[:, 1], X, method=sd.ALE(bins=5))
        a, b = share_vertical_axis([effect_spec(e).main for e in es.values()])
        assert a.y.limits == b.y.limits
        assert a.y.limits == effect_spec(es["x0"]).main.y.limits

    def test_a_flat_effect_asks_for_nothing(self, X):
        es = sd.explain(lambda X: 1e-9 * X[:, 0], X, method=sd.ALE(bins=5))
        a, b = share_vertical_axis([effect_spec(e).main for e in es.values()])
        assert a.y.limits == b.y.limits
        assert b.y.limits[1] < 2e-9


class TestScale:
    @pytest.mark.parametrize(
        ("low", "span"),
        [
            (low, span)
            for low in (0.0, -3.0, 1e3, 1.7e9, -1.7e9, 1e12)
            for span in (1e-12, 1e-9, 1e-3, 1.0, 86_400.0, 1e12)
            if span >= 1e6 * np.spacing(abs(low))  # below that there are no floats in between
        ],
    )
    def test_short_ticks_that_say_the_truth(self, low, span):
        ticks = low + span * np.linspace(0, 1, 5)
        scale = Scale.of(ticks[0], ticks[-1])
        texts = scale.texts(ticks)
        assert len(set(texts)) == 5
        assert max(map(len, texts)) <= 8
        back = [
            scale.offset + float(t.replace("\N{MINUS SIGN}", "-")) * 10.0**scale.exponent
            for t in texts
        ]
        np.testing.assert_allclose(back, ticks, atol=0.03 * span)

    def test_no_negative_zero(self):
        assert Scale().texts([-1e-17, 1.0]) == ["0", "1"]

    def test_remarks_are_not_torn(self):
        assert (
            join_notes(("500 rows", "6 bins", "37 rows missing"), 20)
            == "500 rows · 6 bins\n37 rows missing"
        )

    @pytest.mark.parametrize("room", [8, 9, 50])
    def test_shortened(self, room):
        text = shorten("a_name_that_goes_on_and_on_and_on_until_it_ends", room)
        assert len(text) <= room
        assert text[0] == "a"
        assert text.endswith("ds")
