"""For whom an effect differs, in words: texts of effects and rankings, tables, checks and figures."""

import ast
import json
import re

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis._numbers import percent, with_minus, within
from skedasis.results.effect_words import depends_on_cell, depends_on_text
from skedasis.stats.depends_on import DependsOn

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.uniform(-1, 1, size=(2000, 4)), columns=["x0", "x1", "x2", "x3"])


def product(X):
    """Of x0 and x1, beside an additive effect of x2: c of x0 is a product of differences of x0 and x1 alone."""
    return X["x0"] * X["x1"] + X["x2"]


def cell(e):
    """Return the share of what an effect depends on, in percent."""
    return percent(e.depends_on.share).removesuffix(" %")


@pytest.fixture(scope="module")
def es():
    return sd.explain(product, X)


# --- words ----------------------------------------------------------------------------------------


def test_a_fifth_of_the_span_of_related_numbers_shows():
    """A number is rounded by at most half such a step, however large all of them are, and has no digit more."""
    for value, span in 10.0 ** RNG.uniform(-3, 6, size=(200, 2)):
        shown = float(within(-value, span).replace("−", "-").replace(",", ""))
        assert abs(-value - shown) <= span / 10
    assert [within(1234.5678, span) for span in (1.0, 10.0, 0.01)] == [
        "1,234.6",
        "1,235",
        "1,234.568",
    ]


@pytest.mark.parametrize(
    ("share", "error", "text", "cell"),
    [
        (0.62, 0.03, "mostly by day (62 % ± 3 %)", "day 62 %"),
        (0.5, 0.04, "mostly by day (50 % ± 4 %)", "day 50 %"),
        (0.23, 0.04, "in part by day (23 % ± 4 %)", "in part day 23 %"),
        (1.0, 0.0, "mostly by day (100 %)", "day 100 %"),
        (1.02, 0.03, "mostly by day (102 % ± 3 %)", "day 100 %"),  # above 1 only with its error
    ],
)
def test_words_say_how_much(share, error, text, cell):
    assert depends_on_text(DependsOn("day", share, error)) == text
    assert depends_on_cell(DependsOn("day", share, error)) == cell


# --- effects --------------------------------------------------------------------------------------


def test_a_product_depends_on_its_factor_and_a_sum_on_nothing(es):
    assert [es[f"x{k}"].depends_on and es[f"x{k}"].depends_on.name for k in range(4)] == [
        "x1",
        "x0",
        None,
        None,
    ]
    lines = str(es["x0"]).splitlines()
    assert lines[0] == f"x0: effect on prediction (RHALE, {es['x0'].n_parts} bin)"
    assert lines[1].split()[0] == "importance"
    # sd(x0) sd(x1) = 1 / 3
    name, score, sign, error = lines[2].removeprefix("heterogeneity ").split()
    assert (name, sign) == ("score", "±")
    assert abs(float(score) - 1 / 3) < 4 * float(error)
    assert re.fullmatch(
        rf"mostly by x1 \({cell(es['x0'])} %( ± \S+ %)?\): sd\.regions\(model, X, 'x0'\)", lines[3]
    )
    assert lines[4] == "2,000 rows"
    assert len(lines) == 6
    assert not any(" by " in line for line in str(es["x2"]).splitlines())


def test_the_call_in_the_text_finds_the_regions(es):
    call = ast.parse(str(es["x0"]).splitlines()[3].split("): ")[1], mode="eval").body
    assert isinstance(call, ast.Call)
    assert ast.unparse(call.func) == "sd.regions"
    r = sd.regions(product, X, ast.literal_eval(call.args[2]), heterogeneity_rows=0)
    assert {c.feature.name for leaf in r.leaves for c in leaf.conditions} == {"x1"}


def test_regions_say_nothing_of_their_own_and_count_their_rows():
    r = sd.regions(product, X, "x0")
    assert str(r.whole).splitlines()[3].startswith("mostly by x1 (")
    assert len(r) > 1
    for e, leaf in zip(r, r.leaves, strict=True):
        assert " by " not in str(e)
        assert str(e).startswith(f"x0, {with_minus(leaf.rule)}: effect on prediction (RHALE, ")
        assert f"{leaf.count:,} rows" in str(e).splitlines()
        assert not e.checks().of("depends_on")


# --- rankings -------------------------------------------------------------------------------------


def test_effects_print_their_ranking(es):
    head, names, *lines = str(es).splitlines()
    assert head == "4 features: effect on prediction (RHALE), 2,000 rows"
    assert names.split("  ")[0] == "feature"
    assert names.endswith("mostly by")
    assert [line.split()[0] for line in lines] == [r.feature for r in es.ranking()]
    ends = {line.split()[0]: line.split()[-3:] for line in lines}
    assert ends["x0"] == ["x1", cell(es["x0"]), "%"]
    assert ends["x2"][-1] == "-"
    assert repr(es) == "<Effects of 4 features: x0, x1, x2, x3>"


def test_a_ranking_has_the_fields_of_what_it_depends_on(es):
    lines = {r.feature: r for r in es.ranking()}
    assert (lines["x0"].depends_on, lines["x2"].depends_on) == ("x1", None)
    assert lines["x0"].depends_on_share == es["x0"].depends_on.share
    frame = es.to_frame("pandas", of="ranking").set_index("feature")
    # pandas 3 has NaN for a missing text.
    named = frame["depends_on"].dropna()
    assert named.to_dict() == {"x0": "x1", "x1": "x0"}
    assert frame["depends_on_error"]["x0"] == es["x0"].depends_on.error
    assert frame["depends_on_share"].isna().to_dict() == {
        "x0": False,
        "x1": False,
        "x2": True,
        "x3": True,
    }
    document = {line["feature"]: line for line in json.loads(es.to_json())["ranking"]}
    assert document["x0"]["depends_on"] == "x1"
    assert document["x2"]["depends_on"] is document["x2"]["depends_on_share"] is None


# --- checks ---------------------------------------------------------------------------------------


def test_a_note_names_the_feature_how_much_and_the_call(es):
    (found,) = es["x0"].checks().of("depends_on")
    assert (found.severity, found.feature) == ("note", "x0")
    assert "mostly by 'x1' (" in found.message
    assert "sd.regions(model, X, 'x0')" in found.message
    assert found.numbers == vars(es["x0"].depends_on)
    assert not es["x2"].checks().of("depends_on")
    assert not es["x0"].checks(ignore="depends_on").of("depends_on")
