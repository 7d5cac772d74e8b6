"""What a report computes: the variance shares, regions, pairs, overview, checks, and the sentences at its beginning."""

import re
import warnings
from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression

import skedasis as sd
from skedasis.report import interactions
from skedasis.report import text as report_text
from skedasis.report.content import gather
from skedasis.report.figures import variance_caption
from skedasis.report.findings import findings
from skedasis.results.provenance import summed_costs
from tests.helpers import refused
from tests.made_regions import unstable


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).uniform(-1, 1, (600, 4))


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    n = 500
    return pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "holes": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "city": rng.choice(["x", "y", "z"], n, p=[0.5, 0.3, 0.2]),
            "grade": pd.Categorical(
                rng.choice(["lo", "mid", "hi"], n), ["lo", "mid", "hi"], ordered=True
            ),
        }
    )


@pytest.fixture(scope="module")
def coin(X):
    y = np.where(
        np.random.default_rng(2).random(len(X)) < 1 / (1 + np.exp(-4 * X[:, 0])), "yes", "no"
    )
    return LogisticRegression().fit(X, y), y


def told_of(model, X, y=None, **options):
    return gather(model, X, y, progress=False, **options).sections[0]


def said_of(section):
    return " ".join(f.text for f in findings(section))


# ----------------------------------------------------------------------------------------- variance_shares


def test_an_additive_function_is_explained_by_its_effects(X):
    section = told_of(lambda X: np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 3 * X[:, 2], X)
    assert [p.kind for p in section.variance_shares.parts] == ["main", "unexplained"]
    assert section.variance_shares["main effects"].share == pytest.approx(1.0, abs=0.002)
    assert section.variance_shares.as_drawn == pytest.approx(1.0, abs=1e-3)
    assert section.pairs == ()


def test_the_ledger_is_that_of_the_same_rows(X):
    def f(X):
        return X[:, 0] + X[:, 1] * X[:, 2]

    section = told_of(f, X, regions=False, random_state=4)
    alone = sd.variance_shares(f, X, regions={}, effects=section.rhale, random_state=4)
    # R² for the label is NaN without labels; from Python 3.13 on, `==` would compare it with itself.
    np.testing.assert_equal(
        *([astuple(p) for p in x.parts] for x in (section.variance_shares, alone))
    )
    assert section.variance_shares.as_drawn == alone.as_drawn
    assert section.variance_shares.variance == alone.variance
    assert section.regions == {}
    assert (
        told_of(f, X, pairs=0, regions=False).variance_shares.provenance["settings"]["pairs"] == 0
    )


def test_curves_that_do_not_add_up_say_why():
    # Two nearly equal features: both curves are steep, and their effects cancel.
    x = np.random.default_rng(0).uniform(-1, 1, 400)
    X = np.column_stack([x, x + 1e-3 * np.random.default_rng(1).normal(size=400)])
    q = sd.prediction(
        lambda X: (X[:, 0] - X[:, 1]) + X[:, 0] * X[:, 1] * 0,
        slope=lambda X: np.tile([3.0, 3.0], (len(X), 1)),
    )
    section = told_of(q, X, pairs=0)
    assert section.variance_shares.as_drawn < 0
    why = "nothing, because features interact or depend on one another"
    assert why in str(section.variance_shares)


@pytest.mark.slow
def test_labels_have_a_share_where_they_can_be_compared(X, coin):
    noise = np.random.default_rng(8).normal(size=len(X))
    bare = {"pairs": 0, "regions": False}
    section = told_of(lambda X: X[:, 0], X, X[:, 0] + noise, **bare)
    assert section.variance_shares["main effects"].label_r2 == pytest.approx(0.25, abs=0.2)
    assert "The full model: R² 0." in variance_caption(section.variance_shares)
    assert not told_of(lambda X: X[:, 0], X, np.ones(len(X)), **bare).variance_shares.has_labels
    odd = np.where(np.arange(len(X)) == 3, None, coin[1].astype(object))
    assert not told_of(coin[0], X, odd, uncertainty=False, **bare).variance_shares.has_labels


