"""Drawings of surfaces as SVG: colours, contours, hatches and histograms are where their values are."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.plots.draw_svg import draw, heat_shades, simplify_line, trace_outlines
from skedasis.plots.figures.surface import SurfacePlotOptions, surface_figure
from skedasis.plots.marks import Contour, Heat, marks_of
from skedasis.plots.theme import HEAT_SHADES
from tests.plots.svg_figures import back, inside, of, parsed, parts

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
HOLED = sd.explain(lambda X: X[:, 0] * X[:, 1], X, (0, 1), method=sd.ALE(bins=sd.Uniform(8)))
CONTOURS = ("contour", "contour-negative", "contour-zero")
PDP = sd.explain(model, FRAME, ("age", "job"), method=sd.PDP(grid=7))


def drawn(surface, **options):
    """Return the drawing of a surface as XML, its map, and the specification of the map."""
    spec = surface_figure(surface, SurfacePlotOptions(**options))
    root = parsed(draw(spec, ident="s"))
    return root, of(root, "panel")[0], spec.main


def steps_of(panel):
    """Return a function from a pixel position to the drawn step of the colour scale."""
    (group,) = of(panel, "heat")
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


class TestColours:
    @pytest.mark.parametrize(
        ("given", "step"),
        [(NUMERIC, False), (NUMERIC, True), (MIXED, False), (LEVELS, False), (PDP, False)],
    )
    def test_they_are_the_surface(self, given, step):
        _, panel, main = drawn(given, step=step)
        (shown,) = marks_of(main, Heat)
        seen = steps_of(panel)
        low, high = shown.limits
        a, b, c, d = (float(v) for k in "xy" for v in panel.get(f"data-{k}").split()[:2])
        for x, y in RNG.uniform([a, d], [b, c], size=(60, 2)):
            # Edges are rounded to a tenth of a pixel: closer to an edge, the colour may be the neighbour's.
            u, v = (
                [float(back(panel, k, at + off)) for off in (-0.06, 0.06)]
                for k, at in (("x", x), ("y", y))
            )
            j, i = np.searchsorted(shown.x, u) - 1, np.searchsorted(shown.y, v) - 1
            i, j = i.clip(0, len(shown.value) - 1), j.clip(0, shown.value.shape[1] - 1)
            share = (shown.value[np.ix_(i, j)] - low) / (high - low) * (HEAT_SHADES - 1)
            assert np.abs(seen(x, y) - share).min() <= 0.51

    def test_zero_has_the_middle_colour(self):
        assert heat_shades(np.array([0.0]), (-2.0, 2.0))[0] == HEAT_SHADES // 2
        assert heat_shades(np.array([-1e308, np.nan, 1e308]), (-1.5e308, 1.5e308)).tolist() == [
            5,
            -1,
            27,
        ]

    def test_nothing_known_has_none(self):
        _, panel, _ = drawn(replace(NUMERIC, value=np.full(NUMERIC.value.shape, np.nan)))
        assert not list(of(panel, "heat")[0])

    @pytest.mark.parametrize("empty", ["blank", "hatched"])
    def test_cells_without_rows_have_none(self, empty):
        _, panel, main = drawn(HOLED, empty=empty)
        (heat,) = marks_of(main, Heat)
        area = sum(
            np.sum(c[:, 0] * np.roll(c[:, 1], -1) - np.roll(c[:, 0], -1) * c[:, 1]) / 2
            for shape in of(panel, "heat")[0]
            for c in parts(shape)
        )
        assert area == np.isfinite(heat.value).sum() < heat.value.size
        assert bool(of(panel, "rowless")) == (empty == "hatched")


class TestOutlines:
    @pytest.mark.parametrize(("share", "size"), [(0.2, (12, 17)), (0.5, (1, 9)), (1.0, (1, 1))])
    def test_outlines_hold_what_is_true_and_nothing_else(self, share, size):
        mask = RNG.random(size) < share
        outlines = dict(trace_outlines(np.where(mask, 3, -1)))
        assert list(outlines) == [3]
        found = [np.array(corners, dtype=float) for corners in outlines[3]]
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
        ((color, outlines),) = trace_outlines(np.zeros((50, 40), dtype=np.int64))
        assert color == 0
        assert list(outlines) == [[(0, 0), (40, 0), (40, 50), (0, 50)]]

    def test_colours_beside_each_other_have_their_own_outlines(self):
        colors = RNG.integers(-1, 4, size=(9, 13))
        again = np.full(colors.shape, -1)
        for color, outlines in trace_outlines(colors):
            corners = [np.array(one, dtype=float) for one in outlines]
            inside = [[within(corners, j + 0.5, i + 0.5) for j in range(13)] for i in range(9)]
            assert np.all(again[np.array(inside)] == -1)
            again[np.array(inside)] = color
        np.testing.assert_array_equal(again, colors)

    def test_thinned_lines_stay_near(self):
        t = np.linspace(0, 2 * np.pi, 400)
        circle = 50 * np.column_stack([np.cos(t), np.sin(t)])
        few = simplify_line(circle, 0.15)
        assert len(few) < 80
        middles = np.array([np.hypot(*((a + b) / 2)) for a, b in itertools.pairwise(few)])
        assert np.all(middles > 50 - 0.16)


class TestMarks:
    def test_contours_run_where_the_surface_has_their_value(self):
        _, panel, main = drawn(NUMERIC)
        contours = list(marks_of(main, Contour))
        lines = [e for name in CONTOURS for e in of(panel, name)]
        assert len(lines) == len(contours) > 3
        levels = [float(c.text.replace("\N{MINUS SIGN}", "-")) for c in contours]
        ordered = [
            v for name in CONTOURS for v, c in zip(levels, contours, strict=True) if c.style == name
        ]
        step = float(np.ptp(NUMERIC.value)) / 40
        for level, line in zip(ordered, lines, strict=True):
            ends = parts(line)
            # Also between the points that are drawn.
            at = np.concatenate([*ends, *((e[:-1] + e[1:]) / 2 for e in ends)])
            value = NUMERIC(back(panel, "x", at[:, 0]), back(panel, "y", at[:, 1]))
            known = np.isfinite(value)
            assert known.mean() > 0.9
            assert np.abs(value[known] - level).max() < step

    @pytest.mark.parametrize("given", [NUMERIC, MIXED, LEVELS, PDP])
    def test_all_is_inside(self, given):
        assert inside(drawn(given)[0])
