"""Figures of M-plots, missing values, slopes and centering, and of curves with a color encoding."""

from __future__ import annotations

import numpy as np
import pytest

import skedasis as sd
from skedasis._numbers import number
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.ice import tint
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.marks import (
    Area,
    CurveSet,
    Line,
    Points,
    Polygons,
    Rectangles,
    Segments,
    marks_of,
)
from skedasis.plots.theme import STYLES
from tests.helpers import observed, refused
from tests.plots.spec_helpers import drawn, legend, only, styles


def model(X):
    return np.nan_to_num(X[:, 0], nan=5.0) * (1 + X[:, 1])


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(5).uniform(-1, 1, size=(300, 2))


class TestMarginal:
    def test_points_are_the_bins_own_means(self, X):
        e = sd.explain(model, X, 0, method=sd.MPlot(bins=5))
        main, below = effect_figure(e).panels[:2]
        line, spread = only(main, Line, "average"), only(main, Area, "heterogeneity")
        violins = only(below, Polygons).outlines
        order = np.argsort(X[:, 0])
        for k, rows in enumerate(np.split(order, 5)):
            assert line.x[k] == pytest.approx(X[rows, 0].mean())
            assert line.y[k] == pytest.approx(model(X)[rows].mean())
            own = spread.x == line.x[k]
            assert (spread.upper - spread.lower)[own] == pytest.approx(
                2 * model(X)[rows].std(ddof=1)
            )
            assert (violins[k][:, 1].min(), violins[k][:, 1].max()) == pytest.approx(
                (model(X)[rows].min(), model(X)[rows].max())
            )
        assert main.x == below.x
        assert main.x.least == X[:, 0].min()

    def test_says_what_is_averaged(self, X):
        y = model(X) + 1
        for name in ("prediction", "label", "residual"):
            e = sd.explain(observed(name, model), X, 0, y=y, method=sd.MPlot(bins=4))
            main, below = effect_figure(e).panels[:2]
            assert main.y.label == below.y.label == name
            assert name in only(main, Line).label
            assert "zero" not in styles(main) | styles(below)
        centred = sd.explain(model, X, 0, method=sd.MPlot(bins=4, center="mean"))
        assert "zero" in styles(effect_figure(centred).main)
        assert effect_figure(centred).main.y.label == "prediction minus its mean"


class TestMissing:
    @pytest.fixture
    def holes(self, X):
        X = X.copy()
        X[:12, 0] = np.nan
        return X

    @pytest.mark.parametrize("method", [sd.ALE(), sd.PDP(), sd.MPlot()], ids=lambda m: m.name)
    def test_a_point_beside_the_axis(self, holes, method):
        e = sd.explain(model, holes, 0, method=method)
        main = effect_figure(e, EffectPlotOptions(ice=None)).main
        point, bar, at = (
            only(main, Points, "missing"),
            only(main, Segments, "interval-bar"),
            e.missing_point,
        )
        assert point.y == at.value
        (place,) = main.x.asides
        assert point.x == bar.x0 == place.at
        assert point.label == "missing values (n=12)"
        # Student's t with 11 degrees of freedom.
        assert (bar.y1 - bar.y0)[0] / at.std_error == pytest.approx(2 * 2.200985, rel=1e-6)
        assert main.x.missing_label == "missing"
        assert main.x.range[1] < place.left < place.at < place.right == main.x.limits[1]
        aside = only(main, Rectangles, "aside")
        assert (aside.left[0], aside.right[0]) == (place.left, place.right)
        assert main.y.limits[0] < point.y < main.y.limits[1]
        assert {"missing", "missing values (n=12)"} <= set(drawn(e))

    def test_one_row_has_no_interval(self, X):
        X = X.copy()
        X[3, 0] = np.nan
        e = sd.explain(model, X, 0, method=sd.ALE())
        main = effect_figure(e).main
        bar = only(main, Segments, "interval-bar")
        assert np.isnan([bar.y0, bar.y1]).all()
        assert np.isfinite(main.y.limits).all()
        drawn(e)


