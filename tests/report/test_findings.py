"""Findings: what sentences state is true of functions with known answers, and of models that are called again."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import skedasis as sd
from skedasis.report.content import gather
from skedasis.report.findings import (
    SENTENCES,
    _compared,
    _feature_story,
    _Group,
    _leaves,
    _pair_finding,
    _points,
    _Words,
    findings,
    first_findings,
    headline,
    regions_that_matter,
)
from skedasis.report.format import named
from skedasis.report.interactions import PairStrength
from skedasis.results.checks.check import Check, Checks
from skedasis.results.curve_words import Curve
from tests.made_regions import unstable


def section_of(model, X, y=None, **options):
    return gather(model, X, y, progress=False, **options).sections[0]


def texts_of(model, X, y=None, **options):
    return [f.text for f in findings(section_of(model, X, y, **options))]


def number_of(text):
    return float(text.replace("−", "-"))


def numbers(text):
    """Return the numbers in parentheses that are values of curves, with their signs."""
    found = re.findall(r"\(([\d,.]+) (above|below) average\)", text)
    return [float(size.replace(",", "")) * (1 if way == "above" else -1) for size, way in found]


def bump(x, at, width=1.5):
    return np.exp(-((x - at) ** 2) / (2 * width**2))


def demand(X):
    """Return a demand with two peaks on working days and one on free days."""
    hour, working = X["hr"].to_numpy(float), X["working"].to_numpy()
    free = 200 * bump(hour, 13)
    return np.where(working == 1, 300 * bump(hour, 8) + 400 * bump(hour, 17), free)


@pytest.fixture(scope="module")
def hours():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {"hr": rng.integers(0, 24, 4000), "working": (rng.random(4000) < 0.7).astype(int)}
    )


@pytest.fixture(scope="module")
def of_demand(hours):
    return findings(section_of(demand, hours))


# ----------------------------------------------------------------------------- what, who, how much
def test_peaks_are_stated_for_each_group_with_the_values_of_the_function(hours, of_demand):
    first = of_demand[0]
    assert (first.kind, first.features) == ("feature", ("hr", "working"))
    pattern = (
        r"hr: the prediction is highest at 17 \(\d+ above average\) and 8 \(\d+ above average\) where working = 1 "
        r"\((\d+) % of rows\), at 13 \(\d+ above average\) where working = 0 \((\d+) %\)\."
    )
    found = re.fullmatch(pattern, first.text)
    assert found, first.text
    assert int(found[1]) == round(100 * hours["working"].mean())
    expected = []
    for working, hour in ((1, 17), (1, 8), (0, 13)):
        rows = hours[hours["working"] == working]
        expected.append(demand(rows.assign(hr=hour)).mean() - demand(rows).mean())
    assert numbers(first.text) == pytest.approx(expected, rel=0.05)


def test_an_interaction_is_stated_once(of_demand):
    working = next(f for f in of_demand[1:] if "working" in f.features)
    assert working.features == ("working",)
    assert re.fullmatch(
        r"working: 1 instead of 0 raises the prediction by \d+\.", working.text
    )  # its average effect, without hours


def uniform(columns, rows=2000, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (rows, columns))


def test_a_feature_with_two_values():
    X = uniform(3)
    X[:, 0] = X[:, 0] > 0
    said = texts_of(lambda X: X[:, 0] * np.where(X[:, 1] > 0.2, 100.0, 10.0), X)[0]
    assert re.fullmatch(
        r"x0: 1 instead of 0 raises the prediction by 100 where x1 > 0\.\d+ \(\d+ % of rows\), "
        r"by 1[012] for the other rows\.",
        said,
    ), said
    said = texts_of(lambda X: (X[:, 0] - 0.5) * np.where(X[:, 1] > 0.2, 400.0, -300.0), X)
    said = next(t for t in said if t.startswith("x0"))
    assert "raises the prediction by 400 where x1 > 0." in said
    assert re.search(r", and lowers it by (290|300) for the other rows\.$", said), said
    assert texts_of(lambda X: 7 * X[:, 0] + X[:, 2], X)[0] == (
        "x0: 1 instead of 0 raises the prediction by 7.0."
    )


def test_opposite_directions_are_a_finding_although_the_average_is_flat():
    said = findings(
        section_of(lambda X: 10 * np.sign(X[:, 0]) * np.sign(X[:, 1]) + X[:, 2], uniform(3))
    )
    assert said[0].kind == "feature"
    assert set(said[0].features) == {"x0", "x1"}
    assert re.search(
        r"(rises|falls) by (20|1\d) from −1 to 1.* and (rises|falls) by (20|1\d) for the other rows\.$",
        said[0].text,
    )
    assert "rises" in said[0].text
    assert "falls" in said[0].text
    # x1 has no average effect, and x2 is a hundredth of the whole.
    assert [f.features[0] for f in said if f.kind == "feature"] == [said[0].features[0]]


def test_changes_between_two_values_are_told_of_each_of_three_groups():
    rng = np.random.default_rng(1)
    X = np.c_[rng.integers(0, 2, 4000), rng.uniform(-1, 1, (4000, 2))].astype(float)

    def three(X):
        return (X[:, 0] - 0.5) * np.where(X[:, 1] > 0, 100 + 50 * np.sign(X[:, 2]), -10.0)

    said = texts_of(three, X)[0]
    assert re.fullmatch(
        r"x0: 1 instead of 0 raises the prediction by 150 where x1 > 0 and x2 > [−0.\d]+ \(\d+ % of rows\), "
        r"by 50 where x1 > 0 and x2 ≤ [−0.\d]+ \(\d+ %\), and lowers it by 10 where x1 ≤ 0 \(\d+ %\)\.",
        said,
    ), said


def test_a_split_that_is_not_stable_is_no_finding():
    rng = np.random.default_rng(1)
    X = np.c_[rng.integers(0, 2, 4000), rng.uniform(-1, 1, (4000, 2))].astype(float)

    def three(X):
        return (X[:, 0] - 0.5) * np.where(X[:, 1] > 0, 100 + 50 * np.sign(X[:, 2]), -10.0)

    section = section_of(three, X)
    regions = section.regions["x0"]
    number = next(k for k, n in enumerate(regions.nodes) if n.split and n.split.feature == "x2")

    def said(regions):
        one = replace(section, regions={**section.regions, "x0": regions})
        return regions_that_matter(one, "x0"), findings(one)[0].text

    _, text = said(unstable(regions, number))
    assert re.fullmatch(
        r"x0: 1 instead of 0 raises the prediction by 50 or 150 where x1 > [−0.\d]+ "
        r"\(\d+ % of rows\), and lowers it by 10 for the other rows\.",
        text,
    ), text
    none, text = said(unstable(regions, 0))
    assert none is None
    assert "x1 >" not in text
    untold = replace(regions, scores=replace(regions.scores, explained=0.9, explained_error=0.5))
    assert said(untold)[0] is None


@pytest.mark.slow
def test_three_groups_are_merged_by_the_first_split_or_the_extreme_ones_are_named():
    rng = np.random.default_rng(1)
    X = np.c_[rng.integers(0, 2, 4000), rng.uniform(-1, 1, (4000, 2))].astype(float)

    def nearly_two(X):
        return (X[:, 0] - 0.5) * np.where(X[:, 1] > 0, 100 + 15 * np.sign(X[:, 2]), 10.0)

    # A feature of many values: between two, each of the three groups would be told.
    X = np.c_[rng.uniform(0, 1, 4000), X[:, 1:]]
    said = texts_of(nearly_two, X)[0]
    assert re.fullmatch(
        r"x0: the prediction rises by (99|100) from 0 to 1 where x1 > [−0.\d]+ \(\d+ % of rows\), "
        r"by 1\d for the other rows\.",
        said,
    ), said

    X = np.c_[rng.integers(0, 2, 4000), X[:, 1:], rng.integers(0, 3, 4000)]

    def three(X):
        return X[:, 0] * np.array([-40.0, 0.0, 40.0])[X[:, 3].astype(int)]

    said = texts_of(three, X)[0]
    if "for the other rows" in said:
        assert re.search(r"by 40 where x3 .* and (lowers|raises) it by (40|20) ", said), said
    assert "x3" in said


def test_heights_are_those_of_the_function_where_figures_draw_predictions(hours):
    section = replace(section_of(demand, hours), scale="prediction")
    said = findings(section)[0].text
    found = re.search(
        r"highest at 17 \((\d+)\) and 8 \((\d+)\) where .*, at 13 \((\d+)\) where", said
    )
    assert found, said
    of = [(17, 1), (8, 1), (13, 0)]
    heights = [float(demand(pd.DataFrame({"hr": [h], "working": [w]}))[0]) for h, w in of]
    # Numbers have two digits; the line between few values has its vertices there.
    assert [float(v) for v in found.groups()] == pytest.approx(heights, rel=0.06)


def test_heights_have_their_unit():
    X = np.random.default_rng(0).uniform(0, 10, (800, 1))
    quantity = sd.prediction(lambda X: 50 + np.abs(X[:, 0] - 4), name="cost", unit="€")
    section = replace(
        gather(quantity, X, progress=False, uncertainty=False).sections[0], scale="prediction"
    )
    assert "highest at 10 (56 €) and 0 (54 €), lowest at 4 (50 €)" in findings(section)[0].text


def test_heights_that_differ_little_are_told_apart():
    X = np.random.default_rng(0).uniform(0, 10, (800, 1))
    section = replace(section_of(lambda X: 50 + 0.01 * np.abs(X[:, 0] - 4), X), scale="prediction")
    assert "highest at 10 (50.06) and 0 (50.04), lowest at 4 (50)" in findings(section)[0].text


def test_one_height_a_curve_is_told_with_what_divides_them():
    X = np.random.default_rng(0).uniform(0, 10, (6000, 3))

    def three(X):
        top = np.where(X[:, 1] > 5, np.where(X[:, 2] > 5, 90.0, 30.0), 0.0)
        return 200 + top * (2.6 - np.abs(X[:, 0] - 4))  # 2.6: the mean distance

    section = replace(section_of(three, X), scale="prediction")
    said = next(f.text for f in findings(section) if f.features[0] == "x0")
    found = re.search(r"highest at [\d.]+ \((\d+) or (\d+), depending on x2\)", said)
    assert found, said
    assert [float(v) for v in found.groups()] == pytest.approx(
        [200 + 2.6 * 30, 200 + 2.6 * 90], rel=0.05
    )


def test_the_range_of_a_merged_group_is_told_with_the_rows_in_it():
    """Few distant rows are left out; a split that is not stable does not hide that they are."""
    rng = np.random.default_rng(0)
    x = np.r_[rng.uniform(0, 10, 5760), rng.uniform(10, 100, 240)]
    X = np.c_[x, rng.uniform(-1, 1, (6000, 2))]

    def f(X):
        top = np.where(X[:, 1] > 0, np.where(X[:, 2] > 0, 90.0, 60.0), 2.0)
        return -top * np.abs(X[:, 0] - 4)

    section = section_of(f, X)
    regions = section.regions["x0"]
    k = next(k for k, n in enumerate(regions.nodes) if n.split and n.split.feature == "x2")
    one = replace(section, regions={"x0": unstable(regions, k)}, scale="prediction")
    said = next(t.text for t in findings(one) if t.features[0] == "x0")
    found = re.search(r"between ([\d.]+) and ([\d.]+) \((\d+) % of the rows lie there\), the", said)
    assert found, said
    low, high, share = map(float, found.groups())
    assert 100 * np.mean((x >= low) & (x <= high)) == pytest.approx(share, abs=1)
    assert "depending on x2" in said


def test_one_feature_has_one_finding():
    X = np.random.default_rng(0).uniform(0, 10, (800, 1))
    said = texts_of(lambda X: np.abs(X[:, 0] - 4), X)
    assert said[1:] == ["The effect of every feature is the same for all rows."]
    assert said[0].startswith(
        "x0: the prediction is highest at 10 (3.4 above average) and 0 (1.4 above average), lowest at 4 ("
    )
    # The mean of |x - 4| over [0, 10] is 2.6.
    assert numbers(said[0]) == pytest.approx([3.4, 1.4, -2.6], abs=0.11)


def test_times_are_dates():
    rng = np.random.default_rng(0)
    start = pd.Timestamp("2012-01-01")
    X = pd.DataFrame(
        {"day": start + pd.to_timedelta(rng.integers(0, 366, 1500), "D"), "b": rng.random(1500)}
    )

    def f(X):
        return -np.abs((X["day"] - pd.Timestamp("2012-06-01")).dt.days.to_numpy() / 10.0)

    said = texts_of(f, X)[0]
    assert re.search(r"highest at 2012-0(5-31|6-01|6-02|6-03)", said), said
    assert "lowest at 2012-12-3" in said
    expected = -f(X).mean(), -21.3 - f(X).mean()
    assert numbers(said) == pytest.approx(expected, rel=0.06)


def test_missing_values_are_part_of_a_finding_if_they_matter():
    X = uniform(2, 3000)
    X[np.random.default_rng(1).random(3000) < 0.2, 0] = np.nan
    said = texts_of(lambda X: np.where(np.isnan(X[:, 0]), 5.0, X[:, 0]), X)[0]
    assert re.search(
        r"A missing value instead of a known one raises the prediction by (5\.\d|4\.9) on average\.$",
        said,
    )
    assert "missing" not in texts_of(lambda X: np.nan_to_num(X[:, 0]), X)[0]


# ------------------------------------------------------------------------------ which, how many, when
def test_nothing_changes_a_constant():
    X = uniform(3)
    for f in (lambda X: np.ones(len(X)), lambda X: 1e6 + 1e-9 * X[:, 0]):
        found = findings(section_of(f, X))
        assert [(x.kind, x.features) for x in found] == [("nothing", ())]
        assert found[0].text == "No feature changes the prediction: it is the same for all rows."


@pytest.mark.slow
def test_important_features_come_first_and_small_ones_are_left_out():
    found = findings(section_of(lambda X: X @ np.array([1.0, 5.0, 3.0, 0.1]), uniform(4)))
    assert [f.features[0] for f in found if f.kind == "feature"] == ["x1", "x2", "x0"]
    section = section_of(lambda X: X @ np.arange(1.0, 9.0), uniform(8))
    every = findings(section)
    assert len({f.text for f in every}) == len(every) > SENTENCES
    for first in (1, 2, 3, 5):
        found = findings(section, first=first)
        assert all(f.kind == "feature" for f in found[:first])
        assert set(found) == set(every)


def test_an_unknown_score_is_not_taken_for_none():
    section = section_of(lambda X: X[:, 0], uniform(2))
    unknown = replace(section.rhale["x1"], swap_score=None)
    effects = type(section.rhale)({**section.rhale, "x1": unknown})
    for one, known in ((section, True), (replace(section, rhale=effects), False)):
        said = {f.text for f in findings(one)}
        assert ("Features without any effect: x1." in said) == known
        assert ("The effect of every feature is the same for all rows." in said) == known


def test_others_follow_the_first_sentences():
    X = uniform(3, 400)
    section = section_of(lambda X: X[:, 0] + X[:, 1] * X[:, 0], X)
    said = {f.text for f in findings(section)}
    assert "Features without any effect: x2." in said
    assert not any(f.kind == "model" for f in first_findings(findings(section)))
    assert (
        "The average effect is most misleading for x1: differences between rows exceed it." in said
    )
    alike = {f.text for f in findings(section_of(lambda X: X @ np.array([1.0, 2.0, 3.0]), X))}
    assert "The effect of every feature is the same for all rows." in alike
    assert not any("without any effect" in text for text in alike)
    small = [f.text for f in findings(section_of(lambda X: X[:, 0] + 0.1 * X[:, 0] * X[:, 1], X))]
    assert not any("misleading" in text for text in small)
    few = Check("few_rows", "warning", "The bin has 3 rows.")
    checks = {"x2": Checks(), "x1": Checks([few]), "x0": Checks([few, few])}
    told = [f.text for f in findings(replace(section, checks=checks))]
    assert "Check the warnings on x0 and x1." in told


def test_a_difference_within_its_errors_is_not_stated(hours):
    section = section_of(demand, hours)
    wide = {
        name: replace(e, std_error=np.full(len(e.value), 1e4)) for name, e in section.rhale.items()
    }
    regions = section.regions["hr"]
    uncertain = replace(
        regions,
        effects=tuple(replace(e, std_error=np.full(len(e.value), 1e4)) for e in regions.effects),
    )
    effects = sd.Effects(wide) if hasattr(sd, "Effects") else type(section.rhale)(wide)
    section = replace(section, rhale=effects, regions={"hr": uncertain})
    assert not any("highest" in f.text or "rises" in f.text for f in findings(section))


def test_a_poor_model_is_the_first_finding():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), rng.normal(size=600)
    model = HistGradientBoostingRegressor(random_state=0).fit(X[:400], y[:400])
    section = section_of(model, X[400:], y[400:])
    found = findings(section)
    assert found[0].kind == "caution"
    assert found[0].text.startswith("The model predicts poorly (R² −")
    assert ", worse than always predicting the mean)" in headline(section, rows=200, features=3)
    good = findings(section_of(model, X[:400], y[:400]))
    assert not any("poorly" in f.text for f in good)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0])
def test_sentences_are_short_and_begin_with_a_feature(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a" * 500: rng.normal(size=700),
            "<script>alert(1)</script>": rng.integers(0, 3, 700),
            "line\nbreak": rng.choice(["u\nv", "w", "<b>"], 700),
            "d": rng.exponential(size=700),
        }
    )
    y = rng.normal(size=4) @ np.stack(
        [X.iloc[:, 0], X.iloc[:, 1] * X["d"], X.iloc[:, 2] == "w", np.sin(3 * X["d"])]
    ).astype(float)
    X["line\nbreak"] = X["line\nbreak"].astype("category")
    model = HistGradientBoostingRegressor(random_state=0, max_iter=30).fit(
        X.assign(**{"line\nbreak": X["line\nbreak"].cat.codes}), y
    )

    def f(X):
        return model.predict(X.assign(**{"line\nbreak": X["line\nbreak"].cat.codes}))

    section = section_of(f, X, y)
    found = findings(section)
    assert found
    for one in found:
        assert "\n" not in one.text
        assert one.text.endswith(".")
        assert "nan" not in one.text
        assert len(one.text) <= 330
        if one.kind == "feature":
            assert one.text.startswith(f"{named(one.features[0])}: ")
        assert set(one.features) <= set(X.columns)


# -------------------------------------------------------------------------------------- the headline
@pytest.mark.slow
def test_headline_states_the_quality():
    X = uniform(2)
    y = X[:, 0] + 0.1 * np.random.default_rng(1).normal(size=len(X))
    model = HistGradientBoostingRegressor(random_state=0).fit(X, y)
    section = section_of(sd.prediction(model, name="price", unit="EUR"), X, y)
    r2 = 1 - np.mean((y - model.predict(X)) ** 2) / np.var(y)
    error = np.mean(np.abs(y - model.predict(X)))
    assert headline(section, rows=2000, features=2) == (
        f"A HistGradientBoostingRegressor predicts price: off by {error:.2g} EUR on average (R² {r2:.2f}), "
        "on 2,000 rows with 2 features."
    )
    constant = DummyRegressor().fit(X, y)
    said = headline(section_of(constant, X, y), rows=2000, features=2)
    assert re.search(r": off by 0\.\d+ on average \(R² 0\.00\), on", said)
    nothing = headline(section_of(model, X), rows=1, features=1)
    assert nothing.endswith(
        "on 1 row with 1 feature. No labels: how well it predicts is not known."
    )


def test_each_output_has_its_own_findings():
    X = uniform(2)

    def f(X):
        return np.c_[X[:, 0], -3 * X[:, 1]]

    sections = gather(sd.prediction(f, output="all"), X, progress=False).sections
    said = [findings(s)[0].text for s in sections]
    assert said == [
        "x0: prediction 0 rises by 2.0 from −1 to 1.",
        "x1: prediction 1 falls by 6.0 from −1 to 1.",
    ]


# ------------------------------------------------------------------------- regions that matter, ranges


def test_the_threshold_is_a_quarter_of_importance_and_score_together():
    section = section_of(lambda X: X[:, 0] * (3 + 3 * np.sign(X[:, 1])), uniform(2, 3000))
    regions, effect = section.regions["x0"], section.rhale["x0"]
    score, importance = effect.heterogeneity_score, effect.importance
    limit = 0.0625 * (importance**2 + score**2) / score**2
    for share, told in ((1.01 * limit, True), (0.99 * limit, False)):
        one = replace(regions, scores=replace(regions.scores, explained=share))
        found = regions_that_matter(replace(section, regions={"x0": one}), "x0")
        assert (found is one) is told
    for loss, told in ((0.11, True), (0.09, False)):
        scores = replace(regions.scores, explained=float("nan"))
        one = replace(regions, scores=scores, loss_explained=loss)
        found = regions_that_matter(replace(section, regions={"x0": one}), "x0")
        assert (found is one) is told


def test_few_distant_rows_do_not_stretch_a_change():
    rng = np.random.default_rng(0)
    X = np.r_[rng.uniform(0, 10, 960), rng.uniform(10, 100, 40)][:, None]
    said = texts_of(lambda X: 2 * X[:, 0], X)[0]
    pattern = r"x0: the prediction rises by ([\d.]+) from (−?[\d.]+) to (−?[\d.]+) \((\d+) % of the rows lie there\)\."
    found = re.fullmatch(pattern, said)
    assert found, said
    change, low, high, share = (float(v) for v in found.groups())
    assert change == pytest.approx(2 * (high - low), rel=0.05)
    inside = np.mean(np.clip(X, low, high) == X)
    assert inside == pytest.approx(share / 100, abs=0.012)
    assert 0.9 <= inside < 0.99
    # It is the shortest part with 95 % of the rows, at whichever end the others are.
    change, low, high, _ = map(
        number_of, re.fullmatch(pattern, texts_of(lambda X: 2 * X[:, 0], -X)[0]).groups()
    )
    assert change == pytest.approx(2 * (high - low), rel=0.05)
    assert 0.9 <= np.mean(np.clip(-X, low, high) == -X) < 0.99
    assert high == 0
    # Turns beyond are not told either; rows on most of the axis need no range.
    said = texts_of(lambda X: np.abs(X[:, 0] - 4), X)[0]
    assert re.match(
        r"x0: between 0(\.\d+)? and (9|10)(\.\d+)? \(9\d % of the rows lie there\), the", said
    )
    assert "% of" not in texts_of(lambda X: 2 * X[:, 0], X[:960])[0]


def test_leaves_are_averaged_by_the_weights_of_their_rows():
    """Where x1 > 0, the change is 100 for 80 % of the rows' weight, and 140 for the rest: 108 on average."""
    rng = np.random.default_rng(1)
    X = np.c_[rng.integers(0, 2, 4000), rng.uniform(-1, 1, (4000, 2))].astype(float)
    weight = np.where(X[:, 2] > 0, 1.0, 4.0)

    def three(X):
        up = np.where(X[:, 2] > 0, 140.0, 100.0)
        noise = 40 * np.sin(1e4 * X[:, 1])
        return (X[:, 0] - 0.5) * (np.where(X[:, 1] > 0, up, -10.0) + noise) + 200 * (X[:, 2] > 0)

    section = section_of(three, X, sample_weight=weight)
    regions = section.regions["x0"]
    k = next(k for k, n in enumerate(regions.nodes) if n.split and n.split.feature == "x2")
    one = replace(section, regions={"x0": unstable(regions, k)})
    assert any("raises the prediction by 110 where x1 > " in f.text for f in findings(one))
    # The curve of the node, and its error, as that of a mean of independent ones.
    group = next(g for g in _leaves(one.regions["x0"])[1] if len(g.parts) == 2)
    leaves = [(e, n) for e, n in zip(regions.effects, regions.leaves, strict=True) if n.parent == k]
    share = np.array([weight[regions.assign(X) == n.region].sum() for _, n in leaves])
    share /= share.sum()
    assert group.share == pytest.approx(weight[X[:, 1] > 0].sum() / weight.sum(), abs=0.01)
    means = sum(s * e.value for s, (e, _) in zip(share, leaves, strict=True))
    np.testing.assert_allclose(group.curve.value, means, rtol=1e-9)
    variances = sum((s * e.std_error) ** 2 for s, (e, _) in zip(share, leaves, strict=True))
    np.testing.assert_allclose(group.curve.error, np.sqrt(variances), rtol=1e-2)
    # As figures draw them, each curve is at the height of its own rows.
    inside = [regions.assign(X) == n.region for _, n in leaves]
    means = [np.average(three(X)[i], weights=weight[i]) for i in inside]
    low, high = sorted(e.value[1] + mean for (e, _), mean in zip(leaves, means, strict=True))
    said = _Words("q", "", True).places(group, [1])
    found = re.search(r"\((\d+) or (\d+),? ?", said)
    assert found, said
    # Rounded to at most a twentieth of what the curves span.
    span = max(float(np.ptp(e.value)) for e, _ in leaves)
    assert [float(v) for v in found.groups()] == pytest.approx([low, high], abs=span / 40)
    assert high - low > 150


