"""The style sheets: they apply to figures only, and all their references exist."""

from __future__ import annotations

import re

import pytest

from skedasis.plots.html import asset, style

OURS = re.compile(r"^(svg\.skd|\.skd-|:where\(svg\.skd|:root\S* ?:is\(\.skd-page, \.skd-figure\))")
SHEETS = ["figure.css", "more.css", "explore.css"]


def bare(css: str) -> str:
    """Return a sheet without its comments."""
    return re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)


def selectors(css: str) -> list[str]:
    """Return every selector of a sheet, also within media queries; lists of selectors are split at commas."""
    heads = re.findall(r"([^{}]+)\{", bare(css))
    parts = [h.strip() for h in heads if not h.strip().startswith("@")]
    return [s.strip() for h in parts for s in re.split(r",(?![^(]*\))", h)]


@pytest.mark.parametrize("sheet", SHEETS)
def test_no_rule_reaches_what_is_not_ours(sheet: str) -> None:
    found = selectors(asset(sheet))
    assert len(found) > 10
    odd = [s for s in found if not OURS.match(" ".join(s.split()))]
    assert odd == []


def test_all_variables_are_ours_and_known() -> None:
    css = bare(style() + asset("explore.css"))
    used = set(re.findall(r"var\((--[\w-]+)", css))
    set_ = set(re.findall(r"(?<![\w(-])(--[\w-]+)\s*:", css))
    assert used <= set_, used - set_
    assert {v for v in used | set_ if not v.startswith("--skd-")} == set()


def colours(css: str, place: int) -> dict[str, str]:
    """Return the variables that the n-th block of colors of a sheet sets."""
    blocks = re.findall(r"\{([^{}]*--skd-[^{}]*)\}", bare(css))
    return dict(re.findall(r"(--skd-[\w-]+):\s*([^;]+);", blocks[place]))


@pytest.mark.parametrize("sheet", ["figure.css", "more.css"])
def test_dark_by_the_reader_s_choice_and_by_the_page_s_are_the_same(sheet: str) -> None:
    light, system, chosen = (colours(asset(sheet), i) for i in range(3))
    assert system == chosen
    assert set(system) <= set(light)
    assert system != light


def test_dark_colours_are_for_screens_alone() -> None:
    css = bare(style())
    assert "(prefers-color-scheme: dark)" in css
    assert not re.search(r"@media \(prefers-color-scheme", css)
    # A page with the dark theme is also printed light: the rule is inside a media query for screens.
    for at in (m.start() for m in re.finditer(r":root\[data-theme=\"dark\"\] ", css)):
        assert css[:at].rstrip().endswith("@media screen {")
