"""The theme: every style has its colours in light, dark, printed and forced form, and all are readable."""

from __future__ import annotations

import re

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from skedasis.plots import draw_matplotlib, theme
from skedasis.plots.html import asset, style
from skedasis.plots.marks import Area
from skedasis.plots.theme import (
    COLORS,
    DASHES,
    HEAT_SHADES,
    HUES,
    PATTERNS,
    SHADES,
    SHAPES,
    STYLES,
    TEXTS,
    heat_color,
    stylesheet,
)
from tests.plots.marks_of_every_kind import AT, UP, one

LIGHT, DARK = 0, 1
SCHEMES = pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
OURS = re.compile(r"^(svg\.skd|\.skd-|:where\(svg\.skd|:root\S* ?:is\(\.skd-page, ?\.skd-figure\))")


def bare(css: str) -> str:
    """Return a sheet without its comments."""
    return re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)


def rules(css: str) -> dict[str, str]:
    """Return the declarations for each selector, later ones last; lists of selectors are split."""
    found: dict[str, str] = {}
    for head, body in re.findall(r"([^{}]+)\{([^{}]*)\}", bare(css)):
        for selector in re.split(r",(?![^(]*\))", head):
            listed = re.fullmatch(r"(svg\.skd) :is\(([^()]*)\)", selector.strip())
            for one_ in listed[2].split(",") if listed else [""]:
                name = f"{listed[1]} {one_.strip()}" if listed else selector.strip()
                found[name] = f"{found.get(name, '')}{body};"
    return found


def selectors(css: str) -> list[str]:
    """Return every selector, also within media queries."""
    heads = [h.strip() for h in re.findall(r"([^{}]+)\{", bare(css))]
    parts = [h for h in heads if not h.startswith("@")]
    return [s.strip() for h in parts for s in re.split(r",(?![^(]*\))", h)]


# --- names ---------------------------------------------------------------------------------------


def test_every_style_names_colours_hatches_and_shapes_that_exist():
    for name, look in STYLES.items():
        assert {look.stroke, look.fill} - {""} <= set(COLORS), name
        assert look.hatch in ("", *PATTERNS), name
        assert look.shape in ("dot", *SHAPES), name
        assert look.stroke or look.fill or look.hatch, name
        assert 0 < look.opacity <= 1
        assert 0 < look.fill_opacity <= 1
    assert {look.color for look in TEXTS.values()} <= set(COLORS)
    assert {pattern.color for pattern in PATTERNS.values()} <= set(COLORS)
    assert {
        heat_color(i, diverging=d)[0] for i in range(HEAT_SHADES) for d in (True, False)
    } <= set(COLORS)


def test_names_of_styles_texts_and_structure_are_distinct_classes():
    """One style sheet holds all of them as classes."""
    heat = {f"{letter}{i}" for letter in "ts" for i in range(HEAT_SHADES)}
    structure = {
        "panel",
        "legend",
        "grid",
        "axis",
        "halo",
        "area",
        "edge",
        "heat",
        "hit",
        "place",
        "curves",
        "shade",
        "middle",
        "end",
        "narrow",
        "slim",
        "wide",
    }
    patterns = {f"pattern-{name}" for name in PATTERNS}
    groups = [set(STYLES), set(TEXTS), heat, structure, patterns]
    assert sum(map(len, groups)) == len(set().union(*groups))
    assert all(re.fullmatch(r"[a-z][a-z0-9-]*", name) for group in groups for name in group)


def test_groups_differ_by_more_than_their_colour():
    assert len(DASHES) == len(set(DASHES)) == HUES
    for suffix, what in (("-vertex", "shape"), ("", "dash")):
        looks = [getattr(STYLES[f"hue{i}{suffix}"], what) for i in range(HUES)]
        assert len(set(looks)) == HUES
    assert len({STYLES[f"group{i}-area"].hatch for i in range(HUES)}) == HUES
    assert len({STYLES[f"group{i}-point"].shape for i in range(HUES)}) == HUES
    assert all(f"shade{i}" in STYLES for i in range(SHADES))


