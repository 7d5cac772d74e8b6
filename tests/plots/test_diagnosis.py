"""Figures of diagnoses: features lie where their importances are, kinds differ, names overlap nothing."""

from __future__ import annotations

import itertools
from typing import get_args

import numpy as np
import pytest
from scipy import stats

from skedasis.plots.figures.diagnosis import KINDS, diagnosis_figure
from skedasis.plots.layout import arrange
from skedasis.plots.marks import Points, Rectangles, Segments, marks_of
from skedasis.plots.theme import STYLES
from skedasis.results.diagnosis import Diagnosis, Verdict, VerdictKind
from skedasis.results.importance import Importance
from tests.plots.specs import assert_readable, box_of, labels, mark, tips

NAMES = [r"$x^2_{\frac$ \alpha", "_b_", "<script>x</script>", "very long " * 20, "", " a\nb "]


def diagnosis(at, kinds, r2=None, names=None, scale=1.0, error=0.02, notes=()):
    """Return a diagnosis of features with given importances."""
    at = scale * np.asarray(at, dtype=float).reshape(-1, 2)
    n = len(at)
    names = tuple(names or [f"feature_{i}" for i in range(n)])
    quantities = ("negative log-likelihood", "entropy")
    measures = [
        Importance(
            names,
            np.repeat(at[:, [k]], 5, axis=1),
            np.where(at[:, k] == 0, 0.0, scale * error),
            np.full(n, 20.0),
            0.5,
            1000,
            quantities[k],
            "nats",
        )
        for k in range(2)
    ]
    r2 = np.full((n, 2), np.nan) if r2 is None else np.asarray(r2, dtype=float)
    verdicts = tuple(Verdict(f, k, "", "") for f, k in zip(names, kinds, strict=True))
    return Diagnosis(*measures, r2[:, 0].copy(), r2[:, 1].copy(), ((),) * n, verdicts, 0.95, notes)


FOUR = (
    [(0, 0), (0.6, 0), (0.4, 0.3), (0.02, 0.25)],
    ["unused", "independent", "shared", "uninformative"],
)
R2 = [(0.1, 0.2), (-0.05, 0.6), (0.9, 0.95), (np.nan, np.nan)]


class TestScatter:
    def test_points_lie_at_both_importances(self):
        panel = diagnosis_figure(diagnosis(*FOUR)).main
        for kind, at in zip(
            ("unused", "independent", "shared", "uninformative"), FOUR[0], strict=True
        ):
            points = mark(panel, Points, kind)
            assert (points.x[0], points.y[0]) == pytest.approx(at)
        assert panel.x.label == "Likelihood-PFI: rise of negative log-likelihood [nats]"
        assert panel.y.label == "Entropy-PFI: rise of entropy [nats]"

    def test_crosses_are_the_intervals(self):
        given = diagnosis(*FOUR)
        panel = diagnosis_figure(given, 0.9).main
        cross = mark(panel, Segments, "cross")
        half = 0.02 * stats.t.ppf(0.95, 20)
        level = cross.y0 == cross.y1
        found = {(a, b, c) for a, b, c in np.round([cross.x0, cross.y0, cross.x1], 9).T[level]}
        want = [(x - (half if x else 0), y, x + (half if x else 0)) for x, y in FOUR[0]]
        assert {tuple(v) for v in np.round(want, 9)} <= found
        for axis, ends in ((panel.x, (cross.x0, cross.x1)), (panel.y, (cross.y0, cross.y1))):
            assert axis.limits[0] < min(0.0, *(e.min() for e in ends))
            assert axis.limits[1] > max(e.max() for e in ends)

    def test_tooltips_state_both_importances(self):
        spec = diagnosis_figure(diagnosis(*FOUR))
        half = 0.02 * stats.t.ppf(0.975, 20)
        assert tips(spec)[1].split("\n") == [
            "feature_2",
            f"Likelihood-PFI 0.400 ({0.4 - half:.3f} to {0.4 + half:.3f})",
            f"Entropy-PFI 0.300 ({0.3 - half:.3f} to {0.3 + half:.3f})",
            "shared",
        ]
        tip = spec.main.tooltips[1]
        assert (tip.left, tip.lower) == (tip.right, tip.upper) == pytest.approx((0.4, 0.3))

    def test_every_kind_has_a_mark_of_its_own_without_colours(self):
        assert set(KINDS) == set(get_args(VerdictKind))
        looks = [STYLES[kind.replace(" ", "-")] for kind in KINDS]
        assert len({(s.shape, s.fill == "ground") for s in looks}) == len(KINDS)

    def test_the_legend_counts_the_features_of_each_kind(self):
        kinds = ["unused", "shared", "unused", "a kind of another version"]
        spec = diagnosis_figure(diagnosis(np.arange(8.0).reshape(4, 2), kinds))
        assert labels(spec) == ["shared (1)", "unused (2)", "a kind of another version (1)"]
        assert mark(spec.main, Points, "other-verdict").x.tolist() == [6.0]

    def test_title_notes_and_alternative_text(self):
        d = diagnosis(*FOUR, notes=("a note\nof two lines",))
        spec = diagnosis_figure(d)
        said = "4 features: importance for likelihood and entropy (PFI)"
        assert spec.title == str(spec.main.title) == said
        assert spec.main.notes == (
            "1,000 rows",
            "5 repeats",
            "crosses: 95 % intervals",
            "a note of two lines",
        )
        assert "shared: feature_2; uninformative: feature_3" in spec.alt
        many = diagnosis_figure(diagnosis(np.zeros((60, 2)), ["unused"] * 60))
        assert many.alt.endswith("feature_5 and 54 more.")


