"""Texts of figures: no line is wider than its room, and no letter is lost unless a text is shortened."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skedasis.plots.marks import Title
from skedasis.plots.scales import clean, distinct_names, shorten
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
        # The feature and the quantity are shortened each for itself.
        assert lines[0][0] == whole[0]
        assert lines[0].endswith(":")
        assert lines[1][0] == "".join(title.quantity.split())[0] or lines[1][0] == "…"


RULE = "workday = True and 9 < hour ≤ 16 and season in {spring, summer}"
SENTENCES = [
    RULE,
    f"{RULE} (2,845)",
    "effect on P(y = 0), P(y = 1) and P(y = 2)",
    "importance for squared error, 5 models",
    "partly by hour (39 % ± 13 %)",
    "rentals [bikes per hour]",
]
INSEPARABLE = (
    "workday = True",
    "9 < hour ≤ 16",
    "in {spring, summer}",
    "(2,845)",
    "P(y = 0)",
    "P(y = 1)",
    "P(y = 2)",
    "5 models",
    "(39 % ± 13 %)",
    "[bikes per hour]",
)


@given(st.sampled_from(SENTENCES), st.floats(110, 400), st.integers(1, 3))
def test_no_line_ends_in_a_formula_a_comparison_or_a_number_with_its_unit(text, room, most):
    """Each of these is in one line, or it is left out; in a comparison its name may be shorter."""
    for lines in (LETTERS.wrap(text, room, "note", most), [LETTERS.fit(text, room, "note")]):
        shown = "\n".join(lines)
        for whole in INSEPARABLE:
            *_, end = whole.split()
            assert (
                end not in shown.replace("\n", " ").split()
                or whole in shown
                or "…" in shown.partition(end)[0]
            )
        assert not any(line.split()[-1] in ("=", "<", "≤", "±") for line in lines)


@pytest.mark.parametrize(
    ("text", "room", "short"),
    [
        ("workday = True and temp ≤ 17.9 °C (2,845)", 26, "workday = True and… (2,845)"),
        ("workday = True and temp ≤ 17.9 °C", 26, "workday = True and…"),
        ("number_of_visits_in_2019 ≤ 3", 16, "numbe…2019 ≤ 3"),
        ("partly by hour (39 % ± 13 %)", 24, "partly by… (39 % ± 13 %)"),
        ("number_of_visits_in_2019", 16, "number_o…in_2019"),
    ],
)
def test_shortened_texts(text, room, short):
    assert shorten(text, len(short)) == short
    assert len(shorten(text, room)) <= room


def test_notes_that_do_not_fit_are_left_out_whole():
    notes = ("6,000 rows", "partly by hour (39 % ± 13 %)", "12 bins")
    room = 1.02 * LETTERS.width("6,000 rows · 12 bins", "note")
    assert LETTERS.flow(notes, room, most=1) == ["6,000 rows · 12 bins"]
    assert LETTERS.flow(notes, 1000.0, most=1) == [" · ".join(notes)]


def test_names_that_are_equal_when_shortened_keep_their_ends():
    names = ["number of visits in 2018", "number of visits in 2019"]
    assert distinct_names(names, 16) == ("number o…in 2018", "number o…in 2019")
    rules = [f"workday = {v} and temp {sign} 17.9 °C" for v in ("True", "False") for sign in "≤>"]
    shown = distinct_names(rules, 22)
    assert shown == tuple(
        f"workday = {v}… ({k})"
        for v, k in zip(("True", "True", "False", "False"), (1, 2, 1, 2), strict=True)
    )