# --- the style sheet -----------------------------------------------------------------------------


def test_every_style_and_text_has_a_rule():
    found = rules(stylesheet())
    for name, look in STYLES.items():
        body = found.get(f"svg.skd .{name}", "")
        for color in {look.stroke, look.fill} - {""}:
            assert f"var(--skd-{color})" in body, name
        assert body or look.hatch
    for name, look in TEXTS.items():
        assert f"fill:var(--skd-{look.color})" in found[f"svg.skd .{name} text"]
    for name in PATTERNS:
        assert f"svg.skd .pattern-{name}" in found
    for letter in "ts":
        assert all(f"svg.skd .{letter}{i}" in found for i in range(HEAT_SHADES))


def test_letters_keep_their_size_among_styles():
    """Points are 1.5 pixels."""
    found = rules(stylesheet())
    for name, look in TEXTS.items():
        (size,) = re.findall(r"font-size:([\d.]+)px", found[f"svg.skd .{name} text"])
        assert float(size) == pytest.approx(1.5 * look.size, abs=0.01)


@pytest.mark.parametrize("sheet", ["theme", "figure.css", "explore.css"])
def test_no_rule_reaches_what_is_not_ours(sheet):
    found = selectors(stylesheet() if sheet == "theme" else asset(sheet))
    assert len(found) > 10
    assert [s for s in found if not OURS.match(" ".join(s.split()))] == []


def test_all_variables_are_ours_and_known():
    css = bare(style() + asset("explore.css"))
    used = set(re.findall(r"var\((--[\w-]+)", css))
    given = set(re.findall(r"(?<![\w(-])(--[\w-]+)\s*:", css))
    assert used <= given, used - given
    assert {v for v in used | given if not v.startswith("--skd-")} == set()


def variables(css: str, marker: str) -> dict[str, str]:
    """Return the colours in the block that follows a marker."""
    block = css[css.index(marker) :]
    (body,) = re.findall(r"\{([^{}]*--skd-[^{}]*)\}", block)[:1]
    return dict(re.findall(r"--skd-([\w-]+):([^;]+);", body))


class TestSchemes:
    css = bare(stylesheet())

    def test_all_have_all_colours(self):
        light = variables(self.css, ".skd-page,.skd-figure{")
        dark = variables(self.css, "(prefers-color-scheme:dark)")
        forced = variables(self.css, "(forced-colors:active)")
        assert light == {name: color.light for name, color in COLORS.items()}
        assert dark == {name: color.dark for name, color in COLORS.items()}
        assert forced == {name: color.forced for name, color in COLORS.items()}

    def test_dark_by_the_readers_choice_and_by_that_of_the_page_are_the_same(self):
        system = variables(self.css, "(prefers-color-scheme:dark)")
        assert variables(self.css, ":root[data-theme=dark]") == system
        # A page that asks for light is light on systems that ask for dark.
        assert ":root:not([data-theme=light])" in self.css

    def test_paper_is_light(self):
        """Dark colours are inside media queries for screens."""
        for place in (m.start() for m in re.finditer(r"color-scheme:dark\}", self.css)):
            head = self.css.rindex("@media", 0, place)
            assert self.css[head:].startswith("@media screen")
        assert self.css.count("color-scheme:dark}") == 2

    def test_forced_colours_win(self):
        """The last block of equal or higher specificity decides."""
        assert self.css.rindex("forced-colors:active") > self.css.rindex("data-theme=dark")
        system = {"Canvas", "CanvasText", "GrayText", "Highlight", "LinkText", "ButtonText"}
        assert {c.forced for c in COLORS.values()} <= system


# --- contrast ------------------------------------------------------------------------------------


