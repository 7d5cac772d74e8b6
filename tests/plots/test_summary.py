"""Small figures for the first screen of a page: regions with their shares, an average curve, curves of models."""

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.plots.draw_svg import draw
from skedasis.plots.figures.summary import (
    HEIGHT,
    effect_summary_figure,
    models_summary_figure,
    regions_summary_figure,
)
from skedasis.plots.marks import Area, Line, Rug, marks_of
from tests.made_regions import (
    BY_DAY,
    TEMP,
    bikes,
    eight_regions,
    made_regions,
    rentals,
    sides,
)
from tests.plots.spec_helpers import legend, only, tips


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
def levels():
    """Return twelve levels with 12, 13, … 23 rows and the effect 0, 1, … 11."""
    names = np.repeat([f"level {k:02}" for k in range(12)], np.arange(12, 24))
    return pd.DataFrame({"kind": names, "x": np.linspace(0, 1, len(names))})


# --- regions ----------------------------------------------------------------------------------------


def test_labels_are_rules_with_the_share_of_rows(two, X):
    spec = regions_summary_figure(two)
    share = float((X["workingday"] == 0).mean())
    assert legend(spec) == [
        f"workingday = 0 ({100 * share:.0f} %)",
        f"workingday = 1 ({100 - 100 * share:.0f} %)",
        "all rows",
        "95 % interval",
    ]
    panel = spec.main
    assert (panel.notes, panel.height) == ((), HEIGHT)
    for i, effect in enumerate(two):
        np.testing.assert_array_equal(only(panel, Line, f"hue{i}").y, effect.value)
    np.testing.assert_array_equal(only(panel, Line, "whole").y, two.whole.value)
    assert only(panel, Rug).label == ""


def test_of_many_regions_the_heaviest_are_shown_in_their_order(eight):
    shares = eight.shares
    spec = regions_summary_figure(eight)
    lines = [m.y for m in marks_of(spec.main, Line) if m.style != "whole"]
    shown = [i for i in range(8) if shares[i] >= np.sort(shares)[-4]]
    assert len(lines) == 4
    for line, i in zip(lines, shown, strict=True):
        np.testing.assert_array_equal(line, eight[i].value)
    assert spec.main.notes == ("and 4 more groups of rows",)
    assert "And 4 more groups of rows." in spec.alt


def test_bands_are_drawn_for_at_most_three_regions(two, eight):
    spec = regions_summary_figure(two)
    bands = [m for m in marks_of(spec.main, Area) if m.style != "bands"]
    for band, effect in zip(bands, two, strict=True):
        np.testing.assert_array_equal(band.lower, effect.interval(0.95)[0])
    assert spec.alt.endswith("Bands: 95 % intervals.")
    many = regions_summary_figure(eight)
    assert not list(marks_of(many.main, Area))
    assert "Bands" not in many.alt


def test_tooltips_have_the_value_in_each_region(two):
    panel = regions_summary_figure(two).main
    labels = legend(regions_summary_figure(two))[:3]
    for tip in panel.tooltips[:: max(1, len(panel.tooltips) // 5)]:
        lines = tip.text.split("\n")
        assert lines[0].startswith("hr = ")
        assert [line.rsplit(" ", 1)[0] for line in lines[1:]] == labels


def test_alternative_text_describes_each_region(two):
    alt = regions_summary_figure(two).alt
    assert alt.startswith("hr: effect on prediction (ALE). The rule (2 groups of rows) explains")
    assert "workingday = 1 (" in alt
    assert "two peaks, at" in alt


# --- one effect -------------------------------------------------------------------------------------


ROWS, CURVES = ("average", "± spread between rows"), ("average", "± spread between curves")
MEANS = "mean prediction in the bin", "± SD of the rows in the bin"


@pytest.mark.parametrize(
    ("method", "entries"),
    [
        (sd.ALE(bins=8), ROWS),
        (sd.RHALE(), ROWS),
        (sd.PDP(grid=12), CURVES),
        (sd.ICE(grid=8), CURVES),
        (sd.MPlot(bins=6), MEANS),
    ],
)
def test_the_average_has_its_interval_and_heterogeneity(X, method, entries):
    effect = sd.explain(rentals, X, "hr", method=method)
    spec = effect_summary_figure(effect)
    (panel,) = spec.panels
    assert legend(spec)[:3] == [*entries, "95 % interval"]
    assert (panel.notes, panel.height) == ((), HEIGHT)
    line = only(panel, Line, "average")
    middle = only(panel, Area, "heterogeneity")
    centre = np.interp(middle.x, line.x, line.y)
    np.testing.assert_allclose((middle.lower + middle.upper) / 2, centre, atol=1e-9)
    at = np.interp(line.x[3], effect.points, effect.value)
    np.testing.assert_allclose(line.y[3] - at, line.y[0] - effect.value[0], atol=1e-9)
    first = tips(panel)[0]
    assert first[1].startswith(f"{entries[0]} ")
    assert first[3].startswith("95 % interval of the average: ")
    assert 2 <= len(panel.tooltips) <= 40
    assert all(tip.below == 0 for tip in panel.tooltips)
    assert effect.spec.method.replace("MPlot", "M-plot") in spec.alt


def test_missing_values_keep_their_place(X):
    rows = X.head(600).copy()
    rows["hum"] = np.where(np.arange(600) % 5 == 0, np.nan, np.linspace(0, 1, 600))
    effect = sd.explain(
        lambda X: np.nan_to_num(X["hum"].to_numpy(float), nan=3.0), rows, "hum", method=sd.PDP()
    )
    panel = effect_summary_figure(effect).main
    assert panel.x.missing_label
    assert sum("missing" in tip.text for tip in panel.tooltips) == 1


# --- every kind of feature --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("feature", "method"),
    [("season", sd.PDP()), ("date", sd.ALE(bins=6)), ("hr", sd.RHALE())],
)
def test_every_kind_of_feature_is_drawn_by_both_renderers(X, feature, method):
    r = made_regions(rentals, X.head(600), feature, [sides(TEMP, 0.5)], method=method)
    specs = (
        regions_summary_figure(r),
        effect_summary_figure(r.whole),
        models_summary_figure([r.whole, r[0]], ["a", "b"]),
    )
    from skedasis.plots import draw_matplotlib

    for spec in specs:
        assert draw(spec, ident="a", width=390).svg.startswith("<svg")
        assert len(draw_matplotlib.draw(spec).axes) == 1
