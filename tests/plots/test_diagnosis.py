"""Figures of diagnoses: positions and labels of features, without overlapping names."""

from __future__ import annotations

import itertools
from typing import get_args

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text

import skedasis as sd
from skedasis.plots.figures.diagnosis import predictable, where
from skedasis.plots.mpl.importance import LOOKS, draw_diagnosis
from skedasis.plots.scales import MARK, place_labels
from skedasis.results.diagnosis import Diagnosis, Kind, Verdict
from skedasis.results.importance import Importance
from tests.helpers import refused
from tests.plots.mpl_helpers import drawn, fits

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


class TestDiagnosis:
    def test_where_features_lie(self):
        shown = where(diagnosis(*FOUR))
        assert shown.names == ("feature_1", "feature_2", "feature_3", "feature_0")
        assert shown.kinds == ("independent", "shared", "uninformative", "unused")
        np.testing.assert_allclose(shown.at[:, 0], [0.6, 0.4, 0.02, 0])
        np.testing.assert_allclose(shown.at[:, 1], [0, 0.3, 0.25, 0])
        half = 0.02 * 2.0859634  # Student's t with 20 degrees of freedom
        np.testing.assert_allclose((shown.upper - shown.lower)[1], 2 * half, rtol=1e-6)
        np.testing.assert_array_equal((shown.upper - shown.lower)[3], 0)
        assert shown.x.label == "Likelihood-PFI: rise of negative log-likelihood [nats]"
        assert shown.y.label == "Entropy-PFI: rise of entropy [nats]"
        for axis, k in ((shown.x, 0), (shown.y, 1)):
            assert axis.limits[0] < min(0, shown.lower[:, k].min())
            assert axis.limits[1] > shown.upper[:, k].max()

    def test_words_say_what_lies_where(self):
        words = {w.text.replace("\n", " "): w for w in where(diagnosis(*FOUR)).words}
        assert list(words) == [
            "informative and shared: PFI underestimates it",
            "shared, not informative",
            "informative, independent",
            "unused",
        ]
        assert words["informative, independent"].y == 0.0
        assert (words["unused"].x, words["unused"].y) == (0.0, 0.0)
        more = where(diagnosis([(-0.2, 0), (0.1, -0.3)], ["misleading", "shared"])).words
        assert [w.text.partition("\n")[0] for w in more[4:]] == [
            "negative Likelihood-PFI:",
            "negative Entropy-PFI: shared,",
        ]

    def test_every_kind_has_a_mark_of_its_own_without_colours(self):
        assert set(LOOKS) == set(get_args(Kind))
        assert len({(mark, ground == "white") for mark, ground in LOOKS.values()}) == len(LOOKS)

    def test_drawn(self):
        figure = draw_diagnosis(diagnosis(*FOUR, r2=R2))
        texts = drawn(figure)
        assert {"independent (1)", "unused (1)", "R² from the other features", "unknown"} <= set(
            texts
        )
        assert fits(figure)
        scatter, bars = figure.axes
        marks = {m.get_marker(): (m.get_xdata()[0], m.get_ydata()[0]) for m in scatter.get_lines()}
        assert marks["o"] == pytest.approx((0.6, 0))
        assert marks["^"] == pytest.approx((0.02, 0.25))
        widths = sorted(p.get_width() for p in bars.patches)
        np.testing.assert_allclose(widths, sorted(np.ravel(R2[:3])))
        assert {bool(p.get_hatch()) for p in bars.patches} == {False, True}

    def test_nothing_known_of_dependence(self):
        plain = diagnosis(*FOUR)
        assert predictable(plain) is None
        assert len(draw_diagnosis(plain).axes) == 1
        many = diagnosis(np.zeros((60, 2)), ["unused"] * 60, r2=np.full((60, 2), 0.5))
        assert (len(predictable(many).names), predictable(many).left_out) == (40, 20)
        assert "20 more not shown" in drawn(draw_diagnosis(many))

    def test_names_touch_nothing(self):
        rng = np.random.default_rng(0)
        for n in (3, 12, 30):
            d = diagnosis(rng.uniform(-0.1, 1, size=(n, 2)), ["shared"] * n)
            figure = draw_diagnosis(d)
            figure.draw_without_rendering()
            ax = figure.axes[0]
            names = [t for t in ax.texts if t.get_text().startswith("feature")]
            boxes = [Text.get_window_extent(t) for t in names]
            for a, b in itertools.combinations(boxes, 2):
                assert not a.overlaps(b)
            centres = ax.transData.transform(where(d).at)
            for box in boxes:
                assert not any(box.contains(*c) for c in centres)
            said = [t.get_text() for t in ax.texts if t.get_text().startswith("no room")]
            assert len(names) == n - (int(said[0].split()[3]) if said else 0)
            assert len(names) > 0.6 * n

    def test_a_crowd_is_counted(self):
        d = diagnosis(
            np.zeros((60, 2)), ["unused"] * 60, names=[f"{'n' * 18}{i}" for i in range(60)]
        )
        texts = drawn(draw_diagnosis(d, size=(5.0, 4.0)))
        (said,) = [t for t in texts if t.startswith("no room for")]
        assert int(said.split()[3]) == 60 - sum(t.startswith("nn") for t in texts)

    def test_names_at_zero_are_counted_beside_one_that_dwarfs_them(self):
        at = [(1e6, 1e6), *[(1e-3 * i, 0.0) for i in range(60)]]
        names = ["first", *[f"{'n' * 18}{i}" for i in range(60)]]
        d = diagnosis(at, ["shared"] * 61, names=names, error=1e-4)
        (said,) = [t for t in drawn(draw_diagnosis(d)) if t.startswith("no room for")]
        left_out = int(said.split()[3])
        assert left_out > 0
        assert said == f"no room for {left_out} names, {left_out} of them at zero"

    def test_words_give_way_to_points(self):
        """Features slightly below zero on both axes are where the label "unused" would be."""
        for at in ([(1.0, 1.0), (-0.02, -0.03)], [(1.0, -0.03), (0.9, 1.0), (0.95, -0.05)]):
            figure = draw_diagnosis(diagnosis(at, ["shared"] * len(at), error=1e-4))
            figure.draw_without_rendering()
            ax = figure.axes[0]
            words = [t for t in ax.texts if t.get_gid() == "part"]
            assert any(t.get_text() == "unused" for t in words)
            centres = ax.transData.transform(np.array(at))
            for box in (t.get_window_extent() for t in words):
                assert not any(box.contains(*c) for c in centres)

    def test_what_it_is_of(self):
        d = diagnosis(*FOUR)
        d.provenance["quantity"] = "likelihood and entropy(Tree)"
        shown = where(d)
        assert (shown.title, shown.notes[0]) == ("Diagnosis", "likelihood and entropy(Tree)")

    def test_a_line_leads_to_far_names(self):
        figure = draw_diagnosis(diagnosis(np.zeros((12, 2)), ["unused"] * 12))
        figure.draw_without_rendering()
        names = [t for t in figure.axes[0].texts if isinstance(t, Annotation) and t.arrow_patch]
        led = [t for t in names if t.arrow_patch.get_visible()]
        scale = 72 / figure.dpi
        for t in names:
            box, (x, y) = Text.get_window_extent(t), figure.axes[0].transData.transform((0, 0))
            gap = np.hypot(max(box.x0 - x, x - box.x1, 0), max(box.y0 - y, y - box.y1, 0)) * scale
            assert (gap > 8) == (t in led)
        assert 0 < len(led) < len(names)

    @pytest.mark.parametrize("scale", [0.0, 1e-9, 1e9])
    @pytest.mark.parametrize("n", [1, 6, 40])
    def test_whatever_comes(self, n, scale):
        rng = np.random.default_rng(1)
        names = [NAMES[i] if i < len(NAMES) else f"f{i}" for i in range(n)]
        kinds = list(itertools.islice(itertools.cycle(LOOKS), n))
        d = diagnosis(
            rng.normal(size=(n, 2)),
            kinds,
            rng.uniform(-1, 1, (n, 2)),
            names,
            scale,
            notes=("word " * 60,),
        )
        figure = draw_diagnosis(d)
        assert not any("nan" in t for t in drawn(figure))
        assert fits(figure)

    def test_into_a_users_axes_and_small(self):
        figure = Figure()
        ax = figure.subplots()
        d = diagnosis(*FOUR, r2=R2)
        assert d.plot(ax=ax) is figure
        assert len(figure.axes) == 1
        drawn(figure)
        small = draw_diagnosis(d, size=(4.2, 3.4), legend=False)
        assert not small.legends
        small.draw_without_rendering()
        words = [t for t in small.axes[0].texts if t.get_gid() == "part"]
        boxes = [t.get_window_extent() for t in words]
        assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))

    def test_level(self):
        narrow, wide = (where(diagnosis(*FOUR), level) for level in (0.5, 0.99))
        assert (narrow.upper[0, 0] - narrow.lower[0, 0]) < (wide.upper[0, 0] - wide.lower[0, 0])
        assert "crosses: 99 % intervals" in wide.notes
        with refused(sd.DataError, "plot(confidence_level)", "95"):
            draw_diagnosis(diagnosis(*FOUR), confidence_level=95)