class TestPredictability:
    def test_bars_are_r2(self):
        spec = diagnosis_figure(diagnosis(*FOUR, r2=R2))
        panel = spec.panels[1]
        assert panel.y.labels == ("feature_0", "feature_3", "feature_2", "feature_1")
        line = dict(zip(panel.y.labels, panel.y.ticks, strict=True))
        for k, style in enumerate(("bar", "bar-hatched")):
            bars = mark(panel, Rectangles, style)
            found = {
                round(float(a + b) / 2): (float(v), float(w))
                for a, b, v, w in zip(bars.lower, bars.upper, bars.left, bars.right, strict=True)
            }
            assert found == {
                line[f"feature_{i}"]: (min(0.0, r[k]), max(0.0, r[k]))
                for i, r in enumerate(R2)
                if np.isfinite(r[k])
            }
        assert [(t.texts, t.y) for t in panel.texts] == [(("unknown",), line["feature_3"])]
        assert (
            "feature_3\nR² from the other features –\nR² from the other features and the label –"
            in tips(spec)
        )
        assert labels(spec)[-2:] == [
            "R² from the other features and the label",
            "R² from the other features",
        ]

    def test_nothing_known_of_dependence(self):
        assert len(diagnosis_figure(diagnosis(*FOUR)).panels) == 1
        many = diagnosis_figure(
            diagnosis(np.zeros((60, 2)), ["unused"] * 60, r2=np.full((60, 2), 0.5))
        )
        assert many.panels[1].rows == 40
        assert many.panels[1].notes == ("20 more not shown",)


class TestReadable:
    def test_names_touch_nothing(self):
        rng = np.random.default_rng(0)
        for n in (3, 12, 30):
            at = rng.uniform(-0.1, 1, size=(n, 2))
            placed = arrange(diagnosis_figure(diagnosis(at, ["shared"] * n)), 489.0, 374.0)
            (panel,) = placed.panels
            boxes = [box_of(placed, t) for t in panel.texts if t.style == "name"]
            assert len(boxes) > 0.6 * n
            for x, y in at:
                a, b = float(panel.frame.across(x)), float(panel.frame.up(y))
                assert not any(c < a < e and d < b < f for c, d, e, f in boxes)

    @pytest.mark.parametrize(("n", "scale"), [(1, 0.0), (6, 1e9), (30, 1e-9)])
    def test_any_scale_and_number_of_features(self, n, scale):
        rng = np.random.default_rng(1)
        names = [NAMES[i] if i < len(NAMES) else f"f{i}" for i in range(n)]
        kinds = list(itertools.islice(itertools.cycle(KINDS), n))
        r2 = rng.uniform(-1, 1, (n, 2))
        d = diagnosis(rng.normal(size=(n, 2)), kinds, r2, names, scale, notes=("word " * 60,))
        assert_readable(diagnosis_figure(d))

    @pytest.mark.parametrize(
        "given",
        [
            diagnosis([(0, 0), (0, 0)], ["no effect"] * 2, error=0.0),
            diagnosis([(1, 1)] * 6, ["shared"] * 6, names=NAMES, r2=[(0.5, 0.5)] * 6),
            diagnosis([(1.0, -2.0)], ["a kind of another version"], error=np.nan),
            diagnosis([(1e6, 1e6), *[(1e-3 * i, 0.0) for i in range(30)]], ["shared"] * 31),
        ],
    )
    def test_extremes(self, given):
        spec = diagnosis_figure(given)
        assert_readable(spec)
        assert sum(len(m.x) for m in marks_of(spec.main, Points)) == len(given)