class TestCentring:
    def test_each_curve_loses_its_own_mean_over_the_data(self, X):
        """The curve of a row with z is (1 + z) x + z: minus its mean over the data, (1 + z) (x - mean of x).

        A row beyond the ends of the grid counts for the end.
        """
        e = sd.explain(
            lambda X: X[:, 0] * (1 + X[:, 1]) + X[:, 1], X, 0, method=sd.ICE(grid=[-1.0, 0.0, 0.5])
        )
        curves = only(effect_figure(e).main, CurveSet, "curve")
        at = curves.x - np.clip(X[:, 0], -1.0, 0.5).mean()
        wanted = np.outer(1 + X[curves.rows, 1], at)
        np.testing.assert_allclose(curves.y, wanted, atol=1e-12)
        line = only(effect_figure(e).main, Line, "average")
        np.testing.assert_allclose(line.y, np.mean(1 + X[:, 1]) * at, atol=1e-12)
        level = np.mean(1 + X[:, 1]) * np.clip(X[:, 0], -1.0, 0.5).mean() + X[:, 1].mean()
        note = f"0 stands for the average, {number(level)}"
        assert note in effect_figure(e).main.notes


class TestSlopes:
    def test_label_and_unit(self, X):
        q = sd.prediction(model, name="price", unit="EUR")
        schema = {"x0": sd.Feature("size", unit="m²")}
        e = sd.explain(q, X, 0, method=sd.ICE(derivative=True, grid=5), schema=schema)
        main = effect_figure(e).main
        assert main.y.label == "slope of price per size [EUR per m²]"
        assert "zero" in styles(main)
        np.testing.assert_allclose(only(main, Line).y, (1 + X[:, 1]).mean())

    def test_slopes_are_never_centred(self, X):
        e = sd.explain(model, X, 0, method=sd.ICE(derivative=True, grid=5))
        curves = only(effect_figure(e, EffectPlotOptions(curves=300)).main, CurveSet)
        np.testing.assert_allclose(curves.y[:, 2], 1 + X[:, 1])


class TestAnchors:
    def test_the_anchor_is_told(self, X):
        e = sd.explain(model, X, 0, method=sd.PDP(anchor=0.25, grid=[0.0, 0.25, 0.5]))
        main = effect_figure(e).main
        assert only(main, Line).y[1] == 0
        assert "0 at x0 = 0.25" in main.notes
        assert main.y.label == "effect on prediction"
        named = sd.explain(model, X, 0, method=sd.PDP(anchor={"x0": -0.25}))
        assert "0 at x0 = \N{MINUS SIGN}0.25" in effect_figure(named).main.notes


class TestTint:
    ROWS = np.array([3, 0, 1])

    def test_numbers_are_a_scale(self):
        t = tint([0.5, 1.5, np.nan, 2.5], "bmi", self.ROWS, 4)
        assert t.groups == ()
        np.testing.assert_array_equal(t.value, [2.5, 0.5, 1.5])

    @pytest.mark.parametrize(
        ("values", "groups", "places"),
        [
            (["b", "a", "b", None], ("a", "b"), [np.nan, 1, 0]),
            ([True, False, True, True], ("False", "True"), [1, 1, 0]),
            ([10, 20, 10, 30], ("10", "20", "30"), [2, 0, 1]),
            ([2.0, 1.0, 2.0, np.nan], ("1", "2"), [np.nan, 1, 0]),
        ],
        ids=["text", "bool", "whole", "whole with a gap"],
    )
    def test_few_values_are_groups(self, values, groups, places):
        t = tint(values, "k", self.ROWS, 4)
        assert t.groups == groups
        np.testing.assert_array_equal(t.value, places)

    def test_many_whole_numbers_are_a_scale(self):
        assert tint(np.arange(9), None, self.ROWS, 9).groups == ()
        assert len(tint(np.arange(8), None, self.ROWS, 8).groups) == 8

    def test_of_many_texts_the_most_frequent(self):
        texts = [f"t{i}" for i in range(12)] + ["t11", "t10"]
        t = tint(texts, None, np.arange(14), 14)
        assert len(t.groups) == 8
        assert {"t10", "t11", "5 others"} <= set(t.groups)
        assert int(np.sum(t.value == 7)) == 5

    def test_refused(self):
        with refused(sd.DataError, "plot(color)", "3 values", "each of the 5 rows"):
            tint([1, 2, 3], None, np.arange(2), 5)
        with refused(sd.DataError, "shape (5, 1)"):
            tint(np.zeros((5, 1)), None, np.arange(2), 5)
        with refused(sd.DataError, "plot(color)", "times"):
            tint(np.array(["2020-01-01"] * 5, dtype="datetime64[D]"), None, np.arange(2), 5)
        with refused(sd.DataError, "plot(color)", "tuple"):
            values = np.empty(5, dtype=object)
            values[:] = [(1, 2)] * 5
            tint(values, None, np.arange(2), 5)


