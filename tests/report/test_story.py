"""What a report computes: the ledger, pairs, places, objections, and the sentences that it begins with."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import skedasis as sd
from skedasis.report import html as report_html
from skedasis.report import interactions
from skedasis.report import text as report_text
from skedasis.report.content import gather
from tests.helpers import refused


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
    return gather(model, X, y, progress=False, **options).told[0]


# ----------------------------------------------------------------------------------------- ledger


def test_an_additive_function_is_explained_by_its_effects(X):
    told = told_of(lambda X: np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 3 * X[:, 2], X)
    assert told.ledger.additive == pytest.approx(1.0, abs=1e-4)
    assert told.ledger.with_pairs is None
    assert told.pairs == ()
    assert next(iter(told.ledger.alone)) == "x2"
    assert told.ledger.alone["x3"] == 0
    assert sum(told.ledger.shares.values()) == pytest.approx(1.0)


def test_the_ledger_is_the_variance_that_remains(X):
    def f(X):
        return X[:, 0] + X[:, 1] * X[:, 2]

    told, q = told_of(f, X), f(X)
    effects = sum(told.rhale[f"x{j}"](X[:, j]) for j in range(4))
    assert told.ledger.additive == pytest.approx(1 - np.var(q - effects) / np.var(q), abs=1e-12)
    (surface,) = told.pairs
    both = effects + surface(X[:, 1], X[:, 2])
    assert told.ledger.with_pairs == pytest.approx(1 - np.var(q - both) / np.var(q), abs=1e-12)
    for j in range(4):
        alone = np.var(told.rhale[f"x{j}"](X[:, j])) / np.var(q)
        assert told.ledger.alone[f"x{j}"] == pytest.approx(alone, abs=1e-12)


def test_a_pure_interaction_is_explained_by_its_pair(X):
    told = told_of(lambda X: X[:, 0] * X[:, 1], X)
    assert told.ledger.additive == pytest.approx(0.0, abs=0.03)
    assert told.ledger.with_pairs > 0.98
    assert told.ledger.shares["pairs shown"] > 0.95
    assert told.ledger.pairs["x0", "x1"] > 0.95
    assert "With the pair shown it is" in " ".join(told.ledger.said)


def test_a_negative_ledger_says_why():
    # Two features that say the same: each curve is steep, and what they do together takes it back.
    x = np.random.default_rng(0).uniform(-1, 1, 400)
    X = np.column_stack([x, x + 1e-3 * np.random.default_rng(1).normal(size=400)])
    q = sd.prediction(
        lambda X: (X[:, 0] - X[:, 1]) + X[:, 0] * X[:, 1] * 0,
        slope=lambda X: np.tile([3.0, 3.0], (len(X), 1)),
    )
    told = told_of(q, X, pairs=0)
    assert told.ledger.additive < 0
    assert "depend on one another" in told.ledger.said[0]
    assert told.ledger.shares["not explained by these"] > 1


def test_the_ledger_counts_levels_missing_values_and_weights(frame):
    def f(X):
        code = X["city"].map({"x": 0.0, "y": 2.0, "z": 5.0}).to_numpy(float)
        holes = X["holes"].to_numpy()
        grade = X["grade"].astype(str).map({"lo": 0.0, "mid": 1.0, "hi": 4.0}).to_numpy(float)
        return X["a"].to_numpy() + code + np.where(np.isnan(holes), 7.0, holes) + grade

    weight = np.random.default_rng(0).integers(0, 4, len(frame))
    told = told_of(f, frame, weights=weight)
    assert told.ledger.additive == pytest.approx(1.0, abs=1e-3)

    def spread(values):  # rows of no weight may lie beyond the edges
        return float(np.cov(np.nan_to_num(values), fweights=weight, ddof=0))

    total = spread(f(frame))
    assert told.ledger.variance == pytest.approx(total)
    for name in ("a", "city", "grade"):
        shown = told.rhale[name](frame[name].to_numpy(object))
        alone = spread(shown) / total
        assert told.ledger.alone[name] == pytest.approx(alone)
    holes = frame["holes"].to_numpy()
    point = told.rhale["holes"].missing_point.value
    shown = np.where(np.isnan(holes), point, told.rhale["holes"](holes))
    alone = spread(shown) / total
    assert told.ledger.alone["holes"] == pytest.approx(alone)


def test_what_is_constant_has_no_ledger(X):
    told = told_of(lambda X: np.full(len(X), 1e9), X)
    assert told.ledger is None
    assert "same for all rows" in told.reasons["ledger"]


# ------------------------------------------------------------------------------------------ pairs


def test_it_finds_the_pair_that_acts_together():
    X = np.random.default_rng(0).normal(size=(800, 8))
    told = told_of(lambda X: 2 * X[:, 5] * X[:, 2] + 0.3 * X[:, 0] * X[:, 1] + X[:, 7], X, pairs=2)
    assert [s.features for s in told.pairs] == [("x2", "x5"), ("x0", "x1")]
    strengths = [s.strength for s in told.together.strengths]
    assert strengths == sorted(strengths, reverse=True)
    assert [s.shown for s in told.together.strengths].count(True) == 2
    assert len(strengths) == 6  # x0, x1, x2 and x5: in the others no row differs
    assert "heterogeneity score is above zero" in told.together.note
    direct = sd.explain(
        lambda X: 2 * X[:, 5] * X[:, 2] + 0.3 * X[:, 0] * X[:, 1] + X[:, 7], X, ("x2", "x5")
    )
    assert told.together.strengths[0].strength == direct.interaction_strength()


def test_cells_without_rows_do_not_rank_pairs():
    """Of two features that follow each other the empty corners hold large values, which belong to no row."""
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 1, 900)
    twin = np.clip(x + rng.uniform(-0.04, 0.04, 900), 0, 1)
    X = np.column_stack([x, twin, rng.normal(size=900), rng.integers(0, 2, 900)])

    def f(X):
        return 6 * np.exp(X[:, 0] * X[:, 1]) + 0.6 * X[:, 2] * X[:, 3]

    told = told_of(f, X, pairs=2)
    assert told.pairs[0].features == ("x2", "x3")
    found = {s.features: s.strength for s in told.together.strengths}
    corners = sd.explain(f, X, (0, 1))
    assert corners.cells.empty.mean() > 0.5
    real = sd.explain(f, X, (2, 3))
    assert np.abs(corners.value).max() > 2 * np.abs(real.value).max()
    assert found["x0", "x1"] < 0.2 * found["x2", "x3"]
    assert found["x2", "x3"] == real.interaction_strength()
    assert "x2 and x3 interact most strongly" in " ".join(report_text.gist(told))


def test_pairs_of_levels_and_numbers(frame):
    told = told_of(lambda X: X["a"] * (X["city"] == "x") + X["holes"].fillna(0), frame)
    assert told.together.strengths[0].features == ("a", "city")
    assert told.ledger.with_pairs > told.ledger.additive + 0.1


def test_no_pairs_are_looked_at_where_none_are_wanted(X):
    told = told_of(lambda X: X[:, 0] * X[:, 1], X, pairs=0)
    assert told.pairs == ()
    assert told.together.strengths == ()
    assert [p.provenance["method"] for p in told.passes].count("ALE") == 1
    with refused(sd.DataError, "report(pairs)", "-1"):
        gather(lambda X: X[:, 0], X, pairs=-1)


def test_candidates_cost_no_more_than_they_may(X, monkeypatch):
    def f(X):
        return X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3]

    monkeypatch.setattr(interactions, "MODEL_ROWS", 3 * 4 * len(X))
    told = told_of(f, X)
    assert len(told.together.strengths) == 3
    assert "each pair costs 2,400 model rows" in told.together.note
    assert told.passes[-1].provenance["model_rows"] == 3 * 4 * len(X)
    monkeypatch.setattr(interactions, "MODEL_ROWS", 0)
    assert len(told_of(f, X).together.strengths) == 1


def test_groups_are_not_paired_with_their_own_columns(X):
    codes = np.column_stack([X[:, 0], (X[:, 1] > 0) * 1.0, (X[:, 1] <= 0) * 1.0, X[:, 2]])
    told = told_of(lambda X: X[:, 0] * X[:, 1] + X[:, 3], codes, groups={"side": [1, 2]})
    assert [set(s.features) for s in told.pairs] == [{"x0", "side"}]
    assert told.ledger.with_pairs > 0.99


# ------------------------------------------------------------------- places, objections, M-plots


def test_places_have_the_intervals_of_both_numbers(X):
    told = told_of(lambda X: X[:, 0] + X[:, 1] * X[:, 2], X, seed=3)
    assert [p.feature for p in told.places] == [r.feature for r in told.rhale.ranking()]
    for place in told.places:
        effect = told.rhale[place.feature]
        low, high = effect.interval(0.95, "bootstrap", of="importance", replicates=200, seed=3)
        assert place.importance_ends == (float(low), float(high))
        low, high = effect.interval(0.95, of="heterogeneity_score")
        assert place.heterogeneity_score_ends == (float(low), float(high))
        assert place.heterogeneity_score == effect.heterogeneity_score


def test_each_feature_is_scored_once(X):
    calls = []

    def f(X):
        calls.append(len(X))
        return X[:, 0] * X[:, 1]

    told = told_of(f, X, uncertainty=False)
    scored = [p.provenance for p in told.passes if p.provenance.get("score_rows", 0)]
    assert [p["method"] for p in scored] == ["RHALE"]
    for effects in (told.ale, told.pdp):
        for name, effect in effects.items():
            assert effect.heterogeneity_score == told.rhale[name].heterogeneity_score
    alone = sd.explain(f, X, method="ale")
    for name, effect in alone.items():
        assert told.ale[name].heterogeneity_score == pytest.approx(effect.heterogeneity_score)


def test_without_scores_there_is_no_word_of_them(X):
    def f(X):
        return X[:, 0] * X[:, 1]

    scored, bare = told_of(f, X), told_of(f, X, heterogeneity_rows=0)
    assert all(np.isnan(e.heterogeneity_score) for e in bare.rhale.values())
    assert sum(p.provenance.get("score_rows", 0) for p in bare.passes) == 0
    assert bare.together.strengths[0].features == scored.together.strengths[0].features
    assert "importance" in bare.together.note
    assert "heterogeneity_rows=0" in bare.code["main", "x0"]
    assert "heterogeneity_rows" not in scored.code["main", "x0"]
    assert not any("rows" in s for s in report_text.gist(bare) if "effect" in s)
    assert report_text.scatter(bare.rhale["x0"]).startswith(
        "The heterogeneity score was not computed."
    )


def test_a_feature_of_one_value_has_no_interval(X):
    constant = np.column_stack([X[:, 0], np.ones(len(X))])
    told = told_of(lambda X: X[:, 0], constant)
    last = told.places[-1]
    assert (last.feature, last.importance_ends) == ("x1", None)


def test_objections_are_those_of_the_effect(X):
    x = X[:, 0]
    twin = np.column_stack(
        [x, x + 0.05 * X[:, 1]]
    )  # what is far from the diagonal is far from the data
    told = told_of(lambda X: X[:, 0] * X[:, 1], twin, seed=5)
    for name, flags in told.trust.items():
        direct = told.rhale[name].trust(X=twin, beside=told.pdp[name], seed=5)
        assert [str(f) for f in flags] == [str(f) for f in direct]
    assert any(told.trust.values())


def test_mplots_are_of_all_features(frame):
    told = told_of(lambda X: X["a"] + (X["city"] == "x"), frame)
    assert list(told.mplot) == list(told.rhale)
    direct = sd.explain(lambda X: X["a"] + (X["city"] == "x"), frame, "city", method=sd.MPlot())
    assert np.array_equal(told.mplot["city"].value, direct.value)


# ------------------------------------------------------------------------------------ the sentences


def test_each_sentence_has_its_cause(X, coin):
    told = told_of(lambda X: X[:, 0] * X[:, 1], X, X[:, 0] * X[:, 1] + 0.01 * X[:, 2])
    said = " ".join(report_text.gist(told))
    assert "it explains more than 99\u202f% of the labels’ variance" in said
    assert "x0 and x1 interact most strongly" in said
    assert "added up, explain" in said
    plain = " ".join(report_text.gist(told_of(lambda X: X[:, 0], X)))
    assert "labels’ variance" not in plain
    assert "interact" not in plain
    assert "Check the" not in plain
    assert "How unsure" not in plain
    assert "Predictive uncertainty depends most on x0" in " ".join(
        report_text.gist(told_of(coin[0], X, coin[1]))
    )


def test_bad_probabilities_and_warnings_are_spoken_of(X, coin):
    model, y = coin
    good = told_of(model, X, y, uncertainty=False)
    bad = told_of(sd.probability(lambda X: np.clip(0.5 + 5 * X[:, 0], 0.01, 0.99)), X, y == "yes")
    assert good.quality.calibration_error < 0.05 < bad.quality.calibration_error
    assert "and the shares observed are" not in " ".join(report_text.gist(good))
    assert "and the shares observed are" in " ".join(report_text.gist(bad))
    x = X[:, 0]
    twin = np.column_stack([x, x + 0.01 * X[:, 1]])
    odd = told_of(lambda X: np.floor(3 * X[:, 0]) * np.floor(3 * X[:, 1]), twin)
    warned = [n for n, flags in odd.trust.items() if flags.warnings]
    assert warned
    assert "Check the" in " ".join(report_text.gist(odd))
    little = told_of(lambda X: X[:, 0] + 0.01 * X[:, 1] * X[:, 2], X)
    assert little.pairs[0].features == ("x1", "x2")
    assert "interact" not in " ".join(report_text.gist(little))


def test_passes_say_what_they_are_of(X, coin):
    told = told_of(coin[0], X, coin[1])
    methods = [line[0] for line in report_html.origins(told)]
    assert methods[:5] == ["RHALE", "ALE", "PDP", "MPlot", "predictions"]
    assert methods[-3] == "RHALE of entropy(LogisticRegression)"
    assert methods[-1] == "diagnose"
    pairs = [m for m in methods if m.startswith("ALE, ")]
    assert pairs == ["ALE, 6 pairs"]


def test_costs_count_the_predictions_once(X):
    calls = []

    def f(X):
        calls.append(len(X))
        return X[:, 0] * X[:, 1]

    story = gather(f, X, X[:, 0], progress=False, uncertainty=False)
    cost = report_html.cost_table(story)
    assert cost.model_rows + cost.check_rows + cost.score_rows == sum(calls)
    predictions = [p for p in story.told[0].passes if p.provenance["method"] == "predictions"]
    assert [p.provenance["model_rows"] for p in predictions] == [len(X)]


def test_an_error_is_not_hidden_by_a_warning(X):
    calls = []

    def f(X):
        calls.append(len(X))
        if len(calls) > 3:
            warnings.warn("a warning of the model's own", UserWarning, stacklevel=1)
            raise RuntimeError("the model is gone")
        return X[:, 0]

    with pytest.raises(RuntimeError, match="the model is gone"):
        gather(f, X, progress=False)


def test_a_models_warning_is_the_callers(X):
    def f(X):
        if len(X) == len(X[:600]):
            warnings.warn("look here", FutureWarning, stacklevel=1)
        return X[:, 0]

    with pytest.warns(FutureWarning, match="look here"):
        told = told_of(f, X, pairs=0)
    assert not any("look here" in text for text in told.warnings)


def test_a_frame_of_polars_and_labels_in_a_list():
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    frame = polars.DataFrame({"a": rng.normal(size=200), "b": rng.choice(["u", "v"], 200)})

    def f(frame):
        return frame["a"].to_numpy() * (frame["b"].to_numpy() == "u")

    told = told_of(f, frame, f(frame).tolist())
    assert told.quality["R²"] == 1
    assert told.pairs[0].features == ("a", "b")
    assert told.ledger.with_pairs > 0.99


def test_two_rows_and_a_single_feature():
    X = np.array([[0.0], [1.0]])
    told = told_of(lambda X: 2 * X[:, 0], X, [0.0, 2.0])
    assert told.quality["R²"] == 1
    assert told.ledger.additive == pytest.approx(1.0)
    assert told.ledger.said == (
        "The effect of 1 feature explains 100\u202f% of the variance of the prediction.",
    )
    assert "Fewer than two features" in told.together.note
    one = told_of(lambda X: 2 * X[:, 0], X[:1], [0.0])
    assert one.quality is None
    assert one.ledger is None
