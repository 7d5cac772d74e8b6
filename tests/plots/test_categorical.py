"""Figures of categorical features: values of the panels, and texts for which there is room."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import skedasis as sd
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.layout import arrange
from skedasis.plots.marks import (
    CurveSet,
    Line,
    Points,
    Polygons,
    Rectangles,
    Segments,
    marks_of,
)
from tests.plots.spec_helpers import drawn, only, panel_of, styles

pd = pytest.importorskip("pandas")

MIN_GAIN = {"a": 0.0, "b": 2.0, "c": 1.0, "d": 7.0}
COUNTS = {"a": 40, "b": 30, "c": 25, "d": 5}


def worth(X):
    """Return the level's value, more of it where z is large."""
    return X["g"].astype(object).map(MIN_GAIN).to_numpy(float) * (1 + X["z"].to_numpy())


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(3)
    g = rng.permutation(np.repeat(list(COUNTS), list(COUNTS.values())))
    return pd.DataFrame({"g": g, "z": rng.uniform(-1, 1, 100)})


def explained(X, method, kind="nominal", levels=tuple("abcd")):
    schema = {"g": sd.Feature("g", kind=kind, levels=levels)}
    return sd.explain(worth, X, "g", method=method, schema=schema)


def boxes(panel):
    return only(panel, Rectangles, "heterogeneity"), only(panel, Rectangles, "interval")


def steps_of(effect):
    return panel_of(effect_figure(effect), "detail")


def extremes(panel):
    """Return the centre, and the lowest and the highest value of each violin."""
    found = (o for m in marks_of(panel, Polygons) for o in m.outlines)
    return [((o[:, 0].min() + o[:, 0].max()) / 2, o[:, 1].min(), o[:, 1].max()) for o in found]


class TestShownLevels:
    def test_a_level_has_a_position_a_label_and_a_count(self, X):
        main = effect_figure(explained(X, sd.ALE())).main
        assert main.x.ticks == (0.0, 1.0, 2.0, 3.0)
        assert main.x.labels == ("a", "b", "c", "d")
        assert main.above == ((0, "n=40"), (1, "n=30"), (2, "n=25"), (3, "n=5"))
        assert main.notes[:3] == ("100 rows", "4 levels", "levels in the declared order")

    def test_values_and_boxes(self, X):
        e = explained(X, sd.ALE())
        main = effect_figure(e, EffectPlotOptions(confidence_level=0.8)).main
        points, (spread, error) = only(main, Points, "vertex"), boxes(main)
        np.testing.assert_array_equal(points.x, [0, 1, 2, 3])
        np.testing.assert_array_equal(points.y, e.value)
        np.testing.assert_allclose(spread.upper - spread.lower, 2 * e.heterogeneity)
        np.testing.assert_allclose((error.lower, error.upper), e.interval(0.8))
        for box in (spread, error):
            np.testing.assert_allclose((box.left + box.right) / 2, [0, 1, 2, 3])
        assert (spread.right - spread.left > error.right - error.left).all()

    def test_nothing_lies_between_nominal_levels(self, X):
        nominal, ordinal = (
            effect_figure(explained(X, sd.PDP(), kind)).main for kind in ("nominal", "ordinal")
        )
        assert not [*marks_of(nominal, Line), *marks_of(nominal, CurveSet)]
        assert only(ordinal, Line).style == "average-thin"
        assert only(ordinal, CurveSet).y.shape == (100, 4)
        dashes = only(nominal, Segments, "curve-dash")
        assert len(dashes.x0) == 400
        assert np.abs(dashes.x0 - np.round(dashes.x0)).max() < 0.5
        assert dashes.reach > 0
        np.testing.assert_array_equal(dashes.x0, dashes.x1)

    def test_boxes_are_behind_and_in_front_of_the_rows(self, X):
        order = [m.style for m in effect_figure(explained(X, sd.PDP())).main.marks]
        wanted = ["heterogeneity", "few", "zero", "curve-dash", "interval", "vertex"]
        assert order == wanted

    def test_few_rows_are_hatched(self, X):
        for method in (sd.ALE(), sd.PDP(), sd.MPlot()):
            hatch = only(effect_figure(explained(X, method)).main, Rectangles, "few")
            assert (hatch.left.tolist(), hatch.right.tolist()) == ([2.5], [3.5])
            assert hatch.label == "fewer than 10 rows"

    def test_missing_values(self, X):
        """For a nominal feature they are a level; for an ordinal one, a point next to the axis."""
        F = X.assign(g=X.g.where(X.g != "b", None), o=np.where(X.z > 0.5, np.nan, np.round(X.z)))
        q = lambda F: F["z"].to_numpy() + F["g"].isna().to_numpy() + F["o"].isna().to_numpy()  # noqa: E731
        nominal = effect_figure(sd.explain(q, F, "g", method=sd.ALE())).main
        assert "missing" in nominal.x.labels
        assert "missing" not in styles(nominal)
        assert not any("missing" in note for note in nominal.notes)
        e = sd.explain(q, F, "o", method=sd.ALE(), schema={"o": "ordinal"})
        ordinal = effect_figure(e).main
        n = int(F.o.isna().sum())
        assert "missing" not in ordinal.x.labels
        assert ordinal.x.missing_label == "missing"
        marker = only(ordinal, Points, "missing")
        assert marker.label == f"missing values (n={n})"
        assert marker.y == e.missing_point.value
        assert marker.x == ordinal.x.asides[-1].at
        assert ordinal.notes[-1] == f"{n} rows with a missing value"


