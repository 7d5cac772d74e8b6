"""Surfaces as SVG: drawings match the surface everywhere, for every kind of pair."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

import skedasis as sd
from skedasis.plots.figures.surface import (
    MOST,
    SurfacePlotOptions,
    cells,
    heat,
    isolines,
    numbered,
    simplify_line,
)
from skedasis.plots.svg.marks import HEAT_SHADES, bounds, heat_shades, patches, trace_outlines
from skedasis.plots.svg.surface import surface
from tests.plots.svg_figures import back, inside, of, parsed, pixel, texts, tips
from tests.plots.svg_parsing import parts

RNG = np.random.default_rng(2957)
X = RNG.normal(size=(600, 2))
NUMERIC = sd.explain(
    sd.prediction(lambda X: np.sin(2 * X[:, 0]) * X[:, 1]), X, (0, 1), method=sd.ALE(bins=6)
)
FRAME = pd.DataFrame(
    {
        "age": RNG.uniform(18, 80, 500),
        "job": pd.Categorical(RNG.choice(["clerk", "<script>x</script>", "nurse"], 500)),
        "sex": pd.Categorical(RNG.choice(["f", "m"], 500)),
    }
)


def model(d):
    """Return predictions with interactions of job and age, and of job and sex."""
    nurse = np.asarray(d["job"] == "nurse", dtype=float)
    return nurse * np.sin(np.asarray(d["age"]) / 10) + nurse * np.asarray(d["sex"] == "f") * 2.0


MIXED = sd.explain(model, FRAME, ("job", "age"), method=sd.ALE(bins=5))
LEVELS = sd.explain(model, FRAME, ("job", "sex"), method=sd.ALE(order="similarity"))
PDP = sd.explain(model, FRAME, ("age", "job"), method=sd.PDP(grid=7))


def steps_of(root, panel):
    """Return a function from a pixel position to the drawn step of the color scale."""
    (group,) = (g for g in of(root, "heat") if g in list(panel.iter()))
    way = group.get("transform")
    a, _, _, d, e, f = (1, 0, 0, 1, 0, 0) if way is None else (float(v) for v in way[7:-1].split())
    shapes = [
        (int(shape.get("class")[1:]), [p * [a, d] + [e, f] for p in parts(shape)])
        for shape in group
    ]

    def step(x, y):
        here = [step for step, around in shapes if within(around, x, y)]
        assert len(here) == 1, "patches neither leave gaps nor lie upon one another"
        return here[0]

    return step


def within(around, x, y):
    """Return whether a point is inside outlines: a ray from it crosses them an odd number of times."""
    crossed = 0
    for corners in around:
        ends = zip(corners, np.roll(corners, -1, axis=0), strict=True)
        crossed += sum(
            bool(abs(a[0] - b[0]) < 1e-6 and b[0] > x and min(a[1], b[1]) <= y < max(a[1], b[1]))
            for a, b in ends
        )
    return crossed % 2 == 1


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
    @pytest.mark.parametrize("down", [1, -1])
    @pytest.mark.parametrize("level", [-0.3, 0.0, 0.3])
    def test_lines_are_all_places_that_interpolate_to_the_level(self, level, down):
        x, y = np.linspace(0, 1, 60) ** 2, np.linspace(-1, 1, 50)[::down]
        value = np.sin(9 * x)[None] * np.cos(5 * y)[:, None] + 0.05 * RNG.normal(size=(50, 60))
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

    def test_nothing_where_there_is_no_line(self):
        x = np.arange(3.0)
        assert isolines(x, x, np.zeros((3, 3)), 1.0) == []
        assert isolines(x, x[:1], np.zeros((1, 3)), 0.0) == []
        assert isolines(x, x, np.full((3, 3), np.nan), 0.0) == []

    def test_huge_numbers_do_not_overflow(self):
        x = np.array([0.0, 1.0])
        (line,) = isolines(x, x, np.array([[-1.5e308, 1.5e308]] * 2), 0.0)
        np.testing.assert_allclose(line[:, 0], 0.5)

    def test_thinned_lines_stay_near(self):
        t = np.linspace(0, 2 * np.pi, 400)
        circle = 50 * np.column_stack([np.cos(t), np.sin(t)])
        few = simplify_line(circle, 0.15)
        assert len(few) < 80
        middles = np.array([np.hypot(*((a + b) / 2)) for a, b in itertools.pairwise(few)])
        assert np.all(middles > 50 - 0.16)

    def test_numbers_stand_apart_and_upright(self):
        line = np.column_stack([np.linspace(0, 400, 50), np.full(50, 100.0)])
        taken: list[np.ndarray] = []
        found = [numbered(line[::-1], 30.0, (0.0, 0.0, 400.0, 200.0), taken) for _ in range(30)]
        placed = [n for n in found if n is not None]
        assert 3 < len(placed) < 30
        assert all(abs(n.turn) < 1e-9 for n in placed)
        assert all(abs(a.x - b.x) > 30 for a, b in itertools.combinations(placed, 2))
        assert numbered(line[:2], 30.0, (0.0, 0.0, 400.0, 200.0), []) is None


class TestLattice:
    def test_steps_lie_between_their_bounds(self):
        value = RNG.uniform(-2, 2, 500)
        step, ends = heat_shades(value, (-2.0, 2.0)), bounds((-2.0, 2.0))
        assert len(ends) == HEAT_SHADES + 1
        assert np.all((ends[step] <= value + 1e-12) & (value <= ends[step + 1] + 1e-12))
        assert heat_shades(np.array([0.0]), (-2.0, 2.0))[0] == HEAT_SHADES // 2

    @pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8, 1.0])
    @pytest.mark.parametrize("size", [(1, 1), (1, 9), (12, 17)])
    def test_outlines_hold_what_is_true_and_nothing_else(self, share, size):
        mask = RNG.random(size) < share
        found = [np.array(corners, dtype=float) for corners in trace_outlines(mask)]
        again = [[within(found, j + 0.5, i + 0.5) for j in range(size[1])] for i in range(size[0])]
        np.testing.assert_array_equal(again, mask)
        for corners in found:
            step = np.diff(np.vstack([corners, corners[:1]]), axis=0)
            level, upright = step[::2], step[1::2]
            assert not level[:, 1].any()
            assert level[:, 0].all()
            assert not upright[:, 0].any()
            assert upright[:, 1].all()
        # The area by the shoelace formula: holes have the opposite orientation.
        area = sum(
            np.sum(c[:, 0] * np.roll(c[:, 1], -1) - np.roll(c[:, 0], -1) * c[:, 1]) / 2
            for c in found
        )
        assert area == mask.sum()

    def test_a_single_patch_is_a_rectangle(self):
        assert list(trace_outlines(np.ones((50, 40), dtype=bool))) == [
            [(0, 0), (40, 0), (40, 50), (0, 50)]
        ]

    def test_patches_of_unequal_width(self):
        drawn = str(
            patches(np.array([0.0, 1.0, 5.0]), np.array([9.0, 3.0]), np.array([[1, 2]]), "t")
        )
        assert 'class="t1"' in drawn
        assert "M1 " in drawn


class TestSurfaces:
    @pytest.mark.parametrize(
        ("given", "step"),
        [(NUMERIC, False), (NUMERIC, True), (MIXED, False), (LEVELS, False), (PDP, False)],
    )
    def test_colours_are_the_surface(self, given, step):
        sight = SurfacePlotOptions(points=False, density=True, step=step)
        root, shown = parsed(surface(given, ident="s", sight=sight)), heat(given, sight)
        (panel,) = of(root, "panel")
        drawn = steps_of(root, panel)
        low, high = shown.scale.limits
        a, b, c, d = (float(v) for k in "xy" for v in panel.get(f"data-{k}").split()[:2])
        for x, y in RNG.uniform([a, d], [b, c], size=(60, 2)):
            # Edges are rounded to a tenth of a pixel: closer to an edge, the color may be the neighbor's.
            u, v = (
                [float(back(panel, k, at + off)) for off in (-0.06, 0.06)]
                for k, at in (("x", x), ("y", y))
            )
            j, i = np.searchsorted(shown.x.edges, u) - 1, np.searchsorted(shown.y.edges, v) - 1
            i, j = i.clip(0, len(shown.value) - 1), j.clip(0, shown.value.shape[1] - 1)
            share = (shown.value[np.ix_(i, j)] - low) / (high - low) * (HEAT_SHADES - 1)
            assert np.abs(drawn(x, y) - share).min() <= 0.51

    def test_cells_tell_both_intervals_the_value_and_the_rows(self):
        root = parsed(surface(NUMERIC, ident="s"))
        (panel,) = of(root, "panel")
        hits = of(root, "hit")
        n0, n1 = NUMERIC.x
        assert len(hits) == 36
        told = 0
        for hit in hits:
            ends = [float(hit.get(k)) for k in ("x", "y", "width", "height")]
            a, b = back(panel, "x", np.array([ends[0], ends[0] + ends[2]]))
            d, c = back(panel, "y", np.array([ends[1], ends[1] + ends[3]]))
            i, j = (int(np.argmin(abs(n - v))) for n, v in ((n0, a), (n1, c)))
            assert abs(n0[i] - a) <= pixel(panel, "x")
            assert abs(n1[j + 1] - d) <= pixel(panel, "y")
            assert abs(n0[i + 1] - b) <= 2 * pixel(panel, "x")
            lines = hit.get("data-tip").replace("\N{MINUS SIGN}", "-").split("\n")
            low, high = re.fullmatch(r"x0: (\S+) – (\S+)", lines[0]).groups()
            assert abs(float(low) - n0[i]) < 0.01
            assert abs(float(high) - n0[i + 1]) < 0.01
            corners = NUMERIC.value[i : i + 2, j : j + 2].mean()
            assert float(lines[2].removeprefix("interaction effect ")) == pytest.approx(
                corners, rel=6e-3
            )
            rows = (X[:, 0] <= n0[i + 1]) & (X[:, 1] <= n1[j + 1])
            rows &= ((X[:, 0] > n0[i]) | (i == 0)) & ((X[:, 1] > n1[j]) | (j == 0))
            assert lines[3] == f"{rows.sum()} row{'' if rows.sum() == 1 else 's'}"
            told += int(rows.sum())
        assert told == len(X)

    def test_levels_are_told_by_name(self):
        root = parsed(surface(LEVELS, ident="s"))
        said = [t.split("\n") for t in tips(root)]
        assert len(said) == 6
        for job, sex in itertools.product(FRAME["job"].cat.categories, FRAME["sex"].cat.categories):
            n = int(((FRAME["job"] == job) & (FRAME["sex"] == sex)).sum())
            (mine,) = (s for s in said if s[:2] == [f"job: {job}", f"sex: {sex}"])
            assert mine[3] == f"{n} rows"
            assert f"n={n}" in texts(root)

    def test_a_numeric_feature_lies_across(self):
        root = parsed(surface(MIXED, ident="s"))
        assert texts(root).count("age") == 1
        assert {"clerk", "nurse", "<script>x</script>"} <= set(texts(root))
        assert tips(root)[0].startswith("age: ")
        assert all("row" in t for t in tips(root))

    def test_points_of_a_grid_have_their_own_values(self):
        given = sd.explain(lambda X: X[:, 0] + 10 * X[:, 1], X, (0, 1), method=sd.PDP(grid=4))
        found = cells(given, heat(given))
        assert len(found) == 16
        value = [
            float(c.tip.split("\n")[2].split()[1].replace("\N{MINUS SIGN}", "-")) for c in found
        ]
        np.testing.assert_allclose(value, given.value.T.ravel(), rtol=6e-3)
        assert not any("row" in c.tip for c in found)

    def test_many_cells_are_told_together(self):
        given = sd.explain(
            lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=sd.Uniform(70))
        )
        found = cells(given, heat(given))
        assert MOST / 3 < len(found) <= MOST
        last = [c.tip.split("\n")[-1].split()[0].replace(",", "") for c in found]
        rows = [0 if text == "no" else int(text) for text in last]
        assert sum(rows) == len(X)

    def test_contours_run_where_the_surface_has_their_value(self):
        shown = heat(NUMERIC)
        root = parsed(surface(NUMERIC, ident="s"))
        (panel,) = of(root, "panel")
        lines = of(panel, "contour")
        levels = [v for v in shown.levels if shown.value.min() < v < shown.value.max()]
        assert len(lines) == len(levels)
        step = float(np.ptp(shown.value)) / 40
        for level, line in zip(levels, lines, strict=True):
            looks = line.get("class").split()
            assert ("less" in looks) == (level < 0)
            assert ("at-zero" in looks) == (level == 0)
            ends = parts(line)
            # Also between the points that are drawn.
            at = np.concatenate([*ends, *((e[:-1] + e[1:]) / 2 for e in ends)])
            value = NUMERIC(back(panel, "x", at[:, 0]), back(panel, "y", at[:, 1]))
            known = np.isfinite(value)
            assert known.mean() > 0.9
            assert np.abs(value[known] - level).max() < step

    def test_the_sign_is_read_without_colours(self):
        root, shown = parsed(surface(NUMERIC, ident="s")), heat(NUMERIC)
        (panel,) = of(root, "panel")
        marks = {e.text: e for e in of(panel, "sign")}
        assert set(marks) == {"+", "\N{MINUS SIGN}"}
        for text, sign in (("+", 1), ("\N{MINUS SIGN}", -1)):
            x = back(panel, "x", float(marks[text].get("x")))
            y = back(panel, "y", float(marks[text].get("y")) - 5)
            best = (sign * shown.value).max()
            assert sign * float(NUMERIC(x, y)) > 0.6 * best
        said = texts(root)
        assert {"contour (≥ 0)", "contour (< 0)", "maximum and minimum"} <= set(said)
        assert any(t.startswith("\N{MINUS SIGN}") for t in said)

    def test_cells_without_rows_are_hatched(self):
        given = sd.explain(
            lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=sd.Uniform(8))
        )
        shown, root = heat(given), parsed(surface(given, ident="s"))
        (panel,) = of(root, "panel")
        (hatched,) = of(panel, "hatched")
        corners = re.findall(r"M(\S+?) (\S+?)H(\S+?)V(\S+?)H", hatched.get("d"))
        assert len(corners) == len(shown.holes) > 0
        for (a, d, b, c), hole in zip(np.array(corners, dtype=float), shown.holes, strict=True):
            ends = [*back(panel, "x", np.array([a, b])), *back(panel, "y", np.array([c, d]))]
            np.testing.assert_allclose(ends, hole, atol=2 * pixel(panel, "x"))
        assert "no rows" in texts(root)

    def test_cells_without_rows_have_no_colour(self):
        given = sd.explain(
            lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=sd.Uniform(8))
        )
        shown, drawn = heat(given), surface(given, ident="s")
        root = parsed(drawn)
        (panel,) = of(root, "panel")
        (ground,), (hatched,) = of(panel, "rowless"), of(panel, "hatched")
        assert ground.get("d") == hatched.get("d")
        (group,) = of(panel, "heat")
        around = [p for shape in group for p in parts(shape)]
        way = group.get("transform")
        a, _, _, d, e, f = (float(v) for v in way[7:-1].split())
        placed = [p * [a, d] + [e, f] for p in around]
        frame = {axis: np.array(panel.get(f"data-{axis}").split(), dtype=float) for axis in "xy"}

        def at(axis, value):
            p0, p1, v0, v1 = frame[axis]
            return p0 + (p1 - p0) * (value - v0) / (v1 - v0)

        for left, right, low, high in shown.holes:
            x, y = at("x", (left + right) / 2), at("y", (low + high) / 2)
            assert not within(placed, x, y)
        tips_ = [tip for tip in tips(root) if tip.endswith("no rows")]
        assert len(tips_) == len(shown.holes)
        assert not any("effect" in tip for tip in tips_)
        assert f"{len(shown.holes)} of 64 cells without rows" in drawn.alt

    def test_two_values_are_strips(self):
        rows = np.column_stack([X[:, 0], X[:, 1] > 0.4])
        given = sd.explain(
            lambda X: X[:, 0] * X[:, 1], rows, (1, 0), method=sd.ALE(bins=sd.Uniform(5))
        )
        shown, root = heat(given), parsed(surface(given, ident="s"))
        (panel,) = of(root, "panel")
        assert of(panel, "between")
        step = steps_of(root, panel)
        frame = np.array(panel.get("data-y").split(), dtype=float)
        assert frame[2:].tolist() == [-0.5, 1.5]
        for k in (0, 1):
            # One strip has one color from its lower to its upper end.
            ends = frame[0] + (frame[1] - frame[0]) * (k + np.array([0.1, 0.5, 0.9])) / 2
            for x in np.linspace(0.3, 0.7, 5):
                p0, p1 = np.array(panel.get("data-x").split(), dtype=float)[:2]
                assert len({step(p0 + x * (p1 - p0), y) for y in ends}) == 1
        said = tips(root)
        assert len(said) == 10
        assert {tip.split("\n")[1] for tip in said} == {"x1: 0", "x1: 1"}
        counts = [int(t.split("\n")[-1].split()[0].replace("no", "0")) for t in said]
        assert (sum(counts[:5]), sum(counts[5:])) == tuple(np.bincount(rows[:, 1].astype(int)))
        assert shown.margins is None

    def test_two_values_beside_two_values(self):
        rows = np.column_stack([X[:, 0] > 0, X[:, 1] > 0.4]).astype(float)
        given = sd.explain(lambda X: X[:, 0] * X[:, 1], rows, (0, 1), method=sd.ALE())
        root = parsed(surface(given, ident="s"))
        (panel,) = of(root, "panel")
        assert len(of(panel, "hit")) == 4
        assert {"0", "1"} <= set(texts(root))
        n = int(((rows[:, 0] == 1) & (rows[:, 1] == 1)).sum())
        assert f"n={n}" in texts(root)

    def test_no_row_is_in_the_figure_unless_asked_for(self):
        assert not of(parsed(surface(NUMERIC, ident="s")), "rows")
        asked = parsed(surface(NUMERIC, ident="s", sight=SurfacePlotOptions(confidence_level=0.95)))
        (panel,) = of(asked, "panel")
        (rows,) = of(panel, "rows")
        at = np.array(re.findall(r"M(\S+?) (\S+?)h0", rows.get("d")), dtype=float)
        assert len(at) == len(X)
        np.testing.assert_allclose(
            np.sort(back(panel, "x", at[:, 0])), np.sort(X[:, 0]), atol=pixel(panel, "x")
        )
        assert "interval contains zero" in texts(asked)

    def test_margins_are_the_rows(self):
        shown = heat(NUMERIC, SurfacePlotOptions(points=False, density=True))
        root = parsed(surface(NUMERIC, ident="s"))
        d = of(root, "margin")[0].get("d")
        high = [float(v) for v in re.findall(r"M\S+ \S+?v-([\d.]+)h", d)]
        above = shown.margins[0]
        np.testing.assert_allclose(high, 23 * above[above > 0] / above.max(), atol=0.06)

    def test_words_say_what_is_to_be_seen(self):
        made = surface(NUMERIC, ident="s")
        assert made.title == "x0 × x1"
        i, j = np.unravel_index(np.argmax(heat(NUMERIC).value), heat(NUMERIC).value.shape)
        best = f"{heat(NUMERIC).value[i, j]:.3g}"
        assert made.alt.startswith(
            "Heat map of the interaction effect on prediction: x0 on the horizontal axis"
        )
        assert f"Maximum {best}" in made.alt
        assert surface(NUMERIC, ident="s", title="T", alt="A").alt == "A"

    @pytest.mark.parametrize("given", [NUMERIC, MIXED, LEVELS, PDP])
    def test_all_stands_on_the_sheet(self, given):
        assert inside(parsed(surface(given, ident="s")))

    def test_two_figures_share_no_names(self):
        sight = SurfacePlotOptions(confidence_level=0.9)
        both = [parsed(surface(NUMERIC, ident=i, sight=sight)) for i in ("a", "b")]
        names = [{e.get("id") for e in root.iter() if e.get("id")} for root in both]
        assert not names[0] & names[1]

    def test_it_is_small(self):
        big = sd.explain(
            sd.prediction(lambda X: np.sin(2 * X[:, 0]) * X[:, 1]),
            X,
            (0, 1),
            method=sd.ALE(bins=20),
        )
        assert len(surface(big, ident="s").svg) < 150_000


class TestOddSurfaces:
    @pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
    def test_scales(self, scale):
        given = sd.explain(lambda X: scale * X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=5))
        root = parsed(surface(given, ident="s"))
        assert len({e.get("class") for e in of(root, "heat")[0]}) > 8
        assert inside(root)

    def test_constant_surface_has_no_colour(self):
        given = sd.explain(lambda X: np.full(len(X), 3.0), X, (0, 1), method=sd.ALE(bins=4))
        root = parsed(surface(given, ident="s"))
        (panel,) = of(root, "panel")
        (map_,) = of(panel, "heat")
        assert [e.get("class") for e in map_] == [f"t{HEAT_SHADES // 2}"]
        assert not of(panel, "contour")
        assert not of(panel, "sign")

    def test_nothing_known(self):
        given = replace(NUMERIC, value=np.full(NUMERIC.value.shape, np.nan))
        made = surface(given, ident="s")
        root = parsed(made)
        assert made.alt.endswith("It has no values.")
        assert all("no value" in t for t in tips(root))
        (panel,) = of(root, "panel")
        assert not list(of(panel, "heat")[0])

    def test_blank_cells_have_no_colour(self):
        given = sd.explain(
            lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=sd.Uniform(8))
        )
        sight = SurfacePlotOptions(points=False, empty="blank")
        shown, root = heat(given, sight), parsed(surface(given, ident="s", sight=sight))
        (panel,) = of(root, "panel")
        drawn = sum(
            np.sum(c[:, 0] * np.roll(c[:, 1], -1) - np.roll(c[:, 0], -1) * c[:, 1]) / 2
            for shape in of(panel, "heat")[0]
            for c in parts(shape)
        )
        assert drawn == np.isfinite(shown.value).sum() < shown.value.size
        assert not of(root, "hatched")

    def test_contours_that_are_asked_for(self):
        asked = parsed(surface(NUMERIC, ident="s", sight=SurfacePlotOptions(levels=[0.25])))
        (panel,) = of(asked, "panel")
        assert len(of(panel, "contour")) == 1
        assert not of(
            of(parsed(surface(NUMERIC, ident="s", sight=SurfacePlotOptions(levels=0))), "panel")[0],
            "contour",
        )

    def test_one_cell_and_two_rows(self):
        few = np.array([[0.0, 1.0], [1.0, 3.0]])
        given = sd.explain(lambda X: X[:, 0] * X[:, 1], few, (0, 1), method=sd.ALE(bins=1))
        # Both features have two values: four strips, two of which have one row each.
        found = tips(parsed(surface(given, ident="s")))
        assert [tip.split("\n")[-1] for tip in found] == ["1 row", "no rows", "no rows", "1 row"]

    def test_a_constant_feature(self):
        flat = np.column_stack([X[:, 0], np.ones(len(X))])
        given = sd.explain(lambda X: X[:, 0] * X[:, 1], flat, (0, 1), method=sd.ALE(bins=4))
        root = parsed(surface(given, ident="s"))
        assert any("x1: 1.000" in t for t in tips(root))

    def test_offsets(self):
        when = np.column_stack([1.7e9 + 86_400 * RNG.uniform(size=600), X[:, 1]])
        given = sd.explain(
            lambda X: (X[:, 0] - 1.7e9) / 86_400 * X[:, 1], when, (0, 1), method=sd.ALE(bins=4)
        )
        root = parsed(surface(given, ident="s"))
        (panel,) = of(root, "panel")
        left = float(of(root, "hit")[0].get("x"))
        assert abs(back(panel, "x", left) - when[:, 0].min()) < 2 * pixel(panel, "x")

    @pytest.mark.parametrize(
        "name",
        ['"><script>alert(1)</script>', "a & b", "😀" * 60, "العمر", "x" * 500, "\x00\x1b"],
    )
    def test_names_are_text(self, name):
        frame = pd.DataFrame({name: X[:, 0], "other": X[:, 1]})
        given = sd.explain(
            lambda d: np.asarray(d.iloc[:, 0] * d.iloc[:, 1]), frame, (name, "other")
        )
        root = parsed(surface(given, ident="s"))
        assert inside(root)
        assert len(tips(root)) > 1

    def test_many_levels(self):
        levels = pd.Categorical(RNG.integers(0, 300, 3000).astype(str))
        frame = pd.DataFrame({"zip": levels, "x": RNG.normal(size=3000)})
        given = sd.explain(
            lambda d: np.asarray(d["x"]) * (d["zip"].cat.codes.to_numpy() % 3),
            frame,
            ("zip", "x"),
            method=sd.ALE(bins=40),
        )
        made = surface(given, ident="s")
        root = parsed(made)
        assert "of 300 levels of zip, with most rows" in " ".join(texts(root))
        assert inside(root)
