"""The SVG renderer: pixels lead back to the numbers of the marks, and any name is valid, inert XML."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.plots.draw_svg import FINE, TILE, WIDTH, draw, draw_tiles
from skedasis.plots.elements import Drawing
from skedasis.plots.figures.compare import overlay_figure
from skedasis.plots.figures.effect import effect_figure
from skedasis.plots.figures.importance import importance_figure, permutation_figure
from skedasis.plots.figures.multiples import effects_figure
from skedasis.plots.figures.options import EffectPlotOptions
from skedasis.plots.figures.surface import surface_figure
from skedasis.plots.html import style
from skedasis.plots.marks import (
    Area,
    Line,
    Mark,
    Panel,
    Points,
    Polygons,
    Rectangles,
    Rug,
    Tooltip,
    horizontal_line,
    legend_of,
)
from skedasis.plots.theme import PATTERNS, STYLES
from tests.plots import gallery
from tests.plots.marks_of_every_kind import AT, GRID, LOG_AXIS, MARKS, UP, Y_AXIS, one
from tests.plots.svg_figures import SVG, back, inside, marks, of, parsed, parts, pixel, texts, tips

KNOWN = {
    "svg",
    "title",
    "desc",
    "defs",
    "pattern",
    "clipPath",
    "g",
    "path",
    "rect",
    "text",
    "tspan",
    "circle",
    "a",
}


def drawn(*shown: Mark, **more) -> tuple[ET.Element, ET.Element]:
    """Return a figure of one panel as XML, and its panel."""
    root = parsed(draw(one(*shown, **more), ident="f"))
    (panel,) = of(root, "panel")
    return root, panel


def values(panel: ET.Element, points: np.ndarray) -> np.ndarray:
    """Return the values at pixel positions, shape (n, 2)."""
    return np.column_stack([back(panel, "x", points[:, 0]), back(panel, "y", points[:, 1])])


def assert_at(panel: ET.Element, points: np.ndarray, expected: np.ndarray) -> None:
    """Compare pixel positions with values, within the rounding of pixels."""
    found = values(panel, points)
    np.testing.assert_allclose(found[:, 0], expected[:, 0], atol=pixel(panel, "x"))
    np.testing.assert_allclose(found[:, 1], expected[:, 1], atol=pixel(panel, "y"))


def sides(part: np.ndarray) -> tuple[float, float, float, float]:
    """Return left, right, upper and lower end in pixels."""
    (a, c), (b, d) = part.min(axis=0), part.max(axis=0)
    return float(a), float(b), float(c), float(d)


# --- marks ---------------------------------------------------------------------------------------


class TestMarks:
    def test_lines(self):
        _, panel = drawn(MARKS["line"])
        (line,) = of(panel, "average")
        (points,) = parts(line)
        assert_at(panel, points, np.column_stack([AT, UP]))

    def test_lines_of_thousands_of_points_are_simplified_within_a_tenth_of_a_pixel(self):
        x = np.linspace(0, 10, 3001)
        y = np.sin(3 * x)
        _, panel = drawn(Line(x, y, "average"), Area(x, y - 0.3, y + 0.3, "interval"))
        (points,) = parts(of(panel, "average")[0])
        assert len(points) < 400
        found = values(panel, points)
        off = np.abs(np.interp(x, found[:, 0], found[:, 1]) - y)
        # Simplified within a tenth of a pixel, and rounded to tenths in both directions, on slopes of up to 3.
        slope = 3 * pixel(panel, "x") / pixel(panel, "y")
        assert off.max() <= (FINE + 0.05 + 0.05 * slope) / 0.1 * pixel(panel, "y")
        (area,) = of(panel, "area")
        assert len(parts(area)[0]) < 800

    def test_areas(self):
        _, panel = drawn(MARKS["area"])
        area, edge = of(panel, "area")[0], of(panel, "edge")[0]
        (outline,) = parts(area)
        assert_at(panel, outline[:5], np.column_stack([AT, UP + 0.5]))
        assert_at(panel, outline[5:], np.column_stack([AT, UP - 0.25])[::-1])
        lower, upper = parts(edge)
        assert_at(panel, lower, np.column_stack([AT, UP - 0.25]))
        assert_at(panel, upper, np.column_stack([AT, UP + 0.5]))

    @pytest.mark.parametrize("name", ["hatched area", "hatched"])
    def test_hatches(self, name):
        root, panel = drawn(MARKS[name])
        (filled,) = (e for e in panel.iter() if e.get("fill", "").startswith("url("))
        (pattern,) = root.iter(f"{SVG}pattern")
        assert filled.get("fill") == f"url(#{pattern.get('id')})"
        assert pattern.get("id") == f"f-{STYLES[MARKS[name].style].hatch}"

    def test_patterns_differ_and_are_written_once(self):
        root, _ = drawn(*(Rectangles(AT, AT + 0.5, AT * 0, UP, f"group{i}-area") for i in range(8)))
        tiles = [PATTERNS[f"group{i}"] for i in range(8)]
        assert len({p.path for p in tiles}) == len({p.code for p in tiles}) == 8
        found = list(root.iter(f"{SVG}pattern"))
        assert len(found) == len({e.get("id") for e in found}) == 8
        again, _ = drawn(MARKS["hatched"], MARKS["hatched"])
        assert len(list(again.iter(f"{SVG}pattern"))) == 1

    def test_rectangles(self):
        _, panel = drawn(MARKS["rectangles"])
        found = np.array([sides(p) for p in parts(of(panel, "count")[0])])
        left, right, top, bottom = found.T
        np.testing.assert_allclose(back(panel, "x", left), AT - 0.4, atol=pixel(panel, "x"))
        np.testing.assert_allclose(back(panel, "x", right), AT + 0.4, atol=pixel(panel, "x"))
        np.testing.assert_allclose(back(panel, "y", top), np.maximum(UP, 0), atol=pixel(panel, "y"))
        np.testing.assert_allclose(
            back(panel, "y", bottom), np.minimum(UP, 0), atol=pixel(panel, "y")
        )

    def test_infinite_ends_are_those_of_the_frame(self):
        _, panel = drawn(MARKS["hatched"])
        (filled,) = (e for e in panel.iter() if e.get("fill", "").startswith("url("))
        left, right, top, bottom = sides(parts(filled)[0])
        assert [float(v) for v in panel.get("data-y", "").split()[:2]] == [bottom, top]
        np.testing.assert_allclose(back(panel, "x", np.array([left, right])), [3, 5], atol=0.05)

    def test_thousands_of_bars_are_merged_by_columns_of_pixels(self):
        edges = np.linspace(0, 10, 5001)
        high = np.abs(np.sin(edges[:-1]))
        _, panel = drawn(Rectangles(edges[:-1], edges[1:], 0 * high, high, "count"))
        boxes = parts(of(panel, "count")[0])
        assert len(boxes) < 500
        left, right, top, _ = np.array([sides(p) for p in boxes]).T
        middle = back(panel, "x", (left + right) / 2)
        np.testing.assert_allclose(back(panel, "y", top), np.abs(np.sin(middle)), atol=0.04)

    @pytest.mark.parametrize(("name", "style"), [("points", "vertex"), ("dots", "own")])
    def test_points(self, name, style):
        _, panel = drawn(MARKS[name])
        (element,) = of(panel, style)
        at = marks(element) if name == "points" else np.array([p[0] for p in parts(element)])
        assert_at(panel, at, np.column_stack([AT, UP]))

    def test_marks_in_a_frame_are_clipped_to_it(self):
        root, panel = drawn(MARKS["line"])
        (clip,) = root.iter(f"{SVG}clipPath")
        (clipped,) = (g for g in root.iter(f"{SVG}g") if g.get("clip-path"))
        assert clipped.get("clip-path") == f"url(#{clip.get('id')})"
        (rect,) = clip
        x, y, w, h = (float(rect.get(k, "")) for k in ("x", "y", "width", "height"))
        assert [float(v) for v in panel.get("data-x", "").split()[:2]] == pytest.approx([x, x + w])
        assert [float(v) for v in panel.get("data-y", "").split()[:2]] == pytest.approx([y + h, y])

    def test_whiskers(self):
        _, panel = drawn(MARKS["segments"])
        found = parts(of(panel, "whisker")[0])
        upright = [p for p in found if len(p) == 2 and p[0, 0] == p[1, 0]]
        caps = [p for p in found if p[0, 1] == p[1, 1]]
        assert (len(upright), len(caps)) == (5, 10)
        ends = np.array([sorted(p[:, 1])[::-1] for p in upright])
        np.testing.assert_allclose(back(panel, "y", ends[:, 0]), UP - 0.3, atol=pixel(panel, "y"))
        np.testing.assert_allclose(back(panel, "y", ends[:, 1]), UP + 0.3, atol=pixel(panel, "y"))
        np.testing.assert_allclose(
            back(panel, "x", np.array([p[0, 0] for p in upright])), AT, atol=pixel(panel, "x")
        )
        assert {round(abs(p[1, 0] - p[0, 0]), 1) for p in caps} == {6.0}  # twice 2 points

    def test_dashes(self):
        _, panel = drawn(MARKS["dashes"])
        found = parts(of(panel, "slope")[0])
        assert_at(panel, np.array([p.mean(axis=0) for p in found]), np.column_stack([AT, UP]))
        np.testing.assert_allclose(
            [p[1, 0] - p[0, 0] for p in found], 18.0, atol=0.11
        )  # twice 6 points

    def test_oblique_lines_and_lines_across_the_panel(self):
        _, panel = drawn(MARKS["oblique"], horizontal_line(0.5))
        lines = parts(of(panel, "lead")[0])
        assert_at(panel, np.array([p[0] for p in lines]), np.column_stack([AT, UP]))
        assert_at(panel, np.array([p[1] for p in lines]), np.column_stack([AT + 0.5, UP + 0.25]))
        (zero,) = parts(of(panel, "zero")[0])
        assert zero[:, 0].tolist() == [float(v) for v in panel.get("data-x", "").split()[:2]]
        assert back(panel, "y", zero[0, 1]) == pytest.approx(0.5, abs=pixel(panel, "y"))

    def test_arrows_point_where_they_lead(self):
        _, panel = drawn(MARKS["arrows"])
        found = parts(of(panel, "to-regions")[0])
        lines, heads = np.array(found[::2]), np.array(found[1::2])
        assert_at(panel, lines[:, 0], np.column_stack([AT, UP]))
        tips = heads[:, 1]
        assert_at(panel, tips, np.column_stack([AT - 0.5, UP - 0.75]))
        # In pixels, the head is an isosceles triangle on the line, whatever the scales of the axes.
        feet = (heads[:, 0] + heads[:, 2]) / 2
        np.testing.assert_allclose(lines[:, 1], feet, atol=0.11)
        length = np.hypot(*(tips - feet).T)
        np.testing.assert_allclose(length, 1.5 * STYLES["to-regions"].size, atol=0.2)
        wide = np.hypot(*(heads[:, 2] - heads[:, 0]).T)
        np.testing.assert_allclose(wide, 2 / 3 * length, atol=0.2)
        across = np.sum((heads[:, 2] - heads[:, 0]) * (tips - feet), axis=1)
        np.testing.assert_allclose(across / (wide * length), 0.0, atol=0.05)

    def test_curves_with_rows_for_the_script(self):
        _, panel = drawn(MARKS["curves"])
        (path,) = of(panel, "curves")
        assert path.get("data-rows") == "3 17 4"
        assert path.get("data-name") == "women"
        assert path.get("data-each") is None
        assert path.get("stroke-opacity") == "0.5"
        for part, y in zip(parts(path), [UP, -UP, UP / 2], strict=True):
            assert_at(panel, part, np.column_stack([AT, y]))
        _, panel = drawn(replace(MARKS["curves"], each="model", rows=np.array([1, 2, 3]), group=""))
        (path,) = of(panel, "curves")
        assert (path.get("data-each"), path.get("data-name")) == ("model", None)

    def test_polygons(self):
        outline = np.array([(2.0, -1.0), (2.5, 0.0), (2.0, 1.0), (1.5, 0.0)])
        _, panel = drawn(Polygons((outline,), "violin"))
        (found,) = parts(of(panel, "violin")[0])
        assert_at(panel, found, outline)

    def test_heat(self):
        _, panel = drawn(MARKS["heat"])
        (group,) = of(panel, "heat")
        assert len(group) == len({v for v in GRID.ravel() if np.isfinite(v)})
        assert {e.get("class", "")[0] for e in group} == {"t"}

    def test_contours(self):
        _, panel = drawn(MARKS["contour"])
        (line,) = parts(of(panel, "contour")[0])
        assert_at(panel, line, np.column_stack([AT, UP]))

    def test_rug(self):
        _, panel = drawn(MARKS["rug"])
        found = parts(of(panel, "rug")[0])
        at = back(panel, "x", np.array([p.mean(axis=0)[0] for p in found]))
        np.testing.assert_allclose(at, AT, atol=5 * pixel(panel, "x"))  # to half a pixel
        low = float(panel.get("data-y", "").split()[0])
        assert all(low - 8 < p[0, 1] < low for p in found)
        many = Rug(np.linspace(0, 10, 5000), "rows")
        _, panel = drawn(many)
        assert len(parts(of(panel, "rug")[0])) <= 2 * WIDTH

    @pytest.mark.parametrize("side", ["top", "right"])
    def test_margins_are_outside_the_frame_and_have_the_proportions_of_the_counts(self, side):
        mark = MARKS[side]
        root, panel = drawn(mark)
        boxes = np.array([sides(p) for p in parts(of(panel, "margin")[0])])
        size = boxes[:, 3] - boxes[:, 2] if side == "top" else boxes[:, 1] - boxes[:, 0]
        np.testing.assert_allclose(size / size.max(), mark.height / mark.height.max(), atol=0.01)
        x0, x1 = (float(v) for v in panel.get("data-x", "").split()[:2])
        y0, y1 = (float(v) for v in panel.get("data-y", "").split()[:2])
        assert (boxes[:, 3].max() <= y1) if side == "top" else (boxes[:, 0].min() >= x1)
        assert x0 < x1
        assert y1 < y0
        assert not any(of(g, "margin") for g in root.iter(f"{SVG}g") if g.get("clip-path"))

    def test_logarithmic_axes(self):
        x = np.array([0.1, 1.0, 10.0, 1000.0])
        _, panel = drawn(Points(x, x * 0, "vertex"), x=LOG_AXIS)
        assert panel.get("data-log") == "x"
        a, b, low, high = (float(v) for v in panel.get("data-x", "").split())
        shares = (marks(of(panel, "vertex")[0])[:, 0] - a) / (b - a)
        found = np.exp(np.log(low) + shares * (np.log(high) - np.log(low)))
        np.testing.assert_allclose(found, x, rtol=0.01)
        assert drawn(MARKS["points"])[1].get("data-log") is None


# --- panels, legends and texts -------------------------------------------------------------------


def test_panels_have_what_the_script_reads():
    spec = gallery.figure("time")
    root = parsed(draw(spec, ident="t"))
    panel = of(root, "panel")[0]
    assert panel.get("data-clock", "").split()[0] in ("date", "datetime")
    assert tuple(map(float, panel.get("data-x", "").split()[2:])) == spec.main.x.limits
    assert panel.get("data-small") is None
    small = parsed(draw(gallery.figure("effects"), ident="s", width=720.0))
    assert {p.get("data-small") for p in of(small, "panel")} == {"1"}


def test_ticks_are_at_their_values():
    root, panel = drawn(MARKS["line"])
    ticks = {
        t.text: float(t.get("x", ""))
        for g in of(root, "tick")
        if "middle" in g.get("class", "")
        for t in g
    }
    for text, x in ticks.items():
        assert back(panel, "x", x) == pytest.approx(float(text), abs=pixel(panel, "x"))
    grid = parts(of(root, "grid")[0])
    up = [t for g in of(root, "tick") if "end" in g.get("class", "") for t in g]
    assert len(grid) == len(up)


@pytest.mark.parametrize("name", [*gallery.FIGURES][::4])
def test_every_kind_of_figure_is_valid(name):
    spec = gallery.figure(name)
    drawing = draw(spec, ident="f1")
    root = parsed(drawing)
    assert (drawing.title, drawing.alt) == (spec.title, spec.alt)
    assert inside(root)
    if "effects" not in name and name not in ("local", "compared surfaces"):
        keys = [key.label for key in legend_of(spec.panels, spec.order)]
        assert len([t for g in of(root, "key") for t in g]) <= len(keys)
    classes = {c for e in root.iter() for c in e.get("class", "").split()}
    css = style()
    assert not {c for c in classes if not re.search(rf"\.{re.escape(c)}\b", css)} - {
        "panel",
        "legend",
        "skd",
        "curves",
    }


def test_tooltips():
    spec = one(
        MARKS["line"],
        tooltips=(
            Tooltip(2.0, 4.0, "one\n<two>"),
            Tooltip(5.0, 5.0, "a point", 1.0, 1.0),
            Tooltip(6, 7, "box", -1, 1),
        ),
    )
    below = Panel(spec.main.x, Y_AXIS, (MARKS["line"],), 60.0, kind="detail")
    spec = replace(
        spec,
        stacks=(
            (
                replace(
                    spec.main, tooltips=(*spec.main.tooltips, Tooltip(8.0, 9.0, "both", below=1))
                ),
                below,
            ),
        ),
    )
    root = parsed(draw(spec, ident="f"))
    assert tips(root) == ["one\n<two>", "a point", "box", "both"]
    first, second = of(root, "panel")
    one_, box, both = (e for e in of(root, "hit") if e.tag == f"{SVG}rect")
    (point,) = (e for e in of(root, "hit") if e.tag == f"{SVG}circle")

    def box_of(e: ET.Element) -> list[float]:
        x, y, w, h = (float(e.get(k, "")) for k in ("x", "y", "width", "height"))
        return [*back(first, "x", np.array([x, x + w])), y, y + h]

    bottom, top = (float(v) for v in first.get("data-y", "").split()[:2])
    assert box_of(one_) == pytest.approx([2, 4, top, bottom], abs=0.05)
    assert box_of(box)[:2] == pytest.approx([6, 7], abs=0.05)
    assert back(first, "y", box_of(box)[3]) == pytest.approx(-1, abs=pixel(first, "y"))
    assert box_of(both)[3] == pytest.approx(float(second.get("data-y", "").split()[0]), abs=0.11)
    assert back(first, "x", float(point.get("cx", ""))) == pytest.approx(5, abs=pixel(first, "x"))
    assert point.get("tabindex") is None  # the figure handles the keyboard
    assert root.get("tabindex") == "0"


def test_points_with_links():
    given = (
        Tooltip(2.0, 2.0, "age\n1.5", 1.0, 1.0, link="#age", feature="age"),
        Tooltip(4.0, 4.0, "no figure\n0", 0.0, 0.0),
    )
    root = parsed(draw(one(MARKS["points"], tooltips=given), ident="f"))
    assert (root.get("role"), root.get("tabindex")) == ("group", "-1")
    (link,) = root.iter(f"{SVG}a")
    assert (link.get("href"), link.get("data-feature")) == ("#age", "age")
    assert link.get("aria-label") == "age, 1.5"
    (other,) = (e for e in of(root, "place") if e.tag != f"{SVG}a")
    assert (other.get("tabindex"), other.get("role")) == ("0", "img")
    assert other.get("aria-label") == "no figure, 0"
    assert tips(root) == ["age\n1.5", "no figure\n0"]


class TestLegends:
    def test_entries_show_all_their_marks_and_do_not_touch(self):
        labels = [f"entry number {i}" for i in range(9)]
        shown = [Line(AT, UP, "average", k) for k in labels] + [Points(AT, UP, "vertex", labels[0])]
        root, _ = drawn(*shown)
        (legend,) = of(root, "legend")
        assert [t.text for g in of(legend, "key") for t in g] == labels
        keys = [g for g in legend if g.get("transform")]
        assert [[p.get("class") for p in g] for g in keys][:2] == [
            ["average", "vertex"],
            ["average"],
        ]
        at = [tuple(map(float, g.get("transform", "")[10:-1].split())) for g in keys]
        assert len(set(at)) == 9
        assert len({y for _, y in at}) > 2


@pytest.mark.parametrize("width", [200.0, 900.0])
def test_widths(width):
    drawing = draw(gallery.figure("ale"), ident="f", width=width)
    assert drawing.width == pytest.approx(width)
    root = parsed(drawing)
    assert inside(root)
    assert ("narrow" in root.get("class", "")) == (width < 300)
    assert ("wide" in root.get("class", "")) == (width > 600)


# --- small figures -------------------------------------------------------------------------------


class TestTiles:
    def test_frames_are_aligned(self):
        spec = gallery.figure("effects")
        drawings, legend = draw_tiles(spec, ident="t", legend=900.0)
        assert len(drawings) == len(spec.stacks)
        roots = [parsed(d) for d in drawings]
        frames = {tuple(of(r, "panel")[0].get("data-y", "").split()[:2]) for r in roots}
        assert len(frames) == 1
        assert {(d.width, d.height) for d in drawings} == {(TILE, drawings[0].height)}
        for r in roots:
            left, right = (float(v) for v in of(r, "panel")[0].get("data-x", "").split()[:2])
            assert 0 < left < right < TILE
        assert [t for t in texts(parsed(legend)) if t] == [
            k.label for k in legend_of(spec.panels, spec.order)
        ]
        assert all(not of(r, "legend") for r in roots)

    def test_identifiers_are_unique_on_the_page(self):
        drawings, legend = draw_tiles(gallery.figure("effects"), ident="t")
        idents = [i for d in (*drawings, legend) for i in re.findall(r' id="([^"]+)"', str(d.svg))]
        assert len(idents) == len(set(idents))


# --- hostile input -------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
N = 60
HOSTILE = [
    "x" * 500,
    "</style></script><script>alert(1)</script>",
    "]]>&#x0;&amp;<!--",
    "\"' onload=alert(1) x='",
    "אבג\u202eabc\u202c",
    "e\u0301\u0301\u0301 z\u200b\u200d",
    "👩‍👩‍👧 🏳️‍🌈",
    "a\x00b\x1b[31m\x7f\ufffe\x85",
    "",
    " \t\n",
    "url(#f-clip0) ${x} {{x}} {% x %}",
]


def checked(drawing: Drawing) -> ET.Element:
    """Parse a drawing, and check that it has no scripts, external resources or broken references."""
    root = parsed(drawing)
    found = {e.tag.rpartition("}")[2] for e in root.iter()}
    assert found <= KNOWN, found - KNOWN
    idents = [e.get("id") for e in root.iter() if e.get("id")]
    for e in root.iter():
        assert not {k for k in e.attrib if k.startswith("on") or k in ("style", "src")}
        assert e.get("href", "#").startswith("#")
        for key in ("fill", "clip-path"):
            if e.get(key, "").startswith("url("):
                assert e.get(key, "")[5:-1] in idents
        for key in ("x", "y", "d", "width", "height", "transform", "viewBox", "cx", "cy"):
            assert not re.search(r"nan|inf|None|e[+-]?\d", e.get(key, ""))
    assert "\x00" not in str(drawing.svg)
    return root


def frame(name: str) -> pd.DataFrame:
    level = RNG.choice([name, f"{name} ", "other"], N)
    return pd.DataFrame(
        {name: RNG.normal(size=N), "b": RNG.normal(size=N), "c": pd.Categorical(level)}
    )


hostile = pytest.mark.parametrize("name", [HOSTILE[k] for k in (0, 1, 3, 7)], ids=range(4))


class TestNames:
    @hostile
    def test_of_features_levels_and_quantities(self, name):
        X = frame(name)
        q = sd.prediction(lambda d: d.iloc[:, 0].to_numpy() * d["b"].to_numpy(), name=name or "q")
        whole = sd.explain(q, X, 0, method=sd.ALE(bins=4))
        for e in (
            whole,
            sd.explain(q, X, "c", method=sd.PDP()),
            sd.explain(q, X, 0, method=sd.PDP()),
        ):
            root = checked(draw(effect_figure(e), ident="f"))
            assert not [t for t in root.itertext() if "\x00" in t or "\x1b" in t]
        colored = EffectPlotOptions(color=X["c"])
        checked(draw(effect_figure(sd.explain(q, X, 0, method=sd.PDP()), colored), ident="g"))
        checked(draw(overlay_figure([whole, whole], [name, f"{name}2"]), ident="c"))
        both = effects_figure(sd.explain(q, X, ["b", X.columns[0]], method=sd.ALE(bins=3)))
        checked(draw(both, ident="m"))
        for one_ in draw_tiles(both, ident="n")[0]:
            checked(one_)

    @hostile
    def test_of_surfaces_and_importances(self, name):
        X = frame(name)
        q = sd.prediction(lambda d: d.iloc[:, 0].to_numpy() * d["b"].to_numpy(), name=name or "q")
        checked(draw(surface_figure(sd.explain(q, X, (0, "b"), method=sd.ALE(bins=3))), ident="s"))
        checked(
            draw(surface_figure(sd.explain(q, X, ("c", "b"), method=sd.PDP(grid=3))), ident="s")
        )
        pf = sd.explain(q, X, method=sd.PFI(n_repeats=3, local=N))
        checked(draw(importance_figure(pf), ident="b"))
        checked(draw(permutation_figure(pf), ident="l"))


@pytest.mark.parametrize("name", MARKS)
def test_marks_with_any_number(name):
    given = MARKS[name]
    for key, array in vars(given).items():
        edges = key in (("x", "y") if name == "heat" else ("edges", "rows"))
        if isinstance(array, np.ndarray) and not edges:
            for value in (np.nan, np.inf, -1e300, 5e-324):
                changed = array.astype(float)
                changed.flat[len(changed.flat) // 2] = value
                with np.errstate(all="ignore"):
                    checked(draw(one(replace(given, **{key: changed})), ident="f"))


def test_two_rows_and_a_million():
    few = np.array([[0.0, 1.0], [1.0, 3.0]])
    for m in (sd.ALE(), sd.PDP(), sd.MPlot(bins=2)):
        e = sd.explain(lambda X: X[:, 0] * X[:, 1], few, 0, method=m)
        checked(draw(effect_figure(e), ident="f"))
    many = RNG.normal(size=(1_000_000, 2))
    drawing = draw(
        effect_figure(sd.explain(lambda X: X[:, 0], many, 0, method=sd.ALE(bins=20))), ident="f"
    )
    assert "1,000,000 rows" in drawing.svg
    assert len(drawing.svg) < 40_000
