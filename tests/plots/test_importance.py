"""Figures of importances: marks against closed forms and counting, texts, and any input."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import skedasis as sd
from skedasis._numbers import percent
from skedasis.plots.figures.importance import importance_figure, permutation_figure
from skedasis.plots.layout import arrange
from skedasis.plots.marks import Line, Points, Rectangles, Segments, marks_of
from skedasis.results.importance import Importance, LocalImportance
from tests.helpers import refused
from tests.plots.specs import assert_readable, labels, mark, tips

NAMES = [
    "x",
    r"$x^2_{\frac$ \alpha",
    "_private_",
    "<script>alert('x')</script> & more",
    "very long " * 20,
    "onewordwithoutanyplacewhereitcouldbebroken" * 3,
    " two\nlines\tand a tab ",
    "",
    "数量与质量",
    "العمر",
    "😀 \x00\ud800",
]
MEANS = [0.2, 1.5, 0.0, -0.3, 0.7]


def importance(means=MEANS, n_repeats=10, names=None, scale=1.0, seed=0, **more):
    """Return importances with repeats of standard deviation 0.1; a mean of zero is exactly zero in every repeat."""
    rng = np.random.default_rng(seed)
    m = np.asarray(means, dtype=float)[:, None]
    values = scale * np.where(m == 0, 0.0, m + 0.1 * rng.normal(size=(len(m), n_repeats)))
    error = scale * np.where(m[:, 0] == 0, 0.0, 0.15)
    names = tuple(names or [f"f{i}" for i in range(len(m))])
    more = {"quantity": "entropy", "unit": "nats", **more}
    return Importance(names, values, error, np.full(len(m), 12.0), 0.5 * scale, 500, **more)


def local(rows=50, features=2, repeats=3, weight=None, exact=True, seed=0, **more):
    """Return importances with local importances: 0 for the second feature, positive for the others."""
    rng = np.random.default_rng(seed)
    own = rng.uniform(size=rows)
    rise = np.where(np.arange(features) == 1, 0.0, 1.0)[:, None, None]
    after = own[:, None] + rise * rng.exponential(size=(features, rows, repeats))
    names = tuple(f"f{i}" for i in range(features))
    kept = LocalImportance(names, np.arange(rows), own, after, weight, exact)
    values = np.average(after - own[:, None], axis=1, weights=weight)
    error = np.full(features, 0.1)
    return Importance(
        names, values, error, error + 9, 0.5, rows, "entropy", "nats", local=kept, **more
    )


class TestBars:
    def test_most_important_first_with_their_intervals(self):
        given = importance()
        panel = importance_figure(given, confidence_level=0.9).main
        order = [1, 4, 0, 2, 3]
        assert panel.rows == 5
        assert dict(zip(panel.y.ticks, panel.y.labels, strict=True)) == {
            4.0 - k: f"f{i}" for k, i in enumerate(order)
        }
        bars, whiskers = mark(panel, Rectangles, "bar"), mark(panel, Segments, "whisker")
        np.testing.assert_array_equal((bars.lower + bars.upper) / 2, [4, 3, 2, 1, 0])
        mean = given.values.mean(axis=1)[order]
        np.testing.assert_allclose(bars.left, np.minimum(mean, 0))  # negative ones to the left
        np.testing.assert_allclose(bars.right, np.maximum(mean, 0))
        half = 0.15 * stats.t.ppf(0.95, 12)
        np.testing.assert_allclose(whiskers.x1 - mean, [half, half, half, 0, half], atol=1e-12)
        np.testing.assert_allclose(mean - whiskers.x0, [half, half, half, 0, half], atol=1e-12)
        np.testing.assert_allclose(whiskers.y0, [4, 3, 2, 1, 0])
        assert whiskers.label == "90 % interval"
        said = "5 features: importance for entropy (PFI)"
        assert (str(panel.title), panel.notes) == (said, ("500 rows", "10 repeats"))

    def test_repeats_lie_on_the_line_of_their_feature(self):
        given = importance()
        dots = mark(importance_figure(given).main, Points, "repeat")
        for line, i in zip((4, 3, 2, 1, 0), (1, 4, 0, 2, 3), strict=True):
            there = np.round(dots.y) == line
            np.testing.assert_array_equal(dots.x[there], given.values[i])
            # Below the whisker, and inside the bar.
            assert np.all((dots.y[there] < line) & (dots.y[there] > line - 0.3))

    def test_the_axis_shows_all_that_is_drawn_and_zero(self):
        panel = importance_figure(importance()).main
        low, high = panel.x.limits
        whiskers, dots = mark(panel, Segments, "whisker"), mark(panel, Points, "repeat")
        for shown in (whiskers.x0, whiskers.x1, dots.x, 0.0):
            assert np.min(shown) > low
            assert np.max(shown) < high
        assert panel.x.label == "rise of entropy [nats]"
        positive = importance_figure(importance([1.0, 2.0])).main
        assert positive.x.limits[0] < 0 < positive.x.limits[1]

    def test_an_interval_of_a_few_repeats_may_not_flatten_the_bars(self):
        """With one degree of freedom Student's t is 12.7: the interval would be 60 times as wide as the bars."""
        given = importance([0.1, 0.2])
        spec = importance_figure(replace(given, std_error=np.ones(2), df=np.ones(2)))
        low, high = spec.main.x.limits
        assert mark(spec.main, Segments, "whisker").x1.max() > 12
        assert high - low < 4 * np.ptp([0.0, *given.values.ravel()])
        assert "some intervals are off the scale" in spec.main.notes
        assert_readable(spec)

    def test_tooltips_state_numbers_and_units(self):
        given = importance()
        said = tips(importance_figure(given))
        lower, upper = given.interval(0.95)
        repeats = given.values[1]
        assert said[0].split("\n") == [
            "f1",
            f"importance {given.mean[1]:.2f} nats",
            f"95 % interval {lower[1]:.2f} to {upper[1]:.2f}",
            f"individual repeats {repeats.min():.2f} to {repeats.max():.2f}",
        ]
        panel = importance_figure(given).main
        assert [(t.lower, t.upper) for t in panel.tooltips] == [
            (k - 0.5, k + 0.5) for k in (4, 3, 2, 1, 0)
        ]

    def test_alternative_text(self):
        alt = importance_figure(importance(np.arange(7.0, 0.0, -1.0))).alt
        assert alt.startswith("Bar chart, most important first: f0 7.")
        assert "; and 2 more. 500 rows; 10 repeats." in alt

    def test_found_by_the_library_itself(self):
        X = np.random.default_rng(0).normal(size=(120, 3))
        loss = sd.loss(lambda X: X[:, 0] + 2 * X[:, 1], "squared_error")
        found = sd.explain(loss, X, y=X[:, 0] + 2 * X[:, 1], method=sd.PFI(n_repeats=4))
        panel = importance_figure(found).main
        assert panel.y.labels == ("x2", "x0", "x1")
        assert panel.notes == ("120 rows", "4 repeats")
        assert mark(panel, Points, "repeat").x[-4:].tolist() == [0.0] * 4


