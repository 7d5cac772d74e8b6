"""`Regions`: sequence, text, tables, assignment, saving, and the results of several features and models."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis._numbers import number, percent, with_minus
from skedasis.results.effect_words import share_text
from skedasis.results.regions import (
    MultiModelRegions,
    Regions,
    RegionsByFeature,
    RegionScores,
    alternatives,
    unstable_splits,
)
from tests.made_regions import (
    BY_DAY,
    TEMP,
    bikes,
    eight_regions,
    made_regions,
    rentals,
    sides,
    unstable,
)


@pytest.fixture(scope="module")
def X():
    return bikes(1500)


@pytest.fixture(scope="module")
def four(X):
    return made_regions(rentals, X, "hr", [BY_DAY, sides(TEMP, 0.5)])


@pytest.fixture(scope="module")
def eight(X):
    return eight_regions(X)


@pytest.fixture(scope="module")
def one(X):
    return made_regions(rentals, X, "season", [])


def test_regions_are_a_sequence_of_effects_with_rules(four):
    assert len(four) == 4
    assert [e.rule for e in four] == list(four.rules)
    assert four[0] is four.effects[0]
    assert four[-2:] == four.effects[2:]
    assert four.rules[0] == "workingday = 0 and temp ≤ 0.5"
    assert four.whole.rule == ""
    assert four.feature == "hr"
    assert four.quantity == "prediction"
    assert [s.feature for s in four.splits] == ["workingday", "temp", "temp"]
    assert four.shares.sum() == pytest.approx(1)
    assert four.heterogeneity_explained == four.scores.explained
    assert "where workingday = 0 and temp ≤ 0.5" in repr(four[0])
    assert "where" not in repr(four.whole)


def test_assign_gives_each_row_its_region(four, eight, one, X):
    expected = 2 * (X["workingday"] == 1) + (X["temp"] > 0.5)
    np.testing.assert_array_equal(four.assign(X), expected)
    np.testing.assert_array_equal(four.assign(X[["temp", "workingday"]]), expected)
    for r in (four, eight):
        found = np.bincount(r.assign(X), minlength=len(r))
        assert found.tolist() == [n.count for n in r.leaves]
    assert (one.assign(X) == 0).all()
    with pytest.raises(sd.DataError, match="a column 'workingday'"):
        four.assign(X[["temp"]])


def test_assign_gives_minus_one_where_no_rule_holds(X):
    r = made_regions(rentals, X, "hr", [BY_DAY])
    new = pd.DataFrame({"workingday": [0.0, 1.0, np.nan]})
    assert r.assign(new).tolist() == [0, 1, -1]


def test_print_begins_with_what_the_regions_explain(four):
    lines = str(four).splitlines()
    explained = percent(four.heterogeneity_explained, 0.02)
    before, after = number(four.scores.whole, zeros=False), number(four.scores.within, zeros=False)
    assert lines[0] == (
        f"hr on prediction (ALE): the rule (4 groups of rows) explains {explained} of the variance between rows "
        f"({before} → {after} as SD)"
    )
    assert lines[2].startswith("all rows: 1,500 rows, score ")
    assert lines[2].endswith("; by workingday: explains 60 % ± 2 %, p < 0.001")
    assert lines[3].startswith("  workingday = 0: ")
    assert lines[4].startswith("    [0] temp ≤ 0.5: ")
    sentence = next(line for line in lines if line.startswith("[3] workingday = 1 and temp > 0.5"))
    assert "two peaks, at" in sentence
    assert str(four.tree).splitlines()[1].startswith("  workingday = 0: ")
    assert "score" not in str(four.tree)


def test_print_of_one_region_gives_the_reason(one):
    assert str(one).startswith(
        "season on prediction (ALE): one group of rows: no heterogeneity (het"
    )
    assert repr(one) == "<Regions of 'season' on prediction: one group of rows: no heterogeneity>"
    none = replace(one, scores=RegionScores.unknown(1))
    head = str(none).splitlines()[0]
    assert head == "season on prediction (ALE): one group of rows: no heterogeneity"


@pytest.mark.parametrize(
    ("share", "error", "text"),
    [
        (0.4, 0.2, "40 % ± 20 %"),  # two errors from 0
        (0.39, 0.2, "no measurable part"),
        (1.5, 0.1, "150 % ± 10 %"),
        (1.0, 0.0, "100 %"),
        (0.0, 0.0, "no measurable part"),
        (2.419, math.nan, "100 %"),
        (-0.1, math.nan, "no measurable part"),
        (math.nan, math.nan, "unknown"),
    ],
)
def test_a_share_is_told_with_its_error_or_not_at_all(share, error, text):
    assert share_text(share, error) == text


def test_texts_name_the_split_that_does_as_well_as_an_unstable_one(four):
    other = "another split does about as well: season in {winter}"
    assert other not in str(four)
    assert alternatives(four) == []
    first = unstable(four, 0)
    assert repr(first).endswith(f"of the variance between rows; {other}>")
    assert str(first).splitlines()[0].endswith(f"; {other}")
    assert str(first).splitlines()[2].endswith(f", p < 0.001, {other}")
    assert [len(unstable_splits(first, i)) for i in range(4)] == [1, 1, 1, 1]
    second = unstable(four, 4)
    assert other not in repr(second)
    assert alternatives(second) == [f"where workingday = 1, {other}"]
    assert [len(unstable_splits(second, i)) for i in range(4)] == [0, 0, 1, 1]
    assert alternatives(unstable(four, 0, "")) == ["another split does about as well"]
    limit = replace(four.splits[0], stability=0.3)
    assert not limit.unstable
    assert not replace(limit, stability=math.nan).unstable  # two cuts at once


def test_tables(four, one):
    regions = four.to_frame()
    assert list(regions.columns) == [
        *("region", "rule", "rows", "weight", "share"),
        *("heterogeneity_score", "heterogeneity_score_error", "importance"),
    ]
    assert regions["rule"].tolist() == list(four.rules)
    assert regions["rows"].sum() == 1500
    splits = four.to_frame(of="splits")
    assert splits["rule"].tolist() == ["all rows", "workingday = 0", "workingday = 1"]
    assert splits["condition"].tolist() == ["workingday = 0", "temp ≤ 0.5", "temp ≤ 0.5"]
    assert splits["depth"].tolist() == [0, 1, 1]
    effect = four.to_frame(of="effect")
    assert list(effect.columns[:3]) == ["region", "rule", "feature"]
    mine = effect[effect["region"] == 2]
    np.testing.assert_array_equal(mine["value"], four[2].value)
    assert set(mine["rule"]) == {four.rules[2]}
    assert len(four.to_frame(of="bins")) == sum(len(e.bins) for e in four)
    assert len(one.to_frame(of="splits")) == 0
    assert one.to_frame("polars", of="splits").columns == list(splits.columns)
    with pytest.raises(sd.DataError, match="to_frame"):
        four.to_frame(of="curves")


def test_saved_regions_are_the_same(eight, tmp_path, X):
    r = eight
    r.save(tmp_path / "r.npz")
    back = sd.load(tmp_path / "r.npz")
    assert isinstance(back, Regions)
    assert str(back) == str(r)
    assert back.nodes == r.nodes
    for a, b in zip(back, r, strict=True):
        np.testing.assert_array_equal(a.value, b.value)
    np.testing.assert_array_equal(back.assign(X), r.assign(X))


def test_regions_of_several_features(four, one, X, tmp_path):
    many = RegionsByFeature({"season": one, "hr": four})
    assert list(many) == ["season", "hr"]
    assert many["hr"] is four
    assert many[0] is four
    ranks = many.ranking()
    assert [r.feature for r in ranks] == ["hr", "season"]
    assert (ranks[0].regions, ranks[0].first_split) == (4, "workingday")
    assert (ranks[1].regions, ranks[1].first_split) == (1, "")
    assert "workingday" in str(many)
    assert "hr on prediction" in str(many)
    assert many.to_frame()["feature"].tolist() == ["hr", "season"]
    regions = many.to_frame(of="regions")
    assert regions["of"].tolist() == ["season", *["hr"] * 4]
    assert set(many.to_frame(of="effect")["feature"]) == {"hr", "season"}
    assert list(many.effects) == ["season", "hr"]
    with pytest.raises(sd.UnsupportedError, match="joint=True"):
        many.assign(X)
    joint = RegionsByFeature({"hr": four}, joint=True)
    np.testing.assert_array_equal(joint.assign(X), four.assign(X))
    assert "one partition for all features" in str(joint)
    many.save(tmp_path / "m.npz")
    assert str(sd.load(tmp_path / "m.npz")) == str(many)
    with pytest.raises(sd.DataError, match="ranking"):
        many.ranking(by="name")


def test_regions_of_several_models_recur(X, four, one, tmp_path):
    cut = [
        made_regions(rentals, X, "hr", [sides(TEMP, at)], scores=False) for at in (0.45, 0.5, 0.55)
    ]
    mm = MultiModelRegions(dict(enumerate((*cut, four, one))))
    lines = [(r.feature, r.models, r.condition) for r in mm.recurrence]
    assert lines == [
        ("temp", 3, "temp at 0.45 to 0.55"),
        ("workingday", 1, "workingday = 0"),
        ("(no split)", 1, ""),
    ]
    assert len(mm) == 5
    assert mm[3] is four
    assert mm[-1] is one
    assert list(mm) == mm.names == [0, 1, 2, 3, 4]
    assert mm.models[:1] == (cut[0],)
    assert "model 3: the rule (4 groups of rows)" in str(mm)
    assert mm.to_frame()["models"].tolist() == [3, 1, 1]
    assert set(mm.to_frame(of="regions")["model"]) == set(range(5))
    named = MultiModelRegions({"a": cut[0], "b": four})
    assert named["b"] is named[1] is four
    with pytest.raises(sd.DataError, match="Did you mean 'a'"):
        named["A"]
    assert named.to_frame(of="regions")["model"].tolist() == ["a", "a", *["b"] * 4]
    mm.save(tmp_path / "mm.npz")
    assert str(sd.load(tmp_path / "mm.npz")) == str(mm)


def test_rules_shown_to_people_have_the_minus_of_all_other_numbers():
    """Rules that are stored, looked up or written to tables keep the hyphen, and so do names and dates."""
    x = np.random.default_rng(0).uniform(-1, 1, (600, 2))
    r = sd.regions(lambda X: X[:, 0] * (X[:, 1] > -0.5), x, 0, method=sd.ALE(bins=4))
    low, high = r.rules
    assert low.startswith("x1 ≤ -0.")
    assert high.startswith("x1 > -0.")
    assert r.to_frame("pandas")["rule"].tolist() == [low, high]
    shown = (low.replace("-", "−"), high.replace("-", "−"))
    e = r.effects[0]
    for text in (str(r), r.explore().html, str(e), e.plot().axes[0].get_title(loc="left")):
        assert shown[0] in text.replace("&lt;", "<").replace("&gt;", ">")
        assert low not in text
    assert shown[0] in repr(e)
    assert low not in repr(e)
    several = sd.regions([lambda X: X[:, 0] * (X[:, 1] > -0.5)] * 2, x, 0, refits=True)
    assert "\u2264 \u22120.5" in str(several.recurrence)
    assert with_minus("day in {-1, (-2, x-3)} and -1e-05 < a-b ≤ 2020-01-02") == (
        "day in {−1, (−2, x-3)} and −1e−05 < a-b ≤ 2020-01-02"
    )