class TestTags:
    def test_no_overlap_whatever_the_points(self):
        rng = np.random.default_rng(0)
        for n in (1, 10, 50):
            points = rng.uniform(10, 290, size=(n, 2))
            sizes = np.column_stack([rng.uniform(10, 60, n), np.full(n, 9.0)])
            taken = np.array([[0.0, 280, 80, 300]])
            tags = place_labels(points, sizes, (300.0, 300.0), taken, np.zeros((0, 4)))
            boxes = [
                (t.x, t.y, t.x + w, t.y + h)
                for t, (w, h) in zip(tags, sizes, strict=True)
                if t is not None
            ]
            marks = [(x - MARK, y - MARK, x + MARK, y + MARK) for x, y in points]
            for a, b in [
                *itertools.combinations(boxes, 2),
                *itertools.product(boxes, [*marks, *taken]),
            ]:
                assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
            assert all(a >= 0 and b >= 0 and c <= 300 and d <= 300 for a, b, c, d in boxes)
            assert len(boxes) >= 0.8 * n

    def test_no_room_no_name(self):
        none = np.zeros((0, 4))
        wide = place_labels(
            np.array([[50.0, 50]]), np.array([[120.0, 9]]), (100.0, 100.0), none, none
        )
        assert wide == (None,)

    def test_lines_are_avoided_where_that_is_near(self):
        point, size, none = np.array([[100.0, 100]]), np.array([[30.0, 9]]), np.zeros((0, 4))
        cross = np.array([[80.0, 100, 120, 100], [100, 80, 100, 120]])
        (tag,) = place_labels(point, size, (200.0, 200.0), none, cross)
        assert not (tag.x < 100 < tag.x + 30)
        assert not (tag.y < 100 < tag.y + 9)
        assert not tag.led
