"""The figure of calibrations: points, intervals, diagonal, histogram, ranges that are wrong, overlaid models."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import skedasis as sd
from skedasis.plots.figures.calibration import calibration_figure, calibrations_figure
from skedasis.plots.marks import Line, Points, Rectangles, Segments, marks_of
from tests.helpers import refused
from tests.plots.specs import assert_readable, labels, mark


def first(X):
    return X[:, 0]


def made(method="bins", n=2000, scale=600.0, **options):
    rng = np.random.default_rng(0)
    X = rng.uniform(0, scale, size=(n, 1))
    y = np.minimum(X[:, 0], 5 * scale / 6) + rng.normal(0, scale / 12, size=n)
    q = sd.prediction(first, name="rentals", unit="bikes/h")
    return sd.calibration(q, X, y, method=method, **options)


def events(n=2000, power=1.0):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=(n, 1)) ** power
    return sd.calibration(
        sd.probability(first), p, (rng.uniform(size=n) < p[:, 0]).astype(int), method="bins"
    )


def test_points_are_mean_labels_at_mean_predictions():
    found = made()
    main, below = calibration_figure(found).panels
    points, whiskers = mark(main, Points, "numeric"), mark(main, Segments, "whisker")
    np.testing.assert_array_equal(points.x, [p.prediction for p in found.points])
    np.testing.assert_array_equal(points.y, [p.label for p in found.points])
    lower, upper = found.interval()
    np.testing.assert_array_equal(whiskers.y0, lower)
    np.testing.assert_array_equal(whiskers.y1, upper)
    diagonal = mark(main, Line, "ideal")
    np.testing.assert_array_equal(diagonal.x, diagonal.y)
    bars = mark(below, Rectangles, "margin")
    assert bars.upper.sum() == found.rows
    assert (main.notes, below.x) == (("2,000 rows", "10 bins"), main.x)
    assert (main.x.label, main.y.label) == ("rentals [bikes/h]", "mean label [bikes/h]")
    assert str(main.title) == "Calibration of rentals"
    (wrong,) = marks_of(main, Rectangles)
    assert (wrong.left[0], wrong.right[0]) == (found.deviations[0].low, found.deviations[0].high)


def test_an_isotonic_fit_has_intervals_where_predictions_are_many_and_where_they_are_few():
    found = made("isotonic")
    main = calibration_figure(found).main
    fit, points = mark(main, Line, "average"), mark(main, Points, "numeric")
    assert len(fit.x) == 2 * len(found.points)
    assert np.all(np.diff(fit.y) >= 0)
    assert len(points.x) == 10
    lower, upper = found.interval()
    whiskers = mark(main, Segments, "whisker")
    for x, y, low, high in zip(points.x, points.y, whiskers.y0, whiskers.y1, strict=True):
        (k,) = (i for i, p in enumerate(found.points) if p.low <= x <= p.high)
        assert (y, low, high) == (found.points[k].label, lower[k], upper[k])
    # Of predictions most of which are small, some intervals are at large ones.
    rng = np.random.default_rng(1)
    X = rng.exponential(size=(3000, 1)) ** 3
    skewed = sd.calibration(first, X, X[:, 0] + rng.normal(size=3000))
    x = mark(calibration_figure(skewed).main, Points, "numeric").x
    assert (x < np.median(X)).sum() >= 2
    assert (x > X.max() / 3).sum() >= 2


def test_the_level_of_the_intervals():
    found = made()
    narrow = mark(calibration_figure(found, 0.5).main, Segments, "whisker")
    wide = mark(calibration_figure(found).main, Segments, "whisker")
    assert np.all(narrow.y1 - narrow.y0 < wide.y1 - wide.y0)
    assert "50 % interval of the mean label" in labels(calibration_figure(found, 0.5))
    with refused(sd.DataError, "plot(confidence_level)", "95"):
        found.plot(confidence_level=95)


def test_probabilities_have_axes_from_0_to_1_unless_they_are_rare():
    main = calibration_figure(events()).main
    assert (main.x.least, main.x.most, main.y.label) == (0.0, 1.0, "observed proportion")
    rng = np.random.default_rng(0)
    p = 0.04 * rng.uniform(size=(4000, 1))
    y = (rng.uniform(size=4000) < p[:, 0]).astype(int)
    rare = sd.calibration(sd.probability(first), p, y, method="bins")
    main = calibration_figure(rare).main
    assert (main.x.least, main.y.least) == (0.0, 0.0)
    assert main.x.most < 0.2


def test_tooltips_cover_the_panel_and_contain_their_point():
    found = events()
    tips = calibration_figure(found).main.tooltips
    assert (tips[0].left, tips[-1].right) == (-np.inf, np.inf)
    assert all(a.right == b.left for a, b in itertools.pairwise(tips))
    for tip, point in zip(tips, found.points, strict=True):
        assert tip.left < point.prediction < tip.right
        assert "mean label" in tip.text
        assert tip.text.endswith("200 rows")


def test_the_alternative_text_has_the_points_and_what_is_wrong():
    found = made()
    alt = calibration_figure(found).alt
    assert "Calibration of rentals: Mean label" in alt
    assert "too high by" in alt
    assert alt.count("predicted") == len(found.points)


def test_models_are_overlaid():
    both = {"old": made(), "new": made("isotonic", scale=500.0)}
    spec = calibrations_figure(both)
    main, below = spec.panels
    assert [m.label for m in marks_of(main, Points)] == ["old", "new"]
    assert [m.style for m in marks_of(main, Points)] == ["hue0-vertex", "hue1-vertex"]
    assert len(list(marks_of(below, Line))) == 2
    assert "Calibration of rentals, old: Mean label" in spec.alt
    assert_readable(spec)
    with refused(sd.DataError, "plot", "9 models"):
        calibrations_figure({str(k): both["old"] for k in range(9)})


def test_models_and_classes_are_drawn_by_plot():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=(500, 1))
    y = (rng.uniform(size=500) < p[:, 0]).astype(int)
    one = sd.probability(first)
    two = sd.calibration({"a": one, "<b>": sd.probability(lambda X: X[:, 0] ** 2)}, p, y)
    assert len(two.plot().axes) == 2
    assert "<b>" not in two.explore().html.split("<body", 1)[-1].replace("&lt;b&gt;", "")
    model = LogisticRegression().fit(p, y)
    every = sd.calibration(sd.probability(model, class_="all"), p, y)
    assert len(every.plot().axes) == 4  # of each class, the points and the histogram


@pytest.mark.parametrize("method", ["bins", "isotonic"])
@pytest.mark.parametrize("n", [1, 2, 5, 60])
def test_few_rows_are_readable(method, n):
    assert_readable(calibration_figure(made(method, n)))


def test_points_without_an_interval_are_drawn():
    found = made(bins=2)
    bare = replace(found, points=tuple(replace(p, std_error=np.nan) for p in found.points))
    main = calibration_figure(bare).main
    assert len(mark(main, Points, "numeric").x) == 2
    assert len(mark(main, Segments, "whisker").x0) == 0
    assert_readable(calibration_figure(bare))
