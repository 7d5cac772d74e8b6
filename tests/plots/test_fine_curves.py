"""Curves with more points than their bins have edges: few bins describe a curve that is computed on many cells."""

from dataclasses import replace

import numpy as np
import pytest

import skedasis as sd
from skedasis.plots import draw_matplotlib, draw_svg
from skedasis.plots.figures import effect_parts
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.marks import Area, Line, Points, Segments, marks_of
from skedasis.report import text as report_text
from skedasis.report.tables import effect_tables
from tests.plots.spec_helpers import only, styles, tips

CELLS, BINS = 32, 3


@pytest.fixture(scope="module", params=["edges", "steps"])
def effect(request):
    """Return an effect of a step function: its curve on 32 cells, its bins three unions of these."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(640, 2))
    fine = sd.explain(
        lambda X: np.floor(4 * X[:, 0]) * (1 + (X[:, 1] > 0)), X, 0, method=sd.ALE(bins=CELLS)
    )
    edges = fine.x[[0, 10, 24, CELLS]]
    bins = fine.rebin(sd.Edges(edges.tolist())).bins
    rise = np.diff(fine(edges)) / np.diff(edges)
    return replace(
        fine,
        bins=replace(bins, effect=rise),
        spec=replace(fine.spec, method="RHALE", local_effects=request.param),
    )


def test_the_curve_is_drawn_on_its_own_points_without_marks_at_the_edges(effect):
    main = effect_figure(effect).main
    line = only(main, Line, "average")
    np.testing.assert_array_equal(line.x, effect.x)
    np.testing.assert_array_equal(line.y, effect.value)
    assert not list(marks_of(main, Points))
    spread = only(main, Area, "heterogeneity")
    on_curve = np.isin(spread.x, line.x)
    np.testing.assert_allclose(spread.upper[on_curve] - line.y, effect.heterogeneity)
    assert len(only(main, Area, "interval").upper) == CELLS + 1


def test_bars_are_the_bins(effect):
    main, panel = effect_figure(effect).panels[:2]
    means = only(panel, Segments, "slope")
    np.testing.assert_array_equal(means.x0, effect.bins.left)
    np.testing.assert_array_equal(means.y0, effect.bins.effect)
    assert len(panel.above) == BINS
    if effect.spec.local_effects == "steps":
        assert "slopes: rise across the bin / its width" in main.notes


def test_what_is_said_of_a_bin_is_the_curve_at_its_edges(effect):
    main = tips(effect_figure(effect).main)
    assert len(main) == BINS
    for k, lines in enumerate(main):
        ends = effect([effect.bins.left[k], effect.bins.right[k]])
        said = next(line for line in lines if line.startswith("effect "))
        start, end = (float(v.replace("−", "-")) for v in said.removeprefix("effect ").split(" → "))
        np.testing.assert_allclose((start, end), ends, rtol=5e-3, atol=5e-3)


def test_words_and_tables_have_a_line_for_each_bin(effect):
    assert len(effect_tables(effect)[0].rows) == BINS
    assert report_text.effect_sentence(effect)
    assert 0 <= report_text.opposite_sign_share(effect) <= 1
    assert "The average is known to" in report_text.precision_sentence(effect, effect)


def test_two_steps_a_row_are_no_slopes(effect):
    both = np.column_stack([effect.rows.effect, effect.rows.effect])
    few = replace(effect, rows=replace(effect.rows, effect=both))
    assert effect_parts.local_effects(few.rows) is None
    assert report_text.opposite_sign_share(few) is None
    assert not styles(effect_figure(few).panels[1]) & {"violin", "local"}


def test_both_renderers_draw_it(effect):
    spec = effect_figure(effect)
    assert len(draw_matplotlib.draw(spec).axes) == 2
    assert draw_svg.draw(spec, ident="f").svg.count('class="panel"') == 2
