"""The matplotlib renderer: artists hold the numbers of the marks, texts are literal, and nothing global changes."""

from __future__ import annotations

import subprocess
import sys
import warnings
from dataclasses import replace
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection, QuadMesh
from matplotlib.colors import same_color, to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.text import Text

from skedasis.plots import draw_matplotlib
from skedasis.plots.draw_matplotlib import Colors, draw, draw_on
from skedasis.plots.marks import (
    Line,
    Names,
    Panel,
    Points,
    Segments,
    Title,
    legend_of,
)
from skedasis.plots.marks import Text as PanelText
from skedasis.plots.scales import PlotAxis
from skedasis.plots.theme import COLORS, STYLES
from tests.plots import gallery
from tests.plots.marks_of_every_kind import AT, GRID, LOG_AXIS, MARKS, UP, Y_AXIS, one

QUIET = pytest.mark.filterwarnings("ignore:No installed font has")


def axes_of(*marks, **more) -> Axes:
    """Return the axes of a figure of one panel."""
    figure = draw(one(*marks, **more))
    figure.draw_without_rendering()
    (ax,) = figure.axes
    return ax


def words(figure: Figure) -> list[str]:
    return [t.get_text() for t in figure.findobj(Text) if t.get_visible() and t.get_text()]


def only(ax: Axes, kind: type):
    (found,) = (c for c in ax.collections if isinstance(c, kind))
    return found


def light(name: str, opacity: float = 1.0) -> tuple[float, ...]:
    return to_rgba(COLORS[name].light, opacity)


# --- marks ---------------------------------------------------------------------------------------


