"""The figure of the difference of two effects: what is drawn where, its words, and its options."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

import skedasis as sd
from skedasis.plots.figures.effect_difference import effect_difference_figure
from skedasis.plots.marks import Area, Line, Points, Segments
from tests.helpers import refused


def rows(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "x": rng.uniform(-1, 1, n),
            "z": rng.normal(seed, 1, n),
            "town": rng.choice(["A", "B", "C"], n),
        }
    )


def model(X: pd.DataFrame) -> Any:
    return X["z"] * (X["x"] + X["town"].map({"A": 0.0, "B": 1.0, "C": 3.0}))


def difference(feature: str) -> sd.EffectDifference:
    q = sd.prediction(model, name="rent", unit="EUR")
    method = sd.ALE(bins=sd.Edges([-1, -0.5, 0, 0.5, 1])) if feature == "x" else sd.ALE()
    new, old = (sd.explain(q, rows(n, k), feature, method=method) for k, n in ((1, 200), (2, 300)))
    return new - old


def marks(spec: Any, panel: int, kind: type) -> list[Any]:
    return [mark for mark in spec.stacks[0][panel].marks if isinstance(mark, kind)]


def test_the_band_surrounds_the_difference_and_both_curves_are_below():
    d = difference("x")
    spec = effect_difference_figure(d)
    (band,) = marks(spec, 0, Area)
    lower, upper = d.interval(simultaneous=True)
    np.testing.assert_array_equal([band.lower, band.upper], [lower, upper])
    assert band.label == "95 % simultaneous band"
    curves = {line.label: line.y for line in marks(spec, 0, Line) if line.label}
    np.testing.assert_array_equal(curves["difference"], d.value)
    both = {line.label: line.y for line in marks(spec, 1, Line)}
    np.testing.assert_array_equal(both["first (200 rows)"], d.first)
    np.testing.assert_array_equal(both["second (300 rows)"], d.second)
    main = spec.main
    assert str(main.title) == "x: difference in the effect on rent (ALE)"
    assert main.y.range[0] <= 0 <= main.y.range[1]
    assert any(note.startswith("p < 0.001") for note in main.notes)
    assert all(text in spec.alt for text in d.remarks)


def test_a_band_beyond_the_panel_is_said_to_be():
    said = "some intervals are off the scale"
    assert said not in effect_difference_figure(difference("x")).main.notes
    wide = replace(difference("x"), std_error=np.full(5, 1e3))
    assert said in effect_difference_figure(wide, simultaneous=False).main.notes


def test_levels_have_points_side_by_side_and_intervals():
    d = difference("town")
    spec = effect_difference_figure(d, confidence_level=0.9, simultaneous=False)
    (bars,) = (mark for mark in marks(spec, 0, Segments) if mark.label)
    lower, upper = d.interval(0.9)
    np.testing.assert_array_equal([bars.y0, bars.y1], [lower, upper])
    assert bars.label == "90 % interval"
    first, second = marks(spec, 1, Points)
    assert (first.x < second.x).all()
    assert len(spec.main.tooltips) == len(d.x) == 3
    assert "first minus second" in spec.main.tooltips[0].text


def test_options_are_checked():
    with refused(sd.DataError, "simultaneous"):
        difference("x").plot(simultaneous="yes")  # type: ignore[arg-type]
    with refused(sd.DataError, "confidence_level"):
        difference("x").plot(confidence_level=2.0)