class TestSteps:
    def test_the_rows_of_both_levels_take_a_step(self, X):
        e = explained(X, sd.ALE())
        below = steps_of(e)
        means, whiskers = only(below, Segments, "slope"), only(below, Segments, "whisker")
        z = {k: X.z[k == X.g].to_numpy() for k in MIN_GAIN}
        for k, (low, high) in enumerate(["ab", "bc", "cd"]):
            own = (MIN_GAIN[high] - MIN_GAIN[low]) * (1 + np.concatenate([z[low], z[high]]))
            assert means.y0[k] == pytest.approx(own.mean())
            half = (whiskers.y1 - whiskers.y0)[k] / 2
            assert half == pytest.approx(own.std(ddof=1))
            assert extremes(below)[k] == pytest.approx((k + 0.5, own.min(), own.max()))
        assert (means.x0 > [0, 1, 2]).all()
        assert (means.x1 < [1, 2, 3]).all()


class TestCurves:
    def test_each_row_at_each_level(self, X):
        e = explained(X, sd.ICE())
        main = effect_figure(e, EffectPlotOptions(own=True)).main
        dashes, own = only(main, Segments, "curve-dash"), only(main, Points, "own")
        z = X.z.to_numpy()
        raw = np.outer(1 + z, list(MIN_GAIN.values()))
        share = [np.mean(X.g == g) for g in MIN_GAIN]
        wanted = raw - (raw @ share)[:, None]
        # Level by level, the rows in the same order.
        np.testing.assert_allclose(dashes.y0.reshape(4, 100).T, wanted)
        shift = dashes.x0.reshape(4, 100) - np.arange(4)[:, None]
        np.testing.assert_allclose(shift, np.tile(shift[0], (4, 1)), atol=1e-12)
        at = [list(MIN_GAIN).index(g) for g in X.g]
        np.testing.assert_allclose(own.x - shift[0], at)
        np.testing.assert_allclose(own.y, wanted[np.arange(100), at])


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(0)
    names = np.array([f"name {i}" for i in range(300)])
    g = np.concatenate([names, rng.choice(names[:50], 900)])
    return pd.DataFrame({"g": g, "z": rng.normal(size=1200)})


class TestManyLevels:
    @pytest.mark.parametrize("method", [sd.ALE(), sd.PDP(), sd.MPlot()], ids=lambda m: m.name)
    def test_those_with_most_rows_are_shown_and_the_rest_is_told(self, many, method):
        quantity = lambda X: X["g"].str.len().to_numpy() * X["z"].to_numpy()  # noqa: E731
        e = sd.explain(quantity, many, "g", method=method)
        spec = effect_figure(e)
        main, points = spec.main, only(spec.main, Points, "vertex")
        assert len(points.x) == 40
        assert "the 40 levels with most rows are shown, 260 are not" in main.notes
        least = min(only(panel_of(spec, "counts"), Rectangles, "count").upper)
        hidden = [n for name, n in many.g.value_counts().items() if name not in main.x.labels]
        assert max(hidden) <= least
        kept = [e.levels.labels.index(name) for name in main.x.labels]
        assert kept == sorted(kept)
        np.testing.assert_allclose(np.diff(points.y), np.diff(e.value[kept]))
        if method.name == "ALE":
            below = [p for p in spec.panels if p.kind == "detail"]
            steps = sum(len(only(p, Segments, "slope-fine").x0) for p in below)
            assert steps == sum(b - a == 1 for a, b in itertools.pairwise(kept))
        assert {t.turn for t in arrange(spec, 320.0).panels[-1].tick_texts} == {0.0, 90.0}
        drawn(e)

    @pytest.mark.parametrize("most", [1, 7, 300, 1000])
    def test_as_many_as_are_wanted(self, many, most):
        e = sd.explain(lambda X: X["z"].to_numpy(), many, "g", method=sd.MPlot())
        main = effect_figure(e, EffectPlotOptions(most_levels=most)).main
        assert len(main.x.labels) == min(most, 300)
        assert len(main.tooltips) == min(most, 160)


class TestLabels:
    def test_long_names_that_differ_stay_different(self):
        names = [f"{'x' * 400}{i}{'y' * 400}" for i in range(5)]
        X = pd.DataFrame({"g": names * 12, "z": np.arange(60.0)})
        main = effect_figure(sd.explain(lambda X: X["z"].to_numpy(), X, "g", method=sd.PDP())).main
        assert len(set(main.x.labels)) == 5
        assert max(map(len, main.x.labels)) <= 120

    @pytest.mark.parametrize("method", [sd.ALE(), sd.PDP(), sd.MPlot()], ids=lambda m: m.name)
    def test_hostile_names(self, X, method):
        names = dict(
            zip(
                "abcd", ["<script>alert(1)</script>", "$x_1^$", "n" * 80, "two\nlines"], strict=True
            )
        )
        X = X.assign(g=X.g.map(names))
        quantity = lambda X: X["g"].str.len().to_numpy() * X["z"].to_numpy()  # noqa: E731
        found = drawn(sd.explain(quantity, X, "g", method=method))
        assert "$x_1^$" in found
        assert "two lines" in found


def test_whiskers_of_an_m_plot_are_the_standard_deviation_of_the_rows_at_a_level():
    rng = np.random.default_rng(3)
    city = rng.choice(["a", "b", "c"], 300)
    size = rng.gamma(2.0, 3.0, 300)
    X = pd.DataFrame({"city": city, "size": size})
    e = sd.explain(lambda X: X["size"] ** 2, X, "city", method=sd.MPlot())
    main, below = effect_figure(e).panels[:2]
    whisker = only(below, Segments, "whisker")
    for k, level in enumerate(main.x.labels):
        mine = size[city == level] ** 2
        ends = sorted((whisker.y0[k], whisker.y1[k]))
        assert ends == pytest.approx(
            [mine.mean() - mine.std(ddof=1), mine.mean() + mine.std(ddof=1)]
        )