class TestMarks:
    def test_lines(self):
        (line,) = axes_of(MARKS["line"]).lines
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack([AT, UP]))
        assert same_color(line.get_color(), light("average"))
        assert line.get_linewidth() == STYLES["average"].width

    def test_areas(self):
        ax = axes_of(MARKS["area"])
        (area,) = ax.collections
        corners = {tuple(v) for v in area.get_paths()[0].vertices.round(9).tolist()}
        assert {(x, y) for x, y in zip(AT, UP + 0.5, strict=True)} <= corners
        assert {(x, y) for x, y in zip(AT, UP - 0.25, strict=True)} <= corners
        assert same_color(area.get_facecolor()[0], light("heterogeneity"))
        lower, upper = (np.asarray(line.get_ydata()) for line in ax.lines)
        np.testing.assert_array_equal(lower, UP - 0.25)
        np.testing.assert_array_equal(upper, UP + 0.5)

    def test_hatched_areas_have_a_hatch_and_a_fill(self):
        ax = axes_of(MARKS["hatched area"])
        assert [c.get_hatch() is None for c in ax.collections] == [True, False]

    def test_rectangles(self):
        paths = only(axes_of(MARKS["rectangles"]), PolyCollection).get_paths()
        boxes = [(*p.vertices.min(axis=0), *p.vertices.max(axis=0)) for p in paths]
        expected = [(x - 0.4, min(y, 0), x + 0.4, max(y, 0)) for x, y in zip(AT, UP, strict=True)]
        np.testing.assert_allclose(boxes, expected)

    @pytest.mark.parametrize(("name", "face"), [("points", "ground"), ("dots", "curve")])
    def test_points(self, name, face):
        (points,) = axes_of(MARKS[name]).lines
        np.testing.assert_array_equal(points.get_xydata(), np.column_stack([AT, UP]))
        opacity = STYLES["own"].fill_opacity if name == "dots" else 1.0
        assert same_color(points.get_markerfacecolor(), light(face, opacity))
        assert points.get_linestyle() == "None"

    def test_points_at_the_end_of_an_axis_are_not_cut(self):
        at = np.array([np.inf, -np.inf])
        inside, outside = axes_of(MARKS["points"], Points(np.array([3.0, 4.0]), at, "vertex")).lines
        assert inside.get_clip_on()
        assert not outside.get_clip_on()
        np.testing.assert_array_equal(outside.get_ydata(), [2.0, -2.0])
        (sideways,) = axes_of(Points(at, np.zeros(2), "vertex")).lines
        assert not sideways.get_clip_on()

    def test_segments_with_caps(self):
        ax = axes_of(MARKS["segments"])
        lines = np.array(only(ax, LineCollection).get_segments())
        np.testing.assert_allclose(lines[:, 0], np.column_stack([AT, UP - 0.3]))
        np.testing.assert_allclose(lines[:, 1], np.column_stack([AT, UP + 0.3]))
        assert [cap.get_marker() for cap in ax.lines] == ["_", "_"]

    def test_arrows(self):
        ax = axes_of(MARKS["arrows"])
        arrows = [a for a in ax.get_children() if isinstance(a, FancyArrowPatch)]
        ends = np.array([np.ravel(a._posA_posB) for a in arrows])
        np.testing.assert_allclose(ends, np.column_stack([AT, UP, AT - 0.5, UP - 0.75]))
        assert {a.get_mutation_scale() for a in arrows} == {STYLES["to-regions"].size}
        assert all(same_color(a.get_facecolor(), light("hue2")) for a in arrows)
        assert all(a.get_clip_on() and a.get_clip_box() is not None for a in arrows)
        assert ax.get_xlim() == (0.0, 10.0)

    def test_caps_of_neighbours_do_not_touch(self):
        x = np.linspace(0, 10, 200)
        ax = axes_of(Segments(x, x * 0, x, x * 0 + 1, "whisker", caps=3.0))
        apart = ax.get_window_extent().width / 200
        assert ax.lines[0].get_markersize() * draw_matplotlib.DPI / 72 < apart

    def test_dashes_have_a_length_in_points(self):
        (dashes,) = axes_of(MARKS["dashes"]).lines
        assert dashes.get_markersize() == 12.0
        np.testing.assert_array_equal(dashes.get_xydata(), np.column_stack([AT, UP]))

    def test_curves(self):
        curves = only(axes_of(MARKS["curves"]), LineCollection)
        np.testing.assert_array_equal([s[:, 1] for s in curves.get_segments()], [UP, -UP, UP / 2])
        assert curves.get_color()[0][3] == pytest.approx(0.5)

    def test_heat(self):
        ax = axes_of(MARKS["heat"])
        mesh = only(ax, QuadMesh)
        np.testing.assert_array_equal(mesh.get_array().filled(np.nan), GRID)
        assert (mesh.norm.vmin, mesh.norm.vmax) == (-3.0, 3.0)
        corners = mesh.get_coordinates()
        assert corners[0, :, 0].tolist() == [1, 3, 5, 9]
        assert corners[:, 0, 1].tolist() == [-1, 0, 2]
        # Zero has the colour of the ground, and both ends differ.
        low, zero, high = (mesh.to_rgba(v) for v in (-3.0, 0.0, 3.0))
        assert same_color(zero, light("ground"))
        assert not same_color(low, high)
        assert ax.get_xlim() == (0.0, 10.0)

    def test_contours(self):
        lines = only(axes_of(MARKS["contour"]), LineCollection).get_segments()
        np.testing.assert_array_equal(lines[0], np.column_stack([AT, UP]))

    @pytest.mark.parametrize("side", ["top", "right"])
    def test_margins_have_the_proportions_of_the_counts(self, side):
        mark = MARKS[side]
        bars = only(axes_of(mark), PolyCollection).get_paths()
        along, up = (0, 1) if side == "top" else (1, 0)
        size = np.array([np.ptp(p.vertices[:, up]) for p in bars])
        np.testing.assert_allclose(size / size.max(), mark.height / mark.height.max())
        ends = [(p.vertices[:, along].min(), p.vertices[:, along].max()) for p in bars]
        np.testing.assert_allclose(ends, list(zip(mark.edges, mark.edges[1:], strict=False)))
        assert min(p.vertices[:, up].min() for p in bars) > 1

    def test_later_marks_are_in_front(self):
        ax = axes_of(*MARKS.values())
        order = [MARKS["area"], MARKS["line"], MARKS["points"]]
        for some in (order, order[::-1]):
            ax = axes_of(*some)
            found = {
                "area": ax.collections[0].get_zorder(),
                "line": next(a.get_zorder() for a in ax.lines if a.get_linewidth() > 1.5),
                "points": next(a.get_zorder() for a in ax.lines if a.get_marker() == "o"),
            }
            names = ["area", "line", "points"]
            assert sorted(found, key=found.__getitem__) == (names if some is order else names[::-1])

    def test_logarithmic_axes(self):
        ax = axes_of(Line(np.array([0.5, 50.0]), np.array([0.0, 1.0]), "average"), x=LOG_AXIS)
        assert ax.get_xscale() == "log"
        assert ax.get_xlim() == (0.1, 1000.0)
        assert [t.get_text() for t in ax.get_xticklabels() if t.get_text()] == [
            "0.1",
            "1",
            "10",
            "100",
            "1000",
        ]