def test_differences_between_groups_are_weighed_by_the_rows_at_each_point():
    """Each row counts half for the point before it and half for the one after it."""
    rng = np.random.default_rng(0)
    X = np.c_[rng.gamma(2.0, 1.0, 3000), rng.uniform(-1, 1, 3000)]
    r = sd.regions(lambda X: X[:, 0] ** 2 * np.sign(X[:, 1]), X, 0)
    x, weight = _points(r.whole, _leaves(r)[1])
    rows = np.histogram(X[:, 0], x)[0] / 2
    expected = np.append(rows, 0) + np.append(0, rows)
    assert np.abs(weight - expected / expected.sum()).sum() < 0.02


def test_regions_without_a_range_in_common_have_no_average():
    X = np.random.default_rng(0).normal(size=(200, 2))
    said = texts_of(lambda X: X[:, 0] * X[:, 1], X)
    assert any("x0" in text and "x1" in text for text in said)


def test_headline_names_the_labels():
    X = uniform(2, 300)
    section = section_of(lambda X: X[:, 0], X)
    for name in ("cnt", "a" * 500, "<b>\n", "גיל"):
        line = headline(section, rows=300, features=2, target=name)
        assert line.startswith(f"A function predicts {named(name, 30)}, on 300 rows")
        assert "\n" not in line
        assert len(line) < 200
    assert headline(section, rows=1, features=2, target=" ") == headline(
        section, rows=1, features=2
    )
    labels = np.where(X[:, 0] > 0.2, "bad", "good")
    model = HistGradientBoostingClassifier(random_state=0, max_iter=5).fit(X, labels)
    section = section_of(sd.probability(model, "bad"), X, labels)
    line = headline(section, rows=300, features=2, target="Status")
    assert line.startswith("A HistGradientBoostingClassifier predicts whether Status is “bad”: ")
    usual = round(100 * np.mean(labels == "good"))
    assert f" ({usual} % by always guessing the most frequent class), AUC " in line
    chosen = section_of(sd.prediction(lambda X: X[:, 0], name="price"), X)
    assert headline(chosen, rows=1, features=2, target="y").startswith("Explains price of a")


