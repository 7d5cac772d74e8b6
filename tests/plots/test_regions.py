"""Figures of regions: one scale, the effect in all rows, rules as labels, scores before and after."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.text import Text

import skedasis as sd
from skedasis.plots.draw_svg import draw
from skedasis.plots.figures.compare import compare_figure
from skedasis.plots.figures.options import RegionsPlotOptions
from skedasis.plots.figures.regions import (
    regions_figure,
    regions_overview_figure,
    short_rules,
)
from skedasis.plots.layout import arrange
from skedasis.plots.marks import Area, Line, Points, Rectangles, Segments, legend_of, marks_of
from skedasis.plots.text import Lettering
from skedasis.results.regions import RegionsByFeature, RegionScores
from tests.made_regions import (
    BY_DAY,
    TEMP,
    bikes,
    eight_regions,
    made_regions,
    rentals,
    sides,
)

HOSTILE = "<script>alert(1)</script>|\n" + "y" * 80


@pytest.fixture(scope="module")
def X():
    return bikes(1500)


@pytest.fixture(scope="module")
def two(X):
    return made_regions(rentals, X, "hr", [BY_DAY])


@pytest.fixture(scope="module")
def eight(X):
    return eight_regions(X)


@pytest.fixture(scope="module")
def one(X):
    return made_regions(rentals, X, "hr", [])


def test_panels_are_on_one_scale_with_the_whole_in_each(two):
    spec = regions_figure(two)
    assert [str(s[0].title) for s in spec.stacks] == [
        "[0] workingday = 0",
        "[1] workingday = 1",
    ]
    assert str(spec.heading) == spec.title == "hr: effect on prediction, 2 groups of rows (ALE)"
    # Each panel alone, as on a page, says of which rows it is.
    assert spec.stack_titles == (
        "hr, workingday = 0: effect on prediction (ALE)",
        "hr, workingday = 1: effect on prediction (ALE)",
    )
    first, second = spec.stacks[0][0], spec.stacks[1][0]
    assert first.x.range == second.x.range
    assert first.y.range == second.y.range
    low, high = first.y.range
    for panel, effect in ((first, two[0]), (second, two[1])):
        (whole,) = marks_of(panel, Line, "whole")
        np.testing.assert_array_equal(whole.y, two.whole.value)
        (line,) = marks_of(panel, Line, "hue0")
        np.testing.assert_array_equal(line.y, effect.value)
        assert low < line.y.min()
        assert line.y.max() < high
        (band,) = marks_of(panel, Area)
        np.testing.assert_allclose(band.lower, effect.interval()[0])
    assert f"{two.leaves[0].count:,} rows" in first.notes
    labels = [key.label for key in legend_of(spec.panels, spec.order)]
    assert labels[:2] == ["this group", "all rows"]


def test_scores_are_bars_below_their_curves_on_one_scale(two):
    scores = two.scores
    below = [stack[1] for stack in regions_figure(two).stacks]
    assert below[0].x.range == below[1].x.range
    assert set(below[0].x.room) == set(below[1].x.room)
    for panel, score in zip(below, scores.regions, strict=True):
        assert panel.y.labels == ("this group", "all rows")
        assert panel.y.label_text == "spread between rows (SD)"
        lengths = [r.right[0] for r in marks_of(panel, Rectangles)]
        np.testing.assert_allclose(lengths, [scores.whole, score])
        (whiskers,) = marks_of(panel, Segments, "whisker")
        whole = two.whole.interval(0.95, of="heterogeneity_score")
        np.testing.assert_allclose([whiskers.x0[0], whiskers.x1[0]], np.ravel(whole))


def test_scores_beside_the_curves_have_their_colours(two):
    bars = regions_figure(two, RegionsPlotOptions("together")).stacks[-1][0]
    assert bars.y.labels == ("left within the groups", "[1]", "[0]", "all rows")
    rectangles = list(marks_of(bars, Rectangles))
    lengths = np.concatenate([r.right for r in rectangles])
    s = two.scores
    np.testing.assert_allclose(lengths, [s.whole, *s.regions, s.within])
    # Bars differ by more than colour: the last one is hatched.
    assert [r.style for r in rectangles] == ["before", "hue0-bar", "hue1-bar", "bar-hatched"]


def test_a_small_figure_draws_the_curves_of_all_regions_together(two, eight):
    for regions in (two, eight):
        spec, letters = regions_figure(regions), Lettering(scale=0.875)
        small = arrange(spec, 72 * 3.3, 72 * 2.5, lettering=letters)
        ((panel,),) = small.stacks
        lines = [m for m in marks_of(panel.panel, Line) if m.style != "whole"]
        assert len(lines) == len(regions)
        known = [*regions, regions.whole]
        for line, effect in zip(lines, known, strict=False):
            np.testing.assert_array_equal(line.y, effect.value)
        assert len(small.keys) >= len(regions)
        assert "larger" not in " ".join(small.notes.lines)
    # Rules on the same features are as short as their values; the features are named once.
    labels, note = short_rules(two)
    assert labels == ("[0] 0", "[1] 1")
    assert note == ("groups by workingday",)


@pytest.mark.slow
def test_together_curves_differ_by_line_mark_and_rule(two, eight):
    spec = regions_figure(two, RegionsPlotOptions("together"))
    panel = spec.main
    lines = [m for m in marks_of(panel, Line) if m.style != "whole"]
    assert [m.label for m in lines] == ["[0] workingday = 0", "[1] workingday = 1"]
    bands = list(marks_of(panel, Area))
    assert [m.label for m in bands if len(m.x) == 0] == ["95 % interval"]  # their legend entry
    assert len(bands) == 2 + 1
    many = regions_figure(eight, RegionsPlotOptions("together"))
    assert len({m.style for m in marks_of(many.main, Line)}) == 9
    assert not list(marks_of(many.main, Area))
    assert len(regions_figure(eight).stacks) == 8


@pytest.mark.parametrize(
    ("explained", "kind"),
    [
        (("season", sd.PDP()), "panels"),
        (("date", sd.ALE(bins=6)), "together"),
        (("hr", sd.RHALE()), "panels"),
    ],
    ids=str,
)
def test_every_kind_of_feature_is_drawn_by_both_renderers(X, explained, kind):
    feature, method = explained
    r = made_regions(rentals, X.head(600), feature, [sides(TEMP, 0.5)], method=method)
    spec = regions_figure(r, RegionsPlotOptions(kind))
    assert "<svg" in str(draw(spec, ident="a").svg)
    figure = r.plot(kind=kind)
    drawn = [c for p in spec.panels for c in (*marks_of(p, Line), *marks_of(p, Points))]
    assert any(np.isfinite(m.y).any() for m in drawn)
    assert len(figure.axes) == len(spec.panels)


def test_alternative_text_describes_every_curve(two):
    alt = regions_figure(two).alt
    assert alt.startswith(
        "hr: effect on prediction, 2 groups of rows (ALE). The rule (2 groups of rows) explains"
    )
    assert "[1] workingday = 1: two peaks, at" in alt
    assert "within the groups." in alt


def test_options_are_checked(two, eight):
    with pytest.raises(sd.DataError, match="kind"):
        two.plot(kind="rows")
    with pytest.raises(sd.DataError, match="confidence_level"):
        two.plot(confidence_level=2)
    with pytest.raises(sd.DataError, match="columns"):
        two.plot(columns=0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        two.plot(foo=1)
    nine = replace(eight, effects=(*eight.effects, eight[0]))
    with pytest.raises(sd.DataError, match="at most 8"):
        regions_figure(nine, RegionsPlotOptions("together"))
    assert two.plot(columns=1, title="a", size=(4, 8)) is not None


def test_axes_of_the_user(two):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    two.plot(ax, kind="together")
    assert ax.lines
    with pytest.raises(sd.DataError, match="one panel"):
        two.plot(ax)


def test_compare_labels_effects_with_their_rules(two, eight):
    spec = compare_figure(two)
    assert [k.label for k in legend_of(spec.panels, spec.order)][:3] == [
        "workingday = 0",
        "workingday = 1",
        "all rows",
    ]
    spec = compare_figure([two[0], two[1]])
    assert spec.order == ("workingday = 0", "workingday = 1")
    assert len(compare_figure(eight).order) == 8
    ice = replace(two[1], spec=replace(two[1].spec, method="PDP"))
    assert compare_figure([two[0], ice]).order == ("ALE, workingday = 0", "PDP, workingday = 1")


def test_the_figure_of_one_effect_has_its_rule(two):
    figure = two[0].plot()
    assert figure.axes[0].get_title(loc="left") == "hr, workingday = 0: effect on prediction"
    assert "(ALE)" in [t.get_text() for t in figure.findobj(Text)]
    assert "workingday = 0" in two[0]._repr_html_()


def test_overview_draws_scores_before_and_after(two, one):
    many = RegionsByFeature({"a": one, "b": two})
    spec = regions_overview_figure(many)
    before, after = marks_of(spec.main, Rectangles)
    np.testing.assert_allclose(sorted(before.right), sorted([one.scores.whole, two.scores.whole]))
    np.testing.assert_allclose(after.right, [two.scores.within])
    (text,) = spec.main.texts
    assert text.texts[0].startswith("workingday, ")
    assert "1 feature without a split" in spec.main.notes
    shares = {k: replace(r, scores=RegionScores.unknown(len(r))) for k, r in many.items()}
    (bars,) = marks_of(regions_overview_figure(RegionsByFeature(shares)).main, Rectangles)
    np.testing.assert_allclose(sorted(bars.right), [0, 80])
    assert many.plot(top=1) is not None
    with pytest.raises(sd.DataError, match="no feature"):
        RegionsByFeature({}).plot()


def test_pages_have_the_tree_and_the_curves_in_words(two, tmp_path):
    page = two.explore(tmp_path / "r.html")
    assert "two peaks, at" in page.html
    assert "by workingday: explains" in page.html
    assert (tmp_path / "r.html").read_text("utf-8") == page.html