# --- axes, ticks and texts -----------------------------------------------------------------------


class TestTicks:
    def test_after_zooming_they_are_round_numbers_of_what_is_visible(self):
        figure = draw(one(MARKS["line"]))
        (ax,) = figure.axes
        before = ax.get_xticks().tolist()
        ax.set_xlim(2.013, 2.487)
        figure.draw_without_rendering()
        after = ax.get_xticks()
        shown = [t.get_text() for t in ax.get_xticklabels()]
        assert len(before) >= 3
        assert len(after) >= 3
        assert after.min() >= 2.013
        assert after.max() <= 2.487
        np.testing.assert_allclose([float(t) for t in shown], after)
        assert max(map(len, shown)) <= 4
        ax.set_xlim(0, 10)
        assert ax.get_xticks().tolist() == before

    def test_a_common_offset_is_in_the_axis_label(self):
        axis = PlotAxis("time", None, 1_700_000_000.0, 1_700_000_005.0)
        ax = axes_of(x=axis)
        assert ax.get_xlabel().startswith("time − 1,700,000,000") or "1700000000" in ax.get_xlabel()
        assert all(len(t.get_text()) <= 3 for t in ax.get_xticklabels())


HOSTILE = [r"$x^2_{\frac$ \alpha", "_a_b_", "<script>&amp;</script>", "100 % {x} \\n", "^_^ $$"]


@pytest.mark.parametrize("name", HOSTILE[::4])
def test_names_are_literal(name):
    panel = Panel(
        PlotAxis(name, None, 0.0, 1.0),
        PlotAxis("y", None, -0.5, 1.5, 0.0, (0.0, 1.0), (name, "other")),
        (Line(np.arange(2.0), np.arange(2.0), "average", name),),
        title=Title(name, method=name),
        notes=(name,),
        texts=(PanelText(0.5, 0.5, (name,)),),
        names=Names(np.array([0.5]), np.array([0.7]), (name,)),
        above=((0.2, name),),
    )
    from skedasis.plots.marks import FigureSpec

    figure = draw(FigureSpec(((panel,), (panel,)), name, "", heading=Title(name), notes=(name,)))
    figure.draw_without_rendering()
    assert words(figure).count(name) >= 15
    assert [t.get_text() for made in figure.legends for t in made.get_texts()] == [name]
    for text in figure.findobj(Text):
        if "$" in text.get_text() and text.get_visible():
            assert not text.get_parse_math()
            assert not text.get_usetex()
    ax = Figure().subplots()
    line = Line(np.arange(2.0), np.arange(2.0), "average", name)
    draw_on(ax, one(line, title=Title(name), x=PlotAxis(name, None, 0.0, 1.0)))
    ax.figure.draw_without_rendering()
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [name]
    assert name in words(ax.figure)


def test_texts_are_where_the_layout_has_placed_them():
    from skedasis.plots.layout import arrange
    from skedasis.plots.text import Lettering

    spec = gallery.figure("ale")
    figure = draw(spec, (7.0, 5.0))
    figure.draw_without_rendering()
    letters = Lettering(draw_matplotlib.width_of, float(np.sqrt(7.0 / draw_matplotlib.WIDTH)))
    placed = arrange(spec, 504.0, 360.0, lettering=letters)
    scale = draw_matplotlib.DPI / 72
    seen = words(figure)
    found = {
        t.get_text(): t.get_window_extent()
        for t in figure.findobj(Text)
        if seen.count(t.get_text()) == 1
    }
    checked = 0
    for text in placed.texts():
        # Entries of a legend follow each other.
        alone = len(text.lines) == 1 and text.anchor == 1 and text.style != "key"
        if alone and text.lines[0] in found:
            box = found[text.lines[0]]
            assert box.x0 == pytest.approx(scale * text.x, abs=2.5)
            base = (360.0 - text.y) * scale
            assert box.y0 - 1 <= base <= box.y1
            checked += 1
    assert checked >= 3