class TestPermutation:
    def test_against_counting(self):
        given = local()
        (first,), (second,) = permutation_figure(given).stacks
        assert (str(first.title), str(second.title)) == ("f0", "f1")
        own, after = given.local.before, given.local.after[0].ravel()
        bars, outline = mark(first, Rectangles, "before"), mark(first, Line, "after")
        for a, b, high in zip(bars.left, bars.right, bars.upper, strict=True):
            assert high == pytest.approx(100 * np.mean((own >= a) & (own < b)))
        assert bars.upper.sum() == pytest.approx(100)
        edges = np.unique(outline.x)
        for a, b in itertools.pairwise(edges):
            high = outline.y[np.searchsorted(outline.x, (a + b) / 2)]
            assert high == pytest.approx(100 * np.mean((after >= a) & (after < b)))
        assert (first.x, first.y) == (second.x, second.y)
        assert first.x.label == "entropy [nats]"
        assert first.y.name == "% of rows"

    @pytest.mark.parametrize("weight", [None, np.arange(50.0)])
    def test_both_means_are_marked(self, weight):
        given = local(weight=weight)
        panel = permutation_figure(given, features=["f0"]).main

        def mean(values):
            return np.average(values.reshape(50, -1).mean(axis=1), weights=weight)

        for when, values in (("before", given.local.before), ("after", given.local.after[0])):
            line, arrow = (
                mark(panel, Segments, f"mean-{when}"),
                mark(panel, Points, f"arrow-{when}"),
            )
            assert line.x0[0] == line.x1[0] == arrow.x[0] == pytest.approx(mean(values))
        a, b = mean(given.local.before), mean(given.local.after[0])
        assert panel.notes[0] == f"mean {a:.3g} → {b:.3g}"

    def test_tooltips_state_both_percentages(self):
        given = local()
        panel = permutation_figure(given, features="f0").main
        bars, outline = mark(panel, Rectangles, "before"), mark(panel, Line, "after")
        k = int(np.argmax(bars.upper))
        (tip,) = (t for t in panel.tooltips if t.left == bars.left[k])
        _, before, after = tip.text.split("\n")
        assert before.startswith("before permutation ")
        assert before.removeprefix("before permutation ") == percent(bars.upper[k] / 100)
        assert after.startswith("f0 permuted ")
        high = outline.y[np.searchsorted(outline.x, (tip.left + tip.right) / 2)]
        assert after.removeprefix("f0 permuted ") == percent(high / 100)

    def test_legend_and_alternative_text(self):
        spec = permutation_figure(local(exact=False))
        assert labels(spec) == [
            "before permutation (a sample of 50 rows)",
            "after permutation (3 repeats)",
            "mean before permutation",
            "mean after permutation",
        ]
        assert labels(permutation_figure(local()))[0] == "before permutation (50 rows)"
        assert spec.alt.count(": mean ") == 2

    def test_far_values_stretch_nothing_and_are_counted(self):
        given = local(rows=1000)
        given.local.after.flags.writeable = True
        given.local.after[0, :5, 0] = 1e6
        panel = permutation_figure(given).main
        assert panel.x.limits[1] < 2e3
        # 5 of 3,000 values after permutation, in percent of all rows before and after it.
        assert panel.notes[-1] == "0.1 % of rows are off the scale"

    @pytest.mark.parametrize(("rows", "factor"), [(1, 0.0), (2, 1e-12), (40, 1e12)])
    def test_any_scale_and_number_of_rows(self, rows, factor):
        given = local(rows=rows)
        kept = given.local
        scaled = LocalImportance(kept.features, kept.row, factor * kept.before, factor * kept.after)
        spec = permutation_figure(replace(given, local=scaled))
        for panel in spec.panels:
            assert mark(panel, Rectangles, "before").upper.sum() == pytest.approx(100)
        assert_readable(spec)

    def test_of_the_library_itself(self):
        X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
        X[:, 1] = X[:, 0]
        q = sd.prediction(lambda X: np.abs(X[:, 0] - X[:, 1]), name="entropy")
        found = sd.explain(q, X, method=sd.PFI(n_repeats=5, local=60))
        spec = permutation_figure(found)
        # The features are equal in all rows.
        assert mark(spec.main, Rectangles, "before").upper.tolist() == pytest.approx([100.0])
        assert (
            mark(spec.main, Segments, "mean-after").x0 > mark(spec.main, Segments, "mean-before").x0
        )
        assert "before permutation (a sample of 60 rows)" in labels(spec)