def test_what_is_constant_has_no_variance_shares(X):
    section = told_of(lambda X: np.full(len(X), 1e9), X)
    assert section.variance_shares is None
    assert "same value" in section.reasons["variance_shares"]


# ---------------------------------------------------------------------------------------- regions


def test_regions_are_those_of_the_library(X):
    def f(X):
        return X[:, 0] * np.where(X[:, 1] > 0, 2, -1) + X[:, 3]

    section = told_of(f, X)
    direct = sd.regions(f, X)
    assert {n: r.rules for n, r in section.regions.items()} == {
        n: r.rules for n, r in direct.items()
    }
    for mine, theirs in zip(section.regions["x0"], direct["x0"], strict=True):
        assert np.array_equal(mine.value, theirs.value)
    assert section.regions["x0"].scores.within == direct["x0"].scores.within
    lead, lines = report_text.region_texts(section.regions["x0"])
    assert lead.startswith("The rule (2 groups of rows) explains")
    assert [rule for rule, _ in lines] == list(section.regions["x0"].rules)
    lead, lines = report_text.region_texts(unstable(section.regions["x0"], 0, "x2 ≤ 0"))
    other = "another split does about as well: x2 ≤ 0"
    assert lead.endswith(f"as SD); {other}.")
    assert all(text.endswith(f"; {other}") for _, text in lines)
    said = report_text.for_whom_sentence(section, "x0")
    assert re.fullmatch(
        r"Mostly by x1 \(\d+ %( ± \S+ %)?\): the curves of its groups of rows are above\.", said
    )
    assert section.code["regions", "x0"] == "sd.regions(model, X, 'x0').plot()"


def test_without_regions_a_sentence_names_the_feature_and_the_call():
    X = np.random.default_rng(0).uniform(-1, 1, size=(1000, 3))
    section = told_of(lambda X: X[:, 0] * X[:, 1] + X[:, 2], X, regions=False)
    said = report_text.for_whom_sentence(section, "x0")
    assert said.startswith("Mostly by x1 (")
    assert said.endswith("): sd.regions(…).")
    assert report_text.for_whom_sentence(section, "x2") == ""


def test_regions_cost_the_rows_of_their_scores_only(X):
    calls = []

    def f(X):
        calls.append(len(X))
        return X[:, 0] * np.where(X[:, 1] > 0, 2, -1) + X[:, 3]

    without = told_of(f, X, uncertainty=False, regions=False, pairs=0)
    first = sum(calls)
    calls.clear()
    section = told_of(f, X, uncertainty=False, pairs=0)
    scored = section.rhale.provenance["region_score_rows"]
    assert 0 < scored <= len(X) * sum(len(r) > 1 for r in section.regions.values())
    assert sum(calls) == first + scored
    assert without.rhale.provenance["effect_rows"] == section.rhale.provenance["effect_rows"]


# ------------------------------------------------------------------------------------------ pairs


def test_cells_without_rows_do_not_rank_pairs():
    """For two strongly dependent features the empty corners have large values, but no rows."""
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 1, 900)
    twin = np.clip(x + rng.uniform(-0.04, 0.04, 900), 0, 1)
    X = np.column_stack([x, twin, rng.normal(size=900), rng.integers(0, 2, 900)])

    def f(X):
        return 6 * np.exp(X[:, 0] * X[:, 1]) + 0.6 * X[:, 2] * X[:, 3]

    section = told_of(f, X, pairs=2, regions=False)
    assert section.pairs[0].features == ("x2", "x3")
    found = {s.features: s.strength for s in section.interactions.strengths if s.shown}
    corners = sd.explain(f, X, (0, 1))
    assert corners.cells.empty.mean() > 0.5
    real = sd.explain(f, X, (2, 3))
    assert np.abs(corners.value).max() > 2 * np.abs(real.value).max()
    assert found.get(("x0", "x1"), 0.0) < 0.2 * found["x2", "x3"]
    assert found["x2", "x3"] == real.interaction_strength()