def test_the_method_follows_the_title_in_its_line():
    title = Title("age", "effect on price", "RHALE")
    spec = one(MARKS["line"], title=title)
    figure = draw(replace(spec, heading=title))
    figure.draw_without_rendering()
    found = [t for t in figure.findobj(Text) if t.get_text() == title.text]
    methods = [t for t in figure.findobj(Text) if t.get_text() == "(RHALE)"]
    assert len(found) == len(methods) == 2
    for method in methods:
        box = method.get_window_extent()
        # Baselines of letters without descenders: the lower ends of the brackets are those of "(" in both sizes.
        line = min(found, key=lambda t: abs(t.get_window_extent().y0 - box.y0)).get_window_extent()
        assert line.y0 <= box.y0 < box.y1 < line.y1
        assert 0 < box.x0 - line.x1 < box.height
        assert method.get_fontsize() < found[0].get_fontsize()


class TestFonts:
    def test_chinese_gets_a_font_if_one_is_installed(self, monkeypatch):
        monkeypatch.setattr(draw_matplotlib, "installed", lambda: ("Noto Sans CJK SC",))
        own = mpl.rcParams["font.family"]
        assert draw_matplotlib.families("age") == own
        assert draw_matplotlib.families("é → ü"[:1]) == own
        assert draw_matplotlib.families("数量") == [*own, "Noto Sans CJK SC"]
        text = Figure().text(0, 0, "数量")
        draw_matplotlib._as_plain(text)
        assert "Noto Sans CJK SC" in text.get_fontfamily()

    @pytest.mark.slow
    def test_one_warning_names_all_missing_characters(self, tmp_path):
        strange = "\U00013000\U00013001"
        panel = Panel(PlotAxis(strange, None, 0.0, 1.0), Y_AXIS, title=Title(strange))
        from skedasis.plots.marks import FigureSpec

        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            figure = draw(FigureSpec(((panel,),), "", ""))
            figure.draw_without_rendering()
            figure.savefig(tmp_path / "a.png", bbox_inches="tight")
            figure.savefig(tmp_path / "a.pdf")
            assert figure._repr_png_()
        said = [
            str(w.message) for w in seen if "Glyph" in str(w.message) or "font" in str(w.message)
        ]
        assert len(said) == 1
        assert "has 2 of the characters" in said[0]
        assert "Noto Sans CJK" in said[0]

    def test_widths_are_those_of_the_drawn_letters(self):
        figure = Figure(dpi=120)
        for words_ in ("illi", "WWW mm", "number_of_visits", "שם ארוך", "−0.25"):
            text = figure.text(0, 0, words_, fontsize=8)
            wide = text.get_window_extent().width * 72 / 120
            assert wide <= draw_matplotlib.width_of(words_, 8.0) + 0.5
            assert draw_matplotlib.width_of(words_, 8.0) <= 1.2 * wide + 1
        assert draw_matplotlib.width_of("", 8.0) == 0.0


# --- files, styles and global state --------------------------------------------------------------


def test_figures_in_notebooks_are_pngs():
    assert draw(gallery.figure("ale"))._repr_png_().startswith(b"\x89PNG")


# matplotlib takes 12 s to write a font into a file of PostScript.
@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_files(kind, tmp_path):
    draw(gallery.figure("ale")).savefig(tmp_path / f"a.{kind}")
    assert (tmp_path / f"a.{kind}").stat().st_size > 1000


def test_texts_in_svg_files_are_text(tmp_path):
    draw(one(MARKS["line"], title=Title("age", "price", "PDP"))).savefig(tmp_path / "a.svg")
    root = ET.parse(tmp_path / "a.svg").getroot()
    texts = ["".join(e.itertext()).strip() for e in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"age: price", "(PDP)", "x", "y", "a line"} <= set(texts)


@pytest.mark.slow
@QUIET
def test_nothing_global(monkeypatch):
    before = dict(mpl.rcParams)
    for name in ("ale", "surface", "effects", "coloured"):
        draw(gallery.figure(name), style="ggplot").draw_without_rendering()
    draw_on(Figure().subplots(), gallery.figure("ale"))
    assert dict(mpl.rcParams) == before