class TestReadable:
    @pytest.mark.parametrize("n", [1, 2, 40])
    def test_any_number_of_features(self, n):
        spec = importance_figure(importance(np.linspace(1, 0, n)))
        assert_readable(spec)
        written = {line for text in arrange(spec, 320.0).texts() for line in text.lines}
        assert {f"f{i}" for i in range(n)} <= written

    @pytest.mark.slow
    def test_any_name(self):
        given = importance(np.arange(len(NAMES)), names=NAMES, quantity=NAMES[1], unit="$_^")
        spec = importance_figure(given)
        assert_readable(spec)
        assert {NAMES[1], "_private_", "two lines and a tab", "(no name)"} <= set(
            spec.main.y.labels
        )
        kept = local(features=len(NAMES)).local
        rows = LocalImportance(tuple(NAMES), kept.row, kept.before, kept.after)
        given = importance(np.arange(len(NAMES)), names=NAMES, local=rows)
        assert_readable(permutation_figure(given, features=NAMES))

    def test_every_mark_is_explained(self):
        for spec in (importance_figure(importance()), permutation_figure(local())):
            for kind in (Rectangles, Points, Line):
                assert all(m.label for panel in spec.panels for m in marks_of(panel, kind))


class TestRefused:
    def test_choices(self):
        with refused(sd.DataError, "plot(features)", "'nobody'", "'f0'"):
            importance_figure(importance(), features=["f0", "nobody"])
        with refused(sd.DataError, "plot(features)", "no features"):
            importance_figure(importance(), features=[])
        for top in (0, -1, 1.5, True):
            with refused(sd.DataError, "plot(top)", repr(top)):
                importance_figure(importance(), top=top)
        for level in (0, 1, 95, True):
            with refused(sd.DataError, "plot(confidence_level)", repr(level)):
                importance_figure(importance(), confidence_level=level)

    def test_rows_that_are_not_kept(self):
        with refused(sd.UnsupportedError, "plot(kind='local')", "PFI(local=1000)"):
            permutation_figure(importance())
        metric = importance(provenance={"metric": "accuracy"})
        with refused(sd.UnsupportedError, "all rows at once"):
            permutation_figure(metric)
