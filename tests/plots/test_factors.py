"""Figures of factors: what is drawn where, on a log axis with ticks that are each other's reciprocals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.plots.figures.factors import factors_figure, rating_table_figure
from skedasis.plots.marks import Area, Line, Points, Rectangles, Segments, marks_of
from skedasis.plots.scales import PlotAxis
from skedasis.plots.ticks import round_ticks
from skedasis.results.factors import Factor, Factors, RatingTable

NAN = math.nan


def line(
    text: str,
    factor: float,
    share: float,
    observed: tuple[float, ...] = (),
    position: float = 0.0,
    *,
    base: bool = False,
) -> Factor:
    ends = (NAN, NAN) if base else (factor / 1.1, factor * 1.1)
    limits = tuple(v / 1.2 for v in observed), tuple(v * 1.2 for v in observed)
    cell = "", position, None, None
    numbers = *ends, 0.0 if base else 0.05, base, 100 * share, 50 * share, share
    return Factor(text, text, *cell, factor, *numbers, observed, *limits)


def levels(*splits: str) -> Factors:
    n = len(splits)
    lines = (
        line("a", 0.5, 0.2, (0.6, 0.7)[:n], 0),
        line("b", 1.0, 0.5, (1.0, 1.0)[:n], 1, base=True),
        line("c", 2.0, 0.3, (0.0, 1.6)[:n], 2),
    )
    return Factors("town", "claims", "ALE", lines, levels=True, split_values=splits)


def test_a_level_has_a_point_with_its_interval_and_the_base_stands_out():
    main, exposure = factors_figure(levels()).stacks[0]
    assert main.y.log
    assert main.y.name == "factor of claims"
    (base,) = marks_of(main, Points, "independent")
    assert (base.x.tolist(), base.y.tolist(), base.label) == ([1.0], [1.0], "base")
    (points,) = marks_of(main, Points, "vertex")
    assert (points.x.tolist(), points.y.tolist()) == ([0.0, 2.0], [0.5, 2.0])
    (bars,) = marks_of(main, Segments, "interval-bar")
    assert bars.y0.tolist() == pytest.approx([0.5 / 1.1, 2 / 1.1])
    assert bars.label == "95 % interval of the factor"
    (zero,) = marks_of(main, Segments, "zero")
    assert zero.y0.tolist() == [1.0]
    (shares,) = marks_of(exposure, Rectangles, "count")
    assert shares.upper.tolist() == pytest.approx([20, 50, 30])
    assert exposure.y.name == "exposure"
    assert main.notes == ("base b",)
    below = replace(levels(), lines=(line("-2", 1.0, 1.0, (), 0, base=True),))
    assert factors_figure(below).stacks[0][0].notes == ("base −2",)
    assert main.tooltips[0].text == (
        "town: a\nfactor 0.500 (95 % interval 0.455 to 0.550)\n20 % of the exposure"
    )
    assert main.tooltips[1].text.splitlines()[1] == "factor 1, the base"


def test_observed_factors_are_beside_the_factors_and_zero_is_said():
    main, _ = factors_figure(levels("")).stacks[0]
    (points,) = marks_of(main, Points, "observed")
    assert points.y.tolist() == [0.6, 1.0]  # 0 has no logarithm
    assert (points.x - [0, 1]).min() > 0.05
    assert "1 observed factor off the scale" in main.notes
    hidden, _ = factors_figure(levels(""), observed=False).stacks[0]
    assert not list(marks_of(hidden, Points, "observed"))
    assert "observed 0.600 (0.500 to 0.720)" in main.tooltips[0].text


def test_each_value_of_a_split_has_a_style_of_its_own():
    main, _ = factors_figure(levels("train", "test")).stacks[0]
    one, two = (next(iter(marks_of(main, Points, f"observed{k}"))) for k in (0, 1))
    assert (one.label, two.label) == ("observed, train", "observed, test")
    assert two.x[0] > one.x[0] > 0
    assert two.y.tolist() == [0.7, 1.0, 1.6]


def test_a_numeric_feature_is_a_curve_whose_interval_closes_at_the_base():
    lines = (
        line("20", 1.5, 0.2, position=20),
        line("30", 1.0, 0.4, position=30, base=True),
        line("60", 0.8, 0.4, position=60),
    )
    found = Factors("age", "claims", "ALE", lines, feature_unit="a")
    main, exposure = factors_figure(found).stacks[0]
    (curve,) = marks_of(main, Line, "average")
    assert (curve.x.tolist(), curve.y.tolist()) == ([20, 30, 60], [1.5, 1, 0.8])
    (area,) = marks_of(main, Area, "interval")
    assert area.upper.tolist() == pytest.approx([1.65, 1, 0.88])
    assert main.x.unit == "a"
    (bars,) = marks_of(exposure, Rectangles, "count")
    assert bars.left[1:].tolist() == [25, 45]
    assert main.tooltips[0].text.startswith("age: 20 a\n")


def test_values_of_a_split_over_a_number_are_not_on_top_of_each_other():
    lines = (line("1", 0.5, 0.5, (0.6, 0.6), 1), line("2", 1.0, 0.5, (1, 1), 2, base=True))
    found = Factors("age", "claims", "ALE", lines, split_values=("test", "train"))
    main, _ = factors_figure(found).stacks[0]
    one, two = (next(iter(marks_of(main, Points, f"observed{k}"))).x for k in (0, 1))
    assert one[0] < 1 < two[0]
    assert two[0] - one[0] < 0.05


def test_missing_values_are_beside_the_axis():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": np.where(rng.uniform(size=400) < 0.1, np.nan, rng.normal(size=400))})
    q = sd.prediction(lambda X: np.exp(X["a"].fillna(1.0).to_numpy()), inverse="log")
    found = sd.explain(q, X, "a", method="ale").factors()
    main, exposure = factors_figure(found).stacks[0]
    (point,) = marks_of(main, Points, "missing")
    assert point.x.tolist() == [main.x.asides[-1].at]
    (bars,) = marks_of(exposure, Rectangles, "count")
    assert len(bars.left) == len(found)
    assert bars.left[-1] == main.x.asides[-1].left
    assert "missing" in main.tooltips[-1].text


def test_of_many_levels_the_base_and_those_with_most_exposure_are_shown():
    lines = [line(f"l{k:02d}", 1 + k / 60, 0.001 * (k + 1), position=k) for k in range(60)]
    lines[3] = line("l03", 1.0, 0.004, position=3, base=True)
    main, _ = factors_figure(Factors("town", "claims", "ALE", tuple(lines), levels=True)).stacks[0]
    assert len(main.x.labels) == 40
    assert main.x.labels[0] == "l03"
    assert main.x.labels[-1] == "l59"
    assert "the 40 levels with most exposure are shown, 20 are not" in main.notes


def test_factors_that_do_not_differ_are_no_noise():
    lines = (line("a", 1.0 + 1e-9, 0.5), line("b", 1.0, 0.5, position=1, base=True))
    main, _ = factors_figure(Factors("town", "claims", "ALE", lines, levels=True)).stacks[0]
    low, high = main.y.range
    assert low < 0.99 < 1.01 < high


def test_intervals_of_few_rows_are_not_drawn_and_do_not_stretch_the_axis():
    few = replace(line("d", 1.2, 0.08, (0.01,), 3), lower=0.01, upper=100.0, rows=8)
    few = replace(few, observed_lower=(NAN,), observed_upper=(NAN,))
    whole = levels("")
    found = replace(whole, lines=(*whole.lines[:2], line("c", 2.0, 0.3, (1.7,), 2), few))
    main, _ = factors_figure(found).stacks[0]
    low, high = main.y.range
    assert 0.3 < low < 0.5 < 2 < high < 3
    (bars,) = marks_of(main, Segments, "interval-bar")
    assert bars.x0.tolist() == [0, 2]
    (points,) = marks_of(main, Points, "vertex")
    assert points.x.tolist() == [0, 2, 3]
    assert main.notes[1:] == ("1 observed factor off the scale",)
    assert main.tooltips[3].text.splitlines() == [
        *("town: d", "factor 1.20", "observed 0.0100", "8 % of the exposure"),
        "fewer than 10 rows: unreliable",
    ]


def test_the_interval_of_a_curve_has_no_part_over_few_rows():
    lines = [line(str(k), 1 + k / 10, 0.2, position=k, base=k == 0) for k in range(4)]
    lines[3] = replace(lines[3], lower=1e-3, upper=1e3, rows=2)
    main, _ = factors_figure(Factors("age", "claims", "ALE", tuple(lines))).stacks[0]
    (area,) = marks_of(main, Area, "interval")
    assert np.isfinite(area.upper).tolist() == [True, True, True, False]
    assert main.y.range[1] < 2


def test_notes_of_a_rating_table_are_about_its_shared_axis():
    wide, narrow = levels(""), levels("")
    wide = replace(wide, feature="wide", lines=(line("x", 0.001, 0.3), *wide.lines[1:2]))
    wide = replace(wide, split_values=(), lines=tuple(replace(f, observed=()) for f in wide))
    few = replace(line("d", 1.2, 0.08, (0.01,), 3), observed_lower=(NAN,), observed_upper=(NAN,))
    narrow = replace(narrow, lines=(*narrow.lines[:2], few))
    assert "off the scale" in str(factors_figure(narrow).stacks[0][0].notes)
    table = RatingTable((wide, narrow), 1.0, "claims")
    assert all("off" not in str(stack[0].notes) for stack in rating_table_figure(table).stacks)


def test_a_rating_table_has_one_log_axis_and_begins_with_what_differs_most():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.choice(["x", "y"], 300), "b": rng.uniform(0, 1, 300), "c": 1.0})
    q = sd.prediction(
        lambda X: np.exp(0.1 * (X["a"] == "y") + 2 * X["b"]), inverse="log", name="rate"
    )
    table = sd.explain(q, X, method="ale").factors()
    spec = rating_table_figure(table)
    assert [str(stack[0].title) for stack in spec.stacks] == ["b", "a", "c"]
    assert len({stack[0].y.range for stack in spec.stacks}) == 1
    assert str(spec.heading) == "3 features: factors of rate"
    assert spec.notes[0].startswith("at the base of all features rate is ")
    assert len(rating_table_figure(table, top=2).stacks) == 2


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.45, 2.2, (0.5, 1, 2)),
        (0.75, 2.2, (0.8, 1, 1.25, 2)),
        (0.7, 1.7, (0.8, 1, 1.25)),
        (0.9, 1.15, (0.9, 0.95, 1, 1.05, 1.1, 1.15)),
        (0.2, 30, (1, 10)),
        (30.0, 80.0, (30, 40, 50, 60, 70, 80)),
    ],
)
def test_ticks_around_one_are_reciprocals(low, high, ticks):
    axis = PlotAxis("factor", None, low, high, 0.0, log=True)
    found = round_ticks(axis, 6)
    if high < 30:
        assert found == pytest.approx(ticks)
        assert any(abs(t - 1) < 1e-12 for t in found)
    else:
        assert set(ticks) <= set(found) or found == pytest.approx(ticks)