class TestColoured:
    def test_by_the_rows_of_X(self, X):
        e = sd.explain(model, X, 0, method=sd.ICE(grid=4))
        options = EffectPlotOptions("raw", curves=20, color=X[:, 1], color_name="x1")
        shown = list(marks_of(effect_figure(e, options).main, CurveSet))
        assert sum(len(m.y) for m in shown) == 20
        for mark in shown:
            # At the end of the grid a curve is x (1 + x1): its height determines its colour.
            np.testing.assert_allclose(mark.y[:, -1], e.x[-1] * (1 + X[mark.rows, 1]))

    def test_numbers_are_shades_in_their_order(self, X):
        z = X[:60, 1].copy()
        e = sd.explain(model, X[:60], 0, method=sd.ICE(grid=4))
        spec = effect_figure(e, EffectPlotOptions(color=z, color_name="$z$"))
        shade = np.full(60, -1)
        for mark in marks_of(spec.main, CurveSet):
            assert mark.label.startswith("ICE curves, coloured by $z$: −")
            shade[mark.rows] = int(mark.style.removeprefix("shade"))
        assert (np.diff(shade[np.argsort(z)]) >= 0).all()
        assert (shade.min(), shade.max()) == (0, 15)
        assert sum("coloured by" in label for label in legend(spec)) == 1
        # The scale ends at quantiles: an outlier does not compress it.
        z[0] = 1e9
        again = effect_figure(e, EffectPlotOptions(color=z)).main
        assert len({m.style for m in marks_of(again, CurveSet)}) > 10

    def test_groups_have_names_and_look_different(self, X):
        groups = np.array(["one", "two", "<three>"])[np.arange(300) % 3]
        e = sd.explain(model, X, 0, method=sd.ICE(grid=4))
        options = EffectPlotOptions(color=groups, color_name="arm", own=True, curves=300)
        spec = effect_figure(e, options)
        shown = list(marks_of(spec.main, CurveSet))
        assert len(shown) == 3
        for mark in shown:
            (name,) = set(groups[mark.rows].tolist())
            assert len(mark.rows) == 100
            assert (mark.group, mark.label) == (f"arm = {name}", f"arm = {name} (100 rows)")
        assert {f"arm = {name} (100 rows)" for name in set(groups)} <= set(drawn(e, options))
        options = EffectPlotOptions(
            color=groups, color_name="arm", own=True, curves=300, group_averages=False
        )
        spec = effect_figure(e, options)
        shown = list(marks_of(spec.main, CurveSet))
        assert all(mark.group == mark.label for mark in shown)
        assert {"arm = one", "arm = two", "arm = <three>"} <= set(drawn(e, options))
        points = [m for m in marks_of(spec.main, Points) if m.style.endswith("-point")]
        assert len({STYLES[m.style].dash for m in shown}) == 3
        assert len({STYLES[m.style].shape for m in points}) == 3
        assert legend(spec).count("each row at its own value") == 1
        # The average is separated from curves of all colours.
        assert STYLES[only(spec.main, Line).style].halo

    def test_refused(self, X):
        with refused(sd.UnsupportedError, "plot(color)", "ALE"):
            effect_figure(
                sd.explain(model, X, 0, method=sd.ALE()), EffectPlotOptions(color=X[:, 1])
            )
        with refused(sd.DataError, "299 values", "300 rows"):
            effect_figure(
                sd.explain(model, X, 0, method=sd.ICE(grid=3)), EffectPlotOptions(color=X[:299, 1])
            )


def lines_of(spec):
    """Return the averages of groups by their legend entries."""
    found = {m.label: m for m in marks_of(spec.main, Line) if m.style.endswith("-mean")}
    return {label: line.y for label, line in found.items()}


def rows_curves(e):
    """Return the kept curves, each minus its mean over the data, by rows of X."""
    centred = e.curves.value - (e.curves.value @ e.spread.weight)[:, None]
    return dict(zip(e.curves.row.tolist(), centred, strict=True))


def interacting(X):
    return X[:, 0] * (1 + X[:, 1]) + X[:, 1]


