"""For whom an effect differs, in words: texts of effects and rankings, tables, checks and figures."""

import ast
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis.plots.draw_svg import draw
from skedasis.plots.figures.effect import effect_figure
from skedasis.results.effect_words import depends_on_cell, depends_on_text
from skedasis.stats.depends_on import DependsOn

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.uniform(-1, 1, size=(2000, 4)), columns=["x0", "x1", "x2", "x3"])


def product(X):
    """Of x0 and x1, beside an additive effect of x2: c of x0 is a product of differences of x0 and x1 alone."""
    return X["x0"] * X["x1"] + X["x2"]


def cell(e):
    """Return the share of what an effect depends on, in percent."""
    return f"{100 * e.depends_on.share:.0f}"


@pytest.fixture(scope="module")
def es():
    return sd.explain(product, X)


# --- words ----------------------------------------------------------------------------------------


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


def test_words_take_the_name_as_it_is_shown():
    found = DependsOn("a\n b", 0.7, 0.1)
    assert depends_on_text(found) == "mostly by a b (70 % ± 10 %)"
    assert depends_on_text(found, "label") == "mostly by label (70 % ± 10 %)"
    assert depends_on_cell(found, "label") == "label 70 %"


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


def test_an_interaction_of_three_features_depends_on_no_single_one():
    es = sd.explain(lambda X: X["x0"] * X["x1"] * X["x2"], X, method=sd.ALE())
    assert min(es[f"x{k}"].heterogeneity_score for k in range(3)) > 0.1
    assert not any(e.depends_on for e in es.values())
    assert "mostly by" not in str(es)
    assert not es.checks().of("depends_on")


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
        assert str(e).startswith(f"x0, {leaf.rule}: effect on prediction (RHALE, ")
        assert f"{leaf.count:,} rows" in str(e).splitlines()
        assert not e.checks().of("depends_on")


def test_rows_left_out_and_what_is_unknown_are_in_the_text():
    data = X[["x0", "x1"]].copy()
    data.loc[:9, "x0"] = np.nan
    inside = int(data["x0"].between(-0.5, 0.5).sum())
    e = sd.explain(
        lambda X: X["x0"].fillna(0) + X["x1"],
        data,
        "x0",
        method=sd.ALE(bins=sd.Edges([-0.5, 0, 0.5])),
        heterogeneity_rows=0,
    )
    lines = str(e).splitlines()
    assert lines[2] == "heterogeneity score  not computed"
    assert lines[3] == f"2,000 rows, {1990 - inside:,} rows outside, 10 with a missing value"
    unit = replace(e, about=replace(e.about, unit="US\n$"))
    assert str(unit).splitlines()[1].endswith(" US $")


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


def test_the_column_is_left_out_where_no_feature_has_one():
    additive = sd.explain(lambda X: X["x0"] + X["x1"], X, method=sd.ALE())
    assert "mostly by" not in str(additive)


def test_a_long_ranking_is_cut():
    wide = np.random.default_rng(1).normal(size=(60, 23))
    es = sd.explain(lambda X: X @ np.arange(23.0), wide, method=sd.ALE(), heterogeneity_rows=0)
    lines = str(es).splitlines()
    assert len(lines) == 2 + 20 + 1
    assert lines[-1] == "… 3 more"
    assert [line.split()[0] for line in lines[2:4]] == [r.feature for r in es.ranking()[:2]]


def test_several_outputs_and_models_print_their_rankings(es):
    both = sd.explain(
        sd.prediction(lambda X: np.column_stack([product(X), X["x2"]]), output="all"), X
    )
    text = str(both).splitlines()
    assert text[0] == repr(both)
    assert text[1].split() == [
        "output",
        "feature",
        "importance",
        "heterogeneity",
        "score",
        "mostly",
        "by",
    ]
    assert len(text) == 2 + 8
    cells = [line.split()[-3:-1] for line in text[2:] if line.endswith("%")]
    assert sorted(cells) == sorted([e.depends_on.name, cell(e)] for e in (es["x0"], es["x1"]))
    models = sd.explain([product, lambda X: 2 * product(X)], X, method=sd.ALE())
    head = "4 features: effect on prediction, means of 2 models (ALE)"
    assert str(models).splitlines()[0] == head
    assert [line.split()[0] for line in str(models).splitlines()[2:]] == [
        r.feature for r in models.ranking()
    ]


# --- checks ---------------------------------------------------------------------------------------


def test_a_note_names_the_feature_how_much_and_the_call(es):
    (found,) = es["x0"].checks().of("depends_on")
    assert (found.severity, found.feature) == ("note", "x0")
    assert "mostly by 'x1' (" in found.message
    assert "sd.regions(model, X, 'x0')" in found.message
    assert found.numbers == vars(es["x0"].depends_on)
    assert not es["x2"].checks().of("depends_on")
    assert not es["x0"].checks(ignore="depends_on").of("depends_on")


# --- figures and hostile names --------------------------------------------------------------------


@pytest.mark.parametrize("method", [sd.RHALE(), sd.PDP(ice=20, center="mean"), sd.ALE()])
def test_a_figure_has_a_note(method):
    spec = effect_figure(sd.explain(product, X, "x0", method=method))
    (note,) = [n for n in spec.main.notes if " by " in n]
    assert note.startswith("mostly by x1 (")
    assert note.endswith("): sd.regions(…)")
    assert note in spec.alt
    assert not [n for n in effect_figure(sd.explain(product, X, "x2")).main.notes if " by " in n]


def test_a_figure_of_levels_has_a_note():
    data = X.assign(town=np.resize(["a", "b", "c"], 2000))
    spec = effect_figure(sd.explain(lambda X: X["x0"] * (X["town"] == "a"), data, "town"))
    assert [n for n in spec.main.notes if n.startswith("mostly by x0 (")]


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "two\nlines", "y" * 500, "a\x1b[2J"])
def test_hostile_names_stay_text(name):
    data = X[["x0", "x1"]].rename(columns={"x1": name})
    es = sd.explain(lambda X: X.iloc[:, 0] * X.iloc[:, 1], data)
    assert es["x0"].depends_on.name == name
    for effect in es.values():
        assert len(str(effect).splitlines()) == 6
        assert "\x1b" not in str(effect)
    assert len(str(es).splitlines()) == 4
    assert "\x1b" not in str(es) + str(es.ranking()) + str(es.checks())
    svg = str(draw(effect_figure(es["x0"]), ident="a").svg)
    assert "<script>" not in svg
    (note,) = [n for n in effect_figure(es["x0"]).main.notes if n.startswith("mostly by")]
    assert len(note) < 120
    assert "\n" not in note
    call = ast.parse(
        str(es[name]).splitlines()[3].split("): ")[-1].replace("\\\\", "\\"), mode="eval"
    )
    assert isinstance(call.body, ast.Call)
