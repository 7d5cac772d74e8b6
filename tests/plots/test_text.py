"""Texts of figures: no line is wider than its room, and no letter is lost unless a text is shortened."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skedasis.plots.marks import Title
from skedasis.plots.scales import clean
from skedasis.plots.text import Lettering
from skedasis.plots.theme import TEXTS

LETTERS = Lettering()
names = st.text(max_size=120) | st.sampled_from(
    [
        "number_of_visits_to_the_department_in_2019",
        "العمر بالسنوات " * 4,
        "数量与质量" * 9,
        "W" * 80,
    ]
)
rooms = st.floats(30, 400)
styles = st.sampled_from(sorted(TEXTS))


@given(names, rooms, styles, st.integers(1, 4))
def test_lines_fit_their_room(text, room, style, most):
    for lines in (LETTERS.wrap(text, room, style, most), [LETTERS.fit(text, room, style)]):
        assert 1 <= len(lines) <= most
        for line in lines:
            assert LETTERS.width(line, style) <= room or len(line) <= 2


@given(names, rooms)
def test_broken_texts_keep_their_letters(text, room):
    lines = LETTERS.wrap(text, room, "label", 10_000)
    assert "".join("".join(lines).split()) == "".join(clean(text).split())


@given(names, rooms, st.integers(1, 3))
def test_shortened_texts_are_the_beginning_and_the_end(text, room, most):
    *whole, last = LETTERS.wrap(text, room, "label", most)
    if "…" in clean(text):
        return
    start, dots, end = last.partition("…")
    letters = "".join(clean(text).split())
    assert letters.startswith("".join("".join([*whole, start]).split()))
    assert not dots or letters.endswith("".join(end.split()))


def test_names_break_after_their_separators():
    name = "number_of_visits_to_the_outpatient_department_in_the_year_2019"
    lines = LETTERS.wrap(name, 170.0, "label")
    assert len(lines) == 2
    assert "".join(lines) == name
    assert lines[0].endswith("_")
    assert " " not in "".join(LETTERS.wrap(name, 60.0, "label", 2))


@given(st.lists(st.text(min_size=1, max_size=80), max_size=6), rooms, st.integers(0, 4))
def test_notes_fit(notes, room, most):
    lines = LETTERS.flow(notes, room, most=most)
    assert len(lines) <= most
    for line in lines:
        assert LETTERS.width(line, "note") <= room or len(line) <= 2


@pytest.mark.parametrize("style", TEXTS)
def test_larger_letters_are_wider(style):
    assert Lettering(scale=2.0).width("age", style) == pytest.approx(
        2 * LETTERS.width("age", style)
    )
    assert LETTERS.leading(style) > LETTERS.size(style)


@given(names, names, st.sampled_from(["", "RHALE", "PDP, ALE and M-plot"]), st.floats(60, 400))
def test_a_title_keeps_its_feature_and_its_method(feature, quantity, method, room):
    title = Title(clean(feature), clean(quantity), method)
    lines, after = LETTERS.head(title, room)
    assert 1 <= len(lines) <= 3
    for line in lines:
        assert LETTERS.width(line, "title") <= room or len(line) <= 2
    assert bool(after) == bool(method)
    if after:
        assert LETTERS.after_x(lines[-1]) + LETTERS.width(after, "method") <= room
    said = "".join("".join(lines).split())
    whole = "".join(title.text.split())
    if said != whole:
        # The feature and the quantity are shortened each for itself: the first line ends with the feature's end.
        assert lines[0][0] == whole[0]
        assert lines[0].endswith(":")
        assert lines[1][-1] == whole[-1]
