"""Model quality against scikit-learn's metrics, calibration against a plain loop, and reasons for missing figures."""

import re

import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LinearRegression, LogisticRegression

import skedasis as sd
from skedasis.report import quality
from skedasis.report.content import gather
from skedasis.report.findings import SENTENCES, findings


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(400, 3))


@pytest.fixture(scope="module")
def classes(X):
    rng = np.random.default_rng(1)
    return np.where(rng.random(len(X)) < 1 / (1 + np.exp(-2 * X[:, 0])), "sold", "not")


def told_of(model, X, y, **options):
    return gather(model, X, y, progress=False, pairs=0, uncertainty=False, **options).sections[0]


def weights_of(kind, n):
    return None if kind == "none" else np.random.default_rng(3).integers(1, 5, n).astype(float)


@pytest.mark.parametrize("kind", ["none", "sample_weight"])
def test_numbers_are_scored_as_scikit_learn_does(X, kind):
    y = X[:, 0] + 0.5 * np.random.default_rng(2).normal(size=len(X))
    model, w = LinearRegression().fit(X, y), weights_of(kind, len(X))
    found = told_of(sd.prediction(model, unit="kg"), X, y, sample_weight=w).quality
    p = model.predict(X)
    assert found["R²"] == pytest.approx(metrics.r2_score(y, p, sample_weight=w))
    mse = metrics.mean_squared_error(y, p, sample_weight=w)
    assert found["RMSE"] == pytest.approx(mse**0.5)
    assert found["MAE"] == pytest.approx(metrics.mean_absolute_error(y, p, sample_weight=w))
    assert found.measures[1].text.endswith(" kg")
    assert found.kind == "regression"
    assert "If the model was trained on these rows" in found.sentences[0]


@pytest.mark.parametrize(("asked", "kind"), [(sd.probability, "none"), (sd.logit, "sample_weight")])
def test_two_classes_are_scored_as_scikit_learn_does(X, classes, asked, kind):
    model, w = LogisticRegression().fit(X, classes), weights_of(kind, len(X))
    found = told_of(asked(model, class_="not"), X, classes, sample_weight=w).quality
    p = model.predict_proba(X)
    yes = classes == "not"
    assert found.class_ == "not"
    assert found["log-loss"] == pytest.approx(metrics.log_loss(classes, p, sample_weight=w))
    right = metrics.accuracy_score(classes, model.predict(X), sample_weight=w)
    assert found["accuracy"] == pytest.approx(right)
    assert found["Brier score"] == pytest.approx(
        metrics.brier_score_loss(yes, p[:, 0], sample_weight=w)
    )
    assert found["AUC"] == pytest.approx(metrics.roc_auc_score(yes, p[:, 0], sample_weight=w))


def test_three_classes(X):
    y = np.digitize(X[:, 0], [-0.5, 0.5]) * 10
    model = LogisticRegression(max_iter=500).fit(X[:, 1:], y)
    found = told_of(sd.probability(model, class_=20), X[:, 1:], y).quality
    p = model.predict_proba(X[:, 1:])
    assert found["log-loss"] == pytest.approx(metrics.log_loss(y, p))
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(y, model.predict(X[:, 1:])))
    assert found["Brier score"] == pytest.approx(metrics.brier_score_loss(y == 20, p[:, 2]))
    assert "AUC" not in found
    assert found.class_ == "20"


@pytest.mark.slow
def test_functions_of_probabilities(X, classes):
    def p(X):
        return 1 / (1 + np.exp(-2 * X[:, 0]))

    def both(X):
        return np.column_stack([1 - p(X), p(X)])

    y = (classes == "sold").astype(int)
    expected = metrics.log_loss(y, p(X))
    for quantity, labels in (
        (sd.probability(p), y),
        (sd.probability(p), y.astype(bool)),
        (sd.logit(p), y.astype(float)),
        (sd.probability(both, class_=1), y),
        (sd.probability(both, class_=-1), y),
    ):
        assert told_of(quantity, X, labels).quality["log-loss"] == pytest.approx(expected)
    turned = told_of(sd.probability(both, class_=0), X, y).quality
    assert turned["log-loss"] == pytest.approx(expected)
    assert turned["AUC"] == pytest.approx(metrics.roc_auc_score(1 - y, 1 - p(X)))


@pytest.mark.parametrize("asked", [sd.probability, sd.logit])
def test_calibration_is_that_of_the_function(X, classes, asked):
    model = LogisticRegression().fit(X, classes)
    given = np.where(np.arange(len(X)) % 9 == 0, None, classes)  # rows without a label are left out
    there = given != None  # noqa: E711
    found = told_of(asked(model), X, given).calibration
    known = sd.calibration(model, X[there], classes[there], row_id=np.flatnonzero(there))
    assert [p.label for p in found.points] == [p.label for p in known.points]
    assert found.miscalibration == pytest.approx(known.miscalibration)
    assert found.miscalibration_beyond_noise == pytest.approx(known.miscalibration_beyond_noise)
    assert found.events


def test_a_regression_has_a_calibration_and_other_quantities_have_none(X):
    y = X[:, 0] + 0.5 * np.random.default_rng(2).normal(size=len(X))
    model = LinearRegression().fit(X, y)
    section = told_of(model, X, y)
    assert section.calibration.residual == pytest.approx(0, abs=1e-12)
    without = told_of(model, X, y, rows=False).calibration
    assert without.method == "bins"
    assert min(p.count for p in without.points) >= 30
    assert told_of(model, X, None).calibration is None


