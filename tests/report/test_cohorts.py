"""Cohorts of a report, `by=`, against the same computations on the rows of each cohort alone."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, mean_absolute_error, r2_score, roc_auc_score

import skedasis as sd
from skedasis.report.content import gather

QUICK = {"pairs": 0, "uncertainty": False, "progress": False}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 600
    return pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.normal(size=n),
            "city": rng.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1]),
        }
    )


def model(frame):
    code = frame["city"].map({"x": 0.0, "y": 1.0, "z": 3.0}).to_numpy()
    return frame["a"].to_numpy() * code + frame["b"].to_numpy() ** 2


@pytest.fixture(scope="module")
def labels(frame):
    return model(frame) + np.random.default_rng(1).normal(size=len(frame))


def cohorts_of(q, X, y=None, **options):
    return gather(q, X, y, **{**QUICK, **options}).sections[0].cohorts


@pytest.mark.slow
def test_regression_within_each_level(frame, labels):
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(frame))
    found = cohorts_of(model, frame, labels, by="city", sample_weight=weight)
    assert [c.rule for c in found] == ["city = x", "city = y", "city = z"]
    for cohort in found:
        own = (frame["city"] == cohort.rule[-1]).to_numpy()
        q, y, w = model(frame)[own], labels[own], weight[own]
        assert cohort.rows == own.sum()
        assert cohort.share == pytest.approx(w.sum() / weight.sum())
        assert cohort.mean == pytest.approx(np.average(q, weights=w))
        assert cohort.label_mean == pytest.approx(np.average(y, weights=w))
        assert cohort.label_rows == own.sum()
        assert cohort.quality["R²"] == pytest.approx(r2_score(y, q, sample_weight=w))
        assert cohort.quality["MAE"] == pytest.approx(mean_absolute_error(y, q, sample_weight=w))
        # The standard deviation of the slope times the feature, within the cohort.
        slope = {"x": 0.0, "y": 1.0, "z": 3.0}[cohort.rule[-1]]
        a = frame["a"][own]
        std = np.sqrt(np.cov(a, aweights=w, ddof=0))
        assert cohort.importance["a"] == pytest.approx(slope * std, rel=0.03, abs=1e-9)
        # Within a level of city the function is additive.
        assert cohort.heterogeneity_score["a"] == pytest.approx(0.0, abs=1e-9)
    assert sum(c.share for c in found) == pytest.approx(1.0)


def test_effects_are_those_of_explain_by(frame):
    mask = {"low a": (frame["a"] < -0.5).to_numpy(), "high a": (frame["a"] > 0.8).to_numpy()}
    found = cohorts_of(model, frame, by=mask)
    by = sd.explain(model, frame, by=mask, progress=False)
    assert [c.rule for c in found] == ["low a", "high a", "other rows"]
    for k, cohort in enumerate(found):
        for name, regions in by.items():
            assert cohort.importance[name] == regions[k].importance
            assert cohort.heterogeneity_score[name] == regions.scores.regions[k]
            assert cohort.heterogeneity_score_error[name] == regions.scores.regions_error[k]
    assert found[2].rows == len(frame) - sum(m.sum() for m in mask.values())
    assert found[0].label_rows == 0
    assert np.isnan(found[0].label_mean)
    assert found[0].quality is None
    assert found[0].reason == "No labels were given."
    with pytest.raises(sd.DataError, match="do not overlap"):
        cohorts_of(model, frame, by={"p": mask["low a"], "q": mask["low a"]})


@pytest.mark.parametrize("class_", ["no", "yes"])
def test_classification_within_cohorts(frame, class_):
    rng = np.random.default_rng(3)
    X = frame[["a", "b"]].to_numpy()
    y = np.where(rng.random(len(X)) < 1 / (1 + np.exp(-2 * X[:, 0])), "yes", "no")
    fitted = LogisticRegression().fit(X, y)
    label = frame["city"].to_numpy()
    for cohort in cohorts_of(sd.probability(fitted, class_=class_), X, y, by=label):
        own = label == cohort.rule
        p = fitted.predict_proba(X[own])
        assert cohort.label_mean == pytest.approx((y[own] == class_).mean())
        assert cohort.mean == pytest.approx(p[:, 0 if class_ == "no" else 1].mean())
        assert cohort.quality["AUC"] == pytest.approx(roc_auc_score(y[own], p[:, 1]))
        assert cohort.quality["log-loss"] == pytest.approx(log_loss(y[own], p))
        assert cohort.quality["accuracy"] == pytest.approx(
            (fitted.predict(X[own]) == y[own]).mean()
        )


def test_labels_that_are_missing_in_a_cohort(frame, labels):
    y = np.where(frame["city"] == "z", np.nan, labels)
    *_, last = cohorts_of(model, frame, y, by="city")
    assert last.rule == "city = z"
    assert last.label_rows == 0
    assert np.isnan(last.label_mean)
    assert last.reason == "Fewer than two rows have a label."
    assert np.isfinite(last.mean)


@pytest.mark.slow
def test_a_cohort_of_one_row_tells_nothing_of_it_without_rows(frame, labels):
    label = np.where(np.arange(len(frame)) == 7, "one", "rest")
    one, rest = cohorts_of(model, frame, labels, by=label, rows=False)
    assert (one.rule, one.rows) == ("one", 1)
    assert np.isnan([one.mean, one.label_mean]).all()
    assert one.quality is None
    assert np.isfinite([rest.mean, rest.label_mean]).all()
    shown, _ = cohorts_of(model, frame, labels, by=label)
    assert shown.mean == pytest.approx(model(frame)[7])
    assert shown.label_mean == pytest.approx(labels[7])


def test_no_cohorts_without_named_regions(frame):
    X = frame[["a", "b"]].to_numpy()
    assert cohorts_of(lambda X: X[:, 0] * X[:, 1], X) == ()
    assert cohorts_of(lambda X: X[:, 0], X, regions=False) == ()


def test_labels_of_a_quantity_that_does_not_predict_them(frame, labels):
    X = frame[["a", "b"]].to_numpy()
    fitted = LinearRegression().fit(X, labels)
    q = sd.loss(fitted)
    for cohort in cohorts_of(q, X, labels, by=frame["city"].to_numpy()):
        assert np.isnan(cohort.label_mean)
        assert cohort.quality is None
        own = (frame["city"] == cohort.rule).to_numpy()
        expected = (labels[own] - fitted.predict(X[own])) ** 2
        assert cohort.mean == pytest.approx(expected.mean())