def test_the_caller_can_say_how_well_a_model_predicts():
    X = np.random.default_rng(0).normal(size=(100, 2))
    content = gather({"m": lambda X: X[:, 0]}, X, notes={"m": "R² 0.9."}, progress=False)
    said = headline(content.sections[0], rows=100, features=2)
    assert said.endswith("on 100 rows with 2 features.")
    assert "not known" not in said


# ------------------------------------------------------------------- weights, missing values, units
@pytest.mark.parametrize("distant", [1.0, 0.2])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_the_rows_between_the_ends_are_those_with_a_value_by_their_weight(distant, missing):
    rng = np.random.default_rng(0)
    far = 4 if distant == 1 else 12
    x = np.r_[rng.uniform(0, 10, 3000 - 30 * far), rng.uniform(10, 100, 30 * far)]
    weight = np.where(x > 10, distant, 1.0)
    X = np.c_[np.where(rng.random(3000) < missing, np.nan, x), rng.uniform(-1, 1, 3000)]
    said = texts_of(lambda X: np.nan_to_num(-np.abs(X[:, 0] - 4)), X, sample_weight=weight)[0]
    found = re.search(
        r"between ([\d.]+) and ([\d.]+) \((\d+) % of the rows( with a value)? lie", said
    )
    assert found, said
    low, high, share = map(float, found.groups()[:3])
    known = ~np.isnan(X[:, 0])
    inside = (X[known, 0] >= low) & (X[known, 0] <= high)
    assert share == pytest.approx(100 * np.average(inside, weights=weight[known]), abs=1)
    assert high < 20
    assert bool(found[4]) == bool(missing)


