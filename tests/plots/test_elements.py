"""SVG elements as text, paths without loss, and simplified curves."""

from __future__ import annotations

import re
import unicodedata
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skedasis._escaping import in_order, visible
from skedasis.plots.draw_svg import merge_columns, shape_path, simplify_line
from skedasis.plots.elements import FAR, Drawing, dashes, path, plain, px, tag, texts, way
from skedasis.plots.scales import clean, select_points, width_of
from skedasis.plots.theme import SHAPES
from tests.plots.svg_figures import parts

TURNING = {"R", "AL", "RLE", "RLO", "RLI", "LRE", "LRO", "LRI", "FSI", "PDF", "PDI"}

PIXELS = st.floats(-500, 1500, allow_nan=False)


def read(d: str) -> list[np.ndarray]:
    """Return the points of each part of a path."""
    return parts(SimpleNamespace(get=lambda *_: d))  # pyright: ignore[reportArgumentType]


# --- paths ---------------------------------------------------------------------------------------


@pytest.mark.slow
@given(arrays(float, (2, 12), elements=PIXELS))
def test_steps_lead_where_points_are(at):
    (absolute,) = read(path(*at))
    (relative,) = read(way(*at))
    np.testing.assert_allclose(relative, absolute, atol=1e-6)
    np.testing.assert_allclose(relative, at.T, atol=0.0501)


@pytest.mark.slow
@given(arrays(float, (2, 12), elements=PIXELS), st.sampled_from([0.6, 5.0]))
def test_dashes_begin_where_they_shall(at, wide):
    found = read(dashes(*at, wide))
    np.testing.assert_allclose([f[0] for f in found], at.T, atol=0.0501)
    np.testing.assert_allclose([f[1, 0] - f[0, 0] for f in found], wide, atol=1e-6)


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_any_length_is_a_number(value):
    (text,) = texts(np.array([value]))
    assert abs(float(text)) <= FAR
    if abs(value) < 1100:
        assert text == px(value)


def test_shapes_of_points_differ_and_have_about_the_same_size():
    made = {name: shape_path(name, 3.0) for name in SHAPES}
    assert len(set(made.values())) == len(SHAPES)
    assert len({marker for _, marker in SHAPES.values()}) == len(SHAPES)
    for name in made:
        if name != "circle":
            corners = read(f"M100 100{made[name]}")[-1]
            assert 2.0 <= np.abs(corners - 100).max() <= 4.01


# --- simplification ------------------------------------------------------------------------------


@given(arrays(float, (4, 33), elements=st.floats(-200, 200)), st.sampled_from([0.1, 3.0, 50.0]))
def test_points_that_are_left_out_lie_on_the_lines(y, tolerance):
    x = np.cumsum(np.linspace(1, 5, 33))
    kept = select_points(x, y, tolerance)
    assert kept[:, [0, -1]].all()
    for row, some in zip(y, kept, strict=True):
        assert np.abs(np.interp(x, x[some], row[some]) - row).max() <= tolerance + 1e-9


def test_straight_curves_are_two_points():
    x = np.linspace(0, 400, 65)
    assert select_points(x, np.stack([2 * x + 1, 0 * x]), 0.1).sum() == 4


def test_gaps_and_infinities_are_never_joined():
    y = np.array([[0.0, 1.0, np.nan, 3.0, np.inf, 5.0, 6.0, 7.0, 8.0]])
    kept = select_points(np.arange(9.0), y, 0.1)
    assert kept[0, [1, 2, 3, 4, 5]].all()