def test_no_pairs_are_looked_at_where_none_are_wanted(X):
    section = told_of(lambda X: X[:, 0] * X[:, 1], X, pairs=0)
    assert section.pairs == ()
    assert section.interactions.strengths == ()
    assert [p.provenance["method"] for p in section.passes].count("ALE") == 1
    with refused(sd.DataError, "report(pairs)", "-1"):
        gather(lambda X: X[:, 0], X, pairs=-1)


@pytest.mark.slow
def test_candidates_cost_no_more_than_they_may(X, monkeypatch):
    def f(X):
        return X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3]

    both = told_of(f, X, regions=False)
    assert [s.features for s in both.pairs] == [("x2", "x3"), ("x0", "x1")]
    monkeypatch.setattr(interactions, "MODEL_ROWS", 4 * len(X))
    section = told_of(f, X, regions=False)
    assert len(section.pairs) == 1
    assert "no more because each costs 2,400 model rows" in section.interactions.note
    rows = {p.provenance["method"]: p.provenance["effect_rows"] for p in section.passes}
    assert rows["ALE, 1 pair"] == 4 * len(X)
    monkeypatch.setattr(interactions, "MODEL_ROWS", 0)
    assert len(told_of(f, X, regions=False).pairs) == 1


@pytest.mark.slow
def test_trees_are_compared_by_h2_and_cost_no_model_rows():
    X = np.random.default_rng(0).uniform(-1, 1, (800, 5))
    y = 2 * X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + X[:, 4]
    model = HistGradientBoostingRegressor(max_iter=60, random_state=0).fit(X, y)
    section = told_of(model, X, regions=False)
    exact = sd.interactions(model, X, ale=False).ranking()
    found = {s.features: s.h2_unnormalized for s in section.interactions.strengths}
    assert {(p.feature_0, p.feature_1): p.h2_unnormalized for p in exact} == pytest.approx(found)
    assert [s.features for s in section.pairs[:2]] == [("x0", "x1"), ("x2", "x3")]
    assert "H² at all rows" in section.interactions.note
    assert sum(p.provenance["effect_rows"] for p in section.passes) == 0


# --------------------------------------------------------------------- overview, checks, M-plots


def test_places_have_the_intervals_of_both_numbers(X):
    section = told_of(lambda X: X[:, 0] + X[:, 1] * X[:, 2], X, random_state=3)
    assert [p.feature for p in section.importance_points] == [
        r.feature for r in section.rhale.ranking()
    ]
    for place in section.importance_points:
        effect = section.rhale[place.feature]
        low, high = effect.interval(
            0.95, "bootstrap", of="importance", replicates=200, random_state=3
        )
        assert place.importance_ends == (float(low), float(high))
        low, high = effect.interval(0.95, of="heterogeneity_score")
        assert place.heterogeneity_score_ends == (float(low), float(high))
        assert place.heterogeneity_score == effect.heterogeneity_score


def test_each_feature_is_scored_once(X):
    calls = []

    def f(X):
        calls.append(len(X))
        return X[:, 0] * X[:, 1]

    section = told_of(f, X, uncertainty=False)
    scored = [p.provenance for p in section.passes if p.provenance.get("score_rows", 0)]
    assert [p["method"] for p in scored] == ["RHALE"]
    for effects in (section.ale, section.pdp):
        for name, effect in effects.items():
            assert effect.heterogeneity_score == section.rhale[name].heterogeneity_score
    alone = sd.explain(f, X, method="ale")
    for name, effect in alone.items():
        assert section.ale[name].heterogeneity_score == pytest.approx(effect.heterogeneity_score)


