"""Overview figures: points, parts and bins are the given numbers; any input is readable."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import skedasis as sd
from skedasis.plots.figures.overview import (
    ImportancePoint,
    ReliabilityBins,
    calibration_figure,
    importance_points,
    overview_figure,
)
from skedasis.plots.layout import arrange
from skedasis.plots.marks import Line, Points, Rectangles, Segments, marks_of
from skedasis.plots.theme import STYLES
from tests.helpers import refused
from tests.plots.specs import assert_readable, box_of, labels, mark, tips

RNG = np.random.default_rng(4127)
NAMES = [
    "age",
    "<script>alert(1)</script>",
    '"quoted" & more',
    "x" * 500,
    "العمر",
    "数量与质量",
    "😀 \x00\ud800",
    "",
]


def place(name, x, y, kind="continuous", *, ends=None):
    """Return a point of the scatter plot."""
    return ImportancePoint(name, kind, x, y, *(ends or (None, None)))


class TestOverview:
    GIVEN = (
        place("age", 2.0, 1.0, ends=((1.8, 2.2), (0.7, 1.4))),
        place("sex", 0.5, 0.9, "nominal", ends=((0.3, 0.6), None)),
        place("grade", 1.2, 0.2, "ordinal"),
        place("trees", 1.0, 3.0, ends=((0.9, 1.1), (2.5, 3.6))),
    )

    def test_points_lie_where_features_are(self):
        panel = overview_figure(self.GIVEN).main
        found = {
            kind: set(zip(points.x, points.y, strict=True))
            for kind in ("numeric", "ordinal", "nominal")
            for points in [mark(panel, Points, kind)]
        }
        assert found == {
            "numeric": {(2.0, 1.0), (1.0, 3.0)},
            "ordinal": {(1.2, 0.2)},
            "nominal": {(0.5, 0.9)},
        }
        assert len({STYLES[kind].shape for kind in found}) == 3

    def test_both_axes_have_the_same_range(self):
        panel = overview_figure(self.GIVEN).main
        assert panel.x.limits == panel.y.limits
        diagonal = mark(panel, Line, "equal")
        np.testing.assert_array_equal(diagonal.x, diagonal.y)
        np.testing.assert_array_equal(diagonal.x, panel.x.limits)
        assert panel.x.limits[0] < 0
        assert panel.x.limits[1] > 3.6

    def test_intervals(self):
        cross = mark(overview_figure(self.GIVEN, confidence_level=0.9).main, Segments, "cross")
        lines = np.column_stack([cross.x0, cross.y0, cross.x1, cross.y1])
        level = [(0.3, 0.9, 0.6, 0.9), (0.9, 3.0, 1.1, 3.0), (1.8, 1.0, 2.2, 1.0)]
        upright = [(1.0, 2.5, 1.0, 3.6), (2.0, 0.7, 2.0, 1.4)]
        assert sorted(map(tuple, lines)) == sorted([*level, *upright])
        assert cross.label == "90 % intervals"

    def test_legend(self):
        equal = "heterogeneity score = importance"
        assert labels(overview_figure(self.GIVEN)) == [
            "numeric",
            "ordinal",
            "nominal",
            "95 % intervals",
            equal,
        ]
        assert labels(overview_figure(self.GIVEN[2:3])) == ["ordinal", equal]

    def test_points_link_to_their_features(self):
        links = {p.feature: f"#at-{k}" for k, p in enumerate(self.GIVEN)}
        found = overview_figure(self.GIVEN, links=links).main.tooltips
        assert [(t.feature, t.link) for t in found] == [
            ("age", "#at-0"),
            ("grade", "#at-2"),
            ("trees", "#at-3"),
            ("sex", "#at-1"),
        ]
        assert (found[1].left, found[1].lower) == (found[1].right, found[1].upper) == (1.2, 0.2)
        assert not any(t.link for t in overview_figure(self.GIVEN).main.tooltips)

    def test_tooltips_and_alternative_text(self):
        spec = overview_figure(self.GIVEN, x_label="importance (log-odds)")
        assert tips(spec)[0] == (
            "age\nimportance 2.00 (1.80 to 2.20)\nheterogeneity score 1.00 (0.700 to 1.40)\nnumeric"
        )
        assert tips(spec)[3] == (
            "sex\nimportance 0.500 (0.300 to 0.600)\nheterogeneity score 0.900\nnominal"
        )
        assert spec.alt == (
            "4 features: importance (log-odds) on the horizontal axis, heterogeneity score on the vertical axis. "
            "Most important: age 2.00 and 1.00; grade 1.20 and 0.200; trees 1.00 and 3.00; sex 0.500 and 0.900."
        )

    def test_names_touch_neither_points_nor_one_another(self):
        given = [place(f"feature {k}", *RNG.gamma(1.0, size=2)) for k in range(40)]
        spec = overview_figure(given)
        placed = arrange(spec, 320.0)
        (panel,) = placed.panels
        boxes = [box_of(placed, t) for t in panel.texts if t.style == "name"]
        assert 5 < len(boxes) <= 14
        for p in given:
            x, y = (
                float(panel.frame.across(p.importance)),
                float(panel.frame.up(p.heterogeneity_score)),
            )
            assert not any(a < x < c and b < y < d for a, b, c, d in boxes)
        # Features that stand out have names, on either axis.
        first = {
            max(given, key=lambda p: p.importance),
            max(given, key=lambda p: p.heterogeneity_score),
        }
        assert {p.feature for p in first} <= set(spec.main.names.names)

    def test_a_wide_interval_does_not_flatten_all_points(self):
        given = [place("x", 1.0, 1.0, ends=((0.0, 1e9), (0.0, 1e9))), place("y", 0.5, 0.1)]
        assert overview_figure(given).main.x.limits[1] < 2.5

    @pytest.mark.parametrize(
        "given",
        [
            [],
            [place("x", 0.0, 0.0)],
            [place("x", 1.0, 1.0), place("y", 1.0, 1.0)],
            [place("x", 1e-12, 3e-12), place("y", 2e-12, 0.0)],
            [place("x", 1e12, 3e12), place("y", 0.0, 0.0)],
            [place("x", 1e-310, 1e-310)],
            [place("x", 1.0, 1.0, ends=((-math.inf, math.inf), (math.nan, math.nan)))],
            [place("x", math.nan, 1.0), place("y", 1.0, math.inf)],
            [place("x", 0.0, 5.0)],
            [place(n, k + 1.0, 1.0) for k, n in enumerate(NAMES)],
            [place(f"f{k}", *RNG.gamma(0.3, size=2)) for k in range(200)],
        ],
    )
    def test_extremes(self, given):
        spec = overview_figure(given)
        assert_readable(spec)
        known = [p for p in given if math.isfinite(p.importance + p.heterogeneity_score)]
        assert sum(len(m.x) for m in marks_of(spec.main, Points)) == len(known)
        assert len(tips(spec)) == len(known)
        hidden = len(given) - len(known)
        expected = (f"{hidden} features without a heterogeneity score",) if hidden else ()
        assert spec.notes == (("no features",) if not given else expected)

    def test_points_of_effects_have_the_intervals_of_the_library(self):
        X = np.random.default_rng(0).normal(size=(300, 3))
        X[:, 2] = 1.0
        effects = sd.explain(lambda X: X[:, 0] * (1 + X[:, 1]), X, method=sd.RHALE())
        points = importance_points(effects)
        assert [p.feature for p in points] == [rank.feature for rank in effects.ranking()]
        by_name = {p.feature: p for p in points}
        assert by_name["x2"].importance_ends is None  # a constant has no bootstrap
        for name in ("x0", "x1"):
            p, effect = by_name[name], effects[name]
            assert (p.importance, p.kind) == (effect.importance, "continuous")
            assert p.importance_ends is not None
            assert p.importance_ends[0] < p.importance < p.importance_ends[1]
            low, high = effect.interval(0.95, of="heterogeneity_score")
            assert p.heterogeneity_score_ends == (float(low), float(high))
        narrow = importance_points(effects, confidence_level=0.5)[0].importance_ends
        wide = points[0].importance_ends
        assert wide[0] < narrow[0] < narrow[1] < wide[1]
        with refused(sd.DataError, "plot(confidence_level)", "95"):
            importance_points(effects, 95)


def reliability(p, o, count, half=0.05):
    """Return bins of predicted probabilities."""
    p, o = np.asarray(p, dtype=float), np.asarray(o, dtype=float)
    return ReliabilityBins(p - 0.01, p + 0.01, p, o, o - half, o + half, np.asarray(count))


class TestCalibration:
    def test_points_lie_at_predicted_and_observed(self):
        given = reliability([0.05, 0.3, 0.9], [0.1, 0.2, 0.95], [10, 1000, 40])
        main, rows = calibration_figure(given).panels
        points, whiskers = mark(main, Points, "numeric"), mark(main, Segments, "whisker")
        np.testing.assert_array_equal(points.x, given.predicted)
        np.testing.assert_array_equal(points.y, given.observed)
        np.testing.assert_array_equal(whiskers.y0, given.lower)
        np.testing.assert_array_equal(whiskers.y1, given.upper)
        bars = mark(rows, Rectangles, "margin")
        np.testing.assert_allclose(bars.left, given.left)
        np.testing.assert_allclose(bars.right, given.right)
        np.testing.assert_array_equal(bars.upper, given.count)
        assert (main.notes, main.x) == (("1,050 rows", "3 bins"), rows.x)

    def test_tooltips_cover_the_panel_and_contain_their_point(self):
        given = reliability([0.3, 0.05, 0.9], [0.2, 0.1, 0.95], [1000, 1, 40])
        found = calibration_figure(given, event="rain").main.tooltips
        assert (
            found[0].text
            == "predicted 0.0400 – 0.0600, mean 0.0500\nobserved 0.100 (0.0500 to 0.150)\n1 row"
        )
        assert found[1].text.endswith("1,000 rows")
        assert (found[0].left, found[-1].right) == (-np.inf, np.inf)
        assert all(a.right == b.left for a, b in itertools.pairwise(found))
        for tip, p in zip(found, sorted(given.predicted), strict=True):
            assert tip.left < p < tip.right
            assert tip.below == 1

    def test_rare_events_fill_the_panel(self):
        given = reliability([0.011, 0.02, 0.03], [0.01, 0.03, 0.05], [9, 9, 9], half=0.005)
        low, high = calibration_figure(given).main.x.limits
        assert low < 0 < 0.05 < high < 0.06

    def test_legend_and_texts(self):
        spec = calibration_figure(reliability([0.2], [0.25], [30]), event="rain")
        assert labels(spec) == ["observed frequency", "95 % interval", "perfect calibration"]
        assert spec.main.y.label == "observed frequency of rain"
        assert spec.alt == (
            "Observed frequency of rain against predicted probability, 1 bin: predicted 0.200 observed 0.250."
        )

    @pytest.mark.parametrize(
        "given",
        [
            reliability([], [], []),
            reliability([0.5], [0.5], [3]),
            reliability([np.nan, 0.5], [np.nan, 0.5], [0, 3]),
            reliability([0.0, 1.0], [0.0, 1.0], [3, 3], half=np.nan),
            reliability([0.5, 0.5], [0.2, 0.9], [3, 3]),
        ],
    )
    def test_extremes(self, given):
        spec = calibration_figure(given, event="<b>" * 200)
        assert_readable(spec)
        assert len(tips(spec)) == int((given.count > 0).sum())