def test_auc_counts_ties_by_halves():
    one, score = np.array([0.0, 1.0, 1.0, 0.0, 1.0]), np.array([0.2, 0.2, 0.7, 0.1, 0.1])
    w = np.array([1.0, 2.0, 1.0, 3.0, 1.0])
    pairs = [(i, j) for i in range(5) for j in range(5) if one[i] > one[j]]
    won = sum(w[i] * w[j] * ((score[i] > score[j]) + (score[i] == score[j]) / 2) for i, j in pairs)
    assert quality.auc(one, score, w) == pytest.approx(won / sum(w[i] * w[j] for i, j in pairs))
    assert np.isnan(quality.auc(np.ones(3), np.arange(3.0), np.ones(3)))


def test_rows_without_a_label_do_not_count(X):
    y = X[:, 0].copy()
    y[::4] = np.nan
    found = told_of(lambda X: X[:, 0] + X[:, 1], X, y).quality
    there = np.isfinite(y)
    assert found["R²"] == pytest.approx(metrics.r2_score(y[there], (X[:, 0] + X[:, 1])[there]))
    assert (found.rows, found.left_out) == (300, 100)
    assert "100 rows without a label" in found.sentences[-1]


@pytest.mark.parametrize(
    ("model", "labels", "why"),
    [
        (lambda X: X[:, 0], None, "No labels were given"),
        (lambda X: X[:, 0], "text", "not numbers"),
        (lambda X: X[:, 0], "infinite", "not finite numbers"),
        (lambda X: X[:, 0], "none", "Fewer than two rows"),
        (sd.probability(lambda X: 1 / (1 + np.exp(-X[:, 0]))), "text", "not classes of the model"),
        (
            sd.entropy(lambda X: (X[:, 0], 1 + X[:, 1] ** 2)),
            "numbers",
            "does not predict the labels",
        ),
        (sd.prediction(lambda X: X, output=1), "numbers", "several outputs"),
    ],
)
def test_where_there_is_none_it_is_said_why(X, model, labels, why):
    given = {
        None: None,
        "text": np.array(["<b>", "c"] * 200),
        "infinite": np.full(400, np.inf),
        "none": np.full(400, np.nan),
        "numbers": X[:, 0],
    }
    section = told_of(model, X, given[labels])
    assert section.quality is None
    assert why in section.reasons["quality"]


# --------------------------------------------------------------------------- where a model is wrong


def test_where_the_model_is_wrong_is_that_of_weak_spots_without_another_model_row():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1500, 3))
    y = X[:, 0] + 2 * (X[:, 1] > 0.6) + 0.5 * rng.normal(size=1500)
    page = gather(lambda X: X[:, 0], X, y, progress=False, pairs=0, uncertainty=False)
    section = page.sections[0]
    alone = sd.weak_spots(lambda X: X[:, 0], X, y)
    assert section.where_wrong.found.groups == alone.groups
    assert section.where_wrong.error == pytest.approx(np.abs(y - X[:, 0]).mean())
    without = gather(lambda X: X[:, 0], X, progress=False, pairs=0, uncertainty=False).sections[0]
    assert without.where_wrong is None
    rows, rows_without = (
        sum(p.provenance["model_rows"] for p in s.passes) for s in (section, without)
    )
    assert rows == rows_without
    # The bias of 2 exceeds half of the mean absolute error: it is one of the sentences that are to be known first.
    said = [f.text for f in findings(section)[:SENTENCES]]
    assert any(re.match(r"The model is [\d.]+ too low where x1 > 0\.6", text) for text in said)


def test_a_small_bias_is_on_the_page_but_not_first_and_none_is_said(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3000, 3))
    noise = rng.normal(size=3000)
    small = told_of(lambda X: X[:, 0], X, X[:, 0] + 0.3 * (X[:, 1] > 0) + noise)
    assert len(small.where_wrong.found) > 0
    assert small.where_wrong.large is None
    assert not any("too low" in f.text for f in findings(small))
    right = told_of(lambda X: X[:, 0], X, X[:, 0] + noise)
    assert len(right.where_wrong.found) == 0
    path = tmp_path / "page.html"
    sd.report(lambda X: X[:, 0], X, X[:, 0] + noise, path=path, pairs=0, progress=False)
    page = path.read_text(encoding="utf-8")
    assert "Where the model is wrong</h3>" in page
    assert "No part of the rows was found where the model is wrong on average." in page


def test_rows_without_a_label_are_left_out_and_logits_are_compared_as_probabilities(X, classes):
    y = X[:, 0] + np.random.default_rng(0).normal(size=400)
    y[:100] = np.nan
    section = told_of(lambda X: X[:, 0], X, y)
    assert section.where_wrong.found.overall.rows == 300
    few = np.full(400, np.nan)
    few[:30] = 0.5
    assert told_of(lambda X: X[:, 0], X, few).where_wrong is None
    model = LogisticRegression().fit(X, classes)
    logit, chance = (told_of(q(model), X, classes).where_wrong for q in (sd.logit, sd.probability))
    assert logit.found.overall.bias == pytest.approx(chance.found.overall.bias)
    assert chance.found.quantity.startswith("P(")