def test_missing_values_matter_by_the_root_of_their_share():
    """The mean square of a step of rows without a value, in all rows, against a quarter of the importance of x0."""
    X = uniform(2, 3000)
    X[np.random.default_rng(1).random(3000) < 0.04, 0] = np.nan
    quarter = 0.25 * np.nanstd(X[:, 0])
    for step in (0.8 * quarter / 0.2, 1.25 * quarter / 0.2):
        said = texts_of(lambda X, step=step: np.where(np.isnan(X[:, 0]), step, X[:, 0]), X)[0]
        assert ("A missing value" in said) == (0.2 * step > quarter)


@pytest.mark.parametrize(
    ("strength", "score", "share", "told"),
    [(4.5, 9.0, 0.25, True), (4.4, 9.0, 0.25, False), (4.5, 9.0, 0.235, False)],
)
def test_an_interaction_is_told_from_a_twentieth_of_the_variance_on(strength, score, share, told):
    """By each measure, as standard deviations: the root of 20 of 400 is 4.47."""
    pair = PairStrength(("a", "b"), strength, 5.0, "a", share, True)
    section = SimpleNamespace(
        interactions=SimpleNamespace(strengths=(pair,)),
        variance_shares=SimpleNamespace(variance=400.0, unit="EUR"),
        rhale={"a": SimpleNamespace(heterogeneity_score=score)},
        quantity="prediction",
    )
    said = [f.text for f in _pair_finding(section, [])]
    assert bool(said) == told
    assert not said or "change the prediction by 4.5 EUR (standard deviation)" in said[0]


