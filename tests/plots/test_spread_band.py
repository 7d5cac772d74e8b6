"""The band of a figure of an effect: the spread between rows at x, the accumulated standard deviation, or none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.effect_parts import DEVIATION, spread_vertices
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.figures.summary import effect_summary_figure
from skedasis.plots.marks import Area, Line, legend_of, marks_of
from skedasis.results.effect import Spread
from tests.plots.spec_helpers import legend, only, tips

AT_X = "± spread between rows"


def product(X):
    return X[:, 0] * X[:, 1]


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).uniform(-1, 1, size=(1500, 2))


@pytest.fixture(scope="module")
def rhale(X):
    return sd.explain(product, X, 0, method=sd.RHALE(bins=5))


@pytest.fixture(scope="module")
def levels(X):
    frame = pd.DataFrame({"g": np.array(list("abcd"))[np.arange(1500) % 4], "z": X[:, 1]})
    return sd.explain(lambda F: F["g"].isin(["b", "d"]) * F["z"], frame, "g", method=sd.ALE())


def band_of(effect, **options):
    return only(effect_figure(effect, EffectPlotOptions(**options)).main, Area, "heterogeneity")


def spread_of(points, square):
    value = np.sqrt(square)
    return Spread(np.array(points), value, 0.1 * value, np.full(len(value), 1 / len(value)))


class TestVertices:
    def test_a_square_that_is_linear_is_met_at_every_vertex(self, rhale):
        points = np.array([-0.8, -0.3, 0.5])
        effect = replace(rhale, spread=spread_of(points, 2 + 1.5 * points))
        band = band_of(effect)
        assert set(effect.x) | set(points) < set(band.x)
        inside = np.clip(band.x, -0.8, 0.5)  # flat beyond the first and the last cell
        np.testing.assert_allclose(band.upper - effect(band.x), np.sqrt(2 + 1.5 * inside))
        np.testing.assert_allclose(effect(band.x) - band.lower, np.sqrt(2 + 1.5 * inside))

    @pytest.mark.parametrize("ends", [(0.0, 1.0), (1.0, 0.0), (0.2, 5.0), (3.0, 3.1)])
    @pytest.mark.parametrize("scale", [1e-200, 1.0, 1e150])
    def test_chords_are_near_the_spread(self, ends, scale):
        spread = spread_of([0.0, 1.0], np.square(ends))
        spread = replace(spread, value=scale * spread.value)
        x = spread_vertices(spread, np.array([-1.0, 0.5, 2.0]))
        assert x[0] == -1
        assert x[-1] == 2
        assert len(x) <= 14
        fine = np.linspace(-1, 2, 20001)
        true = scale * np.sqrt(np.interp(fine, [0, 1], np.square(ends)))
        drawn = np.interp(fine, x, spread.at(x))
        assert np.max(np.abs(drawn - true)) <= 1.01 * DEVIATION * scale * max(ends)

    def test_a_spread_of_zero_is_neither_drawn_nor_in_the_legend(self, rhale):
        spec = effect_figure(replace(rhale, spread=spread_of([-0.5, 0.5], np.zeros(2))))
        assert not list(marks_of(spec.main, Area, "heterogeneity"))
        assert "± spread between rows" not in [key.label for key in legend_of(spec.panels)]

    def test_of_a_partial_dependence(self, X):
        """The curve of a row is z x; minus its mean over the data, z (x - mean)."""
        effect = sd.explain(product, X, 0, method=sd.PDP(grid=[-1.0, 0.0, 1.0]))
        main = effect_figure(effect, EffectPlotOptions(ice=None)).main
        band, line = (only(main, kind, style) for kind, style in MARKS)
        half = X[:, 1].std(ddof=1) * np.abs(effect.x - np.clip(X[:, 0], -1.0, 1.0).mean())
        on_grid = np.isin(band.x, effect.x)
        # 1,024 quantiles stand for the rows of X.
        np.testing.assert_allclose(((band.upper - band.lower) / 2)[on_grid], half, atol=1e-5)
        np.testing.assert_allclose(((band.upper + band.lower) / 2)[on_grid], line.y, atol=1e-12)

    def test_of_an_accumulated_effect(self, X):
        """It is |x| sd(z), and zero in the middle, where what is accumulated from the left is large."""
        effect = sd.explain(product, X, 0, method=sd.RHALE())
        band = band_of(effect)
        half = (band.upper - band.lower) / 2
        np.testing.assert_allclose(half, np.abs(band.x) * X[:, 1].std(), atol=0.06)
        accumulated = band_of(effect, band="accumulated")
        assert np.diff(accumulated.upper - accumulated.lower).min() >= 0

    def test_the_main_stretch(self):
        """Beyond a gap the band is not drawn, and the cell there does not bend it."""
        rng = np.random.default_rng(1)
        X = np.c_[np.append(rng.uniform(0, 10, 500), [9999.0, 9999.0]), rng.normal(size=502)]
        effect = sd.explain(product, X, 0, method=sd.RHALE())
        spread = spread_of([2.0, 8.0, 9999.0], np.array([1.0, 9.0, 1e6]))
        band = band_of(replace(effect, spread=spread))
        assert band.x[-1] == X[:500, 0].max()
        np.testing.assert_allclose(np.ptp([band.lower[-1], band.upper[-1]]), 2 * 3.0)


MARKS = ((Area, "heterogeneity"), (Line, "average"))


class TestWords:
    def test_legend_and_alternative_text(self, rhale):
        spec = effect_figure(rhale)
        assert AT_X in legend(spec)
        assert "Spread between rows: " in spec.alt

    def test_every_kind(self, X, levels):
        assert AT_X in legend(effect_figure(levels))
        for method, label in (
            (sd.PDP(), "± spread between curves"),
            (sd.ICE(derivative=True), "± SD of the slopes"),
            (sd.MPlot(), "± SD of the rows in the bin"),
        ):
            assert label in legend(effect_figure(sd.explain(product, X[:300], 0, method=method)))

    def test_tooltips_have_the_standard_error(self, rhale, levels):
        spread = spread_of([-1.0, 1.0], np.array([4.0, 4.0]))
        for lines in tips(effect_figure(replace(rhale, spread=spread)).main):
            assert "spread between rows 2.00 ± 0.20" in lines
        box = replace(levels.spread, value=np.full(4, 2.0), std_error=np.full(4, 0.2))
        for lines in tips(effect_figure(replace(levels, spread=box)).main):
            assert "spread between rows 2.00 ± 0.20" in lines
        small = effect_summary_figure(replace(rhale, spread=spread))
        assert "spread between rows 2.00 ± 0.20" in tips(small.main)[0]


class TestOptions:
    @pytest.mark.parametrize(
        ("method", "equation"),
        [(sd.RHALE(bins=5), "RHALE Eq. 16"), (sd.ALE(bins=5), "RHALE Eq. 16"), (sd.UALE(bins=5), "UALE Eq. 9")],
    )  # fmt: skip
    def test_accumulated(self, X, method, equation):
        effect = sd.explain(product, X, 0, method=method)
        band = band_of(effect, band="accumulated")
        assert band.label == f"± SD accumulated from the left ({equation})"
        np.testing.assert_array_equal(band.x, effect.x)
        np.testing.assert_allclose(band.upper, effect.value + effect.accumulated_std)
        np.testing.assert_allclose(band.lower, effect.value - effect.accumulated_std)
        (first, *_) = tips(effect_figure(effect, EffectPlotOptions(band="accumulated")).main)
        assert any(line.startswith("SD accumulated from the left 0 to ") for line in first)

    @pytest.mark.parametrize("method", [sd.PDP(), sd.ICE(), sd.MPlot()])
    def test_nothing_is_accumulated(self, X, method):
        effect = sd.explain(product, X[:100], 0, method=method)
        with pytest.raises(sd.UnsupportedError, match=r"band='accumulated'.*Use band='spread'"):
            effect.plot(band="accumulated")
        with pytest.raises(sd.UnsupportedError, match="accumulates no"):
            effect.explore(band="accumulated")

    @pytest.mark.parametrize("band", ["std", True, False, 1])
    def test_other_bands(self, rhale, band):
        with pytest.raises(sd.DataError, match=r"plot\(band\).*'spread', 'accumulated' or None"):
            rhale.plot(band=band)
