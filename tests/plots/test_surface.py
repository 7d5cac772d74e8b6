"""Figures of surfaces: values of the marks, and drawings of any input."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import skedasis as sd
from skedasis.plots.draw_svg import heat_shades
from skedasis.plots.figures.surface import (
    FINE,
    TIPS,
    SurfacePlotOptions,
    crossings,
    isolines,
    round_levels,
    surface_figure,
)
from skedasis.plots.layout import arrange
from skedasis.plots.marks import (
    Contour,
    Heat,
    Margin,
    Panel,
    Points,
    Rectangles,
    Segments,
    marks_of,
)
from skedasis.plots.theme import HEAT_SHADES
from tests.helpers import refused
from tests.plots.mpl_helpers import drawn, fits
from tests.plots.specs import assert_readable, labels, tips

pd = pytest.importorskip("pandas")


def product(X):
    return X[:, 0] * X[:, 1]


def centres(edges):
    return (edges[:-1] + edges[1:]) / 2


class Shown:
    """The figure of a surface, with names for what tests compare."""

    def __init__(self, surface: sd.Surface, **options) -> None:
        self.spec = surface_figure(surface, SurfacePlotOptions(**options))
        self.main, self.bar = self.spec.stacks[0]
        (self.heat,) = marks_of(self.main, Heat)
        self.value, self.scale = self.heat.value, self.bar.x
        self.x, self.y = centres(self.heat.x), centres(self.heat.y)
        self.contours = list(marks_of(self.main, Contour))
        self.levels = tuple(float(m.x0[0]) for m in marks_of(self.bar, Segments))
        self.notes, self.labels = self.main.notes, labels(self.spec)
        self.signs = [t for t in self.main.texts if t.style == "sign"]
        self.tiles = {(t.x, t.y): t.texts for t in self.main.texts if t.style == "value"}

    @property
    def holes(self) -> np.ndarray:
        """Return the cells without rows: left, right, lower and upper ends, (h, 4)."""
        return rectangles(self.main, "rowless")

    @property
    def dots(self) -> np.ndarray:
        """Return the dots, (r, 2)."""
        found = list(marks_of(self.main, Points))
        return np.column_stack([found[0].x, found[0].y]) if found else np.zeros((0, 2))

    @property
    def margins(self) -> dict[str, np.ndarray]:
        """Return the heights of the marginal histograms."""
        return {m.side: m.height for m in marks_of(self.main, Margin)}


def rectangles(panel: Panel, style: str) -> np.ndarray:
    found = list(marks_of(panel, Rectangles, style))
    (one,) = found or [Rectangles(*np.zeros((4, 0)), style)]
    return np.column_stack([one.left, one.right, one.lower, one.upper])


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
        shown = Shown(ale)
        assert shown.value.shape == (FINE, FINE)
        x, y = shown.x, shown.y
        np.testing.assert_array_equal(shown.value, ale(x[None, :], y[:, None]))
        assert shown.value[-1, -1] == pytest.approx(shown.value[0, 0], abs=0.1)  # x y, not x or y
        first, second = ale.x
        assert shown.main.x.limits == (first[0], first[-1])
        assert shown.main.y.limits == (second[0], second[-1])

    def test_steps_are_true_cells(self, ale):
        shown = Shown(ale, step=True)
        np.testing.assert_array_equal(shown.heat.x, ale.x[0])
        np.testing.assert_array_equal(shown.heat.y, ale.x[1])
        np.testing.assert_allclose(shown.value, ale.value[1:, 1:].T)
        assert shown.levels == ()
        assert not shown.contours
        assert len(shown.tiles) == 25

    def test_a_joint_effect_diverges_from_zero(self, ale):
        shown = Shown(ale)
        low, high = shown.scale.limits
        assert shown.heat.diverging
        assert low == -high
        assert high == pytest.approx(np.abs(shown.value).max())
        assert shown.scale.label == "interaction effect on price [EUR]"
        assert shown.main.y.label == "size [m]"
        assert 0.0 in shown.levels
        assert "interaction only" in shown.notes
        assert str(shown.main.title) == "x0 × size: interaction effect on price (ALE)"

    def test_main_effects_are_one_scale(self, ale, X):
        shown = Shown(ale.with_main_effects())
        assert not shown.heat.diverging
        assert shown.scale.label == "effect on price [EUR]"
        assert "with main effects" in shown.notes
        pdp = Shown(sd.explain(product, X, (0, 1), method=sd.PDP(grid=6)))
        assert not pdp.heat.diverging
        assert pdp.scale.label == "prediction"
        assert "6 \N{MULTIPLICATION SIGN} 6 points" in pdp.notes
        assert len(pdp.holes) == 0

    def test_rounding_has_no_colours(self, X):
        s = sd.explain(lambda X: X @ [3.0, 1.0], X, (0, 1), method=sd.ALE(bins=5))
        shown = Shown(s)
        assert np.abs(shown.value).max() < 1e-6 * shown.scale.limits[1]
        assert shown.levels == ()
        assert "interaction strength 0" in shown.notes

    def test_contours(self, ale):
        low, high = Shown(ale).scale.limits
        assert Shown(ale, levels=0).levels == ()
        assert Shown(ale, levels=[0.1, -0.2, 99.0]).levels == (-0.2, 0.1)
        assert len(Shown(ale, levels=15).levels) > len(Shown(ale).levels)
        assert all(low < v < high for v in Shown(ale).levels)


class TestEmptyCells:
    @pytest.fixture(scope="class", name="holed")
    @classmethod
    def holed(cls):
        x = np.random.default_rng(0).uniform(0, 1, 500)
        X = np.column_stack([x, np.clip(x + 0.1 * np.sin(50 * x), 0, 1)])
        return sd.explain(product, X, (0, 1), method=sd.ALE(bins=sd.Uniform(6)))

    def test_hatched_without_a_colour(self, holed):
        shown = Shown(holed)
        empty = holed.cells.empty
        assert empty.any()
        i = np.searchsorted(holed.x[0], shown.x) - 1
        j = np.searchsorted(holed.x[1], shown.y) - 1
        np.testing.assert_array_equal(np.isnan(shown.value), empty[i][:, j].T)
        assert len(shown.holes) == empty.sum()
        for left, right, low, high in shown.holes:
            i = np.searchsorted(holed.x[0], (left + right) / 2) - 1
            j = np.searchsorted(holed.x[1], (low + high) / 2) - 1
            assert empty[i, j]
        assert f"{empty.sum()} of 36 cells without rows" in shown.notes

    def test_blank(self, holed):
        shown = Shown(holed, empty="blank")
        assert len(shown.holes) == 0
        i = np.searchsorted(holed.x[0], shown.x) - 1
        j = np.searchsorted(holed.x[1], shown.y) - 1
        np.testing.assert_array_equal(np.isnan(shown.value), holed.cells.empty[i][:, j].T)

    def test_filled(self, holed):
        shown = Shown(holed, empty="filled")
        assert len(shown.holes) == 0
        assert np.isfinite(shown.value).all()
        n = holed.cells.empty.sum()
        assert f"{n} of 36 cells without rows, filled from the nearest cell" in shown.notes


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
            low, high = Shown(steep, empty=empty).scale.limits
            assert high == -low <= largest
            assert high > 0.8 * largest

    def test_rounding_is_judged_where_rows_are(self, steep):
        # Corners that belong to no cell with rows are ignored, whatever their value.
        value = np.zeros_like(steep.value)
        value[0, -1] = 100.0
        assert "interaction strength 0" in Shown(replace(steep, value=value)).notes


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
        ("method", "pair"),
        [(sd.ALE(bins=4), (0, 1)), (sd.DALE(bins=4), (1, 0)), (sd.PDP(grid=5), (0, 1))],
    )
    def test_beside_a_number(self, rows, method, pair):
        s = sd.explain(self.q, rows, pair, method=method)
        shown = Shown(s)
        assert shown.main.y.labels == ("1", "3")
        assert shown.main.y.name == "x0"
        assert shown.value.shape == (2, FINE)
        assert shown.contours
        for k, value in enumerate((1.0, 3.0)):
            at = (value, shown.x) if pair[0] == 0 else (shown.x, value)
            there = np.isfinite(shown.value[k])
            np.testing.assert_array_equal(shown.value[k][there], s(*at)[there])
            # Cells of an ALE without rows have no color: rows of the second value end at 0.5.
            gone = shown.x > 0.76
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
        shown = Shown(s)
        assert (shown.main.x.labels, shown.main.y.labels) == (("1", "3"), ("0", "1"))
        np.testing.assert_allclose(
            shown.value, [[float(s(a, b)) for a in (1.0, 3.0)] for b in (0.0, 1.0)]
        )
        for i, a in enumerate((1.0, 3.0)):
            for j, b in enumerate((0.0, 1.0)):
                n = int(((rows[:, 0] == a) & (rows[:, 2] == b)).sum())
                assert shown.tiles[i, j][0].endswith(f"n={n}")
        assert "2 values \N{MULTIPLICATION SIGN} 2 values" in shown.notes
        assert len(Shown(s, points=True).dots) == 0  # tiles state the number of rows
        assert len(shown.spec.main.tooltips) == 4
        drawn(s.plot())

    def test_rows_and_counts_lie_in_the_strips(self, rows):
        s = sd.explain(self.q, rows, (0, 1), method=sd.ALE(bins=4))
        shown = Shown(s, points=True)
        assert set(np.round(shown.dots[:, 1]).tolist()) == {0.0, 1.0}
        assert shown.margins["right"].tolist() == [(rows[:, 0] == v).sum() for v in (1.0, 3.0)]


class TestLevels:
    def test_bands_lie_on_top_of_one_another(self, mixed):
        for pair in (("g", "z"), ("z", "g")):
            s = sd.explain(by_level, mixed, pair, method=sd.ALE(bins=4, order={"g": list("abc")}))
            shown = Shown(s)
            assert shown.main.y.labels == ("a", "b", "c")
            assert shown.value.shape == (3, FINE)
            for k, level in enumerate("abc"):
                at = (level, shown.x) if pair[0] == "g" else (shown.x, level)
                there = np.isfinite(shown.value[k])
                assert there.all() or level == "b"  # whose rows end at 0.5
                np.testing.assert_array_equal(shown.value[k][there], s(*at)[there])
            assert shown.contours

    def test_crossings_are_where_values_cross(self, mixed):
        s = sd.explain(by_level, mixed, ("g", "z"), method=sd.PDP(grid={"z": [0.0, 0.5, 1.0]}))
        shown = Shown(s)
        assert shown.levels == round_levels(*shown.scale.limits, 7)
        for level, contour in zip(shown.levels, shown.contours, strict=True):
            bands = [line[:, 1].tolist() for line in contour.lines]
            assert [1.5, 2.5] in bands
            assert [-0.5, 0.5] not in bands
            (steep,) = (line for line in contour.lines if line[0, 1] == 1.5)
            np.testing.assert_allclose(steep[:, 0], level / 5)

    def test_cells_without_rows(self, mixed):
        s = sd.explain(by_level, mixed, ("g", "z"), method=sd.ALE(bins=sd.Uniform(4)))
        shown = Shown(s)
        # Rows of level b end at 0.5.
        names = [s.sides[0].levels.labels[round((low + high) / 2)] for *_, low, high in shown.holes]
        assert names == ["b", "b"]
        assert shown.holes[:, 0].min() == pytest.approx(s.x[1][2])

    def test_tiles_with_counts(self, mixed):
        for method in (sd.PDP(), sd.ALE(order={"g": list("abc"), "h": ["low", "high"]})):
            s = sd.explain(both, mixed, ("g", "h"), method=method)
            shown = Shown(s)
            assert shown.value.shape == (2, 3)
            for i, g in enumerate(s.sides[0].levels.labels):
                for j, h in enumerate(s.sides[1].levels.labels):
                    n = int(((mixed.g == g) & (mixed.h == h)).sum())
                    if n == 0 and s.cells is not None:
                        assert (i, j) not in shown.tiles
                        assert [i - 0.5, i + 0.5, j - 0.5, j + 0.5] in shown.holes.tolist()
                        assert np.isnan(shown.value[j, i])
                        continue
                    assert shown.value[j, i] == s.value[i, j]
                    value, rows = shown.tiles[i, j][0].split("\n")
                    assert float(value.replace("\N{MINUS SIGN}", "-")) == pytest.approx(
                        s.value[i, j], abs=0.01
                    )
                    assert rows == f"n={n}"
            drawn(s.plot())


class TestData:
    def test_rows_are_marked(self, ale, X):
        shown = Shown(ale, points=True)
        np.testing.assert_array_equal(np.sort(shown.dots, axis=0), np.sort(X, axis=0))
        assert "rows" in shown.labels
        assert len(Shown(ale).dots) == 0  # they would hide the surface

    def test_rows_of_a_level_lie_in_its_band(self, mixed):
        s = sd.explain(by_level, mixed, ("g", "z"), method=sd.PDP(grid=4))
        shown = Shown(s, points=True)
        assert len(shown.dots) > 200
        for x, y in shown.dots[:50]:
            row = int(np.argmin(np.abs(mixed.z - x)))
            assert s.sides[0].levels.labels[round(y)] == mixed.g[row]

    def test_margins_count_the_rows(self, ale, mixed):
        seen = Shown(ale).margins
        assert seen["top"].sum() == seen["right"].sum() == 400
        assert Shown(ale, density=False).margins == {}
        s = sd.explain(by_level, mixed, ("g", "z"), method=sd.ALE(bins=4))
        assert Shown(s).margins["right"].tolist() == [100, 100, 100]


SIGHTS = [
    {},
    {"step": True},
    {"empty": "blank", "points": True},
    {"empty": "filled", "density": False},
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
            assert f"({s.spec.method})" in texts
            assert not any("nan" in t for t in texts)
            assert fits(figure)

    @pytest.mark.parametrize(("method", "column"), [(sd.ALE(bins=4), 0), (sd.PDP(grid=4), 1)])
    def test_one_node(self, X, method, column):
        X = X.copy()
        X[:, column] = 3.0
        s = sd.explain(product, X, (0, 1), method=method)
        for options in SIGHTS:
            drawn(s.plot(**options))
        X[:, 1 - column] = 3.0
        drawn(sd.explain(product, X, (0, 1), method=method).plot())

    def test_refused(self, ale):
        with refused(sd.DataError, "plot(empty)", "'hidden'", "'blank'"):
            ale.plot(empty="hidden")
        with refused(sd.DataError, "plot(levels)", "-1"):
            ale.plot(levels=-1)


class TestContours:
    @pytest.mark.parametrize(("low", "span"), [(-1e-9, 1e-6), (-3.0, 0.7), (0.0, 3.0), (1e6, 1e8)])
    def test_round_and_about_as_many_as_asked_for(self, low, span):
        levels = np.array(round_levels(low, low + span, 7))
        assert 3 <= len(levels) <= 9
        assert levels.min() > low
        assert levels.max() < low + span
        steps = np.diff(levels)
        np.testing.assert_allclose(steps, steps[0], rtol=1e-3)

    @pytest.mark.parametrize("huge", [1.0, 1.2e308])
    def test_crossings(self, huge):
        x = np.linspace(0, 1, 11)
        value = huge * np.array(
            [2 * x - 1, np.full(11, 0.9), np.where(x > 0.75, np.nan, -0.1 - 0.8 * x)]
        )
        (zero,) = crossings(x, value, 0.0)
        np.testing.assert_allclose(zero, [[0.5, -0.5], [0.5, 0.5]])
        places = [(line[0, 0], line[:, 1].mean()) for line in crossings(x, value, -huge / 2)]
        assert places == [pytest.approx((0.25, 0)), pytest.approx((0.5, 2))]


def crossed(x, y, value, level):
    """Return where a surface crosses a level on edges of cells with a value: points, number of such cells, and the
    cells.
    """
    whole = np.isfinite(value[:-1, :-1] + value[:-1, 1:] + value[1:, :-1] + value[1:, 1:])
    around = np.pad(whole, 1).astype(int)
    found = {}
    for i, j in np.ndindex(value.shape):
        for k, m in ((i, j + 1), (i + 1, j)):
            if k == len(y) or m == len(x):
                continue
            low, high = value[i, j], value[k, m]
            beside = around[i + 1, j + 1] + (around[i, j + 1] if k == i else around[i + 1, j])
            if beside and min(low, high) < level < max(low, high):
                share = (level - low) / (high - low)
                found[x[j] + share * (x[m] - x[j]), y[i] + share * (y[k] - y[i])] = beside
    return np.array(list(found)), np.array(list(found.values())), whole


class TestIsolines:
    @pytest.mark.parametrize(("level", "down"), [(-0.3, 1), (0.0, -1), (0.3, 1)])
    def test_lines_are_all_places_that_interpolate_to_the_level(self, level, down):
        x, y = np.linspace(0, 1, 60) ** 2, np.linspace(-1, 1, 50)[::down]
        value = np.sin(9 * x)[None] * np.cos(5 * y)[:, None] + 0.05 * np.random.default_rng(
            2957
        ).normal(size=(50, 60))
        value[20:30, 10:20] = np.nan
        value[40, 5], value[45, 50] = np.nan, np.inf
        at, beside, whole = crossed(x, y, value, level)
        lines = isolines(x, y, value, level)
        closed = [np.array_equal(line[0], line[-1]) for line in lines]
        assert 0 < sum(closed) < len(lines)
        own = [line[1:] if c else line for line, c in zip(lines, closed, strict=True)]
        far = cdist(np.concatenate(own), at)
        assert far.shape[0] == far.shape[1], "each place is met once"
        assert max(far.min(axis=0).max(), far.min(axis=1).max()) < 1e-12
        # Open lines end at the border of cells with a value, and no line ends elsewhere.
        ends = [line[k] for line, c in zip(lines, closed, strict=True) if not c for k in (0, -1)]
        assert np.all(beside[cdist(ends, at).argmin(axis=1)] == 1)
        assert len(ends) == np.sum(beside == 1)
        # Between two points a line is inside one cell, which has a value.
        middles = np.concatenate([(line[1:] + line[:-1]) / 2 for line in lines])
        j = np.searchsorted(x, middles[:, 0]) - 1
        i = np.searchsorted(down * y, down * middles[:, 1]) - 1
        assert np.all(whole[i, j])

    @pytest.mark.parametrize(("high", "around"), [(1.5, "low"), (0.8, "high")])
    def test_the_mean_of_a_cell_says_which_corners_are_cut_off(self, high, around):
        x = np.array([0.0, 1.0])
        lines = isolines(x, x, np.array([[high, 0.0], [0.0, high]]), 0.5)
        corners = {tuple(np.round(line.mean(axis=0)).tolist()) for line in lines}
        assert corners == ({(1, 0), (0, 1)} if around == "low" else {(0, 0), (1, 1)})


class TestContourMarks:
    @pytest.fixture(scope="class", name="shown")
    @classmethod
    def shown(cls, ale):
        return Shown(ale)

    def test_they_are_where_the_surface_has_their_value(self, ale, shown):
        assert len(shown.contours) == len(shown.levels) > 3
        step = float(np.ptp(shown.value)) / 100
        for level, contour in zip(shown.levels, shown.contours, strict=True):
            x, y = np.concatenate(contour.lines).T
            assert np.abs(ale(x, y) - level).max() < step
            assert float(contour.text.replace("\N{MINUS SIGN}", "-")) == pytest.approx(level)

    def test_signs_differ_without_colours(self, shown):
        styles = {level: c.style for level, c in zip(shown.levels, shown.contours, strict=True)}
        assert {s for v, s in styles.items() if v < 0} == {"contour-negative"}
        assert {s for v, s in styles.items() if v > 0} == {"contour"}
        assert styles[0.0] == "contour-zero"
        assert {"equal values below 0", "equal values"} <= set(shown.labels)

    def test_plus_and_minus_are_at_the_extremes(self, ale, shown):
        assert {t.texts for t in shown.signs} == {("+",), ("\N{MINUS SIGN}",)}
        for text in shown.signs:
            sign = 1 if text.texts == ("+",) else -1
            assert sign * float(ale(text.x, text.y)) == (sign * shown.value).max()
        assert "+ highest, \N{MINUS SIGN} lowest" in shown.notes

    def test_numbers_in_bands_are_on_their_lines(self, mixed):
        shown = Shown(sd.explain(by_level, mixed, ("g", "z"), method=sd.PDP(grid=4)))
        places = {
            (float(line[0, 0]), float(line[:, 1].mean())): level
            for level, c in zip(shown.levels, shown.contours, strict=True)
            for line in c.lines
        }
        texts = [t for t in shown.main.texts if t.style == "word"]
        assert len(texts) == len(places) >= 4
        assert all(float(t.texts[0]) == pytest.approx(places[t.x, t.y]) for t in texts)
        assert not any(c.text for c in shown.contours)

    def test_the_colour_scale_shows_all_colours(self, shown):
        (strip,) = marks_of(shown.bar, Heat)
        assert strip.limits == shown.heat.limits == shown.bar.x.limits
        # Each colour is drawn over the values that have it.
        low, high = strip.limits
        for value, a, b in zip(strip.value[0], strip.x[:-1], strip.x[1:], strict=True):
            seen = heat_shades(np.linspace(a, b, 9)[1:-1], strip.limits)
            assert set(seen.tolist()) == {int(heat_shades(np.array([value]), strip.limits)[0])}
        assert (strip.x[0], strip.x[-1]) == (low, high)
        assert len(strip.value[0]) == HEAT_SHADES

    def test_given_limits(self, ale):
        spec = surface_figure(ale, limits=(-3.0, 3.0))
        assert spec.panels[1].x.limits == next(marks_of(spec.main, Heat)).limits == (-3.0, 3.0)


class TestTooltips:
    def test_both_intervals_the_value_and_the_rows(self, ale, X):
        shown = Shown(ale)
        n0, n1 = ale.x
        assert len(shown.main.tooltips) == 25
        told = 0
        for tip in shown.main.tooltips:
            i, j = (int(np.flatnonzero(n == v)[0]) for n, v in ((n0, tip.left), (n1, tip.lower)))
            assert (n0[i + 1], n1[j + 1]) == (tip.right, tip.upper)
            lines = tip.text.replace("\N{MINUS SIGN}", "-").split("\n")
            low, high = re.fullmatch(r"x0: (\S+) – (\S+)", lines[0]).groups()
            assert float(low) == pytest.approx(n0[i], abs=0.01)
            assert float(high) == pytest.approx(n0[i + 1], abs=0.01)
            assert re.fullmatch(r"size: \S+ – \S+ m", lines[1])
            value, unit = lines[2].removeprefix("interaction effect ").split()
            corners = ale.value[i : i + 2, j : j + 2].mean()
            assert float(value) == pytest.approx(corners, rel=6e-3, abs=1e-12)
            assert unit == "EUR"
            rows = (X[:, 0] <= n0[i + 1]) & (X[:, 1] <= n1[j + 1])
            rows &= ((X[:, 0] > n0[i]) | (i == 0)) & ((X[:, 1] > n1[j]) | (j == 0))
            assert lines[3] == f"{rows.sum()} row{'' if rows.sum() == 1 else 's'}"
            told += int(rows.sum())
        assert told == len(X)

    def test_many_cells_share_one(self):
        X = np.random.default_rng(5).normal(size=(600, 2))
        s = sd.explain(product, X, (0, 1), method=sd.ALE(bins=sd.Uniform(70)))
        found = [t.split("\n")[-1].split()[0].replace(",", "") for t in tips(surface_figure(s))]
        assert TIPS / 3 < len(found) <= TIPS
        assert sum(0 if text == "no" else int(text) for text in found) == len(X)

    def test_cells_without_rows(self):
        X = np.random.default_rng(5).normal(size=(600, 2))
        s = sd.explain(product, X, (0, 1), method=sd.ALE(bins=sd.Uniform(8)))
        shown = Shown(s)
        empty = [t for t in tips(shown.spec) if t.endswith("no rows")]
        assert len(empty) == len(shown.holes) > 0
        assert not any("effect" in t for t in empty)
        assert f"{len(shown.holes)} of 64 cells without rows" in shown.spec.alt


class TestWords:
    def test_title_and_alternative_text(self, ale):
        spec = surface_figure(ale)
        assert spec.title == "x0 × size: interaction effect on price (ALE)"
        first = "Heat map of the interaction effect on price [EUR]: x0 on the horizontal axis, size"
        assert spec.alt.startswith(first)
        highest, lowest = Shown(ale).value.max(), Shown(ale).value.min()
        assert f"Maximum {highest:.3g} at x0 = " in spec.alt
        assert f"Minimum \N{MINUS SIGN}{-lowest:.3g} at x0 = " in spec.alt

    @pytest.mark.parametrize("name", ["😀" * 60, "\x00\x1b"])
    def test_hostile_names_fit(self, mixed, name):
        F = mixed.rename(columns={"z": name}).assign(g=mixed.g.map(lambda v: name + v))
        q = lambda F: F[name].to_numpy() * F["g"].str.endswith("b").to_numpy()  # noqa: E731
        numeric = F.assign(other=np.linspace(-1, 1, len(F)))
        product_of = lambda F: F[name].to_numpy() * F["other"].to_numpy()  # noqa: E731
        for s in (
            sd.explain(sd.prediction(q, name=name or "q"), F, ("g", name), method=sd.ALE(bins=3)),
            sd.explain(product_of, numeric, (name, "other"), method=sd.ALE(bins=3)),
            sd.explain(lambda F: 100 * F[name].to_numpy() % 7.0, F, ("g", "h"), method=sd.PDP()),
        ):
            assert_readable(surface_figure(s))

    @pytest.mark.parametrize("width", [180.0, 500.0])
    def test_all_tiles_show_the_same_facts(self, width):
        rng = np.random.default_rng(3)
        F = pd.DataFrame({"g": rng.integers(0, 12, 990), "h": rng.choice(list("uvw"), 990)})
        s = sd.explain(
            lambda F: F["g"].astype(int).to_numpy() - 6.0,
            F.astype({"g": str}),
            ("g", "h"),
            method=sd.PDP(),
        )
        tiles = [t for t in arrange(surface_figure(s), width).panels[0].texts if t.style == "value"]
        assert len({any("n=" in line for line in t.lines) for t in tiles}) <= 1
        assert len({len(t.lines) for t in tiles}) <= 1
        assert width < 320 or len(tiles) == 36


def test_marginal_histograms_count_weights_as_repetitions():
    rng = np.random.default_rng(4)
    X, w = rng.uniform(size=(200, 2)), rng.integers(0, 4, 200)

    def margins(X, **more):
        method = sd.ALE(bins=sd.Uniform(4))
        s = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=method, **more)
        return [m.height for m in marks_of(surface_figure(s).main, Margin)]

    weighted = margins(X[w > 0], sample_weight=w[w > 0])
    repeated = margins(np.repeat(X, w, axis=0))
    for a, b in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(a, b)
        assert a.sum() == w.sum()