@pytest.mark.slow
@given(arrays(float, (30, 2), elements=st.floats(-300, 300)), st.sampled_from([0.15, 5.0, 60.0]))
def test_simplified_lines_pass_all_points(points, tolerance):
    found = simplify_line(points, tolerance)
    np.testing.assert_array_equal(found[[0, -1]], points[[0, -1]])
    start, step = found[:-1, None], np.diff(found, axis=0)[:, None]
    along = ((points - start) * step).sum(-1) / np.maximum((step**2).sum(-1), 1e-300)
    away = np.hypot(*np.moveaxis(points - start - np.clip(along, 0, 1)[..., None] * step, -1, 0))
    assert away.min(axis=0).max() <= tolerance + 1e-6


@pytest.mark.slow
@given(
    arrays(float, 60, elements=st.floats(0, 30)), arrays(float, (2, 60), elements=st.floats(0, 200))
)
def test_merged_columns_cover_the_same_pixels(x, ends):
    x, high, low = np.sort(x), ends.min(axis=0), ends.max(axis=0)
    at, bottom, top = merge_columns(x, low, high, 0.2)
    assert len(at) <= 31
    for column in np.unique(np.floor(x)):
        mine = np.floor(x) == column
        (k,) = np.flatnonzero(np.floor(at) == column) if len(at) < len(x) else (None,)
        if k is not None:
            assert (bottom[k], top[k]) == (low[mine].max(), high[mine].min())


def test_wide_marks_are_not_merged():
    x = np.linspace(0, 10, 40)
    at, _, _ = merge_columns(x, x, x, 5.0)
    np.testing.assert_array_equal(at, x)


# --- texts and elements --------------------------------------------------------------------------


def test_wide_letters_are_wide():
    assert width_of("価格価格") > width_of("pric") * 1.5
    assert width_of("e\u0301") == width_of("e")  # a combining accent has no width
    assert width_of("WWWW") > width_of("llll") * 2


def test_text_is_escaped_and_printable():
    svg = str(tag("text", "<b>\x00\ud800", data_tip='a"\nb'))
    assert svg == '<text data-tip="a&#34;&#10;b">&lt;b&gt;\\x00\\ud800</text>'
    assert plain("\ufffe\u202e\u2066\x1b[31m\r") == r"\ufffe\u202e\u2066\x1b[31m\x0d"


@pytest.mark.parametrize(
    "text",
    [
        '⟦גיל⟧: effect on ⟦מחיר (ש"ח)⟧, in ⟦שקל⟧.',
        "1 < ⟦גיל⟧ ≤ 3 and ⟦שם_2⟧ = '⟦א⟧' (16 %)",
        "⟦العمر⟧ × x_⟦גיל⟧ × b, ⟦عدد الأيام⟧",
        "(⟦גיל⟧ (years))",
        "ages 1–3: é ≤ 2 · 日本",
    ],
)
def test_right_to_left_words_are_isolated_without_what_stands_around_them(text):
    said = text.replace("⟦", "").replace("⟧", "")
    assert in_order(said) == text.replace("⟦", "\u2068").replace("⟧", "\u2069")


@given(st.text("aב1 (),_\"'.≤ع\u05b0\u202e\u2066\u2069\u200f\x00", max_size=40))
def test_isolates_are_balanced_and_hold_every_right_to_left_letter(text):
    """What is left outside of isolates cannot turn the sentence, and the text is otherwise as in a terminal."""
    shown = in_order(text)
    outside = re.sub("\u2068[^\u2068\u2069]*\u2069", "", shown)
    assert not {unicodedata.bidirectional(c) for c in outside} & TURNING
    assert shown.replace("\u2068", "").replace("\u2069", "") == visible(text)


def test_line_breaks_of_spreadsheets_are_spaces_or_breaks_and_isolates_are_set_once():
    assert clean("Total\r\nsales\x0b(EUR)") == "Total sales (EUR)"
    assert in_order("é\r\nב") == "é\n\u2068ב\u2069"
    once = in_order("גיל ≤ 3")
    assert in_order(once) == once


def test_a_drawing_is_its_own_markup():
    made = Drawing(tag("svg"), 1.0, 1.0, "t", "a")
    assert made.__html__() == "<svg></svg>"
