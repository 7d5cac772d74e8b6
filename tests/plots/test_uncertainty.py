"""Figures of uncertainty: elevated regions and whose curves they are, and a feature's distributions by class."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import skedasis as sd
from skedasis.plots.figures.effect import effect_spec
from skedasis.plots.spec import EffectPlotOptions
from skedasis.plots.theme import PATTERNS, RISES
from tests.helpers import refused
from tests.plots.mpl_helpers import drawn, fits


def inside(X):
    """Return an uncertainty that is high in the empty middle of a square, and near two of its sides."""
    return np.maximum(0.8 - np.abs(X).max(axis=1), 0.0) + 0.3 * np.abs(X[:, 0]) ** 8


@pytest.fixture(scope="module")
def X():
    X = np.random.default_rng(0).uniform(-1, 1, size=(6000, 2))
    return X[np.abs(X).max(axis=1) > 0.8][:400]


@pytest.fixture(scope="module")
def e(X):
    q = sd.prediction(inside, name="entropy", unit="nats")
    return sd.explain(q, X, 0, method=sd.ICE(grid=41))


class TestStrips:
    def test_they_are_the_rises(self, e):
        strips = effect_spec(e, EffectPlotOptions(elevated_regions=True)).main.strips
        assert [(s.left, s.right, s.rising) for s in strips] == [
            (r.left, r.right, r.verdict) for r in e.elevated_regions()
        ]
        assert [s.rising for s in strips] == ["all", "elsewhere", "all"]
        texts = drawn(e.plot())
        assert (
            sum(t in ("curves of rows here, too", "rows here, too", "all rows") for t in texts) == 2
        )
        assert "only curves of rows outside: extrapolation" in texts
        assert {
            "elevated: all rows",
            "elevated: only rows outside the region (extrapolation)",
        } <= set(texts)

    def test_by_default_of_uncertainties_alone(self, X, e):
        def marked(q, **options):
            texts = drawn(sd.explain(q, X, 0, method=sd.ICE(grid=11)).plot(**options))
            return any(t.startswith("elevated") for t in texts)

        assert marked(sd.prediction(inside, name="Entropy of something"))
        assert marked(sd.predictive_variance(lambda X: (X[:, 0], 1 + inside(X))))
        assert not marked(sd.prediction(inside))
        assert marked(sd.prediction(inside), elevated_regions=True)
        assert not marked(sd.prediction(inside, name="entropy"), elevated_regions=False)
        # Without ICE curves of a numeric feature, the default marks nothing and raises no error.
        drawn(sd.explain(sd.prediction(inside, name="entropy"), X, 0, method=sd.ALE()).plot())
        drawn(sd.explain(sd.prediction(inside, name="entropy"), X, method=sd.PDP()).plot())

    def test_they_hide_nothing(self, e):
        plain, main = (
            effect_spec(e, EffectPlotOptions(elevated_regions=False)).main,
            effect_spec(e, EffectPlotOptions(elevated_regions=True)).main,
        )
        low, high = main.y.limits
        assert high == plain.y.limits[1]
        assert plain.y.limits[0] == pytest.approx(low + 0.15 * (high - low))

    def test_words_stay_within_the_panel_and_apart(self, e):
        for width in (3.0, 4.5, 6.8, 12.0):
            figure = e.plot(size=(width, 4.5))
            figure.draw_without_rendering()
            ax = figure.axes[0]
            words = [
                t for t in ax.texts if t.get_text().split()[0] in ("all", "rows", "curves", "only")
            ]
            boxes = sorted((t.get_window_extent() for t in words), key=lambda b: b.x0)
            frame = ax.get_window_extent()
            assert all(b.x0 >= frame.x0 - 1 and b.x1 <= frame.x1 + 1 for b in boxes)
            assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))
        assert len(words) == 3

    def test_told_apart_without_colours(self):
        looks = list(RISES.values())
        assert len(set(looks)) == 3
        assert len({pattern for pattern, _ in looks}) == 3

    def test_refused(self, X):
        with refused(sd.UnsupportedError, "elevated_regions", "ALE"):
            sd.explain(inside, X, 0, method=sd.ALE()).plot(elevated_regions=True)
        with refused(sd.UnsupportedError, "elevated_regions", "slopes"):
            sd.explain(inside, X, 0, method=sd.ICE(derivative=True)).plot(elevated_regions=True)


class TestGroups:
    @pytest.mark.parametrize(
        "kind", [str, int, bool, float, np.str_, object], ids=lambda k: k.__name__
    )
    def test_counts_of_each_class(self, X, kind):
        y = np.array(["a" if x > 0 else "b" for x in X[:, 1]])
        if kind in (int, bool, float):
            y = (y == "a").astype(kind)
        elif kind is object:
            y = y.astype(object)
        e = sd.explain(inside, X, 0, method=sd.ICE(grid=np.linspace(-0.9, 0.8, 21)))
        panel = effect_spec(e, EffectPlotOptions(color=y, color_name="y", histogram=True)).groups
        names = sorted(set(y.tolist()))
        assert len(panel.outlines) == 2
        for outline, name in zip(panel.outlines, names, strict=True):
            there = X[y == name, 0]
            for k, (a, b) in enumerate(itertools.pairwise(outline.edges)):
                last = k == len(outline.height) - 1
                assert outline.height[k] == np.sum(
                    (there >= a) & ((there < b) | last & (there <= b))
                )
            shown = f"{name:.0f}" if kind is float else str(name)
            assert outline.label == f"y = {shown} ({len(there)} rows)"
        beyond = np.sum((X[:, 0] < outline.edges[0]) | (X[:, 0] > outline.edges[-1]))
        assert panel.notes[0] == "all 400 rows"
        assert panel.notes[1:] == ((f"{beyond} rows outside the panel",) if beyond else ())
        assert panel.x == effect_spec(e).main.x

    def test_of_the_kept_rows_or_of_all(self, X):
        y = np.where(X[:, 1] > 0, "up", "down")
        e = sd.explain(inside, X, 0, method=sd.PDP(ice=50))
        kept = effect_spec(e, EffectPlotOptions(color=y, histogram=True)).groups
        everyone = effect_spec(e, EffectPlotOptions(color=y, histogram=True, values=X[:, 0])).groups
        assert kept.notes[0] == "a sample of 50 rows"
        assert everyone.notes[0] == "all 400 rows"
        rows = e.curves.row
        assert kept.outlines[0].label == f"color = down ({(y[rows] == 'down').sum()} rows)"
        assert everyone.outlines[0].label == f"color = down ({(y == 'down').sum()} rows)"

    def test_weights(self, X):
        w = np.random.default_rng(0).integers(0, 4, 400)
        y = np.where(X[:, 1] > 0, "up", "down")
        a = sd.explain(inside, X, 0, method=sd.ICE(grid=9), sample_weight=w)
        b = sd.explain(inside, np.repeat(X, w, axis=0), 0, method=sd.ICE(grid=a.x))
        one = effect_spec(a, EffectPlotOptions(color=y, histogram=True)).groups
        two = effect_spec(b, EffectPlotOptions(color=np.repeat(y, w), histogram=True)).groups
        assert one.y.name == "sum of row weights"
        for p, q in zip(one.outlines, two.outlines, strict=True):
            assert p.height.sum() == pytest.approx(q.height.sum())
            assert p.label.split(" (")[0] == q.label.split(" (")[0]
        drawn(a.plot(color=y, own=True))

    def test_a_bar_holds_as_many_whole_numbers_as_its_neighbour(self, X):
        for top in (30, 47, 199, 1000):
            Z = np.column_stack([np.arange(400) % top, X[:, 1]]).astype(float)
            e = sd.explain(lambda Z: Z[:, 0], Z, 0, method=sd.ICE())
            panel = effect_spec(e, EffectPlotOptions(color=Z[:, 1] > 0, histogram=True)).groups
            edges = panel.outlines[0].edges
            assert len(set(np.diff(edges))) == 1
            assert (edges % 1 == 0.5).all()
            low, high = panel.x.limits
            width = edges[1] - edges[0]
            assert edges[0] > low - width / 2
            assert edges[-1] < high + width / 2

    def test_three_lie_over_one_another_more_are_stacked(self, X):
        e = sd.explain(inside, X, 0, method=sd.ICE(grid=21))
        for n in (3, 4, 8):
            color = np.array(list("abcdefgh"))[np.arange(400) % n]
            panel = effect_spec(e, EffectPlotOptions(color=color, histogram=True)).groups
            if n == 3:
                assert all(o.base is None for o in panel.outlines)
                continue
            assert "stacked" in panel.notes
            for below, above in itertools.pairwise(panel.outlines):
                np.testing.assert_array_equal(above.base, below.base + below.height)
            top = panel.outlines[-1]
            together = np.histogram(X[:, 0], top.edges)[0]
            np.testing.assert_array_equal(top.base + top.height, together)
            assert panel.y.limits[1] > together.max()
        assert len(set(PATTERNS)) == 8

    def test_rows_without_a_class(self, X):
        y = np.array(["a", "b"], dtype=object)[np.arange(400) % 2]
        y[:5] = None
        e = sd.explain(inside, X, 0, method=sd.ICE(grid=21))
        figure = e.plot(color=y, color_name="arm", histogram=True)
        assert {"arm missing (5 rows)", "arm = a (197 rows)"} <= set(drawn(figure))
        # The legend lists each group once.
        assert "arm = a" not in drawn(figure)

    def test_levels(self, X):
        pd = pytest.importorskip("pandas")
        F = pd.DataFrame({"g": np.array(list("abc"))[np.arange(400) % 3], "z": X[:, 1]})
        y = X[:, 1] > 0
        effect = sd.explain(lambda F: F["z"].to_numpy() + 0.0, F, "g", method=sd.ICE())
        for values in (None, F["g"]):
            panel = effect_spec(
                effect, EffectPlotOptions(color=y, histogram=True, values=values)
            ).groups
            for outline, is_up in zip(panel.outlines, (False, True), strict=True):
                # There are gaps between the bars.
                found = [int(((F["g"] == g) & (y == is_up)).sum()) for g in "abc"]
                assert outline.height.tolist() == [found[0], 0, found[1], 0, found[2]]
        drawn(effect.plot(color=y, histogram=True))

    def test_few_values_constants_and_names(self, X):
        y = pytest.importorskip("pandas").Series(X[:, 1] > 0, name=r"$x^2_{\frac$")
        for column in (np.round(X[:, 0]), np.full(400, 3.0), 1e12 * X[:, 0], 1e-12 * X[:, 0]):
            Z = np.column_stack([column, X[:, 1]])
            effect = sd.explain(lambda Z: Z[:, 1] + 0.0, Z, 0, method=sd.ICE())
            figure = effect.plot(color=y, histogram=True, elevated_regions=True)
            assert any(t.startswith(r"$x^2_{\frac$ = True") for t in drawn(figure))
            assert fits(figure)

    def test_refused(self, X, e):
        y = X[:, 1] > 0
        with refused(sd.DataError, "plot(histogram)", "without color"):
            e.plot(histogram=True)
        with refused(sd.DataError, "plot(values)", "without histogram"):
            e.plot(color=y, values=X[:, 0])
        with refused(sd.UnsupportedError, "plot(histogram)", "numeric scale"):
            e.plot(color=X[:, 1], histogram=True)
        with refused(sd.DataError, "plot(values)", "399 values", "400 rows", "'x0'"):
            e.plot(color=y, histogram=True, values=X[:399, 0])
        with refused(sd.DataError, "plot(values)", "shape (400, 2)"):
            e.plot(color=y, histogram=True, values=X)
        with refused(sd.DataError, "plot(values)", "not numeric"):
            e.plot(color=y, histogram=True, values=["a"] * 400)
        with refused(sd.UnsupportedError, "plot(color)", "ALE"):
            sd.explain(inside, X, 0, method=sd.ALE()).plot(color=y, histogram=True)
