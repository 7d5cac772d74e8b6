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
    recurrence_figure,
    regions_figure,
    regions_overview_figure,
)
from skedasis.plots.figures.summary import regions_summary_figure
from skedasis.plots.marks import Area, Line, Points, Rectangles, Segments, legend_of, marks_of
from skedasis.results.regions import MultiModelRegions, RegionsByFeature, RegionScores
from tests.made_regions import (
    BY_DAY,
    SEASON,
    TEMP,
    bikes,
    level_sides,
    made_regions,
    rentals,
    sides,
    unstable,
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
    splits = [BY_DAY, sides(TEMP, 0.5), level_sides(SEASON, ["winter"])]
    return made_regions(rentals, X, "hr", splits)


@pytest.fixture(scope="module")
def one(X):
    return made_regions(rentals, X, "hr", [])


def test_panels_are_on_one_scale_with_the_whole_in_each(two):
    spec = regions_figure(two)
    assert [str(s[0].title) for s in spec.stacks] == [
        "[0] workingday = 0",
        "[1] workingday = 1",
        "Heterogeneity",
    ]
    assert str(spec.heading) == spec.title == "hr: effect on prediction, 2 regions (ALE)"
    # Each panel alone, as on a page, says of which rows it is.
    assert spec.stack_titles == (
        "hr, workingday = 0: effect on prediction (ALE)",
        "hr, workingday = 1: effect on prediction (ALE)",
        "hr: heterogeneity of the effect on prediction, 2 regions (ALE)",
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
    assert labels[:2] == ["region", "all rows"]


def test_scores_are_bars_with_intervals(two):
    bars = regions_figure(two).stacks[-1][0]
    assert bars.y.labels == ("within regions", "[1]", "[0]", "all rows")
    rectangles = list(marks_of(bars, Rectangles))
    lengths = np.concatenate([r.right for r in rectangles])
    s = two.scores
    np.testing.assert_allclose(lengths, [s.whole, *s.regions, s.within])
    (whiskers,) = marks_of(bars, Segments, "whisker")
    whole = two.whole.interval(0.95, of="heterogeneity_score")
    np.testing.assert_allclose([whiskers.x0[0], whiskers.x1[0]], np.ravel(whole))
    # Bars differ by more than colour: the last one is hatched.
    assert [r.style for r in rectangles] == ["before", "bar", "bar-hatched"]


@pytest.mark.slow
def test_together_curves_differ_by_line_mark_and_rule(two, eight):
    spec = regions_figure(two, RegionsPlotOptions("together"))
    panel = spec.main
    lines = [m for m in marks_of(panel, Line) if m.style != "whole"]
    assert [m.label for m in lines] == ["[0] workingday = 0", "[1] workingday = 1"]
    assert len(list(marks_of(panel, Area))) == 2
    many = regions_figure(eight, RegionsPlotOptions("together"))
    assert len({m.style for m in marks_of(many.main, Line)}) == 9
    assert not list(marks_of(many.main, Area))
    assert len(regions_figure(eight).stacks) == 9


def test_long_rules_are_notes_which_are_broken_into_lines(eight):
    panel = regions_figure(eight).main
    assert str(panel.title) == "[0]"
    assert panel.notes[0] == eight.rules[0]


def test_a_rule_with_an_unstable_split_is_no_title(two, X):
    four = made_regions(rentals, X, "hr", [BY_DAY, sides(TEMP, 0.5)])
    assert str(regions_figure(four).main.title) == "[0] workingday = 0 and temp ≤ 0.5"
    shown = unstable(four, 4)
    spec = regions_figure(shown)
    other = "another split does about as well: season in {winter}"
    stable, *_ = (stack[0] for stack in spec.stacks[:2])
    doubtful = spec.stacks[2][0]
    assert str(stable.title) == "[0] workingday = 0 and temp ≤ 0.5"
    assert (str(doubtful.title), *doubtful.notes[:2]) == ("[2]", four.rules[2], other)
    together = regions_figure(shown, RegionsPlotOptions("together"))
    assert f"where workingday = 1, {other}" in together.notes
    small = regions_summary_figure(shown).main
    assert f"where workingday = 1, {other}" in small.notes
    overview = regions_overview_figure(RegionsByFeature({"hr": unstable(two, 0)})).main
    (text,) = overview.texts
    assert text.texts[0].startswith("workingday or another, ")


def test_shares_of_the_loss_below_0_have_no_bar(two):
    none = replace(two, scores=RegionScores.unknown(2), loss_explained=-0.17)
    panel = regions_overview_figure(RegionsByFeature({"hr": none})).main
    (bars,) = marks_of(panel, Rectangles)
    assert (bars.left.tolist(), bars.right.tolist()) == ([0.0], [0.0])
    assert "no measurable part" in panel.texts[0].texts[0]


def test_one_region_has_one_panel_and_no_bars(one):
    spec = regions_figure(one)
    assert len(spec.stacks) == 1
    assert not list(marks_of(spec.main, Line, "whole"))
    assert "one region: no heterogeneity" in spec.notes
    assert one.plot() is not None


def test_without_scores_the_figure_says_so(two):
    none = replace(two, scores=RegionScores.unknown(2))
    spec = regions_figure(none)
    assert len(spec.stacks) == 2
    assert "heterogeneity scores not computed" in spec.notes
    hidden = regions_figure(two, RegionsPlotOptions(scores=False))
    assert len(hidden.stacks) == 2
    assert "heterogeneity scores not computed" not in hidden.notes


@pytest.mark.many
@pytest.mark.thinned
@pytest.mark.parametrize(
    "explained",
    [
        pytest.param((name, method), id=f"{name} {method.name}")
        for name, method in (
            ("season", sd.ALE()),
            ("season", sd.PDP()),
            ("date", sd.ALE(bins=6)),
            ("workingday", sd.ALE()),
            ("hr", sd.PDP(grid=12)),
            ("hr", sd.RHALE()),
        )
    ],
)
@pytest.mark.parametrize("kind", ["panels", "together"])
def test_every_kind_of_feature_is_drawn_by_both_renderers(X, explained, kind):
    feature, method = explained
    r = made_regions(rentals, X.head(600), feature, [sides(TEMP, 0.5)], method=method)
    spec = regions_figure(r, RegionsPlotOptions(kind))
    assert "<svg" in str(draw(spec, ident="a").svg)
    figure = r.plot(kind=kind)
    drawn = [c for p in spec.panels for c in (*marks_of(p, Line), *marks_of(p, Points))]
    assert any(np.isfinite(m.y).any() for m in drawn)
    assert len(figure.axes) == len(spec.stacks)


def test_levels_of_regions_are_at_the_places_of_the_whole(X):
    # In the second region winter does not occur.
    r = made_regions(
        rentals, X, "season", [level_sides(SEASON, ["winter", "fall"])], method=sd.ALE()
    )
    spec = regions_figure(r)
    names = spec.main.x.labels
    (points,) = marks_of(spec.stacks[1][0], Points, "hue0-vertex")
    there = {names[round(float(x))] for x in points.x}
    assert there == {"spring", "summer"}


def test_alternative_text_describes_every_curve(two):
    alt = regions_figure(two).alt
    assert alt.startswith("hr: effect on prediction, 2 regions (ALE). 2 regions explain")
    assert "[1] workingday = 1: two peaks, at" in alt
    assert "within the regions." in alt


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


def test_recurrence_counts_models(two, one):
    found = MultiModelRegions((two, two, one))
    spec = recurrence_figure(found)
    (bars,) = marks_of(spec.main, Rectangles)
    assert bars.right.tolist() == [2, 1]
    assert spec.main.texts[0].texts[0] == "workingday = 0"
    assert found.plot() is not None


@pytest.mark.parametrize("kind", ["panels", "together"])
def test_hostile_names_are_escaped_and_shortened(two, kind):
    feature = replace(two.whole.about.feature, name=HOSTILE, unit="<b>")
    about = replace(two.whole.about, feature=feature)
    nodes = tuple(replace(n, rule=f"{HOSTILE} = {n.region}") for n in two.nodes)
    effects = tuple(
        replace(e, about=about, provenance={**e.provenance, "rule": n.rule})
        for e, n in zip(two, nodes[1:], strict=True)
    )
    bad = replace(two, effects=effects, whole=replace(two.whole, about=about), nodes=nodes)
    many = RegionsByFeature({HOSTILE: bad})
    models = MultiModelRegions((bad, bad))
    for page in (bad.explore(kind=kind), many.explore(), models.explore()):
        assert "<script>alert" not in page.html
        assert "<b>" not in page.html
    for shown in (bad._repr_html_(), many._repr_html_(), models._repr_html_()):
        assert "<script>" not in shown
        assert "&lt;script&gt;" in shown
    bad.plot(kind=kind).canvas.draw()
    many.plot().canvas.draw()
    models.plot().canvas.draw()
    sd.compare(bad).canvas.draw()


def test_pages_have_the_tree_and_the_curves_in_words(two, tmp_path):
    page = two.explore(tmp_path / "r.html")
    assert "two peaks, at" in page.html
    assert "split on workingday explains" in page.html
    assert (tmp_path / "r.html").read_text("utf-8") == page.html
