"""What a report computes: explained variance, pairs, overview, checks, and the sentences at its beginning."""

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
    return gather(model, X, y, progress=False, **options).sections[0]


# ----------------------------------------------------------------------------- explained variance


def test_an_additive_function_is_explained_by_its_effects(X):
    section = told_of(lambda X: np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 3 * X[:, 2], X)
    assert section.explained_variance.additive == pytest.approx(1.0, abs=1e-4)
    assert section.explained_variance.with_pairs is None
    assert section.pairs == ()
    assert next(iter(section.explained_variance.main_shares)) == "x2"
    assert section.explained_variance.main_shares["x3"] == 0
    assert sum(section.explained_variance.shares.values()) == pytest.approx(1.0)


def test_the_ledger_is_the_variance_that_remains(X):
    def f(X):
        return X[:, 0] + X[:, 1] * X[:, 2]

    section, q = told_of(f, X), f(X)
    effects = sum(section.rhale[f"x{j}"](X[:, j]) for j in range(4))
    assert section.explained_variance.additive == pytest.approx(
        1 - np.var(q - effects) / np.var(q), abs=1e-12
    )
    (surface,) = section.pairs
    both = effects + surface(X[:, 1], X[:, 2])
    assert section.explained_variance.with_pairs == pytest.approx(
        1 - np.var(q - both) / np.var(q), abs=1e-12
    )
    for j in range(4):
        alone = np.var(section.rhale[f"x{j}"](X[:, j])) / np.var(q)
        assert section.explained_variance.main_shares[f"x{j}"] == pytest.approx(alone, abs=1e-12)


def test_a_pure_interaction_is_explained_by_its_pair(X):
    section = told_of(lambda X: X[:, 0] * X[:, 1], X)
    assert section.explained_variance.additive == pytest.approx(0.0, abs=0.03)
    assert section.explained_variance.with_pairs > 0.98
    assert section.explained_variance.shares["interactions shown"] > 0.95
    assert section.explained_variance.pair_shares["x0", "x1"] > 0.95
    assert "With the interaction shown, it explains" in " ".join(
        section.explained_variance.sentences
    )


def test_a_negative_ledger_says_why():
    # Two nearly equal features: both curves are steep, and their effects cancel.
    x = np.random.default_rng(0).uniform(-1, 1, 400)
    X = np.column_stack([x, x + 1e-3 * np.random.default_rng(1).normal(size=400)])
    q = sd.prediction(
        lambda X: (X[:, 0] - X[:, 1]) + X[:, 0] * X[:, 1] * 0,
        slope=lambda X: np.tile([3.0, 3.0], (len(X), 1)),
    )
    section = told_of(q, X, pairs=0)
    assert section.explained_variance.additive < 0
    assert "depend on one another" in section.explained_variance.sentences[0]
    assert section.explained_variance.shares["not explained"] > 1


def test_the_ledger_counts_levels_missing_values_and_weights(frame):
    def f(X):
        code = X["city"].map({"x": 0.0, "y": 2.0, "z": 5.0}).to_numpy(float)
        holes = X["holes"].to_numpy()
        grade = X["grade"].astype(str).map({"lo": 0.0, "mid": 1.0, "hi": 4.0}).to_numpy(float)
        return X["a"].to_numpy() + code + np.where(np.isnan(holes), 7.0, holes) + grade

    weight = np.random.default_rng(0).integers(0, 4, len(frame))
    section = told_of(f, frame, sample_weight=weight)
    assert section.explained_variance.additive == pytest.approx(1.0, abs=1e-3)

    def spread(values):  # rows of zero weight may be outside the edges
        return float(np.cov(np.nan_to_num(values), fweights=weight, ddof=0))

    total = spread(f(frame))
    assert section.explained_variance.variance == pytest.approx(total)
    for name in ("a", "city", "grade"):
        shown = section.rhale[name](frame[name].to_numpy(object))
        alone = spread(shown) / total
        assert section.explained_variance.main_shares[name] == pytest.approx(alone)
    holes = frame["holes"].to_numpy()
    point = section.rhale["holes"].missing_point.value
    shown = np.where(np.isnan(holes), point, section.rhale["holes"](holes))
    alone = spread(shown) / total
    assert section.explained_variance.main_shares["holes"] == pytest.approx(alone)


def test_what_is_constant_has_no_ledger(X):
    section = told_of(lambda X: np.full(len(X), 1e9), X)
    assert section.explained_variance is None
    assert "same for all rows" in section.reasons["explained_variance"]


# ------------------------------------------------------------------------------------------ pairs