def luminance(color: str) -> float:
    """Return the relative luminance (WCAG 2.2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def contrast(a: str, b: str) -> float:
    """Return the contrast ratio of two colours, from 1 to 21."""
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_standard():
    assert contrast("black", "white") == pytest.approx(21)
    assert contrast("#767676", "white") == pytest.approx(4.54, abs=0.01)


@SCHEMES
@pytest.mark.parametrize("ground", ["ground", "aside"])
def test_texts_are_readable(scheme, ground):
    for name in {look.color for look in TEXTS.values()} | {"ink", "soft"}:
        assert contrast(COLORS[name][scheme], COLORS[ground][scheme]) >= 4.5, name
    assert contrast(COLORS["tip-ink"][scheme], COLORS["tip-ground"][scheme]) >= 4.5


@SCHEMES
@pytest.mark.parametrize("diverging", [True, False])
def test_numbers_on_heat_maps_are_readable(scheme, diverging):
    ground = np.array(to_rgb(COLORS["ground"][scheme]))
    for step in range(HEAT_SHADES):
        name, opacity = heat_color(step, diverging=diverging)
        mixed = opacity * np.array(to_rgb(COLORS[name][scheme])) + (1 - opacity) * ground
        assert contrast(COLORS["ink"][scheme], tuple(mixed)) >= 4.5, step


GRAPHICS = (
    "average",
    "interval-edge",
    "heterogeneity-edge",
    "violin-edge",
    "curve",
    "rim",
    "count",
    "focus",
    "soft",
    *(f"hue{i}" for i in range(HUES)),
)


@SCHEMES
@pytest.mark.parametrize("name", GRAPHICS)
def test_lines_are_visible(scheme, name):
    assert contrast(COLORS[name][scheme], COLORS["ground"][scheme]) >= 3


@SCHEMES
def test_heterogeneity_and_interval_differ_without_colours(scheme):
    band, interval = (COLORS[name][scheme] for name in ("heterogeneity", "interval"))
    assert contrast(band, interval) >= 1.5
    edges = {COLORS[name][scheme] for name in ("heterogeneity-edge", "interval-edge")}
    assert len(edges) == 2
    assert STYLES["heterogeneity"].dash != STYLES["interval"].dash


@SCHEMES
def test_scales_of_numbers_ascend_in_luminance(scheme):
    found = [luminance(COLORS[f"shade{i}"][scheme]) for i in range(SHADES)]
    assert found[-1] > found[0] + 0.2
    assert np.all(np.diff(found) > -0.03)
    sizes = [heat_color(i, diverging=False)[1] for i in range(HEAT_SHADES)]
    assert sizes == sorted(set(sizes))
    both = [heat_color(i, diverging=True) for i in range(HEAT_SHADES)]
    half = HEAT_SHADES // 2
    assert [o for _, o in both[: half + 1]] == sorted(
        (o for _, o in both[: half + 1]), reverse=True
    )
    assert [o for _, o in both] == [o for _, o in both][::-1]
    assert {n for n, _ in both[:half]} == {"under"}
    assert {n for n, _ in both[half + 1 :]} == {"over"}


# --- one theme -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_widths_and_dashes_of_both_renderers_are_those_of_the_style():
    found = rules(stylesheet())["svg.skd .heterogeneity"]
    look = STYLES["heterogeneity"]
    (width,) = re.findall(r"stroke-width:([\d.]+)", found)
    (dash,) = re.findall(r"stroke-dasharray:([\d. ]+)", found)
    assert float(width) == pytest.approx(1.5 * look.width, abs=0.01)
    np.testing.assert_allclose(
        [float(v) for v in dash.split()], 1.5 * np.array(look.dash), atol=0.01
    )
    edge = draw_matplotlib.draw(one(Area(AT, UP - 1, UP + 1, "heterogeneity"))).axes[0].lines[0]
    assert edge.get_linewidth() == look.width


def test_numbers_of_the_style_sheet():
    assert [theme.css_number(v) for v in (0.0, 0.5, 1.0, 2.25, 12.0)] == [
        "0",
        ".5",
        "1",
        "2.25",
        "12",
    ]
