"""Tests of numbers as text, and of the templates of sentences: choices, counts, lists, and parts that are left out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from string import Formatter

import pytest

from skedasis import _numbers
from skedasis.results import sentences
from skedasis.results.sentences import FORMS, tell


@pytest.mark.parametrize(
    ("value", "text", "short"),
    [
        (0.0, "0", "0"),
        (1.5, "1.50", "1.5"),
        (-0.25, "−0.250", "−0.25"),
        (1234.5, "1,234", "1,234"),
        (6.4e10, "6.40e10", "6.4e10"),
        (-2e-7, "−2.00e−7", "−2e−7"),
        (math.nan, "–", "–"),
        (math.inf, "–", "–"),
    ],
)
def test_numbers_have_three_digits_or_all_of_their_whole_part(
    value: float, text: str, short: str
) -> None:
    assert _numbers.number(value) == text
    assert _numbers.number(value, zeros=False) == short


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (0.0003, "<0.1 %"),
        (0.0051, "0.5 %"),
        (0.05, "5 %"),
        (0.0994, "9.9 %"),
        (0.0996, "10 %"),
        (0.333, "33 %"),
        (0.996, "99.6 %"),
        (0.9999, ">99.9 %"),
        (1.0, "100 %"),
        (-0.0001, "0 %"),
        (-0.32, "−32 %"),
        (math.nan, "–"),
    ],
)
def test_percentages_have_one_rule(share: float, text: str) -> None:
    assert _numbers.percent(share) == text


def test_the_error_of_a_percentage_is_left_out_if_it_rounds_to_zero() -> None:
    assert _numbers.percent(0.8, 0.02) == "80 % ± 2 %"
    assert _numbers.percent(0.97, 0.0021) == "97 % ± 0.2 %"
    assert _numbers.percent(0.003, 0.0002) == _numbers.percent(0.003, math.nan) == "0.3 %"
    assert _numbers.percent(0.003, math.inf) == "0.3 %"


def test_sizes_signs_p_values_and_enumerations() -> None:
    assert [_numbers.size(v) for v in (-434, 0.2249, 12345, 9.96)] == [
        "430",
        "0.22",
        "12,000",
        "10",
    ]
    assert [_numbers.signed(v, 1e6) for v in (2.0, -2.0, 1e-9)] == ["+2.00", "−2.00", "0"]
    assert [_numbers.p_value(p) for p in (0.2149, 1e-5, math.nan)] == ["p = 0.21", "p < 0.001", ""]
    assert _numbers.with_error(51.87, 0.971) == "51.9 ± 0.97"
    assert _numbers.listed([]) == ""
    assert _numbers.listed(["a"]) == "a"
    assert _numbers.listed(["a", "b", "c"]) == "a, b and c"
    assert _numbers.listed(list("abcde"), most=2) == "a, b and 3 more"
    assert _numbers.counted(1, "row") == "1 row"
    assert _numbers.counted(4_345, "row") == "4,345 rows"
    assert _numbers.unbroken("80 % ± 2 %") == "80\u202f% ±\u202f2\u202f%"


@pytest.mark.parametrize(("change", "said"), [(2.0, "rises by 2.0"), (-2.0, "falls by 2.0")])
def test_the_sign_of_a_number_chooses_the_verb(change: float, said: str) -> None:
    assert tell("{change:rises|falls} by {change:size}", change=change) == said


def test_counts_names_and_conditions_choose_the_number() -> None:
    lone, many = "{names:list} {names:has|have} {n:#row}", ["a", "b"]
    assert tell(lone, names=["a"], n=1) == "a has 1 row"
    assert tell(lone, names=many, n=2000) == "a and b have 2,000 rows"
    assert tell("{own:these|the} rows", own=True) == "these rows"
    assert tell("{own:these|the} rows", own=False) == "the rows"


@pytest.mark.parametrize("unknown", [None, "", math.nan, (), False])
def test_a_part_with_an_unknown_fact_is_left_out(unknown: object) -> None:
    assert tell("falls[, mostly at {at}].", at=unknown) == "falls."
    assert tell("falls[, mostly at {at}].") == "falls."
    assert tell("falls[, mostly at {at}].", at=0) == "falls, mostly at 0."


def test_texts_of_data_are_not_read_as_templates() -> None:
    assert tell("[{a}] and {b}", a="{b}[x]", b="{a:%}") == "{b}[x] and {a:%}"


def test_texts_of_data_stay_on_one_line() -> None:
    assert tell("{a}", a="two\nlines") == "two lines"


def test_an_unknown_form_is_refused() -> None:
    assert "unknown" not in FORMS
    with pytest.raises(KeyError):
        tell("{a:unknown}", a=1)


def templates() -> dict[str, str]:
    """Return all templates by their names, those of tables by "TABLE, case"."""
    found: dict[str, str] = {}
    for name, value in vars(sentences).items():
        if name.isupper() and not name.startswith("_") and name != "FORMS":
            table = value if isinstance(value, Mapping) else {"": value}
            found |= {
                f"{name}, {case}": text for case, text in table.items() if isinstance(text, str)
            }
    return found


SAMPLES = {"list": ["a", "b"], "p": 0.02, "": "a text", "number": 2.5}


@pytest.mark.parametrize("name", templates())
def test_every_template_is_filled_in_with_and_without_its_optional_facts(name: str) -> None:
    text = templates()[name]
    plain = text.replace("[", "").replace("]", "")
    fields = [
        (name, spec) for _, name, spec, _ in Formatter().parse(plain) if name and spec is not None
    ]
    facts = {name: 2 if spec.startswith("#") else 0.5 for name, spec in fields}
    facts |= {name: SAMPLES[spec] for name, spec in fields if spec in SAMPLES}
    said = tell(text, **facts)
    assert said
    assert not set("[]") & set(said)
    needed = {f for _, f, _, _ in Formatter().parse(sentences._PART.sub("", text)) if f}
    short = tell(text, **{field: facts[field] for field in needed})
    assert not set("[]") & set(short)
    assert "  " not in short
