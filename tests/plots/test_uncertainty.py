"""Figures of uncertainty: elevated regions and whose curves they are, and a feature's distributions by class."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import skedasis as sd
from skedasis.plots import draw_matplotlib, draw_svg
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.layout import arrange
from skedasis.plots.marks import Area, Line, Rectangles, marks_of
from tests.helpers import refused
from tests.plots.spec_helpers import panel_of, texts


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
    return sd.explain(q, X, 0, method=sd.ICE(grid=41, spacing="uniform"))


def drawn(effect, **options):
    """Draw an effect with both renderers, and return the texts for which there is room."""
    spec = effect_figure(effect, EffectPlotOptions(**options))
    assert draw_svg.draw(spec, ident="f").svg
    draw_matplotlib.draw(spec).draw_without_rendering()
    return texts(spec)


def strips(panel):
    """Return the ends and the style of the strips of elevated regions, from left to right."""
    found = [
        (left, right, m.style.removeprefix("elevated-"))
        for m in marks_of(panel, Rectangles)
        for left, right in zip(m.left.tolist(), m.right.tolist(), strict=True)
        if m.style.startswith("elevated")
    ]
    return sorted(found)


class TestStrips:
    def test_they_are_the_rises(self, e):
        main = effect_figure(e, EffectPlotOptions(elevated_regions=True)).main
        found = strips(main)
        assert found == [(r.left, r.right, r.verdict) for r in e.elevated_regions()]
        assert [verdict for _, _, verdict in found] == ["all", "elsewhere", "all"]
        words = drawn(e, elevated_regions=None)
        assert (
            sum(t in ("curves of rows here, too", "rows here, too", "all rows") for t in words) == 2
        )
        assert "only curves of rows outside: extrapolation" in words
        assert {
            "high, and rows are there",
            "high, but no row is there",
        } <= set(words)

    def test_by_default_of_uncertainties_alone(self, X, e):
        def marked(q, wanted=None):
            effect = sd.explain(q, X, 0, method=sd.ICE(grid=11))
            spec = effect_figure(effect, EffectPlotOptions(elevated_regions=wanted))
            return bool(strips(spec.main))

        assert marked(sd.prediction(inside, name="Entropy of something"))
        assert marked(sd.predictive_variance(lambda X: (X[:, 0], 1 + inside(X))))
        assert not marked(sd.prediction(inside))
        assert marked(sd.prediction(inside), True)
        assert not marked(sd.prediction(inside, name="entropy"), False)
        # Without ICE curves of a numeric feature, the default marks nothing and raises no error.
        q = sd.prediction(inside, name="entropy")
        drawn(sd.explain(q, X, 0, method=sd.ALE()), elevated_regions=None)
        drawn(sd.explain(q, X, 0, method=sd.PDP(ice=0)), elevated_regions=None)

    def test_words_stay_within_the_panel_and_apart(self, e):
        spec = effect_figure(e, EffectPlotOptions(elevated_regions=True))
        counts = []
        for width in (140.0, 220.0, 320.0, 600.0):
            placed = arrange(spec, width)
            panel, letters = placed.panels[0], placed.lettering
            ends = sorted(
                (
                    t.x - letters.width(t.lines[0], t.style) / 2,
                    t.x + letters.width(t.lines[0], t.style) / 2,
                )
                for t in panel.texts
            )
            assert all(a >= panel.frame.left - 1 and b <= panel.frame.right + 1 for a, b in ends)
            assert all(b < c for (_, b), (c, _) in itertools.pairwise(ends))
            counts.append(len(ends))
        assert counts[-1] == 3

    def test_a_tooltip_names_the_region(self, e):
        main = effect_figure(e, EffectPlotOptions(elevated_regions=True)).main
        for tip in main.tooltips:
            x = float(tip.text.split("\n")[0].removeprefix("x0 = ").replace("−", "-"))
            inside = [r for r in e.elevated_regions() if r.left + 0.01 < x < r.right - 0.01]
            assert not inside or "high, " in tip.text
        assert sum("high, " in tip.text for tip in main.tooltips) < len(main.tooltips)

    def test_refused(self, X):
        for method, what in ((sd.ALE(), "ALE"), (sd.ICE(derivative=True), "slopes")):
            with refused(sd.UnsupportedError, "elevated_regions", what):
                effect_figure(
                    sd.explain(inside, X, 0, method=method),
                    EffectPlotOptions(elevated_regions=True),
                )


def groups(effect, **options):
    """Return the panel with the histogram of each group, and these: style, label, lower and upper ends of bars."""
    panel = panel_of(effect_figure(effect, EffectPlotOptions(histogram=True, **options)), "detail")
    areas = list(marks_of(panel, Area))
    for area in areas:
        # Each bar is level from edge to edge.
        np.testing.assert_array_equal(area.upper[::2], area.upper[1::2])
    return panel, [(a.style, a.label, a.lower[::2], a.upper[::2]) for a in areas]


def edges_of(panel):
    area = next(marks_of(panel, Area))
    return np.append(area.x[::2], area.x[-1])


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
        panel, found = groups(e, color=y, color_name="y")
        names, edges = sorted(set(y.tolist())), edges_of(panel)
        assert len(found) == 2
        for (_, label, low, high), name in zip(found, names, strict=True):
            there = X[y == name, 0]
            assert not low.any()
            for k, (a, b) in enumerate(itertools.pairwise(edges)):
                last = k == len(high) - 1
                assert high[k] == np.sum((there >= a) & ((there < b) | last & (there <= b)))
            shown = f"{name:.0f}" if kind is float else str(name)
            assert label == f"y = {shown} ({len(there)} rows)"
        beyond = np.sum((X[:, 0] < edges[0]) | (X[:, 0] > edges[-1]))
        assert panel.notes[0] == "all 400 rows"
        assert panel.notes[1:] == ((f"{beyond} rows off the scale",) if beyond else ())
        assert panel.x == effect_figure(e).main.x

    def test_outline_and_tooltips_have_the_same_numbers(self, X, e):
        y = np.where(X[:, 1] > 0, "up", "down")
        panel, found = groups(e, color=y, color_name="side")
        for style, label, _, high in found:
            (line,) = marks_of(panel, Line, style.replace("area", "outline"))
            assert line.label == label
            assert (line.y[0], line.y[-1]) == (0, 0)
            np.testing.assert_array_equal(line.y[1:-1][::2], high)
        assert len(panel.tooltips) == len(found[0][3])
        for k, tip in enumerate(panel.tooltips):
            wanted = [f"{label.split(' (')[0]}: {high[k]:.0f}" for _, label, _, high in found]
            assert tip.text.split("\n")[1:] == wanted

    def test_of_the_kept_rows_or_of_all(self, X):
        y = np.where(X[:, 1] > 0, "up", "down")
        e = sd.explain(inside, X, 0, method=sd.PDP(ice=50))
        kept, kept_groups = groups(e, color=y)
        everyone, all_groups = groups(e, color=y, values=X[:, 0])
        assert kept.notes[0] == "a sample of 50 rows"
        assert everyone.notes[0] == "all 400 rows"
        rows = e.curves.row
        assert kept_groups[0][1] == f"color = down ({(y[rows] == 'down').sum()} rows)"
        assert all_groups[0][1] == f"color = down ({(y == 'down').sum()} rows)"

    def test_rows_without_a_class(self, X):
        y = np.array(["a", "b"], dtype=object)[np.arange(400) % 2]
        y[:5] = None
        e = sd.explain(inside, X, 0, method=sd.ICE(grid=21))
        found = drawn(e, color=y, color_name="arm", histogram=True)
        assert {"arm missing (5 rows)", "arm = a (197 rows)"} <= set(found)
        # The legend lists each group once; the other text is beside the average of the group.
        assert found.count("arm = a") == 1

    def test_levels(self, X):
        pd = pytest.importorskip("pandas")
        F = pd.DataFrame({"g": np.array(list("abc"))[np.arange(400) % 3], "z": X[:, 1]})
        y = X[:, 1] > 0
        effect = sd.explain(lambda F: F["z"].to_numpy() + 0.0, F, "g", method=sd.ICE())
        for values in (None, F["g"]):
            panel, found = groups(effect, color=y, values=values)
            for (_, _, _, high), is_up in zip(found, (False, True), strict=True):
                # There are gaps between the bars.
                rows = [int(((F["g"] == g) & (y == is_up)).sum()) for g in "abc"]
                assert high.tolist() == [rows[0], 0, rows[1], 0, rows[2]]
            assert [tip.text.split("\n")[0] for tip in panel.tooltips] == ["a", "b", "c"]
        drawn(effect, color=y, histogram=True)

    def test_refused(self, X, e):
        y = X[:, 1] > 0

        def figure(**options):
            effect_figure(e, EffectPlotOptions(**options))

        with refused(sd.DataError, "plot(histogram)", "without color"):
            figure(histogram=True)
        with refused(sd.DataError, "plot(values)", "without histogram"):
            figure(color=y, values=X[:, 0])
        with refused(sd.UnsupportedError, "plot(histogram)", "numeric scale"):
            figure(color=X[:, 1], histogram=True)
        with refused(sd.DataError, "plot(values)", "399 values", "400 rows", "'x0'"):
            figure(color=y, histogram=True, values=X[:399, 0])
        with refused(sd.DataError, "plot(values)", "shape (400, 2)"):
            figure(color=y, histogram=True, values=X)
        with refused(sd.DataError, "plot(values)", "not numeric"):
            figure(color=y, histogram=True, values=["a"] * 400)
        with refused(sd.UnsupportedError, "plot(color)", "ALE"):
            ale = sd.explain(inside, X, 0, method=sd.ALE())
            effect_figure(ale, EffectPlotOptions(color=y, histogram=True))
