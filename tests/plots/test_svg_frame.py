"""From axes to pixels: readable ticks at any scale, texts that fit, paths without loss."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skedasis.plots.scales import (
    Axis,
    fitting,
    join_notes_in_pixels,
    lines_of,
    select_points,
    width_of,
)
from skedasis.plots.svg.elements import FAR, Drawing, dashes, path, plain, px, tag, texts, way
from skedasis.plots.svg.frame import (
    WIDE,
    Frame,
    above,
    below,
    beside,
    legend,
    level_ticks,
    line_key,
    overhang,
    round_ticks,
    upright_ticks,
)
from skedasis.plots.svg.marks import PATTERNS, Defs, shape
from tests.plots.svg_parsing import parts

RANGES = [
    (0.0, 1.0),
    (19.0, 79.0),
    (-1e-12, 2e-12),
    (1.7e9, 1.7e9 + 86_400),
    (1.7e9, 1.7e9 + 1e-3),
    (-1e15, 1e15),
    (0.0, 0.0),
    (3.0, 3.0),
    (-5e-300, 5e-300),
    (99_999.0, 100_001.0),
]


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("width", [60.0, 190.0, 420.0])
@pytest.mark.parametrize("label", ["", "missing"])
def test_numbers_below_do_not_touch(low, high, width, label):
    axis = Axis("x", None, low, high, missing_label=label)
    ticks = level_ticks(axis, width)
    a, b = axis.limits
    assert len(ticks.at) == len(ticks.texts)
    slack = 1e-7 * (b - a)
    assert all(a - slack <= t <= b + slack for t in ticks.at)
    assert len(set(ticks.texts)) == len(ticks.texts)
    at = [(t - a) / (b - a) * width for t in ticks.at]
    reach = [
        (x - width_of(t) / 2, x + width_of(t) / 2) for x, t in zip(at, ticks.texts, strict=True)
    ]
    assert all(left[1] < right[0] for left, right in itertools.pairwise(reach))
    if width > 400:
        assert len(ticks.at) >= 2
    if label:
        assert ticks.texts[-1] == "missing"
        assert ticks.at[-1] == axis.beside


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("height", [44.0, 160.0, 240.0])
def test_numbers_beside_are_round_and_apart(low, high, height):
    axis = Axis("y", None, low, high, 0.06)
    ticks = upright_ticks(axis, height)
    assert 2 <= len(ticks.at) <= 12
    a, b = axis.limits
    y = [(t - a) / (b - a) * height for t in ticks.at]
    assert all(q - p >= 12 for p, q in itertools.pairwise(y))
    assert max(map(len, ticks.texts)) <= 8


@given(
    st.floats(-1e6, 1e6),
    st.floats(1e-3, 1e6),
    st.integers(2, 9),
)
def test_round_ticks_are_evenly_spaced_and_on_the_axis(low, span, most):
    axis = Axis("x", None, low, low + span)
    at = np.array(round_ticks(axis, most))
    a, b = axis.range
    slack = 1e-7 * (b - a)
    assert np.all((at >= a - slack) & (at <= b + slack))
    assert 2 <= len(at) <= 4 * most + 1
    steps = np.diff(at)
    np.testing.assert_allclose(steps, steps[0], rtol=1e-5)
    digits = steps[0] / 10.0 ** np.floor(np.log10(steps[0] * (1 + 1e-9)))
    assert min(abs(digits - d) for d in (1, 1.25, 2, 2.5, 5, 10)) < 1e-3


def test_given_ticks_stay_and_their_words_make_room():
    axis = Axis("x", None, 0.0, 10.0, ticks=(0.0, 0.1, 5.0, 10.0))
    ticks = level_ticks(axis, 100.0)
    assert ticks.at == axis.ticks
    assert ticks.texts == ("0.0", "", "5.0", "10.0")


def test_names_take_the_room_that_they_are_given():
    labels = ("a long name of a level", "b", "another name")
    for turn in (0, 40, 90):
        axis = Axis("x", None, -0.5, 2.5, 0.0, (0.0, 1.0, 2.0), labels, turn)
        deep = below(axis, 200.0)
        frame = Frame(axis, Axis("y", None, 0, 1), 50, 20, 200, 100)
        svg = str(frame.axes())
        assert all(label in svg for label in labels)
        assert svg.count(f"rotate(-{turn} ") == (3 if turn else 0)
        flat = below(Axis("x", None, 0, 1), 200.0)
        assert deep > flat + 40 if turn else deep == flat
        assert (overhang(axis, 200.0) > 0) == (turn == 40)


def test_values_and_pixels():
    frame = Frame(Axis("x", None, 0, 10, 0.0), Axis("y", None, -1, 1, 0.0), 40, 20, 200, 100)
    np.testing.assert_allclose(frame.x(np.array([0, 5, 10])), [40, 140, 240])
    np.testing.assert_allclose(frame.y(np.array([-1, 0, 1])), [120, 70, 20])
    panel = str(frame.panel())
    assert 'data-x="40 240 0.0 10.0"' in panel
    assert 'data-y="120 20 -1.0 1.0"' in panel
    assert "zero" in str(frame.ground(zero=True))
    far = Frame(Axis("x", None, 0, 10), Axis("y", None, 1, 2), 40, 20, 200, 100)
    assert "zero" not in str(far.ground(zero=True))
    assert beside(Axis("y", None, 0, 1), 100) < beside(Axis("y", None, 0, 1e4), 100)
    assert above(Axis("y" * 100, None, 0, 1), 200) > above(Axis("y", None, 0, 1), 200)


# ------------------------------------------------------------------------------------------- texts


@given(st.text(max_size=300), st.floats(20, 400))
def test_words_fit(text, room):
    for line in (*lines_of(text, room), fitting(text, room)):
        assert width_of(line) <= room or len(line) <= 2
    assert 1 <= len(lines_of(text, room)) <= 3
    assert lines_of(text, room)


@given(st.lists(st.text(min_size=1, max_size=80), max_size=6))
def test_remarks_fit(remarks):
    for line in join_notes_in_pixels(tuple(remarks), 300.0):
        assert width_of(line) <= 300.0


def test_wide_letters_are_wide():
    assert width_of("価格価格") > width_of("pric") * 1.5
    assert width_of("e\u0301") == width_of("e")  # a combining accent has no width
    assert width_of("WWWW") > width_of("llll") * 2


def test_a_legend_wraps():
    keys = {f"entry number {i}": line_key("step") for i in range(9)}
    svg, high = legend(keys, 0, 10, 300)
    assert high > 3 * 12
    at = [tuple(map(float, t.split(")")[0].split())) for t in str(svg).split("translate(")[1:]]
    for (x, _), text in zip(at, keys, strict=True):
        assert x + WIDE + 6 + width_of(text) <= 300
    assert len(set(at)) == 9
    assert legend({}, 0, 0, 300) == ("", 0.0)


# ------------------------------------------------------------------------------------------- paths

PIXELS = st.floats(-500, 1500, allow_nan=False)


def read(d):
    return parts(SimpleNamespace(get=lambda _: d))


@given(arrays(float, (2, 12), elements=PIXELS))
def test_steps_lead_where_points_are(at):
    (absolute,) = read(path(*at))
    (relative,) = read(way(*at))
    np.testing.assert_allclose(relative, absolute, atol=1e-6)
    np.testing.assert_allclose(relative, at.T, atol=0.0501)


@given(arrays(float, (2, 12), elements=PIXELS), st.sampled_from([0.6, 5.0]))
def test_dashes_begin_where_they_shall(at, wide):
    found = read(dashes(*at, wide))
    np.testing.assert_allclose([f[0] for f in found], at.T, atol=0.0501)
    np.testing.assert_allclose([f[1, 0] - f[0, 0] for f in found], wide, atol=1e-6)


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


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_any_length_is_a_number(value):
    (text,) = texts(np.array([value]))
    assert abs(float(text)) <= FAR
    if abs(value) < 1100:
        assert text == px(value)


def test_text_is_escaped_and_printable():
    svg = str(tag("text", "<b>\x00\ud800", data_tip='a"\nb'))
    assert svg == '<text data-tip="a&#34;&#10;b">&lt;b&gt;</text>'
    assert plain("\ud800") == ""


def test_marks_differ():
    assert len({shape(k, 3.0) for k in range(8)}) == 8
    for k in range(1, 8):
        corners = read(f"M100 100{shape(k, 3.0)}")[-1]
        assert np.abs(corners - 100).max() <= 4.01


def test_patterns_are_written_once_and_under_their_own_names():
    defs = Defs("a")
    assert defs.pattern("few") == defs.pattern("few") == "url(#a-few)"
    for name in PATTERNS:
        defs.pattern(name)
    text = str(defs.written())
    assert text.count("<pattern ") == len(PATTERNS)
    assert len({d for _, d in PATTERNS.values()}) == len(PATTERNS)
    assert Defs("b").written() == ""


def test_a_drawing_is_its_own_markup():
    made = Drawing(tag("svg"), 1.0, 1.0, "t", "a")
    assert made.__html__() == "<svg></svg>"