def test_it_finds_the_pair_that_acts_together():
    X = np.random.default_rng(0).normal(size=(800, 8))
    section = told_of(
        lambda X: 2 * X[:, 5] * X[:, 2] + 0.3 * X[:, 0] * X[:, 1] + X[:, 7], X, pairs=2
    )
    assert [s.features for s in section.pairs] == [("x2", "x5"), ("x0", "x1")]
    strengths = [s.strength for s in section.interactions.strengths]
    assert strengths == sorted(strengths, reverse=True)
    assert [s.shown for s in section.interactions.strengths].count(True) == 2
    assert len(strengths) == 6  # of x0, x1, x2 and x5; the others have no heterogeneity
    assert "heterogeneity score is above zero" in section.interactions.note
    direct = sd.explain(
        lambda X: 2 * X[:, 5] * X[:, 2] + 0.3 * X[:, 0] * X[:, 1] + X[:, 7], X, ("x2", "x5")
    )
    assert section.interactions.strengths[0].strength == direct.interaction_strength()


def test_cells_without_rows_do_not_rank_pairs():
    """For two strongly dependent features the empty corners have large values, but no rows."""
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 1, 900)
    twin = np.clip(x + rng.uniform(-0.04, 0.04, 900), 0, 1)
    X = np.column_stack([x, twin, rng.normal(size=900), rng.integers(0, 2, 900)])

    def f(X):
        return 6 * np.exp(X[:, 0] * X[:, 1]) + 0.6 * X[:, 2] * X[:, 3]

    section = told_of(f, X, pairs=2)
    assert section.pairs[0].features == ("x2", "x3")
    found = {s.features: s.strength for s in section.interactions.strengths}
    corners = sd.explain(f, X, (0, 1))
    assert corners.cells.empty.mean() > 0.5
    real = sd.explain(f, X, (2, 3))
    assert np.abs(corners.value).max() > 2 * np.abs(real.value).max()
    assert found["x0", "x1"] < 0.2 * found["x2", "x3"]
    assert found["x2", "x3"] == real.interaction_strength()
    assert "x2 and x3 interact most strongly" in " ".join(report_text.summary(section))


def test_pairs_of_levels_and_numbers(frame):
    section = told_of(lambda X: X["a"] * (X["city"] == "x") + X["holes"].fillna(0), frame)
    assert section.interactions.strengths[0].features == ("a", "city")
    assert section.explained_variance.with_pairs > section.explained_variance.additive + 0.1


def test_no_pairs_are_looked_at_where_none_are_wanted(X):
    section = told_of(lambda X: X[:, 0] * X[:, 1], X, pairs=0)
    assert section.pairs == ()
    assert section.interactions.strengths == ()
    assert [p.provenance["method"] for p in section.passes].count("ALE") == 1
    with refused(sd.DataError, "report(pairs)", "-1"):
        gather(lambda X: X[:, 0], X, pairs=-1)


def test_candidates_cost_no_more_than_they_may(X, monkeypatch):
    def f(X):
        return X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3]

    monkeypatch.setattr(interactions, "MODEL_ROWS", 3 * 4 * len(X))
    section = told_of(f, X)
    assert len(section.interactions.strengths) == 3
    assert "each pair costs 2,400 model rows" in section.interactions.note
    assert section.passes[-1].provenance["model_rows"] == 3 * 4 * len(X)
    monkeypatch.setattr(interactions, "MODEL_ROWS", 0)
    assert len(told_of(f, X).interactions.strengths) == 1


def test_groups_are_not_paired_with_their_own_columns(X):
    codes = np.column_stack([X[:, 0], (X[:, 1] > 0) * 1.0, (X[:, 1] <= 0) * 1.0, X[:, 2]])
    section = told_of(lambda X: X[:, 0] * X[:, 1] + X[:, 3], codes, groups={"side": [1, 2]})
    assert [set(s.features) for s in section.pairs] == [{"x0", "side"}]
    assert section.explained_variance.with_pairs > 0.99


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


def test_without_scores_there_is_no_word_of_them(X):
    def f(X):
        return X[:, 0] * X[:, 1]

    scored, bare = told_of(f, X), told_of(f, X, heterogeneity_rows=0)
    assert all(np.isnan(e.heterogeneity_score) for e in bare.rhale.values())
    assert sum(p.provenance.get("score_rows", 0) for p in bare.passes) == 0
    assert bare.interactions.strengths[0].features == scored.interactions.strengths[0].features
    assert "importance" in bare.interactions.note
    assert "heterogeneity_rows=0" in bare.code["main", "x0"]
    assert "heterogeneity_rows" not in scored.code["main", "x0"]
    assert not any("rows" in s for s in report_text.summary(bare) if "effect" in s)
    assert report_text.heterogeneity_sentence(bare.rhale["x0"]).startswith(
        "The heterogeneity score was not computed."
    )


