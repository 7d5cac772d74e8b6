"""Several results of the same features in one figure."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import NamedTuple
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import skedasis as sd
from skedasis.plots import draw_matplotlib, draw_svg, theme
from skedasis.plots.figures.compare import compare_figure, mean_over_data, overlay_figure
from skedasis.plots.marks import (
    Area,
    FigureSpec,
    Heat,
    Line,
    Points,
    Rug,
    Segments,
    legend_of,
    marks_of,
)
from tests.helpers import refused


def model(X):
    return 2 * X[:, 0] + X[:, 1]


class Strand(NamedTuple):
    """The marks of one effect."""

    x: np.ndarray
    y: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def strands(figure: FigureSpec) -> list[Strand]:
    """Return the curves of an overlay, with intervals where they are drawn."""
    found = []
    panel = figure.main
    for i in range(8):
        line = next(marks_of(panel, Line, f"hue{i}"), None)
        points = next(marks_of(panel, Points, f"hue{i}-vertex"), None)
        curve = line or points
        if curve is None:
            break
        area = next(marks_of(panel, Area, f"hue{i}-band"), None)
        bars = next(marks_of(panel, Segments, f"hue{i}-interval"), None)
        nothing = np.full(len(curve.y), np.nan)
        ends = (nothing, nothing)
        if area is not None:
            ends = area.lower, area.upper
        elif bars is not None:
            ends = bars.y0, bars.y1
        found.append(Strand(curve.x, curve.y, *ends))
    return found


def labels(figure: FigureSpec) -> list[str]:
    return [key.label for key in legend_of(figure.panels, figure.order)]


def drawn(figure: FigureSpec) -> str:
    """Draw a figure by both renderers, and return all texts of the SVG."""
    draw_matplotlib.draw(figure).draw_without_rendering()
    root = ET.fromstring(str(draw_svg.draw(figure, ident="c").svg))
    return "\n".join(root.itertext())


@pytest.fixture(scope="module")
def X():
    X = np.random.default_rng(11).uniform(0, 1, size=(300, 2))
    X[:, 0] **= 2
    X[:, 1] += 4 * X[:, 0]
    return X


@pytest.fixture(scope="module")
def three(X):
    methods = [sd.PDP(ice="all"), sd.ALE(bins=6), sd.MPlot(bins=6)]
    return [sd.explain(model, X, 0, method=m) for m in methods]


class TestCentring:
    def test_pdp_and_ale_of_a_linear_model_coincide(self, X, three):
        pdp, ale, _ = strands(overlay_figure(three))
        inside = (ale.x > pdp.x[0]) & (ale.x < pdp.x[-1])
        np.testing.assert_allclose(ale.y, 2 * (ale.x - X[:, 0].mean()), atol=1e-9)
        # Outside its grid a PDP is extrapolated as constant.
        level = np.clip(X[:, 0], pdp.x[0], pdp.x[-1]).mean()
        np.testing.assert_allclose(pdp.y, 2 * (pdp.x - level), atol=1e-9)
        assert inside.any()

    def test_each_mean_over_the_data_is_zero(self, X, three):
        for strand in strands(overlay_figure(three)):
            at_rows = np.interp(X[:, 0], strand.x, strand.y)
            assert at_rows.mean() == pytest.approx(0, abs=1e-12)

    def test_weights_repeat_rows(self, X):
        w = np.random.default_rng(0).integers(0, 3, 300)
        a = sd.explain(model, X, 0, method=sd.PDP(), sample_weight=w)
        b = sd.explain(model, np.repeat(X, w, axis=0), 0, method=sd.PDP(grid=a.x))
        assert mean_over_data(a) == pytest.approx(mean_over_data(b))

    def test_a_centred_pdp_has_lost_the_error_of_its_level(self, X):
        """The model is additive: its curves are parallel, so their centered average has no error."""
        e = sd.explain(model, X, 0, method=sd.PDP())
        (strand,) = strands(overlay_figure([e]))
        np.testing.assert_allclose(strand.upper - strand.lower, 0, atol=1e-9)
        assert e.std_error.min() > 0.05

    def test_levels_by_their_shares(self):
        pd = pytest.importorskip("pandas")
        g = np.repeat(["a", "b", "c"], [60, 30, 10])
        worth = np.repeat([0.0, 1.0, 5.0], [60, 30, 10])
        F = pd.DataFrame({"g": g, "z": np.arange(100) % 7.0})
        q = lambda F: F["g"].map({"a": 0.0, "b": 1.0, "c": 5.0}).to_numpy(float)  # noqa: E731
        es = [sd.explain(q, F, "g", method=m) for m in (sd.PDP(), sd.MPlot(), sd.ALE())]
        for strand in strands(overlay_figure(es)):
            at = np.round(strand.x).astype(int)
            np.testing.assert_allclose(strand.y, np.array([0.0, 1.0, 5.0])[at] - worth.mean())


class TestLooks:
    def test_no_two_lines_look_alike_without_colours(self, X):
        es = [sd.explain(model, X, 0, method=sd.ALE(bins=k)) for k in range(2, 10)]
        panel = overlay_figure(es).main
        lines = [theme.STYLES[m.style] for m in marks_of(panel, Line)]
        assert len({style.dash for style in lines}) == 8
        assert len({style.stroke for style in lines}) == 8

    def test_each_has_one_legend_entry_with_its_line(self, three):
        shown = overlay_figure(three)
        keys = legend_of(shown.panels, shown.order)
        assert [k.label for k in keys][:3] == ["PDP", "ALE", "M-plot"]
        assert keys[1].parts == (("line", "hue1"),)

    def test_bands_of_up_to_three_below_all_lines(self, three):
        panel = overlay_figure(three).main
        kinds = [type(m) for m in panel.marks]
        bands = list(marks_of(panel, Area))
        assert [m.style for m in bands if len(m.x)] == ["hue0-band", "hue1-band", "hue2-band"]
        assert max(i for i, k in enumerate(kinds) if k is Area) < kinds.index(Line)
        (key,) = (k for k in legend_of([panel]) if k.label == "95 % interval")
        assert key.parts == (("area", "bands"),)
        four = overlay_figure([*three, three[0]])
        assert not list(marks_of(four.main, Area))
        assert "95 % interval" not in labels(four)

    def test_no_legend_entry_of_bands_that_are_not_known(self, X):
        for known in (True, False):
            e = sd.explain(model, X, 0, method=sd.PDP(heterogeneity=known))
            assert ("95 % interval" in labels(overlay_figure([e]))) == known

    def test_the_rows_are_shown_once(self, X, three):
        (rug,) = marks_of(overlay_figure(three).main, Rug)
        np.testing.assert_array_equal(rug.x, np.sort(X[:, 0]))

    def test_labels(self, X, three):
        y = model(X)
        label = sd.explain(sd.label(), X, 0, y=y, method=sd.MPlot(bins=4))
        names = labels(overlay_figure([*three, label]))[:4]
        assert names == ["PDP", "ALE", "M-plot", "M-plot of label"]
        again = [sd.explain(model, X, 0, method=sd.ALE(bins=k)) for k in (3, 5, 5)]
        names = labels(overlay_figure(again))[:3]
        assert names[0] == "ALE, 3 bins"
        assert len(set(names)) == 3
        assert overlay_figure([three[0], label]).main.y.label == "effect on prediction, label"

    def test_constant_feature(self, X):
        X = X.copy()
        X[:, 0] = 2.0
        es = [sd.explain(model, X, 0, method=m) for m in (sd.PDP(), sd.ALE(), sd.MPlot())]
        shown = overlay_figure(es)
        assert len(list(marks_of(shown.main, Points))) == 3
        drawn(shown)


class TestTexts:
    def test_tooltips_read_all_effects_at_the_same_value(self, X, three):
        shown = overlay_figure(three)
        tips = shown.main.tooltips
        assert tips[0].left == shown.main.x.range[0]
        assert tips[-1].right == shown.main.x.range[1]
        for before, after in itertools.pairwise(tips):
            assert before.right == after.left
        for tip in tips:
            head, *lines = tip.text.split("\n")
            at = float(head.removeprefix("x0 = ").replace("−", "-"))
            assert tip.left - 0.02 <= at <= tip.right + 0.02
            assert [line.split(" ")[0] for line in lines] == ["PDP", "ALE", "M-plot"]
            said = lines[1].split(" ", 1)[1].replace("−", "-")
            # The model is linear in x0, with a slope of 2.
            assert float(said) == pytest.approx(2 * (at - X[:, 0].mean()), abs=0.03)

    def test_alternative_text_has_the_range_of_each_curve(self, three):
        alt = compare_figure(three).alt
        assert alt.startswith("x0: effect on prediction (PDP, ALE and M-plot), overlaid.")
        assert alt.count(": from ") == 3


class TestLevels:
    def test_side_by_side_in_the_order_of_the_first(self):
        pd = pytest.importorskip("pandas")
        rng = np.random.default_rng(0)
        F = pd.DataFrame(
            {"g": np.array(list("abcd"))[np.arange(200) % 4], "z": rng.normal(size=200)}
        )
        q = lambda F: F["g"].map(ord).to_numpy(float)  # noqa: E731
        first = sd.explain(q, F, "g", method=sd.ALE(order=list("dbca")))
        second = sd.explain(q, F, "g", method=sd.PDP())
        shown = overlay_figure([first, second])
        assert shown.main.x.labels == ("d", "b", "c", "a")
        a, b = strands(shown)
        np.testing.assert_array_equal(np.round(a.x), [0, 1, 2, 3])
        assert (a.x < b.x).all()
        np.testing.assert_allclose(a.y, b.y)
        assert not list(marks_of(shown.main, Line))
        assert len(list(marks_of(shown.main, Segments, "hue1-interval"))) == 1
        tips = [t.text.split("\n") for t in shown.main.tooltips]
        assert [t[0] for t in tips] == list("dbca")
        assert all([line.split(" ")[0] for line in t[1:]] == ["ALE", "PDP"] for t in tips)
        drawn(shown)


class TestManyFeatures:
    @pytest.fixture(scope="class")
    @staticmethod
    def two(X):
        wide = np.c_[X, X[:, :1] * X[:, 1:], np.arange(300.0) % 7]
        q = lambda X: model(X) + 0.1 * X[:, 3]  # noqa: E731
        return [sd.explain(q, wide, method=m) for m in (sd.ALE(bins=5), sd.PDP(grid=6))]

    def test_one_overlay_per_feature_largest_first(self, two):
        shown = compare_figure(two)
        first = [stack[0].x.name for stack in shown.stacks]
        size = {f: max(es[f].importance for es in two) for f in two[0]}
        assert first == sorted(size, key=lambda f: -size[f])
        assert str(shown.main.title) == f"1. {first[0]}"
        assert shown.title == "4 features: effect on prediction (ALE and PDP)"
        assert shown.stack_titles[0] == f"{first[0]}: effect on prediction (ALE and PDP)"
        assert len({stack[0].y for stack in shown.stacks}) == 1
        assert shown.shared
        assert shown.small
        assert labels(shown)[:2] == ["ALE", "PDP"]
        alone = overlay_figure([es[first[1]] for es in two])
        for a, b in zip(
            strands(replace(shown, stacks=shown.stacks[1:2])), strands(alone), strict=True
        ):
            np.testing.assert_array_equal(a.y, b.y)
        drawn(shown)

    def test_only_common_features(self, two):
        part = sd.Effects({f: two[1][f] for f in ("x1", "x3")}) if hasattr(sd, "Effects") else None
        part = part or type(two[1])({f: two[1][f] for f in ("x1", "x3")})
        shown = compare_figure(two[0], part)
        assert {stack[0].x.name for stack in shown.stacks} == {"x1", "x3"}
        assert "2 of 4 features" in shown.notes
        other = type(part)({"other": two[0]["x0"]})
        with refused(sd.DataError, "compare", "without a common feature"):
            compare_figure(part, other)


class TestSurfaces:
    def test_side_by_side_on_one_colour_scale(self, X):
        q = lambda X: X[:, 0] * X[:, 1]  # noqa: E731
        small = sd.explain(q, X, (0, 1), method=sd.ALE(bins=3))
        large = sd.explain(lambda X: 5 * q(X), X, (0, 1), method=sd.ALE(bins=3))
        shown = compare_figure({"small": small, "large": large})
        heats = [next(marks_of(stack[0], Heat)) for stack in shown.stacks]
        assert heats[0].limits == heats[1].limits
        # The model is linear: five times the output has five times the effect.
        np.testing.assert_allclose(5 * heats[0].value, heats[1].value, atol=1e-9)
        assert np.nanmax(np.abs(heats[0].value)) <= 0.21 * heats[0].limits[1]
        assert [str(stack[0].title) for stack in shown.stacks] == ["small", "large"]
        said = "x0 \N{MULTIPLICATION SIGN} x1: interaction effect on prediction (ALE)"
        assert shown.title == str(shown.heading) == said
        assert all(stack[1].kind == "scale" for stack in shown.stacks)
        assert shown.stacks[0][1].x == shown.stacks[1][1].x
        drawn(shown)


class TestModels:
    def many(self, X, m):
        return [lambda X, k=k: k * X[:, 0] + X[:, 1] for k in range(1, m + 1)]

    def test_each_model_is_a_curve(self, X):
        em = sd.explain(self.many(X, 3), X, 0, method=sd.ALE(bins=4), refits=True)
        shown = compare_figure(em)
        assert labels(shown)[:3] == ["model 1", "model 2", "model 3"]
        for strand, e in zip(strands(shown), em.models, strict=True):
            np.testing.assert_allclose(np.diff(strand.y), np.diff(e.value), atol=1e-12)
        assert labels(compare_figure(em, labels=list("abc")))[:3] == list("abc")


class TestRefused:
    def test_what_cannot_be_compared(self, X, three):
        other = sd.explain(model, X, 1, method=sd.ALE(bins=3))
        slope = sd.explain(model, X, 0, method=sd.PDP(derivative=True, grid=4))
        surface = sd.explain(model, X, (0, 1), method=sd.PDP(grid=3))
        with refused(sd.DataError, "compare", "no result"):
            compare_figure()
        with refused(sd.DataError, "compare", "no result"):
            overlay_figure([])
        with refused(sd.DataError, "9 results", "1 to 8"):
            compare_figure([three[0]] * 9)
        with refused(sd.DataError, "'x0'", "'x1'", "same feature"):
            compare_figure(three[0], other)
        with refused(sd.DataError, "same feature"):
            compare_figure(sd.explain(model, X, method=sd.ALE(bins=3)))
        with refused(sd.UnsupportedError, "derivatives and values"):
            compare_figure(three[0], slope)
        with refused(sd.UnsupportedError, "Surface"):
            compare_figure(surface, three[0])
        with refused(sd.UnsupportedError, "str"):
            compare_figure("x0")
        with refused(sd.DataError, "compare(labels)", "2 labels", "3 labels"):
            compare_figure(three, labels=["a", "b"])
        with refused(sd.DataError, "compare(labels)", "one string"):
            compare_figure(three, labels="abc")
        with refused(sd.DataError, "compare(center)", "'start'"):
            sd.compare(three, center="start")
        with pytest.raises(sd.DataError, match="level"):
            compare_figure(three, confidence_level=2)

    def test_units(self, X):
        es = [
            sd.explain(sd.prediction(model, unit=u), X, 0, method=sd.ALE(bins=3))
            for u in ("EUR", "USD", None)
        ]
        with refused(sd.UnsupportedError, "'EUR'", "'USD'"):
            compare_figure(es[0], es[1])
        drawn(compare_figure(es[0], es[2]))

    def test_levels_beside_numbers(self, X):
        pd = pytest.importorskip("pandas")
        F = pd.DataFrame({"g": np.arange(60) % 4, "z": np.arange(60.0)})
        q = lambda F: F["g"].to_numpy() * 1.0  # noqa: E731
        a = sd.explain(q, F, "g", method=sd.ALE(), schema={"g": "ordinal"})
        b = sd.explain(q, F, "g", method=sd.ALE())
        with refused(sd.UnsupportedError, "'g' as a categorical and as a numeric feature"):
            compare_figure(a, b)


class TestHostileInput:
    @pytest.mark.parametrize(
        "change",
        [
            pytest.param({"value": lambda v: v * np.nan}, id="unknown values"),
            pytest.param({"value": lambda v: v * 1e305}, id="huge values"),
            pytest.param(
                {"value": lambda v: np.where(np.arange(len(v)) == 1, np.inf, v)}, id="one infinite"
            ),
            pytest.param({"std_error": lambda v: v * np.nan}, id="unknown errors"),
            pytest.param({"std_error": lambda v: v + np.inf}, id="infinite errors"),
            pytest.param({"df": lambda v: v * 0}, id="no degrees of freedom"),
        ],
    )
    def test_numbers_that_are_none(self, three, change):
        place = 1
        e = three[place]
        changed = replace(e, **{k: f(np.array(getattr(e, k))) for k, f in change.items()})
        drawn(overlay_figure([changed, e]))

    @pytest.mark.parametrize("size", [1e-99, 1e-12, 1e12, 1e139])
    def test_quantities_of_any_size(self, X, size):
        e = sd.explain(lambda X: size * model(X), X, 0, method=sd.ALE(bins=4))
        drawn(overlay_figure([e, e]))