def test_groups_are_weighed_by_their_rows_where_sides_are_chosen():
    """Slopes 0, 10 and 30 for 50, 45 and 5 %: the sides, of slopes 0 and 12, have 36 of the variance 54."""
    rng = np.random.default_rng(0)
    X = np.c_[rng.uniform(0, 1, 6000), rng.uniform(-1, 1, (6000, 1)), rng.uniform(0, 1, 6000)]

    def three(X):
        return X[:, 0] * np.where(X[:, 1] > 0, np.where(X[:, 2] > 0.9, 30.0, 10.0), 0.0)

    r = sd.regions(three, X, 0)
    assert len(r) == 3
    a, b, whole = _compared(r)
    assert whole
    assert sorted(g.share for g in (a, b)) == pytest.approx([0.5, 0.5], abs=0.03)
    assert sorted(float(np.ptp(g.curve.value)) for g in (a, b)) == pytest.approx([0, 12], abs=0.5)


@pytest.mark.parametrize("share", [None, 0.4, 0.6])
def test_only_what_explains_much_is_named_as_what_an_effect_depends_on(share):
    section = replace(section_of(lambda X: X[:, 0] * X[:, 1], uniform(2, 400)), regions={})
    assert section.interactions.strengths
    effect = section.rhale["x0"]
    known = None if share is None else replace(effect.depends_on, share=share)
    said = _feature_story(section, replace(effect, depends_on=known), stated=False).finding
    how = {None: "", 0.4: ", depending in part on x1", 0.6: ", depending mostly on x1"}[share]
    assert re.search(rf"moves the prediction up or down by about 0\.3\d{how}\.$", said.text)
    assert said.features == (("x0",) if share is None else ("x0", "x1"))


def test_what_divides_heights_is_told_with_the_first_that_differ():
    x = np.array([0.0, 5.0, 10.0])
    parts = tuple(Curve(x, np.array([5.0, 0.0, top]), np.zeros(3)) for top in (3.0, 9.0))
    mean = Curve(x, np.array([5.0, 0.0, 6.0]), np.zeros(3))
    group = _Group(mean, parts, weights=(0.5, 0.5), levels=(0.0, 0.0), divided_by=("x2",))
    said = _Words("q", "", True).places(group, [0, 2])
    assert said == "0 (5) and 10 (3 or 9, depending on x2)"