def test_a_feature_of_one_value_has_no_interval(X):
    constant = np.column_stack([X[:, 0], np.ones(len(X))])
    section = told_of(lambda X: X[:, 0], constant)
    last = section.importance_points[-1]
    assert (last.feature, last.importance_ends) == ("x1", None)


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


def test_mplots_are_of_all_features(frame):
    section = told_of(lambda X: X["a"] + (X["city"] == "x"), frame)
    assert list(section.mplot) == list(section.rhale)
    direct = sd.explain(lambda X: X["a"] + (X["city"] == "x"), frame, "city", method=sd.MPlot())
    assert np.array_equal(section.mplot["city"].value, direct.value)


# ------------------------------------------------------------------------------------ the sentences


def test_each_sentence_has_its_cause(X, coin):
    section = told_of(lambda X: X[:, 0] * X[:, 1], X, X[:, 0] * X[:, 1] + 0.01 * X[:, 2])
    said = " ".join(report_text.summary(section))
    assert "the model explains more than 99\u202f% of the variance of the labels" in said
    assert "x0 and x1 interact most strongly" in said
    assert "The sum of the" in said
    plain = " ".join(report_text.summary(told_of(lambda X: X[:, 0], X)))
    assert "variance of the labels" not in plain
    assert "interact" not in plain
    assert "Check the" not in plain
    assert "Predictive uncertainty" not in plain
    assert "Predictive uncertainty depends most on x0" in " ".join(
        report_text.summary(told_of(coin[0], X, coin[1]))
    )


def test_bad_probabilities_and_warnings_are_spoken_of(X, coin):
    model, y = coin
    good = told_of(model, X, y, uncertainty=False)
    bad = told_of(sd.probability(lambda X: np.clip(0.5 + 5 * X[:, 0], 0.01, 0.99)), X, y == "yes")
    assert good.quality.calibration_error < 0.05 < bad.quality.calibration_error
    assert "differ from the observed proportions" not in " ".join(report_text.summary(good))
    assert "differ from the observed proportions" in " ".join(report_text.summary(bad))
    x = X[:, 0]
    twin = np.column_stack([x, x + 0.01 * X[:, 1]])
    odd = told_of(lambda X: np.floor(3 * X[:, 0]) * np.floor(3 * X[:, 1]), twin)
    warned = [n for n, flags in odd.checks.items() if flags.warnings]
    assert warned
    assert "Check the" in " ".join(report_text.summary(odd))
    little = told_of(lambda X: X[:, 0] + 0.01 * X[:, 1] * X[:, 2], X)
    assert little.pairs[0].features == ("x1", "x2")
    assert "interact most strongly" not in " ".join(report_text.summary(little))


def test_passes_say_what_they_are_of(X, coin):
    section = told_of(coin[0], X, coin[1])
    methods = [line[0] for line in report_html.provenance_rows(section)]
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

    content = gather(f, X, X[:, 0], progress=False, uncertainty=False)
    cost = report_html.cost_table(content)
    assert cost.model_rows + cost.check_rows + cost.score_rows == sum(calls)
    predictions = [p for p in content.sections[0].passes if p.provenance["method"] == "predictions"]
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
        section = told_of(f, X, pairs=0)
    assert not any("look here" in text for text in section.warnings)


def test_a_frame_of_polars_and_labels_in_a_list():
    polars = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    frame = polars.DataFrame({"a": rng.normal(size=200), "b": rng.choice(["u", "v"], 200)})

    def f(frame):
        return frame["a"].to_numpy() * (frame["b"].to_numpy() == "u")

    section = told_of(f, frame, f(frame).tolist())
    assert section.quality["R²"] == 1
    assert section.pairs[0].features == ("a", "b")
    assert section.explained_variance.with_pairs > 0.99


def test_two_rows_and_a_single_feature():
    X = np.array([[0.0], [1.0]])
    section = told_of(lambda X: 2 * X[:, 0], X, [0.0, 2.0])
    assert section.quality["R²"] == 1
    assert section.explained_variance.additive == pytest.approx(1.0)
    assert section.explained_variance.sentences == (
        "The effect of 1 feature explains 100\u202f% of the variance of the prediction.",
    )
    assert "Fewer than two features" in section.interactions.note
    one = told_of(lambda X: 2 * X[:, 0], X[:1], [0.0])
    assert one.quality is None
    assert one.explained_variance is None
