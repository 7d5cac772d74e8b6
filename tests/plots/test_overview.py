"""Overview figures: points, parts and bins are the given numbers; any input is readable."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import skedasis as sd
from skedasis.plots.figures.overview import (
    MANY,
    ImportancePoint,
    RegionsPoint,
    importance_points,
    overview_figure,
    regions_point,
)
from skedasis.plots.marks import Arrows, Line, Points, Segments, marks_of
from skedasis.plots.theme import STYLES
from tests.helpers import refused
from tests.made_regions import BY_DAY, TEMP, bikes, made_regions, rentals, sides
from tests.plots.specs import assert_readable, labels, mark, tips

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

    def test_each_axis_contains_its_points_and_intervals(self):
        panel = overview_figure(self.GIVEN).main
        diagonal = mark(panel, Line, "equal")
        np.testing.assert_array_equal(diagonal.x, diagonal.y)
        assert diagonal.x.tolist() == list(panel.x.limits)
        assert panel.x.limits[0] < 0
        assert panel.x.limits[1] > 2.2
        assert panel.y.limits[1] > 3.6
        flat = [
            replace(p, heterogeneity_score=0.0, heterogeneity_score_ends=None) for p in self.GIVEN
        ]
        lower = overview_figure(flat).main
        assert lower.y.limits[1] >= 0.2 * lower.x.limits[1]

    def test_small_points_have_no_name(self):
        panel = overview_figure([*self.GIVEN, place("tiny", 0.1, 0.1)]).main
        assert len(panel.names.names) == len(self.GIVEN)
        assert "tiny" in [t.feature for t in panel.tooltips]

    def test_intervals(self):
        cross = mark(overview_figure(self.GIVEN, confidence_level=0.9).main, Segments, "cross")
        lines = np.column_stack([cross.x0, cross.y0, cross.x1, cross.y1])
        level = [(0.3, 0.9, 0.6, 0.9), (0.9, 3.0, 1.1, 3.0), (1.8, 1.0, 2.2, 1.0)]
        upright = [(1.0, 2.5, 1.0, 3.6), (2.0, 0.7, 2.0, 1.4)]
        assert sorted(map(tuple, lines)) == sorted([*level, *upright])
        assert cross.label == "90 % intervals"

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
            [place(f"f{k}", *RNG.gamma(0.3, size=2)) for k in range(70)],
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

    def test_arrows_lead_to_the_regions(self):
        to = {
            "trees": RegionsPoint(1.5, 5.0, 3),
            "age": RegionsPoint(2.1, 0.25, 2),
            "sex": RegionsPoint(math.nan, 0.1, 2),
            "grade": RegionsPoint(1.2, 0.2, 2),  # where it is without regions
            "unknown": RegionsPoint(1.0, 1.0, 2),
        }
        spec = overview_figure(self.GIVEN, regions=to)
        arrows = mark(spec.main, Arrows, "to-regions")
        assert sorted(np.column_stack([arrows.x0, arrows.y0, arrows.x1, arrows.y1]).tolist()) == [
            [1.0, 3.0, 1.5, 5.0],
            [2.0, 1.0, 2.1, 0.25],
        ]
        assert arrows.label == "to the mean of its groups of rows"
        assert labels(spec)[3] == arrows.label
        # Arrows are behind the points where they begin, and inside the axes.
        kinds = [type(m) for m in spec.main.marks]
        assert kinds.index(Arrows) < kinds.index(Points)
        assert spec.main.y.limits[1] > 5.0

    @pytest.mark.parametrize("n", [12, 61])
    def test_crowds_with_arrows_are_readable(self, n):
        given = [place(f"feature {k}", *RNG.gamma(0.4, size=2)) for k in range(n)]
        to = {p.feature: RegionsPoint(p.importance * 1.1, 0.3, 2) for p in given}
        spec = overview_figure(given, regions=to)
        assert_readable(spec)
        styles = {m.style for m in marks_of(spec.main, Points)}
        assert styles == {"numeric-small" if n > MANY else "numeric"}

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


@pytest.fixture(scope="module")
def found():
    return made_regions(rentals, bikes(1200), "hr", [BY_DAY, sides(TEMP, 0.5)])


class TestRegionsPoint:
    def test_both_are_root_mean_squares_over_the_rows(self, found):
        point = regions_point(found)
        # Each row with the square of the importance in its region.
        squares = np.concatenate(
            [
                np.full(node.count, e.importance**2)
                for node, e in zip(found.leaves, found, strict=True)
            ]
        )
        assert point.importance == pytest.approx(math.sqrt(squares.mean()), rel=1e-12)
        assert point.heterogeneity_score == found.scores.within
        assert point.regions == 4

    def test_the_scale_is_that_of_all_rows(self):
        """A linear effect with slopes 1 and −3 has importances of 1 and 3 standard deviations of x."""
        x = np.linspace(-1, 1, 401)
        X = np.column_stack([np.tile(x, 2), np.repeat([0.0, 1.0], 401)])
        found = sd.explain(
            lambda X: np.where(X[:, 1] > 0, -3.0, 1.0) * X[:, 0],
            X,
            0,
            method=sd.ALE(bins=20),
            by=X[:, 1] > 0,
        )
        whole = np.sqrt((1 + 9) / 2) * x.std()
        assert regions_point(found).importance == pytest.approx(whole, rel=0.01)
        # Over all rows the slopes cancel to −1.
        assert found.whole.importance == pytest.approx(x.std(), rel=0.01)

    def test_weights_of_the_regions_count(self, found):
        heavy = {n.region: n for n in found.leaves}[2]
        nodes = tuple(
            replace(n, weight=0.0) if n.region not in (-1, heavy.region) else n for n in found.nodes
        )
        point = regions_point(replace(found, nodes=nodes))
        assert point.importance == pytest.approx(found[2].importance, rel=1e-12)