def test_objections_are_those_of_the_effect(X):
    x = X[:, 0]
    twin = np.column_stack(
        [x, x + 0.05 * X[:, 1]]
    )  # positions far from the diagonal have no rows nearby
    section = told_of(lambda X: X[:, 0] * X[:, 1], twin, random_state=5)
    for name, flags in section.checks.items():
        direct = section.rhale[name].checks(X=twin, beside=section.pdp[name], random_state=5)
        assert [str(f) for f in flags] == [str(f) for f in direct]
    assert any(section.checks.values())


# ------------------------------------------------------------------------------------ the sentences


@pytest.mark.slow
def test_each_sentence_has_its_cause(X, coin):
    section = told_of(lambda X: X[:, 0] * X[:, 1], X, X[:, 0] * X[:, 1] + 0.01 * X[:, 2])
    said = said_of(section)
    assert "best additive function of the features would explain" in variance_caption(
        section.variance_shares
    )
    assert re.search("x[01]: .* where x[01] ", said)
    plain = said_of(told_of(lambda X: X[:, 0], X))
    assert "interact" not in plain
    assert "Check the" not in plain
    assert "Unsure where" not in plain
    assert "x0 ≤ 0.53 (51 % of the rows): 1.5 times its average uncertainty" in said_of(
        told_of(coin[0], X, coin[1])
    )


@pytest.mark.slow
def test_bad_probabilities_and_warnings_are_spoken_of(X, coin):
    model, y = coin
    bare = {"pairs": 0, "regions": False}
    good = told_of(model, X, y, uncertainty=False, **bare)
    bad = told_of(
        sd.probability(lambda X: np.clip(0.5 + 5 * X[:, 0], 0.01, 0.99)), X, y == "yes", **bare
    )
    assert not good.calibration.deviations
    assert bad.calibration.deviations
    x = X[:, 0]
    twin = np.column_stack([x, x + 0.01 * X[:, 1]])
    odd = told_of(lambda X: np.floor(3 * X[:, 0]) * np.floor(3 * X[:, 1]), twin, **bare)
    warned = [n for n, flags in odd.checks.items() if flags.warnings]
    assert warned
    assert "Check the" in said_of(odd)
    little = told_of(lambda X: X[:, 0] + 0.01 * X[:, 1] * X[:, 2], X, regions=False)
    assert little.pairs[0].features == ("x1", "x2")
    assert "interact most strongly" not in said_of(little)


def test_costs_count_the_predictions_once(X):
    calls = []

    def f(X):
        calls.append(len(X))
        return X[:, 0] * X[:, 1]

    content = gather(f, X, X[:, 0], progress=False, uncertainty=False)
    cost = summed_costs([p.provenance for p in content.sections[0].passes])
    assert cost["model_rows"] == sum(calls)
    predictions = [p for p in content.sections[0].passes if p.provenance["method"] == "predictions"]
    assert [p.provenance["effect_rows"] for p in predictions] == [len(X)]


def test_a_models_warning_is_the_callers(X):
    def f(X):
        if len(X) == len(X[:600]):
            warnings.warn("look here", FutureWarning, stacklevel=1)
        return X[:, 0]

    with pytest.warns(FutureWarning, match="look here"):
        section = told_of(f, X, pairs=0, regions=False)
    assert not any("look here" in text for text in section.warnings)


def test_two_rows_and_a_single_feature():
    X = np.array([[0.0], [1.0]])
    section = told_of(lambda X: 2 * X[:, 0], X, [0.0, 2.0])
    assert section.quality["R²"] == 1
    assert section.variance_shares is None
    assert "at least 20" in section.reasons["variance_shares"]
    assert "Fewer than two features" in section.interactions.note
    one = told_of(lambda X: 2 * X[:, 0], X[:1], [0.0])
    assert one.quality is None
    assert one.variance_shares is None