class TestGroupAverages:
    GROUPS = np.array(["one", "two", "<three>"], dtype=object)[np.arange(300) % 3]

    @pytest.mark.parametrize(("curves", "weighted"), [(300, True), (20, False), (0, True)])
    def test_the_average_of_a_group_is_the_mean_of_all_its_kept_curves(self, X, weighted, curves):
        w = np.random.default_rng(1).integers(0, 4, 300).astype(float) if weighted else np.ones(300)
        e = sd.explain(interacting, X, 0, method=sd.ICE(grid=5), sample_weight=w)
        spec = effect_figure(e, EffectPlotOptions(color=self.GROUPS, curves=curves))
        kept = rows_curves(e)
        found = lines_of(spec)
        for name in ("one", "two", "<three>"):
            mine = [i for i in kept if self.GROUPS[i] == name and w[i] > 0]
            want = np.average([kept[i] for i in mine], axis=0, weights=w[mine])
            label = f"color = {name} ({len(mine)} rows)"
            np.testing.assert_allclose(found[label], want, atol=1e-12)
        # The average of all rows is that of the groups, by their weights.
        total = [w[n == self.GROUPS].sum() for n in ("one", "two", "<three>")]
        mean = np.average(list(found.values()), axis=0, weights=[
            total[("one", "two", "<three>").index(k.split(" ")[2])] for k in found
        ])  # fmt: skip
        np.testing.assert_allclose(mean, only(spec.main, Line, "mean").y, atol=1e-12)

    def test_a_sample_of_the_curves_says_so(self, X):
        e = sd.explain(interacting, X, 0, method=sd.ICE(grid=5), keep_rows=3_000)
        assert not e.curves.exact
        spec = effect_figure(e, EffectPlotOptions(color=self.GROUPS))
        n = len(e.curves)
        assert 0 < n < 300
        assert f"group averages of a sample of {n} rows" in spec.main.notes
        kept, found = rows_curves(e), lines_of(spec)
        mine = [kept[i] for i in kept if self.GROUPS[i] == "one"]
        np.testing.assert_allclose(
            found[f"color = one ({len(mine)} rows)"], np.mean(mine, axis=0), atol=1e-12
        )
        every = sd.explain(interacting, X, 0, method=sd.ICE(grid=5))
        notes = effect_figure(every, EffectPlotOptions(color=self.GROUPS)).main.notes
        assert not any("sample" in note for note in notes)

    def test_numbers_are_cut_into_thirds_with_their_names(self, X):
        z = X[:, 1].copy()
        z[:7] = np.nan
        e = sd.explain(interacting, X, 0, method=sd.ICE(grid=5))
        found = lines_of(effect_figure(e, EffectPlotOptions(color=z, color_name="age [years]")))
        labels = list(found)
        assert labels[0].startswith("age [years] ≤ −0.")
        assert " < age [years] ≤ " in labels[1]
        assert labels[3] == "age [years] missing (7 rows)"
        sizes = [int(label.rpartition("(")[2].split()[0]) for label in labels]
        assert sum(sizes) == 300
        assert max(sizes[:3]) - min(sizes[:3]) <= 4  # ends are rounded
        # The groups are those that the names say.
        low = float(labels[0].split("≤ ")[1].split()[0].replace("−", "-"))
        kept = rows_curves(e)
        want = np.mean([kept[i] for i in range(300) if z[i] <= low], axis=0)
        np.testing.assert_allclose(found[labels[0]], want, atol=1e-12)
        missing = np.mean([kept[i] for i in range(7)], axis=0)
        np.testing.assert_allclose(found[labels[3]], missing, atol=1e-12)

    def test_lines_differ_without_colours_and_stand_out(self, X):
        names = np.array([f"t{i % 8}" for i in range(300)], dtype=object)
        names[:9] = None
        e = sd.explain(interacting, X, 0, method=sd.ICE(grid=20))
        spec = effect_figure(e, EffectPlotOptions(color=names, curves=300))
        lines = [m for m in marks_of(spec.main, Line) if m.style.endswith("-mean")]
        assert len(lines) == len({STYLES[m.style].dash for m in lines}) == 9
        # Marks at some points of the curves would look like special values.
        assert not [m for m in marks_of(spec.main, Points) if m.style.endswith("-mean-point")]
        plain = effect_figure(e, EffectPlotOptions(color=names, curves=300, group_averages=False))
        for curve, paler in zip(*(marks_of(s.main, CurveSet) for s in (plain, spec)), strict=True):
            assert paler.opacity < curve.opacity
            assert STYLES[paler.style].width < STYLES[lines[0].style].width
        assert all(STYLES[m.style].halo for m in lines)

    def test_tooltips_alternative_text_and_texts_beside_the_lines(self, X):
        e = sd.explain(interacting, X, 0, method=sd.ICE(grid=5))
        spec = effect_figure(e, EffectPlotOptions(color=X[:, 1] > 0, color_name="$up$"))
        for label in ("$up$ = False", "$up$ = True"):
            assert any(t.text.split("\n")[-1 - ("False" in label)].startswith(label)
                       for t in spec.main.tooltips)  # fmt: skip
            assert f"Average of {label} (" in spec.alt
            assert any(text.texts[0] == label for text in spec.main.texts)
        assert "$up$ = True" in drawn(e, EffectPlotOptions(color=X[:, 1] > 0, color_name="$up$"))


