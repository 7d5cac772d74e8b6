"""Heat maps: values of the panels, and drawings of any input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

import skedasis as sd
from skedasis.plots.figures.surface import FINE, SurfacePlotOptions, crossings, heat, round_levels
from skedasis.plots.mpl.surface import draw_surface
from tests.helpers import refused
from tests.plots.mpl_helpers import drawn, fits

pd = pytest.importorskip("pandas")


def product(X):
    return X[:, 0] * X[:, 1]


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(7).uniform(-1, 1, size=(400, 2))


@pytest.fixture(scope="module")
def ale(X):
    q = sd.prediction(product, name="price", unit="EUR")
    schema = {"x1": sd.Feature("size", unit="m")}
    return sd.explain(q, X, (0, 1), method=sd.ALE(bins=5), schema=schema)


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(8)
    n = 300
    g = np.array(list("abc"))[np.arange(n) % 3]
    h = np.array(["low", "high"])[(np.arange(n) // 3) % 2]
    h[g == "c"] = "low"
    z = rng.uniform(0, 1, n)
    return pd.DataFrame({"g": g, "h": h, "z": np.where(g == "b", z / 2, z)})


def by_level(F):
    return F["z"].to_numpy() * F["g"].map({"a": 0.0, "b": 1.0, "c": 5.0}).to_numpy(float)


def both(F):
    return (F["g"] == "b").to_numpy(float) * (F["h"] == "high").to_numpy(float)


class TestNumbers:
    def test_values_are_those_of_the_surface(self, ale):
        shown = heat(ale)
        assert shown.value.shape == (FINE, FINE)
        x, y = shown.x.centres, shown.y.centres
        np.testing.assert_array_equal(shown.value, ale(x[None, :], y[:, None]))
        assert shown.value[-1, -1] == pytest.approx(shown.value[0, 0], abs=0.1)  # x y, not x or y
        assert (shown.x.axis.limits, shown.y.axis.limits) == (
            (X_of(ale, 0)[0], X_of(ale, 0)[-1]),
            (X_of(ale, 1)[0], X_of(ale, 1)[-1]),
        )

    def test_steps_are_true_cells(self, ale):
        shown = heat(ale, SurfacePlotOptions(step=True))
        np.testing.assert_array_equal(shown.x.edges, ale.x[0])
        np.testing.assert_array_equal(shown.y.edges, ale.x[1])
        np.testing.assert_allclose(shown.value, ale.value[1:, 1:].T)
        assert shown.levels == ()
        assert len(shown.tiles) == 25

    def test_a_joint_effect_diverges_from_zero(self, ale):
        shown = heat(ale)
        low, high = shown.scale.limits
        assert shown.diverging
        assert low == -high
        assert high == pytest.approx(np.abs(shown.value).max())
        assert shown.scale.label == "interaction effect on price [EUR]"
        assert shown.y.axis.label == "size [m]"
        assert 0.0 in shown.levels
        assert "second-order effect, without main effects" in shown.notes
        assert shown.title == "ALE"

    def test_main_effects_are_one_scale(self, ale, X):
        shown = heat(ale.with_main_effects())
        assert not shown.diverging
        assert shown.scale.label == "effect on price [EUR]"
        assert "with main effects" in shown.notes
        pdp = heat(sd.explain(product, X, (0, 1), method=sd.PDP(grid=6)))
        assert not pdp.diverging
        assert pdp.scale.label == "prediction"
        assert "6 \N{MULTIPLICATION SIGN} 6 points" in pdp.notes
        assert len(pdp.holes) == 0

    def test_rounding_has_no_colours(self, X):
        s = sd.explain(lambda X: X @ [3.0, 1.0], X, (0, 1), method=sd.ALE(bins=5))
        shown = heat(s)
        assert np.abs(shown.value).max() < 1e-6 * shown.scale.limits[1]
        assert shown.levels == ()
        assert "interaction strength 0" in shown.notes

    def test_contours(self, ale):
        low, high = heat(ale).scale.limits
        assert heat(ale, SurfacePlotOptions(levels=0)).levels == ()
        assert heat(ale, SurfacePlotOptions(levels=[0.1, -0.2, 99.0])).levels == (-0.2, 0.1)
        assert len(heat(ale, SurfacePlotOptions(levels=15)).levels) > len(heat(ale).levels)
        assert all(low < v < high for v in heat(ale).levels)


class TestEmptyCells:
    @pytest.fixture(scope="class", name="holed")
    @classmethod
    def holed(cls):
        x = np.random.default_rng(0).uniform(0, 1, 500)
        X = np.column_stack([x, np.clip(x + 0.1 * np.sin(50 * x), 0, 1)])
        return sd.explain(product, X, (0, 1), method=sd.ALE(bins=sd.Uniform(6)))

    def test_hatched_without_a_colour(self, holed):
        shown = heat(holed)
        empty = holed.cells.empty
        assert empty.any()
        i = np.searchsorted(holed.x[0], shown.x.centres) - 1
        j = np.searchsorted(holed.x[1], shown.y.centres) - 1
        np.testing.assert_array_equal(np.isnan(shown.value), empty[i][:, j].T)
        assert len(shown.holes) == empty.sum()
        for left, right, low, high in shown.holes:
            i = np.searchsorted(holed.x[0], (left + right) / 2) - 1
            j = np.searchsorted(holed.x[1], (low + high) / 2) - 1
            assert empty[i, j]
        assert f"{empty.sum()} of 36 cells without rows" in shown.notes

    def test_blank(self, holed):
        shown = heat(holed, SurfacePlotOptions(empty="blank"))
        assert len(shown.holes) == 0
        i = np.searchsorted(holed.x[0], shown.x.centres) - 1
        j = np.searchsorted(holed.x[1], shown.y.centres) - 1
        np.testing.assert_array_equal(np.isnan(shown.value), holed.cells.empty[i][:, j].T)

    def test_filled(self, holed):
        shown = heat(holed, SurfacePlotOptions(empty="filled"))
        assert len(shown.holes) == 0
        assert np.isfinite(shown.value).all()
        n = holed.cells.empty.sum()
        assert f"{n} of 36 cells without rows, filled from the nearest cell" in shown.notes

    def test_left_empty(self):
        X = np.repeat([[0.0, 0.0], [1.0, 1.0], [0.3, 0.2]], 20, axis=0)
        s = sd.explain(product, X, (0, 1), method=sd.ALE(bins=sd.Uniform(2), empty=None))
        shown = heat(s)
        assert np.isnan(shown.value).any()
        assert len(shown.holes) == 2
        drawn(s.plot())

    def test_all_but_one_cell(self):
        X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0)
        s = sd.explain(product, X, (0, 1), method=sd.ALE(bins=sd.Edges([0.0, 0.2, 0.4, 1.0])))
        assert heat(s).holes.shape[1] == 4
        drawn(s.plot())


class TestScaleOfColours:
    """Cells without rows take the value of the nearest cell, which may be huge when accumulated."""

    @pytest.fixture(scope="class", name="steep")
    @classmethod
    def steep(cls):
        x = np.random.default_rng(4).uniform(0, 1, 600)
        X = np.column_stack([x, np.clip(x + 0.02 * np.sin(60 * x), 0, 1)])
        return sd.explain(
            lambda X: np.exp(3 * X[:, 0] * X[:, 1]), X, (0, 1), method=sd.ALE(bins=sd.Uniform(8))
        )

    def test_it_comes_from_corners_that_touch_rows(self, steep):
        near = np.zeros(steep.value.shape, dtype=bool)
        for i, j in np.argwhere(~steep.cells.empty):
            near[i : i + 2, j : j + 2] = True
        assert not near.all()
        largest, all_ = np.abs(steep.value[near]).max(), np.abs(steep.value).max()
        assert all_ > 1.5 * largest
        for empty in ("hatched", "blank", "filled"):
            low, high = heat(steep, SurfacePlotOptions(empty=empty)).scale.limits
            assert high == -low <= largest
            assert high > 0.8 * largest

    def test_of_main_effects_too(self, steep):
        whole = steep.with_main_effects()
        seen = heat(whole)
        known = seen.value[np.isfinite(seen.value)]
        assert seen.scale.limits == (known.min(), known.max())
        assert heat(whole, SurfacePlotOptions(empty="filled")).scale.limits[1] < whole.value.max()

    def test_rounding_is_judged_where_rows_are(self, steep):
        # Corners that belong to no cell with rows are ignored, whatever their value.
        value = np.zeros_like(steep.value)
        value[0, -1] = 100.0
        assert "interaction strength 0" in heat(replace(steep, value=value)).notes

    def test_figures_hatch_on_a_neutral_ground(self, steep):
        (ax, _) = steep.plot().axes
        (hatched,) = (c for c in ax.collections if c.get_hatch() == "////")
        assert isinstance(hatched, PolyCollection)
        red, green, blue = hatched.get_facecolor()[0][:3]
        assert red == green == blue
        assert len(hatched.get_paths()) == steep.cells.empty.sum()


class TestTwoValues:
    """A numeric feature with two values has two strips, because there are no rows between them."""

    @pytest.fixture(scope="class", name="rows")
    @classmethod
    def rows(cls):
        rng = np.random.default_rng(12)
        z = rng.uniform(0, 1, 400)
        off = np.where(z < 0.5, rng.integers(0, 2, 400), 0)  # rows of the second value end at 0.5
        return np.column_stack([off * 2.0 + 1.0, z, rng.integers(0, 2, 400)])

    @staticmethod
    def q(X):
        return X[:, 0] * X[:, 1] + X[:, 0] * X[:, 2]

    @pytest.mark.parametrize(
        "method", [sd.ALE(bins=4), sd.ALE(bins=sd.Uniform(4)), sd.DALE(bins=4), sd.PDP(grid=5)]
    )
    @pytest.mark.parametrize("pair", [(0, 1), (1, 0)])
    def test_beside_a_number(self, rows, method, pair):
        s = sd.explain(self.q, rows, pair, method=method)
        shown = heat(s)
        assert shown.y.axis.labels == ("1", "3")
        assert shown.y.axis.name == "x0"
        assert shown.value.shape == (2, FINE)
        assert shown.levels == ()
        assert shown.crossings
        for k, value in enumerate((1.0, 3.0)):
            at = (value, shown.x.centres) if pair[0] == 0 else (shown.x.centres, value)
            there = np.isfinite(shown.value[k])
            np.testing.assert_array_equal(shown.value[k][there], s(*at)[there])
            # Cells of an ALE without rows have no color: rows of the second value end at 0.5.
            gone = shown.x.centres > 0.76
            assert (~there[gone]).all() == (k == 1 and s.cells is not None)
        drawn(s.plot())
        # The surface itself remains bilinear.
        middle = s(2.0, 0.3) if pair[0] == 0 else s(0.3, 2.0)
        ends = [s(v, 0.3) if pair[0] == 0 else s(0.3, v) for v in (1.0, 3.0)]
        if s.value.shape[pair.index(0)] == 2:
            assert middle == pytest.approx(np.mean(ends), rel=1e-9)

    @pytest.mark.parametrize("method", [sd.ALE(), sd.DALE(), sd.PDP()])
    def test_beside_another(self, rows, method):
        s = sd.explain(self.q, rows, (0, 2), method=method)
        shown = heat(s)
        assert (shown.x.axis.labels, shown.y.axis.labels) == (("1", "3"), ("0", "1"))
        np.testing.assert_allclose(
            shown.value, [[float(s(a, b)) for a in (1.0, 3.0)] for b in (0.0, 1.0)]
        )
        texts = {(t.x, t.y): t.text for t in shown.tiles}
        for i, a in enumerate((1.0, 3.0)):
            for j, b in enumerate((0.0, 1.0)):
                n = int(((rows[:, 0] == a) & (rows[:, 2] == b)).sum())
                assert texts[i, j].endswith(f"n={n}")
        assert "2 values \N{MULTIPLICATION SIGN} 2 values" in shown.notes
        assert len(shown.dots) == 0
        drawn(s.plot())

    def test_steps_keep_both_values(self, rows):
        s = sd.explain(self.q, rows, (0, 1), method=sd.ALE(bins=4))
        shown = heat(s, SurfacePlotOptions(step=True))
        np.testing.assert_allclose(shown.value[0], s.value[0, 1:])
        there = np.isfinite(shown.value[1])
        assert 0 < there.sum() < 4
        np.testing.assert_allclose(shown.value[1][there], s.value[1, 1:][there])
        drawn(s.plot(step=True))

    def test_rows_and_counts_lie_in_the_strips(self, rows):
        s = sd.explain(self.q, rows, (0, 1), method=sd.ALE(bins=4))
        shown = heat(s, SurfacePlotOptions(density=True))
        assert set(np.round(shown.dots[:, 1]).tolist()) == {0.0, 1.0}
        assert shown.margins[1].tolist() == [(rows[:, 0] == v).sum() for v in (1.0, 3.0)]

    def test_without_all_rows_bins_say_where_there_are_none(self, rows):
        s = sd.explain(self.q, rows, (0, 1), method=sd.ALE(bins=sd.Edges([0.0, 0.5, 1.0, 2.0])))
        s = sd.explain(
            self.q,
            rows,
            (0, 1),
            method=sd.ALE(bins={"x0": 1, "x1": sd.Edges([0.0, 0.5, 1.0, 2.0])}),
        )
        few = replace(s, rows=None)
        assert few.cells.empty.tolist() == [[False, False, True]]
        assert len(heat(few).holes) == 2
        assert len(heat(s).holes) == 3
        drawn(few.plot())

    def test_one_cell_is_no_two_values(self):
        X = np.random.default_rng(0).uniform(size=(50, 2))
        s = sd.explain(product, X, (0, 1), method=sd.ALE(bins=1))
        assert heat(s).value.shape == (FINE, FINE)

    def test_a_grid_between_the_values_keeps_its_gradient(self, rows):
        s = sd.explain(self.q, rows, (0, 1), method=sd.PDP(grid={"x0": [1.5, 2.0], "x1": [0, 1]}))
        assert heat(s).value.shape == (FINE, FINE)

    def test_with_levels(self, mixed):
        F = mixed.assign(two=np.where(mixed.z > 0.4, 1, 0))
        s = sd.explain(
            lambda F: F["two"].to_numpy() * (F["g"] == "b").to_numpy(float), F, ("g", "two")
        )
        shown = heat(s)
        assert shown.y.axis.labels == ("0", "1")
        assert shown.value.shape == (2, 3)
        assert len(shown.tiles) == 6
        drawn(s.plot())


def X_of(surface, i):
    return surface.x[i]


class TestLevels:
    def test_bands_lie_on_top_of_one_another(self, mixed):
        for pair in (("g", "z"), ("z", "g")):
            s = sd.explain(by_level, mixed, pair, method=sd.ALE(bins=4, order={"g": list("abc")}))
            shown = heat(s)
            assert shown.y.axis.labels == ("a", "b", "c")
            assert shown.value.shape == (3, FINE)
            for k, level in enumerate("abc"):
                at = (level, shown.x.centres) if pair[0] == "g" else (shown.x.centres, level)
                there = np.isfinite(shown.value[k])
                assert there.all() or level == "b"  # whose rows end at 0.5
                np.testing.assert_array_equal(shown.value[k][there], s(*at)[there])
            assert shown.levels == ()
            assert shown.crossings

    def test_crossings_are_where_values_cross(self, mixed):
        s = sd.explain(by_level, mixed, ("g", "z"), method=sd.PDP(grid={"z": [0.0, 0.5, 1.0]}))
        shown = heat(s)
        steep = [c for c in shown.crossings if c.band == 2]
        assert {c.level for c in steep} == set(round_levels(*shown.scale.limits, 7))
        for c in steep:
            assert c.x == pytest.approx(c.level / 5)
        assert not [c for c in shown.crossings if c.band == 0]

    def test_cells_without_rows(self, mixed):
        s = sd.explain(by_level, mixed, ("g", "z"), method=sd.ALE(bins=sd.Uniform(4)))
        shown = heat(s)
        # Rows of level b end at 0.5.
        names = [s.sides[0].levels.labels[round((low + high) / 2)] for *_, low, high in shown.holes]
        assert names == ["b", "b"]
        assert shown.holes[:, 0].min() == pytest.approx(s.x[1][2])

    def test_tiles_with_counts(self, mixed):
        for method in (sd.PDP(), sd.ALE(order={"g": list("abc"), "h": ["low", "high"]})):
            s = sd.explain(both, mixed, ("g", "h"), method=method)
            shown = heat(s)
            assert shown.value.shape == (2, 3)
            texts = {(t.x, t.y): t.text for t in shown.tiles}
            for i, g in enumerate(s.sides[0].levels.labels):
                for j, h in enumerate(s.sides[1].levels.labels):
                    n = int(((mixed.g == g) & (mixed.h == h)).sum())
                    if n == 0 and s.cells is not None:
                        assert (i, j) not in texts
                        assert [i - 0.5, i + 0.5, j - 0.5, j + 0.5] in shown.holes.tolist()
                        assert np.isnan(shown.value[j, i])
                        continue
                    assert shown.value[j, i] == s.value[i, j]
                    assert texts[i, j].endswith(f"n={n}")
            assert len(shown.dots) == 0
            drawn(s.plot())

    def test_many_levels(self):
        rng = np.random.default_rng(0)
        names = np.array([f"name {i}" for i in range(300)])
        F = pd.DataFrame(
            {"g": np.concatenate([names, rng.choice(names, 600)]), "z": rng.random(900)}
        )
        q = lambda F: F["g"].str.len().to_numpy() * F["z"].to_numpy()  # noqa: E731
        s = sd.explain(q, F, ("g", "z"), method=sd.PDP(grid=4))
        shown = heat(s)
        assert shown.value.shape[0] == 30
        assert "30 of 300 levels of g, with most rows" in shown.notes
        figure = s.plot()
        drawn(figure)
        assert fits(figure)


class TestData:
    def test_rows_are_marked(self, ale, X):
        shown = heat(ale)
        np.testing.assert_array_equal(np.sort(shown.dots, axis=0), np.sort(X, axis=0))
        assert shown.dots_label == "rows"
        assert len(heat(ale, SurfacePlotOptions(points=False)).dots) == 0

    def test_a_sample_of_many(self):
        X = np.random.default_rng(0).uniform(size=(3000, 2))
        shown = heat(sd.explain(product, X, (0, 1), method=sd.ALE(bins=3)))
        assert len(shown.dots) == 1000
        assert shown.dots_label == "1,000 of 3,000 rows"

    def test_rows_of_a_level_lie_in_its_band(self, mixed):
        s = sd.explain(by_level, mixed, ("g", "z"), method=sd.PDP(grid=4))
        shown = heat(s)
        assert len(shown.dots) > 200
        for x, y in shown.dots[:50]:
            row = int(np.argmin(np.abs(mixed.z - x)))
            assert s.sides[0].levels.labels[round(y)] == mixed.g[row]

    def test_margins_count_the_rows(self, ale, mixed):
        across, up = heat(ale, SurfacePlotOptions(density=True)).margins
        assert across.sum() == up.sum() == 400
        s = sd.explain(by_level, mixed, ("g", "z"), method=sd.ALE(bins=4))
        _, levels = heat(s, SurfacePlotOptions(density=True)).margins
        assert levels.tolist() == [100, 100, 100]

    def test_without_rows(self, ale):
        bare = replace(ale, rows=None)
        shown = heat(bare, SurfacePlotOptions(density=True))
        assert len(shown.dots) == 0
        assert shown.margins is None
        drawn(bare.plot(density=True))


SIGHTS = [
    {},
    {"step": True},
    {"empty": "blank", "density": True},
    {"empty": "filled", "points": False},
]


class TestDrawing:
    @pytest.mark.parametrize("options", SIGHTS, ids=str)
    def test_every_kind(self, ale, mixed, options):
        pairs = [
            ale,
            sd.explain(by_level, mixed, ("g", "z"), method=sd.ALE(bins=3)),
            sd.explain(both, mixed, ("g", "h"), method=sd.PDP()),
        ]
        for s in pairs:
            figure = s.plot(**options)
            texts = drawn(figure)
            assert s.spec.method in texts
            assert not any("nan" in t for t in texts)
            assert fits(figure)

    def test_reads_without_colours(self, ale):
        figure = draw_surface(ale)
        drawn(figure)
        (ax, *_) = figure.axes
        contours = [c for c in ax.collections if hasattr(c, "levels")]
        styles = dict(zip(contours[0].levels, contours[0].get_linestyles(), strict=True))
        dashed = {level for level, (_, dashes) in styles.items() if dashes is not None}
        assert dashed == {level for level in styles if level < 0}
        assert {"0.00", "0.25", "\N{MINUS SIGN}0.25"} <= {t.get_text() for t in ax.texts}
        holed = sd.explain(
            product, np.repeat(np.eye(2), 9, axis=0), (0, 1), method=sd.ALE(bins=sd.Uniform(2))
        )
        (ax, *_) = draw_surface(holed).axes
        assert [c for c in ax.collections if isinstance(c, PolyCollection) and c.get_hatch()]

    @pytest.mark.parametrize("factor", [0.0, 1e-12, 1e12])
    @pytest.mark.parametrize("method", [sd.ALE(bins=4), sd.PDP(grid=4)], ids=lambda m: m.name)
    def test_any_scale(self, X, factor, method):
        q = lambda Z: factor * (Z[:, 0] * Z[:, 1] / 1e9 + Z[:, 1])  # noqa: E731
        s = sd.explain(q, X * [1e9, 1], (0, 1), method=method)
        assert fits(s.plot())

    @pytest.mark.parametrize("method", [sd.ALE(bins=4), sd.PDP(grid=4)], ids=lambda m: m.name)
    @pytest.mark.parametrize("column", [0, 1])
    def test_one_node(self, X, method, column):
        X = X.copy()
        X[:, column] = 3.0
        s = sd.explain(product, X, (0, 1), method=method)
        for options in SIGHTS:
            drawn(s.plot(**options))
        X[:, 1 - column] = 3.0
        drawn(sd.explain(product, X, (0, 1), method=method).plot())

    def test_one_level(self, mixed):
        one = mixed.assign(g="only")
        s = sd.explain(lambda F: F["z"].to_numpy() * 2, one, ("g", "z"), method=sd.PDP(grid=4))
        drawn(s.plot())

    @pytest.mark.parametrize("name", ["<script>", "$x_1$", "n" * 80, "two\nlines", ""])
    def test_names_are_text_and_no_formulas(self, mixed, name):
        F = mixed.rename(columns={"z": name}).assign(g=mixed.g.map(lambda v: name + v))
        q = lambda F: F[name].to_numpy() * F["g"].str.endswith("b").to_numpy()  # noqa: E731
        s = sd.explain(sd.prediction(q, name=name or "q"), F, ("g", name), method=sd.ALE(bins=3))
        assert fits(s.plot())

    def test_into_a_users_axes(self, ale):
        figure = Figure()
        left, right = figure.subplots(1, 2)
        assert ale.plot(ax=left) is figure
        assert not right.has_data()
        drawn(figure)

    def test_refused(self, ale):
        with refused(sd.DataError, "plot(empty)", "'hidden'", "'blank'"):
            ale.plot(empty="hidden")
        with refused(sd.DataError, "plot(levels)", "-1"):
            ale.plot(levels=-1)


class TestContours:
    @pytest.mark.parametrize("low", [-1e-9, -3.0, 0.0, 1e6])
    @pytest.mark.parametrize("span", [1e-6, 0.7, 3.0, 1e8])
    def test_round_and_about_as_many_as_asked_for(self, low, span):
        levels = np.array(round_levels(low, low + span, 7))
        assert 3 <= len(levels) <= 9
        assert levels.min() > low
        assert levels.max() < low + span
        steps = np.diff(levels)
        np.testing.assert_allclose(steps, steps[0], rtol=1e-3)

    def test_crossings(self):
        x = np.linspace(0, 1, 11)
        found = crossings(x, np.array([x**2, np.full(11, 2.0)]), (0.25, 0.5), labelled=True)
        assert [c.level for c in found] == [0.25, 0.5]
        assert found[0].x == pytest.approx(0.5, abs=0.01)
        assert found[1].x == pytest.approx(np.sqrt(0.5), abs=0.01)
        assert all(c.band == 0 for c in found)
