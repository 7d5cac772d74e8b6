"""The matplotlib renderer: artists hold the numbers of the marks, texts are literal, and nothing global changes."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
import zlib
from dataclasses import replace
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection, QuadMesh
from matplotlib.colors import same_color, to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.text import Text

import skedasis as sd
from skedasis.plots import draw_matplotlib
from skedasis.plots.draw_matplotlib import Colors, draw, draw_on
from skedasis.plots.marks import (
    Arrows,
    Line,
    Names,
    Panel,
    Points,
    Rectangles,
    Segments,
    Title,
    legend_of,
)
from skedasis.plots.marks import Text as PanelText
from skedasis.plots.scales import PlotAxis
from skedasis.plots.theme import COLORS, STYLES
from tests.long.figures import LONG
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

    def test_a_gap_in_a_line(self):
        (line,) = axes_of(Line(AT, np.where(AT == 4, np.nan, UP), "average")).lines
        assert np.isnan(line.get_ydata()).tolist() == [False, False, True, False, False]

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

    def test_infinite_ends_are_those_of_the_axes(self):
        hatched = only(axes_of(MARKS["hatched"]), PolyCollection)
        box = hatched.get_paths()[0].vertices
        assert (box[:, 1].min(), box[:, 1].max()) == (-2.0, 2.0)
        assert hatched.get_hatch()

    def test_rectangles_without_a_number_are_left_out(self):
        left = np.array([1.0, np.nan, 3.0])
        ax = axes_of(Rectangles(left, left + 1, np.zeros(3), np.array([1.0, 1.0, np.nan]), "count"))
        assert len(only(ax, PolyCollection).get_paths()) == 1

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

    def test_arrows_without_a_length_or_an_end_are_left_out(self):
        x, y = np.array([5.0, 5.0, np.nan, 5.0]), np.zeros(4)
        ends = np.array([5.0, 5.01, 1.0, 9.0]), np.array([0.0, 0.0, 0.0, np.inf])
        ax = axes_of(Arrows(x, y, *ends, "to-regions"))
        short, long = (a for a in ax.get_children() if isinstance(a, FancyArrowPatch))
        assert 0 < short.get_mutation_scale() < STYLES["to-regions"].size
        assert long._posA_posB[1] == (9.0, 2.0)

    def test_the_key_of_arrows_is_one(self):
        figure = draw(one(MARKS["arrows"]))
        figure.draw_without_rendering()
        (legend,) = figure.legends
        (key,) = legend.findobj(FancyArrowPatch)
        (x0, y0), (x1, y1) = key._posA_posB
        assert (y0, x1 - x0) == (y1, pytest.approx(17.0))
        assert [t.get_text() for t in legend.get_texts()] == ["arrows"]

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

    def test_a_single_point_of_a_curve_is_a_dash(self):
        from skedasis.plots.marks import CurveSet

        (dash,) = axes_of(CurveSet(np.array([3.0]), np.array([[1.0], [2.0]]), "curve")).lines
        assert dash.get_marker() == "_"
        np.testing.assert_array_equal(dash.get_xydata(), [(3, 1), (3, 2)])

    def test_polygons(self):
        (path,) = only(axes_of(MARKS["polygons"]), PolyCollection).get_paths()
        np.testing.assert_array_equal(path.vertices[:4], MARKS["polygons"].outlines[0])

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

    def test_rug(self):
        ax = axes_of(MARKS["rug"])
        ticks = np.array(only(ax, LineCollection).get_segments())
        np.testing.assert_array_equal(ticks[:, 0, 0], AT)
        assert (ticks[:, 0, 1] == 0).all()
        high = ticks[0, 1, 1] * ax.get_window_extent().height * 72 / draw_matplotlib.DPI
        assert high == pytest.approx(draw_matplotlib.RUG)

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

    def test_thinner_in_small_figures(self):

        small = draw(replace(one(MARKS["line"]), small=True)).axes[0].lines[0]
        assert small.get_linewidth() < STYLES["average"].width

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

    def test_names_of_levels_stay(self):
        names = ("red", "green", "blue")
        axis = PlotAxis("c", None, -0.5, 2.5, 0.0, (0.0, 1.0, 2.0), names)
        figure = draw(one(x=axis))
        (ax,) = figure.axes
        ax.set_xlim(-0.2, 1.2)
        figure.draw_without_rendering()
        assert [t.get_text() for t in ax.get_xticklabels()] == list(names)

    def test_a_common_offset_is_in_the_axis_label(self):
        axis = PlotAxis("time", None, 1_700_000_000.0, 1_700_000_005.0)
        ax = axes_of(x=axis)
        assert ax.get_xlabel().startswith("time − 1,700,000,000") or "1700000000" in ax.get_xlabel()
        assert all(len(t.get_text()) <= 3 for t in ax.get_xticklabels())

    def test_the_cursor_shows_numbers_without_the_offset(self):
        ax = axes_of(x=PlotAxis("time", None, 1_700_000_000.0, 1_700_000_005.0))
        assert ax.format_xdata(12.5) == "12.5"


HOSTILE = [r"$x^2_{\frac$ \alpha", "_a_b_", "<script>&amp;</script>", "100 % {x} \\n", "^_^ $$"]


@pytest.mark.many
@pytest.mark.parametrize("name", HOSTILE)
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

    def test_no_warning_if_all_characters_exist(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            draw(
                one(MARKS["line"], title=Title("naïve − Größe m² עברית العربية"))
            ).draw_without_rendering()

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
@pytest.mark.parametrize("kind", ["png", "svg", "pdf", pytest.param("eps", marks=pytest.mark.slow)])
def test_files(kind, tmp_path):
    draw(gallery.figure("ale")).savefig(tmp_path / f"a.{kind}")
    assert (tmp_path / f"a.{kind}").stat().st_size > 1000


def test_texts_in_svg_files_are_text(tmp_path):
    draw(one(MARKS["line"], title=Title("age", "price", "PDP"))).savefig(tmp_path / "a.svg")
    root = ET.parse(tmp_path / "a.svg").getroot()
    texts = ["".join(e.itertext()).strip() for e in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"age: price", "(PDP)", "x", "y", "a line"} <= set(texts)


@pytest.mark.slow
def test_texts_in_pdf_files_are_text(tmp_path):
    """Fonts are embedded as TrueType with a table of their characters, so that viewers find and edit words."""
    draw(one(MARKS["line"], title=Title("PDP"))).savefig(tmp_path / "a.pdf")
    raw = (tmp_path / "a.pdf").read_bytes()
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", raw, re.DOTALL)
    parts = [raw]
    for stream in streams:
        try:
            parts.append(zlib.decompress(stream))
        except zlib.error:
            continue
    whole = b"".join(parts)
    assert b"/FontFile2" in whole
    assert b"/ToUnicode" in whole
    assert b"/Type3" not in whole


def test_files_of_figures_keep_the_users_settings(tmp_path):
    before = dict(mpl.rcParams)
    draw(one(MARKS["line"])).savefig(tmp_path / "a.svg", dpi=50, facecolor="red")
    assert dict(mpl.rcParams) == before


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


def test_the_colour_of_the_heterogeneity_band_is_one_line(monkeypatch):
    from skedasis.plots.theme import Color

    monkeypatch.setitem(COLORS, "heterogeneity", Color("#ff0000", "#ff0000", "Canvas"))
    (area,) = axes_of(MARKS["area"]).collections
    assert same_color(area.get_facecolor()[0], "#ff0000")


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

    def test_hold_the_main_panel_alone(self):
        ax = Figure(figsize=(7, 5)).subplots()
        spec = gallery.figure("ale")
        draw_on(ax, spec, legend=False)
        assert len(ax.figure.axes) == 1
        assert ax.get_legend() is None
        assert ax.get_xlim() == spec.main.x.limits
        assert ax.get_ylabel() == spec.main.y.label_text

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

    def test_in_subfigures(self):
        figure = Figure(figsize=(8, 4))
        left, right = figure.subfigures(1, 2)
        assert draw_on(left.subplots(), one(MARKS["line"])) is figure
        assert draw_on(right.subplots(), one(MARKS["area"])) is figure
        FigureCanvasAgg(figure).draw()

    def test_after_zooming_or_with_a_colour_bar_of_the_user(self):
        figure = Figure()
        ax = figure.subplots()
        draw_on(ax, one(MARKS["heat"]))
        figure.colorbar(only(ax, QuadMesh), ax=ax)
        ax.set_xlim(2, 3)
        figure.draw_without_rendering()


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

FEATURES = {
    "constant": lambda X: np.full(len(X), 3.0),
    "constant at zero": lambda X: np.zeros(len(X)),
    "two values": lambda X: np.where(X[:, 0] > 0, 1.0, 0.0),
    "three values": lambda X: np.round(X[:, 0]),
    "1e-9": lambda X: 1e-9 * X[:, 0],
    "1e12": lambda X: 1e12 * X[:, 0],
    "Unix time": lambda X: 1.7e9 + 86_400 * X[:, 0],
    "missing": lambda X: np.where(X[:, 0] > 0.5, np.nan, X[:, 0]),
    "a gap": lambda X: X[:, 0] + 50 * (X[:, 0] > 0),
    "an outlier": lambda X: np.where(np.arange(len(X)) == 0, 1e4, X[:, 0]),
}


def model(X):
    return np.sin(3 * X[:, 0]) + X[:, 0] * X[:, 1]


def data(n=200):
    return np.random.default_rng(0).uniform(-1, 1, size=(n, 2))


def drawn(figure: Figure) -> list[str]:
    """Draw a figure, and return its texts; none is NaN."""
    figure.draw_without_rendering()
    found = words(figure)
    assert not any(re.search(r"\bnan\b", t) for t in found)
    return found


METHODS = [sd.RHALE(), sd.UALE(), sd.DALE(bins=7), sd.ALE(bins=50), sd.PDP(), sd.ICE(grid=5)]


@pytest.mark.many
@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_every_method(method):
    texts = drawn(sd.explain(model, data(), 0, method=method).plot())
    assert f"({'M-plot' if method.name == 'MPlot' else method.name})" in texts
    assert "x0" in texts


@pytest.mark.many
@pytest.mark.thinned
@pytest.mark.parametrize(
    "method",
    [pytest.param(m, id=str(m)) for m in (sd.RHALE(), sd.PDP(), sd.DALE(bins=50), sd.ALE(bins=3))],
)
@pytest.mark.parametrize("what", FEATURES)
def test_hostile_features(what, method):
    X = data(120)
    X[:, 0] = FEATURES[what](X)
    scale = np.nanmax(np.abs(X[:, 0])) or 1.0
    e = sd.explain(lambda X: np.tanh(np.nan_to_num(X[:, 0]) / scale) * X[:, 1], X, 0, method=method)
    texts = drawn(e.plot())
    if what == "missing":
        assert any("with a missing value" in t for t in texts)
    if what == "Unix time":
        assert "x0 \N{MINUS SIGN} 1699900000 [×10³]" in texts
        assert all(len(t) < 12 for t in texts if t.replace(".", "").isdigit())


@pytest.mark.thinned
@pytest.mark.parametrize(
    "method",
    [
        pytest.param(sd.DALE(bins=4), id="DALE"),
        pytest.param(sd.ALE(), id="ALE"),
        pytest.param(sd.PDP(), id="PDP"),
    ],
)
@pytest.mark.parametrize("rows", [1, 2, 3, 11])
def test_few_rows(rows, method):
    drawn(sd.explain(model, data(rows), 0, method=method).plot())


@pytest.mark.thinned
@pytest.mark.parametrize(
    "method", [pytest.param(sd.DALE(bins=4), id="DALE"), pytest.param(sd.PDP(), id="PDP")]
)
@pytest.mark.parametrize("factor", [0.0, 1e-12, 1e12])
def test_quantities_of_any_scale(factor, method):
    drawn(sd.explain(lambda X: factor * model(X), data(), 0, method=method).plot())


def test_values_outside_the_data_are_gaps():
    e = sd.explain(model, data(), 0, method=sd.DALE(bins=sd.Edges([-5, -3, -1, 0, 1, 4])))
    assert np.isnan(e.value).any()
    drawn(e.plot())


@pytest.mark.parametrize("n", [1, 2, 7, pytest.param(30, marks=LONG)])
def test_many_features_on_shared_scales(n):
    X = np.random.default_rng(0).uniform(size=(60, n))
    if n > 2:
        X[:, 1] = 2.0
        X[3:9, 2] = np.nan
    es = sd.explain(lambda X: np.nan_to_num(X) @ np.arange(n), X, method=sd.PDP(grid=5))
    figure = es.plot()
    texts = drawn(figure)
    # A single figure has the title of all.
    assert ("x0: effect on prediction" if n == 1 else f"1. x{n - 1}") in texts
    mains = [ax for ax in figure.axes if ax.get_title(loc="left")]
    assert len(mains) == n
    assert len({ax.get_ylim() for ax in mains}) == 1
    if n > 2:
        assert any("6 rows with a missing value" in t for t in texts)


@pytest.mark.many
@pytest.mark.thinned
@pytest.mark.parametrize("name", ["ale", "effects", "surface", "nominal", "importance"])
@pytest.mark.parametrize("size", [(1.0, 1.0), (1.0, 8.0), (30.0, 1.0), (40.0, 40.0)])
@QUIET
def test_sizes_that_nobody_should_want(name, size):
    figure = draw(gallery.figure(name), size)
    figure.draw_without_rendering()
    assert tuple(figure.get_size_inches()) == size