def test_a_band_may_hold_the_whole_curve_at_once():
    X = np.random.default_rng(3).normal(size=(300, 2))
    e = sd.explain(lambda X: X[:, 0] * X[:, 1], X, 0, method=sd.ALE(bins=8), progress=False)
    each, whole = (
        only(effect_figure(e, EffectPlotOptions(simultaneous=both)).main, Area, "interval")
        for both in (False, True)
    )
    np.testing.assert_array_equal(whole.upper, e.interval(simultaneous=True)[1])
    assert (whole.upper > each.upper).all()
    assert "simultaneous band" in whole.label
    assert "simultaneous band" not in each.label


class TestBehindOtherMethods:
    """Curves of `sd.explain(..., curves=n)` are drawn as those of ICE are."""

    def test_a_curve_of_each_kept_row_behind_an_accumulated_effect(self, X):
        e = sd.explain(model, X, 0, method=sd.ALE(bins=5), curves=12)
        spec = effect_figure(e)
        main = spec.main
        found = only(main, CurveSet, "curve")
        np.testing.assert_array_equal(found.x, e.x)
        np.testing.assert_array_equal(found.y, e.curves.value)
        np.testing.assert_array_equal(found.rows, e.curves.row)
        kinds = [mark.style for mark in main.marks if hasattr(mark, "style")]
        assert kinds.index("curve") < kinds.index("average")
        assert "12 curves" in main.notes
        assert "ICE curves" in legend(spec)
        assert main.y.most >= e.curves.value.max()
        drawn(e)

    def test_the_number_of_curves_and_none(self, X):
        e = sd.explain(model, X, 0, method=sd.ALE(bins=5), curves=12)
        some = only(effect_figure(e, EffectPlotOptions(curves=4)).main, CurveSet)
        assert len(some.y) == 4
        assert set(some.rows) < set(e.curves.row)
        for options in (EffectPlotOptions(curves=0), EffectPlotOptions(ice=None)):
            assert not list(marks_of(effect_figure(e, options).main, CurveSet))
        bare = sd.explain(model, X, 0, method=sd.ALE(bins=5))
        assert not list(marks_of(effect_figure(bare).main, CurveSet))

    def test_a_gap_cuts_the_curves(self, X):
        far = X.copy()
        far[0, 0] = 99_999.0
        e = sd.explain(lambda X: X[:, 0] * X[:, 1], far, 0, method="ale", curves=10)
        found = only(effect_figure(e).main, CurveSet, "curve")
        assert found.x.max() < 2
        slopes = np.diff(found.y) / np.diff(found.x)
        np.testing.assert_allclose(
            slopes, np.repeat(far[e.curves.row, 1:], len(found.x) - 1, axis=1)
        )

    def test_without_kept_curves_the_call_that_computes_them_is_named(self, X):
        for method in (sd.ALE(bins=5), sd.PDP(ice=0, heterogeneity=False), sd.MPlot(bins=3)):
            e = sd.explain(model, X, 0, method=method)
            for call in (e.plot, e.explore):
                named = f"Effect.{call.__name__}(curves)"
                with refused(sd.UnsupportedError, named, "sd.explain(..., "):
                    call(curves=20)
            e.plot(curves=0)
        with refused(sd.UnsupportedError, "plot(color)", "curves=30"):
            sd.explain(model, X, 0, method=sd.ALE()).plot(color=X[:, 1])
