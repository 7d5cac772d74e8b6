"""The options of `explain`: one definition, from which keywords, signatures and documentation follow."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields

import pytest

import skedasis as sd
from skedasis.engine.options import ExplainOptions, MultiModelKeywords, help_of
from skedasis.report.report import report

NAMES = {f.name: f for f in fields(ExplainOptions)}


def test_keywords_and_options_have_the_same_names_and_types():
    keywords = {k: v.__forward_arg__ for k, v in MultiModelKeywords.__annotations__.items()}
    assert keywords == {name: f.type for name, f in NAMES.items()}


def test_the_signature_shows_all_options_with_their_defaults():
    parameters = inspect.signature(sd.explain).parameters
    assert list(parameters)[:5] == ["model", "X", "features", "method", "by"]
    assert {n: p.default for n, p in list(parameters.items())[5:]} == {
        name: f.default for name, f in NAMES.items()
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_jobs", 0),
        ("weight_kind", "none"),
        ("tree", "yes"),
        ("memory", "much"),
        ("keep_rows", -1),
        ("heterogeneity_rows", 1),
        ("correction", -0.5),
    ],
)
def test_an_invalid_option_is_a_data_error_that_names_it(name, value):
    with pytest.raises(sd.DataError, match=name):
        ExplainOptions.of("explain", **{name: value})


@pytest.mark.parametrize(
    "function", [sd.explain, sd.regions, report, sd.diagnose, sd.null_distribution]
)
def test_every_keyword_is_documented_where_it_is_taken(function):
    text = inspect.getdoc(function).partition("\nParameters\n")[2].partition("\nReturns\n")[0]
    heads = [line for line in text.splitlines() if line and not line[0].isspace()]
    documented = {name for line in heads for name in line.partition(" : ")[0].split(", ")}
    assert documented >= set(inspect.signature(function).parameters)


def test_the_report_that_is_a_package_shows_the_signature_of_the_function():
    assert inspect.signature(sd.report) == inspect.signature(report)


@pytest.mark.parametrize("name", NAMES)
def test_the_documentation_of_explain_begins_with_the_help_text(name):
    text = " ".join(inspect.getdoc(sd.explain).split())
    about = re.search(rf" {name} : (.*)", text)[1]
    assert f" {help_of(name).rstrip('.')}" in about[: len(help_of(name)) + 80]
