"""Importances, diagnoses, scatter plots, calibration and explained variance as SVG: drawings match the arrays."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest

from skedasis.errors import DataError
from skedasis.plots.scales import SMALL, width_of
from skedasis.plots.svg.diagnosis import HOLLOW, LOOKS, diagnosis
from skedasis.plots.svg.importance import importance
from skedasis.plots.svg.marks import SHAPES
from skedasis.plots.svg.overview import (
    ImportancePoint,
    ReliabilityBins,
    calibration,
    importance_scatter,
    variance_bar,
)
from skedasis.results.diagnosis import Diagnosis, Verdict
from skedasis.results.importance import Importance
from tests.plots.svg_figures import back, inside, moves, of, parsed, pixel, texts, tips

RNG = np.random.default_rng(4127)
NAMES = [
    "age",
    "<script>alert(1)</script>",
    '"quoted" & more',
    "x" * 500,
    "العمر",
    "😀 \x00\ud800",
    "",
]
LABELS = {"x_label": "importance", "y_label": "heterogeneity score"}


def importances(means, names=None, repeats=5, error=0.05):
    """Return importances with given means."""
    means = np.asarray(means, dtype=float)
    n = len(means)
    values = means[:, None] + 0.02 * RNG.normal(size=(n, repeats))
    names = tuple(names or [f"f{i}" for i in range(n)])
    return Importance(
        names, values, np.full(n, error), np.full(n, 20.0), 0.5, 500, "log-loss", "nats"
    )


def diagnosed(at, kinds, names=None, r2=None, error=0.02):
    """Return a diagnosis of features with given importances."""
    at = np.asarray(at, dtype=float).reshape(-1, 2)
    n = len(at)
    names = tuple(names or [f"feature {i}" for i in range(n)])
    both = [
        Importance(
            names,
            np.repeat(at[:, [k]], 5, axis=1),
            np.full(n, error),
            np.full(n, 20.0),
            0.5,
            1000,
            ("negative log-likelihood", "entropy")[k],
            "nats",
        )
        for k in range(2)
    ]
    r2 = np.full((n, 2), np.nan) if r2 is None else np.asarray(r2, dtype=float)
    verdicts = tuple(Verdict(f, k, "", "") for f, k in zip(names, kinds, strict=True))
    return Diagnosis(*both, r2[:, 0].copy(), r2[:, 1].copy(), ((),) * n, verdicts)


def place(name, x, y, kind="continuous", *, ends=None):
    """Return a point of the scatter plot."""
    return ImportancePoint(name, kind, x, y, *(ends or (None, None)))


class TestImportance:
    def test_bars_whiskers_and_repeats_are_the_values(self):
        given = importances([0.2, 1.5, -0.3, 0.0])
        root = parsed(importance(given, ident="i"))
        (panel,) = of(root, "panel")
        order = np.argsort(-given.mean)
        (bodies,) = of(panel, "amount")
        assert len(bodies) == 4
        for bar, k in zip(bodies, order, strict=True):
            x, width = float(bar.get("x")), float(bar.get("width"))
            ends = sorted((0.0, float(given.mean[k])))
            found = back(panel, "x", np.array([x, x + width]))
            np.testing.assert_allclose(found, ends, atol=2 * pixel(panel, "x"))
        (whiskers,) = of(panel, "whisker")
        found = re.findall(r"M(\S+?) \S+?H(\S+?)M", whiskers.get("d"))
        lower, upper = given.interval(0.95)
        ends = np.column_stack([lower, upper])[order]
        np.testing.assert_allclose(
            back(panel, "x", np.array(found, dtype=float)), ends, atol=pixel(panel, "x")
        )
        (dots,) = of(panel, "repeat")
        found = back(panel, "x", moves(dots.get("d"))[:, 0])
        np.testing.assert_allclose(found, given.values[order].ravel(), atol=pixel(panel, "x"))

    def test_tips_tell_the_whole(self):
        given = importances([0.25, 2.0], ["b", "a"])
        said = tips(parsed(importance(given, ident="i", confidence_level=0.9)))
        assert said[0].startswith("a\nimportance ")
        lower, upper = given.interval(0.9)
        assert said[1].split("\n")[2] == f"90 % interval {lower[0]:.3f} to {upper[0]:.3f}"
        assert said[1].split("\n")[3].startswith("individual repeats 0.2")

    def test_nothing_left_to_chance(self):
        exact = Importance(
            ("a",), np.array([[1.0]]), np.array([np.nan]), np.array([np.nan]), 0.5, 9, "loss"
        )
        root = parsed(importance(exact, ident="i"))
        assert not of(root, "repeat")
        assert not of(root, "whisker")
        assert tips(root) == ["a\nimportance 1.00"]

    def test_top_and_what_is_left_out(self):
        root = parsed(importance(importances(RNG.gamma(1.0, size=200)), ident="i", top=10))
        (bodies,) = of(root, "amount")[:1]
        assert len(bodies) == 10
        assert "190 of 200 features not shown" in " ".join(texts(root))
        with pytest.raises(DataError, match="plot\\(top\\)"):
            importance(importances([1.0]), ident="i", top=0)

    def test_names_are_text(self):
        root = parsed(importance(importances(np.arange(7.0), NAMES), ident="i"))
        assert inside(root)
        assert "<script>alert(1)</script>" in " ".join(tips(root))
        assert "😀" in texts(root)

    @pytest.mark.parametrize("scale", [0.0, 1e-12, 1e12])
    def test_scales(self, scale):
        values = scale * np.array([[1.0, 1.1, 1.2], [0.0, 0.1, 0.2]])
        given = Importance(
            ("a", "b"), values, np.full(2, 0.1 * scale), np.full(2, 9.0), 0.5, 9, "loss"
        )
        assert inside(parsed(importance(given, ident="i")))


class TestPlaces:
    GIVEN = (
        place("age", 2.0, 1.0, ends=((1.8, 2.2), (0.7, 1.4))),
        place("sex", 0.5, 0.9, "nominal", ends=((0.3, 0.6), None)),
        place("grade", 1.2, 0.2, "ordinal"),
        place("trees", 1.0, 3.0, ends=((0.9, 1.1), (2.5, 3.6))),
    )

    def drawn(self, given=None, **more):
        given = self.GIVEN if given is None else given
        links = {p.feature: f"#at-{k}" for k, p in enumerate(given)}
        return importance_scatter(given, ident="w", links=links, **LABELS, **more)

    def test_points_lie_where_features_are(self):
        root = parsed(self.drawn())
        (panel,) = of(root, "panel")
        points = {e.get("data-feature"): e for e in of(panel, "place")}
        assert set(points) == {p.feature for p in self.GIVEN}
        for p in self.GIVEN:
            (mark,) = of(points[p.feature], "mark")
            ((x, y),) = moves(mark.get("d"))
            assert abs(back(panel, "x", x) - p.importance) <= pixel(panel, "x")
            assert abs(back(panel, "y", y) - p.heterogeneity_score) <= pixel(panel, "y")

    def test_both_axes_have_the_same_range(self):
        (panel,) = of(parsed(self.drawn()), "panel")
        x, y = (
            [back(panel, way, float(v)) for v in panel.get(f"data-{way}").split()[:2]]
            for way in "xy"
        )
        np.testing.assert_allclose(x, y, atol=2 * pixel(panel, "y"))

    def test_points_are_links_of_one_group(self):
        root = parsed(self.drawn())
        assert root.get("role") == "group"
        assert root.get("tabindex") == "-1"
        links = [e for e in root.iter() if e.tag.endswith("}a")]
        assert [e.get("data-feature") for e in links] == ["age", "grade", "trees", "sex"]
        assert [e.get("href") for e in links] == ["#at-0", "#at-2", "#at-3", "#at-1"]
        assert all(e.get("aria-label") for e in links)

    def test_without_a_link_a_point_still_speaks(self):
        root = parsed(importance_scatter(self.GIVEN, ident="w", links={}, **LABELS))
        assert not [e for e in root.iter() if e.tag.endswith("}a")]
        assert len(tips(root)) == 4
        assert all(e.get("tabindex") == "0" for e in of(root, "place"))

    def test_shapes_say_the_kind(self):
        root = parsed(self.drawn())
        shape = {}
        for e in of(root, "place"):
            (mark,) = of(e, "mark")
            shape[e.get("data-feature")] = re.sub(r"^M\S+ -?[\d.]+", "", mark.get("d"))
        assert shape["age"] == shape["trees"] == SHAPES["circle"]
        assert len({shape["age"], shape["sex"], shape["grade"]}) == 3
        assert {"numeric", "ordinal", "nominal"} <= set(texts(root))

    def test_intervals(self):
        root = parsed(self.drawn())
        (panel,) = of(root, "panel")
        (cross,) = of(panel, "cross")
        lines = np.array(re.findall(r"M(\S+?) (\S+?)L(\S+?) (-?[\d.]+)", cross.get("d")), float)
        assert len(lines) == 5, "no interval is drawn that has no ends"
        level, upright = lines[:3], lines[3:]
        found = np.sort(back(panel, "x", level[:, [0, 2]]), axis=0)
        wanted = [[0.3, 0.6], [0.9, 1.1], [1.8, 2.2]]
        np.testing.assert_allclose(found, wanted, atol=pixel(panel, "x"))
        found = np.sort(back(panel, "y", upright[:, [3, 1]]), axis=0)
        np.testing.assert_allclose(found, [[0.7, 1.4], [2.5, 3.6]], atol=pixel(panel, "y"))

    def test_the_diagonal_is_where_both_are_equal(self):
        root = parsed(self.drawn())
        (first,) = of(root, "panel")
        (line,) = of(first, "diagonal")
        a, b, c, d = (float(v) for v in re.findall(r"-?[\d.]+", line.get("d")))
        x, y = back(first, "x", np.array([a, c])), back(first, "y", np.array([b, d]))
        np.testing.assert_allclose(x, y, atol=pixel(first, "x") + pixel(first, "y"))
        assert "heterogeneity score = importance" in texts(root)

    def test_names_touch_neither_marks_nor_one_another(self):
        given = [place(f"feature {k}", *RNG.gamma(1.0, size=2)) for k in range(40)]
        root = parsed(self.drawn(given))
        names = of(root, "tag")
        assert 5 < len(names) <= 14
        boxes = []
        for e in names:
            x, y = float(e.get("x")), float(e.get("y"))
            boxes.append((x, y - 0.75 * SMALL, x + width_of(e.text), y + 0.2 * SMALL))
        for a, b in itertools.combinations(boxes, 2):
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        for e in of(root, "place"):
            ((x, y),) = moves(of(e, "mark")[0].get("d"))
            assert not any(a < x < c and b < y < d for a, b, c, d in boxes)
        assert f"no room for {40 - len(names)} names: point at a mark to see its name" in texts(
            root
        )

    def test_two_hundred_features(self):
        given = [place(f"f{k}", *RNG.gamma(0.3, size=2)) for k in range(200)]
        made = self.drawn(given)
        assert len(of(parsed(made), "place")) == 200
        assert len(made.svg) < 100_000

    @pytest.mark.parametrize(
        "given",
        [
            [],
            [place("x", 0.0, 0.0)],
            [place("x", 1.0, 1.0), place("y", 1.0, 1.0)],
            [place("x", 1e-12, 3e-12), place("y", 2e-12, 0.0)],
            [place("x", 1e12, 3e12), place("y", 0.0, 0.0)],
            [place("x", 1.0, 1.0, ends=((-math.inf, math.inf), (math.nan, math.nan)))],
            [place("x", math.nan, 1.0), place("y", 1.0, math.inf)],
            [place("x", 0.0, 5.0)],
            [place(n, k + 1.0, 1.0) for k, n in enumerate(NAMES)],
            [place("x", 1.0, 1.0, ends=((0.0, 1e9), (0.0, 1e9))), place("y", 0.5, 0.1)],
        ],
    )
    def test_odd_ones(self, given):
        root = parsed(self.drawn(given))
        assert inside(root)
        known = [p for p in given if math.isfinite(p.importance + p.heterogeneity_score)]
        assert len(of(root, "place")) == len(known)
        if len(known) < len(given):
            assert f"{len(given) - len(known)} features without a heterogeneity score" in " ".join(
                texts(root)
            )

    def test_a_wide_interval_does_not_flatten_all_points(self):
        given = [
            place("x", 1.0, 1.0, ends=((0.0, 1e9), (0.0, 1e9))),
            place("y", 0.5, 0.1),
        ]
        (panel,) = of(parsed(self.drawn(given)), "panel")
        assert back(panel, "x", float(panel.get("data-x").split()[1])) < 2.5


class TestDiagnosis:
    AT = ((0, 0), (0.6, 0), (0.4, 0.3), (0.02, 0.25), (-0.2, 0.02))
    KINDS = ("unused", "independent", "shared", "uninformative", "misleading")
    R2 = ((0.1, 0.2), (-0.05, 0.6), (0.9, 0.95), (np.nan, np.nan), (0.4, np.nan))

    def test_features_lie_between_both_importances(self):
        given = diagnosed(self.AT, self.KINDS)
        root = parsed(diagnosis(given, ident="d"))
        (panel,) = of(root, "panel")
        found = {e.get("data-tip").split("\n")[0]: e for e in of(panel, "hit")}
        marks = of(panel, "mark")
        assert len(found) == len(marks) == 5
        for k, (x, y) in enumerate(self.AT):
            hit = found[f"feature {k}"]
            assert abs(back(panel, "x", float(hit.get("cx"))) - x) <= pixel(panel, "x")
            assert abs(back(panel, "y", float(hit.get("cy"))) - y) <= pixel(panel, "y")
            assert hit.get("data-tip").split("\n")[-1] == self.KINDS[k]
        (cross,) = of(panel, "cross")
        level = re.findall(r"M(\S+?) (\S+?)L(\S+?) (-?[\d.]+)", cross.get("d"))[0]
        half = 0.02 * 2.0859634  # Student's t with 20 degrees of freedom
        ends = back(panel, "x", np.array([level[0], level[2]], dtype=float))
        np.testing.assert_allclose(np.ptp(ends), 2 * half, atol=2 * pixel(panel, "x"))

    def test_no_two_kinds_look_alike_without_colours(self):
        looks = {(shape, kind in HOLLOW) for kind, shape in LOOKS.items()}
        assert len(looks) == len(LOOKS)

    def test_words_say_what_lies_where(self):
        root = parsed(diagnosis(diagnosed(self.AT, self.KINDS), ident="d"))
        (panel,) = of(root, "panel")
        words = {" ".join(t.text for t in g): g for g in of(panel, "part")}
        assert {"unused", "shared, not informative", "informative, independent"} <= set(words)
        for text, group in words.items():
            y = back(panel, "y", float(group[0].get("y")))
            assert (y < 0) == (
                text in ("unused", "informative, independent") or "below" in text or "left" in text
            )

    def test_bars_are_r2(self):
        given = diagnosed(self.AT, self.KINDS, r2=self.R2)
        root = parsed(diagnosis(given, ident="d"))
        panel = of(root, "panel")[1]
        order = np.argsort(-given.likelihood.mean, kind="stable")
        groups = of(panel, "amount")
        for group, values in zip(groups, (given.r2_others, given.r2_with_target), strict=True):
            known = [float(v) for v in values[order] if np.isfinite(v)]
            assert len(group) == len(known)
            for bar, value in zip(group, known, strict=True):
                x, width = float(bar.get("x")), float(bar.get("width"))
                ends = back(panel, "x", np.array([x, x + width]))
                want = sorted((0.0, value))
                np.testing.assert_allclose(ends, want, atol=2 * pixel(panel, "x"))
        assert "unknown" in texts(panel)
        assert (
            "feature 3\nR² from the other features –\nR² from the other features and the label –"
            in tips(panel)
        )

    def test_names_find_room_or_are_counted(self):
        at = RNG.gamma(0.5, size=(60, 2)) * (1, 0.3)
        root = parsed(diagnosis(diagnosed(at, ["shared"] * 60), ident="d"))
        left = 60 - len(of(root, "tag"))
        assert f"no room for {left} names: point at a mark to see its name" in texts(root)
        assert "shared (60)" in texts(root)
        assert inside(root)

    @pytest.mark.parametrize(
        "given",
        [
            diagnosed([(0, 0)], ["unused"]),
            diagnosed([(0, 0), (0, 0)], ["no effect"] * 2, error=0.0),
            diagnosed([(1, 1)] * 7, ["shared"] * 7, NAMES, r2=[(0.5, 0.5)] * 7),
            diagnosed([(1e-12, 1e-12), (0, 0)], ["shared", "unused"], error=1e-13),
            diagnosed([(1.0, -2.0)], ["a kind of another version"], error=np.nan),
        ],
    )
    def test_odd_ones(self, given):
        root = parsed(diagnosis(given, ident="d"))
        assert inside(root)
        assert len(of(of(root, "panel")[0], "mark")) == len(given)


def reliability(p, o, count, half=0.05):
    """Return bins of predicted probabilities."""
    p, o = np.asarray(p, dtype=float), np.asarray(o, dtype=float)
    return ReliabilityBins(p - 0.01, p + 0.01, p, o, o - half, o + half, np.asarray(count))


class TestCalibration:
    def test_points_lie_at_predicted_and_observed(self):
        given = reliability([0.05, 0.3, 0.9], [0.1, 0.2, 0.95], [10, 1000, 40])
        root = parsed(calibration(given, ident="c"))
        upper, lower = of(root, "panel")
        (marks,) = of(upper, "mark")
        at = moves(marks.get("d"))
        np.testing.assert_allclose(
            back(upper, "x", at[:, 0]), given.predicted, atol=pixel(upper, "x")
        )
        np.testing.assert_allclose(
            back(upper, "y", at[:, 1]), given.observed, atol=pixel(upper, "y")
        )
        (whisker,) = of(upper, "whisker")
        ends = re.findall(r"M\S+? (\S+?)V(\S+?)M", whisker.get("d"))
        found = back(upper, "y", np.array(ends, dtype=float))
        want = np.column_stack([given.lower, given.upper])
        np.testing.assert_allclose(found, want, atol=pixel(upper, "y"))
        (bars,) = of(lower, "margin")
        heights = re.findall(r"V(\S+?)h", bars.get("d"))
        found = back(lower, "y", np.array(heights, dtype=float))
        np.testing.assert_allclose(found, given.count, atol=pixel(lower, "y"))

    def test_each_bin_speaks(self):
        given = reliability([0.3, 0.05], [0.2, 0.1], [1000, 1])
        said = tips(parsed(calibration(given, ident="c", event="rain")))
        assert (
            said[0]
            == "predicted 0.0400 – 0.0600, mean 0.0500\nobserved 0.100 (0.0500 to 0.150)\n1 row"
        )
        assert said[1].endswith("1,000 rows")

    def test_hits_cover_the_panel_and_hold_their_point(self):
        given = reliability([0.05, 0.3, 0.9], [0.1, 0.2, 0.95], [10, 1000, 40])
        root = parsed(calibration(given, ident="c"))
        (upper, _), hits = of(root, "panel"), of(root, "hit")
        ends = [(float(h.get("x")), float(h.get("x")) + float(h.get("width"))) for h in hits]
        assert all(abs(a[1] - b[0]) < 0.3 for a, b in itertools.pairwise(ends))
        for (a, b), p in zip(ends, given.predicted, strict=True):
            assert back(upper, "x", a) <= p <= back(upper, "x", b)

    def test_rare_events_fill_the_panel(self):
        given = reliability([0.011, 0.02, 0.03], [0.01, 0.03, 0.05], [9, 9, 9], half=0.005)
        upper = of(parsed(calibration(given, ident="c")), "panel")[0]
        low, high = (float(v) for v in upper.get("data-x").split()[2:])
        assert low < 0 < 0.05 < high < 0.06

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
    def test_odd_ones(self, given):
        root = parsed(calibration(given, ident="c", event="<b>" * 200))
        assert inside(root)
        assert len(tips(root)) == int((given.count > 0).sum())


class TestLedger:
    def test_widths_are_shares(self):
        shares = {"additive effects": 0.62, "pairs shown": 0.21, "rest": 0.17}
        root = parsed(variance_bar(shares, ident="l"))
        (panel,) = of(root, "panel")
        at = 0.0
        for bar, share in zip(of(panel, "entry"), shares.values(), strict=True):
            x, width = float(bar.get("x")), float(bar.get("width"))
            found = back(panel, "x", np.array([x, x + width]))
            np.testing.assert_allclose(found, [at, at + share], atol=2 * pixel(panel, "x"))
            at += share
        assert tips(root) == ["additive effects\n62 %", "pairs shown\n21 %", "rest\n17 %"]
        looks = [e.get("class") for e in of(panel, "entry")]
        assert len(set(looks)) == 3

    def test_a_part_below_zero_is_told_in_words(self):
        made = variance_bar({"effects": 0.85, "pairs": 0.31, "rest": -0.16}, ident="l")
        root = parsed(made)
        assert len(of(of(root, "panel")[0], "entry")) == 2
        said = " ".join(texts(root))
        assert "rest \N{MINUS SIGN}16 %" in said
        assert "rest is \N{MINUS SIGN}16 %: the parts before it add up to more than" in said
        (panel,) = of(root, "panel")
        assert back(panel, "x", float(panel.get("data-x").split()[1])) == pytest.approx(1.16)

    @pytest.mark.parametrize(
        "shares",
        [
            {},
            {"a": 0.0},
            {"a": math.nan, "b": 1.0},
            {"a": math.inf},
            {"a": 0.001, "b": 0.999},
            {"a": 3.0, "b": 2.0},
            {"a": -1.0},
            dict.fromkeys(NAMES, 1 / 7),
            {f"part {k}": 0.01 for k in range(100)},
        ],
    )
    def test_odd_ones(self, shares):
        root = parsed(
            variance_bar(shares, ident="l", title="Variance" * 60, whole="variance " * 60)
        )
        assert inside(root)
        shown = [v for v in shares.values() if math.isfinite(v) and v > 0]
        assert len(tips(root)) == len(shown)


def test_figures_of_one_page_share_no_names():
    made = [
        diagnosis(diagnosed([(1, 1)], ["shared"], r2=[(0.5, 0.5)]), ident=i) for i in ("a", "b")
    ] + [importance(importances([1.0]), ident="c"), variance_bar({"a": 0.5, "b": 0.5}, ident="d")]
    names = [e.get("id") for drawing in made for e in parsed(drawing).iter() if e.get("id")]
    assert len(names) == len(set(names))