@pytest.mark.slow
def test_pyplot_is_not_imported():
    code = (
        "import sys, numpy as np, skedasis as sd\n"
        "X = np.random.default_rng(0).normal(size=(30, 2))\n"
        "sd.explain(lambda X: X[:, 0], X, 0, method='ale').plot().draw_without_rendering()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_styles_of_matplotlib():
    figure = draw(one(MARKS["line"], MARKS["area"], title=Title("PDP")), style="dark_background")
    figure.draw_without_rendering()
    (ax,) = figure.axes
    assert same_color(ax.get_facecolor(), "black")
    dark = to_rgba(COLORS["average"].dark)
    assert any(same_color(line.get_color(), dark) for line in ax.lines)
    title = next(t for t in figure.findobj(Text) if t.get_text() == "PDP")
    assert same_color(title.get_color(), COLORS["ink"].dark)


# --- axes of users -------------------------------------------------------------------------------


class TestAxesOfUsers:
    def test_keep_their_look(self):
        figure = Figure(facecolor="#eeeeee")
        ax = figure.subplots()
        ax.set_facecolor("#ffffee")
        ax.tick_params(labelsize=17, labelcolor="green")
        ax.spines["top"].set_visible(True)
        ax.spines["left"].set_color("blue")
        size = ax.xaxis.label.get_fontsize()
        where = ax.get_position().bounds
        assert draw_on(ax, gallery.figure("ale")) is figure
        figure.draw_without_rendering()
        assert same_color(ax.get_facecolor(), "#ffffee")
        assert ax.spines["top"].get_visible()
        assert same_color(ax.spines["left"].get_edgecolor(), "blue")
        assert ax.xaxis.label.get_fontsize() == size
        assert {t.get_fontsize() for t in ax.get_xticklabels()} == {17}
        assert {t.get_color() for t in ax.get_xticklabels()} == {"green"}
        assert ax.get_position().bounds == where

    def test_dark_ones_get_the_dark_theme(self):
        figure = Figure(facecolor="black")
        ax = figure.subplots()
        ax.set_facecolor("none")
        draw_on(ax, one(MARKS["line"]))
        assert same_color(ax.lines[0].get_color(), COLORS["average"].dark)
        light_ax = Figure().subplots()
        draw_on(light_ax, one(MARKS["line"]))
        assert same_color(light_ax.lines[0].get_color(), COLORS["average"].light)

    def test_their_legend_is_that_of_the_panel(self):
        ax = Figure(figsize=(7, 5)).subplots()
        spec = gallery.figure("ale")
        draw_on(ax, spec)
        found = [t.get_text() for t in ax.get_legend().get_texts()]
        assert found == [key.label for key in legend_of([spec.main], spec.order)]

    def test_a_legend_that_would_cover_them_is_left_out(self):
        ax = Figure(figsize=(2, 1.4)).subplots()
        draw_on(ax, gallery.figure("ale"))
        assert ax.get_legend() is None

    def test_texts_stay_beside_their_points_on_inverted_axes(self):
        figure = Figure()
        name = PanelText(2.0, 0.5, ("name",), across=1, up=0)
        for ax in figure.subplots(1, 2):
            if ax.get_subplotspec().is_first_col():
                ax.invert_xaxis()
                ax.invert_yaxis()
            draw_on(ax, one(MARKS["line"], texts=(name,)))
            figure.draw_without_rendering()
            (text,) = (t for t in ax.texts if t.get_text() == "name")
            box, (x, y) = text.get_window_extent(), ax.transData.transform((2.0, 0.5))
            assert 0 <= box.x0 - x < box.width
            assert box.y0 < y < box.y1


def test_colours_of_the_ground():
    assert Colors("black", {}).dark
    assert not Colors("#eeeeee", {}).dark
    assert Colors("white", {"average": "red"})("average", 0.5) == to_rgba("red", 0.5)
    assert Colors("white", {})("") == (0.0, 0.0, 0.0, 0.0)
    ax = Figure(facecolor="none").subplots()
    ax.set_facecolor("none")
    assert draw_matplotlib.ground_of(ax) == mpl.rcParams["figure.facecolor"] or same_color(
        draw_matplotlib.ground_of(ax), mpl.rcParams["figure.facecolor"]
    )


# --- any input -----------------------------------------------------------------------------------
